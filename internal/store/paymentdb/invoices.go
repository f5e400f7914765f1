package paymentdb

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/invoice"
	"weir/internal/ledger"
	"weir/internal/rate"
	"weir/internal/store/auditdb"
	"weir/internal/store/ledgerdb"
	"weir/internal/store/sqldb"
)

var (
	partyColumns    = []string{"buyer_name", "buyer_inn", "buyer_kpp", "buyer_address", "seller_name", "seller_inn", "seller_kpp", "seller_address", "seller_bank", "seller_bik", "seller_account", "seller_correspondent", "seller_director", "seller_accountant", "vat_mode", "vat_percent", "line"}
	invoiceColumns  = slices.Concat([]string{"id", "number", "year", "seq", "account", "wallet", "state"}, partyColumns, []string{"amount", "tax", "total", "received", "credited", "created_at", "expires_at", "ended_at"})
	transferColumns = []string{"key", "invoice", "account", "manual", "amount", "credited", "date", "number", "payer", "purpose", "actor", "at"}

	invoiceAdd    = sqldb.InsertRow("invoices", invoiceColumns, "")
	invoiceRead   = `SELECT ` + strings.Join(invoiceColumns, ", ") + ` FROM invoices `
	invoiceChange = `UPDATE invoices SET state = $2, received = $3, credited = $4, ended_at = $5 WHERE id = $1`
	transferAdd   = sqldb.InsertRow("invoice_transfers", transferColumns, "")
	transferRead  = `SELECT ` + strings.Join(transferColumns, ", ") + ` FROM invoice_transfers `
	buyerAdd      = sqldb.InsertRow("invoice_buyers", []string{"account", "name", "inn", "kpp", "address", "updated_at"},
		`ON CONFLICT (account) DO UPDATE SET name = excluded.name, inn = excluded.inn, kpp = excluded.kpp, address = excluded.address, updated_at = excluded.updated_at`)
	// The row stays locked until the transaction ends: the next one waits, and of one that is undone no number is missing.
	nextNumber = `INSERT INTO invoice_numbers (kind, seller, year, last) VALUES ($1, $2, $3, 1) ON CONFLICT (kind, seller, year) DO UPDATE SET last = invoice_numbers.last + 1 RETURNING last`
	// The same document, by its key; or, if an operator entered one of the two, by its day and number.
	transferSame = transferRead + `WHERE key = $1`
	transferTwin = transferRead + `WHERE invoice = $1 AND date = $2 AND number = $3 AND amount > 0 AND manual <> $4 ORDER BY at, key LIMIT 1`
)

func partyArgs(b *invoice.Buyer, s *invoice.Seller, v rate.VAT, line string) []any {
	return []any{b.Name, b.INN, b.KPP, b.Address, s.Name, s.INN, s.KPP, s.Address, s.Bank, s.BIK, s.Account, s.Correspondent, s.Director, s.Accountant, v.Mode, v.Percent, line}
}

func partyInto(b *invoice.Buyer, s *invoice.Seller, v *rate.VAT, line *string) []any {
	return []any{&b.Name, &b.INN, &b.KPP, &b.Address, &s.Name, &s.INN, &s.KPP, &s.Address, &s.Bank, &s.BIK, &s.Account, &s.Correspondent, &s.Director, &s.Accountant, &v.Mode, &v.Percent, line}
}

func scanInvoice(row sqldb.Scanner) (i invoice.Invoice, err error) {
	var created, expires int64
	var ended sql.NullInt64
	into := slices.Concat([]any{&i.ID, &i.Number, &i.Year, &i.Seq, &i.Account, &i.Wallet, &i.State}, partyInto(&i.Buyer, &i.Seller, &i.VAT, &i.Line),
		[]any{(*int64)(&i.Amount), (*int64)(&i.Tax), (*int64)(&i.Total), (*int64)(&i.Received), (*int64)(&i.Credited), &created, &expires, &ended})
	err = row.Scan(into...)
	i.CreatedAt, i.ExpiresAt, i.EndedAt = time.UnixMicro(created).UTC(), time.UnixMicro(expires).UTC(), sqldb.Moment(ended)
	return i, err
}

func scanTransfer(row sqldb.Scanner) (t invoice.Transfer, err error) {
	var date string
	var at int64
	if err = row.Scan(&t.Key, &t.Invoice, &t.Account, &t.Manual, (*int64)(&t.Amount), (*int64)(&t.Credited), &date, &t.Number, &t.Payer, &t.Purpose, &t.Actor, &at); err != nil {
		return t, err
	}
	t.At = time.UnixMicro(at).UTC()
	t.Date, err = time.Parse(time.DateOnly, date)
	return t, err
}

// BuyerOf is invoice.Store.BuyerOf.
func (s *Payments) BuyerOf(ctx context.Context, account string) (b invoice.Buyer, err error) {
	err = s.db.Find(ctx, func(row sqldb.Scanner) error { return row.Scan(&b.Name, &b.INN, &b.KPP, &b.Address) }, `SELECT name, inn, kpp, address FROM invoice_buyers WHERE account = $1`, account)
	return b, sqldb.NoneOf("store.BuyerOf", "buyer", err)
}

// SaveBuyer is invoice.Store.SaveBuyer.
func (s *Payments) SaveBuyer(ctx context.Context, account string, b invoice.Buyer, now time.Time, e audit.Event) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		if _, err := t.Exec(buyerAdd, account, b.Name, b.INN, b.KPP, b.Address, now.UnixMicro()); err != nil {
			return err
		}
		return auditdb.Record(t, e, now)
	})
}

// AddInvoice is invoice.Store.AddInvoice.
func (s *Payments) AddInvoice(ctx context.Context, i invoice.Invoice, b invoice.Bounds, name func(*invoice.Invoice) (audit.Event, error)) (done invoice.Invoice, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		done = i
		if err := ledgerdb.LockWallet(t, i.Wallet); err != nil {
			return err
		}
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
		args := slices.Concat([]any{done.ID, done.Number, done.Year, done.Seq, done.Account, done.Wallet, string(done.State)}, partyArgs(&done.Buyer, &done.Seller, done.VAT, done.Line),
			[]any{int64(done.Amount), int64(done.Tax), int64(done.Total), int64(done.Received), int64(done.Credited), done.CreatedAt.UnixMicro(), done.ExpiresAt.UnixMicro(), sqldb.Micros(done.EndedAt)})
		if _, err := t.Exec(invoiceAdd, args...); err != nil {
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
	err = s.db.Find(ctx, func(row sqldb.Scanner) (err error) { i, err = scanInvoice(row); return err }, invoiceRead+`WHERE id = $1`, id)
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
	if q.Before != "" {
		last, err := s.InvoiceByID(ctx, q.Before)
		if err != nil {
			return nil, err
		}
		at := last.CreatedAt.UnixMicro()
		c.Add("created_at <= ? AND NOT (created_at = ? AND id >= ?)", at, at, last.ID)
	}
	c.Args = append(c.Args, q.Limit)
	return sqldb.List(ctx, s.db, "store.Invoices", scanInvoice, invoiceRead+c.Where()+` ORDER BY created_at DESC, id DESC LIMIT $`+itoa(len(c.Args)), c.Args...)
}

// EndInvoice is invoice.Store.EndInvoice.
func (s *Payments) EndInvoice(ctx context.Context, id string, now time.Time, f func(*invoice.Invoice) (audit.Event, error)) (i invoice.Invoice, err error) {
	known, err := s.InvoiceByID(ctx, id)
	if err != nil {
		return known, err
	}
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		if err := ledgerdb.LockWallet(t, known.Wallet); err != nil {
			return err
		}
		if i, err = scanInvoice(t.Row(invoiceRead+`WHERE id = $1`, id)); err != nil {
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
	return t.One(invoiceChange, i.ID, string(i.State), int64(i.Received), int64(i.Credited), sqldb.Micros(i.EndedAt))
}

// PayInvoice is invoice.Store.PayInvoice. What arrives for the invoices of one wallet waits for its lock.
func (s *Payments) PayInvoice(ctx context.Context, of invoice.Transfer, f func(*invoice.Paying) (*ledger.Posting, audit.Event, error)) (i invoice.Invoice, done invoice.Transfer, err error) {
	known, err := s.InvoiceByID(ctx, of.Invoice)
	if err != nil {
		return known, done, err
	}
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		done = of
		if err := ledgerdb.LockWallet(t, known.Wallet); err != nil {
			return err
		}
		if i, err = scanInvoice(t.Row(invoiceRead+`WHERE id = $1`, of.Invoice)); err != nil {
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
		if err := changeInvoice(t, &i); err != nil {
			return err
		}
		if _, err := t.Exec(transferAdd, done.Key, done.Invoice, done.Account, done.Manual, int64(done.Amount), int64(done.Credited), done.Date.Format(time.DateOnly), done.Number, done.Payer, done.Purpose, done.Actor, done.At.UnixMicro()); err != nil {
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
	prior, err := scanTransfer(row(transferSame, t.Key))
	if errors.Is(err, sql.ErrNoRows) && t.Amount >= 0 {
		prior, err = scanTransfer(row(transferTwin, t.Invoice, t.Date.Format(time.DateOnly), t.Number, t.Manual))
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
	return sqldb.List(ctx, s.db, "store.InvoiceTransfers", scanTransfer, transferRead+`WHERE invoice = $1 ORDER BY at, key LIMIT 1000`, id)
}
