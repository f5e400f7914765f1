package payment

import (
	"context"
	"errors"
	"strings"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/loop"
	"weir/internal/money"
)

// Config bounds payments.
type Config struct {
	Provider    string        `yaml:"provider"`         // "yookassa"; "": payments are off
	Min         money.Nano    `yaml:"min" as:"kopecks"` // of a payment
	Max         money.Nano    `yaml:"max" as:"kopecks"`
	Amounts     []money.Nano  `yaml:"amounts"`      // that pages offer
	MaxOpen     int           `constant:"max_open"` // payments of an account that have not ended
	Description string        `yaml:"description"`  // of payments, for the payer
	Poll        time.Duration `constant:"poll"`     // between looks at payments that are under way
	Auto        AutoConfig    `yaml:"auto_top_up"`

	Now      func() time.Time
	Test     bool // the provider's shop is for tests: play money is credited, and pages say so
	Receipts bool // payers get receipts, so they must give an address
	// Report notifies the operator of what went wrong with a payment.
	Report func(what, id string, err error)
	// Unlease makes money that a node holds in reserve available for a posting; nil: absent.
	Unlease func(ctx context.Context, wallet string) error
}

// AutoConfig bounds top-ups with saved payment methods.
type AutoConfig struct {
	Enabled bool       `yaml:"enabled"`                      // people may have their wallet topped up automatically
	MaxCap  money.Nano `yaml:"max_monthly_cap" as:"kopecks"` // most that a rule may permit in a month
}

// Default is the configuration without a provider.
func Default() Config {
	return Config{
		Min: 100 * money.Ruble, Max: 100_000 * money.Ruble, Amounts: []money.Nano{500 * money.Ruble, 1000 * money.Ruble, 3000 * money.Ruble, 10_000 * money.Ruble},
		MaxOpen: 5, Description: "Top-up of a balance", Poll: 5 * time.Second, Auto: AutoConfig{MaxCap: 100_000 * money.Ruble},
	}
}

const (
	askFor      = 15 * time.Second // one question to a provider
	keyFor      = 20 * time.Hour   // how long the provider surely knows a key: a day, less what we may be late
	lookAgain   = 3 * time.Second  // a payment is asked of no sooner
	claimFor    = time.Minute
	atOnce      = 50
	newPause    = 20 * time.Second // until an unanswered payment is asked for again
	autoPause   = 5 * time.Minute  // between automatic top-ups of an account
	maxPayEmail = 254
)

// Service makes and follows payments. It is safe for concurrent use, and several nodes may work on one store.
type Service struct {
	store    Store
	provider Provider
	cfg      Config
	loop     *loop.Loop
}

// NewService makes a Service. Start begins its work in the background.
func NewService(s Store, p Provider, c Config) *Service {
	if c.Report == nil {
		c.Report = func(string, string, error) {}
	}
	v := &Service{store: s, provider: p, cfg: c}
	v.loop = loop.Every(max(c.Poll, time.Second), v.Round)
	return v
}

// Config is what the service was made with.
func (s *Service) Config() *Config { return &s.cfg }

// Provider is the name of the provider.
func (s *Service) Provider() string { return s.provider.Name() }

// Start begins to ask for open payments, so that no notification is needed.
func (s *Service) Start() { s.loop.Start() }

// Stop ends that.
func (s *Service) Stop() { s.loop.Stop() }

// Terms are what a person consents to for automatic top-ups.
type Terms struct{ Threshold, Amount, Cap money.Nano }

// Ask is a request for a payment.
type Ask struct {
	Account, Wallet string
	Amount          money.Nano
	Email           string
	ReturnURL       string // in which {id} stands for the payment
	Auto            *Terms // consent; nil: none
	Actor           audit.Actor
}

// Make makes a payment and returns it with the address where the payer confirms it. When the provider does not answer, the payment is noted
// and asked for again in the background, and the error says so.
func (s *Service) Make(ctx context.Context, a Ask) (Payment, error) {
	if err := s.check(&a); err != nil {
		return Payment{}, err
	}
	now := s.cfg.Now().UTC().Truncate(time.Microsecond)
	p := Payment{
		ID: apikey.NewID("pay_"), Account: a.Account, Wallet: a.Wallet, Provider: s.provider.Name(), State: New, Amount: a.Amount,
		Description: s.cfg.Description, Email: a.Email, Save: a.Auto != nil, CreatedAt: now, UpdatedAt: now, DueAt: now.Add(newPause),
	}
	p.ReturnURL = strings.ReplaceAll(a.ReturnURL, "{id}", p.ID)
	var rule *Rule
	if a.Auto != nil {
		rule = &Rule{Account: a.Account, Wallet: a.Wallet, Provider: p.Provider, State: RuleWaiting, Payment: p.ID, Email: a.Email,
			Threshold: a.Auto.Threshold, Amount: a.Auto.Amount, Cap: a.Auto.Cap, ConsentAt: now, DueAt: now}
	}
	after := a.Amount.String() + " rubles from " + p.Provider
	if rule != nil {
		after += "; consents to automatic top-ups, " + rule.words()
	}
	e := audit.Event{Actor: a.Actor, Action: audit.PaymentMade, Target: p.ID, After: after}
	if err := s.store.AddPayment(ctx, p, Bounds{Open: s.cfg.MaxOpen}, rule, e); err != nil {
		return Payment{}, err
	}
	return s.ask(ctx, p)
}

func (s *Service) check(a *Ask) error {
	const op = "payment.Make"
	switch {
	case a.Amount < s.cfg.Min || a.Amount > s.cfg.Max:
		return fault.Field(op, "amount", "amount must be from %s to %s rubles.", s.cfg.Min, s.cfg.Max).Coded("rubles_range", "least", s.cfg.Min, "most", s.cfg.Max)
	case s.cfg.Receipts && a.Email == "":
		return fault.Field(op, "email", "email is missing: the receipt is sent there.").Coded("receipt_email_missing")
	case !plausibleEmail(a.Email):
		return fault.Field(op, "email", "email must be an e-mail address, such as anna@example.org.").Coded("email_address")
	}
	if !s.cfg.Receipts {
		a.Email = "" // it is not needed any more
	}
	if err := whole(op, "amount", a.Amount); err != nil || a.Auto == nil {
		return err
	}
	return s.checkTerms(a.Auto)
}

func (s *Service) checkTerms(t *Terms) error {
	const op = "payment.Terms"
	switch {
	case !s.cfg.Auto.Enabled:
		return fault.Field(op, "auto", "This gateway has no automatic top-ups. Leave auto out.").Coded("no_auto_top_up")
	case t.Threshold < 0 || t.Threshold > s.cfg.Max:
		return fault.Field(op, "auto.threshold", "auto.threshold must be from 0 to %s rubles.", s.cfg.Max).Coded("threshold_range", "most", s.cfg.Max)
	case t.Amount < s.cfg.Min || t.Amount > s.cfg.Max:
		return fault.Field(op, "auto.amount", "auto.amount must be from %s to %s rubles.", s.cfg.Min, s.cfg.Max).Coded("rubles_range", "least", s.cfg.Min, "most", s.cfg.Max)
	case t.Cap < t.Amount || t.Cap > s.cfg.Auto.MaxCap:
		return fault.Field(op, "auto.monthly_cap", "auto.monthly_cap must be from auto.amount to %s rubles.", s.cfg.Auto.MaxCap).Coded("monthly_cap", "most", s.cfg.Auto.MaxCap)
	}
	return errors.Join(whole(op, "auto.threshold", t.Threshold), whole(op, "auto.amount", t.Amount), whole(op, "auto.monthly_cap", t.Cap))
}

func plausibleEmail(e string) bool {
	if e == "" {
		return true
	}
	name, host, ok := strings.Cut(e, "@")
	for _, c := range []byte(e) {
		if c <= ' ' || c == 0x7f || c == '<' || c == '>' || c == ',' || c == '"' {
			return false
		}
	}
	return ok && name != "" && strings.Contains(host, ".") && !strings.Contains(host, "@") && len(e) <= maxPayEmail
}

// ask asks the provider for a payment that it may have been asked for before.
func (s *Service) ask(ctx context.Context, p Payment) (Payment, error) {
	o := Order{Key: p.ID, Amount: p.Amount, Description: p.Description, ReturnURL: p.ReturnURL, Email: p.Email, Save: p.Save, Method: p.Method}
	var x Remote
	var err error
	if s.cfg.Now().Sub(p.CreatedAt) < keyFor {
		for range 2 { // the same key makes one payment
			short, cancel := context.WithTimeout(ctx, askFor)
			x, err = s.provider.Create(short, o)
			cancel()
			if err == nil || certain(err) {
				break
			}
		}
	}
	old := p.Tries > 0 // an earlier request may have made the payment
	if old && (err != nil && certain(err) || s.cfg.Now().Sub(p.CreatedAt) >= keyFor) {
		if x, err = s.find(ctx, &p); fault.Is(err, fault.NotFound) {
			return s.end(ctx, p, "not_made")
		}
	}
	switch {
	case err == nil:
		return s.hear(ctx, p, x)
	case certain(err) && !old:
		s.cfg.Report("the payment provider refuses a payment", p.ID, err)
		if _, ended := s.end(ctx, p, "provider_refused"); ended != nil {
			return p, ended
		}
		return p, fault.New(fault.ProviderUnavailable, "payment.Make", "The payment provider refuses this payment. Nothing was charged. Ask the operator of this gateway.").Because(err)
	}
	if q, marked := s.store.UpdatePayment(ctx, p.ID, s.cfg.Now(), func(p *Payment, _ *Rule) (Outcome, error) {
		if p.State != New {
			return Outcome{Unchanged: true}, nil
		}
		p.Tries++
		p.DueAt = s.cfg.Now().Add(max(newPause, pause(s.cfg.Now().Sub(p.CreatedAt))))
		return Outcome{}, nil
	}); marked == nil && q.State != New { // somebody else was answered
		return q, nil
	}
	s.cfg.Report("the payment provider does not answer; it is asked again", p.ID, err)
	e := fault.New(fault.ProviderUnavailable, "payment.Make", "The payment provider does not answer. Nothing was charged. The payment is noted and asked for again; you find it in your payments.").Because(err)
	e.RetryAfter = newPause
	return p, e
}

// certain reports whether a provider surely did not do what it was asked for.
func certain(err error) bool {
	return fault.Is(err, fault.Unprocessable) || fault.Is(err, fault.PermissionDenied)
}

// find looks for a payment among all of the provider. It fails with fault.NotFound when it surely is not there.
func (s *Service) find(ctx context.Context, p *Payment) (found Remote, err error) {
	ctx, cancel := context.WithTimeout(ctx, 4*askFor)
	defer cancel()
	is := false
	err = s.provider.List(ctx, p.CreatedAt.Add(-10*time.Minute), func(x Remote) bool {
		if x.Reference == p.ID {
			found, is = x, true
		}
		return !is
	})
	if err == nil && !is {
		err = fault.New(fault.NotFound, "payment.find", "The provider has no such payment.")
	}
	return found, err
}

func (s *Service) end(ctx context.Context, p Payment, why string) (Payment, error) {
	return s.store.UpdatePayment(ctx, p.ID, s.cfg.Now(), func(p *Payment, r *Rule) (Outcome, error) {
		if p.State != New {
			return Outcome{Unchanged: true}, nil
		}
		return cancel(p, r, why, audit.Actor{Name: "payment:" + p.Provider}, s.cfg.Now()), nil
	})
}

// hear notes what the provider says of a payment, and takes money that waits for it.
func (s *Service) hear(ctx context.Context, p Payment, x Remote) (Payment, error) {
	if x.State == RemoteWaiting && x.Reference == p.ID {
		short, cancel := context.WithTimeout(ctx, askFor)
		taken, err := s.provider.Capture(short, x.ID, p.ID+"-capture", x.Amount)
		cancel()
		if err != nil {
			s.cfg.Report("a payment that waits could not be captured; it is tried again", p.ID, err)
		} else {
			x = taken
		}
	}
	now := s.cfg.Now()
	return s.store.UpdatePayment(ctx, p.ID, now, func(p *Payment, r *Rule) (Outcome, error) { return s.learn(p, r, &x, now) })
}

// Look asks the provider of a payment, unless it has ended, and returns it as it is then.
func (s *Service) Look(ctx context.Context, p Payment) (Payment, error) {
	switch {
	case p.State == Succeeded:
		return p, nil
	case p.ProviderID == "":
		return s.ask(ctx, p)
	}
	short, cancel := context.WithTimeout(ctx, askFor)
	x, err := s.provider.Payment(short, p.ProviderID)
	cancel()
	if err != nil {
		return p, away(err)
	}
	return s.hear(ctx, p, x)
}

// away is an error of the provider for those who asked of a payment.
func away(err error) error {
	if fault.Is(err, fault.StorageUnavailable) || fault.Is(err, fault.Conflict) {
		return err
	}
	e := fault.New(fault.ProviderUnavailable, "payment.Look", "The payment provider does not answer. It is asked again.").Because(err)
	e.RetryAfter = newPause
	return e
}

// Fresh returns a payment of an account; the provider is asked first, if the payment is open and was not asked of a moment ago. When the
// provider fails, the payment is returned as it is known. It fails with fault.NotFound, also for the payment of another account.
func (s *Service) Fresh(ctx context.Context, account, id string) (Payment, error) {
	p, err := s.store.PaymentByID(ctx, id)
	if err == nil && p.Account != account {
		err = fault.New(fault.NotFound, "payment.Fresh", "There is no such payment.")
	}
	if err != nil || p.State.Ended() {
		return p, err
	}
	now := s.cfg.Now()
	mine, err := s.store.ClaimPayment(ctx, id, now.Add(-lookAgain), now)
	if err != nil || !mine {
		return p, err
	}
	q, err := s.Look(ctx, p)
	if err != nil {
		s.cfg.Report("a payment could not be asked of", id, err)
		return p, nil
	}
	return q, nil
}

// Payments lists payments; see Store.
func (s *Service) Payments(ctx context.Context, q Query) ([]Payment, error) {
	return s.store.Payments(ctx, q)
}

// PaymentByID finds a payment of any account.
func (s *Service) PaymentByID(ctx context.Context, id string) (Payment, error) {
	return s.store.PaymentByID(ctx, id)
}

// Refunds lists those of a payment.
func (s *Service) Refunds(ctx context.Context, id string) ([]Refund, error) {
	return s.store.PaymentRefunds(ctx, id)
}

// Notice is what a notification says; only that something may have happened is believed.
type Notice struct {
	Payment string // the provider's ids
	Refund  string // "" when it is about a payment
}

// Notice asks the provider of what a notification names. Whatever is not ours is passed over without a question to the provider, as is what
// has ended. It fails when the provider or the store does, and then the notification should be sent again.
func (s *Service) Notice(ctx context.Context, n Notice) error {
	name := s.provider.Name()
	p, err := s.store.PaymentOf(ctx, name, n.Payment)
	if fault.Is(err, fault.NotFound) {
		return s.stranger(ctx, n.Payment)
	}
	if err != nil {
		return err
	}
	if n.Refund != "" {
		return s.noticeRefund(ctx, &p, n.Refund)
	}
	if p.State == Succeeded {
		return nil
	}
	_, err = s.Look(ctx, p)
	return err
}

// stranger asks of a payment whose id is not known: it may be one whose answer was lost.
func (s *Service) stranger(ctx context.Context, id string) error {
	some, err := s.store.Unanswered(ctx, s.provider.Name())
	if err != nil || !some {
		return err
	}
	short, cancel := context.WithTimeout(ctx, askFor)
	x, err := s.provider.Payment(short, id)
	cancel()
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Unprocessable) {
		return nil
	}
	if err != nil {
		return away(err)
	}
	p, err := s.store.PaymentByID(ctx, x.Reference)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = s.hear(ctx, p, x)
	return err
}

// Round asks of all that is due: payments, refunds, and wallets that are to be topped up.
func (s *Service) Round(ctx context.Context) {
	now := s.cfg.Now()
	payments, err := s.store.ClaimPayments(ctx, now, now.Add(claimFor), atOnce)
	s.failed("open payments could not be read; it is tried again", "", err)
	for i := range payments {
		if ctx.Err() != nil {
			return
		}
		_, err := s.Look(ctx, payments[i])
		s.failed("a payment could not be asked of; it is tried again", payments[i].ID, err)
	}
	refunds, err := s.store.ClaimRefunds(ctx, now, now.Add(claimFor), atOnce)
	s.failed("open refunds could not be read; it is tried again", "", err)
	for i := range refunds {
		if ctx.Err() != nil {
			return
		}
		_, err := s.pursue(ctx, refunds[i])
		s.failed("a refund could not be asked of; it is tried again", refunds[i].ID, err)
	}
	if s.cfg.Auto.Enabled {
		s.topUp(ctx)
	}
}

func (s *Service) failed(what, id string, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		s.cfg.Report(what, id, err)
	}
}

// topUp makes the automatic top-ups that are due.
func (s *Service) topUp(ctx context.Context) {
	rules, err := s.store.DueRules(ctx, s.cfg.Now(), atOnce)
	s.failed("automatic top-ups could not be read; it is tried again", "", err)
	for i := range rules {
		if ctx.Err() != nil {
			return
		}
		r := &rules[i]
		now := s.cfg.Now().UTC().Truncate(time.Microsecond)
		p := Payment{
			ID: apikey.NewID("pay_"), Account: r.Account, Wallet: r.Wallet, Provider: r.Provider, State: New, Amount: r.Amount, Description: s.cfg.Description, Email: r.Email,
			Method: r.Method, Auto: true, CreatedAt: now, UpdatedAt: now, DueAt: now.Add(newPause),
		}
		e := audit.Event{Actor: audit.Actor{Name: "auto top-up"}, Action: audit.PaymentMade, Target: p.ID, After: r.Amount.String() + " rubles from " + p.Provider + ", as " + r.Account + " has consented"}
		next := now.Add(autoPause)
		switch err := s.store.AddPayment(ctx, p, Bounds{Open: s.cfg.MaxOpen}, nil, e); {
		case err == nil:
			_, err := s.ask(ctx, p)
			s.failed("an automatic top-up could not be made", p.ID, err)
		case fault.Is(err, fault.Unprocessable): // the cap
			next = MonthOf(now).AddDate(0, 1, 0)
		case fault.Is(err, fault.Conflict), fault.Is(err, fault.RateLimited):
		default:
			s.failed("an automatic top-up could not be noted; it is tried again", r.Account, err)
			continue
		}
		err := s.store.ChangeRule(ctx, r.Account, now, func(r *Rule) (*Rule, audit.Event, error) {
			if r.DueAt.Before(next) {
				r.DueAt = next
			}
			return r, audit.Event{}, nil
		})
		if !fault.Is(err, fault.NotFound) {
			s.failed("an automatic top-up could not be put off", r.Account, err)
		}
	}
}

// Rule returns the rule of an account and what it has charged in this month. It fails with fault.NotFound.
func (s *Service) Rule(ctx context.Context, account string) (Rule, money.Nano, error) {
	r, err := s.store.RuleOf(ctx, account)
	if err != nil {
		return r, 0, err
	}
	sum, err := s.store.AutoSum(ctx, account, MonthOf(s.cfg.Now()))
	return r, sum, err
}

// ChangeTerms changes a rule that has a method. It fails with fault.NotFound without one.
func (s *Service) ChangeTerms(ctx context.Context, account string, t Terms, by audit.Actor) error {
	if err := s.checkTerms(&t); err != nil {
		return err
	}
	return s.store.ChangeRule(ctx, account, s.cfg.Now(), func(r *Rule) (*Rule, audit.Event, error) {
		if r.Method == "" {
			return nil, audit.Event{}, fault.New(fault.NotFound, "payment.ChangeTerms", "There is no saved payment method yet. Make a payment with auto first.")
		}
		e := audit.Event{Actor: by, Action: audit.AutoTopUpSet, Target: account, Before: r.words()}
		r.Threshold, r.Amount, r.Cap, r.State, r.Why, r.Fails = t.Threshold, t.Amount, t.Cap, RuleActive, "", 0
		r.ConsentAt, r.DueAt = s.cfg.Now(), s.cfg.Now()
		e.After = r.words()
		return r, e, nil
	})
}

// Withdraw ends a consent: nothing more is charged, and the method is forgotten.
func (s *Service) Withdraw(ctx context.Context, account string, by audit.Actor) error {
	return s.store.ChangeRule(ctx, account, s.cfg.Now(), func(r *Rule) (*Rule, audit.Event, error) {
		return nil, audit.Event{Actor: by, Action: audit.AutoTopUpEnded, Target: account, Before: r.words()}, nil
	})
}

// Give is a request for a refund.
type Give struct {
	Payment   string
	ID        string     // names it: the same one refunds once; "" makes one
	Amount    money.Nano // 0: all that is left
	Reason    string
	BelowZero bool        // it may take more than is available in the wallet
	Seen      *money.Nano // what the operator believes was refunded before; nil: whatever it is
	Actor     audit.Actor
}

// GiveBack returns money of a payment to the payer: the wallet is debited first, and the provider asked then. A refund whose outcome is not
// known yet is New or Pending, and followed in the background; one that the provider refuses is Canceled, and its money is in the
// wallet again. It fails with fault.NotFound, fault.Conflict and fault.Unprocessable, and then nothing is debited.
func (s *Service) GiveBack(ctx context.Context, g Give) (Refund, error) {
	const op = "payment.GiveBack"
	p, err := s.store.PaymentByID(ctx, g.Payment)
	if err != nil {
		return Refund{}, err
	}
	switch {
	case p.State != Succeeded:
		return Refund{}, fault.New(fault.Unprocessable, op, "Only a payment that has succeeded can be refunded.")
	case p.Provider != s.provider.Name():
		return Refund{}, fault.New(fault.Unprocessable, op, "The payment was made with "+p.Provider+", which is not configured.")
	case g.Amount < 0:
		return Refund{}, fault.Field(op, "amount", "amount must be above zero. Leave it out to refund all that is left.").Coded("refund_above_zero")
	case g.ID != "" && !plainID(g.ID):
		return Refund{}, fault.Field(op, "reference", "reference must be 1 to 50 letters, digits, \"-\" and \"_\".").Coded("reference_form")
	}
	if err := whole(op, "amount", g.Amount); err != nil {
		return Refund{}, err
	}
	id := "rfd_" + g.ID
	if g.ID == "" {
		id = apikey.NewID("rfd_")
	}
	if f, err := s.store.RefundByID(ctx, id); err == nil { // said again
		if f.Payment != p.ID || g.Amount != 0 && g.Amount != f.Amount {
			return f, OtherRefund(&f)
		}
		return f, nil
	} else if !fault.Is(err, fault.NotFound) {
		return Refund{}, err
	}
	if err := g.still(&p); err != nil {
		return Refund{}, err
	}
	if g.Amount == 0 {
		g.Amount = p.Paid - p.Refunded
	}
	if g.Amount <= 0 || g.Amount > p.Paid-p.Refunded {
		e := fault.Newf(fault.Unprocessable, op, "Only %s rubles of the payment of %s are left to refund.", p.Paid-p.Refunded, p.Paid)
		e.Param = "amount"
		return Refund{}, e
	}
	now := s.cfg.Now().UTC().Truncate(time.Microsecond)
	f := Refund{ID: id, Payment: p.ID, Account: p.Account, State: New, Amount: g.Amount, Reason: g.Reason, Actor: g.Actor.Name, CreatedAt: now, UpdatedAt: now, DueAt: now.Add(newPause)}
	back := ledger.PayBack{Wallet: p.Wallet, Source: p.Provider, ExternalID: "refund:" + f.ID, Amount: f.Amount, Reason: f.Reason, BelowZero: g.BelowZero, Actor: g.Actor}
	post, err := back.Posting(now)
	if err != nil {
		return Refund{}, err
	}
	if s.cfg.Unlease != nil && !g.BelowZero {
		if err := s.cfg.Unlease(ctx, p.Wallet); err != nil {
			return Refund{}, err
		}
	}
	if f, err = s.store.AddRefund(ctx, f, post, func(now *Payment) (audit.Event, error) {
		if err := g.still(now); err != nil {
			return audit.Event{}, err
		}
		return refundEvent(g.Actor, now, &f), nil
	}); err != nil {
		return Refund{}, err
	}
	done, err := s.pursue(ctx, f)
	if err != nil {
		s.cfg.Report("the payment provider did not answer to a refund; it is asked again", f.ID, err)
		return f, nil
	}
	return done, nil
}

// OtherRefund is the error for a reference that has refunded something else.
func OtherRefund(f *Refund) error {
	e := fault.Newf(fault.Conflict, "payment.GiveBack", "This reference has refunded %s rubles of the payment %s before. Give another one.", f.Amount, f.Payment).Coded("reference_used", "amount", f.Amount, "payment", f.Payment)
	e.Param = "reference"
	return e
}

// still fails with fault.Conflict when something else was refunded than the operator has seen.
func (g *Give) still(now *Payment) error {
	if g.Seen == nil || *g.Seen == now.Refunded {
		return nil
	}
	e := fault.Newf(fault.Conflict, "payment.GiveBack", "Meanwhile another refund of this payment was made: %s of %s rubles are refunded now. Look again.", now.Refunded, now.Paid).Coded("refund_meanwhile", "refunded", now.Refunded, "paid", now.Paid)
	e.Param = "refunded"
	return e
}

func refundEvent(by audit.Actor, p *Payment, f *Refund) audit.Event {
	return audit.Event{Actor: by, Action: audit.PaymentRefund, Target: p.ID, Before: p.Refunded.String() + " of " + p.Paid.String() + " rubles refunded", After: f.Amount.String() + " rubles as " + f.ID + ": " + f.Reason}
}

// Check asks the provider of a payment, and of its refunds that have not ended, brings them to what it says, and returns the payment. It fails
// with fault.NotFound, and with fault.ProviderUnavailable when the provider does not answer.
func (s *Service) Check(ctx context.Context, id string, by audit.Actor) (Payment, error) {
	before, err := s.store.PaymentByID(ctx, id)
	if err != nil {
		return before, err
	}
	if before.Provider != s.provider.Name() {
		return before, fault.New(fault.Unprocessable, "payment.Check", "The payment was made with "+before.Provider+", which is not configured.")
	}
	if _, err := s.Look(ctx, before); err != nil {
		return before, err
	}
	all, err := s.store.PaymentRefunds(ctx, id)
	if err != nil {
		return before, err
	}
	for i := range all {
		if _, err := s.pursue(ctx, all[i]); err != nil {
			return before, err
		}
	}
	now := s.cfg.Now()
	_, err = s.store.UpdatePayment(ctx, id, now, func(p *Payment, _ *Rule) (Outcome, error) {
		return Outcome{Events: []audit.Event{{Actor: by, Action: audit.PaymentChecked, Target: id, Before: before.words(), After: p.words()}}}, nil
	})
	if err != nil {
		return before, err
	}
	return s.store.PaymentByID(ctx, id)
}

// words is how far a payment is, for the audit log.
func (p *Payment) words() string {
	text := string(p.State) + ", " + p.Paid.String() + " of " + p.Amount.String() + " rubles paid, " + p.Refunded.String() + " refunded"
	if p.Problem != "" {
		text += "; " + p.Problem
	}
	return text
}

func plainID(id string) bool {
	for _, c := range []byte(id) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return len(id) <= 50
}

// pursue asks the provider of a refund, or for it.
func (s *Service) pursue(ctx context.Context, f Refund) (Refund, error) {
	if f.State.Ended() {
		return f, nil
	}
	p, err := s.store.PaymentByID(ctx, f.Payment)
	if err != nil {
		return f, err
	}
	short, stop := context.WithTimeout(ctx, 2*askFor)
	defer stop()
	var x RemoteRefund
	switch {
	case f.ProviderID != "":
		x, err = s.provider.RefundByID(short, f.ProviderID)
	case f.Tries > 0: // it may have been made: the provider forgets keys, so its list is asked first
		if x, err = s.findRefund(short, &p, &f); fault.Is(err, fault.NotFound) {
			if s.cfg.Now().Sub(f.CreatedAt) >= keyFor {
				return s.endRefund(ctx, f, "not_made")
			}
			x, err = s.makeRefund(short, &p, &f)
		}
	default:
		x, err = s.makeRefund(short, &p, &f)
	}
	now := s.cfg.Now()
	switch {
	case err == nil:
		return s.store.UpdateRefund(ctx, f.ID, now, func(f *Refund, p *Payment) (Outcome, error) { return s.learnRefund(f, p, &x, now) })
	case f.ProviderID == "" && fault.Is(err, fault.Unprocessable):
		s.cfg.Report("the payment provider refuses a refund; its money is in the wallet again", f.ID, err)
		return s.endRefund(ctx, f, "provider_refused: "+fault.From(err).Public)
	}
	_, marked := s.store.UpdateRefund(ctx, f.ID, now, func(f *Refund, _ *Payment) (Outcome, error) {
		if f.State.Ended() {
			return Outcome{Unchanged: true}, nil
		}
		f.Tries++
		f.DueAt = now.Add(max(newPause, pause(now.Sub(f.CreatedAt))))
		return Outcome{}, nil
	})
	return f, errors.Join(err, marked)
}

func (s *Service) makeRefund(ctx context.Context, p *Payment, f *Refund) (RemoteRefund, error) {
	return s.provider.Refund(ctx, RefundOrder{Key: f.ID, Payment: p.ProviderID, Amount: f.Amount, Whole: f.Amount == p.Paid, Email: p.Email})
}

func (s *Service) findRefund(ctx context.Context, p *Payment, f *Refund) (RemoteRefund, error) {
	all, err := s.provider.Refunds(ctx, p.ProviderID)
	if err != nil {
		return RemoteRefund{}, away(err)
	}
	for _, x := range all {
		if x.Reference == f.ID {
			return x, nil
		}
	}
	return RemoteRefund{}, fault.New(fault.NotFound, "payment.findRefund", "The provider has no such refund.")
}

func (s *Service) endRefund(ctx context.Context, f Refund, why string) (Refund, error) {
	now := s.cfg.Now()
	return s.store.UpdateRefund(ctx, f.ID, now, func(f *Refund, p *Payment) (Outcome, error) {
		if f.State.Ended() || f.ProviderID != "" {
			return Outcome{Unchanged: true}, nil
		}
		return cancelRefund(f, p, why, now)
	})
}

// noticeRefund asks of a refund of one of our payments.
func (s *Service) noticeRefund(ctx context.Context, p *Payment, id string) error {
	f, err := s.store.RefundOf(ctx, p.Provider, id)
	switch {
	case err == nil:
		_, err := s.pursue(ctx, f)
		return err
	case !fault.Is(err, fault.NotFound):
		return err
	}
	short, cancel := context.WithTimeout(ctx, askFor)
	x, err := s.provider.RefundByID(short, id)
	cancel()
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Unprocessable) {
		return nil
	}
	if err != nil {
		return away(err)
	}
	return s.adopt(ctx, p, x)
}

// adopt notes a refund that the provider has and this gateway does not know: one whose answer was lost, or that was made in the provider's
// own pages. The money has left, so the wallet may go below zero.
func (s *Service) adopt(ctx context.Context, p *Payment, x RemoteRefund) error {
	now := s.cfg.Now().UTC().Truncate(time.Microsecond)
	if x.Payment != p.ProviderID {
		return nil
	}
	if x.Reference != "" {
		if f, err := s.store.RefundByID(ctx, x.Reference); err == nil && f.Payment == p.ID && (f.State != Canceled || f.ProviderID != "") {
			_, err = s.store.UpdateRefund(ctx, f.ID, now, func(f *Refund, p *Payment) (Outcome, error) { return s.learnRefund(f, p, &x, now) })
			return err
		} else if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	if x.State != RemoteSucceeded || x.Currency != rub || x.Amount <= 0 {
		return nil
	}
	by := audit.Actor{Name: "payment:" + p.Provider}
	f := Refund{ID: "rfd_" + x.ID, Payment: p.ID, Account: p.Account, ProviderID: x.ID, State: Succeeded, Amount: x.Amount, Reason: "refunded in the pages of " + p.Provider,
		Actor: by.Name, CreatedAt: now, UpdatedAt: now}
	back := ledger.PayBack{Wallet: p.Wallet, Source: p.Provider, ExternalID: "refund:" + x.ID, Amount: x.Amount, Reason: f.Reason, BelowZero: true, Actor: by}
	post, err := back.Posting(now)
	if err != nil {
		return err
	}
	_, err = s.store.AddRefund(ctx, f, post, func(now *Payment) (audit.Event, error) { return refundEvent(by, now, &f), nil })
	return err
}

// Finding is a difference between the provider's list and ours.
type Finding struct {
	Payment, ProviderID string
	What                string
	Mended              bool
}

// Compare asks the provider for all its payments since a time, brings ours to what it says, and reports each difference: the ones that it has
// mended, and those that a person must judge. seen is how many of the provider's payments are ours, paid and refunded their sums.
func (s *Service) Compare(ctx context.Context, since time.Time) (found []Finding, seen int, paid, refunded money.Nano, err error) {
	var ours []Remote
	err = s.provider.List(ctx, since, func(x Remote) bool {
		if strings.HasPrefix(x.Reference, "pay_") {
			ours = append(ours, x)
		}
		return true
	})
	if err != nil {
		return nil, 0, 0, 0, away(err)
	}
	for _, x := range ours {
		f, err := s.compare(ctx, x)
		if err != nil {
			return found, seen, paid, refunded, err
		}
		found = append(found, f...)
		seen++
		if x.State == RemoteSucceeded && x.Currency == rub {
			paid += x.Amount
			refunded += x.Refunded
		}
	}
	return found, seen, paid, refunded, nil
}

func (s *Service) compare(ctx context.Context, x Remote) (found []Finding, err error) {
	p, err := s.store.PaymentByID(ctx, x.Reference)
	if fault.Is(err, fault.NotFound) {
		return []Finding{{Payment: x.Reference, ProviderID: x.ID, What: "the provider has a payment that is not in this database"}}, nil
	}
	if err != nil {
		return nil, err
	}
	before := p
	if !p.State.Ended() || p.State == Canceled && x.State == RemoteSucceeded {
		if p, err = s.hear(ctx, p, x); err != nil {
			return nil, err
		}
	}
	if before.State != p.State {
		found = append(found, Finding{p.ID, x.ID, "was " + string(before.State) + " and is " + string(p.State), true})
	}
	if p.Problem != "" && p.State != Succeeded {
		found = append(found, Finding{p.ID, x.ID, p.Problem, false})
	}
	if p.State == Succeeded && (x.State != RemoteSucceeded || x.Amount != p.Paid) {
		found = append(found, Finding{p.ID, x.ID, p.Paid.String() + " rubles were credited, and the provider now has another amount or state", false})
	}
	if p.State != Succeeded || x.Refunded == p.Refunded {
		return found, nil
	}
	all, err := s.provider.Refunds(ctx, x.ID)
	if err != nil {
		return found, away(err)
	}
	for _, r := range all {
		if err := s.noticeRefundKnown(ctx, &p, r); err != nil {
			return found, err
		}
	}
	if p, err = s.store.PaymentByID(ctx, p.ID); err != nil {
		return found, err
	}
	found = append(found, Finding{p.ID, x.ID, before.Refunded.String() + " rubles were refunded here, " + x.Refunded.String() + " there", p.Refunded == x.Refunded})
	return found, nil
}

func (s *Service) noticeRefundKnown(ctx context.Context, p *Payment, x RemoteRefund) error {
	f, err := s.store.RefundOf(ctx, p.Provider, x.ID)
	if fault.Is(err, fault.NotFound) {
		return s.adopt(ctx, p, x)
	}
	if err == nil {
		_, err = s.pursue(ctx, f)
	}
	return err
}
