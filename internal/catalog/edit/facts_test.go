package edit_test

import (
	"reflect"
	"testing"

	"weir/internal/catalog"
	"weir/internal/catalog/edit"
	"weir/internal/fault"
)

// Administrators can set every fact, of a provider and of an endpoint.
func TestEveryFactIsEditable(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.addHut()
	texts := map[string]string{"efforts": "low, high", "excludes": "temperature/top_p", "image_ratios": "16:9", "image_resolutions": "2k", "source": "https://acme.example", "budget_least": "5", "budget_most": "7",
		"first_byte_timeout": "1m30s", "leave_after": "20s"}
	kind := reflect.TypeFor[catalog.Facts]()
	for i := range kind.NumField() {
		name := kind.Field(i).Tag.Get("yaml")
		text := texts[name]
		if words := catalog.FactWords(name); words != nil {
			text = words[0]
		}
		b := s.must(edit.Change{Kind: edit.Provider, ID: "hut", Set: edit.Spec{"facts." + name: text}})
		if reflect.ValueOf(b.Snapshot.Providers["hut"].Facts).Field(i).IsZero() {
			t.Errorf("%s of a provider is not set", name)
		}
		s.must(edit.Change{Kind: edit.Provider, ID: "hut", Unset: []string{"facts"}})
		b = s.must(edit.Change{Kind: edit.Endpoint, ID: "hut/acme/tiny", Set: edit.Spec{"facts." + name: text}})
		m, _ := b.Snapshot.Model("acme/tiny")
		if reflect.ValueOf(m.Endpoints[0].Facts).Field(i).IsZero() {
			t.Errorf("%s of an endpoint is not set", name)
		}
	}
	s.refused(edit.Change{Kind: edit.Endpoint, ID: "hut/acme/tiny", Set: edit.Spec{"facts.efforts": "much"}}, fault.Invalid, "facts.efforts")
	s.refused(edit.Change{Kind: edit.Endpoint, ID: "hut/acme/tiny", Set: edit.Spec{"facts.leave_after": "20"}}, fault.Invalid, "facts.leave_after")
	s.refused(edit.Change{Kind: edit.Endpoint, ID: "hut/acme/tiny", Set: edit.Spec{"facts.effort": "low"}}, fault.Invalid, "facts.effort")
}
