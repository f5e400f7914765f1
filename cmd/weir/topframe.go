package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"weir/internal/figures"
)

// frame is the text of one look at a node. before is the scrape that its rates count from, nil: the node's start.
func frame(url string, now, before *figures.Scrape, rows int) string {
	started, known := now.Value("process_start_time_seconds")
	up := now.At.Sub(time.Unix(0, int64(started*1e9)))
	if before != nil {
		if was, _ := before.Value("process_start_time_seconds"); was != started {
			before = nil // it was started again
		}
	}
	d := figures.Since{Now: now, Before: before}
	over := "since the start"
	switch {
	case before != nil:
		d.Seconds = max(now.At.Sub(before.At).Seconds(), 0.001)
		over = fmt.Sprintf("of %s s", short(d.Seconds))
	case known:
		d.Seconds = max(up.Seconds(), 1)
	default:
		d.Seconds = math.NaN() // the system does not say when the process began
	}
	var b strings.Builder
	fmt.Fprintf(&b, "weir %s at %s, %s, up %s, %s\n\n", versionOf(now), url, taking(now), age(up, known), now.At.Format(time.TimeOnly))
	calls(&b, &d, over)
	fmt.Fprintln(&b)
	models(&b, &d, rows)
	fmt.Fprintln(&b)
	endpoints(&b, &d, rows)
	return b.String()
}

func versionOf(s *figures.Scrape) string {
	for _, m := range s.Samples {
		if figures.Name(m) == "weir_build_info" {
			return plain(figures.Label(m, "version"), 24)
		}
	}
	return "node"
}

func taking(s *figures.Scrape) string {
	if draining, _ := s.Value("weir_draining"); draining > 0 {
		return "draining"
	}
	if ready, _ := s.Value("weir_ready"); ready > 0 {
		return "takes calls"
	}
	return "TAKES NO CALLS"
}

func age(up time.Duration, known bool) string {
	switch {
	case !known:
		return "?"
	case up >= 48*time.Hour:
		return fmt.Sprintf("%d days", int(up.Hours()/24))
	}
	return max(up, 0).Round(time.Second).String()
}

func calls(b *strings.Builder, d *figures.Since, over string) {
	gauge := func(name string) float64 { v, _ := d.Now.Value(name); return v }
	now := d.Now.Totals()
	var before *figures.Totals
	if d.Before != nil {
		was := d.Before.Totals()
		before = &was
	}
	g := figures.Between(before, &now, d.Seconds)
	bounds, counts := d.Buckets("weir_first_content_seconds")
	fmt.Fprintf(b, "calls    %.0f under way; %s: %s/s, %.1f %% errors, first content after %s, 95 %% within %s\n", gauge("weir_calls_in_flight"),
		over, short(d.Rate("weir_calls_total")), 100*g.FailedShare(), seconds(figures.Quantile(0.5, bounds, counts)), seconds(figures.Quantile(0.95, bounds, counts)))
	fmt.Fprintf(b, "money    %s rubles a minute, %s since the start; %.0f charges set aside, journal %s ahead of the database\n",
		short(g.RublesPerMinute()), short(gauge("weir_cost_rubles_total")), gauge("weir_ledger_set_aside"), size(gauge("weir_journal_lag_bytes")))
	fmt.Fprintf(b, "node     processor %s, memory %s (heap %s), %.0f of %s files, %.0f batches, %.0f panics, %.0f log lines lost\n", percent(d.Rate("process_cpu_seconds_total")), size(gauge("process_resident_memory_bytes")),
		size(gauge("go_memstats_heap_inuse_bytes")), gauge("process_open_fds"), short(gauge("process_max_fds")), gauge("weir_batches"), gauge("weir_panics_total"), gauge("weir_log_dropped_lines"))
	if at := gauge("weir_price_update_timestamp_seconds"); at > 0 {
		fmt.Fprintf(b, "prices   public lists fetched %s ago: %.0f endpoints published, %.0f wait as a draft\n", age(d.Now.At.Sub(time.Unix(int64(at), 0)), true), gauge("weir_price_update_published"), gauge("weir_price_update_waiting"))
	}
}

// line is a row of a table, with what it is sorted by.
type line struct {
	names  [2]string
	values [4]float64
	by     float64
}

// ranking groups the series of a counter by two labels, the busiest first. fill is asked for the rows that are shown alone.
func ranking(d *figures.Since, of string, labels [2]string, rows int, fill func(l *line, labels []string)) []line {
	grown := map[[2]string]float64{}
	add := func(s *figures.Scrape, sign float64) {
		for _, m := range s.Samples {
			if figures.Name(m) == of && m.Value > 0 {
				grown[[2]string{figures.Label(m, labels[0]), figures.Label(m, labels[1])}] += sign * float64(m.Value)
			}
		}
	}
	add(d.Now, 1)
	if d.Before != nil {
		add(d.Before, -1)
	}
	out := make([]line, 0, len(grown))
	for names, by := range grown {
		out = append(out, line{names: names, by: by})
	}
	slices.SortFunc(out, func(a, b line) int {
		return cmp.Or(cmp.Compare(b.by, a.by), cmp.Compare(a.names[0], b.names[0]), cmp.Compare(a.names[1], b.names[1]))
	})
	out = out[:min(len(out), rows)]
	for i := range out {
		want := []string{labels[0], out[i].names[0]}
		if labels[1] != "" {
			want = append(want, labels[1], out[i].names[1])
		}
		fill(&out[i], want)
	}
	return out
}

func models(b *strings.Builder, d *figures.Since, rows int) {
	fmt.Fprintf(b, "%-36s %-16s %9s %9s %11s %9s\n", "MODEL", "PROVIDER", "CALLS/S", "TOKENS/S", "FIRST, 95 %", "RUB/MIN")
	for _, l := range ranking(d, "weir_calls_total", [2]string{"model", "provider"}, rows, func(l *line, labels []string) {
		bounds, counts := d.Buckets("weir_first_content_seconds", labels...)
		l.values = [4]float64{l.by / d.Seconds, d.Rate("weir_tokens_total", labels...), figures.Quantile(0.95, bounds, counts), 60 * d.Rate("weir_cost_rubles_total", labels...)}
	}) {
		fmt.Fprintf(b, "%-36s %-16s %9s %9s %11s %9s\n", plain(l.names[0], 36), plain(l.names[1], 16), short(l.values[0]), short(l.values[1]), seconds(l.values[2]), short(l.values[3]))
	}
}

func endpoints(b *strings.Builder, d *figures.Since, rows int) {
	ejected, _ := d.Now.Value("weir_endpoints_ejected")
	resting, _ := d.Now.Value("weir_credentials_resting")
	fmt.Fprintf(b, "%-53s %9s %9s   %.0f ejected, %.0f credentials rest\n", "ENDPOINT", "TRIES/S", "FAILED", ejected, resting)
	for _, l := range ranking(d, "weir_upstream_attempts_total", [2]string{"endpoint", ""}, rows, func(l *line, labels []string) {
		l.values = [4]float64{l.by / d.Seconds, 0}
		if l.by > 0 {
			l.values[1] = d.Grown("weir_upstream_attempts_total", append(labels, "result", "failed")...) / l.by
		}
	}) {
		fmt.Fprintf(b, "%-53s %9s %9s\n", plain(l.names[0], 53), short(l.values[0]), percent(l.values[1]))
	}
}

// plain is a name of at most so many characters, without those that a terminal obeys.
func plain(s string, most int) string {
	r := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s))
	if len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return string(r)
}

// short is a number with three digits that count.
func short(x float64) string {
	switch {
	case math.IsNaN(x):
		return "-"
	case x >= 1e6:
		return strconv.FormatFloat(x/1e6, 'f', 1, 64) + "M"
	case x >= 1e4:
		return strconv.FormatFloat(x/1e3, 'f', 1, 64) + "k"
	case x >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 1:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case x == 0:
		return "0"
	}
	return strconv.FormatFloat(x, 'g', 2, 64)
}

func seconds(x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return time.Duration(x * float64(time.Second)).Round(time.Millisecond).String()
}

func percent(x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return strconv.FormatFloat(100*x, 'f', 0, 64) + " %"
}

func size(x float64) string {
	for _, unit := range []string{"B", "KiB", "MiB", "GiB"} {
		if x < 1024 || unit == "GiB" {
			return strconv.FormatFloat(x, 'f', 0, 64) + " " + unit
		}
		x /= 1024
	}
	return ""
}
