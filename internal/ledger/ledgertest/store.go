// Package ledgertest has a ledger.Store in memory, whose answers can be delayed, lost or refused at will. It keeps the same laws as the
// databases and nothing on disk, so that thousands of schedules of failures run in seconds. It must not be used outside of tests.
package ledgertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/zone"
)

// Outcome is what becomes of one question to the store.
type Outcome uint8

// The outcomes.
const (
	Answered Outcome = iota // done, and the caller gets the answer
	Refused                 // not done, and the caller gets an error
	Lost                    // done, but the caller gets an error
)

// Store keeps a ledger in memory. It is safe for concurrent use.
type Store struct {
	// Fate decides what becomes of the next question, named after the method. nil: all are answered. It is called without the lock, so it may
	// move the clock and other nodes.
	Fate func(method, node string) Outcome
	// Refuse reports calls that the store can never take until an operator posts them. nil: absent.
	Refuse func(generation string) bool

	mu          sync.Mutex
	wallets     map[string]*wallet
	keys        map[ledger.Fund]*fund
	leases      map[leaseID]*lease
	nodes       map[string]*node
	generations map[string]*record.Call
	postings    map[string]ledger.Movement
	entries     []entry
	serial      int64
	asides      map[int64]ledger.Aside
	decided     int64 // records that were set aside and are not any more
}

type wallet struct {
	credited, charged, leased money.Nano
	recall                    int64
}

type fund struct {
	spent, leased money.Nano
	recall        int64
}

type leaseID struct {
	node string
	id   int64
}

type lease struct {
	fund              ledger.Fund
	granted, consumed money.Nano
	held              money.Nano // as the node reported
	epoch             int64
	recall            int64
	escrow            bool
}

func (l *lease) left() money.Nano { return max(0, l.granted-l.consumed) }

type node struct {
	life                  string
	epoch, beat, position int64
	live                  bool
}

type entry struct {
	transaction int64
	account     string
	ref         string
	amount      money.Nano
}

// New makes an empty store.
func New() *Store {
	return &Store{wallets: map[string]*wallet{}, keys: map[ledger.Fund]*fund{}, leases: map[leaseID]*lease{}, nodes: map[string]*node{},
		generations: map[string]*record.Call{}, postings: map[string]ledger.Movement{}, asides: map[int64]ledger.Aside{}}
}

// AddWallet makes an empty wallet.
func (s *Store) AddWallet(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wallets[id] = &wallet{}
}

func away(op string) error {
	e := fault.New(fault.StorageUnavailable, op, "The store cannot be reached at the moment.").Because(errors.New("simulated"))
	e.RetryAfter = time.Second
	return e
}

// ask runs f as one transaction, unless the store is to fail. f must change nothing when it fails.
func (s *Store) ask(method, node string, f func() error) error {
	fate := Answered
	if s.Fate != nil {
		fate = s.Fate(method, node)
	}
	if fate == Refused {
		return away("ledgertest." + method)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := f(); err != nil {
		return err
	}
	if fate == Lost {
		return away("ledgertest." + method)
	}
	return nil
}

func (s *Store) node(id string) *node {
	n := s.nodes[id]
	if n == nil {
		n = &node{}
		s.nodes[id] = n
	}
	return n
}

// Position is ledger.Nodes.Position.
func (s *Store) Position(_ context.Context, id string) (position int64, err error) {
	err = s.ask("Position", id, func() error { position = s.node(id).position; return nil })
	return position, err
}

// Join is ledger.Nodes.Join.
func (s *Store) Join(_ context.Context, id string, _ time.Time) (epoch int64, err error) {
	err = s.ask("Join", id, func() error {
		s.closeLeases(id)
		n := s.node(id)
		n.epoch, n.beat, n.live = n.epoch+1, n.beat+1, true
		epoch = n.epoch
		return nil
	})
	return epoch, err
}

// Life is ledger.Lives.Life.
func (s *Store) Life(_ context.Context, id string) (life string, err error) {
	err = s.ask("Life", id, func() error { life = s.node(id).life; return nil })
	return life, err
}

// Live is ledger.Lives.Live.
func (s *Store) Live(_ context.Context, id, former, life string) (done bool, err error) {
	err = s.ask("Live", id, func() error {
		if n := s.node(id); n.life == former {
			n.life, done = life, true
		}
		return nil
	})
	return done && err == nil, err
}

// Books is ledger.Lives.Books.
func (s *Store) Books(context.Context, string) (string, error) { return "books_test", nil }

// SetAside is ledger.Shelf.SetAside.
func (s *Store) SetAside(_ context.Context, life string, from int64, a *ledger.Aside) (position int64, err error) {
	err = s.ask("SetAside", a.Node, func() error {
		n := s.node(a.Node)
		if n.life != life {
			return fault.New(fault.Conflict, "ledgertest.SetAside", "The node has been restarted since then.")
		}
		if position = n.position; position != from {
			return nil
		}
		n.position, position = a.Position, a.Position
		kept := *a
		kept.ID = int64(len(s.asides)) + s.decided + 1
		kept.Record = append([]byte(nil), a.Record...) // it is the node's own space
		s.asides[kept.ID] = kept
		return nil
	})
	return position, err
}

// Asides is ledger.Shelf.Asides.
func (s *Store) Asides(context.Context) (list []ledger.Aside, err error) {
	err = s.ask("Asides", "", func() error {
		for _, a := range s.asides {
			list = append(list, a)
		}
		slices.SortFunc(list, func(a, b ledger.Aside) int { return cmp.Compare(a.ID, b.ID) })
		return nil
	})
	return list, err
}

// CountAsides is ledger.Shelf.CountAsides.
func (s *Store) CountAsides(ctx context.Context) (int64, error) {
	list, err := s.Asides(ctx)
	return int64(len(list)), err
}

// PostAside is ledger.Shelf.PostAside. What was refused before is taken now.
func (s *Store) PostAside(_ context.Context, id int64, _ audit.Actor, _ time.Time) error {
	return s.decide("PostAside", id, func(a *ledger.Aside) error {
		it, err := ledger.DecodeItem(a.Record)
		if err != nil {
			return err
		}
		s.serial++
		revenue := s.applyItem(a.Node+":aside", &it)
		s.entries = append(s.entries, entry{s.serial, ledger.RevenueAccount, ledger.SettleRef + a.Node, revenue})
		return nil
	})
}

// DismissAside is ledger.Shelf.DismissAside.
func (s *Store) DismissAside(_ context.Context, id int64, _ string, _ audit.Actor, _ time.Time) error {
	return s.decide("DismissAside", id, func(*ledger.Aside) error { return nil })
}

func (s *Store) decide(method string, id int64, f func(*ledger.Aside) error) error {
	return s.ask(method, "", func() error {
		a, ok := s.asides[id]
		if !ok {
			return fault.New(fault.NotFound, "ledgertest."+method, "There is no such record.")
		}
		delete(s.asides, id)
		s.decided++
		return f(&a)
	})
}

// Spent is what a key has spent in an interval.
func (s *Store) Spent(p ledger.Fund) money.Nano {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fund(p).spent
}

// SpentBy is what counts in the funds of a limit.
func (s *Store) SpentBy(wallet, id string) map[ledger.Fund]money.Nano {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[ledger.Fund]money.Nano{}
	for p, k := range s.keys {
		if p.Wallet == wallet && p.Key == id {
			all[p] = k.spent
		}
	}
	return all
}

// Leave is ledger.Nodes.Leave.
func (s *Store) Leave(_ context.Context, id string, epoch int64) error {
	return s.ask("Leave", id, func() error {
		if n := s.node(id); n.epoch == epoch {
			n.epoch, n.live = n.epoch+1, false
			s.closeLeases(id)
		}
		return nil
	})
}

// Beat is ledger.Nodes.Beat.
func (s *Store) Beat(_ context.Context, id string, epoch int64, _ time.Time) (others []ledger.Node, current bool, err error) {
	err = s.ask("Beat", id, func() error {
		if n := s.node(id); n.epoch == epoch {
			n.beat++
			current = true
		}
		for other, n := range s.nodes {
			if other != id && n.live {
				others = append(others, ledger.Node{ID: other, Beat: n.beat})
			}
		}
		slices.SortFunc(others, func(a, b ledger.Node) int { return strings.Compare(a.ID, b.ID) })
		return nil
	})
	return others, current && err == nil, err
}

// Evict is ledger.Nodes.Evict.
func (s *Store) Evict(_ context.Context, id string, beat int64) (gone bool, err error) {
	err = s.ask("Evict", id, func() error {
		n := s.node(id)
		if gone = n.live && n.beat == beat; gone {
			n.epoch, n.live = n.epoch+1, false
			s.closeLeases(id)
		}
		return nil
	})
	return gone && err == nil, err
}

func (s *Store) closeLeases(node string) {
	for id, l := range s.leases {
		if id.node == node {
			s.reserve(l.fund, -l.left())
			delete(s.leases, id)
		}
	}
}

func (s *Store) reserve(p ledger.Fund, n money.Nano) {
	if p.Key == "" {
		s.wallets[p.Wallet].leased += n
		return
	}
	s.fund(p).leased += n
}

func (s *Store) fund(p ledger.Fund) *fund {
	k := s.keys[p]
	if k == nil {
		k = &fund{}
		s.keys[p] = k
	}
	return k
}

// available is what a fund has left, and its recalls.
func (s *Store) available(p ledger.Fund, limit money.Nano) (money.Nano, *int64, error) {
	if p.Key != "" {
		k := s.fund(p)
		return limit - k.spent - k.leased, &k.recall, nil
	}
	w := s.wallets[p.Wallet]
	if w == nil {
		return 0, nil, fault.New(fault.NotFound, "ledgertest.Borrow", "There is no such wallet.")
	}
	return w.credited - w.charged - w.leased, &w.recall, nil
}

// Borrow is ledger.Leases.Borrow.
func (s *Store) Borrow(_ context.Context, b ledger.Borrow) (g ledger.Grant, err error) {
	err = s.ask("Borrow", b.Node, func() error {
		g, err = s.borrow(b)
		return err
	})
	if err != nil {
		g = ledger.Grant{}
	}
	return g, err
}

func (s *Store) borrow(b ledger.Borrow) (g ledger.Grant, err error) {
	if s.node(b.Node).epoch != b.Epoch {
		return ledger.Grant{Fenced: true}, nil
	}
	available, recall, err := s.available(b.Fund, b.Limit)
	if err != nil {
		return g, err
	}
	g.Available = available
	id := leaseID{b.Node, b.Lease}
	old := s.leases[id]
	was := lease{fund: b.Fund, epoch: b.Epoch, recall: *recall}
	if old != nil {
		was = *old
	}
	after := was
	after.granted += b.Need
	if after.left()-was.left() > available {
		if b.Recall {
			*recall++
			if old != nil {
				old.recall = *recall
			}
		}
		for other, l := range s.leases {
			switch {
			case other.node == b.Node || l.fund != b.Fund || l.granted <= l.consumed:
			case l.escrow:
				g.Jobs += l.granted - l.consumed
			default:
				g.Elsewhere += l.granted - l.consumed
				g.Unanswered = g.Unanswered || l.recall < *recall
			}
		}
		return g, nil
	}
	rest := available - (after.left() - was.left())
	extra := money.Nano(0)
	if share := rest / 8; share >= b.Need {
		extra = max(0, min(b.Want-b.Need, share))
	}
	g.Granted = b.Need + extra
	after.granted = was.granted + g.Granted
	s.reserve(b.Fund, after.left()-was.left())
	s.leases[id] = &after
	return g, nil
}

// Return is ledger.Leases.Return.
func (s *Store) Return(_ context.Context, node string, rs []ledger.Return) error {
	return s.ask("Return", node, func() error {
		for _, r := range rs {
			_, recall, err := s.available(r.Fund, 0)
			if err != nil {
				return err
			}
			id := leaseID{node, r.Lease}
			l := s.leases[id]
			switch {
			case l == nil:
			case r.Close:
				s.reserve(l.fund, -l.left())
				delete(s.leases, id)
			default:
				before := l.left()
				l.granted -= r.Amount
				l.recall = *recall
				s.reserve(l.fund, l.left()-before)
			}
		}
		return nil
	})
}

// Recalled is ledger.Leases.Recalled.
func (s *Store) Recalled(_ context.Context, node string) (ids []int64, err error) {
	err = s.ask("Recalled", node, func() error {
		for id, l := range s.leases {
			if id.node != node {
				continue
			}
			if _, recall, err := s.available(l.fund, 0); err == nil && l.recall < *recall {
				ids = append(ids, id.id)
			}
		}
		slices.Sort(ids)
		return nil
	})
	return ids, err
}

// Apply is ledger.Applier.Apply.
func (s *Store) Apply(_ context.Context, b *ledger.Batch) (position int64, err error) {
	err = s.ask("Apply", b.Node, func() error {
		n := s.node(b.Node)
		if n.life != b.Life {
			return fault.New(fault.Conflict, "ledgertest.Apply", "The node has been restarted since then.")
		}
		if n.position != b.From {
			position = n.position
			return nil
		}
		for i := range b.Items {
			if g := b.Items[i].Call.Generation; s.Refuse != nil && s.Refuse(g) && s.generations[g] == nil {
				return fault.New(fault.Unprocessable, "ledgertest.Apply", "The store can never take this record.")
			}
		}
		n.position, position = b.To, b.To
		s.serial++
		var revenue money.Nano
		for i := range b.Items {
			revenue += s.applyItem(b.Node, &b.Items[i].Item)
		}
		s.entries = append(s.entries, entry{s.serial, ledger.RevenueAccount, ledger.SettleRef + b.Node, revenue})
		return nil
	})
	return position, err
}

func (s *Store) applyItem(node string, it *ledger.Item) (cost money.Nano) {
	c := it.Call
	if s.generations[c.Generation] != nil {
		return 0
	}
	s.generations[c.Generation] = &c
	if !c.Settled {
		return 0
	}
	s.wallets[c.Wallet].charged += c.Cost
	if c.Key != "" && c.Cost != 0 {
		for _, p := range ledger.Periods(c.At) {
			s.fund(ledger.Fund{Wallet: c.Wallet, Key: c.Key, Period: p}).spent += c.Cost
		}
	}
	leases := []int64{it.WalletLease, it.KeyLease}
	for i := range c.Funds {
		leases = append(leases, c.Funds[i].Lease)
	}
	s.inFunds(&c, c.Cost)
	for _, id := range leases {
		if l := s.leases[leaseID{node, id}]; l != nil && id != 0 {
			before := l.left()
			l.consumed += c.Cost
			s.reserve(l.fund, l.left()-before)
		}
	}
	s.entries = append(s.entries, entry{s.serial, ledger.WalletAccount + c.Wallet, ledger.SettleRef + c.Generation, -c.Cost})
	return c.Cost
}

// inFunds adds n to what was spent in the funds of a call.
func (s *Store) inFunds(c *record.Call, n money.Nano) {
	for i := range c.Funds {
		for _, p := range ledger.Counted(nil, &c.Funds[i], c.At) {
			s.fund(ledger.Fund{Wallet: c.Wallet, Key: c.Funds[i].ID, Period: p}).spent += n
		}
	}
}

// Post is ledger.Poster.Post.
func (s *Store) Post(_ context.Context, p ledger.Posting) (done ledger.Posted, err error) {
	err = s.ask("Post", "", func() error {
		var c *record.Call
		if generation, ok := strings.CutPrefix(p.Against, ledger.RefundAccount); ok {
			if c = s.generations[generation]; c == nil {
				return fault.New(fault.NotFound, "ledgertest.Post", "There is no such generation.")
			}
			p.Wallet = c.Wallet
		}
		if before, ok := s.postings[p.Ref]; ok {
			done.Movement, done.Repeated = before, true
			return p.Repeats(&before)
		}
		w := s.wallets[p.Wallet]
		if w == nil {
			return fault.New(fault.NotFound, "ledgertest.Post", "There is no such wallet.")
		}
		if p.Amount < 0 && !p.BelowZero && w.credited-w.charged-w.leased < -p.Amount {
			return fault.New(fault.Unprocessable, "ledgertest.Post", "Less is available.")
		}
		if c != nil && (!c.Settled || p.Amount > c.Cost-s.refunded(c.Generation)) {
			return fault.New(fault.Unprocessable, "ledgertest.Post", "Less is left of the charge.")
		}
		s.serial++
		done.Movement = ledger.Movement{Transaction: s.serial, Kind: p.Kind, Ref: p.Ref, Wallet: p.Wallet, Against: p.Against, Amount: p.Amount, Reason: p.Reason, Actor: p.Actor.Name, At: p.At}
		s.postings[p.Ref] = done.Movement
		w.credited += p.Amount
		if c != nil && c.Key != "" {
			for _, period := range ledger.Periods(c.At) {
				s.fund(ledger.Fund{Wallet: c.Wallet, Key: c.Key, Period: period}).spent -= p.Amount
			}
		}
		if c != nil {
			s.inFunds(c, -p.Amount)
		}
		s.entries = append(s.entries, entry{s.serial, ledger.WalletAccount + p.Wallet, p.Ref, p.Amount}, entry{s.serial, p.Against, p.Ref, -p.Amount})
		return nil
	})
	return done, err
}

// refunded is what was given back of a charge.
func (s *Store) refunded(generation string) (sum money.Nano) {
	for _, m := range s.postings {
		if m.Against == ledger.RefundAccount+generation {
			sum += m.Amount
		}
	}
	return sum
}

// Statement is ledger.Reader.Statement. No simulation reads one.
func (s *Store) Statement(context.Context, string, int64, int) ([]ledger.Movement, error) {
	return nil, nil
}

// Refunds is ledger.Reader.Refunds, in no order.
func (s *Store) Refunds(_ context.Context, wallet, generation string) (list []ledger.Movement, err error) {
	err = s.ask("Refunds", "", func() error {
		for _, m := range s.postings {
			if m.Against == ledger.RefundAccount+generation && (wallet == "" || m.Wallet == wallet) {
				list = append(list, m)
			}
		}
		return nil
	})
	return list, err
}

// Escrow moves what a hold gives to a job, as the store of video jobs does: use it as the move of ledger.Book.Hand.
func (s *Store) Escrow(job string, h ledger.Handover) error {
	return s.ask("Escrow", h.Node, func() error {
		if s.node(h.Node).epoch != h.Epoch {
			return fault.New(fault.Conflict, "ledgertest.Escrow", "The node's epoch is another.")
		}
		move := func(from, to int64, p ledger.Fund) {
			l := s.leases[leaseID{h.Node, from}]
			if from == 0 || l == nil {
				return
			}
			before := l.left()
			l.granted -= h.Amount
			s.reserve(p, l.left()-before)
			s.reserve(p, h.Amount)
			s.leases[leaseID{ledger.EscrowOwner + job, to}] = &lease{fund: p, granted: h.Amount, escrow: true}
		}
		for _, l := range h.Leases {
			move(l.From, l.To, l.Fund)
		}
		return nil
	})
}

// EndJob ends a job's escrow with a charge. Repeating it does nothing.
func (s *Store) EndJob(job string, c record.Call) error {
	return s.ask("EndJob", "", func() error {
		s.serial++
		owner := ledger.EscrowOwner + job
		cost := s.applyItem(owner, &ledger.Item{Call: c, WalletLease: ledger.EscrowWalletLease, KeyLease: ledger.EscrowKeyLease})
		s.entries = append(s.entries, entry{s.serial, ledger.RevenueAccount, ledger.SettleRef + owner, cost})
		s.closeLeases(owner)
		return nil
	})
}

// Balance is ledger.Reader.Balance.
func (s *Store) Balance(ctx context.Context, id string) (b ledger.Balance, err error) {
	b, _, err = s.BalanceBeside(ctx, id, "")
	return b, err
}

// Tell is ledger.Leases.Tell.
func (s *Store) Tell(_ context.Context, node string, epoch int64, hs []ledger.Held) error {
	return s.ask("Tell", node, func() error {
		for _, h := range hs {
			if l := s.leases[leaseID{node, h.Lease}]; l != nil && l.epoch == epoch {
				l.held = h.Amount
			}
		}
		return nil
	})
}

// BalanceBeside is ledger.Leases.BalanceBeside.
func (s *Store) BalanceBeside(_ context.Context, id, node string) (b ledger.Balance, own ledger.Own, err error) {
	err = s.ask("Balance", "", func() error {
		w := s.wallets[id]
		if w == nil {
			return fault.New(fault.NotFound, "ledgertest.Balance", "There is no such wallet.")
		}
		b = ledger.Balance{Credited: w.credited, Charged: w.charged, Balance: w.credited - w.charged, Leased: w.leased}
		own.Consumed = map[int64]money.Nano{}
		for of, l := range s.leases {
			switch {
			case l.fund != (ledger.Fund{Wallet: id}):
			case of.node == node && !l.escrow:
				own.Consumed[of.id] = l.consumed
			case of.node == node:
			case l.escrow:
				b.Held += l.left()
			default:
				b.Held += min(l.held, l.left())
			}
		}
		if n := s.nodes[node]; n != nil {
			own.Epoch, own.Life = n.epoch, n.life
		}
		return nil
	})
	return b, own, err
}

// Activity is ledger.Reader.Activity. Nothing is rolled up here.
func (s *Store) Activity(context.Context, string, string, string, string) ([]ledger.ActivityRow, error) {
	return nil, nil
}

// Call is ledger.Reader.Call.
func (s *Store) Call(_ context.Context, wallet, generation string) (call *record.Call, entries []ledger.Entry, err error) {
	err = s.ask("Call", "", func() error {
		call = s.generations[generation]
		if call == nil || wallet != "" && call.Wallet != wallet {
			return fault.New(fault.NotFound, "ledgertest.Call", "There is no such generation.")
		}
		for _, e := range s.entries {
			if e.ref == ledger.SettleRef+generation {
				entries = append(entries, ledger.Entry{Transaction: e.transaction, Account: e.account, Amount: e.amount, Ref: e.ref})
			}
		}
		return nil
	})
	return call, entries, err
}

// FundStates is ledger.Reader.FundStates.
func (s *Store) FundStates(_ context.Context, funds []ledger.Fund) (all []ledger.FundState, err error) {
	err = s.ask("FundStates", "", func() error {
		for _, f := range funds {
			x := ledger.FundState{Spent: s.fund(f).spent}
			for _, l := range s.leases {
				if l.fund == f && l.escrow {
					x.Held += l.left()
				} else if l.fund == f {
					x.Held += min(l.held, l.left())
				}
			}
			all = append(all, x)
		}
		return nil
	})
	return all, err
}

// KeySpend is ledger.Reader.KeySpend, of the total alone.
func (s *Store) KeySpend(_ context.Context, key string) (k ledger.KeySpend, err error) {
	err = s.ask("KeySpend", "", func() error {
		for p, spent := range s.keys {
			if p.Key == key && p.Period.Kind == ledger.PeriodTotal {
				k.Total += spent.spent
			}
		}
		return nil
	})
	return k, err
}

// Checks is ledger.Auditor.Checks: entries sum to zero, projections are what the rows say, and each settled generation has one entry.
func (s *Store) Checks(context.Context, ledger.Anchor, func(ledger.Check)) ([]ledger.Check, ledger.Anchor, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var wrong []string
	sums := map[int64]money.Nano{}
	credited, charged, settled := map[string]money.Nano{}, map[string]money.Nano{}, map[string]int{}
	for _, e := range s.entries {
		sums[e.transaction] += e.amount
		id, ok := strings.CutPrefix(e.account, ledger.WalletAccount)
		if !ok {
			continue
		}
		if generation, ok := strings.CutPrefix(e.ref, ledger.SettleRef); ok {
			charged[id] -= e.amount
			settled[generation]++
			continue
		}
		credited[id] += e.amount
	}
	for id, sum := range sums {
		if sum != 0 {
			wrong = append(wrong, fmt.Sprintf("transaction %d sums to %d", id, sum))
		}
	}
	leased, keysLeased := map[string]money.Nano{}, map[ledger.Fund]money.Nano{}
	for _, l := range s.leases {
		if l.fund.Key == "" {
			leased[l.fund.Wallet] += l.left()
		} else {
			keysLeased[l.fund] += l.left()
		}
	}
	for id, w := range s.wallets {
		if w.credited != credited[id] || w.charged != charged[id] || w.leased != leased[id] {
			wrong = append(wrong, fmt.Sprintf("wallet %s: credited %d of %d, charged %d of %d, leased %d of %d", id, w.credited, credited[id], w.charged, charged[id], w.leased, leased[id]))
		}
	}
	for p, k := range s.keys {
		if k.leased != keysLeased[p] {
			wrong = append(wrong, fmt.Sprintf("key %s: leased %d of %d", p.Key, k.leased, keysLeased[p]))
		}
	}
	for id, c := range s.generations {
		if want := map[bool]int{true: 1}[c.Settled]; settled[id] != want {
			wrong = append(wrong, fmt.Sprintf("generation %s has %d entries", id, settled[id]))
		}
	}
	slices.Sort(wrong)
	return []ledger.Check{{Name: "simulated books", OK: len(wrong) == 0, Detail: fmt.Sprint(wrong)}}, ledger.Anchor{}, nil
}

var _ ledger.Store = (*Store)(nil)

// Local is ledger.Reader.Local: all accounts have UTC.
func (s *Store) Local(_ string, t time.Time) time.Time { return zone.History(nil).Local(t) }

// Lent is what all leases of each wallet have left.
func (s *Store) Lent() map[string]money.Nano {
	s.mu.Lock()
	defer s.mu.Unlock()
	lent := make(map[string]money.Nano, len(s.wallets))
	for id, w := range s.wallets {
		lent[id] = w.leased
	}
	return lent
}
