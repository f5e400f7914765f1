package upstream

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"weir/internal/catalog"
	"weir/internal/fault"
)

// flusher is an encoder that can give out what it has.
type flusher interface {
	io.WriteCloser
	Flush() error
}

// Each encoding is read, by decoders that are used again, and an event that was flushed arrives before the next one is written.
func TestEncodings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		header  string
		encoder func(io.Writer) flusher
	}{
		"gzip":    {"gzip", func(w io.Writer) flusher { return gzip.NewWriter(w) }},
		"x-gzip":  {"X-GZip", func(w io.Writer) flusher { return gzip.NewWriter(w) }},
		"zlib":    {"deflate", func(w io.Writer) flusher { return zlib.NewWriter(w) }},
		"deflate": {"deflate", func(w io.Writer) flusher { z, _ := flate.NewWriter(w, 6); return z }},
		"br":      {"br", func(w io.Writer) flusher { return brotli.NewWriter(w) }},
		"zstd":    {"zstd", func(w io.Writer) flusher { z, _ := zstd.NewWriter(w); return z }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			how, known := encodingOf(c.header)
			if !known || how == nil {
				t.Fatal("unknown")
			}
			for range 3 {
				r, w := io.Pipe()
				in := &decoded{a: &attempt{ep: &catalog.Endpoint{Provider: &catalog.Provider{}}}, src: r, how: how, left: 1 << 20}
				events, next := []string{"data: one\n\n", "data: two\n\n"}, make(chan bool)
				go func() {
					sent := c.encoder(w)
					for _, event := range events {
						_, _ = sent.Write([]byte(event))
						_ = sent.Flush()
						<-next // what follows waits for the client
					}
					_ = sent.Close()
					_ = w.Close()
				}()
				for _, event := range events {
					got := make([]byte, len(event))
					if _, err := io.ReadFull(in, got); err != nil || string(got) != event {
						t.Fatalf("%q: %v", got, err)
					}
					drained := make(chan bool)
					go func() { next <- true; close(drained) }()
					defer func() { <-drained }()
				}
				if rest, err := io.ReadAll(in); err != nil || len(rest) != 0 {
					t.Errorf("%q: %v", rest, err)
				}
			}
		})
	}
	if _, known := encodingOf("compress"); known {
		t.Error("compress is known")
	}
}

// What a few bytes unpack to is read up to the limit, in every encoding.
func TestBombs(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	for name, encoder := range map[string]func(io.Writer) flusher{
		"gzip":    func(w io.Writer) flusher { return gzip.NewWriter(w) },
		"deflate": func(w io.Writer) flusher { return zlib.NewWriter(w) },
		"br":      func(w io.Writer) flusher { return brotli.NewWriter(w) },
		"zstd":    func(w io.Writer) flusher { z, _ := zstd.NewWriter(w); return z },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var packed bytes.Buffer
			w := encoder(&packed)
			_, _ = w.Write(make([]byte, 64*limit))
			_ = w.Close()
			how, _ := encodingOf(name)
			in := &decoded{a: &attempt{ep: &catalog.Endpoint{Provider: &catalog.Provider{}}}, src: &packed, how: how, left: limit}
			n, err := io.Copy(io.Discard, in)
			if f := fault.From(err); err == nil || f.Upstream == nil || n > limit {
				t.Errorf("%d bytes of %d, %v", n, packed.Len(), err)
			}
		})
	}
}
