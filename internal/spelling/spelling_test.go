package spelling_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/spelling"
)

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		most int
		want int
	}{
		{"", "", 0, 0}, {"a", "", 3, 1}, {"serve", "serve", 3, 0}, {"serev", "serve", 3, 1}, {"chta", "chat", 1, 1}, {"ab", "ba", 0, 1}, {"badc", "abcd", 2, 2}, {"badc", "abcd", 1, 2}, {"gpt-5", "gpt-4", 3, 1}, {"kitten", "sitting", 3, 3},
		{"kitten", "sitting", 2, 3}, {"abcdef", "ghijkl", 3, 4}, {"abc", strings.Repeat("x", 70), 3, 4}, {strings.Repeat("x", 70), strings.Repeat("x", 70), 3, 4},
	} {
		if got := spelling.Distance(c.a, c.b, c.most); got != c.want {
			t.Errorf("%q, %q, %d: %d, want %d", c.a, c.b, c.most, got, c.want)
		}
	}
}

// It is a metric as far as it counts: n edits are never more than n apart, in both directions alike.
func TestEditsAreCounted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[ab]{0,12}`).Draw(t, "word")
		edited, edits := word, rapid.IntRange(0, 3).Draw(t, "edits")
		for range edits {
			at := rapid.IntRange(0, len(edited)).Draw(t, "at")
			switch letter := rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "letter"); {
			case letter != "":
				edited = edited[:at] + letter + edited[at:]
			case at < len(edited):
				edited = edited[:at] + edited[at+1:]
			}
		}
		d := spelling.Distance(word, edited, 3)
		if d > edits || d != spelling.Distance(edited, word, 3) || (d == 0) != (word == edited) {
			t.Errorf("%q, %q: %d after %d edits", word, edited, d, edits)
		}
	})
}

// Two neighbours in the wrong order are one slip, wherever they are, and a word of many slips is as far when few are looked for.
func TestSwaps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[abc]{2,12}`).Draw(t, "word")
		at := rapid.IntRange(0, len(word)-2).Draw(t, "at")
		swapped := word[:at] + word[at+1:at+2] + word[at:at+1] + word[at+2:]
		if d := spelling.Distance(word, swapped, 3); d > 1 || (d == 0) != (word == swapped) {
			t.Errorf("%q, %q: %d", word, swapped, d)
		}
		other := rapid.StringMatching(`[abc]{0,12}`).Draw(t, "other")
		all := spelling.Distance(word, other, spelling.Longest)
		for most := range 4 {
			if d := spelling.Distance(word, other, most); d != min(all, most+1) {
				t.Errorf("%q, %q, %d: %d; without a bound %d", word, other, most, d, all)
			}
		}
	})
}
