package notify_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/money"
	"weir/internal/notify"
	"weir/internal/report"
)

func days(costs ...money.Nano) (all []report.DayShares) {
	for i, c := range costs {
		all = append(all, report.DayShares{Day: time.Date(2026, 11, 1+i, 0, 0, 0, 0, time.UTC), Cost: c})
	}
	return all
}

func TestUnusual(t *testing.T) {
	t.Parallel()
	const r = money.Ruble
	week := []money.Nano{80 * r, 90 * r, 0, 70 * r, 80 * r, 100 * r, 85 * r, 60 * r}
	for name, row := range map[string]struct {
		before []money.Nano
		today  money.Nano
		want   bool
		usual  money.Nano
	}{
		"far more":                {week, 500 * r, true, 80 * r},
		"exactly three times":     {week, 240 * r, true, 80 * r},
		"a little less":           {week, 240*r - 3, false, 80 * r},
		"six days are no usual":   {week[2:], 5000 * r, false, 0},
		"nothing before":          {nil, 5000 * r, false, 0},
		"small change":            {[]money.Nano{r, r, r, r, r, r, r}, 99 * r, false, r},
		"the least sum":           {[]money.Nano{r, r, r, r, r, r, r}, 100 * r, true, r},
		"as on a dear day before": {append([]money.Nano{400 * r}, week...), 500 * r, false, 80 * r},
		"more than half above it": {append([]money.Nano{400 * r}, week...), 600 * r, true, 80 * r},
		"nothing today":           {week, 0, false, 80 * r},
		"the largest sums":        {[]money.Nano{1 << 62, 1 << 62, 1 << 62, 1 << 62, 1 << 62, 1 << 62, 1 << 62}, 1<<63 - 1, false, 1 << 62},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			today, usual, got := notify.Unusual(days(append(row.before[:len(row.before):len(row.before)], row.today)...))
			if got != row.want || today != row.today || usual != row.usual {
				t.Errorf("%v, today %s, usual %s", got, today, usual)
			}
		})
	}
	if _, _, got := notify.Unusual(nil); got {
		t.Error("no day at all is unusual")
	}
}

// What the rule promises to people, over any history: nothing that happened before is unusual, more is never less unusual, and it does not
// depend on the size of an account.
func TestUnusualProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cost := rapid.Custom(func(t *rapid.T) money.Nano {
			return money.Nano(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(1, int64(1000*money.Ruble))).Draw(t, "cost"))
		})
		before := rapid.SliceOfN(cost, 0, 40).Draw(t, "before")
		today := money.Nano(rapid.Int64Range(0, int64(5000*money.Ruble)).Draw(t, "today"))
		of := func(before []money.Nano, today money.Nano) bool {
			_, _, got := notify.Unusual(days(append(before[:len(before):len(before)], today)...))
			return got
		}
		counted := before[max(0, len(before)-28):]
		spent := 0
		for _, c := range counted {
			if c > 0 {
				spent++
			}
			if of(before, c) {
				t.Fatalf("%s has happened in the last 28 days", c)
			}
		}
		got := of(before, today)
		switch {
		case got && spent < 7:
			t.Fatalf("unusual with %d days of spending", spent)
		case got && today < 100*money.Ruble:
			t.Fatalf("%s is unusual", today)
		case got && !of(before, today*2):
			t.Fatal("twice as much is usual")
		case spent >= 7 && today >= 100*money.Ruble:
			times := money.Nano(rapid.IntRange(2, 1000).Draw(t, "times"))
			var scaled []money.Nano
			for _, c := range before {
				scaled = append(scaled, c*times*6) // a multiple of all divisors in the rule, so that rounding is the same
			}
			var six []money.Nano
			for _, c := range before {
				six = append(six, c*6)
			}
			if of(six, today*6) != of(scaled, today*times*6) {
				t.Fatal("it depends on the size")
			}
		}
	})
}
