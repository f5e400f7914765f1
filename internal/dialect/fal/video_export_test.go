package fal

import (
	"weir/internal/catalog"
	"weir/internal/video"
)

// ReadVideo is what a look at a job gives.
func ReadVideo(_ *catalog.Endpoint, body []byte) video.Progress { return readVideo(body) }
