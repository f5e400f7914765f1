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
	tag           string // distinguishes it from the provider's others
	known         string // tag as records have it: "" for no key at all, and for people's own
	draining      bool   // it gets no new call
	use           *keyUse
	method        auth.Method // gives further header fields for each request; nil: those of the lanes are enough

	// guarded by credentials.mu
	rest                    // for all models
	models map[string]*rest // for one, by its id at the provider
}

// rest is how long a credential is not used, or not for one model: limits and permissions of providers are mostly by model.
type rest struct {
	refused time.Time     // time of the last refusal; zero: never
	until   time.Time     // not used before
	ban     time.Duration // length of the last rest that the provider did not choose
	status  int           // of the last refusal
}

// several is for how many models a credential is refused at a time before it rests for all.
const several = 3

// lane is the request header for one credential and one kind of answer.
type lane struct {
	header http.Header // read only: shared by all requests
	fields []byte      // the same header as HTTP/1 bytes
}

// credentials are those of one provider. A provider with a single credential uses it even after refusals.
type credentials struct {
	all  []*credential // those in use before those that are draining
	used int           // how many are in use
	mu   sync.Mutex    // guards the changing fields of the credentials
}

func newCredentials(d dialect.Dialect, p *catalog.Provider, host string, deps auth.Deps, uses *keyUses) (*credentials, error) {
	list := new(credentials)
	keys := keysOf(p)
	list.used = len(keys)
	for i, key := range append(keys, p.Draining...) {
		keyed := *p
		keyed.Key = key
		c := &credential{tag: catalog.KeyTag(key), draining: i >= list.used}
		c.use = uses.of(p, c.tag)
		if key != "" && p.OwnKey == "" {
			c.known = c.tag
		}
		var err error
		if c.method, err = methodOf(d, &keyed, deps); err != nil {
			return nil, err
		}
		if c.method != nil {
			keyed.Key = ""
		}
		if c.whole, err = newLane(d.Header(&keyed), host, "application/json", accepted); err != nil {
			return nil, err
		}
		if c.stream, err = newLane(d.Header(&keyed), host, "text/event-stream", "identity"); err != nil {
			return nil, err
		}
		list.all = append(list.all, c)
	}
	return list, nil
}

// inherit takes over how credentials rest that a provider had before its declaration changed: a change of something else is no reason to ask a
// key again that was refused. One that is new here does not rest, nor does the only one in use, which is asked in any case; neither is shown to.
func (s *credentials) inherit(from *credentials) {
	from.mu.Lock()
	defer from.mu.Unlock()
	for i, c := range s.all {
		at := slices.IndexFunc(from.all, func(old *credential) bool { return old.tag == c.tag })
		if at < 0 || s.used == 1 && i == 0 {
			c.use.rests("", time.Time{})
			continue
		}
		c.rest = from.all[at].rest
		for model, r := range from.all[at].models {
			if c.models == nil {
				c.models = map[string]*rest{}
			}
			copied := *r
			c.models[model] = &copied
		}
	}
}

// keysOf lists the keys of p that are in use; one empty key when it has none.
func keysOf(p *catalog.Provider) []string {
	if p.Key == "" && len(p.Keys) == 0 && len(p.Draining) > 0 {
		return nil
	}
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

func newLane(header http.Header, host, accept, encodings string) (lane, error) {
	h := header.Clone()
	if h == nil {
		h = make(http.Header)
	}
	for name, value := range map[string]string{"Accept": accept, "Accept-Encoding": encodings, "Content-Type": "application/json", "User-Agent": "weir"} {
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

// pick returns the credential whose last refusal for a model is the longest ago, or that was never refused, leaving out those that were
// tried. When all rest it is the one that is free first: no provider is given up without being asked. It is nil when one was tried already, and
// when none is in use.
func (s *credentials) pick(model string, tried []*credential, now func() time.Time) *credential {
	if s.used == 1 && len(tried) == 0 {
		return s.all[0]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := now()
	var best, soonest *credential
	var longest, first time.Time
	for _, c := range s.all[:s.used] {
		if slices.Contains(tried, c) {
			continue
		}
		refused, until := c.resting(model)
		if !at.Before(until) && (best == nil || refused.Before(longest)) {
			best, longest = c, refused
		}
		if soonest == nil || until.Before(first) {
			soonest, first = c, until
		}
	}
	if best == nil && len(tried) == 0 {
		return soonest
	}
	return best
}

// named is the credential of a tag, which may be draining: what was begun with it goes on with it. It is nil without one.
func (s *credentials) named(tag string) *credential {
	for _, c := range s.all {
		if tag != "" && c.tag == tag {
			return c
		}
	}
	return nil
}

// noKeyInUse is the failure of an attempt at a provider that has draining credentials only.
func noKeyInUse(ep *catalog.Endpoint) *fault.Error {
	f := fault.New(fault.ProviderUnavailable, "upstream.pick", "None of the provider's keys is in use.")
	f.Next, f.Upstream = fault.NextEndpoint, &fault.Upstream{Provider: ep.Provider.Name}
	return f
}

// resting returns when c was last refused for a model, and until when it rests. The lock is held.
func (c *credential) resting(model string) (refused, until time.Time) {
	refused, until = c.refused, c.until
	if m := c.models[model]; m != nil {
		if m.refused.After(refused) {
			refused = m.refused
		}
		if m.until.After(until) {
			until = m.until
		}
	}
	return refused, until
}

// refuse lets c rest if f says that the refusal was about the credential, and reports whether it was: for the model, or for all where the
// credential itself is unknown or several models are refused. begun is how long it rests if it did not rest before.
func (s *credentials) refuse(c *credential, model string, f *fault.Error, now func() time.Time) (was bool, begun Rest) {
	if s.used == 1 || !againstKey(f) {
		return false, Rest{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := now()
	_, before := c.resting(model)
	r := c.models[model]
	if r == nil {
		if c.models == nil {
			c.models = map[string]*rest{}
		}
		r = new(rest)
		c.models[model] = r
	}
	r.begin(f, at)
	whole := f.Upstream.Status == http.StatusUnauthorized || c.refusals(at, f.Upstream.Status) >= several
	if whole {
		c.rest.begin(f, at)
		if f.Upstream.Status != http.StatusUnauthorized {
			c.until = r.until // as long as the models, and not longer
		}
	}
	_, until := c.resting(model)
	if whole {
		c.use.rests("", until)
	} else {
		c.use.rests(model, until)
	}
	if before.After(at) {
		return true, Rest{}
	}
	return true, Rest{Model: model, Whole: whole, Status: f.Upstream.Status, For: until.Sub(at)}
}

// begin lets something rest for as long as the provider asks, or longer each time where it does not.
func (r *rest) begin(f *fault.Error, at time.Time) {
	r.refused, r.status = at, f.Upstream.Status
	if f.Kind == fault.RateLimited {
		if until := at.Add(min(max(f.RetryAfter, time.Second), dialect.MaxRetryAfter)); until.After(r.until) { // of calls at the same time the longest counts
			r.until = until
		}
		return
	}
	r.ban = min(max(2*r.ban, firstBan), maxBan)
	r.until = at.Add(r.ban)
}

// refusals counts the models that rest for a status. The lock is held.
func (c *credential) refusals(at time.Time, status int) (n int) {
	for _, r := range c.models {
		if at.Before(r.until) && r.status == status {
			n++
		}
	}
	return n
}

// accept records that c works for a model.
func (s *credentials) accept(c *credential, model string) {
	if s.used == 1 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.until.IsZero() || c.models[model] != nil {
		c.use.rests("", time.Time{})
	}
	c.ban, c.until = 0, time.Time{}
	if r := c.models[model]; r != nil {
		r.ban, r.until = 0, time.Time{}
	}
}

// soonest returns how long it takes until a credential is free for a model.
func (s *credentials) soonest(model string, now func() time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, least := now(), time.Duration(-1)
	for _, c := range s.all[:s.used] {
		_, until := c.resting(model)
		if d := max(until.Sub(at), 0); least < 0 || d < least {
			least = d
		}
	}
	return least
}

// countResting is how many credentials rest, for some model or for all.
func (s *credentials) countResting(at time.Time) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.all {
		resting := at.Before(c.until)
		for _, r := range c.models {
			resting = resting || at.Before(r.until)
		}
		if resting {
			n++
		}
	}
	return n
}

// Rest is that a credential is not used for a while, after the provider refused it.
type Rest struct {
	Provider string
	Key      int    // which credential, from 1
	Model    string // the model's id at the provider
	Whole    bool   // it is not used for other models, either
	Status   int    // of the refusal
	For      time.Duration
}

// CountResting is how many credentials of providers with several are not used at present, for some model or for all.
func (c *Client) CountResting() (n int) {
	at := c.cfg.Now()
	c.targets.Range(func(_, t any) bool {
		n += t.(*target).keys.countResting(at)
		return true
	})
	return n
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
