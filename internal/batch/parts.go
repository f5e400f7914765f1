package batch

import (
	"context"
	"errors"
	"slices"
	"time"

	"weir/internal/apikey"
	"weir/internal/fault"
)

const (
	partLines   = 2000
	gatherShare = 4                // one user has one in so many of the bytes that may wait to be sent, and a part half of that
	gatherFor   = 30 * time.Second // a group waits no longer for more lines
	submitFor   = 10 * time.Minute
	firstPoll   = 2 * time.Second
	mostPoll    = time.Minute
	resultsFor  = 30 * time.Minute
	mostReads   = 5 // of answers in vain, one after the other

	// A provider that has not ended its batch an eighth of the window before the end is asked to stop: there is time to call the rest. After
	// it was asked, a twenty-fourth of the window is waited for its answers.
	rescueShare = 8
	drainShare  = 24
)

// Statuses of providers' answers.
const (
	statusNotFound = 404
	statusTimeout  = 408
	statusConflict = 409
	statusGone     = 410
	statusTooMany  = 429
)

// natively sends groups to providers, and reads their answers, until all lines are done or the batch stops.
func (r *running) natively(ctx context.Context) {
	s := r.s
	defer func() {
		if p := recover(); p != nil {
			s.panicked(r.b, p)
			r.fail(fault.New(fault.Internal, "batch.natively", "").Because(errPanic))
		}
	}()
	for _, p := range r.parts {
		r.rehold(ctx, p)
	}
	for !r.over() {
		err := error(nil)
		if g := r.full(); g != nil {
			err = r.send(ctx, g)
		} else if p := r.due(); p != nil {
			err = r.carryPart(ctx, p)
		} else if r.idle() || s.pause(ctx, wait) != nil {
			return
		}
		if err != nil {
			r.fail(err)
			return
		}
	}
}

// idle reports whether there is nothing left to do.
func (r *running) idle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waiting == 0 && len(r.retry) == 0 && r.busy == 0 && r.end
}

// due is an open part that is to be looked at, nil none.
func (r *running) due() *Part {
	now := r.s.now()
	for _, p := range r.parts {
		if p.State != PartEnded && !p.due.After(now) {
			return p
		}
	}
	return nil
}

// release gives back what lines hold for their answers.
func (r *running) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.groups {
		r.ready = append(r.ready, g)
	}
	for _, g := range r.ready {
		r.s.gathered.Give(r.b.User, g.bytes)
		for _, it := range g.items {
			it.free()
		}
	}
	r.ready, r.groups = nil, map[string]*group{}
	for _, p := range r.parts {
		for _, it := range p.lines {
			it.free()
		}
	}
}

func (it *Item) free() {
	if it.held != nil {
		it.held.Release()
		it.held = nil
	}
}

// returned has lines of a part, or of a group, called by themselves.
func (r *running) returned(items []*Item, own bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, it := range items {
		it.free()
		it.Part, it.own, it.due = "", own && it.later.IsZero(), r.s.now()
		if it.later.After(it.due) {
			it.due = it.later
		}
		it.later = time.Time{}
		r.waiting--
		r.retry = append(r.retry, it)
	}
}

// send makes a part of a group. That it is about to be sent is on the disk before the provider is asked, so that it is asked once, whatever
// dies.
func (r *running) send(ctx context.Context, g *group) error {
	s := r.s
	p := &Part{ID: apikey.NewID(PartPrefix), Endpoint: g.endpoint, Path: g.path, State: PartIntended, Lines: int64(len(g.items)), CreatedAt: s.now(), lines: map[int64]*Item{}}
	defer s.gathered.Give(r.b.User, g.bytes)
	short, cancel := s.short(ctx)
	err := s.Store.AddPart(short, r.b, p, g.items, g.terms)
	cancel()
	if err != nil {
		r.returned(g.items, false)
		if fault.Is(err, fault.Conflict) {
			return err
		}
		r.hold(ctx, noStore, 0)
		return nil
	}
	for _, it := range g.items {
		it.Part, it.Stage = p.ID, Waiting
		p.lines[it.Line] = it
	}
	r.parts = append(r.parts, p)
	long, cancel := context.WithTimeout(ctx, submitFor)
	defer cancel()
	id, err := s.Native.Submit(long, &Submission{Part: p, Header: g.header, Requests: g.requests})
	switch {
	case err == nil:
		return r.submitted(ctx, p, id)
	case crowded(err):
		later := s.now().Add(mostPoll) // one time for all, so that they are gathered again together
		for _, it := range g.items {
			it.later = later
		}
		return r.dissolve(ctx, p)
	case notSubmitted(err):
		s.cfg.Report("a provider took no batch; its requests are made one by one", r.b.ID, err)
		return r.dissolve(ctx, p)
	}
	s.cfg.Report("whether a provider has a batch is not known; it is looked for", r.b.ID, err)
	p.lostAt = s.now()
	p.due = p.lostAt.Add(firstPoll)
	return nil
}

// notSubmitted reports whether a submission surely made no batch.
func notSubmitted(err error) bool {
	if errors.As(err, new(*NotSubmitted)) {
		return true
	}
	f := fault.From(err)
	if f == nil || f.Upstream == nil {
		return false
	}
	status := f.Upstream.Status
	return status >= 400 && status <= 499 && status != statusTimeout && status != statusConflict
}

// crowded reports whether a provider took no batch because it has too many at the moment.
func crowded(err error) bool {
	f := fault.From(err)
	return f != nil && f.Upstream != nil && f.Upstream.Status == statusTooMany && notSubmitted(err)
}

func (r *running) submitted(ctx context.Context, p *Part, id string) error {
	next := *p
	next.State, next.Upstream = PartSubmitted, id
	err := r.keepPart(ctx, &next)
	if err == nil {
		p.State, p.Upstream = next.State, next.Upstream
	}
	p.due = r.s.now().Add(firstPoll) // else it is looked for
	if fault.Is(err, fault.Conflict) {
		r.disown(ctx, &next)
		return err
	}
	return nil
}

// disown has a provider stop a batch whose lines another worker calls by themselves by now, because it did not find it.
func (r *running) disown(ctx context.Context, p *Part) {
	short, cancel := r.s.short(context.WithoutCancel(ctx))
	defer cancel()
	list, err := r.s.Store.Parts(short, r.b.ID)
	if err == nil && slices.ContainsFunc(list, func(q Part) bool { return q.ID == p.ID && q.State == PartEnded }) {
		if err = r.s.Store.LeavePart(short, p, r.s.now()); err == nil {
			r.s.clears.Wake()
			err = r.s.Native.Cancel(short, p)
		}
	}
	if err != nil {
		r.s.cfg.Report("a provider may run a batch whose requests are made one by one: "+p.ID, r.b.ID, err)
	}
}

func (r *running) keepPart(ctx context.Context, p *Part) error {
	short, cancel := r.s.short(context.WithoutCancel(ctx))
	defer cancel()
	return r.s.Store.KeepPart(short, r.b, p)
}

// dissolve ends a part: its lines without an answer are called by themselves, or offered again later.
func (r *running) dissolve(ctx context.Context, p *Part) error {
	next := *p
	next.State, next.ClearAt = PartEnded, r.s.now()
	if p.Upstream == "" { // what it has of the part, it may not show yet
		next.ClearAt = next.ClearAt.Add(r.s.cfg.LostAfter)
	}
	if err := r.keepPart(ctx, &next); err != nil {
		p.due = r.s.now().Add(again)
		if fault.Is(err, fault.Conflict) {
			return err
		}
		return nil
	}
	p.State = PartEnded
	r.s.clears.Wake()
	rest := make([]*Item, 0, len(p.lines))
	for _, line := range sortedLines(p.lines) {
		rest = append(rest, p.lines[line])
	}
	p.lines = nil
	r.returned(rest, true)
	return nil
}

func sortedLines(m map[int64]*Item) []int64 {
	lines := make([]int64, 0, len(m))
	for n := range m {
		lines = append(lines, n)
	}
	slices.Sort(lines)
	return lines
}

// until is when the provider of a part is asked to stop.
func (r *running) until(p *Part) time.Time {
	b := r.b
	switch {
	case r.draining && !b.CancellingAt.IsZero():
		return b.CancellingAt
	case r.draining:
		return b.FinalizingAt
	}
	for _, it := range p.lines {
		if !it.required {
			return b.ExpiresAt.Add(-r.s.cfg.Window / rescueShare)
		}
	}
	return b.ExpiresAt
}

// carryPart looks for a part, asks how far it is, reads its answers, or gives it up.
func (r *running) carryPart(ctx context.Context, p *Part) error {
	s := r.s
	now := s.now()
	p.due = now.Add(min(firstPoll<<min(p.polls, 10), mostPoll))
	p.polls++
	long, cancel := context.WithTimeout(ctx, submitFor)
	defer cancel()
	late := !now.Before(r.until(p))
	switch {
	case late && p.lateAt.IsZero():
		p.lateAt, p.polls, p.due = now, 0, now.Add(firstPoll)
	case late && now.Sub(p.lateAt) >= s.cfg.Window/drainShare:
		s.cfg.Report("a provider's batch is given up, and may be billed: "+p.ID, r.b.ID, nil)
		return r.dissolve(ctx, p)
	}
	if p.State == PartIntended {
		return r.seek(long, p)
	}
	if late && !p.stopped {
		p.stopped = s.Native.Cancel(long, p) == nil
	}
	progress, err := s.Native.Look(long, p)
	switch {
	case err != nil && missing(err):
		s.cfg.Report("a provider does not have a batch any more that it took: "+p.ID, r.b.ID, err)
		return r.dissolve(ctx, p)
	case err != nil || !progress.Ended:
		return nil
	}
	return r.read(ctx, p)
}

// seek looks for a part that the provider may have. That it has none is believed when it has had the time to show it.
func (r *running) seek(ctx context.Context, p *Part) error {
	s := r.s
	found, err := s.Native.Find(ctx, p)
	settled := s.now().Sub(p.lostAt) >= s.cfg.LostAfter
	switch {
	case err == nil && found.Fate == Adopted:
		p.polls = 0
		return r.submitted(ctx, p, found.ID)
	case err == nil && found.Fate == Absent && settled:
		return r.dissolve(ctx, p)
	case err != nil && notSubmitted(err) && settled: // it does not list its batches
		s.cfg.Report("a provider may have a batch that cannot be looked for: "+p.ID, r.b.ID, err)
		return r.dissolve(ctx, p)
	}
	return nil
}

func missing(err error) bool {
	f := fault.From(err)
	return f.Upstream != nil && (f.Upstream.Status == statusNotFound || f.Upstream.Status == statusGone)
}

// read reads the answers to a part that has ended. Lines without one are called by themselves.
func (r *running) read(ctx context.Context, p *Part) error {
	s := r.s
	long, cancel := context.WithTimeout(ctx, resultsFor)
	defer cancel()
	p.pending = false
	var failed error
	err := s.Native.Results(long, p, func(res *Result) error {
		it := p.lines[res.Line]
		if it == nil || res.Status == 0 || r.halted() {
			return nil
		}
		done, err := r.answer(ctx, p, it, res)
		if done {
			delete(p.lines, res.Line)
			p.reads = 0
		} else {
			p.pending = true
		}
		failed = err
		return err
	})
	switch {
	case failed != nil:
		return failed
	case r.halted():
		return nil
	case err != nil && missing(err):
		return r.dissolve(ctx, p)
	case err != nil:
		if p.reads++; p.reads < mostReads {
			s.cfg.Report("the answers of a provider's batch cannot be read", r.b.ID, err)
			return nil
		}
		s.cfg.Report("the answers of a provider's batch are given up: "+p.ID, r.b.ID, err)
		return r.dissolve(ctx, p)
	case p.pending:
		return nil // read again when it is due
	}
	return r.dissolve(ctx, p)
}

// halted reports whether the work stops here for good: another worker goes on.
func (r *running) halted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopped || r.s.stopping()
}

// drain has providers stop the open parts of a batch that calls nothing any more, and reads what they have answered.
func (s *Service) drain(ctx context.Context, r *running) error {
	r.draining = true
	defer r.release()
	for slices.ContainsFunc(r.parts, func(p *Part) bool { return p.State != PartEnded }) {
		var err error
		if p := r.due(); p != nil {
			err = r.carryPart(ctx, p)
		} else {
			err = s.pause(ctx, wait)
		}
		if s.stopping() {
			return fault.New(fault.Draining, "batch.drain", "The gateway is shutting down.").Because(err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
