package httpapi_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/history"
	"weir/internal/httpapi"
	"weir/internal/relay"
	"weir/internal/task"
)

// metric reads one number.
func metric(t *testing.T, n *node, name string) (v float64) {
	t.Helper()
	for _, line := range strings.Split(scrape(t, n), "\n") {
		if text, ok := strings.CutPrefix(line, name+" "); ok {
			if _, err := fmt.Sscan(text, &v); err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

// held is how many bytes the node counts against its budget.
func held(t *testing.T, n *node) float64 { return metric(t, n, "weir_body_bytes") }

// until waits for something that other goroutines bring about. The minutes only prevent a hang.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for by := time.Now().Add(3 * time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(by) {
			t.Fatalf("still not: %s", what)
		}
	}
}

// begin sends the head of a request with that key and a part of its body.
func (n *node) begin(key, path, extra string, length int, part []byte) *socket {
	n.t.Helper()
	s := n.dial()
	s.send("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%sContent-Length: %d\r\n\r\n", path, key, extra, length)
	if _, err := s.Write(part); err != nil {
		n.t.Fatal(err)
	}
	return s
}

func padded(size int) string {
	return `{"model":"acme/small","pad":"` + strings.Repeat("x", size) + `","messages":[{"role":"user","content":"hi"}]}`
}

// Announcing takes nothing: forty clients of one user that announce the largest body and send one byte of it block no other client.
func TestAnnouncedBodiesTakeNothing(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	for range 40 {
		n.begin(n.first.KeyText, "/v1/chat/completions", "", 32<<20, []byte("{"))
	}
	until(t, "all bodies are awaited", func() bool { return held(t, n) >= 40*(16<<10) })
	if h := held(t, n); h > 40*(16<<10) {
		t.Errorf("%.0f bytes are held", h)
	}
	for _, key := range []string{n.first.KeyText, n.newUser("Boris")} {
		if r := n.do("POST", "/v1/chat/completions", padded(5<<20), "Authorization", "Bearer "+key); r.StatusCode != 200 {
			t.Fatalf("status %d: %s", r.StatusCode, r.body)
		}
	}
}

// readsNone are routes that need no body and read none.
var readsNone = map[string]bool{
	"/v1/keys/child/{hash}/stop": true, "/api/agents/{hash}/stop": true,
	"/api/organizations/{id}/invitations/{invitation}/again": true, "/api/organizations/{id}/directory": true,
	"/v1/responses/{id}/cancel": true, "/v1/batches/{id}/cancel": true, "/v1/messages/batches/{id}/cancel": true, "/api/account/webhook-secret": true, "/api/provider-keys/{id}/test": true,
	"/api/notifications/test": true, "/api/unsubscribe/{token}": true, "/api/admin/ledger/check": true, "/api/admin/ledger/aside/{id}/post": true, "/api/admin/users/{id}/block": true,
	"/api/budgets/{id}/restore":     true,
	"/api/admin/users/{id}/unblock": true, "/api/admin/users/{id}/password-link": true, "/api/admin/providers/{id}/test": true, "/api/admin/alerts/channels/{id}/test": true,
	"/api/admin/jobs/{kind}/{id}/retry": true, "/api/admin/users/{id}/see": true, "/api/admin/payments/{id}/check": true, "/api/admin/prices/publications/{id}/cancel": true,
	"/api/admin/prices/publications/{id}/revert": true, "/api/admin/prices/import/fetch": true,
}

// One user's bytes have a bound, and another user is served meanwhile. The bytes of a broken request are given back.
func TestUsersShareOfBodies(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) {
		c.AdminAPI, c.BodyIdle, c.BodyTotal = true, time.Hour, time.Hour // the eight bodies stay open for as long as all routes take
	})
	other, signedIn := n.newUser("Boris"), n.signIn()
	part := bytes.Repeat([]byte(" "), 4<<20+1) // room for four times as much is made at this point
	var open []*socket
	for range 8 {
		open = append(open, n.begin(n.first.KeyText, "/v1/chat/completions", "", 32<<20, part))
	}
	until(t, "the user has its share", func() bool { return held(t, n) == 128<<20 })
	limited(t, n.do("POST", "/v1/chat/completions", chatBody(false)), "max_user_share", itoa(128<<20))
	for _, r := range n.api.Routes() {
		if httpapi.MostBody(n.api, r) == 0 {
			continue
		}
		contentType, key := "application/json", n.first.KeyText
		if strings.HasSuffix(r.Pattern, "transcriptions") || strings.HasSuffix(r.Pattern, "translations") || strings.HasSuffix(r.Pattern, "variations") {
			contentType = "multipart/form-data; boundary=x"
		}
		if strings.HasPrefix(r.Pattern, "/api/") || r.LiteLLM() || strings.HasPrefix(r.Pattern, "/v1/keys") && !strings.HasPrefix(r.Pattern, "/v1/keys/child") {
			key = n.first.ManagementKey
		}
		headers := []string{"Content-Type", contentType, "Authorization", "Bearer " + key}
		switch visitors, people := r.OfPages(); {
		case r.Notified(): // nobody's, and known by the address
			continue
		case visitors: // nobody's yet: their small bodies count by address
			if most := httpapi.MostBody(n.api, r); most > 16<<10 {
				t.Errorf("%s: a visitor may send %d bytes", r.Pattern, most)
			}
			continue
		case people:
			headers = append(signedIn, "Content-Type", contentType)
		}
		path := strings.NewReplacer("{id}", "x", "{hash}", "x").Replace(r.Pattern)
		got := n.do(r.Method, path, "{}", headers...)
		if got.StatusCode != 429 || !strings.Contains(string(got.body), "the memory of one user") {
			t.Errorf("%s %s: status %d: %s", r.Method, r.Pattern, got.StatusCode, got.body)
		}
	}
	for range 3 {
		if r := n.do("POST", "/v1/chat/completions", padded(5<<20), "Authorization", "Bearer "+other); r.StatusCode != 200 {
			t.Fatalf("status %d: %s", r.StatusCode, r.body)
		}
	}
	for _, s := range open {
		_ = s.Close()
	}
	until(t, "all was given back", func() bool { return held(t, n) == 0 })
	if r := n.do("POST", "/v1/chat/completions", chatBody(false)); r.StatusCode != 200 {
		t.Fatalf("status %d: %s", r.StatusCode, r.body)
	}
}

// The largest body of each kind is taken, however small the user's part is, and takes no more memory than it must.
func TestLargestBodyHasRoom(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) { c.MaxBody, c.MaxUserShare, c.BodyBudget = 8<<20, 1, 90<<20 })
	body := padded(8<<20 - len(padded(0)))
	for name, headers := range map[string][]string{
		"length":  nil,
		"chunked": {"Transfer-Encoding", "chunked"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", n.url+"/v1/chat/completions", io.NopCloser(strings.NewReader(body)))
		if err != nil {
			t.Fatal(err)
		}
		if headers == nil {
			req.ContentLength = int64(len(body))
		}
		req.Header.Set("Authorization", "Bearer "+n.first.KeyText)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Errorf("%s: status %d", name, resp.StatusCode)
		}
	}
	until(t, "all was given back", func() bool { return held(t, n) == 0 })
}

// Each route that takes a body asks for a key before it reads one, reads no more than its limit, charges what it reads to the user, and gives it back.
func TestEveryRouteGuardsItsBody(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) { c.AdminAPI, c.FailedAuthPerMinute = true, 1000 })
	seen := 0
	for _, r := range n.api.Routes() {
		if r.Method == "GET" || r.Method == "DELETE" {
			continue
		}
		seen++
		path := strings.NewReplacer("{id}", "resp_x", "{hash}", "x").Replace(r.Pattern)
		t.Run(r.Method+" "+r.Pattern, func(t *testing.T) {
			most := httpapi.MostBody(n.api, r)
			if most <= 0 {
				if !readsNone[r.Pattern] {
					t.Error("a route for writing has no limit of its body")
				}
				return
			}
			s := n.dial()
			s.send("%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{", r.Method, path)
			without := 401
			if visitors, _ := r.OfPages(); visitors {
				without = 403 // it does not come from a page of ours
			}
			if r.Notified() && !strings.HasPrefix(r.Pattern, "/scim/") {
				without = 404 // nobody can pay here
			}
			if strings.HasPrefix(r.Pattern, "/oauth/") {
				without = 403 // others could read the connection
			}
			if got := s.response(); got.StatusCode != without {
				t.Errorf("without a key: status %d", got.StatusCode)
			}
			s = n.dial()
			s.send("%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", r.Method, path, n.first.KeyText, most+1)
			if got := s.response(); got.StatusCode != 413 {
				t.Errorf("larger than the limit: status %d", got.StatusCode)
			}
		})
	}
	if seen < 20 {
		t.Errorf("%d routes were seen", seen)
	}
	if h := held(t, n); h != 0 {
		t.Errorf("%.0f bytes are held", h)
	}
}

// What a provider sends counts for the user until the call has ended: it is not refused, but new bodies of that user are.
func TestAnswersCount(t *testing.T) {
	t.Parallel()
	g := newGate()
	n := start(t, relayFunc(func(ctx context.Context, c *relay.Call, sink relay.Sink) error {
		if c.Request.SessionID == "large" {
			c.Request.Memory.Force(200 << 20)
			return g.Complete(ctx, c, sink)
		}
		return hello(ctx, c, sink)
	}), nil)
	done := make(chan *response)
	go func() { done <- n.do("POST", "/v1/chat/completions", chatBody(false), "X-Session-Id", "large") }()
	<-g.entered
	limited(t, n.do("POST", "/v1/chat/completions", chatBody(false)), "max_user_share", itoa(128<<20))
	if r := n.do("POST", "/v1/chat/completions", padded(5<<20), "Authorization", "Bearer "+n.newUser("Boris")); r.StatusCode != 200 {
		t.Errorf("another user: status %d: %s", r.StatusCode, r.body)
	}
	close(g.leave)
	if r := <-done; r.StatusCode != 200 {
		t.Errorf("status %d", r.StatusCode)
	}
	until(t, "all was given back", func() bool { return held(t, n) == 0 })
}

// nearlyFull has the first user hold all of its share but room bytes, until the test ends.
func nearlyFull(t *testing.T, n *node, g *gate) {
	t.Helper()
	done := make(chan *response)
	go func() { done <- n.do("POST", "/v1/chat/completions", chatBody(false), "X-Session-Id", "large") }()
	<-g.entered
	t.Cleanup(func() {
		close(g.leave)
		<-done
	})
}

// room is what nearlyFull leaves: enough for one small body, and for no answer in addition.
const room = 4 << 10

// filling is a relay whose call with the session "large" leaves its user room bytes and waits at g.
func filling(g *gate) relayFunc {
	return func(ctx context.Context, c *relay.Call, sink relay.Sink) error {
		if c.Request.SessionID == "large" {
			c.Request.Memory.Force(128<<20 - 4<<10 - room) // in addition to its body
			return g.Complete(ctx, c, sink)
		}
		return hello(ctx, c, sink)
	}
}

// A kept answer that is given again costs nothing, so its memory must be within the user's share. It is there when there is room again.
func TestReplaysAreBounded(t *testing.T) {
	t.Parallel()
	g := newGate()
	n := startKept(t, filling(g), 0, nil)
	for name, stream := range map[string]bool{"whole": false, "stream": true} {
		if r := n.do("POST", "/v1/chat/completions", chatBody(stream), named, name); r.StatusCode != 200 {
			t.Fatalf("status %d: %s", r.StatusCode, r.body)
		}
	}
	other := n.newUser("Boris")
	nearlyFull(t, n, g)
	for name, stream := range map[string]bool{"whole": false, "stream": true} {
		limited(t, n.do("POST", "/v1/chat/completions", chatBody(stream), named, name), "max_user_share", itoa(128<<20))
	}
	if r := n.do("POST", "/v1/chat/completions", chatBody(false), named, "whole", "Authorization", "Bearer "+other); r.StatusCode != 200 {
		t.Errorf("another user: status %d: %s", r.StatusCode, r.body)
	}
}

// An answer that was paid for is delivered, but kept for its name only within the user's share.
func TestKeptAnswersAreBounded(t *testing.T) {
	t.Parallel()
	g := newGate()
	over := make(chan bool, 2)
	var n *node
	n = startKept(t, relayFunc(func(ctx context.Context, c *relay.Call, sink relay.Sink) error {
		piece := strings.Repeat("x", 1<<10)
		switch {
		case c.Request.SessionID == "long":
			defer func() { over <- held(t, n) > 128<<20 }()
			return answer(c, sink, slices.Repeat([]string{piece}, 64)...)
		case c.API == "audio.speech":
			defer func() { over <- held(t, n) > 128<<20 }()
			if err := sink.Start(served(c)); err != nil {
				return err
			}
			for range 64 {
				if err := sink.Event(&completion.Event{Result: &task.Result{Audio: &task.AudioPiece{Data: []byte(piece), MediaType: "audio/mpeg"}}}); err != nil {
					return err
				}
			}
			return sink.End(relay.Receipt{})
		}
		return filling(g)(ctx, c, sink)
	}), 0, nil)
	nearlyFull(t, n, g)
	const spoken = `{"model":"acme/small","input":"hi","voice":"alloy"}`
	for _, c := range []struct{ path, body, session string }{
		{"/v1/chat/completions", chatBody(true), "long"}, {"/v1/audio/speech", spoken, ""},
	} {
		if r := n.do("POST", c.path, c.body, named, c.path, "X-Session-Id", c.session); r.StatusCode != 200 || bytes.Count(r.body, []byte("x")) < 64<<10 {
			t.Fatalf("%s: status %d, %d bytes", c.path, r.StatusCode, len(r.body))
		}
		if <-over {
			t.Errorf("%s: more is held than one user may", c.path)
		}
		wantError(t, n.do("POST", c.path, c.body, named, c.path, "X-Session-Id", c.session), 422, fault.IdempotencyNotKept)
	}
}

// The copies that a form of images is decoded into are asked for before they are made.
func TestFormsAreBounded(t *testing.T) {
	t.Parallel()
	g := newGate()
	n := startWith(t, filling(g), nil, nil)
	nearlyFull(t, n, g)
	const form = "--b\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\nHigher\r\n--b--\r\n"
	as := []string{"Content-Type", "multipart/form-data; boundary=b"}
	limited(t, n.do("POST", "/v1/images/edits", form, as...), "max_user_share", itoa(128<<20))
	wantError(t, n.do("POST", "/v1/images/edits", form, append(as, "Authorization", "Bearer "+n.newUser("Boris"))...), 400, fault.Invalid)
}

// The largest form has room although its copies take more than the part of a user, if nothing else of the user is under way.
func TestLargestFormHasRoom(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) { c.MaxUserShare = 1 })
	form := "--b\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\n" + strings.Repeat("x", 60<<20) + "\r\n--b--\r\n"
	if r := n.do("POST", "/v1/images/edits", form, "Content-Type", "multipart/form-data; boundary=b"); r.StatusCode != 400 || !bytes.Contains(r.body, []byte("prompt")) {
		t.Errorf("status %d: %s", r.StatusCode, r.body) // it was read, and there is no model in it
	}
	until(t, "all was given back", func() bool { return held(t, n) == 0 })
}

// largeHistory has one large response under every name.
type largeHistory struct{ httpapi.History }

func (largeHistory) one() history.Response {
	item := []byte(`{"id":"msg_1","type":"message","role":"user","content":"` + strings.Repeat("x", 2*room) + `"}`)
	return history.Response{ID: "resp_1", Status: history.Completed, Object: []byte(`{"id":"resp_1","output":[]}`), Input: item, Output: item}
}

func (s largeHistory) Stores(history.Wish) (bool, error) { return true, nil }

func (s largeHistory) Find(context.Context, string, string) (*history.Response, error) {
	r := s.one()
	return &r, nil
}

func (s largeHistory) Has(context.Context, string, string) (bool, error) { return true, nil }

func (s largeHistory) Cancel(ctx context.Context, account, id string) (*history.Response, error) {
	return s.Find(ctx, account, id)
}

func (s largeHistory) OfItem(ctx context.Context, account, item string) (*history.Response, error) {
	return s.Find(ctx, account, item)
}

func (s largeHistory) Chain(context.Context, string, string) ([]history.Response, error) {
	return []history.Response{s.one()}, nil
}

// What is read of stored responses costs nothing either, on each route that reads them.
func TestStoredResponsesAreBounded(t *testing.T) {
	t.Parallel()
	g := newGate()
	n := startWith(t, filling(g), nil, func(d *httpapi.Deps) { d.History = largeHistory{} })
	other := n.newUser("Boris")
	nearlyFull(t, n, g)
	item := `{"model":"acme/small","store":false,"input":[{"type":"item_reference","id":"msg_1"}]}`
	before := `{"model":"acme/small","store":false,"input":"hi","previous_response_id":"resp_1"}`
	for _, call := range [][3]string{
		{"GET", "/v1/responses/resp_1", ""},
		{"GET", "/v1/responses/resp_1/input_items", ""},
		{"POST", "/v1/responses/resp_1/cancel", ""},
		{"POST", "/v1/responses", item},
		{"POST", "/v1/responses", before},
		{"POST", "/v1/responses/input_tokens", item},
		{"POST", "/v1/responses/input_tokens", before},
	} {
		limited(t, n.do(call[0], call[1], call[2]), "max_user_share", itoa(128<<20))
		if r := n.do(call[0], call[1], call[2], "Authorization", "Bearer "+other); r.StatusCode != 200 {
			t.Errorf("another user: %s %s: status %d: %s", call[0], call[1], r.StatusCode, r.body)
		}
	}
}

// One item that is named often makes no request larger than a body may be, and is read once.
func TestNamedItemsAreBounded(t *testing.T) {
	t.Parallel()
	n := startWith(t, relayFunc(hello), func(c *httpapi.Config) { c.MaxBody = 1 << 20 }, func(d *httpapi.Deps) { d.History = largeHistory{} })
	naming := func(times int) string {
		return `{"model":"acme/small","store":false,"input":[` + strings.TrimSuffix(strings.Repeat(`{"type":"item_reference","id":"msg_1"},`, times), ",") + `]}`
	}
	for _, path := range []string{"/v1/responses", "/v1/responses/input_tokens"} {
		if r := n.do("POST", path, naming(100)); r.StatusCode != 200 {
			t.Errorf("%s: status %d: %s", path, r.StatusCode, r.body)
		}
		wantError(t, n.do("POST", path, naming(200)), 413, fault.PayloadTooLarge)
	}
	until(t, "all was given back", func() bool { return held(t, n) == 0 })
}
