package chat

import (
	"encoding/base64"
	"iter"
	"strconv"
	"unicode/utf8"

	"weir/internal/sim/kit"
)

// chatReply writes an answer on the chat wire.
type chatReply struct {
	on      *kit.Wire
	ask     *kit.Request
	answer  *kit.Answer
	created int64
}

// reply is the answer in the form that faults and transport need.
func (r *chatReply) reply() *kit.Reply {
	return &kit.Reply{
		Wire:      r.on,
		Stream:    r.ask.Stream,
		Body:      func() []byte { return r.whole(false) },
		EmptyBody: func() []byte { return r.whole(true) },
		Frames:    r.frames,
	}
}

func (r *chatReply) head(dst []byte, kind string) []byte {
	dst = append(dst, `{"id":"chatcmpl-`...)
	dst = append(dst, kit.HexOf(r.answer.ID)...)
	dst = append(dst, `","object":"`...)
	dst = append(dst, kind...)
	dst = append(dst, `","created":`...)
	dst = strconv.AppendInt(dst, r.created, 10)
	dst = append(dst, `,"model":`...)
	dst = kit.AppendText(dst, r.ask.Name)
	return append(dst, `,"system_fingerprint":"fp_sim","service_tier":"default"`...)
}

// whole is the body of an answer that is not streamed. A hollow one has neither content nor a finish reason.
func (r *chatReply) whole(hollow bool) []byte {
	dst := r.head(make([]byte, 0, 1024), "chat.completion")
	dst = append(dst, `,"choices":[`...)
	for i := range r.answer.Choices {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"index":`...)
		dst = kit.AppendInt(dst, i)
		dst = append(dst, `,"message":`...)
		if hollow {
			dst = append(dst, `{"role":"assistant","content":null},"finish_reason":null}`...)
			continue
		}
		c := &r.answer.Choices[i]
		dst = appendMessage(dst, c)
		dst = append(dst, `,"logprobs":`...)
		dst = r.logprobs(dst, c, c.Text, 0)
		dst = append(dst, `,"finish_reason":`...)
		dst = kit.AppendText(dst, finishOnChat(c))
		dst = append(dst, '}')
	}
	dst = append(dst, ']')
	if hollow {
		return append(dst, '}')
	}
	return append(appendTally(dst, &r.answer.Usage, r.ask.Knobs.Usage), '}')
}

// finishOnChat is the finish reason: a refusal is a text like any other on this wire.
func finishOnChat(c *kit.Choice) string {
	if c.Refused {
		return "stop"
	}
	return c.Finish
}

func appendMessage(dst []byte, c *kit.Choice) []byte {
	dst = append(dst, `{"role":"assistant","content":`...)
	switch {
	case c.Refused:
		dst = kit.AppendText(append(dst, `null,"refusal":`...), c.Text)
	case c.Text == "" && (len(c.Calls) > 0 || c.Audio != nil):
		dst = append(dst, `null,"refusal":null`...)
	default:
		dst = append(kit.AppendText(dst, c.Text), `,"refusal":null`...)
	}
	if c.Reasoning != "" {
		dst = kit.AppendText(append(dst, `,"reasoning_content":`...), c.Reasoning)
	}
	if len(c.Calls) > 0 {
		dst = append(dst, `,"tool_calls":[`...)
		for i := range c.Calls {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendCall(append(dst, '{'), &c.Calls[i], c.Calls[i].Arguments)
		}
		dst = append(dst, ']')
	}
	if len(c.Images) > 0 {
		dst = appendImages(dst, c)
	}
	if c.Audio != nil {
		dst = append(dst, `,"audio":`...)
		dst = appendAudio(dst, c.Audio, true)
	}
	return append(dst, '}')
}

// appendCall writes a call after its opening brace and index, with so much of its arguments.
func appendCall(dst []byte, c *kit.Call, arguments string) []byte {
	word, argument := "function", "arguments"
	if c.Custom {
		word, argument = "custom", "input"
	}
	dst = kit.AppendText(append(dst, `"id":`...), c.ID)
	dst = append(dst, `,"type":"`...)
	dst = append(append(dst, word...), `","`...)
	dst = append(append(dst, word...), `":{"name":`...)
	dst = kit.AppendText(dst, c.Name)
	dst = append(append(append(dst, `,"`...), argument...), `":`...)
	return append(kit.AppendText(dst, arguments), '}', '}')
}

func appendImages(dst []byte, c *kit.Choice) []byte {
	dst = append(dst, `,"images":[`...)
	for i, url := range c.Images {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = kit.AppendInt(append(dst, `{"index":`...), i)
		dst = append(dst, `,"type":"image_url","image_url":{"url":"`...)
		dst = append(append(dst, url...), `"}}`...)
	}
	return append(dst, ']')
}

// Audio answers can be referred to for an hour, as the best known provider does it.
const audioLife = 3600

func appendAudio(dst []byte, s *kit.AudioAnswer, all bool) []byte {
	dst = append(append(append(dst, `{"id":"`...), s.ID...), '"')
	if all {
		dst = append(dst, `,"data":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, s.Data)
		dst = append(dst, `","expires_at":`...)
		dst = strconv.AppendInt(dst, s.Expires, 10)
		dst = kit.AppendText(append(dst, `,"transcript":`...), s.Transcript)
	}
	return append(dst, '}')
}

// logprobs writes those of a piece of text whose first token is the choice's at-th.
func (r *chatReply) logprobs(dst []byte, c *kit.Choice, piece string, at int) []byte {
	if !r.ask.Logprobs {
		return append(dst, "null"...)
	}
	dst = appendLogprobs(append(dst, `{"content":`...), c, piece, at, r.ask.Top)
	return append(dst, `,"refusal":null}`...)
}

// appendLogprobs writes a list with those of each token, and of so many others in its place.
func appendLogprobs(dst []byte, c *kit.Choice, piece string, at, top int) []byte {
	dst = append(dst, '[')
	for i := at; piece != ""; i++ {
		if i > at {
			dst = append(dst, ',')
		}
		end := kit.TokenEnd(piece)
		rnd := c.Seed + kit.Random(i)
		milli := rnd.Below(900) // thousandths below zero
		dst = append(kit.AppendLogprob(append(dst, '{'), piece[:end], milli), `,"top_logprobs":[`...)
		for k := range top {
			if k > 0 {
				dst = append(dst, ',')
			}
			token := piece[:end]
			if k > 0 {
				token = " " + kit.English.Verbs[(i+k)%len(kit.English.Verbs)][:k%4+2]
				milli += 1000
			}
			dst = append(kit.AppendLogprob(append(dst, '{'), token, milli), '}')
		}
		dst = append(dst, `]}`...)
		piece = piece[end:]
	}
	return append(dst, ']')
}

// appendTally writes `,"usage":{...}`, or what a provider that counts badly writes.
func appendTally(dst []byte, t *kit.Tally, style string) []byte {
	if style == "missing" {
		return dst
	}
	write := func(name string, n int) { dst = kit.AppendCount(dst, name, n, style) }
	dst = append(dst, `,"usage":{`...)
	write("prompt_tokens", t.Prompt)
	dst = append(dst, ',')
	write("completion_tokens", t.Completion)
	dst = append(dst, ',')
	write("total_tokens", t.Prompt+t.Completion)
	dst = append(dst, `,"prompt_tokens_details":{`...)
	write("cached_tokens", t.Cached)
	dst = append(dst, ',')
	write("audio_tokens", t.PromptAudio)
	dst = append(dst, `},"completion_tokens_details":{`...)
	write("reasoning_tokens", t.Reasoning)
	dst = append(dst, ',')
	write("audio_tokens", t.OutputAudio)
	if t.OutputImg > 0 {
		dst = append(dst, ',')
		write("image_tokens", t.OutputImg)
	}
	return append(dst, `}}`...)
}

// frames writes the chunks of a stream: an opening one for each choice, then one piece of each choice in turn, then what ends them.
// The bytes of a frame are used again for the next.
func (r *chatReply) frames(yield func(kit.Frame) bool) {
	w := chunkWriter{r: r, yield: yield, going: true}
	for i := range r.answer.Choices {
		if w.going {
			w.delta(i, kit.Opening, `{"role":"assistant","content":"","refusal":null}`)
		}
	}
	w.interleaved()
	w.end()
}

// interleaved sends the content of all choices, one piece of each in turn.
func (w *chunkWriter) interleaved() {
	n := len(w.r.answer.Choices)
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
	yield func(kit.Frame) bool
	going bool
	buf   []byte
}

func (w *chunkWriter) send(kind kit.FrameKind, data []byte) {
	w.going = w.going && w.yield(kit.Frame{Data: data, Kind: kind})
}

// start writes a chunk up to its delta.
func (w *chunkWriter) start(choice int) []byte {
	dst := w.r.head(w.buf[:0], "chat.completion.chunk")
	dst = append(dst, `,"choices":[{"index":`...)
	dst = kit.AppendInt(dst, choice)
	return append(dst, `,"delta":`...)
}

// finish writes what follows the delta.
func (w *chunkWriter) finish(dst []byte, kind kit.FrameKind, logprobs func([]byte) []byte, reason string) {
	dst = append(dst, `,"logprobs":`...)
	if logprobs != nil {
		dst = logprobs(dst)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"finish_reason":`...)
	if reason != "" {
		dst = kit.AppendText(dst, reason)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `}]`...)
	if w.r.ask.StreamUsage {
		dst = append(dst, `,"usage":null`...)
	}
	w.buf = append(dst, '}')
	w.send(kind, w.buf)
}

func (w *chunkWriter) delta(choice int, kind kit.FrameKind, delta string) {
	w.finish(append(w.start(choice), delta...), kind, nil, "")
}

// pieces sends the content of a choice, one chunk for each step that its reader takes.
func (w *chunkWriter) pieces(i int) iter.Seq[struct{}] {
	return func(step func(struct{}) bool) {
		c := &w.r.answer.Choices[i]
		next := func() bool { return w.going && step(struct{}{}) }
		member := "content"
		if c.Refused {
			member = "refusal"
		}
		if w.text(i, c.Reasoning, "reasoning_content", next) && w.text(i, c.Text, member, next) && w.calls(i, next) {
			w.media(i, next)
		}
	}
}

// text sends a text in pieces of so many tokens as the caller asked for.
func (w *chunkWriter) text(i int, s, member string, next func() bool) bool {
	c := &w.r.answer.Choices[i]
	cut := newCutter(s, &w.r.ask.Knobs, member == "content")
	for at := 0; ; {
		piece, tokens := cut.next()
		if piece == "" {
			return true
		}
		dst := append(append(append(w.start(i), `{"`...), member...), `":`...)
		dst = append(kit.AppendText(dst, piece), '}')
		var logprobs func([]byte) []byte
		if member == "content" && w.r.ask.Logprobs {
			logprobs = func(dst []byte) []byte { return w.r.logprobs(dst, c, piece, at) }
		}
		w.finish(dst, kit.Content, logprobs, "")
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

func newCutter(s string, k *kit.Knobs, byFrames bool) cutter {
	c := cutter{rest: s, chunk: max(k.Chunk, 1)}
	if byFrames && k.Frames > 0 {
		c.tokens, c.frames = kit.CountTokens(s), k.Frames
	}
	return c
}

func (c *cutter) next() (piece string, tokens int) {
	n := c.chunk
	if c.frames > 0 {
		n = max(1, (c.tokens+c.frames-1)/c.frames)
		c.tokens, c.frames = c.tokens-n, c.frames-1
	}
	piece, _ = kit.CutTokens(c.rest, n)
	c.rest = c.rest[len(piece):]
	return piece, n
}

const argumentPiece = 12 // bytes of arguments in a fragment, about

func (w *chunkWriter) calls(i int, next func() bool) bool {
	calls := w.r.answer.Choices[i].Calls
	for j := range calls {
		c := &calls[j]
		dst := kit.AppendInt(append(w.start(i), `{"tool_calls":[{"index":`...), j)
		dst = appendCall(append(dst, ','), c, "")
		w.finish(append(dst, `]}`...), kit.Content, nil, "")
		if !next() {
			return false
		}
		for rest := c.Arguments; rest != ""; {
			end := min(argumentPiece, len(rest))
			for end < len(rest) && !utf8.RuneStart(rest[end]) {
				end++
			}
			w.finish(appendFragment(w.start(i), c, j, rest[:end]), kit.Content, nil, "")
			if rest = rest[end:]; !next() {
				return false
			}
		}
	}
	return true
}

func appendFragment(dst []byte, c *kit.Call, index int, piece string) []byte {
	dst = kit.AppendInt(append(dst, `{"tool_calls":[{"index":`...), index)
	if c.Custom {
		dst = append(dst, `,"custom":{"input":`...)
	} else {
		dst = append(dst, `,"function":{"arguments":`...)
	}
	return append(kit.AppendText(dst, piece), `}}]}`...)
}

const audioPiece = 1200 // bytes of audio in a frame; even, so that no sample is cut, and a multiple of three

func (w *chunkWriter) media(i int, next func() bool) {
	c := &w.r.answer.Choices[i]
	if len(c.Images) > 0 {
		dst := appendImages(append(w.start(i), `{"content":""`...), c)
		w.finish(append(dst, '}'), kit.Content, nil, "")
		if !next() {
			return
		}
	}
	if c.Audio == nil {
		return
	}
	w.sound(i, next, func(dst []byte) []byte { return kit.AppendText(append(dst, `"transcript":`...), c.Audio.Transcript) })
	for rest := c.Audio.Data; len(rest) > 0 && w.going; {
		piece := rest[:min(audioPiece, len(rest))]
		rest = rest[len(piece):]
		w.sound(i, next, func(dst []byte) []byte {
			return append(base64.StdEncoding.AppendEncode(append(dst, `"data":"`...), piece), '"')
		})
	}
	w.sound(i, next, func(dst []byte) []byte {
		return strconv.AppendInt(append(dst, `"expires_at":`...), c.Audio.Expires, 10)
	})
}

func (w *chunkWriter) sound(i int, next func() bool, member func([]byte) []byte) {
	if !w.going {
		return
	}
	dst := append(w.start(i), `{"audio":{"id":"`...)
	dst = append(append(dst, w.r.answer.Choices[i].Audio.ID...), `",`...)
	w.finish(append(member(dst), `}}`...), kit.Content, nil, "")
	next()
}

func (w *chunkWriter) end() {
	for i := range w.r.answer.Choices {
		if w.going {
			w.finish(append(w.start(i), `{}`...), kit.Ending, nil, finishOnChat(&w.r.answer.Choices[i]))
		}
	}
	if w.r.ask.StreamUsage && w.r.ask.Knobs.Usage != "missing" && w.going {
		w.buf = append(w.r.head(w.buf[:0], "chat.completion.chunk"), `,"choices":[]`...)
		w.buf = append(appendTally(w.buf, &w.r.answer.Usage, w.r.ask.Knobs.Usage), '}')
		w.send(kit.Ending, w.buf)
	}
	if w.going {
		w.send(kit.Done, []byte("[DONE]"))
	}
}
