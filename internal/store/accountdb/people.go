package accountdb

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/invalidate"
	"weir/internal/notify"
	"weir/internal/store/auditdb"
	"weir/internal/store/sqldb"
)

// People has those who sign in, and how.
type People struct{ db *sqldb.DB }

// NewPeople makes the people of a database.
func NewPeople(db *sqldb.DB) *People { return &People{db} }

var (
	_ auth.Store    = (*People)(nil)
	_ notify.People = (*People)(nil)
)

// AddPerson is person.Store.AddPerson.
func (s *People) AddPerson(ctx context.Context, u account.User, l auth.Login, i *auth.Identity, use string, events ...audit.Event) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		if err := insertUser(t, u); err != nil {
			return err
		}
		if l.Email != "" {
			if err := insertLogin(t, &l); err != nil {
				return err
			}
		}
		if i != nil {
			if err := insertIdentity(t, i); err != nil {
				return err
			}
		}
		if err := useToken(t, use, u.CreatedAt); err != nil {
			return err
		}
		return auditdb.RecordAll(t, events, u.CreatedAt)
	})
}

// AddLogin is person.Store.AddLogin.
func (s *People) AddLogin(ctx context.Context, l auth.Login, use string, events ...audit.Event) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		if err := insertLogin(t, &l); err != nil {
			return err
		}
		if err := useToken(t, use, l.CreatedAt); err != nil {
			return err
		}
		return auditdb.RecordAll(t, events, l.CreatedAt)
	})
}

func insertLogin(t *sqldb.Tx, l *auth.Login) error {
	err := logins.AddNew(t, "store.AddLogin", "This address or this user has a login already.", l, "updated_at", l.CreatedAt.UnixMicro())
	if err != nil {
		return err
	}
	// Afterwards: the insert has waited for the account that was leaving the address, and sees what they may take back.
	return notHeld(t, l.User, l.Email, l.CreatedAt)
}

func insertIdentity(t *sqldb.Tx, i *auth.Identity) error {
	return identities.AddNew(t, "store.AddIdentity", "This identity belongs to an account already.", i)
}

// useToken deletes a token that must still be there; "" for none.
func useToken(t *sqldb.Tx, hash string, now time.Time) error {
	if hash == "" {
		return nil
	}
	return noToken("store.UseToken", t.One(`DELETE FROM tokens WHERE hash = $1 AND expires_at > $2`, hash, now.UnixMicro()))
}

func noToken(op string, err error) error { return sqldb.Missing(op, "There is no such token.", err) }

const personColumns = `u.id, u.name, u.wallet, u.role, u.disabled, u.preferences, u.language, u.theme, u.created_at, u.web_key, l.email, l.confirmed, l.password IS NOT NULL AND l.password <> '',
	EXISTS (SELECT 1 FROM second_steps z WHERE z.user_id = u.id)`

func scanPerson(row sqldb.Scanner, before ...any) (p auth.Person, err error) {
	var created int64
	var email sql.NullString
	var confirmed sql.NullBool
	err = row.Scan(append(before, &p.ID, &p.Name, &p.Wallet, &p.Role, &p.Disabled, &p.Preferences, &p.Language, &p.Theme, &created, &p.WebKey, &email, &confirmed, &p.HasPassword, &p.SecondStep)...)
	p.CreatedAt, p.Email, p.Confirmed = time.UnixMicro(created).UTC(), email.String, confirmed.Bool
	return p, err
}

// PersonOf is person.Store.PersonOf.
func (s *People) PersonOf(ctx context.Context, user string) (p auth.Person, err error) {
	err = s.db.Find(ctx, func(row sqldb.Scanner) (err error) { p, err = scanPerson(row); return err },
		`SELECT `+personColumns+` FROM users u LEFT JOIN logins l ON l.user_id = u.id WHERE u.id = $1`, user)
	return p, sqldb.NoUser("store.PersonOf", err)
}

// RecipientsOf is notify.People.RecipientsOf.
func (s *People) RecipientsOf(ctx context.Context, account string) ([]notify.Recipient, error) {
	return sqldb.List(ctx, s.db, "store.RecipientsOf", func(row sqldb.Scanner) (r notify.Recipient, err error) {
		r.Person, err = scanPerson(row, &r.Role)
		return r, err
	}, `SELECT COALESCE(m.role, ''), `+personColumns+` FROM users u JOIN logins l ON l.user_id = u.id LEFT JOIN org_members m ON m.org = $1 AND m.user_id = u.id
		WHERE (u.id = $1 OR m.role IN ($2, $3)) AND l.confirmed AND l.email IS NOT NULL AND NOT u.disabled ORDER BY u.id LIMIT $4`,
		account, string(apikey.OrgOwner), string(apikey.OrgBilling), notify.MostRecipients)
}

var logins = sqldb.Map[auth.Login, struct {
	User      string `db:"user_id"`
	Email     string `db:",null"`
	Password  string
	Confirmed bool
	CreatedAt time.Time
}]("logins")

func (s *People) login(ctx context.Context, op, where, value string) (l auth.Login, err error) {
	l, err = logins.Find(ctx, s.db, `WHERE `+where+` = $1`, value)
	return l, sqldb.Missing(op, "There is no such login.", err)
}

// LoginByEmail is person.Store.LoginByEmail.
func (s *People) LoginByEmail(ctx context.Context, email string) (auth.Login, error) {
	return s.login(ctx, "store.LoginByEmail", "email", email)
}

// LoginOf is person.Store.LoginOf.
func (s *People) LoginOf(ctx context.Context, user string) (auth.Login, error) {
	return s.login(ctx, "store.LoginOf", "user_id", user)
}

// SetPassword is person.Store.SetPassword.
func (s *People) SetPassword(ctx context.Context, user, password, keep, use string, confirm bool, now time.Time, e audit.Event) error {
	return auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) error {
		if confirm {
			var err error
			if confirm, err = firstProof(t, user, now); err != nil {
				return err
			}
		}
		err := t.One(`UPDATE logins SET password = $1, confirmed = confirmed OR $2, updated_at = $3 WHERE user_id = $4`, password, confirm, now.UnixMicro(), user)
		if err != nil {
			return sqldb.Missing("store.SetPassword", "There is no such login.", err)
		}
		if err := useToken(t, use, now); err != nil {
			return err
		}
		if err := endLinks(t, user); err != nil {
			return err
		}
		return endOthers(t, user, keep, now)
	})
}

// firstProof drops what others may have put into an account before its address was proven, and reports whether it is proven now: the mailbox is
// not enough where the account requires a passkey. Administrators keep what they have: only one of them can have made their accounts.
func firstProof(t *sqldb.Tx, user string, now time.Time) (bool, error) {
	if err := t.LockUser(user); err != nil {
		return false, err
	}
	var confirmed, second bool
	var role string
	err := t.Row(`SELECT l.confirmed, u.role, EXISTS (SELECT 1 FROM second_steps z WHERE z.user_id = u.id) FROM users u JOIN logins l ON l.user_id = u.id WHERE u.id = $1`, user).
		Scan(&confirmed, &role, &second)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return true, nil // the change that follows says that there is no login
	case err != nil || second:
		return false, err
	case confirmed || role == string(apikey.Administrator):
		return true, nil
	}
	return true, closeWays(t, user, now)
}

// closeWays ends everything with which somebody could get into an account, or hear of it, but a password.
func closeWays(t *sqldb.Tx, user string, now time.Time) error {
	for _, text := range []string{
		`DELETE FROM passkeys WHERE user_id = $1`, `DELETE FROM identities WHERE user_id = $1`, `DELETE FROM second_steps WHERE user_id = $1`,
		`DELETE FROM tokens WHERE user_id = $1 AND kind <> '` + auth.Reset + `'`, `DELETE FROM provider_keys WHERE user_id = $1`,
		`DELETE FROM webhook_secrets WHERE account = $1`, `UPDATE notify_settings SET webhook = '' WHERE account = $1`, `UPDATE users SET web_key = '' WHERE id = $1`,
	} {
		if _, err := t.Exec(text, user); err != nil {
			return err
		}
	}
	if _, err := t.Exec(`UPDATE api_keys SET deleted_at = $1, updated_at = $1 WHERE user_id = $2 AND deleted_at IS NULL`, now.UnixMicro(), user); err != nil {
		return err
	}
	return errors.Join(t.Tell(invalidate.Keys, user), t.Tell(invalidate.ProviderKeys, user))
}

// endLinks ends the links with which a user could choose a new password.
func endLinks(t *sqldb.Tx, user string) error {
	_, err := t.Exec(`DELETE FROM tokens WHERE kind = $1 AND user_id = $2`, auth.Reset, user)
	return err
}

// endOthers ends all sessions of a user but one, and the sign-ins of agents.
func endOthers(t *sqldb.Tx, user, keep string, now time.Time) error {
	if _, err := t.Exec(`DELETE FROM sessions WHERE user_id = $1 AND hash <> $2`, user, keep); err != nil {
		return err
	}
	return endAgents(t, now, user, allAgents)
}

// removeWay runs what removes a way to sign in. It fails with sentence if there is no such way, and leaves everything as it was where no other
// is left. The user is locked, so that removals at one moment see each other.
func (s *People) removeWay(ctx context.Context, op, sentence string, r *auth.Removal, remove func(*sqldb.Tx) error) error {
	return auditdb.Write(ctx, s.db, r.Event, r.Now, func(t *sqldb.Tx) error {
		if err := t.LockUser(r.User); err != nil {
			return err
		}
		if err := remove(t); err != nil {
			return sqldb.Missing(op, sentence, err)
		}
		if err := wayLeft(t, op, r.User, &r.Ways); err != nil {
			return err
		}
		return endOthers(t, r.User, r.Keep, r.Now)
	})
}

// DeletePassword is person.Store.DeletePassword.
func (s *People) DeletePassword(ctx context.Context, r auth.Removal) error {
	return s.removeWay(ctx, "store.DeletePassword", "There is no password.", &r, func(t *sqldb.Tx) error {
		if err := t.One(`UPDATE logins SET password = '', updated_at = $1 WHERE user_id = $2 AND password <> ''`, r.Now.UnixMicro(), r.User); err != nil {
			return err
		}
		return endLinks(t, r.User)
	})
}

// SetWebKey is person.Store.SetWebKey.
func (s *People) SetWebKey(ctx context.Context, user, before, hash string) (done bool, err error) {
	changed, err := s.db.Exec(ctx, `UPDATE users SET web_key = $1 WHERE id = $2 AND web_key = $3`, hash, user, before)
	return changed == 1, err
}

// FirstAdministrator is person.Store.FirstAdministrator.
func (s *People) FirstAdministrator(ctx context.Context) (u account.User, canSignIn bool, err error) {
	u, err = users.Find(ctx, s.db, `WHERE role = $1 AND NOT disabled ORDER BY created_at, id LIMIT 1`, string(apikey.Administrator))
	if err != nil {
		return u, false, sqldb.NoUser("store.FirstAdministrator", err)
	}
	err = s.db.Read(ctx, &canSignIn, `SELECT EXISTS (SELECT 1 FROM users u WHERE u.role = $1 AND NOT u.disabled AND
		(EXISTS (SELECT 1 FROM logins l WHERE l.user_id = u.id) OR EXISTS (SELECT 1 FROM identities i WHERE i.user_id = u.id) OR EXISTS (SELECT 1 FROM passkeys p WHERE p.user_id = u.id)))`,
		string(apikey.Administrator))
	return u, canSignIn, sqldb.Failure("store.FirstAdministrator", err)
}

// AddSession is person.Store.AddSession.
func (s *People) AddSession(ctx context.Context, n auth.Session, most int, e audit.Event) error {
	return auditdb.Write(ctx, s.db, e, n.CreatedAt, func(t *sqldb.Tx) error {
		if err := sessions.Insert(t, &n); err != nil {
			return err
		}
		_, err := t.Exec(`DELETE FROM sessions WHERE user_id = $1 AND hash <> $2 AND hash NOT IN
			(SELECT hash FROM sessions WHERE user_id = $1 AND hash <> $2 ORDER BY seen_at DESC, hash LIMIT $3)`, n.User, n.Hash, most-1)
		return err
	})
}

var sessions = sqldb.Map[auth.Session, struct {
	ID, Hash, Method, Address, Agent       string
	User                                   string `db:"user_id"`
	CreatedAt, ProvedAt, SeenAt, ExpiresAt time.Time
}]("sessions")

// SessionBy is person.Store.SessionBy.
func (s *People) SessionBy(ctx context.Context, hash string) (n auth.Session, p auth.Person, err error) {
	err = s.db.Find(ctx, func(row sqldb.Scanner) (err error) {
		var since, until int64
		p, err = scanPerson(row, append(sessions.Into(&n), &n.Sees, &since, &until)...)
		if n.Sees != "" {
			n.SeesSince, n.SeesUntil = time.UnixMicro(since).UTC(), time.UnixMicro(until).UTC()
		}
		return err
	}, `SELECT `+sessions.Of("s")+`, COALESCE(v.user_id, ''), COALESCE(v.began_at, 0), COALESCE(v.until_at, 0), `+personColumns+`
		FROM sessions s JOIN users u ON u.id = s.user_id LEFT JOIN logins l ON l.user_id = u.id LEFT JOIN seeing v ON v.session = s.hash WHERE s.hash = $1`, hash)
	return n, p, noSession("store.SessionBy", err)
}

var seeing = sqldb.Map[auth.Seeing, struct {
	Session string
	By      string `db:"viewer"`
	User    string `db:"user_id"`
	BeganAt time.Time
	Until   time.Time `db:"until_at"`
}]("seeing")

// BeginSeeing is person.Store.BeginSeeing.
func (s *People) BeginSeeing(ctx context.Context, n auth.Seeing, e audit.Event) error {
	const op = "store.BeginSeeing"
	return auditdb.Write(ctx, s.db, e, n.BeganAt, func(t *sqldb.Tx) error {
		var user string
		if err := t.LockedRow(`SELECT user_id FROM sessions WHERE hash = $1`, n.Session).Scan(&user); err != nil {
			return noSession(op, err)
		}
		return seeing.AddNew(t, op, "You look at the pages of a person already. End that first.", &n)
	})
}

// EndSeeing is person.Store.EndSeeing.
func (s *People) EndSeeing(ctx context.Context, session string, now time.Time, e audit.Event) error {
	return auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) error {
		return noSession("store.EndSeeing", t.One(`DELETE FROM seeing WHERE session = $1`, session))
	})
}

// SeeingOver is person.Store.SeeingOver.
func (s *People) SeeingOver(ctx context.Context, now time.Time, n int) ([]auth.Seeing, error) {
	return seeing.List(ctx, s.db, "store.SeeingOver", `WHERE until_at <= $1 OR NOT EXISTS (SELECT 1 FROM sessions s WHERE s.hash = seeing.session) ORDER BY session LIMIT $2`, now.UnixMicro(), n)
}

func noSession(op string, err error) error {
	return sqldb.Missing(op, "There is no such session.", err)
}

// TouchSession is person.Store.TouchSession.
func (s *People) TouchSession(ctx context.Context, hash string, at time.Time, proved bool) error {
	return s.db.WriteLazily(ctx, func(t *sqldb.Tx) error {
		return noSession("store.TouchSession", t.One(`UPDATE sessions SET seen_at = $1, proved_at = CASE WHEN $2 THEN $1 ELSE proved_at END WHERE hash = $3`, at.UnixMicro(), proved, hash))
	})
}

// SessionsOf is person.Store.SessionsOf.
func (s *People) SessionsOf(ctx context.Context, user string, now time.Time) ([]auth.Session, error) {
	return sessions.List(ctx, s.db, "store.SessionsOf", `WHERE user_id = $1 AND expires_at > $2 ORDER BY seen_at DESC, id`, user, now.UnixMicro())
}

// EndSession is person.Store.EndSession.
func (s *People) EndSession(ctx context.Context, user, id string, now time.Time, e audit.Event) error {
	return auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) error {
		return noSession("store.EndSession", t.One(`DELETE FROM sessions WHERE user_id = $1 AND id = $2`, user, id))
	})
}

// EndSessions is person.Store.EndSessions.
func (s *People) EndSessions(ctx context.Context, user, keep string, now time.Time, e audit.Event) (ended int, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		var with int
		if err := t.Row(`SELECT COUNT(*) FROM sessions WHERE user_id = $1 AND hash <> $2`, user, keep).Scan(&ended); err != nil {
			return err
		}
		if err := t.Row(`SELECT COUNT(*) FROM agents WHERE user_id = $1`, user).Scan(&with); err != nil {
			return err
		}
		if ended += with; ended == 0 {
			return nil
		}
		if err := endOthers(t, user, keep, now); err != nil {
			return err
		}
		return auditdb.Record(t, e, now)
	})
	return ended, err
}

// AddToken is person.Store.AddToken.
func (s *People) AddToken(ctx context.Context, n auth.Token, most int, events ...audit.Event) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		if err := t.LockTable("tokens"); err != nil {
			return err
		}
		var open int
		owner := n.Email
		if n.Kind == auth.Invitation {
			owner = "" // counted by who makes them
		}
		err := t.Row(`SELECT COUNT(*) FROM tokens WHERE kind = $1 AND user_id = $2 AND ($3 = '' OR email = $3) AND expires_at > $4`,
			n.Kind, n.User, owner, n.CreatedAt.UnixMicro()).Scan(&open)
		if err != nil {
			return err
		}
		switch {
		case open < most:
		case n.Kind == auth.Invitation:
			return fault.Newf(fault.RateLimited, "store.AddToken", "There are %d invitations open already. Withdraw some, or wait until they expire.", most)
		default:
			if _, err := t.Exec(`DELETE FROM tokens WHERE hash IN (SELECT hash FROM tokens WHERE kind = $1 AND user_id = $2 AND ($3 = '' OR email = $3) AND expires_at > $4
				ORDER BY created_at, id LIMIT $5)`, n.Kind, n.User, owner, n.CreatedAt.UnixMicro(), open-most+1); err != nil {
				return err
			}
		}
		if err := insertToken(t, &n); err != nil {
			return err
		}
		return auditdb.RecordAll(t, events, n.CreatedAt)
	})
}

func insertToken(t *sqldb.Tx, n *auth.Token) error {
	return tokens.Insert(t, n)
}

var tokens = sqldb.Map[auth.Token, struct {
	Hash, ID, Kind, Email, Note, Data string
	User                              string `db:"user_id"`
	Role                              apikey.Role
	CreatedAt, ExpiresAt              time.Time
}]("tokens")

// TokenBy is person.Store.TokenBy.
func (s *People) TokenBy(ctx context.Context, kind, hash string, now time.Time) (n auth.Token, err error) {
	n, err = tokens.Find(ctx, s.db, `WHERE hash = $1 AND kind = $2 AND expires_at > $3`, hash, kind, now.UnixMicro())
	return n, noToken("store.TokenBy", err)
}

// UseToken is person.Store.UseToken.
func (s *People) UseToken(ctx context.Context, kind, hash string, now time.Time) (n auth.Token, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) (err error) {
		n, err = tokens.Scan(t.Row(`DELETE FROM tokens WHERE hash = $1 AND kind = $2 AND expires_at > $3 RETURNING `+tokens.Names, hash, kind, now.UnixMicro()))
		return noToken("store.UseToken", err)
	})
	return n, err
}

// Tokens is person.Store.Tokens.
func (s *People) Tokens(ctx context.Context, kind string, now time.Time) ([]auth.Token, error) {
	return tokens.List(ctx, s.db, "store.Tokens", `WHERE kind = $1 AND expires_at > $2 ORDER BY created_at DESC, id LIMIT 1000`, kind, now.UnixMicro())
}

// DeleteToken is person.Store.DeleteToken.
func (s *People) DeleteToken(ctx context.Context, kind, id string, now time.Time, e audit.Event) error {
	return auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) error {
		return noToken("store.DeleteToken", t.One(`DELETE FROM tokens WHERE kind = $1 AND id = $2`, kind, id))
	})
}

// SweepPeople is person.Store.SweepPeople.
func (s *People) SweepPeople(ctx context.Context, now, idle time.Time, n int) (gone int, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		gone = 0
		for _, step := range []struct {
			text string
			args []any
		}{
			{`DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions WHERE expires_at <= $1 OR seen_at <= $2 LIMIT $3)`, []any{now.UnixMicro(), idle.UnixMicro(), n}},
			{`DELETE FROM tokens WHERE hash IN (SELECT hash FROM tokens WHERE expires_at <= $1 LIMIT $2)`, []any{now.UnixMicro(), n}},
		} {
			changed, err := t.Exec(step.text, step.args...)
			if err != nil {
				return err
			}
			gone += int(changed)
		}
		return nil
	})
	return gone, err
}

// AddPasskey is person.Store.AddPasskey.
func (s *People) AddPasskey(ctx context.Context, p auth.Passkey, most int, e audit.Event) error {
	return auditdb.Write(ctx, s.db, e, p.CreatedAt, func(t *sqldb.Tx) error {
		if err := t.KnownUser(p.User); err != nil {
			return sqldb.NoUser("store.AddPasskey", err)
		}
		var have int
		if err := t.Row(`SELECT COUNT(*) FROM passkeys WHERE user_id = $1`, p.User).Scan(&have); err != nil {
			return err
		}
		if have >= most {
			return fault.Newf(fault.Invalid, "store.AddPasskey", "An account may have %d passkeys. Remove one that is not used.", most)
		}
		return passkeys.AddNew(t, "store.AddPasskey", "This passkey belongs to an account already.", &p)
	})
}

var passkeys = sqldb.Map[auth.Passkey, struct {
	ID, Name, Data string
	User           string `db:"user_id"`
	CreatedAt      time.Time
	UsedAt         time.Time `db:",null"`
}]("passkeys")

// PasskeysOf is person.Store.PasskeysOf.
func (s *People) PasskeysOf(ctx context.Context, user string) ([]auth.Passkey, error) {
	return passkeys.List(ctx, s.db, "store.PasskeysOf", `WHERE user_id = $1 ORDER BY created_at, id`, user)
}

// PasskeyBy is person.Store.PasskeyBy.
func (s *People) PasskeyBy(ctx context.Context, id string) (p auth.Passkey, err error) {
	p, err = passkeys.Find(ctx, s.db, `WHERE id = $1`, id)
	return p, noPasskey("store.PasskeyBy", err)
}

func noPasskey(op string, err error) error {
	return sqldb.Missing(op, "There is no such passkey.", err)
}

// UsedPasskey is person.Store.UsedPasskey.
func (s *People) UsedPasskey(ctx context.Context, id, before, data string, at time.Time) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		return noPasskey("store.UsedPasskey", t.One(`UPDATE passkeys SET data = $1, used_at = $2 WHERE id = $3 AND data = $4`, data, at.UnixMicro(), id, before))
	})
}

// RenamePasskey is person.Store.RenamePasskey.
func (s *People) RenamePasskey(ctx context.Context, user, id, name string, now time.Time, e audit.Event) error {
	return auditdb.Change(ctx, s.db, now, func(t *sqldb.Tx) (audit.Event, error) {
		var was string
		if err := t.LockedRow(`SELECT name FROM passkeys WHERE user_id = $1 AND id = $2`, user, id).Scan(&was); err != nil {
			return e, noPasskey("store.RenamePasskey", err)
		}
		if was == name {
			return audit.Event{}, nil
		}
		return e, t.One(`UPDATE passkeys SET name = $1 WHERE user_id = $2 AND id = $3`, name, user, id)
	})
}

// wayLeft refuses a change after which a user could not sign in.
func wayLeft(t *sqldb.Tx, op, user string, ways *auth.Ways) error {
	if ways.Always {
		return nil
	}
	var has bool
	err := t.Row(`SELECT EXISTS (SELECT 1 FROM passkeys WHERE user_id = $1) OR ($2 AND EXISTS (SELECT 1 FROM logins WHERE user_id = $1 AND password <> ''))`, user, ways.Passwords).Scan(&has)
	for i := 0; err == nil && !has && i < len(ways.Issuers); i++ {
		err = t.Row(`SELECT EXISTS (SELECT 1 FROM identities WHERE user_id = $1 AND issuer = $2)`, user, ways.Issuers[i]).Scan(&has)
	}
	if err == nil && !has {
		err = fault.New(fault.Conflict, op, "This is the last way to sign in to the account. Add another one before you remove it.")
	}
	return err
}

// DeletePasskey is person.Store.DeletePasskey.
func (s *People) DeletePasskey(ctx context.Context, id string, r auth.Removal) error {
	const op = "store.DeletePasskey"
	return s.removeWay(ctx, op, "There is no such passkey.", &r, func(t *sqldb.Tx) error {
		if err := t.One(`DELETE FROM passkeys WHERE user_id = $1 AND id = $2`, r.User, id); err != nil {
			return err
		}
		var stranded bool
		err := t.Row(`SELECT EXISTS (SELECT 1 FROM second_steps WHERE user_id = $1) AND NOT EXISTS (SELECT 1 FROM passkeys WHERE user_id = $1)`, r.User).Scan(&stranded)
		if err == nil && stranded {
			err = fault.New(fault.Conflict, op, "This is the last passkey, and the account requires one. Add another one, or stop requiring it, before you remove it.")
		}
		return err
	})
}

// SetSecondStep is person.Store.SetSecondStep. The user is locked, as where passkeys are removed.
func (s *People) SetSecondStep(ctx context.Context, user string, on bool, keep string, now time.Time, e audit.Event) error {
	const op = "store.SetSecondStep"
	return auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) error {
		if err := t.LockUser(user); err != nil {
			return err
		}
		var has bool
		if err := t.Row(`SELECT EXISTS (SELECT 1 FROM passkeys WHERE user_id = $1)`, user).Scan(&has); err != nil {
			return err
		}
		change := `DELETE FROM second_steps WHERE user_id = $1`
		args := []any{user}
		switch {
		case on && !has:
			return fault.New(fault.Conflict, op, "The account has no passkey. Add one before you require it.")
		case on:
			change, args = `INSERT INTO second_steps (user_id, since) VALUES ($1, $2) ON CONFLICT DO NOTHING`, append(args, now.UnixMicro())
		}
		if _, err := t.Exec(change, args...); err != nil {
			return err
		}
		return endOthers(t, user, keep, now)
	})
}

// AddIdentity is person.Store.AddIdentity.
func (s *People) AddIdentity(ctx context.Context, i auth.Identity, e audit.Event) error {
	return auditdb.Write(ctx, s.db, e, i.CreatedAt, func(t *sqldb.Tx) error {
		return insertIdentity(t, &i)
	})
}

var identities = sqldb.Map[auth.Identity, struct {
	Issuer, Subject, Email string
	User                   string `db:"user_id"`
	CreatedAt              time.Time
}]("identities")

// IdentityBy is person.Store.IdentityBy.
func (s *People) IdentityBy(ctx context.Context, issuer, subject string) (i auth.Identity, err error) {
	i, err = identities.Find(ctx, s.db, `WHERE issuer = $1 AND subject = $2`, issuer, subject)
	return i, sqldb.Missing("store.IdentityBy", "There is no such identity.", err)
}

// IdentitiesOf is person.Store.IdentitiesOf.
func (s *People) IdentitiesOf(ctx context.Context, user string) ([]auth.Identity, error) {
	return identities.List(ctx, s.db, "store.IdentitiesOf", `WHERE user_id = $1 ORDER BY created_at, issuer, subject`, user)
}

// DeleteIdentity is person.Store.DeleteIdentity.
func (s *People) DeleteIdentity(ctx context.Context, issuer, subject string, r auth.Removal) error {
	return s.removeWay(ctx, "store.DeleteIdentity", "There is no such identity.", &r, func(t *sqldb.Tx) error {
		return t.One(`DELETE FROM identities WHERE user_id = $1 AND issuer = $2 AND subject = $3`, r.User, issuer, subject)
	})
}
