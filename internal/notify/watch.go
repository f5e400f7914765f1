package notify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"time"

	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/loop"
	"weir/internal/report"
	"weir/internal/webhook"
)

const (
	checkAtOnce = 20                  // accounts of one claim
	moneyFor    = 7 * 24 * time.Hour  // back that payments are looked for
	mostMoney   = 50                  // payments of one check
	mostFacts   = 100                 // of one check; the rest is noticed when those have ended
	mostKeys    = 1000                // of an account, the newest first
	comesBack   = 6 * time.Hour       // a state that ended is not new within
	rememberFor = 60 * 24 * time.Hour // events, and states that ended

	mailLease   = 3 * time.Minute // longer than an attempt takes
	aDay        = 24 * time.Hour
	sweepAtOnce = 1000
	sweepFor    = time.Minute // one step of it
)

// pauses are the waits after failed attempts to send a mail; after the last of them one more attempt is made, a little less than a day after
// the first.
var pauses = [...]time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour}

// Reports answers from roll-ups. *report.Reporter is one.
type Reports interface {
	Spending(ctx context.Context, wallet string, now time.Time) (*report.Overview, error)
	KeySpends(ctx context.Context, user, wallet string) (map[string]report.KeySpend, error)
	Spenders
}

// Keys lists and finds keys. apikey.Store is one.
type Keys interface {
	KeyByID(ctx context.Context, id string) (apikey.Found, error)
	ListKeys(ctx context.Context, f apikey.Filter) ([]apikey.Key, error)
}

// Watcher looks for facts, and sends the mails that are due. Several may work on one store, on several nodes. Its webhooks are sent by the
// courier of all webhooks.
type Watcher struct {
	m       *Manager
	reports Reports
	keys    Keys
	catalog func() *catalog.Snapshot
	Budgets Budgets // nil: they are not looked at. It is set before Start

	checks, mails *loop.Loop
	sent          map[string]bool // mails of letters that were not yet sent to all; used by rounds of mails alone
	enrolled      time.Time       // used by rounds of checks alone
}

// NewWatcher makes a Watcher. It does nothing before Start.
func NewWatcher(m *Manager, r Reports, k Keys, c func() *catalog.Snapshot) *Watcher {
	w := &Watcher{m: m, reports: r, keys: k, catalog: c, sent: map[string]bool{}}
	w.checks = loop.New(m.cfg.poll(), w.CheckRound)
	w.mails = loop.New(m.cfg.poll(), w.MailRound)
	return w
}

// Start starts the work.
func (w *Watcher) Start() {
	w.checks.Start()
	if w.m.mail != nil {
		w.mails.Start()
	}
}

// Stop ends it. A mail that is being sent is cut off, and sent by the next node.
func (w *Watcher) Stop() {
	w.checks.Stop()
	w.mails.Stop()
}

// CheckRound looks at accounts whose check is due, and returns the pause before the next round.
func (w *Watcher) CheckRound(ctx context.Context) time.Duration {
	now := w.m.cfg.Now()
	if now.Sub(w.enrolled) >= w.m.cfg.CheckEvery || now.Before(w.enrolled) {
		if err := w.upkeep(ctx, now); err != nil {
			w.failed(ctx, "accounts cannot be looked through for notifications", "", err)
			return w.m.cfg.poll()
		}
		w.enrolled = now
	}
	due, err := w.m.store.ClaimChecks(ctx, now, now.Add(w.m.cfg.CheckEvery), checkAtOnce)
	if err != nil {
		w.failed(ctx, "accounts cannot be looked through for notifications", "", err)
		return w.m.cfg.poll()
	}
	for i := range due {
		if ctx.Err() != nil {
			return w.m.cfg.poll()
		}
		if err := w.check(ctx, &due[i], now); err != nil {
			w.failed(ctx, "an account could not be checked for notifications; it is tried again", due[i].ID, err)
		}
	}
	if len(due) < checkAtOnce {
		return w.m.cfg.poll()
	}
	return time.Millisecond // others may use the store in between
}

func (w *Watcher) failed(ctx context.Context, what, account string, err error) {
	if ctx.Err() == nil {
		w.m.cfg.Report(what, account, "", 0, err)
	}
}

// upkeep enrols new accounts, and forgets what is long over.
func (w *Watcher) upkeep(ctx context.Context, now time.Time) error {
	if err := w.m.store.EnrolAccounts(ctx, now); err != nil {
		return err
	}
	return loop.Sweep(ctx, sweepFor, sweepAtOnce, func(ctx context.Context, most int) (int, error) {
		return w.m.store.SweepFacts(ctx, now.Add(-rememberFor), most)
	})
}

// check finds the facts of an account and notes them.
func (w *Watcher) check(ctx context.Context, a *Enrolled, now time.Time) error {
	s, err := w.m.store.NotifySettings(ctx, a.ID)
	if err != nil {
		return err
	}
	address := false
	if w.m.mail != nil {
		to, err := w.m.people.RecipientsOf(ctx, a.ID)
		if err != nil {
			return err
		}
		address = len(to) > 0
	}
	found, err := w.facts(ctx, a, &s, now)
	if err != nil {
		return err
	}
	on, hooks := w.m.usual.With(s.Own), false
	_, err = w.m.store.NoteFacts(ctx, a.ID, found[:min(len(found), mostFacts)], func(f *Fact) (t Reporting) {
		t.Mail = address && on.On(f.Kind.Cause(), Email)
		if s.Webhook != "" && on.On(f.Kind.Cause(), Webhook) {
			d := webhook.NewDelivery(IDOf(a.ID, f, now), a.ID, s.Webhook, eventOf(f.Kind), w.m.cfg.Encode(f), now)
			t.Hook, hooks = &d, true
		}
		return t
	}, now, now.Add(-comesBack))
	if hooks {
		w.m.cfg.Wake()
	}
	if err == nil {
		w.mails.Wake()
	}
	return err
}

// facts are what holds for an account now, and what happened to it lately.
func (w *Watcher) facts(ctx context.Context, a *Enrolled, s *Settings, now time.Time) ([]Fact, error) {
	seen := &Seen{Now: now, Threshold: w.m.threshold(s), Catalog: w.catalog()}
	var err error
	if seen.Overview, err = w.reports.Spending(ctx, a.Wallet, now); err != nil {
		return nil, err
	}
	if err := seen.FindUnusual(ctx, w.reports, &Watched{Wallet: a.Wallet, Tags: s.Tags, Key: w.key}); err != nil {
		return nil, err
	}
	if seen.Spends, err = w.reports.KeySpends(ctx, a.ID, a.Wallet); err != nil {
		return nil, err
	}
	keys, err := w.keys.ListKeys(ctx, apikey.Filter{User: a.ID, Count: mostKeys})
	if err != nil {
		return nil, err
	}
	for i := range keys {
		seen.Keys = append(seen.Keys, &keys[i])
	}
	since := now.Add(-moneyFor)
	if a.Since.After(since) {
		since = a.Since
	}
	money, err := w.m.store.MoneyFacts(ctx, a.ID, since, mostMoney)
	if err != nil {
		return nil, err
	}
	budgets, err := w.budgetFacts(ctx, a, now, seen.today())
	return slices.Concat(States(seen), budgets, money), err
}

// key is the hash and the name of a key.
func (w *Watcher) key(ctx context.Context, id string) (hash, name string, err error) {
	k, err := w.keys.KeyByID(ctx, id)
	if fault.Is(err, fault.NotFound) {
		return "", id, nil
	}
	return k.Hash, cmp.Or(k.Name, k.Label), err
}

// digest names something of an account without saying what.
func digest(account, what string, at time.Time) string {
	sum := sha256.Sum256([]byte(account + "\n" + what + "\n" + strconv.FormatInt(at.UnixMicro(), 10)))
	return hex.EncodeToString(sum[:12])
}

// MailRound sends one mail that is due, and returns the pause before the next round.
func (w *Watcher) MailRound(ctx context.Context) time.Duration {
	now := w.m.cfg.Now()
	due, err := w.m.store.ClaimMails(ctx, now, now.Add(mailLease), 1)
	if err != nil {
		w.failed(ctx, "mails of notifications cannot be read from the store", "", err)
		return w.m.cfg.poll()
	}
	if len(due) == 0 {
		return w.m.cfg.poll()
	}
	for i := range due {
		l := &due[i]
		o, err := w.send(ctx, l)
		if err != nil {
			o.Words = fault.From(err).Public
		}
		if _, err := w.m.store.EndMail(context.WithoutCancel(ctx), l, o); err != nil {
			w.m.cfg.Report("the outcome of a notification's mail cannot be stored", l.Account, l.Cause, l.Attempts, err) // it is sent once more when the claim ends
		}
		if err != nil && o.Done {
			w.m.cfg.Report("a notification's mail was given up", l.Account, l.Cause, l.Attempts, err)
		}
	}
	return time.Minute / time.Duration(w.m.cfg.MailsPerMinute)
}

// send makes one attempt, and decides what follows.
func (w *Watcher) send(ctx context.Context, l *Letter) (MailOutcome, error) {
	now := w.m.cfg.Now()
	nothing := MailOutcome{Done: true, NextAt: now}
	if len(l.Facts) == 0 {
		return nothing, nil
	}
	if l.Attempts > len(pauses)+1 { // nodes die with it
		return MailOutcome{Done: true, NextAt: now.Add(aDay)}, fault.New(fault.Internal, "notify.send", "no node has ended an attempt")
	}
	mails, err := w.write(ctx, l)
	if err == nil && len(mails) == 0 {
		return nothing, nil // it was switched off meanwhile
	}
	if err == nil {
		err = w.deliver(ctx, mails)
	}
	switch now = w.m.cfg.Now(); {
	case err == nil, fault.Is(err, fault.Unprocessable), l.Attempts > len(pauses):
		return MailOutcome{Done: true, NextAt: now.Add(aDay)}, err
	case ctx.Err() != nil: // this node stops
		return MailOutcome{NextAt: now}, err
	}
	return MailOutcome{NextAt: now.Add(pauses[max(l.Attempts, 1)-1])}, err
}

// mostSent bounds what is remembered of letters that were given up.
const mostSent = 10000

// deliver sends the mails of a letter. Those that were sent in an earlier attempt of this node are not sent again; one that cannot be sent to its address
// keeps no other back.
func (w *Watcher) deliver(ctx context.Context, mails []Mail) (failed error) {
	for i := range mails {
		if w.sent[mails[i].ID] {
			continue
		}
		err := w.m.mail.Deliver(ctx, &mails[i])
		if err == nil || fault.Is(err, fault.Unprocessable) {
			if len(w.sent) > mostSent {
				clear(w.sent)
			}
			w.sent[mails[i].ID] = true
		}
		if err != nil && (failed == nil || fault.Is(failed, fault.Unprocessable)) {
			failed = err
		}
	}
	if failed == nil || fault.Is(failed, fault.Unprocessable) {
		for i := range mails {
			delete(w.sent, mails[i].ID)
		}
	}
	return failed
}

// write are the mails of a letter, none when it is not wanted any more.
func (w *Watcher) write(ctx context.Context, l *Letter) ([]Mail, error) {
	s, err := w.m.store.NotifySettings(ctx, l.Account)
	if err != nil || !w.m.usual.With(s.Own).On(l.Cause, Email) {
		return nil, err
	}
	to, err := w.m.people.RecipientsOf(ctx, l.Account)
	if err != nil {
		return nil, err
	}
	token, err := w.m.Token(ctx, l.Account, l.Cause)
	if err != nil {
		return nil, err
	}
	var mails []Mail
	for i := range to {
		r := &to[i]
		if !Hears(r.Role, l.Cause) {
			continue
		}
		m := Mail{ID: "ntf-" + digest(l.Account, l.Facts[0].ID(), l.FoundAt), To: r.Email, Locale: r.Language, Cause: l.Cause, Facts: l.Facts}
		if r.Role != "" {
			m.ID, m.Account = "ntf-"+digest(l.Account+" "+r.ID, l.Facts[0].ID(), l.FoundAt), l.Account
		}
		if r.switches() {
			m.Unsubscribe = token
		}
		mails = append(mails, m)
	}
	return mails, nil
}
