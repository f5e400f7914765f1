package app

import (
	"strings"
	"testing"
	"unicode"
)

// Every model of the simulator is described in both languages, and no text is left over.
func TestSimulatedModelsAreDescribed(t *testing.T) {
	known := map[string]bool{}
	for _, m := range simDeclared("http://127.0.0.1:1").Models {
		known[m.Slug] = true
		if m.Description == "" || strings.ContainsFunc(m.Description, func(r rune) bool { return unicode.Is(unicode.Cyrillic, r) }) {
			t.Errorf("%s: %q", m.Slug, m.Description)
		}
		if !strings.ContainsFunc(m.DescriptionRU, func(r rune) bool { return unicode.Is(unicode.Cyrillic, r) }) || !strings.HasSuffix(m.DescriptionRU, ".") {
			t.Errorf("%s: %q", m.Slug, m.DescriptionRU)
		}
		if strings.Contains(m.Description, "dialect alone") != strings.Contains(m.DescriptionRU, "Доступна только на диалекте") {
			t.Errorf("%s: %q, %q", m.Slug, m.Description, m.DescriptionRU)
		}
	}
	for slug := range simRussian {
		if !known[slug] {
			t.Errorf("%s is no model", slug)
		}
	}
}
