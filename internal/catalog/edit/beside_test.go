package edit_test

import (
	"strings"
	"testing"

	"weir/internal/audit"
	"weir/internal/catalog/edit"
	"weir/internal/fault"
)

func TestOtherNames(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.addHut()
	to := func(model string) edit.Spec { return edit.Spec{"model": model} }
	answers := func(name, want string) {
		t.Helper()
		m, ok := s.built().Snapshot.Model(name)
		if got := ok && m.Slug == want; got != (want != "") && want != "" || want == "" && ok {
			t.Errorf("%q is answered by %v, want %q", name, m, want)
		}
	}
	put := edit.Put{Kind: edit.Alias, ID: "acme/old", Set: to("acme/tiny")}
	dry := put
	dry.Dry = true
	s.put(dry, edit.Created)
	answers("acme/old", "")
	s.put(put, edit.Created)
	s.put(put, edit.Unchanged)
	answers("acme/old", "acme/tiny")
	if e := s.store.events[len(s.store.events)-1]; e.Action != audit.CatalogAdded || e.Target != "alias:acme/old" || e.After != "model=acme/tiny" {
		t.Errorf("the audit says %+v", e)
	}

	s.put(edit.Put{Kind: edit.Alias, ID: "acme/older", Set: to("acme/old")}, edit.Created) // a name of a name is one of the model
	answers("acme/older", "acme/tiny")
	s.put(edit.Put{Kind: edit.Alias, ID: "acme/old", Set: to("acme/small")}, edit.Changed)
	answers("acme/old", "acme/small")
	answers("acme/older", "acme/tiny")

	s.must(edit.Change{Kind: edit.Endpoint, ID: "hut/acme/tiny", Set: edit.Spec{"disabled": "true"}}) // no endpoint serves the model any more, so its other name finds nothing
	b := s.built()
	if row := b.BesideOf(edit.Alias, "acme/older"); b.Answers(row) || !strings.Contains(strings.Join(b.Left, " "), `there is no model "acme/tiny"`) {
		t.Errorf("left are %q", b.Left)
	}
	answers("acme/older", "")

	s.must(edit.Change{Kind: edit.Endpoint, ID: "hut/acme/old", Create: true, Set: edit.Spec{"provider": "hut", "model": "acme/old", "prices.prompt": "1", "prices.completion": "1"}})
	answers("acme/old", "acme/old") // a model that has the name itself is found by it
	s.must(edit.Change{Kind: edit.Alias, ID: "acme/old", Remove: true})
	answers("acme/old", "acme/old")
	s.refused(edit.Change{Kind: edit.Alias, ID: "acme/old", Remove: true}, fault.NotFound, "")
}

func TestOrder(t *testing.T) {
	t.Parallel()
	s := open(t)
	first := []edit.Preference{{Endpoint: "filed/acme/small", Place: 1, Weight: 3}, {Endpoint: "open/acme/small", Weight: 2}}
	put := edit.Put{Kind: edit.Order, ID: "acme/small", Set: edit.OrderSpec(first)}
	b := s.put(put, edit.Created)
	s.put(put, edit.Unchanged)
	if all := b.Ordered("acme/small"); len(all) != 2 || all[0].ID != "filed/acme/small" || all[0].Place != 1 || all[0].Weight != 3 || all[1].Place != 0 || all[1].Weight != 2 {
		t.Errorf("%+v", all)
	}
	m, _ := b.Snapshot.Model("acme/small")
	for _, ep := range m.Endpoints {
		if want := map[string]int64{"filed": 3, "open": 2}[ep.Provider.ID]; ep.Weight != want {
			t.Errorf("%s weighs %d, want %d", ep.ID, ep.Weight, want)
		}
	}
	version := b.Snapshot.Version
	b = s.must(edit.Change{Kind: edit.Order, ID: "acme/small", Remove: true})
	if all := b.Ordered("acme/small"); all[0].Place != 0 || all[0].Weight != 0 || b.Snapshot.Version == version {
		t.Errorf("%+v, version %s", all, b.Snapshot.Version)
	}
}

func TestBesideRefuses(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.addHut()
	order := func(list ...edit.Preference) edit.Spec { return edit.OrderSpec(list) }
	for name, c := range map[string]struct {
		edit.Put
		kind  fault.Kind
		param string
	}{
		"a name of no form":        {edit.Put{Kind: edit.Alias, ID: "old", Set: edit.Spec{"model": "acme/tiny"}}, fault.Invalid, ""},
		"a name that a model has":  {edit.Put{Kind: edit.Alias, ID: "acme/small", Set: edit.Spec{"model": "acme/tiny"}}, fault.Conflict, ""},
		"no such model":            {edit.Put{Kind: edit.Alias, ID: "acme/old", Set: edit.Spec{"model": "acme/none"}}, fault.Invalid, "model"},
		"no model":                 {edit.Put{Kind: edit.Alias, ID: "acme/old", Set: edit.Spec{}}, fault.Invalid, "model"},
		"an unknown field":         {edit.Put{Kind: edit.Alias, ID: "acme/old", Set: edit.Spec{"model": "acme/tiny", "place": "1"}}, fault.Invalid, "place"},
		"another model's endpoint": {edit.Put{Kind: edit.Order, ID: "acme/small", Set: order(edit.Preference{Endpoint: "hut/acme/tiny", Place: 1})}, fault.Invalid, "endpoints.0.id"},
		"twice":                    {edit.Put{Kind: edit.Order, ID: "acme/tiny", Set: order(edit.Preference{Endpoint: "hut/acme/tiny", Place: 1}, edit.Preference{Endpoint: "hut/acme/tiny", Place: 2})}, fault.Invalid, "endpoints.1.id"},
		"a large place":            {edit.Put{Kind: edit.Order, ID: "acme/tiny", Set: order(edit.Preference{Endpoint: "hut/acme/tiny", Place: 101})}, fault.Invalid, "endpoints.0.place"},
		"a large weight":           {edit.Put{Kind: edit.Order, ID: "acme/tiny", Set: order(edit.Preference{Endpoint: "hut/acme/tiny", Weight: 1001})}, fault.Invalid, "endpoints.0.weight"},
		"neither":                  {edit.Put{Kind: edit.Order, ID: "acme/tiny", Set: order(edit.Preference{Endpoint: "hut/acme/tiny"})}, fault.Invalid, "endpoints.0"},
		"nothing":                  {edit.Put{Kind: edit.Order, ID: "acme/tiny", Set: edit.Spec{}}, fault.Invalid, "endpoints"},
		"a model that is not":      {edit.Put{Kind: edit.Order, ID: "acme/none", Set: order(edit.Preference{Endpoint: "hut/acme/tiny", Place: 1})}, fault.Invalid, "endpoints.0.id"},
		"changed meanwhile":        {edit.Put{Kind: edit.Alias, ID: "acme/old", Set: edit.Spec{"model": "acme/tiny"}, Condition: edit.Condition{Version: 7}}, fault.Conflict, ""},
	} {
		version, events := s.store.state.Version, len(s.store.events)
		_, _, err := s.Put(t.Context(), c.Put, admin)
		if f := fault.From(err); err == nil || f.Kind != c.kind || f.Param != c.param {
			t.Errorf("%s: %v", name, err)
		}
		if s.store.state.Version != version || len(s.store.events) != events {
			t.Errorf("%s left something behind", name)
		}
	}
}
