package accountdb

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/fault"
	"weir/internal/invalidate"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/store/auditdb"
	"weir/internal/store/sqldb"
)

// below are the ids of a key and of all that come from it.
const below = `WITH RECURSIVE below (id) AS (SELECT id FROM api_keys WHERE id = $1 UNION ALL SELECT k.id FROM api_keys k JOIN below b ON k.parent = b.id AND k.parent <> '') `

// alive chooses keys that have not ended.
const alive = ` AND deleted_at IS NULL AND NOT disabled AND (expires_at IS NULL OR expires_at > $2)`

// InsertChild is apikey.Store.InsertChild. The account's row is locked, so that children are counted one after another.
func (s *Accounts) InsertChild(ctx context.Context, k apikey.Key, now time.Time, e audit.Event) error {
	const op = "store.InsertChild"
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		if err := t.KnownUser(k.User); err != nil {
			return sqldb.NoUser(op, err)
		}
		if err := childFits(t, op, &k, now); err != nil {
			return err
		}
		if err := labelFree(t, k.User, k.Label); err != nil {
			return err
		}
		if err := keys.Insert(t, &k); err != nil {
			return err
		}
		return auditdb.Record(t, e, now)
	})
}

// childFits looks whether there is room for a key, and money in each key from which it comes.
func childFits(t *sqldb.Tx, op string, k *apikey.Key, now time.Time) error {
	for _, bound := range []struct {
		text, id string
		most     int
		says     string
	}{
		{`SELECT COUNT(*) FROM api_keys WHERE parent = $1` + alive, k.Child.Parent, apikey.MaxChildren, "This key has %d keys of its own that have not ended. Stop one that is not used."},
		{`SELECT COUNT(*) FROM api_keys WHERE tree = $1` + alive, k.Child.Tree, apikey.MaxLiving, "This tree has %d keys that have not ended. Stop those that are not used."},
		{`SELECT COUNT(*) FROM api_keys WHERE tree = $1 AND created_at <= $2`, k.Child.Tree, apikey.MaxTree, "This tree has had %d keys. Let the next ones come from a new key."},
		{`SELECT COUNT(*) FROM api_keys WHERE user_id = $1 AND tree = id AND created_at <= $2`, k.User, apikey.MaxTrees, "This account has had %d trees of keys. Ask the operator."},
	} {
		var have int
		if err := t.Row(bound.text, bound.id, now.UnixMicro()).Scan(&have); err != nil {
			return err
		}
		if have >= bound.most {
			return fault.Newf(fault.Invalid, op, bound.says, bound.most)
		}
	}
	return aboveHave(t, op, "amount", k, k.Limit.Amount, now)
}

// mayHave fails where the key of an agent would lose its amount, or have more to spend than a key above it has left. Less it may have at any time.
func mayHave(t *sqldb.Tx, was, k *apikey.Key, now time.Time) error {
	const op = "store.ChangeKey"
	switch {
	case k.Child.Parent == "" || was.Limit != nil && k.Limit != nil && *was.Limit == *k.Limit:
		return nil
	case k.Limit == nil || k.Limit.Reset != "" || k.Limit.Amount <= 0:
		return fault.Field(op, "limit", "The limit of an agent's key is its amount: rubles above 0, without an interval.").Coded("child_limit")
	case was.Limit != nil && k.Limit.Amount <= was.Limit.Amount:
		return nil
	}
	var spent money.Nano
	err := t.Row(`SELECT COALESCE(SUM(spent - forgiven), 0) FROM key_spend WHERE wallet = (SELECT wallet FROM users WHERE id = $1) AND key_id = $2 AND period = 'total' AND start = 0`, k.User, k.ID).Scan((*int64)(&spent))
	if err != nil {
		return err
	}
	return aboveHave(t, op, "limit", k, k.Limit.Amount-spent, now)
}

// aboveHave fails where a key from which another one comes has ended, or has less left than that one is to have.
func aboveHave(t *sqldb.Tx, op, field string, k *apikey.Key, need money.Nano, now time.Time) error {
	var wallet string
	if err := t.Row(`SELECT wallet FROM users WHERE id = $1`, k.User).Scan(&wallet); err != nil {
		return err
	}
	local := t.Zones[wallet].Local(now)
	for id := k.Child.Parent; id != ""; {
		up, err := keys.Row(t, `WHERE id = $1 AND user_id = $2`, id, k.User)
		if err != nil || up.State(now) != apikey.Active {
			return noKey(op, errors.Join(err, errEnded(err)))
		}
		if up.Limit != nil {
			p := ledger.Reset(up.Limit.Reset).Period(local)
			var spent money.Nano
			if err := t.Row(`SELECT COALESCE(SUM(spent - forgiven), 0) FROM key_spend WHERE wallet = $1 AND key_id = $2 AND period = $3 AND start = $4`, wallet, id, p.Kind, p.Start).Scan((*int64)(&spent)); err != nil {
				return err
			}
			if left := up.Limit.Remaining(spent); need > left {
				most := left + k.Limit.Amount - need // with what it has spent already
				return fault.Field(op, field, "%s must be at most %s: the key %q has %s left.", field, most, up.Name, left).Coded("child_amount", "most", most.String(), "left", left.String())
			}
		}
		id = up.Child.Parent
	}
	return nil
}

// errEnded is the error for a key that has ended, unless there is one already.
func errEnded(err error) error {
	if err != nil {
		return nil
	}
	return apikey.NotFound("store.InsertChild")
}

// Tree is apikey.Store.Tree.
func (s *Accounts) Tree(ctx context.Context, user, top string) ([]apikey.Branch, error) {
	return sqldb.List(ctx, s.db, "store.Tree", func(row sqldb.Scanner) (b apikey.Branch, err error) {
		l := loopRow{}
		b.Key, err = keys.ScanWith(row, append([]any{(*int64)(&b.Spent)}, append(l.into(), &b.Calls)...)...)
		b.Loop = l.loop()
		return b, err
	}, `SELECT `+keys.Of("k")+`, COALESCE(s.spent - s.forgiven, 0)`+loopColumns+`, (SELECT COALESCE(CAST(SUM(d.requests) AS BIGINT), 0) FROM usage_daily d WHERE d.wallet = u.wallet AND d.key_id = k.id)
		FROM api_keys k JOIN users u ON u.id = k.user_id LEFT JOIN key_spend s ON s.key_id = k.id AND s.period = 'total' AND s.start = 0 AND s.wallet = u.wallet
		LEFT JOIN agent_loops l ON l.key_id = k.id WHERE k.tree = $2 AND k.user_id = $1 ORDER BY k.created_at, k.id`, user, top)
}

// Tops is apikey.Store.Tops.
func (s *Accounts) Tops(ctx context.Context, user, parent string, sees apikey.Sight, most int) ([]apikey.Key, error) {
	var c sqldb.Conditions
	c.Add("user_id = ?", user)
	if parent != "" {
		c.Add("parent = ? AND parent <> ''", parent)
	} else {
		c.Add("tree = id AND tree <> ''")
	}
	c.Sees("id", user, sees)
	return keys.List(ctx, s.db, "store.Tops", c.Where()+` ORDER BY created_at DESC, id DESC LIMIT `+strconv.Itoa(most), c.Args...)
}

// OutOfMoney is apikey.Store.OutOfMoney.
func (s *Accounts) OutOfMoney(ctx context.Context, user string, now time.Time, most int) ([]apikey.Branch, error) {
	return sqldb.List(ctx, s.db, "store.OutOfMoney", func(row sqldb.Scanner) (b apikey.Branch, err error) {
		l := loopRow{}
		b.Key, err = keys.ScanWith(row, append([]any{(*int64)(&b.Spent)}, append(l.into(), &b.Top)...)...)
		b.Loop = l.loop()
		return b, err
	}, `SELECT `+keys.Of("k")+`, s.spent - s.forgiven`+loopColumns+`, top.name FROM api_keys k JOIN api_keys top ON top.id = k.tree JOIN users u ON u.id = k.user_id
		JOIN key_spend s ON s.key_id = k.id AND s.period = 'total' AND s.start = 0 AND s.wallet = u.wallet
		LEFT JOIN agent_loops l ON l.key_id = k.id WHERE k.user_id = $1 AND k.parent <> '' AND k.deleted_at IS NULL AND NOT k.disabled AND (k.expires_at IS NULL OR k.expires_at > $2)
		AND s.spent - s.forgiven >= k.limit_nano - k.limit_nano / 100 ORDER BY k.id LIMIT $3`, user, now.UnixMicro(), int64(most))
}

// StopBelow is apikey.Store.StopBelow.
func (s *Accounts) StopBelow(ctx context.Context, user, id string, now time.Time, e audit.Event) (stopped []string, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		if err := t.KnownUser(user); err != nil { // so that no child is made meanwhile
			return sqldb.NoUser("store.StopBelow", err)
		}
		stopped, err = sqldb.All(t, sqldb.Only[string], below+`UPDATE api_keys SET deleted_at = $2, updated_at = $2 WHERE id IN (SELECT id FROM below) AND user_id = $3 AND parent <> ''`+alive+` RETURNING id`, id, now.UnixMicro(), user)
		if err != nil {
			return err
		}
		return errors.Join(t.Tell(invalidate.Keys, user), auditdb.Record(t, e, now))
	})
	return stopped, err
}

const loopColumns = `, COALESCE(l.tools, ''), COALESCE(l.times, 0), COALESCE(l.calls, 0), COALESCE(l.since, 0), COALESCE(l.until, 0)`

// loopRow has loopColumns.
type loopRow struct {
	tools                      string
	times, calls, since, until int64
}

func (r *loopRow) into() []any { return []any{&r.tools, &r.times, &r.calls, &r.since, &r.until} }

func (r *loopRow) loop() *apikey.Loop {
	if r.times == 0 {
		return nil
	}
	return &apikey.Loop{Tools: strings.Split(r.tools, "\n"), Times: r.times, Calls: r.calls, Since: time.UnixMicro(r.since).UTC(), Until: time.UnixMicro(r.until).UTC()}
}

// SaveLoops is budget.LoopStore.SaveLoops.
func (s *Accounts) SaveLoops(ctx context.Context, list []budget.Loop) error {
	return s.db.WriteLazily(ctx, func(t *sqldb.Tx) error {
		for i := range list {
			x := &list[i]
			_, err := t.Exec(`INSERT INTO agent_loops (key_id, tools, times, calls, since, until) VALUES ($1, $2, $3, $4, $5, $6)
				ON CONFLICT (key_id) DO UPDATE SET tools = excluded.tools, times = excluded.times, calls = excluded.calls, since = excluded.since, until = excluded.until`,
				x.Key, strings.Join(x.Tools, "\n"), x.Times, x.Calls, x.Since.UnixMicro(), x.Until.UnixMicro())
			if err != nil {
				return err
			}
		}
		return nil
	})
}
