package promptcache //nolint:testpackage // the bounds are of unexported fields

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/catalog"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/usage"
)

var start = time.Unix(1_772_000_000, 0)

// said is the view of a prompt with instructions of 8 KB and these messages.
func said(m *Memory, user, key uint64, messages ...string) *View {
	return &View{User: user, Key: key, Model: 1, Prompt: 2100, Prints: prints(m.Seed, strings.Repeat("Be brief. ", 800), messages...)}
}

// TestMemory follows a conversation from endpoint to endpoint.
func TestMemory(t *testing.T) {
	t.Parallel()
	m := NewMemory()
	first := said(m, 1, 10, "a")
	if m.Look(first, start); first.Before != 0 || first.Warm != nil || first.Changed != Unchanged {
		t.Fatalf("nothing is kept: %+v", first)
	}
	m.Keep(first, "alpha", 2000, 100, start)

	second := said(m, 1, 10, "a", "b", "c")
	m.Look(second, start.Add(time.Minute))
	if second.Before != 2000 || second.Common != 2000 || second.Last != "alpha" || second.Calls != 1 || second.Age != time.Minute || len(second.Warm) != 1 || second.Warm[0] != (Warm{"alpha", 2000, time.Minute}) {
		t.Fatalf("after one call: %+v", second)
	}
	m.Keep(second, "beta", 2010, 100, start.Add(time.Minute))

	third := said(m, 1, 10, "a", "b", "c", "d")
	m.Look(third, start.Add(2*time.Minute))
	if len(third.Warm) != 2 || third.Last != "beta" || third.Warm[0].Endpoint != "beta" || third.Warm[1].Tokens < 1990 || third.Warm[1].Tokens > 2010 || third.Warm[1].Age != 2*time.Minute {
		t.Fatalf("after two endpoints: %+v", third.Warm)
	}

	other := said(m, 1, 10, "z")
	m.Look(other, start.Add(2*time.Minute))
	if other.Before != 0 || len(other.Warm) != 2 || other.Warm[0].Tokens > 2010 || other.Warm[0].Tokens < 1900 {
		t.Fatalf("another conversation of the session with the same instructions: %+v", other)
	}
	elsewhere := said(m, 1, 11, "z")
	m.Look(elsewhere, start.Add(2*time.Minute))
	if elsewhere.Before != 0 || len(elsewhere.Warm) != 2 {
		t.Fatalf("another session with the same instructions: %+v", elsewhere)
	}
	stranger := said(m, 2, 10, "a", "b", "c", "d")
	if m.Look(stranger, start.Add(2*time.Minute)); stranger.Before != 0 || stranger.Warm != nil {
		t.Fatalf("another account: %+v", stranger)
	}
	changed := said(m, 1, 10, "a", "B", "c", "d")
	m.Look(changed, start.Add(2*time.Minute))
	if changed.Changed != 2 || changed.Before != 2010 || changed.Common >= 2010 || changed.Warm[0].Tokens != changed.Common {
		t.Fatalf("a changed message: %+v", changed)
	}
	late := said(m, 1, 10, "a", "b", "c", "d")
	if m.Look(late, start.Add(2*time.Minute+Lifetime)); late.Before != 0 || late.Warm != nil {
		t.Fatalf("after its lifetime: %+v", late)
	}
}

// TestMemoryIsBounded gives one user many conversations, and then many users some.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	m := NewMemory()
	held := func() (n int) {
		for i := range m.shards {
			of := 0
			for _, u := range m.shards[i].users {
				own := 0
				for _, x := range u.sessions {
					own += len(x.threads)
				}
				if own != u.count || own > perUser {
					t.Fatalf("a user has %d, counted as %d", own, u.count)
				}
				of += own
			}
			if of != m.shards[i].count || of > perShard {
				t.Fatalf("a shard has %d, counted as %d", of, m.shards[i].count)
			}
			n += of
		}
		return n
	}
	keep := func(user, key uint64, at time.Time) {
		v := said(m, user, key, fmt.Sprint(key))
		m.Look(v, at)
		m.Keep(v, "alpha", 2000, 10, at)
	}
	now := start
	for i := range uint64(2 * perUser) {
		now = now.Add(time.Millisecond)
		keep(1, i, now)
	}
	if n := held(); n > perUser || n < perUser/2 {
		t.Errorf("one user has %d conversations", n)
	}
	newest := said(m, 1, 2*perUser-1, fmt.Sprint(2*perUser-1), "x")
	if m.Look(newest, now); newest.Before == 0 {
		t.Error("the newest was dropped")
	}
	for i := range uint64(20) { // all in the shard of the first
		for j := range uint64(perUser) {
			now = now.Add(time.Millisecond)
			keep(1+shardCount*i, j, now)
		}
	}
	if n := held(); n > perShard || n < perShard/2 {
		t.Errorf("a shard has %d conversations", n)
	}
}

func endpoint(id, prompt, read, write string) *catalog.Endpoint {
	ep := &catalog.Endpoint{ID: id, Provider: &catalog.Provider{Dialect: "openai"}, ImplicitCache: true}
	p := &ep.Pricing.Base
	for _, x := range []struct {
		text string
		to   *money.Price
	}{{prompt, &p.Prompt}, {read, &p.CacheRead}, {write, &p.CacheWrite}, {"1", &p.Completion}} {
		if x.text != "" {
			price, err := money.ParsePrice(x.text)
			if err != nil {
				panic(err)
			}
			*x.to = price
		}
	}
	return ep
}

// TestForecast holds for all conversations: more in the cache, or lower prices, never make the rest of a conversation dearer, and what is said to be saved is
// never more than the tokens in the cache would cost.
func TestForecast(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		read := rapid.IntRange(0, 100).Draw(t, "read")
		ep := endpoint("alpha", "1", fmt.Sprintf("0.%02d", min(read, 99)), rapid.SampledFrom([]string{"", "1.25", "2"}).Draw(t, "write"))
		r := NewRates()
		for range rapid.IntRange(0, 60).Draw(t, "measured") {
			n := rapid.Int64Range(0, 40_000).Draw(t, "read of it")
			r.Measure(ep.ID, Unmarked, 40_000, time.Minute, &usage.Usage{Prompt: usage.Of(50_000), CacheRead: usage.Of(n)})
		}
		v := View{Prompt: rapid.Int64Range(LeastTokens, 1_000_000).Draw(t, "prompt"), Calls: rapid.IntRange(0, 1000).Draw(t, "calls"), Answer: rapid.Int64Range(0, 10_000).Draw(t, "answer"),
			Gap: time.Duration(rapid.Int64Range(0, int64(2*time.Hour)).Draw(t, "gap")), Growth: rapid.Int64Range(0, 100_000).Draw(t, "growth")}
		cold := v.Forecast(r, ep, &ep.Pricing.Base)
		warm := v
		warm.Warm = []Warm{{ep.ID, rapid.Int64Range(LeastTokens, v.Prompt).Draw(t, "warm"), time.Duration(rapid.Int64Range(0, int64(Lifetime)).Draw(t, "age"))}}
		hot := warm.Forecast(r, ep, &ep.Pricing.Base)
		if hot.Cost > cold.Cost || hot.Cost <= 0 || cold.Saves != 0 || hot.Saves < 0 {
			t.Fatalf("warm %+v, cold %+v", hot, cold)
		}
		if full := float64(hot.Tokens) * 2_000_000; float64(hot.Saves) > full {
			t.Fatalf("saves %s of %d tokens", hot.Saves, hot.Tokens)
		}
		dear := endpoint("alpha", "2", "1.9", "2.5")
		if x := warm.Forecast(r, dear, &dear.Pricing.Base); x.Cost < hot.Cost {
			t.Fatalf("dearer %f, cheaper %f", x.Cost, hot.Cost)
		}
	})
}

// TestRates learns that an endpoint reads nothing, and that it reads again.
func TestRates(t *testing.T) {
	t.Parallel()
	ep, r := endpoint("alpha", "1", "0.1", ""), NewRates()
	measure := func(times int, read int64, source usage.Source) {
		for range times {
			r.Measure(ep.ID, Unmarked, 10_000, time.Minute, &usage.Usage{Prompt: usage.Of(12_000), CacheRead: usage.Of(read), Source: source})
		}
	}
	usual := r.hit(ep, Unmarked, 10_000, time.Minute)
	if measure(50, 0, usage.Estimated); r.hit(ep, Unmarked, 10_000, time.Minute) != usual {
		t.Error("what was estimated counts")
	}
	if measure(20, 0, usage.Reported); r.hit(ep, Unmarked, 10_000, time.Minute) > 0.15 {
		t.Errorf("after 20 misses %f", r.hit(ep, Unmarked, 10_000, time.Minute))
	}
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	if !near(r.hit(ep, Unmarked, 10_000, 30*time.Minute), 0.2) || !near(r.hit(ep, Unmarked, 2000, time.Minute), usual) || !near(r.hit(ep, Marked, 10_000, time.Minute), 0.95) {
		t.Error("other lengths, ages and kinds have changed")
	}
	if measure(120, 9_900, usage.Reported); r.hit(ep, Unmarked, 10_000, time.Minute) < 0.9 {
		t.Errorf("after 120 hits %f", r.hit(ep, Unmarked, 10_000, time.Minute))
	}
	if r.hit(ep, Unmarked, 500, time.Minute) != 0 || r.hit(ep, Unmarked, 10_000, 2*time.Hour) != 0 {
		t.Error("short or old prompts are read")
	}
	claude := endpoint("claude", "1", "0.1", "1.25")
	claude.Provider.Dialect, claude.ImplicitCache = "anthropic", false
	if r.hit(claude, Unmarked, 10_000, time.Minute) != 0 || r.hit(claude, Marked, 10_000, 6*time.Minute) != 0 || r.hit(claude, MarkedHour, 10_000, 50*time.Minute) != 0.95 {
		t.Error("Anthropic caches what is marked, for as long as that")
	}
}

// TestLost names why a call read less than the one before had sent.
func TestLost(t *testing.T) {
	t.Parallel()
	ep := endpoint("alpha", "0.003", "0.0003", "")
	for _, c := range []struct {
		name   string
		view   View
		prompt int64
		read   int64
		source usage.Source
		want   record.Lost
	}{
		{name: "read", view: View{Before: 41_000, Common: 41_000, Changed: Unchanged, Last: "alpha", Warm: []Warm{{"alpha", 41_000, time.Minute}}}, read: 40_960},
		{name: "a new conversation", view: View{Changed: Unchanged}},
		{name: "too short", view: View{Before: 1000, Common: 1000, Changed: Unchanged, Last: "alpha"}},
		{name: "another endpoint", view: View{Before: 41_000, Common: 41_000, Changed: Unchanged, Last: "beta", Warm: []Warm{{"beta", 41_000, time.Minute}}},
			want: record.Lost{Tokens: 41_000, Why: record.LostEndpoint, From: "beta", Cost: 110_700_000}},
		{name: "another endpoint that has the instructions", view: View{Before: 41_000, Common: 41_000, Changed: Unchanged, Last: "beta", Warm: []Warm{{"beta", 41_000, time.Minute}, {"alpha", 12_000, time.Minute}}}, read: 11_904,
			want: record.Lost{Tokens: 29_096, Why: record.LostEndpoint, From: "beta", Cost: 78_559_200}},
		{name: "a changed message", view: View{Before: 41_000, Common: 12_000, Changed: 3, Last: "alpha", Warm: []Warm{{"alpha", 12_000, time.Minute}}}, read: 11_904,
			want: record.Lost{Tokens: 29_096, Why: record.LostPrefix, Message: 3, Cost: 78_559_200}},
		{name: "changed instructions", view: View{Before: 41_000, Changed: 0, Last: "alpha", Warm: []Warm{{"alpha", 0, time.Minute}}},
			want: record.Lost{Tokens: 41_000, Why: record.LostPrefix, Cost: 110_700_000}},
		{name: "the last message changed, and it is too old", view: View{Before: 41_000, Common: 40_000, Changed: 9, Last: "alpha", Warm: []Warm{{"alpha", 40_000, 12 * time.Minute}}},
			want: record.Lost{Tokens: 41_000, Why: record.LostExpired, Cost: 110_700_000}},
		{name: "too old", view: View{Before: 41_000, Common: 41_000, Changed: Unchanged, Last: "alpha", Warm: []Warm{{"alpha", 41_000, 6 * time.Minute}}},
			want: record.Lost{Tokens: 41_000, Why: record.LostExpired, Cost: 110_700_000}},
		{name: "not too old for an hour's mark", view: View{Before: 41_000, Common: 41_000, Changed: Unchanged, Last: "alpha", Prints: Prints{kind: MarkedHour}, Warm: []Warm{{"alpha", 41_000, 6 * time.Minute}}},
			want: record.Lost{Tokens: 41_000, Why: record.LostNotKept, Cost: 110_700_000}},
		{name: "old, and read all the same", view: View{Before: 41_000, Common: 41_000, Changed: Unchanged, Last: "alpha", Warm: []Warm{{"alpha", 41_000, 50 * time.Minute}}}, read: 40_960},
		{name: "a shorter prompt", view: View{Before: 41_000, Common: 2_000, Changed: Unchanged, Last: "alpha", Warm: []Warm{{"alpha", 2_000, time.Minute}}}, prompt: 2_000, read: 1_920},
		{name: "estimated", view: View{Before: 41_000, Common: 41_000, Changed: Unchanged, Last: "alpha", Warm: []Warm{{"alpha", 41_000, time.Minute}}}, source: usage.Estimated},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			prompt := c.prompt
			if prompt == 0 {
				prompt = 42_000
			}
			u := usage.Usage{Prompt: usage.Of(prompt), CacheRead: usage.Of(c.read), Source: c.source}
			if got := c.view.Lost("alpha", &u, &ep.Pricing.Base); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}
