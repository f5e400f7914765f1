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
	return c, sumUp(t.Row, t.Zones, &c, a.Wallet, a.Month)
}

// sumUp has the sums of a month added to what an act is made of.
func sumUp(row func(text string, args ...any) sqldb.Scanner, z sqldb.Zones, c *invoice.Closing, wallet, month string) (err error) {
	months := invoice.MonthsOf(z[wallet])
	if c.Start, err = ledgerdb.SumsBefore(row, z, wallet, months.Start(month)); err != nil {
		return err
	}
	if c.Base = c.Start; c.First != month {
		if c.Base, err = ledgerdb.SumsBefore(row, z, wallet, months.Start(c.First)); err != nil {
			return err
		}
	}
	c.End, err = ledgerdb.SumsBefore(row, z, wallet, months.End(month))
	return err
}

// Unacted is invoice.ActStore.Unacted.
func (s *Payments) Unacted(ctx context.Context, month, after string, limit int) (all []invoice.Unacted, err error) {
	err = s.db.Snapshot(ctx, func(ctx context.Context, q *sql.Tx) error {
		z, err := sqldb.ReadZones(q.QueryContext(ctx, sqldb.ZonesAll)) //nolint:rowserrcheck // ReadZones asks for it
		if err != nil {
			return err
		}
		rows, err := q.QueryContext(ctx, unacted, sqldb.Text(after), month, limit)
		all, err = sqldb.Collect(rows, err, func(row sqldb.Scanner) (u invoice.Unacted, err error) {
			var first int64
			var last sql.NullString
			err = row.Scan(&u.Account, &u.Wallet, &first, &last, (*int64)(&u.Acted))
			u.First, u.Last = invoice.MonthsOf(z[u.Wallet]).Of(time.UnixMicro(first)), last.String
			return u, err
		})
		for i := 0; i < len(all) && err == nil; i++ {
			if u := &all[i]; u.First <= month {
				err = sumUp(func(text string, args ...any) sqldb.Scanner { return q.QueryRowContext(ctx, text, args...) }, z, &u.Closing, u.Wallet, month)
			}
		}
		return err
	})
	return all, sqldb.Failure("store.Unacted", err)
}

// One look for each account at its acts: most have one of the month.
const unacted = `SELECT i.account, MIN(i.wallet), MIN(i.created_at), (SELECT MAX(a.month) FROM invoice_acts a WHERE a.account = i.account), (SELECT CAST(COALESCE(SUM(a.amount), 0) AS BIGINT) FROM invoice_acts a WHERE a.account = i.account)
	FROM invoices i WHERE i.account > $1 AND NOT EXISTS (SELECT 1 FROM invoice_acts a WHERE a.account = i.account AND a.month >= $2) GROUP BY i.account ORDER BY i.account LIMIT $3`

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
