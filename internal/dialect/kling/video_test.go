package kling_test

import (
	"testing"

	"weir/internal/dialect/kling"
	"weir/internal/upstream/upstreamtest"
)

func FuzzPoll(f *testing.F) {
	upstreamtest.FuzzVideos(f, kling.ReadVideo,
		`{"task_status":"submitted"}`, `{"task_status":"succeed","task_result":{"videos":[{"id":"1","url":"https://a.example/1.mp4","duration":"5.041"},{"duration":"NaN"}]}}`,
		`{"task_status":"failed","task_status_msg":"Failure to pass the risk control system"}`)
}
