package responses

import (
	"strconv"

	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/wire"
)

// Options are what an answer repeats of its request, and where its names come from.
type Options struct {
	ID        string // "resp_..."
	Created   int64  // Unix seconds
	Encrypted bool   // reasoning comes back in a form that can be sent again
	Exclude   bool   // reasoning is not shown
	Stored    bool
	Previous  string
	// NewID makes a random id with that prefix.
	NewID func(prefix string) string
	// Keep is told the output items, a JSON list, and the whole response object, when the answer has ended; nil: nobody keeps them.
	Keep func(output, response []byte)

	echo []byte // members that repeat the request
}

// OptionsOf fills in what an answer repeats of the request.
func OptionsOf(req *Request, o Options) Options {
	o.Encrypted, o.Exclude, o.Previous = req.Encrypted, req.Reasoning.Exclude, req.Previous
	o.echo = appendEcho(nil, req, &o)
	return o
}

// appendEcho writes the members of a response that repeat the request: SDKs for strict languages want all of them.
func appendEcho(b []byte, req *Request, o *Options) []byte {
	given := func(name string) []byte {
		for i := range req.Members {
			if m := &req.Members[i]; m.Name == name {
				return wire.Present(req.Body[m.Value:m.End])
			}
		}
		return nil
	}
	for _, m := range [...]struct{ name, absent string }{
		{"instructions", "null"}, {"max_output_tokens", "null"}, {"max_tool_calls", "null"}, {"metadata", "{}"}, {"parallel_tool_calls", "true"}, {"temperature", "1"},
		{"top_p", "1"}, {"tool_choice", `"auto"`}, {"tools", "[]"}, {"truncation", `"disabled"`}, {"user", "null"}, {"prompt_cache_key", "null"}, {"safety_identifier", "null"},
	} {
		b = append(append(append(b, `,"`...), m.name...), `":`...)
		if v := given(m.name); v != nil {
			b = rawjson.AppendOneLine(b, v)
		} else {
			b = append(b, m.absent...)
		}
	}
	b = append(b, `,"reasoning":{"effort":`...)
	b = appendOr(b, req.Reasoning.Effort)
	b = appendOr(append(b, `,"summary":`...), req.Reasoning.Summary)
	b = append(b, `},"text":`...)
	if v := given("text"); rawjson.KindOf(rawjson.Find(v, "format")) == rawjson.Object {
		b = rawjson.AppendOneLine(b, v)
	} else {
		b = append(b, `{"format":{"type":"text"}}`...)
	}
	b = appendOr(append(b, `,"previous_response_id":`...), req.Previous)
	b = strconv.AppendBool(append(b, `,"store":`...), o.Stored)
	return strconv.AppendBool(append(b, `,"background":`...), req.Background)
}

// appendOr writes a text, or null for the empty one.
func appendOr(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	return rawjson.AppendText(b, s)
}

// kind of an output item.
type kind uint8

const (
	noItem kind = iota
	messageItem
	reasoningItem
	callItem
	customItem
	imageItem
)

// item is an output item that is open.
type item struct {
	kind     kind
	id       string
	callID   string
	name     string
	text     []byte // of the open part, or the arguments
	part     string // type of the open part, "" none
	parts    []byte // closed parts, separated by commas
	nparts   int
	notes    []byte // annotations of the open part, separated by commas
	nnotes   int
	logprobs []byte // of the open part, separated by commas
	summary  bool   // the open part is one of summary
	thought  completion.Thought
}

// composer makes items of events, and tells each step where somebody listens.
type composer struct {
	o      *Options
	tell   func(name string, members []byte) // nil: nobody listens
	served relay.Served
	open   item
	items  []byte // closed items, separated by commas
	count  int
	said   []byte // all visible text
	calls  int
	finish completion.FinishReason
	buf    []byte
}

func (c *composer) event(ev *completion.Event) {
	if !c.o.Exclude {
		c.reasoning(ev)
	}
	if len(ev.Text) > 0 {
		c.inPart(messageItem, "output_text", false)
		c.delta("response.output_text.delta", ev.Text, ev.Logprobs)
		c.said = append(c.said, ev.Text...)
	}
	if len(ev.Annotations) > 0 {
		c.annotations(ev.Annotations)
	}
	if len(ev.Refusal) > 0 {
		c.inPart(messageItem, "refusal", false)
		c.delta("response.refusal.delta", ev.Refusal, nil)
	}
	for i := range ev.ToolCalls {
		c.call(&ev.ToolCalls[i])
	}
	for e := rawjson.ElementsOf(ev.Images); e.Next(); {
		c.image(e.Value)
	}
	if ev.Finish != "" && c.finish == "" {
		c.finish = ev.Finish
	}
}

// reasoning makes an item of each thought: so that each comes back whole.
func (c *composer) reasoning(ev *completion.Event) {
	if len(ev.ReasoningDetails) == 0 {
		if len(ev.Reasoning) > 0 {
			c.inPart(reasoningItem, "reasoning_text", false)
			c.delta("response.reasoning_text.delta", ev.Reasoning, nil)
		}
		return
	}
	details := wire.Thoughts(ev.ReasoningDetails)
	for i := range details {
		c.thought(&details[i])
	}
}

func (c *composer) thought(t *completion.Thought) {
	if t.Kind == completion.ThoughtEncrypted {
		if c.open.kind != reasoningItem || c.open.thought.Data != "" || c.open.thought.Signature != "" || t.Format != completion.FormatOpenAI {
			c.close("completed")
			c.begin(&item{kind: reasoningItem, id: t.ID})
		}
		c.open.thought = *t
		return
	}
	if c.open.kind == reasoningItem && c.open.thought.Signature != "" {
		c.close("completed") // the next thought
	}
	part, event, summary := "reasoning_text", "response.reasoning_text.delta", false
	if t.Kind == completion.ThoughtSummary {
		part, event, summary = "summary_text", "response.reasoning_summary_text.delta", true
	}
	if c.open.kind != reasoningItem {
		c.close("completed")
		c.begin(&item{kind: reasoningItem, id: t.ID})
	}
	if t.Text != "" {
		c.inPart(reasoningItem, part, summary)
		c.delta(event, []byte(t.Text), nil)
	}
	if t.Format != "" {
		c.open.thought.Format = t.Format
	}
	c.open.thought.Kind = t.Kind
	if t.Signature != "" {
		c.open.thought.Signature = t.Signature
	}
}

// inPart makes sure that an item of that kind is open, with a part of that type.
func (c *composer) inPart(k kind, part string, summary bool) {
	if c.open.kind != k {
		c.close("completed")
		c.begin(&item{kind: k})
	}
	if c.open.part == part {
		return
	}
	c.closePart()
	c.open.part, c.open.summary = part, summary
	if c.tell == nil {
		return
	}
	if summary {
		c.send("response.reasoning_summary_part.added", append(c.at("summary_index"), `,"part":{"type":"summary_text","text":""}`...))
		return
	}
	c.send("response.content_part.added", append(appendPart(append(c.at("content_index"), `,"part":`...), &item{part: part}), ""...))
}

// ids are the members that name an item.
func (c *composer) ids() []byte {
	b := append(c.buf[:0], `,"item_id":"`...)
	b = append(append(b, c.open.id...), `","output_index":`...)
	return strconv.AppendInt(b, int64(c.count), 10)
}

// at are the members that name the open part.
func (c *composer) at(index string) []byte {
	b := append(append(append(c.ids(), `,"`...), index...), `":`...)
	return strconv.AppendInt(b, int64(c.open.nparts), 10)
}

func (c *composer) send(name string, members []byte) {
	c.buf = members
	c.tell(name, members)
}

func (c *composer) index() string {
	if c.open.summary {
		return "summary_index"
	}
	return "content_index"
}

func (c *composer) delta(event string, text, logprobs []byte) {
	c.open.text = append(c.open.text, text...)
	list := rawjson.Find(logprobs, "content")
	if n := len(list); n > 2 && list[0] == '[' {
		if len(c.open.logprobs) > 0 {
			c.open.logprobs = append(c.open.logprobs, ',')
		}
		c.open.logprobs = append(c.open.logprobs, list[1:n-1]...)
	} else {
		list = []byte("[]")
	}
	if c.tell == nil {
		return
	}
	b := rawjson.AppendString(append(c.at(c.index()), `,"delta":`...), text)
	if event == "response.output_text.delta" {
		b = rawjson.AppendOneLine(append(b, `,"logprobs":`...), list)
	}
	c.send(event, b)
}

func (c *composer) annotations(list []byte) {
	c.inPart(messageItem, "output_text", false)
	for e := rawjson.ElementsOf(list); e.Next(); {
		note := flat(e.Value)
		if c.tell != nil {
			b := append(c.at("content_index"), `,"annotation_index":`...)
			b = strconv.AppendInt(b, int64(c.open.nnotes), 10)
			c.send("response.output_text.annotation.added", append(append(b, `,"annotation":`...), note...))
		}
		if c.open.nnotes > 0 {
			c.open.notes = append(c.open.notes, ',')
		}
		c.open.notes = append(c.open.notes, note...)
		c.open.nnotes++
	}
}

// flat is a citation as this wire has it: its members beside the type, not below it.
func flat(v []byte) []byte {
	inner := rawjson.Find(v, "url_citation")
	if rawjson.KindOf(inner) != rawjson.Object {
		return rawjson.AppendOneLine(nil, v)
	}
	out := append(make([]byte, 0, len(v)), `{"type":"url_citation"`...)
	for m := rawjson.MembersOf(inner); m.Next(); {
		switch string(m.Name) {
		case "url", "title", "start_index", "end_index":
			out = rawjson.AppendOneLine(append(out, ','), inner[m.Start:m.End])
		}
	}
	return append(out, '}')
}

func (c *composer) call(t *completion.ToolCall) {
	if t.Index >= c.calls {
		c.close("completed")
		c.calls = t.Index + 1
		id := t.ID
		if id == "" {
			id = c.o.NewID("call_")
		}
		if t.Signature != "" && c.o.Encrypted { // there is no place for it in the call itself
			c.begin(&item{kind: reasoningItem, thought: completion.Thought{Kind: completion.ThoughtEncrypted, Format: completion.FormatGoogle, ID: id, Data: t.Signature}})
			c.close("completed")
		}
		k := callItem
		if t.Custom {
			k = customItem
		}
		c.begin(&item{kind: k, callID: id, name: t.Name})
	}
	if len(t.Arguments) == 0 || c.open.kind != callItem && c.open.kind != customItem {
		return
	}
	c.open.text = append(c.open.text, t.Arguments...)
	if c.tell == nil {
		return
	}
	event := "response.function_call_arguments.delta"
	if c.open.kind == customItem {
		event = "response.custom_tool_call_input.delta"
	}
	c.send(event, rawjson.AppendString(append(c.ids(), `,"delta":`...), t.Arguments))
}

// image makes an item of a picture.
func (c *composer) image(v []byte) {
	url := rawjson.FindPath(v, "image_url", "url")
	if url == nil {
		url = rawjson.Find(v, "url")
	}
	c.close("completed")
	c.begin(&item{kind: imageItem})
	c.open.text = wire.MediaFrom(url).Base64
	c.close("completed")
}

var prefixes = [...]string{messageItem: "msg_", reasoningItem: "rs_", callItem: "fc_", customItem: "ctc_", imageItem: "ig_"}

func (c *composer) begin(it *item) {
	c.open = *it
	if c.open.id == "" || it.kind != reasoningItem {
		c.open.id = c.o.NewID(prefixes[it.kind])
	}
	if c.tell != nil {
		b := strconv.AppendInt(append(c.buf[:0], `,"output_index":`...), int64(c.count), 10)
		empty := c.open
		empty.thought = completion.Thought{}
		c.send("response.output_item.added", c.appendItem(append(b, `,"item":`...), &empty, "in_progress"))
	}
}

// closePart ends the open part.
func (c *composer) closePart() {
	it := &c.open
	if it.part == "" {
		return
	}
	if c.tell != nil {
		c.partDone(it)
	}
	if it.nparts > 0 {
		it.parts = append(it.parts, ',')
	}
	it.parts = appendPart(it.parts, it)
	it.nparts++
	it.part, it.text, it.notes, it.nnotes, it.logprobs = "", it.text[:0], it.notes[:0], 0, it.logprobs[:0]
}

func (c *composer) partDone(it *item) {
	b := rawjson.AppendString(append(c.at(c.index()), map[bool]string{true: `,"refusal":`, false: `,"text":`}[it.part == "refusal"]...), it.text)
	switch it.part {
	case "output_text":
		b = append(append(append(b, `,"logprobs":[`...), it.logprobs...), ']')
		c.send("response.output_text.done", b)
	case "refusal":
		c.send("response.refusal.done", b)
	case "reasoning_text":
		c.send("response.reasoning_text.done", b)
	default:
		c.send("response.reasoning_summary_text.done", b)
		c.send("response.reasoning_summary_part.done", appendPart(append(c.at("summary_index"), `,"part":`...), it))
		return
	}
	c.send("response.content_part.done", appendPart(append(c.at("content_index"), `,"part":`...), it))
}

// appendPart writes the open part of an item.
func appendPart(b []byte, it *item) []byte {
	b = append(append(append(b, `{"type":"`...), it.part...), `","`...)
	if it.part == "refusal" {
		return append(rawjson.AppendString(append(b, `refusal":`...), it.text), '}')
	}
	b = rawjson.AppendString(append(b, `text":`...), it.text)
	if it.part == "output_text" {
		b = append(append(append(b, `,"annotations":[`...), it.notes...), `],"logprobs":[`...)
		b = append(append(b, it.logprobs...), ']')
	}
	return append(b, '}')
}

// close ends the open item.
func (c *composer) close(status string) {
	it := &c.open
	if it.kind == noItem {
		return
	}
	c.closePart()
	if it.kind == callItem && len(it.text) == 0 {
		it.text = append(it.text, "{}"...)
		if c.tell != nil {
			c.send("response.function_call_arguments.delta", append(c.ids(), `,"delta":"{}"`...))
		}
	}
	if c.tell != nil {
		switch it.kind {
		case callItem:
			b := rawjson.AppendText(append(c.ids(), `,"name":`...), it.name)
			c.send("response.function_call_arguments.done", rawjson.AppendString(append(b, `,"arguments":`...), it.text))
		case customItem:
			c.send("response.custom_tool_call_input.done", rawjson.AppendString(append(c.ids(), `,"input":`...), it.text))
		}
	}
	if c.count > 0 {
		c.items = append(c.items, ',')
	}
	from := len(c.items)
	c.items = c.appendItem(c.items, it, status)
	if c.tell != nil {
		b := strconv.AppendInt(append(c.buf[:0], `,"output_index":`...), int64(c.count), 10)
		c.send("response.output_item.done", append(append(b, `,"item":`...), c.items[from:]...))
	}
	c.count++
	c.open = item{}
}

// appendItem writes an item as far as it has come.
func (c *composer) appendItem(b []byte, it *item, status string) []byte {
	b = append(append(append(b, `{"id":"`...), it.id...), `","type":"`...)
	done := status != "in_progress"
	switch it.kind {
	case messageItem:
		b = append(append(b, `message","role":"assistant","content":[`...), it.parts...)
		b = append(b, ']')
	case reasoningItem:
		b = c.appendReasoning(append(b, `reasoning"`...), it)
	case callItem:
		b = rawjson.AppendText(append(b, `function_call","call_id":`...), it.callID)
		b = rawjson.AppendText(append(b, `,"name":`...), it.name)
		b = rawjson.AppendString(append(b, `,"arguments":`...), it.text)
	case customItem:
		b = rawjson.AppendText(append(b, `custom_tool_call","call_id":`...), it.callID)
		b = rawjson.AppendText(append(b, `,"name":`...), it.name)
		b = rawjson.AppendString(append(b, `,"input":`...), it.text)
	case imageItem:
		b = append(b, `image_generation_call","result":`...)
		if done {
			b = rawjson.AppendString(b, it.text)
		} else {
			b = append(b, "null"...)
		}
	}
	return append(append(append(b, `,"status":"`...), status...), `"}`...)
}

func (c *composer) appendReasoning(b []byte, it *item) []byte {
	list := "content"
	if it.thought.Kind == completion.ThoughtSummary {
		list = "summary"
		b = append(append(append(b, `,"summary":[`...), it.parts...), ']')
	} else {
		b = append(b, `,"summary":[]`...)
	}
	if list == "content" && len(it.parts) > 0 {
		b = append(append(append(b, `,"content":[`...), it.parts...), ']')
	}
	t := &it.thought
	if !c.o.Encrypted || t.Data == "" && t.Signature == "" {
		return b
	}
	data := t.Data
	if t.Format != completion.FormatOpenAI || t.Kind != completion.ThoughtEncrypted {
		data = wire.Pack(t)
	}
	return rawjson.AppendText(append(b, `,"encrypted_content":`...), data)
}

// ending is the status of a response whose answer came to its end, and why it is incomplete.
func (c *composer) ending() (status, reason string) {
	switch c.finish {
	case completion.Length:
		return "incomplete", "max_output_tokens"
	case completion.ContentFilter:
		return "incomplete", "content_filter"
	case completion.Failed:
		return "failed", ""
	}
	return "completed", ""
}

// appendResponse writes the response object. output is the list of items without brackets; receipt is nil before the end.
func (c *composer) appendResponse(b []byte, status, reason string, output, failure []byte, receipt *relay.Receipt, completed int64) []byte {
	o := c.o
	b = rawjson.AppendText(append(b, `{"id":`...), o.ID)
	b = strconv.AppendInt(append(b, `,"object":"response","created_at":`...), o.Created, 10)
	b = append(append(append(b, `,"status":"`...), status...), `","completed_at":`...)
	if completed > 0 {
		b = strconv.AppendInt(b, completed, 10)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"error":`...)
	if failure != nil {
		b = append(b, failure...)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"incomplete_details":`...)
	if reason != "" {
		b = append(append(append(b, `{"reason":"`...), reason...), `"}`...)
	} else {
		b = append(b, "null"...)
	}
	b = rawjson.AppendText(append(b, `,"model":`...), c.served.Model)
	if ep := c.served.Endpoint; ep != nil && ep.Provider != nil {
		b = rawjson.AppendText(append(b, `,"provider":`...), ep.Provider.Name)
	}
	b = append(b, o.echo...)
	tier := wire.Tier(c.served.Head.Tier)
	if tier == "" {
		tier = "default"
	}
	b = append(append(append(b, `,"service_tier":"`...), tier...), '"')
	b = append(append(append(b, `,"output":[`...), output...), `],"output_text":`...)
	b = rawjson.AppendString(b, c.said)
	b = append(b, `,"usage":`...)
	if receipt == nil {
		return append(b, "null}"...)
	}
	return append(appendUsage(b, receipt), '}')
}

// appendUsage writes the usage as this wire has it; both detail objects are always there.
func appendUsage(b []byte, r *relay.Receipt) []byte {
	u := &r.Usage
	number := func(name string, n int64) {
		b = strconv.AppendInt(append(append(append(b, '"'), name...), `":`...), max(n, 0), 10)
	}
	b = append(b, '{')
	number("input_tokens", u.Prompt.N)
	b = append(b, `,"input_tokens_details":{`...)
	number("cached_tokens", u.CacheRead.N)
	b = append(b, ',')
	number("cache_write_tokens", u.CacheWrite.N+u.CacheWrite1h.N)
	b = append(b, "},"...)
	number("output_tokens", u.Completion.N)
	b = append(b, `,"output_tokens_details":{`...)
	number("reasoning_tokens", u.Reasoning.N)
	b = append(b, "},"...)
	number("total_tokens", u.Prompt.N+u.Completion.N)
	return append(wire.AppendCost(append(b, ','), r), '}')
}
