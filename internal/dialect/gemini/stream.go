package gemini

import (
	"bytes"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/usage"
)

var errShape = errors.New("gemini: not an answer")

// Events decodes an answer, whole or streamed.
func (d *Dialect) Events(a *dialect.Answer) iter.Seq2[*completion.Event, error] {
	return func(yield func(*completion.Event, error) bool) {
		dec := decoder{ep: a.Endpoint, yield: yield}
		dec.head.Notice = a.Notice
		if a.Request != nil {
			dec.native = native(a.Endpoint, a.Request)
		}
		dialect.Read(a, &dec, yield)
	}
}

const (
	maxCandidates = 128
	maxWaiting    = 16 // frames before the first content
)

// candidate is the state of one answer.
type candidate struct {
	begun, finished bool
	calls           int
	details         int
	searches        int64 // web search queries of the model
	thinking        bool  // the last detail is reasoning text that may continue in the next part
	open            *openCall
}

// openCall is a call whose arguments come in pieces.
type openCall struct {
	id    string
	index int
	args  rawjson.Pieces
}

// decoder turns frames into events. A whole answer is one frame.
type decoder struct {
	ep    *catalog.Endpoint
	yield dialect.Yield

	native  bool               // the client uses this wire: frames pass through
	waiting []completion.Frame // those that have not been part of an event

	ev         completion.Event
	head       completion.Head
	begun      bool
	content    bool
	candidates []candidate
	called     usage.Usage // searches, counted while they were read
	text       []byte      // decoded texts of the frame; events hold views
	raw        []byte      // reasoning details of the frame
	images     []byte
	audio      []byte
	notes      []byte // annotations of the frame
}

// Whole decodes an answer that is one JSON object.
func (dec *decoder) Whole(body []byte) error {
	if _, err := dec.Frame(nil, body); err != nil {
		return err
	}
	return dec.End()
}

// Complete reports whether every candidate that began has ended, and at least one has: this wire has no end mark.
func (dec *decoder) Complete() bool {
	for i := range dec.candidates {
		if c := &dec.candidates[i]; c.begun && !c.finished {
			return false
		}
	}
	return len(dec.candidates) > 0
}

// End yields the last event.
func (dec *decoder) End() error {
	if !dec.Complete() {
		return dialect.Ended(dec.ep)
	}
	if !dec.content {
		return dialect.Empty(dec.ep)
	}
	dec.reset(-1)
	dec.ev.Done = true
	return dec.send()
}

func (dec *decoder) reset(choice int) {
	calls := dec.ev.ToolCalls[:0]
	dec.ev = completion.Event{Choice: choice}
	dec.ev.ToolCalls = calls
	dec.raw, dec.images, dec.audio, dec.notes = dec.raw[:0], dec.images[:0], dec.audio[:0], dec.notes[:0]
}

func (dec *decoder) send() error {
	if dec.ev.HasContent() {
		dec.content = true
	}
	if dec.content { // nothing may reach the client before
		dec.ev.Frames, dec.waiting = dec.waiting, nil
	}
	if !dec.begun {
		dec.begun = true
		dec.ev.Head = &dec.head
	}
	if dec.ev.Usage != nil && dec.called.WebSearches.N > 0 {
		dec.ev.Usage.WebSearches = dec.called.WebSearches
	}
	dec.ev.Called, dec.ev.Replaces = &dec.called, true
	return dec.yield.Send(&dec.ev)
}

// Frame decodes one object.
func (dec *decoder) Frame(_, raw []byte) (dialect.Progress, error) {
	if dec.native && says(raw) {
		dec.waiting = append(dec.waiting, completion.Frame{Data: raw})
	}
	err := dec.frame(raw)
	if n := len(dec.waiting); n > 0 { // it has had no event
		if n > maxWaiting {
			dec.waiting = dec.waiting[1:]
		}
		last := &dec.waiting[len(dec.waiting)-1]
		last.Data = slices.Clone(last.Data)
	}
	if err != nil || !dec.Complete() {
		return dialect.More, err
	}
	return dialect.Said, nil
}

// says reports whether a frame has anything: some servers send empty ones in between, at which clients of this wire take offence.
func says(raw []byte) bool {
	e := rawjson.ElementsOf(rawjson.Find(raw, "candidates"))
	return e.Next() || !rawjson.IsNull(rawjson.Find(raw, "usageMetadata"))
}

func (dec *decoder) frame(raw []byte) error {
	dec.text = dec.text[:0]
	if failure := rawjson.Find(raw, "error"); !rawjson.IsNull(failure) {
		r := readRefusal(raw)
		r.Status = 200
		return r.Fault(dec.ep)
	}
	if !dec.begun {
		dec.head.ID = rawjson.TextAt(raw, "responseId")
		dec.head.Model = rawjson.TextAt(raw, "modelVersion")
	}
	list := rawjson.Find(raw, "candidates")
	if blocked := rawjson.FindPath(raw, "promptFeedback", "blockReason"); rawjson.KindOf(blocked) == rawjson.String && rawjson.IsNull(list) {
		return dec.blocked(rawjson.Text(blocked))
	}
	u := readUsage(rawjson.Find(raw, "usageMetadata"))
	some := false
	for e := rawjson.ElementsOf(list); e.Next(); {
		if err := dec.candidate(e.Value); err != nil {
			return err
		}
		if !some {
			some = true
			dec.ev.Usage = u
		}
		if err := dec.send(); err != nil {
			return err
		}
	}
	if some && (u == nil || u.WebSearches.N == dec.called.WebSearches.N) {
		return nil
	}
	switch {
	case some: // a later candidate has more searches
	case u == nil && rawjson.KindOf(list) == rawjson.Array: // null or an empty list counts as none
		return nil
	case u == nil:
		return errShape
	}
	dec.reset(-1)
	dec.ev.Usage = u
	return dec.send()
}

// blocked is the fault of a prompt that the provider refuses to answer.
func (dec *decoder) blocked(reason string) *fault.Error {
	r := dialect.Refusal{Status: 200, Code: "content_filter", Message: "The provider's content policy does not allow this request (" + reason[:min(len(reason), 64)] + ")."}
	return r.Fault(dec.ep)
}

func (dec *decoder) candidate(v []byte) error {
	index := int64(0)
	if at := rawjson.Find(v, "index"); at != nil {
		var ok bool
		if index, ok = rawjson.Int(at); !ok || index < 0 || index >= maxCandidates {
			return errShape
		}
	}
	for int64(len(dec.candidates)) <= index {
		dec.candidates = append(dec.candidates, candidate{})
	}
	c := &dec.candidates[index]
	c.begun = true
	dec.reset(int(index))
	if c.finished {
		return nil // anything after the end is not part of the answer
	}
	for e := rawjson.ElementsOf(rawjson.FindPath(v, "content", "parts")); e.Next(); {
		if err := dec.part(c, e.Value); err != nil {
			return err
		}
	}
	dec.grounding(c, rawjson.Find(v, "groundingMetadata"))
	dec.close()
	if reason := rawjson.Find(v, "finishReason"); rawjson.KindOf(reason) == rawjson.String {
		c.finished = true
		dec.closeCall(c)
		native := rawjson.Text(reason)
		said := dec.content || dec.ev.HasContent()
		dec.ev.Finish, dec.ev.NativeFinish = finishReason(native), native
		if dec.ev.Finish == completion.Stop && c.calls > 0 {
			dec.ev.Finish = completion.ToolCalls
		}
		if !said {
			return dec.unsaid(rawjson.Find(v, "finishMessage"))
		}
	}
	return nil
}

// unsaid handles the end of an answer without any output. Google may say why: of a barred image these words are the refusal. Any other barred answer
// has its finish reason alone, which is what recorded clients read. These models sometimes end so for no reason; another attempt succeeds.
func (dec *decoder) unsaid(why []byte) error {
	words := dec.unquoted(why)
	switch finish := dec.ev.Finish; {
	case finish == completion.ContentFilter && strings.HasPrefix(dec.ev.NativeFinish, "IMAGE_"):
		dec.ev.Refusal, dec.ev.Sentence = words, true
	case len(words) > 0 && (finish == completion.Stop || finish == completion.Failed):
		return dialect.Unavailable(dec.ep, "The provider sent an empty answer. It said: "+string(words), nil)
	case finish == completion.Stop:
		return dialect.Empty(dec.ep)
	}
	return nil
}

func (dec *decoder) part(c *candidate, v []byte) error {
	var text, signature, call, inline []byte
	reasoning := false
	for m := rawjson.MembersOf(v); m.Next(); {
		switch string(m.Name) {
		case "text":
			text = m.Value
		case "thought":
			reasoning = string(m.Value) == "true"
		case "thoughtSignature":
			signature = m.Value
		case "functionCall":
			call = m.Value
		case "inlineData":
			inline = m.Value
		}
	}
	switch {
	case call != nil:
		return dec.call(c, call, signature)
	case inline != nil:
		dec.inline(inline)
	case reasoning:
		dec.reasoningDetail(c, dec.unquoted(text))
	default:
		dec.ev.Text = dec.joined(dec.ev.Text, dec.unquoted(text))
	}
	if rawjson.KindOf(signature) == rawjson.String && len(signature) > 2 {
		dec.detail(c, "reasoning.encrypted")
		dec.raw = append(append(append(dec.raw, `,"data":`...), signature...), '}')
		dec.ev.Signature = rawjson.Text(signature)
	}
	return nil
}

func (dec *decoder) reasoningDetail(c *candidate, text []byte) {
	if len(text) == 0 {
		return
	}
	dec.ev.Reasoning = dec.joined(dec.ev.Reasoning, text)
	if c.thinking {
		c.details-- // the same entry continues
	}
	dec.detail(c, "reasoning.text")
	c.thinking = true
	dec.raw = append(rawjson.AppendString(append(dec.raw, `,"text":`...), text), '}')
}

// detail begins an entry of the event's reasoning details.
func (dec *decoder) detail(c *candidate, kind string) {
	c.thinking = false
	if len(dec.raw) == 0 {
		dec.raw = append(dec.raw, '[')
	} else {
		dec.raw = append(dec.raw, ',')
	}
	dec.raw = append(append(append(dec.raw, `{"type":"`...), kind...), `","index":`...)
	dec.raw = strconv.AppendInt(dec.raw, int64(c.details), 10)
	dec.raw = append(dec.raw, `,"format":"`+completion.FormatGoogle+`"`...)
	c.details++
}

// call decodes a call, or a part of one. On Vertex a call can begin with its name and willContinue, and parts without a name follow, up to one
// that does not say that another will follow: with values for its arguments, or empty.
func (dec *decoder) call(c *candidate, v, signature []byte) error {
	var id, name string
	var args, pieces []byte
	more := false
	for m := rawjson.MembersOf(v); m.Next(); {
		switch string(m.Name) {
		case "id":
			id = rawjson.Text(m.Value)
		case "name":
			name = rawjson.Text(m.Value)
		case "args":
			if rawjson.KindOf(m.Value) == rawjson.Object {
				args = m.Value
			}
		case "partialArgs":
			pieces = m.Value
		case "willContinue":
			more, _ = rawjson.Bool(m.Value)
		}
	}
	if goesOn := c.open != nil && (name == "" || id != "" && id == c.open.id); !goesOn {
		dec.closeCall(c)
		call := completion.ToolCall{Index: c.calls, ID: id, Name: name, Arguments: args, Last: true}
		if rawjson.KindOf(signature) == rawjson.String {
			call.Signature = rawjson.Text(signature)
			dec.ev.Signature = call.Signature
		}
		if more || !rawjson.IsNull(pieces) {
			if name == "" {
				return errShape // pieces of nothing
			}
			c.open = &openCall{id: id, index: c.calls}
			call.Arguments, call.Last = nil, false
		}
		c.calls++
		dec.ev.ToolCalls = append(dec.ev.ToolCalls, call)
	}
	if c.open == nil {
		return nil
	}
	c.open.args.Set(args)
	if err := c.open.args.Add(pieces); err != nil {
		return err
	}
	if !more {
		dec.closeCall(c)
	}
	return nil
}

// closeCall ends a call whose arguments came in pieces.
func (dec *decoder) closeCall(c *candidate) {
	if c.open != nil {
		dec.ev.ToolCalls = append(dec.ev.ToolCalls, completion.ToolCall{Index: c.open.index, Arguments: c.open.args.Append(nil), Last: true})
		c.open = nil
	}
}

// inline decodes an image or audio that the model made.
func (dec *decoder) inline(v []byte) {
	kind, data := rawjson.TextAt(v, "mimeType"), rawjson.Find(v, "data")
	if rawjson.KindOf(data) != rawjson.String {
		return
	}
	if bytes.HasPrefix([]byte(kind), []byte("audio/")) {
		dec.audio = append(append(append(dec.audio[:0], `{"data":`...), data...), '}')
		return
	}
	if len(dec.images) == 0 {
		dec.images = append(dec.images, '[')
	} else {
		dec.images = append(dec.images, ',')
	}
	dec.images = append(dec.images, `{"type":"image_url","image_url":{"url":"data:`...)
	dec.images = rawjson.AppendEscaped(dec.images, []byte(kind))
	dec.images = append(append(append(dec.images, ";base64,"...), data[1:len(data)-1]...), `"}}`...)
	dec.ev.ImageCount++
}

// grounding makes annotations from the pages on which an answer is based.
func (dec *decoder) grounding(c *candidate, v []byte) {
	chunks := rawjson.Find(v, "groundingChunks")
	dec.searched(c, rawjson.Find(v, "webSearchQueries"), chunks)
	if rawjson.IsNull(chunks) {
		return
	}
	dec.notes = append(dec.notes, '[')
	for e := rawjson.ElementsOf(chunks); e.Next(); {
		web := rawjson.Find(e.Value, "web")
		uri := rawjson.Find(web, "uri")
		if rawjson.KindOf(uri) != rawjson.String {
			continue
		}
		if len(dec.notes) > 1 {
			dec.notes = append(dec.notes, ',')
		}
		dec.notes = append(append(dec.notes, `{"type":"url_citation","url_citation":{"url":`...), uri...)
		dec.notes = append(dec.notes, `,"title":`...)
		if title := rawjson.Find(web, "title"); rawjson.KindOf(title) == rawjson.String {
			dec.notes = append(dec.notes, title...)
		} else {
			dec.notes = append(dec.notes, `""`...)
		}
		dec.notes = append(dec.notes, `,"start_index":0,"end_index":0}}`...)
	}
	dec.notes = append(dec.notes, ']')
}

// searched counts the queries that a candidate has made so far; each frame repeats them. Models before Gemini 3 are billed per grounded
// prompt, whatever the number of queries (Gemini API pricing, "Grounding with Google Search").
func (dec *decoder) searched(c *candidate, queries, chunks []byte) {
	n := int64(0)
	for e := rawjson.ElementsOf(queries); e.Next(); {
		if rawjson.Text(e.Value) != "" {
			n++
		}
	}
	if found := rawjson.ElementsOf(chunks); n == 0 && found.Next() {
		n = 1 // pages without queries: at least one search was made
	}
	if n <= c.searches {
		return
	}
	dec.called.WebSearches = usage.Of(dec.called.WebSearches.N + n - c.searches)
	c.searches = n
	if byPrompt(dec.ep.MakersID()) {
		dec.called.WebSearches = usage.Of(1)
	}
}

func byPrompt(model string) bool {
	return strings.HasPrefix(model, "gemini-1") || strings.HasPrefix(model, "gemini-2")
}

// close moves the collected lists to the event.
func (dec *decoder) close() {
	if len(dec.raw) > 0 {
		dec.raw = append(dec.raw, ']')
		dec.ev.ReasoningDetails = dec.raw
	}
	if len(dec.images) > 0 {
		dec.images = append(dec.images, ']')
		dec.ev.Images = dec.images
	}
	if len(dec.audio) > 0 {
		dec.ev.Audio = dec.audio
	}
	if len(dec.notes) > 2 {
		dec.ev.Annotations = dec.notes
	}
}

// joined appends b to a; it returns b when a is empty.
func (dec *decoder) joined(a, b []byte) []byte {
	if len(a) == 0 {
		return b
	}
	at := len(dec.text)
	dec.text = append(append(dec.text, a...), b...)
	return dec.text[at:len(dec.text):len(dec.text)]
}

// unquoted is a string's text: a view into the frame, or into dec.text when it has escapes. Anything else has no text.
func (dec *decoder) unquoted(v []byte) []byte { return rawjson.View(&dec.text, v) }

func finishReason(native string) completion.FinishReason {
	switch native {
	case "MAX_TOKENS":
		return completion.Length
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR":
		return completion.ContentFilter
	case "STOP", "FINISH_REASON_UNSPECIFIED":
		return completion.Stop
	}
	return completion.Failed // MALFORMED_FUNCTION_CALL, OTHER, or a word to come
}
