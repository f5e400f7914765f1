package httpapi_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"weir/internal/httpapi"
)

// refusals are requests whose bodies are not read, by the reason of the refusal. The body's framing and the body follow.
func refusals(n *node) map[int]string {
	auth := "Authorization: Bearer " + n.first.KeyText + "\r\n"
	return map[int]string{
		401: "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n",
		403: "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + n.first.ManagementKey + "\r\n",
		404: "POST /nothing HTTP/1.1\r\nHost: x\r\n" + auth,
		405: "PUT /v1/models HTTP/1.1\r\nHost: x\r\n",
		413: "POST /v1/embeddings HTTP/1.1\r\nHost: x\r\n" + auth,
		415: "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Encoding: br\r\n" + auth,
		429: "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n" + auth,
		431: "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nX-Long: " + strings.Repeat("x", 40<<10) + "\r\n",
		503: "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n" + auth,
	}
}

// refuser is a node that refuses with a status what would be served otherwise.
func refuser(t *testing.T, status int) *node {
	n := start(t, relayFunc(hello), func(c *httpapi.Config) {
		switch status {
		case 429:
			c.KeyRates.Requests = 1
		case 503:
			c.MaxInFlight = 0
			c.MaxUserShare = 0
		}
	})
	if status == 429 {
		if r := n.do("POST", "/v1/chat/completions", chatBody(false)); r.StatusCode != 200 {
			t.Fatalf("status %d", r.StatusCode)
		}
	}
	return n
}

const unreadBytes = 9 << 20

// A client that sends all of its body before it reads sees the whole answer of a refusal which left the body unread.
func TestRefusalIsReadAfterALargeBody(t *testing.T) {
	t.Parallel()
	piece := bytes.Repeat([]byte("x"), 64<<10)
	framings := map[string]struct {
		head  string
		write func(io.Writer) error
	}{
		"length": {fmt.Sprintf("Content-Length: %d\r\n\r\n", unreadBytes), func(w io.Writer) error {
			for range unreadBytes / len(piece) {
				if _, err := w.Write(piece); err != nil {
					return err
				}
			}
			return nil
		}},
		"length, last request": {fmt.Sprintf("Connection: close\r\nContent-Length: %d\r\n\r\n", unreadBytes), func(w io.Writer) error {
			for range unreadBytes / len(piece) {
				if _, err := w.Write(piece); err != nil {
					return err
				}
			}
			return nil
		}},
		"chunked": {"Transfer-Encoding: chunked\r\n\r\n", func(w io.Writer) error {
			for range unreadBytes / len(piece) {
				if _, err := fmt.Fprintf(w, "%x\r\n%s\r\n", len(piece), piece); err != nil {
					return err
				}
			}
			_, err := io.WriteString(w, "0\r\n\r\n")
			return err
		}},
	}
	for status := range refusals(refuser(t, 0)) {
		for framing, f := range framings {
			if status == 413 && framing == "chunked" {
				f.head = strings.Replace(f.head, "\r\n\r\n", "\r\nContent-Type: application/json\r\n\r\n", 1)
			}
			t.Run(fmt.Sprint(status, ", ", framing), func(t *testing.T) {
				t.Parallel()
				n := refuser(t, status)
				for range 4 {
					s := n.dial()
					s.send("%s%s", refusals(n)[status], f.head)
					if err := f.write(s); err != nil {
						t.Fatalf("sending the body: %v", err)
					}
					r := s.response()
					if r.StatusCode != status || len(r.body) == 0 {
						t.Fatalf("status %d, %d bytes", r.StatusCode, len(r.body))
					}
					s.closed(3 * time.Minute)
				}
			})
		}
	}
}

// A client cannot keep a connection by sending more: it ends within its time, and its place is free again.
func TestLingeringEnds(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) { c.MaxConns = 1 })
	s := n.dial()
	s.send("POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
	if r := s.response(); r.StatusCode != 404 {
		t.Fatalf("status %d", r.StatusCode)
	}
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_, _ = s.Write([]byte("x"))
			case <-stop:
				return
			}
		}
	}()
	deadline := time.Now().Add(time.Minute)
	for { // the one place is taken until the connection has ended
		if r, err := n.try("GET", "/healthz", ""); err == nil && r.StatusCode == 200 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the connection still has its place")
		}
	}
}
