package batch

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"weir/internal/apikey"
	"weir/internal/fault"
)

// running is a batch whose lines are called by this node.
type running struct {
	s     *Service
	b     *Batch
	input *lines

	mu       sync.Mutex
	seen     map[int64]bool // lines that have an item
	retry    []*Item        // begun before, and to be tried again when due
	busy     int            // lines under way
	most     int            // of them at a time: fewer while the balance does not cover more
	good     int            // lines that succeeded since that was changed
	end      bool           // the file was read to its end
	late     bool
	stopped  bool
	err      error
	pausedTo time.Time
	pauses   int
	reason   string // of the pause, as the store has it

	offers   bool // providers may take lines in batches
	waiting  int  // lines in groups, and in open parts
	groups   map[string]*group
	ready    []*group          // full
	parts    []*Part           // of natively, or drain, alone
	known    map[string]*Terms // of natively, or drain, alone
	draining bool              // nothing is begun any more: what providers have answered is read
}

// page is how many items are read at a time.
const page = 500

// resume makes the state of a batch out of what the store has.
func (s *Service) resume(ctx context.Context, b *Batch) (*running, error) {
	input, err := s.open(ctx, b)
	if err != nil {
		return nil, err
	}
	r := &running{s: s, b: b, input: input, seen: map[int64]bool{}, most: s.cfg.PerUser, groups: map[string]*group{}, known: map[string]*Terms{}, offers: s.Native != nil && s.Native.Offers()}
	open, err := s.openParts(ctx, r)
	if err != nil {
		return nil, err
	}
	err = s.items(ctx, b, false, func(it *Item) error {
		r.seen[it.Line] = true
		if it.Stage != Done {
			it.unclear = it.Stage == Running
			if p := open[it.Part]; p != nil {
				p.lines[it.Line] = it
				r.waiting++
				return nil
			}
			it.Part = ""
			r.retry = append(r.retry, it)
		}
		return nil
	})
	return r, err
}

// openParts reads the parts of a batch that have not ended.
func (s *Service) openParts(ctx context.Context, r *running) (open map[string]*Part, err error) {
	if s.Native == nil {
		return nil, nil
	}
	short, cancel := s.short(ctx)
	defer cancel()
	list, err := s.Store.Parts(short, r.b.ID)
	open = map[string]*Part{}
	for i := range list {
		if p := &list[i]; p.State != PartEnded {
			p.lines, p.lostAt = map[int64]*Item{}, s.now()
			open[p.ID] = p
			r.parts = append(r.parts, p)
		}
	}
	return open, err
}

// items reads the lines that were begun.
func (s *Service) items(ctx context.Context, b *Batch, bodies bool, each func(*Item) error, outcomes ...Outcome) error {
	for after := int64(0); ; {
		n := page
		if bodies {
			n = 8 // answers may be large
		}
		short, cancel := s.short(ctx)
		list, err := s.Store.Items(short, b.ID, after, n, bodies, outcomes...)
		cancel()
		if err != nil {
			return err
		}
		for i := range list {
			if err := each(&list[i]); err != nil {
				return err
			}
			after = list[i].Line
		}
		if len(list) < n {
			return nil
		}
	}
}

// run calls the lines of a batch until all are done, its time is over, or it is given up.
func (s *Service) run(ctx context.Context, b *Batch) error {
	r, err := s.resume(ctx, b)
	if err != nil {
		return err
	}
	watch, unwatch := context.WithCancel(ctx)
	var watching, workers sync.WaitGroup
	watching.Go(func() { r.watch(watch) })
	if r.offers || len(r.parts) > 0 {
		defer r.release()
		s.cfg.Go(&workers, func() { r.natively(ctx) })
	}
	for range s.cfg.PerUser {
		s.cfg.Go(&workers, func() { r.work(ctx) })
	}
	workers.Wait()
	unwatch()
	watching.Wait()
	if r.err != nil {
		return r.err
	}
	if s.stopping() {
		return nil
	}
	if err := b.to(Finalizing); err != nil {
		return err
	}
	b.Late, b.FinalizingAt, b.Paused = r.late, s.now(), ""
	return s.keep(ctx, b, InProgress)
}

// watch looks whether the batch was cancelled, or another node has it.
func (r *running) watch(ctx context.Context) {
	s := r.s
	for s.cfg.Wait(ctx, s.cfg.WatchFor) == nil {
		short, cancel := s.short(ctx)
		own, err := s.Store.OwnBatch(short, r.b.ID, r.b.Fence)
		cancel()
		switch {
		case fault.Is(err, fault.Conflict):
			r.fail(err)
			return
		case err == nil && own.State != InProgress:
			r.fail(fault.New(fault.Conflict, "batch.watch", "The batch was cancelled."))
			return
		}
	}
}

// fail ends the work with an error; the first one counts.
func (r *running) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	if r.err == nil {
		r.err = err
	}
}

// wait is the longest pause of an idle worker that gets no signal of new work.
const wait = 200 * time.Millisecond

// work calls one line after the other.
func (r *running) work(ctx context.Context) {
	s := r.s
	defer func() {
		if p := recover(); p != nil { // ends the work on this batch, not the process: the next one would meet it again
			s.panicked(r.b, p)
			r.fail(fault.New(fault.Internal, "batch.work", "").Because(errPanic))
		}
	}()
	for {
		it, text, pause, err := r.next(ctx)
		switch {
		case err == io.EOF:
			return
		case err != nil:
			r.fail(err)
			return
		case it == nil:
			if s.pause(ctx, pause) != nil {
				return
			}
			continue
		}
		if err := r.turn(ctx, it, text); err != nil {
			r.fail(err)
			return
		}
	}
}

// turn calls a line when it is the user's turn.
func (r *running) turn(ctx context.Context, it *Item, text []byte) error {
	s := r.s
	if err := s.turns.Enter(ctx, r.b.User); err != nil {
		r.back(it, 0)
		return nil // the service stops
	}
	defer s.turns.Leave(r.b.User)
	if r.over() { // while it waited for its turn
		r.back(it, 0)
		return nil
	}
	return r.call(ctx, it, text)
}

// pause waits, or fails when the service stops before.
func (s *Service) pause(ctx context.Context, d time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-s.soon:
			cancel()
		case <-ctx.Done():
		}
	}()
	return s.cfg.Wait(ctx, d)
}

func (r *running) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed()
}

// closed reports whether no more calls are to be begun.
func (r *running) closed() bool {
	if !r.late && !r.s.now().Before(r.b.ExpiresAt) {
		r.late = true
	}
	return r.stopped || r.late || r.s.stopping()
}

// next takes the next line that is to be called: with its text, or with none, then it is read again. Without an item the worker waits; io.EOF
// is the end of the work.
func (r *running) next(ctx context.Context) (it *Item, text []byte, pause time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed() {
		return nil, nil, 0, io.EOF
	}
	now := r.s.now()
	if d := r.pausedTo.Sub(now); d > 0 {
		return nil, nil, min(d, r.s.cfg.LookEvery), nil
	}
	if r.busy >= r.most {
		return nil, nil, wait, nil
	}
	if i := slices.IndexFunc(r.retry, func(it *Item) bool { return !it.due.After(now) }); i >= 0 {
		it := r.retry[i]
		r.retry = slices.Delete(r.retry, i, i+1)
		r.busy++
		return it, nil, 0, nil
	}
	for !r.end && len(r.retry) < 2*r.s.cfg.PerUser { // those that wait are a sign to be slower
		one, err := r.input.after(ctx)
		if err == io.EOF {
			r.end = true
			break
		}
		if err != nil {
			return nil, nil, 0, err
		}
		if r.seen[one.number] {
			continue
		}
		r.seen[one.number] = true
		r.busy++
		return &Item{Line: one.number, Offset: one.offset, Length: int64(len(one.text))}, slices.Clone(one.text), 0, nil
	}
	if len(r.retry) == 0 && r.busy == 0 && r.end && r.waiting == 0 {
		return nil, nil, 0, io.EOF
	}
	return nil, nil, wait, nil
}

// back returns a line that was taken, to be tried again after a while.
func (r *running) back(it *Item, after time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy--
	it.due = r.s.now().Add(after)
	r.retry = append(r.retry, it)
}

func (r *running) done() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy--
}

// reasons of a pause.
const (
	noMoney   = "payment_required"
	noStore   = "storage_unavailable"
	keyLimits = "rate_limits"
)

const (
	firstPause = 5 * time.Second
	mostPause  = 5 * time.Minute
	keyPause   = 15 * time.Second // allowances of keys are by the minute
)

// hold lets the batch wait for a reason that concerns all of its lines.
func (r *running) hold(ctx context.Context, reason string, least time.Duration) {
	r.mu.Lock()
	most := mostPause
	if reason == keyLimits {
		most = keyPause
	}
	d := min(max(firstPause<<min(r.pauses, 10), least), most)
	r.pauses++
	r.pausedTo = r.s.now().Add(d)
	changed := r.reason != reason
	r.reason = reason
	r.mu.Unlock()
	if changed {
		r.note(ctx, reason)
	}
}

// note shows the reason of a pause, or that the pause is over. A failure of it is not reported.
func (r *running) note(ctx context.Context, reason string) {
	shown := *r.b
	shown.Paused = reason
	if err := r.s.keep(ctx, &shown, InProgress); err != nil && !fault.Is(err, fault.Conflict) {
		r.s.cfg.Report("the pause of a batch cannot be noted", r.b.ID, err)
	}
}

// goodBeforeMore is how many lines must succeed before one more is called at a time.
const goodBeforeMore = 16

// fewer has fewer lines called at a time, where others are under way: what they hold comes back. It reports whether there are others.
func (r *running) fewer() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy == 0 {
		return false
	}
	r.most, r.good = max(min(r.most, r.busy), 1), 0
	return true
}

// resumed notes that a line was called: what kept the batch waiting is over.
func (r *running) resumed(ctx context.Context) {
	r.mu.Lock()
	if r.good++; r.good >= goodBeforeMore && r.most < r.s.cfg.PerUser {
		r.most, r.good = r.most+1, 0
	}
	was := r.reason
	r.pauses, r.reason = 0, ""
	r.mu.Unlock()
	if was != "" {
		r.note(ctx, "")
	}
}

// call calls a line, and writes what became of it. It fails when the batch cannot go on here.
func (r *running) call(ctx context.Context, it *Item, text []byte) error {
	s, b := r.s, r.b
	caller, stop, err := s.caller(ctx, b)
	switch {
	case stop != nil:
		r.back(it, 0)
		return s.giveUp(ctx, b, *stop)
	case err != nil:
		r.back(it, 0)
		r.hold(ctx, noStore, 0)
		return nil
	}
	if !s.runner.Spare(caller) {
		r.back(it, 0)
		r.hold(ctx, keyLimits, 0)
		return nil
	}
	prior, err := s.prepare(ctx, b, it)
	if err == nil && text == nil {
		text, err = s.textOf(ctx, b, it)
	}
	var body []byte
	if err == nil {
		body, err = s.read(b, it, text)
	}
	if err == nil && r.offers && !it.own && !it.unclear && s.now().Before(b.ExpiresAt.Add(-s.cfg.Window/rescueShare)) {
		taken, answer := r.offer(ctx, it, caller, body)
		if taken {
			return nil
		}
		if answer != nil {
			return r.ended(ctx, it, *answer, prior)
		}
	}
	if err == nil {
		short, cancel := s.short(ctx)
		err = s.Store.StartItem(short, b, it)
		cancel()
	}
	switch {
	case fault.Is(err, fault.Conflict), fault.Is(err, fault.NotFound), fault.Is(err, fault.Internal):
		r.back(it, 0)
		return err
	case err != nil:
		r.back(it, again)
		r.hold(ctx, noStore, 0)
		return nil
	}
	answer := s.perform(ctx, b, it, caller, body)
	return r.ended(ctx, it, answer, prior)
}

// invalidKey is the code of the problem of a batch whose key was disabled.
const invalidKey = "invalid_key"

// caller finds the account that pays for a batch. stop is the reason if none does any more.
func (s *Service) caller(ctx context.Context, b *Batch) (c *apikey.Caller, stop *Problem, err error) {
	short, cancel := s.short(ctx)
	defer cancel()
	c, err = s.Caller(short, b.Key)
	switch {
	case fault.Is(err, fault.Authentication), err == nil && c.User != b.User:
		return nil, &Problem{Code: invalidKey, Message: "The API key that made the batch was deleted or disabled, or has expired, so the rest was not called."}, nil
	case err != nil:
		return nil, nil, err
	}
	if err := Keeps(c, "a batch"); err != nil {
		return nil, &Problem{Code: "zero_data_retention", Message: "The account or key requires zero data retention by now, so the rest was not called."}, nil
	}
	return c, nil, nil
}

// giveUp cancels a batch for a reason of ours.
func (s *Service) giveUp(ctx context.Context, b *Batch, why Problem) error {
	short, cancel := s.short(ctx)
	defer cancel()
	if err := s.Store.CancelBatch(short, b.ID, s.now(), []Problem{why}, nil); err != nil {
		return err
	}
	return fault.New(fault.Conflict, "batch.giveUp", why.Message)
}

// prepare names the call of a line. What an earlier worker has begun may have been charged: then prior is what is known of that, and the call
// keeps its name, under which the ledger charges once. Else its name is used up, so that a charge of it that comes later, out of the journal
// of a node that has died, does not count.
func (s *Service) prepare(ctx context.Context, b *Batch, it *Item) (prior Charge, err error) {
	if it.unclear {
		short, cancel := s.short(ctx)
		defer cancel()
		prior, err = s.Charge(short, b.Wallet, it.Generation)
		if err == nil && !prior.Known {
			if err = s.Void(short, b, it.Generation); err == nil {
				prior, err = s.Charge(short, b.Wallet, it.Generation)
			}
		}
		switch {
		case err != nil:
			return prior, err
		case !prior.Known:
			return prior, fault.New(fault.StorageUnavailable, "batch.prepare", "It cannot be found out yet whether a call was charged.")
		case !prior.Settled:
			it.Tries++
			it.unclear = false
		}
	}
	it.Generation = b.generation(it)
	return prior, nil
}

// textOf reads the text of a line again.
func (s *Service) textOf(ctx context.Context, b *Batch, it *Item) ([]byte, error) {
	r, _, err := s.Contents.Open(ctx, b.Input, it.Offset, it.Length)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	text := make([]byte, it.Length)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, fault.New(fault.StorageUnavailable, "batch.text", "The file could not be read.").Because(err)
	}
	return text, nil
}

// read finds the name and the request of a line. It was good when it was checked.
func (s *Service) read(b *Batch, it *Item, text []byte) (body []byte, err error) {
	line, problem := s.Wire.Line(b, text)
	if problem != nil {
		return nil, fault.New(fault.Internal, "batch.read", "").Because(fmt.Errorf("line %d is not what it was: %s", it.Line, problem.Code))
	}
	it.CustomID = line.CustomID
	return line.Body, nil
}

// perform makes the call of a line.
func (s *Service) perform(ctx context.Context, b *Batch, it *Item, caller *apikey.Caller, body []byte) Answer {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.RunFor)
	defer cancel()
	return s.runner.Run(ctx, &Call{Caller: caller, Endpoint: b.Endpoint, Body: body, Generation: it.Generation, Version: b.Version, Betas: b.Betas, Tags: b.Tags})
}

// ended writes what became of a call.
func (r *running) ended(ctx context.Context, it *Item, a Answer, prior Charge) error {
	s := r.s
	verdict := s.judge(ctx, it, &a)
	it.fails++
	if verdict.again && !it.unclear {
		it.Tries++ // the next call has another name
	}
	if err := s.end(ctx, r.b, it, &a, prior, verdict); err != nil {
		if fault.Is(err, fault.Conflict) {
			r.done()
			return err
		}
		// What is not written down is done again under the same name, and not charged again.
		it.Stage, it.unclear = Running, true
		r.back(it, again)
		r.hold(ctx, noStore, 0)
		return nil
	}
	if verdict.again {
		r.back(it, verdict.after)
		if verdict.pause != "" && !r.fewer() {
			r.hold(ctx, verdict.pause, verdict.after)
		}
		return nil
	}
	r.done()
	r.resumed(ctx)
	return nil
}

// verdict is what follows from an answer.
type verdict struct {
	again bool          // the line is tried again
	after time.Duration // not before
	pause string        // all of the batch waits, for this reason
}

// judge decides whether a line is tried again. What was charged never is.
func (s *Service) judge(ctx context.Context, it *Item, a *Answer) verdict {
	if a.Err == nil || a.Record != nil && a.Record.Settled {
		return verdict{}
	}
	backoff := min(firstPause<<min(it.fails, 6), mostPause)
	switch a.Err.Kind {
	case fault.PaymentRequired:
		if a.Err.RetryAfter > 0 { // only the calls that run are in the way
			return verdict{again: true, after: max(backoff, min(a.Err.RetryAfter, mostPause))}
		}
		return verdict{again: true, pause: noMoney}
	case fault.RateLimited, fault.Overloaded, fault.StorageUnavailable, fault.Draining, fault.ProviderOverloaded, fault.NoProvider:
		return verdict{again: true, after: max(backoff, min(a.Err.RetryAfter, mostPause))}
	case fault.ProviderUnavailable, fault.Timeout, fault.Canceled:
		if ctx.Err() != nil || it.fails+1 < s.cfg.Tries {
			return verdict{again: true, after: backoff}
		}
	}
	return verdict{}
}

// end writes the result of a line, or that it is to be tried again.
func (s *Service) end(ctx context.Context, b *Batch, it *Item, a *Answer, prior Charge, v verdict) error {
	it.Stage, it.Outcome, it.Status, it.Body, it.RequestID = Waiting, Open, 0, nil, ""
	if v.again && it.unclear {
		it.Stage = Running // an earlier call may have been charged under its name, which it keeps
	}
	if !v.again {
		it.Stage, it.Outcome, it.Status, it.Body, it.RequestID = Done, Succeeded, int64(a.Status), a.Body, a.RequestID
		if a.Err != nil {
			it.Outcome = Errored
		}
		it.charge(a, prior)
	}
	// Written even when this node stops: else the call would be made again.
	short, cancel := s.short(context.WithoutCancel(ctx))
	defer cancel()
	err := s.Store.EndItem(short, b, it)
	if err == nil && it.Stage == Done {
		s.observed(it.Outcome, 1)
	}
	return err
}

// charge notes what a line has cost.
func (it *Item) charge(a *Answer, prior Charge) {
	switch rec := a.Record; {
	case prior.Settled:
		it.Cost, it.Prompt, it.Cached, it.Completion, it.Reasoning = prior.Cost, prior.Prompt, prior.Cached, prior.Completion, prior.Reasoning
	case rec != nil && rec.Settled:
		u := &rec.Usage
		it.Cost, it.Prompt, it.Cached, it.Completion, it.Reasoning = rec.Cost, max(u.Prompt.N, 0), max(u.CacheRead.N, 0), max(u.Completion.N, 0), max(u.Reasoning.N, 0)
	}
}
