package accountapi

import (
	"cmp"
	"context"
	"encoding/base64"
	"time"

	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/operation"
	"weir/internal/rawjson"
)

// Passkey is a way to sign in that a device keeps.
type Passkey struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	CreatedAt time.Time  `json:"created_at"`
	UsedAt    *time.Time `json:"used_at"` // null: never
}

func passkeyOf(k *auth.Passkey) Passkey {
	return Passkey{ID: k.ID, Name: k.Name, CreatedAt: k.CreatedAt, UsedAt: Moment(k.UsedAt)}
}

// PasskeyDescriptor names a passkey to a browser.
type PasskeyDescriptor struct {
	Type       string   `json:"type" enum:"public-key"`
	ID         string   `json:"id"`
	Transports []string `json:"transports,omitempty"`
}

func descriptorsOf(all []auth.KnownPasskey) []PasskeyDescriptor {
	out := make([]PasskeyDescriptor, len(all))
	for i := range all {
		out[i] = PasskeyDescriptor{Type: publicKey, ID: all[i].ID, Transports: all[i].Transports}
	}
	return out
}

const (
	publicKey = "public-key"
	required  = "required"
)

// PasskeyRequest is what a browser hands to a passkey, to use it.
type PasskeyRequest struct {
	Step      string         `json:"step"` // works once
	PublicKey RequestOptions `json:"public_key"`
}

// RequestOptions is PublicKeyCredentialRequestOptionsJSON of Web Authentication, section 5.1.10.2: what navigator.credentials.get takes.
type RequestOptions struct {
	Challenge        string              `json:"challenge"`
	Timeout          int64               `json:"timeout"` // milliseconds
	RPID             string              `json:"rpId"`
	AllowCredentials []PasskeyDescriptor `json:"allowCredentials"`
	UserVerification string              `json:"userVerification" enum:"required"`
}

// requestOf shows a challenge for passkeys that exist.
func requestOf(c *operation.Call, ch *auth.Challenge) PasskeyRequest {
	c.NoStore()
	return PasskeyRequest{Step: ch.Step, PublicKey: RequestOptions{
		Challenge: ch.Text, Timeout: ch.Life.Milliseconds(), RPID: ch.Host, AllowCredentials: descriptorsOf(ch.Passkeys), UserVerification: required,
	}}
}

// PasskeyCreation is what a browser hands to a device, to make a passkey.
type PasskeyCreation struct {
	Step      string          `json:"step"` // works once
	PublicKey CreationOptions `json:"public_key"`
}

// CreationOptions is PublicKeyCredentialCreationOptionsJSON of Web Authentication, section 5.1.9: what navigator.credentials.create takes.
type CreationOptions struct {
	Challenge              string                 `json:"challenge"`
	Timeout                int64                  `json:"timeout"` // milliseconds
	RP                     PasskeySite            `json:"rp"`
	User                   PasskeyUser            `json:"user"`
	PubKeyCredParams       []PasskeyAlgorithm     `json:"pubKeyCredParams"`
	ExcludeCredentials     []PasskeyDescriptor    `json:"excludeCredentials"`
	AuthenticatorSelection AuthenticatorSelection `json:"authenticatorSelection"`
	Attestation            string                 `json:"attestation" enum:"none"`
}

// PasskeySite is this gateway, as a device shows it.
type PasskeySite struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// PasskeyUser is whose passkey it becomes.
type PasskeyUser struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	DisplayName string `json:"displayName"`
}

// PasskeyAlgorithm is a way to sign that is accepted.
type PasskeyAlgorithm struct {
	Type string `json:"type" enum:"public-key"`
	Alg  int    `json:"alg"`
}

// AuthenticatorSelection is what a device must be able to.
type AuthenticatorSelection struct {
	ResidentKey        string `json:"residentKey" enum:"required"`
	RequireResidentKey bool   `json:"requireResidentKey"`
	UserVerification   string `json:"userVerification" enum:"required"`
}

// creationOf shows a challenge for a new passkey.
func creationOf(c *operation.Call, ch *auth.Challenge) PasskeyCreation {
	c.NoStore()
	out := CreationOptions{
		Challenge: ch.Text, Timeout: ch.Life.Milliseconds(), RP: PasskeySite{ID: ch.Host, Name: "Weir"},
		User: PasskeyUser{
			ID: base64.RawURLEncoding.EncodeToString([]byte(ch.User.ID)), Name: cmp.Or(ch.User.Email, ch.User.Name), DisplayName: ch.User.Name,
		},
		PubKeyCredParams: make([]PasskeyAlgorithm, len(ch.Algorithms)), ExcludeCredentials: descriptorsOf(ch.Passkeys),
		AuthenticatorSelection: AuthenticatorSelection{ResidentKey: required, RequireResidentKey: true, UserVerification: required}, Attestation: "none",
	}
	for i, a := range ch.Algorithms {
		out.PubKeyCredParams[i] = PasskeyAlgorithm{Type: publicKey, Alg: a}
	}
	return PasskeyCreation{Step: ch.Step, PublicKey: out}
}

// NewPasskeyInput is what a device has made.
type NewPasskeyInput struct {
	Step       string        `json:"step"`
	Name       string        `json:"name" maxLength:"64"`
	Credential operation.Raw `json:"credential" schema:"PasskeyAnswer"`
}

// PasskeyRename is another name of a passkey.
type PasskeyRename struct {
	ID   string `json:"-" path:"id"` // of the passkey
	Name string `json:"name" maxLength:"64"`
}

// StepInput is a step of a sign-in.
type StepInput struct {
	Step string `json:"step,omitempty" null:"none"` // the second step of a sign-in that has begun, as second_step of its answer; without it, a sign-in begins
}

type passkeyID struct {
	ID string `json:"-" path:"id"` // of the passkey
}

// PasskeyInput is the answer of a passkey.
type PasskeyInput struct {
	Step       string        `json:"step"`
	Credential operation.Raw `json:"credential" schema:"PasskeyAnswer"`
}

// ProofInput is a password, or the answer of a passkey.
type ProofInput struct {
	Password   string        `json:"password,omitempty" null:"none"`
	Step       string        `json:"step,omitempty" null:"none"` // of /api/auth/prove/options
	Credential operation.Raw `json:"credential,omitempty" schema:"PasskeyAnswer"`
}

// credential is the answer of a passkey; nil: there is none.
func credential(v operation.Raw) ([]byte, error) {
	switch kind := rawjson.KindOf(v); {
	case v == nil || kind == rawjson.Null:
		return nil, nil
	case kind != rawjson.Object:
		return nil, fault.Field("accountapi.credential", "credential", "credential must be an object.").Coded("wrong_type")
	}
	return v, nil
}

const (
	exampleStep       = `"step": "W9rT2xKq7LmPzB4nV8sYcD3h"`
	exampleCredential = `"credential": {"id": "Zm9yLWV4YW1wbGUtb25seS0wMTIzNDU2Nzg5", "rawId": "Zm9yLWV4YW1wbGUtb25seS0wMTIzNDU2Nzg5", "type": "public-key", "clientExtensionResults": {}, ` //nolint:gosec // an example
	exampleSignature  = `{` + exampleStep + `, ` + exampleCredential +
		`"response": {"clientDataJSON": "eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0", "authenticatorData": "AAAA", "signature": "AAAA", "userHandle": "dXNyX3g"}}}`
	examplePasskey = `{` + exampleStep + `, "name": "Phone", ` + exampleCredential +
		`"response": {"clientDataJSON": "eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIn0", "attestationObject": "AAAA", "transports": ["internal"]}}}`
	optionsAnswer = "The options, and the step that the answer ends within five minutes"
)

// answered is form for an operation that reads the answer of a passkey, which is deeper.
func answered(o operation.Operation) operation.Operation {
	o = form(o)
	o.Form = rawjson.Limits{Depth: 8, Keys: 60, Values: 100}
	return o
}

func passkeys(people *auth.Manager) []operation.Operation {
	return []operation.Operation{
		operation.Of(form(operation.Operation{
			Method: "POST", Path: "/api/auth/passkey/options", ID: "beginPasskeySignIn", Access: operation.Visiting,
			Summary: "Begin a sign-in with a passkey: what the browser's navigator.credentials.get takes, as JSON", Answer: optionsAnswer, Example: `{}`,
		}), func(ctx context.Context, c *operation.Call, in *StepInput) (out PasskeyRequest, err error) {
			ch, err := beginPasskey(ctx, people, c, in.Step)
			if err != nil {
				return out, err
			}
			return requestOf(c, &ch), nil
		}),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/auth/passkeys", ID: "listPasskeys", Access: operation.SignedIn, Tag: "sign-in",
			Summary: "The passkeys of this person", Answer: "The passkeys, oldest first",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (out operation.Data[[]Passkey], err error) {
			all, err := people.Passkeys(ctx, c.User)
			out.Data = make([]Passkey, len(all))
			for i := range all {
				out.Data[i] = passkeyOf(&all[i])
			}
			return out, err
		}),
		operation.Of(form(operation.Operation{
			Method: "POST", Path: "/api/auth/passkeys/options", ID: "beginPasskey", Access: operation.SignedIn, Fresh: true,
			Summary: "Begin to add a passkey: what the browser's navigator.credentials.create takes, as JSON; needs a recent sign-in",
			Answer:  optionsAnswer, Example: `{}`,
		}), func(ctx context.Context, c *operation.Call, _ *operation.Empty) (out PasskeyCreation, err error) {
			at, err := c.Browser.Site()
			if err != nil {
				return out, err
			}
			ch, err := people.BeginAdd(ctx, c.Person, at, c.Browser.Client())
			if err != nil {
				return out, err
			}
			return creationOf(c, &ch), nil
		}),
		operation.Of(answered(operation.Operation{
			Method: "POST", Path: "/api/auth/passkeys", ID: "addPasskey", Access: operation.SignedIn, Fresh: true, Status: 201,
			Summary: "Add a passkey with the browser's answer; needs a recent sign-in", Answer: "The passkey", Example: examplePasskey,
		}), func(ctx context.Context, c *operation.Call, in *NewPasskeyInput) (out operation.Data[Passkey], err error) {
			k, err := addPasskey(ctx, people, c, in)
			return operation.Data[Passkey]{Data: passkeyOf(&k)}, err
		}),
		operation.Of(form(operation.Operation{
			Method: "PATCH", Path: "/api/auth/passkeys/{id}", ID: "renamePasskey", Access: operation.SignedIn, Status: 204,
			Summary: "Give a passkey another name", Answer: "It has the name", Example: `{"name": "Key ring"}`,
		}), func(ctx context.Context, c *operation.Call, in *PasskeyRename) (none operation.None, err error) {
			if err := needed("name", in.Name); err != nil {
				return none, err
			}
			return none, people.RenamePasskey(ctx, c.User, in.ID, in.Name, c.Browser.Client())
		}),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/auth/passkeys/{id}", ID: "removePasskey", Access: operation.SignedIn, Fresh: true, Status: 204, Tag: "sign-in",
			Summary: "Remove a passkey; the last way to sign in cannot be removed. All other sessions end. Needs a recent sign-in", Answer: "It is removed",
		}, func(ctx context.Context, c *operation.Call, in *passkeyID) (operation.None, error) {
			return operation.None{}, people.RemovePasskey(ctx, c.Session, in.ID, c.Browser.Client())
		}),
	}
}

func addPasskey(ctx context.Context, people *auth.Manager, c *operation.Call, in *NewPasskeyInput) (k auth.Passkey, err error) {
	answer, err := credential(in.Credential)
	if err != nil {
		return k, err
	}
	if err := needed("name", in.Name); err != nil {
		return k, err
	}
	at, err := c.Browser.Site()
	if err != nil {
		return k, err
	}
	return people.AddPasskey(ctx, c.Person, at, in.Step, in.Name, answer, c.Browser.Client())
}

// beginPasskey begins a sign-in with a passkey, or the second step of one.
func beginPasskey(ctx context.Context, people *auth.Manager, c *operation.Call, step string) (ch auth.Challenge, err error) {
	at, err := c.Browser.Site()
	switch {
	case err != nil:
		return ch, err
	case step != "":
		return people.SecondStep(ctx, step, at)
	}
	return people.BeginPasskey(ctx, at, c.Browser.Client())
}
