package app

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"weir/internal/alert"
	"weir/internal/blob/folder"
	"weir/internal/catalog/edit"
	"weir/internal/config"
	"weir/internal/console"
	"weir/internal/fetch"
	"weir/internal/mail"
	"weir/internal/messenger"
	"weir/internal/rate"
	"weir/internal/seal"
	"weir/internal/store"
)

// courier posts what operators are alerted of, within the rules for callback addresses.
type courier struct{ *fetch.Client }

// Post is messenger.Poster.Post.
func (c courier) Post(ctx context.Context, call messenger.Call) (messenger.Reply, error) {
	const most = 16 << 10
	a, err := c.Exchange(ctx, fetch.Exchange{Address: call.Address, Home: call.Home, Header: call.Header, Payload: call.Payload, Most: most})
	return messenger.Reply{Status: a.Status, RetryAfter: a.RetryAfter, Body: a.Body}, err
}

// newAlerts makes what manages alerts, for nodes and commands.
func newAlerts(cfg *config.Config, s *store.Store, ring *seal.Ring, f *fetch.Client, mailer messenger.Mailer, base func() string, names func(alert.Kind, string) string) *alert.Manager {
	return alert.NewManager(alert.Deps{
		Store: s.Notices, Ring: func() *seal.Ring { return ring }, Callback: f.CheckCallback, Base: base, Names: names, Now: time.Now,
		Sender: &messenger.Sender{Poster: courier{f}, Mail: mailer, Telegram: strings.TrimSuffix(cfg.Alerts.TelegramURL, "/")},
	})
}

// Alerts manages alerts for commands, after Editor.
func (o *Admin) Alerts() *alert.Manager { return o.alerts }

// makeAlerts makes what manages alerts for commands, which send tests themselves.
func (o *Admin) makeAlerts(cfg *config.Config, ring *seal.Ring) *alert.Manager {
	var mailer messenger.Mailer
	if o.cfg.Mail.Host != "" && !o.cfg.Mail.Password.Missing() {
		if sender, err := mail.New(mailTo(o.cfg.Mail, func() string { return o.link("") }), slog.New(slog.DiscardHandler), time.Now); err == nil {
			mailer = sender
		}
	}
	return newAlerts(cfg, o.Store, ring, newFetch(&cfg.Fetch, dialerOf(cfg)), mailer, func() string { return o.link("") }, func(alert.Kind, string) string { return "" })
}

// makeAlerts makes what looks for alerts and sends them.
func (g *Gateway) makeAlerts(ring *seal.Ring, f *fetch.Client) (*alert.Manager, *alert.Watcher) {
	var mailer messenger.Mailer
	if g.mail != nil {
		mailer = g.mail
	}
	m := newAlerts(&g.cfg, g.store, ring, f, mailer, g.publicURL, func(k alert.Kind, subject string) string {
		if k != alert.Provider {
			return ""
		}
		if p := g.catalog.Load().Providers[subject]; p != nil {
			return p.Name
		}
		return ""
	})
	return m, alert.NewWatcher(m, alert.WatchDeps{
		Node: g.book.Node(), World: g.world, Chance: rand.Float64, Effect: g.ejectionEffect,
		Mark: func(ctx context.Context) (string, error) { return g.store.Mark(ctx, store.MarkAlert) },
		Swap: func(ctx context.Context, old, value string) (bool, error) {
			return g.store.SwapMark(ctx, store.MarkAlert, old, value)
		},
		Report: func(what, channel string, err error) { g.slog.Warn(what, "channel", channel, "error", err) },
	})
}

// world is what alerts are found in.
func (g *Gateway) world() *alert.World {
	built, nodes := g.built.Load(), g.console.Nodes()
	providers := make(map[string]string, len(built.Endpoints))
	for i := range built.Endpoints {
		providers[built.Endpoints[i].ID] = built.Endpoints[i].Provider
	}
	return &alert.World{
		Nodes: nodes, Gone: g.console.Gone(), Checks: g.console.Checks(nodes, &built.Rate, built.Snapshot.PricesAsOf), Fetched: built.Rate.Source == rate.CBR,
		Provider: func(endpoint string) string { return providers[endpoint] }, Out: built.Out,
	}
}

// ejectionEffect is what it does that a target is out of service, by the figures of before.
func (g *Gateway) ejectionEffect(ctx context.Context, target string) (calls, moved, failing float64, err error) {
	b := *g.built.Load()
	b.Out = slices.DeleteFunc(slices.Clone(b.Out), func(o edit.Out) bool { return o.Target == target })
	targets, err := b.Targeted(target)
	if err != nil {
		return 0, 0, 0, nil //nolint:nilerr // it is gone from the catalog, and nothing was sent to it
	}
	e, err := g.console.Effect(ctx, &b, targets)
	if err != nil {
		return 0, 0, 0, err
	}
	return e.PerHour, e.Moved, e.Failing, nil
}

// machine adds to a report what is known of the node's disk and certificate: of several, the one that ends first.
func (g *Gateway) machine(r *console.Report) {
	if used, err := folder.UsedPercent(g.cfg.DataDir); err == nil {
		r.DiskFull = used
	}
	if g.certificates == nil {
		return
	}
	for _, v := range g.certificates.Shown() {
		if !v.Until.IsZero() && (r.CertificateEnds.IsZero() || v.Until.Before(r.CertificateEnds)) {
			r.CertificateFrom, r.CertificateEnds = v.From, v.Until
		}
	}
}
