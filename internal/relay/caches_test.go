package relay_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/relay"
	"weir/internal/usage"
	"weir/internal/wire"
)

// talking is a request of a conversation with instructions of 8,000 tokens.
func talking(instructions string, messages ...string) func(*relay.Call) {
	return func(c *relay.Call) {
		r := c.Request
		system := `"` + strings.Repeat(instructions, 32_000/len(instructions)) + `"`
		first := `"` + messages[0] + `"`
		list := `["` + strings.Join(messages, `","`) + `"]`
		r.Body = []byte(`{"system":` + system + `,"messages":` + list + `}`)
		at := len(`{"system":`)
		r.Members = []completion.Member{{Name: "system", Start: 1, Value: at, End: at + len(system)}}
		r.Opening[0] = completion.Span{Start: at, End: at + len(system)}
		at += len(system) + len(`,"messages":`)
		r.MessagesAt = completion.Span{Start: at, End: at + len(list)}
		r.Opening[1] = completion.Span{Start: at + 1, End: at + 1 + len(first)}
		r.Needs.PromptTokens = int64(len(r.Body) / 4)
	}
}

// reading is an answer to a prompt of 8,000 tokens, so many of which were read from the cache.
func reading(tokens int64) script {
	return script{head(completion.Head{ID: "up-1"}), text("a"), finish(completion.Stop),
		usedExactly(usage.Usage{Prompt: usage.Of(8000), CacheRead: usage.Of(tokens), Completion: usage.Of(5)}), done()}
}

// TestCaches follows conversations over endpoints with caches: beta was the cheaper one when they began.
func TestCaches(t *testing.T) {
	t.Parallel()
	cheap := func(o *catalog.Offer) { o.Pricing.Base.CacheRead, o.ImplicitCache = price("0.1"), true }
	fresh := func(o *catalog.Offer) { o.ImplicitCache = true }
	type step struct {
		call  func(*relay.Call)
		after time.Duration
		alpha script // what the endpoints do; nil: they read nothing
		beta  script
		by    string
		lost  record.Lost
		says  string // in the detail of the first candidate
	}
	for _, c := range []struct {
		name   string
		offers []catalog.Offer
		steps  []step
	}{
		{"it stays with its cache", []catalog.Offer{offer("alpha", "v/m", "1", "2", cheap), offer("beta", "v/m", "1", "2", cheap)}, []step{
			{call: talking("Be brief. ", "a"), by: "beta"},
			{call: talking("Be brief. ", "a", "b", "c"), after: time.Minute, beta: reading(7936), by: "beta", says: "It has about 8000 tokens of this prompt in its cache: reading them is expected to save 6.1 rubles."},
		}},
		{"the cheapest prompt has no cache", []catalog.Offer{offer("alpha", "v/m", "0.9", "2", fresh), offer("beta", "v/m", "1", "2", cheap)}, []step{
			{call: talking("Be brief. ", "a"), by: "beta"},
			{call: talking("Be brief. ", "a", "b", "c"), after: time.Minute, beta: reading(7936), by: "beta"},
		}},
		{"an endpoint fails, and its cache is not forgotten", []catalog.Offer{offer("alpha", "v/m", "1", "2", cheap), offer("beta", "v/m", "1", "2", cheap)}, []step{
			{call: talking("Be brief. ", "a"), by: "beta"},
			{call: talking("Be brief. ", "a", "b", "c"), after: time.Minute, beta: broken, by: "alpha", lost: record.Lost{Tokens: 8000, Why: record.LostEndpoint, From: "beta/v/m", Cost: 7_200_000_000}},
			{call: talking("Be brief. ", "a", "b", "c", "d", "e"), after: time.Minute, alpha: reading(7936), by: "alpha"},
		}},
		{"the instructions have the time", []catalog.Offer{offer("alpha", "v/m", "1", "2", cheap), offer("beta", "v/m", "1", "2", cheap)}, []step{
			{call: talking("It is 10:42. ", "a"), by: "beta"},
			{call: talking("It is 10:43. ", "a", "b", "c"), after: time.Minute, by: "alpha", lost: record.Lost{Tokens: 8000, Why: record.LostPrefix, Cost: 7_200_000_000}},
		}},
		{"a pause", []catalog.Offer{offer("alpha", "v/m", "1", "2", cheap), offer("beta", "v/m", "1", "2", cheap)}, []step{
			{call: talking("Be brief. ", "a"), by: "beta"},
			{call: talking("Be brief. ", "a", "b", "c"), after: 20 * time.Minute, by: "beta", lost: record.Lost{Tokens: 8000, Why: record.LostExpired, Cost: 7_200_000_000}},
		}},
		{"the provider keeps nothing", []catalog.Offer{offer("beta", "v/m", "1", "2", cheap)}, []step{
			{call: talking("Be brief. ", "a"), by: "beta"},
			{call: talking("Be brief. ", "a", "b", "c"), after: time.Minute, by: "beta", lost: record.Lost{Tokens: 8000, Why: record.LostNotKept, Cost: 7_200_000_000}},
		}},
		{"an order of providers", []catalog.Offer{offer("alpha", "v/m", "1", "2", cheap), offer("beta", "v/m", "1", "2", cheap)}, []step{
			{call: talking("Be brief. ", "a"), by: "beta"},
			{call: func(call *relay.Call) {
				talking("Be brief. ", "a", "b", "c")(call)
				call.Request.Preferences.Order = []string{"alpha"}
			}, after: time.Minute, by: "alpha", lost: record.Lost{Tokens: 8000, Why: record.LostEndpoint, From: "beta/v/m", Cost: 7_200_000_000}},
		}},
		{"a sort order", []catalog.Offer{offer("alpha", "v/m", "1", "2", cheap), offer("beta", "v/m", "1", "2", cheap)}, []step{
			{call: talking("Be brief. ", "a"), by: "beta"},
			{call: func(call *relay.Call) {
				talking("Be brief. ", "a", "b", "c")(call)
				call.Request.Preferences.Sort = "price"
			}, after: time.Minute, by: "alpha", lost: record.Lost{Tokens: 8000, Why: record.LostEndpoint, From: "beta/v/m", Cost: 7_200_000_000}},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			drawn := 0.9
			w := newWorld(t, func(d *relay.Deps, cfg *relay.Config) {
				gated()(d, cfg)
				d.Prints = wire.Prints
				d.Rand = func() float64 { return drawn }
			}, c.offers...)
			w.store.credit(wallet, 1000*money.Ruble)
			for i, s := range c.steps {
				w.clock.add(s.after)
				if s.alpha == nil {
					s.alpha = reading(0)
				}
				if s.beta == nil {
					s.beta = reading(0)
				}
				w.plays("alpha/v/m", s.alpha)
				w.plays("beta/v/m", s.beta)
				call := w.call(s.call)
				rec, err := w.complete(call)
				if err != nil || rec.Provider != s.by {
					t.Fatalf("step %d: %v, served by %q, want %q: %+v", i+1, err, rec.Provider, s.by, rec.Candidates)
				}
				if rec.Lost != s.lost {
					t.Errorf("step %d: lost %+v, want %+v", i+1, rec.Lost, s.lost)
				}
				if s.says != "" && candidateOf(t, rec, rec.Endpoint).Detail != s.says {
					t.Errorf("step %d: %q", i+1, candidateOf(t, rec, rec.Endpoint).Detail)
				}
				drawn = 0
			}
		})
	}
}

// TestCachesOfShortPrompts looks at nothing for prompts that no provider caches, for models without a price for reading, and when switched off.
func TestCachesOfShortPrompts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		offer func(*catalog.Offer)
		call  func(*relay.Call)
		idle  time.Duration
	}{
		{"short", cached, func(c *relay.Call) { c.Request.Needs.PromptTokens = 1000 }, time.Minute},
		{"without a price", func(*catalog.Offer) {}, func(*relay.Call) {}, time.Minute},
		{"a price that is no discount", func(o *catalog.Offer) { o.Pricing.Base.CacheRead = o.Pricing.Base.Prompt }, func(*relay.Call) {}, time.Minute},
		{"switched off", cached, func(*relay.Call) {}, 0},
		{"a continued response", cached, func(c *relay.Call) { c.Request.History = []byte("[]") }, time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(d *relay.Deps, cfg *relay.Config) {
				gated()(d, cfg)
				d.Prints = wire.Prints
				cfg.StickyFor = c.idle
			}, offer("alpha", "v/m", "1", "2", c.offer), offer("beta", "v/m", "1", "2", c.offer))
			w.store.credit(wallet, 1000*money.Ruble)
			w.plays("alpha/v/m", reading(0))
			w.plays("beta/v/m", reading(0))
			for i := range 2 {
				call := w.call(talking("Be brief. ", "a"), c.call)
				rec, err := w.complete(call)
				if err != nil {
					t.Fatal(err)
				}
				if rec.Lost != (record.Lost{}) || strings.Contains(fmt.Sprint(rec.Candidates), "cache") {
					t.Errorf("call %d: %+v, %+v", i+1, rec.Lost, rec.Candidates)
				}
			}
		})
	}
}
