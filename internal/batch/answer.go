package batch

import (
	"context"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
)

// answer has the answer of a provider paid, and written. done is false when that must be tried again. It is a call like any other, whose
// provider has answered already, so that it is charged once, whatever dies.
func (r *running) answer(ctx context.Context, p *Part, it *Item, res *Result) (done bool, err error) {
	s, b := r.s, r.b
	caller, with, err := r.payer(ctx, it)
	if err != nil {
		return false, nil
	}
	prior, err := s.prepare(ctx, b, it)
	var text, body []byte
	if err == nil {
		text, err = s.textOf(ctx, b, it)
	}
	if err == nil {
		body, err = s.read(b, it, text)
	}
	if err == nil {
		short, cancel := s.short(ctx)
		err = s.Store.StartItem(short, b, it)
		cancel()
	}
	switch {
	case fault.Is(err, fault.Conflict), fault.Is(err, fault.NotFound), fault.Is(err, fault.Internal):
		return false, err
	case err != nil:
		return false, nil
	}
	if s.turns.Enter(ctx, b.User) != nil {
		return false, nil
	}
	tag, _ := catalog.Untagged(p.Upstream)
	c := &Call{Caller: caller, Preset: with, Endpoint: b.Endpoint, Body: body, Generation: it.Generation, Version: b.Version, Betas: b.Betas, Tags: b.Tags, Held: it.held,
		Deferred: &completion.Deferred{Endpoint: p.Endpoint, Key: tag, Answer: &completion.DeferredAnswer{Status: res.Status, Body: res.Body}}}
	it.held = nil
	a := func() Answer {
		defer s.turns.Leave(b.User)
		short, cancel := context.WithTimeout(ctx, s.cfg.RunFor)
		defer cancel()
		return s.runner.Run(short, c)
	}()
	it.held = c.Held
	v := s.judge(ctx, it, &a)
	it.fails++
	wait := v.again && (ours(a.Err) || a.Err.Upstream == nil)
	if v.again && !it.unclear {
		it.Tries++
	}
	if v.again && !wait {
		it.Part = "" // the provider failed this request: it is made by itself
	}
	if err := s.end(ctx, b, it, &a, prior, v); err != nil {
		it.Part, it.unclear = p.ID, true
		if fault.Is(err, fault.Conflict) {
			return false, err
		}
		return false, nil
	}
	switch {
	case wait:
		if v.pause != "" && !r.draining {
			r.hold(ctx, v.pause, 0)
		}
		return false, nil
	case v.again:
		r.returned([]*Item{it}, true)
		return true, nil
	}
	it.free()
	r.mu.Lock()
	r.waiting--
	r.mu.Unlock()
	r.resumed(ctx)
	return true, nil
}

// rehold holds again, as far as the balance allows, what the lines of a part may cost that an earlier worker has sent.
func (r *running) rehold(ctx context.Context, p *Part) {
	s, b := r.s, r.b
	for _, line := range sortedLines(p.lines) {
		it := p.lines[line]
		if it.held != nil || it.unclear || r.over() {
			continue
		}
		caller, with, err := r.payer(ctx, it)
		if err != nil {
			return
		}
		text, err := s.textOf(ctx, b, it)
		if err != nil {
			return
		}
		body, err := s.read(b, it, text)
		if err != nil {
			return
		}
		c := &Call{Caller: caller, Preset: with, Endpoint: b.Endpoint, Body: body, Generation: it.Generation, Version: b.Version, Betas: b.Betas, Tags: b.Tags, Deferred: &completion.Deferred{}}
		a := s.runner.Run(ctx, c)
		it.held, it.required = c.Held, c.Deferred.Required
		if it.held == nil && a.Err != nil && ours(a.Err) {
			return // later lines would not be held for, either
		}
	}
}
