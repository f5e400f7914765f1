package video

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/loop"
	"weir/internal/webhook"
)

// Wake has the worker look for due jobs at once. It never blocks.
func (s *Service) Wake() { s.looks.Wake() }

// Start starts the work on due jobs, which goes on until Close.
func (s *Service) Start() { s.looks.Start() }

// Close takes no more jobs and waits for the steps under way until ctx ends; those that are left are broken off, and what they were at is
// taken up by the next worker. It ends what Start began.
func (s *Service) Close(ctx context.Context) {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.looks.Stop()
	loop.Finish(ctx, &s.steps, s.breakOff)
}

func (s *Service) draining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// breakOff cancels the steps that were started in the present epoch.
func (s *Service) breakOff() {
	s.mu.Lock()
	cancel := s.life.cancel
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

func (s *Service) look(ctx context.Context) time.Duration {
	s.take(ctx)
	s.sweep(ctx)
	return s.cfg.LookEvery
}

const (
	sweepEvery  = 10 * time.Minute
	sweepAtOnce = 1000
	sweepRounds = 20
	sweepMargin = 6 * time.Hour // more than the clocks of the database and the blob store can differ
)

// sweep calls Sweep from time to time.
func (s *Service) sweep(ctx context.Context) {
	if now := s.local(); now.Sub(s.swept) >= sweepEvery && s.synced.Load() {
		s.swept = now
		s.Sweep(ctx)
	}
}

// Sweep forgets jobs that ended long ago, and has copies deleted that a node made before it died: those older than any job's content
// can be.
func (s *Service) Sweep(ctx context.Context) {
	short, cancel := context.WithTimeout(ctx, s.cfg.PollFor)
	defer cancel()
	failed := func(what string, err error) bool {
		if err != nil && ctx.Err() == nil {
			s.cfg.Report(what, nil, err)
		}
		return err != nil
	}
	for range sweepRounds {
		n, err := s.Store.SweepJobs(short, s.now().Add(-s.cfg.ForgetAfter), sweepAtOnce)
		if failed("old video jobs cannot be deleted", err) || n < sweepAtOnce {
			break
		}
	}
	if s.Contents != nil {
		_, err := s.Contents.Sweep(short, s.now().Add(-s.cfg.JobFor-s.cfg.KeepFor-sweepMargin), sweepAtOnce)
		failed("old copies of videos cannot be deleted", err)
	}
}

// take starts a step for each due job, up to the free places. A step that ends frees its place and looks for due jobs again.
func (s *Service) take(ctx context.Context) {
	l, room := s.present()
	if room <= 0 {
		return
	}
	if err := s.sync(ctx); err != nil {
		if ctx.Err() == nil {
			s.cfg.Report("the time of the store cannot be read", nil, err)
		}
		return
	}
	jobs, err := s.claim(ctx, l, room)
	if err != nil {
		if ctx.Err() == nil {
			s.cfg.Report("video jobs cannot be read from the store", nil, err)
		}
		return
	}
	s.mu.Lock()
	s.busy += len(jobs)
	s.mu.Unlock()
	for _, j := range jobs {
		s.steps.Go(func() {
			if copying := s.stepInPlace(l.ctx, j, len(jobs) == room); copying != nil {
				copying()
			}
		})
	}
}

// stepInPlace is step, and leaves the place that the step had. look reports that there may be jobs waiting for it.
func (s *Service) stepInPlace(ctx context.Context, j *Job, look bool) (copying func()) {
	defer func() {
		s.mu.Lock()
		s.busy--
		s.mu.Unlock()
		if look {
			s.Wake()
		}
	}()
	return s.step(ctx, j)
}

// present is the node's life and how many more steps may be under way. When others took the node for dead, what it was at is theirs: its
// steps are broken off, and what they still write is refused by the store.
func (s *Service) present() (nodeEpoch, int) {
	epoch := s.Member.Epoch()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.ctx == nil || s.life.epoch != epoch {
		if s.life.cancel != nil {
			s.life.cancel()
		}
		s.life.epoch = epoch
		s.life.ctx, s.life.cancel = context.WithCancel(context.Background())
	}
	return s.life, s.cfg.AtOnce - s.busy
}

func (s *Service) claim(ctx context.Context, l nodeEpoch, n int) ([]*Job, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.StoreFor)
	defer cancel()
	return s.Store.ClaimJobs(ctx, s.Member.Node(), l.epoch, s.now(), n)
}

// Step runs one step of each due job, at most AtOnce jobs, and returns their number.
func (s *Service) Step(ctx context.Context) (int, error) {
	if err := s.sync(ctx); err != nil {
		return 0, err
	}
	l, _ := s.present()
	jobs, err := s.claim(ctx, l, s.cfg.AtOnce)
	for _, j := range jobs {
		if copying := s.step(ctx, j); copying != nil {
			copying()
		}
	}
	return len(jobs), err
}

// step does what a job is due for. What it has written stays true wherever it is broken off: the next one to look at the job finds
// in the store what may have been done, and never does it twice. What is left to copy is done by copying, which needs no worker's place; nil:
// nothing is.
func (s *Service) step(ctx context.Context, j *Job) (copying func()) {
	s.guard(ctx, j, func() (err error) {
		copying, err = s.due(ctx, j)
		return err
	})
	return copying
}

func (s *Service) due(ctx context.Context, j *Job) (copying func(), err error) {
	switch {
	case !j.Accepted && j.Active(): // the client got an error or no answer
		return nil, s.end(ctx, j, Failed, "The job could not be accepted in time, and nothing was started. Try again.", fault.StorageUnavailable.String())
	case j.State == Pending:
		return nil, s.submit(ctx, j)
	case j.State == InProgress:
		return s.poll(ctx, j)
	case j.State == Completed:
		j.outlived(s.now())
		if err := s.keep(ctx, j, false); err != nil {
			return nil, err
		}
	}
	return nil, s.clean(ctx, j)
}

// guard runs a part of a job's work, and releases the job when that fails.
func (s *Service) guard(ctx context.Context, j *Job, work func() error) {
	defer func() {
		if v := recover(); v != nil {
			s.stumbled(ctx, j, fmt.Errorf("%v\n%s", v, debug.Stack()))
		}
	}()
	err := work()
	switch {
	case err == nil || ctx.Err() != nil:
	case fault.Is(err, fault.Conflict): // another worker has the job, or it has ended
	default:
		s.stumbled(ctx, j, err)
	}
}

// stumbled reports a step that failed for an unexpected reason, and releases the job: while this node lives, no other node could claim it.
func (s *Service) stumbled(ctx context.Context, j *Job, cause error) {
	s.cfg.Report("a step of a video job failed", j, cause)
	j.Failures++
	if err := s.again(ctx, j, s.pause(cleanPause, cleanMost, j.Failures)); err != nil {
		s.cfg.Report("a video job cannot be let go", j, err)
	}
}

// again schedules the next step of the job after d, but not after its deadline.
func (s *Service) again(ctx context.Context, j *Job, d time.Duration) error {
	s.rest(j, d)
	return s.keep(ctx, j, true)
}

func (s *Service) rest(j *Job, d time.Duration) {
	now := s.now()
	j.UpdatedAt, j.DueAt = now, now.Add(d)
	if j.Active() && j.DueAt.After(j.DeadlineAt) {
		j.DueAt = later(j.DeadlineAt, now)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// pause returns the wait after that many tries. It grows from first to most and is varied at random by up to a tenth either way.
func (s *Service) pause(first, most time.Duration, tries int) time.Duration {
	d := first
	for range min(tries, 64) {
		if d += d / 4; d >= most {
			d = most
			break
		}
	}
	return d + time.Duration((s.Rand()-0.5)/5*float64(d))
}

// keep writes a job and retries while the store is unavailable, because only the node that works on a job can release it.
func (s *Service) keep(ctx context.Context, j *Job, release bool) error {
	j.UpdatedAt = s.now()
	return s.persist(ctx, j, func(ctx context.Context) error { return s.Store.KeepJob(ctx, j, release) })
}

// persist retries a write until the store accepts or refuses it, or ctx ends. To repeat a write whose answer was lost is harmless: it
// finds the job as the write left it, or changed since.
func (s *Service) persist(ctx context.Context, j *Job, write func(context.Context) error) error {
	for tries := 0; ; tries++ {
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.StoreFor)
		err := write(short)
		cancel()
		if !fault.Is(err, fault.StorageUnavailable) {
			return err
		}
		if tries == 0 {
			s.cfg.Report("a video job cannot be written", j, err)
		}
		if s.cfg.Wait(ctx, s.pause(100*time.Millisecond, 5*time.Second, tries)) != nil {
			return err
		}
	}
}

// end ends an active job and settles its money in one transaction. For the state Completed, the job's cost must be filled in.
func (s *Service) end(ctx context.Context, j *Job, state State, public, reason string) error {
	return s.endBy(ctx, j, state, public, reason, nil)
}

// endBy is end, and records who did it.
func (s *Service) endBy(ctx context.Context, j *Job, state State, public, reason string, by *audit.Event) error {
	before := *j
	if err := j.to(state); err != nil {
		return err
	}
	now := s.now()
	j.UpdatedAt, j.CompletedAt, j.DueAt, j.Submitting, j.Failures = now, now, time.Time{}, false, 0
	j.Error, j.Reason = public, reason
	if state == Completed {
		j.ExpiresAt = now.Add(s.cfg.KeepFor)
		j.DueAt = j.ExpiresAt
	} else {
		j.Ended, j.Cost = Voided, 0
		j.purge()
	}
	if j.Cleanup != 0 {
		j.DueAt = now
	}
	end := End{Item: j.closed(now), Now: now, By: by, Event: s.event(j), SetAside: func(cause error) {
		s.cfg.Report("the charge of a video job cannot be posted and was set aside; see it with: weir ledger aside list", j, cause)
		if s.Aside != nil {
			s.Aside()
		}
	}}
	if err := s.persist(ctx, j, func(ctx context.Context) error { return s.Store.EndJob(ctx, j, end) }); err != nil {
		*j = before
		return err
	}
	if s.Observer != nil {
		s.Observer.VideoEnded(j.Call.Endpoint, state, now.Sub(j.CreatedAt))
	}
	if s.Traces != nil && j.Trace != "" {
		s.Traces(j)
	}
	if end.Event != nil && s.Sent != nil {
		s.Sent()
	}
	if j.Cleanup != 0 {
		s.Wake()
	}
	return nil
}

func (s *Service) event(j *Job) *webhook.Delivery {
	if s.Callbacks == nil || j.Callback == "" || !j.Accepted {
		return nil
	}
	return s.Callbacks.Ended(j)
}
