// Package app wires the parts of Weir together and starts and stops them in order. It is the only package that knows all others,
// and it decides nothing itself.
package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"weir/internal/accesslog"
	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/config"
	"weir/internal/httpapi"
	"weir/internal/ledger"
	"weir/internal/redact"
	"weir/internal/relay"
	"weir/internal/store/sqlite"
	"weir/internal/upstream"
	"weir/internal/usage/tokenizer"
)

// Gateway is one running node.
type Gateway struct {
	cfg      config.Config
	log      *accesslog.Log
	slog     *slog.Logger
	level    *slog.LevelVar
	redactor *redact.Redactor

	store    *sqlite.Store
	book     *ledger.Book
	catalog  *catalog.Current
	upstream *upstream.Client
	api      *httpapi.API
	server   *httpapi.Server
	admin    *http.Server

	listener      net.Listener
	adminListener net.Listener
}

// extra is what a node is given besides its configuration.
type extra struct {
	declared catalog.Declared // further providers and models: the demo's simulator
	logTo    io.Writer
	listener net.Listener // already open; nil: cfg.Server.Listen
}

// open builds a node in the order in which its parts need each other. What it opened is closed again when it fails.
func open(ctx context.Context, cfg config.Config, x extra) (g *Gateway, err error) {
	tune(cfg.Runtime)
	g = &Gateway{cfg: cfg, level: &slog.LevelVar{}, redactor: redact.New(cfg.Secrets()...), catalog: &catalog.Current{}}
	defer func() {
		if err != nil {
			g.close(context.WithoutCancel(ctx))
		}
	}()
	g.level.Set(level(cfg.Log))
	g.log = accesslog.New(x.logTo, accesslog.Options{Redact: g.redactor.Redact})
	g.slog = slog.New(g.log.Handler(g.level))

	snap, err := buildCatalog(cfg, x.declared)
	if err != nil {
		return g, err
	}
	g.catalog.Store(snap)
	if err := makeDataDir(cfg.DataDir); err != nil {
		return g, err
	}
	if g.store, err = sqlite.Open(ctx, cfg.StorePath()); err != nil {
		return g, err
	}
	if g.book, err = ledger.Start(ctx, g.store, ledgerConfig(cfg, g.slog)); err != nil {
		return g, err
	}
	g.upstream = upstream.New(upstreamConfig(cfg, g.redactor))

	metrics := httpapi.NewMetrics()
	verifier := apikey.NewVerifier(g.store, time.Now, apikey.VerifierConfig{})
	apiConfig, err := httpConfig(cfg)
	if err != nil {
		return g, err
	}
	var access *accesslog.Log
	if cfg.Log.Access {
		access = g.log
	}
	g.api = httpapi.New(httpapi.Deps{
		Relay: relay.New(relay.Deps{
			Upstream: g.upstream, Book: g.book, Tokens: tokenizer.Tokenizer{}, Observer: metrics, Now: time.Now, Rand: rand.Float64,
		}, relayConfig(cfg)),
		Verifier: verifier, Keys: apikey.NewManager(g.store, verifier, time.Now, 0), Ledger: g.book, Catalog: g.catalog.Load,
		Log: access, Slog: g.slog, Metrics: metrics, Now: time.Now, Redact: g.redactor.Redact, Ready: g.book.Ready,
	}, apiConfig)
	g.server = httpapi.NewServer(g.api)
	return g, g.listen(x.listener)
}

// listen opens the public address and the operators' one.
func (g *Gateway) listen(given net.Listener) (err error) {
	if g.listener = given; given == nil {
		if g.listener, err = net.Listen("tcp", g.cfg.Server.Listen); err != nil {
			return fmt.Errorf("server.listen: %w; choose another address, or port 0 for any free one", err)
		}
	}
	if g.cfg.Server.AdminListen == config.Off {
		return nil
	}
	if g.adminListener, err = net.Listen("tcp", g.cfg.Server.AdminListen); err != nil {
		return fmt.Errorf("server.admin_listen: %w; choose another address, or \"off\"", err)
	}
	g.admin = &http.Server{Handler: g.api.Admin(), ReadHeaderTimeout: 10 * time.Second}
	return nil
}

// BaseURL is where clients reach the node.
func (g *Gateway) BaseURL() string { return "http://" + g.listener.Addr().String() }

// AdminURL is where operators reach it, "" without an admin listener.
func (g *Gateway) AdminURL() string {
	if g.adminListener == nil {
		return ""
	}
	return "http://" + g.adminListener.Addr().String()
}

// reload takes over what can change without a restart: providers, their keys, models, prices, the dollar rate and the log level.
// Calls in flight keep what they began with. On an error nothing changes.
func (g *Gateway) reload(cfg config.Config, more catalog.Declared) error {
	snap, err := buildCatalog(cfg, more)
	if err != nil {
		return err
	}
	g.redactor.SetSecrets(cfg.Secrets()...)
	g.level.Set(level(cfg.Log))
	g.catalog.Store(snap)
	g.slog.Info("configuration reloaded", "catalog", snap.Version)
	if !sameProcess(g.cfg, cfg) {
		g.slog.Warn("besides providers, models, prices and log.level something else was changed: that needs a restart")
	}
	return nil
}

// close ends what open began, the newest first. It is harmless on a node that was opened in part.
func (g *Gateway) close(ctx context.Context) {
	if g.admin != nil {
		_ = g.admin.Close()
	}
	for _, l := range []net.Listener{g.listener, g.adminListener} {
		if l != nil {
			_ = l.Close()
		}
	}
	if g.upstream != nil {
		g.upstream.Close()
	}
	if g.book != nil {
		if err := g.book.Close(ctx); err != nil {
			g.slog.Error("the ledger did not close; the journal keeps what the store lacks", "error", err)
		}
	}
	if g.store != nil {
		_ = g.store.Close()
	}
	if g.log != nil {
		_ = g.log.Close()
	}
}

func buildCatalog(cfg config.Config, more catalog.Declared) (*catalog.Snapshot, error) {
	declared, err := cfg.Declared(os.LookupEnv)
	if err != nil {
		return nil, err
	}
	declared.Append(more)
	return catalog.Build(declared)
}

func tune(r config.Runtime) {
	debug.SetGCPercent(int(r.GOGC))
	if r.MemoryLimit > 0 {
		debug.SetMemoryLimit(int64(r.MemoryLimit))
	}
}

// makeDataDir makes the folder of all state, closed to others.
func makeDataDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("data_dir: %w", err)
	}
	return nil
}
