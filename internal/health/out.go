package health

import (
	"time"

	"weir/internal/routing"
)

// Out says that an operator took an endpoint out of service.
type Out struct {
	Service routing.Service
	Until   time.Time // when it comes back by itself; zero: when an operator says so
}

// whileOut is when a client may ask again for an endpoint that is out until an operator says otherwise.
const whileOut = time.Minute

// SetOut says which endpoints are out of service, by their ids, and for which reasons: several may hold. It replaces what was said before. The map is
// read from then on.
func (r *Registry) SetOut(out map[string][]Out) {
	if len(out) == 0 {
		r.out.Store(nil)
		return
	}
	r.out.Store(&out)
}

// Outs reports, by the ids of endpoints, whether an operator lets them serve; nil when all do.
func (r *Registry) Outs() func(id string) routing.Service {
	all := r.out.Load()
	if all == nil {
		return nil
	}
	now := r.time()
	return func(id string) (s routing.Service) {
		for _, o := range (*all)[id] {
			if !o.over(now) {
				s = max(s, o.Service)
			}
		}
		return s
	}
}

func (o *Out) over(now time.Time) bool { return !o.Until.IsZero() && !now.Before(o.Until) }

// cut reports whether an operator ejected an endpoint, and for how long it gets nothing yet.
func (r *Registry) cut(id string) (left time.Duration, cut bool) {
	all := r.out.Load()
	if all == nil {
		return 0, false
	}
	now := r.time()
	for _, o := range (*all)[id] {
		switch {
		case o.Service != routing.Cut || o.over(now):
		case o.Until.IsZero():
			left, cut = max(left, whileOut), true
		default:
			left, cut = max(left, o.Until.Sub(now)), true
		}
	}
	return left, cut
}

// InFlightLimit is how many attempts an endpoint may have at a time at one node, with its limit in the catalog or 0.
func (r *Registry) InFlightLimit(own int64) int64 {
	if own > 0 {
		return own
	}
	return r.cfg.MaxInFlight
}
