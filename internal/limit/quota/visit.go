package quota

import (
	"strconv"
	"time"

	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/limit"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/usage"
)

// Visit is one request of a caller: what it counts for while it runs, and what was taken from its key's allowances. The zero Visit counts
// for nothing. It is not safe for concurrent use, except for Charge.
type Visit struct {
	q        *Quotas
	caller   *apikey.Caller
	left     bool
	inStream bool
	reserved bool
	tokens   int64
	rubles   money.Nano
}

// The allowances of a key, in the order of the gate.
const (
	ofRequests = iota
	ofTokens
	ofRubles
)

var allowances = [limit.Dims]struct{ name, public string }{
	ofRequests: {"requests_per_minute", "This key has reached its limit of requests per minute."},
	ofTokens:   {"tokens_per_minute", "This key has reached its limit of tokens per minute."},
	ofRubles:   {"rubles_per_minute", "This key has reached its limit of rubles per minute."},
}

// Enter lets a request in that will take memory or a provider's time, if the node, its user and, where it is rated, its key have room for it.
// What was entered must Leave.
func (v *Visit) Enter(q *Quotas, now time.Time, caller *apikey.Caller, rated bool) error {
	if q.heap.Short(now) {
		return fault.New(fault.Overloaded, "quota.Enter", "The gateway is short of memory.")
	}
	// The user first: a refused request must not take a place from others, even for a moment.
	if !q.users.Enter(caller.User, q.userMost) {
		return Crowded(q.userMost, "max_user_share", "This user has reached the limit of concurrent requests. Wait for one to end.")
	}
	if q.inFlight.Add(1) > q.cfg.InFlight {
		q.inFlight.Add(-1)
		q.users.Leave(caller.User)
		return fault.New(fault.Overloaded, "quota.Enter", "The gateway is at its limit of concurrent requests.")
	}
	v.q, v.caller = q, caller
	if !rated {
		return nil
	}
	if err := v.take(now, limit.Cost{ofRequests: 1}); err != nil {
		v.Leave()
		return err
	}
	return nil
}

// Leave takes back what Enter and Stream counted as running. It may be called more than once.
func (v *Visit) Leave() {
	if v.inStream {
		v.inStream = false
		v.q.streams.Leave(v.caller.Key)
	}
	if v.q != nil && !v.left {
		v.left = true
		v.q.users.Leave(v.caller.User)
		v.q.inFlight.Add(-1)
	}
}

// Stream counts a stream of the key.
func (v *Visit) Stream() error {
	most := v.q.cfg.StreamsByKey
	if most <= 0 {
		return nil
	}
	if !v.q.streams.Enter(v.caller.Key, most) {
		return Crowded(most, "max_streams_per_key", "This key has reached the limit of concurrent streams. Wait for one to end.")
	}
	v.inStream = true
	return nil
}

// rates are the key's allowances; false when nothing is limited.
func (v *Visit) rates() (limit.Rates, bool) {
	operator := &v.q.cfg.Keys
	if v.caller.Rates == nil && *operator == (apikey.Rates{}) {
		return limit.Rates{}, false
	}
	r := v.caller.Rates.Over(*operator)
	return limit.Rates{limit.PerMinute(r.Requests), limit.PerMinute(r.Tokens), limit.PerMinute(int64(r.Rubles))}, r != (apikey.Rates{})
}

// spareShare is the share of each allowance that work in the background leaves to the caller in person: one in so many.
const spareShare = 3

// Spare reports whether enough is left of the allowances of a caller's key for work in the background.
func (q *Quotas) Spare(now time.Time, caller *apikey.Caller) bool {
	v := Visit{q: q, caller: caller}
	rates, limited := v.rates()
	if !limited {
		return true
	}
	left := q.keys.Left(now, caller.Key, &rates)
	for i := range rates {
		if most := rates[i].Amount; most > 0 && left[i] < max(most/spareShare, 1) {
			return false
		}
	}
	return true
}

// take uses c of the key's allowances.
func (v *Visit) take(now time.Time, c limit.Cost) error {
	rates, limited := v.rates()
	if !limited {
		return nil
	}
	gate, key := v.q.keys, v.caller.Key
	verdict := v.q.takeShared(gate, now, key, &rates, c)
	if verdict.OK {
		return nil
	}
	by := verdict.By
	left := gate.Left(now, key, &rates)[by]
	if by == ofRequests {
		left = 0 // less than one is left
	}
	return refused(allowances[by].name, allowances[by].public, allowance(by, rates[by].Amount), allowance(by, left), verdict.Wait)
}

func allowance(which int, n int64) string {
	if which == ofRubles {
		return money.Nano(n).String()
	}
	return strconv.FormatInt(n, 10)
}

// Reserve takes the lowest possible cost of a prompt of so many tokens from the key's allowances. Correct replaces it by the actual cost.
func (v *Visit) Reserve(now time.Time, snap *catalog.Snapshot, model string, tokens int64) error {
	if _, limited := v.rates(); !limited {
		return nil
	}
	rubles := promptCost(snap, model, tokens)
	if err := v.take(now, limit.Cost{ofTokens: tokens, ofRubles: int64(rubles)}); err != nil {
		return err
	}
	v.reserved, v.tokens, v.rubles = true, tokens, rubles
	return nil
}

// promptCost is the lowest cost of a prompt, 0 for a model without endpoints.
func promptCost(snap *catalog.Snapshot, model string, tokens int64) money.Nano {
	m, _, ok := snap.Resolve(model)
	if !ok {
		return 0
	}
	ep := catalog.Cheapest(m.Endpoints)
	if ep == nil {
		return 0
	}
	_, n, err := usage.Cost(&usage.Usage{Prompt: usage.Of(tokens)}, ep.Pricing.For(tokens))
	if err != nil {
		return 0 // the hold refuses it
	}
	return n
}

// Correct replaces the reservation by what the call has used; nil is a call that was not made. A call that was not charged used only the
// request.
func (v *Visit) Correct(now time.Time, c *record.Call) {
	if !v.reserved {
		return
	}
	v.reserved = false
	v.charge(now, c, v.tokens, v.rubles)
}

// Charge takes the use of a call that ended after its visit from the key's allowances.
func (v *Visit) Charge(now time.Time, c *record.Call) {
	if c != nil && c.Settled {
		v.charge(now, c, 0, 0)
	}
}

// charge takes what a call has used beyond what was taken before.
func (v *Visit) charge(now time.Time, c *record.Call, tokens int64, rubles money.Nano) {
	rates, limited := v.rates()
	if !limited {
		return
	}
	used := limit.Cost{ofTokens: -tokens, ofRubles: -int64(rubles)}
	if c != nil && c.Settled {
		used[ofTokens] += max(c.Usage.Prompt.N, 0) + max(c.Usage.Completion.N, 0)
		used[ofRubles] += int64(max(c.Cost, 0))
	}
	v.q.keys.Charge(now, v.caller.Key, &rates, used)
}
