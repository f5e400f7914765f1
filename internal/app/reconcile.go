package app

import (
	"context"
	"time"

	"weir/internal/catalog"
	"weir/internal/catalog/edit"
	"weir/internal/money"
	"weir/internal/reconcile"
	"weir/internal/reconcile/usagefile"
	"weir/internal/store"
)

// reconciler compares files of providers with the calls of a store. The editor may be nil: then no key is known by its name.
func reconciler(s *store.Store, e *edit.Editor, now func() time.Time) *reconcile.Manager {
	m := &reconcile.Manager{Calls: s.Ledger, Store: s.Ledger, Reader: usagefile.Reader{}, Now: now}
	if e != nil {
		m.Keys = func(ctx context.Context, provider string) ([]reconcile.OurKey, error) {
			return ourKeys(ctx, e, provider)
		}
	}
	return m
}

// ourKeys are the keys of a provider, by what bills may call them.
func ourKeys(ctx context.Context, e *edit.Editor, provider string) (list []reconcile.OurKey, err error) {
	b, err := e.Built(ctx)
	if err != nil {
		return nil, err
	}
	v := b.Provider(provider)
	if v == nil {
		return nil, nil
	}
	for _, d := range declaredKeys(v) {
		list = append(list, reconcile.OurKey{Tag: catalog.KeyTag(d.Key)})
	}
	if v.Row != nil {
		for i := range v.Row.Keys {
			k := &v.Row.Keys[i]
			if tag := v.KeyTags[k.ID]; tag != "" {
				list = append(list, reconcile.OurKey{Tag: tag, ID: k.ID, Note: k.Note})
			}
		}
	}
	return list, nil
}

// Reconciler compares files of providers with the calls. e knows the names of keys.
func (o *Admin) Reconciler(e *edit.Editor, now func() time.Time) *reconcile.Manager {
	return reconciler(o.Store, e, now)
}

// Reconcile is reconcile.Manager.Compare.
func (o *Admin) Reconcile(ctx context.Context, provider string, rows []reconcile.Row, tolerance money.Nano, now time.Time) (reconcile.Result, error) {
	return reconciler(o.Store, nil, func() time.Time { return now }).Compare(ctx, provider, rows, nil, tolerance)
}
