package health_test

import (
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/health"
	"weir/internal/routing"
)

// What an operator drained is only left out of new plans; what was ejected is admitted no more, not even to find out whether it is well; and both come
// back by themselves where that was said.
func TestOutOfService(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	r := health.New(health.Default(func() time.Time { return now }))
	ep := &catalog.Endpoint{ID: "p/v/m", Provider: &catalog.Provider{BaseURL: "http://p"}}
	running, _, _ := r.Admit(ep, "a")
	admits := func() health.Refusal {
		p, why, _ := r.Admit(ep, "a")
		p.End(health.Sample{})
		return why
	}
	is := func() routing.Service {
		if outs := r.Outs(); outs != nil {
			return outs(ep.ID)
		}
		return routing.InService
	}
	soon := now.Add(time.Minute)
	for _, x := range []struct {
		name  string
		out   []health.Out
		is    routing.Service
		why   health.Refusal
		later routing.Service // after a minute
	}{
		{"nothing", nil, routing.InService, health.None, routing.InService},
		{"drained", []health.Out{{Service: routing.Drained}}, routing.Drained, health.None, routing.Drained},
		{"drained for a time", []health.Out{{Service: routing.Drained, Until: soon}}, routing.Drained, health.None, routing.InService},
		{"ejected", []health.Out{{Service: routing.Cut}}, routing.Cut, health.Withdrawn, routing.Cut},
		{"ejected for a time", []health.Out{{Service: routing.Cut, Until: soon}}, routing.Cut, health.Withdrawn, routing.InService},
		{"drained, and ejected for a time", []health.Out{{Service: routing.Drained}, {Service: routing.Cut, Until: soon}}, routing.Cut, health.Withdrawn, routing.Drained},
	} {
		all := map[string][]health.Out{}
		if x.out != nil {
			all[ep.ID] = x.out
		}
		r.SetOut(all)
		if got, why := is(), admits(); got != x.is || why != x.why {
			t.Errorf("%s: %v and %v, want %v and %v", x.name, got, why, x.is, x.why)
		}
		if _, _, probed := r.Probe([]*catalog.Endpoint{ep}, "a"); probed && x.why == health.Withdrawn {
			t.Errorf("%s: it is probed", x.name)
		}
		was := now
		now = soon
		if got := is(); got != x.later {
			t.Errorf("%s: a minute later %v, want %v", x.name, got, x.later)
		}
		now = was
	}
	running.End(health.Sample{Result: health.Served}) // what had begun ends as usual
	if r.Window(ep.ID, health.HalfHour).Served != 1 {
		t.Error("an attempt that was running did not end")
	}
}
