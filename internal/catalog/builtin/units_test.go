package builtin_test

import (
	"os"
	"regexp"
	"testing"

	"weir/internal/catalog/builtin"
)

// The page on money names each provider that bills recordings in units, with the source.
func TestAudioUnitsHaveSources(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/money.md")
	if err != nil {
		t.Fatal(err)
	}
	units := 0
	for _, p := range builtin.Providers() {
		if p.Quirks.AudioStep == 0 && p.Quirks.AudioLeast == 0 {
			continue
		}
		units++
		if !regexp.MustCompile("(?m)^\\| `" + p.ID + "` \\|.*https://").Match(page) {
			t.Errorf("docs/money.md has no source for the unit of %s", p.ID)
		}
	}
	if units == 0 {
		t.Error("no provider has a unit")
	}
}
