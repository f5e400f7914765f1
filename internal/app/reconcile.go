package app

import (
	"context"
	"time"

	"weir/internal/money"
	"weir/internal/reconcile"
	"weir/internal/reconcile/usagefile"
	"weir/internal/store"
)

// reconciler compares files of providers with the calls of a store.
func reconciler(s *store.Store, now func() time.Time) *reconcile.Manager {
	return &reconcile.Manager{Calls: s.Ledger, Store: s.Ledger, Reader: usagefile.Reader{}, Now: now}
}

// Reconcile is reconcile.Manager.Compare.
func (o *Admin) Reconcile(ctx context.Context, provider string, rows []reconcile.Row, tolerance money.Nano, now time.Time) (reconcile.Result, error) {
	return reconciler(o.Store, func() time.Time { return now }).Compare(ctx, provider, rows, nil, tolerance)
}
