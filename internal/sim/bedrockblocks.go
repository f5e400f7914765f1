package sim

import (
	"slices"
	"strings"
)

func (r *bedrockReader) messages(v *node) {
	if v == nil {
		r.missing("messages")
		return
	}
	if !r.typed(v, array, "messages") {
		return
	}
	if len(v.items) == 0 {
		r.refuse("messages", "", "A conversation must start with a user message. Try again with a conversation that starts with a user message.")
	}
	r.each(v, "messages", r.message)
	r.unanswered(&r.calls, "messages."+itoa(len(v.items)))
}

// unanswered complains about calls that the message at a path should answer and does not.
func (r *bedrockReader) unanswered(calls *openCalls, at string) {
	var open []string
	for i, done := range calls.answered {
		if !done {
			open = append(open, calls.ids[i])
		}
	}
	if open != nil {
		r.refuse(at, "", "Expected toolResult blocks at "+at+".content for the following Ids: "+strings.Join(open, ", "))
	}
}

func (r *bedrockReader) message(v *node, param string) {
	fields := map[string]bedrockField{
		"content": bedrockArray,
		"role": func(r *bedrockReader, v *node, p string) {
			if r.typed(v, text, p) && v.text != "user" && v.text != "assistant" {
				r.refuse(p, "", "1 validation error detected: Value '"+v.text+"' at '"+p+"' failed to satisfy constraint: Member must satisfy enum value set: [user, assistant]")
			}
		},
	}
	if !members(&r.checker, r, v, param, fields, "role", "content") {
		return
	}
	role, body := v.get("role").text, v.get("content")
	switch {
	case len(r.roles) == 0 && role != "user":
		r.refuse(param, "", "A conversation must start with a user message. Try again with a conversation that starts with a user message.")
	case len(r.roles) > 0 && r.roles[len(r.roles)-1] == role:
		r.refuse(param, "", "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.")
	case len(body.items) == 0:
		r.refuse(param, "", "The content field in the Message object at "+zeroBased(param)+" is empty. Add a ContentBlock object to the content field and try again.")
	}
	r.roles = append(r.roles, role)
	m := bedrockMessage{r: r, turn: turn{role: role}, asked: r.calls, param: param}
	r.calls = openCalls{}
	r.each(body, param+".content", m.block)
	if r.unanswered(&m.asked, zeroBased(param)); r.fault != nil {
		return
	}
	if role == "assistant" || m.turn.text != "" || m.turn.media != nil || m.results == nil {
		r.ask.turns = append(r.ask.turns, m.turn)
	}
	r.ask.turns = append(r.ask.turns, m.results...)
}

type bedrockMessage struct {
	r       *bedrockReader
	turn    turn
	results []turn
	asked   openCalls // by the message before
	kinds   []string
	param   string
}

// bedrockBlocks are the members of the union that a content block is.
var bedrockBlocks map[string]bedrockField

func init() {
	bedrockBlocks = map[string]bedrockField{
		"text": bedrockText, "image": bedrockObject, "document": bedrockObject, "video": bedrockObject, "audio": bedrockObject, "toolUse": bedrockObject, "toolResult": bedrockObject,
		"guardContent": bedrockObject, "reasoningContent": bedrockObject, "cachePoint": bedrockObject, "citationsContent": bedrockObject, "searchResult": bedrockObject,
	}
}

func (m *bedrockMessage) block(v *node, param string) {
	r := m.r
	if !members(&r.checker, r, v, param, bedrockBlocks) {
		return
	}
	kinds := v.names
	if len(kinds) != 1 {
		r.refuse(param, "", "The ContentBlock object at "+zeroBased(param)+" must set one of the following keys: text, image, toolUse, toolResult, document, video, cachePoint, reasoningContent, citationsContent, searchResult.")
		return
	}
	kind, inner, at := kinds[0], &v.items[0], param+"."+kinds[0]
	one := ask{turns: append([]turn{m.turn}, m.results...)}
	before, _ := one.promptTokens()
	switch kind {
	case "cachePoint":
		r.cachePoint(inner, at)
		return
	case "text":
		if strings.TrimSpace(inner.text) == "" {
			r.refuse(param, "", "The text field in the ContentBlock object at "+zeroBased(param)+" is blank. Add text to the text field, and try again.")
		}
		r.say(&m.turn, inner.text, at)
	case "image", "document", "video", "audio":
		m.medium(&m.turn, inner, at, kind)
	case "toolUse":
		m.use(inner, at)
	case "toolResult":
		m.result(inner, at)
	case "reasoningContent":
		m.thought(inner, param)
	}
	m.kinds = append(m.kinds, kind)
	one.turns = append([]turn{m.turn}, m.results...)
	after, _ := one.promptTokens()
	r.ask.marks.block(string(v.raw), after-before)
}

var bedrockFormats = map[string][]string{
	"image":    {"png", "jpeg", "gif", "webp"},
	"document": {"pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"},
	"video":    {"mkv", "mov", "mp4", "webm", "flv", "mpeg", "mpg", "wmv", "three_gp"},
	"audio":    {"mp3", "opus", "wav", "aac", "flac", "mp4", "ogg", "mkv", "mka", "x-aac", "m4a", "mpeg", "mpga", "pcm", "webm"},
}

func (m *bedrockMessage) medium(t *turn, v *node, param, kind string) {
	r := m.r
	fields := map[string]bedrockField{"source": bedrockObject, "format": func(r *bedrockReader, v *node, p string) { r.words(v, p, bedrockFormats[kind]...) }}
	required := []string{"source", "format"}
	if kind == "document" {
		fields["name"], fields["context"], fields["citations"] = bedrockText, bedrockText, bedrockObject
		required = []string{"source", "name"}
	}
	if !members(&r.checker, r, v, param, fields, required...) {
		return
	}
	out := medium{kind: kind, format: v.get("format").str(), name: v.get("name").str()}
	if kind == "document" {
		out.kind = "file"
		if !documentName(out.name) {
			r.refuse(param, "", "The document file name can only contain alphanumeric characters, whitespace characters, hyphens, parentheses, and square brackets. The name can't contain more than one consecutive whitespace character.")
		}
	}
	source := v.get("source")
	if !members(&r.checker, r, source, param+".source", map[string]bedrockField{"bytes": bedrockText, "s3Location": bedrockObject, "text": bedrockText, "content": bedrockArray}) {
		return
	}
	said := out.format
	switch data := source.given("bytes"); {
	case data != nil && !out.inline(data.text):
		r.refuse(param, "", "The value at "+zeroBased(param)+".source.bytes is not valid base64.")
	case data != nil && kind == "image" && said != "webp" && out.width == 0:
		r.model(zeroBased(param) + ": Could not process image")
	case data != nil && kind == "image" && out.width > 0 && out.format != said:
		r.model("Image does not match the provided media type image/" + said)
	case data != nil && said == "pdf" && !strings.HasPrefix(data.text, "JVBER"): // "%PDF" in base64
		r.model("The PDF specified was not valid.")
	case source.given("s3Location") != nil:
		out.url = source.get("s3Location").get("uri").str()
	case data == nil:
		out.bytes = len(source.get("text").str())
	}
	t.media = append(t.media, out)
}

func documentName(s string) bool {
	if s == "" || len(s) > 200 || strings.Contains(s, "  ") {
		return false
	}
	return strings.IndexFunc(s, func(c rune) bool { return c >= 0x80 || !letter(c) && !strings.ContainsRune(" \t-()[]", c) }) < 0
}

func (m *bedrockMessage) use(v *node, param string) {
	r := m.r
	fields := map[string]bedrockField{"toolUseId": bedrockText, "name": bedrockText, "input": bedrockObject, "type": bedrockText}
	if !members(&r.checker, r, v, param, fields, "toolUseId", "name", "input") {
		return
	}
	id, name := v.get("toolUseId").text, v.get("name").text
	for _, s := range [...][2]string{{"toolUseId", id}, {"name", name}} {
		if !validName(s[1]) {
			r.refuse(param, "", "1 validation error detected: Value '"+s[1]+"' at '"+param+"."+s[0]+"' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+")
		}
	}
	if m.turn.role != "assistant" {
		r.refuse(param, "", "The toolUse block at "+zeroBased(param)+" is only allowed in assistant messages.")
	}
	r.toolUsed = true
	m.turn.calls = append(m.turn.calls, name+" "+string(v.get("input").raw))
	r.calls.ids, r.calls.names, r.calls.answered = append(r.calls.ids, id), append(r.calls.names, name), append(r.calls.answered, false)
	m.first()
}

// first checks that the calls of the last message of the model begin with what was thought, when thoughts are wanted.
func (m *bedrockMessage) first() {
	all := m.r.root.get("messages").items
	if !m.r.thinking || m.param != m.r.phrases.item("messages", len(all)-2) || m.kinds != nil && m.kinds[0] == "reasoningContent" {
		return
	}
	found := "tool_use"
	if m.kinds != nil {
		found = m.kinds[0]
	}
	m.r.model(thoughtExpected(zeroBased(m.param)+".content.0", found))
}

func (m *bedrockMessage) result(v *node, param string) {
	r := m.r
	fields := map[string]bedrockField{"toolUseId": bedrockText, "content": bedrockArray, "type": bedrockText, "status": func(r *bedrockReader, v *node, p string) { r.words(v, p, "success", "error") }}
	if !members(&r.checker, r, v, param, fields, "toolUseId", "content") {
		return
	}
	r.toolUsed = true
	at := slices.Index(m.asked.ids, v.get("toolUseId").text)
	switch {
	case at < 0 || m.turn.role != "user":
		r.refuse(param, "", "The number of toolResult blocks at "+zeroBased(m.param)+".content exceeds the number of toolUse blocks of previous turn.")
		return
	case v.get("status").str() == "error" && len(v.get("content").items) == 0:
		r.refuse(param, "", "The content field at "+zeroBased(param)+" cannot be empty when status value is error.")
	}
	m.asked.answered[at] = true
	t := turn{role: "tool", result: m.asked.names[at]}
	r.each(v.get("content"), param+".content", func(v *node, param string) {
		fields := map[string]bedrockField{"text": bedrockText, "json": nil, "image": bedrockObject, "document": bedrockObject, "video": bedrockObject, "searchResult": bedrockObject}
		if !members(&r.checker, r, v, param, fields) || len(v.names) != 1 {
			return
		}
		inner := &v.items[0]
		switch kind := v.names[0]; kind {
		case "text":
			r.say(&t, inner.text, param)
		case "json":
			if r.typed(inner, object, param+".json") {
				r.say(&t, string(inner.raw), param)
			}
		case "image", "document", "video":
			m.medium(&t, inner, param+"."+kind, kind)
		}
	})
	m.results = append(m.results, t)
}

// thought reads what the model thought before, and knows it again.
func (m *bedrockMessage) thought(v *node, param string) {
	r, at := m.r, param+".reasoningContent"
	if !members(&r.checker, r, v, at, map[string]bedrockField{"reasoningText": bedrockObject, "redactedContent": bedrockText}) {
		return
	}
	if sealed := v.given("redactedContent"); sealed != nil {
		if _, ok := reveal(bedrockWire, r.ask.persona, sealed.text); !ok {
			r.model(zeroBased(param) + ": Invalid `data` in `redacted_thinking` block")
		}
		return
	}
	inner := v.get("reasoningText")
	if inner == nil {
		r.missing(at + ".reasoningText")
		return
	}
	if !members(&r.checker, r, inner, at+".reasoningText", map[string]bedrockField{"text": bedrockText, "signature": bedrockText}, "text") {
		return
	}
	switch signature := inner.get("signature").str(); {
	case signature == "":
		r.model(zeroBased(param) + ".thinking.signature: Field required")
	case !genuine(bedrockWire, r.ask.persona, signature, inner.get("text").text):
		r.model(zeroBased(param) + ": Invalid `signature` in `thinking` block")
	}
}
