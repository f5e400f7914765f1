package config_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"weir/internal/config"
)

// A file and an environment from before an upgrade start the node, with a warning for each key that has no effect any more.
func TestConstantsAreWarnings(t *testing.T) {
	t.Parallel()
	const before = "health:\n  cool_down: 9s\nledger: {lease_for: 7s, store_for: 2s}\nexport: {s3: {part_bytes: [x]}}\n"
	c, err := config.Load(write(t, before), env("WEIR_JOURNAL_INTERVAL", "20ms", "WEIR_RUNTIME_GOGC", ""), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	if c.Health.CoolDown != want.Health.CoolDown || c.Ledger.LeaseFor != want.Ledger.LeaseFor || c.Journal.SyncEvery != want.Journal.SyncEvery || c.Ledger.StoreFor == want.Ledger.StoreFor {
		t.Errorf("it has an effect: %+v %+v %+v", c.Health, c.Ledger, c.Journal)
	}
	expect := []string{
		"weir.yaml:2: health.cool_down is a constant now (5s)",
		"weir.yaml:3: ledger.lease_for is a constant now (40s)",
		"weir.yaml:4: export.s3.part_bytes is a constant now (8MiB)",
		"WEIR_JOURNAL_INTERVAL: journal.interval is a constant now (10ms)",
	}
	got := c.Warnings()
	if len(got) != len(expect) {
		t.Fatalf("%d warnings: %q", len(got), got)
	}
	for i := range expect {
		if !strings.Contains(got[i].Text, expect[i]) {
			t.Errorf("the warning is %q, want %q", got[i], expect[i])
		}
	}
	if err := config.Unread([]string{"WEIR_JOURNAL_INTERVAL=20ms"}, ""); err != nil {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"health: {cool_dwon: 9s}":   "there is no key \"cool_dwon\" in health",
		"health: 9s":                "health must be a mapping",
		"health:\n- 1":              "health must be a mapping",
		"journal: {intervall: 9ms}": "there is no key \"intervall\" in journal; known here: sync",
	} {
		if _, err := config.Load(write(t, text), env(), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := config.Load("", env(), config.Overlay{"journal.interval": "1ms"}); err == nil {
		t.Error("a flag sets a constant")
	}
}

// TestTheEnvironmentIsNotSilent warns of each variable that wins over another value of the file, without either value.
func TestTheEnvironmentIsNotSilent(t *testing.T) {
	t.Parallel()
	file := write(t, "data_dir: /data\nserver: {listen: \":80\", trusted_proxies: [10.0.0.1]}\nstore: {dsn: postgres://weir:one@db/weir}\n")
	c, err := config.Load(file, env("WEIR_DATA_DIR", "/data", "WEIR_SERVER_LISTEN", ":8080", "WEIR_SERVER_TRUSTED_PROXIES", "10.0.0.2",
		"WEIR_STORE_DSN", "postgres://weir:two@db/weir", "WEIR_LOG_LEVEL", "debug"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range c.Warnings() {
		got = append(got, strings.TrimPrefix(w.Text, file))
	}
	want := []string{
		":2: server.listen has another value there, and WEIR_SERVER_LISTEN is used",
		":2: server.trusted_proxies has another value there, and WEIR_SERVER_TRUSTED_PROXIES is used",
		":3: store.dsn has another value there, and WEIR_STORE_DSN is used",
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("warnings %q, want %q", got, want)
	}
}

// Operators find each constant, with its value, in the manual.
func TestConstantsAreListed(t *testing.T) {
	t.Parallel()
	page := "../../docs/configuration.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	all := config.Constants()
	for _, c := range all {
		if row := "\n| `" + c.Key + "` | " + c.Value + " | "; !strings.Contains(string(text), row) {
			t.Errorf("%s lacks %s", page, strings.TrimSpace(row))
		}
	}
	_, table, _ := strings.Cut(string(text), "\n## Constants\n")
	if rows := strings.Count(table, "\n| `"); rows != len(all) {
		t.Errorf("%s lists %d constants, and there are %d", page, rows, len(all))
	}
}
