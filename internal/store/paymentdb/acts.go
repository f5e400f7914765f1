package paymentdb

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
	"weir/internal/money"
	"weir/internal/store/auditdb"
	"weir/internal/store/ledgerdb"
	"weir/internal/store/sqldb"
)

var (
	actColumns = slices.Concat([]string{"id", "number", "year", "seq", "account", "wallet", "month"}, partyColumns, []string{"opening", "topped_up", "spent", "closing", "carried_in", "amount", "tax", "total", "carried_out", "made_at"})
	actAdd     = sqldb.InsertRow("invoice_acts", actColumns, "")
	actRead    = `SELECT ` + strings.Join(actColumns, ", ") + ` FROM invoice_acts `
)

// What moved a wallet before a moment: whole days of calls, the hours of the last day, and postings by their kind.
const ()

func itoa(n int) string { return strconv.Itoa(n) }

func scanAct(row sqldb.Scanner) (a invoice.Act, err error) {
	var made int64
	into := slices.Concat([]any{&a.ID, &a.Number, &a.Year, &a.Seq, &a.Account, &a.Wallet, &a.Month}, partyInto(&a.Buyer, &a.Seller, &a.VAT, &a.Line),
		[]any{(*int64)(&a.Opening), (*int64)(&a.ToppedUp), (*int64)(&a.Spent), (*int64)(&a.Closing), (*int64)(&a.Before), (*int64)(&a.Amount), (*int64)(&a.Tax), (*int64)(&a.Total), (*int64)(&a.After), &made})
	err = row.Scan(into...)
	a.MadeAt = time.UnixMicro(made).UTC()
	return a, err
}

// AddAct is invoice.Store.AddAct.
func (s *Payments) AddAct(ctx context.Context, of invoice.Act, f func(*invoice.Act, *invoice.Closing) (bool, error), name func(*invoice.Act) audit.Event) (a invoice.Act, made bool, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		a, made = of, false
		if err := ledgerdb.LockWallet(t, a.Wallet); err != nil {
			return err
		}
		c, err := closing(t, &a)
		if err != nil {
			return err
		}
		if made, err = f(&a, &c); err != nil || !made {
			return err
		}
		if err := t.Row(nextNumber, "act", a.Seller.INN, a.Year).Scan(&a.Seq); err != nil {
			return err
		}
		e := name(&a)
		args := slices.Concat([]any{a.ID, a.Number, a.Year, a.Seq, a.Account, a.Wallet, a.Month}, partyArgs(&a.Buyer, &a.Seller, a.VAT, a.Line),
			[]any{int64(a.Opening), int64(a.ToppedUp), int64(a.Spent), int64(a.Closing), int64(a.Before), int64(a.Amount), int64(a.Tax), int64(a.Total), int64(a.After), a.MadeAt.UnixMicro()})
		if _, err := t.Exec(actAdd, args...); err != nil {
			return err
		}
		return auditdb.Record(t, e, a.MadeAt)
	})
	if s.db.Engine.Duplicate(err) {
		err = fault.Newf(fault.Conflict, "store.AddAct", "The account has an act of %s.", of.Month).Because(err)
	}
	return a, made && err == nil, err
}

func closing(t *sqldb.Tx, a *invoice.Act) (c invoice.Closing, err error) {
	var first, acted sql.NullInt64
	if err = t.Row(`SELECT MIN(created_at) FROM invoices WHERE account = $1`, a.Account).Scan(&first); err != nil || !first.Valid {
		return c, err
	}
	months := invoice.MonthsOf(t.Zones[a.Wallet])
	c.First = months.Of(sqldb.Moment(first))
	var last sql.NullString
	if err = t.Row(`SELECT MAX(month), CAST(SUM(amount) AS BIGINT) FROM invoice_acts WHERE account = $1`, a.Account).Scan(&last, &acted); err != nil {
		return c, err
	}
	c.Last, c.Acted = last.String, money.Nano(acted.Int64)
	for _, x := range []struct {
		to *invoice.Sums
		at time.Time
	}{{&c.Base, months.Start(c.First)}, {&c.Start, months.Start(a.Month)}, {&c.End, months.End(a.Month)}} {
		if *x.to, err = ledgerdb.SumsBefore(t, a.Wallet, x.at); err != nil {
			return c, err
		}
	}
	return c, nil
}

// ActByID is invoice.Store.ActByID.
func (s *Payments) ActByID(ctx context.Context, id string) (a invoice.Act, err error) {
	err = s.db.Find(ctx, func(row sqldb.Scanner) (err error) { a, err = scanAct(row); return err }, actRead+`WHERE id = $1`, id)
	return a, sqldb.NoneOf("store.ActByID", "act", err)
}

// Acts is invoice.Store.Acts.
func (s *Payments) Acts(ctx context.Context, account, month, before string, limit int) ([]invoice.Act, error) {
	var c sqldb.Conditions
	c.Equal("account", account)
	c.Equal("month", month)
	if before != "" {
		last, err := s.ActByID(ctx, before)
		if err != nil {
			return nil, err
		}
		c.Add("month <= ? AND NOT (month = ? AND id >= ?)", last.Month, last.Month, last.ID)
	}
	c.Args = append(c.Args, limit)
	return sqldb.List(ctx, s.db, "store.Acts", scanAct, actRead+c.Where()+` ORDER BY month DESC, id DESC LIMIT $`+itoa(len(c.Args)), c.Args...)
}

// ActsBegin is invoice.Store.ActsBegin.
func (s *Payments) ActsBegin(ctx context.Context, account string) (first, last string, err error) {
	z, err := s.db.ZonesNow(ctx)
	if err != nil {
		return "", "", err
	}
	err = s.db.Find(ctx, func(row sqldb.Scanner) error {
		var at sql.NullInt64
		var wallet, month sql.NullString
		err := row.Scan(&at, &wallet, &month)
		if last = month.String; at.Valid {
			first = invoice.MonthsOf(z[wallet.String]).Of(sqldb.Moment(at))
		}
		return err
	}, `SELECT (SELECT MIN(created_at) FROM invoices WHERE account = $1), (SELECT MIN(wallet) FROM invoices WHERE account = $1), (SELECT MAX(month) FROM invoice_acts WHERE account = $1)`, account)
	if errors.Is(err, sql.ErrNoRows) {
		return "", "", nil
	}
	return first, last, sqldb.Failure("store.ActsBegin", err)
}

// InvoicedAccounts is invoice.Store.InvoicedAccounts.
func (s *Payments) InvoicedAccounts(ctx context.Context, after string, limit int) (accounts, wallets []string, err error) {
	type pair struct{ account, wallet string }
	all, err := sqldb.List(ctx, s.db, "store.InvoicedAccounts", sqldb.Columns(func(p *pair) []any { return []any{&p.account, &p.wallet} }),
		`SELECT account, MIN(wallet) FROM invoices WHERE account > $1 GROUP BY account ORDER BY account LIMIT $2`, after, limit)
	for _, p := range all {
		accounts, wallets = append(accounts, p.account), append(wallets, p.wallet)
	}
	return accounts, wallets, err
}
