package docsite_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// What a guide shows in bold is what a page says, word for word, so that people find it.
func TestGuidesSayWhatPagesSay(t *testing.T) {
	t.Parallel()
	said := map[string]bool{}
	literal := regexp.MustCompile(`'((?:[^'\\]|\\.)*)'`)
	for _, file := range glob(t, "../../web/src/messages/*.en.ts") {
		for _, m := range literal.FindAllStringSubmatch(file.text, -1) {
			said[m[1]] = true
		}
	}
	bold := regexp.MustCompile(`\*\*([^*]+)\*\*`)
	for _, file := range glob(t, "../../docs/guides/*.md") {
		labels := bold.FindAllStringSubmatch(file.text, -1)
		if len(labels) < 5 {
			t.Errorf("%s names %d parts of pages", file.name, len(labels))
		}
		for _, m := range labels {
			if !said[m[1]] {
				t.Errorf("%s: no page says %q", file.name, m[1])
			}
		}
	}
}

type file struct{ name, text string }

func glob(t *testing.T, pattern string) (files []file) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v %v", pattern, names, err)
	}
	for _, n := range names {
		text, err := os.ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file{n, string(text)})
	}
	return files
}
