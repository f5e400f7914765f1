package app

import (
	"strconv"

	"weir/internal/config"
	"weir/internal/dialect/all"
	"weir/internal/httpapi"
	"weir/internal/redact"
	"weir/internal/upstream"
)

// makeUpstream makes the transport, which says and counts which credentials were refused.
func (g *Gateway) makeUpstream(cfg config.Config, metrics *httpapi.Metrics) *upstream.Client {
	var count func(provider, status string)
	to := upstreamConfig(cfg, g.redactor)
	to.Resting = func(r upstream.Rest) {
		g.slog.Warn("a credential was refused and rests", "provider", r.Provider, "credential", r.Key, "model", r.Model, "all_models", r.Whole, "status", r.Status, "for", r.For.String())
		count(r.Provider, strconv.Itoa(r.Status))
	}
	client := upstream.New(to)
	count = metrics.WatchCredentials(client)
	return client
}

func upstreamConfig(cfg config.Config, r *redact.Redactor) upstream.Config {
	u := cfg.Upstream.Config
	u.Dialects, u.HTTP2, u.Redactor, u.Standard, u.Fetcher = all.Dialects(), cfg.HTTP2(), r, cfg.Upstream.HTTPClient == "standard", newFetch(&cfg.Fetch)
	return u
}
