package chat

import (
	"strconv"

	"weir/internal/sim/kit"
)

func (c *chatReader) messages() {
	v := c.Root.Get("messages")
	if v == nil {
		c.Missing("messages")
		return
	}
	if !c.ExpectKind(v, kit.Array, "messages") {
		return
	}
	if len(v.Items) == 0 {
		c.Refuse("messages", "empty_array", "Invalid 'messages': empty array. Expected an array with at least one element.")
	}
	var open openCalls
	for i := range v.Items {
		c.message(&v.Items[i], "messages["+strconv.Itoa(i)+"]", &open)
		if c.Fault != nil {
			return
		}
	}
	open.close(&c.Checker, "messages")
}

// openCalls are the tool calls of the last assistant message, which later messages must answer.
type openCalls struct {
	ids, names []string
	answered   []bool
}

// close refuses a conversation in which another message, or the end, comes before all calls are answered.
func (o *openCalls) close(c *kit.Checker, param string) {
	for i, done := range o.answered {
		if !done {
			c.Refuse(param, "", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: "+o.ids[i])
		}
	}
	*o = openCalls{}
}

// answer marks a call as answered and returns the name of its tool.
func (o *openCalls) answer(c *kit.Checker, id, param string) string {
	for i := range o.ids {
		if o.ids[i] == id {
			o.answered[i] = true
			return o.names[i]
		}
	}
	c.Refuse(param, "", "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.")
	return ""
}

func (c *chatReader) message(v *kit.Node, param string, open *openCalls) {
	if !c.ExpectKind(v, kit.Object, param) {
		return
	}
	role := v.Get("role")
	if role == nil {
		c.Missing(param + ".role")
		return
	}
	t := kit.Turn{Role: c.OneOf(role, param+".role", "system", "developer", "user", "assistant", "tool")}
	if c.Fault != nil {
		return
	}
	if n := v.Given("name"); n != nil {
		c.ExpectKind(n, kit.Text, param+".name")
	}
	if t.Role == "tool" {
		id := v.Get("tool_call_id")
		if id == nil {
			c.Missing(param + ".tool_call_id")
			return
		}
		if c.ExpectKind(id, kit.Text, param+".tool_call_id") {
			t.Result = open.answer(&c.Checker, id.Text, param+".role")
		}
	} else {
		open.close(&c.Checker, param)
	}
	if calls := v.Given("tool_calls"); calls != nil {
		c.toolCalls(&t, calls, param+".tool_calls", open)
	}
	c.content(&t, v, param)
	c.Request.Turns = append(c.Request.Turns, t)
}

func (c *chatReader) toolCalls(t *kit.Turn, v *kit.Node, param string, open *openCalls) {
	if t.Role != "assistant" {
		c.Refuse(param, "", "'tool_calls' is only allowed in messages with role 'assistant'.")
		return
	}
	if !c.ExpectKind(v, kit.Array, param) {
		return
	}
	if len(v.Items) == 0 {
		c.Refuse(param, "empty_array", "Invalid '"+param+"': empty array. Expected an array with at least one element.")
	}
	for i := range v.Items {
		c.toolCall(t, &v.Items[i], param+"["+strconv.Itoa(i)+"]", open)
	}
}

func (c *chatReader) toolCall(t *kit.Turn, v *kit.Node, param string, open *openCalls) {
	id, kindOf := v.Get("id"), v.Get("type")
	switch {
	case !c.ExpectKind(v, kit.Object, param):
		return
	case id == nil:
		c.Missing(param + ".id")
		return
	case kindOf == nil:
		c.Missing(param + ".type")
		return
	case !c.ExpectKind(id, kit.Text, param+".id"):
		return
	}
	word := c.OneOf(kindOf, param+".type", "function", "custom")
	argument := map[string]string{"function": "arguments", "custom": "input"}[word]
	inner := v.Get(word)
	if word == "" || inner == nil {
		c.Missing(param + "." + word)
		return
	}
	name := c.name(inner.Get("name"), param+"."+word+".name")
	arguments := inner.Get(argument)
	if arguments == nil {
		c.Missing(param + "." + word + "." + argument)
		return
	}
	if c.ExpectKind(arguments, kit.Text, param+"."+word+"."+argument) {
		t.Calls = append(t.Calls, name+" "+arguments.Text)
	}
	open.ids, open.names, open.answered = append(open.ids, id.Text), append(open.names, name), append(open.answered, false)
}

func (c *chatReader) content(t *kit.Turn, v *kit.Node, param string) {
	content := v.Get("content")
	switch {
	case content == nil || content.Kind == kit.Null:
		if t.Role != "assistant" || len(t.Calls) == 0 && v.Given("refusal") == nil && v.Given("audio") == nil {
			c.Refuse(param+".content", "invalid_type", "Invalid value for 'content': expected a string, got null.")
		}
	case content.Is(kit.Text):
		c.AddText(t, content.Text, param+".content")
	case content.Is(kit.Array):
		if len(content.Items) == 0 {
			c.Refuse(param+".content", "empty_array", "Invalid '"+param+".content': empty array. Expected an array with at least one element.")
		}
		for i := range content.Items {
			c.part(t, &content.Items[i], param+".content["+strconv.Itoa(i)+"]")
		}
	default:
		c.WrongType(param+".content", content, "a string or an array")
	}
}

// partsOf lists the parts that a role may have.
var partsOf = map[string][]string{
	"system": {"text"}, "developer": {"text"}, "assistant": {"text", "refusal"}, "tool": {"text", "image_url"},
	"user": {"text", "image_url", "input_audio", "file", "video_url"},
}

func (c *chatReader) part(t *kit.Turn, v *kit.Node, param string) {
	if !c.ExpectKind(v, kit.Object, param) {
		return
	}
	kindOf := v.Get("type")
	if kindOf == nil {
		c.Missing(param + ".type")
		return
	}
	word := c.OneOf(kindOf, param+".type", partsOf[t.Role]...)
	inner := v.Get(word)
	switch {
	case word == "":
	case inner == nil:
		c.Missing(param + "." + word)
	case word == "text" || word == "refusal":
		if c.ExpectKind(inner, kit.Text, param+"."+word) {
			c.AddText(t, inner.Text, param)
		}
	case c.ExpectKind(inner, kit.Object, param+"."+word):
		m := c.medium(word, inner, param+"."+word)
		t.Media = append(t.Media, m)
	}
}

func (c *chatReader) medium(word string, v *kit.Node, param string) kit.Medium {
	switch word {
	case "image_url":
		m := kit.Medium{Kind: "image"}
		if d := v.Given("detail"); d != nil {
			m.Low = c.OneOf(d, param+".detail", "auto", "low", "high", "original") == "low"
		}
		c.url(&m, v.Get("url"), param+".url")
		return m
	case "video_url":
		m := kit.Medium{Kind: "video"}
		c.url(&m, v.Get("url"), param+".url")
		return m
	case "input_audio":
		return c.audioIn(v, param)
	}
	return c.file(v, param)
}

func (c *chatReader) url(m *kit.Medium, v *kit.Node, param string) {
	if v == nil {
		c.Missing(param)
		return
	}
	if c.ExpectKind(v, kit.Text, param) && !m.FromURL(v.Text) {
		c.Refuse(param, "invalid_image_url", "Invalid '"+param+"': expected an http(s) URL or a data URL with valid base64.")
	}
}

func (c *chatReader) audioIn(v *kit.Node, param string) kit.Medium {
	m := kit.Medium{Kind: "audio"}
	data, format := v.Get("data"), v.Get("format")
	switch {
	case data == nil:
		c.Missing(param + ".data")
	case format == nil:
		c.Missing(param + ".format")
	default:
		m.Format = c.OneOf(format, param+".format", "wav", "mp3", "flac", "m4a", "ogg", "aiff", "aac", "pcm16", "pcm24")
		if c.ExpectKind(data, kit.Text, param+".data") && !m.FromBase64(data.Text) {
			c.WrongValue(param+".data", "base64")
		}
	}
	return m
}

func (c *chatReader) file(v *kit.Node, param string) kit.Medium {
	m := kit.Medium{Kind: "file"}
	if n := v.Given("filename"); n != nil && c.ExpectKind(n, kit.Text, param+".filename") {
		m.Name = n.Text
	}
	data, id := v.Given("file_data"), v.Given("file_id")
	switch {
	case data == nil && id == nil:
		c.Missing(param + ".file_data")
	case data == nil:
		if c.ExpectKind(id, kit.Text, param+".file_id") {
			m.URL = id.Text
		}
	case c.ExpectKind(data, kit.Text, param+".file_data"):
		if !m.FromURL(data.Text) && !m.FromBase64(data.Text) {
			c.WrongValue(param+".file_data", "a data URL or base64")
		}
	}
	return m
}
