package ledger

import (
	"context"
	"strings"
	"time"
	"unicode"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/money"
)

// Kinds of postings.
const (
	TopUpKind      = "topup"
	AdjustmentKind = "adjustment"
	RefundKind     = "refund"
)

// MaxPosting is the most that one posting moves, in either direction.
const MaxPosting = 1_000_000_000 * money.Ruble

// Actions of corrections in the audit chain.
const (
	Adjusted = "adjustment"
	Refunded = "refund"
)

// TopUp is money from outside.
type TopUp struct {
	Wallet     string
	Source     string // where it came from: lower-case letters, digits, "-" and "_", at most 32
	ExternalID string // its id there, 1 to 200 printable ASCII characters: the same id credits once
	Amount     money.Nano
	Actor      audit.Actor
}

// Posting checks a top-up and makes its posting. It fails with fault.Invalid.
func (t *TopUp) Posting(now time.Time) (Posting, error) {
	switch {
	case t.Amount <= 0:
		return Posting{}, fault.Field("ledger.Credit", "amount", "A top-up must be above zero.")
	case t.Amount > MaxPosting:
		return Posting{}, tooMuch("ledger.Credit", "A top-up")
	}
	if err := checkSource("ledger.Credit", t.Source, t.ExternalID); err != nil {
		return Posting{}, err
	}
	return Posting{Kind: TopUpKind, Ref: "topup:" + t.Source + ":" + t.ExternalID, Wallet: t.Wallet, Against: TopUpAccount + t.Source, Amount: t.Amount, Actor: t.Actor, At: now}, nil
}

// Credit posts a top-up and returns when it is on the disk. Repeated is true when the same had been posted before; then nothing is.
// It fails with fault.Invalid for an amount that is not above zero, with fault.NotFound without the wallet, and with fault.Conflict
// when the external id credited another wallet or amount.
func Credit(ctx context.Context, store Poster, t TopUp, now time.Time) (Posted, error) {
	p, err := t.Posting(now)
	if err != nil {
		return Posted{}, err
	}
	return store.Post(ctx, p)
}

// PayBack is money of a top-up that goes back to where it came from.
type PayBack struct {
	Wallet     string
	Source     string     // of the top-up
	ExternalID string     // names this movement, and no top-up: the same id debits once
	Amount     money.Nano // above zero
	Reason     string     // why, for the books; not empty
	BelowZero  bool       // it may take more than is available: the money has left already
	Actor      audit.Actor
}

// Posting checks a PayBack and makes its posting, a top-up below zero. It fails with fault.Invalid.
func (b *PayBack) Posting(now time.Time) (Posting, error) {
	switch {
	case b.Amount <= 0:
		return Posting{}, fault.Field("ledger.PayBack", "amount", "A refund must be above zero.")
	case b.Amount > MaxPosting:
		return Posting{}, tooMuch("ledger.PayBack", "A refund")
	case strings.TrimSpace(b.Reason) == "" || len(b.Reason) > MaxReason:
		return Posting{}, fault.Field("ledger.PayBack", "reason", "A refund needs a reason of at most %d bytes.", MaxReason)
	}
	if err := checkSource("ledger.PayBack", b.Source, b.ExternalID); err != nil {
		return Posting{}, err
	}
	return Posting{Kind: TopUpKind, Ref: "topup:" + b.Source + ":" + b.ExternalID, Wallet: b.Wallet, Against: TopUpAccount + b.Source, Amount: -b.Amount,
		Reason: b.Reason, BelowZero: b.BelowZero, Actor: b.Actor, At: now}, nil
}

func checkSource(op, source, id string) error {
	switch {
	case !wordLike(source, 32):
		return fault.Field(op, "source", "The source of a top-up must be at most 32 lower-case letters, digits, \"-\" and \"_\".")
	case !printable(id, 200):
		return fault.Field(op, "external_id", "The external id of a top-up has 1 to 200 printable ASCII characters.")
	}
	return nil
}

// Adjustment is a correction by an administrator.
type Adjustment struct {
	Wallet    string
	ID        string     // 1 to 200 printable ASCII characters: the same id adjusts once
	Amount    money.Nano // may be negative, but not zero
	Reason    string     // why, for the books; not empty
	BelowZero bool       // it may take more than is available
	Actor     audit.Actor
}

// Adjust posts a correction and returns when it is on the disk. It fails like Credit, and with fault.Unprocessable when it would
// take more than is available without BelowZero, or the balance below -MaxPosting.
func Adjust(ctx context.Context, store Poster, a Adjustment, now time.Time) (Posted, error) {
	switch {
	case a.Amount == 0:
		return Posted{}, fault.Field("ledger.Adjust", "amount", "An adjustment must not be zero.")
	case a.Amount > MaxPosting || a.Amount < -MaxPosting:
		return Posted{}, tooMuch("ledger.Adjust", "An adjustment")
	}
	if err := explained("ledger.Adjust", "An adjustment", a.Reason, a.ID); err != nil {
		return Posted{}, err
	}
	return store.Post(ctx, Posting{Kind: AdjustmentKind, Ref: "adjustment:" + a.ID, Wallet: a.Wallet, Against: AdjustmentAccount, Amount: a.Amount, Reason: a.Reason,
		BelowZero: a.BelowZero, Actor: a.Actor, At: now})
}

// Refund returns money of a call's charge to the wallet that paid.
type Refund struct {
	Generation string
	ID         string     // like Adjustment.ID
	Amount     money.Nano // 0: all that is left of the charge
	Reason     string     // why, for the books; not empty
	Actor      audit.Actor
}

// GiveBack posts a refund and returns when it is on the disk. What is refunded of a charge is never more than the charge. It fails with
// fault.Invalid for a negative amount, with fault.NotFound without the generation, with fault.Conflict when the id refunded something else, and
// with fault.Unprocessable when the call was not charged, or less is left of its charge.
func GiveBack(ctx context.Context, store Poster, r Refund, now time.Time) (Posted, error) {
	switch {
	case r.Amount < 0:
		return Posted{}, fault.Field("ledger.GiveBack", "amount", "A refund must be above zero. Leave the amount out to refund the rest of the charge.")
	case r.Amount > MaxPosting:
		return Posted{}, tooMuch("ledger.GiveBack", "A refund")
	case !printable(r.Generation, 200):
		return Posted{}, fault.Field("ledger.GiveBack", "generation", "generation is missing or invalid: give the id of an answer, gen-...")
	}
	if err := explained("ledger.GiveBack", "A refund", r.Reason, r.ID); err != nil {
		return Posted{}, err
	}
	return store.Post(ctx, Posting{Kind: RefundKind, Ref: "refund:" + r.ID, Against: RefundAccount + r.Generation, Amount: r.Amount, Reason: r.Reason, Actor: r.Actor, At: now})
}

// explained checks the fields that every correction must have.
func explained(op, what, reason, id string) error {
	switch {
	case strings.TrimSpace(reason) == "" || len(reason) > MaxReason:
		return fault.Field(op, "reason", "%s needs a reason of at most %d bytes.", what, MaxReason)
	case !printable(id, 200):
		return fault.Field(op, "reference", "%s needs a reference of 1 to 200 printable ASCII characters: the same one moves money once.", what)
	}
	return nil
}

// Event is the entry of a posting in the audit chain.
func (p *Posting) Event() audit.Event {
	return audit.Event{Actor: p.Actor, Action: actions[p.Kind], Target: p.Wallet, After: p.Words()}
}

// Words are the text of the amount in the audit chain.
func (p *Posting) Words() string {
	s := p.Amount.String() + " rubles, " + p.Ref
	if generation, ok := strings.CutPrefix(p.Against, RefundAccount); ok {
		s += " of " + generation
	}
	if p.Reason != "" {
		s += ": " + p.Reason
	}
	return s
}

// Repeats reports whether m, which was posted with the same reference, is the same posting as p. It fails with fault.Conflict, and names
// the field that differs.
func (p *Posting) Repeats(m *Movement) error {
	var differs string
	switch {
	case p.Against != m.Against:
		differs = "generation"
	case p.Wallet != m.Wallet:
		differs = "user"
	case p.Amount != m.Amount:
		differs = "amount"
	case p.Reason != m.Reason:
		differs = "reason"
	default:
		return nil
	}
	e := fault.Newf(fault.Conflict, "ledger.Post", "%s was posted before, with another %s.", p.Ref, differs)
	e.Param = differs
	return e
}

// Generation is the call that a refund is of, "" for all else.
func (m *Movement) Generation() string {
	generation, _ := strings.CutPrefix(m.Against, RefundAccount)
	if m.Kind != RefundKind {
		return ""
	}
	return generation
}

// Reference is the name that the operator gave it.
func (m *Movement) Reference() string {
	before := m.Kind + ":"
	if source := m.Source(); source != "" {
		before += source + ":"
	}
	return strings.TrimPrefix(m.Ref, before)
}

// Why is the reason as a line of a table can have it: in one line, and with nothing that a terminal obeys.
func (m *Movement) Why() string {
	return strings.Join(strings.FieldsFunc(m.Reason, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
}

// Source is the source of a top-up, "" for all other movements.
func (m *Movement) Source() string {
	source, ok := strings.CutPrefix(m.Against, TopUpAccount)
	if !ok {
		return ""
	}
	return source
}

// actions are the actions in the audit chain, by the kind of a posting.
var actions = map[string]string{TopUpKind: audit.TopUp, AdjustmentKind: Adjusted, RefundKind: Refunded}

// Reported is the kind of postings that an action of the audit chain is about, "" for one that moves no money.
func Reported(action string) string {
	for kind, a := range actions {
		if a == action {
			return kind
		}
	}
	return ""
}

// Against reports whether a posting of a kind may move money into a wallet from that account.
func Against(kind, account string) bool {
	switch kind {
	case TopUpKind:
		return strings.HasPrefix(account, TopUpAccount) && len(account) > len(TopUpAccount)
	case AdjustmentKind:
		return account == AdjustmentAccount
	case RefundKind:
		return strings.HasPrefix(account, RefundAccount) && len(account) > len(RefundAccount)
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

// Adjust first returns the money that this node has leased from the wallet but does not use, so that it can be taken, and then adjusts
// the balance.
func (b *Book) Adjust(ctx context.Context, a Adjustment) (Posted, error) {
	if a.Amount < 0 && !a.BelowZero {
		if err := b.Unlease(ctx, a.Wallet); err != nil {
			return Posted{}, err
		}
	}
	return Adjust(ctx, b.store, a, b.cfg.Now())
}

// Unlease returns the money that this node has leased from a wallet but does not use, so that a posting can take it.
func (b *Book) Unlease(ctx context.Context, wallet string) error {
	if err := b.Flush(ctx); err != nil {
		return err
	}
	var list []back
	p := b.lock(shareID{Wallet: wallet})
	if p.busy == nil && p.lease != nil && p.lease.free() > 0 {
		list = append(list, p.lease.giving(p.lease.free()))
	}
	p.mu.Unlock()
	return b.restore(ctx, list)
}

// GiveBack is GiveBack after a flush: a call of this node that has ended can be refunded.
func (b *Book) GiveBack(ctx context.Context, r Refund) (Posted, error) {
	if err := b.Flush(ctx); err != nil {
		return Posted{}, err
	}
	return GiveBack(ctx, b.store, r, b.cfg.Now())
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
