package storetest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/internal/blob"
	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/video"
)

// memory is how a provider can be asked about a submission.
type memory int

const (
	forgetful memory = iota // there is no way
	tokens                  // idempotency keys
	lists                   // a list of jobs
)

// provider makes videos, and only its own memory has them.
type provider struct {
	mu      sync.Mutex
	memory  memory
	polls   int // after which a video is ready
	jobs    map[string]*made
	byToken map[string]string
	submits int
	twin    string // what its list gives for every submission, "" as it is
	series  string // begins its names for jobs: those of two providers must differ where they meet in one store

	refuse   func(endpoint string) error // asked before a job is made
	lose     func() error                // asked after one was made: the answer is lost
	noCancel bool
	noPoll   error
	ending   video.Progress
	length   time.Duration
	asked    func() // called while a submission is under way
}

type made struct {
	endpoint  string
	polls     int
	cancelled bool
}

func newProvider() *provider {
	return &provider{memory: forgetful, polls: 2, jobs: map[string]*made{}, byToken: map[string]string{},
		ending: video.Progress{State: video.Completed, Outputs: []video.Output{{URL: "https://one.test/1.mp4", MediaType: "video/mp4"}}}}
}

func (p *provider) Submit(_ context.Context, ep *catalog.Endpoint, s *video.Submission) (video.Accepted, error) {
	if p.asked != nil {
		p.asked()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.submits++
	if s.Request.Prompt == "" {
		return video.Accepted{}, refusal(400, fault.Invalid)
	}
	if p.refuse != nil {
		if err := p.refuse(ep.ID); err != nil {
			return video.Accepted{}, err
		}
	}
	id := p.byToken[s.Token]
	if id == "" || p.memory == forgetful {
		id = fmt.Sprint(p.series, "up-", len(p.jobs)+1)
		p.jobs[id] = &made{endpoint: ep.ID}
		p.byToken[s.Token] = id
	}
	if p.lose != nil {
		if err := p.lose(); err != nil {
			return video.Accepted{}, err
		}
	}
	return video.Accepted{ID: id}, nil
}

func (p *provider) Recover(ctx context.Context, ep *catalog.Endpoint, s *video.Submission) (video.Recovered, error) {
	p.mu.Lock()
	id, kind := cmp.Or(p.twin, p.byToken[s.Token]), p.memory
	p.mu.Unlock()
	switch {
	case kind == forgetful:
		return video.Recovered{}, nil
	case id != "" && kind == lists:
		return video.Recovered{Fate: video.Absent, Alike: []string{id}}, nil
	case id != "":
		return video.Recovered{Fate: video.Adopted, Accepted: video.Accepted{ID: id}}, nil
	case kind == tokens: // to ask once more is to ask for the first time
		p.mu.Lock()
		p.lose = nil
		p.mu.Unlock()
		a, err := p.Submit(ctx, ep, s)
		return video.Recovered{Fate: video.Adopted, Accepted: a}, err
	}
	return video.Recovered{Fate: video.Absent}, nil
}

func (p *provider) Poll(_ context.Context, _ *catalog.Endpoint, j *video.Job) (video.Progress, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.noPoll != nil {
		return video.Progress{}, p.noPoll
	}
	m := p.jobs[j.UpstreamID]
	if m == nil {
		return video.Progress{}, fault.New(fault.NotFound, "provider.Poll", "no such job")
	}
	if m.polls++; m.polls <= p.polls {
		return video.Progress{State: video.InProgress, Percent: 10 * m.polls}, nil
	}
	out := p.ending
	out.Length = p.length
	return out, nil
}

func (p *provider) Cancel(_ context.Context, _ *catalog.Endpoint, j *video.Job) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.noCancel || p.jobs[j.UpstreamID] == nil {
		return fault.New(fault.ProviderUnavailable, "provider.Cancel", "cannot cancel")
	}
	p.jobs[j.UpstreamID].cancelled = true
	return nil
}

const videoText = "0123456789abcdef"

func (p *provider) Open(_ context.Context, _ *catalog.Endpoint, _ *video.Job, _ *video.Output, _ *video.Range) (*video.Content, error) {
	return &video.Content{Body: io.NopCloser(strings.NewReader(videoText)), Length: int64(len(videoText)), Size: int64(len(videoText)), MediaType: "video/mp4"}, nil
}

// asksAndJobs is how many submissions there were, and how many jobs they made.
func (p *provider) asksAndJobs() (int, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.submits, len(p.jobs)
}

func refusal(status int, kind fault.Kind) *fault.Error {
	e := fault.New(kind, "provider.Submit", "The provider does not want it.")
	e.Upstream, e.Next = &fault.Upstream{Status: status}, fault.NextEndpoint
	return e
}

// files is a blob store.
type files struct {
	mu  sync.Mutex
	all map[string]string
}

func newFiles() *files { return &files{all: map[string]string{}} }

func (f *files) Put(_ context.Context, key, _ string, r io.Reader) (int64, string, error) {
	if err := blob.CheckKey(key); err != nil {
		return 0, "", err
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return 0, "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all[key] = string(b)
	return int64(len(b)), "etag", nil
}

func (f *files) Open(_ context.Context, key string, offset, length int64) (io.ReadCloser, blob.Info, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, ok := f.all[key]
	if !ok {
		return nil, blob.Info{}, blob.NotFound("files.Open")
	}
	part := b[offset:]
	if length >= 0 {
		part = part[:length]
	}
	return io.NopCloser(strings.NewReader(part)), blob.Info{Size: int64(len(b))}, nil
}

func (f *files) Delete(_ context.Context, key string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all, key)
	return nil
}

func (f *files) Sweep(context.Context, time.Time, int) (int, error) { return 0, nil }

func (f *files) Ready(context.Context) error { return nil }

func (f *files) keys() (all []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for k := range f.all {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}
