package httpapi_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/batch"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/httpapi"
	"weir/internal/idempotency"
	"weir/internal/relay"
	"weir/internal/store/sqlite"
	"weir/internal/store/sqlite/sqlitetest"
)

// startKept is start with a store for named requests.
func startKept(t testing.TB, r httpapi.Completer, maxBytes int, edit func(*httpapi.Config)) *node {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlitetest.New(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	named := idempotency.Default(time.Now)
	named.Node, named.Life, named.StoreFor = "n", "1", 60*time.Second
	if maxBytes > 0 {
		named.MaxBytes = maxBytes
	}
	named.Settled = func(context.Context, string, string) (bool, error) { return false, nil }
	named.Report = func(what string, err error) { t.Errorf("%s: %v", what, err) }
	m := idempotency.New(store.Pages, named)
	return startAll(t, r, edit, func(d *httpapi.Deps) { d.Idempotency = m }, emptyReports)
}

// counted counts the calls of a relay.
type counted struct {
	relay httpapi.Completer
	n     atomic.Int64
}

func (c *counted) Complete(ctx context.Context, call *relay.Call, sink relay.Sink) error {
	c.n.Add(1)
	return c.relay.Complete(ctx, call, sink)
}

const named = "Idempotency-Key"

func TestNamedRequestsAreAnsweredOnce(t *testing.T) {
	t.Parallel()
	r := &counted{relay: relayFunc(hello)}
	n := startKept(t, r, 0, nil)
	for name, stream := range map[string]bool{"whole": false, "stream": true} {
		before := r.n.Load()
		first := n.do("POST", "/v1/chat/completions", chatBody(stream), named, name)
		again := n.do("POST", "/v1/chat/completions", chatBody(stream), named, name, "Authorization", "Bearer "+n.newKey()) // another key of the same user
		if first.StatusCode != 200 || again.StatusCode != 200 || !bytes.Equal(first.body, again.body) || len(first.body) == 0 {
			t.Fatalf("%s: %d %q, then %d %q", name, first.StatusCode, first.body, again.StatusCode, again.body)
		}
		for _, h := range []string{"Content-Type", "X-Generation-Id", "Cache-Control", "X-Accel-Buffering"} {
			if first.Header.Get(h) != again.Header.Get(h) {
				t.Errorf("%s: %s is %q, then %q", name, h, first.Header.Get(h), again.Header.Get(h))
			}
		}
		if first.Header.Get("Idempotent-Replayed") != "" || again.Header.Get("Idempotent-Replayed") != "true" || first.Header.Get("X-Request-Id") == again.Header.Get("X-Request-Id") {
			t.Errorf("%s: headers %v, then %v", name, first.Header, again.Header)
		}
		if r.n.Load() != before+1 {
			t.Errorf("%s: %d calls", name, r.n.Load()-before)
		}
		wantError(t, n.do("POST", "/v1/chat/completions", strings.Replace(chatBody(stream), "hi", "ho", 1), named, name), 422, fault.IdempotencyMismatch)
		other := n.do("POST", "/v1/chat/completions", chatBody(stream), named, name, "Authorization", "Bearer "+n.newUser(name))
		if other.StatusCode != 200 || other.Header.Get("X-Generation-Id") == first.Header.Get("X-Generation-Id") {
			t.Errorf("%s: another user got the first one's answer", name)
		}
	}
	if fs := frames(n.do("POST", "/v1/chat/completions", chatBody(true), named, "stream").body); len(fs) < 3 || fs[len(fs)-1] != "[DONE]" {
		t.Errorf("the stream again: %q", fs)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	n := startKept(t, relayFunc(hello), 0, nil)
	for name, status := range map[string]int{"": 200, "a": 200, strings.Repeat("x", 255): 200, strings.Repeat("x", 256): 400, "a\tb": 400, "ключ": 400} {
		if r := n.do("POST", "/v1/chat/completions", chatBody(false), named, name); r.StatusCode != status {
			t.Errorf("%q: %d %s", name, r.StatusCode, r.body)
		}
	}
	body := chatBody(false)
	s := n.dial()
	s.send("%s", n.head("Idempotency-Key: a\r\nIdempotency-Key: b\r\nContent-Length: "+itoa(len(body))+"\r\n\r\n"+body))
	wantError(t, s.response(), 400, fault.Invalid)
	s = n.dial()
	s.send("%s", n.head("Idempotency-Key:\r\nContent-Length: "+itoa(len(body))+"\r\n\r\n"+body))
	wantError(t, s.response(), 400, fault.Invalid)
	if r := n.do("GET", "/v1/models", "", named, strings.Repeat("x", 999)); r.StatusCode != 200 {
		t.Errorf("a route that costs nothing: %d", r.StatusCode)
	}
}

// Which results are kept: what would be the same again.
func TestWhichResultsAreKept(t *testing.T) {
	t.Parallel()
	for kind, kept := range map[fault.Kind]bool{
		fault.Invalid: true, fault.ModelNotFound: true, fault.NoEndpoints: true, fault.ContentPolicy: true, fault.ContextLength: true,
		fault.PaymentRequired: false, fault.RateLimited: false, fault.ProviderUnavailable: false, fault.Timeout: false, fault.Internal: false, fault.StorageUnavailable: false,
	} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			r := &counted{relay: relayFunc(func(context.Context, *relay.Call, relay.Sink) error { return fault.New(kind, "test", "A sentence.") })}
			n := startKept(t, r, 0, nil)
			for _, stream := range []bool{false, true} {
				before := r.n.Load()
				first := n.do("POST", "/v1/chat/completions", chatBody(stream), named, chatBody(stream))
				again := n.do("POST", "/v1/chat/completions", chatBody(stream), named, chatBody(stream))
				if kept != (r.n.Load()-before == 1) || kept != (again.Header.Get("Idempotent-Replayed") == "true") || kept && !bytes.Equal(first.body, again.body) ||
					first.StatusCode != again.StatusCode {
					t.Errorf("stream %v: %d calls; %d %s, then %d %s", stream, r.n.Load()-before, first.StatusCode, first.body, again.StatusCode, again.body)
				}
			}
		})
	}
}

// What did not come to an end was not kept, so the name is free.
func TestBrokenAnswersFreeTheName(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	n := startKept(t, relayFunc(func(_ context.Context, c *relay.Call, sink relay.Sink) error {
		switch calls.Add(1) {
		case 1: // breaks in the middle of a stream, which is charged for its part
			if err := sink.Start(served(c)); err != nil {
				return err
			}
			if err := sink.Event(&completion.Event{Text: []byte("Hel")}); err != nil {
				return err
			}
			c.Record.Settled, c.Record.Error = true, "provider_unavailable"
			return fault.New(fault.ProviderUnavailable, "test", "It broke.")
		case 2:
			panic("boom")
		}
		return answer(c, sink, "Hel", "lo")
	}), 0, nil)
	if r := n.do("POST", "/v1/chat/completions", chatBody(true), named, "k"); !strings.Contains(string(r.body), `"error"`) {
		t.Fatalf("the broken stream: %s", r.body)
	}
	if r := n.do("POST", "/v1/chat/completions", chatBody(true), named, "k"); r.StatusCode != 500 {
		t.Fatalf("the panic: %d %s", r.StatusCode, r.body)
	}
	third := n.do("POST", "/v1/chat/completions", chatBody(true), named, "k")
	fourth := n.do("POST", "/v1/chat/completions", chatBody(true), named, "k")
	if third.StatusCode != 200 || strings.Contains(string(third.body), `"error"`) || !bytes.Equal(third.body, fourth.body) || calls.Load() != 3 {
		t.Errorf("%d calls; %s, then %s", calls.Load(), third.body, fourth.body)
	}
}

// A client that goes while a whole answer is being charged finds it when it asks again.
func TestTheAnswerIsKeptForAClientThatIsGone(t *testing.T) {
	t.Parallel()
	entered, leave, done := make(chan struct{}), make(chan struct{}), make(chan struct{}, 1)
	r := &counted{relay: relayFunc(func(_ context.Context, c *relay.Call, sink relay.Sink) error {
		close(entered)
		<-leave
		defer func() { done <- struct{}{} }()
		c.Record.Settled = true
		return answer(c, sink, "hello")
	})}
	n := startKept(t, r, 0, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-entered
		cancel()
	}()
	if _, err := n.tryIn(ctx, "POST", "/v1/chat/completions", chatBody(false), named, "k"); err == nil {
		t.Fatal("the client did not go")
	}
	close(leave)
	<-done
	again := n.do("POST", "/v1/chat/completions", chatBody(false), named, "k")
	if again.StatusCode != 200 || again.Header.Get("Idempotent-Replayed") != "true" || r.n.Load() != 1 {
		t.Errorf("%d %s after %d calls", again.StatusCode, again.body, r.n.Load())
	}
}

func TestAnswersThatAreTooLarge(t *testing.T) {
	t.Parallel()
	r := &counted{relay: relayFunc(hello)}
	n := startKept(t, r, 100, nil)
	for name, stream := range map[string]bool{"whole": false, "stream": true} {
		if r := n.do("POST", "/v1/chat/completions", chatBody(stream), named, name); r.StatusCode != 200 || stream && !strings.Contains(string(r.body), "[DONE]") {
			t.Fatalf("%s: %d %s", name, r.StatusCode, r.body)
		}
		wantError(t, n.do("POST", "/v1/chat/completions", chatBody(stream), named, name), 422, fault.IdempotencyNotKept)
	}
	if r.n.Load() != 2 {
		t.Errorf("%d calls", r.n.Load())
	}
}

// Fifty equal requests at once are one call; the others are asked to come back, and then get its answer.
func TestFiftyEqualRequests(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]bool{"whole": false, "stream": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate()
			r := &counted{relay: g}
			n := startKept(t, r, 0, nil)
			answers := make(chan *response, 50)
			var wg sync.WaitGroup
			for range 50 {
				wg.Go(func() {
					resp, err := n.try("POST", "/v1/chat/completions", chatBody(stream), named, "k")
					if err != nil {
						t.Error(err)
					}
					answers <- resp
				})
			}
			for range 49 { // the first is held back, so these are all the others
				a := <-answers
				if a == nil {
					return
				}
				wantError(t, a, 409, fault.IdempotencyInFlight)
				if a.Header.Get("Retry-After") != "1" {
					t.Errorf("Retry-After %q", a.Header.Get("Retry-After"))
				}
			}
			close(g.leave)
			wg.Wait()
			first := <-answers
			again := n.do("POST", "/v1/chat/completions", chatBody(stream), named, "k")
			if first.StatusCode != 200 || !bytes.Equal(first.body, again.body) || r.n.Load() != 1 {
				t.Errorf("%d calls; %d %s, then %d %s", r.n.Load(), first.StatusCode, first.body, again.StatusCode, again.body)
			}
		})
	}
}

// A keep-alive that broke a silence is no part of the answer.
func TestKeepAlivesAreNotKept(t *testing.T) {
	t.Parallel()
	seen := make(chan struct{})
	n := startKept(t, relayFunc(func(_ context.Context, c *relay.Call, sink relay.Sink) error {
		<-seen
		return answer(c, sink, "hello")
	}), 0, func(c *httpapi.Config) { c.KeepAliveAfter = 10 * time.Millisecond })
	req, err := http.NewRequestWithContext(t.Context(), "POST", n.url+"/v1/chat/completions", strings.NewReader(chatBody(true)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+n.first.KeyText)
	req.Header.Set(named, "k")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	first := make([]byte, 1)
	if _, err := io.ReadFull(resp.Body, first); err != nil || first[0] != ':' {
		t.Fatalf("%q, %v; want a keep-alive", first, err)
	}
	close(seen)
	rest, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	again := n.do("POST", "/v1/chat/completions", chatBody(true), named, "k")
	if !bytes.HasPrefix(again.body, []byte("data:")) || !bytes.HasSuffix(rest, again.body) {
		t.Errorf("%q, then %q", rest, again.body)
	}
}

// Without a store for them names mean nothing.
func TestNamesWithoutAStore(t *testing.T) {
	t.Parallel()
	r := &counted{relay: relayFunc(hello)}
	n := start(t, r, nil)
	for range 2 {
		if a := n.do("POST", "/v1/chat/completions", chatBody(false), named, "k"); a.StatusCode != http.StatusOK {
			t.Fatalf("status %d", a.StatusCode)
		}
	}
	if r.n.Load() != 2 {
		t.Errorf("%d calls", r.n.Load())
	}
}

// Where zero data retention is demanded, by the request, the key or the account, nothing of an answer is kept under its name: only that it was
// charged, and a repetition reports that without a second charge.
func TestNamedRequestsWithZeroDataRetention(t *testing.T) {
	t.Parallel()
	r := &counted{relay: relayFunc(hello)}
	n := startKept(t, r, 0, nil)
	const zdr = `"provider":{"zdr":true},`
	for name, stream := range map[string]bool{"whole": false, "stream": true} {
		before := r.n.Load()
		body := strings.Replace(chatBody(stream), "{", "{"+zdr, 1)
		first := n.do("POST", "/v1/chat/completions", body, named, name)
		if first.StatusCode != 200 || len(first.body) == 0 {
			t.Fatalf("%s: %d %q", name, first.StatusCode, first.body)
		}
		for range 2 {
			again := n.do("POST", "/v1/chat/completions", body, named, name)
			wantError(t, again, 422, fault.IdempotencyNotKept)
			if id := first.Header.Get("X-Generation-Id"); !bytes.Contains(again.body, []byte(`"generation_id":"`+id+`"`)) || !bytes.Contains(again.body, []byte(`"reason":"zdr"`)) {
				t.Errorf("%s: %s, want %s", name, again.body, id)
			}
		}
		if r.n.Load() != before+1 {
			t.Errorf("%s: %d calls", name, r.n.Load()-before)
		}
		wantError(t, n.do("POST", "/v1/chat/completions", chatBody(stream), named, name), 422, fault.IdempotencyMismatch)
	}
}

// noted notes which names requests have claimed, and refuses each.
type noted struct{ claimed []string }

func (n *noted) Begin(_ context.Context, r idempotency.Request) (*idempotency.Run, *idempotency.Entry, error) {
	n.claimed = append(n.claimed, r.User+" "+r.Name+" "+r.Hash)
	return nil, nil, fault.New(fault.IdempotencyMismatch, "test", "It was noted.")
}

// In an organization an Idempotency-Key belongs to the member or service for whom the key works, on every route that takes one: to all their keys, and to
// those of no other.
func TestNamesBelongToMembers(t *testing.T) {
	t.Parallel()
	claims := &noted{}
	n := startAll(t, relayFunc(hello), func(c *httpapi.Config) { c.UserCallsPerMinute = 100000 }, func(d *httpapi.Deps) {
		d.Idempotency, d.Batches = claims, batch.New(batch.Deps{}, batch.Default(time.Now))
	}, emptyReports)
	owner, person := n.join(t, "owner@example.org", apikey.User), n.join(t, "vera@example.org", apikey.User)
	org := n.org(t, owner, "Strelka")
	n.invited(t, owner, person, org, "member")
	key := func(page []string, more string) string {
		made := n.do("POST", "/api/keys?account="+org, `{"name":"x"`+more+`}`, page...)
		text, _ := made.json(t)["key"].(string)
		if made.StatusCode != 201 {
			t.Fatalf("%d %s", made.StatusCode, made.body)
		}
		return text
	}
	service, _ := at(n.do("POST", "/api/organizations/"+org+"/services", `{"name":"Nightly"}`, owner...).json(t), "data", "id").(string)
	holders := [][]string{{key(owner, ""), key(owner, "")}, {key(person, "")}, {key(owner, `,"service":"`+service+`"`)}, {n.first.KeyText, n.newKey()}}
	routes := 0
	for _, r := range n.api.Routes() {
		if !r.Named() {
			continue
		}
		routes++
		path := strings.NewReplacer("{id}", "x", "{model}", "small", "{vendor}", "acme").Replace(r.Pattern)
		body, kind := `{}`, "application/json"
		switch r.Pattern {
		case "/v1/audio/transcriptions", "/v1/audio/translations", "/v1/files", "/v1/images/variations":
			body, kind = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.jsonl\"\r\n\r\n{}\r\n--b--\r\n", "multipart/form-data; boundary=b"
		}
		seen := map[string]bool{}
		for _, keys := range holders {
			var first string
			for i, k := range keys {
				claims.claimed = nil
				got := n.do(r.Method, path, body, "Content-Type", kind, "Authorization", "Bearer "+k, named, "one")
				switch {
				case len(claims.claimed) != 1:
					t.Fatalf("%s claimed %q: %d %s", r.Pattern, claims.claimed, got.StatusCode, got.body)
				case i == 0:
					first = claims.claimed[0]
				case claims.claimed[0] != first:
					t.Errorf("%s: another key of the same holder claims %q and not %q", r.Pattern, claims.claimed[0], first)
				}
			}
			if seen[first] {
				t.Errorf("%s: two holders claim %q", r.Pattern, first)
			}
			seen[first] = true
		}
	}
	if routes < 20 {
		t.Errorf("only %d routes take a name", routes)
	}
}

// Two members who send the same key get each their own answer.
func TestNamesOfMembers(t *testing.T) {
	t.Parallel()
	r := &counted{relay: relayFunc(hello)}
	n := startKept(t, r, 0, nil)
	owner, person := n.join(t, "owner@example.org", apikey.User), n.join(t, "vera@example.org", apikey.User)
	org := n.org(t, owner, "Strelka")
	n.invited(t, owner, person, org, "member")
	for i, page := range [][]string{owner, person} {
		text, _ := n.do("POST", "/api/keys?account="+org, `{"name":"x"}`, page...).json(t)["key"].(string)
		for again := range 2 {
			got := n.do("POST", "/v1/chat/completions", chatBody(false), named, "one", "Authorization", "Bearer "+text)
			if got.StatusCode != 200 || (got.Header.Get("Idempotent-Replayed") == "true") != (again == 1) || r.n.Load() != int64(i+1) {
				t.Errorf("member %d, try %d: %d %v, %d calls", i, again, got.StatusCode, got.Header, r.n.Load())
			}
		}
	}
}
