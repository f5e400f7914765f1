package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger/journal"
	"weir/internal/money"
)

// The operator's actions on charges that were set aside, in the audit chain.
const (
	AsidePosted    = "set_aside.post"
	AsideDismissed = "set_aside.dismiss"
)

// MaxReason is how long a reason may be, in bytes.
const MaxReason = 1000

// Aside is a record of a journal that could not be posted, for a reason that time does not heal.
type Aside struct {
	ID         int64
	Node       string
	Position   int64  // in the node's journal
	Generation string // "" when the record could not be read, like Wallet
	Wallet     string
	Cost       money.Nano
	Reason     string
	Record     []byte
	At         time.Time
}

// Shelf keeps charges that could not be posted until an operator decides about them.
type Shelf interface {
	// SetAside keeps a record, and moves the node on from from to a.Position, which ends the record, in one transaction. Like Applier.Apply it
	// does nothing unless the node is at from, fails with fault.Conflict in another life, and returns the node's position.
	SetAside(ctx context.Context, life string, from int64, a *Aside) (position int64, err error)
	// Asides lists the charges that wait for a decision, the oldest first, at most 1000.
	Asides(ctx context.Context) ([]Aside, error)
	// CountAsides is how many wait.
	CountAsides(ctx context.Context) (int64, error)
	// PostAside posts one. It fails with fault.NotFound when none of that id waits, and with fault.Unprocessable when it still cannot be posted.
	PostAside(ctx context.Context, id int64, by audit.Actor, now time.Time) error
	// DismissAside gives one up: it is never charged. It fails like PostAside.
	DismissAside(ctx context.Context, id int64, reason string, by audit.Actor, now time.Time) error
}

// AddAside counts a record that was set aside for another reason than the journal's.
func (b *Book) AddAside() { b.aside.Add(1) }

// setAside puts the first record of the stretch, which cannot be posted, out of the way of those after it.
func (b *Book) setAside(ctx context.Context, from int64, cause error) error {
	to, rec := b.stretch.nexts[0], b.stretch.bytes[:b.stretch.ends[0]]
	a := Aside{Node: b.writer, Position: to, Reason: cause.Error(), Record: rec, At: b.cfg.Now()}
	var f *fault.Error
	if errors.As(cause, &f) && f.Cause != nil {
		a.Reason = f.Cause.Error()
	}
	a.Reason = a.Reason[:min(len(a.Reason), MaxReason)]
	if len(b.stretch.items) > 0 {
		c := &b.stretch.items[0].Call
		a.Generation, a.Wallet, a.Cost = c.Generation, c.Wallet, c.Cost
	}
	path, err := journal.Keep(b.cfg.Dir, fmt.Sprintf("%s-%016x", a.Node, a.Position), rec)
	if err != nil {
		b.log.Error("a record that cannot be posted is kept in the database alone: its file could not be written", "error", err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyTimeout)
	defer cancel()
	b.asideHere.Store(true) // first: the answer may be lost
	at, err := b.store.SetAside(ctx, b.life, from, &a)
	if err != nil {
		return err
	}
	b.applied.Store(at)
	b.aside.Add(1)
	b.log.Error("a record of the journal cannot be posted and was set aside: its call is not charged. See it with: weir ledger aside list",
		"generation", a.Generation, "wallet", a.Wallet, "cost", a.Cost, "reason", a.Reason, "file", path)
	return nil
}

// Aside is how many records of this node were set aside since Start, and of all nodes before.
func (b *Book) Aside() int64 { return b.aside.Load() }
