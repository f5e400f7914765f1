package httpapi

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/httpserver"
	"weir/internal/limit"
	"weir/internal/limit/quota"
)

// quotaConfig is what the configuration says of limits, where the largest body of a route has so many bytes.
func quotaConfig(c *Config, heap func() int64, largest int64) quota.Config {
	return quota.Config{
		InFlight: c.MaxInFlight, Bytes: c.BodyBudget, Largest: httpserver.MemoryFor(largest), UserShare: c.MaxUserShare, StreamsByKey: c.MaxStreamsByKey, HostedCalls: c.HostedCalls,
		MemoryLimit: c.MemoryLimit, HeapPercent: c.HeapPercent, Heap: heap, Keys: c.KeyRates, Users: c.UserRates, Free: c.FreeRates, CallsByUser: c.UserCallsPerMinute, KeyTestsByUser: c.KeyTestsPerMinute,
		FailuresByAddress: int64(c.FailedAuthPerMinute), VisitsByAddress: int64(c.PublicPerMinute),
		Anonymous: limit.Rate{Amount: int64(c.AnonymousPerSecond), Per: time.Second, Burst: int64(c.AnonymousBurst)},
	}
}

// admit lets a request in that will take memory or a provider's time. Nothing of its body was read, and little work was done so far: a refusal
// costs nearly nothing.
func (x *request) admit() error {
	if err := x.visit.Enter(x.api.quotas, x.at, x.caller, x.route.rated()); err != nil {
		return err
	}
	x.showAllowance()
	if x.route.access != inference {
		return nil
	}
	err := x.name()
	if err != nil {
		x.visit.Leave()
	}
	return err
}

// reserve lets a decoded request in by what it asks for: its preferences, which say what may be kept of it, its models, the tokens of its
// prompt and answer, and whether it streams.
func (x *request) reserve(req *completion.Request) error {
	if err := noPreset(req.Models); err != nil {
		return err
	}
	x.mayKeep(&req.Preferences)
	if x.part != nil && req.Preferences.ZDR {
		return fault.Field("httpapi.reserve", "provider.zdr", "A batch stores requests and answers, so zero data retention is not possible. Send the request by itself.")
	}
	if x.deferred() { // it is no request by the minute: the provider's batch has all of them
		return nil
	}
	if req.Stream {
		if err := x.visit.Stream(); err != nil {
			return err
		}
	}
	if err := x.visit.Free(x.context(), x.at, req.Models); err != nil {
		return err
	}
	err := x.visit.Reserve(x.at, x.api.Catalog(), req)
	x.showAllowance()
	return err
}

// showAllowance sets the header fields of the key's allowance that is nearest to its end.
func (x *request) showAllowance() {
	if r := x.visit.Nearest(x.at); r != nil {
		showRefusal(x.w.Header(), r, x.at)
	}
}

// showLimit sets the header fields of the limit that refused a request.
func showLimit(h http.Header, e *fault.Error, at time.Time) {
	if r, ok := e.Cause.(*quota.Refusal); ok { //nolint:errorlint // package quota sets it itself, and floods of refusals should be cheap
		showRefusal(h, r, at)
	}
}

func showRefusal(h http.Header, r *quota.Refusal, at time.Time) {
	h["X-Ratelimit-Limit"] = []string{r.Limit}
	h["X-Ratelimit-Remaining"] = []string{r.Left}
	h["X-Ratelimit-Reset"] = []string{strconv.FormatInt(at.Add(r.Wait).UnixMilli(), 10)}
}

// spread gives a fault that concerns everybody at once a time to come back that differs from client to client.
func spread(e *fault.Error) *fault.Error {
	var within time.Duration
	switch e.Kind {
	case fault.Overloaded, fault.StorageUnavailable:
		within = 4 * time.Second
	case fault.Draining:
		within = 10 * time.Second
	default:
		return e
	}
	out := *e
	out.RetryAfter = max(e.RetryAfter, time.Second) + rand.N(within)
	return &out
}
