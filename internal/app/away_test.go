package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"weir/internal/fault"
	"weir/internal/store/sqldb"
)

// A database that is away is one line when that begins and one when it ends, whatever the parts of a node say; other lines stay.
func TestAbsenceIsSaidOnce(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	a := &absence{now: func() time.Time { return now }}
	var b bytes.Buffer
	log := slog.New(awayHandler{slog.NewTextHandler(&b, nil), a}).With("node", "one")
	lines := func() string {
		text := b.String()
		b.Reset()
		return text
	}
	gone := sqldb.Unavailable("store.Beat", errors.New("connection refused"))
	there := func(context.Context) error { return nil }
	away := func(context.Context) error { return gone }

	a.look(t.Context(), log, there)
	if text := lines(); text != "" || a.Details() != nil {
		t.Errorf("a database that is there: %s", text)
	}
	log.Warn("the database sends no changes at present", "error", sqldb.Unavailable("postgres.Listen", errors.New("reset")))
	if text := lines(); !strings.Contains(text, "no changes") || a.Details() != nil {
		t.Errorf("a connection that is missing alone: %s", text)
	}
	for range 50 {
		log.Warn("the history of providers' health cannot be saved", "error", gone)
		a.look(t.Context(), log, away)
	}
	if text := lines(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "the database is away") || !strings.Contains(text, "connection refused") || !strings.Contains(text, "node=one") {
		t.Errorf("at the beginning: %s", text)
	}
	if d := a.Details(); len(d) != 1 || !strings.Contains(d[0], "away since 2026-11-28T12:00:00Z") {
		t.Errorf("details: %q", d)
	}
	log.Warn("a credential was refused and rests", "error", errors.New("status 401"))
	log.Error("no room", "error", fault.New(fault.StorageUnavailable, "ledger.Ready", "The journal has no room."))
	log.Info("configuration reloaded")
	log.Warn("the database sends no changes at present", "error", sqldb.Unavailable("postgres.Listen", errors.New("reset")))
	if text := lines(); strings.Count(text, "\n") != 3 {
		t.Errorf("of other things: %s", text)
	}
	now = now.Add(70 * time.Second)
	a.look(t.Context(), log, there)
	if text := lines(); !strings.Contains(text, "the database is back after 1m10s") || !strings.Contains(text, "left_out=100") || a.Details() != nil {
		t.Errorf("at the end: %s", text)
	}
	a.look(t.Context(), log, there)
	if text := lines(); text != "" {
		t.Errorf("afterwards: %s", text)
	}
}
