package fal_test

import (
	"testing"

	"weir/internal/dialect/fal"
	"weir/internal/upstream/upstreamtest"
)

func FuzzPoll(f *testing.F) {
	upstreamtest.FuzzVideos(f, fal.ReadVideo,
		`{"video":{"url":"https://a.example/1.mp4","content_type":"video/mp4","file_size":7,"duration":5.2}}`, `{"videos":[{"url":"https://a.example/1.mp4"},{"file_size":-1}]}`, `{}`)
}
