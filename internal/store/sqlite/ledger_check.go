package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/store"
)

// Checks is ledger.Auditor.Checks: all of it sees one moment of the database.
func (s *Store) Checks(ctx context.Context) (checks []ledger.Check, err error) {
	err = s.inReadTx(ctx, func(tx *sql.Tx) error {
		c := checker{ctx: ctx, tx: tx}
		c.entries()
		c.wallets()
		c.leases()
		c.generations()
		c.rollUps(c.records())
		checks = c.checks
		return c.err
	})
	return checks, err
}

// checker collects checks until the first error of the database.
type checker struct {
	ctx    context.Context
	tx     *sql.Tx
	checks []ledger.Check
	err    error
}

func (c *checker) add(name string, wrong []string, right string, args ...any) {
	k := ledger.Check{Name: name, OK: len(wrong) == 0, Detail: fmt.Sprintf(right, args...)}
	if !k.OK {
		k.Detail = strings.Join(wrong, "; ")
	}
	c.checks = append(c.checks, k)
}

func (c *checker) one(text string, to ...any) {
	if c.err == nil {
		c.err = c.tx.QueryRowContext(c.ctx, text).Scan(to...)
	}
}

// wrong runs a query that lists what does not hold, and tells each row in words.
func (c *checker) wrong(words, text string) (found []string) {
	c.each(text, func(values []any) { found = append(found, fmt.Sprintf(words, values...)) })
	return found
}

func (c *checker) each(text string, f func(values []any)) {
	if c.err != nil {
		return
	}
	rows, err := c.tx.QueryContext(c.ctx, text)
	if err != nil {
		c.err = err
		return
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		c.err = err
		return
	}
	values, to := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		to[i] = &values[i]
	}
	for rows.Next() {
		if c.err = rows.Scan(to...); c.err != nil {
			return
		}
		f(values)
	}
	c.err = rows.Err()
}

func (c *checker) entries() {
	var sum, n int64
	c.one(store.CheckSum, &sum, &n)
	var wrong []string
	if sum != 0 {
		wrong = append(wrong, fmt.Sprintf("all entries together come to %s rubles", money.Nano(sum)))
	}
	wrong = append(wrong, c.wrong("the entries of transaction %d come to %d nano-rubles", store.CheckTransactions)...)
	wrong = append(wrong, c.wrong("transaction %d is missing, or numbers two entries alike", store.CheckLines)...)
	c.add("entries", wrong, "%d entries; those of each transaction sum to zero", n)
}

func (c *checker) wallets() {
	var n, credited, charged, leased int64
	c.one(store.CheckWalletCount, &n, &credited, &charged, &leased)
	wrong := c.wrong("wallet %s has credited %d, its entries say %d; charged %d, its entries say %d", store.CheckWallets)
	wrong = append(wrong, c.wrong("account %s has entries and no wallet", store.CheckStrangers)...)
	c.add("wallets", wrong, "%d wallets agree with their entries: %s credited, %s charged", n, money.Nano(credited), money.Nano(charged))
	below := 0
	c.each(store.CheckNegative, func([]any) { below++ })
	if below > 0 {
		c.checks[len(c.checks)-1].Detail += fmt.Sprintf("; %d or more are below zero by calls that cost more than was held", below)
	}
}

func (c *checker) leases() {
	wrong := c.wrong("wallet %s has %d leased, its leases have %d left", store.CheckWalletLeases)
	wrong = append(wrong, c.wrong("key %s has %d leased, its leases have %d left", store.CheckKeyLeases)...)
	c.add("leases", wrong, "what is leased is what the leases have left")
}

func (c *checker) generations() {
	var n, settled, cost int64
	c.one(store.CheckCounts, &n, &settled, &cost)
	wrong := c.wrong("generation %s has no entry, a wrong one, or one that it should not have", store.CheckUncharged)
	wrong = append(wrong, c.wrong("entry %s has no generation", store.CheckUnrecorded)...)
	c.add("settlements", wrong, "%d calls, of which %d were settled, each with one entry: %s rubles", n, settled, money.Nano(cost))
}

var (
	selectGenerations = selectAll("generations", store.GenerationColumns)
	selectHours       = selectAll("usage_hourly", store.HourColumns, store.SumColumns)
	selectDays        = selectAll("usage_daily", store.DayColumns, store.SumColumns)
)

func selectAll(table string, columns ...[]string) string {
	return "SELECT " + strings.Join(slices.Concat(columns...), ", ") + " FROM " + table
}

// records compares each call's columns with its record, and adds the records up by hour.
func (c *checker) records() map[store.Hour]store.Sums {
	hours := map[store.Hour]store.Sums{}
	var wrong differences
	n := 0
	c.each(selectGenerations, func(row []any) {
		n++
		call, w := store.ReadGeneration(row)
		if w != "" {
			wrong.add(w)
		}
		if call == nil {
			return
		}
		sums := hours[store.HourOf(call)]
		sums.Add(call)
		hours[store.HourOf(call)] = sums
	})
	c.add("records", wrong, "%d calls agree with their records", n)
	return hours
}

func text(v any) string { s, _ := v.(string); return s }

func sums(values []any) (s store.Sums) {
	for i := range s {
		s[i], _ = values[i].(int64)
	}
	return s
}

// rollUps compares the hours with the calls, and days and keys with the hours.
func (c *checker) rollUps(hours map[store.Hour]store.Sums) {
	days, keys := map[store.Day]store.Sums{}, map[store.KeyPeriod]int64{}
	for h, s := range hours {
		t := time.Unix(h.Hour, 0).UTC()
		d := store.Day{Day: t.Format(time.DateOnly), Wallet: h.Wallet, Key: h.Key, User: h.User, Model: h.Model, Provider: h.Provider}
		day := days[d]
		day.Plus(&s)
		days[d] = day
		if h.Key == "" || s.Cost() == 0 {
			continue
		}
		for _, p := range ledger.Periods(t) {
			keys[store.KeyPeriod{Wallet: h.Wallet, Key: h.Key, Period: p}] += int64(s.Cost())
		}
	}
	c.compareHours(hours)
	c.compareDays(days)
	c.compareKeys(keys)
}

func (c *checker) compareHours(want map[store.Hour]store.Sums) {
	n := len(want)
	var diff differences
	c.each(selectHours, func(v []any) {
		at, _ := v[0].(int64)
		h := store.Hour{Hour: at, Wallet: text(v[1]), Key: text(v[2]), User: text(v[3]), Model: text(v[4]), Provider: text(v[5]), Endpoint: text(v[6])}
		compare(&diff, h, sums(v[7:]), want[h])
		delete(want, h)
	})
	for h := range want {
		diff.add(fmt.Sprintf("%v is missing", h))
	}
	c.add("usage by hour", diff, "%d rows agree with the calls", n)
}

func (c *checker) compareDays(want map[store.Day]store.Sums) {
	n := len(want)
	var diff differences
	c.each(selectDays, func(v []any) {
		d := store.Day{Day: text(v[0]), Wallet: text(v[1]), Key: text(v[2]), User: text(v[3]), Model: text(v[4]), Provider: text(v[5])}
		compare(&diff, d, sums(v[6:]), want[d])
		delete(want, d)
	})
	for d := range want {
		diff.add(fmt.Sprintf("%v is missing", d))
	}
	c.add("usage by day", diff, "%d rows agree with the calls", n)
}

func (c *checker) compareKeys(want map[store.KeyPeriod]int64) {
	n := len(want)
	var diff differences
	c.each(store.CheckKeySpend, func(v []any) {
		start, _ := v[3].(int64)
		spent, _ := v[4].(int64)
		k := store.KeyPeriod{Wallet: text(v[0]), Key: text(v[1]), Period: ledger.Period{Kind: text(v[2]), Start: start}}
		compare(&diff, k, spent, want[k])
		delete(want, k)
	})
	for k := range want {
		diff.add(fmt.Sprintf("%v is missing", k))
	}
	c.add("spending of keys", diff, "%d rows agree with the calls", n)
}

// differences are the first places where figures differ.
type differences []string

func (d *differences) add(s string) {
	if len(*d) < 5 {
		*d = append(*d, s)
	}
}

func compare[T comparable](d *differences, what any, got, want T) {
	if got != want {
		d.add(fmt.Sprintf("%v has %v, the calls say %v", what, got, want))
	}
}
