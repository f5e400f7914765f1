package chat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/sim/kit"
)

// The page for users must have every model, fault, variant and status, and its examples must work.
func TestPageIsTrue(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "simulator.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	row := func(name string) string {
		_, rest, _ := strings.Cut(page, "\n| `"+name+"` |")
		line, _, _ := strings.Cut(rest, "\n")
		return line
	}
	for _, m := range kit.Catalog() {
		if row(m.Name) == "" {
			t.Errorf("no row for model %s", m.Name)
		}
	}
	for name, f := range kit.Faults {
		line := row(name)
		if line == "" {
			t.Errorf("no row for %s", name)
		}
		for _, how := range f.Variants {
			if how != "" && !strings.Contains(line, "`"+how+"`") {
				t.Errorf("the row for %s lacks %s", name, how)
			}
		}
	}
	_, shapes, _ := strings.Cut(page, "\n## Shapes\n")
	shapes, _, _ = strings.Cut(shapes, "\n## ")
	for i := range kit.Shapes {
		if !strings.Contains(shapes, "`"+kit.Shapes[i].Name+"`") {
			t.Errorf("the shape %s is not on the page", kit.Shapes[i].Name)
		}
	}
	settings := 0
	for _, part := range strings.Split(page, "`") {
		key, value, ok := strings.Cut(part, "=")
		if !ok || value == "" || strings.ContainsAny(part, " \n[@") || key == "for" || strings.Contains(value, "NAME") || strings.Contains(value, "VARIANT") || value == "N" {
			continue
		}
		settings++
		if k := (kit.Knobs{}); k.Set(key, value) != nil {
			t.Errorf("the setting %s does not exist", part)
		}
	}
	if settings < 14 {
		t.Errorf("only %d settings were found: the test looks in the wrong way", settings)
	}
	examples := 0
	for _, line := range strings.Split(page, "\n") {
		to, data, ok := strings.Cut(line, "-d '")
		if !ok || strings.Contains(data, "sim/") || strings.Contains(to, "/yookassa/") {
			continue
		}
		examples++
		if _, refused := chatRequest([]byte(strings.TrimSuffix(data, "'"))); refused != nil {
			t.Errorf("%s: %s", line, refused.Message)
		}
	}
	if examples < 4 {
		t.Errorf("%d examples", examples)
	}
}
