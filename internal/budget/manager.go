package budget

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/routing"
)

const (
	fresh = 2 * time.Second // another node's change is known after this time
	stale = 5 * time.Minute // while the store is unavailable, the known budgets of an account bind for this long
	// accounts is how many accounts are remembered. Most have no budgets; what one may have is bounded.
	accounts = 20_000
)

// Store keeps budgets. One of another account is not found (fault.NotFound). Each change and its audit row are one transaction.
type Store interface {
	// Budgets lists those of an account, the widest first, then by their scopes and periods, with the deleted ones that it still has.
	Budgets(ctx context.Context, account string) ([]Budget, error)
	// AddBudget fails with fault.Conflict when the scope has a budget of this period that is not deleted, and with fault.Invalid when the account has no room, and for a
	// team, member or key that is not the account's.
	AddBudget(ctx context.Context, b Budget, e audit.Event) error
	// ChangeBudget stores what change makes of a budget, with the event that it returns; with one without an action nothing is stored. Its scope and period stay.
	ChangeBudget(ctx context.Context, account, id string, now time.Time, change func(*Budget) (audit.Event, error)) (Budget, error)
	DeleteBudget(ctx context.Context, account, id string, now time.Time, by audit.Actor) error
	// RestoreBudget brings back one that was deleted less than Kept ago, as AddBudget would make it. One that is not deleted stays as it is.
	RestoreBudget(ctx context.Context, account, id string, now time.Time, by audit.Actor) (Budget, error)
	// RenewsAt is when the interval of a wallet's limits that has a moment ends; zero: never.
	RenewsAt(ctx context.Context, wallet string, at time.Time, r ledger.Reset) (time.Time, error)
}

// Books know how funds stand. ledger.Reader is one.
type Books interface {
	FundStates(ctx context.Context, funds []ledger.Fund) ([]ledger.FundState, error)
	Local(wallet string, at time.Time) time.Time
}

// Spending is how a fund stands.
type Spending struct {
	ledger.FundState
	Renews time.Time // when its interval ends; zero: never
}

// Manager makes, changes and finds budgets. It is safe for concurrent use.
type Manager struct {
	store Store
	now   func() time.Time
	cache *lru.Cache[string, *set]
	epoch atomic.Uint64 // grows with every change: what was read before it must not be remembered after it
}

// set is what is known of an account. It is immutable.
type set struct {
	by  map[Scope][]*Budget // nil: the account has none
	at  time.Time
	due bool // another node has changed them
}

// NewManager makes a Manager over a store.
func NewManager(s Store, now func() time.Time) *Manager {
	c, _ := lru.New[string, *set](accounts) // it fails for sizes below 1 alone
	return &Manager{store: s, now: now, cache: c}
}

// Call is what a call is to its budgets.
type Call struct {
	Account string
	Member  string         // "" none, as all that follow
	Team    string         //
	Key     string         //
	Above   []apikey.Above // keys from which Key comes
	Tags    []string       //
	Session string         //
}

// Of finds the budgets that bind a call, the widest first; nil where there are none, which takes no memory. It reads the store at most every two
// seconds for each account, and fails with its error when it is away and nothing is known.
func (m *Manager) Of(ctx context.Context, c *Call) ([]*Budget, error) {
	s, err := m.known(ctx, c.Account)
	if err != nil || s.by == nil {
		return nil, err
	}
	all := s.by[Scope{Kind: Organization}]
	all = all[:len(all):len(all)]
	add := func(k Kind, id string) { all = append(all, s.by[Scope{k, id}]...) }
	if c.Team != "" {
		add(Team, c.Team)
	}
	if c.Member != "" {
		add(Member, c.Member)
	}
	for i := range c.Above {
		add(Key, c.Above[i].Key)
	}
	add(Key, c.Key)
	for _, t := range c.Tags {
		add(Tag, t)
	}
	if c.Session != "" {
		own := s.by[Scope{Session, c.Session}]
		all = append(all, own...)
		for _, each := range s.by[Scope{Kind: Session}] {
			if !bindsIn(own, each.Reset) { // its own takes the place of what each session has
				all = append(all, each)
			}
		}
	}
	if len(all) > mostFunds { // what could be brought back takes no room of what binds
		all = live(all)
	}
	if len(all) > mostFunds {
		return nil, fault.Newf(fault.Invalid, "budget.Of", "%d budgets bind this call, and a call may have %d. Send fewer tags.", len(all), mostFunds)
	}
	return all, nil
}

func bindsIn(list []*Budget, r ledger.Reset) bool {
	for _, b := range list {
		if b.Reset == r && b.binds() {
			return true
		}
	}
	return false
}

// live are those that are not deleted.
func live(list []*Budget) []*Budget {
	return slices.DeleteFunc(slices.Clone(list), func(b *Budget) bool { return !b.binds() })
}

// known are the budgets of an account as they were read last.
func (m *Manager) known(ctx context.Context, account string) (*set, error) {
	now := m.now()
	s, ok := m.cache.Get(account)
	if ok && !s.due && now.Sub(s.at) < fresh {
		return s, nil
	}
	epoch := m.epoch.Load()
	list, err := m.store.Budgets(ctx, account)
	list = slices.DeleteFunc(list, func(b Budget) bool { return !b.binds() && now.Sub(b.DeletedAt) >= Kept })
	switch {
	case err == nil:
	case ok && now.Sub(s.at) < stale:
		return s, nil
	default:
		return nil, err
	}
	s = &set{at: now}
	if len(list) > 0 {
		s.by = make(map[Scope][]*Budget, len(list))
	}
	for i := range list {
		b := &list[i]
		s.by[b.Scope] = append(s.by[b.Scope], b)
	}
	m.cache.Add(account, s)
	if m.epoch.Load() != epoch { // looked at last: a change in between finds what was written
		m.cache.Remove(account)
	}
	return s, nil
}

// LookAgain has the budgets of accounts read again at their next use, because another node has changed them. While the store is unavailable, they
// bind as before.
func (m *Manager) LookAgain(of func(account string) bool) {
	m.epoch.Add(1)
	for _, account := range m.cache.Keys() {
		if s, ok := m.cache.Peek(account); ok && of(account) && !s.due {
			again := *s
			again.due = true
			m.cache.Add(account, &again)
		}
	}
}

func (m *Manager) changed(account string) {
	m.epoch.Add(1)
	m.cache.Remove(account)
}

// Limits are the ceilings of budgets for a call of a session.
func Limits(list []*Budget, session string) []ledger.Limit {
	if len(list) == 0 {
		return nil
	}
	all := make([]ledger.Limit, len(list))
	for i, b := range list {
		all[i] = ledger.Limit{ID: b.Fund(session), Amount: b.Amount, Reset: b.Reset, Open: !b.Refuses()}
	}
	return all
}

// Narrow lays the rules of budgets over the preferences of a call.
func Narrow(list []*Budget, p routing.Preferences) routing.Preferences {
	for _, b := range list {
		if b.binds() {
			p = b.Rules.over(p)
		}
	}
	return p
}

// Named is a refusal of the ledger with the name of the budget that refused, where one did: what it is of, its amount, and when it renews. Waiting for
// other calls is of no use there, so it has no RetryAfter.
func Named(e *fault.Error, list []*Budget) *fault.Error {
	fund, _ := e.Details["budget"].(string)
	id, ok := OfFund(fund)
	at := slices.IndexFunc(list, func(b *Budget) bool { return b.ID == id })
	if e.Kind != fault.PaymentRequired || !ok || at < 0 {
		return e
	}
	b, out := list[at], *e
	out.RetryAfter, out.Details = 0, maps.Clone(e.Details)
	out.Details["budget"], out.Details["scope"], out.Details["amount"] = id, string(b.Scope.Kind), b.Amount.String()
	if b.Scope.ID != "" {
		out.Details["scope_id"] = b.Scope.ID
	}
	if b.Name != "" {
		out.Details["budget_name"] = b.Name
	}
	out.Public = fmt.Sprintf("The budget %s has %v of %s rubles left, and this request may cost %v.", b.title(), e.Details["available"], b.Amount, e.Details["required"])
	if at, renews := e.Details["renews_at"]; renews {
		out.Public += fmt.Sprintf(" It renews at %v.", at)
	}
	out.Public += " Raise it, or ask for fewer tokens."
	return &out
}

// title is how errors and notices name a budget.
func (b *Budget) title() string {
	if b.Name != "" {
		return strconv.Quote(b.Name) + " (" + b.Scope.String() + ")"
	}
	return "of " + b.Scope.String()
}

// List lists the budgets of an account, the widest first, as the store has them.
func (m *Manager) List(ctx context.Context, account string) ([]Budget, error) {
	all, err := m.store.Budgets(ctx, account)
	return slices.DeleteFunc(all, func(b Budget) bool { return !b.binds() }), err
}

// Deleted lists the deleted budgets of an account that can be brought back, those deleted last first.
func (m *Manager) Deleted(ctx context.Context, account string) ([]Budget, error) {
	all, err := m.store.Budgets(ctx, account)
	now := m.now()
	all = slices.DeleteFunc(all, func(b Budget) bool { return b.binds() || now.Sub(b.DeletedAt) >= Kept })
	slices.SortStableFunc(all, func(a, b Budget) int { return b.DeletedAt.Compare(a.DeletedAt) })
	return all, err
}

// Spent is how funds of a wallet stand, each in the present interval of its limit.
func (m *Manager) Spent(ctx context.Context, books Books, wallet string, limits []ledger.Limit) ([]Spending, error) {
	now := m.now()
	local := books.Local(wallet, now)
	funds := make([]ledger.Fund, len(limits))
	for i := range limits {
		funds[i] = ledger.Fund{Wallet: wallet, Key: limits[i].ID, Period: limits[i].Reset.Period(local)}
	}
	states, err := books.FundStates(ctx, funds)
	if err != nil {
		return nil, err
	}
	renews := map[ledger.Reset]time.Time{}
	all := make([]Spending, len(limits))
	for i := range limits {
		r := limits[i].Reset
		if _, known := renews[r]; !known && r != ledger.Never {
			if renews[r], err = m.store.RenewsAt(ctx, wallet, now, r); err != nil {
				return nil, err
			}
		}
		all[i] = Spending{states[i], renews[r]}
	}
	return all, nil
}

// Add makes a budget. A change of this node holds at once.
func (m *Manager) Add(ctx context.Context, b Budget, by audit.Actor) (Budget, error) {
	b.Name = strings.TrimSpace(b.Name)
	if err := b.Check(); err != nil {
		return Budget{}, err
	}
	b.ID = NewID()
	b.CreatedAt = m.now().UTC().Truncate(time.Microsecond)
	b.UpdatedAt = b.CreatedAt
	err := m.store.AddBudget(ctx, b, audit.Event{Actor: by, Action: audit.BudgetMade, Target: b.Target(), After: b.describe()})
	m.changed(b.Account)
	return b, err
}

// Put makes the budget of a scope and period what b is, whether or not it is there. Put again, it changes nothing, and the audit has no row of it.
func (m *Manager) Put(ctx context.Context, b Budget, by audit.Actor) (is Budget, made, changed bool, err error) {
	b.Name, b.Alarms = strings.TrimSpace(b.Name), slices.Clone(b.Alarms)
	if err := b.Check(); err != nil {
		return b, false, false, err
	}
	for range 3 { // another request may make or delete it in between
		all, err := m.List(ctx, b.Account)
		if err != nil {
			return b, false, false, err
		}
		at := slices.IndexFunc(all, func(x Budget) bool { return x.Scope == b.Scope && x.Reset == b.Reset })
		switch {
		case at < 0:
			if is, err = m.Add(ctx, b, by); !fault.Is(err, fault.Conflict) {
				return is, err == nil, err == nil, err
			}
		case all[at].says(&b):
			return all[at], false, false, nil
		default:
			is, err = m.Change(ctx, b.Account, all[at].ID, func(to *Budget) {
				to.Name, to.Amount, to.Hard, to.Alarms, to.Rules = b.Name, b.Amount, b.Hard, slices.Clone(b.Alarms), b.Rules
			}, by)
			if !fault.Is(err, fault.NotFound) {
				return is, false, err == nil, err
			}
		}
	}
	return b, false, false, fault.New(fault.Conflict, "budget.Put", "This budget is being made and deleted by others at the same time. Try again.")
}

// says reports whether two budgets of a scope and period are the same for people and calls.
func (b *Budget) says(o *Budget) bool {
	return b.Name == o.Name && b.Amount == o.Amount && b.Hard == o.Hard && slices.Equal(b.Alarms, o.Alarms) && slices.Equal(b.Rules.Models, o.Rules.Models) &&
		slices.Equal(b.Rules.Providers, o.Rules.Providers) && b.Rules.DenyCollection == o.Rules.DenyCollection && b.Rules.ZDR == o.Rules.ZDR
}

// Change gives a budget what change makes of it: its scope and its period stay. Where it is so already, the audit has no row of it.
func (m *Manager) Change(ctx context.Context, account, id string, change func(*Budget), by audit.Actor) (Budget, error) {
	now := m.now().UTC().Truncate(time.Microsecond)
	b, err := m.store.ChangeBudget(ctx, account, id, now, func(b *Budget) (audit.Event, error) {
		was := *b
		change(b)
		b.ID, b.Account, b.Scope, b.Reset, b.Name, b.UpdatedAt = was.ID, was.Account, was.Scope, was.Reset, strings.TrimSpace(b.Name), now
		if was.says(b) {
			*b = was
			return audit.Event{}, nil
		}
		return audit.Event{Actor: by, Action: audit.BudgetChanged, Target: b.Target(), Before: was.describe(), After: b.describe()}, b.Check()
	})
	m.changed(account)
	return b, err
}

// Delete removes a budget: it binds no call any more. What was spent stays in the books.
func (m *Manager) Delete(ctx context.Context, account, id string, by audit.Actor) error {
	err := m.store.DeleteBudget(ctx, account, id, m.now().UTC().Truncate(time.Microsecond), by)
	m.changed(account)
	return err
}

// Restore brings a deleted budget back, with all that was spent in it since it was made. It fails with fault.NotFound once Kept has passed or another
// budget has taken its place.
func (m *Manager) Restore(ctx context.Context, account, id string, by audit.Actor) (Budget, error) {
	b, err := m.store.RestoreBudget(ctx, account, id, m.now().UTC().Truncate(time.Microsecond), by)
	m.changed(account)
	return b, err
}
