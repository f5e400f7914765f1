package apikey_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/routing"
)

// memory is a store in memory that counts look-ups and fails on demand.
type memory struct {
	apikey.Store // all that these tests do not use

	mu      sync.Mutex
	keys    map[string]apikey.Found
	asked   int
	err     error
	entered chan struct{} // when not nil, each look-up reports that it has begun ...
	leave   chan struct{} // ... and, with what it has read, waits to go on
}

func (m *memory) KeyByHash(_ context.Context, hash string) (apikey.Found, error) {
	m.mu.Lock()
	m.asked++
	f, ok := m.keys[hash]
	err, entered := m.err, m.entered
	m.mu.Unlock()
	if entered != nil {
		entered <- struct{}{}
		<-m.leave
	}
	if err != nil {
		return apikey.Found{}, err
	}
	if !ok {
		return apikey.Found{}, apikey.NotFound("memory")
	}
	return f, nil
}

func (m *memory) KeyByID(ctx context.Context, id string) (apikey.Found, error) {
	m.mu.Lock()
	hash := ""
	for h, f := range m.keys {
		if f.ID == id && f.Hash == h {
			hash = h
		}
	}
	m.mu.Unlock()
	return m.KeyByHash(ctx, hash)
}

func (m *memory) ListKeys(context.Context, apikey.Filter) ([]apikey.Key, error) { return nil, nil }

func (m *memory) Disablings(context.Context, string) (map[string]apikey.Disabling, error) {
	return nil, nil
}

func (m *memory) InsertKey(_ context.Context, k apikey.Key, _ int, _ audit.Event) error {
	m.edit(k.Hash, func(f *apikey.Found) { f.Key, f.Wallet = k, "wal_1" })
	return nil
}

func (m *memory) ChangeKey(_ context.Context, _, hash string, c apikey.Change, _ time.Time, _ audit.Event) (apikey.Key, error) {
	return m.edit(hash, func(f *apikey.Found) {
		if c.Disabled != nil {
			f.Disabled = *c.Disabled
		}
	}).Key, nil
}

func (m *memory) RotateKey(_ context.Context, _, hash, newHash, newLabel string, until, _ time.Time, _ audit.Event) (apikey.Key, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.keys[hash]
	f.Previous = apikey.Previous{Hash: f.Hash, Label: f.Label, Until: until}
	f.Hash, f.Label = newHash, newLabel
	m.keys[hash], m.keys[newHash] = f, f
	return f.Key, nil
}

// crowded is a store in which the labels of the first texts are taken.
type crowded struct {
	memory
	taken int
	tried []string
}

func (c *crowded) next(label string) error {
	if c.tried = append(c.tried, label); len(c.tried) <= c.taken {
		return fault.New(fault.Conflict, "crowded", "taken").Because(apikey.ErrLabelTaken)
	}
	return nil
}

func (c *crowded) InsertKey(ctx context.Context, k apikey.Key, most int, e audit.Event) error {
	if err := c.next(k.Label); err != nil {
		return err
	}
	return c.memory.InsertKey(ctx, k, most, e)
}

func (c *crowded) RotateKey(ctx context.Context, user, hash, newHash, newLabel string, until, now time.Time, e audit.Event) (apikey.Key, error) {
	if err := c.next(newLabel); err != nil {
		return apikey.Key{}, err
	}
	return c.memory.RotateKey(ctx, user, hash, newHash, newLabel, until, now, e)
}

// A new text is made until its label is unlike those of the user's other keys, and not for ever.
func TestLabelsAreUnlike(t *testing.T) {
	t.Parallel()
	s := &crowded{memory: memory{keys: map[string]apikey.Found{}}, taken: 2}
	m := apikey.NewManager(s, nil, time.Now, 0)
	key, text, err := m.Create(t.Context(), apikey.NewKey{Name: "x", User: "usr_1", Creator: "usr_1"}, audit.Actor{})
	if err != nil || len(s.tried) != 3 || s.tried[0] == s.tried[2] || key.Label != s.tried[2] || apikey.Hash(text) != key.Hash {
		t.Fatalf("after %v: %+v, %v", s.tried, key, err)
	}
	s.tried = nil
	key, text, err = m.Rotate(t.Context(), "usr_1", key.Hash, 0, audit.Actor{})
	if err != nil || len(s.tried) != 3 || key.Label != s.tried[2] || apikey.Hash(text) != key.Hash {
		t.Fatalf("after %v: %+v, %v", s.tried, key, err)
	}
	s.tried, s.taken = nil, 1000
	if _, _, err = m.Create(t.Context(), apikey.NewKey{Name: "x", User: "usr_1", Creator: "usr_1"}, audit.Actor{}); !fault.Is(err, fault.Conflict) || len(s.tried) > 100 {
		t.Errorf("%v after %d texts", err, len(s.tried))
	}
}

func (m *memory) ResetSpending(context.Context, string, string, time.Time, audit.Event) (apikey.Key, error) {
	panic("not used")
}

func (m *memory) DeleteKey(_ context.Context, _, hash string, now time.Time, _ audit.Event) error {
	m.edit(hash, func(f *apikey.Found) { f.DeletedAt = now })
	return nil
}

func (m *memory) edit(hash string, change func(*apikey.Found)) apikey.Found {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.keys == nil {
		m.keys = map[string]apikey.Found{}
	}
	f := m.keys[hash]
	change(&f)
	m.keys[hash] = f
	return f
}

func (m *memory) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}

func (m *memory) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

// newBench is a store with one key, a verifier, and a manager over both.
func newBench(t testing.TB) (*memory, *apikey.Verifier, *apikey.Manager, apikey.Key, string) {
	t.Helper()
	store := &memory{}
	v := apikey.NewVerifier(store, time.Now, apikey.VerifierConfig{})
	m := apikey.NewManager(store, v, time.Now, 0)
	key, text, err := m.Create(t.Context(), apikey.NewKey{Name: "one", User: "usr_1", Creator: "usr_1"}, audit.Actor{})
	if err != nil {
		t.Fatal(err)
	}
	return store, v, m, key, text
}

func refused(t *testing.T, v *apikey.Verifier, text, reason string) {
	t.Helper()
	_, err := v.Verify(t.Context(), text, nil)
	if !fault.Is(err, fault.Authentication) || fault.From(err).Public != "The API key is invalid." || fault.From(err).Op != "apikey.Verify: "+reason {
		t.Fatalf("Verify: %v; want Authentication, in the log because of %q", err, reason)
	}
}

func admitted(t *testing.T, v *apikey.Verifier, text string) *apikey.Caller {
	t.Helper()
	c, err := v.Verify(t.Context(), text, nil)
	if err != nil {
		t.Fatalf("Verify: %v", err)
	}
	return c
}

func TestVerifyFindsCallerWithFewQueries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, v, _, key, text := newBench(t)
		c := admitted(t, v, text)
		if c.Key != key.ID || c.Hash != key.Hash || c.User != "usr_1" || c.Wallet != "wal_1" || c.Management {
			t.Fatalf("caller is %+v", c)
		}
		for range 100 {
			admitted(t, v, text)
		}
		if store.count() != 1 {
			t.Fatalf("the store was asked %d times; want once", store.count())
		}
		time.Sleep(2 * time.Second)
		admitted(t, v, text)
		if store.count() != 2 {
			t.Fatalf("the store was asked %d times after two seconds; want twice", store.count())
		}
	})
}

func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, v, m, key, text := newBench(t)
		refused(t, v, "sk-other", "malformed")
		refused(t, v, text[:len(text)-1], "malformed")
		if store.count() != 0 {
			t.Fatalf("the store was asked %d times for keys that cannot be", store.count())
		}
		refused(t, v, apikey.Mint(false), "unknown")
		admitted(t, v, text)

		yes, no := true, false
		change := func(c apikey.Change) {
			if _, err := m.Change(t.Context(), "usr_1", key.Hash, c, audit.Actor{}); err != nil {
				t.Fatal(err)
			}
		}
		change(apikey.Change{Disabled: &yes})
		refused(t, v, text, "disabled")
		change(apikey.Change{Disabled: &no})
		admitted(t, v, text)

		store.edit(key.Hash, func(f *apikey.Found) { f.UserDisabled = true })
		v.ForgetUser("usr_1")
		refused(t, v, text, "disabled")
		store.edit(key.Hash, func(f *apikey.Found) { f.UserDisabled = false; f.ExpiresAt = time.Now().Add(time.Second) })
		v.Forget(key.Hash)
		admitted(t, v, text)
		time.Sleep(time.Second)
		refused(t, v, text, "expired")

		if err := m.Delete(t.Context(), "usr_1", key.Hash, audit.Actor{}); err != nil {
			t.Fatal(err)
		}
		refused(t, v, text, "revoked")
	})
}

// Another node revokes, without a message to this one.
func TestRevocationElsewhereIsKnownWithinFiveSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, v, _, key, text := newBench(t)
		admitted(t, v, text)
		store.edit(key.Hash, func(f *apikey.Found) { f.Disabled = true })
		time.Sleep(3 * time.Second)
		refused(t, v, text, "disabled")
	})
}

func TestKnownKeysSurviveTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, v, _, _, text := newBench(t)
		admitted(t, v, text)
		store.fail(errors.New("disk on fire"))
		time.Sleep(10 * time.Second)
		asked := store.count()
		for range 50 {
			admitted(t, v, text)
		}
		if store.count() != asked+1 {
			t.Fatalf("a store that is away was asked %d times at once", store.count()-asked)
		}
		if _, err := v.Verify(t.Context(), apikey.Mint(false), nil); !fault.Is(err, fault.StorageUnavailable) {
			t.Fatalf("unknown key without a store: %v; want StorageUnavailable", err)
		}
		time.Sleep(5 * time.Minute)
		if _, err := v.Verify(t.Context(), text, nil); !fault.Is(err, fault.StorageUnavailable) {
			t.Fatalf("after five minutes: %v; want StorageUnavailable", err)
		}
		store.fail(nil)
		admitted(t, v, text)
	})
}

// What another node has changed of a user is read at the next use of the user's keys, and of no others. While the store is away, they work as
// before.
// silent is a store that takes questions and does not answer.
type silent struct{ *memory }

func (s silent) KeyByHash(ctx context.Context, _ string) (apikey.Found, error) {
	s.memory.mu.Lock()
	s.memory.asked++
	s.memory.mu.Unlock()
	select {
	case <-ctx.Done():
		return apikey.Found{}, ctx.Err()
	case <-time.After(time.Minute): // as long as the store itself allows
		return apikey.Found{}, errors.New("no answer")
	}
}

// switched is the one store, and then the other.
type switched struct {
	apikey.Store
	silent atomic.Bool
	other  apikey.Store
}

func (s *switched) KeyByHash(ctx context.Context, hash string) (apikey.Found, error) {
	if s.silent.Load() {
		return s.other.KeyByHash(ctx, hash)
	}
	return s.Store.KeyByHash(ctx, hash)
}

// A call with a known key waits for a silent store once, and not for long.
func TestKnownKeysDoNotWaitForASilentStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, _, _, _, text := newBench(t)
		both := &switched{Store: store, other: silent{store}}
		v := apikey.NewVerifier(both, time.Now, apikey.VerifierConfig{})
		admitted(t, v, text)
		both.silent.Store(true)
		time.Sleep(10 * time.Second)
		began, asked := time.Now(), store.count()
		for range 50 {
			admitted(t, v, text)
		}
		if took := time.Since(began); took > 1500*time.Millisecond || store.count() != asked+1 {
			t.Errorf("50 calls took %v, and asked %d times", took, store.count()-asked)
		}
		both.silent.Store(false)
		time.Sleep(2 * time.Second)
		admitted(t, v, text)
		if store.count() != asked+2 {
			t.Error("a store that is back is not asked")
		}
	})
}

func TestLookAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, v, _, key, text := newBench(t)
		admitted(t, v, text)
		if _, err := v.Of(t.Context(), key.ID); err != nil {
			t.Fatal(err)
		}
		asked := store.count()
		v.LookAgain(func(user string) bool { return user != "usr_1" })
		admitted(t, v, text)
		if store.count() != asked {
			t.Errorf("the store was asked %d times because of other users", store.count()-asked)
		}
		v.LookAgain(func(user string) bool { return user == "usr_1" })
		store.fail(fault.New(fault.StorageUnavailable, "memory", "away"))
		admitted(t, v, text)
		if _, err := v.Of(t.Context(), key.ID); err != nil {
			t.Error(err)
		}
		store.fail(nil)
		store.edit(key.Hash, func(f *apikey.Found) { f.Disabled = true })
		time.Sleep(1500 * time.Millisecond) // for the pause after a failure
		refused(t, v, text, "disabled")
		if _, err := v.Of(t.Context(), key.ID); !fault.Is(err, fault.Authentication) {
			t.Errorf("by its id: %v", err)
		}
	})
}

// A look-up that began before another node's revocation was known must not be remembered after it.
func TestLookAgainBeatsALookUpOnItsWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, v, _, key, text := newBench(t)
		store.entered, store.leave = make(chan struct{}, 9), make(chan struct{})
		go func() { _, _ = v.Verify(context.Background(), text, nil) }()
		<-store.entered
		store.edit(key.Hash, func(f *apikey.Found) { f.Disabled = true })
		v.LookAgain(func(string) bool { return true })
		close(store.leave)
		synctest.Wait()
		refused(t, v, text, "disabled")
	})
}

// A look-up that began before a revocation must not bring the key back after it.
func TestForgetBeatsALookUpOnItsWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, v, _, key, text := newBench(t)
		store.entered, store.leave = make(chan struct{}, 9), make(chan struct{})
		go func() { _, _ = v.Verify(context.Background(), text, nil) }()
		<-store.entered
		store.edit(key.Hash, func(f *apikey.Found) { f.Disabled = true })
		v.Forget(key.Hash)
		close(store.leave)
		synctest.Wait()
		refused(t, v, text, "disabled")
	})
}

func TestOneLookUpForMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, v, _, _, text := newBench(t)
		store.entered, store.leave = make(chan struct{}, 99), make(chan struct{})
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { admitted(t, v, text) })
		}
		synctest.Wait() // one in the store, the others after it
		close(store.leave)
		wg.Wait()
		if store.count() != 1 {
			t.Fatalf("the store was asked %d times; want once", store.count())
		}
	})
}

func TestManagerChecksFields(t *testing.T) {
	t.Parallel()
	_, _, m, key, _ := newBench(t)
	past := time.Now().Add(-time.Hour)
	for name, c := range map[string]struct {
		n     apikey.NewKey
		param string
	}{
		"no name":        {apikey.NewKey{}, "name"},
		"long name":      {apikey.NewKey{Name: strings.Repeat("x", 257)}, "name"},
		"NUL":            {apikey.NewKey{Name: "a\x00b"}, "name"},
		"bad UTF-8":      {apikey.NewKey{Name: "a\xff"}, "name"},
		"negative limit": {apikey.NewKey{Name: "x", Limit: &apikey.Limit{Amount: -1}}, "limit"},
		"unknown reset":  {apikey.NewKey{Name: "x", Limit: &apikey.Limit{Reset: "hourly"}}, "limit_reset"},
		"expired":        {apikey.NewKey{Name: "x", ExpiresAt: past}, "expires_at"},
	} {
		if _, _, err := m.Create(t.Context(), c.n, audit.Actor{}); fault.From(err) == nil || fault.From(err).Param != c.param {
			t.Errorf("%s: %v; want an error about %s", name, err, c.param)
		}
	}
	if _, err := m.ByHash(t.Context(), "usr_2", key.Hash); !fault.Is(err, fault.NotFound) {
		t.Errorf("another user's key: %v; want NotFound", err)
	}
}

func BenchmarkVerify(b *testing.B) {
	_, v, _, _, text := newBench(b)
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Verify(ctx, text, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// stranger allows so many queries and counts those that found nothing.
type stranger struct{ may, missed int }

func (s *stranger) MayAsk() error {
	if s.may--; s.may < 0 {
		return fault.New(fault.RateLimited, "stranger", "Too many.")
	}
	return nil
}

func (s *stranger) Missed() { s.missed++ }

// Guesses with a correct checksum cost a query each: those of one client and of all are bounded, a repeated guess costs none, and a
// remembered key works through all of it.
func TestUnknownKeysCostBoundedQueries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, _, m, _, text := newBench(t)
		v := apikey.NewVerifier(store, time.Now, apikey.VerifierConfig{MissesPerSecond: 10})
		admitted(t, v, text)
		begun := store.count()

		guess := apikey.Mint(false)
		for range 50 {
			refused(t, v, guess, "unknown")
		}
		if n := store.count() - begun; n != 1 {
			t.Errorf("one guess repeated cost %d queries; want 1", n)
		}
		by := &stranger{may: 3}
		for range 20 {
			_, err := v.Verify(t.Context(), apikey.Mint(false), by)
			if want := map[bool]fault.Kind{true: fault.Authentication, false: fault.RateLimited}[by.may >= 0]; !fault.Is(err, want) {
				t.Fatalf("with %d queries left: %v", by.may, err)
			}
		}
		if n := store.count() - begun; n != 4 || by.missed != 3 {
			t.Errorf("%d queries, %d missed; want 4 and 3", n, by.missed)
		}
		over := 0
		for range 20 {
			if _, err := v.Verify(t.Context(), apikey.Mint(false), nil); fault.Is(err, fault.Overloaded) {
				over++
			}
		}
		if n := store.count() - begun; n != 10 || over != 14 {
			t.Errorf("%d queries in a second and %d refused; want 10 and 14", n, over)
		}
		by.may = 0
		for range 5 {
			if _, err := v.Verify(t.Context(), text, by); err != nil {
				t.Fatalf("a remembered key: %v", err)
			}
			time.Sleep(3 * time.Second) // it is renewed, and no request waits for that
		}
		_, fresh, err := m.Create(t.Context(), apikey.NewKey{Name: "two", User: "usr_1", Creator: "usr_1"}, audit.Actor{})
		if err != nil {
			t.Fatal(err)
		}
		admitted(t, v, fresh)
	})
}

// Look-ups that find a key take nothing from the budget of those that do not: after a restart everybody's key is unknown.
func TestValidKeysTakeNothingFromTheBudgetOfGuesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, _, m, _, _ := newBench(t)
		v := apikey.NewVerifier(store, time.Now, apikey.VerifierConfig{MissesPerSecond: 3})
		for range 30 {
			_, text, err := m.Create(t.Context(), apikey.NewKey{Name: "x", User: "usr_1", Creator: "usr_1"}, audit.Actor{})
			if err != nil {
				t.Fatal(err)
			}
			admitted(t, v, text)
		}
	})
}

// A key brings the preferences of its user and its own; a change is known with the next look-up, and what cannot be read opens no door.
func TestVerifyBringsPreferences(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		v := apikey.NewVerifier(store, time.Now, apikey.VerifierConfig{Preferences: func(text string) (routing.Preferences, error) {
			if text == "broken" {
				return routing.Preferences{}, errors.New("broken")
			}
			return routing.Preferences{Only: []string{text}}, nil
		}})
		key, text, err := apikey.NewManager(store, v, time.Now, 0).Create(t.Context(), apikey.NewKey{Name: "one", User: "usr_1", Creator: "usr_1"}, audit.Actor{})
		if err != nil {
			t.Fatal(err)
		}
		if c := admitted(t, v, text); c.Defaults != nil {
			t.Fatalf("defaults out of nothing: %+v", c.Defaults)
		}
		for _, c := range []struct {
			account, key string
			want         *apikey.Defaults
		}{
			{"a", "", &apikey.Defaults{Account: "a", Preferences: routing.Preferences{Only: []string{"a"}}}},
			{"", "k", &apikey.Defaults{Key: "k", Preferences: routing.Preferences{Only: []string{"k"}}}},
			{"a", "k", &apikey.Defaults{Account: "a", Key: "k", Preferences: routing.Preferences{Only: []string{"k"}, Within: [][]string{{"a"}}}}},
			{"", "", nil},
		} {
			store.edit(key.Hash, func(f *apikey.Found) { f.AccountPreferences, f.Preferences = c.account, c.key })
			time.Sleep(2 * time.Second)
			if diff := cmp.Diff(c.want, admitted(t, v, text).Defaults); diff != "" {
				t.Errorf("account %q, key %q (-want +got):\n%s", c.account, c.key, diff)
			}
		}
		store.edit(key.Hash, func(f *apikey.Found) { f.AccountPreferences = "broken" })
		time.Sleep(2 * time.Second)
		if _, err := v.Verify(t.Context(), text, nil); !fault.Is(err, fault.Internal) {
			t.Errorf("preferences that cannot be read: %v; want Internal", err)
		}
	})
}
