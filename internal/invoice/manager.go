package invoice

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/rate"
)

// Config is what invoices are made with.
type Config struct {
	Now         func() time.Time
	Seller      Seller
	VAT         rate.VAT
	Prefix      string // of numbers
	ActPrefix   string
	Line        string // what is sold, on invoices
	ActLine     string // what was rendered, on acts
	Least, Most money.Nano
	ExpireAfter time.Duration
	Open, Day   int // invoices of an account: open ones, and those of one day
	// Unlease makes money that a node holds in reserve available for a posting; nil: absent.
	Unlease func(ctx context.Context, wallet string) error
}

// Manager makes invoices and acts, and credits transfers. It is safe for concurrent use.
type Manager struct {
	store Store
	cfg   Config
}

// NewManager makes a Manager.
func NewManager(s Store, c Config) *Manager { return &Manager{store: s, cfg: c} }

// Config is what the manager was made with.
func (m *Manager) Config() *Config { return &m.cfg }

func (m *Manager) now() time.Time { return m.cfg.Now().UTC().Truncate(time.Microsecond) }

// Buyer is the saved data of an account. It fails with fault.NotFound when there is none.
func (m *Manager) Buyer(ctx context.Context, account string) (Buyer, error) {
	return m.store.BuyerOf(ctx, account)
}

// SaveBuyer checks and keeps the data of an account. Invoices and acts that exist keep theirs. It fails with fault.Invalid.
func (m *Manager) SaveBuyer(ctx context.Context, account string, b Buyer, by audit.Actor) (Buyer, error) {
	if err := b.Check(); err != nil {
		return Buyer{}, err
	}
	return b, m.store.SaveBuyer(ctx, account, b, m.now(), audit.Event{Actor: by, Action: audit.BuyerSaved, Target: account, After: "INN " + b.INN + ", " + b.Name})
}

// Order asks for an invoice to the saved buyer.
type Order struct {
	Account, Wallet string
	Amount          money.Nano // that the wallet shall get
	Actor           audit.Actor
}

// Make makes an invoice. It fails with fault.Invalid, with fault.Unprocessable when the account has no buyer, and with fault.RateLimited.
func (m *Manager) Make(ctx context.Context, o Order) (Invoice, error) {
	const op = "invoice.Make"
	switch {
	case o.Amount < m.cfg.Least || o.Amount > m.cfg.Most:
		return Invoice{}, fault.Field(op, "amount", "amount must be from %s to %s rubles.", m.cfg.Least, m.cfg.Most).Coded("rubles_range", "least", m.cfg.Least, "most", m.cfg.Most)
	case o.Amount%Kopeck != 0:
		return Invoice{}, fault.Field(op, "amount", "amount must be whole kopecks, such as 5000 or 4999.90.").Coded("kopecks")
	}
	buyer, err := m.store.BuyerOf(ctx, o.Account)
	if fault.Is(err, fault.NotFound) {
		e := fault.New(fault.Unprocessable, op, "The buyer is not known. Save the organization's name, INN, KPP and address first, with PUT /api/invoices/buyer.")
		e.Param = "buyer"
		return Invoice{}, e
	}
	if err != nil {
		return Invoice{}, err
	}
	now := m.now()
	i := Invoice{
		ID: apikey.NewID("inv_"), Year: int64(now.In(Moscow).Year()), Account: o.Account, Wallet: o.Wallet, State: Open, Buyer: buyer, Seller: m.cfg.Seller, VAT: m.cfg.VAT, Line: m.cfg.Line,
		Amount: o.Amount, CreatedAt: now, ExpiresAt: now.Add(m.cfg.ExpireAfter),
	}
	if i.Total, i.Tax = charge(i.VAT, i.Amount); i.Total > ledger.MaxPosting {
		return Invoice{}, fault.Field(op, "amount", "With its VAT the invoice would be above %s rubles.", ledger.MaxPosting).Coded("invoice_with_vat", "most", ledger.MaxPosting)
	}
	return m.store.AddInvoice(ctx, i, Bounds{Open: m.cfg.Open, Day: m.cfg.Day, Since: dayOf(now)}, func(i *Invoice) (audit.Event, error) {
		i.Number = numberOf(m.cfg.Prefix, i.Year, i.Seq)
		return audit.Event{Actor: o.Actor, Action: audit.InvoiceMade, Target: i.ID, After: i.Number + ", " + i.Total.String() + " rubles, INN " + i.Buyer.INN}, nil
	})
}

// dayOf is the beginning of the day in Moscow.
func dayOf(t time.Time) time.Time {
	t = t.In(Moscow)
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, Moscow).UTC()
}

func numberOf(prefix string, year, seq int64) string {
	return prefix + strconv.FormatInt(year, 10) + "-" + strconv.FormatInt(seq, 10)
}

// Invoice finds one of an account; account "" finds any. It fails with fault.NotFound, also for one of another account.
func (m *Manager) Invoice(ctx context.Context, id, account string) (Invoice, error) {
	i, err := m.store.InvoiceByID(ctx, id)
	if err == nil && account != "" && i.Account != account {
		return Invoice{}, fault.New(fault.NotFound, "invoice.Invoice", "There is no such invoice.")
	}
	return i, err
}

// Named finds an invoice of the seller by its number, or any by its id. It fails with fault.NotFound.
func (m *Manager) Named(ctx context.Context, name string) (Invoice, error) {
	all, err := m.store.Invoices(ctx, Query{Seller: m.cfg.Seller.INN, Number: name, Limit: 1})
	if err == nil && name != "" && len(all) == 1 {
		return all[0], nil
	}
	if err != nil {
		return Invoice{}, err
	}
	return m.Invoice(ctx, name, "")
}

// Invoices lists invoices; see Store.
func (m *Manager) Invoices(ctx context.Context, q Query) ([]Invoice, error) {
	if q.Before != "" && q.Account != "" {
		if _, err := m.Invoice(ctx, q.Before, q.Account); err != nil {
			return nil, err
		}
	}
	return m.store.Invoices(ctx, q)
}

// Transfers lists what arrived for an invoice.
func (m *Manager) Transfers(ctx context.Context, id string) ([]Transfer, error) {
	return m.store.InvoiceTransfers(ctx, id)
}

// Cancel ends an open invoice for which nothing has arrived; a cancelled one stays as it is. It fails with fault.NotFound and fault.Conflict.
func (m *Manager) Cancel(ctx context.Context, id, account string, by audit.Actor) (Invoice, error) {
	if _, err := m.Invoice(ctx, id, account); err != nil {
		return Invoice{}, err
	}
	now := m.now()
	return m.store.EndInvoice(ctx, id, now, func(i *Invoice) (audit.Event, error) {
		switch {
		case i.State == Cancelled:
			return audit.Event{}, nil
		case i.State == Paid || i.Received != 0:
			return audit.Event{}, fault.Newf(fault.Conflict, "invoice.Cancel", "%s rubles of this invoice were paid. Only an unpaid invoice can be cancelled.", i.Received)
		}
		before := i.words()
		i.State, i.EndedAt = Cancelled, now
		return audit.Event{Actor: by, Action: audit.InvoiceCancelled, Target: i.ID, Before: before, After: i.Number}, nil
	})
}

// words is how far an invoice is, for the audit log.
func (i *Invoice) words() string {
	return string(i.State) + ", " + i.Received.String() + " of " + i.Total.String() + " rubles received"
}

// Payment is a transfer that an operator has seen.
type Payment struct {
	Amount    money.Nano // 0: what is missing of the total
	Reference string     // number of the bank's document
	Date      time.Time  // of the document: midnight UTC of that day
	Note      string
	Actor     audit.Actor
}

// MostReference is the length of the number of a bank's document.
const MostReference = 40

func (p *Payment) check(op string, now time.Time) error {
	p.Reference, p.Note = plainNumber(tidy(p.Reference)), tidy(p.Note)
	if err := checkText(op, "reference", p.Reference, MostReference, "the number of the bank's document"); err != nil {
		return err
	}
	if p.Note != "" {
		if err := checkText(op, "note", p.Note, MostName, "a note"); err != nil {
			return err
		}
	}
	switch {
	case p.Date.Before(now.AddDate(-3, 0, 0)) || p.Date.After(now.Add(24*time.Hour)):
		return fault.Field(op, "date", "date must be the day of the bank's document, such as 2026-11-25: not in the future, and at most three years ago.").Coded("document_date")
	case p.Amount < 0 || p.Amount > ledger.MaxPosting || p.Amount%Kopeck != 0:
		return fault.Field(op, "amount", "amount must be above zero, whole kopecks, and at most %s rubles.", ledger.MaxPosting).Coded("bank_amount", "most", ledger.MaxPosting)
	}
	return nil
}

// MarkPaid credits a transfer that an operator has seen on the account of the bank. The same document of the same invoice, marked or imported
// before, is credited once, and then repeated is true. It fails with fault.Invalid, fault.NotFound, and fault.Conflict for a cancelled invoice
// and for a reference that was used with another amount.
func (m *Manager) MarkPaid(ctx context.Context, id string, p Payment) (i Invoice, t Transfer, repeated bool, err error) {
	const op = "invoice.MarkPaid"
	now := m.now()
	if err = p.check(op, now); err != nil {
		return i, t, false, err
	}
	if i, err = m.store.InvoiceByID(ctx, id); err != nil {
		return i, t, false, err
	}
	t = Transfer{Invoice: id, Account: i.Account, Manual: true, Amount: p.Amount, Date: p.Date, Number: p.Reference, Purpose: p.Note, Actor: p.Actor.Name, At: now}
	t.Key = keyOf("manual", id, day(p.Date), p.Reference)
	return m.pay(ctx, t, nil, p.Actor, "")
}

// pay posts a transfer once. how is added to what the audit log says of it.
func (m *Manager) pay(ctx context.Context, t Transfer, of *StatementLine, by audit.Actor, how string) (i Invoice, done Transfer, repeated bool, err error) {
	i, done, err = m.store.PayInvoice(ctx, t, func(p *Paying) (*ledger.Posting, audit.Event, error) {
		if repeated = p.Prior != nil; of != nil {
			p.Statement, p.Line = of.Statement, of.Line
		}
		post, e, err := p.decide(by)
		e.After += how
		return post, e, err
	})
	return i, done, repeated, err
}

// decide is what a transfer posts; nil when its document was noted before.
func (p *Paying) decide(by audit.Actor) (*ledger.Posting, audit.Event, error) {
	const op = "invoice.Pay"
	i, t := p.Invoice, p.Transfer
	if p.Prior != nil {
		if p.Prior.Invoice != t.Invoice || t.Amount != 0 && p.Prior.Amount != t.Amount {
			e := fault.Newf(fault.Conflict, op, "The document %s of %s was credited before, with %s rubles for another invoice or amount.", t.Number, day(t.Date), p.Prior.Amount)
			e.Param = "reference"
			return nil, audit.Event{}, e
		}
		return nil, audit.Event{}, nil
	}
	if i.State == Cancelled {
		return nil, audit.Event{}, fault.Newf(fault.Conflict, op, "Invoice %s was cancelled on %s. Pay the money back, or credit it with: weir topup.", i.Number, day(i.EndedAt.In(Moscow)))
	}
	if t.Amount == 0 {
		if t.Amount = i.Missing(); t.Amount <= 0 {
			return nil, audit.Event{}, fault.Newf(fault.Conflict, op, "Invoice %s is paid. Give the amount of a further transfer.", i.Number)
		}
	}
	before := i.words()
	received, err := i.Received.Add(t.Amount)
	if err != nil || received > ledger.MaxPosting {
		return nil, audit.Event{}, fault.Field(op, "amount", "More than %s rubles would have arrived for one invoice.", ledger.MaxPosting).Coded("invoice_overpaid", "most", ledger.MaxPosting)
	}
	t.Credited = worth(i.VAT, received) - i.Credited
	i.Received, i.Credited = received, i.Credited+t.Credited
	if i.State == Open && i.Received >= i.Total {
		i.State, i.EndedAt = Paid, t.At
	}
	e := audit.Event{Actor: by, Action: audit.InvoicePaid, Target: i.ID, Before: before, After: i.Number + ", document " + t.Number + " of " + day(t.Date) + ", " + t.Amount.String() + " rubles" + i.difference()}
	if t.Credited == 0 {
		return nil, audit.Event{}, fault.Field(op, "amount", "Less than a kopeck of this is left without the tax.").Coded("less_than_kopeck")
	}
	top := ledger.TopUp{Wallet: i.Wallet, Source: Source, ExternalID: t.Key, Amount: t.Credited, Actor: by}
	post, err := top.Posting(t.At)
	return &post, e, err
}

// difference says how what arrived differs from the total.
func (i *Invoice) difference() string {
	switch missing := i.Missing(); {
	case missing > 0:
		return "; " + missing.String() + " rubles are missing"
	case missing < 0:
		return "; " + (-missing).String() + " rubles more than the total"
	}
	return ""
}

// BackOrder is money that an operator pays back to the buyer by a transfer.
type BackOrder struct {
	Amount    money.Nano
	Reference string // the same one debits once
	Date      time.Time
	Reason    string
	BelowZero bool // more than is available: the money has left already
	Actor     audit.Actor
}

// PayBack takes from the wallet what is paid back to the buyer. All of it is never more than arrived. It fails like MarkPaid, and with
// fault.Unprocessable when more would be paid back than arrived or than is available.
func (m *Manager) PayBack(ctx context.Context, id string, o BackOrder) (i Invoice, t Transfer, repeated bool, err error) {
	const op = "invoice.PayBack"
	now := m.now()
	p := Payment{Amount: o.Amount, Reference: o.Reference, Date: o.Date, Note: o.Reason, Actor: o.Actor}
	if err = p.check(op, now); err != nil {
		return i, t, false, err
	}
	switch {
	case p.Amount == 0:
		return i, t, false, fault.Field(op, "amount", "amount is missing: give the rubles that were paid back.").Coded("paid_back_missing")
	case p.Note == "":
		return i, t, false, fault.Field(op, "reason", "reason is missing: say why the money goes back.").Coded("reason_missing")
	}
	if i, err = m.store.InvoiceByID(ctx, id); err != nil {
		return i, t, false, err
	}
	if m.cfg.Unlease != nil && !o.BelowZero {
		if err = m.cfg.Unlease(ctx, i.Wallet); err != nil {
			return i, t, false, err
		}
	}
	t = Transfer{Invoice: id, Account: i.Account, Manual: true, Amount: -p.Amount, Date: p.Date, Number: p.Reference, Purpose: p.Note, Actor: p.Actor.Name, At: now}
	t.Key = keyOf("back", id, day(p.Date), p.Reference)
	i, t, err = m.store.PayInvoice(ctx, t, func(p *Paying) (*ledger.Posting, audit.Event, error) {
		repeated = p.Prior != nil
		return p.back(&o)
	})
	return i, t, repeated, err
}

func (p *Paying) back(o *BackOrder) (*ledger.Posting, audit.Event, error) {
	const op = "invoice.PayBack"
	i, t := p.Invoice, p.Transfer
	switch {
	case p.Prior != nil && (p.Prior.Invoice != t.Invoice || p.Prior.Amount != t.Amount):
		e := fault.Newf(fault.Conflict, op, "This reference paid %s rubles back before.", -p.Prior.Amount)
		e.Param = "reference"
		return nil, audit.Event{}, e
	case p.Prior != nil:
		return nil, audit.Event{}, nil
	case -t.Amount > i.Received:
		e := fault.Newf(fault.Unprocessable, op, "Only %s rubles have arrived for this invoice and were not paid back.", i.Received)
		e.Param = "amount"
		return nil, audit.Event{}, e
	}
	before := i.words()
	i.Received += t.Amount
	t.Credited = worth(i.VAT, i.Received) - i.Credited
	i.Credited += t.Credited
	if t.Credited == 0 {
		return nil, audit.Event{}, fault.Field(op, "amount", "Less than a kopeck of this is left without the tax.").Coded("less_than_kopeck")
	}
	back := ledger.PayBack{Wallet: i.Wallet, Source: Source, ExternalID: t.Key, Amount: -t.Credited, Reason: t.Purpose, BelowZero: o.BelowZero, Actor: o.Actor}
	post, err := back.Posting(t.At)
	e := audit.Event{Actor: o.Actor, Action: audit.InvoicePaidBack, Target: i.ID, Before: before, After: fmt.Sprintf("%s, document %s of %s, %s rubles: %s", i.Number, t.Number, day(t.Date), -t.Amount, t.Purpose)}
	return &post, e, err
}

// plainNumber is the number of a document without zeros before it, which banks add and people leave out.
func plainNumber(s string) string {
	if plain := strings.TrimLeft(s, "0"); plain != "" || s == "" {
		return plain
	}
	return "0"
}

func day(t time.Time) string { return t.Format(time.DateOnly) }
