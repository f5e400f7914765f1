package relay

import (
	"context"
	"errors"
	"hash/maphash"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/internal/budget"
	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/health"
	"weir/internal/ledger"
	"weir/internal/limit"
	"weir/internal/loop"
	"weir/internal/money"
	"weir/internal/promptcache"
	"weir/internal/record"
	"weir/internal/routing"
	"weir/internal/usage"
)

// Config bounds what one call may use. The zero value is not usable: see Default.
type Config struct {
	MaxAttempts   int           `yaml:"max_attempts"`              // upstream tries of one call, over all models and providers
	AttemptBudget time.Duration `yaml:"attempt_budget"`            // no new attempt is begun after this time
	RetryPercent  int64         `constant:"retry_budget_percent"`  // of the calls in flight may be trying the same endpoint once more, at least 3
	StickyFor     time.Duration `yaml:"sticky_for"`                // a conversation whose prompt is short returns to the endpoint that served it, until it was idle for this long; 0: none does, and caches decide nothing
	HostedCalls   int64         `constant:"hosted_calls"`          // calls of each tool that the provider runs, held for where the request sets no bound
	SliceTokens   int64         `yaml:"slice_tokens"`              // answer tokens that a stream's hold covers at first, and grows by
	DefaultOutput int64         `constant:"default_output_tokens"` // answer tokens assumed when neither client nor catalog bounds them
}

// Default is the configuration of a node without one.
func Default() Config {
	return Config{MaxAttempts: 6, AttemptBudget: 6 * time.Minute, RetryPercent: 20, StickyFor: 10 * time.Minute, HostedCalls: 3, SliceTokens: 2048, DefaultOutput: 16384}
}

// Observer counts events for metrics. Its methods must be quick and safe for concurrent use.
type Observer interface {
	// Attempted is called at the end of every attempt; err is nil for the one that served.
	Attempted(endpoint string, took time.Duration, err *fault.Error)
}

// Tokens counts the tokens of a text, for answers whose upstream reports no usage.
type Tokens interface {
	Count(text iter.Seq[[]byte]) int64
}

// Deps are the parts that a Relay works with.
type Deps struct {
	Upstream Upstream
	Book     *ledger.Book
	Tokens   Tokens
	Prints   func(maphash.Seed, *completion.Request) promptcache.Prints // fingerprints of a prompt; nil: caches decide nothing
	Shaper   Shaper                                                     // nil: requests go out, and answers come back, as they are
	Observer Observer                                                   // may be nil
	Doubt    func(*record.Call)                                         // gets charges whose usage was cut or is implausibly low; may be nil
	Gate     *health.Registry                                           // admits attempts and records their outcome; nil: every attempt may be made
	Health   func(endpoint string) routing.Health                       // the health that routing sees; nil: that of Gate
	Own      OwnKeys                                                    // people's own keys of providers; nil: absent
	Budgets  *budget.Manager                                            // nil: there are none
	Loops    *budget.Loops                                              // notices agents that repeat themselves; nil: they are not watched
	Stops    Stops                                                      // keys that other nodes have stopped; nil: there are none
	Status   func(api string, e *fault.Error) int                       // HTTP status that clients of an API see of an error, for the record; nil: none is kept
	Now      func() time.Time
	Rand     func() float64
	Wait     func(ctx context.Context, d time.Duration) error // fails when ctx ends first; nil: with a timer
}

// Relay carries calls. It is safe for concurrent use.
type Relay struct {
	Deps
	cfg     Config
	retries retryBudget
	sticky  *sticky
	caches  *promptcache.Memory
	rates   *promptcache.Rates
	notes   *thinning
	givenUp *limit.Gate // by user: see freelyGivenUp
	running running
}

// New makes a Relay.
func New(d Deps, c Config) *Relay {
	if d.Health == nil && d.Gate != nil {
		d.Health = d.Gate.Of
	}
	if d.Wait == nil {
		d.Wait = loop.Wait
	}
	return &Relay{Deps: d, cfg: c, retries: retryBudget{percent: c.RetryPercent}, sticky: newSticky(c.StickyFor), caches: promptcache.NewMemory(), rates: promptcache.NewRates(), notes: newThinning(),
		givenUp: limit.NewGate(d.Now(), maxGivingUp), running: running{calls: map[string]*place{}, stopped: map[string]time.Time{}}}
}

// Complete answers one request into sink. After an error before sink.Start was called the client has received nothing; one after it is
// the end of a broken stream, which is already settled for what was delivered. The error is always a *fault.Error.
func (r *Relay) Complete(ctx context.Context, c *Call, sink Sink) error {
	r.retries.active.Add(1)
	defer r.retries.active.Add(-1)
	ctx, entered := r.running.enter(ctx, c.Caller, r.Now)
	defer r.running.leave(entered)
	c.prefer()
	x := runs.Get().(*run)
	x.relay, x.call, x.sink, x.rec = r, c, sink, newRecord(c)
	x.client, _ = sink.(Flusher)
	c.Record = x.rec
	err := x.carry(ctx)
	x.forget() // not after a panic: somebody may still look at it
	runs.Put(x)
	if err != nil {
		return err
	}
	return nil
}

// forget clears a run for the next call.
func (x *run) forget() {
	kept := x.meter.kept
	*x = run{}
	x.meter.kept = kept
}

var runs = sync.Pool{New: func() any { return new(run) }}

// run is the state of one call on its way.
type run struct {
	relay  *Relay
	call   *Call
	sink   Sink
	client Flusher // the sink, if it keeps events; nil otherwise
	rec    *record.Call
	hold   *ledger.Hold

	budgets []*budget.Budget // that bind the call

	pass     health.Pass // for the attempt under way
	skips    skips
	retrying bool // the attempt under way is the second one at its endpoint

	withoutReasoning bool   // the current attempt is sent without the reasoning of earlier turns
	signature        string // newest one of the attempt under way

	req     *completion.Request // of the current attempt, as it is sent
	reshape Reshape             // of its events; nil: they are delivered as they come
	shaping Shaping             // of all attempts; nil: none was needed so far

	view *promptcache.View // of the conversation in caches; nil: it is too short, or none is worth anything

	started    bool // the sink has begun an answer that the client may have seen
	settling   bool // a settlement was begun: there is never a second one
	settled    bool
	used       completion.Used // by the attempt
	taken      bool            // the attempt ended with its client, when the provider had the request and had not refused it
	givenUp    bool            // what is settled is a call that its client gave up before it had anything
	serving    *routing.Attempt
	head       completion.Head
	notice     string // that every answer has in front of its own, with a space after it; "" none
	lowered    string // notice of the attempt under way that its answer may not be as long as asked for, "" none
	meter      meter
	most       usage.Usage // that the attempt can consume: no report is believed beyond it
	held       usage.Usage // what the hold covers of it, apart from the answer
	covered    int64       // answer tokens that the hold covers
	bound      int64       // most answer tokens there should be
	unseen     int64       // answer tokens that may be reasoned in silence
	dry        bool        // the last attempt to hold more failed
	recount    int64       // from how many tokens on the answer is counted again before the next attempt
	promptMost int64       // tokens that the prompt has at most, by count; 0: it was not counted
	errs       []failure   // of the attempts that failed, and of those that were too dear
	refused    []refusal   // whose other endpoints would refuse the request, too
}

// failure is why one attempt did not serve.
type failure struct {
	*fault.Error
	model string // slug that it was made for
}

// newRecord makes the record of a call, with room for a call without failover.
func newRecord(c *Call) *record.Call {
	req := c.Request
	room := new(struct {
		call      record.Call
		attempt   [1]record.Attempt
		candidate [1]record.Candidate
	})
	room.call = record.Call{
		Generation: c.Generation, Request: c.RequestID, User: c.Caller.User, Wallet: c.Caller.Wallet, Key: c.Caller.Key, Member: c.Caller.Member, Team: c.Caller.Team, API: c.API, At: c.At,
		Preset: c.Preset, PresetVersion: c.PresetVersion, ModelAsked: req.Models[0], Streamed: req.Stream, Session: req.SessionID, ClientUser: req.User, Metadata: string(req.Metadata),
		UserAgent: c.UserAgent, Referer: c.Referer, Title: c.Title, Catalog: c.Catalog.Version, Parameters: c.Parameters, Tags: c.Tags,
		Attempts: room.attempt[:0], Candidates: room.candidate[:0],
	}
	return &room.call
}

// carry runs the call and ends it in every case.
func (x *run) carry(ctx context.Context) *fault.Error {
	defer x.close() // a panic must not leave a hold open
	err := x.do(ctx)
	if err != nil {
		x.rec.Error = err.Kind.String()
		if status := x.relay.Status; status != nil {
			x.rec.Status = status(x.call.API, err)
		}
		x.rec.Cancelled = err.Kind == fault.Canceled
	}
	return err
}

// do is the run of a call, in this order:
//
//  1. plan lists the endpoints that may serve, the best first.
//  2. admit asks health for each in its turn; one that rests is passed over, and is the last resort when all do.
//  3. serve holds what the attempt may cost (afford), shapes the request for the endpoint if it must be changed, and makes the attempt.
//  4. attempt sends it, passes content to the sink and meters what arrives. The first content decides: from then on no other endpoint is
//     tried, and a failure ends the answer with an error.
//  5. The hold lives through all attempts and ends once: settled for what was delivered, or released by close.
//  6. final chooses among the failures the one that helps the client most.
func (x *run) do(ctx context.Context) *fault.Error {
	switch wish := x.call.Request.Preferences.Batch; {
	case x.call.preparing() && wish == routing.BatchOwn:
		return fault.New(fault.NoEndpoints, "relay.Complete", "The request asks for no batch of a provider.")
	case x.call.Alone && wish == routing.BatchNative:
		return fault.New(fault.NoEndpoints, "relay.Complete", "The request asks for a provider's batch (provider.batch), and no provider answered it in one.")
	}
	plan, err := x.plan(ctx)
	if err != nil {
		return err
	}
	for i := range plan.Attempts {
		at := &plan.Attempts[i]
		if x.hopeless(at.Endpoint) {
			continue
		}
		if ctx.Err() != nil {
			return gone(ctx, ctx.Err())
		}
		if !x.mayTry() {
			break
		}
		if !x.admit(at) {
			continue
		}
		if over, err := x.serve(ctx, at, plan.Attempts[i+1:]); over {
			return err
		}
	}
	if at := x.lastResort(plan.Attempts); at != nil {
		if over, err := x.serve(ctx, at, nil); over {
			return err
		}
	}
	return x.final(nil)
}

// serve runs the call at an endpoint that admitted it. over reports that nothing more may be tried; rest are the attempts that could be.
// Money is held before the request is shaped: shaping is work, and an account that cannot pay for the call gets none.
func (x *run) serve(ctx context.Context, at *routing.Attempt, rest []routing.Attempt) (over bool, err *fault.Error) {
	x.req, x.reshape = x.call.Request.As(at.Variant), nil
	x.req, x.lowered = x.req.Within(at.Endpoint)
	if x.needsShape(at.Endpoint) {
		whole := x.req
		x.req = mostShaped(at.Endpoint, whole)
		if ready, over, err := x.afford(ctx, at, rest); !ready {
			return over, err
		}
		if err := x.shape(ctx, at.Endpoint, whole); err != nil {
			x.pass.End(health.Sample{})
			if err.Next == fault.Stop {
				return true, x.final(err)
			}
			x.failed(at, err)
			return false, nil
		}
	}
	if ready, over, err := x.afford(ctx, at, rest); !ready {
		return over, err
	}
	err = x.attempt(ctx, at, rest)
	if err == nil {
		if x.req.Chats() && x.call.Deferred == nil && at.Endpoint.Own == nil { // another account's cache is of no use to the next call
			x.relay.sticky.keep(x.call, at)
			x.relay.sticky.issued(x.call, at, x.signature)
			x.keepView(at)
		}
		return true, nil
	}
	if x.started && x.call.Request.Stream || err.Next == fault.Stop {
		return true, x.final(err)
	}
	x.failed(at, err)
	return false, nil
}

// failed notes an attempt that did not serve, when another may.
func (x *run) failed(at *routing.Attempt, err *fault.Error) {
	x.errs = append(x.errs, failure{err, at.Slug})
	if err.Next == fault.NextModel {
		x.refused = append(x.refused, refusal{at.Endpoint.Model, err.Overflow})
	}
}

// refusal is why a model's other endpoints are not tried.
type refusal struct {
	model   *catalog.Model
	tooLong fault.Overflow // zero: the request was refused for another reason
}

// hopeless reports whether an endpoint would refuse the request as another one of its model did. One with a longer context may take what was
// too long there.
func (x *run) hopeless(ep *catalog.Endpoint) bool {
	return slices.ContainsFunc(x.refused, func(r refusal) bool {
		return r.model == ep.Model && (r.tooLong.Limit == 0 || ep.ContextLength <= r.tooLong.Limit || ep.ContextLength < r.tooLong.Prompt+r.tooLong.Output)
	})
}

// measure completes what is known about a request that was too long: clients that shorten their conversation want to know by how much, and
// some providers do not say.
func measure(err *fault.Error, ep *catalog.Endpoint, needs *routing.Needs) {
	o := &err.Overflow
	if o.Limit == 0 {
		o.Limit = ep.ContextLength
	}
	if o.Prompt == 0 {
		o.Prompt = max(needs.PromptTokens, 1)
	}
	switch {
	case o.Limit == 0:
		o.Limit = o.Prompt - 1 // all that is known of it
	case o.Output == 0 && o.Prompt <= o.Limit:
		o.Prompt = o.Limit + 1 // the provider counts otherwise
	}
}

// afford holds what the attempt may cost. Unless ready is true, the attempt has failed, and with over set the call has failed, too.
func (x *run) afford(ctx context.Context, at *routing.Attempt, rest []routing.Attempt) (ready, over bool, err *fault.Error) {
	if err = x.cover(ctx, at, rest); err == nil {
		return true, false, nil
	}
	x.pass.End(health.Sample{})
	if x.hold == nil {
		return false, true, err
	}
	x.errs = append(x.errs, failure{err, at.Slug})
	if err.Kind != fault.PaymentRequired {
		return false, true, x.final(nil)
	}
	return false, false, nil // a dearer fallback that the balance does not cover; a cheaper one may follow
}

// needsShape reports whether the request may have to be changed for an endpoint, or its answer afterwards.
func (x *run) needsShape(ep *catalog.Endpoint) bool {
	req := x.req
	return x.relay.Shaper != nil && req.Chats() && (req.Format != nil || req.Needs.TooLong(ep) || req.Needs.Unread(ep))
}

// mostShaped is a request with the longest prompt that shaping is expected to leave of req for ep.
func mostShaped(ep *catalog.Endpoint, req *completion.Request) *completion.Request {
	most := ep.ContextLength
	if room := req.Needs.Room(ep); room > 0 && req.Needs.TooLong(ep) {
		most = room
	}
	if most == 0 || req.Needs.PromptTokens <= most {
		return req
	}
	out := *req
	out.Needs.PromptTokens = most
	return &out
}

// shape makes the request that the attempt sends. What it may cost in all is bounded by call, not by attempt.
func (x *run) shape(ctx context.Context, ep *catalog.Endpoint, req *completion.Request) *fault.Error {
	if x.shaping == nil {
		x.shaping = x.relay.Shaper.Begin(x.call.Caller.User)
	}
	shaped, reshape, err := x.shaping.Shape(ctx, ep, req)
	if ctx.Err() != nil {
		return gone(ctx, ctx.Err())
	}
	if err != nil {
		return fault.From(err)
	}
	x.req, x.reshape = shaped, reshape
	return nil
}

// mayTry reports whether another attempt may be begun.
func (x *run) mayTry() bool {
	return len(x.rec.Attempts) < x.relay.cfg.MaxAttempts && x.since() <= x.relay.cfg.AttemptBudget
}

// plan asks routing and keeps its answer for the record.
func (x *run) plan(ctx context.Context) (routing.Plan, *fault.Error) {
	if err := x.bind(ctx); err != nil {
		return routing.Plan{}, err
	}
	req := x.call.Request
	own, err := x.ownKeys(ctx)
	if err != nil {
		return routing.Plan{}, fault.From(err)
	}
	query := routing.Query{
		Models: req.Models, Preferences: req.Preferences, Needs: req.Needs, Health: x.health(), Rand: x.relay.Rand, At: x.call.At,
		MaxAttempts: x.relay.cfg.MaxAttempts, Own: own, Explain: true,
	}
	if x.relay.Gate != nil {
		query.Out = x.relay.Gate.Outs()
	}
	if !req.Chats() {
		query.Type, query.Price = req.Task.Type(), x.usual
	} else {
		query.Prefer, query.Issuer = x.relay.sticky.preferred(x.call)
		if x.view = x.relay.viewOf(x.call); x.view != nil {
			query.Rest = x.rest
		}
	}
	plan, err := routing.Choose(query, x.call.Catalog)
	x.rec.Candidates = slices.Grow(x.rec.Candidates, len(plan.Candidates))
	for i := range plan.Candidates {
		c := &plan.Candidates[i]
		prices := c.Endpoint.Pricing.At(x.call.At).For(req.Needs.PromptTokens)
		x.rec.Candidates = append(x.rec.Candidates, record.Candidate{
			Endpoint: c.Endpoint.ID, DroppedBy: c.DroppedBy, Detail: c.Detail, Order: c.Order, Score: c.Score, Reason: c.Reason, Slug: c.Slug, OwnKey: ownKeyOf(c.Endpoint),
			Prompt: money.Nano(prices.Prompt.Nano), Completion: money.Nano(prices.Completion.Nano), PerRequest: money.Nano(prices.Request.Nano)})
	}
	if len(plan.Retired) > 0 {
		x.notice = "Passed over because no provider serves it any more: " + strings.Join(plan.Retired, ", ") + ". "
	}
	return plan, fault.From(err)
}

// final chooses the error the client sees: last, or when it is nil the one that represents all failed attempts.
func (x *run) final(last *fault.Error) *fault.Error {
	previous := x.errs
	if last == nil {
		if len(x.errs) == 0 {
			return x.unserved()
		}
		at := mainFailure(x.errs)
		last = x.errs[at].Error
		previous = slices.Delete(x.errs, at, at+1)
	}
	out := *last
	if out.RetryAfter > 0 && x.skips.after > 0 { // an endpoint that was passed over may be free before those that were asked
		out.RetryAfter = min(out.RetryAfter, roundUp(x.skips.after))
	}
	if len(previous) == 0 {
		return &out
	}
	reported := make([]any, 0, len(previous))
	for _, e := range previous {
		// the soonest hint of all: the first endpoint that is free can serve
		if e.RetryAfter > 0 && out.RetryAfter > 0 {
			out.RetryAfter = min(out.RetryAfter, e.RetryAfter)
		}
		reported = append(reported, previousError(e))
	}
	out.Details = map[string]any{"previous_errors": reported}
	for k, v := range last.Details {
		out.Details[k] = v
	}
	return &out
}

// mainFailure is the index of the last provider's failure, because the balance was not the reason that the call failed; without one it is
// that of the last error.
func mainFailure(errs []failure) int {
	for i := len(errs) - 1; i >= 0; i-- {
		if errs[i].Upstream != nil {
			return i
		}
	}
	return len(errs) - 1
}

func previousError(e failure) map[string]any {
	m := map[string]any{"code": e.Kind.String(), "model": e.model}
	if u := e.Upstream; u != nil {
		m["provider"], m["status"] = u.Provider, u.Status
	}
	return m
}

// stream hands the attempt's events to the sink until the upstream's end. Leaving the loop closes the upstream's connection.
func (x *run) stream(ctx context.Context, rec *record.Attempt) *fault.Error {
	if !x.call.Request.Stream {
		x.started = false // drops an answer that an earlier attempt has begun
	}
	events := x.relay.Upstream.Complete(ctx, x.serving.Endpoint, x.request(), x.client)
	if x.reshape != nil {
		events = x.reshape(events)
	}
	for ev, err := range events {
		if err != nil {
			if ctx.Err() != nil { // explains it better than the connection does
				x.taken = fault.From(err).Taken
				return gone(ctx, err)
			}
			return fault.From(err)
		}
		rec.Status = 200
		if err := x.event(ctx, ev, rec); err != nil {
			return err
		}
	}
	if !x.started {
		return &fault.Error{Kind: fault.ProviderUnavailable, Op: "relay.stream", Public: "The provider sent an empty answer.", Next: fault.NextEndpoint,
			Upstream: &fault.Upstream{Provider: x.serving.Endpoint.Provider.Name, Status: 200}}
	}
	return nil
}

// request is the request of the current attempt.
func (x *run) request() *completion.Request {
	parent := ""
	if t := x.call.Trace; t != nil {
		parent = t.Trying(x.serving.Endpoint, x.req)
	}
	if !x.withoutReasoning && parent == "" {
		return x.req
	}
	out := *x.req
	out.WithoutReasoning, out.Traceparent = x.withoutReasoning, parent
	return &out
}

// event handles one event.
func (x *run) event(ctx context.Context, ev *completion.Event, rec *record.Attempt) *fault.Error {
	if ev.Head != nil {
		x.heard(ev.Head)
	}
	if ev.Signature != "" {
		x.signature = ev.Signature
	}
	had, kept := x.meter.delivered, len(x.meter.kept)
	x.meter.count(ev)
	if t := x.call.Trace; t != nil {
		t.Said(ev)
	}
	if !x.started {
		if !ev.HasContent() {
			return nil // an attempt succeeds with its first content; an earlier frame only adds to the head
		}
		if err := x.start(rec); err != nil {
			return gone(ctx, err)
		}
	}
	if x.call.Request.Stream && !x.meter.done && x.req.Chats() {
		if err := x.guard(ctx); err != nil {
			x.meter.undo(had, kept)
			return err
		}
	}
	if ev.Finish == completion.Failed && (x.req.Style == completion.Messages || !x.call.Request.Stream && x.req.Elsewhere) {
		return x.brokeOff(ctx, ev) // this style has no stop reason for it, or the client has received nothing and another endpoint can be asked
	}
	err := x.sink.Event(ev)
	if err == nil && !x.req.Chats() {
		err = x.flush() // the parts of a task are few
	}
	if err != nil {
		return gone(ctx, err)
	}
	return nil
}

// brokeOff delivers the content of an event with which the provider ends an answer that is not complete, and returns the fault of that.
func (x *run) brokeOff(ctx context.Context, ev *completion.Event) *fault.Error {
	native := ev.NativeFinish
	content := *ev
	content.Finish, content.NativeFinish, content.Frames = "", "", nil
	if content.HasContent() {
		if err := x.sink.Event(&content); err != nil {
			return gone(ctx, err)
		}
	}
	return &fault.Error{Kind: fault.ProviderUnavailable, Op: "relay.stream", Public: "The provider's answer broke off.", Next: fault.NextEndpoint,
		Upstream: &fault.Upstream{Provider: x.serving.Endpoint.Provider.Name, Status: 200, Code: native}}
}

// heard keeps the head of an answer.
func (x *run) heard(head *completion.Head) {
	x.head = *head
	x.head.Notice = strings.TrimSpace(strings.TrimSpace(x.notice+x.lowered) + " " + head.Notice)
}

// start begins the answer.
func (x *run) start(rec *record.Attempt) error {
	rec.FirstContent = x.since()
	x.rec.FirstContent = rec.FirstContent
	x.started = true
	return x.sink.Start(Served{Endpoint: x.serving.Endpoint, Model: x.serving.Slug, Head: x.head})
}

// flush shows the client what the sink has kept, before something that may take its time.
func (x *run) flush() error {
	if x.client == nil {
		return nil
	}
	return x.client.Flush()
}

// gone is the error of a call whose client has gone, or that the node ends for another reason, which is the context's cause.
func gone(ctx context.Context, err error) *fault.Error {
	cause := context.Cause(ctx)
	var reason *fault.Error
	if errors.As(cause, &reason) {
		out := *reason
		out.Next = fault.Stop
		return &out
	}
	if errors.Is(cause, context.DeadlineExceeded) {
		return fault.New(fault.Timeout, "relay.stream", "The request took too long.").Because(err)
	}
	return fault.New(fault.Canceled, "relay.stream", "The client closed the connection.").Because(err)
}

// deliver settles and then sends the end: the charge is durable before the last byte leaves.
func (x *run) deliver(ctx context.Context) *fault.Error {
	_ = x.flush() // a client that has gone is charged for what was sent to it
	if err := x.settle(); err != nil {
		return err
	}
	if err := x.end(); err != nil {
		return gone(ctx, err) // too late to undo: everything but the last frame was delivered
	}
	return nil
}

// close ends the call: delivered content is settled, anything else is let go.
func (x *run) close() {
	x.pass.End(health.Sample{}) // after a panic; any other attempt has ended it
	if x.settled {
		return
	}
	if x.call.preparing() && x.call.Deferred.Body != nil {
		x.call.Held, x.hold = x.hold, nil
	}
	if x.hold != nil {
		defer x.hold.Release() // also after a panic; after a settlement it does nothing
	}
	if x.rec.Error == "" {
		x.rec.Error = fault.Internal.String() // a panic is on its way up
	}
	has := x.started && x.call.Request.Stream && x.partial() // the client has part of an answer: it is charged for that part
	if !has && !x.settling {
		x.givenUp = x.chargesGivenUp()
	}
	if (has || x.givenUp) && !x.settling && x.settle() == nil {
		return
	}
	if !x.call.preparing() && x.relay.worthNoting(x.rec) {
		x.rec.Duration = x.since()
		x.relay.Book.Note(x.rec)
	}
}

func (x *run) since() time.Duration { return x.relay.Now().Sub(x.call.At) }
