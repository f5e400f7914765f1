package video

import (
	"context"
	"io"
	"time"

	"weir/internal/blob"
	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/routing"
	"weir/internal/webhook"
)

// Upstream sends requests to providers. ep is the endpoint that has the job, taken from the present catalog to use its present credential.
// Methods must be safe for concurrent use, and must return when ctx ends. They fail with a *fault.Error whose Upstream holds the
// provider's response; Refused reads it.
type Upstream interface {
	// Submit submits s to ep once. It must not retry after a byte of the request has been sent.
	Submit(ctx context.Context, ep *catalog.Endpoint, s *Submission) (Accepted, error)
	// Recover reports the outcome of a submission whose answer was not received or was unclear. It must never create a second job.
	// It returns Unknown where the provider has no idempotency keys, no task ids set by clients and no list to search.
	Recover(ctx context.Context, ep *catalog.Endpoint, s *Submission) (Recovered, error)
	// Poll requests the progress of the job. It fails with fault.NotFound when the provider does not have the job.
	Poll(ctx context.Context, ep *catalog.Endpoint, j *Job) (Progress, error)
	// Cancel cancels the job at the provider. It fails when the provider cannot cancel it, or did not.
	Cancel(ctx context.Context, ep *catalog.Endpoint, j *Job) error
	// Open reads a finished video, or the part r of it; nil means all of it. A provider without support for ranges may send all of it.
	// Open fetches only from the address that the provider gave, and sends the provider's credential only to the provider.
	Open(ctx context.Context, ep *catalog.Endpoint, j *Job, o *Output, r *Range) (*Content, error)
}

// Submission is a request to a provider to make videos.
type Submission struct {
	Job     string // "vj_..."
	Token   string // the same in repeats of the submission; an idempotency key or a task id
	Request *Request
	At      time.Time // just before the request was sent, by the clock of the store: lists are searched back to this time
}

// Accepted is a provider's answer to a submission.
type Accepted struct {
	ID   string        // the provider's id of the job, as Poll needs it; not empty
	Wait time.Duration // before the first poll; 0: the default
	Key  string        // which of the provider's keys was used, as catalog.KeyTag: that of a refusal, too; "" unknown
}

// Recovered is the result of Upstream.Recover.
type Recovered struct {
	Fate     Fate
	Accepted          // set when Fate is Adopted
	Alike    []string // the provider's ids of jobs that may be this one; Fate is right only if none of them is
}

// Fate says whether the provider has a submitted job.
type Fate uint8

// The fates.
const (
	Unknown Fate = iota // it cannot be found out
	Adopted             // the provider has the job
	Absent              // the provider reports that it does not have the job, at least so far
)

// Progress is a provider's report on a job.
type Progress struct {
	State   State // Pending and InProgress: go on; Completed: Outputs are there; Failed, Cancelled, Expired: Failure says why
	Percent int   // 0 unknown
	Outputs []Output
	Length  time.Duration // of each video, as the provider counts it; 0 not reported
	Cost    string        // dollars as the provider wrote them, decimal text; "" not reported
	Wait    time.Duration // before the next poll; 0: the default
	Failure *fault.Error  // its Public is for the client; its Kind the reason, such as fault.ContentPolicy
}

// Content is a video, or a part of one, on its way to a client. Body must be closed.
type Content struct {
	Body      io.ReadCloser // nil when Unfit
	From      int64         // offset of Body in the file
	Length    int64         // of Body; -1 unknown
	Size      int64         // of the file; -1 unknown
	Partial   bool          // Body is the requested part
	Unfit     bool          // the range is outside the file; Size is known
	MediaType string        // "" unknown
	ETag      string        // without quotes; "" none
}

// Contents stores finished videos. A blob.Store is one.
type Contents interface {
	Put(ctx context.Context, key, mediaType string, r io.Reader) (size int64, etag string, err error)
	Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, blob.Info, error)
	Delete(ctx context.Context, key string) error
	// Sweep deletes at most n files that were put before the given time, and reports how many it deleted.
	Sweep(ctx context.Context, before time.Time, n int) (int, error)
	// Ready fails when no file can be stored at the moment.
	Ready(ctx context.Context) error
}

// Planner chooses the endpoints that may make the videos of a request, and their prices.
type Planner interface {
	// Plan checks r against what its model can do, fills in missing fields that the price depends on, and lists the offers to try.
	// It fails with fault.ModelNotFound, fault.WrongEndpoint, fault.Invalid (Details: "allowed") and fault.NoEndpoints.
	Plan(r *Request, defaults *routing.Preferences, own []routing.Own, snap *catalog.Snapshot) (Plan, error)
}

// OwnKeys finds people's own keys of providers. *ownkey.Manager is one.
type OwnKeys interface {
	// Of is what the keys of a user mean for a plan.
	Of(ctx context.Context, user string) ([]routing.Own, error)
	// Endpoint is an endpoint as a user calls it with a key. It fails with fault.PermissionDenied when the key can no longer be used.
	Endpoint(ctx context.Context, user, key string, ep *catalog.Endpoint) (*catalog.Endpoint, error)
	// Tried notes how a request with a key ended; err is nil for one that was answered.
	Tried(user, key string, err *fault.Error)
}

// Plan lists the offers to try for a request.
type Plan struct {
	Model  string // slug, variant suffix kept
	Offers []Offer
}

// Callbacks makes the event that reports a job's end. It returns nil when no event is to be sent.
type Callbacks interface {
	Ended(j *Job) *webhook.Delivery
}

// Holds reserves money. *ledger.Book is one.
type Holds interface {
	Hold(ctx context.Context, r ledger.HoldRequest) (*ledger.Hold, error)
	// Hand passes the money of h to move, which takes it from this node's leases in one transaction of the store.
	Hand(ctx context.Context, h *ledger.Hold, move func(context.Context, ledger.Handover) error) error
}

// Member is this node's name and epoch. The epoch rises when other nodes treat this node as dead. *ledger.Book is one.
type Member interface {
	Node() string
	Epoch() int64
}
