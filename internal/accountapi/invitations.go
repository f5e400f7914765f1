package accountapi

import (
	"cmp"
	"context"
	"slices"
	"time"

	"weir/internal/apikey"
	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/operation"
)

// Invitation is a link with which somebody makes an account.
type Invitation struct {
	ID            string    `json:"id"`
	Email         *string   `json:"email"`
	Role          string    `json:"role" enum:"user,operator,administrator"`
	Note          string    `json:"note"`
	CreatorUserID *string   `json:"creator_user_id"`
	CreatedAt     time.Time `json:"created_at"`
	ExpiresAt     time.Time `json:"expires_at"`
	URL           string    `json:"url,omitempty"` // only in the answer that made it
}

func invitationOf(t *auth.Token) Invitation {
	return Invitation{ID: t.ID, Email: OrNull(t.Email), Role: string(t.Role), Note: t.Note, CreatorUserID: OrNull(t.User), CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt}
}

// InvitationInput is whom a link is for.
type InvitationInput struct {
	Email string `json:"email,omitempty" null:"none"`
	Note  string `json:"note,omitempty" null:"none" maxLength:"200"`
	Role  string `json:"role,omitempty" null:"none" enum:"user,operator,administrator"`
}

type invitationID struct {
	ID string `json:"-" path:"id"` // of the invitation
}

func invitations(people *auth.Manager) []operation.Operation {
	operators := func(c *operation.Call) error { return mayInvite(people, c, apikey.User) }
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/invitations", ID: "listInvitations", Access: operation.Management, May: operators, Tag: "sign-in",
			Summary: "Invitations that are open; for operators", Answer: "The invitations, the newest first",
		}, func(ctx context.Context, _ *operation.Call, _ *operation.None) (out operation.Data[[]Invitation], err error) {
			all, err := people.Invitations(ctx)
			out.Data = make([]Invitation, len(all))
			for i := range all {
				out.Data[i] = invitationOf(&all[i])
			}
			return out, err
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/invitations", ID: "createInvitation", Access: operation.Management, May: operators, Fresh: true, Status: 201, Tag: "sign-in",
			Summary: "Make a link with which somebody makes an account; it is only in this response, and in a mail if there is an address. Roles above user are given by administrators",
			Answer:  "The invitation", Example: `{"note": "for Anna"}`,
		}, func(ctx context.Context, c *operation.Call, in *InvitationInput) (operation.Data[Invitation], error) {
			made, err := invite(ctx, people, c, in)
			return operation.Data[Invitation]{Data: made}, err
		}),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/invitations/{id}", ID: "deleteInvitation", Access: operation.Management, May: operators, Status: 204, Tag: "sign-in",
			Summary: "Withdraw an invitation", Answer: "It does not work any more",
		}, func(ctx context.Context, c *operation.Call, in *invitationID) (none operation.None, err error) {
			all, err := people.Invitations(ctx)
			if err != nil {
				return none, err
			}
			i := slices.IndexFunc(all, func(t auth.Token) bool { return t.ID == in.ID })
			if i < 0 {
				return none, fault.New(fault.NotFound, "accountapi.deleteInvitation", "There is no such invitation.")
			}
			if err := mayInvite(people, c, all[i].Role); err != nil { // who may not make it may not take it back
				return none, err
			}
			return none, people.Uninvite(ctx, in.ID, c.Actor)
		}),
	}
}

// invite makes an invitation. Its link is shown this once.
func invite(ctx context.Context, people *auth.Manager, c *operation.Call, in *InvitationInput) (out Invitation, err error) {
	role := apikey.Role(cmp.Or(in.Role, string(apikey.User)))
	if role != apikey.User && role != apikey.Operator && role != apikey.Administrator {
		return out, fault.Field("accountapi.createInvitation", "role", "role must be user, operator or administrator.").Coded("role")
	}
	if err := mayInvite(people, c, role); err != nil {
		return out, err
	}
	link, t, err := people.Invite(ctx, in.Email, in.Note, role, c.Actor, c.User)
	if err != nil {
		return out, err
	}
	c.NoStore()
	out = invitationOf(&t)
	out.URL = c.Base() + link
	return out, nil
}

// mayInvite fails where the caller may not invite somebody with a role.
func mayInvite(people *auth.Manager, c *operation.Call, role apikey.Role) error {
	if people == nil {
		return fault.New(fault.NotFound, "accountapi.invitations", "Sign-in is switched off on this gateway.")
	}
	if auth.MayInvite(c.Role, role) {
		return nil
	}
	return fault.New(fault.PermissionDenied, "accountapi.invitations", "This is for operators; roles above user are given by administrators.")
}
