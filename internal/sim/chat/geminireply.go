package chat

import (
	"encoding/base64"
	"strings"
	"time"

	"weir/internal/sim/kit"
)

// geminiReply writes an answer on the Gemini wire.
type geminiReply struct {
	ask     *kit.Request
	answer  *kit.Answer
	show    bool // what was thought
	created time.Time
}

// reply is the answer; asArray when a stream was asked for without saying that events are understood.
func (r *geminiReply) reply(asArray bool) *kit.Reply {
	body := func() []byte { return r.whole() }
	if asArray {
		body = r.array
	}
	return &kit.Reply{
		Wire:      GeminiWire,
		Stream:    r.ask.Stream,
		Body:      body,
		EmptyBody: func() []byte { return r.end([]byte(`{"candidates":[{"content":{"role":"model"},"index":0}]`), false) },
		Frames:    r.frames,
	}
}

// array is a stream as one JSON array.
func (r *geminiReply) array() []byte {
	dst := []byte{'['}
	for f := range r.frames {
		if len(dst) > 1 {
			dst = append(dst, ",\r\n"...)
		}
		dst = append(dst, f.Data...)
	}
	return append(dst, ']')
}

// blocked reports whether the prompt was refused before any output.
func (r *geminiReply) blocked() bool { return r.answer.Choices[0].Refused }

func (r *geminiReply) whole() []byte {
	dst := append(make([]byte, 0, 1024), '{')
	if r.blocked() {
		return r.end(append(dst, `"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}`...), true)
	}
	dst = append(dst, `"candidates":[`...)
	for i := range r.answer.Choices {
		if i > 0 {
			dst = append(dst, ',')
		}
		c := &r.answer.Choices[i]
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

func (r *geminiReply) finish(dst []byte, c *kit.Choice, index int) []byte {
	dst = kit.AppendText(append(dst, `"finishReason":`...), geminiFinish[c.Finish])
	dst = kit.AppendInt(append(dst, `,"index":`...), index)
	if c.Finish == "content_filter" {
		dst = append(dst, `,"safetyRatings":[{"category":"HARM_CATEGORY_DANGEROUS_CONTENT","probability":"HIGH","blocked":true}]`...)
	}
	if f := c.SearchResult; f != nil {
		dst = kit.AppendText(append(dst, `,"groundingMetadata":{"webSearchQueries":[`...), f.Query)
		for range c.Searches - 1 {
			dst = kit.AppendText(append(dst, ','), f.Query)
		}
		dst = kit.AppendText(append(dst, `],"groundingChunks":[{"web":{"uri":`...), f.URL)
		dst = kit.AppendText(append(dst, `,"title":`...), f.Title)
		dst = kit.AppendInt(append(dst, `}}],"groundingSupports":[{"segment":{"endIndex":`...), len(c.Text))
		dst = append(kit.AppendText(append(dst, `,"text":`...), c.Text), `},"groundingChunkIndices":[0]}]}`...)
	}
	return dst
}

// end writes usage and what names the answer.
func (r *geminiReply) end(dst []byte, usage bool) []byte {
	if usage {
		dst = r.usage(dst)
	}
	dst = kit.AppendText(append(dst, `,"modelVersion":`...), r.ask.Name)
	dst = append(append(dst, `,"createTime":"`...), r.created.UTC().Format(time.RFC3339Nano)...)
	return append(append(append(dst, `","responseId":"`...), kit.HexOf(r.answer.ID)...), `"}`...)
}

func (r *geminiReply) usage(dst []byte) []byte {
	style, t := r.ask.Knobs.Usage, &r.answer.Usage
	if style == "missing" {
		return dst
	}
	write := func(sep, name string, n int) { dst = kit.AppendCount(append(dst, sep...), name, n, style) }
	write(`,"usageMetadata":{`, "promptTokenCount", t.Prompt)
	write(",", "candidatesTokenCount", t.Completion-t.Reasoning)
	write(",", "totalTokenCount", t.Prompt+t.Completion)
	write(`,"promptTokensDetails":[{"modality":"TEXT",`, "tokenCount", t.Prompt-t.PromptAudio)
	if t.PromptAudio > 0 {
		write(`},{"modality":"AUDIO",`, "tokenCount", t.PromptAudio)
	}
	dst = append(dst, "}]"...)
	if t.Cached > 0 {
		write(",", "cachedContentTokenCount", t.Cached)
		write(`,"cacheTokensDetails":[{"modality":"TEXT",`, "tokenCount", t.Cached)
		dst = append(dst, "}]"...)
	}
	if t.OutputImg+t.OutputAudio > 0 {
		write(`,"candidatesTokensDetails":[{"modality":"TEXT",`, "tokenCount", t.Completion-t.Reasoning-t.OutputImg-t.OutputAudio)
		if t.OutputImg > 0 {
			write(`},{"modality":"IMAGE",`, "tokenCount", t.OutputImg)
		}
		if t.OutputAudio > 0 {
			write(`},{"modality":"AUDIO",`, "tokenCount", t.OutputAudio)
		}
		dst = append(dst, "}]"...)
	}
	if t.Reasoning > 0 {
		write(",", "thoughtsTokenCount", t.Reasoning)
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
		dst = kit.AppendText(append(dst, `{"text":`...), said)
	}
	if p.thought {
		dst = append(dst, `,"thought":true`...)
	}
	if signature != "" {
		dst = kit.AppendText(append(dst, `,"thoughtSignature":`...), signature)
	}
	return append(dst, '}')
}

// parts are those of a choice in their order. What was thought is signed on the first call, or on the text.
func (r *geminiReply) parts(c *kit.Choice) func(func(*geminiOut) bool) {
	return func(yield func(*geminiOut) bool) {
		thought := c.Reasoning != ""
		if thought && r.show && !yield(&geminiOut{thought: true, text: c.Reasoning}) {
			return
		}
		if c.Text != "" {
			out := geminiOut{text: c.Text}
			if thought && len(c.Calls) == 0 {
				out.signature = kit.Sign(GeminiWire, r.ask.Model, "text")
			}
			if !yield(&out) {
				return
			}
		}
		for i := range c.Calls {
			out := r.call(&c.Calls[i], thought && i == 0)
			if !yield(out) {
				return
			}
		}
		for _, url := range c.Images {
			_, data, _ := strings.Cut(url, ",")
			if !yield(&geminiOut{other: `{"inlineData":{"mimeType":"image/png","data":"` + data + `"}`}) {
				return
			}
		}
		if c.Audio != nil {
			yield(&geminiOut{other: `{"inlineData":{"mimeType":"audio/L16;codec=pcm;rate=24000","data":"` + base64.StdEncoding.EncodeToString(c.Audio.Data) + `"}`})
		}
	}
}

// call writes a function call. Arguments that were cut are none.
func (r *geminiReply) call(c *kit.Call, signed bool) *geminiOut {
	args := "{}"
	n, err := kit.Parse([]byte(c.Arguments))
	if err == nil {
		args = string(kit.AppendCompact(nil, []byte(c.Arguments)))
	} else {
		n = &kit.Node{Kind: kit.Object}
	}
	dst := kit.AppendText([]byte(`{"functionCall":{"name":`), c.Name)
	dst = append(append(append(dst, `,"args":`...), args...), `,"id":"`...)
	out := &geminiOut{other: string(append(append(dst, c.ID[len("call_"):]...), `"}`...))}
	if signed {
		out.signature = kit.Sign(GeminiWire, r.ask.Model, c.Name, string(kit.Canonical(nil, n)))
	}
	return out
}

// frames writes the stream: each event is an answer with the next piece, and has the usage as far as it is known.
func (r *geminiReply) frames(yield func(kit.Frame) bool) {
	if r.blocked() {
		yield(kit.Frame{Data: r.whole(), Kind: kit.Ending})
		return
	}
	var buf []byte
	send := func(kind kit.FrameKind, p *geminiOut, index int, said, signature string, finish *kit.Choice) bool {
		buf = append(buf[:0], `{"candidates":[{"content":{"parts":[`...)
		buf = append(p.append(buf, said, signature), `],"role":"model"},`...)
		if finish != nil {
			buf = r.finish(buf, finish, index)
		} else {
			buf = kit.AppendInt(append(buf, `"index":`...), index)
		}
		buf = append(buf, "}]"...)
		return yield(kit.Frame{Data: r.end(buf, true), Kind: kind})
	}
	for i := range r.answer.Choices {
		c := &r.answer.Choices[i]
		sealed := ""
		for p := range r.parts(c) {
			if p.other != "" {
				if !send(kit.Content, p, i, "", p.signature, nil) {
					return
				}
				continue
			}
			sealed += p.signature
			cut := newCutter(p.text, &r.ask.Knobs, !p.thought)
			for piece, _ := cut.next(); piece != ""; piece, _ = cut.next() {
				if !send(kit.Content, p, i, piece, "", nil) {
					return
				}
			}
		}
		if !send(kit.Ending, &geminiOut{}, i, "", sealed, c) {
			return
		}
	}
}

// geminiModels serves GET /v1beta/models and, with a name, one of them.
func geminiModels(dst []byte) []byte {
	dst = append(dst, `{"models":[`...)
	for i := range kit.Models {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendForGemini(dst, &kit.Models[i])
	}
	return append(dst, "]}"...)
}

func appendForGemini(dst []byte, m *kit.Model) []byte {
	dst = kit.AppendText(append(dst, `{"name":`...), "models/"+m.Name)
	dst = kit.AppendText(append(dst, `,"version":"001","displayName":`...), m.Title)
	dst = kit.AppendText(append(dst, `,"description":`...), m.Description)
	dst = kit.AppendInt(append(dst, `,"inputTokenLimit":`...), m.ContextTokens)
	dst = kit.AppendInt(append(dst, `,"outputTokenLimit":`...), geminiOutput)
	dst = append(dst, `,"supportedGenerationMethods":["generateContent","streamGenerateContent","countTokens"]`...)
	if m.Name == "reason" {
		dst = append(dst, `,"thinking":true`...)
	}
	return append(dst, '}')
}
