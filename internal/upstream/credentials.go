package upstream

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/dialect/auth"
	"weir/internal/fault"
	"weir/internal/upstream/h1"
)

const (
	firstBan = 5 * time.Minute // of a credential that was refused; doubled each time
	maxBan   = time.Hour
)

// credential is one key of a provider with the data that is computed once for it.
type credential struct {
	whole, stream lane
	tag           string      // distinguishes it from the provider's others
	method        auth.Method // gives further header fields for each request; nil: those of the lanes are enough

	// guarded by credentials.mu
	refused time.Time     // time of the last refusal; zero: never, or accepted since
	until   time.Time     // not used before
	ban     time.Duration // length of the last ban for a refusal of the key itself
	fault   *fault.Error  // of the last refusal
}

// lane is the request header for one credential and one kind of answer.
type lane struct {
	header http.Header // read only: shared by all requests
	fields []byte      // the same header as HTTP/1 bytes
}

// credentials are those of one provider. A provider with a single credential uses it even after refusals.
type credentials struct {
	all []*credential
	mu  sync.Mutex // guards the changing fields of the credentials
}

func newCredentials(d dialect.Dialect, p *catalog.Provider, host string, deps auth.Deps) (*credentials, error) {
	list := new(credentials)
	for _, key := range keysOf(p) {
		keyed := *p
		keyed.Key = key
		c := &credential{tag: keyTag(key)}
		var err error
		if c.method, err = methodOf(d, &keyed, deps); err != nil {
			return nil, err
		}
		if c.method != nil {
			keyed.Key = ""
		}
		if c.whole, err = newLane(d.Header(&keyed), host, "application/json"); err != nil {
			return nil, err
		}
		if c.stream, err = newLane(d.Header(&keyed), host, "text/event-stream"); err != nil {
			return nil, err
		}
		list.all = append(list.all, c)
	}
	return list, nil
}

// keysOf lists the keys of p; one empty key when it has none.
func keysOf(p *catalog.Provider) []string {
	list := []string{p.Key}
	for _, key := range p.Keys {
		if !slices.Contains(list, key) {
			list = append(list, key)
		}
	}
	if len(list) > 1 && list[0] == "" {
		list = list[1:]
	}
	return list
}

func newLane(header http.Header, host, accept string) (lane, error) {
	h := header.Clone()
	if h == nil {
		h = make(http.Header)
	}
	for name, value := range map[string]string{"Accept": accept, "Content-Type": "application/json", "User-Agent": "weir"} {
		if h.Get(name) == "" {
			h.Set(name, value)
		}
	}
	fields, err := h1.AppendFields(nil, host, h)
	return lane{h, fields}, err
}

// with is the lane of one request that has additional fields.
func (l *lane) with(own http.Header, host string) (*lane, error) {
	if len(own) == 0 {
		return l, nil
	}
	h := l.header.Clone()
	for name, values := range own {
		h[http.CanonicalHeaderKey(name)] = values
	}
	fields, err := h1.AppendFields(nil, host, h)
	return &lane{h, fields}, err
}

// pick returns the credential whose last refusal is the longest ago, or that was never refused. When all are out of use it returns nil
// and the fault of the one that becomes available first.
func (s *credentials) pick(now func() time.Time) (*credential, *fault.Error) {
	if len(s.all) == 1 {
		return s.all[0], nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := now()
	var best, soonest *credential
	for _, c := range s.all {
		if !at.Before(c.until) && (best == nil || c.refused.Before(best.refused)) {
			best = c
		}
		if soonest == nil || c.until.Before(soonest.until) {
			soonest = c
		}
	}
	if best != nil {
		return best, nil
	}
	f, reported := *soonest.fault, *soonest.fault.Upstream // copies, because a caller may change its fault
	f.Upstream = &reported
	if f.Kind == fault.RateLimited {
		f.RetryAfter = dialect.ClampRetry(soonest.until.Sub(at).Seconds())
	}
	return nil, &f
}

// refuse takes c out of use for a while if f says that the refusal was about the credential, and reports whether it was.
func (s *credentials) refuse(c *credential, f *fault.Error, now func() time.Time) bool {
	if len(s.all) == 1 || !againstKey(f) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.refused, c.fault = now(), f
	if f.Kind == fault.RateLimited {
		c.until = c.refused.Add(min(max(f.RetryAfter, time.Second), dialect.MaxRetryAfter))
		return true
	}
	c.ban = min(max(2*c.ban, firstBan), maxBan)
	c.until = c.refused.Add(c.ban)
	return true
}

// accept records that c works.
func (s *credentials) accept(c *credential) {
	if len(s.all) == 1 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.ban = 0
}

// againstKey reports whether another credential might be accepted. A dialect may classify a 403 as one that does not depend on the
// credential.
func againstKey(f *fault.Error) bool {
	if f.Upstream == nil {
		return false
	}
	switch f.Upstream.Status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden:
		return f.Kind == fault.ProviderUnavailable
	case http.StatusTooManyRequests:
		return f.Kind == fault.RateLimited
	}
	return false
}

// plain reports whether a path can be sent unchanged.
func plain(path string) bool {
	return !strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r >= 0x7F || r == '#' })
}
