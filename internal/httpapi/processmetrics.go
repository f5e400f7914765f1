package httpapi

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"

	"weir/internal/metric"
)

// runtimeFigures are figures of the Go runtime under the names that other Go programs give them. Each is the sum of what is listed.
var runtimeFigures = []struct {
	name, help string
	kind       metric.Kind
	of         []string
}{
	{"go_gc_gogc_percent", "Growth of the heap at which a collection begins.", metric.KindGauge, []string{"/gc/gogc:percent"}},
	{"go_gc_gomemlimit_bytes", "Limit of memory that the collector aims at.", metric.KindGauge, []string{"/gc/gomemlimit:bytes"}},
	{"go_goroutines", "Goroutines that exist.", metric.KindGauge, []string{"/sched/goroutines:goroutines"}},
	{"go_memstats_alloc_bytes", "Bytes of heap objects.", metric.KindGauge, []string{"/memory/classes/heap/objects:bytes"}},
	{"go_memstats_alloc_bytes_total", "Bytes allocated so far, freed ones too.", metric.KindCounter, []string{"/gc/heap/allocs:bytes"}},
	{"go_memstats_frees_total", "Heap objects freed so far.", metric.KindCounter, []string{"/gc/heap/frees:objects", "/gc/heap/tiny/allocs:objects"}},
	{"go_memstats_gc_sys_bytes", "Bytes for the collector's own data.", metric.KindGauge, []string{"/memory/classes/metadata/other:bytes"}},
	{"go_memstats_heap_alloc_bytes", "Bytes of heap objects.", metric.KindGauge, []string{"/memory/classes/heap/objects:bytes"}},
	{"go_memstats_heap_idle_bytes", "Bytes of the heap in no use.", metric.KindGauge, []string{"/memory/classes/heap/released:bytes", "/memory/classes/heap/free:bytes"}},
	{"go_memstats_heap_inuse_bytes", "Bytes of the heap in use.", metric.KindGauge, []string{"/memory/classes/heap/objects:bytes", "/memory/classes/heap/unused:bytes"}},
	{"go_memstats_heap_objects", "Heap objects.", metric.KindGauge, []string{"/gc/heap/objects:objects"}},
	{"go_memstats_heap_released_bytes", "Bytes of the heap given back to the system.", metric.KindGauge, []string{"/memory/classes/heap/released:bytes"}},
	{"go_memstats_heap_sys_bytes", "Bytes of the heap from the system.", metric.KindGauge, []string{"/memory/classes/heap/objects:bytes", "/memory/classes/heap/unused:bytes",
		"/memory/classes/heap/released:bytes", "/memory/classes/heap/free:bytes"}},
	{"go_memstats_mallocs_total", "Heap objects allocated so far.", metric.KindCounter, []string{"/gc/heap/allocs:objects", "/gc/heap/tiny/allocs:objects"}},
	{"go_memstats_next_gc_bytes", "Size of the heap at which the next collection ends.", metric.KindGauge, []string{"/gc/heap/goal:bytes"}},
	{"go_memstats_stack_inuse_bytes", "Bytes of stacks.", metric.KindGauge, []string{"/memory/classes/heap/stacks:bytes"}},
	{"go_memstats_sys_bytes", "Bytes from the system.", metric.KindGauge, []string{"/memory/classes/total:bytes"}},
	{"go_sched_gomaxprocs_threads", "Threads that run Go code at a time, at most.", metric.KindGauge, []string{"/sched/gomaxprocs:threads"}},
}

// appendProcess appends figures of this process: of the Go runtime, and of the system where it has /proc. processor is the processor time
// used so far, in seconds.
func appendProcess(out []byte, processor float64) []byte {
	var samples []metrics.Sample
	for _, f := range runtimeFigures {
		for _, of := range f.of {
			samples = append(samples, metrics.Sample{Name: of})
		}
	}
	metrics.Read(samples)
	for _, f := range runtimeFigures {
		sum := 0.0
		for range f.of {
			if samples[0].Value.Kind() == metrics.KindUint64 {
				sum += float64(samples[0].Value.Uint64())
			}
			samples = samples[1:]
		}
		out = appendOne(out, f.name, f.help, f.kind, sum)
	}
	out = metric.AppendFigure(out, "go_info", "Version of Go.", metric.KindGauge, `version="`+runtime.Version()+`"`, 1)
	out = appendPauses(out)
	out = appendOne(out, "process_cpu_seconds_total", "Processor time used, by the program and by the system for it.", metric.KindCounter, processor)
	return appendSystem(out)
}

func appendOne(out []byte, name, help string, k metric.Kind, value float64) []byte {
	return metric.AppendFigure(out, name, help, k, "", value)
}

func appendPauses(out []byte) []byte {
	var s debug.GCStats
	debug.ReadGCStats(&s)
	out = appendOne(out, "go_gc_duration_seconds_sum", "Pauses of collections.", metric.KindCounter, s.PauseTotal.Seconds())
	out = appendOne(out, "go_gc_duration_seconds_count", "Collections.", metric.KindCounter, float64(s.NumGC))
	last := 0.0
	if !s.LastGC.IsZero() {
		last = float64(s.LastGC.UnixNano()) / 1e9
	}
	return appendOne(out, "go_memstats_last_gc_time_seconds", "Unix time of the last collection.", metric.KindGauge, last)
}

// appendSystem reads what Linux says of the process; elsewhere it appends nothing. Source: proc(5).
func appendSystem(out []byte) []byte {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return out
	}
	_, after, _ := bytes.Cut(text[bytes.LastIndexByte(text, ')')+1:], []byte(" ")) // the name before may have spaces
	fields := strings.Fields(string(after))
	const threads, started, virtual, resident = 17, 19, 20, 21 // counted from the state, which is the first
	if len(fields) <= resident {
		return out
	}
	number := func(i int) float64 {
		x, _ := strconv.ParseFloat(fields[i], 64)
		return x
	}
	out = appendOne(out, "go_threads", "Threads of the process.", metric.KindGauge, number(threads))
	out = appendOne(out, "process_virtual_memory_bytes", "Bytes of address space.", metric.KindGauge, number(virtual))
	out = appendOne(out, "process_resident_memory_bytes", "Bytes resident in memory.", metric.KindGauge, number(resident)*float64(os.Getpagesize()))
	if boot, ok := bootTime(); ok {
		const ticks = 100 // USER_HZ, the same on every architecture that Go has
		out = appendOne(out, "process_start_time_seconds", "Unix time at which the process began.", metric.KindGauge, boot+number(started)/ticks)
	}
	if open, err := openFiles(); err == nil {
		out = appendOne(out, "process_open_fds", "Open files and sockets.", metric.KindGauge, float64(open))
	}
	if most, ok := maxFiles(); ok {
		out = appendOne(out, "process_max_fds", "Files and sockets that may be open.", metric.KindGauge, most)
	}
	return out
}

func bootTime() (float64, bool) { return after("/proc/stat", "btime") }

func maxFiles() (float64, bool) { return after("/proc/self/limits", "Max open files") }

// after returns the number that follows a name at the begin of a line of a file.
func after(path, name string) (float64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			if fields := strings.Fields(rest); len(fields) > 0 {
				x, err := strconv.ParseFloat(fields[0], 64)
				return x, err == nil
			}
		}
	}
	return 0, false
}

func openFiles() (int, error) {
	d, err := os.Open("/proc/self/fd")
	if err != nil {
		return 0, err
	}
	names, err := d.Readdirnames(-1)
	_ = d.Close()
	return len(names) - 1, err // without the folder itself
}
