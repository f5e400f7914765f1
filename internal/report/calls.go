package report

import (
	"context"
	"time"

	"weir/internal/record"
)

const (
	// windowSize is how many calls one step of a search looks at, and windows how many steps one page takes: what does not fit costs
	// no more than this.
	windowSize = 2500
	windows    = 2
)

// Page is a page of calls, the newest first.
type Page struct {
	Calls []record.Call
	Next  Place // zero at the end
}

// Calls lists calls. A page may be short, or empty, though there are further ones: then Next says how far the search has come.
func (r *Reporter) Calls(ctx context.Context, s Search) (Page, error) {
	if _, err := r.book.CatchUp(ctx); err != nil {
		return Page{}, err
	}
	return r.page(ctx, s)
}

func (r *Reporter) page(ctx context.Context, s Search) (p Page, err error) {
	most := s.Limit
	for range windows {
		if s.Filter != (Filter{}) { // roll-ups know where nothing is to be found
			before := s.To
			if s.After != (Place{}) {
				before = s.After.At.Add(time.Microsecond)
			}
			hour, err := r.store.LastHour(ctx, s.Wallet, s.Filter, s.From, before)
			if err != nil || hour.IsZero() {
				return Page{Calls: p.Calls}, err
			}
			if end := hour.Add(time.Hour); end.Before(before) {
				s.To, s.After = end, Place{}
			}
		}
		s.Limit = most - len(p.Calls)
		w, err := r.store.SearchCalls(ctx, s, windowSize)
		if err != nil {
			return Page{}, err
		}
		p.Calls = append(p.Calls, w.Calls...)
		p.Next, s.After = w.End, w.End
		if p.Next == (Place{}) || len(p.Calls) >= most {
			break
		}
	}
	return p, nil
}

// All lists all calls that fit, page after page, until yield is false. It flushes once.
func (r *Reporter) All(ctx context.Context, s Search, yield func(*record.Call) bool) error {
	return r.Pages(ctx, s, func(calls []record.Call) (more bool, err error) {
		for i := range calls {
			if !yield(&calls[i]) {
				return false, nil
			}
		}
		return true, nil
	})
}

// Pages is All by pages; without a wallet calls are those of all accounts.
func (r *Reporter) Pages(ctx context.Context, s Search, yield func([]record.Call) (more bool, err error)) error {
	if _, err := r.book.CatchUp(ctx); err != nil {
		return err
	}
	page := r.page
	if s.Wallet == "" {
		page = r.pageOfAll
	}
	for {
		p, err := page(ctx, s)
		if err != nil {
			return err
		}
		if more, err := yield(p.Calls); err != nil || !more || p.Next == (Place{}) {
			return err
		}
		s.After = p.Next
	}
}
