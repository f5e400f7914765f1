package minimax

import (
	"weir/internal/catalog"
	"weir/internal/rawjson"
	"weir/internal/video"
)

// ReadVideo is what a look at a job gives.
func ReadVideo(ep *catalog.Endpoint, body []byte) video.Progress {
	return read(ep, rawjson.TextAt(body, "status"), body)
}
