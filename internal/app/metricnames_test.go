package app_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var bound = regexp.MustCompile(`(?m)^([a-z_]+)_bucket\{.*\ble="([^"]+)"`)

// A node has the series, labels and classes that people's dashboards were made for: testdata/series.txt lists them, and lines are only added to it.
// Those of the runtime and the process are the library's, which may have more.
func TestSeriesStay(t *testing.T) {
	t.Parallel()
	answer := scraped(t)
	bounds := map[string][]string{}
	for _, m := range bound.FindAllStringSubmatch(answer, -1) {
		if of := bounds[m[1]+"_bucket"]; !slices.Contains(of, m[2]) {
			bounds[m[1]+"_bucket"] = append(of, m[2])
		}
	}
	var is []string
	for name, labels := range series(answer) {
		delete(labels, "instance")
		delete(labels, "job")
		line := fmt.Sprintf("%s{%s}", name, strings.Join(slices.Sorted(maps.Keys(labels)), ","))
		is = append(is, strings.TrimSpace(line+" "+strings.Join(bounds[name], " ")))
	}
	text, err := os.ReadFile("testdata/series.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, line := range want {
		if !slices.Contains(is, line) && (strings.HasPrefix(line, "weir_") || strings.HasPrefix(line, "go_") || runtime.GOOS == "linux") {
			t.Errorf("there is no %s", line)
		}
	}
	for _, line := range is {
		if strings.HasPrefix(line, "weir_") && !slices.Contains(want, line) {
			t.Errorf("testdata/series.txt has no %s", line)
		}
	}
}
