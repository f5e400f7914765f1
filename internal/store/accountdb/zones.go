package accountdb

import (
	"context"
	"slices"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/store/auditdb"
	"weir/internal/store/ledgerdb"
	"weir/internal/store/sqldb"
	"weir/internal/zone"
)

const (
	zoneAdd    = `INSERT INTO wallet_zones (wallet, since, zone) VALUES ($1, $2, $3)`
	zoneRemove = `DELETE FROM wallet_zones WHERE wallet = $1 AND since >= $2`
)

// Zones is account.Store.Zones.
func (s *Accounts) Zones(ctx context.Context, wallet string) (zone.History, error) {
	return s.db.ZonesOf(ctx, wallet)
}

// SetZone is account.Store.SetZone.
func (s *Accounts) SetZone(ctx context.Context, wallet, name string, now time.Time, e audit.Event) (h zone.History, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		if err := ledgerdb.LockWallet(t, wallet); err != nil {
			return err
		}
		all, err := sqldb.ReadZones(t.Rows(sqldb.ZonesOf, wallet)) //nolint:rowserrcheck // ReadZones asks for it
		if err != nil {
			return err
		}
		var added bool
		was := all[sqldb.Text(wallet)]
		if h, added, err = was.Choose(name, now); err != nil {
			return err
		}
		if slices.EqualFunc(was, h, func(x, y zone.Change) bool { return x.Name == y.Name && x.Since.Equal(y.Since) }) {
			return nil
		}
		if len(h) > account.MostZones {
			return fault.Newf(fault.Conflict, "store.SetZone", "This account has changed its time zone %d times, as often as it may.", account.MostZones)
		}
		if _, err := t.Exec(zoneRemove, wallet, now.Add(zone.Ahead).Unix()); err != nil {
			return err
		}
		if added {
			last := &h[len(h)-1]
			if _, err := t.Exec(zoneAdd, wallet, last.Since.Unix(), last.Name); err != nil {
				return err
			}
		}
		return auditdb.Record(t, e, now)
	})
	if err != nil {
		return nil, err
	}
	s.db.ZonesChanged()
	return h, nil
}
