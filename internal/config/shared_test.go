package config_test

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/internal/config"
)

// notShared are the amounts in the configuration that users do not share, with the reason.
var notShared = map[string]string{
	"server.limits.max_body_bytes":         "one request",
	"upstream.max_response_bytes":          "one answer",
	"relay.max_attempts":                   "one call",
	"relay.slice_tokens":                   "one call",
	"shaping.max_memory_bytes":             "one process, of which there are as many as places",
	"fetch.max_bytes":                      "one file",
	"video.max_content_bytes":              "one video",
	"batch.max_file_bytes":                 "one file",
	"mail.port":                            "a port",
	"payments.yookassa.receipt.vat_code":   "a code",
	"payments.yookassa.receipt.tax_system": "a code",
	"tracing.content_bytes":                "one span",
}

// sharedElsewhere are sections whose limits are per key or per user.
var sharedElsewhere = []string{"keys.rate_limits.", "keys.account_rate_limits.", "keys.free_models."}

var inCode = regexp.MustCompile("`([a-z0-9_.]+)`")

// Every shared resource has a bound per user, described in docs/run.md. An amount in the configuration that is neither in that table
// nor in notShared is a forgotten resource.
func TestSharedResourcesHaveABoundForEachUser(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/run.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "## What users share\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if !found {
		t.Fatal("docs/run.md does not say what users share")
	}
	amounts := map[string]bool{}
	leaves(reflect.TypeFor[config.Config](), "", func(path string, of reflect.Type) {
		if (of.Kind() == reflect.Int64 || of.Kind() == reflect.Int) && of.String() != "time.Duration" && of.String() != "config.kopecks" { // time and money are nothing that a node has
			amounts[path] = true
		}
	})
	reported := map[string]bool{}
	rows := 0
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || strings.HasPrefix(cells[1], "---") || cells[1] == " What " {
			continue
		}
		rows++
		if strings.TrimSpace(cells[3]) == "" {
			t.Errorf("%s has no bound for one user", cells[1])
		}
		for _, m := range inCode.FindAllStringSubmatch(cells[2]+cells[3], -1) {
			if !amounts[m[1]] {
				t.Errorf("%s: there is no amount %s in the configuration", cells[1], m[1])
			}
			reported[m[1]] = true
		}
	}
	if rows < 10 || len(amounts) < 40 {
		t.Fatalf("%d rows and %d amounts: this test does not read what it should", rows, len(amounts))
	}
	for path := range amounts {
		elsewhere := slices.ContainsFunc(sharedElsewhere, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
		if known := notShared[path] != ""; reported[path] == (known || elsewhere) {
			t.Errorf("%s: say in docs/run.md what one user may have of it, or here why it is not shared", path)
		}
	}
	for path := range notShared {
		if !amounts[path] {
			t.Errorf("there is no %s", path)
		}
	}
}

// leaves calls f for each setting outside of lists and maps.
func leaves(of reflect.Type, path string, f func(path string, of reflect.Type)) {
	for name, field := range config.Settings(of) {
		if field.Kind() == reflect.Struct {
			leaves(field, path+name+".", f)
			continue
		}
		f(path+name, field)
	}
}
