package notify

import (
	"slices"

	"weir/internal/money"
	"weir/internal/report"
)

// The rule of unusual spending; docs/notifications.md says it to people.
const (
	unusualDays   = 28                // before today that count
	unusualSpent  = 7                 // of them with spending, or there is no usual
	unusualTimes  = 3                 // times the median of the days with spending
	unusualLeast  = 100 * money.Ruble // less is never worth a word
	unusualOverIn = 2                 // today is more than the dearest day by at least its 1/unusualOverIn
)

// Unusual reports whether the last of the days, which is today, costs far more than usual, and what is usual: the median of the days with
// spending among the 28 before. Today is unusual from 100 rubles on if it costs at least three times the usual, and half more than the
// dearest of those days. Before there are seven days with spending nothing is unusual.
func Unusual(days []report.DayShares) (today, usual money.Nano, unusual bool) {
	if len(days) == 0 {
		return 0, 0, false
	}
	before, now := days[:len(days)-1], days[len(days)-1]
	before = before[max(0, len(before)-unusualDays):]
	var spent []money.Nano
	for i := range before {
		if before[i].Cost > 0 {
			spent = append(spent, before[i].Cost)
		}
	}
	if len(spent) < unusualSpent {
		return now.Cost, 0, false
	}
	slices.Sort(spent)
	usual, dearest := spent[(len(spent)-1)/2], spent[len(spent)-1]
	// by division, so that nothing overflows
	far := now.Cost/unusualTimes >= usual && now.Cost-dearest >= dearest/unusualOverIn
	return now.Cost, usual, far && now.Cost >= unusualLeast
}
