package usage_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/usage"
)

func TestCompleted(t *testing.T) {
	t.Parallel()
	bounds := usage.Bounds{Prompt: 500, Completion: 2048, Searches: 1, Images: 2}
	for _, c := range []struct {
		name    string
		told    usage.Usage
		counted bool
		want    usage.Usage
	}{
		{"everything told", usage.Usage{Prompt: usage.Of(10), Completion: usage.Of(5), CacheRead: usage.Of(4)}, false,
			usage.Usage{Prompt: usage.Of(10), Completion: usage.Of(5), CacheRead: usage.Of(4)}},
		{"told to be zero", usage.Usage{Prompt: usage.Of(0), Completion: usage.Of(0)}, false,
			usage.Usage{Prompt: usage.Of(0), Completion: usage.Of(0)}},
		{"nothing told", usage.Usage{}, true,
			usage.Usage{Prompt: usage.Of(100), Completion: usage.Of(40), Source: usage.Estimated}},
		{"no answer told", usage.Usage{Prompt: usage.Of(10), Reasoning: usage.Of(7)}, true,
			usage.Usage{Prompt: usage.Of(10), Completion: usage.Of(40), Reasoning: usage.Of(7), Source: usage.Estimated}},
		{"below zero", usage.Usage{Prompt: usage.Of(-10), Completion: usage.Of(math.MinInt64), CacheRead: usage.Of(-1), Reasoning: usage.Of(-1), WebSearches: usage.Of(-3)}, true,
			usage.Usage{Prompt: usage.Of(100), Completion: usage.Of(40), Source: usage.Estimated}},
		{"a billion is believed", usage.Usage{Prompt: usage.Of(1_000_000_000), Completion: usage.Of(1)}, false,
			usage.Usage{Prompt: usage.Of(1_000_000_000), Completion: usage.Of(1)}},
		{"more is not", usage.Usage{Prompt: usage.Of(1_000_000_001), Completion: usage.Of(math.MaxInt64), Reasoning: usage.Of(math.MaxInt64), WebSearches: usage.Of(2_000_000_000)}, false,
			usage.Usage{Prompt: usage.Of(500), Completion: usage.Of(2048), Reasoning: usage.Of(2048), WebSearches: usage.Of(1), Source: usage.Capped}},
		{"missing and absurd", usage.Usage{Completion: usage.Of(math.MaxInt64)}, true,
			usage.Usage{Prompt: usage.Of(100), Completion: usage.Of(2048), Source: usage.Capped}},
		{"parts above their whole", usage.Usage{Prompt: usage.Of(10), Completion: usage.Of(5), CacheRead: usage.Of(8), CacheWrite: usage.Of(8), CacheWrite1h: usage.Of(8),
			PromptAudio: usage.Of(30), Rejected: usage.Of(9)}, false,
			usage.Usage{Prompt: usage.Of(10), Completion: usage.Of(5), CacheRead: usage.Of(8), CacheWrite: usage.Of(2), CacheWrite1h: usage.Of(0),
				PromptAudio: usage.Of(10), Rejected: usage.Of(5)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			got := c.told.Completed(bounds, func() (int64, int64) { calls++; return 100, 40 })
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if want := map[bool]int{true: 1}[c.counted]; calls != want {
				t.Errorf("counted %d times, want %d", calls, want)
			}
		})
	}
}

// Making a usage fit to bill twice changes nothing, and no count of it is negative, absurd or above its whole.
func TestCompletedIsFitToBill(t *testing.T) {
	t.Parallel()
	count := rapid.Custom(func(t *rapid.T) usage.Count {
		return usage.Count{N: rapid.OneOf(rapid.Int64(), rapid.Int64Range(-3, 5000)).Draw(t, "n"), Reported: rapid.Bool().Draw(t, "reported")}
	})
	rapid.Check(t, func(t *rapid.T) {
		c := func(name string) usage.Count { return count.Draw(t, name) }
		u := usage.Usage{
			Prompt: c("prompt"), CacheRead: c("read"), CacheWrite: c("write"), CacheWrite1h: c("write1h"), PromptAudio: c("audio"), PromptImage: c("image"),
			PromptVideo: c("video"), Completion: c("completion"), Reasoning: c("reasoning"), OutputAudio: c("out audio"), OutputImage: c("out image"),
			Accepted: c("accepted"), Rejected: c("rejected"), WebSearches: c("searches"), Images: c("images"),
		}
		bounds := usage.Bounds{Prompt: rapid.Int64Range(-1, 1e6).Draw(t, "bound"), Completion: 100}
		counted := func() (int64, int64) {
			return rapid.Int64Range(-1, 1e6).Draw(t, "our prompt"), rapid.Int64Range(-1, 1e6).Draw(t, "our answer")
		}
		got := u.Completed(bounds, counted)
		if !got.Prompt.Reported || !got.Completion.Reported {
			t.Fatalf("%+v", got)
		}
		const most = 1_000_000_000
		for name, c := range map[string][2]usage.Count{
			"read": {got.CacheRead, got.Prompt}, "write": {got.CacheWrite, got.Prompt}, "write1h": {got.CacheWrite1h, got.Prompt},
			"audio": {got.PromptAudio, got.Prompt}, "image": {got.PromptImage, got.Prompt}, "video": {got.PromptVideo, got.Prompt},
			"reasoning": {got.Reasoning, got.Completion}, "out audio": {got.OutputAudio, got.Completion}, "out image": {got.OutputImage, got.Completion},
			"accepted": {got.Accepted, got.Completion}, "rejected": {got.Rejected, got.Completion},
			"searches": {got.WebSearches, usage.Of(most)}, "images": {got.Images, usage.Of(most)},
		} {
			if c[0].N < 0 || c[0].N > c[1].N || c[1].N > most {
				t.Fatalf("%s is %d of %d", name, c[0].N, c[1].N)
			}
		}
		if got.CacheRead.N+got.CacheWrite.N+got.CacheWrite1h.N > got.Prompt.N {
			t.Fatalf("more cached and written than there is: %+v", got)
		}
		again := got.Completed(bounds, func() (int64, int64) { t.Fatal("counted again"); return 0, 0 })
		if again != got {
			t.Fatalf("%+v became %+v", got, again)
		}
	})
}
