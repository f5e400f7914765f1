package dialect

import (
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/imagefile"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/video"
)

// VideoMaker is a Dialect whose provider makes videos as jobs. Its methods are those of video.Upstream, over an Ask that sends requests.
type VideoMaker interface {
	// SubmitVideo asks for the videos of s with one request that may make a job.
	SubmitVideo(ask Ask, ep *catalog.Endpoint, s *video.Submission) (video.Accepted, error)
	// RecoverVideo finds out whether a submission whose answer was lost made a job. A provider that cannot be asked returns
	// video.Unknown.
	RecoverVideo(ask Ask, ep *catalog.Endpoint, s *video.Submission) (video.Recovered, error)
	// PollVideo asks how far the job of j.UpstreamID is.
	PollVideo(ask Ask, ep *catalog.Endpoint, j *video.Job) (video.Progress, error)
	// CancelVideo asks the provider to stop the job.
	CancelVideo(ask Ask, ep *catalog.Endpoint, j *video.Job) error
	// LocateVideo reports where a finished video can be read now.
	LocateVideo(ask Ask, ep *catalog.Endpoint, j *video.Job, o *video.Output) (Location, error)
}

// Location is where a video can be read: at Path below the provider's base URL, at URL, or in Data.
type Location struct {
	Path      string // read with the provider's credential
	URL       string
	Home      string // base URL of the origin that is sent the credential, "" none
	Data      []byte // the file itself, where the provider has no address for it
	MediaType string // of Data
}

// Look sends one request and reads its whole answer, which must be a JSON object. The caller judges errors that it reports. wait is how
// long the provider asks to wait before the next poll, 0 when it does not.
func Look(ask Ask, call Call) (body []byte, wait time.Duration, err error) {
	answer, err := ask.Do(call)
	if err != nil {
		return nil, 0, err
	}
	defer answer.Close()
	wait = lookAfter(answer.Exchange.Header()) // before the body, which uses the same buffer
	body, err = answer.ReadAll(nil)
	if err != nil {
		return nil, 0, err
	}
	if !rawjson.Valid(body) || rawjson.KindOf(body) != rawjson.Object {
		return nil, 0, Broken(ask.Endpoint(), errors.New("the answer is not a JSON object"))
	}
	return body, wait, nil
}

// lookAfter reads the header fields in which providers say when to poll again.
func lookAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Openai-Poll-After-Ms"), 64); err == nil {
		return Seconds(ms / 1000)
	}
	s, _ := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After")), 64)
	return Seconds(s)
}

// ClientImage returns an image file of the client's request, for wires that take only its bytes. An address is fetched only where the
// operator allows that; otherwise it fails with fault.Invalid.
func ClientImage(ask Ask, address string) (data []byte, info imagefile.Info, err error) {
	if imagefile.IsData(address) {
		data, err = imagefile.FromURL(address)
	} else {
		var allowed bool
		if data, allowed, err = ask.FetchForClient(address); err != nil {
			return nil, info, err
		}
		if !allowed {
			return nil, info, Unsupported(ask.Endpoint(), "The provider of this model takes images only as data, not by URL.")
		}
	}
	info, ok := imagefile.Of(data)
	if err != nil || !ok {
		return nil, info, fault.New(fault.Invalid, "dialect.ClientImage", "Each image must be a complete PNG, JPEG, WebP or GIF file.")
	}
	return data, info, nil
}

// Unknown reports whether a provider answered that the object does not exist.
func Unknown(err error) bool {
	f := fault.From(err)
	return f != nil && f.Upstream != nil && (f.Upstream.Status == http.StatusNotFound || f.Upstream.Status == http.StatusGone)
}

// NoJob turns an error by which a provider reports an unknown job into fault.NotFound. Other errors pass unchanged.
func NoJob(err error) error {
	if !Unknown(err) {
		return err
	}
	g := *fault.From(err)
	g.Kind, g.Public = fault.NotFound, "The provider does not have the job."
	return &g
}

// NoCancel is the fault of a provider that cannot cancel a job.
func NoCancel(ep *catalog.Endpoint) error {
	return Fault(ep, fault.ProviderUnavailable, "The provider of this model cannot cancel a video.", nil)
}

// Listed is the result of a search in a provider's list: which of its jobs may belong to the submission, and whether all candidates were
// seen.
func Listed(alike []string, whole bool) video.Recovered {
	r := video.Recovered{Alike: alike}
	if whole {
		r.Fate = video.Absent
	}
	return r
}

// How long before and after a submission, by the provider's clock, a listed job may have been created and still belong to it.
const (
	Skew    = 2 * time.Minute
	byThere = 15 * time.Minute
)

// Placed compares the time at which a listed job was created with a submission: it is too old, possible or too new.
func Placed(created time.Time, s *video.Submission) (before, after bool) {
	return created.Before(s.At.Add(-Skew)), created.After(s.At.Add(byThere))
}

// MayBe reports whether a value in a provider's list agrees with the requested one; a missing value ("") agrees.
func MayBe(said, asked string) bool { return said == "" || said == asked }

// Reason is why a provider ended a job without a video.
type Reason struct {
	State   video.State // Failed, Cancelled or Expired
	Code    string      // the provider's error code
	Message string      // its sentence; "" none
	Blocked bool        // its content policy forbids the request or its result
	Raw     string      // the provider's JSON
}

// Ended is the progress of a job that ended for that reason.
func (r Reason) Ended(ep *catalog.Endpoint) video.Progress {
	kind, public := fault.ProviderUnavailable, "The provider could not make the video."
	if r.Blocked {
		kind, public = fault.ContentPolicy, "The provider's content policy does not allow this video."
	}
	if r.Message != "" {
		public = r.Message
	}
	f := Fault(ep, kind, public, nil)
	f.Upstream.Status, f.Upstream.Code, f.Upstream.Raw = http.StatusOK, r.Code, r.Raw
	return video.Progress{State: r.State, Failure: f}
}

// StateOf is what a status word means on any wire, in any case: compatible servers pass on the words of the providers behind them. A word that
// is not known is InProgress, so that no job that may still be made is given up; its deadline ends it.
func StateOf(status string) video.State {
	switch strings.ToLower(strings.TrimSpace(status)) {
	case "queued", "pending", "submitted", "in_queue", "queueing", "preparing", "throttled":
		return video.Pending
	case "completed", "succeeded", "succeed", "success", "done", "finished", "ready":
		return video.Completed
	case "failed", "fail", "failure", "error", "rejected", "blocked", "moderated":
		return video.Failed
	case "cancelled", "canceled", "aborted":
		return video.Cancelled
	case "expired", "timeout":
		return video.Expired
	}
	return video.InProgress
}

// Recent reports whether an address that came when the job completed is young enough to be used without asking again.
func Recent(ask Ask, j *video.Job) bool {
	return j.CompletedAt.IsZero() || ask.Now().Sub(j.CompletedAt) < 20*time.Minute
}

// Locate finds where a video can be read now, for providers whose addresses expire: at the address of the completed job while that is
// young, then at the one that a further poll returns. Where the poll fails, it returns the old address.
func Locate(ask Ask, j *video.Job, o *video.Output, look func() (video.Progress, error)) Location {
	if !Recent(ask, j) {
		i := slices.IndexFunc(j.Outputs, func(other video.Output) bool { return other.URL == o.URL })
		if p, err := look(); err == nil && i >= 0 && i < len(p.Outputs) && p.Outputs[i].URL != "" {
			return Location{URL: p.Outputs[i].URL}
		}
	}
	return Location{URL: o.URL}
}

// OneVideo fails unless the job is for one video.
func OneVideo(ep *catalog.Endpoint, r *video.Request) error {
	if r.Outputs > 1 {
		return Unsupported(ep, "The provider of this model makes one video at a time.")
	}
	return nil
}

// Frame is the address of the frame image of that type, "" without one.
func Frame(r *video.Request, kind string) string {
	for i := range r.Frames {
		if r.Frames[i].Frame == kind {
			return r.Frames[i].URL
		}
	}
	return ""
}

// NoReferences fails when a request has references.
func NoReferences(ep *catalog.Endpoint, r *video.Request) error {
	if len(r.References) > 0 {
		return Unsupported(ep, "The provider of this model does not support input_references.")
	}
	return nil
}

// ImageReferences returns the addresses of the references, which must all be images, at most so many.
func ImageReferences(ep *catalog.Endpoint, r *video.Request, most int) ([]string, error) {
	if len(r.References) > most {
		return nil, Unsupported(ep, "The provider of this model takes "+strconv.Itoa(most)+" references at most.")
	}
	var list []string
	for i := range r.References {
		if r.References[i].Kind != catalog.Image {
			return nil, Unsupported(ep, "The provider of this model takes only images in input_references.")
		}
		list = append(list, r.References[i].URL)
	}
	return list, nil
}

var shortSides = map[string]int64{"480p": 480, "540p": 540, "720p": 720, "768p": 768, "1K": 1024, "1080p": 1080, "2K": 1440, "4K": 2160}

// Extent is the size in pixels that a request asks for, by its size or by resolution and aspect ratio: the nearest of the sizes that the
// model lists, else sides that are multiples of eight. ok is false when it asks for none.
func Extent(ep *catalog.Endpoint, r *video.Request) (width, height int64, ok bool) {
	if w, h, ok := task.Dimensions(r.Size); ok {
		return int64(w), int64(h), true
	}
	short, ratio := shortSides[r.Resolution], imagefile.Ratio(r.AspectRatio)
	if short == 0 && ratio == 0 {
		return 0, 0, false
	}
	if short == 0 {
		short = 720
	}
	if ratio == 0 {
		ratio = 16.0 / 9
	}
	if w, h, ok := nearestSize(ep, short, ratio); ok {
		return w, h, true
	}
	width, height = short, short
	long := int64(float64(short)*max(ratio, 1/ratio)+4) / 8 * 8
	if ratio > 1 {
		width = long
	} else {
		height = long
	}
	return width, height, true
}

// nearestSize goes by the ratio first; of sizes with one ratio it takes that with the nearest short side.
func nearestSize(ep *catalog.Endpoint, short int64, ratio float64) (width, height int64, ok bool) {
	if ep.Model == nil || ep.Model.Video == nil {
		return 0, 0, false
	}
	best := math.Inf(1)
	for _, size := range ep.Model.Video.Sizes {
		w, h, fine := task.Dimensions(size)
		if !fine {
			continue
		}
		off := math.Round(math.Abs(math.Log(float64(w)/float64(h)/ratio))*25)*1e6 + math.Abs(float64(int64(min(w, h))-short))
		if off < best {
			best, width, height, ok = off, int64(w), int64(h), true
		}
	}
	return width, height, ok
}

// Video adds the client's parameters that only this provider has.
func (m *Members) Video(r *video.Request, provider string) {
	for _, list := range [...][]video.Param{r.Params, r.OptionsFor(provider)} {
		for i := range list {
			if !slices.Contains(priced, strings.ToLower(strings.ReplaceAll(list[i].Name, "_", ""))) {
				m.Extra([]task.Extra{{Name: list[i].Name, Value: list[i].Value}})
			}
		}
	}
}

// priced are the names of parameters that decide what a video costs, on any wire, in lower case and without underscores. The request has fields
// for them.
var priced = []string{"duration", "durationseconds", "seconds", "nseconds", "length", "videolength", "numframes", "framespersecond", "fps", "resolution", "size", "quality", "mode",
	"generateaudio", "audio", "sound", "withaudio", "enableaudio", "numvideos", "outputs", "variant", "nvariants", "numvariants"}

// Flag adds a boolean.
func (m *Members) Flag(name string, value bool) { m.Raw(name, strconv.AppendBool(nil, value)) }

// Texts adds a list of strings, unless it is empty.
func (m *Members) Texts(name string, list []string) {
	if len(list) == 0 {
		return
	}
	b := []byte{'['}
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = rawjson.AppendText(b, s)
	}
	m.Raw(name, append(b, ']'))
}

// Decimal is a JSON number as decimal text, "" for any other value.
func Decimal(v []byte) string {
	if !rawjson.IsNumber(v) || slices.ContainsFunc(v, func(c byte) bool { return c == 'e' || c == 'E' || c == '-' }) {
		return ""
	}
	return string(v)
}

// Seconds is a duration that a provider reports in seconds.
func Seconds(n float64) time.Duration {
	if !(n > 0) || n > 1e6 {
		return 0
	}
	return time.Duration(n * float64(time.Second))
}
