package demo

import (
	"context"
	"strconv"
	"time"

	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/payment"
)

// fund gives an account the money that its calls of a day need, in the evening before: by payments of its own, or from an operator.
func (x *month) fund(ctx context.Context, p *person, day int, cost money.Nano) error {
	p.charged += cost
	least := p.step / 10
	if p == x.cast[0] && day == Days-1 {
		least = x.Keep
	}
	at := x.first.AddDate(0, 0, day-1).Add(18*time.Hour + time.Duration(x.rnd.IntN(90))*time.Minute)
	if day == 0 {
		at = x.first.Add(9 * time.Hour)
	}
	at = x.notLater(at)
	for p.balance-cost < least {
		var err error
		if p.pays {
			err = x.pay(ctx, p, at)
		} else {
			_, err = ledger.Credit(ctx, x.into.Ledger, ledger.TopUp{Wallet: p.user.Wallet, Source: "demo", ExternalID: x.id("top_", 16), Amount: p.step, Actor: Actor}, at)
			x.made.TopUps++
		}
		if err != nil {
			return err
		}
		p.balance += p.step
		at = x.notLater(at.Add(4 * time.Minute))
	}
	p.balance -= cost
	return nil
}

// pay makes a payment by card. The first of the owner was given up before: the payer closed the page.
func (x *month) pay(ctx context.Context, p *person, at time.Time) error {
	if p == x.cast[0] && x.made.Payments == 0 {
		if err := x.payment(ctx, p, x.notLater(at.Add(-20*time.Minute)), func(q *payment.Payment) {
			q.State, q.Reason, q.EndedAt = payment.Canceled, "expired_on_confirmation", x.notLater(at.Add(-9*time.Minute))
		}, nil); err != nil {
			return err
		}
	}
	x.made.Payments++
	top := ledger.TopUp{Wallet: p.user.Wallet, Source: provider, Amount: p.step, Actor: audit.Actor{Name: "payment:" + provider}}
	return x.payment(ctx, p, at, func(q *payment.Payment) {
		q.State, q.Paid, q.MethodTitle, q.EndedAt = payment.Succeeded, p.step, "Bank card *"+strconv.Itoa(4400+len(p.name)), at
	}, &top)
}

// provider is whose payments they are: that of the simulated shop.
const provider = "yookassa"

// payment adds a payment and brings it to its end; top is the money that it brings, nil none.
func (x *month) payment(ctx context.Context, p *person, at time.Time, end func(*payment.Payment), top *ledger.TopUp) error {
	q := payment.Payment{ID: x.id("pay_", 24), Account: p.user.ID, Wallet: p.user.Wallet, Provider: provider, State: payment.New, Amount: p.step,
		Description: "Top-up", CreatedAt: at, UpdatedAt: at}
	if err := x.into.Payments.AddPayment(ctx, q, payment.Bounds{Open: 1}, nil, audit.Event{Actor: Actor, Action: audit.PaymentMade, Target: q.ID, After: p.step.String() + " rubles"}); err != nil {
		return err
	}
	remote := x.id("", 32)
	_, err := x.into.Payments.UpdatePayment(ctx, q.ID, at, func(q *payment.Payment, _ *payment.Rule) (o payment.Outcome, err error) {
		q.ProviderID, q.DueAt = remote, time.Time{}
		if end(q); top == nil {
			return o, nil
		}
		top.ExternalID = remote
		post, err := top.Posting(at)
		o.Post = &post
		return o, err
	})
	return err
}
