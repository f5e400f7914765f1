// Package idempotency lets a client repeat a named request and get the first answer again instead of a second one with a second charge.
// It must not depend on HTTP or on the content of an answer, and must never let one name be charged for two whole answers.
package idempotency

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/limit"
	"weir/internal/loop"
)

// MaxName is the longest name, in bytes.
const MaxName = 255

// CheckName fails with fault.Invalid for a name that is not 1 to MaxName printable ASCII characters.
func CheckName(name string) error {
	ok := name != "" && len(name) <= MaxName
	for i := range len(name) {
		ok = ok && name[i] >= ' ' && name[i] <= '~'
	}
	if !ok {
		return fault.Field("idempotency.CheckName", "Idempotency-Key", "Idempotency-Key must have 1 to %d printable ASCII characters.", MaxName)
	}
	return nil
}

// Hash distinguishes requests: by method, route and body.
func Hash(method, route string, body []byte) string {
	h := sha256.New()
	_, _ = h.Write([]byte(method + "\x00" + route + "\x00"))
	_, _ = h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

// Answer is a whole answer as the client got it. With the zero Status, the request was charged but its text is no longer stored.
type Answer struct {
	Status int
	Type   string // content type; of an answer without a text, withheld or ""
	Body   []byte
}

// withheld replaces the content type of an answer that must not be stored.
const withheld = "withheld"

// Entry is the stored record of one name. While Finished is false the first request is running.
type Entry struct {
	User       string // "usr_...": names of different users are different
	Name       string
	Hash       string // see Hash
	Generation string // of the first request: distinguishes its entry from a later one's of the same name
	Owner      string // node and life that carry the first request
	CreatedAt  time.Time
	StaleAt    time.Time // until then another node lets an unfinished entry be
	ExpiresAt  time.Time
	Finished   bool
	Answer     Answer
}

// Bounds are limits on what one user may have stored. Beyond either, Begin deletes the oldest tenth of the user's finished entries.
type Bounds struct {
	Entries int   `constant:"max_answers_per_user"`
	Bytes   int64 `yaml:"max_bytes_per_user" as:"size"` // of answers
}

// Store keeps entries. Every method is one transaction.
type Store interface {
	// BeginIdempotent writes e, which is not finished, unless its user has an entry of that name whose ExpiresAt is after e.CreatedAt:
	// then it returns that entry and changes nothing. Of any number of concurrent calls, on any number of nodes, one writes.
	BeginIdempotent(ctx context.Context, e Entry, b Bounds) (*Entry, error)
	// FinishIdempotent keeps the answer of the run that Generation names, unless another run has the name by now or it has finished.
	// It reports whether it did.
	FinishIdempotent(ctx context.Context, user, name, generation string, a Answer) (bool, error)
	// DropIdempotent deletes the entry of an unfinished run; without one it does nothing.
	DropIdempotent(ctx context.Context, user, name, generation string) error
	// SweepIdempotent forgets at most n entries that expired before now, and reports how many it did.
	SweepIdempotent(ctx context.Context, now time.Time, n int) (int, error)
}

// Config of a Manager. It begins with Default; Node, Life and Settled must be set.
type Config struct {
	Now  func() time.Time
	Node string // this node's identity
	Life string // differs with every start of it
	// Settled reports whether a generation was charged, as far as the store and this node's journal show.
	Settled func(ctx context.Context, wallet, generation string) (bool, error)

	KeepFor    time.Duration `yaml:"keep_for"`
	RunFor     time.Duration // longer than any request takes
	MaxBytes   int           `constant:"max_answer_bytes" as:"size"` // of one answer
	Bounds     Bounds        `yaml:",inline"`
	StoreFor   time.Duration // how long one question to the store may take
	SweepEvery time.Duration
	// Report is called with errors that have no waiting caller.
	Report func(what string, err error)
}

// Default is a Config with usual values.
func Default(now func() time.Time) Config {
	return Config{
		Now: now, KeepFor: 24 * time.Hour, RunFor: 35 * time.Minute, MaxBytes: 4 << 20, Bounds: Bounds{Entries: 10_000, Bytes: 256 << 20},
		StoreFor: 5 * time.Second, SweepEvery: 5 * time.Minute, Report: func(string, error) {},
	}
}

// Manager handles named requests. It is safe for concurrent use.
type Manager struct {
	store Store
	cfg   Config
	owner string

	sweeps *loop.Loop
}

// New makes a Manager.
func New(s Store, c Config) *Manager {
	m := &Manager{store: s, cfg: c, owner: c.Node + "/" + c.Life}
	m.sweeps = loop.Every(m.cfg.SweepEvery, func(ctx context.Context) {
		if err := m.Sweep(ctx); err != nil && ctx.Err() == nil {
			m.cfg.Report("expired answers could not be deleted", err)
		}
	})
	return m
}

// Request is a request that its client has named.
type Request struct {
	User       string
	Wallet     string
	Name       string
	Hash       string
	Generation string // of the answer, if it comes to one
}

// Begin claims a name. It returns a Run for the first request, which must end it; or the entry of a finished one, whose answer must be
// sent again. It fails with fault.IdempotencyInFlight while the first is running, with fault.IdempotencyMismatch when it was another
// request, with fault.IdempotencyNotKept when it was charged but its answer is no longer stored, and with fault.StorageUnavailable.
func (m *Manager) Begin(ctx context.Context, r Request) (*Run, *Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, m.cfg.StoreFor)
	defer cancel()
	now := m.cfg.Now()
	mine := Entry{User: r.User, Name: r.Name, Hash: r.Hash, Generation: r.Generation, Owner: m.owner, CreatedAt: now, StaleAt: now.Add(m.cfg.RunFor),
		ExpiresAt: now.Add(m.cfg.KeepFor)}
	for range 2 { // the second time without the stale entry that the first found
		found, err := m.store.BeginIdempotent(ctx, mine, m.cfg.Bounds)
		if err != nil {
			return nil, nil, err
		}
		if found == nil {
			return &Run{m: m, user: r.User, name: r.Name, generation: r.Generation}, nil, nil
		}
		switch {
		case found.Hash != r.Hash:
			return nil, nil, fault.New(fault.IdempotencyMismatch, "idempotency.Begin", "This Idempotency-Key was used with another request body. Use another key.")
		case found.Finished && found.Answer.Status != 0:
			return nil, found, nil
		case found.Finished:
			return nil, nil, lost(found)
		case !m.stale(found, now):
			return nil, nil, inFlight()
		}
		if err := m.clear(ctx, r.Wallet, found); err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, inFlight() // somebody else was quicker
}

// stale reports whether an unfinished entry has no owner any more: it is of an earlier life of this node, or was begun too long ago.
func (m *Manager) stale(e *Entry, now time.Time) bool {
	return !now.Before(e.StaleAt) || e.Owner != m.owner && strings.HasPrefix(e.Owner, m.cfg.Node+"/")
}

// clear ends the entry of a request that died with its node: the name is free again, unless the request was charged.
func (m *Manager) clear(ctx context.Context, wallet string, e *Entry) error {
	charged, err := m.cfg.Settled(ctx, wallet, e.Generation)
	if err != nil {
		return err
	}
	if !charged {
		return m.store.DropIdempotent(ctx, e.User, e.Name, e.Generation)
	}
	if _, err := m.store.FinishIdempotent(ctx, e.User, e.Name, e.Generation, Answer{}); err != nil {
		return err
	}
	return lost(e)
}

func inFlight() error {
	e := fault.New(fault.IdempotencyInFlight, "idempotency.Begin", "The first request with this Idempotency-Key is still running. Wait for it.")
	e.RetryAfter = time.Second
	return e
}

func lost(e *Entry) error {
	why, reason := "its answer was too large to be kept, was deleted or was lost", "lost"
	if e.Answer.Type == withheld {
		why, reason = "its answer was not kept, because zero data retention was requested", "zdr"
	}
	err := fault.Newf(fault.IdempotencyNotKept, "idempotency.Begin",
		"The first request with this Idempotency-Key was answered and charged as %s, and %s. It was not charged again. To send it again, and pay for it, use another key.", e.Generation, why)
	err.Details = map[string]any{"generation_id": e.Generation, "reason": reason}
	return err
}

// Run is the first request of a name. Exactly one of its methods is called, once; they outlast the client.
type Run struct {
	m                      *Manager
	user, name, generation string
}

// MaxBytes is the size of the largest answer that is kept.
func (r *Run) MaxBytes() int { return r.m.cfg.MaxBytes }

// Keep keeps the answer; it is to be called before the client has all of it. One that is too large is remembered as lost.
func (r *Run) Keep(a Answer) {
	if len(a.Body) > r.m.cfg.MaxBytes {
		r.Lose()
		return
	}
	r.finish(a)
}

// Lose remembers that there was an answer, which was charged, and that it cannot be given again.
func (r *Run) Lose() { r.finish(Answer{}) }

// Withhold is Lose for an answer of which nothing may be kept: only that it was charged.
func (r *Run) Withhold() { r.finish(Answer{Type: withheld}) }

func (r *Run) finish(a Answer) {
	ctx, cancel := r.outlasting()
	defer cancel()
	// What cannot be written stays an unfinished entry, which is taken over only after asking whether it was charged.
	if _, err := r.m.store.FinishIdempotent(ctx, r.user, r.name, r.generation, a); err != nil {
		r.m.cfg.Report("an answer could not be kept for its Idempotency-Key", err)
	}
}

// outlasting is a context of the user's work that does not end when the client leaves.
func (r *Run) outlasting() (context.Context, context.CancelFunc) {
	work := limit.For(context.Background(), &r.user)
	return context.WithTimeout(&work, r.m.cfg.StoreFor)
}

// Free forgets the request: the next one of this name is the first again.
func (r *Run) Free() {
	ctx, cancel := r.outlasting()
	defer cancel()
	if err := r.m.store.DropIdempotent(ctx, r.user, r.name, r.generation); err != nil {
		r.m.cfg.Report("an Idempotency-Key could not be freed", err)
	}
}

// sweepAtOnce is how many expired entries one transaction forgets.
const sweepAtOnce = 500

// Sweep deletes expired entries.
func (m *Manager) Sweep(ctx context.Context) error {
	return loop.Sweep(ctx, m.cfg.StoreFor, sweepAtOnce, func(ctx context.Context, most int) (int, error) {
		return m.store.SweepIdempotent(ctx, m.cfg.Now(), most)
	})
}

// Start begins to sweep from time to time, until Close.
func (m *Manager) Start() { m.sweeps.Start() }

// Close ends what Start began and waits for it.
func (m *Manager) Close() { m.sweeps.Stop() }
