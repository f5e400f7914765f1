package sim

import "strconv"

// gigachatReply writes an answer on the GigaChat wire.
type gigachatReply struct {
	ask     *ask
	answer  *answer
	created int64
}

func (r *gigachatReply) reply() *reply {
	return &reply{
		wire:   gigachatWire,
		stream: r.ask.stream,
		body:   func() []byte { return r.whole(false) },
		hollow: func() []byte { return r.whole(true) },
		frames: r.frames,
	}
}

func (r *gigachatReply) tail(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `,"created":`...), r.created, 10)
	return append(appendText(append(dst, `,"model":`...), r.ask.name), `,"object":"chat.completion"`...)
}

func (r *gigachatReply) whole(hollow bool) []byte {
	c := &r.answer.choices[0]
	dst := append(make([]byte, 0, 1024), `{"choices":[{"message":{"role":"assistant","content":`...)
	if hollow {
		return append(r.tail(append(dst, `""},"index":0}]`...)), '}')
	}
	dst = appendText(dst, c.text)
	if c.reasoning != "" {
		dst = appendText(append(dst, `,"reasoning_content":`...), c.reasoning)
	}
	dst = r.call(dst, c)
	dst = appendText(append(dst, `},"index":0,"finish_reason":`...), r.finish(c))
	return append(r.usage(r.tail(append(dst, "}]"...))), '}')
}

func (r *gigachatReply) finish(c *choice) string {
	return map[string]string{"stop": "stop", "length": "length", "tool_calls": "function_call", "content_filter": "blacklist", "refusal": "blacklist"}[c.finish]
}

// call writes the function call. Arguments that were cut are none.
func (r *gigachatReply) call(dst []byte, c *choice) []byte {
	if len(c.calls) == 0 {
		return dst
	}
	call := &c.calls[0]
	args := &node{kind: object, raw: []byte("{}")}
	if n, err := parse([]byte(call.arguments)); err == nil {
		args = n
	}
	dst = appendText(append(dst, `,"function_call":{"name":`...), call.name)
	dst = appendCompact(append(dst, `,"arguments":`...), args.raw)
	dst = append(dst, `},"functions_state_id":"`...)
	return append(append(dst, stateOf(r.ask.persona, call.name, string(canonical(nil, args)))...), '"')
}

// usage writes `,"usage":{...}`: the prompt's tokens are those that were not remembered.
func (r *gigachatReply) usage(dst []byte) []byte {
	style, t := r.ask.knobs.usage, &r.answer.usage
	if style == "missing" {
		return dst
	}
	dst = appendCount(append(dst, `,"usage":{`...), "prompt_tokens", t.prompt-t.cached, style)
	dst = appendCount(append(dst, ','), "completion_tokens", t.completion, style)
	dst = appendCount(append(dst, ','), "total_tokens", t.prompt-t.cached+t.completion, style)
	return append(appendCount(append(dst, ','), "precached_prompt_tokens", t.cached, style), '}')
}

func (r *gigachatReply) frames(yield func(frame) bool) {
	c := &r.answer.choices[0]
	var buf []byte
	role := `,"role":"assistant"`
	send := func(kind frameKind, member, piece string, more func([]byte) []byte) bool {
		buf = appendText(append(append(append(buf[:0], `{"choices":[{"delta":{"`...), member...), `":`...), piece)
		buf = append(buf, role...)
		role = ""
		if more != nil {
			buf = more(buf)
		}
		buf = append(buf, `},"index":0`...)
		if kind == ending {
			buf = appendText(append(buf, `,"finish_reason":`...), r.finish(c))
		}
		buf = r.tail(append(buf, "}]"...))
		if kind == ending {
			buf = r.usage(buf)
		}
		return yield(frame{data: append(buf, '}'), kind: kind})
	}
	for _, part := range [...][2]string{{"reasoning_content", c.reasoning}, {"content", c.text}} {
		cut := newCutter(part[1], &r.ask.knobs, part[0] == "content")
		for piece, _ := cut.next(); piece != ""; piece, _ = cut.next() {
			if !send(content, part[0], piece, nil) {
				return
			}
		}
	}
	if len(c.calls) > 0 && !send(content, "content", "", func(dst []byte) []byte { return r.call(dst, c) }) {
		return
	}
	if send(ending, "content", "", nil) {
		yield(frame{data: []byte("[DONE]"), kind: done})
	}
}
