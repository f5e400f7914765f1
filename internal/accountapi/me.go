package accountapi

import (
	"cmp"
	"context"
	"slices"
	"time"

	"weir/internal/apikey"
	"weir/internal/auth"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/wire"
)

// Me is who is signed in with a browser, and which ways in there are.
type Me struct {
	User     *Person         `json:"user"` // null for a visitor
	Accounts []PersonAccount `json:"accounts"`
	Operator bool            `json:"operator"` // operator or administrator
	Session  *Session        `json:"session"`
	Seeing   *Seeing         `json:"seeing"` // null, or: an operator looks at the interface as user sees it
	Features Features        `json:"features"`
	Locale   string          `json:"locale" enum:"en,ru"` // language of the person's profile, else of the browser
	Theme    string          `json:"theme" enum:"light,dark,system"`
}

// Seeing is that an operator looks at the interface as another person sees it. Nothing can be changed meanwhile.
type Seeing struct {
	By    string    `json:"by"` // id of the operator
	Until time.Time `json:"until"`
}

// Person is who is signed in.
type Person struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Email       *string   `json:"email"`
	Confirmed   bool      `json:"confirmed"` // the address has received a link that was opened
	HasPassword bool      `json:"has_password"`
	Passkeys    int       `json:"passkeys"`    // how many
	SecondStep  bool      `json:"second_step"` // every way to sign in, and to prove it again, needs a passkey
	Providers   []string  `json:"providers"`   // ids of the other providers with which this person signs in
	KeepsChats  bool      `json:"keeps_chats"` // chats of the playground are kept with the account, too
	Role        string    `json:"role" enum:"user,operator,administrator"`
	CreatedAt   time.Time `json:"created_at"`
}

// PersonAccount is an account in which a person acts: their own, or that of an organization.
type PersonAccount struct {
	ID        string      `json:"id"` // as account in the query of requests names it
	Name      string      `json:"name"`
	Kind      string      `json:"kind" enum:"person,organization"`
	Role      string      `json:"role" enum:"owner,manager,member,billing"`
	Team      *string     `json:"team"`
	Available *money.Nano `json:"available"` // what can be spent; null where the role does not show it
	Whole     bool        `json:"whole"`     // calls and keys of all members are seen
	KeepDays  *int64      `json:"keep_days"` // for how many days browsers may keep what is made in it: 0 not at all, null as long as they have room
}

// Features is what this gateway offers.
type Features struct {
	SignUp    string           `json:"sign_up" enum:"closed,invitation,open"`
	Passwords bool             `json:"passwords"`
	Mail      bool             `json:"mail"`       // lost passwords are recovered by mail
	Demo      bool             `json:"demo"`       // one click signs this browser in to the demo
	Setup     bool             `json:"setup"`      // no administrator can sign in yet
	Passkeys  bool             `json:"passkeys"`   // passkeys work at this address
	Docs      bool             `json:"docs"`       // the documentation is at /docs
	Rankings  bool             `json:"rankings"`   // this client may see GET /api/rankings
	Payments  bool             `json:"payments"`   // wallets can be topped up by paying here
	Notices   bool             `json:"notices"`    // what is noticed for accounts can be read: GET /api/notices
	DemoUntil *time.Time       `json:"demo_until"` // what is older is demo data, which was made up; null: there is none
	OIDC      []SignInProvider `json:"oidc"`       // other providers at which people can sign in
}

// SignInProvider is another provider at which people can sign in.
type SignInProvider struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	SignUp bool   `json:"sign_up"` // it makes accounts
}

func whoAmI(d Deps) operation.Operation {
	return operation.Of(operation.Operation{
		Method: "GET", Path: "/api/me", ID: "getMe", Access: operation.Visiting, Tag: "sign-in",
		Summary: "Who is signed in with this browser, and which ways in there are", Answer: "The person, null for a visitor",
	}, func(ctx context.Context, c *operation.Call, _ *operation.None) (Me, error) { return meOf(ctx, d, c) })
}

// meOf is who has sent a request.
func meOf(ctx context.Context, d Deps, c *operation.Call) (m Me, err error) {
	if m.Features, err = featuresOf(ctx, d, c); err != nil {
		return m, err
	}
	m.Accounts, m.Locale, m.Theme = []PersonAccount{}, c.Browser.Language(), c.Browser.Theme()
	if p := c.Person; p != nil {
		if m.User, err = personOf(ctx, d, p); err != nil {
			return m, err
		}
		s := sessionOf(c.Session, true, c.At)
		if m.Accounts, err = accountsOf(ctx, d, p); err != nil {
			return m, err
		}
		m.Operator, m.Session = p.Role != apikey.User, &s
		if c.Session.Sees != "" {
			m.Seeing = &Seeing{By: c.Session.User, Until: c.Session.SeesUntil}
		}
		m.Locale, m.Theme = cmp.Or(p.Language, m.Locale), cmp.Or(p.Theme, m.Theme)
	}
	c.NoStore()
	return m, nil
}

// accountsOf are the accounts in which a person acts, the own one first.
func accountsOf(ctx context.Context, d Deps, p *auth.Person) ([]PersonAccount, error) {
	days, err := keepDays(ctx, d, p.ID)
	if err != nil {
		return nil, err
	}
	all := []PersonAccount{{ID: p.ID, Name: p.Name, Kind: "person", Role: string(apikey.OrgOwner), Whole: true, KeepDays: days}}
	if d.Organizations == nil {
		return all, nil
	}
	orgs, err := d.Organizations.All(ctx, p.ID)
	for i := range orgs {
		o := &orgs[i]
		a := PersonAccount{ID: o.ID, Name: o.Name, Kind: "organization", Role: string(o.Role), Team: OrNull(o.Team), Whole: o.Sight(p.ID).All()}
		if a.Whole {
			b, err := d.Books.Balance(ctx, o.Wallet)
			if err != nil {
				return nil, err
			}
			available := b.Balance - b.Held
			a.Available = &available
		}
		if a.KeepDays, err = keepDays(ctx, d, o.ID); err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, err
}

// keepDays is what PersonAccount says of it.
func keepDays(ctx context.Context, d Deps, account string) (*int64, error) {
	u, err := d.Accounts.ByID(ctx, account)
	if err != nil {
		return nil, err
	}
	days, bound, err := wire.KeepDays(u.Preferences)
	if !bound {
		return nil, err
	}
	return &days, err
}

func featuresOf(ctx context.Context, d Deps, c *operation.Call) (Features, error) {
	f, err := d.People.Features(ctx)
	_, nowhere := c.Browser.Site()
	out := Features{
		SignUp: string(f.SignUp), Passwords: f.Passwords, Mail: f.Mail, Demo: f.Demo && c.Browser.Local(), Setup: f.Setup, Passkeys: nowhere == nil,
		Docs: d.Docs, Rankings: d.Rankings || c.Caller != nil, Payments: d.Payments != nil, Notices: d.Notifications != nil, OIDC: []SignInProvider{},
	}
	if demo := d.demo(); demo != nil && !demo.Until.IsZero() {
		out.DemoUntil = &demo.Until
	}
	for _, p := range d.People.Providers() {
		out.OIDC = append(out.OIDC, SignInProvider{ID: p.ID, Name: p.Name, SignUp: p.SignUp})
	}
	return out, err
}

func personOf(ctx context.Context, d Deps, p *auth.Person) (*Person, error) {
	chats, err := keepsChats(ctx, d, p)
	if err != nil {
		return nil, err
	}
	keys, err := d.People.Passkeys(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	linked, err := linkedProviders(ctx, d.People, p)
	return &Person{
		ID: p.ID, Name: p.Name, Email: OrNull(p.Email), Confirmed: p.Confirmed, HasPassword: p.HasPassword, Passkeys: len(keys), SecondStep: p.SecondStep,
		Providers: linked, KeepsChats: chats, Role: string(p.Role), CreatedAt: p.CreatedAt,
	}, err
}

// keepsChats reports whether the chats of a person are kept: the account has switched it on, and nothing forbids it.
func keepsChats(ctx context.Context, d Deps, p *auth.Person) (bool, error) {
	if !d.Chats.Keeps() {
		return false, nil
	}
	u, err := d.Accounts.ByID(ctx, p.ID)
	if err != nil {
		return false, err
	}
	_, keeps, err := wire.KeepsChats(u.Preferences)
	return keeps, err
}

// linkedProviders are the ids of the configured providers at which a person has an identity.
func linkedProviders(ctx context.Context, people *auth.Manager, p *auth.Person) ([]string, error) {
	linked := []string{}
	all := people.Providers()
	if len(all) == 0 {
		return linked, nil
	}
	mine, err := people.Identities(ctx, p.ID)
	for _, of := range all {
		if slices.ContainsFunc(mine, func(i auth.Identity) bool { return i.Issuer == of.Issuer }) {
			linked = append(linked, of.ID)
		}
	}
	return linked, err
}
