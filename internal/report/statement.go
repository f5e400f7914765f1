package report

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
)

// CallsKind is the kind of the row of a day's calls. The other kinds are those of postings.
const CallsKind = "calls"

const (
	// maxPostings is how many top-ups, adjustments and refunds one statement lists one by one or sums.
	maxPostings = 20_000
	// ofDay is how many postings of one kind and day have rows of their own.
	ofDay = 20
)

// Line is one row of a statement.
type Line struct {
	Day      time.Time
	Kind     string
	Movement *ledger.Movement // nil for a row of several entries
	Count    int64            // of entries
	Amount   money.Nano       // below zero: it was taken
	Balance  money.Nano       // after it
	Taxes    []Portion        // what Amount consists of, for calls and refunds; their sum is its absolute value
}

// Portion is the part of a row that has one VAT.
type Portion struct {
	Percent string // decimal text, "" without VAT
	Count   int64
	Gross   money.Nano
	VAT     money.Nano // contained in Gross
}

// Net is what is left without the VAT.
func (p *Portion) Net() money.Nano { return p.Gross - p.VAT }

// Statement is what happened to a wallet in some days.
type Statement struct {
	From, To time.Time // days, To included
	Timezone string    // of its last day
	Opening  money.Nano
	Credited money.Nano
	Debited  money.Nano
	Closing  money.Nano
	Balance  money.Nano // now
	Held     money.Nano // now
	// Agrees is whether all rows of the wallet, from its beginning, sum to its balance.
	Agrees bool
	Jobs   []Held
	Calls  money.Nano // held for calls
	Lines  []Line     // the oldest first
	Taxes  []Tax      // of the calls and refunds of the period, by percentage as text
}

// Statement makes the statement of the account's days from..to, both included. It fails with fault.Invalid when there are too many postings.
func (r *Reporter) Statement(ctx context.Context, wallet string, from, to time.Time) (*Statement, error) {
	balance, err := r.book.Balance(ctx, wallet) // flushes
	if err != nil {
		return nil, err
	}
	jobs, err := r.store.JobHolds(ctx, wallet)
	if err != nil {
		return nil, err
	}
	a, err := r.store.Account(ctx, wallet, from, to.AddDate(0, 0, 1), maxPostings)
	if err != nil {
		return nil, err
	}
	if a.More {
		return nil, fault.Field("report.Statement", "from", "This period has more than %d top-ups, adjustments and refunds. Choose a shorter one.", maxPostings)
	}
	s := &Statement{From: from, To: to, Timezone: a.Zone.Name(a.Zone.Start(to)), Opening: a.Before, Balance: a.Balance, Held: balance.Held, Jobs: jobs, Calls: balance.Held}
	for _, j := range jobs {
		s.Calls -= j.Amount
	}
	s.Calls = max(0, s.Calls)
	s.Lines = linesOf(&a)
	s.tax(a.Taxes)
	s.Closing = s.Opening
	for i := range s.Lines {
		l := &s.Lines[i]
		if s.Closing += l.Amount; l.Amount < 0 {
			s.Debited -= l.Amount
		} else {
			s.Credited += l.Amount
		}
		l.Balance = s.Closing
	}
	s.Agrees = s.Closing+a.After == a.Balance
	return s, nil
}

// tax sums the VAT of the days, and gives the rows of calls and of refunds theirs. A row of refunds has those of the whole day.
func (s *Statement) tax(days []DayTax) {
	type row struct {
		day  time.Time
		kind string
	}
	portions := map[row][]Portion{}
	for i := range days {
		d := &days[i]
		if d.Calls > 0 {
			k := row{d.Day, CallsKind}
			portions[k] = append(portions[k], Portion{d.Percent, d.Calls, d.Charged, d.ChargedTax})
		}
		if d.Refunds > 0 {
			k := row{d.Day, ledger.RefundKind}
			portions[k] = append(portions[k], Portion{d.Percent, d.Refunds, d.Refunded, d.RefundedTax})
		}
		at := slices.IndexFunc(s.Taxes, func(t Tax) bool { return t.Percent == d.Percent })
		if at < 0 {
			at = len(s.Taxes)
			s.Taxes = append(s.Taxes, Tax{Percent: d.Percent})
		}
		s.Taxes[at].Add(&d.Tax)
	}
	slices.SortFunc(s.Taxes, func(t, u Tax) int { return strings.Compare(t.Percent, u.Percent) })
	for i := range s.Lines {
		l := &s.Lines[i]
		if all := portions[row{l.Day, l.Kind}]; counted(all) == l.Count { // of refunds that have rows of their own it is not known which is which
			l.Taxes = all
		}
	}
}

func counted(all []Portion) (n int64) {
	for i := range all {
		n += all[i].Count
	}
	return n
}

// linesOf makes the rows of a statement: of each day the postings, and then its calls.
func linesOf(a *Account) (lines []Line) {
	days, rest := a.Days, a.Movements
	for len(days) > 0 || len(rest) > 0 {
		var day time.Time
		switch {
		case len(rest) == 0 || len(days) > 0 && !days[0].Day.After(a.Zone.Day(rest[0].At)):
			day = days[0].Day
		default:
			day = a.Zone.Day(rest[0].At)
		}
		n := 0
		for n < len(rest) && a.Zone.Day(rest[n].At).Equal(day) {
			n++
		}
		lines = append(lines, postingsOf(day, rest[:n])...)
		rest = rest[n:]
		if len(days) > 0 && days[0].Day.Equal(day) {
			if d := days[0]; d.Calls > 0 {
				lines = append(lines, Line{Day: day, Kind: CallsKind, Count: d.Calls, Amount: -d.Cost})
			}
			days = days[1:]
		}
	}
	return lines
}

// postingsOf are the rows of a day's postings: refunds together, and what is too much for rows of its own.
func postingsOf(day time.Time, all []ledger.Movement) (lines []Line) {
	counts := map[string]int{}
	for i := range all {
		counts[all[i].Kind]++
	}
	at := map[string]int{}
	for i := range all {
		m := &all[i]
		if n := counts[m.Kind]; n == 1 || m.Kind != ledger.RefundKind && n <= ofDay {
			lines = append(lines, Line{Day: day, Kind: m.Kind, Movement: m, Count: 1, Amount: m.Amount})
			continue
		}
		k := m.Kind
		if m.Amount < 0 {
			k += "-" // what was taken is in another row than what was given
		}
		if _, ok := at[k]; !ok {
			at[k] = len(lines)
			lines = append(lines, Line{Day: day, Kind: m.Kind})
		}
		l := &lines[at[k]]
		l.Count++
		l.Amount += m.Amount
	}
	return lines
}

// DayOf is one day of a statement, its postings one by one.
func (r *Reporter) DayOf(ctx context.Context, wallet string, day time.Time) (*Statement, error) {
	if _, err := r.book.CatchUp(ctx); err != nil {
		return nil, err
	}
	a, err := r.store.Account(ctx, wallet, day, day.AddDate(0, 0, 1), maxDayPostings)
	if err != nil {
		return nil, err
	}
	s := &Statement{From: day, To: day, Timezone: a.Zone.Name(a.Zone.Start(day)), Opening: a.Before, Balance: a.Balance, Closing: a.Before}
	for i := range a.Movements {
		m := &a.Movements[i]
		s.Lines = append(s.Lines, Line{Day: day, Kind: m.Kind, Movement: m, Count: 1, Amount: m.Amount})
	}
	for _, d := range a.Days {
		s.Lines = append(s.Lines, Line{Day: day, Kind: CallsKind, Count: d.Calls, Amount: -d.Cost})
	}
	for i := range s.Lines {
		s.Closing += s.Lines[i].Amount
		s.Lines[i].Balance = s.Closing
	}
	s.tax(a.Taxes)
	if a.More {
		return nil, fault.Field("report.DayOf", "date", "This day has more than %d top-ups, adjustments and refunds. GET /api/account/statement lists them in pages.", maxDayPostings)
	}
	return s, nil
}

// maxDayPostings is how many postings of a day are listed one by one.
const maxDayPostings = 1000

// Parted lists the rows, the oldest first, with one for each VAT where a row has several.
func (s *Statement) Parted() iter.Seq[Line] {
	return func(yield func(Line) bool) {
		for i := range s.Lines {
			l := s.Lines[i]
			if len(l.Taxes) < 2 {
				if !yield(l) {
					return
				}
				continue
			}
			balance, sign := l.Balance-l.Amount, money.Nano(1)
			if l.Amount < 0 {
				sign = -1
			}
			for j := range l.Taxes {
				one := l
				one.Taxes = l.Taxes[j : j+1]
				one.Count, one.Amount = one.Taxes[0].Count, sign*one.Taxes[0].Gross
				balance += one.Amount
				one.Balance = balance
				if !yield(one) {
					return
				}
			}
		}
	}
}

// Newest lists lines from the newest.
func (s *Statement) Newest() []Line {
	lines := slices.Clone(s.Lines)
	slices.Reverse(lines)
	return lines
}
