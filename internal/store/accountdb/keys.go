package accountdb

import (
	"context"
	"database/sql"
	"errors"
	"net/netip"
	"strings"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/invalidate"
	"weir/internal/money"
	"weir/internal/store/auditdb"
	"weir/internal/store/sqldb"
)

const keyColumns = `k.id, k.hash, k.label, k.name, k.user_id, k.creator, k.management, k.disabled, k.limit_nano, k.limit_reset, k.rate_requests, k.rate_tokens, k.rate_nano, k.rate_calls, k.strict, k.preferences,
	k.expires_at, k.created_at, k.updated_at, k.deleted_at, k.allowed_models, k.allowed_ips, k.previous_hash, k.previous_label, k.previous_until`

// KeyByHash finds a key with its user's wallet and state; deleted ones, too. It fails with fault.NotFound.
func (s *Accounts) KeyByHash(ctx context.Context, hash string) (f apikey.Found, err error) {
	err = s.db.Find(ctx, func(row sqldb.Scanner) (err error) {
		f.Key, err = scanKey(row, &f.Wallet, &f.UserDisabled, &f.Role, &f.AccountPreferences)
		return err
	},
		`SELECT `+keyColumns+`, u.wallet, u.disabled, u.role, u.preferences FROM api_keys k JOIN users u ON u.id = k.user_id WHERE k.hash = $1 OR k.previous_hash = $1`, hash)
	return f, noKey("store.KeyByHash", err)
}

// KeyByID finds a key as KeyByHash does, by its id.
func (s *Accounts) KeyByID(ctx context.Context, id string) (f apikey.Found, err error) {
	err = s.db.Find(ctx, func(row sqldb.Scanner) (err error) {
		f.Key, err = scanKey(row, &f.Wallet, &f.UserDisabled, &f.Role, &f.AccountPreferences)
		return err
	},
		`SELECT `+keyColumns+`, u.wallet, u.disabled, u.role, u.preferences FROM api_keys k JOIN users u ON u.id = k.user_id WHERE k.id = $1`, id)
	return f, noKey("store.KeyByID", err)
}

// ListKeys lists keys that are not deleted, newest first.
func (s *Accounts) ListKeys(ctx context.Context, f apikey.Filter) ([]apikey.Key, error) {
	if f.Count == 0 {
		f.Count = 100
	}
	// Only conditions that are asked for: with "$1 = '' OR", SQLite would read the keys of all users.
	var c sqldb.Conditions
	c.Equal("k.user_id", f.User)
	if !f.IncludeDeleted {
		c.Add("k.deleted_at IS NULL")
	}
	if !f.IncludeDisabled {
		c.Add("NOT k.disabled")
	}
	page := sqldb.Conditions{Args: c.Args}
	page.Add("? OFFSET ?", f.Count, f.Offset)
	return sqldb.List(ctx, s.db, "store.ListKeys", func(row sqldb.Scanner) (apikey.Key, error) { return scanKey(row) }, `SELECT `+keyColumns+` FROM api_keys k`+c.Where()+
		` ORDER BY k.created_at DESC, k.id DESC LIMIT `+page.Text.String(), page.Args...)
}

// InsertKey adds a key unless its user has maxPerUser of them.
func (s *Accounts) InsertKey(ctx context.Context, k apikey.Key, maxPerUser int, e audit.Event) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		if err := t.KnownUser(k.User); err != nil {
			return sqldb.NoUser("store.InsertKey", err)
		}
		var keys int
		if err := t.Row(`SELECT COUNT(*) FROM api_keys WHERE user_id = $1 AND deleted_at IS NULL`, k.User).Scan(&keys); err != nil {
			return err
		}
		if keys >= maxPerUser {
			return fault.Newf(fault.Invalid, "store.InsertKey", "A user may have %d keys. Delete one that is not used.", maxPerUser)
		}
		if err := forgetKeys(t, k.User); err != nil {
			return err
		}
		if err := labelFree(t, k.User, k.Label); err != nil {
			return err
		}
		if err := insertKey(t, &k); err != nil {
			return err
		}
		return auditdb.Record(t, e, k.CreatedAt)
	})
}

// labelFree fails with apikey.ErrLabelTaken if a key of the user has or had a label, also one that was deleted: its calls are still listed.
func labelFree(t *sqldb.Tx, user, label string) error {
	var same int
	if err := t.Row(`SELECT COUNT(*) FROM api_keys WHERE user_id = $1 AND (label = $2 OR previous_label = $2)`, user, label).Scan(&same); err != nil || same == 0 {
		return err
	}
	return fault.New(fault.Conflict, "store.labelFree", "No label is free for a new key of this user. Delete keys that are not used.").Because(apikey.ErrLabelTaken)
}

// MostDeletedKeys is how many deleted keys of a user are kept, apart from those that calls, videos or batches name.
const MostDeletedKeys = 100

// forgetKeys drops the keys of a user that were deleted long ago and never used: keys could be made and deleted without end.
func forgetKeys(t *sqldb.Tx, user string) error {
	var deleted int
	if err := t.Row(`SELECT COUNT(*) FROM api_keys WHERE user_id = $1 AND deleted_at IS NOT NULL`, user).Scan(&deleted); err != nil || deleted <= MostDeletedKeys {
		return err
	}
	_, err := t.Exec(`DELETE FROM api_keys WHERE id IN (SELECT id FROM api_keys WHERE user_id = $1 AND deleted_at IS NOT NULL ORDER BY deleted_at, id LIMIT $2)
		AND id NOT IN (SELECT key_id FROM usage_daily WHERE wallet = (SELECT wallet FROM users WHERE id = $1))
		AND id NOT IN (SELECT key_id FROM video_jobs WHERE user_id = $1) AND id NOT IN (SELECT key_id FROM batches WHERE user_id = $1)`, user, int64(deleted-MostDeletedKeys))
	return err
}

func insertKey(t *sqldb.Tx, k *apikey.Key) error {
	limit, reset := limitColumns(k.Limit)
	requests, tokens, rubles, calls := rateColumns(k.Rates)
	_, err := t.Exec(`INSERT INTO api_keys (id, hash, label, name, user_id, creator, management, disabled, limit_nano, limit_reset, strict,
		expires_at, created_at, updated_at, rate_requests, rate_tokens, rate_nano, preferences, allowed_models, allowed_ips, rate_calls)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)`,
		k.ID, k.Hash, k.Label, k.Name, k.User, k.Creator, k.Management, k.Disabled, limit, reset, k.Strict,
		sqldb.Micros(k.ExpiresAt), k.CreatedAt.UnixMicro(), k.UpdatedAt.UnixMicro(), requests, tokens, rubles, k.Preferences, strings.Join(k.Models, " "), addressesText(k.Addresses), calls)
	return err
}

// ChangeKey edits a key that is not deleted. It fails with fault.NotFound.
func (s *Accounts) ChangeKey(ctx context.Context, user, hash string, c apikey.Change, now time.Time, e audit.Event) (apikey.Key, error) {
	var key apikey.Key
	err := s.db.Write(ctx, func(t *sqldb.Tx) (err error) {
		key, err = scanKey(t.LockedRow(`SELECT `+keyColumns+` FROM api_keys k WHERE k.hash = $1 AND ($2 = '' OR k.user_id = $2) AND k.deleted_at IS NULL`, hash, user))
		if err != nil {
			return noKey("store.ChangeKey", err)
		}
		apply(&key, c)
		key.UpdatedAt = now.UTC()
		limit, reset := limitColumns(key.Limit)
		requests, tokens, rubles, calls := rateColumns(key.Rates)
		_, err = t.Exec(`UPDATE api_keys SET name = $1, disabled = $2, limit_nano = $3, limit_reset = $4, strict = $5, updated_at = $6,
			rate_requests = $7, rate_tokens = $8, rate_nano = $9, preferences = $10, allowed_models = $11, allowed_ips = $12, expires_at = $13, rate_calls = $14 WHERE id = $15`,
			key.Name, key.Disabled, limit, reset, key.Strict, now.UnixMicro(), requests, tokens, rubles, key.Preferences, strings.Join(key.Models, " "), addressesText(key.Addresses), sqldb.Micros(key.ExpiresAt), calls, key.ID)
		if err != nil {
			return err
		}
		return errors.Join(t.Tell(invalidate.Keys, key.User), auditdb.Record(t, e, now))
	})
	return key, err
}

func apply(k *apikey.Key, c apikey.Change) {
	if c.Name != nil {
		k.Name = *c.Name
	}
	if c.Disabled != nil {
		k.Disabled = *c.Disabled
	}
	if c.Limit != nil {
		k.Limit = *c.Limit
	}
	if c.Rates != nil {
		k.Rates = *c.Rates
	}
	if c.Strict != nil {
		k.Strict = *c.Strict
	}
	if c.Preferences != nil {
		k.Preferences = *c.Preferences
	}
	if c.Models != nil {
		k.Models = *c.Models
	}
	if c.Addresses != nil {
		k.Addresses = *c.Addresses
	}
	if c.ExpiresAt != nil {
		k.ExpiresAt = *c.ExpiresAt
	}
}

// RotateKey gives a key another hash. It fails with fault.NotFound.
func (s *Accounts) RotateKey(ctx context.Context, user, hash, newHash, newLabel string, until, now time.Time, e audit.Event) (apikey.Key, error) {
	var key apikey.Key
	err := s.db.Write(ctx, func(t *sqldb.Tx) (err error) {
		key, err = scanKey(t.LockedRow(`SELECT `+keyColumns+` FROM api_keys k WHERE k.hash = $1 AND ($2 = '' OR k.user_id = $2) AND k.deleted_at IS NULL`, hash, user))
		if err != nil {
			return noKey("store.RotateKey", err)
		}
		if err := labelFree(t, key.User, newLabel); err != nil {
			return err
		}
		former := sql.NullString{String: key.Hash, Valid: !until.IsZero()}
		label := key.Label
		if key.Previous = (apikey.Previous{Hash: key.Hash, Label: key.Label, Until: until.UTC()}); until.IsZero() {
			key.Previous, label = apikey.Previous{}, ""
		}
		key.Hash, key.Label, key.UpdatedAt = newHash, newLabel, now.UTC()
		if _, err = t.Exec(`UPDATE api_keys SET hash = $1, label = $2, previous_hash = $3, previous_label = $4, previous_until = $5, updated_at = $6 WHERE id = $7`,
			newHash, newLabel, former, label, sqldb.Micros(until), now.UnixMicro(), key.ID); err != nil {
			return err
		}
		// what is known by the hash of a key
		if _, err = t.Exec(`UPDATE users SET web_key = $1 WHERE id = $2 AND web_key = $3`, newHash, key.User, hash); err != nil {
			return err
		}
		return errors.Join(t.Tell(invalidate.Keys, key.User), auditdb.Record(t, e, now))
	})
	return key, err
}

// addressesText is how prefixes are stored.
func addressesText(list []netip.Prefix) string {
	var b strings.Builder
	for i, p := range list {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(p.String())
	}
	return b.String()
}

// DeleteKey marks a key deleted; records go on naming it. It fails with fault.NotFound.
func (s *Accounts) DeleteKey(ctx context.Context, user, hash string, now time.Time, e audit.Event) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		var owner string
		err := t.Row(`UPDATE api_keys SET deleted_at = $1, updated_at = $1 WHERE hash = $2 AND ($3 = '' OR user_id = $3) AND deleted_at IS NULL RETURNING user_id`, now.UnixMicro(), hash, user).Scan(&owner)
		if err != nil {
			return noKey("store.DeleteKey", err)
		}
		return errors.Join(t.Tell(invalidate.Keys, owner), auditdb.Record(t, e, now))
	})
}

// Disablings is apikey.Store.Disablings.
func (s *Accounts) Disablings(ctx context.Context, user string) (map[string]apikey.Disabling, error) {
	type row struct {
		key string
		by  apikey.Disabling
	}
	rows, err := sqldb.List(ctx, s.db, "store.Disablings", func(at sqldb.Scanner) (r row, err error) {
		var micros int64
		err = at.Scan(&r.key, &r.by.Actor, &micros)
		r.by.At = time.UnixMicro(micros).UTC()
		return r, err
	}, `SELECT k.id, a.actor, a.at FROM api_keys k JOIN audit a ON a.target = k.id WHERE k.user_id = $1 AND k.disabled AND k.deleted_at IS NULL AND a.action = '`+audit.KeyRevoked+`' ORDER BY a.seq`, user)
	by := make(map[string]apikey.Disabling, len(rows))
	for _, r := range rows { // the last one holds
		by[r.key] = r.by
	}
	return by, err
}

// scanKey reads keyColumns and the query's further columns.
func scanKey(row sqldb.Scanner, more ...any) (k apikey.Key, err error) {
	var limit, expires, deleted, requests, tokens, rubles, calls sql.NullInt64
	var reset, models, addresses string
	var former sql.NullString
	var until sql.NullInt64
	var created, updated int64
	into := []any{&k.ID, &k.Hash, &k.Label, &k.Name, &k.User, &k.Creator, &k.Management, &k.Disabled, &limit, &reset, &requests, &tokens, &rubles, &calls, &k.Strict, &k.Preferences,
		&expires, &created, &updated, &deleted, &models, &addresses, &former, &k.Previous.Label, &until}
	if err := row.Scan(append(into, more...)...); err != nil {
		return apikey.Key{}, err
	}
	if limit.Valid {
		k.Limit = &apikey.Limit{Amount: money.Nano(limit.Int64), Reset: apikey.Reset(reset)}
	}
	if requests.Valid || tokens.Valid || rubles.Valid || calls.Valid {
		k.Rates = &apikey.Rates{Requests: orDefaultRate(requests), Tokens: orDefaultRate(tokens), Rubles: money.Nano(orDefaultRate(rubles)), Calls: orDefaultRate(calls)}
	}
	k.CreatedAt, k.UpdatedAt = time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC()
	k.ExpiresAt, k.DeletedAt = sqldb.Moment(expires), sqldb.Moment(deleted)
	if models != "" {
		k.Models = strings.Fields(models)
	}
	for _, text := range strings.Fields(addresses) {
		p, err := netip.ParsePrefix(text)
		if err != nil { // a restriction that cannot be read must not be dropped
			return apikey.Key{}, err
		}
		k.Addresses = append(k.Addresses, p)
	}
	k.Previous.Hash, k.Previous.Until = former.String, sqldb.Moment(until)
	return k, nil
}

func limitColumns(l *apikey.Limit) (limit sql.NullInt64, reset string) {
	if l == nil {
		return limit, ""
	}
	return sql.NullInt64{Int64: int64(l.Amount), Valid: true}, string(l.Reset)
}

// rateColumns are NULL where a key leaves an allowance to the operator.
func rateColumns(r *apikey.Rates) (requests, tokens, rubles, calls sql.NullInt64) {
	if r == nil {
		return requests, tokens, rubles, calls
	}
	column := func(n int64) sql.NullInt64 { return sql.NullInt64{Int64: n, Valid: n != apikey.DefaultRate} }
	return column(r.Requests), column(r.Tokens), column(int64(r.Rubles)), column(r.Calls)
}

func orDefaultRate(n sql.NullInt64) int64 {
	if !n.Valid {
		return apikey.DefaultRate
	}
	return n.Int64
}

func noKey(op string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return apikey.NotFound(op)
	}
	return sqldb.Failure(op, err)
}
