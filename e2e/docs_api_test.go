package e2e_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The commands of these pages succeed as they are written, in their order.
func TestDocumentedAPI(t *testing.T) {
	t.Parallel()
	for page, commands := range map[string]int{"README.md": 1, "docs/api.md": 17, "docs/clients.md": 1, "docs/webhooks.md": 2} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("..", page))
			if err != nil {
				t.Fatal(err)
			}
			blocks := shellBlocks(string(text), "curl ")
			if len(blocks) != commands {
				t.Fatalf("%d commands", len(blocks))
			}
			d, dir, response := ownDemo(t), t.TempDir(), ""
			// curl reads its defaults here: an error status is a failure.
			if err := os.WriteFile(filepath.Join(dir, ".curlrc"), []byte("fail\nsilent\nshow-error\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, command := range blocks {
				if strings.Contains(command, "callback_url") {
					continue // it would send requests to other machines
				}
				run := exec.CommandContext(t.Context(), "sh", "-ec", command)
				run.Dir = dir
				run.Env = append(os.Environ(), "CURL_HOME="+dir, "BASE="+d.site(),
					"KEY="+d.APIKey, "MANAGEMENT_KEY="+d.ManagementKey, "ADMIN="+d.AdminURL, "RESPONSE="+response)
				out, err := run.CombinedOutput()
				if err != nil || len(out) == 0 {
					t.Errorf("%s: %v\n%.500s", command, err, out)
				}
				var answer struct{ ID string }
				if json.Unmarshal(out, &answer) == nil && strings.HasPrefix(answer.ID, "resp_") {
					response = answer.ID
				}
			}
		})
	}
}
