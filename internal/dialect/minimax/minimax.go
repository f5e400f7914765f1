// Package minimax is the dialect of MiniMax's video API: a task is submitted and polled, and its file's address is requested separately.
// It must not choose endpoints.
package minimax

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/mediatype"
	"weir/internal/rawjson"
	"weir/internal/video"
)

// Dialect implements dialect.Dialect and dialect.VideoMaker. It is safe for concurrent use.
type Dialect struct{}

var (
	_ dialect.Dialect    = (*Dialect)(nil)
	_ dialect.VideoMaker = (*Dialect)(nil)
)

// Header gives the credential, and the provider's own fields, which win.
func (d *Dialect) Header(p *catalog.Provider) http.Header { return dialect.Bearer(p) }

// Codes of base_resp (MiniMax API reference, Error codes), and the statuses that other providers have for them.
var statuses = map[int64]int{
	1000: 500, 1001: 504, 1002: 429, 1004: 401, 1008: 402, 1013: 500, 1024: 500, 1026: 400, 1027: 400, 1033: 503, 1039: 429, 1041: 429, 2013: 400, 2049: 401, 2056: 429,
}

func code(body []byte) int64 {
	n, _ := rawjson.Int(rawjson.FindPath(body, "base_resp", "status_code"))
	return n
}

// blocked reports codes for sensitive content, of the request or of its result.
func blocked(code int64) bool { return code == 1026 || code == 1027 }

// Failure classifies an answer that is not 2xx, and an answer with status 200 whose base_resp has an error code.
func (d *Dialect) Failure(ep *catalog.Endpoint, status int, header http.Header, body []byte) *fault.Error {
	r := dialect.Refusal{Status: status, Header: header}
	if rawjson.Valid(body) {
		n := code(body)
		r.Raw, r.Message, r.Code = string(body), rawjson.Text(rawjson.FindPath(body, "base_resp", "status_msg")), strconv.FormatInt(n, 10)
		switch stands := statuses[n]; {
		case status >= 500: // from a proxy; the server itself writes codes
		case stands != 0:
			r.Status = stands
		case status >= 200 && status <= 299:
			r.Status = http.StatusInternalServerError
		}
		if blocked(n) {
			r.Code = "content_policy_violation"
		}
	}
	return r.Fault(ep)
}

// SubmitVideo creates a task (MiniMax API reference, Video generation).
func (d *Dialect) SubmitVideo(ask dialect.Ask, ep *catalog.Endpoint, s *video.Submission) (video.Accepted, error) {
	r := s.Request
	if err := dialect.OneVideo(ep, r); err != nil {
		return video.Accepted{}, err
	}
	subjects, err := dialect.ImageReferences(ep, r, 1)
	if err != nil {
		return video.Accepted{}, err
	}
	var m dialect.Members
	m.Text("model", ep.UpstreamID)
	m.Text("prompt", r.Prompt)
	m.Int("duration", r.Seconds)
	m.Text("resolution", strings.ToUpper(r.Resolution))
	m.Text("first_frame_image", dialect.Frame(r, video.FirstFrame))
	m.Text("last_frame_image", dialect.Frame(r, video.LastFrame))
	if len(subjects) > 0 {
		var subject dialect.Members
		subject.Text("type", "character")
		subject.Texts("image", subjects)
		m.Raw("subject_reference", append(append([]byte{'['}, subject.JSON()...), ']'))
	}
	m.Video(r, ep.Provider.ID)
	body, wait, err := dialect.Look(ask, dialect.Call{Path: "/video_generation", Body: m.JSON()})
	if err != nil {
		return video.Accepted{}, err
	}
	if code(body) != 0 {
		return video.Accepted{}, d.Failure(ep, http.StatusOK, nil, body)
	}
	return video.Accepted{ID: word(rawjson.Find(body, "task_id")), Wait: wait}, nil
}

// word is an id, which is written as a string or as a number.
func word(v []byte) string {
	if rawjson.KindOf(v) == rawjson.Number {
		return string(v)
	}
	return rawjson.Text(v)
}

// RecoverVideo finds nothing: tasks have no list and no ids of ours.
func (d *Dialect) RecoverVideo(dialect.Ask, *catalog.Endpoint, *video.Submission) (video.Recovered, error) {
	return video.Recovered{}, nil
}

// PollVideo reads the task.
func (d *Dialect) PollVideo(ask dialect.Ask, ep *catalog.Endpoint, j *video.Job) (video.Progress, error) {
	body, wait, err := dialect.Look(ask, dialect.Call{Method: http.MethodGet, Path: "/query/video_generation?task_id=" + url.QueryEscape(j.UpstreamID)})
	if err != nil {
		return video.Progress{}, dialect.NoJob(err)
	}
	status := rawjson.TextAt(body, "status")
	if n := code(body); n != 0 && status == "" {
		f := d.Failure(ep, http.StatusOK, nil, body)
		if n == 2013 { // invalid parameters: the only parameter is the task's id
			f.Upstream.Status = http.StatusNotFound
		}
		return video.Progress{}, dialect.NoJob(f)
	}
	p := read(ep, status, body)
	p.Wait = wait
	return p, nil
}

// read reads a task (MiniMax API reference, Query the status of a video generation task).
func read(ep *catalog.Endpoint, status string, body []byte) video.Progress {
	switch dialect.StateOf(status) {
	case video.Pending:
		return video.Progress{State: video.Pending}
	case video.Completed:
		p := video.Progress{State: video.Completed, Percent: 100}
		if file := word(rawjson.Find(body, "file_id")); file != "" && file != "0" {
			p.Outputs = []video.Output{{Handle: file, MediaType: mediatype.MP4}}
		}
		return p
	case video.Failed, video.Cancelled, video.Expired:
		n := code(body)
		said := rawjson.Text(rawjson.FindPath(body, "base_resp", "status_msg"))
		if n == 0 { // the call succeeded
			said = rawjson.TextAt(body, "error_message")
		}
		return dialect.Reason{State: video.Failed, Code: strconv.FormatInt(n, 10), Message: said, Blocked: blocked(n), Raw: string(body)}.Ended(ep)
	}
	return video.Progress{State: video.InProgress}
}

// CancelVideo fails: there is no way to end a task.
func (d *Dialect) CancelVideo(_ dialect.Ask, ep *catalog.Endpoint, _ *video.Job) error {
	return dialect.NoCancel(ep)
}

// LocateVideo requests the file's address, which is valid for some hours.
func (d *Dialect) LocateVideo(ask dialect.Ask, ep *catalog.Endpoint, _ *video.Job, o *video.Output) (dialect.Location, error) {
	body, _, err := dialect.Look(ask, dialect.Call{Method: http.MethodGet, Path: "/files/retrieve?file_id=" + url.QueryEscape(o.Handle)})
	if err != nil {
		return dialect.Location{}, err
	}
	address := rawjson.Text(rawjson.FindPath(body, "file", "download_url"))
	if address == "" {
		return dialect.Location{}, d.Failure(ep, http.StatusOK, nil, body)
	}
	return dialect.Location{URL: address}, nil
}
