// Package sorting sorts slices of any type with one copy of the sorting code: package slices has one for each type, of 15 KB, which forty types made
// a fiftieth of the program. It is for what is sorted once in a while: slices.SortFunc takes half the time.
package sorting

import (
	"iter"
	"slices"
	"sort"
)

// By sorts as slices.SortFunc does.
func By[S ~[]E, E any](s S, cmp func(a, b E) int) {
	if len(s) > 1 {
		sort.Slice(s, func(i, j int) bool { return cmp(s[i], s[j]) < 0 })
	}
}

// Stable sorts as slices.SortStableFunc does.
func Stable[S ~[]E, E any](s S, cmp func(a, b E) int) {
	if len(s) > 1 {
		sort.SliceStable(s, func(i, j int) bool { return cmp(s[i], s[j]) < 0 })
	}
}

// Collect collects and sorts, as slices.SortedFunc does.
func Collect[E any](all iter.Seq[E], cmp func(a, b E) int) []E {
	s := slices.Collect(all)
	By(s, cmp)
	return s
}
