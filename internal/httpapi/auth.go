package httpapi

import (
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/apikey"
	"weir/internal/fault"
)

// authorize finds the caller and checks that the route is open to them.
func (x *exchange) authorize() error {
	switch x.route.access {
	case unlimited:
		return nil
	case public:
		return x.admitPublic()
	}
	caller, err := x.authenticate()
	if err != nil {
		return err
	}
	x.caller = caller
	switch {
	case x.route.access == management && !caller.Management:
		return fault.New(fault.PermissionDenied, "httpapi.authorize", "This route needs a management key.")
	case x.route.access == administration && (!caller.Management || caller.Role != apikey.Administrator):
		return fault.New(fault.PermissionDenied, "httpapi.authorize", "This route needs a management key of an administrator.")
	case x.route.access == inference && caller.Management:
		return fault.New(fault.PermissionDenied, "httpapi.authorize", "A management key cannot call models. Use an API key.")
	}
	return nil
}

func (x *exchange) authenticate() (*apikey.Caller, error) {
	find := bearer
	if x.route.messages {
		find = messagesKey
	}
	text, err := find(x.r.Header)
	if err == nil {
		// Far beyond the limit the store is not asked any more. Up to there a right key works from any address, or one
		// misconfigured program would lock out everybody behind its proxy.
		if limit := x.api.cfg.FailedAuthPerMinute; limit > 0 && x.api.failures.busy.Load() {
			address := x.api.clientAddress(x.r)
			if n, reset := x.api.failures.count(address, x.at, 0); n > 10*limit {
				return nil, x.tooMany(limit, reset, "Too many requests with keys that are not valid.")
			}
		}
		caller, verr := x.api.Verifier.Verify(x.r.Context(), text)
		if verr == nil {
			return caller, nil
		}
		err = verr
	}
	if fault.Is(err, fault.Authentication) {
		x.api.Metrics.authFailures.Inc()
		if limit := x.api.cfg.FailedAuthPerMinute; limit > 0 {
			if n, reset := x.api.failures.count(x.api.clientAddress(x.r), x.at, 1); n > limit {
				return nil, x.tooMany(limit, reset, "Too many requests with keys that are not valid.")
			}
		}
	}
	return nil, err
}

// bearer finds the key in the Authorization header.
func bearer(h http.Header) (string, error) {
	values := h["Authorization"]
	if len(values) == 0 || values[0] == "" {
		return "", fault.New(fault.Authentication, "httpapi.bearer", "The Authorization header is missing: send Authorization: Bearer <API key>.")
	}
	if len(values) > 1 {
		return "", fault.New(fault.Authentication, "httpapi.bearer", "There is more than one Authorization header.")
	}
	const scheme = "bearer "
	v := values[0]
	if len(v) <= len(scheme) || !strings.EqualFold(v[:len(scheme)], scheme) {
		return "", fault.New(fault.Authentication, "httpapi.bearer", "The Authorization header must read: Bearer <API key>.")
	}
	return strings.TrimSpace(v[len(scheme):]), nil
}

// admitPublic limits catalog requests by address.
func (x *exchange) admitPublic() error {
	if err := x.admitAnonymous(); err != nil {
		return err
	}
	limit := x.api.cfg.PublicPerMinute
	if limit <= 0 {
		return nil
	}
	if n, reset := x.api.visits.count(x.api.clientAddress(x.r), x.at, 1); n > limit {
		return x.tooMany(limit, reset, "Too many requests without a key from this address.")
	}
	return nil
}

// tooMany is the fault of one of our own limits, with the headers that tell of it.
func (x *exchange) tooMany(limit int, reset time.Time, public string) error {
	h := x.w.Header()
	h["X-Ratelimit-Limit"] = []string{strconv.Itoa(limit)}
	h["X-Ratelimit-Remaining"] = []string{"0"}
	h["X-Ratelimit-Reset"] = []string{strconv.FormatInt(reset.UnixMilli(), 10)}
	e := fault.New(fault.RateLimited, "httpapi.limit", public)
	e.RetryAfter = max(reset.Sub(x.at), time.Second)
	return e
}

// clientAddress is the address of the client, behind trusted proxies the one that they name.
func (a *API) clientAddress(r *http.Request) string {
	host := peer(r)
	if len(a.cfg.TrustedProxies) == 0 || !a.trusted(host) {
		return host
	}
	forwarded := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for i := len(forwarded) - 1; i >= 0; i-- { // from the nearest hop: what stands further left anybody may have written
		hop := strings.TrimSpace(forwarded[i])
		if _, err := netip.ParseAddr(hop); err != nil {
			break
		}
		if host = hop; !a.trusted(hop) {
			break
		}
	}
	return host
}

// peer is the address at the other end of the connection.
func peer(r *http.Request) string {
	host := r.RemoteAddr
	if i := strings.LastIndexByte(host, ':'); i > 0 {
		host = strings.Trim(host[:i], "[]")
	}
	return host
}

func (a *API) trusted(host string) bool {
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	for _, p := range a.cfg.TrustedProxies {
		if p.Contains(ip.Unmap()) {
			return true
		}
	}
	return false
}

// logAddress is the client's address as the log keeps it.
func (a *API) logAddress(r *http.Request) string {
	address := a.clientAddress(r)
	if !a.cfg.TruncateAddr {
		return address
	}
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return ""
	}
	bits := 48
	if ip = ip.Unmap(); ip.Is4() {
		bits = 24
	}
	prefix, err := ip.WithZone("").Prefix(bits)
	if err != nil {
		return ""
	}
	return prefix.Masked().Addr().String()
}

// window counts by address in fixed spans of time. All counts start anew together, so that memory is bounded by what one span brings.
type window struct {
	span  time.Duration
	parts [16]windowPart
	// busy tells that some address failed lately: while it is false, nobody needs to look.
	busy atomic.Bool
}

type windowPart struct {
	mu     sync.Mutex
	start  time.Time
	counts map[string]int
}

// maxCounted is how many addresses one part remembers; beyond it all share one count.
const maxCounted = 8192

func newWindow(span time.Duration) *window { return &window{span: span} }

// count adds n to an address and returns its count and when it starts anew.
func (w *window) count(address string, now time.Time, n int) (int, time.Time) {
	h := uint32(2166136261) // FNV-1a
	for i := range len(address) {
		h = (h ^ uint32(address[i])) * 16777619
	}
	p := &w.parts[h%uint32(len(w.parts))]
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.counts == nil || now.Sub(p.start) >= w.span || now.Before(p.start) {
		p.start, p.counts = now, map[string]int{}
	}
	if n > 0 {
		w.busy.Store(true)
		if _, known := p.counts[address]; !known && len(p.counts) >= maxCounted {
			address = ""
		}
		p.counts[address] += n
	}
	return p.counts[address], p.start.Add(w.span)
}
