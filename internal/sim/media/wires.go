// Package media has what providers serve for images and videos, most of it as jobs.
package media

import (
	"net/http"

	"weir/internal/sim/kit"
)

// Wires are the wires of this package.
type Wires struct {
	*kit.Host
	jobs mediaJobs
}

// New makes the wires.
func New(h *kit.Host) *Wires { return &Wires{Host: h} }

// Reset forgets all jobs and counts.
func (s *Wires) Reset() { s.jobs.reset() }

// Jobs is a copy of what was counted since the start or the last Reset, by wire and key.
func (s *Wires) Jobs() []JobCounts { return s.jobs.snapshot() }

// Mount adds the routes. Each provider but OpenAI and Google lies below its name, since their paths meet.
func (s *Wires) Mount(m *kit.Routes) {
	type methods = map[string]http.HandlerFunc
	m.AddOpen("/sim/media/{id}/{name}", s.results)
	m.Add(imagesWire, "POST", "/v1/images/generations", s.images(false))
	m.Add(imagesWire, "POST", "/v1/images/edits", s.images(true))
	m.AddAll(videosWire, "/v1/videos", methods{"POST": s.videos, "GET": s.listVideos})
	m.AddAll(videosWire, "/v1/videos/{id}", methods{"GET": s.getVideo, "DELETE": s.deleteVideo})
	m.Add(videosWire, "GET", "/v1/videos/{id}/content", s.videoContent)

	m.Add(googleWire, "GET", "/v1beta/models/{model}/operations/{id}", s.veoOperation)
	m.Add(googleWire, "GET", "/v1beta/files/{call}", s.googleFile)
	m.Add(googleWire, "GET", "/storage/v1/b/{bucket}/o/{object}", s.bucketObject)

	const router = "/openrouter/api/v1"
	m.Add(routerWire, "POST", router+"/images", s.routerImages)
	m.Add(routerWire, "POST", router+"/videos", s.routerVideos)
	m.Add(routerWire, "GET", router+"/videos/{id}", s.routerVideo)
	m.Add(routerWire, "GET", router+"/videos/{id}/content", s.routerContent)

	m.AddAll(falWire, "/fal/queue/{path...}", methods{"POST": s.falQueue, "GET": s.falQueue, "PUT": s.falQueue})
	m.Add(falWire, "POST", "/fal/run/{path...}", s.falRun)
	m.Add(bflWire, "POST", "/bfl/v1/{model}", s.bfl)
	m.Add(bflWire, "GET", "/bfl/v1/get_result", s.bflResult)
	m.Add(yandexArtWire, "POST", "/yandex-art/foundationModels/v1/imageGenerationAsync", s.yandexArt)
	m.Add(yandexArtWire, "GET", "/yandex-art/operations/{id}", func(w http.ResponseWriter, r *http.Request) { s.poll(yandexArtJobs, w, r, r.PathValue("id")) })

	m.Add(runwayWire, "POST", "/runway/v1/image_to_video", s.runway(true))
	m.Add(runwayWire, "POST", "/runway/v1/text_to_video", s.runway(false))
	m.AddAll(runwayWire, "/runway/v1/tasks/{id}", methods{"GET": s.runwayTask, "DELETE": s.deleteRunwayTask})
	s.klingRoutes(m, "/kling")
	m.Add(minimaxWire, "POST", "/minimax/v1/video_generation", s.minimaxVideo)
	m.Add(minimaxWire, "GET", "/minimax/v1/query/video_generation", s.minimaxTask)
	m.Add(minimaxWire, "GET", "/minimax/v1/files/retrieve", s.minimaxFile)
	const luma = "/luma/dream-machine/v1/generations"
	m.AddAll(lumaWire, luma, methods{"POST": s.lumaVideo, "GET": s.listLuma})
	m.Add(lumaWire, "POST", luma+"/video", s.lumaVideo)
	m.AddAll(lumaWire, luma+"/{id}", methods{"GET": s.lumaGeneration, "DELETE": s.deleteLuma})
}
