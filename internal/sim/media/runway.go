package media

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"weir/internal/sim/kit"
)

// runwayVersion is the one version of Runway's wire.
const runwayVersion = "2024-11-06"

// runwayWire is Runway's.
var runwayWire = kit.NewWholeWire("runway", &kit.OpenAIPhrases, runwayError, func(s *kit.Host, r *http.Request) *kit.Refusal {
	switch {
	case kit.Bearer(r) == "" || !s.HasKey(kit.Bearer(r)):
		return &kit.Refusal{Status: 401, Message: "API key was not provided or is not valid."}
	case r.Header.Get("X-Runway-Version") == "":
		return &kit.Refusal{Status: 400, Message: "The X-Runway-Version header is required."}
	case r.Header.Get("X-Runway-Version") != runwayVersion:
		return &kit.Refusal{Status: 400, Message: "The API version provided is not valid: " + r.Header.Get("X-Runway-Version")}
	}
	return nil
}, "Validation of body failed", `{"createdAt":"2024-11-06T00:00:00.000Z"}`)

func runwayError(f *kit.Refusal) []byte {
	if f.Status != 400 || f.Param == "" {
		return JSONOf("error", f.Message)
	}
	path := []any{}
	for _, name := range strings.Split(f.Param, ".") {
		path = append(path, name)
	}
	return JSONOf("error", "Validation of body failed", "issues", []any{JSONOf("code", cmp.Or(f.Code, "custom"), "path", path, "message", f.Message)})
}

var runwayJobs = &jobWire{
	Wire: runwayWire, id: uuidOf,
	blocked:  kit.Refusal{Status: 400, Message: "Your prompt was rejected by content moderation."},
	unknown:  func(string) *kit.Refusal { return &kit.Refusal{Status: 404, Message: "Not found"} },
	accepted: func(j *mediaJob) []byte { return JSONOf("id", j.id) },
	view: func(j *mediaJob) []byte {
		status := map[kit.JobStage]string{kit.JobQueued: "PENDING", kit.JobRunning: "RUNNING", kit.JobDone: "SUCCEEDED", kit.JobFailed: "FAILED", kit.JobBlocked: "FAILED", kit.JobExpired: "FAILED", kit.JobCancelled: "CANCELLED"}[j.stage]
		if j.spec.knobs.Job.End == "stuck" {
			status = "THROTTLED"
		}
		members := []any{"id", j.id, "status", status, "createdAt", isoTime(j.created)}
		switch j.stage {
		case kit.JobRunning:
			members = append(members, "progress", float64(j.progress)/100)
		case kit.JobDone:
			members = append(members, "output", j.urls())
		case kit.JobBlocked:
			members = append(members, "failure", "The prompt was flagged by content moderation.", "failureCode", "SAFETY.INPUT.TEXT")
		case kit.JobFailed, kit.JobExpired:
			members = append(members, "failure", "An unexpected error occurred.", "failureCode", "INTERNAL.BAD_OUTPUT.CODE01")
		}
		return JSONOf(members...)
	},
}

// isoTime returns a time in the form of JavaScript's toISOString.
func isoTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// runwayModel is what a model takes; a model without text or image routes is not on them.
type runwayModel struct {
	image, text bool
	ratios      []string
	seconds     []int
	first       int  // seconds when none are asked for; 0: they must be
	prompt      bool // also with an image
	seed, sound bool
	last        bool // takes a last frame
}

var (
	genRatios = []string{"1280:720", "720:1280", "1104:832", "832:1104", "960:960", "1584:672"}
	veoRatios = []string{"1280:720", "720:1280", "1080:1920", "1920:1080"}
	twoToTen  = []int{2, 3, 4, 5, 6, 7, 8, 9, 10}
	veoRunway = runwayModel{image: true, text: true, ratios: veoRatios, seconds: []int{4, 6, 8}, first: 8, sound: true, last: true}

	runwayModels = map[string]runwayModel{
		"gen4_turbo":  {image: true, ratios: genRatios, seconds: twoToTen, first: 10, seed: true},
		"gen4.5":      {image: true, text: true, ratios: genRatios, seconds: twoToTen, prompt: true, seed: true},
		"veo3":        {image: true, text: true, ratios: veoRatios, seconds: []int{8}},
		"veo3.1":      veoRunway,
		"veo3.1_fast": veoRunway,
		"video":       {image: true, text: true, ratios: append(genRatios[:len(genRatios):len(genRatios)], veoRatios[2:]...), seconds: twoToTen, first: 5, seed: true, sound: true, last: true},
	}
)

// runway serves POST /v1/image_to_video and /v1/text_to_video.
func (s *Wires) runway(withImage bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mediaBody(runwayWire, w, r, func(began time.Time, body []byte) *kit.Refusal {
			read, refused := readMedia(runwayWire, 400, body)
			if refused != nil {
				return refused
			}
			a, refused := read.runway(withImage)
			if refused != nil {
				return refused
			}
			return s.submit(runwayJobs, w, r, began, a)
		})
	}
}

func (r *mediaReader) runway(withImage bool) (*mediaRequest, *kit.Refusal) {
	name := r.Root.Given("model").Str()
	r.model(name, nil, func(string) *kit.Refusal { return nil })
	m := runwayModels[r.spec.base]
	if r.Fault == nil && (withImage && !m.image || !withImage && !m.text) {
		return nil, &kit.Refusal{Status: 400, Param: "model", Code: "invalid_union", Message: "Invalid input"}
	}
	a := &r.spec
	a.video, a.seconds = true, m.first
	fields := map[string]mediaField{
		"model": mediaText, "ratio": mediaSize(m.ratios...),
		"promptText": func(r *mediaReader, v *kit.Node, p string) {
			if mediaPrompt(1000)(r, v, p); r.Fault == nil && utf16Length(v.Text) > 1000 {
				r.Refuse(p, "too_big", "String must contain at most 1000 character(s)")
			}
		},
		"duration": func(r *mediaReader, v *kit.Node, p string) {
			if a.seconds = int(r.Integer(v, p, 1, 60)); r.Fault == nil && !slices.Contains(m.seconds, a.seconds) {
				r.WrongValue(p, "a duration that the model supports")
			}
		},
		"contentModeration": func(r *mediaReader, v *kit.Node, p string) {
			kit.Members(&r.Checker, r, v, p, map[string]mediaField{"publicFigureThreshold": mediaWords("auto", "low")})
		},
	}
	if m.seed {
		fields["seed"] = mediaSeed(0, 1<<32-1)
	}
	if m.sound {
		fields["audio"], fields["negativePrompt"] = mediaFlag, mediaText
	}
	required := []string{"model", "ratio"}
	if withImage {
		fields["promptImage"] = func(r *mediaReader, v *kit.Node, p string) { r.runwayImage(v, p, m.last) }
		required = append(required, "promptImage")
	}
	if !withImage || m.prompt {
		required = append(required, "promptText")
	}
	if m.first == 0 {
		required = append(required, "duration")
	}
	return r.finish(fields, nil, required...)
}

// runwayImage is the first frame, or some frames with their positions.
func (r *mediaReader) runwayImage(v *kit.Node, param string, last bool) {
	link := mediaLink(false, "https", "runway")
	if v.Is(kit.Text) {
		link(r, v, param)
		return
	}
	positions := []string{"first"}
	if last {
		positions = append(positions, "last")
	}
	seen := map[string]bool{}
	r.Each(v, param, func(v *kit.Node, p string) {
		kit.Members(&r.Checker, r, v, p, map[string]mediaField{"uri": link, "position": mediaWords(positions...)}, "uri", "position")
		at := v.Get("position").Str()
		if seen[at] {
			r.WrongValue(p+".position", "each position once")
		}
		seen[at] = true
	})
	if !seen["first"] {
		r.WrongValue(param, "images with a first one")
	}
}

func (s *Wires) runwayTask(w http.ResponseWriter, r *http.Request) {
	s.poll(runwayJobs, w, r, r.PathValue("id"))
}

func (s *Wires) deleteRunwayTask(w http.ResponseWriter, r *http.Request) {
	s.forget(runwayJobs, w, r, r.PathValue("id"))
}

// lumaWire is Luma's.
var lumaWire = kit.NewWholeWire("luma", &detailPhrases, func(f *kit.Refusal) []byte { return JSONOf("detail", f.Message) }, func(s *kit.Host, r *http.Request) *kit.Refusal {
	switch {
	case kit.Bearer(r) == "":
		return &kit.Refusal{Status: 403, Message: "Not authenticated"}
	case !s.HasKey(kit.Bearer(r)):
		return &kit.Refusal{Status: 401, Message: "Invalid API key"}
	}
	return nil
}, "Prompt is too long, the maximum length is 5000", `{"generation_type":"video"}`)

var lumaJobs = &jobWire{
	Wire: lumaWire, id: uuidOf, status: 201,
	blocked:  kit.Refusal{Status: 400, Message: "Advanced moderation failed"},
	unknown:  func(string) *kit.Refusal { return &kit.Refusal{Status: 404, Message: "Generation not found"} },
	accepted: (*mediaJob).luma,
	view:     (*mediaJob).luma,
}

// luma is a job as Luma writes it, with the request in it.
func (j *mediaJob) luma() []byte {
	state := map[kit.JobStage]string{kit.JobQueued: "queued", kit.JobRunning: "dreaming", kit.JobDone: "completed"}[j.stage]
	var reason, assets any
	switch {
	case j.outputs() > 0:
		assets = JSONOf("video", j.url(0), "image", nil, "progress_video", nil)
	case j.stage == kit.JobBlocked:
		reason = "Advanced moderation failed"
	case j.stage > kit.JobDone:
		reason = "Generation failed"
	}
	return JSONOf("id", j.id, "generation_type", "video", "state", cmp.Or(state, "failed"), "failure_reason", reason, "created_at", isoTime(j.created), "assets", assets,
		"model", j.spec.name, "request", Verbatim(j.spec.request))
}

// lumaVideo serves POST /dream-machine/v1/generations.
func (s *Wires) lumaVideo(w http.ResponseWriter, r *http.Request) {
	s.mediaBody(lumaWire, w, r, func(began time.Time, body []byte) *kit.Refusal {
		read, refused := readMedia(lumaWire, 400, body)
		if refused != nil {
			return refused
		}
		a, refused := read.luma()
		if refused != nil {
			return refused
		}
		return s.submit(lumaJobs, w, r, began, a)
	})
}

func (r *mediaReader) luma() (*mediaRequest, *kit.Refusal) {
	name := r.Root.Given("model").Str()
	r.model(name, map[string]bool{"ray-2": true, "ray-flash-2": true, "ray-1-6": true}, func(string) *kit.Refusal {
		return &kit.Refusal{Status: 400, Message: "Invalid model: Input should be 'ray-1-6', 'ray-2' or 'ray-flash-2'"}
	})
	a, ratio, short := &r.spec, "16:9", 720
	a.video, a.seconds = true, 5
	frame := func(r *mediaReader, v *kit.Node, p string) {
		if v.Get("type").Str() == "generation" {
			kit.Members(&r.Checker, r, v, p, map[string]mediaField{"type": mediaText, "id": mediaText}, "id")
			return
		}
		kit.Members(&r.Checker, r, v, p, map[string]mediaField{"type": mediaWords("image"), "url": mediaLink(false, "https", "http")}, "type", "url")
	}
	fields := map[string]mediaField{
		"model": mediaText, "generation_type": mediaWords("video"), "prompt": mediaPrompt(5000), "loop": mediaFlag, "callback_url": mediaText, "concepts": mediaList,
		"aspect_ratio": func(r *mediaReader, v *kit.Node, p string) {
			ratio = r.OneOf(v, p, "1:1", "16:9", "9:16", "4:3", "3:4", "21:9", "9:21")
		},
		"resolution": func(r *mediaReader, v *kit.Node, p string) {
			short = shortSides[r.OneOf(v, p, "540p", "720p", "1080p", "4k")]
		},
		"duration": func(r *mediaReader, v *kit.Node, p string) {
			a.seconds = map[string]int{"5s": 5, "9s": 9}[r.OneOf(v, p, "5s", "9s")]
		},
		"keyframes": func(r *mediaReader, v *kit.Node, p string) {
			kit.Members(&r.Checker, r, v, p, map[string]mediaField{"frame0": frame, "frame1": frame})
		},
	}
	r.lenient(fields)
	return r.finish(fields, func(r *mediaReader) {
		if a.prompt == "" && r.Root.Given("keyframes") == nil {
			r.Refuse("prompt", "", "Prompt is required")
		}
		a.shape(ratio, short)
	}, "model")
}

func (s *Wires) lumaGeneration(w http.ResponseWriter, r *http.Request) {
	s.poll(lumaJobs, w, r, r.PathValue("id"))
}

func (s *Wires) deleteLuma(w http.ResponseWriter, r *http.Request) {
	s.forget(lumaJobs, w, r, r.PathValue("id"))
}

// listLuma serves GET /dream-machine/v1/generations.
func (s *Wires) listLuma(w http.ResponseWriter, r *http.Request) {
	limit, offset := 10, 0
	if n, ok := kit.ParseCount(r.URL.Query().Get("limit")); ok && n <= 100 {
		limit = n
	}
	if n, ok := kit.ParseCount(r.URL.Query().Get("offset")); ok {
		offset = n
	}
	all := s.jobs.list(lumaWire, credential(r), s.Config.Now())
	page := all[min(offset, len(all)):min(offset+limit, len(all))]
	out := []any{}
	for i := range page {
		out = append(out, Verbatim(page[i].luma()))
	}
	kit.SendJSON(w, 200, JSONOf("has_more", offset+limit < len(all), "count", len(all), "limit", limit, "offset", offset, "generations", out))
}
