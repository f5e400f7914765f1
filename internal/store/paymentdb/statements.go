package paymentdb

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/invoice"
	"weir/internal/money"
	"weir/internal/store/auditdb"
	"weir/internal/store/sqldb"
)

var statements = sqldb.Map[invoice.Statement, struct {
	ID, Name, Sum, Actor                            string
	At                                              time.Time
	Documents, Credited, Already, Outgoing, Waiting int64
	Amount                                          money.Nano
}]("bank_statements", sqldb.Computed[invoice.Statement]("waiting", `(SELECT COUNT(*) FROM bank_documents d WHERE d.statement = bank_statements.id AND d.waits AND d.aside = '' AND NOT EXISTS (SELECT 1 FROM invoice_transfers x WHERE x.key = d.key))`))

var statementLines = sqldb.Map[invoice.StatementLine, struct {
	Statement                                  string
	Line                                       int64
	Key, Kind, Number, PayerName, PayerAccount string
	PayerINN                                   string    `db:"payer_inn"`
	Date                                       time.Time `db:",date"`
	Amount                                     money.Nano
	Receiver, Purpose                          string
	Outcome                                    invoice.Outcome
	Note                                       string
	Waits                                      bool
	Aside, Invoice, InvoiceNumber              string
}]("bank_documents", sqldb.Computed[invoice.StatementLine]("invoice", `COALESCE((SELECT x.invoice FROM invoice_transfers x WHERE x.key = bank_documents.key), '')`),
	sqldb.Computed[invoice.StatementLine]("invoice_number", `COALESCE((SELECT i.number FROM invoice_transfers x JOIN invoices i ON i.id = x.invoice WHERE x.key = bank_documents.key), '')`))

// AddStatement is invoice.Store.AddStatement.
func (s *Payments) AddStatement(ctx context.Context, of invoice.Statement, lines []invoice.StatementLine, e audit.Event) (kept invoice.Statement, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		added, err := statements.Put(t, &of, `ON CONFLICT (sum) DO NOTHING`)
		if err != nil {
			return err
		}
		if added == 1 {
			for i := range lines {
				lines[i].Statement = of.ID
				if err := statementLines.Insert(t, &lines[i]); err != nil {
					return err
				}
			}
		}
		if kept, err = statements.Row(t, `WHERE sum = $1`, of.Sum); err != nil {
			return err
		}
		e.Target = kept.ID
		return auditdb.Record(t, e, of.At)
	})
	return kept, err
}

// StatementByID is invoice.Store.StatementByID.
func (s *Payments) StatementByID(ctx context.Context, id string) (x invoice.Statement, err error) {
	x, err = statements.Find(ctx, s.db, `WHERE id = $1`, id)
	return x, sqldb.NoneOf("store.StatementByID", "statement", err)
}

// StatementOf is invoice.Store.StatementOf.
func (s *Payments) StatementOf(ctx context.Context, sum string) (x invoice.Statement, err error) {
	x, err = statements.Find(ctx, s.db, `WHERE sum = $1`, sum)
	return x, sqldb.NoneOf("store.StatementOf", "statement", err)
}

// Statements is invoice.Store.Statements.
func (s *Payments) Statements(ctx context.Context, before string, limit int) ([]invoice.Statement, error) {
	var c sqldb.Conditions
	if before != "" {
		last, err := s.StatementByID(ctx, before)
		if err != nil {
			return nil, err
		}
		at := last.At.UnixMicro()
		c.Add("at <= ? AND NOT (at = ? AND id >= ?)", at, at, last.ID)
	}
	c.Args = append(c.Args, limit)
	return statements.List(ctx, s.db, "store.Statements", c.Where()+` ORDER BY at DESC, id DESC LIMIT $`+itoa(len(c.Args)), c.Args...)
}

// StatementLines is invoice.Store.StatementLines.
func (s *Payments) StatementLines(ctx context.Context, id string, limit int) ([]invoice.StatementLine, error) {
	return statementLines.List(ctx, s.db, "store.StatementLines", `WHERE statement = $1 ORDER BY CASE WHEN waits THEN 0 ELSE 1 END, line LIMIT $2`, id, limit)
}

// StatementLine is invoice.Store.StatementLine.
func (s *Payments) StatementLine(ctx context.Context, id string, line int64) (l invoice.StatementLine, err error) {
	l, err = statementLines.Find(ctx, s.db, `WHERE statement = $1 AND line = $2`, id, line)
	return l, sqldb.NoneOf("store.StatementLine", "document in this statement", err)
}

// SetLineAside is invoice.Store.SetLineAside.
func (s *Payments) SetLineAside(ctx context.Context, id string, line int64, why string, now time.Time, e audit.Event) error {
	return auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) error {
		if err := stillOpen(t, id, line); err != nil {
			return err
		}
		err := t.One(`UPDATE bank_documents SET aside = $3 WHERE statement = $1 AND line = $2 AND waits AND NOT EXISTS (SELECT 1 FROM invoice_transfers x WHERE x.key = bank_documents.key)`, id, line, why)
		return decided(err)
	})
}

// stillOpen locks a line, so that of two who credit it and set it aside the second sees what the first did. It fails with fault.Conflict when
// the line was set aside.
func stillOpen(t *sqldb.Tx, id string, line int64) error {
	return decided(t.One(`UPDATE bank_documents SET aside = '' WHERE statement = $1 AND line = $2 AND aside = ''`, id, line))
}

// decided says in words that a change has met no line that waits.
func decided(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		e := fault.New(fault.Conflict, "store.SetLineAside", "This document does not wait for a decision any more. Look again.").Coded("line_decided")
		e.Param = "line"
		return e
	}
	return err
}
