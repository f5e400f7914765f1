package storetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/ledger/journal"
	"weir/internal/money"
	"weir/internal/store"
)

// poison: a charge that the database can never take is set aside, and those around it are posted.
func poison(t *testing.T, d *books) {
	const most = 1_000_000_000 * ruble // of one call; ten of them are more than a wallet can have been charged
	rich, w := d.wallet(ruble), d.wallet(100*ruble)
	b := d.node()
	for range 9 {
		d.settle(b, d.hold(b, rich, 0), rich, most)
	}
	d.flush(b)
	if err := b.Close(d.ctx); err != nil {
		t.Fatal(err)
	}
	d.topUp(rich, ruble)
	dir := filepath.Join(t.TempDir(), "journal")
	b = d.start(d.config(dir))
	h := d.hold(b, rich, 0)
	for range 3 {
		d.spend(b, w, ruble)
	}
	bad := d.settle(b, h, rich, most)
	for range 4 {
		d.spend(b, w, ruble)
	}
	d.flush(b)
	d.wantBalance(b, w, 100*ruble, 7*ruble, 0)
	waiting, err := d.store.Ledger.Asides(d.ctx)
	if err != nil || len(waiting) != 1 || waiting[0].Generation != bad.Generation || waiting[0].Cost != most || waiting[0].Wallet != rich || waiting[0].Reason == "" || b.Aside() != 1 {
		t.Fatalf("%+v, %v", waiting, err)
	}
	if files, err := filepath.Glob(filepath.Join(dir, "aside", "*.record")); err != nil || len(files) != 1 {
		t.Errorf("%q, %v", files, err)
	}
	d.mentions("set aside", "weir ledger aside")
	if err := b.Close(d.ctx); err != nil {
		t.Fatal(err)
	}
	if again := d.start(d.config(dir)); again.Aside() != 1 {
		t.Errorf("%d are set aside after another start", again.Aside())
	}
	id := waiting[0].ID
	by := audit.Actor{Name: "op"}
	if err := d.store.Ledger.PostAside(d.ctx, id, by, d.clock.Now()); !fault.Is(err, fault.Unprocessable) {
		t.Errorf("%v", err)
	}
	if err := d.store.Ledger.DismissAside(d.ctx, id, "a nonsense report", by, d.clock.Now()); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{d.store.Ledger.PostAside(d.ctx, id, by, d.clock.Now()), d.store.Ledger.DismissAside(d.ctx, id, "", by, d.clock.Now())} {
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("%v", err)
		}
	}
	d.balanced()
}

// mentions looks for a failed check whose text has a word.
func (d *books) mentions(name, word string) {
	d.t.Helper()
	r, err := ledger.Verify(d.ctx, d.store.Ledger, "", ledger.Anchor{}, time.Time{})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, c := range r.Checks {
		if c.Name == name && !c.OK && strings.Contains(c.Detail, word) {
			return
		}
	}
	d.t.Errorf("no failing check %q mentions %q: %+v", name, word, r.Checks)
}

// asidePosted: a charge that was set aside can be posted once, when the reason no longer exists.
func asidePosted(t *testing.T, d *books) {
	w := d.wallet(10 * ruble)
	node := "node_aside"
	if _, err := d.store.Ledger.Position(d.ctx, node); err != nil {
		t.Fatal(err)
	}
	c := d.call(w, "", 3*ruble)
	rec := ledger.Encode(ledger.Item{Call: *c}).Record
	a := &ledger.Aside{Node: node, Position: 100, Generation: c.Generation, Wallet: w, Cost: c.Cost, Reason: "test", Record: rec, At: d.clock.Now()}
	for range 2 { // the second time the node has moved on
		if at, err := d.store.Ledger.SetAside(d.ctx, "", 0, a); err != nil || at != 100 {
			t.Fatal(at, err)
		}
	}
	if _, err := d.store.Ledger.SetAside(d.ctx, "life_other", 100, a); !fault.Is(err, fault.Conflict) {
		t.Errorf("%v", err)
	}
	d.wantBalance(d.store.Ledger, w, 10*ruble, 0, 0)
	waiting, err := d.store.Ledger.Asides(d.ctx)
	if err != nil || len(waiting) != 1 {
		t.Fatal(waiting, err)
	}
	if err := d.store.Ledger.PostAside(d.ctx, waiting[0].ID, audit.Actor{Name: "op"}, d.clock.Now()); err != nil {
		t.Fatal(err)
	}
	d.wantBalance(d.store.Ledger, w, 10*ruble, 3*ruble, 0)
	if err := d.store.Ledger.PostAside(d.ctx, waiting[0].ID, audit.Actor{Name: "op"}, d.clock.Now()); !fault.Is(err, fault.NotFound) {
		t.Errorf("%v", err)
	}
	if n, err := d.store.Ledger.CountAsides(d.ctx); n != 0 || err != nil {
		t.Error(n, err)
	}
	d.balanced()
}

// copied starts a node on a copy of another one's folder, while that runs or after it: what each of them delivered is charged once.
func copied(t *testing.T, d *books) {
	for name, killed := range map[string]bool{"beside the original": false, "after the original was killed": true} {
		w := d.wallet(1000 * ruble)
		dir, other := filepath.Join(t.TempDir(), "journal"), filepath.Join(t.TempDir(), "journal")
		reported := 0
		cfg := d.config(dir)
		cfg.OnSuperseded = func() { reported++ }
		a := d.start(cfg)
		charged := money.Nano(0)
		spend := func(b *ledger.Book, n int) {
			for range n {
				d.spend(b, w, ruble)
				charged += ruble
			}
		}
		spend(a, 3)
		if err := os.CopyFS(other, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		running := d.hold(a, w, ruble)
		spend(a, 2) // in its journal alone, and not in the copy's
		b := d.start(d.config(other))
		spend(b, 5)
		d.flush(b)
		if killed {
			if err := a.Abandon(); err != nil {
				t.Fatal(err)
			}
		} else {
			d.settle(a, running, w, ruble) // it was being delivered
			charged += ruble
			d.flush(a)
			d.clock.Advance(3 * time.Second)
			_ = a.Tick(d.ctx)
			if reported != 1 || a.Ready(d.ctx) == nil {
				t.Errorf("%s: reported %d times, ready: %v", name, reported, a.Ready(d.ctx))
			}
			if _, err := a.Hold(d.ctx, ledger.HoldRequest{Wallet: w, Amount: 1}); !fault.Is(err, fault.StorageUnavailable) {
				t.Errorf("%s: %v", name, err)
			}
			if err := a.Close(d.ctx); err != nil {
				t.Fatal(err)
			}
		}
		again := d.start(d.config(dir))
		if again.Node() == b.Node() || b.Ready(d.ctx) != nil {
			t.Errorf("%s: %s and %s, ready: %v", name, again.Node(), b.Node(), b.Ready(d.ctx))
		}
		spend(again, 4)
		spend(b, 4)
		d.flush(again)
		d.flush(b)
		for _, book := range []*ledger.Book{again, b} {
			if err := book.Close(d.ctx); err != nil {
				t.Fatal(err)
			}
		}
		got, err := d.store.Ledger.Balance(d.ctx, w)
		if err != nil || got.Charged != charged {
			t.Errorf("%s: charged %s of %s, %v", name, got.Charged, charged, err)
		}
		d.balanced()
	}
}

// nextBeat: a node that settles nothing detects with its next beat that another has its identity.
func nextBeat(t *testing.T, d *books) {
	dir, other := filepath.Join(t.TempDir(), "journal"), filepath.Join(t.TempDir(), "journal")
	reported := 0
	cfg := d.config(dir)
	cfg.OnSuperseded = func() { reported++ }
	a := d.start(cfg)
	if err := os.CopyFS(other, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	b := d.start(d.config(other))
	d.clock.Advance(3 * time.Second)
	_ = a.Tick(d.ctx)
	if reported != 1 || a.Ready(d.ctx) == nil {
		t.Errorf("reported %d times, ready: %v", reported, a.Ready(d.ctx))
	}
	d.clock.Advance(3 * time.Second)
	d.tick(b)
	if b.Ready(d.ctx) != nil {
		t.Errorf("%v", b.Ready(d.ctx))
	}
}

// otherBooks: a journal is not posted into a database that it was not written for, and nothing is changed by trying.
func otherBooks(t *testing.T, d *books, other *store.Store) {
	w := d.wallet(10 * ruble)
	dir := filepath.Join(t.TempDir(), "journal")
	b := d.start(d.config(dir))
	d.spend(b, w, ruble)
	if err := b.Abandon(); err != nil {
		t.Fatal(err)
	}
	before := must(journal.Node(dir))
	_, err := ledger.Start(d.ctx, other.Ledger, d.config(dir))
	if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "other books") {
		t.Fatalf("%v", err)
	}
	b = d.start(d.config(dir))
	if b.Node() != before {
		t.Error("it has another identity")
	}
	d.wantBalance(b, w, 10*ruble, ruble, 0)
	d.balanced()
}
