package paymentdb

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/invoice"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/rate"
	"weir/internal/store/auditdb"
	"weir/internal/store/ledgerdb"
	"weir/internal/store/sqldb"
)

var invoices = sqldb.Map[invoice.Invoice, struct {
	ID, Number, Account, Wallet, Line      string
	Year, Seq                              int64
	State                                  invoice.State
	Buyer                                  invoice.Buyer  `db:"buyer_"`
	Seller                                 invoice.Seller `db:"seller_"`
	VAT                                    rate.VAT       `db:"vat_"`
	Amount, Tax, Total, Received, Credited money.Nano
	CreatedAt, ExpiresAt                   time.Time
	EndedAt                                time.Time `db:",null"`
}]("invoices")

var transfers = sqldb.Map[invoice.Transfer, struct {
	Key, Invoice, Account, Number, Payer, Purpose, Actor string
	Manual                                               bool
	Amount, Credited                                     money.Nano
	Date                                                 time.Time `db:",date"`
	At                                                   time.Time
}]("invoice_transfers")

var buyers = sqldb.Map[invoice.Buyer, struct{ Name, INN, KPP, Address string }]("invoice_buyers")

const (
	// The row stays locked until the transaction ends: the next one waits, and of one that is undone no number is missing.
	nextNumber = `INSERT INTO invoice_numbers (kind, seller, year, last) VALUES ($1, $2, $3, 1) ON CONFLICT (kind, seller, year) DO UPDATE SET last = invoice_numbers.last + 1 RETURNING last`
	// The same document, by its key; or, if an operator entered one of the two, by its day and number.
	transferSame = `WHERE key = $1`
	transferTwin = `WHERE invoice = $1 AND date = $2 AND number = $3 AND amount > 0 AND manual <> $4 ORDER BY at, key LIMIT 1`
)

// BuyerOf is invoice.Store.BuyerOf.
func (s *Payments) BuyerOf(ctx context.Context, account string) (b invoice.Buyer, err error) {
	b, err = buyers.Find(ctx, s.db, `WHERE account = $1`, account)
	return b, sqldb.NoneOf("store.BuyerOf", "buyer", err)
}

// SaveBuyer is invoice.Store.SaveBuyer.
func (s *Payments) SaveBuyer(ctx context.Context, account string, b invoice.Buyer, now time.Time, e audit.Event) error {
	return auditdb.Change(ctx, s.db, now, func(t *sqldb.Tx) (audit.Event, error) {
		if err := t.KnownUser(account); err != nil {
			return e, sqldb.NoUser("store.SaveBuyer", err)
		}
		switch was, err := buyers.LockedRow(t, `WHERE account = $1`, account); {
		case err == nil && was == b:
			return audit.Event{}, nil
		case err != nil && !errors.Is(err, sql.ErrNoRows):
			return e, err
		}
		tail := `ON CONFLICT (account) DO UPDATE SET ` + buyers.Excluded() + `, updated_at = excluded.updated_at`
		_, err := buyers.Put(t, &b, tail, "account", account, "updated_at", now.UnixMicro())
		return e, err
	})
}

// AddInvoice is invoice.Store.AddInvoice.
func (s *Payments) AddInvoice(ctx context.Context, i invoice.Invoice, b invoice.Bounds, name func(*invoice.Invoice) (audit.Event, error)) (done invoice.Invoice, err error) {
	err = ledgerdb.InWallet(ctx, s.db, i.Wallet, func(t *sqldb.Tx) error {
		done = i
		if err := mayInvoice(t, &done, b); err != nil {
			return err
		}
		if err := t.Row(nextNumber, "invoice", done.Seller.INN, done.Year).Scan(&done.Seq); err != nil {
			return err
		}
		e, err := name(&done)
		if err != nil {
			return err
		}
		if err := invoices.Insert(t, &done); err != nil {
			return err
		}
		return auditdb.Record(t, e, done.CreatedAt)
	})
	return done, err
}

// mayInvoice counts from the newest, and no more than it must.
func mayInvoice(t *sqldb.Tx, i *invoice.Invoice, b invoice.Bounds) error {
	const op = "store.AddInvoice"
	var open, today int
	if err := t.Row(`SELECT COUNT(*) FROM (SELECT 1 FROM invoices WHERE account = $1 AND state = 'open' AND expires_at > $2 LIMIT $3) o`, i.Account, i.CreatedAt.UnixMicro(), b.Open).Scan(&open); err != nil {
		return err
	}
	if err := t.Row(`SELECT COUNT(*) FROM (SELECT 1 FROM invoices WHERE account = $1 AND created_at >= $2 LIMIT $3) d`, i.Account, b.Since.UnixMicro(), b.Day).Scan(&today); err != nil {
		return err
	}
	switch {
	case open >= b.Open:
		return fault.Newf(fault.RateLimited, op, "This account has %d invoices that wait to be paid, as many as it may. Pay or cancel one of them.", open)
	case today >= b.Day:
		return fault.Newf(fault.RateLimited, op, "This account has made %d invoices today, as many as it may. Make the next one tomorrow, Moscow time.", today)
	}
	return nil
}

// InvoiceByID is invoice.Store.InvoiceByID.
func (s *Payments) InvoiceByID(ctx context.Context, id string) (i invoice.Invoice, err error) {
	i, err = invoices.Find(ctx, s.db, `WHERE id = $1`, id)
	return i, sqldb.NoneOf("store.InvoiceByID", "invoice", err)
}

// Invoices is invoice.Store.Invoices.
func (s *Payments) Invoices(ctx context.Context, q invoice.Query) ([]invoice.Invoice, error) {
	var c sqldb.Conditions
	c.Equal("account", q.Account)
	c.Equal("state", string(q.State))
	if q.Number != "" {
		c.Add("seller_inn = ? AND number = ?", q.Seller, q.Number)
	}
	c.Equal("buyer_inn", q.INN)
	if q.Name != "" {
		c.Add("id IN (SELECT n.id FROM invoices n WHERE n.id = ? UNION ALL SELECT n.id FROM invoices n WHERE n.number = ? UNION ALL SELECT n.id FROM invoices n WHERE n.buyer_inn = ?)", q.Name, q.Name, q.Name)
	}
	if !q.Overdue.IsZero() {
		c.Add("state = 'open' AND expires_at <= ?", q.Overdue.UnixMicro())
	}
	if q.Before != "" {
		last, err := s.InvoiceByID(ctx, q.Before)
		if err != nil {
			return nil, err
		}
		at := last.CreatedAt.UnixMicro()
		c.Add("created_at <= ? AND NOT (created_at = ? AND id >= ?)", at, at, last.ID)
	}
	c.Args = append(c.Args, q.Limit)
	return invoices.List(ctx, s.db, "store.Invoices", c.Where()+` ORDER BY created_at DESC, id DESC LIMIT $`+itoa(len(c.Args)), c.Args...)
}

// EndInvoice is invoice.Store.EndInvoice.
func (s *Payments) EndInvoice(ctx context.Context, id string, now time.Time, f func(*invoice.Invoice) (audit.Event, error)) (i invoice.Invoice, err error) {
	known, err := s.InvoiceByID(ctx, id)
	if err != nil {
		return known, err
	}
	err = ledgerdb.InWallet(ctx, s.db, known.Wallet, func(t *sqldb.Tx) error {
		if i, err = invoices.Row(t, `WHERE id = $1`, id); err != nil {
			return err
		}
		e, err := f(&i)
		if err != nil || e.Action == "" {
			return err
		}
		if err := changeInvoice(t, &i); err != nil {
			return err
		}
		return auditdb.Record(t, e, now)
	})
	return i, err
}

func changeInvoice(t *sqldb.Tx, i *invoice.Invoice) error {
	return invoices.Update(t, i, "id; state, received, credited, ended_at")
}

// PayInvoice is invoice.Store.PayInvoice. What arrives for the invoices of one wallet waits for its lock.
func (s *Payments) PayInvoice(ctx context.Context, of invoice.Transfer, f func(*invoice.Paying) (*ledger.Posting, audit.Event, error)) (i invoice.Invoice, done invoice.Transfer, err error) {
	known, err := s.InvoiceByID(ctx, of.Invoice)
	if err != nil {
		return known, done, err
	}
	err = ledgerdb.InWallet(ctx, s.db, known.Wallet, func(t *sqldb.Tx) error {
		done = of
		if i, err = invoices.Row(t, `WHERE id = $1`, of.Invoice); err != nil {
			return err
		}
		p := invoice.Paying{Invoice: &i, Transfer: &done}
		switch prior, err := priorTransfer(t.Row, &of); {
		case err == nil:
			p.Prior = &prior
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		post, e, err := f(&p)
		if err != nil {
			return err
		}
		if post == nil {
			done = *p.Prior
			return nil
		}
		if p.Statement != "" {
			if err := stillOpen(t, p.Statement, p.Line); err != nil {
				return err
			}
		}
		if err := changeInvoice(t, &i); err != nil {
			return err
		}
		if err := transfers.Insert(t, &done); err != nil {
			return err
		}
		posted, err := ledgerdb.Post(t, post)
		if err == nil && posted.Repeated {
			err = fault.Newf(fault.Conflict, "store.PayInvoice", "The posting %s was made before.", post.Ref)
		}
		if err != nil {
			return err
		}
		return auditdb.Record(t, e, done.At)
	})
	if s.db.Engine.Duplicate(err) {
		err = fault.New(fault.Conflict, "store.PayInvoice", "This document was credited to another invoice.").Because(err)
	}
	return i, done, err
}

func priorTransfer(row func(string, ...any) sqldb.Scanner, t *invoice.Transfer) (invoice.Transfer, error) {
	prior, err := transfers.Scan(row(transfers.Select+transferSame, t.Key))
	if errors.Is(err, sql.ErrNoRows) && t.Amount >= 0 {
		prior, err = transfers.Scan(row(transfers.Select+transferTwin, t.Invoice, t.Date.Format(time.DateOnly), t.Number, t.Manual))
	}
	return prior, err
}

// PriorTransfer is invoice.Store.PriorTransfer.
func (s *Payments) PriorTransfer(ctx context.Context, t *invoice.Transfer) (prior invoice.Transfer, err error) {
	err = s.db.Snapshot(ctx, func(ctx context.Context, q *sql.Tx) error {
		prior, err = priorTransfer(func(text string, args ...any) sqldb.Scanner {
			return q.QueryRowContext(ctx, text, sqldb.Clean(args)...)
		}, t)
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return prior, sqldb.NoneOf("store.PriorTransfer", "transfer", err)
	}
	return prior, err
}

// InvoiceTransfers is invoice.Store.InvoiceTransfers.
func (s *Payments) InvoiceTransfers(ctx context.Context, id string) ([]invoice.Transfer, error) {
	return transfers.List(ctx, s.db, "store.InvoiceTransfers", `WHERE invoice = $1 ORDER BY at, key LIMIT 1000`, id)
}
