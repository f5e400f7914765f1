package app

import (
	"log/slog"
	"math/rand/v2"
	"time"

	"weir/internal/fault"
	"weir/internal/fetch"
	"weir/internal/store"
	"weir/internal/webhook"
)

// newCourier makes the courier that delivers the events of jobs to callback addresses.
func newCourier(s *store.Store, secrets *webhook.Secrets, f *fetch.Client, c webhook.Config, log *slog.Logger) *webhook.Courier {
	c.Now, c.Chance = time.Now, rand.Float64
	c.Report = func(what string, d webhook.Delivery, err error) {
		log.Warn(what, "id", d.ID, "attempts", d.Attempts, "error", err)
	}
	return webhook.NewCourier(s.Notices, secrets, f, c)
}

// callbackCheck refuses addresses that must not be called. Without a key to sign events it refuses all addresses.
func callbackCheck(f *fetch.Client, secrets *webhook.Secrets) func(param, address string) error {
	return func(param, address string) error {
		if !secrets.Ready() {
			return fault.Field("app.callbackCheck", param, "This gateway has no webhooks. Leave %s out, and ask for the job's state.", param)
		}
		return f.CheckCallback(param, address)
	}
}
