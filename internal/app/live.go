package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"weir/internal/audit"
	"weir/internal/catalog"
	"weir/internal/catalog/edit"
	"weir/internal/catalog/update"
	"weir/internal/config"
	"weir/internal/fault"
	"weir/internal/loop"
	"weir/internal/ownkey"
	"weir/internal/rate"
	"weir/internal/rate/cbr"
	"weir/internal/seal"
	"weir/internal/webhook"
)

// live keeps a node's catalog, which consists of the configuration's part and the database's part. It is rebuilt when one of them changes,
// when another rate or price list takes effect, and on each new day. It is also the edit.Builder for changes to the database.
type live struct {
	store edit.Store
	ring  *seal.Ring
	more  catalog.Declared // in addition to the configuration: the demo's simulator
	now   func() time.Time
	log   *slog.Logger
	// publish receives each new catalog, with the credentials that the database keeps for it.
	publish  func(cfg config.Config, b *edit.Built, keys []string)
	round    func()                                                               // is called in each look at the database
	failures func()                                                               // counts failed fetches of the rate
	dial     func(ctx context.Context, network, address string) (net.Conn, error) // by the way of the whole gateway
	prices   priceList
	day      string // of the last build: what retires on another is left out then

	mu     sync.Mutex
	cfg    config.Config
	state  edit.State
	rate   string // version of the rate in the last build
	list   string // version of its price list
	due    int    // scheduled publications that had taken effect by then
	failed int64  // version that failed to build, so that its failure is logged once
}

var _ edit.Builder = (*live)(nil)

// start loads the database's part and publishes the first catalog.
func (l *live) start(ctx context.Context, cfg config.Config) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, err := l.store.CatalogState(ctx)
	if err != nil {
		return err
	}
	state, err := l.adoptPrices(ctx, &cfg, &s)
	if err != nil {
		return err
	}
	return l.use(cfg, *state)
}

// reload applies another configuration. On an error the old one stays in use.
func (l *live) reload(cfg config.Config) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.use(cfg, l.state)
}

// use builds and publishes a catalog. The lock must be held.
func (l *live) use(cfg config.Config, s edit.State) error {
	due := s.Due(l.now()) // before the build: what takes effect meanwhile is looked at again
	b, keys, err := l.build(&cfg, &s, true)
	if err != nil {
		return err
	}
	l.cfg, l.state, l.rate, l.failed = cfg, s, b.Rate.Version, 0
	published := s.PricesAt(l.now())
	list, _ := l.prices.of(&published) // the build has reported the error
	l.list = list.Version
	l.day, l.due = l.now().UTC().Format(time.DateOnly), due
	for _, what := range b.Left {
		l.log.Warn("left out of the catalog: " + what)
	}
	l.publish(cfg, b, keys)
	return nil
}

// refresh applies the current state of the database. If it does not build, the old catalog stays in use.
func (l *live) refresh(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, err := l.store.CatalogState(ctx)
	if err != nil {
		l.log.Warn("the catalog's changes cannot be read; the catalog stays as it is", "error", err)
		return
	}
	if err := l.use(l.cfg, s); err != nil && l.failed != s.Version {
		l.failed = s.Version
		l.log.Error("the catalog in the database is not used; the old one remains", "version", s.Version, "error", err)
	}
}

// lookEvery is how often a node checks whether the catalog has changed. A change must reach all nodes within five seconds.
const lookEvery = 2 * time.Second

// changes watches the database's part of the catalog. It looks again in the moment in which a scheduled publication takes effect.
func (l *live) changes() *loop.Loop {
	editor := edit.NewEditor(l.store, l, l.ring, l.now, l.refresh)
	said := ""
	return loop.New(0, func(ctx context.Context) time.Duration {
		if l.stale(ctx) {
			l.refresh(ctx)
		}
		l.round()
		if l.pending() {
			if err := editor.Enact(ctx); err != nil && ctx.Err() == nil && err.Error() != said {
				said = err.Error()
				l.log.Warn("prices that have taken effect cannot be stored; nodes that start are told later", "error", err)
			}
		}
		return l.pause()
	})
}

// pending reports whether a publication has taken effect that is not stored yet.
func (l *live) pending() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.Due(l.now()) > 0
}

// pause is how long nothing has to be looked at.
func (l *live) pause() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if next := l.state.Next(now); !next.IsZero() {
		return min(lookEvery, next.Sub(now))
	}
	return lookEvery
}

// stale reports whether the database has another version than the current catalog, or another rate has taken effect. It returns false when
// the store does not answer: the calls that need the store report that.
func (l *live) stale(ctx context.Context) bool {
	version, err := l.store.CatalogVersion(ctx)
	if err != nil {
		return false
	}
	found, err := l.store.FoundVersion(ctx)
	if err != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	effective, err := rate.At(l.cfg.Rate(), l.state.Rates, l.now())
	if found != l.state.FoundVersion() && (l.failed == 0 || version != l.failed) {
		return true
	}
	return version != l.state.Version && version != l.failed || err == nil && effective.Version != l.rate || l.state.Due(l.now()) != l.due || l.day != l.now().UTC().Format(time.DateOnly)
}

// BuildCatalog builds the catalog of a state without publishing it.
func (l *live) BuildCatalog(s *edit.State, serving bool) (*edit.Built, error) {
	l.mu.Lock()
	cfg := l.cfg
	l.mu.Unlock()
	b, _, err := l.build(&cfg, s, serving)
	return b, err
}

// DeclaredRate returns the rate and margin of the configuration.
func (l *live) DeclaredRate() rate.Declared {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cfg.Rate()
}

// defaultRate reports whether neither the configuration, an administrator nor the bank has set the rate in effect.
func (l *live) defaultRate() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	effective, err := rate.At(l.cfg.Rate(), l.state.Rates, l.now())
	return err == nil && isDefaultRate(&l.cfg, &effective)
}

// margin is the one in effect.
func (l *live) margin() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	effective, err := rate.At(l.cfg.Rate(), l.state.Rates, l.now())
	if err != nil {
		return ""
	}
	return effective.Margin
}

func isDefaultRate(cfg *config.Config, e *rate.Effective) bool {
	return e.Source == rate.Static && cfg.Rate().RateAt == ""
}

// build returns the catalog, and the credentials that it took from the database.
func (l *live) build(cfg *config.Config, s *edit.State, serving bool) (*edit.Built, []string, error) {
	effective, err := rate.At(cfg.Rate(), s.Rates, l.now())
	if err != nil {
		return nil, nil, err
	}
	credentials := s.Credentials(l.ring, os.LookupEnv)
	var keys []string
	for id, c := range credentials {
		for _, key := range slices.Concat([]string{c.Key}, c.Keys, c.Draining) {
			if key != "" {
				keys = append(keys, key)
			}
		}
		if !serving { // a catalog can be valid although its credentials cannot be decrypted here
			c.Err = nil
			credentials[id] = c
		}
	}
	published := s.PricesAt(l.now())
	list, err := l.prices.of(&published)
	if err != nil && l.log != nil {
		l.log.Error("the published price list is not used; the built-in one is", "error", err)
	}
	with := *cfg
	with.UseList(list.On(l.now()))
	base, err := with.Base(os.LookupEnv, effective, credentials)
	if err != nil {
		return nil, nil, fault.New(fault.Invalid, "app.build", "The catalog would be invalid: "+err.Error()+".").Because(err)
	}
	base.Append(l.more)
	b, err := edit.Build(base, s.At(l.now(), base), effective, credentials)
	if err != nil {
		return nil, keys, err
	}
	for i := range b.Providers {
		keys = append(keys, b.Providers[i].Proxy.Secrets()...)
	}
	return b, keys, nil
}

// published returns a loop that fetches the rate of the Bank of Russia.
func (l *live) published(p *config.Pricing) (*loop.Loop, error) {
	source, err := cbr.New(p.CBRURL, l.dial)
	if err != nil {
		return nil, err
	}
	band, err := p.Band()
	if err != nil {
		return nil, err
	}
	k := rate.Keeper{
		Fetch: source.Fetch, Book: rateBook{edit.NewEditor(l.store, l, l.ring, l.now, l.refresh)}, Band: band, Now: l.now, Failed: l.failures,
		Accepted: func(last *rate.Record, r rate.Record) {
			was := "none"
			if last != nil {
				was = last.RubPerUSD
			}
			l.log.Info("the rate of the Bank of Russia is accepted", "rub_per_usd", r.RubPerUSD, "was", was, "day", r.Day, "in_force_from", r.From)
		},
		Report: func(err error) {
			if err == nil {
				l.log.Info("the rate of the Bank of Russia can be fetched again")
				return
			}
			l.log.Warn("the rate of the Bank of Russia cannot be used; the last one holds", "error", err)
		},
	}
	return k.Loop(), nil
}

// rateBook stores rates in the name of the bank.
type rateBook struct{ *edit.Editor }

// SetRate adds a record, unless it equals the last one.
func (b rateBook) SetRate(ctx context.Context, r rate.Record) error {
	return b.Editor.SetRate(ctx, r, audit.Actor{Name: rate.CBR})
}

// BuildCatalog builds the catalog of a configuration, and of the store if there is one, for commands.
func BuildCatalog(ctx context.Context, cfg config.Config) (*edit.Built, error) {
	l := &live{now: time.Now, cfg: cfg}
	var err error
	if l.ring, err = cfg.Ring(os.LookupEnv); err != nil {
		return nil, err
	}
	var s edit.State
	o, err := OpenAdmin(ctx, cfg, false)
	if errors.As(err, new(noLedger)) {
		return l.BuildCatalog(&s, true)
	}
	if err != nil {
		return nil, err
	}
	defer o.Close()
	if s, err = o.Store.Catalog.CatalogState(ctx); err != nil {
		return nil, err
	}
	return l.BuildCatalog(&s, true)
}

// Editor returns an editor of the catalog in the admin's store. The configuration should be that of the nodes, because the database cannot
// change the rows that it declares.
func (o *Admin) Editor(cfg config.Config) (*edit.Editor, error) {
	ring, err := cfg.Ring(os.LookupEnv)
	if err != nil {
		return nil, err
	}
	o.webhooks = webhook.NewSecrets(o.Store.Notices, func() *seal.Ring { return ring }, time.Now)
	o.ownKeys = ownkey.NewManager(o.Store.Accounts, func() *seal.Ring { return ring }, time.Now, cfg.OwnKeys)
	o.alerts = o.makeAlerts(&cfg, ring)
	return edit.NewEditor(o.Store.Catalog, &live{now: time.Now, cfg: cfg, ring: ring, store: o.Store.Catalog}, ring, time.Now, nil).WithLists(update.Editing{}), nil
}

// RotateSecrets encrypts every secret of the store again: provider credentials, which e keeps, the secrets that sign events, people's
// own keys, and those of channels of alerts. It refuses as long as a node runs that does not have the current master key: that one could open none of them any more.
func (o *Admin) RotateSecrets(ctx context.Context, e *edit.Editor, by audit.Actor) (int, error) {
	if err := o.nodesHaveKey(ctx); err != nil {
		return 0, err
	}
	n, err := e.RotateSecrets(ctx, by)
	if err != nil {
		return n, err
	}
	for _, s := range []interface {
		Rewrap(context.Context) (int, error)
	}{o.webhooks, o.ownKeys, o.alerts} {
		more, err := s.Rewrap(ctx)
		n += more
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
