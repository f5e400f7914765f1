package chat

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"weir/internal/sim/kit"
)

// responsesReply writes an answer on the responses wire.
type responsesReply struct {
	q       *responsesReader
	answer  *kit.Answer
	created time.Time
}

func (r *responsesReply) reply() *kit.Reply {
	return &kit.Reply{
		Wire:      responsesWire,
		Stream:    r.q.Request.Stream,
		Body:      func() []byte { return r.whole() },
		EmptyBody: func() []byte { return r.object(nil, "completed", "[]", false) },
		Frames:    r.frames,
	}
}

func (r *responsesReply) choice() *kit.Choice { return &r.answer.Choices[0] }

// key returns the suffix of all ids of this answer.
func (r *responsesReply) key() string {
	d := kit.Digest(r.answer.ID)
	if r.q.previous != nil {
		d.Add(r.q.previous.id)
	}
	return kit.HexOf(uint64(d))
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

// record returns what is stored of the response.
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

// detached returns a copy that shares no bytes.
func detached(n *kit.Node) *kit.Node {
	out, err := kit.Parse(bytes.Clone(n.Raw))
	if err != nil {
		panic("sim: what was read once can be read again: " + err.Error())
	}
	return out
}

func (r *responsesReply) status() string {
	switch r.choice().Finish {
	case "length", "content_filter":
		return "incomplete"
	}
	return "completed"
}

// echoed are the members of a request that its response repeats, with their defaults.
var echoed = []struct{ name, otherwise string }{
	{"instructions", "null"}, {"max_output_tokens", "null"}, {"max_tool_calls", "null"}, {"metadata", "{}"}, {"parallel_tool_calls", "true"}, {"previous_response_id", "null"},
	{"prompt_cache_key", "null"}, {"reasoning", `{"effort":null,"summary":null}`}, {"safety_identifier", "null"}, {"store", "true"}, {"temperature", "1.0"},
	{"text", `{"format":{"type":"text"},"verbosity":"medium"}`}, {"tool_choice", `"auto"`}, {"tools", "[]"}, {"top_logprobs", "0"}, {"top_p", "1.0"},
	{"truncation", `"disabled"`}, {"user", "null"}, {"background", "false"},
}

// object writes the response with its present output.
func (r *responsesReply) object(dst []byte, status, output string, usage bool) []byte {
	dst = append(append(append(dst, `{"id":"resp_`...), r.key()...), `","object":"response","created_at":`...)
	dst = kit.AppendInt(dst, int(r.created.Unix()))
	dst = kit.AppendText(append(dst, `,"status":`...), status)
	if status == "completed" && usage {
		dst = kit.AppendInt(append(dst, `,"completed_at":`...), int(r.created.Unix()))
	}
	reason := "null"
	if status == "incomplete" {
		reason = `{"reason":"` + map[string]string{"length": "max_output_tokens", "content_filter": "content_filter"}[r.choice().Finish] + `"}`
	}
	dst = append(append(append(dst, `,"error":null,"incomplete_details":`...), reason...), `,"model":`...)
	dst = append(append(kit.AppendText(dst, r.q.Request.Name), `,"output":`...), output...)
	for _, e := range echoed {
		dst = append(append(append(dst, `,"`...), e.name...), `":`...)
		if v := r.q.Root.Given(e.name); v != nil {
			dst = kit.AppendCompact(dst, v.Raw)
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
	style, t := r.q.Request.Knobs.Usage, &r.answer.Usage
	if style == "missing" {
		return append(dst, `,"usage":null`...)
	}
	write := func(sep, name string, n int) { dst = kit.AppendCount(append(dst, sep...), name, n, style) }
	write(`,"usage":{`, "input_tokens", t.Prompt)
	write(`,"input_tokens_details":{`, "cached_tokens", t.Cached)
	write("},", "output_tokens", t.Completion)
	write(`,"output_tokens_details":{`, "reasoning_tokens", t.Reasoning)
	write("},", "total_tokens", t.Prompt+t.Completion)
	return append(dst, '}')
}

// responsesItem is one item of the output.
type responsesItem struct {
	kind string // type
	id   string
	call *kit.Call
}

// items are those of the output, in their order.
func (r *responsesReply) items(yield func(*responsesItem) bool) {
	c, key, n := r.choice(), r.key(), 0
	give := func(prefix, kind string, call *kit.Call) bool {
		it := responsesItem{kind: kind, id: prefix + key + kit.HexDigits[n%16:n%16+1], call: call}
		if n >= 16 {
			it.id += kit.HexOf(uint64(n))
		}
		n++
		return yield(&it)
	}
	if c.Reasoning != "" && !give("rs_", "reasoning", nil) {
		return
	}
	for range c.Searches {
		if !give("ws_", "web_search_call", nil) {
			return
		}
	}
	for i := range c.Ran {
		kind := c.Ran[i].Tool
		if !give(itemPrefixes[kind]+"_", kind, nil) {
			return
		}
	}
	for range c.Images {
		if !give("ig_", "image_generation_call", nil) {
			return
		}
	}
	if (c.Text != "" || len(c.Calls) == 0) && !give("msg_", "message", nil) {
		return
	}
	for i := range c.Calls {
		prefix, kind := "fc_", "function_call"
		if c.Calls[i].Custom {
			prefix, kind = "ctc_", "custom_tool_call"
		}
		if !give(prefix, kind, &c.Calls[i]) {
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
		dst = kit.AppendText(append(dst, `,"status":"completed","action":{"type":"search","query":`...), c.SearchResult.Query)
		return append(dst, "}}"...)
	case "file_search_call", "code_interpreter_call", "mcp_call":
		return it.appendRan(dst, r)
	case "image_generation_call":
		_, data, _ := strings.Cut(c.Images[0], ",")
		return append(kit.AppendText(append(dst, `,"status":"completed","result":`...), data), '}')
	case "message":
		status := "completed"
		if c.Finish == "length" || c.Finish == "content_filter" {
			status = "incomplete"
		}
		dst = append(kit.AppendText(append(dst, `,"status":`...), status), `,"role":"assistant","content":[`...)
		return append(r.part(dst, true), "]}"...)
	}
	return it.appendCall(dst, r, "completed", it.call.Arguments)
}

func (it *responsesItem) appendCall(dst []byte, r *responsesReply, status, arguments string) []byte {
	dst = kit.AppendText(append(dst, `,"status":`...), status)
	dst = kit.AppendText(append(dst, `,"call_id":`...), it.call.ID)
	dst = kit.AppendText(append(dst, `,"name":`...), it.call.Name)
	if space := r.q.spaces[it.call.Name]; space != "" {
		dst = kit.AppendText(append(dst, `,"namespace":`...), space)
	}
	member := `,"arguments":`
	if it.call.Custom {
		member = `,"input":`
	}
	return append(kit.AppendText(append(dst, member...), arguments), '}')
}

// reasoning writes what a reasoning item has next to its id: the summary when one was asked for, and all of it in a form that only the
// provider reads.
func (r *responsesReply) reasoning(dst []byte, id string, complete bool) []byte {
	c := r.choice()
	dst = append(dst, `,"summary":[`...)
	if r.q.summary && complete {
		dst = append(kit.AppendText(append(dst, `{"type":"summary_text","text":`...), c.Reasoning), '}')
	}
	dst = append(dst, ']')
	if slices.Contains(r.q.include, "reasoning.encrypted_content") {
		sealed := ""
		if complete {
			sealed = kit.Conceal(responsesWire, r.q.Request.Model, id+"\n"+c.Reasoning)
		}
		dst = kit.AppendText(append(dst, `,"encrypted_content":`...), sealed)
	}
	return append(dst, '}')
}

// part writes the content of the message.
func (r *responsesReply) part(dst []byte, complete bool) []byte {
	c := r.choice()
	said := ""
	if complete {
		said = c.Text
	}
	if c.Refused {
		return append(kit.AppendText(append(dst, `{"type":"refusal","refusal":`...), said), '}')
	}
	dst = append(kit.AppendText(append(dst, `{"type":"output_text","text":`...), said), `,"annotations":[`...)
	if c.SearchResult != nil && complete {
		dst = r.annotation(dst)
	}
	dst = append(dst, `],"logprobs":`...)
	if r.q.logprobs && complete {
		return append(appendLogprobs(dst, c, c.Text, 0, r.q.Request.Top), '}')
	}
	return append(dst, "[]}"...)
}

func (r *responsesReply) annotation(dst []byte) []byte {
	c := r.choice()
	dst = kit.AppendInt(append(dst, `{"type":"url_citation","start_index":0,"end_index":`...), len([]rune(c.Text)))
	dst = kit.AppendText(append(dst, `,"url":`...), c.SearchResult.URL)
	return append(kit.AppendText(append(dst, `,"title":`...), c.SearchResult.Title), '}')
}

// responsesStream hands out events until the reader has enough.
type responsesStream struct {
	r       *responsesReply
	yield   func(kit.Frame) bool
	going   bool
	buf     []byte
	n       int // events so far
	index   int // items so far
	id      string
	arrived []byte // items that are complete
}

func (r *responsesReply) frames(yield func(kit.Frame) bool) {
	w := responsesStream{r: r, yield: yield, going: true}
	for _, event := range [...]string{"response.created", "response.in_progress"} {
		w.send(kit.Opening, event, append(r.object(append(w.start(event), `,"response":`...), "in_progress", "[]", false), '}'))
	}
	for it := range r.items {
		w.item(it)
		if !w.going {
			return
		}
	}
	event := "response." + r.status()
	w.send(kit.Ending, event, append(r.object(append(w.start(event), `,"response":`...), r.status(), "["+string(w.arrived)+"]", true), '}'))
}

// start writes an event up to its own members.
func (w *responsesStream) start(event string) []byte {
	dst := append(append(append(w.buf[:0], `{"type":"`...), event...), `","sequence_number":`...)
	return kit.AppendInt(dst, w.n)
}

func (w *responsesStream) send(kind kit.FrameKind, event string, data []byte) {
	w.buf = data
	w.n++
	w.going = w.going && w.yield(kit.Frame{Event: event, Data: data, Kind: kind})
}

// on writes an event about the open item.
func (w *responsesStream) on(kind kit.FrameKind, event, members string) {
	dst := append(append(append(w.start(event), `,"item_id":"`...), w.id...), `","output_index":`...)
	dst = append(kit.AppendInt(dst, w.index), members...)
	w.send(kind, event, append(dst, '}'))
}

func (w *responsesStream) item(it *responsesItem) {
	w.id = it.id
	c := w.r.choice()
	dst := it.open(append(kit.AppendInt(append(w.start("response.output_item.added"), `,"output_index":`...), w.index), `,"item":`...))
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
	w.send(kit.Structure, "response.output_item.added", append(dst, '}'))
	switch it.kind {
	case "reasoning":
		w.summary(c.Reasoning)
	case "web_search_call":
		for _, step := range [...]string{"in_progress", "searching", "completed"} {
			w.on(kit.Structure, "response.web_search_call."+step, "")
		}
	case "file_search_call", "code_interpreter_call", "mcp_call":
		for _, step := range [...]string{"in_progress", "completed"} {
			w.on(kit.Structure, "response."+it.kind+"."+step, "")
		}
	case "image_generation_call":
		for _, step := range [...]string{"in_progress", "generating", "completed"} {
			w.on(kit.Structure, "response.image_generation_call."+step, "")
		}
	case "message":
		w.message(c)
	case "function_call":
		w.pieces(cutArguments(it.call.Arguments), "response.function_call_arguments", "", "delta", "arguments", it.call.Arguments, `,"name":`+string(kit.AppendText(nil, it.call.Name)))
	case "custom_tool_call":
		w.pieces(cutArguments(it.call.Arguments), "response.custom_tool_call_input", "", "delta", "input", it.call.Arguments, "")
	}
	complete := it.append(nil, w.r)
	dst = append(kit.AppendInt(append(w.start("response.output_item.done"), `,"output_index":`...), w.index), `,"item":`...)
	w.send(kit.Structure, "response.output_item.done", append(append(dst, complete...), '}'))
	if w.arrived != nil {
		w.arrived = append(w.arrived, ',')
	}
	w.arrived = append(w.arrived, complete...)
	w.index++
}

// pieces sends a text in deltas and then as a whole.
func (w *responsesStream) pieces(next func() string, event, at, delta, member, all, more string) {
	for piece := next(); piece != "" && w.going; piece = next() {
		w.on(kit.Content, event+".delta", at+`,"`+delta+`":`+string(kit.AppendText(nil, piece)))
	}
	w.on(kit.Structure, event+".done", at+more+`,"`+member+`":`+string(kit.AppendText(nil, all)))
}

func cutArguments(s string) func() string {
	return func() string {
		piece := cutBytes(s)
		s = s[len(piece):]
		return piece
	}
}

func (w *responsesStream) cut(s string, byFrames bool) func() string {
	cut := newCutter(s, &w.r.q.Request.Knobs, byFrames)
	return func() string {
		piece, _ := cut.next()
		return piece
	}
}

func (w *responsesStream) summary(reasoning string) {
	if !w.r.q.summary {
		return
	}
	const at = `,"summary_index":0`
	w.on(kit.Structure, "response.reasoning_summary_part.added", at+`,"part":{"type":"summary_text","text":""}`)
	w.pieces(w.cut(reasoning, false), "response.reasoning_summary_text", at, "delta", "text", reasoning, "")
	w.on(kit.Structure, "response.reasoning_summary_part.done", at+`,"part":{"type":"summary_text","text":`+string(kit.AppendText(nil, reasoning))+`}`)
}

func (w *responsesStream) message(c *kit.Choice) {
	const at = `,"content_index":0`
	w.on(kit.Structure, "response.content_part.added", at+`,"part":`+string(w.r.part(nil, false)))
	if c.Refused {
		w.pieces(w.cut(c.Text, true), "response.refusal", at, "delta", "refusal", c.Text, "")
	} else {
		w.text(c, at)
	}
	if c.SearchResult != nil {
		w.on(kit.Structure, "response.output_text.annotation.added", at+`,"annotation_index":0,"annotation":`+string(w.r.annotation(nil)))
	}
	w.on(kit.Structure, "response.content_part.done", at+`,"part":`+string(w.r.part(nil, true)))
}

// text sends the text of the message, each piece with its log probabilities.
func (w *responsesStream) text(c *kit.Choice, at string) {
	probs := func(piece string, from int) string {
		if !w.r.q.logprobs {
			return `,"logprobs":[]`
		}
		return `,"logprobs":` + string(appendLogprobs(nil, c, piece, from, w.r.q.Request.Top))
	}
	cut := newCutter(c.Text, &w.r.q.Request.Knobs, true)
	sent := 0
	for w.going {
		piece, tokens := cut.next()
		if piece == "" {
			break
		}
		w.on(kit.Content, "response.output_text.delta", at+`,"delta":`+string(kit.AppendText(nil, piece))+probs(piece, sent))
		sent += tokens
	}
	w.on(kit.Structure, "response.output_text.done", at+`,"text":`+string(kit.AppendText(nil, c.Text))+probs(c.Text, 0))
}

// appendRan appends the members of a hosted call after its id and type. All code of a response runs in one container.
func (it *responsesItem) appendRan(dst []byte, r *responsesReply) []byte {
	dst = append(dst, `,"status":"completed"`...)
	switch it.kind {
	case "file_search_call":
		dst = append(kit.AppendText(append(dst, `,"queries":[`...), r.q.Request.Question()), `],"results":null`...)
	case "code_interpreter_call":
		dst = append(append(append(dst, `,"code":"print(2)","outputs":null,"container_id":"cntr_`...), r.key()...), '"')
	case "mcp_call":
		dst = append(dst, `,"approval_request_id":null,"arguments":"{}","error":null,"name":"look","output":"seen","server_label":"sim"`...)
	}
	return append(dst, '}')
}

// toolUsage writes the counts that OpenAI puts next to the usage, where there are any.
func (r *responsesReply) toolUsage(dst []byte) []byte {
	if r.answer.Usage.Searches == 0 {
		return dst
	}
	return append(kit.AppendInt(append(dst, `,"tool_usage":{"web_search":{"num_requests":`...), r.answer.Usage.Searches), `}}`...)
}
