// Package jobdb keeps what outlives a call: batches with their files, and video jobs.
package jobdb

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/batch"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/store/auditdb"
	"weir/internal/store/ledgerdb"
	"weir/internal/store/sqldb"
	"weir/internal/video"
)

// Jobs has what outlives a call: batches with their files, and video jobs.
type Jobs struct{ db *sqldb.DB }

// New makes the jobs of a database.
func New(db *sqldb.DB) *Jobs { return &Jobs{db} }

var (
	_ batch.Store = (*Jobs)(nil)
	_ video.Store = (*Jobs)(nil)
)

var batches = sqldb.Map[batch.Batch, struct {
	ID, Wallet, Generation, Endpoint, Metadata, Version, Betas, Tags, Input, Output, Failures, Paused string
	User                                                                                              string `db:"user_id"`
	Key                                                                                               string `db:"key_id"`
	Shape                                                                                             batch.Shape
	State                                                                                             batch.State
	Problems                                                                                          []byte
	Late                                                                                              bool
	Total, Succeeded, Failed, Cancelled, Expired, Prompt, Cached, Completion, Reasoning, Fence        int64
	Cost                                                                                              money.Nano
	CreatedAt, ExpiresAt                                                                              time.Time
	StartedAt, FinalizingAt, CancellingAt, EndedAt, DueAt                                             time.Time `db:",null"`
	KeepFor                                                                                           time.Duration
}]("batches", sqldb.Encoded("problems", func(b *batch.Batch) []byte { return batch.EncodeProblems(b.Problems) }, func(b *batch.Batch, problems []byte) error {
	b.Problems = batch.DecodeProblems(problems)
	return nil
}))

var items = sqldb.Map[batch.Item, struct {
	Line, Tries, Length, Status, Prompt, Cached, Completion, Reasoning int64
	CustomID, Generation, Part, Terms, RequestID                       string
	Stage                                                              batch.Stage
	Offset                                                             int64 `db:"start"`
	Outcome                                                            batch.Outcome
	Body                                                               []byte
	Cost                                                               money.Nano
}]("batch_items")

var parts = sqldb.Map[batch.Part, struct {
	ID, Endpoint, Path, Upstream string
	State                        batch.PartState
	Lines, Clears                int64
	CreatedAt                    time.Time
	ClearAt                      time.Time `db:",null"`
}]("batch_parts")

var files = sqldb.Map[batch.File, struct {
	ID, Purpose, Name    string
	User                 string `db:"user_id"`
	Key                  string `db:"key_id"`
	Bytes                int64
	Hidden               bool
	CreatedAt, ExpiresAt time.Time
}]("files")

var (
	// What a worker keeps of a batch, and what it writes at its end.
	batchKept  = []string{"state", "output", "failures", "problems", "late", "paused", "total", "started_at", "finalizing_at", "cancelling_at", "due_at"}
	batchEnded = []string{"state", "output", "failures", "problems", "late", "total", "cancelled", "expired", "ended_at"}

	itemColumns = append([]string{"batch"}, strings.Split(items.Names, ", ")...)
	itemStart   = sqldb.InsertRow("batch_items", itemColumns, `ON CONFLICT (batch, line) DO UPDATE SET custom_id = EXCLUDED.custom_id, stage = EXCLUDED.stage,
		generation = EXCLUDED.generation, part = EXCLUDED.part, terms = EXCLUDED.terms, tries = EXCLUDED.tries WHERE batch_items.stage <> 'done'`)
	itemEnd   = sqldb.InsertRow("batch_items", itemColumns, `ON CONFLICT (batch, line) DO UPDATE SET `+items.Excluded("line", "start", "length")+` WHERE batch_items.stage <> 'done'`)
	batchKeep = `UPDATE batches SET ` + sqldb.Equal(batchKept, ", ", 4) + `, node = CASE WHEN $15 THEN '' ELSE node END, epoch = CASE WHEN $15 THEN 0 ELSE epoch END
		WHERE id = $1 AND fence = $2 AND state = $3`
	batchEnd = `UPDATE batches SET ` + sqldb.Equal(batchEnded, ", ", 4) + `, paused = '', due_at = NULL, node = '', epoch = 0, fence = fence + 1 WHERE id = $1 AND fence = $2 AND state = $3`
)

const (
	fileUnread = `NOT EXISTS (SELECT 1 FROM batches b WHERE b.input = files.id AND b.` + ledgerdb.ActiveBatch + `)`

	batchDue = `SELECT id FROM batches j WHERE due_at <= $1 AND (node IN ('', $3) OR NOT EXISTS (SELECT 1 FROM nodes n WHERE n.id = j.node AND n.epoch = j.epoch AND n.live = 1))
		ORDER BY due_at LIMIT $2`
	batchClaim  = `UPDATE batches SET fence = fence + 1, node = $2, epoch = $3 WHERE id = $1 RETURNING `
	batchCancel = `UPDATE batches SET state = 'cancelling', cancelling_at = $2, problems = $3, due_at = CASE WHEN due_at > $2 THEN $2 ELSE due_at END
		WHERE id = $1 AND state IN ('validating', 'in_progress')`
	batchCount = `UPDATE batches SET succeeded = succeeded + $3, failed = failed + $4, prompt = prompt + $5, cached = cached + $6, completion = completion + $7,
		reasoning = reasoning + $8, cost = cost + $9 WHERE id = $1 AND fence = $2`

	itemSweep = `DELETE FROM batch_items WHERE (batch, line) IN (SELECT i.batch, i.line FROM batch_items i JOIN batches b ON b.id = i.batch WHERE NOT (b.` + ledgerdb.ActiveBatch + `) LIMIT $1)`

	batchSweep = `DELETE FROM batches WHERE id IN (SELECT id FROM batches b WHERE ended_at < $1 AND NOT EXISTS (SELECT 1 FROM batch_items i WHERE i.batch = b.id) ORDER BY ended_at LIMIT $2)`
)

func addFile(t *sqldb.Tx, f *batch.File) error {
	_, err := files.Put(t, f, "ON CONFLICT (id) DO NOTHING", "gone", false)
	return err
}

// AddFile is batch.FileStore.AddFile.
func (s *Jobs) AddFile(ctx context.Context, f *batch.File, most batch.FileBounds) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		if err := t.LockUser(f.User); err != nil {
			return err
		}
		var have, bytes int64
		err := t.Row(`SELECT COUNT(*), CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM files WHERE user_id = $1 AND NOT gone AND expires_at > $2`, f.User, f.CreatedAt.UnixMicro()).Scan(&have, &bytes)
		if err != nil {
			return err
		}
		if have >= most.Files || bytes+f.Bytes > most.Bytes {
			return batch.NoRoom(most)
		}
		return addFile(t, f)
	})
}

// File is batch.FileStore.File.
func (s *Jobs) File(ctx context.Context, user, id string, now time.Time) (found *batch.File, err error) {
	f, err := files.Find(ctx, s.db, `WHERE id = $1 AND user_id = $2 AND NOT gone AND expires_at > $3`, id, user, now.UnixMicro())
	if err != nil {
		return nil, sqldb.Failure("store.File", err)
	}
	return &f, nil
}

// Files is batch.FileStore.Files.
func (s *Jobs) Files(ctx context.Context, q batch.FileQuery) ([]batch.File, error) {
	at, order, beyond := int64(1<<63-1), "DESC", "<"
	if q.Ascending {
		at, order, beyond = 0, "ASC", ">"
	}
	if q.After != "" {
		err := s.db.Read(ctx, &at, `SELECT created_at FROM files WHERE id = $1 AND user_id = $2`, q.After, q.User)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, fault.Field("store.Files", "after", "There is no file %.64q: after must be the id of a file.", q.After)
		}
		if err != nil {
			return nil, sqldb.Failure("store.Files", err)
		}
	}
	var c sqldb.Conditions
	c.Add("user_id = ? AND NOT hidden AND NOT gone AND expires_at > ?", q.User, q.Now.UnixMicro())
	c.Equal("purpose", q.Purpose)
	c.Sees("key_id", q.User, q.Sees)
	c.Add("(created_at "+beyond+" ? OR created_at = ? AND id "+beyond+" ?)", at, at, q.After)
	page := sqldb.Conditions{Args: c.Args}
	page.Add("?", q.Limit)
	return files.List(ctx, s.db, "store.Files", c.Where()+` ORDER BY created_at `+order+`, id `+order+` LIMIT `+page.Text.String(), page.Args...)
}

// MarkFile is batch.FileStore.MarkFile.
func (s *Jobs) MarkFile(ctx context.Context, user, id string) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		if err := t.LockUser(user); err != nil { // whose batches are added under the same lock
			return err
		}
		var read bool
		if err := t.Row(`SELECT EXISTS (SELECT 1 FROM batches WHERE input = $1 AND `+ledgerdb.ActiveBatch+`)`, id).Scan(&read); err != nil {
			return err
		}
		if read {
			return fault.New(fault.Conflict, "store.MarkFile", "A batch reads this file. Cancel the batch first, or wait for its end.")
		}
		return t.One(`UPDATE files SET gone = TRUE WHERE id = $1 AND user_id = $2 AND NOT gone`, id, user)
	})
}

// GoneFiles is batch.FileStore.GoneFiles.
func (s *Jobs) GoneFiles(ctx context.Context, now time.Time, n int) (ids []string, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		if _, err := t.Exec(`UPDATE files SET gone = TRUE WHERE NOT gone AND expires_at <= $1 AND `+fileUnread, now.UnixMicro()); err != nil {
			return err
		}
		ids, err = sqldb.All(t, sqldb.Only[string], `SELECT id FROM files WHERE gone ORDER BY id LIMIT $1`, n)
		return err
	})
	return ids, err
}

// DropFile is batch.FileStore.DropFile.
func (s *Jobs) DropFile(ctx context.Context, id string) error {
	_, err := s.db.Exec(ctx, `DELETE FROM files WHERE id = $1 AND gone`, id)
	return err
}

// AddBatch is batch.BatchStore.AddBatch.
func (s *Jobs) AddBatch(ctx context.Context, b *batch.Batch, input *batch.File, limit int64) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		if err := t.LockUser(b.User); err != nil {
			return err
		}
		var active int64
		if err := t.Row(`SELECT COUNT(*) FROM batches WHERE user_id = $1 AND `+ledgerdb.ActiveBatch, b.User).Scan(&active); err != nil {
			return err
		}
		if active >= limit {
			return batch.TooMany(limit)
		}
		if input != nil {
			if err := addFile(t, input); err != nil {
				return err
			}
		}
		var there bool
		if err := t.Row(`SELECT EXISTS (SELECT 1 FROM files WHERE id = $1 AND user_id = $2 AND NOT gone)`, b.Input, b.User).Scan(&there); err != nil {
			return err
		}
		if !there {
			return fault.New(fault.NotFound, "store.AddBatch", "The file with the requests was deleted.")
		}
		return batches.Insert(t, b, "node", "", "epoch", int64(0))
	})
}

func (s *Jobs) oneBatch(ctx context.Context, op, where string, args ...any) (found *batch.Batch, err error) {
	b, err := batches.Find(ctx, s.db, `WHERE `+where, args...)
	if err != nil {
		return nil, sqldb.Failure(op, err)
	}
	return &b, nil
}

// Batch is batch.BatchStore.Batch.
func (s *Jobs) Batch(ctx context.Context, user, id string, shape batch.Shape) (*batch.Batch, error) {
	return s.oneBatch(ctx, "store.Batch", `id = $1 AND user_id = $2 AND shape = $3`, id, user, string(shape))
}

// Batches is batch.BatchStore.Batches.
func (s *Jobs) Batches(ctx context.Context, q batch.Query) ([]batch.Batch, error) {
	at, id, order, beyond := int64(1<<63-1), q.After, "DESC", "<"
	if q.Before != "" {
		at, id, order, beyond = 0, q.Before, "ASC", ">"
	}
	if id != "" {
		err := s.db.Read(ctx, &at, `SELECT created_at FROM batches WHERE id = $1 AND ($2 = '' OR user_id = $2)`, id, q.User)
		if errors.Is(err, sql.ErrNoRows) {
			name := "after"
			if q.Shape == batch.Messages {
				name = "after_id"
			}
			if q.Before != "" {
				name = "before_id"
			}
			return nil, fault.Field("store.Batches", name, "There is no batch %.64q to go on from.", id)
		}
		if err != nil {
			return nil, sqldb.Failure("store.Batches", err)
		}
	}
	var c sqldb.Conditions
	c.Equal("user_id", q.User) // only if asked for, or SQLite would read the batches of all users
	c.Equal("shape", string(q.Shape))
	c.Below("key_id", q.Below)
	c.Sees("key_id", q.User, q.Sees)
	if q.Active {
		c.Add(ledgerdb.ActiveBatch)
	}
	c.Add("(created_at "+beyond+" ? OR created_at = ? AND id "+beyond+" ?)", at, at, id)
	page := sqldb.Conditions{Args: c.Args}
	page.Add("?", q.Limit)
	all, err := batches.List(ctx, s.db, "store.Batches", c.Where()+` ORDER BY created_at `+order+`, id `+order+` LIMIT `+page.Text.String(), page.Args...)
	if q.Before != "" {
		slices.Reverse(all)
	}
	return all, err
}

// CancelBatch is batch.BatchStore.CancelBatch.
func (s *Jobs) CancelBatch(ctx context.Context, id string, now time.Time, why []batch.Problem, by *audit.Event) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		n, err := t.Exec(batchCancel, id, now.UnixMicro(), batch.EncodeProblems(why))
		if err != nil || n == 0 || by == nil {
			return err
		}
		return auditdb.Record(t, *by, now)
	})
}

// CountBatches is batch.BatchStore.CountBatches.
func (s *Jobs) CountBatches(ctx context.Context) (c batch.Counts, err error) {
	var oldest int64
	err = s.db.Find(ctx, func(row sqldb.Scanner) error { return row.Scan(&c.Queued, &c.Running, &c.Paused, &oldest) },
		`SELECT COUNT(*) - COUNT(NULLIF(node, '')), COUNT(NULLIF(node, '')), COUNT(CASE WHEN node <> '' THEN NULLIF(paused, '') END), COALESCE(MIN(created_at), 0) FROM batches WHERE `+ledgerdb.ActiveBatch)
	if oldest > 0 {
		c.Oldest = time.UnixMicro(oldest).UTC()
	}
	return c, sqldb.Failure("store.CountBatches", err)
}

// DeleteBatch is batch.BatchStore.DeleteBatch. Its lines are deleted with it.
func (s *Jobs) DeleteBatch(ctx context.Context, user, id string, shape batch.Shape) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		b, err := batches.LockedRow(t, `WHERE id = $1 AND user_id = $2 AND shape = $3`, id, user, string(shape))
		if err != nil {
			return err
		}
		if !b.State.Final() {
			return fault.New(fault.Conflict, "store.DeleteBatch", "The batch has not ended. Cancel it first, and wait for its end.")
		}
		for _, file := range []string{b.Output, b.Failures} {
			if _, err := t.Exec(`UPDATE files SET gone = TRUE WHERE id = $1 AND user_id = $2`, file, user); err != nil {
				return err
			}
		}
		for _, left := range []string{"batch_items WHERE batch = $1", "batch_parts WHERE batch = $1 AND clear_at IS NULL"} {
			if _, err := t.Exec(`DELETE FROM `+left, id); err != nil {
				return err
			}
		}
		return t.One(`DELETE FROM batches WHERE id = $1`, id)
	})
}

// HasBatch is batch.BatchStore.HasBatch. It is rarely used: there is no index for it.
func (s *Jobs) HasBatch(ctx context.Context, wallet, generation string) (found bool, err error) {
	err = s.db.Read(ctx, &found, `SELECT EXISTS (SELECT 1 FROM batches WHERE wallet = $1 AND generation = $2)`, wallet, generation)
	return found, sqldb.Failure("store.HasBatch", err)
}

// ClaimBatches is batch.WorkStore.ClaimBatches. Mostly nothing is due, and then nothing is locked.
func (s *Jobs) ClaimBatches(ctx context.Context, node string, epoch int64, now time.Time, n int, held []string) (claimed []*batch.Batch, err error) {
	args := []any{now.UnixMicro(), n + len(held), sqldb.Text(node)}
	free := func(due []string) []string {
		due = slices.DeleteFunc(due, func(id string) bool { return slices.Contains(held, id) })
		return due[:min(len(due), n)]
	}
	if due, err := sqldb.List(ctx, s.db, "store.ClaimBatches", sqldb.Only[string], batchDue, args...); err != nil || len(free(due)) == 0 {
		return nil, err
	}
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		claimed = nil
		if err := ledgerdb.InEpoch(t, "store.ClaimBatches", node, epoch); err != nil {
			return err
		}
		due, err := sqldb.All(t, sqldb.Only[string], batchDue+t.Engine.ForUpdate, args...)
		if err != nil {
			return err
		}
		for _, id := range free(due) {
			b, err := batches.Scan(t.Row(batchClaim+batches.Names, id, node, epoch))
			if err != nil {
				return err
			}
			claimed = append(claimed, &b)
		}
		return nil
	})
	return claimed, err
}

// OwnBatch is batch.WorkStore.OwnBatch.
func (s *Jobs) OwnBatch(ctx context.Context, id string, fence int64) (*batch.Batch, error) {
	b, err := s.oneBatch(ctx, "store.OwnBatch", `id = $1 AND fence = $2`, id, fence)
	if fault.Is(err, fault.NotFound) {
		return nil, batchChanged("store.OwnBatch", err)
	}
	return b, err
}

// batchChanged is the error of a worker whose fence is older than the batch's, or that is too late.
func batchChanged(op string, cause error) error {
	return fault.New(fault.Conflict, op, "The batch has changed meanwhile.").Because(cause)
}

func changeBatch(t *sqldb.Tx, op, text string, args ...any) error {
	err := t.One(text, args...)
	if errors.Is(err, sql.ErrNoRows) {
		return batchChanged(op, err)
	}
	return err
}

// KeepBatch is batch.WorkStore.KeepBatch.
func (s *Jobs) KeepBatch(ctx context.Context, b *batch.Batch, from batch.State, release bool) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		args := append([]any{b.ID, b.Fence, string(from)}, batches.Args(b, batchKept...)...)
		return changeBatch(t, "store.KeepBatch", batchKeep, append(args, release)...)
	})
}

func itemArgs(b *batch.Batch, it *batch.Item) []any { return append([]any{b.ID}, items.Args(it)...) }

// StartItem is batch.WorkStore.StartItem. A power failure may undo it: the name of the call follows from the line, so that nothing is charged
// twice all the same.
func (s *Jobs) StartItem(ctx context.Context, b *batch.Batch, it *batch.Item) error {
	begun := *it
	begun.Stage, begun.Outcome, begun.Body = batch.Running, batch.Open, nil
	return s.db.WriteLazily(ctx, func(t *sqldb.Tx) error {
		var id string
		err := t.Row(`SELECT id FROM batches WHERE id = $1 AND fence = $2 AND (state = 'in_progress' OR $3 <> '' AND state IN ('finalizing', 'cancelling'))`+t.Engine.ForKeyShare, b.ID, b.Fence, it.Part).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return batchChanged("store.StartItem", err)
		}
		if err == nil {
			_, err = t.Exec(itemStart, itemArgs(b, &begun)...)
		}
		return err
	})
}

// AddPart is batch.WorkStore.AddPart. It is on the disk before the provider is asked.
func (s *Jobs) AddPart(ctx context.Context, b *batch.Batch, p *batch.Part, items []*batch.Item, terms map[string][]byte) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		var id string
		err := t.Row(`SELECT id FROM batches WHERE id = $1 AND fence = $2 AND state = 'in_progress'`+t.Engine.ForKeyShare, b.ID, b.Fence).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return batchChanged("store.AddPart", err)
		}
		if err != nil {
			return err
		}
		if err := parts.Insert(t, p, "batch", b.ID); err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(terms)) {
			if _, err := t.Exec(`INSERT INTO batch_terms (batch, id, content) VALUES ($1, $2, $3) ON CONFLICT (batch, id) DO NOTHING`, b.ID, name, terms[name]); err != nil {
				return err
			}
		}
		args := make([]any, 0, len(items)*len(itemColumns))
		for _, it := range items {
			sent := *it
			sent.Stage, sent.Outcome, sent.Body, sent.Part = batch.Waiting, batch.Open, nil, p.ID
			args = append(args, itemArgs(b, &sent)...)
		}
		_, err = t.ExecEach(itemStart, len(itemColumns), args)
		return err
	})
}

// KeepPart is batch.WorkStore.KeepPart.
func (s *Jobs) KeepPart(ctx context.Context, b *batch.Batch, p *batch.Part) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		var id string
		err := t.Row(`SELECT id FROM batches WHERE id = $1 AND fence = $2`+t.Engine.ForKeyShare, b.ID, b.Fence).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return batchChanged("store.KeepPart", err)
		}
		if err != nil {
			return err
		}
		return t.One(`UPDATE batch_parts SET state = $3, upstream = $4, clear_at = $5 WHERE id = $1 AND batch = $2`, p.ID, b.ID, string(p.State), p.Upstream, sqldb.Micros(p.ClearAt))
	})
}

// Parts is batch.WorkStore.Parts.
func (s *Jobs) Parts(ctx context.Context, id string) ([]batch.Part, error) {
	return parts.List(ctx, s.db, "store.Parts", `WHERE batch = $1 ORDER BY created_at, id`, id)
}

// Terms is batch.WorkStore.Terms.
func (s *Jobs) Terms(ctx context.Context, id, name string) (encoded []byte, err error) {
	err = s.db.Read(ctx, &encoded, `SELECT content FROM batch_terms WHERE batch = $1 AND id = $2`, id, name)
	return encoded, sqldb.Failure("store.Terms", err)
}

// LeftParts is batch.WorkStore.LeftParts. Mostly no part is left, and then nothing is locked.
func (s *Jobs) LeftParts(ctx context.Context, now time.Time, n int, pause func(tries int64) time.Duration) (claimed []batch.Part, err error) {
	due, err := parts.List(ctx, s.db, "store.LeftParts", `WHERE clear_at <= $1 ORDER BY clear_at, id LIMIT $2`, now.UnixMicro(), n)
	if err != nil || len(due) == 0 {
		return nil, err
	}
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		claimed = claimed[:0]
		slices.SortFunc(due, func(a, b batch.Part) int { return strings.Compare(a.ID, b.ID) }) // all nodes lock in this order
		for _, p := range due {
			next := now.Add(pause(p.Clears))
			changed, err := t.Exec(`UPDATE batch_parts SET clears = clears + 1, clear_at = $3 WHERE id = $1 AND clear_at = $2`, p.ID, p.ClearAt.UnixMicro(), next.UnixMicro())
			if err != nil {
				return err
			}
			if changed == 1 {
				p.Clears, p.ClearAt = p.Clears+1, next
				claimed = append(claimed, p)
			}
		}
		return nil
	})
	return claimed, err
}

// LeavePart is batch.WorkStore.LeavePart.
func (s *Jobs) LeavePart(ctx context.Context, p *batch.Part, now time.Time) error {
	_, err := s.db.Exec(ctx, `UPDATE batch_parts SET upstream = $2, clear_at = $3, clears = 0 WHERE id = $1 AND state = 'ended'`, p.ID, p.Upstream, now.UnixMicro())
	return err
}

// ClearedPart is batch.WorkStore.ClearedPart. The row of a part whose batch is gone is not needed any more.
func (s *Jobs) ClearedPart(ctx context.Context, id string) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		_, err := t.Exec(`UPDATE batch_parts SET clear_at = NULL WHERE id = $1`, id)
		if err == nil {
			_, err = t.Exec(`DELETE FROM batch_parts WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM batches b WHERE b.id = batch_parts.batch)`, id)
		}
		return err
	})
}

// EndItem is batch.WorkStore.EndItem. Of a power failure the same is true as of StartItem.
func (s *Jobs) EndItem(ctx context.Context, b *batch.Batch, it *batch.Item) error {
	return s.db.WriteLazily(ctx, func(t *sqldb.Tx) error {
		var id string
		err := t.LockedRow(`SELECT id FROM batches WHERE id = $1 AND fence = $2`, b.ID, b.Fence).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return batchChanged("store.EndItem", err)
		}
		if err != nil {
			return err
		}
		n, err := t.Exec(itemEnd, itemArgs(b, it)...)
		if err != nil || n == 0 || it.Stage != batch.Done {
			return err
		}
		var succeeded, failed int64
		switch it.Outcome {
		case batch.Succeeded:
			succeeded = 1
		case batch.Errored:
			failed = 1
		}
		return t.One(batchCount, b.ID, b.Fence, succeeded, failed, it.Prompt, it.Cached, it.Completion, it.Reasoning, int64(it.Cost))
	})
}

// Items is batch.WorkStore.Items.
func (s *Jobs) Items(ctx context.Context, id string, after int64, n int, bodies bool, outcomes ...batch.Outcome) ([]batch.Item, error) {
	shown := items.Names
	if !bodies {
		shown = strings.Replace(shown, "body", "substr(body, 1, 0)", 1)
	}
	args := []any{id, after, n}
	where := ""
	for i, o := range outcomes {
		args = append(args, string(o))
		mark := "$" + strconv.Itoa(len(args))
		if i == 0 {
			where = " AND outcome IN (" + mark
		} else {
			where += ", " + mark
		}
	}
	if where != "" {
		where += ")"
	}
	return sqldb.List(ctx, s.db, "store.Items", items.Scan, `SELECT `+shown+` FROM batch_items WHERE batch = $1 AND line > $2`+where+` ORDER BY line LIMIT $3`, args...)
}

// EndBatch is batch.WorkStore.EndBatch.
func (s *Jobs) EndBatch(ctx context.Context, b *batch.Batch, from batch.State, files []batch.File) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		err := changeBatch(t, "store.EndBatch", batchEnd, append([]any{b.ID, b.Fence, string(from)}, batches.Args(b, batchEnded...)...)...)
		if err != nil {
			return err
		}
		for i := range files {
			if err := addFile(t, &files[i]); err != nil {
				return err
			}
		}
		if _, err := t.Exec(`DELETE FROM batch_terms WHERE batch = $1`, b.ID); err != nil {
			return err
		}
		_, err = t.Exec(`UPDATE files SET gone = TRUE WHERE id = $1 AND hidden`, b.Input)
		return err
	})
}

// SweepItems is batch.WorkStore.SweepItems.
func (s *Jobs) SweepItems(ctx context.Context, n int) (gone int, err error) {
	changed, err := s.db.Exec(ctx, itemSweep, n)
	gone = int(changed)
	if err == nil && gone > 0 {
		err = s.db.Scrub(ctx)
	}
	return gone, err
}

// SweepBatches is batch.WorkStore.SweepBatches.
func (s *Jobs) SweepBatches(ctx context.Context, before time.Time, n int) (gone int, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		changed, err := t.Exec(batchSweep, before.UnixMicro(), n)
		if gone = int(changed); gone == 0 || err != nil {
			return err
		}
		_, err = t.Exec(`DELETE FROM batch_parts WHERE clear_at IS NULL AND NOT EXISTS (SELECT 1 FROM batches b WHERE b.id = batch_parts.batch)`)
		return err
	})
	return gone, err
}
