package app

import (
	"log/slog"
	"os"
	"testing"

	"weir/internal/config"
)

func TestMasterKeys(t *testing.T) {
	t.Setenv("WEIR_MASTER_KEY", "")
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	log := slog.New(slog.DiscardHandler)
	if ring, err := masterKeys(cfg, true, log); err != nil || ring.Ready() {
		t.Fatalf("nodes that share a database made a key of their own: %v", err)
	}
	if _, err := os.Stat(cfg.OwnMasterKey()); !os.IsNotExist(err) {
		t.Fatal(err)
	}
	first, err := masterKeys(cfg, false, log)
	if err != nil || !first.Ready() {
		t.Fatal(err)
	}
	again, err := masterKeys(cfg, false, log)
	if err != nil || again.IDs()[0] != first.IDs()[0] {
		t.Fatalf("a restart has another key: %v", err)
	}
	// One that is configured later is the current one, and what was encrypted before can still be read.
	t.Setenv("WEIR_MASTER_KEY", "00112233445566778899aabbccddeeff0123456789abcdef0123456789abcdef")
	both, err := masterKeys(cfg, false, log)
	if err != nil || len(both.IDs()) != 2 || both.IDs()[0] == first.IDs()[0] || both.IDs()[1] != first.IDs()[0] {
		t.Fatalf("%v %v", both.IDs(), err)
	}
	t.Setenv("WEIR_MASTER_KEY", "")
	if err := os.Chmod(cfg.OwnMasterKey(), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := masterKeys(cfg, false, log); err == nil {
		t.Error("a key that others may read was taken")
	}
}
