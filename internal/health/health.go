// Package health records how each endpoint has worked lately and keeps calls away from those that fail. It receives outcomes and answers
// questions about them; it makes no call itself, and must never delay a call.
package health

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/catalog"
	"weir/internal/routing"
)

// Config bounds how long failing endpoints get no calls. It begins with Default. An operator cannot set it; config names what tests do.
type Config struct {
	EjectAfter    int           `constant:"eject_after"` // failures in a row after which an endpoint gets no calls. Connect failures in a row count for its host alike
	Ejection      time.Duration `constant:"ejection"`    // how long, times the ejections in a row
	MaxEjection   time.Duration `constant:"max_ejection"`
	CoolDownAfter int           `constant:"cool_down_after"` // failures in a row after which an endpoint is tried after all others
	CoolDown      time.Duration `constant:"cool_down"`       // how long, doubled by each further failure
	MaxCoolDown   time.Duration `constant:"max_cool_down"`
	SaveEvery     time.Duration `constant:"save_every"` // how often a node saves it, for restarts
	KeepHours     time.Duration `constant:"keep_hours"` // how long what is known by the hour is stored

	MaxInFlight int64 // attempts at one endpoint at a time, where the endpoint has no limit in the catalog
	UserShare   int64 // percent of it that one account may have while others need some, too; 0: all
	Now         func() time.Time
}

// Default is a Config with usual values.
func Default(now func() time.Time) Config {
	return Config{
		EjectAfter: 5, Ejection: 30 * time.Second, MaxEjection: 300 * time.Second, CoolDownAfter: 3, CoolDown: 5 * time.Second, MaxCoolDown: 300 * time.Second,
		SaveEvery: time.Minute, KeepHours: 8 * 24 * time.Hour, MaxInFlight: 1024, Now: now,
	}
}

// Registry holds the health of endpoints, by their ids. One that was never tried costs nothing. It is safe for concurrent use, and no
// lock of it is shared by calls to different endpoints, but for those on a host that is failing.
type Registry struct {
	cfg   Config
	began time.Time // times are relative to this, so that a clock that is set does not change how long something lasts

	grow  sync.Mutex // guards replacing the two maps
	known atomic.Pointer[map[string]*endpoint]
	hosts atomic.Pointer[map[string]*guard]

	lonely atomic.Bool // an account may be kept away from some endpoint by itself
	out    atomic.Pointer[map[string][]Out]
}

// New makes an empty Registry. Config.Now must be set.
func New(c Config) *Registry {
	r := &Registry{cfg: c, began: c.Now()}
	r.known.Store(&map[string]*endpoint{})
	r.hosts.Store(&map[string]*guard{})
	return r
}

// now is Unix time in nanoseconds that never jumps.
func (r *Registry) now() int64 { return r.began.UnixNano() + int64(r.cfg.Now().Sub(r.began)) }

// endpoint is the recorded state of an endpoint.
type endpoint struct {
	guard    guard
	alone    alone
	inFlight atomic.Int64
	crowd    crowd
	home     atomic.Pointer[home]
	seen     atomic.Pointer[seen]

	mu     sync.Mutex // guards the fields below
	rings  [spans]ring
	here   lately // who was answered, or not
	failed lately // whose requests failed
}

// home is where an endpoint was last found.
type home struct {
	baseURL string
	host    *guard
}

// seen is the part of an endpoint's health that is worked out at most once a second.
type seen struct {
	until  int64
	health routing.Health
}

func newEndpoint() *endpoint {
	e := &endpoint{}
	for s := range e.rings {
		e.rings[s] = newRing(Span(s))
	}
	return e
}

func (r *Registry) find(id string) *endpoint { return (*r.known.Load())[id] }

// meet finds an endpoint, or adds it.
func (r *Registry) meet(id string) *endpoint {
	if e := r.find(id); e != nil {
		return e
	}
	return added(r, &r.known, id, newEndpoint)
}

// added puts the result of make into a map that is read without a lock. It is copied each time: there are few additions, one for each
// endpoint that is ever tried.
func added[T any](r *Registry, in *atomic.Pointer[map[string]*T], key string, make func() *T) *T {
	r.grow.Lock()
	defer r.grow.Unlock()
	if v := (*in.Load())[key]; v != nil {
		return v
	}
	next := maps.Clone(*in.Load())
	v := make()
	next[strings.Clone(key)] = v
	in.Store(&next)
	return v
}

// hostOf is the guard of the host and port that an endpoint's provider has now.
func (r *Registry) hostOf(e *endpoint, ep *catalog.Endpoint) *guard {
	if at := e.home.Load(); at != nil && at.baseURL == ep.Provider.BaseURL {
		return at.host
	}
	address := hostAndPort(ep.Provider.BaseURL)
	host := (*r.hosts.Load())[address]
	if host == nil {
		host = added(r, &r.hosts, address, func() *guard { return &guard{} })
	}
	e.home.Store(&home{ep.Provider.BaseURL, host})
	return host
}

// hostAndPort is the address of a connection, with its scheme, which implies the port where none is given.
func hostAndPort(baseURL string) string {
	scheme, rest, found := strings.Cut(baseURL, "://")
	if !found {
		scheme, rest = "", baseURL
	}
	host, _, _ := strings.Cut(rest, "/")
	return strings.ToLower(scheme + "://" + host)
}

// Refusal says why an endpoint may not be tried now.
type Refusal uint8

// The refusals; None stands for no refusal.
const (
	None      Refusal = iota
	Ejected           // it failed too often in a row and is left alone, or one call is finding out whether it is well again
	Full              // it has as many attempts as it may have at a time
	Crowded           // the account has its share of them, and others need theirs
	Withdrawn         // an operator ejected it
)

// Admit asks whether ep may be tried now with a request of an account, "" for none. With None the pass must be ended, whatever happens to
// the attempt. Otherwise after is when asking again may be worth it.
func (r *Registry) Admit(ep *catalog.Endpoint, account string) (p Pass, why Refusal, after time.Duration) {
	if left, cut := r.cut(ep.ID); cut {
		return Pass{}, Withdrawn, left
	}
	e := r.meet(ep.ID)
	most := r.cfg.MaxInFlight
	if ep.MaxInFlight > 0 {
		most = ep.MaxInFlight
	}
	if !e.crowd.enter(account, r.share(most), r) {
		return Pass{}, Crowded, time.Second
	}
	if e.inFlight.Add(1) > most {
		e.leave(account)
		return Pass{}, Full, time.Second
	}
	host := r.hostOf(e, ep)
	p = Pass{registry: r, endpoint: e, host: host, account: account}
	own := e.alone.find(account)
	if !e.guard.troubled.Load() && !host.troubled.Load() && own == nil {
		p.ofEndpoint.epoch, p.ofHost.epoch = e.guard.epoch.Load(), host.epoch.Load()
		return p, None, 0
	}
	now := r.now()
	e.guard.mu.Lock()
	defer e.guard.mu.Unlock()
	host.mu.Lock()
	defer host.mu.Unlock()
	wait := max(e.guard.wait(now), host.wait(now))
	if own != nil {
		own.mu.Lock()
		defer own.mu.Unlock()
		wait = max(wait, own.wait(now))
	}
	if wait > 0 {
		e.leave(account)
		return Pass{}, Ejected, time.Duration(wait)
	}
	if own != nil {
		p.ofAccount = own.enter()
	}
	p.ofEndpoint, p.ofHost = e.guard.enter(), host.enter()
	return p, None, 0
}

// betweenProbes is how often one call may go to an ejected endpoint when there is nothing else.
const betweenProbes = int64(time.Second)

// Probe lets one call a second through although every endpoint that may serve it is ejected: it returns which of them to try, or false.
// They take turns, so that one that stays away does not hide another that is back; at first it is the one whose ejection ends soonest.
// The pass must be ended.
func (r *Registry) Probe(eps []*catalog.Endpoint, account string) (p Pass, which int, ok bool) {
	now := r.now()
	which = -1
	var longest, soonest int64
	for i, ep := range eps {
		if _, cut := r.cut(ep.ID); cut {
			continue
		}
		e := r.meet(ep.ID)
		barriers := r.barriers(e, ep, account, now)
		probed, until := int64(0), int64(0)
		for _, g := range barriers {
			if g != nil {
				probed, until = max(probed, g.probed.Load()), max(until, g.ends())
			}
		}
		if probed > now-betweenProbes {
			return Pass{}, 0, false
		}
		if which < 0 || probed < longest || probed == longest && until < soonest {
			which, longest, soonest = i, probed, until
		}
	}
	if which < 0 {
		return Pass{}, 0, false
	}
	e := r.meet(eps[which].ID)
	host := r.hostOf(e, eps[which])
	barriers := r.barriers(e, eps[which], account, now)
	last := barriers[0].probed.Load()
	if last > now-betweenProbes || !barriers[0].probed.CompareAndSwap(last, now) {
		return Pass{}, 0, false // another call was quicker
	}
	if host.troubled.Load() && barriers[1] != nil {
		host.probed.Store(now)
	}
	e.crowd.of(account).Add(1)
	e.inFlight.Add(1)
	p = Pass{registry: r, endpoint: e, host: host, account: account}
	p.ofEndpoint.epoch, p.ofHost.epoch = e.guard.epoch.Load(), host.epoch.Load()
	if own := e.alone.find(account); own != nil {
		p.ofAccount.epoch = own.epoch.Load()
	}
	return p, which, true
}

// barriers are the guards that keep calls of an account away: its own when that is the only one, so that it does not take another
// account's turn.
func (r *Registry) barriers(e *endpoint, ep *catalog.Endpoint, account string, now int64) [2]*guard {
	host := r.hostOf(e, ep)
	if own := e.alone.find(account); own != nil {
		_, ejected := e.guard.look(now)
		if _, hostEjected := host.look(now); !ejected && !hostEjected {
			return [2]*guard{own}
		}
	}
	return [2]*guard{&e.guard, host}
}

// Pass is the permission for one attempt. The zero value permits nothing, and ending it does nothing.
type Pass struct {
	registry           *Registry
	endpoint           *endpoint
	host               *guard
	account            string
	ofEndpoint, ofHost ticket
	ofAccount          ticket
}

// Sample is the result of an attempt.
type Sample struct {
	Result  Result
	Latency time.Duration // from the attempt's beginning to its first content; 0 without content
	Took    time.Duration // from its beginning to its end
	Tokens  int64         // of the answer; 0 unknown
}

// End reports the outcome of the attempt. Calls after the first do nothing.
func (p *Pass) End(s Sample) {
	e, r := p.endpoint, p.registry
	if e == nil {
		return
	}
	p.endpoint = nil
	e.leave(p.account)
	now := r.now()
	account := hash(p.account)
	by := account
	if s.Result == Unreachable {
		by = noAccount // any request could have caused it
	}
	v := s.Result.ofEndpoint()
	p.host.leave(p.ofHost, s.Result.ofHost(), noAccount, now, &r.cfg)
	if by != noAccount && v == failure && !r.lonely.Load() {
		r.lonely.Store(true)
	}
	was, length := e.alone.end(account, p.ofAccount, v, now, &r.cfg)
	if p.ofEndpoint.probe && v == failure && by != noAccount && length >= r.cfg.CoolDownAfter {
		v = silent // an account whose requests always fail is no evidence
	}
	if e.guard.leave(p.ofEndpoint, v, by, now, &r.cfg) {
		e.alone.forgive()
	}
	if s.Result == Neutral || v == failure && was == ejected && by != noAccount {
		return // the figures have enough of those
	}
	c := s.counted()
	e.mu.Lock()
	for i := range e.rings {
		e.rings[i].at(now).count(c)
	}
	e.here.see(account, now)
	if s.Result != Served {
		e.failed.see(by, now)
	}
	e.mu.Unlock()
	if s.Result != Served {
		e.seen.Store(nil) // an outage shows at once
	}
}

// recheck is how old the figures that routing sees may be.
const recheck = int64(time.Second)

// For is Of with the account's own failures included; nil when there are none of any account.
func (r *Registry) For(account string) func(id string) routing.Health {
	if !r.lonely.Load() {
		return nil
	}
	return func(id string) routing.Health {
		h := r.Of(id)
		if e := r.find(id); e != nil {
			if own := e.alone.find(account); own != nil {
				coolDown, ejected := own.look(r.now())
				h.CoolDown, h.Ejected = h.CoolDown || coolDown, h.Ejected || ejected
			}
		}
		return h
	}
}

// Of returns what routing needs to know about an endpoint, by its id.
func (r *Registry) Of(id string) routing.Health {
	e := r.find(id)
	if e == nil {
		return routing.Health{}
	}
	now := r.now()
	h := e.figures(now)
	h.CoolDown, h.Ejected = e.guard.look(now)
	if at := e.home.Load(); at != nil {
		// a host's cool-down does not count here: an endpoint is changed by others of its provider only when none can be reached
		_, ejected := at.host.look(now)
		h.Ejected = h.Ejected || ejected
	}
	return h
}

// Outage means at least this many failures and more than half of all attempts in the last 30 s.
const outage = 3

// figures are computed again when they are old and no other goroutine is doing so.
func (e *endpoint) figures(now int64) routing.Health {
	s := e.seen.Load()
	if s != nil && now < s.until {
		return s.health
	}
	if s != nil && !e.mu.TryLock() {
		return s.health
	} else if s == nil {
		e.mu.Lock()
	}
	defer e.mu.Unlock()
	brief, usual := e.rings[HalfMinute].sum(now), e.rings[FiveMinutes].sum(now)
	bad := brief.Failed + brief.Limited
	s = &seen{until: now + recheck, health: routing.Health{
		Failing: bad >= outage && 2*bad > brief.Attempts() && e.common(now), Latency: usual.Latency, Throughput: usual.Throughput}}
	e.seen.Store(s)
	return s.health
}

// common reports whether the failures of late are not those of one account among several.
func (e *endpoint) common(now int64) bool {
	return e.failed.both(now) || e.failed.of[0] == noAccount && e.failed.at[0] > now-halfMinute || e.failed.of[1] == noAccount && e.failed.at[1] > now-halfMinute || !e.here.both(now)
}

// Window returns the figures of an endpoint in one span of time; zero when it was not tried.
func (r *Registry) Window(id string, s Span) Figures {
	e := r.find(id)
	if e == nil || s >= spans {
		return Figures{}
	}
	now := r.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.rings[s].sum(now)
}

// Shown are the figures that clients are shown of an endpoint: which percentage of its attempts of the last day it served, those that its rate
// limit refused left out; median time to first content and median tokens per second of the last 30 minutes, 0 when unknown; and of how many
// attempts they are.
type Shown struct {
	Uptime           float64 // 100 when it was not tried all day
	Latency          time.Duration
	Throughput       float64
	HalfHour, OneDay int64 // attempts
}

// Shown are the figures of an endpoint, by its id.
func (r *Registry) Shown(id string) Shown {
	day, half := r.Window(id, Day), r.Window(id, HalfHour)
	s := Shown{Uptime: 100, Latency: time.Duration(half.Latency[0] * float64(time.Second)), Throughput: half.Throughput[0], HalfHour: half.Attempts(), OneDay: day.Attempts()}
	if n := day.Served + day.Failed; n > 0 {
		s.Uptime = 100 * float64(day.Served) / float64(n)
	}
	return s
}

// CountEjected is how many endpoints get no calls at present, or none of some account.
func (r *Registry) CountEjected() (n int) {
	for id, e := range *r.known.Load() {
		if r.Of(id).Ejected || e.alone.ejects(r.now()) {
			n++
		}
	}
	return n
}

// Forget drops endpoints that were not tried for a day, and hosts without endpoints.
func (r *Registry) Forget() {
	now := r.now()
	r.grow.Lock()
	defer r.grow.Unlock()
	known, hosts := map[string]*endpoint{}, map[string]*guard{}
	r.lonely.Store(false)
	used := map[*guard]bool{}
	for id, e := range *r.known.Load() {
		e.mu.Lock()
		day := e.rings[Day].sum(now)
		e.mu.Unlock()
		if day.Attempts() > 0 || e.inFlight.Load() > 0 {
			known[id] = e
			if e.alone.some.Load() {
				r.lonely.Store(true)
			}
			if at := e.home.Load(); at != nil {
				used[at.host] = true
			}
		}
	}
	for address, g := range *r.hosts.Load() {
		if used[g] {
			hosts[address] = g
		}
	}
	r.known.Store(&known)
	r.hosts.Store(&hosts)
}

// Standing is how an endpoint stands at this node.
type Standing struct {
	Ejected  bool // it gets no calls
	Until    time.Time
	CoolDown bool // it gets calls after all others
	Failing  bool // more than half of its attempts of the last half minute failed
	InFlight int64
}

// Standing is how an endpoint stands, by its id; zero for one that was never tried.
func (r *Registry) Standing(id string) (s Standing) {
	e := r.find(id)
	if e == nil {
		return s
	}
	h := r.Of(id)
	s = Standing{Ejected: h.Ejected, CoolDown: h.CoolDown, Failing: h.Failing, InFlight: max(e.inFlight.Load(), 0)}
	if h.Ejected {
		until := e.guard.ends()
		if at := e.home.Load(); at != nil {
			until = max(until, at.host.ends())
		}
		s.Until = time.Unix(0, until).UTC()
	}
	return s
}

// Known lists the ids of all endpoints that were tried, in no order.
func (r *Registry) Known() []string {
	known := *r.known.Load()
	ids := make([]string, 0, len(known))
	for id := range known {
		ids = append(ids, id)
	}
	return ids
}
