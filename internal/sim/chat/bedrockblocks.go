package chat

import (
	"slices"
	"strings"

	"weir/internal/sim/kit"
)

func (r *bedrockReader) messages(v *kit.Node) {
	if v == nil {
		r.Missing("messages")
		return
	}
	if !r.ExpectKind(v, kit.Array, "messages") {
		return
	}
	if len(v.Items) == 0 {
		r.Refuse("messages", "", "A conversation must start with a user message. Try again with a conversation that starts with a user message.")
	}
	r.Each(v, "messages", r.message)
	r.unanswered(&r.calls, "messages."+kit.Itoa(len(v.Items)))
}

// unanswered refuses the message at a path if it does not answer all calls of the one before it.
func (r *bedrockReader) unanswered(calls *openCalls, at string) {
	var open []string
	for i, done := range calls.answered {
		if !done {
			open = append(open, calls.ids[i])
		}
	}
	if open != nil {
		r.Refuse(at, "", "Expected toolResult blocks at "+at+".content for the following Ids: "+strings.Join(open, ", "))
	}
}

func (r *bedrockReader) message(v *kit.Node, param string) {
	fields := map[string]bedrockField{
		"content": bedrockArray,
		"role": func(r *bedrockReader, v *kit.Node, p string) {
			if r.ExpectKind(v, kit.Text, p) && v.Text != "user" && v.Text != "assistant" {
				r.Refuse(p, "", "1 validation error detected: Value '"+v.Text+"' at '"+p+"' failed to satisfy constraint: Member must satisfy enum value set: [user, assistant]")
			}
		},
	}
	if !kit.Members(&r.Checker, r, v, param, fields, "role", "content") {
		return
	}
	role, body := v.Get("role").Text, v.Get("content")
	switch {
	case len(r.roles) == 0 && role != "user":
		r.Refuse(param, "", "A conversation must start with a user message. Try again with a conversation that starts with a user message.")
	case len(r.roles) > 0 && r.roles[len(r.roles)-1] == role:
		r.Refuse(param, "", "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.")
	case len(body.Items) == 0:
		r.Refuse(param, "", "The content field in the Message object at "+zeroBased(param)+" is empty. Add a ContentBlock object to the content field and try again.")
	}
	r.roles = append(r.roles, role)
	m := bedrockMessage{r: r, turn: kit.Turn{Role: role}, pending: r.calls, param: param}
	r.calls = openCalls{}
	r.Each(body, param+".content", m.block)
	if r.unanswered(&m.pending, zeroBased(param)); r.Fault != nil {
		return
	}
	if role == "assistant" || m.turn.Text != "" || m.turn.Media != nil || m.results == nil {
		r.Request.Turns = append(r.Request.Turns, m.turn)
	}
	r.Request.Turns = append(r.Request.Turns, m.results...)
}

type bedrockMessage struct {
	r       *bedrockReader
	turn    kit.Turn
	results []kit.Turn
	pending openCalls // by the message before
	kinds   []string
	param   string
}

// bedrockBlocks are the members of the union that a content block is.
var bedrockBlocks = map[string]bedrockField{
	"text": bedrockText, "image": bedrockObject, "document": bedrockObject, "video": bedrockObject, "audio": bedrockObject, "toolUse": bedrockObject, "toolResult": bedrockObject,
	"guardContent": bedrockObject, "reasoningContent": bedrockObject, "cachePoint": bedrockObject, "citationsContent": bedrockObject, "searchResult": bedrockObject,
}

func (m *bedrockMessage) block(v *kit.Node, param string) {
	r := m.r
	if !kit.Members(&r.Checker, r, v, param, bedrockBlocks) {
		return
	}
	kinds := v.Names
	if len(kinds) != 1 {
		r.Refuse(param, "", "The ContentBlock object at "+zeroBased(param)+" must set one of the following keys: text, image, toolUse, toolResult, document, video, cachePoint, reasoningContent, citationsContent, searchResult.")
		return
	}
	kind, inner, at := kinds[0], &v.Items[0], param+"."+kinds[0]
	one := kit.Request{Turns: append([]kit.Turn{m.turn}, m.results...)}
	before, _ := one.PromptTokens()
	switch kind {
	case "cachePoint":
		r.cachePoint(inner, at)
		return
	case "text":
		if strings.TrimSpace(inner.Text) == "" {
			r.Refuse(param, "", "The text field in the ContentBlock object at "+zeroBased(param)+" is blank. Add text to the text field, and try again.")
		}
		r.AddText(&m.turn, inner.Text, at)
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
	one.Turns = append([]kit.Turn{m.turn}, m.results...)
	after, _ := one.PromptTokens()
	r.Request.Marks.Block(string(v.Raw), after-before)
}

var bedrockFormats = map[string][]string{
	"image":    {"png", "jpeg", "gif", "webp"},
	"document": {"pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"},
	"video":    {"mkv", "mov", "mp4", "webm", "flv", "mpeg", "mpg", "wmv", "three_gp"},
	"audio":    {"mp3", "opus", "wav", "aac", "flac", "mp4", "ogg", "mkv", "mka", "x-aac", "m4a", "mpeg", "mpga", "pcm", "webm"},
}

func (m *bedrockMessage) medium(t *kit.Turn, v *kit.Node, param, kind string) {
	r := m.r
	fields := map[string]bedrockField{"source": bedrockObject, "format": func(r *bedrockReader, v *kit.Node, p string) { r.OneOf(v, p, bedrockFormats[kind]...) }}
	required := []string{"source", "format"}
	if kind == "document" {
		fields["name"], fields["context"], fields["citations"] = bedrockText, bedrockText, bedrockObject
		required = []string{"source", "name"}
	}
	if !kit.Members(&r.Checker, r, v, param, fields, required...) {
		return
	}
	out := kit.Medium{Kind: kind, Format: v.Get("format").Str(), Name: v.Get("name").Str()}
	if kind == "document" {
		out.Kind = "file"
		if !documentName(out.Name) {
			r.Refuse(param, "", "The document file name can only contain alphanumeric characters, whitespace characters, hyphens, parentheses, and square brackets. The name can't contain more than one consecutive whitespace character.")
		}
	}
	source := v.Get("source")
	if !kit.Members(&r.Checker, r, source, param+".source", map[string]bedrockField{"bytes": bedrockText, "s3Location": bedrockObject, "text": bedrockText, "content": bedrockArray}) {
		return
	}
	said := out.Format
	switch data := source.Given("bytes"); {
	case data != nil && !out.FromBase64(data.Text):
		r.Refuse(param, "", "The value at "+zeroBased(param)+".source.bytes is not valid base64.")
	case data != nil && kind == "image" && said != "webp" && out.Width == 0:
		r.model(zeroBased(param) + ": Could not process image")
	case data != nil && kind == "image" && out.Width > 0 && out.Format != said:
		r.model("Image does not match the provided media type image/" + said)
	case data != nil && said == "pdf" && !strings.HasPrefix(data.Text, "JVBER"): // "%PDF" in base64
		r.model("The PDF specified was not valid.")
	case source.Given("s3Location") != nil:
		out.URL = source.Get("s3Location").Get("uri").Str()
	case data == nil:
		out.Bytes = len(source.Get("text").Str())
	}
	t.Media = append(t.Media, out)
}

func documentName(s string) bool {
	if s == "" || len(s) > 200 || strings.Contains(s, "  ") {
		return false
	}
	return strings.IndexFunc(s, func(c rune) bool { return c >= 0x80 || !kit.Letter(c) && !strings.ContainsRune(" \t-()[]", c) }) < 0
}

func (m *bedrockMessage) use(v *kit.Node, param string) {
	r := m.r
	fields := map[string]bedrockField{"toolUseId": bedrockText, "name": bedrockText, "input": bedrockObject, "type": bedrockText}
	if !kit.Members(&r.Checker, r, v, param, fields, "toolUseId", "name", "input") {
		return
	}
	id, name := v.Get("toolUseId").Text, v.Get("name").Text
	for _, s := range [...][2]string{{"toolUseId", id}, {"name", name}} {
		if !kit.ValidName(s[1]) {
			r.Refuse(param, "", "1 validation error detected: Value '"+s[1]+"' at '"+param+"."+s[0]+"' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+")
		}
	}
	if m.turn.Role != "assistant" {
		r.Refuse(param, "", "The toolUse block at "+zeroBased(param)+" is only allowed in assistant messages.")
	}
	r.toolUsed = true
	m.turn.Calls = append(m.turn.Calls, name+" "+string(v.Get("input").Raw))
	r.calls.ids, r.calls.names, r.calls.answered = append(r.calls.ids, id), append(r.calls.names, name), append(r.calls.answered, false)
	m.first()
}

// first checks that the model's last message with calls begins with a reasoning block, when the request asks for reasoning.
func (m *bedrockMessage) first() {
	all := m.r.Root.Get("messages").Items
	if !m.r.thinking || m.param != m.r.Phrases.Item("messages", len(all)-2) || m.kinds != nil && m.kinds[0] == "reasoningContent" {
		return
	}
	found := "tool_use"
	if m.kinds != nil {
		found = m.kinds[0]
	}
	m.r.model(thoughtExpected(zeroBased(m.param)+".content.0", found))
}

func (m *bedrockMessage) result(v *kit.Node, param string) {
	r := m.r
	fields := map[string]bedrockField{"toolUseId": bedrockText, "content": bedrockArray, "type": bedrockText, "status": func(r *bedrockReader, v *kit.Node, p string) { r.OneOf(v, p, "success", "error") }}
	if !kit.Members(&r.Checker, r, v, param, fields, "toolUseId", "content") {
		return
	}
	r.toolUsed = true
	at := slices.Index(m.pending.ids, v.Get("toolUseId").Text)
	switch {
	case at < 0 || m.turn.Role != "user":
		r.Refuse(param, "", "The number of toolResult blocks at "+zeroBased(m.param)+".content exceeds the number of toolUse blocks of previous turn.")
		return
	case v.Get("status").Str() == "error" && len(v.Get("content").Items) == 0:
		r.Refuse(param, "", "The content field at "+zeroBased(param)+" cannot be empty when status value is error.")
	}
	m.pending.answered[at] = true
	t := kit.Turn{Role: "tool", Result: m.pending.names[at]}
	r.Each(v.Get("content"), param+".content", func(v *kit.Node, param string) {
		fields := map[string]bedrockField{"text": bedrockText, "json": nil, "image": bedrockObject, "document": bedrockObject, "video": bedrockObject, "searchResult": bedrockObject}
		if !kit.Members(&r.Checker, r, v, param, fields) || len(v.Names) != 1 {
			return
		}
		inner := &v.Items[0]
		switch kind := v.Names[0]; kind {
		case "text":
			r.AddText(&t, inner.Text, param)
		case "json":
			if r.ExpectKind(inner, kit.Object, param+".json") {
				r.AddText(&t, string(inner.Raw), param)
			}
		case "image", "document", "video":
			m.medium(&t, inner, param+"."+kind, kind)
		}
	})
	m.results = append(m.results, t)
}

// thought reads earlier reasoning, and checks its signature.
func (m *bedrockMessage) thought(v *kit.Node, param string) {
	r, at := m.r, param+".reasoningContent"
	if !kit.Members(&r.Checker, r, v, at, map[string]bedrockField{"reasoningText": bedrockObject, "redactedContent": bedrockText}) {
		return
	}
	if sealed := v.Given("redactedContent"); sealed != nil {
		if _, ok := kit.Reveal(bedrockWire, r.Request.Model, sealed.Text); !ok {
			r.model(zeroBased(param) + ": Invalid `data` in `redacted_thinking` block")
		}
		return
	}
	inner := v.Get("reasoningText")
	if inner == nil {
		r.Missing(at + ".reasoningText")
		return
	}
	if !kit.Members(&r.Checker, r, inner, at+".reasoningText", map[string]bedrockField{"text": bedrockText, "signature": bedrockText}, "text") {
		return
	}
	switch signature := inner.Get("signature").Str(); {
	case signature == "":
		r.model(zeroBased(param) + ".thinking.signature: Field required")
	case !kit.VerifySignature(bedrockWire, r.Request.Model, signature, inner.Get("text").Text):
		r.model(zeroBased(param) + ": Invalid `signature` in `thinking` block")
	}
}
