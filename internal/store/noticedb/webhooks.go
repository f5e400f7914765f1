package noticedb

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/store/auditdb"
	"weir/internal/store/sqldb"
	"weir/internal/webhook"
)

var deliveries = sqldb.Map[webhook.Delivery, struct {
	ID, Account, URL, Event string
	Payload                 []byte
	CreatedAt, NextAt       time.Time
	Attempts                int
	Fence                   int64
}]("webhook_deliveries")

var secrets = sqldb.Map[webhook.Sealed, struct {
	Account       string
	Current       []byte `db:"secret"`
	Previous      []byte `db:",null"`
	PreviousUntil time.Time
	ChangedAt     time.Time `db:"updated_at"`
}]("webhook_secrets")

// InsertDelivery puts an event into the outbox, in the transaction of the reported change. An event that is there already stays
// unchanged.
func InsertDelivery(t *sqldb.Tx, d webhook.Delivery) error {
	_, err := deliveries.Put(t, &d, `ON CONFLICT (id) DO NOTHING`)
	return err
}

// AddDelivery is insertDelivery for an event without a change in the store.
func (s *Notices) AddDelivery(ctx context.Context, d webhook.Delivery) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error { return InsertDelivery(t, d) })
}

const isDue = `state = 'pending' AND next_at <= $1 AND leased_until <= $1`

// ClaimDeliveries is webhook.Outbox.ClaimDeliveries. Two nodes that find the same row due meet at its lock, and the second leaves it.
func (s *Notices) ClaimDeliveries(ctx context.Context, now, until time.Time, perAccount, n int) (all []webhook.Delivery, err error) {
	var some bool // asked first, because most of the time nothing is due and no transaction is needed
	err = s.db.Read(ctx, &some, `SELECT EXISTS (SELECT 1 FROM webhook_deliveries WHERE `+isDue+`)`, now.UnixMicro())
	if err != nil || !some {
		return nil, sqldb.Failure("store.ClaimDeliveries", err)
	}
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		all, err = sqldb.All(t, deliveries.Scan, `WITH due AS (SELECT id, account, next_at, ROW_NUMBER() OVER (PARTITION BY account ORDER BY next_at, id) AS place
				FROM webhook_deliveries WHERE `+isDue+`),
			placed AS (SELECT id, next_at, place +
				(SELECT COUNT(*) FROM webhook_deliveries h WHERE h.account = due.account AND h.state = 'pending' AND h.leased_until > $1) AS place
				FROM due WHERE place <= $3)
			UPDATE webhook_deliveries SET leased_until = $2, attempts = attempts + 1, fence = fence + 1
			WHERE `+isDue+` AND id IN (SELECT id FROM placed WHERE place <= $3 ORDER BY next_at, id LIMIT $4)
			RETURNING `+deliveries.Names,
			now.UnixMicro(), until.UnixMicro(), perAccount, n)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b webhook.Delivery) int { return a.NextAt.Compare(b.NextAt) })
	return all, nil
}

// EndDelivery is webhook.Outbox.EndDelivery.
func (s *Notices) EndDelivery(ctx context.Context, id string, fence int64, o webhook.Outcome) (done bool, err error) {
	var ended sql.NullInt64
	if o.State != webhook.Pending {
		ended = sqldb.Micros(o.At)
		o.NextAt = o.At
	}
	changed, err := s.db.Exec(ctx, `UPDATE webhook_deliveries SET state = $1, next_at = $2, leased_until = 0, last_status = $3, last_error = $4, ended_at = $5
		WHERE id = $6 AND fence = $7 AND state = 'pending'`, string(o.State), o.NextAt.UnixMicro(), o.Status, o.Error, ended, id, fence)
	return changed == 1, err
}

// SweepDeliveries is webhook.Outbox.SweepDeliveries.
func (s *Notices) SweepDeliveries(ctx context.Context, before time.Time, n int) (gone int, err error) {
	changed, err := s.db.Exec(ctx, `DELETE FROM webhook_deliveries WHERE id IN (SELECT id FROM webhook_deliveries WHERE ended_at < $1 ORDER BY ended_at LIMIT $2)`,
		before.UnixMicro(), n)
	return int(changed), err
}

// WebhookSecret is webhook.SecretStore.WebhookSecret.
func (s *Notices) WebhookSecret(ctx context.Context, account string) (w webhook.Sealed, err error) {
	w, err = secrets.Find(ctx, s.db, `WHERE account = $1`, account)
	return w, noSecret("store.WebhookSecret", err)
}

func noSecret(op string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fault.New(fault.NotFound, op, "This account has no webhook secret yet.").Because(err)
	}
	return sqldb.Failure(op, err)
}

// WebhookSecrets is webhook.SecretStore.WebhookSecrets.
func (s *Notices) WebhookSecrets(ctx context.Context) ([]webhook.Sealed, error) {
	return secrets.List(ctx, s.db, "store.WebhookSecrets", `ORDER BY account`)
}

// InsertWebhookSecret is webhook.SecretStore.InsertWebhookSecret.
func (s *Notices) InsertWebhookSecret(ctx context.Context, account string, current []byte, now time.Time) error {
	_, err := s.db.Exec(ctx, `INSERT INTO webhook_secrets (account, secret, created_at, updated_at) VALUES ($1, $2, $3, $3) ON CONFLICT (account) DO NOTHING`,
		account, current, now.UnixMicro())
	return err
}

// RotateWebhookSecret is webhook.SecretStore.RotateWebhookSecret.
func (s *Notices) RotateWebhookSecret(ctx context.Context, account string, current []byte, until, now time.Time, e audit.Event) error {
	return auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) error {
		_, err := t.Exec(`INSERT INTO webhook_secrets AS w (account, secret, created_at, updated_at) VALUES ($1, $2, $3, $3)
			ON CONFLICT (account) DO UPDATE SET previous = w.secret, previous_until = $4, secret = excluded.secret, updated_at = excluded.updated_at`,
			account, current, now.UnixMicro(), until.UnixMicro())
		return err
	})
}

// RewrapWebhookSecret is webhook.SecretStore.RewrapWebhookSecret.
func (s *Notices) RewrapWebhookSecret(ctx context.Context, from, to webhook.Sealed) (done bool, err error) {
	changed, err := s.db.Exec(ctx, `UPDATE webhook_secrets SET secret = $1, previous = $2 WHERE account = $3 AND secret = $4`, to.Current, to.Previous, from.Account, from.Current)
	return changed == 1, err
}
