package edit_test

import (
	"slices"
	"strings"
	"testing"

	"weir/internal/catalog/edit"
	"weir/internal/fault"
)

const (
	firstKey  = "sk-first-key-of-the-hut-1111"
	secondKey = "sk-second-key-of-the-hut-2222"
)

func (s *shop) addKey(provider, key string) string {
	s.t.Helper()
	_, id, err := s.AddKey(s.t.Context(), edit.NewKey{Provider: provider, Key: key, Note: " for tests "}, admin)
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

func (s *shop) move(id string, to edit.KeyState, sure bool) error {
	_, err := s.MoveKey(s.t.Context(), edit.KeyMove{Provider: "hut", ID: id, To: to, Sure: sure}, admin)
	return err
}

// wantKeys checks which keys of the hut calls get.
func (s *shop) wantKeys(when string, used, draining []string) {
	s.t.Helper()
	p := s.built().Snapshot.Providers["hut"]
	if p == nil {
		if used != nil || draining != nil {
			s.t.Errorf("%s the provider is off", when)
		}
		return
	}
	got := append([]string{p.Key}, p.Keys...)
	if p.Key == "" {
		got = nil
	}
	if !slices.Equal(got, used) || !slices.Equal(p.Draining, draining) {
		s.t.Errorf("%s the keys are %q, draining %q; want %q, %q", when, got, p.Draining, used, draining)
	}
}

// New in, old drained, old out; each step can be taken back.
func TestKeysRotate(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.addHut()
	one := s.addKey("hut", firstKey)
	s.wantKeys("with one", []string{firstKey}, nil)
	two := s.addKey("hut", secondKey)
	s.wantKeys("with two", []string{firstKey, secondKey}, nil)
	row := s.store.state.Row(edit.Provider, "hut")
	if k := row.Key(two); k.Last4 != "2222" || k.By != admin.Name || k.Note != "for tests" || !k.At.Equal(s.world.now) || strings.Contains(string(k.Sealed), "second") {
		t.Errorf("stored: %+v", k)
	}
	for _, step := range []struct {
		to             edit.KeyState
		used, draining []string
		before, after  string
	}{
		{edit.KeyDraining, []string{secondKey}, []string{firstKey}, "api_key=...1111, ...2222", "api_key=...2222; draining_keys=...1111"},
		{edit.KeyInUse, []string{firstKey, secondKey}, nil, "api_key=...2222; draining_keys=...1111", "api_key=...1111, ...2222"},
		{edit.KeyDraining, []string{secondKey}, []string{firstKey}, "api_key=...1111, ...2222", "api_key=...2222; draining_keys=...1111"},
		{edit.KeyOff, []string{secondKey}, nil, "draining_keys=...1111", "keys_out=...1111"},
	} {
		if err := s.move(one, step.to, false); err != nil {
			t.Fatal(err)
		}
		s.wantKeys(string(step.to), step.used, step.draining)
		if e := s.store.events[len(s.store.events)-1]; e.Before != step.before || e.After != step.after {
			t.Errorf("%s is audited as %q, %q", step.to, e.Before, e.After)
		}
	}
	version := s.store.state.Version
	if err := s.move(one, edit.KeyOff, false); err != nil || s.store.state.Version != version {
		t.Errorf("what is so already is a change: %v", err)
	}
	if _, err := s.ForgetKey(t.Context(), "hut", one, admin); err != nil {
		t.Fatal(err)
	}
	if row := s.store.state.Row(edit.Provider, "hut"); len(row.Keys) != 1 || row.Key(one) != nil {
		t.Errorf("after it was forgotten: %+v", row.Keys)
	}
}

func TestKeysRefused(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.addHut()
	one := s.addKey("hut", firstKey)
	add := func(provider, key string) error {
		_, _, err := s.AddKey(t.Context(), edit.NewKey{Provider: provider, Key: key}, admin)
		return err
	}
	forget := func(id string) error {
		_, err := s.ForgetKey(t.Context(), "hut", id, admin)
		return err
	}
	version := s.store.state.Version
	for _, tt := range []struct {
		name string
		err  error
		kind fault.Kind
		code string
	}{
		{"the same again", add("hut", firstKey), fault.Invalid, "key_known"},
		{"none", add("hut", ""), fault.Invalid, "key_missing"},
		{"two words", add("hut", "two words"), fault.Invalid, ""},
		{"of no provider", add("nowhere", secondKey), fault.NotFound, ""},
		{"of one that the file declares", add("filed", secondKey), fault.Conflict, ""},
		{"the last one drained", s.move(one, edit.KeyDraining, false), fault.Conflict, "last_key"},
		{"the last one taken out", s.move(one, edit.KeyOff, false), fault.Conflict, "last_key"},
		{"no such state", s.move(one, "lost", false), fault.Invalid, "key_state"},
		{"no such key", s.move("pkey_none", edit.KeyOff, false), fault.NotFound, "no_key"},
		{"forgotten while it is used", forget(one), fault.Conflict, "key_used"},
		{"forgotten that is not there", forget("pkey_none"), fault.NotFound, "no_key"},
	} {
		if f := fault.From(tt.err); tt.err == nil || f.Kind != tt.kind || f.Code != tt.code || strings.Contains(f.Public, firstKey) {
			t.Errorf("%s: %v, %q; want %s, %q", tt.name, tt.err, f.Code, tt.kind, tt.code)
		}
	}
	if s.store.state.Version != version {
		t.Error("something was changed")
	}
	for range edit.MostKeys - 1 {
		s.addKey("hut", strings.Repeat("k", len(s.store.state.Row(edit.Provider, "hut").Keys)+20))
	}
	if f := fault.From(add("hut", secondKey)); f == nil || f.Code != "keys_many" {
		t.Errorf("one too many: %v", f)
	}
}

// Without a key in use a provider of the database is off, unless something drains; it never gets calls without a key.
func TestLastKey(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.addHut()
	one := s.addKey("hut", firstKey)
	if err := s.move(one, edit.KeyDraining, true); err != nil {
		t.Fatal(err)
	}
	s.wantKeys("while the last one drains", nil, []string{firstKey})
	if err := s.move(one, edit.KeyOff, false); err != nil {
		t.Fatal(err)
	}
	s.wantKeys("after the last one went", nil, nil)
	if v := s.built().Provider("hut"); v.On || !strings.Contains(v.Reason, "none of its keys is in use") {
		t.Errorf("it is %v: %q", v.On, v.Reason)
	}
	if err := s.move(one, edit.KeyInUse, false); err != nil {
		t.Fatal(err)
	}
	s.wantKeys("brought back", []string{firstKey}, nil)
}

// The key of the environment is used while no key here is.
func TestKeysBesideTheEnvironment(t *testing.T) {
	t.Parallel()
	s := open(t)
	key := func() string { return s.built().Snapshot.Providers["open"].Key }
	id := s.addKey("open", firstKey)
	if key() != firstKey {
		t.Errorf("with a key here: %q", key())
	}
	for _, to := range []edit.KeyState{edit.KeyDraining, edit.KeyOff} {
		if _, err := s.MoveKey(t.Context(), edit.KeyMove{Provider: "open", ID: id, To: to, Sure: true}, admin); err != nil {
			t.Fatal(err)
		}
		if key() != "sk-of-the-environment" {
			t.Errorf("%s: %q", to, key())
		}
	}
}

// One key that cannot be read does not take out the provider: the others serve.
func TestOneUnreadableKey(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.addHut()
	one := s.addKey("hut", firstKey)
	s.addKey("hut", secondKey)
	s.store.state.Row(edit.Provider, "hut").Key(one).Sealed = []byte("damaged")
	s.wantKeys("with a damaged one", []string{secondKey}, nil)
	if b := s.built(); len(b.Left) != 1 || !strings.Contains(b.Left[0], `a key of the provider "hut" is not used`) {
		t.Errorf("the log says %q", b.Left)
	}
}

// What files say of the key is so already when the provider has it among others; another one replaces all of them.
func TestPutOneOfSeveralKeys(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.addHut()
	one := s.addKey("hut", firstKey)
	s.addKey("hut", secondKey)
	s.put(edit.Put{Kind: edit.Provider, ID: "hut", Set: hut, Key: new(firstKey)}, edit.Unchanged)
	s.put(edit.Put{Kind: edit.Provider, ID: "hut", Set: hut, Key: new(secondKey)}, edit.Unchanged)
	if err := s.move(one, edit.KeyDraining, false); err != nil {
		t.Fatal(err)
	}
	s.put(edit.Put{Kind: edit.Provider, ID: "hut", Set: hut, Key: new("sk-third-key-of-the-hut-3333")}, edit.Changed)
	s.wantKeys("after a third one was put", []string{"sk-third-key-of-the-hut-3333"}, nil)
}
