package routing

import (
	"slices"
	"strings"

	"weir/internal/catalog"
)

// Matches reports whether a pattern, in which * stands for any characters, matches a whole text.
func Matches(pattern, text string) bool {
	first, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == text
	}
	if !strings.HasPrefix(text, first) {
		return false
	}
	text = text[len(first):]
	for {
		piece, more, wild := strings.Cut(rest, "*")
		if !wild {
			return strings.HasSuffix(text, piece)
		}
		at := strings.Index(text, piece)
		if at < 0 {
			return false
		}
		text, rest = text[at+len(piece):], more
	}
}

// allowed reports whether each list has a pattern for a model, with the suffix asked for or without.
func allowed(lists [][]string, m *catalog.Model, variant catalog.Variant) bool {
	for _, list := range lists {
		if !matchesAny(list, m, variant) {
			return false
		}
	}
	return true
}

// matchesAny takes another name of the model only where it is written out: a list from before a model was renamed goes on to hold, and a star
// lets in nothing that its author did not see.
func matchesAny(list []string, m *catalog.Model, variant catalog.Variant) bool {
	slug := m.Slug
	for _, pattern := range list {
		if Matches(pattern, slug) || slices.Contains(m.Names, pattern) || variant != catalog.NoVariant && Matches(pattern, slug+":"+string(variant)) {
			return true
		}
	}
	return false
}

// listed names patterns for an error, the strictest list if there are several.
func listed(lists [][]string) string {
	const most = 10
	last := lists[len(lists)-1]
	if len(last) > most {
		return strings.Join(last[:most], ", ") + " and others"
	}
	return strings.Join(last, ", ")
}
