package ledger

import (
	"context"
	"time"

	"weir/internal/money"
	"weir/internal/record"
)

// Balance is the state of one wallet. Balance = Credited - Charged.
type Balance struct {
	Credited money.Nano
	Charged  money.Nano
	Balance  money.Nano
	// Held is reserved for running calls and jobs: neither spent nor available. A node counts its own present calls, and the calls of
	// other nodes as of their last sign of life.
	Held money.Nano
	// Leased is lent to nodes or kept for jobs: the holds of calls, what they may still take, and charges that are not applied yet.
	// Balance - Leased can still be lent.
	Leased money.Nano
}

// Own is what the store has of one node's leases of a wallet.
type Own struct {
	Epoch    int64                // the node's; 0: there is no such node
	Life     string               // of the process that applies its journal
	Consumed map[int64]money.Nano // what its leases were charged, by the lease
}

// FundState is what counts in a fund of a limit at present.
type FundState struct {
	Spent money.Nano // by calls that have ended, without refunds, and since the spending was reset
	Held  money.Nano // by calls that run, as their nodes reported every few seconds, and by jobs; 0 where the limit is open
}

// ActivityRow is one day of one model, as in GET /v1/activity.
type ActivityRow struct {
	Date             string // YYYY-MM-DD, UTC
	Model            string
	Cost             money.Nano
	Requests         int64
	PromptTokens     int64
	CompletionTokens int64
	ReasoningTokens  int64
	Refunded         money.Nano // of Cost; Cost itself is not reduced
}

// KeySpend is what one key has spent, in total and in the current UTC day, week (from Monday) and month, as its limit counts it.
type KeySpend struct {
	Total, Daily, Weekly, Monthly money.Nano
	Forgiven                      Forgiven
}

// Forgiven is what of a key's spending does not count against its limit, because it was reset. The spending itself stays: it is checked against the books.
type Forgiven struct {
	Total, Daily, Weekly, Monthly money.Nano
}

// Counted is what counts against a limit: what was spent in its interval and since the spending was reset.
func (s *KeySpend) Counted(r Reset) money.Nano {
	switch r {
	case Daily:
		return s.Daily - s.Forgiven.Daily
	case Weekly:
		return s.Weekly - s.Forgiven.Weekly
	case Monthly:
		return s.Monthly - s.Forgiven.Monthly
	case Never:
	}
	return s.Total - s.Forgiven.Total
}

// Entry is one signed, immutable line of the ledger.
type Entry struct {
	ID          int64
	Transaction int64
	Account     string // "wallet:wal_...", "revenue", "topup:..."
	Amount      money.Nano
	Ref         string // idempotency id: "settle:gen-...", "topup:<source>:<external id>"
	At          int64  // Unix microseconds
}

// Totals are the sums of all entries.
type Totals struct {
	Entries int64
	Sum     string // of all, in rubles: "0", or the books are wrong
	Kinds   []TotalOf
}

// TotalOf is the sum of the entries of one kind of account.
type TotalOf struct {
	Account string // "wallet" and "refund" for all of them; else the account's name
	Entries int64
	Amount  string // rubles
}

// Transaction is what was posted at once: its entries sum to zero. One that settles calls has those of many; of such a one, Entries has the charge
// that was asked for and the whole of the other side, and Others what the other calls were charged.
type Transaction struct {
	ID            int64
	Kind, Ref     string
	At            time.Time
	Actor, Reason string
	Entries       []Entry
	Others        money.Nano
}

// Reader answers questions about the state of the store. The methods of Book flush before they ask it, so that the answers include
// everything that this node has delivered.
type Reader interface {
	// Balance counts as held what nodes reported of their calls. It fails with fault.NotFound when the wallet does not exist.
	Balance(ctx context.Context, wallet string) (Balance, error)
	// Local is what a clock shows where a wallet's account is when the hour that has t begins, written as a time of UTC: its date is the day
	// to which t belongs. It never waits.
	Local(wallet string, t time.Time) time.Time
	// Activity lists rows of the days from..to (YYYY-MM-DD, both included), date descending, cost descending, model ascending.
	// key "" means all keys of the wallet.
	Activity(ctx context.Context, wallet, key, from, to string) ([]ActivityRow, error)
	// Call finds one recorded call of a wallet ("" any wallet) and the ledger entries it became. It fails with fault.NotFound.
	Call(ctx context.Context, wallet, generation string) (*record.Call, []Entry, error)
	// FundStates is what counts in funds of one wallet, in their order. A budget has one fund in each interval, a key in each of Periods.
	FundStates(ctx context.Context, funds []Fund) ([]FundState, error)
	// KeySpend counts the cost of calls minus their refunds, also of calls by keys that come from the key, and had it among their limits.
	KeySpend(ctx context.Context, key string) (KeySpend, error)
	// Statement lists top-ups, corrections and refunds of a wallet with a transaction below before, the newest first, at most count.
	Statement(ctx context.Context, wallet string, before int64, count int) ([]Movement, error)
	// Refunds lists the refunds of a call of a wallet ("" any wallet), the oldest first. It is empty for an unknown call.
	Refunds(ctx context.Context, wallet, generation string) ([]Movement, error)
}
