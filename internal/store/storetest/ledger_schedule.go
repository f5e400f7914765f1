package storetest

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/ledger/journal"
	"weir/internal/money"
)

// A schedule is long: fewer of them than of other properties are worth their time. -rapid.checks asks for more.
func init() { _ = flag.Set("rapid.checks", "30") }

// anySchedule plays random schedules on two nodes against a model that is nothing but sums.
func anySchedule(t *testing.T, open Open) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{t: rt, desk: newDesk(t, open), dir: t.TempDir(), topUps: map[string]money.Nano{}, posted: map[string]ledger.Movement{}}
		defer func() { _ = m.desk.store.Close() }()
		defer m.stopAll()
		for range 2 {
			w := m.desk.wallet(0)
			m.wallets = append(m.wallets, &modelWallet{id: w, keys: []modelKey{
				{id: "key_free" + w}, {id: "key_limited" + w, limit: &ledger.Limit{ID: "key_limited" + w, Amount: 50, Reset: ledger.Daily}}}})
		}
		for i := range 2 {
			m.nodes = append(m.nodes, &modelNode{n: i})
			m.start(m.nodes[i])
		}
		rt.Repeat(map[string]func(*rapid.T){
			"top up":       m.topUp,
			"hold":         m.hold,
			"hold more":    m.hold,
			"grow":         m.grow,
			"settle":       m.settle,
			"settle again": m.settle,
			"adjust":       m.adjust,
			"refund":       m.refund,
			"release":      m.release,
			"note":         m.note,
			"crash":        m.crash,
			"restart":      m.restart,
			"tick":         m.tick,
			"tick all":     m.tickAll,
			"wait":         m.wait,
			"read":         m.read,
			"apply twice":  m.applyTwice,
			"":             m.invariants,
		})
		m.finish()
	})
}

type model struct {
	t       *rapid.T
	desk    *books
	dir     string
	nodes   []*modelNode
	wallets []*modelWallet
	holds   []*modelHold
	topUps  map[string]money.Nano
	settled []ledger.Item
	posted  map[string]ledger.Movement // adjustments and refunds, by reference
}

type modelNode struct {
	n      int
	book   *ledger.Book // nil while it is dead
	beat   time.Time    // last sign of life that the store took, at the earliest
	behind []*modelHold // settled, and perhaps only in its journal; amount is the cost
}

type modelWallet struct {
	id                string
	credited, charged money.Nano
	overrun           money.Nano // what calls cost beyond what was held for them, or beyond what was still theirs
	uncovered         money.Nano // of that: since all nodes had a chance to cover it
	keys              []modelKey
}

func (w *modelWallet) GoString() string {
	return fmt.Sprintf("%s +%d -%d", w.id, w.credited, w.charged)
}
func (n *modelNode) GoString() string { return fmt.Sprintf("node %d", n.n) }

type modelKey struct {
	id      string
	limit   *ledger.Limit
	spent   map[string]money.Nano // by day
	overrun money.Nano
}

type modelHold struct {
	hold   *ledger.Hold
	node   *modelNode
	wallet *modelWallet
	key    *modelKey
	amount money.Nano
	day    string
	lapsed bool // its node was silent for so long that others may have taken the money back
	hidden bool // settled in the journal of a node that the others take for dead: they cannot know of it
}

func (m *model) now() time.Time { return m.desk.clock.Now() }
func (m *model) day() string    { return m.now().Format(time.DateOnly) }

func (m *model) config(n *modelNode) ledger.Config {
	cfg := m.desk.config(filepath.Join(m.dir, fmt.Sprint("node", n.n)))
	cfg.Journal.Sync, cfg.Journal.SegmentBytes = journal.Never, 4096
	cfg.Wait = func(_ context.Context, wait time.Duration) error { // meanwhile the others live on
		m.desk.clock.Advance(wait)
		for _, other := range m.nodes {
			if other != n && other.book != nil {
				m.tickNode(other)
			}
		}
		return nil
	}
	return cfg
}

func (m *model) start(n *modelNode) {
	b, err := ledger.Start(context.Background(), m.desk.store.Ledger, m.config(n))
	if err != nil {
		m.t.Fatal(err)
	}
	n.book, n.beat, n.behind = b, m.now(), nil
}

func (m *model) stopAll() {
	for _, n := range m.nodes {
		if n.book != nil {
			_ = n.book.Abandon()
		}
	}
}

func (m *model) alive(t *rapid.T) *modelNode {
	var list []*modelNode
	for _, n := range m.nodes {
		if n.book != nil {
			list = append(list, n)
		}
	}
	if len(list) == 0 {
		t.Skip("no node")
	}
	return rapid.SampledFrom(list).Draw(t, "node")
}

func (m *model) anyHold(t *rapid.T) (int, *modelHold) {
	if len(m.holds) == 0 {
		t.Skip("no hold")
	}
	i := rapid.IntRange(0, len(m.holds)-1).Draw(t, "hold")
	return i, m.holds[i]
}

var amounts = rapid.Map(rapid.IntRange(0, 40), func(n int) money.Nano { return money.Nano(n) })

func (m *model) topUp(t *rapid.T) {
	w := rapid.SampledFrom(m.wallets).Draw(t, "wallet")
	id := rapid.StringMatching(`[a-f]`).Draw(t, "external id")
	n := amounts.Draw(t, "amount") * 3
	p, err := ledger.Credit(context.Background(), m.desk.store.Ledger, ledger.TopUp{Wallet: w.id, Source: "s", ExternalID: w.id + id, Amount: n, Actor: actor}, m.now())
	before, known := m.topUps[w.id+id]
	switch {
	case n == 0:
		if !fault.Is(err, fault.Invalid) {
			t.Fatalf("a top-up of nothing: %v", err)
		}
	case known && before != n:
		if !fault.Is(err, fault.Conflict) {
			t.Fatalf("another amount: %v", err)
		}
	case err != nil || p.Repeated != known:
		t.Fatalf("%+v, %v", p, err)
	case !known:
		m.topUps[w.id+id] = n
		w.credited += n
	}
}

// held is what is held: certain for sure, and possible what may be held at most: lapsed holds are held only if no other call took their money.
func (m *model) held(match func(*modelHold) bool) (certain, possible money.Nano) {
	for _, h := range m.holds {
		if match(h) {
			possible += h.amount
			if !h.lapsed {
				certain += h.amount
			}
		}
	}
	return certain, possible
}

// hide marks what a node settled and no other can know of. Others may spend it a second time, at the operator's cost.
func (m *model) hide(n *modelNode) {
	for _, h := range n.behind {
		if !h.hidden {
			h.hidden = true
			h.wallet.overrun += h.amount
			h.key.overrun += h.amount
		}
	}
}

// hidden is how much of a wallet's money is spent in a way that only a silent node knows.
func (m *model) hidden(w *modelWallet) (sum money.Nano) {
	for _, n := range m.nodes {
		for _, h := range n.behind {
			if h.hidden && h.wallet == w {
				sum += h.amount
			}
		}
	}
	return sum
}

func (m *model) flush(n *modelNode) {
	if err := n.book.Flush(context.Background()); err != nil {
		m.t.Fatal(err)
	}
	n.behind = nil
}

// exact reports whether all money is accounted for by nodes that live and answer.
func (m *model) exact() bool {
	for _, n := range m.nodes {
		if n.book == nil || m.silent(n) {
			return false
		}
	}
	for _, h := range m.holds {
		if h.lapsed {
			return false
		}
	}
	return true
}

// silent reports whether a node may have lost its leases.
func (m *model) silent(n *modelNode) bool { return m.now().Sub(n.beat) >= 40*time.Second }

// judge checks the answer to a request for n more on h's wallet and key.
func (m *model) judge(t *rapid.T, h *modelHold, n money.Nano, err error) {
	certain, possible := m.held(func(o *modelHold) bool { return o.wallet == h.wallet })
	keyCertain, keyPossible := m.held(func(o *modelHold) bool { return o.key == h.key && o.day == m.day() })
	free, keyFree := h.wallet.credited-h.wallet.charged, money.Nano(0)
	if h.key.limit != nil {
		keyFree = h.key.limit.Amount - h.key.spent[m.day()]
	}
	switch {
	case err == nil:
		if n > 0 && n > free-certain+h.wallet.uncovered+m.hidden(h.wallet) {
			t.Fatalf("granted %d of wallet %s, which has %d free at most", n, h.wallet.id, free-certain)
		}
		// what was held yesterday and is spent today counts for the day of its call, as does what lapsed
		if n > 0 && h.key.limit != nil && n > keyFree-keyCertain+h.key.overrun {
			t.Fatalf("granted %d of key %s, which has %d free at most", n, h.key.id, keyFree-keyCertain)
		}
	case fault.Is(err, fault.PaymentRequired):
		key := fault.From(err).Details["reason"] == "key_limit"
		enough := n <= free-possible && !key || key && n <= keyFree-keyPossible
		if m.exact() && enough {
			t.Fatalf("refused %d although wallet %s has %d free and its key %d: %v %v", n, h.wallet.id, free-possible, keyFree-keyPossible, err, fault.From(err).Details)
		}
	case fault.Is(err, fault.StorageUnavailable):
		if !m.silent(h.node) {
			t.Fatalf("node %d lives, but: %v", h.node.n, err)
		}
	default:
		t.Fatal(err)
	}
}

func (m *model) hold(t *rapid.T) {
	n := m.alive(t)
	w := rapid.SampledFrom(m.wallets).Draw(t, "wallet")
	k := &w.keys[rapid.IntRange(0, 1).Draw(t, "key")]
	h := &modelHold{node: n, wallet: w, key: k, amount: amounts.Draw(t, "amount"), day: m.day()}
	var err error
	r := ledger.HoldRequest{Wallet: w.id, Key: k.id, Amount: h.amount}
	if k.limit != nil {
		r.Limits = []ledger.Limit{*k.limit}
	}
	h.hold, err = n.book.Hold(context.Background(), r)
	m.judge(t, h, h.amount, err)
	if err == nil {
		m.holds = append(m.holds, h)
	}
}

func (m *model) grow(t *rapid.T) {
	_, h := m.anyHold(t)
	n := amounts.Draw(t, "amount")
	total := n
	if h.lapsed || h.day != m.day() { // all of it may have to be held again
		total = 0
	}
	err := h.hold.Grow(context.Background(), n)
	if err == nil || total > 0 {
		m.judge(t, h, total, err)
	}
	if err == nil {
		h.amount += n
	}
	if h.hold.Amount() != h.amount {
		t.Fatalf("holds %d instead of %d", h.hold.Amount(), h.amount)
	}
}

func (m *model) drop(i int) { m.holds = append(m.holds[:i], m.holds[i+1:]...) }

func (m *model) settle(t *rapid.T) {
	i, h := m.anyHold(t)
	cost := money.Nano(rapid.IntRange(0, int(h.amount)).Draw(t, "cost"))
	if rapid.IntRange(0, 9).Draw(t, "overrun") == 0 {
		cost = h.amount + money.Nano(rapid.IntRange(1, 20).Draw(t, "beyond"))
	}
	c := m.desk.call(h.wallet.id, h.key.id, cost)
	if err := h.node.book.Settle(context.Background(), h.hold, c); err != nil {
		t.Fatal(err)
	}
	m.settled = append(m.settled, ledger.Item{Call: *c})
	h.wallet.charged += cost
	if h.key.spent == nil {
		h.key.spent = map[string]money.Nano{}
	}
	h.key.spent[m.day()] += cost
	over := max(0, cost-h.amount)
	if h.lapsed {
		over = cost
	}
	h.wallet.overrun += over
	h.wallet.uncovered += over
	if h.day != m.day() {
		over = cost
	}
	h.key.overrun += over
	h.node.behind = append(h.node.behind, &modelHold{wallet: h.wallet, key: h.key, amount: cost})
	if m.silent(h.node) {
		m.hide(h.node)
	}
	m.drop(i)
}

func (m *model) release(t *rapid.T) {
	i, h := m.anyHold(t)
	h.hold.Release()
	h.hold.Release()
	m.drop(i)
}

func (m *model) note(t *rapid.T) {
	n := m.alive(t)
	c := m.desk.call(m.wallets[0].id, "", 0)
	c.Settled = false
	n.book.Note(c)
}

func (m *model) crash(t *rapid.T) {
	n := m.alive(t)
	if err := n.book.Abandon(); err != nil {
		t.Fatal(err)
	}
	n.book = nil
	m.hide(n)
	keep := m.holds[:0]
	for _, h := range m.holds {
		if h.node != n {
			keep = append(keep, h)
		}
	}
	m.holds = keep
}

func (m *model) restart(t *rapid.T) {
	n := rapid.SampledFrom(m.nodes).Draw(t, "node")
	if n.book != nil {
		if rapid.Bool().Draw(t, "leave it") {
			t.Skip("it runs")
		}
		if err := n.book.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		keep := m.holds[:0]
		for _, h := range m.holds {
			if h.node != n {
				keep = append(keep, h)
			}
		}
		m.holds = keep
	}
	m.start(n)
}

func (m *model) tick(t *rapid.T) { m.tickNode(m.alive(t)) }

func (m *model) tickNode(n *modelNode) {
	if err := n.book.Tick(context.Background()); err != nil {
		m.t.Fatal(err)
	}
	if m.now().Sub(n.beat) >= 2*time.Second {
		n.beat = m.now()
	}
}

func (m *model) wait(t *rapid.T) {
	m.desk.clock.Advance(rapid.SampledFrom([]time.Duration{100 * time.Millisecond, time.Second, 5 * time.Second, 30 * time.Second, 70 * time.Second, 7 * time.Hour}).Draw(t, "for"))
	for _, h := range m.holds {
		if m.silent(h.node) {
			h.lapsed = true
		}
	}
	for _, n := range m.nodes {
		if m.silent(n) {
			m.hide(n)
		}
	}
}

func (m *model) read(t *rapid.T) {
	n := m.alive(t)
	m.flush(n)
	for _, w := range m.wallets {
		bal, err := n.book.Balance(context.Background(), w.id)
		if err != nil {
			t.Fatal(err)
		}
		own, _ := m.held(func(h *modelHold) bool { return h.wallet == w && h.node == n })
		if bal.Credited != w.credited || bal.Balance != bal.Credited-bal.Charged || bal.Held < own {
			t.Fatalf("%+v, want %d credited and %d held or more", bal, w.credited, own)
		}
	}
}

func (m *model) applyTwice(t *rapid.T) {
	if len(m.settled) == 0 {
		t.Skip("nothing settled")
	}
	n := m.alive(t)
	m.flush(n)
	at, err := m.desk.store.Ledger.Position(context.Background(), n.book.Node())
	if err != nil {
		t.Fatal(err)
	}
	it := m.settled[rapid.IntRange(0, len(m.settled)-1).Draw(t, "settled")]
	if _, _, err := m.desk.store.Ledger.Call(context.Background(), it.Call.Wallet, it.Call.Generation); err != nil {
		t.Skip("not in the store yet")
	}
	if _, err := m.desk.store.Ledger.Apply(context.Background(), &ledger.Batch{Node: n.book.Node(), Life: must(m.desk.store.Ledger.Life(context.Background(), n.book.Node())), From: at, To: at, Items: []ledger.Recorded{ledger.Encode(it)}, Now: m.now()}); err != nil {
		t.Fatal(err)
	}
}

// tickAll lets all nodes cover what calls cost beyond their holds.
func (m *model) tickAll(*rapid.T) {
	for _, n := range m.nodes {
		if n.book != nil {
			m.tickNode(n)
		}
	}
	for _, w := range m.wallets {
		w.uncovered = 0
	}
}

// invariants hold after each step, whatever is still on its way to the store.
func (m *model) invariants(t *rapid.T) {
	if err := unbalanced(context.Background(), m.desk.store.Ledger); err != nil {
		t.Fatal(err)
	}
	for _, w := range m.wallets {
		if w.credited-w.charged < -w.overrun {
			t.Fatalf("wallet %s is at %d, and calls cost only %d more than was held", w.id, w.credited-w.charged, w.overrun)
		}
	}
}

// finish brings all nodes back, ends all calls, and finds nothing lost, doubled or leaked.
func (m *model) finish() {
	ctx := context.Background()
	for _, n := range m.nodes {
		if n.book == nil {
			m.start(n)
		}
	}
	for _, h := range m.holds {
		h.hold.Release()
	}
	for _, n := range m.nodes {
		m.flush(n)
	}
	for range 4 {
		m.desk.clock.Advance(4 * time.Second)
		for _, n := range m.nodes {
			m.tickNode(n)
		}
	}
	for _, w := range m.wallets {
		bal, err := m.desk.store.Ledger.Balance(ctx, w.id)
		if err != nil {
			m.t.Fatal(err)
		}
		if want := (ledger.Balance{Credited: w.credited, Charged: w.charged, Balance: w.credited - w.charged}); bal != want {
			m.t.Fatalf("in the end %+v, want %+v", bal, want)
		}
	}
	m.invariants(m.t)
	for _, it := range m.settled {
		if _, entries, err := m.desk.store.Ledger.Call(ctx, it.Call.Wallet, it.Call.Generation); err != nil || len(entries) != 1 {
			m.t.Fatalf("%s: %v, %v", it.Call.Generation, entries, err)
		}
	}
}
