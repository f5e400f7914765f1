package app

import (
	"context"
	"log/slog"
)

// hinting completes commands that messages name, such as with the configuration that they need, so that they can be pasted.
type hinting struct {
	slog.Handler
	hint func(text string) string // nil: they stay as they are
}

func (h hinting) Handle(ctx context.Context, r slog.Record) error {
	if h.hint != nil {
		r.Message = h.hint(r.Message)
	}
	return h.Handler.Handle(ctx, r)
}

func (h hinting) WithAttrs(attrs []slog.Attr) slog.Handler {
	return hinting{h.Handler.WithAttrs(attrs), h.hint}
}

func (h hinting) WithGroup(name string) slog.Handler {
	return hinting{h.Handler.WithGroup(name), h.hint}
}
