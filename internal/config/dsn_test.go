package config_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"weir/internal/config"
	"weir/internal/redact"
)

func TestDSN(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dsn, shown string
		postgres   bool
		secrets    []string
	}{
		"none":              {"", "", false, nil},
		"file":              {"/var/lib/weir/weir.db", "/var/lib/weir/weir.db", false, nil},
		"with a password":   {"postgres://weir:geheim-1@db.local:5432/weir?sslmode=require", "postgres://weir:***@db.local:5432/weir?sslmode=require", true, []string{"geheim-1"}},
		"other scheme":      {"postgresql://weir:geheim-1@db/weir", "postgresql://weir:***@db/weir", true, []string{"geheim-1"}},
		"without a user":    {"postgres:///weir?host=/run/postgresql", "postgres:///weir?host=/run/postgresql", true, nil},
		"without password":  {"postgres://weir@db/weir", "postgres://weir@db/weir", true, nil},
		"encoded":           {"postgres://weir:a%2Fb%40c%3Ad@db/weir", "postgres://weir:***@db/weir", true, []string{"a/b@c:d", "a%2Fb%40c%3Ad"}},
		"as an option":      {"postgres://db/weir?user=weir&password=geheim-1", "postgres://db/weir?password=***&user=weir", true, []string{"geheim-1"}},
		"not understood":    {"postgres://weir:geheim%zz@db/weir", "postgres://***", true, nil},
		"password of a key": {"postgres://db/weir?sslpassword=geheim-1", "postgres://db/weir?sslpassword=***", true, []string{"geheim-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, err := config.Parse(fmt.Appendf(nil, "store: {dsn: %q}", c.dsn), env())
			if err != nil {
				t.Fatal(err)
			}
			d := cfg.Store.DSN
			if d.Reveal() != c.dsn || d.Postgres() != c.postgres {
				t.Errorf("%q, PostgreSQL %t", d.Reveal(), d.Postgres())
			}
			for _, shown := range []string{d.String(), fmt.Sprint(d), fmt.Sprintf("%s", d), d.LogValue().String()} {
				if shown != c.shown {
					t.Errorf("shown as %s, want %s", shown, c.shown)
				}
			}
			asJSON, err := json.Marshal(cfg.Store)
			if err != nil {
				t.Fatal(err)
			}
			var line strings.Builder
			slog.New(slog.NewTextHandler(&line, nil)).Info("x", "dsn", d)
			printed := fmt.Sprintf("%v %+v %#v %s %s", cfg, cfg, cfg, asJSON, line.String())
			known := redact.New(cfg.Secrets()...)
			for _, secret := range c.secrets {
				if strings.Contains(printed, secret) {
					t.Errorf("%q is printed", secret)
				}
				if logged := known.Redact([]byte("cannot connect: " + secret)); strings.Contains(string(logged), secret) {
					t.Errorf("%q is logged", secret)
				}
			}
		})
	}
}

func TestDSNFromTheEnvironment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, variable string }{
		"named": {"store: {dsn: \"${DATABASE}\"}", "DATABASE"},
		"own":   {"", "WEIR_STORE_DSN"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const dsn = "postgres://weir:geheim-1@db/weir"
			cfg, err := config.Parse([]byte(c.text), env(c.variable, dsn))
			if err != nil || cfg.Store.DSN.Reveal() != dsn {
				t.Errorf("%v, %v", cfg.Store.DSN, err)
			}
		})
	}
}
