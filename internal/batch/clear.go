package batch

import (
	"context"
	"errors"
	"time"

	"weir/internal/fault"
)

const (
	clearEvery  = 10 * time.Second
	clearAtOnce = 20
	clearFor    = time.Minute
	firstClear  = time.Minute // after a try that failed; then twice as long, and so on
	mostClear   = 6 * time.Hour
	mostClears  = 16 // about two days: a provider's batch that was given up has ended by then
)

func clearPause(tries int64) time.Duration {
	return min(firstClear<<min(tries, 20), mostClear)
}

func (s *Service) clearRound(ctx context.Context) time.Duration {
	if s.synced.Load() {
		s.ClearParts(ctx)
	}
	return min(clearEvery, s.cfg.LostAfter) // a part without an id is looked for after LostAfter
}

// ClearParts has providers delete what they keep of parts that have ended, as far as that is due. It is done by any node, and a part that was
// cleared twice is cleared.
func (s *Service) ClearParts(ctx context.Context) {
	for ctx.Err() == nil {
		short, cancel := s.short(ctx)
		list, err := s.Store.LeftParts(short, s.now(), clearAtOnce, clearPause)
		cancel()
		if err != nil {
			if ctx.Err() == nil {
				s.cfg.Report("what providers keep of batches cannot be read from the store", "", err)
			}
			return
		}
		down := map[string]bool{} // endpoints that fail now, whose other parts wait
		for i := range list {
			if p := &list[i]; !down[p.Endpoint] || p.Clears >= mostClears {
				down[p.Endpoint] = s.clearPart(ctx, p)
			}
		}
		if len(list) < clearAtOnce {
			return
		}
	}
}

// clearPart reports whether the provider fails so that others are not to be tried at present.
func (s *Service) clearPart(ctx context.Context, p *Part) (down bool) {
	long, cancel := context.WithTimeout(ctx, clearFor)
	err := s.Native.Clear(long, p)
	cancel()
	if err != nil {
		if ctx.Err() != nil {
			return true
		}
		if p.Clears < mostClears {
			f := fault.From(err)
			return !errors.Is(err, ErrWorking) && (f.Upstream == nil || f.Upstream.Status == 0 || f.Upstream.Status == statusTooMany || f.Upstream.Status >= 500)
		}
		s.cfg.Report("a provider keeps requests and answers of a batch, because they cannot be deleted there: "+p.ID, "", err)
	}
	short, cancel := s.short(context.WithoutCancel(ctx))
	defer cancel()
	if err := s.Store.ClearedPart(short, p.ID); err != nil {
		s.cfg.Report("that a provider's batch was deleted cannot be noted yet: "+p.ID, "", err)
	}
	return false
}
