package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/internal/accountapi"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/catalogapi"
	"weir/internal/fault"
)

// feed is a stream of events as a client reads it.
type feed struct {
	t    testing.TB
	resp *http.Response
	r    *bufio.Reader
	last string // id of the last event
}

// feed follows topics; query is the rest of the query, headers are pairs.
func (n *node) feed(query string, headers ...string) *feed {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute) // only prevents a hang
	n.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.url+"/api/events?"+query, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+n.first.ManagementKey)
	for i := 0; i < len(headers); i += 2 {
		if req.Header.Set(headers[i], headers[i+1]); headers[i+1] == "" {
			req.Header.Del(headers[i])
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		b, _ := io.ReadAll(resp.Body)
		n.t.Fatalf("status %d: %s", resp.StatusCode, b)
	}
	return &feed{t: n.t, resp: resp, r: bufio.NewReader(resp.Body)}
}

// next reads an event: its name and its data.
func (f *feed) next() (name string, data map[string]any) {
	f.t.Helper()
	for {
		line, err := f.r.ReadString('\n')
		if err != nil {
			f.t.Fatalf("the stream ends: %v", err)
		}
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "id: "):
			f.last = line[4:]
		case strings.HasPrefix(line, "event: "):
			name = line[7:]
		case strings.HasPrefix(line, "data: "):
			if err := json.Unmarshal([]byte(line[6:]), &data); err != nil {
				f.t.Fatalf("%s: %v", line, err)
			}
		case line == "" && name != "":
			return name, data
		}
	}
}

func (f *feed) want(name string) map[string]any {
	f.t.Helper()
	got, data := f.next()
	if got != name {
		f.t.Fatalf("event %s %v, want %s", got, data, name)
	}
	return data
}

// over fails unless the stream has come to its end.
func (f *feed) over() {
	f.t.Helper()
	if b, err := io.ReadAll(f.r); err != nil || len(b) > 0 {
		f.t.Fatalf("more than the last event: %q, %v", b, err)
	}
}

// following starts a node whose streams are quick; edit may be nil.
func following(t *testing.T, edit func(*accountapi.EventsConfig)) *node {
	return startAll(t, relayFunc(hello), nil, nil, func(_ *accountapi.Deps, _ *catalogapi.Deps, c *accountapi.EventsConfig) {
		c.Every, c.Check, c.KeepAlive = 5*time.Millisecond, 20*time.Millisecond, 10*time.Millisecond
		if edit != nil {
			edit(c)
		}
	})
}

func (n *node) namedKey(name string) {
	n.t.Helper()
	_, _, err := n.keys.Create(n.t.Context(), apikey.NewKey{Name: name, User: n.first.User.ID, Creator: n.first.User.ID}, audit.Actor{Name: "test"})
	if err != nil {
		n.t.Fatal(err)
	}
}

func TestEventsTellChangesAndWhatWasMissed(t *testing.T) {
	t.Parallel()
	n := following(t, nil)
	f := n.feed("topics=keys,money")
	ready := f.want("ready")
	if at(ready, "money", "held") != "0.000000007" || at(ready, "money", "available") != "99.999999992" || at(ready, "keys", "keys") == nil {
		t.Fatalf("ready is %v", ready)
	}
	n.namedKey("one")
	if got := f.want("keys"); got["keys"] != ready["keys"].(map[string]any)["keys"].(float64)+1 {
		t.Fatalf("keys is %v after %v", got, ready)
	}
	seen := f.last
	_ = f.resp.Body.Close()

	// What changes while nobody reads is told to whoever comes back, by header and by query; what was seen is not told again.
	n.namedKey("two")
	for _, again := range []*feed{n.feed("topics=keys,money", "Last-Event-ID", seen), n.feed("topics=keys,money&after=" + seen)} {
		again.want("ready")
		again.want("keys")
	}
	same := n.feed("topics=money", "Last-Event-ID", seen)
	same.want("ready")
	if line, err := same.r.ReadString('\n'); err != nil || line != ": keep-alive\n" {
		t.Fatalf("%q, %v instead of silence", line, err)
	}
}

func TestEventsRefuse(t *testing.T) {
	t.Parallel()
	n := following(t, func(c *accountapi.EventsConfig) { c.Most, c.MostByUser = 3, 2 })
	for query, field := range map[string]string{
		"": "topics", "topics=": "topics", "topics=calls%2Ccalls%2Cno": "topics", "topics=status": "topics", "topics=money&after=x": "Last-Event-ID",
		"topics=money&after=money%3A1%2C%2C": "Last-Event-ID", "topics=money&after=" + strings.Repeat("a", 300): "Last-Event-ID",
	} {
		m := wantError(t, n.manage("GET", "/api/events?"+query, ""), 400, fault.Invalid)
		if at(m, "error", "param") != field && at(m, "error", "metadata", "param") != field {
			t.Errorf("%s: %v does not name %s", query, m, field)
		}
	}
	wantError(t, n.do("GET", "/api/events?topics=money", ""), 403, fault.PermissionDenied)
	wantError(t, n.do("GET", "/api/events?topics=money", "", "Authorization", ""), 401, fault.Authentication)
	if r := n.manage("HEAD", "/api/events?topics=money", ""); r.StatusCode != 200 || len(r.body) > 0 {
		t.Errorf("HEAD: %d %q", r.StatusCode, r.body)
	}

	one := n.feed("topics=money")
	one.want("ready")
	n.feed("topics=money").want("ready")
	limited(t, n.manage("GET", "/api/events?topics=money", ""), "max_event_streams_per_user", "2")
	_ = one.resp.Body.Close() // its place is free when the node has noticed
	until(t, "there is a place after a stream has ended", func() bool {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, n.url+"/api/events?topics=money", nil)
		req.Header.Set("Authorization", "Bearer "+n.first.ManagementKey)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode == 200
	})
}

func TestEventsEndWithTheRightToReadThem(t *testing.T) {
	t.Parallel()
	n := following(t, nil)
	page := n.signIn()
	f := n.feed("topics=money", page...)
	f.want("ready")
	if r := n.do("POST", "/api/auth/sign-out", "{}", page...); r.StatusCode/100 != 2 {
		t.Fatalf("sign-out: %d %s", r.StatusCode, r.body)
	}
	if got := f.want("end"); got["reason"] != "signed_out" {
		t.Fatalf("it ends with %v", got)
	}
	f.over()

	k, text, err := n.keys.Create(t.Context(), apikey.NewKey{Name: "m", User: n.first.User.ID, Creator: n.first.User.ID, Management: true}, audit.Actor{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	f = n.feed("topics=money", "Authorization", "Bearer "+text)
	f.want("ready")
	if err := n.keys.Delete(t.Context(), n.first.User.ID, k.Hash, audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	if got := f.want("end"); got["reason"] != "signed_out" {
		t.Fatalf("it ends with %v", got)
	}
	f.over()
}

// A node that ends does not wait for streams that have no end.
func TestEventsEndWithTheNode(t *testing.T) {
	t.Parallel()
	n := following(t, nil)
	f := n.feed("topics=money")
	f.want("ready")
	drained := make(chan error, 1)
	go func() { drained <- n.server.Drain(context.Background(), 0, time.Minute) }()
	if got := f.want("end"); got["reason"] != "draining" {
		t.Fatalf("it ends with %v", got)
	}
	f.over()
	if err := <-drained; err != nil {
		t.Fatalf("something had to be cut: %v", err)
	}
}
