package main

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"weir/internal/app"
	"weir/internal/figures"
)

const firstScrape = `weir_build_info{version="v1"} 1
weir_ready 1
process_start_time_seconds 1000
process_cpu_seconds_total 10
weir_http_requests_total{route="POST /v1/chat/completions",class="2xx"} 100
weir_calls_total{model="a/quick",provider="p"} 90
weir_calls_total{model="a/slow",provider="p"} 10
weir_cost_rubles_total{model="a/quick",provider="p"} 6
weir_first_content_seconds_bucket{model="a/quick",provider="p",le="1"} 90
weir_first_content_seconds_bucket{model="a/quick",provider="p",le="+Inf"} 90
weir_upstream_attempts_total{endpoint="p/a/quick",result="ok"} 90
`

const secondScrape = `weir_build_info{version="v1"} 1
weir_ready 0
process_start_time_seconds 1000
process_cpu_seconds_total 11
weir_calls_in_flight 7
weir_http_requests_total{route="POST /v1/chat/completions",class="2xx"} 110
weir_http_requests_total{route="POST /v1/chat/completions",class="5xx"} 10
weir_calls_total{model="a/quick",provider="p"} 90
weir_calls_total{model="a/slow",provider="p"} 30
weir_calls_total{model="evilESC[2J",provider="p\nq"} 1
weir_cost_rubles_total{model="a/quick",provider="p"} 7
weir_first_content_seconds_bucket{model="a/quick",provider="p",le="1"} 90
weir_first_content_seconds_bucket{model="a/quick",provider="p",le="+Inf"} 90
weir_first_content_seconds_bucket{model="a/slow",provider="p",le="1"} 10
weir_first_content_seconds_bucket{model="a/slow",provider="p",le="5"} 20
weir_first_content_seconds_bucket{model="a/slow",provider="p",le="+Inf"} 20
weir_upstream_attempts_total{endpoint="p/a/quick",result="ok"} 90
weir_upstream_attempts_total{endpoint="p/a/slow",result="ok"} 15
weir_upstream_attempts_total{endpoint="p/a/slow",result="failed"} 5
weir_endpoints_ejected 3
weir_credentials_resting 2
`

func scrapeOf(t *testing.T, text string, at int64) *figures.Scrape {
	t.Helper()
	s, err := figures.Read(strings.NewReader(text), time.Unix(at, 0).UTC())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func wants(t *testing.T, frame string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(strings.Join(strings.Fields(frame), " "), w) {
			t.Errorf("no %q in\n%s", w, frame)
		}
	}
}

// The first frame has averages since the start, later ones what happened between two looks.
func TestFrame(t *testing.T) {
	t.Parallel()
	first, second := scrapeOf(t, firstScrape, 1100), scrapeOf(t, strings.ReplaceAll(secondScrape, "ESC", "\x1b"), 1110)
	wants(t, frame("http://x", first, nil, 10), "weir v1 at http://x, takes calls, up 1m40s", "since the start: 1.0/s, 0.0 % errors", "3.6 rubles a minute, 6.0 since the start", "processor 10 %",
		"a/quick p 0.9 0 950ms 3.6", "p/a/quick 0.9 0 %")
	later := frame("http://x", second, first, 10)
	wants(t, later, "TAKES NO CALLS", "7 under way", "of 10.0 s: 2.1/s, 50.0 % errors, first content after 1s, 95 % within 4.6s", "6.0 rubles a minute, 7.0 since", "a/slow p 2.0 0 4.6s 0", "p/a/slow 2.0 25 %", "3 ejected, 2 credentials rest")
	if strings.Index(later, "a/slow") > strings.Index(later, "a/quick") {
		t.Error("the busiest is not first")
	}
	if strings.ContainsAny(later, "\x1b") || !strings.Contains(later, "evil?[2J") || !strings.Contains(later, "p?q") {
		t.Errorf("a name is a command for the terminal: %q", later)
	}
	if one := frame("http://x", second, first, 1); strings.Contains(one, "a/quick") {
		t.Errorf("more than one row:\n%s", one)
	}
}

// The doctor says of a node that runs which providers have refused credentials.
func TestDoctorSaysWhichCredentialsRest(t *testing.T) {
	t.Parallel()
	f, found := resting(scrapeOf(t, "weir_ready 1\nweir_credentials_resting 2\nweir_credentials_refused_total{provider=\"hut\",status=\"402\"} 3\nweir_credentials_refused_total{provider=\"p\",status=\"429\"} 0\n", 1))
	if want := "2 are not used at present, for some model or for all; since the node started, refused by hut with 402, 3 times"; !found || f.What != want || f.Is != app.Weak || f.Do == "" {
		t.Errorf("%+v", f)
	}
	if f, found := resting(scrapeOf(t, firstScrape, 1)); found {
		t.Errorf("none rests: %+v", f)
	}
}

// After a restart the counters begin again: nothing is compared across it.
func TestFrameAfterRestart(t *testing.T) {
	t.Parallel()
	again := strings.Replace(firstScrape, "process_start_time_seconds 1000", "process_start_time_seconds 1105", 1)
	wants(t, frame("x", scrapeOf(t, again, 1110), scrapeOf(t, secondScrape, 1109), 10), "since the start", "up 5s")
}

// Where the system does not say when the process began, there are no averages, and no nonsense.
func TestFrameOfAnUnknownStart(t *testing.T) {
	t.Parallel()
	wants(t, frame("x", scrapeOf(t, "weir_ready 1\nweir_calls_total{model=\"m\",provider=\"p\"} 5\n", 1110), nil, 10), "up ?", "since the start: -/s", "m p - - - -")
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	inf := math.Inf(1)
	for _, c := range []struct {
		part           float64
		bounds, counts []float64
		want           float64
	}{
		{0.5, []float64{1, 2, inf}, []float64{0, 10, 10}, 1.5},
		{0.95, []float64{1, 2, inf}, []float64{10, 10, 10}, 0.95},
		{0.95, []float64{1, 2, inf}, []float64{0, 0, 10}, 2},
		{0.5, nil, nil, math.NaN()},
		{0.5, []float64{1, inf}, []float64{0, 0}, math.NaN()},
		{0.5, []float64{1, inf}, []float64{-5, -5}, math.NaN()},
	} {
		if got := figures.Quantile(c.part, c.bounds, c.counts); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%v of %v %v: %g, want %g", c.part, c.bounds, c.counts, got, c.want)
		}
	}
}

// Everything that top reads is in the answer of a node; see also the alerts.
func TestTopReadsWhatThereIs(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("topframe.go")
	if err != nil {
		t.Fatal(err)
	}
	board, err := os.ReadFile("../../packaging/grafana/weir.json")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := []string{"weir_build_info", "weir_draining", "process_start_time_seconds", "process_max_fds"} // not on the dashboard, which is compared with a node
	for _, part := range strings.Split(string(source), `"`) {
		if !strings.HasPrefix(part, "weir_") && !strings.HasPrefix(part, "process_") && !strings.HasPrefix(part, "go_") {
			continue
		}
		if !strings.Contains(string(board), part) && !strings.Contains(strings.Join(elsewhere, " "), part) {
			t.Errorf("the dashboard has no %s, so nothing shows that it exists", part)
		}
	}
}
