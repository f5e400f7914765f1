package media

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir/internal/sim/kit"
)

// klingWire is Kling's: its own codes in addition to HTTP's, and tokens that the caller signs.
var klingWire = kit.NewWholeWire("kling", &kit.OpenAIPhrases, klingError, admitKling, "prompt length must be at most 2500", `{"code":0,"message":"SUCCEED"}`)

// klingCodes are Kling's for a status, unless there is a finer one.
var klingCodes = map[int]int{400: 1201, 401: 1000, 402: 1101, 403: 1103, 404: 1203, 405: 1202, 413: 1201, 422: 1201, 429: 1302, 503: 5001, 504: 5002}

func klingError(f *kit.Refusal) []byte {
	code, err := strconv.Atoi(f.Code)
	if err != nil || code < 1000 {
		code = cmp.Or(klingCodes[f.Status], 5000)
	}
	return JSONOf("code", code, "message", f.Message, "request_id", "00000000-0000-4000-8000-000000000000")
}

const klingBlocked = "Failure to pass the risk control system"

// klingJobs returns the jobs of one path: those from texts and from images are separate.
func klingJobs() *jobWire {
	return &jobWire{
		Wire: klingWire, id: numberID,
		blocked:  kit.Refusal{Status: 400, Code: "1301", Message: klingBlocked},
		unknown:  func(string) *kit.Refusal { return &kit.Refusal{Status: 400, Code: "1201", Message: "Task not found"} },
		accepted: func(j *mediaJob) []byte { return j.kling(false) },
		view:     func(j *mediaJob) []byte { return j.kling(true) },
	}
}

func (j *mediaJob) kling(polled bool) []byte {
	status := map[kit.JobStage]string{kit.JobQueued: "submitted", kit.JobRunning: "processing", kit.JobDone: "succeed"}[j.stage]
	updated := j.created
	if j.stage >= kit.JobDone {
		updated = j.ended
	}
	parsed, _ := kit.Parse(j.spec.request)
	info := JSONOf()
	if external := parsed.Given("external_task_id").Str(); external != "" {
		info = JSONOf("external_task_id", external)
	}
	data := []any{"task_id", j.id, "task_status", cmp.Or(status, "failed"), "task_info", info, "created_at", j.created.UnixMilli(), "updated_at", updated.UnixMilli()}
	switch {
	case j.stage == kit.JobBlocked:
		data = append(data, "task_status_msg", klingBlocked)
	case j.stage > kit.JobDone:
		data = append(data, "task_status_msg", "Task execution failed")
	case polled:
		data = append(data, "task_status_msg", "")
	}
	if j.stage == kit.JobDone {
		videos := []any{}
		for i := range j.outputs() {
			videos = append(videos, JSONOf("id", j.id+"-"+kit.Itoa(i), "url", j.url(i), "duration", kit.Itoa(j.spec.seconds)))
		}
		data = append(data, "final_unit_deduction", "1", "task_result", JSONOf("videos", videos))
	}
	return JSONOf("code", 0, "message", "SUCCEED", "request_id", "00000000-0000-4000-8000-"+(j.id + "000000000000")[:12], "data", JSONOf(data...))
}

var (
	klingText  = []string{"kling-v1", "kling-v1-6", "kling-v2-master", "kling-v2-1-master", "kling-v2-5-turbo", "kling-v2-6"}
	klingImage = []string{"kling-v1", "kling-v1-5", "kling-v1-6", "kling-v2-master", "kling-v2-1", "kling-v2-1-master", "kling-v2-5-turbo", "kling-v2-6"}
)

// klingRoutes adds POST and GET of /v1/videos/text2video and /v1/videos/image2video.
func (s *Wires) klingRoutes(m *kit.Routes, base string) {
	for path, models := range map[string][]string{"text2video": klingText, "image2video": klingImage} {
		jobs := klingJobs()
		m.Add(klingWire, "POST", base+"/v1/videos/"+path, func(w http.ResponseWriter, r *http.Request) {
			s.mediaBody(klingWire, w, r, func(began time.Time, body []byte) *kit.Refusal {
				read, refused := readMedia(klingWire, 400, body)
				if refused != nil {
					return refused
				}
				a, refused := read.kling(path == "image2video", models)
				if refused != nil {
					return refused
				}
				a.place = path
				return s.submit(jobs, w, r, began, a)
			})
		})
		m.Add(klingWire, "GET", base+"/v1/videos/"+path+"/{id}", func(w http.ResponseWriter, r *http.Request) {
			id := s.jobs.called(klingWire, r.PathValue("id"), credential(r))
			if j, found := s.jobs.look(klingWire, id, credential(r), s.Config.Now()); found && j.spec.place != path {
				id = "" // it is on the other path
			}
			s.poll(jobs, w, r, id)
		})
	}
}

// called is the id of the task that has a name, which may be that of the caller's own; the name itself when there is none.
func (s *mediaJobs) called(on *kit.Wire, name, key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owned(on, name, key) != nil {
		return name
	}
	for id := range s.byID {
		j := s.owned(on, id, key)
		if j == nil {
			continue
		}
		if parsed, err := kit.Parse(j.spec.request); err == nil && parsed.Given("external_task_id").Str() == name {
			return id
		}
	}
	return name
}

func (r *mediaReader) kling(withImage bool, models []string) (*mediaRequest, *kit.Refusal) {
	known := map[string]bool{}
	for _, m := range models {
		known[m] = true
	}
	r.model(cmp.Or(r.Root.Given("model_name").Str(), "kling-v1"), known, func(name string) *kit.Refusal {
		return &kit.Refusal{Status: 400, Code: "1201", Message: "model_name value '" + name + "' is invalid"}
	})
	a, ratio := &r.spec, "16:9"
	a.video, a.seconds = true, 5
	link := mediaLink(true, "https", "http")
	fields := map[string]mediaField{
		"model_name": mediaText, "prompt": mediaPrompt(2500), "negative_prompt": mediaText, "cfg_scale": mediaDecimal(0, 1), "mode": mediaWords("std", "pro"),
		"sound": mediaWords("on", "off"), "camera_control": mediaObject, "callback_url": mediaText, "external_task_id": mediaText,
		"duration": func(r *mediaReader, v *kit.Node, p string) { a.seconds, _ = strconv.Atoi(r.OneOf(v, p, "5", "10")) },
	}
	required := []string{"prompt"}
	if withImage {
		required = nil
		fields["image"], fields["image_tail"], fields["static_mask"], fields["dynamic_masks"], fields["voice_list"] = link, link, mediaText, mediaList, mediaList
	} else {
		fields["aspect_ratio"] = func(r *mediaReader, v *kit.Node, p string) { ratio = r.OneOf(v, p, "16:9", "9:16", "1:1") }
	}
	r.lenient(fields)
	return r.finish(fields, func(r *mediaReader) {
		v2 := strings.HasPrefix(a.base, "kling-v2")
		pro := r.Root.Given("mode").Str() == "pro"
		switch {
		case withImage && r.Root.Given("image") == nil && r.Root.Given("image_tail") == nil:
			r.Missing("image")
		case withImage && r.Root.Given("image") == nil:
			r.Refuse("image_tail", "1201", "image_tail needs image")
		case v2 && r.Root.Given("cfg_scale") != nil:
			r.Refuse("cfg_scale", "1201", "cfg_scale is not supported by the model")
		case r.Root.Given("sound").Str() == "on" && a.base != "video" && (a.base != "kling-v2-6" || !pro):
			r.Refuse("sound", "1201", "sound is not supported by the model")
		}
		short := 720
		if pro {
			short = 1080
		}
		a.shape(ratio, short)
	}, required...)
}
