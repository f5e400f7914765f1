package jobdb

import (
	"context"
	"time"

	"weir/internal/audit"
	"weir/internal/batch"
	"weir/internal/console"
	"weir/internal/store/auditdb"
	"weir/internal/store/ledgerdb"
	"weir/internal/store/sqldb"
	"weir/internal/video"
)

var _ console.JobStore = (*Jobs)(nil)

// Conditions of jobs that are stuck. $1 is now, which both must use to have the same parameters; $2 the time before which silence is suspicious.
const (
	videoOpen  = `ended = '' AND accepted`
	videoStuck = `(deadline_at <= $1 OR updated_at <= $2)`
	batchStuck = `(expires_at <= $2 OR due_at <= $2 AND $1 > 0 AND NOT EXISTS (SELECT 1 FROM nodes n WHERE n.id = batches.node AND n.epoch = batches.epoch AND n.live = 1))`
)

// ListWork is console.JobStore.ListWork.
func (s *Jobs) ListWork(ctx context.Context, q console.JobSearch, now time.Time) ([]console.Job, error) {
	open, stuck, from := videoOpen, videoStuck, `SELECT `+jobShown+`, CASE WHEN `+videoStuck+` THEN 1 ELSE 0 END FROM video_jobs WHERE `
	scan := scanVideo
	if q.Kind == console.Batches {
		open, stuck, from, scan = ledgerdb.ActiveBatch, batchStuck, `SELECT `+batches.Names+`, CASE WHEN `+batchStuck+` THEN 1 ELSE 0 END FROM batches WHERE `, scanBatch
	}
	if q.State == console.StuckJobs {
		open += ` AND ` + stuck
	}
	return sqldb.List(ctx, s.db, "store.ListWork", scan, from+open+` AND (created_at > $3 OR created_at = $3 AND id > $4) ORDER BY created_at, id LIMIT $5`,
		now.UnixMicro(), now.Add(-console.SilentFor).UnixMicro(), q.At, q.After, q.Limit)
}

func scanVideo(row sqldb.Scanner) (console.Job, error) {
	var stuck int
	j, err := jobs.ScanWith(row, &stuck)
	state := string(j.State)
	if j.Submitting {
		state = "submitting"
	}
	return console.Job{
		Kind: console.Videos, ID: j.ID, Account: j.User, What: j.Model, State: state, Stuck: stuck != 0, Percent: j.Progress, Tries: j.Failures, Words: j.Doubt,
		Since: j.CreatedAt, Spoke: j.UpdatedAt, By: j.DeadlineAt, NextAt: j.DueAt, Held: j.Hold,
	}, err
}

func scanBatch(row sqldb.Scanner) (console.Job, error) {
	var stuck int
	b, err := batches.ScanWith(row, &stuck)
	return console.Job{
		Kind: console.Batches, ID: b.ID, Account: b.User, What: b.Endpoint, State: string(b.State), Stuck: stuck != 0, Total: b.Total, Done: b.Succeeded, Failed: b.Failed,
		Words: b.Paused, Since: b.CreatedAt, By: b.ExpiresAt, NextAt: b.DueAt,
	}, err
}

// CountWork is console.JobStore.CountWork.
func (s *Jobs) CountWork(ctx context.Context, kind console.JobKind, now time.Time) (console.JobCount, error) {
	from := `SELECT COUNT(*), COUNT(CASE WHEN ` + videoStuck + ` THEN 1 END) FROM video_jobs WHERE ` + videoOpen
	if kind == console.Batches {
		from = `SELECT COUNT(*), COUNT(CASE WHEN ` + batchStuck + ` THEN 1 END) FROM batches WHERE ` + ledgerdb.ActiveBatch
	}
	n := console.JobCount{Kind: kind}
	err := s.db.Find(ctx, func(row sqldb.Scanner) error { return row.Scan(&n.Open, &n.Stuck) }, from, now.UnixMicro(), now.Add(-console.SilentFor).UnixMicro())
	return n, sqldb.Failure("store.CountWork", err)
}

// RetryWork is console.JobStore.RetryWork. A video is taken from a worker that is silent, unless a provider is being asked for it: only its
// worker knows whether the provider was reached.
func (s *Jobs) RetryWork(ctx context.Context, kind console.JobKind, id string, now time.Time, e audit.Event) error {
	text := `UPDATE video_jobs SET due_at = $2, fence = CASE WHEN submitting THEN fence ELSE fence + 1 END, node = CASE WHEN submitting THEN node ELSE '' END,
		epoch = CASE WHEN submitting THEN epoch ELSE 0 END WHERE id = $1 AND ` + videoOpen
	if kind == console.Batches {
		text = `UPDATE batches SET due_at = $2 WHERE id = $1 AND ` + ledgerdb.ActiveBatch
	}
	return auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) error {
		n, err := t.Exec(text, id, now.UnixMicro())
		if err == nil && n == 0 {
			err = console.NoJob()
		}
		return err
	})
}

// EndWork is console.JobStore.EndWork.
func (s *Jobs) EndWork(ctx context.Context, _ console.JobKind, id, reason string, now time.Time, e audit.Event) error {
	return auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) error {
		n, err := t.Exec(batchCancel, id, now.UnixMicro(), batch.EncodeProblems([]batch.Problem{{Code: "cancelled_by_operator", Message: reason}}))
		if err == nil && n == 0 {
			err = console.NoJob()
		}
		return err
	})
}

var _ console.VideoEnder = (*video.Service)(nil)
