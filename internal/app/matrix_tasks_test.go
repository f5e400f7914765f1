package app_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// surface is a route of tasks in the failure matrix.
type surface struct {
	path     string
	wires    []wired
	body     func(model string) map[string]any
	complete func(t *testing.T, got *answer)
}

var surfaces = []surface{
	{
		"/v1/embeddings", embedders, func(model string) map[string]any {
			return map[string]any{"model": model, "input": []string{"Tell me about weirs.", "And dams."}}
		},
		func(t *testing.T, got *answer) {
			var v vectors
			if err := json.Unmarshal(got.body, &v); err != nil || len(v.Data) != 2 || len(v.values(t, 1)) == 0 {
				t.Errorf("not two vectors (%v): %s", err, got.body)
			}
		},
	},
	{
		"/v1/moderations", moderators, func(model string) map[string]any {
			return map[string]any{"model": model, "input": []string{"Tell me about weirs.", "blood"}}
		},
		func(t *testing.T, got *answer) {
			var m struct{ Results []verdict }
			if err := json.Unmarshal(got.body, &m); err != nil || len(m.Results) != 2 || !m.Results[1].Flagged {
				t.Errorf("not two verdicts (%v): %s", err, got.body)
			}
		},
	},
	{
		"/v1/rerank", rerankers, func(model string) map[string]any {
			return map[string]any{"model": model, "query": "weir", "documents": []string{"A dam.", "A weir."}}
		},
		func(t *testing.T, got *answer) {
			var r ranking
			if err := json.Unmarshal(got.body, &r); err != nil || len(r.Results) != 2 || r.Results[0].Index != 1 {
				t.Errorf("not two ranks (%v): %s", err, got.body)
			}
		},
	},
}

// The failure matrix of tasks that are answered whole: each wire of each surface, with and without a second provider.
func TestFailureMatrixOfTasks(t *testing.T) {
	t.Parallel()
	declare := func(s *setup) {
		for i := range surfaces {
			declareTasks(t, &s.Declared, surfaces[i].wires...)
		}
	}
	patient, hasty := startGateway(t, declare), startGateway(t, declare, func(s *setup) {
		u := &s.Upstream
		u.FirstByteTimeout, u.StreamFirstByteTimeout, u.IdleTimeout = 2*time.Second, 2*time.Second, 2*time.Second
		u.TotalTimeout, u.StreamTotalTimeout = 4*time.Second, 4*time.Second
	})
	places := newPlaces()
	for n := range matrix {
		c, gw := &matrix[n], patient
		if c.whole == 0 {
			continue
		}
		if c.waits {
			gw = hasty
		}
		places.run(c.waits, func() {
			t.Run(c.name(t), func(t *testing.T) {
				var legs sync.WaitGroup
				for i := range surfaces {
					for j := range surfaces[i].wires {
						if j > 0 && (n+j)%3 != 0 || !shown(n, i+j) { // the first wire of a surface runs all cells, the others a third each, because they share code
							continue
						}
						s, w := &surfaces[i], &surfaces[i].wires[j]
						show := func() {
							t.Run(w.id(), func(t *testing.T) { s.show(t, gw.newAccount(t), c, w) })
							t.Run(w.id()+"/spared", func(t *testing.T) { s.showSpared(t, gw.newAccount(t), c, w) })
						}
						if c.waits { // these cells mostly wait
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
	for _, gw := range []*gateway{patient, hasty} {
		if n := gw.sim.Stats().Redirected; n != 0 {
			t.Errorf("%d redirects were followed", n)
		}
		gw.wantBalanced(t)
	}
}

// show makes one call that only the failing provider serves.
func (s *surface) show(t *testing.T, a *account, c *cell, w *wired) {
	got := a.do(t, http.MethodPost, s.path, s.body(w.slug(c.fault)))
	if want := c.want(t, w.id(), false); got.status != want {
		t.Fatalf("status %d, want %d: %s", got.status, want, got.body)
	}
	if got.status >= 400 {
		c.wantError(t, got)
		a.wantSpent(t, false)
	} else {
		s.wantServed(t, a, got)
	}
	got.wantNoForeignHeaders(t)
	a.wantNothingHeld(t)
}

// showSpared makes one call whose model a second provider serves, too.
func (s *surface) showSpared(t *testing.T, a *account, c *cell, w *wired) {
	body, first := s.body(w.slug(c.fault)+"-spared"), w.id()
	if c.closed {
		first += "-closed"
	}
	body["provider"] = map[string]any{"order": []string{first, w.id() + "-spare"}}
	got := a.do(t, http.MethodPost, s.path, body)
	if c.raw && c.whole == got.status { // the other provider would refuse the same request
		a.wantSpent(t, false)
	} else if got.status != http.StatusOK {
		t.Fatalf("status %d although another provider works: %s", got.status, got.body)
	} else {
		s.wantServed(t, a, got)
	}
	a.wantNothingHeld(t)
}

// wantServed checks that an answer is complete and charged once, as its record says.
func (s *surface) wantServed(t *testing.T, a *account, got *answer) {
	t.Helper()
	s.complete(t, got)
	g := a.generation(t, got.header.Get("X-Generation-Id"))
	if spent := parse(t, a.credits(t).TotalUsage); spent != parse(t, g.TotalCost) || g.TokensPrompt > 1000 || strings.HasPrefix(g.TotalCost.String(), "-") {
		t.Errorf("charged %s, generation %+v", spent, g)
	}
}
