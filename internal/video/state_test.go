package video_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/video"
)

// The table is written out again here, as docs/video-jobs.md draws it: a change of either must be meant.
func TestTransitions(t *testing.T) {
	t.Parallel()
	want := map[video.State][]video.State{
		video.Pending:    {video.InProgress, video.Failed, video.Cancelled, video.Expired},
		video.InProgress: {video.Completed, video.Failed, video.Cancelled, video.Expired},
		video.Completed:  {video.Expired},
	}
	for _, from := range video.States() {
		for _, next := range video.States() {
			if got := from.To(next); got != slices.Contains(want[from], next) {
				t.Errorf("%s to %s: %t", from, next, got)
			}
		}
		if !slices.Equal(from.Next(), want[from]) || !from.Known() {
			t.Errorf("after %s: %v", from, from.Next())
		}
	}
	if video.State("done").Known() || video.State("done").To(video.Expired) {
		t.Error("a state that is none")
	}
}

// However a job goes, it never comes back, is active first and never again, and ends after at most three steps.
func TestEveryWalkEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := video.Pending
		seen := []video.State{s}
		for len(s.Next()) > 0 {
			next := rapid.SampledFrom(s.Next()).Draw(t, "next")
			if slices.Contains(seen, next) {
				t.Fatalf("%v leads back to %s", seen, next)
			}
			if next.Active() && !s.Active() {
				t.Fatalf("%s is active after %s", next, s)
			}
			if next == video.Completed && s != video.InProgress {
				t.Fatalf("%s completed without a provider", s)
			}
			s = next
			seen = append(seen, s)
		}
		if s.Active() || s == video.Completed || len(seen) > 4 {
			t.Fatalf("%v is no whole walk", seen)
		}
	})
}
