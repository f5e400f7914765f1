package ledger

import (
	"strconv"
	"testing"

	"weir/internal/money"
)

// BenchmarkChain is what the chain of what was posted costs a call, apart from the one link of its batch.
func BenchmarkChain(b *testing.B) {
	it := benchItem()
	rec := Encode(it).Record
	ref := SettleRef + it.Call.Generation
	var d Digest
	c := NewContent(1, "settle", "settle:node:"+strconv.Itoa(1), 1, "", "")
	b.ReportAllocs()
	b.SetBytes(int64(len(rec)))
	for b.Loop() {
		d.Add(it.Call.Wallet, it.Call.Generation, rec)
		if len(c.text) > 100_000 {
			c.text = c.text[:0]
		}
		c.Entry(WalletAccount+it.Call.Wallet, ref, 1, money.Nano(-1))
	}
}
