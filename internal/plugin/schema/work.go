package schema

import "context"

// work is the budget that is left.
type work struct {
	ctx   context.Context
	left  int
	since int // steps since the context was looked at
	ended bool
}

const stepsBetweenLooks = 10_000

// spend pays for n steps before they are made; false when they must not be.
func (w *work) spend(n int) bool {
	if w.ended || w.left < n {
		w.ended = true
		return false
	}
	w.left -= n
	if w.since += n; w.since >= stepsBetweenLooks {
		w.since = 0
		w.ended = w.ctx.Err() != nil
	}
	return !w.ended
}

// failure says why nothing may be spent any more.
func (w *work) failure() error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	return ErrTooLarge
}
