package luma_test

import (
	"testing"

	"weir/internal/dialect/luma"
	"weir/internal/upstream/upstreamtest"
)

func FuzzPoll(f *testing.F) {
	upstreamtest.FuzzVideos(f, luma.ReadVideo,
		`{"state":"queued"}`, `{"state":"completed","assets":{"video":"https://a.example/1.mp4"}}`, `{"state":"failed","failure_reason":"Advanced moderation failed"}`)
}
