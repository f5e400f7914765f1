package app

import (
	"strconv"

	"weir/internal/config"
	"weir/internal/dialect/all"
	"weir/internal/httpapi"
	"weir/internal/outbound"
	"weir/internal/outbound/tunnel"
	"weir/internal/redact"
	"weir/internal/upstream"
)

// makeUpstream makes the transport, which says and counts which credentials were refused.
func (g *Gateway) makeUpstream(cfg config.Config, metrics *httpapi.Metrics) *upstream.Client {
	var count func(provider, status string)
	to := upstreamConfig(cfg, g.redactor, g.dialer)
	to.Resting = func(r upstream.Rest) {
		g.slog.Warn("a credential was refused and rests", "provider", r.Provider, "credential", r.Key, "model", r.Model, "all_models", r.Whole, "status", r.Status, "for", r.For.String())
		count(r.Provider, strconv.Itoa(r.Status))
	}
	client := upstream.New(to)
	count = metrics.WatchCredentials(client)
	return client
}

// dialerOf connects by the ways of a configuration.
func dialerOf(cfg *config.Config) *tunnel.Dialer {
	u := &cfg.Upstream
	return &tunnel.Dialer{Ways: outbound.New(u.Proxy, u.NoProxy), Connect: u.Connect, TLS: u.TLS}
}

func upstreamConfig(cfg config.Config, r *redact.Redactor, d *tunnel.Dialer) upstream.Config {
	u := cfg.Upstream.Config
	u.Ways, u.Tunnel = d.Ways, d.Dial
	u.Dialects, u.HTTP2, u.Redactor, u.Standard, u.Fetcher = all.Dialects(), cfg.HTTP2(), r, cfg.Upstream.HTTPClient == "standard", newFetch(&cfg.Fetch, d)
	return u
}
