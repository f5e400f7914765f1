package app_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var updateMetrics = flag.Bool("update-metrics", false, "write the table of docs/metrics.md")

// The page of metrics has each one of a node, with its labels and what the node itself says of it.
func TestMetricsPage(t *testing.T) {
	t.Parallel()
	const path, begin, end = "../../docs/metrics.md", "## All of them\n\n", "\n## "
	answer := scraped(t)
	labels := series(answer)
	said, kinds := map[string]string{}, map[string]string{}
	for line := range strings.Lines(answer) {
		for mark, to := range map[string]map[string]string{"# HELP ": said, "# TYPE ": kinds} {
			if rest, ok := strings.CutPrefix(line, mark); ok {
				name, text, _ := strings.Cut(strings.TrimSpace(rest), " ")
				to[name] = text
			}
		}
	}
	var table strings.Builder
	table.WriteString("| Metric | Type | Labels | What it says |\n|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(said)) {
		if !strings.HasPrefix(name, "weir_") {
			continue
		}
		series := labels[name]
		if kinds[name] == "histogram" {
			series = labels[name+"_count"]
		}
		var own []string
		for _, l := range slices.Sorted(maps.Keys(series)) {
			if l != "instance" && l != "job" {
				own = append(own, "`"+l+"`")
			}
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", name, kinds[name], strings.Join(own, ", "), strings.ReplaceAll(strings.TrimSuffix(said[name], "."), "|", `\|`))
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), begin)
	was, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", path)
	}
	if was == table.String() {
		return
	}
	if !*updateMetrics {
		t.Fatalf("%s is not what a node answers; write it with: go test ./internal/app -run TestMetricsPage -update-metrics\n%s", path, table.String())
	}
	if err := os.WriteFile(path, []byte(before+begin+table.String()+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
