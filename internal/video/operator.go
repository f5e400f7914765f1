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
	for range races {
		err := s.wrest(ctx, id, public, by)
		if !fault.Is(err, fault.Conflict) { // a worker that claims the job meanwhile has changed it, and another operator may have ended it
			return err
		}
	}
	return raced("video.EndNow")
}

func (s *Service) wrest(ctx context.Context, id, public string, by audit.Event) error {
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
	if err == nil && asked {
		s.lost(j, errAsked)
	}
	return err
}

var errAsked = errors.New("an operator ended the job while its provider was being asked for it")
