package accountapi

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/video"
)

// Videos keeps video jobs. *video.Manager is one.
type Videos interface {
	Get(ctx context.Context, user, id string) (*video.Job, error)
	List(ctx context.Context, q video.Query) (jobs []video.Job, more bool, err error)
	NoJob() *fault.Error
	// Delete cancels a job that runs. It fails with fault.ProviderUnavailable when the provider goes on with it.
	Delete(ctx context.Context, user, id string) (*video.Job, error)
	// Allowed is how many jobs a user may have at a time.
	Allowed() int
}

// Job is a job that runs for long.
type Job struct {
	ID          string      `json:"id"`
	Kind        string      `json:"kind" enum:"video"`
	State       string      `json:"state" enum:"pending,in_progress,completed,failed,cancelled,expired"`
	Model       string      `json:"model"`
	Provider    *string     `json:"provider"`
	Call        string      `json:"call"` // id of its call
	Key         *CallKey    `json:"key"`
	CreatedAt   time.Time   `json:"created_at"`
	UpdatedAt   time.Time   `json:"updated_at"`
	CompletedAt *time.Time  `json:"completed_at"`
	ExpiresAt   *time.Time  `json:"expires_at"`  // when its videos are deleted
	ElapsedMs   int64       `json:"elapsed_ms"`  // until now or until its end
	ExpectedMs  *int64      `json:"expected_ms"` // how long the last jobs with this model took; null if there were none
	Progress    *int        `json:"progress"`    // percent
	Hold        money.Nano  `json:"hold"`        // on hold now; 0 after its end
	Cost        *money.Nano `json:"cost"`        // what was charged; null while it runs
	Error       *string     `json:"error"`
	Videos      []string    `json:"videos"` // where its videos are read, with the same key or session
}

// JobPage is a page of jobs.
type JobPage struct {
	List[Job]
	Active  int `json:"active"`  // jobs that run now, those of the API and those of pages together
	Allowed int `json:"allowed"` // how many may run at a time
}

type listJobs struct {
	State string `json:"-" query:"state" enum:"pending,in_progress,completed,failed,cancelled,expired"`
	Mine  bool   `json:"-" query:"mine"` // in an organization, only those of the caller
	PageOf
}

type jobID struct {
	ID string `json:"-" path:"id"` // of the job
}

// How many jobs are read at a time: for a page, and to see how long they take.
const (
	mostJobs   = 100
	recentJobs = 20
)

func jobs(d Deps) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/jobs", ID: "listJobs", Org: operation.Workers, Access: operation.Management, Tag: "pages",
			Summary: "Jobs that run for long, such as videos, newest first", Answer: "A page of jobs",
		}, func(ctx context.Context, c *operation.Call, in *listJobs) (JobPage, error) {
			c.NoStore()
			return pageOfJobs(ctx, d, c, in)
		}),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/jobs/{id}", ID: "getJob", Org: operation.Workers, Access: operation.Management, Tag: "pages", Summary: "One job", Answer: "The job",
			Description: "DELETE /api/v1/videos/{id} cancels it, GET /api/v1/videos/{id}/content reads its videos.",
		}, func(ctx context.Context, c *operation.Call, in *jobID) (out operation.Data[Job], err error) {
			job, err := d.Videos.Get(ctx, c.User, in.ID)
			if err != nil {
				return out, err
			}
			if sees, err := d.Keys.Sees(ctx, c.Caller, job.Key); err != nil || !sees {
				return out, cmp.Or[error](err, d.Videos.NoJob())
			}
			r, err := readerOfJobs(ctx, d, c)
			if err != nil {
				return out, err
			}
			c.NoStore()
			out.Data, err = r.show(ctx, job)
			return out, err
		}),
	}
}

func pageOfJobs(ctx context.Context, d Deps, c *operation.Call, in *listJobs) (p JobPage, err error) {
	const op = "accountapi.listJobs"
	state := video.State(in.State)
	if state != "" && !state.Known() {
		const allowed = "pending, in_progress, completed, failed, cancelled, expired"
		return p, fault.Field(op, "state", "state must be one of %s.", allowed).Coded("one_of", "allowed", allowed)
	}
	wrong := fault.Field(op, "cursor", "cursor must be next of the page before.").Coded("cursor")
	if len(in.Cursor) > 100 {
		return p, wrong
	}
	sees := c.Sees
	if in.Mine && c.Member != "" {
		sees = apikey.Sight{Member: c.Member}
	}
	found, more, err := d.Videos.List(ctx, video.Query{User: c.User, Sees: sees, State: state, After: in.Cursor, Limit: cmp.Or(in.Limit, usualRows)})
	if fault.Is(err, fault.Invalid) {
		return p, wrong
	}
	if err != nil {
		return p, err
	}
	r, err := readerOfJobs(ctx, d, c)
	if err != nil {
		return p, err
	}
	p.Data, p.Allowed = make([]Job, len(found)), d.Videos.Allowed()
	for i := range found {
		if p.Data[i], err = r.show(ctx, &found[i]); err != nil {
			return p, err
		}
	}
	if more {
		p.Next = &found[len(found)-1].ID
	}
	for _, s := range []video.State{video.Pending, video.InProgress} {
		running, _, err := d.Videos.List(ctx, video.Query{User: c.User, Sees: c.Sees, State: s, Limit: mostJobs})
		if err != nil {
			return p, err
		}
		p.Active += len(running)
	}
	return p, nil
}

// jobReader shows the jobs of a user.
type jobReader struct {
	videos Videos
	user   string
	sees   apikey.Sight
	at     time.Time
	names  keyNames
	took   map[string]time.Duration // by model; nil until a job asks
}

func readerOfJobs(ctx context.Context, d Deps, c *operation.Call) (*jobReader, error) {
	names, err := namesOfKeys(ctx, d.Keys, c.User)
	return &jobReader{videos: d.Videos, user: c.User, sees: c.Sees, at: c.At, names: names}, err
}

// expected is the longest of few recent jobs of the user with a model, which says better than an average how long to wait.
func (r *jobReader) expected(ctx context.Context, model string) (time.Duration, error) {
	if r.took == nil {
		done, _, err := r.videos.List(ctx, video.Query{User: r.user, Sees: r.sees, State: video.Completed, Limit: recentJobs})
		if err != nil {
			return 0, err
		}
		r.took = map[string]time.Duration{}
		for i := range done {
			j := &done[i]
			r.took[j.Model] = max(r.took[j.Model], j.CompletedAt.Sub(j.CreatedAt))
		}
	}
	return r.took[model], nil
}

func (r *jobReader) show(ctx context.Context, j *video.Job) (Job, error) {
	end := r.at
	if !j.Active() && !j.CompletedAt.IsZero() {
		end = j.CompletedAt
	}
	out := Job{
		ID: j.ID, Kind: "video", State: string(j.State), Model: j.Model, Call: j.Generation, Key: r.names.of(j.Key), CreatedAt: j.CreatedAt, UpdatedAt: j.UpdatedAt,
		ExpiresAt: Moment(j.ExpiresAt), ElapsedMs: max(0, end.Sub(j.CreatedAt).Milliseconds()), Error: OrNull(j.Error), Videos: []string{},
	}
	if s := j.Serving(); s != nil && j.UpstreamID != "" {
		out.Provider = OrNull(s.Provider)
	}
	if j.Active() {
		expected, err := r.expected(ctx, j.Model)
		if err != nil {
			return out, err
		}
		if ms := expected.Milliseconds(); expected > 0 {
			out.ExpectedMs = &ms
		}
	} else {
		out.CompletedAt = Moment(j.CompletedAt)
	}
	if j.Progress > 0 {
		out.Progress = &j.Progress
	}
	if j.Ended == video.Open {
		out.Hold = j.Hold
	} else {
		out.Cost = &j.Cost
	}
	if j.State == video.Completed {
		for i := range j.Outputs {
			out.Videos = append(out.Videos, "/api/v1/videos/"+j.ID+"/content?index="+strconv.Itoa(i))
		}
	}
	return out, nil
}
