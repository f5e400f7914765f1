package app

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"weir/internal/config"
	"weir/internal/rate"
)

// Options are the options of Serve.
type Options struct {
	Version string
	Path    string         // configuration file to watch for changes; "": none
	Overlay config.Overlay // values of flags: they override a changed file, too
	Signals <-chan os.Signal
	Hint    func(text string) string // completes commands that the log names, so that they can be pasted; nil: they stay as they are
}

// Serve runs a node until a signal ends it.
func Serve(ctx context.Context, cfg config.Config, o Options) error {
	g, err := open(ctx, cfg, extra{logTo: os.Stderr, version: o.Version, hint: o.Hint})
	if err != nil {
		return err
	}
	trim()
	g.slog.Info("weir is ready", "version", o.Version, "base_url", g.BaseURL(), "admin_url", g.AdminURL(), "models", len(g.catalog.Load().Models()))
	reportPrices(g.slog, g.catalog.Load().PricesAsOf, time.Now(), cfg.PriceLists.StaleAfter)
	for _, f := range regretted(&cfg, g.catalog.Load(), os.LookupEnv) {
		g.slog.Warn(f.What, "part", f.Part, "remedy", f.Do)
	}
	warnOfDefaultRate(g.slog, g.catalog.Load(), g.live.defaultRate(), string(cfg.Pricing.RubPerUSD))
	if asks := DoubtfulMargin(g.live.margin()); asks != "" {
		g.slog.Warn(asks)
	}
	if o.Path != "" {
		g.warnOfSecrets(o.Path)
	}
	g.nameLists(ctx)
	g.warnOf(&cfg)
	if s := &cfg.Server; strings.HasPrefix(s.PublicURL, "https://") && len(s.TrustedProxies) == 0 && !s.TLS.On() {
		g.slog.Warn("server.public_url is https, so there is a proxy in front of this node, but server.trusted_proxies is empty: all clients count as one address, " +
			"and share the limits by address; name the proxy in server.trusted_proxies")
	}
	g.offerSetup(ctx)
	if len(g.catalog.Load().Models()) == 0 && !g.asksServers() {
		g.slog.Warn("there is no model to serve, because no provider has a key: connect one in the browser, under /admin/providers, or set the variable of one, " +
			"such as OPENAI_API_KEY, and start again; weir doctor says what else is missing")
	}
	if b, err := g.editor.Built(ctx); err == nil {
		for _, f := range keyless(b) {
			g.slog.Warn(f.What, "part", f.Part, "remedy", f.Do)
		}
	}
	if users, err := g.store.Accounts.ListUsers(ctx); err == nil && len(users) == 0 {
		g.slog.Warn("there are no users yet; create the first one with its keys: weir user bootstrap NAME")
	}
	return g.run(ctx, o.Signals, &config.Watcher{
		Path: o.Path, Load: func() (config.Config, error) { return config.Load(o.Path, os.LookupEnv, o.Overlay) },
	})
}

func (g *Gateway) warnOf(cfg *config.Config) {
	for _, w := range cfg.Warnings() {
		g.slog.Warn(w.Text + ": " + w.Remedy)
	}
}

// run serves until a signal or ctx ends the node, then drains and closes it.
func (g *Gateway) run(ctx context.Context, signals <-chan os.Signal, watch *config.Watcher) error {
	defer g.close(context.WithoutCancel(ctx))
	failed := make(chan error, 2)
	go func() { failed <- g.server.Serve(g.listener) }()
	if g.certificates != nil {
		go g.certificates.Start(ctx)
	}
	if g.admin != nil {
		go func() {
			if err := g.admin.Serve(g.adminListener); !errors.Is(err, http.ErrServerClosed) {
				failed <- err
			}
		}()
	}
	if g.cfg.Pricing.RateSource == rate.CBR {
		fetches, err := g.live.published(&g.cfg.Pricing)
		if err != nil {
			return err // cannot happen: the configuration was checked
		}
		g.keep(fetches)
	}
	if g.updates() {
		g.keep(g.updating())
	}
	g.watch(watch)
	g.keep(g.looks)
	g.keep(g.finding())
	g.keep(g.sampling())
	g.watcher.Start()
	g.keep(g.checkingBooks())
	g.keep(g.askedBookChecks())
	g.keep(g.comparing())
	if g.cfg.Store.DSN.Postgres() {
		g.keep(g.absence.watching(g.slog, func(ctx context.Context) error {
			_, err := g.store.Jobs.Clock(ctx)
			return err
		}))
	}
	g.hear()
	g.keep(g.remembering())
	g.keep(tidying(g.cfg.Runtime))
	g.keep(g.savingHours())
	if g.cfg.Store.Retention > 0 {
		g.keep(g.droppingCalls())
	}
	g.keep(g.unpackingCalls())
	g.keep(g.rankings.Follow(g.store.Ledger, ranksEvery, g.api.Rank))
	g.notifySystemd("READY=1")
	for {
		select {
		case err := <-failed:
			return err
		case <-g.superseded:
			if err := g.drain(ctx, nil, signals); err != nil {
				return err
			}
			return errors.New("another node began with a copy of this data directory and has its identity now; start this one again and it gets an identity of its own")
		case <-ctx.Done():
			return g.drain(ctx, nil, signals)
		case sig := <-signals:
			if sig != syscall.SIGHUP {
				return g.drain(ctx, sig, signals)
			}
			watch.Reload()
		}
	}
}

// watch applies changes of the configuration until the node closes.
func (g *Gateway) watch(w *config.Watcher) {
	w.Report = func(err error) { g.slog.Error("the new configuration is not used", "error", err) }
	w.Apply = func(cfg config.Config) {
		if err := g.reload(cfg); err != nil {
			w.Report(err)
		}
	}
	w.Start()
	g.onClose(func(context.Context) { w.Stop() })
}

// ranksEvery is how often the popularity of models is computed.
const ranksEvery = time.Hour

// drain waits for calls in flight. first is the signal that started it. A second interrupt ends the wait. A second termination signal does
// not, because a process supervisor may repeat it.
func (g *Gateway) drain(ctx context.Context, first os.Signal, signals <-chan os.Signal) error {
	g.notifySystemd("STOPPING=1")
	g.slog.Info("draining", "delay", g.cfg.Server.ShutdownDelay, "timeout", g.cfg.Server.DrainTimeout)
	hurry, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	over := make(chan struct{})
	defer close(over)
	go func() {
		for interrupted := first == syscall.SIGINT; ; {
			select {
			case sig := <-signals:
				if sig == syscall.SIGINT && interrupted {
					cancel()
				}
				interrupted = interrupted || sig == syscall.SIGINT
			case <-over:
				return
			}
		}
	}()
	if err := g.server.Drain(hurry, g.cfg.Server.ShutdownDelay, g.cfg.Server.DrainTimeout); err != nil {
		g.slog.Warn("some calls were cut", "error", err)
	}
	return nil
}
