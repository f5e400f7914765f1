package paymentdb

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/invoice"
	"weir/internal/money"
	"weir/internal/rate"
	"weir/internal/store/auditdb"
	"weir/internal/store/ledgerdb"
	"weir/internal/store/sqldb"
)

var acts = sqldb.Map[invoice.Act, struct {
	ID, Number, Account, Wallet, Month, Line              string
	Year, Seq                                             int64
	Buyer                                                 invoice.Buyer  `db:"buyer_"`
	Seller                                                invoice.Seller `db:"seller_"`
	VAT                                                   rate.VAT       `db:"vat_"`
	Opening, ToppedUp, Spent, Closing, Amount, Tax, Total money.Nano
	Before                                                money.Nano `db:"carried_in"`
	After                                                 money.Nano `db:"carried_out"`
	MadeAt                                                time.Time
}]("invoice_acts")

// What moved a wallet before a moment: whole days of calls, the hours of the last day, and postings by their kind.
const ()

func itoa(n int) string { return strconv.Itoa(n) }

// AddAct is invoice.Store.AddAct.
func (s *Payments) AddAct(ctx context.Context, of invoice.Act, f func(*invoice.Act, *invoice.Closing) (bool, error), name func(*invoice.Act) audit.Event) (a invoice.Act, made bool, err error) {
	err = ledgerdb.InWallet(ctx, s.db, of.Wallet, func(t *sqldb.Tx) error {
		a, made = of, false
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
		if err := acts.Insert(t, &a); err != nil {
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
	a, err = acts.Find(ctx, s.db, `WHERE id = $1`, id)
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
	return acts.List(ctx, s.db, "store.Acts", c.Where()+` ORDER BY month DESC, id DESC LIMIT $`+itoa(len(c.Args)), c.Args...)
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
