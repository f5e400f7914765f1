// Package history stores the content of responses that may be continued, read again or waited for. Only this package and package batch store the content
// of requests and answers. It knows no wire, never interprets the content, and shows it to no other account.
package history

import (
	"context"
	"sync"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/loop"
)

// Status reports how far a response has come.
type Status string

// The statuses. The last four are final.
const (
	Queued     Status = "queued"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Incomplete Status = "incomplete"
	Failed     Status = "failed"
	Cancelled  Status = "cancelled"
)

// Final reports whether the status can no longer change.
func (s Status) Final() bool { return s != Queued && s != InProgress }

// Response is the stored form of one response. Lists of items are JSON objects separated by commas.
type Response struct {
	Account    string // "usr_...": whose it is; a part of every key
	ID         string // "resp_..."
	Key        string // "key_...": it was made with; "" before that was kept
	Parent     string // the response that it continues, "" none
	Status     Status
	Background bool
	Object     []byte   // the response object as it was last shown; Status is newer
	Input      []byte   // items of the request itself
	Output     []byte   // items of the answer
	Items      []string // ids of the output's items
	CreatedAt  time.Time
	ExpiresAt  time.Time
	StaleAt    time.Time // of one under way: after this time it is not carried any more
}

// Answer is the result of a response.
type Answer struct {
	Status Status
	Object []byte   // the response object as the client gets it
	Output []byte   // items of the answer
	Items  []string // their ids
}

// With is the response with its answer.
func (r Response) With(a Answer) Response {
	r.Status, r.Object, r.Output, r.Items = a.Status, a.Object, a.Output, a.Items
	return r
}

// Size is how much of it counts against an account, in bytes.
func (r *Response) Size() int { return len(r.Object) + len(r.Input) + len(r.Output) }

// Stock is what one account has stored.
type Stock struct {
	Responses int64
	Bytes     int64
	Oldest    time.Time // when it was made; zero: absent
}

// Bounds are limits on what one account may have stored. Beyond either, a sweep deletes its oldest responses until a tenth of the bound
// is free. An account that has grown by a tenth since the last sweep causes the next one.
type Bounds struct {
	Responses int   `constant:"max_per_user"`
	Bytes     int64 `yaml:"max_bytes_per_user" as:"size"`
}

// Reader finds stored responses. It does not find those that have expired at now, or those of another account.
type Reader interface {
	// Response finds one; it fails with fault.NotFound.
	Response(ctx context.Context, account, id string, now time.Time) (*Response, error)
	// ResponseChain lists a response and those that it continues, the oldest first: at most n. It fails with fault.ContextLength when they
	// have more than maxBytes together. Where one is missing the list begins after it.
	ResponseChain(ctx context.Context, account, id string, now time.Time, n int, maxBytes int64) ([]Response, error)
	// HasResponse reports whether there is one, without reading it.
	HasResponse(ctx context.Context, account, id string, now time.Time) (bool, error)
	// CountResponses reports what an account has stored.
	CountResponses(ctx context.Context, account string, now time.Time) (Stock, error)
	// ResponseOfItem finds the response whose output has that item; it fails with fault.NotFound.
	ResponseOfItem(ctx context.Context, account, item string, now time.Time) (*Response, error)
}

// Writer changes stored responses. Every method is one transaction.
type Writer interface {
	// KeepResponses writes all of list, and replaces responses that are not final: a final one stays unchanged.
	KeepResponses(ctx context.Context, list []*Response) error
	// MarkResponse sets status and StaleAt of a response that is not final, and reports whether there was one.
	MarkResponse(ctx context.Context, account, id string, s Status, staleAt time.Time) (bool, error)
	// CarryResponses sets StaleAt of those that are not final, which are InProgress then, and reports for each whether it was there.
	CarryResponses(ctx context.Context, list []*Response, staleAt time.Time) ([]bool, error)
	// DeleteResponse forgets one, and reports whether there was one.
	DeleteResponse(ctx context.Context, account, id string) (bool, error)
	// DeleteResponses forgets at most n final responses of an account. Unless e is nil, it records e, and forgets the answers that are kept for
	// requests of the account that are repeated. It reports how many responses it forgot.
	DeleteResponses(ctx context.Context, account string, n int, now time.Time, e *audit.Event) (int, error)
	// ShortenResponses has the responses of an account expire after keepFor, unless they do so earlier.
	ShortenResponses(ctx context.Context, account string, keepFor time.Duration) error
	// SweepResponses forgets at most n that expired before now, and the oldest of accounts beyond b. It reports how many it forgot.
	SweepResponses(ctx context.Context, now time.Time, b Bounds, n int) (int, error)
}

// Store is the storage of a Manager.
type Store interface {
	Reader
	Writer
}

// Config of a Manager. It begins with Default.
type Config struct {
	Now     func() time.Time
	KeepFor time.Duration `yaml:"retention"` // 0: nothing is kept

	MaxBytes   int           `constant:"max_input_bytes" as:"size"` // input of one response
	MaxChain   int           // responses in a conversation
	ChainBytes int64         // of a conversation that is continued
	MaxRuns    int           `yaml:"max_background_per_user"` // of one account in the background at a time, on one node
	Bounds     Bounds        `yaml:",inline"`
	StoreFor   time.Duration // how long one question to the store may take
	SweepEvery time.Duration
	BeatEvery  time.Duration // how often a node reports that it still carries the responses it began
	Files      [2]File       // with what waits for the store; nil: it waits in memory alone
	Shared     bool          // other nodes write to the same store
	// Report is called with errors that have no waiting caller.
	Report func(what string, err error)
}

// Default is a Config with usual values.
func Default(now func() time.Time) Config {
	return Config{
		Now: now, KeepFor: 30 * 24 * time.Hour, MaxBytes: 8 << 20, MaxChain: 1000, ChainBytes: 32 << 20, MaxRuns: 50, Bounds: Bounds{Responses: 100_000, Bytes: 1 << 30},
		StoreFor: 5 * time.Second, SweepEvery: 5 * time.Minute, BeatEvery: 5 * time.Second, Report: func(string, error) {},
	}
}

// Manager keeps responses and carries those in the background. It is safe for concurrent use.
type Manager struct {
	store Store
	cfg   Config

	sweeps, beats, writes *loop.Loop
	waiting               *waiting

	mu      sync.Mutex
	runs    map[string]*Run // by response
	byUser  map[string]int
	idle    sync.WaitGroup // runs under way
	closing bool
	grown   map[string]growth // by account, since the last sweep
}

// growth is how much one account had stored.
type growth struct {
	responses int
	bytes     int64
}

// New makes a Manager.
func New(s Store, c Config) *Manager {
	m := &Manager{store: s, cfg: c, runs: map[string]*Run{}, byUser: map[string]int{}, grown: map[string]growth{}}
	m.sweeps = loop.Every(m.cfg.SweepEvery, func(ctx context.Context) {
		if err := m.Sweep(ctx); err != nil && ctx.Err() == nil {
			m.cfg.Report("expired responses could not be deleted", err)
		}
	})
	m.beats = loop.Every(m.cfg.BeatEvery, m.beat)
	m.waiting, m.writes = newWaiting(c.Files, c.Report), loop.New(loop.UntilWoken, m.writeRound)
	return m
}

// Wish is what a request says about storing its response.
type Wish struct {
	Asked      bool // the client asked for it; else it is the default
	Background bool // the response is made in the background, which requires storing it
	Forbidden  bool // the account or the key demands that nothing is kept
	Never      bool // the account has storing switched off
	OnRequest  bool // the account stores only what is asked for
	Bytes      int  // of its input
}

// Stores decides whether a response is stored. What cannot be is not, where the client did not ask for it; else Stores fails with
// fault.Invalid.
func (m *Manager) Stores(w Wish) (bool, error) {
	switch {
	case w.Forbidden && (w.Asked || w.Background):
		return false, fault.Field("history.Stores", "store", "The preferences of this account or key require zero data retention, so nothing can be stored. Send store: false.")
	case w.Never && (w.Asked || w.Background):
		return false, fault.Field("history.Stores", "store", "This account stores no responses (Settings, Data). Send store: false, or switch storing on.")
	case w.Forbidden || w.Never || w.OnRequest && !w.Asked && !w.Background:
		return false, nil
	case m.cfg.KeepFor > 0 && w.Bytes <= m.cfg.MaxBytes:
		return true, nil
	case w.Background:
		return false, fault.Field("history.Stores", "background", "A background response must be stored, and this one cannot be: it is too large, or this gateway stores no responses.")
	}
	return false, nil
}

// Keep has a final response stored, with others, a moment later. All that is asked of this Manager afterwards finds it; call it before the
// client sees the end of the answer. An answer must not fail because it cannot be kept, so an error is only reported.
func (m *Manager) Keep(r *Response) {
	r.ExpiresAt = m.expiry(r)
	first, full := m.waiting.add(r)
	if first {
		m.writes.Wake()
	}
	m.mu.Lock()
	closing := m.closing
	m.mu.Unlock()
	if full || closing {
		ctx, cancel := context.WithTimeout(context.Background(), m.cfg.StoreFor)
		defer cancel()
		if err := m.write(ctx); err != nil {
			m.cfg.Report("responses could not be kept; it is tried again", err)
		}
	}
}

// expiry is when a response expires: at ExpiresAt where its account says so, and never later than the operator says.
func (m *Manager) expiry(r *Response) time.Time {
	last := r.CreatedAt.Add(m.cfg.KeepFor)
	if r.ExpiresAt.IsZero() || r.ExpiresAt.After(last) {
		return last
	}
	return r.ExpiresAt
}

// KeepFor is how long responses are stored at the most; 0: not at all.
func (m *Manager) KeepFor() time.Duration { return m.cfg.KeepFor }

// Stock reports what an account has stored.
func (m *Manager) Stock(ctx context.Context, account string) (Stock, error) {
	ctx, cancel := context.WithTimeout(ctx, m.cfg.StoreFor)
	defer cancel()
	if err := m.settle(ctx, account); err != nil {
		return Stock{}, err
	}
	return m.store.CountResponses(ctx, account, m.cfg.Now())
}

// Shorten has what an account has stored expire after keepFor at the latest.
func (m *Manager) Shorten(ctx context.Context, account string, keepFor time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, m.cfg.StoreFor)
	defer cancel()
	if err := m.settle(ctx, account); err != nil {
		return err
	}
	return m.store.ShortenResponses(ctx, account, keepFor)
}

// DeleteAll deletes all final responses of an account, and reports how many there were. Those under way stay, and are not recorded.
func (m *Manager) DeleteAll(ctx context.Context, account string, by audit.Actor) (gone int, err error) {
	e := &audit.Event{Actor: by, Action: audit.ResponsesGone, Target: account}
	if err := m.settle(ctx, account); err != nil {
		return 0, err
	}
	err = loop.Sweep(ctx, m.cfg.StoreFor, sweepAtOnce, func(ctx context.Context, most int) (int, error) {
		n, err := m.store.DeleteResponses(ctx, account, most, m.cfg.Now(), e)
		if err == nil {
			e, gone = nil, gone+n
		}
		return n, err
	})
	m.sweeps.Wake() // it removes what was deleted from the disk
	return gone, err
}

// grew counts what an account has stored, and requests a sweep when that is much: until the next regular one it could grow without bound.
func (m *Manager) grew(account string, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.grown[account]
	g.responses++
	g.bytes += bytes
	if b := m.cfg.Bounds; g.responses <= b.Responses/10 && g.bytes <= b.Bytes/10 {
		m.grown[account] = g
		return
	}
	delete(m.grown, account)
	m.sweeps.Wake()
}

// Find gives a response of the account. It fails with fault.NotFound, and with fault.StorageUnavailable. One whose node has stopped is Failed.
func (m *Manager) Find(ctx context.Context, account, id string) (*Response, error) {
	ctx, cancel := context.WithTimeout(ctx, m.cfg.StoreFor)
	defer cancel()
	now := m.cfg.Now()
	r, err := m.response(ctx, account, id)
	if err != nil || r.Status.Final() || now.Before(r.StaleAt) {
		return r, err
	}
	if _, err := m.store.MarkResponse(ctx, account, id, Failed, now); err != nil {
		return nil, err
	}
	return m.store.Response(ctx, account, id, now) // another call that was quicker
}

// response reads a response.
func (m *Manager) response(ctx context.Context, account, id string) (r *Response, err error) {
	err = m.sought(ctx, account, func() (bool, error) {
		r, err = m.store.Response(ctx, account, id, m.cfg.Now())
		return err == nil, err
	})
	return r, err
}

// Has reports whether a response of the account is stored.
func (m *Manager) Has(ctx context.Context, account, id string) (bool, error) {
	if m.cfg.KeepFor <= 0 {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, m.cfg.StoreFor)
	defer cancel()
	if err := m.settle(ctx, account); err != nil {
		return false, err
	}
	return m.store.HasResponse(ctx, account, id, m.cfg.Now())
}

// Chain returns the conversation that a response ends, the oldest response first. It fails with fault.PreviousNotFound when the response,
// or one before it, is missing or not complete, and with fault.ContextLength when the conversation is too long.
func (m *Manager) Chain(ctx context.Context, account, id string) ([]Response, error) {
	if m.cfg.KeepFor <= 0 {
		return nil, noParent("This gateway stores no responses. Send the whole conversation in input.")
	}
	ctx, cancel := context.WithTimeout(ctx, m.cfg.StoreFor)
	defer cancel()
	list, err := m.chain(ctx, account, id, m.cfg.ChainBytes)
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, NoParent()
	case len(list) == m.cfg.MaxChain && list[0].Parent != "":
		return nil, noParent("The conversation has too many responses. Begin a new one.")
	case list[0].Parent != "":
		return nil, noParent("An earlier response of this conversation was deleted or has expired. Begin a new one.")
	case !list[len(list)-1].Status.Final():
		return nil, noParent("This response is not finished. Wait until its status is completed.")
	}
	return list, nil
}

func (m *Manager) chain(ctx context.Context, account, id string, most int64) (list []Response, err error) {
	err = m.sought(ctx, account, func() (bool, error) {
		list, err = m.store.ResponseChain(ctx, account, id, m.cfg.Now(), m.cfg.MaxChain, most)
		return len(list) > 0, err
	})
	return list, err
}

// Text returns a response and those that it continues, the oldest first. Of a conversation whose beginning is missing it returns the rest:
// then the first one has a Parent. It fails with fault.NotFound, and with fault.PayloadTooLarge when they have more than most bytes together.
func (m *Manager) Text(ctx context.Context, account, id string, most int64) ([]Response, error) {
	none := fault.New(fault.NotFound, "history.Text", "This text is not stored: it was deleted, has expired or was never kept.")
	if m.cfg.KeepFor <= 0 {
		return nil, none
	}
	ctx, cancel := context.WithTimeout(ctx, m.cfg.StoreFor)
	defer cancel()
	list, err := m.chain(ctx, account, id, most)
	switch {
	case fault.Is(err, fault.ContextLength):
		return nil, fault.Newf(fault.PayloadTooLarge, "history.Text", "The stored text has more than %d bytes.", most)
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, none
	}
	return list, nil
}

const noneOfID = "There is no response with this id: it does not exist, has expired or was not stored."

// NoResponse is the error for a response that does not exist, or that somebody does not see.
func NoResponse(op string) *fault.Error { return fault.New(fault.NotFound, op, noneOfID) }

// NoParent is the error for a conversation that does not exist, or that somebody does not see.
func NoParent() *fault.Error { return noParent(noneOfID) }

func noParent(public string) *fault.Error {
	f := fault.New(fault.PreviousNotFound, "history.Chain", public)
	f.Param = "previous_response_id"
	return f
}

// OfItem gives the response whose output has that item; it fails with fault.NotFound.
func (m *Manager) OfItem(ctx context.Context, account, item string) (r *Response, err error) {
	ctx, cancel := context.WithTimeout(ctx, m.cfg.StoreFor)
	defer cancel()
	err = m.sought(ctx, account, func() (bool, error) {
		r, err = m.store.ResponseOfItem(ctx, account, item, m.cfg.Now())
		return err == nil, err
	})
	return r, err
}

// Delete forgets a response, and ends it if it is under way, like Cancel. It fails with fault.NotFound.
func (m *Manager) Delete(ctx context.Context, account, id string) error {
	short, cancel := context.WithTimeout(ctx, m.cfg.StoreFor)
	defer cancel()
	if _, err := m.response(short, account, id); err != nil {
		return err
	}
	if _, err := m.store.DeleteResponse(short, account, id); err != nil {
		return err
	}
	m.endAndWait(ctx, id)
	return nil
}

// Cancel ends a response in the background. If this node carries it, Cancel returns when none of its money is held any more. A final
// response stays unchanged. It fails with fault.NotFound, and with fault.Invalid for a response that is not in the background.
func (m *Manager) Cancel(ctx context.Context, account, id string) (*Response, error) {
	r, err := m.Find(ctx, account, id)
	if err != nil {
		return nil, err
	}
	if !r.Background {
		return nil, fault.New(fault.Invalid, "history.Cancel", "Only a background response can be cancelled.")
	}
	if r.Status.Final() {
		return r, nil
	}
	short, cancel := context.WithTimeout(ctx, m.cfg.StoreFor)
	defer cancel()
	if _, err := m.store.MarkResponse(short, account, id, Cancelled, m.cfg.Now()); err != nil {
		return nil, err
	}
	m.endAndWait(ctx, id)
	return m.store.Response(short, account, id, m.cfg.Now())
}

// sweepAtOnce is how many expired responses one transaction forgets.
const sweepAtOnce = 200

// Sweep deletes expired responses and those beyond the bounds.
func (m *Manager) Sweep(ctx context.Context) error {
	m.mu.Lock()
	clear(m.grown)
	m.mu.Unlock()
	return loop.Sweep(ctx, m.cfg.StoreFor, sweepAtOnce, func(ctx context.Context, most int) (int, error) {
		return m.store.SweepResponses(ctx, m.cfg.Now(), m.cfg.Bounds, most)
	})
}

// Start starts writing to the store, first what a former process had to leave, sweeping, and reporting to the store which responses are
// carried, until Close.
func (m *Manager) Start() {
	if err := m.waiting.recover(); err != nil {
		m.cfg.Report("responses of a former process could not be read", err)
	}
	m.writes.Start()
	if !m.waiting.empty() {
		m.writes.Wake()
	}
	m.sweeps.Start()
	m.beats.Start()
}
