package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/dialect/auth"
)

// tokenServer gives tokens "token-1", "token-2", ... that live for half an hour.
type tokenServer struct {
	now   func() time.Time
	gate  chan struct{} // each request takes one of it; nil: none waits
	fails atomic.Bool
	asked atomic.Int64
}

func (o *tokenServer) tokens() *auth.Tokens {
	return auth.NewTokens(auth.Issuer{
		Ask: func(time.Time) (*auth.Call, error) { return &auth.Call{URL: "https://a.test"}, nil },
		Read: func(body []byte, now time.Time) (string, time.Time, error) {
			return strings.Trim(string(body), `"`), now.Add(30 * time.Minute), nil
		},
		Secrets: []string{"the credential"},
	}, auth.Deps{Now: o.now, Fetch: o.fetch, Go: func(run func(context.Context)) { go run(context.Background()) }})
}

func (o *tokenServer) fetch(ctx context.Context, _ *auth.Call) (int, []byte, error) {
	n := o.asked.Add(1)
	if o.gate != nil {
		select {
		case <-o.gate:
		case <-ctx.Done():
			return 0, nil, ctx.Err()
		}
	}
	if o.fails.Load() {
		return 0, nil, errors.New("out of reach")
	}
	return 200, fmt.Appendf(nil, `"token-%d"`, n), nil
}

func want(t *testing.T, tokens *auth.Tokens, token string) http.Header {
	t.Helper()
	fields, err := tokens.Fields(context.Background(), nil)
	if err != nil || fields.Get("Authorization") != "Bearer "+token {
		t.Fatalf("%v %v, want %s", fields, err, token)
	}
	return fields
}

// A token is renewed while it is good, and calls wait only where none is.
func TestTokenLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &tokenServer{now: time.Now}
		tokens := o.tokens()
		want(t, tokens, "token-1")
		time.Sleep(24 * time.Minute) // of a bubble: it takes no time
		want(t, tokens, "token-1")
		if n := o.asked.Load(); n != 1 {
			t.Fatalf("asked %d times", n)
		}
		time.Sleep(2 * time.Minute)
		want(t, tokens, "token-1") // renewed in the background
		synctest.Wait()
		want(t, tokens, "token-2")
		o.fails.Store(true)
		time.Sleep(26 * time.Minute)
		for range 10 {
			want(t, tokens, "token-2") // still good, although it cannot be renewed
			synctest.Wait()
		}
		if n := o.asked.Load(); n != 3 {
			t.Errorf("asked %d times", n)
		}
		time.Sleep(6 * time.Second)
		want(t, tokens, "token-2")
		synctest.Wait()
		if n := o.asked.Load(); n != 4 {
			t.Errorf("asked %d times", n)
		}
		time.Sleep(10 * time.Minute)
		if _, err := tokens.Fields(context.Background(), nil); err == nil || !strings.Contains(err.Error(), "out of reach") {
			t.Errorf("%v", err)
		}
		o.fails.Store(false)
		want(t, tokens, "token-6")
		if list := tokens.Secrets(); len(list) != 2 || list[0] != "the credential" || list[1] != "token-6" {
			t.Errorf("%q", list)
		}
	})
}

// However many wait, the issuer is asked once; who leaves does not take the token from the others.
func TestTokenRace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &tokenServer{now: time.Now, gate: make(chan struct{})}
		tokens := o.tokens()
		ctx, leave := context.WithCancelCause(context.Background())
		var left error
		var all sync.WaitGroup
		all.Go(func() { _, left = tokens.Fields(ctx, nil) })
		synctest.Wait()
		for range 50 {
			all.Go(func() {
				if f, err := tokens.Fields(context.Background(), nil); err != nil || f.Get("Authorization") != "Bearer token-1" {
					t.Errorf("%v %v", f, err)
				}
			})
		}
		synctest.Wait()
		gone := errors.New("gone")
		leave(gone)
		synctest.Wait()
		if !errors.Is(left, gone) {
			t.Errorf("%v", left)
		}
		o.gate <- struct{}{}
		all.Wait()
		if n := o.asked.Load(); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

// An issuer that says nothing is not waited for without end.
func TestTokenSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &tokenServer{now: time.Now, gate: make(chan struct{})}
		if _, err := o.tokens().Fields(context.Background(), nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

// A refused token is replaced once, and not at each call.
func TestTokenRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &tokenServer{now: time.Now}
		tokens := o.tokens()
		old := want(t, tokens, "token-1")
		if tokens.Refused(old) {
			t.Error("a token that was given just now is not the trouble")
		}
		time.Sleep(time.Minute)
		for range 3 { // calls that had it in use
			if !tokens.Refused(old) {
				t.Error("another token can be had")
			}
			want(t, tokens, "token-2")
		}
	})
}

func TestTokenAnswers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		status int
		body   string
		want   string
	}{
		{"refused", 401, `{"code":6,"message":"credentials doesn't match db data"}`, "Unauthorized: credentials doesn't match db data"},
		{"refused in other words", 400, `{"error":"invalid_grant","error_description":"Invalid JWT"}`, "Bad Request: Invalid JWT"},
		{"a page", 502, `<html>`, "Bad Gateway"},
		{"a redirect", 302, ``, "Found"},
		{"no JSON", 200, `token`, "not JSON"},
		{"nothing", 200, `""`, "has no token"},
		{"what cannot be sent", 200, `"a b"`, "has no token"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			o := &tokenServer{now: time.Now}
			tokens := auth.NewTokens(auth.Issuer{
				Ask: func(time.Time) (*auth.Call, error) { return &auth.Call{}, nil },
				Read: func(body []byte, now time.Time) (string, time.Time, error) {
					return strings.Trim(string(body), `"`), now, nil
				},
			}, auth.Deps{Now: o.now, Go: func(run func(context.Context)) { go run(context.Background()) },
				Fetch: func(context.Context, *auth.Call) (int, []byte, error) { return tc.status, []byte(tc.body), nil }})
			_, err := tokens.Fields(context.Background(), nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %s", err, tc.want)
			}
			var refused *auth.RefusedError
			if errors.As(err, &refused) != (tc.status != 200) {
				t.Errorf("%T", err)
			}
		})
	}
}
