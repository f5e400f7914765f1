package app

import (
	"context"
	"math/rand/v2"
	"time"

	"weir/internal/apikey"
	"weir/internal/budget"
	"weir/internal/invalidate"
	"weir/internal/loop"
	"weir/internal/ownkey"
	"weir/internal/preset"
	"weir/internal/relay"
)

const (
	hintPause = 100 * time.Millisecond // however fast somebody changes things, nodes look at what they remember ten times a second
	hintFirst = 200 * time.Millisecond // the first pause after a lost connection
	hintMost  = 5 * time.Second        // the longest
)

// hearer listens to the changes of other nodes and commands. What hints are about is read again by the clock, too, at the latest after
// lookEvery or the like: a hint makes it sooner.
func (g *Gateway) hearer(keys *apikey.Verifier, presets *preset.Manager, own *ownkey.Manager, budgets *budget.Manager) *invalidate.Hearer {
	cfg := invalidate.Config{Pause: hintPause, First: hintFirst, Most: hintMost, Now: time.Now, Rand: rand.Float64, Log: g.slog}
	return invalidate.New(g.store.Nodes, cfg, func(t invalidate.Topic, u invalidate.Users) {
		switch t {
		case invalidate.Keys:
			keys.LookAgain(u.Has)
		case invalidate.Presets:
			presets.LookAgain(u.Has)
		case invalidate.ProviderKeys:
			own.LookAgain(u.Has)
		case invalidate.Budgets:
			budgets.LookAgain(u.Has)
		case invalidate.Catalog:
			g.looks.Wake()
		case invalidate.Stops:
			g.stops.Wake()
		}
	})
}

// stopsEvery is how often a node looks for keys that others have stopped, where no hint says so: their calls end within a second.
const stopsEvery = 300 * time.Millisecond

// lookForStops ends the calls of keys that were stopped on another node.
func (g *Gateway) lookForStops(ctx context.Context, calls *relay.Relay) {
	failed := calls.LookForStops(ctx) != nil
	g.stops = loop.Every(stopsEvery, func(ctx context.Context) {
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		err := calls.LookForStops(short)
		if err != nil && !failed && ctx.Err() == nil {
			g.slog.Warn("this node does not hear at present which keys others stop", "error", err)
		}
		failed = err != nil
	})
	g.stops.Start()
	g.onClose(func(context.Context) { g.stops.Stop() })
}

// hear listens until the node closes.
func (g *Gateway) hear() {
	g.hints.Start()
	g.onClose(func(context.Context) { g.hints.Stop() })
}
