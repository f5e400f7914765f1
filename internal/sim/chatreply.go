package sim

import (
	"encoding/base64"
	"iter"
	"strconv"
	"unicode/utf8"
)

// chatReply writes an answer on the chat wire.
type chatReply struct {
	on      *wire
	ask     *ask
	answer  *answer
	created int64
}

// reply is the answer in the form that faults and transport need.
func (r *chatReply) reply() *reply {
	return &reply{
		wire:   r.on,
		stream: r.ask.stream,
		body:   func() []byte { return r.whole(false) },
		hollow: func() []byte { return r.whole(true) },
		frames: r.frames,
	}
}

func (r *chatReply) head(dst []byte, kind string) []byte {
	dst = append(dst, `{"id":"chatcmpl-`...)
	dst = append(dst, hexOf(r.answer.id)...)
	dst = append(dst, `","object":"`...)
	dst = append(dst, kind...)
	dst = append(dst, `","created":`...)
	dst = strconv.AppendInt(dst, r.created, 10)
	dst = append(dst, `,"model":`...)
	dst = appendText(dst, r.ask.name)
	return append(dst, `,"system_fingerprint":"fp_sim","service_tier":"default"`...)
}

// whole is the body of an answer that is not streamed. A hollow one has neither content nor a finish reason.
func (r *chatReply) whole(hollow bool) []byte {
	dst := r.head(make([]byte, 0, 1024), "chat.completion")
	dst = append(dst, `,"choices":[`...)
	for i := range r.answer.choices {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"index":`...)
		dst = appendInt(dst, i)
		dst = append(dst, `,"message":`...)
		if hollow {
			dst = append(dst, `{"role":"assistant","content":null},"finish_reason":null}`...)
			continue
		}
		c := &r.answer.choices[i]
		dst = appendMessage(dst, c)
		dst = append(dst, `,"logprobs":`...)
		dst = r.logprobs(dst, c, c.text, 0)
		dst = append(dst, `,"finish_reason":`...)
		dst = appendText(dst, finishOnChat(c))
		dst = append(dst, '}')
	}
	dst = append(dst, ']')
	if hollow {
		return append(dst, '}')
	}
	return append(appendTally(dst, &r.answer.usage, r.ask.knobs.usage), '}')
}

// finishOnChat is the finish reason: a refusal is a text like any other on this wire.
func finishOnChat(c *choice) string {
	if c.refused {
		return "stop"
	}
	return c.finish
}

func appendMessage(dst []byte, c *choice) []byte {
	dst = append(dst, `{"role":"assistant","content":`...)
	switch {
	case c.refused:
		dst = appendText(append(dst, `null,"refusal":`...), c.text)
	case c.text == "" && (len(c.calls) > 0 || c.audio != nil):
		dst = append(dst, `null,"refusal":null`...)
	default:
		dst = append(appendText(dst, c.text), `,"refusal":null`...)
	}
	if c.reasoning != "" {
		dst = appendText(append(dst, `,"reasoning_content":`...), c.reasoning)
	}
	if len(c.calls) > 0 {
		dst = append(dst, `,"tool_calls":[`...)
		for i := range c.calls {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendCall(append(dst, '{'), &c.calls[i], c.calls[i].arguments)
		}
		dst = append(dst, ']')
	}
	if len(c.images) > 0 {
		dst = appendImages(dst, c)
	}
	if c.audio != nil {
		dst = append(dst, `,"audio":`...)
		dst = appendSound(dst, c.audio, true)
	}
	return append(dst, '}')
}

// appendCall writes a call after its opening brace and index, with so much of its arguments.
func appendCall(dst []byte, c *call, arguments string) []byte {
	word, argument := "function", "arguments"
	if c.custom {
		word, argument = "custom", "input"
	}
	dst = appendText(append(dst, `"id":`...), c.id)
	dst = append(dst, `,"type":"`...)
	dst = append(append(dst, word...), `","`...)
	dst = append(append(dst, word...), `":{"name":`...)
	dst = appendText(dst, c.name)
	dst = append(append(append(dst, `,"`...), argument...), `":`...)
	return append(appendText(dst, arguments), '}', '}')
}

func appendImages(dst []byte, c *choice) []byte {
	dst = append(dst, `,"images":[`...)
	for i, url := range c.images {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendInt(append(dst, `{"index":`...), i)
		dst = append(dst, `,"type":"image_url","image_url":{"url":"`...)
		dst = append(append(dst, url...), `"}}`...)
	}
	return append(dst, ']')
}

// Audio answers can be referred to for an hour, as the best known provider does it.
const audioLife = 3600

func appendSound(dst []byte, s *sound, all bool) []byte {
	dst = append(append(append(dst, `{"id":"`...), s.id...), '"')
	if all {
		dst = append(dst, `,"data":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, s.data)
		dst = append(dst, `","expires_at":`...)
		dst = strconv.AppendInt(dst, s.expires, 10)
		dst = appendText(append(dst, `,"transcript":`...), s.transcript)
	}
	return append(dst, '}')
}

// logprobs writes those of a piece of text whose first token is the choice's at-th.
func (r *chatReply) logprobs(dst []byte, c *choice, piece string, at int) []byte {
	if !r.ask.logprobs {
		return append(dst, "null"...)
	}
	dst = appendLogprobs(append(dst, `{"content":`...), c, piece, at, r.ask.top)
	return append(dst, `,"refusal":null}`...)
}

// appendLogprobs writes a list with those of each token, and of so many others in its place.
func appendLogprobs(dst []byte, c *choice, piece string, at, top int) []byte {
	dst = append(dst, '[')
	for i := at; piece != ""; i++ {
		if i > at {
			dst = append(dst, ',')
		}
		end := tokenEnd(piece)
		rnd := c.seed + random(i)
		milli := rnd.below(900) // thousandths below zero
		dst = append(appendLogprob(append(dst, '{'), piece[:end], milli), `,"top_logprobs":[`...)
		for k := range top {
			if k > 0 {
				dst = append(dst, ',')
			}
			token := piece[:end]
			if k > 0 {
				token = " " + english.verbs[(i+k)%len(english.verbs)][:k%4+2]
				milli += 1000
			}
			dst = append(appendLogprob(append(dst, '{'), token, milli), '}')
		}
		dst = append(dst, `]}`...)
		piece = piece[end:]
	}
	return append(dst, ']')
}

// appendTally writes `,"usage":{...}`, or what a provider that counts badly writes.
func appendTally(dst []byte, t *tally, style string) []byte {
	if style == "missing" {
		return dst
	}
	write := func(name string, n int) { dst = appendCount(dst, name, n, style) }
	dst = append(dst, `,"usage":{`...)
	write("prompt_tokens", t.prompt)
	dst = append(dst, ',')
	write("completion_tokens", t.completion)
	dst = append(dst, ',')
	write("total_tokens", t.prompt+t.completion)
	dst = append(dst, `,"prompt_tokens_details":{`...)
	write("cached_tokens", t.cached)
	dst = append(dst, ',')
	write("audio_tokens", t.promptAudio)
	dst = append(dst, `},"completion_tokens_details":{`...)
	write("reasoning_tokens", t.reasoning)
	dst = append(dst, ',')
	write("audio_tokens", t.outputAudio)
	if t.outputImg > 0 {
		dst = append(dst, ',')
		write("image_tokens", t.outputImg)
	}
	return append(dst, `}}`...)
}

// frames writes the chunks of a stream: an opening one for each choice, then one piece of each choice in turn, then what ends them.
// The bytes of a frame are used again for the next.
func (r *chatReply) frames(yield func(frame) bool) {
	w := chunkWriter{r: r, yield: yield, going: true}
	for i := range r.answer.choices {
		if w.going {
			w.delta(i, opening, `{"role":"assistant","content":"","refusal":null}`)
		}
	}
	w.interleaved()
	w.end()
}

// interleaved sends the content of all choices, one piece of each in turn.
func (w *chunkWriter) interleaved() {
	n := len(w.r.answer.choices)
	if n == 1 {
		for range w.pieces(0) { // every piece is sent on the way
		}
		return
	}
	open := make([]func() (struct{}, bool), n)
	for i := range open {
		next, stop := iter.Pull(w.pieces(i))
		defer stop()
		open[i] = next
	}
	for left := n; left > 0 && w.going; {
		for i := range open {
			if open[i] == nil || !w.going {
				continue
			}
			if _, more := open[i](); !more {
				open[i] = nil
				left--
			}
		}
	}
}

// chunkWriter hands out one chunk after another until the reader has enough.
type chunkWriter struct {
	r     *chatReply
	yield func(frame) bool
	going bool
	buf   []byte
}

func (w *chunkWriter) send(kind frameKind, data []byte) {
	w.going = w.going && w.yield(frame{data: data, kind: kind})
}

// start writes a chunk up to its delta.
func (w *chunkWriter) start(choice int) []byte {
	dst := w.r.head(w.buf[:0], "chat.completion.chunk")
	dst = append(dst, `,"choices":[{"index":`...)
	dst = appendInt(dst, choice)
	return append(dst, `,"delta":`...)
}

// finish writes what stands after the delta.
func (w *chunkWriter) finish(dst []byte, kind frameKind, logprobs func([]byte) []byte, reason string) {
	dst = append(dst, `,"logprobs":`...)
	if logprobs != nil {
		dst = logprobs(dst)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"finish_reason":`...)
	if reason != "" {
		dst = appendText(dst, reason)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `}]`...)
	if w.r.ask.streamUsage {
		dst = append(dst, `,"usage":null`...)
	}
	w.buf = append(dst, '}')
	w.send(kind, w.buf)
}

func (w *chunkWriter) delta(choice int, kind frameKind, delta string) {
	w.finish(append(w.start(choice), delta...), kind, nil, "")
}

// pieces sends the content of a choice, one chunk for each step that its reader takes.
func (w *chunkWriter) pieces(i int) iter.Seq[struct{}] {
	return func(step func(struct{}) bool) {
		c := &w.r.answer.choices[i]
		next := func() bool { return w.going && step(struct{}{}) }
		member := "content"
		if c.refused {
			member = "refusal"
		}
		if w.text(i, c.reasoning, "reasoning_content", next) && w.text(i, c.text, member, next) && w.calls(i, next) {
			w.media(i, next)
		}
	}
}

// text sends a text in pieces of so many tokens as the caller asked for.
func (w *chunkWriter) text(i int, s, member string, next func() bool) bool {
	c := &w.r.answer.choices[i]
	cut := newCutter(s, &w.r.ask.knobs, member == "content")
	for at := 0; ; {
		piece, tokens := cut.next()
		if piece == "" {
			return true
		}
		dst := append(append(append(w.start(i), `{"`...), member...), `":`...)
		dst = append(appendText(dst, piece), '}')
		var logprobs func([]byte) []byte
		if member == "content" && w.r.ask.logprobs {
			logprobs = func(dst []byte) []byte { return w.r.logprobs(dst, c, piece, at) }
		}
		w.finish(dst, content, logprobs, "")
		if at += tokens; !next() {
			return false
		}
	}
}

// cutter cuts a text into frames: of chunk tokens each, or into so many of about the same length.
type cutter struct {
	rest                  string
	tokens, frames, chunk int
}

func newCutter(s string, k *knobs, byFrames bool) cutter {
	c := cutter{rest: s, chunk: max(k.chunk, 1)}
	if byFrames && k.frames > 0 {
		c.tokens, c.frames = countTokens(s), k.frames
	}
	return c
}

func (c *cutter) next() (piece string, tokens int) {
	n := c.chunk
	if c.frames > 0 {
		n = max(1, (c.tokens+c.frames-1)/c.frames)
		c.tokens, c.frames = c.tokens-n, c.frames-1
	}
	piece, _ = cutTokens(c.rest, n)
	c.rest = c.rest[len(piece):]
	return piece, n
}

const argumentPiece = 12 // bytes of arguments in a fragment, about

func (w *chunkWriter) calls(i int, next func() bool) bool {
	calls := w.r.answer.choices[i].calls
	for j := range calls {
		c := &calls[j]
		dst := appendInt(append(w.start(i), `{"tool_calls":[{"index":`...), j)
		dst = appendCall(append(dst, ','), c, "")
		w.finish(append(dst, `]}`...), content, nil, "")
		if !next() {
			return false
		}
		for rest := c.arguments; rest != ""; {
			end := min(argumentPiece, len(rest))
			for end < len(rest) && !utf8.RuneStart(rest[end]) {
				end++
			}
			w.finish(appendFragment(w.start(i), c, j, rest[:end]), content, nil, "")
			if rest = rest[end:]; !next() {
				return false
			}
		}
	}
	return true
}

func appendFragment(dst []byte, c *call, index int, piece string) []byte {
	dst = appendInt(append(dst, `{"tool_calls":[{"index":`...), index)
	if c.custom {
		dst = append(dst, `,"custom":{"input":`...)
	} else {
		dst = append(dst, `,"function":{"arguments":`...)
	}
	return append(appendText(dst, piece), `}}]}`...)
}

const soundPiece = 1200 // bytes of sound in a frame; even, so that no sample is cut, and a multiple of three

func (w *chunkWriter) media(i int, next func() bool) {
	c := &w.r.answer.choices[i]
	if len(c.images) > 0 {
		dst := appendImages(append(w.start(i), `{"content":""`...), c)
		w.finish(append(dst, '}'), content, nil, "")
		if !next() {
			return
		}
	}
	if c.audio == nil {
		return
	}
	w.sound(i, next, func(dst []byte) []byte { return appendText(append(dst, `"transcript":`...), c.audio.transcript) })
	for rest := c.audio.data; len(rest) > 0 && w.going; {
		piece := rest[:min(soundPiece, len(rest))]
		rest = rest[len(piece):]
		w.sound(i, next, func(dst []byte) []byte {
			return append(base64.StdEncoding.AppendEncode(append(dst, `"data":"`...), piece), '"')
		})
	}
	w.sound(i, next, func(dst []byte) []byte {
		return strconv.AppendInt(append(dst, `"expires_at":`...), c.audio.expires, 10)
	})
}

func (w *chunkWriter) sound(i int, next func() bool, member func([]byte) []byte) {
	if !w.going {
		return
	}
	dst := append(w.start(i), `{"audio":{"id":"`...)
	dst = append(append(dst, w.r.answer.choices[i].audio.id...), `",`...)
	w.finish(append(member(dst), `}}`...), content, nil, "")
	next()
}

func (w *chunkWriter) end() {
	for i := range w.r.answer.choices {
		if w.going {
			w.finish(append(w.start(i), `{}`...), ending, nil, finishOnChat(&w.r.answer.choices[i]))
		}
	}
	if w.r.ask.streamUsage && w.r.ask.knobs.usage != "missing" && w.going {
		w.buf = append(w.r.head(w.buf[:0], "chat.completion.chunk"), `,"choices":[]`...)
		w.buf = append(appendTally(w.buf, &w.r.answer.usage, w.r.ask.knobs.usage), '}')
		w.send(ending, w.buf)
	}
	if w.going {
		w.send(done, []byte("[DONE]"))
	}
}
