package webhook_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/webhook"
)

// received is a call as a receiver gets it, and whether it is to be believed.
type received struct {
	Headers map[string]string
	Body    string // in base64
	Good    bool
}

func calls(t *testing.T, secret string) (all []received) {
	t.Helper()
	body := []byte("{\"a\":\"\u00e9\n\"}")
	now := time.Now()
	add := func(good bool, at time.Time, signature string, body []byte) {
		all = append(all, received{map[string]string{"webhook-id": "vj_1-completed", "webhook-timestamp": fmt.Sprint(at.Unix()), "webhook-signature": signature}, base64.StdEncoding.EncodeToString(body), good})
	}
	sign := func(at time.Time, secrets ...string) string {
		s, err := webhook.Signature(secrets, "vj_1-completed", at, body)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	add(true, now, sign(now, secret), body)
	add(true, now, sign(now, webhook.NewSecret(), secret), body)
	add(true, now.Add(-time.Minute), sign(now.Add(-time.Minute), secret), body)
	add(false, now, sign(now, webhook.NewSecret()), body)
	add(false, now, sign(now, secret), append(body, ' '))
	add(false, now.Add(-time.Hour), sign(now.Add(-time.Hour), secret), body)
	add(false, now.Add(time.Hour), sign(now.Add(time.Hour), secret), body)
	add(false, now.Add(time.Second), sign(now, secret), body)
	add(false, now, "", body)
	add(false, now, "v1,", body)
	all = append(all, received{map[string]string{}, "", false}, received{map[string]string{"webhook-id": "x", "webhook-timestamp": "soon", "webhook-signature": "v1,x"}, "", false})
	return all
}

// The examples of the documentation believe what they should, and nothing else.
func TestDocumentedExamples(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "webhooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ language, program, drive string }{
		{"python", "python3", `
import json, sys
given = json.load(sys.stdin)
print(json.dumps([verify(given["secret"], c["Headers"], base64.b64decode(c["Body"])) for c in given["calls"]]))
`},
		{"js", "node", `
const given = JSON.parse(require("node:fs").readFileSync(0));
console.log(JSON.stringify(given.calls.map((c) => verify(given.secret, c.Headers, Buffer.from(c.Body, "base64")))));
`},
	} {
		t.Run(c.language, func(t *testing.T) {
			t.Parallel()
			_, rest, found := strings.Cut(string(page), "```"+c.language+"\n")
			code, _, ended := strings.Cut(rest, "```")
			if !found || !ended {
				t.Fatalf("the page has no example in %s", c.language)
			}
			program, err := exec.LookPath(c.program)
			if err != nil {
				t.Fatalf("this test needs %s in the search path: run make python, and install Node", c.program)
			}
			file := filepath.Join(t.TempDir(), "example."+c.language)
			if err := os.WriteFile(file, []byte(code+c.drive), 0o600); err != nil {
				t.Fatal(err)
			}
			secret := webhook.NewSecret()
			all := calls(t, secret)
			input, err := json.Marshal(map[string]any{"secret": secret, "calls": all})
			if err != nil {
				t.Fatal(err)
			}
			run := exec.CommandContext(t.Context(), program, file)
			run.Stdin, run.Stderr = strings.NewReader(string(input)), os.Stderr
			out, err := run.Output()
			if err != nil {
				t.Fatal(err)
			}
			var got []bool
			if err := json.Unmarshal(out, &got); err != nil || len(got) != len(all) {
				t.Fatalf("%s %v", out, err)
			}
			for i := range all {
				if got[i] != all[i].Good {
					t.Errorf("call %d: %t, want %t", i, got[i], all[i].Good)
				}
			}
		})
	}
}
