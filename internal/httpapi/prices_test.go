package httpapi_test

import (
	"os"
	"strings"
	"testing"

	"weir/internal/catalog"
)

// Each price is described where developers and operators look for it.
func TestPricesAreDescribed(t *testing.T) {
	t.Parallel()
	for file, name := range map[string]func(catalog.PriceKind) string{
		"openapi.yaml":                 func(k catalog.PriceKind) string { return k.Listed },
		"../../docs/configuration.md":  func(k catalog.PriceKind) string { return k.Name },
		"../../docs/adding-a-price.md": func(catalog.PriceKind) string { return "catalog.PriceKinds" },
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range catalog.PriceKinds() {
			if !strings.Contains(string(text), name(k)) {
				t.Errorf("%s does not describe the price %s", file, k.Name)
			}
		}
	}
}
