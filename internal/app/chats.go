package app

import (
	"context"
	"time"

	"weir/internal/chat"
	"weir/internal/loop"
)

const sweepChatsEvery = 5 * time.Minute

// makeChats makes what keeps chats of the playground: as long as responses, because both are content.
func (g *Gateway) makeChats(now func() time.Time) *chat.Manager {
	m := chat.NewManager(g.store.Pages, chat.Config{Now: now, KeepFor: g.cfg.Responses.KeepFor})
	g.keep(loop.Every(sweepChatsEvery, func(ctx context.Context) {
		if err := m.Sweep(ctx); err != nil && ctx.Err() == nil {
			g.slog.Warn("chats that have expired could not be deleted; it is tried again", "error", err)
		}
	}))
	return m
}
