package adminapi

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"
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
	User     string  `json:"user"`
	UserName *string `json:"user_name"`
}

// AnyTransfer is a transfer as operators see it.
type AnyTransfer struct {
	accountapi.InvoiceTransfer
	Payer     *string `json:"payer"`    // name and INN
	Imported  bool    `json:"imported"` // from a statement of the bank
	Actor     string  `json:"actor"`
	ActorName *string `json:"actor_name"` // of that user, or of the owner of that key
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
	User     string           `json:"user"`
	UserName *string          `json:"user_name"`
	Buyer    accountapi.Buyer `json:"buyer"`
}

// MissingAct is an account with something to act, and no act of a month.
type MissingAct struct {
	User     string           `json:"user"`
	UserName *string          `json:"user_name"`
	Buyer    accountapi.Buyer `json:"buyer"`
	Amount   money.Nano       `json:"amount"` // rubles of the wallet that its acts up to the month will cover
	Total    money.Nano       `json:"total"`  // with VAT, where it is on top
}

// MissingActs are the accounts without an act.
type MissingActs struct {
	Month string       `json:"month"`
	Last  string       `json:"last"` // the last month whose acts can be made
	Data  []MissingAct `json:"data"`
	Next  *string      `json:"next"` // cursor of the next page, which may be empty; null: it was the last one
}

func invoiceOf(i *invoice.Invoice, at time.Time) AnyInvoice {
	return AnyInvoice{Invoice: accountapi.InvoiceOf(i, at), User: i.Account}
}

func transferOf(t *invoice.Transfer) AnyTransfer {
	return AnyTransfer{InvoiceTransfer: accountapi.TransferOf(t), Payer: accountapi.OrNull(t.Payer), Imported: !t.Manual, Actor: t.Actor}
}

func actOf(a *invoice.Act) AnyAct {
	return AnyAct{Act: accountapi.ActOf(a), User: a.Account, Buyer: accountapi.BuyerOf(&a.Buyer)}
}

type listInvoices struct {
	accountapi.PageOf
	User   string `json:"-" query:"user"`                                     // only those of this user
	State  string `json:"-" query:"state" enum:"open,overdue,paid,cancelled"` // overdue are open ones whose time is over
	Number string `json:"-" query:"number"`                                   // only the one with this number
	Search string `json:"-" query:"q" maxLength:"200"`                        // the whole id or number of an invoice, or the INN of its buyer
}

type listActs struct {
	accountapi.PageOf
	User  string `json:"-" query:"user"`  // only those of this user
	Month string `json:"-" query:"month"` // only those of this month, such as 2026-10
}

type missingInput struct {
	Month  string `json:"-" query:"month" maxLength:"7"`    // such as 2026-10; the last one that can be made without it
	Cursor string `json:"-" query:"cursor" maxLength:"200"` // next of the page before
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
	Statement *string           `json:"statement,omitempty"`                        // the file in base64
	DryRun    bool              `json:"dry_run,omitempty"`                          // only say what would be credited
	Name      string            `json:"name,omitempty" null:"none" maxLength:"200"` // of the file, for the list of statements
	Assign    []StatementChoice `json:"assign,omitempty" null:"none"`               // invoices that you choose for documents that name none
}

// StatementChoice is the invoice that an operator has chosen for a document.
type StatementChoice struct {
	Line    int    `json:"line"`                    // of the document
	Invoice string `json:"invoice" maxLength:"100"` // number or id
}

// StatementReport is what became of a statement of the bank.
type StatementReport struct {
	DryRun    bool                `json:"dry_run"`
	Credited  money.Nano          `json:"credited"`  // rubles; in a dry run, that would be credited
	Statement *string             `json:"statement"` // id of what is kept; null in a dry run
	Earlier   *BankStatement      `json:"earlier"`   // the same file, if it was imported before
	Counts    map[string]int      `json:"counts"`    // documents by outcome
	Documents []StatementDocument `json:"documents"`
}

// StatementDocument is a document of a statement, and what became of it.
type StatementDocument struct {
	Outcome       string        `json:"outcome"`
	NeedsYou      bool          `json:"needs_you"` // somebody has to decide
	Note          *string       `json:"note"`
	Line          int           `json:"line"` // of the file
	Number        *string       `json:"number"`
	Date          *string       `json:"date" format:"date"`
	Amount        money.Nano    `json:"amount"`
	Payer         *string       `json:"payer"`
	PayerINN      *string       `json:"payer_inn"`
	Purpose       *string       `json:"purpose"`
	Invoice       *string       `json:"invoice"`
	InvoiceNumber *string       `json:"invoice_number"`
	Credited      money.Nano    `json:"credited"`
	Missing       money.Nano    `json:"missing"`
	MayAssign     bool          `json:"may_assign"` // you may choose an invoice for it
	Choices       []OpenInvoice `json:"choices"`    // open invoices of this payer, for a document that needs you
}

func statementDocumentOf(m *invoice.Match) StatementDocument {
	d := &m.Document
	s := StatementDocument{
		Outcome: string(m.Outcome), NeedsYou: m.Outcome.NeedsYou(), Note: accountapi.OrNull(m.Note), Line: d.Line, Number: accountapi.OrNull(d.Number), Amount: d.Amount,
		Payer: accountapi.OrNull(d.PayerName), PayerINN: accountapi.OrNull(d.PayerINN), Purpose: accountapi.OrNull(d.Purpose), Invoice: accountapi.OrNull(m.Invoice),
		InvoiceNumber: accountapi.OrNull(m.Number), Credited: m.Credited, Missing: m.Missing, MayAssign: m.Outcome.MayAssign(),
	}
	if !d.Date.IsZero() {
		s.Date = new(d.Date.Format(time.DateOnly))
	}
	return s
}

type invoiceOperations struct {
	m   *invoice.Manager
	log AuditLog
}

// namesOf are those of the users of rows.
func namesOf[R any](ctx context.Context, log AuditLog, rows []R, user func(*R) string) (map[string]string, error) {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = user(&rows[i])
	}
	slices.Sort(ids)
	return log.NamesOf(ctx, slices.Compact(ids))
}

func (o invoiceOperations) list(ctx context.Context, c *operation.Call, in *listInvoices) (out accountapi.List[AnyInvoice], err error) {
	m, err := accountapi.InvoicesOf(o.m)
	if err != nil {
		return out, err
	}
	q := invoice.Query{Account: in.User, State: invoice.State(in.State), Number: in.Number, Seller: m.Config().Seller.INN, Name: strings.TrimSpace(in.Search)}
	switch q.State {
	case "", invoice.Open, invoice.Paid, invoice.Cancelled:
	case "overdue":
		q.State, q.Overdue = "", c.At
	default:
		return out, fault.Field("adminapi.listInvoices", "state", "state must be open, overdue, paid or cancelled.").Coded("invoice_state")
	}
	var names map[string]string
	return accountapi.Paged(ctx, in.PageOf, func(ctx context.Context, after string, most int) ([]invoice.Invoice, error) {
		q.Before, q.Limit = after, most
		all, err := m.Invoices(ctx, q)
		if err == nil {
			names, err = namesOf(ctx, o.log, all, func(i *invoice.Invoice) string { return i.Account })
		}
		return all, err
	}, func(i *invoice.Invoice) (AnyInvoice, string) {
		row := invoiceOf(i, c.At)
		row.UserName = accountapi.OrNull(names[i.Account])
		return row, i.ID
	})
}

func (o invoiceOperations) get(ctx context.Context, c *operation.Call, in *invoiceID) (out operation.Data[AnyInvoiceWithTransfers], err error) {
	i, all, err := accountapi.WithTransfers(ctx, o.m, in.ID, "")
	if err != nil {
		return out, err
	}
	c.NoStore()
	ids := []string{i.Account}
	for k := range all {
		ids = append(ids, actorID(all[k].Actor))
	}
	names, err := namesOf(ctx, o.log, ids, func(id *string) string { return *id })
	if err != nil {
		return out, err
	}
	out.Data = AnyInvoiceWithTransfers{AnyInvoice: invoiceOf(&i, c.At), Transfers: make([]AnyTransfer, len(all))}
	out.Data.UserName = accountapi.OrNull(names[i.Account])
	for k := range all {
		out.Data.Transfers[k] = transferOf(&all[k])
		out.Data.Transfers[k].ActorName = accountapi.OrNull(names[actorID(all[k].Actor)])
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
	order := invoice.ImportOrder{Name: in.Name, Dry: in.DryRun, Assign: make(map[int]string, len(in.Assign)), Actor: c.Actor}
	for _, a := range in.Assign {
		order.Assign[a.Line] = a.Invoice
	}
	r, err := m.Import(ctx, file, order)
	if err != nil {
		if e := fault.From(err); e.Kind == fault.Invalid && e.Param == "" {
			here := *e
			here.Param = "statement"
			return out, &here
		}
		return out, err
	}
	out.Data = StatementReport{DryRun: r.Dry, Credited: r.Credited, Statement: accountapi.OrNull(r.Statement), Counts: map[string]int{}, Documents: make([]StatementDocument, len(r.Matches))}
	for k, n := range r.Counts {
		out.Data.Counts[string(k)] = n
	}
	if r.Earlier != nil {
		names, err := namesOf(ctx, o.log, []invoice.Statement{*r.Earlier}, importer)
		if err != nil {
			return out, err
		}
		out.Data.Earlier = new(bankStatementOf(r.Earlier, names))
	}
	offer := offers{m: m, at: c.At}
	for i := range r.Matches {
		d := statementDocumentOf(&r.Matches[i])
		if d.Choices, err = offer.of(ctx, d.NeedsYou && d.MayAssign, r.Matches[i].Document.PayerINN); err != nil {
			return out, err
		}
		out.Data.Documents[i] = d
	}
	return out, nil
}

func (o invoiceOperations) acts(ctx context.Context, _ *operation.Call, in *listActs) (out accountapi.List[AnyAct], err error) {
	m, err := accountapi.InvoicesOf(o.m)
	if err != nil {
		return out, err
	}
	var names map[string]string
	return accountapi.Paged(ctx, in.PageOf, func(ctx context.Context, after string, most int) ([]invoice.Act, error) {
		all, err := m.Acts(ctx, in.User, in.Month, after, most)
		if err == nil {
			names, err = namesOf(ctx, o.log, all, func(a *invoice.Act) string { return a.Account })
		}
		return all, err
	}, func(a *invoice.Act) (AnyAct, string) {
		row := actOf(a)
		row.UserName = accountapi.OrNull(names[a.Account])
		return row, a.ID
	})
}

func (o invoiceOperations) missingActs(ctx context.Context, _ *operation.Call, in *missingInput) (out MissingActs, err error) {
	m, err := accountapi.InvoicesOf(o.m)
	if err != nil {
		return out, err
	}
	out.Last = m.Closed()
	out.Month = cmp.Or(in.Month, out.Last)
	all, next, err := m.MissingActs(ctx, out.Month, in.Cursor)
	if err != nil {
		return out, err
	}
	names, err := namesOf(ctx, o.log, all, func(x *invoice.Missing) string { return x.Account })
	if err != nil {
		return out, err
	}
	out.Next, out.Data = accountapi.OrNull(next), make([]MissingAct, len(all))
	for i := range all {
		x := &all[i]
		out.Data[i] = MissingAct{User: x.Account, UserName: accountapi.OrNull(names[x.Account]), Buyer: accountapi.BuyerOf(&x.Buyer), Amount: x.Amount, Total: x.Total}
	}
	return out, nil
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

func invoices(m *invoice.Manager, log AuditLog) []operation.Operation {
	o := invoiceOperations{m, log}
	return append(slices.Concat(actOperations(o), bankOperations(o)),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/invoices", ID: "listAllInvoices", Access: operation.Operating, Tag: "administration",
			Summary: "Invoices of all accounts, the newest first", Answer: "One page",
		}, o.list),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/invoices/import", ID: "importStatement", Access: operation.Administration, Fresh: true, Body: statementBody, Tag: "administration",
			Summary: "Credit the transfers of a statement of the bank", Answer: "What became of each document",
			Example:     `{"statement": "MUNDbGllbnRCYW5rRXhjaGFuZ2UK0JrQvtC90LXRhtCk0LDQudC70LAK", "dry_run": true}`,
			Description: "The same file is kept once, with who imported it and when. `assign` credits documents that name no invoice, or one of another payer, to the invoice that you choose. The statement is in the 1C exchange format, in UTF-8, windows-1251 or code page 866, and has at most 16 MiB and 20,000 documents. A transfer is credited if it arrived on the seller's account, its purpose names one invoice, and the INN of the payer is that of the buyer. Each document is credited once ever, so a statement may be imported again.",
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
			Method: "GET", Path: "/api/admin/acts/missing", ID: "listMissingActs", Access: operation.Operating, Tag: "administration",
			Summary: "Accounts whose act of a month can be made and is not", Answer: "One page; accounts in which nothing was rendered have none to make",
		}, o.missingActs),
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
