package storetest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/preset"
	"weir/internal/store"
)

// Presets checks what a store does for presets. open gives an empty store, and closes it after the test.
func Presets(t *testing.T, open Open) {
	cases := map[string]func(*testing.T, *store.Store){
		"versions":          presetVersions,
		"bounds":            presetBounds,
		"only their user's": presetUsers,
		"edits at once":     presetRace,
	}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t, nil))
		})
	}
}

var presetEvent = audit.Event{Actor: audit.Actor{Name: "key:test"}, Action: audit.PresetSaved, Target: "preset"}

func presetUser(t *testing.T, s account.Store) string {
	t.Helper()
	u, err := account.Make("Anna", apikey.User, payAt)
	if err == nil {
		err = s.CreateUser(t.Context(), u, account.CreatedEvent(&u, audit.Actor{Name: "test"}))
	}
	if err != nil {
		t.Fatal(err)
	}
	return u.ID
}

func savePreset(t *testing.T, s *store.Store, n preset.Save) preset.Preset {
	t.Helper()
	p, err := s.Pages.SavePreset(t.Context(), n, presetEvent)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func presetVersions(t *testing.T, s *store.Store) {
	user := presetUser(t, s.Accounts)
	want := preset.Preset{User: user, Name: "a", Description: "first", Version: 1, Content: `{"n":1}`, CreatedAt: payAt, UpdatedAt: payAt}
	made := savePreset(t, s, preset.Save{User: user, Name: "a", Description: "first", Content: `{"n":1}`, New: true, At: payAt})
	read, err := s.Pages.PresetByName(t.Context(), user, "a")
	if err != nil || cmp.Diff(want, made) != "" || cmp.Diff(want, read) != "" {
		t.Errorf("%v: %s%s", err, cmp.Diff(want, made), cmp.Diff(want, read))
	}
	if _, err := s.Pages.SavePreset(t.Context(), preset.Save{User: user, Name: "a", Content: `{}`, New: true, At: payAt}, presetEvent); !fault.Is(err, fault.Conflict) {
		t.Errorf("the same name twice: %v", err)
	}
	if _, err := s.Pages.SavePreset(t.Context(), preset.Save{User: user, Name: "b", Content: `{}`, At: payAt}, presetEvent); !fault.Is(err, fault.NotFound) {
		t.Errorf("a version of none: %v", err)
	}
	later := payAt.Add(time.Hour)
	if p := savePreset(t, s, preset.Save{User: user, Name: "a", Description: "first", Content: `{"n":1}`, At: later}); p.Version != 1 || !p.UpdatedAt.Equal(payAt) {
		t.Errorf("the same again made %v", p)
	}
	if p := savePreset(t, s, preset.Save{User: user, Name: "a", Description: "renamed", Content: `{"n":1}`, At: later}); p.Version != 1 || p.Description != "renamed" {
		t.Errorf("another description made %v", p)
	}
	for n := 2; n <= preset.MaxVersions+3; n++ {
		if p := savePreset(t, s, preset.Save{User: user, Name: "a", Content: fmt.Sprintf(`{"n":%d}`, n), From: int64(n - 1), At: later}); p.Version != int64(n) {
			t.Fatalf("version %d is %d", n, p.Version)
		}
	}
	all, err := s.Pages.PresetVersions(t.Context(), user, "a")
	if err != nil || len(all) != preset.MaxVersions || all[0].Number != preset.MaxVersions+3 || all[0].By != "key:test" || !all[0].At.Equal(later) {
		t.Fatalf("%v, %d versions: %v", err, len(all), all[0])
	}
	if _, err := s.Pages.PresetVersion(t.Context(), user, "a", 3); !fault.Is(err, fault.NotFound) {
		t.Errorf("an old version: %v", err)
	}
	if v, err := s.Pages.PresetVersion(t.Context(), user, "a", 4); err != nil || v.Content != `{"n":4}` {
		t.Errorf("the oldest version: %v, %v", v, err)
	}
	for _, other := range []int64{1, preset.MaxVersions + 2, preset.MaxVersions + 4} {
		if err := s.Pages.DeletePreset(t.Context(), user, "a", other, later, presetEvent); !fault.Is(err, fault.Conflict) {
			t.Errorf("version %d, which is not the current one, is deleted: %v", other, err)
		}
	}
	if err := s.Pages.DeletePreset(t.Context(), user, "a", preset.MaxVersions+3, later, presetEvent); err != nil {
		t.Error(err)
	}
	if err := s.Pages.DeletePreset(t.Context(), user, "a", 0, later, presetEvent); !fault.Is(err, fault.NotFound) {
		t.Errorf("deleted twice: %v", err)
	}
	if p := savePreset(t, s, preset.Save{User: user, Name: "a", Content: `{}`, New: true, At: later}); p.Version != 1 {
		t.Errorf("after deletion it begins with version %d", p.Version)
	}
}

// One account's presets are bounded in number and in bytes; another has room all the same.
func presetBounds(t *testing.T, s *store.Store) {
	user, other := presetUser(t, s.Accounts), presetUser(t, s.Accounts)
	var wg sync.WaitGroup
	errs := make([]error, preset.MaxPerUser+5)
	for i := range errs {
		wg.Go(func() {
			_, errs[i] = s.Pages.SavePreset(t.Context(), preset.Save{User: user, Name: fmt.Sprint("p", i), Content: `{}`, New: true, At: payAt}, presetEvent)
		})
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
	if made != preset.MaxPerUser {
		t.Errorf("%d presets were made", made)
	}
	savePreset(t, s, preset.Save{User: other, Name: "p", Content: `{}`, New: true, At: payAt})
	var full error
	saved := 0
	for i := 0; full == nil && i < 10*preset.MaxBytes/preset.MaxContent; i++ {
		if i%preset.MaxVersions == 0 {
			savePreset(t, s, preset.Save{User: other, Name: fmt.Sprint("big", i/preset.MaxVersions), Content: `{}`, New: true, At: payAt})
		}
		_, full = s.Pages.SavePreset(t.Context(), preset.Save{User: other, Name: fmt.Sprint("big", i/preset.MaxVersions), Content: fmt.Sprint(i) + strings.Repeat("a", preset.MaxContent-9), At: payAt}, presetEvent)
		saved++
	}
	if !fault.Is(full, fault.Invalid) || saved < preset.MaxBytes/preset.MaxContent-1 {
		t.Errorf("after %d large versions: %v", saved, full)
	}
}

func presetUsers(t *testing.T, s *store.Store) {
	user, other := presetUser(t, s.Accounts), presetUser(t, s.Accounts)
	savePreset(t, s, preset.Save{User: user, Name: "a", Content: `{"of":"user"}`, New: true, At: payAt})
	savePreset(t, s, preset.Save{User: other, Name: "a", Content: `{"of":"other"}`, New: true, At: payAt})
	if err := s.Pages.DeletePreset(t.Context(), other, "a", 0, payAt, presetEvent); err != nil {
		t.Fatal(err)
	}
	if p, err := s.Pages.PresetByName(t.Context(), user, "a"); err != nil || p.Content != `{"of":"user"}` {
		t.Errorf("%v, %v", p, err)
	}
	if all, err := s.Pages.ListPresets(t.Context(), user); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
	long := `{"model":"a/x","system_prompt":"` + strings.Repeat("ы", preset.MaxContent/4) + `"}`
	savePreset(t, s, preset.Save{User: user, Name: "long", Content: long, New: true, At: payAt})
	if all, err := s.Pages.ListPresets(t.Context(), user); err != nil || len(all) != 2 || all[1].Content != string([]rune(long)[:preset.HeadChars]) || all[0].Content != `{"of":"user"}` {
		t.Errorf("%v, %v", all, err)
	}
	if all, err := s.Pages.ListPresets(t.Context(), other); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	for _, err := range []error{
		func() error { _, err := s.Pages.PresetByName(t.Context(), other, "a"); return err }(),
		func() error { _, err := s.Pages.PresetVersions(t.Context(), other, "a"); return err }(),
		func() error { _, err := s.Pages.PresetVersion(t.Context(), other, "a", 1); return err }(),
	} {
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("another's preset: %v", err)
		}
	}
}

// Of changes of the same version, one is made.
func presetRace(t *testing.T, s *store.Store) {
	user := presetUser(t, s.Accounts)
	savePreset(t, s, preset.Save{User: user, Name: "a", Content: `{}`, New: true, At: payAt})
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			_, errs[i] = s.Pages.SavePreset(t.Context(), preset.Save{User: user, Name: "a", Content: fmt.Sprint(i), From: 1, At: payAt}, presetEvent)
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
		t.Errorf("%d changes of one version were made", made)
	}
}
