package httpapi_test

import (
	"cmp"
	"os"
	"strings"
	"testing"

	"weir/internal/catalog"
)

// Each price is described where developers and operators look for it.
func TestPricesAreDescribed(t *testing.T) {
	t.Parallel()
	read := func(file string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	schemas, manual := read("openapi.yaml"), read("../../docs/configuration.md")
	base, perRequest, input := section(schemas, "\n    BasePrices:\n", "\n    Pricing:\n"), section(schemas, "\n        per_request:\n", "\n        video:\n"),
		section(schemas, "\n    PriceInput:\n", "\n    EndpointChange:\n")
	for _, k := range catalog.PriceKinds() {
		for _, x := range []struct {
			where, text, name string
			wanted            bool
		}{
			{"BasePrices in openapi.yaml", base, " " + k.Listed + ": {", k.Listed != ""},
			{"per_request in openapi.yaml", perRequest, " " + cmp.Or(k.Listed, k.Name) + "_rub: {", !k.Tokens},
			{"PriceInput in openapi.yaml", input, " " + k.Name + ": {", true},
			{"the table of prices in docs/configuration.md", section(manual, "\n| Price | For |", "\n\n"), "`" + k.Name + "`", true},
		} {
			if x.wanted && !strings.Contains(x.text, x.name) {
				t.Errorf("%s lacks the price %s", x.where, k.Name)
			}
		}
	}
	for _, k := range catalog.NamedRates() {
		for where, found := range map[string]bool{
			"BasePrices in openapi.yaml":                   strings.Contains(base, " "+k.Listed+": {"),
			"PriceInput in openapi.yaml":                   strings.Contains(input, " "+k.Name+": {"),
			"the table of prices in docs/configuration.md": strings.Contains(section(manual, "\n| Price | For |", "\n\n"), "`"+k.Name+"`"),
		} {
			if !found {
				t.Errorf("%s lacks the price %s", where, k.Name)
			}
		}
	}
}

// section is the part of a text from one mark to the next end, or "".
func section(text, from, to string) string {
	_, text, _ = strings.Cut(text, from)
	text, _, found := strings.Cut(text, to)
	if !found {
		return ""
	}
	return text
}
