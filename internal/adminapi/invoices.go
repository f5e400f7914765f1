package adminapi

import (
	"context"
	"encoding/base64"
	"strings"
	"time"

	"weir/internal/accountapi"
	"weir/internal/fault"
	"weir/internal/invoice"
	"weir/internal/money"
	"weir/internal/operation"
)

// AnyInvoice is an invoice as operators see it.
type AnyInvoice struct {
	accountapi.Invoice
	User string `json:"user"`
}

// AnyTransfer is a transfer as operators see it.
type AnyTransfer struct {
	accountapi.InvoiceTransfer
	Payer    *string `json:"payer"`    // name and INN
	Imported bool    `json:"imported"` // from a statement of the bank
	Actor    string  `json:"actor"`
}

// AnyInvoiceWithTransfers is an invoice with what arrived for it.
type AnyInvoiceWithTransfers struct {
	AnyInvoice
	Transfers []AnyTransfer `json:"transfers"`
}

// InvoiceMoved is an invoice after money has arrived for it, or was paid back.
type InvoiceMoved struct {
	AnyInvoice
	Transfer AnyTransfer `json:"transfer"`
	Repeated bool        `json:"repeated"` // the document was noted before, and nothing was changed
}

// AnyAct is an act as operators see it.
type AnyAct struct {
	accountapi.Act
	User string `json:"user"`
}

func invoiceOf(i *invoice.Invoice, at time.Time) AnyInvoice {
	return AnyInvoice{Invoice: accountapi.InvoiceOf(i, at), User: i.Account}
}

func transferOf(t *invoice.Transfer) AnyTransfer {
	return AnyTransfer{InvoiceTransfer: accountapi.TransferOf(t), Payer: accountapi.OrNull(t.Payer), Imported: !t.Manual, Actor: t.Actor}
}

func actOf(a *invoice.Act) AnyAct { return AnyAct{Act: accountapi.ActOf(a), User: a.Account} }

type listInvoices struct {
	accountapi.PageOf
	User   string `json:"-" query:"user"` // only those of this user
	State  string `json:"-" query:"state" enum:"open,paid,cancelled"`
	Number string `json:"-" query:"number"` // only the one with this number
}

type listActs struct {
	accountapi.PageOf
	User  string `json:"-" query:"user"`  // only those of this user
	Month string `json:"-" query:"month"` // only those of this month, such as 2026-10
}

type invoiceID struct {
	ID string `json:"-" path:"id"` // of the invoice
}

type actID struct {
	ID string `json:"-" path:"id"` // of the act
}

// BankDocument is what an operator notes of a document of the bank.
type BankDocument struct {
	ID        string      `json:"-" path:"id"`                                    // of the invoice
	Amount    *money.Nano `json:"amount,omitempty" null:"none"`                   // rubles, in whole kopecks
	Reference string      `json:"reference,omitempty" null:"none" maxLength:"40"` // number of the document of the bank
	Date      string      `json:"date,omitempty" null:"none" format:"date"`       // day of the document
}

// read is the amount, 0 where it was left out, and the day.
func (d *BankDocument) read() (amount money.Nano, date time.Time, err error) {
	const op = "adminapi.document"
	if d.Amount != nil {
		if amount = *d.Amount; amount <= 0 {
			return 0, date, fault.Field(op, "amount", "amount must be above zero.").Coded("above_zero")
		}
	}
	date, err = time.Parse(time.DateOnly, d.Date)
	if err != nil {
		return 0, date, fault.Field(op, "date", "date must be the day of the bank's document, such as 2026-11-25.").Coded("document_date")
	}
	return amount, date, nil
}

type paidInput struct {
	BankDocument
	Note string `json:"note,omitempty" null:"none" maxLength:"300"` // the account can read it
}

type paidBackInput struct {
	BankDocument
	Reason    string `json:"reason,omitempty" null:"none" maxLength:"300"` // the account can read it
	BelowZero bool   `json:"below_zero,omitempty" null:"none"`             // take more than is available
}

type statementInput struct {
	Statement *string `json:"statement,omitempty"` // the file in base64
	DryRun    bool    `json:"dry_run,omitempty"`   // only say what would be credited
}

// StatementReport is what became of a statement of the bank.
type StatementReport struct {
	DryRun    bool                `json:"dry_run"`
	Credited  money.Nano          `json:"credited"` // rubles; in a dry run, that would be credited
	Counts    map[string]int      `json:"counts"`   // documents by outcome
	Documents []StatementDocument `json:"documents"`
}

// StatementDocument is a document of a statement, and what became of it.
type StatementDocument struct {
	Outcome       string     `json:"outcome"`
	NeedsYou      bool       `json:"needs_you"` // somebody has to decide
	Note          *string    `json:"note"`
	Line          int        `json:"line"` // of the file
	Number        *string    `json:"number"`
	Date          *string    `json:"date" format:"date"`
	Amount        money.Nano `json:"amount"`
	Payer         *string    `json:"payer"`
	PayerINN      *string    `json:"payer_inn"`
	Purpose       *string    `json:"purpose"`
	Invoice       *string    `json:"invoice"`
	InvoiceNumber *string    `json:"invoice_number"`
	Credited      money.Nano `json:"credited"`
	Missing       money.Nano `json:"missing"`
}

func statementDocumentOf(m *invoice.Match) StatementDocument {
	d := &m.Document
	s := StatementDocument{
		Outcome: string(m.Outcome), NeedsYou: m.Outcome.NeedsYou(), Note: accountapi.OrNull(m.Note), Line: d.Line, Number: accountapi.OrNull(d.Number), Amount: d.Amount,
		Payer: accountapi.OrNull(d.PayerName), PayerINN: accountapi.OrNull(d.PayerINN), Purpose: accountapi.OrNull(d.Purpose), Invoice: accountapi.OrNull(m.Invoice),
		InvoiceNumber: accountapi.OrNull(m.Number), Credited: m.Credited, Missing: m.Missing,
	}
	if !d.Date.IsZero() {
		s.Date = new(d.Date.Format(time.DateOnly))
	}
	return s
}

type invoiceOperations struct{ m *invoice.Manager }

func (o invoiceOperations) list(ctx context.Context, c *operation.Call, in *listInvoices) (out accountapi.List[AnyInvoice], err error) {
	m, err := accountapi.InvoicesOf(o.m)
	if err != nil {
		return out, err
	}
	state := invoice.State(in.State)
	switch state {
	case "", invoice.Open, invoice.Paid, invoice.Cancelled:
	default:
		return out, fault.Field("adminapi.listInvoices", "state", "state must be open, paid or cancelled.").Coded("invoice_state")
	}
	return accountapi.Paged(ctx, in.PageOf, func(ctx context.Context, after string, most int) ([]invoice.Invoice, error) {
		return m.Invoices(ctx, invoice.Query{Account: in.User, State: state, Number: in.Number, Seller: m.Config().Seller.INN, Before: after, Limit: most})
	}, func(i *invoice.Invoice) (AnyInvoice, string) { return invoiceOf(i, c.At), i.ID })
}

func (o invoiceOperations) get(ctx context.Context, c *operation.Call, in *invoiceID) (out operation.Data[AnyInvoiceWithTransfers], err error) {
	i, all, err := accountapi.WithTransfers(ctx, o.m, in.ID, "")
	if err != nil {
		return out, err
	}
	c.NoStore()
	out.Data = AnyInvoiceWithTransfers{AnyInvoice: invoiceOf(&i, c.At), Transfers: make([]AnyTransfer, len(all))}
	for k := range all {
		out.Data.Transfers[k] = transferOf(&all[k])
	}
	return out, nil
}

func (o invoiceOperations) cancel(ctx context.Context, c *operation.Call, in *invoiceID) (out operation.Data[AnyInvoice], err error) {
	m, err := accountapi.InvoicesOf(o.m)
	if err != nil {
		return out, err
	}
	c.NoStore()
	i, err := m.Cancel(ctx, in.ID, "", c.Actor)
	out.Data = invoiceOf(&i, c.At)
	return out, err
}

func (o invoiceOperations) paid(ctx context.Context, c *operation.Call, in *paidInput) (out operation.Data[InvoiceMoved], err error) {
	amount, date, err := in.read()
	if err != nil {
		return out, err
	}
	m, err := accountapi.InvoicesOf(o.m)
	if err != nil {
		return out, err
	}
	i, t, repeated, err := m.MarkPaid(ctx, in.ID, invoice.Payment{Amount: amount, Reference: in.Reference, Date: date, Note: in.Note, Actor: c.Actor})
	return moved(c, &i, &t, repeated), err
}

func (o invoiceOperations) paidBack(ctx context.Context, c *operation.Call, in *paidBackInput) (out operation.Data[InvoiceMoved], err error) {
	amount, date, err := in.read()
	if err != nil {
		return out, err
	}
	m, err := accountapi.InvoicesOf(o.m)
	if err != nil {
		return out, err
	}
	i, t, repeated, err := m.PayBack(ctx, in.ID, invoice.BackOrder{Amount: amount, Reference: in.Reference, Date: date, Reason: in.Reason, BelowZero: in.BelowZero, Actor: c.Actor})
	return moved(c, &i, &t, repeated), err
}

func moved(c *operation.Call, i *invoice.Invoice, t *invoice.Transfer, repeated bool) operation.Data[InvoiceMoved] {
	return operation.Data[InvoiceMoved]{Data: InvoiceMoved{AnyInvoice: invoiceOf(i, c.At), Transfer: transferOf(t), Repeated: repeated}}
}

func (o invoiceOperations) statement(ctx context.Context, c *operation.Call, in *statementInput) (out operation.Data[StatementReport], err error) {
	const op = "adminapi.importStatement"
	m, err := accountapi.InvoicesOf(o.m)
	if err != nil {
		return out, err
	}
	if in.Statement == nil {
		return out, fault.Field(op, "statement", "statement is missing: give the bank's file in base64.").Coded("statement_missing")
	}
	file, err := base64.StdEncoding.DecodeString(strings.NewReplacer("\n", "", "\r", "", " ", "").Replace(*in.Statement))
	if err != nil {
		return out, fault.Field(op, "statement", "statement must be the file in base64: base64 -w0 kl_to_1c.txt").Coded("statement_base64")
	}
	r, err := m.Import(ctx, file, in.DryRun, c.Actor)
	if err != nil {
		if e := fault.From(err); e.Kind == fault.Invalid && e.Param == "" {
			here := *e
			here.Param = "statement"
			return out, &here
		}
		return out, err
	}
	out.Data = StatementReport{DryRun: r.Dry, Credited: r.Credited, Counts: map[string]int{}, Documents: make([]StatementDocument, len(r.Matches))}
	for k, n := range r.Counts {
		out.Data.Counts[string(k)] = n
	}
	for i := range r.Matches {
		out.Data.Documents[i] = statementDocumentOf(&r.Matches[i])
	}
	return out, nil
}

func (o invoiceOperations) acts(ctx context.Context, _ *operation.Call, in *listActs) (out accountapi.List[AnyAct], err error) {
	m, err := accountapi.InvoicesOf(o.m)
	if err != nil {
		return out, err
	}
	return accountapi.Paged(ctx, in.PageOf, func(ctx context.Context, after string, most int) ([]invoice.Act, error) {
		return m.Acts(ctx, in.User, in.Month, after, most)
	}, func(a *invoice.Act) (AnyAct, string) { return actOf(a), a.ID })
}

func (o invoiceOperations) makeActs(ctx context.Context, c *operation.Call, in *accountapi.ActsInput) (out operation.Data[[]AnyAct], err error) {
	m, err := accountapi.InvoicesOf(o.m)
	if err != nil {
		return out, err
	}
	out.Data = []AnyAct{}
	var failed error
	err = m.MakeAllActs(ctx, in.Month, c.Actor, func(_ string, made []invoice.Act, err error) {
		for i := range made {
			out.Data = append(out.Data, actOf(&made[i]))
		}
		if err != nil && failed == nil {
			failed = err
		}
	})
	if err == nil {
		err = failed
	}
	return out, err
}

// statementBody is the size of a request with a statement, in base64.
const statementBody = invoice.MostStatement*4/3 + 64<<10

func invoices(m *invoice.Manager) []operation.Operation {
	o := invoiceOperations{m}
	return append(actOperations(o),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/invoices", ID: "listAllInvoices", Access: operation.Operating, Tag: "administration",
			Summary: "Invoices of all accounts, the newest first", Answer: "One page",
		}, o.list),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/invoices/import", ID: "importStatement", Access: operation.Administration, Fresh: true, Body: statementBody, Tag: "administration",
			Summary: "Credit the transfers of a statement of the bank", Answer: "What became of each document",
			Example:     `{"statement": "MUNDbGllbnRCYW5rRXhjaGFuZ2UK0JrQvtC90LXRhtCk0LDQudC70LAK", "dry_run": true}`,
			Description: "The statement is in the 1C exchange format, in UTF-8, windows-1251 or code page 866, and has at most 16 MiB and 20,000 documents. A transfer is credited if it arrived on the seller's account, its purpose names one invoice, and the INN of the payer is that of the buyer. Each document is credited once ever, so a statement may be imported again.",
		}, o.statement),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/invoices/{id}", ID: "getAnyInvoice", Access: operation.Operating, Tag: "administration",
			Summary: "An invoice of any account with what arrived for it", Answer: "The invoice",
		}, o.get),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/admin/invoices/{id}", ID: "cancelAnyInvoice", Access: operation.Administration, Fresh: true, Tag: "administration",
			Summary: "Cancel an unpaid invoice of any account", Answer: "The invoice",
		}, o.cancel),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/invoices/{id}/paid", ID: "markInvoicePaid", Access: operation.Administration, Fresh: true, Tag: "administration",
			Summary: "Credit a transfer that arrived for an invoice", Answer: "The invoice", Example: `{"reference": "4711", "date": "2026-01-31"}`,
			Description: "What arrived is credited, also in part or more than the total; `missing` says the difference. Without an amount it is what is missing. The same document, marked or imported before, is credited once, and then `repeated` is true.",
		}, o.paid),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/invoices/{id}/refund", ID: "refundInvoice", Access: operation.Administration, Fresh: true, Tag: "administration",
			Summary: "Take from the wallet what was paid back to the buyer", Answer: "The invoice", Description: "All of it is never more than arrived. The same document debits once.",
			Example: `{"amount": "500", "reference": "4712", "date": "2026-01-31", "reason": "asked for by letter"}`,
		}, o.paidBack),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/invoices/{id}/pdf", ID: "getAnyInvoiceDocument", Access: operation.Operating, Tag: "administration", Media: "application/pdf",
			Summary: "An invoice of any account as a document", Answer: "PDF, A4",
		}, func(ctx context.Context, _ *operation.Call, in *invoiceID) (operation.File, error) {
			return accountapi.InvoiceDocument(ctx, m, in.ID, "")
		}))
}

func actOperations(o invoiceOperations) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/acts", ID: "listAllActs", Access: operation.Operating, Tag: "administration",
			Summary: "Acts of all accounts, the newest month first", Answer: "One page",
		}, o.acts),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/acts", ID: "createAllActs", Access: operation.Administration, Fresh: true, Status: 201, Tag: "administration",
			Summary: "Make the acts of all accounts up to a month", Answer: "The acts that were made", Example: `{"month": "2026-01"}`,
		}, o.makeActs),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/acts/{id}/pdf", ID: "getAnyActDocument", Access: operation.Operating, Tag: "administration", Media: "application/pdf",
			Summary: "An act of any account as a document", Answer: "PDF, A4",
		}, func(ctx context.Context, _ *operation.Call, in *actID) (operation.File, error) {
			return accountapi.ActDocument(ctx, o.m, in.ID, "")
		}),
	}
}
