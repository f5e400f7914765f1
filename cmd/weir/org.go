package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/app"
	"weir/internal/audit"
	"weir/internal/auth"
	"weir/internal/organization"
	"weir/internal/wire/scim"
)

type orgCmd struct {
	List    orgListCmd    `cmd:"" help:"List organizations."`
	Show    orgShowCmd    `cmd:"" help:"Show an organization: its members, teams and directory."`
	Create  orgCreateCmd  `cmd:"" help:"Make an organization of a user."`
	Members orgMembersCmd `cmd:"" help:"Add and remove members, and change their roles."`
	Invite  orgInviteCmd  `cmd:"" help:"Make a link with which people become members."`
	Teams   orgTeamsCmd   `cmd:"" help:"List, make, rename and delete teams."`
	Scim    orgScimCmd    `cmd:"" help:"Let a directory in with SCIM, or end that."`
}

// orgPlace is an organization, and who acts.
type orgPlace struct {
	location
	Org   string `arg:"" help:"Name or id of the organization."`
	Actor string `help:"Your name, for the audit log." placeholder:"NAME"`
}

// orgOpen is an open store with an organization.
type orgOpen struct {
	*app.Admin
	m  *organization.Manager
	ms organization.Membership
	by audit.Actor
}

// within opens the organization.
func (p *orgPlace) within(ctx context.Context, do func(o *orgOpen) error) error {
	by, err := actor(p.Actor)
	if err != nil {
		return err
	}
	return p.with(ctx, func(o *app.Admin) error {
		in := &orgOpen{Admin: o, m: o.Organizations(), by: by}
		if in.ms, err = orgNamed(ctx, in.m, p.Org); err != nil {
			return err
		}
		return do(in)
	})
}

// orgNamed finds an organization by its id, or a name that only one has.
func orgNamed(ctx context.Context, m *organization.Manager, name string) (found organization.Membership, err error) {
	all, err := m.Operated(ctx, "")
	if err != nil {
		return found, err
	}
	n := 0
	for i := range all {
		if all[i].ID == name {
			return all[i], nil
		}
		if all[i].Name == name {
			found = all[i]
			n++
		}
	}
	switch n {
	case 1:
		return found, nil
	case 0:
		return found, fmt.Errorf("there is no organization %q; see: weir org list", name)
	}
	return found, fmt.Errorf("%d organizations are named %q; give the id of one, see: weir org list", n, name)
}

// team finds the id of a team by it, or by its name; "" is "".
func (o *orgOpen) team(ctx context.Context, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	all, err := o.m.Teams(ctx, o.ms.ID)
	if err != nil {
		return "", err
	}
	for i := range all {
		if all[i].ID == name || all[i].Name == name {
			return all[i].ID, nil
		}
	}
	return "", fmt.Errorf("there is no team %q; see: weir org teams list", name)
}

// anOwner is an owner, in whose name links and tokens are made.
func (o *orgOpen) anOwner(ctx context.Context) (account.User, error) {
	all, err := o.m.Members(ctx, o.ms.ID)
	if err != nil {
		return account.User{}, err
	}
	for i := range all {
		if all[i].Role == apikey.OrgOwner {
			return o.UserNamed(ctx, all[i].User)
		}
	}
	return account.User{}, errors.New("this organization has no owner")
}

type orgListCmd struct{ location }

func (c *orgListCmd) Run(ctx context.Context) error {
	return c.with(ctx, func(o *app.Admin) error {
		m := o.Organizations()
		all, err := m.Operated(ctx, "")
		if err != nil {
			return err
		}
		if len(all) == 0 {
			fmt.Println(c.hint("There are no organizations. Make one with: weir org create"))
			return nil
		}
		members := make([]int, len(all))
		for i := range all {
			list, err := m.Members(ctx, all[i].ID)
			if err != nil {
				return err
			}
			members[i] = len(list)
		}
		return table("ID\tNAME\tWALLET\tMEMBERS\tCREATED\tSTATE", func(w *tabwriter.Writer) {
			for i := range all {
				g, state := &all[i], "open"
				if g.Disabled {
					state = "disabled"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", g.ID, g.Name, g.Wallet, members[i], g.CreatedAt.Format(time.RFC3339), state)
			}
		})
	})
}

type orgShowCmd struct {
	location
	Org string `arg:"" help:"Name or id of the organization."`
}

func (c *orgShowCmd) Run(ctx context.Context) error {
	return (&orgPlace{location: c.location, Org: c.Org}).within(ctx, func(o *orgOpen) error {
		members, err := o.m.Members(ctx, o.ms.ID)
		if err != nil {
			return err
		}
		teams, err := o.m.Teams(ctx, o.ms.ID)
		if err != nil {
			return err
		}
		keys, err := o.m.KeyCounts(ctx, o.ms.ID)
		if err != nil {
			return err
		}
		names := map[string]string{}
		for i := range teams {
			names[teams[i].ID] = teams[i].Name
		}
		fmt.Printf("%s  %s  wallet %s\nManagers see: %s\n", o.ms.ID, o.ms.Name, o.ms.Wallet, o.ms.Sees)
		if d, err := o.m.Connection(ctx, &o.ms); err == nil {
			fmt.Printf("Directory: %d people, %d groups, last there %s\n", d.Users, d.Groups, ending(d.UsedAt, "never"))
		}
		fmt.Println()
		return table("MEMBER\tNAME\tEMAIL\tROLE\tTEAM\tKEYS\tFROM", func(w *tabwriter.Writer) {
			for i := range members {
				x := &members[i]
				from := string(x.Source)
				if from == "" {
					from = "here"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", x.User, x.Name, x.Email, x.Role, names[x.Team], keys[x.User], from)
			}
		})
	})
}

type orgCreateCmd struct {
	location
	Name  string `arg:"" help:"What it is called."`
	Owner string `required:"" help:"Name or id of the user who owns it." placeholder:"USER"`
	Actor string `help:"Your name, for the audit log." placeholder:"NAME"`
}

func (c *orgCreateCmd) Run(ctx context.Context) error {
	by, err := actor(c.Actor)
	if err != nil {
		return err
	}
	return c.with(ctx, func(o *app.Admin) error {
		u, err := o.UserNamed(ctx, c.Owner)
		if err != nil {
			return err
		}
		if strings.HasPrefix(u.ID, organization.Prefix) {
			return errors.New("--owner must be a person: an organization cannot own another")
		}
		made, err := o.Organizations().Create(ctx, c.Name, u.ID, by)
		if err != nil {
			return err
		}
		fmt.Printf("Made %s. %s is its owner, its wallet is %s.\n", made.ID, u.Name, made.Wallet)
		return nil
	})
}

type orgMembersCmd struct {
	Add    orgAddCmd    `cmd:"" help:"Make a user a member, without an invitation."`
	Remove orgRemoveCmd `cmd:"" help:"End a membership: the keys of the member stop."`
	Role   orgRoleCmd   `cmd:"" help:"Change role and team of a member."`
}

// orgMember is a member of an organization.
type orgMember struct {
	orgPlace
	User string `arg:"" help:"Name or id of the user."`
}

// about opens the organization for an act on the user.
func (m *orgMember) about(ctx context.Context, do func(o *orgOpen, u account.User) error) error {
	return m.within(ctx, func(o *orgOpen) error {
		u, err := o.UserNamed(ctx, m.User)
		if err != nil {
			return err
		}
		return do(o, u)
	})
}

type orgAddCmd struct {
	orgMember
	Role string `help:"owner, manager, member or billing (${default})." enum:"owner,manager,member,billing" default:"member"`
	Team string `help:"Name or id of a team." placeholder:"TEAM"`
}

func (c *orgAddCmd) Run(ctx context.Context) error {
	return c.about(ctx, func(o *orgOpen, u account.User) error {
		team, err := o.team(ctx, c.Team)
		if err != nil {
			return err
		}
		if err := o.m.AddMember(ctx, &o.ms, u.ID, apikey.OrgRole(c.Role), team, o.by); err != nil {
			return err
		}
		fmt.Printf("%s is %s of %s.\n", u.Name, c.Role, o.ms.Name)
		return nil
	})
}

type orgRemoveCmd struct{ orgMember }

func (c *orgRemoveCmd) Run(ctx context.Context) error {
	return c.about(ctx, func(o *orgOpen, u account.User) error {
		keys, err := o.m.Remove(ctx, &o.ms, "", u.ID, o.by)
		if err != nil {
			return err
		}
		fmt.Printf("%s is no member of %s any more. %d keys have stopped.\n", u.Name, o.ms.Name, keys)
		return nil
	})
}

type orgRoleCmd struct {
	orgMember
	Role string  `arg:"" help:"owner, manager, member or billing." enum:"owner,manager,member,billing"`
	Team *string `help:"Name or id of a team; empty: none." placeholder:"TEAM"`
}

func (c *orgRoleCmd) Run(ctx context.Context) error {
	return c.about(ctx, func(o *orgOpen, u account.User) error {
		if c.Team != nil {
			id, err := o.team(ctx, *c.Team)
			if err != nil {
				return err
			}
			c.Team = &id
		}
		role := apikey.OrgRole(c.Role)
		if _, err := o.m.SetMember(ctx, &o.ms, u.ID, &role, c.Team, o.by); err != nil {
			return err
		}
		fmt.Printf("%s is %s of %s.\n", u.Name, c.Role, o.ms.Name)
		return nil
	})
}

type orgInviteCmd struct {
	orgPlace
	Role   string `help:"owner, manager, member or billing (${default})." enum:"owner,manager,member,billing" default:"member"`
	Team   string `help:"Name or id of a team." placeholder:"TEAM"`
	Email  string `help:"Whom it is for; without it, anybody with the link." placeholder:"ADDRESS"`
	Places int    `help:"How many people may use it (${default})." default:"1"`
	Days   int    `help:"For how many days it works (${default})." default:"7"`
}

func (c *orgInviteCmd) Run(ctx context.Context) error {
	return c.within(ctx, func(o *orgOpen) error {
		team, err := o.team(ctx, c.Team)
		if err != nil {
			return err
		}
		owner, err := o.anOwner(ctx)
		if err != nil {
			return err
		}
		path, i, err := o.m.Invite(ctx, &o.ms, organization.NewInvitation{Email: c.Email, Role: apikey.OrgRole(c.Role), Team: team, Places: c.Places, Days: c.Days}, auth.Person{User: owner}, o.by)
		if err != nil {
			return err
		}
		fmt.Printf("%s\nIt works for %d, until %s. It is shown this once.\n", o.Link(path), i.Places, i.ExpiresAt.Format(time.RFC3339))
		return nil
	})
}

type orgTeamsCmd struct {
	List   orgTeamsListCmd   `cmd:"" help:"List the teams of an organization."`
	Add    orgTeamsAddCmd    `cmd:"" help:"Make a team."`
	Rename orgTeamsRenameCmd `cmd:"" help:"Rename a team."`
	Delete orgTeamsDeleteCmd `cmd:"" help:"Delete a team. Its members stay in the organization."`
}

type orgTeamsListCmd struct {
	location
	Org string `arg:"" help:"Name or id of the organization."`
}

func (c *orgTeamsListCmd) Run(ctx context.Context) error {
	return (&orgPlace{location: c.location, Org: c.Org}).within(ctx, func(o *orgOpen) error {
		teams, err := o.m.Teams(ctx, o.ms.ID)
		if err != nil {
			return err
		}
		members, err := o.m.Members(ctx, o.ms.ID)
		if err != nil {
			return err
		}
		count := map[string]int{}
		for i := range members {
			count[members[i].Team]++
		}
		return table("ID\tNAME\tMEMBERS", func(w *tabwriter.Writer) {
			for i := range teams {
				fmt.Fprintf(w, "%s\t%s\t%d\n", teams[i].ID, teams[i].Name, count[teams[i].ID])
			}
		})
	})
}

type orgTeamsAddCmd struct {
	orgPlace
	Name string `arg:"" help:"What it is called."`
}

func (c *orgTeamsAddCmd) Run(ctx context.Context) error {
	return c.within(ctx, func(o *orgOpen) error {
		t, err := o.m.AddTeam(ctx, &o.ms, c.Name, o.by)
		if err != nil {
			return err
		}
		fmt.Printf("Made %s: %s.\n", t.ID, t.Name)
		return nil
	})
}

// orgTeam is a team of an organization.
type orgTeam struct {
	orgPlace
	Team string `arg:"" help:"Name or id of the team."`
}

// about opens the organization for an act on the team with an id.
func (t *orgTeam) about(ctx context.Context, do func(o *orgOpen, id string) error) error {
	return t.within(ctx, func(o *orgOpen) error {
		id, err := o.team(ctx, t.Team)
		if err != nil {
			return err
		}
		return do(o, id)
	})
}

type orgTeamsRenameCmd struct {
	orgTeam
	Name string `arg:"" help:"What it is called from now on."`
}

func (c *orgTeamsRenameCmd) Run(ctx context.Context) error {
	return c.about(ctx, func(o *orgOpen, id string) error {
		if err := o.m.RenameTeam(ctx, &o.ms, id, c.Name, o.by); err != nil {
			return err
		}
		fmt.Printf("%s is %s now.\n", id, c.Name)
		return nil
	})
}

type orgTeamsDeleteCmd struct{ orgTeam }

func (c *orgTeamsDeleteCmd) Run(ctx context.Context) error {
	return c.about(ctx, func(o *orgOpen, id string) error {
		if err := o.m.DeleteTeam(ctx, &o.ms, id, o.by); err != nil {
			return err
		}
		fmt.Printf("%s is deleted. Its members are in no team now.\n", id)
		return nil
	})
}

type orgScimCmd struct {
	Token orgScimTokenCmd `cmd:"" help:"Make the token of a directory; a former one ends."`
	End   orgScimEndCmd   `cmd:"" help:"End the token of a directory. Its members stay."`
}

type orgScimTokenCmd struct{ orgPlace }

func (c *orgScimTokenCmd) Run(ctx context.Context) error {
	return c.within(ctx, func(o *orgOpen) error {
		owner, err := o.anOwner(ctx)
		if err != nil {
			return err
		}
		token, err := o.m.Connect(ctx, &o.ms, owner.ID, o.by)
		if err != nil {
			return err
		}
		fmt.Printf("URL    %s\nToken  %s\nThe token is shown this once.\n", o.Link(scim.Root), token)
		return nil
	})
}

type orgScimEndCmd struct{ orgPlace }

func (c *orgScimEndCmd) Run(ctx context.Context) error {
	return c.within(ctx, func(o *orgOpen) error {
		if err := o.m.Disconnect(ctx, &o.ms, o.by); err != nil {
			return err
		}
		fmt.Printf("The token of %s does not work any more. Its members stay, and are managed here.\n", o.ms.Name)
		return nil
	})
}
