package storetest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/foreign"
	"weir/internal/store"
)

// Foreign checks what a store does for the names that other gateways' programs give. open gives an empty store, and closes it after the test.
func Foreign(t *testing.T, open Open) {
	for name, check := range map[string]func(*testing.T, *store.Store){
		"changes":              foreignChanges,
		"one name at one time": foreignRace,
		"strays make room":     foreignStrays,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t, nil))
		})
	}
}

// foreignChanges: a record is found by its name, replaced by the next one of its thing, and is an account's own.
func foreignChanges(t *testing.T, s *store.Store) {
	a, b := viewUser(t, s), viewUser(t, s)
	r := foreign.Record{Account: a, Kind: foreign.Team, Name: "same", ID: "team_1", Fields: `{"metadata":{"a":1}}`, UpdatedAt: payAt}
	other := foreign.Record{Account: b, Kind: foreign.Team, Name: "same", ID: "team_2", Fields: "{}", UpdatedAt: payAt}
	user := foreign.Record{Account: a, Kind: foreign.User, Name: "same", ID: "svc_1", Fields: "{}", UpdatedAt: payAt}
	for _, one := range []foreign.Record{r, other, user} {
		if err := s.Accounts.SaveForeign(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	taken := foreign.Record{Account: a, Kind: foreign.Team, Name: "same", ID: "team_3", Fields: "{}", UpdatedAt: payAt}
	if err := s.Accounts.SaveForeign(t.Context(), taken); !fault.Is(err, fault.Conflict) {
		t.Errorf("a name was given twice: %v", err)
	}
	r.Name, r.Fields = "renamed", "{}"
	if err := s.Accounts.SaveForeign(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Accounts.ForeignNamed(t.Context(), a, foreign.Team, "same"); !fault.Is(err, fault.NotFound) {
		t.Errorf("a former name is found: %v", err)
	}
	got, err := s.Accounts.ForeignNamed(t.Context(), a, foreign.Team, "renamed")
	if err != nil || cmp.Diff(r, got) != "" {
		t.Errorf("%v %+v", err, got)
	}
	if err := s.Accounts.DeleteForeign(t.Context(), b, r.ID); err != nil {
		t.Fatal(err)
	}
	list, err := s.Accounts.ForeignRecords(t.Context(), a, foreign.Team)
	if err != nil || cmp.Diff([]foreign.Record{r}, list) != "" {
		t.Errorf("%v %+v", err, list)
	}
	if err := s.Accounts.DeleteForeign(t.Context(), a, r.ID); err != nil {
		t.Fatal(err)
	}
	if list, err = s.Accounts.ForeignRecords(t.Context(), a, foreign.Team); err != nil || len(list) != 0 {
		t.Errorf("%v %+v", err, list)
	}
}

// foreignRace: of two that want one name at one time, one gets it.
func foreignRace(t *testing.T, s *store.Store) {
	user := viewUser(t, s)
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			errs[i] = s.Accounts.SaveForeign(t.Context(), foreign.Record{Account: user, Kind: foreign.Team, Name: "one", ID: fmt.Sprint("team_", i), Fields: "{}", UpdatedAt: payAt})
		})
	}
	wg.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
		} else if !fault.Is(err, fault.Conflict) {
			t.Error(err)
		}
	}
	if made != 1 {
		t.Errorf("%d have the name", made)
	}
}

// foreignStrays: where an account has as many records as it may, those of what is gone make room, and those of what is there stay.
func foreignStrays(t *testing.T, s *store.Store) {
	user := viewUser(t, s)
	k, _ := apikey.Make(apikey.NewKey{Name: "k", User: user, Creator: user}, payAt)
	if err := s.Accounts.InsertKey(t.Context(), k, 10, apikey.CreatedEvent(&k, audit.Actor{Name: "test"})); err != nil {
		t.Fatal(err)
	}
	save := func(id string) error {
		return s.Accounts.SaveForeign(t.Context(), foreign.Record{Account: user, Kind: foreign.Key, Name: id, ID: id, Fields: "{}", UpdatedAt: payAt})
	}
	if err := save(k.ID); err != nil {
		t.Fatal(err)
	}
	for i := range foreign.MaxPerAccount {
		if err := save(fmt.Sprint("key_gone", i)); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.Accounts.ForeignRecords(t.Context(), user, foreign.Key)
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %d are left", err, len(list))
	}
	if _, err := s.Accounts.ForeignNamed(t.Context(), user, foreign.Key, k.ID); err != nil {
		t.Error(err)
	}
}
