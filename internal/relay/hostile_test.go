package relay_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/relay"
	"weir/internal/usage"
)

// hostileOffers are dear and cheap, bounded and not, with thresholds, tiers, priced parts and pieces, seen and unseen reasoning.
func hostileOffers() (list []catalog.Offer) {
	all := prices(func(p *catalog.Prices) {
		p.CacheRead, p.CacheWrite, p.CacheWrite1h, p.Reasoning = price("0.1"), price("3"), price("5"), price("9")
		p.Audio, p.AudioOutput, p.Image, p.ImageOutput = price("7"), price("20"), price("2"), price("30")
		p.Request, p.WebSearch, p.ImageOutputEach = price("0.5"), price("0.7"), price("4")
	})
	add := func(model string, change ...func(*catalog.Offer)) {
		list = append(list, offer("alpha", model, "1", "2", change...))
	}
	add("v/plain", limits(4000, 1000))
	add("v/open", limits(0, 0))
	add("v/parts", limits(4000, 0), all)
	add("v/steps", limits(0, 1000), threshold(10, "3", "6"), all)
	add("v/draws", limits(4000, 3000), all, func(o *catalog.Offer) { o.Output = catalog.Text | catalog.Image })
	add("v/tiers", limits(4000, 1000))
	list = append(list, offer("alpha", "v/tiers", "4", "9", limits(4000, 1000), func(o *catalog.Offer) { o.Tier = "priority" }))
	return list
}

// hostileScript is an upstream that reports when and what it likes, and the answer tokens that our own count finds in what it gives.
func hostileScript(t *rapid.T) (s script) {
	count := func(name string) usage.Count {
		n := rapid.SampledFrom([]int64{0, 1, 7, 300, 3000, 50_000, 1_000_000, -1, math.MinInt64, math.MaxInt64, 999_999_999}).Draw(t, name)
		return usage.Count{N: n, Reported: rapid.IntRange(0, 3).Draw(t, name+" reported") > 0}
	}
	for range rapid.IntRange(1, 12).Draw(t, "steps") {
		switch rapid.SampledFrom([]string{"text", "text", "long", "digits", "huge", "thought", "call", "sound", "picture", "usage", "usage", "parts", "finish", "tier"}).Draw(t, "step") {
		case "text":
			s = append(s, text("a word "))
		case "long":
			s = append(s, text(strings.Repeat("a word ", 60)))
		case "digits":
			s = append(s, text(strings.Repeat("83017465 !?", 60)))
		case "huge":
			s = append(s, text(strings.Repeat("a word ", 3000)))
		case "thought":
			s = append(s, step{ev: &completion.Event{Reasoning: []byte(strings.Repeat("hm so ", 50))}})
		case "call":
			s = append(s, step{ev: &completion.Event{ToolCalls: []completion.ToolCall{{Arguments: []byte(`{"a": 1}`)}}}})
		case "sound":
			s = append(s, step{ev: &completion.Event{Audio: []byte(strings.Repeat("A", 64_000))}})
		case "picture":
			s = append(s, step{ev: &completion.Event{Images: []byte("[{}]"), ImageCount: rapid.IntRange(1, 3).Draw(t, "pictures")}})
		case "usage":
			s = append(s, usedExactly(usage.Usage{Prompt: count("prompt"), Completion: count("answer")}))
		case "parts":
			s = append(s, usedExactly(usage.Usage{Prompt: count("prompt"), CacheRead: count("read"), CacheWrite1h: count("written"), PromptAudio: count("heard"), Completion: count("answer"),
				Reasoning: count("thought"), OutputAudio: count("spoken"), OutputImage: count("drawn"), WebSearches: count("searches"), Images: count("pictures"), Requests: count("requests")}))
		case "finish":
			s = append(s, finish(completion.Stop))
		case "tier":
			s = append(s, head(completion.Head{Tier: rapid.SampledFrom([]string{"priority", "flex"}).Draw(t, "tier")}))
		}
	}
	if rapid.IntRange(0, 2).Draw(t, "ends") > 0 {
		return append(s, done())
	}
	return append(s, fails(fault.ProviderUnavailable, fault.Stop))
}

// Whatever providers report and whatever clients do, a wallet is never below nothing by more than one slice of each call; and what was
// delivered is paid for, as far as there was money.
func TestWalletBound(t *testing.T) {
	t.Parallel()
	const slice = 50
	w := newWorld(t, nil, hostileOffers()...)
	endpoints := map[string]*catalog.Endpoint{}
	models := []string{"v/plain", "v/open", "v/parts", "v/steps", "v/draws", "v/tiers"}
	for _, slug := range models {
		m, _ := w.snap.Model(slug)
		for _, ep := range m.Endpoints {
			endpoints[ep.ID] = ep
		}
	}
	calls := 0
	rapid.Check(t, func(t *rapid.T) {
		w.snap.Providers["alpha"].Quirks.ReasoningInSight = rapid.Bool().Draw(t, "reasoning in sight")
		rich := rapid.IntRange(0, 2).Draw(t, "rich") == 2
		credit := rapid.SampledFrom([]money.Nano{rubles("0.3"), 3 * money.Ruble, 10 * money.Ruble, 50 * money.Ruble}).Draw(t, "balance")
		if rich {
			credit = 100_000_000 * money.Ruble
		}
		owner := caller
		owner.Wallet = fmt.Sprintf("wal_bound_%d", calls)
		w.store.credit(owner.Wallet, credit)
		n := rapid.IntRange(1, 3).Draw(t, "calls")
		var all []*relay.Call
		var run sync.WaitGroup
		for range n {
			calls++
			up := &upstream{scripts: map[string][]script{}}
			s := hostileScript(t)
			for id := range endpoints {
				up.scripts[id] = []script{s}
			}
			r := relay.New(relay.Deps{Upstream: up, Book: w.book, Tokens: words{}, Now: w.clock.Now, Rand: func() float64 { return 0.5 }},
				relay.Config{MaxAttempts: 2, AttemptBudget: 1, SliceTokens: slice, DefaultOutput: 500})
			c := w.call()
			c.Caller = &owner
			c.Generation = fmt.Sprintf("gen-bound-%d", calls)
			q := c.Request
			q.Models = []string{rapid.SampledFrom(models).Draw(t, "model")}
			q.Stream = rapid.Bool().Draw(t, "stream")
			q.Style = rapid.SampledFrom([]completion.Style{completion.Chat, completion.Responses, completion.Messages, completion.Gemini}).Draw(t, "style")
			q.N = rapid.SampledFrom([]int{1, 1, 3}).Draw(t, "n")
			q.MaxTokens = rapid.SampledFrom([]int64{0, 0, 1, 16, 900, math.MaxInt64}).Draw(t, "max tokens")
			q.Needs.N, q.Needs.PromptTokens, q.Needs.Dense = q.N, rapid.SampledFrom([]int64{1, 10, 10, 700}).Draw(t, "prompt"), 3
			q.Needs.Open, q.Needs.Web = rapid.IntRange(0, 4).Draw(t, "media by address") == 4, rapid.Bool().Draw(t, "web")
			if rapid.Bool().Draw(t, "cached") {
				q.HasRoles = completion.HasCacheControl
			}
			out := &sink{failAt: rapid.SampledFrom([]int{0, 0, 0, 0, 2, 3, 4, 6, 9}).Draw(t, "leaves at")}
			all = append(all, c)
			run.Go(func() { _ = r.Complete(context.Background(), c, out) })
		}
		run.Wait()
		if holds, sum := w.book.Open(); holds != 0 || sum != 0 {
			t.Fatalf("%d holds of %s are open", holds, sum)
		}
		bal, err := w.book.Balance(context.Background(), owner.Wallet)
		if err != nil {
			t.Fatal(err)
		}
		var may, charged money.Nano
		for _, c := range all {
			rec := c.Record
			charged += rec.Cost
			if !rec.Settled {
				continue
			}
			allowed := oneSlice(t, endpoints[rec.Endpoint], slice*int64(c.Request.N))
			may += allowed
			if rec.Cost > rec.Hold+allowed {
				t.Fatalf("%s is charged, %s was held and a slice is %s: %+v", rec.Cost, rec.Hold, allowed, rec.Usage)
			}
			if rich {
				checkPaid(t, c, rec)
			}
		}
		if bal.Charged != charged {
			t.Fatalf("%s is charged in all, %s in records", bal.Charged, charged)
		}
		if debt := charged - credit; debt > may {
			t.Fatalf("a debt of %s, and slices come to %s", debt, may)
		}
	})
}

// oneSlice is what a slice of the answer costs at most.
func oneSlice(t *rapid.T, ep *catalog.Endpoint, tokens int64) money.Nano {
	n := usage.Of(tokens)
	u := usage.Usage{Completion: n, Reasoning: n, OutputAudio: n, OutputImage: n}
	cost, err := usage.MostAt(&u, &ep.Pricing.Dearest(math.MaxInt64).Base, false)
	if err != nil {
		t.Fatal(err)
	}
	return cost
}

// checkPaid checks that a call of a wallet with money pays for its reported consumption, within the bounds, and, without a last
// report, for what it got.
func checkPaid(t *rapid.T, c *relay.Call, rec *record.Call) {
	u := &rec.Usage
	switch {
	case !u.Prompt.Reported || u.Prompt.N <= 0:
		t.Fatalf("a prompt of nothing: %+v", u)
	case u.Source&usage.Estimated != 0 && rec.FirstContent > 0 && u.Completion.N == 0 && rec.Cost > 0 && u.Images.N == 0:
		t.Fatalf("an answer of nothing: %+v", u)
	case c.Request.MaxTokens > 0 && c.Request.MaxTokens < 1000 && u.Source&usage.Capped != 0 && u.Completion.N > 200_000:
		t.Fatalf("an absurd answer: %+v", u)
	}
}
