package video

import (
	"context"
	"time"

	"weir/internal/ledger"
	"weir/internal/webhook"
)

// Store keeps jobs. Every method that writes is one transaction, and is on the disk when it returns.
type Store interface {
	Jobs
	Work
}

// Jobs is what requests need of a store.
type Jobs interface {
	// AddJob keeps a new job that is not accepted yet, takes one of the user's limit places for it, and moves what it holds from a node's leases into the job's escrow:
	// all of it or nothing. It fails with fault.RateLimited (Details: "limit", "active_jobs") when the user has that many active jobs, and with
	// fault.StorageUnavailable when the leases are not the node's any more.
	AddJob(ctx context.Context, j *Job, from ledger.Handover, limit int) error
	// AcceptJob marks a job that is kept as accepted and due, so that it is worked on; once more it does nothing. It fails with fault.Conflict when
	// the job has been claimed or has ended before.
	AcceptJob(ctx context.Context, id string, due time.Time) error
	// Job finds a user's job, without its request. It fails with fault.NotFound.
	Job(ctx context.Context, user, id string) (*Job, error)
	// SeizeJob takes an active job from its worker, which cannot write any more; it stays due. It fails with fault.Conflict when the job
	// has ended, and when a provider is being asked for it.
	SeizeJob(ctx context.Context, user, id string) (*Job, error)
	// Jobs lists a user's accepted jobs, the newest first, without their requests. It fails with fault.Invalid when there is no job to go on after.
	Jobs(ctx context.Context, q Query) ([]Job, error)
}

// Query asks for a page of a user's jobs.
type Query struct {
	User  string
	State State  // "" any
	After string // id of the last job of the page before; "" the first page
	Limit int
}

// Work is what workers need of a store.
type Work interface {
	// Clock is the time of the database. All nodes go by it, however wrong their own clocks are.
	Clock(ctx context.Context) (time.Time, error)
	// SweepJobs forgets at most n jobs that ended before that and of which nothing is left to do, and reports how many.
	SweepJobs(ctx context.Context, before time.Time, n int) (int, error)
	// UpstreamTaken reports whether another job than that goes by a provider's name for it.
	UpstreamTaken(ctx context.Context, upstreamID, job string) (bool, error)
	// ClaimJobs hands out at most n jobs that are due and that no living node works on, the longest due first. Each has a new fence.
	ClaimJobs(ctx context.Context, node string, epoch int64, now time.Time, n int) ([]*Job, error)
	// KeepJob writes what has changed of a job: that it goes on, or a change after its end. Others may have it then if release. It
	// fails with fault.Conflict when j.Fence is not the job's any more, and then nothing was written.
	KeepJob(ctx context.Context, j *Job, release bool) error
	// AdoptJob is KeepJob, with release, for a job whose upstream id was found in a provider's list. It fails with fault.Unprocessable when
	// another job has taken that name, and then nothing was written.
	AdoptJob(ctx context.Context, j *Job) error
	// EndJob writes a job that has ended: its place is free, its escrow settled or given back, its record kept, its event in the
	// outbox. What the books can never take is set aside. Its worker cannot write any more. It fails like KeepJob, and when the job has ended before.
	EndJob(ctx context.Context, j *Job, end End) error
}

// End is what goes with a job's end.
type End struct {
	Item  ledger.Recorded   // j.Call, with the leases of the escrow
	Event *webhook.Delivery // nil: there is no callback
	Now   time.Time
	// SetAside is called when the job has ended and the books can never take Item, with the reason: it waits for an operator. May be nil.
	SetAside func(cause error)
}
