package report

import (
	"cmp"
	"context"
	"slices"
	"time"

	"weir/internal/money"
)

// Spender is what the calls with one value of a part cost on a day, and on days before it.
type Spender struct {
	Part   Part // never TagNames
	Value  string
	Cost   money.Nano
	Before []money.Nano // of each day of SpenderQuery.Before
}

// SpenderQuery asks which values of some parts cost much on a day. It is about few values: those that cost less are not read.
type SpenderQuery struct {
	Wallet string
	// Filter chooses calls by whose they are, and keys by a tag as well.
	Filter Filter
	// Of are the parts that count, each with the one value that does, "" all: Session, Key, TagNamed, and TagNames for the values of all tags. What is beyond
	// the bound of a day is no value.
	Of     []Sorted
	Day    time.Time   // of the account
	Before []time.Time // days before it, the oldest first
	Least  money.Nano  // that a value cost on Day
	Most   int         // values
}

// Spenders lists values by what they cost on the day, the dearest first.
func (r *Reporter) Spenders(ctx context.Context, q SpenderQuery) ([]Spender, error) {
	var all []Spender
	tags := q
	tags.Of = slices.DeleteFunc(slices.Clone(q.Of), func(s Sorted) bool { return s.Part == Key })
	if len(tags.Of) > 0 {
		var err error
		if all, err = r.store.Spenders(ctx, tags); err != nil {
			return nil, err
		}
	}
	if len(tags.Of) < len(q.Of) {
		keys, err := r.keySpenders(ctx, &q)
		if err != nil {
			return nil, err
		}
		all = append(all, keys...)
		slices.SortFunc(all, Dearest)
	}
	return all[:min(len(all), q.Most)], nil
}

// keySpenders are the keys of a query.
func (r *Reporter) keySpenders(ctx context.Context, q *SpenderQuery) ([]Spender, error) {
	from := q.Day
	if len(q.Before) > 0 {
		from = q.Before[0]
	}
	rows, err := r.store.Usage(ctx, Query{Wallet: q.Wallet, Filter: q.Filter, Part: Key, Bucket: Day, Metric: Cost, From: from, To: Day.Next(q.Day)})
	if err != nil {
		return nil, err
	}
	keys := map[string]*Spender{}
	for i := range rows {
		if row := &rows[i]; row.At.Equal(q.Day) && row.Cost >= q.Least && row.Value != "" {
			keys[row.Value] = &Spender{Part: Key, Value: row.Value, Cost: row.Cost, Before: make([]money.Nano, len(q.Before))}
		}
	}
	for i := range rows {
		if k, at := keys[rows[i].Value], slices.IndexFunc(q.Before, rows[i].At.Equal); k != nil && at >= 0 {
			k.Before[at] = rows[i].Cost
		}
	}
	var all []Spender
	for _, k := range keys {
		all = append(all, *k)
	}
	return all, nil
}

// Dearest orders by what was spent on the day, and then by part and value.
func Dearest(a, b Spender) int {
	return cmp.Or(-cmp.Compare(a.Cost, b.Cost), cmp.Compare(a.Part, b.Part), cmp.Compare(a.Value, b.Value))
}
