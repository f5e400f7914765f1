package chat

import (
	"strconv"
	"unicode/utf8"

	"weir/internal/sim/kit"
)

// messagesReply writes an answer on the messages wire.
type messagesReply struct {
	ask    *kit.Request
	answer *kit.Answer
	hide   bool
}

func (r *messagesReply) reply() *kit.Reply {
	return &kit.Reply{
		Wire:      MessagesWire,
		Stream:    r.ask.Stream,
		Body:      func() []byte { return r.whole(false) },
		EmptyBody: func() []byte { return r.whole(true) },
		Frames:    r.frames,
	}
}

func (r *messagesReply) choice() *kit.Choice { return &r.answer.Choices[0] }

// head begins a message. One that is not finished has no content and no stop reason.
func (r *messagesReply) head(dst []byte) []byte {
	dst = append(append(append(dst, `{"id":"msg_`...), kit.HexOf(r.answer.ID)...), `","type":"message","role":"assistant","model":`...)
	return kit.AppendText(dst, r.ask.Name)
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
	dst = r.usage(dst, r.answer.Usage.Completion, true)
	return append(dst, '}')
}

// stop writes the stop reason.
func (r *messagesReply) stop(dst []byte) []byte {
	c := r.choice()
	reason := map[string]string{"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal", "refusal": "refusal"}[c.Finish]
	sequence := "null"
	if c.Finish == "stop" && c.StopSequence != "" {
		reason, sequence = "stop_sequence", string(kit.AppendText(nil, c.StopSequence))
	}
	dst = kit.AppendText(append(dst, `"stop_reason":`...), reason)
	return append(append(dst, `,"stop_sequence":`...), sequence...)
}

// usage writes `,"usage":{...}`. What was read from or written to the cache is no part of the input.
func (r *messagesReply) usage(dst []byte, output int, all bool) []byte {
	style, t := r.ask.Knobs.Usage, &r.answer.Usage
	if style == "missing" {
		return dst
	}
	write := func(sep, name string, n int) { dst = kit.AppendCount(append(dst, sep...), name, n, style) }
	written := t.Written + t.WrittenHour
	write(`,"usage":{`, "input_tokens", max(0, t.Prompt-t.Cached-written))
	write(",", "cache_creation_input_tokens", written)
	write(",", "cache_read_input_tokens", t.Cached)
	if all {
		write(`,"cache_creation":{`, "ephemeral_5m_input_tokens", t.Written)
		write(",", "ephemeral_1h_input_tokens", t.WrittenHour)
		dst = append(dst, '}')
	}
	write(",", "output_tokens", output)
	if output == t.Completion {
		write(`,"output_tokens_details":{`, "thinking_tokens", t.Reasoning)
		dst = append(dst, '}')
	}
	if t.Searches+t.Fetches > 0 && output == t.Completion { // message_start does not know yet
		write(`,"server_tool_use":{`, "web_search_requests", t.Searches)
		write(",", "web_fetch_requests", t.Fetches)
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
	cites  *kit.SearchResult
	kind   string
}

// append writes the block as it is in a whole answer.
func (b *messagesBlock) append(dst []byte) []byte {
	switch b.kind {
	case "thinking":
		dst = kit.AppendText(append(dst, `{"type":"thinking","thinking":`...), b.body)
		return append(kit.AppendText(append(dst, `,"signature":`...), b.sealed), '}')
	case "text":
		dst = kit.AppendText(append(dst, `{"type":"text","text":`...), b.body)
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

func appendCitation(dst []byte, f *kit.SearchResult) []byte {
	dst = kit.AppendText(append(dst, `{"type":"web_search_result_location","url":`...), f.URL)
	dst = kit.AppendText(append(dst, `,"title":`...), f.Title)
	dst = kit.AppendText(append(dst, `,"encrypted_index":`...), f.ID)
	return append(kit.AppendText(append(dst, `,"cited_text":`...), f.Title), '}')
}

// blocks are those of the answer, in their order.
func (r *messagesReply) blocks(yield func(*messagesBlock) bool) {
	c := r.choice()
	if c.Reasoning != "" && !yield(r.thought(c)) {
		return
	}
	for n := range c.Searches {
		f := *c.SearchResult
		if n > 0 {
			f.ID += kit.HexDigits[n%16:n%16+1] + kit.HexDigits[n/16:n/16+1]
		}
		input := append(kit.AppendText([]byte(`{"query":`), f.Query), '}')
		use := messagesBlock{kind: "server_tool_use", open: `{"type":"server_tool_use","id":"srvtoolu_` + f.ID + `","name":"web_search"`, delta: "input_json_delta", member: "partial_json", body: string(input)}
		open := kit.AppendText([]byte(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_`+f.ID+`","content":[{"type":"web_search_result","url":`), f.URL)
		open = kit.AppendText(append(open, `,"title":`...), f.Title)
		open = append(kit.AppendText(append(open, `,"encrypted_content":`...), kit.Conceal(MessagesWire, r.ask.Model, f.Title)), `,"page_age":null}]`...)
		if !yield(&use) || !yield(&messagesBlock{kind: "web_search_tool_result", open: string(open)}) {
			return
		}
	}
	for i := range c.Ran {
		use, result := hostedBlocks(&c.Ran[i])
		if !yield(&use) || !yield(&result) {
			return
		}
	}
	if c.Text != "" && !yield(&messagesBlock{kind: "text", delta: "text_delta", member: "text", body: c.Text, cites: c.SearchResult}) {
		return
	}
	for i := range c.Calls {
		open := `{"type":"tool_use","id":"` + toolUseID(c.Calls[i].ID) + `","name":` + string(kit.AppendText(nil, c.Calls[i].Name)) + `,"caller":{"type":"direct"}`
		if !yield(&messagesBlock{kind: "tool_use", open: open, delta: "input_json_delta", member: "partial_json", body: r.input(&c.Calls[i])}) {
			return
		}
	}
}

// input is the arguments as an object: the ones of a call that was cut are none.
func (r *messagesReply) input(c *kit.Call) string {
	if _, err := kit.Parse([]byte(c.Arguments)); err != nil && !r.ask.Stream {
		return "{}"
	}
	return c.Arguments
}

func toolUseID(id string) string { return "toolu_" + id[len("call_"):] }

func (r *messagesReply) thought(c *kit.Choice) *messagesBlock {
	if r.ask.Redact {
		data := kit.Conceal(MessagesWire, r.ask.Model, c.Reasoning)
		return &messagesBlock{kind: "redacted_thinking", open: `{"type":"redacted_thinking","data":"` + data + `"`}
	}
	shown := c.Reasoning
	if r.hide {
		shown = ""
	}
	return &messagesBlock{kind: "thinking", delta: "thinking_delta", member: "thinking", body: shown, sealed: kit.Sign(MessagesWire, r.ask.Model, shown)}
}

// messagesStream hands out events until the reader has enough.
type messagesStream struct {
	r     *messagesReply
	yield func(kit.Frame) bool
	going bool
	buf   []byte
	index int
}

func (r *messagesReply) frames(yield func(kit.Frame) bool) {
	w := messagesStream{r: r, yield: yield, going: true}
	dst := append(r.head([]byte(`{"type":"message_start","message":`)), `,"content":[],"stop_reason":null,"stop_sequence":null`...)
	w.send(kit.Opening, "message_start", append(r.usage(dst, 1, true), "}}"...))
	for b := range r.blocks {
		w.block(b)
		if !w.going {
			return
		}
	}
	dst = append(r.stop(append(w.buf[:0], `{"type":"message_delta","delta":{`...)), '}')
	w.send(kit.Ending, "message_delta", append(r.usage(dst, r.answer.Usage.Completion, false), '}'))
	w.send(kit.Done, "message_stop", []byte(`{"type":"message_stop"}`))
}

func (w *messagesStream) send(kind kit.FrameKind, event string, data []byte) {
	w.buf = data
	w.going = w.going && w.yield(kit.Frame{Event: event, Data: data, Kind: kind})
}

func (w *messagesStream) start(event string) []byte {
	dst := append(append(append(w.buf[:0], `{"type":"`...), event...), `","index":`...)
	return kit.AppendInt(dst, w.index)
}

// block sends one block. The first is followed by a ping, as Anthropic does it.
func (w *messagesStream) block(b *messagesBlock) {
	dst := b.begin(append(w.start("content_block_start"), `,"content_block":`...))
	w.send(kit.Structure, "content_block_start", append(dst, '}'))
	if w.index == 0 {
		w.send(kit.Structure, "ping", []byte(`{"type":"ping"}`))
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
		dst := kit.AppendText(append(w.start("content_block_delta"), `,"delta":{"type":"signature_delta","signature":`...), b.sealed)
		w.send(kit.Structure, "content_block_delta", append(dst, "}}"...))
	}
	if b.cites != nil {
		dst := appendCitation(append(w.start("content_block_delta"), `,"delta":{"type":"citations_delta","citation":`...), b.cites)
		w.send(kit.Structure, "content_block_delta", append(dst, "}}"...))
	}
	w.send(kit.Structure, "content_block_stop", append(w.start("content_block_stop"), '}'))
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
	cut := newCutter(b.body, &w.r.ask.Knobs, b.kind == "text")
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
	w.send(kit.Content, "content_block_delta", append(kit.AppendText(dst, piece), "}}"...))
}

// messagesModels is the list of models as Anthropic writes it.
func messagesModels(dst []byte) []byte {
	dst = append(dst, `{"data":[`...)
	for i := range kit.Models {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendForMessages(dst, &kit.Models[i])
	}
	dst = kit.AppendText(append(dst, `],"has_more":false,"first_id":`...), kit.Models[0].Name)
	return append(kit.AppendText(append(dst, `,"last_id":`...), kit.Models[len(kit.Models)-1].Name), '}')
}

func appendForMessages(dst []byte, m *kit.Model) []byte {
	dst = kit.AppendText(append(dst, `{"type":"model","id":`...), m.Name)
	dst = kit.AppendText(append(dst, `,"display_name":`...), m.Title)
	dst = append(dst, `,"created_at":"2025-01-01T00:00:00Z","max_input_tokens":`...)
	dst = strconv.AppendInt(dst, int64(m.ContextTokens), 10)
	dst = append(strconv.AppendInt(append(dst, `,"max_tokens":`...), messagesOutput, 10), '}')
	return dst
}

// hostedBlocks are a call on the messages wire and what came of it.
func hostedBlocks(n *kit.Ran) (use, result messagesBlock) {
	if n.Tool == "mcp_tool_use" {
		return messagesBlock{kind: "server_tool_use", open: `{"type":"mcp_tool_use","id":"mcptoolu_` + n.ID + `","name":"look","server_name":"sim"`, delta: "input_json_delta", member: "partial_json", body: "{}"},
			messagesBlock{kind: "mcp_tool_result", open: `{"type":"mcp_tool_result","tool_use_id":"mcptoolu_` + n.ID + `","is_error":false,"content":[{"type":"text","text":"seen"}]`}
	}
	input, content := `{"command":"echo 2"}`, `{"type":"bash_code_execution_result","stdout":"2","stderr":"","return_code":0,"content":[]}`
	if n.Tool == "web_fetch" {
		input, content = `{"url":"https://sim.invalid/`+n.ID+`"}`, `{"type":"web_fetch_result","url":"https://sim.invalid/`+n.ID+`","content":{"type":"document","source":{"type":"text","media_type":"text/plain","data":"Seen."}},"retrieved_at":null}`
	}
	return messagesBlock{kind: "server_tool_use", open: `{"type":"server_tool_use","id":"srvtoolu_` + n.ID + `","name":"` + n.Tool + `"`, delta: "input_json_delta", member: "partial_json", body: input},
		messagesBlock{kind: n.Tool + "_tool_result", open: `{"type":"` + n.Tool + `_tool_result","tool_use_id":"srvtoolu_` + n.ID + `","content":` + content}
}
