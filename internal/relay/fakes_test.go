package relay_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/relay"
	"weir/internal/usage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// step is one thing that an upstream does in the course of an attempt: an action of the test, then an event or an error.
type step struct {
	do  func(ctx context.Context)
	ev  *completion.Event
	err *fault.Error
}

// script is one attempt.
type script []step

func text(s string) step { return step{ev: &completion.Event{Text: []byte(s)}} }

func finish(reason completion.FinishReason) step {
	return step{ev: &completion.Event{Finish: reason, NativeFinish: "native " + string(reason)}}
}

func used(prompt, answer int64) step {
	return usedExactly(usage.Usage{Prompt: usage.Of(prompt), Completion: usage.Of(answer)})
}

func usedExactly(u usage.Usage) step { return step{ev: &completion.Event{Choice: -1, Usage: &u}} }

func head(h completion.Head) step { return step{ev: &completion.Event{Choice: -1, Head: &h}} }

func done() step { return step{ev: &completion.Event{Choice: -1, Done: true}} }

func does(f func(context.Context)) step { return step{do: f} }

// fails is a provider's failure; change adjusts it.
func fails(kind fault.Kind, next fault.Next, change ...func(*fault.Error)) step {
	e := &fault.Error{Kind: kind, Op: "fake", Public: "It failed.", Next: next, Upstream: &fault.Upstream{Provider: "Fake"}}
	for _, f := range change {
		f(e)
	}
	return step{err: e}
}

func status(n int) func(*fault.Error) { return func(e *fault.Error) { e.Upstream.Status = n } }

func retryAfter(d time.Duration) func(*fault.Error) {
	return func(e *fault.Error) { e.RetryAfter = d }
}

func reused(e *fault.Error) { e.Upstream.Reused = true }

// whole is an answer without anything special.
func whole(s string, prompt, answer int64) script {
	return script{head(completion.Head{ID: "up-1"}), text(s), finish(completion.Stop), used(prompt, answer), done()}
}

// upstream plays scripts: each attempt at an endpoint takes its next one, and the last again and again.
type upstream struct {
	mu      sync.Mutex
	scripts map[string][]script // by endpoint id
	seen    []*attempt
	idle    bool // it has not got the requests that are given up
	ignores bool // it goes on with its script when the context has ended
}

// attempt is what an upstream saw of one.
type attempt struct {
	endpoint  string
	request   *completion.Request
	ended     bool // nothing of it runs any more
	cancelled bool // its context was, by then
	stopped   bool // the relay stopped reading it
}

func (u *upstream) next(ep *catalog.Endpoint, req *completion.Request) (script, *attempt) {
	u.mu.Lock()
	defer u.mu.Unlock()
	a := &attempt{endpoint: ep.ID, request: req}
	u.seen = append(u.seen, a)
	list := u.scripts[ep.ID]
	if len(list) == 0 {
		return script{fails(fault.Internal, fault.Stop, func(e *fault.Error) { e.Public = "no script for " + ep.ID })}, a
	}
	if len(list) > 1 {
		u.scripts[ep.ID] = list[1:]
	}
	return list[0], a
}

func (u *upstream) Complete(ctx context.Context, ep *catalog.Endpoint, req *completion.Request, _ relay.Flusher) iter.Seq2[*completion.Event, error] {
	steps, a := u.next(ep, req)
	return func(yield func(*completion.Event, error) bool) {
		defer func() {
			u.mu.Lock()
			a.ended, a.cancelled = true, ctx.Err() != nil
			u.mu.Unlock()
		}()
		for _, s := range steps {
			if s.do != nil {
				s.do(ctx)
			}
			if ctx.Err() != nil && !u.ignores {
				e := fault.New(fault.Canceled, "fake", "cancelled").Because(ctx.Err())
				e.Taken = !u.idle
				yield(nil, e)
				return
			}
			if s.err != nil {
				own := *s.err // the relay completes what an attempt has reported, and scripts are shared
				yield(nil, &own)
				return
			}
			if s.ev != nil && !yield(scratch(s.ev), nil) {
				a.stopped = true
				return
			}
		}
	}
}

// scratch is a copy of an event whose bytes must not be kept: what is read of them later is wrong.
func scratch(ev *completion.Event) *completion.Event {
	c := *ev
	c.Text = slices.Clone(ev.Text)
	if ev.Usage != nil {
		u := *ev.Usage
		c.Usage = &u
	}
	return &c
}

func (u *upstream) attempts() (endpoints []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, a := range u.seen {
		endpoints = append(endpoints, a.endpoint)
	}
	return endpoints
}

// sink records what a client would see.
type sink struct {
	log     []string // "start <endpoint>", "text <text>", "finish <reason>", "usage", "done", "end"
	served  relay.Served
	receipt relay.Receipt
	failAt  int               // number of the entry, from 1, that fails; 0: none
	at      map[string]func() // what happens before an entry

}

var errGone = errors.New("broken pipe")

func (s *sink) note(entry string) error {
	if f := s.at[entry]; f != nil {
		f()
	}
	s.log = append(s.log, entry)
	if len(s.log) == s.failAt {
		return errGone
	}
	return nil
}

func (s *sink) Start(v relay.Served) error {
	s.served = v
	return s.note("start " + v.Endpoint.ID)
}

func (s *sink) Event(ev *completion.Event) error {
	entry := "event"
	switch {
	case len(ev.Text) > 0:
		entry = "text " + string(ev.Text)
		clear(ev.Text) // the relay must have taken what it needs
	case ev.Finish != "":
		entry = "finish " + string(ev.Finish)
	case ev.Usage != nil:
		entry = "usage"
	case ev.Done:
		entry = "done"
	}
	return s.note(entry)
}

func (s *sink) End(r relay.Receipt) error {
	s.receipt = r
	return s.note("end")
}

// words counts a token for each space or piece.
type words struct{}

func (words) Count(text iter.Seq[[]byte]) (n int64) {
	for piece := range text {
		n += int64(1 + strings.Count(string(piece), " "))
	}
	return n
}

// clock moves only when the test moves it.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

const (
	wallet  = "wal_1"
	balance = 1000 * money.Ruble
)

// offer declares an endpoint with prices in rubles per 1000 tokens; change adjusts it.
func offer(provider, model, prompt, answer string, change ...func(*catalog.Offer)) catalog.Offer {
	o := catalog.Offer{Provider: provider, Model: model, ContextLength: 100_000, MaxCompletion: 1000}
	o.Pricing.Base = catalog.Prices{Prompt: price(prompt), Completion: price(answer)}
	o.Pricing.List, o.Pricing.Rate, o.Pricing.Source = "list-1", "rate-1", "0.1/0.2"
	for _, f := range change {
		f(&o)
	}
	return o
}

func price(text string) money.Price {
	p, err := money.ParsePrice(text)
	if err != nil {
		panic(err)
	}
	return p
}

func rubles(text string) money.Nano {
	n, err := money.Parse(text)
	if err != nil {
		panic(err)
	}
	return n
}

// world is a relay with everything around it.
type world struct {
	t     testing.TB
	store *store
	book  *ledger.Book
	up    *upstream
	clock *clock
	snap  *catalog.Snapshot
	relay *relay.Relay
	calls int
}

// newWorld makes a world with these endpoints and a wallet that has balance. v/m is the model that calls name.
func newWorld(t testing.TB, change func(*relay.Deps, *relay.Config), offers ...catalog.Offer) *world {
	t.Helper()
	w := &world{t: t, store: newStore(), up: &upstream{scripts: map[string][]script{}}, clock: &clock{now: time.Unix(1_772_000_000, 0)}}
	w.store.credit(wallet, balance)
	var err error
	cfg := ledger.Default(t.TempDir(), time.Now)
	if _, bench := t.(*testing.B); bench {
		cfg.ApplyEvery, cfg.Journal.SegmentBytes = time.Hour, 512<<20 // what is measured is the call, not the work after it
	}
	w.book, err = ledger.Start(context.Background(), w.store, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.book.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	w.snap = snapshot(t, offers...)
	d := relay.Deps{Upstream: w.up, Book: w.book, Tokens: words{}, Now: w.clock.Now, Rand: func() float64 { return 0 }}
	c := relay.Default()
	if change != nil {
		change(&d, &c)
	}
	w.relay = relay.New(d, c)
	return w
}

func snapshot(t testing.TB, offers ...catalog.Offer) *catalog.Snapshot {
	t.Helper()
	d := catalog.Declared{Offers: offers, Retired: map[string]time.Time{"v/gone": time.Unix(1_700_000_000, 0)}}
	for _, id := range []string{"alpha", "beta", "gamma", "delta"} {
		d.Providers = append(d.Providers, catalog.Provider{ID: id, Name: strings.ToUpper(id), Dialect: "openai", BaseURL: "https://" + id + ".test/v1", Quirks: catalog.Quirks{ReasoningInSight: true}})
	}
	snap, err := catalog.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// plays sets the scripts of an endpoint.
func (w *world) plays(endpoint string, scripts ...script) { w.up.scripts[endpoint] = scripts }

// call makes a call of v/m with a prompt of ten tokens; change adjusts it.
func (w *world) call(change ...func(*relay.Call)) *relay.Call {
	w.calls++
	c := &relay.Call{
		Caller:     &caller,
		Request:    &completion.Request{Models: []string{"v/m"}, N: 1},
		Generation: fmt.Sprintf("gen-%d", w.calls), RequestID: "req_1", At: w.clock.Now(), Catalog: w.snap, API: "completions",
		PromptText: slices.Values([][]byte{[]byte("one two three four"), []byte("five six")}),
		UserAgent:  "agent", Referer: "https://app.test", Title: "App",
	}
	c.Request.Needs.PromptTokens = 10
	c.Request.Needs.N = 1
	for _, f := range change {
		f(c)
	}
	return c
}

func streamed(c *relay.Call) { c.Request.Stream = true }

func models(slugs ...string) func(*relay.Call) {
	return func(c *relay.Call) { c.Request.Models = slugs }
}

// settled is the record that the ledger has of a call, nil when it has none.
func (w *world) settled(c *relay.Call) *record.Call {
	w.t.Helper()
	rec, _, err := w.book.Call(context.Background(), wallet, c.Generation)
	if err != nil && !fault.Is(err, fault.NotFound) {
		w.t.Fatal(err)
	}
	return rec
}

// charged is what the wallet has paid so far; no hold may be open.
func (w *world) charged() money.Nano {
	w.t.Helper()
	if holds, sum := w.book.Open(); holds != 0 || sum != 0 {
		w.t.Errorf("%d holds of %s are open", holds, sum)
	}
	bal, err := w.book.Balance(context.Background(), wallet)
	if err != nil {
		w.t.Fatal(err)
	}
	if bal.Held != 0 {
		w.t.Errorf("%s is held", bal.Held)
	}
	return bal.Charged
}

// wantCharged checks the sum of all charges.
func (w *world) wantCharged(want string) {
	w.t.Helper()
	if got := w.charged(); got != rubles(want) {
		w.t.Errorf("charged %s, want %s", got, want)
	}
}

func (w *world) wantAttempts(endpoints ...string) {
	w.t.Helper()
	if got := w.up.attempts(); !slices.Equal(got, endpoints) {
		w.t.Errorf("attempts at %q, want %q", got, endpoints)
	}
	w.up.mu.Lock()
	defer w.up.mu.Unlock()
	for _, a := range w.up.seen {
		if !a.ended {
			w.t.Errorf("the attempt at %s still runs", a.endpoint)
		}
	}
}

func (s *sink) want(t testing.TB, entries ...string) {
	t.Helper()
	if !slices.Equal(s.log, entries) {
		t.Errorf("the client saw %q, want %q", s.log, entries)
	}
}

// wantKind checks an error and returns it.
func wantKind(t testing.TB, err error, kind fault.Kind) *fault.Error {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Fatalf("error is %v, want kind %s", err, kind)
	}
	return fault.From(err)
}

var caller = apikey.Caller{Key: "key_1", User: "usr_1", Wallet: wallet}
