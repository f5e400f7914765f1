package upstream

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/auth"
	"weir/internal/fault"
	"weir/internal/outbound"
	"weir/internal/video"
)

// Opener reads files at addresses that providers return. It follows the rules for untrusted addresses.
type Opener interface {
	// OpenFile reads the file at an address, or the part of it that r asks for, by the way of home. Only the origin of home gets credentials.
	OpenFile(ctx context.Context, provider, address string, home outbound.Home, credentials http.Header, r *video.Range) (*video.Content, error)
}

// Videos implements video.Upstream over the dialects of a Client. It is safe for concurrent use.
type Videos struct {
	client *Client
	files  Opener
}

var _ video.Upstream = (*Videos)(nil)

// NewVideos makes a Videos. The client must outlive it.
func NewVideos(c *Client, files Opener) *Videos { return &Videos{client: c, files: files} }

// Submit implements video.Upstream.
func (f *Videos) Submit(ctx context.Context, ep *catalog.Endpoint, s *video.Submission) (out video.Accepted, err error) {
	request := ""
	var used completion.Used
	err = f.with(ctx, ep, "", func(ask *asking, d dialect.VideoMaker) error {
		ask.req.Used = &used
		ask.reported = func(h http.Header) { request = requestName(h) }
		if out, err = d.SubmitVideo(ask, ep, s); err == nil && plainName(out.ID, maxJobName) == "" {
			err = unnamed(ep)
		}
		out.ID = ask.signed(out.ID)
		return err
	})
	out.Key = used.Take()
	if err != nil {
		return video.Accepted{Key: out.Key}, asked(fault.From(err), request)
	}
	return out, nil
}

// Recover implements video.Upstream. Each credential may be another account: the job is absent when none of them has it.
func (f *Videos) Recover(ctx context.Context, ep *catalog.Endpoint, s *video.Submission) (video.Recovered, error) {
	t, err := f.client.target(ep.Provider)
	if err != nil {
		return video.Recovered{}, f.client.polish(ep, err)
	}
	all := video.Recovered{Fate: video.Absent}
	for _, key := range t.keys.all {
		got, err := f.recover(ctx, ep, key.tag, s)
		if err != nil || got.Fate == video.Adopted {
			return got, err
		}
		if got.Fate == video.Unknown {
			all.Fate = video.Unknown
		}
		all.Alike = append(all.Alike, got.Alike...)
	}
	return all, nil
}

func (f *Videos) recover(ctx context.Context, ep *catalog.Endpoint, tag string, s *video.Submission) (out video.Recovered, err error) {
	err = f.with(ctx, ep, tag, func(ask *asking, d dialect.VideoMaker) error {
		if out, err = d.RecoverVideo(ask, ep, s); err == nil {
			out = ask.found(out)
		}
		return err
	})
	return out, err
}

// Poll implements video.Upstream.
func (f *Videos) Poll(ctx context.Context, ep *catalog.Endpoint, j *video.Job) (out video.Progress, err error) {
	err = f.withJob(ctx, ep, j, func(ask *asking, d dialect.VideoMaker, j *video.Job) error {
		out, err = d.PollVideo(ask, ep, j)
		return err
	})
	if err == nil && out.Failure != nil {
		out.Failure = f.client.polish(ep, out.Failure)
	}
	return out, err
}

// Cancel implements video.Upstream.
func (f *Videos) Cancel(ctx context.Context, ep *catalog.Endpoint, j *video.Job) error {
	return f.withJob(ctx, ep, j, func(ask *asking, d dialect.VideoMaker, j *video.Job) error { return d.CancelVideo(ask, ep, j) })
}

// Open implements video.Upstream.
func (f *Videos) Open(ctx context.Context, ep *catalog.Endpoint, j *video.Job, o *video.Output, r *video.Range) (out *video.Content, err error) {
	err = f.withJob(ctx, ep, j, func(ask *asking, d dialect.VideoMaker, j *video.Job) error {
		at, err := d.LocateVideo(ask, ep, j, o)
		if err == nil {
			out, err = f.open(ctx, ask, &at, r)
		}
		return err
	})
	return out, err
}

func (f *Videos) open(ctx context.Context, ask *asking, at *dialect.Location, r *video.Range) (*video.Content, error) {
	if at.Data != nil {
		size := int64(len(at.Data))
		return &video.Content{Body: io.NopCloser(bytes.NewReader(at.Data)), Length: size, Size: size, MediaType: at.MediaType}, nil
	}
	address, home := at.URL, at.Home
	if at.Path != "" {
		home = ask.target.provider.BaseURL
		address = strings.TrimSuffix(home, "/") + at.Path
	}
	var credentials http.Header
	if home != "" {
		var err error
		if credentials, err = ask.credentials(at.Path); err != nil {
			return nil, err
		}
	} else {
		home = ask.target.provider.BaseURL // the operator has configured it, so it may have any address
	}
	return f.files.OpenFile(ctx, ask.ep.Provider.Name, address, ask.target.home(home), credentials, r)
}

// with calls do with an Ask that uses the credential of a tag.
func (f *Videos) with(ctx context.Context, ep *catalog.Endpoint, tag string, do func(*asking, dialect.VideoMaker) error) error {
	t, err := f.client.target(ep.Provider)
	if err != nil {
		return f.client.polish(ep, err)
	}
	d, ok := t.dialect.(dialect.VideoMaker)
	if !ok {
		return f.client.polish(ep, dialect.Unsupported(ep, "The provider of this model does not make videos by this wire."))
	}
	ask := &asking{client: f.client, ctx: ctx, ep: ep, req: new(completion.Request), target: t}
	ask.key = t.keys.named(tag)
	if err := do(ask, d); err != nil {
		return f.client.polish(ep, err)
	}
	return nil
}

// withJob is with for a job that the provider has. The job that do gets has the provider's own id, without the tag.
func (f *Videos) withJob(ctx context.Context, ep *catalog.Endpoint, j *video.Job, do func(*asking, dialect.VideoMaker, *video.Job) error) error {
	tag, id := catalog.Untagged(j.UpstreamID)
	plain := *j
	plain.UpstreamID = id
	return f.with(ctx, ep, tag, func(ask *asking, d dialect.VideoMaker) error { return do(ask, d, &plain) })
}

// signed is the provider's id of a job, with the tag of the credential that made it where the provider has several.
func (k *asking) signed(id string) string {
	if len(k.target.keys.all) == 1 && !k.target.provider.Kept || k.key == nil {
		return id
	}
	return catalog.Tagged(k.key.tag, id)
}

// found completes the result of a dialect's search for a submission: ids of jobs get the tag. Other jobs that merely look alike are
// dropped.
func (k *asking) found(r video.Recovered) video.Recovered {
	if r.Fate == video.Adopted && plainName(r.ID, maxJobName) == "" {
		return video.Recovered{}
	}
	r.ID = k.signed(r.ID)
	for i, id := range r.Alike {
		if plainName(id, maxJobName) == "" {
			return video.Recovered{}
		}
		r.Alike[i] = k.signed(id)
	}
	return r
}

// credentials returns the header fields that authenticate a request for path.
func (k *asking) credentials(path string) (http.Header, error) {
	key := k.key
	if key == nil {
		key = k.target.keys.pick(k.ep.UpstreamID, nil, k.client.cfg.Now)
	}
	if key == nil {
		return nil, noKeyInUse(k.ep)
	}
	h := make(http.Header)
	for name, values := range key.whole.header {
		switch name {
		case "Accept", "Accept-Encoding", "Content-Type", "User-Agent":
		default:
			h[name] = values
		}
	}
	if key.method == nil {
		return h, nil
	}
	fields, err := key.method.Fields(k.ctx, &auth.Request{Host: k.target.host, Path: k.target.base + path})
	if err != nil {
		return nil, notAdmitted(k.ep, err)
	}
	for name, values := range fields {
		h[name] = values
	}
	return h, nil
}
