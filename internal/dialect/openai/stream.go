package openai

import (
	"errors"
	"iter"
	"sync"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// Events decodes an answer, whole or streamed.
func (d *Dialect) Events(a *dialect.Answer) iter.Seq2[*completion.Event, error] {
	return func(yield func(*completion.Event, error) bool) {
		dec := newDecoder(a.Endpoint)
		defer dec.free()
		dec.yield, dec.head.Notice = yield, a.Notice
		if a.Request != nil {
			dec.wanted = a.Request.N
		}
		dialect.Read(a, dec, yield)
	}
}

var errShape = errors.New("openai: not a chat completion")

// decoder turns frames into events. A whole answer is one frame.
type decoder struct {
	ep    *catalog.Endpoint
	q     *catalog.Quirks
	yield dialect.Yield

	ev      completion.Event
	head    completion.Head
	begun   bool // the first event was made
	content bool // some event had content
	choices []choice
	wanted  int    // choices requested
	tier    string // as the answer names it
	cost    string // dollars, where a quirk places them outside usage

	text  []byte // decoded texts of the frame; events hold views
	extra []byte // unknown members of the frame; events hold views

	sources []byte // annotations of the pages that the answer names beside its choices, until an event has them
	cited   bool   // an event has had them

	form form // of the last frame
}

const keepTexts = 16 << 10 // a larger buffer is left to the collector

var decoders = sync.Pool{New: func() any { return new(decoder) }}

func newDecoder(ep *catalog.Endpoint) *decoder {
	dec := decoders.Get().(*decoder)
	dec.ep, dec.q = ep, &ep.Provider.Quirks
	return dec
}

// free returns the decoder to the pool with its buffers and without any data of the answer.
func (dec *decoder) free() {
	clear(dec.ev.ToolCalls[:cap(dec.ev.ToolCalls)])
	calls := dec.ev.ToolCalls[:0]
	clear(dec.choices[:cap(dec.choices)])
	*dec = decoder{choices: dec.choices[:0], text: dec.text[:0], extra: dec.extra[:0], form: form{before: dec.form.before[:0], after: dec.form.after[:0]}}
	dec.ev.ToolCalls = calls
	if cap(dec.text) > keepTexts {
		dec.text = nil
	}
	if cap(dec.extra) > keepTexts {
		dec.extra = nil
	}
	decoders.Put(dec)
}

// Whole decodes an answer that is one JSON object.
func (dec *decoder) Whole(body []byte) error {
	choices := rawjson.Find(body, "choices")
	if el := rawjson.ElementsOf(choices); !el.Next() && rawjson.IsNull(rawjson.Find(body, "error")) {
		return errShape
	}
	if err := dec.frame(body); err != nil {
		return err
	}
	return dec.End()
}

// Frame decodes one object of a stream. Data after the first [DONE] is not read.
func (dec *decoder) Frame(event, data []byte) (dialect.Progress, error) {
	if string(event) == "error" {
		return dialect.Done, dec.refusal(data)
	}
	if err := dec.frame(data); err != nil {
		return dialect.Done, err
	}
	if dec.Complete() && len(dec.choices) >= dec.wanted {
		return dialect.Said, nil
	}
	return dialect.More, nil
}

// Complete reports whether every choice that began has ended, and at least one has: some servers send no [DONE].
func (dec *decoder) Complete() bool {
	for i := range dec.choices {
		if c := &dec.choices[i]; c.begun && !c.finished {
			return false
		}
	}
	return len(dec.choices) > 0
}

// End closes choices that the server left open and yields the last event.
func (dec *decoder) End() error {
	for i := range dec.choices {
		c := &dec.choices[i]
		if !c.begun || c.finished || !c.content {
			continue
		}
		dec.reset(i)
		dec.finish(c, completion.Stop, "")
		if err := dec.send(); err != nil {
			return err
		}
	}
	if !dec.content {
		return dialect.Empty(dec.ep)
	}
	dec.reset(-1)
	dec.ev.Done = true
	return dec.send()
}

// reset begins an event of choice i.
func (dec *decoder) reset(i int) {
	calls := dec.ev.ToolCalls[:0]
	dec.ev = completion.Event{Choice: i}
	dec.ev.ToolCalls = calls
	if !dec.begun {
		dec.begun = true
		dec.ev.Head = &dec.head
	}
}

func (dec *decoder) send() error {
	if dec.ev.HasContent() {
		dec.content = true
	}
	return dec.yield.Send(&dec.ev)
}

// frame decodes one checked JSON object and yields an event for each choice in it. Members outside the choices are in the first of these
// events.
func (dec *decoder) frame(raw []byte) error {
	if text := dec.form.text(raw); text != nil {
		return dec.again(text)
	}
	if err := dec.members(raw); err != nil {
		return err
	}
	dec.learn(raw)
	return nil
}

// members decodes a frame member by member.
func (dec *decoder) members(raw []byte) error {
	cur := rawjson.At(raw, 0)
	if cur.Kind() != rawjson.Object || !cur.Enter() {
		return errShape
	}
	dec.text, dec.extra = dec.text[:0], dec.extra[:0]
	var choices, usage, failure []byte
	for {
		name, ok := cur.Member()
		if !ok {
			break
		}
		at := cur.NameAt()
		value := cur.Skip()
		switch string(name) {
		case "choices":
			choices = value
		case "usage":
			usage = value
		case "error":
			failure = value
		case "x_groq":
			if usage == nil {
				usage = rawjson.Find(value, "usage")
			}
		case "service_tier":
			if rawjson.KindOf(value) == rawjson.String && string(value[1:len(value)-1]) != dec.tier {
				dec.tier = rawjson.Text(value)
			}
		case "citations", "search_results": // Perplexity repeats them in each frame
			dec.sourced(string(name), value)
			dec.extra = appendMember(dec.extra, 0, raw[at:cur.Pos()])
		case "id":
			dec.tell(&dec.head.ID, value)
		case "model":
			dec.tell(&dec.head.Model, value)
		case "system_fingerprint":
			dec.tell(&dec.head.Fingerprint, value)
		case "object", "created", "provider",
			"obfuscation": // padding against traffic analysis, which is wrong for the rewritten frame
			if string(value) == `"error"` {
				failure = raw
			}
		default:
			if !dec.isCost(name, value) {
				dec.extra = appendMember(dec.extra, 0, raw[at:cur.Pos()])
			}
		}
	}
	if !rawjson.IsNull(failure) {
		return dec.refusal(failure)
	}
	if !dec.begun {
		dec.head.Tier = dec.tier
	}
	return dec.events(choices, usage)
}

// events yields the events of a frame's choices, or one event without a choice when there are none.
func (dec *decoder) events(choices, usage []byte) error {
	frameExtra := dec.extra[:len(dec.extra):len(dec.extra)]
	if kind := rawjson.KindOf(choices); kind != rawjson.Array && !rawjson.IsNull(choices) {
		return errShape
	}
	some := false
	for el := rawjson.ElementsOf(choices); el.Next(); {
		inner, err := dec.choice(el.Value)
		if err != nil {
			return err
		}
		if !some {
			some = true
			if len(dec.sources) > 0 && dec.ev.Annotations == nil {
				dec.ev.Annotations, dec.sources, dec.cited = dec.sources, nil, true
			}
			if usage == nil || string(usage) == "null" {
				usage = inner
			}
			dec.beside(usage, frameExtra)
		}
		if err := dec.send(); err != nil {
			return err
		}
	}
	if some {
		return nil
	}
	dec.reset(-1)
	dec.beside(usage, frameExtra)
	if dec.ev.Head == nil && dec.ev.Usage == nil && dec.ev.FrameExtra == nil {
		return nil
	}
	return dec.send()
}

// sourced makes annotations of the pages on which an answer is based, once. search_results also have titles.
func (dec *decoder) sourced(member string, list []byte) {
	if dec.cited || member == "citations" && dec.sources != nil {
		return
	}
	var w rawjson.Writer
	w.Array()
	some := false
	for e := rawjson.ElementsOf(list); e.Next(); {
		url, title := rawjson.Text(e.Value), ""
		if rawjson.KindOf(e.Value) == rawjson.Object {
			url, title = rawjson.TextAt(e.Value, "url"), rawjson.TextAt(e.Value, "title")
		}
		if url == "" {
			continue
		}
		some = true
		w.Object()
		w.Name("type").Text("url_citation")
		w.Name("url_citation").Object()
		w.Name("url").Text(url)
		w.Name("title").Text(title)
		w.Name("start_index").Int(0)
		w.Name("end_index").Int(0)
		w.EndObject()
		w.EndObject()
	}
	w.EndArray()
	if some {
		dec.sources = w.B
	}
}

// beside stores the members of a frame outside the choices. Implausible usage counts as missing: the gateway counts the tokens itself
// then.
func (dec *decoder) beside(usage, extra []byte) {
	if len(extra) > 0 {
		dec.ev.FrameExtra = extra
	}
	u, err := parseUsage(usage, dec.q)
	if err != nil || u == nil {
		return
	}
	if u.Tier == "" {
		u.Tier = dec.tier
	}
	if u.UpstreamCost == "" {
		u.UpstreamCost = dec.cost
	}
	dec.ev.Usage = u
}

// tell stores a string of the answer's head; the first frame that has it wins.
func (dec *decoder) tell(to *string, value []byte) {
	if *to == "" && !dec.begun {
		*to = rawjson.Text(value)
	}
}

// isCost reads the cost where a quirk places it outside the usage, and reports whether this member is the cost.
func (dec *decoder) isCost(name, value []byte) bool {
	field := dec.q.CostField
	if field == "" || len(field) < len(name) || field[:len(name)] != string(name) {
		return false
	}
	rest := field[len(name):]
	if rest != "" && rest[0] == '.' {
		value, rest = rawjson.Find(value, rest[1:]), ""
	}
	if rest != "" {
		return false
	}
	if cost := costText(value); cost != "" {
		dec.cost = cost
	}
	return true
}

// costText is a price as decimal text, "" when value is not a price.
func costText(value []byte) string {
	switch rawjson.KindOf(value) {
	case rawjson.Number:
		return decimalText(value, 0)
	case rawjson.String:
		if inner := value[1 : len(value)-1]; rawjson.IsNumber(inner) {
			return decimalText(inner, 0)
		}
	}
	return ""
}

// refusal is the fault of an error inside a 2xx answer.
func (dec *decoder) refusal(raw []byte) *fault.Error {
	r := dialect.ReadRefusal(raw)
	r.Status = 200
	return r.Fault(dec.ep)
}

// appendMember appends a raw member to a list of them that began at first.
func appendMember(list []byte, first int, raw []byte) []byte {
	if len(list) > first {
		list = append(list, ',')
	}
	return append(list, raw...)
}
