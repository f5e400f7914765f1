package ledgerdb

import (
	"crypto/sha256"
	"fmt"
	"iter"
	"math"
	"math/big"
	"slices"
	"strings"

	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/store/sqldb"
)

// wide is an amount that int64 need not hold: sums over all books.
type wide struct{ n big.Int }

func (w *wide) add(n int64) {
	var x big.Int
	w.n.Add(&w.n, x.SetInt64(n))
}

func (w *wide) take(n int64) {
	var x big.Int
	w.n.Sub(&w.n, x.SetInt64(n))
}

func (w *wide) is(n int64) bool { return w.n.IsInt64() && w.n.Int64() == n }

// most is the amount, or the largest one.
func (w *wide) most() money.Nano {
	if w.n.IsInt64() {
		return money.Nano(w.n.Int64())
	}
	return math.MaxInt64
}

// String is the amount in rubles.
func (w *wide) String() string {
	if w.n.IsInt64() {
		return money.Nano(w.n.Int64()).String()
	}
	s := new(big.Int).Abs(&w.n).String()
	s = strings.TrimRight(s[:len(s)-9]+"."+s[len(s)-9:], "0")
	if w.n.Sign() < 0 {
		s = "-" + s
	}
	return strings.TrimSuffix(s, ".")
}

// wideOf is hi rubles and lo nano-rubles.
func wideOf(hi, lo int64) *wide {
	w := &wide{}
	w.n.Mul(big.NewInt(hi), big.NewInt(int64(money.Ruble)))
	w.add(lo)
	return w
}

// books has the results of one walk through all postings, for several checks.
type books struct {
	wallets    map[string]*walletSums // by id
	contents   contents
	events     map[string][]int64 // entries that the audit chain must have, and their transactions
	unreported differences        // audit rows without a transaction
	tops       int
	refunds    map[string]*refunded // by wallet and generation

	escrows map[escrow]*wide // what is left of them

	requests map[string]*request // of batches, by wallet and generation

	sweeps map[int64]*sweep // by their links
	swept  sweep            // all of them

	calls  int64 // recorded
	digest ledger.Digest
}

// refunded is the sum that was given back for a charge.
type refunded struct {
	sum  wide
	list []givenBack // the earliest posted first
	call bool        // the call was found
}

// escrow is the lease that holds the money of a video job.
type escrow struct{ job, wallet string }

type walletSums struct {
	credited, charged wide
	seen              bool
}

func newBooks() *books {
	return &books{wallets: map[string]*walletSums{}, events: map[string][]int64{}, refunds: map[string]*refunded{}, sweeps: map[int64]*sweep{}, escrows: map[escrow]*wide{}, requests: map[string]*request{}}
}

// entries walks through all that was posted.
func (c *checker) entries() {
	if c.err != nil {
		return
	}
	var wrong differences
	var all wide
	n := 0
	rows, err := c.tx.QueryContext(c.ctx, posted)
	if err == nil {
		err = eachPosting(rows, func(p *posting) {
			n += len(p.entries)
			c.books.contents.add(p)
			if w := c.books.post(p, &all); w != "" {
				wrong.add(fmt.Sprintf("transaction %d %s", p.id, w))
			}
		})
	}
	if c.err = err; err != nil {
		return
	}
	if all.n.Sign() != 0 {
		wrong = append(wrong, fmt.Sprintf("the sum of all entries is %s rubles, not 0", &all))
	}
	wrong = append(wrong, c.wrong("transaction %d is missing, but has entries", checkOrphans)...)
	c.add("entries", wrong, "%d entries of %d transactions; those of each sum to zero", n, len(c.books.contents.ids))
}

// post adds a transaction, and returns what is wrong with it.
func (b *books) post(p *posting, all *wide) string {
	var sum wide
	wallets, lines := 0, map[int64]bool{}
	wrong := ""
	for i := range p.entries {
		e := &p.entries[i]
		sum.add(e.amount)
		all.add(e.amount)
		if lines[e.line] {
			wrong = "has two entries of the same number"
		}
		lines[e.line] = true
		id, ok := strings.CutPrefix(e.account, ledger.WalletAccount)
		if ok {
			wallets++
			w := b.wallet(id)
			if p.kind == settleKind {
				w.charged.n.Sub(&w.charged.n, new(big.Int).SetInt64(e.amount))
			} else {
				w.credited.add(e.amount)
			}
		}
		if !fits(p, e, ok) {
			wrong = fmt.Sprintf("of kind %s has an unexpected entry %s of %s", p.kind, e.ref, e.account)
		}
	}
	switch {
	case len(p.entries) == 0:
		return "has no entries"
	case sum.n.Sign() != 0:
		return fmt.Sprintf("does not sum to zero, but to %s rubles", &sum)
	case wrong != "":
		return wrong
	case p.kind == settleKind:
		if len(p.entries) != wallets+1 || p.actor != "" || p.reason != "" {
			return "settles calls, and has entries other than one for each call and one of revenue"
		}
		return ""
	case len(p.entries) != 2 || wallets != 1:
		return fmt.Sprintf("has %d entries, %d of them of wallets, instead of two with one of a wallet", len(p.entries), wallets)
	}
	b.expect(p)
	return ""
}

func (b *books) wallet(id string) *walletSums {
	w := b.wallets[id]
	if w == nil {
		w = &walletSums{}
		b.wallets[id] = w
	}
	return w
}

// fits reports whether an entry belongs into its transaction.
func fits(p *posting, e *postedEntry, wallet bool) bool {
	switch {
	case p.kind == settleKind && wallet:
		return strings.HasPrefix(e.ref, ledger.SettleRef) && e.ref != p.ref && e.amount <= 0
	case p.kind == settleKind:
		return e.account == ledger.RevenueAccount && e.ref == p.ref
	case wallet:
		return e.ref == p.ref && (p.kind != ledger.RefundKind || e.amount > 0)
	}
	return e.ref == p.ref && ledger.Against(p.kind, e.account)
}

// expect records the entry that the audit chain must have for a posting.
func (b *books) expect(p *posting) {
	b.tops++
	i := slices.IndexFunc(p.entries, func(e postedEntry) bool { return strings.HasPrefix(e.account, ledger.WalletAccount) })
	q := ledger.Posting{Ref: p.ref, Against: p.entries[1-i].account, Amount: money.Nano(p.entries[i].amount), Reason: p.reason}
	wallet := strings.TrimPrefix(p.entries[i].account, ledger.WalletAccount)
	if p.kind == ledger.RefundKind {
		b.giveBack(wallet, strings.TrimPrefix(q.Against, ledger.RefundAccount), givenBack{p.at, int64(q.Amount)})
	}
	k := reported(p.at, p.actor, p.kind, wallet, sqldb.Text(q.Words()))
	b.events[k] = append(b.events[k], p.id)
}

func (b *books) giveBack(wallet, generation string, r givenBack) {
	k := wallet + "\x00" + generation
	if b.refunds[k] == nil {
		b.refunds[k] = &refunded{}
	}
	b.refunds[k].sum.add(r.amount)
	b.refunds[k].list = append(b.refunds[k].list, r)
}

// refund adds the refunds of a call to its hour and to their days, and returns what is wrong with them.
func (b *books) refund(c *record.Call, hour *sums, vat *dayBook) string {
	r := b.refunds[c.Wallet+"\x00"+c.Generation]
	if r == nil {
		return ""
	}
	r.call = true
	if !r.sum.n.IsInt64() || r.sum.n.Int64() > int64(c.Cost) {
		return fmt.Sprintf("generation %s was charged %s rubles, and %s were given back", c.Generation, c.Cost, &r.sum)
	}
	hour[lastAt-1] += r.sum.n.Int64()
	vat.refunds(c, r.list)
	return ""
}

func reported(at int64, actor, kind, wallet, words string) string {
	return fmt.Sprintf("%d\x00%s\x00%s\x00%s\x00%s", at, actor, kind, wallet, words)
}

// reported passes rows of the audit chain on, and removes postings that they account for.
func (b *books) reported(rows iter.Seq2[audit.Row, error]) iter.Seq2[audit.Row, error] {
	return func(yield func(audit.Row, error) bool) {
		for r, err := range rows {
			if kind := ledger.Reported(r.Action); err == nil && kind != "" {
				k := reported(r.At.UnixMicro(), r.Name, kind, r.Target, r.After)
				switch list := b.events[k]; {
				case len(list) > 0:
					b.events[k] = list[1:]
				case !b.reportedBefore(&r, kind):
					b.unreported.add(fmt.Sprintf("audit row %d records a %s of %s for wallet %s by %s, which was not posted that way", r.Seq, kind, r.After, r.Target, r.Name))
				}
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// reportedBefore removes the expected entries that rows of older versions have: they had no reference, except a top-up's source and id.
func (b *books) reportedBefore(r *audit.Row, kind string) bool {
	words := r.After
	amount, rest, ok := strings.Cut(words, " rubles from ")
	source, id, two := strings.Cut(rest, ", ")
	if kind != ledger.TopUpKind || !ok || !two {
		return false
	}
	k := reported(r.At.UnixMicro(), r.Name, kind, r.Target, amount+" rubles, topup:"+source+":"+id)
	list := b.events[k]
	if len(list) == 0 {
		return false
	}
	b.events[k] = list[1:]
	return true
}

// postings compares top-ups, corrections and refunds with the audit chain, which audit has walked through before.
func (c *checker) postings() {
	wrong := c.books.unreported
	for k, list := range c.books.events {
		for _, id := range list {
			f := strings.Split(k, "\x00")
			wrong.add(fmt.Sprintf("transaction %d, a %s of %s for wallet %s by %s, is missing in the audit chain", id, f[2], f[4], f[3], f[1]))
		}
	}
	c.add("top-ups", wrong, "%d top-ups, corrections and refunds, each with its row in the audit chain", c.books.tops)
}

func (c *checker) wallets() {
	n, below := 0, 0
	var credited, charged wide
	var wrong differences
	c.each(checkWallets, func(v []any) {
		n++
		has, _ := v[1].(int64)
		owes, _ := v[2].(int64)
		credited.add(has)
		charged.add(owes)
		w := c.books.wallet(text(v[0]))
		w.seen = true
		if !w.credited.is(has) || !w.charged.is(owes) {
			wrong.add(fmt.Sprintf("wallet %s has %s credited, its entries say %s; %s charged, its entries say %s",
				text(v[0]), money.Nano(has), &w.credited, money.Nano(owes), &w.charged))
		}
		if has < owes {
			below++
		}
	})
	for id, w := range c.books.wallets {
		if !w.seen {
			wrong.add("account " + ledger.WalletAccount + id + " has entries and no wallet")
		}
	}
	c.add("wallets", wrong, "%d wallets agree with their entries: %s credited, %s charged", n, &credited, &charged)
	if below > 0 {
		c.checks[len(c.checks)-1].Detail += fmt.Sprintf("; %d are below zero: calls cost more than was held, or a correction took it", below)
	}
}

// chain walks through the chain of postings and records.
func (c *checker) chain(noted ledger.Anchor) {
	var wrong differences
	var digest ledger.Digest
	var calls, length int64
	sweeps := 0
	var at string
	posted := &c.books.contents
	c.each(chainAll, func(v []any) {
		l := linkOf(v)
		if length++; l.Seq != length {
			wrong.add(fmt.Sprintf("a link is missing between %d and %d", c.end.Length, l.Seq))
			length = l.Seq
		}
		calls += l.Calls
		digest.Plus(l.Digest[:])
		content, lost := posted.between(l.First, l.Last)
		s := c.books.sweeps[l.Seq]
		if s != nil {
			content = s.content()
			sweeps++
		}
		switch {
		case (s != nil) != (l.Calls < 0) || s != nil && (s.calls != -l.Calls || l.First != 0):
			wrong.add(fmt.Sprintf("link %d does not fit the calls that were dropped with it", l.Seq))
		case lost:
			wrong.add(fmt.Sprintf("link %d contains transaction %d, which is missing or linked twice", l.Seq, l.First))
		case l.Chain(c.end.Hash, content) != l.Hash:
			wrong.add(fmt.Sprintf("link %d does not match: it, the one before or transaction %d was changed", l.Seq, l.First))
		}
		c.end = ledger.Anchor{Length: l.Seq, Hash: l.Hash}
		if l.Seq == noted.Length {
			at = l.Hash
		}
	})
	for i, id := range posted.ids {
		if !posted.linked[i] {
			wrong.add(fmt.Sprintf("transaction %d is in no link: it was not posted by the ledger", id))
		}
	}
	if calls != c.books.calls || digest != c.books.digest {
		wrong.add(fmt.Sprintf("%d calls were recorded, %d are there, and not all of them as they were: some are changed, added or gone", calls, c.books.calls))
	}
	if sweeps != len(c.books.sweeps) {
		wrong.add(fmt.Sprintf("%d steps that dropped calls are in no link", len(c.books.sweeps)-sweeps))
	}
	var head int64
	if c.one(chainHead, &head); head != length {
		wrong.add(fmt.Sprintf("%d links were made, %d are there", head, length))
	}
	if w := noted.Check(length, at); w != "" {
		wrong.add(w)
	}
	right := "%d links, the last has the hash %s"
	if noted.Length > 0 {
		right = fmt.Sprintf("agrees with the anchor at link %d; ", noted.Length) + right
	}
	c.add("chain", wrong, right, c.end.Length, c.end.Hash)
}

func linkOf(v []any) (l ledger.Link) {
	for i, to := range []*int64{&l.Seq, &l.First, &l.Last, &l.Calls} {
		*to, _ = v[i].(int64)
	}
	b, _ := v[4].([]byte)
	copy(l.Digest[:], b)
	l.Hash = text(v[5])
	return l
}

// contents are the hashes of all transactions.
type contents struct {
	ids    []int64 // ascending
	sums   [][sha256.Size]byte
	linked []bool // a link was found that has it
}

// add adds the transaction after the last.
func (t *contents) add(p *posting) {
	t.ids, t.sums, t.linked = append(t.ids, p.id), append(t.sums, p.content().Sum()), append(t.linked, false)
}

// between is the content of a link's transactions; lost when there are none, though there must be, or a link has them already.
func (t *contents) between(first, last int64) (content [sha256.Size]byte, lost bool) {
	begin, found := slices.BinarySearch(t.ids, first)
	if first == last {
		if first == 0 {
			return content, false
		}
		if !found {
			return content, true
		}
		lost, t.linked[begin] = t.linked[begin], true
		return t.sums[begin], lost
	}
	end := begin
	for ; end < len(t.ids) && t.ids[end] <= last; end++ {
		lost = lost || t.linked[end]
		t.linked[end] = true
	}
	return together(t.sums[begin:end]), lost
}
