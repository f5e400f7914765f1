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

// Upstream calls providers. ep is the endpoint that has the job, from the present catalog, so that its credential is the present one.
// Methods must be safe for concurrent use, and must return when ctx ends. They fail with a *fault.Error; its Upstream says what came
// back, for Refused to judge.
type Upstream interface {
	// Submit asks ep for the videos of s, once: it never tries again by itself after a byte of the request has been sent.
	Submit(ctx context.Context, ep *catalog.Endpoint, s *Submission) (Accepted, error)
	// Recover finds out the fate of a submission whose answer was lost or could not be read. It must never make a second job at the provider.
	// Where the provider has no idempotency key, no client task id and no list to search, the answer is Unknown.
	Recover(ctx context.Context, ep *catalog.Endpoint, s *Submission) (Recovered, error)
	// Poll asks how far the job is. It fails with fault.NotFound when the provider does not know it.
	Poll(ctx context.Context, ep *catalog.Endpoint, j *Job) (Progress, error)
	// Cancel has the provider stop. It fails when the provider cannot, or did not.
	Cancel(ctx context.Context, ep *catalog.Endpoint, j *Job) error
	// Open reads a finished video, or the part of it that r asks for: nil all of it. A provider without range requests may send all of it.
	// It fetches from where the provider said and from nowhere else, and sends the provider's credential to the provider alone.
	Open(ctx context.Context, ep *catalog.Endpoint, j *Job, o *Output, r *Range) (*Content, error)
}

// Submission is what a provider is asked for.
type Submission struct {
	Job     string // "vj_..."
	Token   string // the same for each time that the submission is made: an idempotency key, or a task id
	Request *Request
	At      time.Time // just before the provider was asked, by the clock of the store: lists need not be searched further back
}

// Accepted is a provider's answer to a submission.
type Accepted struct {
	ID   string        // the provider's name for the job, whatever Poll needs; not empty
	Wait time.Duration // before the first poll; 0: the usual
}

// Recovered is the fate of a submission.
type Recovered struct {
	Fate     Fate
	Accepted          // of one that is Adopted
	Alike    []string // the provider's names for jobs that may be it: Fate holds if it is none of them
}

// Fate is what is known of a submission.
type Fate uint8

// The fates.
const (
	Unknown Fate = iota // it cannot be found out
	Adopted             // the provider has the job
	Absent              // the provider does not have it, as far as it knows by now
)

// Progress is what a provider says of a job.
type Progress struct {
	State   State // Pending and InProgress: go on; Completed: Outputs are there; Failed, Cancelled, Expired: Failure says why
	Percent int   // 0 unknown
	Outputs []Output
	Length  time.Duration // of each video, as the provider counts it; 0 unknown
	Cost    string        // dollars as the provider wrote them, decimal text; "" unknown
	Wait    time.Duration // before the next poll; 0: the usual
	Failure *fault.Error  // its Public is for the client; its Kind the reason, such as fault.ContentPolicy
}

// Content is a video, or a part of one, on its way to a client. Body must be closed.
type Content struct {
	Body      io.ReadCloser // nil when Unfit
	From      int64         // where in the file Body begins
	Length    int64         // of Body; -1 unknown
	Size      int64         // of the file; -1 unknown
	Partial   bool          // Body is the part that was asked for
	Unfit     bool          // the file has nothing of the range; Size is known
	MediaType string        // "" unknown
	ETag      string        // without quotes; "" none
}

// Contents keeps finished videos. A content.Store is one.
type Contents interface {
	Put(ctx context.Context, key, mediaType string, r io.Reader) (size int64, etag string, err error)
	Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, blob.Info, error)
	Delete(ctx context.Context, key string) error
	// Sweep forgets at most n files that were put before, and reports how many.
	Sweep(ctx context.Context, before time.Time, n int) (int, error)
	// Ready fails when nothing can be put at the moment.
	Ready(ctx context.Context) error
}

// Planner chooses who may make the videos of a request, and at what price.
type Planner interface {
	// Plan checks r against what its model can do, fills in what r does not say and the price depends on, and lists who is to be asked.
	// It fails with fault.ModelNotFound, fault.WrongEndpoint, fault.Invalid (Details: "allowed") and fault.NoEndpoints.
	Plan(r *Request, defaults *routing.Preferences, snap *catalog.Snapshot) (Plan, error)
}

// Plan is who is to be asked for the videos.
type Plan struct {
	Model  string // slug, variant suffix kept
	Offers []Offer
}

// Callbacks makes the event of a job's end. It returns nil when there is no callback.
type Callbacks interface {
	Ended(j *Job) *webhook.Delivery
}

// Holds reserves money. *ledger.Book is one.
type Holds interface {
	Hold(ctx context.Context, r ledger.HoldRequest) (*ledger.Hold, error)
	// Hand gives what h holds over to move, which takes it from this node's leases in one transaction of the store.
	Hand(ctx context.Context, h *ledger.Hold, move func(context.Context, ledger.Handover) error) error
}

// Member is this node as others see it: its name, and the number of its life, which ends when others take it for dead. *ledger.Book is one.
type Member interface {
	Node() string
	Epoch() int64
}
