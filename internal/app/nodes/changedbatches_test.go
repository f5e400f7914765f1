package nodes_test

import (
	"net/http"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/sim/batches"
)

// What a provider has done for a batch is charged and delivered, whatever of the account makes up the request is changed meanwhile. Else
// anybody could have providers work at the cost of the operator.
func TestChangesWhileAProviderWorks(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, o *apptest.Owner){
		"the preset is deleted": func(t *testing.T, o *apptest.Owner) {
			if got := o.Pages.Do(t, http.MethodDelete, "/api/presets/tone", nil); got.Status != http.StatusOK {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
		},
		"the preset names another model": func(t *testing.T, o *apptest.Owner) {
			if got := o.Pages.Do(t, http.MethodPut, "/api/presets/tone", map[string]any{"model": "acme/gemini"}); got.Status != http.StatusOK {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
		},
		"the account prefers others": func(t *testing.T, o *apptest.Owner) {
			if got := o.Pages.Do(t, http.MethodPut, "/api/account/preferences", map[string]any{"provider": map[string]any{"only": []string{"ge"}}}); got.Status != http.StatusOK {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
		},
		"the account requires zero data retention": func(t *testing.T, o *apptest.Owner) {
			if got := o.Pages.Do(t, http.MethodPut, "/api/account/preferences", map[string]any{"provider": map[string]any{"zdr": true}}); got.Status != http.StatusOK {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gw := nativeGateway(t)
			o := gw.NewOwner(t, 500, apikey.NewKey{})
			o.MakePreset(t, map[string]any{"name": "tone", "model": "acme/openai", "parameters": map[string]any{"max_tokens": 5}})
			gw.Sim.Batches().SetFaults(batches.Faults{Never: true})
			list := make([]map[string]any, 4)
			for i := range list {
				list[i] = map[string]any{"model": "@preset/tone", "messages": apptest.Question}
			}
			id := o.RequestsBatch(t, "/v1/chat/completions", list...)
			apptest.WaitFor(t, "the provider's batch", func() bool { made, _ := gw.Sim.Batches().Counts(); return made == 1 })
			change(t, o)
			gw.Sim.Batches().SetFaults(batches.Faults{})
			status, lines := o.Finished(t, id)
			if status != "completed" || len(lines) != len(list) {
				t.Fatalf("%s, %d lines", status, len(lines))
			}
			for id, line := range lines {
				if line.Response == nil || line.Response.Status != http.StatusOK {
					t.Fatalf("%s: %+v %s", id, line.Response, line.Error)
				}
				call := o.Page(t, "/api/calls/"+line.Response.Generation)
				if call["preset"] == nil || len(parts(call["usage"].(map[string]any))) == 0 { //nolint:forcetypeassert // else the test fails
					t.Errorf("%s: %v", id, call)
				}
			}
			gw.WantBalanced(t)
		})
	}
}
