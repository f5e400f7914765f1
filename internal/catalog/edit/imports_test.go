package edit_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/catalog/edit"
	"weir/internal/money"
)

func (s *shop) serves(want map[string]string) {
	s.t.Helper()
	b := s.built()
	for _, id := range []string{"open/acme/small", "open/acme/large", "open/acme/tiny"} {
		got := ""
		if v := b.Endpoint(id); v != nil {
			got = v.Pricing.Base.Prompt.String()
		}
		if got != want[id] {
			s.t.Errorf("%s costs %q, not %q", id, got, want[id])
		}
	}
}

// Changes of the public lists are taken into a draft, in whole or in part, are published at once or at a time, and are reverted.
func TestImportIntoDraft(t *testing.T) {
	t.Parallel()
	s, ctx := open(t), t.Context()
	_, err := s.TakeImport(ctx, 0, edit.Take{}, admin)
	refused(t, err, "no_import")
	if err := s.store.PutImport(ctx, &edit.Import{List: "new", Data: []byte("small 2\ntiny 3")}); err != nil {
		t.Fatal(err)
	}
	i, changes, err := s.LastImport(ctx)
	if err != nil || i == nil || len(changes) != 3 {
		t.Fatalf("import %+v, %+v, %v", i, changes, err)
	}
	_, err = s.TakeImport(ctx, 0, edit.Take{Offers: []string{"none"}}, admin)
	refused(t, err, "take_nothing")
	first, err := s.TakeImport(ctx, 0, edit.Take{Kind: edit.ListNew}, admin)
	if err != nil {
		t.Fatal(err)
	}
	if first, err = s.EditDraft(ctx, first.Version, []edit.Edit{{ID: "open/acme/tiny", Set: edit.Spec{"margin": "0.1"}}}, admin); err != nil {
		t.Fatalf("a new model in the same draft: %v", err)
	}
	second, err := s.TakeImport(ctx, first.Version, edit.Take{Search: "small"}, admin)
	if err != nil {
		t.Fatal(err)
	}
	if taken := s.Taken(second, i, changes); !taken["tiny"] || !taken["small"] || taken["large"] {
		t.Errorf("taken are %v", taken)
	}
	p, err := s.Preview(ctx, second)
	if err != nil || p.Endpoints(second) != 2 || len(p.Questions) != 0 {
		t.Errorf("preview %+v, %v", p, err)
	}
	old := map[string]string{"open/acme/small": "0.1", "open/acme/large": "0.1"}
	s.serves(old)
	d, err := s.PublishDraft(ctx, second.Version, s.world.now.Add(time.Hour), false, admin)
	if err != nil {
		t.Fatal(err)
	}
	s.serves(old)
	s.world.now = s.world.now.Add(time.Hour)
	new := map[string]string{"open/acme/small": "0.2", "open/acme/large": "0.1", "open/acme/tiny": "0.33"}
	s.serves(new)
	if err := s.Enact(ctx); err != nil || s.store.state.Prices.List == "" {
		t.Fatalf("stored: %+v, %v", s.store.state.Prices, err)
	}
	s.serves(new)
	if n := len(s.store.events); s.store.events[n-1].Action != "prices.publish" || s.store.events[n-1].Target != "prices:1" {
		t.Errorf("audit %+v", s.store.events[n-1])
	}
	back, err := s.RevertPublication(ctx, d.ID, admin)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.PublishDraft(ctx, back.Version, time.Time{}, false, admin); err != nil {
		t.Fatal(err)
	}
	s.serves(old)
}

// A draft with a price list is not published over another list that it has not seen; without its list it changes nothing.
func TestListMovedUnderADraft(t *testing.T) {
	t.Parallel()
	s, ctx := open(t), t.Context()
	if err := s.store.PutImport(ctx, &edit.Import{List: "new", Data: []byte("small 2\nlarge 1")}); err != nil {
		t.Fatal(err)
	}
	d, err := s.TakeImport(ctx, 0, edit.Take{}, admin)
	if err != nil {
		t.Fatal(err)
	}
	other := edit.Prices{List: "other", Data: []byte("small 1\nlarge 5")}
	if err := s.PublishPrices(ctx, func(*edit.Prices) (*edit.Prices, error) { return &other, nil }, admin); err != nil {
		t.Fatal(err)
	}
	_, err = s.PublishDraft(ctx, d.Version, time.Time{}, true, admin)
	refused(t, err, "list_moved")
	if d, err = s.TakeImport(ctx, d.Version, edit.Take{Offers: []string{"small"}}, admin); err != nil {
		t.Fatal(err)
	}
	if _, err = s.PublishDraft(ctx, d.Version, time.Time{}, true, admin); err != nil {
		t.Fatal(err)
	}
	s.serves(map[string]string{"open/acme/small": "0.2", "open/acme/large": "0.5"})
	if d, err = s.TakeImport(ctx, 0, edit.Take{}, admin); err != nil {
		t.Fatal(err)
	}
	if d, err = s.LeaveImport(ctx, d.Version, admin); err != nil || d != nil {
		t.Errorf("a draft of nothing stays: %+v, %v", d, err)
	}
}

// Whatever was sold: sales are tax, cost and margin together, a margin changes no cost, and what changes is the same factor of all.
func TestEffectAddsUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s, ctx := open(t), t.Context()
		margin := rapid.SampledFrom([]string{"0", "0.05", "0.15", "0.333333", "2"}).Draw(rt, "margin")
		d, err := s.MarginDraft(ctx, 0, margin, edit.Raise{Provider: "open"}, admin)
		if err != nil {
			rt.Fatal(err)
		}
		if d == nil {
			d = &edit.Draft{}
		}
		p, err := s.Preview(ctx, d)
		if err != nil {
			rt.Fatal(err)
		}
		sold := map[string]edit.Sold{}
		for _, id := range []string{"open/acme/small", "open/acme/large"} {
			sold[id] = edit.Sold{Revenue: money.Nano(rapid.Int64Range(0, 1e15).Draw(rt, id))}
		}
		e := p.Effect(sold)
		near := func(what string, a, b money.Nano) {
			if a-b > 4 || b-a > 4 {
				rt.Errorf("%s: %s is not %s in %+v", what, a, b, e)
			}
		}
		near("sales", e.Revenue, e.VAT+e.Cost+e.Margin)
		near("sales of the draft", e.Revenue+e.Changes, e.VATDraft+e.CostDraft+e.MarginDraft)
		near("cost", e.CostDraft, e.Cost)
		if len(e.Unknown) > 0 {
			rt.Errorf("unknown are %v", e.Unknown)
		}
	})
}
