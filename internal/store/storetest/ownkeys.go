package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ownkey"
	"weir/internal/routing"
	"weir/internal/store"
)

// OwnKeys checks what a store does for people's own keys of providers. open gives an empty store, and closes it after the test.
func OwnKeys(t *testing.T, open Open) {
	cases := map[string]func(*testing.T, *store.Store){
		"a key comes back as stored":        ownKeyRoundTrip,
		"a key that is changed":             ownKeyChanged,
		"removed at once, or but its order": ownKeyRemoved,
		"how calls went":                    ownKeyNoted,
		"one of a provider, and few in all": ownKeyBounds,
		"only their user's":                 ownKeyUsers,
		"wrapped again":                     ownKeyRewrap,
	}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t, nil))
		})
	}
}

var ownKeyEvent = audit.Event{Actor: audit.Actor{Name: "key:test"}, Action: audit.ProviderKeyAdded, Target: "key"}

func addOwnKey(t *testing.T, s *store.Store, user, provider string, order routing.OwnOrder) ownkey.Key {
	t.Helper()
	k := ownkey.Key{ID: "pk_" + provider + user, User: user, Provider: provider, Order: order, Sealed: []byte("sealed " + provider), Last4: "cdef", CreatedAt: payAt, ChangedAt: payAt}
	if err := s.Accounts.AddProviderKey(t.Context(), k, 3, ownKeyEvent); err != nil {
		t.Fatal(err)
	}
	return k
}

func sameOwnKeys(t *testing.T, s *store.Store, user string, want ...ownkey.Key) {
	t.Helper()
	got, err := s.Accounts.ProviderKeys(t.Context(), user)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
}

func ownKeyRoundTrip(t *testing.T, s *store.Store) {
	user := presetUser(t, s.Accounts)
	b, a := addOwnKey(t, s, user, "b", routing.OwnBefore), addOwnKey(t, s, user, "a", routing.OwnOnly)
	sameOwnKeys(t, s, user, a, b)
	if got, err := s.Accounts.ProviderKey(t.Context(), user, b.ID); err != nil || cmp.Diff(b, got) != "" {
		t.Errorf("%v: %s", err, cmp.Diff(b, got))
	}
}

func ownKeyChanged(t *testing.T, s *store.Store) {
	user := presetUser(t, s.Accounts)
	k := addOwnKey(t, s, user, "a", routing.OwnBefore)
	k.UsedAt, k.Failure = payAt, ownkey.Failure{Code: ownkey.Refused, Status: 401, At: payAt}
	if err := s.Accounts.NoteProviderKey(t.Context(), k.ID, payAt, payAt, k.Failure); err != nil {
		t.Fatal(err)
	}
	off, on, later := true, false, payAt.Add(time.Hour)
	for _, c := range []struct {
		change ownkey.Change
		want   func()
	}{
		{ownkey.Change{Order: routing.OwnAfter}, func() { k.Order = routing.OwnAfter }},
		{ownkey.Change{Off: &off}, func() { k.Off = true }},
		{ownkey.Change{Off: &on}, func() { k.Off = false }},
		{ownkey.Change{}, func() {}},
		{ownkey.Change{Sealed: []byte("other"), Last4: "wxyz"}, func() {
			k.Sealed, k.Last4, k.ChangedAt, k.UsedAt, k.Failure = []byte("other"), "wxyz", later, time.Time{}, ownkey.Failure{}
		}},
	} {
		c.want()
		if got, err := s.Accounts.ChangeProviderKey(t.Context(), user, k.ID, c.change, later, ownKeyEvent); err != nil || cmp.Diff(k, got) != "" {
			t.Errorf("%+v: %v: %s", c.change, err, cmp.Diff(k, got))
		}
		sameOwnKeys(t, s, user, k)
	}
}

func ownKeyRemoved(t *testing.T, s *store.Store) {
	user := presetUser(t, s.Accounts)
	only, first := addOwnKey(t, s, user, "a", routing.OwnOnly), addOwnKey(t, s, user, "b", routing.OwnBefore)
	remove := func(id string) {
		t.Helper()
		if err := s.Accounts.RemoveProviderKey(t.Context(), user, id, payAt, ownKeyEvent); err != nil {
			t.Error(err)
		}
	}
	remove(first.ID)
	sameOwnKeys(t, s, user, only)
	remove(only.ID)
	only.Sealed, only.Last4 = nil, ""
	sameOwnKeys(t, s, user, only)
	if err := s.Accounts.NoteProviderKey(t.Context(), only.ID, payAt, payAt, ownkey.Failure{Code: ownkey.Refused, At: payAt}); err != nil {
		t.Error(err)
	}
	sameOwnKeys(t, s, user, only)
	off := true
	only.Off = true
	if got, err := s.Accounts.ChangeProviderKey(t.Context(), user, only.ID, ownkey.Change{Off: &off}, payAt, ownKeyEvent); err != nil || cmp.Diff(only, got) != "" {
		t.Errorf("%v: %s", err, cmp.Diff(only, got))
	}
	if all, err := s.Accounts.AllProviderKeys(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%v: secrets left: %v", err, all)
	}
	remove(only.ID)
	if all, err := s.Accounts.ProviderKeys(t.Context(), user); err != nil || len(all) != 0 {
		t.Errorf("%v: left: %v", err, all)
	}
	if err := s.Accounts.RemoveProviderKey(t.Context(), user, only.ID, payAt, ownKeyEvent); !fault.Is(err, fault.NotFound) {
		t.Errorf("removed thrice: %v", err)
	}
}

func ownKeyNoted(t *testing.T, s *store.Store) {
	user := presetUser(t, s.Accounts)
	k := addOwnKey(t, s, user, "a", routing.OwnBefore)
	note := func(changed, used time.Time, f ownkey.Failure) {
		t.Helper()
		if err := s.Accounts.NoteProviderKey(t.Context(), k.ID, changed, used, f); err != nil {
			t.Error(err)
		}
		sameOwnKeys(t, s, user, k)
	}
	k.Failure = ownkey.Failure{Code: ownkey.NoCredit, Status: 402, At: payAt.Add(time.Minute)}
	note(payAt, time.Time{}, k.Failure)
	k.UsedAt, k.Failure = payAt.Add(2*time.Minute), ownkey.Failure{}
	note(payAt, k.UsedAt, ownkey.Failure{})
	note(payAt.Add(-time.Second), payAt.Add(time.Hour), ownkey.Failure{Code: ownkey.Refused, At: payAt}) // of the secret before
}

func ownKeyBounds(t *testing.T, s *store.Store) {
	user, other := presetUser(t, s.Accounts), presetUser(t, s.Accounts)
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			k := ownkey.Key{ID: fmt.Sprint("pk_", i), User: user, Provider: fmt.Sprint("p", i), Order: routing.OwnBefore, Sealed: []byte("x"), CreatedAt: payAt, ChangedAt: payAt}
			errs[i] = s.Accounts.AddProviderKey(t.Context(), k, 3, ownKeyEvent)
		})
	}
	wg.Wait()
	added := 0
	for _, err := range errs {
		switch {
		case err == nil:
			added++
		case !fault.Is(err, fault.Invalid):
			t.Error(err)
		}
	}
	if added != 3 {
		t.Errorf("%d keys were added", added)
	}
	k := addOwnKey(t, s, other, "a", routing.OwnBefore)
	k.ID = "pk_again"
	if err := s.Accounts.AddProviderKey(t.Context(), k, 3, ownKeyEvent); !fault.Is(err, fault.Conflict) {
		t.Errorf("two keys of a provider: %v", err)
	}
	k.User = "usr_none"
	if err := s.Accounts.AddProviderKey(t.Context(), k, 3, ownKeyEvent); !fault.Is(err, fault.NotFound) {
		t.Errorf("a key of nobody: %v", err)
	}
}

func ownKeyUsers(t *testing.T, s *store.Store) {
	user, other := presetUser(t, s.Accounts), presetUser(t, s.Accounts)
	k := addOwnKey(t, s, user, "a", routing.OwnBefore)
	for _, id := range []string{k.ID, "pk_none"} {
		if _, err := s.Accounts.ProviderKey(t.Context(), other, id); !fault.Is(err, fault.NotFound) {
			t.Errorf("read %s: %v", id, err)
		}
		if _, err := s.Accounts.ChangeProviderKey(t.Context(), other, id, ownkey.Change{Order: routing.OwnOnly}, payAt, ownKeyEvent); !fault.Is(err, fault.NotFound) {
			t.Errorf("change %s: %v", id, err)
		}
		if err := s.Accounts.RemoveProviderKey(t.Context(), other, id, payAt, ownKeyEvent); !fault.Is(err, fault.NotFound) {
			t.Errorf("remove %s: %v", id, err)
		}
	}
	sameOwnKeys(t, s, user, k)
	if all, err := s.Accounts.ProviderKeys(t.Context(), other); err != nil || len(all) != 0 {
		t.Errorf("%v: %v", err, all)
	}
}

func ownKeyRewrap(t *testing.T, s *store.Store) {
	user := presetUser(t, s.Accounts)
	k := addOwnKey(t, s, user, "a", routing.OwnBefore)
	for _, want := range []bool{true, false} { // the second finds another secret
		if done, err := s.Accounts.RewrapProviderKey(t.Context(), k.ID, k.Sealed, []byte("wrapped")); err != nil || done != want {
			t.Errorf("%v, %v, want %v", done, err, want)
		}
	}
	k.Sealed = []byte("wrapped")
	if all, err := s.Accounts.AllProviderKeys(t.Context()); err != nil || cmp.Diff([]ownkey.Key{k}, all) != "" {
		t.Errorf("%v: %v", err, all)
	}
}
