// Package trace decides which calls are traced, and keeps for the one that is what its record does not have. It sends nothing: an Exporter
// makes spans of a call when it has ended.
package trace

import (
	"encoding/binary"
	"slices"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/record"
)

// Exporter gets the calls that are traced, each once, when it has ended. It must not block, and keeps nothing of its arguments.
type Exporter interface{ Export(c *Call, a *Answer) }

// Config says which calls are traced.
type Config struct {
	Ratio        float64  `yaml:"ratio" as:"decimal"`      // of calls that no trusted client has decided on, 0 to 1
	TrustFrom    []string `yaml:"trust_from"`              // addresses or prefixes of clients whose traces are continued
	PassTo       []string `yaml:"pass_to"`                 // ids of providers whose requests have a traceparent header
	Content      bool     `yaml:"content"`                 // spans have prompts and answers
	ContentBytes int64    `yaml:"content_bytes" as:"size"` // of each

	Rand func() uint64 // must not be predictable from outside
}

// Default is the configuration of a node without one.
func Default() Config { return Config{Ratio: 0.1, ContentBytes: 16 << 10} }

// most is how many bytes of prompt and answer each a span may have, 0 when no content is kept.
func (c *Config) most() int {
	if !c.Content {
		return 0
	}
	return int(c.ContentBytes)
}

// Tracer begins and ends traces. It is safe for concurrent use.
type Tracer struct {
	cfg Config
	to  Exporter
}

// New makes a Tracer.
func New(c Config, to Exporter) *Tracer { return &Tracer{c, to} }

// Begin is the trace of a call whose request had these traceparent headers, nil when there is nothing to do for it. A trusted client's trace
// is continued, with its decision. Of any other client the trace becomes a link of a new one: a client that is not trusted can neither have
// calls traced nor write into the traces of others.
func (t *Tracer) Begin(headers []string, trusted bool) *Call {
	var from Parent
	ok := false
	if len(headers) == 1 {
		from, ok = Parse(headers[0])
	}
	continued := ok && trusted
	random, sampled := uint64(0), from.Sampled
	if !continued {
		random = t.number()
		sampled = float64(random>>11)/(1<<53) < t.cfg.Ratio
	}
	if !sampled && len(t.cfg.PassTo) == 0 {
		return nil
	}
	c := &Call{Sampled: sampled, most: t.cfg.most(), passTo: t.cfg.PassTo}
	binary.BigEndian.PutUint64(c.Span[:], t.number())
	if continued {
		c.Trace, c.Parent = from.Trace, from.Span
		return c
	}
	binary.BigEndian.PutUint64(c.Trace[:8], t.number())
	binary.BigEndian.PutUint64(c.Trace[8:], random)
	c.Link = from
	return c
}

// Continue is the trace of what goes on after the span from has ended, such as a job: a child of it, with its decision.
func (t *Tracer) Continue(from Parent) *Call {
	c := &Call{Trace: from.Trace, Parent: from.Span, Sampled: from.Sampled, most: t.cfg.most(), passTo: t.cfg.PassTo}
	binary.BigEndian.PutUint64(c.Span[:], t.number())
	return c
}

// number is random and not zero.
func (t *Tracer) number() uint64 {
	for {
		if n := t.cfg.Rand(); n != 0 {
			return n
		}
	}
}

// End hands over a call that has ended.
func (t *Tracer) End(c *Call, a *Answer) {
	if c.Sampled {
		t.to.Export(c, a)
	}
}

// Call is the trace of one call. It belongs to one goroutine at a time.
type Call struct {
	Trace   [16]byte
	Span    [8]byte // of the whole call; those of attempts follow from it
	Parent  [8]byte // the caller's span; zero: none
	Link    Parent  // what an untrusted client named as its span; zero: nothing
	Sampled bool

	Tried   []*catalog.Endpoint // endpoint of each attempt, in their order
	Request *completion.Request // of the latest attempt, when content is kept; else nil
	Output  Output              // of the latest attempt, when content is kept

	passTo []string
	most   int
}

// Answer is what became of the call.
type Answer struct {
	At      time.Time
	Took    time.Duration
	Method  string
	Route   string // pattern
	Path    string
	Status  int    // HTTP status
	Reason  string // error_type, "" on success
	Request string // "req_..."
	Asked   string // model asked for
	User    string
	Key     string
	Record  *record.Call // nil when the call did not reach the relay
	InBatch bool         // it is a request of a batch
	Job     string       // "vj_...": it is a job, and not an HTTP request, so it has no Method, Route, Path and Status; "" for any other
}

// ID is the trace in hex.
func (c *Call) ID() string { return string(appendHex(make([]byte, 0, 32), c.Trace[:])) }

// Attempt is the span of the attempt with this number, from 0 on.
func (c *Call) Attempt(number int) (span [8]byte) {
	n := binary.BigEndian.Uint64(c.Span[:]) + uint64(number+1)*0x9e3779b97f4a7c15
	binary.BigEndian.PutUint64(span[:], max(n, 1))
	return span
}

// Trying notes an attempt that begins, and returns the header that its request should have, "" for none.
func (c *Call) Trying(ep *catalog.Endpoint, req *completion.Request) string {
	c.Tried = append(c.Tried, ep)
	c.Output = Output{}
	if c.Sampled && c.most > 0 && req.Chats() {
		c.Request = req
	}
	if !slices.Contains(c.passTo, ep.Provider.ID) {
		return ""
	}
	return Parent{c.Trace, c.Attempt(len(c.Tried) - 1), c.Sampled}.String()
}

// Said keeps the content of an event, up to the limit.
func (c *Call) Said(ev *completion.Event) {
	if c.Request == nil || ev.Choice > 0 {
		return
	}
	o := &c.Output
	o.Text = c.kept(o.Text, ev.Text)
	o.Text = c.kept(o.Text, ev.Refusal)
	o.Reasoning = c.kept(o.Reasoning, ev.Reasoning)
	for i := range ev.ToolCalls {
		part := &ev.ToolCalls[i]
		at := slices.IndexFunc(o.Calls, func(t ToolCall) bool { return t.Index == part.Index })
		if at < 0 {
			if len(o.Calls) == mostCalls {
				continue
			}
			at = len(o.Calls)
			o.Calls = append(o.Calls, ToolCall{Index: part.Index, ID: part.ID, Name: part.Name})
		}
		o.Calls[at].Arguments = c.kept(o.Calls[at].Arguments, part.Arguments)
	}
	if ev.Finish != "" {
		o.Finish = string(ev.Finish)
	}
}

// Most is how many bytes of prompt and of answer a span may have.
func (c *Call) Most() int { return c.most }

// kept appends what there is room for.
func (c *Call) kept(dst, b []byte) []byte {
	return append(dst, b[:min(len(b), max(c.most-c.Output.size(), 0))]...)
}

const mostCalls = 64

// Output is the beginning of an answer's first choice.
type Output struct {
	Text, Reasoning []byte
	Calls           []ToolCall
	Finish          string
}

// ToolCall is a tool call of an answer.
type ToolCall struct {
	Index     int
	ID, Name  string
	Arguments []byte
}

func (o *Output) size() int {
	n := len(o.Text) + len(o.Reasoning)
	for i := range o.Calls {
		n += len(o.Calls[i].Arguments)
	}
	return n
}
