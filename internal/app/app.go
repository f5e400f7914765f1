// Package app wires the parts of Weir together and starts and stops them in order. It is the only package that knows all others,
// and it decides nothing itself.
package app

import (
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"weir/internal/accesslog"
	"weir/internal/account"
	"weir/internal/accountapi"
	"weir/internal/agent"
	"weir/internal/alert"
	"weir/internal/apikey"
	"weir/internal/auth"
	"weir/internal/batch"
	"weir/internal/budget"
	"weir/internal/catalog"
	"weir/internal/catalog/edit"
	"weir/internal/catalog/listing"
	"weir/internal/catalog/update"
	"weir/internal/catalogapi"
	"weir/internal/certificate"
	"weir/internal/config"
	"weir/internal/console"
	"weir/internal/fault"
	"weir/internal/health"
	"weir/internal/history"
	"weir/internal/httpapi"
	"weir/internal/httpserver"
	"weir/internal/idempotency"
	"weir/internal/invalidate"
	"weir/internal/ledger"
	"weir/internal/loop"
	"weir/internal/mail"
	"weir/internal/outbound/tunnel"
	"weir/internal/plugin"
	"weir/internal/plugin/pdftext"
	"weir/internal/preset"
	"weir/internal/redact"
	"weir/internal/relay"
	"weir/internal/report"
	"weir/internal/routing"
	"weir/internal/seal"
	"weir/internal/store"
	"weir/internal/upstream"
	"weir/internal/usage/tokenizer"
	"weir/internal/video"
	"weir/internal/webhook"
	"weir/internal/webui"
	"weir/internal/wire"
)

// Gateway is one running node.
type Gateway struct {
	cfg      config.Config
	log      *accesslog.Log
	slog     *slog.Logger
	level    *slog.LevelVar
	redactor *redact.Redactor
	dialer   *tunnel.Dialer                  // by the ways of the configuration, which a reload changes
	demo     atomic.Pointer[accountapi.Demo] // nil: it is no demo

	store   *store.Store
	book    *ledger.Book
	catalog *catalog.Current
	built   atomic.Pointer[edit.Built] // the same with its owners, for operators
	live    *live
	looks   *loop.Loop // of live, for changes
	finder  *finder

	priceUpdates func(updated) // counts them
	hints        *invalidate.Hearer
	stops        *loop.Loop // looks for keys that other nodes have stopped
	others       peers
	absence      absence // of the database
	health       *health.Registry
	hours        *health.History
	upstream     *upstream.Client
	named        *idempotency.Manager
	history      *history.Manager
	events       *webhook.Courier
	videos       *video.Service
	batches      *batch.Service
	clock        func() time.Time
	people       *auth.Manager
	agents       *agent.Manager
	reports      *agent.Collector
	rankings     *listing.Rankings
	editor       *edit.Editor
	console      *console.Console
	alerts       *alert.Manager
	watcher      *alert.Watcher
	bookChecks   *console.BookChecks
	mail         *mail.Sender // nil: no mail is sent
	api          *httpapi.API
	server       *httpserver.Server
	admin        *http.Server

	catalogPages *catalogapi.Pages

	listener      net.Listener
	adminListener net.Listener
	certificates  certificate.Source // nil: no encryption

	superseded chan struct{} // receives when another process has taken this node's identity

	closers []func(context.Context) // stop and close the parts, in the order in which they were opened
}

// onClose registers f to run when the node closes, before the functions that were registered earlier.
func (g *Gateway) onClose(f func(ctx context.Context)) { g.closers = append(g.closers, f) }

// keep runs a loop in the background until the node closes.
func (g *Gateway) keep(l *loop.Loop) {
	l.Start()
	g.onClose(func(context.Context) { l.Stop() })
}

// supersede makes run return: another process uses this node's identity.
func (g *Gateway) supersede() { g.superseded <- struct{}{} }

// extra holds the inputs of a node other than its configuration.
type extra struct {
	declared catalog.Declared // additional providers and models: the demo's simulator
	logTo    io.Writer
	version  string                   // of the program; "": unknown
	listener net.Listener             // already open; nil: listen on cfg.Server.Listen
	clock    func() time.Time         // used by calls and endpoint health; nil: time.Now
	demo     bool                     // the money is play money
	hint     func(text string) string // completes commands that messages of the log name; nil: they stay as they are
}

// open builds a node, each part after the parts that it needs. If it fails, it closes what it has opened.
func open(ctx context.Context, cfg config.Config, x extra) (g *Gateway, err error) {
	g = &Gateway{cfg: cfg, level: &slog.LevelVar{}, redactor: redact.New(cfg.Secrets()...), dialer: dialerOf(&cfg), catalog: &catalog.Current{}, superseded: make(chan struct{}, 1)}
	defer func() {
		if err != nil {
			g.close(context.WithoutCancel(ctx))
		}
	}()
	g.level.Set(level(cfg.Log))
	g.log = accesslog.New(x.logTo, accesslog.Options{Redact: g.redactor.Redact})
	g.onClose(func(context.Context) { _ = g.log.Close() })
	g.absence.now = time.Now
	handler := g.log.Handler(g.level)
	if cfg.Store.DSN.Postgres() { // a file that fails is reported by each part that cannot do without
		handler = awayHandler{handler, &g.absence}
	}
	g.slog = slog.New(hinting{handler, x.hint})
	tune(cfg.Runtime, g.slog)

	ring, err := masterKeys(cfg, cfg.Store.DSN.Postgres() && !x.demo, g.slog)
	if err != nil {
		return g, err
	}
	if err := makeSpool(cfg); err != nil {
		return g, err
	}
	if err := g.closeData(); err != nil {
		return g, err
	}
	if g.store, err = openStore(ctx, cfg); err != nil {
		return g, err
	}
	g.onClose(func(context.Context) { _ = g.store.Close() })
	if err := checkDemo(ctx, g.store, cfg.DataDir, x.demo); err != nil {
		return g, err
	}
	now := x.clock
	if now == nil {
		now = time.Now
	}
	g.clock = now
	g.recall(now)
	g.live = &live{store: g.store.Catalog, ring: ring, more: x.declared, now: now, log: g.slog, publish: g.publish, round: g.relevel, dial: g.dialer.DialContext}
	if err := g.live.start(ctx, cfg); err != nil {
		return g, err
	}
	g.looks = g.live.changes()
	books := cfg.Ledger
	books.Dir, books.Journal, books.Now, books.Log, books.OnSuperseded = ledger.JournalDir(cfg.DataDir), cfg.Journal, time.Now, g.slog, g.supersede
	if g.book, err = ledger.Start(ctx, g.store.Ledger, books); err != nil {
		return g, explained(books.Dir, err)
	}
	g.onClose(g.closeBook)
	g.onClose(func(context.Context) { g.remember() })
	g.hours = health.NewHistory(g.health, g.store.Nodes, g.book.Node(), cfg.Health.KeepHours)
	g.onClose(within(hoursGrace, g.saveHours))
	metrics := httpapi.NewMetrics()
	g.upstream = g.makeUpstream(cfg, metrics)
	g.onClose(func(context.Context) { g.upstream.Close() })
	g.finder = &finder{store: g.store.Catalog, look: g.upstream.Look, built: g.built.Load, changed: g.live.refresh, redact: redacted(g.redactor), now: g.live.now, log: g.slog}

	metrics.WatchHealth(g.health)
	metrics.WatchAside(g.book)
	metrics.WatchJournal(g.book)
	metrics.WatchVersion(x.version)
	traces := g.makeTraces(metrics, x.version)
	g.live.failures = metrics.RateFailures()
	saw := metrics.PriceUpdates()
	g.priceUpdates = func(u updated) { saw(u.outcome, u.at, u.published, u.waiting) }
	verifier := apikey.NewVerifier(g.store.Accounts, time.Now, apikey.VerifierConfig{Preferences: readPreferences})
	apiConfig, err := httpConfig(cfg)
	if err != nil {
		return g, err
	}
	if g.certificates, err = certificates(&cfg, g.slog); err != nil {
		return g, err
	}
	if g.certificates != nil {
		apiConfig.TLS = g.certificates.Config()
	}
	watchCertificates(metrics, g.certificates)
	var access *accesslog.Log
	if cfg.Log.Access {
		access = g.log
	}
	ownKeys := g.makeOwnKeys(ring)
	budgets := budget.NewManager(g.store.Accounts, now)
	loops := budget.NewLoops(g.store.Accounts, writeLoopsEvery, func(err error) {
		g.slog.Warn("it cannot be stored that agents repeat themselves", "error", unquoted(err))
	})
	loops.Start()
	g.onClose(func(context.Context) { loops.Stop() })
	calls := relay.New(relay.Deps{
		Prints:  wire.Prints,
		Budgets: budgets, Loops: loops,
		Upstream: g.upstream, Book: g.book, Tokens: tokenizer.Tokenizer{}, Shaper: plugin.New(tokenizer.Tokenizer{}, pdftext.Read, cfg.Shaping), Observer: metrics, Gate: g.health, Status: statusOf, Own: ownKeys, Stops: g.store.Nodes,
		Doubt: (&doubts{log: g.slog, now: now}).report, Now: now, Rand: rand.Float64,
	}, cfg.Relay.Config)
	g.lookForStops(ctx, calls)
	g.named = g.makeNamed()
	g.named.Start()
	g.onClose(func(context.Context) { g.named.Close() })
	if g.history, err = g.makeHistory(); err != nil {
		return g, err
	}
	secrets := webhook.NewSecrets(g.store.Notices, func() *seal.Ring { return ring }, time.Now)
	fetcher := newFetch(&cfg.Fetch, g.dialer)
	g.events = newCourier(g.store, secrets, fetcher, cfg.Video.Callbacks, g.slog)
	g.events.Start()
	g.onClose(func(context.Context) { g.events.Stop() })
	if g.videos, err = g.makeVideos(fetcher, ownKeys, budgets, metrics, traces, now); err != nil {
		return g, err
	}
	g.onClose(within(videosGrace, g.videos.Close))
	if g.batches, err = g.makeBatches(verifier, metrics); err != nil {
		return g, err
	}
	g.onClose(within(cfg.Server.DrainTimeout, g.batches.Close)) // before the parts that its calls need
	g.onClose(within(cfg.Server.DrainTimeout, g.history.Close)) // likewise
	if g.listener = x.listener; g.listener == nil {
		if g.listener, err = httpserver.Listen(cfg.Server.Listen); err != nil {
			return g, notListening("server.listen", err, "another address, or port 0 for any free one")
		}
	}
	g.onClose(func(context.Context) { _ = g.listener.Close() })
	keys := apikey.NewManager(g.store.Accounts, verifier, time.Now, g.cfg.Keys.MaxPerUser)
	if g.people, err = g.makePeople(keys, fetcher); err != nil {
		return g, err
	}
	g.agents, g.reports = g.makeAgents(verifier), g.makeReports()
	settings, err := g.agentSettings()
	if err != nil {
		return g, err
	}
	g.history.Start()
	g.videos.Start() // after the listener: events contain the gateway's address
	payments := g.makePayments()
	invoices, err := g.makeInvoices()
	if err != nil {
		return g, err
	}
	notices := g.makeNotices(budgets)
	presets := preset.NewManager(g.store.Pages, now)
	g.hints = g.hearer(verifier, presets, ownKeys, budgets)
	pages, err := g.pages()
	if err != nil {
		return g, err
	}
	accounts, chats := account.NewManager(g.store.Accounts, verifier, time.Now), g.makeChats(now)
	g.editor = edit.NewEditor(g.store.Catalog, g.live, ring, time.Now, func(ctx context.Context) {
		g.live.refresh(ctx)
		g.looks.Wake() // what is scheduled may be due before it looks by itself
	}).OnlyVariables(cfg.Sealing.KeyVariables).WithLists(update.Editing{})
	g.console = g.makeConsole(metrics)
	g.bookChecks = &console.BookChecks{
		Node: g.book.Node(), Verify: g.book.Verify, Now: time.Now,
		Mark: func(ctx context.Context) (string, error) { return g.store.Mark(ctx, store.MarkCheck) },
		Swap: func(ctx context.Context, old, value string) (bool, error) {
			return g.store.SwapMark(ctx, store.MarkCheck, old, value)
		},
	}
	g.alerts, g.watcher = g.makeAlerts(ring, fetcher)
	g.onClose(func(context.Context) { g.watcher.Stop() })
	reports := report.New(g.store.Ledger, g.book)
	checkCallback := callbackCheck(fetcher, secrets)
	g.rankings = listing.NewRankings(g.catalog.Load, now, g.slog)
	g.catalogPages = catalogapi.New(catalogapi.Deps{
		Catalog: g.catalog.Load, Stats: g.health, Health: g.health, Hours: g.hours, Ranks: g.rankings, Status: cfg.Web.Status, Rankings: cfg.Web.Rankings,
	})
	events := g.pageEvents(reports, keys, notices)
	notifyFrom, err := config.Networks(cfg.Payments.YooKassa.NotifyFrom)
	if err != nil {
		return g, err
	}
	orgs := g.makeOrganizations(keys, verifier)
	operations := g.operations(accountapi.Deps{
		Organizations: orgs, AgentReports: g.reports,
		Accounts: accounts, CallerOf: verifier.Of, Chats: chats, Invoices: invoices, Presets: presets, Budgets: budgets, StopCalls: calls.Stop, Keys: keys, MostRates: apiConfig.MostRates(), ProviderKeys: ownKeys, TryKey: keyTrial(g.upstream, g.catalog.Load),
		Notifications: notices, WebhookSecrets: secrets, CheckCallback: checkCallback, Reports: reports,
		Payments: payments, NotifyFrom: notifyFrom, Events: events, Health: g.health, Explainer: calls, Refusal: func(e *fault.Error) []byte { return httpserver.ErrorObject(e, "") },
	})
	g.api = httpapi.New(httpapi.Deps{
		Relay: calls, Explainer: calls, Counter: calls, Stats: g.health,
		Verifier: verifier, CallerOf: verifier.Of, People: g.people, Organizations: orgs, Directories: orgs, Reports: reports, Agents: g.agents, AgentSettings: settings, AgentReports: g.reports, Keys: keys, Ledger: g.book, Catalog: g.catalog.Load, Tokens: tokenizer.Tokenizer{},
		Traces: tracesOf(traces), Log: access, Slog: g.slog, Metrics: metrics, Now: now, Redact: g.redactor.Redact, Ready: g.book.Ready, Peers: func() []string { return append(g.absence.Details(), g.others.Differences()...) }, Aside: g.book.Aside,
		Idempotency: g.named, History: g.history, Videos: g.videos, Batches: g.batches, FreeDisk: freeDisk(spoolDir(cfg.DataDir)),
		MadeUp: g.madeUp, Presets: presets, ProviderKeys: ownKeys, Operations: operations, Events: events, CheckCallback: checkCallback, Pages: pages, Language: webui.Language, Theme: webui.Theme, Sealer: ring,
	}, apiConfig)
	g.batches.Start(g.api)
	if cfg.Store.DSN.Postgres() { // other nodes may be there
		shared := g.api.ShareLimits(g.store.Nodes)
		shared.Start()
		g.onClose(func(context.Context) { shared.Stop() })
	}
	g.server = httpapi.NewServer(g.api)
	if err := g.redirectToHTTPS(); err != nil {
		return g, err
	}
	return g, g.listenAdmin()
}

// listenAdmin opens the listener for operators.
func (g *Gateway) listenAdmin() (err error) {
	if g.cfg.Server.AdminListen == config.Off {
		return nil
	}
	if g.adminListener, err = net.Listen("tcp", g.cfg.Server.AdminListen); err != nil {
		return notListening("server.admin_listen", err, `another address, or "off"`)
	}
	g.onClose(func(context.Context) { _ = g.adminListener.Close() })
	g.admin = &http.Server{Handler: g.api.Admin(), ReadHeaderTimeout: 10 * time.Second}
	g.onClose(func(context.Context) { _ = g.admin.Close() })
	return nil
}

// BaseURL returns the URL at which clients reach the node.
func (g *Gateway) BaseURL() string {
	scheme := "http"
	if g.certificates != nil {
		scheme = "https"
	}
	return scheme + "://" + g.listener.Addr().String()
}

// AdminURL returns the URL at which operators reach the node, "" without an admin listener.
func (g *Gateway) AdminURL() string {
	if g.adminListener == nil {
		return ""
	}
	return "http://" + g.adminListener.Addr().String()
}

// reload applies the settings that can change without a restart: providers, their keys, models, prices, the dollar rate and the log level.
// Calls in flight keep the settings that they started with. On an error nothing changes.
func (g *Gateway) reload(cfg config.Config) error {
	if err := g.live.reload(cfg); err != nil {
		return err
	}
	g.slog.Info("configuration reloaded", "catalog", g.catalog.Load().Version)
	g.warnOf(&cfg)
	if keys := config.NeedRestart(&g.cfg, &cfg); len(keys) > 0 {
		g.slog.Warn("some of the changes need a restart: a running node applies only providers, models, prices, proxies and log.level", "keys", keys)
	}
	return nil
}

// level returns the log level. Its name was checked before.
func level(l config.Log) (level slog.Level) {
	_ = level.UnmarshalText([]byte(l.Level))
	return level
}

// publish makes a catalog the current one. The log redacts its credentials before the first request uses them.
func (g *Gateway) publish(cfg config.Config, b *edit.Built, keys []string) {
	g.redactor.SetSecrets(append(cfg.Secrets(), keys...)...)
	g.health.SetOut(outOf(b))
	g.dialer.Ways.Use(cfg.Upstream.Proxy, cfg.Upstream.NoProxy) // before the catalog, whose new providers ask for their ways
	g.catalog.Store(b.Snapshot)
	g.built.Store(b)
	g.level.Set(levelOf(cfg.Log, b, time.Now()))
}

// relevel has the log's level of the configuration hold again when that of an operator has ended.
func (g *Gateway) relevel() {
	cfg := g.live.config()
	g.level.Set(levelOf(cfg.Log, g.built.Load(), time.Now()))
}

// levelOf is the level that an operator has set for a while, else the configuration's.
func levelOf(l config.Log, b *edit.Built, now time.Time) slog.Level {
	if t := b.Temporary("log.level", now); t != nil {
		l.Level = t.Value
	}
	return level(l)
}

// videosGrace bounds how long running steps of video jobs may take at shutdown. The next node continues the steps that are cut off.
const videosGrace = 5 * time.Second

// within bounds how long a part may take to close.
func within(d time.Duration, end func(context.Context)) func(context.Context) {
	return func(ctx context.Context) {
		soon, stop := context.WithTimeout(ctx, d)
		defer stop()
		end(soon)
	}
}

func (g *Gateway) closeBook(ctx context.Context) {
	if err := g.book.Close(ctx); err != nil {
		g.slog.Error("the ledger did not close; the journal keeps what the store lacks", "error", err)
	}
}

// close closes the parts of the node, the newest first. It works on a node that was opened only in part.
func (g *Gateway) close(ctx context.Context) {
	for _, end := range slices.Backward(g.closers) {
		end(ctx)
	}
	g.closers = nil
}

// readPreferences parses the provider preferences of a user or key.
func readPreferences(text string) (routing.Preferences, error) {
	return wire.Defaults([]byte(text))
}

func readDefaults(d apikey.Defaults) (*apikey.Defaults, error) {
	return apikey.ReadDefaults(d, readPreferences)
}

// statusOf returns the HTTP status that clients of an API see for a fault.
func statusOf(api string, e *fault.Error) int {
	if api == "messages" {
		return httpapi.MessagesStatus(e)
	}
	return httpserver.Status(e)
}

func tune(r config.Runtime, log *slog.Logger) {
	debug.SetGCPercent(int(r.GOGC))
	limit, why := memoryLimit(r.MemoryLimit)
	if r.MemoryLimit == config.AutoMemory {
		log.Info("runtime.memory_limit was chosen", "limit", config.Size(limit).String(), "reason", why)
	}
	if limit > 0 {
		debug.SetMemoryLimit(limit)
	}
}

// makeDataDir makes the data directory, or a folder in it, with access for its owner only.
func makeDataDir(dir string) error {
	return explained(dir, os.MkdirAll(dir, 0o700))
}
