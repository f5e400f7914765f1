package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"weir/internal/fault"
	"weir/internal/loop"
)

// absence is the time in which the database does not answer. Each part that needs it would report that, again and again: the log gets one line at
// the beginning and one at the end instead.
type absence struct {
	now func() time.Time

	mu     sync.Mutex
	since  time.Time // zero: it is there
	unsaid int       // lines that were left out
}

const whileAway = "calls go on with the money that this node has borrowed, and are refused then"

// Details are what operators read of it.
func (a *absence) Details() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.since.IsZero() {
		return nil
	}
	return []string{fmt.Sprintf("the database is away since %s: %s", a.since.UTC().Format(time.RFC3339), whileAway)}
}

// begin notes that the database has failed, and reports whether that is news.
func (a *absence) begin() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.since.IsZero() {
		a.unsaid++
		return false
	}
	a.since = a.now()
	return true
}

// end notes that it answers, and returns for how long it did not.
func (a *absence) end() (away time.Duration, unsaid int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.since.IsZero() {
		return 0, 0
	}
	away, unsaid = max(a.now().Sub(a.since), time.Millisecond), a.unsaid
	a.since, a.unsaid = time.Time{}, 0
	return away, unsaid
}

// askFor bounds how long an answer of the database is waited for, so that operators know within five seconds.
const askFor = 2 * time.Second

// watching returns a loop that asks the database whether it is there.
func (a *absence) watching(log *slog.Logger, ask func(context.Context) error) *loop.Loop {
	return loop.Every(lookEvery, func(ctx context.Context) { a.look(ctx, log, ask) })
}

func (a *absence) look(ctx context.Context, log *slog.Logger, ask func(context.Context) error) {
	short, stop := context.WithTimeout(ctx, askFor)
	defer stop()
	err := ask(short)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		log.Error("the database does not answer", "error", err) // the handler below makes the one line of it
	default:
		if away, unsaid := a.end(); away > 0 {
			log.Info("the database is back after "+away.Round(time.Second).String(), "left_out", unsaid)
		}
	}
}

// awayHandler leaves out what the parts of a node say of a database that is away.
type awayHandler struct {
	slog.Handler
	absence *absence
}

func (h awayHandler) Handle(ctx context.Context, r slog.Record) error {
	err := ofDatabase(&r)
	if err == nil || r.Level < slog.LevelWarn {
		return h.Handler.Handle(ctx, r)
	}
	if fault.From(err).Op == "postgres.Listen" && h.absence.Details() == nil { // that connection alone may be missing, as behind a pool
		return h.Handler.Handle(ctx, r)
	}
	if !h.absence.begin() {
		return nil
	}
	said := slog.NewRecord(r.Time, slog.LevelError, "the database is away; "+whileAway, r.PC)
	said.AddAttrs(slog.String("noticed", r.Message), slog.Any("error", err))
	return h.Handler.Handle(ctx, said)
}

func (h awayHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return awayHandler{h.Handler.WithAttrs(attrs), h.absence}
}

func (h awayHandler) WithGroup(name string) slog.Handler {
	return awayHandler{h.Handler.WithGroup(name), h.absence}
}

// ofDatabase is the error of a record that says no more than that the database failed. That of a full journal is the ledger's.
func ofDatabase(r *slog.Record) (failed error) {
	r.Attrs(func(a slog.Attr) bool {
		err, is := a.Value.Any().(error)
		var f *fault.Error
		if is && errors.As(err, &f) && f.Kind == fault.StorageUnavailable && !strings.HasPrefix(f.Op, "ledger.") {
			failed = err
		}
		return failed == nil
	})
	return failed
}
