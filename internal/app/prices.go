package app

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"math/big"
	"math/rand/v2"
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
	"weir/internal/store"
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

// updates reports whether the price lists are fetched by themselves.
func (g *Gateway) updates() bool {
	return g.cfg.PriceLists.Every > 0 && g.cfg.PriceLists.Publish != update.Off
}

// nameLists says, before they are asked for the first time, which servers will be.
func (g *Gateway) nameLists(ctx context.Context) {
	if last, err := g.store.Mark(ctx, store.MarkPrices); !g.updates() || err != nil || last != "" {
		return
	}
	g.slog.Info("the public price lists are fetched by themselves from now on; nothing about this installation is sent; price_lists.publish: off ends it",
		"every", g.cfg.PriceLists.Every, "addresses", g.cfg.PriceLists.Addresses())
}

// How the price lists are fetched by themselves. The first round is minutes after the start, so that a node that is restarted all the time does
// not burden the servers of the lists.
const (
	firstUpdate = 2 * time.Minute
	updateLook  = 10 * time.Minute // how often a node looks whether another has fetched them
	updateRetry = time.Hour        // after a failure
)

// updating returns a loop in which one of the nodes fetches the price lists, when they are due, and publishes what the configuration says.
func (g *Gateway) updating() *loop.Loop {
	p := &g.cfg.PriceLists
	u := updaterOf(&g.cfg, g.dialer, &priceStore{store: g.store.Catalog, editor: edit.NewEditor(g.store.Catalog, g.live, g.live.ring, time.Now, g.live.refresh), by: audit.Actor{Name: "weir"}})
	d := daily{updater: u, marks: g.store, every: p.Every, publish: p.Publish, now: time.Now, log: g.slog, saw: g.priceUpdates}
	spread := time.Duration(rand.Int64N(int64(firstUpdate)))
	return loop.New(firstUpdate+spread, func(ctx context.Context) time.Duration {
		d.round(ctx)
		return updateLook + spread
	})
}

// marks are those of a ledger.
type marks interface {
	Mark(ctx context.Context, name string) (string, error)
	SwapMark(ctx context.Context, name, old, value string) (bool, error)
}

// daily is the update that runs by itself.
type daily struct {
	updater *update.Updater
	marks   marks
	every   time.Duration
	publish string
	now     func() time.Time
	log     *slog.Logger
	saw     func(updated) // what the last update did, on whichever node
	said    updated
}

// updated is what an update did: the mark of the ledger.
type updated struct {
	at        time.Time // it is due again so long after this
	outcome   string    // one of the outcomes
	published int       // offers
	waiting   int
}

// The outcomes of an update.
const (
	updateRuns      = "running"
	updateFailed    = "failed"
	updateUnchanged = "unchanged"
	updatePublished = "published"
	updateWaits     = "waiting"
)

func (u updated) String() string {
	return fmt.Sprintf("%s %s %d %d", u.at.UTC().Format(time.RFC3339), u.outcome, u.published, u.waiting)
}

func readUpdated(mark string) (u updated) {
	var at string
	_, _ = fmt.Sscan(mark, &at, &u.outcome, &u.published, &u.waiting)
	u.at, _ = time.Parse(time.RFC3339, at)
	return u
}

// round fetches the lists if they are due and no other node does.
func (d *daily) round(ctx context.Context) {
	mark, err := d.marks.Mark(ctx, store.MarkPrices)
	if err != nil {
		return // those that need the store report it
	}
	last, now := readUpdated(mark), d.now()
	if last != d.said && last.outcome != updateRuns {
		d.said = last
		d.saw(last)
	}
	if now.Sub(last.at) < d.every && !last.at.After(now) {
		return
	}
	running := updated{at: now, outcome: updateRuns, published: last.published, waiting: last.waiting}.String()
	if mine, err := d.marks.SwapMark(ctx, store.MarkPrices, mark, running); err != nil || !mine {
		return
	}
	done := d.update(ctx)
	if done.at = now; done.outcome == updateFailed {
		done.at = now.Add(min(updateRetry, d.every) - d.every)
	}
	if _, err := d.marks.SwapMark(context.WithoutCancel(ctx), store.MarkPrices, running, done.String()); err != nil {
		d.log.Warn("what the update of the price lists did cannot be kept", "error", err)
	}
	d.said = readUpdated(done.String())
	d.saw(done)
}

// update does one update, and says in a sentence what came of it.
func (d *daily) update(ctx context.Context) updated {
	draft, err := d.updater.Fetch(ctx)
	if err != nil {
		d.log.Warn("the price lists cannot be used; the prices stay as they are", "error", err)
		return updated{outcome: updateFailed}
	}
	c := &draft.Changes
	attrs := []any{"as_of", draft.AsOf, "new", len(c.New), "gone", len(c.Gone), "changed", len(c.Changed), "notes", strings.Join(draft.Notes, "; ")}
	if len(draft.Offers) == 0 {
		d.log.Info("the price lists have nothing new", attrs...)
		return updated{outcome: updateUnchanged}
	}
	out := update.Outcome{Waiting: len(draft.Offers)}
	switch d.publish {
	case update.Rising:
		out, err = d.updater.PublishRising(ctx)
	case update.WithinBounds:
		if out.Beyond, err = d.updater.PublishWithinBounds(ctx); err == nil && out.Beyond == "" {
			out.Published, out.Waiting = len(draft.Offers), 0
		}
	}
	if err != nil {
		d.log.Error("new prices cannot be published", "error", err)
		return updated{outcome: updateFailed}
	}
	said := updateSentence(&out)
	if err := d.updater.Keep(ctx, &draft, said); err != nil {
		d.log.Warn("what the update of the price lists did cannot be kept", "error", err)
	}
	attrs = append(attrs, []any{"published", out.Published, "waiting", out.Waiting}...)
	switch {
	case out.Beyond != "":
		d.log.Warn(said, append(attrs, "reason", out.Beyond)...)
	default:
		d.log.Info(said, attrs...)
	}
	done := updated{outcome: updateWaits, published: out.Published, waiting: out.Waiting}
	if out.Published > 0 {
		done.outcome = updatePublished
	}
	return done
}

func updateSentence(o *update.Outcome) string {
	switch {
	case o.Beyond != "":
		return "nothing of the new price lists is published, because something is implausible: " + o.Beyond + "; they wait as a draft: weir catalog publish, or the page of prices"
	case o.Waiting == 0:
		return fmt.Sprintf("new prices are published: %d endpoints are new or cost more", o.Published)
	case o.Published == 0:
		return fmt.Sprintf("%d endpoints of the new price lists wait as a draft: weir catalog publish, or the page of prices", o.Waiting)
	}
	return fmt.Sprintf("new prices are published: %d endpoints are new or cost more; %d that cost less, hold less or are gone wait as a draft: weir catalog publish, or the page of prices", o.Published, o.Waiting)
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
