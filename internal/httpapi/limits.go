package httpapi

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"weir/internal/fault"
	"weir/internal/limit"
	"weir/internal/limit/quota"
	"weir/internal/routing"
)

// quotaConfig is what the configuration says of limits, where the largest body of a route has so many bytes.
func quotaConfig(c *Config, heap func() int64, largest int64) quota.Config {
	return quota.Config{
		InFlight: c.MaxInFlight, Bytes: c.BodyBudget, Largest: largest + largest/growth, UserShare: c.MaxUserShare, StreamsByKey: c.MaxStreamsByKey,
		MemoryLimit: c.MemoryLimit, HeapPercent: c.HeapPercent, Heap: heap, Keys: c.KeyRates, Free: c.FreeRates, CallsByUser: c.UserCallsPerMinute, KeyTestsByUser: c.KeyTestsPerMinute,
		FailuresByAddress: int64(c.FailedAuthPerMinute), VisitsByAddress: int64(c.PublicPerMinute),
		Anonymous: limit.Rate{Amount: int64(c.AnonymousPerSecond), Per: time.Second, Burst: int64(c.AnonymousBurst)},
	}
}

// admit lets a request in that will take memory or a provider's time. Nothing of its body was read, and little work was done so far: a refusal
// costs nearly nothing.
func (x *exchange) admit() error {
	if err := x.visit.Enter(x.api.quotas, x.at, x.caller, x.route.rated()); err != nil {
		return err
	}
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
// prompt, and whether it streams.
func (x *exchange) reserve(prefs *routing.Preferences, models []string, prompt int64, stream bool) error {
	if err := noPreset(models); err != nil {
		return err
	}
	x.mayKeep(prefs)
	if x.part != nil && prefs.ZDR {
		return fault.Field("httpapi.reserve", "provider.zdr", "A batch stores requests and answers, so zero data retention is not possible. Send the request by itself.")
	}
	if x.deferred() { // it is no request by the minute: the provider's batch has all of them
		return nil
	}
	if stream {
		if err := x.visit.Stream(); err != nil {
			return err
		}
	}
	if err := x.visit.Free(x.context(), x.at, models); err != nil {
		return err
	}
	return x.visit.Reserve(x.at, x.api.Catalog(), models[0], prompt)
}

// showLimit sets the header fields of the limit that refused a request.
func showLimit(h http.Header, e *fault.Error, at time.Time) {
	if r, ok := e.Cause.(*quota.Refusal); ok { //nolint:errorlint // package quota sets it itself, and floods of refusals should be cheap
		h["X-Ratelimit-Limit"] = []string{r.Limit}
		h["X-Ratelimit-Remaining"] = []string{r.Left}
		h["X-Ratelimit-Reset"] = []string{strconv.FormatInt(at.Add(r.Wait).UnixMilli(), 10)}
	}
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
