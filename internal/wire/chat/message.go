package chat

import (
	"bytes"
	"math"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/wire"
)

// The estimate of the prompt's tokens is for the size of a hold: it should rather be high than low, and be cheap. It counts bytes as they
// are in the body, without unescaping.
const (
	bytesPerToken    = 3 // prose has 3.5 to 5 bytes to a token, code a little less
	tokensPerMessage = 8
	tokensPerRequest = 3
)

// role of a message.
type role uint8

const (
	noRole role = iota
	system
	developer
	user
	assistant
	tool
	function
)

var roles = [...]string{"", "system", "developer", "user", "assistant", "tool", "function"}

// message collects what was read of one message.
type message struct {
	role       role
	hasContent bool // neither absent nor null
	hasNull    bool // content is null: an empty answer, as it was given
	stands     bool // an assistant message that needs no content
	spoken     bool // it stands, and other servers know so: it has calls, a refusal or sound
	toolCallID []byte
	name       bool
}

func (d *decoder) readMessages() {
	if !d.present() {
		d.Fail(fault.InvalidPrompt, "messages must not be null.")
		return
	}
	if !d.Array() {
		return
	}
	n := 0
	var last message
	for d.Element() {
		if n++; n > maxMessages {
			d.TooMany(maxMessages)
			return
		}
		d.Kind()
		at := d.Pos()
		last = d.message()
		d.open(last.role, completion.Span{Start: at, End: d.Pos()})
	}
	d.messages = true
	if n == 0 {
		d.Fail(fault.InvalidPrompt, "messages must hold at least one message.")
	}
	d.req.Prefill = last.role == assistant
}

// open stores where the first instruction and the first other message are.
func (d *decoder) open(r role, at completion.Span) {
	which := 1
	if r == system || r == developer {
		which = 0
		if d.req.Opening[0].End != 0 || d.req.Opening[1].End != 0 {
			d.req.HasRoles |= completion.HasLateSystem
		}
	}
	if d.req.Opening[which].End == 0 {
		d.req.Opening[which] = at
	}
}

func (d *decoder) message() (m message) {
	if !d.present() || !d.Object() {
		d.Required()
		return m
	}
	d.tokens += tokensPerMessage
	markAt := d.Mark()
	marked := false
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		if d.Kind() == rawjson.Null && string(name) != "content" {
			d.req.HasRoles |= completion.HasNulls
		}
		switch string(name) {
		case "role":
			m.role = d.role()
		case "content":
			// content usually comes after the role and is then read at once; otherwise it is read later
			m.hasContent = d.present()
			m.hasNull = !m.hasContent
			if m.role != noRole {
				d.content(m.role)
			} else {
				d.Kind()
				markAt, marked = d.Mark(), true
				d.Skip()
			}
		case "name":
			text, ok := d.Text(maxUser)
			m.name = ok
			d.text(len(text))
		case "tool_call_id":
			m.toolCallID, _ = d.Text(math.MaxInt)
		default:
			d.assistantField(name, &m)
		}
	}
	if marked && m.role != noRole {
		back := d.At(markAt, contentName)
		d.content(m.role)
		d.Back(back)
	}
	d.judge(&m)
	return m
}

var contentName = []byte("content")

func (d *decoder) role() role {
	text := d.RawString()
	if text == nil {
		d.Required()
		return noRole
	}
	plain, _ := rawjson.Unquote(text)
	for r := system; r <= function; r++ {
		if string(plain) == roles[r] {
			return r
		}
	}
	d.Fail(fault.InvalidPrompt, "%s must be one of system, developer, user, assistant, tool.", d.Path())
	return noRole
}

// assistantField reads the members that only assistant messages have; on other roles they are not checked.
func (d *decoder) assistantField(name []byte, m *message) {
	has := &d.req.HasRoles
	switch string(name) {
	case "tool_calls":
		if d.toolCalls() {
			m.stands, m.spoken = true, true
		} else {
			*has |= completion.HasNulls
		}
	case "function_call":
		if d.present() {
			*has |= completion.HasFunctionRole
			m.stands, m.spoken = true, true
		}
		d.calledFunction()
	case "refusal":
		if d.present() {
			m.stands, m.spoken = true, true
		}
		d.text(len(d.RawString()))
	case "reasoning", "reasoning_content":
		if d.present() {
			*has |= completion.HasReasoning
			m.stands = true
		}
		d.text(len(d.RawString()))
	case "reasoning_details":
		if d.present() {
			*has |= completion.HasReasoning
			m.stands = true
		}
		details := d.Free(rawjson.Array)
		if s := wire.Signature(details); s != "" {
			d.req.Signature = s
		}
		d.text(len(details))
	case "audio":
		if d.present() {
			m.stands, m.spoken = true, true
		}
		d.Free(rawjson.Object)
	case "images":
		if d.present() {
			*has |= completion.HasGatewayFields
			m.stands = true
		}
		d.Free(rawjson.Array)
	case "annotations":
		if d.present() {
			*has |= completion.HasGatewayFields
		}
		d.Free(rawjson.Array)
	case "parsed": // added by the helpers of client libraries, which send it back
		*has |= completion.HasGatewayFields
		d.Skip()
	case "cache_control":
		if d.cacheControl() {
			*has |= completion.HasCacheControl
		}
	default:
		d.Skip()
	}
}

// judge checks the message as a whole.
func (d *decoder) judge(m *message) {
	if d.Err() != nil {
		return
	}
	if m.role == noRole {
		d.FailIn(fault.InvalidPrompt, "role", "A message needs a role.")
		return
	}
	switch {
	case m.hasContent:
	case m.role == assistant && (m.hasNull || m.stands):
		if !m.spoken {
			d.req.HasRoles |= completion.HasNulls
		}
	default:
		d.FailIn(fault.InvalidPrompt, "content", "A message of role %s needs content.", roles[m.role])
		return
	}
	d.keepCalls(m.role)
	switch m.role {
	case developer:
		d.req.HasRoles |= completion.HasDeveloper
	case function:
		d.req.HasRoles |= completion.HasFunctionRole
		if !m.name {
			d.FailIn(fault.InvalidPrompt, "name", "A message of role function needs the name of the function.")
		}
	case tool:
		switch {
		case len(m.toolCallID) == 0:
			d.FailIn(fault.InvalidPrompt, "tool_call_id", "A message of role tool needs a tool_call_id.")
		case !d.called(m.toolCallID):
			d.FailIn(fault.InvalidPrompt, "tool_call_id", "No assistant message before this one made the tool call %q.", cut(m.toolCallID))
		}
	}
}

func cut(text []byte) []byte { return text[:min(len(text), 64)] }

// manyCalls is the number of tool calls from which a map is used; below it, searching the list from its end is faster.
const manyCalls = 64

// keepCalls stores the call ids of the message just read, if an assistant made them, for the tool messages after it.
func (d *decoder) keepCalls(r role) {
	if r != assistant {
		d.callIDs = d.callIDs[:d.known]
		return
	}
	fresh := d.callIDs[d.known:]
	if d.calls == nil && len(d.callIDs) >= manyCalls {
		d.calls = make(map[string]struct{}, 2*manyCalls)
		fresh = d.callIDs
	}
	if d.calls != nil {
		for _, id := range fresh {
			d.calls[string(id)] = struct{}{}
		}
	}
	d.known = len(d.callIDs)
}

func (d *decoder) called(id []byte) bool {
	if d.calls != nil {
		_, ok := d.calls[string(id)]
		return ok
	}
	for i := len(d.callIDs) - 1; i >= 0; i-- {
		if bytes.Equal(d.callIDs[i], id) {
			return true
		}
	}
	return false
}

// text counts n bytes of text in the prompt.
func (d *decoder) text(n int) { d.tokens += int64(n)/bytesPerToken + 1 }

// content reads a message's content: text, or parts.
func (d *decoder) content(r role) {
	switch d.Kind() {
	case rawjson.Array:
		if r == tool || r == function {
			d.req.HasRoles |= completion.HasToolParts
		}
		d.parts(r)
	default:
		d.text(len(d.RawString()))
	}
}

// textOrParts reads a string or an array of text parts.
func (d *decoder) textOrParts() {
	if d.Kind() == rawjson.Array {
		d.parts(system)
		return
	}
	d.text(len(d.RawString()))
}

func (d *decoder) parts(r role) {
	n := 0
	d.Array()
	for d.Element() {
		n++
		if !d.present() || !d.Object() {
			d.Required()
			return
		}
		d.part(r)
	}
	// an assistant's empty answer is sent back as [] by clients that requested parts
	if n == 0 && r != assistant {
		d.Fail(fault.InvalidPrompt, "%s must hold at least one part.", d.Path())
	}
}

// partKind is the type of a content part.
type partKind uint8

const (
	noPart partKind = iota
	textPart
	imagePart
	audioPart
	filePart
	documentPart // a file as Mistral's clients write it
	videoPart
	refusalPart
)

// part reads one part, inside its object. A payload is read at once when the type came first, as it nearly always does.
func (d *decoder) part(r role) {
	kind := noPart
	read := false // the payload was read
	start := d.Mark()
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		switch {
		case string(name) == "type":
			kind = d.partKind(r)
		case string(name) == "cache_control":
			if d.cacheControl() {
				d.req.HasRoles |= completion.HasCacheControl
			}
		case string(name) == "prompt_cache_breakpoint":
			if d.present() {
				d.req.HasRoles |= completion.HasCacheControl
			}
			d.Skip()
		case kind != noPart && isPayload(kind, name):
			read = d.present()
			d.payload(kind)
		default:
			d.Skip()
		}
	}
	if d.Err() != nil {
		return
	}
	if kind == noPart {
		d.FailIn(fault.InvalidPrompt, "type", "A content part needs a type.")
		return
	}
	if !read && !d.latePayload(start, kind) && d.Err() == nil {
		d.FailIn(fault.InvalidPrompt, payloadName[kind], "A part of this type needs %s.", payloadName[kind])
	}
}

// latePayload reads the payload of a part whose type came after it.
func (d *decoder) latePayload(start wire.Mark, kind partKind) (read bool) {
	back := d.Mark()
	d.Restart(start)
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		if !isPayload(kind, name) {
			d.Skip()
			continue
		}
		read = read || d.present()
		d.payload(kind)
	}
	d.Back(back)
	return read
}

var payloadName = [...]string{textPart: "text", imagePart: "image_url", audioPart: "input_audio", filePart: "file", documentPart: "document_url", videoPart: "video_url", refusalPart: "refusal"}

func isPayload(kind partKind, name []byte) bool {
	return string(name) == payloadName[kind] || kind == videoPart && string(name) == "input_video"
}

// partKind reads a part's type and checks that it is allowed for the role.
func (d *decoder) partKind(r role) partKind {
	text, _ := rawjson.Unquote(d.RawString())
	kind, fits := noPart, true
	switch string(text) {
	case "text":
		kind = textPart
	case "image_url":
		kind, fits = imagePart, r == user || r == tool
		d.req.Needs.Input |= catalog.Image
	case "input_audio":
		kind, fits = audioPart, r == user
		d.req.Needs.Input |= catalog.Audio
	case "file":
		kind, fits = filePart, r == user
		d.req.Needs.Input |= catalog.File
	case "document_url":
		kind, fits = documentPart, r == user
		d.req.Needs.Input |= catalog.File
	case "video_url", "input_video":
		kind, fits = videoPart, r == user
		d.req.Needs.Input |= catalog.Video
		if text[0] == 'i' {
			d.req.HasRoles |= completion.HasOldVideo
		}
	case "refusal":
		kind, fits = refusalPart, r == assistant
	}
	switch {
	case kind == noPart:
		d.Fail(fault.InvalidPrompt, "%s must be one of text, image_url, input_audio, file, video_url, refusal.", d.Path())
	case !fits:
		d.Fail(fault.InvalidPrompt, "A message of role %s cannot hold a part of type %s.", roles[r], text)
	}
	return kind
}

func (d *decoder) payload(kind partKind) {
	switch kind {
	case textPart, refusalPart:
		d.text(len(d.RawString()))
	case imagePart:
		d.image()
	case audioPart:
		d.inputAudio()
	case filePart:
		d.file()
	case documentPart:
		size, _ := d.url()
		wire.TakeFile(&d.req.Needs, size)
	case videoPart:
		d.video()
	}
}

var (
	imageDetails = []string{"auto", "low", "high", "original"}
	inputAudios  = []string{"wav", "mp3", "flac", "m4a", "ogg", "aiff", "aac", "pcm16", "pcm24"}
)

func (d *decoder) image() {
	if !d.Object() {
		return
	}
	found := false
	tokens := int64(wire.FullImage)
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		switch string(name) {
		case "url":
			_, found = d.url()
		case "detail":
			if detail, _ := d.Enum(imageDetails); detail == "low" {
				tokens = wire.LowImageTokens
			}
		default:
			d.Skip()
		}
	}
	wire.TakeImage(&d.req.Needs, tokens)
	if !found {
		d.FailIn(fault.InvalidPrompt, "url", "An image needs a url.")
	}
}

// url reads an address: http, https or data. inline is the length of a data address as written, 0 for the others.
func (d *decoder) url() (inline int, ok bool) {
	raw := d.RawString()
	if raw == nil {
		return 0, false
	}
	// many clients escape slashes; other escapes are not handled, to avoid unescaping megabytes
	head := bytes.ReplaceAll(raw[1:min(len(raw), 16)], []byte(`\/`), []byte("/"))
	switch {
	case hasPrefixFold(head, "data:"):
		if comma := bytes.IndexByte(raw[:min(len(raw), 512)], ','); comma < 0 {
			d.Fail(fault.InvalidPrompt, "%s is not a valid data URL.", d.Path())
			return 0, false
		}
		return len(raw), true
	case hasPrefixFold(head, "https://"), hasPrefixFold(head, "http://"):
		return 0, true
	}
	d.Fail(fault.InvalidPrompt, "%s must be an http, https or data URL.", d.Path())
	return 0, false
}

func hasPrefixFold(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && bytes.EqualFold(b[:len(prefix)], []byte(prefix))
}

func (d *decoder) inputAudio() {
	if !d.Object() {
		return
	}
	size, format := 0, ""
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		switch string(name) {
		case "data":
			raw := d.RawString()
			size = max(len(raw)-2, 0)
			if len(raw) > 2 && !looksBase64(raw[1:min(len(raw)-1, 64)]) {
				d.Fail(fault.InvalidPrompt, "%s must be base64 data; an address is not accepted.", d.Path())
			}
		case "format":
			format, _ = d.Enum(inputAudios)
		default:
			d.Skip()
		}
	}
	wire.TakeAudio(&d.req.Needs, format, size)
	switch {
	case size == 0:
		d.FailIn(fault.InvalidPrompt, "data", "input_audio needs data.")
	case format == "":
		d.FailIn(fault.InvalidPrompt, "format", "input_audio needs a format.")
	}
}

// looksBase64 checks the beginning of base64 text: enough to distinguish it from an address.
func looksBase64(head []byte) bool {
	for _, c := range head {
		switch {
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '+', c == '/', c == '=', c == '-', c == '_',
			c == '\\': // of an escaped slash
		default:
			return false
		}
	}
	return true
}

func (d *decoder) file() {
	if !d.Object() {
		return
	}
	found, size := false, 0
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		switch string(name) {
		case "filename":
			d.RawString()
		case "file_data":
			inline, ok := d.url()
			found, size = found || ok, max(size, inline)
		case "file_id":
			found = d.RawString() != nil || found
		default:
			d.Skip()
		}
	}
	wire.TakeFile(&d.req.Needs, size)
	if !found {
		d.FailIn(fault.InvalidPrompt, "file_data", "A file needs file_data or file_id.")
	}
}

func (d *decoder) video() {
	if !d.Object() {
		return
	}
	found, size := false, 0
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		switch string(name) {
		case "url":
			size, found = d.url()
		default:
			d.Skip()
		}
	}
	wire.TakeVideo(&d.req.Needs, size)
	if !found {
		d.FailIn(fault.InvalidPrompt, "url", "A video needs a url.")
	}
}
