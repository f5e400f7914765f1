package notify

import (
	"slices"

	"weir/internal/report"
)

// The rule of caches that are read less; docs/notifications.md says it to people.
const (
	cacheDays   = 28      // before today that count
	cacheUsed   = 7       // of them with enough tokens, or there is no usual
	cacheTokens = 200_000 // tokens of prompts that a day needs to count
	cacheLeast  = 20      // percent that were usually read, or it is not worth a word
)

// CacheFell reports whether far less of today's prompts was read from caches than usual, and what percentage was. The usual is the median of the days
// with enough prompts among the 28 before. Less than half of it is far less.
func CacheFell(days []report.DayShares) (percent int64, fell bool) {
	if len(days) == 0 {
		return 0, false
	}
	before, now := days[:len(days)-1], days[len(days)-1]
	before = before[max(0, len(before)-cacheDays):]
	var usual []float64
	for i := range before {
		if before[i].Prompt >= cacheTokens {
			usual = append(usual, readOf(&before[i]))
		}
	}
	if len(usual) < cacheUsed || now.Prompt < cacheTokens {
		return 0, false
	}
	slices.Sort(usual)
	median, today := usual[(len(usual)-1)/2], readOf(&now)
	return int64(today), median >= cacheLeast && today < median/2
}

// readOf is the percentage of a day's prompts that was read from caches.
func readOf(d *report.DayShares) float64 { return 100 * float64(d.CacheRead) / float64(d.Prompt) }
