package upstream_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"weir/internal/dialect"
	"weir/internal/upstream"
	"weir/internal/upstream/upstreamtest"
)

// A new connection resumes the session of an earlier one to the same provider, over each transport: providers end connections that are idle, and a
// whole handshake costs as much as several calls.
func TestSessionsAreResumed(t *testing.T) {
	t.Parallel()
	for _, over := range []string{"own", "standard", "HTTP/2"} {
		var whole, resumed atomic.Int64
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.TLS.DidResume {
				resumed.Add(1)
			} else {
				whole.Add(1)
			}
			w.Header().Set("Connection", "close")
			_, _ = io.WriteString(w, fine)
		}))
		srv.EnableHTTP2 = over == "HTTP/2"
		srv.StartTLS()
		roots := x509.NewCertPool()
		roots.AddCert(srv.Certificate())
		c := upstreamtest.New(upstream.Config{Dialects: map[string]dialect.Dialect{"openai": verbatim{}}, Standard: over == "standard", HTTP2: map[string]bool{"acme": over == "HTTP/2"}, TLS: &tls.Config{RootCAs: roots}})
		ep := endpoint(srv.URL)
		for range 4 {
			if got := upstreamtest.Collect(c.Complete(context.Background(), ep, request(false), nil)); got.Err != nil {
				t.Errorf("%s: %v", over, got.Err)
			}
		}
		if whole.Load() != 1 || resumed.Load() != 3 {
			t.Errorf("%s: %d handshakes, %d resumed sessions", over, whole.Load(), resumed.Load())
		}
		c.Close()
		srv.Close()
	}
}
