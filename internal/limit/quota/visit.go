package quota

import (
	"math"
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
	inCall   bool  // of the key
	inCalls  bool  // of the user's keys
	reserved *took // of Reserve; nil: nothing is reserved
}

// The allowances of a key, in the order of the gate.
const (
	ofRequests = iota
	ofTokens
	ofRubles
)

// wording is what is said of an allowance that is used up.
type wording struct{ name, public string }

var ofKey = [limit.Dims]wording{
	ofRequests: {"requests_per_minute", "This key has reached its limit of requests per minute."},
	ofTokens:   {"tokens_per_minute", "This key has reached its limit of tokens per minute."},
	ofRubles:   {"rubles_per_minute", "This key has reached its limit of rubles per minute."},
}

var ofUser = [limit.Dims]wording{
	ofRequests: {"account_requests_per_minute", "The keys of this account have together reached their limit of requests per minute."},
	ofTokens:   {"account_tokens_per_minute", "The keys of this account have together reached their limit of tokens per minute."},
	ofRubles:   {"account_rubles_per_minute", "The keys of this account have together reached their limit of rubles per minute."},
}

// meter has the allowances of a visit's key, or those of all keys of its user.
type meter struct {
	gate  *limit.Gate
	name  string
	says  *[limit.Dims]wording
	rates limit.Rates
}

// meters are those of a visit, the key's first. One that limits nothing has no gate.
type meters [2]meter

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
	if all, limited := v.meters(); err == nil && limited {
		_, err = v.take(now, &all, limit.Cost{ofRequests: 1})
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
	if v.inCalls {
		v.inCalls = false
		v.q.together.Leave(v.caller.User)
	}
	if v.q != nil && !v.left {
		v.left = true
		v.q.users.Leave(v.caller.User)
		v.q.inFlight.Add(-1)
	}
}

// call counts a call of the key that runs.
func (v *Visit) call() error {
	key, user := v.most()
	if key.Calls > 0 && !v.q.running.Enter(v.caller.Key, key.Calls) {
		return Crowded(key.Calls, "concurrent_calls", "This key has reached its limit of calls at one time. Wait for one to end.")
	}
	v.inCall = key.Calls > 0
	if user.Calls > 0 && !v.q.together.Enter(v.caller.User, user.Calls) {
		return Crowded(user.Calls, "account_concurrent_calls", "The keys of this account have together reached their limit of calls at one time. Wait for one to end.")
	}
	v.inCalls = user.Calls > 0
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

// most are the limits of the key, and those of the user that bind it. What the operator gave this key is the key's: the user's limit does not take
// it away.
func (v *Visit) most() (key, user apikey.Rates) {
	own, user := v.caller.Rates, v.q.cfg.Users
	key = own.Over(v.q.cfg.Keys)
	if own == nil {
		return key, user
	}
	given := func(n, most int64) bool { return n == 0 || n > most }
	if given(own.Requests, user.Requests) {
		user.Requests = 0
	}
	if given(own.Tokens, user.Tokens) {
		user.Tokens = 0
	}
	if given(int64(own.Rubles), int64(user.Rubles)) {
		user.Rubles = 0
	}
	if given(own.Calls, user.Calls) {
		user.Calls = 0
	}
	return key, user
}

// meters are the allowances that the visit uses; false when nothing is limited.
func (v *Visit) meters() (m meters, limited bool) {
	if v.caller.Rates == nil && v.q.cfg.Users == (apikey.Rates{}) { // then keys have none, too
		return m, false
	}
	key, user := v.most()
	m = meters{{v.q.keys, v.caller.Key, &ofKey, ratesOf(&key)}, {v.q.allKeys, v.caller.User, &ofUser, ratesOf(&user)}}
	for i := range m {
		if m[i].rates.Off() {
			m[i].gate = nil
		}
		limited = limited || m[i].gate != nil
	}
	return m, limited
}

func ratesOf(r *apikey.Rates) limit.Rates {
	return limit.Rates{limit.PerMinute(r.Requests), limit.PerMinute(r.Tokens), limit.PerMinute(int64(r.Rubles))}
}

// spareShare is the share of each allowance that work in the background leaves to the caller in person: one in so many.
const spareShare = 3

// Spare reports whether enough is left of the allowances of a caller's key for work in the background.
func (q *Quotas) Spare(now time.Time, caller *apikey.Caller) bool {
	v := Visit{q: q, caller: caller}
	all, _ := v.meters()
	for i := range all {
		m := &all[i]
		if m.gate == nil {
			continue
		}
		left := m.gate.Left(now, m.name, &m.rates)
		for i := range m.rates {
			if most := m.rates[i].Amount; most > 0 && left[i] < max(most/spareShare, 1) {
				return false
			}
		}
	}
	return true
}

// took is what was taken from meters.
type took [2]limit.Verdict

// take uses c of the allowances: of the key's and of the user's, or of none.
func (v *Visit) take(now time.Time, all *meters, c limit.Cost) (t took, err error) {
	for i := range all {
		m := &all[i]
		if m.gate == nil {
			continue
		}
		if t[i] = v.q.takeShared(m.gate, now, m.name, &m.rates, c); t[i].OK {
			continue
		}
		by := t[i].By
		left := m.gate.Left(now, m.name, &m.rates)[by]
		if by == ofRequests {
			left = 0 // less than one is left
		}
		err = refused(m.says[by].name, m.says[by].public, allowance(by, m.rates[by].Amount), allowance(by, left), t[i].Wait)
		all.correct(now, &t, limit.Cost{})
		return t, err
	}
	return t, nil
}

// correct replaces what was taken by what was used.
func (all *meters) correct(now time.Time, t *took, used limit.Cost) {
	for i := range all {
		if m := &all[i]; m.gate != nil && t[i].OK {
			m.gate.Correct(now, m.name, &m.rates, &t[i], used)
		}
	}
}

func allowance(which int, n int64) string {
	if which == ofRubles {
		return money.Nano(n).String()
	}
	return strconv.FormatInt(n, 10)
}

// Reserve takes what a call is likely to use from the allowances: its prompt, the calls of tools that are held for, and as much of an answer as it
// allows or, where it does not say, as answers of this model to this key had. No call reserves more than an allowance of its key holds, since it could never run then. Correct
// replaces it by what was used.
func (v *Visit) Reserve(now time.Time, snap *catalog.Snapshot, req *completion.Request) error {
	all, limited := v.meters()
	if !limited {
		return nil
	}
	most := limit.Cost{}
	for i := range most {
		for _, m := range all {
			if a := m.rates[i].Amount; a > 0 && (most[i] == 0 || a < most[i]) {
				most[i] = a
			}
		}
	}
	if most[ofTokens] == 0 && most[ofRubles] == 0 {
		return nil
	}
	tokens, rubles := v.foreseen(snap, req)
	t, err := v.take(now, &all, limit.Cost{ofTokens: min(tokens, most[ofTokens]), ofRubles: min(int64(rubles), most[ofRubles])})
	if err != nil {
		return err
	}
	v.reserved = &t
	return nil
}

// foreseen is what a call is likely to use, where its model is cheapest.
func (v *Visit) foreseen(snap *catalog.Snapshot, req *completion.Request) (tokens int64, rubles money.Nano) {
	prompt := req.Needs.PromptTokens
	m, variant, ok := snap.Resolve(req.Models[0])
	if !ok {
		return prompt, 0
	}
	req = req.As(variant)
	ep := cheapest(m, req.Paid())
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
		v.beside(&u, req)
	}
	_, rubles, err := usage.TaskCost(&u, &tariff)
	if err != nil {
		rubles = 0 // the hold refuses it
	}
	return u.Prompt.N + u.Completion.N, rubles
}

// cheapest is the model's cheapest endpoint, of those with a price for what is paid beside tokens if there is one.
func cheapest(m *catalog.Model, paid catalog.Paid) *catalog.Endpoint {
	paid &= 1<<catalog.HostedTools - 1 // what else is paid has no price beside tokens
	var priced []*catalog.Endpoint
	for _, ep := range m.Endpoints {
		if paid != 0 && paid&^ep.Pricing.Base.Paid() == 0 {
			priced = append(priced, ep)
		}
	}
	if len(priced) == 0 {
		priced = m.Endpoints
	}
	return catalog.Cheapest(priced)
}

// beside adds to u what a conversation may cost beside its tokens of text: the same that is held for it.
func (v *Visit) beside(u *usage.Usage, req *completion.Request) {
	calls := req.Calls(v.q.cfg.HostedCalls)
	calls.Set(u)
	if req.Needs.Output&catalog.Image != 0 {
		u.Images, u.OutputImage = usage.Of(int64(max(req.N, 1))), u.Completion
	}
	if req.Needs.Output&catalog.Audio != 0 {
		u.OutputAudio = u.Completion
	}
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
	all, _ := v.meters()
	all.correct(now, reserved, v.used(c))
}

// Keep is the visit of work that goes on after this one: it has the reservation and counts as a call, and must be corrected and left.
func (v *Visit) Keep() *Visit {
	kept := &Visit{q: v.q, caller: v.caller, left: true, inCall: v.inCall, inCalls: v.inCalls, reserved: v.reserved}
	v.inCall, v.inCalls, v.reserved = false, false, nil
	return kept
}

// Spend takes rubles from the allowances that are held for work which goes on after the visit, and never corrects it.
func (v *Visit) Spend(now time.Time, rubles money.Nano) {
	all, _ := v.meters()
	for i := range all {
		if m := &all[i]; m.gate != nil {
			m.gate.Charge(now, m.name, &m.rates, limit.Cost{ofRubles: int64(max(rubles, 0))})
		}
	}
}

// Nearest describes the allowance of which the smallest part is left, or nil. Wait is until that is full again.
func (v *Visit) Nearest(now time.Time) *Refusal {
	all, _ := v.meters()
	var nearest *Refusal
	least := math.Inf(1)
	for i := range all {
		m := &all[i]
		if m.gate == nil {
			continue
		}
		left := m.gate.Left(now, m.name, &m.rates)
		for by := range m.rates {
			most := m.rates[by].Amount
			if part := float64(left[by]) / float64(most); most > 0 && part < least {
				least = part
				nearest = &Refusal{Limit: allowance(by, most), Left: allowance(by, left[by]), Wait: m.gate.Full(now, m.name)[by]}
			}
		}
	}
	return nearest
}

// used is what a call has taken of the key's allowances.
func (v *Visit) used(c *record.Call) limit.Cost {
	if c == nil || !c.Settled {
		return limit.Cost{}
	}
	if !c.Cancelled { // its answer may not have begun
		v.learn(c)
	}
	return limit.Cost{ofTokens: max(c.Usage.Prompt.N, 0) + max(c.Usage.Completion.N, 0), ofRubles: int64(max(c.Cost, 0))}
}
