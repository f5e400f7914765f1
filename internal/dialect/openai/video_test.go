package openai_test

import (
	"testing"

	"weir/internal/dialect/openai"
	"weir/internal/upstream/upstreamtest"
)

func FuzzPoll(f *testing.F) {
	upstreamtest.FuzzVideos(f, openai.ReadVideo,
		`{"status":"queued"}`, `{"status":"in_progress","progress":-4}`, `{"status":"completed","seconds":"8","usage":{"cost":0.5}}`, `{"status":"completed","seconds":1e300}`,
		`{"status":"failed","error":{"code":"moderation_blocked","message":"No."}}`, `{"status":"failed","error":"text"}`)
}
