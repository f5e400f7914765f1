package nodedb

import (
	"cmp"
	"context"
	"strings"
	"time"

	"weir/internal/limit"
	"weir/internal/limit/quota"
	"weir/internal/store/sqldb"
)

// usesOverlap is longer than a transaction may take: a change that was made at a moment is seen by then.
const usesOverlap = 5 * time.Second

const nodesAlive = `SELECT COUNT(*) FROM nodes WHERE live = 1`

// longest is the furthest moment at which an allowance is full again, from now: fifty years are more than anyone waits, and three times that still fits.
const longest = 50 * 365 * 24 * time.Hour

// useOne sums up what nodes have let in. $2 is the time by the database's clock, $3 and on when the allowances would be full if they had been,
// $6 the longest time until then, for all of them together.
var useOne = `INSERT INTO limit_uses AS l (name, changed_at, full_a, full_b, full_c) VALUES ($1, $2, $3, $4, $5)
	ON CONFLICT (name) DO UPDATE SET changed_at = excluded.changed_at, full_a = ` + usesSum("full_a") + `, full_b = ` + usesSum("full_b") + `, full_c = ` + usesSum("full_c")

func usesSum(column string) string {
	return strings.ReplaceAll(`excluded.F + CASE WHEN l.F <= excluded.changed_at THEN 0 WHEN l.F > excluded.changed_at + $6 - (excluded.F - excluded.changed_at) THEN $6 - (excluded.F - excluded.changed_at) ELSE l.F - excluded.changed_at END`, "F", column)
}

// ShareUses is quota.Exchange.ShareUses.
func (s *Nodes) ShareUses(ctx context.Context, uses []limit.Use, since time.Time) (out quota.Shared, err error) {
	const op = "store.ShareUses"
	now, err := s.db.Clock(ctx)
	if err != nil {
		return out, err
	}
	if len(uses) > 0 {
		err = s.db.WriteLazily(ctx, func(t *sqldb.Tx) error {
			for i := range uses {
				args := []any{uses[i].Name, now.UnixNano()}
				most := cmp.Or(uses[i].Most, longest)
				for _, d := range uses[i].Taken {
					args = append(args, now.Add(max(min(d, most), -longest)).UnixNano())
				}
				args = append(args, int64(most))
				if _, err := t.Exec(useOne, args...); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return out, err
		}
	}
	from := int64(0)
	if !since.IsZero() {
		from = since.Add(-usesOverlap).UnixNano()
	}
	out.At = now
	if err = s.db.Read(ctx, &out.Nodes, nodesAlive); err != nil {
		return out, sqldb.Failure(op, err)
	}
	out.Names, err = sqldb.List(ctx, s.db, op, func(row sqldb.Scanner) (f limit.Full, err error) {
		var full [limit.Dims]int64
		err = row.Scan(&f.Name, &full[0], &full[1], &full[2])
		for i := range full {
			f.In[i] = time.Duration(full[i] - now.UnixNano())
		}
		return f, err
	}, `SELECT name, full_a, full_b, full_c FROM limit_uses WHERE changed_at >= $1`, from)
	return out, err
}

// SweepUses is quota.Exchange.SweepUses.
func (s *Nodes) SweepUses(ctx context.Context) error {
	now, err := s.db.Clock(ctx)
	if err != nil {
		return err
	}
	_, err = s.db.ExecLazily(ctx, `DELETE FROM limit_uses WHERE changed_at < $1 AND full_a < $2 AND full_b < $2 AND full_c < $2`, now.Add(-time.Minute).UnixNano(), now.UnixNano())
	return err
}
