package config_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"weir/internal/config"
)

var firstKey = regexp.MustCompile(`^[a-z_]+:[ \n]`)

// Each piece of weir.yaml in the documentation is valid.
func TestDocumentedConfigurations(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range pages {
		if filepath.Base(page) == "state.md" {
			continue // its files are of another form
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range codeBlocks(string(text)) {
			if !firstKey.MatchString(block) || strings.HasPrefix(block, "channels:") { // a file of weir state
				continue
			}
			found++
			// The files of secrets do not exist here; the test only checks the form of the configuration.
			block = regexp.MustCompile(`file:/[a-z/-]+`).ReplaceAllString(block, "secret")
			if _, err := config.Load(write(t, block), env("YANDEX_API_KEY", "a", "YANDEX_FOLDER_ID", "b", "OPENAI_API_KEY", "c", "ACME_API_KEY", "d", "WEIR_GOOGLE_SECRET", "e", "PROXY_USER", "f", "PROXY_PASSWORD", "g"), nil); err != nil {
				t.Errorf("%s: %v\n%s", filepath.Base(page), err, block)
			}
		}
	}
	if found < 8 {
		t.Errorf("only %d pieces found", found)
	}
}

// The proxy that we hand out waits as long as a whole answer may be silent with the defaults: it would cut calls for which the provider is paid.
func TestProxyWaitsForSilentAnswers(t *testing.T) {
	t.Parallel()
	c := config.Default()
	longest := c.Relay.AttemptBudget + c.Upstream.Total
	setting := regexp.MustCompile(`proxy_read_timeout (\w+);`)
	for _, file := range []string{"../../packaging/nginx/weir.conf", "../../docs/run.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := setting.FindSubmatch(text)
		if found == nil {
			t.Fatalf("%s names no proxy_read_timeout", file)
		}
		if waits, err := time.ParseDuration(string(found[1])); err != nil || waits <= longest {
			t.Errorf("%s: the proxy waits %s, a call may be silent for %s (%v)", file, found[1], longest, err)
		}
	}
}

// codeBlocks returns the blocks of a page that are indented by four spaces or fenced as yaml.
func codeBlocks(page string) (out []string) {
	block, fenced := "", false
	for _, line := range append(strings.Split(page, "\n"), "") {
		text, indented := strings.CutPrefix(line, "    ")
		switch {
		case line == "```yaml":
			fenced = true
		case fenced && line != "```":
			block += line + "\n"
		case !fenced && indented:
			block += text + "\n"
		case !fenced && line == "" && block != "" && !strings.HasSuffix(block, "\n\n"):
			block += "\n"
		default:
			if block != "" {
				out = append(out, strings.TrimRight(block, "\n")+"\n")
			}
			block, fenced = "", false
		}
	}
	return out
}
