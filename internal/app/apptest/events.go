package apptest

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Events is the stream of events of an account at one node.
type Events struct {
	t    *testing.T
	r    *bufio.Reader
	Stop func()
	Last string // id of the last event
}

func (gw *Gateway) Follow(t *testing.T, key, query string) *Events {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, gw.URL+"/api/events?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := gw.Client.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v %v", query, resp, err)
	}
	f := &Events{t: t, r: bufio.NewReader(resp.Body), Stop: func() { cancel(); _ = resp.Body.Close() }}
	t.Cleanup(f.Stop)
	return f
}

// Until reads events up to one of that name for which ok holds.
func (f *Events) Until(name string, ok func(data map[string]any) bool) {
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
			f.Last = line[4:]
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
