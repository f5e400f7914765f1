package usage_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/usage"
)

// limits are what a call can consume: everything up to so many.
func limits(prompt, answer, others int64) usage.Usage {
	p, a, o := usage.Of(prompt), usage.Of(answer), usage.Of(others)
	return usage.Usage{Prompt: p, CacheRead: p, CacheWrite: p, CacheWrite1h: p, PromptAudio: p, PromptImage: p, PromptVideo: p,
		Completion: a, Reasoning: a, OutputAudio: a, OutputImage: a, Accepted: a, Rejected: a,
		WebSearches: o, Images: o, Requests: o, Millis: o, Characters: o, Kilopixels: o, Seconds: o}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	of := usage.Of
	most, held := limits(500, 2048, 4), limits(100, 1000, 1)
	for _, c := range []struct {
		name     string
		reported usage.Usage
		running  bool
		rough    int64 // tokens that were delivered, by the gauge
		counted  int   // how often something was counted: the prompt as 100, the answer as 40
		want     usage.Usage
	}{
		{"everything told", usage.Usage{Prompt: of(10), Completion: of(5), CacheRead: of(4)}, false, 5, 0, usage.Usage{Prompt: of(10), Completion: of(5), CacheRead: of(4)}},
		{"told to be zero, and nothing came", usage.Usage{Prompt: of(10), Completion: of(0)}, false, 0, 0, usage.Usage{Prompt: of(10), Completion: of(0)}},
		{"told to be zero beside an answer", usage.Usage{Prompt: of(10), Completion: of(0)}, false, 35, 1, usage.Usage{Prompt: of(10), Completion: of(40), Source: usage.Estimated}},
		{"nothing told", usage.Usage{}, false, 35, 2, usage.Usage{Prompt: of(100), Completion: of(40), Source: usage.Estimated}},
		{"no answer told", usage.Usage{Prompt: of(10), Reasoning: of(7)}, false, 35, 1, usage.Usage{Prompt: of(10), Completion: of(40), Reasoning: of(7), Source: usage.Estimated}},
		{"below zero", usage.Usage{Prompt: of(-10), Completion: of(math.MinInt64), CacheRead: of(-1), Reasoning: of(-1), WebSearches: of(-3)}, false, 0, 2,
			usage.Usage{Prompt: of(100), Completion: of(40), Source: usage.Estimated}},
		{"told before the end, less than came", usage.Usage{Prompt: of(10), Completion: of(1)}, true, 35, 1, usage.Usage{Prompt: of(10), Completion: of(40), Source: usage.Estimated}},
		{"told before the end, more than came", usage.Usage{Prompt: of(10), Completion: of(900)}, true, 35, 1, usage.Usage{Prompt: of(10), Completion: of(900)}},
		{"told at the end, a little less than came", usage.Usage{Prompt: of(10), Completion: of(30)}, false, 35, 0, usage.Usage{Prompt: of(10), Completion: of(30)}},
		{"told at the end, hardly anything", usage.Usage{Prompt: of(10), Completion: of(1)}, false, 400, 0, usage.Usage{Prompt: of(10), Completion: of(1), Source: usage.TooLow}},
		{"as much as can be", usage.Usage{Prompt: of(500), Completion: of(2048)}, false, 0, 0, usage.Usage{Prompt: of(500), Completion: of(2048)}},
		{"more than can be", usage.Usage{Prompt: of(501), Completion: of(math.MaxInt64), Reasoning: of(math.MaxInt64), WebSearches: of(5), Images: of(4)}, false, 0, 0,
			usage.Usage{Prompt: of(100), Completion: of(1000), Reasoning: of(1000), WebSearches: of(1), Images: of(4), Source: usage.Capped}},
		{"missing and absurd", usage.Usage{Completion: of(math.MaxInt64)}, false, 0, 1,
			usage.Usage{Prompt: of(100), Completion: of(1000), Source: usage.Capped | usage.Estimated}},
		{"parts above their whole", usage.Usage{Prompt: of(10), Completion: of(5), CacheRead: of(8), CacheWrite: of(8), CacheWrite1h: of(8),
			PromptAudio: of(30), Rejected: of(9)}, false, 0, 0,
			usage.Usage{Prompt: of(10), Completion: of(5), CacheRead: of(8), CacheWrite: of(2), CacheWrite1h: of(0), PromptAudio: of(10), Rejected: of(5)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			got := c.reported
			got.Complete(&most, &held, !c.running, &usage.Delivered{Text: c.rough}, func() int64 { calls++; return 100 },
				func() usage.Delivered { calls++; return usage.Delivered{Text: 40} })
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if calls != c.counted {
				t.Errorf("counted %d times, want %d", calls, c.counted)
			}
		})
	}
}

// Making a usage fit to bill twice changes nothing, and no count of it is negative, implausible or above its whole.
func TestCompletedIsFitToBill(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		u := drawUsage(t)
		bound := limits(rapid.Int64Range(0, 1e6).Draw(t, "prompt bound"), rapid.Int64Range(0, 1e6).Draw(t, "answer bound"), rapid.Int64Range(0, 100).Draw(t, "other bound"))
		final, rough := rapid.Bool().Draw(t, "final"), usage.Delivered{Text: rapid.Int64Range(0, 1e5).Draw(t, "delivered"), Audio: rapid.Int64Range(0, 100).Draw(t, "sound")}
		ours := func() int64 { return rapid.Int64Range(-1, 1e6).Draw(t, "our count") }
		got := u
		got.Complete(&bound, &bound, final, &rough, ours, func() usage.Delivered { return usage.Delivered{Text: ours()} })
		if !got.Prompt.Reported || !got.Completion.Reported {
			t.Fatalf("%+v", got)
		}
		if got.Prompt.N > bound.Prompt.N || got.Completion.N > bound.Completion.N || got.WebSearches.N > bound.WebSearches.N || got.Seconds.N > bound.Seconds.N {
			t.Fatalf("%+v is more than can be", got)
		}
		for name, c := range map[string][2]usage.Count{
			"read": {got.CacheRead, got.Prompt}, "write": {got.CacheWrite, got.Prompt}, "write1h": {got.CacheWrite1h, got.Prompt},
			"audio": {got.PromptAudio, got.Prompt}, "image": {got.PromptImage, got.Prompt}, "video": {got.PromptVideo, got.Prompt},
			"reasoning": {got.Reasoning, got.Completion}, "out audio": {got.OutputAudio, got.Completion}, "out image": {got.OutputImage, got.Completion},
			"accepted": {got.Accepted, got.Completion}, "rejected": {got.Rejected, got.Completion},
		} {
			if c[0].N < 0 || c[0].N > c[1].N {
				t.Fatalf("%s is %d of %d", name, c[0].N, c[1].N)
			}
		}
		if got.CacheRead.N+got.CacheWrite.N+got.CacheWrite1h.N > got.Prompt.N {
			t.Fatalf("more cached and written than there is: %+v", got)
		}
		again := got
		again.Complete(&bound, &bound, true, &usage.Delivered{}, ours, func() usage.Delivered { return usage.Delivered{} })
		if again != got {
			t.Fatalf("%+v became %+v", got, again)
		}
	})
}

// drawUsage draws every count, so that a new one is tested too.
func drawUsage(t *rapid.T) usage.Usage {
	c := func(name string) usage.Count {
		return usage.Count{N: rapid.OneOf(rapid.Int64(), rapid.Int64Range(-3, 5000)).Draw(t, name), Reported: rapid.Bool().Draw(t, name+" reported")}
	}
	var u usage.Usage
	for i, to := range u.Counts() {
		*to = c("count " + strconv.Itoa(i))
	}
	return u
}

// No sum of reported counts overflows, and no negative count reduces a sum.
func TestSums(t *testing.T) {
	t.Parallel()
	of := usage.Of
	for _, c := range []struct {
		counts []usage.Count
		want   usage.Count
	}{
		{nil, usage.Count{}}, {[]usage.Count{{}, {}}, usage.Count{}}, {[]usage.Count{of(3), {}}, of(3)}, {[]usage.Count{of(3), of(4)}, of(7)},
		{[]usage.Count{of(3), of(-100)}, of(3)}, {[]usage.Count{of(math.MinInt64), of(math.MinInt64)}, of(0)},
		{[]usage.Count{of(math.MaxInt64), of(1), of(math.MaxInt64)}, of(math.MaxInt64)},
	} {
		if got := usage.Sum(c.counts...); got != c.want {
			t.Errorf("%v add up to %v, want %v", c.counts, got, c.want)
		}
	}
}

// What was reported never falls.
func TestLaterReports(t *testing.T) {
	t.Parallel()
	of := usage.Of
	u := usage.Usage{Prompt: of(10), Completion: of(500), Reasoning: of(3)}
	u.Follow(&usage.Usage{Prompt: of(12), Completion: of(1), CacheRead: of(2), Tier: "flex"}, false)
	want := usage.Usage{Prompt: of(12), Completion: of(500), Reasoning: of(3), CacheRead: of(2), Tier: "flex"}
	if u != want {
		t.Errorf("%+v, want %+v", u, want)
	}
}
