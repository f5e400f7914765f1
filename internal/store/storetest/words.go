package storetest

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/record"
)

// learnedWords applies calls until records refer to learned words: all come back as they were, and removed words are noticed.
func learnedWords(t *testing.T, b Books) {
	ctx := context.Background()
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	random := rand.New(rand.NewPCG(5, 6))
	world := newWorld(random, 3)
	for i := range world.wallets {
		if err := b.Store.CreateUser(ctx, account.User{ID: world.users[i], Name: "u", Wallet: world.wallets[i], CreatedAt: at}, audit.Event{Action: audit.UserCreated}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Store.Position(ctx, "node-words"); err != nil {
		t.Fatal(err)
	}
	var all []record.Call
	batch := ledger.Batch{Node: "node-words", Now: at}
	for range 40 {
		batch.Items = batch.Items[:0]
		for range 4 {
			it := ledger.Encode(ledger.Item{Call: world.call(random, at)})
			batch.Items = append(batch.Items, it)
			all = append(all, it.Call)
		}
		batch.To = batch.From + 4
		if to, err := b.Store.Apply(ctx, &batch); err != nil || to != batch.To {
			t.Fatalf("%d, %v", to, err)
		}
		batch.From = batch.To
	}
	for i := range all {
		got, _, err := b.Store.Call(ctx, all[i].Wallet, all[i].Generation)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&all[i], got); diff != "" {
			t.Fatal(diff)
		}
	}
	if found, _ := failed(t, &b, ledger.Anchor{}); len(found) > 0 {
		t.Errorf("found %v", found)
	}
	if err := b.Store.RebuildRollUps(ctx); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"DELETE FROM record_words", "UPDATE record_words SET at = 1"} {
		if err := b.SQL(text); err == nil || !strings.Contains(err.Error(), "never") {
			t.Errorf("%s: %v", text, err)
		}
	}
	b.change(t, "DELETE FROM record_words")
	if found, _ := failed(t, &b, ledger.Anchor{}); found["records"] == "" || found["chain"] == "" {
		t.Errorf("without the words: %v", found)
	}
}
