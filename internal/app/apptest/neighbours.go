package apptest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Beside makes calls that must all succeed, and returns their 99th percentile.
func (a *Account) Beside(t *testing.T, calls int, use func(*testing.T, *Account)) time.Duration {
	t.Helper()
	var took []time.Duration
	for i := range calls {
		start := time.Now()
		got := a.Chat(t, map[string]any{"model": "test/next", "stream": i%2 == 1, "messages": []any{map[string]any{"role": "user", "content": "hello"}}})
		took = append(took, time.Since(start))
		if got.Status != http.StatusOK {
			t.Fatalf("call %d: status %d: %s", i, got.Status, got.Body)
		}
		got.WantComplete(t, i%2 == 1)
	}
	if use != nil {
		use(t, a)
	}
	slices.Sort(took)
	return took[len(took)*99/100]
}

// Press sends requests concurrently, again and again, until ctx ends. It returns when one was refused with that status and limited_by.
func (a *Account) Press(ctx context.Context, t *testing.T, workers int, status int, by string, request func(i int) *http.Request) {
	t.Helper()
	refused := make(chan struct{})
	var once sync.Once
	var done sync.WaitGroup
	var mu sync.Mutex
	others := map[string]int{} // some answers of other sorts, for the message
	note := func(answer string) {
		mu.Lock()
		defer mu.Unlock()
		if _, known := others[answer]; known || len(others) < 20 {
			others[answer]++
		}
	}
	t.Cleanup(done.Wait)
	for i := range workers {
		done.Go(func() {
			for n := 0; n < 1000 && ctx.Err() == nil; n++ {
				req := request(i).WithContext(ctx)
				if req.Header.Get("X-Anonymous") == "" {
					req.Header.Set("Authorization", "Bearer "+a.Key)
				}
				if req.Header.Get("Content-Type") == "" {
					req.Header.Set("Content-Type", "application/json")
				}
				res, err := a.Gw.Client.Do(req)
				if err != nil { // ctx has ended it, or the node has cut it
					note(err.Error())
					continue
				}
				body, _ := io.ReadAll(res.Body)
				_ = res.Body.Close()
				if res.StatusCode == status && strings.Contains(string(body), by) {
					once.Do(func() { close(refused) })
					select { // sooner than Retry-After, but not at once, because the other user needs the processors, too
					case <-ctx.Done():
					case <-time.After(200 * time.Millisecond):
					}
					continue
				}
				note(strconv.Itoa(res.StatusCode) + " " + string(body[:min(len(body), 200)]))
			}
		})
	}
	select {
	case <-refused:
	case <-time.After(time.Minute):
		mu.Lock()
		defer mu.Unlock()
		t.Fatalf("nothing was refused with %d and %q, but answered: %v", status, by, others)
	}
}

func (a *Account) Request(method, path string, body any) *http.Request {
	b, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	req, err := http.NewRequest(method, a.Gw.URL+path, bytes.NewReader(b))
	if err != nil {
		panic(err)
	}
	return req
}

// Named makes a call with an Idempotency-Key.
func (a *Account) Named(t *testing.T, name string) *Answer {
	t.Helper()
	return a.Send(t, http.MethodPost, "/v1/chat/completions", []byte(`{"model":"test/next","messages":[{"role":"user","content":"hello"}]}`), map[string]string{"Idempotency-Key": name})
}
