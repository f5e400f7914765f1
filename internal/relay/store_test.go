package relay_test

import (
	"context"
	"sync"
	"time"

	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
)

// store is a ledger.Store in memory, for one node: enough for a real Book to borrow from and to apply to. What a call never
// needs, it does not have.
type store struct {
	ledger.Store

	mu       sync.Mutex
	away     bool // lends nothing
	position int64
	wallets  map[string]*ledger.Balance
	spent    map[string]money.Nano // by key
	leases   map[int64]*loan
	calls    map[string]record.Call
	order    []string // generations as they were applied, doubles included
}

// loan is what a lease has left.
type loan struct {
	fund ledger.Fund
	left money.Nano
}

func newStore() *store {
	return &store{wallets: map[string]*ledger.Balance{}, spent: map[string]money.Nano{}, leases: map[int64]*loan{}, calls: map[string]record.Call{}}
}

// Local: all accounts have UTC.
func (s *store) Local(_ string, t time.Time) time.Time { return t.UTC() }

func (s *store) Position(context.Context, string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.position, nil
}

func (s *store) Life(context.Context, string) (string, error) { return "", nil }

func (s *store) Live(context.Context, string, string, string) (bool, error) { return true, nil }

func (s *store) Books(context.Context, string) (string, error) { return "books_test", nil }

func (s *store) CountAsides(context.Context) (int64, error) { return 0, nil }

func (s *store) Join(context.Context, string, time.Time) (int64, error) { return 1, nil }

func (s *store) Leave(context.Context, string, int64) error { return nil }

func (s *store) Beat(context.Context, string, int64, time.Time) ([]ledger.Node, bool, error) {
	return nil, true, nil
}

func (s *store) Recalled(context.Context, string) ([]int64, error) { return nil, nil }

func (s *store) Borrow(_ context.Context, b ledger.Borrow) (ledger.Grant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return ledger.Grant{}, fault.New(fault.StorageUnavailable, "store.Borrow", "The store is away.")
	}
	w := s.wallets[b.Fund.Wallet]
	if w == nil {
		return ledger.Grant{}, fault.New(fault.NotFound, "store.Borrow", "There is no such wallet.")
	}
	available := w.Balance
	if b.Fund.Key != "" {
		available = b.Limit - s.spent[b.Fund.Key]
	}
	for _, l := range s.leases {
		if l.fund == b.Fund {
			available -= l.left
		}
	}
	if available < b.Need {
		return ledger.Grant{Available: available}, nil
	}
	l := s.leases[b.Lease]
	if l == nil {
		l = &loan{fund: b.Fund}
		s.leases[b.Lease] = l
	}
	granted := max(b.Need, min(b.Want, available/2))
	l.left += granted
	return ledger.Grant{Granted: granted, Available: available}, nil
}

func (s *store) Return(_ context.Context, _ string, rs []ledger.Return) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range rs {
		switch l := s.leases[r.Lease]; {
		case l == nil:
		case r.Close:
			delete(s.leases, r.Lease)
		default:
			l.left -= r.Amount
		}
	}
	return nil
}

func (s *store) Apply(_ context.Context, b *ledger.Batch) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.From != s.position {
		return s.position, nil
	}
	for i := range b.Items {
		it := &b.Items[i]
		s.order = append(s.order, it.Call.Generation)
		if _, known := s.calls[it.Call.Generation]; known {
			continue
		}
		s.calls[it.Call.Generation] = it.Call
		w := s.wallets[it.Call.Wallet]
		w.Charged += it.Call.Cost
		w.Balance -= it.Call.Cost
		s.spent[it.Call.Key] += it.Call.Cost
		for _, id := range []int64{it.WalletLease, it.KeyLease} {
			if l := s.leases[id]; l != nil {
				l.left -= it.Call.Cost
			}
		}
	}
	s.position = b.To
	return b.To, nil
}

func (s *store) BalanceBeside(_ context.Context, wallet, _ string) (ledger.Balance, ledger.Own, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.wallets[wallet], ledger.Own{}, nil // there is no other node
}

func (s *store) Tell(context.Context, string, int64, []ledger.Held) error { return nil }

func (s *store) Call(_ context.Context, _, generation string) (*record.Call, []ledger.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.calls[generation]
	if !ok {
		return nil, nil, fault.New(fault.NotFound, "store.Call", "There is no such call.")
	}
	return &c, nil, nil
}

// kept lists the generations in the store.
func (s *store) kept() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.order...)
}

// leave makes the store lend nothing from now on.
func (s *store) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = true
}

func (s *store) credit(wallet string, n money.Nano) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wallets[wallet] = &ledger.Balance{Credited: n, Balance: n}
}
