package ledger

import (
	"context"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/money"
)

// Kinds of postings.
const (
	TopUpKind      = "topup"
	AdjustmentKind = "adjustment"
)

// MaxPosting is the most that one posting moves, in either direction.
const MaxPosting = 1_000_000_000 * money.Ruble

// Adjusted is the action of an adjustment in the audit chain.
const Adjusted = "adjustment"

// TopUp is money that came in from outside.
type TopUp struct {
	Wallet     string
	Source     string // where it came from: lower-case letters, digits, "-" and "_", at most 32
	ExternalID string // its id there, 1 to 200 printable ASCII characters: the same id credits once
	Amount     money.Nano
	Actor      audit.Actor
}

// Credit posts a top-up and returns when it is on the disk. Repeated is true when the same had been posted before; then nothing is.
// It fails with fault.Invalid for an amount that is not above zero, with fault.NotFound without the wallet, and with fault.Conflict
// when the external id credited another wallet or amount.
func Credit(ctx context.Context, store Poster, t TopUp, now time.Time) (Posted, error) {
	switch {
	case t.Amount <= 0:
		return Posted{}, fault.Field("ledger.Credit", "amount", "A top-up must be above zero.")
	case t.Amount > MaxPosting:
		return Posted{}, tooMuch("ledger.Credit", "A top-up")
	case !wordLike(t.Source, 32):
		return Posted{}, fault.Field("ledger.Credit", "source", "The source of a top-up is a word of at most 32 lower-case letters, digits, \"-\" and \"_\".")
	case !printable(t.ExternalID, 200):
		return Posted{}, fault.Field("ledger.Credit", "external_id", "The external id of a top-up has 1 to 200 printable ASCII characters.")
	}
	p := Posting{Kind: TopUpKind, Ref: "topup:" + t.Source + ":" + t.ExternalID, Wallet: t.Wallet, Against: TopUpAccount + t.Source, Amount: t.Amount, At: now}
	return store.Post(ctx, p.by(t.Actor))
}

// Adjustment is a correction by an administrator.
type Adjustment struct {
	Wallet string
	ID     string     // 1 to 200 printable ASCII characters: the same id adjusts once
	Amount money.Nano // may be negative, but not zero
	Reason string     // why, for the books; not empty
	Actor  audit.Actor
}

// Adjust posts a correction and returns when it is on the disk. It fails like Credit, and with fault.Unprocessable when it would
// take more than is available.
func Adjust(ctx context.Context, store Poster, a Adjustment, now time.Time) (Posted, error) {
	switch {
	case a.Amount == 0:
		return Posted{}, fault.Field("ledger.Adjust", "amount", "An adjustment must not be zero.")
	case a.Amount > MaxPosting || a.Amount < -MaxPosting:
		return Posted{}, tooMuch("ledger.Adjust", "An adjustment")
	case a.Reason == "" || len(a.Reason) > 1000:
		return Posted{}, fault.Field("ledger.Adjust", "reason", "An adjustment needs a reason of at most 1000 bytes.")
	case !printable(a.ID, 200):
		return Posted{}, fault.Field("ledger.Adjust", "id", "The id of an adjustment has 1 to 200 printable ASCII characters.")
	}
	p := Posting{Kind: AdjustmentKind, Ref: "adjustment:" + a.ID, Wallet: a.Wallet, Against: AdjustmentAccount, Amount: a.Amount, Reason: a.Reason, At: now}
	return store.Post(ctx, p.by(a.Actor))
}

// by gives the posting its event in the audit chain.
func (p Posting) by(a audit.Actor) Posting {
	p.Event = audit.Event{Actor: a, Action: actions[p.Kind], Target: p.Wallet, After: p.Words()}
	return p
}

// Words are what the audit chain says of the posting.
func (p *Posting) Words() string {
	s := p.Amount.String() + " rubles, " + p.Ref
	if p.Reason != "" {
		s += ": " + p.Reason
	}
	return s
}

// actions are the actions in the audit chain, by the kind of a posting.
var actions = map[string]string{TopUpKind: audit.TopUp, AdjustmentKind: Adjusted}

// Told tells the kind of postings that an action of the audit chain is about, "" for one that moves no money.
func Told(action string) string {
	for kind, a := range actions {
		if a == action {
			return kind
		}
	}
	return ""
}

// Against tells whether what a posting of a kind moves into a wallet may come from that account.
func Against(kind, account string) bool {
	switch kind {
	case TopUpKind:
		return strings.HasPrefix(account, TopUpAccount) && len(account) > len(TopUpAccount)
	case AdjustmentKind:
		return account == AdjustmentAccount
	}
	return false
}

func tooMuch(op, what string) error {
	return fault.Field(op, "amount", "%s moves at most %s rubles.", what, MaxPosting)
}

// Credit is Credit with this node's store and clock.
func (b *Book) Credit(ctx context.Context, t TopUp) (Posted, error) {
	return Credit(ctx, b.store, t, b.cfg.Now())
}

// Adjust gives back what this node merely borrowed from the wallet, so that it can be taken, and then is Adjust.
func (b *Book) Adjust(ctx context.Context, a Adjustment) (Posted, error) {
	if a.Amount < 0 {
		if err := b.Flush(ctx); err != nil {
			return Posted{}, err
		}
		p := b.lock(purseID{Wallet: a.Wallet})
		var err error
		if p.busy == nil && p.lease != nil && p.lease.free() > 0 {
			err = b.restore(ctx, p, p.lease, p.lease.free())
		}
		p.mu.Unlock()
		if err != nil {
			return Posted{}, err
		}
	}
	return Adjust(ctx, b.store, a, b.cfg.Now())
}

func wordLike(s string, most int) bool {
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return s != "" && len(s) <= most
}

func printable(s string, most int) bool {
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return s != "" && len(s) <= most
}
