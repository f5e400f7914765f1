package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"weir/internal/limit"
	"weir/internal/store"
)

// useAt is the time of the stores that Uses checks.
var useAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Uses checks what a store does for allowances that nodes share. open gives an empty store with that clock, and closes it after the test.
func Uses(t *testing.T, open Open) {
	cases := map[string]func(*testing.T, *store.Store, *time.Time){"sums": usesSum, "bounded": usesBounded, "at once": usesRace, "swept": usesSwept}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := useAt
			check(t, open(t, func() time.Time { return now }), &now)
		})
	}
}

func taken(name string, d ...time.Duration) limit.Use {
	u := limit.Use{Name: name}
	copy(u.Taken[:], d)
	return u
}

func shareUses(t *testing.T, s *store.Store, since time.Time, uses ...limit.Use) (map[string]limit.Full, time.Time) {
	t.Helper()
	all, err := s.Nodes.ShareUses(t.Context(), uses, since)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]limit.Full{}
	for _, f := range all.Names {
		found[f.Name] = f
	}
	return found, all.At
}

func wantFull(t *testing.T, what string, f limit.Full, in ...time.Duration) {
	t.Helper()
	for i := range in {
		if f.In[i] != in[i] {
			t.Errorf("%s: full in %v, want %v", what, f.In, in)
			return
		}
	}
}

func usesSum(t *testing.T, s *store.Store, now *time.Time) {
	const h = time.Hour
	if found, at := shareUses(t, s, time.Time{}); len(found) != 0 || !at.Equal(useAt) {
		t.Fatalf("at %v an empty store has %v", at, found)
	}
	found, first := shareUses(t, s, time.Time{}, taken("a", h, 2*h, -h), taken("b", 250*365*24*h, -250*365*24*h), taken("c", h))
	wantFull(t, "first uses, and what was given back", found["a"], h, 2*h, -h)
	for range 5 {
		again, _ := shareUses(t, s, first, taken("b", 250*365*24*h, -250*365*24*h))
		if again["b"].In[0] < 50*365*24*h || again["b"].In[1] > 0 {
			t.Errorf("huge uses: full in %v", again["b"].In)
		}
	}
	*now = now.Add(h / 2)
	found, second := shareUses(t, s, first, taken("a", h, -h, h))
	wantFull(t, "second uses", found["a"], h/2+h, h/2, h)
	wantFull(t, "what nobody used again", found["c"], h/2)
	*now = now.Add(h)
	if found, _ = shareUses(t, s, second); len(found) != 1 || found["a"].In[0] != h/2 {
		t.Errorf("changed since the second use: %v", found)
	}
	*now = now.Add(h)
	if found, _ = shareUses(t, s, *now); len(found) != 0 {
		t.Errorf("nothing has changed since, but %v", found)
	}
}

// What nodes have taken together counts as no more than the bound that they name, in any order; what is given back counts from there.
func usesBounded(t *testing.T, s *store.Store, now *time.Time) {
	most := func(d ...time.Duration) limit.Use {
		u := taken("a", d...)
		u.Most = 2 * time.Minute
		return u
	}
	found, _ := shareUses(t, s, time.Time{}, most(time.Hour, time.Minute, -time.Hour))
	wantFull(t, "the first alone", found["a"], 2*time.Minute, time.Minute, -time.Hour)
	found, _ = shareUses(t, s, time.Time{}, most(2*time.Minute, 90*time.Second, 2*time.Minute))
	wantFull(t, "two together", found["a"], 2*time.Minute, 2*time.Minute, 2*time.Minute)
	found, _ = shareUses(t, s, time.Time{}, most(-30*time.Second, 0, time.Nanosecond))
	wantFull(t, "given back", found["a"], 90*time.Second, 2*time.Minute, 2*time.Minute)
	*now = now.Add(2 * time.Minute)
	found, _ = shareUses(t, s, time.Time{}, most(time.Second, time.Second, time.Second))
	wantFull(t, "two minutes later", found["a"], time.Second, time.Second, time.Second)
}

// Nodes that tell of the same names at once lose nothing, and do not wait for one another for ever.
func usesRace(t *testing.T, s *store.Store, _ *time.Time) {
	const nodes, times, names = 4, 10, 5
	var all sync.WaitGroup
	for range nodes {
		all.Go(func() {
			for range times {
				var uses []limit.Use
				for i := range names {
					uses = append(uses, taken(fmt.Sprint("k", i), time.Hour))
				}
				if _, err := s.Nodes.ShareUses(t.Context(), uses, time.Time{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	found, _ := shareUses(t, s, time.Time{})
	for i := range names {
		wantFull(t, fmt.Sprint("k", i), found[fmt.Sprint("k", i)], nodes*times*time.Hour)
	}
}

func usesSwept(t *testing.T, s *store.Store, now *time.Time) {
	shareUses(t, s, time.Time{}, taken("a", time.Hour, 0, 0), taken("b", time.Minute, time.Second, time.Second), taken("c", 0, 0, 3*time.Minute))
	for _, x := range []struct {
		after time.Duration
		left  int
	}{{0, 3}, {2 * time.Minute, 2}, {2 * time.Minute, 1}, {2 * time.Hour, 0}} {
		*now = now.Add(x.after)
		if err := s.Nodes.SweepUses(t.Context()); err != nil {
			t.Fatal(err)
		}
		if found, _ := shareUses(t, s, time.Time{}); len(found) != x.left {
			t.Errorf("%d are left after %v more, want %d", len(found), x.after, x.left)
		}
	}
}
