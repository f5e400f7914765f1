package luma

import (
	"weir/internal/catalog"
	"weir/internal/video"
)

// ReadVideo is what a look at a job gives.
func ReadVideo(ep *catalog.Endpoint, body []byte) video.Progress { return read(ep, body) }
