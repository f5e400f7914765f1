package sim

import "strconv"

func (c *chatReader) messages() {
	v := c.root.get("messages")
	if v == nil {
		c.missing("messages")
		return
	}
	if !c.typed(v, array, "messages") {
		return
	}
	if len(v.items) == 0 {
		c.refuse("messages", "empty_array", "Invalid 'messages': empty array. Expected an array with at least one element.")
	}
	var open openCalls
	for i := range v.items {
		c.message(&v.items[i], "messages["+strconv.Itoa(i)+"]", &open)
		if c.fault != nil {
			return
		}
	}
	open.close(&c.checker, "messages")
}

// openCalls are the tool calls of the last assistant message, which the messages after it must answer.
type openCalls struct {
	ids, names []string
	answered   []bool
}

// close complains when another message, or the end, comes before all calls were answered.
func (o *openCalls) close(c *checker, param string) {
	for i, done := range o.answered {
		if !done {
			c.refuse(param, "", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: "+o.ids[i])
		}
	}
	*o = openCalls{}
}

// answer marks a call as answered and returns the name of its tool.
func (o *openCalls) answer(c *checker, id, param string) string {
	for i := range o.ids {
		if o.ids[i] == id {
			o.answered[i] = true
			return o.names[i]
		}
	}
	c.refuse(param, "", "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.")
	return ""
}

func (c *chatReader) message(v *node, param string, open *openCalls) {
	if !c.typed(v, object, param) {
		return
	}
	role := v.get("role")
	if role == nil {
		c.missing(param + ".role")
		return
	}
	t := turn{role: c.words(role, param+".role", "system", "developer", "user", "assistant", "tool")}
	if c.fault != nil {
		return
	}
	if n := v.given("name"); n != nil {
		c.typed(n, text, param+".name")
	}
	if t.role == "tool" {
		id := v.get("tool_call_id")
		if id == nil {
			c.missing(param + ".tool_call_id")
			return
		}
		if c.typed(id, text, param+".tool_call_id") {
			t.result = open.answer(&c.checker, id.text, param+".role")
		}
	} else {
		open.close(&c.checker, param)
	}
	if calls := v.given("tool_calls"); calls != nil {
		c.toolCalls(&t, calls, param+".tool_calls", open)
	}
	c.content(&t, v, param)
	c.ask.turns = append(c.ask.turns, t)
}

func (c *chatReader) toolCalls(t *turn, v *node, param string, open *openCalls) {
	if t.role != "assistant" {
		c.refuse(param, "", "'tool_calls' is only allowed in messages with role 'assistant'.")
		return
	}
	if !c.typed(v, array, param) {
		return
	}
	if len(v.items) == 0 {
		c.refuse(param, "empty_array", "Invalid '"+param+"': empty array. Expected an array with at least one element.")
	}
	for i := range v.items {
		c.toolCall(t, &v.items[i], param+"["+strconv.Itoa(i)+"]", open)
	}
}

func (c *chatReader) toolCall(t *turn, v *node, param string, open *openCalls) {
	id, kindOf := v.get("id"), v.get("type")
	switch {
	case !c.typed(v, object, param):
		return
	case id == nil:
		c.missing(param + ".id")
		return
	case kindOf == nil:
		c.missing(param + ".type")
		return
	case !c.typed(id, text, param+".id"):
		return
	}
	word := c.words(kindOf, param+".type", "function", "custom")
	argument := map[string]string{"function": "arguments", "custom": "input"}[word]
	inner := v.get(word)
	if word == "" || inner == nil {
		c.missing(param + "." + word)
		return
	}
	name := c.name(inner.get("name"), param+"."+word+".name")
	arguments := inner.get(argument)
	if arguments == nil {
		c.missing(param + "." + word + "." + argument)
		return
	}
	if c.typed(arguments, text, param+"."+word+"."+argument) {
		t.calls = append(t.calls, name+" "+arguments.text)
	}
	open.ids, open.names, open.answered = append(open.ids, id.text), append(open.names, name), append(open.answered, false)
}

func (c *chatReader) content(t *turn, v *node, param string) {
	content := v.get("content")
	switch {
	case content == nil || content.kind == null:
		if t.role != "assistant" || len(t.calls) == 0 && v.given("refusal") == nil && v.given("audio") == nil {
			c.refuse(param+".content", "invalid_type", "Invalid value for 'content': expected a string, got null.")
		}
	case content.is(text):
		c.say(t, content.text, param+".content")
	case content.is(array):
		if len(content.items) == 0 {
			c.refuse(param+".content", "empty_array", "Invalid '"+param+".content': empty array. Expected an array with at least one element.")
		}
		for i := range content.items {
			c.part(t, &content.items[i], param+".content["+strconv.Itoa(i)+"]")
		}
	default:
		c.wrongType(param+".content", content, "a string or an array")
	}
}

// partsOf is which parts a role may have.
var partsOf = map[string][]string{
	"system": {"text"}, "developer": {"text"}, "assistant": {"text", "refusal"}, "tool": {"text", "image_url"},
	"user": {"text", "image_url", "input_audio", "file", "video_url"},
}

func (c *chatReader) part(t *turn, v *node, param string) {
	if !c.typed(v, object, param) {
		return
	}
	kindOf := v.get("type")
	if kindOf == nil {
		c.missing(param + ".type")
		return
	}
	word := c.words(kindOf, param+".type", partsOf[t.role]...)
	inner := v.get(word)
	switch {
	case word == "":
	case inner == nil:
		c.missing(param + "." + word)
	case word == "text" || word == "refusal":
		if c.typed(inner, text, param+"."+word) {
			c.say(t, inner.text, param)
		}
	case c.typed(inner, object, param+"."+word):
		m := c.medium(word, inner, param+"."+word)
		t.media = append(t.media, m)
	}
}

func (c *chatReader) medium(word string, v *node, param string) medium {
	switch word {
	case "image_url":
		m := medium{kind: "image"}
		if d := v.given("detail"); d != nil {
			m.low = c.words(d, param+".detail", "auto", "low", "high", "original") == "low"
		}
		c.url(&m, v.get("url"), param+".url")
		return m
	case "video_url":
		m := medium{kind: "video"}
		c.url(&m, v.get("url"), param+".url")
		return m
	case "input_audio":
		return c.audioIn(v, param)
	}
	return c.file(v, param)
}

func (c *chatReader) url(m *medium, v *node, param string) {
	if v == nil {
		c.missing(param)
		return
	}
	if c.typed(v, text, param) && !m.located(v.text) {
		c.refuse(param, "invalid_image_url", "Invalid '"+param+"': expected an http(s) URL or a data URL with valid base64.")
	}
}

func (c *chatReader) audioIn(v *node, param string) medium {
	m := medium{kind: "audio"}
	data, format := v.get("data"), v.get("format")
	switch {
	case data == nil:
		c.missing(param + ".data")
	case format == nil:
		c.missing(param + ".format")
	default:
		m.format = c.words(format, param+".format", "wav", "mp3", "flac", "m4a", "ogg", "aiff", "aac", "pcm16", "pcm24")
		if c.typed(data, text, param+".data") && !m.inline(data.text) {
			c.wrongValue(param+".data", "base64")
		}
	}
	return m
}

func (c *chatReader) file(v *node, param string) medium {
	m := medium{kind: "file"}
	if n := v.given("filename"); n != nil && c.typed(n, text, param+".filename") {
		m.name = n.text
	}
	data, id := v.given("file_data"), v.given("file_id")
	switch {
	case data == nil && id == nil:
		c.missing(param + ".file_data")
	case data == nil:
		if c.typed(id, text, param+".file_id") {
			m.url = id.text
		}
	case c.typed(data, text, param+".file_data"):
		if !m.located(data.text) && !m.inline(data.text) {
			c.wrongValue(param+".file_data", "a data URL or base64")
		}
	}
	return m
}
