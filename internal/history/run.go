package history

import (
	"context"
	"errors"
	"slices"
	"time"

	"weir/internal/fault"
	"weir/internal/loop"
)

// beats is how many times a node may fail to say that it carries a response before others take it for lost.
const beats = 6

// Run is a response that is made in the background, by Carry.
type Run struct {
	m      *Manager
	r      Response
	answer *Answer // nil until there is one
	ctx    context.Context
	cancel context.CancelCauseFunc
	ended  chan struct{} // closed when nothing of it is under way or held any more
}

// Begin keeps a response that is to be made in the background. It fails with fault.RateLimited when the account has too many under way,
// with fault.Draining on a node that is being stopped, and with fault.StorageUnavailable.
func (m *Manager) Begin(ctx context.Context, r Response) (*Run, error) {
	if err := m.enter(r.Account); err != nil {
		return nil, err
	}
	r.ExpiresAt, r.StaleAt = m.expiry(&r), m.stale()
	short, cancel := context.WithTimeout(ctx, m.cfg.StoreFor)
	defer cancel()
	if err := m.store.KeepResponses(short, []*Response{&r}); err != nil {
		m.leave(r.Account)
		return nil, err
	}
	run := &Run{m: m, r: r, ended: make(chan struct{})}
	run.ctx, run.cancel = context.WithCancelCause(context.Background())
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs[r.ID] = run
	return run, nil
}

func (m *Manager) enter(account string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closing:
		return fault.New(fault.Draining, "history.Begin", "The gateway is shutting down.")
	case m.byUser[account] >= m.cfg.MaxRuns:
		e := fault.Newf(fault.RateLimited, "history.Begin", "At most %d background responses can run at a time. Wait for one to end.", m.cfg.MaxRuns)
		e.Details = map[string]any{"limited_by": "max_background_per_user"}
		return e
	}
	m.byUser[account]++
	m.idle.Add(1)
	return nil
}

func (m *Manager) leave(account string) {
	m.mu.Lock()
	if m.byUser[account]--; m.byUser[account] == 0 {
		delete(m.byUser, account)
	}
	m.mu.Unlock()
	m.idle.Done()
}

func (m *Manager) stale() time.Time { return m.cfg.Now().Add(beats * m.cfg.BeatEvery) }

// Context ends when the response is cancelled or deleted, or the node stops; its cause is a *fault.Error then.
func (r *Run) Context() context.Context { return r.ctx }

// Started reports that somebody works on the response.
func (r *Run) Started() {
	r.m.carry(r.ctx, []*Run{r})
}

// Carry makes the response in the caller's goroutine and ends the run in every case: with the answer that work passed to Answer, or else
// as failed, with the object that failed makes of the error. A panic of work continues after the end.
func (r *Run) Carry(work func(ctx context.Context) error, failed func(err error) (object []byte)) (err error) {
	err = fault.New(fault.Internal, "history.Carry", "") // of a panic
	defer func() {
		if r.answer == nil {
			r.answer = &Answer{Status: Failed, Object: failed(err)}
		}
		r.End(*r.answer)
	}()
	r.Started()
	err = work(r.ctx)
	return err
}

// Answer sets the result of the response. It is called from the work of Carry.
func (r *Run) Answer(a Answer) { r.answer = &a }

// End stores the result of the response, unless it was cancelled or deleted meanwhile. It must be called once.
func (r *Run) End(a Answer) {
	m := r.m
	defer m.leave(r.r.Account)
	defer close(r.ended)
	m.mu.Lock()
	delete(m.runs, r.r.ID)
	m.mu.Unlock()
	if r.given() {
		return
	}
	ended := r.r.With(a)
	m.Keep(&ended)
}

// given reports whether the client has given the response up.
func (r *Run) given() bool {
	var f *fault.Error
	return errors.As(context.Cause(r.ctx), &f) && f.Kind == fault.Canceled
}

// carryAtOnce bounds how many responses one transaction marks.
const carryAtOnce = 500

// carry reports to the store that runs are carried, and ends those with which the store disagrees.
func (m *Manager) carry(ctx context.Context, runs []*Run) {
	for part := range slices.Chunk(runs, carryAtOnce) {
		list := make([]*Response, len(part))
		for i, r := range part {
			list[i] = &r.r
		}
		short, cancel := context.WithTimeout(ctx, m.cfg.StoreFor)
		there, err := m.store.CarryResponses(short, list, m.stale())
		cancel()
		if err != nil && ctx.Err() == nil {
			m.cfg.Report("a background response could not be stored", err)
		}
		for i := range there {
			if !there[i] {
				m.end(list[i].ID)
			}
		}
	}
}

// end has a run ended that its client has given up, if this node carries it; nil if not.
func (m *Manager) end(id string) *Run {
	m.mu.Lock()
	run := m.runs[id]
	m.mu.Unlock()
	if run != nil {
		run.cancel(fault.New(fault.Canceled, "history.Cancel", "The response was cancelled."))
	}
	return run
}

// endAndWait is end, and waits a while for the run, so that the caller's next look at the balance does not include its hold.
func (m *Manager) endAndWait(ctx context.Context, id string) {
	run := m.end(id)
	if run == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, endFor)
	defer cancel()
	select {
	case <-run.ended:
	case <-ctx.Done():
	}
}

// endFor is how long cancelling or deleting a response waits for its end, which takes milliseconds.
const endFor = 2 * time.Second

// beat reports all that is carried to the store.
func (m *Manager) beat(ctx context.Context) { m.carry(ctx, m.under()) }

func (m *Manager) under() []*Run {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]*Run, 0, len(m.runs))
	for _, r := range m.runs {
		list = append(list, r)
	}
	return list
}

// Close accepts no more responses in the background, waits for the running ones until ctx ends, fails the rest, and stops what Start
// started.
func (m *Manager) Close(ctx context.Context) {
	m.mu.Lock()
	m.closing = true
	m.mu.Unlock()
	loop.Finish(ctx, &m.idle, func() {
		for _, r := range m.under() {
			r.cancel(fault.New(fault.Draining, "history.Close", "The gateway was shut down."))
		}
	})
	m.sweeps.Stop()
	m.beats.Stop()
	m.writes.Stop()
	if err := m.write(context.WithoutCancel(ctx)); err != nil {
		m.cfg.Report("responses could not be kept; the next start tries again", err)
	}
}
