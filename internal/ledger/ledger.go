// Package ledger keeps the money: wallets, leases, holds, settlements, entries. Every transaction's entries sum to zero, rows are
// never changed, a balance is a projection that Verify recomputes.
//
// A node borrows money of a wallet from the store (a lease), reserves it in memory for calls (holds), and appends what a call cost to the
// journal before the client's answer ends. Records of the journal are applied to the store in batches, each once, whatever dies in between:
// the position up to which a node's journal is applied is in the transaction that applies it. So a call needs no database while its lease
// has money, and what a dead node has borrowed goes back when its charges are in. docs/ledger.md draws the states.
package ledger

import (
	"context"
	"log/slog"
	"time"

	"weir/internal/fault"
	"weir/internal/ledger/journal"
	"weir/internal/money"
)

// Names of accounts and ids. A wallet's account is WalletAccount + its id.
const (
	WalletAccount     = "wallet:"
	RevenueAccount    = "revenue"
	TopUpAccount      = "topup:" // + source
	AdjustmentAccount = "adjustment"
	RefundAccount     = "refund:" // + generation: money given back for its charge
	SettleRef         = "settle:" // + generation
)

// Reset is how often a limit is reset, at midnight in the account's time zone; weeks start on Monday.
type Reset string

// The intervals.
const (
	Never   Reset = ""
	Daily   Reset = "daily"
	Weekly  Reset = "weekly"
	Monthly Reset = "monthly"
)

// Limit is a ceiling of what calls may spend in each interval, within the balance of their wallet: that of a key, of a key above it, or of a budget.
type Limit struct {
	ID     string     // "key_..." or "bud_..."
	Amount money.Nano // in an interval
	Reset  Reset
	Open   bool // it counts what was spent and refuses nothing: Amount is not read, and nothing is held
}

// MaxLimits is how many limits bind one call at most.
const MaxLimits = 64

// The intervals by which the spending of a key or a budget is kept.
const (
	PeriodTotal = "total"
	PeriodDay   = "day"
	PeriodWeek  = "week"
	PeriodMonth = "month"
)

// Period is one interval: its kind and the first of its days, as the Unix seconds of that date's midnight in UTC; 0 for the total. Days are those
// of the account.
type Period struct {
	Kind  string
	Start int64
}

// Periods are the intervals that a moment belongs to. It is what the account's clock shows, as Reader.Local writes it.
func Periods(at time.Time) [4]Period {
	return [4]Period{{PeriodTotal, 0}, Daily.Period(at), Weekly.Period(at), Monthly.Period(at)}
}

// Period is the interval of r that a moment belongs to, which is written as in Periods.
func (r Reset) Period(at time.Time) Period {
	y, m, d := at.UTC().Date()
	date := func(d int) int64 { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() }
	switch r {
	case Daily:
		return Period{PeriodDay, date(d)}
	case Weekly:
		return Period{PeriodWeek, date(d - (int(at.UTC().Weekday())+6)%7)}
	case Monthly:
		return Period{PeriodMonth, date(1)}
	}
	return Period{PeriodTotal, 0}
}

// Ends is when the interval ends that has a moment, by the account's clock, as Reader.Local writes it; the zero time for Never.
func (r Reset) Ends(local func(time.Time) time.Time, at time.Time) time.Time {
	wall := local(at)
	y, m, d := wall.Date()
	switch r {
	case Daily:
		d++
	case Weekly:
		d += 7 - (int(wall.Weekday())+6)%7
	case Monthly:
		m, d = m+1, 1
	default:
		return time.Time{}
	}
	next := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	const shift = 3 * time.Hour // clocks may be changed until then, by two hours and by half an hour of a zone
	t := at.UTC().Truncate(time.Hour).Add(next.Sub(wall) - shift).Truncate(time.Hour)
	for local(t).Before(next) {
		t = t.Add(time.Hour)
	}
	return t
}

// Config is how a Book works. It begins with Default; Dir and Now must be set.
type Config struct {
	LeaseFor   time.Duration `constant:"lease_for"`   // how long leases are used after the last sign of life that the store took
	LapseAfter time.Duration `constant:"lapse_after"` // how long a node must be silent before others take its leases back; above LeaseFor
	SpendFor   time.Duration `constant:"spend_for"`   // a lease covers recent spending for about that long, and returns what it did not use in that time
	RecallFor  time.Duration `constant:"recall_for"`  // how long a hold waits for other nodes to give money back
	StoreFor   time.Duration `yaml:"store_for"`       // how long one question to the store may take before the call is refused
	ApplyEvery time.Duration `yaml:"apply_every"`     // settlements reach the store after that

	TickEvery time.Duration // upkeep
	BeatEvery time.Duration // sign of life to other nodes

	Dir     string           // folder of the journal, for this process alone
	Journal journal.Options  // the book sets what concerns its store
	Now     func() time.Time // reads the clock; with a monotonic reading, steps of the wall clock change no lease
	Log     *slog.Logger     // nil: none
	// OnSuperseded is called once when another process has taken this node's identity: the node should end. May be nil.
	OnSuperseded func()
	// Wait waits for d, or fails when ctx ends before. nil: with a timer. Tests move other nodes on in it.
	Wait func(ctx context.Context, d time.Duration) error
}

// Default has the usual times, for a book with its journal in dir.
func Default(dir string, now func() time.Time) Config {
	return Config{
		Dir: dir, Now: now, Journal: journal.Default(),
		ApplyEvery: 200 * time.Millisecond, TickEvery: 250 * time.Millisecond, BeatEvery: 2 * time.Second,
		LeaseFor: 40 * time.Second, LapseAfter: 60 * time.Second, SpendFor: 3 * time.Second, RecallFor: time.Second, StoreFor: 1500 * time.Millisecond,
	}
}

func (c *Config) check() error {
	switch {
	case c.Dir == "" || c.Now == nil:
		return fault.New(fault.Internal, "ledger.Start", "Config.Dir and Config.Now must be set.")
	case c.LapseAfter <= c.LeaseFor+c.BeatEvery:
		return fault.New(fault.Invalid, "ledger.Start", "A node's leases must not be taken back while it may still use them: lapse_after must exceed lease_for and beat_every together.")
	}
	return nil
}
