package httpapi_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// What asks for a WebSocket is told at once, with the one status on which clients go on over HTTP, and the connection ends.
func TestSocketsAreRefused(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	// As Codex 0.118 sends it (qxcnm/Codex-Manager#92).
	const handshake = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOpenAI-Beta: responses_websockets=2026-02-06\r\n"
	for name, c := range map[string]struct {
		path, more string
		status     int
	}{
		"responses":         {"/v1/responses", handshake, 426},
		"with a key":        {"/v1/responses", handshake + "Authorization: Bearer " + n.first.KeyText + "\r\n", 426},
		"capital letters":   {"/v1/responses", strings.Replace(handshake, "websocket\r", "WebSocket\r", 1), 426},
		"another route":     {"/v1/realtime?model=gpt-realtime", handshake, 426},
		"messages":          {"/v1/messages", handshake, 426},
		"no route":          {"/nowhere", handshake, 426},
		"another protocol":  {"/v1/models", "Connection: Upgrade\r\nUpgrade: h2c\r\n", 200},
		"without asking it": {"/v1/responses", "", 405},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := n.dial()
			s.send("GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n", c.path, c.more)
			resp, err := http.ReadResponse(s.r, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != c.status {
				t.Fatalf("%d %s %v", resp.StatusCode, body, err)
			}
			if c.status != 426 {
				return
			}
			if !resp.Close || resp.Header.Get("Upgrade") == "" || !strings.Contains(string(body), "upgrade_refused") {
				t.Errorf("%v %s", resp.Header, body)
			}
			if _, err := s.r.ReadByte(); err != io.EOF {
				t.Errorf("the connection goes on: %v", err)
			}
		})
	}
}
