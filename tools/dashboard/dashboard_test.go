// Package dashboard checks the dashboard with the types that Grafana publishes. It is a module of its own: the product needs none of them.
package dashboard_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// Grafana knows each member of the dashboard, of its panels and of their queries, and none that it requires is missing.
func TestGrafanaReadsTheDashboard(t *testing.T) {
	t.Parallel()
	plugins.RegisterDefaultPlugins()
	text, err := os.ReadFile("../../packaging/grafana/weir.json")
	if err != nil {
		t.Fatal(err)
	}
	// The strict reader also returns empty lists of errors, and then leaves its result out. So the other one reads the dashboard again.
	if err := new(dashboard.Dashboard).UnmarshalJSONStrict(text); err != nil && err.Error() != "" {
		t.Fatalf("it is not what Grafana reads:\n%v", err)
	}
	var board dashboard.Dashboard
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	if err := board.Validate(); err != nil {
		t.Fatalf("it breaks rules of Grafana:\n%v", err)
	}
	ids := map[uint32]bool{}
	var placed []dashboard.GridPos
	for _, p := range board.Panels {
		if p.RowPanel != nil { // one that is open: its panels follow
			placed, ids = add(t, placed, ids, p.RowPanel.Id, *p.RowPanel.GridPos)
			continue
		}
		q := p.Panel
		placed, ids = add(t, placed, ids, *q.Id, *q.GridPos)
		if _, known := q.Options.(map[string]any); known {
			t.Errorf("panel %s: the SDK does not know the type %s", *q.Title, q.Type)
		}
		for _, target := range q.Targets {
			if _, unknown := target.(variants.UnknownDataquery); unknown || *q.Datasource.Type != "prometheus" {
				t.Errorf("panel %s: a query is not one for Prometheus", *q.Title)
			}
		}
	}
	if len(placed) < 20 {
		t.Errorf("there are only %d panels", len(placed))
	}
}

// add notes a panel: no two have one id or lie over each other, and none is wider than the page.
func add(t *testing.T, placed []dashboard.GridPos, ids map[uint32]bool, id uint32, at dashboard.GridPos) ([]dashboard.GridPos, map[uint32]bool) {
	t.Helper()
	if ids[id] {
		t.Errorf("two panels have the id %d", id)
	}
	ids[id] = true
	if at.X+at.W > 24 {
		t.Errorf("panel %d is beyond the right edge", id)
	}
	for _, o := range placed {
		if at.X < o.X+o.W && o.X < at.X+at.W && at.Y < o.Y+o.H && o.Y < at.Y+at.H {
			t.Errorf("panel %d at %d,%d lies over another", id, at.X, at.Y)
		}
	}
	return append(placed, at), ids
}
