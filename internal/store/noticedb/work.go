package noticedb

import (
	"context"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/console"
	"weir/internal/store/auditdb"
	"weir/internal/store/sqldb"
)

var _ console.JobStore = (*Notices)(nil)

// ListWork is console.JobStore.ListWork.
func (s *Notices) ListWork(ctx context.Context, q console.JobSearch, _ time.Time) ([]console.Job, error) {
	if q.Kind == console.Notices {
		return s.waitingMails(ctx, q)
	}
	const columns = `SELECT id, account, url, state, attempts, last_error, created_at, next_at, COALESCE(ended_at, 0) FROM webhook_deliveries WHERE `
	text := columns + `state = 'pending' AND attempts >= $1 AND (created_at > $2 OR created_at = $2 AND id > $3) ORDER BY created_at, id LIMIT $4`
	least := 0
	switch q.State {
	case console.StuckJobs:
		least = console.ManyTries
	case console.FailedJobs:
		text = columns + `state = 'failed' AND ended_at IS NOT NULL AND attempts >= $1 AND ($2 = 0 OR ended_at < $2 OR ended_at = $2 AND id < $3) ORDER BY ended_at DESC, id DESC LIMIT $4`
	}
	return sqldb.List(ctx, s.db, "store.ListWork", func(row sqldb.Scanner) (j console.Job, err error) {
		j.Kind = console.Webhooks
		var since, next, ended int64
		err = row.Scan(&j.ID, &j.Account, &j.What, &j.State, &j.Tries, &j.Words, &since, &next, &ended)
		j.Since, j.Stuck = time.UnixMicro(since).UTC(), ended == 0 && j.Tries >= console.ManyTries
		if ended != 0 {
			j.Spoke = time.UnixMicro(ended).UTC()
		} else {
			j.NextAt = time.UnixMicro(next).UTC()
		}
		return j, err
	}, text, least, q.At, q.After, q.Limit)
}

// mailID is the id of a mail that waits: there is one of an account and a cause.
const mailID = `account || '.' || cause`

func (s *Notices) waitingMails(ctx context.Context, q console.JobSearch) ([]console.Job, error) {
	least := 0
	if q.State == console.StuckJobs {
		least = console.ManyTries
	}
	account, cause, _ := strings.Cut(q.After, ".")
	return sqldb.List(ctx, s.db, "store.ListWork", func(row sqldb.Scanner) (j console.Job, err error) {
		j.Kind, j.State = console.Notices, "waiting"
		var since, next int64
		err = row.Scan(&j.ID, &j.Account, &j.What, &j.Tries, &j.Words, &next, &since)
		j.Since, j.NextAt, j.Stuck = time.UnixMicro(since).UTC(), time.UnixMicro(next).UTC(), j.Tries >= console.ManyTries
		return j, err
	}, `SELECT `+mailID+`, account, cause, attempts, words, next_at, COALESCE((SELECT MIN(f.found_at) FROM notify_facts f WHERE f.account = m.account AND f.cause = m.cause AND f.mail AND f.gone_at = 0), next_at)
		FROM notify_mails m WHERE waiting AND attempts >= $1 AND (account > $2 OR account = $2 AND cause > $3) ORDER BY account, cause LIMIT $4`, least, account, cause, q.Limit)
}

// CountWork is console.JobStore.CountWork.
func (s *Notices) CountWork(ctx context.Context, kind console.JobKind, _ time.Time) (console.JobCount, error) {
	text := `SELECT COUNT(*), COUNT(CASE WHEN attempts >= $1 THEN 1 END) FROM webhook_deliveries WHERE state = 'pending'`
	if kind == console.Notices {
		text = `SELECT COUNT(*), COUNT(CASE WHEN attempts >= $1 THEN 1 END) FROM notify_mails WHERE waiting`
	}
	n := console.JobCount{Kind: kind}
	err := s.db.Find(ctx, func(row sqldb.Scanner) error { return row.Scan(&n.Open, &n.Stuck) }, text, console.ManyTries)
	return n, sqldb.Failure("store.CountWork", err)
}

// RetryWork is console.JobStore.RetryWork. A webhook that was given up begins anew.
func (s *Notices) RetryWork(ctx context.Context, kind console.JobKind, id string, now time.Time, e audit.Event) error {
	text := `UPDATE webhook_deliveries SET next_at = $2, attempts = CASE WHEN state = 'failed' THEN 0 ELSE attempts END, state = 'pending', ended_at = NULL
		WHERE id = $1 AND state <> 'delivered'`
	if kind == console.Notices {
		text = `UPDATE notify_mails SET next_at = $2 WHERE ` + mailID + ` = $1 AND waiting`
	}
	return s.change(ctx, e, now, text, id, now.UnixMicro())
}

// EndWork is console.JobStore.EndWork. An attempt that is under way may still arrive; nothing follows it.
func (s *Notices) EndWork(ctx context.Context, kind console.JobKind, id, reason string, now time.Time, e audit.Event) error {
	if kind == console.Webhooks {
		return s.change(ctx, e, now, `UPDATE webhook_deliveries SET state = 'failed', fence = fence + 1, leased_until = 0, ended_at = $2, last_error = $3 WHERE id = $1 AND state = 'pending'`,
			id, now.UnixMicro(), reason)
	}
	account, cause, _ := strings.Cut(id, ".")
	return auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) error {
		n, err := t.Exec(`UPDATE notify_mails SET waiting = $3, fence = fence + 1, leased_until = 0, attempts = 0 WHERE account = $1 AND cause = $2 AND waiting`, account, cause, false)
		if err != nil {
			return err
		}
		if n == 0 {
			return console.NoJob()
		}
		_, err = t.Exec(`UPDATE notify_facts SET mail = $3 WHERE account = $1 AND cause = $2`, account, cause, false)
		return err
	})
}

func (s *Notices) change(ctx context.Context, e audit.Event, now time.Time, text string, args ...any) error {
	return auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) error {
		n, err := t.Exec(text, args...)
		if err == nil && n == 0 {
			err = console.NoJob()
		}
		return err
	})
}
