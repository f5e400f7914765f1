// Package figures computes what people read of a node from its metrics: what `weir top` prints and what the operators' page shows is the same
// arithmetic over the same series. It gathers nothing itself, and keeps a bounded past.
package figures

import (
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Scrape is what a node said of itself at a time.
type Scrape struct {
	At      time.Time
	Samples model.Vector
}

// Read reads the text format of /metrics.
func Read(r io.Reader, at time.Time) (*Scrape, error) {
	p := expfmt.NewTextParser(model.LegacyValidation)
	families, err := p.TextToMetricFamilies(r)
	if err != nil {
		return nil, err
	}
	return Of(slices.Collect(maps.Values(families)), at)
}

// Of takes what was gathered in this process.
func Of(families []*dto.MetricFamily, at time.Time) (*Scrape, error) {
	samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{}, families...)
	return &Scrape{At: at, Samples: samples}, err
}

// Value is the sum of all series of a name that have these labels, given as names and values in turn, and whether there is one.
func (s *Scrape) Value(name string, labels ...string) (sum float64, ok bool) {
	for _, m := range s.Samples {
		if Name(m) == name && matches(m.Metric, labels) {
			sum, ok = sum+float64(m.Value), true
		}
	}
	return sum, ok
}

// Name is the metric of a sample.
func Name(m *model.Sample) string { return string(m.Metric[model.MetricNameLabel]) }

// Label is a label of a sample, "" without it.
func Label(m *model.Sample, name string) string { return string(m.Metric[model.LabelName(name)]) }

func matches(have model.Metric, want []string) bool {
	for i := 0; i+1 < len(want); i += 2 {
		if string(have[model.LabelName(want[i])]) != want[i+1] {
			return false
		}
	}
	return true
}

// Since compares two scrapes: what a counter grew by between them. Without a first one it is what the counter has.
type Since struct {
	Now, Before *Scrape
	Seconds     float64
}

// Grown is by how much the series of a name grew together.
func (d *Since) Grown(name string, labels ...string) float64 {
	n, _ := d.Now.Value(name, labels...)
	if d.Before != nil {
		was, _ := d.Before.Value(name, labels...)
		n -= was
	}
	return max(n, 0)
}

// Rate is Grown in a second.
func (d *Since) Rate(name string, labels ...string) float64 {
	return d.Grown(name, labels...) / d.Seconds
}

// Buckets are the observations of a histogram up to each bound, rising.
func (d *Since) Buckets(name string, labels ...string) (bounds, counts []float64) {
	at := map[float64]float64{}
	add := func(s *Scrape, sign float64) {
		for _, m := range s.Samples {
			if Name(m) != name+"_bucket" || !matches(m.Metric, labels) {
				continue
			}
			if bound, err := strconv.ParseFloat(Label(m, model.BucketLabel), 64); err == nil {
				at[bound] += sign * float64(m.Value)
			}
		}
	}
	add(d.Now, 1)
	if d.Before != nil {
		add(d.Before, -1)
	}
	bounds = slices.Sorted(maps.Keys(at))
	for _, bound := range bounds {
		counts = append(counts, at[bound])
	}
	return bounds, counts
}

// Quantile is between which bounds a part of the observations lies, in a straight line; NaN without any.
func Quantile(part float64, bounds, counts []float64) float64 {
	if len(counts) == 0 || !(counts[len(counts)-1] > 0) {
		return math.NaN()
	}
	want := part * counts[len(counts)-1]
	low, before := 0.0, 0.0
	for i, n := range counts {
		if n >= want {
			if math.IsInf(bounds[i], 1) {
				return low
			}
			if n > before {
				return low + (bounds[i]-low)*(want-before)/(n-before)
			}
			return bounds[i]
		}
		low, before = bounds[i], n
	}
	return low
}
