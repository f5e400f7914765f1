package sim_test

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"weir/internal/sim"
	"weir/internal/sim/kit"
)

var created = regexp.MustCompile(`"created":\d+`)

// Each shape can be asked for on its wire, and a server with a seed dresses answers by itself.
func TestShapes(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	ask := func(s *sim.Server, marker string, stream string) string {
		t.Helper()
		r := httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(`{"model":"chat","stream":`+stream+`,"messages":[{"role":"user","content":"`+marker+`A heron"}]}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != 200 {
			t.Fatalf("%s: %d %s", marker, w.Code, w.Body)
		}
		return created.ReplaceAllString(w.Body.String(), `"created":0`) // a second may pass between two
	}
	plain, plainStream := ask(s, "", "false"), ask(s, "", "true")
	for i := range kit.Shapes {
		shape := &kit.Shapes[i]
		if shape.Wire != "chat" {
			continue
		}
		marker := "[[sim shape=" + shape.Name + "]] "
		if ask(s, marker, "false") == plain && ask(s, marker, "true") == plainStream && shape.Name != "borders" {
			t.Errorf("%s changes nothing", shape.Name)
		}
	}
	seeded := sim.New(sim.Config{Shapes: 7})
	if ask(seeded, "[[sim shape=none]] ", "true") != plainStream {
		t.Error("shape=none is dressed")
	}
	dressed := 0
	before := ask(seeded, "", "true")
	if after := ask(seeded, "", "true"); after != before {
		t.Errorf("the same request gets other bytes:\n%s\n%s", before, after)
	}
	for _, name := range []string{"seed=1", "seed=2", "seed=3", "seed=4"} {
		if ask(seeded, "[[sim "+name+"]] ", "false") != ask(s, "[[sim "+name+"]] ", "false") {
			dressed++
		}
	}
	if dressed == 0 {
		t.Error("a seed dresses no answer")
	}
}
