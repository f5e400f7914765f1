package storetest

import (
	"strconv"
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/store"
)

// auditFound checks searches in the audit chain: each against what one that reads all rows finds.
func auditFound(t *testing.T, s *store.Store) {
	u := mustUser(t, s)
	k := mustKey(t, s, u.ID, nil)
	actors := []string{"operator", "user:" + u.ID, "key:" + k.ID}
	actions := []string{"key.revoke", "key.change", "keys", "sign_in", "key"}
	for i := range 30 {
		// clocks of nodes differ: rows are not quite in the order of their times
		when := at.Add(time.Duration(i)*time.Hour + time.Duration(i%3)*20*time.Minute*-1)
		e := audit.Event{Actor: audit.Actor{Name: actors[i%3]}, Action: actions[i%5], Target: "t" + strconv.Itoa(i%4)}
		if err := s.Accounts.Audit(t.Context(), e, when); err != nil {
			t.Fatal(err)
		}
	}
	var all []audit.Row
	for row, err := range s.Accounts.AuditRows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append([]audit.Row{row}, all...)
	}
	for what, c := range map[string]struct {
		search audit.Search
		wants  func(*audit.Row) bool
	}{
		"all":      {audit.Search{}, func(*audit.Row) bool { return true }},
		"a user":   {audit.Search{Who: u.ID}, func(r *audit.Row) bool { return r.Name == "user:"+u.ID }},
		"a key":    {audit.Search{Who: k.ID}, func(r *audit.Row) bool { return r.Name == "key:"+k.ID }},
		"an actor": {audit.Search{Who: "operator"}, func(r *audit.Row) bool { return r.Name == "operator" }},
		"action":   {audit.Search{Action: "key.change"}, func(r *audit.Row) bool { return r.Action == "key.change" }},
		"family":   {audit.Search{Action: "key."}, func(r *audit.Row) bool { return len(r.Action) > 4 && r.Action[:4] == "key." }},
		"target":   {audit.Search{Target: "t3"}, func(r *audit.Row) bool { return r.Target == "t3" }},
		"before":   {audit.Search{Before: 7}, func(r *audit.Row) bool { return r.Seq < 7 }},
		"from":     {audit.Search{From: at.Add(5 * time.Hour)}, func(r *audit.Row) bool { return !r.At.Before(at.Add(5 * time.Hour)) }},
		"until":    {audit.Search{Until: at.Add(8 * time.Hour)}, func(r *audit.Row) bool { return r.At.Before(at.Add(8 * time.Hour)) }},
		"nothing":  {audit.Search{From: at.AddDate(1, 0, 0)}, func(*audit.Row) bool { return false }},
		"several": {audit.Search{Who: "operator", Action: "key.", From: at.Add(2 * time.Hour), Until: at.Add(20 * time.Hour)}, func(r *audit.Row) bool {
			return r.Name == "operator" && (r.Action == "key.revoke" || r.Action == "key.change") && !r.At.Before(at.Add(2*time.Hour)) && r.At.Before(at.Add(20*time.Hour))
		}},
	} {
		want := []audit.Row{}
		for i := range all {
			if c.wants(&all[i]) {
				want = append(want, all[i])
			}
		}
		if len(want) == 0 && what != "nothing" {
			t.Fatalf("%s: there is nothing to find", what)
		}
		for _, limit := range []int{1, 4, 100} {
			c.search.Limit = limit
			got, err := s.Accounts.AuditFound(t.Context(), c.search)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, what+", at most "+strconv.Itoa(limit), got, want[:min(limit, len(want)):min(limit, len(want))])
		}
	}
	names, err := s.Accounts.NamesOf(t.Context(), []string{u.ID, u.Wallet, k.ID, "usr_none", ""})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "names", names, map[string]string{u.ID: u.Name, u.Wallet: u.Name, k.ID: u.Name})
	if none, err := s.Accounts.NamesOf(t.Context(), nil); err != nil || len(none) != 0 {
		t.Errorf("%v %v", none, err)
	}
}
