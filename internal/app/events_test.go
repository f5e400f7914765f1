package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/store/postgres/pgtest"
)

// told is a stream of events of an account at one node.
type told struct {
	t    *testing.T
	r    *bufio.Reader
	stop func()
	last string // id of the last event
}

func (gw *gateway) follow(t *testing.T, key, query string) *told {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, gw.url+"/api/events?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := gw.client.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v %v", query, resp, err)
	}
	f := &told{t: t, r: bufio.NewReader(resp.Body), stop: func() { cancel(); _ = resp.Body.Close() }}
	t.Cleanup(f.stop)
	return f
}

// until reads events up to one of that name for which ok holds.
func (f *told) until(name string, ok func(data map[string]any) bool) {
	f.t.Helper()
	event := ""
	for {
		line, err := f.r.ReadString('\n')
		if err != nil {
			f.t.Fatalf("waiting for %s: %v", name, err)
		}
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "id: "):
			f.last = line[4:]
		case strings.HasPrefix(line, "event: "):
			event = line[7:]
		case strings.HasPrefix(line, "data: ") && event == name:
			var data map[string]any
			if err := json.Unmarshal([]byte(line[6:]), &data); err != nil {
				f.t.Fatal(err)
			}
			if ok(data) {
				return
			}
		}
	}
}

// A call at one node is told at another one, with the same money that its pages show, and what was missed at one node is told by the other.
func TestEventsOnTwoNodes(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 2, pgtest.New(t), quick)
	here, there := nodes[0], nodes[1]
	o := here.newOwner(t, 10, apikey.NewKey{})
	anything := func(map[string]any) bool { return true }
	f := there.follow(t, o.pages.key, "topics=calls,money")
	f.until("ready", anything)
	call := func() {
		t.Helper()
		if got := o.chat(t, map[string]any{"model": "test/next", "messages": []any{map[string]any{"role": "user", "content": "hello"}}}); got.status != http.StatusOK {
			t.Fatalf("status %d: %s", got.status, got.body)
		}
	}
	call()
	f.until("calls", func(data map[string]any) bool { return data["calls"] == 1.0 })
	call()
	want := o.page(t, "/api/overview")
	f.until("money", func(data map[string]any) bool {
		return data["available"] == want["available"] && data["balance"] == want["balance"]
	})
	f.stop()

	call()
	o.page(t, "/api/overview") // it is in the database now
	again := here.follow(t, o.pages.key, "topics=calls&after="+f.last)
	again.until("ready", anything)
	again.until("calls", func(data map[string]any) bool { return data["calls"] == 3.0 })

	// Nothing of it is told to another account, whatever id it sends.
	stranger := here.newOwner(t, 10, apikey.NewKey{})
	none := here.follow(t, stranger.pages.key, "topics=calls&after="+f.last)
	none.until("ready", func(data map[string]any) bool {
		if calls := data["calls"].(map[string]any)["calls"]; calls != 0.0 {
			t.Errorf("another account is told of %v calls", calls)
		}
		return true
	})
}
