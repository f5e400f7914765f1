package chat

import (
	"slices"
	"strconv"
	"strings"

	"weir/internal/sim/kit"
)

func (r *messagesReader) system(v *kit.Node) {
	if v == nil {
		return
	}
	t := kit.Turn{Role: "system"}
	switch v.Kind {
	case kit.Text:
		r.AddText(&t, v.Text, "system")
		r.marked(v, "system", kit.CountTokens(t.Text)+kit.TokensPerTurn)
	case kit.Array:
		r.Each(v, "system", func(v *kit.Node, param string) {
			if !r.ExpectKind(v, kit.Object, param) || !r.textBlock(v, param) {
				return
			}
			r.AddText(&t, v.Get("text").Text, param)
			r.marked(v, param+".text", kit.CountTokens(v.Get("text").Text)+1)
		})
	default:
		r.WrongType("system", v, "a string or an array")
	}
	r.Request.Turns = append(r.Request.Turns, t)
}

func (r *messagesReader) textBlock(v *kit.Node, param string) bool {
	ok := kit.Members(&r.Checker, r, v, param+".text", map[string]messagesField{
		"type": func(r *messagesReader, v *kit.Node, p string) { r.OneOf(v, p, "text") }, "text": messagesText, "cache_control": nil, "citations": messagesArray,
	}, "type", "text")
	if ok && v.Get("text").Text == "" {
		r.Refuse(param, "", "messages: text content blocks must be non-empty")
	}
	if ok && strings.TrimSpace(v.Get("text").Text) == "" && v.Given("cache_control") != nil {
		r.Refuse(param, "", param+": cache_control cannot be set for empty text blocks")
	}
	return r.Fault == nil
}

// message reads one message. Results of tools become separate turns, after the rest of the message: they are what
// the conversation ends with.
func (r *messagesReader) message(v *kit.Node, param string, last bool) {
	roles := []string{"user", "assistant"}
	if n := len(r.Request.Turns); n > 0 && r.after == "user" { // an instruction may follow what the user said
		roles = append(roles, "system")
	}
	fields := map[string]messagesField{"role": func(r *messagesReader, v *kit.Node, p string) { r.OneOf(v, p, roles...) }, "content": nil}
	if !kit.Members(&r.Checker, r, v, param, fields, "role", "content") {
		return
	}
	role, body := v.Get("role").Text, v.Get("content")
	if len(r.Request.Turns) == 0 || len(r.Request.Turns) == 1 && r.Request.Turns[0].Role == "system" {
		if role != "user" {
			r.Refuse(param, "", `messages: first message must use the "user" role`)
		}
	}
	r.after = role
	m := messageReader{r: r, turn: kit.Turn{Role: role}, pending: r.calls, last: last, param: param}
	r.calls = openCalls{}
	switch body.Kind {
	case kit.Text:
		r.AddText(&m.turn, body.Text, param+".content")
		m.size = len(body.Text)
		r.marked(body, param+".content", kit.CountTokens(m.turn.Text)+kit.TokensPerTurn)
	case kit.Array:
		r.Each(body, param+".content", m.block)
		m.size = len(body.Items)
	default:
		r.WrongType(param+".content", body, "a string or an array")
	}
	if r.Fault == nil {
		m.end()
	}
}

type messageReader struct {
	r       *messagesReader
	turn    kit.Turn
	results []kit.Turn
	pending openCalls // by the message before
	kinds   []string  // of the blocks so far
	size    int
	last    bool
	param   string
}

func (m *messageReader) end() {
	r := m.r
	if m.size == 0 && (m.turn.Role == "user" || !m.last) {
		r.Refuse(m.param, "", m.param+": all messages must have non-empty content except for the optional final assistant message")
	}
	var open []string
	for i, done := range m.pending.answered {
		if !done {
			open = append(open, m.pending.ids[i])
		}
	}
	if open != nil {
		r.Refuse(m.param, "", m.before()+": `tool_use` ids were found without `tool_result` blocks immediately after: "+strings.Join(open, ", ")+". Each `tool_use` block must have a corresponding `tool_result` block in the next message.")
	}
	if m.last && m.turn.Role == "assistant" {
		m.prefill()
	}
	if m.turn.Role == "assistant" || m.turn.Text != "" || m.turn.Media != nil || m.results == nil {
		r.Request.Turns = append(r.Request.Turns, m.turn)
	}
	r.Request.Turns = append(r.Request.Turns, m.results...)
}

// before returns the path of the previous message.
func (m *messageReader) before() string {
	at, _ := strconv.Atoi(strings.TrimPrefix(m.param, "messages."))
	return "messages." + strconv.Itoa(at-1)
}

// prefill checks a conversation that ends with the beginning of the model's answer.
func (m *messageReader) prefill() {
	r := m.r
	switch {
	case r.calls.ids != nil:
		r.Refuse(m.param, "", m.param+": `tool_use` ids were found without `tool_result` blocks immediately after: "+strings.Join(r.calls.ids, ", ")+". Each `tool_use` block must have a corresponding `tool_result` block in the next message.")
	case r.thinking == "enabled" || r.thinking == "adaptive":
		r.Refuse(m.param, "", "This model does not support assistant message prefill. The conversation must end with a user message.")
	case m.turn.Text != strings.TrimRight(m.turn.Text, " \t\r\n"):
		r.Refuse(m.param, "", "messages: final assistant content cannot end with trailing whitespace")
	}
}

// blocksOf lists the blocks that a role may have.
var blocksOf = map[string][]string{
	"user":      {"text", "image", "document", "tool_result", "search_result", "container_upload"},
	"assistant": {"text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "bash_code_execution_tool_result", "mcp_tool_use", "mcp_tool_result"},
	"system":    {"text"},
}

func (m *messageReader) block(v *kit.Node, param string) {
	r := m.r
	if !r.ExpectKind(v, kit.Object, param) {
		return
	}
	kindOf := v.Get("type")
	if kindOf == nil {
		r.Missing(param + ".type")
		return
	}
	if !r.ExpectKind(kindOf, kit.Text, param+".type") {
		return
	}
	word := kindOf.Text
	if !slices.Contains(blocksOf[m.turn.Role], word) {
		m.misplaced(word, param)
		return
	}
	tokens := m.tokens()
	at := param + "." + word
	switch word {
	case "text":
		if r.textBlock(v, param) {
			r.AddText(&m.turn, v.Get("text").Text, at)
		}
	case "image", "document":
		m.medium(&m.turn, v, at, word)
	case "tool_result":
		m.result(v, param)
	case "thinking", "redacted_thinking":
		m.reasoningBlock(v, param, word)
	case "tool_use":
		m.use(v, at)
	}
	m.kinds = append(m.kinds, word)
	if word == "thinking" || word == "redacted_thinking" {
		if v.Get("cache_control") != nil {
			r.Unknown(at + ".cache_control")
		}
		return
	}
	if r.Fault == nil {
		r.marked(v, at, m.tokens()-tokens)
	}
}

// misplaced refuses a block that is unknown, or that only the other role may have.
func (m *messageReader) misplaced(word, param string) {
	other := map[string]string{"user": "assistant", "assistant": "user", "system": "user"}[m.turn.Role]
	if slices.Contains(blocksOf[other], word) {
		m.r.Refuse(param, "", "messages: `"+word+"` blocks can only be in `"+other+"` messages")
		return
	}
	tags := append(slices.Clone(blocksOf["user"]), blocksOf["assistant"]...)
	slices.Sort(tags)
	m.r.Refuse(param, "", param+": Input tag '"+word+"' found using 'type' does not match any of the expected tags: '"+strings.Join(slices.Compact(tags), "', '")+"'")
}

// tokens returns the tokens of the message so far.
func (m *messageReader) tokens() int {
	one := kit.Request{Turns: append([]kit.Turn{m.turn}, m.results...)}
	n, _ := one.PromptTokens()
	return n
}

// medium reads an image or a document.
func (m *messageReader) medium(t *kit.Turn, v *kit.Node, param, word string) {
	fields := map[string]messagesField{"type": nil, "source": nil, "cache_control": nil}
	if word == "document" {
		fields["title"], fields["context"], fields["citations"] = messagesText, messagesText, messagesObject
	}
	r := m.r
	if !kit.Members(&r.Checker, r, v, param, fields, "source") {
		return
	}
	source := v.Get("source")
	if !r.ExpectKind(source, kit.Object, param+".source") {
		return
	}
	out := kit.Medium{Kind: "image"}
	if word == "document" {
		out.Kind, out.Name = "file", v.Get("title").Str()
	}
	if m.source(&out, source, param+".source", word) {
		t.Media = append(t.Media, out)
	}
}

var sourcesOf = map[string][]string{"image": {"base64", "url", "file"}, "document": {"base64", "url", "text", "content", "file"}}

func (m *messageReader) source(out *kit.Medium, v *kit.Node, param, word string) bool {
	r := m.r
	kindOf := v.Get("type")
	if kindOf == nil {
		r.Missing(param + ".type")
		return false
	}
	from := r.OneOf(kindOf, param+".type", sourcesOf[word]...)
	at := param + "." + from
	switch from {
	case "url":
		if kit.Members(&r.Checker, r, v, at, map[string]messagesField{"type": nil, "url": messagesText}, "url") && !out.FromURL(v.Get("url").Text) || strings.HasPrefix(v.Get("url").Str(), "data:") {
			r.Refuse(at, "", at+".url: Only HTTPS URLs are supported.")
		}
	case "file":
		if kit.Members(&r.Checker, r, v, at, map[string]messagesField{"type": nil, "file_id": messagesText}, "file_id") {
			out.URL = v.Get("file_id").Text
		}
	case "content":
		kit.Members(&r.Checker, r, v, at, map[string]messagesField{"type": nil, "content": nil}, "content")
		out.Bytes = len(v.Get("content").Str())
	case "text":
		fields := map[string]messagesField{"type": nil, "data": messagesText, "media_type": func(r *messagesReader, v *kit.Node, p string) { r.OneOf(v, p, "text/plain") }}
		kit.Members(&r.Checker, r, v, at, fields, "data", "media_type")
		out.Bytes, out.Format = len(v.Get("data").Str()), "plain"
	case "base64":
		m.inline(out, v, at, word)
	}
	return r.Fault == nil
}

func (m *messageReader) inline(out *kit.Medium, v *kit.Node, param, word string) {
	r := m.r
	types := []string{"image/jpeg", "image/png", "image/gif", "image/webp"}
	if word == "document" {
		types = []string{"application/pdf"}
	}
	fields := map[string]messagesField{"type": nil, "data": messagesText, "media_type": func(r *messagesReader, v *kit.Node, p string) { r.OneOf(v, p, types...) }}
	if !kit.Members(&r.Checker, r, v, param, fields, "data", "media_type") {
		return
	}
	said := v.Get("media_type").Text
	if !out.FromBase64(v.Get("data").Text) {
		r.Refuse(param, "", param+".data: Input should be valid base64")
		return
	}
	found := out.Format
	if out.Format == "" {
		out.Format = said[strings.IndexByte(said, '/')+1:]
	}
	switch {
	case word == "document" && !strings.HasPrefix(v.Get("data").Text, "JVBER"): // "%PDF" in base64
		r.Refuse(param, "", strings.TrimSuffix(param, ".source.base64")+".source.base64.data: The PDF specified was not valid.")
	case word == "image" && said != "image/webp" && found == "":
		r.Refuse(param, "", "Could not process image")
	case word == "image" && found != "" && said != "image/"+found:
		r.Refuse(param, "", param+".data: Image does not match the provided media type "+said)
	}
}

// result reads a tool result. It must be at the message's beginning and answer a call of the message before.
func (m *messageReader) result(v *kit.Node, param string) {
	r, at := m.r, param+".tool_result"
	fields := map[string]messagesField{"type": nil, "tool_use_id": messagesText, "content": nil, "is_error": messagesBool, "cache_control": nil}
	if !kit.Members(&r.Checker, r, v, at, fields, "tool_use_id") {
		return
	}
	id := v.Get("tool_use_id").Text
	i := slices.Index(m.pending.ids, id)
	late := slices.ContainsFunc(m.kinds, func(kind string) bool { return kind != "tool_result" })
	switch {
	case i < 0:
		r.Refuse(param, "", param+": unexpected `tool_use_id` found in `tool_result` blocks: "+id+". Each `tool_result` block must have a corresponding `tool_use` block in the previous message.")
		return
	case m.pending.answered[i]:
		r.Refuse(param, "", param+": each tool_use must have a single result. Found multiple `tool_result` blocks with id: "+id)
		return
	case late:
		r.Refuse(param, "", m.before()+": `tool_use` ids were found without `tool_result` blocks immediately after: "+id+". Each `tool_use` block must have a corresponding `tool_result` block in the next message.")
		return
	}
	m.pending.answered[i] = true
	t := kit.Turn{Role: "tool", Result: m.pending.names[i]}
	switch body := v.Given("content"); {
	case body == nil:
	case body.Kind == kit.Text:
		r.AddText(&t, body.Text, at)
	case body.Kind == kit.Array:
		r.Each(body, at+".content", func(v *kit.Node, param string) { m.resultBlock(&t, v, param) })
	default:
		r.WrongType(at+".content", body, "a string or an array")
	}
	m.results = append(m.results, t)
}

func (m *messageReader) resultBlock(t *kit.Turn, v *kit.Node, param string) {
	r := m.r
	if !r.ExpectKind(v, kit.Object, param) {
		return
	}
	kindOf := v.Get("type")
	if kindOf == nil {
		r.Missing(param + ".type")
		return
	}
	switch word := r.OneOf(kindOf, param+".type", "text", "image", "document", "search_result", "tool_reference"); word {
	case "text":
		if r.textBlock(v, param) {
			r.AddText(t, v.Get("text").Text, param)
		}
	case "image", "document":
		m.medium(t, v, param+"."+word, word)
	}
	if c := v.Given("cache_control"); c != nil {
		r.cacheControl(c, param+".cache_control")
	}
}

// use reads a call that the model made.
func (m *messageReader) use(v *kit.Node, param string) {
	r := m.r
	fields := map[string]messagesField{
		"type": nil, "input": messagesObject, "cache_control": nil, "caller": messagesObject, "name": messagesText,
		"id": func(r *messagesReader, v *kit.Node, p string) {
			if r.ExpectKind(v, kit.Text, p) && !kit.ValidNameOf(v.Text, 1<<10) {
				r.Refuse(p, "", p+": String should match pattern '^[a-zA-Z0-9_-]+$'")
			}
		},
	}
	if !kit.Members(&r.Checker, r, v, param, fields, "id", "input", "name") {
		return
	}
	id, name := v.Get("id").Text, v.Get("name").Text
	if slices.Contains(r.calls.ids, id) {
		r.Refuse(param, "", "messages: `tool_use` ids must be unique")
	}
	m.turn.Calls = append(m.turn.Calls, name+" "+string(v.Get("input").Raw))
	r.calls.ids, r.calls.names, r.calls.answered = append(r.calls.ids, id), append(r.calls.names, name), append(r.calls.answered, false)
	m.first(m.param + ".content.0")
}

// first checks that calls which are about to be answered begin with their reasoning, when the caller asked for reasoning.
func (m *messageReader) first(param string) {
	if m.r.thinking != "enabled" || m.kinds != nil && (m.kinds[0] == "thinking" || m.kinds[0] == "redacted_thinking") {
		return
	}
	found := "tool_use"
	if m.kinds != nil {
		found = m.kinds[0]
	}
	if !m.r.answersBehind(m.param) {
		return
	}
	m.r.Refuse(param, "", thoughtExpected(param, found))
}

// thoughtExpected returns Anthropic's message for a first block that is not thinking, with its spelling mistake.
func thoughtExpected(param, found string) string {
	//nolint:misspell // theirs
	return param + ".type: Expected `thinking` or `redacted_thinking`, but found `" + found + "`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
}

// answersBehind reports whether a message is the model's last one and the next message answers its calls.
func (r *messagesReader) answersBehind(param string) bool {
	at, _ := strconv.Atoi(strings.TrimPrefix(param, "messages."))
	all := r.Root.Get("messages").Items
	return at == len(all)-2
}

// reasoningBlock reads earlier reasoning, and checks its signature.
func (m *messageReader) reasoningBlock(v *kit.Node, param, word string) {
	r, at := m.r, param+"."+word
	if m.kinds != nil && m.kinds[0] != "thinking" && m.kinds[0] != "redacted_thinking" {
		first := m.param + ".content.0"
		r.Refuse(first, "", first+": If an assistant message contains any thinking blocks, the first block must be `thinking` or `redacted_thinking`. Found `"+m.kinds[0]+"`.")
		return
	}
	if word == "redacted_thinking" {
		if !kit.Members(&r.Checker, r, v, at, map[string]messagesField{"type": nil, "data": messagesText}, "data") {
			return
		}
		if _, ok := kit.Reveal(MessagesWire, r.Request.Model, v.Get("data").Text); !ok {
			r.Refuse(param, "", param+": Invalid `data` in `redacted_thinking` block")
		}
		return
	}
	if !kit.Members(&r.Checker, r, v, at, map[string]messagesField{"type": nil, "thinking": messagesText, "signature": messagesText}, "thinking", "signature") {
		return
	}
	if !kit.VerifySignature(MessagesWire, r.Request.Model, v.Get("signature").Text, v.Get("thinking").Text) {
		r.Refuse(param, "", param+": Invalid `signature` in `thinking` block")
	}
}
