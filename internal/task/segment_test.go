package task_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/task"
)

func TestSegments(t *testing.T) {
	t.Parallel()
	at := func(ms ...int) (start, end time.Duration) {
		return time.Duration(ms[0]) * time.Millisecond, time.Duration(ms[1]) * time.Millisecond
	}
	word := func(text, speaker string, from, to int) task.Word {
		start, end := at(from, to)
		return task.Word{Text: text, Speaker: speaker, Start: start, End: end}
	}
	segment := func(text, speaker string, from, to int) task.Segment {
		start, end := at(from, to)
		return task.Segment{Text: text, Speaker: speaker, Start: start, End: end}
	}
	for name, tt := range map[string]struct {
		words []task.Word
		joint string
		want  []task.Segment
	}{
		"nothing":            {},
		"one stretch":        {words: []task.Word{word("The", "", 0, 200), word("weir", "", 250, 700)}, joint: " ", want: []task.Segment{segment("The weir", "", 0, 700)}},
		"own spaces":         {words: []task.Word{word("The", "", 0, 200), word(" weir", "", 250, 700)}, want: []task.Segment{segment("The weir", "", 0, 700)}},
		"a pause":            {words: []task.Word{word("One", "", 0, 200), word("two", "", 1000, 1200)}, joint: " ", want: []task.Segment{segment("One", "", 0, 200), segment("two", "", 1000, 1200)}},
		"another speaker":    {words: []task.Word{word("Yes?", "1", 0, 200), word("No", "2", 210, 300)}, joint: " ", want: []task.Segment{segment("Yes?", "1", 0, 200), segment("No", "2", 210, 300)}},
		"a short sentence":   {words: []task.Word{word("Yes.", "", 0, 200), word("No.", "", 210, 400)}, joint: " ", want: []task.Segment{segment("Yes. No.", "", 0, 400)}},
		"behind a sentence":  {words: []task.Word{word("Long.", "", 0, 3900), word("Then", "", 3950, 4100)}, joint: " ", want: []task.Segment{segment("Long.", "", 0, 3900), segment("Then", "", 3950, 4100)}},
		"more than can be":   {words: []task.Word{word("Long", "", 0, 7900), word("then", "", 7950, 8100)}, joint: " ", want: []task.Segment{segment("Long", "", 0, 7900), segment("then", "", 7950, 8100)}},
		"times that go back": {words: []task.Word{word("a", "", 500, 400), word("b", "", 100, 50)}, joint: " ", want: []task.Segment{segment("a b", "", 500, 50)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, task.Segments(tt.words, tt.joint)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// No word is lost, none changes its speaker, and the order stays.
func TestSegmentsKeepWords(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.Custom(func(t *rapid.T) task.Word {
			return task.Word{
				Text: rapid.StringMatching(`[a-z]{1,12}[.?]?`).Draw(t, "text"), Speaker: rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "speaker"),
				Start: time.Duration(rapid.Int64Range(0, 1e10).Draw(t, "start")), End: time.Duration(rapid.Int64Range(0, 1e10).Draw(t, "end")),
			}
		})).Draw(t, "words")
		var said, got []string
		for _, w := range words {
			said = append(said, w.Text+w.Speaker)
		}
		for _, s := range task.Segments(words, " ") {
			for w := range strings.FieldsSeq(s.Text) {
				got = append(got, w+s.Speaker)
			}
		}
		if diff := cmp.Diff(said, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestLetters(t *testing.T) {
	t.Parallel()
	segments := []task.Segment{{Speaker: "speaker_7"}, {}, {Speaker: "speaker_1"}, {Speaker: "speaker_7"}}
	words := []task.Word{{Speaker: "speaker_1"}, {Speaker: "late"}}
	task.Letters(segments, words)
	if diff := cmp.Diff([]task.Segment{{Speaker: "A"}, {}, {Speaker: "B"}, {Speaker: "A"}}, segments); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]task.Word{{Speaker: "B"}, {Speaker: "C"}}, words); diff != "" {
		t.Error(diff)
	}
	many := make([]task.Segment, 28)
	for i := range many {
		many[i].Speaker = strings.Repeat("x", i+1)
	}
	task.Letters(many, nil)
	if many[25].Speaker != "Z" || many[26].Speaker != "AA" || many[27].Speaker != "AB" {
		t.Errorf("%q %q %q", many[25].Speaker, many[26].Speaker, many[27].Speaker)
	}
}
