package apptest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// OfSocket ends the names of manners and styles whose requests go through a WebSocket, and behave as the same over HTTP.
const OfSocket = " through a WebSocket"

// SocketPath is the path of such a style.
const SocketPath = "socket"

// Socket is a WebSocket of the responses style.
type Socket struct {
	t    *testing.T
	conn *websocket.Conn
}

// Socket opens a WebSocket; it ends with the test.
func (a *Account) Socket(t *testing.T) *Socket {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	conn, _, err := websocket.Dial(ctx, a.Gw.URL+"/v1/responses", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + a.Key}}})
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(64 << 20)
	s := &Socket{t, conn}
	t.Cleanup(s.Cut)
	return s
}

// Cut ends the connection without a word.
func (s *Socket) Cut() { _ = s.conn.CloseNow() }

// Create asks for a response; members of body other than type and model are the caller's.
func (s *Socket) Create(body Object) {
	s.t.Helper()
	message := Object{"type": "response.create"}
	for name, v := range body {
		message[name] = v
	}
	b, err := json.Marshal(message)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.conn.Write(s.t.Context(), websocket.MessageText, b); err != nil {
		s.t.Fatal(err)
	}
}

// Next reads one event.
func (s *Socket) Next() (Object, error) {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute*Patience)
	defer stop()
	_, b, err := s.conn.Read(ctx)
	if err != nil {
		return nil, err
	}
	var o Object
	if err := json.Unmarshal(b, &o); err != nil {
		s.t.Errorf("%q: %v", b, err)
	}
	return o, nil
}

// Until reads events to the first one of a type, or the last one of the response.
func (s *Socket) Until(kind string) (list []Object) {
	s.t.Helper()
	for {
		o, err := s.Next()
		if err != nil {
			s.t.Fatalf("after %d events: %v", len(list), err)
		}
		switch list = append(list, o); o["type"] {
		case kind, "error", "response.completed", "response.incomplete", "response.failed":
			return list
		}
	}
}

// Ask asks for a response, and returns the answer in the form that it would have as a stream over HTTP.
func (s *Socket) Ask(body Object) *Answer {
	s.t.Helper()
	s.Create(body)
	list := s.Until("")
	got := &Answer{Status: http.StatusOK, Header: http.Header{}, Responses: true}
	if first := list[0]; first["type"] == "error" {
		status, _ := first["status"].(float64)
		e, _ := first["error"].(Object)
		got.Status = int(status)
		got.Header.Set("Content-Type", "application/json")
		got.Body, _ = json.Marshal(Object{"error": Object{"code": status, "message": e["message"], "metadata": e["metadata"], "error_type": e["code"]}})
	}
	head, _ := list[0]["headers"].(Object)
	for name, v := range head {
		got.Header.Set(name, fmt.Sprint(v))
	}
	if got.Status != http.StatusOK {
		return got
	}
	var b strings.Builder
	for _, o := range list {
		data, _ := json.Marshal(o)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", o["type"], data)
	}
	got.Body = []byte(b.String() + "data: [DONE]\n\n")
	return got
}

// AskStyle is Ask for a test that reads answers whole or streamed.
func (s *Socket) AskStyle(body Object, stream bool) *Answer {
	s.t.Helper()
	delete(body, "stream")
	got := s.Ask(body)
	if got.Status == http.StatusOK && !stream {
		got.Body, _ = json.Marshal(got.Response(s.t, true))
	}
	return got
}

// Respond asks for a response, which must come to its end, and returns its object.
func (s *Socket) Respond(body Object) Object {
	s.t.Helper()
	s.Create(body)
	list := s.Until("")
	last := list[len(list)-1]
	o, _ := last["response"].(Object)
	if last["type"] != "response.completed" {
		s.t.Fatalf("%v", last)
	}
	return o
}

// Refused asks for a response, which must be refused with a code.
func (s *Socket) Refused(body Object, code string) {
	s.t.Helper()
	s.Create(body)
	list := s.Until("")
	last := list[len(list)-1]
	if e, _ := last["error"].(Object); last["type"] != "error" || e["code"] != code && code != "" {
		s.t.Errorf("%v; want %s", last, code)
	}
}
