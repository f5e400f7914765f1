package chat

import (
	"io"
	"strconv"

	"weir/internal/completion"
	"weir/internal/completion/calls"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/wire"
)

// Whole collects an answer and writes it as one JSON document, in one Write, when it has ended. It is a relay.Sink.
type Whole struct {
	w io.Writer
	o Options

	served relay.Served
	buf    *[]byte           // finished choices, separated by commas
	open   []*answer         // choices that are being collected
	seen   []bool            // choices that are in buf
	calls  []calls.Assembler // of the choices; nil: absent
	extra  []byte            // unknown members of the whole reply
}

var _ relay.Sink = (*Whole)(nil)

// NewWhole writes to w.
func NewWhole(w io.Writer, o Options) *Whole {
	n := max(o.N, 1)
	return &Whole{w: w, o: o, buf: getBuffer(), open: make([]*answer, n), seen: make([]bool, n)}
}

// Close gives the buffers back. The reply must not be used after it.
func (x *Whole) Close() {
	if x.buf != nil {
		putBuffer(x.buf)
		x.buf = nil
	}
}

// Start begins an answer; data of an earlier attempt is dropped.
func (x *Whole) Start(served relay.Served) error {
	x.served = served
	*x.buf = (*x.buf)[:0]
	clear(x.open)
	clear(x.seen)
	x.calls, x.extra = nil, nil
	return nil
}

// Event adds one event. A choice that is complete in one event, as from an upstream that does not stream, is encoded at once without a
// copy; anything else is collected.
func (x *Whole) Event(ev *completion.Event) error {
	x.extra = replaceExtra(x.extra, ev.FrameExtra)
	if ev.Choice < 0 || ev.Choice >= len(x.open) || x.seen[ev.Choice] {
		return nil
	}
	if x.calls == nil && len(ev.ToolCalls) > 0 {
		x.calls = make([]calls.Assembler, len(x.open))
		for i := range x.calls {
			x.calls[i] = x.o.calls(calls.Whole)
		}
	}
	if x.calls == nil {
		x.event(ev)
	} else {
		x.calls[ev.Choice].Event(ev, x.event)
	}
	return nil
}

// event adds an event whose calls are in order.
func (x *Whole) event(ev *completion.Event) {
	a := x.open[ev.Choice]
	if a == nil && ev.Finish != "" {
		x.seen[ev.Choice] = true
		x.encodeEvent(ev)
		return
	}
	if a == nil {
		a = new(answer)
		x.open[ev.Choice] = a
	}
	a.add(ev)
}

// End writes the document.
func (x *Whole) End(receipt relay.Receipt) error {
	for i := range x.calls {
		x.calls[i].End(x.event)
	}
	for i, a := range x.open {
		if a != nil {
			x.encodeAnswer(i, a)
		}
	}
	out := getBuffer()
	defer putBuffer(out)
	b := appendHead((*out)[:0], &x.o, "chat.completion", &x.served)
	b = append(b, `,"system_fingerprint":`...)
	if f := x.served.Head.Fingerprint; f != "" {
		b = rawjson.AppendText(b, f)
	} else {
		b = append(b, "null"...)
	}
	tier := wire.Tier(receipt.Usage.Tier)
	if tier == "" {
		tier = wire.Tier(x.served.Head.Tier)
	}
	if tier != "" {
		b = append(append(append(b, `,"service_tier":"`...), tier...), '"')
	}
	b = append(b, `,"choices":[`...)
	b = append(b, *x.buf...)
	b = append(b, `],"usage":`...)
	b = appendUsage(b, &receipt)
	b = appendExtra(b, x.extra, frameLevel)
	b = append(wire.AppendNotice(b, x.served.Head.Notice), '}')
	*out = b
	_, err := x.w.Write(b)
	return err
}

// begin begins a choice: its message with content and refusal.
func (x *Whole) begin(index int, text, refusal []byte) []byte {
	b := *x.buf
	if len(b) > 0 {
		b = append(b, ',')
	}
	b = append(b, `{"index":`...)
	b = strconv.AppendInt(b, int64(index), 10)
	b = append(b, `,"message":{"role":"assistant","content":`...)
	b = x.appendContent(b, text)
	b = append(b, `,"refusal":`...)
	if len(refusal) == 0 {
		return append(b, "null"...)
	}
	return rawjson.AppendString(b, refusal)
}

func (x *Whole) appendContent(b, text []byte) []byte {
	switch {
	case len(text) == 0 && x.o.Strict:
		return append(b, "[]"...)
	case len(text) == 0:
		return append(b, "null"...)
	case x.o.Strict:
		b = append(b, `[{"type":"text","text":`...)
		b = rawjson.AppendString(b, text)
		return append(b, "}]"...)
	}
	return rawjson.AppendString(b, text)
}

// encodeEvent encodes a choice that came in one event.
func (x *Whole) encodeEvent(ev *completion.Event) {
	b := x.begin(ev.Choice, ev.Text, ev.Refusal)
	if !x.o.ExcludeReasoning && len(ev.Reasoning) > 0 {
		b = appendReasoning(b, ev.Reasoning, false)
	}
	if len(ev.ToolCalls) > 0 {
		b = append(b, `,"tool_calls":[`...)
		for i := range ev.ToolCalls {
			b = appendWholeCall(b, i, &ev.ToolCalls[i])
		}
		b = append(b, ']')
	}
	if !x.o.ExcludeReasoning {
		b = appendDetails(b, ev)
	}
	if len(ev.Images) > 0 {
		b, _ = appendImages(append(b, `,"images":[`...), ev.Images, 0)
		b = append(b, ']')
	}
	if len(ev.Audio) > 0 {
		b = rawjson.AppendOneLine(append(b, `,"audio":`...), ev.Audio)
	}
	if len(ev.Annotations) > 2 {
		b = rawjson.AppendOneLine(append(b, `,"annotations":`...), ev.Annotations)
	}
	b = append(appendExtra(b, ev.DeltaExtra, deltaLevel), '}')
	b = appendFinish(b, ev.Finish, ev.NativeFinish, len(ev.ToolCalls) > 0)
	b = append(b, `,"logprobs":`...)
	if len(ev.Logprobs) > 0 {
		b = appendLogprobs(b, ev.Logprobs)
	} else {
		b = append(b, "null"...)
	}
	*x.buf = append(appendExtra(b, ev.ChoiceExtra, choiceLevel), '}')
}

// appendWholeCall appends a complete tool call.
func appendWholeCall(b []byte, index int, call *completion.ToolCall) []byte {
	if index > 0 {
		b = append(b, ',')
	}
	b = appendFirst(b, call)
	return append(rawjson.AppendEscaped(b, call.Arguments), closeCall...)
}

// appendDetails appends the reasoning details: those of the upstream or, when it has sent only the text, one with that text; after them
// those that repeat thought signatures. Without any it appends nothing.
func appendDetails(b []byte, ev *completion.Event) []byte {
	start := len(b)
	b = append(b, `,"reasoning_details":[`...)
	empty := len(b)
	b = appendElements(b, ev.ReasoningDetails)
	next := detailsEnd(ev.ReasoningDetails)
	if len(b) == empty && len(ev.Reasoning) > 0 {
		b = appendTextDetail(b, ev.Reasoning)
		next = 1
	}
	for i := range ev.ToolCalls {
		if call := &ev.ToolCalls[i]; call.Signature != "" {
			b = appendSignature(b, call.Signature, call.ID, next)
			next++
		}
	}
	if len(b) == empty {
		return b[:start]
	}
	return append(b, ']')
}
