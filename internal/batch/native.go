package batch

import (
	"context"
	"errors"
	"time"
)

// PartState is how far a part of a batch is that a provider works on.
type PartState string

// The states.
const (
	PartIntended  PartState = "intended"  // about to be sent: whether the provider has it is not known
	PartSubmitted PartState = "submitted" // the provider has it
	PartEnded     PartState = "ended"     // its answers were read, or it has none
)

// Part is some lines of a batch that go to a provider as one of its batches.
type Part struct {
	ID        string // "bp_...", by which it is found at the provider
	Endpoint  string // id of the endpoint
	Path      string // of its requests, below the base URL of the provider
	State     PartState
	Upstream  string // the provider's id, "" not known
	Lines     int64
	CreatedAt time.Time
	ClearAt   time.Time // when the provider is asked to delete what it keeps of it; zero: never, or it has
	Clears    int64     // how often it was asked

	lines   map[int64]*Item // those without an answer
	due     time.Time
	lostAt  time.Time // no submission of it was under way any more
	polls   int64
	reads   int64     // of its answers that failed, since one was delivered
	lateAt  time.Time // when it was found to take too long
	stopped bool      // the provider was asked to cancel it
	pending bool      // some answers could not be paid or written yet
}

// PartPrefix begins the id of a part.
const PartPrefix = "bp_"

// Submission is a part with its requests.
type Submission struct {
	Part     *Part
	Header   map[string][]string // fields of all its requests, nil none
	Requests []Request
}

// Request is one request of a part, as its provider is to get it.
type Request struct {
	Line int64
	Body []byte // JSON object
}

// Fate is what a provider says about a submission whose answer was lost.
type Fate string

// The fates.
const (
	Unknown Fate = ""
	Absent  Fate = "absent" // the provider does not have it
	Adopted Fate = "adopted"
)

// Found is what was found out about a submission.
type Found struct {
	Fate Fate
	ID   string // the provider's, if it was adopted
}

// Progress is how far a provider's batch is.
type Progress struct {
	Ended bool
}

// Result is the answer to one request. Its body is valid until the next one.
type Result struct {
	Line   int64 // 0: the provider's answer names no request of ours
	Status int   // of an HTTP answer; 0: the request was not made, because the batch was cancelled or its time was over
	Body   []byte
}

// Native makes providers run batches. Package upstream implements it. Errors are *fault.Error.
type Native interface {
	// Offers reports whether any endpoint takes requests in batches at present.
	Offers() bool
	// Submit sends a part. An error whose Upstream has a status from 400 to 499, other than 408 and 409, says that the provider refused it, for
	// the moment with 429; after any other it may have the part, unless it is a NotSubmitted.
	Submit(ctx context.Context, s *Submission) (id string, err error)
	// Find looks for a part at its provider.
	Find(ctx context.Context, p *Part) (Found, error)
	// Look asks how far a part is.
	Look(ctx context.Context, p *Part) (Progress, error)
	// Results reads the answers to a part that has ended, in any order. It stops at the first error of each.
	Results(ctx context.Context, p *Part, each func(*Result) error) error
	// Cancel asks the provider to stop.
	Cancel(ctx context.Context, p *Part) error
	// Clear deletes what the provider keeps of a part: its requests and answers. Of one whose id is not known it looks for it first. It fails
	// when the provider still works on it, after it has asked it to stop. That there is nothing is no failure.
	Clear(ctx context.Context, p *Part) error
}

// ErrWorking is the cause of the error of Native.Clear when the provider has not ended the batch.
var ErrWorking = errors.New("the provider still works on the batch")

// NotSubmitted is the error of a submission that failed before the provider could have made a batch of it.
type NotSubmitted struct{ Err error }

// Error implements error.
func (n *NotSubmitted) Error() string { return n.Err.Error() }

// Unwrap implements errors.Unwrap.
func (n *NotSubmitted) Unwrap() error { return n.Err }
