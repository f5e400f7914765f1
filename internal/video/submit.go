package video

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/health"
)

const (
	maxRounds = 4                // rounds in which all providers may be busy
	busyPause = 10 * time.Second // after the first of them
	busyMost  = 2 * time.Minute
	waitMost  = 5 * time.Minute // longest wait that a provider may request
)

// submit submits the job to one provider after another until one takes it. Before each submission the store gets a note of it: a worker
// that finds the note without an answer must find out the outcome before it submits the job again.
func (s *Service) submit(ctx context.Context, j *Job) error {
	if j.Submitting {
		over, err := s.recover(ctx, j)
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
		if last == nil || isBusy(refusal) || !isBusy(last) { // a busy provider says when to retry
			last = refusal
		}
	}
	return s.refused(ctx, j, last)
}

// late reports whether the job's deadline has passed.
func (s *Service) late(j *Job) bool { return !s.now().Before(j.DeadlineAt) }

func (s *Service) tooLate(ctx context.Context, j *Job) error {
	if j.Submitting {
		s.unclear(j, Lost)
		s.lost(j, fmt.Errorf("its time was over before it was found: %w", j.doubt()))
	}
	if j.UpstreamID != "" {
		j.Cleanup = CancelUpstream
	}
	return s.end(ctx, j, Expired, "The video was not made in time.", fault.Timeout.String())
}

// ask submits the job to the offer that is next. over reports that the job's step is over; otherwise refusal is why the provider did not
// take it.
func (s *Service) ask(ctx context.Context, j *Job) (over bool, refusal *fault.Error, err error) {
	ep, err := s.endpoint(ctx, j)
	if fault.Is(err, fault.StorageUnavailable) {
		return true, nil, err
	}
	if err != nil {
		j.Serving().Refused = true
		return false, fault.From(err), nil
	}
	pass, busy := s.admit(ep, j.User)
	if busy != nil {
		return false, busy, nil
	}
	j.Submitting, j.AskedAt, j.Doubt = true, s.now().Truncate(time.Microsecond), ""
	if err := s.keep(ctx, j, false); err != nil {
		pass.End(health.Sample{})
		return true, nil, err
	}
	started := s.now()
	accepted, err := s.submitTo(ctx, ep, j)
	refusal = fault.From(err)
	s.tried(j, err)
	pass.End(health.Sample{Result: health.Judge(refusal, err == nil), Took: s.now().Sub(started)})
	switch {
	case err == nil:
		j.tried(started, s.now(), 200, "", accepted.Key)
		return true, nil, s.accepted(ctx, j, &accepted)
	case ctx.Err() != nil: // this node stops: the next one finds out the outcome
		return true, nil, ctx.Err()
	}
	j.tried(started, s.now(), statusOf(refusal), refusal.Kind.String(), accepted.Key)
	if !Refused(refusal) {
		j.Doubt = doubtful(j, refusal)
		s.cfg.Report("a provider answers neither yes nor no to a video job", j, j.doubt())
		over, err := s.recover(ctx, j)
		return over, refusal, err
	}
	j.Submitting = false
	j.Serving().Refused = !isBusy(refusal)
	if refusal.Upstream != nil && refusal.Next != fault.NextEndpoint && !isBusy(refusal) { // no provider would accept this
		return true, nil, s.fail(ctx, j, refusal)
	}
	return false, refusal, nil
}

func (s *Service) submitTo(ctx context.Context, ep *catalog.Endpoint, j *Job) (Accepted, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.SubmitFor)
	defer cancel()
	a, err := s.Upstream.Submit(ctx, ep, j.submission())
	if err == nil && a.ID == "" {
		err = fault.New(fault.ProviderUnavailable, "video.Submit", "The provider accepted the job without an id.")
	}
	return a, err
}

func (j *Job) submission() *Submission {
	return &Submission{Job: j.ID, Token: j.Token(), Request: &j.Request, At: j.asked()}
}

func (s *Service) admit(ep *catalog.Endpoint, account string) (health.Pass, *fault.Error) {
	if s.Gate == nil || ep.Own != nil { // an own key has no part in what is shared
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

// Refused reports whether the error of a submission proves that the provider did not take the job: it was never reached, or it refused
// clearly. Other errors prove nothing: a server that answers 500, 503 or 529 may have started the job before it failed, and 502 and 504
// come from proxies in front of the server.
func Refused(e *fault.Error) bool {
	if u := e.Upstream; u != nil && (u.Unreachable || u.Status != 0) {
		return u.Unreachable || refusals[u.Status]
	}
	switch e.Kind { // no answer came, or nothing was sent
	case fault.Invalid, fault.InvalidPrompt, fault.Unprocessable, fault.PayloadTooLarge, fault.ContentPolicy, fault.NoEndpoints, fault.NoProvider, fault.PermissionDenied,
		fault.NotFound, fault.ModelNotFound, fault.StringTooLong:
		return true // the dialect itself, before it sent anything
	}
	return e.Details["reason"] == "upstream_auth" // there was no credential to send it with
}

// refusals are the statuses that mean that the provider did not take the job. Of the statuses below 500, those not listed come from proxies
// that did not get the whole exchange (408, 460, 499), report a job that exists (409, 423, 425), or are not in use.
var refusals = map[int]bool{
	400: true, 401: true, 402: true, 403: true, 404: true, 405: true, 406: true, 410: true, 411: true, 412: true, 413: true, 414: true, 415: true,
	416: true, 417: true, 421: true, 422: true, 426: true, 428: true, 429: true, 431: true, 451: true,
}

// isBusy reports whether the same provider may take the job later, in spite of this refusal.
func isBusy(e *fault.Error) bool {
	return e.Kind == fault.RateLimited || e.Kind == fault.ProviderOverloaded || e.Kind == fault.NoProvider || e.Upstream != nil && e.Upstream.Unreachable
}

// accepted notes that a provider has the job.
func (s *Service) accepted(ctx context.Context, j *Job, a *Accepted) error {
	return s.taken(ctx, j, a, func(ctx context.Context) error { return s.Store.KeepJob(ctx, j, true) })
}

// adopt notes that a provider has the job under an id that was found in its list, unless another job has that id by now.
func (s *Service) adopt(ctx context.Context, j *Job, a *Accepted) error {
	before := *j
	err := s.taken(ctx, j, a, func(ctx context.Context) error { return s.Store.AdoptJob(ctx, j) })
	if fault.Is(err, fault.Unprocessable) {
		*j = before
		return s.giveUp(ctx, j, j.doubt())
	}
	if err == nil {
		s.unclear(j, Found)
	}
	return err
}

func (s *Service) taken(ctx context.Context, j *Job, a *Accepted, write func(context.Context) error) error {
	if err := j.to(InProgress); err != nil {
		return err
	}
	j.UpstreamID, j.Submitting, j.Doubt, j.Failures, j.Polls = a.ID, false, "", 0, 0
	s.rest(j, hint(a.Wait, s.pause(s.cfg.FirstPoll, s.cfg.MostPoll, 0)))
	err := s.persist(ctx, j, write)
	if fault.Is(err, fault.Conflict) && s.abandoned(ctx, j) {
		if err := s.cancelUpstream(ctx, j); err != nil {
			s.lost(j, err)
		}
	}
	return err
}

// abandoned reports whether the provider's job is no longer needed, after another worker took our job: ours has ended, or has another
// upstream id. A provider's job that another worker has adopted in the meantime must not be cancelled.
func (s *Service) abandoned(ctx context.Context, j *Job) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.StoreFor)
	defer cancel()
	now, err := s.Store.Job(ctx, j.User, j.ID)
	return err == nil && (!now.Active() || now.UpstreamID != "" && now.UpstreamID != j.UpstreamID)
}

// hint returns how long to wait: as long as the provider says, up to waitMost, or else the default.
func hint(provider, usual time.Duration) time.Duration {
	if provider <= 0 {
		return usual
	}
	return min(max(provider, time.Second), waitMost)
}

// recover finds out the outcome of a submission whose answer was not received or was unclear. over reports that the job's step is over;
// otherwise no answer was received, the provider does not have the job, and the job may be submitted to it again.
func (s *Service) recover(ctx context.Context, j *Job) (over bool, err error) {
	ep, err := s.endpoint(ctx, j)
	if fault.Is(err, fault.StorageUnavailable) {
		return true, err
	}
	if err != nil {
		return true, s.giveUp(ctx, j, err)
	}
	short, cancel := context.WithTimeout(ctx, s.cfg.SubmitFor)
	defer cancel()
	r, err := s.Upstream.Recover(short, ep, j.submission())
	var alike []string
	if err == nil {
		alike, err = s.untaken(short, j, &r)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return true, ctx.Err()
	case s.late(j) && (err != nil || r.Fate == Absent && len(alike) == 0):
		return true, s.tooLate(ctx, j)
	case err != nil, r.Fate == Absent && len(alike) == 0 && s.now().Sub(j.asked()) < s.cfg.LostAfter:
		j.Failures++
		return true, s.again(ctx, j, s.pause(s.cfg.FirstPoll, s.cfg.MostPoll, j.Failures))
	case len(alike) == 1:
		r.ID = alike[0]
		return true, s.adopt(ctx, j, &r.Accepted)
	case r.Fate != Absent || len(alike) > 1:
		return true, s.giveUp(ctx, j, j.doubt())
	case j.Doubt != "": // the job may still appear there: no other provider is tried
		s.unclear(j, Missing)
		return true, s.end(ctx, j, Failed, "The provider did not take the job.", fault.ProviderUnavailable.String())
	}
	s.unclear(j, Missing)
	j.Submitting, j.Failures = false, 0
	return false, nil
}

const mostAlike = 16 // most candidates that are checked

// untaken are the provider's names for jobs that may be what a submission has made, and that are no other job's.
func (s *Service) untaken(ctx context.Context, j *Job, r *Recovered) (list []string, err error) {
	alike := r.Alike
	if r.Fate == Adopted && r.ID != "" {
		alike = []string{r.ID}
	}
	if len(alike) > mostAlike {
		return alike, nil
	}
	for _, id := range alike {
		taken, err := s.Store.UpstreamTaken(ctx, id, j.ID)
		if err != nil {
			return nil, err
		}
		if !taken {
			list = append(list, id)
		}
	}
	return list, nil
}

// asked is when the provider was asked whose answer was lost; of jobs that were kept before that was noted, when they were admitted.
func (j *Job) asked() time.Time {
	if j.AskedAt.IsZero() {
		return j.CreatedAt
	}
	return j.AskedAt
}

// doubt says why the outcome of a submission is unknown.
func (j *Job) doubt() error {
	if j.Doubt == "" {
		return errors.New("the node that asked the provider died before it saw an answer")
	}
	return errors.New(j.Doubt)
}

// doubtful is stored for an answer that says neither yes nor no: enough to ask the provider about it, and nothing of the request.
func doubtful(j *Job, e *fault.Error) string {
	b := []byte("endpoint " + j.Serving().Endpoint)
	if status := statusOf(e); status != 0 {
		b = append(b, ", status "+strconv.Itoa(status)...)
	} else {
		b = append(b, ", no answer that can be read ("+e.Kind.String()+")"...)
	}
	if e.Upstream != nil && e.Upstream.Request != "" {
		b = append(b, ", request "+strconv.Quote(e.Upstream.Request)...)
	}
	return string(b)
}

// giveUp ends a job that a provider may have, but that cannot be found there.
func (s *Service) giveUp(ctx context.Context, j *Job, cause error) error {
	s.unclear(j, Lost)
	s.lost(j, cause)
	return s.end(ctx, j, Failed, "The provider did not confirm that it took the job.", fault.ProviderUnavailable.String())
}

// unclear reports to the operator what was found out about a submission without a clear answer.
func (s *Service) unclear(j *Job, o Outcome) {
	if s.Observer != nil {
		s.Observer.VideoUnclear(j.endpointID(), o)
	}
}

func (j *Job) endpointID() string {
	if o := j.Serving(); o != nil {
		return o.Endpoint
	}
	return ""
}

// lost reports a job that a provider may be making although it cannot be found there any more.
func (s *Service) lost(j *Job, cause error) {
	s.cfg.Report("a provider may be making a video that cannot be found", j, cause)
	if o := j.Serving(); s.Observer != nil && (o == nil || o.OwnKey == "") { // else only the owner of the key is billed
		s.Observer.VideoLost(j.endpointID())
	}
}

// refused ends a round in which no provider took the job. If some were only busy, another round follows later.
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

// fail ends a job with a provider's error.
func (s *Service) fail(ctx context.Context, j *Job, why *fault.Error) error {
	public := why.Public
	if public == "" {
		public = "The provider could not make the video."
	}
	return s.end(ctx, j, Failed, public, why.Kind.String())
}
