// Package payment brings money from outside into wallets, and back: payments and their states, refunds, and automatic top-ups. It knows no
// wire of a provider, and believes no message: what is credited is what the provider confirms when it is asked.
package payment

import (
	"context"
	"time"

	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/money"
)

// State is how far a payment is; docs/payments.md has the drawing.
type State string

// The states. Succeeded and Canceled are final, save that a canceled payment of which the provider later confirms the money is credited.
const (
	New       State = "new"       // noted here; the provider has not answered yet
	Pending   State = "pending"   // the provider waits for the payer
	Succeeded State = "succeeded" // the money is credited
	Canceled  State = "canceled"  // no money came
)

// Ended reports whether nothing more is expected.
func (s State) Ended() bool { return s == Succeeded || s == Canceled }

// Payment is one top-up of a wallet.
type Payment struct {
	ID         string // "pay_..."; also the key with which the provider is asked, so that asking twice makes one payment
	Account    string // id of the user
	Wallet     string
	Provider   string
	ProviderID string // "" until the provider has answered
	State      State
	Amount     money.Nano // that was asked for
	Paid       money.Nano // that the provider confirmed and the wallet got; 0 before
	Refunded   money.Nano // sum of the refunds that were not canceled
	Refunding  time.Time  // when the oldest refund was made that has not ended; zero: there is none
	URL        string     // where the payer confirms; "" none
	// What the provider is asked with, which must not change between tries.
	ReturnURL, Description, Email string
	Save                          bool   // the payer permits to use the method again
	Method                        string // id of the saved method of an automatic top-up
	Auto                          bool
	MethodTitle                   string // what it was paid with, such as "Bank card *4444"
	Reason                        string // why it was canceled: the provider's word
	Problem                       string // why money that the provider confirms is not credited, for operators
	Tries                         int64
	CreatedAt, UpdatedAt          time.Time
	EndedAt, DueAt                time.Time // DueAt: when the provider is asked next; zero: never
}

const rub = "RUB"

// RemoteState is what the provider says of a payment or refund.
type RemoteState uint8

// The states of providers. The zero one is a bug of the adapter.
const (
	_               RemoteState = iota
	RemotePending               // waits for the payer
	RemoteWaiting               // paid; waits for us to take the money
	RemoteSucceeded             // the money is ours
	RemoteCanceled
)

// Remote is a payment as the provider has it.
type Remote struct {
	ID        string
	Reference string // the id of the Payment that it was made for
	State     RemoteState
	Amount    money.Nano
	Currency  string
	Refunded  money.Nano
	Test      bool   // play money
	URL       string // where the payer confirms
	Reason    string // why it was canceled
	Method    Method
	CreatedAt time.Time
}

// Method is what a payment was paid with.
type Method struct {
	ID    string
	Title string
	Saved bool // it may be used again without the payer
}

// RemoteRefund is a refund as the provider has it.
type RemoteRefund struct {
	ID        string
	Payment   string // the provider's id
	Reference string // the id of the Refund that it was made for; "" made elsewhere
	State     RemoteState
	Amount    money.Nano
	Currency  string
	Reason    string
}

// Refund is money of a payment that goes back to the payer.
type Refund struct {
	ID         string // "rfd_..."
	Payment    string
	Account    string
	ProviderID string // "" until the provider has answered
	State      State  // New, Pending, Succeeded or Canceled; the wallet is debited in all but the last
	Amount     money.Nano
	Reason     string // why it was made
	Failure    string // why it was canceled: the provider's word
	Actor      string
	Tries      int64
	CreatedAt  time.Time
	UpdatedAt  time.Time
	DueAt      time.Time
}

// Rule is a person's consent to automatic top-ups.
type Rule struct {
	Account, Wallet string
	Provider        string
	State           RuleState
	Payment         string // the first one, which saves the method
	Method          string // the provider's id of the saved method; "" none yet
	MethodTitle     string
	Email           string     // of receipts
	Threshold       money.Nano // below which the wallet is topped up
	Amount          money.Nano // by which
	Cap             money.Nano // most in a calendar month, UTC
	Fails           int64      // automatic top-ups that failed in a row
	Why             string     // of a pause
	ConsentAt       time.Time
	DueAt           time.Time // looked at no earlier
}

// RuleState is how far a Rule is.
type RuleState string

// The states of rules.
const (
	RuleWaiting RuleState = "waiting" // for the payment that saves the method
	RuleActive  RuleState = "active"
	RulePaused  RuleState = "paused" // payments failed; the person must consent again
)

// Query asks for payments, newest first.
type Query struct {
	Account     string    // "": of all
	Open        bool      // only those that have not ended, or have a problem
	State       State     // "": any; Pending has those that are New, too
	Provider    string    // "": any
	Name        string    // id of a payment or of its refund, here or at the provider; "": any
	From, Until time.Time // made in this time; zero: any
	Hanging     time.Time // only those that hang at this moment; zero: any
	Before      string    // id of the last payment of the page before; "" the first page
	Limit       int
}

// Outcome is what a change of a payment or refund brings with it, in one transaction.
type Outcome struct {
	Unchanged bool            // nothing is written
	Post      *ledger.Posting // of money
	Events    []audit.Event
	Rule      *Rule // its new content
}

// Bounds are checked in the transaction that adds a payment.
type Bounds struct {
	Open int // payments of the account that have not ended
}

// Store keeps payments. Each method that writes is one transaction.
type Store interface {
	// AddPayment adds a payment, and with rule the consent that it begins with. It fails with fault.RateLimited when the account has as many
	// open payments as bounds permit; an automatic one with fault.Conflict when another is open or the rule is not active any more,
	// and with fault.Unprocessable when it would exceed the rule's cap.
	AddPayment(ctx context.Context, p Payment, b Bounds, rule *Rule, e audit.Event) error
	// PaymentByID fails with fault.NotFound.
	PaymentByID(ctx context.Context, id string) (Payment, error)
	// PaymentOf finds a payment by the provider's id. It fails with fault.NotFound.
	PaymentOf(ctx context.Context, provider, providerID string) (Payment, error)
	// Payments lists payments, newest first. It fails with fault.NotFound when there is no q.Before.
	Payments(ctx context.Context, q Query) ([]Payment, error)
	// Unanswered reports whether there is a payment of which the provider's id is not known.
	Unanswered(ctx context.Context, provider string) (bool, error)
	// UpdatePayment changes a payment as f says, which gets the payment and the account's rule (nil: none) while no other transaction can change
	// them. f may run more than once. A provider's id that another payment has fails with fault.Conflict.
	UpdatePayment(ctx context.Context, id string, now time.Time, f func(p *Payment, r *Rule) (Outcome, error)) (Payment, error)
	// ClaimPayments takes at most n payments that are due until another time, so that no other node asks of them.
	ClaimPayments(ctx context.Context, now, until time.Time, n int) ([]Payment, error)
	// ClaimPayment takes one that was not touched since a time, and reports whether it did.
	ClaimPayment(ctx context.Context, id string, since, now time.Time) (bool, error)

	// AddRefund adds a refund, posts its debit and returns it; repeated, it returns the refund of the same id. It fails with fault.Conflict
	// when the id refunded something else, and with fault.Unprocessable when more would be refunded than was paid or than is available. f
	// gets the payment while no other transaction can change it, and may refuse.
	AddRefund(ctx context.Context, r Refund, post ledger.Posting, f func(*Payment) (audit.Event, error)) (Refund, error)
	// RefundByID and RefundOf fail with fault.NotFound.
	RefundByID(ctx context.Context, id string) (Refund, error)
	RefundOf(ctx context.Context, provider, providerID string) (Refund, error)
	// PaymentRefunds lists those of a payment, oldest first.
	PaymentRefunds(ctx context.Context, payment string) ([]Refund, error)
	// UpdateRefund is like UpdatePayment.
	UpdateRefund(ctx context.Context, id string, now time.Time, f func(r *Refund, p *Payment) (Outcome, error)) (Refund, error)
	ClaimRefunds(ctx context.Context, now, until time.Time, n int) ([]Refund, error)

	// RuleOf fails with fault.NotFound.
	RuleOf(ctx context.Context, account string) (Rule, error)
	// ChangeRule changes a rule as f says; nil removes it. It fails with fault.NotFound.
	ChangeRule(ctx context.Context, account string, now time.Time, f func(r *Rule) (*Rule, audit.Event, error)) error
	// DueRules lists active rules whose wallet has less than the threshold.
	DueRules(ctx context.Context, now time.Time, n int) ([]Rule, error)
	// AutoSum is what automatic top-ups of an account have charged, or may yet, since a time.
	AutoSum(ctx context.Context, account string, since time.Time) (money.Nano, error)
}

// Order asks a provider for a payment.
type Order struct {
	Key         string // id of the Payment: the same one makes one payment
	Amount      money.Nano
	Description string
	ReturnURL   string
	Email       string // of the receipt
	Save        bool
	Method      string // a saved method, which needs no payer
}

// RefundOrder asks a provider for a refund.
type RefundOrder struct {
	Key     string // id of the Refund
	Payment string // the provider's id
	Amount  money.Nano
	Whole   bool // all that was paid
	Email   string
}

// Provider is a payment provider. Its methods fail with fault.Unprocessable when the provider refuses the request for good, with
// fault.PermissionDenied when it does not accept our credentials, with fault.NotFound when it does not have what is asked for, and with other
// kinds when what it did is not known.
type Provider interface {
	// Name is the source of its top-ups.
	Name() string
	Create(ctx context.Context, o Order) (Remote, error)
	Payment(ctx context.Context, id string) (Remote, error)
	// Capture takes the money of a payment that waits for it. The same key captures once.
	Capture(ctx context.Context, id, key string, amount money.Nano) (Remote, error)
	Refund(ctx context.Context, o RefundOrder) (RemoteRefund, error)
	RefundByID(ctx context.Context, id string) (RemoteRefund, error)
	// Refunds lists those of a payment.
	Refunds(ctx context.Context, payment string) ([]RemoteRefund, error)
	// List calls each with all payments that were made since a time, until it returns false.
	List(ctx context.Context, since time.Time, each func(Remote) bool) error
}
