package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/usage"
)

// Whatever the texts of a catalog are, a call is counted, and a scrape has all that is.
func TestMetricsTakeAnyLabel(t *testing.T) {
	t.Parallel()
	m := NewMetrics()
	c := &record.Call{Model: "a\xff", Provider: "p\xfe\"\n", Cost: money.Nano(2e9)}
	c.Usage.Source = usage.Estimated
	m.call(c, "")
	m.Attempted("e\xff", time.Second, nil)
	m.Attempted("e\xff", time.Second, fault.New(fault.Timeout, "x", ""))
	m.WatchCredentials(oneRests{})("p\xfe", "401")
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	for _, want := range []string{
		"weir_calls_total{model=\"a\uFFFD\",provider=\"p\uFFFD\\\"\\n\"} 1\n",
		"weir_cost_rubles_total{model=\"a\uFFFD\",provider=\"p\uFFFD\\\"\\n\"} 2\n",
		"weir_usage_doubts_total{kind=\"estimated\",provider=\"p\uFFFD\\\"\\n\"} 1\n",
		"weir_upstream_attempts_total{endpoint=\"e\uFFFD\",result=\"failed\"} 1\n",
		"weir_credentials_refused_total{provider=\"p\uFFFD\",status=\"401\"} 1\n",
		"weir_connections_refused_total{limit=\"max_connections\"} 0\n",
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %s in\n%s", want, w.Body)
		}
	}
}

type oneRests struct{}

func (oneRests) CountResting() int { return 1 }
