package ledgerdb

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/money"
	"weir/internal/report"
	"weir/internal/store/sqldb"
	"weir/internal/tag"
)

// Spenders is report.Store.Spenders: it reads the day first, and of the days before only what the values have that cost enough.
func (s *Ledger) Spenders(ctx context.Context, q report.SpenderQuery) ([]report.Spender, error) {
	parts, err := s.spendingParts(ctx, &q)
	if err != nil || len(parts) == 0 {
		return nil, err
	}
	var c sqldb.Conditions
	from := spenders(&c, &q)
	c.Add("day = ? AND value <> '"+tag.Other+"'", q.Day.Format(time.DateOnly))
	oneOf(&c, "part", parts)
	c.Args = append(c.Args, int64(q.Least))
	var all []report.Spender
	err = s.eachSpent(ctx, "''", from+c.Where(), " HAVING SUM(cost) >= "+"$"+strconv.Itoa(len(c.Args)), c.Args, func(_ string, v report.Sorted, cost money.Nano) {
		if wanted(q.Of, v) {
			all = append(all, report.Spender{Part: v.Part, Value: v.Value, Cost: cost, Before: make([]money.Nano, len(q.Before))})
		}
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, report.Dearest)
	all = all[:min(len(all), q.Most)]
	if len(all) == 0 || len(q.Before) == 0 {
		return all, nil
	}
	return all, s.spentBefore(ctx, &q, all)
}

// spendingParts are the parts in which values may be that a query asks for.
func (s *Ledger) spendingParts(ctx context.Context, q *report.SpenderQuery) (parts []string, err error) {
	for _, of := range q.Of {
		if of.Part != report.TagNames {
			parts = append(parts, string(of.Part))
			continue
		}
		names, err := sqldb.List(ctx, s.db, "store.Spenders", func(row sqldb.Scanner) (name string, err error) {
			err = row.Scan(&name)
			return string(report.TagNamed(name)), err
		}, "SELECT value FROM tag_days WHERE wallet = $1 AND part = '"+string(report.TagNames)+"' AND day = $2 AND cost >= $3 AND value <> '"+tag.Other+"'", q.Wallet, q.Day.Format(time.DateOnly), int64(q.Least))
		if err != nil {
			return nil, err
		}
		parts = append(parts, names...)
	}
	slices.Sort(parts)
	return slices.Compact(parts), nil
}

// spentBefore reads what values cost on the days before.
func (s *Ledger) spentBefore(ctx context.Context, q *report.SpenderQuery, all []report.Spender) error {
	at := map[report.Sorted]int{}
	var parts, values, days []string
	for i := range all {
		at[report.Sorted{Part: all[i].Part, Value: all[i].Value}] = i
		parts, values = append(parts, string(all[i].Part)), append(values, all[i].Value)
	}
	for _, day := range q.Before {
		days = append(days, day.Format(time.DateOnly))
	}
	var c sqldb.Conditions
	from := spenders(&c, q)
	for _, in := range []struct {
		column string
		values []string
	}{{"part", parts}, {"day", days}, {"value", values}} {
		slices.Sort(in.values)
		oneOf(&c, in.column, slices.Compact(in.values))
	}
	return s.eachSpent(ctx, "day", from+c.Where(), "", c.Args, func(day string, v report.Sorted, cost money.Nano) {
		if i, is := at[v]; is {
			all[i].Before[slices.Index(days, day)] = cost
		}
	})
}

// spenders begins the conditions of a query, and says which table has its rows.
func spenders(c *sqldb.Conditions, q *report.SpenderQuery) (table string) {
	c.Add("wallet = ?", q.Wallet)
	if q.Filter.Sees.All() {
		return tagDays.Name
	}
	c.Sees("key_id", q.Filter.Org, q.Filter.Sees)
	return tagUsage.Name
}

// eachSpent sums rows by a text, part and value.
func (s *Ledger) eachSpent(ctx context.Context, by, from, having string, args []any, yield func(by string, v report.Sorted, cost money.Nano)) error {
	_, err := sqldb.List(ctx, s.db, "store.Spenders", func(row sqldb.Scanner) (none struct{}, err error) {
		var text string
		var v report.Sorted
		var cost int64
		if err = row.Scan(&text, &v.Part, &v.Value, &cost); err == nil {
			yield(text, v, money.Nano(cost))
		}
		return none, err
	}, "SELECT "+by+", part, value, CAST(SUM(cost) AS BIGINT) FROM "+from+" GROUP BY 1, 2, 3"+having, args...)
	return err
}

// wanted reports whether a value is one of those that are asked for.
func wanted(of []report.Sorted, v report.Sorted) bool {
	_, tagged := v.Part.TagName()
	return slices.ContainsFunc(of, func(o report.Sorted) bool {
		return (o.Part == v.Part || o.Part == report.TagNames && tagged) && (o.Value == "" || o.Value == v.Value)
	})
}

// oneOf adds the condition that a column has one of some values.
func oneOf(c *sqldb.Conditions, column string, values []string) {
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = v
	}
	c.Add(column+" IN (?"+strings.Repeat(", ?", len(values)-1)+")", args...)
}
