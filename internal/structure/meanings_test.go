package structure_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"weir/internal/config"
)

// The page of settings says in Russian, too, what each means, and no Russian sentence is left of one that has changed.
func TestSettingsAreExplainedInRussian(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	example, err := os.ReadFile(filepath.Join(root, "weir.example.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "web/src/messages/meanings.ru.json"))
	if err != nil {
		t.Fatal(err)
	}
	russian := map[string]string{}
	if err := json.Unmarshal(text, &russian); err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	shown, err := c.Shown(example)
	if err != nil || len(shown) < 100 {
		t.Fatalf("%d settings, %v", len(shown), err)
	}
	used := map[string]bool{"": true}
	for i := range shown {
		s := &shown[i]
		if used[s.Means] = true; s.Means != "" && russian[s.Means] == "" {
			t.Errorf("%s: %q has no Russian sentence in web/src/messages/meanings.ru.json", s.Key, s.Means)
		}
	}
	for english, text := range russian {
		if !used[english] {
			t.Errorf("meanings.ru.json: no setting means %q", english)
		}
		if !strings.ContainsFunc(text, func(r rune) bool { return r >= 'а' && r <= 'я' || r == 'ё' }) {
			t.Errorf("%q is not in Russian: %q", english, text)
		}
	}
}

var (
	actionConstant = regexp.MustCompile(`(?m)^\t\w+\s+= "([a-z_]+(?:\.[a-z_]+)?)"`)
	actionName     = regexp.MustCompile(`(?m)^  '?act_([a-z_.]+)'?: '(.+)',$`)
)

// The page of the audit log says in both languages what each action is that is recorded.
func TestAuditActionsAreNamed(t *testing.T) {
	t.Parallel()
	read := func(path string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("..", "..", path))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	code := read("internal/audit/audit.go")
	_, code, found := strings.Cut(code, "// The actions that are recorded.")
	code, _, closed := strings.Cut(code, "\n)\n")
	actions := actionConstant.FindAllStringSubmatch(code, -1)
	if !found || !closed || len(actions) < 100 {
		t.Fatalf("only %d actions were found", len(actions))
	}
	list := read("web/src/pages/admin/audit-acts.ts")
	names := map[string]map[string]string{}
	for _, language := range []string{"en", "ru"} {
		names[language] = map[string]string{}
		for _, m := range actionName.FindAllStringSubmatch(read("web/src/messages/adminaudit."+language+".ts"), -1) {
			names[language][m[1]] = m[2]
		}
	}
	for _, m := range actions {
		action := m[1]
		if !strings.Contains(list, "'"+action+"',") || names["en"][action] == "" {
			t.Errorf("%s has no name in audit-acts.ts and adminaudit.en.ts", action)
		}
		if !strings.ContainsFunc(names["ru"][action], func(r rune) bool { return r >= 'а' && r <= 'я' }) {
			t.Errorf("%s has no Russian name in adminaudit.ru.ts: %q", action, names["ru"][action])
		}
	}
}
