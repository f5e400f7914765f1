package pagedb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/history"
	"weir/internal/store/auditdb"
	"weir/internal/store/sqldb"
)

var responses = sqldb.Map[history.Response, struct {
	Account, ID, Parent           string
	Key                           string `db:"key_id"`
	Status                        history.Status
	Background                    bool
	CreatedAt, ExpiresAt, StaleAt time.Time
	Object, Input, Output         []byte
}]("responses")

func noResponse(op string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return history.NoResponse(op).Because(err)
	}
	return sqldb.Failure(op, err)
}

// Response is history.Reader.Response.
func (s *Pages) Response(ctx context.Context, account, id string, now time.Time) (found *history.Response, err error) {
	r, err := responses.Find(ctx, s.db, `WHERE account = $1 AND id = $2 AND expires_at > $3`, account, id, now.UnixMicro())
	if err != nil {
		return nil, noResponse("store.Response", err)
	}
	return &r, nil
}

// HasResponse is history.Reader.HasResponse.
func (s *Pages) HasResponse(ctx context.Context, account, id string, now time.Time) (has bool, err error) {
	err = s.db.Read(ctx, &has, `SELECT EXISTS (SELECT 1 FROM responses WHERE account = $1 AND id = $2 AND expires_at > $3)`, account, id, now.UnixMicro())
	return has, sqldb.Failure("store.HasResponse", err)
}

// ResponseOfItem is history.Reader.ResponseOfItem.
func (s *Pages) ResponseOfItem(ctx context.Context, account, item string, now time.Time) (found *history.Response, err error) {
	var r history.Response
	err = s.db.Find(ctx, func(row sqldb.Scanner) (err error) { r, err = responses.Scan(row); return err }, `SELECT `+responses.Of("r")+` FROM response_items i
		JOIN responses r ON r.account = i.account AND r.id = i.response WHERE i.account = $1 AND i.id = $2 AND r.expires_at > $3`, account, item, now.UnixMicro())
	if err != nil {
		return nil, noResponse("store.ResponseOfItem", err)
	}
	return &r, nil
}

// chain finds a response and those before it. A parent is older than its child, so there is no circle.
const chain = `WITH RECURSIVE chain (id, parent, size, depth) AS (
		SELECT id, parent, size, CAST(1 AS BIGINT) FROM responses WHERE account = $1 AND id = $2 AND expires_at > $3
		UNION ALL
		SELECT p.id, p.parent, p.size, c.depth + 1 FROM chain c JOIN responses p ON p.account = $1 AND p.id = c.parent
			WHERE p.expires_at > $3 AND c.depth < $4)
	`

// ResponseChain is history.Reader.ResponseChain.
func (s *Pages) ResponseChain(ctx context.Context, account, id string, now time.Time, n int, maxBytes int64) (all []history.Response, err error) {
	args := []any{sqldb.Text(account), sqldb.Text(id), now.UnixMicro(), n}
	err = s.db.Snapshot(ctx, func(ctx context.Context, q *sql.Tx) error {
		var bytes int64
		if err := q.QueryRowContext(ctx, chain+`SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM chain`, args...).Scan(&bytes); err != nil {
			return err
		}
		if bytes > maxBytes {
			return fault.New(fault.ContextLength, "store.ResponseChain", "The conversation is too long to be continued.")
		}
		rows, err := q.QueryContext(ctx, chain+`SELECT `+responses.Of("r")+` FROM chain c JOIN responses r ON r.account = $1 AND r.id = c.id ORDER BY c.depth DESC`, args...)
		all, err = sqldb.Collect(rows, err, responses.Scan)
		return err
	})
	return all, err
}

var (
	responseRows = sqldb.Table{
		Name: "responses", Columns: responses.Written("size"),
		Merge: `ON CONFLICT (account, id) DO UPDATE SET status = excluded.status, stale_at = excluded.stale_at, size = excluded.size, object = excluded.object, output = excluded.output
			WHERE responses.status IN ('queued', 'in_progress')`,
	}
	itemRows = sqldb.Table{Name: "response_items", Columns: []string{"account", "id", "response"}, Merge: `ON CONFLICT (account, id) DO NOTHING`}
)

// KeepResponses is history.Writer.KeepResponses. A power cut may take the newest with it: their clients can ask once more, and nothing else
// depends on them.
func (s *Pages) KeepResponses(ctx context.Context, list []*history.Response) error {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b *history.Response) int { // nodes lock rows in one order, and a page is changed once
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.ID, b.ID))
	})
	err := s.db.WriteLazily(ctx, func(t *sqldb.Tx) error {
		list, err := ofPresent(t, list)
		if err != nil || len(list) == 0 {
			return err
		}
		var items [][3]string
		for _, r := range list {
			for _, item := range r.Items {
				items = append(items, [3]string{r.Account, sqldb.Text(item), r.ID})
			}
		}
		slices.SortFunc(items, func(a, b [3]string) int { return slices.Compare(a[:], b[:]) })
		err = t.Insert(&responseRows, len(list), func(args []any, i int) []any {
			return append(append(args, responses.Args(list[i])...), int64(list[i].Size()))
		})
		if err != nil {
			return err
		}
		return t.Insert(&itemRows, len(items), func(args []any, i int) []any { return append(args, items[i][0], items[i][1], items[i][2]) })
	})
	return s.db.Refused("store.KeepResponses", err)
}

// ofPresent leaves out the responses of accounts that were deleted, in a list by account: a call may end while its account is being deleted, and its
// texts must not come back. The accounts stay as they are until the transaction ends.
func ofPresent(t *sqldb.Tx, list []*history.Response) (present []*history.Response, err error) {
	account, gone := "", false
	for i, r := range list {
		if i == 0 || r.Account != account {
			account, gone = r.Account, false
			err := t.Row(`SELECT disabled AND name = 'deleted' FROM users WHERE id = $1`+t.Engine.ForKeyShare, account).Scan(&gone)
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return nil, err
			}
		}
		if !gone {
			present = append(present, r)
		}
	}
	return present, nil
}

// MarkResponse is history.Writer.MarkResponse.
func (s *Pages) MarkResponse(ctx context.Context, account, id string, status history.Status, staleAt time.Time) (done bool, err error) {
	changed, err := s.db.ExecLazily(ctx, `UPDATE responses SET status = $1, stale_at = $2 WHERE account = $3 AND id = $4 AND status IN ('queued', 'in_progress')`,
		string(status), staleAt.UnixMicro(), account, id)
	return changed == 1, err
}

// CarryResponses is history.Writer.CarryResponses.
func (s *Pages) CarryResponses(ctx context.Context, list []*history.Response, staleAt time.Time) (there []bool, err error) {
	sorted := slices.Clone(list) // two nodes that both carry one would wait for each other else
	slices.SortFunc(sorted, func(a, b *history.Response) int { return strings.Compare(a.ID, b.ID) })
	args := make([]any, 0, 3*len(list))
	for _, r := range sorted {
		args = append(args, staleAt.UnixMicro(), r.Account, r.ID)
	}
	found := make(map[*history.Response]bool, len(list))
	err = s.db.WriteLazily(ctx, func(t *sqldb.Tx) error {
		changed, err := t.ExecEach(`UPDATE responses SET status = 'in_progress', stale_at = $1 WHERE account = $2 AND id = $3 AND status IN ('queued', 'in_progress')`, 3, args)
		for i, n := range changed {
			found[sorted[i]] = n == 1
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	there = make([]bool, len(list))
	for i, r := range list {
		there[i] = found[r]
	}
	return there, nil
}

// DeleteResponse is history.Writer.DeleteResponse.
func (s *Pages) DeleteResponse(ctx context.Context, account, id string) (done bool, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		n, err := forget(t, `account = $1 AND id = $2`, account, id)
		done = n == 1
		return err
	})
	return done && err == nil, err
}

// CountResponses is history.Reader.CountResponses.
func (s *Pages) CountResponses(ctx context.Context, account string, now time.Time) (stock history.Stock, err error) {
	err = s.db.Find(ctx, func(row sqldb.Scanner) error {
		var oldest sql.NullInt64
		err := row.Scan(&stock.Responses, &stock.Bytes, &oldest)
		if oldest.Valid {
			stock.Oldest = time.UnixMicro(oldest.Int64).UTC()
		}
		return err
	}, `SELECT COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT), MIN(created_at) FROM responses WHERE account = $1 AND expires_at > $2`, account, now.UnixMicro())
	return stock, err
}

// DeleteResponses is history.Writer.DeleteResponses.
func (s *Pages) DeleteResponses(ctx context.Context, account string, n int, now time.Time, e *audit.Event) (gone int, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		changed, err := forget(t, `(account, id) IN (SELECT account, id FROM responses WHERE account = $1 AND status NOT IN ('queued', 'in_progress') ORDER BY created_at LIMIT $2)`, account, n)
		gone = int(changed)
		if err != nil || e == nil {
			return err
		}
		// What is kept for repeated requests is content as well. That they were made stays, so that none is charged twice.
		if _, err := t.Exec(`UPDATE idempotency SET status = 0, type = '', size = 0, body = NULL WHERE user_id = $1 AND finished AND size > 0`, account); err != nil {
			return err
		}
		return auditdb.Record(t, *e, now)
	})
	return gone, err
}

// ShortenResponses is history.Writer.ShortenResponses.
func (s *Pages) ShortenResponses(ctx context.Context, account string, keepFor time.Duration) error {
	_, err := s.db.Exec(ctx, `UPDATE responses SET expires_at = created_at + $1 WHERE account = $2 AND expires_at > created_at + $1`, keepFor.Microseconds(), account)
	return err
}

// forget deletes responses with their items.
func forget(t *sqldb.Tx, which string, args ...any) (int64, error) {
	if _, err := t.Exec(`DELETE FROM response_items WHERE (account, response) IN (SELECT account, id FROM responses WHERE `+which+`)`, args...); err != nil {
		return 0, err
	}
	return t.Exec(`DELETE FROM responses WHERE `+which, args...)
}

// excess is an account with more than it may have.
type excess struct {
	account      string
	count, bytes int64
}

// tooMany is how many of its responses must go until a tenth of both bounds is free, as far as they are alike in size.
func (e *excess) tooMany(b history.Bounds) int64 {
	left := min(float64(b.Responses)/float64(max(e.count, 1)), float64(b.Bytes)/float64(max(e.bytes, 1)), 1) * 0.9
	return int64(float64(e.count)*(1-left)) + 1
}

// SweepResponses is history.Writer.SweepResponses.
func (s *Pages) SweepResponses(ctx context.Context, now time.Time, b history.Bounds, n int) (gone int, err error) {
	over, err := sqldb.List(ctx, s.db, "store.SweepResponses", sqldb.Columns(func(e *excess) []any { return []any{&e.account, &e.count, &e.bytes} }),
		`SELECT account, COUNT(*), CAST(SUM(size) AS BIGINT) FROM responses GROUP BY account HAVING COUNT(*) > $1 OR SUM(size) > $2 LIMIT 100`, b.Responses, b.Bytes)
	if err != nil {
		return 0, err
	}
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		changed, err := forget(t, `(account, id) IN (SELECT account, id FROM responses WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)`, now.UnixMicro(), n)
		gone = int(changed)
		for _, e := range over {
			if err == nil {
				changed, err = forget(t, `(account, id) IN (SELECT account, id FROM responses WHERE account = $1 ORDER BY created_at LIMIT $2)`, e.account, e.tooMany(b))
				gone += int(changed)
			}
		}
		return err
	})
	if err == nil && gone < n {
		err = s.db.Scrub(ctx)
	}
	return gone, err
}
