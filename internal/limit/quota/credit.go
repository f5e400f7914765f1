package quota

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/limit"
	"weir/internal/money"
)

// Money reports the balance of a wallet. The ledger implements it.
type Money interface {
	Balance(ctx context.Context, wallet string) (ledger.Balance, error)
}

// wallets remembers of names whether they have paid, or can.
type wallets struct {
	mu    sync.Mutex
	known map[string]wallet
}

type wallet struct {
	paid bool
	held money.Nano // of a balance of which calls that run hold all; 0: there is none
	at   time.Time  // when it was looked up
}

const (
	maxWallets = 10_000

	// askUnpaid is how long after a first top-up a user may wait for the larger allowance.
	askUnpaid = 30 * time.Second
	// trustCredit is how long a wallet that had money is admitted without another check, and trustEmpty how long one without money is
	// refused: the hold decides on the call itself.
	trustCredit = 10 * time.Second
	trustEmpty  = time.Second
)

// Free counts the request when one of its models is free.
func (v *Visit) Free(ctx context.Context, now time.Time, models []string) error {
	for _, m := range models {
		if strings.HasSuffix(m, ":"+string(catalog.Free)) {
			return v.free(ctx, now)
		}
	}
	return nil
}

func (v *Visit) free(ctx context.Context, now time.Time) error {
	f := &v.q.cfg.Free
	day := f.PerDay
	if f.PaidPerDay != f.PerDay {
		paying, err := v.paying(ctx, now)
		if err != nil {
			return err
		}
		if paying {
			day = f.PaidPerDay
		}
	}
	rates := limit.Rates{limit.PerMinute(f.PerMinute), {Amount: day, Per: 24 * time.Hour}}
	verdict := v.q.takeShared(v.q.free, now, v.caller.User, &rates, limit.Cost{1, 1})
	switch {
	case verdict.OK:
		return nil
	case verdict.By == 0:
		most := strconv.FormatInt(f.PerMinute, 10)
		return refused("free_requests_per_minute", "Free models may be asked "+most+" times a minute.", most, "0", verdict.Wait)
	}
	most := strconv.FormatInt(day, 10)
	return refused("free_requests_per_day", "Free models may be asked "+most+" times a day.", most, "0", verdict.Wait)
}

// paying reports whether the caller has ever topped up.
func (v *Visit) paying(ctx context.Context, now time.Time) (bool, error) {
	p := &v.q.paying
	known, ok := p.find(v.caller.User)
	if ok && (known.paid || now.Sub(known.at) < askUnpaid) {
		return known.paid, nil
	}
	b, err := v.q.money.Balance(context.WithoutCancel(ctx), v.caller.Wallet)
	if err != nil {
		return false, err
	}
	known = wallet{paid: b.Credited > 0, at: now}
	p.keep(v.caller.User, known)
	return known.paid, nil
}

// Credit fails with fault.PaymentRequired when a wallet has no money for any call, so that nothing large is read of its user. Where a model of
// the type is free everybody may go on; model may be "" while it is not known.
func (q *Quotas) Credit(ctx context.Context, now time.Time, name string, snap *catalog.Snapshot, kind, model string) error {
	if mayBeFree(snap, kind, model) {
		return nil
	}
	known, ok := q.credit.find(name)
	trust := trustEmpty
	if known.paid {
		trust = trustCredit
	}
	if !ok || now.Sub(known.at) >= trust {
		b, err := q.money.Balance(context.WithoutCancel(ctx), name)
		if err != nil {
			return nil // the money that this node has leased may be enough: the hold decides
		}
		known = wallet{paid: b.Balance-b.Held > 0, at: now}
		if !known.paid && b.Balance > 0 {
			known.held = b.Held
		}
		q.credit.keep(name, known)
	}
	switch {
	case known.held > 0:
		e := fault.New(fault.PaymentRequired, "quota.Credit", "This request has to wait: "+known.held.String()+" rubles are reserved for calls and jobs that run. Try again when one has ended.")
		e.RetryAfter, e.Details = 2*time.Second, map[string]any{"reserved": known.held.String()}
		return e
	case !known.paid:
		return fault.New(fault.PaymentRequired, "quota.Credit", "The balance is too low for this request. Top up, or ask for fewer tokens.")
	}
	return nil
}

// mayBeFree reports whether a call of a model may cost nothing; "" is any model of the type.
func mayBeFree(snap *catalog.Snapshot, kind, model string) bool {
	free := func(m *catalog.Model) bool {
		for _, ep := range m.Endpoints {
			if ep.Pricing.Free() {
				return true
			}
		}
		return false
	}
	if model != "" {
		m, _, ok := snap.Resolve(model)
		return ok && free(m)
	}
	for _, m := range snap.Models() {
		if m.Type == kind && free(m) {
			return true
		}
	}
	return false
}

func (p *wallets) find(name string) (wallet, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.known[name]
	return known, ok
}

func (p *wallets) keep(name string, one wallet) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) >= maxWallets || p.known == nil {
		p.known = map[string]wallet{}
	}
	p.known[name] = one
}
