package video

import (
	"context"
	"errors"
	"time"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/health"
)

const (
	maxRounds = 4                // how often all providers may be found busy
	busyPause = 10 * time.Second // after the first of them
	busyMost  = 2 * time.Minute
	waitMost  = 5 * time.Minute // no provider's hint is followed beyond that
)

// submit asks one provider after another until one has taken the job. Before a provider is asked, the store has it that it may have been:
// whoever finds that, and no answer, must not ask anybody without knowing what became of it.
func (s *Service) submit(ctx context.Context, j *Job) error {
	if j.Submitting {
		over, err := s.recover(ctx, j, nil)
		if over || err != nil {
			return err
		}
	}
	if s.late(j) {
		return s.tooLate(ctx, j)
	}
	var last *fault.Error
	for ; j.Offer < len(j.Offers); j.Offer++ {
		if j.Serving().Refused {
			continue
		}
		over, refusal, err := s.ask(ctx, j)
		if over || err != nil {
			return err
		}
		if last == nil || isBusy(refusal) || !isBusy(last) { // who is busy says when to come again
			last = refusal
		}
	}
	return s.refused(ctx, j, last)
}

// late reports whether the job's time is over.
func (s *Service) late(j *Job) bool { return !s.now().Before(j.DeadlineAt) }

func (s *Service) tooLate(ctx context.Context, j *Job) error {
	if j.Submitting {
		s.lost(j, errors.New("its time was over before its provider could be asked what became of it"))
	}
	if j.UpstreamID != "" {
		j.Cleanup = CancelUpstream
	}
	return s.end(ctx, j, Expired, "The video was not made in time.", fault.Timeout.String())
}

// ask submits the job to the offer that is next. over tells that the job's step is over; otherwise refusal is why the provider did not
// take it.
func (s *Service) ask(ctx context.Context, j *Job) (over bool, refusal *fault.Error, err error) {
	ep := s.endpoint(j)
	if ep == nil {
		j.Serving().Refused = true
		return false, fault.From(errGone(j)), nil
	}
	pass, busy := s.admit(ep, j.User)
	if busy != nil {
		return false, busy, nil
	}
	j.Submitting = true
	if err := s.keep(ctx, j, false); err != nil {
		pass.End(health.Sample{})
		return true, nil, err
	}
	started := s.now()
	accepted, err := s.submitTo(ctx, ep, j)
	refusal = fault.From(err)
	pass.End(health.Sample{Result: health.Judge(refusal, err == nil), Took: s.now().Sub(started)})
	switch {
	case err == nil:
		j.tried(started, s.now(), 200, "")
		return true, nil, s.accepted(ctx, j, &accepted)
	case ctx.Err() != nil: // this node stops: the next one finds out what became of it
		return true, nil, ctx.Err()
	}
	j.tried(started, s.now(), statusOf(refusal), refusal.Kind.String())
	if !Refused(refusal) {
		over, err := s.recover(ctx, j, refusal)
		return over, refusal, err
	}
	j.Submitting = false
	j.Serving().Refused = !isBusy(refusal)
	if refusal.Upstream != nil && refusal.Next != fault.NextEndpoint && !isBusy(refusal) { // nobody would make this
		return true, nil, s.fail(ctx, j, refusal)
	}
	return false, refusal, nil
}

func (s *Service) submitTo(ctx context.Context, ep *catalog.Endpoint, j *Job) (Accepted, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.SubmitFor)
	defer cancel()
	a, err := s.Upstream.Submit(ctx, ep, j.submission())
	if err == nil && a.ID == "" {
		err = fault.New(fault.ProviderUnavailable, "video.Submit", "The provider took the job and did not name it.")
	}
	return a, err
}

func (j *Job) submission() *Submission {
	return &Submission{Job: j.ID, Token: j.Token(), Request: &j.Request, At: j.CreatedAt}
}

func (s *Service) admit(ep *catalog.Endpoint, account string) (health.Pass, *fault.Error) {
	if s.Gate == nil {
		return health.Pass{}, nil
	}
	pass, why, after := s.Gate.Admit(ep, account)
	if why == health.None {
		return pass, nil
	}
	e := fault.New(fault.NoProvider, "video.Submit", "Every provider of this model is failing or full at present.")
	e.RetryAfter = after
	return pass, e
}

func statusOf(e *fault.Error) int {
	if e.Upstream == nil {
		return 0
	}
	return e.Upstream.Status
}

// Refused tells of the error of a submission that the provider surely did not take the job: it was never reached, or it said so. Of anything
// else nobody knows.
func Refused(e *fault.Error) bool {
	if u := e.Upstream; u != nil {
		switch {
		case u.Unreachable:
			return true
		case u.Status == 0: // no answer came, or nothing was sent
		case u.Status >= 400 && u.Status < 500:
			return u.Status != 408 && u.Status != 499
		default: // 502, 504 and the like speak of somebody behind the one that answered
			return u.Status == 500 || u.Status == 501 || u.Status == 503 || u.Status == 529
		}
	}
	switch e.Kind {
	case fault.Invalid, fault.InvalidPrompt, fault.Unprocessable, fault.PayloadTooLarge, fault.ContentPolicy, fault.NoEndpoints, fault.NoProvider, fault.PermissionDenied,
		fault.NotFound, fault.ModelNotFound, fault.StringTooLong:
		return true // the dialect itself, before it sent anything
	}
	return false
}

// isBusy tells of a refusal that the same provider may take the job later.
func isBusy(e *fault.Error) bool {
	return e.Kind == fault.RateLimited || e.Kind == fault.ProviderOverloaded || e.Kind == fault.NoProvider || e.Upstream != nil && e.Upstream.Unreachable
}

// accepted notes that a provider has the job.
func (s *Service) accepted(ctx context.Context, j *Job, a *Accepted) error {
	if err := j.to(InProgress); err != nil {
		return err
	}
	j.UpstreamID, j.Submitting, j.Failures, j.Polls = a.ID, false, 0, 0
	err := s.again(ctx, j, hint(a.Wait, s.pause(s.cfg.FirstPoll, s.cfg.MostPoll, 0)))
	if fault.Is(err, fault.Conflict) && s.abandoned(ctx, j) {
		if err := s.cancelUpstream(ctx, j); err != nil {
			s.lost(j, err)
		}
	}
	return err
}

// abandoned reports whether a job that is not this worker's any more has no use for what the provider made of it: it has ended, or goes on by
// another name. One that somebody else has adopted meanwhile must not be taken away from him.
func (s *Service) abandoned(ctx context.Context, j *Job) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.StoreFor)
	defer cancel()
	now, err := s.Store.Job(ctx, j.User, j.ID)
	return err == nil && (!now.Active() || now.UpstreamID != "" && now.UpstreamID != j.UpstreamID)
}

// hint is how long to wait: as the provider says, within reason, or else the usual.
func hint(provider, usual time.Duration) time.Duration {
	if provider <= 0 {
		return usual
	}
	return min(max(provider, time.Second), waitMost)
}

// recover finds out what became of a submission whose answer nobody saw; cause is what is known of it, nil after a crash. over tells that
// the job's step is over; otherwise the provider does not have the job.
func (s *Service) recover(ctx context.Context, j *Job, cause *fault.Error) (over bool, err error) {
	ep := s.endpoint(j)
	if ep == nil {
		return true, s.giveUp(ctx, j, errGone(j))
	}
	short, cancel := context.WithTimeout(ctx, s.cfg.SubmitFor)
	defer cancel()
	r, err := s.Upstream.Recover(short, ep, j.submission())
	switch {
	case err != nil && ctx.Err() != nil:
		return true, ctx.Err()
	case err != nil && s.late(j):
		return true, s.tooLate(ctx, j)
	case err != nil:
		j.Failures++
		return true, s.again(ctx, j, s.pause(s.cfg.FirstPoll, s.cfg.MostPoll, j.Failures))
	case r.Fate == Adopted && r.ID != "":
		taken, err := s.Store.UpstreamTaken(short, r.ID, j.ID)
		switch {
		case err != nil:
			return true, s.again(ctx, j, s.pause(s.cfg.FirstPoll, s.cfg.MostPoll, j.Failures))
		case !taken:
			return true, s.accepted(ctx, j, &r.Accepted)
		}
		// what looks the same is another job's: nobody can tell what became of this one
	case r.Fate == Absent:
		j.Submitting, j.Failures = false, 0
		return false, nil
	}
	if cause == nil {
		return true, s.giveUp(ctx, j, errors.New("the node that asked the provider died, and the provider cannot be asked what became of it"))
	}
	return true, s.giveUp(ctx, j, cause)
}

// giveUp ends a job that a provider may have, and that nobody can find there.
func (s *Service) giveUp(ctx context.Context, j *Job, cause error) error {
	s.lost(j, cause)
	return s.end(ctx, j, Failed, "The provider did not confirm that it took the job.", fault.ProviderUnavailable.String())
}

// lost tells the operator of a job that a provider may be working on for nobody.
func (s *Service) lost(j *Job, cause error) {
	s.cfg.Report("a provider may be making a video that nobody can find", j, cause)
	if s.Observer != nil {
		endpoint := ""
		if o := j.Serving(); o != nil {
			endpoint = o.Endpoint
		}
		s.Observer.VideoLost(endpoint)
	}
}

// refused is the end of a round in which no provider took the job: another one follows after a while if some were merely busy.
func (s *Service) refused(ctx context.Context, j *Job, last *fault.Error) error {
	worth := false
	for i := range j.Offers {
		worth = worth || !j.Offers[i].Refused
	}
	if worth && j.Rounds < maxRounds && !s.late(j) {
		wait := s.pause(busyPause<<j.Rounds, busyMost, 0)
		if last != nil {
			wait = min(max(wait, last.RetryAfter), waitMost)
		}
		j.Rounds++
		j.Offer = 0
		return s.again(ctx, j, wait)
	}
	if last == nil {
		last = fault.New(fault.NoEndpoints, "video.Submit", "No provider of this model is left.")
	}
	j.Offer = len(j.Offers) - 1
	return s.fail(ctx, j, last)
}

// fail ends a job for what a provider said.
func (s *Service) fail(ctx context.Context, j *Job, why *fault.Error) error {
	public := why.Public
	if public == "" {
		public = "The provider could not make the video."
	}
	return s.end(ctx, j, Failed, public, why.Kind.String())
}
