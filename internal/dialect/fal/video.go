package fal

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

var _ dialect.VideoMaker = (*Dialect)(nil)

// SubmitVideo puts a request into the queue.
func (d *Dialect) SubmitVideo(ask dialect.Ask, ep *catalog.Endpoint, s *video.Submission) (video.Accepted, error) {
	app, body, err := encodeVideo(ep, s.Request)
	if err != nil {
		return video.Accepted{}, err
	}
	j, err := submit(ask, ep, app, body, nil)
	return video.Accepted{ID: j.id}, err
}

// encodeVideo returns the app for a request, and its input. Apps that begin with an image have their own names and fields (fal, model
// pages).
func encodeVideo(ep *catalog.Endpoint, r *video.Request) (app string, body []byte, err error) {
	if err := dialect.OneVideo(ep, r); err != nil {
		return "", nil, err
	}
	list, err := dialect.ImageReferences(ep, r, 4)
	if err != nil {
		return "", nil, err
	}
	first, last := dialect.Frame(r, video.FirstFrame), dialect.Frame(r, video.LastFrame)
	if first == "" && last != "" {
		return "", nil, dialect.Unsupported(ep, "The provider of this model takes a last_frame only together with a first_frame.")
	}
	app = ep.UpstreamID
	veo := strings.Contains(app, "/veo")
	var m dialect.Members
	m.Text("prompt", r.Prompt)
	m.Raw("duration", duration(app, r.Seconds))
	m.Text("resolution", strings.ToLower(r.Resolution))
	m.Text("aspect_ratio", r.AspectRatio)
	if facts := ep.Model; facts != nil && facts.Video != nil && facts.Video.Audio && r.Audio != nil {
		m.Flag("generate_audio", *r.Audio)
	}
	if r.Seed != nil {
		m.Int("seed", *r.Seed)
	}
	switch {
	case veo && last != "":
		app += "/first-last-frame-to-video"
		m.Text("first_frame_url", first)
		m.Text("last_frame_url", last)
	case first != "":
		app = withImage(app, veo, "image-to-video")
		begin, end := frameFields(app)
		m.Text(begin, first)
		m.Text(end, last)
	case len(list) > 0:
		app = withImage(app, veo, "reference-to-video")
		m.Texts("image_urls", list)
	}
	m.Video(r, ep.Provider.ID)
	return app, m.JSON(), nil
}

// withImage is the variant of a text app that takes images.
func withImage(app string, veo bool, kind string) string {
	if veo {
		return app + "/" + kind
	}
	if base, ok := strings.CutSuffix(app, "/text-to-video"); ok {
		return base + "/" + kind
	}
	return app
}

// frameFields are an app's names for the first and the last image.
func frameFields(app string) (first, last string) {
	switch kling := strings.Contains(app, "kling"); {
	case kling && (strings.Contains(app, "/v2.6/") || strings.Contains(app, "/v3/")):
		return "start_image_url", "end_image_url"
	case kling:
		return "image_url", "tail_image_url"
	}
	return "image_url", "end_image_url"
}

// duration is a length as an app writes it: "8s", "5" or 8.
func duration(app string, seconds int64) []byte {
	n := strconv.FormatInt(seconds, 10)
	switch {
	case strings.Contains(app, "sora"):
		return []byte(n)
	case strings.Contains(app, "/veo"), strings.Contains(app, "luma"):
		return []byte(`"` + n + `s"`)
	}
	return []byte(`"` + n + `"`)
}

// RecoverVideo finds nothing: the queue has no list, and its ids are the provider's.
func (d *Dialect) RecoverVideo(dialect.Ask, *catalog.Endpoint, *video.Submission) (video.Recovered, error) {
	return video.Recovered{}, nil
}

// requestPath is the path of a request. It has only the first two segments of the app's name.
func requestPath(ep *catalog.Endpoint, j *video.Job, action string) string {
	names := strings.SplitN(ep.UpstreamID, "/", 3)
	return path(strings.Join(names[:min(len(names), 2)], "/")) + "/requests/" + url.PathEscape(j.UpstreamID) + action
}

// PollVideo polls the request, and reads its result once it is complete.
func (d *Dialect) PollVideo(ask dialect.Ask, ep *catalog.Endpoint, j *video.Job) (video.Progress, error) {
	body, wait, err := dialect.Look(ask, dialect.Call{Method: http.MethodGet, Path: requestPath(ep, j, "/status")})
	if err != nil {
		return video.Progress{}, dialect.NoJob(err)
	}
	switch state := dialect.StateOf(rawjson.TextAt(body, "status")); state {
	case video.Pending:
		return video.Progress{State: video.Pending, Wait: wait}, nil
	case video.Failed, video.Cancelled, video.Expired:
		return unmade(ep, state, body), nil
	case video.Completed:
		if !rawjson.IsNull(rawjson.Find(body, "error")) {
			return unmade(ep, video.Failed, body), nil
		}
		return d.result(ask, ep, j)
	}
	return video.Progress{State: video.InProgress, Wait: wait}, nil
}

// unmade is the progress of a request that has failed: ended is its state unless its error says more.
func unmade(ep *catalog.Endpoint, ended video.State, body []byte) video.Progress {
	code, message := why(body)
	switch code {
	case "client_cancelled":
		ended = video.Cancelled
	case "request_timeout":
		ended = video.Expired
	}
	r := dialect.Refusal{Code: code, Message: message}
	return dialect.Reason{State: ended, Code: code, Message: message, Blocked: r.Blocked(), Raw: string(body)}.Ended(ep)
}

// result reads the result of a request: {"video":{"url":...}}, or a list from some apps. A failed request answers with the status of its
// error.
func (d *Dialect) result(ask dialect.Ask, ep *catalog.Endpoint, j *video.Job) (video.Progress, error) {
	body, _, err := dialect.Look(ask, dialect.Call{Method: http.MethodGet, Path: requestPath(ep, j, "")})
	if f := fault.From(err); err != nil && (f.Kind == fault.ContentPolicy || f.Kind == fault.Invalid) {
		return video.Progress{State: video.Failed, Failure: f}, nil
	}
	if err != nil {
		return video.Progress{}, dialect.NoJob(err)
	}
	p := readVideo(body)
	if _, said := why(body); len(p.Outputs) == 0 && said != "" {
		return unmade(ep, video.Failed, body), nil
	}
	return p, nil
}

// readVideo reads a result.
func readVideo(body []byte) video.Progress {
	p := video.Progress{State: video.Completed, Percent: 100}
	add := func(v []byte) {
		address := rawjson.TextAt(v, "url")
		if address == "" {
			return
		}
		size, _ := rawjson.Int(rawjson.Find(v, "file_size"))
		kind := rawjson.TextAt(v, "content_type")
		if mediatype.Generic(kind) {
			kind = "" // the file's own, when it is read
		}
		p.Outputs = append(p.Outputs, video.Output{URL: address, MediaType: kind, Bytes: max(size, 0)})
		if seconds, ok := rawjson.Float(rawjson.Find(v, "duration")); ok {
			p.Length = dialect.Seconds(seconds)
		}
	}
	add(rawjson.Find(body, "video"))
	for e := rawjson.ElementsOf(rawjson.Find(body, "videos")); e.Next(); {
		add(e.Value)
	}
	return p
}

// CancelVideo cancels the request. It fails when the request has already completed.
func (d *Dialect) CancelVideo(ask dialect.Ask, ep *catalog.Endpoint, j *video.Job) error {
	_, err := dialect.Whole(ask, dialect.Call{Method: http.MethodPut, Path: requestPath(ep, j, "/cancel")})
	return dialect.NoJob(err)
}

// LocateVideo returns the video's address in the result.
func (d *Dialect) LocateVideo(ask dialect.Ask, ep *catalog.Endpoint, j *video.Job, o *video.Output) (dialect.Location, error) {
	return dialect.Locate(ask, j, o, func() (video.Progress, error) { return d.PollVideo(ask, ep, j) }), nil
}
