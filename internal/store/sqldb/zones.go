package sqldb

import (
	"context"
	"database/sql"
	"time"

	"weir/internal/fault"
	"weir/internal/zone"
)

// SQL text of the time zones.
const (
	ZonesAll = `SELECT wallet, since, zone FROM wallet_zones ORDER BY wallet, since`
	ZonesOf  = `SELECT wallet, since, zone FROM wallet_zones WHERE wallet = $1 ORDER BY since`
)

// Zones are the time zones of the wallets that have not always had UTC.
type Zones map[string]zone.History

// knownZones are the zones as they were read once.
type knownZones struct {
	all  Zones
	read time.Time
}

// zonesFor is how old they may be: far less than how long a change is known before it holds.
const zonesFor = zone.Ahead / 6

// ZonesNow are the zones by which calls are added up.
func (s *DB) ZonesNow(ctx context.Context) (Zones, error) {
	now := s.Now()
	if k := s.zones.Load(); k != nil && now.Sub(k.read).Abs() < zonesFor {
		return k.all, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.Engine.QueryFor)
	defer cancel()
	all, err := ReadZones(s.Engine.Read.QueryContext(ctx, ZonesAll))
	if err != nil {
		return nil, Failure("store.Zones", err)
	}
	s.zones.Store(&knownZones{all, now})
	return all, nil
}

// Local is what a clock shows where a wallet's account is when the hour that has t begins, written as a time of UTC. It asks nothing: a
// sign of life reads the zones in time.
func (s *DB) Local(wallet string, t time.Time) time.Time {
	k := s.zones.Load()
	if k == nil {
		return zone.History(nil).Local(t)
	}
	return k.all[wallet].Local(t)
}

// ZonesChanged has the zones read again.
func (s *DB) ZonesChanged() {
	if k := s.zones.Load(); k != nil {
		s.zones.Store(&knownZones{all: k.all})
	}
}

// ReadZones reads a result with the columns wallet, since and zone.
func ReadZones(rows *sql.Rows, err error) (Zones, error) {
	type row struct {
		wallet, name string
		since        int64
	}
	list, err := Collect(rows, err, Columns(func(r *row) []any { return []any{&r.wallet, &r.since, &r.name} }))
	all := Zones{}
	for _, r := range list {
		c, err := zone.NewChange(r.name, time.Unix(r.since, 0))
		if err != nil {
			return nil, fault.Wrap("store.Zones", err)
		}
		all[r.wallet] = append(all[r.wallet], c)
	}
	return all, err
}

// ZonesOf are the zones that a wallet has had.
func (s *DB) ZonesOf(ctx context.Context, wallet string) (h zone.History, err error) {
	err = s.Snapshot(ctx, func(ctx context.Context, q *sql.Tx) error {
		h, err = ZonesIn(ctx, q, wallet)
		return err
	})
	return h, err
}

// ZonesIn is ZonesOf in a transaction.
func ZonesIn(ctx context.Context, q *sql.Tx, wallet string) (zone.History, error) {
	all, err := ReadZones(q.QueryContext(ctx, ZonesOf, Text(wallet)))
	return all[Text(wallet)], err
}
