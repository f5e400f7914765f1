package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Each setting is shown with its value and the place that set it, and no secret is.
func TestShown(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile("../../weir.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "weir.yaml")
	text := "server:\n  listen: 127.0.0.1:8080\n  public_url: https://weir.example.org\nmail:\n  host: mail.example.org\n  from: weir@example.org\n  username: weir\n  password: hunter2hunter2\n" +
		"store:\n  dsn: postgres://weir:pass-of-db@db/weir\nproviders:\n  - id: own\n    dialect: openai\n    base_url: http://127.0.0.1:1/v1\n    api_key: sk-very-secret\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"WEIR_LOG_LEVEL": "debug"}[name]
		return v, ok
	}
	c, err := Load(file, env, Overlay{"data_dir": "/var/lib/elsewhere"})
	if err != nil {
		t.Fatal(err)
	}
	all, err := c.Shown(example)
	if err != nil {
		t.Fatal(err)
	}
	of := func(key string) Shown {
		t.Helper()
		i := slices.IndexFunc(all, func(s Shown) bool { return s.Key == key })
		if i < 0 {
			t.Fatalf("%s is not shown", key)
		}
		return all[i]
	}
	for _, want := range []Shown{
		{Key: "server.listen", Value: "127.0.0.1:8080", From: FromFile, Where: file + ":2"},
		{Key: "log.level", Value: "debug", From: FromEnvironment, Where: "WEIR_LOG_LEVEL", Live: true},
		{Key: "data_dir", Value: "/var/lib/elsewhere", From: FromFlag},
		{Key: "store.dsn", Value: "postgres://***@db/weir", From: FromFile, Where: file + ":10"},
		{Key: "video.max_active_per_user", Value: "2", From: FromDefault},
	} {
		got := of(want.Key)
		if got.Value != want.Value || got.From != want.From || got.Where != want.Where || got.Live != want.Live || got.Means == "" {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if p := of("mail.password"); !p.Secret || !p.Set || p.Value != "" || p.From != FromFile {
		t.Errorf("%+v", p)
	}
	if p := of("providers"); p.Count != 1 || p.Value != "" || p.From != FromFile {
		t.Errorf("%+v", p)
	}
	for _, s := range all {
		for _, secret := range []string{"hunter2", "pass-of-db", "sk-very-secret"} {
			if strings.Contains(s.Value+s.Where+s.Means, secret) {
				t.Errorf("%s shows a secret: %+v", s.Key, s)
			}
		}
	}
	before, err := (&Config{}).Shown(example)
	if err != nil || len(before) != len(all) {
		t.Errorf("%d settings of %d, %v", len(before), len(all), err)
	}
}
