package httpapi

import (
	"bytes"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

func TestProcess(t *testing.T) {
	t.Parallel()
	p := expfmt.NewTextParser(model.LegacyValidation)
	all, err := p.TextToMetricFamilies(bytes.NewReader(appendProcess(nil, 12.5)))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go_goroutines", "go_memstats_sys_bytes", "go_memstats_heap_inuse_bytes", "go_info", "go_memstats_alloc_bytes_total", "go_sched_gomaxprocs_threads"} {
		m := all[name].GetMetric()
		if len(m) != 1 || m[0].GetGauge().GetValue()+m[0].GetCounter().GetValue() <= 0 {
			t.Errorf("%s is %v", name, m)
		}
	}
	if got := all["process_cpu_seconds_total"].GetMetric()[0].GetCounter().GetValue(); got != 12.5 {
		t.Errorf("processor time %v", got)
	}
	if all["go_threads"] == nil {
		t.Skip("no /proc here")
	}
	for _, name := range []string{"go_threads", "process_resident_memory_bytes", "process_virtual_memory_bytes", "process_start_time_seconds", "process_open_fds", "process_max_fds"} {
		if m := all[name].GetMetric(); len(m) != 1 || m[0].GetGauge().GetValue() <= 0 {
			t.Errorf("%s is %v", name, m)
		}
	}
}
