package config_test

import (
	"reflect"
	"testing"

	"weir/internal/catalog"
	"weir/internal/config"
)

// The configuration has a field for each price that an endpoint can have.
func TestPricesOfTheCatalog(t *testing.T) {
	t.Parallel()
	fields := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[config.Prices]()) {
		fields[f.Tag.Get("yaml")] = true
	}
	names := catalog.PriceNames()
	for _, k := range catalog.NamedRates() {
		names = append(names, k.Name)
	}
	if len(names) != len(fields) {
		t.Errorf("config.Prices has %d fields for %d prices", len(fields), len(names))
	}
	for _, name := range names {
		if !fields[name] {
			t.Errorf("config.Prices has no field for %s", name)
		}
	}
}
