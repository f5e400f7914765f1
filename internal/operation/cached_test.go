package operation_test

import (
	"context"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/operation"
)

// What is the same for everybody is made once, until it is old or the catalog is another.
func TestRendering(t *testing.T) {
	t.Parallel()
	var r operation.Rendering[part]
	made := 0
	render := func() part { made++; return part{Name: "a"} }
	first, at := &catalog.Snapshot{}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		of   *catalog.Snapshot
		at   time.Time
		made int
	}{{first, at, 1}, {first, at.Add(59 * time.Second), 1}, {first, at.Add(time.Minute), 2}, {&catalog.Snapshot{Version: "2"}, at.Add(time.Minute), 3}} {
		if _, err := r.Of(c.of, c.at, render); err != nil || made != c.made {
			t.Errorf("at %v it was made %d times, want %d; %v", c.at, made, c.made, err)
		}
	}
	o := operation.Of(operation.Operation{ID: "try", Path: "/api/tries"}, func(context.Context, *operation.Call, *operation.None) (operation.Cached[part], error) {
		return operation.Once(part{Name: "a"})
	})
	got, err := o.Serve(t.Context(), &operation.Call{})
	if err != nil || string(got.Kept.Bytes) != `{"name":"a"}` || got.JSON != nil {
		t.Fatalf("%+v, %v", got, err)
	}
	again, err := r.Of(first, at, render)
	if err != nil || again.Tag() != got.Kept.Tag {
		t.Errorf("the same content has the tags %s and %s; %v", again.Tag(), got.Kept.Tag, err)
	}
}
