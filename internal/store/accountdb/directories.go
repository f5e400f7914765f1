package accountdb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/auth"
	"weir/internal/invalidate"
	"weir/internal/organization"
	"weir/internal/store/auditdb"
	"weir/internal/store/sqldb"
)

var orgListed = sqldb.Map[organization.Listed, struct {
	Org                                      string
	User                                     string `db:"user_id"`
	Login, ExternalID                        string
	Display, Formatted, Given, Family, Email string
	Role                                     apikey.OrgRole
	CreatedAt, UpdatedAt                     time.Time
}]("org_listed")

var orgGroups = sqldb.Map[organization.Group, struct {
	ID, Org, Name, ExternalID, Team string
	CreatedAt, UpdatedAt            time.Time
}]("org_groups")

func noDirectory(op string, err error) error {
	return sqldb.Missing(op, "This organization has connected no directory.", err)
}

// usedEvery is how exactly it is known when a directory was there.
const usedEvery = time.Minute

// DirectoryBy is organization.DirectoryStore.DirectoryBy.
func (s *Organizations) DirectoryBy(ctx context.Context, hash string, now time.Time) (o organization.Organization, err error) {
	const op = "store.DirectoryBy"
	var created int64
	var used sql.NullInt64
	err = s.db.Find(ctx, func(row sqldb.Scanner) error { return row.Scan(append(orgInto(&o, &created), &used)...) },
		`SELECT `+orgColumns+`, d.used_at FROM org_directories d JOIN organizations o ON o.id = d.org AND o.closed_at IS NULL JOIN users u ON u.id = o.id WHERE d.token = $1`, hash)
	if err != nil {
		return o, noDirectory(op, err)
	}
	o.CreatedAt = time.UnixMicro(created).UTC()
	if now.Sub(sqldb.Moment(used)) > usedEvery {
		_, err = s.db.Exec(ctx, `UPDATE org_directories SET used_at = $1 WHERE token = $2`, now.UnixMicro(), hash)
	}
	return o, sqldb.Failure(op, err)
}

// Connection is organization.DirectoryStore.Connection.
func (s *Organizations) Connection(ctx context.Context, org string) (c organization.Connection, err error) {
	var created int64
	var used sql.NullInt64
	err = s.db.Find(ctx, func(row sqldb.Scanner) error { return row.Scan(&c.Maker, &created, &used, &c.Users, &c.Groups) },
		`SELECT maker, created_at, used_at, (SELECT COUNT(*) FROM org_listed WHERE org = d.org), (SELECT COUNT(*) FROM org_groups WHERE org = d.org) FROM org_directories d WHERE org = $1`, org)
	c.CreatedAt, c.UsedAt = time.UnixMicro(created).UTC(), sqldb.Moment(used)
	return c, noDirectory("store.Connection", err)
}

// Connect is organization.DirectoryStore.Connect.
func (s *Organizations) Connect(ctx context.Context, org, hash, maker string, now time.Time, e audit.Event) error {
	return auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) error {
		if err := lockOrg(t, "store.Connect", org); err != nil {
			return err
		}
		_, err := t.Exec(`INSERT INTO org_directories (org, token, maker, created_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (org) DO UPDATE SET token = excluded.token, maker = excluded.maker, created_at = excluded.created_at, used_at = NULL`, org, hash, maker, now.UnixMicro())
		return err
	})
}

// Disconnect is organization.DirectoryStore.Disconnect.
func (s *Organizations) Disconnect(ctx context.Context, org string, now time.Time, e audit.Event) error {
	const op = "store.Disconnect"
	return auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) error {
		if err := lockOrg(t, op, org); err != nil {
			return err
		}
		if err := t.One(`DELETE FROM org_directories WHERE org = $1`, org); err != nil {
			return noDirectory(op, err)
		}
		for _, text := range []string{`DELETE FROM org_group_members WHERE org = $1`, `DELETE FROM org_groups WHERE org = $1`, `DELETE FROM org_listed WHERE org = $1`} {
			if _, err := t.Exec(text, org); err != nil {
				return err
			}
		}
		_, err := t.Exec(`UPDATE org_members SET source = '' WHERE org = $1 AND source = $2`, org, string(organization.SCIM))
		return err
	})
}

var (
	listedOf = `SELECT ` + orgListed.Of("l") + `, m.user_id IS NOT NULL FROM org_listed l LEFT JOIN org_members m ON m.org = l.org AND m.user_id = l.user_id WHERE l.org = $1 ORDER BY l.user_id` //nolint:gosec // names of columns
	groupsOf = `SELECT ` + orgGroups.Of("g") + ` FROM org_groups g WHERE g.org = $1 ORDER BY g.id`                                                                                                //nolint:gosec // likewise
)

// Directory is organization.DirectoryStore.Directory.
func (s *Organizations) Directory(ctx context.Context, org string) (d organization.Directory, err error) {
	const op = "store.Directory"
	err = s.db.Snapshot(ctx, func(ctx context.Context, q *sql.Tx) error {
		if err := q.QueryRowContext(ctx, `SELECT version FROM org_directories WHERE org = $1`, org).Scan(&d.Version); err != nil {
			return noDirectory(op, err)
		}
		rows, err := q.QueryContext(ctx, listedOf, org)
		if d.Users, err = sqldb.Collect(rows, err, func(row sqldb.Scanner) (organization.Listed, error) {
			var active bool
			u, err := orgListed.ScanWith(row, &active)
			u.Active = active
			return u, err
		}); err != nil {
			return err
		}
		rows, err = q.QueryContext(ctx, groupsOf, org)
		if d.Groups, err = sqldb.Collect(rows, err, orgGroups.Scan); err != nil {
			return err
		}
		rows, err = q.QueryContext(ctx, `SELECT group_id, user_id FROM org_group_members WHERE org = $1 ORDER BY group_id, user_id`, org)
		type pair struct{ group, user string }
		pairs, err := sqldb.Collect(rows, err, sqldb.Columns(func(p *pair) []any { return []any{&p.group, &p.user} }))
		for _, p := range pairs {
			if g := d.Group(p.group); g != nil {
				g.Members = append(g.Members, p.user)
			}
		}
		return err
	})
	return d, sqldb.Failure(op, err)
}

// LoginByEmail is organization.DirectoryStore.LoginByEmail.
func (s *Organizations) LoginByEmail(ctx context.Context, email string) (auth.Login, error) {
	return NewPeople(s.db).LoginByEmail(ctx, email)
}

// ChangeDirectory is organization.DirectoryStore.ChangeDirectory.
func (s *Organizations) ChangeDirectory(ctx context.Context, org string, version int64, c *organization.DirectoryChange, most int, now time.Time, by audit.Actor) (done bool, err error) {
	const op = "store.ChangeDirectory"
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		done = false
		if err := lockOrg(t, op, org); err != nil {
			return err
		}
		n, err := t.Exec(`UPDATE org_directories SET version = version + 1 WHERE org = $1 AND version = $2`, org, version)
		if err != nil || n == 0 {
			return err
		}
		var events []audit.Event
		for i := range c.Accounts {
			if err := insertUser(t, c.Accounts[i]); err != nil {
				return err
			}
			if err := insertLogin(t, &c.Logins[i]); err != nil {
				return err
			}
			events = append(events, account.CreatedEvent(&c.Accounts[i], by))
		}
		if err := saveListed(t, org, c); err != nil {
			return err
		}
		made, err := saveTeams(t, op, org, c, now, by)
		if err != nil {
			return err
		}
		placed, err := places(t, op, org, c.Places, most, now, by)
		if err != nil {
			return err
		}
		done = true
		return auditdb.RecordAll(t, slices.Concat(events, made, placed), now)
	})
	return done, sqldb.Failure(op, err)
}

// saveListed stores the people and the groups that are different.
func saveListed(t *sqldb.Tx, org string, c *organization.DirectoryChange) error {
	for i := range c.Users {
		if _, err := orgListed.Put(t, &c.Users[i], ` ON CONFLICT (org, user_id) DO UPDATE SET `+orgListed.Excluded("org", "user_id", "created_at")); err != nil {
			return err
		}
	}
	for _, id := range c.GoneGroups {
		if err := dropGroup(t, org, id); err != nil {
			return err
		}
	}
	for i := range c.Groups {
		g := &c.Groups[i]
		if _, err := t.Exec(`DELETE FROM org_group_members WHERE org = $1 AND group_id = $2`, org, g.ID); err != nil {
			return err
		}
		if _, err := t.Exec(`UPDATE org_groups SET name = id WHERE org = $1 AND name = $2 AND id <> $3`, org, g.Name, g.ID); err != nil { // names that are exchanged
			return err
		}
		if _, err := orgGroups.Put(t, g, ` ON CONFLICT (id) DO UPDATE SET `+orgGroups.Excluded("id", "org", "created_at")); err != nil {
			return err
		}
		for _, user := range g.Members {
			if _, err := t.Exec(`INSERT INTO org_group_members (org, group_id, user_id) VALUES ($1, $2, $3)`, org, g.ID, user); err != nil {
				return err
			}
		}
	}
	for _, id := range c.GoneUsers {
		if _, err := t.Exec(`DELETE FROM org_listed WHERE org = $1 AND user_id = $2`, org, id); err != nil {
			return err
		}
	}
	return nil
}

func dropGroup(t *sqldb.Tx, org, id string) error {
	if _, err := t.Exec(`DELETE FROM org_group_members WHERE org = $1 AND group_id = $2`, org, id); err != nil {
		return err
	}
	_, err := t.Exec(`DELETE FROM org_groups WHERE org = $1 AND id = $2`, org, id)
	return err
}

// saveTeams makes and renames teams.
func saveTeams(t *sqldb.Tx, op, org string, c *organization.DirectoryChange, now time.Time, by audit.Actor) (events []audit.Event, err error) {
	for i := range c.Renamed {
		r := &c.Renamed[i]
		if err := t.One(`UPDATE org_teams SET name = $1 WHERE org = $2 AND id = $3`, r.Name, org, r.ID); err != nil {
			return nil, noTeam(op, err)
		}
		events = append(events, audit.Event{Actor: by, Action: audit.OrgTeamChanged, Target: org, After: r.ID + " " + r.Name})
	}
	for i := range c.Teams {
		if err := orgTeams.AddNew(t, op, teamTaken, &c.Teams[i]); err != nil {
			return nil, err
		}
		events = append(events, audit.Event{Actor: by, Action: audit.OrgTeamMade, Target: org, After: c.Teams[i].ID + " " + c.Teams[i].Name})
	}
	return events, nil
}

// places gives people the places that a directory says. Who becomes an owner is first, so that one is there when another leaves.
func places(t *sqldb.Tx, op, org string, all map[string]*organization.Place, most int, now time.Time, by audit.Actor) (events []audit.Event, err error) {
	users := make([]string, 0, len(all))
	for id := range all {
		users = append(users, id)
	}
	owner := func(id string) int {
		if p := all[id]; p != nil && p.Role == apikey.OrgOwner {
			return 0
		}
		return 1
	}
	slices.SortFunc(users, func(a, b string) int { return cmp.Or(owner(a)-owner(b), cmp.Compare(a, b)) })
	for _, id := range users {
		e, err := place(t, op, org, id, organization.SCIM, all[id], most, now, by)
		if err != nil {
			return nil, err
		}
		events = append(events, e...)
	}
	return events, nil
}

// place gives a person their place by a directory; nil: they leave. What people of the organization have given stays, unless SCIM, which describes
// the person themselves, says that they leave.
func place(t *sqldb.Tx, op, org, user string, source organization.Source, to *organization.Place, most int, now time.Time, by audit.Actor) ([]audit.Event, error) {
	was := organization.Member{Org: org, User: user}
	err := t.Row(`SELECT role, team, source FROM org_members WHERE org = $1 AND user_id = $2`, org, user).Scan(&was.Role, &was.Team, &was.Source)
	absent := errors.Is(err, sql.ErrNoRows)
	if err != nil && !absent {
		return nil, err
	}
	e := audit.Event{Actor: by, Target: org}
	switch {
	case absent && to == nil:
		return nil, nil
	case absent:
		m := organization.Member{Org: org, User: user, Role: to.Role, Team: to.Team, Source: source, JoinedAt: now}
		if err := fewer(t, op, "members", most, `SELECT COUNT(*) FROM org_members WHERE org = $1`, org); err != nil {
			return nil, err
		}
		e.Action, e.After = audit.OrgJoined, m.Words()
		return []audit.Event{e}, orgMembers.Insert(t, &m)
	case to == nil && source == organization.OIDC && was.Source != organization.OIDC:
		return nil, nil
	case to == nil:
		if err := otherOwner(t, op, org, user); err != nil {
			return nil, err
		}
		e.Action, e.Before = audit.OrgLeft, was.Words()
		_, err := leave(t, org, user, now)
		return []audit.Event{e}, err
	case was.Source == organization.Here, was.Source == organization.SCIM && source == organization.OIDC, was.Source == source && was.Role == to.Role && was.Team == to.Team:
		return nil, nil
	}
	m := was
	m.Role, m.Team, m.Source = to.Role, to.Team, source
	e.Action, e.Before, e.After = audit.OrgMember, was.Words(), m.Words()
	return []audit.Event{e}, setMember(t, op, &m, now)
}

// Arrive is organization.DirectoryStore.Arrive.
func (s *Organizations) Arrive(ctx context.Context, org, user string, p *organization.ArrivalPlace, most int, now time.Time, by audit.Actor) error {
	const op = "store.Arrive"
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		if err := lockOrg(t, op, org); err != nil {
			return err
		}
		var listed bool
		if err := t.Row(`SELECT EXISTS (SELECT 1 FROM org_listed WHERE org = $1 AND user_id = $2)`, org, user).Scan(&listed); err != nil || listed { // SCIM says it
			return err
		}
		var to *organization.Place
		var events []audit.Event
		if p != nil {
			to = &organization.Place{Role: p.Role}
			if p.Team.Name != "" {
				made, err := teamNamed(t, op, p.Team, now, by)
				if err != nil {
					return err
				}
				to.Team, events = made.ID, made.events
			}
		}
		placed, err := place(t, op, org, user, organization.OIDC, to, most, now, by)
		if err != nil {
			return err
		}
		return auditdb.RecordAll(t, append(events, placed...), now)
	})
}

type namedTeam struct {
	ID     string
	events []audit.Event
}

// teamNamed finds the team of a name, or makes it.
func teamNamed(t *sqldb.Tx, op string, n organization.Team, now time.Time, by audit.Actor) (out namedTeam, err error) {
	err = t.Row(`SELECT id FROM org_teams WHERE org = $1 AND name = $2`, n.Org, n.Name).Scan(&out.ID)
	if !errors.Is(err, sql.ErrNoRows) {
		return out, err
	}
	if err := fewer(t, op, "teams", organization.MostTeams, `SELECT COUNT(*) FROM org_teams WHERE org = $1`, n.Org); err != nil {
		return out, err
	}
	n.CreatedAt = now
	out.ID, out.events = n.ID, []audit.Event{{Actor: by, Action: audit.OrgTeamMade, Target: n.Org, After: n.ID + " " + n.Name}}
	return out, orgTeams.AddNew(t, op, teamTaken, &n)
}

// setMember changes role, team and source of a member.
func setMember(t *sqldb.Tx, op string, m *organization.Member, now time.Time) error {
	if m.Role != apikey.OrgOwner {
		if err := otherOwner(t, op, m.Org, m.User); err != nil {
			return err
		}
	}
	if err := t.One(`UPDATE org_members SET role = $1, team = $2, source = $3 WHERE org = $4 AND user_id = $5`, string(m.Role), m.Team, string(m.Source), m.Org, m.User); err != nil {
		return noMember(op, err)
	}
	if m.Role == apikey.OrgBilling {
		if _, err := endKeysOf(t, m.Org, m.User, now); err != nil {
			return err
		}
	}
	return t.Tell(invalidate.Keys, m.Org)
}
