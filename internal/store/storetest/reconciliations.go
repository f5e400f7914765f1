package storetest

import (
	"math/big"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/reconcile"
	"weir/internal/store"
)

var ratsAlike = cmp.Comparer(func(a, b *big.Rat) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Cmp(b) == 0
})

// Reconciliations checks how a store keeps comparisons. open gives an empty store, and closes it after the test.
func Reconciliations(t *testing.T, open Open) {
	s := open(t, nil)
	kept := reconcile.Kept{
		ID: "rec_1", Provider: "hut", Actor: "user:usr_1", At: payAt, Keys: []string{"key_1"}, More: true,
		Files: []reconcile.KeptFile{{Name: "ноябрь.json", Format: "OpenAI usage", Sum: "abcd0123", Bytes: 12, Rows: 3}},
		Result: reconcile.Result{
			First: "2026-11-24", Last: "2026-11-25", ByModel: true, ByKey: true, Rows: 3, Calls: 4,
			Theirs: reconcile.Figures{Calls: 5, Prompt: 10, Completion: -1, Dollars: big.NewRat(1, 3)}, Ours: reconcile.Unreported(),
			Sums:   []reconcile.Sum{{Kind: reconcile.Doubled, Differences: 1, Calls: 2, Delta: reconcile.Delta{Calls: 2, Dollars: big.NewRat(-7, 1000)}}},
			Groups: []reconcile.Group{{Day: "2026-11-24", Model: "m", Key: "0123456789ab", Theirs: reconcile.Unreported(), Ours: reconcile.Figures{Calls: 1}}},
			Differences: []reconcile.Difference{{Kind: reconcile.Doubled, Day: "2026-11-24", Model: "m", Key: "0123456789ab", Place: "line 2", Answer: "chatcmpl-1", Theirs: reconcile.Unreported(), N: 2,
				Ours: reconcile.Figures{Prompt: 1, Dollars: new(big.Rat)}, Delta: reconcile.Delta{Prompt: -3}, Calls: []string{"gen-1", "gen-2"}, More: 7}},
		},
	}
	second := kept
	second.ID, second.At, second.Keys = "rec_2", payAt.Add(time.Second), nil
	made := audit.Event{Actor: audit.Actor{Name: "test"}, Action: audit.ReconciliationMade, Target: "rec_1"}
	for _, k := range []*reconcile.Kept{&kept, &second} {
		if err := s.Ledger.AddReconciliation(t.Context(), k, made); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.Ledger.ReconciliationByID(t.Context(), "rec_1"); err != nil || cmp.Diff(kept, got, ratsAlike) != "" {
		t.Errorf("%v: %s", err, cmp.Diff(kept, got, ratsAlike))
	}
	heads := func(before string) (ids []string) {
		t.Helper()
		all, err := s.Ledger.Reconciliations(t.Context(), before, 10)
		if err != nil {
			t.Error(err)
		}
		for _, k := range all {
			if ids = append(ids, k.ID); k.Result.Groups != nil || k.Result.Differences != nil || len(k.Result.Sums) != 1 {
				t.Errorf("a head: %+v", k.Result)
			}
		}
		return ids
	}
	if got := heads(""); !cmp.Equal(got, []string{"rec_2", "rec_1"}) {
		t.Error(got)
	}
	if got := heads("rec_2"); !cmp.Equal(got, []string{"rec_1"}) {
		t.Error(got)
	}
	gone := func(id string) error {
		return s.Ledger.DeleteReconciliation(t.Context(), id, payAt, audit.Event{Actor: audit.Actor{Name: "test"}, Action: audit.ReconciliationDeleted, Target: id})
	}
	if err := gone("rec_2"); err != nil {
		t.Error(err)
	}
	if err := gone("rec_2"); !fault.Is(err, fault.NotFound) {
		t.Errorf("deleted twice: %v", err)
	}
	if got := heads(""); !cmp.Equal(got, []string{"rec_1"}) {
		t.Error(got)
	}
	rows, err := s.Accounts.AuditFound(t.Context(), audit.Search{Limit: 10})
	if err != nil || len(rows) != 3 || rows[0].Action != audit.ReconciliationDeleted {
		t.Errorf("the audit log: %+v, %v", rows, err)
	}
	settlements(t, s)
	billedKeys(t, s)
}

// settlements are kept by provider and mark, replaced, and forgotten; each act is a line of the audit log.
func settlements(t *testing.T, s *store.Store) {
	t.Helper()
	act := func(action string) audit.Event {
		return audit.Event{Actor: audit.Actor{Name: "test"}, Action: action, Target: "hut"}
	}
	loss := reconcile.Settlement{Provider: "hut", Mark: "aa", Outcome: reconcile.Loss, Reason: "старый счёт", Actor: "user:usr_1", At: payAt}
	other := loss
	other.Mark, other.Provider = "bb", "other"
	explained := loss
	explained.Outcome, explained.Reason = reconcile.Explained, "a test of another program"
	for _, x := range []*reconcile.Settlement{&loss, &other, &explained} {
		if err := s.Ledger.SettleDifference(t.Context(), x, act(audit.DifferenceSettled)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.Ledger.Settlements(t.Context(), "hut"); err != nil || !cmp.Equal(got, map[string]reconcile.Settlement{"aa": explained}) {
		t.Errorf("%+v %v", got, err)
	}
	if err := s.Ledger.ReopenDifference(t.Context(), "hut", "aa", payAt, act(audit.DifferenceReopened)); err != nil {
		t.Error(err)
	}
	if err := s.Ledger.ReopenDifference(t.Context(), "hut", "aa", payAt, act(audit.DifferenceReopened)); !fault.Is(err, fault.NotFound) {
		t.Errorf("reopened twice: %v", err)
	}
	if got, err := s.Ledger.Settlements(t.Context(), "hut"); err != nil || len(got) != 0 {
		t.Errorf("%+v %v", got, err)
	}
	for action, want := range map[string]int{audit.DifferenceSettled: 3, audit.DifferenceReopened: 1} {
		if rows, err := s.Accounts.AuditFound(t.Context(), audit.Search{Action: action, Limit: 10}); err != nil || len(rows) != want {
			t.Errorf("%s: %+v, %v", action, rows, err)
		}
	}
}

func billedKeys(t *testing.T, s *store.Store) {
	t.Helper()
	e := audit.Event{Actor: audit.Actor{Name: "test"}, Action: audit.BilledKeysNamed, Target: "hut"}
	for _, names := range []map[string]string{{"key_a": "0123456789ab", "": "-", "key_b": "-"}, {"key_b": "ba9876543210", "": ""}} {
		if err := s.Ledger.NameBilledKeys(t.Context(), "hut", names, payAt, e); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.Ledger.BilledKeys(t.Context(), "hut"); err != nil || !cmp.Equal(got, map[string]string{"key_a": "0123456789ab", "key_b": "ba9876543210"}) {
		t.Errorf("%v %v", got, err)
	}
	if got, err := s.Ledger.BilledKeys(t.Context(), "other"); err != nil || len(got) != 0 {
		t.Errorf("%v %v", got, err)
	}
}
