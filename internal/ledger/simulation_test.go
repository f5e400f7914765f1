package ledger_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/ledger/journal"
	"weir/internal/ledger/ledgertest"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/usage"
)

var (
	simSchedules = flag.Int("sim.schedules", 0, "how many schedules TestSimulation plays; 0: 10000, or 500 with -short")
	simSeed      = flag.Uint64("sim.seed", 0, "the one schedule that TestSimulation plays; 0: all")
)

// foundBy are seeds of schedules that once failed. They are played first.
var foundBy = []uint64{}

// TestSimulation plays schedules of failures on three nodes in virtual time, against a model that is nothing but sums: money comes and goes,
// calls hold, grow and settle, jobs hand their money over, the store stalls, refuses and loses answers, nodes crash with torn writes, freeze and
// wake. After each step the books balance and no wallet is further below zero than its calls cost beyond what was held for them. At the end
// nothing is lost, doubled or left held. A failure prints its seed; -sim.seed plays it again.
func TestSimulation(t *testing.T) {
	t.Parallel()
	if *simSeed != 0 {
		simulate(t, *simSeed)
		return
	}
	n := *simSchedules
	switch {
	case n == 0 && testing.Short():
		n = 500
	case n == 0:
		n = 10_000
	}
	seeds := slices.Clone(foundBy)
	for i := range n {
		seeds = append(seeds, uint64(i)+1)
	}
	const workers = 4
	for w := range workers {
		t.Run(fmt.Sprintf("part %d of %d", w+1, workers), func(t *testing.T) {
			t.Parallel()
			for i := w; i < len(seeds) && !t.Failed(); i += workers {
				simulate(t, seeds[i])
			}
		})
	}
}

func simulate(t *testing.T, seed uint64) {
	t.Helper()
	dir := memoryDir(t)
	defer func() { _ = os.RemoveAll(dir) }()
	s := &simulation{seed: seed, rand: rand.New(rand.NewPCG(seed, 0x5eed)), store: ledgertest.New(), dir: dir, now: time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC),
		topUps: map[string]money.Nano{}, settled: map[string]money.Nano{}, back: map[string]money.Nano{}}
	defer s.stopAll()
	if err := s.play(); err != nil {
		t.Fatalf("seed %d, step %d, after %v: %v", seed, s.step, s.recent, err)
	}
}

// memoryDir is a folder in memory where there is one: the disk is not what is tested.
func memoryDir(t *testing.T) string {
	t.Helper()
	for _, parent := range []string{"/dev/shm", os.TempDir()} {
		if dir, err := os.MkdirTemp(parent, "weir-sim-"); err == nil {
			return dir
		}
	}
	t.Fatal("there is no folder for journals")
	return ""
}

type simulation struct {
	seed   uint64
	rand   *rand.Rand
	store  *ledgertest.Store
	dir    string
	now    time.Time
	step   int
	recent []string // names of the last steps

	nodes   []*simNode
	wallets []*simWallet
	holds   []*simHold
	jobs    []*simHold
	topUps  map[string]money.Nano // by external id
	settled map[string]money.Nano // by generation
	paid    []*record.Call        // in the order in which they were settled
	back    map[string]money.Nano // what was refunded, by generation
	calls   int

	faulty  bool // the store fails now and then
	outage  bool // the store fails always
	waiting bool // a step waits, and others live on
}

type simNode struct {
	name   string
	book   *ledger.Book // nil while it is dead
	frozen bool
	beat   time.Time // last sign of life that the store took for sure
	behind []*simHold
}

type simWallet struct {
	id                string
	credited, charged money.Nano
	overrun           money.Nano // what calls cost beyond what was held for them, or beyond what was still theirs
	limit             *ledger.KeyLimit
}

type simHold struct {
	hold   *ledger.Hold
	node   *simNode
	wallet *simWallet
	key    string
	amount money.Nano
	lapsed bool // others may have taken the money back
	hidden bool
	job    string
}

func (s *simulation) config(n *simNode) ledger.Config {
	return ledger.Config{Dir: filepath.Join(s.dir, n.name), Now: func() time.Time { return s.now }, Sync: journal.Never, SegmentBytes: 4096,
		ApplyEvery: time.Hour, TickEvery: time.Hour, RecallFor: time.Second,
		Wait: func(_ <-chan struct{}, d time.Duration) bool { s.elapse(d, n); return true }}
}

// elapse moves the clock while except is busy; the others live on.
func (s *simulation) elapse(d time.Duration, except *simNode) {
	s.now = s.now.Add(d)
	s.lapse()
	if s.waiting {
		return
	}
	s.waiting = true
	defer func() { s.waiting = false }()
	for _, n := range s.nodes {
		if n != except && n.book != nil && !n.frozen {
			s.tick(n)
		}
	}
}

// fate is what the store does with a question: usually it answers; in bad times it stalls, refuses, or does it and loses the answer.
func (s *simulation) fate(_, _ string) ledgertest.Outcome {
	switch {
	case s.outage:
		return ledgertest.Refused
	case !s.faulty:
		return ledgertest.Answered
	}
	switch s.rand.IntN(10) {
	case 0:
		return ledgertest.Refused
	case 1:
		return ledgertest.Lost
	case 2:
		s.now = s.now.Add(time.Duration(s.rand.IntN(1400)) * time.Millisecond) // a stall, within what a question may take
	}
	return ledgertest.Answered
}

func (s *simulation) play() error {
	s.store.Fate = s.fate
	for i := range 3 {
		n := &simNode{name: fmt.Sprint("node", i)}
		s.nodes = append(s.nodes, n)
		w := &simWallet{id: fmt.Sprint("wal_", i)}
		if i == 1 {
			w.limit = &ledger.KeyLimit{Amount: 60, Reset: ledger.Never}
		}
		s.wallets = append(s.wallets, w)
		s.store.AddWallet(w.id)
	}
	for _, n := range s.nodes {
		if err := s.start(n); err != nil {
			return err
		}
	}
	steps := []struct {
		name   string
		weight int
		do     func() error
	}{
		{"top up", 4, s.topUp}, {"adjust", 2, s.adjust}, {"refund", 2, s.refund}, {"hold", 14, s.hold}, {"grow", 8, s.grow}, {"settle", 12, s.settle}, {"release", 3, s.release},
		{"note", 1, s.note}, {"job", 2, s.job}, {"end job", 2, s.endJob}, {"tick", 8, s.tickOne}, {"flush", 4, s.flushOne}, {"wait", 5, s.wait},
		{"crash", 2, s.crash}, {"restart", 3, s.restart}, {"freeze", 3, s.freeze}, {"thaw", 3, s.thaw}, {"sleep", 1, s.sleep}, {"weather", 3, s.weather}, {"read", 3, s.read},
	}
	total := 0
	for _, st := range steps {
		total += st.weight
	}
	for s.step = range 60 {
		at := s.rand.IntN(total)
		for _, st := range steps {
			if at -= st.weight; at >= 0 {
				continue
			}
			s.recent = append(s.recent, st.name)
			if len(s.recent) > 8 {
				s.recent = s.recent[1:]
			}
			if err := errors.Join(st.do(), s.invariants()); err != nil {
				return err
			}
			break
		}
	}
	return s.finish()
}

func (s *simulation) start(n *simNode) error {
	b, err := ledger.Start(context.Background(), s.store, s.config(n))
	if err != nil {
		if (s.faulty || s.outage) && fault.Is(err, fault.StorageUnavailable) {
			return nil // it stays dead for now
		}
		return err
	}
	n.book, n.beat, n.behind, n.frozen = b, s.now, nil, false
	return nil
}

func (s *simulation) stopAll() {
	for _, n := range s.nodes {
		if n.book != nil {
			_ = n.book.Abandon()
		}
	}
}

// alive is any node that works; nil when there is none.
func (s *simulation) alive() *simNode {
	var list []*simNode
	for _, n := range s.nodes {
		if n.book != nil && !n.frozen {
			list = append(list, n)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[s.rand.IntN(len(list))]
}

// workable is any hold whose node works, and its place; nil when there is none.
func (s *simulation) workable() (int, *simHold) {
	if len(s.holds) == 0 {
		return 0, nil
	}
	i := s.rand.IntN(len(s.holds))
	if s.holds[i].node.frozen {
		return 0, nil
	}
	return i, s.holds[i]
}

// storeError passes the one error that bad weather explains.
func (s *simulation) storeError(n *simNode, err error) error {
	if err == nil || fault.Is(err, fault.StorageUnavailable) && (s.faulty || s.outage || n == nil || s.silent(n)) {
		return nil
	}
	return err
}

func (s *simulation) silent(n *simNode) bool { return s.now.Sub(n.beat) >= 40*time.Second }

// lapse marks what others may have taken back.
func (s *simulation) lapse() {
	for _, h := range s.holds {
		h.lapsed = h.lapsed || s.silent(h.node)
	}
	for _, n := range s.nodes {
		if n.book == nil || s.silent(n) {
			s.hide(n)
		}
	}
}

// hide marks what a node has settled and perhaps nobody else knows of.
func (s *simulation) hide(n *simNode) {
	for _, h := range n.behind {
		if !h.hidden {
			h.hidden = true
			h.wallet.overrun += h.amount
		}
	}
}

func (s *simulation) topUp() error {
	w := s.wallets[s.rand.IntN(len(s.wallets))]
	id := w.id + "-" + string(rune('a'+s.rand.IntN(12)))
	n := money.Nano(1 + s.rand.IntN(120))
	_, err := ledger.Credit(context.Background(), s.store, ledger.TopUp{Wallet: w.id, Source: "s", ExternalID: id, Amount: n, Actor: simActor}, s.now)
	return s.credited(w, id, n, err)
}

var simActor = audit.Actor{Name: "simulation"}

// credited takes in the outcome of a credit that may or may not have happened: asked again when all is well, the store tells.
func (s *simulation) credited(w *simWallet, id string, n money.Nano, err error) error {
	before, known := s.topUps[id]
	switch {
	case known && before != n && (fault.Is(err, fault.Conflict) || s.storeError(nil, err) == nil && err != nil):
		return nil
	case err == nil || fault.Is(err, fault.StorageUnavailable):
		faulty, outage := s.faulty, s.outage
		s.faulty, s.outage = false, false
		_, again := ledger.Credit(context.Background(), s.store, ledger.TopUp{Wallet: w.id, Source: "s", ExternalID: id, Amount: n, Actor: simActor}, s.now)
		s.faulty, s.outage = faulty, outage
		if again != nil {
			return again
		}
		if !known {
			s.topUps[id] = n
			w.credited += n
		}
		return nil
	}
	return err
}

func (s *simulation) adjust() error {
	n := s.alive()
	if n == nil || s.faulty || s.outage {
		return nil
	}
	w := s.wallets[s.rand.IntN(len(s.wallets))]
	s.calls++
	amount := money.Nano(s.rand.IntN(60)) - 40
	if amount == 0 {
		return nil
	}
	before := s.clearance(w)
	_, err := n.book.Adjust(context.Background(), ledger.Adjustment{Wallet: w.id, ID: fmt.Sprint("adj-", s.calls), Amount: amount, Reason: "correction", Actor: simActor})
	switch {
	case fault.Is(err, fault.Unprocessable) && amount < 0, fault.Is(err, fault.StorageUnavailable) && s.silent(n):
		return nil
	case err != nil:
		return err
	}
	if amount < 0 && -amount > before {
		return fmt.Errorf("an adjustment took %d, of %d at most", -amount, before)
	}
	w.credited += amount
	return nil
}

// refund gives back what a call was charged or a part of it, twice under one reference and then under another, from any node.
func (s *simulation) refund() error {
	n := s.alive()
	if n == nil || s.faulty || s.outage || len(s.paid) == 0 {
		return nil
	}
	c := s.paid[s.rand.IntN(len(s.paid))]
	s.calls++
	r := ledger.Refund{Generation: c.Generation, ID: fmt.Sprint("ref-", s.calls), Amount: 1 + money.Nano(s.rand.IntN(int(c.Cost)+1)), Reason: "correction", Actor: simActor}
	for i := range 3 {
		if i == 2 {
			r.ID += " again"
		}
		left := c.Cost - s.back[c.Generation]
		p, err := n.book.GiveBack(context.Background(), r)
		switch {
		case err != nil && s.silent(n) && fault.Is(err, fault.StorageUnavailable):
			return nil
		case fault.Is(err, fault.NotFound) || fault.Is(err, fault.Unprocessable) && r.Amount > left: // perhaps it is in the journal of another node
			continue
		case err != nil:
			return err
		case p.Repeated != (i == 1):
			return fmt.Errorf("refund %d was posted before: %t", i, p.Repeated)
		case p.Repeated:
			continue
		case p.Amount > left:
			return fmt.Errorf("%d were refunded of %d left of %s", p.Amount, left, c.Generation)
		}
		s.back[c.Generation] += p.Amount
		for _, w := range s.wallets {
			if w.id == c.Wallet {
				w.credited += p.Amount
			}
		}
	}
	return nil
}

// clearance is the most that may be free of a wallet.
func (s *simulation) clearance(w *simWallet) money.Nano {
	free := w.credited - w.charged + w.overrun
	for _, h := range s.holds {
		if h.wallet == w && !h.lapsed {
			free -= h.amount
		}
	}
	for _, h := range s.jobs {
		if h.wallet == w {
			free -= h.amount
		}
	}
	return free
}

func (s *simulation) hold() error {
	n := s.alive()
	if n == nil {
		return nil
	}
	w, key := s.wallets[s.rand.IntN(len(s.wallets))], ""
	if w.limit != nil && s.rand.IntN(2) == 0 {
		key = "key_" + w.id
	}
	return s.holdOn(n, w, money.Nano(s.rand.IntN(50)), key)
}

// holdOn asks a node for money. It must not get what is not there.
func (s *simulation) holdOn(n *simNode, w *simWallet, amount money.Nano, key string) error {
	h := &simHold{node: n, wallet: w, amount: amount, key: key}
	r := ledger.HoldRequest{Wallet: w.id, Amount: h.amount}
	if key != "" {
		r.Key, r.Limit = key, w.limit
	}
	var err error
	h.hold, err = n.book.Hold(context.Background(), r)
	if err != nil {
		if fault.Is(err, fault.PaymentRequired) {
			return nil
		}
		return s.storeError(n, err)
	}
	if free := s.clearance(w); h.amount > 0 && h.amount > free {
		return fmt.Errorf("%s held %d of wallet %s, which has %d free at most", n.name, h.amount, w.id, free)
	}
	s.holds = append(s.holds, h)
	s.lapse()
	return nil
}

func (s *simulation) grow() error {
	_, h := s.workable()
	if h == nil {
		return nil
	}
	n := money.Nano(s.rand.IntN(30))
	free := s.clearance(h.wallet)
	if h.lapsed {
		free = s.clearance(h.wallet) - h.amount // all of it may have to be held anew
	}
	if err := h.hold.Grow(context.Background(), n); err != nil {
		if fault.Is(err, fault.PaymentRequired) {
			return nil
		}
		return s.storeError(h.node, err)
	}
	if n > 0 && !h.lapsed && n > free+s.slack(h.wallet) {
		return fmt.Errorf("%s grew a hold by %d, of %d at most", h.node.name, n, free)
	}
	h.amount += n
	if got := h.hold.Amount(); got != h.amount {
		return fmt.Errorf("a hold has %d instead of %d", got, h.amount)
	}
	return nil
}

// slack is what became free while a step waited: holds that lapsed meanwhile.
func (s *simulation) slack(w *simWallet) (sum money.Nano) {
	for _, h := range s.holds {
		if h.wallet == w && h.lapsed {
			sum += h.amount
		}
	}
	return sum
}

func (s *simulation) call(h *simHold, cost money.Nano) *record.Call {
	s.calls++
	c := &record.Call{Generation: fmt.Sprintf("gen-%d-%d", s.seed, s.calls), Request: "req_1", User: "usr_1", Wallet: h.wallet.id, Key: h.key, API: "completions",
		At: s.now, ModelAsked: "a/b", Model: "a/b", Provider: "p", Endpoint: "p/a/b", Status: 200, Finish: "stop", Cost: cost, Settled: true}
	if s.rand.IntN(4) == 0 { // the wall clock has stepped
		c.At = c.At.Add(time.Duration(s.rand.IntN(7200)-3600) * time.Second)
	}
	c.Usage.Prompt, c.Usage.Completion = usage.Of(1), usage.Of(1)
	if cost > 0 {
		c.Lines = []usage.Line{{Kind: usage.KindRequest, Quantity: 1, Price: int64(cost)}}
	}
	return c
}

func (s *simulation) settle() error {
	i, h := s.workable()
	if h == nil {
		return nil
	}
	cost := money.Nano(s.rand.IntN(int(h.amount) + 1))
	if s.rand.IntN(10) == 0 {
		cost = h.amount + money.Nano(1+s.rand.IntN(10))
	}
	c := s.call(h, cost)
	if err := h.node.book.Settle(context.Background(), h.hold, c); err != nil {
		return err // neither the store nor the other nodes are needed for it
	}
	s.settled[c.Generation] = cost
	s.paid = append(s.paid, c)
	s.charged(h, cost)
	h.node.behind = append(h.node.behind, &simHold{wallet: h.wallet, amount: cost})
	if s.silent(h.node) {
		s.hide(h.node)
	}
	s.holds = slices.Delete(s.holds, i, i+1)
	return nil
}

// charged takes in a charge against a hold.
func (s *simulation) charged(h *simHold, cost money.Nano) {
	h.wallet.charged += cost
	over := max(0, cost-h.amount)
	if h.lapsed {
		over = cost
	}
	h.wallet.overrun += over
}

func (s *simulation) release() error {
	i, h := s.workable()
	if h == nil {
		return nil
	}
	h.hold.Release()
	h.hold.Release()
	s.holds = slices.Delete(s.holds, i, i+1)
	return nil
}

func (s *simulation) note() error {
	if n := s.alive(); n != nil {
		c := s.call(&simHold{wallet: s.wallets[0]}, 0)
		c.Settled = false
		n.book.Note(c)
	}
	return nil
}

// job hands a hold over to a job that outlives its node.
func (s *simulation) job() error {
	i, h := s.workable()
	if h == nil {
		return nil
	}
	s.calls++
	h.job = fmt.Sprint("vj_", s.calls)
	var lost bool
	err := h.node.book.Hand(context.Background(), h.hold, func(_ context.Context, o ledger.Handover) error {
		err := s.store.Escrow(h.job, o)
		lost = fault.Is(err, fault.StorageUnavailable)
		return err
	})
	s.holds = slices.Delete(s.holds, i, i+1)
	switch {
	case err == nil:
		s.jobs = append(s.jobs, h)
		return nil
	case lost: // whether there is a job shows later; either way it is ended now, for nothing
		faulty, outage := s.faulty, s.outage
		s.faulty, s.outage = false, false
		err = s.endFor(h, 0)
		s.faulty, s.outage = faulty, outage
		return err
	case fault.Is(err, fault.Conflict) || fault.Is(err, fault.StorageUnavailable):
		return nil
	}
	return err
}

func (s *simulation) endJob() error {
	if len(s.jobs) == 0 || s.faulty || s.outage {
		return nil
	}
	i := s.rand.IntN(len(s.jobs))
	h := s.jobs[i]
	if err := s.endFor(h, money.Nano(s.rand.IntN(int(h.amount)+1))); err != nil {
		return err
	}
	s.jobs = slices.Delete(s.jobs, i, i+1)
	return nil
}

func (s *simulation) endFor(h *simHold, cost money.Nano) error {
	c := s.call(h, cost)
	if cost > 0 {
		s.settled[c.Generation] = cost
		s.charged(h, cost)
	} else {
		c.Settled = false
	}
	return s.store.EndJob(h.job, *c)
}

func (s *simulation) tickOne() error {
	if n := s.alive(); n != nil {
		s.tick(n)
	}
	return nil
}

func (s *simulation) tick(n *simNode) {
	err := n.book.Tick(context.Background())
	if err == nil && !s.faulty && !s.outage {
		n.beat = s.now.Add(-2 * time.Second) // it beats every two seconds
	}
}

func (s *simulation) flushOne() error {
	n := s.alive()
	if n == nil {
		return nil
	}
	err := n.book.Flush(context.Background())
	if err == nil {
		n.behind = nil
	}
	return s.storeError(n, err)
}

func (s *simulation) wait() error {
	d := []time.Duration{100 * time.Millisecond, time.Second, 3 * time.Second, 10 * time.Second, 65 * time.Second, 3 * time.Hour}[s.rand.IntN(6)]
	for d > 0 { // whoever is not frozen gives signs of life meanwhile
		part := min(d, 20*time.Second)
		if d > time.Hour {
			part = d
		}
		s.elapse(part, nil)
		d -= part
	}
	return nil
}

// crash ends a node. What it was writing may be torn, or followed by what the disk had there before.
func (s *simulation) crash() error {
	n := s.alive()
	if n == nil {
		return nil
	}
	end := n.book.End()
	if err := n.book.Abandon(); err != nil {
		return err
	}
	n.book = nil
	s.hide(n)
	s.holds = slices.DeleteFunc(s.holds, func(h *simHold) bool { return h.node == n })
	if s.rand.IntN(2) == 0 {
		return s.tear(n, end)
	}
	return nil
}

// tear writes a piece of a record behind the last whole one, which ends at that position, as a crash in the middle of a write does.
func (s *simulation) tear(n *simNode, end int64) error {
	files, err := filepath.Glob(filepath.Join(s.dir, n.name, "*.wal"))
	if err != nil || len(files) == 0 {
		return err
	}
	last := slices.Max(files)
	var base int64
	if _, err := fmt.Sscanf(filepath.Base(last), "%x.wal", &base); err != nil {
		return err
	}
	f, err := os.OpenFile(last, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	piece := make([]byte, 1+s.rand.IntN(40))
	for i := range piece {
		piece[i] = byte(s.rand.Uint32())
	}
	_, err = f.WriteAt(piece, end-base)
	return errors.Join(err, f.Close())
}

func (s *simulation) restart() error {
	n := s.nodes[s.rand.IntN(len(s.nodes))]
	if n.frozen {
		return nil
	}
	if n.book == nil {
		return s.start(n)
	}
	if s.faulty || s.outage {
		return nil
	}
	s.holds = slices.DeleteFunc(s.holds, func(h *simHold) bool { return h.node == n })
	err := n.book.Close(context.Background())
	n.book = nil
	if err != nil {
		return err
	}
	n.behind = nil
	return s.start(n)
}

func (s *simulation) freeze() error {
	if n := s.alive(); n != nil {
		n.frozen = true
	}
	return nil
}

func (s *simulation) thaw() error {
	for _, n := range s.nodes {
		n.frozen = false
	}
	return nil
}

// sleep freezes a node that has something left in a lease for so long that the others take it back and spend it. When it wakes, it asks for
// money before it has found out.
func (s *simulation) sleep() error {
	n, w := s.alive(), s.wallets[0]
	if n == nil {
		return nil
	}
	if h, err := n.book.Hold(context.Background(), ledger.HoldRequest{Wallet: w.id, Amount: min(40, max(0, s.clearance(w)))}); err == nil {
		h.Release()
	}
	n.frozen = true
	for range 4 {
		s.elapse(20*time.Second, n)
	}
	if other := s.alive(); other != nil {
		if err := s.holdOn(other, w, max(0, s.clearance(w)), ""); err != nil {
			return err
		}
	}
	n.frozen = false
	return s.holdOn(n, w, money.Nano(1+s.rand.IntN(40)), "")
}

// weather changes how the store behaves.
func (s *simulation) weather() error {
	s.faulty, s.outage = s.rand.IntN(3) == 0, s.rand.IntN(6) == 0
	return nil
}

func (s *simulation) read() error {
	n := s.alive()
	if n == nil {
		return nil
	}
	w := s.wallets[s.rand.IntN(len(s.wallets))]
	b, err := n.book.Balance(context.Background(), w.id)
	if err != nil {
		return s.storeError(n, err)
	}
	n.behind = nil
	if b.Balance != b.Credited-b.Charged || b.Credited != w.credited || b.Charged > w.charged {
		return fmt.Errorf("%s reads %+v; credited are %d, charged %d at most", n.name, b, w.credited, w.charged)
	}
	return nil
}

// invariants hold after each step, whatever is still on its way to the store.
func (s *simulation) invariants() error {
	s.lapse()
	checks, _, err := s.store.Checks(context.Background(), ledger.Anchor{})
	if err != nil {
		return err
	}
	for _, c := range checks {
		if !c.OK {
			return errors.New(c.Detail)
		}
	}
	for _, w := range s.wallets {
		if w.credited-w.charged < -w.overrun {
			return fmt.Errorf("wallet %s is at %d, and calls cost only %d more than was held", w.id, w.credited-w.charged, w.overrun)
		}
	}
	return nil
}

// finish makes all well, ends what is under way, and finds nothing lost, doubled or left held.
func (s *simulation) finish() error {
	ctx := context.Background()
	s.faulty, s.outage = false, false
	for _, h := range s.jobs {
		if err := s.endFor(h, 0); err != nil {
			return err
		}
	}
	for _, n := range s.nodes {
		n.frozen = false
		if n.book == nil {
			if err := s.start(n); err != nil {
				return err
			}
		}
	}
	for _, h := range s.holds {
		h.hold.Release()
	}
	s.holds = nil
	for range 6 {
		s.now = s.now.Add(4 * time.Second)
		for _, n := range s.nodes {
			if err := errors.Join(n.book.Tick(ctx), n.book.Flush(ctx)); err != nil {
				return err
			}
		}
	}
	for _, w := range s.wallets {
		b, err := s.store.Balance(ctx, w.id)
		if err != nil {
			return err
		}
		if want := (ledger.Balance{Credited: w.credited, Charged: w.charged, Balance: w.credited - w.charged}); b != want {
			return fmt.Errorf("in the end wallet %s has %+v, want %+v", w.id, b, want)
		}
	}
	for generation, cost := range s.settled {
		c, entries, err := s.store.Call(ctx, "", generation)
		if err != nil || len(entries) != 1 || c.Cost != cost {
			return fmt.Errorf("%s: %+v, %w", generation, entries, err)
		}
	}
	return s.invariants()
}
