package sim

// bedrockReply writes an answer on the Converse wire.
type bedrockReply struct {
	ask    *ask
	answer *answer
}

func (r *bedrockReply) reply() *reply {
	return &reply{
		wire:   bedrockWire,
		stream: r.ask.stream,
		body:   func() []byte { return r.whole() },
		hollow: func() []byte { return []byte(`{"output":{"message":{"role":"assistant","content":[]}}}`) },
		frames: r.frames,
	}
}

func (r *bedrockReply) choice() *choice { return &r.answer.choices[0] }

// bedrockBlock is one block of content: a whole one as JSON, and what it is made of in a stream.
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
	if c.reasoning != "" && !yield(r.thought(c)) {
		return
	}
	if c.text != "" && !yield(&bedrockBlock{delta: `{"text":`, after: `}`, body: c.text, text: true, whole: `{"text":` + quoted(c.text) + `}`}) {
		return
	}
	for i := range c.calls {
		call := &c.calls[i]
		head := `{"toolUse":{"toolUseId":"tooluse_` + call.id[len("call_"):] + `","name":` + quoted(call.name)
		input := "{}"
		if _, err := parse([]byte(call.arguments)); err == nil {
			input = call.arguments
		}
		if !yield(&bedrockBlock{start: head + `}}`, delta: `{"toolUse":{"input":`, after: `}}`, body: call.arguments, whole: head + `,"input":` + input + `}}`}) {
			return
		}
	}
}

func quoted(s string) string { return string(appendText(nil, s)) }

func (r *bedrockReply) thought(c *choice) *bedrockBlock {
	if r.ask.redact {
		last := `{"reasoningContent":{"redactedContent":"` + conceal(bedrockWire, r.ask.persona, c.reasoning) + `"}}`
		return &bedrockBlock{last: last, whole: last}
	}
	signature := `"signature":"` + sign(bedrockWire, r.ask.persona, c.reasoning) + `"`
	return &bedrockBlock{
		delta: `{"reasoningContent":{"text":`, after: `}}`, body: c.reasoning, last: `{"reasoningContent":{` + signature + `}}`,
		whole: `{"reasoningContent":{"reasoningText":{"text":` + quoted(c.reasoning) + `,` + signature + `}}}`,
	}
}

func (r *bedrockReply) stopReason() string {
	c := r.choice()
	if c.finish == "stop" && c.stopped != "" {
		return "stop_sequence"
	}
	return map[string]string{"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "content_filtered", "refusal": "guardrail_intervened"}[c.finish]
}

// usage writes `"usage":{...},`. What was read from or written to the cache is no part of the input, but of the total.
func (r *bedrockReply) usage(dst []byte) []byte {
	style, t := r.ask.knobs.usage, &r.answer.usage
	if style == "missing" {
		return dst
	}
	write := func(sep, name string, n int) { dst = appendCount(append(dst, sep...), name, n, style) }
	written := t.written + t.writtenHour
	write(`"usage":{`, "inputTokens", max(0, t.prompt-t.cached-written))
	write(",", "outputTokens", t.completion)
	write(",", "totalTokens", t.prompt+t.completion)
	write(",", "cacheReadInputTokens", t.cached)
	write(",", "cacheWriteInputTokens", written)
	if written > 0 {
		dst = append(dst, `,"cacheDetails":[`...)
		for i, n := range [...]int{t.written, t.writtenHour} {
			if n == 0 {
				continue
			}
			if i > 0 && t.written > 0 {
				dst = append(dst, ',')
			}
			dst = append(append(append(dst, `{"ttl":"`...), [...]string{"5m", "1h"}[i]...), `",`...)
			dst = append(appendCount(dst, "inputTokens", n, style), '}')
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
	dst = append(appendText(append(dst, `]}},"stopReason":`...), r.stopReason()), ',')
	return append(append(r.usage(dst), bedrockMetrics...), '}')
}

// bedrockPadding makes events of different content alike in length, as Amazon does it.
const bedrockPadding = `,"p":"abcdefghijklm"}`

func (r *bedrockReply) frames(yield func(frame) bool) {
	going := true
	send := func(kind frameKind, event, data string) {
		going = going && yield(frame{event: event, data: []byte(data), kind: kind})
	}
	send(opening, "messageStart", `{"role":"assistant"`+bedrockPadding)
	index := 0
	for b := range r.blocks {
		head := `{"contentBlockIndex":` + itoa(index)
		if b.start != "" {
			send(structure, "contentBlockStart", head+`,"start":`+b.start+bedrockPadding)
		}
		next := cutArguments(b.body)
		if b.start == "" {
			cut := newCutter(b.body, &r.ask.knobs, b.text)
			next = func() string {
				piece, _ := cut.next()
				return piece
			}
		}
		for piece := next(); piece != "" && going; piece = next() {
			send(content, "contentBlockDelta", head+`,"delta":`+b.delta+quoted(piece)+b.after+bedrockPadding)
		}
		if b.last != "" {
			send(structure, "contentBlockDelta", head+`,"delta":`+b.last+bedrockPadding)
		}
		send(structure, "contentBlockStop", head+bedrockPadding)
		if index++; !going {
			return
		}
	}
	send(ending, "messageStop", `{"stopReason":"`+r.stopReason()+`"`+bedrockPadding)
	send(done, "metadata", string(r.usage([]byte{'{'}))+bedrockMetrics+bedrockPadding)
}
