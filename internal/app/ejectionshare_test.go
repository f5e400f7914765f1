package app_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"weir/internal/app/apptest"
	"weir/internal/catalog"
	"weir/internal/config"
)

// One account cannot make a model's only endpoint unavailable to others by bad inputs, lengths or files: every call of another account is
// served, and the first account is also admitted again from time to time.
func TestOneAccountEjectsNothing(t *testing.T) {
	t.Parallel()
	for name, provoked := range map[string]func(w http.ResponseWriter){
		"an error of the provider": func(w http.ResponseWriter) { http.Error(w, "out of order", http.StatusInternalServerError) },
		"too much at a time":       func(w http.ResponseWriter) { http.Error(w, "slow down", http.StatusTooManyRequests) },
		"an answer cut off":        func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"no answer in time":        func(w http.ResponseWriter) { http.Error(w, "timeout", http.StatusGatewayTimeout) },
		"an answer without sense":  func(w http.ResponseWriter) { _, _ = w.Write([]byte("<html>")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sim http.Handler
			var mischief atomic.Int64
			g := apptest.StartGateway(t, func(s *apptest.Setup) {
				s.Health = config.Default().Health
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, err := io.ReadAll(r.Body)
					if err != nil {
						panic(http.ErrAbortHandler)
					}
					if bytes.Contains(body, []byte("mischief")) {
						mischief.Add(1)
						provoked(w)
						return
					}
					r.Body = io.NopCloser(bytes.NewReader(body))
					sim.ServeHTTP(w, r)
				}))
				t.Cleanup(server.Close)
				s.Declared.Providers = append(s.Declared.Providers, catalog.Provider{ID: "only", Name: "only", Dialect: "openai", BaseURL: server.URL + "/v1"})
				o := apptest.OfferOf(t, "only", "test/alone", "chat")
				o.Pricing.Base.Prompt = apptest.Price(t, "0.1")
				s.Offers = append(s.Offers, o)
			})
			sim = g.Sim
			bad, good := g.NewAccount(t), g.NewAccount(t)
			ask := func(a *apptest.Account, text string) int {
				return a.Chat(t, map[string]any{"model": "test/alone", "messages": []any{map[string]any{"role": "user", "content": text}}}).Status
			}
			for i := range 50 {
				if status := ask(bad, "mischief"); status < 429 {
					t.Fatalf("bad request %d was answered with %d", i, status)
				}
				if status := ask(good, "hello"); status != http.StatusOK {
					t.Fatalf("after %d bad requests another account's call was answered with %d", i+1, status)
				}
			}
			if n := mischief.Load(); n < 5 || n > 49 {
				t.Errorf("the provider saw %d of 50 bad requests", n)
			}
		})
	}
}
