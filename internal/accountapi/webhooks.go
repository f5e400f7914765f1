package accountapi

import (
	"context"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/operation"
	"weir/internal/webhook"
)

// WebhookSecrets are what the events of accounts are signed with. *webhook.Secrets is one.
type WebhookSecrets interface {
	About(ctx context.Context, account string) (webhook.About, error)
	Rotate(ctx context.Context, account string, by audit.Actor) (string, error)
}

// WebhookSecret is the state of the secret that signs an account's events.
type WebhookSecret struct {
	Last4         string     `json:"last4"`
	ChangedAt     time.Time  `json:"changed_at"`
	PreviousUntil *time.Time `json:"previous_until"` // until then events are also signed with the previous secret
}

// WebhookSecretState is the state of a secret, or null.
type WebhookSecretState struct {
	Data *WebhookSecret `json:"data"`
}

// NewWebhookSecret is a secret, which is shown this once.
type NewWebhookSecret struct {
	Secret string `json:"secret"`
}

func webhookSecrets(secrets WebhookSecrets) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/account/webhook-secret", ID: "getWebhookSecret", Org: operation.Owners, Access: operation.Management, Private: true, Tag: "account",
			Summary: "The state of the secret that signs this user's events; needs a management key", Answer: "The state of the secret; null if there is none",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (out WebhookSecretState, err error) {
			if secrets == nil {
				return out, noCallbacks(nil)
			}
			a, err := secrets.About(ctx, c.User)
			switch {
			case fault.Is(err, fault.Conflict):
				return out, noCallbacks(err)
			case fault.Is(err, fault.NotFound):
				return out, nil
			}
			out.Data = &WebhookSecret{Last4: a.Last4, ChangedAt: a.ChangedAt, PreviousUntil: Moment(a.PreviousUntil)}
			return out, err
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/account/webhook-secret", ID: "rotateWebhookSecret", Org: operation.Owners, Access: operation.Management, Fresh: true, Tag: "account",
			Summary: "Make or replace the secret; it is only in this response. Events are signed with the old one, too, for 24 hours", Answer: "The secret",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (out operation.Data[NewWebhookSecret], err error) {
			if secrets == nil {
				return out, noCallbacks(nil)
			}
			out.Data.Secret, err = secrets.Rotate(ctx, c.User, c.Actor)
			if fault.Is(err, fault.Conflict) {
				return out, noCallbacks(err)
			}
			c.NoStore()
			return out, err
		}),
	}
}

// noCallbacks: the operator has set no master key, and what is wrong with it is the operator's to read.
func noCallbacks(cause error) error {
	return fault.New(fault.Conflict, "accountapi.webhookSecret", "Webhooks are off: this gateway has no master key to encrypt their secrets. Ask its operator.").Because(cause)
}
