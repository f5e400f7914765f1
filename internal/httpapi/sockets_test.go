package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/httpapi"
	"weir/internal/relay"
	"weir/internal/usage"
)

// handshake is as Codex 0.118 sends it (qxcnm/Codex-Manager#92).
const handshake = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOpenAI-Beta: responses_websockets=2026-02-06\r\n"

func withoutSockets(c *httpapi.Config) { c.WebSockets = false }

// TestSocketsAreRefused answers upgrades that are not served at once, with the one status on which clients go on over HTTP, and closes the connection. A malformed
// handshake gets an error that names what is wrong.
func TestSocketsAreRefused(t *testing.T) {
	t.Parallel()
	with, without := start(t, relayFunc(hello), nil), start(t, relayFunc(hello), withoutSockets)
	strict := start(t, relayFunc(hello), func(c *httpapi.Config) { c.CORS = false })
	replaced := func(old, by string) string { return strings.Replace(handshake, old, by, 1) }
	for name, c := range map[string]struct {
		n          *node
		path, more string
		status     int
		says       string
	}{
		"switched off":              {without, "/v1/responses", handshake, 426, "upgrade_refused"},
		"switched off, with a key":  {without, "/v1/responses", handshake + "KEY", 426, "upgrade_refused"},
		"capital letters":           {without, "/v1/responses", replaced("websocket\r", "WebSocket\r"), 426, "upgrade_refused"},
		"another route":             {with, "/v1/realtime?model=gpt-realtime", handshake, 426, "upgrade_refused"},
		"messages":                  {with, "/v1/messages", handshake, 426, "upgrade_refused"},
		"one response":              {with, "/v1/responses/resp_1", handshake + "KEY", 426, "upgrade_refused"},
		"no route":                  {with, "/nowhere", handshake, 426, "upgrade_refused"},
		"another protocol":          {with, "/v1/models", "Connection: Upgrade\r\nUpgrade: h2c\r\n", 200, ""},
		"without asking it":         {with, "/v1/responses", "KEY", 405, "method_not_allowed"},
		"no key":                    {with, "/v1/responses", handshake, 401, "authentication"},
		"a wrong key":               {with, "/v1/responses", handshake + "Authorization: Bearer sk-weir-v1-nothing\r\n", 401, "authentication"},
		"a management key":          {with, "/v1/responses", handshake + "MANAGEMENT", 403, "permission_denied"},
		"an old version":            {with, "/v1/responses", replaced("Version: 13", "Version: 8") + "KEY", 400, "Sec-WebSocket-Version must be 13"},
		"a short nonce":             {with, "/v1/responses", replaced("dGhlIHNhbXBsZSBub25jZQ==", "YQ==") + "KEY", 400, "Sec-WebSocket-Key must be"},
		"a proxy took the token":    {with, "/v1/responses", replaced("Connection: Upgrade\r\n", "") + "KEY", 400, "Connection: Upgrade"},
		"a page of another origin":  {strict, "/v1/responses", handshake + "Origin: https://elsewhere.example\r\nKEY", 403, "server.cors"},
		"a page without an address": {strict, "/v1/responses", handshake + "Origin: null\r\nKEY", 403, "server.cors"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := c.n.dial()
			more := strings.NewReplacer("KEY", "Authorization: Bearer "+c.n.first.KeyText+"\r\n", "MANAGEMENT", "Authorization: Bearer "+c.n.first.ManagementKey+"\r\n").Replace(c.more)
			s.send("GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n", c.path, more)
			resp, err := http.ReadResponse(s.r, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != c.status || !strings.Contains(string(body), c.says) {
				t.Fatalf("%d %s %v", resp.StatusCode, body, err)
			}
			if c.status != 426 {
				return
			}
			if !resp.Close || resp.Header.Get("Upgrade") == "" {
				t.Errorf("%v %s", resp.Header, body)
			}
			if _, err := s.r.ReadByte(); err != io.EOF {
				t.Errorf("the connection goes on: %v", err)
			}
		})
	}
}

// talk is a WebSocket of a client.
type talk struct {
	t testing.TB
	*websocket.Conn
}

// open opens a WebSocket at a node; headers are pairs.
func (n *node) open(headers ...string) *talk {
	n.t.Helper()
	k, err := n.tryOpen(headers...)
	if err != nil {
		n.t.Fatal(err)
	}
	return k
}

func (n *node) tryOpen(headers ...string) (*talk, error) {
	h := http.Header{"Authorization": {"Bearer " + n.first.KeyText}}
	for i := 0; i < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	c, resp, err := websocket.Dial(ctx, n.url+"/v1/responses", &websocket.DialOptions{HTTPHeader: h})
	if err != nil {
		if resp != nil {
			return nil, fmt.Errorf("%d: %w", resp.StatusCode, err)
		}
		return nil, err
	}
	c.SetReadLimit(64 << 20)
	n.t.Cleanup(func() { _ = c.CloseNow() })
	return &talk{n.t, c}, nil
}

func (k *talk) say(message string) {
	k.t.Helper()
	if err := k.Write(context.Background(), websocket.MessageText, []byte(message)); err != nil {
		k.t.Fatalf("%s: %v", message, err)
	}
}

// next reads one event; it fails with the close of the socket.
func (k *talk) next() (map[string]any, error) {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	kind, b, err := k.Read(ctx)
	if err != nil {
		return nil, err
	}
	if kind != websocket.MessageText {
		k.t.Errorf("a message of kind %v", kind)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		k.t.Errorf("%q: %v", b, err)
	}
	return m, nil
}

// listen reads events to the last one of a response, or an error.
func (k *talk) listen() (list []map[string]any) {
	k.t.Helper()
	for {
		m, err := k.next()
		if err != nil {
			k.t.Fatalf("after %d events: %v", len(list), err)
		}
		list = append(list, m)
		switch m["type"] {
		case "error", "response.completed", "response.incomplete", "response.failed":
			return list
		}
	}
}

// ask is say and listen; it returns the last event.
func (k *talk) ask(message string) map[string]any {
	k.t.Helper()
	k.say(message)
	list := k.listen()
	return list[len(list)-1]
}

// wantClose reads until the node closes the socket with a code.
func (k *talk) wantClose(code websocket.StatusCode) {
	k.t.Helper()
	for {
		if _, err := k.next(); err != nil {
			if got := websocket.CloseStatus(err); got != code {
				k.t.Errorf("closed with %d, want %d: %v", got, code, err)
			}
			return
		}
	}
}

// create is a message that asks for a response; more are members.
func create(more string) string {
	return `{"type":"response.create","model":"acme/small","store":false,"input":"hi"` + more + `}`
}

// wantSaid checks an error event.
func wantSaid(t testing.TB, m map[string]any, status int, code string) {
	t.Helper()
	if m["type"] != "error" || m["status"] != float64(status) || at(m, "error", "code") != code || at(m, "error", "message") == "" {
		t.Errorf("%v; want %d %s", m, status, code)
	}
}

func wantStatus(t testing.TB, m map[string]any, status string) (id string) {
	t.Helper()
	if at(m, "response", "status") != status {
		t.Errorf("%v; want %s", m, status)
	}
	id, _ = at(m, "response", "id").(string)
	return id
}

// The messages of a socket are the events of the stream over HTTP, one by one.
func TestSocketHasTheEventsOfTheStream(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	over := frames(n.do("POST", "/v1/responses", `{"model":"acme/small","store":false,"input":"hi","stream":true}`).body)
	k := n.open()
	for range 2 { // one after the other on one socket
		k.say(create(""))
		through := k.listen()
		if len(through) != len(over)-1 || over[len(over)-1] != "[DONE]" { // sockets have no end mark
			t.Fatalf("%d events, %d over HTTP", len(through), len(over))
		}
		for i := range through {
			var m map[string]any
			if i == 0 && !strings.HasPrefix(fmt.Sprint(at(through[0], "headers", "x-generation-id")), "gen-") {
				t.Errorf("%v", through[0])
			}
			delete(through[i], "headers") // of the answer over HTTP
			if err := json.Unmarshal([]byte(over[i]), &m); err != nil || m["type"] != through[i]["type"] || m["sequence_number"] != through[i]["sequence_number"] || len(m) != len(through[i]) {
				t.Errorf("%v\n%v", through[i], m)
			}
		}
		wantStatus(t, through[len(through)-1], "completed")
	}
	log := n.logged()
	if strings.Count(log, `"socket_id":"req_`) != 2 || strings.Count(log, `"status":101`) != 1 {
		t.Errorf("%s", log)
	}
	if m := scrape(t, n); !strings.Contains(m, "weir_websockets 1") {
		t.Errorf("%s", m)
	}
}

// What a message gets wrong is answered with an error event that names it, and the socket goes on.
func TestSocketMessages(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	for name, c := range map[string]struct {
		message string
		status  int
		code    string
		param   any
	}{
		"no JSON":                {`{"type":`, 400, "invalid_request", nil},
		"empty":                  {``, 400, "invalid_request", nil},
		"a list":                 {`[]`, 400, "invalid_request", nil},
		"no type":                {`{"model":"acme/small"}`, 400, "invalid_request", "type"},
		"an unknown type":        {`{"type":"response.cancel"}`, 400, "invalid_request", "type"},
		"in the background":      {create(`,"background":true`), 400, "invalid_request", "background"},
		"a strange stream":       {create(`,"stream_id":""`), 400, "invalid_request", "stream_id"},
		"no model":               {`{"type":"response.create","input":"hi"}`, 400, "invalid_request", "model"},
		"no input":               {`{"type":"response.create","model":"acme/small"}`, 400, "invalid_prompt", "input"},
		"an unknown response":    {create(`,"previous_response_id":"resp_1"`), 400, "previous_response_not_found", "previous_response_id"},
		"a warm-up of nothing":   {`{"type":"response.create","model":"acme/none","input":"hi","generate":false}`, 404, "model_not_found", "model"},
		"a wrong field":          {create(`,"temperature":7`), 400, "invalid_request", "temperature"},
		"a name twice":           {create(`,"model":"acme/small"`), 400, "duplicate_key", "model"},
		"stream is the socket's": {create(`,"stream":false,"background":false`), 0, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := n.open()
			m := k.ask(c.message)
			if c.status > 0 {
				wantSaid(t, m, c.status, c.code)
				if at(m, "error", "param") != c.param || !strings.HasPrefix(fmt.Sprint(at(m, "headers", "x-request-id")), "req_") {
					t.Errorf("%v", m)
				}
			}
			wantStatus(t, k.ask(create("")), "completed")
			if err := k.Write(t.Context(), websocket.MessageBinary, []byte(create(""))); err != nil {
				t.Fatal(err)
			}
			wantSaid(t, k.listen()[0], 400, "invalid_request")
			k.say(`{"type":"response.processed","response_id":"resp_1"}`) // Codex says it, and waits for nothing
			wantStatus(t, k.ask(create("")), "completed")
		})
	}
}

// heard is a relay that notes the conversations it was asked to go on with, and answers with a text.
type heard struct {
	mu    sync.Mutex
	texts []string // of whole conversations
	fail  atomic.Bool
}

func (h *heard) Complete(ctx context.Context, c *relay.Call, sink relay.Sink) error {
	h.mu.Lock()
	h.texts = append(h.texts, string(c.Request.History)+string(c.Request.Body[c.Request.MessagesAt.Start:c.Request.MessagesAt.End]))
	h.mu.Unlock()
	return relayFunc(func(ctx context.Context, c *relay.Call, sink relay.Sink) error {
		if h.fail.Load() {
			return fault.New(fault.Invalid, "test", "The provider refuses it.")
		}
		return answer(c, sink, "the answer is ", c.Generation)
	}).Complete(ctx, c, sink)
}

// last is the newest conversation.
func (h *heard) last() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.texts[len(h.texts)-1]
}

// A response is continued on its socket without being stored, several times and twice from the same one; it is not continued elsewhere.
func TestSocketContinues(t *testing.T) {
	t.Parallel()
	h := &heard{}
	n := start(t, h, nil)
	k := n.open()
	said := func(id, text string) string {
		return fmt.Sprintf(`{"type":"response.create","model":"acme/small","store":false,"input":%q,"previous_response_id":%q}`, text, id)
	}
	first := wantStatus(t, k.ask(`{"type":"response.create","model":"acme/small","store":false,"input":"one"}`), "completed")
	second := wantStatus(t, k.ask(said(first, "two")), "completed")
	m := k.ask(said(second, "three"))
	third := wantStatus(t, m, "completed")
	if at(m, "response", "previous_response_id") != second || at(m, "response", "store") != false {
		t.Errorf("%v", m)
	}
	inOrder := func(texts ...string) {
		t.Helper()
		rest := h.last()
		for _, text := range texts {
			_, after, ok := strings.Cut(rest, text)
			if !ok {
				t.Fatalf("%q is missing, or in another place, in %s", text, h.last())
			}
			rest = after
		}
	}
	inOrder("one", "the answer is gen-", "two", "the answer is gen-", "three")
	wantStatus(t, k.ask(said(first, "fork")), "completed")
	if inOrder("one", "the answer is gen-", "fork"); strings.Contains(h.last(), "two") {
		t.Errorf("%s", h.last())
	}
	other := n.open()
	wantSaid(t, other.ask(said(third, "four")), 400, "previous_response_not_found")
	wantStatus(t, other.ask(create("")), "completed")
	r := n.do("POST", "/v1/responses", fmt.Sprintf(`{"model":"acme/small","input":"hi","previous_response_id":%q}`, third))
	wantError(t, r, 400, fault.PreviousNotFound)
	h.fail.Store(true)
	wantSaid(t, k.ask(said(third, "bad")), 400, "invalid_request")
	h.fail.Store(false)
	wantSaid(t, k.ask(said(third, "four")), 400, "previous_response_not_found") // a failed one evicts what it continued
	wantStatus(t, k.ask(said(second, "another third")), "completed")
	_ = k.CloseNow()
	awaitMetric(t, n, "weir_websockets 1") // other's
	_ = other.CloseNow()
	awaitMetric(t, n, "weir_websockets 0")
	awaitMetric(t, n, "weir_websocket_bytes 0")
	awaitMetric(t, n, "weir_body_bytes 0")
}

// awaitMetric waits for a line of the metrics.
func awaitMetric(t testing.TB, n *node, line string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !strings.Contains(scrape(t, n), line+"\n"); {
		if time.Now().After(end) {
			t.Fatalf("%s is not there: %s", line, scrape(t, n))
		}
		<-time.After(time.Millisecond)
	}
}

// Keeping responses has a bound for each user: beyond it they cannot be continued, and nothing else happens.
func TestSocketKeepsWithinItsBound(t *testing.T) {
	t.Parallel()
	n := start(t, &heard{}, func(c *httpapi.Config) { c.BodyBudget = 64 << 10 }) // an eighth of it for each user
	k := n.open()
	long := strings.Repeat("x", 10<<10)
	id := wantStatus(t, k.ask(fmt.Sprintf(`{"type":"response.create","model":"acme/small","store":false,"input":%q}`, long)), "completed")
	wantSaid(t, k.ask(create(fmt.Sprintf(`,"previous_response_id":%q`, id))), 400, "previous_response_not_found")
	boris := n.open("Authorization", "Bearer "+n.newUser("Boris"))
	for range 40 { // what is not continued any more makes room
		id = wantStatus(t, k.ask(fmt.Sprintf(`{"type":"response.create","model":"acme/small","store":false,"input":%q}`, long[:300])), "completed")
	}
	wantStatus(t, k.ask(create(fmt.Sprintf(`,"previous_response_id":%q`, id))), "completed")
	theirs := wantStatus(t, boris.ask(create("")), "completed") // another user has their own room
	wantStatus(t, boris.ask(create(fmt.Sprintf(`,"previous_response_id":%q`, theirs))), "completed")
}

// A warm-up asks no provider, costs nothing, and can be continued.
func TestSocketWarmsUp(t *testing.T) {
	t.Parallel()
	h := &heard{}
	n := start(t, h, nil)
	k := n.open()
	k.say(`{"type":"response.create","model":"acme/small","generate":false,"instructions":"Be kind.","input":[{"type":"message","role":"user","content":"remember this"}],"tools":[]}`)
	list := k.listen()
	last := list[len(list)-1]
	id := wantStatus(t, last, "completed")
	if len(list) != 3 || list[0]["type"] != "response.created" || len(at(last, "response", "output").([]any)) != 0 || at(last, "response", "usage", "total_tokens") != 0.0 {
		t.Errorf("%v", list)
	}
	if len(h.texts) != 0 {
		t.Fatal("the relay was asked")
	}
	wantStatus(t, k.ask(fmt.Sprintf(`{"type":"response.create","model":"acme/small","store":false,"generate":true,"input":[],"previous_response_id":%q}`, id)), "completed") // as Codex goes on
	if !strings.Contains(h.last(), "remember this") {
		t.Errorf("%s", h.last())
	}
	if log := n.logged(); strings.Count(log, `"cost_nano":0`) != strings.Count(log, `"cost_nano":`) {
		t.Errorf("%s", log)
	}
}

// TestSocketQueues answers messages that come while another is answered, one at a time and in the order in which they came, as OpenAI's WebSocket mode does.
// No more wait than there is room for.
func TestSocketQueues(t *testing.T) {
	t.Parallel()
	begun, leave := make(chan string), make(chan struct{})
	var running atomic.Int64
	n := start(t, relayFunc(func(_ context.Context, c *relay.Call, sink relay.Sink) error {
		if running.Add(1) != 1 {
			t.Error("two responses at a time")
		}
		defer running.Add(-1)
		begun <- c.Request.User
		<-leave
		return answer(c, sink, "slow")
	}), nil)
	k := n.open()
	message := func(i int) string { return create(fmt.Sprintf(`,"stream_id":"s%d","user":"u%d"`, i%3, i)) }
	k.say(message(0))
	if got := <-begun; got != "u0" {
		t.Fatal(got)
	}
	k.say(`{"type":"response.processed","response_id":"resp_1"}`)
	for i := range 16 {
		k.say(message(i + 1))
	}
	wantSaid(t, k.ask(message(17)), 409, "response_in_progress")
	for i := range 17 {
		if i > 0 {
			if got := <-begun; got != fmt.Sprintf("u%d", i) {
				t.Errorf("message %d: %s", i, got)
			}
		}
		leave <- struct{}{}
		list := k.listen()
		wantStatus(t, list[len(list)-1], "completed")
		for _, m := range list {
			if m["stream_id"] != fmt.Sprintf("s%d", i%3) {
				t.Errorf("message %d: %v", i, m)
			}
		}
	}
	k.say(message(18))
	<-begun
	k.say(`{"type":"response.create"}`) // is refused when it is its turn, and what follows is answered
	k.say(message(19))
	leave <- struct{}{}
	k.listen()
	if list := k.listen(); at(list[0], "error", "type") != "invalid_request_error" || at(list[0], "status") != 400.0 {
		t.Errorf("%v", list)
	}
	<-begun
	leave <- struct{}{}
	list := k.listen()
	wantStatus(t, list[len(list)-1], "completed")
}

// TestSocketQueueEnds drops what waits when the client goes: nothing of it is asked.
func TestSocketQueueEnds(t *testing.T) {
	t.Parallel()
	begun, ended := make(chan struct{}, 10), make(chan struct{})
	n := start(t, relayFunc(func(ctx context.Context, _ *relay.Call, _ relay.Sink) error {
		begun <- struct{}{}
		<-ctx.Done()
		defer close(ended)
		return fault.New(fault.Canceled, "test", "gone")
	}), nil)
	k := n.open()
	k.say(create(""))
	<-begun
	k.say(create(""))
	k.say(create(""))
	_ = k.CloseNow()
	<-ended
	awaitMetric(t, n, "weir_websockets 0")
	if len(begun) != 0 {
		t.Error("a message was answered whose client is gone")
	}
}

// A key that is switched off ends its sockets with their next message.
func TestSocketOfADisabledKey(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	key, text, err := n.keys.Create(t.Context(), apikey.NewKey{Name: "x", User: n.first.User.ID}, audit.Actor{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	k := n.open("Authorization", "Bearer "+text)
	wantStatus(t, k.ask(create("")), "completed")
	yes := true
	if _, err := n.keys.Change(t.Context(), "", key.Hash, apikey.Change{Disabled: &yes}, audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	wantSaid(t, k.ask(create("")), 401, "authentication")
	k.wantClose(websocket.StatusPolicyViolation)
}

// A socket ends when its longest time is over, with the error that clients know, and lets a response end before.
func TestSocketLife(t *testing.T) {
	t.Parallel()
	begun, leave := make(chan struct{}), make(chan struct{})
	n := start(t, relayFunc(func(_ context.Context, c *relay.Call, sink relay.Sink) error {
		close(begun)
		<-leave
		return answer(c, sink, "slow")
	}), func(c *httpapi.Config) { c.SocketLife = 2 * time.Second })
	idle, busy := n.open(), n.open()
	busy.say(create(""))
	<-begun
	wantSaid(t, idle.listen()[0], 400, "websocket_connection_limit_reached")
	idle.wantClose(websocket.StatusGoingAway)
	close(leave)
	list := busy.listen()
	wantStatus(t, list[len(list)-1], "completed")
	wantSaid(t, busy.listen()[0], 400, "websocket_connection_limit_reached")
	busy.wantClose(websocket.StatusGoingAway)
}

// Limits are those of requests over HTTP, and sockets have one of their own.
func TestSocketLimits(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) { c.MaxSocketsByUser, c.KeyRates.Requests = 2, 3 })
	k := n.open()
	for range 3 {
		wantStatus(t, k.ask(create("")), "completed")
	}
	m := k.ask(create(""))
	wantSaid(t, m, 429, "rate_limit_exceeded")
	if at(m, "error", "type") != "rate_limit_error" || at(m, "headers", "retry-after") == nil || at(m, "error", "metadata", "limited_by") != "requests_per_minute" {
		t.Errorf("%v", m)
	}
	second := n.open()
	if _, err := n.tryOpen(); err == nil || !strings.HasPrefix(err.Error(), "429") {
		t.Errorf("a third socket: %v", err)
	}
	other := n.open("Authorization", "Bearer "+n.newUser("Boris"))
	wantStatus(t, other.ask(create("")), "completed")
	_ = second.CloseNow()
	awaitMetric(t, n, "weir_websockets 2")
	n.open()
	if _, err := n.tryOpen(); err == nil {
		t.Error("a third socket")
	}
}

// A message that is larger than a body may be is refused as a body is, and the socket ends.
func TestSocketMessageTooLarge(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) { c.MaxBody = 8 << 10 })
	for name, size := range map[string]int{"a little": 9 << 10, "much": 4 << 20} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := n.open()
			wantStatus(t, k.ask(create("")), "completed")
			_ = k.Write(t.Context(), websocket.MessageText, bytes.Repeat([]byte(" "), size)) // the node may close before it has come whole
			if size < 1<<20 {
				wantSaid(t, k.listen()[0], 413, "payload_too_large")
			}
			k.wantClose(websocket.StatusMessageTooBig)
		})
	}
}

// A client that floods a socket with what asks for nothing is thrown out.
func TestSocketFloods(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	begun := make(chan struct{})
	held := start(t, relayFunc(func(ctx context.Context, _ *relay.Call, _ relay.Sink) error {
		close(begun)
		<-ctx.Done()
		return fault.New(fault.Canceled, "test", "")
	}), nil)
	for name, flood := range map[string]func(*talk) error{
		"pings": func(k *talk) error {
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			go func() { _, _, _ = k.Read(ctx) }() // takes the pongs
			return k.Ping(ctx)
		},
		"binary": func(k *talk) error { return k.Write(t.Context(), websocket.MessageBinary, []byte("x")) },
		"acknowledgements": func(k *talk) error {
			return k.Write(t.Context(), websocket.MessageText, []byte(`{"type":"response.processed"}`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := n.open()
			for i := 0; flood(k) == nil; i++ {
				if i > 100_000 {
					t.Fatal("no end")
				}
			}
		})
	}
	t.Run("while a response is under way", func(t *testing.T) {
		t.Parallel()
		k := held.open()
		k.say(create(""))
		<-begun
		for i := 0; k.Write(t.Context(), websocket.MessageText, []byte(create(""))) == nil; i++ {
			if i > 100_000 {
				t.Fatal("no end")
			}
		}
		awaitMetric(t, held, "weir_websockets 0") // and what was under way has been stopped
		awaitMetric(t, held, "weir_calls_in_flight 0")
	})
}

// A client that leaves stops the response that is made for it; one that reads nothing does so, too, after a while.
func TestSocketClientGone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stall time.Duration
		leave func(*talk)
	}{
		"without a word": {30 * time.Second, func(k *talk) { _ = k.CloseNow() }},
		"with a word":    {30 * time.Second, func(k *talk) { _ = k.Close(websocket.StatusNormalClosure, "") }},
		"reads nothing":  {200 * time.Millisecond, func(*talk) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun, ended := make(chan struct{}), make(chan error, 1)
			n := start(t, relayFunc(func(ctx context.Context, c *relay.Call, sink relay.Sink) error {
				if err := sink.Start(served(c)); err != nil {
					return err
				}
				close(begun)
				text := bytes.Repeat([]byte("x"), 64<<10)
				for {
					if err := sink.Event(&completion.Event{Text: text}); err != nil {
						ended <- err
						return fault.New(fault.Canceled, "test", "").Because(err)
					}
					if ctx.Err() != nil {
						ended <- context.Cause(ctx)
						return fault.New(fault.Canceled, "test", "")
					}
				}
			}), func(c2 *httpapi.Config) { c2.WriteStall = c.stall })
			k := n.open()
			k.say(create(""))
			<-begun
			c.leave(k)
			<-ended
			awaitMetric(t, n, "weir_websockets 0")
			awaitMetric(t, n, "weir_calls_in_flight 0")
		})
	}
}

// A drain closes idle sockets so that their clients come back elsewhere, lets responses end, and cuts what is left with an error.
func TestSocketsDrain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		within time.Duration
		ends   bool
	}{"in time": {time.Minute, true}, "cut": {50 * time.Millisecond, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun, leave := make(chan struct{}), make(chan struct{})
			n := start(t, relayFunc(func(ctx context.Context, c *relay.Call, sink relay.Sink) error {
				_ = sink.Start(served(c))
				_ = sink.Event(&completion.Event{Text: []byte("part")})
				close(begun)
				select {
				case <-leave:
					_ = sink.Event(&completion.Event{Finish: completion.Stop})
					return sink.End(relay.Receipt{Usage: usage.Usage{Prompt: usage.Of(3), Completion: usage.Of(4)}})
				case <-ctx.Done():
					var f *fault.Error
					if errors.As(context.Cause(ctx), &f) {
						return f
					}
					return context.Cause(ctx)
				}
			}), nil)
			idle, busy := n.open(), n.open()
			busy.say(create(""))
			<-begun
			drained := make(chan error, 1)
			go func() { drained <- n.server.Drain(context.Background(), 0, c.within) }()
			idle.wantClose(websocket.StatusServiceRestart)
			if c.ends {
				close(leave)
			}
			list := busy.listen()
			last := list[len(list)-1]
			if c.ends {
				wantStatus(t, last, "completed")
			} else if wantStatus(t, last, "failed"); at(last, "response", "error_type") != "draining" {
				t.Errorf("%v", last)
			}
			busy.wantClose(websocket.StatusServiceRestart)
			if err := <-drained; c.ends != (err == nil) {
				t.Errorf("Drain: %v", err)
			}
			if n.server.Sockets() != 0 {
				t.Error("sockets are left")
			}
		})
	}
}

// A handler that panics costs its socket, and nothing else.
func TestSocketPanics(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(func(context.Context, *relay.Call, relay.Sink) error { panic("test") }), nil)
	k := n.open()
	wantSaid(t, k.ask(create("")), 500, "server")
	wantSaid(t, k.ask(create("")), 500, "server")
	if !strings.Contains(scrape(t, n), "weir_panics_total 2") {
		t.Error("panics are not counted")
	}
}

// A page of another origin may open a socket where the API is for such pages, and with a key alone.
func TestSocketOrigins(t *testing.T) {
	t.Parallel()
	open := start(t, relayFunc(hello), nil)
	wantStatus(t, open.open("Origin", "https://elsewhere.example").ask(create("")), "completed")
	strict := start(t, relayFunc(hello), func(c *httpapi.Config) { c.CORS = false })
	wantStatus(t, strict.open("Origin", strict.url).ask(create("")), "completed")
	cookie := open.signIn()
	if _, err := open.tryOpen(append(slices.Clone(cookie), "Authorization", "")...); err == nil || !strings.HasPrefix(err.Error(), "401") {
		t.Errorf("a cookie opened a socket: %v", err)
	}
}

// Frames that come with the handshake, in one packet, are not lost.
func TestSocketFramesWithTheHandshake(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	message := create("")
	frame := []byte{0x81, 0x80 | byte(len(message)), 0, 0, 0, 0} // masked with zeros
	if len(message) > 125 {
		t.Fatal("it needs a longer length")
	}
	s := n.dial()
	s.send("GET /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%s\r\n%s%s", n.first.KeyText, handshake, frame, message)
	resp, err := http.ReadResponse(s.r, nil)
	if err != nil || resp.StatusCode != 101 {
		t.Fatalf("%v %v", resp, err)
	}
	var got []byte
	for b := make([]byte, 4096); !bytes.Contains(got, []byte("response.completed")); {
		m, err := s.r.Read(b)
		if err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		got = append(got, b[:m]...)
	}
}
