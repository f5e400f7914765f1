package video

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"weir/internal/catalog"
	"weir/internal/fault"
)

const (
	unknownPolls = 3 // how often in a row a provider may report a job as unknown before it is given up
	copyTries    = 5 // failed copies into the blob store before a video stays with its provider
	cancelTries  = 5 // how often a provider is asked to cancel a job
	cleanPause   = 10 * time.Second
	cleanMost    = time.Hour
)

// poll requests the progress of the job from the provider.
func (s *Service) poll(ctx context.Context, j *Job) (copying func(), err error) {
	p, err := s.progress(ctx, j)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	j.Polls++
	if err == nil && p.State == Completed && len(p.Outputs) > 0 {
		return s.complete(ctx, j, &p)
	}
	return nil, s.polled(ctx, j, &p, err)
}

// polled handles the result of a poll that brings no video: a state or an error.
func (s *Service) polled(ctx context.Context, j *Job, p *Progress, err error) error {
	switch {
	case err == nil && !p.State.Active():
		return s.unmade(ctx, j, p)
	case fault.Is(err, fault.ContentPolicy): // the provider's verdict, which the next poll would bring again
		return s.unmade(ctx, j, &Progress{State: Failed, Failure: fault.From(err)})
	case keyGone(err):
		return s.end(ctx, j, Failed, fault.From(err).Public, fault.PermissionDenied.String())
	case s.late(j):
		return s.tooLate(ctx, j)
	case err == nil:
		j.Failures = 0
		j.Progress = max(j.Progress, min(p.Percent, 99))
		return s.again(ctx, j, hint(p.Wait, s.pause(s.cfg.FirstPoll, s.cfg.MostPoll, j.Polls)))
	}
	j.Failures++
	if fault.Is(err, fault.NotFound) && j.Failures >= unknownPolls {
		s.lost(j, err)
		return s.end(ctx, j, Failed, "The provider does not have the job any more.", fault.ProviderUnavailable.String())
	}
	if j.Failures == 1 || j.Failures%10 == 0 {
		s.cfg.Report("a video job cannot be polled at its provider", j, err)
	}
	return s.again(ctx, j, s.pause(s.cfg.FirstPoll, s.cfg.MostPoll, j.Polls+j.Failures))
}

func (s *Service) progress(ctx context.Context, j *Job) (Progress, error) {
	ep, err := s.endpoint(ctx, j)
	if err != nil {
		return Progress{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.PollFor)
	defer cancel()
	p, err := s.Upstream.Poll(ctx, ep, j)
	if err != nil {
		s.tried(j, err)
	}
	return p, err
}

// unmade ends a job that ended at the provider without a video.
func (s *Service) unmade(ctx context.Context, j *Job, p *Progress) error {
	if p.Failure != nil {
		return s.end(ctx, j, failedState(p.State), p.Failure.Public, p.Failure.Kind.String())
	}
	return s.end(ctx, j, failedState(p.State), "The provider made no video.", fault.ProviderUnavailable.String())
}

// failedState returns the final state of a job that ended at its provider in state s without a video.
func failedState(s State) State {
	if s == Cancelled {
		return Cancelled
	}
	return Failed
}

// complete charges for the videos, after they are copied where that is configured: copying has its own workers.
func (s *Service) complete(ctx context.Context, j *Job, p *Progress) (copying func(), err error) {
	j.outputs(p.Outputs)
	if s.Contents == nil {
		return nil, s.completed(ctx, j, p)
	}
	if !s.copies.enter(j.User) { // it has been made in time, so it may wait beyond its deadline
		j.DueAt = s.now().Add(s.pause(s.cfg.FirstPoll, s.cfg.MostPoll, j.Polls))
		return nil, s.keep(ctx, j, true)
	}
	return func() {
		defer s.copies.leave(j.User)
		s.guard(ctx, j, func() error {
			if over, err := s.copied(ctx, j); over || err != nil {
				return err
			}
			if p.Outputs = j.Outputs; len(p.Outputs) == 0 {
				return s.end(ctx, j, Failed, "The provider reported a video, and does not have it.", fault.ProviderUnavailable.String())
			}
			return s.completed(ctx, j, p)
		})
	}, nil
}

// copied copies the videos of a job when its turn comes. over reports that the copy is not done now and will be tried again.
func (s *Service) copied(ctx context.Context, j *Job) (over bool, err error) {
	if err := s.copies.turns.Enter(ctx, j.User); err != nil {
		return true, err
	}
	defer s.copies.turns.Leave(j.User)
	if err = s.keepOutputs(ctx, j); err == nil {
		return false, nil
	}
	if ctx.Err() != nil || fault.Is(err, fault.Conflict) {
		return true, err
	}
	if j.Failures++; j.Failures < copyTries && !s.late(j) {
		s.cfg.Report("a video cannot be copied from its provider", j, err)
		return true, s.again(ctx, j, s.pause(s.cfg.FirstPoll, s.cfg.MostPoll, j.Failures))
	}
	if absent(err) { // it was never there, or is gone: it is not charged for
		s.cfg.Report("a provider does not have a video that it reported", j, err)
		j.Outputs = slices.DeleteFunc(j.Outputs, func(o Output) bool { return o.Kept == "" })
		return false, nil
	}
	s.cfg.Report("a video stays with its provider, because it cannot be copied", j, err)
	return false, nil
}

// absent reports whether a provider answered that a video's content does not exist.
func absent(err error) bool {
	f := fault.From(err)
	return f != nil && f.Upstream != nil && (f.Upstream.Status == 404 || f.Upstream.Status == 410)
}

// completed ends a job with its charge.
func (s *Service) completed(ctx context.Context, j *Job, p *Progress) error {
	j.Progress = 100
	if err := j.settle(p); err != nil { // the amount does not fit its type: a retry would not help
		s.lost(j, err)
		return s.end(ctx, j, Failed, "The video cannot be charged for.", fault.Internal.String())
	}
	err := s.end(ctx, j, Completed, "", "")
	if fault.Is(err, fault.Conflict) && s.Contents != nil {
		s.dropOrphans(ctx, j)
	}
	return err
}

// outputs adds what the provider reports of the videos to what is stored of them.
func (j *Job) outputs(outputs []Output) {
	kept := j.Outputs
	j.Outputs = append([]Output(nil), outputs...)
	for i := range min(len(kept), len(outputs)) {
		if k := &kept[i]; k.Kept != "" {
			o := &j.Outputs[i]
			o.Kept, o.Bytes, o.ETag = k.Kept, k.Bytes, k.ETag
		}
	}
}

// keepOutputs copies the videos that are not in the blob store yet. It stores the job after each copy, so that none is made twice.
func (s *Service) keepOutputs(ctx context.Context, j *Job) (missing error) {
	ep, err := s.endpoint(ctx, j)
	if err != nil {
		return err
	}
	for i := range j.Outputs {
		if j.Outputs[i].Kept != "" {
			continue
		}
		if err := s.copyOutput(ctx, ep, j, i); absent(err) { // the others may be there
			missing = err
			continue
		} else if err != nil {
			return err
		}
		if err := s.keep(ctx, j, false); err != nil {
			if fault.Is(err, fault.Conflict) {
				s.dropOrphans(ctx, j)
			}
			return err
		}
	}
	return missing
}

// contentKey returns the key of a copy. It contains the fence, so that a worker that lost the job can delete its own copies only.
func (j *Job) contentKey(index int) string {
	return j.ID + "/" + strconv.Itoa(index) + "-" + strconv.FormatInt(j.Fence, 10)
}

func (s *Service) copyOutput(ctx context.Context, ep *catalog.Endpoint, j *Job, index int) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CopyFor)
	defer cancel()
	o := &j.Outputs[index]
	c, err := s.Upstream.Open(ctx, ep, j, o, nil)
	if err != nil {
		return err
	}
	defer func() { _ = c.Body.Close() }()
	if o.MediaType == "" {
		o.MediaType = c.MediaType
	}
	key := j.contentKey(index)
	n, etag, err := s.Contents.Put(ctx, key, o.MediaType, c.Body)
	if err == nil && (n == 0 || c.Size >= 0 && n != c.Size) {
		err = errors.Join(fault.Wrap("video.copy", fmt.Errorf("%d bytes came of %d", n, c.Size)), s.Contents.Delete(ctx, key))
	}
	if err != nil {
		return err
	}
	o.Kept, o.Bytes, o.ETag = key, n, etag
	return nil
}

// dropOrphans deletes the copies that this step made for a job that another worker has by now. If the store wrote the job's end but its
// answer was lost, the copies belong to the job and stay.
func (s *Service) dropOrphans(ctx context.Context, j *Job) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.StoreFor)
	defer cancel()
	now, err := s.Store.Job(ctx, j.User, j.ID)
	if err != nil {
		return // a later sweep deletes them
	}
	for i := range j.Outputs {
		key := j.contentKey(i)
		if j.Outputs[i].Kept != key || slices.ContainsFunc(now.Outputs, func(o Output) bool { return o.Kept == key }) {
			continue
		}
		if err := s.Contents.Delete(ctx, key); err != nil {
			s.cfg.Report("the copy of a video that no job uses cannot be deleted", j, err)
		}
	}
}

// clean does the work that is left after a job's end.
func (s *Service) clean(ctx context.Context, j *Job) error {
	err := s.cleanOnce(ctx, j)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
		j.DueAt, j.Cleanup, j.Failures = time.Time{}, 0, 0
		j.Outputs = nil
		return s.keep(ctx, j, true)
	}
	j.Failures++
	if j.Cleanup&CancelUpstream != 0 && j.Failures >= cancelTries {
		s.lost(j, err)
		j.Cleanup &^= CancelUpstream
	}
	return s.again(ctx, j, s.pause(cleanPause<<min(j.Failures, 8), cleanMost, 0))
}

func (s *Service) cleanOnce(ctx context.Context, j *Job) error {
	if j.Cleanup&CancelUpstream != 0 {
		if err := s.cancelUpstream(ctx, j); err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		j.Cleanup &^= CancelUpstream
	}
	if j.Cleanup&PurgeContent == 0 {
		return nil
	}
	for i := range j.Outputs {
		o := &j.Outputs[i]
		if o.Kept == "" {
			continue
		}
		if s.Contents == nil {
			return errNoContents()
		}
		short, cancel := context.WithTimeout(ctx, s.cfg.PollFor)
		err := s.Contents.Delete(short, o.Kept)
		if cancel(); err != nil {
			return err
		}
		o.Kept = ""
	}
	return nil
}
