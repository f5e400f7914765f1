package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/audit"
	"weir/internal/catalog/edit"
	"weir/internal/fault"
	"weir/internal/store"
)

// There is one draft, which is changed only by an operator who has seen it as it is, and what was scheduled is part of the state until it is published.
func catalogDrafts(t *testing.T, s *store.Store) {
	ctx := t.Context()
	d := edit.Draft{Version: 1, State: edit.Open, Actor: "operator", At: at, Edits: []edit.Edit{
		{ID: "hut/acme/tiny", Set: edit.Spec{"margin": "0.2"}, Unset: []string{"prices", "price_usd"}, Over: true}}}
	moved := func(what string, err error) {
		t.Helper()
		if err == nil || fault.From(err).Kind != fault.Conflict {
			t.Errorf("%s: %v", what, err)
		}
	}
	if open, err := s.Catalog.OpenDraft(ctx); open != nil || err != nil {
		t.Fatalf("a draft in an empty store: %+v, %v", open, err)
	}
	if err := s.Catalog.PutDraft(ctx, &d); err != nil {
		t.Fatal(err)
	}
	second := edit.Draft{Version: 1, State: edit.Open, At: at}
	moved("a second draft", s.Catalog.PutDraft(ctx, &second))
	d.Version, d.Edits[0].Set = 2, edit.Spec{"margin": "0.3"}
	d.Prices = edit.Prices{List: "second", AsOf: "2026-11-21", Previous: "first", Data: []byte(`{"offers":{}}`)}
	if err := s.Catalog.PutDraft(ctx, &d); err != nil {
		t.Fatal(err)
	}
	moved("a change of what was not seen", s.Catalog.PutDraft(ctx, &d))
	moved("dropping what was not seen", s.Catalog.DropDraft(ctx, d.ID, 1))
	open, err := s.Catalog.OpenDraft(ctx)
	if diff := cmp.Diff(&d, open); err != nil || diff != "" {
		t.Fatalf("draft: %v (-want +got):\n%s", err, diff)
	}

	publish := func(version int64, action string, rows ...edit.Row) {
		t.Helper()
		commit(t, s, edit.Commit{Rows: rows, Draft: &d, Entry: edit.Entry{Version: version, At: at, Actor: actor, Action: action, Kind: edit.Publication, ID: "1", After: edit.Spec{"endpoints": "1"}}})
	}
	d.Version, d.State, d.Catalog, d.From = 3, edit.Scheduled, 1, at.Add(time.Hour)
	publish(1, audit.PricesScheduled)
	if diff := cmp.Diff(edit.State{Version: 1, Rows: []edit.Row{}, Scheduled: []edit.Draft{d}}, catalogState(t, s)); diff != "" {
		t.Errorf("scheduled (-want +got):\n%s", diff)
	}
	if open, err := s.Catalog.OpenDraft(ctx); open != nil || err != nil {
		t.Errorf("a scheduled draft is open: %+v, %v", open, err)
	}
	row := edit.Row{Kind: edit.Endpoint, ID: "hut/acme/tiny", Spec: edit.Spec{"margin": "0.3"}, Over: true, Version: 1, UpdatedAt: d.From}
	d.State, d.Edits[0].After = edit.Published, row.Spec
	prices := d.Prices
	prices.Approved, d.Prices.Data = "second", nil
	commit(t, s, edit.Commit{Rows: []edit.Row{row}, Draft: &d, Prices: prices, Entry: edit.Entry{Version: 2, At: at, Actor: actor, Action: audit.PricesPublished, Kind: edit.PriceList, ID: "1",
		After: edit.Spec{"endpoints": "1", "list": "second", "as_of": "2026-11-21", "previous": "first", "approved": "second"}}})
	if diff := cmp.Diff(edit.State{Version: 2, Rows: []edit.Row{row}, Prices: prices}, catalogState(t, s)); diff != "" {
		t.Errorf("published (-want +got):\n%s", diff)
	}
	list, err := s.Catalog.Publications(ctx, 0, 10)
	if diff := cmp.Diff([]edit.Draft{d}, list); err != nil || diff != "" {
		t.Errorf("publications: %v (-want +got):\n%s", err, diff)
	}
	if got, err := s.Catalog.DraftByID(ctx, d.ID); err != nil || !cmp.Equal(got, d) {
		t.Errorf("publication: %+v, %v", got, err)
	}
	if list, err := s.Catalog.Publications(ctx, d.ID, 10); err != nil || len(list) != 0 {
		t.Errorf("before the first: %+v, %v", list, err)
	}
	if _, err := s.Catalog.DraftByID(ctx, 99); fault.From(err).Kind != fault.NotFound {
		t.Errorf("an unknown one: %v", err)
	}
	err = s.Catalog.CommitCatalog(ctx, edit.Commit{Draft: &d, Entry: edit.Entry{Version: 3, At: at, Actor: actor, Action: audit.PricesPublished, Kind: edit.Publication}},
		event(audit.PricesPublished))
	moved("publishing twice", err)
	third := edit.Draft{Version: 1, State: edit.Open, Actor: "operator", At: at}
	if err := s.Catalog.PutDraft(ctx, &third); err != nil || third.ID != d.ID+1 {
		t.Errorf("the next draft is %d, %v", third.ID, err)
	}
	if err := s.Catalog.DropDraft(ctx, third.ID, 1); err != nil {
		t.Error(err)
	}
}

// There is one import, with what it says of itself; a new one takes its place.
func catalogImports(t *testing.T, s *store.Store) {
	ctx := t.Context()
	if last, err := s.Catalog.LastImport(ctx); last != nil || err != nil {
		t.Fatalf("an import in an empty store: %+v, %v", last, err)
	}
	for _, i := range []edit.Import{
		{List: "one", AsOf: "2026-11-20", At: at, Actor: "weir", Data: []byte("{}")},
		{List: "two", AsOf: "2026-11-21", At: at, Actor: "user:usr_1", Notes: []string{"litellm is of 2026-11-01: status 502", "models-dev is new"}, Sources: map[string]string{"hut tiny": "models-dev, litellm"}, Differs: 3, Refused: 4, Data: []byte{0, 255}},
	} {
		if err := s.Catalog.PutImport(ctx, &i); err != nil {
			t.Fatal(err)
		}
		last, err := s.Catalog.LastImport(ctx)
		if diff := cmp.Diff(&i, last); err != nil || diff != "" {
			t.Errorf("import: %v (-want +got):\n%s", err, diff)
		}
	}
}
