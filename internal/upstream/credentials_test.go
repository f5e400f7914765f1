package upstream_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/upstream"
	"weir/internal/upstream/upstreamtest"
)

// Of several credentials the one refused the longest ago is used; a refused one rests; a call fails only when all are refused.
func TestCredentials(t *testing.T) {
	t.Parallel()
	const limited, auth = fault.RateLimited, fault.ProviderUnavailable
	type step struct {
		after   time.Duration  // since the step before
		refuses map[string]int // key -> status from here on; 0: it is accepted
		wait    string         // header of refusals
		keys    []string       // that the provider sees
		fault   fault.Kind     // of the call; Internal: it succeeds
		retry   time.Duration
	}
	for _, tt := range []struct {
		name  string
		keys  []string
		steps []step
	}{
		{"one key is always asked", []string{"key-a"}, []step{
			{refuses: map[string]int{"key-a": 401}, keys: []string{"key-a"}, fault: auth},
			{keys: []string{"key-a"}, fault: auth},
			{refuses: map[string]int{"key-a": 0}, keys: []string{"key-a"}},
		}},
		{"the first as long as it works", []string{"key-a", "key-b"}, []step{{keys: []string{"key-a"}}, {keys: []string{"key-a"}}}},
		{"a refused key rests for five minutes, then ten", []string{"key-a", "key-b"}, []step{
			{refuses: map[string]int{"key-a": 401}, keys: []string{"key-a", "key-b"}},
			{after: 299 * time.Second, keys: []string{"key-b"}},
			{after: time.Hour, keys: []string{"key-b"}}, // never refused
			{refuses: map[string]int{"key-b": 403}, keys: []string{"key-b", "key-a"}, fault: auth},
			{after: 301 * time.Second, refuses: map[string]int{"key-b": 0}, keys: []string{"key-b"}},
			{after: 301 * time.Second, refuses: map[string]int{"key-a": 0, "key-b": 402}, keys: []string{"key-a"}},
		}},
		{"a rate limit rests for as long as it says", []string{"key-a", "key-b"}, []step{
			{refuses: map[string]int{"key-a": 429}, wait: "Retry-After: 60", keys: []string{"key-a", "key-b"}},
			{after: 59 * time.Second, keys: []string{"key-b"}},
			{refuses: map[string]int{"key-b": 429}, keys: []string{"key-b"}, wait: "Retry-After: 20", fault: limited, retry: time.Second}, // when the other is free
			{after: 2 * time.Second, refuses: map[string]int{"key-a": 0}, keys: []string{"key-a"}},
		}},
		{"ten seconds when it does not say", []string{"key-a", "key-b"}, []step{
			{refuses: map[string]int{"key-a": 429, "key-b": 429}, keys: []string{"key-a", "key-b"}, fault: limited, retry: 10 * time.Second},
			{after: 4 * time.Second, keys: []string{"key-a"}, fault: limited, retry: 6 * time.Second}, // the first that is free, before its time
			{after: 6 * time.Second, refuses: map[string]int{"key-b": 0}, keys: []string{"key-b"}},
		}},
		{"an hour at most", []string{"key-a", "key-b"}, []step{
			{refuses: map[string]int{"key-a": 429}, wait: "Retry-After: 999999", keys: []string{"key-a", "key-b"}},
			{after: 3601 * time.Second, refuses: map[string]int{"key-a": 0, "key-b": 429}, keys: []string{"key-b", "key-a"}},
		}},
		{"all are out", []string{"key-a", "key-b", "key-c"}, []step{
			{refuses: map[string]int{"key-a": 401, "key-b": 402, "key-c": 403}, keys: []string{"key-a", "key-b", "key-c"}, fault: auth},
			{after: time.Minute, keys: []string{"key-a"}, fault: auth},
			{after: time.Minute, refuses: map[string]int{"key-b": 0}, keys: []string{"key-b"}}, // free first by now
		}},
		{"one is limited, the other refused", []string{"key-a", "key-b"}, []step{
			{refuses: map[string]int{"key-a": 429, "key-b": 403}, keys: []string{"key-a", "key-b"}, wait: "Retry-After: 20", fault: limited, retry: 20 * time.Second},
		}},
		{"another failure is not the key's", []string{"key-a", "key-b"}, []step{
			{refuses: map[string]int{"key-a": 500}, keys: []string{"key-a"}, fault: auth},
			{refuses: map[string]int{"key-a": 400}, keys: []string{"key-a"}, fault: fault.Invalid},
			{refuses: map[string]int{"key-a": 503}, keys: []string{"key-a"}, fault: fault.ProviderOverloaded},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bothClients(t, func(t *testing.T, standard bool) {
				now, refuses, wait := time.Now(), map[string]int{}, ""
				p := upstreamtest.NewProvider(t, func(c *upstreamtest.Conn) {
					key := strings.TrimPrefix(c.Request.Header.Get("Authorization"), "Bearer ")
					if status := refuses[key]; status != 0 {
						header := []string{"X-A: b"}
						if wait != "" {
							header = append(header, wait)
						}
						c.Send(upstreamtest.Sized(status, "application/json", `{"error":{"message":"no, `+key+`"}}`, header...))
						return
					}
					c.Send(upstreamtest.JSON(whole))
				})
				c := client(t, upstream.Config{Standard: standard, Now: func() time.Time { return now }})
				ep := endpoint(p.URL)
				ep.Provider.Key, ep.Provider.Keys = tt.keys[0], tt.keys[1:]
				for i, s := range tt.steps {
					now, wait = now.Add(s.after), s.wait
					for key, status := range s.refuses {
						refuses[key] = status
					}
					before := len(p.Seen())
					got := upstreamtest.Collect(c.Complete(context.Background(), ep, request(i%2 == 1), nil))
					var keys []string
					for _, seen := range p.Seen()[before:] {
						keys = append(keys, strings.TrimPrefix(seen.Header.Get("Authorization"), "Bearer "))
					}
					if !slices.Equal(keys, s.keys) {
						t.Fatalf("step %d: asked with %q, want %q", i, keys, s.keys)
					}
					if s.fault == fault.Internal {
						if got.Err != nil || got.Text != "hi" {
							t.Fatalf("step %d: %+v", i, got)
						}
						continue
					}
					if got.Err == nil || got.Err.Kind != s.fault || s.retry != 0 && got.Err.RetryAfter != s.retry {
						t.Fatalf("step %d: %+v", i, got.Err)
					}
					if reported := fmt.Sprintf("%s %+v %v", got.Err.Public, got.Err.Upstream, got.Err.Details); strings.Contains(reported, "key-") {
						t.Errorf("step %d: a key is told: %s", i, reported)
					}
				}
			})
		})
	}
}

// A credential that is refused for one model is used for others, until it is refused for several or is unknown.
func TestCredentialsByModel(t *testing.T) {
	t.Parallel()
	type step struct {
		model string
		asks  string // keys that the provider sees
	}
	for name, c := range map[string]struct {
		status int
		steps  []step
		rests  []string // reports of credentials that rest
	}{
		"a rate limit of one model": {429, []step{{"one", "a b"}, {"one", "b"}, {"fine", "a"}, {"fine", "a"}, {"one", "b"}}, []string{"1 one false 429 1h0m0s"}},
		"no permission for a model": {403, []step{{"one", "a b"}, {"fine", "a"}, {"one", "b"}}, []string{"1 one false 403 5m0s"}},
		"no money, as it turns out": {402, []step{{"one", "a b"}, {"two", "a b"}, {"fine", "a"}, {"three", "a b"}, {"fine", "b"}, {"other", "b"}},
			[]string{"1 one false 402 5m0s", "1 two false 402 5m0s", "1 three true 402 5m0s"}},
		"an unknown key": {401, []step{{"one", "a b"}, {"fine", "b"}}, []string{"1 one true 401 5m0s"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := upstreamtest.NewProvider(t, func(conn *upstreamtest.Conn) {
				body := conn.Body
				if conn.Request.Header.Get("Authorization") == "Bearer key-a" && !strings.Contains(string(body), `"fine"`) && !strings.Contains(string(body), `"other"`) {
					conn.Send(upstreamtest.Sized(c.status, "application/json", `{"error":{"message":"no"}}`, "Retry-After: 3600"))
					return
				}
				conn.Send(upstreamtest.JSON(whole))
			})
			now, rests := time.Now(), []string(nil)
			client := client(t, upstream.Config{Now: func() time.Time { return now }, Resting: func(r upstream.Rest) {
				rests = append(rests, fmt.Sprintf("%d %s %t %d %v", r.Key, r.Model, r.Whole, r.Status, r.For))
			}})
			first := endpoint(p.URL)
			first.Provider.Key, first.Provider.Keys = "key-a", []string{"key-b"}
			for i, s := range c.steps {
				ep := *first
				ep.UpstreamID = s.model
				before := len(p.Seen())
				if got := upstreamtest.Collect(client.Complete(t.Context(), &ep, request(false), nil)); got.Err != nil {
					t.Fatalf("step %d: %v", i, got.Err)
				}
				var asks []string
				for _, seen := range p.Seen()[before:] {
					asks = append(asks, strings.TrimPrefix(seen.Header.Get("Authorization"), "Bearer key-"))
				}
				if got := strings.Join(asks, " "); got != s.asks {
					t.Fatalf("step %d, %s: asked with %q, want %q", i, s.model, got, s.asks)
				}
			}
			if !slices.Equal(rests, c.rests) || client.CountResting() != 1 {
				t.Errorf("told %q, want %q; %d rest", rests, c.rests, client.CountResting())
			}
		})
	}
}

// How a credential rests survives changes of its provider: others beside it, draining and back. One that was taken out, or is left alone, begins
// anew, and is not shown as resting.
func TestRestSurvivesChanges(t *testing.T) {
	t.Parallel()
	type step struct {
		after    time.Duration
		keys     string // in use from here on, then those that drain; "": as before
		draining string
		model    string
		asks     string // keys that the provider sees
		rests    string // what is shown to rest afterwards
	}
	for name, c := range map[string]struct {
		status int
		steps  []step
	}{
		"something else is changed": {401, []step{
			{keys: "a b", model: "one", asks: "a b", rests: "a"}, {keys: "a b", model: "one", asks: "b", rests: "a"}, {model: "two", asks: "b", rests: "a"},
			{after: 301 * time.Second, model: "one", asks: "b"}, // never refused
		}},
		"its ban grows on": {401, []step{
			{keys: "a x", model: "one", asks: "a x", rests: "a x"}, {after: 301 * time.Second, keys: "a x", model: "one", asks: "a x", rests: "a x"},
			{after: 301 * time.Second, keys: "a x b", model: "one", asks: "b", rests: "a x"},
		}},
		"it rests for one model": {429, []step{{keys: "a b", model: "one", asks: "a b", rests: "a one"}, {keys: "c a b", model: "one", asks: "c", rests: "a one"}, {keys: "a b", model: "two", asks: "a", rests: "a one"}}},
		"it drains and returns":  {429, []step{{keys: "a b", model: "one", asks: "a b", rests: "a one"}, {keys: "b c", draining: "a", model: "one", asks: "b", rests: "a one"}, {keys: "a b c", model: "one", asks: "b", rests: "a one"}}},
		"it is out and returns":  {429, []step{{keys: "a b c", model: "one", asks: "a b", rests: "a one"}, {keys: "b c", model: "one", asks: "b", rests: "a one"}, {keys: "a b c", model: "two", asks: "a"}}},
		"it is left alone":       {429, []step{{keys: "a b", model: "one", asks: "a b", rests: "a one"}, {keys: "a", model: "two", asks: "a"}, {keys: "a b", model: "one", asks: "a b", rests: "a one"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := upstreamtest.NewProvider(t, func(conn *upstreamtest.Conn) {
				key := strings.TrimPrefix(conn.Request.Header.Get("Authorization"), "Bearer key-")
				if key == "x" || key == "a" && strings.Contains(string(conn.Body), `"one"`) {
					conn.Send(upstreamtest.Sized(c.status, "application/json", `{"error":{"message":"no"}}`, "Retry-After: 3600"))
					return
				}
				conn.Send(upstreamtest.JSON(whole))
			})
			now := time.Now()
			client := client(t, upstream.Config{Now: func() time.Time { return now }})
			ep := endpoint(p.URL)
			names := map[string]string{}
			keysOf := func(text string) (keys []string) {
				for name := range strings.FieldsSeq(text) {
					keys = append(keys, "key-"+name)
					names[catalog.KeyTag("key-"+name)] = name
				}
				return keys
			}
			for i, s := range c.steps {
				now = now.Add(s.after)
				if s.keys != "" { // a change makes a new catalog, and with it a new provider
					changed := *ep.Provider
					keys := keysOf(s.keys)
					changed.Key, changed.Keys, changed.Draining = keys[0], keys[1:], keysOf(s.draining)
					ep.Provider = &changed
				}
				ep.UpstreamID = s.model
				before := len(p.Seen())
				got := upstreamtest.Collect(client.Complete(t.Context(), ep, request(false), nil))
				var asks, rests []string
				for _, seen := range p.Seen()[before:] {
					asks = append(asks, strings.TrimPrefix(seen.Header.Get("Authorization"), "Bearer key-"))
				}
				for _, u := range client.KeyUses() {
					if !u.Until.IsZero() {
						rests = append(rests, strings.TrimSpace(names[u.Tag]+" "+u.Model))
					}
				}
				slices.Sort(rests)
				if strings.Join(asks, " ") != s.asks || strings.Join(rests, " ") != s.rests {
					t.Errorf("step %d: asked with %q, want %q; shown to rest %q, want %q; %v", i, asks, s.asks, rests, s.rests, got.Err)
				}
			}
		})
	}
}

// A caller that goes while credentials are tried ends the call.
func TestCallerGoneBetweenCredentials(t *testing.T) {
	t.Parallel()
	bothClients(t, func(t *testing.T, standard bool) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		p := upstreamtest.NewProvider(t, upstreamtest.Send(upstreamtest.Sized(401, "application/json", "{}")), func(c *upstreamtest.Conn) {
			cancel()
			c.Hang()
		})
		ep := endpoint(p.URL)
		ep.Provider.Keys = []string{"another-key"}
		got := upstreamtest.Collect(client(t, upstream.Config{Standard: standard}).Complete(ctx, ep, request(false), nil))
		if got.Err == nil || got.Err.Kind != fault.Canceled {
			t.Errorf("%+v", got.Err)
		}
		<-p.Gone()
	})
}
