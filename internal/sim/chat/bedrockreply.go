package chat

import "weir/internal/sim/kit"

// bedrockReply writes an answer on the Converse wire.
type bedrockReply struct {
	ask    *kit.Request
	answer *kit.Answer
}

func (r *bedrockReply) reply() *kit.Reply {
	return &kit.Reply{
		Wire:      bedrockWire,
		Stream:    r.ask.Stream,
		Body:      func() []byte { return r.whole() },
		EmptyBody: func() []byte { return []byte(`{"output":{"message":{"role":"assistant","content":[]}}}`) },
		Frames:    r.frames,
	}
}

func (r *bedrockReply) choice() *kit.Choice { return &r.answer.Choices[0] }

// bedrockBlock is one block of content: as JSON for a whole answer, and in parts for a stream.
type bedrockBlock struct {
	start string // what begins it, "" nothing does
	delta string // before a piece, which is a JSON string
	after string // after it
	body  string
	last  string // a delta after all pieces
	whole string
	text  bool
}

func (r *bedrockReply) blocks(yield func(*bedrockBlock) bool) {
	c := r.choice()
	if c.Reasoning != "" && !yield(r.reasoningBlock(c)) {
		return
	}
	if c.Text != "" && !yield(&bedrockBlock{delta: `{"text":`, after: `}`, body: c.Text, text: true, whole: `{"text":` + quoted(c.Text) + `}`}) {
		return
	}
	for i := range c.Calls {
		call := &c.Calls[i]
		head := `{"toolUse":{"toolUseId":"tooluse_` + call.ID[len("call_"):] + `","name":` + quoted(call.Name)
		input := "{}"
		if _, err := kit.Parse([]byte(call.Arguments)); err == nil {
			input = call.Arguments
		}
		if !yield(&bedrockBlock{start: head + `}}`, delta: `{"toolUse":{"input":`, after: `}}`, body: call.Arguments, whole: head + `,"input":` + input + `}}`}) {
			return
		}
	}
}

func quoted(s string) string { return string(kit.AppendText(nil, s)) }

func (r *bedrockReply) reasoningBlock(c *kit.Choice) *bedrockBlock {
	if r.ask.Redact {
		last := `{"reasoningContent":{"redactedContent":"` + kit.Conceal(bedrockWire, r.ask.Model, c.Reasoning) + `"}}`
		return &bedrockBlock{last: last, whole: last}
	}
	signature := `"signature":"` + kit.Sign(bedrockWire, r.ask.Model, c.Reasoning) + `"`
	return &bedrockBlock{
		delta: `{"reasoningContent":{"text":`, after: `}}`, body: c.Reasoning, last: `{"reasoningContent":{` + signature + `}}`,
		whole: `{"reasoningContent":{"reasoningText":{"text":` + quoted(c.Reasoning) + `,` + signature + `}}}`,
	}
}

func (r *bedrockReply) stopReason() string {
	c := r.choice()
	if c.Finish == "stop" && c.StopSequence != "" {
		return "stop_sequence"
	}
	return map[string]string{"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "content_filtered", "refusal": "guardrail_intervened"}[c.Finish]
}

// usage writes `"usage":{...},`. What was read from or written to the cache is no part of the input, but of the total.
func (r *bedrockReply) usage(dst []byte) []byte {
	style, t := r.ask.Knobs.Usage, &r.answer.Usage
	if style == "missing" {
		return dst
	}
	write := func(sep, name string, n int) { dst = kit.AppendCount(append(dst, sep...), name, n, style) }
	written := t.Written + t.WrittenHour
	write(`"usage":{`, "inputTokens", max(0, t.Prompt-t.Cached-written))
	write(",", "outputTokens", t.Completion)
	write(",", "totalTokens", t.Prompt+t.Completion)
	write(",", "cacheReadInputTokens", t.Cached)
	write(",", "cacheWriteInputTokens", written)
	if written > 0 {
		dst = append(dst, `,"cacheDetails":[`...)
		for i, n := range [...]int{t.Written, t.WrittenHour} {
			if n == 0 {
				continue
			}
			if i > 0 && t.Written > 0 {
				dst = append(dst, ',')
			}
			dst = append(append(append(dst, `{"ttl":"`...), [...]string{"5m", "1h"}[i]...), `",`...)
			dst = append(kit.AppendCount(dst, "inputTokens", n, style), '}')
		}
		dst = append(dst, ']')
	}
	return append(dst, "},"...)
}

const bedrockMetrics = `"metrics":{"latencyMs":1}`

func (r *bedrockReply) whole() []byte {
	dst := append(make([]byte, 0, 1024), `{"output":{"message":{"role":"assistant","content":[`...)
	n := 0
	for b := range r.blocks {
		if n++; n > 1 {
			dst = append(dst, ',')
		}
		dst = append(dst, b.whole...)
	}
	dst = append(kit.AppendText(append(dst, `]}},"stopReason":`...), r.stopReason()), ',')
	return append(append(r.usage(dst), bedrockMetrics...), '}')
}

// bedrockPadding makes events of different content alike in length, as Amazon does it.
const bedrockPadding = `,"p":"abcdefghijklm"}`

func (r *bedrockReply) frames(yield func(kit.Frame) bool) {
	going := true
	send := func(kind kit.FrameKind, event, data string) {
		going = going && yield(kit.Frame{Event: event, Data: []byte(data), Kind: kind})
	}
	send(kit.Opening, "messageStart", `{"role":"assistant"`+bedrockPadding)
	index := 0
	for b := range r.blocks {
		head := `{"contentBlockIndex":` + kit.Itoa(index)
		if b.start != "" {
			send(kit.Structure, "contentBlockStart", head+`,"start":`+b.start+bedrockPadding)
		}
		next := cutArguments(b.body)
		if b.start == "" {
			cut := newCutter(b.body, &r.ask.Knobs, b.text)
			next = func() string {
				piece, _ := cut.next()
				return piece
			}
		}
		for piece := next(); piece != "" && going; piece = next() {
			send(kit.Content, "contentBlockDelta", head+`,"delta":`+b.delta+quoted(piece)+b.after+bedrockPadding)
		}
		if b.last != "" {
			send(kit.Structure, "contentBlockDelta", head+`,"delta":`+b.last+bedrockPadding)
		}
		send(kit.Structure, "contentBlockStop", head+bedrockPadding)
		if index++; !going {
			return
		}
	}
	send(kit.Ending, "messageStop", `{"stopReason":"`+r.stopReason()+`"`+bedrockPadding)
	send(kit.Done, "metadata", string(r.usage([]byte{'{'}))+bedrockMetrics+bedrockPadding)
}
