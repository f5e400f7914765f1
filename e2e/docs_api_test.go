package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What later commands of a page need from earlier answers, by the variable that has it.
var documentedValues = map[string]*regexp.Regexp{
	"RESPONSE": regexp.MustCompile(`"id":"(resp_[^"]+)"`),
	"HASH":     regexp.MustCompile(`"hash":"([^"]+)"`),
	"CODE":     regexp.MustCompile(`"secrets":\["([^"]+)"`),
}

// The commands of these pages succeed as they are written, in their order. The pages of a row share a demo.
func TestDocumentedAPI(t *testing.T) {
	t.Parallel()
	type page struct {
		file     string
		commands int
	}
	for name, pages := range map[string][]page{
		"api":      {{"docs/api.md", 18}},
		"webhooks": {{"docs/webhooks.md", 2}},
		"budgets":  {{"docs/agents.md", 4}, {"docs/budgets.md", 5}},
		"others": {
			{"README.md", 1}, {"docs/start.md", 2}, {"docs/clients.md", 1}, {"docs/account.md", 8}, {"docs/presets.md", 2}, {"docs/own-keys.md", 1},
			{"docs/notifications.md", 2}, {"docs/invoices.md", 2}, {"docs/vouchers.md", 2}, {"docs/embeddings.md", 1}, {"docs/rerank.md", 1},
			{"docs/moderation.md", 1}, {"docs/routing.md", 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, dir := ownDemo(t), t.TempDir()
			// curl reads its defaults here: an error status is a failure.
			if err := os.WriteFile(filepath.Join(dir, ".curlrc"), []byte("fail\nsilent\nshow-error\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			env := append(os.Environ(), "CURL_HOME="+dir, "BASE="+d.site(), "KEY="+d.APIKey, "MANAGEMENT_KEY="+d.ManagementKey, "ADMIN="+d.AdminURL)
			for _, page := range pages {
				text, err := os.ReadFile(filepath.Join("..", page.file))
				if err != nil {
					t.Fatal(err)
				}
				blocks := shellBlocks(string(text), "curl ")
				if len(blocks) != page.commands {
					t.Fatalf("%s: %d commands", page.file, len(blocks))
				}
				for _, command := range blocks {
					// One would send requests to other machines, the other does not end.
					if strings.Contains(command, "callback_url") || strings.Contains(command, "/api/events") {
						continue
					}
					// -u: a variable that no page sets is an error.
					run := exec.CommandContext(t.Context(), "sh", "-euc", command)
					run.Dir, run.Env = dir, env
					out, err := run.CombinedOutput()
					if err != nil || len(out) == 0 && !strings.Contains(command, "curl -O") {
						t.Errorf("%s: %s: %v\n%.500s", page.file, command, err, out)
					}
					for name, value := range documentedValues {
						if found := value.FindSubmatch(out); found != nil {
							env = append(env, name+"="+string(found[1]))
						}
					}
				}
			}
		})
	}
}
