// Package runway is the dialect of Runway's API: a video is a task that is made from a text or from an image. It must not choose
// endpoints.
package runway

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

// version is the API version that this package uses (Runway API reference, Versioning).
const version = "2024-11-06"

// Dialect implements dialect.Dialect and dialect.VideoMaker. It is safe for concurrent use.
type Dialect struct{}

var (
	_ dialect.Dialect    = (*Dialect)(nil)
	_ dialect.VideoMaker = (*Dialect)(nil)
)

// Header gives the credential and the version, and the provider's own fields, which win.
func (d *Dialect) Header(p *catalog.Provider) http.Header {
	h := dialect.Bearer(p)
	if h.Get("X-Runway-Version") == "" {
		h.Set("X-Runway-Version", version)
	}
	return h
}

// Failure classifies an answer that is not 2xx: {"error":"...","issues":[{"message":...,"path":[...]}]}.
func (d *Dialect) Failure(ep *catalog.Endpoint, status int, header http.Header, body []byte) *fault.Error {
	r := dialect.Refusal{Status: status, Header: header}
	if rawjson.Valid(body) {
		r.Raw, r.Message = string(body), rawjson.TextAt(body, "error")
		if issue := rawjson.ElementsOf(rawjson.Find(body, "issues")); issue.Next() {
			if said := rawjson.TextAt(issue.Value, "message"); said != "" {
				r.Message += ": " + said
			}
		}
		if strings.Contains(r.Message, "moderation") {
			r.Code = "content_policy_violation"
		}
	}
	return r.Fault(ep)
}

// SubmitVideo begins a task (Runway API reference, Generate a video from text; from an image).
func (d *Dialect) SubmitVideo(ask dialect.Ask, ep *catalog.Endpoint, s *video.Submission) (video.Accepted, error) {
	r := s.Request
	if err := dialect.OneVideo(ep, r); err != nil {
		return video.Accepted{}, err
	}
	if err := dialect.NoReferences(ep, r); err != nil {
		return video.Accepted{}, err
	}
	var m dialect.Members
	m.Text("model", ep.UpstreamID)
	m.Text("promptText", r.Prompt)
	path := "/text_to_video"
	first, last := dialect.Frame(r, video.FirstFrame), dialect.Frame(r, video.LastFrame)
	switch {
	case first != "" && last != "":
		m.Raw("promptImage", frames(first, last))
	case first != "":
		m.Text("promptImage", first)
	case last != "":
		return video.Accepted{}, dialect.Unsupported(ep, "The provider of this model takes a last_frame only together with a first_frame.")
	}
	if first != "" {
		path = "/image_to_video"
	}
	if w, h, ok := dialect.Extent(ep, r); ok {
		m.Text("ratio", strconv.FormatInt(w, 10)+":"+strconv.FormatInt(h, 10))
	} else {
		m.Text("ratio", "1280:720") // the wire requires it
	}
	m.Int("duration", r.Seconds)
	if strings.HasPrefix(ep.MakersID(), "veo3.1") {
		m.Flag("audio", r.WithAudio())
	}
	if r.Seed != nil {
		m.Int("seed", *r.Seed&0xffffffff)
	}
	m.Video(r, ep.Provider.ID)
	body, wait, err := dialect.Look(ask, dialect.Call{Path: path, Body: m.JSON()})
	return video.Accepted{ID: rawjson.TextAt(body, "id"), Wait: wait}, err
}

// frames are the first and the last image.
func frames(first, last string) []byte {
	b := rawjson.AppendText([]byte(`[{"uri":`), first)
	b = rawjson.AppendText(append(b, `,"position":"first"},{"uri":`...), last)
	return append(b, `,"position":"last"}]`...)
}

// RecoverVideo finds nothing: tasks have no list and no ids of ours.
func (d *Dialect) RecoverVideo(dialect.Ask, *catalog.Endpoint, *video.Submission) (video.Recovered, error) {
	return video.Recovered{}, nil
}

func path(j *video.Job) string { return "/tasks/" + url.PathEscape(j.UpstreamID) }

// PollVideo reads the task.
func (d *Dialect) PollVideo(ask dialect.Ask, ep *catalog.Endpoint, j *video.Job) (video.Progress, error) {
	body, wait, err := dialect.Look(ask, dialect.Call{Method: http.MethodGet, Path: path(j)})
	if err != nil {
		return video.Progress{}, dialect.NoJob(err)
	}
	p := read(ep, body)
	p.Wait = wait
	return p, nil
}

// read reads a task (Runway API reference, Get task detail).
func read(ep *catalog.Endpoint, body []byte) video.Progress {
	switch state := dialect.StateOf(rawjson.TextAt(body, "status")); state {
	case video.Pending:
		return video.Progress{State: video.Pending}
	case video.Completed:
		p := video.Progress{State: video.Completed, Percent: 100}
		for e := rawjson.ElementsOf(rawjson.Find(body, "output")); e.Next(); {
			if address := rawjson.Text(e.Value); address != "" {
				p.Outputs = append(p.Outputs, video.Output{URL: address, MediaType: mediatype.MP4})
			}
		}
		return p
	case video.Failed, video.Cancelled, video.Expired:
		code := rawjson.TextAt(body, "failureCode")
		return dialect.Reason{State: state, Code: code, Message: rawjson.TextAt(body, "failure"), Blocked: strings.Contains(code, "SAFETY"), Raw: string(body)}.Ended(ep)
	}
	part, _ := rawjson.Float(rawjson.Find(body, "progress"))
	return video.Progress{State: video.InProgress, Percent: int(100 * min(max(part, 0), 1))}
}

// CancelVideo cancels the task, or deletes its result.
func (d *Dialect) CancelVideo(ask dialect.Ask, _ *catalog.Endpoint, j *video.Job) error {
	_, err := dialect.Whole(ask, dialect.Call{Method: http.MethodDelete, Path: path(j)})
	return dialect.NoJob(err)
}

// LocateVideo returns the video's address in the task. Addresses expire after a day or two; each poll returns new ones.
func (d *Dialect) LocateVideo(ask dialect.Ask, ep *catalog.Endpoint, j *video.Job, o *video.Output) (dialect.Location, error) {
	return dialect.Locate(ask, j, o, func() (video.Progress, error) { return d.PollVideo(ask, ep, j) }), nil
}
