package metric_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/metric"
)

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := metric.Parse("# HELP a is\n# TYPE a counter\na 1\n\na{x=\"y\",z=\"q\\\"\\\\\\n\"} 2.5e3 1700000000\nb_bucket{le=\"+Inf\"} 3 # {trace_id=\"1\"} 0.5\nc +Inf\nd NaN\n# EOF\n")
	if err != nil || len(got) != 5 {
		t.Fatalf("%v %v", got, err)
	}
	if got[1].Labels["z"] != "q\"\\\n" || got[1].Value != 2500 || got[2].Labels["le"] != "+Inf" || got[2].Value != 3 || !math.IsInf(got[3].Value, 1) {
		t.Errorf("%+v", got)
	}
	for _, bad := range []string{"a", "a{", "a{x=\"y}", "a{x=y} 1", "a{} x", "{x=\"y\"} 1", "1a 2", "<html>", "a b c"} {
		if got, err := metric.Parse(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

// What is written is read.
func TestParseWhatIsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value, n := rapid.StringMatching(`[a-z"\\\n{},= ]*`).Draw(t, "value"), rapid.Float64Range(0, 1e300).Draw(t, "n")
		r := metric.New()
		r.Counters("a_total", "Help.", "x").With(value).Add(n)
		got, err := metric.Parse(string(r.Append(nil)))
		if err != nil || len(got) != 1 || got[0].Labels["x"] != value || got[0].Value != n {
			t.Fatalf("%+v %v, want %q %g", got, err, value, n)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("a{x=\"y\"} 1\n")
	f.Add("a{x=\"\\")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = metric.Parse(text) })
}
