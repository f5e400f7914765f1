package app

import (
	"cmp"
	"context"
	"io/fs"
	"log/slog"
	"math/big"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/internal/audit"
	"weir/internal/catalog"
	"weir/internal/catalog/builtin"
	"weir/internal/catalog/edit"
	"weir/internal/catalog/update"
	"weir/internal/config"
	"weir/internal/loop"
	"weir/internal/outbound/tunnel"
	"weir/internal/rate"
)

// updaterOf makes the updater of the configuration's price lists.
func updaterOf(cfg *config.Config, d *tunnel.Dialer, store update.Store) *update.Updater {
	c := cfg.PriceLists
	c.Dir, c.Store, c.Now, c.Dial = cfg.PriceDir(), store, time.Now, d.DialContext
	return update.New(c)
}

// priceStore keeps published lists with the ledger, so that all nodes charge by the same one.
type priceStore struct {
	store  edit.Store
	editor *edit.Editor
	by     audit.Actor
}

func (s *priceStore) Published(ctx context.Context) (update.Published, error) {
	state, err := s.store.CatalogState(ctx)
	if err != nil {
		return update.Published{}, err
	}
	return s.lists(ctx, &state.Prices)
}

func (s *priceStore) lists(ctx context.Context, p *edit.Prices) (out update.Published, err error) {
	if out.Last = p.Data; p.Approved != "" {
		out.Approved, err = s.store.PriceList(ctx, p.Approved)
	}
	return out, err
}

// Import is update.Store.Import.
func (s *priceStore) Import(ctx context.Context, i *edit.Import) error {
	i.Actor = s.by.Name
	return s.store.PutImport(ctx, i)
}

// LastImport is update.Store.LastImport.
func (s *priceStore) LastImport(ctx context.Context) (*edit.Import, error) {
	return s.store.LastImport(ctx)
}

// Publish is update.Store.Publish.
func (s *priceStore) Publish(ctx context.Context, choose func(update.Published) (*update.Choice, error)) error {
	return s.editor.PublishPrices(ctx, func(now *edit.Prices) (*edit.Prices, error) {
		lists, err := s.lists(ctx, now)
		if err != nil {
			return nil, err
		}
		c, err := choose(lists)
		if err != nil || c == nil {
			return nil, err
		}
		p := edit.Prices{List: c.List.Version, AsOf: c.List.AsOf.Format(time.DateOnly), Approved: now.Approved, Data: c.List.Data()}
		if c.Approved {
			p.Approved = p.List
		}
		return &p, nil
	}, s.by)
}

// storedPrices is the price store of an admin.
func (o *Admin) storedPrices(by audit.Actor) (*priceStore, error) {
	editor, err := o.Editor(o.cfg)
	return &priceStore{store: o.Store.Catalog, editor: editor, by: by}, err
}

// withPrices calls f with the updater of a configuration. Where there is no ledger yet, it can only make drafts.
func withPrices(ctx context.Context, cfg config.Config, by audit.Actor, draftOnly bool, f func(*update.Updater) (update.Draft, error)) (update.Draft, error) {
	o, err := OpenAdmin(ctx, cfg, false)
	if draftOnly && IsNoLedger(err) {
		return f(updaterOf(&cfg, dialerOf(&cfg), nil))
	}
	if err != nil {
		return update.Draft{}, err
	}
	defer o.Close()
	s, err := o.storedPrices(by)
	if err != nil {
		return update.Draft{}, err
	}
	return f(updaterOf(&cfg, dialerOf(&cfg), s))
}

// UpdatePrices makes a draft of the price list: of the public lists, or of those in a folder that are as old as at.
func UpdatePrices(ctx context.Context, cfg config.Config, dir fs.FS, at time.Time, by audit.Actor) (update.Draft, error) {
	return withPrices(ctx, cfg, by, true, func(u *update.Updater) (update.Draft, error) {
		if dir != nil {
			return u.Read(ctx, dir, at)
		}
		return u.Fetch(ctx)
	})
}

// PublishPrices puts the draft into use on all nodes.
func PublishPrices(ctx context.Context, cfg config.Config, by audit.Actor) (update.Draft, error) {
	return withPrices(ctx, cfg, by, false, func(u *update.Updater) (update.Draft, error) { return u.Publish(ctx) })
}

// DraftedPrices returns the draft that an earlier update made.
func DraftedPrices(ctx context.Context, cfg config.Config) (update.Draft, error) {
	return withPrices(ctx, cfg, audit.Actor{}, true, func(u *update.Updater) (update.Draft, error) { return u.Drafted(ctx) })
}

// RestorePrices takes a published list back on all nodes: for the one before it, or for that of the program.
func RestorePrices(ctx context.Context, cfg config.Config, toProgram bool, by audit.Actor) (asOf string, err error) {
	o, err := OpenAdmin(ctx, cfg, false)
	if err != nil {
		return "", err
	}
	defer o.Close()
	s, err := o.storedPrices(by)
	if err != nil {
		return "", err
	}
	err = s.editor.PublishPrices(ctx, func(now *edit.Prices) (*edit.Prices, error) {
		p := edit.Prices{}
		if !toProgram && now.Previous != "" {
			data, err := s.store.PriceList(ctx, now.Previous)
			if err != nil {
				return nil, err
			}
			list, err := update.Use(data)
			if err != nil {
				return nil, err
			}
			p = edit.Prices{List: now.Previous, AsOf: list.AsOf.Format(time.DateOnly), Approved: now.Previous, Data: data}
		}
		asOf = cmp.Or(p.AsOf, builtin.Embedded().AsOf.Format(time.DateOnly))
		return &p, nil
	}, by)
	return asOf, err
}

// LeastChange parses the share of a price below which a change is only counted.
func LeastChange(text string) (*big.Rat, bool) { return new(big.Rat).SetString(text) }

// priceList has the price lists that catalogs are built with, so that they are parsed once.
type priceList struct {
	mu    sync.Mutex
	lists map[string]*builtin.List // by version: the one in use, and that of a draft
}

// mostLists is how many lists are kept parsed.
const mostLists = 4

// of returns the list that a state leaves in use, and why a published one is not.
func (p *priceList) of(s *edit.Prices) (*builtin.List, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if list := p.lists[s.List]; list != nil {
		return list, nil
	}
	list, err := update.Use(s.Data)
	if p.lists == nil || len(p.lists) >= mostLists {
		p.lists = map[string]*builtin.List{}
	}
	p.lists[s.List] = list
	return list, err
}

// adoptPrices publishes, for all nodes, the list that an earlier version of the program has left in the folder of this one, unless one was
// published since.
func (l *live) adoptPrices(ctx context.Context, cfg *config.Config, s *edit.State) (*edit.State, error) {
	if s.Prices.List != "" || s.Prices.Previous != "" {
		return s, nil
	}
	list, err := update.Left(cfg.PriceDir())
	if err != nil {
		l.log.Error("the price list that was published on this node is not used; the built-in one is", "error", err)
	}
	if list == nil {
		return s, nil
	}
	builder := &live{store: l.store, ring: l.ring, more: l.more, now: l.now, log: l.log, cfg: *cfg} // this one is locked
	err = (&priceStore{store: l.store, editor: edit.NewEditor(l.store, builder, l.ring, l.now, nil), by: audit.Actor{Name: "weir"}}).Publish(ctx, func(now update.Published) (*update.Choice, error) {
		if now.Last != nil {
			return nil, nil
		}
		return &update.Choice{List: list, Approved: true}, nil
	})
	if err != nil {
		return s, err
	}
	l.log.Info("the price list that was published on this node is kept with the ledger now, for all nodes", "as_of", list.AsOf.Format(time.DateOnly))
	state, err := l.store.CatalogState(ctx)
	return &state, err
}

// reportPrices logs how old the prices of built-in models are.
func reportPrices(log *slog.Logger, asOf, now time.Time, stale time.Duration) {
	if asOf.IsZero() {
		return
	}
	age := now.Sub(asOf)
	if age > stale {
		log.Warn("the prices of built-in models are old; fetch newer ones with: weir catalog update", "as_of", asOf.Format(time.DateOnly), "days", int(age.Hours()/24))
		return
	}
	log.Info("prices of built-in models", "as_of", asOf.Format(time.DateOnly), "days", int(age.Hours()/24))
}

// warnOfDefaultRate logs that prices in dollars are charged at the default rate.
func warnOfDefaultRate(log *slog.Logger, snap *catalog.Snapshot, isDefault bool, rubPerUSD string) {
	inDollars := func(ep *catalog.Endpoint) bool { return rate.PartsOf(ep.Pricing.Rate).RubPerUSD != "" }
	for _, m := range snap.Models() {
		if isDefault && slices.ContainsFunc(m.Endpoints, inDollars) {
			log.Warn("prices in dollars are charged at the default rate, which is nobody's; set pricing.rub_per_usd, or pricing.rate_source: cbr, or run: weir rate set",
				"rub_per_usd", rubPerUSD)
			return
		}
	}
}

// updating returns a loop that fetches the price lists, and publishes what is within bounds if the configuration says so. The first round is
// after a minute, so that a node that is restarted all the time does not burden the servers of the lists.
func (g *Gateway) updating() *loop.Loop {
	p := &g.cfg.PriceLists
	u := updaterOf(&g.cfg, g.dialer, &priceStore{store: g.store.Catalog, editor: edit.NewEditor(g.store.Catalog, g.live, g.live.ring, time.Now, g.live.refresh), by: audit.Actor{Name: "weir"}})
	return loop.New(min(time.Minute, p.Every), func(ctx context.Context) time.Duration {
		updatePrices(ctx, u, p.Publish == update.WithinBounds, g.slog)
		return p.Every
	})
}

// updatePrices does one round.
func updatePrices(ctx context.Context, u *update.Updater, publish bool, log *slog.Logger) {
	d, err := u.Fetch(ctx)
	if err != nil {
		log.Warn("the price lists cannot be used; the prices stay as they are", "error", err)
		return
	}
	c := &d.Changes
	attrs := []any{"as_of", d.AsOf, "new", len(c.New), "gone", len(c.Gone), "changed", len(c.Changed)}
	if !publish {
		log.Info("a draft of new prices waits: weir catalog publish", attrs...)
		return
	}
	switch why, err := u.PublishWithinBounds(ctx); {
	case err != nil:
		log.Error("new prices cannot be published", "error", err)
	case why != "":
		log.Warn("a draft of new prices needs an operator: weir catalog publish", append(attrs, "reason", why)...)
	default:
		log.Info("new prices are published", attrs...)
	}
}

// DoubtfulMargin asks about a margin that doubles prices or more, "" about any other: 1.15 is often meant as 15 %.
func DoubtfulMargin(margin string) string {
	part, ok := new(big.Rat).SetString(margin)
	if !ok || part.Cmp(big.NewRat(1, 1)) < 0 {
		return ""
	}
	percent := new(big.Rat).Mul(part, big.NewRat(100, 1)).FloatString(0)
	said := "the margin " + margin + " adds " + percent + " % to each price in dollars"
	if less := new(big.Rat).Sub(part, big.NewRat(1, 1)); less.Sign() > 0 && less.Cmp(big.NewRat(1, 1)) < 0 {
		said += "; if " + new(big.Rat).Mul(less, big.NewRat(100, 1)).FloatString(0) + " % is meant, write " + strings.TrimRight(less.FloatString(6), "0")
	}
	return said
}
