package accountapi

import (
	"context"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/payment"
)

// PaySettings is what can be paid.
type PaySettings struct {
	Provider      string       `json:"provider"`
	Test          bool         `json:"test"` // the money is play money
	Min           money.Nano   `json:"min"`
	Max           money.Nano   `json:"max"`
	Amounts       []money.Nano `json:"amounts"`         // to offer
	EmailRequired bool         `json:"email_required"`  // receipts are sent
	MaxMonthlyCap *money.Nano  `json:"max_monthly_cap"` // the highest cap of automatic top-ups; null: absent
}

// AutoTopUp is how a wallet is topped up by itself.
type AutoTopUp struct {
	State      string     `json:"state" enum:"waiting,active,paused"` // waiting: for the payment that saves the method
	Reason     *string    `json:"reason"`                             // why it is paused
	Method     *string    `json:"method"`
	Threshold  money.Nano `json:"threshold"`
	Amount     money.Nano `json:"amount"`
	MonthlyCap money.Nano `json:"monthly_cap"`
	ThisMonth  money.Nano `json:"this_month"` // what was charged in this calendar month
	ConsentAt  time.Time  `json:"consent_at"`
}

// Payment is money from outside.
type Payment struct {
	ID        string      `json:"id"`
	State     string      `json:"state" enum:"pending,succeeded,canceled"`
	Amount    money.Nano  `json:"amount"`   // rubles that were asked for
	Paid      *money.Nano `json:"paid"`     // rubles that the provider confirmed and the wallet got; null before
	Refunded  money.Nano  `json:"refunded"` // rubles that went back to the payer
	URL       *string     `json:"url"`      // where the payer confirms the payment
	Method    *string     `json:"method"`   // what it was paid with, such as Bank card *4444
	Reason    *string     `json:"reason"`   // why it was canceled, in the word of the provider
	Automatic bool        `json:"automatic"`
	Provider  string      `json:"provider"`
	CreatedAt time.Time   `json:"created_at"`
	EndedAt   *time.Time  `json:"ended_at"`
}

// PaymentOf shows a payment to its payer.
func PaymentOf(p *payment.Payment) Payment {
	state := p.State
	if state == payment.New {
		state = payment.Pending // whether the provider has answered is not the payer's concern
	}
	out := Payment{
		ID: p.ID, State: string(state), Amount: p.Amount, Refunded: p.Refunded, URL: OrNull(p.URL), Method: OrNull(p.MethodTitle), Reason: OrNull(p.Reason), Automatic: p.Auto,
		Provider: p.Provider, CreatedAt: p.CreatedAt, EndedAt: Moment(p.EndedAt),
	}
	if p.Paid > 0 {
		out.Paid = &p.Paid
	}
	return out
}

// Moment is a time, or nil for one that is not set.
func Moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// PaymentList is a page of payments with what can be paid.
type PaymentList struct {
	Settings *PaySettings `json:"settings"` // null: this gateway takes no payments
	Auto     *AutoTopUp   `json:"auto"`
	List[Payment]
}

// AutoTerms is what a person consents to. All members are needed.
type AutoTerms struct {
	Threshold  *money.Nano `json:"threshold,omitempty"`   // rubles below which the wallet is topped up
	Amount     *money.Nano `json:"amount,omitempty"`      // rubles of a top-up
	MonthlyCap *money.Nano `json:"monthly_cap,omitempty"` // the most rubles that are charged in a calendar month, UTC
	Consent    bool        `json:"consent,omitempty"`     // true: the person permits charges without being asked each time
}

// terms checks that all is said, the consent in words.
func (t *AutoTerms) terms(under string) (*payment.Terms, error) {
	const op = "accountapi.terms"
	switch {
	case t.Threshold == nil || t.Amount == nil || t.MonthlyCap == nil:
		return nil, fault.Field(op, under+"threshold", "Automatic top-ups need threshold, amount and monthly_cap, all in rubles.").Coded("auto_terms")
	case !t.Consent:
		return nil, fault.Field(op, under+"consent", "consent must be true: the person permits charges without being asked each time.").Coded("consent")
	}
	return &payment.Terms{Threshold: *t.Threshold, Amount: *t.Amount, Cap: *t.MonthlyCap}, nil
}

type newPayment struct {
	Amount money.Nano                 `json:"amount,omitempty" null:"none"` // rubles, with at most two decimals
	Email  string                     `json:"email,omitempty" null:"none"`  // where the receipt goes; required when settings.email_required
	Auto   operation.Maybe[AutoTerms] `json:"auto"`
}

type paymentID struct {
	ID string `json:"-" path:"id"` // of the payment
}

// autoAnswer is the automatic top-ups as they are now.
type autoAnswer struct {
	Auto *AutoTopUp `json:"auto"`
}

type paymentOperations struct{ *payment.Service }

// PaymentsOf is the service of payments, or why this gateway has none.
func PaymentsOf(s *payment.Service) (*payment.Service, error) {
	if s == nil {
		return nil, fault.New(fault.NotFound, "accountapi.payments", "This gateway takes no payments. Ask its operator to credit your wallet.")
	}
	return s, nil
}

func (p paymentOperations) rule(ctx context.Context, user string) (*AutoTopUp, error) {
	r, spent, err := p.Rule(ctx, user)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &AutoTopUp{
		State: string(r.State), Reason: OrNull(r.Why), Method: OrNull(r.MethodTitle), Threshold: r.Threshold, Amount: r.Amount, MonthlyCap: r.Cap, ThisMonth: spent, ConsentAt: r.ConsentAt,
	}, nil
}

func (p paymentOperations) settings() *PaySettings {
	c := p.Config()
	s := &PaySettings{Provider: p.Provider(), Test: c.Test, Min: c.Min, Max: c.Max, Amounts: c.Amounts, EmailRequired: c.Receipts}
	if c.Auto.Enabled {
		s.MaxMonthlyCap = &c.Auto.MaxCap
	}
	return s
}

func (p paymentOperations) list(ctx context.Context, c *operation.Call, in *PageOf) (out PaymentList, err error) {
	if p.Service == nil {
		out.Data = []Payment{}
		return out, nil
	}
	out.Settings = p.settings()
	if out.Auto, err = p.rule(ctx, c.User); err != nil {
		return out, err
	}
	out.List, err = Paged(ctx, *in, func(ctx context.Context, after string, most int) ([]payment.Payment, error) {
		return p.Payments(ctx, payment.Query{Account: c.User, Before: after, Limit: most})
	}, func(p *payment.Payment) (Payment, string) { return PaymentOf(p), p.ID })
	return out, err
}

func (p paymentOperations) make(ctx context.Context, c *operation.Call, in *newPayment) (out operation.Data[Payment], err error) {
	s, err := PaymentsOf(p.Service)
	if err != nil {
		return out, err
	}
	a := payment.Ask{Account: c.User, Wallet: c.Wallet, Actor: c.Actor, Amount: in.Amount, Email: strings.TrimSpace(in.Email), ReturnURL: c.Base() + "/money/top-up?payment={id}"}
	if in.Auto.Value != nil {
		if a.Auto, err = in.Auto.Value.terms("auto."); err != nil {
			return out, err
		}
	}
	c.NoStore()
	made, err := s.Make(ctx, a)
	return operation.Data[Payment]{Data: PaymentOf(&made)}, err
}

func (p paymentOperations) changeAuto(ctx context.Context, c *operation.Call, in *AutoTerms) (out autoAnswer, err error) {
	s, err := PaymentsOf(p.Service)
	if err != nil {
		return out, err
	}
	t, err := in.terms("")
	if err != nil {
		return out, err
	}
	if err := s.ChangeTerms(ctx, c.User, *t, c.Actor); err != nil {
		if e := fault.From(err); strings.HasPrefix(e.Param, "auto.") { // as this route names it
			here := *e
			here.Param, here.Public = strings.TrimPrefix(e.Param, "auto."), strings.ReplaceAll(e.Public, "auto.", "")
			return out, &here
		}
		return out, err
	}
	out.Auto, err = p.rule(ctx, c.User)
	return out, err
}

func (p paymentOperations) endAuto(ctx context.Context, c *operation.Call, _ *operation.None) (operation.None, error) {
	s, err := PaymentsOf(p.Service)
	if err != nil {
		return operation.None{}, err
	}
	return operation.None{}, s.Withdraw(ctx, c.User, c.Actor)
}

func (p paymentOperations) get(ctx context.Context, c *operation.Call, in *paymentID) (out operation.Data[Payment], err error) {
	s, err := PaymentsOf(p.Service)
	if err != nil {
		return out, err
	}
	c.NoStore()
	one, err := s.Fresh(ctx, c.User, in.ID)
	return operation.Data[Payment]{Data: PaymentOf(&one)}, err
}

func payments(s *payment.Service) []operation.Operation {
	p := paymentOperations{s}
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/payments", ID: "listPayments", Org: operation.Payers, Access: operation.Management, Tag: "account",
			Summary: "What can be paid here, the automatic top-ups, and the payments of the account, the newest first", Answer: "One page",
		}, p.list),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/payments", ID: "createPayment", Org: operation.Payers, Access: operation.Management, Status: 201, Tag: "account",
			Summary: "Begin a payment: send the payer to its url", Answer: "The payment", Example: `{"amount": "500"}`,
			Description: "The money is credited when the provider confirms it, in the amount that it confirms. With `auto` the payer consents to automatic top-ups with the method " +
				"that they pay with. When the provider does not answer, the payment is kept and asked for again: look for it in the list before you make another.",
		}, p.make),
		operation.Of(operation.Operation{
			Method: "PUT", Path: "/api/payments/auto", ID: "changeAutoTopUp", Org: operation.Payers, Access: operation.Management, Fresh: true, Tag: "account",
			Summary: "Change the automatic top-ups, or begin them again after a pause; a payment with auto saves the method first", Answer: "The automatic top-ups",
			Example: `{"threshold": "300", "amount": "1000", "monthly_cap": "5000", "consent": true}`,
		}, p.changeAuto),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/payments/auto", ID: "endAutoTopUp", Org: operation.Payers, Access: operation.Management, Status: 204, Tag: "account",
			Summary: "Withdraw the consent to automatic top-ups; the saved method is forgotten", Answer: "Nothing is charged any more",
		}, p.endAuto),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/payments/{id}", ID: "getPayment", Org: operation.Payers, Access: operation.Management, Tag: "account",
			Summary: "One payment. The provider is asked first when it is open: ask every few seconds while somebody waits for the money", Answer: "The payment",
		}, p.get),
	}
}
