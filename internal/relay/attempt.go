package relay

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/health"
	"weir/internal/record"
	"weir/internal/routing"
)

// reasonProbe marks a candidate when every other was ejected too, and this call was let through to see whether it is well again.
const reasonProbe = "probe"

// skips counts the attempts that the gate did not admit.
type skips struct {
	ejected, full, crowded, out int
	after                       time.Duration // soonest time at which one of them may be worth another try
}

// admit asks the gate whether the attempt may be made.
func (x *run) admit(at *routing.Attempt) bool {
	if x.relay.Gate == nil || at.Endpoint.Own != nil { // an own key has no part in what is shared
		x.pass = health.Pass{}
		return true
	}
	pass, why, after := x.relay.Gate.Admit(at.Endpoint, x.call.Caller.User)
	if why == health.None {
		x.pass = pass
		return true
	}
	if x.skips.after == 0 || after < x.skips.after {
		x.skips.after = after
	}
	c := x.candidate(at.Endpoint)
	switch why {
	case health.Full:
		x.skips.full++
		c.DroppedBy, c.Detail = record.DroppedFull, "It had reached its limit of concurrent attempts."
	case health.Crowded:
		x.skips.crowded++
		c.DroppedBy, c.Detail = record.DroppedCrowded, "This user had reached the limit of concurrent attempts there, and others use the endpoint, too."
	case health.Withdrawn:
		x.skips.out++
		c.DroppedBy, c.Detail = record.DroppedOut, "An operator ejected it after the call had been planned."
	default:
		x.skips.ejected++
		c.DroppedBy, c.Detail = record.DroppedEjected, "It failed too often in a row and is skipped for another "+roundUp(after).String()+"."
	}
	return false
}

// lastResort is the attempt to make when every endpoint is ejected: one call a second finds out whether one of them is well again.
func (x *run) lastResort(attempts []routing.Attempt) *routing.Attempt {
	if x.skips.ejected == 0 || x.skips.ejected+x.skips.out < len(attempts) {
		return nil
	}
	eps := make([]*catalog.Endpoint, len(attempts))
	for i := range attempts {
		eps[i] = attempts[i].Endpoint
	}
	pass, which, ok := x.relay.Gate.Probe(eps, x.call.Caller.User)
	if !ok {
		return nil
	}
	x.pass = pass
	c := x.candidate(eps[which])
	c.DroppedBy, c.Detail, c.Reason = "", "", reasonProbe
	return &attempts[which]
}

// candidate is the record's entry for a planned endpoint.
func (x *run) candidate(ep *catalog.Endpoint) *record.Candidate {
	i := slices.IndexFunc(x.rec.Candidates, func(c record.Candidate) bool { return c.Endpoint == ep.ID && c.OwnKey == ownKeyOf(ep) && c.Order > 0 })
	return &x.rec.Candidates[i]
}

// unserved is the error of a call that no endpoint was tried for.
func (x *run) unserved() *fault.Error {
	var err *fault.Error
	switch {
	case x.skips.crowded > 0:
		err = fault.New(fault.RateLimited, "relay.Complete", "This user has reached the limit of concurrent requests at each provider of this model. Wait for one to end.")
		err.Details = map[string]any{"limited_by": record.DroppedCrowded}
	case x.skips.full > 0:
		err = fault.New(fault.ProviderOverloaded, "relay.Complete", "Each provider of this model has reached its limit of concurrent requests. Try again later.")
	case x.skips.ejected > 0:
		err = fault.New(fault.NoProvider, "relay.Complete", "Each provider of this model is failing at present. Try again later, or name other models in models.")
	case x.skips.out > 0:
		err = fault.New(fault.NoProvider, "relay.Complete", "The operator has taken each provider of this model out of service. Try again later, or name other models in models.")
	default:
		return fault.New(fault.Timeout, "relay.Complete", "No provider answered in time.")
	}
	err.RetryAfter = roundUp(x.skips.after)
	return err
}

func roundUp(d time.Duration) time.Duration { return (d + time.Second - 1).Truncate(time.Second) }

// attempt makes the admitted attempt and, where that is allowed, one more at the same endpoint: without the reasoning of earlier turns
// where the provider refused that, else because it may well succeed. rest are the attempts planned after it.
func (x *run) attempt(ctx context.Context, at *routing.Attempt, rest []routing.Attempt) *fault.Error {
	x.req.Used = &x.used
	x.req.Elsewhere = x.elsewhere(rest) && len(x.rec.Attempts)+1 < x.relay.cfg.MaxAttempts
	x.req.Remaining = max(x.relay.cfg.AttemptBudget-x.since(), 1)
	err := x.try(ctx, at)
	if err == nil || x.started {
		return err
	}
	if err.Upstream != nil && err.Upstream.RefusedReasoning && x.mayTry() && x.admit(at) {
		x.withoutReasoning = true
		err = x.try(ctx, at)
		x.withoutReasoning = false
		return err
	}
	wait, worth := x.worthAnother(ctx, err, rest)
	if !worth || !x.relay.retries.begin() {
		return err
	}
	defer x.relay.retries.end()
	if wait > 0 && x.relay.Wait(ctx, wait) != nil {
		return gone(ctx, ctx.Err())
	}
	if !x.mayTry() || !x.admit(at) {
		return err
	}
	x.retrying = true
	err = x.try(ctx, at)
	x.retrying = false
	return err
}

// A retry waits for a random time between these: long enough for a restart or a full queue to pass, short enough for a person.
const (
	leastBackOff = 25 * time.Millisecond
	mostBackOff  = 250 * time.Millisecond
)

// worthAnother reports whether the same endpoint should be tried again, and how long to wait before: at once when the provider had closed
// an idle connection, for it has not seen the request; after a moment when it sent no byte or asked for at most a second of patience.
// Another endpoint is better than waiting.
func (x *run) worthAnother(ctx context.Context, err *fault.Error, rest []routing.Attempt) (wait time.Duration, worth bool) {
	u := err.Upstream
	if u == nil {
		return 0, false
	}
	if u.Reused {
		return 0, true
	}
	busy := (err.Kind == fault.RateLimited || err.Kind == fault.ProviderOverloaded) && err.RetryAfter > 0 && err.RetryAfter <= time.Second
	if !busy && !u.Silent || x.elsewhere(rest) {
		return 0, false
	}
	wait = leastBackOff + time.Duration(x.relay.Rand()*float64(mostBackOff-leastBackOff))
	deadline, bounded := ctx.Deadline()
	return wait, !bounded || x.relay.Now().Add(wait).Before(deadline)
}

// elsewhere reports whether one of these attempts could be made.
func (x *run) elsewhere(rest []routing.Attempt) bool {
	return slices.ContainsFunc(rest, func(at routing.Attempt) bool {
		return !x.hopeless(at.Endpoint) && (at.Endpoint.Own != nil || x.health() == nil || !x.health()(at.Endpoint.ID).Ejected)
	})
}

// health is the health that routing sees: of all calls, and of this account's.
func (x *run) health() func(endpoint string) routing.Health {
	if x.relay.Gate != nil {
		if own := x.relay.Gate.For(x.call.Caller.User); own != nil {
			return own
		}
	}
	return x.relay.Health
}

// try makes one attempt. It returns nil when the answer was delivered to its end and settled.
func (x *run) try(ctx context.Context, at *routing.Attempt) *fault.Error {
	x.serving, x.head, x.signature, x.taken = at, completion.Head{}, "", false
	x.meter.reset()
	rec := x.note(at)
	err := x.stream(ctx, rec)
	rec.Ended, rec.Reason, rec.ProviderKey = x.since(), "", x.used.Take()
	if err != nil {
		rec.Reason = err.Kind.String()
		if u := err.Upstream; u != nil {
			rec.Status = cmp.Or(u.Status, rec.Status)
			if rec.OwnKey == "" { // what a provider says of a person's own account is theirs
				rec.Words = record.Words(u.Words)
			}
		}
	}
	if err != nil && err.Kind == fault.ContextLength {
		measure(err, at.Endpoint, &x.req.Needs)
	}
	x.ended(err, rec)
	if at.Endpoint.Own != nil {
		if err != nil {
			x.relay.Own.Tried(x.call.Caller.User, at.Endpoint.Own.Key, err)
			return ownFault(at.Endpoint, err)
		}
		defer x.relay.Own.Tried(x.call.Caller.User, at.Endpoint.Own.Key, nil) // once the client has its answer
	} else if o := x.relay.Observer; o != nil {
		o.Attempted(at.Endpoint.ID, rec.Ended-rec.Started, err)
	}
	if err != nil {
		return err
	}
	return x.deliver(ctx)
}

// note begins the record of an attempt. Until it has ended, its reason is the one that a panic would leave.
func (x *run) note(at *routing.Attempt) *record.Attempt {
	x.rec.Attempts = append(x.rec.Attempts, record.Attempt{
		Endpoint: at.Endpoint.ID, Provider: at.Endpoint.Provider.ID, Reason: fault.Internal.String(), Started: x.since(), OwnKey: ownKeyOf(at.Endpoint)})
	return &x.rec.Attempts[len(x.rec.Attempts)-1]
}

// longSilence is after what time without any content a client that leaves is a sign of an endpoint that does not answer.
const longSilence = 20 * time.Second

// ended reports to the gate what the attempt shows about its endpoint.
func (x *run) ended(err *fault.Error, rec *record.Attempt) {
	s := health.Sample{Result: health.Judge(err, x.started), Took: rec.Ended - rec.Started}
	if err != nil && err.Upstream != nil && err.Upstream.Reused && !x.retrying {
		s.Result = health.Neutral // an idle connection was closed, which is anybody's right
	}
	if rec.FirstContent > 0 {
		s.Latency = rec.FirstContent - rec.Started
	}
	if err != nil && err.Kind == fault.Canceled && rec.FirstContent == 0 && s.Took >= longSilence {
		s.Result = health.Abandoned
	}
	if n := x.meter.usage.Completion; n.Reported && n.N > 0 && n.N <= x.most.Completion.N {
		s.Tokens = n.N
	} else {
		s.Tokens = x.meter.likely()
	}
	x.pass.End(s)
}

// retryBudget bounds how many calls may be trying the same endpoint again at a time, as a part of all calls: retries must not become a
// load when everything fails.
type retryBudget struct {
	active, retries atomic.Int64
	percent         int64
}

// leastRetries may always run, for with few calls a percentage means nothing.
const leastRetries = 3

func (b *retryBudget) begin() bool {
	if b.retries.Add(1) > max(b.active.Load()*b.percent/100, leastRetries) {
		b.retries.Add(-1)
		return false
	}
	return true
}

func (b *retryBudget) end() { b.retries.Add(-1) }
