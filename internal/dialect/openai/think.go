package openai

import "bytes"

const (
	openTag  = "<think>"
	closeTag = "</think>"
)

// The states of think.
const (
	before   = iota // only space so far: the tag may follow
	thinking        // between the tags
	after           // ordinary text, to the end
	trimming        // right after the closing tag: line ends there belong to it
)

// think extracts reasoning from text that begins with it between tags. Frames may cut tags in two.
type think struct {
	state byte
	held  []byte // a beginning of a tag, or space before one, held back
}

// split takes the next piece of text and returns its reasoning and its plain text.
func (dec *decoder) split(t *think, text []byte) (reasoning, plain []byte) {
	if len(t.held) > 0 {
		at := len(dec.text)
		dec.text = append(append(dec.text, t.held...), text...)
		text = dec.text[at:len(dec.text):len(dec.text)]
		t.held = t.held[:0]
	}
	if t.state == before {
		body := bytes.TrimLeft(text, " \t\r\n")
		switch {
		case len(body) < len(openTag) && bytes.HasPrefix([]byte(openTag), body):
			t.held = append(t.held, text...)
			return nil, nil
		case bytes.HasPrefix(body, []byte(openTag)):
			t.state = thinking
			text = bytes.TrimLeft(body[len(openTag):], "\r\n")
		default:
			t.state = after
		}
	}
	if t.state == thinking {
		i := bytes.Index(text, []byte(closeTag))
		if i < 0 {
			i = len(text) - overlap(text)
			t.held = append(t.held, text[i:]...)
			return text[:i], nil
		}
		reasoning, text = text[:i], text[i+len(closeTag):]
		t.state = trimming
	}
	if t.state == trimming {
		if text = bytes.TrimLeft(text, "\r\n"); len(text) > 0 {
			t.state = after
		}
	}
	return reasoning, text
}

// overlap is how many bytes at the end of text may be the beginning of the closing tag.
func overlap(text []byte) int {
	for n := min(len(text), len(closeTag)-1); n > 0; n-- {
		if bytes.HasPrefix([]byte(closeTag), text[len(text)-n:]) {
			return n
		}
	}
	return 0
}

// flush returns the held text when the answer ends: it was no tag.
func (t *think) flush() []byte {
	held := t.held
	t.held = nil
	return held
}
