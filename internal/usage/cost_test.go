package usage_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/catalog"
	"weir/internal/money"
	"weir/internal/usage"
)

func price(nano int64) money.Price { return money.Price{Nano: nano, Set: true} }

func TestPricesFallToTheirParents(t *testing.T) {
	t.Parallel()
	everything := usage.Usage{
		Prompt: usage.Of(100), CacheRead: usage.Of(10), CacheWrite: usage.Of(11), CacheWrite1h: usage.Of(12), PromptAudio: usage.Of(13), PromptImage: usage.Of(14),
		Completion: usage.Of(60), Reasoning: usage.Of(5), OutputAudio: usage.Of(6), OutputImage: usage.Of(7), WebSearches: usage.Of(2), Images: usage.Of(3),
	}
	for _, c := range []struct {
		name   string
		prices catalog.Prices
		want   []usage.Line
	}{
		{"own prices", catalog.Prices{
			Prompt: price(1), CacheRead: price(2), CacheWrite: price(3), CacheWrite1h: price(4), Audio: price(5), Image: price(6), Completion: price(7),
			Reasoning: price(8), AudioOutput: price(9), ImageOutput: price(10), Request: price(11), WebSearch: price(12), ImageOutputEach: price(13),
		}, []usage.Line{
			{usage.KindPrompt, 40, 1, ""}, {usage.KindCacheRead, 10, 2, ""}, {usage.KindCacheWrite, 11, 3, ""}, {usage.KindCacheWrite1h, 12, 4, ""},
			{usage.KindPromptAudio, 13, 5, ""}, {usage.KindPromptImage, 14, 6, ""}, {usage.KindCompletion, 42, 7, ""}, {usage.KindReasoning, 5, 8, ""},
			{usage.KindOutputAudio, 6, 9, ""}, {usage.KindOutputImage, 7, 10, ""}, {usage.KindRequest, 1, 11, ""}, {usage.KindWebSearch, 2, 12, ""}, {usage.KindImage, 3, 13, ""},
		}},
		{"prompt and completion alone", catalog.Prices{Prompt: price(1), Completion: price(7)}, []usage.Line{
			{usage.KindPrompt, 40, 1, ""}, {usage.KindCacheRead, 10, 1, ""}, {usage.KindCacheWrite, 11, 1, ""}, {usage.KindCacheWrite1h, 12, 1, ""},
			{usage.KindPromptAudio, 13, 1, ""}, {usage.KindPromptImage, 14, 1, ""}, {usage.KindCompletion, 42, 7, ""}, {usage.KindReasoning, 5, 7, ""},
			{usage.KindOutputAudio, 6, 7, ""}, {usage.KindOutputImage, 7, 7, ""},
		}},
		{"an hour falls to five minutes", catalog.Prices{Prompt: price(1), CacheWrite: price(3), Completion: price(7), Reasoning: price(0)}, []usage.Line{
			{usage.KindPrompt, 40, 1, ""}, {usage.KindCacheRead, 10, 1, ""}, {usage.KindCacheWrite, 11, 3, ""}, {usage.KindCacheWrite1h, 12, 3, ""},
			{usage.KindPromptAudio, 13, 1, ""}, {usage.KindPromptImage, 14, 1, ""}, {usage.KindCompletion, 42, 7, ""}, {usage.KindReasoning, 5, 0, ""},
			{usage.KindOutputAudio, 6, 7, ""}, {usage.KindOutputImage, 7, 7, ""},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := usage.AppendLines([]usage.Line{{Quantity: 99}}, &everything, &c.prices)
			if diff := cmp.Diff(c.want, got[1:]); diff != "" || got[0].Quantity != 99 {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNothingCostsNothing(t *testing.T) {
	t.Parallel()
	lines, cost, err := usage.Cost(&usage.Usage{}, &catalog.Prices{Prompt: price(5), WebSearch: price(5)})
	if len(lines) != 0 || cost != 0 || err != nil {
		t.Errorf("%v, %s, %v", lines, cost, err)
	}
}

// Whatever was reported, the lines partition the prompt and the answer, the charge is their sum rounded up once, and the
// prompt's share is not above it.
func TestLinesPartitionTheTokens(t *testing.T) {
	t.Parallel()
	count := rapid.Custom(func(t *rapid.T) usage.Count {
		n := rapid.OneOf(rapid.Int64Range(0, 2000), rapid.Int64Range(-5, 5), rapid.Int64Range(0, 1e9)).Draw(t, "n")
		return usage.Count{N: n, Reported: rapid.Bool().Draw(t, "reported")}
	})
	anyPrice := rapid.Custom(func(t *rapid.T) money.Price {
		return money.Price{Nano: rapid.Int64Range(0, 1e9).Draw(t, "nano"), Set: rapid.Bool().Draw(t, "set")}
	})
	rapid.Check(t, func(t *rapid.T) {
		c, p := func(name string) usage.Count { return count.Draw(t, name) }, func(name string) money.Price { return anyPrice.Draw(t, name) }
		u := usage.Usage{
			Prompt: c("prompt"), CacheRead: c("read"), CacheWrite: c("write"), CacheWrite1h: c("write1h"), PromptAudio: c("audio"), PromptImage: c("image"),
			PromptVideo: c("video"), Completion: c("completion"), Reasoning: c("reasoning"), OutputAudio: c("out audio"), OutputImage: c("out image"),
			Accepted: c("accepted"), Rejected: c("rejected"), WebSearches: c("searches"), Images: c("images"),
		}
		prices := catalog.Prices{
			Prompt: p("prompt price"), Completion: p("completion price"), CacheRead: p("read price"), CacheWrite: p("write price"), CacheWrite1h: p("write1h price"),
			Reasoning: p("reasoning price"), Audio: p("audio price"), AudioOutput: p("out audio price"), Image: p("image price"), ImageOutput: p("out image price"),
			Request: p("request price"), WebSearch: p("search price"), ImageOutputEach: p("each price"),
		}
		lines, cost, err := usage.Cost(&u, &prices)
		if err != nil {
			t.Fatal(err)
		}
		var prompt, answer int64
		last := usage.Kind(0)
		sum := new(big.Rat)
		for _, l := range lines {
			if l.Quantity <= 0 || l.Price < 0 || l.Kind <= last {
				t.Fatalf("line %+v after kind %d", l, last)
			}
			last = l.Kind
			amount, ok := new(big.Rat).SetString(string(l.AppendAmount(nil)))
			if !ok {
				t.Fatalf("amount %q", l.AppendAmount(nil))
			}
			sum.Add(sum, amount)
			switch {
			case l.Kind <= usage.KindPromptImage:
				prompt += l.Quantity
			case l.Kind <= usage.KindOutputImage:
				answer += l.Quantity
			}
		}
		if prompt != max(u.Prompt.N, 0) || answer != max(u.Completion.N, 0) {
			t.Fatalf("lines of %d and %d tokens for %d and %d", prompt, answer, u.Prompt.N, u.Completion.N)
		}
		above := new(big.Rat).Sub(big.NewRat(int64(cost), int64(money.Ruble)), sum)
		if above.Sign() < 0 || above.Cmp(big.NewRat(1, int64(money.Ruble))) >= 0 {
			t.Fatalf("the charge %s is not %s rounded up", cost, sum.FloatString(12))
		}
		if share := usage.PromptCost(lines); share < 0 || share > cost {
			t.Fatalf("the prompt's share is %s of %s", share, cost)
		}
	})
}

// More of anything never makes a call cheaper, as long as a part costs no less than nothing.
func TestMoreTokensNeverCostLess(t *testing.T) {
	t.Parallel()
	prices := catalog.Prices{Prompt: price(250_000_001), Completion: price(999_999_999), Request: price(7)}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1e9)
		a, b, more := n.Draw(t, "prompt"), n.Draw(t, "completion"), n.Draw(t, "more")
		cost := func(prompt, completion int64) money.Nano {
			_, c, err := usage.Cost(&usage.Usage{Prompt: usage.Of(prompt), Completion: usage.Of(completion)}, &prices)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		if cost(a+more, b) < cost(a, b) || cost(a, b+more) < cost(a, b) {
			t.Fatal("more tokens cost less")
		}
	})
}

func TestCostRefusals(t *testing.T) {
	t.Parallel()
	u := usage.Usage{Prompt: usage.Of(1000), Completion: usage.Of(1)}
	for _, c := range []struct {
		name   string
		u      usage.Usage
		prices catalog.Prices
		cause  error
	}{
		{"a negative price", u, catalog.Prices{Prompt: price(-1), Completion: price(1000)}, money.ErrNegative},
		{"a negative fee", u, catalog.Prices{Request: price(-1)}, money.ErrNegative},
		{"an amount beyond int64", usage.Usage{Prompt: usage.Of(math.MaxInt64)}, catalog.Prices{Prompt: price(math.MaxInt64)}, money.ErrOverflow},
		{"a sum just beyond int64", usage.Usage{Prompt: usage.Of(1001)}, catalog.Prices{Prompt: price(math.MaxInt64)}, money.ErrOverflow},
	} {
		if lines, cost, err := usage.Cost(&c.u, &c.prices); !errors.Is(err, c.cause) || cost != 0 || lines != nil {
			t.Errorf("%s: %v, %s, %v", c.name, lines, cost, err)
		}
	}
}

func TestKindNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for k := usage.KindPrompt; k <= usage.KindMCP; k++ {
		name := k.String()
		if name == "" || seen[name] || k.Unit() == "" {
			t.Errorf("kind %d is called %q, sold by the %q", k, name, k.Unit())
		}
		seen[name] = true
	}
	// the numbers are stored: a name that moves would change old bills
	if usage.KindPrompt != 1 || usage.KindCompletion != 7 || usage.KindRequest != 11 || usage.KindImage != 13 || usage.KindVideo != 17 || usage.KindAudio != 18 || usage.KindWebFetch != 19 || usage.KindMCP != 22 {
		t.Error("the kinds have other numbers than in stored records")
	}
	if k := usage.Kind(200); k.String() != "" || k.Unit() != "" || usage.Kind(0).String() != "" {
		t.Error("a number that is no kind has a name")
	}
}

// A second at 0.6 a minute is a hundredth: nothing is rounded but the whole.
func TestAudioIsRoundedOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		millis int64
		price  string
		cost   string
		line   string
	}{
		{1000, "0.6", "0.01", "0.01"}, {1, "0.6", "0.00001", "0.00001"}, {7, "0.000000001", "0.000000001", "0.000000000001"},
		{60_000, "0.6", "0.6", "0.6"}, {59_999, "0.6", "0.59999", "0.59999"},
	} {
		p, err := money.ParsePrice(c.price)
		if err != nil {
			t.Fatal(err)
		}
		lines, cost, err := usage.TaskCost(&usage.Usage{Millis: usage.Of(c.millis)}, &catalog.Tariff{Rates: catalog.Rates{Minute: p}})
		if err != nil || cost.String() != c.cost || string(lines[0].AppendAmount(nil)) != c.line {
			t.Errorf("%d ms at %s: %s of %s, %v; want %s", c.millis, c.price, cost, lines[0].AppendAmount(nil), err, c.cost)
		}
	}
	// the lines' exact sum is rounded, not each line
	p := catalog.Tariff{Rates: catalog.Rates{Minute: price(1)}}
	p.Request = price(1)
	if _, cost, _ := usage.TaskCost(&usage.Usage{Millis: usage.Of(1), Requests: usage.Of(1)}, &p); cost != 2 {
		t.Errorf("%s", cost)
	}
}

func BenchmarkCost(b *testing.B) {
	u := usage.Usage{Prompt: usage.Of(2006), CacheRead: usage.Of(1920), Completion: usage.Of(300), Reasoning: usage.Of(128)}
	p := catalog.Prices{Prompt: price(265_937_500), Completion: price(1_063_750_000), CacheRead: price(132_968_750)}
	b.Run("Cost", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := usage.Cost(&u, &p); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("AppendLines", func(b *testing.B) {
		b.ReportAllocs()
		lines := make([]usage.Line, 0, 16)
		for b.Loop() {
			lines = usage.AppendLines(lines[:0], &u, &p)
			if _, err := usage.Total(lines); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func ExampleCost() {
	u := usage.Usage{Prompt: usage.Of(2006), CacheRead: usage.Of(1920), Completion: usage.Of(300)}
	prompt, _ := money.ParsePrice("0.2659375")
	completion, _ := money.ParsePrice("1.06375")
	cached, _ := money.ParsePrice("0.13296875")
	lines, cost, _ := usage.Cost(&u, &catalog.Prices{Prompt: prompt, Completion: completion, CacheRead: cached})
	for _, l := range lines {
		fmt.Printf("%-10s %4d  %s\n", l.Kind, l.Quantity, l.AppendAmount(nil))
	}
	fmt.Println(cost)
	// Output:
	// prompt       86  0.022870625
	// cache_read 1920  0.2553
	// completion  300  0.319125
	// 0.597295625
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	for k, want := range map[usage.Kind]string{
		usage.KindPrompt: "3410 tokens", usage.KindRequest: "3410 requests", usage.KindImage: "3410 images", usage.KindAudio: "3.41 seconds",
		usage.KindCharacters: "3410 characters", usage.KindMegapixel: "3.41 megapixels", usage.KindVideo: "3410 seconds", usage.KindMinute: "3.41 minutes", 200: "3410",
	} {
		if got := (usage.Line{Kind: k, Quantity: 3410}).Measure(); got != want {
			t.Errorf("%s: %q; want %q", k, got, want)
		}
	}
	for k := usage.KindPrompt; k.String() != ""; k++ {
		if k.DollarUnit() == "" {
			t.Errorf("%s has no unit", k)
		}
	}
}

// Every count has a name of its own, which is never changed: clients read them.
func TestCountNames(t *testing.T) {
	t.Parallel()
	const want = "prompt cache_read cache_write cache_write_1h prompt_audio prompt_image prompt_video completion reasoning output_audio output_image " +
		"accepted rejected web_searches images requests millis characters kilopixels seconds web_fetches file_searches containers mcp_calls cached_audio"
	if got := strings.Join(usage.CountNames[:], " "); got != want {
		t.Errorf("%s", got)
	}
}
