package sim

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// detailPhrases are those of providers whose servers check bodies by their types and tell what is wrong where.
var detailPhrases = phrases{
	item:    func(param string, i int) string { return param + "." + strconv.Itoa(i) },
	missing: func(string) string { return "Field required" },
	unknown: func(string) string { return "Extra inputs are not permitted" },
	wrongType: func(_, _, want string) string {
		return "Input should be a valid " + strings.TrimPrefix(strings.TrimPrefix(want, "a "), "an ")
	},
	wrongValue: func(_, want string) string { return "Input should be " + want },
	outOfRange: func(_, low, high string) string { return "Input should be from " + low + " to " + high },
	readable:   func(error) string { return "JSON decode error" },
}

// detailTypes are the words for what is wrong.
var detailTypes = map[string]string{
	"missing_required_parameter": "missing", "unknown_parameter": "extra_forbidden", "invalid_type": "type_error", "integer_out_of_range": "out_of_range",
	"decimal_out_of_range": "out_of_range", "string_above_max_length": "string_too_long", "content_policy_violation": "content_policy_violation",
}

// detailsError is an error with a place for status 422 and a sentence otherwise.
func detailsError(f *refusal) []byte {
	if f.status != 422 {
		return jsonOf("detail", f.message)
	}
	loc := []any{"body"}
	if f.param != "" {
		for _, name := range strings.Split(f.param, ".") {
			loc = append(loc, name)
		}
	}
	kind := detailTypes[f.code]
	if kind == "" {
		kind = "value_error"
	}
	return jsonOf("detail", []any{jsonOf("loc", loc, "msg", f.message, "type", kind)})
}

// falWire is fal's: a queue before any model, and the model itself without one.
var falWire = wholeWire("fal", &detailPhrases, detailsError, func(s *Host, r *http.Request) *refusal {
	if key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Key "); ok && key != "" && s.hasKey(key) {
		return nil
	}
	return &refusal{status: 401, message: "Cannot access application. Authentication is required to access this application."}
}, "String should have at most 4096 characters", `{"images":[]}`)

var falBarred = refusal{status: 422, code: "content_policy_violation", param: "prompt", message: "The content could not be processed because it contained material flagged by a content checker."}

var falJobs = &jobWire{
	wire: falWire, id: uuidOf, barred: falBarred,
	unknown:  func(id string) *refusal { return &refusal{status: 404, message: "Request " + id + " not found"} },
	accepted: (*mediaJob).falStatus,
	view:     (*mediaJob).falStatus,
	polled: func(j *mediaJob) int {
		if j.stage < jobDone {
			return 202
		}
		return 200
	},
}

// falStatus is how far a job is. One that failed is complete too, and says why.
func (j *mediaJob) falStatus() []byte {
	at := j.base + "/fal/queue/" + j.falApp() + "/requests/" + j.id
	status := map[jobStage]string{jobQueued: "IN_QUEUE", jobRunning: "IN_PROGRESS"}[j.stage]
	members := []any{"status", cmp.Or(status, "COMPLETED"), "request_id", j.id, "response_url", at, "status_url", at + "/status", "cancel_url", at + "/cancel"}
	switch {
	case j.stage == jobQueued:
		members = append(members, "queue_position", 0)
	case j.stage == jobRunning:
		members = append(members, "logs", nil)
	case j.stage == jobDone:
		members = append(members, "logs", nil, "metrics", jsonOf("inference_time", 1.5))
	default:
		f, kind := j.falFailure()
		members = append(members, "logs", nil, "error", f.message, "error_type", kind)
	}
	return jsonOf(members...)
}

// falApp is the first two names of a model: paths of requests have no more of it.
func (j *mediaJob) falApp() string {
	parts := strings.SplitN(j.made.base, "/", 3)
	return strings.Join(parts[:min(2, len(parts))], "/")
}

// falFailure is what the result of a job without one is.
func (j *mediaJob) falFailure() (refusal, string) {
	switch j.stage {
	case jobBarred:
		return falBarred, "content_policy_violation"
	case jobCancelled:
		return refusal{status: 499, message: "Request was cancelled by the client"}, "client_cancelled"
	case jobExpired:
		return refusal{status: 504, message: "Request timed out"}, "request_timeout"
	}
	return refusal{status: 500, message: "The model failed to generate a result"}, "internal_error"
}

// falPath is what a path below the queue names.
type falPath struct{ model, id, action string }

func falRequest(path string) falPath {
	app, rest, ok := strings.Cut(path, "/requests/")
	if !ok {
		return falPath{model: path}
	}
	id, action, _ := strings.Cut(rest, "/")
	return falPath{app, id, action}
}

// falQueue serves everything below /fal/queue/.
func (s *mediaWires) falQueue(w http.ResponseWriter, r *http.Request) {
	at := falRequest(r.PathValue("path"))
	switch {
	case at.id == "" && r.Method == http.MethodPost:
		s.falAsk(w, r, at.model, func(began time.Time, a *mediaAsk) *refusal { return s.submit(falJobs, w, r, began, a) })
	case at.id != "" && at.action == "status" && r.Method == http.MethodGet:
		s.poll(falJobs, w, r, at.id)
	case at.id != "" && (at.action == "" || at.action == "response") && r.Method == http.MethodGet:
		s.falResult(w, r, at.id)
	case at.id != "" && at.action == "cancel" && r.Method == http.MethodPut:
		s.falCancel(w, r, at.id)
	default:
		s.refuse(falWire, w, &refusal{status: 405, message: "Method Not Allowed"})
	}
}

// falRun serves everything below /fal/run/: the same models, and their results at once.
func (s *mediaWires) falRun(w http.ResponseWriter, r *http.Request) {
	s.falAsk(w, r, r.PathValue("path"), func(began time.Time, a *mediaAsk) *refusal {
		if end := a.knobs.job.end; end == "refuse" || end == "policy" {
			barred := falBarred
			return &barred
		}
		s.playMedia(&reply{wire: falWire, body: func() []byte {
			return s.madeAtOnce(falWire, r, a).falOutput()
		}}, w, r, began, a, stepSubmit)
		return nil
	})
}

func (s *mediaWires) falResult(w http.ResponseWriter, r *http.Request, id string) {
	began := time.Now()
	j, found := s.jobs.look(falWire, id, credential(r), s.config.Now())
	switch {
	case !found:
		s.refuse(falWire, w, falJobs.unknown(id))
	case j.stage < jobDone:
		s.refuse(falWire, w, &refusal{status: 400, message: "Request is still in progress"})
	case j.stage != jobDone:
		f, _ := j.falFailure()
		s.refuse(falWire, w, &f)
	default:
		s.playMedia(&reply{wire: falWire, body: j.falOutput}, w, r, began, &j.made, stepPoll)
	}
}

func (s *mediaWires) falCancel(w http.ResponseWriter, r *http.Request, id string) {
	if _, found := s.jobs.look(falWire, id, credential(r), s.config.Now()); !found {
		s.stats.of("").refused.Add(1)
		sendJSON(w, 404, jsonOf("status", "NOT_FOUND"))
		return
	}
	s.cancelled(falJobs, w, r, id, false, func(j *mediaJob) (int, []byte) {
		if j.stage >= jobDone {
			return 400, jsonOf("status", "ALREADY_COMPLETED")
		}
		return 202, jsonOf("status", "CANCELLATION_REQUESTED")
	})
}

var falSizes = map[string]string{
	"square_hd": "1024x1024", "square": "512x512", "portrait_4_3": "768x1024", "portrait_16_9": "576x1024", "landscape_4_3": "1024x768", "landscape_16_9": "1024x576",
}

// falAsk reads a request for a model "owner/app[/...]". One with "video" in its name makes a video.
func (s *mediaWires) falAsk(w http.ResponseWriter, r *http.Request, model string, then func(time.Time, *mediaAsk) *refusal) {
	s.mediaBody(falWire, w, r, func(began time.Time, body []byte) *refusal {
		read, refused := readMedia(falWire, 422, body)
		if refused != nil {
			return refused
		}
		if !strings.Contains(model, "/") {
			return &refusal{status: 404, message: "Application '" + model + "' not found"}
		}
		read.model(model, nil, func(string) *refusal { return nil })
		read.made.video = strings.Contains(read.made.base, "video")
		fields := falImage
		read.made.format = "jpeg"
		read.made.sized("1024x768")
		if read.made.video {
			fields = falVideo
			read.made.seconds = 5
		}
		read.lenient(fields)
		a, refused := read.finish(fields, (*mediaReader).falTogether, "prompt")
		if refused != nil {
			return refused
		}
		return then(began, a)
	})
}

var falImage = map[string]mediaField{
	"prompt": mediaPrompt(4096), "image_size": (*mediaReader).falSize, "num_images": mediaCount(4), "output_format": mediaFormat("jpeg", "png", "webp"),
	"seed": mediaSeed(0, anyInt), "num_inference_steps": mediaWhole(1, 100), "guidance_scale": mediaDecimal(0, 20), "sync_mode": mediaFlag,
	"enable_safety_checker": mediaFlag, "safety_tolerance": mediaWords("1", "2", "3", "4", "5", "6"), "acceleration": mediaWords("none", "regular", "high"),
	"aspect_ratio": mediaText, "image_url": mediaLink(false, "https", "http"), "negative_prompt": mediaText,
	"image_urls": func(r *mediaReader, v *node, p string) {
		r.each(v, p, func(v *node, p string) { mediaLink(false, "https", "http")(r, v, p) })
	},
}

var falVideo = map[string]mediaField{
	"prompt": mediaPrompt(4096), "negative_prompt": mediaText, "aspect_ratio": mediaWords("auto", "16:9", "9:16", "1:1", "4:3", "3:4", "21:9"),
	"resolution": mediaWords("480p", "540p", "720p", "768p", "1080p", "4k"), "generate_audio": mediaFlag, "seed": mediaSeed(0, anyInt),
	"image_url": mediaLink(false, "https", "http"), "tail_image_url": mediaLink(false, "https", "http"), "end_image_url": mediaLink(false, "https", "http"),
	"enhance_prompt": mediaFlag, "prompt_optimizer": mediaFlag, "cfg_scale": mediaDecimal(0, 1), "auto_fix": mediaFlag,
	"duration": func(r *mediaReader, v *node, p string) {
		written := strings.TrimSuffix(v.text, "s")
		if v.is(number) {
			written = string(v.raw)
		}
		n, ok := count(written)
		if r.made.seconds = n; !ok || n < 1 || n > 60 {
			r.wrongValue(p, "a number of seconds from 1 to 60")
		}
	},
}

func (r *mediaReader) falSize(v *node, param string) {
	if v.is(text) {
		if size := falSizes[v.text]; size == "" {
			r.wrongValue(param, "'square_hd', 'square', 'portrait_4_3', 'portrait_16_9', 'landscape_4_3' or 'landscape_16_9'")
		} else {
			r.made.sized(size)
		}
		return
	}
	side := func(to *int) mediaField {
		return func(r *mediaReader, v *node, p string) { *to = int(r.integer(v, p, 1, maxSide)) }
	}
	members(&r.checker, r, v, param, map[string]mediaField{"width": side(&r.made.width), "height": side(&r.made.height)})
}

var shortSides = map[string]int{"480p": 480, "540p": 540, "720p": 720, "768p": 768, "1080p": 1080, "1K": 1024, "2K": 1440, "4K": 2160, "4k": 2160, "512P": 512, "720P": 720, "768P": 768, "1080P": 1080}

// falTogether settles the size of a video, and of a picture by its ratio.
func (r *mediaReader) falTogether() {
	a, ratio := &r.made, r.root.given("aspect_ratio").str()
	switch {
	case a.video:
		if ratio == "" || ratio == "auto" {
			ratio = "16:9"
		}
		short := shortSides[r.root.given("resolution").str()]
		if short == 0 {
			short = 720
		}
		a.shape(ratio, short)
	case ratio != "" && !slices.Contains(routerRatios, ratio):
		r.wrongValue("aspect_ratio", "a ratio such as 16:9")
	case ratio != "":
		a.shape(ratio, 1024)
	}
}

// falOutput is the result of a job.
func (j *mediaJob) falOutput() []byte {
	a, seed := &j.made, int64(j.made.digest(0)>>12)
	if a.video {
		if j.outputs() == 0 {
			return jsonOf("video", nil)
		}
		f := a.file(0)
		return jsonOf("video", jsonOf("url", j.url(0), "content_type", f.mime, "file_name", "output.mp4", "file_size", f.size), "seed", seed)
	}
	parsed, _ := parse(a.request)
	pictures, flags := []any{}, []any{}
	for i := range j.outputs() {
		at := j.url(i)
		if parsed.get("sync_mode").yes() {
			at = "data:" + mimes[a.picture()] + ";base64," + a.base64(i)
		}
		pictures = append(pictures, jsonOf("url", at, "width", a.width, "height", a.height, "content_type", mimes[a.picture()]))
		flags = append(flags, false)
	}
	return jsonOf("images", pictures, "timings", jsonOf("inference", 0.5), "seed", seed, "has_nsfw_concepts", flags, "prompt", a.prompt)
}

// bflWire is Black Forest Labs'.
var bflWire = wholeWire("bfl", &detailPhrases, detailsError, func(s *Host, r *http.Request) *refusal {
	if key := r.Header.Get("X-Key"); key != "" && s.hasKey(key) {
		return nil
	}
	return &refusal{status: 403, message: "Not authenticated - Invalid Authentication"}
}, "String should have at most 4096 characters", `{"id":"x"}`)

var bflJobs = &jobWire{
	wire: bflWire, id: uuidOf,
	barred:  refusal{status: 422, param: "prompt", code: "content_policy_violation", message: "Request Moderated"},
	unknown: func(string) *refusal { return &refusal{status: 404, message: "Task not found"} },
	accepted: func(j *mediaJob) []byte {
		return jsonOf("id", j.id, "polling_url", j.base+"/bfl/v1/get_result?id="+j.id, "cost", 4, "input_mp", 0, "output_mp", float64(j.made.width*j.made.height/10000)/100)
	},
	view: (*mediaJob).bflView,
}

func (j *mediaJob) bflView() []byte {
	status := map[jobStage]string{jobQueued: "Pending", jobRunning: "Pending", jobDone: "Ready", jobBarred: "Content Moderated", jobFailed: "Error", jobCancelled: "Error", jobExpired: "Task not found"}[j.stage]
	var result, progress, details any
	switch {
	case j.outputs() > 0:
		from, to := float64(j.created.UnixMilli())/1000, float64(j.ended.UnixMilli())/1000
		result = jsonOf("sample", j.url(0), "prompt", j.made.prompt, "seed", int64(j.made.digest(0)>>33), "start_time", from, "end_time", to, "duration", to-from)
	case j.stage == jobRunning:
		progress = float64(j.progress) / 100
	case j.stage == jobBarred:
		details = jsonOf("Moderation Reasons", []any{"Derivative Works Filter"})
	}
	return jsonOf("id", j.id, "status", status, "result", result, "progress", progress, "details", details, "preview", nil)
}

var bflModels = map[string]bool{
	"flux-pro-1.1": true, "flux-pro-1.1-ultra": true, "flux-pro": true, "flux-dev": true, "flux-kontext-pro": true, "flux-kontext-max": true,
	"flux-2-pro": true, "flux-2-max": true, "flux-2-flex": true, "flux-2-klein-4b": true, "flux-2-klein-9b": true,
}

// bfl serves POST /v1/{model}.
func (s *mediaWires) bfl(w http.ResponseWriter, r *http.Request) {
	s.mediaBody(bflWire, w, r, func(began time.Time, body []byte) *refusal {
		read, refused := readMedia(bflWire, 422, body)
		if refused != nil {
			return refused
		}
		read.model(r.PathValue("model"), bflModels, func(string) *refusal { return &refusal{status: 404, message: "Not Found"} })
		if read.fault != nil {
			return read.fault
		}
		fields := read.bflFields()
		read.lenient(fields)
		a, refused := read.finish(fields, func(r *mediaReader) {
			if ratio := r.root.given("aspect_ratio").str(); ratio != "" {
				r.made.shape(ratio, 1024)
			}
		}, "prompt")
		if refused != nil {
			return refused
		}
		return s.submit(bflJobs, w, r, began, a)
	})
}

// bflFields are those of a model: by size, or by ratio.
func (r *mediaReader) bflFields() map[string]mediaField {
	base := r.made.base
	r.made.format = "jpeg"
	r.made.sized("1024x768")
	fields := map[string]mediaField{
		"prompt": mediaPrompt(4096), "seed": mediaSeed(-anyInt-1, anyInt), "safety_tolerance": mediaWhole(0, 6), "output_format": mediaFormat("jpeg", "png", "webp"),
		"prompt_upsampling": mediaFlag, "webhook_url": mediaText, "webhook_secret": mediaText,
	}
	side := func(to *int, low, high int64, step int) mediaField {
		return func(r *mediaReader, v *node, p string) {
			if *to = int(r.integer(v, p, low, high)); *to%step != 0 {
				r.wrongValue(p, "a multiple of "+strconv.Itoa(step))
			}
		}
	}
	byRatio := strings.Contains(base, "kontext") || strings.HasSuffix(base, "ultra")
	low, step, high := int64(256), 32, int64(1440)
	if strings.HasPrefix(base, "flux-2") {
		low, step, high = 64, 16, 2048
	}
	if byRatio {
		r.made.shape("16:9", 1024)
		fields["aspect_ratio"] = func(r *mediaReader, v *node, p string) { r.words(v, p, routerRatios[:len(routerRatios)-1]...) }
		fields["raw"] = mediaFlag
	} else {
		fields["width"], fields["height"] = side(&r.made.width, low, high, step), side(&r.made.height, low, high, step)
		fields["steps"], fields["guidance"] = mediaWhole(1, 50), mediaDecimal(1.5, 10)
	}
	fields["image_prompt"], fields["image_prompt_strength"] = mediaLink(true, "https", "http"), mediaDecimal(0, 1)
	for i := range 8 {
		name := "input_image"
		if i > 0 {
			name += "_" + strconv.Itoa(i+1)
		}
		fields[name] = mediaLink(true, "https", "http")
	}
	return fields
}

// bflResult serves GET /v1/get_result.
func (s *mediaWires) bflResult(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("id")
	if id == "" {
		s.refuse(bflWire, w, &refusal{status: 422, code: "missing_required_parameter", param: "id", message: "Field required"})
		return
	}
	if _, found := s.jobs.look(bflWire, id, credential(r), s.config.Now()); !found {
		s.stats.of("").refused.Add(1)
		sendJSON(w, 404, jsonOf("id", id, "status", "Task not found", "result", nil, "progress", nil, "details", nil, "preview", nil))
		return
	}
	s.poll(bflJobs, w, r, id)
}

// artWire is the one of Yandex ART.
var artWire = wholeWire("yandex-art", &yandexTaskPhrases, yandexTaskError, yandexTaskWire.admit, "Prompt is too long: text must be at most 500 characters", `{"id":"x"}`)

const artBarred = "it is not possible to generate an image from this request because it may violate the terms of use"

var artJobs = &jobWire{
	wire: artWire, id: func(rnd *random) string { return "fbv" + (hexOf(rnd.next()) + hexOf(rnd.next()))[:17] },
	barred: refusal{status: 400, message: artBarred},
	unknown: func(id string) *refusal {
		return &refusal{status: 404, message: "operation with id " + id + " not found"}
	},
	accepted: (*mediaJob).artView,
	view:     (*mediaJob).artView,
}

func (j *mediaJob) artView() []byte {
	members := []any{"id", j.id, "description", "", "createdAt", nil, "createdBy", "", "modifiedAt", nil, "done", j.stage >= jobDone, "metadata", nil}
	fail := func(code int, message string) {
		members = append(members, "error", jsonOf("code", code, "message", message, "details", []any{}))
	}
	switch j.stage {
	case jobDone:
		picture := ""
		if j.outputs() > 0 {
			picture = j.made.base64(0)
		}
		members = append(members, "response", jsonOf("@type", "type.googleapis.com/yandex.cloud.ai.foundation_models.v1.image_generation.ImageGenerationResponse", "image", picture, "modelVersion", ""))
	case jobBarred:
		fail(3, artBarred)
	case jobFailed:
		fail(13, "Internal error")
	case jobCancelled:
		fail(1, "Operation was cancelled")
	case jobExpired:
		fail(4, "Deadline exceeded")
	}
	return jsonOf(members...)
}

// art serves POST /foundationModels/v1/imageGenerationAsync.
func (s *mediaWires) art(w http.ResponseWriter, r *http.Request) {
	s.mediaBody(artWire, w, r, func(began time.Time, body []byte) *refusal {
		read, refused := readMedia(artWire, 400, body)
		if refused != nil {
			return refused
		}
		a, refused := read.art()
		if refused != nil {
			return refused
		}
		return s.submit(artJobs, w, r, began, a)
	})
}

func (r *mediaReader) art() (*mediaAsk, *refusal) {
	uri := r.root.given("modelUri").str()
	if uri == "" {
		uri = r.root.given("model_uri").str()
	}
	rest, isArt := strings.CutPrefix(uri, "art://")
	parts := strings.Split(rest, "/")
	if !isArt || len(parts) < 2 || len(parts) > 3 || parts[0] == "" {
		return nil, &refusal{status: 400, message: "Failed to parse model URI: '" + uri + "'"}
	}
	r.model(parts[1], map[string]bool{"yandex-art": true, "yandex-art-2.0": true, "aliceai-image-art-3.0": true}, func(string) *refusal {
		return &refusal{status: 404, message: "model " + uri + " not found"}
	})
	r.made.name, r.made.format = uri, "jpeg"
	across, down := int64(1), int64(1)
	ratio := func(to *int64) mediaField { return func(r *mediaReader, v *node, p string) { *to = r.protoInt(v, p) } }
	said := 0
	return r.finish(map[string]mediaField{
		"modelUri": mediaText,
		"messages": func(r *mediaReader, v *node, p string) {
			said = len(v.items)
			r.each(v, p, func(v *node, p string) {
				members(&r.checker, r, v, p, map[string]mediaField{"text": mediaPrompt(500), "weight": func(r *mediaReader, v *node, p string) {
					if !v.is(text) {
						r.decimal(v, p, -1e9, 1e9)
					}
				}}, "text")
			})
		},
		"generationOptions": func(r *mediaReader, v *node, p string) {
			members(&r.checker, r, v, p, map[string]mediaField{
				"mimeType": mediaWords("image/jpeg"),
				"seed":     func(r *mediaReader, v *node, p string) { r.made.seed = strconv.FormatInt(r.protoInt(v, p), 10) },
				"aspectRatio": func(r *mediaReader, v *node, p string) {
					members(&r.checker, r, v, p, map[string]mediaField{"widthRatio": ratio(&across), "heightRatio": ratio(&down)})
				},
			})
		},
	}, func(r *mediaReader) {
		if across < 1 || down < 1 || across > 16*down || down > 16*across {
			r.refuse("generationOptions.aspectRatio", "", "Invalid aspect ratio")
		}
		if said == 0 {
			r.missing("messages")
		}
		r.made.shape(strconv.FormatInt(across, 10)+":"+strconv.FormatInt(down, 10), 1024)
	}, "modelUri", "messages")
}

// protoInt is a number of 64 bits, which JSON of protocol buffers also has as text.
func (r *mediaReader) protoInt(v *node, param string) int64 {
	if v.is(text) {
		n, err := strconv.ParseInt(v.text, 10, 64)
		if err != nil {
			r.wrongType(param, v, "an integer")
		}
		return n
	}
	return r.integer(v, param, 0, anyInt)
}
