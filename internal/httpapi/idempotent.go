package httpapi

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/httpserver"
	"weir/internal/idempotency"
	"weir/internal/limit"
	"weir/internal/record"
	"weir/internal/relay"
	"weir/internal/routing"
	"weir/internal/wire"
)

// errReplayed ends the handling of a request whose first answer has been given again.
var errReplayed = errors.New("the first answer was given again")

// named is a request with an Idempotency-Key on its way to an answer that is kept.
type named struct {
	name   string
	memory *limit.Tab       // of the request
	run    *idempotency.Run // nil until the body was read, and after the run has ended
	open   bool             // content may be kept: the request was understood, and nothing demands zero data retention

	frames  []byte      // of a stream so far
	large   bool        // there are more than are kept
	holding atomic.Bool // the last frames stay here until the answer is kept
	last    []byte
}

// name looks whether the client has named the request.
func (x *request) name() error {
	values := x.r.Header["Idempotency-Key"]
	if len(values) == 0 || x.api.Idempotency == nil {
		return nil
	}
	if len(values) > 1 {
		return fault.Field("httpapi.name", "Idempotency-Key", "Send one Idempotency-Key header, not several.")
	}
	if err := idempotency.CheckName(values[0]); err != nil {
		return err
	}
	x.named = &named{name: values[0], memory: &x.memory.Tab}
	return nil
}

// claim begins the run of a named request whose body was read, or gives its first answer again and fails with errReplayed.
func (x *request) claim(body []byte) error {
	name := x.named.name
	if m := x.caller.Member; m != "" { // what one member was answered is not for another; no client's name has a line break
		name = m + "\n" + name
	}
	run, kept, err := x.api.Idempotency.Begin(x.context(), idempotency.Request{
		User: x.caller.User, Wallet: x.caller.Wallet, Name: name, Hash: idempotency.Hash(x.r.Method, x.address(), body), Generation: x.generation,
	})
	if err != nil {
		return x.chargedOnce(err)
	}
	if run == nil {
		if err := x.memory.Charge(int64(len(kept.Answer.Body))); err != nil {
			return err // it is kept as before: nothing is lost
		}
		x.replay(kept)
		return errReplayed
	}
	x.named.run = run
	return nil
}

// address is what the URL of a request asks for: its route and, where that has some, the values in its path and the form of the answer.
func (x *request) address() string {
	if x.values[0] == "" {
		return x.route.Pattern
	}
	return strings.Join([]string{x.route.Pattern, x.values[0], x.values[1], x.r.URL.Query().Get("alt")}, "\x00")
}

// chargedOnce adds to the fault of a request that was charged, and whose answer is gone, what it cost.
func (x *request) chargedOnce(err error) error {
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.IdempotencyNotKept {
		return err
	}
	id, _ := f.Details["generation_id"].(string)
	if c, _, err := x.api.Ledger.Call(x.context(), x.caller.Wallet, id); err == nil {
		f.Details["cost"] = c.Cost.String()
	}
	return f
}

// mayKeep notes whether content of a named request may be kept, which its preferences, those of account and key and the account's storing say.
func (x *request) mayKeep(p *routing.Preferences) {
	if x.named != nil {
		d := x.caller.Defaults
		x.named.open = !p.ZDR && (d == nil || !d.Preferences.ZDR) && x.storing().Responses != wire.StoreNever
	}
}

var replayed = []string{"true"}

// replay gives a kept answer again.
func (x *request) replay(e *idempotency.Entry) {
	x.generation, x.genHeader[0] = e.Generation, e.Generation
	x.w.Header()["Idempotent-Replayed"] = replayed
	if e.Answer.Type != streamType[0] {
		x.writeBody(e.Answer.Status, []string{e.Answer.Type}, e.Answer.Body)
		return
	}
	x.writeStreamHead(streamType)
	for body := e.Answer.Body; len(body) > 0; {
		n, err := x.w.Write(body[:min(len(body), 64<<10)]) // each piece has its own time to be taken
		if err != nil {
			return
		}
		body = body[n:]
	}
}

// keep keeps a whole answer before its first byte leaves, or frees the name when it is one that another try may better.
func (n *named) keep(status int, contentType []string, body []byte) {
	run := n.run
	if run == nil {
		return
	}
	n.run = nil
	switch {
	case !final(status) || len(contentType) == 0 || !n.open && status >= 300: // a refusal costs nothing, and would be the same
		run.Free()
		return
	case !n.open:
		run.Withhold()
		return
	}
	run.Keep(idempotency.Answer{Status: status, Type: contentType[0], Body: body})
}

// final reports whether the same request would be answered the same way again.
func final(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusRequestTimeout, httpserver.StatusClientGone:
		return false
	}
	return status < 500
}

// frame takes one frame of a stream in, and reports whether it stays here for now. The style's lock is held.
func (n *named) frame(frame []byte) bool {
	if n.run == nil {
		return false
	}
	if len(frame) > 0 && frame[0] != ':' && frame[0] != '\n' { // a keep-alive is no part of the answer
		if n.large = n.large || !n.open || !n.add(&n.frames, frame); n.large {
			n.forget(&n.frames)
		}
	}
	if !n.holding.Load() {
		return false
	}
	n.last = append(n.last, frame...)
	return true
}

// add adds a piece to an answer that is kept, and reports whether the answer still fits: into what is kept of one, and into what its user, and
// the node, has for bytes. The answer itself goes on without being kept.
func (n *named) add(all *[]byte, piece []byte) bool {
	if len(*all)+len(piece) > n.run.MaxBytes() || n.memory.Take(int64(len(piece))) != limit.None {
		return false
	}
	*all = append(*all, piece...)
	return true
}

// forget gives back the memory of an answer that is not kept.
func (n *named) forget(all *[]byte) {
	n.memory.Give(int64(len(*all)))
	*all = nil
}

// namedSink keeps a stream's answer when the relay has charged it, and before the client has its end.
type namedSink struct{ s *stream }

func (k namedSink) Start(served relay.Served) error { return k.s.to.Start(served) }

func (k namedSink) Event(ev *completion.Event) error { return k.s.to.Event(ev) }

// Flush shows the client the frames so far.
func (k namedSink) Flush() error { return k.s.to.Flush() }

// End holds the last frames back until the answer is kept.
func (k namedSink) End(receipt relay.Receipt) error {
	n := k.s.x.named
	run := n.run
	if run == nil {
		return k.s.to.End(receipt)
	}
	n.holding.Store(true)
	err := k.s.to.End(receipt)
	n.run = nil // after End the style writes nothing more, so no frame meets this
	switch {
	case !n.open:
		run.Withhold()
	case n.large || err != nil:
		run.Lose()
	default:
		run.Keep(idempotency.Answer{Status: http.StatusOK, Type: k.s.kind[0], Body: n.frames})
	}
	if len(n.last) > 0 {
		if _, werr := (&frameWriter{k.s}).send(n.last); err == nil {
			err = werr
		}
	}
	n.frames, n.last = nil, nil
	return err
}

// end frees the name of a request that came to no answer which could be kept. What was charged in whole is not charged twice.
func (n *named) end(c *record.Call) {
	if n.run == nil {
		return
	}
	switch {
	case c == nil || !c.Settled || c.Error != "":
		n.run.Free()
	case !n.open:
		n.run.Withhold()
	default:
		n.run.Lose()
	}
	n.run = nil
}
