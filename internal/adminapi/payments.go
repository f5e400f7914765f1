package adminapi

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"weir/internal/accountapi"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/payment"
)

// AnyPayment is a payment as operators see it.
type AnyPayment struct {
	accountapi.Payment
	User       string  `json:"user"`
	UserName   *string `json:"user_name"`
	ProviderID *string `json:"provider_id"`
	Problem    *string `json:"problem"`                                                 // why money that the provider confirms is not credited
	Hangs      *string `json:"hangs" enum:"problem,unanswered,waits_long,refund_waits"` // why it needs a person; null: it needs none
}

// PaymentRefund is money of a payment that goes back to the payer.
type PaymentRefund struct {
	ID        string     `json:"id"`
	Payment   string     `json:"payment"`
	State     string     `json:"state" enum:"pending,succeeded,canceled"`
	Amount    money.Nano `json:"amount"`
	Reason    string     `json:"reason"`
	Failure   *string    `json:"failure"` // why it was canceled
	CreatedAt time.Time  `json:"created_at"`
}

// PaymentEvent is what happened to a payment.
type PaymentEvent struct {
	At        time.Time   `json:"at"`
	What      string      `json:"what" enum:"made,paid,canceled,problem,checked,refund_made,refund_done,refund_canceled"`
	Amount    *money.Nano `json:"amount"`     // rubles
	Actor     *string     `json:"actor"`      // as the audit log has it
	ActorName *string     `json:"actor_name"` // of that user, or of the owner of that key
	Refund    *string     `json:"refund"`     // id of the refund
	Note      *string     `json:"note"`       // the reason, or the words of the provider
}

// PaymentWithHistory is a payment with what happened to it, and what a refund can take.
type PaymentWithHistory struct {
	AnyPayment
	NextAt    *time.Time      `json:"next_at"`    // when the provider is asked again; null: never
	Left      money.Nano      `json:"left"`       // rubles that can be refunded
	Available *money.Nano     `json:"available"`  // rubles of the wallet, without what is on hold; null: the account is gone
	MayCheck  bool            `json:"may_check"`  // the provider that is configured made it, and may know more: it has not been paid, or a refund has not ended
	MayRefund bool            `json:"may_refund"` // it was paid, with the provider that is configured, and something is left
	Refunds   []PaymentRefund `json:"refunds"`    // the oldest first
	Events    []PaymentEvent  `json:"events"`     // the oldest first
}

type listPayments struct {
	accountapi.PageOf
	User     string `json:"-" query:"user"`                                    // only those of this user
	Open     bool   `json:"-" query:"open"`                                    // only those that have not ended or have a problem
	State    string `json:"-" query:"state" enum:"pending,succeeded,canceled"` // only those in this state
	Hanging  bool   `json:"-" query:"hanging"`                                 // only those that need a person
	Provider string `json:"-" query:"provider" maxLength:"40"`                 // only those of this provider
	Search   string `json:"-" query:"q" maxLength:"200"`                       // the whole id of a payment or of its refund, here or at the provider
	From     string `json:"-" query:"from" maxLength:"40"`                     // made on or after a day of UTC (YYYY-MM-DD), or a time (RFC 3339)
	To       string `json:"-" query:"to" maxLength:"40"`                       // a day of UTC, which is included, or a time, which is not
}

func (in *listPayments) query(at time.Time) (q payment.Query, err error) {
	q = payment.Query{Account: in.User, Open: in.Open, State: payment.State(in.State), Provider: in.Provider, Name: strings.TrimSpace(in.Search)}
	switch q.State {
	case "", payment.Pending, payment.Succeeded, payment.Canceled:
	default:
		return q, fault.Field("adminapi.listPayments", "state", "state must be pending, succeeded or canceled.").Coded("payment_state")
	}
	if in.Hanging {
		q.Hanging = at
	}
	q.From, q.Until, err = accountapi.Moments(in.From, in.To)
	return q, err
}

type refundInput struct {
	ID        string      `json:"-" path:"id"`                                                                             // of the payment
	Amount    *money.Nano `json:"amount,omitempty" null:"none"`                                                            // rubles; without it, all that is left
	Reason    string      `json:"reason,omitempty" null:"none" minLength:"1" maxLength:"1000"`                             // stored with the posting; the user can read it
	Reference string      `json:"reference,omitempty" null:"none" minLength:"1" maxLength:"50" pattern:"^[A-Za-z0-9_-]+$"` // names the refund: the same one refunds once
	Refunded  *money.Nano `json:"refunded,omitempty" null:"none"`                                                          // rubles that were refunded before, as you know it; when it is another sum, nothing is refunded
	BelowZero bool        `json:"below_zero,omitempty" null:"none"`                                                        // the wallet may owe money afterwards
}

type paymentID struct {
	ID string `json:"-" path:"id"` // of the payment
}

func anyPayment(p *payment.Payment, names map[string]string, at time.Time) AnyPayment {
	return AnyPayment{
		Payment: accountapi.PaymentOf(p), User: p.Account, UserName: accountapi.OrNull(names[p.Account]), ProviderID: accountapi.OrNull(p.ProviderID), Problem: accountapi.OrNull(p.Problem),
		Hangs: accountapi.OrNull(string(p.Hangs(at))),
	}
}

func paymentRefund(f *payment.Refund) PaymentRefund {
	state := f.State
	if state == payment.New {
		state = payment.Pending
	}
	return PaymentRefund{ID: f.ID, Payment: f.Payment, State: string(state), Amount: f.Amount, Reason: f.Reason, Failure: accountapi.OrNull(f.Failure), CreatedAt: f.CreatedAt}
}

type paymentOperations struct {
	s   *payment.Service
	log AuditLog
	of  accountapi.Deps
}

// paymentRoutes are the operations with which operators find payments, have the provider asked of them, and refund them.
func paymentRoutes(d Deps) []operation.Operation {
	o := paymentOperations{d.Payments, d.Audit, d.Of}
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/payments", ID: "listAllPayments", Access: operation.Operating, Tag: "administration",
			Summary: "Payments of all accounts, the newest first", Answer: "One page",
			Description: "A payment hangs when the provider confirms money that is not credited, has not answered for 10 minutes, or has neither confirmed nor canceled it for 2 hours, or when a refund is under way for an hour.",
		}, o.list),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/payments/{id}", ID: "getAnyPayment", Access: operation.Operating, Tag: "administration",
			Summary: "A payment of any account with what happened to it", Answer: "The payment",
		}, o.get),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/payments/{id}/check", ID: "checkPayment", Access: operation.Operating, Tag: "administration",
			Summary: "Ask the provider of a payment now", Answer: "The payment",
			Description: "The payment, and its refunds that are under way, become what the provider says. Only money that it confirms is credited.",
		}, o.check),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/payments/{id}/refund", ID: "refundPayment", Access: operation.Administration, Fresh: true, Tag: "administration",
			Summary: "Give money of a payment back to the payer, and take it from the wallet", Answer: "The refund",
			Example: `{"amount": "100", "reason": "Asked for by mail", "reference": "T-1001"}`,
			Description: "The wallet is debited first, then the provider is asked. A refund that the provider has not decided yet is pending and followed; one that it refuses is " +
				"canceled, and its money is in the wallet again. The refunds of a payment never exceed it.",
		}, o.refund),
	}
}

func (o paymentOperations) list(ctx context.Context, c *operation.Call, in *listPayments) (out accountapi.List[AnyPayment], err error) {
	s, err := accountapi.PaymentsOf(o.s)
	if err != nil {
		return out, err
	}
	q, err := in.query(c.At)
	if err != nil {
		return out, err
	}
	var names map[string]string
	return accountapi.Paged(ctx, in.PageOf, func(ctx context.Context, after string, most int) ([]payment.Payment, error) {
		q.Before, q.Limit = after, most
		all, err := s.Payments(ctx, q)
		if err != nil {
			return nil, err
		}
		var ids []string
		for i := range all {
			ids = append(ids, all[i].Account)
		}
		slices.Sort(ids)
		names, err = o.log.NamesOf(ctx, slices.Compact(ids))
		return all, err
	}, func(p *payment.Payment) (AnyPayment, string) { return anyPayment(p, names, c.At), p.ID })
}

func (o paymentOperations) get(ctx context.Context, c *operation.Call, in *paymentID) (out operation.Data[PaymentWithHistory], err error) {
	s, err := accountapi.PaymentsOf(o.s)
	if err != nil {
		return out, err
	}
	c.NoStore()
	p, err := s.PaymentByID(ctx, in.ID)
	if err != nil {
		return out, err
	}
	out.Data, err = o.detail(ctx, s, &p, c.At)
	return out, err
}

func (o paymentOperations) detail(ctx context.Context, s *payment.Service, p *payment.Payment, at time.Time) (d PaymentWithHistory, err error) {
	refunds, err := s.Refunds(ctx, p.ID)
	if err != nil {
		return d, err
	}
	rows, err := o.log.AuditFound(ctx, audit.Search{Target: p.ID, Limit: 200})
	if err != nil {
		return d, err
	}
	d.Events = paymentEvents(p, refunds, rows)
	ids := []string{p.Account}
	for i := range d.Events {
		if d.Events[i].Actor != nil {
			ids = append(ids, actorID(*d.Events[i].Actor))
		}
	}
	slices.Sort(ids)
	names, err := o.log.NamesOf(ctx, slices.Compact(ids))
	if err != nil {
		return d, err
	}
	for i := range d.Events {
		if a := d.Events[i].Actor; a != nil {
			d.Events[i].ActorName = accountapi.OrNull(names[actorID(*a)])
		}
	}
	d.AnyPayment, d.NextAt, d.Left = anyPayment(p, names, at), accountapi.Moment(p.DueAt), p.Paid-p.Refunded
	own := p.Provider == s.Provider()
	d.MayRefund = own && p.State == payment.Succeeded && d.Left > 0
	d.MayCheck = own && (p.State != payment.Succeeded || slices.ContainsFunc(refunds, func(f payment.Refund) bool { return !f.State.Ended() }))
	d.Refunds = make([]PaymentRefund, len(refunds))
	for i := range refunds {
		d.Refunds[i] = paymentRefund(&refunds[i])
	}
	who, err := onePerson(ctx, o.of, p.Account)
	if fault.Is(err, fault.NotFound) {
		return d, nil
	}
	if err == nil {
		available := who.Available()
		d.Available = &available
	}
	return d, err
}

// paymentEvents puts together what the payment, its refunds and the audit log know, in its order. rows are the newest first.
func paymentEvents(p *payment.Payment, refunds []payment.Refund, rows []audit.Row) []PaymentEvent {
	made := PaymentEvent{At: p.CreatedAt, What: "made", Amount: &p.Amount}
	all := []PaymentEvent{}
	for i := range rows {
		r := &rows[i]
		e := PaymentEvent{At: r.At, Actor: accountapi.OrNull(r.Name), Note: accountapi.OrNull(r.After)}
		switch r.Action {
		case audit.PaymentMade:
			made.Actor = e.Actor
			continue
		case audit.PaymentCanceled:
			e.What = "canceled"
		case audit.PaymentProblem:
			e.What = "problem"
		case audit.PaymentChecked:
			e.What = "checked"
		default: // refunds are known better from themselves
			continue
		}
		all = append(all, e)
	}
	all = append(all, made)
	if p.State == payment.Succeeded {
		all = append(all, PaymentEvent{At: p.EndedAt, What: "paid", Amount: &p.Paid, Note: accountapi.OrNull(p.MethodTitle)})
	}
	for i := range refunds {
		f := &refunds[i]
		all = append(all, PaymentEvent{At: f.CreatedAt, What: "refund_made", Amount: &f.Amount, Actor: accountapi.OrNull(f.Actor), Refund: &f.ID, Note: accountapi.OrNull(f.Reason)})
		switch f.State {
		case payment.Succeeded:
			all = append(all, PaymentEvent{At: f.UpdatedAt, What: "refund_done", Amount: &f.Amount, Refund: &f.ID})
		case payment.Canceled:
			all = append(all, PaymentEvent{At: f.UpdatedAt, What: "refund_canceled", Amount: &f.Amount, Refund: &f.ID, Note: accountapi.OrNull(f.Failure)})
		case payment.New, payment.Pending:
		}
	}
	order := []string{"made", "problem", "paid", "canceled", "refund_made", "refund_done", "refund_canceled", "checked"}
	slices.SortStableFunc(all, func(a, b PaymentEvent) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(slices.Index(order, a.What), slices.Index(order, b.What)))
	})
	return all
}

func (o paymentOperations) check(ctx context.Context, c *operation.Call, in *paymentID) (out operation.Data[PaymentWithHistory], err error) {
	s, err := accountapi.PaymentsOf(o.s)
	if err != nil {
		return out, err
	}
	c.NoStore()
	p, err := s.Check(ctx, in.ID, c.Actor)
	if err != nil {
		return out, err
	}
	out.Data, err = o.detail(ctx, s, &p, c.At)
	return out, err
}

func (o paymentOperations) refund(ctx context.Context, c *operation.Call, in *refundInput) (out operation.Data[PaymentRefund], err error) {
	const op = "adminapi.refundPayment"
	s, err := accountapi.PaymentsOf(o.s)
	if err != nil {
		return out, err
	}
	g := payment.Give{Payment: in.ID, ID: in.Reference, Reason: in.Reason, Seen: in.Refunded, BelowZero: in.BelowZero, Actor: c.Actor}
	if in.Amount != nil {
		if g.Amount = *in.Amount; g.Amount <= 0 {
			return out, fault.Field(op, "amount", "amount must be above zero. Leave it out to refund all that is left.").Coded("refund_above_zero")
		}
	}
	if g.ID == "" {
		return out, fault.Field(op, "reference", "reference is missing: give the id of a case, ticket or letter; the same one refunds once.").Coded("reference_missing")
	}
	f, err := s.GiveBack(ctx, g)
	out.Data = paymentRefund(&f)
	return out, err
}
