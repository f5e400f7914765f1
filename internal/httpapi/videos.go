package httpapi

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/httpserver"
	"weir/internal/video"
	"weir/internal/wire/videos"
)

// Videos keeps video jobs. *video.Service is one.
type Videos interface {
	Submit(ctx context.Context, s *video.Submit) (*video.Job, error)
	Get(ctx context.Context, user, id string) (*video.Job, error)
	// NoJob is the error for a job that does not exist.
	NoJob() *fault.Error
	List(ctx context.Context, q video.Query) (jobs []video.Job, more bool, err error)
	Delete(ctx context.Context, user, id string) (*video.Job, error)
	// Allowed is how many jobs a user may have at a time.
	Allowed() int
	Open(ctx context.Context, user, id string, index int, header string) (*video.Content, *video.Job, error)
}

// postVideo serves POST /v1/videos: the job is on the disk, with its money reserved, before the answer leaves.
func (x *request) postVideo() error {
	req, err := x.readVideo()
	if err != nil {
		return err
	}
	if check := x.api.CheckCallback; check != nil && req.CallbackURL != "" {
		if err := check("callback_url", req.CallbackURL); err != nil {
			return err
		}
	}
	x.asked = req.Model
	if err := x.reserve(&completion.Request{Models: []string{req.Model}, Preferences: req.Preferences}); err != nil {
		return err
	}
	who := &completion.Request{}
	x.identify(who)
	job, err := x.api.Videos.Submit(x.context(), &video.Submit{
		Caller: x.caller, Request: req, Generation: x.generation, RequestID: x.id, Catalog: x.api.Catalog(),
		UserAgent: x.note("User-Agent"), Referer: x.note("Referer", "Http-Referer"), Title: x.note("X-Title", "X-Openrouter-Title"), Trace: traceparent(x.trace), Tags: x.tags(nil), Session: who.SessionID,
	})
	if err != nil {
		return x.ownJobs(err)
	}
	x.visit.Spend(x.at, job.Hold) // what it costs is known when its request has long ended
	x.writeBody(http.StatusAccepted, jsonType, videos.AppendJob(nil, job, x.base()))
	return nil
}

// ownJobs leaves of the jobs that an error names, which may be of a whole organization, those that the key sees.
func (x *request) ownJobs(err error) error {
	var e *fault.Error
	if x.caller.Sees.All() || !errors.As(err, &e) {
		return err
	}
	active, _ := e.Details["active_jobs"].([]string)
	if active == nil {
		return err
	}
	e.Details["active_jobs"] = slices.DeleteFunc(slices.Clone(active), func(id string) bool {
		job, err := x.api.Videos.Get(x.context(), x.caller.User, id)
		return err != nil || x.sees(job.Key, x.api.Videos.NoJob()) != nil
	})
	return err
}

// readVideo reads a submission: JSON, or a form as OpenAI's clients send it.
func (x *request) readVideo() (*video.Request, error) {
	boundary, err := x.boundary()
	if err != nil {
		return nil, err
	}
	if boundary == "" {
		body, err := x.readBody()
		if err != nil {
			return nil, err
		}
		return videos.Decode(body)
	}
	body, err := x.readForm(boundary)
	if err != nil {
		return nil, err
	}
	return videos.DecodeForm(body, boundary)
}

// video finds the job that the path names, if the caller sees it.
func (x *request) video() (*video.Job, error) {
	job, err := x.api.Videos.Get(x.context(), x.caller.User, x.values[0])
	if err == nil {
		err = x.sees(job.Key, x.api.Videos.NoJob())
	}
	return job, err
}

func (x *request) getVideo() error {
	job, err := x.video()
	if err != nil {
		return err
	}
	return x.replyJob(job)
}

// deleteVideo cancels an active job, and forgets the videos of one that has ended.
func (x *request) deleteVideo() error {
	if _, err := x.video(); err != nil {
		return err
	}
	job, err := x.api.Videos.Delete(x.context(), x.caller.User, x.values[0])
	if err != nil {
		return err
	}
	if job.Form {
		x.writeBody(http.StatusOK, jsonType, videos.AppendDeleted(nil, job))
		return nil
	}
	return x.replyJob(job)
}

func (x *request) replyJob(job *video.Job) error {
	x.w.Header()["Cache-Control"] = noStore
	x.writeBody(http.StatusOK, jsonType, videos.AppendJob(nil, job, x.base()))
	return nil
}

var noStore = []string{"no-store"}

const (
	videosPage = 20
	videosMost = 100
)

func (x *request) listVideos() error {
	query := x.r.URL.Query()
	q := video.Query{User: x.caller.User, Sees: x.caller.Sees, State: video.State(query.Get("status")), After: query.Get("after"), Limit: videosPage}
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > videosMost {
			return fault.Field("httpapi.listVideos", "limit", "limit must be a whole number from 1 to %d.", videosMost)
		}
		q.Limit = n
	}
	if order := query.Get("order"); order != "" && order != "desc" {
		return fault.Field("httpapi.listVideos", "order", "order must be desc: the newest jobs come first.")
	}
	if q.State != "" && !q.State.Known() {
		return fault.Field("httpapi.listVideos", "status", "status must be one of pending, in_progress, completed, failed, cancelled, expired.")
	}
	jobs, more, err := x.api.Videos.List(x.context(), q)
	if err != nil {
		return err
	}
	x.w.Header()["Cache-Control"] = noStore
	x.writeBody(http.StatusOK, jsonType, videos.AppendPage(nil, jobs, more, x.base()))
	return nil
}

const maxIndex = math.MaxInt32

// getVideoContent serves the bytes of a video, or the part of them that a Range header asks for, as they come from wherever they are kept.
func (x *request) getVideoContent() error {
	index, err := indexOf(x.r.URL.Query()["index"])
	if err != nil {
		return err
	}
	if variant := x.r.URL.Query().Get("variant"); variant != "" && variant != "video" {
		return fault.Field("httpapi.getVideoContent", "variant", "variant must be video: there are no thumbnails and no sprite sheets.")
	}
	id := x.values[0]
	tag := `"` + id + "-" + strconv.Itoa(index) + `"` // a finished video never changes
	ranged := x.header("Range")
	if condition := x.header("If-Range"); condition != "" && condition != tag {
		ranged = ""
	}
	fresh := matches(x.header("If-None-Match"), tag)
	if fresh {
		ranged = "bytes=0-0" // whether there is a video is all that matters
	}
	if _, err := x.video(); err != nil {
		return err
	}
	content, job, err := x.api.Videos.Open(x.context(), x.caller.User, id, index, ranged)
	if err != nil {
		return err
	}
	if content.Body != nil {
		defer content.Body.Close()
	}
	h := x.w.Header()
	h["Etag"], h["Accept-Ranges"], h["Cache-Control"] = []string{tag}, []string{"bytes"}, []string{"private, no-transform"}
	switch {
	case fresh:
		x.writeBody(http.StatusNotModified, nil, nil)
		return nil
	case content.Unfit:
		if content.Size >= 0 {
			h["Content-Range"] = []string{"bytes */" + strconv.FormatInt(content.Size, 10)}
		}
		return fault.New(fault.RangeNotSatisfiable, "httpapi.getVideoContent", "The range is outside of the video.")
	}
	return x.sendContent(content, job.ID, index)
}

func indexOf(values []string) (int, error) {
	if len(values) == 0 || values[0] == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(values[0])
	if err != nil || n < 0 || n > maxIndex || len(values) > 1 {
		return 0, fault.Field("httpapi.getVideoContent", "index", "index must be a whole number from 0 to %d.", maxIndex)
	}
	return n, nil
}

// matches reports whether an If-None-Match header names a tag.
func matches(header, tag string) bool {
	if header == "*" {
		return true
	}
	for _, one := range strings.Split(header, ",") {
		if strings.TrimPrefix(strings.TrimSpace(one), "W/") == tag {
			return true
		}
	}
	return false
}

var contentType = []string{"application/octet-stream"}

func (x *request) sendContent(c *video.Content, id string, index int) error {
	h := x.w.Header()
	name := id + "-" + strconv.Itoa(index) + extension(c.MediaType)
	h["Content-Type"], h["Vary"] = contentType, []string{"Accept"}
	h["Content-Disposition"] = []string{`attachment; filename="` + name + `"`}
	if c.MediaType != "" {
		h["X-Video-Content-Type"] = []string{c.MediaType}
		if x.accepts(c.MediaType) {
			h["Content-Type"] = h["X-Video-Content-Type"]
		}
	}
	if c.Length >= 0 {
		h["Content-Length"] = []string{strconv.FormatInt(c.Length, 10)}
	}
	status := http.StatusOK
	if c.Partial {
		status = http.StatusPartialContent
		size := "*"
		if c.Size >= 0 {
			size = strconv.FormatInt(c.Size, 10)
		}
		h["Content-Range"] = []string{"bytes " + strconv.FormatInt(c.From, 10) + "-" + strconv.FormatInt(c.From+c.Length-1, 10) + "/" + size}
	}
	if x.r.Method == http.MethodHead {
		x.w.WriteHeader(status)
		return nil
	}
	return x.copyContent(c, status)
}

// accepts reports whether the client asks for that type of videos by its name, as SDKs do that take nothing else.
func (x *request) accepts(mediaType string) bool {
	if !strings.HasPrefix(mediaType, "video/") {
		return false
	}
	for _, one := range strings.Split(x.header("Accept"), ",") {
		name, _, _ := strings.Cut(one, ";")
		if strings.EqualFold(strings.TrimSpace(name), mediaType) {
			return true
		}
	}
	return false
}

func extension(mediaType string) string {
	if mediaType == "video/webm" {
		return ".webm"
	}
	return ".mp4"
}

const contentBuffer = 64 << 10

var contentBuffers = sync.Pool{New: func() any { return new([contentBuffer]byte) }}

// copyContent sends the body. A failure before the first byte is an error answer; a later one cuts the connection.
func (x *request) copyContent(c *video.Content, status int) error {
	buf := contentBuffers.Get().(*[contentBuffer]byte)
	defer contentBuffers.Put(buf)
	left := c.Length
	for {
		n, err := c.Body.Read(buf[:])
		if left >= 0 && int64(n) > left {
			n, err = int(left), io.EOF // more than was announced
		}
		if n > 0 || err == io.EOF {
			if werr := x.sendPiece(status, buf[:n]); werr != nil {
				return fault.New(fault.Canceled, "httpapi.copyContent", "The client closed the connection.").Because(werr)
			}
		}
		if left >= 0 {
			left -= int64(n)
		}
		switch {
		case err == io.EOF && left > 0:
			return x.broken(io.ErrUnexpectedEOF)
		case err == io.EOF:
			return nil
		case err != nil:
			return x.broken(err)
		}
	}
}

func (x *request) sendPiece(status int, piece []byte) error {
	if x.w.Status() == 0 {
		x.w.WriteHeader(status)
	}
	_, err := x.w.Write(piece)
	return err
}

// broken is the fault of a video that cannot be read to its end. What the head would have said of it goes.
func (x *request) broken(err error) error {
	if x.r.Context().Err() != nil {
		return fault.New(fault.Canceled, "httpapi.copyContent", "The client closed the connection.").Because(err)
	}
	if x.w.Status() == 0 {
		h := x.w.Header()
		for _, name := range []string{"Content-Range", "Content-Disposition", "Etag", "Accept-Ranges", "X-Video-Content-Type", "Content-Length"} {
			delete(h, name)
		}
	}
	return fault.New(fault.ProviderUnavailable, "httpapi.copyContent", "The video could not be read.").Because(err)
}

// base is how the client reaches the gateway: as configured, as a trusted proxy says, or else by the address that its connection came to. What
// the client itself writes into Host is not believed, unless it is a name of the client's own machine: passkeys work at "localhost" alone.
func (x *request) base() string {
	if url := x.api.cfg.PublicURL; url != "" {
		return url
	}
	scheme := "http"
	if x.r.TLS != nil {
		scheme = "https"
	}
	if x.api.cfg.TrustedProxies.Trust(httpserver.Peer(x.r)) {
		if s := x.header("X-Forwarded-Proto"); s == "http" || s == "https" {
			scheme = s
		}
		if host := x.header("X-Forwarded-Host"); plainHost(host) {
			return scheme + "://" + host
		}
		if plainHost(x.r.Host) {
			return scheme + "://" + x.r.Host
		}
	}
	if addr, ok := x.r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && !loopback(x.r.Host) {
		return scheme + "://" + addr.String()
	}
	return scheme + "://" + x.r.Host
}

// plainHost reports whether a text can be the host of an address.
func plainHost(host string) bool {
	return host != "" && len(host) <= 256 && !slices.ContainsFunc([]byte(host), func(c byte) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._:[]", c) >= 0)
	})
}
