package ledger

import (
	"context"
	"errors"
	"slices"
	"time"

	"weir/internal/fault"
	"weir/internal/ledger/journal"
	"weir/internal/loop"
)

// maxBatch bounds the records in one transaction of the store.
const maxBatch = 1000

// applyTimeout bounds one transaction of the applier.
const applyTimeout = 10 * time.Second

// Flush returns when everything that was settled before the call is in the store. It fails with fault.StorageUnavailable when the store
// is unavailable; the journal keeps the records.
func (b *Book) Flush(ctx context.Context) error { return b.flush(ctx, applyTimeout) }

// CatchUp is Flush for a read that can do without. When the store takes nothing, or takes long, late says why, and what was settled lately is
// in the journal alone. It fails only when ctx ends.
func (b *Book) CatchUp(ctx context.Context) (late, err error) {
	if b.behind.Load() && b.applied.Load() < b.journal.End() {
		return storeAway("ledger.CatchUp", errBehind), nil // the applier tries all the time
	}
	short, cancel := context.WithTimeout(ctx, b.cfg.StoreFor)
	defer cancel()
	if late = b.flush(short, b.cfg.StoreFor); late != nil && ctx.Err() != nil {
		return nil, late
	}
	return late, nil
}

var errBehind = errors.New("the store takes no settlements at present")

// flush gives each transaction that it makes itself that much time.
func (b *Book) flush(ctx context.Context, each time.Duration) error {
	if err := b.journal.Write(); err != nil {
		return err
	}
	target := b.journal.End()
	if b.applied.Load() >= target {
		return nil
	}
	select {
	case b.applying <- struct{}{}:
		defer func() { <-b.applying }()
	case <-ctx.Done():
		return storeAway("ledger.Flush", ctx.Err())
	}
	for b.applied.Load() < target {
		if ctx.Err() != nil {
			return storeAway("ledger.Flush", ctx.Err())
		}
		if err := b.applyBatch(ctx, each); err != nil {
			return err
		}
	}
	return nil
}

// applyBatch brings the next stretch of the journal to the store, or finds out which of its records cannot go there.
func (b *Book) applyBatch(ctx context.Context, within time.Duration) error {
	batch := Batch{Node: b.writer, Life: b.life, From: b.applied.Load(), Now: b.cfg.Now()}
	defer func() { clear(b.stretch.items) }() // their texts are not to be kept
	to, err := b.stretch.read(b.journal, batch.From, b.most)
	if err != nil {
		return err
	}
	unread := b.stretch.decode()
	if unread != nil && len(b.stretch.items) == 0 {
		return b.ours(ctx, b.setAside(ctx, batch.From, unread))
	}
	if unread != nil { // those before it first
		to = b.stretch.nexts[len(b.stretch.items)-1]
	}
	batch.To, batch.Items = to, b.stretch.items
	batch.Durable = b.journal.Droppable(to)
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	at, err := b.store.Apply(short, &batch)
	b.behind.Store(fault.Is(err, fault.StorageUnavailable))
	switch n := len(batch.Items); {
	case fault.Is(err, fault.Unprocessable) && n > 1:
		b.most = n / 2
		return nil
	case fault.Is(err, fault.Unprocessable) && n == 1:
		return b.ours(ctx, b.setAside(ctx, batch.From, err))
	case err != nil:
		return b.ours(ctx, err)
	}
	b.most = min(2*b.most, maxBatch)
	b.applied.Store(at)
	if batch.Durable && at == to {
		return b.journal.Drop(to)
	}
	return nil
}

// stretch is the space of a batch, used again for the next one.
type stretch struct {
	bytes []byte  // the records, one after another
	ends  []int   // in bytes, of each record
	nexts []int64 // positions after them
	items []Recorded
}

func (s *stretch) read(from *journal.Journal, position int64, most int) (next int64, err error) {
	s.bytes, s.ends, s.nexts, s.items = s.bytes[:0], s.ends[:0], s.nexts[:0], s.items[:0]
	return from.Read(position, func(rec []byte, next int64) error {
		s.bytes = append(s.bytes, rec...)
		s.ends, s.nexts = append(s.ends, len(s.bytes)), append(s.nexts, next)
		if len(s.ends) == most {
			return journal.ErrEnough
		}
		return nil
	})
}

// decode makes items of the records, up to the first that cannot be read, which the error is about.
func (s *stretch) decode() error {
	s.items = slices.Grow(s.items, len(s.ends))
	texts := string(s.bytes)
	lists := lists{piece: 64}
	start := 0
	for i, end := range s.ends {
		s.items = append(s.items, Recorded{Record: s.bytes[start:end:end]})
		if err := s.items[i].decode(texts[start:end], &lists); err != nil {
			s.items[i] = Recorded{}
			s.items = s.items[:i]
			return err
		}
		start = end
	}
	return nil
}

func (b *Book) wakeApplier() {
	if b.asleep.Load() && b.asleep.CompareAndSwap(true, false) {
		b.applier.Wake()
	}
}

// applyRound applies the records of the last ApplyEvery, or of a longer time while the store is unavailable. While there are none it
// waits to be woken.
func (b *Book) applyRound(ctx context.Context) time.Duration {
	b.asleep.Store(true)
	if b.idle() {
		return loop.UntilWoken
	}
	b.asleep.Store(false)
	if loop.Wait(ctx, b.applyPause) != nil {
		return 0
	}
	_ = b.journal.Prepare() // Tick reports it
	err := b.Flush(ctx)
	switch {
	case err == nil:
		if b.applyPause != b.cfg.ApplyEvery {
			b.log.Info("the store takes settlements again")
		}
		b.applyPause = b.cfg.ApplyEvery
	case ctx.Err() == nil:
		if b.applyPause == b.cfg.ApplyEvery {
			b.log.Error("settlements wait in the journal", "bytes", b.Lag(), "error", err)
		}
		b.applyPause = min(2*b.applyPause, max(time.Second, b.cfg.ApplyEvery))
		if fault.Is(err, fault.Internal) { // nothing that time alone heals
			b.log.Error("the journal cannot be applied", "error", err)
			b.applyPause = max(5*time.Second, b.cfg.ApplyEvery)
		}
	}
	return 0
}

// idle reports whether the store has everything.
func (b *Book) idle() bool { return !b.journal.Loose() && b.applied.Load() >= b.journal.End() }
