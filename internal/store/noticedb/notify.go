// Package noticedb keeps what is sent to users: mails, and events that go to their webhooks.
package noticedb

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/money"
	"weir/internal/notify"
	"weir/internal/store/auditdb"
	"weir/internal/store/sqldb"
	"weir/internal/webhook"
)

// Notices has what is sent to users: mails, and events that go to their webhooks.
type Notices struct{ db *sqldb.DB }

// New makes the notices of a database.
func New(db *sqldb.DB) *Notices { return &Notices{db} }

var (
	_ notify.Store        = (*Notices)(nil)
	_ webhook.Outbox      = (*Notices)(nil)
	_ webhook.SecretStore = (*Notices)(nil)
)

const (
	settingsOf = `SELECT threshold, webhook, tags FROM notify_settings WHERE account = $1`
	choicesOf  = `SELECT cause, channel, enabled FROM notify_choices WHERE account = $1`
)

// settings reads a row of settingsOf; an account that has chosen nothing has none.
func settings(row sqldb.Scanner) (n notify.Settings, err error) {
	var threshold sql.NullInt64
	var tags string
	if err := row.Scan(&threshold, &n.Webhook, &tags); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return n, err
	}
	n.Threshold, n.ThresholdSet = money.Nano(threshold.Int64), threshold.Valid
	if tags != "" {
		n.Tags = strings.Split(tags, "\n") // no tag has one
	}
	return n, nil
}

// choice is a row of choicesOf.
type choice struct {
	cause notify.Cause
	by    notify.Channel
	on    bool
}

func scanChoice(row sqldb.Scanner) (c choice, err error) {
	err = row.Scan(&c.cause, &c.by, &c.on)
	return c, err
}

func choices(all []choice) notify.Choices {
	own := notify.Choices{}
	for _, c := range all {
		if own[c.cause] == nil {
			own[c.cause] = map[notify.Channel]bool{}
		}
		own[c.cause][c.by] = c.on
	}
	return own
}

// NotifySettings is notify.SettingsStore.NotifySettings.
func (s *Notices) NotifySettings(ctx context.Context, account string) (n notify.Settings, err error) {
	const op = "store.NotifySettings"
	if err := s.db.Find(ctx, func(row sqldb.Scanner) error { n, err = settings(row); return err }, settingsOf, account); err != nil {
		return n, sqldb.Failure(op, err)
	}
	all, err := sqldb.List(ctx, s.db, op, scanChoice, choicesOf, account)
	n.Own = choices(all)
	return n, err
}

const setChoice = `INSERT INTO notify_choices (account, cause, channel, enabled) VALUES ($1, $2, $3, $4) ON CONFLICT (account, cause, channel) DO UPDATE SET enabled = excluded.enabled`

// SaveNotifySettings is notify.SettingsStore.SaveNotifySettings.
func (s *Notices) SaveNotifySettings(ctx context.Context, account string, now time.Time, change func(*notify.Settings) (audit.Event, error)) error {
	return auditdb.Change(ctx, s.db, now, func(t *sqldb.Tx) (e audit.Event, err error) {
		if err := t.KnownUser(account); err != nil {
			return e, sqldb.NoUser("store.SaveNotifySettings", err)
		}
		n, err := settings(t.Row(settingsOf, account))
		if err != nil {
			return e, err
		}
		all, err := sqldb.All(t, scanChoice, choicesOf, account)
		if err != nil {
			return e, err
		}
		n.Own = choices(all)
		if e, err = change(&n); err != nil || e.Action == "" {
			return e, err
		}
		_, err = t.Exec(`INSERT INTO notify_settings (account, threshold, webhook, tags, tests_day, tests, updated_at) VALUES ($1, $2, $3, $5, '', 0, $4)
			ON CONFLICT (account) DO UPDATE SET threshold = excluded.threshold, webhook = excluded.webhook, tags = excluded.tags, updated_at = excluded.updated_at`,
			account, sql.NullInt64{Int64: int64(n.Threshold), Valid: n.ThresholdSet}, n.Webhook, now.UnixMicro(), strings.Join(n.Tags, "\n"))
		if err != nil {
			return e, err
		}
		for cause, of := range n.Own {
			for by, on := range of {
				if _, err := t.Exec(setChoice, account, string(cause), string(by), on); err != nil {
					return e, err
				}
			}
		}
		return e, nil
	})
}

// SwitchNotice is notify.SettingsStore.SwitchNotice.
func (s *Notices) SwitchNotice(ctx context.Context, account string, cause notify.Cause, by notify.Channel, on bool, now time.Time, e audit.Event) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		if err := t.KnownUser(account); err != nil {
			return sqldb.NoUser("store.SwitchNotice", err)
		}
		var is bool
		err := t.Row(`SELECT enabled FROM notify_choices WHERE account = $1 AND cause = $2 AND channel = $3`, account, string(cause), string(by)).Scan(&is)
		if err == nil && is == on {
			return nil // nothing changes, and nothing is recorded
		}
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if _, err := t.Exec(setChoice, account, string(cause), string(by), on); err != nil {
			return err
		}
		return auditdb.Record(t, e, now)
	})
}

// TakeNoticeTest is notify.SettingsStore.TakeNoticeTest.
func (s *Notices) TakeNoticeTest(ctx context.Context, account, day string, most int) (taken bool, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		if _, err := t.Exec(`INSERT INTO notify_settings (account, webhook, tests_day, tests, updated_at) VALUES ($1, '', '', 0, 0) ON CONFLICT (account) DO NOTHING`, account); err != nil {
			return err
		}
		n, err := t.Exec(`UPDATE notify_settings SET tests = CASE WHEN tests_day = $2 THEN tests + 1 ELSE 1 END, tests_day = $2 WHERE account = $1 AND (tests_day <> $2 OR tests < $3)`, account, day, most)
		taken = n == 1
		return err
	})
	return taken && err == nil, err
}

// NoticeKey is notify.SettingsStore.NoticeKey.
func (s *Notices) NoticeKey(ctx context.Context, fresh []byte) (key []byte, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		if _, err := t.Exec(`INSERT INTO notify_key (id, secret) VALUES (1, $1) ON CONFLICT (id) DO NOTHING`, fresh); err != nil {
			return err
		}
		return t.Row(`SELECT secret FROM notify_key WHERE id = 1`).Scan(&key)
	})
	return key, err
}

// ClaimMails is notify.MailStore.ClaimMails. Two nodes that find the same row due meet at its lock, and the second leaves it.
func (s *Notices) ClaimMails(ctx context.Context, now, until time.Time, n int) (all []notify.Letter, err error) {
	const due = `waiting AND next_at <= $1 AND leased_until <= $1`
	var some bool // asked first, because most of the time nothing is due and no transaction is needed
	err = s.db.Read(ctx, &some, `SELECT EXISTS (SELECT 1 FROM notify_mails WHERE `+due+`)`, now.UnixMicro())
	if err != nil || !some {
		return nil, sqldb.Failure("store.ClaimMails", err)
	}
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		rows, err := t.Rows(`UPDATE notify_mails SET leased_until = $2, attempts = attempts + 1, fence = fence + 1
			WHERE `+due+` AND (account, cause) IN (SELECT account, cause FROM notify_mails WHERE `+due+` ORDER BY next_at, account, cause LIMIT $3)
			RETURNING account, cause, attempts, fence`, now.UnixMicro(), until.UnixMicro(), n)
		all, err = sqldb.Collect(rows, err, func(row sqldb.Scanner) (l notify.Letter, err error) {
			err = row.Scan(&l.Account, &l.Cause, &l.Attempts, &l.Fence)
			return l, err
		})
		for i := 0; i < len(all) && err == nil; i++ {
			err = letter(t, &all[i])
		}
		return err
	})
	return all, err
}

func letter(t *sqldb.Tx, l *notify.Letter) error {
	kept, err := facts.Rows(t, `WHERE account = $1 AND cause = $2 AND mail AND gone_at = 0 ORDER BY found_at, id LIMIT 50`,
		l.Account, string(l.Cause))
	for i := range kept {
		l.Facts = append(l.Facts, kept[i].Fact)
	}
	if len(kept) > 0 {
		l.FoundAt = kept[0].FoundAt
	}
	return err
}

// EndMail is notify.MailStore.EndMail.
func (s *Notices) EndMail(ctx context.Context, l *notify.Letter, o notify.MailOutcome) (done bool, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		done = false
		n, err := t.Exec(`UPDATE notify_mails SET next_at = $4, leased_until = 0, words = $5 WHERE account = $1 AND cause = $2 AND fence = $3 AND leased_until > 0`,
			l.Account, string(l.Cause), l.Fence, o.NextAt.UnixMicro(), o.Words)
		if err != nil || n == 0 {
			return err
		}
		done = true
		if !o.Done {
			return nil
		}
		for i := range l.Facts {
			if _, err := t.Exec(`UPDATE notify_facts SET mail = $3 WHERE account = $1 AND id = $2`, l.Account, l.Facts[i].ID(), false); err != nil {
				return err
			}
		}
		_, err = t.Exec(`UPDATE notify_mails SET attempts = 0, waiting = EXISTS (SELECT 1 FROM notify_facts f WHERE f.account = $1 AND f.cause = $2 AND f.mail AND f.gone_at = 0)
			WHERE account = $1 AND cause = $2`, l.Account, string(l.Cause))
		return err
	})
	return done && err == nil, err
}
