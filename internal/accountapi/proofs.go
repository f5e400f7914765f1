package accountapi

import (
	"context"

	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/operation"
)

// proofs are the operations with which people who are signed in prove again who they are, and say what it takes.
func proofs(people *auth.Manager) []operation.Operation {
	return []operation.Operation{
		operation.Of(form(operation.Operation{
			Method: "POST", Path: "/api/auth/prove/options", ID: "beginProof", Access: operation.SignedIn,
			Summary: "Begin to give a passkey again, before something that needs a recent sign-in", Answer: optionsAnswer, Example: `{}`,
		}), func(ctx context.Context, c *operation.Call, _ *operation.Empty) (out PasskeyRequest, err error) {
			at, err := c.Browser.Site()
			if err != nil {
				return out, err
			}
			ch, err := people.BeginProof(ctx, c.Person, at, c.Browser.Client())
			if err != nil {
				return out, err
			}
			return requestOf(c, &ch), nil
		}),
		operation.Of(answered(operation.Operation{
			Method: "POST", Path: "/api/auth/prove", ID: "proveIdentity", Access: operation.SignedIn, Status: 204,
			Summary: "Give the password again, or the answer of a passkey, before something that needs a recent sign-in: error.metadata.sign_in is then again",
			Answer:  "The sign-in is recent again", Example: `{"password": "correct horse battery"}`,
		}), func(ctx context.Context, c *operation.Call, in *ProofInput) (operation.None, error) {
			return operation.None{}, prove(ctx, people, c, in)
		}),
		operation.Of(answered(operation.Operation{
			Method: "POST", Path: "/api/auth/second-step", ID: "requirePasskey", Access: operation.SignedIn, Status: 204,
			Summary: "Require a passkey from now on, whichever way the person signs in. The answer is that of a passkey to POST /api/auth/prove/options; all other sessions end",
			Answer:  "It is required", Example: exampleSignature,
		}), func(ctx context.Context, c *operation.Call, in *PasskeyInput) (none operation.None, err error) {
			answer, err := credential(in.Credential)
			if err != nil {
				return none, err
			}
			at, err := c.Browser.Site()
			if err != nil {
				return none, err
			}
			return none, proved(c, people.RequirePasskey(ctx, c.Session, c.Person, at, in.Step, answer, c.Browser.Client()), wrongPasskey())
		}),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/auth/second-step", ID: "requireNoPasskey", Access: operation.SignedIn, Fresh: true, Status: 204, Tag: "sign-in",
			Summary: "Require no passkey any more. This needs a recent sign-in; all other sessions end", Answer: "It is not required",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (operation.None, error) {
			return operation.None{}, people.ReleasePasskey(ctx, c.Session, c.Browser.Client())
		}),
	}
}

// prove takes the password, or the answer of a passkey, before something that matters.
func prove(ctx context.Context, people *auth.Manager, c *operation.Call, in *ProofInput) error {
	answer, err := credential(in.Credential)
	if err != nil {
		return err
	}
	if in.Step == "" && answer == nil {
		wrong := fault.Field("accountapi.prove", "password", "password must be your present password.").Coded("wrong_password")
		return proved(c, people.Prove(ctx, c.Session, c.Person, in.Password), wrong)
	}
	at, err := c.Browser.Site()
	if err != nil {
		return err
	}
	return proved(c, people.ProveWith(ctx, c.Session, c.Person, at, in.Step, answer, c.Browser.Client()), wrongPasskey())
}

func wrongPasskey() *fault.Error {
	return fault.Field("accountapi.prove", "credential", "This passkey does not work here. Give the password, or use another one.").Coded("passkey_elsewhere")
}

// proved counts a proof of who is signed in that has failed. It does not end the session.
func proved(c *operation.Call, err error, wrong *fault.Error) error {
	if !fault.Is(err, fault.Authentication) {
		return err
	}
	if refused := c.Gates.Failure(); refused != nil {
		return refused
	}
	return wrong.Because(err)
}
