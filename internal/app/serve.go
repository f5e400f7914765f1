package app

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"weir/internal/config"
)

// Options of Serve.
type Options struct {
	Version string
	Path    string         // configuration file that is watched for changes; "" none
	Overlay config.Overlay // what flags said: it stays in force over a changed file
	Signals <-chan os.Signal
}

// Serve runs a node until a signal ends it.
func Serve(ctx context.Context, cfg config.Config, o Options) error {
	g, err := open(ctx, cfg, extra{logTo: os.Stderr})
	if err != nil {
		return err
	}
	trim()
	g.slog.Info("weir is ready", "version", o.Version, "base_url", g.BaseURL(), "admin_url", g.AdminURL(), "models", len(g.catalog.Load().Models()))
	if o.Path != "" {
		g.warnOfSecrets(o.Path)
	}
	if s := &cfg.Server; strings.HasPrefix(s.PublicURL, "https://") && len(s.TrustedProxies) == 0 {
		g.slog.Warn("server.public_url is https, so a proxy stands before this node, but server.trusted_proxies is empty: all clients count as one address, " +
			"and their limits by address hold for all together; name the proxy in server.trusted_proxies")
	}
	if users, err := g.store.ListUsers(ctx); err == nil && len(users) == 0 {
		g.slog.Warn("there are no users yet; make the first one with its keys: weir user bootstrap NAME")
	}
	return g.run(ctx, o.Signals, &config.Watcher{
		Path: o.Path, Load: func() (config.Config, error) { return config.Load(o.Path, os.LookupEnv, o.Overlay) },
	})
}

// run serves until a signal or ctx ends the node, then drains and closes it.
func (g *Gateway) run(ctx context.Context, signals <-chan os.Signal, watch *config.Watcher) error {
	defer g.close(context.WithoutCancel(ctx))
	failed := make(chan error, 2)
	go func() { failed <- g.server.Serve(g.listener) }()
	if g.admin != nil {
		go func() {
			if err := g.admin.Serve(g.adminListener); !errors.Is(err, http.ErrServerClosed) {
				failed <- err
			}
		}()
	}
	reload, stopWatching := g.watch(ctx, watch)
	defer stopWatching()
	defer g.keepCatalog(ctx)()
	defer g.keepRemembering(g.cfg.Health.SaveEvery)()
	defer g.keepRanks(ctx)()
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
			reload()
		}
	}
}

// watch follows the configuration. reload asks for one more look at once; stop ends the watching and waits for it.
func (g *Gateway) watch(ctx context.Context, w *config.Watcher) (reload, stop func()) {
	kick := make(chan struct{}, 1)
	w.Kick = kick
	w.Report = func(err error) { g.slog.Error("the new configuration is not used", "error", err) }
	w.Apply = func(cfg config.Config) {
		if err := g.reload(cfg); err != nil {
			w.Report(err)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx)
	}()
	return func() {
			select {
			case kick <- struct{}{}:
			default: // one is on its way
			}
		}, func() {
			cancel()
			<-done
		}
}

// ranksEvery is how often the models are ranked by their use.
const ranksEvery = 5 * time.Minute

// keepRanks ranks models until stop, which waits for the end of it.
func (g *Gateway) keepRanks(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var ranking sync.WaitGroup
	ranking.Go(func() { g.api.KeepRanks(ctx, g.store, ranksEvery) })
	return func() {
		cancel()
		ranking.Wait()
	}
}

// drain lets calls in flight end. first is the signal that began it. A second interrupt skips the waiting; a termination never does,
// for whoever supervises the process may repeat it.
func (g *Gateway) drain(ctx context.Context, first os.Signal, signals <-chan os.Signal) error {
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
