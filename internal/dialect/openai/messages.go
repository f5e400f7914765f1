package openai

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/rawjson"
)

// rewriter rewrites messages for a server that requires another form than the client wrote. It is used only when a quirk and the messages
// require it; otherwise messages are sent byte for byte.
type rewriter struct {
	*rawjson.Writer
	developer   bool   // developer is renamed system
	functions   bool   // the deprecated function role and function_call become tool and tool_calls
	flatTools   bool   // a tool's content parts become one string
	signatures  bool   // thought signatures move to extra_content.google
	bare        bool   // thought signatures are removed
	gateway     bool   // fields that only gateways write are removed
	details     bool   // reasoning_details stay
	reasoning   string // name that reasoning is sent back under, "" none
	reasons     bool   // reasoning is rewritten
	nulls       bool   // optional fields that are null are left out
	oldVideo    bool   // parts of type input_video become video_url
	cache       *cacheMarks
	calls       int // number of deprecated calls so far: the gateway makes their ids
	lastFn      string
	keepImages  bool
	keepAnnotes bool
	first       bool   // there is one system message, at the beginning: later ones become the user's
	late        bool   // the beginning is over
	ids         bool   // ids of calls become nine letters and digits
	back        bool   // messages with calls have their reasoning, at least an empty one
	instruction string // goes into the system message
	shows       bool   // media in the results of tools go into a message of the user after them: tool messages have only text
	shown       [][]byte
}

// messages writes the messages member.
func (e *encoder) messages(m *completion.Member, value []byte) {
	has, q := e.req.HasRoles, e.q
	forwards := func(name string) bool { return slices.Contains(q.ForwardExtra, name) }
	w := rewriter{
		developer:  q.SystemRole && has&completion.HasDeveloper != 0,
		functions:  has&completion.HasFunctionRole != 0,
		flatTools:  q.StringToolResult && has&completion.HasToolParts != 0,
		shows:      has&completion.HasToolParts != 0 && media(value),
		signatures: q.ThoughtSignature && has&(completion.HasThoughtSignature|completion.HasReasoning) != 0,
		bare:       !q.ThoughtSignature && has&completion.HasThoughtSignature != 0,
		gateway:    has&completion.HasGatewayFields != 0,
		reasons:    has&completion.HasReasoning != 0,
		nulls:      has&completion.HasNulls != 0,
		oldVideo:   has&completion.HasOldVideo != 0,
	}
	cached := has&completion.HasCacheControl != 0
	if f := &e.ep.Facts; f.SystemMessages != "" || f.CallIDs != "" || f.ReasoningBack != "" || f.JSONSchema != "" {
		calls := (f.CallIDs != "" || f.ReasoningBack != "") && bytes.Contains(value, []byte(`tool_call`))
		w.first = f.SystemMessages == catalog.First && has&completion.HasLateSystem != 0
		w.ids = f.CallIDs == catalog.Alphanumeric9 && (calls || w.functions)
		w.back = f.ReasoningBack == catalog.WithCalls && calls && !e.req.Reasoning.Off() && e.without&catalog.ParamReasoning == 0
		w.instruction = e.instruction()
	}
	if !(w.first || w.ids || w.back || w.instruction != "" || w.shows || w.developer || w.functions || w.flatTools || w.signatures || w.bare || w.gateway || w.reasons || w.nulls || w.oldVideo || cached) {
		e.keep(m)
		return
	}
	if cached {
		w.cache = e.cachePlan()
	}
	w.details, w.keepImages, w.keepAnnotes = forwards("reasoning_details"), forwards("images"), forwards("annotations")
	switch q.ReasoningReply {
	case "none":
	case "":
		w.reasoning = "reasoning_content"
	default:
		w.reasoning = q.ReasoningReply
	}
	w.Writer = e.name("messages")
	w.Array()
	if w.first || w.instruction != "" {
		w.beginning(value)
	}
	for el := rawjson.ElementsOf(value); el.Next(); {
		if (w.first || w.instruction != "") && !w.late {
			if instructs(el.Value) {
				continue
			}
			w.late = true
		}
		if len(w.shown) > 0 && rawjson.TextAt(el.Value, "role") != "tool" {
			w.show()
		}
		w.message(el.Value)
	}
	w.show()
	w.EndArray()
}

// media reports whether messages may have parts other than text.
func media(messages []byte) bool {
	return bytes.Contains(messages, []byte(`_url"`)) || bytes.Contains(messages, []byte(`"input_audio"`)) || bytes.Contains(messages, []byte(`"file"`))
}

// show writes the media of the tool results before it.
func (w *rewriter) show() {
	if len(w.shown) == 0 {
		return
	}
	w.Object()
	w.Name("role").Text("user")
	w.Name("content").Array()
	for _, part := range w.shown {
		if w.cache != nil {
			w.cache.object(w.Writer, part, &w.cache.skipMessages)
		} else {
			w.Raw(part)
		}
	}
	w.Close("]}")
	w.shown = nil
}

// spoken takes the media out of a tool's content, which is then shown after it.
func (w *rewriter) spoken(content []byte) []byte {
	some := false
	for el := rawjson.ElementsOf(content); el.Next(); {
		some = some || isMedia(el.Value)
	}
	if !some {
		return content
	}
	rest := rawjson.Writer{B: make([]byte, 0, 64)}
	rest.Array()
	begin := len(rest.B)
	for el := rawjson.ElementsOf(content); el.Next(); {
		if isMedia(el.Value) {
			if w.oldVideo {
				w.shown = append(w.shown, newVideo(el.Value))
			} else {
				w.shown = append(w.shown, el.Value)
			}
			continue
		}
		rest.Raw(el.Value)
	}
	if len(rest.B) == begin {
		rest.Literal(`{"type":"text","text":"` + completion.Filler + `"}`)
	}
	rest.EndArray()
	return rest.B
}

func isMedia(part []byte) bool {
	switch rawjson.TextAt(part, "type") {
	case "image_url", "input_audio", "file", "video_url", "input_video":
		return true
	}
	return false
}

// instruction describes the format of the answer to the model, "" where the server does.
func (e *encoder) instruction() string {
	format := e.find("response_format")
	if format == nil || !e.described(format) {
		return ""
	}
	text := "Answer with one JSON object and nothing else: no prose, no code fence."
	if schema := rawjson.FindPath(format, "json_schema", "schema"); rawjson.KindOf(schema) == rawjson.Object {
		text += " It must conform to this JSON schema: " + string(schema)
	}
	return text
}

// instructs reports whether a message is of the operator of the conversation.
func instructs(message []byte) bool {
	role := rawjson.TextAt(message, "role")
	return role == "system" || role == "developer"
}

// beginning writes the system messages before the conversation as one, with the instruction at its end.
func (w *rewriter) beginning(messages []byte) {
	var list [][]byte
	plain := true
	for el := rawjson.ElementsOf(messages); el.Next() && instructs(el.Value); {
		list = append(list, el.Value)
		plain = plain && rawjson.KindOf(rawjson.Find(el.Value, "content")) != rawjson.Array
	}
	if w.instruction == "" && len(list) <= 1 {
		for _, v := range list {
			w.message(v)
		}
		return
	}
	w.Object()
	w.Name("role").Text("system")
	w.Name("content")
	if plain {
		var texts []string
		for _, v := range list {
			texts = append(texts, rawjson.TextAt(v, "content"))
		}
		if w.instruction != "" {
			texts = append(texts, w.instruction)
		}
		w.Text(strings.Join(texts, "\n\n"))
		w.EndObject()
		return
	}
	w.Array()
	for _, v := range list {
		w.parts(rawjson.Find(v, "content"))
	}
	if w.instruction != "" {
		w.textPart(w.instruction)
	}
	w.EndArray()
	w.EndObject()
}

func (w *rewriter) textPart(text string) {
	w.Object()
	w.Name("type").Text("text")
	w.Name("text").Text(text)
	w.EndObject()
}

// parts writes a content as the parts of a longer one.
func (w *rewriter) parts(content []byte) {
	if rawjson.KindOf(content) != rawjson.Array {
		w.textPart(rawjson.Text(content))
		return
	}
	for el := rawjson.ElementsOf(content); el.Next(); {
		if w.cache != nil {
			w.cache.object(w.Writer, el.Value, &w.cache.skipMessages)
		} else {
			w.Raw(el.Value)
		}
	}
}

// message writes one message.
func (w *rewriter) message(v []byte) {
	role, _ := rawjson.Unquote(rawjson.Find(v, "role"))
	var text, details, call []byte
	calls, content, spoken := false, false, false
	for m := rawjson.MembersOf(v); m.Next(); {
		switch string(m.Name) {
		case "reasoning_content", "reasoning":
			if len(text) <= len(`""`) && rawjson.KindOf(m.Value) == rawjson.String {
				text = m.Value
			}
		case "reasoning_details":
			details = m.Value
		case "function_call":
			call = m.Value
		case "tool_calls":
			calls = list(m.Value) != nil
		case "content":
			content = string(m.Value) != "null"
		case "refusal", "audio":
			spoken = spoken || string(m.Value) != "null"
		}
	}
	silent := string(role) == "assistant" && !content && !spoken && !calls && rawjson.IsNull(call)
	w.Object()
	for m := rawjson.MembersOf(v); m.Next(); {
		raw := v[m.Start:m.End]
		if w.nulls && optional(m.Name) && (string(m.Value) == "null" || emptyCalls(m.Name, m.Value)) {
			continue
		}
		switch string(m.Name) {
		case "role":
			raw = w.role(role, raw)
		case "content":
			if silent {
				continue
			}
			w.Name("content")
			w.content(role, m.Value)
			continue
		case "reasoning", "reasoning_content":
			if w.reasons {
				continue
			}
		case "reasoning_details":
			if w.reasons && !w.details {
				continue
			}
		case "name":
			if w.functions && string(role) == "function" {
				continue
			}
		case "function_call":
			if w.functions {
				continue
			}
		case "parsed":
			if w.gateway {
				continue
			}
		case "images":
			if w.gateway && !w.keepImages {
				continue
			}
		case "annotations":
			if w.gateway && !w.keepAnnotes {
				continue
			}
		case "tool_call_id":
			if w.ids {
				w.Name("tool_call_id").Text(shortID(rawjson.Text(m.Value)))
				continue
			}
		case "cache_control", "prompt_cache_breakpoint":
			if w.cache != nil {
				w.cache.marker(w.Writer, m.Name, raw, &w.cache.skipMessages)
				continue
			}
		case "tool_calls":
			if w.signatures || w.bare || w.gateway || w.ids {
				w.Name("tool_calls")
				w.toolCalls(m.Value, details)
				continue
			}
		}
		w.Member(raw)
	}
	if silent { // servers require content of a message without calls
		w.Name("content").Text("")
	}
	reasoned := w.reasons && w.reasoning != "" && w.reason(text, details)
	if !reasoned && w.back && calls && w.reasoning != "" {
		w.Name(w.reasoning).Text("")
	}
	if w.functions {
		w.deprecated(role, call, calls)
	}
	w.EndObject()
}

// optional reports the fields of a message for which null means absent. Some servers refuse null there, and clients send back the answers
// that they got: every answer has a refusal that is null. An unknown field is sent even as null.
func optional(name []byte) bool {
	switch string(name) {
	case "name", "tool_calls", "tool_call_id", "function_call", "refusal", "reasoning", "reasoning_content", "reasoning_details", "audio", "images",
		"annotations", "cache_control":
		return true
	}
	return false
}

// emptyCalls reports a list of tool calls without any, which some servers refuse.
func emptyCalls(name, value []byte) bool {
	return string(name) == "tool_calls" && rawjson.KindOf(value) == rawjson.Array && list(value) == nil
}

// reason writes the reasoning of an assistant message under the server's name for it. Where a client sends only the details, their plain
// texts are the reasoning. Entries in the format of another model family are left out, because this wire cannot use them. An empty text is
// sent, too: some servers require one.
func (w *rewriter) reason(text, details []byte) (written bool) {
	if len(text) > len(`""`) {
		w.Name(w.reasoning).Raw(text)
		return true
	}
	if w.details && details != nil { // the details are sent unchanged
		return false
	}
	var whole []byte
	for el := rawjson.ElementsOf(details); el.Next(); {
		whole = rawjson.AppendMended(whole, plainReasoning(el.Value))
	}
	switch {
	case len(whole) > 0:
		w.Name(w.reasoning).Bytes(whole)
	case text != nil:
		w.Name(w.reasoning).Raw(text)
	default:
		return false
	}
	return true
}

// plainReasoning is the raw text of a reasoning detail without a family, nil for any other detail.
func plainReasoning(entry []byte) []byte {
	var kind, format, text []byte
	for m := rawjson.MembersOf(entry); m.Next(); {
		switch string(m.Name) {
		case "type":
			kind = m.Value
		case "format":
			format = m.Value
		case "text":
			text = m.Value
		}
	}
	if string(kind) != `"reasoning.text"` || rawjson.KindOf(text) != rawjson.String || !rawjson.IsNull(format) && string(format) != `"unknown"` {
		return nil
	}
	return text
}

func (w *rewriter) role(role, raw []byte) []byte {
	switch {
	case w.first && w.late && (string(role) == "system" || string(role) == "developer"):
		return []byte(`"role":"user"`)
	case w.developer && string(role) == "developer":
		return []byte(`"role":"system"`)
	case w.functions && string(role) == "function":
		return []byte(`"role":"tool"`)
	}
	return raw
}

// deprecated writes the replacement of a function_call, or links a function's result to the call before it.
func (w *rewriter) deprecated(role, call []byte, hasCalls bool) {
	if string(role) == "function" {
		w.Name("tool_call_id").Text(w.id(w.lastFn))
		return
	}
	if rawjson.KindOf(call) != rawjson.Object || hasCalls {
		return
	}
	w.calls++
	w.lastFn = "call_fn" + strconv.Itoa(w.calls)
	w.Name("tool_calls").Array()
	w.Object()
	w.Name("id").Text(w.id(w.lastFn))
	w.Name("type").Text("function")
	w.Name("function").Raw(call)
	w.Close("}]")
}

// id is an id of a call as the server takes it.
func (w *rewriter) id(text string) string {
	if w.ids {
		return shortID(text)
	}
	return text
}

// shortID returns an id of nine letters and digits: the client's own, or one that is made from it and is the same in each turn.
func shortID(id string) string {
	const length, letters = 9, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	if len(id) == length && strings.Trim(id, letters) == "" {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	n := binary.BigEndian.Uint64(sum[:])
	var out [length]byte
	for i := range out {
		out[i] = letters[n%uint64(len(letters))]
		n /= uint64(len(letters))
	}
	return string(out[:])
}

// content writes a message's content.
func (w *rewriter) content(role, v []byte) {
	if rawjson.KindOf(v) != rawjson.Array {
		w.Raw(v)
		return
	}
	if w.shows && string(role) == "tool" {
		v = w.spoken(v)
	}
	if w.flatTools && (string(role) == "tool" || string(role) == "function") {
		w.joined(v)
		return
	}
	cached := w.cache != nil && bytes.Contains(v, []byte("cache_"))
	if !cached && !w.oldVideo {
		w.Raw(v)
		return
	}
	w.Array()
	for el := rawjson.ElementsOf(v); el.Next(); {
		part := el.Value
		if w.oldVideo {
			part = newVideo(part)
		}
		if cached {
			w.cache.object(w.Writer, part, &w.cache.skipMessages)
		} else {
			w.Raw(part)
		}
	}
	w.EndArray()
}

// newVideo returns a content part of the older type input_video as video_url; any other part is returned unchanged.
func newVideo(part []byte) []byte {
	if rawjson.TextAt(part, "type") != "input_video" {
		return part
	}
	w := rawjson.Writer{B: make([]byte, 0, len(part))}
	w.Object()
	renamed := rawjson.Find(part, "video_url") != nil
	for m := rawjson.MembersOf(part); m.Next(); {
		switch string(m.Name) {
		case "type":
			w.Name("type").Text("video_url")
		case "input_video":
			if !renamed {
				w.Name("video_url").Raw(m.Value)
			}
		default:
			w.Member(part[m.Start:m.End])
		}
	}
	w.EndObject()
	return w.B
}

// joined writes the texts of content parts as one string. A part that is no text is sent as its JSON, so that the model gets the whole
// result of a tool.
func (w *rewriter) joined(parts []byte) {
	var whole []byte
	for el := rawjson.ElementsOf(parts); el.Next(); {
		if text := rawjson.Find(el.Value, "text"); rawjson.KindOf(text) == rawjson.String {
			whole = rawjson.AppendMended(whole, text)
		} else {
			whole = append(whole, el.Value...)
		}
	}
	w.Bytes(whole)
}

// toolCalls writes the calls of an assistant message with their signatures in the place where the server reads them.
func (w *rewriter) toolCalls(v, details []byte) {
	if rawjson.KindOf(v) != rawjson.Array {
		w.Raw(v)
		return
	}
	w.Array()
	for el := rawjson.ElementsOf(v); el.Next(); {
		w.toolCall(el.Value, details)
	}
	w.EndArray()
}

func (w *rewriter) toolCall(v, details []byte) {
	signature := rawjson.FindPath(v, "function", "thought_signature")
	if signature == nil && w.signatures {
		signature = signatureIn(details, rawjson.Find(v, "id"))
	}
	hasExtra := rawjson.Find(v, "extra_content") != nil
	w.Object()
	for m := rawjson.MembersOf(v); m.Next(); {
		switch string(m.Name) {
		case "id":
			if w.ids {
				w.Name("id").Text(shortID(rawjson.Text(m.Value)))
				continue
			}
		case "index":
			if w.gateway {
				continue
			}
		case "function":
			if (w.signatures || w.bare || w.gateway && rawjson.Find(m.Value, "parsed_arguments") != nil) && rawjson.KindOf(m.Value) == rawjson.Object {
				w.Name("function").Object()
				w.called(m.Value)
				w.EndObject()
				continue
			}
		}
		w.Member(v[m.Start:m.End])
	}
	if w.signatures && !hasExtra && rawjson.KindOf(signature) == rawjson.String {
		w.Name("extra_content").Object()
		w.Name("google").Object()
		w.Name("thought_signature").Raw(signature)
		w.Close("}}")
	}
	w.EndObject()
}

// signatureIn finds the signature of a tool call among reasoning details: clients of gateways keep it there.
func signatureIn(details, id []byte) []byte {
	for el := rawjson.ElementsOf(details); el.Next(); {
		if rawjson.TextAt(el.Value, "type") == "reasoning.encrypted" && id != nil &&
			rawjson.TextAt(el.Value, "format") == "google-gemini-v1" && bytes.Equal(rawjson.Find(el.Value, "id"), id) {
			return rawjson.Find(el.Value, "data")
		}
	}
	return nil
}

// called writes the members of a called function without those that only gateways and the helpers of client libraries write.
func (w *rewriter) called(v []byte) {
	for m := rawjson.MembersOf(v); m.Next(); {
		switch string(m.Name) {
		case "thought_signature":
			if w.signatures || w.bare {
				continue
			}
		case "parsed_arguments":
			if w.gateway {
				continue
			}
		}
		w.Member(v[m.Start:m.End])
	}
}

// without writes the members of v except the one of that name.
func without(w *rawjson.Writer, v []byte, name string) {
	for m := rawjson.MembersOf(v); m.Next(); {
		if string(m.Name) != name {
			w.Member(v[m.Start:m.End])
		}
	}
}

// maxBreakpoints is how many cache markers a server accepts, if it accepts any.
const maxBreakpoints = 4

// cacheMarks decides which cache markers are sent, and in which form.
type cacheMarks struct {
	understood   bool // the server takes cache_control
	breakpoints  bool // the server takes prompt_cache_breakpoint unchanged
	skipTools    int  // markers in the tools still to be left out, so that the last four remain
	skipMessages int  // the same in the messages
}

// cachePlan counts the markers of the request. The prompt begins with the tools, whatever the order of the members.
func (e *encoder) cachePlan() *cacheMarks {
	c := &cacheMarks{understood: e.q.CacheControl, breakpoints: slices.Contains(e.q.ForwardExtra, "prompt_cache_breakpoint")}
	if !c.understood {
		return c
	}
	tools, messages, top := countMarks(e.find("tools")), 0, 0
	for el := rawjson.ElementsOf(e.find("messages")); el.Next(); {
		messages += countMark(el.Value) + countMarks(rawjson.Find(el.Value, "content"))
	}
	if !rawjson.IsNull(e.find("cache_control")) {
		top = 1
	}
	surplus := max(0, tools+messages+top-maxBreakpoints)
	c.skipTools = min(surplus, tools)
	c.skipMessages = surplus - c.skipTools
	return c
}

func countMarks(list []byte) int {
	n := 0
	for el := rawjson.ElementsOf(list); el.Next(); {
		n += countMark(el.Value)
	}
	return n
}

func countMark(v []byte) int {
	n := 0
	for m := rawjson.MembersOf(v); m.Next(); {
		if name := string(m.Name); (name == "cache_control" || name == "prompt_cache_breakpoint") && !rawjson.IsNull(m.Value) {
			n++
		}
	}
	return n
}

// object writes a content part or a tool with its markers in the form that the server requires.
func (c *cacheMarks) object(w *rawjson.Writer, v []byte, skip *int) {
	if rawjson.KindOf(v) != rawjson.Object {
		w.Raw(v)
		return
	}
	w.Object()
	for m := rawjson.MembersOf(v); m.Next(); {
		raw := v[m.Start:m.End]
		if name := string(m.Name); name == "cache_control" || name == "prompt_cache_breakpoint" {
			c.marker(w, m.Name, raw, skip)
			continue
		}
		w.Member(raw)
	}
	w.EndObject()
}

// marker writes one marker, translated, or leaves it out.
func (c *cacheMarks) marker(w *rawjson.Writer, name, raw []byte, skip *int) {
	if bytes.HasSuffix(raw, []byte("null")) && raw[len(raw)-1] != '"' {
		return
	}
	breakpoint := string(name) == "prompt_cache_breakpoint"
	if breakpoint && c.breakpoints {
		w.Member(raw)
		return
	}
	if !c.understood {
		return
	}
	if *skip > 0 {
		*skip--
		return
	}
	if breakpoint {
		w.Name("cache_control").Literal(`{"type":"ephemeral"}`)
		return
	}
	w.Member(raw)
}
