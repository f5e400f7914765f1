package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

// The targets, in the order of the tables.
const (
	targetDirect    = "no gateway"
	targetNginx     = "nginx"
	targetHandtuned = "hand-tuned"
	targetWeir      = "weir"
)

var targets = []string{targetDirect, targetNginx, targetHandtuned, targetWeir}

// gate is one limit for Weir, with the measured value.
type gate struct {
	what  string
	unit  string // "x": a ratio to the hand-tuned handler
	value float64
	bound float64
	least bool // the limit is a minimum; else a maximum
}

func (g gate) kept() bool {
	if g.least {
		return g.value >= g.bound
	}
	return g.value <= g.bound
}

const (
	kilobyte = 1 << 10
	megabyte = 1 << 20
)

// gates returns the limits for the scenarios of this run.
func (r *results) gates() []gate {
	var gates []gate
	weir := func(name string) (measurement, measurement, bool) {
		w, ok := r.Best[name][targetWeir]
		h, also := r.Best[name][targetHandtuned]
		return w, h, ok && also
	}
	if w, h, ok := weir("chat1k"); ok {
		gates = append(gates, gate{"1 KB chat, CPU by request", "x", ratio(w.CPUPerEach, h.CPUPerEach), 2.1, false},
			gate{"1 KB chat, requests a second", "x", w.PerSecond / h.PerSecond, 0.5, true})
	}
	if w, ok := r.Best["open1k"][targetWeir]; ok {
		none := r.Best["open1k"][targetDirect]
		gates = append(gates, gate{"added to the median at a steady rate", "ms", millis(w.Latency.P50 - none.Latency.P50), 0.5, false},
			gate{"added to the 99th percentile", "ms", millis(w.Latency.P99 - none.Latency.P99), 5, false})
	}
	if w, h, ok := weir("chat200k"); ok {
		gates = append(gates, gate{"200 KB chat, CPU by request", "x", ratio(w.CPUPerEach, h.CPUPerEach), 2, false})
	}
	if w, h, ok := weir("chat5m"); ok {
		gates = append(gates, gate{"5 MB image, CPU by request", "x", ratio(w.CPUPerEach, h.CPUPerEach), 2, false})
	}
	if w, h, ok := weir("fast"); ok {
		gates = append(gates, gate{"bursts, CPU by frame", "x", ratio(w.CPUPerFrame, h.CPUPerFrame), 2, false})
	}
	if w, h, ok := weir("streams"); ok {
		perStream := float64(w.RSSPeak-w.RSSBefore) / float64(max(1, w.Requests)) / kilobyte
		gates = append(gates, gate{"many streams, CPU by frame", "x", ratio(w.CPUPerFrame, h.CPUPerFrame), 1.5, false},
			gate{"memory by stream", "KB", perStream, 100, false})
	}
	gates = append(gates, r.styles...)
	if r.Weir != nil {
		gates = append(gates, gate{"start to the end of the first answer", "ms", millis(r.Weir.Start), 250, false},
			gate{"size of the binary", "MB", float64(r.Weir.Binary) / megabyte, 100, false})
	}
	if bad, any := r.weirErrors(); any {
		gates = append(gates, gate{"failed requests and cut streams", "", float64(bad), 0, false})
	}
	return gates
}

func (r *results) weirErrors() (errors int, any bool) {
	for _, byTarget := range r.Best {
		if m, ok := byTarget[targetWeir]; ok {
			errors += m.Errors
			any = true
		}
	}
	return errors, any
}

// report prints the tables and, with -json, writes all figures.
func (r *results) report(out io.Writer, s settings) error {
	fmt.Fprintf(out, "\n%d cores, %s, %s; %d pass(es), %s a loop. Figures of one run compare with each other only.\n",
		runtime.NumCPU(), runtime.Version(), cpuModel(), r.passes, s.each)
	for _, one := range scenarios(s) {
		r.table(out, one)
	}
	missed := r.verdict(out)
	if s.json != "" {
		text, err := json.MarshalIndent(r, "", " ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(s.json, append(text, '\n'), 0o600); err != nil {
			return err
		}
	}
	if missed > 0 && s.strict {
		return fmt.Errorf("%d gates missed", missed)
	}
	if len(r.Best) == 0 && len(r.styles) == 0 {
		return errors.New("no scenario has such a name")
	}
	return nil
}

func (r *results) table(out io.Writer, s scenario) {
	fmt.Fprintf(out, "\n%s (%s)\n", s.what, s.name)
	streams := s.load.frames > 0
	if streams {
		fmt.Fprintln(out, "|            | streams/s | CPU us/frame | first frame p50/p99 ms | frame delay p50/p99 ms | memory before/peak MB | errors | cut |")
		fmt.Fprintln(out, "|------------|----------:|-------------:|-----------------------:|-----------------------:|----------------------:|-------:|----:|")
	} else {
		fmt.Fprintln(out, "|            | requests/s | CPU us/request | p50 ms | p99 ms | max ms | memory before/peak MB | errors |")
		fmt.Fprintln(out, "|------------|-----------:|---------------:|-------:|-------:|-------:|----------------------:|-------:|")
	}
	for _, name := range targets {
		m, ok := r.Best[s.name][name]
		if !ok {
			continue
		}
		memory := fmt.Sprintf("%.0f / %.0f", float64(m.RSSBefore)/megabyte, float64(m.RSSPeak)/megabyte)
		if streams {
			fmt.Fprintf(out, "| %-10s | %9.0f | %12.2f | %22s | %22s | %21s | %6d | %3d |\n", name, m.PerSecond, float64(m.CPUPerFrame)/1e3,
				pair(m.FirstFrame), pair(m.FrameDelay), memory, m.Errors, m.Cut)
			continue
		}
		fmt.Fprintf(out, "| %-10s | %10.0f | %14.1f | %6.2f | %6.2f | %6.1f | %21s | %6d |\n", name, m.PerSecond, float64(m.CPUPerEach)/1e3,
			millis(m.Latency.P50), millis(m.Latency.P99), millis(m.Latency.Max), memory, m.Errors)
	}
}

// verdict prints Weir's figures with their limits, and returns the number of missed ones.
func (r *results) verdict(out io.Writer) (missed int) {
	gates := r.gates()
	if len(gates) == 0 {
		return 0
	}
	fmt.Fprintln(out, "\nWeir, all features on; x is the hand-tuned handler = 1.00")
	fmt.Fprintln(out, "| what                                  |   weir |    gate |        |")
	fmt.Fprintln(out, "|---------------------------------------|-------:|--------:|--------|")
	for _, g := range gates {
		word, sign := "kept", "<="
		if g.least {
			sign = ">="
		}
		if !g.kept() {
			word = "MISSED"
			missed++
		}
		fmt.Fprintf(out, "| %-37s | %6.2f | %2s %4g | %-6s | %s\n", g.what, g.value, sign, g.bound, word, g.unit)
	}
	return missed
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(max(1, b)) }

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func pair(q quantiles) string { return fmt.Sprintf("%.2f / %.2f", millis(q.P50), millis(q.P99)) }

func cpuModel() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
