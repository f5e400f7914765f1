package upstream_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/upstream"
	"weir/internal/upstream/upstreamtest"
)

// passing sends the client's body in pieces that are views of it.
type passing struct{ verbatim }

func (passing) Request(_ *catalog.Endpoint, req *completion.Request) (dialect.Call, error) {
	w := dialect.Writer(len(req.Body))
	w.Array()
	for rest := req.Body; len(rest) > 0; {
		n := min(len(rest), 1<<20)
		w.Verbatim(rest[:n])
		rest = rest[n:]
	}
	w.EndArray()
	call := dialect.Call{Path: "/x"}
	call.Body, call.More = w.Pieces()
	return call, nil
}

// Events ends with the provider's end mark, which is before the end of the body.
func (passing) Events(a *dialect.Answer) iter.Seq2[*completion.Event, error] {
	return func(yield func(*completion.Event, error) bool) {
		if _, err := io.ReadFull(a.Body, make([]byte, len(fine))); err != nil {
			yield(nil, err)
			return
		}
		yield(&completion.Event{Done: true}, nil)
	}
}

// The transports send a body in pieces as they send one in one piece, again and again.
func TestPieces(t *testing.T) {
	t.Parallel()
	for _, size := range []int{10, dialect.LongValue + 10, 60 << 10, 5 << 20} {
		body := bytes.Repeat([]byte("weir!"), size/5)
		call, err := passing{}.Request(nil, &completion.Request{Body: body})
		if err != nil {
			t.Fatal(err)
		}
		want := sha256.Sum256(bytes.Join(call.Pieces(), nil))
		for _, transport := range transports {
			piecesOver(t, transport, func(w http.ResponseWriter, r *http.Request) {
				h := sha256.New()
				n, err := io.Copy(h, r.Body)
				if err != nil || n != r.ContentLength || !bytes.Equal(h.Sum(nil), want[:]) {
					t.Errorf("%s: %d bytes of %d, %v", r.Proto, n, r.ContentLength, err)
				}
				_, _ = io.WriteString(w, fine)
			}, func(c *upstream.Client, ep *catalog.Endpoint) {
				for range 3 {
					req := request(false)
					req.Body = body
					if got := upstreamtest.Collect(c.Complete(context.Background(), ep, req, nil)); got.Err != nil {
						t.Errorf("%d bytes: %v", size, got.Err)
					}
				}
			})
		}
	}
}

// When a call has ended, nothing reads its body any more, which is then another client's: also when the provider answers before it has read the
// request, when it refuses it, and when the caller leaves.
func TestNoPieceIsReadAfterTheCall(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"answered", "answered, with more to come", "refused", "left"} {
		for _, transport := range transports {
			if transport == "HTTP/2" && (how == "answered" || how == "refused") {
				continue // the server ends an answer together with the request
			}
			ctx, leave := context.WithCancel(context.Background())
			over := make(chan struct{})
			piecesOver(t, transport, func(w http.ResponseWriter, r *http.Request) {
				_ = http.NewResponseController(w).EnableFullDuplex()
				if how == "left" {
					leave()
				} else {
					if how != "answered, with more to come" {
						w.Header().Set("Content-Length", strconv.Itoa(len(fine)))
					}
					if how == "refused" {
						w.WriteHeader(http.StatusRequestEntityTooLarge)
					}
					_, _ = io.WriteString(w, fine)
					_ = http.NewResponseController(w).Flush()
				}
				<-over
				rest, _ := io.ReadAll(r.Body)
				if i := bytes.IndexByte(rest, 'X'); i >= 0 {
					t.Errorf("%s, %s: byte %d of %d was read after the call", transport, how, i, len(rest))
				}
				if int64(len(rest)) == r.ContentLength {
					t.Errorf("%s, %s: the whole body was sent: the test shows nothing", transport, how)
				}
			}, func(c *upstream.Client, ep *catalog.Endpoint) {
				req := request(false)
				req.Body = bytes.Repeat([]byte("a"), 16<<20)
				got := upstreamtest.Collect(c.Complete(ctx, ep, req, nil))
				for i := range req.Body {
					req.Body[i] = 'X'
				}
				close(over)
				if want := map[string]fault.Kind{"refused": fault.PayloadTooLarge, "left": fault.Canceled}[how]; want != 0 && (got.Err == nil || got.Err.Kind != want) {
					t.Errorf("%s, %s: %v", transport, how, got.Err)
				}
			})
			leave()
		}
	}
}

var transports = []string{"own", "own with TLS", "standard", "HTTP/2"}

// piecesOver runs a server, and calls of it over a transport.
func piecesOver(t *testing.T, over string, serve http.HandlerFunc, call func(*upstream.Client, *catalog.Endpoint)) {
	t.Helper()
	var served atomic.Int64
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { served.Add(1); serve(w, r) }))
	cfg := upstream.Config{Dialects: map[string]dialect.Dialect{"openai": passing{}}, Standard: over == "standard", HTTP2: map[string]bool{"acme": over == "HTTP/2"}}
	if over == "own with TLS" || over == "HTTP/2" {
		srv.EnableHTTP2 = over == "HTTP/2"
		srv.StartTLS()
		cfg.TLS = &tls.Config{RootCAs: srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	} else {
		srv.Start()
	}
	c := upstreamtest.New(cfg)
	call(c, endpoint(srv.URL))
	c.Close()
	srv.Close()
	if served.Load() == 0 {
		t.Errorf("%s: nothing arrived", over)
	}
}
