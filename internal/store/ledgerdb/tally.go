package ledgerdb

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/store/sqldb"
)

// sumColumns are the figures of a roll-up, in the order of sums.
var sumColumns = []string{"calls", "requests", "errors", "cancelled", "prompt", "cache_read", "cache_write", "completion", "reasoning", "cost",
	"first_content_us", "first_contents", "generating_us", "duration_us", "refunded", "last_at"}

// sums are the figures of one row of a roll-up. The last is no sum, but when the last call began.
type sums [16]int64

const lastAt = len(sums{}) - 1

// add adds a call.
func (s *sums) add(c *record.Call) {
	u := &c.Usage
	s.plus(&sums{1, bit(c.Settled), bit(c.Error != "" && !c.Cancelled), bit(c.Cancelled), u.Prompt.N, u.CacheRead.N, u.Written().N,
		u.Completion.N, u.Reasoning.N, int64(c.Cost), c.FirstContent.Microseconds(), bit(c.FirstContent > 0), c.Generating.Microseconds(), c.Duration.Microseconds(), 0, c.At.UnixMicro()})
}

// plus adds another row.
func (s *sums) plus(other *sums) {
	for i, n := range other[:lastAt] {
		s[i] += n
	}
	s[lastAt] = max(s[lastAt], other[lastAt])
}

// requests is how many calls were charged for.
func (s *sums) requests() int64 { return s[1] }

// cost is their total cost.
func (s *sums) cost() money.Nano { return money.Nano(s[9]) }

// spent is their cost minus refunds, which counts against limits.
func (s *sums) spent() money.Nano { return s.cost() - money.Nano(s[14]) }

// dayKey, hourKey and groupKey are the keys of the roll-ups.
type (
	dayKey  struct{ day, wallet, key, user, model, provider, api, result string }
	hourKey struct {
		hour                                                      int64 // Unix seconds
		wallet, key, user, model, provider, endpoint, api, result string
	}
	// groupKey is two properties of calls, which part names.
	groupKey struct{ wallet, part, day, value, beside string }
)

// The parts of usage_groups, by their first column: model and provider, key and user, kind and result.
const (
	byModel = "model"
	byKey   = "key"
	byKind  = "kind"
)

// dayColumns and hourColumns are the key columns of the roll-ups.
var (
	dayColumns   = []string{"day", "wallet", "key_id", "user_id", "model", "provider", "api", "result"}
	hourColumns  = []string{"hour", "wallet", "key_id", "user_id", "model", "provider", "endpoint", "api", "result"}
	groupColumns = []string{"wallet", "part", "day", "value", "beside"}
)

var (
	usageDaily  = sqldb.Table{Name: "usage_daily", Columns: slices.Concat(dayColumns, sumColumns), Merge: addSums("usage_daily", dayColumns)}
	usageHourly = sqldb.Table{Name: "usage_hourly", Columns: slices.Concat(hourColumns, sumColumns), Merge: addSums("usage_hourly", hourColumns)}
	usageGroups = sqldb.Table{Name: "usage_groups", Columns: slices.Concat(groupColumns, sumColumns), Merge: addSums("usage_groups", groupColumns)}
)

// addSums is the end of an INSERT that adds to an existing row.
func addSums(table string, key []string) string {
	set := make([]string, len(sumColumns))
	for i, c := range sumColumns[:lastAt] {
		set[i] = c + " = " + table + "." + c + " + excluded." + c
	}
	set[lastAt] = "last_at = CASE WHEN " + table + ".last_at < excluded.last_at THEN excluded.last_at ELSE " + table + ".last_at END"
	return "ON CONFLICT (" + strings.Join(key, ", ") + ") DO UPDATE SET " + strings.Join(set, ", ")
}

// args appends the row of a roll-up to args.
func (d dayKey) args(args []any, s *sums) []any {
	return s.args(append(args, d.day, d.wallet, d.key, d.user, d.model, d.provider, d.api, d.result))
}

func (g groupKey) args(args []any, s *sums) []any {
	return s.args(append(args, g.wallet, g.part, g.day, g.value, g.beside))
}

func (h hourKey) args(args []any, s *sums) []any {
	return s.args(append(args, h.hour, h.wallet, h.key, h.user, h.model, h.provider, h.endpoint, h.api, h.result))
}

func (s *sums) args(args []any) []any {
	for _, n := range s {
		args = append(args, n)
	}
	return args
}

// order is the order in which rows are locked.
func (d dayKey) order(e dayKey) int {
	return cmp.Or(cmp.Compare(d.day, e.day), cmp.Compare(d.wallet, e.wallet), cmp.Compare(d.key, e.key), cmp.Compare(d.user, e.user),
		cmp.Compare(d.model, e.model), cmp.Compare(d.provider, e.provider), cmp.Compare(d.api, e.api), cmp.Compare(d.result, e.result))
}

func (g groupKey) order(e groupKey) int {
	return cmp.Or(cmp.Compare(g.wallet, e.wallet), cmp.Compare(g.part, e.part), cmp.Compare(g.day, e.day), cmp.Compare(g.value, e.value),
		cmp.Compare(g.beside, e.beside))
}

func (h hourKey) order(e hourKey) int {
	return cmp.Or(cmp.Compare(h.hour, e.hour), cmp.Compare(h.wallet, e.wallet), cmp.Compare(h.key, e.key), cmp.Compare(h.user, e.user),
		cmp.Compare(h.model, e.model), cmp.Compare(h.provider, e.provider), cmp.Compare(h.endpoint, e.endpoint), cmp.Compare(h.api, e.api), cmp.Compare(h.result, e.result))
}

// fundOrder is the order in which funds are locked.
func fundOrder(p, q ledger.Fund) int {
	return cmp.Or(cmp.Compare(p.Key, q.Key), cmp.Compare(p.Wallet, q.Wallet), cmp.Compare(p.Period.Kind, q.Period.Kind), cmp.Compare(p.Period.Start, q.Period.Start))
}

// leaseUse is a lease of the node whose journal is applied.
type leaseUse struct {
	wallet string
	lease  int64
}

func (u leaseUse) order(v leaseUse) int {
	return cmp.Or(cmp.Compare(u.wallet, v.wallet), cmp.Compare(u.lease, v.lease))
}

// inOrder lists the keys of a map.
func inOrder[K comparable, V any](m map[K]V, order func(K, K) int) []K {
	return slices.SortedFunc(maps.Keys(m), order)
}

// tally is what a batch adds to the projections.
type tally struct {
	revenue money.Nano
	settled []*record.Call
	leases  map[leaseUse]money.Nano
	hours   map[hourKey]*sums
	// What follows is added up from the hours.
	charged map[string]money.Nano      // by wallet; present for each settled call, and for each that its account sorts, also of zero
	keys    map[ledger.Fund]money.Nano // and what counts in other funds of calls
	days    map[dayKey]*sums
	groups  map[groupKey]*sums

	taxes *dayBook
}

// tallyOf is what follows from hours, with their VAT, in the days of accounts.
func tallyOf(hours map[hourKey]*sums, vat *dayBook) *tally {
	t := &tally{hours: hours, taxes: vat, charged: map[string]money.Nano{}, keys: map[ledger.Fund]money.Nano{}, days: map[dayKey]*sums{}, groups: map[groupKey]*sums{}}
	for h, s := range hours {
		t.fold(h, s)
	}
	return t
}

// newTally adds up the items of a batch. It fails when the sum of costs does not fit.
func newTally(items []*ledger.Recorded, z sqldb.Zones) (*tally, error) {
	var revenue money.Nano
	settled, leases, hours, vat := make([]*record.Call, 0, len(items)), map[leaseUse]money.Nano{}, map[hourKey]*sums{}, newDayBook(z)
	for _, it := range items {
		c := &it.Call
		at(hours, hourOf(c)).add(c)
		vat.call(c)
		if !c.Settled {
			continue
		}
		var err error
		if revenue, err = revenue.Add(c.Cost); err != nil {
			return nil, err
		}
		settled = append(settled, c)
		if c.Cost == 0 {
			continue
		}
		use := func(lease int64) {
			if lease != 0 {
				leases[leaseUse{c.Wallet, lease}] += c.Cost
			}
		}
		use(it.WalletLease)
		use(it.KeyLease)
		for i := range c.Funds {
			use(c.Funds[i].Lease)
		}
	}
	t := tallyOf(hours, vat)
	t.revenue, t.settled, t.leases = revenue, settled, leases
	for _, c := range settled {
		inFunds(c, z, c.Cost, t.keys)
	}
	for _, it := range items {
		if sorted(&it.Call) {
			t.charged[it.Call.Wallet] += 0 // its wallet is locked: see rollUpTags
		}
	}
	return t, nil
}

// inFunds adds n to what was spent in the funds in which a call counts beside its wallet and its key.
func inFunds(c *record.Call, z sqldb.Zones, n money.Nano, to map[ledger.Fund]money.Nano) {
	if len(c.Funds) == 0 || n == 0 || !c.Settled {
		return
	}
	at := z[c.Wallet].Local(c.At)
	var room [4]ledger.Period
	for i := range c.Funds {
		f := &c.Funds[i]
		for _, p := range ledger.Counted(room[:0], f, at) {
			to[ledger.Fund{Wallet: c.Wallet, Key: f.ID, Period: p}] += n
		}
	}
}

// refundOf is the effect of a refund of a call, of which before was given back earlier: it belongs to the hour of the call, and so to the
// intervals of limits in which the call was. Its VAT belongs to the day on which it is posted.
func refundOf(c *record.Call, before, n money.Nano, posted time.Time, z sqldb.Zones) *tally {
	vat := newDayBook(z)
	vat.refund(c, before, n, posted)
	t := tallyOf(map[hourKey]*sums{hourOf(c): {lastAt - 1: int64(n)}}, vat)
	inFunds(c, z, -n, t.keys)
	return t
}

// fold adds an hour to the day, week and month of the account that contain it. Calls that are not settled cost nothing.
func (t *tally) fold(h hourKey, s *sums) {
	start := t.taxes.zones[h.wallet].Local(time.Unix(h.hour, 0))
	day := dayOf(h, start)
	at(t.days, day).plus(s)
	for _, g := range [...]groupKey{
		{h.wallet, byModel, day.day, h.model, h.provider}, {h.wallet, byKey, day.day, h.key, h.user}, {h.wallet, byKind, day.day, h.api, h.result},
	} {
		at(t.groups, g).plus(s)
	}
	if s.requests() > 0 {
		t.charged[h.wallet] += s.cost()
	}
	if h.key == "" || s.spent() == 0 {
		return
	}
	for _, p := range ledger.Periods(start) {
		t.keys[ledger.Fund{Wallet: h.wallet, Key: h.key, Period: p}] += s.spent()
	}
}

// at are the figures of a key, which begin at zero.
func at[K comparable, S any](m map[K]*S, k K) *S {
	s := m[k]
	if s == nil {
		s = new(S)
		m[k] = s
	}
	return s
}

// hourOf is the hour that a call belongs to.
func hourOf(c *record.Call) hourKey {
	const hour = 3600
	at := c.At.Unix()
	return hourKey{at - (at%hour+hour)%hour, c.Wallet, c.Key, c.User, c.Model, c.Provider, c.Endpoint, c.API, c.Result()}
}

// dayOf is the day of an hour that begins then, by the clock of its account.
func dayOf(h hourKey, start time.Time) dayKey {
	return dayKey{start.Format(time.DateOnly), h.wallet, h.key, h.user, h.model, h.provider, h.api, h.result}
}
