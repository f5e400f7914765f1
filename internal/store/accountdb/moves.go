package accountdb

import (
	"context"
	"time"

	"weir/internal/audit"
	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/store/auditdb"
	"weir/internal/store/sqldb"
)

// over begins the hash of a link to a new address that does not work any more. The row stays until it expires, because it counts.
const over = "over "

// AddMove is person.Store.AddMove.
func (s *People) AddMove(ctx context.Context, link, undo auth.Token, perUser, perAddress int, e audit.Event) (done bool, err error) {
	err = auditdb.Write(ctx, s.db, e, link.CreatedAt, func(t *sqldb.Tx) error {
		done = false
		if err := t.LockTable("tokens"); err != nil {
			return err
		}
		var mine, same int
		err := t.Row(`SELECT COUNT(CASE WHEN user_id = $2 THEN 1 END), COUNT(CASE WHEN email = $3 THEN 1 END) FROM tokens WHERE kind = $1 AND (user_id = $2 OR email = $3) AND expires_at > $4`,
			auth.Address, link.User, link.Email, link.CreatedAt.UnixMicro()).Scan(&mine, &same)
		switch {
		case err != nil:
			return err
		case mine >= perUser:
			return fault.Newf(fault.RateLimited, "store.AddMove", "You have asked for another address %d times within a day. Try again tomorrow.", perUser)
		}
		if err := endMoves(t, link.User); err != nil {
			return err
		}
		if same < perAddress {
			done = true
		} else {
			link.Hash = over + link.ID // asking counts for the user, whatever becomes of it
		}
		if err := insertToken(t, &link); err != nil {
			return err
		}
		if done && undo.Hash != "" {
			if err := insertToken(t, &undo); err != nil {
				return err
			}
		}
		return nil
	})
	return done && err == nil, err
}

// endMoves ends a user's links to new addresses.
func endMoves(t *sqldb.Tx, user string) error {
	_, err := t.Exec(`UPDATE tokens SET hash = $1 || id WHERE kind = $2 AND user_id = $3`, over, auth.Address, user)
	return err
}

// notHeld refuses an address that another user may still take back.
func notHeld(t *sqldb.Tx, user, email string, now time.Time) error {
	var held bool
	err := t.Row(`SELECT EXISTS (SELECT 1 FROM tokens WHERE kind = $1 AND email = $2 AND user_id <> $3 AND expires_at > $4)`, auth.Undo, email, user, now.UnixMicro()).Scan(&held)
	if err == nil && held {
		err = fault.New(fault.Conflict, "store.notHeld", "This address was another user's until a few days ago, who may take it back.")
	}
	return err
}

// setAddress gives a user an address, which no other user may have. A user without a login gets one, without a password.
func setAddress(t *sqldb.Tx, op, user, email string, confirmed bool, now time.Time) error {
	if err := t.LockTable("logins"); err != nil {
		return err
	}
	var taken bool
	if err := t.Row(`SELECT EXISTS (SELECT 1 FROM logins WHERE email = $1 AND user_id <> $2)`, email, user).Scan(&taken); err != nil {
		return err
	}
	if taken {
		return fault.New(fault.Conflict, op, "This address is another user's.")
	}
	n, err := t.Exec(`UPDATE logins SET email = $1, confirmed = $2, updated_at = $3 WHERE user_id = $4`, email, confirmed, now.UnixMicro(), user)
	if err != nil || n == 1 {
		return err
	}
	return insertLogin(t, &auth.Login{User: user, Email: email, Confirmed: confirmed, CreatedAt: now})
}

// Move is person.Store.Move.
func (s *People) Move(ctx context.Context, n auth.Move) error {
	const op = "store.Move"
	return auditdb.Write(ctx, s.db, n.Event, n.Now, func(t *sqldb.Tx) error {
		if err := t.LockUser(n.User); err != nil {
			return err
		}
		if n.Use != "" {
			err := t.One(`UPDATE tokens SET hash = $1 || id WHERE hash = $2 AND kind = $3 AND user_id = $4 AND email = $5 AND expires_at > $6`,
				over, n.Use, auth.Address, n.User, n.Email, n.Now.UnixMicro())
			if err != nil {
				return noToken(op, err)
			}
		}
		if err := setAddress(t, op, n.User, n.Email, true, n.Now); err != nil {
			return err
		}
		if err := notHeld(t, n.User, n.Email, n.Now); err != nil {
			return err
		}
		if n.Undo.Hash != "" {
			if err := insertToken(t, &n.Undo); err != nil {
				return err
			}
		}
		if err := endMoves(t, n.User); err != nil {
			return err
		}
		if err := endLinks(t, n.User); err != nil {
			return err
		}
		return endOthers(t, n.User, n.Keep, n.Now)
	})
}

// Unmove is person.Store.Unmove.
func (s *People) Unmove(ctx context.Context, undo auth.Token, now time.Time, e audit.Event) error {
	const op = "store.Unmove"
	return auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) error {
		if err := t.LockUser(undo.User); err != nil {
			return err
		}
		err := t.One(`DELETE FROM tokens WHERE hash = $1 AND kind = $2 AND user_id = $3 AND expires_at > $4`, undo.Hash, auth.Undo, undo.User, now.UnixMicro())
		if err != nil {
			return noToken(op, err)
		}
		// What was made later belongs to addresses that the account should never have had.
		if _, err := t.Exec(`DELETE FROM tokens WHERE kind = $1 AND user_id = $2 AND created_at >= $3`, auth.Undo, undo.User, undo.CreatedAt.UnixMicro()); err != nil {
			return err
		}
		if err := setAddress(t, op, undo.User, undo.Email, undo.Data != auth.Unproven, now); err != nil {
			return err
		}
		if err := endMoves(t, undo.User); err != nil {
			return err
		}
		if err := endLinks(t, undo.User); err != nil {
			return err
		}
		return endOthers(t, undo.User, "", now)
	})
}
