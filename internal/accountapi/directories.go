package accountapi

import (
	"context"
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
}

func (o orgs) directory() []operation.Operation {
	show := func(ctx context.Context, c *operation.Call, id string) (out operation.Data[OrganizationDirectory], err error) {
		ms, err := o.in(ctx, c, id)
		if err != nil {
			return out, err
		}
		one, err := o.Organizations.Connection(ctx, ms)
		out.Data = OrganizationDirectory{URL: c.Base() + scim.Root, CreatedAt: one.CreatedAt, UsedAt: Moment(one.UsedAt), Users: one.Users, Groups: one.Groups}
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
