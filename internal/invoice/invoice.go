// Package invoice makes invoices for organizations that pay by bank transfer, credits what arrives, and makes the act of each month. It reads
// no clock and draws no document, and moves no money itself: a store posts what is decided here, in the transaction that notes it.
package invoice

import (
	"context"
	"time"

	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/rate"
)

// Source is the source of the top-ups of invoices in the books.
const Source = "invoice"

// Kopeck is the least amount that invoices and acts name.
const Kopeck = money.Ruble / 100

// Moscow is the time zone of numbers, days and months: UTC+3 all year.
var Moscow = time.FixedZone("MSK", 3*60*60)

// State is how far an invoice is.
type State string

// The states. Paid and Cancelled are final, save that what is paid back or arrives late changes the sums of a paid one.
const (
	Open      State = "open"      // waits for the transfer
	Paid      State = "paid"      // all of it has arrived
	Cancelled State = "cancelled" // by the account or an operator, before any money came
)

// Buyer is the organization that pays.
type Buyer struct {
	Name    string
	INN     string // 10 digits of a company, 12 of a sole trader
	KPP     string // of a company; "" of a sole trader
	Address string
}

// Seller is who gets the money, as configured.
type Seller struct {
	Name          string `yaml:"name"`
	INN           string `yaml:"inn"`
	KPP           string `yaml:"kpp"`
	Address       string `yaml:"address"`
	Bank          string `yaml:"bank"`
	BIK           string `yaml:"bik"`
	Account       string `yaml:"account"`               // 20 digits
	Correspondent string `yaml:"correspondent_account"` // of the bank, 20 digits
	Director      string `yaml:"director"`              // signs, as the next one does
	Accountant    string `yaml:"accountant"`            // may be ""
}

// Invoice asks for a bank transfer. Amounts are whole kopecks.
type Invoice struct {
	ID        string // "inv_..."
	Number    string // such as "W-2026-17": without gaps for the seller and the year
	Year, Seq int64
	Account   string // id of the user
	Wallet    string
	State     State
	Buyer     Buyer  // as they were when it was made, like Seller
	Seller    Seller //
	VAT       rate.VAT
	Line      string     // what is sold
	Amount    money.Nano // that the wallet gets when all is paid
	Tax       money.Nano // VAT in Total
	Total     money.Nano // to be transferred
	Received  money.Nano // by transfers, less what was paid back
	Credited  money.Nano // to the wallet for it
	CreatedAt time.Time
	ExpiresAt time.Time // then it no longer counts as open; money that comes later is credited all the same
	EndedAt   time.Time // when it was paid or cancelled; zero: not yet
}

// Expired reports whether an open invoice waits no longer.
func (i *Invoice) Expired(now time.Time) bool { return i.State == Open && !now.Before(i.ExpiresAt) }

// Missing is what has not arrived of the total; below zero: more has arrived.
func (i *Invoice) Missing() money.Nano { return i.Total - i.Received }

// Transfer is money that arrived for an invoice, or went back.
type Transfer struct {
	Key      string // of the bank's document, 32 hexadecimal digits: credited once ever
	Invoice  string
	Account  string
	Manual   bool       // an operator entered it; otherwise it was imported
	Amount   money.Nano // below zero: it was paid back
	Credited money.Nano // to the wallet; below zero: taken
	Date     time.Time  // of the document: midnight UTC of that day
	Number   string     // of the document
	Payer    string     // name and INN
	Purpose  string     // as the payer wrote it, or the reason why it was paid back
	Actor    string
	At       time.Time // when it was noted
}

// Query asks for invoices, the newest first.
type Query struct {
	Account string    // "": of all
	State   State     // "": any
	Seller  string    // INN, with Number
	Number  string    // "": any
	Name    string    // id or number of an invoice, or the INN of its buyer; "": any
	INN     string    // of the buyer; "": any
	Overdue time.Time // only open ones whose time is over at this moment; zero: any
	Before  string    // id of the last one of the page before; "": the first page
	Limit   int
}

// Bounds are checked in the transaction that adds an invoice.
type Bounds struct {
	Open  int       // invoices of the account that wait to be paid and have not expired
	Day   int       // invoices of the account since Since
	Since time.Time // the beginning of the day
}

// Paying is a transfer and the invoice that it is for, while the wallet is locked.
type Paying struct {
	Invoice  *Invoice // its sums and state are stored as they are left
	Transfer *Transfer
	Prior    *Transfer // the same document, if it was noted before; nil: it was not

	// Statement and Line are the document of a statement that a person credits by hand; "": there is none. One that was set aside refuses the
	// transfer with fault.Conflict.
	Statement string
	Line      int64
}

// Store keeps invoices. Each method that writes is one transaction.
type Store interface {
	// BuyerOf fails with fault.NotFound.
	BuyerOf(ctx context.Context, account string) (Buyer, error)
	SaveBuyer(ctx context.Context, account string, b Buyer, now time.Time, e audit.Event) error // it records nothing when they are so already

	// AddInvoice gives an invoice the next number of its seller and year, which name makes a text of, and adds it. It fails with
	// fault.RateLimited when the account has as many as bounds permit.
	AddInvoice(ctx context.Context, i Invoice, b Bounds, name func(*Invoice) (audit.Event, error)) (Invoice, error)
	// InvoiceByID fails with fault.NotFound.
	InvoiceByID(ctx context.Context, id string) (Invoice, error)
	// Invoices fails with fault.NotFound when there is no q.Before.
	Invoices(ctx context.Context, q Query) ([]Invoice, error)
	// EndInvoice calls f with the invoice while its row is locked, and writes what f changed. It writes nothing when f returns no action.
	EndInvoice(ctx context.Context, id string, now time.Time, f func(*Invoice) (audit.Event, error)) (Invoice, error)

	// PayInvoice notes a transfer, and posts what f returns; nil: nothing is written, and the prior transfer is returned.
	PayInvoice(ctx context.Context, t Transfer, f func(*Paying) (*ledger.Posting, audit.Event, error)) (i Invoice, done Transfer, err error)
	// PriorTransfer is the transfer of the same document, as PayInvoice finds it. It fails with fault.NotFound.
	PriorTransfer(ctx context.Context, t *Transfer) (Transfer, error)
	// InvoiceTransfers lists those of an invoice, the oldest first.
	InvoiceTransfers(ctx context.Context, id string) ([]Transfer, error)

	ActStore
	StatementStore
}
