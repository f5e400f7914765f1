package responses

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"time"

	"weir/internal/completion"
	"weir/internal/completion/calls"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/wire"
	"weir/internal/wire/pack"
)

// Options are what an answer repeats of its request, and the sources of its ids and times.
type Options struct {
	ID      string // "resp_..."
	Created int64  // Unix seconds
	Stored  bool
	NewID   func(prefix string) string // makes a random id with that prefix
	Now     func() time.Time
	// Keep gets the finished answer before the client has its end; nil: it is not stored.
	Keep func(Kept)
	// Seal encrypts the summary of a conversation, as the content of a compaction, "" where it cannot; nil: the answer is none.
	Seal func(summary []byte) string

	model     string // as requested: the model's name until an attempt succeeds
	encrypted bool   // reasoning is shown in a form that can be sent again
	exclude   bool   // reasoning is not shown
	summed    bool   // reasoning is shown as a summary, as the client asked
	spaces    map[string]space
	freeText  map[string]bool // names of tools that take free text, as other wires have them
	memory    completion.Memory
	echo      []byte // members that repeat the request
	metadata  int    // where in echo those of the object metadata begin
}

// Kept is an answer to be stored. Its slices are copies.
type Kept struct {
	Status string
	Object []byte   // the response object as the client gets it
	Output []byte   // its items with everything that the next turn needs, separated by commas
	IDs    []string // of the items
}

// OptionsOf adds what an answer repeats of the request.
func OptionsOf(req *Request, o Options) Options {
	o.model, o.encrypted, o.exclude, o.summed = req.Models[0], req.Encrypted, req.Reasoning.Exclude, req.Reasoning.Summary != ""
	o.spaces, o.freeText, o.memory = spacesOf(req), freeTextOf(req), req.Memory
	o.echo = appendEcho(nil, req, &o)
	o.metadata = bytes.Index(o.echo, []byte(metadataBegins)) + len(metadataBegins)
	return o
}

// Queued is the response object of a request that has not begun.
func Queued(o *Options) []byte {
	c := composer{o: o}
	return c.appendResponse(nil, &ending{status: "queued"}, nil)
}

// metadataBegins occurs nowhere earlier in an echo: before it are only instructions, a text, and numbers.
const metadataBegins = `,"metadata":{`

// appendEcho writes the members of a response that repeat the request: strictly typed SDKs require all of them.
func appendEcho(b []byte, req *Request, o *Options) []byte {
	given := func(name string) []byte {
		if name == "metadata" {
			return req.Metadata // as stored, without a client's white space
		}
		for i := range req.Members {
			if m := &req.Members[i]; m.Name == name {
				return wire.Present(req.Body[m.Value:m.End])
			}
		}
		return nil
	}
	for _, m := range [...]struct{ name, absent string }{
		{"instructions", "null"}, {"max_output_tokens", "null"}, {"max_tool_calls", "null"}, {"metadata", "{}"}, {"parallel_tool_calls", "true"}, {"temperature", "1"},
		{"top_p", "1"}, {"frequency_penalty", "0"}, {"presence_penalty", "0"}, {"top_logprobs", "0"}, {"tool_choice", `"auto"`}, {"tools", "[]"}, {"truncation", `"disabled"`}, {"user", "null"}, {"prompt_cache_key", "null"}, {"safety_identifier", "null"},
	} {
		b = append(append(append(b, `,"`...), m.name...), `":`...)
		switch v := given(m.name); {
		case v == nil:
			b = append(b, m.absent...)
		case m.name == "tools":
			b = appendTools(b, v)
		default:
			b = rawjson.AppendOneLine(b, v)
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

// appendTools writes the tools of the request. Functions have all members that SDKs require.
func appendTools(b, tools []byte) []byte {
	b = append(b, '[')
	for e := rawjson.ElementsOf(tools); e.Next(); {
		if b[len(b)-1] != '[' {
			b = append(b, ',')
		}
		b = rawjson.AppendOneLine(b, e.Value)
		if rawjson.TextAt(e.Value, "type") != "function" {
			continue
		}
		for _, name := range [...]string{"parameters", "strict"} {
			if rawjson.Find(e.Value, name) == nil {
				b = append(append(append(b[:len(b)-1], `,"`...), name...), `":null}`...)
			}
		}
	}
	return append(b, ']')
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
	compactionItem
)

// item is an output item that is open.
type item struct {
	kind      kind
	id        string
	callID    string
	name      string
	text      []byte // of the open part, or the arguments
	part      string // type of the open part, "" none
	parts     []byte // closed parts, separated by commas
	nparts    int
	notes     []byte // annotations of the open part, separated by commas
	nnotes    int
	logprobs  []byte // of the open part, separated by commas
	summary   bool   // its parts are those of a summary
	reasoning completion.ReasoningDetail
}

// begun reports whether the item has any part.
func (it *item) begun() bool { return it.nparts > 0 || it.part != "" }

// composer makes output items from events, and reports each step to its listener.
type composer struct {
	o      *Options
	tell   func(name string, members []byte) // nil: no listener
	served relay.Served
	open   item
	items  []byte // closed items as the client sees them, separated by commas
	kept   []byte // the same items as the next turn needs them, where the answer is stored
	ids    []string
	count  int
	said   []byte // all visible text
	calls  calls.Assembler
	finish completion.FinishReason
	buf    []byte

	sources []byte                       // annotations that wait for a text, separated by commas
	sealed  []completion.ReasoningDetail // signatures of the open message, of which more may come
}

func newComposer(o *Options, served relay.Served) composer {
	return composer{o: o, served: served, calls: calls.Assembler{Order: calls.InTurn, Answer: o.ID, Memory: o.memory, FreeText: o.freeText, Text: wire.FreeText}}
}

func (c *composer) event(ev *completion.Event) {
	if c.o.Seal != nil {
		c.summarize(ev)
		return
	}
	c.calls.Event(ev, c.ordered)
}

// ordered takes in an event whose calls are in order.
func (c *composer) ordered(ev *completion.Event) {
	if !c.o.exclude {
		c.reasoning(ev)
	}
	for i, text := range [...][]byte{ev.Text, wire.Transcript(ev.Audio)} {
		if len(text) == 0 {
			continue
		}
		logprobs := ev.Logprobs
		if i > 0 {
			logprobs = nil // they are those of the text
		}
		c.inPart(messageItem, "output_text", false)
		if len(c.sources) > 0 {
			c.annotations(Join(c.sources))
			c.sources = nil
		}
		c.delta("response.output_text.delta", text, logprobs)
		c.said = append(c.said, text...)
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

// reasoning makes an item of each piece of reasoning, so that a client sends each back whole.
func (c *composer) reasoning(ev *completion.Event) {
	if len(ev.ReasoningDetails) == 0 {
		if len(ev.Reasoning) > 0 {
			c.think(ev.Reasoning, c.o.summed)
		}
		return
	}
	details := wire.Reasoning(ev.ReasoningDetails)
	for i := range details {
		c.reasoningDetail(&details[i])
	}
}

func (c *composer) reasoningDetail(t *completion.ReasoningDetail) {
	if t.Kind == completion.ReasoningEncrypted && t.Format == completion.FormatGoogle && t.ID == "" && c.open.kind == messageItem {
		c.sealed = append(c.sealed, *t)
		return
	}
	if t.Kind == completion.ReasoningEncrypted {
		if c.open.kind != reasoningItem || c.open.reasoning.Data != "" || c.open.reasoning.Signature != "" || t.Format != completion.FormatOpenAI {
			c.close("completed")
			c.begin(&item{kind: reasoningItem})
		}
		c.open.reasoning = *t
		return
	}
	summary := c.o.summed || t.Kind == completion.ReasoningSummary
	c.in(reasoningItem, summary)
	if t.Text != "" {
		c.think([]byte(t.Text), summary)
	}
	if t.Format != "" {
		c.open.reasoning.Format = t.Format
	}
	c.open.reasoning.Kind = t.Kind
	if t.Signature != "" {
		c.open.reasoning.Signature = t.Signature
	}
}

// think writes reasoning as text, or as a summary, which clients of this wire request and show.
func (c *composer) think(text []byte, summary bool) {
	part, event := "reasoning_text", "response.reasoning_text.delta"
	if summary {
		part, event = "summary_text", "response.reasoning_summary_text.delta"
	}
	c.inPart(reasoningItem, part, summary)
	c.delta(event, text, nil)
}

// in makes sure that an item of that kind is open. A piece of reasoning that has a signature or a summary is another item.
func (c *composer) in(k kind, summary bool) {
	it := &c.open
	if it.kind == k && it.reasoning.Signature == "" && it.reasoning.Data == "" && (it.summary == summary || !it.begun()) {
		it.summary = summary
		return
	}
	c.close("completed")
	c.begin(&item{kind: k, summary: summary})
}

// inPart makes sure that an item of that kind is open, with a part of that type.
func (c *composer) inPart(k kind, part string, summary bool) {
	c.in(k, summary)
	if c.open.part == part {
		return
	}
	c.closePart()
	c.open.part = part
	if c.tell == nil {
		return
	}
	if summary {
		c.send("response.reasoning_summary_part.added", append(c.at("summary_index"), `,"part":{"type":"summary_text","text":""}`...))
		return
	}
	c.send("response.content_part.added", appendPart(append(c.at("content_index"), `,"part":`...), &item{part: part}))
}

// named writes the members that identify the open item.
func (c *composer) named() []byte {
	b := append(c.buf[:0], `,"item_id":"`...)
	b = append(append(b, c.open.id...), `","output_index":`...)
	return strconv.AppendInt(b, int64(c.count), 10)
}

// at writes the members that identify the open part.
func (c *composer) at(index string) []byte {
	b := append(append(append(c.named(), `,"`...), index...), `":`...)
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

// annotations adds the sources of an answer to its text. Those that come before the text wait for it; those that come when the message has
// ended are left out: a second message would be a second answer to clients.
func (c *composer) annotations(list []byte) {
	if c.open.kind != messageItem {
		if len(c.said) == 0 {
			if len(c.sources) > 0 {
				c.sources = append(c.sources, ',')
			}
			c.sources = append(c.sources, bytes.TrimSpace(list)[1:len(bytes.TrimSpace(list))-1]...)
		}
		return
	}
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

// flat is a citation in this wire's form: its members are next to the type, not below it.
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
	if t.First {
		c.close("completed")
		if t.Signature != "" { // the call itself has no field for it
			c.sign(t.ID, t.Signature)
		}
		k := callItem
		if t.Custom {
			k = customItem
		}
		c.begin(&item{kind: k, callID: t.ID, name: t.Name})
	}
	if len(t.Arguments) > 0 {
		c.arguments(t.Arguments)
	}
	if t.Last {
		c.close("completed")
	}
}

func (c *composer) arguments(b []byte) {
	c.open.text = append(c.open.text, b...)
	if c.tell == nil {
		return
	}
	event := "response.function_call_arguments.delta"
	if c.open.kind == customItem {
		event = "response.custom_tool_call_input.delta"
	}
	c.send(event, rawjson.AppendString(append(c.named(), `,"delta":`...), b))
}

// sign makes an item of a call's signature, which the client gets if it must send it back.
func (c *composer) sign(call, signature string) {
	it := item{kind: reasoningItem, reasoning: completion.ReasoningDetail{Kind: completion.ReasoningEncrypted, Format: completion.FormatGoogle, ID: call, Data: signature}}
	if c.o.encrypted {
		c.begin(&it)
		c.close("completed")
		return
	}
	it.id = c.o.NewID(prefixes[reasoningItem])
	c.keep(&it, "completed")
}

// keep stores an item for the next turn.
func (c *composer) keep(it *item, status string) {
	if c.o.Keep == nil {
		return
	}
	if len(c.kept) > 0 {
		c.kept = append(c.kept, ',')
	}
	c.kept = c.appendItem(c.kept, it, status, true)
	c.ids = append(c.ids, it.id)
}

// image makes an item of an image.
func (c *composer) image(v []byte) {
	url := rawjson.FindPath(v, "image_url", "url")
	if url == nil {
		url = rawjson.Find(v, "url")
	}
	c.close("completed")
	c.begin(&item{kind: imageItem})
	var bad *fault.Error // of a provider's image: the item is then empty, as that of an image elsewhere
	c.open.text = wire.MediaFrom(&bad, "", url).Base64.Text()
	c.close("completed")
}

var prefixes = [...]string{messageItem: "msg_", reasoningItem: "rs_", callItem: "fc_", customItem: "ctc_", imageItem: "ig_", compactionItem: "cmp_"}

func (c *composer) begin(it *item) {
	c.open = *it
	c.open.id = c.o.NewID(prefixes[it.kind])
	if c.tell != nil {
		b := strconv.AppendInt(append(c.buf[:0], `,"output_index":`...), int64(c.count), 10)
		empty := c.open
		empty.reasoning = completion.ReasoningDetail{}
		c.send("response.output_item.added", c.appendItem(append(b, `,"item":`...), &empty, "in_progress", false))
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
	member := `,"text":`
	if it.part == "refusal" {
		member = `,"refusal":`
	}
	b := rawjson.AppendString(append(c.at(c.index()), member...), it.text)
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
	if c.tell != nil {
		switch it.kind {
		case callItem:
			b := c.appendName(c.named(), it.name)
			c.send("response.function_call_arguments.done", rawjson.AppendString(append(b, `,"arguments":`...), it.text))
		case customItem:
			c.send("response.custom_tool_call_input.done", rawjson.AppendString(append(c.named(), `,"input":`...), it.text))
		}
	}
	if c.count > 0 {
		c.items = append(c.items, ',')
	}
	from := len(c.items)
	c.items = c.appendItem(c.items, it, status, c.o.encrypted)
	c.keep(it, status)
	if c.tell != nil {
		b := strconv.AppendInt(append(c.buf[:0], `,"output_index":`...), int64(c.count), 10)
		c.send("response.output_item.done", append(append(b, `,"item":`...), c.items[from:]...))
	}
	c.count++
	c.open = item{}
	sealed := c.sealed
	c.sealed = nil
	for i := range sealed {
		c.begin(&item{kind: reasoningItem, reasoning: sealed[i]})
		c.close("completed")
	}
}

// appendItem writes an item in its current state; whole adds the data with which reasoning can be sent back.
func (c *composer) appendItem(b []byte, it *item, status string, whole bool) []byte {
	b = append(append(append(b, `{"id":"`...), it.id...), `","type":"`...)
	done := status != "in_progress"
	switch it.kind {
	case messageItem:
		b = append(append(b, `message","role":"assistant","content":[`...), it.parts...)
		b = append(b, ']')
	case reasoningItem:
		b = c.appendReasoning(append(b, `reasoning"`...), it, whole)
	case callItem:
		b = rawjson.AppendText(append(b, `function_call","call_id":`...), it.callID)
		b = c.appendName(b, it.name)
		b = rawjson.AppendString(append(b, `,"arguments":`...), it.text)
	case customItem:
		b = rawjson.AppendText(append(b, `custom_tool_call","call_id":`...), it.callID)
		b = c.appendName(b, it.name)
		b = rawjson.AppendString(append(b, `,"input":`...), it.text)
	case compactionItem:
		if !done {
			return append(b, `compaction","encrypted_content":""}`...)
		}
		return append(rawjson.AppendString(append(b, `compaction","encrypted_content":`...), it.text), '}')
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

// appendReasoning writes the members of a piece of reasoning. Unsigned reasoning is stored without encrypted content; clients get it with
// encrypted content, because some send back nothing else.
func (c *composer) appendReasoning(b []byte, it *item, whole bool) []byte {
	if it.summary {
		b = append(append(append(b, `,"summary":[`...), it.parts...), ']')
	} else if b = append(b, `,"summary":[]`...); len(it.parts) > 0 {
		b = append(append(append(b, `,"content":[`...), it.parts...), ']')
	}
	t := it.reasoning
	if t.Kind != completion.ReasoningEncrypted {
		t.Text = textOf(it.parts) // some clients send back only this member of an item
	}
	unsigned := t.Data == "" && t.Signature == ""
	if !whole || unsigned && (t.Text == "" || !c.o.encrypted) {
		return b
	}
	data := t.Data
	if t.Format != completion.FormatOpenAI || t.Kind != completion.ReasoningEncrypted || t.ID != "" {
		data = pack.Pack(&t)
	}
	return rawjson.AppendText(append(b, `,"encrypted_content":`...), data)
}

// textOf is the text of closed parts.
func textOf(parts []byte) string {
	var text []byte
	for e := rawjson.ElementsOf(slices.Concat([]byte{'['}, parts, []byte{']'})); e.Next(); {
		text, _ = rawjson.AppendUnquoted(text, rawjson.Find(e.Value, "text"))
	}
	return string(text)
}

// ending returns the status of a response.
type ending struct {
	status  string
	reason  string // why it is incomplete
	output  []byte // its items, separated by commas
	kept    []byte // the same for the next turn
	ids     []string
	failure []byte // {"error":{"code","message"},"error_type"} of one that failed
}

// cutOff is the error of an answer that its provider ended with an error.
const cutOff = `{"error":{"code":"server_error","message":"The provider's answer broke off."},"error_type":"provider_unavailable"}`

// end closes the open item and returns how the answer ended.
func (c *composer) end() *ending {
	e := &ending{status: "completed"}
	switch c.finish {
	case completion.Length:
		e.status, e.reason = "incomplete", "max_output_tokens"
	case completion.ContentFilter:
		e.status, e.reason = "incomplete", "content_filter"
	case completion.Failed:
		e.status, e.failure = "failed", []byte(cutOff)
	}
	last := "completed"
	if e.status != "completed" {
		last = "incomplete"
	}
	if c.o.Seal != nil {
		if c.sealSummary(); len(c.open.text) == 0 {
			c.open = item{}
			e.status, e.reason, e.failure = "failed", "", []byte(noSummary)
		}
	}
	c.calls.End(c.ordered)
	c.close(last)
	e.output, e.kept, e.ids = c.items, c.kept, c.ids
	return e
}

// native returns how an answer ended whose upstream uses this wire and reported the end itself.
func (c *composer) native(object []byte) *ending {
	e := &ending{status: rawjson.TextAt(object, "status")}
	switch e.status {
	case "incomplete":
		e.reason = rawjson.Text(rawjson.FindPath(object, "incomplete_details", "reason"))
	default: // a failed one is a fault and not an answer
		e.status = "completed"
	}
	c.said = c.said[:0]
	for el := rawjson.ElementsOf(rawjson.Find(object, "output")); el.Next(); {
		c.add(e, el.Value)
	}
	return e
}

// add writes an item of an upstream of this wire into an ending.
func (c *composer) add(e *ending, v []byte) {
	if len(e.output) > 0 {
		e.output, e.kept = append(e.output, ','), append(e.kept, ',')
	}
	e.output = c.appendShown(e.output, v)
	if c.o.Keep != nil {
		e.kept = rawjson.AppendOneLine(e.kept, v)
	}
	e.ids = append(e.ids, rawjson.TextAt(v, "id"))
	for part := rawjson.ElementsOf(rawjson.Find(v, "content")); part.Next(); {
		if rawjson.TextAt(part.Value, "type") == "output_text" {
			c.said = append(c.said, rawjson.TextAt(part.Value, "text")...)
		}
	}
}

// appendShown writes an upstream's item in the form for the client.
func (c *composer) appendShown(b, v []byte) []byte {
	if c.o.encrypted || rawjson.TextAt(v, "type") != "reasoning" || rawjson.Find(v, "encrypted_content") == nil { // of other items it is all that they are
		return rawjson.AppendOneLine(b, v)
	}
	first := len(b) + 1
	b = append(b, '{')
	for m := rawjson.MembersOf(v); m.Next(); {
		if string(m.Name) == "encrypted_content" {
			continue
		}
		if len(b) > first {
			b = append(b, ',')
		}
		b = rawjson.AppendOneLine(b, v[m.Start:m.End])
	}
	return append(b, '}')
}

// settle writes the object of a finished answer, and stores it.
func (c *composer) settle(e *ending, receipt *relay.Receipt) []byte {
	object := c.appendResponse(nil, e, receipt)
	if c.o.Keep != nil {
		c.o.Keep(Kept{Status: e.status, Object: object, Output: e.kept, IDs: e.ids})
	}
	return object
}

// appendResponse writes the response object; receipt is nil before the end.
func (c *composer) appendResponse(b []byte, e *ending, receipt *relay.Receipt) []byte {
	o := c.o
	b = rawjson.AppendText(append(b, `{"id":`...), o.ID)
	b = strconv.AppendInt(append(b, `,"object":"response","created_at":`...), o.Created, 10)
	b = append(append(append(b, `,"status":"`...), e.status...), `","completed_at":`...)
	if e.status == "completed" {
		b = strconv.AppendInt(b, o.Now().Unix(), 10)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"error":`...)
	if e.failure != nil {
		b = rawjson.AppendOneLine(b, rawjson.Find(e.failure, "error"))
		b = append(append(b, `,"error_type":`...), rawjson.Find(e.failure, "error_type")...)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"incomplete_details":`...)
	if e.reason != "" {
		b = append(rawjson.AppendText(append(b, `{"reason":`...), e.reason), '}')
	} else {
		b = append(b, "null"...)
	}
	b = rawjson.AppendText(append(b, `,"model":`...), cmp.Or(c.served.Model, o.model))
	if ep := c.served.Endpoint; ep != nil && ep.Provider != nil {
		b = rawjson.AppendText(append(b, `,"provider":`...), ep.Provider.Name)
	}
	b = append(b, o.echo[:o.metadata]...)
	if notice := c.served.Head.Notice; notice != "" {
		b = rawjson.AppendText(append(b, `"notice":`...), notice)
		if o.echo[o.metadata] != '}' {
			b = append(b, ',')
		}
	}
	b = append(b, o.echo[o.metadata:]...)
	b = append(append(append(b, `,"service_tier":"`...), cmp.Or(wire.Tier(c.served.Head.Tier), "default")...), '"')
	b = append(append(append(b, `,"output":[`...), e.output...), `],"output_text":`...)
	b = rawjson.AppendString(b, c.said)
	b = append(b, `,"usage":`...)
	if receipt == nil {
		return append(b, "null}"...)
	}
	return append(appendUsage(b, receipt), '}')
}

// appendUsage writes the usage object of this wire; both detail objects are always present.
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
	number("cache_write_tokens", u.Written().N)
	b = append(b, "},"...)
	number("output_tokens", u.Completion.N)
	b = append(b, `,"output_tokens_details":{`...)
	number("reasoning_tokens", u.Reasoning.N)
	b = append(b, "},"...)
	number("total_tokens", u.Prompt.N+u.Completion.N)
	return append(wire.AppendCost(append(b, ','), r), '}')
}
