package sim

import (
	"slices"
	"strconv"
	"strings"
)

func (r *messagesReader) system(v *node) {
	if v == nil {
		return
	}
	t := turn{role: "system"}
	switch v.kind {
	case text:
		r.say(&t, v.text, "system")
		r.marked(v, "system", countTokens(t.text)+tokensPerTurn)
	case array:
		r.each(v, "system", func(v *node, param string) {
			if !r.typed(v, object, param) || !r.textBlock(v, param) {
				return
			}
			r.say(&t, v.get("text").text, param)
			r.marked(v, param+".text", countTokens(v.get("text").text)+1)
		})
	default:
		r.wrongType("system", v, "a string or an array")
	}
	r.ask.turns = append(r.ask.turns, t)
}

func (r *messagesReader) textBlock(v *node, param string) bool {
	ok := members(&r.checker, r, v, param+".text", map[string]messagesField{
		"type": func(r *messagesReader, v *node, p string) { r.words(v, p, "text") }, "text": messagesText, "cache_control": nil, "citations": messagesArray,
	}, "type", "text")
	if ok && v.get("text").text == "" {
		r.refuse(param, "", "messages: text content blocks must be non-empty")
	}
	if ok && strings.TrimSpace(v.get("text").text) == "" && v.given("cache_control") != nil {
		r.refuse(param, "", param+": cache_control cannot be set for empty text blocks")
	}
	return r.fault == nil
}

// message reads one message. The results of tools are turns of their own, after what else the message says: they are what
// the conversation ends with.
func (r *messagesReader) message(v *node, param string, last bool) {
	roles := []string{"user", "assistant"}
	if n := len(r.ask.turns); n > 0 && r.after == "user" { // an instruction may follow what the user said
		roles = append(roles, "system")
	}
	fields := map[string]messagesField{"role": func(r *messagesReader, v *node, p string) { r.words(v, p, roles...) }, "content": nil}
	if !members(&r.checker, r, v, param, fields, "role", "content") {
		return
	}
	role, body := v.get("role").text, v.get("content")
	if len(r.ask.turns) == 0 || len(r.ask.turns) == 1 && r.ask.turns[0].role == "system" {
		if role != "user" {
			r.refuse(param, "", `messages: first message must use the "user" role`)
		}
	}
	r.after = role
	m := messageReader{r: r, turn: turn{role: role}, asked: r.calls, last: last, param: param}
	r.calls = openCalls{}
	switch body.kind {
	case text:
		r.say(&m.turn, body.text, param+".content")
		m.size = len(body.text)
		r.marked(body, param+".content", countTokens(m.turn.text)+tokensPerTurn)
	case array:
		r.each(body, param+".content", m.block)
		m.size = len(body.items)
	default:
		r.wrongType(param+".content", body, "a string or an array")
	}
	if r.fault == nil {
		m.end()
	}
}

type messageReader struct {
	r       *messagesReader
	turn    turn
	results []turn
	asked   openCalls // by the message before
	kinds   []string  // of the blocks so far
	size    int
	last    bool
	param   string
}

func (m *messageReader) end() {
	r := m.r
	if m.size == 0 && (m.turn.role == "user" || !m.last) {
		r.refuse(m.param, "", m.param+": all messages must have non-empty content except for the optional final assistant message")
	}
	var open []string
	for i, done := range m.asked.answered {
		if !done {
			open = append(open, m.asked.ids[i])
		}
	}
	if open != nil {
		r.refuse(m.param, "", m.before()+": `tool_use` ids were found without `tool_result` blocks immediately after: "+strings.Join(open, ", ")+". Each `tool_use` block must have a corresponding `tool_result` block in the next message.")
	}
	if m.last && m.turn.role == "assistant" {
		m.prefill()
	}
	if m.turn.role == "assistant" || m.turn.text != "" || m.turn.media != nil || m.results == nil {
		r.ask.turns = append(r.ask.turns, m.turn)
	}
	r.ask.turns = append(r.ask.turns, m.results...)
}

// before is the path of the message before this one.
func (m *messageReader) before() string {
	at, _ := strconv.Atoi(strings.TrimPrefix(m.param, "messages."))
	return "messages." + strconv.Itoa(at-1)
}

// prefill checks a conversation that ends with what the model is to go on with.
func (m *messageReader) prefill() {
	r := m.r
	switch {
	case r.calls.ids != nil:
		r.refuse(m.param, "", m.param+": `tool_use` ids were found without `tool_result` blocks immediately after: "+strings.Join(r.calls.ids, ", ")+". Each `tool_use` block must have a corresponding `tool_result` block in the next message.")
	case r.thinking == "enabled" || r.thinking == "adaptive":
		r.refuse(m.param, "", "This model does not support assistant message prefill. The conversation must end with a user message.")
	case m.turn.text != strings.TrimRight(m.turn.text, " \t\r\n"):
		r.refuse(m.param, "", "messages: final assistant content cannot end with trailing whitespace")
	}
}

// blocksOf is which blocks a role may have.
var blocksOf = map[string][]string{
	"user":      {"text", "image", "document", "tool_result", "search_result", "container_upload"},
	"assistant": {"text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "bash_code_execution_tool_result", "mcp_tool_use", "mcp_tool_result"},
	"system":    {"text"},
}

func (m *messageReader) block(v *node, param string) {
	r := m.r
	if !r.typed(v, object, param) {
		return
	}
	kindOf := v.get("type")
	if kindOf == nil {
		r.missing(param + ".type")
		return
	}
	if !r.typed(kindOf, text, param+".type") {
		return
	}
	word := kindOf.text
	if !slices.Contains(blocksOf[m.turn.role], word) {
		m.misplaced(word, param)
		return
	}
	tokens := m.tokens()
	at := param + "." + word
	switch word {
	case "text":
		if r.textBlock(v, param) {
			r.say(&m.turn, v.get("text").text, at)
		}
	case "image", "document":
		m.medium(&m.turn, v, at, word)
	case "tool_result":
		m.result(v, param)
	case "thinking", "redacted_thinking":
		m.thought(v, param, word)
	case "tool_use":
		m.use(v, at)
	}
	m.kinds = append(m.kinds, word)
	if word == "thinking" || word == "redacted_thinking" {
		if v.get("cache_control") != nil {
			r.unknown(at + ".cache_control")
		}
		return
	}
	if r.fault == nil {
		r.marked(v, at, m.tokens()-tokens)
	}
}

// misplaced complains about a block that is unknown, or that the other role has.
func (m *messageReader) misplaced(word, param string) {
	other := map[string]string{"user": "assistant", "assistant": "user", "system": "user"}[m.turn.role]
	if slices.Contains(blocksOf[other], word) {
		m.r.refuse(param, "", "messages: `"+word+"` blocks can only be in `"+other+"` messages")
		return
	}
	tags := append(slices.Clone(blocksOf["user"]), blocksOf["assistant"]...)
	slices.Sort(tags)
	m.r.refuse(param, "", param+": Input tag '"+word+"' found using 'type' does not match any of the expected tags: '"+strings.Join(slices.Compact(tags), "', '")+"'")
}

// tokens are those of the message so far.
func (m *messageReader) tokens() int {
	one := ask{turns: append([]turn{m.turn}, m.results...)}
	n, _ := one.promptTokens()
	return n
}

// medium reads an image or a document.
func (m *messageReader) medium(t *turn, v *node, param, word string) {
	fields := map[string]messagesField{"type": nil, "source": nil, "cache_control": nil}
	if word == "document" {
		fields["title"], fields["context"], fields["citations"] = messagesText, messagesText, messagesObject
	}
	r := m.r
	if !members(&r.checker, r, v, param, fields, "source") {
		return
	}
	source := v.get("source")
	if !r.typed(source, object, param+".source") {
		return
	}
	out := medium{kind: "image"}
	if word == "document" {
		out.kind, out.name = "file", v.get("title").str()
	}
	if m.source(&out, source, param+".source", word) {
		t.media = append(t.media, out)
	}
}

var sourcesOf = map[string][]string{"image": {"base64", "url", "file"}, "document": {"base64", "url", "text", "content", "file"}}

func (m *messageReader) source(out *medium, v *node, param, word string) bool {
	r := m.r
	kindOf := v.get("type")
	if kindOf == nil {
		r.missing(param + ".type")
		return false
	}
	from := r.words(kindOf, param+".type", sourcesOf[word]...)
	at := param + "." + from
	switch from {
	case "url":
		if members(&r.checker, r, v, at, map[string]messagesField{"type": nil, "url": messagesText}, "url") && !out.located(v.get("url").text) || strings.HasPrefix(v.get("url").str(), "data:") {
			r.refuse(at, "", at+".url: Only HTTPS URLs are supported.")
		}
	case "file":
		if members(&r.checker, r, v, at, map[string]messagesField{"type": nil, "file_id": messagesText}, "file_id") {
			out.url = v.get("file_id").text
		}
	case "content":
		members(&r.checker, r, v, at, map[string]messagesField{"type": nil, "content": nil}, "content")
		out.bytes = len(v.get("content").str())
	case "text":
		fields := map[string]messagesField{"type": nil, "data": messagesText, "media_type": func(r *messagesReader, v *node, p string) { r.words(v, p, "text/plain") }}
		members(&r.checker, r, v, at, fields, "data", "media_type")
		out.bytes, out.format = len(v.get("data").str()), "plain"
	case "base64":
		m.inline(out, v, at, word)
	}
	return r.fault == nil
}

func (m *messageReader) inline(out *medium, v *node, param, word string) {
	r := m.r
	types := []string{"image/jpeg", "image/png", "image/gif", "image/webp"}
	if word == "document" {
		types = []string{"application/pdf"}
	}
	fields := map[string]messagesField{"type": nil, "data": messagesText, "media_type": func(r *messagesReader, v *node, p string) { r.words(v, p, types...) }}
	if !members(&r.checker, r, v, param, fields, "data", "media_type") {
		return
	}
	said := v.get("media_type").text
	if !out.inline(v.get("data").text) {
		r.refuse(param, "", param+".data: Input should be valid base64")
		return
	}
	found := out.format
	if out.format == "" {
		out.format = said[strings.IndexByte(said, '/')+1:]
	}
	switch {
	case word == "document" && !strings.HasPrefix(v.get("data").text, "JVBER"): // "%PDF" in base64
		r.refuse(param, "", strings.TrimSuffix(param, ".source.base64")+".source.base64.data: The PDF specified was not valid.")
	case word == "image" && said != "image/webp" && found == "":
		r.refuse(param, "", "Could not process image")
	case word == "image" && found != "" && said != "image/"+found:
		r.refuse(param, "", param+".data: Image does not match the provided media type "+said)
	}
}

// result reads what a tool returned. It must be at the message's beginning and answer a call of the message before.
func (m *messageReader) result(v *node, param string) {
	r, at := m.r, param+".tool_result"
	fields := map[string]messagesField{"type": nil, "tool_use_id": messagesText, "content": nil, "is_error": messagesBool, "cache_control": nil}
	if !members(&r.checker, r, v, at, fields, "tool_use_id") {
		return
	}
	id := v.get("tool_use_id").text
	i := slices.Index(m.asked.ids, id)
	late := slices.ContainsFunc(m.kinds, func(kind string) bool { return kind != "tool_result" })
	switch {
	case i < 0:
		r.refuse(param, "", param+": unexpected `tool_use_id` found in `tool_result` blocks: "+id+". Each `tool_result` block must have a corresponding `tool_use` block in the previous message.")
		return
	case m.asked.answered[i]:
		r.refuse(param, "", param+": each tool_use must have a single result. Found multiple `tool_result` blocks with id: "+id)
		return
	case late:
		r.refuse(param, "", m.before()+": `tool_use` ids were found without `tool_result` blocks immediately after: "+id+". Each `tool_use` block must have a corresponding `tool_result` block in the next message.")
		return
	}
	m.asked.answered[i] = true
	t := turn{role: "tool", result: m.asked.names[i]}
	switch body := v.given("content"); {
	case body == nil:
	case body.kind == text:
		r.say(&t, body.text, at)
	case body.kind == array:
		r.each(body, at+".content", func(v *node, param string) { m.resultBlock(&t, v, param) })
	default:
		r.wrongType(at+".content", body, "a string or an array")
	}
	m.results = append(m.results, t)
}

func (m *messageReader) resultBlock(t *turn, v *node, param string) {
	r := m.r
	if !r.typed(v, object, param) {
		return
	}
	kindOf := v.get("type")
	if kindOf == nil {
		r.missing(param + ".type")
		return
	}
	switch word := r.words(kindOf, param+".type", "text", "image", "document", "search_result", "tool_reference"); word {
	case "text":
		if r.textBlock(v, param) {
			r.say(t, v.get("text").text, param)
		}
	case "image", "document":
		m.medium(t, v, param+"."+word, word)
	}
	if c := v.given("cache_control"); c != nil {
		r.cacheControl(c, param+".cache_control")
	}
}

// use reads a call that the model made.
func (m *messageReader) use(v *node, param string) {
	r := m.r
	fields := map[string]messagesField{
		"type": nil, "input": messagesObject, "cache_control": nil, "caller": messagesObject, "name": messagesText,
		"id": func(r *messagesReader, v *node, p string) {
			if r.typed(v, text, p) && !validNameOf(v.text, 1<<10) {
				r.refuse(p, "", p+": String should match pattern '^[a-zA-Z0-9_-]+$'")
			}
		},
	}
	if !members(&r.checker, r, v, param, fields, "id", "input", "name") {
		return
	}
	id, name := v.get("id").text, v.get("name").text
	if slices.Contains(r.calls.ids, id) {
		r.refuse(param, "", "messages: `tool_use` ids must be unique")
	}
	m.turn.calls = append(m.turn.calls, name+" "+string(v.get("input").raw))
	r.calls.ids, r.calls.names, r.calls.answered = append(r.calls.ids, id), append(r.calls.names, name), append(r.calls.answered, false)
	m.first(m.param + ".content.0")
}

// first checks that calls which are about to be answered begin with what was thought of them, when the caller wants thoughts.
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
	m.r.refuse(param, "", thoughtExpected(param, found))
}

// thoughtExpected is what Anthropic says of a first block that is no thinking, with its own spelling.
func thoughtExpected(param, found string) string {
	//nolint:misspell // theirs
	return param + ".type: Expected `thinking` or `redacted_thinking`, but found `" + found + "`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
}

// answersBehind reports whether a message is the last one of the model and its calls are answered after it.
func (r *messagesReader) answersBehind(param string) bool {
	at, _ := strconv.Atoi(strings.TrimPrefix(param, "messages."))
	all := r.root.get("messages").items
	return at == len(all)-2
}

// thought reads what the model thought before, and knows it again.
func (m *messageReader) thought(v *node, param, word string) {
	r, at := m.r, param+"."+word
	if m.kinds != nil && m.kinds[0] != "thinking" && m.kinds[0] != "redacted_thinking" {
		first := m.param + ".content.0"
		r.refuse(first, "", first+": If an assistant message contains any thinking blocks, the first block must be `thinking` or `redacted_thinking`. Found `"+m.kinds[0]+"`.")
		return
	}
	if word == "redacted_thinking" {
		if !members(&r.checker, r, v, at, map[string]messagesField{"type": nil, "data": messagesText}, "data") {
			return
		}
		if _, ok := reveal(messagesWire, r.ask.persona, v.get("data").text); !ok {
			r.refuse(param, "", param+": Invalid `data` in `redacted_thinking` block")
		}
		return
	}
	if !members(&r.checker, r, v, at, map[string]messagesField{"type": nil, "thinking": messagesText, "signature": messagesText}, "thinking", "signature") {
		return
	}
	if !genuine(messagesWire, r.ask.persona, v.get("signature").text, v.get("thinking").text) {
		r.refuse(param, "", param+": Invalid `signature` in `thinking` block")
	}
}
