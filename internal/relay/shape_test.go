package relay_test

import (
	"iter"
	"slices"
	"testing"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/relay"
	"weir/internal/routing"
)

// shaper is asked what becomes of requests and answers.
type shaper struct {
	asked []string
	shape func(ep *catalog.Endpoint, req *completion.Request) (*completion.Request, relay.Reshape, error)
}

func (s *shaper) Shape(ep *catalog.Endpoint, req *completion.Request) (*completion.Request, relay.Reshape, error) {
	s.asked = append(s.asked, ep.ID)
	return s.shape(ep, req)
}

func shapedWorld(t *testing.T, shape func(ep *catalog.Endpoint, req *completion.Request) (*completion.Request, relay.Reshape, error)) (*world, *shaper) {
	s := &shaper{shape: shape}
	w := newWorld(t, func(d *relay.Deps, _ *relay.Config) { d.Shaper = s }, market()...)
	for _, id := range []string{"alpha/v/m", "beta/v/m", "gamma/v/m", "delta/v/n"} {
		w.plays(id, whole("hello", 10, 5))
	}
	return w, s
}

func formatted(c *relay.Call) { c.Request.Format = &completion.Format{Kind: completion.FormatJSON} }

func TestShapeIsAskedOnlyWhereItMatters(t *testing.T) {
	t.Parallel()
	w, s := shapedWorld(t, func(_ *catalog.Endpoint, req *completion.Request) (*completion.Request, relay.Reshape, error) {
		return req, nil, nil
	})
	for _, c := range []*relay.Call{w.call(), w.call(streamed)} {
		if err := w.relay.Complete(t.Context(), c, &sink{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.asked) > 0 {
		t.Errorf("asked about %q", s.asked)
	}
	if err := w.relay.Complete(t.Context(), w.call(formatted), &sink{}); err != nil || len(s.asked) != 1 {
		t.Errorf("asked about %q: %v", s.asked, err)
	}
}

// What was made of the request is what is sent, held for and charged.
func TestShapedRequest(t *testing.T) {
	t.Parallel()
	w, _ := shapedWorld(t, func(_ *catalog.Endpoint, req *completion.Request) (*completion.Request, relay.Reshape, error) {
		out := *req
		out.Needs.PromptTokens, out.MaxTokens = 500, 100
		return &out, nil, nil
	})
	c := w.call(formatted)
	if err := w.relay.Complete(t.Context(), c, &sink{}); err != nil {
		t.Fatal(err)
	}
	if held := w.settled(c).Hold; held != rubles("0.7") { // 500 tokens at 1 ruble per thousand, and 100 at 2
		t.Errorf("held %s", held)
	}
	if w.up.seen[0].request.Needs.PromptTokens != 500 || c.Request.Needs.PromptTokens != 10 {
		t.Errorf("sent %+v", w.up.seen[0].request.Needs)
	}
	w.wantCharged("0.02")
}

func TestShapeFails(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		next     fault.Next
		attempts []string
		charged  string
		fails    bool
	}{
		{"the request will do nowhere", fault.Stop, nil, "0", true},
		{"another endpoint may do", fault.NextEndpoint, []string{"beta/v/m"}, "0.04", false},
		{"another model may do", fault.NextModel, []string{"delta/v/n"}, "0.015", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w, s := shapedWorld(t, func(ep *catalog.Endpoint, req *completion.Request) (*completion.Request, relay.Reshape, error) {
				if ep.ID == "alpha/v/m" {
					return nil, nil, &fault.Error{Kind: fault.InvalidPrompt, Public: "No.", Next: tc.next}
				}
				return req, nil, nil
			})
			err := w.relay.Complete(t.Context(), w.call(formatted, models("v/m", "v/n"), func(c *relay.Call) { c.Request.Preferences = routing.Preferences{Sort: "price"} }), &sink{})
			if fault.Is(err, fault.InvalidPrompt) != tc.fails {
				t.Errorf("got %v", err)
			}
			if s.asked[0] != "alpha/v/m" {
				t.Errorf("asked about %q", s.asked)
			}
			w.wantAttempts(tc.attempts...)
			w.wantCharged(tc.charged)
		})
	}
}

// An answer that will not do is a failed attempt: the client sees and pays the next one alone.
func TestReshapedAnswer(t *testing.T) {
	t.Parallel()
	w, _ := shapedWorld(t, func(ep *catalog.Endpoint, req *completion.Request) (*completion.Request, relay.Reshape, error) {
		return req, func(events iter.Seq2[*completion.Event, error]) iter.Seq2[*completion.Event, error] {
			return func(yield func(*completion.Event, error) bool) {
				for ev, err := range events {
					if ep.ID == "alpha/v/m" && err == nil && ev.Finish != "" {
						yield(nil, &fault.Error{Kind: fault.ProviderUnavailable, Public: "It does not conform.", Next: fault.NextEndpoint})
						return
					}
					if !yield(ev, err) {
						return
					}
				}
			}
		}, nil
	})
	c, s := w.call(formatted, func(c *relay.Call) { c.Request.Preferences = routing.Preferences{Sort: "price"} }), &sink{}
	if err := w.relay.Complete(t.Context(), c, s); err != nil {
		t.Fatal(err)
	}
	if want := []string{"start beta/v/m", "text hello", "finish stop", "usage", "done", "end"}; !slices.Equal(s.log[len(s.log)-len(want):], want) {
		t.Errorf("the client saw %q", s.log)
	}
	w.wantAttempts("alpha/v/m", "beta/v/m")
	w.wantCharged("0.04")
	if rec := w.settled(c); rec.Attempts[0].Reason != "provider_unavailable" || rec.Error != "" {
		t.Errorf("recorded %+v", rec.Attempts)
	}
}

// A search that a suffix asks for is held for like one that the body asks for.
func TestOnlineIsHeldFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, offer("alpha", "v/m", "0", "0", func(o *catalog.Offer) { o.Pricing.Base.WebSearch = price("3") }))
	w.plays("alpha/v/m", whole("hello", 10, 5))
	c := w.call(models("v/m:online"))
	if err := w.relay.Complete(t.Context(), c, &sink{}); err != nil {
		t.Fatal(err)
	}
	if held := w.settled(c).Hold; held != rubles("3") || w.up.seen[0].request.Search == nil {
		t.Errorf("held %s, sent %+v", held, w.up.seen[0].request.Search)
	}
}
