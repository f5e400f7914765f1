// Package quota decides which requests a node admits, and how much each user may use: running requests and memory by user, streams by key,
// allowances by key and by all keys of a user, requests for free models by user, and requests without a valid key by address. It counts with package limit and
// keeps all of it in this node's memory. It does not depend on HTTP: a refusal is a fault whose cause names the limit and the rest of it.
package quota

import (
	"math"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/limit"
)

// Config has the limits. Zero fields are no limit, unless they say otherwise.
type Config struct {
	InFlight     int64 // requests at one time
	Bytes        int64 // of requests and answers in memory, all together; 0 leaves no room
	Largest      int64 // bytes of the largest request, which one user may always send
	UserShare    int64 // percent of InFlight and Bytes that one user may take; 0: all of it
	StreamsByKey int64 // at one time
	MemoryLimit  int64 // bytes; above HeapPercent of it every request is refused
	HeapPercent  int64
	Heap         func() int64 // bytes in use; nil asks the runtime

	HostedCalls int64 // calls of each tool that the provider runs, reserved for where the request sets no bound

	Keys           apikey.Rates // allowances of keys without their own
	Users          apikey.Rates // of all keys of a user together; a zero field is keysOfUser times that of Keys
	Free           Free
	CallsByUser    int64 // that ask no model, in a minute
	KeyTestsByUser int64 // of provider keys, in a minute

	FailuresByAddress int64      // failed authentications, in a minute
	VisitsByAddress   int64      // catalog requests without a key, in a minute
	Anonymous         limit.Rate // requests without a key, by address
}

// Free bounds the requests of a user for models that cost nothing. Zero fields are no limit.
type Free struct {
	PerMinute  int64 `yaml:"requests_per_minute"`
	PerDay     int64 `yaml:"requests_per_day"`      // of users who have never topped up
	PaidPerDay int64 `yaml:"paid_requests_per_day"` // of the others
}

// Quotas holds each user's, key's and address's use of a node. It is safe for concurrent use.
type Quotas struct {
	Bytes *limit.Budget // of requests and answers in memory, by user

	cfg      Config
	money    Money
	heap     *limit.Heap
	inFlight atomic.Int64
	users    *limit.Count // requests under way
	userMost int64
	streams  *limit.Count // under way, by key
	running  *limit.Count // calls under way, by key that limits them
	together *limit.Count // and by user
	keys     *limit.Gate
	allKeys  *limit.Gate                  // by user
	free     *limit.Gate                  // by user
	paying   wallets                      // by user: has ever topped up
	credit   wallets                      // by wallet: which had money lately
	answers  *lru.Cache[answersOf, int64] // tokens that are usual
	sharing  *sharing                     // nil: the allowances are this node's alone

	calls     gate // by user
	changes   gate // by user
	anonymous gate // the rest by address
	files     gate
	visits    gate
	failures  gate
	misses    gate
	redeems   gate // by user
	redeeming gate // by address
	keyTests  gate // by user
}

// gate is a limit with one rate for all names.
type gate struct {
	*limit.Gate
	rates  limit.Rates
	by     string
	public string
}

// keysOfUser is how many keys at their limits a user may use where the operator does not say: enough for some applications, and the end of what is
// gained by making keys.
const keysOfUser = 10

// maxDebt is how long a key waits at most until its allowances are full again, whatever its calls have used beyond what was foreseen.
const maxDebt = 2 * time.Minute

// maxNames bounds the names in one gate: some 100 bytes each.
const maxNames = 1 << 17

// missesByAddress is far above what mistakes cause, and far below what loads the store.
var missesByAddress = limit.Rate{Amount: 20, Per: time.Second, Burst: 600}

// redeemsByUser is more codes than anybody has, and far too few to guess one. Many people may be behind one address.
var (
	redeemsByUser    = limit.Rate{Amount: 20, Per: time.Hour}
	redeemsByAddress = limit.Rate{Amount: 100, Per: time.Hour}
)

// changesByUser is what a day of work never needs. Each change leaves a row in the audit chain, which is kept for ever: without a bound an account
// without money could fill the disk.
var changesByUser = limit.Rate{Amount: 5000, Per: 24 * time.Hour}

// filesByAddress is ten times what is allowed of other requests without a key: a page has some twenty files.
func filesByAddress(r limit.Rate) limit.Rate {
	r.Amount, r.Burst = r.Amount*10, r.Burst*10
	return r
}

// New makes the quotas of a node.
func New(c Config, money Money, now time.Time) *Quotas {
	names := func() *limit.Gate { return limit.NewGate(now, maxNames) }
	answers, _ := lru.New[answersOf, int64](maxAnswers) // it fails for sizes below 1 alone
	c.Users = c.Users.Else(c.Keys.Times(keysOfUser))
	q := &Quotas{
		Bytes: limit.NewBudget(c.Bytes, Share(c.Bytes, c.UserShare, c.Largest)), cfg: c, money: money,
		heap: limit.NewHeap(c.MemoryLimit, c.HeapPercent, c.Heap, nil), users: limit.NewCount(), userMost: math.MaxInt64, streams: limit.NewCount(), running: limit.NewCount(), together: limit.NewCount(),
		keys: names(), allKeys: names(), free: names(), answers: answers,
		calls:     gate{names(), limit.Rates{limit.PerMinute(c.CallsByUser)}, "user_calls_per_minute", "This user has reached the limit of calls per minute that ask no model."},
		changes:   gate{names(), limit.Rates{changesByUser}, "changes_per_day", "This user has changed settings, keys or the like as often as one user may in a day."},
		anonymous: gate{names(), limit.Rates{c.Anonymous}, "anonymous", "Too many requests without a key from this address."},
		files:     gate{names(), limit.Rates{filesByAddress(c.Anonymous)}, "anonymous", "Too many files from this address."},
		visits:    gate{names(), limit.Rates{limit.PerMinute(c.VisitsByAddress)}, "public_per_minute", "Too many requests without a key from this address."},
		failures:  gate{names(), limit.Rates{limit.PerMinute(c.FailuresByAddress)}, "failed_auth_per_minute", "Too many requests with invalid keys from this address."},
		misses:    gate{names(), limit.Rates{missesByAddress}, "unknown_keys", "Too many unknown keys from this address."},
		redeems:   gate{names(), limit.Rates{redeemsByUser}, "vouchers", "This account has tried too many codes. Try again later."},
		keyTests:  gate{names(), limit.Rates{limit.PerMinute(c.KeyTestsByUser)}, "provider_key_tests", "This account has tested provider keys too often. Wait a minute."},
		redeeming: gate{names(), limit.Rates{redeemsByAddress}, "vouchers", "Too many codes were tried from this address. Try again later."},
	}
	if most := max(c.InFlight*c.UserShare/100, 1); c.UserShare > 0 && most < c.InFlight { // else the node's own limit says no
		q.userMost = most
	}
	q.keys.Bound(maxDebt)
	q.allKeys.Bound(maxDebt)
	return q
}

// Share is how much of all one user may take: percent of it, and at least enough for one legal request. 0 percent means no limit.
func Share(all, percent, least int64) int64 {
	switch {
	case percent <= 0:
		return all
	case all > math.MaxInt64/100:
		return max(all/100*percent, least)
	}
	return max(all*percent/100, least)
}

// InFlight is how many requests are under way.
func (q *Quotas) InFlight() int64 { return q.inFlight.Load() }

// Refusal is the cause of a fault.RateLimited: the limit and the rest of it, in its own unit, and when more is available.
type Refusal struct {
	Limit, Left string
	Wait        time.Duration // 0: that is not known
}

// Error names the limit.
func (r *Refusal) Error() string { return "limit of " + r.Limit + ", " + r.Left + " left" }

// refusal is a fault and its cause, in one piece of memory.
type refusal struct {
	fault fault.Error
	cause Refusal
}

func refused(by, public, limit, left string, wait time.Duration) *fault.Error {
	r := &refusal{
		fault: fault.Error{Kind: fault.RateLimited, Op: "quota", Public: public, RetryAfter: max(wait, time.Second), Details: map[string]any{"limited_by": by}},
		cause: Refusal{Limit: limit, Left: left, Wait: wait},
	}
	r.fault.Cause = &r.cause
	return &r.fault
}

// Crowded is the fault for a user or key with too many running requests. When one of them ends is unknown, so the wait is a guess.
func Crowded(most int64, by, public string) *fault.Error {
	e := refused(by, public, strconv.FormatInt(most, 10), "0", 0)
	e.RetryAfter = time.Duration(1+rand.IntN(3)) * time.Second
	return e
}

// Short is the fault of a request that found no room in the memory budget, nil when it did. op is the asking operation.
func (q *Quotas) Short(s limit.Shortage, op string) error {
	switch s {
	case limit.OfName:
		return Crowded(q.Bytes.Each(), "max_user_share", "The requests of this user have reached the memory of one user. Wait for one to end.")
	case limit.OfAll:
		return fault.New(fault.Overloaded, op, "The gateway's memory for requests is full. Try again later.")
	}
	return nil
}

// take uses one of a name's allowance.
func (g *gate) take(now time.Time, name string) error {
	if g.rates.Off() {
		return nil
	}
	if v := g.Take(now, name, &g.rates, limit.Cost{1}); !v.OK {
		return g.refused(v.Wait)
	}
	return nil
}

func (g *gate) refused(wait time.Duration) error {
	return refused(g.by, g.public, strconv.FormatInt(g.rates[0].Amount, 10), "0", wait)
}

// Call counts a call of a user that asks no model: catalogs, keys, states of jobs. Calls of models have other limits.
func (q *Quotas) Call(now time.Time, user string) error { return q.calls.take(now, user) }

// Change counts a request of a user that changes something of an account.
func (q *Quotas) Change(now time.Time, user string) error { return q.changes.take(now, user) }

// Anonymous counts a request of an address without a key.
func (q *Quotas) Anonymous(now time.Time, address string) error {
	return q.anonymous.take(now, address)
}

// File counts a request of an address for a file that is in memory.
func (q *Quotas) File(now time.Time, address string) error { return q.files.take(now, address) }

// Visit counts a request of an address for something that needs no key.
func (q *Quotas) Visit(now time.Time, address string) error { return q.visits.take(now, address) }

// Failure counts a failed authentication.
func (q *Quotas) Failure(now time.Time, address string) error { return q.failures.take(now, address) }

// Redeem counts a try to redeem a code, right or wrong, of a user at an address.
func (q *Quotas) Redeem(now time.Time, user, address string) error {
	if err := q.redeems.take(now, user); err != nil {
		return err
	}
	return q.redeeming.take(now, address)
}

// KeyTest counts a test of a provider key.
func (q *Quotas) KeyTest(now time.Time, user string) error { return q.keyTests.take(now, user) }

// MayMiss fails while an address has caused too many look-ups of unknown keys.
func (q *Quotas) MayMiss(now time.Time, address string) error {
	if q.misses.Left(now, address, &q.misses.rates)[0] > 0 {
		return nil
	}
	return q.misses.refused(missesByAddress.Per)
}

// Missed counts one of them.
func (q *Quotas) Missed(now time.Time, address string) {
	q.misses.Charge(now, address, &q.misses.rates, limit.Cost{1})
}
