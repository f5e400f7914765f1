package httpapi

import (
	"context"
	"errors"

	"weir/internal/fault"
)

// WebhookSecrets are what the events of accounts are signed with. *webhook.Secrets is one.
type WebhookSecrets interface {
	Secret(ctx context.Context, account string) (string, error)
	Rotate(ctx context.Context, account string, by Actor) (string, error)
}

// getWebhookSecret serves GET /api/account/webhook-secret.
func (x *exchange) getWebhookSecret() error {
	if x.api.WebhookSecrets == nil {
		return noCallbacks(nil)
	}
	secret, err := x.api.WebhookSecrets.Secret(x.context(), x.caller.User)
	return x.replySecret(secret, err)
}

// rotateWebhookSecret serves POST /api/account/webhook-secret, which replaces it.
func (x *exchange) rotateWebhookSecret() error {
	if x.api.WebhookSecrets == nil {
		return noCallbacks(nil)
	}
	secret, err := x.api.WebhookSecrets.Rotate(x.context(), x.caller.User, x.actor())
	return x.replySecret(secret, err)
}

// noCallbacks: the operator has set no master key, and what is wrong with it is the operator's to read.
func noCallbacks(cause error) error {
	return fault.New(fault.Conflict, "httpapi.webhookSecret", "This gateway keeps no secrets, so it cannot sign events. Its operator can set a master key.").Because(cause)
}

func (x *exchange) replySecret(secret string, err error) error {
	var f *fault.Error
	switch {
	case errors.As(err, &f) && f.Kind == fault.Conflict:
		return noCallbacks(err)
	case err != nil:
		return err
	}
	var o object
	o.open()
	o.name("data")
	o.open()
	o.text("secret", secret)
	o.close()
	o.close()
	x.w.Header().Set("Cache-Control", "no-store")
	return x.reply(&o)
}
