package media

import (
	"net/http"
	"strconv"
	"time"

	"weir/internal/sim/kit"
)

// videosWire is OpenAI's for videos.
var videosWire = kit.NewWholeWire("videos", &kit.OpenAIPhrases, (*kit.Refusal).JSON, kit.ChatWire.Admit, "Invalid 'prompt': string too long. Expected a string with maximum length 32000, but got a string with length 40000 instead.", `{"object":"video"}`)

const videoBlocked = "Your request was blocked by our moderation system."

var videoJobs = &jobWire{
	Wire: videosWire, id: hexID("video_"),
	blocked: kit.Refusal{Status: 400, Kind: "invalid_request_error", Code: "moderation_blocked", Message: videoBlocked},
	unknown: func(id string) *kit.Refusal {
		return &kit.Refusal{Status: 404, Kind: "invalid_request_error", Message: "Video with id '" + id + "' not found."}
	},
	accepted: (*mediaJob).openAI,
	view:     (*mediaJob).openAI,
}

// openAI is a job as OpenAI writes it.
func (j *mediaJob) openAI() []byte {
	status := map[kit.JobStage]string{kit.JobQueued: "queued", kit.JobRunning: "in_progress", kit.JobDone: "completed"}[j.stage]
	var completed, expires, fault any
	switch {
	case j.stage == kit.JobDone:
		completed, expires = j.ended.Unix(), j.expires().Unix()
	case j.stage == kit.JobBlocked:
		fault = JSONOf("code", "moderation_blocked", "message", videoBlocked)
	case j.stage > kit.JobDone:
		fault = JSONOf("code", "server_error", "message", "The video could not be generated.")
	}
	if status == "" {
		status = "failed"
	}
	return JSONOf("id", j.id, "object", "video", "created_at", j.created.Unix(), "status", status, "completed_at", completed, "error", fault, "expires_at", expires, "model", j.spec.name,
		"progress", j.progress, "prompt", j.spec.prompt, "remixed_from_video_id", nil, "seconds", kit.Itoa(j.spec.seconds), "size", j.spec.size())
}

// videos serves POST /v1/videos, as a form or as JSON.
func (s *Wires) videos(w http.ResponseWriter, r *http.Request) {
	if !isForm(r) {
		s.mediaBody(videosWire, w, r, func(began time.Time, body []byte) *kit.Refusal {
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
		s.Refuse(videosWire, w, refused)
	}
}

func (s *Wires) video(w http.ResponseWriter, r *http.Request, began time.Time, read *mediaReader, files []part) *kit.Refusal {
	name := read.Root.Given("model").Str()
	if name == "" {
		name = "sora-2"
	}
	read.model(name, map[string]bool{"sora-2": true, "sora-2-pro": true, "sora-2-2025-10-06": true, "sora-2-pro-2025-10-06": true, "sora-2-2025-12-08": true}, kit.UnknownModel)
	if read.Fault != nil {
		return read.Fault
	}
	a := &read.spec
	a.video, a.seconds = true, 4
	a.sized("720x1280")
	for _, f := range files {
		m := imagePart(f.data)
		switch {
		case f.field != "input_reference":
			read.Unknown(f.field)
		case m.Format == "":
			read.Refuse("input_reference", "invalid_value", "Invalid file 'input_reference': unsupported mimetype ('"+f.kind+"'). Supported file formats are 'image/jpeg', 'image/png', 'image/webp', and 'video/mp4'.")
		}
		a.inputs = append(a.inputs, m)
	}
	sizes := []string{"720x1280", "1280x720"}
	if a.base != "sora-2" && a.base != "sora-2-2025-10-06" && a.base != "sora-2-2025-12-08" {
		sizes = append(sizes, "1024x1792", "1792x1024")
	}
	_, refused := read.finish(map[string]mediaField{
		"model": mediaText, "prompt": mediaPrompt(32000), "size": mediaSize(sizes...),
		"seconds": func(r *mediaReader, v *kit.Node, p string) {
			r.spec.seconds, _ = strconv.Atoi(r.OneOf(v, p, "4", "8", "12"))
		},
		"input_reference": func(r *mediaReader, v *kit.Node, p string) {
			(&imageCall{mediaReader: r}).reference(v, p)
		},
	}, func(r *mediaReader) {
		for i := range a.inputs {
			if m := &a.inputs[i]; m.Width > 0 && (m.Width != a.width || m.Height != a.height) {
				r.Refuse("input_reference", "invalid_value", "Inpaint image must match the requested width and height")
			}
		}
	}, "prompt")
	if refused != nil {
		return refused
	}
	return s.submit(videoJobs, w, r, began, a)
}

// listVideos serves GET /v1/videos.
func (s *Wires) listVideos(w http.ResponseWriter, r *http.Request) {
	query, limit := r.URL.Query(), 20
	if n, ok := kit.ParseCount(query.Get("limit")); ok && n <= 100 {
		limit = n
	}
	all := s.jobs.list(videosWire, credential(r), s.Config.Now())
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
		data = append(data, Verbatim(all[i].openAI()))
		if last = all[i].id; i == 0 {
			first = last
		}
	}
	kit.SendJSON(w, 200, JSONOf("object", "list", "data", data, "first_id", first, "last_id", last, "has_more", more))
}

func (s *Wires) getVideo(w http.ResponseWriter, r *http.Request) {
	s.poll(videoJobs, w, r, r.PathValue("id"))
}

func (s *Wires) deleteVideo(w http.ResponseWriter, r *http.Request) {
	s.cancelled(videoJobs, w, r, r.PathValue("id"), true, func(j *mediaJob) (int, []byte) {
		return 200, JSONOf("id", j.id, "object", "video.deleted", "deleted", true)
	})
}

// videoContent serves GET /v1/videos/{id}/content: the video, a thumbnail as WebP or a sprite sheet as JPEG.
func (s *Wires) videoContent(w http.ResponseWriter, r *http.Request) {
	id, now := r.PathValue("id"), s.Config.Now()
	j, found := s.jobs.look(videosWire, id, credential(r), now)
	refuse := func(status int, message string) {
		s.Refuse(videosWire, w, &kit.Refusal{Status: status, Kind: "invalid_request_error", Message: message})
	}
	format, known := map[string]string{"": "mp4", "video": "mp4", "thumbnail": "webp", "spritesheet": "jpeg"}[r.URL.Query().Get("variant")]
	switch {
	case !found:
		s.Refuse(videosWire, w, videoJobs.unknown(id))
	case j.outputs() == 0:
		refuse(404, "Video is not ready yet, use GET /v1/videos/{video_id} to check status.")
	case !known:
		refuse(400, "Invalid value for 'variant': expected one of 'video', 'thumbnail', 'spritesheet'.")
	case !now.Before(j.expires()):
		refuse(404, "The video has expired.")
	default:
		s.jobs.fetch(id)
		if format != "mp4" {
			j.spec.video, j.spec.format = false, format
		}
		s.sendFile(w, r, &j, j.spec.file(0))
	}
}

const routerBlocked = "The provider's content policy does not allow this request."

// routerJobs are OpenRouter's videos.
var routerJobs = &jobWire{
	Wire: routerWire, id: hexID("job-"), status: 202,
	blocked:  kit.Refusal{Status: 403, Message: routerBlocked},
	unknown:  func(string) *kit.Refusal { return &kit.Refusal{Status: 404, Message: "Resource not found"} },
	accepted: (*mediaJob).router,
	view:     (*mediaJob).router,
}

// router is a job as OpenRouter writes it: members that have nothing to say are left out.
func (j *mediaJob) router() []byte {
	at := j.base + "/openrouter/api/v1/videos/" + j.id
	status := map[kit.JobStage]string{kit.JobQueued: "pending", kit.JobRunning: "in_progress", kit.JobDone: "completed", kit.JobFailed: "failed", kit.JobBlocked: "failed", kit.JobCancelled: "cancelled", kit.JobExpired: "expired"}[j.stage]
	members := []any{"id", j.id, "polling_url", at, "status", status}
	if j.stage > kit.JobQueued {
		members = append(members, "generation_id", "gen-"+j.id[4:20])
	}
	switch j.stage {
	case kit.JobDone:
		urls := []any{}
		for i := range j.outputs() {
			urls = append(urls, at+"/content?index="+kit.Itoa(i))
		}
		members = append(members, "unsigned_urls", urls, "usage", JSONOf("cost", 0.05*float64(j.spec.seconds), "is_byok", false))
	case kit.JobBlocked:
		members = append(members, "error", routerBlocked)
	case kit.JobFailed:
		members = append(members, "error", "The video generation failed.")
	}
	return JSONOf(members...)
}

// routerVideos serves POST /api/v1/videos.
func (s *Wires) routerVideos(w http.ResponseWriter, r *http.Request) {
	s.mediaBody(routerWire, w, r, func(began time.Time, body []byte) *kit.Refusal {
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

func (r *mediaReader) routerVideo() (*mediaRequest, *kit.Refusal) {
	r.vendorModel()
	a, ratio, short := &r.spec, "16:9", 720
	a.video, a.seconds = true, 5
	reference := func(v *kit.Node, p string) {
		link := func(r *mediaReader, v *kit.Node, p string) {
			kit.Members(&r.Checker, r, v, p, map[string]mediaField{"url": mediaText}, "url")
		}
		if kind := v.Get("type").Str(); kind == "audio_url" || kind == "video_url" {
			kit.Members(&r.Checker, r, v, p, map[string]mediaField{"type": mediaText, kind: link}, kind)
			return
		}
		r.imagePart(v, p)
	}
	fields := map[string]mediaField{
		"model": mediaText, "provider": mediaObject, "prompt": mediaPrompt(32000), "generate_audio": mediaFlag, "seed": mediaSeed(-kit.MaxInteger-1, kit.MaxInteger), "callback_url": mediaText,
		"duration": func(r *mediaReader, v *kit.Node, p string) { a.seconds = int(r.Integer(v, p, 1, 60)) },
		"aspect_ratio": func(r *mediaReader, v *kit.Node, p string) {
			ratio = r.OneOf(v, p, "16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "21:9", "9:21")
		},
		"resolution": func(r *mediaReader, v *kit.Node, p string) {
			short = shortSides[r.OneOf(v, p, "480p", "720p", "768p", "1080p", "1K", "2K", "4K")]
		},
		"size": mediaText, "creativity": mediaWhole(0, 100), "upscale_factor": mediaDecimal(0.01, 100),
		"input_references": func(r *mediaReader, v *kit.Node, p string) { r.Each(v, p, reference) },
		"frame_images": func(r *mediaReader, v *kit.Node, p string) {
			seen := map[string]bool{}
			r.Each(v, p, func(v *kit.Node, p string) {
				kind := v.Get("frame_type").Str()
				if r.imagePart(v, p); kind == "" || seen[kind] {
					r.WrongValue(p+".frame_type", "'first_frame' or 'last_frame', each once")
				}
				seen[kind] = true
			})
		},
	}
	r.lenient(fields)
	return r.finish(fields, func(r *mediaReader) {
		a.shape(ratio, short)
		if size := r.Root.Given("size"); size != nil && !a.sized(size.Str()) {
			r.WrongValue("size", "WIDTHxHEIGHT")
		}
		if a.prompt == "" && len(a.inputs) == 0 {
			r.Missing("prompt")
		}
	}, "model")
}

func (s *Wires) routerVideo(w http.ResponseWriter, r *http.Request) {
	s.poll(routerJobs, w, r, r.PathValue("id"))
}

// routerContent serves GET /api/v1/videos/{id}/content.
func (s *Wires) routerContent(w http.ResponseWriter, r *http.Request) {
	id, now, i := r.PathValue("id"), s.Config.Now(), 0
	if index := r.URL.Query().Get("index"); index != "" {
		n, ok := kit.ParseCount(index)
		if !ok {
			s.Refuse(routerWire, w, &kit.Refusal{Status: 400, Message: "Invalid request parameters"})
			return
		}
		i = n
	}
	j, found := s.jobs.look(routerWire, id, credential(r), now)
	if !found || i >= j.outputs() || !now.Before(j.expires()) {
		s.Refuse(routerWire, w, routerJobs.unknown(id))
		return
	}
	s.jobs.fetch(id)
	s.sendFile(w, r, &j, j.spec.file(i))
}
