package upstream

import (
	"context"
	"errors"

	"weir/internal/batch"
	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/fault"
)

// Batches implements batch.Native over the dialects of a Client. It is safe for concurrent use.
type Batches struct {
	client  *Client
	catalog func() *catalog.Snapshot
}

var _ batch.Native = (*Batches)(nil)

// NewBatches makes a Batches. The client must outlive it.
func NewBatches(c *Client, snapshot func() *catalog.Snapshot) *Batches {
	return &Batches{client: c, catalog: snapshot}
}

// Offers implements batch.Native.
func (b *Batches) Offers() bool {
	for _, m := range b.catalog().Models() {
		for _, ep := range m.Endpoints {
			if ep.Tier == catalog.BatchTier {
				return true
			}
		}
	}
	return false
}

// Submit implements batch.Native.
func (b *Batches) Submit(ctx context.Context, s *batch.Submission) (id string, err error) {
	begun := false
	err = b.with(ctx, s.Part, func(ask *asking, d dialect.Batcher, _ *batch.Part) error {
		begun = true
		if id, err = d.SubmitBatch(ask, ask.ep, s); err == nil {
			id = ask.signed(id)
		}
		begun = !errors.As(err, new(*batch.NotSubmitted))
		return err
	})
	if err != nil && !begun {
		err = &batch.NotSubmitted{Err: err}
	}
	return id, err
}

// Find implements batch.Native. Each credential may be another account: the part is absent when none of them has it.
func (b *Batches) Find(ctx context.Context, p *batch.Part) (batch.Found, error) {
	ep, t, err := b.target(p)
	if err != nil {
		return batch.Found{}, err
	}
	all := batch.Found{Fate: batch.Absent}
	for _, key := range t.keys.all {
		var got batch.Found
		err := b.on(ctx, ep, t, key.tag, func(ask *asking, d dialect.Batcher) error {
			var err error
			if got, err = d.FindBatch(ask, ep, p); err == nil && got.Fate == batch.Adopted {
				got.ID = ask.signed(got.ID)
			}
			return err
		})
		if err != nil || got.Fate == batch.Adopted {
			return got, err
		}
		if got.Fate == batch.Unknown {
			all.Fate = batch.Unknown
		}
	}
	return all, nil
}

// Look implements batch.Native.
func (b *Batches) Look(ctx context.Context, p *batch.Part) (out batch.Progress, err error) {
	err = b.with(ctx, p, func(ask *asking, d dialect.Batcher, p *batch.Part) error {
		out, err = d.LookBatch(ask, ask.ep, p)
		return err
	})
	return out, err
}

// Results implements batch.Native.
func (b *Batches) Results(ctx context.Context, p *batch.Part, each func(*batch.Result) error) error {
	return b.with(ctx, p, func(ask *asking, d dialect.Batcher, p *batch.Part) error { return d.BatchResults(ask, ask.ep, p, each) })
}

// Cancel implements batch.Native.
func (b *Batches) Cancel(ctx context.Context, p *batch.Part) error {
	return b.with(ctx, p, func(ask *asking, d dialect.Batcher, p *batch.Part) error { return d.CancelBatch(ask, ask.ep, p) })
}

// Clear implements batch.Native.
func (b *Batches) Clear(ctx context.Context, p *batch.Part) error {
	if p.Upstream == "" {
		found, err := b.Find(ctx, p)
		switch {
		case err != nil && !dialect.Gone(err): // else the provider does not list its batches
			return err
		case found.Fate == batch.Adopted:
			known := *p
			known.Upstream = found.ID
			p = &known
		case err == nil && found.Fate == batch.Unknown:
			return fault.New(fault.ProviderUnavailable, "upstream.Clear", "Whether the provider has a batch is not known yet.").Because(batch.ErrWorking)
		}
	}
	clear := func(ask *asking, d dialect.Batcher, p *batch.Part) error { return d.ClearBatch(ask, ask.ep, p) }
	if p.Upstream != "" {
		return b.with(ctx, p, clear)
	}
	ep, t, err := b.target(p)
	if err != nil {
		return err
	}
	for _, key := range t.keys.all { // each may be another account
		if err := b.on(ctx, ep, t, key.tag, func(ask *asking, d dialect.Batcher) error { return clear(ask, d, p) }); err != nil {
			return err
		}
	}
	return nil
}

func (b *Batches) target(p *batch.Part) (*catalog.Endpoint, *target, error) {
	ep := b.catalog().Endpoint(p.Endpoint)
	if ep == nil {
		return nil, nil, fault.New(fault.NoEndpoints, "upstream.Batches", "The endpoint of the batch is no longer in the catalog.")
	}
	t, err := b.client.target(ep.Provider)
	if err != nil {
		return nil, nil, b.client.polish(ep, err)
	}
	return ep, t, nil
}

// with calls do for a part, with the credential that the provider's id of it names, and with that id as it is.
func (b *Batches) with(ctx context.Context, p *batch.Part, do func(ask *asking, d dialect.Batcher, p *batch.Part) error) error {
	ep, t, err := b.target(p)
	if err != nil {
		return err
	}
	tag, id := catalog.Untagged(p.Upstream)
	plain := &batch.Part{ID: p.ID, Endpoint: p.Endpoint, Path: p.Path, Upstream: id, Lines: p.Lines, CreatedAt: p.CreatedAt}
	return b.on(ctx, ep, t, tag, func(ask *asking, d dialect.Batcher) error { return do(ask, d, plain) })
}

func (b *Batches) on(ctx context.Context, ep *catalog.Endpoint, t *target, tag string, do func(*asking, dialect.Batcher) error) error {
	d, ok := t.dialect.(dialect.Batcher)
	if !ok {
		return b.client.polish(ep, dialect.Unsupported(ep, "The provider of this model takes no batches by this wire."))
	}
	ask := &asking{client: b.client, ctx: ctx, ep: ep, req: new(completion.Request), target: t}
	ask.key = t.keys.named(tag)
	if err := do(ask, d); err != nil {
		return b.client.polish(ep, err)
	}
	return nil
}
