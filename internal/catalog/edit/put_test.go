package edit_test

import (
	"strings"
	"testing"

	"weir/internal/catalog/edit"
	"weir/internal/fault"
	"weir/internal/rate"
)

// put puts a row and checks what that did: anything but a change leaves no trace.
func (s *shop) put(p edit.Put, want edit.Outcome) *edit.Built {
	s.t.Helper()
	before, events := s.store.state.Version, len(s.store.events)
	b, done, err := s.Put(s.t.Context(), p, admin)
	if err != nil || done != want {
		s.t.Fatalf("%s %s: %s, %v; want %s", p.Kind, p.ID, done, err, want)
	}
	if quiet := s.store.state.Version == before && len(s.store.events) == events; quiet != (want == edit.Unchanged || p.Dry) {
		s.t.Errorf("%s %s: %s, and the version went from %d to %d", p.Kind, p.ID, done, before, s.store.state.Version)
	}
	return b
}

func TestPutTwiceChangesOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	for range 2 { // dry: nothing is there afterwards
		s.put(edit.Put{Kind: edit.Provider, ID: "hut", Set: hut, Key: new("sk-secret-of-the-hut"), Condition: edit.Condition{Dry: true}}, edit.Created)
	}
	with := edit.Put{Kind: edit.Provider, ID: "hut", Set: hut, Key: new("sk-secret-of-the-hut")}
	s.put(with, edit.Created)
	s.put(with, edit.Unchanged)
	s.put(edit.Put{Kind: edit.Provider, ID: "hut", Set: hut}, edit.Unchanged) // the key stays
	with.Key = new("sk-another-of-the-hut")
	s.put(with, edit.Changed)
	if row := s.store.state.Row(edit.Provider, "hut"); row.Last4() != "-hut" || len(row.Keys) != 1 {
		t.Errorf("the row is %+v", row)
	}
	endpoint := edit.Put{Kind: edit.Endpoint, ID: "hut/acme/tiny", Set: edit.Spec{"provider": "hut", "model": "acme/tiny", "price_usd.prompt": "0.60", "price_usd.completion": "0.9",
		"context_length": "8000", "params": "temperature,tools", "disabled": "false"}}
	s.put(endpoint, edit.Created)
	s.put(endpoint, edit.Unchanged)
	endpoint.Set = edit.Spec{"price_usd.prompt": "00.6", "price_usd.completion": "0.90", "context_length": "8000", "params": "temperature, tools"} // the same in other words
	s.put(endpoint, edit.Unchanged)
	endpoint.Set = edit.Spec{"price_usd.prompt": "0.7", "price_usd.completion": "0.90"}
	s.put(endpoint, edit.Changed)
	if e := s.store.events[len(s.store.events)-1]; e.Before != "context_length=8000; params=temperature,tools; price_usd.prompt=0.6" || e.After != "price_usd.prompt=0.7" {
		t.Errorf("the audit says %q, %q", e.Before, e.After)
	}
	s.put(edit.Put{Kind: edit.Provider, ID: "hut", Set: hut, Key: new("")}, edit.Changed)
	s.put(edit.Put{Kind: edit.Provider, ID: "hut", Set: hut, Key: new("")}, edit.Unchanged)
}

func TestPutOverBuiltin(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.put(edit.Put{Kind: edit.Endpoint, ID: "open/acme/small", Set: edit.Spec{}}, edit.Unchanged)
	over := edit.Put{Kind: edit.Endpoint, ID: "open/acme/small", Set: edit.Spec{"provider": "open", "model": "acme/small", "context_length": "500"}}
	b := s.put(over, edit.Created)
	if v := b.Endpoint("open/acme/small"); v.ContextLength != 500 || v.Origin != edit.FromBuiltin || v.Row.Spec["model"] != "" {
		t.Errorf("%+v", v)
	}
	s.put(over, edit.Unchanged)
	over.Set = edit.Spec{}
	b = s.put(over, edit.Changed)
	if v := b.Endpoint("open/acme/small"); v.ContextLength != 1000 {
		t.Errorf("%+v", v)
	}
}

func TestPutRefuses(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.addHut()
	version := s.store.state.Version
	for name, c := range map[string]struct {
		edit.Put
		kind fault.Kind
		says string
	}{
		"of a file":        {edit.Put{Kind: edit.Provider, ID: "filed", Set: edit.Spec{}}, fault.Conflict, "weir.yaml:7"},
		"unknown field":    {edit.Put{Kind: edit.Provider, ID: "hut", Set: edit.Spec{"temper": "1"}}, fault.Invalid, "no field"},
		"another name":     {edit.Put{Kind: edit.Endpoint, ID: "hut/acme/tiny", Set: edit.Spec{"provider": "hut", "model": "acme/large"}}, fault.Invalid, "hut/acme/large"},
		"no such provider": {edit.Put{Kind: edit.Endpoint, ID: "none/acme/tiny", Set: edit.Spec{"provider": "none", "model": "acme/tiny", "prices.prompt": "1", "prices.completion": "1"}}, fault.Invalid, "none"},
		"is there":         {edit.Put{Kind: edit.Provider, ID: "hut", Set: hut, Condition: edit.Condition{New: true}}, fault.Conflict, "already"},
		"moved":            {edit.Put{Kind: edit.Provider, ID: "hut", Set: hut, Condition: edit.Condition{Version: 7}}, fault.Conflict, "version 1, not 7"},
		"gone":             {edit.Put{Kind: edit.Provider, ID: "shed", Set: hut, Condition: edit.Condition{Version: 7}}, fault.Conflict, "removed meanwhile"},
	} {
		_, _, err := s.Put(t.Context(), c.Put, admin)
		if f := fault.From(err); f == nil || f.Kind != c.kind || !strings.Contains(f.Public, c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.Change(t.Context(), edit.Change{Kind: edit.Endpoint, ID: "hut/acme/tiny", Remove: true, Condition: edit.Condition{Version: 1}}, admin); !fault.Is(err, fault.Conflict) {
		t.Errorf("a removal of another version: %v", err)
	}
	s.must(edit.Change{Kind: edit.Endpoint, ID: "hut/acme/tiny", Remove: true, Condition: edit.Condition{Version: 2, Dry: true}})
	if s.store.state.Version != version {
		t.Error("something was changed")
	}
}

func TestPutRate(t *testing.T) {
	t.Parallel()
	s := open(t)
	put := func(r rate.Record, only edit.Condition, want edit.Outcome) {
		t.Helper()
		r.Source = rate.Manual
		before := len(s.store.state.Rates)
		done, err := s.PutRate(t.Context(), r, only, admin)
		if err != nil || done != want || (len(s.store.state.Rates) != before) != (want == edit.Changed && !only.Dry) {
			t.Errorf("%+v: %s, %v; want %s; there are %d records", r, done, err, want, len(s.store.state.Rates))
		}
	}
	put(rate.Record{RubPerUSD: "100"}, edit.Condition{Dry: true}, edit.Changed)
	put(rate.Record{RubPerUSD: "100"}, edit.Condition{}, edit.Changed) // what is a default may become another one
	put(rate.Record{RubPerUSD: "100.0"}, edit.Condition{}, edit.Unchanged)
	put(rate.Record{RubPerUSD: "100", Margin: "0.15"}, edit.Condition{Version: 1}, edit.Changed)
	if last := s.store.state.Rates[1]; last.RubPerUSD != "" || last.Margin != "0.15" {
		t.Errorf("recorded %+v", last)
	}
	if _, err := s.PutRate(t.Context(), rate.Record{Margin: "0.2", Source: rate.Manual}, edit.Condition{Version: 1}, admin); !fault.Is(err, fault.Conflict) {
		t.Errorf("another version: %v", err)
	}
	s.world.declared.MarginAt = "weir.yaml:2"
	if _, err := s.PutRate(t.Context(), rate.Record{Margin: "0.2", Source: rate.Manual}, edit.Condition{}, admin); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "weir.yaml:2") {
		t.Errorf("what the file owns: %v", err)
	}
}
