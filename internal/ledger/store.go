package ledger

import (
	"context"
	"time"

	"weir/internal/audit"
	"weir/internal/money"
	"weir/internal/record"
)

// Store has the state that outlives a node. Every method that writes is one transaction; repeating any of them is harmless unless its
// comment says otherwise. A store that cannot be reached fails with fault.StorageUnavailable.
type Store interface {
	Reader
	Nodes
	Lives
	Leases
	Applier
	Shelf
	Poster
	Auditor
}

// Nodes keeps which processes live. A node's epoch grows each time its leases are closed as a whole, so that a node which slept
// through that (fencing) cannot use them any more.
type Nodes interface {
	// Position makes node known, and reports how far its journal has been applied.
	Position(ctx context.Context, node string) (int64, error)
	// Join closes all leases of node, begins a new epoch and returns it.
	Join(ctx context.Context, node string, now time.Time) (epoch int64, err error)
	// Leave closes all leases of node if its epoch is still that one.
	Leave(ctx context.Context, node string, epoch int64) error
	// Beat is a sign of life. It returns the other nodes that joined and did not leave. current is false when node's epoch is another by now.
	Beat(ctx context.Context, node string, epoch int64, now time.Time) (others []Node, current bool, err error)
	// Evict closes the leases of a node and its epoch, if it has given no sign of life since that beat. It reports whether it did.
	Evict(ctx context.Context, node string, beat int64) (bool, error)
}

// Lives keeps which start of a node may apply its journal. Two processes can have the same identity when a data directory was copied; of
// them the one that started last has it, and the other finds out with its next beat or batch.
type Lives interface {
	// Life is the life that a node was given last, "" for one that is not known or never had one.
	Life(ctx context.Context, node string) (string, error)
	// Live gives a known node another life, if it has the former one. It reports whether it did.
	Live(ctx context.Context, node, former, life string) (bool, error)
	// Books returns the identity of the data in this store; fresh becomes the identity when there is none yet.
	Books(ctx context.Context, fresh string) (string, error)
}

// Node is a process as others see it.
type Node struct {
	ID   string
	Beat int64
}

// Fund is a source of leases: a wallet's balance (Key and Period empty), or what a key or a budget may spend in one interval.
type Fund struct {
	Wallet string
	Key    string // id of the Limit
	Period Period
}

// Borrow asks for money of a fund.
type Borrow struct {
	Fund   Fund
	Limit  money.Nano // in this period; not read for a wallet
	Node   string
	Epoch  int64
	Lease  int64 // made when the node has none of that id, else extended
	Need   money.Nano
	Want   money.Nano // at least Need; granted when plenty is left
	Recall bool       // asks other nodes to return money when the fund has less than Need
	Now    time.Time
}

// Grant is the answer to Borrow.
type Grant struct {
	Granted    money.Nano // 0 when Need is not available, else Need to Want
	Available  money.Nano // in the fund, before the grant; below zero after an overrun
	Elsewhere  money.Nano // left in other nodes' leases of this fund; reported only when nothing was granted
	Jobs       money.Nano // kept for jobs of this fund; reported only when nothing was granted
	Unanswered bool       // some of the other nodes have not yet answered the last recall
	Fenced     bool       // the node's epoch is another; nothing was granted
}

// Return gives money back, or closes a lease.
type Return struct {
	Fund   Fund
	Lease  int64
	Amount money.Nano
	Close  bool // everything left is returned, and the lease ends
}

// Held is how much of a lease calls hold.
type Held struct {
	Wallet string
	Lease  int64
	Amount money.Nano
}

// Leases stores the leases of nodes.
type Leases interface {
	// Tell stores how much calls hold of node's leases, if its epoch is still current. Leases that no longer exist are skipped.
	Tell(ctx context.Context, node string, epoch int64, hs []Held) error
	// BalanceBeside is Reader.Balance, without what node itself reported in Held, and with what its own leases have.
	BalanceBeside(ctx context.Context, wallet, node string) (Balance, Own, error)
	// Borrow fails with fault.NotFound when there is no such wallet. Repeating it borrows twice.
	Borrow(ctx context.Context, b Borrow) (Grant, error)
	// Return also records that the leases have answered the recalls so far. Leases that no longer exist are skipped. Repeating it returns
	// the money twice.
	Return(ctx context.Context, node string, rs []Return) error
	// Recalled lists the ids of node's leases whose fund was recalled since they answered.
	Recalled(ctx context.Context, node string) ([]int64, error)
}

// Item is one record of the journal: a call and the leases that it was held from; 0 for none.
type Item struct {
	Call        record.Call
	WalletLease int64
	KeyLease    int64
}

// Recorded is an Item with its bytes in the journal, from which DecodeItem makes the same Item.
type Recorded struct {
	Item
	Record []byte // valid until Apply returns
}

// Encode makes the bytes that the journal has of it, within the bounds of records.
func Encode(it Item) Recorded {
	it.Call.Bound()
	return Recorded{Item: it, Record: appendItem(nil, &it)}
}

// AppendRecord appends the bytes that this version's journal has of an item as it is.
func AppendRecord(b []byte, it *Item) []byte { return appendItem(b, it) }

// Batch is a stretch of a node's journal.
type Batch struct {
	Node     string
	Life     string // of the node
	From, To int64  // positions; nothing is applied unless the node's position in the store is From
	Items    []Recorded
	Now      time.Time
	Durable  bool // wait for the disk: the journal drops the records before To
}

// Applier makes postings of the records of a journal.
type Applier interface {
	// Apply inserts the generations, posts the settled ones as one transaction (an entry on each wallet, one of revenue for the sum),
	// takes their costs from leases, and updates projections and roll-ups. It returns the node's position: b.To, or another
	// when the store was not at b.From, and then nothing was applied. A generation that the store has already is skipped. It fails with
	// fault.Conflict when the node's life is another, and with fault.Unprocessable when a record among them can never be posted.
	Apply(ctx context.Context, b *Batch) (position int64, err error)
}

// Posting moves money into or out of a wallet, against another account.
type Posting struct {
	Kind      string     // "topup", "adjustment", "refund"
	Ref       string     // unique: repeated, nothing is posted
	Wallet    string     // of a refund: whichever paid, set by the store
	Against   string     // the other account
	Amount    money.Nano // of a refund: 0 means all that is left of the charge
	Reason    string
	BelowZero bool        // it may take more than is available
	Actor     audit.Actor // kept with the transaction, and in the audit chain
	At        time.Time
}

// Movement is money that moved into or out of a wallet for another reason than a call.
type Movement struct {
	Transaction int64
	Kind        string // "topup", "adjustment", "refund"
	Ref         string
	Wallet      string
	Against     string
	Amount      money.Nano
	Reason      string
	Actor       string // its name
	At          time.Time
}

// Posted is a movement that has been posted.
type Posted struct {
	Movement
	Repeated bool // it had been posted before
}

// Poster posts everything that does not come from a journal. It returns when the posting is on the disk.
type Poster interface {
	// Post fails with fault.NotFound without the wallet or the generation, with fault.Conflict when Ref was posted with other content, and
	// with fault.Unprocessable when Amount is negative and exceeds what is available, when a refund exceeds the rest of a charge, or when
	// the balance would overflow.
	Post(ctx context.Context, p Posting) (Posted, error)
}

// Sweeper drops the details of calls that are older than they are kept. Charges, balances, statements and roll-ups stay, and the checks
// still cover them: what is dropped leaves its sums and a link in the chain.
type Sweeper interface {
	// SweepCalls drops at most n calls that began before a time, of wallets after the one named ("" all), in the order of their names. It
	// returns the wallet to go on after, "" at the end, and how many it dropped. Each is one transaction, so it may be cut off at any place and
	// begun again from "". Calls of video jobs wait until their jobs are forgotten.
	SweepCalls(ctx context.Context, before time.Time, after string, n int) (next string, dropped int, err error)
	// KeptSince is the time before which calls were dropped; zero when all are kept.
	KeptSince(ctx context.Context) (time.Time, error)
}

// Check is one law of the books, and whether it holds.
type Check struct {
	Name   string
	OK     bool
	Detail string // what was compared; if it failed, the first places
}

// Auditor recomputes everything from the rows.
type Auditor interface {
	// Checks also compares the chain of postings with a stored anchor, and returns where the chain ends now. done hears of each check as it
	// ends; it may be nil.
	Checks(ctx context.Context, noted Anchor, done func(Check)) ([]Check, Anchor, error)
}
