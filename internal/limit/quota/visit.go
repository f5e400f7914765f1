package quota

import (
	"strconv"
	"time"

	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/limit"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/task"
	"weir/internal/usage"
)

// Visit is one request of a caller: what it counts for while it runs, and what was taken from its key's allowances. The zero Visit counts
// for nothing. It is not safe for concurrent use, except for Charge.
type Visit struct {
	q        *Quotas
	caller   *apikey.Caller
	left     bool
	inStream bool
	inCall   bool
	reserved *limit.Verdict // of Reserve; nil: nothing is reserved
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
	err := v.call()
	if err == nil {
		err = v.take(now, limit.Cost{ofRequests: 1})
	}
	if err != nil {
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
	if v.inCall {
		v.inCall = false
		v.q.running.Leave(v.caller.Key)
	}
	if v.q != nil && !v.left {
		v.left = true
		v.q.users.Leave(v.caller.User)
		v.q.inFlight.Add(-1)
	}
}

// call counts a call of the key that runs.
func (v *Visit) call() error {
	most := v.caller.Rates.Over(v.q.cfg.Keys).Calls
	if most <= 0 {
		return nil
	}
	if !v.q.running.Enter(v.caller.Key, most) {
		return Crowded(most, "concurrent_calls", "This key has reached its limit of calls at one time. Wait for one to end.")
	}
	v.inCall = true
	return nil
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
	rates := limit.Rates{limit.PerMinute(r.Requests), limit.PerMinute(r.Tokens), limit.PerMinute(int64(r.Rubles))}
	return rates, !rates.Off()
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
	_, err := v.takeOf(now, &rates, c)
	return err
}

func (v *Visit) takeOf(now time.Time, rates *limit.Rates, c limit.Cost) (limit.Verdict, error) {
	gate, key := v.q.keys, v.caller.Key
	verdict := v.q.takeShared(gate, now, key, rates, c)
	if verdict.OK {
		return verdict, nil
	}
	by := verdict.By
	left := gate.Left(now, key, rates)[by]
	if by == ofRequests {
		left = 0 // less than one is left
	}
	return verdict, refused(allowances[by].name, allowances[by].public, allowance(by, rates[by].Amount), allowance(by, left), verdict.Wait)
}

func allowance(which int, n int64) string {
	if which == ofRubles {
		return money.Nano(n).String()
	}
	return strconv.FormatInt(n, 10)
}

// Reserve takes what a call is likely to use from the key's allowances: its prompt, and as much of an answer as it allows or, where it does not say,
// as answers of this model to this key had. No call reserves more than an allowance holds, since it could never run then. Correct replaces it by
// what was used.
func (v *Visit) Reserve(now time.Time, snap *catalog.Snapshot, req *completion.Request) error {
	rates, limited := v.rates()
	if !limited || rates[ofTokens].Amount <= 0 && rates[ofRubles].Amount <= 0 {
		return nil
	}
	tokens, rubles := v.foreseen(snap, req)
	cost := limit.Cost{ofTokens: min(tokens, rates[ofTokens].Amount), ofRubles: min(int64(rubles), rates[ofRubles].Amount)}
	verdict, err := v.takeOf(now, &rates, cost)
	if err != nil {
		return err
	}
	v.reserved = &verdict
	return nil
}

// foreseen is what a call is likely to use, where its model is cheapest.
func (v *Visit) foreseen(snap *catalog.Snapshot, req *completion.Request) (tokens int64, rubles money.Nano) {
	prompt := req.Needs.PromptTokens
	m, _, ok := snap.Resolve(req.Models[0])
	if !ok {
		return prompt, 0
	}
	ep := catalog.Cheapest(m.Endpoints)
	if ep == nil {
		return prompt, 0
	}
	u, tariff := usage.Usage{Prompt: usage.Of(prompt), Requests: usage.Of(1)}, ep.Pricing.Tariff(prompt)
	switch {
	case req.Task != nil:
		made := &task.Made{Done: true}
		if u, _ = req.Task.Consumed(made); !u.Prompt.Reported {
			u.Prompt = usage.Of(prompt)
		}
		tariff = req.Task.Tariff(&ep.Pricing, u.Prompt.N, made)
	case m.Type == catalog.TypeChat:
		u.Completion = usage.Of(v.answer(m, req))
	}
	_, rubles, err := usage.TaskCost(&u, &tariff)
	if err != nil {
		rubles = 0 // the hold refuses it
	}
	return u.Prompt.N + u.Completion.N, rubles
}

// answer is how many tokens a conversation's answer is likely to have.
func (v *Visit) answer(m *catalog.Model, req *completion.Request) int64 {
	n, longest := int64(max(req.N, 1)), int64(0)
	for _, ep := range m.Endpoints {
		longest = max(longest, ep.MaxCompletion)
	}
	each := int64(unknownAnswer)
	if req.MaxTokens > 0 {
		each = req.MaxTokens
	} else if usual, ok := v.q.answers.Get(answersOf{v.caller.Key, req.Models[0]}); ok {
		return usual
	}
	if longest > 0 {
		each = min(each, longest)
	}
	return min(each, mostAnswer) * n
}

// answersOf is whose answers are alike: those of a model to one key.
type answersOf struct{ key, model string }

const (
	unknownAnswer = 1024    // tokens of an answer when none is known
	mostAnswer    = 1 << 40 // tokens; far above any limit, and far below what overflows
	memory        = 8       // answers that count for what is usual
	maxAnswers    = 1 << 14 // keys and models of which it is known
)

// learn keeps how long the answer of a call was.
func (v *Visit) learn(c *record.Call) {
	of, n := answersOf{v.caller.Key, c.ModelAsked}, max(c.Usage.Completion.N, 0)
	if usual, ok := v.q.answers.Get(of); ok {
		n = usual + (n-usual)/memory
	}
	v.q.answers.Add(of, n)
}

// Correct replaces the reservation by what the call has used; nil is a call that was not made. A call that was not charged used only the
// request.
func (v *Visit) Correct(now time.Time, c *record.Call) {
	if v.reserved == nil {
		return
	}
	reserved := v.reserved
	v.reserved = nil
	rates, _ := v.rates()
	v.q.keys.Correct(now, v.caller.Key, &rates, reserved, v.used(c))
}

// Keep is the visit of work that goes on after this one: it has the reservation and counts as a call, and must be corrected and left.
func (v *Visit) Keep() *Visit {
	kept := &Visit{q: v.q, caller: v.caller, left: true, inCall: v.inCall, reserved: v.reserved}
	v.inCall, v.reserved = false, nil
	return kept
}

// Spend takes rubles from the key's allowance that are held for work which goes on after the visit, and never corrects it.
func (v *Visit) Spend(now time.Time, rubles money.Nano) {
	if rates, limited := v.rates(); limited {
		v.q.keys.Charge(now, v.caller.Key, &rates, limit.Cost{ofRubles: int64(max(rubles, 0))})
	}
}

// Nearest describes the allowance of the key of which the smallest part is left; nil when it has none. Wait is until that is full again.
func (v *Visit) Nearest(now time.Time) *Refusal {
	rates, limited := v.rates()
	if !limited {
		return nil
	}
	left, by := v.q.keys.Left(now, v.caller.Key, &rates), -1
	part := func(i int) float64 { return float64(left[i]) / float64(rates[i].Amount) }
	for i := range rates {
		if rates[i].Amount > 0 && (by < 0 || part(i) < part(by)) {
			by = i
		}
	}
	if by < 0 {
		return nil
	}
	full := v.q.keys.Full(now, v.caller.Key)
	return &Refusal{Limit: allowance(by, rates[by].Amount), Left: allowance(by, left[by]), Wait: full[by]}
}

// used is what a call has taken of the key's allowances.
func (v *Visit) used(c *record.Call) limit.Cost {
	if c == nil || !c.Settled {
		return limit.Cost{}
	}
	v.learn(c)
	return limit.Cost{ofTokens: max(c.Usage.Prompt.N, 0) + max(c.Usage.Completion.N, 0), ofRubles: int64(max(c.Cost, 0))}
}
