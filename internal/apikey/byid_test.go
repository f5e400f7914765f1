package apikey_test

import (
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
)

// A key is found by its id after its text was changed twice, until it is disabled; while the store is away, it is remembered.
func TestOfKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, v, m, key, _ := newBench(t)
		hash := key.Hash
		for range 3 {
			c, err := v.Of(t.Context(), key.ID)
			if err != nil || c.Key != key.ID || c.Hash != hash {
				t.Fatalf("%+v, %v", c, err)
			}
			next, _, err := m.Rotate(t.Context(), "usr_1", hash, 0, audit.Actor{})
			if err != nil {
				t.Fatal(err)
			}
			hash = next.Hash
			time.Sleep(3 * time.Second)
		}
		before := store.count()
		for range 10 {
			if _, err := v.Of(t.Context(), key.ID); err != nil {
				t.Fatal(err)
			}
		}
		if n := store.count() - before; n != 1 {
			t.Errorf("%d look-ups", n)
		}
		store.fail(fault.New(fault.StorageUnavailable, "memory", "away"))
		time.Sleep(4 * time.Minute)
		if _, err := v.Of(t.Context(), key.ID); err != nil {
			t.Errorf("while the store is away: %v", err)
		}
		time.Sleep(2 * time.Minute)
		if _, err := v.Of(t.Context(), key.ID); !fault.Is(err, fault.StorageUnavailable) {
			t.Errorf("after a long time: %v", err)
		}
		store.fail(nil)
		off := true
		if _, err := m.Change(t.Context(), "usr_1", hash, apikey.Change{Disabled: &off}, audit.Actor{}); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{key.ID, "key_none", ""} {
			if _, err := v.Of(t.Context(), id); !fault.Is(err, fault.Authentication) {
				t.Errorf("%q: %v", id, err)
			}
		}
	})
}
