package batch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"weir/internal/fault"
	"weir/internal/loop"
)

// Start starts the work on batches, which goes on until Close. runner makes their calls.
func (s *Service) Start(runner Runner) {
	s.runner = runner
	s.looks.Start()
	if s.Native != nil {
		s.clears.Start()
	}
}

// Wake has the worker look for due batches at once. It never blocks.
func (s *Service) Wake() { s.looks.Wake() }

// Close begins no more calls and waits for those under way until ctx ends; what is left then is broken off, and is done again by the next
// worker. It ends what Start began.
func (s *Service) Close(ctx context.Context) {
	s.mu.Lock()
	if !s.closing {
		s.closing = true
		close(s.soon)
	}
	s.mu.Unlock()
	s.looks.Stop()
	s.clears.Stop()
	loop.Finish(ctx, &s.work, func() { s.cancel(fault.New(fault.Draining, "batch.Close", "The gateway was shut down.")) })
	s.cancel(nil)
}

func (s *Service) stopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

func (s *Service) look(ctx context.Context) time.Duration {
	s.take(ctx)
	if now := s.local(); now.Sub(s.swept) >= sweepEvery && s.synced.Load() {
		s.swept = now
		s.Sweep(ctx)
	}
	s.measure(ctx)
	return s.cfg.LookEvery
}

// take begins to work on batches that are due.
func (s *Service) take(ctx context.Context) {
	if s.stopping() {
		return
	}
	list, err := s.claimed(ctx)
	if err != nil && ctx.Err() == nil {
		s.cfg.Report("batches cannot be read from the store", "", err)
	}
	for _, b := range list {
		s.work.Go(func() { s.carryHeld(b) })
	}
}

// claimed claims batches that are due, as many as there is room for.
func (s *Service) claimed(ctx context.Context) ([]*Batch, error) {
	s.mu.Lock()
	room := s.cfg.MaxHeld - len(s.held)
	held := slices.Collect(maps.Keys(s.held))
	s.mu.Unlock()
	if room <= 0 {
		return nil, nil
	}
	list, err := s.claim(ctx, room, held)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range list {
		s.held[b.ID] = true
	}
	return list, err
}

// carryHeld works on a batch that is held.
func (s *Service) carryHeld(b *Batch) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.held, b.ID)
	}()
	s.carry(b)
}

func (s *Service) claim(ctx context.Context, room int, held []string) ([]*Batch, error) {
	if err := s.sync(ctx); err != nil {
		return nil, err
	}
	short, cancel := s.short(ctx)
	defer cancel()
	return s.Store.ClaimBatches(short, s.Member.Node(), s.Member.Epoch(), s.now(), room, held)
}

// Step works on the batches that are due, one after the other, in the caller's goroutine. It is for tests, instead of Start.
func (s *Service) Step(ctx context.Context, runner Runner) error {
	s.runner = runner
	list, err := s.claimed(ctx)
	for _, b := range list {
		s.carryHeld(b)
	}
	return err
}

// again is how long a batch waits whose work failed for a reason that has nothing to do with it.
const again = 5 * time.Second

// carry works on a batch until it has ended, or another node has it, or this node stops.
func (s *Service) carry(b *Batch) {
	defer func() {
		if p := recover(); p != nil {
			s.panicked(b, p)
			s.release(b)
		}
	}()
	for !b.State.Final() {
		err := s.step(s.ctx, b)
		switch {
		case s.stopping():
			s.release(b)
			return
		case fault.Is(err, fault.Conflict):
			if !s.reread(b) {
				return
			}
		case fault.Is(err, fault.NotFound) && s.giveUpLost(b):
			if !s.reread(b) {
				return
			}
		case err != nil:
			s.cfg.Report("a batch cannot go on", b.ID, err)
			s.release(b)
			return
		}
	}
	s.clear(s.ctx)
}

var errPanic = errors.New("panic")

// panicked reports a panic, without its value, which may quote content.
func (s *Service) panicked(b *Batch, p any) {
	s.cfg.Report("panic in a batch", b.ID, fmt.Errorf("%w of type %T\n%s", errPanic, p, debug.Stack()))
}

// giveUpLost cancels a batch whose requests somebody has deleted from the store of files, and reports whether it did.
func (s *Service) giveUpLost(b *Batch) bool {
	if b.State != Validating && b.State != InProgress {
		return false
	}
	short, cancel := s.short(s.ctx)
	defer cancel()
	if s.Contents.Ready(short) != nil {
		return false
	}
	err := s.Store.CancelBatch(short, b.ID, s.now(), []Problem{{Code: "file_lost", Message: "The file with the requests is gone, so the rest was not called."}}, nil)
	s.cfg.Report("the requests of a batch are gone from the store of files", b.ID, err)
	return err == nil
}

// reread reads the state of a batch that somebody has changed, and reports whether it is still this worker's.
func (s *Service) reread(b *Batch) bool {
	short, cancel := s.short(s.ctx)
	defer cancel()
	now, err := s.Store.OwnBatch(short, b.ID, b.Fence)
	if err != nil {
		return false // another has it, or it is claimed again when this node is found to be dead
	}
	*b = *now
	return true
}

// release lets other nodes, and this one, claim the batch.
func (s *Service) release(b *Batch) {
	ctx, cancel := s.short(context.Background())
	defer cancel()
	own, err := s.Store.OwnBatch(ctx, b.ID, b.Fence)
	if err == nil && !own.State.Final() {
		own.DueAt = s.now()
		if !s.stopping() {
			own.DueAt = own.DueAt.Add(again)
		}
		err = s.Store.KeepBatch(ctx, own, own.State, true)
	}
	if err != nil && !fault.Is(err, fault.Conflict) {
		s.cfg.Report("a batch cannot be released; it is when this node is found to be dead", b.ID, err)
	}
}

// step does what the state of a batch calls for.
func (s *Service) step(ctx context.Context, b *Batch) error {
	switch b.State {
	case Validating:
		return s.validate(ctx, b)
	case InProgress:
		return s.run(ctx, b)
	}
	return s.finish(ctx, b)
}

// keep writes the batch after a transition.
func (s *Service) keep(ctx context.Context, b *Batch, from State) error {
	short, cancel := s.short(ctx)
	defer cancel()
	return s.Store.KeepBatch(short, b, from, false)
}

func (s *Service) input(b *Batch) source {
	return func(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
		r, _, err := s.Contents.Open(ctx, b.Input, offset, length)
		return r, err
	}
}

// open reads the lines of a batch.
func (s *Service) open(ctx context.Context, b *Batch) (*lines, error) {
	short, cancel := s.short(ctx)
	defer cancel()
	f, err := s.Store.File(short, b.User, b.Input, b.CreatedAt) // it stays until the batch has ended, whatever its time
	if err != nil {
		return nil, err
	}
	return newLines(s.input(b), f.Bytes, s.cfg.MaxLineBytes), nil
}

// mostProblems is how many wrong lines are named.
const mostProblems = 20

// validate checks all lines. Nothing is called unless all of them are good.
func (s *Service) validate(ctx context.Context, b *Batch) error {
	problems, total, err := s.check(ctx, b)
	if err != nil {
		return err
	}
	now := s.now()
	b.Total = total
	if len(problems) > 0 {
		b.Problems, b.EndedAt = problems, now
		if err := b.to(Failed); err != nil {
			return err
		}
		short, cancel := s.short(ctx)
		defer cancel()
		return s.Store.EndBatch(short, b, Validating, nil)
	}
	if err := b.to(InProgress); err != nil {
		return err
	}
	b.StartedAt = now
	return s.keep(ctx, b, Validating)
}

func (s *Service) check(ctx context.Context, b *Batch) (problems []Problem, total int64, err error) {
	input, err := s.open(ctx, b)
	if err != nil {
		return nil, 0, err
	}
	seen := map[string]int64{}
	for len(problems) < mostProblems {
		if s.stopping() {
			return nil, 0, fault.New(fault.Draining, "batch.check", "The gateway is shutting down.")
		}
		one, err := input.after(ctx)
		if err == io.EOF {
			break
		}
		if err == errLong {
			problems = append(problems, Problem{"line_too_long", "", fmt.Sprintf("The line is longer than %d bytes.", s.cfg.MaxLineBytes), one.number})
			break
		}
		if err != nil {
			return nil, 0, err
		}
		if total++; total > s.cfg.MaxLines {
			problems = append(problems, Problem{"too_many_requests", "", fmt.Sprintf("A batch can have at most %d requests. Divide it.", s.cfg.MaxLines), one.number})
			break
		}
		read, problem := s.Wire.Line(b, one.text)
		if problem == nil {
			if first, twice := seen[read.CustomID]; twice {
				problem = &Problem{Code: "duplicate_custom_id", Param: "custom_id", Message: fmt.Sprintf("The custom_id is that of line %d, too. Each must be unique.", first)}
			}
		}
		if problem != nil {
			problem.Line = one.number
			problems = append(problems, *problem)
			continue
		}
		seen[read.CustomID] = one.number
	}
	if total == 0 && len(problems) == 0 {
		problems = append(problems, Problem{"empty_file", "", "The file has no requests.", 0})
	}
	return problems, total, nil
}

const (
	sweepEvery  = 10 * time.Minute
	sweepAtOnce = 500
	sweepMargin = 6 * time.Hour // more than the clocks of the database and the blob store can differ
)

// Sweep deletes what has had its time.
func (s *Service) Sweep(ctx context.Context) {
	s.clear(ctx)
	err := loop.Sweep(ctx, s.cfg.StoreFor, sweepAtOnce, func(ctx context.Context, most int) (int, error) {
		return s.Store.SweepBatches(ctx, s.now().Add(-s.cfg.ForgetAfter), most)
	})
	if err == nil {
		_, err = s.Contents.Sweep(ctx, s.now().Add(-s.cfg.KeepFor-s.cfg.Window-sweepMargin), sweepAtOnce)
	}
	if err != nil && ctx.Err() == nil {
		s.cfg.Report("old batches or files cannot be deleted", "", err)
	}
}

// clear deletes the lines of batches that have ended, and the content of files that are gone.
func (s *Service) clear(ctx context.Context) {
	err := loop.Sweep(ctx, s.cfg.StoreFor, sweepAtOnce, s.Store.SweepItems)
	for err == nil {
		short, cancel := s.short(ctx)
		var gone []string
		gone, err = s.Store.GoneFiles(short, s.now(), sweepAtOnce)
		cancel()
		erased := 0
		for _, id := range gone {
			if s.erase(ctx, id) {
				erased++
			}
		}
		if erased < sweepAtOnce {
			break
		}
	}
	if err != nil && ctx.Err() == nil {
		s.cfg.Report("what ended batches have left cannot be deleted yet", "", err)
	}
}
