package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/invoice"
	"weir/internal/ledger"
	"weir/internal/money"
)

var (
	actColumns = slices.Concat([]string{"id", "number", "year", "seq", "account", "wallet", "month"}, partyColumns, []string{"opening", "topped_up", "spent", "closing", "carried_in", "amount", "tax", "total", "carried_out", "made_at"})
	actAdd     = insertRow("invoice_acts", actColumns, "")
	actRead    = `SELECT ` + strings.Join(actColumns, ", ") + ` FROM invoice_acts `
)

// What moved a wallet before a moment: whole days of calls, the hours of the last day, and postings by their kind.
const (
	spentInHours = `SELECT CAST(COALESCE(SUM(cost), 0) AS BIGINT) FROM usage_hourly WHERE wallet = $1 AND hour >= $2 AND hour < $3`
	postedBefore = `SELECT CAST(COALESCE(SUM(CASE WHEN kind = '` + ledger.TopUpKind + `' THEN amount ELSE 0 END), 0) AS BIGINT), CAST(COALESCE(SUM(CASE WHEN kind = '` + ledger.TopUpKind + `' THEN 0 ELSE amount END), 0) AS BIGINT)
		FROM (SELECT amount, (SELECT t.at FROM transactions t WHERE t.id = transaction_id) AS at, (SELECT t.kind FROM transactions t WHERE t.id = transaction_id) AS kind
		FROM entries WHERE account = $1 AND transaction_id >= 0 AND substr(ref, 1, 7) <> 'settle:') e WHERE at < $2`
)

func itoa(n int) string { return strconv.Itoa(n) }

func scanAct(row Scanner) (a invoice.Act, err error) {
	var made int64
	into := slices.Concat([]any{&a.ID, &a.Number, &a.Year, &a.Seq, &a.Account, &a.Wallet, &a.Month}, partyInto(&a.Buyer, &a.Seller, &a.VAT, &a.Line),
		[]any{(*int64)(&a.Opening), (*int64)(&a.ToppedUp), (*int64)(&a.Spent), (*int64)(&a.Closing), (*int64)(&a.Before), (*int64)(&a.Amount), (*int64)(&a.Tax), (*int64)(&a.Total), (*int64)(&a.After), &made})
	err = row.Scan(into...)
	a.MadeAt = time.UnixMicro(made).UTC()
	return a, err
}

// sumsBefore sums what moved a wallet before the beginning of an hour.
func (t *tx) sumsBefore(wallet string, at time.Time) (s invoice.Sums, err error) {
	h := t.zones[wallet]
	day := h.Day(at)
	var days, hours, back int64
	if err = t.row(daySum, wallet, "", day.Format(time.DateOnly)).Scan(&days); err != nil {
		return s, err
	}
	if err = t.row(spentInHours, wallet, h.Start(day).Unix(), at.Unix()).Scan(&hours); err != nil {
		return s, err
	}
	err = t.row(postedBefore, ledger.WalletAccount+wallet, at.UnixMicro()).Scan((*int64)(&s.ToppedUp), &back)
	s.Spent = money.Nano(days + hours - back)
	return s, err
}

// AddAct is invoice.Store.AddAct.
func (s *Payments) AddAct(ctx context.Context, of invoice.Act, f func(*invoice.Act, *invoice.Closing) (bool, error), name func(*invoice.Act) audit.Event) (a invoice.Act, made bool, err error) {
	err = s.write(ctx, func(t *tx) error {
		a, made = of, false
		if _, err := t.lockWallet(a.Wallet); err != nil {
			return err
		}
		c, err := t.closing(&a)
		if err != nil {
			return err
		}
		if made, err = f(&a, &c); err != nil || !made {
			return err
		}
		if err := t.row(nextNumber, "act", a.Seller.INN, a.Year).Scan(&a.Seq); err != nil {
			return err
		}
		e := name(&a)
		args := slices.Concat([]any{a.ID, a.Number, a.Year, a.Seq, a.Account, a.Wallet, a.Month}, partyArgs(&a.Buyer, &a.Seller, a.VAT, a.Line),
			[]any{int64(a.Opening), int64(a.ToppedUp), int64(a.Spent), int64(a.Closing), int64(a.Before), int64(a.Amount), int64(a.Tax), int64(a.Total), int64(a.After), a.MadeAt.UnixMicro()})
		if _, err := t.exec(actAdd, args...); err != nil {
			return err
		}
		return t.record(e, a.MadeAt)
	})
	if s.engine.Duplicate(err) {
		err = fault.Newf(fault.Conflict, "store.AddAct", "The account has an act of %s.", of.Month).Because(err)
	}
	return a, made && err == nil, err
}

func (t *tx) closing(a *invoice.Act) (c invoice.Closing, err error) {
	var first, acted sql.NullInt64
	if err = t.row(`SELECT MIN(created_at) FROM invoices WHERE account = $1`, a.Account).Scan(&first); err != nil || !first.Valid {
		return c, err
	}
	months := invoice.MonthsOf(t.zones[a.Wallet])
	c.First = months.Of(momentOf(first))
	var last sql.NullString
	if err = t.row(`SELECT MAX(month), CAST(SUM(amount) AS BIGINT) FROM invoice_acts WHERE account = $1`, a.Account).Scan(&last, &acted); err != nil {
		return c, err
	}
	c.Last, c.Acted = last.String, money.Nano(acted.Int64)
	for _, x := range []struct {
		to *invoice.Sums
		at time.Time
	}{{&c.Base, months.Start(c.First)}, {&c.Start, months.Start(a.Month)}, {&c.End, months.End(a.Month)}} {
		if *x.to, err = t.sumsBefore(a.Wallet, x.at); err != nil {
			return c, err
		}
	}
	return c, nil
}

// ActByID is invoice.Store.ActByID.
func (s *Payments) ActByID(ctx context.Context, id string) (a invoice.Act, err error) {
	err = s.find(ctx, func(row Scanner) (err error) { a, err = scanAct(row); return err }, actRead+`WHERE id = $1`, id)
	return a, noneOf("store.ActByID", "act", err)
}

// Acts is invoice.Store.Acts.
func (s *Payments) Acts(ctx context.Context, account, month, before string, limit int) ([]invoice.Act, error) {
	var c conditions
	c.equal("account", account)
	c.equal("month", month)
	if before != "" {
		last, err := s.ActByID(ctx, before)
		if err != nil {
			return nil, err
		}
		c.add("month <= ? AND NOT (month = ? AND id >= ?)", last.Month, last.Month, last.ID)
	}
	c.args = append(c.args, limit)
	return list(ctx, s.db, "store.Acts", scanAct, actRead+c.where()+` ORDER BY month DESC, id DESC LIMIT $`+itoa(len(c.args)), c.args...)
}

// ActsBegin is invoice.Store.ActsBegin.
func (s *Payments) ActsBegin(ctx context.Context, account string) (first, last string, err error) {
	z, err := s.zonesNow(ctx)
	if err != nil {
		return "", "", err
	}
	err = s.find(ctx, func(row Scanner) error {
		var at sql.NullInt64
		var wallet, month sql.NullString
		err := row.Scan(&at, &wallet, &month)
		if last = month.String; at.Valid {
			first = invoice.MonthsOf(z[wallet.String]).Of(momentOf(at))
		}
		return err
	}, `SELECT (SELECT MIN(created_at) FROM invoices WHERE account = $1), (SELECT MIN(wallet) FROM invoices WHERE account = $1), (SELECT MAX(month) FROM invoice_acts WHERE account = $1)`, account)
	if errors.Is(err, sql.ErrNoRows) {
		return "", "", nil
	}
	return first, last, failure("store.ActsBegin", err)
}

// InvoicedAccounts is invoice.Store.InvoicedAccounts.
func (s *Payments) InvoicedAccounts(ctx context.Context, after string, limit int) (accounts, wallets []string, err error) {
	type pair struct{ account, wallet string }
	all, err := list(ctx, s.db, "store.InvoicedAccounts", columns(func(p *pair) []any { return []any{&p.account, &p.wallet} }),
		`SELECT account, MIN(wallet) FROM invoices WHERE account > $1 GROUP BY account ORDER BY account LIMIT $2`, after, limit)
	for _, p := range all {
		accounts, wallets = append(accounts, p.account), append(wallets, p.wallet)
	}
	return accounts, wallets, err
}
