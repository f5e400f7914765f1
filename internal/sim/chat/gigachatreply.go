package chat

import (
	"strconv"

	"weir/internal/sim/kit"
)

// gigachatReply writes an answer on the GigaChat wire.
type gigachatReply struct {
	ask     *kit.Request
	answer  *kit.Answer
	created int64
}

func (r *gigachatReply) reply() *kit.Reply {
	return &kit.Reply{
		Wire:      GigachatWire,
		Stream:    r.ask.Stream,
		Body:      func() []byte { return r.whole(false) },
		EmptyBody: func() []byte { return r.whole(true) },
		Frames:    r.frames,
	}
}

func (r *gigachatReply) tail(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `,"created":`...), r.created, 10)
	return append(kit.AppendText(append(dst, `,"model":`...), r.ask.Name), `,"object":"chat.completion"`...)
}

func (r *gigachatReply) whole(hollow bool) []byte {
	c := &r.answer.Choices[0]
	dst := append(make([]byte, 0, 1024), `{"choices":[{"message":{"role":"assistant","content":`...)
	if hollow {
		return append(r.tail(append(dst, `""},"index":0}]`...)), '}')
	}
	dst = kit.AppendText(dst, c.Text)
	if c.Reasoning != "" {
		dst = kit.AppendText(append(dst, `,"reasoning_content":`...), c.Reasoning)
	}
	dst = r.call(dst, c)
	dst = kit.AppendText(append(dst, `},"index":0,"finish_reason":`...), r.finish(c))
	return append(r.usage(r.tail(append(dst, "}]"...))), '}')
}

func (r *gigachatReply) finish(c *kit.Choice) string {
	return map[string]string{"stop": "stop", "length": "length", "tool_calls": "function_call", "content_filter": "blacklist", "refusal": "blacklist"}[c.Finish]
}

// call writes the function call. Arguments that were cut are none.
func (r *gigachatReply) call(dst []byte, c *kit.Choice) []byte {
	if len(c.Calls) == 0 {
		return dst
	}
	call := &c.Calls[0]
	args := &kit.Node{Kind: kit.Object, Raw: []byte("{}")}
	if n, err := kit.Parse([]byte(call.Arguments)); err == nil {
		args = n
	}
	dst = kit.AppendText(append(dst, `,"function_call":{"name":`...), call.Name)
	dst = kit.AppendCompact(append(dst, `,"arguments":`...), args.Raw)
	dst = append(dst, `},"functions_state_id":"`...)
	return append(append(dst, stateOf(r.ask.Model, call.Name, string(kit.Canonical(nil, args)))...), '"')
}

// usage writes `,"usage":{...}`: the prompt's tokens are those that were not remembered.
func (r *gigachatReply) usage(dst []byte) []byte {
	style, t := r.ask.Knobs.Usage, &r.answer.Usage
	if style == "missing" {
		return dst
	}
	dst = kit.AppendCount(append(dst, `,"usage":{`...), "prompt_tokens", t.Prompt-t.Cached, style)
	dst = kit.AppendCount(append(dst, ','), "completion_tokens", t.Completion, style)
	dst = kit.AppendCount(append(dst, ','), "total_tokens", t.Prompt-t.Cached+t.Completion, style)
	return append(kit.AppendCount(append(dst, ','), "precached_prompt_tokens", t.Cached, style), '}')
}

func (r *gigachatReply) frames(yield func(kit.Frame) bool) {
	c := &r.answer.Choices[0]
	var buf []byte
	role := `,"role":"assistant"`
	send := func(kind kit.FrameKind, member, piece string, more func([]byte) []byte) bool {
		buf = kit.AppendText(append(append(append(buf[:0], `{"choices":[{"delta":{"`...), member...), `":`...), piece)
		buf = append(buf, role...)
		role = ""
		if more != nil {
			buf = more(buf)
		}
		buf = append(buf, `},"index":0`...)
		if kind == kit.Ending {
			buf = kit.AppendText(append(buf, `,"finish_reason":`...), r.finish(c))
		}
		buf = r.tail(append(buf, "}]"...))
		if kind == kit.Ending {
			buf = r.usage(buf)
		}
		return yield(kit.Frame{Data: append(buf, '}'), Kind: kind})
	}
	for _, part := range [...][2]string{{"reasoning_content", c.Reasoning}, {"content", c.Text}} {
		cut := newCutter(part[1], &r.ask.Knobs, part[0] == "content")
		for piece, _ := cut.next(); piece != ""; piece, _ = cut.next() {
			if !send(kit.Content, part[0], piece, nil) {
				return
			}
		}
	}
	if len(c.Calls) > 0 && !send(kit.Content, "content", "", func(dst []byte) []byte { return r.call(dst, c) }) {
		return
	}
	if send(kit.Ending, "content", "", nil) {
		yield(kit.Frame{Data: []byte("[DONE]"), Kind: kit.Done})
	}
}
