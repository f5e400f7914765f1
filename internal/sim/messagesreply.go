package sim

import (
	"strconv"
	"unicode/utf8"
)

// messagesReply writes an answer on the messages wire.
type messagesReply struct {
	ask    *ask
	answer *answer
	hide   bool
}

func (r *messagesReply) reply() *reply {
	return &reply{
		wire:   messagesWire,
		stream: r.ask.stream,
		body:   func() []byte { return r.whole(false) },
		hollow: func() []byte { return r.whole(true) },
		frames: r.frames,
	}
}

func (r *messagesReply) choice() *choice { return &r.answer.choices[0] }

// head begins a message. One that is not finished has no content and no stop reason.
func (r *messagesReply) head(dst []byte) []byte {
	dst = append(append(append(dst, `{"id":"msg_`...), hexOf(r.answer.id)...), `","type":"message","role":"assistant","model":`...)
	return appendText(dst, r.ask.name)
}

func (r *messagesReply) whole(hollow bool) []byte {
	dst := append(r.head(make([]byte, 0, 1024)), `,"content":[`...)
	if hollow {
		return append(dst, `],"stop_reason":null,"stop_sequence":null}`...)
	}
	n := 0
	for b := range r.blocks {
		if n++; n > 1 {
			dst = append(dst, ',')
		}
		dst = b.append(dst)
	}
	dst = r.stop(append(dst, "],"...))
	dst = r.usage(dst, r.answer.usage.completion, true)
	return append(dst, '}')
}

// stop writes why the answer ended.
func (r *messagesReply) stop(dst []byte) []byte {
	c := r.choice()
	reason := map[string]string{"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal", "refusal": "refusal"}[c.finish]
	sequence := "null"
	if c.finish == "stop" && c.stopped != "" {
		reason, sequence = "stop_sequence", string(appendText(nil, c.stopped))
	}
	dst = appendText(append(dst, `"stop_reason":`...), reason)
	return append(append(dst, `,"stop_sequence":`...), sequence...)
}

// usage writes `,"usage":{...}`. What was read from or written to the cache is no part of the input.
func (r *messagesReply) usage(dst []byte, output int, all bool) []byte {
	style, t := r.ask.knobs.usage, &r.answer.usage
	if style == "missing" {
		return dst
	}
	write := func(sep, name string, n int) { dst = appendCount(append(dst, sep...), name, n, style) }
	written := t.written + t.writtenHour
	write(`,"usage":{`, "input_tokens", max(0, t.prompt-t.cached-written))
	write(",", "cache_creation_input_tokens", written)
	write(",", "cache_read_input_tokens", t.cached)
	if all {
		write(`,"cache_creation":{`, "ephemeral_5m_input_tokens", t.written)
		write(",", "ephemeral_1h_input_tokens", t.writtenHour)
		dst = append(dst, '}')
	}
	write(",", "output_tokens", output)
	if output == t.completion {
		write(`,"output_tokens_details":{`, "thinking_tokens", t.reasoning)
		dst = append(dst, '}')
	}
	if t.searches+t.fetches > 0 && output == t.completion { // message_start does not know yet
		write(`,"server_tool_use":{`, "web_search_requests", t.searches)
		write(",", "web_fetch_requests", t.fetches)
		dst = append(dst, '}')
	}
	if all {
		dst = append(dst, `,"service_tier":"standard"`...)
	}
	return append(dst, '}')
}

// messagesBlock is one block of content: what begins it, and what comes in pieces.
type messagesBlock struct {
	open   string // up to what comes in pieces, in the form of content_block_start
	delta  string // type of the pieces; "" none
	member string // of the pieces
	body   string
	sealed string // signature
	cites  *found
	kind   string
}

// append writes the block as it is in a whole answer.
func (b *messagesBlock) append(dst []byte) []byte {
	switch b.kind {
	case "thinking":
		dst = appendText(append(dst, `{"type":"thinking","thinking":`...), b.body)
		return append(appendText(append(dst, `,"signature":`...), b.sealed), '}')
	case "text":
		dst = appendText(append(dst, `{"type":"text","text":`...), b.body)
		if b.cites != nil {
			dst = append(appendCitation(append(dst, `,"citations":[`...), b.cites), ']')
		}
		return append(dst, '}')
	case "tool_use", "server_tool_use":
		return append(append(append(append(dst, b.open...), `,"input":`...), b.body...), '}')
	}
	return append(append(dst, b.open...), '}')
}

// begin writes the block as it is when it begins in a stream.
func (b *messagesBlock) begin(dst []byte) []byte {
	switch b.kind {
	case "thinking":
		return append(dst, `{"type":"thinking","thinking":"","signature":""}`...)
	case "text":
		if b.cites != nil {
			return append(dst, `{"type":"text","text":"","citations":[]}`...)
		}
		return append(dst, `{"type":"text","text":""}`...)
	case "tool_use", "server_tool_use":
		return append(append(dst, b.open...), `,"input":{}}`...)
	}
	return append(append(dst, b.open...), '}')
}

func appendCitation(dst []byte, f *found) []byte {
	dst = appendText(append(dst, `{"type":"web_search_result_location","url":`...), f.url)
	dst = appendText(append(dst, `,"title":`...), f.title)
	dst = appendText(append(dst, `,"encrypted_index":`...), f.id)
	return append(appendText(append(dst, `,"cited_text":`...), f.title), '}')
}

// blocks are those of the answer, in their order.
func (r *messagesReply) blocks(yield func(*messagesBlock) bool) {
	c := r.choice()
	if c.reasoning != "" && !yield(r.thought(c)) {
		return
	}
	for n := range c.searches {
		f := *c.found
		if n > 0 {
			f.id += hexDigits[n%16:n%16+1] + hexDigits[n/16:n/16+1]
		}
		input := append(appendText([]byte(`{"query":`), f.query), '}')
		use := messagesBlock{kind: "server_tool_use", open: `{"type":"server_tool_use","id":"srvtoolu_` + f.id + `","name":"web_search"`, delta: "input_json_delta", member: "partial_json", body: string(input)}
		open := appendText([]byte(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_`+f.id+`","content":[{"type":"web_search_result","url":`), f.url)
		open = appendText(append(open, `,"title":`...), f.title)
		open = append(appendText(append(open, `,"encrypted_content":`...), conceal(messagesWire, r.ask.persona, f.title)), `,"page_age":null}]`...)
		if !yield(&use) || !yield(&messagesBlock{kind: "web_search_tool_result", open: string(open)}) {
			return
		}
	}
	for i := range c.ran {
		use, result := hostedBlocks(&c.ran[i])
		if !yield(&use) || !yield(&result) {
			return
		}
	}
	if c.text != "" && !yield(&messagesBlock{kind: "text", delta: "text_delta", member: "text", body: c.text, cites: c.found}) {
		return
	}
	for i := range c.calls {
		open := `{"type":"tool_use","id":"` + toolUseID(c.calls[i].id) + `","name":` + string(appendText(nil, c.calls[i].name)) + `,"caller":{"type":"direct"}`
		if !yield(&messagesBlock{kind: "tool_use", open: open, delta: "input_json_delta", member: "partial_json", body: r.input(&c.calls[i])}) {
			return
		}
	}
}

// input is the arguments as an object: the ones of a call that was cut are none.
func (r *messagesReply) input(c *call) string {
	if _, err := parse([]byte(c.arguments)); err != nil && !r.ask.stream {
		return "{}"
	}
	return c.arguments
}

func toolUseID(id string) string { return "toolu_" + id[len("call_"):] }

func (r *messagesReply) thought(c *choice) *messagesBlock {
	if r.ask.redact {
		data := conceal(messagesWire, r.ask.persona, c.reasoning)
		return &messagesBlock{kind: "redacted_thinking", open: `{"type":"redacted_thinking","data":"` + data + `"`}
	}
	shown := c.reasoning
	if r.hide {
		shown = ""
	}
	return &messagesBlock{kind: "thinking", delta: "thinking_delta", member: "thinking", body: shown, sealed: sign(messagesWire, r.ask.persona, shown)}
}

// messagesStream hands out events until the reader has enough.
type messagesStream struct {
	r     *messagesReply
	yield func(frame) bool
	going bool
	buf   []byte
	index int
}

func (r *messagesReply) frames(yield func(frame) bool) {
	w := messagesStream{r: r, yield: yield, going: true}
	dst := append(r.head([]byte(`{"type":"message_start","message":`)), `,"content":[],"stop_reason":null,"stop_sequence":null`...)
	w.send(opening, "message_start", append(r.usage(dst, 1, true), "}}"...))
	for b := range r.blocks {
		w.block(b)
		if !w.going {
			return
		}
	}
	dst = append(r.stop(append(w.buf[:0], `{"type":"message_delta","delta":{`...)), '}')
	w.send(ending, "message_delta", append(r.usage(dst, r.answer.usage.completion, false), '}'))
	w.send(done, "message_stop", []byte(`{"type":"message_stop"}`))
}

func (w *messagesStream) send(kind frameKind, event string, data []byte) {
	w.buf = data
	w.going = w.going && w.yield(frame{event: event, data: data, kind: kind})
}

func (w *messagesStream) start(event string) []byte {
	dst := append(append(append(w.buf[:0], `{"type":"`...), event...), `","index":`...)
	return appendInt(dst, w.index)
}

// block sends one block. The first is followed by a ping, as Anthropic does it.
func (w *messagesStream) block(b *messagesBlock) {
	dst := b.begin(append(w.start("content_block_start"), `,"content_block":`...))
	w.send(structure, "content_block_start", append(dst, '}'))
	if w.index == 0 {
		w.send(structure, "ping", []byte(`{"type":"ping"}`))
	}
	switch b.kind {
	case "text", "thinking":
		w.text(b)
	case "tool_use", "server_tool_use":
		w.delta(b, "")
		for rest := b.body; rest != "" && w.going; {
			piece := cutBytes(rest)
			rest = rest[len(piece):]
			w.delta(b, piece)
		}
	}
	if b.sealed != "" {
		dst := appendText(append(w.start("content_block_delta"), `,"delta":{"type":"signature_delta","signature":`...), b.sealed)
		w.send(structure, "content_block_delta", append(dst, "}}"...))
	}
	if b.cites != nil {
		dst := appendCitation(append(w.start("content_block_delta"), `,"delta":{"type":"citations_delta","citation":`...), b.cites)
		w.send(structure, "content_block_delta", append(dst, "}}"...))
	}
	w.send(structure, "content_block_stop", append(w.start("content_block_stop"), '}'))
	w.index++
}

// cutBytes is the next fragment of arguments.
func cutBytes(s string) string {
	end := min(argumentPiece, len(s))
	for end < len(s) && !utf8.RuneStart(s[end]) {
		end++
	}
	return s[:end]
}

func (w *messagesStream) text(b *messagesBlock) {
	cut := newCutter(b.body, &w.r.ask.knobs, b.kind == "text")
	for w.going {
		piece, _ := cut.next()
		if piece == "" {
			return
		}
		w.delta(b, piece)
	}
}

func (w *messagesStream) delta(b *messagesBlock, piece string) {
	dst := append(append(w.start("content_block_delta"), `,"delta":{"type":"`...), b.delta...)
	dst = append(append(append(dst, `","`...), b.member...), `":`...)
	w.send(content, "content_block_delta", append(appendText(dst, piece), "}}"...))
}

// messagesModels is the list of models as Anthropic writes it.
func messagesModels(dst []byte) []byte {
	dst = append(dst, `{"data":[`...)
	for i := range models {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendForMessages(dst, &models[i])
	}
	dst = appendText(append(dst, `],"has_more":false,"first_id":`...), models[0].Name)
	return append(appendText(append(dst, `,"last_id":`...), models[len(models)-1].Name), '}')
}

func appendForMessages(dst []byte, m *Model) []byte {
	dst = appendText(append(dst, `{"type":"model","id":`...), m.Name)
	dst = appendText(append(dst, `,"display_name":`...), m.Title)
	dst = append(dst, `,"created_at":"2025-01-01T00:00:00Z","max_input_tokens":`...)
	dst = strconv.AppendInt(dst, int64(m.ContextTokens), 10)
	dst = append(strconv.AppendInt(append(dst, `,"max_tokens":`...), messagesOutput, 10), '}')
	return dst
}

// hostedBlocks are a call on the messages wire and what came of it.
func hostedBlocks(n *ran) (use, result messagesBlock) {
	if n.tool == "mcp_tool_use" {
		return messagesBlock{kind: "server_tool_use", open: `{"type":"mcp_tool_use","id":"mcptoolu_` + n.id + `","name":"look","server_name":"sim"`, delta: "input_json_delta", member: "partial_json", body: "{}"},
			messagesBlock{kind: "mcp_tool_result", open: `{"type":"mcp_tool_result","tool_use_id":"mcptoolu_` + n.id + `","is_error":false,"content":[{"type":"text","text":"seen"}]`}
	}
	input, content := `{"command":"echo 2"}`, `{"type":"bash_code_execution_result","stdout":"2","stderr":"","return_code":0,"content":[]}`
	if n.tool == "web_fetch" {
		input, content = `{"url":"https://sim.invalid/`+n.id+`"}`, `{"type":"web_fetch_result","url":"https://sim.invalid/`+n.id+`","content":{"type":"document","source":{"type":"text","media_type":"text/plain","data":"Seen."}},"retrieved_at":null}`
	}
	return messagesBlock{kind: "server_tool_use", open: `{"type":"server_tool_use","id":"srvtoolu_` + n.id + `","name":"` + n.tool + `"`, delta: "input_json_delta", member: "partial_json", body: input},
		messagesBlock{kind: n.tool + "_tool_result", open: `{"type":"` + n.tool + `_tool_result","tool_use_id":"srvtoolu_` + n.id + `","content":` + content}
}
