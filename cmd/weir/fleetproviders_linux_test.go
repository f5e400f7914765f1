package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// outcome is the answer to a call.
type outcome struct {
	status   int
	kind     string // error_type
	provider string
	retry    string // Retry-After
}

// tries calls a model of providers in an order, and returns what comes of it.
func (n *node) tries(t *testing.T, model string) outcome {
	t.Helper()
	body := fmt.Sprintf(`{"model":%q,"provider":{"order":["near","far"]},"messages":[{"role":"user","content":"hello"}]}`, model)
	res, err := n.post(t.Context(), body)
	if err != nil {
		t.Error(err)
		return outcome{}
	}
	defer res.Body.Close()
	var is struct {
		Provider string
		Error    struct {
			Metadata struct {
				Type string `json:"error_type"`
			}
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&is); err != nil {
		t.Error(err)
		return outcome{}
	}
	return outcome{res.StatusCode, is.Error.Metadata.Type, is.Provider, res.Header.Get("Retry-After")}
}

// many calls a model several times at once.
func (n *node) many(t *testing.T, model string) []outcome {
	t.Helper()
	var calls sync.WaitGroup
	all := make([]outcome, 6)
	for i := range all {
		calls.Go(func() { all[i] = n.tries(t, model) })
	}
	calls.Wait()
	return all
}

// withoutProvider: one node cannot reach a provider. Its calls go to another provider, or fail where there is none; after some failures it does not
// try any more. Nodes know the health of providers each for itself, so the others go on there. It uses the provider again by itself.
func (f *fleet) withoutProvider(t *testing.T, how string, cut, mend func()) {
	t.Helper()
	s := f.nodes[0]
	const ejected = "weir_endpoints_ejected"
	served := outcome{status: http.StatusOK, provider: "near"}
	for i, s := range f.nodes {
		for _, model := range []string{"test/near", "test/two"} {
			if got := s.tries(t, model); got != served {
				t.Fatalf("before, node %d answers a call of %s with %+v", i, model, got)
			}
		}
	}
	f.slow.Store(true)
	defer f.slow.Store(false)
	before := f.failed.Load()
	cut()
	began := time.Now()
	failed := 0
	waitFor(t, "the node to leave the provider alone", func() bool {
		left := false
		for _, got := range s.many(t, "test/near") {
			switch {
			case got.status == http.StatusServiceUnavailable && got.kind == "no_provider" && got.retry != "":
				left = true
			case got.status == http.StatusBadGateway && got.kind == "provider_unavailable", got.status == http.StatusGatewayTimeout && got.kind == "timeout":
				failed++
			default:
				t.Fatalf("a call that no other provider can answer: %+v", got)
			}
		}
		for _, got := range s.many(t, "test/two") {
			if got.status != http.StatusOK || got.provider != "far" {
				t.Fatalf("a call that another provider can answer: %+v", got)
			}
		}
		return left
	})
	t.Logf("a node whose way to a provider is %s refuses calls of its models after %d failures, %v", how, failed, time.Since(began).Round(time.Millisecond))
	if n := s.metric(t, ejected); n == 0 {
		t.Error("no endpoint is ejected at the node")
	}
	for range 20 {
		if got := s.tries(t, "test/two"); got.status != http.StatusOK || got.provider != "far" {
			t.Errorf("at the node, a call that another provider can answer: %+v", got)
		}
		if got := f.front.tries(t, "test/two"); got.status != http.StatusOK || !strings.Contains("near far", got.provider) {
			t.Errorf("by nginx, a call that another provider can answer: %+v", got)
		}
		for i, other := range f.nodes[1:] {
			if got := other.tries(t, "test/near"); got != served {
				t.Errorf("node %d, which reaches the provider, answers with %+v", i+1, got)
			}
		}
	}
	for i, other := range f.nodes[1:] {
		if n := other.metric(t, ejected); n != 0 {
			t.Errorf("node %d, which reaches the provider, does not use %v endpoints", i+1, n)
		}
	}
	mend()
	began = time.Now()
	waitFor(t, "the node to use the provider again", func() bool { return s.tries(t, "test/near") == served && s.tries(t, "test/two") == served })
	waitFor(t, "no endpoint to be ejected", func() bool { return s.metric(t, ejected) == 0 })
	promised(t, "a provider is used again whose way was "+how, time.Since(began), 10*time.Second)
	f.answered(t, 50)
	f.allowed(t, "a node cannot reach a provider of others", before, 0)
}
