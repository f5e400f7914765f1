package sim

import (
	"net/http"
	"strconv"
	"time"
)

// videosWire is OpenAI's for videos.
var videosWire = wholeWire("videos", &openAIPhrases, (*refusal).json, chatWire.admit, "Invalid 'prompt': string too long. Expected a string with maximum length 32000, but got a string with length 40000 instead.", `{"object":"video"}`)

const videoBarred = "Your request was blocked by our moderation system."

var videoJobs = &jobWire{
	wire: videosWire, id: hexID("video_"),
	barred: refusal{status: 400, kind: "invalid_request_error", code: "moderation_blocked", message: videoBarred},
	unknown: func(id string) *refusal {
		return &refusal{status: 404, kind: "invalid_request_error", message: "Video with id '" + id + "' not found."}
	},
	accepted: (*mediaJob).openAI,
	view:     (*mediaJob).openAI,
}

// openAI is a job as OpenAI writes it.
func (j *mediaJob) openAI() []byte {
	status := map[jobStage]string{jobQueued: "queued", jobRunning: "in_progress", jobDone: "completed"}[j.stage]
	var completed, expires, fault any
	switch {
	case j.stage == jobDone:
		completed, expires = j.ended.Unix(), j.expires().Unix()
	case j.stage == jobBarred:
		fault = jsonOf("code", "moderation_blocked", "message", videoBarred)
	case j.stage > jobDone:
		fault = jsonOf("code", "server_error", "message", "The video could not be generated.")
	}
	if status == "" {
		status = "failed"
	}
	return jsonOf("id", j.id, "object", "video", "created_at", j.created.Unix(), "status", status, "completed_at", completed, "error", fault, "expires_at", expires, "model", j.made.name,
		"progress", j.progress, "prompt", j.made.prompt, "remixed_from_video_id", nil, "seconds", itoa(j.made.seconds), "size", j.made.size())
}

// videos serves POST /v1/videos, as a form or as JSON.
func (s *mediaWires) videos(w http.ResponseWriter, r *http.Request) {
	if !isForm(r) {
		s.mediaBody(videosWire, w, r, func(began time.Time, body []byte) *refusal {
			read, refused := readMedia(videosWire, 400, body)
			if refused != nil {
				return refused
			}
			return s.video(w, r, began, read, nil)
		})
		return
	}
	began := time.Now()
	read, files, refused := s.form(videosWire, r)
	if refused == nil {
		refused = s.video(w, r, began, read, files)
	}
	if refused != nil {
		s.refuse(videosWire, w, refused)
	}
}

func (s *mediaWires) video(w http.ResponseWriter, r *http.Request, began time.Time, read *mediaReader, files []part) *refusal {
	name := read.root.given("model").str()
	if name == "" {
		name = "sora-2"
	}
	read.model(name, map[string]bool{"sora-2": true, "sora-2-pro": true, "sora-2-2025-10-06": true, "sora-2-pro-2025-10-06": true, "sora-2-2025-12-08": true}, unknownModel)
	if read.fault != nil {
		return read.fault
	}
	a := &read.made
	a.video, a.seconds = true, 4
	a.sized("720x1280")
	for _, f := range files {
		m := picturePart(f.data)
		switch {
		case f.field != "input_reference":
			read.unknown(f.field)
		case m.format == "":
			read.refuse("input_reference", "invalid_value", "Invalid file 'input_reference': unsupported mimetype ('"+f.kind+"'). Supported file formats are 'image/jpeg', 'image/png', 'image/webp', and 'video/mp4'.")
		}
		a.inputs = append(a.inputs, m)
	}
	sizes := []string{"720x1280", "1280x720"}
	if a.base != "sora-2" && a.base != "sora-2-2025-10-06" && a.base != "sora-2-2025-12-08" {
		sizes = append(sizes, "1024x1792", "1792x1024")
	}
	_, refused := read.finish(map[string]mediaField{
		"model": mediaText, "prompt": mediaPrompt(32000), "size": mediaSize(sizes...),
		"seconds": func(r *mediaReader, v *node, p string) {
			r.made.seconds, _ = strconv.Atoi(r.words(v, p, "4", "8", "12"))
		},
		"input_reference": func(r *mediaReader, v *node, p string) {
			(&imageCall{mediaReader: r}).reference(v, p)
		},
	}, func(r *mediaReader) {
		for i := range a.inputs {
			if m := &a.inputs[i]; m.width > 0 && (m.width != a.width || m.height != a.height) {
				r.refuse("input_reference", "invalid_value", "Inpaint image must match the requested width and height")
			}
		}
	}, "prompt")
	if refused != nil {
		return refused
	}
	return s.submit(videoJobs, w, r, began, a)
}

// listVideos serves GET /v1/videos.
func (s *mediaWires) listVideos(w http.ResponseWriter, r *http.Request) {
	query, limit := r.URL.Query(), 20
	if n, ok := count(query.Get("limit")); ok && n <= 100 {
		limit = n
	}
	all := s.jobs.list(videosWire, credential(r), s.config.Now())
	if query.Get("order") == "asc" {
		for i, k := 0, len(all)-1; i < k; i, k = i+1, k-1 {
			all[i], all[k] = all[k], all[i]
		}
	}
	if after := query.Get("after"); after != "" {
		for i := range all {
			if all[i].id == after {
				all = all[i+1:]
				break
			}
		}
	}
	more := len(all) > limit
	var first, last any
	data := []any{}
	for i := range all[:min(limit, len(all))] {
		data = append(data, verbatim(all[i].openAI()))
		if last = all[i].id; i == 0 {
			first = last
		}
	}
	sendJSON(w, 200, jsonOf("object", "list", "data", data, "first_id", first, "last_id", last, "has_more", more))
}

func (s *mediaWires) getVideo(w http.ResponseWriter, r *http.Request) {
	s.poll(videoJobs, w, r, r.PathValue("id"))
}

func (s *mediaWires) deleteVideo(w http.ResponseWriter, r *http.Request) {
	s.cancelled(videoJobs, w, r, r.PathValue("id"), true, func(j *mediaJob) (int, []byte) {
		return 200, jsonOf("id", j.id, "object", "video.deleted", "deleted", true)
	})
}

// videoContent serves GET /v1/videos/{id}/content: the video, a thumbnail as WebP or a sheet of pictures as JPEG.
func (s *mediaWires) videoContent(w http.ResponseWriter, r *http.Request) {
	id, now := r.PathValue("id"), s.config.Now()
	j, found := s.jobs.look(videosWire, id, credential(r), now)
	refuse := func(status int, message string) {
		s.refuse(videosWire, w, &refusal{status: status, kind: "invalid_request_error", message: message})
	}
	format, known := map[string]string{"": "mp4", "video": "mp4", "thumbnail": "webp", "spritesheet": "jpeg"}[r.URL.Query().Get("variant")]
	switch {
	case !found:
		s.refuse(videosWire, w, videoJobs.unknown(id))
	case j.outputs() == 0:
		refuse(404, "Video is not ready yet, use GET /v1/videos/{video_id} to check status.")
	case !known:
		refuse(400, "Invalid value for 'variant': expected one of 'video', 'thumbnail', 'spritesheet'.")
	case !now.Before(j.expires()):
		refuse(404, "The video has expired.")
	default:
		s.jobs.fetch(id)
		if format != "mp4" {
			j.made.video, j.made.format = false, format
		}
		s.sendFile(w, r, &j, j.made.file(0))
	}
}

const routerBarred = "The provider's content policy does not allow this request."

// routerJobs are OpenRouter's videos.
var routerJobs = &jobWire{
	wire: routerWire, id: hexID("job-"), status: 202,
	barred:   refusal{status: 403, message: routerBarred},
	unknown:  func(string) *refusal { return &refusal{status: 404, message: "Resource not found"} },
	accepted: (*mediaJob).router,
	view:     (*mediaJob).router,
}

// router is a job as OpenRouter writes it: members that have nothing to say are left out.
func (j *mediaJob) router() []byte {
	at := j.base + "/openrouter/api/v1/videos/" + j.id
	status := map[jobStage]string{jobQueued: "pending", jobRunning: "in_progress", jobDone: "completed", jobFailed: "failed", jobBarred: "failed", jobCancelled: "cancelled", jobExpired: "expired"}[j.stage]
	members := []any{"id", j.id, "polling_url", at, "status", status}
	if j.stage > jobQueued {
		members = append(members, "generation_id", "gen-"+j.id[4:20])
	}
	switch j.stage {
	case jobDone:
		urls := []any{}
		for i := range j.outputs() {
			urls = append(urls, at+"/content?index="+itoa(i))
		}
		members = append(members, "unsigned_urls", urls, "usage", jsonOf("cost", 0.05*float64(j.made.seconds), "is_byok", false))
	case jobBarred:
		members = append(members, "error", routerBarred)
	case jobFailed:
		members = append(members, "error", "The video generation failed.")
	}
	return jsonOf(members...)
}

// routerVideos serves POST /api/v1/videos.
func (s *mediaWires) routerVideos(w http.ResponseWriter, r *http.Request) {
	s.mediaBody(routerWire, w, r, func(began time.Time, body []byte) *refusal {
		read, refused := readMedia(routerWire, 400, body)
		if refused != nil {
			return refused
		}
		a, refused := read.routerVideo()
		if refused != nil {
			return refused
		}
		return s.submit(routerJobs, w, r, began, a)
	})
}

func (r *mediaReader) routerVideo() (*mediaAsk, *refusal) {
	r.vendorModel()
	a, ratio, short := &r.made, "16:9", 720
	a.video, a.seconds = true, 5
	reference := func(v *node, p string) {
		link := func(r *mediaReader, v *node, p string) {
			members(&r.checker, r, v, p, map[string]mediaField{"url": mediaText}, "url")
		}
		if kind := v.get("type").str(); kind == "audio_url" || kind == "video_url" {
			members(&r.checker, r, v, p, map[string]mediaField{"type": mediaText, kind: link}, kind)
			return
		}
		r.imagePart(v, p)
	}
	fields := map[string]mediaField{
		"model": mediaText, "provider": mediaObject, "prompt": mediaPrompt(32000), "generate_audio": mediaFlag, "seed": mediaSeed(-anyInt-1, anyInt), "callback_url": mediaText,
		"duration": func(r *mediaReader, v *node, p string) { a.seconds = int(r.integer(v, p, 1, 60)) },
		"aspect_ratio": func(r *mediaReader, v *node, p string) {
			ratio = r.words(v, p, "16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "21:9", "9:21")
		},
		"resolution": func(r *mediaReader, v *node, p string) {
			short = shortSides[r.words(v, p, "480p", "720p", "768p", "1080p", "1K", "2K", "4K")]
		},
		"size": mediaText, "creativity": mediaWhole(0, 100), "upscale_factor": mediaDecimal(0.01, 100),
		"input_references": func(r *mediaReader, v *node, p string) { r.each(v, p, reference) },
		"frame_images": func(r *mediaReader, v *node, p string) {
			seen := map[string]bool{}
			r.each(v, p, func(v *node, p string) {
				kind := v.get("frame_type").str()
				if r.imagePart(v, p); kind == "" || seen[kind] {
					r.wrongValue(p+".frame_type", "'first_frame' or 'last_frame', each once")
				}
				seen[kind] = true
			})
		},
	}
	r.lenient(fields)
	return r.finish(fields, func(r *mediaReader) {
		a.shape(ratio, short)
		if size := r.root.given("size"); size != nil && !a.sized(size.str()) {
			r.wrongValue("size", "WIDTHxHEIGHT")
		}
		if a.prompt == "" && len(a.inputs) == 0 {
			r.missing("prompt")
		}
	}, "model")
}

func (s *mediaWires) routerVideo(w http.ResponseWriter, r *http.Request) {
	s.poll(routerJobs, w, r, r.PathValue("id"))
}

// routerContent serves GET /api/v1/videos/{id}/content.
func (s *mediaWires) routerContent(w http.ResponseWriter, r *http.Request) {
	id, now, i := r.PathValue("id"), s.config.Now(), 0
	if index := r.URL.Query().Get("index"); index != "" {
		n, ok := count(index)
		if !ok {
			s.refuse(routerWire, w, &refusal{status: 400, message: "Invalid request parameters"})
			return
		}
		i = n
	}
	j, found := s.jobs.look(routerWire, id, credential(r), now)
	if !found || i >= j.outputs() || !now.Before(j.expires()) {
		s.refuse(routerWire, w, routerJobs.unknown(id))
		return
	}
	s.jobs.fetch(id)
	s.sendFile(w, r, &j, j.made.file(i))
}
