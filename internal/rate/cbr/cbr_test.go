package cbr_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"weir/internal/rate/cbr"
)

func TestFetch(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/list", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("User-Agent") != "weir" {
			t.Errorf("headers %v", r.Header)
		}
		_, _ = w.Write([]byte("the list"))
	})
	mux.HandleFunc("/away", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) })
	mux.HandleFunc("/huge", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(bytes.Repeat([]byte("x"), 257<<10)) })
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("the li"))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	for path, want := range map[string]string{"/list": "the list", "/away": "", "/moved": "", "/huge": "", "/cut": ""} {
		s, err := cbr.New(server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Fetch(t.Context())
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	s, err := cbr.New(server.URL+"/list", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Fetch(ctx); err == nil {
		t.Error("a cancelled fetch went on")
	}
	if _, err := cbr.New("http://www.cbr.ru/", nil); err == nil {
		t.Error("a plain http address")
	}
}
