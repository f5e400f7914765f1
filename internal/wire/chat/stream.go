package chat

import (
	"io"
	"strconv"
	"sync"

	"weir/internal/completion"
	"weir/internal/completion/calls"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/wire"
	"weir/internal/wire/sse"
)

// Stream writes an answer as server-sent events, one Write for each frame. It is a relay.Sink; KeepAlive and Started may be called
// concurrently.
type Stream struct {
	to wire.Output
	o  Options

	mu      sync.Mutex
	begun   bool // something was written
	chunked bool // a chunk was written
	closed  bool // [DONE] was written, or a write failed
	err     error

	buf     *[]byte // begins with the prefix of every chunk
	prefix  int
	served  relay.Served
	choices []streamChoice
	held    []byte // the last finish chunk, up to its usage, until the usage is known
	extra   []byte // unknown members of frames that had nothing else to send
}

// streamChoice is the state of one choice.
type streamChoice struct {
	begun    bool
	finished bool
	calls    calls.Assembler
	images   int
	detail   int  // index for the gateway's next own reasoning detail
	detailed bool // the upstream sends details itself
}

var _ relay.Sink = (*Stream)(nil)

// NewStream writes to w.
func NewStream(w io.Writer, o Options) *Stream {
	s := &Stream{to: wire.NewOutput(w), o: o, buf: getBuffer()}
	s.choices = make([]streamChoice, max(o.N, 1))
	for i := range s.choices {
		s.choices[i].calls = o.calls(calls.Mixed)
	}
	return s
}

// Started reports whether a byte was written: after that, errors go into the stream.
func (s *Stream) Started() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun
}

// Close returns the buffers to the pool. The stream must not be used after it.
func (s *Stream) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.buf != nil {
		putBuffer(s.buf)
		s.buf = nil
	}
}

// Start stores who serves the request; nothing is written before the first event.
func (s *Stream) Start(served relay.Served) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served = served
	s.makePrefix()
	return s.err
}

// makePrefix writes the common beginning of all chunks into the buffer.
func (s *Stream) makePrefix() {
	b := append((*s.buf)[:0], "data: "...)
	b = appendHead(b, &s.o, "chat.completion.chunk", &s.served)
	if s.served.Head.Fingerprint != "" {
		b = rawjson.AppendText(append(b, `,"system_fingerprint":`...), s.served.Head.Fingerprint)
	}
	if tier := wire.Tier(s.served.Head.Tier); tier != "" {
		b = append(append(append(b, `,"service_tier":"`...), tier...), '"')
	}
	*s.buf, s.prefix = b, len(b)
}

// Event writes the content of an event, as one chunk for each kind of content in it.
func (s *Stream) Event(ev *completion.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.err
	}
	if ev.Choice < 0 || ev.Choice >= len(s.choices) || s.choices[ev.Choice].finished {
		s.keepExtra(ev.FrameExtra)
		return s.err
	}
	s.choices[ev.Choice].calls.Event(ev, s.event)
	return s.err
}

// event writes the content of an event whose calls are in order.
func (s *Stream) event(ev *completion.Event) {
	extra, c := ev.FrameExtra, &s.choices[ev.Choice]
	if !c.begun && visible(ev, &s.o) {
		c.begun = true
		s.write(append(s.delta(ev.Choice, nil), `"role":"assistant","content":""`...), nil, nil)
	}
	reasoned := s.reasoning(ev, c, &extra)
	s.text(ev, &extra, reasoned)
	s.toolCalls(ev, c, &extra)
	s.media(ev, c, &extra)
	if ev.Finish != "" {
		s.finish(ev, c, &extra)
	}
	s.keepExtra(extra)
}

// keepExtra keeps members for the next chunk.
func (s *Stream) keepExtra(extra []byte) {
	if len(extra) > 0 {
		s.extra = replaceExtra(s.extra, extra)
	}
}

// visible reports whether an event leads to a chunk.
func visible(ev *completion.Event, o *Options) bool {
	return len(ev.Text) > 0 || len(ev.Refusal) > 0 || len(ev.ToolCalls) > 0 || len(ev.Images) > 0 || len(ev.Audio) > 0 ||
		len(ev.Annotations) > 0 || len(ev.Logprobs) > 0 || ev.Finish != "" || len(ev.DeltaExtra) > 0 || len(ev.ChoiceExtra) > 0 ||
		!o.ExcludeReasoning && (len(ev.Reasoning) > 0 || len(ev.ReasoningDetails) > 0)
}

// delta begins a chunk of a choice, inside its delta. Unknown members of the whole frame are written first.
func (s *Stream) delta(choice int, extra *[]byte) []byte {
	b := (*s.buf)[:s.prefix]
	if len(s.extra) > 0 {
		b = appendExtra(b, s.extra, frameLevel)
		s.extra = s.extra[:0]
	}
	if extra != nil && len(*extra) > 0 {
		b = appendExtra(b, *extra, frameLevel)
		*extra = nil
	}
	b = append(b, `,"choices":[{"index":`...)
	b = strconv.AppendInt(b, int64(choice), 10)
	return append(b, `,"delta":{`...)
}

// write ends a chunk that is not a finish chunk, and sends it.
func (s *Stream) write(b, logprobs, choiceExtra []byte) {
	b = append(b, `},"finish_reason":null,"native_finish_reason":null`...)
	s.send(append(appendChoiceEnd(b, logprobs, choiceExtra), "}\n\n"...))
}

func appendChoiceEnd(b, logprobs, extra []byte) []byte {
	b = append(b, `,"logprobs":`...)
	if len(logprobs) > 0 {
		b = appendLogprobs(b, logprobs)
	} else {
		b = append(b, "null"...)
	}
	b = appendExtra(b, extra, choiceLevel)
	return append(b, "}]"...)
}

// send writes one frame. b may be a grown version of the buffer, which is kept then.
func (s *Stream) send(b []byte) {
	if cap(b) > cap(*s.buf) {
		*s.buf = b[:s.prefix]
	}
	s.chunked = true
	s.out(b)
}

func (s *Stream) out(b []byte) {
	if s.err != nil || s.closed {
		return
	}
	s.begun = true
	if _, s.err = s.to.Write(b); s.err != nil {
		s.closed = true
	}
}

func (s *Stream) reasoning(ev *completion.Event, c *streamChoice, extra *[]byte) bool {
	if s.o.ExcludeReasoning || len(ev.Reasoning) == 0 && len(ev.ReasoningDetails) == 0 {
		return false
	}
	b := s.delta(ev.Choice, extra)
	if len(ev.Reasoning) > 0 {
		own := !c.detailed && len(ev.ReasoningDetails) == 0
		if b = appendReasoning(b, ev.Reasoning, own); own {
			c.detail = max(c.detail, 1)
		}
	}
	if len(ev.ReasoningDetails) > 0 {
		c.detailed = true
		b = rawjson.AppendOneLine(appendName(b, "reasoning_details"), ev.ReasoningDetails)
		c.detail = max(c.detail, detailsEnd(ev.ReasoningDetails))
	}
	if s.plain(ev) && len(ev.ToolCalls) == 0 && len(ev.Images) == 0 && len(ev.Audio) == 0 {
		// the event has no other chunk, so the choice's members are written here
		b = appendExtra(b, ev.DeltaExtra, deltaLevel)
		s.write(b, ev.Logprobs, ev.ChoiceExtra)
		return true
	}
	s.write(b, nil, nil)
	return false
}

// plain reports whether an event has no visible text.
func (s *Stream) plain(ev *completion.Event) bool {
	return len(ev.Text) == 0 && len(ev.Refusal) == 0 && len(ev.Annotations) == 0
}

// detailsEnd is the index after the largest of the entries.
func detailsEnd(list []byte) int {
	end := 0
	for e := rawjson.ElementsOf(list); e.Next(); {
		if i, ok := rawjson.Int(rawjson.Find(e.Value, "index")); ok && i >= 0 && i < 1<<20 {
			end = max(end, int(i)+1)
		} else {
			end++
		}
	}
	return end
}

// text writes content, refusal and annotations, and unknown members of the delta; done reports that the latter was written.
func (s *Stream) text(ev *completion.Event, extra *[]byte, done bool) {
	if s.plain(ev) && (done || len(ev.Logprobs) == 0 && len(ev.DeltaExtra) == 0 && (len(ev.ChoiceExtra) == 0 || ev.Finish != "")) {
		return
	}
	b := s.delta(ev.Choice, extra)
	if len(ev.Text) > 0 {
		b = append(b, `"content":`...)
		b = rawjson.AppendString(b, ev.Text)
	}
	if len(ev.Refusal) > 0 {
		b = rawjson.AppendString(appendName(b, "refusal"), ev.Refusal)
	}
	if len(ev.Annotations) > 0 {
		b = rawjson.AppendOneLine(appendName(b, "annotations"), ev.Annotations)
	}
	b = appendExtra(b, ev.DeltaExtra, deltaLevel)
	choiceExtra := ev.ChoiceExtra
	if ev.Finish != "" {
		choiceExtra = nil // written with the finish chunk
	}
	s.write(b, ev.Logprobs, choiceExtra)
}

// toolCalls writes each fragment as one chunk, so that a call's id and name are in one frame only.
func (s *Stream) toolCalls(ev *completion.Event, c *streamChoice, extra *[]byte) {
	for i := range ev.ToolCalls {
		if call := &ev.ToolCalls[i]; call.First {
			s.firstFragment(ev.Choice, c, call, extra)
		} else {
			s.arguments(ev.Choice, call, extra)
		}
	}
}

func (s *Stream) firstFragment(choice int, c *streamChoice, call *completion.ToolCall, extra *[]byte) {
	b := append(s.delta(choice, extra), `"tool_calls":[`...)
	b = appendFirst(b, call)
	b = rawjson.AppendEscaped(b, call.Arguments)
	b = append(b, closeCall+"]"...)
	if call.Signature != "" && !s.o.ExcludeReasoning {
		b = append(b, `,"reasoning_details":[`...)
		b = append(appendSignature(b, call.Signature, call.ID, c.detail), ']')
		c.detail++
	}
	s.write(b, nil, nil)
}

// arguments writes a further fragment of a call: a piece of its arguments or, rarely, of its name.
func (s *Stream) arguments(choice int, call *completion.ToolCall, extra *[]byte) {
	b := append(s.delta(choice, extra), `"tool_calls":[{"index":`...)
	b = strconv.AppendInt(b, int64(call.Index), 10)
	b = appendExtra(b, call.Extra, toolLevel)
	member := `"arguments":"`
	if call.Custom {
		b, member = append(b, `,"custom":{`...), `"input":"`
	} else {
		b = append(b, `,"function":{`...)
	}
	if call.Name != "" {
		b = append(rawjson.AppendText(append(b, `"name":`...), call.Name), ',')
	}
	b = rawjson.AppendEscaped(append(b, member...), call.Arguments)
	s.write(append(b, closeCall+"]"...), nil, nil)
}

func (s *Stream) media(ev *completion.Event, c *streamChoice, extra *[]byte) {
	if len(ev.Images) > 0 {
		b := append(s.delta(ev.Choice, extra), `"images":[`...)
		b, c.images = appendImages(b, ev.Images, c.images)
		s.write(append(b, ']'), nil, nil)
	}
	if len(ev.Audio) > 0 {
		b := append(s.delta(ev.Choice, extra), `"audio":`...)
		s.write(rawjson.AppendOneLine(b, ev.Audio), nil, nil)
	}
}

// finish ends a choice. Unless the usage has a separate chunk, it belongs in the last finish chunk. Which one is last is known only at
// End, so each one waits for the next.
func (s *Stream) finish(ev *completion.Event, c *streamChoice, extra *[]byte) {
	c.finished = true
	b := append(s.delta(ev.Choice, extra), '}')
	b = appendFinish(b, ev.Finish, ev.NativeFinish, c.calls.Begun() > 0)
	b = appendChoiceEnd(b, nil, ev.ChoiceExtra)
	if s.o.IncludeUsage {
		s.send(append(b, "}\n\n"...))
		return
	}
	s.release()
	s.held = append(s.held[:0], b...)
}

// release sends the waiting finish chunk.
func (s *Stream) release() {
	if len(s.held) == 0 {
		return
	}
	s.out(append(s.held, "}\n\n"...))
	s.held = s.held[:0]
}

// End writes the usage and the last frame.
func (s *Stream) End(receipt relay.Receipt) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.err
	}
	if s.prefix == 0 {
		s.makePrefix()
	}
	for i := range s.choices {
		if c := &s.choices[i]; c.begun && !c.finished { // the upstream sent no finish reason
			c.calls.End(s.event)
			s.finish(&completion.Event{Choice: i, Finish: completion.Stop}, c, nil)
		}
	}
	b := s.held
	if len(b) == 0 {
		b = append((*s.buf)[:s.prefix], `,"choices":[]`...)
	}
	b = appendExtra(b, s.extra, frameLevel)
	b = append(b, `,"usage":`...)
	b = wire.AppendNotice(appendUsage(b, &receipt), s.served.Head.Notice)
	s.out(append(b, "}\n\n"...))
	s.held = nil
	return s.done()
}

func (s *Stream) done() error {
	s.out([]byte(sse.Done))
	s.closed = true
	return s.err
}

// Fail ends the stream with one error, which every client raises once. envelope is the JSON value of the member error. After End it does nothing.
func (s *Stream) Fail(envelope []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.err
	}
	if s.prefix == 0 {
		s.makePrefix()
	}
	s.held = s.held[:0] // an answer that failed has not finished
	b := (*s.buf)[:s.prefix]
	if s.o.BareErrors {
		b = append(b[:0], `data: {"error":`...)
	} else {
		b = append(b, `,"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error","native_finish_reason":null,"logprobs":null}],"error":`...)
	}
	b = rawjson.AppendOneLine(b, envelope)
	s.out(append(b, "}\n\n"...))
	return s.done()
}

// emptyChunk is the end of a chunk without content.
const emptyChunk = `,"choices":[{"index":0,"delta":{},"finish_reason":null,"native_finish_reason":null,"logprobs":null}]`

// Flush shows the client all frames so far. The end of a stream is shown when its request ends.
func (s *Stream) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flush()
}

func (s *Stream) flush() error {
	if !s.closed {
		s.err = s.to.Flush()
		s.closed = s.err != nil
	}
	return s.err
}

// KeepAlive writes something without meaning: a comment before the first chunk, after it an empty chunk, because parsers that split at
// blank lines would read a comment as the beginning of the next frame. After the end it does nothing.
func (s *Stream) KeepAlive() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
	case !s.chunked:
		s.out([]byte(sse.KeepAlive))
	default:
		s.send(append(append((*s.buf)[:s.prefix], emptyChunk...), "}\n\n"...))
	}
	return s.flush()
}
