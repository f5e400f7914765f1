package sim

import (
	"bytes"
	"slices"
	"strings"
	"time"
)

// responsesReply writes an answer on the responses wire.
type responsesReply struct {
	q       *responsesReader
	answer  *answer
	created time.Time
}

func (r *responsesReply) reply() *reply {
	return &reply{
		wire:   responsesWire,
		stream: r.q.ask.stream,
		body:   func() []byte { return r.whole() },
		hollow: func() []byte { return r.object(nil, "completed", "[]", false) },
		frames: r.frames,
	}
}

func (r *responsesReply) choice() *choice { return &r.answer.choices[0] }

// key names everything of this answer.
func (r *responsesReply) key() string {
	d := digest(r.answer.id)
	if r.q.previous != nil {
		d.add(r.q.previous.id)
	}
	return hexOf(uint64(d))
}

func (r *responsesReply) whole() []byte {
	var items []byte
	for it := range r.items {
		if items != nil {
			items = append(items, ',')
		}
		items = it.append(items, r)
	}
	return r.object(nil, r.status(), "["+string(items)+"]", true)
}

// record is what is kept of the response.
func (r *responsesReply) record() *response {
	rec := &response{id: "resp_" + r.key(), created: r.created, body: r.whole()}
	if p := r.q.previous; p != nil {
		rec.before = slices.Concat(p.before, p.input, p.output)
	}
	for i, n := range r.q.items {
		rec.input = append(rec.input, withID(n, rec.id, i))
	}
	for it := range r.items {
		rec.output = append(rec.output, it.append(nil, r))
	}
	return rec
}

// detached is a copy that does not share its bytes.
func detached(n *node) *node {
	out, err := parse(bytes.Clone(n.raw))
	if err != nil {
		panic("sim: what was read once can be read again: " + err.Error())
	}
	return out
}

func (r *responsesReply) status() string {
	switch r.choice().finish {
	case "length", "content_filter":
		return "incomplete"
	}
	return "completed"
}

// echoed are the members of a request that its response repeats, with what they are without it.
var echoed = []struct{ name, otherwise string }{
	{"instructions", "null"}, {"max_output_tokens", "null"}, {"max_tool_calls", "null"}, {"metadata", "{}"}, {"parallel_tool_calls", "true"}, {"previous_response_id", "null"},
	{"prompt_cache_key", "null"}, {"reasoning", `{"effort":null,"summary":null}`}, {"safety_identifier", "null"}, {"store", "true"}, {"temperature", "1.0"},
	{"text", `{"format":{"type":"text"},"verbosity":"medium"}`}, {"tool_choice", `"auto"`}, {"tools", "[]"}, {"top_logprobs", "0"}, {"top_p", "1.0"},
	{"truncation", `"disabled"`}, {"user", "null"}, {"background", "false"},
}

// object writes the response with its output as it stands.
func (r *responsesReply) object(dst []byte, status, output string, usage bool) []byte {
	dst = append(append(append(dst, `{"id":"resp_`...), r.key()...), `","object":"response","created_at":`...)
	dst = appendInt(dst, int(r.created.Unix()))
	dst = appendText(append(dst, `,"status":`...), status)
	if status == "completed" && usage {
		dst = appendInt(append(dst, `,"completed_at":`...), int(r.created.Unix()))
	}
	reason := "null"
	if status == "incomplete" {
		reason = `{"reason":"` + map[string]string{"length": "max_output_tokens", "content_filter": "content_filter"}[r.choice().finish] + `"}`
	}
	dst = append(append(append(dst, `,"error":null,"incomplete_details":`...), reason...), `,"model":`...)
	dst = append(append(appendText(dst, r.q.ask.name), `,"output":`...), output...)
	for _, e := range echoed {
		dst = append(append(append(dst, `,"`...), e.name...), `":`...)
		if v := r.q.root.given(e.name); v != nil {
			dst = appendCompact(dst, v.raw)
		} else {
			dst = append(dst, e.otherwise...)
		}
	}
	dst = append(dst, `,"service_tier":"default"`...)
	if !usage {
		return append(dst, `,"usage":null}`...)
	}
	return append(r.toolUsage(r.usage(dst)), '}')
}

func (r *responsesReply) usage(dst []byte) []byte {
	style, t := r.q.ask.knobs.usage, &r.answer.usage
	if style == "missing" {
		return append(dst, `,"usage":null`...)
	}
	write := func(sep, name string, n int) { dst = appendCount(append(dst, sep...), name, n, style) }
	write(`,"usage":{`, "input_tokens", t.prompt)
	write(`,"input_tokens_details":{`, "cached_tokens", t.cached)
	write("},", "output_tokens", t.completion)
	write(`,"output_tokens_details":{`, "reasoning_tokens", t.reasoning)
	write("},", "total_tokens", t.prompt+t.completion)
	return append(dst, '}')
}

// responsesItem is one item of the output.
type responsesItem struct {
	kind string // type
	id   string
	call *call
}

// items are those of the output, in their order.
func (r *responsesReply) items(yield func(*responsesItem) bool) {
	c, key, n := r.choice(), r.key(), 0
	give := func(prefix, kind string, call *call) bool {
		it := responsesItem{kind: kind, id: prefix + key + hexDigits[n%16:n%16+1], call: call}
		if n >= 16 {
			it.id += hexOf(uint64(n))
		}
		n++
		return yield(&it)
	}
	if c.reasoning != "" && !give("rs_", "reasoning", nil) {
		return
	}
	for range c.searches {
		if !give("ws_", "web_search_call", nil) {
			return
		}
	}
	for i := range c.ran {
		kind := c.ran[i].tool
		if !give(itemPrefixes[kind]+"_", kind, nil) {
			return
		}
	}
	for range c.images {
		if !give("ig_", "image_generation_call", nil) {
			return
		}
	}
	if (c.text != "" || len(c.calls) == 0) && !give("msg_", "message", nil) {
		return
	}
	for i := range c.calls {
		prefix, kind := "fc_", "function_call"
		if c.calls[i].custom {
			prefix, kind = "ctc_", "custom_tool_call"
		}
		if !give(prefix, kind, &c.calls[i]) {
			return
		}
	}
}

func (it *responsesItem) open(dst []byte) []byte {
	return append(append(append(append(append(dst, `{"id":"`...), it.id...), `","type":"`...), it.kind...), `"`...)
}

// append writes the item when it is complete.
func (it *responsesItem) append(dst []byte, r *responsesReply) []byte {
	c := r.choice()
	dst = it.open(dst)
	switch it.kind {
	case "reasoning":
		return r.reasoning(dst, it.id, true)
	case "web_search_call":
		dst = appendText(append(dst, `,"status":"completed","action":{"type":"search","query":`...), c.found.query)
		return append(dst, "}}"...)
	case "file_search_call", "code_interpreter_call", "mcp_call":
		return it.appendRan(dst, r)
	case "image_generation_call":
		_, data, _ := strings.Cut(c.images[0], ",")
		return append(appendText(append(dst, `,"status":"completed","result":`...), data), '}')
	case "message":
		status := "completed"
		if c.finish == "length" || c.finish == "content_filter" {
			status = "incomplete"
		}
		dst = append(appendText(append(dst, `,"status":`...), status), `,"role":"assistant","content":[`...)
		return append(r.part(dst, true), "]}"...)
	}
	return it.appendCall(dst, r, "completed", it.call.arguments)
}

func (it *responsesItem) appendCall(dst []byte, r *responsesReply, status, arguments string) []byte {
	dst = appendText(append(dst, `,"status":`...), status)
	dst = appendText(append(dst, `,"call_id":`...), it.call.id)
	dst = appendText(append(dst, `,"name":`...), it.call.name)
	if space := r.q.spaces[it.call.name]; space != "" {
		dst = appendText(append(dst, `,"namespace":`...), space)
	}
	member := `,"arguments":`
	if it.call.custom {
		member = `,"input":`
	}
	return append(appendText(append(dst, member...), arguments), '}')
}

// reasoning writes what a reasoning item has beside its id: the summary when one was asked for, and all of it in a form that only the
// provider reads.
func (r *responsesReply) reasoning(dst []byte, id string, complete bool) []byte {
	c := r.choice()
	dst = append(dst, `,"summary":[`...)
	if r.q.summary && complete {
		dst = append(appendText(append(dst, `{"type":"summary_text","text":`...), c.reasoning), '}')
	}
	dst = append(dst, ']')
	if slices.Contains(r.q.include, "reasoning.encrypted_content") {
		sealed := ""
		if complete {
			sealed = conceal(responsesWire, r.q.ask.persona, id+"\n"+c.reasoning)
		}
		dst = appendText(append(dst, `,"encrypted_content":`...), sealed)
	}
	return append(dst, '}')
}

// part writes the content of the message.
func (r *responsesReply) part(dst []byte, complete bool) []byte {
	c := r.choice()
	said := ""
	if complete {
		said = c.text
	}
	if c.refused {
		return append(appendText(append(dst, `{"type":"refusal","refusal":`...), said), '}')
	}
	dst = append(appendText(append(dst, `{"type":"output_text","text":`...), said), `,"annotations":[`...)
	if c.found != nil && complete {
		dst = r.annotation(dst)
	}
	dst = append(dst, `],"logprobs":`...)
	if r.q.logprobs && complete {
		return append(appendLogprobs(dst, c, c.text, 0, r.q.ask.top), '}')
	}
	return append(dst, "[]}"...)
}

func (r *responsesReply) annotation(dst []byte) []byte {
	c := r.choice()
	dst = appendInt(append(dst, `{"type":"url_citation","start_index":0,"end_index":`...), len([]rune(c.text)))
	dst = appendText(append(dst, `,"url":`...), c.found.url)
	return append(appendText(append(dst, `,"title":`...), c.found.title), '}')
}

// responsesStream hands out events until the reader has enough.
type responsesStream struct {
	r       *responsesReply
	yield   func(frame) bool
	going   bool
	buf     []byte
	n       int // events so far
	index   int // items so far
	id      string
	arrived []byte // items that are complete
}

func (r *responsesReply) frames(yield func(frame) bool) {
	w := responsesStream{r: r, yield: yield, going: true}
	for _, event := range [...]string{"response.created", "response.in_progress"} {
		w.send(opening, event, append(r.object(append(w.start(event), `,"response":`...), "in_progress", "[]", false), '}'))
	}
	for it := range r.items {
		w.item(it)
		if !w.going {
			return
		}
	}
	event := "response." + r.status()
	w.send(ending, event, append(r.object(append(w.start(event), `,"response":`...), r.status(), "["+string(w.arrived)+"]", true), '}'))
}

// start writes an event up to its own members.
func (w *responsesStream) start(event string) []byte {
	dst := append(append(append(w.buf[:0], `{"type":"`...), event...), `","sequence_number":`...)
	return appendInt(dst, w.n)
}

func (w *responsesStream) send(kind frameKind, event string, data []byte) {
	w.buf = data
	w.n++
	w.going = w.going && w.yield(frame{event: event, data: data, kind: kind})
}

// on writes an event about the open item.
func (w *responsesStream) on(kind frameKind, event, members string) {
	dst := append(append(append(w.start(event), `,"item_id":"`...), w.id...), `","output_index":`...)
	dst = append(appendInt(dst, w.index), members...)
	w.send(kind, event, append(dst, '}'))
}

func (w *responsesStream) item(it *responsesItem) {
	w.id = it.id
	c := w.r.choice()
	dst := it.open(append(appendInt(append(w.start("response.output_item.added"), `,"output_index":`...), w.index), `,"item":`...))
	switch it.kind {
	case "reasoning":
		dst = w.r.reasoning(dst, it.id, false)
	case "message":
		dst = append(dst, `,"status":"in_progress","role":"assistant","content":[]}`...)
	case "function_call", "custom_tool_call":
		dst = it.appendCall(dst, w.r, "in_progress", "")
	default:
		dst = append(dst, `,"status":"in_progress"}`...)
	}
	w.send(structure, "response.output_item.added", append(dst, '}'))
	switch it.kind {
	case "reasoning":
		w.summary(c.reasoning)
	case "web_search_call":
		for _, step := range [...]string{"in_progress", "searching", "completed"} {
			w.on(structure, "response.web_search_call."+step, "")
		}
	case "file_search_call", "code_interpreter_call", "mcp_call":
		for _, step := range [...]string{"in_progress", "completed"} {
			w.on(structure, "response."+it.kind+"."+step, "")
		}
	case "image_generation_call":
		for _, step := range [...]string{"in_progress", "generating", "completed"} {
			w.on(structure, "response.image_generation_call."+step, "")
		}
	case "message":
		w.message(c)
	case "function_call":
		w.pieces(cutArguments(it.call.arguments), "response.function_call_arguments", "", "delta", "arguments", it.call.arguments, `,"name":`+string(appendText(nil, it.call.name)))
	case "custom_tool_call":
		w.pieces(cutArguments(it.call.arguments), "response.custom_tool_call_input", "", "delta", "input", it.call.arguments, "")
	}
	complete := it.append(nil, w.r)
	dst = append(appendInt(append(w.start("response.output_item.done"), `,"output_index":`...), w.index), `,"item":`...)
	w.send(structure, "response.output_item.done", append(append(dst, complete...), '}'))
	if w.arrived != nil {
		w.arrived = append(w.arrived, ',')
	}
	w.arrived = append(w.arrived, complete...)
	w.index++
}

// pieces sends a text in deltas and then as a whole.
func (w *responsesStream) pieces(next func() string, event, at, delta, member, all, more string) {
	for piece := next(); piece != "" && w.going; piece = next() {
		w.on(content, event+".delta", at+`,"`+delta+`":`+string(appendText(nil, piece)))
	}
	w.on(structure, event+".done", at+more+`,"`+member+`":`+string(appendText(nil, all)))
}

func cutArguments(s string) func() string {
	return func() string {
		piece := cutBytes(s)
		s = s[len(piece):]
		return piece
	}
}

func (w *responsesStream) cut(s string, byFrames bool) func() string {
	cut := newCutter(s, &w.r.q.ask.knobs, byFrames)
	return func() string {
		piece, _ := cut.next()
		return piece
	}
}

func (w *responsesStream) summary(thought string) {
	if !w.r.q.summary {
		return
	}
	const at = `,"summary_index":0`
	w.on(structure, "response.reasoning_summary_part.added", at+`,"part":{"type":"summary_text","text":""}`)
	w.pieces(w.cut(thought, false), "response.reasoning_summary_text", at, "delta", "text", thought, "")
	w.on(structure, "response.reasoning_summary_part.done", at+`,"part":{"type":"summary_text","text":`+string(appendText(nil, thought))+`}`)
}

func (w *responsesStream) message(c *choice) {
	const at = `,"content_index":0`
	w.on(structure, "response.content_part.added", at+`,"part":`+string(w.r.part(nil, false)))
	if c.refused {
		w.pieces(w.cut(c.text, true), "response.refusal", at, "delta", "refusal", c.text, "")
	} else {
		w.text(c, at)
	}
	if c.found != nil {
		w.on(structure, "response.output_text.annotation.added", at+`,"annotation_index":0,"annotation":`+string(w.r.annotation(nil)))
	}
	w.on(structure, "response.content_part.done", at+`,"part":`+string(w.r.part(nil, true)))
}

// text sends the text of the message, each piece with its log probabilities.
func (w *responsesStream) text(c *choice, at string) {
	probs := func(piece string, from int) string {
		if !w.r.q.logprobs {
			return `,"logprobs":[]`
		}
		return `,"logprobs":` + string(appendLogprobs(nil, c, piece, from, w.r.q.ask.top))
	}
	cut := newCutter(c.text, &w.r.q.ask.knobs, true)
	sent := 0
	for w.going {
		piece, tokens := cut.next()
		if piece == "" {
			break
		}
		w.on(content, "response.output_text.delta", at+`,"delta":`+string(appendText(nil, piece))+probs(piece, sent))
		sent += tokens
	}
	w.on(structure, "response.output_text.done", at+`,"text":`+string(appendText(nil, c.text))+probs(c.text, 0))
}

// appendRan writes what an item of the responses wire has after its id and type. All code of a response runs in one container.
func (it *responsesItem) appendRan(dst []byte, r *responsesReply) []byte {
	dst = append(dst, `,"status":"completed"`...)
	switch it.kind {
	case "file_search_call":
		dst = append(appendText(append(dst, `,"queries":[`...), r.q.ask.question()), `],"results":null`...)
	case "code_interpreter_call":
		dst = append(append(append(dst, `,"code":"print(2)","outputs":null,"container_id":"cntr_`...), r.key()...), '"')
	case "mcp_call":
		dst = append(dst, `,"approval_request_id":null,"arguments":"{}","error":null,"name":"look","output":"seen","server_label":"sim"`...)
	}
	return append(dst, '}')
}

// toolUsage writes the counts that OpenAI puts beside the usage, where there are any.
func (r *responsesReply) toolUsage(dst []byte) []byte {
	if r.answer.usage.searches == 0 {
		return dst
	}
	return append(appendInt(append(dst, `,"tool_usage":{"web_search":{"num_requests":`...), r.answer.usage.searches), `}}`...)
}
