package httpapi

import (
	"context"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/limit"
	"weir/internal/money"
	"weir/internal/routing"
	"weir/internal/usage"
)

// limits is what this node knows of who uses how much.
type limits struct {
	heap      *limit.Heap
	bytes     *limit.Budget // of requests and answers in memory, by user
	byUser    *limit.Count  // admitted requests under way
	userMost  int64
	streams   *limit.Count // streams under way, by key
	keys      *limit.Gate
	free      *limit.Gate // by user
	paying    payers
	credit    payers // by wallet: which had money lately
	disk      *disk
	calls     *limit.Gate // by user, those that ask no model
	userCalls limit.Rates

	// by address
	anonymous  *limit.Gate
	address    limit.Rates
	visits     *limit.Gate // catalog requests without a key
	public     limit.Rates
	failures   *limit.Gate // failed authentications
	failedAuth limit.Rates
	misses     *limit.Gate // look-ups of keys that nobody knows
}

// maxNames bounds what one gate remembers: some 100 bytes each.
const maxNames = 1 << 17

func newLimits(c *Config, heap func() int64, now time.Time, largest int64) *limits {
	l := &limits{
		heap: limit.NewHeap(c.MemoryLimit, c.HeapPercent, heap, nil), byUser: limit.NewCount(), streams: limit.NewCount(), userMost: math.MaxInt64,
		bytes: limit.NewBudget(c.BodyBudget, c.userBytes(largest)),
		keys:  limit.NewGate(now, maxNames), free: limit.NewGate(now, maxNames), anonymous: limit.NewGate(now, maxNames),
		address: limit.Rates{{Amount: int64(c.AnonymousPerSecond), Per: time.Second, Burst: int64(c.AnonymousBurst)}},
		calls:   limit.NewGate(now, maxNames), userCalls: limit.Rates{limit.PerMinute(c.UserCallsPerMinute)},
		visits: limit.NewGate(now, maxNames), public: limit.Rates{limit.PerMinute(int64(c.PublicPerMinute))},
		failures: limit.NewGate(now, maxNames), failedAuth: limit.Rates{limit.PerMinute(int64(c.FailedAuthPerMinute))},
		misses: limit.NewGate(now, maxNames),
	}
	if most := max(c.MaxInFlight*c.MaxUserShare/100, 1); c.MaxUserShare > 0 && most < c.MaxInFlight { // else the node's own limit says no
		l.userMost = most
	}
	return l
}

// percent is so many hundredths of n.
func percent(n, p int64) int64 {
	if n > math.MaxInt64/100 {
		return n / 100 * p
	}
	return n * p / 100
}

// userBytes is how many bytes of the body budget one user may take: nobody is locked out of one legal request, with a little for its answer.
func (c *Config) userBytes(largest int64) int64 {
	if c.MaxUserShare <= 0 {
		return c.BodyBudget
	}
	return max(percent(c.BodyBudget, c.MaxUserShare), largest+largest/growth)
}

// admit lets a request in that will take memory or a provider's time, if the node, its user and its key have room for it. Nothing of its
// body was read, and little was done for it so far: whom we send away costs nearly nothing.
func (x *exchange) admit() error {
	a := x.api
	if a.limits.heap.Short(x.at) {
		return fault.New(fault.Overloaded, "httpapi.admit", "The gateway is short of memory.")
	}
	// The user first: what is refused here must not have taken a place from others, be it for a moment.
	if !a.limits.byUser.Enter(x.caller.User, a.limits.userMost) {
		return x.crowded(a.limits.userMost, "max_user_share", "This user has as many requests under way as one user may have.")
	}
	if a.inFlight.Add(1) > a.cfg.MaxInFlight {
		a.inFlight.Add(-1)
		a.limits.byUser.Leave(x.caller.User)
		return fault.New(fault.Overloaded, "httpapi.admit", "The gateway is at its limit of concurrent requests.")
	}
	x.inUser = true
	var err error
	if x.route.rated() {
		err = x.takeRates(limit.Cost{1})
	}
	if err == nil && x.route.access == inference {
		err = x.name()
	}
	if err != nil {
		x.leave()
	}
	return err
}

// leave gives back what admit and reserve counted as under way.
func (x *exchange) leave() {
	if x.inStreams {
		x.inStreams = false
		x.api.limits.streams.Leave(x.caller.Key)
	}
	if x.inUser {
		x.inUser = false
		x.api.limits.byUser.Leave(x.caller.User)
		x.api.inFlight.Add(-1)
	}
}

// crowded is the fault of a caller with too many requests under way. It is not known when one ends, so the wait is a guess.
func (x *exchange) crowded(most int64, by, public string) error {
	err := x.limited(strconv.FormatInt(most, 10), "0", by, public, 0)
	err.RetryAfter = time.Duration(1+rand.IntN(3)) * time.Second
	return err
}

// limited is the fault of one of our limits with the headers that tell of it.
func (x *exchange) limited(most, left, by, public string, wait time.Duration) *fault.Error {
	h := x.w.Header()
	h["X-Ratelimit-Limit"] = []string{most}
	h["X-Ratelimit-Remaining"] = []string{left}
	h["X-Ratelimit-Reset"] = []string{strconv.FormatInt(x.at.Add(wait).UnixMilli(), 10)}
	e := fault.New(fault.RateLimited, "httpapi.limit", public)
	e.RetryAfter = max(wait, time.Second)
	e.Details = map[string]any{"limited_by": by}
	return e
}

// The allowances of a key, in the order of the gate.
const (
	ofRequests = iota
	ofTokens
	ofRubles
)

var allowances = [limit.Dims]struct{ name, public string }{
	{"requests_per_minute", "This key has used up its requests of the minute."},
	{"tokens_per_minute", "This key has used up its tokens of the minute."},
	{"rubles_per_minute", "This key has used up its rubles of the minute."},
}

// rates are the key's allowances; false when nothing is limited.
func (x *exchange) rates() (limit.Rates, bool) {
	operator := &x.api.cfg.KeyRates
	if x.caller.Rates == nil && *operator == (apikey.Rates{}) {
		return limit.Rates{}, false
	}
	r := x.caller.Rates.Over(*operator)
	return limit.Rates{limit.PerMinute(r.Requests), limit.PerMinute(r.Tokens), limit.PerMinute(int64(r.Rubles))}, r != (apikey.Rates{})
}

// takeRates uses c of the key's allowances.
func (x *exchange) takeRates(c limit.Cost) error {
	rates, any := x.rates()
	if !any {
		return nil
	}
	gate := x.api.limits.keys
	v := gate.Take(x.at, x.caller.Key, &rates, c)
	if v.OK {
		return nil
	}
	left := gate.Left(x.at, x.caller.Key, &rates)[v.By]
	if v.By == ofRequests {
		left = 0 // what is there is less than one
	}
	return x.limited(allowance(v.By, rates[v.By].Amount), allowance(v.By, left), allowances[v.By].name, allowances[v.By].public, v.Wait)
}

func allowance(which int, n int64) string {
	if which == ofRubles {
		return money.Nano(n).String()
	}
	return strconv.FormatInt(n, 10)
}

// reservation is what a call was let in with.
type reservation struct {
	made   bool
	tokens int64
	rubles money.Nano
}

// reserve lets a decoded request in by what it asks for: its preferences, which say what may be kept of it, its models, the tokens of its prompt, and whether it streams. What its prompt costs
// at the least is taken from the key's allowances; what the call costs in the end is corrected when it has ended.
func (x *exchange) reserve(prefs *routing.Preferences, models []string, prompt int64, stream bool) error {
	x.mayKeep(prefs)
	if stream {
		if most := x.api.cfg.MaxStreamsByKey; most > 0 {
			if !x.api.limits.streams.Enter(x.caller.Key, most) {
				return x.crowded(most, "max_streams_per_key", "This key has as many streams under way as one key may have.")
			}
			x.inStreams = true
		}
	}
	for _, m := range models {
		if strings.HasSuffix(m, ":"+string(catalog.Free)) {
			if err := x.takeFree(); err != nil {
				return err
			}
			break
		}
	}
	if _, any := x.rates(); !any {
		return nil
	}
	r := reservation{made: true, tokens: prompt, rubles: promptCost(x.api.Catalog(), models[0], prompt)}
	if err := x.takeRates(limit.Cost{ofTokens: r.tokens, ofRubles: int64(r.rubles)}); err != nil {
		return err
	}
	x.reserved = r
	return nil
}

// promptCost is what a prompt costs at the least, 0 where nobody serves the model.
func promptCost(snap *catalog.Snapshot, slug string, tokens int64) money.Nano {
	m, _, ok := snap.Resolve(slug)
	if !ok {
		return 0
	}
	ep := catalog.Cheapest(m.Endpoints)
	if ep == nil {
		return 0
	}
	_, n, err := usage.Cost(usage.Usage{Prompt: usage.Of(tokens)}, ep.Pricing.For(tokens))
	if err != nil {
		return 0 // the hold refuses it
	}
	return n
}

// correct makes of what was reserved what was used. A call that was not charged used nothing but the request.
func (x *exchange) correct() {
	if !x.reserved.made {
		return
	}
	var tokens int64
	var rubles money.Nano
	if c := x.record; c != nil && c.Settled {
		tokens, rubles = max(c.Usage.Prompt.N, 0)+max(c.Usage.Completion.N, 0), max(c.Cost, 0)
	}
	rates, _ := x.rates()
	x.api.limits.keys.Charge(x.api.Now(), x.caller.Key, &rates, limit.Cost{ofTokens: tokens - x.reserved.tokens, ofRubles: int64(rubles - x.reserved.rubles)})
}

// takeFree counts a request for a model that costs nothing.
func (x *exchange) takeFree() error {
	f := &x.api.cfg.FreeRates
	day := f.PerDay
	if f.PaidPerDay != f.PerDay {
		paying, err := x.paying()
		if err != nil {
			return err
		}
		if paying {
			day = f.PaidPerDay
		}
	}
	rates := limit.Rates{limit.PerMinute(f.PerMinute), {Amount: day, Per: 24 * time.Hour}}
	v := x.api.limits.free.Take(x.at, x.caller.User, &rates, limit.Cost{1, 1})
	switch {
	case v.OK:
		return nil
	case v.By == 0:
		return x.limited(strconv.FormatInt(f.PerMinute, 10), "0", "free_requests_per_minute", "Free models may be asked "+strconv.FormatInt(f.PerMinute, 10)+" times a minute.", v.Wait)
	}
	return x.limited(strconv.FormatInt(day, 10), "0", "free_requests_per_day", "Free models may be asked "+strconv.FormatInt(day, 10)+" times a day.", v.Wait)
}

// payers remembers of names whether they have paid, or can.
type payers struct {
	mu    sync.Mutex
	known map[string]payer
}

type payer struct {
	paid bool
	at   time.Time // when it was looked up
}

const (
	askUnpaid = 30 * time.Second // how long somebody who has just topped up waits for the larger allowance
	maxPayers = 10_000
)

// paying reports whether the caller has ever topped up.
func (x *exchange) paying() (bool, error) {
	p := &x.api.limits.paying
	known, ok := p.find(x.caller.User)
	if ok && (known.paid || x.at.Sub(known.at) < askUnpaid) {
		return known.paid, nil
	}
	b, err := x.api.Ledger.Balance(context.WithoutCancel(x.context()), x.caller.Wallet)
	if err != nil {
		return false, err
	}
	known = payer{b.Credited > 0, x.at}
	p.keep(x.caller.User, known)
	return known.paid, nil
}

func (p *payers) find(name string) (payer, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.known[name]
	return known, ok
}

func (p *payers) keep(name string, one payer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) >= maxPayers || p.known == nil {
		p.known = map[string]payer{}
	}
	p.known[name] = one
}

// admitAnonymous limits by address what no key stands behind.
func (x *exchange) admitAnonymous() error {
	l := x.api.limits
	if l.address.Off() {
		return nil
	}
	v := l.anonymous.Take(x.at, x.addressName(), &l.address, limit.Cost{1})
	if v.OK {
		return nil
	}
	return x.limited(strconv.FormatInt(l.address[0].Amount, 10), "0", "anonymous", "Too many requests without a key from this address.", v.Wait)
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
