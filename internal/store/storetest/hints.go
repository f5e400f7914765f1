package storetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/catalog/edit"
	"weir/internal/invalidate"
	"weir/internal/ownkey"
	"weir/internal/preset"
	"weir/internal/relay"
	"weir/internal/routing"
	"weir/internal/store"
)

// Hints checks that what one node changes is heard by another. nodes are two stores of one empty database. sends is false for a database for one node, which has no hints.
func Hints(t *testing.T, sends bool, nodes []*store.Store) {
	here, there := nodes[0], nodes[1]
	if !sends {
		err := there.Nodes.Listen(t.Context(), func() { t.Error("it listens") }, func(note string) { t.Error(note) })
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("Listen: %v", err)
		}
	}
	user := presetUser(t, here.Accounts)
	key := hintKey(t, here, user)
	notes := listening(t, there.Nodes, sends)
	event := audit.Event{Actor: actor, Action: audit.KeyChanged, Target: "x"}
	own := ownkey.Key{ID: "pk_hint", User: user, Provider: "acme", Order: routing.OwnBefore, Sealed: []byte("sealed"), Last4: "cdef", CreatedAt: payAt, ChangedAt: payAt}
	off, name := true, "renamed"
	for _, x := range []struct {
		what   string
		change func() error
		want   invalidate.Hint
	}{
		{"a key changes", func() error {
			_, err := here.Accounts.ChangeKey(t.Context(), "", key.Hash, apikey.Change{Name: &name}, payAt, event)
			return err
		}, invalidate.Hint{Topic: invalidate.Keys, User: user}},
		{"a key is rotated", func() error {
			_, err := here.Accounts.RotateKey(t.Context(), user, key.Hash, apikey.Hash("another"), "another", payAt.Add(time.Hour), payAt, event)
			return err
		}, invalidate.Hint{Topic: invalidate.Keys, User: user}},
		{"an operator deletes a key", func() error { return here.Accounts.DeleteKey(t.Context(), "", apikey.Hash("another"), payAt, event) }, invalidate.Hint{Topic: invalidate.Keys, User: user}},
		{"a user is disabled", func() error { return here.Accounts.SetUserDisabled(t.Context(), user, true, payAt, event) }, invalidate.Hint{Topic: invalidate.Keys, User: user}},
		{"a user's role changes", func() error { return here.Accounts.SetUserRole(t.Context(), user, apikey.Operator, payAt, event) }, invalidate.Hint{Topic: invalidate.Keys, User: user}},
		{"a user's preferences change", func() error {
			_, err := here.Accounts.SetUserPreferences(t.Context(), user, "", `{"sort":"price"}`, payAt, event)
			return err
		}, invalidate.Hint{Topic: invalidate.Keys, User: user}},
		{"a budget is made", func() error {
			return here.Accounts.AddBudget(t.Context(), budget.Budget{ID: "bud_hint", Account: user, Scope: budget.Scope{Kind: budget.Organization}, Hard: true, CreatedAt: payAt, UpdatedAt: payAt}, event)
		}, invalidate.Hint{Topic: invalidate.Budgets, User: user}},
		{"a budget changes", func() error {
			_, err := here.Accounts.ChangeBudget(t.Context(), user, "bud_hint", payAt, func(b *budget.Budget) (audit.Event, error) { b.Amount = 1; return event, nil })
			return err
		}, invalidate.Hint{Topic: invalidate.Budgets, User: user}},
		{"a budget is deleted", func() error { return here.Accounts.DeleteBudget(t.Context(), user, "bud_hint", payAt, event.Actor) }, invalidate.Hint{Topic: invalidate.Budgets, User: user}},
		{"a preset is made", func() error {
			_, err := here.Pages.SavePreset(t.Context(), preset.Save{User: user, Name: "a", Content: `{}`, New: true, At: payAt}, event)
			return err
		}, invalidate.Hint{Topic: invalidate.Presets, User: user}},
		{"a preset changes", func() error {
			_, err := here.Pages.SavePreset(t.Context(), preset.Save{User: user, Name: "a", Content: `{"a":1}`, At: payAt}, event)
			return err
		}, invalidate.Hint{Topic: invalidate.Presets, User: user}},
		{"a preset is deleted", func() error { return here.Pages.DeletePreset(t.Context(), user, "a", 0, payAt, event) }, invalidate.Hint{Topic: invalidate.Presets, User: user}},
		{"a provider key is added", func() error { return here.Accounts.AddProviderKey(t.Context(), own, 3, event) }, invalidate.Hint{Topic: invalidate.ProviderKeys, User: user}},
		{"a provider key changes", func() error {
			_, err := here.Accounts.ChangeProviderKey(t.Context(), user, own.ID, ownkey.Change{Off: &off}, payAt, event)
			return err
		}, invalidate.Hint{Topic: invalidate.ProviderKeys, User: user}},
		{"a provider key is removed", func() error { return here.Accounts.RemoveProviderKey(t.Context(), user, own.ID, payAt, event) }, invalidate.Hint{Topic: invalidate.ProviderKeys, User: user}},
		{"the catalog changes", func() error {
			return here.Catalog.CommitCatalog(t.Context(), put(1, edit.Row{Kind: edit.Provider, ID: "hut", Spec: edit.Spec{"name": "Hut"}}), event)
		}, invalidate.Hint{Topic: invalidate.Catalog}},
	} {
		if err := x.change(); err != nil {
			t.Fatalf("%s: %v", x.what, err)
		}
		if !sends {
			continue
		}
		if got, ok := invalidate.Parse(<-notes); !ok || got != x.want {
			t.Errorf("%s: the other node heard %v, want %v", x.what, got, x.want)
		}
	}
	// What fails sends no hint: the next note is that of the change after it.
	if err := here.Accounts.DeleteKey(t.Context(), user, "no such key", payAt, event); err == nil {
		t.Error("deleted what is not there")
	}
	if err := here.Accounts.SetUserDisabled(t.Context(), user, false, payAt, event); err != nil {
		t.Error(err)
	}
	if sends {
		if got := <-notes; got != (invalidate.Hint{Topic: invalidate.Keys, User: user}).String() || len(notes) > 0 {
			t.Errorf("after a change that failed and one that did not the other node heard %q", got)
		}
	}
}

// hintKey adds a key of a user.
func hintKey(t *testing.T, s *store.Store, user string) apikey.Key {
	t.Helper()
	k, _ := apikey.Make(apikey.NewKey{Name: "test", User: user, Creator: user}, payAt)
	if err := s.Accounts.InsertKey(t.Context(), k, 9, apikey.CreatedEvent(&k, actor)); err != nil {
		t.Fatal(err)
	}
	return k
}

// listening returns what a store hears from now until the test ends.
func listening(t *testing.T, s invalidate.Source, sends bool) <-chan string {
	t.Helper()
	notes := make(chan string, 100)
	if !sends {
		return notes
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	joined := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		if err := s.Listen(ctx, func() { close(joined) }, func(note string) { notes <- note }); ctx.Err() == nil {
			t.Errorf("Listen: %v", err)
			close(notes)
		}
	})
	t.Cleanup(func() { cancel(); done.Wait() })
	<-joined
	return notes
}

// Stops checks that what one node stops is found by another, as often as it is stopped. sends is whether it is heard, too.
func Stops(t *testing.T, sends bool, nodes []*store.Store) {
	here, there := nodes[0], nodes[1]
	notes := listening(t, there.Nodes, sends)
	var all []relay.KeyStop
	for _, key := range []string{"key_1", "key_1", "key_2"} {
		if err := here.Nodes.AddStop(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		if sends {
			if h := <-notes; h != string(invalidate.Stops) {
				t.Errorf("heard %v", h)
			}
		}
		var err error
		if all, err = there.Nodes.KeyStops(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	slices.SortFunc(all, func(a, b relay.KeyStop) int { return strings.Compare(a.Key, b.Key) })
	if want := []relay.KeyStop{{Key: "key_1", N: 2}, {Key: "key_2", N: 1}}; !slices.Equal(all, want) {
		t.Errorf("%+v", all)
	}
}
