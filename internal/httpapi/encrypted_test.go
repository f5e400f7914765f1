package httpapi_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/certificate"
	"weir/internal/certificate/certificatetest"
	"weir/internal/completion"
	"weir/internal/httpapi"
	"weir/internal/relay"
)

// Over TLS, with either version of HTTP, whole answers, streams that are not held back, refusals of bodies that are not read, clients that
// leave, and the end of the node are as they are without it.
func TestEncrypted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	roots := certificatetest.Write(cert, key, time.Now().Add(time.Hour), "127.0.0.1")
	for _, version := range []int{1, 2} {
		t.Run([]string{1: "HTTP/1.1", 2: "HTTP/2"}[version], func(t *testing.T) {
			t.Parallel()
			left, more := make(chan struct{}), make(chan struct{})
			n := start(t, relayFunc(func(ctx context.Context, c *relay.Call, sink relay.Sink) error {
				if !c.Request.Stream {
					return hello(ctx, c, sink)
				}
				_ = sink.Start(served(c))
				_ = sink.Event(&completion.Event{Text: []byte("part")})
				_ = flush(sink)
				select {
				case <-more:
					return sink.End(relay.Receipt{})
				case <-ctx.Done():
					close(left)
					return context.Cause(ctx)
				}
			}), func(c *httpapi.Config) {
				source, err := certificate.FromFiles(cert, key, "", time.Now, nil)
				if err != nil {
					t.Fatal(err)
				}
				c.TLS, c.MaxBody = source.Config(), 1<<20
			})
			transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, Protocols: new(http.Protocols)}
			transport.Protocols.SetHTTP1(version == 1)
			transport.Protocols.SetHTTP2(version == 2)
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport}
			ask := func(ctx context.Context, body string) *http.Response {
				t.Helper()
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+n.addr+"/v1/chat/completions", strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Authorization", "Bearer "+n.first.KeyText)
				req.Header.Set("Content-Type", "application/json")
				if len(body) > 1<<20 {
					req.Header.Set("Expect", "100-continue")
				}
				resp, err := client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				if resp.ProtoMajor != version {
					t.Errorf("the answer is of HTTP/%d", resp.ProtoMajor)
				}
				return resp
			}
			whole := func(r *http.Response) string {
				t.Helper()
				defer func() { _ = r.Body.Close() }()
				text, err := io.ReadAll(r.Body)
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			if r := ask(t.Context(), chatBody(false)); r.StatusCode != 200 || !strings.Contains(whole(r), `"choices"`) {
				t.Errorf("whole: %d", r.StatusCode)
			}
			if r := ask(t.Context(), strings.Repeat("x", 2<<20)); r.StatusCode != 413 || !strings.Contains(whole(r), "too_large") {
				t.Errorf("a large body: %d", r.StatusCode)
			}

			gone, leave := context.WithCancel(t.Context())
			r := ask(gone, chatBody(true))
			firstFrame(t, r)
			leave()
			<-left
			_ = r.Body.Close()

			r = ask(t.Context(), chatBody(true))
			rest := firstFrame(t, r)
			drained := make(chan error, 1)
			go func() { drained <- n.server.Drain(context.Background(), 0, time.Minute) }()
			close(more)
			text, err := io.ReadAll(rest)
			if err != nil || !strings.HasSuffix(string(text), "[DONE]\n\n") {
				t.Errorf("a stream in flight at the end of the node: %q %v", text, err)
			}
			_ = r.Body.Close()
			if err := <-drained; err != nil {
				t.Errorf("Drain: %v", err)
			}
			if err := <-n.served; err != nil {
				t.Errorf("Serve: %v", err)
			}
		})
	}
}

// firstFrame reads until the frame with the first part, which is sent while the handler waits.
func firstFrame(t *testing.T, r *http.Response) io.Reader {
	t.Helper()
	lines := bufio.NewReader(r.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, "part") {
			return lines
		}
	}
}
