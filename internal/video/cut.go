package video

import (
	"io"
)

// cut returns the requested part of a file that the provider sent whole. If the size is unknown, it returns the whole file.
func cut(c *Content, r *Range) (*Content, error) {
	if r == nil || c.Partial || c.Unfit || c.Size < 0 {
		return c, nil
	}
	from, length, ok := r.In(c.Size)
	if !ok {
		_ = c.Body.Close()
		c.Body, c.Unfit = nil, true
		return c, nil
	}
	if _, err := io.CopyN(io.Discard, c.Body, from); err != nil {
		_ = c.Body.Close()
		return nil, unread(err)
	}
	c.Body = &part{Reader: io.LimitReader(c.Body, length), Closer: c.Body}
	c.From, c.Length, c.Partial = from, length, true
	return c, nil
}

// part reads a limited number of bytes from a body.
type part struct {
	io.Reader
	io.Closer
}
