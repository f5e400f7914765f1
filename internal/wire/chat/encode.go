package chat

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"sync"

	"weir/internal/completion"
	"weir/internal/completion/calls"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/wire"
)

// Options are what an answer needs from its request.
type Options struct {
	Generation       string // id of the reply
	Created          int64  // Unix seconds
	Strict           bool   // X-Response-Schema: strict: content is always an array of parts. Streams are not affected
	IncludeUsage     bool   // stream_options.include_usage
	ExcludeReasoning bool   // the model reasons, but the answer contains none of it
	N                int    // answers requested
	BareErrors       bool   // an error in a stream has no choices beside it: see NoChoices
	Model            string // slug requested: the model of frames that are sent before the first attempt succeeds
	Memory           completion.Memory
	FreeText         map[string]bool // names of the request's tools that take free text
}

// calls makes the assembler of a choice's calls.
func (o *Options) calls(order calls.Order) calls.Assembler {
	return calls.Assembler{Order: order, Answer: o.Generation, Memory: o.Memory, FreeText: o.FreeText, Text: wire.FreeText}
}

// OptionsOf takes the options of an answer from its request.
func OptionsOf(req *completion.Request, generation string, created int64, strict bool) Options {
	return Options{Generation: generation, Created: created, Strict: strict, IncludeUsage: req.IncludeUsage,
		ExcludeReasoning: req.Reasoning.Exclude, N: req.N, Model: req.Models[0], Memory: req.Memory, FreeText: freeText(req)}
}

// freeText are the names of the tools that take free text, nil: none.
func freeText(req *completion.Request) (names map[string]bool) {
	for i := range req.Members {
		m := &req.Members[i]
		if v := req.Body[m.Value:m.End]; m.Name == "tools" && bytes.Contains(v, []byte(`"custom"`)) {
			for e := rawjson.ElementsOf(v); e.Next(); {
				if rawjson.TextAt(e.Value, "type") == "custom" {
					if names == nil {
						names = map[string]bool{}
					}
					names[rawjson.TextAt(rawjson.Find(e.Value, "custom"), "name")] = true
				}
			}
		}
	}
	return names
}

// bare are clients, by a part of their User-Agent, that look for choices first and do not see an error beside them. All others end at an
// error wherever it stands, and the SDK of OpenRouter takes a frame without choices for a broken one.
var bare = []string{"ai-sdk/", "ai-sdk-"} // Vercel's and OpenRouter's providers for its AI SDK, before and since version 7: z.union([chunk, error])

// NoChoices reports whether a client with this User-Agent sees an error in a stream only where it is all that a frame has.
func NoChoices(userAgent string) bool {
	return slices.ContainsFunc(bare, func(part string) bool { return strings.Contains(userAgent, part) })
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 1<<10); return &b }}

const maxPooled = 64 << 10 // bytes: a larger buffer is left to the collector

func getBuffer() *[]byte { return buffers.Get().(*[]byte) }

func putBuffer(b *[]byte) {
	if cap(*b) <= maxPooled {
		*b = (*b)[:0]
		buffers.Put(b)
	}
}

// appendHead begins a reply or chunk, up to and without choices.
func appendHead(b []byte, o *Options, object string, served *relay.Served) []byte {
	b = append(b, `{"id":`...)
	b = rawjson.AppendText(b, o.Generation)
	b = append(b, `,"object":"`...)
	b = append(b, object...)
	b = append(b, `","created":`...)
	b = strconv.AppendInt(b, o.Created, 10)
	b = append(b, `,"model":`...)
	if served.Model == "" {
		return rawjson.AppendText(b, o.Model)
	}
	b = rawjson.AppendText(b, served.Model)
	if served.Endpoint != nil && served.Endpoint.Provider != nil {
		b = append(b, `,"provider":`...)
		b = rawjson.AppendText(b, served.Endpoint.Provider.Name)
	}
	return b
}

// appendUsage appends a usage object.
func appendUsage(b []byte, receipt *relay.Receipt) []byte {
	u := &receipt.Usage
	prompt, answer := max(u.Prompt.N, 0), max(u.Completion.N, 0)
	b = append(b, `{"prompt_tokens":`...)
	b = strconv.AppendInt(b, prompt, 10)
	b = append(b, `,"completion_tokens":`...)
	b = strconv.AppendInt(b, answer, 10)
	b = append(b, `,"total_tokens":`...)
	b = strconv.AppendInt(b, prompt+answer, 10)
	b = append(b, ',')
	b = wire.AppendCost(b, receipt)
	written := u.Written()
	b = wire.AppendFigures(b, "prompt_tokens_details", []wire.Figure{
		{Name: "cached_tokens", Count: u.CacheRead, Required: true},
		{Name: "cache_write_tokens", Count: written},
		{Name: "audio_tokens", Count: u.PromptAudio},
		{Name: "video_tokens", Count: u.PromptVideo},
		{Name: "image_tokens", Count: u.PromptImage},
	})
	b = wire.AppendFigures(b, "completion_tokens_details", []wire.Figure{
		{Name: "reasoning_tokens", Count: u.Reasoning, Required: true},
		{Name: "audio_tokens", Count: u.OutputAudio},
		{Name: "image_tokens", Count: u.OutputImage},
		{Name: "accepted_prediction_tokens", Count: u.Accepted},
		{Name: "rejected_prediction_tokens", Count: u.Rejected},
	})
	searches := u.WebSearches
	searches.Reported = searches.N > 0 // the object is there only when a search ran
	b = wire.AppendFigures(b, "server_tool_use", []wire.Figure{{Name: "web_search_requests", Count: searches}})
	return append(b, '}')
}

// level is a place in an answer where the upstream may send unknown members.
type level uint8

const (
	frameLevel level = iota
	choiceLevel
	deltaLevel
	toolLevel
)

// reserved reports whether this style itself writes a member of that name, so that the upstream's would be a duplicate. The member error
// is never passed on: its mere presence ends the answer for some clients.
func reserved(l level, name []byte) bool {
	switch l {
	case frameLevel:
		switch string(name) {
		case "id", "object", "created", "model", "provider", "system_fingerprint", "service_tier", "choices", "usage", "error":
			return true
		}
	case choiceLevel:
		switch string(name) {
		case "index", "delta", "message", "finish_reason", "native_finish_reason", "logprobs", "error":
			return true
		}
	case deltaLevel:
		switch string(name) {
		case "role", "content", "refusal", "reasoning", "reasoning_content", "reasoning_details", "tool_calls", "function_call",
			"images", "audio", "annotations":
			return true
		}
	case toolLevel:
		switch string(name) {
		case "index", "id", "type", "function", "custom":
			return true
		}
	}
	return false
}

// appendExtra appends `,"name":value` for each of the raw members that this style does not write itself.
func appendExtra(b, members []byte, l level) []byte {
	if len(members) == 0 {
		return b
	}
	tmp := getBuffer()
	defer putBuffer(tmp)
	*tmp = append(append(append((*tmp)[:0], '{'), members...), '}')
	for m := rawjson.MembersOf(*tmp); m.Next(); {
		if reserved(l, m.Name) {
			continue
		}
		if last := b[len(b)-1]; last != '{' && last != ',' {
			b = append(b, ',')
		}
		b = rawjson.AppendOneLine(b, (*tmp)[m.Start:m.End])
	}
	return b
}

// replaceExtra appends raw members to a list of them; a member of the same name is replaced.
func replaceExtra(list, members []byte) []byte {
	if len(members) == 0 {
		return list
	}
	if len(list) == 0 {
		return append(list, members...)
	}
	fresh := append(append([]byte{'{'}, members...), '}')
	old := append(append([]byte{'{'}, list...), '}')
	out := append([]byte(nil), members...)
	for m := rawjson.MembersOf(old); m.Next(); {
		if rawjson.Find(fresh, string(m.Name)) == nil {
			out = append(append(out, ','), old[m.Start:m.End]...)
		}
	}
	return out
}

// appendName appends `,"name":`, without the comma directly after an opening brace.
func appendName(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

// appendReasoning appends a text under both of its names and, when detail is set, also as a reasoning detail, because some clients send
// back only the details with the next turn.
func appendReasoning(b, text []byte, detail bool) []byte {
	b = appendName(b, "reasoning")
	at := len(b)
	b = rawjson.AppendString(b, text)
	end := len(b)
	b = append(b, `,"reasoning_content":`...)
	b = append(b, b[at:end]...)
	if !detail {
		return b
	}
	b = append(b, `,"reasoning_details":[`+textDetail...)
	b = append(b, b[at:end]...)
	return append(b, textDetailEnd+`]`...)
}

// The reasoning detail of a text whose provider sends neither signatures nor numbers.
const (
	textDetail    = `{"type":"reasoning.text","text":`
	textDetailEnd = `,"signature":null,"id":null,"format":"unknown","index":0}`
)

func appendTextDetail(b, text []byte) []byte {
	b = rawjson.AppendString(append(b, textDetail...), text)
	return append(b, textDetailEnd...)
}

// appendLogprobs appends a logprobs object in which every entry has top_logprobs and bytes, which some clients require.
func appendLogprobs(b, raw []byte) []byte {
	if rawjson.KindOf(raw) != rawjson.Object {
		return append(b, "null"...)
	}
	b = append(b, '{')
	content, refusal := false, false
	for m := rawjson.MembersOf(raw); m.Next(); {
		b = appendName(b, string(m.Name))
		switch string(m.Name) {
		case "content":
			content = true
			b = appendLogprobEntries(b, m.Value)
		case "refusal":
			refusal = true
			b = appendLogprobEntries(b, m.Value)
		default:
			b = rawjson.AppendOneLine(b, m.Value)
		}
	}
	if !content {
		b = append(appendName(b, "content"), "null"...)
	}
	if !refusal {
		b = append(appendName(b, "refusal"), "null"...)
	}
	return append(b, '}')
}

func appendLogprobEntries(b, list []byte) []byte {
	if rawjson.KindOf(list) != rawjson.Array {
		return append(b, "null"...)
	}
	b = append(b, '[')
	at := len(b)
	for e := rawjson.ElementsOf(list); e.Next(); {
		if len(b) > at {
			b = append(b, ',')
		}
		b = appendLogprobEntry(b, e.Value)
	}
	return append(b, ']')
}

func appendLogprobEntry(b, entry []byte) []byte {
	if rawjson.KindOf(entry) != rawjson.Object {
		return rawjson.AppendOneLine(b, entry)
	}
	b = append(b, '{')
	top, spelled := false, false
	var token []byte
	for m := rawjson.MembersOf(entry); m.Next(); {
		if string(m.Name) == "top_logprobs" {
			if rawjson.KindOf(m.Value) != rawjson.Array {
				continue
			}
			top = true
		}
		if string(m.Name) == "token" {
			token = m.Value
		}
		spelled = spelled || string(m.Name) == "bytes"
		b = rawjson.AppendOneLine(appendName(b, string(m.Name)), m.Value)
	}
	if text, ok := rawjson.Unquote(token); ok && !spelled {
		b = appendBytes(appendName(b, "bytes"), text)
	}
	if !top {
		b = append(appendName(b, "top_logprobs"), "[]"...)
	}
	return append(b, '}')
}

func appendBytes(b, text []byte) []byte {
	b = append(b, '[')
	for i, c := range text {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, uint64(c), 10)
	}
	return append(b, ']')
}

// appendImages appends the entries of a raw array of images, each with the members that the various clients read. next is the index of
// the first one; it returns the index after the last.
func appendImages(b, list []byte, next int) ([]byte, int) {
	for e := rawjson.ElementsOf(list); e.Next(); {
		inner := rawjson.Find(e.Value, "image_url")
		url, detail := rawjson.Find(inner, "url"), rawjson.Find(inner, "detail")
		if rawjson.KindOf(inner) == rawjson.String {
			url = inner
		}
		if url == nil {
			url = rawjson.Find(e.Value, "url")
		}
		if detail == nil {
			detail = rawjson.Find(e.Value, "detail")
		}
		if rawjson.KindOf(url) != rawjson.String {
			continue
		}
		if last := b[len(b)-1]; last != '[' {
			b = append(b, ',')
		}
		b = append(b, `{"type":"image_url","image_url":{`...)
		b = appendImageFields(b, url, detail)
		b = append(b, `},`...)
		b = appendImageFields(b, url, detail)
		b = append(b, `,"index":`...)
		b = strconv.AppendInt(b, int64(next), 10)
		b = append(b, '}')
		next++
	}
	return b, next
}

func appendImageFields(b, url, detail []byte) []byte {
	b = append(append(b, `"url":`...), url...)
	if rawjson.KindOf(detail) == rawjson.String {
		b = append(append(b, `,"detail":`...), detail...)
	}
	return b
}

// appendElements appends the elements of a raw array to an open one.
func appendElements(b, list []byte) []byte {
	for e := rawjson.ElementsOf(list); e.Next(); {
		if b[len(b)-1] != '[' {
			b = append(b, ',')
		}
		b = rawjson.AppendOneLine(b, e.Value)
	}
	return b
}

// appendSignature appends the reasoning detail that repeats a tool call's thought signature, to an open array.
func appendSignature(b []byte, signature, callID string, index int) []byte {
	if b[len(b)-1] != '[' {
		b = append(b, ',')
	}
	b = append(b, `{"type":"reasoning.encrypted","data":`...)
	b = rawjson.AppendText(b, signature)
	b = append(b, `,"format":"google-gemini-v1","id":`...)
	b = rawjson.AppendText(b, callID)
	b = append(b, `,"index":`...)
	b = strconv.AppendInt(b, int64(index), 10)
	return append(b, '}')
}

// appendFirst begins a tool call: everything except its arguments and their closing quote. The caller appends the escaped arguments and
// closeCall.
func appendFirst(b []byte, call *completion.ToolCall) []byte {
	b = append(b, `{"index":`...)
	b = strconv.AppendInt(b, int64(call.Index), 10)
	b = append(b, `,"id":`...)
	b = rawjson.AppendText(b, call.ID)
	if call.Custom {
		b = append(b, `,"type":"custom"`...)
	} else {
		b = append(b, `,"type":"function"`...)
	}
	b = appendExtra(b, call.Extra, toolLevel)
	if call.Custom {
		b = append(b, `,"custom":{"name":`...)
		b = rawjson.AppendText(b, call.Name)
		return append(b, `,"input":"`...)
	}
	b = append(b, `,"function":{"name":`...)
	b = rawjson.AppendText(b, call.Name)
	if call.Signature != "" {
		b = append(b, `,"thought_signature":`...)
		b = rawjson.AppendText(b, call.Signature)
	}
	return append(b, `,"arguments":"`...)
}

const closeCall = `"}}`

// finishWord is the finish reason to report: some upstreams report stop although they made tool calls, which would end a tool loop too
// early.
func finishWord(reason completion.FinishReason, calls bool) string {
	if reason == "" || reason == completion.Stop {
		if calls {
			return string(completion.ToolCalls)
		}
		return string(completion.Stop)
	}
	return string(reason)
}

// appendFinish appends both finish reasons, after a comma.
func appendFinish(b []byte, reason completion.FinishReason, native string, calls bool) []byte {
	b = append(b, `,"finish_reason":"`...)
	b = append(b, finishWord(reason, calls)...)
	b = append(b, `","native_finish_reason":`...)
	if native == "" {
		return append(b, "null"...)
	}
	return rawjson.AppendText(b, native)
}

// audio collects the pieces of an answer's audio.
type audio struct {
	id, expires []byte // raw JSON
	data        []byte // decoded
	transcript  []byte // decoded
	raw         []byte // the only piece, as it came
	pieces      int
}

// add adds one piece. Its data is base64 that can be decoded separately.
func (s *audio) add(raw []byte) {
	if s.pieces++; s.pieces == 1 {
		s.raw = append(s.raw[:0], raw...)
		return
	}
	if s.pieces == 2 {
		s.take(s.raw)
	}
	s.take(raw)
}

func (s *audio) take(raw []byte) {
	for m := rawjson.MembersOf(raw); m.Next(); {
		switch string(m.Name) {
		case "id":
			if rawjson.KindOf(m.Value) == rawjson.String {
				s.id = append(s.id[:0], m.Value...)
			}
		case "expires_at":
			if rawjson.KindOf(m.Value) == rawjson.Number {
				s.expires = append(s.expires[:0], m.Value...)
			}
		case "data":
			if text, ok := rawjson.Unquote(m.Value); ok {
				s.data, _ = base64.StdEncoding.AppendDecode(s.data, text) // as much as can be decoded
			}
		case "transcript":
			s.transcript, _ = rawjson.AppendUnquoted(s.transcript, m.Value)
		}
	}
}

func (s *audio) append(b []byte) []byte {
	if s.pieces == 1 {
		return rawjson.AppendOneLine(b, s.raw)
	}
	b = append(b, '{')
	if s.id != nil {
		b = append(appendName(b, "id"), s.id...)
	}
	b = append(appendName(b, "data"), '"')
	b = base64.StdEncoding.AppendEncode(b, s.data)
	b = append(b, '"')
	if s.expires != nil {
		b = append(appendName(b, "expires_at"), s.expires...)
	}
	b = rawjson.AppendString(appendName(b, "transcript"), s.transcript)
	return append(b, '}')
}
