package docsite_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What a guide shows in bold is what a page says, word for word, so that people find it.
func TestGuidesSayWhatPagesSay(t *testing.T) {
	t.Parallel()
	said := map[string]bool{}
	literal := regexp.MustCompile(`'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"`)
	for _, file := range glob(t, "../../web/src/messages/*.en.ts") {
		for _, m := range literal.FindAllStringSubmatch(file.text, -1) {
			said[m[1]+m[2]] = true
		}
	}
	bold := regexp.MustCompile(`\*\*([^*]+)\*\*`)
	for _, file := range glob(t, "../../docs/guides/*.md") {
		labels := bold.FindAllStringSubmatch(prose(file.text), -1)
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

// The variables of requests are the same on all pages, or the page sets them.
func TestVariablesOfRequestsAreSet(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"BASE": true, "KEY": true, "MANAGEMENT_KEY": true, "ADMIN": true}
	request := regexp.MustCompile(`(?m)^ *(?:\$ )?curl (?:[^\n]*\\\n)*[^\n]*`)
	variable := regexp.MustCompile(`\$\{?([A-Z_]+)`)
	requests := 0
	for _, file := range append(glob(t, "../../docs/*.md"), append(glob(t, "../../docs/*/*.md"), glob(t, "../../README.md")...)...) {
		for _, one := range request.FindAllString(file.text, -1) {
			requests++
			for _, m := range variable.FindAllStringSubmatch(one, -1) {
				// Those of other gateways are the reader's own.
				if name := m[1]; !known[name] && !strings.HasPrefix(name, "THEIR_") && !strings.Contains(file.text, "export "+name+"=") {
					t.Errorf("%s does not set %s, which it uses: %s", file.name, name, one)
				}
			}
		}
	}
	if requests < 50 {
		t.Fatalf("only %d requests", requests)
	}
}

var fence = regexp.MustCompile("(?ms)^```.*?^```$")

// prose is a page without its fenced code.
func prose(text string) string { return fence.ReplaceAllString(text, "") }

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

// Every guide has the same parts, in the same order, so that a reader knows where to look: what it leads to, what it needs, the steps with what is
// to be seen, how to check it, and what to do when it is not so.
func TestGuidesHaveTheirParts(t *testing.T) {
	t.Parallel()
	parts := []string{"What you get", "Before you start", "Steps", "Check", "What goes wrong"}
	heading := regexp.MustCompile(`(?m)^## (.+)$`)
	for _, file := range glob(t, "../../docs/guides/*.md") {
		text := prose(file.text)
		var has []string
		for _, m := range heading.FindAllStringSubmatch(text, -1) {
			has = append(has, m[1])
		}
		if !slices.Equal(has, parts) {
			t.Errorf("%s has the parts %q", file.name, has)
			continue
		}
		sections := heading.Split(text, -1)[1:]
		for i, s := range sections {
			if len(strings.Fields(s)) < 12 {
				t.Errorf("%s says nearly nothing under %q", file.name, parts[i])
			}
		}
		if steps := strings.Count(sections[2], "\n### "); steps < 2 {
			t.Errorf("%s has %d steps", file.name, steps)
		}
		if rows := strings.Count(sections[4], "\n| "); rows < 5 { // with the head of the table
			t.Errorf("%s has %d rows of what goes wrong", file.name, rows)
		}
	}
}
