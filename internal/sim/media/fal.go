package media

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"weir/internal/sim/chat"
	"weir/internal/sim/kit"
)

// falWire is fal's: a queue before any model, and the model itself without one.
var falWire = kit.NewWholeWire("fal", &detailPhrases, detailsError, func(s *kit.Host, r *http.Request) *kit.Refusal {
	if key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Key "); ok && key != "" && s.HasKey(key) {
		return nil
	}
	return &kit.Refusal{Status: 401, Message: "Cannot access application. Authentication is required to access this application."}
}, "String should have at most 4096 characters", `{"images":[]}`)

var falBlocked = kit.Refusal{Status: 422, Code: "content_policy_violation", Param: "prompt", Message: "The content could not be processed because it contained material flagged by a content checker."}

var falJobs = &jobWire{
	Wire: falWire, id: uuidOf, blocked: falBlocked,
	unknown: func(id string) *kit.Refusal {
		return &kit.Refusal{Status: 404, Message: "Request " + id + " not found"}
	},
	accepted: (*mediaJob).falStatus,
	view:     (*mediaJob).falStatus,
	polled: func(j *mediaJob) int {
		if j.stage < kit.JobDone {
			return 202
		}
		return 200
	},
}

// falStatus returns the state of a job. A failed one is complete too, with the reason.
func (j *mediaJob) falStatus() []byte {
	at := j.base + "/fal/queue/" + j.falApp() + "/requests/" + j.id
	status := map[kit.JobStage]string{kit.JobQueued: "IN_QUEUE", kit.JobRunning: "IN_PROGRESS"}[j.stage]
	members := []any{"status", cmp.Or(status, "COMPLETED"), "request_id", j.id, "response_url", at, "status_url", at + "/status", "cancel_url", at + "/cancel"}
	switch {
	case j.stage == kit.JobQueued:
		members = append(members, "queue_position", 0)
	case j.stage == kit.JobRunning:
		members = append(members, "logs", nil)
	case j.stage == kit.JobDone:
		members = append(members, "logs", nil, "metrics", JSONOf("inference_time", 1.5))
	default:
		f, kind := j.falFailure()
		members = append(members, "logs", nil, "error", f.Message, "error_type", kind)
	}
	return JSONOf(members...)
}

// falApp is the first two names of a model: paths of requests have no more of it.
func (j *mediaJob) falApp() string {
	parts := strings.SplitN(j.spec.base, "/", 3)
	return strings.Join(parts[:min(2, len(parts))], "/")
}

// falFailure returns the error that stands in place of a missing result.
func (j *mediaJob) falFailure() (kit.Refusal, string) {
	switch j.stage {
	case kit.JobBlocked:
		return falBlocked, "content_policy_violation"
	case kit.JobCancelled:
		return kit.Refusal{Status: 499, Message: "Request was cancelled by the client"}, "client_cancelled"
	case kit.JobExpired:
		return kit.Refusal{Status: 504, Message: "Request timed out"}, "request_timeout"
	}
	return kit.Refusal{Status: 500, Message: "The model failed to generate a result"}, "internal_error"
}

// falPath is a parsed path below the queue.
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
func (s *Wires) falQueue(w http.ResponseWriter, r *http.Request) {
	at := falRequest(r.PathValue("path"))
	switch {
	case at.id == "" && r.Method == http.MethodPost:
		s.falServe(w, r, at.model, func(began time.Time, a *mediaRequest) *kit.Refusal { return s.submit(falJobs, w, r, began, a) })
	case at.id != "" && at.action == "status" && r.Method == http.MethodGet:
		s.poll(falJobs, w, r, at.id)
	case at.id != "" && (at.action == "" || at.action == "response") && r.Method == http.MethodGet:
		s.falResult(w, r, at.id)
	case at.id != "" && at.action == "cancel" && r.Method == http.MethodPut:
		s.falCancel(w, r, at.id)
	default:
		s.Refuse(falWire, w, &kit.Refusal{Status: 405, Message: "Method Not Allowed"})
	}
}

// falRun serves everything below /fal/run/: the same models, with the results in the answer.
func (s *Wires) falRun(w http.ResponseWriter, r *http.Request) {
	s.falServe(w, r, r.PathValue("path"), func(began time.Time, a *mediaRequest) *kit.Refusal {
		if end := a.knobs.Job.End; end == "refuse" || end == "policy" {
			blocked := falBlocked
			return &blocked
		}
		s.playMedia(&kit.Reply{Wire: falWire, Body: func() []byte {
			return s.finishedJob(falWire, r, a).falOutput()
		}}, w, r, began, a, kit.StepSubmit)
		return nil
	})
}

func (s *Wires) falResult(w http.ResponseWriter, r *http.Request, id string) {
	began := time.Now()
	j, found := s.jobs.look(falWire, id, credential(r), s.Config.Now())
	switch {
	case !found:
		s.Refuse(falWire, w, falJobs.unknown(id))
	case j.stage < kit.JobDone:
		s.Refuse(falWire, w, &kit.Refusal{Status: 400, Message: "Request is still in progress"})
	case j.stage != kit.JobDone:
		f, _ := j.falFailure()
		s.Refuse(falWire, w, &f)
	default:
		s.playMedia(&kit.Reply{Wire: falWire, Body: j.falOutput}, w, r, began, &j.spec, kit.StepPoll)
	}
}

func (s *Wires) falCancel(w http.ResponseWriter, r *http.Request, id string) {
	if _, found := s.jobs.look(falWire, id, credential(r), s.Config.Now()); !found {
		s.Stats.Of("").Refused.Add(1)
		kit.SendJSON(w, 404, JSONOf("status", "NOT_FOUND"))
		return
	}
	s.cancelled(falJobs, w, r, id, false, func(j *mediaJob) (int, []byte) {
		if j.stage >= kit.JobDone {
			return 400, JSONOf("status", "ALREADY_COMPLETED")
		}
		return 202, JSONOf("status", "CANCELLATION_REQUESTED")
	})
}

var falSizes = map[string]string{
	"square_hd": "1024x1024", "square": "512x512", "portrait_4_3": "768x1024", "portrait_16_9": "576x1024", "landscape_4_3": "1024x768", "landscape_16_9": "1024x576",
}

// falServe reads a request for a model "owner/app[/...]". One with "video" in its name makes a video.
func (s *Wires) falServe(w http.ResponseWriter, r *http.Request, model string, then func(time.Time, *mediaRequest) *kit.Refusal) {
	s.mediaBody(falWire, w, r, func(began time.Time, body []byte) *kit.Refusal {
		read, refused := readMedia(falWire, 422, body)
		if refused != nil {
			return refused
		}
		if !strings.Contains(model, "/") {
			return &kit.Refusal{Status: 404, Message: "Application '" + model + "' not found"}
		}
		read.model(model, nil, func(string) *kit.Refusal { return nil })
		read.spec.video = strings.Contains(read.spec.base, "video")
		fields := falImage
		read.spec.format = "jpeg"
		read.spec.sized("1024x768")
		if read.spec.video {
			fields = falVideo
			read.spec.seconds = 5
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
	"seed": mediaSeed(0, kit.MaxInteger), "num_inference_steps": mediaWhole(1, 100), "guidance_scale": mediaDecimal(0, 20), "sync_mode": mediaFlag,
	"enable_safety_checker": mediaFlag, "safety_tolerance": mediaWords("1", "2", "3", "4", "5", "6"), "acceleration": mediaWords("none", "regular", "high"),
	"aspect_ratio": mediaText, "image_url": mediaLink(false, "https", "http"), "negative_prompt": mediaText,
	"image_urls": func(r *mediaReader, v *kit.Node, p string) {
		r.Each(v, p, func(v *kit.Node, p string) { mediaLink(false, "https", "http")(r, v, p) })
	},
}

var falVideo = map[string]mediaField{
	"prompt": mediaPrompt(4096), "negative_prompt": mediaText, "aspect_ratio": mediaWords("auto", "16:9", "9:16", "1:1", "4:3", "3:4", "21:9"),
	"resolution": mediaWords("480p", "540p", "720p", "768p", "1080p", "4k"), "generate_audio": mediaFlag, "seed": mediaSeed(0, kit.MaxInteger),
	"image_url": mediaLink(false, "https", "http"), "tail_image_url": mediaLink(false, "https", "http"), "end_image_url": mediaLink(false, "https", "http"),
	"enhance_prompt": mediaFlag, "prompt_optimizer": mediaFlag, "cfg_scale": mediaDecimal(0, 1), "auto_fix": mediaFlag,
	"duration": func(r *mediaReader, v *kit.Node, p string) {
		written := strings.TrimSuffix(v.Text, "s")
		if v.Is(kit.Number) {
			written = string(v.Raw)
		}
		n, ok := kit.ParseCount(written)
		if r.spec.seconds = n; !ok || n < 1 || n > 60 {
			r.WrongValue(p, "a number of seconds from 1 to 60")
		}
	},
}

func (r *mediaReader) falSize(v *kit.Node, param string) {
	if v.Is(kit.Text) {
		if size := falSizes[v.Text]; size == "" {
			r.WrongValue(param, "'square_hd', 'square', 'portrait_4_3', 'portrait_16_9', 'landscape_4_3' or 'landscape_16_9'")
		} else {
			r.spec.sized(size)
		}
		return
	}
	side := func(to *int) mediaField {
		return func(r *mediaReader, v *kit.Node, p string) { *to = int(r.Integer(v, p, 1, kit.MaxSide)) }
	}
	kit.Members(&r.Checker, r, v, param, map[string]mediaField{"width": side(&r.spec.width), "height": side(&r.spec.height)})
}

var shortSides = map[string]int{"480p": 480, "540p": 540, "720p": 720, "768p": 768, "1080p": 1080, "1K": 1024, "2K": 1440, "4K": 2160, "4k": 2160, "512P": 512, "720P": 720, "768P": 768, "1080P": 1080}

// falTogether sets the size of a video, and of an image from its ratio.
func (r *mediaReader) falTogether() {
	a, ratio := &r.spec, r.Root.Given("aspect_ratio").Str()
	switch {
	case a.video:
		if ratio == "" || ratio == "auto" {
			ratio = "16:9"
		}
		short := shortSides[r.Root.Given("resolution").Str()]
		if short == 0 {
			short = 720
		}
		a.shape(ratio, short)
	case ratio != "" && !slices.Contains(chat.RouterRatios, ratio):
		r.WrongValue("aspect_ratio", "a ratio such as 16:9")
	case ratio != "":
		a.shape(ratio, 1024)
	}
}

// falOutput is the result of a job.
func (j *mediaJob) falOutput() []byte {
	a, seed := &j.spec, int64(j.spec.digest(0)>>12)
	if a.video {
		if j.outputs() == 0 {
			return JSONOf("video", nil)
		}
		f := a.file(0)
		return JSONOf("video", JSONOf("url", j.url(0), "content_type", f.mime, "file_name", "output.mp4", "file_size", f.size), "seed", seed)
	}
	parsed, _ := kit.Parse(a.request)
	images, flags := []any{}, []any{}
	for i := range j.outputs() {
		at := j.url(i)
		if parsed.Get("sync_mode").IsTrue() {
			at = "data:" + mimes[a.imageFormat()] + ";base64," + a.base64(i)
		}
		images = append(images, JSONOf("url", at, "width", a.width, "height", a.height, "content_type", mimes[a.imageFormat()]))
		flags = append(flags, false)
	}
	return JSONOf("images", images, "timings", JSONOf("inference", 0.5), "seed", seed, "has_nsfw_concepts", flags, "prompt", a.prompt)
}
