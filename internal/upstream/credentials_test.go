package upstream_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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
			{refuses: map[string]int{"key-b": 429}, keys: []string{"key-b"}, wait: "Retry-After: 20", fault: limited, retry: 20 * time.Second},
			{after: 2 * time.Second, refuses: map[string]int{"key-a": 0}, keys: []string{"key-a"}},
		}},
		{"ten seconds when it does not say", []string{"key-a", "key-b"}, []step{
			{refuses: map[string]int{"key-a": 429, "key-b": 429}, keys: []string{"key-a", "key-b"}, fault: limited, retry: 10 * time.Second},
			{after: 4 * time.Second, fault: limited, retry: 6 * time.Second},
			{after: 6 * time.Second, refuses: map[string]int{"key-a": 0}, keys: []string{"key-a"}},
		}},
		{"an hour at most", []string{"key-a", "key-b"}, []step{
			{refuses: map[string]int{"key-a": 429}, wait: "Retry-After: 999999", keys: []string{"key-a", "key-b"}},
			{after: 3601 * time.Second, refuses: map[string]int{"key-a": 0, "key-b": 429}, keys: []string{"key-b", "key-a"}},
		}},
		{"all are out", []string{"key-a", "key-b", "key-c"}, []step{
			{refuses: map[string]int{"key-a": 401, "key-b": 402, "key-c": 403}, keys: []string{"key-a", "key-b", "key-c"}, fault: auth},
			{after: time.Minute, fault: auth},
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
