package accountapi

import (
	"context"
	"time"

	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/operation"
)

// SecondStep is what a passkey must end before there is a session.
type SecondStep struct {
	SecondStep string `json:"second_step"` // the step of POST /api/auth/passkey/options and POST /api/auth/passkey
}

// SignInInput is an address with its password.
type SignInInput struct {
	Email    string `json:"email" maxLength:"254"`
	Password string `json:"password" minLength:"10" maxLength:"256"`
}

// SignUpInput is who wants an account.
type SignUpInput struct {
	Email      string `json:"email,omitempty" null:"none" maxLength:"254"`                   // all that is given without an invitation, besides the language
	Name       string `json:"name,omitempty" null:"none" maxLength:"256"`                    // with an invitation
	Password   string `json:"password,omitempty" null:"none" minLength:"10" maxLength:"256"` // with an invitation, and required then
	Invitation string `json:"invitation,omitempty" null:"none"`
	Locale     string `json:"locale,omitempty" null:"none" enum:"en,ru"` // language of the mail
}

// ConfirmationInput ends a sign-up.
type ConfirmationInput struct {
	Token    string `json:"token"`
	Name     string `json:"name,omitempty" null:"none" maxLength:"256"` // by default the part of the address before the @
	Password string `json:"password" minLength:"10" maxLength:"256"`
}

// SetupInput is who becomes the first administrator.
type SetupInput struct {
	Token    string `json:"token"`
	Email    string `json:"email" maxLength:"254"`
	Name     string `json:"name,omitempty" null:"none" maxLength:"256"`
	Password string `json:"password" minLength:"10" maxLength:"256"`
}

// ResetInput is a new password, with the token of a link.
type ResetInput struct {
	Token    string `json:"token"`
	Password string `json:"password" minLength:"10" maxLength:"256"`
}

// LinkInput is a link to look at. The token is in the body, because addresses are logged.
type LinkInput struct {
	Kind  string `json:"kind" enum:"invitation,reset,setup,confirm,address,undo"`
	Token string `json:"token"`
}

// Link is what a link is for.
type Link struct {
	Kind      string    `json:"kind"`
	Email     *string   `json:"email"`
	Role      *string   `json:"role"`
	ExpiresAt time.Time `json:"expires_at"`
}

// secure refuses to sign anybody in over a connection that others can read.
func secure(c *operation.Call) error { return c.Browser.Secure() }

const (
	secondStep = "Right, but the account requires a passkey: end the step with POST /api/auth/passkey within five minutes. There is no session yet"
	signedIn   = "Signed in; the cookie is the session"
)

func signIns(d Deps) []operation.Operation {
	return []operation.Operation{
		operation.Of(form(operation.Operation{
			Method: "POST", Path: "/api/auth/sign-in", ID: "signIn", Access: operation.Visiting, May: secure, Cookies: true,
			Summary: "Sign in with an e-mail address and a password. All routes under /api/auth are for pages of this gateway: they need its Origin and X-Weir",
			Answer:  signedIn, Waits: secondStep, Example: `{"email": "anna@example.org", "password": "correct horse battery"}`,
		}), func(ctx context.Context, c *operation.Call, in *SignInInput) (out operation.Or[Me, SecondStep], err error) {
			if err := needed("email", in.Email); err != nil {
				return out, err
			}
			if err := needed("password", in.Password); err != nil {
				return out, err
			}
			s, err := d.People.SignIn(ctx, in.Email, in.Password, c.Browser.Client())
			return begun(ctx, d, c, s, err)
		}),
		operation.Of(answered(operation.Operation{
			Method: "POST", Path: "/api/auth/passkey", ID: "signInWithPasskey", Access: operation.Visiting, Cookies: true,
			Summary: "Sign in with the answer of a passkey. No name or address is needed", Answer: "Who is signed in now", Example: exampleSignature,
		}), func(ctx context.Context, c *operation.Call, in *PasskeyInput) (out Me, err error) {
			answer, err := credential(in.Credential)
			if err != nil {
				return out, err
			}
			at, err := c.Browser.Site()
			if err != nil {
				return out, err
			}
			s, err := d.People.SignInWith(ctx, at, in.Step, answer, c.Browser.Client())
			return entered(ctx, d, c, s, err)
		}),
		operation.Of(form(operation.Operation{
			Method: "POST", Path: "/api/auth/demo", ID: "signInToDemo", Access: operation.Visiting, Cookies: true,
			Summary: "Sign in to a demo, from a browser on its machine", Answer: signedIn, Waits: secondStep, Example: `{}`,
		}), func(ctx context.Context, c *operation.Call, _ *operation.Empty) (out operation.Or[Me, SecondStep], err error) {
			if !c.Browser.Local() {
				return out, fault.New(fault.PermissionDenied, "accountapi.signInToDemo", "Only a browser on the demo's own machine can sign in to it without a password.")
			}
			s, err := d.People.Demo(ctx, c.Browser.Client())
			return begun(ctx, d, c, s, err)
		}),
		operation.Of(form(operation.Operation{
			Method: "POST", Path: "/api/auth/sign-out", ID: "signOut", Access: operation.Visiting, Leaves: true, Status: 204, Cookies: true,
			Summary: "End this browser's session", Answer: "The session has ended", Example: `{}`,
		}), func(ctx context.Context, c *operation.Call, _ *operation.Empty) (none operation.None, err error) {
			if err := leave(ctx, d.People, c); err != nil {
				return none, err
			}
			c.Browser.SetSession("", 0)
			c.Header.Set("Clear-Site-Data", `"cache"`)
			return none, nil
		}),
	}
}

func signUps(d Deps) []operation.Operation {
	return []operation.Operation{
		operation.Of(form(operation.Operation{
			Method: "POST", Path: "/api/auth/sign-up", ID: "signUp", Access: operation.Visiting, May: secure, Cookies: true,
			Summary: "Make an account: with the token of an invitation at once, otherwise after the link of a mail", Answer: signedIn,
			Waits:   "A mail was sent, whether or not the address has an account already",
			Example: `{"email": "anna@example.org", "password": "correct horse battery", "invitation": "4uXc9Rk2mTzB1nV8pLwY3dQh"}`,
		}), func(ctx context.Context, c *operation.Call, in *SignUpInput) (out operation.Or[Me, Sent], err error) {
			f := auth.Form{Email: in.Email, Name: in.Name, Password: in.Password, Token: in.Invitation, Locale: in.Locale}
			s, err := d.People.SignUp(ctx, f, c.Browser.Client())
			if err == nil && s.Token == "" {
				return operation.Or[Me, Sent]{Waits: &Sent{true}}, nil
			}
			m, err := entered(ctx, d, c, s, err)
			return operation.Or[Me, Sent]{Done: &m}, err
		}),
		operation.Of(form(operation.Operation{
			Method: "POST", Path: "/api/auth/confirm", ID: "confirmSignUp", Access: operation.Visiting, May: secure, Cookies: true,
			Summary: "End a sign-up with the token of its mail, a name and a password", Answer: signedIn,
			Example: `{"token": "4uXc9Rk2mTzB1nV8pLwY3dQh", "password": "correct horse battery"}`,
		}), func(ctx context.Context, c *operation.Call, in *ConfirmationInput) (Me, error) {
			s, err := d.People.Confirm(ctx, auth.Form{Token: in.Token, Name: in.Name, Password: in.Password}, c.Browser.Client())
			return entered(ctx, d, c, s, err)
		}),
		operation.Of(form(operation.Operation{
			Method: "POST", Path: "/api/auth/setup", ID: "setUp", Access: operation.Visiting, May: secure, Cookies: true,
			Summary: "Make the first administrator, with the token that the server has shown or weir user setup prints", Answer: signedIn, Waits: secondStep,
			Example: `{"token": "4uXc9Rk2mTzB1nV8pLwY3dQh", "email": "anna@example.org", "password": "correct horse battery"}`,
		}), func(ctx context.Context, c *operation.Call, in *SetupInput) (operation.Or[Me, SecondStep], error) {
			s, err := d.People.Setup(ctx, auth.Form{Email: in.Email, Name: in.Name, Password: in.Password, Token: in.Token}, c.Browser.Client())
			return begun(ctx, d, c, s, err)
		}),
	}
}

func links(d Deps) []operation.Operation {
	return []operation.Operation{
		operation.Of(form(operation.Operation{
			Method: "POST", Path: "/api/auth/recover", ID: "recoverPassword", Access: operation.Visiting, Status: 202,
			Summary: "Ask for a link that sets a new password", Answer: "A mail was sent, if the address has an account", Example: `{"email": "anna@example.org"}`,
		}), func(ctx context.Context, c *operation.Call, in *EmailInput) (Sent, error) {
			return Sent{true}, d.People.Recover(ctx, in.Email, in.Locale, c.Browser.Client())
		}),
		operation.Of(form(operation.Operation{
			Method: "POST", Path: "/api/auth/reset", ID: "resetPassword", Access: operation.Visiting, May: secure, Cookies: true,
			Summary: "Set a new password with the token of a link; all other sessions end", Answer: signedIn, Waits: secondStep,
			Example: `{"token": "4uXc9Rk2mTzB1nV8pLwY3dQh", "password": "correct horse battery"}`,
		}), func(ctx context.Context, c *operation.Call, in *ResetInput) (operation.Or[Me, SecondStep], error) {
			s, err := d.People.Reset(ctx, in.Token, in.Password, c.Browser.Client())
			return begun(ctx, d, c, s, err)
		}),
		operation.Of(form(operation.Operation{
			Method: "POST", Path: "/api/auth/link", ID: "lookAtLink", Access: operation.Visiting,
			Summary: "What a link is for, without using it", Answer: "The link works", Example: `{"kind": "invitation", "token": "4uXc9Rk2mTzB1nV8pLwY3dQh"}`,
		}), func(ctx context.Context, c *operation.Call, in *LinkInput) (out Link, err error) {
			t, err := d.People.LookAt(ctx, in.Kind, in.Token)
			if err != nil {
				if refused := c.Gates.Failure(); refused != nil {
					return out, refused
				}
			}
			return Link{Kind: t.Kind, Email: OrNull(t.Email), Role: OrNull(string(t.Role)), ExpiresAt: t.ExpiresAt}, err
		}),
	}
}

// begun answers with the session that a sign-in has begun, or with the step that a passkey must end first.
func begun(ctx context.Context, d Deps, c *operation.Call, s auth.Started, err error) (out operation.Or[Me, SecondStep], _ error) {
	if err == nil && s.Step != "" {
		c.NoStore()
		out.Waits = &SecondStep{s.Step}
		return out, nil
	}
	m, err := entered(ctx, d, c, s, err)
	out.Done = &m
	return out, err
}

// entered answers with the session that a sign-in has begun. What was wrong counts against the address.
func entered(ctx context.Context, d Deps, c *operation.Call, s auth.Started, err error) (m Me, _ error) {
	if fault.Is(err, fault.Authentication) {
		if refused := c.Gates.Failure(); refused != nil {
			return m, refused
		}
	}
	if err != nil {
		return m, err
	}
	if err := enter(ctx, d.People, c, s); err != nil {
		return m, err
	}
	session, p, err := d.People.Session(ctx, s.Token, nil)
	if err != nil {
		return m, err
	}
	c.Session, c.Person = &session, &p
	return meOf(ctx, d, c)
}

// enter gives the browser a session that has begun. Its earlier one ends, so that a cookie from before the sign-in is worth nothing.
func enter(ctx context.Context, people *auth.Manager, c *operation.Call, s auth.Started) error {
	if err := leave(ctx, people, c); err != nil {
		return err
	}
	c.Browser.SetSession(s.Token, s.ExpiresAt.Sub(c.At))
	return nil
}

// leave ends the browser's session, where it has one.
func leave(ctx context.Context, people *auth.Manager, c *operation.Call) error {
	if c.Session == nil {
		return nil
	}
	if err := people.SignOut(ctx, c.Session, c.Browser.Client()); !fault.Is(err, fault.NotFound) {
		return err
	}
	return nil
}
