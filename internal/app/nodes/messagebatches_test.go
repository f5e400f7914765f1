package nodes_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/config"
)

// A batch of Anthropic's shape goes to every provider that has batches as one batch of it, and its results are messages.
func TestMessageBatchesAtProviders(t *testing.T) {
	t.Parallel()
	gw := nativeGateway(t)
	for _, wire := range []string{"openai", "anthropic", "gemini"} {
		t.Run(wire, func(t *testing.T) {
			before, _ := gw.Sim.Batches().Counts()
			o := gw.NewOwner(t, 500, apikey.NewKey{})
			id := o.Batch(t, "acme/"+wire, 5)
			if results := o.Ended(t, id); results["succeeded"] != 5 || len(results) != 1 {
				t.Fatalf("%v", results)
			}
			if made, _ := gw.Sim.Batches().Counts(); made != before+1 {
				t.Errorf("%d batches were made", made-before)
			}
			seen := map[string]bool{}
			for line := range strings.Lines(string(o.Do(t, http.MethodGet, "/v1/messages/batches/"+id+"/results", nil).Body)) {
				var r struct {
					ID     string `json:"custom_id"`
					Result struct {
						Message struct {
							Type, Role string
							Content    []struct{ Type, Text string }
							Usage      struct {
								Input  int64 `json:"input_tokens"`
								Output int64 `json:"output_tokens"`
							}
						}
					}
				}
				if err := json.Unmarshal([]byte(line), &r); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				m := r.Result.Message
				if seen[r.ID] || m.Type != "message" || m.Role != "assistant" || len(m.Content) == 0 || m.Usage.Input <= 0 || m.Usage.Output <= 0 {
					t.Errorf("%s", line)
				}
				seen[r.ID] = true
			}
			list, _ := o.Page(t, "/api/calls")["data"].([]any)
			if len(list) != 5 {
				t.Fatalf("%d calls", len(list))
			}
			for _, one := range list {
				call, _ := one.(map[string]any)
				usage, _ := o.Page(t, "/api/calls/"+fmt.Sprint(call["id"]))["usage"].(map[string]any)
				if len(parts(usage)) == 0 {
					t.Errorf("no usage: %v", call)
				}
				for _, p := range parts(usage) {
					if fmt.Sprint(p["price"]) != "5" {
						t.Errorf("%v", p)
					}
				}
			}
		})
	}
	gw.WantBalanced(t)
}

// Requests with data_collection: deny go only to batches of providers whose policy allows it; with zero data retention, none go to a provider's batch.
func TestDataPoliciesOfBatches(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy string
		prefer map[string]any
		works  bool
	}{
		"a provider that trains":             {"training", map[string]any{"data_collection": "deny"}, false},
		"a provider that retains":            {"retained", map[string]any{"data_collection": "deny"}, false},
		"a provider of unknown policy":       {"", map[string]any{"data_collection": "deny"}, false},
		"a provider that keeps for a while":  {"transient", map[string]any{"data_collection": "deny"}, true},
		"a provider that keeps nothing":      {"zero", map[string]any{"data_collection": "deny"}, true},
		"zero retention, and keeps nothing":  {"zero", map[string]any{"zdr": true}, false},
		"zero retention, and keeps a while":  {"transient", map[string]any{"zdr": true}, false},
		"a provider that trains, if allowed": {"training", map[string]any{"data_collection": "allow"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gw := nativeGateway(t, func(s *apptest.Setup) {
				list := append([]config.Provider(nil), s.Config.Providers...)
				for i := range list {
					list[i].DataPolicy = c.policy
				}
				s.Config.Providers = list
			})
			for i, wire := range []string{"openai", "anthropic", "gemini"} {
				o := gw.NewOwner(t, 500, apikey.NewKey{})
				lines := make([]map[string]any, 3)
				for n := range lines {
					lines[n] = nativeBodies["/v1/chat/completions"]("acme/" + wire)
					lines[n]["provider"] = c.prefer
				}
				_, got := o.Finished(t, o.RequestsBatch(t, "/v1/chat/completions", lines...))
				if len(got) != len(lines) {
					t.Fatalf("%s: %d lines", wire, len(got))
				}
				for id, line := range got {
					if good := line.Response != nil && line.Response.Status == http.StatusOK; good != c.works {
						t.Errorf("%s %s: %+v %s", wire, id, line.Response, line.Error)
					}
				}
				want := int64(0)
				if c.works {
					want = int64(i + 1)
				}
				if made, _ := gw.Sim.Batches().Counts(); int64(made) != want {
					t.Errorf("%s: %d batches were made, want %d", wire, made, want)
				}
			}
			gw.WantBalanced(t)
		})
	}
}
