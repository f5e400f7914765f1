package adminapi

import (
	"context"
	"strings"

	"weir/internal/accountapi"
	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/operation"
)

type roleInput struct {
	ID   string `json:"-" path:"id"` // of the user
	Role string `json:"role" enum:"user,operator,administrator"`
}

type signOutInput struct {
	ID   string `json:"-" path:"id"`                // of the user
	Keys bool   `json:"keys,omitempty" null:"none"` // disable all keys, too
}

// SignedOut is what has ended of a person's access.
type SignedOut struct {
	Sessions int `json:"sessions"` // browsers that were signed out
	Keys     int `json:"keys"`     // keys that were disabled
}

type userKeyInput struct {
	ID string `json:"-" path:"id"` // of the user
	accountapi.AccountKeyChange
}

// onlySwitches reports whether nothing is to change but whether the key works: anybody who operates may do that.
func (in *userKeyInput) onlySwitches() bool {
	f := &in.KeyForm
	return in.Disabled != nil && in.Name == nil && !f.Limit.Given && !f.LimitReset.Given && !f.RateLimits.Given && f.Provider == nil && !f.ExpiresAt.Given && !f.AllowedModels.Given && !f.AllowedIPs.Given && f.Schema == nil
}

type userKeyReset struct {
	ID     string `json:"-" path:"id"`                          // of the user
	Hash   string `json:"-" path:"hash"`                        // SHA-256 of the key in hex
	Reason string `json:"reason" minLength:"1" maxLength:"200"` // for the audit, where the person does not read it
}

// PasswordLink is how a person gets a link for a new password.
type PasswordLink struct {
	Sent bool    `json:"sent"` // to the person's address
	URL  *string `json:"url"`  // to be handed over, where this gateway sends no mail; it works once, for an hour. It is only in this response
}

// userActs are the operations with which operators help people, or stop them. All can be repeated.
func userActs(d accountapi.Deps) []operation.Operation {
	block := func(blocked bool) func(context.Context, *operation.Call, *userID) (operation.None, error) {
		return func(ctx context.Context, c *operation.Call, in *userID) (none operation.None, err error) {
			u, err := mayChange(ctx, d, c, in.ID)
			if err != nil {
				return none, err
			}
			if blocked && u.ID == c.User {
				return none, fault.New(fault.Conflict, "adminapi.block", "This is your own account. Ask another operator to block it.")
			}
			return none, d.Accounts.SetDisabled(ctx, u.ID, blocked, c.Actor)
		}
	}
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/users/{id}/block", ID: "blockUser", Access: operation.Operating, Fresh: true, Status: 204, Tag: "administration",
			Summary: "Block a person; for operators", Answer: "The person is blocked",
			Description: "All keys and sessions are refused within 5 seconds. Calls that are running end as usual. The last administrator cannot be blocked, and administrators only by another one.",
		}, block(true)),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/users/{id}/unblock", ID: "unblockUser", Access: operation.Operating, Fresh: true, Status: 204, Tag: "administration",
			Summary: "Let a blocked person in again; for operators", Answer: "The person is not blocked",
		}, block(false)),
		operation.Of(operation.Operation{
			Method: "PATCH", Path: "/api/admin/users/{id}/keys/{hash}", ID: "switchUserKey", Access: operation.Operating, Fresh: true, Status: 204, Tag: "administration",
			Summary: "Disable a key of a person, enable it again, or change it; for operators", Answer: "It is so", Example: `{"disabled": true}`,
			Description: "A disabled key is refused within 5 seconds. Calls that are running end as usual. Its owner can enable it again. Limit, expiry, name and all else are changed by administrators, as with " +
				"PATCH /api/keys/{hash}; fields that are missing stay as they are.",
		}, func(ctx context.Context, c *operation.Call, in *userKeyInput) (none operation.None, err error) {
			if _, err := mayChange(ctx, d, c, in.ID); err != nil {
				return none, err
			}
			switches := in.onlySwitches()
			if !switches && c.Role != apikey.Administrator {
				return none, fault.New(fault.PermissionDenied, "adminapi.switchUserKey", "Operators disable and enable keys. Ask an administrator to change more of one.")
			}
			k, err := d.Keys.ByHash(ctx, in.ID, in.Hash)
			if err != nil || switches && k.Disabled == *in.Disabled {
				return none, err
			}
			_, err = d.ChangeKey(ctx, c, in.ID, &k, &in.AccountKeyChange)
			return none, err
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/users/{id}/keys/{hash}/reset-spending", ID: "resetUserKeySpending", Access: operation.Administration, Fresh: true, Status: 204, Tag: "administration",
			Summary: "Let the limit of a person's key count from now on", Answer: "It counts from now on", Example: `{"reason": "Ticket 4711"}`,
			Description: "As with POST /api/keys/{hash}/reset-spending: the spending itself stays.",
		}, func(ctx context.Context, c *operation.Call, in *userKeyReset) (none operation.None, err error) {
			if strings.TrimSpace(in.Reason) == "" {
				return none, fault.Field("adminapi.resetSpending", "reason", "reason is missing.").Coded("missing")
			}
			if _, err := mayChange(ctx, d, c, in.ID); err != nil {
				return none, err
			}
			_, err = d.ResetSpending(ctx, c, in.ID, in.Hash, in.Reason)
			return none, err
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/users/{id}/sign-out", ID: "signOutUser", Access: operation.Operating, Fresh: true, Tag: "administration",
			Summary: "End all sessions of a person, and disable all keys if asked for; for operators", Answer: "What has ended", Example: `{"keys": true}`,
		}, func(ctx context.Context, c *operation.Call, in *signOutInput) (out operation.Data[SignedOut], err error) {
			if _, err := mayChange(ctx, d, c, in.ID); err != nil {
				return out, err
			}
			if d.People != nil {
				if out.Data.Sessions, err = d.People.EndAll(ctx, in.ID, c.Actor); err != nil {
					return out, err
				}
			}
			if in.Keys {
				out.Data.Keys, err = d.Keys.DisableAll(ctx, in.ID, c.Actor)
			}
			return out, err
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/users/{id}/password-link", ID: "sendPasswordLink", Access: operation.Operating, Fresh: true, Tag: "administration",
			Summary: "Have a person choose a new password; for operators", Answer: "Where the link is",
			Description: "The link goes to the person's address. Where this gateway sends no mail, an administrator gets it in the response, to hand it over. The present password works until a new one is chosen.",
		}, func(ctx context.Context, c *operation.Call, in *userID) (out operation.Data[PasswordLink], err error) {
			if _, err := mayChange(ctx, d, c, in.ID); err != nil {
				return out, err
			}
			if d.People == nil {
				return out, fault.New(fault.NotFound, "adminapi.passwordLink", "Sign-in is switched off on this gateway.")
			}
			if d.People.SendsMail() {
				out.Data.Sent = true
				return out, d.People.SendReset(ctx, in.ID, c.Actor)
			}
			if c.Role != apikey.Administrator {
				return out, fault.New(fault.PermissionDenied, "adminapi.passwordLink", "This gateway sends no mail, so the link must be handed over. Ask an administrator to make it.")
			}
			c.NoStore()
			link, err := d.People.ResetLink(ctx, in.ID, c.Actor)
			if err != nil {
				return out, err
			}
			url := c.Base() + link
			out.Data.URL = &url
			return out, nil
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/users/{id}/see", ID: "seeAsUser", Access: operation.Operating, Fresh: true, Status: 204, Tag: "administration",
			Summary: "Look at the interface as a person sees it; for operators, with a browser", Answer: "This session looks at the interface as the person",
			Description: "It lasts 15 minutes, or until DELETE /api/auth/seeing. Everything that changes or spends something is refused meanwhile, and so is what is for the person alone: " +
				"chats, texts of calls, files, secrets. Begin and end are in the audit. Administrators are looked at by administrators alone.",
		}, func(ctx context.Context, c *operation.Call, in *userID) (none operation.None, err error) {
			if c.Session == nil {
				return none, fault.New(fault.PermissionDenied, "adminapi.see", "This is for people who are signed in with a browser.")
			}
			return none, d.People.See(ctx, c.Session, c.Person, in.ID, c.Browser.Client())
		}),
		operation.Of(operation.Operation{
			Method: "PATCH", Path: "/api/admin/users/{id}", ID: "changeUserRole", Access: operation.Administration, Fresh: true, Status: 204, Tag: "administration",
			Summary: "Change what a person may do", Answer: "The person has the role", Example: `{"role": "operator"}`,
			Description: "It holds for sessions and management keys within 5 seconds. The last administrator stays one: the response is 409 then.",
		}, func(ctx context.Context, c *operation.Call, in *roleInput) (none operation.None, err error) {
			if !isRole(in.Role) {
				return none, noRole("adminapi.role")
			}
			if _, err := mayChange(ctx, d, c, in.ID); err != nil {
				return none, err
			}
			return none, d.Accounts.SetRole(ctx, in.ID, apikey.Role(in.Role), c.Actor)
		}),
	}
}
