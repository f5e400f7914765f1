// Package luma is the dialect of Luma's Dream Machine API: a video is a generation. It must not choose endpoints.
package luma

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/imagefile"
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

// Failure classifies an answer that is not 2xx: {"detail":"..."} or {"detail":[{"msg":...}]}.
func (d *Dialect) Failure(ep *catalog.Endpoint, status int, header http.Header, body []byte) *fault.Error {
	r := dialect.Refusal{Status: status, Header: header}
	if rawjson.Valid(body) {
		detail := rawjson.Find(body, "detail")
		r.Raw, r.Message = string(body), rawjson.Text(detail)
		if first := rawjson.ElementsOf(detail); first.Next() {
			r.Message = rawjson.TextAt(first.Value, "msg")
		}
		if blocked(r.Message) {
			r.Code = "content_policy_violation"
		}
	}
	return r.Fault(ep)
}

func blocked(reason string) bool { return strings.Contains(strings.ToLower(reason), "moderation") }

const collection = "/generations"

// SubmitVideo begins a generation (Luma API reference, Create a generation).
func (d *Dialect) SubmitVideo(ask dialect.Ask, ep *catalog.Endpoint, s *video.Submission) (video.Accepted, error) {
	r := s.Request
	if err := dialect.OneVideo(ep, r); err != nil {
		return video.Accepted{}, err
	}
	if err := dialect.NoReferences(ep, r); err != nil {
		return video.Accepted{}, err
	}
	var m, keyframes dialect.Members
	m.Text("generation_type", "video")
	m.Text("model", ep.UpstreamID)
	m.Text("prompt", r.Prompt)
	m.Text("duration", strconv.FormatInt(r.Seconds, 10)+"s")
	m.Text("resolution", strings.ToLower(r.Resolution))
	m.Text("aspect_ratio", r.AspectRatio)
	for _, x := range []struct{ name, frame string }{{"frame0", video.FirstFrame}, {"frame1", video.LastFrame}} {
		address := dialect.Frame(r, x.frame)
		if imagefile.IsData(address) {
			return video.Accepted{}, dialect.Unsupported(ep, "The provider of this model takes images only by URL.")
		}
		if address != "" {
			keyframes.Raw(x.name, append(rawjson.AppendText([]byte(`{"type":"image","url":`), address), '}'))
		}
	}
	if len(r.Frames) > 0 {
		m.Raw("keyframes", keyframes.JSON())
	}
	m.Video(r, ep.Provider.ID)
	body, wait, err := dialect.Look(ask, dialect.Call{Path: collection + "/video", Body: m.JSON()})
	return video.Accepted{ID: rawjson.TextAt(body, "id"), Wait: wait}, err
}

// Limits of a search in the list of generations.
const (
	page      = 100
	mostPages = 5
)

// RecoverVideo searches the list of generations, which contain their requests. Nothing in them names the submission.
func (d *Dialect) RecoverVideo(ask dialect.Ask, ep *catalog.Endpoint, s *video.Submission) (video.Recovered, error) {
	var found []string
	whole := false
	for i := 0; i < mostPages && !whole; i++ {
		body, err := dialect.Object(ask, dialect.Call{Method: http.MethodGet, Path: collection + "?limit=" + strconv.Itoa(page) + "&offset=" + strconv.Itoa(i*page)})
		if dialect.Unknown(err) { // the server has no list
			return video.Recovered{}, nil
		}
		if err != nil {
			return video.Recovered{}, err
		}
		count := 0
		for e := rawjson.ElementsOf(rawjson.Find(body, "generations")); e.Next(); count++ {
			before, after := false, false
			if at, err := time.Parse(time.RFC3339, rawjson.TextAt(e.Value, "created_at")); err == nil {
				before, after = dialect.Placed(at, s)
			}
			if whole = whole || before; !before && !after && alike(ep, s, rawjson.Find(e.Value, "request")) {
				found = append(found, rawjson.TextAt(e.Value, "id"))
			}
		}
		whole = whole || count < page
	}
	return dialect.Listed(found, whole), nil
}

// alike reports whether a listed request is that of a submission.
func alike(ep *catalog.Endpoint, s *video.Submission, v []byte) bool {
	word := func(name string) string { return rawjson.TextAt(v, name) }
	return dialect.MayBe(word("prompt"), s.Request.Prompt) && dialect.MayBe(word("model"), ep.UpstreamID) && dialect.MayBe(word("duration"), strconv.FormatInt(s.Request.Seconds, 10)+"s")
}

func path(j *video.Job) string { return collection + "/" + url.PathEscape(j.UpstreamID) }

// PollVideo reads the generation.
func (d *Dialect) PollVideo(ask dialect.Ask, ep *catalog.Endpoint, j *video.Job) (video.Progress, error) {
	body, wait, err := dialect.Look(ask, dialect.Call{Method: http.MethodGet, Path: path(j)})
	if err != nil {
		return video.Progress{}, dialect.NoJob(err)
	}
	p := read(ep, body)
	p.Wait = wait
	return p, nil
}

// read reads a generation.
func read(ep *catalog.Endpoint, body []byte) video.Progress {
	switch dialect.StateOf(rawjson.TextAt(body, "state")) {
	case video.Pending:
		return video.Progress{State: video.Pending}
	case video.Completed:
		p := video.Progress{State: video.Completed, Percent: 100}
		if address := rawjson.Text(rawjson.FindPath(body, "assets", "video")); address != "" {
			p.Outputs = []video.Output{{URL: address, MediaType: mediatype.MP4}}
		}
		return p
	case video.Failed, video.Cancelled, video.Expired:
		why := rawjson.TextAt(body, "failure_reason")
		return dialect.Reason{State: video.Failed, Message: why, Blocked: blocked(why)}.Ended(ep)
	}
	return video.Progress{State: video.InProgress}
}

// CancelVideo deletes the generation.
func (d *Dialect) CancelVideo(ask dialect.Ask, _ *catalog.Endpoint, j *video.Job) error {
	_, err := dialect.Whole(ask, dialect.Call{Method: http.MethodDelete, Path: path(j)})
	return dialect.NoJob(err)
}

// LocateVideo returns the video's address in the generation.
func (d *Dialect) LocateVideo(ask dialect.Ask, ep *catalog.Endpoint, j *video.Job, o *video.Output) (dialect.Location, error) {
	return dialect.Locate(ask, j, o, func() (video.Progress, error) { return d.PollVideo(ask, ep, j) }), nil
}
