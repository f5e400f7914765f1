package jobdb

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/store/auditdb"
	"weir/internal/store/ledgerdb"
	"weir/internal/store/noticedb"
	"weir/internal/store/sqldb"
	"weir/internal/video"
)

var jobs = sqldb.Map[video.Job, struct {
	ID, Wallet, Generation, Model, UpstreamID, Error, Reason string
	User                                                     string `db:"user_id"`
	Key                                                      string `db:"key_id"`
	State                                                    video.State
	Ended                                                    video.Ending
	Hold, Cost                                               money.Nano
	Submitting, Accepted                                     bool
	Cleanup                                                  video.Cleanup
	CreatedAt, UpdatedAt, DeadlineAt                         time.Time
	CompletedAt, ExpiresAt, DueAt                            time.Time `db:",null"`
	Fence                                                    int64
	Request, Detail                                          []byte
}]("video_jobs", sqldb.Encoded("request", func(j *video.Job) []byte { return video.EncodeRequest(&j.Request) }, func(j *video.Job, request []byte) (err error) {
	j.Request, err = video.DecodeRequest(request)
	return err
}), sqldb.Encoded("detail", func(j *video.Job) []byte { return video.EncodeDetail(j) }, func(j *video.Job, detail []byte) error { return video.DecodeDetail(detail, j) }))

// jobShown are the columns for readers that do not need the request, which may be long.
var jobShown = strings.Replace(jobs.Names, "request", "substr(request, 1, 0)", 1)

// jobKept is what a worker keeps of a job, apart from its request.
var jobKept = []string{"state", "ended", "cost", "upstream_id", "submitting", "error", "reason", "cleanup", "updated_at", "completed_at", "expires_at", "due_at", "detail"}

var (
	// jobChange is followed by further conditions. $17 reports that the worker gives up the job.
	jobChange = `UPDATE video_jobs SET ` + sqldb.Equal(jobKept, ", ", 3) + `, request = $16, node = CASE WHEN $17 THEN '' ELSE node END, epoch = CASE WHEN $17 THEN 0 ELSE epoch END`
	jobKeep   = jobChange + ` WHERE id = $1 AND fence = $2 AND ended = $4`
	jobEnd    = jobChange + `, fence = fence + 1 WHERE id = $1 AND fence = $2 AND ended = ''`
)

const (
	jobDue = `SELECT id FROM video_jobs j WHERE due_at <= $1 AND (node = '' OR NOT EXISTS (SELECT 1 FROM nodes n WHERE n.id = j.node AND n.epoch = j.epoch AND n.live = 1))
		ORDER BY due_at LIMIT $2`
	jobClaim = `UPDATE video_jobs SET fence = fence + 1, node = $2, epoch = $3 WHERE id = $1 RETURNING `
	jobSeize = `UPDATE video_jobs SET fence = fence + 1, node = '', epoch = 0 WHERE id = $1 AND user_id = $2 AND ended = '' AND NOT submitting RETURNING `
	jobWrest = `UPDATE video_jobs SET fence = fence + 1, node = '', epoch = 0 WHERE id = $1 AND ended = '' RETURNING `

	// A job that was claimed before it was accepted is being ended by its claimer.
	jobAccept   = `UPDATE video_jobs SET accepted = TRUE, due_at = $2 WHERE id = $1 AND NOT accepted AND fence = 0 AND ended = ''`
	jobAccepted = `SELECT 1 FROM video_jobs WHERE wallet = $1 AND generation = $2 AND accepted`
	jobWaits    = `SELECT 1 FROM video_jobs WHERE wallet = $1 AND generation = $2 AND NOT accepted AND ended = ''`
	// An acceptance at the same moment comes first, or too late.
	jobRefuse = `UPDATE video_jobs SET fence = fence + 1, node = '', epoch = 0, due_at = created_at WHERE wallet = $1 AND generation = $2 AND NOT accepted AND ended = ''`
	// Nothing is left to do for what is never due.
	jobSweep = `DELETE FROM video_jobs WHERE id IN (SELECT id FROM video_jobs WHERE completed_at < $1 AND due_at IS NULL AND ended <> '' ORDER BY completed_at LIMIT $2)`

	jobTaken = `SELECT EXISTS (SELECT 1 FROM video_jobs WHERE upstream_id = $1 AND id <> $2)`

	slotTake = `INSERT INTO video_slots (user_id, slot, job) VALUES ($1, $2, $3) ON CONFLICT (user_id, slot) DO NOTHING`
	slotFree = `DELETE FROM video_slots WHERE job = $1`
	slotJobs = `SELECT job FROM video_slots WHERE user_id = $1 ORDER BY slot`
)

// SQL text of the checks of jobs. Each lists errors.
const ()

// changeArgs are the parameters of jobChange. A request that will not be sent any more is not kept.
func changeArgs(j *video.Job, release bool) []any {
	request := []byte{}
	if j.State == video.Pending {
		request = video.EncodeRequest(&j.Request)
	}
	return append(append([]any{j.ID, j.Fence}, jobs.Args(j, jobKept...)...), request, release)
}

func noJob(op string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fault.New(fault.NotFound, op, "There is no such video job.").Because(err)
	}
	return sqldb.Failure(op, err)
}

// AddJob is video.Jobs.AddJob.
func (s *Jobs) AddJob(ctx context.Context, j *video.Job, from ledger.Handover, limit int) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		if err := takeSlot(t, j, limit); err != nil {
			return err
		}
		if err := ledgerdb.HandOver(t, j.ID, from, j.CreatedAt); err != nil {
			return err
		}
		return jobs.Insert(t, j, "node", "", "epoch", int64(0))
	})
}

// takeSlot takes the first free place of the job's user. A transaction that takes the same one waits until this one has ended.
func takeSlot(t *sqldb.Tx, j *video.Job, limit int) error {
	for slot := 1; slot <= limit; slot++ {
		n, err := t.Exec(slotTake, j.User, slot, j.ID)
		if err != nil || n == 1 {
			return err
		}
	}
	active, err := sqldb.All(t, sqldb.Only[string], slotJobs, j.User)
	if err != nil {
		return err
	}
	return video.TooMany(limit, active)
}

// AcceptJob is video.Jobs.AcceptJob.
func (s *Jobs) AcceptJob(ctx context.Context, id string, due time.Time) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		n, err := t.Exec(jobAccept, id, due.UnixMicro())
		if err != nil || n == 1 {
			return err
		}
		var done bool
		if err := t.Row(`SELECT accepted FROM video_jobs WHERE id = $1`, id).Scan(&done); err != nil {
			return noJob("store.AcceptJob", err)
		}
		if !done {
			return changed("store.AcceptJob", nil)
		}
		return nil
	})
}

// Job is video.Jobs.Job.
func (s *Jobs) Job(ctx context.Context, user, id string) (found *video.Job, err error) {
	err = s.db.Find(ctx, func(row sqldb.Scanner) error {
		j, err := jobs.Scan(row)
		found = &j
		return err
	}, `SELECT `+jobShown+` FROM video_jobs WHERE id = $1 AND ($2 = '' OR user_id = $2)`, id, user)
	if err != nil {
		return nil, noJob("store.Job", err)
	}
	return found, nil
}

// Clock is video.Work.Clock.
func (s *Jobs) Clock(ctx context.Context) (now time.Time, err error) { return s.db.Clock(ctx) }

// SweepJobs is video.Work.SweepJobs.
func (s *Jobs) SweepJobs(ctx context.Context, before time.Time, n int) (gone int, err error) {
	changed, err := s.db.Exec(ctx, jobSweep, before.UnixMicro(), n)
	return int(changed), err
}

// HasJob reports whether a call of a wallet became a job. After that, a job that is not accepted can no longer be accepted. It is rarely
// used: there is no index for it.
func (s *Jobs) HasJob(ctx context.Context, wallet, generation string) (found bool, err error) {
	waits := false
	err = s.db.Find(ctx, func(row sqldb.Scanner) error { return row.Scan(&found, &waits) }, `SELECT EXISTS (`+jobAccepted+`), EXISTS (`+jobWaits+`)`, wallet, generation)
	if err != nil || found || !waits {
		return found, sqldb.Failure("store.HasJob", err)
	}
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		if _, err := t.Exec(jobRefuse, wallet, generation); err != nil {
			return err
		}
		return t.Row(`SELECT EXISTS (`+jobAccepted+`)`, wallet, generation).Scan(&found)
	})
	return found, err
}

// UpstreamTaken implements video.Work. It is rarely used: there is no index for it.
func (s *Jobs) UpstreamTaken(ctx context.Context, upstreamID, job string) (taken bool, err error) {
	err = s.db.Read(ctx, &taken, jobTaken, upstreamID, job)
	if err != nil {
		return false, sqldb.Failure("store.UpstreamTaken", err)
	}
	return taken, nil
}

// Jobs is video.Jobs.Jobs.
func (s *Jobs) Jobs(ctx context.Context, q video.Query) ([]video.Job, error) {
	after := int64(1<<63 - 1)
	if q.After != "" {
		err := s.db.Read(ctx, &after, `SELECT created_at FROM video_jobs WHERE id = $1 AND user_id = $2`, q.After, q.User)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, fault.Field("store.Jobs", "after", "There is no video job %q to go on after.", q.After)
		}
		if err != nil {
			return nil, sqldb.Failure("store.Jobs", err)
		}
	}
	var c sqldb.Conditions
	c.Add("user_id = ? AND accepted", q.User)
	c.Equal("state", string(q.State))
	c.Below("key_id", q.Below)
	c.Sees("key_id", q.User, q.Sees)
	c.Add("(created_at < ? OR created_at = ? AND id < ?)", after, after, q.After)
	page := sqldb.Conditions{Args: c.Args}
	page.Add("?", q.Limit)
	return sqldb.List(ctx, s.db, "store.Jobs", jobs.Scan, `SELECT `+jobShown+` FROM video_jobs`+c.Where()+` ORDER BY created_at DESC, id DESC LIMIT `+page.Text.String(), page.Args...)
}

// SeizeJob is video.Jobs.SeizeJob.
func (s *Jobs) SeizeJob(ctx context.Context, user, id string) (seized *video.Job, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		j, err := jobs.Scan(t.Row(jobSeize+jobShown, id, user))
		seized = &j
		if errors.Is(err, sql.ErrNoRows) {
			return changed("store.SeizeJob", err)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return seized, nil
}

// WrestJob is video.Jobs.WrestJob.
func (s *Jobs) WrestJob(ctx context.Context, id string) (wrested *video.Job, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		j, err := jobs.Scan(t.Row(jobWrest+jobShown, id))
		wrested = &j
		if err != nil {
			return noJob("store.WrestJob", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return wrested, nil
}

// changed is the error of a worker whose fence is older than the job's, or that is too late.
func changed(op string, cause error) error {
	return fault.New(fault.Conflict, op, "The video job has changed meanwhile.").Because(cause)
}

// ClaimJobs is video.Work.ClaimJobs. Mostly nothing is due, and then nothing is locked.
func (s *Jobs) ClaimJobs(ctx context.Context, node string, epoch int64, now time.Time, n int) (claimed []*video.Job, err error) {
	if due, err := sqldb.List(ctx, s.db, "store.ClaimJobs", sqldb.Only[string], jobDue, now.UnixMicro(), n); err != nil || len(due) == 0 {
		return nil, err
	}
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		claimed = nil
		if err := ledgerdb.InEpoch(t, "store.ClaimJobs", node, epoch); err != nil {
			return err
		}
		due, err := sqldb.All(t, sqldb.Only[string], jobDue+t.Engine.ForUpdate, now.UnixMicro(), n)
		if err != nil {
			return err
		}
		for _, id := range due {
			j, err := jobs.Scan(t.Row(jobClaim+jobs.Names, id, node, epoch))
			if err != nil {
				return err
			}
			claimed = append(claimed, &j)
		}
		return nil
	})
	return claimed, err
}

// KeepJob is video.Work.KeepJob.
func (s *Jobs) KeepJob(ctx context.Context, j *video.Job, release bool) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error { return changeJob(t, jobKeep, j, release) })
}

// AdoptJob implements video.Work. It blocks all other writers of jobs, which is acceptable because it is rare.
func (s *Jobs) AdoptJob(ctx context.Context, j *video.Job) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		if err := t.LockTable("video_jobs"); err != nil {
			return err
		}
		var taken bool
		if err := t.Row(jobTaken, j.UpstreamID, j.ID).Scan(&taken); err != nil {
			return err
		}
		if taken {
			return fault.New(fault.Unprocessable, "store.AdoptJob", "Another video job goes by this name at its provider.")
		}
		return changeJob(t, jobKeep, j, true)
	})
}

func changeJob(t *sqldb.Tx, text string, j *video.Job, release bool) error {
	err := t.One(text, changeArgs(j, release)...)
	if errors.Is(err, sql.ErrNoRows) {
		return changed("store.KeepJob", err)
	}
	return err
}

// EndJob is video.Work.EndJob. Of two that end a job at the same time the second finds the row changed. A record that the books can never take is
// set aside, as those of a journal are: the job ends all the same.
func (s *Jobs) EndJob(ctx context.Context, j *video.Job, end video.End) error {
	ledgerdb.Tidy(&end.Item.Call)
	post := func(t *sqldb.Tx, done *ledgerdb.Sealing) (err error) {
		b := ledger.Batch{Node: ledger.EscrowOwner + j.ID, Items: []ledger.Recorded{end.Item}, Now: end.Now}
		*done, err = ledgerdb.ApplyItems(t, &b, b.Items)
		return err
	}
	err := s.endJob(ctx, j, &end, post)
	if cause := s.db.Refused("store.EndJob", err); fault.Is(cause, fault.Unprocessable) {
		err = s.endJob(ctx, j, &end, func(t *sqldb.Tx, _ *ledgerdb.Sealing) error { return setJobAside(t, j, &end, err) })
		if err != nil {
			return s.db.Refused("store.EndJob", err)
		}
		if end.SetAside != nil {
			end.SetAside(cause)
		}
	}
	if err == nil {
		j.Fence++
	}
	return err
}

// endJob writes the end of a job, whose record post disposes of.
func (s *Jobs) endJob(ctx context.Context, j *video.Job, end *video.End, post func(*sqldb.Tx, *ledgerdb.Sealing) error) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		if err := changeJob(t, jobEnd, j, true); err != nil {
			return err
		}
		if _, err := t.Exec(slotFree, j.ID); err != nil {
			return err
		}
		var done ledgerdb.Sealing
		if err := post(t, &done); err != nil {
			return err
		}
		if err := ledgerdb.CloseLeases(t, ledger.EscrowOwner+j.ID); err != nil {
			return err
		}
		if end.Event != nil {
			if err := noticedb.InsertDelivery(t, *end.Event); err != nil {
				return err
			}
		}
		if end.By != nil {
			return errors.Join(done.Seal(t), auditdb.Record(t, *end.By, end.Now))
		}
		return done.Seal(t)
	})
}

func setJobAside(t *sqldb.Tx, j *video.Job, end *video.End, cause error) error {
	var f *fault.Error
	if errors.As(cause, &f) && f.Cause != nil {
		cause = f.Cause
	}
	reason := cause.Error()
	return ledgerdb.PutAside(t, &ledger.Aside{Node: ledger.EscrowOwner + j.ID, Generation: j.Generation, Wallet: j.Wallet, Cost: end.Item.Call.Cost, Reason: reason[:min(len(reason), ledger.MaxReason)],
		Record: end.Item.Record, At: end.Now})
}
