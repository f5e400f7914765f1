package accountapi

import (
	"context"

	"weir/internal/auth"
	"weir/internal/operation"
)

// Sent says that a mail was sent, or would have been.
type Sent struct {
	Sent bool `json:"sent"`
}

// EmailInput is an address of a person.
type EmailInput struct {
	Email  string `json:"email" maxLength:"254"`
	Locale string `json:"locale,omitempty" null:"none" enum:"en,ru"` // language of the mail
}

// TokenInput is what a link proves.
type TokenInput struct {
	Token string `json:"token"` // text behind the number sign of the link
}

// KeptEmail is the address that an account has again.
type KeptEmail struct {
	Email string `json:"email"`
}

const exampleToken = `{"token": "4uXc9Rk2mTzB1nV8pLwY3dQh"}` //nolint:gosec // an example

func emails(people *auth.Manager) []operation.Operation {
	return []operation.Operation{
		operation.Of(form(operation.Operation{
			Method: "POST", Path: "/api/auth/email", ID: "askForEmail", Access: operation.SignedIn, Fresh: true, Status: 202,
			Summary: "Ask for another e-mail address. A link goes to it, and a notice with a link that stops it to the present one. Needs a recent sign-in",
			Answer:  "A mail was sent, unless the address got enough of them today. The answer does not say whether the address has an account",
			Example: `{"email": "anna.new@example.org"}`,
		}), func(ctx context.Context, c *operation.Call, in *EmailInput) (Sent, error) {
			if err := needed("email", in.Email); err != nil {
				return Sent{}, err
			}
			return Sent{true}, people.BeginMove(ctx, c.Person, in.Email, in.Locale, c.Browser.Client())
		}),
		operation.Of(form(operation.Operation{
			Method: "POST", Path: "/api/auth/email/confirm", ID: "confirmEmail", Access: operation.SignedIn, Status: 204,
			Summary: "Use the link to a new address, in a session of who asked for it. All other sessions end",
			Answer:  "The account has the address", Example: exampleToken,
		}), func(ctx context.Context, c *operation.Call, in *TokenInput) (none operation.None, err error) {
			if err := needed("token", in.Token); err != nil {
				return none, err
			}
			return none, people.EndMove(ctx, c.Session, c.Person, in.Token, c.Browser.Client())
		}),
		operation.Of(form(operation.Operation{
			Method: "POST", Path: "/api/auth/keep-email", ID: "keepEmail", Access: operation.Visiting,
			Summary: "Stop a change of address with the link in the notice to the former one, or take it back. All sessions end", Answer: "The account has its former address",
			Example: exampleToken,
		}), func(ctx context.Context, c *operation.Call, in *TokenInput) (out KeptEmail, err error) {
			if err := needed("token", in.Token); err != nil {
				return out, err
			}
			if out.Email, err = people.KeepAddress(ctx, in.Token, c.Browser.Client()); err != nil {
				if refused := c.Gates.Failure(); refused != nil {
					return out, refused
				}
			}
			return out, err
		}),
	}
}
