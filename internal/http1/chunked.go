package http1

import "errors"

var errChunk = errors.New("http1: the chunks of the body are malformed")

const (
	maxChunkLine = 256     // bytes of a chunk's size and extensions
	maxTrailers  = 8 << 10 // bytes of all trailers together
)

// Chunked decodes a chunked body (RFC 9112 section 7.1) that arrives in any pieces. It is strict: sizes are plain hexadecimal, lines end
// with CR LF, extensions and trailers are bounded and otherwise ignored.
type Chunked struct {
	state chunkState
	left  int64 // of the chunk's data, in bytes
	line  int   // bytes of the chunk's line so far, or of all trailers
}

type chunkState uint8

const (
	chunkSize      chunkState = iota // at the first digit
	chunkDigits                      // after a digit
	chunkSpace                       // white space after the size
	chunkExtension                   // after a semicolon
	chunkLineLF
	chunkData
	chunkDataCR
	chunkDataLF
	trailerStart // at the beginning of a trailer, or of the empty line that ends all
	trailerName
	trailerValue
	trailerLF
	chunkEndLF
	chunkEnd
)

// Decode moves the data in p to its front. It returns how many bytes of data there are and how many bytes of p it used: less than all
// only when the end of the body is before them.
func (d *Chunked) Decode(p []byte) (n, used int, err error) {
	for used < len(p) && d.state != chunkEnd {
		if d.state != chunkData {
			if !d.step(p[used]) {
				return n, used, errChunk
			}
			used++
			continue
		}
		m := int(min(int64(len(p)-used), d.left))
		if n != used {
			copy(p[n:], p[used:used+m])
		}
		n, used, d.left = n+m, used+m, d.left-int64(m)
		if d.left == 0 {
			d.state = chunkDataCR
		}
	}
	return n, used, nil
}

// Skip is Decode for data that stays where it is: it returns how many bytes of p belong to the body, up to its end or to the first one that is not
// allowed.
func (d *Chunked) Skip(p []byte) (used int, err error) {
	for used < len(p) && d.state != chunkEnd {
		if d.state != chunkData {
			if !d.step(p[used]) {
				return used, errChunk
			}
			used++
			continue
		}
		m := min(int64(len(p)-used), d.left)
		used, d.left = used+int(m), d.left-m
		if d.left == 0 {
			d.state = chunkDataCR
		}
	}
	return used, nil
}

// Done reports whether the end of the body was decoded.
func (d *Chunked) Done() bool { return d.state == chunkEnd }

// step takes one byte of framing and reports whether it is allowed there.
func (d *Chunked) step(c byte) bool {
	switch d.state {
	case chunkSize:
		d.left, d.line = 0, 0
		return d.digit(c)
	case chunkDigits:
		return d.digit(c) || d.afterSize(c)
	case chunkSpace:
		return d.afterSize(c)
	case chunkExtension:
		return d.text(c, maxChunkLine) || d.to(chunkLineLF, c == '\r')
	case chunkLineLF:
		if d.left == 0 {
			d.line = 0
			return d.to(trailerStart, c == '\n')
		}
		return d.to(chunkData, c == '\n')
	case chunkDataCR:
		return d.to(chunkDataLF, c == '\r')
	case chunkDataLF:
		return d.to(chunkSize, c == '\n')
	case trailerStart:
		return d.to(chunkEndLF, c == '\r') || d.to(trailerName, IsToken(c))
	case trailerName:
		d.line++
		return d.line <= maxTrailers && (IsToken(c) || d.to(trailerValue, c == ':'))
	case trailerValue:
		return d.text(c, maxTrailers) || d.to(trailerLF, c == '\r')
	case trailerLF:
		return d.to(trailerStart, c == '\n')
	case chunkEndLF:
		return d.to(chunkEnd, c == '\n')
	}
	return false
}

func (d *Chunked) to(next chunkState, ok bool) bool {
	if ok {
		d.state = next
	}
	return ok
}

// afterSize takes a byte after a size: white space, with which some servers pad lines, an extension or the end of the line.
func (d *Chunked) afterSize(c byte) bool {
	d.line++
	return d.line <= maxChunkLine && (d.to(chunkSpace, c == ' ' || c == '\t') || d.to(chunkExtension, c == ';') || d.to(chunkLineLF, c == '\r'))
}

// text takes a byte of an extension or of a trailer's value.
func (d *Chunked) text(c byte, limit int) bool {
	d.line++
	return d.line <= limit && (c >= ' ' || c == '\t') && c != 0x7F
}

// digit takes a hexadecimal digit; 15 of them do not overflow.
func (d *Chunked) digit(c byte) bool {
	switch {
	case c >= '0' && c <= '9':
		c -= '0'
	case c >= 'a' && c <= 'f':
		c -= 'a' - 10
	case c >= 'A' && c <= 'F':
		c -= 'A' - 10
	default:
		return false
	}
	d.line++
	d.left = d.left<<4 | int64(c)
	return d.to(chunkDigits, d.line <= 15)
}
