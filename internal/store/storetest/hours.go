package storetest

import (
	"slices"
	"testing"
	"time"

	"weir/internal/fault"
	"weir/internal/health"
	"weir/internal/store"
)

// Hours checks what a store does for the history of endpoints. open gives an empty store, and closes it after the test.
func Hours(t *testing.T, open Open) {
	cases := map[string]func(*testing.T, *store.Store){
		"hours add up":                   hoursAdd,
		"a slot is counted once":         hoursOnce,
		"each node for itself":           hoursOfNodes,
		"old hours are deleted in parts": hoursForgotten,
	}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t, nil))
		})
	}
}

var hour = time.Unix(1_772_000_000, 0).UTC().Truncate(time.Hour)

func newHour(t *testing.T, endpoint string, at time.Time, served int64) health.Hour {
	t.Helper()
	h := health.Hour{At: at, Endpoint: endpoint, Served: served, Failed: 1, Limited: 2}
	measured := []byte{1, 30, byte(served), 0} // so many answers in one bucket of the latency
	if served == 0 {
		measured = []byte{0, 0} // an empty bucket is not written
	}
	ok(t, h.SetMeasured(measured))
	return h
}

// counts are those of hours, in their order.
func counts(all []health.Hour) (served []int64) {
	for i := range all {
		served = append(served, all[i].Served)
	}
	return served
}

func hoursAdd(t *testing.T, s *store.Store) {
	ctx := t.Context()
	if _, err := s.Nodes.HoursMark(ctx, "a"); !fault.Is(err, fault.NotFound) {
		t.Fatal(err)
	}
	ok(t, s.Nodes.AddHours(ctx, "a", -1, 7, []health.Hour{newHour(t, "p/m", hour, 3), newHour(t, "p/m", hour.Add(time.Hour), 5), newHour(t, "q/m", hour, 9)}))
	ok(t, s.Nodes.AddHours(ctx, "a", 7, 9, []health.Hour{newHour(t, "p/m", hour, 4)}))
	if mark, err := s.Nodes.HoursMark(ctx, "a"); err != nil || mark != 9 {
		t.Fatal(mark, err)
	}
	got, err := s.Nodes.HoursOf(ctx, []string{"p/m", "none"}, hour)
	ok(t, err)
	want := newHour(t, "p/m", hour, 3)
	more := newHour(t, "p/m", hour, 4)
	want.Merge(&more)
	if len(got) != 2 || got[0] != want || got[1] != newHour(t, "p/m", hour.Add(time.Hour), 5) {
		t.Errorf("%+v", got)
	}
	later, err := s.Nodes.HoursOf(ctx, []string{"p/m", "q/m"}, hour.Add(time.Second))
	ok(t, err)
	if !slices.Equal(counts(later), []int64{5}) {
		t.Errorf("%+v", later)
	}
	all, err := s.Nodes.HoursSince(ctx, hour)
	ok(t, err)
	if !slices.Equal(counts(all), []int64{7, 5, 9}) {
		t.Errorf("%+v", all)
	}
}

func hoursOnce(t *testing.T, s *store.Store) {
	ctx := t.Context()
	one := []health.Hour{newHour(t, "p/m", hour, 3)}
	ok(t, s.Nodes.AddHours(ctx, "a", -1, 7, one))
	for _, before := range []int64{-1, 6, 8} {
		if err := s.Nodes.AddHours(ctx, "a", before, 9, one); !fault.Is(err, fault.Conflict) {
			t.Errorf("after %d: %v", before, err)
		}
	}
	all, err := s.Nodes.HoursSince(ctx, hour)
	ok(t, err)
	if !slices.Equal(counts(all), []int64{3}) {
		t.Errorf("%+v", all)
	}
}

func hoursOfNodes(t *testing.T, s *store.Store) {
	ctx := t.Context()
	ok(t, s.Nodes.AddHours(ctx, "a", -1, 7, []health.Hour{newHour(t, "p/m", hour, 3)}))
	ok(t, s.Nodes.AddHours(ctx, "b", -1, 8, []health.Hour{newHour(t, "p/m", hour, 4)}))
	all, err := s.Nodes.HoursOf(ctx, []string{"p/m"}, hour)
	ok(t, err)
	if !slices.Equal(counts(all), []int64{3, 4}) {
		t.Errorf("%+v", all)
	}
}

func hoursForgotten(t *testing.T, s *store.Store) {
	ctx := t.Context()
	var all []health.Hour
	for i := range 5 {
		all = append(all, newHour(t, "p/m", hour.Add(time.Duration(i)*time.Hour), int64(i)))
	}
	ok(t, s.Nodes.AddHours(ctx, "a", -1, 7, all))
	for _, want := range []int{2, 1, 0} {
		if n, err := s.Nodes.ForgetHours(ctx, hour.Add(3*time.Hour), 2); err != nil || n != want {
			t.Errorf("%d, %v; want %d", n, err, want)
		}
	}
	rest, err := s.Nodes.HoursSince(ctx, hour)
	ok(t, err)
	if !slices.Equal(counts(rest), []int64{3, 4}) {
		t.Errorf("%+v", rest)
	}
}
