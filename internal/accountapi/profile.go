package accountapi

import (
	"cmp"
	"context"
	"time"

	"weir/internal/account"
	"weir/internal/fault"
	"weir/internal/operation"
	"weir/internal/rawjson"
)

// systemTheme is what pages call the theme of the browser's system, which is stored as "".
const systemTheme = "system"

// Profile is who a user is, and how they want the pages.
type Profile struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Email     *string   `json:"email"`
	Role      string    `json:"role" enum:"user,operator,administrator"`
	Language  *string   `json:"language" enum:"en,ru"` // null: that of the browser
	Theme     string    `json:"theme" enum:"system,light,dark"`
	CreatedAt time.Time `json:"created_at"`
}

// ProfileChange is what is to be different. What is left out stays.
type ProfileChange struct {
	Name     *string                 `json:"name,omitempty" minLength:"1" maxLength:"100"`
	Language operation.Maybe[string] `json:"language" enum:"en,ru"` // null: that of the browser
	Theme    *string                 `json:"theme,omitempty" enum:"system,light,dark"`
}

// apply sets what a change gives.
func (in *ProfileChange) apply(p *account.Profile) error {
	if in.Name != nil {
		p.Name = *in.Name
	}
	if in.Language.Given {
		p.Language = ""
		if v := in.Language.Value; v != nil {
			if *v == "" {
				return notEmpty("language")
			}
			p.Language = *v
		}
	}
	if in.Theme != nil {
		if *in.Theme == "" {
			return notEmpty("theme")
		}
		if p.Theme = *in.Theme; p.Theme == systemTheme {
			p.Theme = ""
		}
	}
	return nil
}

func notEmpty(name string) error {
	return fault.Field("accountapi.changeProfile", name, "%s must be a text that is not empty.", name).Coded("not_empty")
}

func profiles(d Deps) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/account/profile", ID: "getProfile", Access: operation.Management, Tag: "pages",
			Summary: "Name, language and theme", Answer: "The profile",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (out operation.Data[Profile], err error) {
			u, err := d.Accounts.ByID(ctx, c.User)
			if err != nil {
				return out, err
			}
			return profileOf(ctx, d, c, &u)
		}),
		operation.Of(operation.Operation{
			Method: "PATCH", Path: "/api/account/profile", ID: "changeProfile", Access: operation.Management, Tag: "pages",
			Form: rawjson.Limits{Depth: 2, Keys: 10, Values: 20}, Summary: "Change them; fields that are missing stay as they are", Answer: "The profile",
			Example: `{"name": "Anna", "language": "ru", "theme": "system"}`,
		}, func(ctx context.Context, c *operation.Call, in *ProfileChange) (out operation.Data[Profile], err error) {
			u, err := d.Accounts.ByID(ctx, c.User)
			if err != nil {
				return out, err
			}
			p := account.Profile{Name: u.Name, Language: u.Language, Theme: u.Theme}
			if err := in.apply(&p); err != nil {
				return out, err
			}
			if err := d.Accounts.SetProfile(ctx, u.ID, p, c.Actor); err != nil {
				return out, err
			}
			u.Name, u.Language, u.Theme = p.Name, p.Language, p.Theme
			return profileOf(ctx, d, c, &u)
		}),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/account", ID: "deleteAccount", Access: operation.SignedIn, Fresh: true, Status: 204, Cookies: true, Tag: "pages",
			Summary: "Delete the account of who is signed in: they become anonymous, and their keys stop. Charges, invoices and the money in the wallet stay. " +
				"409 while a job or a payment is under way. Needs a recent sign-in",
			Answer: "It is deleted",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (none operation.None, err error) {
			if err := d.Accounts.Forget(ctx, c.User, c.Actor); err != nil {
				return none, err
			}
			c.Browser.SetSession("", 0)
			c.Header.Set("Clear-Site-Data", `"cache", "storage"`)
			return none, nil
		}),
	}
}

func profileOf(ctx context.Context, d Deps, c *operation.Call, u *account.User) (out operation.Data[Profile], err error) {
	email := ""
	if d.People != nil {
		p, err := d.People.Of(ctx, u.ID)
		if err != nil {
			return out, err
		}
		email = p.Email
	}
	c.NoStore()
	out.Data = Profile{ID: u.ID, Name: u.Name, Email: OrNull(email), Role: string(u.Role), Language: OrNull(u.Language), Theme: cmp.Or(u.Theme, systemTheme), CreatedAt: u.CreatedAt}
	return out, nil
}
