package adminapi

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/accountapi"
	"weir/internal/console"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/operation"
)

// JobRow is work of an account that outlives a call.
type JobRow struct {
	Kind        string      `json:"kind" enum:"videos,batches,webhooks,notices"`
	ID          string      `json:"id"`
	User        string      `json:"user"` // id of the account
	UserName    *string     `json:"user_name"`
	What        string      `json:"what"` // model of a video, route of the requests of a batch, address of a webhook, cause of a notice
	State       string      `json:"state"`
	Stuck       bool        `json:"stuck"`        // it does not come to its end by itself, as it seems
	Percent     int         `json:"percent"`      // of a video, as its provider says; 0: not known
	Total       int64       `json:"total"`        // requests of a batch
	Done        int64       `json:"done"`         // of them
	Failed      int64       `json:"failed"`       // of them
	Tries       int         `json:"tries"`        // attempts of a webhook or a notice; of a video, steps that failed in a row
	Words       *string     `json:"words"`        // why the last attempt failed, or why a batch waits
	Since       time.Time   `json:"since"`        // it was made
	SpokeAt     *time.Time  `json:"spoke_at"`     // something was last heard of a video, or a webhook was given up
	By          *time.Time  `json:"by"`           // its deadline
	NextAt      *time.Time  `json:"next_at"`      // the next attempt
	Held        *money.Nano `json:"held"`         // rubles on hold for a video; null for other kinds, whose calls hold money themselves
	MayRetry    bool        `json:"may_retry"`    // it can be tried at once
	MayBeEnded  bool        `json:"may_be_ended"` // it can be ended
	ProviderHas bool        `json:"provider_has"` // a provider may be working on it, and bill it although it was ended
}

// JobCount is how many jobs of a kind have not ended.
type JobCount struct {
	Kind  string `json:"kind" enum:"videos,batches,webhooks,notices"`
	Open  int64  `json:"open"`
	Stuck int64  `json:"stuck"` // of them
}

// JobsPage is a page of jobs of a kind, with the counts of all kinds.
type JobsPage struct {
	accountapi.List[JobRow]
	Counts []JobCount `json:"counts"`
}

type jobsInput struct {
	Kind  string `json:"-" query:"kind" enum:"videos,batches,webhooks,notices"` // videos without it
	State string `json:"-" query:"state" enum:"open,stuck,failed"`              // open without it; failed are webhooks that were given up
	accountapi.PageOf
}

type jobID struct {
	Kind string `json:"-" path:"kind"` // videos, batches, webhooks or notices
	ID   string `json:"-" path:"id"`   // of the job
}

type endJobInput struct {
	Kind   string `json:"-" path:"kind"` // videos, batches, webhooks or notices
	ID     string `json:"-" path:"id"`   // of the job
	Reason string `json:"reason" minLength:"1" maxLength:"200"`
}

func jobRow(j *console.Job, names map[string]string) JobRow {
	r := JobRow{
		Kind: string(j.Kind), ID: j.ID, User: j.Account, UserName: accountapi.OrNull(names[j.Account]), What: j.What, State: j.State, Stuck: j.Stuck, Percent: j.Percent,
		Total: j.Total, Done: j.Done, Failed: j.Failed, Tries: j.Tries, Words: accountapi.OrNull(j.Words), Since: j.Since, SpokeAt: accountapi.Moment(j.Spoke),
		By: accountapi.Moment(j.By), NextAt: accountapi.Moment(j.NextAt), MayRetry: true, MayBeEnded: j.State != "failed",
	}
	switch j.Kind {
	case console.Videos:
		r.Held, r.ProviderHas = &j.Held, j.State != "pending"
	case console.Batches:
		r.MayBeEnded = j.State == "validating" || j.State == "in_progress"
	case console.Webhooks, console.Notices:
	}
	return r
}

type jobOperations struct {
	jobs *console.Jobs
	log  AuditLog
}

// jobRoutes are the operations with which operators find jobs that do not come to their end, and end them.
func jobRoutes(jobs *console.Jobs, log AuditLog) []operation.Operation {
	o := jobOperations{jobs, log}
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/jobs", ID: "listAllJobs", Access: operation.Operating, Tag: "administration",
			Summary: "Jobs of all accounts that have not ended, the oldest first; for operators", Answer: "A page of jobs of a kind, and the counts of all kinds",
			Description: "A video is stuck when nothing was heard of it for 10 minutes or its deadline is over, a batch when no node takes it or it is past its end, a webhook or a notice after 4 attempts.",
		}, o.list),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/jobs/{kind}/{id}/retry", ID: "retryJob", Access: operation.Operating, Status: 204, Tag: "administration",
			Summary: "Have a job tried at once; for operators", Answer: "It is tried within seconds",
			Description: "A video is asked for, a batch is taken up, a webhook is posted, a notice is mailed. A webhook that was given up begins anew.",
		}, func(ctx context.Context, c *operation.Call, in *jobID) (none operation.None, err error) {
			return none, o.jobs.Retry(ctx, console.JobKind(in.Kind), in.ID, c.Actor)
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/jobs/{kind}/{id}/end", ID: "endJob", Access: operation.Operating, Fresh: true, Status: 204, Tag: "administration",
			Summary: "End a job; for operators", Answer: "It has ended, or ends now", Example: `{"reason": "The provider is out of order."}`,
			Description: "A video counts as failed: what it holds goes back to its account at once, and nothing that its provider still delivers is charged. A batch makes no more requests and keeps what was done. A webhook or a notice is given up.",
		}, func(ctx context.Context, c *operation.Call, in *endJobInput) (none operation.None, err error) {
			return none, o.jobs.End(ctx, console.JobKind(in.Kind), in.ID, in.Reason, c.Actor)
		}),
	}
}

func (o jobOperations) list(ctx context.Context, _ *operation.Call, in *jobsInput) (out JobsPage, err error) {
	s := console.JobSearch{Kind: console.Videos, State: console.OpenJobs}
	if in.Kind != "" {
		s.Kind = console.JobKind(in.Kind)
	}
	if in.State != "" {
		s.State = in.State
	}
	var names map[string]string
	out.List, err = accountapi.Paged(ctx, in.PageOf, func(ctx context.Context, after string, most int) (rows []console.Job, err error) {
		if s.At, s.After, err = placeOf(after); err != nil {
			return nil, err
		}
		s.Limit = most
		if rows, err = o.jobs.List(ctx, s); err != nil {
			return nil, err
		}
		var ids []string
		for i := range rows {
			ids = append(ids, rows[i].Account)
		}
		slices.Sort(ids)
		names, err = o.log.NamesOf(ctx, slices.Compact(ids))
		return rows, err
	}, func(j *console.Job) (JobRow, string) {
		at := j.Since
		if s.State == console.FailedJobs {
			at = j.Spoke
		}
		return jobRow(j, names), strconv.FormatInt(at.UnixMicro(), 10) + "." + j.ID
	})
	if err != nil {
		return out, err
	}
	counts, err := o.jobs.Counts(ctx)
	for _, n := range counts {
		out.Counts = append(out.Counts, JobCount{Kind: string(n.Kind), Open: n.Open, Stuck: n.Stuck})
	}
	return out, err
}

// placeOf reads a cursor: the time by which the store orders, and the id. It fails with fault.NotFound.
func placeOf(cursor string) (at int64, id string, err error) {
	if cursor == "" {
		return 0, "", nil
	}
	text, id, ok := strings.Cut(cursor, ".")
	if at, err = strconv.ParseInt(text, 10, 64); err != nil || !ok || at <= 0 || id == "" {
		return 0, "", fault.New(fault.NotFound, "adminapi.jobs", "There is no such place.").Because(errors.Join(err))
	}
	return at, id, nil
}
