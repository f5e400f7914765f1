package invoice

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/money"
)

// Statement is a file of a bank that was imported. The same file is kept once, as it was imported first.
type Statement struct {
	ID                                     string // "bst_..."
	Name                                   string // of the file; "" not known
	Sum                                    string // SHA-256 of the file, in hex
	Actor                                  string
	At                                     time.Time
	Documents, Credited, Already, Outgoing int64
	Amount                                 money.Nano // that was credited by the import
	Waiting                                int64      // documents for which a person has to decide, now
}

// StatementLine is a document of a statement that was kept. What the seller paid is not kept.
type StatementLine struct {
	Statement                         string
	Line                              int64
	Key, Kind, Number                 string
	Date                              time.Time
	Amount                            money.Nano
	PayerName, PayerINN, PayerAccount string
	Receiver, Purpose                 string
	Outcome                           Outcome // of the import
	Note                              string
	Waits                             bool   // a person has to decide, unless Invoice or Aside is set
	Aside                             string // why it was credited to no invoice; "": it was not decided
	Invoice, InvoiceNumber            string // that the document was credited to, then or since; "": none
}

// Open reports whether a person has to decide.
func (l *StatementLine) Open() bool { return l.Waits && l.Aside == "" && l.Invoice == "" }

func (l *StatementLine) document() Document {
	return Document{
		Kind: l.Kind, Number: l.Number, Date: l.Date, Amount: l.Amount, PayerName: l.PayerName, PayerINN: l.PayerINN, PayerAccount: l.PayerAccount, Receiver: l.Receiver, Purpose: l.Purpose,
		Line: int(l.Line),
	}
}

// StatementStore keeps statements.
type StatementStore interface {
	// AddStatement keeps a statement with its lines, unless the same file is kept already, and returns what is kept. The event is recorded in
	// any case; its target is the id.
	AddStatement(ctx context.Context, s Statement, lines []StatementLine, e audit.Event) (Statement, error)
	// StatementByID and StatementOf, which finds one by its sum, fail with fault.NotFound.
	StatementByID(ctx context.Context, id string) (Statement, error)
	StatementOf(ctx context.Context, sum string) (Statement, error)
	// Statements lists them, the newest first. It fails with fault.NotFound when there is no before.
	Statements(ctx context.Context, before string, limit int) ([]Statement, error)
	// StatementLines lists the lines of one in the order of the file, those for which a person has to decide first.
	StatementLines(ctx context.Context, id string, limit int) ([]StatementLine, error)
	// StatementLine fails with fault.NotFound.
	StatementLine(ctx context.Context, id string, line int64) (StatementLine, error)
	// SetLineAside fails with fault.Conflict when somebody has decided already.
	SetLineAside(ctx context.Context, id string, line int64, why string, now time.Time, e audit.Event) error
}

// ImportOrder is how a statement is imported.
type ImportOrder struct {
	Name   string         // of the file; may be ""
	Dry    bool           // nothing is changed
	Assign map[int]string // by lines of documents: the number or id of the invoice that a person has chosen
	Actor  audit.Actor
}

// keep keeps a statement as it was imported.
func (m *Manager) keep(ctx context.Context, file []byte, r *Report, o *ImportOrder) error {
	s := Statement{
		ID: apikey.NewID("bst_"), Name: clip(tidy(o.Name), 200), Sum: sumOf(file), Actor: o.Actor.Name, At: m.now(), Documents: int64(len(r.Matches)), Credited: int64(r.Counts[Credited]),
		Already: int64(r.Counts[Already]), Outgoing: int64(r.Counts[Outgoing]), Amount: r.Credited,
	}
	lines := make([]StatementLine, 0, len(r.Matches))
	waiting := 0
	for i := range r.Matches {
		x := &r.Matches[i]
		d := &x.Document
		if x.Outcome == Outgoing {
			continue
		}
		if x.Outcome.NeedsYou() {
			waiting++
		}
		lines = append(lines, StatementLine{
			Line: int64(d.Line), Key: d.key(), Kind: d.Kind, Number: d.Number, Date: d.Date, Amount: d.Amount, PayerName: d.PayerName, PayerINN: d.PayerINN, PayerAccount: d.PayerAccount,
			Receiver: d.Receiver, Purpose: d.Purpose, Outcome: x.Outcome, Note: x.Note, Waits: x.Outcome.NeedsYou(),
		})
	}
	after := fmt.Sprintf("%s: %d documents, %d credited with %s rubles, %d before, %d outgoing, %d wait", orNone(s.Name), s.Documents, s.Credited, s.Amount, s.Already, s.Outgoing, waiting)
	kept, err := m.store.AddStatement(ctx, s, lines, audit.Event{Actor: o.Actor, Action: audit.StatementImported, After: after})
	if err != nil {
		return err
	}
	if r.Statement = kept.ID; kept.ID != s.ID {
		r.Earlier = &kept
	}
	return nil
}

func sumOf(file []byte) string {
	sum := sha256.Sum256(file)
	return hex.EncodeToString(sum[:])
}

// earlier finds the same file among those that are kept; nil: it was not imported.
func (m *Manager) earlier(ctx context.Context, file []byte) (*Statement, error) {
	s, err := m.store.StatementOf(ctx, sumOf(file))
	if fault.Is(err, fault.NotFound) {
		return nil, nil //nolint:nilnil // nil says so
	}
	return &s, err
}

// Statements lists statements; see StatementStore.
func (m *Manager) Statements(ctx context.Context, before string, limit int) ([]Statement, error) {
	return m.store.Statements(ctx, before, limit)
}

// Statement finds a statement and its lines. It fails with fault.NotFound.
func (m *Manager) Statement(ctx context.Context, id string) (s Statement, lines []StatementLine, err error) {
	if s, err = m.store.StatementByID(ctx, id); err != nil {
		return s, nil, err
	}
	lines, err = m.store.StatementLines(ctx, id, MostDocuments)
	return s, lines, err
}

// mostChoices is how many invoices are offered for one document.
const mostChoices = 10

// Choices are the open invoices of a payer, the newest first.
func (m *Manager) Choices(ctx context.Context, inn string) ([]Invoice, error) {
	if inn == "" {
		return nil, nil
	}
	return m.store.Invoices(ctx, Query{INN: inn, State: Open, Limit: mostChoices})
}

// AssignLine credits a document of a statement to the invoice that a person has chosen. Repeated, it changes nothing. It fails with
// fault.NotFound, and with fault.Conflict when the document was credited to another invoice, does not wait, or the invoice was cancelled.
func (m *Manager) AssignLine(ctx context.Context, id string, line int64, name string, by audit.Actor) (Match, error) {
	const op = "invoice.AssignLine"
	l, err := m.store.StatementLine(ctx, id, line)
	if err != nil {
		return Match{}, err
	}
	i, err := m.Named(ctx, name)
	if fault.Is(err, fault.NotFound) {
		return Match{}, noInvoice(op, "invoice", name)
	}
	if err != nil {
		return Match{}, err
	}
	one := Match{Document: l.document(), Number: i.Number, Invoice: i.ID}
	switch {
	case l.Invoice != "" && l.Invoice != i.ID:
		e := fault.Newf(fault.Conflict, op, "This document was credited to %s.", l.InvoiceNumber).Coded("line_credited", "number", l.InvoiceNumber)
		e.Param = "line"
		return one, e
	case l.Invoice == "" && !l.Open() || !l.Outcome.MayAssign():
		e := fault.New(fault.Conflict, op, "This document does not wait for a decision any more. Look again.").Coded("line_decided")
		e.Param = "line"
		return one, e
	}
	after, t, before, err := m.pay(ctx, m.transferOf(&one.Document, &i, by), &l, by, fmt.Sprintf("; chosen by hand for line %d of %s", line, id))
	if err != nil {
		return one, err
	}
	return one, one.settle(&after, &t, before, nil)
}

// MayAssign reports whether a person may credit a document that could not be matched. What did not come to the seller may not.
func (o Outcome) MayAssign() bool {
	switch o {
	case NoNumber, Ambiguous, UnknownNumber, PayerDiffers, NotArrived, WasCancelled, Refused:
		return true
	case Credited, Already, Outgoing, OtherAccount, Unreadable:
	}
	return false
}

func noInvoice(op, param, name string) error {
	return fault.Field(op, param, "There is no invoice %s.", name).Coded("no_such_invoice", "number", name)
}

// SetLineAside notes that a document belongs to no invoice, so that it waits no more. Money is not moved. It fails with fault.Invalid,
// fault.NotFound, and with fault.Conflict when it was decided before.
func (m *Manager) SetLineAside(ctx context.Context, id string, line int64, why string, by audit.Actor) error {
	const op = "invoice.SetLineAside"
	why = tidy(why)
	if why == "" {
		return fault.Field(op, "reason", "reason is missing: say what the document is.").Coded("aside_reason")
	}
	if err := checkText(op, "reason", why, MostName, "a reason"); err != nil {
		return err
	}
	l, err := m.store.StatementLine(ctx, id, line)
	if err != nil {
		return err
	}
	e := audit.Event{Actor: by, Action: audit.StatementLineAside, Target: id, Before: fmt.Sprintf("line %d, document %s of %s, %s rubles: %s", line, l.Number, day(l.Date), l.Amount, l.Outcome), After: why}
	return m.store.SetLineAside(ctx, id, line, why, m.now(), e)
}
