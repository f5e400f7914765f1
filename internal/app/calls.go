package app

import (
	"context"

	"weir/internal/adminapi"
	"weir/internal/record"
	"weir/internal/report"
)

// Calls lists calls as the page of operators does, a page at a time and the newest first, until yield returns false. Those that are still in the journal of
// a node are not among them.
func (o *Admin) Calls(ctx context.Context, s report.Search, yield func([]record.Call, adminapi.CallNames) (more bool, err error)) error {
	r := report.New(o.Store.Ledger, atRest{o.Store.Ledger})
	return r.Pages(ctx, s, func(calls []record.Call) (bool, error) {
		names, err := adminapi.NamesOfCalls(ctx, r, calls)
		if err != nil {
			return false, err
		}
		return yield(calls, names)
	})
}
