package store

import (
	"context"
	"database/sql"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/zone"
)

const (
	zonesAll   = `SELECT wallet, since, zone FROM wallet_zones ORDER BY wallet, since`
	zonesOf    = `SELECT wallet, since, zone FROM wallet_zones WHERE wallet = $1 ORDER BY since`
	zoneAdd    = `INSERT INTO wallet_zones (wallet, since, zone) VALUES ($1, $2, $3)`
	zoneRemove = `DELETE FROM wallet_zones WHERE wallet = $1 AND since >= $2`
)

// zones are the time zones of the wallets that have not always had UTC.
type zones map[string]zone.History

// knownZones are the zones as they were read once.
type knownZones struct {
	all  zones
	read time.Time
}

// zonesFor is how old they may be: far less than how long a change is known before it holds.
const zonesFor = zone.Ahead / 6

// zonesNow are the zones by which calls are added up.
func (s *db) zonesNow(ctx context.Context) (zones, error) {
	now := s.now()
	if k := s.zones.Load(); k != nil && now.Sub(k.read).Abs() < zonesFor {
		return k.all, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.engine.QueryFor)
	defer cancel()
	all, err := readZones(s.engine.Read.QueryContext(ctx, zonesAll))
	if err != nil {
		return nil, failure("store.Zones", err)
	}
	s.zones.Store(&knownZones{all, now})
	return all, nil
}

// readZones reads a result with the columns wallet, since and zone.
func readZones(rows *sql.Rows, err error) (zones, error) {
	type row struct {
		wallet, name string
		since        int64
	}
	list, err := collect(rows, err, columns(func(r *row) []any { return []any{&r.wallet, &r.since, &r.name} }))
	all := zones{}
	for _, r := range list {
		c, err := zone.NewChange(r.name, time.Unix(r.since, 0))
		if err != nil {
			return nil, fault.Wrap("store.Zones", err)
		}
		all[r.wallet] = append(all[r.wallet], c)
	}
	return all, err
}

// Local is what a clock shows where a wallet's account is when the hour that has t begins, written as a time of UTC. It asks nothing: a
// sign of life reads the zones in time.
func (s *Ledger) Local(wallet string, t time.Time) time.Time {
	k := s.zones.Load()
	if k == nil {
		return zone.History(nil).Local(t)
	}
	return k.all[wallet].Local(t)
}

// Zones is account.Store.Zones.
func (s *Accounts) Zones(ctx context.Context, wallet string) (zone.History, error) {
	return s.zonesOf(ctx, wallet)
}

// Zones is report.Store.Zones.
func (s *Ledger) Zones(ctx context.Context, wallet string) (zone.History, error) {
	return s.zonesOf(ctx, wallet)
}

func (s *db) zonesOf(ctx context.Context, wallet string) (h zone.History, err error) {
	err = s.snapshot(ctx, func(ctx context.Context, q *sql.Tx) error {
		h, err = zonesIn(ctx, q, wallet)
		return err
	})
	return h, err
}

func zonesIn(ctx context.Context, q *sql.Tx, wallet string) (zone.History, error) {
	all, err := readZones(q.QueryContext(ctx, zonesOf, Text(wallet)))
	return all[Text(wallet)], err
}

// SetZone is account.Store.SetZone.
func (s *Accounts) SetZone(ctx context.Context, wallet, name string, now time.Time, e audit.Event) (h zone.History, err error) {
	err = s.write(ctx, func(t *tx) error {
		if _, err := t.lockWallet(wallet); err != nil {
			return err
		}
		all, err := readZones(t.Rows(zonesOf, clean([]any{wallet})))
		if err != nil {
			return err
		}
		var added bool
		if h, added, err = all[Text(wallet)].Choose(name, now); err != nil {
			return err
		}
		if len(h) > account.MostZones {
			return fault.Newf(fault.Conflict, "store.SetZone", "This account has changed its time zone %d times, as often as it may.", account.MostZones)
		}
		if _, err := t.exec(zoneRemove, wallet, now.Add(zone.Ahead).Unix()); err != nil {
			return err
		}
		if added {
			last := &h[len(h)-1]
			if _, err := t.exec(zoneAdd, wallet, last.Since.Unix(), last.Name); err != nil {
				return err
			}
		}
		return t.record(e, now)
	})
	if err != nil {
		return nil, err
	}
	if k := s.zones.Load(); k != nil {
		s.zones.Store(&knownZones{all: k.all}) // to be read again
	}
	return h, nil
}
