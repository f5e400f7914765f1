package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/openai"
	"weir/internal/fault"
	"weir/internal/outbound"
	"weir/internal/routing"
	"weir/internal/task"
	"weir/internal/upstream"
	"weir/internal/upstream/upstreamtest"
)

// worker is a dialect that does with an Ask what a test needs.
type worker struct {
	openai.Dialect
	do func(ask dialect.Ask) error
}

func (w *worker) Perform(ask dialect.Ask, _ *catalog.Endpoint, _ *completion.Request) iter.Seq2[*completion.Event, error] {
	return func(yield func(*completion.Event, error) bool) {
		if err := w.do(ask); err != nil {
			yield(nil, err)
			return
		}
		yield(&completion.Event{Result: &task.Result{Vectors: []task.Vector{{Index: 1}}}, Done: true}, nil)
	}
}

// performs runs do as a task at the provider at url.
func performs(ctx context.Context, t *testing.T, cfg upstream.Config, url string, do func(ask dialect.Ask) error, keys ...string) *fault.Error {
	t.Helper()
	cfg.Dialects = map[string]dialect.Dialect{"openai": &worker{do: do}}
	c := upstreamtest.New(cfg)
	t.Cleanup(c.Close)
	ep := endpoint(url)
	if len(keys) > 0 {
		ep.Provider.Key, ep.Provider.Keys = keys[0], keys[1:]
	}
	for ev, err := range c.Complete(ctx, ep, &completion.Request{Task: &task.Embedding{}, N: 1}, nil) {
		if err != nil {
			return fault.From(err)
		}
		if ev.Result == nil || !ev.Done {
			t.Errorf("event %+v", ev)
		}
	}
	return nil
}

// echo answers with the method, the path and the length of the body.
func echo(c *upstreamtest.Conn) {
	c.Send(upstreamtest.JSON(fmt.Sprintf("%s %s %d %s", c.Request.Method, c.Request.URL.RequestURI(), len(c.Body), c.Request.Header.Get("Content-Type"))))
}

// A task's requests have methods, bodies that are not in memory, and addresses of the provider's own, over either client.
func TestAsk(t *testing.T) {
	t.Parallel()
	bothClients(t, func(t *testing.T, standard bool) {
		p := upstreamtest.NewProvider(t, echo)
		long := strings.Repeat("x", 3<<20)
		for _, c := range []struct {
			name string
			call dialect.Call
			want string
		}{
			{"POST", dialect.Call{Path: "/a", Body: []byte("{}")}, "POST /v1/a 2 application/json"},
			{"GET", dialect.Call{Method: http.MethodGet, Path: "/a?b=c"}, "GET /v1/a?b=c 0 application/json"},
			{"DELETE", dialect.Call{Method: http.MethodDelete, Path: "/a"}, "DELETE /v1/a 0 application/json"},
			{"a form", dialect.Call{Path: "/a", Header: http.Header{"Content-Type": {"multipart/form-data; boundary=b"}},
				Content: func() (io.Reader, int64) { return strings.NewReader(long), int64(len(long)) }}, fmt.Sprintf("POST /v1/a %d multipart/form-data; boundary=b", len(long))},
			{"an address of its own", dialect.Call{Method: http.MethodGet, URL: p.URL + "/else/where"}, "GET /else/where 0 application/json"},
		} {
			err := performs(t.Context(), t, upstream.Config{Standard: standard}, p.URL, func(ask dialect.Ask) error {
				body, err := dialect.Whole(ask, c.call)
				if err == nil && string(body) != c.want {
					t.Errorf("%s: the provider saw %q, want %q", c.name, body, c.want)
				}
				return err
			})
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		for _, seen := range p.Seen() {
			if seen.Header.Get("Authorization") != "Bearer acme-secret-key" || seen.Header.Get("X-Team") != "blue" {
				t.Errorf("%s came with %v", seen.Path, seen.Header)
			}
		}
	})
}

// A credential goes to the provider's own hosts and to no other.
func TestAskKeepsToTheProvider(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		base, address string
		sameSite      bool
	}{
		{"https://api.acme.test/v1", "https://api.acme.test/v2/x?id=1", true},
		{"https://api.acme.test/v1", "https://eu.api.acme.test/x", true},
		{"https://api.acme.test/v1", "https://acme.test/x", true},
		{"https://api.acme.test/v1", "https://API.ACME.TEST/x", true},
		{"https://api.acme.test/v1", "http://api.acme.test/x", false},
		{"https://api.acme.test/v1", "https://api.acme.test:444/x", false},
		{"https://api.acme.test/v1", "https://acme.test.evil.test/x", false},
		{"https://api.acme.test/v1", "https://u:p@api.acme.test/x", false},
		{"https://api.acme.test/v1", "https://notacme.example/x", false},
		{"https://test/v1", "https://other/x", false},
		{"http://127.0.0.1:80/v1", "http://10.1.0.1:80/x", false},
		{"http://127.0.0.1:80/v1", "http://127.0.0.1:80/x", true},
		{"http://[::1]:80/v1", "http://[::2]:80/x", false},
		{"https://api.acme.test/v1", "::", false},
		{"https://api.acme.test/v1", "", false},
	} {
		if got := upstream.SameSite(c.base, c.address); got != c.sameSite {
			t.Errorf("%s and %s: %t", c.base, c.address, got)
		}
	}
	p := upstreamtest.NewProvider(t, echo)
	err := performs(t.Context(), t, upstream.Config{}, p.URL, func(ask dialect.Ask) error {
		_, err := ask.Do(dialect.Call{URL: "https://evil.test/x"})
		return err
	})
	if err == nil || err.Kind != fault.ProviderUnavailable || len(p.Seen()) != 0 {
		t.Errorf("%v, seen %v", err, p.Seen())
	}
}

// All calls of a task use the credential that its first call was accepted with: another account does not have its job.
func TestAskKeepsItsCredential(t *testing.T) {
	t.Parallel()
	accepted := ""
	p := upstreamtest.NewProvider(t, func(c *upstreamtest.Conn) {
		key := strings.TrimPrefix(c.Request.Header.Get("Authorization"), "Bearer ")
		if accepted == "" && key == "key-b" {
			accepted = key
		}
		if key != accepted {
			c.Send(upstreamtest.Sized(401, "application/json", `{"error":{"message":"no"}}`))
			return
		}
		c.Send(upstreamtest.JSON("{}"))
	})
	err := performs(t.Context(), t, upstream.Config{}, p.URL, func(ask dialect.Ask) error {
		for range 3 {
			if _, err := dialect.Whole(ask, dialect.Call{Path: "/x"}); err != nil {
				return err
			}
		}
		return nil
	}, "key-a", "key-b")
	var keys []string
	for _, seen := range p.Seen() {
		keys = append(keys, strings.TrimPrefix(seen.Header.Get("Authorization"), "Bearer "))
	}
	if err != nil || !slices.Equal(keys, []string{"key-a", "key-b", "key-b", "key-b"}) {
		t.Errorf("%v, %q", err, keys)
	}
}

// Faults of a task's calls are those of any attempt: what came back, what may be tried, and nothing secret.
func TestAskFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		script upstreamtest.Script
		limits dialect.Limits
		kind   fault.Kind
	}{
		{"a refusal", upstreamtest.Send(upstreamtest.Sized(429, "application/json", `{"error":{"message":"slow, acme-secret-key"}}`)), dialect.Limits{}, fault.RateLimited},
		{"cut in the body", upstreamtest.SendClose("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), dialect.Limits{}, fault.ProviderUnavailable},
		{"a silent end", upstreamtest.SendClose(""), dialect.Limits{}, fault.ProviderUnavailable},
		{"no HTTP", upstreamtest.SendClose("hello\r\n\r\n"), dialect.Limits{}, fault.ProviderUnavailable},
		{"too long", upstreamtest.Send(upstreamtest.JSON(strings.Repeat("x", 2000))), dialect.Limits{Media: 1000}, fault.ProviderUnavailable},
		{"too long without a length", upstreamtest.SendClose("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + strings.Repeat("x", 2000)), dialect.Limits{Media: 1000}, fault.ProviderUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for name, call := range map[string]dialect.Call{"own": {Path: "/x"}, "standard": {Path: "/x", Content: func() (io.Reader, int64) { return strings.NewReader("{}"), 2 }}} {
				p := upstreamtest.NewProvider(t, c.script)
				err := performs(t.Context(), t, upstream.Config{Limits: c.limits}, p.URL, func(ask dialect.Ask) error {
					_, err := dialect.Whole(ask, call)
					return err
				})
				if err == nil || err.Kind != c.kind || err.Upstream == nil || err.Upstream.Provider != "Acme" || strings.Contains(err.Public+err.Upstream.Raw, "acme-secret") {
					t.Errorf("%s: %+v", name, err)
				}
			}
		})
	}
}

// A client that hangs up ends everything that a task does: running calls, waits, and background work.
func TestAskGone(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(ask dialect.Ask) error{
		"call": func(ask dialect.Ask) error {
			_, err := ask.Do(dialect.Call{Path: "/x"})
			return err
		},
		"wait": func(ask dialect.Ask) error { return ask.Wait(time.Hour) },
		"each": func(ask dialect.Ask) error {
			return dialect.Each(5, 5, func(int) error {
				_, err := dialect.Whole(ask, dialect.Call{Path: "/x"})
				return err
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			p := upstreamtest.NewProvider(t, func(c *upstreamtest.Conn) {
				cancel()
				c.Hang()
			})
			if name == "wait" {
				cancel()
			}
			if err := performs(ctx, t, upstream.Config{}, p.URL, do); err == nil || err.Kind != fault.Canceled {
				t.Errorf("%v", err)
			}
			cancel()
		})
	}
}

// Each starts nothing after a failure, and returns the failure of the lowest number.
func TestAskEach(t *testing.T) {
	t.Parallel()
	p := upstreamtest.NewProvider(t, echo)
	var calls, under, most atomic.Int64
	err := performs(t.Context(), t, upstream.Config{}, p.URL, func(ask dialect.Ask) error {
		return dialect.Each(20, 3, func(int) error {
			most.Store(max(most.Load(), under.Add(1)))
			defer under.Add(-1)
			calls.Add(1)
			_, err := dialect.Whole(ask, dialect.Call{Path: "/x"})
			return err
		})
	})
	if err != nil || calls.Load() != 20 || most.Load() > 3 {
		t.Errorf("%v, %d calls, %d at a time", err, calls.Load(), most.Load())
	}
	calls.Store(0)
	err = performs(t.Context(), t, upstream.Config{}, p.URL, func(ask dialect.Ask) error {
		return dialect.Each(20, 1, func(i int) error {
			calls.Add(1)
			if i == 2 {
				return dialect.Broken(endpoint(p.URL), errors.New("third"))
			}
			return nil
		})
	})
	if err == nil || calls.Load() != 3 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
}

// What a provider cannot do at all is for the next endpoint, and addresses are followed only by a Fetcher.
func TestAskCannot(t *testing.T) {
	t.Parallel()
	c := upstreamtest.New(upstream.Config{Dialects: map[string]dialect.Dialect{"openai": verbatim{}}})
	t.Cleanup(c.Close)
	for _, err := range c.Complete(t.Context(), endpoint("http://127.0.0.1:1"), &completion.Request{Task: &task.Image{}, N: 1}, nil) {
		if f := fault.From(err); f == nil || f.Next != fault.NextEndpoint || f.Upstream == nil {
			t.Errorf("%+v", f)
		}
	}
	fetches := func(cfg upstream.Config) (data []byte, err *fault.Error) {
		err = performs(t.Context(), t, cfg, "http://127.0.0.1:1", func(ask dialect.Ask) error {
			var err error
			data, _, err = ask.Fetch("https://files.test/x")
			return err
		})
		return data, err
	}
	if _, err := fetches(upstream.Config{}); err == nil || err.Kind != fault.ProviderUnavailable {
		t.Errorf("without a fetcher: %v", err)
	}
	if data, err := fetches(upstream.Config{Fetcher: fetched{"picture", nil}}); err != nil || string(data) != "picture" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := fetches(upstream.Config{Fetcher: fetched{"", errors.New("private address")}}); err == nil || err.Upstream == nil || err.Kind != fault.ProviderUnavailable {
		t.Errorf("a refused address: %v", err)
	}
}

// fetched is what every address has.
type fetched struct {
	data string
	err  error
}

func (f fetched) ProviderBytes(context.Context, string, outbound.Home, string, int64) ([]byte, string, error) {
	return []byte(f.data), "image/png", f.err
}

// What of a task the provider does not get is refused where the client requires all of it; no request is made then.
func TestUnsentPartsOfATask(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		_, _ = io.WriteString(w, `{"data":[{"index":0,"embedding":[1]}],"usage":{"prompt_tokens":1}}`)
	}))
	t.Cleanup(srv.Close)
	c := upstreamtest.New(upstream.Config{Dialects: map[string]dialect.Dialect{"openai": &openai.Dialect{}}})
	t.Cleanup(c.Close)
	ep := endpoint(srv.URL)
	ep.Provider.Quirks.Drop = []string{"input_type"}
	for _, strict := range []bool{false, true} {
		req := &completion.Request{N: 1, Unknown: []string{"truncate"}, Preferences: routing.Preferences{RequireParameters: strict},
			Task: &task.Embedding{InputType: "search_query", Inputs: []task.Input{{Parts: []task.Part{{Text: "q"}}}}}}
		notice, refused := "", (*fault.Error)(nil)
		for ev, err := range c.Complete(t.Context(), ep, req, nil) {
			if err != nil {
				refused = fault.From(err)
				continue
			}
			notice = ev.Head.Notice
		}
		switch {
		case strict && (refused == nil || refused.Kind != fault.Invalid || refused.Param != "input_type" || refused.Next != fault.NextEndpoint || calls.Load() != 1):
			t.Errorf("with require_parameters: %+v after %d calls", refused, calls.Load())
		case !strict && notice != "The provider of this model does not take input_type, truncate: the answer was made without.":
			t.Errorf("notice %q, %v", notice, refused)
		}
	}
}
