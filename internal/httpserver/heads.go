package httpserver

import (
	"bytes"
	"io"

	"weir/internal/http1"
)

// heads looks at what a client of HTTP/1.1 sends before net/http does, and follows where its messages begin and end. net/http repairs what RFC 9112
// forbids: lines that end with a bare line feed, folded lines, a length given twice or beside chunks. A proxy in front may read such a message in
// another way and take a part of it for the next one. The first byte of such a fault is replaced by one that net/http refuses, so that it gives the
// answer and closes the connection; what follows is never read. The zero value is at the begin of a message.
type heads struct {
	state   headPart
	line    []byte // of the head, where it came in pieces
	pending []byte // came with the end of the message before; or stands for a fault
	first   bool   // the request line has passed
	latest  bool   // its version is 1.1
	length  int64  // of the body, and 1; 0: none was given
	coded   bool
	left    int64 // bytes of the body
	chunks  http1.Chunked
	heads   int64 // complete ones that were let through
}

// headPart is what the next byte belongs to.
type headPart uint8

const (
	between   headPart = iota // nothing yet
	emptied                   // the CR of an empty line before a request
	inHead                    // a line of the head
	inBody                    // a body with a length
	inChunks                  // a body in chunks
	faulty                    // nothing: the message was refused
	unchecked                 // another protocol, or what net/http refuses by itself
)

// faultBytes are refused by net/http wherever they stand in a head or in the framing of chunks.
var faultBytes = []byte("\x00\n\x00\r\n\r\n")

// read is Read of a connection whose own is from. It returns bytes of one message at most.
func (h *heads) read(p []byte, from func([]byte) (int, error)) (int, error) {
	for {
		n := copy(p, h.pending)
		if n > 0 {
			h.pending = h.pending[n:]
		} else {
			if h.state == faulty {
				return 0, io.EOF
			}
			var err error
			if n, err = from(p); n == 0 {
				return 0, err
			}
		}
		if h.state == faulty || h.state == unchecked {
			return n, nil
		}
		b := p[:n]
		skip := h.begin(b)
		used := h.follow(b[skip:])
		switch rest := b[skip+used:]; {
		case h.state == faulty:
			h.pending = faultBytes
		case len(rest) > 0:
			h.pending = append(bytes.Clone(rest), h.pending...)
		}
		if used > 0 {
			return copy(p, b[skip:skip+used]), nil
		}
	}
}

// begin passes over one empty line before a request (RFC 9112 section 2.2), and returns how many bytes of b it has.
func (h *heads) begin(b []byte) (skip int) {
	if h.state == between {
		h.state = inHead
		if b[0] != '\r' {
			return 0
		}
		h.state, skip = emptied, 1
	}
	if h.state == emptied && skip < len(b) {
		h.state = inHead
		if b[skip] != '\n' {
			h.state = faulty
			return skip
		}
		skip++
	}
	return skip
}

// follow takes bytes of the message, and returns how many: less than all at its end and before a fault.
func (h *heads) follow(b []byte) (used int) {
	for used < len(b) {
		switch h.state {
		case inHead:
			at := bytes.IndexByte(b[used:], '\n')
			if at < 0 {
				h.line = append(h.line, b[used:]...)
				return len(b)
			}
			line := b[used : used+at]
			if len(h.line) > 0 {
				h.line = append(h.line, line...)
				line = h.line
			}
			used += at
			if !h.takeLine(line) {
				h.state = faulty
				return used
			}
			used, h.line = used+1, h.line[:0]
		case inBody:
			n := min(h.left, int64(len(b)-used))
			used += int(n)
			if h.left -= n; h.left == 0 {
				h.state = between
			}
		case inChunks:
			n, err := h.chunks.Skip(b[used:])
			used += n
			if err != nil {
				h.state = faulty
				return used
			}
			if h.chunks.Done() {
				h.state = between
			}
		case unchecked:
			return len(b)
		default:
			return used
		}
	}
	return used
}

// takeLine takes a line of the head, without its line feed, and reports whether it is allowed.
func (h *heads) takeLine(line []byte) bool {
	if len(line) == 0 || line[len(line)-1] != '\r' {
		return false
	}
	line = line[:len(line)-1]
	switch {
	case !h.first:
		h.first, h.latest = true, bytes.HasSuffix(line, []byte(" HTTP/1.1"))
		return len(line) > 0 && http1.IsText(line)
	case len(line) == 0:
		h.endHead()
		return true
	}
	return h.takeField(line)
}

func (h *heads) takeField(line []byte) bool {
	n := 0
	for n < len(line) && http1.IsToken(line[n]) {
		n++
	}
	if n == 0 || n == len(line) || line[n] != ':' || !http1.IsText(line[n+1:]) {
		return false
	}
	switch name, value := line[:n], http1.Trim(line[n+1:]); {
	case http1.Is(name, "content-length"):
		length, ok := http1.Length(value)
		if !ok || h.length > 0 || h.coded {
			return false
		}
		h.length = length + 1
	case http1.Is(name, "transfer-encoding"):
		if h.coded || h.length > 0 || !h.latest {
			return false
		}
		h.coded = true
		if !http1.Is(value, "chunked") {
			h.state = unchecked
			h.heads++ // net/http refuses it
		}
	}
	return true
}

// endHead finds what follows the head.
func (h *heads) endHead() {
	h.line = nil
	h.heads++
	switch {
	case h.coded:
		h.state, h.chunks = inChunks, http1.Chunked{}
	case h.length > 1:
		h.state, h.left = inBody, h.length-1
	default:
		h.state = between
	}
	h.first, h.latest, h.length, h.coded = false, false, 0, false
}
