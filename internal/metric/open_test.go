package metric_test

import (
	"strings"
	"testing"
	"time"

	"weir/internal/metric"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	r := metric.New()
	r.Counter("a_total", "What is \"a\".").Inc()
	r.Gauge("b_total", "A gauge of this name.").Set(1)
	h := r.Histograms("seconds", "A histogram.", []float64{.5, 1}, "route").With("/x")
	h.ObserveTraced(.25, "4bf92f3577b34da6a3ce929d0e0e4736", time.UnixMilli(1700000000123))
	h.ObserveTraced(.75, "", time.UnixMilli(1700000000123))
	h.ObserveTraced(7, "00000000000000000000000000000001", time.UnixMilli(1700000001000))
	h.ObserveTraced(8, "00000000000000000000000000000002", time.UnixMilli(1700000002000))
	text := metric.AppendFigure(r.AppendTraced(nil), "sum", "A counter without the name of one.", metric.KindCounter, "", 5)
	want := `# HELP a What is \"a\".
# TYPE a counter
a_total 1
# HELP b_total A gauge of this name.
# TYPE b_total gauge
b_total 1
# HELP seconds A histogram.
# TYPE seconds histogram
seconds_bucket{route="/x",le="0.5"} 1 # {trace_id="4bf92f3577b34da6a3ce929d0e0e4736"} 0.25 1700000000.123
seconds_bucket{route="/x",le="1"} 2
seconds_bucket{route="/x",le="+Inf"} 4 # {trace_id="00000000000000000000000000000002"} 8 1700000002.000
seconds_sum{route="/x"} 16
seconds_count{route="/x"} 4
# HELP sum A counter without the name of one.
# TYPE sum unknown
sum 5
# EOF
`
	if got := string(metric.Open(text)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if strings.Contains(string(r.Append(nil)), "trace_id") {
		t.Error("the text format has an example, which its readers do not know")
	}
	parse(t, r.Append(nil))
}

func TestWantsOpen(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]bool{
		"application/openmetrics-text;version=1.0.0;q=0.75,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=0.0.4;q=0.4,*/*;q=0.3": true,
		"*/*": false, "": false, "text/plain": false,
	} {
		if got := metric.WantsOpen(accept); got != want {
			t.Errorf("%q: %t", accept, got)
		}
	}
}
