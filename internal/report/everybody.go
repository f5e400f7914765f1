package report

import (
	"context"
	"time"

	"weir/internal/record"
)

// wideWindow is how many calls one step of a search over all accounts looks at: they are scattered over the table.
const wideWindow = 1000

// AllCalls lists calls of all accounts, the newest first. A page may be short, as those of Calls.
func (r *Reporter) AllCalls(ctx context.Context, s Search) (p Page, err error) {
	if _, err = r.book.CatchUp(ctx); err != nil {
		return p, err
	}
	most := s.Limit
	for range windows {
		if s.Filter.Model != "" || s.Filter.Provider != "" { // roll-ups know where nothing is to be found
			before := s.To
			if s.After != (Place{}) && s.After.At.Before(before) {
				before = s.After.At.Add(time.Microsecond)
			}
			hour, err := r.store.LastHourOfAll(ctx, s.Filter, s.From, before)
			if err != nil || hour.IsZero() {
				return Page{Calls: p.Calls}, err
			}
			if end := hour.Add(time.Hour); end.Before(s.To) {
				s.To = end
			}
		}
		s.Limit = most - len(p.Calls)
		w, err := r.store.SearchAll(ctx, s, wideWindow)
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

// CallOfRequest is the generation of the call that a request made, "" for none: by the second that the id of the request begins with.
func (r *Reporter) CallOfRequest(ctx context.Context, request string) (string, error) {
	at, ok := record.RequestSecond(request)
	if !ok {
		return "", nil
	}
	if _, err := r.book.CatchUp(ctx); err != nil {
		return "", err
	}
	return r.store.CallOfRequest(ctx, request, at)
}
