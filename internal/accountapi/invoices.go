package accountapi

import (
	"context"
	"fmt"
	"time"

	"weir/internal/fault"
	"weir/internal/invoice"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/rate"
	"weir/internal/report/paper"
)

// InvoiceVAT is the tax in a total.
type InvoiceVAT struct {
	Mode    string `json:"mode" enum:"included,on_top"`
	Percent string `json:"percent"`
}

func vatOf(v rate.VAT) *InvoiceVAT {
	if v.Mode == "" {
		return nil
	}
	return &InvoiceVAT{Mode: v.Mode, Percent: v.Plain()}
}

// InvoiceSettings is what can be invoiced.
type InvoiceSettings struct {
	Seller string      `json:"seller"`
	Min    money.Nano  `json:"min"`
	Max    money.Nano  `json:"max"`
	VAT    *InvoiceVAT `json:"vat"`
}

// Buyer is the organization that pays.
type Buyer struct {
	Name    string  `json:"name"`
	INN     string  `json:"inn"`
	KPP     *string `json:"kpp"`
	Address string  `json:"address"`
}

// BuyerOf shows a buyer.
func BuyerOf(b *invoice.Buyer) Buyer {
	return Buyer{Name: b.Name, INN: b.INN, KPP: OrNull(b.KPP), Address: b.Address}
}

type buyerInput struct {
	Name    string `json:"name,omitempty" null:"none" maxLength:"300"`
	INN     string `json:"inn,omitempty" null:"none"` // 10 digits of a company or 12 of a sole trader, with right check digits
	KPP     string `json:"kpp,omitempty" null:"none"` // of a company; a sole trader has none
	Address string `json:"address,omitempty" null:"none" maxLength:"500"`
}

// Invoice is an invoice to an organization.
type Invoice struct {
	ID        string      `json:"id"`
	Number    string      `json:"number"` // without gaps for the seller and the year, such as W-2026-17
	State     string      `json:"state" enum:"open,paid,cancelled"`
	Expired   bool        `json:"expired"` // it is open and its time is over; money that comes later is credited all the same
	Buyer     Buyer       `json:"buyer"`
	Amount    money.Nano  `json:"amount"` // rubles that the wallet gets when all is paid
	VAT       *InvoiceVAT `json:"vat"`
	VATAmount money.Nano  `json:"vat_amount"` // in total, to the nearest kopeck
	Total     money.Nano  `json:"total"`      // rubles to be transferred
	Received  money.Nano  `json:"received"`   // by transfers, less what was paid back
	Credited  money.Nano  `json:"credited"`   // to the wallet for it
	Missing   money.Nano  `json:"missing"`    // of the total; below zero: more arrived
	CreatedAt time.Time   `json:"created_at"`
	ExpiresAt time.Time   `json:"expires_at"`
	EndedAt   *time.Time  `json:"ended_at"` // when it was paid or cancelled
}

// InvoiceOf shows an invoice at a time.
func InvoiceOf(i *invoice.Invoice, at time.Time) Invoice {
	return Invoice{
		ID: i.ID, Number: i.Number, State: string(i.State), Expired: i.Expired(at), Buyer: BuyerOf(&i.Buyer), Amount: i.Amount, VAT: vatOf(i.VAT), VATAmount: i.Tax, Total: i.Total,
		Received: i.Received, Credited: i.Credited, Missing: i.Missing(), CreatedAt: i.CreatedAt, ExpiresAt: i.ExpiresAt, EndedAt: Moment(i.EndedAt),
	}
}

// InvoiceTransfer is money that arrived for an invoice, or was paid back.
type InvoiceTransfer struct {
	Date      string     `json:"date" format:"date"`
	Number    string     `json:"number"`    // of the document of the bank
	Amount    money.Nano `json:"amount"`    // rubles; below zero: paid back
	Credited  money.Nano `json:"credited"`  // to the wallet; below zero: taken
	Reference string     `json:"reference"` // in the books
	Purpose   *string    `json:"purpose"`   // as the payer wrote it, a note, or why it was paid back
	NotedAt   time.Time  `json:"noted_at"`
}

// TransferOf shows a transfer.
func TransferOf(t *invoice.Transfer) InvoiceTransfer {
	return InvoiceTransfer{
		Date: t.Date.Format(time.DateOnly), Number: t.Number, Amount: t.Amount, Credited: t.Credited, Reference: "topup:" + invoice.Source + ":" + t.Key, Purpose: OrNull(t.Purpose), NotedAt: t.At,
	}
}

// InvoiceWithTransfers is an invoice with what arrived for it.
type InvoiceWithTransfers struct {
	Invoice
	Transfers []InvoiceTransfer `json:"transfers"`
}

// InvoiceList is a page of invoices with what can be invoiced.
type InvoiceList struct {
	Settings *InvoiceSettings `json:"settings"` // null: this gateway makes no invoices
	Buyer    *Buyer           `json:"buyer"`
	List[Invoice]
}

type newInvoice struct {
	Amount money.Nano `json:"amount,omitempty"` // rubles, in whole kopecks
}

type invoiceID struct {
	ID string `json:"-" path:"id"` // of the invoice
}

// Act is the act of a month: what was rendered and is to be booked.
type Act struct {
	ID         string      `json:"id"`
	Number     string      `json:"number"`
	Month      string      `json:"month"`   // in Moscow, such as 2026-10
	Opening    money.Nano  `json:"opening"` // balance at the beginning of the month; this and the next three are exact
	ToppedUp   money.Nano  `json:"topped_up"`
	Spent      money.Nano  `json:"spent"` // calls, less refunds and adjustments
	Closing    money.Nano  `json:"closing"`
	CarriedIn  money.Nano  `json:"carried_in"` // from the months before: parts of a kopeck, and what was charged late
	Amount     money.Nano  `json:"amount"`     // carried_in and spent, in whole kopecks
	VAT        *InvoiceVAT `json:"vat"`
	VATAmount  money.Nano  `json:"vat_amount"`
	Total      money.Nano  `json:"total"`
	CarriedOut money.Nano  `json:"carried_out"` // to the next month
	MadeAt     time.Time   `json:"made_at"`
}

// ActOf shows an act.
func ActOf(a *invoice.Act) Act {
	return Act{
		ID: a.ID, Number: a.Number, Month: a.Month, Opening: a.Opening, ToppedUp: a.ToppedUp, Spent: a.Spent, Closing: a.Closing, CarriedIn: a.Before, Amount: a.Amount, VAT: vatOf(a.VAT),
		VATAmount: a.Tax, Total: a.Total, CarriedOut: a.After, MadeAt: a.MadeAt,
	}
}

// ActList is a page of acts, and the months whose acts can be made.
type ActList struct {
	Due []string `json:"due"` // months such as 2026-10, the oldest first; those without services have no act
	List[Act]
}

// ActsInput is the last month whose act is to be made.
type ActsInput struct {
	Month string `json:"month,omitempty" null:"none" pattern:"^[0-9]{4}-[0-9]{2}$"`
}

type actID struct {
	ID string `json:"-" path:"id"` // of the act
}

// InvoicesOf is the manager of invoices, or why this gateway has none.
func InvoicesOf(m *invoice.Manager) (*invoice.Manager, error) {
	if m == nil {
		return nil, fault.New(fault.NotFound, "accountapi.invoices", "This gateway makes no invoices. Ask its operator, or pay in another way.")
	}
	return m, nil
}

// InvoiceDocument is an invoice as a file. account is whose it must be, "" anybody's.
func InvoiceDocument(ctx context.Context, m *invoice.Manager, id, account string) (operation.File, error) {
	m, err := InvoicesOf(m)
	if err != nil {
		return operation.File{}, err
	}
	i, err := m.Invoice(ctx, id, account)
	return document(fmt.Sprintf("weir-invoice-%d-%d.pdf", i.Year, i.Seq), func() ([]byte, error) { return paper.Invoice(&i) }), err
}

// ActDocument is an act as a file. account is whose it must be, "" anybody's.
func ActDocument(ctx context.Context, m *invoice.Manager, id, account string) (operation.File, error) {
	m, err := InvoicesOf(m)
	if err != nil {
		return operation.File{}, err
	}
	a, err := m.Act(ctx, id, account)
	return document(fmt.Sprintf("weir-act-%d-%d.pdf", a.Year, a.Seq), func() ([]byte, error) { return paper.Act(&a) }), err
}

// WithTransfers is an invoice with what arrived for it. account is whose it must be, "" anybody's.
func WithTransfers(ctx context.Context, m *invoice.Manager, id, account string) (i invoice.Invoice, all []invoice.Transfer, err error) {
	if m, err = InvoicesOf(m); err != nil {
		return i, nil, err
	}
	if i, err = m.Invoice(ctx, id, account); err != nil {
		return i, nil, err
	}
	all, err = m.Transfers(ctx, i.ID)
	return i, all, err
}

type invoiceOperations struct{ *invoice.Manager }

func (o invoiceOperations) list(ctx context.Context, c *operation.Call, in *PageOf) (out InvoiceList, err error) {
	if o.Manager == nil {
		out.Data = []Invoice{}
		return out, nil
	}
	cfg := o.Config()
	out.Settings = &InvoiceSettings{Seller: cfg.Seller.Name, Min: cfg.Least, Max: cfg.Most, VAT: vatOf(cfg.VAT)}
	switch b, err := o.Manager.Buyer(ctx, c.User); {
	case err == nil:
		shown := BuyerOf(&b)
		out.Buyer = &shown
	case !fault.Is(err, fault.NotFound):
		return out, err
	}
	out.List, err = Paged(ctx, *in, func(ctx context.Context, after string, most int) ([]invoice.Invoice, error) {
		return o.Invoices(ctx, invoice.Query{Account: c.User, Before: after, Limit: most})
	}, func(i *invoice.Invoice) (Invoice, string) { return InvoiceOf(i, c.At), i.ID })
	return out, err
}

func (o invoiceOperations) saveBuyer(ctx context.Context, c *operation.Call, in *buyerInput) (out operation.Data[Buyer], err error) {
	m, err := InvoicesOf(o.Manager)
	if err != nil {
		return out, err
	}
	b, err := m.SaveBuyer(ctx, c.User, invoice.Buyer{Name: in.Name, INN: in.INN, KPP: in.KPP, Address: in.Address}, c.Actor)
	return operation.Data[Buyer]{Data: BuyerOf(&b)}, err
}

func (o invoiceOperations) make(ctx context.Context, c *operation.Call, in *newInvoice) (out operation.Data[Invoice], err error) {
	m, err := InvoicesOf(o.Manager)
	if err != nil {
		return out, err
	}
	c.NoStore()
	i, err := m.Make(ctx, invoice.Order{Account: c.User, Wallet: c.Wallet, Amount: in.Amount, Actor: c.Actor})
	return operation.Data[Invoice]{Data: InvoiceOf(&i, c.At)}, err
}

func (o invoiceOperations) get(ctx context.Context, c *operation.Call, in *invoiceID) (out operation.Data[InvoiceWithTransfers], err error) {
	i, all, err := WithTransfers(ctx, o.Manager, in.ID, c.User)
	if err != nil {
		return out, err
	}
	c.NoStore()
	out.Data = InvoiceWithTransfers{Invoice: InvoiceOf(&i, c.At), Transfers: make([]InvoiceTransfer, len(all))}
	for k := range all {
		out.Data.Transfers[k] = TransferOf(&all[k])
	}
	return out, nil
}

func (o invoiceOperations) cancel(ctx context.Context, c *operation.Call, in *invoiceID) (out operation.Data[Invoice], err error) {
	m, err := InvoicesOf(o.Manager)
	if err != nil {
		return out, err
	}
	c.NoStore()
	i, err := m.Cancel(ctx, in.ID, c.User, c.Actor)
	return operation.Data[Invoice]{Data: InvoiceOf(&i, c.At)}, err
}

func (o invoiceOperations) acts(ctx context.Context, c *operation.Call, in *PageOf) (out ActList, err error) {
	if o.Manager == nil {
		out.Due, out.Data = []string{}, []Act{}
		return out, nil
	}
	if out.Due, err = o.ActsDue(ctx, c.User); err != nil {
		return out, err
	}
	out.List, err = Paged(ctx, *in, func(ctx context.Context, after string, most int) ([]invoice.Act, error) {
		return o.Acts(ctx, c.User, "", after, most)
	}, func(a *invoice.Act) (Act, string) { return ActOf(a), a.ID })
	return out, err
}

func (o invoiceOperations) makeActs(ctx context.Context, c *operation.Call, in *ActsInput) (out operation.Data[[]Act], err error) {
	m, err := InvoicesOf(o.Manager)
	if err != nil {
		return out, err
	}
	made, err := m.MakeActs(ctx, c.User, c.Wallet, in.Month, c.Actor)
	out.Data = make([]Act, len(made))
	for i := range made {
		out.Data[i] = ActOf(&made[i])
	}
	return out, err
}

func invoices(m *invoice.Manager) []operation.Operation {
	o := invoiceOperations{m}
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/invoices", ID: "listInvoices", Org: operation.Payers, Access: operation.Management, Tag: "account",
			Summary: "What can be invoiced, the saved buyer, and the invoices of the account, the newest first", Answer: "One page",
		}, o.list),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/invoices", ID: "createInvoice", Org: operation.Payers, Access: operation.Management, Status: 201, Tag: "account",
			Summary: "Make an invoice to the saved buyer", Answer: "The invoice", Example: `{"amount": "10000"}`,
			Description: "`amount` is what the wallet gets when all is paid. Where VAT is on top, `total` is more. The invoice has the next number of its year, and keeps the data of buyer and seller as they are now.",
		}, o.make),
		operation.Of(operation.Operation{
			Method: "PUT", Path: "/api/invoices/buyer", ID: "saveBuyer", Org: operation.Payers, Access: operation.Management, Tag: "account",
			Summary: "Save the organization that pays", Description: "Invoices and acts that exist keep the data that they have.", Answer: "As it was saved",
			Example: `{"name": "ООО «Ромашка»", "inn": "0076543215", "kpp": "007601001", "address": "г. Красногорск, ул. Ленина, д. 5"}`,
		}, o.saveBuyer),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/invoices/{id}", ID: "getInvoice", Org: operation.Payers, Access: operation.Management, Tag: "account",
			Summary: "An invoice with what arrived for it", Answer: "The invoice",
		}, o.get),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/invoices/{id}", ID: "cancelInvoice", Org: operation.Payers, Access: operation.Management, Tag: "account",
			Summary: "Cancel an unpaid invoice", Description: "It stays in the list. One for which money has arrived is refused with 409.", Answer: "The invoice",
		}, o.cancel),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/invoices/{id}/pdf", ID: "getInvoiceDocument", Org: operation.Payers, Access: operation.Management, Tag: "account", Media: "application/pdf",
			Summary: "An invoice as a document", Description: "In Russian, as bookkeeping needs it.", Answer: "PDF, A4",
		}, func(ctx context.Context, c *operation.Call, in *invoiceID) (operation.File, error) {
			return InvoiceDocument(ctx, m, in.ID, c.User)
		}),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/acts", ID: "listActs", Org: operation.Payers, Access: operation.Management, Tag: "account",
			Summary: "The acts of the account, the newest month first, and the months whose acts can be made", Answer: "One page",
		}, o.acts),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/acts", ID: "createActs", Org: operation.Payers, Access: operation.Management, Status: 201, Tag: "account",
			Summary: "Make the acts up to a month", Answer: "The acts that were made", Example: `{"month": "2026-01"}`,
			Description: "Acts are made in order, and never change. The act of a month can be made from the second day of the next month, Moscow time. Months in which nothing was rendered have none.",
		}, o.makeActs),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/acts/{id}/pdf", ID: "getActDocument", Org: operation.Payers, Access: operation.Management, Tag: "account", Media: "application/pdf",
			Summary: "An act as a document", Description: "In Russian, as bookkeeping needs it.", Answer: "PDF, A4",
		}, func(ctx context.Context, c *operation.Call, in *actID) (operation.File, error) {
			return ActDocument(ctx, m, in.ID, c.User)
		}),
	}
}
