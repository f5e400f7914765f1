package accountdb

import (
	"context"
	"time"

	"weir/internal/agent"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/invalidate"
	"weir/internal/store/auditdb"
	"weir/internal/store/sqldb"
)

// Agents has programs that act for people, and those that ask to.
type Agents struct{ db *sqldb.DB }

// NewAgents makes the agents of a database.
func NewAgents(db *sqldb.DB) *Agents { return &Agents{db} }

var _ agent.Store = (*Agents)(nil)

var devices = sqldb.Map[agent.Device, struct {
	Hash, Code, Client, Address, Network string
	State                                agent.State
	User                                 string `db:"user_id"`
	CreatedAt, ExpiresAt                 time.Time
}]("agent_devices")

var agents = sqldb.Map[agent.SignIn, struct {
	Key                                         string `db:"key_id"`
	User                                        string `db:"user_id"`
	Family, Hash, Former, Salt, Client, Address string
	CreatedAt, RenewedAt, ExpiresAt             time.Time
}]("agents")

func noDevice(op string, err error) error { return sqldb.NoneOf(op, "device", err) }
func noAgent(op string, err error) error  { return sqldb.NoneOf(op, "sign-in of an agent", err) }

// AddDevice is agent.Store.AddDevice.
func (s *Agents) AddDevice(ctx context.Context, d agent.Device, b agent.Bounds) error {
	const op = "store.AddDevice"
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		if err := t.LockTable("agent_devices"); err != nil {
			return err
		}
		var all, here int
		if err := t.Row(`SELECT COUNT(*) FROM agent_devices`).Scan(&all); err != nil {
			return err
		}
		if err := t.Row(`SELECT COUNT(*) FROM agent_devices WHERE network = $1 AND expires_at > $2`, d.Network, d.CreatedAt.UnixMicro()).Scan(&here); err != nil {
			return err
		}
		if all >= b.All || here >= b.OfNetwork {
			return fault.New(fault.RateLimited, op, "Too many devices wait to be signed in.")
		}
		return devices.AddNew(t, op, "Another device has this code.", &d)
	})
}

// DeviceBy is agent.Store.DeviceBy.
func (s *Agents) DeviceBy(ctx context.Context, hash string) (agent.Device, error) {
	d, err := devices.Find(ctx, s.db, `WHERE hash = $1`, hash)
	return d, noDevice("store.DeviceBy", err)
}

const waits = `WHERE code = $1 AND state = '` + string(agent.Waiting) + `' AND expires_at > $2`

// DeviceByCode is agent.Store.DeviceByCode.
func (s *Agents) DeviceByCode(ctx context.Context, code string, now time.Time) (agent.Device, error) {
	d, err := devices.Find(ctx, s.db, waits, code, now.UnixMicro())
	return d, noDevice("store.DeviceByCode", err)
}

// Decide is agent.Store.Decide.
func (s *Agents) Decide(ctx context.Context, code, user string, to agent.State, now time.Time, e audit.Event) (d agent.Device, err error) {
	err = auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) error {
		d, err = devices.Scan(t.Row(`UPDATE agent_devices SET state = $3, user_id = $4 `+waits+` RETURNING `+devices.Names, code, now.UnixMicro(), string(to), user))
		return noDevice("store.Decide", err)
	})
	return d, err
}

// Begin is agent.Store.Begin.
func (s *Agents) Begin(ctx context.Context, device string, k apikey.Key, n agent.SignIn, b agent.Bounds, e audit.Event) error {
	const op = "store.BeginAgent"
	return auditdb.Write(ctx, s.db, e, k.CreatedAt, func(t *sqldb.Tx) error {
		var disabled bool
		if err := t.LockedRow(`SELECT disabled FROM users WHERE id = $1`, k.User).Scan(&disabled); err != nil {
			return sqldb.NoUser(op, err)
		}
		if disabled {
			return fault.New(fault.NotFound, op, "This user may not sign in.")
		}
		if err := t.One(`DELETE FROM agent_devices WHERE hash = $1 AND state = '`+string(agent.Allowed)+`' AND user_id = $2 AND expires_at > $3`, device, k.User, k.CreatedAt.UnixMicro()); err != nil {
			return noDevice(op, err)
		}
		if err := endAgents(t, k.CreatedAt, k.User, `IN (SELECT key_id FROM agents WHERE user_id = $2 AND key_id NOT IN
			(SELECT key_id FROM agents WHERE user_id = $2 ORDER BY renewed_at DESC, key_id LIMIT $3))`, b.SignIns-1); err != nil {
			return err
		}
		if err := insertKey(t, &k, b.Keys); err != nil {
			return err
		}
		return agents.Insert(t, &n)
	})
}

// endAgents deletes sign-ins of a user, with their keys, that a condition on the id of their key chooses: $2 is the user.
func endAgents(t *sqldb.Tx, now time.Time, user, which string, args ...any) error {
	ended, err := t.Exec(`UPDATE api_keys SET deleted_at = $1, updated_at = $1 WHERE deleted_at IS NULL AND user_id = $2 AND id `+which, append([]any{now.UnixMicro(), user}, args...)...)
	if err != nil {
		return err
	}
	if _, err := t.Exec(`DELETE FROM agents WHERE user_id = $1 AND NOT EXISTS (SELECT 1 FROM api_keys k WHERE k.id = agents.key_id AND k.deleted_at IS NULL)`, user); err != nil || ended == 0 {
		return err
	}
	return t.Tell(invalidate.Keys, user)
}

// allAgents chooses all of a user.
const allAgents = `IN (SELECT key_id FROM agents WHERE user_id = $2)`

func (s *Agents) found(ctx context.Context, op, where, value string) (f agent.Found, err error) {
	err = s.db.Find(ctx, func(row sqldb.Scanner) (err error) {
		var until int64
		f.SignIn, err = agents.ScanWith(row, &f.KeyHash, &f.KeyDisabled, &until, &f.UserDisabled, &f.Email)
		f.KeyExpiresAt = time.UnixMicro(until).UTC()
		return err
	}, `SELECT `+agents.Of("a")+`, k.hash, k.disabled, COALESCE(k.expires_at, a.expires_at), u.disabled, COALESCE(l.email, '')
		FROM agents a JOIN api_keys k ON k.id = a.key_id JOIN users u ON u.id = a.user_id LEFT JOIN logins l ON l.user_id = a.user_id WHERE k.deleted_at IS NULL AND `+where, value)
	return f, noAgent(op, err)
}

// SignInBy is agent.Store.SignInBy.
func (s *Agents) SignInBy(ctx context.Context, family string) (agent.Found, error) {
	return s.found(ctx, "store.SignInBy", `a.family = $1`, family)
}

// SignInOf is agent.Store.SignInOf.
func (s *Agents) SignInOf(ctx context.Context, keyHash string) (agent.Found, error) {
	return s.found(ctx, "store.SignInOf", `(k.hash = $1 OR k.previous_hash = $1)`, keyHash)
}

// Renew is agent.Store.Renew.
func (s *Agents) Renew(ctx context.Context, r agent.Renewal) error {
	const op = "store.RenewAgent"
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		if err := t.One(`UPDATE agents SET hash = $1, former = $2, salt = $3, renewed_at = $4 WHERE key_id = $5 AND hash = $2`, r.Hash, r.Former, r.Salt, r.Now.UnixMicro(), r.Key); err != nil {
			return noAgent(op, err)
		}
		key, err := keys.LockedRow(t, `WHERE id = $1 AND deleted_at IS NULL`, r.Key)
		if err != nil {
			return noAgent(op, err)
		}
		if err := labelFree(t, key.User, r.Label); err != nil {
			return err
		}
		key.Previous = apikey.Previous{Hash: key.Hash, Label: key.Label, Until: key.ExpiresAt} // other terminals use it until it expires
		key.Hash, key.Label, key.ExpiresAt, key.UpdatedAt = r.KeyHash, r.Label, r.Until, r.Now
		if err := keys.Update(t, &key, "id; hash, label, expires_at, previous_hash, previous_label, previous_until, updated_at"); err != nil {
			return err
		}
		return t.Tell(invalidate.Keys, key.User)
	})
}

// End is agent.Store.End.
func (s *Agents) End(ctx context.Context, key string, now time.Time, e audit.Event) error {
	return auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) error {
		var user string
		if err := t.LockedRow(`SELECT user_id FROM agents WHERE key_id = $1`, key).Scan(&user); err != nil {
			return noAgent("store.EndAgent", err)
		}
		return endAgents(t, now, user, `= $3`, key)
	})
}

// SignInsOf is agent.Store.SignInsOf.
func (s *Agents) SignInsOf(ctx context.Context, user string) ([]agent.SignIn, error) {
	return agents.List(ctx, s.db, "store.SignInsOf", `WHERE user_id = $1 AND EXISTS (SELECT 1 FROM api_keys k WHERE k.id = agents.key_id AND k.deleted_at IS NULL) ORDER BY renewed_at DESC, key_id`, user)
}

// Sweep is agent.Store.Sweep.
func (s *Agents) Sweep(ctx context.Context, old, now, idle time.Time, n int) (gone int, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		changed, err := t.Exec(`DELETE FROM agent_devices WHERE hash IN (SELECT hash FROM agent_devices WHERE expires_at <= $1 LIMIT $2)`, old.UnixMicro(), n)
		if err != nil {
			return err
		}
		over, err := agents.Rows(t, `WHERE expires_at <= $1 OR renewed_at <= $2 OR NOT EXISTS (SELECT 1 FROM api_keys k WHERE k.id = agents.key_id AND k.deleted_at IS NULL) ORDER BY key_id LIMIT $3`, now.UnixMicro(), idle.UnixMicro(), n)
		if err != nil {
			return err
		}
		reports, err := t.Exec(`DELETE FROM agent_reports WHERE (user_id, session) IN (SELECT user_id, session FROM agent_reports WHERE last_at <= $1 LIMIT $2)`, now.Add(-agent.KeepReport).UnixMicro(), n)
		if err != nil {
			return err
		}
		gone = int(changed) + int(reports) + len(over)
		for i := range over {
			if err := endAgents(t, now, over[i].User, `= $3`, over[i].Key); err != nil {
				return err
			}
		}
		return nil
	})
	return gone, err
}
