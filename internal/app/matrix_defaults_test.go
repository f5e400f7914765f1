package app_test

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/apikey"
	"weir/internal/app"
	"weir/internal/app/apptest"
	"weir/internal/audit"
	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/config"
	"weir/internal/fault"
	"weir/internal/health"
	"weir/internal/ledger"
	"weir/internal/ledger/journal"
	"weir/internal/ledger/ledgertest"
	"weir/internal/money"
	"weir/internal/rawjson"
	"weir/internal/redact"
	"weir/internal/relay"
	"weir/internal/sim"
	"weir/internal/upstream"
	"weir/internal/usage/tokenizer"
)

// pipes is a listener whose connections are in memory: nothing of them is outside of a bubble.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// dial connects to the simulator, or to nothing where the host says so.
func (p *pipes) dial(ctx context.Context, address string) (net.Conn, error) {
	if strings.HasPrefix(address, "closed") {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// heard is a client: who served it, whether anything of the answer was seen, and whether it ended.
type heard struct {
	by    string
	words bool
	ended bool
}

func (h *heard) Start(s relay.Served) error {
	h.by = s.Endpoint.Provider.ID
	return nil
}

func (h *heard) Event(ev *completion.Event) error {
	h.words = h.words || len(ev.Text) > 0
	return nil
}

func (h *heard) End(relay.Receipt) error {
	h.ended = true
	return nil
}

// unchanged is a node's way of a call with its default settings, in a bubble: from the relay to the simulator.
type unchanged struct {
	cfg   config.Config
	relay *relay.Relay
	calls int
}

func newUnchanged(t *testing.T) *unchanged {
	t.Helper()
	w := &unchanged{cfg: config.Default()}
	w.cfg.Upstream.Limits.Whole, w.cfg.Upstream.Limits.Stream = 2<<20, 4<<20 // sizes are not times: the bombs need not be large
	listener, simulator := newPipes(), sim.New(sim.Config{})
	var serving sync.WaitGroup
	serving.Go(func() { _ = simulator.Serve(listener) })
	store := ledgertest.New()
	store.AddWallet("wal_1")
	cfg := ledger.Default(t.TempDir(), time.Now)
	cfg.Journal.Sync, cfg.Journal.SegmentBytes = journal.Never, 4<<20
	book, err := ledger.Start(t.Context(), store, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Credit(t.Context(), store, ledger.TopUp{Wallet: "wal_1", Source: "s", ExternalID: "1", Amount: 1000 * money.Ruble, Actor: audit.Actor{Name: "test"}}, time.Now()); err != nil {
		t.Fatal(err)
	}
	to := app.UpstreamConfig(w.cfg, redact.New(), app.DialerOf(&w.cfg))
	to.Dial = listener.dial
	client := upstream.New(to)
	w.relay = relay.New(relay.Deps{Upstream: client, Book: book, Tokens: tokenizer.Tokenizer{}, Gate: health.New(app.HealthConfig(w.cfg, time.Now)), Now: time.Now,
		Rand: func() float64 { return 0 }}, w.cfg.Relay.Config)
	t.Cleanup(func() {
		client.Close()
		if err := book.Close(context.Background()); err != nil {
			t.Error(err)
		}
		_ = simulator.Close(context.Background())
		_ = listener.Close()
		serving.Wait()
	})
	return w
}

// call asks the fault's provider first, and then another one if there is one.
func (w *unchanged) call(t *testing.T, c *apptest.Cell, stream, reasons, another bool) (h heard, took time.Duration, err *fault.Error) {
	t.Helper()
	return w.ask(t, c, stream, reasons, 1, another)
}

// ask is call with several providers that have the fault.
func (w *unchanged) ask(t *testing.T, c *apptest.Cell, stream, reasons bool, faulty int, another bool) (h heard, took time.Duration, err *fault.Error) {
	t.Helper()
	w.calls++
	host := "works" + strconv.Itoa(w.calls) // each cell's providers are strangers to health
	if c.Closed {
		host = "closed" + strconv.Itoa(w.calls)
	}
	var d catalog.Declared
	for i := range faulty {
		id := "faulty" + strings.Repeat("x", i)
		d.Providers = append(d.Providers, catalog.Provider{ID: id, Name: id, Dialect: "openai", BaseURL: "http://" + host + id + ".test/v1"})
		d.Offers = append(d.Offers, apptest.OfferOf(t, id, "test/m"+strconv.Itoa(w.calls), c.Upstream()))
	}
	if another {
		d.Providers = append(d.Providers, catalog.Provider{ID: "next", Name: "Next", Dialect: "openai", BaseURL: "http://next" + strconv.Itoa(w.calls) + ".test/v1"})
		d.Offers = append(d.Offers, apptest.OfferOf(t, "next", "test/m"+strconv.Itoa(w.calls), "chat"))
	}
	for i := range d.Offers {
		d.Offers[i].Params = catalog.ParamMaxTokens
		if reasons {
			d.Offers[i].Params |= catalog.ParamReasoning
		}
	}
	snap, wrong := catalog.Build(d)
	if wrong != nil {
		t.Fatal(wrong)
	}
	body := []byte(`{"messages":[{"role":"user","content":"Tell me about weirs."}],"stream":` + strconv.FormatBool(stream) + `}`)
	req := &completion.Request{Models: []string{"test/m" + strconv.Itoa(w.calls)}, Body: body, Stream: stream, N: 1}
	for m := rawjson.MembersOf(body); m.Next(); {
		req.Members = append(req.Members, completion.Member{Name: string(m.Name), Start: m.Start, End: m.End, Value: m.At})
	}
	req.Needs.PromptTokens, req.Needs.N = 10, 1
	req.Preferences.Order = []string{"faulty"}
	began := time.Now()
	failed := w.relay.Complete(t.Context(), &relay.Call{Caller: &apikey.Caller{Key: "key_1", User: "usr_1", Wallet: "wal_1"}, Request: req, Generation: "gen-" + strconv.Itoa(w.calls),
		RequestID: "req_1", At: began, Catalog: snap, API: "completions"}, &h)
	return h, time.Since(began), fault.From(failed)
}

// silences are how long a provider may send nothing while another can be asked, when it is the last one, and how long an answer may take.
func (w *unchanged) silences(stream, reasons bool) (leave, last, whole time.Duration) {
	u := &w.cfg.Upstream
	l := &u.Leave
	switch {
	case stream && reasons:
		return l.StreamReasoning, u.StreamFirstByte, u.StreamTotal
	case stream:
		return l.Stream, u.StreamFirstByte, u.StreamTotal
	case reasons:
		return l.WholeReasoning, u.FirstByte, u.Total
	}
	return l.Whole, u.FirstByte, u.Total
}

// With the settings as they are, whatever a provider does: a second one is asked in time, unless the client has begun to read the first one's
// answer or the request is at fault, and the last one ends within its time-outs. Nothing here waits: time is virtual.
func TestFailureMatrixWithDefaults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newUnchanged(t)
		for n := range apptest.Matrix {
			c := &apptest.Matrix[n]
			for mode := range 4 {
				stream, reasons := mode&1 != 0, mode&2 != 0
				if !apptest.Shown(n, 0) || !stream && c.Whole == 0 || reasons && !c.Waits {
					continue
				}
				name := fmt.Sprintf("%s, stream %t, reasons %t", c.Name(t), stream, reasons)
				w.withAnother(t, name, c, stream, reasons)
				if c.Waits && !c.Begun {
					w.alone(t, name, c, stream, reasons)
				}
			}
		}
		t.Logf("%d calls", w.calls)
	})
}

func (w *unchanged) withAnother(t *testing.T, name string, c *apptest.Cell, stream, reasons bool) {
	t.Helper()
	leave, _, whole := w.silences(stream, reasons)
	h, took, err := w.call(t, c, stream, reasons, true)
	drips := c.Waits && c.Begun // and may end in time
	switch {
	case stream && c.Broken && h.by == "faulty" && h.words:
		if !drips && (err == nil || h.ended) {
			t.Errorf("%s: an answer that broke off ended well: %+v", name, h)
		}
	case c.Raw: // the request is at fault
		if err == nil || h.by != "" {
			t.Errorf("%s: %v, served by %q although the request is at fault", name, err, h.by)
		}
	case err != nil || !h.ended || h.by != "next" && !c.MayServe(stream) && !drips:
		t.Errorf("%s: %+v, %v, after %v", name, h, err, took)
	}
	if took > whole || took >= w.cfg.Relay.AttemptBudget && !c.Begun {
		t.Errorf("%s: took %v", name, took)
	}
	if c.Waits && !c.Begun && !w.in(took, leave) {
		t.Errorf("%s: left after %v, want %v", name, took, leave)
	}
}

func (w *unchanged) alone(t *testing.T, name string, c *apptest.Cell, stream, reasons bool) {
	t.Helper()
	_, last, _ := w.silences(stream, reasons)
	if h, took, err := w.call(t, c, stream, reasons, false); err == nil || err.Kind != fault.Timeout || h.by != "" || !w.in(took, last) {
		t.Errorf("%s, the last one: %+v, %v, after %v, want %v", name, h, err, took, last)
	}
}

// Of three providers that never answer the last one to be asked is not left for one that cannot be asked any more.
func TestTheLastSilentProviderHasItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newUnchanged(t)
		u, l := &w.cfg.Upstream, &w.cfg.Upstream.Leave
		for _, c := range []struct {
			stream, reasons bool
			silent          int // providers
			took            time.Duration
		}{
			{false, true, 3, l.WholeReasoning + u.FirstByte}, // the third cannot be asked within the budget
			{false, false, 3, 2*l.Whole + u.FirstByte},
			{false, false, 5, 2*l.Whole + u.FirstByte},
			{true, false, 3, 2*l.Stream + u.StreamFirstByte},
			{true, true, 3, 2*l.StreamReasoning + u.StreamFirstByte},
		} {
			if _, took, err := w.ask(t, &apptest.Cell{Fault: "u3"}, c.stream, c.reasons, c.silent, false); err == nil || err.Kind != fault.Timeout || took < c.took || took > c.took+time.Second {
				t.Errorf("%+v: %v, after %v", c, err, took)
			}
		}
	})
}

// in reports whether something took as long as a silence may last, or as long as one after the header.
func (w *unchanged) in(took, silence time.Duration) bool {
	const slack = time.Second // the simulator's own, and that of a back-off
	idle := w.cfg.Upstream.Idle
	return took >= silence && took < silence+slack || idle < silence && took >= idle && took < idle+slack
}
