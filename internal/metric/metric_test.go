package metric_test

import (
	"bytes"
	"math"
	"strings"
	"sync"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"pgregory.net/rapid"

	"weir/internal/metric"
)

// parse reads text as Prometheus does.
func parse(t interface{ Fatalf(string, ...any) }, text []byte) map[string]*dto.MetricFamily {
	p := expfmt.NewTextParser(model.LegacyValidation)
	all, err := p.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return all
}

func TestText(t *testing.T) {
	t.Parallel()
	r := metric.New()
	r.Counter("b_total", "Help with \\ and\nnewline.").Inc()
	c := r.Counters("a_total", "Two labels.", "zone", "area")
	c.With("z", "a \"quoted\" \\ value\n").Add(2.5)
	c.With("z", "a \"quoted\" \\ value\n").Inc()
	c.With("\xff", "").Add(-1)
	r.Counters("unused_total", "No series.", "x")
	g := r.Gauge("level", "A gauge.")
	g.Set(3)
	g.Add(-5)
	r.Watch("watched", "Read when written.", func() float64 { return math.Inf(1) })
	r.Watch("watched", "Read when written.", func() float64 { return 0 })
	r.Counters("a_total", "Two labels.", "zone", "area").Watch(func() float64 { return 7 }, "z", "watched")
	h := r.Histograms("seconds", "A histogram.", []float64{.5, 1}, "route")
	for _, x := range []float64{.1, .5, .6, 7, math.NaN()} {
		h.With("/x").Observe(x)
	}
	want := `# HELP a_total Two labels.
# TYPE a_total counter
a_total{area="",zone="` + "\uFFFD" + `"} 0
a_total{area="a \"quoted\" \\ value\n",zone="z"} 3.5
a_total{area="watched",zone="z"} 7
# HELP b_total Help with \\ and\nnewline.
# TYPE b_total counter
b_total 1
# HELP level A gauge.
# TYPE level gauge
level -2
# HELP seconds A histogram.
# TYPE seconds histogram
seconds_bucket{route="/x",le="0.5"} 2
seconds_bucket{route="/x",le="1"} 3
seconds_bucket{route="/x",le="+Inf"} 5
seconds_sum{route="/x"} 8.2
seconds_count{route="/x"} 5
# HELP watched Read when written.
# TYPE watched gauge
watched +Inf
`
	if got := string(r.Append(nil)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	parse(t, []byte(want))
}

// Whatever values labels have, Prometheus reads them back.
func TestAnyLabel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.String(), 2, 2).Draw(t, "values")
		n := rapid.Float64Range(0, 1e300).Draw(t, "n")
		r := metric.New()
		r.Counters("c_total", "C.", "a", "b").With(values...).Add(n)
		m := parse(t, r.Append(nil))["c_total"].GetMetric()[0]
		for i, l := range m.GetLabel() {
			if l.GetValue() != strings.ToValidUTF8(values[i], "\uFFFD") {
				t.Fatalf("%s is %q, not %q", l.GetName(), l.GetValue(), values[i])
			}
		}
		if m.GetCounter().GetValue() != n {
			t.Fatalf("%v, not %v", m.GetCounter().GetValue(), n)
		}
	})
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	const workers, each = 8, 1000
	r := metric.New()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			c, h := r.Counters("c_total", "C.", "x"), r.Histogram("h", "H.", []float64{1})
			for range each {
				c.With("1").Inc()
				c.With("1").Add(.5)
				h.Observe(2)
			}
			r.Append(nil)
		})
	}
	wg.Wait()
	all := parse(t, r.Append(nil))
	if got := all["c_total"].GetMetric()[0].GetCounter().GetValue(); got != 1.5*workers*each {
		t.Errorf("counted %v", got)
	}
	if got := all["h"].GetMetric()[0].GetHistogram(); got.GetSampleCount() != workers*each || got.GetSampleSum() != 2*workers*each {
		t.Errorf("observed %v", got)
	}
}

func TestMistakesOfTheProgramPanic(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(*metric.Registry){
		"name":            func(r *metric.Registry) { r.Counter("a-b", "") },
		"empty name":      func(r *metric.Registry) { r.Counter("", "") },
		"digit first":     func(r *metric.Registry) { r.Counter("1a", "") },
		"label":           func(r *metric.Registry) { r.Counters("a", "", "b c") },
		"values":          func(r *metric.Registry) { r.Counters("a", "", "b").With() },
		"another kind":    func(r *metric.Registry) { r.Counter("a", ""); r.Gauge("a", "") },
		"other labels":    func(r *metric.Registry) { r.Counters("a", "", "b"); r.Counters("a", "", "c") },
		"falling bounds":  func(r *metric.Registry) { r.Histogram("a", "", []float64{2, 1}) },
		"different bound": func(r *metric.Registry) { r.Histogram("a", "", []float64{1}); r.Histogram("a", "", []float64{2}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f(metric.New())
		}()
	}
}

func BenchmarkInc(b *testing.B) {
	c := metric.New().Counters("c_total", "C.", "x").With("1")
	for b.Loop() {
		c.Inc()
	}
}

func BenchmarkObserve(b *testing.B) {
	h := metric.New().Histogram("h", "H.", []float64{.001, .005, .025, .1, .5, 1})
	for b.Loop() {
		h.Observe(.02)
	}
}
