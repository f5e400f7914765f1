package media

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir/internal/sim/chat"
	"weir/internal/sim/kit"
)

// bflWire is Black Forest Labs'.
var bflWire = kit.NewWholeWire("bfl", &detailPhrases, detailsError, func(s *kit.Host, r *http.Request) *kit.Refusal {
	if key := r.Header.Get("X-Key"); key != "" && s.HasKey(key) {
		return nil
	}
	return &kit.Refusal{Status: 403, Message: "Not authenticated - Invalid Authentication"}
}, "String should have at most 4096 characters", `{"id":"x"}`)

var bflJobs = &jobWire{
	Wire: bflWire, id: uuidOf,
	blocked: kit.Refusal{Status: 422, Param: "prompt", Code: "content_policy_violation", Message: "Request Moderated"},
	unknown: func(string) *kit.Refusal { return &kit.Refusal{Status: 404, Message: "Task not found"} },
	accepted: func(j *mediaJob) []byte {
		return JSONOf("id", j.id, "polling_url", j.base+"/bfl/v1/get_result?id="+j.id, "cost", 4, "input_mp", 0, "output_mp", float64(j.spec.width*j.spec.height/10000)/100)
	},
	view: (*mediaJob).bflView,
}

func (j *mediaJob) bflView() []byte {
	status := map[kit.JobStage]string{kit.JobQueued: "Pending", kit.JobRunning: "Pending", kit.JobDone: "Ready", kit.JobBlocked: "Content Moderated", kit.JobFailed: "Error", kit.JobCancelled: "Error", kit.JobExpired: "Task not found"}[j.stage]
	var result, progress, details any
	switch {
	case j.outputs() > 0:
		from, to := float64(j.created.UnixMilli())/1000, float64(j.ended.UnixMilli())/1000
		result = JSONOf("sample", j.url(0), "prompt", j.spec.prompt, "seed", int64(j.spec.digest(0)>>33), "start_time", from, "end_time", to, "duration", to-from)
	case j.stage == kit.JobRunning:
		progress = float64(j.progress) / 100
	case j.stage == kit.JobBlocked:
		details = JSONOf("Moderation Reasons", []any{"Derivative Works Filter"})
	}
	return JSONOf("id", j.id, "status", status, "result", result, "progress", progress, "details", details, "preview", nil)
}

var bflModels = map[string]bool{
	"flux-pro-1.1": true, "flux-pro-1.1-ultra": true, "flux-pro": true, "flux-dev": true, "flux-kontext-pro": true, "flux-kontext-max": true,
	"flux-2-pro": true, "flux-2-max": true, "flux-2-flex": true, "flux-2-klein-4b": true, "flux-2-klein-9b": true,
}

// bfl serves POST /v1/{model}.
func (s *Wires) bfl(w http.ResponseWriter, r *http.Request) {
	s.mediaBody(bflWire, w, r, func(began time.Time, body []byte) *kit.Refusal {
		read, refused := readMedia(bflWire, 422, body)
		if refused != nil {
			return refused
		}
		read.model(r.PathValue("model"), bflModels, func(string) *kit.Refusal { return &kit.Refusal{Status: 404, Message: "Not Found"} })
		if read.Fault != nil {
			return read.Fault
		}
		fields := read.bflFields()
		read.lenient(fields)
		a, refused := read.finish(fields, func(r *mediaReader) {
			if ratio := r.Root.Given("aspect_ratio").Str(); ratio != "" {
				r.spec.shape(ratio, 1024)
			}
		}, "prompt")
		if refused != nil {
			return refused
		}
		return s.submit(bflJobs, w, r, began, a)
	})
}

// bflFields returns the fields of a model, which has a size or a ratio.
func (r *mediaReader) bflFields() map[string]mediaField {
	base := r.spec.base
	r.spec.format = "jpeg"
	r.spec.sized("1024x768")
	fields := map[string]mediaField{
		"prompt": mediaPrompt(4096), "seed": mediaSeed(-kit.MaxInteger-1, kit.MaxInteger), "safety_tolerance": mediaWhole(0, 6), "output_format": mediaFormat("jpeg", "png", "webp"),
		"prompt_upsampling": mediaFlag, "webhook_url": mediaText, "webhook_secret": mediaText,
	}
	side := func(to *int, low, high int64, step int) mediaField {
		return func(r *mediaReader, v *kit.Node, p string) {
			if *to = int(r.Integer(v, p, low, high)); *to%step != 0 {
				r.WrongValue(p, "a multiple of "+strconv.Itoa(step))
			}
		}
	}
	byRatio := strings.Contains(base, "kontext") || strings.HasSuffix(base, "ultra")
	low, step, high := int64(256), 32, int64(1440)
	if strings.HasPrefix(base, "flux-2") {
		low, step, high = 64, 16, 2048
	}
	if byRatio {
		r.spec.shape("16:9", 1024)
		fields["aspect_ratio"] = func(r *mediaReader, v *kit.Node, p string) {
			r.OneOf(v, p, chat.RouterRatios[:len(chat.RouterRatios)-1]...)
		}
		fields["raw"] = mediaFlag
	} else {
		fields["width"], fields["height"] = side(&r.spec.width, low, high, step), side(&r.spec.height, low, high, step)
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
func (s *Wires) bflResult(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("id")
	if id == "" {
		s.Refuse(bflWire, w, &kit.Refusal{Status: 422, Code: "missing_required_parameter", Param: "id", Message: "Field required"})
		return
	}
	if _, found := s.jobs.look(bflWire, id, credential(r), s.Config.Now()); !found {
		s.Stats.Of("").Refused.Add(1)
		kit.SendJSON(w, 404, JSONOf("id", id, "status", "Task not found", "result", nil, "progress", nil, "details", nil, "preview", nil))
		return
	}
	s.poll(bflJobs, w, r, id)
}
