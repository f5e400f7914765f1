package runway

import (
	"weir/internal/catalog"
	"weir/internal/video"
)

// ReadFilm is what a look at a job gives.
func ReadFilm(ep *catalog.Endpoint, body []byte) video.Progress { return read(ep, body) }
