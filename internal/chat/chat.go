// Package chat keeps chats of the playground for accounts that have switched that on. A chat is a title and a JSON object that this package
// bounds and does not read. It is shown to its account alone.
package chat

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/loop"
	"weir/internal/usertext"
)

// MaxContent is how long one chat may be, in bytes.
const MaxContent = 1 << 20

const (
	maxTitle = 200 // characters
	minID    = 8
	maxID    = 40
)

// Bounds are limits on what one account keeps. When a chat is kept beyond either, the chats that were changed least lately are deleted.
type Bounds struct {
	Chats int
	Bytes int64 // of contents
}

// DefaultBounds are those of a Config without Bounds.
var DefaultBounds = Bounds{Chats: 100, Bytes: 16 << 20}

// Chat is one kept chat.
type Chat struct {
	User      string // "usr_...": whose it is; a part of its key
	ID        string // chosen by the client: 8 to 40 lower-case Latin letters and digits
	Title     string // one line
	Size      int64  // of Content, in bytes
	Content   []byte // a JSON object, checked by who read it; nil in lists
	CreatedAt time.Time
	UpdatedAt time.Time
	ExpiresAt time.Time
}

// Stock is what one account keeps.
type Stock struct{ Chats, Bytes int64 }

// Store keeps chats. It does not find those that have expired at now, or those of another user (fault.NotFound).
type Store interface {
	// ListChats lists a user's chats without their contents, the one that was changed last first.
	ListChats(ctx context.Context, user string, now time.Time) ([]Chat, error)
	Chat(ctx context.Context, user, id string, now time.Time) (*Chat, error)
	// KeepChat writes c, whose CreatedAt holds only for a new one, and deletes others of its user beyond b. It returns c as it is kept.
	KeepChat(ctx context.Context, c Chat, b Bounds) (Chat, error)
	DeleteChat(ctx context.Context, user, id string) error
	// DeleteChats deletes all chats of a user, records e, and reports how many there were.
	DeleteChats(ctx context.Context, user string, now time.Time, e audit.Event) (int, error)
	// ShortenChats has the chats of a user expire keepFor after their last change, unless they do so earlier.
	ShortenChats(ctx context.Context, user string, keepFor time.Duration) error
	// SweepChats deletes at most n that expired before now, and reports how many.
	SweepChats(ctx context.Context, now time.Time, n int) (int, error)
}

// Config of a Manager. Now must be set.
type Config struct {
	Now     func() time.Time
	KeepFor time.Duration // after the last change; 0: nothing is kept
	Bounds  Bounds        // zero: DefaultBounds
}

// Manager keeps and finds chats. It is safe for concurrent use.
type Manager struct {
	store Store
	cfg   Config
}

// NewManager makes a Manager over a store.
func NewManager(s Store, c Config) *Manager {
	if c.Bounds == (Bounds{}) {
		c.Bounds = DefaultBounds
	}
	return &Manager{store: s, cfg: c}
}

// Keeps reports whether the gateway keeps chats at all.
func (m *Manager) Keeps() bool { return m.cfg.KeepFor > 0 }

// Bounds are the limits of one account.
func (m *Manager) Bounds() Bounds { return m.cfg.Bounds }

// List lists a user's chats without their contents, the one that was changed last first.
func (m *Manager) List(ctx context.Context, user string) ([]Chat, error) {
	return m.store.ListChats(ctx, user, m.cfg.Now())
}

// Stock reports what a user keeps.
func (m *Manager) Stock(ctx context.Context, user string) (s Stock, err error) {
	all, err := m.List(ctx, user)
	for i := range all {
		s.Chats++
		s.Bytes += all[i].Size
	}
	return s, err
}

// Find gives a chat with its content; it fails with fault.NotFound.
func (m *Manager) Find(ctx context.Context, user, id string) (*Chat, error) {
	if !goodID(id) {
		return nil, fault.New(fault.NotFound, "chat.Find", "There is no such chat.")
	}
	return m.store.Chat(ctx, user, id, m.cfg.Now())
}

// Keep keeps c's user, id, title and content, in place of what it had before. days is how long its account wants chats kept; 0: as long as
// the gateway keeps them. It fails with fault.Invalid, and with fault.PermissionDenied where the gateway keeps nothing.
func (m *Manager) Keep(ctx context.Context, c Chat, days int64) (Chat, error) {
	const op = "chat.Keep"
	if m.cfg.KeepFor <= 0 {
		return Chat{}, fault.New(fault.PermissionDenied, op, "This gateway keeps no chats.")
	}
	if err := c.check(); err != nil {
		return Chat{}, err
	}
	keepFor := m.cfg.KeepFor
	if wish := time.Duration(days) * 24 * time.Hour; days > 0 && wish < keepFor {
		keepFor = wish
	}
	c.Size = int64(len(c.Content))
	c.UpdatedAt = m.cfg.Now().UTC().Truncate(time.Microsecond)
	c.CreatedAt, c.ExpiresAt = c.UpdatedAt, c.UpdatedAt.Add(keepFor)
	return m.store.KeepChat(ctx, c, m.cfg.Bounds)
}

func (c *Chat) check() error {
	const op = "chat.Keep"
	if !goodID(c.ID) {
		return fault.Field(op, "id", "The id of a chat is %d to %d lower-case Latin letters and digits.", minID, maxID).Coded("chat_id", "least", minID, "most", maxID)
	}
	c.Title = strings.TrimSpace(c.Title)
	if n := utf8.RuneCountInString(c.Title); n == 0 || n > maxTitle || !usertext.Is(c.Title) {
		return fault.Field(op, "title", "title must be one line of 1 to %d characters.", maxTitle).Coded("title", "most", maxTitle)
	}
	if len(c.Content) > MaxContent {
		return fault.Field(op, "content", "content must have at most %d bytes.", MaxContent).Coded("chat_bytes", "most", MaxContent)
	}
	return nil
}

func goodID(id string) bool {
	return len(id) >= minID && len(id) <= maxID && !strings.ContainsFunc(id, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
}

// Delete deletes a chat; it fails with fault.NotFound.
func (m *Manager) Delete(ctx context.Context, user, id string) error {
	return m.store.DeleteChat(ctx, user, id)
}

// DeleteAll deletes all chats of a user, and reports how many there were.
func (m *Manager) DeleteAll(ctx context.Context, user string, by audit.Actor) (int, error) {
	return m.store.DeleteChats(ctx, user, m.cfg.Now(), audit.Event{Actor: by, Action: audit.ChatsGone, Target: user})
}

// Shorten has the chats of a user expire keepFor after their last change at the latest.
func (m *Manager) Shorten(ctx context.Context, user string, keepFor time.Duration) error {
	return m.store.ShortenChats(ctx, user, keepFor)
}

const (
	sweepAtOnce = 200
	sweepFor    = 5 * time.Second // of one question to the store
)

// Sweep deletes chats that have expired.
func (m *Manager) Sweep(ctx context.Context) error {
	return loop.Sweep(ctx, sweepFor, sweepAtOnce, func(ctx context.Context, most int) (int, error) {
		return m.store.SweepChats(ctx, m.cfg.Now(), most)
	})
}
