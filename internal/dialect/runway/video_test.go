package runway_test

import (
	"testing"

	"weir/internal/dialect/runway"
	"weir/internal/upstream/upstreamtest"
)

func FuzzPoll(f *testing.F) {
	upstreamtest.FuzzVideos(f, runway.ReadVideo,
		`{"id":"a","status":"RUNNING","progress":0.5}`, `{"status":"RUNNING","progress":1e300}`, `{"status":"SUCCEEDED","output":["https://a.example/1.mp4",7]}`,
		`{"status":"FAILED","failure":"No.","failureCode":"SAFETY.INPUT.TEXT"}`, `{"status":"CANCELLED"}`)
}
