package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/alert"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/store"
)

// Alerts checks what a store does for alerts to operators.
func Alerts(t *testing.T, open Open) {
	for name, check := range map[string]func(*testing.T, *store.Store){
		"a rule":                           alertRule,
		"a channel":                        alertChannel,
		"an incident begins once":          incidentOnce,
		"messages go to channels":          alertMessages,
		"channels choose":                  alertChoices,
		"a claim is exclusive":             alertClaim,
		"a channel that refuses":           alertRefused,
		"a channel that was changed since": alertChangedSince,
		"a sweep of incidents":             incidentSweep,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t, nil))
		})
	}
}

var byOperator = audit.Event{Actor: audit.Actor{Name: "test"}, Action: audit.AlertChanged, Target: "x"}

func works(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func alertRule(t *testing.T, s *store.Store) {
	r := alert.Rule{Kind: alert.Provider, On: true, Limit: 30, Minutes: 5, Calls: 20, Version: 1}
	works(t, s.Notices.PutAlertRule(t.Context(), r, 0, at, byOperator))
	if err := s.Notices.PutAlertRule(t.Context(), r, 0, at, byOperator); !fault.Is(err, fault.Conflict) {
		t.Errorf("a second first one: %v", err)
	}
	r.On, r.Limit, r.Version = false, 40, 2
	works(t, s.Notices.PutAlertRule(t.Context(), r, 1, at, byOperator))
	if err := s.Notices.PutAlertRule(t.Context(), r, 1, at, byOperator); !fault.Is(err, fault.Conflict) {
		t.Errorf("a change of an earlier version: %v", err)
	}
	got, err := s.Notices.AlertRules(t.Context())
	works(t, err)
	r.Changed = true
	if d := cmp.Diff([]alert.Rule{r}, got); d != "" {
		t.Error(d)
	}
	works(t, s.Notices.DropAlertRule(t.Context(), alert.Provider, 2, at, byOperator))
	if got, err = s.Notices.AlertRules(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

func opsChannel(id string) alert.Channel {
	return alert.Channel{ID: id, Way: alert.Telegram, Address: "-100123", Language: "ru", On: true, Sealed: []byte("sealed"), Last4: "Dsaw", Version: 1}
}

func alertChannel(t *testing.T, s *store.Store) {
	c := opsChannel("ops")
	works(t, s.Notices.PutAlertChannel(t.Context(), c, 0, at, byOperator))
	got, err := s.Notices.AlertChannels(t.Context())
	works(t, err)
	if d := cmp.Diff([]alert.Channel{c}, got); d != "" {
		t.Error(d)
	}
	if done, err := s.Notices.RewrapAlertChannel(t.Context(), "ops", []byte("other"), []byte("x")); err != nil || done {
		t.Errorf("another secret was wrapped: %v, %v", done, err)
	}
	if done, err := s.Notices.RewrapAlertChannel(t.Context(), "ops", []byte("sealed"), []byte("again")); err != nil || !done {
		t.Errorf("%v, %v", done, err)
	}
	if err := s.Notices.DropAlertChannel(t.Context(), "ops", 7, at, byOperator); !fault.Is(err, fault.Conflict) {
		t.Errorf("another version: %v", err)
	}
	works(t, s.Notices.DropAlertChannel(t.Context(), "ops", 1, at, byOperator))
	if got, err = s.Notices.AlertChannels(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

func begins(subject string, now time.Time) alert.Change {
	return alert.Change{New: true, What: alert.Began, Incident: alert.Incident{
		Kind: alert.Provider, Subject: subject, BeganAt: now, SeenAt: now, SaidAt: now, Value: 85, Limit: 50, Failed: 34, Calls: 40, Minutes: 5, Detail: "d",
	}}
}

func apply(t *testing.T, s *store.Store, now time.Time, changes ...alert.Change) int {
	t.Helper()
	n, err := s.Notices.ApplyChanges(t.Context(), changes, now)
	works(t, err)
	return n
}

// incidentOnce: many nodes that find the same at once begin one incident, end it once, and say once a day that it lasts.
func incidentOnce(t *testing.T, s *store.Store) {
	works(t, s.Notices.PutAlertChannel(t.Context(), opsChannel("ops"), 0, at, byOperator))
	race := func(name string, changes func(i int) alert.Change) {
		var wait sync.WaitGroup
		var written atomic.Int64
		for i := range 6 {
			wait.Go(func() {
				n, err := s.Notices.ApplyChanges(t.Context(), []alert.Change{changes(i)}, at.Add(time.Duration(i)*time.Second))
				if err != nil {
					t.Error(err)
				}
				written.Add(int64(n))
			})
		}
		wait.Wait()
		if n := written.Load(); n != 1 {
			t.Errorf("%s: %d messages", name, n)
		}
	}
	race("it begins", func(i int) alert.Change { return begins("hut", at.Add(time.Duration(i)*time.Second)) })
	open, err := s.Notices.OpenIncidents(t.Context())
	works(t, err)
	if len(open) != 1 || open[0].Failed != 34 || open[0].Detail != "d" || !open[0].FineAt.IsZero() {
		t.Fatalf("%+v", open)
	}
	race("it lasts", func(i int) alert.Change {
		c := alert.Change{Incident: open[0], What: alert.Lasts, Since: open[0].SaidAt}
		c.SaidAt = open[0].SaidAt.Add(alert.Again + time.Duration(i)*time.Second)
		return c
	})
	open, err = s.Notices.OpenIncidents(t.Context())
	works(t, err)
	race("it ends", func(i int) alert.Change {
		c := alert.Change{Incident: open[0], What: alert.Over, Since: open[0].SaidAt}
		c.EndedAt, c.Why = at.Add(time.Duration(i)*time.Second), alert.Fine
		return c
	})
	told, err := s.Notices.Incidents(t.Context(), "", 10)
	works(t, err)
	if len(told) != 1 || told[0].Why != alert.Fine || len(told[0].Said) != 3 {
		t.Fatalf("%+v", told)
	}
	if n := apply(t, s, at.Add(time.Hour), begins("hut", at.Add(time.Hour))); n != 1 {
		t.Errorf("it does not begin again: %d", n)
	}
	first, err := s.Notices.Incidents(t.Context(), "", 1)
	works(t, err)
	second, err := s.Notices.Incidents(t.Context(), first[0].ID, 10)
	works(t, err)
	if len(second) != 1 || second[0].ID != told[0].ID {
		t.Errorf("the second page is %+v", second)
	}
}

func alertMessages(t *testing.T, s *store.Store) {
	off := opsChannel("off")
	off.On = false
	for _, c := range []alert.Channel{opsChannel("a"), opsChannel("b"), off} {
		works(t, s.Notices.PutAlertChannel(t.Context(), c, 0, at, byOperator))
	}
	if n := apply(t, s, at, begins("hut", at), begins("mill", at)); n != 4 {
		t.Fatalf("%d messages", n)
	}
	for _, id := range []string{"a", "b"} {
		w := claimAlerts(t, s, at)
		if w == nil || w.ID != id || len(w.Waiting) != 2 || w.Waiting[0].Incident.Subject != "hut" && w.Waiting[0].Incident.Subject != "mill" || w.Attempts != 1 || len(w.Sent) != 0 {
			t.Fatalf("%s: %+v", id, w)
		}
		end(t, s, w, &alert.Outcome{Answer: alert.Answer{Sent: true}, Parts: w.Waiting[:1], At: at.Add(time.Second), NextAt: at.Add(time.Second)})
	}
	if w := claimAlerts(t, s, at); w != nil {
		t.Errorf("not due yet: %+v", w)
	}
	w := claimAlerts(t, s, at.Add(2*time.Second))
	if len(w.Waiting) != 1 || w.Attempts != 1 || len(w.Sent) != 1 || !w.Sent[0].Equal(at.Add(time.Second)) {
		t.Fatalf("%+v", w)
	}
	end(t, s, w, &alert.Outcome{Dropped: w.Waiting, At: at, NextAt: at})
	told, err := s.Notices.Incidents(t.Context(), "", 10)
	works(t, err)
	states := map[string]int{}
	for _, i := range told {
		for _, m := range i.Said {
			states[fmt.Sprint(m.Channel, " ", !m.SentAt.IsZero(), m.Dropped)]++
		}
	}
	if d := cmp.Diff(map[string]int{"a true false": 1, "a false true": 1, "b true false": 1, "b false false": 1}, states); d != "" {
		t.Error(d)
	}
}

// alertChoices: messages are written for channels that want the incident, an end for those that have another message of it, and a test is one line of
// the audit log.
func alertChoices(t *testing.T, s *store.Store) {
	pager, disks := opsChannel("pager"), opsChannel("disks")
	pager.Least, disks.Kinds, disks.Least = alert.Critical, []alert.Kind{alert.Disk, alert.Rate}, alert.Warning
	for _, c := range []alert.Channel{opsChannel("all"), disks, pager} {
		works(t, s.Notices.PutAlertChannel(t.Context(), c, 0, at, byOperator))
	}
	got, err := s.Notices.AlertChannels(t.Context())
	works(t, err)
	if d := cmp.Diff([]alert.Channel{opsChannel("all"), disks, pager}, got); d != "" {
		t.Error(d)
	}
	if n := apply(t, s, at, begins("hut", at)); n != 1 {
		t.Errorf("a warning of another kind: %d messages", n)
	}
	full := begins("n0", at)
	full.Kind, full.Value = alert.Disk, 99
	if n := apply(t, s, at, full); n != 3 {
		t.Errorf("a critical one of the chosen kind: %d messages", n)
	}
	disks.Kinds, disks.Version = []alert.Kind{alert.Rate}, 2
	works(t, s.Notices.PutAlertChannel(t.Context(), disks, 1, at, byOperator))
	works(t, s.Notices.PutAlertChannel(t.Context(), opsChannel("new"), 0, at, byOperator))
	open, err := s.Notices.OpenIncidents(t.Context())
	works(t, err)
	for i := range open {
		over := alert.Change{Incident: open[i], What: alert.Over, Since: open[i].SaidAt}
		over.EndedAt, over.Why = at, alert.Fine
		want := map[alert.Kind]int{alert.Provider: 1, alert.Disk: 3}[open[i].Kind]
		if n := apply(t, s, at, over); n != want {
			t.Errorf("the end of %s: %d messages", open[i].Kind, n)
		}
	}
	works(t, s.Notices.NoteAlertTest(t.Context(), &pager, &alert.Answer{Reason: alert.Status, Words: "500 ill"}, at, audit.Event{Actor: audit.Actor{Name: "test"}, Action: audit.AlertChannelTested, Target: "pager", After: "ill"}))
	log, err := s.Accounts.AuditFound(t.Context(), audit.Search{Limit: 1})
	works(t, err)
	if len(log) != 1 || log[0].Action != audit.AlertChannelTested || log[0].After != "ill" {
		t.Errorf("%+v", log)
	}
	got, err = s.Notices.AlertChannels(t.Context())
	works(t, err)
	if c := &got[len(got)-1]; c.ID != "pager" || c.Reason != alert.Status || c.Words != "500 ill" || c.Failed != "" {
		t.Errorf("%+v", c)
	}
}

func claimAlerts(t *testing.T, s *store.Store, now time.Time) *alert.Work {
	t.Helper()
	w, err := s.Notices.ClaimAlerts(t.Context(), now, now.Add(time.Minute))
	works(t, err)
	return w
}

func end(t *testing.T, s *store.Store, w *alert.Work, o *alert.Outcome) {
	t.Helper()
	if done, err := s.Notices.EndAlerts(t.Context(), w, o); err != nil || !done {
		t.Fatalf("%v, %v", done, err)
	}
}

// alertClaim: one of many nodes sends, and what it reports after its claim has ended counts no more.
func alertClaim(t *testing.T, s *store.Store) {
	works(t, s.Notices.PutAlertChannel(t.Context(), opsChannel("ops"), 0, at, byOperator))
	apply(t, s, at, begins("hut", at))
	var wait sync.WaitGroup
	var got atomic.Int64
	var first atomic.Pointer[alert.Work]
	for range 6 {
		wait.Go(func() {
			w, err := s.Notices.ClaimAlerts(t.Context(), at, at.Add(time.Minute))
			if err != nil {
				t.Error(err)
			}
			if w != nil {
				got.Add(1)
				first.Store(w)
			}
		})
	}
	wait.Wait()
	if got.Load() != 1 {
		t.Fatalf("%d nodes send", got.Load())
	}
	later := at.Add(2 * time.Minute)
	second := claimAlerts(t, s, later)
	if second == nil || second.Attempts != 2 {
		t.Fatalf("after the claim: %+v", second)
	}
	if done, err := s.Notices.EndAlerts(t.Context(), first.Load(), &alert.Outcome{Answer: alert.Answer{Sent: true}, Parts: second.Waiting, At: later, NextAt: later}); err != nil || done {
		t.Errorf("the first one still counts: %v, %v", done, err)
	}
	end(t, s, second, &alert.Outcome{Answer: alert.Answer{Sent: true}, Parts: second.Waiting, At: later, NextAt: later})
	if w := claimAlerts(t, s, later); w != nil {
		t.Errorf("it is sent again: %+v", w)
	}
}

func alertRefused(t *testing.T, s *store.Store) {
	works(t, s.Notices.PutAlertChannel(t.Context(), opsChannel("ops"), 0, at, byOperator))
	apply(t, s, at, begins("hut", at))
	w := claimAlerts(t, s, at)
	end(t, s, w, &alert.Outcome{Answer: alert.Answer{Address: "-1009", Words: "moved"}, Parts: w.Waiting, At: at, NextAt: at})
	w = claimAlerts(t, s, at)
	if w.Address != "-1009" || w.Attempts != 2 || w.Words != "moved" {
		t.Fatalf("%+v", w)
	}
	end(t, s, w, &alert.Outcome{Answer: alert.Answer{Failed: true, Words: "Forbidden"}, Parts: w.Waiting, At: at, NextAt: at})
	log, err := s.Accounts.AuditFound(t.Context(), audit.Search{Limit: 10})
	if err != nil || len(log) == 0 || log[0].Before != "-100123" || log[0].After != "-1009" {
		t.Errorf("the move is not in the audit log: %+v, %v", log, err)
	}
	if w := claimAlerts(t, s, at.Add(time.Hour)); w != nil {
		t.Fatalf("a failed channel gets more: %+v", w)
	}
	works(t, s.Notices.NoteAlertTest(t.Context(), &w.Channel, &alert.Answer{Sent: true}, at, byOperator))
	if w := claimAlerts(t, s, at); w == nil || w.Failed != "" || w.Attempts != 1 {
		t.Errorf("after a test that arrived: %+v", w)
	}
}

// alertChangedSince: what a receiver said of an address that an operator has changed meanwhile does not fail the new one.
func alertChangedSince(t *testing.T, s *store.Store) {
	c := opsChannel("ops")
	works(t, s.Notices.PutAlertChannel(t.Context(), c, 0, at, byOperator))
	apply(t, s, at, begins("hut", at))
	w := claimAlerts(t, s, at)
	c.Address, c.Version = "@ops", 2
	works(t, s.Notices.PutAlertChannel(t.Context(), c, 1, at, byOperator))
	end(t, s, w, &alert.Outcome{Answer: alert.Answer{Failed: true, Words: "Forbidden"}, Parts: w.Waiting, At: at, NextAt: at})
	if w := claimAlerts(t, s, at); w == nil || w.Failed != "" || w.Address != "@ops" {
		t.Errorf("%+v", w)
	}
}

func incidentSweep(t *testing.T, s *store.Store) {
	works(t, s.Notices.PutAlertChannel(t.Context(), opsChannel("ops"), 0, at, byOperator))
	apply(t, s, at, begins("hut", at), begins("mill", at))
	open, err := s.Notices.OpenIncidents(t.Context())
	works(t, err)
	over := alert.Change{Incident: open[0], What: alert.Over, Since: open[0].SaidAt}
	over.EndedAt, over.Why = at, alert.Fine
	apply(t, s, at, over)
	n, err := s.Notices.SweepIncidents(t.Context(), at.Add(time.Hour), 10)
	works(t, err)
	told, err := s.Notices.Incidents(t.Context(), "", 10)
	works(t, err)
	if n != 1 || len(told) != 1 || told[0].Subject != open[1].Subject {
		t.Errorf("%d were forgotten, and left are %+v", n, told)
	}
}
