package upstream

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"weir/internal/dialect"
	"weir/internal/fault"
)

// accepted are the encodings that are requested for whole answers. Streams are requested plain: what compresses them on the way may hold
// events back until a block is full, and small events gain little. All of them are read wherever they come.
const accepted = "gzip, deflate, br, zstd"

// maxWindow bounds the memory of a decoder of zstd: frames with a larger window are refused, as by browsers (RFC 8878, section 3.1.1.1.2).
const maxWindow = 8 << 20

// encoding is a content encoding. Its decoders are pooled, because most of them have large tables. A decoder returns what it has when
// further input has not arrived yet, so events of a flushed stream pass one by one.
type encoding struct {
	open func(src io.Reader) (decoder, error)
	pool sync.Pool
}

// decoder is a decoder that can begin anew.
type decoder interface {
	io.Reader
	restart(src io.Reader) error
}

var encodings = map[string]*encoding{
	"gzip": {open: func(src io.Reader) (decoder, error) {
		z, err := gzip.NewReader(src)
		return &gzipDecoder{z}, err
	}},
	"deflate": {open: func(src io.Reader) (decoder, error) {
		d := &deflateDecoder{buffered: bufio.NewReader(src)}
		return d, d.begin()
	}},
	"br": {open: func(src io.Reader) (decoder, error) { return &brotliDecoder{brotli.NewReader(src)}, nil }},
	"zstd": {open: func(src io.Reader) (decoder, error) {
		z, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		return &zstdDecoder{z}, err
	}},
}

// encodingOf is the encoding of a Content-Encoding; nil with ok for a plain body.
func encodingOf(name string) (e *encoding, ok bool) {
	switch name = strings.ToLower(strings.TrimSpace(name)); name {
	case "", "identity":
		return nil, true
	case "x-gzip":
		name = "gzip"
	}
	e, ok = encodings[name]
	return e, ok
}

type gzipDecoder struct{ *gzip.Reader }

func (d *gzipDecoder) restart(src io.Reader) error { return d.Reset(src) }

type brotliDecoder struct{ *brotli.Reader }

func (d *brotliDecoder) restart(src io.Reader) error { return d.Reset(src) }

type zstdDecoder struct{ *zstd.Decoder }

func (d *zstdDecoder) restart(src io.Reader) error { return d.Reset(src) }

// deflateDecoder reads zlib, which is what deflate means (RFC 9110, section 8.4.1.2), and the bare deflate that some servers send.
type deflateDecoder struct {
	buffered *bufio.Reader
	reader   io.ReadCloser
	bare     bool
}

func (d *deflateDecoder) Read(p []byte) (int, error) { return d.reader.Read(p) }

func (d *deflateDecoder) restart(src io.Reader) error {
	d.buffered.Reset(src)
	return d.begin()
}

func (d *deflateDecoder) begin() (err error) {
	head, err := d.buffered.Peek(2)
	if len(head) < 2 {
		return err
	}
	const methodDeflate = 8
	bare := head[0]&0x0f != methodDeflate || (int(head[0])<<8|int(head[1]))%31 != 0
	switch again, ok := d.reader.(flate.Resetter); {
	case bare && d.bare && ok:
		err = again.Reset(d.buffered, nil)
	case bare:
		d.reader, err = flate.NewReader(d.buffered), nil
	default:
		d.reader, err = zlib.NewReader(d.buffered)
	}
	d.bare = bare
	return err
}

// decoded reads a body in its encoding. Its output is counted too: a decompression bomb ends at the limit.
type decoded struct {
	a    *attempt
	src  io.Reader
	how  *encoding
	from decoder
	left int64
}

func (u *decoded) Read(p []byte) (int, error) {
	n, err := u.read(p)
	if u.left -= int64(n); u.left < 0 {
		return 0, dialect.TooLarge(u.a.ep, nil)
	}
	if err != nil && u.from != nil {
		u.how.pool.Put(u.from)
		u.from = nil
	}
	if err != nil && err != io.EOF {
		var f *fault.Error
		if !errors.As(err, &f) {
			err = dialect.Unavailable(u.a.ep, dialect.Unreadable, err)
		}
	}
	return n, err
}

func (u *decoded) read(p []byte) (int, error) {
	if u.from == nil {
		var err error
		if used, ok := u.how.pool.Get().(decoder); ok {
			err, u.from = used.restart(u.src), used
		} else {
			u.from, err = u.how.open(u.src)
		}
		if err != nil {
			u.from = nil
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
	}
	return u.from.Read(p)
}
