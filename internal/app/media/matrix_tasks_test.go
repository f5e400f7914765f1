package media_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"weir/internal/app/apptest"
)

// surface is a route of tasks in the failure matrix.
type surface struct {
	path     string
	wires    []apptest.Wired
	body     func(model string) map[string]any
	complete func(t *testing.T, got *apptest.Answer)
}

var surfaces = []surface{
	{
		"/v1/embeddings", apptest.Embedders, func(model string) map[string]any {
			return map[string]any{"model": model, "input": []string{"Tell me about weirs.", "And dams."}}
		},
		func(t *testing.T, got *apptest.Answer) {
			var v apptest.Vectors
			if err := json.Unmarshal(got.Body, &v); err != nil || len(v.Data) != 2 || len(v.Values(t, 1)) == 0 {
				t.Errorf("not two vectors (%v): %s", err, got.Body)
			}
		},
	},
	{
		"/v1/moderations", apptest.Moderators, func(model string) map[string]any {
			return map[string]any{"model": model, "input": []string{"Tell me about weirs.", "blood"}}
		},
		func(t *testing.T, got *apptest.Answer) {
			var m struct{ Results []apptest.Verdict }
			if err := json.Unmarshal(got.Body, &m); err != nil || len(m.Results) != 2 || !m.Results[1].Flagged {
				t.Errorf("not two verdicts (%v): %s", err, got.Body)
			}
		},
	},
	{
		"/v1/rerank", apptest.Rerankers, func(model string) map[string]any {
			return map[string]any{"model": model, "query": "weir", "documents": []string{"A dam.", "A weir."}}
		},
		func(t *testing.T, got *apptest.Answer) {
			var r apptest.Ranking
			if err := json.Unmarshal(got.Body, &r); err != nil || len(r.Results) != 2 || r.Results[0].Index != 1 {
				t.Errorf("not two ranks (%v): %s", err, got.Body)
			}
		},
	},
}

// The failure matrix of tasks that are answered whole: each wire of each surface, with and without a second provider.
func TestFailureMatrixOfTasks(t *testing.T) {
	t.Parallel()
	declare := func(s *apptest.Setup) {
		for i := range surfaces {
			apptest.DeclareTasks(t, &s.Declared, surfaces[i].wires...)
		}
	}
	patient, hasty := apptest.StartGateway(t, declare), apptest.StartGateway(t, declare, func(s *apptest.Setup) {
		apptest.Hasten(&s.Upstream)
	})
	places := apptest.NewSlots()
	for n := range apptest.Matrix {
		c, gw := &apptest.Matrix[n], patient
		if c.Whole == 0 {
			continue
		}
		if c.Waits {
			gw = hasty
		}
		places.Run(c.Waits, func() {
			t.Run(c.Name(t), func(t *testing.T) {
				var legs sync.WaitGroup
				for i := range surfaces {
					for j := range surfaces[i].wires {
						if j > 0 && (n+j)%3 != 0 || !apptest.Shown(n, i+j) { // the first wire of a surface runs all cells, the others a third each, because they share code
							continue
						}
						s, w := &surfaces[i], &surfaces[i].wires[j]
						show := func() {
							t.Run(w.ID(), func(t *testing.T) { s.show(t, gw.NewAccount(t), c, w) })
							t.Run(w.ID()+"/spared", func(t *testing.T) { s.showSpared(t, gw.NewAccount(t), c, w) })
						}
						if c.Waits { // these cells mostly wait
							legs.Go(show)
						} else {
							show()
						}
					}
				}
				legs.Wait()
			})
		})
	}
	places.Wait()
	for _, gw := range []*apptest.Gateway{patient, hasty} {
		if n := gw.Sim.Stats().Redirected; n != 0 {
			t.Errorf("%d redirects were followed", n)
		}
		gw.WantBalanced(t)
	}
}

// show makes one call that only the failing provider serves.
func (s *surface) show(t *testing.T, a *apptest.Account, c *apptest.Cell, w *apptest.Wired) {
	got := a.Do(t, http.MethodPost, s.path, s.body(w.Slug(c.Fault)))
	if want := c.Want(t, w.ID(), false); got.Status != want {
		t.Fatalf("status %d, want %d: %s", got.Status, want, got.Body)
	}
	if got.Status >= 400 {
		c.WantError(t, got)
		a.WantSpent(t, false)
	} else {
		s.wantServed(t, a, got)
	}
	got.WantNoForeignHeaders(t)
	a.WantNothingHeld(t)
}

// showSpared makes one call whose model a second provider serves, too.
func (s *surface) showSpared(t *testing.T, a *apptest.Account, c *apptest.Cell, w *apptest.Wired) {
	body, first := s.body(w.Slug(c.Fault)+"-spared"), w.ID()
	if c.Closed {
		first += "-closed"
	}
	body["provider"] = map[string]any{"order": []string{first, w.ID() + "-spare"}}
	got := a.Do(t, http.MethodPost, s.path, body)
	if c.Raw && c.Whole == got.Status { // the other provider would refuse the same request
		a.WantSpent(t, false)
	} else if got.Status != http.StatusOK {
		t.Fatalf("status %d although another provider works: %s", got.Status, got.Body)
	} else {
		s.wantServed(t, a, got)
	}
	a.WantNothingHeld(t)
}

// wantServed checks that an answer is complete and charged once, as its record says.
func (s *surface) wantServed(t *testing.T, a *apptest.Account, got *apptest.Answer) {
	t.Helper()
	s.complete(t, got)
	g := a.Generation(t, got.Header.Get("X-Generation-Id"))
	if spent := apptest.Parse(t, a.Credits(t).TotalUsage); spent != apptest.Parse(t, g.TotalCost) || g.TokensPrompt > 1000 || strings.HasPrefix(g.TotalCost.String(), "-") {
		t.Errorf("charged %s, generation %+v", spent, g)
	}
}
