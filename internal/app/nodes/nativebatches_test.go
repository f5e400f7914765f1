package nodes_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/config"
	"weir/internal/sim/batches"
)

// nativeGateway starts a gateway with a model on each wire that has batches, whose prices in batches are half.
func nativeGateway(t *testing.T, change ...func(*apptest.Setup)) *apptest.Gateway {
	t.Helper()
	return apptest.StartGateway(t, append([]func(*apptest.Setup){func(s *apptest.Setup) {
		base, _ := strings.CutSuffix(s.Declared.Providers[0].BaseURL, "/v1")
		offers := func(wire string) (list []config.Offer) {
			for _, tier := range []string{"", "batch"} {
				price := config.Decimal("10")
				if tier != "" {
					price = "5"
				}
				list = append(list, config.Offer{ID: "acme/" + wire, UpstreamID: "chat", Tier: tier, Prices: config.Prices{Prompt: price, Completion: price}})
			}
			return list
		}
		s.Config.Providers = []config.Provider{
			{ID: "oa", BaseURL: base + "/v1", Models: offers("openai")},
			{ID: "an", Dialect: "anthropic", BaseURL: base + "/anthropic", Models: offers("anthropic")},
			{ID: "ge", Dialect: "gemini", BaseURL: base + "/v1beta", Models: offers("gemini")},
		}
		s.Server.AdminListen = "127.0.0.1:0"
		s.Batch.LostAfter = 10 * time.Millisecond
	}}, change...)...)
}

var nativeBodies = map[string]func(model string) map[string]any{
	"/v1/chat/completions": func(model string) map[string]any {
		return map[string]any{"model": model, "max_tokens": 5, "messages": apptest.Question}
	},
	"/v1/messages": func(model string) map[string]any {
		return map[string]any{"model": model, "max_tokens": 5, "messages": apptest.Question}
	},
	"/v1/responses": func(model string) map[string]any {
		return map[string]any{"model": model, "max_output_tokens": 16, "input": "hello"}
	},
}

// Requests of every style go to every provider that has batches as one batch of it, and cost its price there.
func TestNativeBatches(t *testing.T) {
	t.Parallel()
	gw := nativeGateway(t)
	for _, wire := range []string{"openai", "anthropic", "gemini"} {
		for endpoint, body := range nativeBodies {
			t.Run(wire+endpoint, func(t *testing.T) {
				before, _ := gw.Sim.Batches().Counts()
				o := gw.NewOwner(t, 500, apikey.NewKey{})
				list := make([]map[string]any, 7)
				for i := range list {
					list[i] = body("acme/" + wire)
				}
				status, lines := o.Finished(t, o.RequestsBatch(t, endpoint, list...))
				if status != "completed" || len(lines) != len(list) {
					t.Fatalf("%s, %d lines", status, len(lines))
				}
				if made, _ := gw.Sim.Batches().Counts(); made != before+1 {
					t.Errorf("%d batches were made", made-before)
				}
				for id, line := range lines {
					if line.Response == nil || line.Response.Status != 200 {
						t.Fatalf("%s: %+v %s", id, line.Response, line.Error)
					}
					c := o.Page(t, "/api/calls/"+line.Response.Generation)
					usage, _ := c["usage"].(map[string]any)
					for _, p := range parts(usage) {
						if fmt.Sprint(p["price"]) != "5" {
							t.Errorf("%s: %v", id, p)
						}
					}
				}
			})
		}
	}
	apptest.WaitFor(t, "nothing to be left at the provider", func() bool { return gw.Sim.Batches().Kept() == 0 })
	gw.WantBalanced(t)
}

// A batch that its user cancels while the provider works leaves nothing there, either.
func TestCancelledNativeBatchIsDeleted(t *testing.T) {
	t.Parallel()
	for _, wire := range []string{"openai", "anthropic", "gemini"} {
		t.Run(wire, func(t *testing.T) {
			t.Parallel()
			gw := nativeGateway(t)
			gw.Sim.Batches().SetFaults(batches.Faults{Never: true})
			o := gw.NewOwner(t, 500, apikey.NewKey{})
			list := make([]map[string]any, 4)
			for i := range list {
				list[i] = nativeBodies["/v1/chat/completions"]("acme/" + wire)
			}
			id := o.RequestsBatch(t, "/v1/chat/completions", list...)
			apptest.WaitFor(t, "the provider's batch", func() bool { made, _ := gw.Sim.Batches().Counts(); return made == 1 && gw.Sim.Batches().Kept() > 0 })
			if got := o.Do(t, http.MethodPost, "/v1/batches/"+id+"/cancel", nil); got.Status != http.StatusOK {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
			if status, lines := o.Finished(t, id); status != "cancelled" || len(lines) != len(list) {
				t.Errorf("%s, %d lines", status, len(lines))
			}
			apptest.WaitFor(t, "nothing to be left at the provider", func() bool { return gw.Sim.Batches().Kept() == 0 })
			gw.WantBalanced(t)
		})
	}
}

// Whatever a provider does with a batch, each line has one result, and is charged at most once, and nothing of it is left at the provider.
func TestNativeBatchFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		faults batches.Faults
		native int // lines that the provider's batch answers; -1 any
		made   int // batches
	}{
		"refused":               {batches.Faults{Submit: batches.Refused}, 0, 0},
		"an error":              {batches.Faults{Submit: batches.Failed}, 0, 0},
		"the request is lost":   {batches.Faults{Submit: batches.LostAsk}, 0, 0},
		"the answer is lost":    {batches.Faults{Submit: batches.LostAnswer}, 6, 1},
		"polls":                 {batches.Faults{Polls: 2}, 6, 1},
		"results twice":         {batches.Faults{Twice: true}, 6, 1},
		"results are missing":   {batches.Faults{Missing: true}, 3, 1},
		"unknown results":       {batches.Faults{Unknown: true}, 6, 1},
		"requests fail":         {batches.Faults{Errors: true}, 3, 1},
		"the batch expires":     {batches.Faults{Expires: true}, 0, 1},
		"usage is negative":     {batches.Faults{Usage: `{"prompt_tokens":-5,"completion_tokens":-9,"input_tokens":-5,"output_tokens":-9,"promptTokenCount":-5,"candidatesTokenCount":-9}`}, -1, 1},
		"usage is far too much": {batches.Faults{Usage: `{"prompt_tokens":999999999,"completion_tokens":999999999,"input_tokens":999999999,"output_tokens":999999999,"promptTokenCount":999999999,"candidatesTokenCount":999999999}`}, -1, 1},
		"usage is no object":    {batches.Faults{Usage: `"x"`}, -1, 1},
	} {
		for _, wire := range []string{"openai", "anthropic", "gemini"} {
			t.Run(name+"/"+wire, func(t *testing.T) {
				t.Parallel()
				gw := nativeGateway(t)
				gw.Sim.Batches().SetFaults(c.faults)
				o := gw.NewOwner(t, 500, apikey.NewKey{})
				list := make([]map[string]any, 6)
				for i := range list {
					list[i] = nativeBodies["/v1/chat/completions"]("acme/" + wire)
				}
				status, lines := o.Finished(t, o.RequestsBatch(t, "/v1/chat/completions", list...))
				if status != "completed" || len(lines) != len(list) {
					t.Fatalf("%s, %d lines", status, len(lines))
				}
				native := 0
				for id, line := range lines {
					if line.Response == nil || line.Response.Status != 200 {
						if c.native >= 0 {
							t.Errorf("%s: %+v %s", id, line.Response, line.Error)
						}
						continue
					}
					call := o.Page(t, "/api/calls/"+line.Response.Generation)
					usage, _ := call["usage"].(map[string]any)
					if parts := parts(usage); len(parts) > 0 && fmt.Sprint(parts[0]["price"]) == "5" {
						native++
					}
				}
				apptest.WaitFor(t, "nothing to be left at the provider", func() bool { return gw.Sim.Batches().Kept() == 0 })
				if made, _ := gw.Sim.Batches().Counts(); made != c.made || c.native >= 0 && native != c.native {
					t.Errorf("%d batches, %d lines of %d by them, want %d and %d", made, native, len(lines), c.made, c.native)
				}
				gw.WantBalanced(t)
			})
		}
	}
}

// parts are the lines of the usage of a call.
func parts(usage map[string]any) (list []map[string]any) {
	all, _ := usage["parts"].([]any)
	for _, one := range all {
		part, _ := one.(map[string]any)
		list = append(list, part)
	}
	return list
}
