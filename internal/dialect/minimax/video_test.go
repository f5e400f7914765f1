package minimax_test

import (
	"testing"

	"weir/internal/dialect/minimax"
	"weir/internal/upstream/upstreamtest"
)

func FuzzPoll(f *testing.F) {
	upstreamtest.FuzzVideos(f, minimax.ReadVideo,
		`{"status":"Queueing","base_resp":{"status_code":0}}`, `{"status":"Success","file_id":123,"base_resp":{"status_code":0}}`, `{"status":"Fail","base_resp":{"status_code":1027,"status_msg":"sensitive"}}`)
}
