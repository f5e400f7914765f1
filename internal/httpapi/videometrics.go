package httpapi

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weir/internal/video"
)

// VideoMetrics counts how video jobs end. It satisfies video.Observer.
type VideoMetrics struct {
	ended *prometheus.CounterVec
	took  prometheus.Histogram
	lost  prometheus.Counter

	unclear *prometheus.CounterVec
}

var videoBuckets = []float64{5, 15, 30, 60, 120, 300, 600, 1800, 3600, 86400}

// NewVideoMetrics adds them to the registry of m.
func NewVideoMetrics(m *Metrics) *VideoMetrics {
	v := &VideoMetrics{
		ended: m.counters("weir_video_jobs_total", "Video jobs that came to their end, by that.", "state"),
		took:  m.make.NewHistogram(prometheus.HistogramOpts{Name: "weir_video_job_seconds", Help: "Time from a video job's admission to its end.", Buckets: videoBuckets}),
		lost:  m.counter("weir_video_jobs_lost_total", "Jobs that a provider may be working on, and billing, without a job here."),
		unclear: m.counters("weir_video_submissions_unclear_total",
			"Submissions of video jobs to which a provider answered neither yes nor no, by what was found out about them.", "outcome"),
	}
	for _, o := range video.Outcomes() {
		v.unclear.WithLabelValues(string(o))
	}
	return v
}

// VideoEnded counts a job.
func (v *VideoMetrics) VideoEnded(_ string, s video.State, took time.Duration) {
	v.ended.WithLabelValues(string(s)).Inc()
	v.took.Observe(took.Seconds())
}

// VideoLost counts a job that cannot be found.
func (v *VideoMetrics) VideoLost(string) { v.lost.Inc() }

// VideoUnclear counts a submission without a clear answer.
func (v *VideoMetrics) VideoUnclear(_ string, o video.Outcome) {
	v.unclear.WithLabelValues(string(o)).Inc()
}
