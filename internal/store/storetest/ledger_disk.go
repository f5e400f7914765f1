package storetest

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/ledger/journal"
	"weir/internal/money"
)

// torn cuts the only file of a journal with three settlements of one ruble, first at its beginning and at last after its end,
// and starts a node on each piece. The store lacks all three, so each piece that holds one more whole record adds its charge.
func torn(t *testing.T, d *books, dir, w string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.wal"))
	if err != nil || len(names) != 1 {
		t.Fatalf("%q, %v", names, err)
	}
	whole, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	end := len(whole)
	for whole[end-1] == 0 {
		end--
	}
	var charged money.Nano
	steps := 0
	for cut := 80; cut < end+2+every(7); cut += every(7) { // after the head, which no crash takes
		fresh := filepath.Join(t.TempDir(), "journal")
		if err := os.MkdirAll(fresh, 0o700); err != nil {
			t.Fatal(err)
		}
		b := append([]byte(nil), whole...)
		clear(b[cut:])
		if err := os.WriteFile(filepath.Join(fresh, filepath.Base(names[0])), b, 0o600); err != nil {
			t.Fatal(err)
		}
		book := d.start(d.config(fresh))
		bal, err := book.Balance(d.ctx, w)
		if err != nil {
			t.Fatal(err)
		}
		if bal.Charged != charged {
			steps++
			if bal.Charged != charged+ruble {
				t.Fatalf("cut at %d: charged %s after %s", cut, bal.Charged, charged)
			}
			charged = bal.Charged
		}
		if err := book.Close(d.ctx); err != nil {
			t.Fatal(err)
		}
	}
	if steps != 3 {
		t.Fatalf("%d records came back", steps)
	}
	d.balanced()
}

func diskFull(t *testing.T, d *books) {
	w := d.wallet(100 * ruble)
	var full atomic.Bool
	cfg := d.config(filepath.Join(t.TempDir(), "journal"))
	cfg.Journal.SegmentBytes = 4096
	cfg.Journal.Allocate = func(f *journal.File, n int64) error {
		if full.Load() {
			return syscall.ENOSPC
		}
		return f.Truncate(n)
	}
	b := d.start(cfg)
	var open []*ledger.Hold
	for range 10 {
		open = append(open, d.hold(b, w, ruble))
	}
	full.Store(true)
	spent := money.Nano(0)
	for range 100 {
		_ = b.Tick(d.ctx)
		h, err := b.Hold(d.ctx, ledger.HoldRequest{Wallet: w, Amount: 1})
		if fault.Is(err, fault.StorageUnavailable) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		d.settle(b, h, w, 1)
		spent++
	}
	if spent == 0 || spent == 100 {
		t.Fatalf("new calls were taken %d times", spent)
	}
	if err := b.Ready(d.ctx); !fault.Is(err, fault.StorageUnavailable) {
		t.Errorf("a node that takes no calls says it is ready: %v", err)
	}
	for _, h := range open { // what was admitted is settled in the space kept for it
		d.settle(b, h, w, ruble)
	}
	d.wantBalance(b, w, 100*ruble, spent+10*ruble, 0)
	full.Store(false)
	d.tick(b)
	if err := b.Ready(d.ctx); err != nil {
		t.Errorf("there is room again: %v", err)
	}
	d.spend(b, w, 1)
	d.wantBalance(b, w, 100*ruble, spent+1+10*ruble, 0)
	d.balanced()
}
