package openai

import (
	"bytes"
	"cmp"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/imagefile"
	"weir/internal/mediatype"
	"weir/internal/rawjson"
	"weir/internal/video"
)

var _ dialect.VideoMaker = (*Dialect)(nil)

// SubmitVideo creates a video at /videos (OpenAI, API reference, Create video). A server with the quirk videos_wire gets OpenRouter's
// form of the request.
func (d *Dialect) SubmitVideo(ask dialect.Ask, ep *catalog.Endpoint, s *video.Submission) (video.Accepted, error) {
	encode := videoCall
	if routes(ep) {
		encode = routerCall
	}
	call, err := encode(ep, s.Request)
	if err != nil {
		return video.Accepted{}, err
	}
	body, wait, err := dialect.Look(ask, call)
	if err != nil {
		return video.Accepted{}, err
	}
	id := rawjson.TextAt(body, "id")
	if id == "" && !rawjson.IsNull(rawjson.Find(body, "error")) {
		return video.Accepted{}, d.Failure(ep, http.StatusOK, nil, body)
	}
	return video.Accepted{ID: id, Wait: wait}, nil
}

// routes reports whether a server has OpenRouter's routes.
func routes(ep *catalog.Endpoint) bool { return ep.Provider.Quirks.VideosWire == "openrouter" }

// videoCall encodes a request as JSON, or as a form when an image comes with it as data.
func videoCall(ep *catalog.Endpoint, r *video.Request) (dialect.Call, error) {
	still, err := guide(ep, r)
	if err != nil {
		return dialect.Call{}, err
	}
	var m dialect.Members
	m.Text("model", ep.UpstreamID)
	m.Text("prompt", r.Prompt)
	m.Text("seconds", strconv.FormatInt(r.Seconds, 10))
	if w, h, ok := dialect.Extent(ep, r); ok {
		m.Text("size", strconv.FormatInt(w, 10)+"x"+strconv.FormatInt(h, 10))
	}
	if r.Seed != nil {
		m.Int("seed", *r.Seed)
	}
	if still != "" && !imagefile.IsData(still) {
		m.Raw("input_reference", append(rawjson.AppendText([]byte(`{"image_url":`), still), '}'))
	}
	m.Video(r, ep.Provider.ID)
	m.Drop(ep.Provider.Quirks.Drop)
	m.Rename(ep.Provider.Quirks.Rename)
	call := dialect.Call{Path: "/videos", Body: m.JSON()}
	if imagefile.IsData(still) {
		return videoForm(&m, still, call)
	}
	return call, nil
}

// guide is the one image with which a video can begin, "" without one.
func guide(ep *catalog.Endpoint, r *video.Request) (string, error) {
	if err := dialect.OneVideo(ep, r); err != nil {
		return "", err
	}
	if dialect.Frame(r, video.LastFrame) != "" {
		return "", dialect.Unsupported(ep, "The provider of this model does not take a last frame.")
	}
	list, err := dialect.ImageReferences(ep, r, 1)
	if first := dialect.Frame(r, video.FirstFrame); first != "" {
		return first, err
	}
	return strings.Join(list, ""), err
}

func videoForm(m *dialect.Members, still string, call dialect.Call) (dialect.Call, error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	m.Each(func(name string, value []byte) {
		if rawjson.KindOf(value) == rawjson.String {
			value = rawjson.AppendMended(nil, value)
		}
		if name == "input_reference" {
			return
		}
		part, _ := w.CreateFormField(dialect.FormName(name)) // writing to a buffer does not fail
		_, _ = part.Write(value)
	})
	if err := file(w, "input_reference", still); err != nil {
		return call, err
	}
	_ = w.Close()
	call.Body, call.Header = b.Bytes(), http.Header{"Content-Type": {w.FormDataContentType()}}
	return call, nil
}

// Limits of a search in the list of videos.
const (
	mostPages    = 5
	pageOfVideos = 100
)

// RecoverVideo searches the list of videos for the one of the submission. The list does not name submissions: prompt, model, length and
// time must agree. OpenRouter has no list.
func (d *Dialect) RecoverVideo(ask dialect.Ask, ep *catalog.Endpoint, s *video.Submission) (video.Recovered, error) {
	if routes(ep) {
		return video.Recovered{}, nil
	}
	var found []string
	after, whole := "", false
	for range mostPages {
		path := "/videos?order=desc&limit=" + strconv.Itoa(pageOfVideos)
		if after != "" {
			path += "&after=" + url.QueryEscape(after)
		}
		body, err := dialect.Object(ask, dialect.Call{Method: http.MethodGet, Path: path})
		if err != nil {
			if dialect.Unknown(err) { // the server has no list
				return video.Recovered{}, nil
			}
			return video.Recovered{}, err
		}
		more, _ := rawjson.Bool(rawjson.Find(body, "has_more"))
		whole = !more
		for e := rawjson.ElementsOf(rawjson.Find(body, "data")); e.Next(); {
			after = rawjson.TextAt(e.Value, "id")
			switch same, older := submitted(ep, s, e.Value); {
			case same:
				found = append(found, after)
			case older:
				whole = true
			}
		}
		if whole || after == "" {
			break
		}
	}
	return dialect.Listed(found, whole), nil
}

// submitted reports whether a listed video agrees with a submission, or is older than it.
func submitted(ep *catalog.Endpoint, s *video.Submission, v []byte) (same, older bool) {
	if at, ok := rawjson.Int(rawjson.Find(v, "created_at")); ok {
		if before, after := dialect.Placed(time.Unix(at, 0), s); before || after {
			return false, before
		}
	}
	word := func(name string) string { return rawjson.TextAt(v, name) }
	model := word("model")
	return dialect.MayBe(word("prompt"), s.Request.Prompt) && dialect.MayBe(word("seconds"), strconv.FormatInt(s.Request.Seconds, 10)) &&
		(strings.HasPrefix(model, ep.UpstreamID) || strings.HasPrefix(ep.UpstreamID, model)), false
}

func videoPath(id string) string { return "/videos/" + url.PathEscape(id) }

// PollVideo retrieves the video object.
func (d *Dialect) PollVideo(ask dialect.Ask, ep *catalog.Endpoint, j *video.Job) (video.Progress, error) {
	body, wait, err := dialect.Look(ask, dialect.Call{Method: http.MethodGet, Path: videoPath(j.UpstreamID)})
	if err != nil {
		return video.Progress{}, dialect.NoJob(err)
	}
	if rawjson.IsNull(rawjson.Find(body, "status")) && !rawjson.IsNull(rawjson.Find(body, "error")) {
		return video.Progress{}, dialect.NoJob(d.Failure(ep, http.StatusOK, nil, body))
	}
	p := readVideo(ep, body)
	p.Wait = wait
	return p, nil
}

// readVideo reads a video object of OpenAI, or a job of OpenRouter: their members have different names.
func readVideo(ep *catalog.Endpoint, body []byte) video.Progress {
	percent, _ := rawjson.Int(rawjson.Find(body, "progress"))
	percent = min(max(percent, 0), 100)
	switch state := dialect.StateOf(rawjson.TextAt(body, "status")); state {
	case video.Pending:
		return video.Progress{State: video.Pending}
	case video.Completed:
		if !rawjson.IsNull(rawjson.Find(body, "error")) {
			return videoFailure(ep, video.Failed, body)
		}
		return video.Progress{State: video.Completed, Percent: 100, Outputs: videoOutputs(ep, body), Length: videoLength(body),
			Cost: dialect.Decimal(rawjson.FindPath(body, "usage", "cost"))}
	case video.Failed, video.Cancelled, video.Expired:
		return videoFailure(ep, state, body)
	}
	return video.Progress{State: video.InProgress, Percent: int(percent)}
}

func videoOutputs(ep *catalog.Endpoint, body []byte) []video.Output {
	if !routes(ep) {
		return []video.Output{{Handle: "0", MediaType: mediatype.MP4}}
	}
	var list []video.Output
	for e := rawjson.ElementsOf(rawjson.Find(body, "unsigned_urls")); e.Next(); {
		list = append(list, video.Output{Handle: strconv.Itoa(len(list)), MediaType: mediatype.MP4})
	}
	return list
}

// videoLength is how long the video is: compatible servers write the seconds as a text or as a number.
func videoLength(body []byte) time.Duration {
	seconds, err := strconv.ParseFloat(wordOf(rawjson.Find(body, "seconds")), 64)
	if err != nil {
		return 0
	}
	return dialect.Seconds(seconds)
}

// videoFailure reads why a job has failed: an error, or the sentence that some compatible servers write instead.
func videoFailure(ep *catalog.Endpoint, state video.State, body []byte) video.Progress {
	var r dialect.Refusal
	if said := rawjson.Find(body, "error"); !rawjson.IsNull(said) {
		r = dialect.ReadRefusal(said)
	}
	for _, name := range [...]string{"fail_reason", "failure_reason", "message"} {
		r.Message = cmp.Or(r.Message, rawjson.TextAt(body, name))
	}
	return dialect.Reason{State: state, Code: cmp.Or(r.Code, r.Kind), Message: r.Message, Blocked: r.Blocked(), Raw: string(body)}.Ended(ep)
}

// CancelVideo deletes the video, which cancels it.
func (d *Dialect) CancelVideo(ask dialect.Ask, ep *catalog.Endpoint, j *video.Job) error {
	if routes(ep) {
		return dialect.NoCancel(ep)
	}
	_, err := dialect.Object(ask, dialect.Call{Method: http.MethodDelete, Path: videoPath(j.UpstreamID)})
	return dialect.NoJob(err)
}

// LocateVideo returns the address of the video's content.
func (d *Dialect) LocateVideo(_ dialect.Ask, ep *catalog.Endpoint, j *video.Job, o *video.Output) (dialect.Location, error) {
	path := videoPath(j.UpstreamID) + "/content"
	if routes(ep) {
		path += "?index=" + url.QueryEscape(o.Handle)
	}
	return dialect.Location{Path: path}, nil
}

// routerCall encodes a request in OpenRouter's form (OpenRouter, API reference, Submit a video generation request), which is nearly that
// of Weir's own API.
func routerCall(ep *catalog.Endpoint, r *video.Request) (dialect.Call, error) {
	if err := dialect.OneVideo(ep, r); err != nil {
		return dialect.Call{}, err
	}
	var m dialect.Members
	m.Text("model", ep.UpstreamID)
	m.Text("prompt", r.Prompt)
	m.Int("duration", r.Seconds)
	if r.Size != "" {
		m.Text("size", r.Size)
	} else {
		m.Text("resolution", r.Resolution)
		m.Text("aspect_ratio", r.AspectRatio)
	}
	if r.Audio != nil {
		m.Flag("generate_audio", *r.Audio)
	}
	if r.Seed != nil {
		m.Int("seed", *r.Seed)
	}
	if r.Upscale != "" {
		m.Raw("upscale_factor", []byte(r.Upscale))
	}
	if r.Creativity != nil {
		m.Int("creativity", *r.Creativity)
	}
	parts(&m, "frame_images", r.Frames)
	parts(&m, "input_references", r.References)
	m.Video(r, ep.Provider.ID)
	return dialect.Call{Path: "/videos", Body: m.JSON()}, nil
}

// parts adds images, audio and videos as parts of a message.
func parts(m *dialect.Members, name string, list []video.Media) {
	if len(list) == 0 {
		return
	}
	b := []byte{'['}
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		kind := map[catalog.Modality]string{catalog.Audio: "audio_url", catalog.Video: "video_url"}[list[i].Kind]
		if kind == "" {
			kind = "image_url"
		}
		b = rawjson.AppendText(append(b, `{"type":"`+kind+`","`+kind+`":{"url":`...), list[i].URL)
		b = append(b, '}')
		if list[i].Frame != "" {
			b = rawjson.AppendText(append(b, `,"frame_type":`...), list[i].Frame)
		}
		b = append(b, '}')
	}
	m.Raw(name, append(b, ']'))
}
