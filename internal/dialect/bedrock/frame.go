package bedrock

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"slices"

	"weir/internal/dialect"
)

// A message of application/vnd.amazon.eventstream (Smithy, "Amazon Event Stream Specification"): two lengths and their checksum, headers,
// payload, and the checksum of the whole message.
const (
	preludeBytes  = 12
	checksumBytes = 4
	leastMessage  = preludeBytes + checksumBytes
	readStep      = 32 << 10 // memory grows with the bytes that arrive, not with the announced length
)

var (
	errChecksum = errors.New("bedrock: a message has a wrong checksum")
	errHeaders  = errors.New("bedrock: the headers of a message cannot be read")
	errLengths  = errors.New("bedrock: the lengths of a message contradict each other")
	errTooLarge = errors.New("bedrock: a message or the stream is too large")
)

// frame is one message. Its bytes are valid until the next one is read.
type frame struct {
	kind    string // :message-type: "event", "exception", "error"
	name    string // of the event, the exception or the error
	text    string // of an error
	payload []byte
}

// frames reads the messages of a body.
type frames struct {
	r    io.Reader
	most int   // limit for one message, in bytes
	left int64 // limit for the rest of the stream, in bytes
	buf  []byte
}

// next reads a message. It returns io.EOF after the last whole message, and io.ErrUnexpectedEOF inside one.
func (s *frames) next() (f frame, err error) {
	if s.buf, err = s.fill(s.buf[:0], preludeBytes); err != nil {
		return f, err
	}
	total, headers := binary.BigEndian.Uint32(s.buf), binary.BigEndian.Uint32(s.buf[4:])
	if crc32.ChecksumIEEE(s.buf[:8]) != binary.BigEndian.Uint32(s.buf[8:]) {
		return f, errChecksum
	}
	switch {
	case total < leastMessage || headers > total-leastMessage:
		return f, errLengths
	case int64(total) > int64(s.most):
		return f, errTooLarge
	}
	if s.buf, err = s.fill(s.buf, int(total)); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return f, err
	}
	end := int(total) - checksumBytes
	if crc32.ChecksumIEEE(s.buf[:end]) != binary.BigEndian.Uint32(s.buf[end:]) {
		return f, errChecksum
	}
	f.payload = s.buf[preludeBytes+int(headers) : end]
	return f, f.readHeaders(s.buf[preludeBytes : preludeBytes+int(headers)])
}

// fill reads until buf has size bytes.
func (s *frames) fill(buf []byte, size int) ([]byte, error) {
	if s.left -= int64(size - len(buf)); s.left < 0 {
		return buf, errTooLarge
	}
	for len(buf) < size {
		step := min(size-len(buf), readStep)
		buf = slices.Grow(buf, step)
		n, err := io.ReadFull(s.r, buf[len(buf):len(buf)+step])
		buf = buf[:len(buf)+n]
		if err == io.EOF && len(buf) > 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return buf, err
		}
	}
	return buf, nil
}

// readHeaders reads the headers that are used. Each value has a type, which decides its length.
func (f *frame) readHeaders(h []byte) error {
	for len(h) > 0 {
		n := int(h[0])
		if n == 0 || len(h) < n+2 {
			return errHeaders
		}
		name, kind := h[1:1+n], h[1+n]
		h = h[2+n:]
		size := 0
		switch kind {
		case 0, 1: // true, false
		case 2: // byte
			size = 1
		case 3: // short
			size = 2
		case 4: // integer
			size = 4
		case 5, 8: // long, timestamp
			size = 8
		case 9: // UUID
			size = 16
		case 6, 7: // bytes, text
			if len(h) < 2 {
				return errHeaders
			}
			size, h = int(binary.BigEndian.Uint16(h)), h[2:]
		default:
			return errHeaders
		}
		if len(h) < size {
			return errHeaders
		}
		if kind == 7 {
			f.header(name, h[:size])
		}
		h = h[size:]
	}
	return nil
}

func (f *frame) header(name, value []byte) {
	switch string(name) {
	case ":message-type":
		f.kind = string(value)
	case ":event-type", ":exception-type", ":error-code":
		f.name = string(value)
	case ":error-message":
		f.text = string(value)
	}
}

// asFault turns read errors into faults.
func (dec *decoder) asFault(err error) error {
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return dialect.Ended(dec.ep)
	case errors.Is(err, errTooLarge):
		return dialect.TooLarge(dec.ep, err)
	}
	return err
}
