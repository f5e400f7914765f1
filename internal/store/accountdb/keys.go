package accountdb

import (
	"context"
	"database/sql"
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/invalidate"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/store/auditdb"
	"weir/internal/store/ledgerdb"
	"weir/internal/store/sqldb"
)

var keys = sqldb.Map[apikey.Key, struct {
	LimitNano, RateRequests, RateTokens, RateNano, RateCalls               sql.NullInt64
	ID, Hash, Label, Name, Creator, LimitReset, Preferences, AllowedModels string
	User                                                                   string `db:"user_id"`
	Member                                                                 string
	Management, Disabled, Strict                                           bool
	ExpiresAt, DeletedAt                                                   time.Time `db:",null"`
	CreatedAt, UpdatedAt                                                   time.Time
	AllowedIPs                                                             string `db:"allowed_ips"`
	Previous                                                               struct {
		Hash  string    `db:"hash,null"`
		Label string    `db:"label"`
		Until time.Time `db:"until,null"`
	} `db:"previous_"`
	Child struct {
		Parent, Tree string
		Depth        int
		Tools        string
	}
}]("api_keys",
	sqldb.Encoded("tools", func(k *apikey.Key) string { return strings.Join(k.Child.Tools, " ") }, func(k *apikey.Key, tools string) error {
		if tools != "" {
			k.Child.Tools = strings.Fields(tools)
		}
		return nil
	}),
	sqldb.Encoded("limit_nano", func(k *apikey.Key) (n sql.NullInt64) {
		if k.Limit != nil {
			n = sql.NullInt64{Int64: int64(k.Limit.Amount), Valid: true}
		}
		return n
	}, func(k *apikey.Key, n sql.NullInt64) error {
		if n.Valid {
			k.Limit = &apikey.Limit{Amount: money.Nano(n.Int64)}
		}
		return nil
	}),
	sqldb.Encoded("limit_reset", func(k *apikey.Key) string {
		if k.Limit == nil {
			return ""
		}
		return string(k.Limit.Reset)
	}, func(k *apikey.Key, reset string) error {
		if k.Limit != nil {
			k.Limit.Reset = apikey.Reset(reset)
		}
		return nil
	}),
	rate("rate_requests", func(r *apikey.Rates) *int64 { return &r.Requests }), rate("rate_tokens", func(r *apikey.Rates) *int64 { return &r.Tokens }),
	rate("rate_nano", func(r *apikey.Rates) *int64 { return (*int64)(&r.Rubles) }), rate("rate_calls", func(r *apikey.Rates) *int64 { return &r.Calls }),
	sqldb.Encoded("allowed_models", func(k *apikey.Key) string { return strings.Join(k.Models, " ") }, func(k *apikey.Key, models string) error {
		if models != "" {
			k.Models = strings.Fields(models)
		}
		return nil
	}),
	sqldb.Encoded("allowed_ips", func(k *apikey.Key) string { return addressesText(k.Addresses) }, func(k *apikey.Key, addresses string) error {
		for _, text := range strings.Fields(addresses) {
			p, err := netip.ParsePrefix(text)
			if err != nil { // a restriction that cannot be read must not be dropped
				return err
			}
			k.Addresses = append(k.Addresses, p)
		}
		return nil
	}))

// rate stores an allowance, which is NULL where a key leaves it to the operator.
func rate(column string, of func(*apikey.Rates) *int64) sqldb.Option[apikey.Key] {
	return sqldb.Encoded(column, func(k *apikey.Key) (n sql.NullInt64) {
		if k.Rates != nil {
			n = sql.NullInt64{Int64: *of(k.Rates), Valid: *of(k.Rates) != apikey.DefaultRate}
		}
		return n
	}, func(k *apikey.Key, n sql.NullInt64) error {
		if !n.Valid {
			return nil
		}
		if k.Rates == nil {
			k.Rates = &apikey.Rates{Requests: apikey.DefaultRate, Tokens: apikey.DefaultRate, Rubles: apikey.DefaultRate, Calls: apikey.DefaultRate}
		}
		*of(k.Rates) = n.Int64
		return nil
	})
}

// KeyByHash finds a key with its user's wallet and state; deleted ones, too. It fails with fault.NotFound.
func (s *Accounts) KeyByHash(ctx context.Context, hash string) (apikey.Found, error) {
	return s.foundKey(ctx, "store.KeyByHash", `k.hash = $1 OR k.previous_hash = $1`, hash)
}

// KeyByID finds a key as KeyByHash does, by its id.
func (s *Accounts) KeyByID(ctx context.Context, id string) (apikey.Found, error) {
	return s.foundKey(ctx, "store.KeyByID", `k.id = $1`, id)
}

func (s *Accounts) foundKey(ctx context.Context, op, where, value string) (f apikey.Found, err error) {
	err = s.db.Find(ctx, func(row sqldb.Scanner) (err error) {
		f.Key, err = keys.ScanWith(row, &f.Wallet, &f.UserDisabled, &f.Role, &f.AccountPreferences, &f.Team, &f.Agent)
		return err
	}, `SELECT `+keys.Of("k")+`, u.wallet, `+closedTo+`, u.role, u.preferences, COALESCE(m.team, v.team, ''), EXISTS (SELECT 1 FROM agents a WHERE a.key_id = k.id) FROM api_keys k JOIN users u ON u.id = k.user_id
		LEFT JOIN users p ON p.id = k.member LEFT JOIN org_members m ON m.org = k.user_id AND m.user_id = k.member LEFT JOIN org_services v ON v.org = k.user_id AND v.id = k.member AND v.ended_at IS NULL WHERE `+where, value)
	if err == nil && f.Child.Parent != "" {
		err = s.above(ctx, &f)
	}
	return f, noKey(op, err)
}

// above reads the keys from which one comes.
func (s *Accounts) above(ctx context.Context, f *apikey.Found) error {
	for id := f.Child.Parent; id != ""; {
		k, err := keys.Find(ctx, s.db, `WHERE id = $1`, id)
		if err != nil {
			return err
		}
		f.Above = append(f.Above, apikey.Above{Key: k.ID, Limit: k.Limit})
		f.UserDisabled = f.UserDisabled || k.Disabled || !k.DeletedAt.IsZero()
		if !k.ExpiresAt.IsZero() && (f.AboveEnds.IsZero() || k.ExpiresAt.Before(f.AboveEnds)) {
			f.AboveEnds = k.ExpiresAt
		}
		if len(k.Models) > 0 {
			f.AboveModels = append(f.AboveModels, k.Models)
		}
		id = k.Child.Parent
	}
	return nil
}

// closedTo is whether the user of a key k is closed to it: their account, or the person or service of an organization for whom it works. Keys end with
// a membership; this holds as well where one was left over.
const closedTo = `u.disabled OR (k.member <> '' AND (p.id IS NULL OR p.disabled OR m.user_id IS NULL) AND v.id IS NULL)`

// ListKeys lists keys that are not deleted, newest first.
func (s *Accounts) ListKeys(ctx context.Context, f apikey.Filter) ([]apikey.Key, error) {
	if f.Count == 0 {
		f.Count = 100
	}
	// Only conditions that are asked for: with "$1 = '' OR", SQLite would read the keys of all users.
	var c sqldb.Conditions
	c.Equal("user_id", f.User)
	c.Sees("id", f.User, f.Sees)
	if !f.Children {
		c.Add("parent = ''")
	}
	if !f.IncludeDeleted {
		c.Add("deleted_at IS NULL")
	}
	if !f.IncludeDisabled {
		c.Add("NOT disabled")
	}
	page := sqldb.Conditions{Args: c.Args}
	page.Add("? OFFSET ?", f.Count, f.Offset)
	return keys.List(ctx, s.db, "store.ListKeys", c.Where()+` ORDER BY created_at DESC, id DESC LIMIT `+page.Text.String(), page.Args...)
}

// InsertKey adds a key unless its user has maxPerUser of them.
func (s *Accounts) InsertKey(ctx context.Context, k apikey.Key, maxPerUser int, e audit.Event) error {
	return auditdb.Write(ctx, s.db, e, k.CreatedAt, func(t *sqldb.Tx) error {
		if err := t.KnownUser(k.User); err != nil {
			return sqldb.NoUser("store.InsertKey", err)
		}
		return insertKey(t, &k, maxPerUser)
	})
}

// insertKey adds a key of a user who is locked.
func insertKey(t *sqldb.Tx, k *apikey.Key, maxPerUser int) error {
	var have, all int
	if err := t.Row(`SELECT COUNT(CASE WHEN member = $2 THEN 1 END), COUNT(*) FROM api_keys WHERE user_id = $1 AND deleted_at IS NULL AND parent = ''`, k.User, k.Member).Scan(&have, &all); err != nil {
		return err
	}
	if k.Member != "" {
		if err := mayHaveKeys(t, k); err != nil {
			return err
		}
	}
	if have >= maxPerUser {
		return fault.Newf(fault.Invalid, "store.InsertKey", "A user may have %d keys. Delete one that is not used, or ask the operator, who sets keys.max_per_user.", maxPerUser)
	}
	if all >= apikey.MostPerUser {
		return fault.Newf(fault.Invalid, "store.InsertKey", "An account may have %d keys. Delete one that is not used.", apikey.MostPerUser)
	}
	if err := forgetKeys(t, k.User); err != nil {
		return err
	}
	if err := labelFree(t, k.User, k.Label); err != nil {
		return err
	}
	return keys.Insert(t, k)
}

// mayHaveKeys fails for a member who has left meanwhile, or reads money alone, and for a service that has ended.
func mayHaveKeys(t *sqldb.Tx, k *apikey.Key) error {
	var works bool
	err := t.Row(`SELECT EXISTS (SELECT 1 FROM org_members WHERE org = $1 AND user_id = $2 AND role <> $3) OR EXISTS (SELECT 1 FROM org_services WHERE org = $1 AND id = $2 AND ended_at IS NULL)`,
		k.User, k.Member, string(apikey.OrgBilling)).Scan(&works)
	if err == nil && !works {
		err = fault.New(fault.Conflict, "store.InsertKey", "Keys of an organization are for its members, except billing, and for its services.")
	}
	return err
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
	if err := t.Row(`SELECT COUNT(*) FROM api_keys WHERE user_id = $1 AND deleted_at IS NOT NULL AND parent = ''`, user).Scan(&deleted); err != nil || deleted <= MostDeletedKeys {
		return err
	}
	_, err := t.Exec(`DELETE FROM api_keys WHERE id IN (SELECT id FROM api_keys WHERE user_id = $1 AND deleted_at IS NOT NULL AND parent = '' ORDER BY deleted_at, id LIMIT $2)
		AND id NOT IN (SELECT parent FROM api_keys WHERE user_id = $1)
		AND id NOT IN (SELECT key_id FROM usage_daily WHERE wallet = (SELECT wallet FROM users WHERE id = $1))
		AND id NOT IN (SELECT key_id FROM video_jobs WHERE user_id = $1) AND id NOT IN (SELECT key_id FROM batches WHERE user_id = $1)`, user, int64(deleted-MostDeletedKeys))
	return err
}

// ChangeKey edits a key that is not deleted. It fails with fault.NotFound.
func (s *Accounts) ChangeKey(ctx context.Context, user, hash string, c apikey.Change, now time.Time, e audit.Event) (apikey.Key, error) {
	var key apikey.Key
	err := s.db.Write(ctx, func(t *sqldb.Tx) (err error) {
		key, err = keys.LockedRow(t, `WHERE hash = $1 AND ($2 = '' OR user_id = $2) AND deleted_at IS NULL`, hash, user)
		if err != nil {
			return noKey("store.ChangeKey", err)
		}
		was := key
		if apply(&key, c); reflect.DeepEqual(was, key) {
			return nil
		}
		if err := mayHave(t, &was, &key, now); err != nil {
			return err
		}
		key.UpdatedAt = now.UTC()
		err = keys.Update(t, &key, "id; name, disabled, limit_nano, limit_reset, strict, updated_at, rate_requests, rate_tokens, rate_nano, rate_calls, preferences, allowed_models, allowed_ips, expires_at")
		if err != nil {
			return err
		}
		return errors.Join(t.Tell(invalidate.Keys, key.User), auditdb.Record(t, e, now))
	})
	return key, err
}

// ResetSpending is apikey.Store.ResetSpending.
func (s *Accounts) ResetSpending(ctx context.Context, user, hash string, now time.Time, e audit.Event) (key apikey.Key, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		var wallet string
		err := t.Row(`SELECT u.wallet FROM api_keys k JOIN users u ON u.id = k.user_id WHERE k.hash = $1 AND ($2 = '' OR k.user_id = $2) AND k.deleted_at IS NULL`, hash, user).Scan(&wallet)
		if err != nil {
			return noKey("store.ResetSpending", err)
		}
		if key, err = keys.Row(t, `WHERE hash = $1`, hash); err != nil {
			return err
		}
		before, err := ledgerdb.ForgiveKey(t, wallet, key.ID, now)
		if err != nil {
			return err
		}
		e, reset := e, ledger.Never
		if key.Limit != nil {
			reset = ledger.Reset(key.Limit.Reset)
		}
		e.Before = before.Counted(reset).String()
		return auditdb.Record(t, e, now)
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
		key, err = keys.LockedRow(t, `WHERE hash = $1 AND ($2 = '' OR user_id = $2) AND deleted_at IS NULL`, hash, user)
		if err != nil {
			return noKey("store.RotateKey", err)
		}
		if err := labelFree(t, key.User, newLabel); err != nil {
			return err
		}
		if key.Previous = (apikey.Previous{Hash: key.Hash, Label: key.Label, Until: until.UTC()}); until.IsZero() {
			key.Previous = apikey.Previous{}
		}
		key.Hash, key.Label, key.UpdatedAt = newHash, newLabel, now.UTC()
		if err := keys.Update(t, &key, "id; hash, label, previous_hash, previous_label, previous_until, updated_at"); err != nil {
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

func noKey(op string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return apikey.NotFound(op)
	}
	return sqldb.Failure(op, err)
}
