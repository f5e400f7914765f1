package reconcile_test

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/reconcile"
)

const day = "2026-11-25"

// calls are four calls of a day: three of one model, each with other tokens, and one of another.
func calls() []reconcile.Call {
	at := time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC)
	call := func(n int, model string) reconcile.Call {
		return reconcile.Call{
			Generation: fmt.Sprintf("gen-%d", n), Answer: fmt.Sprintf("answer-%d", n), Model: model, Began: at, Ended: at.Add(time.Second),
			Prompt: int64(100 * n), Completion: int64(10 * n), Dollars: money.Nano(1000 * n), Priced: true,
		}
	}
	return []reconcile.Call{call(1, "gpt-4o"), call(2, "gpt-4o"), call(4, "gpt-4o"), call(8, "gpt-mini")}
}

// dollars are billionths as a provider writes them.
func dollars(nano int64) *big.Rat { return big.NewRat(nano, 1_000_000_000) }

func single(c *reconcile.Call) reconcile.Row {
	return reconcile.Row{Place: "row " + c.Answer, Day: day, Model: c.Model, Call: c.Answer, Figures: reconcile.Figures{Calls: 1, Prompt: c.Prompt, Completion: c.Completion, Dollars: dollars(int64(c.Dollars))}}
}

func found(r *reconcile.Result) string {
	var all []string
	for i := range r.Differences {
		d := &r.Differences[i]
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s", d.Kind, strings.Join(d.Calls, " "))))
	}
	return strings.Join(all, "; ")
}

func TestCallByCall(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		change    func(rows []reconcile.Row) []reconcile.Row
		tolerance money.Nano
		want      string
	}{
		"all agree":      {func(rows []reconcile.Row) []reconcile.Row { return rows }, 0, ""},
		"one is missing": {func(rows []reconcile.Row) []reconcile.Row { return rows[1:] }, 0, "extra gen-1"},
		"one is unknown": {func(rows []reconcile.Row) []reconcile.Row { rows[0].Call = "other"; return rows }, 0, "extra gen-1; lost"},
		"one is twice":   {func(rows []reconcile.Row) []reconcile.Row { return append(rows, rows[2]) }, 0, "doubled gen-4"},
		"three times":    {func(rows []reconcile.Row) []reconcile.Row { return append(rows, rows[2], rows[2]) }, 0, "doubled gen-4; doubled gen-4"},
		"an unknown one twice": {func(rows []reconcile.Row) []reconcile.Row {
			rows[0].Call = "other"
			return append(rows, rows[0])
		}, 0, "doubled; extra gen-1; lost"},
		"other tokens":            {func(rows []reconcile.Row) []reconcile.Row { rows[1].Prompt++; return rows }, 0, "tokens gen-2"},
		"another price":           {func(rows []reconcile.Row) []reconcile.Row { rows[3].Dollars = dollars(8002); return rows }, 0, "repriced gen-8"},
		"rounded by a billionth":  {func(rows []reconcile.Row) []reconcile.Row { rows[3].Dollars = dollars(7999); return rows }, 0, ""},
		"within the tolerance":    {func(rows []reconcile.Row) []reconcile.Row { rows[3].Dollars = dollars(8500); return rows }, 500, ""},
		"beyond the tolerance":    {func(rows []reconcile.Row) []reconcile.Row { rows[3].Dollars = dollars(8502); return rows }, 500, "repriced gen-8"},
		"our own id of the call":  {func(rows []reconcile.Row) []reconcile.Row { rows[0].Call = "gen-1"; return rows }, 0, ""},
		"without tokens and cost": {func(rows []reconcile.Row) []reconcile.Row { rows[0].Figures = reconcile.Unreported(); return rows }, 0, ""},
	} {
		ours := calls()
		rows := make([]reconcile.Row, len(ours))
		for i := range ours {
			rows[i] = single(&ours[i])
		}
		r, err := reconcile.Match(x.change(rows), ours, x.tolerance)
		if got := found(&r); err != nil || got != x.want || !r.ByCall || r.Calls != 4 {
			t.Errorf("%s: %q, %d calls, %v, want %q", name, got, r.Calls, err, x.want)
		}
	}
}

// A call over midnight may stand on either day, so it is not reported at the edge of a file.
func TestCallOverMidnight(t *testing.T) {
	t.Parallel()
	ours := calls()
	ours[0].Began, ours[0].Ended = time.Date(2026, 11, 25, 23, 59, 59, 0, time.UTC), time.Date(2026, 11, 26, 0, 0, 1, 0, time.UTC)
	ours[1].Began, ours[1].Ended = ours[1].Began.AddDate(0, 0, 1), ours[1].Ended.AddDate(0, 0, 1)
	r, err := reconcile.Match([]reconcile.Row{single(&ours[2]), single(&ours[3])}, ours, 0)
	if err != nil || len(r.Differences) != 0 || r.Calls != 2 {
		t.Errorf("%+v %v", r, err)
	}
}

func TestByDayAndModel(t *testing.T) {
	t.Parallel()
	figures := func(calls, prompt, completion, nano int64) reconcile.Figures {
		return reconcile.Figures{Calls: calls, Prompt: prompt, Completion: completion, Dollars: dollars(nano)}
	}
	big, small := figures(3, 700, 70, 7000), figures(1, 800, 80, 8000)
	tokens := reconcile.Figures{Calls: -1, Prompt: 700, Completion: 70}
	only := func(nano int64) reconcile.Figures {
		f := reconcile.Unreported()
		f.Dollars = dollars(nano)
		return f
	}
	for name, x := range map[string]struct {
		big, small reconcile.Figures
		want       string
	}{
		"all agree":                       {big, small, ""},
		"one more like one of ours":       {figures(4, 1100, 110, 11000), small, "doubled gen-4"},
		"one more like none of ours":      {figures(4, 1000, 110, 11000), small, "lost gen-1 gen-2 gen-4"},
		"one less":                        {figures(2, 500, 50, 5000), small, "extra gen-2"},
		"two less":                        {figures(1, 400, 40, 4000), small, "extra gen-1 gen-2"},
		"two more like two of ours":       {figures(5, 1200, 120, 12000), small, "doubled gen-1 gen-4"},
		"all twice":                       {figures(6, 1400, 140, 14000), small, "doubled gen-1 gen-2 gen-4"},
		"one more, at another price":      {figures(4, 1100, 110, 12000), small, "doubled gen-4; repriced gen-1 gen-2 gen-4"},
		"one more, none are counted":      {reconcile.Figures{Calls: -1, Prompt: 900, Completion: 90}, small, "doubled gen-2"},
		"one less, none are counted":      {reconcile.Figures{Calls: -1, Prompt: 500, Completion: 50}, small, "extra gen-2"},
		"cost of one call more":           {only(11000), small, "doubled gen-4"},
		"cost of one call less":           {only(3000), small, "extra gen-4"},
		"another cost":                    {only(7700), small, "cost gen-1 gen-2 gen-4"},
		"other tokens":                    {figures(3, 701, 70, 7000), small, "tokens gen-1 gen-2 gen-4"},
		"another price":                   {big, figures(1, 800, 80, 8002), "repriced gen-8"},
		"each call rounded":               {figures(3, 700, 70, 6997), small, ""},
		"calls are not counted":           {tokens, small, ""},
		"tokens differ, none are counted": {reconcile.Figures{Calls: -1, Prompt: 700, Completion: 71}, small, "tokens gen-1 gen-2 gen-4"},
		"cost alone":                      {only(7000), small, ""},
	} {
		rows := []reconcile.Row{{Place: "a", Day: day, Model: "gpt-4o-2024-08-06", Figures: x.big}, {Place: "b", Day: day, Model: "gpt-mini", Figures: x.small}}
		r, err := reconcile.Match(rows, calls(), 0)
		if got := found(&r); err != nil || got != x.want || r.ByCall || !r.ByModel {
			t.Errorf("%s: %q, %v, want %q", name, got, err, x.want)
		}
	}
}

// Of calls past midnight, the provider may book some on the next day. These are named, and neither lost nor extra.
func TestCallsOnTheNextDay(t *testing.T) {
	t.Parallel()
	const tomorrow = "2026-11-26"
	past := func(ours []reconcile.Call, at ...int) {
		for _, i := range at {
			ours[i].Began, ours[i].Ended = time.Date(2026, 11, 25, 23, 59, 59, 0, time.UTC), time.Date(2026, 11, 26, 0, 0, 1, 0, time.UTC)
		}
	}
	row := func(day string, calls, prompt, completion int64) reconcile.Row {
		return reconcile.Row{Place: day, Day: day, Model: "gpt-4o", Figures: reconcile.Figures{Calls: calls, Prompt: prompt, Completion: completion, Dollars: dollars(10 * prompt)}}
	}
	for name, x := range map[string]struct {
		rows []reconcile.Row
		want string
	}{
		"booked where it began":      {[]reconcile.Row{row(day, 3, 700, 70)}, ""},
		"booked where it ended":      {[]reconcile.Row{row(day, 2, 300, 30), row(tomorrow, 1, 400, 40)}, "late gen-4"},
		"both":                       {[]reconcile.Row{row(day, 1, 200, 20), row(tomorrow, 2, 500, 50)}, "late gen-1 gen-4"},
		"one of both":                {[]reconcile.Row{row(day, 2, 600, 60), row(tomorrow, 1, 100, 10)}, "late gen-1"},
		"outside of the file":        {[]reconcile.Row{row(day, 2, 300, 30)}, "late gen-4"},
		"from the day before":        {[]reconcile.Row{row(tomorrow, 1, 400, 40)}, "late gen-4"},
		"and another one twice":      {[]reconcile.Row{row(day, 3, 500, 50), row(tomorrow, 1, 400, 40)}, "doubled gen-2; late gen-4"},
		"and one that is not billed": {[]reconcile.Row{row(day, 1, 100, 10), row(tomorrow, 1, 400, 40)}, "extra gen-2; late gen-4"},
	} {
		ours := calls()[:3]
		past(ours, 0, 2)
		r, err := reconcile.Match(x.rows, ours, 0)
		if got := found(&r); err != nil || got != x.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, x.want)
		}
	}
}

// The differences of a comparison add up to the difference of both sides.
func TestDifferencesAddUp(t *testing.T) {
	t.Parallel()
	rows := []reconcile.Row{
		{Place: "a", Day: day, Model: "gpt-4o", Figures: reconcile.Figures{Calls: 4, Prompt: 1100, Completion: 110, Dollars: dollars(12000)}},
		{Place: "b", Day: day, Model: "other", Figures: reconcile.Figures{Calls: 2, Prompt: 5, Completion: 5, Dollars: dollars(77)}},
	}
	r, err := reconcile.Match(rows, calls(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	sum := new(big.Rat)
	for _, s := range r.Sums {
		got = append(got, fmt.Sprintf("%s %d of %d calls, %s", s.Kind, s.Differences, s.Calls, s.Delta.Dollars.FloatString(9)))
		sum.Add(sum, s.Delta.Dollars)
	}
	want := []string{"doubled 1 of 1 calls, 0.000004000", "extra 1 of 1 calls, -0.000008000", "lost 1 of 2 calls, 0.000000077", "repriced 1 of 0 calls, 0.000001000"}
	if !slices.Equal(got, want) || sum.Cmp(dollars(12077-15000)) != 0 || r.Open() != 4 || len(r.Groups) != 3 {
		t.Errorf("%q, %s, %d groups", got, sum.FloatString(9), len(r.Groups))
	}
}

func TestGroupsOfOneSide(t *testing.T) {
	t.Parallel()
	rows := []reconcile.Row{
		{Place: "a", Day: day, Model: "gpt-4o", Figures: reconcile.Figures{Calls: 3, Prompt: 700, Completion: 70}},
		{Place: "b", Day: day, Model: "other", Figures: reconcile.Figures{Calls: 2, Prompt: 5, Completion: 5}},
		{Place: "c", Day: day, Model: "idle", Figures: reconcile.Figures{}},
	}
	r, err := reconcile.Match(rows, calls(), 0)
	if got := found(&r); err != nil || got != "extra gen-8; lost" {
		t.Errorf("%q %v", got, err)
	}
	// One row without a model, and all are compared by day.
	rows[1] = reconcile.Row{Place: "b", Day: day, Figures: reconcile.Figures{Calls: 1, Prompt: 800, Completion: 80}}
	r, err = reconcile.Match(rows, calls(), 0)
	if got := found(&r); err != nil || got != "" || r.ByModel {
		t.Errorf("%q %v %v", got, r.ByModel, err)
	}
}

// A call that one key has less and another one more is found by key; by day and model alone nothing would differ.
func TestByKey(t *testing.T) {
	t.Parallel()
	ours := calls()
	for i := range ours {
		ours[i].Key = []string{"a", "b"}[i%2]
	}
	rows := []reconcile.Row{
		{Place: "a", Day: day, Model: "gpt-4o", Key: "a", Figures: reconcile.Figures{Calls: 1, Prompt: 100, Completion: 10}},
		{Place: "b", Day: day, Model: "gpt-4o-2024-08-06", Key: "b", Figures: reconcile.Figures{Calls: 2, Prompt: 600, Completion: 60}},
		{Place: "c", Day: day, Model: "gpt-mini", Key: "b", Figures: reconcile.Figures{Calls: 1, Prompt: 800, Completion: 80}},
	}
	r, err := reconcile.Match(rows, ours, 0)
	if got := found(&r); err != nil || !r.ByKey || got != "extra gen-4; lost gen-2" || r.Differences[0].Key != "a" || r.Differences[1].Key != "b" || len(r.Groups) != 3 {
		t.Errorf("%q %+v %v", got, r, err)
	}
	// With one call or one row without a key, all are compared without.
	for _, without := range []func(){func() { ours[3].Key = "" }, func() { ours[3].Key, rows[2].Key = "b", "" }} {
		without()
		r, err = reconcile.Match(rows, ours, 0)
		if got := found(&r); err != nil || r.ByKey || got != "" {
			t.Errorf("%q %+v %v", got, r, err)
		}
	}
}

func TestUnpricedCallsHaveNoCostToCompare(t *testing.T) {
	t.Parallel()
	ours := calls()
	ours[0].Priced = false
	rows := []reconcile.Row{{Place: "a", Day: day, Figures: reconcile.Figures{Calls: 4, Prompt: 1500, Completion: 150, Dollars: dollars(99)}}}
	if r, err := reconcile.Match(rows, ours, 0); err != nil || len(r.Differences) != 0 {
		t.Errorf("%+v %v", r, err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	ours := calls()
	mixed := []reconcile.Row{single(&ours[0]), single(&ours[1])}
	mixed[1].Call = ""
	for name, rows := range map[string][]reconcile.Row{"nothing": nil, "ids of some": mixed} {
		if _, err := reconcile.Match(rows, ours, 0); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestManyCallsAreCut(t *testing.T) {
	t.Parallel()
	ours := slices.Repeat(calls(), 10)
	r, err := reconcile.Match([]reconcile.Row{{Place: "a", Day: day, Figures: reconcile.Figures{Calls: 90}}}, ours, 0)
	if err != nil || len(r.Differences) != 1 || len(r.Differences[0].Calls) != 20 || r.Differences[0].More != 20 {
		t.Errorf("%+v %v", r, err)
	}
}
