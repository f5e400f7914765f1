package accountdb

import (
	"context"
	"slices"
	"strings"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/invalidate"
	"weir/internal/store/auditdb"
	"weir/internal/store/ledgerdb"
	"weir/internal/store/sqldb"
)

// underWay are what a user must end before they can be forgotten: money or content would arrive afterwards.
var underWay = []struct{ what, text string }{
	{"video jobs", `SELECT COUNT(*) FROM video_jobs WHERE user_id = $1 AND ended = ''`},
	{"batches", `SELECT COUNT(*) FROM batches WHERE user_id = $1 AND ` + ledgerdb.ActiveBatch},
	{"responses in the background", `SELECT COUNT(*) FROM responses WHERE account = $1 AND status IN ('queued', 'in_progress') AND background`},
	{"payments", `SELECT COUNT(*) FROM payments WHERE account = $1 AND state IN ('new', 'pending')`},
}

// forgetting is what is deleted of a user, beside what closeWays ends. What explains money stays: the ledger, calls until their details are dropped,
// invoices and acts with their buyer.
var forgetting = []string{
	`DELETE FROM sessions WHERE user_id = $1`, `DELETE FROM tokens WHERE user_id = $1 OR email IN (SELECT email FROM logins WHERE user_id = $1)`, `DELETE FROM logins WHERE user_id = $1`,
	`DELETE FROM agents WHERE user_id = $1`, `DELETE FROM budgets WHERE account = $1`, `DELETE FROM foreign_names WHERE account = $1`, `DELETE FROM agent_loops WHERE key_id IN (SELECT id FROM api_keys WHERE user_id = $1)`, `DELETE FROM agent_devices WHERE user_id = $1`, `DELETE FROM agent_reports WHERE user_id = $1`,
	`DELETE FROM chats WHERE user_id = $1`, `DELETE FROM views WHERE user_id = $1`, `DELETE FROM presets WHERE user_id = $1`, `DELETE FROM preset_versions WHERE user_id = $1`,
	`DELETE FROM preset_calls WHERE wallet = (SELECT wallet FROM users WHERE id = $1)`, `DELETE FROM idempotency WHERE user_id = $1`,
	`DELETE FROM notify_settings WHERE account = $1`, `DELETE FROM notify_choices WHERE account = $1`, `DELETE FROM notify_facts WHERE account = $1`, `DELETE FROM notify_mails WHERE account = $1`, `DELETE FROM notify_reads WHERE account = $1 OR person = $1`,
	`DELETE FROM webhook_deliveries WHERE account = $1`, `DELETE FROM response_items WHERE account = $1`, `DELETE FROM responses WHERE account = $1`,
	`DELETE FROM batch_items WHERE batch IN (SELECT id FROM batches WHERE user_id = $1)`, `DELETE FROM batches WHERE user_id = $1`, `UPDATE files SET gone = TRUE, name = '' WHERE user_id = $1`,
	// of an organization, or of a person in others'
	`UPDATE org_directories SET version = version + 1 WHERE org IN (SELECT org FROM org_listed WHERE user_id = $1)`, `DELETE FROM org_directories WHERE org = $1`, `DELETE FROM org_group_members WHERE org = $1 OR user_id = $1`, `DELETE FROM org_groups WHERE org = $1`, `DELETE FROM org_listed WHERE org = $1 OR user_id = $1`,
	`DELETE FROM org_invitations WHERE org = $1 OR maker = $1`, `DELETE FROM org_members WHERE org = $1 OR user_id = $1`, `DELETE FROM org_teams WHERE org = $1`, `DELETE FROM org_services WHERE org = $1`,
	`DELETE FROM payment_rules WHERE account = $1`, `UPDATE payments SET email = '', method_title = '' WHERE account = $1`,
	`UPDATE api_keys SET name = '', label = '', previous_label = '', allowed_ips = '', preferences = '' WHERE user_id = $1`,
	`UPDATE users SET name = 'deleted', disabled = TRUE, role = 'user', preferences = '', language = '', theme = '' WHERE id = $1`,
}

// ForgetUser is account.Store.ForgetUser.
func (s *Accounts) ForgetUser(ctx context.Context, user string, now time.Time, e audit.Event) error {
	const op = "store.ForgetUser"
	err := s.db.Write(ctx, func(t *sqldb.Tx) error {
		var role string
		if err := t.LockedRow(`SELECT role FROM users WHERE id = $1`, user).Scan(&role); err != nil {
			return sqldb.NoUser(op, err)
		}
		if err := mayForget(t, op, user, role); err != nil {
			return err
		}
		known, err := addressesOf(t, user)
		if err != nil {
			return err
		}
		if err := closeWays(t, user, now); err != nil {
			return err
		}
		if err := leaveAll(t, op, user, now); err != nil {
			return err
		}
		for _, text := range forgetting {
			if _, err := t.Exec(text, user); err != nil {
				return err
			}
		}
		// The videos are deleted by the next step of their jobs.
		if _, err := t.Exec(`UPDATE video_jobs SET expires_at = $1, due_at = $1 WHERE user_id = $2 AND state = 'completed'`, now.UnixMicro(), user); err != nil {
			return err
		}
		if err := t.Tell(invalidate.Presets, user); err != nil {
			return err
		}
		if e.After, err = eraseFromAudit(t, user, known); err != nil {
			return err
		}
		if e.Name == "user:"+user { // whose network address this is
			e.From = ""
		}
		return auditdb.Record(t, e, now)
	})
	if err != nil {
		return err
	}
	return s.db.Scrub(ctx)
}

// leaveAll ends what a user has to do with organizations: a person leaves all of them, one that is closed ends.
func leaveAll(t *sqldb.Tx, op, user string, now time.Time) error {
	if _, err := t.Exec(`UPDATE organizations SET closed_at = $1 WHERE id = $2 AND closed_at IS NULL`, now.UnixMicro(), user); err != nil {
		return err
	}
	orgs, err := sqldb.All(t, sqldb.Only[string], `SELECT m.org FROM org_members m JOIN organizations o ON o.id = m.org AND o.closed_at IS NULL WHERE m.user_id = $1 ORDER BY m.org`, user)
	if err != nil {
		return err
	}
	for _, org := range orgs {
		if err := lockOrg(t, op, org); err != nil {
			return err
		}
		if err := otherOwner(t, op, org, user); err != nil {
			return err
		}
		if _, err := leave(t, org, user, now); err != nil {
			return err
		}
	}
	return nil
}

func mayForget(t *sqldb.Tx, op, user, role string) error {
	if role == string(apikey.Administrator) {
		if err := otherAdministrator(t, op, user); err != nil {
			return err
		}
	}
	for _, u := range underWay {
		var n int
		if err := t.Row(u.text, user).Scan(&n); err != nil {
			return err
		}
		if n > 0 {
			return fault.Newf(fault.Conflict, op, "The account has %s that have not ended: %d. Cancel them or wait for their end, and delete the account then.", u.what, n)
		}
	}
	return nil
}

// otherAdministrator fails where a user is the last administrator.
func otherAdministrator(t *sqldb.Tx, op, user string) error {
	var others int
	if err := t.Row(`SELECT COUNT(*) FROM users WHERE role = $1 AND NOT disabled AND id <> $2`, string(apikey.Administrator), user).Scan(&others); err != nil || others > 0 {
		return err
	}
	return fault.New(fault.Conflict, op, "This is the last administrator. Make another one first.")
}

var personalActions = "'" + strings.Join(audit.Personal, "', '") + "'"

// ofPerson chooses the rows of the audit chain by or about a user that still tell of people. Of keys that were deleted since, the chain alone knows.
var ofPerson = `(from_addr <> '' OR action IN (` + personalActions + `)) AND (target = $1 OR actor = 'user:' || $1 OR substr(target, 1, length($1) + 1) = $1 || ' '
	OR target IN (` + keysOfPerson + `) OR actor IN (SELECT 'key:' || k.id FROM (` + keysOfPerson + `) k))`

const keysOfPerson = `SELECT id FROM api_keys WHERE user_id = $1 UNION SELECT a.target FROM audit a WHERE a.action = '` + audit.KeyCreated + `' AND a.after LIKE '% of ' || $1 || ',%'`

// eraseFrom empties what is personal in rows that a condition chooses; $2 is the row that will say so.
var eraseFrom = `UPDATE audit SET from_addr = '', salt = '', erased = $2, before = CASE WHEN action IN (` + personalActions + `) THEN '' ELSE before END,
	after = CASE WHEN action IN (` + personalActions + `) THEN '' ELSE after END WHERE erased = 0 AND `

// addressesOf are the addresses of mail that a user has, and those that the audit chain knows of them.
func addressesOf(t *sqldb.Tx, user string) (all []string, err error) {
	all, err = sqldb.All(t, sqldb.Only[string], `SELECT email FROM logins WHERE user_id = $1 AND email IS NOT NULL UNION SELECT before FROM audit WHERE target = $1 AND action = $2 UNION SELECT after FROM audit WHERE target = $1 AND action IN ($2, $3)`,
		user, audit.AddressMoved, audit.AddressKept)
	return slices.DeleteFunc(all, func(email string) bool { return email == "" }), err
}

// eraseFromAudit removes what is personal from the rows of a user, and the addresses from rows of invitations. It returns what the next row, which
// the caller adds, must say of them.
func eraseFromAudit(t *sqldb.Tx, user string, addresses []string) (string, error) {
	if err := t.LockTable("audit"); err != nil {
		return "", err
	}
	var next int64
	if err := t.Row(`SELECT COALESCE(MAX(seq), 0) + 1 FROM audit`).Scan(&next); err != nil {
		return "", err
	}
	if _, err := t.Exec(eraseFrom+ofPerson, user, next); err != nil {
		return "", err
	}
	for _, email := range addresses {
		if _, err := t.Exec(eraseFrom+`action = '`+audit.Invited+`' AND substr(after, length(after) - length($1)) = ' ' || $1`, email, next); err != nil {
			return "", err
		}
	}
	all, err := auditdb.Chain.Rows(t, `WHERE erased = $1 ORDER BY seq`, next)
	var rest audit.Rest
	for i := range all {
		rest.Add(&all[i])
	}
	return rest.String(), err
}
