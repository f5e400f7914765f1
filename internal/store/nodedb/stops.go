package nodedb

import (
	"context"
	"time"

	"weir/internal/invalidate"
	"weir/internal/relay"
	"weir/internal/store/sqldb"
)

// stopsKept is how long it is known that a key was stopped. Nodes look several times a second.
const stopsKept = 10 * time.Minute

// AddStop is relay.Stops.AddStop. Times are those of the database's clock.
func (s *Nodes) AddStop(ctx context.Context, key string) error {
	now, err := s.db.Clock(ctx)
	if err != nil {
		return err
	}
	return s.db.WriteLazily(ctx, func(t *sqldb.Tx) error {
		if _, err := t.Exec(`DELETE FROM key_stops WHERE at < $1`, now.Add(-stopsKept).UnixMicro()); err != nil {
			return err
		}
		if _, err := t.Exec(`INSERT INTO key_stops (key_id, n, at) VALUES ($1, 1, $2) ON CONFLICT (key_id) DO UPDATE SET n = key_stops.n + 1, at = excluded.at`, key, now.UnixMicro()); err != nil {
			return err
		}
		return t.Tell(invalidate.Stops, "")
	})
}

// KeyStops is relay.Stops.KeyStops.
func (s *Nodes) KeyStops(ctx context.Context) ([]relay.KeyStop, error) {
	return sqldb.List(ctx, s.db, "store.KeyStops", sqldb.Columns(func(x *relay.KeyStop) []any { return []any{&x.Key, &x.N} }), `SELECT key_id, n FROM key_stops`)
}
