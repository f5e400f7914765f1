package relay_test

import (
	"context"
	"iter"
	"slices"
	"testing"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/relay"
	"weir/internal/routing"
)

type shapes func(ctx context.Context, ep *catalog.Endpoint, req *completion.Request) (*completion.Request, relay.Reshape, error)

// shaper is asked what becomes of requests and answers.
type shaper struct {
	begun []string // users
	asked []string // endpoints
	shape shapes
}

func (s *shaper) Begin(user string) relay.Shaping {
	s.begun = append(s.begun, user)
	return s
}

func (s *shaper) Shape(ctx context.Context, ep *catalog.Endpoint, req *completion.Request) (*completion.Request, relay.Reshape, error) {
	s.asked = append(s.asked, ep.ID)
	return s.shape(ctx, ep, req)
}

func shapedWorld(t *testing.T, shape shapes) (*world, *shaper) {
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
	w, s := shapedWorld(t, func(_ context.Context, _ *catalog.Endpoint, req *completion.Request) (*completion.Request, relay.Reshape, error) {
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

// What was made of the request is what is sent and charged. More is held when it needs more.
func TestShapedRequest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		prompt int64
		held   string
	}{
		{"shorter", 5, "2.01"}, // 10 tokens at 1 ruble per thousand, and 1000 at 2
		{"longer", 500, "2.5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, s := shapedWorld(t, func(_ context.Context, _ *catalog.Endpoint, req *completion.Request) (*completion.Request, relay.Reshape, error) {
				out := *req
				out.Needs.PromptTokens = c.prompt
				return &out, nil, nil
			})
			call := w.call(formatted)
			if err := w.relay.Complete(t.Context(), call, &sink{}); err != nil {
				t.Fatal(err)
			}
			if held := w.settled(call).Hold; held != rubles(c.held) {
				t.Errorf("held %s, want %s", held, c.held)
			}
			if w.up.seen[0].request.Needs.PromptTokens != c.prompt || call.Request.Needs.PromptTokens != 10 {
				t.Errorf("sent %+v", w.up.seen[0].request.Needs)
			}
			if !slices.Equal(s.begun, []string{caller.User}) {
				t.Errorf("begun for %q", s.begun)
			}
			w.wantCharged("0.02")
		})
	}
}

// A prompt that will be cut is held for as what an endpoint's context can hold of it, and not as what it was.
func TestShapeHoldsWhatTheContextHolds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		shrink routing.Shrink
		held   string
	}{
		{"cut", routing.ShrinkAny, "101"}, // 99,000 tokens, which leave room for the answer, and 1000 at 2
		{"not cut", routing.ShrinkNone, "102"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			held := ""
			w := (*world)(nil)
			w, _ = shapedWorld(t, func(_ context.Context, _ *catalog.Endpoint, req *completion.Request) (*completion.Request, relay.Reshape, error) {
				if req.Needs.PromptTokens != 5_000_000 {
					t.Errorf("shapes %+v", req.Needs)
				}
				_, sum := w.book.Open()
				held = sum.String()
				out := *req
				out.Needs.PromptTokens = 10
				return &out, nil, nil
			})
			call := w.call(formatted, func(c2 *relay.Call) {
				c2.Request.Needs.PromptTokens, c2.Request.Needs.Shrink = 5_000_000, c.shrink
				if c.shrink == routing.ShrinkNone {
					c2.Request.Needs.Longest = 10 // or no endpoint is left
				}
			})
			if err := w.relay.Complete(t.Context(), call, &sink{}); err != nil {
				t.Fatal(err)
			}
			if held != rubles(c.held).String() {
				t.Errorf("held %s while it was shaped, want %s", held, c.held)
			}
		})
	}
}

// No work is done for an account that cannot pay for the call.
func TestShapeComesAfterTheHold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, balance string
		longer        int64
		asked         int
	}{
		{"no money", "0", 10, 0},
		{"less than the request needs", "1", 10, 0},
		{"less than the shaped request needs", "3", 5000, 1}, // the others are dearer even before
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, s := shapedWorld(t, func(_ context.Context, _ *catalog.Endpoint, req *completion.Request) (*completion.Request, relay.Reshape, error) {
				out := *req
				out.Needs.PromptTokens = c.longer
				return &out, nil, nil
			})
			w.store.credit(wallet, rubles(c.balance))
			wantKind(t, w.relay.Complete(t.Context(), w.call(formatted), &sink{}), fault.PaymentRequired)
			if len(s.asked) != c.asked || len(s.begun) != min(c.asked, 1) {
				t.Errorf("asked about %q, begun for %q", s.asked, s.begun)
			}
			w.wantAttempts()
			w.wantCharged("0")
		})
	}
}

// The work ends when the client goes, and costs nothing.
func TestShapeEndsWithTheClient(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	w, _ := shapedWorld(t, func(ctx context.Context, _ *catalog.Endpoint, req *completion.Request) (*completion.Request, relay.Reshape, error) {
		cancel()
		<-ctx.Done()
		return req, nil, nil
	})
	wantKind(t, w.relay.Complete(ctx, w.call(formatted), &sink{}), fault.Canceled)
	w.wantAttempts()
	w.wantCharged("0")
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
			w, s := shapedWorld(t, func(_ context.Context, ep *catalog.Endpoint, req *completion.Request) (*completion.Request, relay.Reshape, error) {
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
	w, _ := shapedWorld(t, func(_ context.Context, ep *catalog.Endpoint, req *completion.Request) (*completion.Request, relay.Reshape, error) {
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
	if held := w.settled(c).Hold; held != rubles("9") || w.up.seen[0].request.Search == nil {
		t.Errorf("held %s, sent %+v", held, w.up.seen[0].request.Search)
	}
}
