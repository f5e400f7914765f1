package health_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/health"
	"weir/internal/store"
	"weir/internal/store/nodedb"
	"weir/internal/store/sqlite"
	"weir/internal/store/sqlite/sqlitetest"
)

func openHours(t testing.TB) *store.Store {
	t.Helper()
	s, err := sqlite.Open(context.Background(), sqlitetest.New(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

const week = 7 * 24 * time.Hour

// flaky is a store whose calls fail while down is set.
type flaky struct {
	*nodedb.Nodes
	down bool
}

func (f *flaky) AddHours(ctx context.Context, node string, before, mark int64, hours []health.Hour) error {
	if f.down {
		return errors.New("down")
	}
	return f.Nodes.AddHours(ctx, node, before, mark, hours)
}

// Whatever is saved when, and however often a node restarts or its store is away for some minutes, each attempt is counted in its hour once.
func TestHistoryCountsEachAttemptOnce(t *testing.T) {
	t.Parallel()
	s, node := openHours(t), 0
	rapid.Check(t, func(rt *rapid.T) {
		node++
		name := time.Duration(node).String() // of an own node, and of an own endpoint
		ep := endpoint("p"+name, "m")
		w := newWorld(t)
		f := &flaky{Nodes: s.Nodes}
		h := health.NewHistory(w.Registry, f, name, week)
		want := map[time.Time][2]int64{}
		sinceSave := time.Duration(0)
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"serve", "fail", "wait", "save", "restart", "outage"}).Draw(rt, "step") {
			case "serve":
				w.attempt(ep, health.Served)
				k := w.clock.Now().UTC().Truncate(time.Hour)
				want[k] = [2]int64{want[k][0] + 1, want[k][1]}
			case "fail": // never so many in a row that it gets no calls
				w.attempt(ep, health.Failed)
				w.attempt(ep, health.Served)
				k := w.clock.Now().UTC().Truncate(time.Hour)
				want[k] = [2]int64{want[k][0] + 1, want[k][1] + 1}
			case "wait":
				d := time.Duration(rapid.IntRange(1, 1500).Draw(rt, "seconds")) * time.Second
				if sinceSave+d > 26*time.Minute {
					f.down = false
					if err := h.Save(t.Context()); err != nil {
						rt.Fatal(err)
					}
					sinceSave = 0
				}
				w.clock.add(d)
				sinceSave += d
			case "save":
				if err := h.Save(t.Context()); (err != nil) != f.down && err != nil {
					rt.Fatal(err)
				} else if err == nil && !f.down {
					sinceSave = 0
				}
			case "outage":
				f.down = !f.down
			case "restart":
				saved := w.Snapshot()
				w.Registry = health.New(health.Default(w.clock.Now))
				if err := w.Restore(saved); err != nil {
					rt.Fatal(err)
				}
				h = health.NewHistory(w.Registry, f, name, week)
			}
		}
		f.down = false
		if err := h.Save(t.Context()); err != nil {
			rt.Fatal(err)
		}
		day, from := h.LastDay()
		hours, _, err := h.Of(t.Context(), []string{ep.ID}, 7*24)
		if err != nil {
			rt.Fatal(err)
		}
		got := map[time.Time][2]int64{}
		for i := range hours {
			if _, twice := got[hours[i].At]; twice {
				rt.Fatalf("the hour %s came twice", hours[i].At)
			}
			got[hours[i].At] = [2]int64{hours[i].Served, hours[i].Failed}
		}
		for at, n := range want {
			if got[at] != n {
				rt.Errorf("of %s: %v, want %v", at, got[at], n)
			}
			i := int(at.Sub(from) / time.Hour)
			if one := day[ep.ID]; i >= 0 && (one == nil || one.Hours[i].Served != n[0] || one.Hours[i].Failed != n[1]) {
				rt.Errorf("the last day has another count of %s than %v", at, n)
			}
		}
		if len(got) != len(want) {
			rt.Errorf("%d hours, want %d", len(got), len(want))
		}
	})
}

func TestHistoryOfSeveralNodes(t *testing.T) {
	t.Parallel()
	s, w, ep := openHours(t), newWorld(t), endpoint("p", "m")
	a := health.NewHistory(w.Registry, s.Nodes, "a", 48*time.Hour)
	other := health.New(health.Default(w.clock.Now))
	b := health.NewHistory(other, s.Nodes, "b", 48*time.Hour)
	p, _, _ := other.Admit(ep, "")
	p.End(health.Sample{Result: health.Served, Latency: 4 * time.Second, Took: 5 * time.Second, Tokens: 100})
	w.play(ep, "SSF +10m")
	for _, h := range []*health.History{a, b, a} {
		if err := h.Save(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.play(ep, "S") // not stored yet
	day, from := a.LastDay()
	d := day[ep.ID]
	if d == nil || !from.Equal(w.clock.Now().UTC().Truncate(time.Hour).Add(-23*time.Hour)) {
		t.Fatal(day, from)
	}
	if up, known := d.Whole.Uptime(); !known || up != 80 || d.Hours[23].Served != 4 {
		t.Errorf("%v %v, %d", up, known, d.Hours[23].Served)
	}
	if first := d.Whole.FirstContent(); first < 880*time.Millisecond || first > 1130*time.Millisecond {
		t.Errorf("median %s", first)
	}
	hours, _, err := a.Of(t.Context(), []string{ep.ID}, 2) // of both nodes, and what is not stored yet
	if err != nil || len(hours) != 1 {
		t.Fatal(hours, err)
	}
	binned(t, hours[0].FirstContents(), 5, 4) // F had none: it took a second
	binned(t, hours[0].Throughputs(), 4, 100)
	if _, known := d.Hours[22].Uptime(); known {
		t.Error("an hour without attempts has an uptime")
	}
	if seen, _ := b.LastDay(); seen[ep.ID].Whole.Served != 3 {
		t.Errorf("the other node sees %d", seen[ep.ID].Whole.Served)
	}
	w.clock.add(2 * time.Hour) // hours begin while nothing is read
	if day, _ := a.LastDay(); day[ep.ID].Hours[21].Served != 4 || day[ep.ID].Hours[23].Served != 0 {
		t.Errorf("%+v", day[ep.ID].Hours)
	}
	w.clock.add(49 * time.Hour)
	if err := a.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rest, err := s.Nodes.HoursSince(t.Context(), time.Unix(0, 0)); err != nil || len(rest) != 0 {
		t.Errorf("%v of %+v were kept for too long", err, rest)
	}
}

// binned checks that bins follow one another, have n values, and end around the highest one.
func binned(t *testing.T, bins []health.Bin, n int64, highest float64) {
	t.Helper()
	sum := int64(0)
	for i, b := range bins {
		if sum += b.N; b.To <= b.From || i > 0 && bins[i-1].To != b.From {
			t.Errorf("bin %d: %+v", i, bins)
		}
	}
	if last := bins[len(bins)-1]; sum != n || bins[0].N == 0 || last.N == 0 || last.From >= highest || last.To < highest {
		t.Errorf("%d values, want %d up to %v: %+v", sum, n, highest, bins)
	}
}

// Each value is in the bin between whose ends it is, the ones beyond all in the first and the last, and the 95th percentiles are those of the slow side.
func TestBins(t *testing.T) {
	t.Parallel()
	w, ep := newWorld(t), endpoint("p", "m")
	h := health.NewHistory(w.Registry, openHours(t).Nodes, "a", week)
	if empty, _, err := h.Of(t.Context(), []string{ep.ID}, 1); err != nil || len(empty) != 0 {
		t.Fatal(empty, err)
	}
	for i, latency := range []time.Duration{time.Microsecond, time.Millisecond, 250 * time.Millisecond, 300 * time.Millisecond, 300 * time.Millisecond, 100 * time.Hour} {
		p, _, _ := w.Admit(ep, "")
		p.End(health.Sample{Result: health.Served, Latency: latency, Took: latency + time.Second, Tokens: int64(10 * (i + 1))})
	}
	hours, _, err := h.Of(t.Context(), []string{ep.ID}, 1)
	if err != nil || len(hours) != 1 {
		t.Fatal(hours, err)
	}
	all := hours[0].FirstContents()
	if len(all) != 64 || all[0].From != 0 || all[0].To != 0.001 || all[0].N != 2 || !math.IsInf(all[63].To, 1) || all[63].N != 1 {
		t.Errorf("%+v", all)
	}
	for i, want := range map[int]int64{24: 1, 25: 2, 26: 0} { // 1 ms x 2^8 = 256 ms
		if all[i].N != want {
			t.Errorf("bin %d is %+v, want %d", i, all[i], want)
		}
	}
	if math.Abs(all[24].To-0.256) > 1e-9 {
		t.Errorf("%+v", all[24])
	}
	if slow, fast := hours[0].SlowThroughput(), hours[0].Throughput(); slow != 10 || fast < 30 || fast > 40 {
		t.Errorf("19 of 20 reach %v, half %v", slow, fast)
	}
	if first := hours[0].SlowFirstContent(); first < 99*time.Hour {
		t.Errorf("%s", first)
	}
}

func FuzzMeasured(f *testing.F) {
	f.Add([]byte{1, 30, 4, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var h, again health.Hour
		if h.SetMeasured(b) != nil {
			return
		}
		if err := again.SetMeasured(h.Measured()); err != nil || again != h {
			t.Errorf("%v: %+v, %+v", err, h, again)
		}
		_, _ = h.FirstContent(), h.Throughput()
	})
}
