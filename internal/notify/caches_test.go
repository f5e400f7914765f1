package notify_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/notify"
	"weir/internal/report"
)

// reads are days with a million tokens of prompts each, of which so many percent were read from caches; -1 is a day with few.
func reads(percents ...int64) (all []report.DayShares) {
	for i, p := range percents {
		d := report.DayShares{Day: time.Date(2026, 11, 1+i, 0, 0, 0, 0, time.UTC), Prompt: 1_000_000, CacheRead: p * 10_000}
		if p < 0 {
			d.Prompt, d.CacheRead = 199_999, 0
		}
		all = append(all, d)
	}
	return all
}

func TestCacheFell(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		days []int64
		want bool
	}{
		"nothing at all":         {nil, false},
		"it fell":                {[]int64{80, 82, 79, 85, 80, 81, 78, 10}, true},
		"to nothing":             {[]int64{80, 82, 79, 85, 80, 81, 78, 0}, true},
		"to half":                {[]int64{80, 80, 80, 80, 80, 80, 80, 40}, false},
		"a little below half":    {[]int64{80, 80, 80, 80, 80, 80, 80, 39}, true},
		"six days are no usual":  {[]int64{80, 80, 80, 80, 80, 80, 10}, false},
		"days with few prompts":  {[]int64{80, 80, 80, -1, -1, 80, 80, 80, 10}, false},
		"few prompts today":      {[]int64{80, 80, 80, 80, 80, 80, 80, -1}, false},
		"little was read before": {[]int64{19, 19, 19, 19, 19, 19, 19, 0}, false},
		"it has been low before": {[]int64{10, 10, 10, 10, 80, 80, 80, 10}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			percent, got := notify.CacheFell(reads(row.days...))
			if got != row.want || got && percent != row.days[len(row.days)-1] {
				t.Errorf("%v, %d %%", got, percent)
			}
		})
	}
}

// TestCacheFellProperties holds over any history: reading more than today is never worse, and days that are too small change nothing.
func TestCacheFellProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		days := reads(rapid.SliceOfN(rapid.Int64Range(-1, 100), 1, 40).Draw(t, "days")...)
		_, fell := notify.CacheFell(days)
		more := append([]report.DayShares(nil), days...)
		last := &more[len(more)-1]
		last.CacheRead += rapid.Int64Range(0, last.Prompt-last.CacheRead).Draw(t, "more")
		if _, still := notify.CacheFell(more); still && !fell {
			t.Fatal("more was read, and it fell")
		}
		if fell && last.Prompt < 200_000 {
			t.Fatal("it fell on a day with few prompts")
		}
	})
}
