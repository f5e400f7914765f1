package task

import (
	"strings"
	"time"
)

// Where a segment ends: people read about that much at a time.
const (
	segmentPause = 800 * time.Millisecond // between words
	segmentTime  = 8 * time.Second        // or at the end of a sentence after half of it
	segmentText  = 160                    // bytes
)

// Segments groups words into stretches that can be read at a glance, for providers that report only words. A new one begins with another
// speaker, after a pause, after a sentence when there is enough of it, and when there would be too much. Words are joined by joint, which is
// "" where they bring their own space or their language has none.
func Segments(words []Word, joint string) []Segment {
	var all []Segment
	var text strings.Builder
	end := func() {
		if len(all) > 0 {
			all[len(all)-1].Text = strings.TrimSpace(text.String())
		}
		text.Reset()
	}
	for i := range words {
		w := &words[i]
		if i == 0 || divides(&all[len(all)-1], text.String(), &words[i-1], w) {
			end()
			all = append(all, Segment{Start: w.Start, Speaker: w.Speaker})
		} else {
			text.WriteString(joint)
		}
		text.WriteString(w.Text)
		all[len(all)-1].End = w.End
	}
	end()
	return all
}

// divides reports whether a segment with that text so far ends between two words.
func divides(s *Segment, text string, last, next *Word) bool {
	said := strings.TrimSpace(text)
	sentence := strings.HasSuffix(said, ".") || strings.HasSuffix(said, "!") || strings.HasSuffix(said, "?") || strings.HasSuffix(said, "。")
	most, longest := segmentText, segmentTime
	if sentence {
		most, longest = most/2, longest/2
	}
	return next.Speaker != last.Speaker || next.Start-last.End >= segmentPause || len(said) >= most || next.End-s.Start > longest
}

// Letters names the speakers of segments and words that have no name: "A", "B", ..., in the order in which they speak.
func Letters(segments []Segment, words []Word) {
	names := map[string]string{}
	name := func(speaker *string) {
		if *speaker == "" {
			return
		}
		if names[*speaker] == "" {
			names[*speaker] = letter(len(names))
		}
		*speaker = names[*speaker]
	}
	for i := range segments {
		name(&segments[i].Speaker)
	}
	for i := range words {
		name(&words[i].Speaker)
	}
}

// letter is "A" to "Z", "AA", "AB", ...
func letter(n int) string {
	if n < 26 {
		return string(rune('A' + n))
	}
	return letter(n/26-1) + letter(n%26)
}
