package console

import (
	"context"
	"slices"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/usertext"
)

// JobKind is a kind of what outlives a call.
type JobKind string

// The kinds.
const (
	Videos   JobKind = "videos"
	Batches  JobKind = "batches"
	Webhooks JobKind = "webhooks" // events that are posted to addresses of accounts
	Notices  JobKind = "notices"  // mails to accounts
)

// JobKinds lists all of them.
func JobKinds() []JobKind { return []JobKind{Videos, Batches, Webhooks, Notices} }

// Which jobs a search wants.
const (
	OpenJobs   = "open"   // that have not ended
	StuckJobs  = "stuck"  // those of them that do not come to their end by themselves, as it seems
	FailedJobs = "failed" // webhooks that were given up
)

// When a job is stuck.
const (
	SilentFor = 10 * time.Minute // a video that nothing was written of; a batch that no node takes, or that is past its end
	ManyTries = 4                // of a webhook or a notice that failed, the last of them after half an hour
)

// Job is a piece of work that outlives a call.
type Job struct {
	Kind    JobKind
	ID      string
	Account string // id of the user whose it is
	What    string // model of a video, route of the requests of a batch, address of a webhook, cause of a notice
	State   string
	Stuck   bool

	Percent             int   // of a video, as its provider says; 0: not known
	Total, Done, Failed int64 // requests of a batch
	Tries               int   // attempts of a webhook or a notice; of a video, steps that failed in a row
	Words               string

	Since  time.Time  // it was made
	Spoke  time.Time  // something was written of it; zero: not known
	By     time.Time  // its deadline; zero: absent
	NextAt time.Time  // the next attempt; zero: it is under way, or there is none
	Held   money.Nano // rubles on hold for a video
}

// JobSearch asks for a page of jobs of a kind, the oldest first; failed ones the newest first.
type JobSearch struct {
	Kind  JobKind
	State string // OpenJobs, StuckJobs or FailedJobs
	At    int64  // of the last one of the page before, as the store orders them; 0 for the first page
	After string // its id
	Limit int
}

// JobCount is how many jobs of a kind have not ended.
type JobCount struct {
	Kind        JobKind
	Open, Stuck int64
}

// JobStore has jobs of some kinds.
type JobStore interface {
	// ListWork finds jobs.
	ListWork(ctx context.Context, s JobSearch, now time.Time) ([]Job, error)
	// CountWork counts the jobs of a kind.
	CountWork(ctx context.Context, kind JobKind, now time.Time) (JobCount, error)
	// RetryWork makes a job due now, and records it. It fails with fault.NotFound for one that does not exist or has ended.
	RetryWork(ctx context.Context, kind JobKind, id string, now time.Time, e audit.Event) error
	// EndWork ends a job that is no video, and records it. It fails like RetryWork.
	EndWork(ctx context.Context, kind JobKind, id, reason string, now time.Time, e audit.Event) error
}

// VideoEnder ends video jobs. *video.Service is one.
type VideoEnder interface {
	// EndNow ends a job whatever its provider does, gives the money back that it holds, and records it. It fails with fault.NotFound for one
	// that does not exist or has ended.
	EndNow(ctx context.Context, id, public string, e audit.Event) error
}

// Jobs are those of all accounts. It is safe for concurrent use.
type Jobs struct {
	Work, Notes JobStore // videos and batches; webhooks and notices
	Videos      VideoEnder
	Now         func() time.Time
}

func (j *Jobs) of(kind JobKind) (JobStore, error) {
	switch kind {
	case Videos, Batches:
		return j.Work, nil
	case Webhooks, Notices:
		return j.Notes, nil
	}
	return nil, fault.Field("console.Jobs", "kind", "kind must be one of %s.", kindNames).Coded("one_of", "allowed", kindNames)
}

const kindNames = "videos, batches, webhooks, notices"

// List finds jobs. It fails with fault.Invalid for a kind or a state that does not exist.
func (j *Jobs) List(ctx context.Context, s JobSearch) ([]Job, error) {
	store, err := j.of(s.Kind)
	if err != nil {
		return nil, err
	}
	states := []string{OpenJobs, StuckJobs}
	if s.Kind == Webhooks {
		states = append(states, FailedJobs)
	}
	if !slices.Contains(states, s.State) {
		allowed := strings.Join(states, ", ")
		return nil, fault.Field("console.Jobs", "state", "state must be one of %s.", allowed).Coded("one_of", "allowed", allowed)
	}
	return store.ListWork(ctx, s, j.Now())
}

// Counts are those of all kinds.
func (j *Jobs) Counts(ctx context.Context) ([]JobCount, error) {
	var all []JobCount
	for _, kind := range JobKinds() {
		store, err := j.of(kind)
		if err != nil {
			return nil, err
		}
		n, err := store.CountWork(ctx, kind, j.Now())
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

// Retry has a job tried at once.
func (j *Jobs) Retry(ctx context.Context, kind JobKind, id string, by audit.Actor) error {
	store, err := j.of(kind)
	if err != nil {
		return err
	}
	return store.RetryWork(ctx, kind, id, j.Now(), audit.Event{Actor: by, Action: audit.JobRetried, Target: id, After: string(kind)})
}

// MaxReason bounds why a job was ended, in bytes.
const MaxReason = 200

// End ends a job. What a video holds goes back to its account, and nothing that a provider still delivers is charged. A batch makes no more
// requests, and keeps what was done. A webhook and a notice are given up.
func (j *Jobs) End(ctx context.Context, kind JobKind, id, reason string, by audit.Actor) error {
	reason = strings.TrimSpace(reason)
	if reason == "" || len(reason) > MaxReason || !usertext.Is(reason) {
		return fault.Field("console.Jobs", "reason", "reason must be one line of 1 to %d bytes: why the job is ended. Its owner reads it.", MaxReason).Coded("one_line", "least", 1, "most", MaxReason)
	}
	store, err := j.of(kind)
	if err != nil {
		return err
	}
	e := audit.Event{Actor: by, Action: audit.JobEnded, Target: id, Before: string(kind), After: reason}
	if kind == Videos {
		err := j.Videos.EndNow(ctx, id, reason, e)
		if fault.Is(err, fault.NotFound) { // another operator may have ended it
			err = NoJob()
		}
		return err
	}
	return store.EndWork(ctx, kind, id, reason, j.Now(), e)
}

// NoJob is the error for a job that does not exist, or has ended.
func NoJob() error {
	return fault.New(fault.NotFound, "console.Jobs", "There is no such job, or it has ended.")
}
