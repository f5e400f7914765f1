package storetest

import (
	"context"
	"runtime"
	"sync"

	"weir/internal/batch"
)

// pace lets the clock go on only while a node waits. The suite's waits end at once and put the clock forward, so without it a store that is slow,
// as beside other work, would cost hours of the clock, and batches would expire.
type pace struct {
	mu   sync.Mutex
	busy int           // acts that have begun and not ended
	rest chan struct{} // closed when there are none
}

func (p *pace) act(do func() error) error {
	p.mu.Lock()
	if p.busy++; p.busy == 1 {
		p.rest = make(chan struct{})
	}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.busy--; p.busy == 0 {
			close(p.rest)
		}
	}()
	return do()
}

// wait returns when the node does nothing, or when ctx ends.
func (p *pace) wait(ctx context.Context) {
	runtime.Gosched() // workers between two acts come first: many waits fit into the time that one goroutine may run
	for ctx.Err() == nil {
		p.mu.Lock()
		busy, rest := p.busy, p.rest
		p.mu.Unlock()
		if busy == 0 {
			return
		}
		select {
		case <-rest:
		case <-ctx.Done():
		}
	}
}

// pacedStore counts what the workers on a batch ask of the store.
type pacedStore struct {
	batch.Store
	*pace
}

func (s pacedStore) OwnBatch(ctx context.Context, id string, fence int64) (b *batch.Batch, err error) {
	err = s.act(func() error { b, err = s.Store.OwnBatch(ctx, id, fence); return err })
	return b, err
}

func (s pacedStore) KeepBatch(ctx context.Context, b *batch.Batch, from batch.State, release bool) error {
	return s.act(func() error { return s.Store.KeepBatch(ctx, b, from, release) })
}

func (s pacedStore) AddPart(ctx context.Context, b *batch.Batch, p *batch.Part, items []*batch.Item, terms map[string][]byte) error {
	return s.act(func() error { return s.Store.AddPart(ctx, b, p, items, terms) })
}

func (s pacedStore) KeepPart(ctx context.Context, b *batch.Batch, p *batch.Part) error {
	return s.act(func() error { return s.Store.KeepPart(ctx, b, p) })
}

func (s pacedStore) Parts(ctx context.Context, id string) (list []batch.Part, err error) {
	err = s.act(func() error { list, err = s.Store.Parts(ctx, id); return err })
	return list, err
}

func (s pacedStore) StartItem(ctx context.Context, b *batch.Batch, it *batch.Item) error {
	return s.act(func() error { return s.Store.StartItem(ctx, b, it) })
}

func (s pacedStore) EndItem(ctx context.Context, b *batch.Batch, it *batch.Item) error {
	return s.act(func() error { return s.Store.EndItem(ctx, b, it) })
}

func (s pacedStore) Items(ctx context.Context, id string, after int64, n int, bodies bool, outcomes ...batch.Outcome) (list []batch.Item, err error) {
	err = s.act(func() error { list, err = s.Store.Items(ctx, id, after, n, bodies, outcomes...); return err })
	return list, err
}

func (s pacedStore) EndBatch(ctx context.Context, b *batch.Batch, from batch.State, files []batch.File) error {
	return s.act(func() error { return s.Store.EndBatch(ctx, b, from, files) })
}

// pacedNative counts what they ask of a provider.
type pacedNative struct {
	batch.Native
	*pace
}

func (n pacedNative) Submit(ctx context.Context, s *batch.Submission) (id string, err error) {
	err = n.act(func() error { id, err = n.Native.Submit(ctx, s); return err })
	return id, err
}

func (n pacedNative) Find(ctx context.Context, p *batch.Part) (found batch.Found, err error) {
	err = n.act(func() error { found, err = n.Native.Find(ctx, p); return err })
	return found, err
}

func (n pacedNative) Look(ctx context.Context, p *batch.Part) (progress batch.Progress, err error) {
	err = n.act(func() error { progress, err = n.Native.Look(ctx, p); return err })
	return progress, err
}

func (n pacedNative) Results(ctx context.Context, p *batch.Part, each func(*batch.Result) error) error {
	return n.act(func() error { return n.Native.Results(ctx, p, each) })
}

func (n pacedNative) Clear(ctx context.Context, p *batch.Part) error {
	return n.act(func() error { return n.Native.Clear(ctx, p) })
}

func (n pacedNative) Cancel(ctx context.Context, p *batch.Part) error {
	return n.act(func() error { return n.Native.Cancel(ctx, p) })
}
