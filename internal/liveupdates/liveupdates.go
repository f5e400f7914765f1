// Package liveupdates notifies the followers of an account of its changes. It asks a source again and again, once for all followers of
// an account and for one account after another, so that followers add no work to calls. It must not know what topics are about.
package liveupdates

import (
	"context"
	"errors"
	"sync"
	"time"

	"weir/internal/apikey"
	"weir/internal/limit"
	"weir/internal/loop"
)

// Topic is what can be followed of an account.
type Topic string

// Account is whose topics they are, and which part of them somebody sees.
type Account struct {
	User, Wallet string
	Sees         apikey.Sight
}

// follower is the name by which followers are bounded: in an organization, each who sees a part of it has the bound of a user.
func (a Account) follower() string { return a.User + a.Sees.Member }

// Mark is what a topic is like at a time.
type Mark struct {
	Sum  uint64 // another one when the topic has changed, and the same on all nodes
	Data []byte // what followers get
}

// Source reads a topic. It is called by one goroutine at a time for rounds, and by those that begin to follow.
type Source func(ctx context.Context, a Account, t Topic) (Mark, error)

// Config bounds followers and their cost.
type Config struct {
	Every  time.Duration // pause between two rounds
	Within time.Duration // longest time for reading one topic
	All    int64         // followers at one time
	Each   int64         // of them, of one user
}

// Errors of Follow and Next.
var (
	ErrUser   = errors.New("watch: the user has as many followers as one may have")
	ErrFull   = errors.New("watch: there are as many followers as there may be")
	ErrClosed = errors.New("watch: closed")
)

// Watcher reads what is followed. It is safe for concurrent use.
type Watcher struct {
	source Source
	cfg    Config
	budget *limit.Budget
	rounds *loop.Loop
	closed chan struct{}

	mu       sync.Mutex
	accounts map[Account]*watched
}

// watched is an account with followers.
type watched struct {
	marks     map[Topic]Mark
	followers map[*Follower]struct{}
}

// Follower is one who follows topics. Next and Close are for one goroutine.
type Follower struct {
	w       *Watcher
	account Account
	topics  []Topic
	changed chan struct{}    // one is waiting; more would say nothing else
	seen    map[Topic]uint64 // guarded by Watcher.mu, as all that follows
}

// Change is a topic that is no longer as its follower has seen it.
type Change struct {
	Topic
	Mark
}

// New makes a Watcher. Its rounds begin with the first follower.
func New(s Source, c Config) *Watcher {
	w := &Watcher{source: s, cfg: c, budget: limit.NewBudget(c.All, c.Each), closed: make(chan struct{}), accounts: map[Account]*watched{}}
	w.rounds = loop.New(loop.UntilWoken, w.round)
	return w
}

// Close ends all followers, and the rounds. Following fails afterwards.
func (w *Watcher) Close() {
	w.mu.Lock()
	select {
	case <-w.closed:
	default:
		close(w.closed)
	}
	w.mu.Unlock()
	w.rounds.Stop()
}

// Followers counts them.
func (w *Watcher) Followers() int64 { return w.budget.Used() }

// Follow begins to follow topics. seen is what a follower has seen before, by topic: those that differ now, or are not in it, are changes
// already; nil means that nothing is one yet. It returns the present marks, and fails with ErrUser, ErrFull, ErrClosed or the error of the source.
func (w *Watcher) Follow(ctx context.Context, a Account, topics []Topic, seen map[Topic]uint64) (*Follower, []Change, error) {
	switch w.budget.Take(a.follower(), 1) {
	case limit.OfName:
		return nil, nil, ErrUser
	case limit.OfAll:
		return nil, nil, ErrFull
	case limit.None:
	}
	f := &Follower{w: w, account: a, topics: topics, changed: make(chan struct{}, 1), seen: map[Topic]uint64{}}
	now := make([]Change, 0, len(topics))
	for _, t := range topics {
		m, err := w.read(ctx, a, t)
		if err != nil {
			w.budget.Give(a.follower(), 1)
			return nil, nil, err
		}
		now = append(now, Change{t, m})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.closed:
		w.budget.Give(a.follower(), 1)
		return nil, nil, ErrClosed
	default:
	}
	at := w.accounts[a]
	if at == nil {
		at = &watched{marks: map[Topic]Mark{}, followers: map[*Follower]struct{}{}}
		w.accounts[a] = at
	}
	at.followers[f] = struct{}{}
	for _, c := range now {
		at.marks[c.Topic] = c.Mark
		before, known := seen[c.Topic]
		switch {
		case seen == nil:
			f.seen[c.Topic] = c.Sum
		case known:
			f.seen[c.Topic] = before
		}
	}
	f.changed <- struct{}{} // it gets at once what it has missed
	w.rounds.Start()
	w.rounds.Wake()
	return f, now, nil
}

// Close ends a follower.
func (f *Follower) Close() {
	w := f.w
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.accounts[f.account]
	if at == nil {
		return
	}
	if _, ours := at.followers[f]; !ours {
		return
	}
	delete(at.followers, f)
	if len(at.followers) == 0 {
		delete(w.accounts, f.account)
	}
	w.budget.Give(f.account.follower(), 1)
}

// Seen is the sum of a topic as the follower got it last.
func (f *Follower) Seen(t Topic) (sum uint64, known bool) {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	sum, known = f.seen[t]
	return sum, known
}

// Next waits until topics have changed, and returns them in the follower's order. However slow a follower is, it misses none: what changed
// several times meanwhile is one change. It fails with ErrClosed, and when ctx ends.
func (f *Follower) Next(ctx context.Context) ([]Change, error) {
	for {
		select {
		case <-f.changed:
		case <-f.w.closed:
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if all := f.take(); all != nil {
			return all, nil
		}
	}
}

// take returns the changes, and counts them as seen.
func (f *Follower) take() (all []Change) {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	at := f.w.accounts[f.account]
	if at == nil {
		return nil
	}
	for _, t := range f.topics {
		m, read := at.marks[t]
		if sum, known := f.seen[t]; read && (!known || sum != m.Sum) {
			f.seen[t] = m.Sum
			all = append(all, Change{t, m})
		}
	}
	return all
}

func (w *Watcher) read(ctx context.Context, a Account, t Topic) (Mark, error) {
	short, cancel := context.WithTimeout(ctx, w.cfg.Within)
	defer cancel()
	return w.source(short, a, t)
}

// round reads all that is followed. What cannot be read stays as it was until a later round.
func (w *Watcher) round(ctx context.Context) time.Duration {
	w.mu.Lock()
	list := make([]Account, 0, len(w.accounts))
	for a := range w.accounts {
		list = append(list, a)
	}
	w.mu.Unlock()
	if len(list) == 0 {
		return loop.UntilWoken
	}
	for _, a := range list {
		for _, t := range w.followed(a) {
			m, err := w.read(ctx, a, t)
			if ctx.Err() != nil {
				return w.cfg.Every
			}
			if err == nil {
				w.set(a, t, m)
			}
		}
	}
	return w.cfg.Every
}

// followed are the topics of an account that somebody follows.
func (w *Watcher) followed(a Account) (all []Topic) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.accounts[a]
	if at == nil {
		return nil
	}
	known := map[Topic]bool{}
	for f := range at.followers {
		for _, t := range f.topics {
			if !known[t] {
				known[t] = true
				all = append(all, t)
			}
		}
	}
	return all
}

func (w *Watcher) set(a Account, t Topic, m Mark) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.accounts[a]
	if at == nil {
		return
	}
	if before, known := at.marks[t]; known && before.Sum == m.Sum {
		return
	}
	at.marks[t] = m
	for f := range at.followers {
		select {
		case f.changed <- struct{}{}:
		default:
		}
	}
}
