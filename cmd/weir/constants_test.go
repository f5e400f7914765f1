package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The log of a node says which of its settings are constants now, at its start and when it takes over a changed file.
func TestServeWarnsOfConstants(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "weir.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("log: {access: false}\nhealth:\n  cool_down: 9s\n")
	p := startIn(t, environment("SETTABLE_CONSTANTS=", "WEIR_JOURNAL_INTERVAL=20ms", "WEIR_SERVER_LISTEN=127.0.0.1:0", "WEIR_SERVER_ADMIN_LISTEN=off"), nil,
		"serve", "-c", file, "--data", filepath.Join(dir, "data"))
	warned := func(want string) {
		t.Helper()
		waitFor(t, want, func() bool { return p.ended() || p.stderr.with(want) != "" })
		if line := p.stderr.with(want); !strings.Contains(line, "WARN") {
			t.Fatalf("no warning says %q:\n%s", want, p.stderr)
		}
	}
	warned("weir.yaml:3: health.cool_down is a constant now (5s), and what is written there has no effect: remove it")
	warned("WEIR_JOURNAL_INTERVAL: journal.interval is a constant now (10ms)")
	write("log: {access: false}\nledger: {lease_for: 7s}\n")
	p.signal(t, syscall.SIGHUP)
	warned("weir.yaml:2: ledger.lease_for is a constant now (40s)")
	if p.ended() {
		t.Errorf("it ended: %v", p.err)
	}
}
