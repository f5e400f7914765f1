package edit_test

import (
	"strings"
	"testing"
	"time"

	"weir/internal/catalog/edit"
	"weir/internal/fault"
)

// refused checks that a change is refused with a code.
func refused(t *testing.T, err error, code string) {
	t.Helper()
	if err == nil || fault.From(err).Code != code {
		t.Errorf("refused with %v, not %s", err, code)
	}
}

func (s *shop) price(id, name string) string {
	s.t.Helper()
	b, err := s.Built(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return b.Endpoint(id).Pricing.Base.Field(name).String()
}

// Prices in dollars are raised by their margin, so that they still follow the rate; those in rubles by themselves, rounded up; those of the
// configuration not at all. Nothing changes before the draft is published, and a revert leads back.
func TestRaisePublishRevert(t *testing.T) {
	t.Parallel()
	s, ctx := open(t), t.Context()
	if _, err := s.Change(ctx, edit.Change{Kind: edit.Endpoint, ID: "open/acme/large", Set: edit.Spec{"prices.prompt": "0.050000001", "prices.completion": "0.2"}}, admin); err != nil {
		t.Fatal(err)
	}
	d, err := s.RaiseDraft(ctx, 0, edit.Raise{Percent: "10"}, admin)
	if err != nil || len(d.Edits) != 2 || d.Version != 1 {
		t.Fatalf("draft %+v, %v", d, err)
	}
	if got := s.price("open/acme/small", "prompt"); got != "0.1" {
		t.Errorf("a draft changes the price to %s", got)
	}
	p, err := s.Preview(ctx, d)
	if err != nil || len(p.Changes) != 5 || len(p.Questions) != 1 || p.Questions[0].Kind != edit.BelowCost {
		t.Fatalf("preview %+v, %v", p, err)
	}
	effect := p.Effect(map[string]edit.Sold{"open/acme/small": {Revenue: 1000}, "open/acme/large": {Revenue: 5000, Prompt: 1_000_000, Completion: 1_000_000}, "else": {Revenue: 50}})
	// a tenth of 1000, and for 1000 thousand tokens each 0.005000001 and 0.02 rubles
	if effect.Revenue != 6050 || effect.Changes != 100+25_000_001_000 || effect.Unknown != nil {
		t.Errorf("effect %+v", effect)
	}
	_, err = s.PublishDraft(ctx, 1, time.Time{}, false, admin)
	refused(t, err, "prices_doubtful")
	_, err = s.PublishDraft(ctx, 7, time.Time{}, true, admin)
	refused(t, err, "draft_moved")
	if d, err = s.PublishDraft(ctx, 1, time.Time{}, true, admin); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"open/acme/small": "0.11", "open/acme/large": "0.055000002", "filed/acme/small": "0.1"} {
		if got := s.price(id, "prompt"); got != want {
			t.Errorf("%s costs %s after the publication, not %s", id, got, want)
		}
	}
	if b, _ := s.Built(ctx); b.Endpoint("open/acme/small").Pricing.Rate != "usd=100 margin=0.1" {
		t.Errorf("the rate is %s", b.Endpoint("open/acme/small").Pricing.Rate)
	}
	if n := len(s.store.events); s.store.events[n-1].Action != "prices.publish" || s.store.events[n-1].Target != "publication:1" {
		t.Errorf("audit %+v", s.store.events[n-1])
	}
	back, err := s.RevertPublication(ctx, d.ID, admin)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.RevertPublication(ctx, d.ID, admin)
	refused(t, err, "draft_exists")
	if _, err = s.PublishDraft(ctx, back.Version, time.Time{}, true, admin); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"open/acme/small": "0.1", "open/acme/large": "0.050000001"} {
		if got := s.price(id, "prompt"); got != want {
			t.Errorf("%s costs %s after the revert, not %s", id, got, want)
		}
	}
	_, err = s.RevertPublication(ctx, d.ID, admin)
	refused(t, err, "reverted_already")
}

// What is scheduled takes effect at its time, whether or not a node stores it then, gives way to later changes, and can be cancelled before.
func TestScheduledPublication(t *testing.T) {
	t.Parallel()
	s, ctx := open(t), t.Context()
	schedule := func(margin string) *edit.Draft {
		t.Helper()
		d, err := s.EditDraft(ctx, 0, []edit.Edit{{ID: "open/acme/small", Set: edit.Spec{"margin": margin}}}, admin)
		if err == nil {
			d, err = s.PublishDraft(ctx, d.Version, s.world.now.Add(time.Hour), true, admin)
		}
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	first, second := schedule("0.3"), schedule("0.9")
	if _, err := s.CancelPublication(ctx, second.ID, admin); err != nil {
		t.Fatal(err)
	}
	s.world.now = s.world.now.Add(time.Hour - time.Microsecond)
	if got := s.price("open/acme/small", "prompt"); got != "0.1" {
		t.Errorf("before its time the price is %s", got)
	}
	s.world.now = s.world.now.Add(time.Microsecond)
	if got := s.price("open/acme/small", "prompt"); got != "0.13" || len(s.store.state.Rows) != 0 {
		t.Errorf("at its time the price is %s", got)
	}
	_, err := s.CancelPublication(ctx, first.ID, admin)
	refused(t, err, "not_scheduled")
	if err := s.Enact(ctx); err != nil || len(s.store.state.Scheduled) != 0 || s.store.state.Rows[0].Version != first.Catalog {
		t.Errorf("stored: %+v, %v", s.store.state, err)
	}
	if got := s.price("open/acme/small", "prompt"); got != "0.13" {
		t.Errorf("stored, the price is %s", got)
	}
	third := schedule("0.5")
	s.world.now = s.world.now.Add(time.Hour)
	if _, err := s.Change(ctx, edit.Change{Kind: edit.Endpoint, ID: "open/acme/small", Set: edit.Spec{"margin": "0.7"}}, admin); err != nil {
		t.Fatal(err)
	}
	if got := s.price("open/acme/small", "prompt"); got != "0.17" {
		t.Errorf("a change after publication %d gives %s", third.ID, got)
	}
}

// What a draft may not have is refused, and says why.
func TestDraftsAreChecked(t *testing.T) {
	t.Parallel()
	s, ctx := open(t), t.Context()
	for _, c := range []struct{ id, name, value, code string }{
		{"filed/acme/small", "margin", "0.2", "endpoint_of_file"},
		{"open/acme/none", "margin", "0.2", "no_endpoint"},
		{"open/acme/small", "model", "acme/other", "not_in_draft"},
	} {
		_, err := s.EditDraft(ctx, 0, []edit.Edit{{ID: c.id, Set: edit.Spec{c.name: c.value}}}, admin)
		refused(t, err, c.code)
	}
	for _, c := range []struct {
		raise edit.Raise
		code  string
	}{
		{edit.Raise{Percent: "0"}, "raise_percent"}, {edit.Raise{Percent: "1e3"}, "raise_percent"}, {edit.Raise{Percent: "-91"}, "raise_percent"}, {edit.Raise{Percent: "ten"}, "raise_percent"},
		{edit.Raise{Percent: "-5"}, "raise_below_cost"}, {edit.Raise{Percent: "5", Provider: "filed"}, "raise_nothing"},
	} {
		_, err := s.RaiseDraft(ctx, 0, c.raise, admin)
		refused(t, err, c.code)
	}
	if _, err := s.EditDraft(ctx, 0, []edit.Edit{{ID: "open/acme/small", Set: edit.Spec{"margin": "11"}}}, admin); err == nil || !strings.Contains(fault.From(err).Public, "between 0 and 10") {
		t.Errorf("a margin of 1100 %%: %v", err)
	}
	d, err := s.EditDraft(ctx, 0, []edit.Edit{{ID: "open/acme/small", Set: edit.Spec{"margin": "0.6"}}}, admin)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := s.Preview(ctx, d); err != nil || len(p.Questions) != 1 || p.Questions[0].Kind != edit.DoubtfulMargin {
		t.Errorf("preview %+v, %v", p, err)
	}
	if d, err = s.EditDraft(ctx, 1, []edit.Edit{{ID: "open/acme/small"}}, admin); err != nil || d != nil {
		t.Errorf("a draft of nothing stays: %+v, %v", d, err)
	}
}

// TestLeapsAreAsked: a price that becomes free, or ten times what it was or a tenth, is published only by those who are sure.
func TestLeapsAreAsked(t *testing.T) {
	t.Parallel()
	for now, asked := range map[string]string{"0.9": "", "0.11": "", "1": edit.Leap, "1000000": edit.Leap, "0.01": edit.BelowCost, "0": edit.BelowCost} { // the provider takes 0.1
		s, ctx := open(t), t.Context()
		set := func(price string) (*edit.Draft, error) {
			return s.EditDraft(ctx, 0, []edit.Edit{{ID: "open/acme/large", Set: edit.Spec{"prices.prompt": price}}}, admin)
		}
		if _, err := s.Change(ctx, edit.Change{Kind: edit.Endpoint, ID: "open/acme/large", Set: edit.Spec{"prices.prompt": "0.1", "prices.completion": "0.2"}}, admin); err != nil {
			t.Fatal(err)
		}
		d, err := set(now)
		if err != nil {
			t.Fatalf("%s: %v", now, err)
		}
		p, err := s.Preview(ctx, d)
		if err != nil || len(p.Questions) > 1 || len(p.Questions) == 1 != (asked != "") || asked != "" && p.Questions[0].Kind != asked {
			t.Errorf("%s: %+v, %v", now, p.Questions, err)
		}
	}
}
