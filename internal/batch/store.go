package batch

import (
	"context"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/money"
)

// Store stores files and batches. Every method that writes is one transaction.
type Store interface {
	FileStore
	BatchStore
	WorkStore
}

// FileBounds are limits on what one user may have stored.
type FileBounds struct {
	Files int64 `constant:"max_files_per_user"`
	Bytes int64 `yaml:"max_bytes_per_user" as:"size"`
}

// FileStore keeps files.
type FileStore interface {
	// AddFile adds a file. It fails with fault.RateLimited when its user would have more than b.
	AddFile(ctx context.Context, f *File, b FileBounds) error
	// File finds a user's file. It fails with fault.NotFound, also for a file that is marked as gone or has expired at now.
	File(ctx context.Context, user, id string, now time.Time) (*File, error)
	// Files lists a user's files that are not hidden. It fails with fault.Invalid when the file of q.After does not exist.
	Files(ctx context.Context, q FileQuery) ([]File, error)
	// MarkFile marks a user's file as deleted: it is not found any more. It fails with fault.NotFound, and with fault.Conflict while a batch
	// reads it.
	MarkFile(ctx context.Context, user, id string) error
	// GoneFiles lists at most n files that are marked as gone or have expired at now, and that no batch reads.
	GoneFiles(ctx context.Context, now time.Time, n int) ([]string, error)
	// DropFile deletes the row of a file whose content was deleted.
	DropFile(ctx context.Context, id string) error
}

// FileQuery asks for a page of a user's files.
type FileQuery struct {
	User      string
	Sees      apikey.Sight // only those made with keys that somebody sees
	Purpose   string       // "" any
	After     string       // id of the last file of the page before; "" the first page
	Ascending bool
	Now       time.Time
	Limit     int
}

// BatchStore is the part of a store that requests of clients use.
type BatchStore interface {
	// AddBatch adds a batch, and the hidden file of its requests unless it is nil. It fails with fault.RateLimited when the user has limit
	// batches that have not ended, and with fault.NotFound when its input is gone.
	AddBatch(ctx context.Context, b *Batch, input *File, limit int64) error
	// Batch finds a user's batch of a shape. It fails with fault.NotFound.
	Batch(ctx context.Context, user, id string, shape Shape) (*Batch, error)
	// Batches lists batches, the newest first. It fails with fault.Invalid when the batch of q.After or q.Before does not exist.
	Batches(ctx context.Context, q Query) ([]Batch, error)
	// CancelBatch has a batch cancelled that is being checked or called, and records who did it, unless by is nil; others stay as they are.
	CancelBatch(ctx context.Context, id string, now time.Time, why []Problem, by *audit.Event) error
	// DeleteBatch deletes a user's batch that has ended, and marks its files as gone. It fails with fault.Conflict when it has not ended.
	DeleteBatch(ctx context.Context, user, id string, shape Shape) error
	// CountBatches counts the batches that have not ended.
	CountBatches(ctx context.Context) (Counts, error)
	// HasBatch reports whether a request of a wallet made a batch.
	HasBatch(ctx context.Context, wallet, generation string) (bool, error)
}

// Query asks for a page of batches.
type Query struct {
	User   string       // "" of all users
	Sees   apikey.Sight // only those made with keys that somebody sees
	Below  string       // only those made with this key, or one that comes from it; "" any
	Shape  Shape        // "" any
	Active bool         // only those that have not ended
	After  string       // id of the last batch of the page before; "" the first page
	Before string       // id of the first batch of the page after: the page before that is wanted; "" not
	Limit  int
}

// WorkStore is the part of a store that workers use. Methods that get a batch fail with fault.Conflict when b.Fence is not the batch's any
// more, and then wrote nothing.
type WorkStore interface {
	// Clock returns the time of the database. All nodes use it, because their own clocks may be wrong.
	Clock(ctx context.Context) (time.Time, error)
	// ClaimBatches returns at most n batches that are due and that no living node works on, the longest due first. Each has a new fence. held
	// are those that the node works on: others that it has claimed are claims whose answers were lost.
	ClaimBatches(ctx context.Context, node string, epoch int64, now time.Time, n int, held []string) ([]*Batch, error)
	// OwnBatch reads a claimed batch again.
	OwnBatch(ctx context.Context, id string, fence int64) (*Batch, error)
	// KeepBatch writes state, files, problems, times and pause of a batch whose state in the store is from; it fails with fault.Conflict when
	// it is another. With release, other nodes may claim it when it is due.
	KeepBatch(ctx context.Context, b *Batch, from State, release bool) error
	// StartItem writes that a line is running. It fails with fault.Conflict, too, when the batch is not in progress any more, unless the line
	// is one of a part, whose answer must be paid.
	StartItem(ctx context.Context, b *Batch, it *Item) error
	// AddPart writes that a part is about to be sent, that these lines wait for it, and the encoded Terms by their ids, with which they were
	// prepared. It fails like StartItem.
	AddPart(ctx context.Context, b *Batch, p *Part, items []*Item, terms map[string][]byte) error
	// KeepPart writes the state of a part, the provider's id of it, and when it is to be cleared.
	KeepPart(ctx context.Context, b *Batch, p *Part) error
	// Parts lists the parts of a batch, the oldest first.
	Parts(ctx context.Context, batch string) ([]Part, error)
	// Terms finds encoded Terms of a batch. It fails with fault.NotFound.
	Terms(ctx context.Context, batch, id string) ([]byte, error)
	// LeftParts returns at most n parts of all batches that are to be cleared at now, the longest due first. That each is tried is counted, and
	// it is due again after what pause says of the tries, so that no other node gets it meanwhile.
	LeftParts(ctx context.Context, now time.Time, n int, pause func(tries int64) time.Duration) ([]Part, error)
	// LeavePart has a part cleared that has ended and that its provider has, as it turned out, under that id.
	LeavePart(ctx context.Context, p *Part, now time.Time) error
	// ClearedPart writes that a part needs not be cleared any more.
	ClearedPart(ctx context.Context, id string) error
	// EndItem writes a line that is waiting or done. A line that is done already stays as it is. What is done is counted once.
	EndItem(ctx context.Context, b *Batch, it *Item) error
	// Items lists lines of a batch after a number, at most n, in order; without their answers unless bodies is set. Of those that are done
	// only those with one of the outcomes, if there are any.
	Items(ctx context.Context, batch string, after int64, n int, bodies bool, outcomes ...Outcome) ([]Item, error)
	// EndBatch writes the end of a batch whose state is from, together with its new files.
	EndBatch(ctx context.Context, b *Batch, from State, files []File) error
	// SweepItems deletes at most n lines of batches that have ended, and reports how many it deleted.
	SweepItems(ctx context.Context, n int) (int, error)
	// SweepBatches deletes at most n batches that ended before a time and have no lines any more, and reports how many it deleted.
	SweepBatches(ctx context.Context, before time.Time, n int) (int, error)
}

// Charge is what the ledger knows of a call.
type Charge struct {
	Known   bool // it has a record
	Settled bool // and the call was charged
	Cost    money.Nano

	Prompt, Cached, Completion, Reasoning int64
}
