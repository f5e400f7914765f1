package pagedb

import (
	"context"
	"time"

	"weir/internal/audit"
	"weir/internal/chat"
	"weir/internal/store/auditdb"
	"weir/internal/store/sqldb"
)

// chats are read without their content but where one is opened.
var chats = sqldb.Map[chat.Chat, struct {
	User                            string `db:"user_id"`
	ID, Title                       string
	Size                            int64
	CreatedAt, UpdatedAt, ExpiresAt time.Time
}]("chats")

// ListChats is chat.Store.ListChats.
func (s *Pages) ListChats(ctx context.Context, user string, now time.Time) ([]chat.Chat, error) {
	return chats.List(ctx, s.db, "store.ListChats", `WHERE user_id = $1 AND expires_at > $2 ORDER BY updated_at DESC, id`, user, now.UnixMicro())
}

// Chat is chat.Store.Chat.
func (s *Pages) Chat(ctx context.Context, user, id string, now time.Time) (*chat.Chat, error) {
	var c chat.Chat
	err := s.db.Find(ctx, func(row sqldb.Scanner) (err error) {
		var content []byte
		c, err = chats.ScanWith(row, &content)
		c.Content = content
		return err
	}, `SELECT `+chats.Names+`, content FROM chats WHERE user_id = $1 AND id = $2 AND expires_at > $3`, user, id, now.UnixMicro())
	if err != nil {
		return nil, sqldb.NoneOf("store.Chat", "chat", err)
	}
	return &c, nil
}

// KeepChat is chat.Store.KeepChat. The user's row is locked, so that chats are counted one after another. A power cut may take the newest with
// it: the browser has it, too, and sends it again with the next change.
func (s *Pages) KeepChat(ctx context.Context, c chat.Chat, b chat.Bounds) (kept chat.Chat, err error) {
	const op = "store.KeepChat"
	err = s.db.WriteLazily(ctx, func(t *sqldb.Tx) error {
		if err := t.KnownUser(c.User); err != nil {
			return sqldb.NoUser(op, err)
		}
		if _, err := chats.Put(t, &c, `ON CONFLICT (user_id, id) DO UPDATE SET content = excluded.content,
			created_at = CASE WHEN chats.expires_at > excluded.updated_at THEN chats.created_at ELSE excluded.created_at END, `+chats.Excluded("user_id", "id", "created_at"),
			"content", sqldb.NotNil(c.Content)); err != nil {
			return err
		}
		if err := boundChats(t, &c, b); err != nil {
			return err
		}
		kept, err = chats.Row(t, `WHERE user_id = $1 AND id = $2`, c.User, c.ID)
		return err
	})
	return kept, err
}

// boundChats deletes what a user keeps beyond b, apart from the chat c: first what has expired, then what was changed least lately.
func boundChats(t *sqldb.Tx, c *chat.Chat, b chat.Bounds) error {
	_, err := t.Exec(`DELETE FROM chats WHERE user_id = $1 AND id <> $2 AND expires_at <= $3`, c.User, c.ID, c.UpdatedAt.UnixMicro())
	if err != nil {
		return err
	}
	_, err = t.Exec(`DELETE FROM chats WHERE user_id = $1 AND id IN (
			SELECT id FROM (
				SELECT id, COUNT(*) OVER newest AS n, SUM(size) OVER newest AS bytes FROM chats WHERE user_id = $1 AND id <> $2
				WINDOW newest AS (ORDER BY updated_at DESC, id ROWS UNBOUNDED PRECEDING)
			) AS ranked WHERE n > $3 OR bytes > $4)`,
		c.User, c.ID, b.Chats-1, b.Bytes-c.Size)
	return err
}

// DeleteChat is chat.Store.DeleteChat.
func (s *Pages) DeleteChat(ctx context.Context, user, id string) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		return sqldb.NoneOf("store.DeleteChat", "chat", t.One(`DELETE FROM chats WHERE user_id = $1 AND id = $2`, user, id))
	})
}

// DeleteChats is chat.Store.DeleteChats.
func (s *Pages) DeleteChats(ctx context.Context, user string, now time.Time, e audit.Event) (gone int, err error) {
	err = auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) error {
		n, err := t.Exec(`DELETE FROM chats WHERE user_id = $1`, user)
		gone = int(n)
		if err != nil {
			return err
		}
		return nil
	})
	return gone, err
}

// ShortenChats is chat.Store.ShortenChats.
func (s *Pages) ShortenChats(ctx context.Context, user string, keepFor time.Duration) error {
	_, err := s.db.Exec(ctx, `UPDATE chats SET expires_at = updated_at + $1 WHERE user_id = $2 AND expires_at > updated_at + $1`, keepFor.Microseconds(), user)
	return err
}

// SweepChats is chat.Store.SweepChats.
func (s *Pages) SweepChats(ctx context.Context, now time.Time, n int) (gone int, err error) {
	changed, err := s.db.Exec(ctx, `DELETE FROM chats WHERE (user_id, id) IN (SELECT user_id, id FROM chats WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)`, now.UnixMicro(), n)
	return int(changed), err
}
