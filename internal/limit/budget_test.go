package limit_test

import (
	"testing"

	"pgregory.net/rapid"

	"weir/internal/limit"
)

// No name has more than its part, all together have no more than there is, and what is given back can be taken again.
func TestBudget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.Int64Range(1, 100).Draw(t, "all")
		each := rapid.Int64Range(0, 120).Draw(t, "each")
		b := limit.NewBudget(all, each)
		tabs := make([]limit.Tab, 6) // two of each name
		forced := false
		names := []string{"a", "b", "c"}
		for i := range tabs {
			tabs[i].Open(b, names[i%3])
		}
		of := func(name int) int64 { return tabs[name].Taken() + tabs[name+3].Taken() }
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				i, n := rapid.IntRange(0, 5).Draw(t, "tab"), rapid.Int64Range(1, 60).Draw(t, "n")
				want := limit.None
				switch sum := of(0) + of(1) + of(2); {
				case each > 0 && each < all && of(i%3)+n > each:
					want = limit.OfName
				case sum+n > all:
					want = limit.OfAll
				}
				if got := tabs[i].Take(n); got != want {
					t.Fatalf("taking %d: %d; want %d", n, got, want)
				}
			},
			"take alone": func(t *rapid.T) {
				i, n := rapid.IntRange(0, 5).Draw(t, "tab"), rapid.Int64Range(1, 60).Draw(t, "n")
				want, others := limit.None, of(i%3)-tabs[i].Taken()
				switch sum := of(0) + of(1) + of(2); {
				case others > 0 && each > 0 && each < all && of(i%3)+n > each:
					want = limit.OfName
				case sum+n > all:
					want = limit.OfAll
				}
				if got := tabs[i].TakeAlone(n); got != want {
					t.Fatalf("taking %d beside %d of others: %d; want %d", n, others, got, want)
				}
			},
			"give": func(t *rapid.T) {
				i := rapid.IntRange(0, 5).Draw(t, "tab")
				tabs[i].Give(rapid.Int64Range(0, tabs[i].Taken()).Draw(t, "n"))
			},
			"force": func(t *rapid.T) {
				tabs[rapid.IntRange(0, 5).Draw(t, "tab")].Force(rapid.Int64Range(1, 60).Draw(t, "n"))
				forced = true
			},
			"close": func(t *rapid.T) {
				i := rapid.IntRange(0, 5).Draw(t, "tab")
				tabs[i].Close()
				tabs[i].Force(7) // by who came too late
				tabs[i].Open(b, names[i%3])
			},
			"": func(t *rapid.T) {
				for i, name := range names {
					if b.Of(name) != of(i) {
						t.Fatalf("%s has %d; want %d", name, b.Of(name), of(i))
					}
				}
				if b.Used() != of(0)+of(1)+of(2) || b.Used() > all && !forced {
					t.Fatalf("%d of %d are used", b.Used(), all)
				}
			},
		})
	})
}
