package payment

import (
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
)

const (
	maxFails = 3              // automatic top-ups that may fail in a row
	failWait = 24 * time.Hour // after one that failed
)

// learn brings a payment to what the provider says of it. Money is credited once: only the change to Succeeded posts it, and its reference
// is the provider's id, which only one payment can have.
func (s *Service) learn(p *Payment, r *Rule, x *Remote, now time.Time) (Outcome, error) {
	by := audit.Actor{Name: "payment:" + p.Provider}
	p.Tries++
	switch {
	case p.State == Succeeded:
		return Outcome{Unchanged: true}, nil
	case p.ProviderID != "" && p.ProviderID != x.ID:
		return s.problem(p, "the provider has two payments for this one: "+p.ProviderID+" and "+x.ID, by, now), nil
	case x.Reference != p.ID:
		return s.problem(p, "the provider's payment "+x.ID+" is for another reference, "+clip(x.Reference), by, now), nil
	}
	p.ProviderID = x.ID
	switch x.State {
	case RemoteSucceeded:
		return s.credit(p, r, x, by, now)
	case RemoteCanceled:
		if p.State == Canceled {
			return Outcome{Unchanged: true}, nil
		}
		return cancel(p, r, x.Reason, by, now), nil
	}
	if p.State == Canceled { // here alone, because the provider was silent: it has the last word
		p.EndedAt, p.Reason = time.Time{}, ""
	}
	p.State, p.DueAt = Pending, now.Add(pause(now.Sub(p.CreatedAt)))
	if x.URL != "" {
		p.URL = x.URL
	}
	return Outcome{}, nil
}

// credit posts the money that the provider confirms.
func (s *Service) credit(p *Payment, r *Rule, x *Remote, by audit.Actor, now time.Time) (o Outcome, err error) {
	switch {
	case x.Currency != rub:
		return s.problem(p, "the provider confirms "+x.Amount.String()+" of "+clip(x.Currency)+", and wallets have rubles", by, now), nil
	case x.Amount <= 0 || x.Amount > ledger.MaxPosting:
		return s.problem(p, "the provider confirms an implausible amount, "+x.Amount.String(), by, now), nil
	case x.Test && !s.cfg.Test:
		return s.problem(p, "the provider confirms a test payment, which is play money, and this gateway takes real money", by, now), nil
	}
	top := ledger.TopUp{Wallet: p.Wallet, Source: p.Provider, ExternalID: x.ID, Amount: x.Amount, Actor: by}
	post, err := top.Posting(now)
	if err != nil {
		return o, err
	}
	if x.Amount != p.Amount {
		s.cfg.Report("the provider confirms another amount than was asked for; what it confirms is credited", p.ID, nil)
	}
	p.State, p.Paid, p.MethodTitle, p.Reason, p.Problem, p.URL, p.EndedAt, p.DueAt = Succeeded, x.Amount, x.Method.Title, "", "", "", now, time.Time{}
	o.Post = &post
	if r == nil {
		return o, nil
	}
	switch {
	case p.Auto:
		r.Fails = 0
		o.Rule = r
	case r.State == RuleWaiting && r.Payment == p.ID:
		o.Rule = r
		if x.Method.Saved {
			r.State, r.Method, r.MethodTitle, r.DueAt = RuleActive, x.Method.ID, x.Method.Title, now
		} else {
			r.State, r.Why = RulePaused, "method_not_saved"
		}
		o.Events = append(o.Events, ruleEvent(r, by))
	}
	return o, nil
}

// problem notes why a payment is not credited, and looks again later. It is reported once.
func (s *Service) problem(p *Payment, what string, by audit.Actor, now time.Time) (o Outcome) {
	p.DueAt = now.Add(mostPause)
	if p.State == Canceled {
		p.DueAt = time.Time{}
	}
	if p.Problem != what {
		p.Problem = what
		o.Events = []audit.Event{{Actor: by, Action: audit.PaymentProblem, Target: p.ID, After: what}}
		s.cfg.Report("a payment is not credited: "+what, p.ID, nil)
	}
	return o
}

// cancel ends a payment without money.
func cancel(p *Payment, r *Rule, why string, by audit.Actor, now time.Time) Outcome {
	p.State, p.Reason, p.URL, p.EndedAt, p.DueAt = Canceled, clip(why), "", now, time.Time{}
	o := Outcome{Events: []audit.Event{{Actor: by, Action: audit.PaymentCanceled, Target: p.ID, After: p.Reason}}}
	switch {
	case r == nil:
	case p.Auto && r.State == RuleActive:
		r.Fails++
		r.DueAt = now.Add(failWait)
		if r.Fails >= maxFails || lasting[why] {
			r.State, r.Why = RulePaused, p.Reason
			o.Events = append(o.Events, ruleEvent(r, by))
		}
		o.Rule = r
	case r.State == RuleWaiting && r.Payment == p.ID:
		r.State, r.Why = RulePaused, p.Reason
		o.Rule = r
		o.Events = append(o.Events, ruleEvent(r, by))
	}
	return o
}

// lasting are reasons for which the same method will not work tomorrow either.
var lasting = map[string]bool{"permission_revoked": true, "card_expired": true, "invalid_card_number": true, "payment_method_restricted": true, "country_forbidden": true, "fraud_suspected": true}

func ruleEvent(r *Rule, by audit.Actor) audit.Event {
	return audit.Event{Actor: by, Action: audit.AutoTopUpSet, Target: r.Account, After: r.words()}
}

func (r *Rule) words() string {
	text := string(r.State) + ": " + r.Amount.String() + " rubles below " + r.Threshold.String() + ", at most " + r.Cap.String() + " a month"
	if r.Why != "" {
		text += ", " + r.Why
	}
	return text
}

// learnRefund brings a refund to what the provider says of it. The wallet was debited when it was made; a refund that is canceled gives
// the money back.
func (s *Service) learnRefund(f *Refund, p *Payment, x *RemoteRefund, now time.Time) (Outcome, error) {
	f.Tries++
	switch {
	case f.State.Ended():
		return Outcome{Unchanged: true}, nil
	case x.Payment != p.ProviderID || x.State == RemoteSucceeded && (x.Amount != f.Amount || x.Currency != rub):
		f.DueAt = now.Add(mostPause)
		s.cfg.Report("the provider's refund "+x.ID+" is another than was asked for, of "+x.Amount.String()+" "+clip(x.Currency), f.ID, nil)
		return Outcome{}, nil
	}
	f.ProviderID = x.ID
	switch x.State {
	case RemoteSucceeded:
		f.State, f.DueAt = Succeeded, time.Time{}
		return Outcome{}, nil
	case RemoteCanceled:
		return cancelRefund(f, p, x.Reason, now)
	}
	f.State, f.DueAt = Pending, now.Add(pause(now.Sub(f.CreatedAt)))
	return Outcome{}, nil
}

func cancelRefund(f *Refund, p *Payment, why string, now time.Time) (Outcome, error) {
	by := audit.Actor{Name: "payment:" + p.Provider}
	f.State, f.Failure, f.DueAt = Canceled, clip(why), time.Time{}
	top := ledger.TopUp{Wallet: p.Wallet, Source: p.Provider, ExternalID: "refund:" + f.ID + ":canceled", Amount: f.Amount, Actor: by}
	post, err := top.Posting(now)
	return Outcome{Post: &post, Events: []audit.Event{{Actor: by, Action: audit.RefundCanceled, Target: f.ID, After: f.Failure}}}, err
}

// Hang is why a payment needs a person.
type Hang string

// The reasons.
const (
	HasProblem  Hang = "problem"    // the provider confirms money that is not credited
	Unanswered  Hang = "unanswered" // the provider has not said whether it made the payment
	WaitsLong   Hang = "waits_long" // the provider neither confirms nor cancels it
	RefundWaits Hang = "refund_waits"
)

// How old something is that hangs. A payer has an hour at the provider, so a payment that waits for longer waits for something else.
const (
	SilentAfter  = 10 * time.Minute
	WaitingAfter = 2 * time.Hour
	RefundsAfter = time.Hour
)

// Hangs is why a payment needs a person; "" that it needs none.
func (p *Payment) Hangs(now time.Time) Hang {
	age := now.Sub(p.CreatedAt)
	switch {
	case p.Problem != "" && p.State != Succeeded:
		return HasProblem
	case p.State == New && age > SilentAfter:
		return Unanswered
	case p.State == Pending && age > WaitingAfter:
		return WaitsLong
	case !p.Refunding.IsZero() && now.Sub(p.Refunding) > RefundsAfter:
		return RefundWaits
	}
	return ""
}

// How long until the provider is asked again of something of that age.
const mostPause = 6 * time.Hour

func pause(age time.Duration) time.Duration {
	switch {
	case age < 10*time.Minute:
		return 10 * time.Second
	case age < 2*time.Hour:
		return time.Minute
	case age < 48*time.Hour:
		return 15 * time.Minute
	}
	return mostPause
}

// MonthOf is when the calendar month of a cap began.
func MonthOf(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

func clip(s string) string {
	if len(s) > 200 {
		s = s[:200]
	}
	return s
}

const kopeck = money.Ruble / 100

func whole(op, name string, n money.Nano) error {
	if n%kopeck != 0 {
		return fault.Field(op, name, "%s must be rubles with at most two decimals.", name).Coded("rubles_kopecks")
	}
	return nil
}
