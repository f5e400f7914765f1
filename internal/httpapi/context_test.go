package httpapi_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Whatever a handler has done for a caller is done in x.context(), which names the user: the store shares its connections by it. Only the look-up
// of the key comes before there is one.
func TestHandlersNameTheirUser(t *testing.T) {
	t.Parallel()
	nameless := regexp.MustCompile(`\br\.Context\(\)[^.]`)
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || file == "request.go" || file == "health.go" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if !nameless.MatchString(line) {
				continue
			}
			if found++; file != "auth.go" || !strings.Contains(line, "Verifier.Verify(") {
				t.Errorf("%s:%d: use x.context(): %s", file, i+1, strings.TrimSpace(line))
			}
		}
	}
	if found == 0 {
		t.Error("the look-up of the key was not found: this test does not read what it should")
	}
}
