package h1server

import (
	"io"
	"net/http"

	"weir/internal/http1"
)

// body is the body of a request. Reads of its end, and only they, leave the connection at the next request.
type body struct {
	c       *conn // nil once the request has ended
	left    int64 // bytes, of a body with a length
	chunked bool
	framing http1.Chunked
	done    bool // read to its end
	expect  bool // the client waits for 100 Continue
	err     error
}

// Read reads from the body.
func (b *body) Read(p []byte) (int, error) {
	switch {
	case b.c == nil:
		return 0, http.ErrBodyReadAfterClose
	case b.err != nil:
		return 0, b.err
	case b.done:
		return 0, io.EOF
	case len(p) == 0:
		return 0, nil
	}
	if b.expect {
		b.expect = false
		if err := b.c.sayContinue(); err != nil {
			b.err = err
			return 0, err
		}
	}
	n, err := b.read(p)
	if err != nil && err != io.EOF {
		b.err = err
	}
	if b.done {
		b.c.bodyRead.Store(true)
	}
	return n, err
}

func (b *body) read(p []byte) (int, error) {
	if !b.chunked {
		n, err := b.c.read(p[:min(int64(len(p)), b.left)])
		if b.left -= int64(n); b.left == 0 {
			b.done = true
			return n, io.EOF
		}
		return n, cutShort(err)
	}
	for {
		in, err := b.c.buffered()
		if err != nil {
			return 0, cutShort(err)
		}
		if len(in) > len(p) {
			in = in[:len(p)]
		}
		n, used, err := b.framing.Decode(in)
		copy(p, in[:n])
		b.c.skip(used)
		switch {
		case err != nil:
			return n, invalid(err.Error())
		case b.framing.Done():
			b.done = true
			return n, io.EOF
		case n > 0:
			return n, nil
		}
	}
}

func cutShort(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Close does nothing: what is unread is the connection's business.
func (b *body) Close() error { return nil }

// discardable is how much of an unread body is read and dropped to keep the connection: a new one would cost more.
const discardable = 256 << 10

// discard reads the rest of a small body, and reports whether the next request follows.
func (b *body) discard() bool {
	if b.done {
		return true
	}
	if b.err != nil || b.expect || b.left > discardable {
		return false
	}
	buf := takeBuffer()
	defer giveBuffer(buf)
	for n := 0; n <= discardable; {
		m, err := b.Read(buf[:])
		n += m
		if b.done {
			return true
		}
		if err != nil {
			return false
		}
	}
	return false
}
