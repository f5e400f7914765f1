package batch

import (
	"bytes"
	"context"
	"io"

	"weir/internal/fault"
)

// source reads a part of a file.
type source func(ctx context.Context, offset, length int64) (io.ReadCloser, error)

// chunk is how much of a file is read at a time.
const chunk = 128 << 10

// lines reads a file line by line, in parts, so that no connection to a store stays open for hours and memory holds no more than one line
// and one part.
type lines struct {
	read source
	size int64 // of the file
	most int64 // bytes of a line

	buf  []byte
	base int64 // offset of buf in the file
	next int64 // number of the next line, from 1
}

func newLines(read source, size, most int64) *lines {
	return &lines{read: read, size: size, most: most, next: 1}
}

// line is one line of a file. Its text is valid until the next one is read.
type line struct {
	number, offset int64
	text           []byte
}

// errLong is the error of a line that is too long.
var errLong = fault.New(fault.PayloadTooLarge, "batch.lines", "The line is too long.")

// after returns the next line that is not empty; io.EOF after the last one. A line that is too long fails with errLong, and its number.
func (l *lines) after(ctx context.Context) (line, error) {
	for {
		end := bytes.IndexByte(l.buf, '\n')
		last := l.base+int64(len(l.buf)) >= l.size
		switch {
		case end < 0 && int64(len(l.buf)) > l.most, int64(end) > l.most:
			return line{number: l.next}, errLong
		case end < 0 && !last:
			if err := l.more(ctx); err != nil {
				return line{}, err
			}
			continue
		case end < 0 && len(l.buf) == 0:
			return line{}, io.EOF
		}
		stop, take := end, end+1
		if end < 0 {
			stop, take = len(l.buf), len(l.buf)
		}
		one := line{l.next, l.base, l.buf[:stop]}
		l.buf, l.base = l.buf[take:], l.base+int64(take)
		l.next++
		if len(bytes.TrimSpace(one.text)) > 0 {
			return one, nil
		}
	}
}

// more reads the next part behind what is there.
func (l *lines) more(ctx context.Context) error {
	at := l.base + int64(len(l.buf))
	n := min(chunk, l.size-at)
	b := append(make([]byte, 0, int64(len(l.buf))+n), l.buf...)
	r, err := l.read(ctx, at, n)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	b = b[:int64(len(l.buf))+n]
	if _, err := io.ReadFull(r, b[len(l.buf):]); err != nil {
		return fault.New(fault.StorageUnavailable, "batch.lines", "The file could not be read to its end.").Because(err)
	}
	l.buf = b
	return nil
}
