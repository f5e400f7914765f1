package figures

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

// The metrics that figures are made of. Pages name them, so that people find them elsewhere.
const (
	RequestsMetric = "weir_http_requests_total"
	CallsMetric    = "weir_calls_total"
	SavedMetric    = "weir_calls_saved_total"
	AttemptsMetric = "weir_upstream_attempts_total"
	AddedMetric    = "weir_added_seconds"
	SalesMetric    = "weir_cost_rubles_total"
	InFlightMetric = "weir_calls_in_flight"
	LagMetric      = "weir_journal_lag_bytes"
	AsideMetric    = "weir_ledger_set_aside"
)

// AddedBounds are the bounds of the histogram of what Weir adds to a call, in seconds; above the last there is one more class.
var AddedBounds = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5}

// Totals are what a node has counted since it began.
type Totals struct {
	At                       time.Time
	Requests, Failed         float64 // for models, and those of them that clients got a 5xx for
	Calls, Saved             float64 // that an upstream answered, and those of them after another endpoint had failed
	Attempts, FailedAttempts float64
	Rubles                   float64
	Added                    []float64 // calls to which Weir added at most each of AddedBounds, then all

	InFlight, LagBytes, Aside float64 // now
}

// Inference reports whether a route, such as "POST /v1/messages", asks a model: what pages and keys ask does not count.
func Inference(route string) bool {
	path, posts := strings.CutPrefix(route, "POST ")
	if !posts {
		return false
	}
	return path != "/v1/keys" && path != "/v1/route/explain" && (strings.HasPrefix(path, "/v1/") || strings.HasPrefix(path, "/v1beta/") || strings.HasPrefix(path, "/v2/"))
}

// Totals adds up the series of a scrape.
func (s *Scrape) Totals() Totals {
	t := Totals{At: s.At, Added: make([]float64, len(AddedBounds)+1)}
	for _, m := range s.Samples {
		v := float64(m.Value)
		switch Name(m) {
		case RequestsMetric:
			if Inference(Label(m, "route")) {
				t.Requests += v
				if Label(m, "class") == "5xx" {
					t.Failed += v
				}
			}
		case CallsMetric:
			t.Calls += v
		case SavedMetric:
			t.Saved += v
		case AttemptsMetric:
			t.Attempts += v
			if Label(m, "result") == "failed" {
				t.FailedAttempts += v
			}
		case SalesMetric:
			t.Rubles += v
		case AddedMetric + "_bucket":
			bound, err := strconv.ParseFloat(Label(m, model.BucketLabel), 64)
			if i, known := slices.BinarySearch(AddedBounds, bound); err == nil && (known || math.IsInf(bound, 1)) {
				t.Added[i] += v
			}
		case InFlightMetric:
			t.InFlight += v
		case LagMetric:
			t.LagBytes += v
		case AsideMetric:
			t.Aside += v
		}
	}
	return t
}

// Grown is what was counted in a time.
type Grown struct {
	Seconds                  float64
	Requests, Failed         float64
	Calls, Saved             float64
	Attempts, FailedAttempts float64
	Rubles                   float64
	Added                    []float64
}

// Between is what was counted between two Totals of one node; nil before: since its start, which was seconds ago.
func Between(before, now *Totals, seconds float64) Grown {
	if before == nil {
		before = &Totals{}
	}
	g := Grown{
		Seconds: seconds, Requests: max(now.Requests-before.Requests, 0), Failed: max(now.Failed-before.Failed, 0), Calls: max(now.Calls-before.Calls, 0), Saved: max(now.Saved-before.Saved, 0),
		Attempts: max(now.Attempts-before.Attempts, 0), FailedAttempts: max(now.FailedAttempts-before.FailedAttempts, 0), Rubles: max(now.Rubles-before.Rubles, 0), Added: slices.Clone(now.Added),
	}
	for i, was := range before.Added {
		g.Added[i] = max(g.Added[i]-was, 0)
	}
	return g
}

// Add adds what another node counted in a time of its own, as if it had been the same time.
func (g *Grown) Add(other *Grown) {
	if other.Seconds <= 0 {
		return
	}
	if g.Seconds <= 0 {
		*g = *other
		g.Added = slices.Clone(other.Added)
		return
	}
	by := g.Seconds / other.Seconds
	for _, x := range []struct {
		to   *float64
		more float64
	}{
		{&g.Requests, other.Requests}, {&g.Failed, other.Failed}, {&g.Calls, other.Calls}, {&g.Saved, other.Saved}, {&g.Attempts, other.Attempts},
		{&g.FailedAttempts, other.FailedAttempts}, {&g.Rubles, other.Rubles},
	} {
		*x.to += by * x.more
	}
	for i := range min(len(g.Added), len(other.Added)) {
		g.Added[i] += by * other.Added[i]
	}
}

// PerSecond is how many requests for models came in a second.
func (g *Grown) PerSecond() float64 { return part(g.Requests, g.Seconds) }

// FailedShare is which part of the requests for models clients got a 5xx for.
func (g *Grown) FailedShare() float64 { return part(g.Failed, g.Requests) }

// SavedShare is which part of the answered calls another endpoint had failed before.
func (g *Grown) SavedShare() float64 { return part(g.Saved, g.Calls) }

// RublesPerMinute is what calls were charged in a minute.
func (g *Grown) RublesPerMinute() float64 { return 60 * part(g.Rubles, g.Seconds) }

// AddedP99 is how many seconds Weir itself added at most to 99 of 100 calls; NaN without any.
func (g *Grown) AddedP99() float64 {
	return Quantile(0.99, append(slices.Clone(AddedBounds), math.Inf(1)), g.Added)
}

func part(of, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return of / whole
}
