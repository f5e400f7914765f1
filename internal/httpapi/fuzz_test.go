package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// FuzzPath: whatever the path and query, the answer is one, and never a fault of ours.
func FuzzPath(f *testing.F) {
	n := start(f, relayFunc(hello), nil)
	for _, seed := range []string{"/v1/models", "/api/v1/models/a%2fb/", "/v1//../keys", "/%", "/v1/models?page=1&per_page=9", "/v1/activity?date=2026-02-30", "*"} {
		f.Add("GET", seed)
	}
	f.Fuzz(func(t *testing.T, method, target string) {
		u, err := url.ParseRequestURI(target)
		if err != nil {
			return // net/http refuses it itself
		}
		r := &http.Request{Method: method, URL: u, RequestURI: target, Proto: "HTTP/1.1", Body: http.NoBody, RemoteAddr: "192.0.2.1:1",
			Header: http.Header{"Authorization": {"Bearer " + n.first.ManagementKey}}}
		w := httptest.NewRecorder()
		n.api.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Fatalf("%s %q: %d %s", method, target, w.Code, w.Body)
		}
		if w.Code < 300 && strings.Contains(u.Path, "..") && !strings.Contains(u.EscapedPath(), "%") {
			t.Fatalf("%s %q left its route: %d", method, target, w.Code)
		}
	})
}

// FuzzKeyBody: a management body is taken or refused, never a fault of ours.
func FuzzKeyBody(f *testing.F) {
	n := start(f, relayFunc(hello), nil)
	for _, seed := range []string{`{"name":"x","limit":1.5,"limit_reset":"daily"}`, `{"limit":null}`, `{"name":"\u0000"}`, `{"limit":1e999}`, `[`, ``} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		r := httptest.NewRequest("PATCH", "/v1/keys/"+n.first.Key.Hash, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+n.first.ManagementKey)
		w := httptest.NewRecorder()
		n.api.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Fatalf("%q: %d %s", body, w.Code, w.Body)
		}
	})
}
