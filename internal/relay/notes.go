package relay

import (
	"hash/maphash"
	"sync/atomic"
	"time"

	"weir/internal/fault"
	"weir/internal/record"
)

// notesEachSecond is how many calls of a wallet that reached no provider are recorded in a second. A few show why; when everything is refused,
// as fast as a client can ask, the rest would only load the store that is needed to recover.
const notesEachSecond = 5

// thinning remembers how many such calls were recorded in this second, by wallet. Wallets that share a place share its allowance.
type thinning struct {
	seed   maphash.Seed
	places [256]atomic.Int64 // Unix seconds in all but the last 8 bits, which count
}

func newThinning() *thinning { return &thinning{seed: maphash.MakeSeed()} }

// keeps reports whether one more may be recorded.
func (t *thinning) keeps(wallet string, now time.Time) bool {
	place := &t.places[maphash.String(t.seed, wallet)%uint64(len(t.places))]
	for {
		old := place.Load()
		next := old + 1
		if second := now.Unix() << 8; old&^0xff != second {
			next = second | 1
		} else if old&0xff >= notesEachSecond {
			return false
		}
		if place.CompareAndSwap(old, next) {
			return true
		}
	}
}

// worthNoting reports whether a call that is not charged is to be recorded: one that was tried, and some of those for which no endpoint was
// left or every one is ejected. That all have as much as they may have shows in the metrics.
func (r *Relay) worthNoting(c *record.Call) bool {
	if len(c.Attempts) > 0 {
		return true
	}
	refused := c.Error == fault.NoEndpoints.String() || c.Error == fault.NoProvider.String()
	return refused && r.notes.keeps(c.Wallet, c.At)
}
