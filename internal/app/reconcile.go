package app

import (
	"context"
	"time"

	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/reconcile"
	"weir/internal/report"
)

// reconcilePage is how many calls are read at a time.
const reconcilePage = 1000

// Reconcile compares what a provider exported with the calls that are in the database. Calls that are still in the journal of a node, at most those of
// the last seconds, are not among them, so the day must be over.
func (o *Admin) Reconcile(ctx context.Context, provider string, rows []reconcile.Row, tolerance money.Nano, now time.Time) (reconcile.Result, error) {
	const op = "app.Reconcile"
	today := now.UTC().Format(time.DateOnly)
	first, last := "", ""
	for i := range rows {
		if rows[i].Day >= today {
			return reconcile.Result{}, fault.Newf(fault.Invalid, op, "%s is of %s, which is not over: export days until yesterday.", rows[i].Place, rows[i].Day)
		}
		if first == "" || rows[i].Day < first {
			first = rows[i].Day
		}
		last = max(last, rows[i].Day)
	}
	if len(rows) == 0 {
		return reconcile.Match(rows, nil, tolerance)
	}
	from, err := time.Parse(time.DateOnly, first)
	if err != nil {
		return reconcile.Result{}, err
	}
	to, err := time.Parse(time.DateOnly, last)
	if err != nil {
		return reconcile.Result{}, err
	}
	kept, err := o.Store.Ledger.KeptSince(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	if kept.After(from) {
		return reconcile.Result{}, fault.Newf(fault.Invalid, op, "The calls before %s were dropped (store.retention): export days since then.", kept.Format(time.DateOnly))
	}
	calls, err := o.callsOf(ctx, provider, from.AddDate(0, 0, -1), to.AddDate(0, 0, 2))
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Match(rows, calls, tolerance)
}

func (o *Admin) callsOf(ctx context.Context, provider string, from, to time.Time) (calls []reconcile.Call, err error) {
	s := report.Search{Filter: report.Filter{Provider: provider}, From: from, To: to, Limit: reconcilePage}
	for {
		w, err := o.Store.Ledger.SearchAll(ctx, s, reconcilePage)
		if err != nil {
			return nil, err
		}
		for i := range w.Calls {
			if c, billed := reconcile.CallOf(&w.Calls[i]); billed {
				calls = append(calls, c)
			}
		}
		switch {
		case len(calls) > reconcile.MaxCalls:
			return nil, fault.Newf(fault.Invalid, "app.Reconcile", "These days have more than %d calls of this provider: export fewer days.", reconcile.MaxCalls)
		case w.End == report.Place{}:
			return calls, nil
		}
		s.After = w.End
	}
}
