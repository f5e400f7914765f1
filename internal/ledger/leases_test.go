package ledger_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/ledger/journal"
	"weir/internal/ledger/ledgertest"
	"weir/internal/money"
	"weir/internal/record"
)

var (
	leasesLong = flag.Bool("leases.long", false, "TestLeases runs 100 nodes too, and minutes instead of seconds; docs/many-nodes.md has what it prints")
	leasesSeed = flag.Uint64("leases.seed", 1, "the traffic that TestLeases makes")
)

// What a call holds and how long it lasts at most: a chat whose answer may be five times as long as it is on average.
const (
	callHold  = money.Ruble / 10
	callCost  = money.Ruble / 50 // on average; each costs a fifth to nine fifths of it
	callFor   = 2 * time.Second
	storeFor  = 2 * time.Millisecond // one question to the store
	quietFor  = 15 * time.Second     // after which nothing is lent any more
	lookEvery = 250 * time.Millisecond
)

// traffic is a way in which calls meet wallets and nodes.
type traffic struct {
	name    string
	wallets int
	rest    money.Nano // of each wallet, in calls of average cost per second of the run; 0: plenty
	wallet  func(r *rand.Rand, wallets int) int
	sticky  bool // all calls of a wallet are at one node
}

var traffics = []traffic{
	{name: "even", wallets: 50, wallet: func(r *rand.Rand, n int) int { return r.IntN(n) }},
	{name: "skewed", wallets: 1000, wallet: skewed},
	{name: "skewed, a wallet to a node", wallets: 1000, wallet: skewed, sticky: true},
	{name: "one wallet, to its end", wallets: 1, rest: 1, wallet: func(*rand.Rand, int) int { return 0 }},
}

// skewed makes wallet n be called with a frequency of one to n.
func skewed(r *rand.Rand, n int) int { return int(math.Exp(r.Float64()*math.Log(float64(n)+1))) - 1 }

// TestLeases lets nodes lend from the same wallets, in virtual time with whole ledgers over a store in memory. Whatever the traffic and the
// number of nodes, no more is held and charged than a wallet has; when all is quiet no node has money, and the rest of a wallet, to the last
// nano-ruble, can be held at any node. It prints what that costs: how evenly nodes serve, what is lent but not in use, and questions to the store.
func TestLeases(t *testing.T) {
	t.Parallel()
	nodes, lasts, rate := []int{1, 3, 10}, 8*time.Second, 100.0
	if testing.Short() {
		lasts = 3 * time.Second
	}
	if *leasesLong {
		nodes, lasts, rate = []int{1, 3, 10, 100}, 2*time.Minute, 200.0
	}
	results := make([]string, len(traffics)*len(nodes))
	t.Run("runs", func(t *testing.T) {
		for i, tr := range traffics {
			for j, n := range nodes {
				t.Run(fmt.Sprintf("%s/%d nodes", tr.name, n), func(t *testing.T) {
					t.Parallel()
					dir := t.TempDir()
					synctest.Test(t, func(t *testing.T) {
						results[i*len(nodes)+j] = lend(t, &lending{traffic: tr, dir: dir, lasts: lasts, rate: rate, rand: rand.New(rand.NewPCG(*leasesSeed, uint64(n)))}, n)
					})
				})
			}
		}
	})
	t.Logf("%.0f calls per second for %v:\n%s\n%s", rate, lasts, lendingHead, strings.Join(results, "\n"))
}

// lending is one run.
type lending struct {
	traffic
	dir   string
	lasts time.Duration
	rate  float64 // calls per second, at all nodes together
	rand  *rand.Rand

	store *ledgertest.Store
	books []*ledger.Book
	model []modelWallet

	recalls   atomic.Int64 // borrows that made others give back
	questions sync.Map     // method to *atomic.Int64

	mu       sync.Mutex
	offered  []int // by node
	admitted []int
	waits    []time.Duration
	refused  int
	early    int        // refused although the wallet had enough
	earlyOf  money.Nano // the most that it had then
	idle     []float64  // looks: lent and not held by any call, of what the wallets have left
}

// modelWallet is nothing but sums. Its holds end before the ledger's, so it never has less room than the ledger may give.
type modelWallet struct {
	sync.Mutex
	credited, charged, held money.Nano
}

func (w *modelWallet) free() money.Nano {
	w.Lock()
	defer w.Unlock()
	return w.credited - w.charged - w.held
}

// lender is the store as one node asks it.
type lender struct {
	*ledgertest.Store
	run *lending
}

// Borrow counts recalls.
func (l *lender) Borrow(ctx context.Context, b ledger.Borrow) (ledger.Grant, error) {
	g, err := l.Store.Borrow(ctx, b)
	if b.Recall && g.Granted == 0 && g.Elsewhere > 0 {
		l.run.recalls.Add(1)
	}
	return g, err
}

func lend(t *testing.T, l *lending, nodes int) string {
	l.open(t, nodes)
	var calls sync.WaitGroup
	end := time.Now().Add(l.lasts)
	stop := make(chan struct{})
	calls.Go(func() { l.look(stop) })
	for i := 0; ; i++ {
		time.Sleep(time.Duration(l.rand.ExpFloat64() / l.rate * float64(time.Second)))
		if !time.Now().Before(end) {
			break
		}
		c := lentCall{number: i, wallet: l.wallet(l.rand, l.wallets), node: l.rand.IntN(nodes), lasts: min(5*callFor, time.Duration(l.rand.ExpFloat64()*float64(callFor))),
			cost: callCost/5 + money.Nano(l.rand.Int64N(int64(callCost*8/5)))}
		if l.sticky {
			c.node = c.wallet % nodes
		}
		calls.Go(func() { l.call(t, &c) })
	}
	close(stop)
	calls.Wait()
	if l.rest == 0 && l.refused > 0 {
		t.Errorf("%d calls were refused, and all wallets had plenty", l.refused)
	}
	report := l.report(nodes)
	time.Sleep(quietFor)
	l.settled(t)
	for _, b := range l.books {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	if checks, _, err := l.store.Checks(context.Background(), ledger.Anchor{}, nil); err != nil || !checks[0].OK {
		t.Errorf("the books: %v, %v", checks, err)
	}
	return report
}

func (l *lending) open(t *testing.T, nodes int) {
	t.Helper()
	l.store = ledgertest.New()
	l.store.Fate = func(method, _ string) ledgertest.Outcome {
		n, _ := l.questions.LoadOrStore(method, new(atomic.Int64))
		n.(*atomic.Int64).Add(1)
		time.Sleep(storeFor)
		return ledgertest.Answered
	}
	l.model = make([]modelWallet, l.wallets)
	l.offered, l.admitted = make([]int, nodes), make([]int, nodes)
	has := money.Nano(l.rate * l.lasts.Seconds() * float64(callCost) * 10) // plenty
	if l.rest > 0 {
		has = money.Nano(l.rate*l.lasts.Seconds()/2) * callCost * l.rest // half of what is asked for
	}
	for i := range l.model {
		id := walletID(i)
		l.store.AddWallet(id)
		if _, err := ledger.Credit(t.Context(), l.store, ledger.TopUp{Wallet: id, Source: "s", ExternalID: id, Amount: has, Actor: simActor}, time.Now()); err != nil {
			t.Fatal(err)
		}
		l.model[i].credited = has
	}
	for i := range nodes {
		cfg := ledger.Default(fmt.Sprintf("%s/%d", l.dir, i), time.Now)
		cfg.Journal.Sync, cfg.Journal.SegmentBytes = journal.Never, 64<<10
		b, err := ledger.Start(t.Context(), &lender{l.store, l}, cfg)
		if err != nil {
			t.Fatal(err)
		}
		l.books = append(l.books, b)
		time.Sleep(time.Duration(l.rand.Int64N(int64(lookEvery)))) // nodes do not begin their rounds together
	}
	l.questions.Clear()
}

func walletID(i int) string { return fmt.Sprint("wal_", i) }

type lentCall struct {
	number, wallet, node int
	cost                 money.Nano
	lasts                time.Duration
}

// call is one call, which must not be let in on money that is not there.
func (l *lending) call(t *testing.T, c *lentCall) {
	w, book, began := &l.model[c.wallet], l.books[c.node], time.Now()
	h, err := book.Hold(context.Background(), ledger.HoldRequest{Wallet: walletID(c.wallet), Amount: callHold})
	l.mu.Lock()
	l.offered[c.node]++
	l.waits = append(l.waits, time.Since(began))
	switch {
	case err == nil:
		l.admitted[c.node]++
	case fault.Is(err, fault.PaymentRequired):
		l.refused++
		if free := w.free(); free >= callHold {
			l.early++
			l.earlyOf = max(l.earlyOf, free)
		}
	default:
		t.Error(err)
	}
	l.mu.Unlock()
	if err != nil {
		return
	}
	w.Lock()
	w.held += callHold
	if w.charged+w.held > w.credited {
		t.Errorf("wallet %d has %s; %s is charged and %s held", c.wallet, w.credited, w.charged, w.held)
	}
	w.Unlock()
	time.Sleep(c.lasts)
	w.Lock()
	w.held -= callHold
	w.charged += c.cost
	w.Unlock()
	if err := book.Settle(context.Background(), h, &record.Call{Generation: fmt.Sprint("gen-", c.number), Request: "req_1", User: "usr_1", Wallet: walletID(c.wallet), API: "completions",
		At: time.Now(), ModelAsked: "a/b", Model: "a/b", Provider: "p", Endpoint: "p/a/b", Status: 200, Finish: "stop", Cost: c.cost, Settled: true}); err != nil {
		t.Error(err)
	}
}

// look samples what is lent but held by no call.
func (l *lending) look(stop <-chan struct{}) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		var lent, held, has money.Nano
		for i := range l.model {
			w := &l.model[i]
			w.Lock()
			held, has = held+w.held, has+w.credited-w.charged
			w.Unlock()
		}
		for _, n := range l.store.Lent() {
			lent += n
		}
		l.idle = append(l.idle, float64(max(0, lent-held))/float64(max(has, 1)))
	}
}

// settled checks that all money is back, all costs are charged, and the rest of a wallet can be held at each of some nodes.
func (l *lending) settled(t *testing.T) {
	t.Helper()
	for wallet, n := range l.store.Lent() {
		if n != 0 {
			t.Errorf("%s of %s are still lent when all is quiet", n, wallet)
		}
	}
	for i := range l.model {
		w := &l.model[i]
		bal, err := l.store.Balance(context.Background(), walletID(i))
		if err != nil || bal.Charged != w.charged || bal.Balance != w.credited-w.charged || w.held != 0 {
			t.Errorf("wallet %d: %v, charged %s of %s, %v", i, bal, bal.Charged, w.charged, err)
		}
	}
	rest := l.model[0].credited - l.model[0].charged
	for _, b := range l.books[max(0, len(l.books)-3):] {
		h, err := b.Hold(context.Background(), ledger.HoldRequest{Wallet: walletID(0), Amount: rest})
		if err != nil {
			t.Errorf("the rest of a wallet, %s: %v", rest, err)
			continue
		}
		h.Release()
	}
}

const lendingHead = `| Traffic | Nodes | Answered | Fairness | Hold waited: median | 99 % | longest | Lent and idle | Refused too early | Borrows per call | Recalls per call | Upkeep per node and second |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|`

// report is a row of the table.
func (l *lending) report(nodes int) string {
	asked := func(methods ...string) (sum float64) {
		for _, m := range methods {
			if n, ok := l.questions.Load(m); ok {
				sum += float64(n.(*atomic.Int64).Load())
			}
		}
		return sum
	}
	admitted, shares := 0, []float64{}
	for i, n := range l.admitted {
		admitted += n
		if l.offered[i] > 0 {
			shares = append(shares, float64(n)/float64(l.offered[i]))
		}
	}
	slices.Sort(l.waits)
	slices.Sort(l.idle)
	at := func(part float64) time.Duration {
		return l.waits[int(part*float64(len(l.waits)-1))].Round(100 * time.Microsecond)
	}
	early := "none"
	if l.early > 0 {
		early = fmt.Sprintf("%.1f %%, at most %.1f calls left", 100*float64(l.early)/float64(len(l.waits)), float64(l.earlyOf)/float64(callHold))
	}
	per := float64(max(admitted, 1))
	return fmt.Sprintf("| %s | %d | %d of %d | %.3f | %v | %v | %v | %.2f %% | %s | %.2f | %.3f | %.1f |", l.name, nodes, admitted, len(l.waits), jain(shares), at(0.5), at(0.99), at(1),
		100*l.idle[len(l.idle)/2], early, asked("Borrow")/per, float64(l.recalls.Load())/per, asked("Beat", "Recalled", "Tell", "Return")/float64(nodes)/l.lasts.Seconds())
}

// jain is Jain's index: 1 when all are equal, 1/n when one has everything.
func jain(x []float64) float64 {
	var sum, squares float64
	for _, v := range x {
		sum += v
		squares += v * v
	}
	return sum * sum / (float64(len(x)) * squares)
}
