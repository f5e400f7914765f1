package noticedb

import (
	"context"
	"time"

	"weir/internal/notify"
	"weir/internal/store/sqldb"
)

// Noticed is notify.InboxStore.Noticed.
func (s *Notices) Noticed(ctx context.Context, account string) ([]notify.Noticed, error) {
	kept, err := facts.List(ctx, s.db, "store.Noticed", `WHERE account = $1 ORDER BY found_at DESC, id`, account)
	all := make([]notify.Noticed, len(kept))
	for i := range kept {
		all[i] = notify.Noticed{Fact: kept[i].Fact, FoundAt: kept[i].FoundAt}
		if gone := kept[i].GoneAt; gone != 0 {
			all[i].GoneAt = time.UnixMicro(gone).UTC()
		}
	}
	return all, err
}

// ReadUntil is notify.InboxStore.ReadUntil.
func (s *Notices) ReadUntil(ctx context.Context, person, account string) (until time.Time, err error) {
	var at int64
	if err := s.db.Read(ctx, &at, `SELECT COALESCE(MAX(until), 0) FROM notify_reads WHERE person = $1 AND account = $2`, person, account); err != nil || at == 0 {
		return until, sqldb.Failure("store.ReadUntil", err)
	}
	return time.UnixMicro(at).UTC(), nil
}

// MarkRead is notify.InboxStore.MarkRead.
func (s *Notices) MarkRead(ctx context.Context, person, account string, until time.Time) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		n, err := t.Exec(`INSERT INTO notify_reads AS r (person, account, until) VALUES ($1, $2, $3)
			ON CONFLICT (person, account) DO UPDATE SET until = excluded.until WHERE r.until < excluded.until`, person, account, until.UnixMicro())
		if err != nil || n == 0 {
			return err
		}
		return changed(t, account)
	})
}

// NoticesVersion is notify.InboxStore.NoticesVersion.
func (s *Notices) NoticesVersion(ctx context.Context, account string) (version int64, err error) {
	err = s.db.Read(ctx, &version, `SELECT COALESCE(MAX(version), 0) FROM notify_accounts WHERE account = $1`, account)
	return version, sqldb.Failure("store.NoticesVersion", err)
}

// changed counts a change of what an account is shown.
func changed(t *sqldb.Tx, account string) error {
	_, err := t.Exec(`UPDATE notify_accounts SET version = version + 1 WHERE account = $1`, account)
	return err
}
