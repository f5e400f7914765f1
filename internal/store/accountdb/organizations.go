package accountdb

import (
	"context"
	"errors"
	"time"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/invalidate"
	"weir/internal/organization"
	"weir/internal/store/auditdb"
	"weir/internal/store/sqldb"
)

// Organizations has accounts of several people.
type Organizations struct{ db *sqldb.DB }

// NewOrganizations makes the organizations of a database.
func NewOrganizations(db *sqldb.DB) *Organizations { return &Organizations{db} }

var _ organization.Store = (*Organizations)(nil)

var orgTeams = sqldb.Map[organization.Team, struct {
	ID, Org, Name string
	CreatedAt     time.Time
}]("org_teams")

var orgServices = sqldb.Map[organization.Service, struct {
	ID, Org, Name, Team, Creator string
	CreatedAt                    time.Time
	EndedAt                      time.Time `db:",null"`
}]("org_services")

var orgInvitations = sqldb.Map[organization.Invitation, struct {
	ID, Hash, Org, Email, Team, Note, Maker string
	Role                                    apikey.OrgRole
	Places, Taken                           int
	CreatedAt, ExpiresAt                    time.Time
	SentAt, OpenedAt                        time.Time `db:",null"`
}]("org_invitations")

// orgMembers has the columns that are written of a member.
var orgMembers = sqldb.Map[organization.Member, struct {
	Org      string
	User     string `db:"user_id"`
	Role     apikey.OrgRole
	Team     string
	Source   organization.Source
	JoinedAt time.Time
}]("org_members")

func noOrg(op string, err error) error     { return sqldb.NoneOf(op, "organization", err) }
func noMember(op string, err error) error  { return sqldb.NoneOf(op, "member", err) }
func noTeam(op string, err error) error    { return sqldb.NoneOf(op, "team", err) }
func noService(op string, err error) error { return sqldb.NoneOf(op, "service", err) }
func noInvite(op string, err error) error  { return sqldb.NoneOf(op, "invitation", err) }

const orgColumns = `o.id, u.name, u.wallet, o.creator, o.sees, u.disabled, o.created_at`

func orgInto(o *organization.Organization, created *int64) []any {
	return []any{&o.ID, &o.Name, &o.Wallet, &o.Creator, &o.Sees, &o.Disabled, created}
}

// lockOrg has changes of members wait for one another.
func lockOrg(t *sqldb.Tx, op, org string) error {
	var id string
	return noOrg(op, t.LockedRow(`SELECT id FROM organizations WHERE id = $1 AND closed_at IS NULL`, org).Scan(&id))
}

// fewer fails when a query counts most.
func fewer(t *sqldb.Tx, op, what string, most int, text string, args ...any) error {
	var n int
	if err := t.Row(text, args...).Scan(&n); err != nil || n < most {
		return err
	}
	return fault.Newf(fault.Invalid, op, "There may be %d %s. Remove one that is not needed.", most, what)
}

// AddOrganization is organization.Store.AddOrganization.
func (s *Organizations) AddOrganization(ctx context.Context, o organization.Organization, most int, e audit.Event) error {
	const op = "store.AddOrganization"
	return auditdb.Write(ctx, s.db, e, o.CreatedAt, func(t *sqldb.Tx) error {
		if err := t.KnownUser(o.Creator); err != nil {
			return sqldb.NoUser(op, err)
		}
		if err := fewer(t, op, "organizations that you have made", most, `SELECT COUNT(*) FROM organizations WHERE creator = $1 AND closed_at IS NULL`, o.Creator); err != nil {
			return err
		}
		if err := insertUser(t, account.User{ID: o.ID, Name: o.Name, Wallet: o.Wallet, Role: apikey.User, CreatedAt: o.CreatedAt}); err != nil {
			return err
		}
		if err := t.One(`UPDATE users SET kind = 'organization' WHERE id = $1`, o.ID); err != nil {
			return err
		}
		if _, err := t.Exec(`INSERT INTO organizations (id, creator, sees, created_at) VALUES ($1, $2, $3, $4)`, o.ID, o.Creator, string(o.Sees), o.CreatedAt.UnixMicro()); err != nil {
			return err
		}
		return orgMembers.Insert(t, &organization.Member{Org: o.ID, User: o.Creator, Role: apikey.OrgOwner, JoinedAt: o.CreatedAt})
	})
}

const membershipColumns = orgColumns + `, m.role, m.team, m.web_key FROM org_members m JOIN organizations o ON o.id = m.org AND o.closed_at IS NULL JOIN users u ON u.id = o.id`

func scanMembership(row sqldb.Scanner) (ms organization.Membership, err error) {
	var created int64
	err = row.Scan(append(orgInto(&ms.Organization, &created), &ms.Role, &ms.Team, &ms.WebKey)...)
	ms.CreatedAt = time.UnixMicro(created).UTC()
	return ms, err
}

// MembershipOf is organization.Store.MembershipOf.
func (s *Organizations) MembershipOf(ctx context.Context, org, user string) (ms organization.Membership, err error) {
	err = s.db.Find(ctx, func(row sqldb.Scanner) (err error) { ms, err = scanMembership(row); return err },
		`SELECT `+membershipColumns+` WHERE m.org = $1 AND m.user_id = $2`, org, user)
	return ms, noOrg("store.MembershipOf", err)
}

// Organizations is organization.Store.Organizations.
func (s *Organizations) Organizations(ctx context.Context, id string) ([]organization.Organization, error) {
	return sqldb.List(ctx, s.db, "store.Organizations", func(row sqldb.Scanner) (o organization.Organization, err error) {
		var created int64
		err = row.Scan(orgInto(&o, &created)...)
		o.CreatedAt = time.UnixMicro(created).UTC()
		return o, err
	}, `SELECT `+orgColumns+` FROM organizations o JOIN users u ON u.id = o.id WHERE o.closed_at IS NULL AND (o.id = $1 OR $1 = '') ORDER BY u.name, o.id`, id)
}

// Memberships is organization.Store.Memberships.
func (s *Organizations) Memberships(ctx context.Context, user string) ([]organization.Membership, error) {
	return sqldb.List(ctx, s.db, "store.Memberships", scanMembership, `SELECT `+membershipColumns+` WHERE m.user_id = $1 AND NOT u.disabled ORDER BY u.name, o.id`, user)
}

// ChangeOrganization is organization.Store.ChangeOrganization.
func (s *Organizations) ChangeOrganization(ctx context.Context, org string, now time.Time, change func(*organization.Organization) (audit.Event, error)) error {
	const op = "store.ChangeOrganization"
	return auditdb.Change(ctx, s.db, now, func(t *sqldb.Tx) (e audit.Event, err error) {
		if err := lockOrg(t, op, org); err != nil {
			return e, err
		}
		var o organization.Organization
		var created int64
		if err := t.Row(`SELECT `+orgColumns+` FROM organizations o JOIN users u ON u.id = o.id WHERE o.id = $1`, org).Scan(orgInto(&o, &created)...); err != nil {
			return e, noOrg(op, err)
		}
		if e, err = change(&o); err != nil || e.Action == "" {
			return e, err
		}
		if err := t.One(`UPDATE organizations SET sees = $1 WHERE id = $2`, string(o.Sees), org); err != nil {
			return e, err
		}
		return e, t.One(`UPDATE users SET name = $1, updated_at = $2 WHERE id = $3`, o.Name, now.UnixMicro(), org)
	})
}

// SetOrgWebKey is organization.Store.SetOrgWebKey.
func (s *Organizations) SetOrgWebKey(ctx context.Context, org, user, before, hash string) (bool, error) {
	n, err := s.db.Exec(ctx, `UPDATE org_members SET web_key = $1 WHERE org = $2 AND user_id = $3 AND web_key = $4`, hash, org, user, before)
	return n == 1, sqldb.Failure("store.SetOrgWebKey", err)
}

// Members is organization.Store.Members.
func (s *Organizations) Members(ctx context.Context, org string) ([]organization.Member, error) {
	return sqldb.List(ctx, s.db, "store.Members", func(row sqldb.Scanner) (organization.Member, error) {
		var name, email string
		x, err := orgMembers.ScanWith(row, &name, &email)
		x.Name, x.Email = name, email
		return x, err
	}, `SELECT `+orgMembers.Of("m")+`, u.name, COALESCE(l.email, '') FROM org_members m JOIN users u ON u.id = m.user_id LEFT JOIN logins l ON l.user_id = m.user_id WHERE m.org = $1 ORDER BY u.name, m.user_id`, org)
}

// otherOwner fails where a member is the last owner.
func otherOwner(t *sqldb.Tx, op, org, user string) error {
	var role apikey.OrgRole
	if err := t.Row(`SELECT role FROM org_members WHERE org = $1 AND user_id = $2`, org, user).Scan(&role); err != nil || role != apikey.OrgOwner {
		return noMember(op, err)
	}
	var others int
	if err := t.Row(`SELECT COUNT(*) FROM org_members m JOIN users u ON u.id = m.user_id WHERE m.org = $1 AND m.role = $2 AND m.user_id <> $3 AND NOT u.disabled`, org, string(apikey.OrgOwner), user).Scan(&others); err != nil || others > 0 {
		return err
	}
	return fault.New(fault.Conflict, op, "This is the last owner. Make another member an owner first, or close the organization.")
}

// SetMember is organization.Store.SetMember.
func (s *Organizations) SetMember(ctx context.Context, org, user string, now time.Time, change func(*organization.Member) (audit.Event, error)) (m organization.Member, err error) {
	const op = "store.SetMember"
	err = auditdb.Change(ctx, s.db, now, func(t *sqldb.Tx) (e audit.Event, err error) {
		if err := lockOrg(t, op, org); err != nil {
			return e, err
		}
		if m, err = orgMembers.LockedRow(t, `WHERE org = $1 AND user_id = $2`, org, user); err != nil {
			return e, noMember(op, err)
		}
		if e, err = change(&m); err != nil || e.Action == "" {
			return e, err
		}
		if err := knownTeam(t, op, org, m.Team); err != nil {
			return e, err
		}
		return e, setMember(t, op, &m, now)
	})
	return m, err
}

// knownTeam fails for a team that was deleted meanwhile.
func knownTeam(t *sqldb.Tx, op, org, team string) error {
	if team == "" {
		return nil
	}
	var id string
	return noTeam(op, t.LockedRow(`SELECT id FROM org_teams WHERE org = $1 AND id = $2`, org, team).Scan(&id))
}

// endKeysOf deletes the keys of a member or a service, and returns how many they were.
func endKeysOf(t *sqldb.Tx, org, member string, now time.Time) (int, error) {
	n, err := t.Exec(`UPDATE api_keys SET deleted_at = $1, updated_at = $1 WHERE user_id = $2 AND member = $3 AND deleted_at IS NULL`, now.UnixMicro(), org, member)
	return int(n), err
}

// AddMember is organization.Store.AddMember.
func (s *Organizations) AddMember(ctx context.Context, m organization.Member, most int, e audit.Event) error {
	const op = "store.AddMember"
	return auditdb.Write(ctx, s.db, e, m.JoinedAt, func(t *sqldb.Tx) error {
		if err := lockOrg(t, op, m.Org); err != nil {
			return err
		}
		var kind string
		if err := t.Row(`SELECT kind FROM users WHERE id = $1`, m.User).Scan(&kind); err != nil || kind != "" {
			return noPerson(op, err)
		}
		if err := knownTeam(t, op, m.Org, m.Team); err != nil {
			return err
		}
		if err := fewer(t, op, "members", most, `SELECT COUNT(*) FROM org_members WHERE org = $1`, m.Org); err != nil {
			return err
		}
		return orgMembers.AddNew(t, op, alreadyMember, &m)
	})
}

// noPerson is the error for an account that is none of a person.
func noPerson(op string, err error) error {
	if err == nil {
		return fault.New(fault.Invalid, op, "An organization cannot be a member.")
	}
	return sqldb.NoUser(op, err)
}

// RemoveMember is organization.Store.RemoveMember.
func (s *Organizations) RemoveMember(ctx context.Context, org, user string, now time.Time, e audit.Event) (keys int, err error) {
	const op = "store.RemoveMember"
	err = auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) error {
		if err := lockOrg(t, op, org); err != nil {
			return err
		}
		if err := otherOwner(t, op, org, user); err != nil {
			return err
		}
		keys, err = leave(t, org, user, now)
		return noMember(op, err)
	})
	return keys, err
}

// leave ends a membership with its keys.
func leave(t *sqldb.Tx, org, user string, now time.Time) (keys int, err error) {
	if keys, err = endKeysOf(t, org, user, now); err != nil {
		return 0, err
	}
	if err := t.One(`DELETE FROM org_members WHERE org = $1 AND user_id = $2`, org, user); err != nil {
		return 0, err
	}
	if _, err := t.Exec(`DELETE FROM notify_reads WHERE account = $1 AND person = $2`, org, user); err != nil {
		return 0, err
	}
	return keys, t.Tell(invalidate.Keys, org)
}

// KeyCounts is organization.Store.KeyCounts.
func (s *Organizations) KeyCounts(ctx context.Context, org string) (map[string]int, error) {
	counts := map[string]int{}
	_, err := sqldb.List(ctx, s.db, "store.KeyCounts", func(row sqldb.Scanner) (member string, err error) {
		var n int
		err = row.Scan(&member, &n)
		counts[member] = n
		return member, err
	}, `SELECT member, COUNT(*) FROM api_keys WHERE user_id = $1 AND parent = '' AND deleted_at IS NULL GROUP BY member`, org)
	return counts, err
}

// Names is organization.Store.Names. Who has left is known by the keys that they had.
func (s *Organizations) Names(ctx context.Context, org string) (map[string]organization.Named, error) {
	names := map[string]organization.Named{}
	_, err := sqldb.List(ctx, s.db, "store.Names", func(row sqldb.Scanner) (id string, err error) {
		var n organization.Named
		err = row.Scan(&id, &n.Name, &n.Team)
		names[id] = n
		return id, err
	}, `SELECT id, name, '' FROM org_teams WHERE org = $1
		UNION ALL SELECT id, name, team FROM org_services WHERE org = $1
		UNION ALL SELECT u.id, u.name, COALESCE(m.team, '') FROM users u LEFT JOIN org_members m ON m.org = $1 AND m.user_id = u.id
			WHERE u.id IN (SELECT user_id FROM org_members WHERE org = $1 UNION SELECT member FROM api_keys WHERE user_id = $1)`, org)
	return names, err
}

// Teams is organization.Store.Teams.
func (s *Organizations) Teams(ctx context.Context, org string) ([]organization.Team, error) {
	return orgTeams.List(ctx, s.db, "store.Teams", `WHERE org = $1 ORDER BY name, id`, org)
}

const alreadyMember = "You are a member of this organization already."

const teamTaken = "Another team has this name."

// AddTeam is organization.Store.AddTeam.
func (s *Organizations) AddTeam(ctx context.Context, n organization.Team, most int, e audit.Event) error {
	const op = "store.AddTeam"
	return auditdb.Write(ctx, s.db, e, n.CreatedAt, func(t *sqldb.Tx) error {
		if err := lockOrg(t, op, n.Org); err != nil {
			return err
		}
		if err := fewer(t, op, "teams", most, `SELECT COUNT(*) FROM org_teams WHERE org = $1`, n.Org); err != nil {
			return err
		}
		return orgTeams.AddNew(t, op, teamTaken, &n)
	})
}

// RenameTeam is organization.Store.RenameTeam.
func (s *Organizations) RenameTeam(ctx context.Context, org, id, name string, now time.Time, e audit.Event) error {
	const op = "store.RenameTeam"
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		if err := lockOrg(t, op, org); err != nil {
			return err
		}
		var same, others int
		if err := t.Row(`SELECT COUNT(CASE WHEN id = $3 THEN 1 END), COUNT(CASE WHEN id <> $3 THEN 1 END) FROM org_teams WHERE org = $1 AND name = $2`, org, name, id).Scan(&same, &others); err != nil || same > 0 {
			return err
		}
		if others > 0 {
			return fault.New(fault.Conflict, op, teamTaken)
		}
		if err := t.One(`UPDATE org_teams SET name = $1 WHERE org = $2 AND id = $3`, name, org, id); err != nil {
			return noTeam(op, err)
		}
		return auditdb.Record(t, e, now)
	})
}

// DeleteTeam is organization.Store.DeleteTeam.
func (s *Organizations) DeleteTeam(ctx context.Context, org, id string, now time.Time, e audit.Event) error {
	const op = "store.DeleteTeam"
	return auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) error {
		if err := lockOrg(t, op, org); err != nil {
			return err
		}
		if err := t.One(`DELETE FROM org_teams WHERE org = $1 AND id = $2`, org, id); err != nil {
			return noTeam(op, err)
		}
		for _, table := range []string{"org_members", "org_services", "org_invitations"} {
			if _, err := t.Exec(`UPDATE `+table+` SET team = '' WHERE org = $1 AND team = $2`, org, id); err != nil {
				return err
			}
		}
		return t.Tell(invalidate.Keys, org)
	})
}

// Services is organization.Store.Services.
func (s *Organizations) Services(ctx context.Context, org string) ([]organization.Service, error) {
	return orgServices.List(ctx, s.db, "store.Services", `WHERE org = $1 AND ended_at IS NULL ORDER BY name, id`, org)
}

// AddService is organization.Store.AddService.
func (s *Organizations) AddService(ctx context.Context, n organization.Service, most int, e audit.Event) error {
	const op = "store.AddService"
	return auditdb.Write(ctx, s.db, e, n.CreatedAt, func(t *sqldb.Tx) error {
		if err := lockOrg(t, op, n.Org); err != nil {
			return err
		}
		if _, err := t.Exec(`DELETE FROM org_services WHERE org = $1 AND ended_at IS NOT NULL AND id NOT IN (SELECT member FROM api_keys WHERE user_id = $1)`, n.Org); err != nil {
			return err
		}
		if err := fewer(t, op, "services", most, `SELECT COUNT(*) FROM org_services WHERE org = $1 AND ended_at IS NULL`, n.Org); err != nil {
			return err
		}
		if err := knownTeam(t, op, n.Org, n.Team); err != nil {
			return err
		}
		return orgServices.Insert(t, &n)
	})
}

// ChangeService is organization.Store.ChangeService.
func (s *Organizations) ChangeService(ctx context.Context, org, id string, now time.Time, change func(*organization.Service) (audit.Event, error)) (n organization.Service, err error) {
	const op = "store.ChangeService"
	err = auditdb.Change(ctx, s.db, now, func(t *sqldb.Tx) (e audit.Event, err error) {
		if err := lockOrg(t, op, org); err != nil {
			return e, err
		}
		if n, err = orgServices.LockedRow(t, `WHERE org = $1 AND id = $2 AND ended_at IS NULL`, org, id); err != nil {
			return e, noService(op, err)
		}
		if e, err = change(&n); err != nil || e.Action == "" {
			return e, err
		}
		if err := knownTeam(t, op, org, n.Team); err != nil {
			return e, err
		}
		return e, errors.Join(orgServices.Update(t, &n, "id; name, team"), t.Tell(invalidate.Keys, org))
	})
	return n, err
}

// EndService is organization.Store.EndService.
func (s *Organizations) EndService(ctx context.Context, org, id string, now time.Time, e audit.Event) (keys int, err error) {
	const op = "store.EndService"
	err = auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) error {
		if err := t.One(`UPDATE org_services SET ended_at = $1 WHERE org = $2 AND id = $3 AND ended_at IS NULL`, now.UnixMicro(), org, id); err != nil {
			return noService(op, err)
		}
		if keys, err = endKeysOf(t, org, id, now); err != nil {
			return err
		}
		return t.Tell(invalidate.Keys, org)
	})
	return keys, err
}

// Invitations is organization.Store.Invitations.
func (s *Organizations) Invitations(ctx context.Context, org string, now time.Time) ([]organization.Invitation, error) {
	return orgInvitations.List(ctx, s.db, "store.Invitations", `WHERE org = $1 AND expires_at > $2 AND taken < places ORDER BY created_at DESC, id`, org, now.UnixMicro())
}

// AddInvitation is organization.Store.AddInvitation.
func (s *Organizations) AddInvitation(ctx context.Context, n organization.Invitation, most int, e audit.Event) error {
	const op = "store.AddInvitation"
	return auditdb.Write(ctx, s.db, e, n.CreatedAt, func(t *sqldb.Tx) error {
		if err := lockOrg(t, op, n.Org); err != nil {
			return err
		}
		if _, err := t.Exec(`DELETE FROM org_invitations WHERE org = $1 AND (expires_at <= $2 OR taken >= places)`, n.Org, n.CreatedAt.UnixMicro()); err != nil {
			return err
		}
		if err := fewer(t, op, "invitations", most, `SELECT COUNT(*) FROM org_invitations WHERE org = $1`, n.Org); err != nil {
			return err
		}
		if err := knownTeam(t, op, n.Org, n.Team); err != nil {
			return err
		}
		return orgInvitations.Insert(t, &n)
	})
}

// InvitationBy is organization.Store.InvitationBy.
func (s *Organizations) InvitationBy(ctx context.Context, hash string, now time.Time) (i organization.Invitation, o organization.Organization, role apikey.OrgRole, err error) {
	var created int64
	err = s.db.Find(ctx, func(row sqldb.Scanner) (err error) {
		i, err = orgInvitations.ScanWith(row, append(orgInto(&o, &created), &role)...)
		return err
	}, `SELECT `+orgInvitations.Of("i")+`, `+orgColumns+`, COALESCE(m.role, '') FROM org_invitations i JOIN organizations o ON o.id = i.org AND o.closed_at IS NULL JOIN users u ON u.id = o.id
		LEFT JOIN org_members m ON m.org = i.org AND m.user_id = i.maker WHERE i.hash = $1 AND i.expires_at > $2`, hash, now.UnixMicro())
	o.CreatedAt = time.UnixMicro(created).UTC()
	return i, o, role, noInvite("store.InvitationBy", err)
}

// OpenInvitation is organization.Store.OpenInvitation.
func (s *Organizations) OpenInvitation(ctx context.Context, hash string, now time.Time) error {
	_, err := s.db.Exec(ctx, `UPDATE org_invitations SET opened_at = $1 WHERE hash = $2 AND opened_at IS NULL`, now.UnixMicro(), hash)
	return sqldb.Failure("store.OpenInvitation", err)
}

// RenewInvitation is organization.Store.RenewInvitation.
func (s *Organizations) RenewInvitation(ctx context.Context, n organization.Invitation, e audit.Event) error {
	return auditdb.Write(ctx, s.db, e, n.CreatedAt, func(t *sqldb.Tx) error {
		return noInvite("store.RenewInvitation", t.One(`UPDATE org_invitations SET hash = $1, created_at = $2, expires_at = $3, sent_at = $4, maker = $5 WHERE org = $6 AND id = $7`,
			n.Hash, n.CreatedAt.UnixMicro(), n.ExpiresAt.UnixMicro(), sqldb.Micros(n.SentAt), n.Maker, n.Org, n.ID))
	})
}

// DeleteInvitation is organization.Store.DeleteInvitation.
func (s *Organizations) DeleteInvitation(ctx context.Context, org, id string, now time.Time, e audit.Event) error {
	return auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) error {
		return noInvite("store.DeleteInvitation", t.One(`DELETE FROM org_invitations WHERE org = $1 AND id = $2`, org, id))
	})
}

// Accept is organization.Store.Accept.
func (s *Organizations) Accept(ctx context.Context, hash string, m organization.Member, most int, e audit.Event) error {
	const op = "store.Accept"
	return auditdb.Write(ctx, s.db, e, m.JoinedAt, func(t *sqldb.Tx) error {
		if err := lockOrg(t, op, m.Org); err != nil {
			return err
		}
		if err := fewer(t, op, "members", most, `SELECT COUNT(*) FROM org_members WHERE org = $1`, m.Org); err != nil {
			return err
		}
		if err := t.One(`UPDATE org_invitations SET taken = taken + 1 WHERE org = $1 AND hash = $2 AND taken < places AND expires_at > $3`, m.Org, hash, m.JoinedAt.UnixMicro()); err != nil {
			return noInvite(op, err)
		}
		return orgMembers.AddNew(t, op, alreadyMember, &m)
	})
}
