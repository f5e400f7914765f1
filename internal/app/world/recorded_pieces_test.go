package world_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"weir/internal/catalog"
	"weir/internal/catalog/builtin"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/all"
	"weir/internal/upstream/upstreamtest"
)

// pieces is a body that arrives in pieces.
type pieces [][]byte

func (p *pieces) Read(b []byte) (int, error) {
	for len(*p) > 0 && len((*p)[0]) == 0 {
		*p = (*p)[1:]
	}
	if len(*p) == 0 {
		return 0, io.EOF
	}
	n := copy(b, (*p)[0])
	(*p)[0] = (*p)[0][n:]
	return n, nil
}

// inFrames cuts a body behind each event, and one that has none not at all.
func inFrames(body []byte) (out pieces) {
	binaryFrames := len(body) > 0 && body[0] == 0
	for len(body) > 0 {
		n := len(body)
		if at := bytes.Index(body, []byte("\n\n")); at >= 0 && !binaryFrames {
			n = at + 2
		} else if binaryFrames {
			n = min(n, int(binary.BigEndian.Uint32(body)))
		}
		out, body = append(out, body[:n]), body[n:]
	}
	return out
}

func inSevens(body []byte) (out pieces) {
	for len(body) > 0 {
		n := min(len(body), 7)
		out, body = append(out, body[:n]), body[n:]
	}
	return out
}

// exchange has the header fields of a recording.
type exchange struct{ header http.Header }

func (exchange) Linger()               {}
func (exchange) Close()                {}
func (x exchange) Header() http.Header { return x.header }

// TestRecordingsInPieces decodes each recorded answer as it may arrive: at once, event by event, and in pieces of seven bytes, for clients of its wire
// and of another one. The events must not depend on it.
func TestRecordingsInPieces(t *testing.T) {
	t.Parallel()
	dialects := all.Dialects()
	decoded := 0
	for i, is := range recordings() {
		d, chats := dialects[is.Wire].(dialect.Texter)
		if !chats || is.Status != http.StatusOK || testing.Short() && i%16 != 0 {
			continue
		}
		ep := &catalog.Endpoint{ID: is.Vendor + "/m", UpstreamID: is.Model, Provider: &catalog.Provider{ID: is.Vendor, Name: is.Vendor, Dialect: is.Wire}}
		if known, ok := builtin.Named(is.Vendor); ok {
			ep.Provider.Quirks = known.Quirks
		}
		x := exchange{http.Header{}}
		for name, value := range is.Headers {
			x.header.Set(name, value)
		}
		body := is.bytesOf()
		for _, style := range []completion.Style{completion.Chat, nativeStyle[is.Wire]} {
			events := func(p pieces) string {
				return upstreamtest.DumpAll(d.Events(&dialect.Answer{Endpoint: ep, Request: &completion.Request{Style: style, Stream: is.Stream, N: 1}, Length: -1,
					Limits: dialect.Limits{Whole: 16 << 20, Stream: 256 << 20, Line: 4 << 20}, Body: dialect.NewBody(&p), Exchange: x}))
			}
			want := events(pieces{body})
			decoded++
			for how, p := range map[string]pieces{"event by event": inFrames(body), "in pieces of seven bytes": inSevens(body)} {
				if got := events(p); got != want {
					t.Errorf("%s (%s, %s): %s it differs from the same at once:\n%s", is.ID, is.Wire, is.File, how, difference(want, got))
				}
			}
		}
	}
	if decoded < len(recordings())/16 {
		t.Errorf("%d answers were decoded", decoded)
	}
}

var nativeStyle = map[string]completion.Style{"openai": completion.Chat, "responses": completion.Responses, "anthropic": completion.Messages, "gemini": completion.Gemini, "bedrock": completion.Messages}

// difference is the first line in which two texts differ.
func difference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return fmt.Sprintf("line %d: %.300q, at once %.300q", i, strings.Join(b[min(i, len(b)):min(i+1, len(b))], ""), a[i])
		}
	}
	return fmt.Sprintf("%d lines more", len(b)-len(a))
}
