package gemini

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/imagefile"
	"weir/internal/mediatype"
	"weir/internal/rawjson"
	"weir/internal/video"
)

var _ dialect.VideoMaker = (*Dialect)(nil)

const mostStills = 3 // reference images of one video

// vertex reports whether a provider is Google Cloud and not AI Studio: both have the same method, but return the video in different
// places.
func vertex(ep *catalog.Endpoint) bool { return strings.Contains(ep.Provider.BaseURL, "/projects/") }

// SubmitVideo begins a long-running operation (Gemini API, Generate videos with Veo; Vertex AI, Veo video generation API).
func (d *Dialect) SubmitVideo(ask dialect.Ask, ep *catalog.Endpoint, s *video.Submission) (video.Accepted, error) {
	instance, err := videoInstance(ask, ep, s.Request)
	if err != nil {
		return video.Accepted{}, err
	}
	var m dialect.Members
	m.Raw("instances", slices.Concat([]byte{'['}, instance, []byte{']'}))
	m.Raw("parameters", videoParameters(ep, s.Request))
	body, err := dialect.Object(ask, dialect.Call{Path: videoPath(ep, "predictLongRunning"), Body: m.JSON()})
	if err != nil {
		return video.Accepted{}, err
	}
	name := rawjson.TextAt(body, "name")
	if name != "" && !operation(name) {
		return video.Accepted{}, dialect.Broken(ep, errors.New("the name of the operation cannot be part of an address"))
	}
	return video.Accepted{ID: name}, nil
}

// operation reports whether a name can be part of a path: segments of letters, digits and the other characters that Google uses.
func operation(name string) bool {
	for segment := range strings.SplitSeq(name, "/") {
		if segment == "" || segment[0] == '.' || strings.ContainsFunc(segment, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.:@=,+~", r))
		}) {
			return false
		}
	}
	return true
}

func videoPath(ep *catalog.Endpoint, method string) string {
	return "/models/" + url.PathEscape(ep.UpstreamID) + ":" + method
}

func videoInstance(ask dialect.Ask, ep *catalog.Endpoint, r *video.Request) ([]byte, error) {
	var m dialect.Members
	m.Text("prompt", r.Prompt)
	for _, x := range []struct{ name, frame string }{{"image", video.FirstFrame}, {"lastFrame", video.LastFrame}} {
		address := dialect.Frame(r, x.frame)
		if address == "" {
			continue
		}
		still, err := videoStill(ask, address)
		if err != nil {
			return nil, err
		}
		m.Raw(x.name, still)
	}
	if m.Has("lastFrame") && !m.Has("image") {
		return nil, dialect.Unsupported(ep, "The provider of this model takes a last_frame only together with a first_frame.")
	}
	list, err := dialect.ImageReferences(ep, r, mostStills)
	if err != nil || len(list) == 0 {
		return m.JSON(), err
	}
	b := []byte{'['}
	for i, address := range list {
		still, err := videoStill(ask, address)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, `{"image":`...), still...), `,"referenceType":"asset"}`...)
	}
	m.Raw("referenceImages", append(b, ']'))
	return m.JSON(), nil
}

// videoStill reads an image: this wire takes only bytes.
func videoStill(ask dialect.Ask, address string) ([]byte, error) {
	data, info, err := dialect.ClientImage(ask, address)
	if err != nil {
		return nil, err
	}
	encoded := ""
	if imagefile.IsData(address) {
		_, encoded, _ = strings.Cut(address, ",")
	}
	if len(encoded)%4 != 0 || encoded == "" {
		encoded = base64.StdEncoding.EncodeToString(data)
	}
	var m dialect.Members
	m.Text("bytesBase64Encoded", encoded)
	m.Text("mimeType", info.MediaType)
	return m.JSON(), nil
}

func videoParameters(ep *catalog.Endpoint, r *video.Request) []byte {
	var m dialect.Members
	m.Int("durationSeconds", r.Seconds)
	w, h, sized := dialect.Extent(ep, r)
	switch {
	case r.AspectRatio != "":
		m.Text("aspectRatio", r.AspectRatio)
	case r.Size != "" && sized:
		m.Text("aspectRatio", imagefile.Nearest(float64(w)/float64(h), []string{"16:9", "9:16"}))
	}
	if r.Resolution != "" && !strings.HasPrefix(ep.MakersID(), "veo-2") { // Veo 2 has only one
		m.Text("resolution", strings.ToLower(r.Resolution))
	}
	if r.Outputs > 1 {
		m.Int("sampleCount", r.Outputs)
	}
	if r.Seed != nil {
		m.Int("seed", *r.Seed)
	}
	if vertex(ep) {
		if !strings.HasPrefix(ep.MakersID(), "veo-2") {
			m.Flag("generateAudio", r.WithAudio())
		}
		m.Text("storageUri", ep.Provider.Quirks.VideoBucket)
	}
	m.Video(r, ep.Provider.ID)
	return m.JSON()
}

// RecoverVideo finds nothing: an operation does not contain its request.
func (d *Dialect) RecoverVideo(dialect.Ask, *catalog.Endpoint, *video.Submission) (video.Recovered, error) {
	return video.Recovered{}, nil
}

// PollVideo reads the operation.
func (d *Dialect) PollVideo(ask dialect.Ask, ep *catalog.Endpoint, j *video.Job) (video.Progress, error) {
	body, err := d.operation(ask, ep, j)
	if err != nil {
		return video.Progress{}, err
	}
	return readVideo(ep, body), nil
}

// operation reads an operation. A failed one contains an error, which is not an error of the call.
func (d *Dialect) operation(ask dialect.Ask, ep *catalog.Endpoint, j *video.Job) ([]byte, error) {
	call := dialect.Call{Method: http.MethodGet, Path: "/" + j.UpstreamID}
	if vertex(ep) {
		var m dialect.Members
		m.Text("operationName", j.UpstreamID)
		call = dialect.Call{Path: videoPath(ep, "fetchPredictOperation"), Body: m.JSON()}
	}
	body, _, err := dialect.Look(ask, call)
	if err != nil {
		return nil, dialect.NoJob(err)
	}
	if rawjson.Find(body, "name") == nil && !rawjson.IsNull(rawjson.Find(body, "error")) {
		return nil, dialect.NoJob(d.Failure(ep, http.StatusOK, nil, body))
	}
	return body, nil
}

func readVideo(ep *catalog.Endpoint, body []byte) video.Progress {
	if said := rawjson.Find(body, "error"); !rawjson.IsNull(said) {
		return videoFailure(ep, said)
	}
	if done, _ := rawjson.Bool(rawjson.Find(body, "done")); !done {
		return video.Progress{State: video.InProgress}
	}
	response := rawjson.Find(body, "response")
	if inner := rawjson.Find(response, "generateVideoResponse"); inner != nil {
		response = inner
	}
	outputs := videoOutputs(response)
	if len(outputs) > 0 {
		return video.Progress{State: video.Completed, Percent: 100, Outputs: outputs}
	}
	reason := dialect.Reason{State: video.Failed}
	n, _ := rawjson.Int(rawjson.Find(response, "raiMediaFilteredCount"))
	if e := rawjson.ElementsOf(rawjson.Find(response, "raiMediaFilteredReasons")); e.Next() {
		reason.Message = rawjson.Text(e.Value)
	}
	if n > 0 || reason.Message != "" {
		reason.Blocked, reason.Code = true, "RAI_FILTERED"
	}
	return reason.Ended(ep)
}

// videoOutputs are the videos of an operation. Those inside the answer are identified by their index.
func videoOutputs(response []byte) []video.Output {
	var out []video.Output
	for e := rawjson.ElementsOf(rawjson.Find(response, "generatedSamples")); e.Next(); {
		if uri := rawjson.Text(rawjson.FindPath(e.Value, "video", "uri")); uri != "" {
			out = append(out, video.Output{URL: uri, MediaType: mediatype.MP4})
		}
	}
	index := 0
	for e := rawjson.ElementsOf(rawjson.Find(response, "videos")); e.Next(); {
		o := video.Output{MediaType: rawjson.TextAt(e.Value, "mimeType")}
		o.URL, o.Handle = rawjson.TextAt(e.Value, "gcsUri"), strconv.Itoa(index)
		index++
		if o.URL != "" {
			o.Handle = ""
		} else if rawjson.IsNull(rawjson.Find(e.Value, "bytesBase64Encoded")) {
			continue
		}
		out = append(out, o)
	}
	return out
}

// Codes of google.rpc with which an operation ends.
const (
	codeCancelled = 1
	codeDeadline  = 4
)

var policyWords = []string{"usage guidelines", "usage policies", "responsible ai", "safety filter", "sensitive words"}

// blocked reports whether an error message is about content that Google refuses to make.
func blocked(sentence string) bool {
	sentence = strings.ToLower(sentence)
	return slices.ContainsFunc(policyWords, func(w string) bool { return strings.Contains(sentence, w) })
}

func videoFailure(ep *catalog.Endpoint, said []byte) video.Progress {
	code, _ := rawjson.Int(rawjson.Find(said, "code"))
	reason := dialect.Reason{State: video.Failed, Code: strconv.FormatInt(code, 10), Message: rawjson.TextAt(said, "message"), Raw: string(said)}
	switch code {
	case codeCancelled:
		reason.State = video.Cancelled
	case codeDeadline:
		reason.State = video.Expired
	}
	reason.Blocked = blocked(reason.Message)
	return reason.Ended(ep)
}

// CancelVideo fails: neither AI Studio nor Vertex has a method for it.
func (d *Dialect) CancelVideo(_ dialect.Ask, ep *catalog.Endpoint, _ *video.Job) error {
	return dialect.NoCancel(ep)
}

// LocateVideo returns where the file is. A file of AI Studio needs the key; one in a bucket is read with the account that wrote it; any
// other is inside the operation.
func (d *Dialect) LocateVideo(ask dialect.Ask, ep *catalog.Endpoint, j *video.Job, o *video.Output) (dialect.Location, error) {
	if rest, ok := strings.CutPrefix(o.URL, "gs://"); ok {
		bucket, object, _ := strings.Cut(rest, "/")
		home := storage(ep.Provider.BaseURL)
		return dialect.Location{URL: home + "/storage/v1/b/" + url.PathEscape(bucket) + "/o/" + url.PathEscape(object) + "?alt=media", Home: home}, nil
	}
	if _, file, ok := strings.Cut(o.URL, "/files/"); ok {
		return dialect.Location{Path: "/files/" + file}, nil
	}
	if o.URL != "" {
		return dialect.Location{URL: o.URL}, nil
	}
	return d.inline(ask, ep, j, o)
}

// storage is the origin of buckets: Google's storage for Google's addresses, and the provider's own origin for any other.
func storage(base string) string {
	u, err := url.Parse(base)
	if err != nil || strings.HasSuffix(u.Hostname(), ".googleapis.com") {
		return "https://storage.googleapis.com"
	}
	return u.Scheme + "://" + u.Host
}

// inline reads a video inside its operation.
func (d *Dialect) inline(ask dialect.Ask, ep *catalog.Endpoint, j *video.Job, o *video.Output) (dialect.Location, error) {
	body, err := d.operation(ask, ep, j)
	if err != nil {
		return dialect.Location{}, err
	}
	index := 0
	for e := rawjson.ElementsOf(rawjson.FindPath(body, "response", "videos")); e.Next(); index++ {
		if strconv.Itoa(index) != o.Handle {
			continue
		}
		encoded, _ := rawjson.Unquote(rawjson.Find(e.Value, "bytesBase64Encoded"))
		data := make([]byte, base64.StdEncoding.DecodedLen(len(encoded)))
		n, err := base64.StdEncoding.Decode(data, encoded)
		if err != nil || n == 0 {
			break
		}
		return dialect.Location{Data: data[:n], MediaType: rawjson.TextAt(e.Value, "mimeType")}, nil
	}
	return dialect.Location{}, dialect.Broken(ep, errors.New("the operation has no such video"))
}
