package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"weir/internal/config"
	"weir/internal/health"
	"weir/internal/loop"
)

// healthFile, in the data directory, keeps the health of endpoints over a restart. A node that has no such file, or cannot read it, starts
// without that history.
const healthFile = "health"

func healthConfig(cfg config.Config, now func() time.Time) health.Config {
	h := cfg.Health
	h.MaxInFlight, h.UserShare, h.Now = cfg.Relay.MaxInFlight, cfg.Server.MaxUserShare, now
	return h
}

// recall makes the health registry, with the state that the last run of the node saved.
func (g *Gateway) recall(now func() time.Time) {
	g.health = health.New(healthConfig(g.cfg, now))
	saved, err := os.ReadFile(filepath.Join(g.cfg.DataDir, healthFile))
	if err == nil {
		err = g.health.Restore(saved)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		g.slog.Warn("the saved health of providers cannot be read and is ignored", "error", err)
	}
}

// remember saves the health of endpoints. It replaces the file atomically.
func (g *Gateway) remember() {
	path := filepath.Join(g.cfg.DataDir, healthFile)
	err := os.WriteFile(path+".new", g.health.Snapshot(), 0o600)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		g.slog.Warn("what is known of providers' health cannot be saved", "error", err)
	}
}

// hoursGrace bounds how long the last save may take at shutdown.
const hoursGrace = 2 * time.Second

// saveHours stores what this node has seen of endpoints by the hour, and reads what all nodes have.
func (g *Gateway) saveHours(ctx context.Context) {
	if err := g.hours.Save(ctx); err != nil && ctx.Err() == nil {
		g.slog.Warn("the history of providers' health cannot be saved; it is tried again", "error", err)
	}
}

// saveHoursEvery is how often. The registry has the last half hour.
const saveHoursEvery = time.Minute

func (g *Gateway) savingHours() *loop.Loop {
	return loop.New(0, func(ctx context.Context) time.Duration {
		g.saveHours(ctx)
		return saveHoursEvery
	})
}

// remembering saves the health of endpoints at an interval, and removes unused endpoints.
func (g *Gateway) remembering() *loop.Loop {
	return loop.Every(g.cfg.Health.SaveEvery, func(context.Context) {
		g.health.Forget()
		g.remember()
	})
}
