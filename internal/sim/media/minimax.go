package media

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/sim/kit"
)

// minimaxWire is MiniMax's wire: errors have status 200 and a code.
var minimaxWire = kit.NewWholeWire("minimax", &kit.OpenAIPhrases, minimaxError, func(s *kit.Host, r *http.Request) *kit.Refusal {
	if s.HasKey(kit.Bearer(r)) && kit.Bearer(r) != "" {
		return nil
	}
	return &kit.Refusal{Status: 200, Code: "1004", Message: "login fail: Please carry the API secret key in the 'Authorization' field of the request header"}
}, "invalid params, prompt is too long", `{"base_resp":{"status_code":0,"status_msg":"success"}}`)

var minimaxCodes = map[int]int{400: 2013, 401: 1004, 402: 1008, 403: 1004, 404: 2013, 413: 2013, 422: 2013, 429: 1002, 504: 1001}

func minimaxError(f *kit.Refusal) []byte {
	code, err := strconv.Atoi(f.Code)
	switch {
	case err != nil && f.Status == 200:
		code = 2013
	case err != nil || code < 1000:
		code = cmp.Or(minimaxCodes[f.Status], 1000)
	}
	return JSONOf("base_resp", JSONOf("status_code", code, "status_msg", f.Message))
}

const minimaxBlocked = "video description contains sensitive content"

var minimaxFine = JSONOf("status_code", 0, "status_msg", "success")

var minimaxJobs = &jobWire{
	Wire: minimaxWire, id: numberID,
	blocked: kit.Refusal{Status: 200, Code: "1026", Message: minimaxBlocked},
	unknown: func(string) *kit.Refusal {
		return &kit.Refusal{Status: 200, Code: "2013", Message: "invalid params, task not found"}
	},
	accepted: func(j *mediaJob) []byte { return JSONOf("task_id", j.id, "base_resp", minimaxFine) },
	view: func(j *mediaJob) []byte {
		status := map[kit.JobStage]string{kit.JobQueued: "Queueing", kit.JobRunning: "Processing", kit.JobDone: "Success"}[j.stage]
		members := []any{"task_id", j.id, "status", cmp.Or(status, "Fail")}
		switch {
		case j.outputs() > 0:
			return JSONOf(append(members, "file_id", j.fileID(), "video_width", j.spec.width, "video_height", j.spec.height, "base_resp", minimaxFine)...)
		case j.stage == kit.JobBlocked:
			return JSONOf(append(members, "file_id", "", "base_resp", JSONOf("status_code", 1027, "status_msg", "output video contains sensitive content"))...)
		case j.stage > kit.JobDone:
			return JSONOf(append(members, "file_id", "", "base_resp", JSONOf("status_code", 1000, "status_msg", "unknown error"))...)
		}
		return JSONOf(append(members, "file_id", "", "video_width", 0, "video_height", 0, "base_resp", minimaxFine)...)
	},
}

// fileID is the number of a task's file: the task's own, reversed so that the two differ.
func (j *mediaJob) fileID() string { return turned(j.id) }

func turned(id string) string {
	b := []byte(id)
	slices.Reverse(b)
	return "2" + string(b)
}

var minimaxModels = map[string]bool{
	"MiniMax-Hailuo-2.3": true, "MiniMax-Hailuo-2.3-Fast": true, "MiniMax-Hailuo-02": true, "T2V-01-Director": true, "T2V-01": true,
	"I2V-01-Director": true, "I2V-01-live": true, "I2V-01": true, "S2V-01": true,
}

// minimaxVideo serves POST /v1/video_generation.
func (s *Wires) minimaxVideo(w http.ResponseWriter, r *http.Request) {
	s.mediaBody(minimaxWire, w, r, func(began time.Time, body []byte) *kit.Refusal {
		read, refused := readMedia(minimaxWire, 200, body)
		if refused == nil {
			var a *mediaRequest
			if a, refused = read.minimax(); refused == nil {
				return s.submit(minimaxJobs, w, r, began, a)
			}
		}
		refused.Status, refused.Code = 200, "2013"
		refused.Message = "invalid params, " + refused.Message
		return refused
	})
}

func (r *mediaReader) minimax() (*mediaRequest, *kit.Refusal) {
	name := r.Root.Given("model").Str()
	r.model(name, minimaxModels, func(name string) *kit.Refusal { return &kit.Refusal{Message: "model '" + name + "' does not exist"} })
	a, resolution := &r.spec, "768P"
	a.video, a.seconds = true, 6
	hailuo := strings.HasPrefix(a.base, "MiniMax-Hailuo") || a.base == "video"
	sizes := []string{"768P", "1080P"}
	if !hailuo {
		sizes, resolution = []string{"720P"}, "720P"
	}
	if a.base == "MiniMax-Hailuo-02" {
		sizes = append(sizes, "512P")
	}
	link := mediaLink(false, "https", "http")
	fields := map[string]mediaField{
		"model": mediaText, "prompt": mediaPrompt(2000), "prompt_optimizer": mediaFlag, "fast_pretreatment": mediaFlag, "callback_url": mediaText, "aigc_watermark": mediaFlag,
		"first_frame_image": link, "last_frame_image": link, "subject_reference": mediaList,
		"resolution": func(r *mediaReader, v *kit.Node, p string) { resolution = r.OneOf(v, p, sizes...) },
		"duration": func(r *mediaReader, v *kit.Node, p string) {
			if a.seconds = int(r.Integer(v, p, 6, 10)); a.seconds != 6 && (a.seconds != 10 || !hailuo) {
				r.WrongValue(p, "6 or 10 seconds, as the model supports")
			}
		},
	}
	r.lenient(fields)
	return r.finish(fields, func(r *mediaReader) {
		switch first := r.Root.Given("first_frame_image") != nil; {
		case (strings.HasPrefix(a.base, "I2V") || a.base == "MiniMax-Hailuo-2.3-Fast") && !first:
			r.Missing("first_frame_image")
		case strings.HasPrefix(a.base, "S2V") && r.Root.Given("subject_reference") == nil:
			r.Missing("subject_reference")
		case a.prompt == "" && !first:
			r.Missing("prompt")
		case resolution == "1080P" && a.seconds == 10:
			r.Refuse("duration", "", "1080P supports 6 seconds only")
		case resolution == "512P" && !first:
			r.Refuse("resolution", "", "512P needs a first frame")
		case r.Root.Given("last_frame_image") != nil && a.base != "MiniMax-Hailuo-02" && a.base != "video":
			r.Refuse("last_frame_image", "", "last_frame_image is not supported by the model")
		}
		a.shape("16:9", shortSides[resolution])
	}, "model")
}

// minimaxTask serves GET /v1/query/video_generation.
func (s *Wires) minimaxTask(w http.ResponseWriter, r *http.Request) {
	s.poll(minimaxJobs, w, r, r.URL.Query().Get("task_id"))
}

// minimaxFile serves GET /v1/files/retrieve: the address of a file.
func (s *Wires) minimaxFile(w http.ResponseWriter, r *http.Request) {
	given := r.URL.Query().Get("file_id")
	id := ""
	if len(given) > 1 {
		id = turned(given[1:])[1:]
	}
	j, found := s.jobs.look(minimaxWire, id, credential(r), s.Config.Now())
	if !found || j.outputs() == 0 || j.fileID() != given {
		s.Refuse(minimaxWire, w, &kit.Refusal{Status: 200, Code: "2013", Message: "invalid params, file not found"})
		return
	}
	f := j.spec.file(0)
	file := JSONOf("file_id", Verbatim(given), "bytes", f.size, "created_at", j.ended.Unix(), "filename", "output.mp4", "purpose", "video_generation", "download_url", j.url(0), "backup_download_url", "")
	kit.SendJSON(w, 200, JSONOf("file", file, "base_resp", minimaxFine))
}
