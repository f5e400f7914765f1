package relay_test

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/relay"
)

// cancelled makes a context and a step that ends it.
func cancelled(t *testing.T, cause error) (context.Context, step) {
	ctx, cancel := context.WithCancelCause(t.Context())
	return ctx, does(func(context.Context) { cancel(cause) })
}

// The client may go at any moment. What it got is charged, what it did not get is not, and the upstream is let go.
func TestClientGone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		stream  bool
		script  func(gone step) script
		failAt  int // entry of the sink's log that cannot be written
		charged string
		stopped bool // the relay stopped reading; else the context ended
	}{
		{name: "before content, whole", script: func(gone step) script { return script{gone, text("a"), done()} }, charged: "0"},
		{name: "before content, streamed", stream: true, script: func(gone step) script { return script{{ev: &completion.Event{}}, gone, text("a"), done()} }, charged: "0"},
		{name: "after content, whole", script: func(gone step) script { return script{text("a"), gone, text("b"), done()} }, charged: "0"},
		{name: "after content, streamed", stream: true, script: func(gone step) script { return script{text("a b"), gone, text("c"), done()} }, charged: "0.01"},
		{name: "after content and usage", stream: true, script: func(gone step) script { return script{text("a b"), used(10, 7), gone, text("c"), done()} }, charged: "0.024"},
		{name: "found out by writing", stream: true, script: func(step) script { return script{text("a b"), text("c d"), text("e f"), done()} }, failAt: 3, charged: "0.012", stopped: true},
		{name: "found out by the first write", stream: true, script: func(step) script { return script{text("a b"), text("c d"), done()} }, failAt: 1, charged: "0.01", stopped: true},
		{name: "at the very end, whole", script: func(step) script { return whole("a", 10, 5) }, failAt: 6, charged: "0.02"},
		{name: "at the very end, streamed", stream: true, script: func(step) script { return whole("a", 10, 5) }, failAt: 6, charged: "0.02"},
		{name: "behind the last event", stream: true, script: func(step) script { return whole("a", 10, 5) }, charged: "0.02"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil, market()...)
			ctx, gone := cancelled(t, nil)
			w.plays("alpha/v/m", c.script(gone))
			w.plays("beta/v/m", whole("b", 10, 5))
			call := w.call(func(call *relay.Call) { call.Request.Stream = c.stream })
			s := &sink{failAt: c.failAt}
			if c.name == "behind the last event" {
				s.at = map[string]func(){"done": func() { gone.do(ctx) }}
			}
			err := w.relay.Complete(ctx, call, s)
			w.wantAttempts("alpha/v/m")
			w.wantCharged(c.charged)
			if c.name == "behind the last event" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			wantKind(t, err, fault.Canceled)
			if !call.Record.Cancelled || call.Record.Error != "canceled" {
				t.Errorf("record %+v", call.Record)
			}
			if a := w.up.seen[0]; a.stopped != c.stopped || c.failAt == 0 && !a.cancelled {
				t.Errorf("attempt %+v", a)
			}
			rec := w.settled(call)
			if rec == nil || rec.Settled != (c.charged != "0") {
				t.Errorf("record %+v", rec)
			}
		})
	}
}

// A call that waits for an upstream ends when its client goes, without waiting for anything else.
func TestClientGoneWhileWaiting(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		w := newWorld(t, nil, market()...)
		ctx, cancel := context.WithCancel(t.Context())
		w.plays("alpha/v/m", script{does(func(ctx context.Context) {
			go cancel()
			<-ctx.Done()
		}), text("a"), done()})
		wantKind(t, w.relay.Complete(ctx, w.call(func(c *relay.Call) { c.Request.Stream = stream }), &sink{}), fault.Canceled)
		w.wantAttempts("alpha/v/m")
		w.wantCharged("0")
	}
}

// A request whose client has gone is not begun.
func TestClientGoneBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, market()...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := w.call()
	wantKind(t, w.relay.Complete(ctx, c, &sink{}), fault.Canceled)
	w.wantAttempts()
	w.wantCharged("0")
	if w.settled(c) != nil {
		t.Error("there is a record of a call that was not begun")
	}

	// nor is another attempt
	ctx, gone := cancelled(t, nil)
	w.plays("alpha/v/m", script{fails(fault.ProviderUnavailable, fault.NextEndpoint)})
	w.plays("beta/v/m", whole("b", 10, 5))
	w.relay = relay.New(relay.Deps{Upstream: w.up, Book: w.book, Tokens: words{}, Now: w.clock.Now, Observer: onAttempt(func() { gone.do(ctx) })}, relay.Default())
	wantKind(t, w.relay.Complete(ctx, w.call(), &sink{}), fault.Canceled)
	w.wantAttempts("alpha/v/m")
	w.wantCharged("0")
}

type onAttempt func()

func (f onAttempt) Attempted(string, time.Duration, *fault.Error) { f() }

// When the node ends a call, the client gets the reason.
func TestNodeEndsCall(t *testing.T) {
	t.Parallel()
	draining := fault.New(fault.Draining, "app.Stop", "The server is shutting down.")
	draining.RetryAfter, draining.Next = time.Second, fault.NextEndpoint
	for _, c := range []struct {
		name    string
		stream  bool
		log     []string
		charged string
	}{
		{"whole", false, []string{"start alpha/v/m", "text a b"}, "0"},
		{"streamed", true, []string{"start alpha/v/m", "text a b"}, "0.01"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil, market()...)
			ctx, stop := cancelled(t, draining)
			w.plays("alpha/v/m", script{text("a b"), stop, text("c"), done()})
			w.plays("beta/v/m", whole("b", 10, 5))
			call := w.call(func(call *relay.Call) { call.Request.Stream = c.stream })
			s := &sink{}
			err := wantKind(t, w.relay.Complete(ctx, call, s), fault.Draining)
			if err.Public != draining.Public || err.RetryAfter != time.Second || err.Next != fault.Stop {
				t.Errorf("error %+v", err)
			}
			s.want(t, c.log...)
			w.wantAttempts("alpha/v/m")
			w.wantCharged(c.charged)
			if call.Record.Cancelled || call.Record.Error != "draining" {
				t.Errorf("record %+v", call.Record)
			}
		})
	}
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, market()...)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		w.plays("alpha/v/m", script{does(func(ctx context.Context) { <-ctx.Done() }), done()})
		wantKind(t, w.relay.Complete(ctx, w.call(), &sink{}), fault.Timeout)
	})
	w.wantAttempts("alpha/v/m")
	w.wantCharged("0")
}

// A panic passes through, but takes no money with it.
func TestPanic(t *testing.T) {
	t.Parallel()
	boom := func() { panic("boom") }
	explode := does(func(context.Context) { boom() })
	for _, c := range []struct {
		name    string
		stream  bool
		script  script
		at      string // entry of the sink's log where it panics
		charged string
	}{
		{name: "in the upstream before content", stream: true, script: script{explode, text("a"), done()}, charged: "0"},
		{name: "in the upstream, whole", script: script{text("a"), explode, done()}, charged: "0"},
		{name: "in the upstream, streamed", stream: true, script: script{text("a b"), explode, done()}, charged: "0.01"},
		{name: "in the sink's event", stream: true, script: script{text("a b"), text("c d"), done()}, at: "text c d", charged: "0.012"},
		{name: "in the sink's event, whole", script: script{text("a b"), text("c d"), done()}, at: "text c d", charged: "0"},
		{name: "in the sink's end", script: whole("a", 10, 5), at: "end", charged: "0.02"},
		{name: "in the sink's end, streamed", stream: true, script: whole("a", 10, 5), at: "end", charged: "0.02"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil, market()...)
			w.plays("alpha/v/m", c.script)
			call := w.call(func(call *relay.Call) { call.Request.Stream = c.stream })
			s := &sink{at: map[string]func(){c.at: boom}}
			if p := panicOf(func() { _ = w.relay.Complete(t.Context(), call, s) }); p != "boom" {
				t.Fatalf("panic is %v", p)
			}
			w.wantCharged(c.charged)
			rec := w.settled(call)
			if rec == nil || rec.Settled != (c.charged != "0") {
				t.Fatalf("record %+v", rec)
			}
			if atEnd := c.at == "end"; !atEnd && (rec.Error != "server" || rec.Attempts[0].Reason != "server") {
				t.Errorf("error %q, attempts %+v", rec.Error, rec.Attempts)
			}
			w.plays("alpha/v/m", whole("a", 10, 5))
			if err := w.relay.Complete(t.Context(), w.call(), &sink{}); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

func panicOf(f func()) (p any) {
	defer func() { p = recover() }()
	f()
	return nil
}

// explosive panics when it counts.
type explosive struct{}

func (explosive) Count(iter.Seq[[]byte]) int64 { panic("boom") }

// Even a panic in the settlement itself leaves no hold.
func TestPanicInSettlement(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(d *relay.Deps, _ *relay.Config) { d.Tokens = explosive{} }, market()...)
	w.plays("alpha/v/m", script{text("a"), done()})
	c := w.call(streamed)
	if p := panicOf(func() { _ = w.relay.Complete(t.Context(), c, &sink{}) }); p != "boom" {
		t.Fatalf("panic is %v", p)
	}
	w.wantCharged("0")
	if rec := w.settled(c); rec == nil || rec.Settled || rec.Error != "server" {
		t.Errorf("record %+v", rec)
	}
}

// A charge that the ledger does not take is no charge, and the answer does not end as if it were paid.
func TestLedgerRefuses(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		w := newWorld(t, nil, market()...)
		w.plays("alpha/v/m", whole("a", 10, 5))
		c := w.call(func(c *relay.Call) { c.Request.Stream, c.Generation = stream, "" }) // a charge must have a name
		s := &sink{}
		wantKind(t, w.relay.Complete(t.Context(), c, s), fault.Internal)
		s.want(t, "start alpha/v/m", "text a", "finish stop", "usage", "done")
		w.wantCharged("0")
		if c.Record.Settled || c.Record.Cost != 0 || c.Record.Error != "server" {
			t.Errorf("record %+v", c.Record)
		}
	}
}

// A price at which a sum does not fit is too dear beforehand: what cannot be charged is not done.
func TestCostOverflow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, offer("alpha", "v/m", "0", "0", func(o *catalog.Offer) { o.Pricing.Base.CacheRead = price("9000000000") }))
	w.plays("alpha/v/m", script{text("a"), usedExactly(cacheRead(100_000_000)), done()})
	for _, stream := range []bool{false, true} {
		s := &sink{}
		wantKind(t, w.relay.Complete(t.Context(), w.call(func(c *relay.Call) { c.Request.Stream = stream }), s), fault.PaymentRequired)
		s.want(t)
		w.wantAttempts()
		w.wantCharged("0")
	}
}
