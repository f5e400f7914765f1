package health_test

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/catalog"
	"weir/internal/health"
)

// sample is what the model keeps of an attempt: everything.
type sample struct {
	at time.Time
	health.Sample
}

var slots = map[health.Span]struct {
	slot time.Duration
	n    int64
}{
	health.HalfMinute: {5 * time.Second, 6}, health.FiveMinutes: {30 * time.Second, 10}, health.HalfHour: {3 * time.Minute, 10}, health.Day: {2 * time.Hour, 12},
}

// figures works out from all samples what is known of one span.
func figures(all []sample, s health.Span, now time.Time) (f health.Figures, latency, throughput []float64) {
	slot := int64(slots[s].slot)
	for _, x := range all {
		if x.at.UnixNano()/slot <= now.UnixNano()/slot-slots[s].n {
			continue
		}
		switch x.Result {
		case health.Served:
			f.Served++
			over := x.Took
			if x.Took-x.Latency >= 50*time.Millisecond {
				over = x.Took - x.Latency
			}
			throughput = append(throughput, float64(x.Tokens)/over.Seconds())
		case health.Limited:
			f.Limited++
		case health.Neutral:
			continue
		default:
			f.Failed++
		}
		latency = append(latency, x.Latency.Seconds())
	}
	return f, latency, throughput
}

// near reports whether percentiles that were read back are those of the values, the best first, within the error that buckets allow.
func near(got [4]float64, values []float64, better func(a, b float64) int) bool {
	if len(values) == 0 {
		return got == [4]float64{}
	}
	slices.SortFunc(values, better)
	for i, p := range []int{50, 75, 90, 99} {
		want := values[(len(values)*p+99)/100-1]
		if r := got[i] / want; r < 1/1.26 || r > 1.26 || len(values) == 1 && math.Abs(r-1) > 1e-6 { // one value is shown as it was measured
			return false
		}
	}
	return true
}

func drawSample(t *rapid.T) health.Sample {
	latency := time.Duration(math.Exp(rapid.Float64Range(math.Log(0.0011e9), math.Log(1500e9)).Draw(t, "latency")))
	took := latency + time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "more"))
	over := took
	if took-latency >= 50*time.Millisecond {
		over = took - latency
	}
	// tokens that keep the speed within what buckets reach
	return health.Sample{
		Result:  rapid.SampledFrom([]health.Result{health.Neutral, health.Served, health.Served, health.Served, health.Limited, health.Refused}).Draw(t, "result"),
		Latency: latency, Took: took, Tokens: 1 + int64(over.Seconds()*rapid.Float64Range(1, 50).Draw(t, "speed")),
	}
}

// Whatever is recorded and however time passes, each span has the counts that a list of everything would have, and so has what was
// saved and read back.
func TestWindowsAgreeWithAListOfEverything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := newClock()
		r := health.New(health.Default(c.Now))
		ep := endpoint("alpha", "m")
		var all []sample
		t.Repeat(map[string]func(*rapid.T){
			"attempt": func(t *rapid.T) {
				s := drawSample(t)
				p, why, _ := r.Admit(ep, "")
				if why != health.None {
					t.Skip("ejected")
				}
				p.End(s)
				all = append(all, sample{c.Now(), s})
			},
			"a moment": func(t *rapid.T) { c.add(time.Duration(rapid.Int64Range(0, int64(10*time.Second)).Draw(t, "d"))) },
			"a while":  func(t *rapid.T) { c.add(time.Duration(rapid.Int64Range(0, int64(10*time.Minute)).Draw(t, "d"))) },
			"long":     func(t *rapid.T) { c.add(time.Duration(rapid.Int64Range(0, int64(30*time.Hour)).Draw(t, "d"))) },
			"restart": func(t *rapid.T) {
				saved := r.Snapshot()
				r = health.New(health.Default(c.Now))
				if err := r.Restore(saved); err != nil {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) {
				for s := range slots {
					got := r.Window(ep.ID, s)
					want, latency, throughput := figures(all, s, c.Now())
					if got.Served != want.Served || got.Failed != want.Failed || got.Limited != want.Limited {
						t.Fatalf("span %d: got %+v, want %+v", s, got, want)
					}
					higher := func(a, b float64) int { return cmp.Compare(b, a) }
					if !near(got.Latency, latency, cmp.Compare) || !near(got.Throughput, throughput, higher) {
						t.Fatalf("span %d: got %+v of latencies %v, speeds %v", s, got, latency, throughput)
					}
				}
			},
		})
	})
}

// open is an attempt that is running, with what the model needs to know about its start.
type open struct {
	pass   health.Pass
	period int // ejections of the endpoint before it began
	probe  bool
}

// Whatever happens in whatever order: an endpoint is ejected after exactly five failures in a row, gets nothing while that lasts, then
// one call at a time, and everything again after a success; endpoints of other hosts notice nothing.
func TestEjectionKeepsItsLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := newClock()
		r := health.New(health.Default(c.Now))
		ep, bystander := endpoint("alpha", "m"), endpoint("beta", "m")
		var (
			running []open
			row     int       // failures in a row
			periods int       // ejections ever
			inARow  int       // ejections since the last success
			until   time.Time // zero: not ejected
			probing bool
		)
		finish := func(t *rapid.T, result health.Result) {
			if len(running) == 0 {
				t.Skip("nothing runs")
			}
			i := rapid.IntRange(0, len(running)-1).Draw(t, "which")
			o := running[i]
			running = slices.Delete(running, i, i+1)
			o.pass.End(health.Sample{Result: result, Latency: time.Second, Took: time.Second})
			isProbe := o.probe && o.period == periods && probing
			ejected := !until.IsZero()
			switch {
			case result == health.Neutral || result == health.Refused:
			case result == health.Served && (!ejected || o.period == periods):
				row, inARow, until, probing = 0, 0, time.Time{}, false
			case result == health.Served:
			case !ejected && row < 4:
				row++
			case !ejected || isProbe:
				inARow++
				periods++
				until = c.Now().Add(min(time.Duration(inARow)*30*time.Second, 300*time.Second))
				probing = false
			}
			if isProbe {
				probing = false
			}
		}
		end := func(result health.Result) func(*rapid.T) { return func(t *rapid.T) { finish(t, result) } }
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(t *rapid.T) {
				p, why, _ := r.Admit(ep, "")
				may := until.IsZero() || !probing && !c.Now().Before(until)
				if may != (why == health.None) {
					t.Fatalf("refusal %d; ejected until %v, now %v, probing %v", why, until, c.Now(), probing)
				}
				if may {
					probing = !until.IsZero()
					running = append(running, open{p, periods, probing})
				}
			},
			"last resort": func(t *rapid.T) {
				if until.IsZero() {
					t.Skip("there is another way")
				}
				if p, _, ok := r.Probe([]*catalog.Endpoint{ep}, ""); ok {
					running = append(running, open{p, periods, false})
				}
			},
			"served": end(health.Served), "served again": end(health.Served), "failed": end(health.Failed), "failed again": end(health.Failed),
			"limited": end(health.Limited), "refused": end(health.Refused), "neutral": end(health.Neutral), "failed once more": end(health.Failed),
			"time": func(t *rapid.T) { c.add(time.Duration(rapid.Int64Range(1, 40).Draw(t, "s")) * time.Second) },
			"": func(t *rapid.T) {
				if got, want := r.Of(ep.ID).Ejected, !until.IsZero() && (probing || c.Now().Before(until)); got != want {
					t.Fatalf("ejected %v, want %v", got, want)
				}
				p, why, _ := r.Admit(bystander, "")
				if why != health.None {
					t.Fatal("an endpoint of another host was refused")
				}
				p.End(health.Sample{})
			},
		})
	})
}

// A snapshot keeps ejections, cool-downs and rows of failures.
func TestRestartKeepsEjections(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gone, cool, row := endpoint("alpha", "m"), endpoint("beta", "m"), endpoint("gamma", "m")
	w.play(gone, "FFFFF +30s F +1s")
	w.play(cool, "FFF")
	w.play(row, "FF")
	probing := endpoint("delta", "m")
	w.play(probing, "FFFFF +30s")
	w.play(cool, "F")
	w.admit(probing)
	again := world{t, health.New(health.Default(w.clock.Now)), w.clock}
	if err := again.Restore(w.Snapshot()); err != nil {
		t.Fatal(err)
	}
	if _, why, after := again.Admit(gone, ""); why != health.Ejected || after != 29*time.Second {
		t.Errorf("refusal %d, again after %v", why, after)
	}
	if h := again.Of(cool.ID); !h.CoolDown || h.Ejected {
		t.Errorf("cool-down: %+v", h)
	}
	again.play(row, "F")
	if !again.Of(row.ID).CoolDown {
		t.Error("the row began anew")
	}
	again.attempt(probing, health.Served) // the prober ended with the old process
	w.clock.add(29 * time.Second)
	again.play(gone, "F")
	if _, _, after := again.Admit(gone, ""); after != 90*time.Second {
		t.Errorf("the third ejection in a row lasts %v", after)
	}
}

// A snapshot of a clock that was wrong must not block what comes after.
func TestSnapshotFromTheFuture(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ep := endpoint("alpha", "m")
	w.clock.add(1000 * time.Hour)
	later := world{t, health.New(health.Default(w.clock.Now)), w.clock}
	later.play(ep, "SSFFFFF")
	w.clock.add(-1000 * time.Hour)
	if err := w.Restore(later.Snapshot()); err != nil {
		t.Fatal(err)
	}
	if f := w.Window(ep.ID, health.Day); f.Attempts() != 0 {
		t.Errorf("%+v", f)
	}
	if _, _, after := w.Admit(ep, ""); after > 300*time.Second {
		t.Errorf("ejected for %v", after)
	}
	w.play(ep, "+300s S")
	if f := w.Window(ep.ID, health.Day); f.Served != 1 {
		t.Errorf("%+v", f)
	}
}

func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ep := endpoint("alpha", "m")
	w.play(ep, "SSS FFFFF")
	saved := w.Snapshot()
	for name, b := range map[string][]byte{
		"nothing": {}, "another version": append([]byte{99}, saved[1:]...), "something behind": append(slices.Clone(saved), 0),
		"far too many": {1, 0xff, 0xff, 0xff, 0xff, 0x0f}, "text": []byte("{\"endpoints\":[]}"),
	} {
		if w.Restore(b) == nil {
			t.Errorf("%s was taken", name)
		}
	}
	for cut := range saved {
		if w.Restore(saved[:cut]) == nil {
			t.Errorf("the first %d bytes of %d were taken", cut, len(saved))
		}
	}
	if f := w.Window(ep.ID, health.Day); f.Attempts() != 8 {
		t.Errorf("what was known has changed: %+v", f)
	}
}

// Whatever bytes a file holds, reading them does not panic, and leaves a registry that can be used and saved.
func FuzzRestore(f *testing.F) {
	seed := newWorld(f)
	seed.play(endpoint("alpha", "m"), "SSLR +1m S +5m SSS +3h FFFFF")
	seed.play(endpoint("beta", "m"), "FFF")
	f.Add(seed.Snapshot())
	f.Add([]byte{1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		w := newWorld(t)
		if w.Restore(b) != nil {
			return
		}
		if p, why, _ := w.Admit(endpoint("alpha", "m"), ""); why == health.None {
			p.End(health.Sample{Result: health.Served, Latency: time.Second, Took: time.Second, Tokens: 1})
		}
		for s := range slots {
			for _, p := range w.Window("alpha/m", s).Latency {
				if math.IsNaN(p) || cmp.Less(p, 0) {
					t.Errorf("a percentile of %v", p)
				}
			}
		}
		if err := newWorld(t).Restore(w.Snapshot()); err != nil {
			t.Errorf("what was read cannot be saved: %v", err)
		}
	})
}
