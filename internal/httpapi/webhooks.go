package httpapi

import (
	"context"

	"weir/internal/fault"
	"weir/internal/webhook"
)

// WebhookSecrets are what the events of accounts are signed with. *webhook.Secrets is one.
type WebhookSecrets interface {
	About(ctx context.Context, account string) (webhook.About, error)
	Rotate(ctx context.Context, account string, by Actor) (string, error)
}

// getWebhookSecret serves GET /api/account/webhook-secret: that there is a secret, and which. The secret itself was shown when it was made.
func (x *exchange) getWebhookSecret() error {
	if x.api.WebhookSecrets == nil {
		return noCallbacks(nil)
	}
	a, err := x.api.WebhookSecrets.About(x.context(), x.caller.User)
	if fault.Is(err, fault.Conflict) {
		return noCallbacks(err)
	}
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	var o object
	o.Object()
	if err != nil {
		o.null("data")
	} else {
		o.Name("data").Object()
		o.text("last4", a.Last4)
		o.moment("changed_at", a.ChangedAt)
		o.moment("previous_until", a.PreviousUntil)
		o.EndObject()
	}
	o.EndObject()
	return x.reply(&o)
}

// rotateWebhookSecret serves POST /api/account/webhook-secret, which makes the secret or replaces it, and shows it this once.
func (x *exchange) rotateWebhookSecret() error {
	if x.api.WebhookSecrets == nil {
		return noCallbacks(nil)
	}
	secret, err := x.api.WebhookSecrets.Rotate(x.context(), x.caller.User, x.actor())
	if fault.Is(err, fault.Conflict) {
		return noCallbacks(err)
	}
	if err != nil {
		return err
	}
	var o object
	o.Object()
	o.Name("data").Object()
	o.text("secret", secret)
	o.EndObject()
	o.EndObject()
	x.w.Header().Set("Cache-Control", "no-store")
	return x.reply(&o)
}

// noCallbacks: the operator has set no master key, and what is wrong with it is the operator's to read.
func noCallbacks(cause error) error {
	return fault.New(fault.Conflict, "httpapi.webhookSecret", "Webhooks are off: this gateway has no master key to encrypt their secrets. Ask its operator.").Because(cause)
}
