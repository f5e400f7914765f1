package adminapi

import (
	"context"
	"strconv"
	"time"

	"weir/internal/accountapi"
	"weir/internal/fault"
	"weir/internal/invoice"
	"weir/internal/money"
	"weir/internal/operation"
)

// BankStatement is a statement of the bank that was imported.
type BankStatement struct {
	ID         string     `json:"id"`
	Name       *string    `json:"name"`  // of the file
	Actor      string     `json:"actor"` // who imported it, as the audit log has it
	ActorName  *string    `json:"actor_name"`
	ImportedAt time.Time  `json:"imported_at"`
	Documents  int64      `json:"documents"` // in the file
	Credited   int64      `json:"credited"`  // of them, by the import
	Already    int64      `json:"already"`   // that had been credited before
	Outgoing   int64      `json:"outgoing"`  // that the seller paid
	Amount     money.Nano `json:"amount"`    // rubles that the import credited
	Waiting    int64      `json:"waiting"`   // documents that need you now
}

// BankLine is a document of a statement that was imported.
type BankLine struct {
	Line          int64         `json:"line"` // of the file
	Number        string        `json:"number"`
	Date          *string       `json:"date" format:"date"`
	Amount        money.Nano    `json:"amount"`
	Payer         *string       `json:"payer"`
	PayerINN      *string       `json:"payer_inn"`
	Purpose       *string       `json:"purpose"`
	Outcome       string        `json:"outcome"`   // of the import
	Note          *string       `json:"note"`      // what was wrong
	NeedsYou      bool          `json:"needs_you"` // now
	MayAssign     bool          `json:"may_assign"`
	Aside         *string       `json:"aside"`   // why it was credited to no invoice
	Invoice       *string       `json:"invoice"` // that it was credited to, then or since
	InvoiceNumber *string       `json:"invoice_number"`
	Choices       []OpenInvoice `json:"choices"` // open invoices of this payer, if it needs you
}

// OpenInvoice is an invoice that a document may be for.
type OpenInvoice struct {
	ID      string     `json:"id"`
	Number  string     `json:"number"`
	Total   money.Nano `json:"total"`
	Missing money.Nano `json:"missing"`
	Buyer   string     `json:"buyer"`
}

// BankStatementWithLines is a statement with what is kept of it.
type BankStatementWithLines struct {
	BankStatement
	Lines []BankLine `json:"lines"` // those that wait first; without what the seller paid
}

type bankID struct {
	ID string `json:"-" path:"id"` // of the statement
}

type assignInput struct {
	ID      string `json:"-" path:"id"`             // of the statement
	Line    string `json:"-" path:"line"`           // of the document
	Invoice string `json:"invoice" maxLength:"100"` // number or id
}

type asideInput struct {
	ID     string `json:"-" path:"id"`   // of the statement
	Line   string `json:"-" path:"line"` // of the document
	Reason string `json:"reason" minLength:"1" maxLength:"300"`
}

// offers are the open invoices of payers, each read once.
type offers struct {
	m    *invoice.Manager
	at   time.Time
	seen map[string][]OpenInvoice
}

// mostPayers is for how many payers of one statement invoices are offered.
const mostPayers = 100

func (o *offers) of(ctx context.Context, needed bool, inn string) ([]OpenInvoice, error) {
	if !needed || inn == "" {
		return []OpenInvoice{}, nil
	}
	if known, ok := o.seen[inn]; ok || len(o.seen) >= mostPayers {
		return append([]OpenInvoice{}, known...), nil
	}
	all, err := o.m.Choices(ctx, inn)
	if err != nil {
		return nil, err
	}
	found := make([]OpenInvoice, len(all))
	for i := range all {
		x := &all[i]
		found[i] = OpenInvoice{ID: x.ID, Number: x.Number, Total: x.Total, Missing: x.Missing(), Buyer: x.Buyer.Name}
	}
	if o.seen == nil {
		o.seen = map[string][]OpenInvoice{}
	}
	o.seen[inn] = found
	return found, nil
}

func bankStatementOf(s *invoice.Statement, names map[string]string) BankStatement {
	return BankStatement{
		ID: s.ID, Name: accountapi.OrNull(s.Name), Actor: s.Actor, ActorName: accountapi.OrNull(names[actorID(s.Actor)]), ImportedAt: s.At, Documents: s.Documents, Credited: s.Credited, Already: s.Already, Outgoing: s.Outgoing, Amount: s.Amount,
		Waiting: s.Waiting,
	}
}

// importer is the id of who imported a statement.
func importer(s *invoice.Statement) string { return actorID(s.Actor) }

func (o invoiceOperations) statements(ctx context.Context, _ *operation.Call, in *accountapi.PageOf) (out accountapi.List[BankStatement], err error) {
	m, err := accountapi.InvoicesOf(o.m)
	if err != nil {
		return out, err
	}
	var names map[string]string
	return accountapi.Paged(ctx, *in, func(ctx context.Context, after string, most int) ([]invoice.Statement, error) {
		all, err := m.Statements(ctx, after, most)
		if err == nil {
			names, err = namesOf(ctx, o.log, all, importer)
		}
		return all, err
	}, func(s *invoice.Statement) (BankStatement, string) {
		return bankStatementOf(s, names), s.ID
	})
}

func (o invoiceOperations) oneStatement(ctx context.Context, c *operation.Call, in *bankID) (out operation.Data[BankStatementWithLines], err error) {
	m, err := accountapi.InvoicesOf(o.m)
	if err != nil {
		return out, err
	}
	c.NoStore()
	s, lines, err := m.Statement(ctx, in.ID)
	if err != nil {
		return out, err
	}
	names, err := namesOf(ctx, o.log, []invoice.Statement{s}, importer)
	if err != nil {
		return out, err
	}
	out.Data = BankStatementWithLines{BankStatement: bankStatementOf(&s, names), Lines: make([]BankLine, len(lines))}
	offer := offers{m: m, at: c.At}
	for i := range lines {
		l := &lines[i]
		row := BankLine{
			Line: l.Line, Number: l.Number, Amount: l.Amount, Payer: accountapi.OrNull(l.PayerName), PayerINN: accountapi.OrNull(l.PayerINN), Purpose: accountapi.OrNull(l.Purpose),
			Outcome: string(l.Outcome), Note: accountapi.OrNull(l.Note), NeedsYou: l.Open(), MayAssign: l.Open() && l.Outcome.MayAssign(), Aside: accountapi.OrNull(l.Aside),
			Invoice: accountapi.OrNull(l.Invoice), InvoiceNumber: accountapi.OrNull(l.InvoiceNumber),
		}
		if !l.Date.IsZero() {
			row.Date = new(l.Date.Format(time.DateOnly))
		}
		if row.Choices, err = offer.of(ctx, row.MayAssign, l.PayerINN); err != nil {
			return out, err
		}
		out.Data.Lines[i] = row
	}
	return out, nil
}

// lineOf reads the line of a document. It fails with fault.NotFound.
func lineOf(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fault.New(fault.NotFound, "adminapi.lineOf", "There is no such document in this statement.").Because(err)
	}
	return n, nil
}

func (o invoiceOperations) assign(ctx context.Context, c *operation.Call, in *assignInput) (out operation.Data[StatementDocument], err error) {
	m, err := accountapi.InvoicesOf(o.m)
	if err != nil {
		return out, err
	}
	c.NoStore()
	line, err := lineOf(in.Line)
	if err != nil {
		return out, err
	}
	done, err := m.AssignLine(ctx, in.ID, line, in.Invoice, c.Actor)
	if err != nil {
		return out, err
	}
	out.Data = statementDocumentOf(&done)
	out.Data.Choices = []OpenInvoice{}
	return out, nil
}

func (o invoiceOperations) aside(ctx context.Context, c *operation.Call, in *asideInput) (none operation.None, err error) {
	m, err := accountapi.InvoicesOf(o.m)
	if err != nil {
		return none, err
	}
	line, err := lineOf(in.Line)
	if err != nil {
		return none, err
	}
	return none, m.SetLineAside(ctx, in.ID, line, in.Reason, c.Actor)
}

func bankOperations(o invoiceOperations) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/statements", ID: "listBankStatements", Access: operation.Operating, Tag: "administration",
			Summary: "Statements of the bank that were imported, the newest first", Answer: "One page",
		}, o.statements),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/statements/{id}", ID: "getBankStatement", Access: operation.Operating, Tag: "administration",
			Summary: "A statement of the bank with its documents", Answer: "The statement",
		}, o.oneStatement),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/statements/{id}/lines/{line}/assign", ID: "assignBankDocument", Access: operation.Administration, Fresh: true, Tag: "administration",
			Summary: "Credit a document of a statement to an invoice that you choose", Answer: "What became of it", Example: `{"invoice": "W-2026-1"}`,
			Description: "Each document is credited once ever. What did not come to the seller's account cannot be assigned.",
		}, o.assign),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/statements/{id}/lines/{line}/aside", ID: "setBankDocumentAside", Access: operation.Administration, Fresh: true, Status: 204, Tag: "administration",
			Summary: "Note that a document of a statement belongs to no invoice", Answer: "It waits no more", Example: `{"reason": "Interest of the bank"}`,
		}, o.aside),
	}
}
