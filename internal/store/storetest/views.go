package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/store"
	"weir/internal/view"
)

// Views checks what a store does for saved views. open gives an empty store, and closes it after the test.
func Views(t *testing.T, open Open) {
	cases := map[string]func(*testing.T, *store.Store){
		"changes":           viewChanges,
		"bounds":            viewBounds,
		"only their user's": viewUsers,
		"one name at once":  viewRace,
	}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t, nil))
		})
	}
}

func viewUser(t *testing.T, s *store.Store) string {
	t.Helper()
	u, err := account.Make("Anna", apikey.User, payAt)
	if err == nil {
		err = s.Accounts.CreateUser(t.Context(), u, account.CreatedEvent(&u, audit.Actor{Name: "test"}))
	}
	if err != nil {
		t.Fatal(err)
	}
	return u.ID
}

func viewOf(user, page, name string) view.View {
	return view.View{ID: apikey.NewID("view_"), User: user, Page: page, Name: name, Query: "by=key", CreatedAt: payAt, UpdatedAt: payAt}
}

func addView(t *testing.T, s *store.Store, v view.View) view.View {
	t.Helper()
	if err := s.Pages.AddView(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	return v
}

func renamed(name, query string) func(*view.View) error {
	return func(v *view.View) error { v.Name, v.Query = name, query; return nil }
}

func viewChanges(t *testing.T, s *store.Store) {
	user := viewUser(t, s)
	calls, b, a := addView(t, s, viewOf(user, "calls", "a")), addView(t, s, viewOf(user, "activity", "b")), addView(t, s, viewOf(user, "activity", "Я"))
	all, err := s.Pages.ListViews(t.Context(), user)
	if want := []view.View{b, a, calls}; err != nil || cmp.Diff(want, all) != "" {
		t.Errorf("%v: %s", err, cmp.Diff(want, all))
	}
	if err := s.Pages.AddView(t.Context(), viewOf(user, "activity", "b")); !fault.Is(err, fault.Conflict) {
		t.Errorf("the same name twice: %v", err)
	}
	later := payAt.Add(time.Hour)
	got, err := s.Pages.ChangeView(t.Context(), user, b.ID, later, renamed("c", ""))
	b.Name, b.Query, b.UpdatedAt = "c", "", later
	if err != nil || cmp.Diff(b, got) != "" {
		t.Errorf("%v: %s", err, cmp.Diff(b, got))
	}
	if got, err := s.Pages.ChangeView(t.Context(), user, b.ID, later, renamed("c", "days=7")); err != nil || got.Query != "days=7" {
		t.Errorf("its own name: %v, %v", got, err)
	}
	if _, err := s.Pages.ChangeView(t.Context(), user, b.ID, later, renamed("Я", "")); !fault.Is(err, fault.Conflict) {
		t.Errorf("another's name: %v", err)
	}
	refused := errors.New("refused")
	if _, err := s.Pages.ChangeView(t.Context(), user, b.ID, later, func(*view.View) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("a change that is refused: %v", err)
	}
	b.Query = "days=7"
	if all, err := s.Pages.ListViews(t.Context(), user); err != nil || cmp.Diff([]view.View{b, a, calls}, all) != "" {
		t.Errorf("%v, %v", all, err)
	}
	if err := s.Pages.DeleteView(t.Context(), user, b.ID); err != nil {
		t.Error(err)
	}
	if err := s.Pages.DeleteView(t.Context(), user, b.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("deleted twice: %v", err)
	}
	if _, err := s.Pages.ChangeView(t.Context(), user, b.ID, later, renamed("d", "")); !fault.Is(err, fault.NotFound) {
		t.Errorf("a change of none: %v", err)
	}
	if err := s.Pages.AddView(t.Context(), viewOf("usr_none", "calls", "a")); !fault.Is(err, fault.NotFound) {
		t.Errorf("of no user: %v", err)
	}
}

// One account's views are bounded; another has room all the same.
func viewBounds(t *testing.T, s *store.Store) {
	user, other := viewUser(t, s), viewUser(t, s)
	var wg sync.WaitGroup
	errs := make([]error, view.MaxPerUser+5)
	for i := range errs {
		wg.Go(func() { errs[i] = s.Pages.AddView(t.Context(), viewOf(user, view.Pages()[i%2], fmt.Sprint("v", i))) })
	}
	wg.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
		} else if !fault.Is(err, fault.Invalid) {
			t.Error(err)
		}
	}
	if all, err := s.Pages.ListViews(t.Context(), user); err != nil || made != view.MaxPerUser || len(all) != made {
		t.Errorf("%d views were made, %d are there: %v", made, len(all), err)
	}
	addView(t, s, viewOf(other, "calls", "v"))
}

func viewUsers(t *testing.T, s *store.Store) {
	user, other := viewUser(t, s), viewUser(t, s)
	v := addView(t, s, viewOf(user, "calls", "a"))
	addView(t, s, viewOf(other, "calls", "a"))
	if _, err := s.Pages.ChangeView(t.Context(), other, v.ID, payAt, renamed("mine", "")); !fault.Is(err, fault.NotFound) {
		t.Errorf("another's view is changed: %v", err)
	}
	if err := s.Pages.DeleteView(t.Context(), other, v.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("another's view is deleted: %v", err)
	}
	if all, err := s.Pages.ListViews(t.Context(), user); err != nil || cmp.Diff([]view.View{v}, all) != "" {
		t.Errorf("%v, %v", all, err)
	}
}

// Of views that take one name at once, one gets it.
func viewRace(t *testing.T, s *store.Store) {
	user := viewUser(t, s)
	var views []view.View
	for i := range 6 {
		views = append(views, addView(t, s, viewOf(user, "calls", fmt.Sprint(i))))
	}
	var wg sync.WaitGroup
	errs := make([]error, len(views))
	for i := range views {
		wg.Go(func() { _, errs[i] = s.Pages.ChangeView(t.Context(), user, views[i].ID, payAt, renamed("one", "")) })
	}
	wg.Wait()
	got := 0
	for _, err := range errs {
		if err == nil {
			got++
		} else if !fault.Is(err, fault.Conflict) {
			t.Error(err)
		}
	}
	if all, err := s.Pages.ListViews(t.Context(), user); err != nil || got != 1 || len(all) != len(views) {
		t.Errorf("%d got the name, %d views are left: %v", got, len(all), err)
	}
}
