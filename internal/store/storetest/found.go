package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/catalog"
	"weir/internal/catalog/edit"
	"weir/internal/store"
)

// catalogFound keeps what servers have said: one node asks at a time, and only what changes makes others look.
func catalogFound(t *testing.T, s *store.Store) {
	claim := func(was, now time.Time) bool {
		t.Helper()
		mine, err := s.Catalog.ClaimFound(t.Context(), "shed", was, now)
		if err != nil {
			t.Fatal(err)
		}
		return mine
	}
	if !claim(time.Time{}, at) || claim(time.Time{}, at.Add(time.Second)) {
		t.Error("two nodes ask for the first time")
	}
	if !claim(at, at.Add(time.Minute)) || claim(at, at.Add(time.Minute+time.Second)) {
		t.Error("two nodes ask again")
	}
	put := func(f *edit.Found, changed bool, version int64) {
		t.Helper()
		if err := s.Catalog.PutFound(t.Context(), f, changed); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Catalog.FoundVersion(t.Context()); err != nil || got != version {
			t.Errorf("version %d, %v; want %d", got, err, version)
		}
	}
	f := edit.Found{Provider: "shed", Server: edit.ServerOllama, Asked: at, At: at, Notes: []string{"one", "two"}, Models: []edit.FoundModel{
		{ID: "a", Type: catalog.TypeChat, Context: 1, Trained: 2, Asked: 3, Input: catalog.Text | catalog.Image, Tools: edit.Can, Reasons: edit.Cannot, Quantization: "int4", Loaded: true, Mark: "d"},
		{ID: "b", Type: catalog.TypeEmbedding},
	}}
	put(&f, true, 1)
	f.Version, f.Problem, f.Asked = 1, "away", at.Add(time.Hour)
	put(&f, false, 1)
	state := catalogState(t, s)
	if diff := cmp.Diff([]edit.Found{f}, state.Found); diff != "" {
		t.Error(diff)
	}
	list, err := s.Catalog.Found(t.Context())
	if diff := cmp.Diff(state.Found, list); err != nil || diff != "" {
		t.Error(err, diff)
	}
	put(&edit.Found{Provider: "barn", Asked: at}, true, 2)
}
