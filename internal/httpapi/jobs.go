package httpapi

import (
	"strconv"
	"time"

	"weir/internal/fault"
	"weir/internal/video"
)

// listJobs serves GET /api/jobs: the video jobs of the account, those of its keys and those of pages together.
func (x *exchange) listJobs() error {
	q, err := x.query()
	if err != nil {
		return err
	}
	limit, err := pageLimit(q)
	if err != nil {
		return err
	}
	state := video.State(q.Get("state"))
	if state != "" && !state.Known() {
		return fault.Field("httpapi.listJobs", "state", "state must be one of pending, in_progress, completed, failed, cancelled, expired.")
	}
	if len(q.Get("cursor")) > 100 {
		return fault.Field("httpapi.listJobs", "cursor", "cursor must be next of the page before.")
	}
	jobs, more, err := x.api.Videos.List(x.context(), video.Query{User: x.caller.User, State: state, After: q.Get("cursor"), Limit: min(limit, videosMost)})
	if fault.Is(err, fault.Invalid) {
		return fault.Field("httpapi.listJobs", "cursor", "cursor must be next of the page before.")
	}
	if err != nil {
		return err
	}
	names, expected := &keyNames{x: x}, map[string]time.Duration{}
	if err := names.read(); err != nil {
		return err
	}
	active := 0
	for _, s := range []video.State{video.Pending, video.InProgress} {
		running, _, err := x.api.Videos.List(x.context(), video.Query{User: x.caller.User, State: s, Limit: videosMost})
		if err != nil {
			return err
		}
		active += len(running)
	}
	o := newObject(512 + 800*len(jobs))
	o.Object()
	o.Name("data").Array()
	for i := range jobs {
		if err := x.appendJob(&o, &jobs[i], names, expected); err != nil {
			return err
		}
	}
	o.EndArray()
	if more {
		o.text("next", jobs[len(jobs)-1].ID)
	} else {
		o.null("next")
	}
	o.integer("active", int64(active))
	o.integer("allowed", int64(x.api.Videos.Allowed()))
	o.EndObject()
	x.w.Header()["Cache-Control"] = noStore
	return x.reply(&o)
}

// getJob serves GET /api/jobs/{id}.
func (x *exchange) getJob() error {
	job, err := x.api.Videos.Get(x.context(), x.caller.User, x.values[0])
	if err != nil {
		return err
	}
	names := &keyNames{x: x}
	if err := names.read(); err != nil {
		return err
	}
	o := newObject(1024)
	o.Object()
	o.Name("data")
	if err := x.appendJob(&o, job, names, map[string]time.Duration{}); err != nil {
		return err
	}
	o.EndObject()
	x.w.Header()["Cache-Control"] = noStore
	return x.reply(&o)
}

// expectedOf is the longest of few recent jobs of the user with a model, which says better than an average how long to wait.
func (x *exchange) expectedOf(model string, known map[string]time.Duration) (time.Duration, error) {
	if d, ok := known[model]; ok {
		return d, nil
	}
	done, _, err := x.api.Videos.List(x.context(), video.Query{User: x.caller.User, State: video.Completed, Limit: videosPage})
	if err != nil {
		return 0, err
	}
	for i := range done {
		j := &done[i]
		known[j.Model] = max(known[j.Model], j.CompletedAt.Sub(j.CreatedAt))
	}
	d := known[model]
	known[model] = d
	return d, nil
}

func (x *exchange) appendJob(o *object, j *video.Job, names *keyNames, known map[string]time.Duration) error {
	end := x.at
	if !j.Active() && !j.CompletedAt.IsZero() {
		end = j.CompletedAt
	}
	o.Object()
	o.text("id", j.ID)
	o.text("kind", jobVideo)
	o.text("state", string(j.State))
	o.text("model", j.Model)
	provider := ""
	if s := j.Serving(); s != nil && j.UpstreamID != "" {
		provider = s.Provider
	}
	o.textOrNull("provider", provider)
	o.text("call", j.Generation)
	names.append(o, "key", j.Key)
	o.moment("created_at", j.CreatedAt)
	o.moment("updated_at", j.UpdatedAt)
	if j.Active() {
		o.null("completed_at")
	} else {
		o.moment("completed_at", j.CompletedAt)
	}
	o.moment("expires_at", j.ExpiresAt)
	o.integer("elapsed_ms", max(0, end.Sub(j.CreatedAt).Milliseconds()))
	expected := time.Duration(0)
	if j.Active() {
		var err error
		if expected, err = x.expectedOf(j.Model, known); err != nil {
			return err
		}
	}
	if expected > 0 {
		o.integer("expected_ms", expected.Milliseconds())
	} else {
		o.null("expected_ms")
	}
	if j.Progress > 0 {
		o.integer("progress", int64(j.Progress))
	} else {
		o.null("progress")
	}
	if j.Ended == video.Open {
		o.amountText("hold", j.Hold)
		o.null("cost")
	} else {
		o.text("hold", "0")
		o.amountText("cost", j.Cost)
	}
	o.textOrNull("error", j.Error)
	o.Name("videos").Array()
	if j.State == video.Completed {
		for i := range j.Outputs {
			o.Text("/api/v1/videos/" + j.ID + "/content?index=" + strconv.Itoa(i))
		}
	}
	o.EndArray()
	o.EndObject()
	return nil
}
