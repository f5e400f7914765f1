package minimax

import (
	"weir/internal/catalog"
	"weir/internal/rawjson"
	"weir/internal/video"
)

// ReadFilm is what a look at a job gives.
func ReadFilm(ep *catalog.Endpoint, body []byte) video.Progress {
	return read(ep, rawjson.TextAt(body, "status"), body)
}
