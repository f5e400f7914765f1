package gemini_test

import (
	"testing"

	"weir/internal/dialect/gemini"
	"weir/internal/upstream/upstreamtest"
)

func FuzzPoll(f *testing.F) {
	upstreamtest.FuzzVideos(f, gemini.ReadVideo,
		`{"name":"a"}`, `{"done":true,"response":{"generateVideoResponse":{"generatedSamples":[{"video":{"uri":"https://a.example/files/1"}}]}}}`,
		`{"done":true,"response":{"videos":[{"bytesBase64Encoded":"AAAA","mimeType":"video/mp4"},{"gcsUri":"gs://b/o"}]}}`, `{"done":true,"response":{"raiMediaFilteredCount":1,"raiMediaFilteredReasons":["No."]}}`,
		`{"done":true,"error":{"code":4,"message":"late"}}`)
}
