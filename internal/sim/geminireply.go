package sim

import (
	"encoding/base64"
	"strings"
	"time"
)

// geminiReply writes an answer on the Gemini wire.
type geminiReply struct {
	ask     *ask
	answer  *answer
	show    bool // what was thought
	created time.Time
}

// reply is the answer; asArray when a stream was asked for without saying that events are understood.
func (r *geminiReply) reply(asArray bool) *reply {
	body := func() []byte { return r.whole() }
	if asArray {
		body = r.array
	}
	return &reply{
		wire:   geminiWire,
		stream: r.ask.stream,
		body:   body,
		hollow: func() []byte { return r.end([]byte(`{"candidates":[{"content":{"role":"model"},"index":0}]`), false) },
		frames: r.frames,
	}
}

// array is a stream as one JSON array.
func (r *geminiReply) array() []byte {
	dst := []byte{'['}
	for f := range r.frames {
		if len(dst) > 1 {
			dst = append(dst, ",\r\n"...)
		}
		dst = append(dst, f.data...)
	}
	return append(dst, ']')
}

// blocked reports whether the prompt was refused before anything was said.
func (r *geminiReply) blocked() bool { return r.answer.choices[0].refused }

func (r *geminiReply) whole() []byte {
	dst := append(make([]byte, 0, 1024), '{')
	if r.blocked() {
		return r.end(append(dst, `"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}`...), true)
	}
	dst = append(dst, `"candidates":[`...)
	for i := range r.answer.choices {
		if i > 0 {
			dst = append(dst, ',')
		}
		c := &r.answer.choices[i]
		dst = append(dst, `{"content":{"parts":[`...)
		n := 0
		for p := range r.parts(c) {
			if n++; n > 1 {
				dst = append(dst, ',')
			}
			dst = p.append(dst, p.text, p.signature)
		}
		dst = append(dst, `],"role":"model"},`...)
		dst = append(r.finish(dst, c, i), '}')
	}
	return r.end(append(dst, ']'), true)
}

var geminiFinish = map[string]string{"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY", "refusal": "PROHIBITED_CONTENT"}

func (r *geminiReply) finish(dst []byte, c *choice, index int) []byte {
	dst = appendText(append(dst, `"finishReason":`...), geminiFinish[c.finish])
	dst = appendInt(append(dst, `,"index":`...), index)
	if c.finish == "content_filter" {
		dst = append(dst, `,"safetyRatings":[{"category":"HARM_CATEGORY_DANGEROUS_CONTENT","probability":"HIGH","blocked":true}]`...)
	}
	if f := c.found; f != nil {
		dst = appendText(append(dst, `,"groundingMetadata":{"webSearchQueries":[`...), f.query)
		for range c.searches - 1 {
			dst = appendText(append(dst, ','), f.query)
		}
		dst = appendText(append(dst, `],"groundingChunks":[{"web":{"uri":`...), f.url)
		dst = appendText(append(dst, `,"title":`...), f.title)
		dst = appendInt(append(dst, `}}],"groundingSupports":[{"segment":{"endIndex":`...), len(c.text))
		dst = append(appendText(append(dst, `,"text":`...), c.text), `},"groundingChunkIndices":[0]}]}`...)
	}
	return dst
}

// end writes usage and what names the answer.
func (r *geminiReply) end(dst []byte, usage bool) []byte {
	if usage {
		dst = r.usage(dst)
	}
	dst = appendText(append(dst, `,"modelVersion":`...), r.ask.name)
	dst = append(append(dst, `,"createTime":"`...), r.created.UTC().Format(time.RFC3339Nano)...)
	return append(append(append(dst, `","responseId":"`...), hexOf(r.answer.id)...), `"}`...)
}

func (r *geminiReply) usage(dst []byte) []byte {
	style, t := r.ask.knobs.usage, &r.answer.usage
	if style == "missing" {
		return dst
	}
	write := func(sep, name string, n int) { dst = appendCount(append(dst, sep...), name, n, style) }
	write(`,"usageMetadata":{`, "promptTokenCount", t.prompt)
	write(",", "candidatesTokenCount", t.completion-t.reasoning)
	write(",", "totalTokenCount", t.prompt+t.completion)
	write(`,"promptTokensDetails":[{"modality":"TEXT",`, "tokenCount", t.prompt-t.promptAudio)
	if t.promptAudio > 0 {
		write(`},{"modality":"AUDIO",`, "tokenCount", t.promptAudio)
	}
	dst = append(dst, "}]"...)
	if t.cached > 0 {
		write(",", "cachedContentTokenCount", t.cached)
		write(`,"cacheTokensDetails":[{"modality":"TEXT",`, "tokenCount", t.cached)
		dst = append(dst, "}]"...)
	}
	if t.outputImg+t.outputAudio > 0 {
		write(`,"candidatesTokensDetails":[{"modality":"TEXT",`, "tokenCount", t.completion-t.reasoning-t.outputImg-t.outputAudio)
		if t.outputImg > 0 {
			write(`},{"modality":"IMAGE",`, "tokenCount", t.outputImg)
		}
		if t.outputAudio > 0 {
			write(`},{"modality":"AUDIO",`, "tokenCount", t.outputAudio)
		}
		dst = append(dst, "}]"...)
	}
	if t.reasoning > 0 {
		write(",", "thoughtsTokenCount", t.reasoning)
	}
	return append(dst, '}')
}

// geminiOut is one part of an answer.
type geminiOut struct {
	thought   bool
	text      string // of a text part
	other     string // any other part as JSON, up to its last brace
	signature string
}

func (p *geminiOut) append(dst []byte, said, signature string) []byte {
	if p.other != "" {
		dst = append(dst, p.other...)
	} else {
		dst = appendText(append(dst, `{"text":`...), said)
	}
	if p.thought {
		dst = append(dst, `,"thought":true`...)
	}
	if signature != "" {
		dst = appendText(append(dst, `,"thoughtSignature":`...), signature)
	}
	return append(dst, '}')
}

// parts are those of a choice in their order. What was thought is signed on the first call, or on the text.
func (r *geminiReply) parts(c *choice) func(func(*geminiOut) bool) {
	return func(yield func(*geminiOut) bool) {
		thought := c.reasoning != ""
		if thought && r.show && !yield(&geminiOut{thought: true, text: c.reasoning}) {
			return
		}
		if c.text != "" {
			out := geminiOut{text: c.text}
			if thought && len(c.calls) == 0 {
				out.signature = sign(geminiWire, r.ask.persona, "text")
			}
			if !yield(&out) {
				return
			}
		}
		for i := range c.calls {
			out := r.call(&c.calls[i], thought && i == 0)
			if !yield(out) {
				return
			}
		}
		for _, url := range c.images {
			_, data, _ := strings.Cut(url, ",")
			if !yield(&geminiOut{other: `{"inlineData":{"mimeType":"image/png","data":"` + data + `"}`}) {
				return
			}
		}
		if c.audio != nil {
			yield(&geminiOut{other: `{"inlineData":{"mimeType":"audio/L16;codec=pcm;rate=24000","data":"` + base64.StdEncoding.EncodeToString(c.audio.data) + `"}`})
		}
	}
}

// call writes a function call. Arguments that were cut are none.
func (r *geminiReply) call(c *call, signed bool) *geminiOut {
	args := "{}"
	n, err := parse([]byte(c.arguments))
	if err == nil {
		args = string(appendCompact(nil, []byte(c.arguments)))
	} else {
		n = &node{kind: object}
	}
	dst := appendText([]byte(`{"functionCall":{"name":`), c.name)
	dst = append(append(append(dst, `,"args":`...), args...), `,"id":"`...)
	out := &geminiOut{other: string(append(append(dst, c.id[len("call_"):]...), `"}`...))}
	if signed {
		out.signature = sign(geminiWire, r.ask.persona, c.name, string(canonical(nil, n)))
	}
	return out
}

// frames writes the stream: each event is an answer of its own with the next piece, and has the usage as far as it is known.
func (r *geminiReply) frames(yield func(frame) bool) {
	if r.blocked() {
		yield(frame{data: r.whole(), kind: ending})
		return
	}
	var buf []byte
	send := func(kind frameKind, p *geminiOut, index int, said, signature string, finish *choice) bool {
		buf = append(buf[:0], `{"candidates":[{"content":{"parts":[`...)
		buf = append(p.append(buf, said, signature), `],"role":"model"},`...)
		if finish != nil {
			buf = r.finish(buf, finish, index)
		} else {
			buf = appendInt(append(buf, `"index":`...), index)
		}
		buf = append(buf, "}]"...)
		return yield(frame{data: r.end(buf, true), kind: kind})
	}
	for i := range r.answer.choices {
		c := &r.answer.choices[i]
		sealed := ""
		for p := range r.parts(c) {
			if p.other != "" {
				if !send(content, p, i, "", p.signature, nil) {
					return
				}
				continue
			}
			sealed += p.signature
			cut := newCutter(p.text, &r.ask.knobs, !p.thought)
			for piece, _ := cut.next(); piece != ""; piece, _ = cut.next() {
				if !send(content, p, i, piece, "", nil) {
					return
				}
			}
		}
		if !send(ending, &geminiOut{}, i, "", sealed, c) {
			return
		}
	}
}

// geminiModels serves GET /v1beta/models and, with a name, one of them.
func geminiModels(dst []byte) []byte {
	dst = append(dst, `{"models":[`...)
	for i := range models {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendForGemini(dst, &models[i])
	}
	return append(dst, "]}"...)
}

func appendForGemini(dst []byte, m *Model) []byte {
	dst = appendText(append(dst, `{"name":`...), "models/"+m.Name)
	dst = appendText(append(dst, `,"version":"001","displayName":`...), m.Title)
	dst = appendText(append(dst, `,"description":`...), m.Description)
	dst = appendInt(append(dst, `,"inputTokenLimit":`...), m.ContextTokens)
	dst = appendInt(append(dst, `,"outputTokenLimit":`...), geminiOutput)
	dst = append(dst, `,"supportedGenerationMethods":["generateContent","streamGenerateContent","countTokens"]`...)
	if m.Name == "reason" {
		dst = append(dst, `,"thinking":true`...)
	}
	return append(dst, '}')
}
