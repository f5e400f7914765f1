// Package invalidate hears from the store that something has changed which nodes remember, so that they look again at once and not at their next
// round. A hint says where to look, never what is there: a forged, repeated or lost one changes no decision. It must not be relied upon:
// every cache also looks again by the clock.
package invalidate

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"weir/internal/loop"
)

// Topic is what has changed.
type Topic string

// The topics.
const (
	Keys         Topic = "keys"          // API keys of a user, and the user's own state
	Presets      Topic = "presets"       // of a user
	ProviderKeys Topic = "provider_keys" // of a user
	Budgets      Topic = "budgets"       // of an account
	Catalog      Topic = "catalog"       // of all: it has no user
	Stops        Topic = "stops"         // calls of a key are to end; it has no user
)

// Topics lists all of them.
func Topics() []Topic { return []Topic{Keys, Presets, ProviderKeys, Budgets, Catalog, Stops} }

// Hint says where to look again.
type Hint struct {
	Topic Topic
	User  string // "": at all users
}

// maxUser bounds the id of a user in a hint. Ours are shorter.
const maxUser = 64

// String is a hint as stores pass it on.
func (h Hint) String() string {
	if h.User == "" {
		return string(h.Topic)
	}
	return string(h.Topic) + " " + h.User
}

// Parse reads what String wrote. ok is false for topics that this version does not know. A user that cannot be one means all users.
func Parse(note string) (h Hint, ok bool) {
	topic, user, _ := strings.Cut(note, " ")
	for _, t := range Topics() {
		if topic != string(t) {
			continue
		}
		if len(user) > maxUser || strings.ContainsFunc(user, func(r rune) bool { return r <= ' ' || r > '~' }) {
			user = ""
		}
		return Hint{t, user}, true
	}
	return Hint{}, false
}

// Source is a store that passes hints on.
type Source interface {
	// Listen calls joined once it hears everything that is committed from then on, and heard with each note, until ctx ends or the connection
	// is lost. It fails with errors.ErrUnsupported when the store sends no hints.
	Listen(ctx context.Context, joined func(), heard func(note string)) error
}

// Config is how a Hearer works.
type Config struct {
	Pause time.Duration    // between two acts, however many hints arrive meanwhile
	First time.Duration    // pause before the connection is made again; doubled at each failure
	Most  time.Duration    // the longest such pause; a connection that lasted longer makes the next pause First
	Now   func() time.Time // reads the clock
	Rand  func() float64   // in [0, 1), so that nodes do not return at one moment
	Log   *slog.Logger
}

// manyUsers is the number of users of one topic from which on a Hearer looks at all of them: it bounds what is waiting.
const manyUsers = 1000

// Users are whose things to look at again.
type Users struct {
	All bool
	ids map[string]bool
}

// Has reports whether a user is among them.
func (u Users) Has(id string) bool { return u.All || u.ids[id] }

// Hearer listens, collects hints, and has its node act on them. It is safe for concurrent use.
type Hearer struct {
	source Source
	cfg    Config
	act    func(Topic, Users)

	listens, acts *loop.Loop
	pause         time.Duration // before the next connection
	lost          bool          // whether that has been logged

	mu      sync.Mutex
	waiting map[Topic]*Users
}

// New makes a Hearer. act is called by one goroutine at a time, at most once in Config.Pause for each topic; for all topics and users whenever
// a connection was made, because what happened before it was not heard.
func New(s Source, c Config, act func(Topic, Users)) *Hearer {
	h := &Hearer{source: s, cfg: c, act: act, pause: c.First, waiting: map[Topic]*Users{}}
	h.listens = loop.New(0, h.listen)
	h.acts = loop.New(loop.UntilWoken, h.round)
	return h
}

// Start begins to listen.
func (h *Hearer) Start() {
	h.acts.Start()
	h.listens.Start()
}

// Stop ends it.
func (h *Hearer) Stop() {
	h.listens.Stop()
	h.acts.Stop()
}

// listen holds one connection for as long as it lasts, and returns the pause before the next.
func (h *Hearer) listen(ctx context.Context) time.Duration {
	began := h.cfg.Now()
	err := h.source.Listen(ctx, h.joined, h.heard)
	switch {
	case ctx.Err() != nil || errors.Is(err, errors.ErrUnsupported):
		return loop.UntilWoken
	case h.cfg.Now().Sub(began) > h.cfg.Most:
		h.pause = h.cfg.First
	}
	if !h.lost {
		h.lost = true
		h.cfg.Log.Warn("the database sends no changes at present: this node looks for them by the clock, which takes a few seconds longer", "error", err)
	}
	pause := h.pause
	h.pause = min(2*pause, h.cfg.Most)
	return pause/2 + time.Duration(h.cfg.Rand()*float64(pause))
}

func (h *Hearer) joined() {
	if h.lost {
		h.lost = false
		h.cfg.Log.Info("the database sends changes again")
	}
	for _, t := range Topics() {
		h.add(Hint{Topic: t})
	}
}

func (h *Hearer) heard(note string) {
	if one, ok := Parse(note); ok {
		h.add(one)
	}
}

func (h *Hearer) add(one Hint) {
	h.mu.Lock()
	u := h.waiting[one.Topic]
	if u == nil {
		u = &Users{}
		h.waiting[one.Topic] = u
	}
	switch {
	case u.All:
	case one.User == "" || len(u.ids) >= manyUsers:
		*u = Users{All: true}
	case u.ids == nil:
		u.ids = map[string]bool{one.User: true}
	default:
		u.ids[one.User] = true
	}
	h.mu.Unlock()
	h.acts.Wake()
}

// round acts on what is waiting. It lasts for the pause, so that the next round, which may have been woken already, begins after that.
func (h *Hearer) round(ctx context.Context) time.Duration {
	h.mu.Lock()
	waiting := h.waiting
	h.waiting = map[Topic]*Users{}
	h.mu.Unlock()
	for _, t := range Topics() {
		if u := waiting[t]; u != nil {
			h.act(t, *u)
		}
	}
	_ = loop.Wait(ctx, h.cfg.Pause)
	return loop.UntilWoken
}
