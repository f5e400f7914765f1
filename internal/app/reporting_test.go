package app

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"weir/internal/console"
	"weir/internal/figures"
)

// What a node reports is read as it was written, and stays small however much happens.
func TestReportIsReadAsWritten(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 5000).UTC()
	report := console.Report{At: at, Ahead: -3 * time.Millisecond, Known: true, InFlight: 4, LagBytes: 5, Aside: 6, Newest: 77,
		Now: figures.Grown{Seconds: 60, Requests: 1, Failed: 2, Calls: 3, Saved: 4, Attempts: 5, FailedAttempts: 6, Rubles: 7.5, Added: make([]float64, len(figures.AddedBounds)+1)},
	}
	report.Now.Added[3] = 9
	for range figures.Ranges {
		g := report.Now
		g.Seconds *= 60
		report.Over = append(report.Over, g)
	}
	for i := range figures.Slots {
		report.Points = append(report.Points, figures.Point{Requests: 123456, Failed: float64(i), Attempts: 3, FailedAttempts: 1})
	}
	for i := range console.MaxReported {
		report.Endpoints = append(report.Endpoints, console.Endpoint{ID: fmt.Sprintf("provider/vendor/%q-%d", strings.Repeat("m", 60), i), InFlight: 3, Limited: 2, Slow: i%2 == 0, Ejected: true, Until: at, Since: at})
	}
	for range console.MaxEvents {
		report.Events = append(report.Events, console.Event{At: at, Endpoint: "a/b/c", Returned: true, Took: time.Minute, Calls: 1, Saved: 2, Failed: 3})
	}
	for i := range console.MaxKeys {
		report.Keys = append(report.Keys, console.KeyUse{Provider: "provider", Tag: fmt.Sprintf("%012x", i), Calls: 7, Failed: 1, Limited: 2, Running: 3, Until: at, Model: "m", RefusedAt: at, Status: 429, Words: strings.Repeat("w", 200)})
	}
	text := reportText(&report)
	if got := readReport(text); !reflect.DeepEqual(got, report) {
		t.Errorf("%+v\nwant\n%+v", got, report)
	}
	if len(text) > 48<<10 {
		t.Errorf("a node reports %d bytes", len(text))
	}
	s := serving{servesProgram: "v1", servesFigures: text}
	if got := readServing(s.String()).node(); got.Version != "v1" || got.Newest != 77 {
		t.Errorf("%+v", got)
	}
	for _, nonsense := range []string{"", "{", `{"now":{"a":1},"points":[1,"x",null],"endpoints":[3]}`, strings.Repeat("[", 1<<20)} {
		if got := readReport(nonsense); got.InFlight != 0 || len(got.Now.Added) != 0 && len(got.Now.Added) != len(figures.AddedBounds)+1 {
			t.Errorf("%.20s is %+v", nonsense, got)
		}
	}
}
