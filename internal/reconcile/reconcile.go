// Package reconcile compares what a provider says it served with the calls that the gateway sent it. It finds calls that only one side has,
// calls that are billed twice, and calls with other tokens or another price. It reads no files and no database.
package reconcile

import (
	"cmp"
	"math/big"
	"slices"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/report"
)

// MaxCalls is how many calls one comparison takes into memory.
const MaxCalls = 2_000_000

const billion = 1_000_000_000

// maxNamed is how many calls are named for one difference.
const maxNamed = 20

// Figures are what a file says of one or more calls. A count below zero and nil dollars are not reported, which is not the same as zero.
type Figures struct {
	Calls      int64
	Prompt     int64 // tokens, including those of the cache
	Completion int64
	Dollars    *big.Rat
}

// Unreported are figures of which none is reported.
func Unreported() Figures { return Figures{Calls: -1, Prompt: -1, Completion: -1} }

// Add adds other figures. What one side does not report stays as the other has it: files report the cost of a model in several lines.
func (f *Figures) Add(o *Figures) {
	for _, x := range [...]struct {
		to *int64
		n  int64
	}{{&f.Calls, o.Calls}, {&f.Prompt, o.Prompt}, {&f.Completion, o.Completion}} {
		if x.n >= 0 {
			*x.to = max(*x.to, 0) + x.n
		}
	}
	if o.Dollars != nil {
		if f.Dollars == nil {
			f.Dollars = new(big.Rat)
		}
		f.Dollars = new(big.Rat).Add(f.Dollars, o.Dollars)
	}
}

func (f *Figures) none() bool {
	return f.Calls <= 0 && f.Prompt <= 0 && f.Completion <= 0 && (f.Dollars == nil || f.Dollars.Sign() == 0)
}

// Row is a line of a provider's file.
type Row struct {
	Place string // where it stands, such as "line 3" or "data[0].results[2]"
	Day   string // of UTC, 2026-11-25
	Model string // as the provider names it, "" when the file is not grouped by model
	Key   string // the provider's name or id of the key that was used, "" when the file does not say; for Match the gateway's tag of it
	Call  string // the provider's id of the one answer that the row is of, "" when it is of several
	Figures
}

// Call is what the comparison needs of a call of the gateway.
type Call struct {
	Generation string
	Answer     string // the provider's id of the answer
	Model      string // the provider's id of the model
	Key        string // tag of the provider's key that served it, "" not known
	Began      time.Time
	Ended      time.Time
	Prompt     int64
	Completion int64
	Dollars    money.Nano // billionths of a dollar, rounded up once
	Priced     bool       // Dollars are known
}

// CallOf is what the comparison needs of a record. It is false for a call that the provider does not bill to the gateway: one that no provider answered,
// and one with its owner's key.
func CallOf(c *record.Call) (Call, bool) {
	if !c.Settled || c.OwnKey != "" || c.Provider == "" {
		return Call{}, false
	}
	out := Call{
		Generation: c.Generation, Answer: c.UpstreamID, Model: c.UpstreamModel, Key: c.ProviderKey(), Began: c.At.UTC(), Ended: c.At.Add(c.Duration).UTC(),
		Prompt: c.Usage.Prompt.N, Completion: c.Usage.Completion.N,
	}
	out.Dollars, out.Priced = report.UpstreamDollars(c)
	return out, true
}

// Kind is what a difference is.
type Kind string

// The kinds of differences.
const (
	Lost     Kind = "lost"     // the provider has it, the gateway does not
	Extra    Kind = "extra"    // the gateway has it, the provider does not
	Doubled  Kind = "doubled"  // the provider has it more than once
	Tokens   Kind = "tokens"   // both have it, with other tokens
	Repriced Kind = "repriced" // both have it with the same tokens, at another price
	Late     Kind = "late"     // both have it: the provider on the day on which it ended, the gateway on the day before
	Cost     Kind = "cost"     // both have calls, at another cost; the file has nothing but costs, so these may be other calls or other prices
)

// Difference is one thing on which the provider and the gateway do not agree.
type Difference struct {
	Kind         Kind
	Day, Model   string
	Key          string // tag of the provider's key, where they are compared by key
	Place        string // the first row of the file that is part of it, "" when none is
	Answer       string // the provider's id of the answer, "" for a group of calls
	Theirs, Ours Figures
	N            int64    // how many calls it is of, 0 when that is not known
	Delta        Delta    // by how much the provider has more because of it
	Calls        []string // generations behind it: those that explain it if they are known, else those of the day and model
	More         int      // calls beyond those

	Mark    string      // what it is, the same in each comparison that finds it
	Settled *Settlement // what an operator decided on it; nil: nothing
}

// Delta is by how much the figures of the provider are above those of the gateway. What one side does not report is 0, and nil for dollars.
type Delta struct {
	Calls, Prompt, Completion int64
	Dollars                   *big.Rat
}

// Group is what both sides have of a day, or of a day and a model.
type Group struct {
	Day, Model   string
	Key          string // tag of the provider's key, where they are compared by key
	Theirs, Ours Figures
}

// Sum is all differences of a kind.
type Sum struct {
	Kind        Kind
	Differences int
	Calls       int64
	Delta       Delta
}

// Result is what a comparison found.
type Result struct {
	First, Last string // days
	ByCall      bool   // rows were compared call by call, by the id of the answer
	ByModel     bool   // rows were compared by day and model; otherwise by day alone
	ByKey       bool   // and by the provider's key
	Rows, Calls int

	Theirs, Ours Figures // of all days and models

	Sums        []Sum        // of all differences, by kind
	Groups      []Group      // by day and model
	Differences []Difference // by day and model
}

// total adds up the groups. Dollars of the gateway are not known when those of one group are not.
func (r *Result) total() {
	r.Theirs, r.Ours = Unreported(), Unreported()
	known := true
	for i := range r.Groups {
		g := &r.Groups[i]
		r.Theirs.Add(&g.Theirs)
		r.Ours.Add(&g.Ours)
		known = known && g.Ours.Dollars != nil
	}
	if !known {
		r.Ours.Dollars = nil
	}
}

// Match compares rows with calls. calls are those from the day before the first row until the day after the last, in any order. A difference in
// dollars counts above tolerance for each call: the gateway rounds the cost of a call up to a billionth of a dollar, and providers round, too.
func Match(rows []Row, calls []Call, tolerance money.Nano) (Result, error) {
	const op = "reconcile.Match"
	r := Result{Rows: len(rows), ByModel: true}
	named := 0
	for i := range rows {
		row := &rows[i]
		if r.First == "" || row.Day < r.First {
			r.First = row.Day
		}
		r.Last = max(r.Last, row.Day)
		if row.Call != "" {
			named++
		}
		r.ByModel = r.ByModel && row.Model != ""
	}
	switch {
	case len(rows) == 0:
		return r, fault.New(fault.Invalid, op, "The file has no usage in it.")
	case named > 0 && named < len(rows):
		at := slices.IndexFunc(rows, func(row Row) bool { return row.Call == "" })
		return r, fault.Newf(fault.Invalid, op, "%s has no id of a call, while other rows have one: compare them in separate files.", rows[at].Place)
	}
	r.ByCall = named > 0
	r.ByKey = !r.ByCall && keyed(rows, calls, r.First, r.Last)
	m := matcher{r: &r, tolerance: new(big.Rat).SetFrac64(int64(tolerance)+1, billion), sums: map[Kind]*Sum{}, groups: map[groupKey]*group{}}
	if r.ByCall {
		m.byCall(rows, calls)
		m.show()
	} else {
		m.byGroup(rows, calls)
	}
	r.Sums = m.sortedSums()
	r.total()
	slices.SortFunc(r.Groups, func(a, b Group) int {
		return cmp.Or(strings.Compare(a.Day, b.Day), strings.Compare(a.Model, b.Model), strings.Compare(a.Key, b.Key))
	})
	slices.SortStableFunc(r.Differences, func(a, b Difference) int {
		return cmp.Or(strings.Compare(a.Day, b.Day), strings.Compare(a.Model, b.Model), strings.Compare(a.Key, b.Key), strings.Compare(string(a.Kind), string(b.Kind)))
	})
	return r, nil
}

// keyed reports whether the key is known of all rows, and of all calls of their days.
func keyed(rows []Row, calls []Call, first, last string) bool {
	return !slices.ContainsFunc(rows, func(r Row) bool { return r.Key == "" }) &&
		!slices.ContainsFunc(calls, func(c Call) bool { return c.Key == "" && c.Ended.Format(time.DateOnly) >= first && c.day() <= last })
}

// within reports whether a call is surely one of the file's days: one that goes past midnight may stand on either.
func (r *Result) within(c *Call) bool {
	return c.Began.Format(time.DateOnly) >= r.First && c.Ended.Format(time.DateOnly) <= r.Last
}

// day is that of UTC on which the call began.
func (c *Call) day() string { return c.Began.Format(time.DateOnly) }

func deltaOf(f *Figures) Delta {
	return Delta{max(f.Calls, 0), max(f.Prompt, 0), max(f.Completion, 0), f.Dollars}
}

// DeltaBetween is what the provider has more, of what both report.
func DeltaBetween(theirs, ours *Figures) (d Delta) {
	for _, x := range [...]struct {
		to           *int64
		theirs, ours int64
	}{{&d.Calls, theirs.Calls, ours.Calls}, {&d.Prompt, theirs.Prompt, ours.Prompt}, {&d.Completion, theirs.Completion, ours.Completion}} {
		if x.theirs >= 0 && x.ours >= 0 {
			*x.to = x.theirs - x.ours
		}
	}
	if theirs.Dollars != nil && ours.Dollars != nil {
		d.Dollars = new(big.Rat).Sub(theirs.Dollars, ours.Dollars)
	}
	return d
}

func (d Delta) negative() Delta {
	out := Delta{Calls: -d.Calls, Prompt: -d.Prompt, Completion: -d.Completion}
	if d.Dollars != nil {
		out.Dollars = new(big.Rat).Neg(d.Dollars)
	}
	return out
}

func (d Delta) plus(o Delta) Delta {
	out := Delta{Calls: d.Calls + o.Calls, Prompt: d.Prompt + o.Prompt, Completion: d.Completion + o.Completion, Dollars: cmp.Or(d.Dollars, o.Dollars)}
	if d.Dollars != nil && o.Dollars != nil {
		out.Dollars = new(big.Rat).Add(d.Dollars, o.Dollars)
	}
	return out
}

// figures are those of one call.
func (c *Call) figures() Figures {
	f := Figures{Calls: 1, Prompt: c.Prompt, Completion: c.Completion}
	if c.Priced {
		f.Dollars = new(big.Rat).SetFrac64(int64(c.Dollars), billion)
	}
	return f
}

// sameModel is the name under which a model is compared: providers bill gpt-4o as gpt-4o-2024-08-06, and claude-sonnet-4 with 20250514 at the end.
func sameModel(name string) string {
	digits := func(s string) bool { return strings.Trim(s, "0123456789") == "" }
	if n := len(name) - len("-2024-08-06"); n > 0 && name[n] == '-' && name[n+5] == '-' && name[n+8] == '-' && digits(name[n+1:n+5]+name[n+6:n+8]+name[n+9:]) {
		return name[:n]
	}
	if n := len(name) - len("-20250514"); n > 0 && name[n] == '-' && digits(name[n+1:]) {
		return name[:n]
	}
	return name
}
