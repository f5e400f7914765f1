package video

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/apikey"
	"weir/internal/budget"
	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/health"
	"weir/internal/ledger"
	"weir/internal/loop"
	"weir/internal/record"
	"weir/internal/routing"
)

// TooMany returns the error for a user who has reached the limit of active jobs.
func TooMany(limit int, active []string) error {
	e := fault.Newf(fault.RateLimited, "video.Submit", "At most %d video jobs can run at a time. Wait for one to end.", limit)
	e.RetryAfter = retryAfterLimit
	e.Details = map[string]any{"reason": "video_limit", "limited_by": "max_active_per_user", "limit": limit, "active_jobs": active}
	return e
}

// IDPrefix is how ids of jobs begin.
const IDPrefix = "vj_"

// Config holds the limits of jobs. It begins with Default.
type Config struct {
	Now func() time.Time

	Limit   int           `yaml:"max_active_per_user"` // active jobs of a user
	JobFor  time.Duration `constant:"max_age"`         // a job that has not completed by then expires
	KeepFor time.Duration `yaml:"retention"`           // how long content can be read after completion

	ForgetAfter time.Duration `yaml:"forget_after"` // how long jobs are stored after their end

	AtOnce    int           `yaml:"at_once"`            // jobs that one node works on at a time
	Copies    int           `constant:"copies_at_once"` // videos that one node copies at a time, in addition to AtOnce; one user gets half of them
	LookEvery time.Duration // how often a node looks for jobs that are due
	FirstPoll time.Duration `constant:"first_poll"` // after a provider has taken a job
	MostPoll  time.Duration `constant:"most_poll"`  // longest pause between two polls of a job
	SubmitFor time.Duration // how long a provider may take to answer a submission
	PollFor   time.Duration // how long a provider may take to answer any other request
	CopyFor   time.Duration `constant:"copy_timeout"` // how long copying one video into the blob store may take
	AddFor    time.Duration // how long the store may take to keep a new job before it is refused
	LostAfter time.Duration `constant:"lost_after"`    // how long a provider has to show a job whose submission it did not answer
	AcceptFor time.Duration `constant:"accept_within"` // how long a stored job waits to be accepted, after which it ends without having been started
	StoreFor  time.Duration // how long any other call of the store may take

	// Wait waits for d or until ctx ends, and then fails.
	Wait func(ctx context.Context, d time.Duration) error
	// Report gets failures of work in the background.
	Report func(what string, j *Job, err error)
}

const (
	retryAfterLimit = 30 * time.Second
	retryAfterRace  = 2 * time.Second
)

// Default is a Config with usual values.
func Default(now func() time.Time) Config {
	return Config{
		Now: now, Limit: 2, JobFor: time.Hour, KeepFor: 24 * time.Hour, ForgetAfter: 30 * 24 * time.Hour, AtOnce: 16, Copies: 8, LookEvery: time.Second,
		FirstPoll: 5 * time.Second, MostPoll: 30 * time.Second, SubmitFor: 2 * time.Minute, PollFor: 30 * time.Second, CopyFor: 15 * time.Minute,
		AddFor: 1500 * time.Millisecond, LostAfter: time.Minute, AcceptFor: time.Minute, StoreFor: 10 * time.Second,
		Wait: loop.Wait, Report: func(string, *Job, error) {},
	}
}

// Observer counts events for metrics. Its methods must be quick and safe for concurrent use.
type Observer interface {
	// VideoEnded is called when a job has ended.
	VideoEnded(endpoint string, s State, took time.Duration)
	// VideoUnclear is called when the search for a submission whose answer was lost or could not be read is over.
	VideoUnclear(endpoint string, o Outcome)
	// VideoLost is called when a provider may have made a job that cannot be found: the operator may be billed for it.
	VideoLost(endpoint string)
}

// Outcome is the fate of a submission without a clear answer.
type Outcome string

// The outcomes.
const (
	Found   Outcome = "found"  // the provider has the job, and it goes on
	Missing Outcome = "absent" // the provider does not have it
	Lost    Outcome = "lost"   // it cannot be found out
)

// Outcomes lists all of them.
func Outcomes() []Outcome { return []Outcome{Found, Missing, Lost} }

// Deps are the dependencies of a Service.
type Deps struct {
	Store     Store
	Holds     Holds
	Own       OwnKeys         // nil: absent
	Budgets   *budget.Manager // nil: there are none
	Member    Member
	Planner   Planner
	Upstream  Upstream
	Catalog   func() *catalog.Snapshot // the present one: submissions and polls use its credentials
	Contents  Contents                 // nil: videos stay where their providers have them
	Callbacks Callbacks                // nil: no events are written
	Gate      *health.Registry         // keeps submissions away from endpoints that fail; may be nil
	Observer  Observer                 // may be nil
	Traces    func(j *Job)             // gets each job that has ended and has a Trace, once, from the node that has ended it; may be nil
	Aside     func()                   // called when a charge was set aside; may be nil
	Sent      func()                   // called when an event was put into the outbox; may be nil
	Rand      func() float64           // spreads polls; nil: they are not spread
}

// Service admits jobs, shows them, and works on those that are due. It is safe for concurrent use.
type Service struct {
	Deps
	cfg    Config
	began  time.Time
	looks  *loop.Loop
	swept  time.Time // used by look alone
	copies *copies

	steps sync.WaitGroup

	ahead  atomic.Int64 // of the database's clock to this node's, in nanoseconds
	synced atomic.Bool  // ahead is known

	mu      sync.Mutex
	busy    int // steps under way
	life    nodeEpoch
	closing bool
}

// nodeEpoch is an epoch of the node and the context of the steps that were started in it.
type nodeEpoch struct {
	epoch  int64
	ctx    context.Context
	cancel context.CancelFunc
}

// New returns a Service. It does not process jobs before Start.
func New(d Deps, c Config) *Service {
	if d.Rand == nil {
		d.Rand = func() float64 { return 0.5 }
	}
	s := &Service{Deps: d, cfg: c, began: c.Now(), copies: newCopies(c.Copies)}
	s.looks = loop.New(0, s.look)
	return s
}

// now is the time by which everything here is done: that of the database, as last read, and what has passed since. A node whose clock is
// wrong, or is set while it runs, ends no job early and takes none too soon.
func (s *Service) now() time.Time {
	return s.local().Add(time.Duration(s.ahead.Load())).UTC()
}

// local is the time of this node. Steps of the wall clock while the process runs do not change it.
func (s *Service) local() time.Time { return s.began.Add(s.cfg.Now().Sub(s.began)) }

// sync asks the database for its time.
func (s *Service) sync(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.StoreFor)
	defer cancel()
	asked := s.local()
	reported, err := s.Store.Clock(ctx)
	if err != nil {
		return err
	}
	took := s.local().Sub(asked)
	if took > slowClock && s.synced.Load() { // a slow answer gives an inexact time
		return nil
	}
	s.ahead.Store(int64(reported.Sub(asked.Add(took / 2))))
	s.synced.Store(true)
	return nil
}

const slowClock = time.Second

// timed reads the database's time unless it is known.
func (s *Service) timed(ctx context.Context) error {
	if s.synced.Load() {
		return nil
	}
	return s.sync(ctx)
}

// Submit is one request of a client for videos, decoded and admitted.
type Submit struct {
	Caller                    *apikey.Caller
	Limits                    []ledger.Limit // that bind the job beside those of its key and its budgets
	Request                   *Request
	Generation, RequestID     string
	Catalog                   *catalog.Snapshot
	UserAgent, Referer, Title string
	Tags                      []string // by which the account sorts the call: see package tag
	Session                   string   // that the client names, "" none
	Trace                     string   // see Job.Trace
}

// Submit admits a job, and returns it when it is on the disk: its money is reserved, its place is taken, and a worker will submit it to a
// provider. When Submit fails, the job is never started, even if the store has it. It fails as Planner.Plan does, with
// fault.PaymentRequired, with fault.RateLimited when the user has reached the limit of active jobs, and with fault.StorageUnavailable.
func (s *Service) Submit(ctx context.Context, c *Submit) (*Job, error) {
	if s.draining() {
		return nil, fault.New(fault.Draining, "video.Submit", "The gateway is shutting down.")
	}
	r := *c.Request
	var defaults *routing.Preferences
	if d := c.Caller.Defaults; d != nil {
		defaults = &d.Preferences
	}
	var own []routing.Own
	if s.Own != nil {
		var err error
		if own, err = s.Own.Of(ctx, c.Caller.User); err != nil {
			return nil, err
		}
	}
	bound, err := s.bound(ctx, c)
	if err != nil {
		return nil, err
	}
	r.Preferences = budget.Narrow(bound, r.Preferences)
	plan, err := s.Planner.Plan(&r, defaults, own, c.Catalog)
	if err != nil {
		return nil, err
	}
	need, err := plan.need(&r)
	if err != nil {
		return nil, err
	}
	if err := s.roomFor(ctx); err != nil {
		return nil, err
	}
	if err := s.timed(ctx); err != nil {
		return nil, err
	}
	j := s.newJob(c, &r, &plan)
	j.Hold, j.Call.Hold = need, need
	hold, err := s.Holds.Hold(ctx, ledger.HoldRequest{Wallet: j.Wallet, Key: j.Key, Limits: c.Caller.Limits(slices.Concat(c.Limits, budget.Limits(bound, c.Session))), Amount: need})
	if err != nil {
		return nil, budget.Named(fault.From(err), bound)
	}
	err = s.Holds.Hand(ctx, hold, func(ctx context.Context, from ledger.Handover) error {
		j.Call.Funds = from.Funds
		return s.add(ctx, j, from)
	})
	if err != nil {
		return nil, err
	}
	if err := s.accept(ctx, j); err != nil {
		return nil, err
	}
	s.Wake()
	return j, nil
}

// bound are the budgets of a submission.
func (s *Service) bound(ctx context.Context, c *Submit) ([]*budget.Budget, error) {
	if s.Budgets == nil {
		return nil, nil
	}
	who := c.Caller
	return s.Budgets.Of(ctx, &budget.Call{Account: who.User, Member: who.Member, Team: who.Team, Key: who.Key, Above: who.Above, Tags: c.Tags, Session: c.Session})
}

// acceptTries are the tries in the background to have a job accepted.
const acceptTries = 16

// accept has a job that the store surely has worked on. When the store's answer is lost, it is asked again in the background, and the client
// has the job all the same: one that cannot be accepted in time ends as failed, where its client finds it.
func (s *Service) accept(ctx context.Context, j *Job) error {
	kept := *j
	write := func(ctx context.Context) error { return s.Store.AcceptJob(ctx, kept.ID, kept.CreatedAt) }
	j.Accepted, j.DueAt = true, j.CreatedAt
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.AddFor)
	defer cancel()
	err := write(short)
	switch {
	case fault.Is(err, fault.Conflict), fault.Is(err, fault.NotFound):
		e := fault.New(fault.StorageUnavailable, "video.Submit", "The job could not be stored in time, and nothing was started. Try again.").Because(err)
		e.RetryAfter = retryAfterRace
		return e
	case err != nil:
		s.cfg.Report("a video job is not yet accepted", j, err)
		s.beside(func(ctx context.Context) {
			for tries := 0; tries < acceptTries && s.cfg.Wait(ctx, s.pause(100*time.Millisecond, 5*time.Second, tries)) == nil; tries++ {
				again, cancel := context.WithTimeout(ctx, s.cfg.StoreFor)
				err := write(again)
				if cancel(); !fault.Is(err, fault.StorageUnavailable) {
					s.Wake()
					return
				}
			}
		})
	}
	return nil
}

// beside runs work in the background, which only Close waits for. After Close it runs nothing.
func (s *Service) beside(run func(context.Context)) {
	l, _ := s.present()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing {
		s.steps.Go(func() { run(l.ctx) })
	}
}

// roomFor fails when no video can be stored at the moment: then no job is admitted.
func (s *Service) roomFor(ctx context.Context) error {
	if s.Contents == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.StoreFor)
	defer cancel()
	return s.Contents.Ready(ctx)
}

// add stores the job. When the store's answer is lost, one look may show that it did.
func (s *Service) add(ctx context.Context, j *Job, from ledger.Handover) error {
	ctx = context.WithoutCancel(ctx)
	short, cancel := context.WithTimeout(ctx, s.cfg.AddFor)
	defer cancel()
	err := s.Store.AddJob(short, j, from, s.cfg.Limit)
	if !fault.Is(err, fault.StorageUnavailable) {
		return err
	}
	short, cancel = context.WithTimeout(ctx, s.cfg.AddFor/4)
	defer cancel()
	if _, lost := s.Store.Job(short, j.User, j.ID); lost == nil {
		return nil
	}
	return err
}

func (s *Service) newJob(c *Submit, r *Request, plan *Plan) *Job {
	now := s.now().Truncate(time.Microsecond)
	caller := c.Caller
	return &Job{
		ID: apikey.NewID(IDPrefix), User: caller.User, Wallet: caller.Wallet, Key: caller.Key, Generation: c.Generation, Model: plan.Model, State: Pending,
		Request: *r, Offers: plan.Offers, Videos: max(r.Outputs, 1), Seconds: r.Seconds, Size: r.Size, Form: r.Form, Callback: r.CallbackURL, Trace: c.Trace,
		CreatedAt: now, UpdatedAt: now, DeadlineAt: now.Add(s.cfg.JobFor), DueAt: now.Add(s.cfg.AcceptFor),
		Call: record.Call{Generation: c.Generation, Request: c.RequestID, User: caller.User, Wallet: caller.Wallet, Key: caller.Key, Member: caller.Member, Team: caller.Team, API: API, At: now,
			ModelAsked: r.Model, Status: StatusAccepted, Catalog: c.Catalog.Version, UserAgent: c.UserAgent, Referer: c.Referer, Title: c.Title, Tags: c.Tags, Session: c.Session},
	}
}

// Get returns a job of the user ("" anybody). It fails with fault.NotFound for every other id.
func (s *Service) Get(ctx context.Context, user, id string) (*Job, error) {
	if !strings.HasPrefix(id, IDPrefix) {
		return nil, s.NoJob()
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.StoreFor)
	defer cancel()
	j, err := s.Store.Job(ctx, user, id)
	if fault.Is(err, fault.NotFound) {
		return nil, s.NoJob().Because(err)
	}
	if err != nil {
		return nil, err
	}
	s.shown(j)
	return j, nil
}

// NoJob is the error for a job that does not exist, belongs to another user, is not seen by who asks, or has been deleted.
func (s *Service) NoJob() *fault.Error {
	const day = 24 * time.Hour
	after := s.cfg.ForgetAfter.String()
	if n := s.cfg.ForgetAfter / day; s.cfg.ForgetAfter%day == 0 && n > 1 {
		after = strconv.Itoa(int(n)) + " days"
	}
	return fault.Newf(fault.NotFound, "video.Get", "There is no such video job. Jobs are deleted %s after their end.", after)
}

// shown sets the state that clients see: a completed job is expired after its time, even if no worker has changed it yet.
func (s *Service) shown(j *Job) {
	if j.State == Completed && !s.now().Before(j.ExpiresAt) {
		j.State = Expired
	}
}

// Allowed is how many jobs a user may have at a time.
func (s *Service) Allowed() int { return s.cfg.Limit }

// List returns a page of the user's jobs, the newest first, and whether there are more. All fields of q except User and Limit may be empty.
// It fails with fault.Invalid when the job of q.After does not exist.
func (s *Service) List(ctx context.Context, q Query) (jobs []Job, more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.StoreFor)
	defer cancel()
	limit := q.Limit
	q.Limit++
	jobs, err = s.Store.Jobs(ctx, q)
	if err != nil {
		return nil, false, err
	}
	if more = len(jobs) > limit; more {
		jobs = jobs[:limit]
	}
	for i := range jobs {
		s.shown(&jobs[i])
	}
	return jobs, more, nil
}

// races is how often a change of a job is tried while workers change it too.
const races = 8

// Delete cancels an active job, and removes the videos of a completed one, which becomes Expired. Other jobs do not change. It fails with
// fault.NotFound, and with fault.ProviderUnavailable when the provider cannot cancel the job: then the job continues.
func (s *Service) Delete(ctx context.Context, user, id string) (*Job, error) {
	if err := s.timed(ctx); err != nil {
		return nil, err
	}
	reported := false // the provider has cancelled it
	for range races {
		j, err := s.Get(ctx, user, id)
		if err != nil {
			return nil, err
		}
		switch {
		case j.Active():
			err = s.cancel(ctx, j, &reported)
		case j.State == Completed:
			err = s.forget(ctx, j)
		}
		if !fault.Is(err, fault.Conflict) {
			return j, err
		}
	}
	return nil, raced("video.Delete")
}

// raced is the error after all races were lost.
func raced(op string) error {
	e := fault.New(fault.StorageUnavailable, op, "The video job is being changed by another request. Try again.")
	e.RetryAfter = retryAfterRace
	return e
}

// cancel ends a job. First it is taken from the worker that has it, so that no provider is asked for it meanwhile.
func (s *Service) cancel(ctx context.Context, j *Job, reported *bool) error {
	if j.Submitting {
		e := fault.New(fault.ProviderUnavailable, "video.Delete", "The job is being submitted to its provider. Try again in a few seconds.")
		e.RetryAfter = retryAfterRace
		return e
	}
	seized, err := s.seize(ctx, j)
	if err != nil {
		return err
	}
	*j = *seized
	if j.State == InProgress && !*reported {
		if err := s.cancelUpstream(ctx, j); err != nil {
			e := fault.New(fault.ProviderUnavailable, "video.Delete", "The provider did not cancel this job. It continues.").Because(err)
			e.Upstream = fault.From(err).Upstream
			return e
		}
		*reported = true
	}
	return s.end(ctx, j, Cancelled, "", fault.Canceled.String())
}

func (s *Service) seize(ctx context.Context, j *Job) (*Job, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.StoreFor)
	defer cancel()
	return s.Store.SeizeJob(ctx, j.User, j.ID)
}

func (s *Service) cancelUpstream(ctx context.Context, j *Job) error {
	ep, err := s.endpoint(ctx, j)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.PollFor)
	defer cancel()
	return s.Upstream.Cancel(ctx, ep, j)
}

// errGone is the error for a job whose endpoint is no longer in the catalog.
func errGone(j *Job) error {
	return fault.Newf(fault.NoEndpoints, "video.endpoint", "The provider of the video job %s is not in the catalog any more.", j.ID)
}

// endpoint returns the job's endpoint from the present catalog, as it is called with the key that the job was begun with. It fails with the
// error of errGone when it is no longer there, and as OwnKeys.Endpoint does.
func (s *Service) endpoint(ctx context.Context, j *Job) (*catalog.Endpoint, error) {
	o := j.Serving()
	if o == nil {
		return nil, errGone(j)
	}
	ep := snapshotted(s.Catalog(), j.Model, o.Endpoint)
	if ep == nil || o.OwnKey != "" && s.Own == nil {
		return nil, errGone(j)
	}
	if o.OwnKey == "" {
		return ep, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.StoreFor)
	defer cancel()
	return s.Own.Endpoint(ctx, j.User, o.OwnKey, ep)
}

// keyGone reports whether an error says that the own key of a job can no longer be used.
func keyGone(err error) bool {
	return fault.Is(err, fault.PermissionDenied) && fault.From(err).Upstream == nil
}

// tried notes what a request for the job shows about its own key, if it has one.
func (s *Service) tried(j *Job, err error) {
	if o := j.Serving(); o != nil && o.OwnKey != "" && s.Own != nil && !keyGone(err) {
		s.Own.Tried(j.User, o.OwnKey, fault.From(err))
	}
}

// forget makes the videos of a job unreadable from now on.
func (s *Service) forget(ctx context.Context, j *Job) error {
	j.outlived(s.now())
	if err := s.keep(ctx, j, false); err != nil {
		return err
	}
	s.Wake()
	return nil
}

// outlived changes a completed job to an expired one.
func (j *Job) outlived(now time.Time) {
	j.State, j.DueAt, j.Cleanup, j.Failures = Expired, time.Time{}, 0, 0
	if j.purge(); j.Cleanup != 0 {
		j.DueAt = now
	}
}

// purge has the videos that are kept deleted, and forgets those that are not.
func (j *Job) purge() {
	for i := range j.Outputs {
		if j.Outputs[i].Kept != "" {
			j.Cleanup |= PurgeContent
		}
	}
	if j.Cleanup&PurgeContent == 0 {
		j.Outputs = nil
	}
}

// Open reads a video of a user's completed job, or the part of it that a Range header asks for. It fails with fault.NotFound for other
// jobs and for an index without a video, with fault.VideoNotReady, fault.VideoExpired and fault.VideoNotAvailable (Details: "status"), and
// with fault.ProviderUnavailable when the provider does not give it.
func (s *Service) Open(ctx context.Context, user, id string, index int, header string) (*Content, *Job, error) {
	j, err := s.Get(ctx, user, id)
	if err != nil {
		return nil, nil, err
	}
	if err := readable(j); err != nil {
		return nil, j, err
	}
	if index < 0 || index >= len(j.Outputs) {
		return nil, j, fault.Newf(fault.NotFound, "video.Open", "The job has no video with index %d; the last index is %d.", index, len(j.Outputs)-1)
	}
	o, r := &j.Outputs[index], ParseRange(header)
	c, err := s.open(ctx, j, o, r)
	if err != nil {
		return nil, j, err
	}
	if o.MediaType != "" && !strings.HasPrefix(c.MediaType, "video/") { // file servers often send a generic type
		c.MediaType = o.MediaType
	}
	return c, j, nil
}

func readable(j *Job) error {
	var e *fault.Error
	switch j.State {
	case Completed:
		return nil
	case Pending, InProgress:
		e = fault.New(fault.VideoNotReady, "video.Open", "The video is not ready yet.")
	case Expired:
		e = fault.New(fault.VideoExpired, "video.Open", "The video has expired.")
	case Failed, Cancelled:
		e = fault.Newf(fault.VideoNotAvailable, "video.Open", "There is no video: the job is %s.", j.State)
	}
	e.Details = map[string]any{"status": string(j.State)}
	return e
}

func (s *Service) open(ctx context.Context, j *Job, o *Output, r *Range) (*Content, error) {
	if o.Kept != "" {
		return s.openKept(ctx, o, r)
	}
	ep, err := s.endpoint(ctx, j)
	if keyGone(err) {
		return nil, err
	}
	if err != nil {
		return nil, fault.New(fault.ProviderUnavailable, "video.Open", "The provider that has the video cannot be reached.").Because(err)
	}
	ask := r
	if r != nil && r.Nothing() { // servers differ on such a range, and only the file's size is needed
		ask = &Range{First: 0, Last: 0}
	}
	c, err := s.Upstream.Open(ctx, ep, j, o, ask)
	if err != nil {
		return nil, unread(err)
	}
	if ask != r && !c.Unfit {
		_ = c.Body.Close()
		c.Body, c.Partial, c.Unfit = nil, false, true
	}
	return cut(c, r)
}

func (s *Service) openKept(ctx context.Context, o *Output, r *Range) (*Content, error) {
	if s.Contents == nil {
		return nil, unread(errNoContents())
	}
	c := Content{Length: o.Bytes, Size: o.Bytes, MediaType: o.MediaType, ETag: o.ETag}
	if r != nil {
		if c.From, c.Length, c.Partial = r.In(o.Bytes); !c.Partial {
			c.Unfit = true
			return &c, nil
		}
	}
	body, _, err := s.Contents.Open(ctx, o.Kept, c.From, c.Length)
	if err != nil {
		return nil, unread(err)
	}
	c.Body = body
	return &c, nil
}

// errNoContents is the error for a stored video on a node whose configuration has no blob store.
func errNoContents() error {
	return fault.New(fault.StorageUnavailable, "video.Open", "The video is in a blob store that this node does not have.")
}

// unread is the error for a finished video that cannot be read.
func unread(err error) error {
	f := fault.New(fault.ProviderUnavailable, "video.Open", "The video cannot be read at the moment.").Because(err)
	f.Upstream = fault.From(err).Upstream
	return f
}
