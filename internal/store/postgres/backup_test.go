package postgres_test

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/store/postgres/pgtest"
	"weir/internal/usage"
)

// A copy made with the documented commands, while calls are applied, is a whole ledger.
func TestBackup(t *testing.T) {
	t.Parallel()
	s, dsn := openStore(t)
	w := wallet(t, s, "wal_1")
	node(t, s, "node")
	const batches, calls = 20, 50
	applied := make(chan error, 1)
	begun := make(chan struct{})
	go func() {
		b := ledger.Batch{Node: "node", Now: time.Unix(1e9, 0)}
		for n := range batches {
			b.From, b.To, b.Items = b.To, b.To+calls, nil
			for i := range calls {
				c := record.Call{Generation: string(rune('A'+n)) + string(rune('A'+i)), Wallet: w, Key: "key_1", User: "usr_1", At: b.Now, Model: "a/b", Status: 200,
					Lines: []usage.Line{{Kind: usage.KindRequest, Quantity: 1, Price: 10_000_000}}, Cost: money.Ruble / 100, Settled: true}
				b.Items = append(b.Items, ledger.Encode(ledger.Item{Call: c}))
			}
			if _, err := s.Ledger.Apply(t.Context(), &b); err != nil {
				applied <- err
				return
			}
			if n == 0 {
				close(begun)
			}
		}
		applied <- nil
	}()
	<-begun
	file, copied := filepath.Join(t.TempDir(), "weir.dump"), pgtest.New(t)
	for _, cmd := range []*exec.Cmd{
		exec.Command(pgtest.Program(t, "pg_dump"), "--format=custom", "--file="+file, dsn),
		exec.Command(pgtest.Program(t, "pg_restore"), "--no-owner", "--dbname="+copied, file),
	} {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, out)
		}
	}
	if err := <-applied; err != nil {
		t.Fatal(err)
	}
	restored := openDSN(t, copied)
	r, err := ledger.Verify(t.Context(), restored.Ledger, "", ledger.Anchor{}, time.Unix(1e9, 0))
	if err != nil || !r.OK() {
		t.Fatalf("%+v, %v", r, err)
	}
	if b, err := restored.Ledger.Balance(t.Context(), w); err != nil || b.Charged < calls*money.Ruble/100 || b.Charged > batches*calls*money.Ruble/100 {
		t.Errorf("%+v, %v", b, err)
	}
	if _, err := connect(t, copied).Exec(t.Context(), "UPDATE entries SET amount = 0"); err == nil {
		t.Error("the copy lets entries be changed")
	}
}
