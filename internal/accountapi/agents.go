package accountapi

import (
	"context"
	"time"

	"weir/internal/agent"
	"weir/internal/apikey"
	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/operation"
)

// AgentSignIn is a program that a person has signed in, such as a coding agent. Its access token is the key's text, which changes with each renewal.
type AgentSignIn struct {
	Client    string    `json:"client"`     // name of the program, as it has said itself
	Address   *string   `json:"address"`    // from which it asked to be signed in
	CreatedAt time.Time `json:"created_at"` // when it was signed in
	RenewedAt time.Time `json:"renewed_at"` // when it last got another token
	EndsAt    time.Time `json:"ends_at"`    // unless it is renewed before; at the latest when a session of a browser would end
}

// DeviceCode is a code that a program shows.
type DeviceCode struct {
	Code string `json:"code" maxLength:"32"` // as it is shown, with or without the dash, in any case
}

// DeviceDecision says whether the program may act for the person who is signed in.
type DeviceDecision struct {
	Code  string `json:"code" maxLength:"32"` // as it is shown, with or without the dash, in any case
	Allow bool   `json:"allow"`
}

// Device is a program that asks to act for a person.
type Device struct {
	Code      string    `json:"code"`
	Client    string    `json:"client"`  // name of the program, as it has said itself
	Address   *string   `json:"address"` // from which it asks
	Here      bool      `json:"here"`    // it asks from the network of this browser
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
}

func deviceOf(d *agent.Device, c *operation.Call) Device {
	return Device{Code: agent.ShownCode(d.Code), Client: d.Client, Address: OrNull(d.Address), Here: d.Network == c.Browser.Client().Network, CreatedAt: d.CreatedAt, ExpiresAt: d.ExpiresAt}
}

func devices(d Deps) []operation.Operation {
	return []operation.Operation{
		operation.Of(form(operation.Operation{
			Method: "POST", Path: "/api/auth/device", ID: "lookAtDevice", Access: operation.SignedIn, Tag: "sign-in",
			Summary: "What shows a code and asks to act for this person", Answer: "The program, which waits", Example: `{"code": "WDJB-MJHT"}`,
			Description: "After ten codes that are none in ten minutes it is refused.",
		}), func(ctx context.Context, c *operation.Call, in *DeviceCode) (out Device, err error) {
			device, err := d.Agents.Look(ctx, c.User, c.Browser.Client().Network, in.Code)
			if err != nil {
				return out, err
			}
			return deviceOf(&device, c), nil
		}),
		operation.Of(form(operation.Operation{
			Method: "POST", Path: "/api/auth/device/decision", ID: "decideOnDevice", Access: operation.SignedIn, Tag: "sign-in",
			Summary: "Say whether what shows a code may act for this person. To allow it needs a recent sign-in", Answer: "The program, which learns of it with its next question", Example: `{"code": "WDJB-MJHT", "allow": false}`,
		}), func(ctx context.Context, c *operation.Call, in *DeviceDecision) (out Device, err error) {
			if in.Allow && !c.Session.Fresh(c.At) {
				return out, auth.Stale("accountapi.decideOnDevice")
			}
			device, err := d.Agents.Decide(ctx, c.Person, in.Code, in.Allow, c.Browser.Client())
			if err != nil {
				return out, err
			}
			return deviceOf(&device, c), nil
		}),
	}
}

// agentOf shows the sign-in of a key, nil for the key of no program.
func (r *keyReader) agentOf(key string) *AgentSignIn {
	s, ok := r.agents[key]
	if !ok {
		return nil
	}
	return &AgentSignIn{Client: s.Client, Address: OrNull(s.Address), CreatedAt: s.CreatedAt, RenewedAt: s.RenewedAt, EndsAt: r.endsAt(&s)}
}

// noAgent refuses to change the text or the life of a program's key, which the program renews.
func noAgent(ctx context.Context, d Deps, k *apikey.Key) error {
	if d.Agents == nil {
		return nil
	}
	all, err := d.Agents.Of(ctx, k.User)
	if _, ok := all[k.ID]; !ok || err != nil {
		return err
	}
	return fault.New(fault.Conflict, "accountapi.noAgent", "This key is of a program that was signed in, and gets another text by itself each hour. Disable or delete it to end that.")
}
