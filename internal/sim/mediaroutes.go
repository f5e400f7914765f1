package sim

import "net/http"

// mediaRoutes adds the wires for pictures and videos. Each provider but OpenAI and Google lies below its name, since their paths meet.
func (s *Server) mediaRoutes() {
	type methods = map[string]http.HandlerFunc
	s.mux.HandleFunc("/sim/media/{id}/{name}", s.results)
	s.route(imagesWire, "POST", "/v1/images/generations", s.images(false))
	s.route(imagesWire, "POST", "/v1/images/edits", s.images(true))
	s.routes(videosWire, "/v1/videos", methods{"POST": s.videos, "GET": s.listVideos})
	s.routes(videosWire, "/v1/videos/{id}", methods{"GET": s.getVideo, "DELETE": s.deleteVideo})
	s.route(videosWire, "GET", "/v1/videos/{id}/content", s.videoContent)

	s.route(googleWire, "GET", "/v1beta/models/{model}/operations/{id}", s.veoOperation)
	s.route(googleWire, "GET", "/v1beta/files/{call}", s.googleFile)
	s.route(googleWire, "GET", "/storage/v1/b/{bucket}/o/{object}", s.bucketObject)

	const router = "/openrouter/api/v1"
	s.route(chatWire, "POST", router+"/chat/completions", s.chat)
	s.route(routerWire, "POST", router+"/images", s.routerImages)
	s.route(routerWire, "POST", router+"/videos", s.routerVideos)
	s.route(routerWire, "GET", router+"/videos/{id}", s.routerVideo)
	s.route(routerWire, "GET", router+"/videos/{id}/content", s.routerContent)

	s.routes(falWire, "/fal/queue/{path...}", methods{"POST": s.falQueue, "GET": s.falQueue, "PUT": s.falQueue})
	s.route(falWire, "POST", "/fal/run/{path...}", s.falRun)
	s.route(bflWire, "POST", "/bfl/v1/{model}", s.bfl)
	s.route(bflWire, "GET", "/bfl/v1/get_result", s.bflResult)
	s.route(artWire, "POST", "/yandex-art/foundationModels/v1/imageGenerationAsync", s.art)
	s.route(artWire, "GET", "/yandex-art/operations/{id}", func(w http.ResponseWriter, r *http.Request) { s.poll(artJobs, w, r, r.PathValue("id")) })

	s.route(runwayWire, "POST", "/runway/v1/image_to_video", s.runway(true))
	s.route(runwayWire, "POST", "/runway/v1/text_to_video", s.runway(false))
	s.routes(runwayWire, "/runway/v1/tasks/{id}", methods{"GET": s.runwayTask, "DELETE": s.deleteRunwayTask})
	s.klingRoutes("/kling")
	s.route(minimaxWire, "POST", "/minimax/v1/video_generation", s.minimaxVideo)
	s.route(minimaxWire, "GET", "/minimax/v1/query/video_generation", s.minimaxTask)
	s.route(minimaxWire, "GET", "/minimax/v1/files/retrieve", s.minimaxFile)
	const luma = "/luma/dream-machine/v1/generations"
	s.routes(lumaWire, luma, methods{"POST": s.lumaVideo, "GET": s.listLuma})
	s.route(lumaWire, "POST", luma+"/video", s.lumaVideo)
	s.routes(lumaWire, luma+"/{id}", methods{"GET": s.lumaGeneration, "DELETE": s.deleteLuma})
}
