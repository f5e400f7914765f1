package accountapi

import (
	"context"
	"slices"
	"strings"
	"time"

	"weir/internal/operation"
	"weir/internal/wire/scim"
)

// OrganizationDirectory is how the directory of an organization is let in with SCIM 2.0.
type OrganizationDirectory struct {
	URL       string     `json:"url"`             // where it sends its requests
	Token     string     `json:"token,omitempty"` // only in the answer that made it
	CreatedAt time.Time  `json:"created_at"`
	UsedAt    *time.Time `json:"used_at"` // to the minute; null: never
	Users     int        `json:"users"`   // in the directory, those included who are not members any more
	Groups    int        `json:"groups"`  // in the directory
	Members   int        `json:"members"` // of its people, who have a membership now
	Given     []Given    `json:"given"`   // what each of its groups gives, by name
}

// Given is what a group of a directory gives its people.
type Given struct {
	Group  string  `json:"group"`
	Role   string  `json:"role" enum:"owner,manager,member,billing"`
	Team   *string `json:"team"`   // its id; null: none
	People int     `json:"people"` // in the group
}

func (o orgs) directory() []operation.Operation {
	show := func(ctx context.Context, c *operation.Call, id string) (out operation.Data[OrganizationDirectory], err error) {
		ms, err := o.in(ctx, c, id)
		if err != nil {
			return out, err
		}
		one, err := o.Organizations.Connection(ctx, ms)
		if err != nil {
			return out, err
		}
		out.Data = OrganizationDirectory{URL: c.Base() + scim.Root, CreatedAt: one.CreatedAt, UsedAt: Moment(one.UsedAt), Users: one.Users, Groups: one.Groups, Given: []Given{}}
		dir, err := o.Organizations.Directory(ctx, ms.ID)
		for i := range dir.Users {
			if dir.Users[i].Active {
				out.Data.Members++
			}
		}
		for i := range dir.Groups {
			g := &dir.Groups[i]
			out.Data.Given = append(out.Data.Given, Given{Group: g.Name, Role: string(o.Organizations.RoleOf(g)), Team: OrNull(g.Team), People: len(g.Members)})
		}
		slices.SortFunc(out.Data.Given, func(a, b Given) int { return strings.Compare(a.Group, b.Group) })
		return out, err
	}
	return []operation.Operation{
		operation.Of(org(operation.Operation{
			Method: "GET", Path: orgPath + "/directory", ID: "getOrganizationDirectory", Summary: "How the directory of an organization is let in; for owners. 404 where none is", Answer: "The directory",
		}), func(ctx context.Context, c *operation.Call, in *organizationID) (operation.Data[OrganizationDirectory], error) {
			return show(ctx, c, in.ID)
		}),
		operation.Of(org(operation.Operation{
			Method: "POST", Path: orgPath + "/directory", ID: "connectOrganizationDirectory", Fresh: true, Status: 201, Answer: "The directory, with its token",
			Summary:     "Make a token with which a directory such as Entra ID, Okta or Keycloak manages members and teams with SCIM 2.0; for owners",
			Description: "The token is only in this response. A former one ends. It works until it is replaced or the directory is disconnected, also when who made it leaves.",
		}), func(ctx context.Context, c *operation.Call, in *organizationID) (out operation.Data[OrganizationDirectory], err error) {
			ms, err := o.in(ctx, c, in.ID)
			if err != nil {
				return out, err
			}
			token, err := o.Organizations.Connect(ctx, ms, c.User, c.Actor)
			if err != nil {
				return out, err
			}
			out, err = show(ctx, c, in.ID)
			out.Data.Token = token
			c.NoStore()
			return out, err
		}),
		operation.Of(org(operation.Operation{
			Method: "DELETE", Path: orgPath + "/directory", ID: "disconnectOrganizationDirectory", Fresh: true, Status: 204, Answer: "Its token does not work any more",
			Summary: "End the token of a directory; for owners. Members whom it has put in stay, and are managed here",
		}), func(ctx context.Context, c *operation.Call, in *organizationID) (none operation.None, err error) {
			ms, err := o.in(ctx, c, in.ID)
			if err == nil {
				err = o.Organizations.Disconnect(ctx, ms, c.Actor)
			}
			return none, err
		}),
	}
}
