package video

import (
	"context"
	"errors"

	"weir/internal/audit"
	"weir/internal/fault"
)

// EndNow ends a job for an operator, whatever its provider does: the job fails, what it holds is given back, and what a provider still
// delivers is not charged, because its worker has lost it. by is recorded. It fails with fault.NotFound when the job does not exist or has ended.
func (s *Service) EndNow(ctx context.Context, id, public string, by audit.Event) error {
	if err := s.timed(ctx); err != nil {
		return err
	}
	short, cancel := context.WithTimeout(ctx, s.cfg.StoreFor)
	defer cancel()
	j, err := s.Store.WrestJob(short, id)
	if err != nil {
		return err
	}
	asked := j.Submitting && j.UpstreamID == ""
	if j.UpstreamID != "" {
		j.Cleanup |= CancelUpstream
	}
	err = s.endBy(ctx, j, Failed, public, fault.Canceled.String(), &by)
	if fault.Is(err, fault.Conflict) { // another operator, or the end of its time, was first
		return fault.New(fault.NotFound, "video.EndNow", "The job has just ended.").Because(err)
	}
	if err == nil && asked {
		s.lost(j, errAsked)
	}
	return err
}

var errAsked = errors.New("an operator ended the job while its provider was being asked for it")
