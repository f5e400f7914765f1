package accesslog

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// perSecond is how many equal lines of level Warn and above are written in one second: an upstream that fails a thousand times
// a second must not bury everything else.
const perSecond = 10

// Handler is a slog.Handler that writes through l.
func (l *Log) Handler(level slog.Leveler) slog.Handler {
	return &handler{log: l, level: level, repeats: &repeats{}}
}

type handler struct {
	log     *Log
	level   slog.Leveler
	prefix  string // names of open groups, each with a dot
	fixed   []byte // members of WithAttrs, encoded
	repeats *repeats
}

func (h *handler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level.Level() }

func (h *handler) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn && !h.repeats.allow(r.Level, r.Message, r.Time) {
		return nil
	}
	b := make([]byte, 0, 512)
	b = append(b, `{"time":"`...)
	b = r.Time.UTC().AppendFormat(b, "2006-01-02T15:04:05.000000Z")
	b = append(b, `","level":"`...)
	b = append(b, r.Level.String()...)
	b = append(b, `","msg":"`...)
	b = AppendEscaped(b, r.Message)
	b = append(b, '"')
	b = append(b, h.fixed...)
	r.Attrs(func(a slog.Attr) bool {
		b = attr(b, h.prefix, a)
		return true
	})
	_, err := h.log.Write(append(b, '}', '\n'))
	return err
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	next.fixed = append([]byte(nil), h.fixed...)
	for _, a := range attrs {
		next.fixed = attr(next.fixed, h.prefix, a)
	}
	return &next
}

func (h *handler) WithGroup(name string) slog.Handler {
	next := *h
	if name != "" {
		next.prefix = h.prefix + name + "."
	}
	return &next
}

// attr adds one attribute; groups become dotted names, so that every record is flat.
func attr(b []byte, prefix string, a slog.Attr) []byte {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, inner := range v.Group() {
			b = attr(b, prefix, inner)
		}
		return b
	}
	if a.Key == "" {
		return b
	}
	b = append(b, ',', '"')
	b = AppendEscaped(b, prefix+a.Key)
	b = append(b, '"', ':')
	switch v.Kind() {
	case slog.KindInt64, slog.KindUint64, slog.KindBool:
		return append(b, v.String()...)
	case slog.KindTime:
		b = append(b, '"')
		b = v.Time().UTC().AppendFormat(b, time.RFC3339Nano)
	case slog.KindAny:
		b = append(b, '"')
		b = AppendEscaped(b, fmt.Sprint(v.Any()))
	default:
		b = append(b, '"')
		b = AppendEscaped(b, v.String())
	}
	return append(b, '"')
}

// repeats counts equal lines within the current second.
type repeats struct {
	mu     sync.Mutex
	second int64
	seen   map[string]int
}

func (r *repeats) allow(level slog.Level, message string, at time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := at.Unix(); s != r.second || r.seen == nil {
		r.second, r.seen = s, map[string]int{}
	}
	key := level.String() + message
	if r.seen[key] >= perSecond || len(r.seen) > 1000 {
		return false
	}
	r.seen[key]++
	return true
}
