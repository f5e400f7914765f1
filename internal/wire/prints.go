package wire

import (
	"bytes"
	"hash/maphash"

	"weir/internal/completion"
	"weir/internal/promptcache"
	"weir/internal/rawjson"
)

// Prints are the fingerprints of a request's prompt, to find it in providers' caches. The body must be checked.
func Prints(seed maphash.Seed, req *completion.Request) promptcache.Prints {
	p := cachedPrompt{messages: inside(req.Body, req.MessagesAt), marked: req.HasRoles&completion.HasCacheControl != 0,
		led: req.Opening[0].Start >= req.MessagesAt.Start && req.Opening[0].End > req.MessagesAt.Start && req.Opening[0].End <= req.MessagesAt.End}
	for i := range req.Members {
		m := &req.Members[i]
		switch m.Name {
		case "tools", "functions", "system", "instructions", "systemInstruction", "system_instruction", "cachedContent":
			p.before = append(p.before, req.Body[m.Value:m.End])
		case "cache_control":
			p.marked, p.hour = true, bytes.Contains(req.Body[m.Value:m.End], anHour)
		}
	}
	return p.prints(seed)
}

func inside(body []byte, at completion.Span) []byte { return body[at.Start:at.End] }

// cachedPrompt is what a provider reads first of a request: its parts in their order, as raw JSON.
type cachedPrompt struct {
	before   [][]byte // tools and instructions that are no messages
	messages []byte   // a JSON array, or a text
	led      bool     // the first message is an instruction
	marked   bool     // it has marks for caches, which are no part of the prompt: they move from call to call
	hour     bool     // one beside the prompt is for an hour
}

func (p *cachedPrompt) prints(seed maphash.Seed) promptcache.Prints {
	w := printer{Printer: promptcache.NewPrinter(seed), marked: p.marked, hour: p.hour}
	for _, part := range p.before {
		w.billed = bytes.Contains(part[:min(len(part), 256)], billing)
		w.value(part)
		w.End()
	}
	w.billed = false
	w.Mark()
	if rawjson.KindOf(p.messages) == rawjson.String {
		w.message(p.messages)
		w.Mark()
	}
	for e := rawjson.ElementsOf(p.messages); e.Next(); {
		w.message(e.Value)
		w.Mark()
	}
	kind := promptcache.Unmarked
	switch {
	case w.hour:
		kind = promptcache.MarkedHour
	case w.marked:
		kind = promptcache.Marked
	}
	return w.Prints(p.led, kind)
}

// printer writes a prompt without what is no part of it.
type printer struct {
	*promptcache.Printer
	marked bool
	hour   bool
	billed bool // the part begins with Claude Code's line for billing
}

var anHour = []byte(`"1h"`)

var markNames = [...][]byte{[]byte("cache_control"), []byte("prompt_cache_breakpoint")}

// isMark reports whether a member is a mark, and notes for how long.
func (w *printer) isMark(m *rawjson.Members) bool {
	if !bytes.Equal(m.Name, markNames[0]) && !bytes.Equal(m.Name, markNames[1]) {
		return false
	}
	w.hour = w.hour || bytes.Contains(m.Value, anHour)
	return true
}

// hasMark reports whether marks may be in v.
func (w *printer) hasMark(v []byte) bool {
	return w.marked && (bytes.Contains(v, markNames[0]) || bytes.Contains(v, markNames[1]))
}

// value writes a value as it is, but without the marks in it and the comma beside each.
func (w *printer) value(v []byte) {
	if !w.billed && !w.hasMark(v) {
		w.Write(v)
		return
	}
	done := 0 // bytes of v
	inner := func(at int, value []byte) {
		w.Write(v[done:at])
		w.value(value)
		done = at + len(value)
	}
	switch rawjson.KindOf(v) {
	case rawjson.Array:
		for e := rawjson.ElementsOf(v); e.Next(); {
			inner(e.At, e.Value)
		}
	case rawjson.Object:
		first := false // a mark is the first member: the comma comes after it
		for m := rawjson.MembersOf(v); m.Next(); {
			switch {
			case !w.isMark(&m):
				if first {
					done, first = m.Start, false
				}
				inner(m.At, m.Value)
			case bytes.IndexByte(v[done:m.Start], '{') >= 0:
				w.Write(v[done : done+bytes.IndexByte(v[done:m.Start], '{')+1])
				done, first = m.End, true
			default:
				done = m.End
			}
		}
	default:
		v = withoutBilling(v)
	}
	w.Write(v[done:])
}

// message writes a message. Clients write a text as a string, and as a list of one part when it gets a mark: both are the same prompt.
func (w *printer) message(v []byte) {
	if !w.marked || !w.hasMark(v) && !bytes.Contains(v[:min(len(v), 64)], []byte("[{")) {
		w.Write(v)
		return
	}
	done := 0
	for m := rawjson.MembersOf(v); m.Next(); {
		w.Write(v[done:m.At])
		if text := w.onlyText(m.Value); text != nil {
			w.Write(text)
		} else {
			w.value(m.Value)
		}
		done = m.End
	}
	w.Write(v[done:])
}

// onlyText is the text of a list with one text part, as it is written; nil for all else.
func (w *printer) onlyText(v []byte) (text []byte) {
	e := rawjson.ElementsOf(v)
	if !e.Next() {
		return nil
	}
	for m := rawjson.MembersOf(e.Value); m.Next(); {
		switch {
		case string(m.Name) == "text":
			text = m.Value
		case string(m.Name) != "type" && !w.isMark(&m):
			return nil
		}
	}
	if e.Next() {
		return nil
	}
	return text
}

// billing begins the line that Claude Code puts in front of its instructions. It has a fingerprint of the call, and Anthropic does not count it as a
// part of the prompt.
var billing = []byte("x-anthropic-billing-header:")

// withoutBilling is a string, as it is written, from the end of that line on.
func withoutBilling(v []byte) []byte {
	if len(v) < 2 || !bytes.HasPrefix(v[1:], billing) {
		return v
	}
	if _, rest, more := bytes.Cut(v, []byte(`\n`)); more {
		return rest
	}
	return nil
}
