package accountapi

import (
	"context"
	"time"

	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/operation"
	"weir/internal/rawjson"
)

// Session is a browser in which a person is signed in.
type Session struct {
	ID        string    `json:"id"`
	Method    string    `json:"method"` // password, passkey, link, demo, or oidc: and a provider
	CreatedAt time.Time `json:"created_at"`
	SeenAt    time.Time `json:"seen_at"` // to the minute
	ExpiresAt time.Time `json:"expires_at"`
	Address   *string   `json:"address"`
	UserAgent *string   `json:"user_agent"`
	Current   bool      `json:"current"`
	Fresh     bool      `json:"fresh"` // the person proved who they are in the last 10 minutes
}

func sessionOf(s *auth.Session, current bool, now time.Time) Session {
	return Session{
		ID: s.ID, Method: s.Method, CreatedAt: s.CreatedAt, SeenAt: s.SeenAt, ExpiresAt: s.ExpiresAt, Address: OrNull(s.Address), UserAgent: OrNull(s.Agent),
		Current: current, Fresh: s.Fresh(now),
	}
}

// Ended is how many sessions have ended.
type Ended struct {
	Ended int `json:"ended"`
}

type sessionID struct {
	ID string `json:"-" path:"id"` // of the session
}

func sessions(people *auth.Manager) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/auth/sessions", ID: "listSessions", Access: operation.SignedIn, Tag: "sign-in",
			Summary: "The browsers in which this person is signed in", Answer: "The sessions, the last used first",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (out operation.Data[[]Session], err error) {
			all, err := people.Sessions(ctx, c.User)
			out.Data = make([]Session, len(all))
			for i := range all {
				out.Data[i] = sessionOf(&all[i], all[i].ID == c.Session.ID, c.At)
			}
			return out, err
		}),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/auth/sessions", ID: "endOtherSessions", Access: operation.SignedIn, Tag: "sign-in",
			Summary: "End all sessions but this one", Answer: "How many have ended",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (Ended, error) {
			n, err := people.EndOthers(ctx, c.Session, c.Browser.Client())
			return Ended{n}, err
		}),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/auth/seeing", ID: "seeNoMore", Access: operation.SignedIn, Leaves: true, Status: 204, Tag: "sign-in",
			Summary: "End looking at the interface as another person sees it", Answer: "You are yourself again; also where it had ended",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (operation.None, error) {
			return operation.None{}, people.SeeNoMore(ctx, c.Session, c.Browser.Client())
		}),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/auth/sessions/{id}", ID: "endSession", Access: operation.SignedIn, Status: 204, Cookies: true, Tag: "sign-in",
			Summary: "End one session", Answer: "It has ended",
		}, func(ctx context.Context, c *operation.Call, in *sessionID) (none operation.None, err error) {
			if err := people.EndSession(ctx, c.User, in.ID, c.Browser.Client()); err != nil {
				return none, err
			}
			if in.ID == c.Session.ID {
				c.Browser.SetSession("", 0)
			}
			return none, nil
		}),
	}
}

// Identity is who a person is at another provider.
type Identity struct {
	ID           string    `json:"id"`
	Provider     *string   `json:"provider"` // null: it is not configured any more
	ProviderName *string   `json:"provider_name"`
	Issuer       string    `json:"issuer"`
	Email        *string   `json:"email"` // as the provider gave it
	CreatedAt    time.Time `json:"created_at"`
}

type identityID struct {
	ID string `json:"-" path:"id"` // of the identity
}

func identities(people *auth.Manager) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/auth/identities", ID: "listIdentities", Access: operation.SignedIn, Tag: "sign-in",
			Summary: "The identities at other providers with which this person signs in", Answer: "The identities, oldest first",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (out operation.Data[[]Identity], err error) {
			all, err := people.Identities(ctx, c.User)
			out.Data = make([]Identity, len(all))
			for i := range all {
				out.Data[i] = Identity{ID: all[i].ID(), Issuer: all[i].Issuer, Email: OrNull(all[i].Email), CreatedAt: all[i].CreatedAt}
				for _, p := range people.Providers() {
					if p.Issuer == all[i].Issuer {
						out.Data[i].Provider, out.Data[i].ProviderName = OrNull(p.ID), OrNull(p.Name)
					}
				}
			}
			return out, err
		}),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/auth/identities/{id}", ID: "removeIdentity", Access: operation.SignedIn, Fresh: true, Status: 204, Tag: "sign-in",
			Summary: "Remove an identity. The last way to sign in cannot be removed. Needs a recent sign-in", Answer: "It is removed",
		}, func(ctx context.Context, c *operation.Call, in *identityID) (operation.None, error) {
			return operation.None{}, people.Unlink(ctx, c.Session, in.ID, c.Browser.Client())
		}),
	}
}

// form is an operation around a sign-in with a form, which is small.
func form(o operation.Operation) operation.Operation {
	o.Tag, o.Body, o.Form = "sign-in", 16<<10, rawjson.Limits{Depth: 4, Keys: 20, Values: 20}
	return o
}

// needed refuses a form without the text of one of its fields.
func needed(name, value string) error {
	if value == "" {
		return fault.Field("accountapi.form", name, "%s is missing.", name).Coded("missing")
	}
	return nil
}

// PasswordInput is a new password.
type PasswordInput struct {
	Current  string `json:"current,omitempty" null:"none"` // the present password; not needed within 10 minutes of a sign-in
	Password string `json:"password" minLength:"10" maxLength:"256"`
}

func passwords(people *auth.Manager) []operation.Operation {
	return []operation.Operation{
		operation.Of(form(operation.Operation{
			Method: "POST", Path: "/api/auth/password", ID: "setPassword", Access: operation.SignedIn, Status: 204,
			Summary: "Set a new password; all other sessions end", Answer: "The password is set",
			Example: `{"current": "correct horse battery", "password": "another long phrase"}`,
		}), func(ctx context.Context, c *operation.Call, in *PasswordInput) (operation.None, error) {
			return operation.None{}, people.SetPassword(ctx, c.Session, c.Person, in.Current, in.Password, c.Browser.Client())
		}),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/auth/password", ID: "removePassword", Access: operation.SignedIn, Fresh: true, Status: 204, Tag: "sign-in",
			Summary: "Remove the password; the last way to sign in cannot be removed. All other sessions end. Needs a recent sign-in", Answer: "It is removed",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (operation.None, error) {
			return operation.None{}, people.RemovePassword(ctx, c.Session, c.Browser.Client())
		}),
	}
}
