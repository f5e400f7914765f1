package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/audit"
	"weir/internal/catalog/edit"
	"weir/internal/fault"
	"weir/internal/rate"
	"weir/internal/store"
)

// Catalog checks rows, rates and history of a store. open gives an empty store, and closes it after the test.
func Catalog(t *testing.T, open Open) {
	cases := map[string]func(*testing.T, *store.Store){
		"an empty catalog":               emptyCatalog,
		"rows come back as stored":       catalogRoundTrip,
		"rates in their order":           catalogRates,
		"price lists":                    catalogPriceLists,
		"history in pages":               catalogHistory,
		"a late change is decided again": catalogMoved,
		"racing for a version":           catalogRace,
		"drafts and publications":        catalogDrafts,
		"imports of price lists":         catalogImports,
		"what servers have":              catalogFound,
	}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t, nil))
		})
	}
}

func catalogState(t *testing.T, s *store.Store) edit.State {
	t.Helper()
	state, err := s.Catalog.CatalogState(t.Context())
	if err != nil {
		t.Fatalf("CatalogState: %v", err)
	}
	version, err := s.Catalog.CatalogVersion(t.Context())
	if err != nil || version != state.Version {
		t.Fatalf("CatalogVersion: %d, %v; the state is of version %d", version, err, state.Version)
	}
	return state
}

func commit(t *testing.T, s *store.Store, c edit.Commit) {
	t.Helper()
	if err := s.Catalog.CommitCatalog(t.Context(), c, event(c.Action)); err != nil {
		t.Fatalf("CommitCatalog: %v", err)
	}
}

// put is a commit of a row.
func put(version int64, row edit.Row) edit.Commit {
	row.Version, row.UpdatedAt = version, at.Add(time.Duration(version)*time.Second)
	return edit.Commit{Row: &row, Entry: edit.Entry{Version: version, At: row.UpdatedAt, Actor: actor, Action: audit.CatalogAdded, Kind: row.Kind, ID: row.ID, After: row.Spec}}
}

func emptyCatalog(t *testing.T, s *store.Store) {
	if got := catalogState(t, s); got.Version != 0 || len(got.Rows) != 0 || len(got.Rates) != 0 {
		t.Errorf("state: %+v", got)
	}
	entries, err := s.Catalog.CatalogHistory(t.Context(), 0, 10)
	if err != nil || len(entries) != 0 {
		t.Errorf("history: %+v, %v", entries, err)
	}
}

func catalogRoundTrip(t *testing.T, s *store.Store) {
	provider := edit.Row{Kind: edit.Provider, ID: "hut", Spec: edit.Spec{"name": "Hütte \"\\ \u2028", "base_url": "https://hut.example"}, Keys: []edit.Key{
		{ID: "pkey_a", Sealed: []byte{0, 1, 255}, Last4: "1234", State: edit.KeyDraining, At: at, By: "operator", Note: "the old one"},
		{ID: "pkey_b", Sealed: []byte{2}, State: edit.KeyInUse, At: at.Add(time.Second)},
	}}
	endpoint := edit.Row{Kind: edit.Endpoint, ID: "hut/acme/tiny", Spec: edit.Spec{}, Over: true}
	commit(t, s, put(1, provider))
	commit(t, s, put(2, endpoint))
	if diff := cmp.Diff(provider.Keys, catalogState(t, s).Rows[1].Keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	provider.Spec, provider.Keys = edit.Spec{"name": "Hut"}, []edit.Key{{ID: "pkey_b", Sealed: []byte{3}, State: edit.KeyOff, At: at.Add(time.Second), Note: "again"}}
	commit(t, s, put(3, provider))
	provider.Version, provider.UpdatedAt = 3, at.Add(3*time.Second)
	endpoint.Version, endpoint.UpdatedAt = 2, at.Add(2*time.Second)
	if diff := cmp.Diff(edit.State{Version: 3, Rows: []edit.Row{endpoint, provider}}, catalogState(t, s)); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	commit(t, s, edit.Commit{Entry: edit.Entry{Version: 4, At: at, Actor: actor, Action: audit.CatalogRemoved, Kind: edit.Endpoint, ID: "hut/acme/tiny", Before: edit.Spec{}}})
	if diff := cmp.Diff(edit.State{Version: 4, Rows: []edit.Row{provider}}, catalogState(t, s)); diff != "" {
		t.Errorf("state after a removal (-want +got):\n%s", diff)
	}
	if n, err := audit.Verify(s.Accounts.AuditRows(t.Context())); n != 4 || err != nil {
		t.Errorf("the audit chain has %d rows: %v", n, err)
	}
	commit(t, s, edit.Commit{Entry: edit.Entry{Version: 5, At: at, Actor: actor, Action: audit.CatalogRemoved, Kind: edit.Provider, ID: "hut", Before: edit.Spec{}}})
	provider.Keys = nil
	commit(t, s, put(6, provider))
	if got := catalogState(t, s).Rows[0].Keys; got != nil {
		t.Errorf("a provider that was removed has its keys again: %+v", got)
	}
}

// OneKey checks what the version before this one writes while nodes are upgraded: it knows one key of a provider, beside its row. That counts.
func OneKey(t *testing.T, r Raw) {
	used := func(id string, sealed byte) edit.Key {
		return edit.Key{ID: id, Sealed: []byte{sealed}, Last4: "1234", State: edit.KeyInUse, At: at}
	}
	keys := []edit.Key{used("pkey_a", 1), used("pkey_b", 2)}
	keys[0].State = edit.KeyDraining
	commit(t, r.Store, put(1, edit.Row{Kind: edit.Provider, ID: "hut", Spec: edit.Spec{}, Keys: keys}))
	if n, err := r.Count(`SELECT COUNT(*) FROM catalog_rows WHERE sealed = ` + r.Bytes("02") + ` AND last4 = '1234'`); n != 1 || err != nil {
		t.Errorf("the version before finds no key: %v", err)
	}
	for _, tt := range []struct {
		name, sealed string
		want         []edit.Key
	}{
		{"nothing else", r.Bytes("02"), keys},
		{"another key", r.Bytes("03"), []edit.Key{{ID: "pkey_first", Sealed: []byte{3}, Last4: "1234", State: edit.KeyInUse, At: at.Add(time.Second)}}},
		{"none", "NULL", nil},
	} {
		if err := r.Exec(`UPDATE catalog_rows SET sealed = ` + tt.sealed); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, catalogState(t, r.Store).Rows[0].Keys); diff != "" {
			t.Errorf("after it wrote %s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func setRate(version int64, spec edit.Spec) edit.Commit {
	return edit.Commit{Entry: edit.Entry{Version: version, At: at, Actor: actor, Action: audit.RateSet, Kind: edit.Rate, After: spec}}
}

func catalogRates(t *testing.T, s *store.Store) {
	commit(t, s, setRate(1, edit.Spec{"source": "manual", "rate": "81.5", "from": "2026-03-01T10:00:00.5Z"}))
	commit(t, s, put(2, edit.Row{Kind: edit.Provider, ID: "hut", Spec: edit.Spec{"name": "Hut"}}))
	commit(t, s, setRate(3, edit.Spec{"source": "cbr", "rate": "82.0001", "day": "2026-03-02", "from": "2026-03-01T21:00:00Z"}))
	want := []rate.Record{
		{Version: 1, RubPerUSD: "81.5", Source: rate.Manual, From: time.Date(2026, 3, 1, 10, 0, 0, 5e8, time.UTC), At: at, Actor: "operator"},
		{Version: 3, RubPerUSD: "82.0001", Source: rate.CBR, Day: "2026-03-02", From: time.Date(2026, 3, 1, 21, 0, 0, 0, time.UTC), At: at, Actor: "operator"},
	}
	got := catalogState(t, s)
	if diff := cmp.Diff(want, got.Rates); diff != "" || len(got.Rows) != 1 {
		t.Errorf("rates (-want +got):\n%s; %d rows", diff, len(got.Rows))
	}
}

// Of the published lists those are kept that may be asked for again: in use, before it, and approved last.
func catalogPriceLists(t *testing.T, s *store.Store) {
	for i, p := range []edit.Prices{{List: "a", AsOf: "2026-03-01", Approved: "a"}, {List: "b", Previous: "a", Approved: "a"}, {List: "c", Previous: "b", Approved: "a"}, {List: "d", Previous: "c", Approved: "a"}, {Previous: "d"}, {List: "d", Approved: "d"}} {
		spec := edit.Spec{}
		for name, text := range map[string]string{"list": p.List, "as_of": p.AsOf, "previous": p.Previous, "approved": p.Approved} {
			if text != "" {
				spec[name] = text
			}
		}
		if p.List != "" {
			p.Data = []byte("list " + p.List)
		}
		version := int64(i + 1)
		commit(t, s, edit.Commit{Prices: p, Entry: edit.Entry{Version: version, At: at, Actor: actor, Action: audit.PricesPublished, Kind: edit.PriceList, After: spec}})
		if diff := cmp.Diff(p, catalogState(t, s).Prices); diff != "" {
			t.Errorf("after version %d (-want +got):\n%s", version, diff)
		}
		for _, name := range []string{"a", "b", "c", "d"} {
			data, err := s.Catalog.PriceList(t.Context(), name)
			if kept := name == p.List || name == p.Previous || name == p.Approved; err != nil || (string(data) == "list "+name) != kept {
				t.Errorf("after version %d list %s is %q, %v", version, name, data, err)
			}
		}
	}
}

func catalogHistory(t *testing.T, s *store.Store) {
	row := edit.Row{Kind: edit.Provider, ID: "hut", Spec: edit.Spec{"name": "Hut"}}
	first := put(1, row)
	commit(t, s, first)
	removed := edit.Commit{Entry: edit.Entry{Version: 2, At: at, Actor: actor, Action: audit.CatalogRemoved, Kind: edit.Provider, ID: "hut", Before: row.Spec}}
	commit(t, s, removed)
	for version := int64(3); version <= 6; version++ {
		commit(t, s, put(version, row))
	}
	for _, c := range []struct {
		before   int64
		count    int
		versions []int64
	}{{0, 2, []int64{6, 5}}, {5, 2, []int64{4, 3}}, {3, 10, []int64{2, 1}}, {1, 10, nil}} {
		entries, err := s.Catalog.CatalogHistory(t.Context(), c.before, c.count)
		var versions []int64
		for _, e := range entries {
			versions = append(versions, e.Version)
		}
		if diff := cmp.Diff(c.versions, versions); diff != "" || err != nil {
			t.Errorf("before %d: %v\n%s", c.before, err, diff)
		}
		if c.before == 3 {
			if diff := cmp.Diff([]edit.Entry{removed.Entry, first.Entry}, entries); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
		}
	}
}

func catalogMoved(t *testing.T, s *store.Store) {
	row := edit.Row{Kind: edit.Provider, ID: "hut", Spec: edit.Spec{"name": "Hut"}}
	commit(t, s, put(1, row))
	for _, version := range []int64{0, 1, 3} {
		err := s.Catalog.CommitCatalog(t.Context(), put(version, edit.Row{Kind: edit.Provider, ID: "barn", Spec: edit.Spec{}}), event(audit.CatalogAdded))
		if !errors.Is(err, edit.ErrMoved) || !fault.Is(err, fault.Conflict) {
			t.Errorf("version %d upon 1: %v", version, err)
		}
	}
	if got := catalogState(t, s); got.Version != 1 || len(got.Rows) != 1 {
		t.Errorf("state: %+v", got)
	}
	if n, err := audit.Verify(s.Accounts.AuditRows(t.Context())); n != 1 || err != nil {
		t.Errorf("the audit chain has %d rows: %v", n, err)
	}
}

// Of several that make the same version, one wins and the others must decide again; then all get through.
func catalogRace(t *testing.T, s *store.Store) {
	const racers = 6
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() {
			for {
				version, err := s.Catalog.CatalogVersion(t.Context())
				if err != nil {
					t.Errorf("CatalogVersion: %v", err)
					return
				}
				c := put(version+1, edit.Row{Kind: edit.Provider, ID: fmt.Sprint("hut", i), Spec: edit.Spec{}})
				if err = s.Catalog.CommitCatalog(t.Context(), c, event(c.Action)); err == nil {
					return
				}
				if !errors.Is(err, edit.ErrMoved) {
					t.Errorf("CommitCatalog: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	if got := catalogState(t, s); got.Version != racers || len(got.Rows) != racers {
		t.Errorf("after %d changes: version %d, %d rows", racers, got.Version, len(got.Rows))
	}
}
