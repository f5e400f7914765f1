package video

import (
	"context"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/webhook"
)

// Store stores jobs. Every method that writes is one transaction, which is on the disk when the method returns.
type Store interface {
	Jobs
	Work
}

// Jobs is the part of a store that client requests use.
type Jobs interface {
	// AddJob stores a new job that is not accepted yet, takes one of the user's limit places for it, and moves its held money
	// from a node's leases into the job's escrow: all of it or nothing. It fails with fault.RateLimited (Details: "limit", "active_jobs") when the user has that many active jobs, and with
	// fault.StorageUnavailable when the leases are not the node's any more.
	AddJob(ctx context.Context, j *Job, from ledger.Handover, limit int) error
	// AcceptJob marks a stored job as accepted and due, so that workers process it. A second call does nothing. It fails with fault.Conflict when
	// the job has been claimed or has ended before.
	AcceptJob(ctx context.Context, id string, due time.Time) error
	// Job finds a user's job ("" anybody's), without its request. It fails with fault.NotFound.
	Job(ctx context.Context, user, id string) (*Job, error)
	// SeizeJob takes an active job from its worker, whose later writes are refused; the job stays due. It fails with fault.Conflict when the job
	// has ended, and when a provider is being asked for it.
	SeizeJob(ctx context.Context, user, id string) (*Job, error)
	// WrestJob is SeizeJob for an operator: of any user, and also when a provider is being asked for the job. It fails with fault.NotFound when
	// the job does not exist or has ended.
	WrestJob(ctx context.Context, id string) (*Job, error)
	// Jobs lists a user's accepted jobs, the newest first, without their requests. It fails with fault.Invalid when the job
	// of Query.After does not exist.
	Jobs(ctx context.Context, q Query) ([]Job, error)
}

// Query asks for a page of a user's jobs.
type Query struct {
	User  string
	Sees  apikey.Sight // only those made with keys that somebody sees
	Below string       // only those made with this key, or one that comes from it; "" any
	State State        // "" any
	After string       // id of the last job of the page before; "" the first page
	Limit int
}

// Work is the part of a store that workers use.
type Work interface {
	// Clock returns the time of the database. All nodes use it, because their own clocks may be wrong.
	Clock(ctx context.Context) (time.Time, error)
	// SweepJobs deletes at most n jobs that ended before that time and have no work left, and reports how many it deleted.
	SweepJobs(ctx context.Context, before time.Time, n int) (int, error)
	// UpstreamTaken reports whether a job other than the given one has that upstream id.
	UpstreamTaken(ctx context.Context, upstreamID, job string) (bool, error)
	// ClaimJobs returns at most n jobs that are due and that no living node works on, the longest due first. Each has a new fence.
	ClaimJobs(ctx context.Context, node string, epoch int64, now time.Time, n int) ([]*Job, error)
	// KeepJob writes the changes of a job, active or ended. With release, other nodes may claim it afterwards. It
	// fails with fault.Conflict when j.Fence is not the job's any more, and then nothing was written.
	KeepJob(ctx context.Context, j *Job, release bool) error
	// AdoptJob is KeepJob, with release, for a job whose upstream id was found in a provider's list. It fails with fault.Unprocessable when
	// another job has that upstream id by now, and then nothing was written.
	AdoptJob(ctx context.Context, j *Job) error
	// EndJob writes a job that has come to its end: its place is free, its escrow settled or given back, its record kept, its event in the
	// outbox. A charge that can never be posted is set aside. Later writes of its worker are refused.
	// It fails like KeepJob, and when the job has ended before.
	EndJob(ctx context.Context, j *Job, end End) error
}

// End is written together with a job's end.
type End struct {
	Item  ledger.Recorded   // j.Call, with the leases of the escrow
	Event *webhook.Delivery // nil: no event is sent
	Now   time.Time
	By    *audit.Event // an operator ended it; nil: not
	// SetAside is called with the reason when the job has ended and Item can never be posted: an operator must handle it. May be nil.
	SetAside func(cause error)
}
