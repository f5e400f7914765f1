package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/internal/apikey"
)

// addHut adds a provider with commands, whose prices are in dollars.
func (f *fleet) addHut(t *testing.T, file, upstream string) {
	t.Helper()
	weir(t, "catalog", "provider", "add", "hut", "base_url="+upstream, "-c", file)
	weir(t, "catalog", "endpoint", "add", "hut", "test/hut", "upstream_id=chat", "price_usd.prompt=1", "price_usd.completion=2", "context_length=100000", "max_output=4000", "-c", file)
}

// changes: what commands at one node change, all nodes see.
func (f *fleet) changes(t *testing.T, how string, promise time.Duration) {
	t.Helper()
	name := fmt.Sprint("user", time.Now().UnixNano())
	file := f.nodes[1].file
	weir(t, "user", "add", name, "-c", file)
	weir(t, "topup", name, "100", "-c", file)
	key := strings.TrimSpace(weir(t, "key", "add", "-q", name, "-c", file))
	of := func(s *site) *node { return &node{BaseURL: s.BaseURL, APIKey: key, client: s.client} }
	calls := func(model string, want int) func(*site) bool {
		return func(s *site) bool { return of(s).statusOf(t, model) == want }
	}
	for _, s := range f.nodes {
		for _, model := range []string{"test/chat", "test/hut"} {
			waitFor(t, "a call of "+model+" before it changes", func() bool { return calls(model, http.StatusOK)(s) })
		}
	}
	f.rate++ // no rate is that of another time: at 500 rubles for a dollar, a thousand tokens for 0.002 dollars cost a ruble
	const hut = "hut/test/hut"
	for _, x := range []struct {
		what    string
		command []string
		seen    func(*site) bool
	}{
		{"a dollar rate", []string{"rate", "set", fmt.Sprint(500 * f.rate), "--margin", "0"}, func(s *site) bool { return s.price(t, "test/hut") == fmt.Sprint(f.rate) }},
		{"a price", []string{"catalog", "endpoint", "set", hut, "price_usd.completion=6"}, func(s *site) bool { return s.price(t, "test/hut") == fmt.Sprint(3*f.rate) }},
		{"a disabled model", []string{"catalog", "endpoint", "disable", hut}, calls("test/hut", http.StatusNotFound)},
		{"an enabled model", []string{"catalog", "endpoint", "enable", hut}, calls("test/hut", http.StatusOK)},
		{"a limit", []string{"key", "rates", apikey.Hash(key), "--requests", "1234"}, func(s *site) bool {
			var text json.RawMessage
			return of(s).read("/v1/key", &text) && strings.Contains(string(text), "1234")
		}},
		{"a preference", []string{"user", "preferences", name, `{"only": ["nobody"]}`}, calls("test/chat", http.StatusNotFound)},
		{"a revoked key", []string{"key", "disable", apikey.Hash(key)}, calls("test/chat", http.StatusUnauthorized)},
	} {
		weir(t, append(x.command, "-c", file)...)
		began := time.Now()
		for _, s := range f.nodes {
			waitFor(t, "all nodes to see "+x.what, func() bool { return x.seen(s) })
		}
		promised(t, x.what+" is seen by three nodes "+how, time.Since(began), promise)
	}
	weir(t, "catalog", "endpoint", "set", hut, "price_usd.completion=2", "-c", file)
}

// statusOf is the status of a call's answer.
func (n *node) statusOf(t *testing.T, model string) int {
	t.Helper()
	res, err := n.post(t.Context(), fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"hello"}]}`, model))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode
}
