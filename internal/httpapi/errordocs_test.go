package httpapi_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"weir/internal/fault"
	"weir/internal/httpserver"
)

// docs/errors.md has each kind of error once, with the status that clients get.
func TestErrorsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|(.*)\\|$").FindAllStringSubmatch(string(page), -1) {
		if m[1] == "error_type" { // the heads of the tables
			continue
		}
		if rows[m[1]] != nil {
			t.Errorf("%s has two rows", m[1])
		}
		rows[m[1]] = strings.Split(m[2], " | ")
	}
	for _, k := range fault.Kinds() {
		row := rows[k.String()]
		if len(row) != 4 {
			t.Errorf("%s: a row with %d cells after its name; it needs status, cause, what to do, and whether to repeat", k, len(row))
			continue
		}
		status := httpserver.Status(&fault.Error{Kind: k})
		if want := strconv.Itoa(status); status != httpserver.StatusClientGone && !strings.HasPrefix(strings.TrimSpace(row[0]), want) {
			t.Errorf("%s: the page says %q, clients get %s", k, row[0], want)
		}
		delete(rows, k.String())
	}
	for word := range rows {
		t.Errorf("%s is no kind of error", word)
	}
}
