package listing

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"weir/internal/sorting"
)

// pairs is the set of pairs of bytes that follow each other in a text, several of which share a bit. A text that lacks a pair of a word lacks
// the word: most texts need not be looked through.
type pairs [16]uint64

func (p *pairs) add(text string) {
	for i := 1; i < len(text); i++ {
		h := (uint32(text[i-1])<<8 | uint32(text[i])) * 2654435761 >> 22
		p[h/64] |= 1 << (h % 64)
	}
}

func (p *pairs) holds(wanted *pairs) bool {
	for i, bits := range wanted {
		if p[i]&bits != bits {
			return false
		}
	}
	return true
}

// Fold makes texts equal that differ in case only.
func Fold(s string) string {
	ascii := true
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return strings.ToLower(s)
	}
	return strings.Map(func(r rune) rune {
		least := r // of the letters that differ in case only; some have more than two
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return unicode.ToLower(least)
	}, s)
}

func (it *item) has(words []string) bool {
	for _, w := range words {
		if !strings.Contains(it.words, w) {
			return false
		}
	}
	return true
}

// wordsOf adds the words of a folded search to dst: the longest first, as they are the rarest, and none that another one contains.
func wordsOf(dst []string, search string) []string {
	dst = append(dst, strings.Fields(search)...)
	sorting.By(dst, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	kept := dst[:0]
	for _, w := range dst {
		if !slices.ContainsFunc(kept, func(longer string) bool { return strings.Contains(longer, w) }) {
			kept = append(kept, w)
		}
	}
	return kept
}
