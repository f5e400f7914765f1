// Package kling is the dialect of Kling's API: a video is a task of text2video or of image2video, which has an id of ours in addition to
// Kling's. It must not choose endpoints.
package kling

import (
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/dialect/auth"
	"weir/internal/fault"
	"weir/internal/imagefile"
	"weir/internal/mediatype"
	"weir/internal/rawjson"
	"weir/internal/video"
)

// Dialect implements dialect.Dialect, dialect.Authorizer and dialect.VideoMaker. It is safe for concurrent use.
type Dialect struct{}

var (
	_ dialect.Dialect    = (*Dialect)(nil)
	_ dialect.Authorizer = (*Dialect)(nil)
	_ dialect.VideoMaker = (*Dialect)(nil)
)

// Header gives a credential that is already a token unchanged, and the provider's own fields, which win.
func (d *Dialect) Header(p *catalog.Provider) http.Header { return dialect.Bearer(p) }

// Authorize signs tokens with a credential ACCESS_KEY:SECRET_KEY.
func (d *Dialect) Authorize(p *catalog.Provider, deps auth.Deps) (auth.Method, error) {
	access, secret, both := strings.Cut(p.Key, ":")
	if !both {
		return nil, nil
	}
	return newTokens(access, secret, deps.Now)
}

// Codes of answers (Kling API, Error codes), and the statuses that other providers have for them.
var statuses = map[int64]int{
	1000: 401, 1001: 401, 1002: 401, 1003: 401, 1004: 401, 1100: 401, 1101: 402, 1102: 402, 1103: 403, 1200: 400, 1201: 400, 1202: 400, 1203: 404,
	1300: 400, 1301: 400, 1302: 429, 1303: 429, 1304: 403, 5000: 500, 5001: 503, 5002: 504,
}

func code(body []byte) int64 {
	n, _ := rawjson.Int(rawjson.Find(body, "code"))
	return n
}

const codeBlocked = 1301

func blocked(sentence string) bool {
	sentence = strings.ToLower(sentence)
	return strings.Contains(sentence, "risk control") || strings.Contains(sentence, "sensitive") || strings.Contains(sentence, "content policy")
}

// Failure classifies an answer that is not 2xx, and one whose code is not 0. A missing task is reported by the code for wrong parameters.
func (d *Dialect) Failure(ep *catalog.Endpoint, status int, header http.Header, body []byte) *fault.Error {
	r, request := dialect.Refusal{Status: status, Header: header}, ""
	if rawjson.Valid(body) {
		n := code(body)
		request = rawjson.TextAt(body, "request_id")
		r.Raw, r.Message, r.Code = string(body), rawjson.TextAt(body, "message"), strconv.FormatInt(n, 10)
		switch stands := statuses[n]; {
		case status >= 500: // from a proxy; the server itself writes codes
		case stands != 0:
			r.Status = stands
		case status >= 200 && status <= 299:
			r.Status = http.StatusInternalServerError
		}
		if n == codeBlocked || blocked(r.Message) {
			r.Code = "content_policy_violation"
		}
		if status < 500 && strings.Contains(strings.ToLower(r.Message), "task not found") {
			r.Status = http.StatusNotFound
		}
	}
	f := r.Fault(ep)
	f.Upstream.Request = request
	return f
}

// object sends a call and reads the data of its answer.
func (d *Dialect) object(ask dialect.Ask, ep *catalog.Endpoint, call dialect.Call) (data []byte, accepted video.Accepted, err error) {
	body, wait, err := dialect.Look(ask, call)
	if err != nil {
		return nil, accepted, err
	}
	if code(body) != 0 {
		return nil, accepted, d.Failure(ep, http.StatusOK, nil, body)
	}
	data = rawjson.Find(body, "data")
	return data, video.Accepted{ID: rawjson.TextAt(data, "task_id"), Wait: wait}, nil
}

// kindOf is the path of the tasks for a request. A task is known only under its own path.
func kindOf(r *video.Request) string {
	if len(r.Frames) > 0 {
		return "image2video"
	}
	return "text2video"
}

// named puts the kind of a task before its id.
func named(kind string, a video.Accepted) video.Accepted {
	if a.ID != "" {
		a.ID = kind + "/" + a.ID
	}
	return a
}

// SubmitVideo creates a task with an id of ours, which the provider accepts only once.
func (d *Dialect) SubmitVideo(ask dialect.Ask, ep *catalog.Endpoint, s *video.Submission) (video.Accepted, error) {
	body, err := encode(ep, s)
	if err != nil {
		return video.Accepted{}, err
	}
	kind := kindOf(s.Request)
	_, accepted, err := d.object(ask, ep, dialect.Call{Path: "/videos/" + kind, Body: body})
	return named(kind, accepted), err
}

func encode(ep *catalog.Endpoint, s *video.Submission) ([]byte, error) {
	r := s.Request
	if err := dialect.OneVideo(ep, r); err != nil {
		return nil, err
	}
	if err := dialect.NoReferences(ep, r); err != nil {
		return nil, err
	}
	var m dialect.Members
	m.Text("model_name", ep.UpstreamID)
	m.Text("prompt", r.Prompt)
	m.Text("duration", strconv.FormatInt(r.Seconds, 10))
	m.Text("mode", mode(r.Resolution))
	if facts := ep.Model; r.WithAudio() {
		m.Text("sound", "on")
	} else if facts != nil && facts.Video != nil && facts.Video.Audio {
		m.Text("sound", "off")
	}
	if len(r.Frames) == 0 {
		m.Text("aspect_ratio", r.AspectRatio)
	}
	m.Text("image", bare(dialect.Frame(r, video.FirstFrame)))
	m.Text("image_tail", bare(dialect.Frame(r, video.LastFrame)))
	m.Text("external_task_id", s.Token)
	m.Video(r, ep.Provider.ID)
	return m.JSON(), nil
}

// mode is Kling's name of a resolution.
func mode(resolution string) string {
	switch resolution {
	case "1080p":
		return "pro"
	case "4K":
		return "4k"
	}
	return "std"
}

// bare is an address, or the base64 of a data URL: the wire takes only that part.
func bare(address string) string {
	if imagefile.IsData(address) {
		_, address, _ = strings.Cut(address, ",")
	}
	return address
}

// RecoverVideo reads the task by our id.
func (d *Dialect) RecoverVideo(ask dialect.Ask, ep *catalog.Endpoint, s *video.Submission) (video.Recovered, error) {
	kind := kindOf(s.Request)
	_, accepted, err := d.object(ask, ep, look(kind+"/"+s.Token))
	switch {
	case dialect.Unknown(err):
		return video.Recovered{Fate: video.Absent}, nil
	case err != nil:
		return video.Recovered{}, err
	}
	return video.Recovered{Fate: video.Adopted, Accepted: named(kind, accepted)}, nil
}

func look(name string) dialect.Call {
	kind, id, _ := strings.Cut(name, "/")
	return dialect.Call{Method: http.MethodGet, Path: "/videos/" + url.PathEscape(kind) + "/" + url.PathEscape(id)}
}

// PollVideo reads the task.
func (d *Dialect) PollVideo(ask dialect.Ask, ep *catalog.Endpoint, j *video.Job) (video.Progress, error) {
	data, accepted, err := d.object(ask, ep, look(j.UpstreamID))
	if err != nil {
		return video.Progress{}, dialect.NoJob(err)
	}
	p := read(ep, data)
	p.Wait = accepted.Wait
	return p, nil
}

// read reads a task (Kling API, Query task).
func read(ep *catalog.Endpoint, data []byte) video.Progress {
	switch dialect.StateOf(rawjson.TextAt(data, "task_status")) {
	case video.Pending:
		return video.Progress{State: video.Pending}
	case video.Completed:
		p := video.Progress{State: video.Completed, Percent: 100}
		for e := rawjson.ElementsOf(rawjson.FindPath(data, "task_result", "videos")); e.Next(); {
			address := rawjson.TextAt(e.Value, "url")
			if address == "" {
				continue
			}
			p.Outputs = append(p.Outputs, video.Output{URL: address, MediaType: mediatype.MP4})
			if seconds, err := strconv.ParseFloat(rawjson.TextAt(e.Value, "duration"), 64); err == nil {
				p.Length = dialect.Seconds(math.Round(seconds)) // Kling counts frames: 5.041
			}
		}
		return p
	case video.Failed, video.Cancelled, video.Expired:
		why := rawjson.TextAt(data, "task_status_msg")
		return dialect.Reason{State: video.Failed, Message: why, Blocked: blocked(why), Raw: string(data)}.Ended(ep)
	}
	return video.Progress{State: video.InProgress}
}

// CancelVideo fails: there is no way to end a task.
func (d *Dialect) CancelVideo(_ dialect.Ask, ep *catalog.Endpoint, _ *video.Job) error {
	return dialect.NoCancel(ep)
}

// LocateVideo returns the video's address in the task.
func (d *Dialect) LocateVideo(ask dialect.Ask, ep *catalog.Endpoint, j *video.Job, o *video.Output) (dialect.Location, error) {
	return dialect.Locate(ask, j, o, func() (video.Progress, error) { return d.PollVideo(ask, ep, j) }), nil
}
