// Package spelling compares words that a person may have mistyped.
package spelling

import "slices"

// Longest is how many bytes a word may have at most: a longer one is no slip of the keyboard.
const Longest = 64

// Distance is how many bytes must be changed, added, removed, or swapped with the next one, to make b of a. It is most+1 when that is more
// than most, or a word is longer than Longest.
func Distance(a, b string, most int) int {
	if d := len(a) - len(b); d > most || d < -most || max(len(a), len(b)) > Longest {
		return most + 1
	}
	var rows [3][Longest + 1]int
	earlier, before, now := rows[0][:len(b)+1], rows[1][:len(b)+1], rows[2][:len(b)+1]
	for j := range before {
		before[j] = j
	}
	for i := range len(a) {
		now[0] = i + 1
		for j := range len(b) {
			change := before[j]
			if a[i] != b[j] {
				change++
			}
			now[j+1] = min(change, before[j+1]+1, now[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				now[j+1] = min(now[j+1], earlier[j-1]+1)
			}
		}
		if slices.Min(now) > most && slices.Min(before) >= most {
			return most + 1
		}
		earlier, before, now = before, now, earlier
	}
	return min(before[len(b)], most+1)
}
