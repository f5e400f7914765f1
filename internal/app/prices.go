package app

import (
	"context"
	"io/fs"
	"log/slog"
	"math/big"
	"slices"
	"sync"
	"time"

	"weir/internal/catalog"
	"weir/internal/catalog/builtin"
	"weir/internal/catalog/update"
	"weir/internal/config"
	"weir/internal/loop"
	"weir/internal/rate"
)

// updaterOf makes the updater of the configuration's price lists.
func updaterOf(cfg *config.Config) *update.Updater {
	p := &cfg.PriceLists
	return update.New(update.Config{
		Dir: cfg.PriceDir(), Timeout: p.Timeout, MaxBytes: int64(p.MaxBytes), Now: time.Now,
		Lists:  update.Lists{ModelsDev: p.ModelsDev, LiteLLM: p.LiteLLM, Portkey: p.Portkey, GenAI: p.GenAIPrices},
		Bounds: update.Bounds{Drop: p.MaxDrop.Fraction(), Rise: p.MaxRise.Fraction(), Gone: p.MaxGone.Fraction(), New: p.MaxNew.Fraction()},
	})
}

// UpdatePrices makes a draft of the price list: of the public lists, or of those in a folder that are as old as at.
func UpdatePrices(ctx context.Context, cfg config.Config, dir fs.FS, at time.Time) (update.Draft, error) {
	if dir != nil {
		return updaterOf(&cfg).Read(dir, at)
	}
	return updaterOf(&cfg).Fetch(ctx)
}

// PublishPrices puts the draft into use.
func PublishPrices(cfg config.Config) (update.Draft, error) { return updaterOf(&cfg).Publish() }

// DraftedPrices returns the draft that an earlier update made.
func DraftedPrices(cfg config.Config) (update.Draft, error) { return updaterOf(&cfg).Drafted() }

// LeastChange parses the share of a price below which a change is only counted.
func LeastChange(text string) (*big.Rat, bool) { return new(big.Rat).SetString(text) }

// priceList reads the price list in use, and reads it again only when another was published.
type priceList struct {
	mu         sync.Mutex
	dir, stamp string
	list       *builtin.List
}

// inUse returns the list, and why a published one is not used.
func (p *priceList) inUse(dir string) (*builtin.List, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	stamp := update.Stamp(dir)
	if p.list != nil && p.dir == dir && p.stamp == stamp {
		return p.list, nil
	}
	list, err := update.InUse(dir)
	p.dir, p.stamp, p.list = dir, stamp, list
	return list, err
}

// changed reports whether another list was published.
func (p *priceList) changed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.list != nil && update.Stamp(p.dir) != p.stamp
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
	u := updaterOf(&g.cfg)
	return loop.New(min(time.Minute, p.Every), func(ctx context.Context) time.Duration {
		updatePrices(ctx, u, p.Publish == "within_bounds", g.slog)
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
	attrs := []any{"as_of", d.List.AsOf.Format(time.DateOnly), "new", len(c.New), "gone", len(c.Gone), "changed", len(c.Changed)}
	if !publish {
		log.Info("a draft of new prices waits: weir catalog publish", attrs...)
		return
	}
	switch why, err := u.PublishWithinBounds(); {
	case err != nil:
		log.Error("new prices cannot be published", "error", err)
	case why != "":
		log.Warn("a draft of new prices needs an operator: weir catalog publish", append(attrs, "reason", why)...)
	default:
		log.Info("new prices are published", attrs...)
	}
}
