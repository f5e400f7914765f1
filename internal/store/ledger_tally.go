package store

import (
	"strings"
	"time"

	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
)

// SumColumns are the figures of a roll-up, in the order of Sums.
var SumColumns = []string{"calls", "requests", "errors", "cancelled", "prompt", "cache_read", "cache_write", "completion", "reasoning", "cost",
	"first_content_us", "first_contents", "generating_us", "duration_us"}

// Sums are the figures of one row of a roll-up.
type Sums [14]int64

// Add adds a call.
func (s *Sums) Add(c *record.Call) {
	u := &c.Usage
	s.Plus(&Sums{1, bit(c.Settled), bit(c.Error != ""), bit(c.Cancelled), u.Prompt.N, u.CacheRead.N, u.CacheWrite.N + u.CacheWrite1h.N,
		u.Completion.N, u.Reasoning.N, int64(c.Cost), c.FirstContent.Microseconds(), bit(c.FirstContent > 0), c.Generating.Microseconds(), c.Duration.Microseconds()})
}

// Plus adds another row.
func (s *Sums) Plus(other *Sums) {
	for i, n := range other {
		s[i] += n
	}
}

// Requests is how many calls were charged for.
func (s *Sums) Requests() int64 { return s[1] }

// Cost is what they cost together.
func (s *Sums) Cost() money.Nano { return money.Nano(s[9]) }

// Day and Hour are the keys of the roll-ups.
type (
	Day  struct{ Day, Wallet, Key, User, Model, Provider string }
	Hour struct {
		Hour                                         int64 // Unix seconds
		Wallet, Key, User, Model, Provider, Endpoint string
	}
)

// DayColumns and HourColumns are the key columns of the roll-ups.
var (
	DayColumns  = []string{"day", "wallet", "key_id", "user_id", "model", "provider"}
	HourColumns = []string{"hour", "wallet", "key_id", "user_id", "model", "provider", "endpoint"}
)

// AddSums is the end of an INSERT that adds to a row that is there.
func AddSums(table string, key []string) string {
	set := make([]string, len(SumColumns))
	for i, c := range SumColumns {
		set[i] = c + " = " + table + "." + c + " + excluded." + c
	}
	return "ON CONFLICT (" + strings.Join(key, ", ") + ") DO UPDATE SET " + strings.Join(set, ", ")
}

// KeyPeriod is a row of key_spend.
type KeyPeriod struct {
	Wallet, Key string
	Period      ledger.Period
}

// LeaseUse is a lease of the node whose journal is applied.
type LeaseUse struct {
	Wallet string
	Lease  int64
}

// Tally is what a batch adds to the projections.
type Tally struct {
	Revenue money.Nano
	Settled []*record.Call
	Leases  map[LeaseUse]money.Nano
	Hours   map[Hour]*Sums
	// What follows is added up from the hours.
	Charged map[string]money.Nano // by wallet; present for each settled call, be it of zero
	Keys    map[KeyPeriod]money.Nano
	Days    map[Day]*Sums
}

// NewTally adds up the items of a batch. It fails when the sum of costs does not fit.
func NewTally(items []ledger.Recorded) (*Tally, error) {
	t := &Tally{Settled: make([]*record.Call, 0, len(items)), Leases: map[LeaseUse]money.Nano{}, Hours: map[Hour]*Sums{},
		Charged: map[string]money.Nano{}, Keys: map[KeyPeriod]money.Nano{}, Days: map[Day]*Sums{}}
	for i := range items {
		it := &items[i]
		c := &it.Call
		sum(t.Hours, HourOf(c)).Add(c)
		if !c.Settled {
			continue
		}
		var err error
		if t.Revenue, err = t.Revenue.Add(c.Cost); err != nil {
			return nil, err
		}
		t.Settled = append(t.Settled, c)
		for _, lease := range [...]int64{it.WalletLease, it.KeyLease} {
			if lease != 0 {
				t.Leases[LeaseUse{c.Wallet, lease}] += c.Cost
			}
		}
	}
	for h, s := range t.Hours {
		t.fold(h, s)
	}
	return t, nil
}

// fold adds an hour to what it belongs to: days, weeks and months begin with an hour. Calls that are not settled cost nothing.
func (t *Tally) fold(h Hour, s *Sums) {
	at := time.Unix(h.Hour, 0).UTC()
	sum(t.Days, Day{at.Format(time.DateOnly), h.Wallet, h.Key, h.User, h.Model, h.Provider}).Plus(s)
	if s.Requests() > 0 {
		t.Charged[h.Wallet] += s.Cost()
	}
	if h.Key == "" || s.Cost() == 0 {
		return
	}
	for _, p := range ledger.Periods(at) {
		t.Keys[KeyPeriod{h.Wallet, h.Key, p}] += s.Cost()
	}
}

func sum[K comparable](m map[K]*Sums, k K) *Sums {
	s := m[k]
	if s == nil {
		s = &Sums{}
		m[k] = s
	}
	return s
}

// HourOf is the hour that a call belongs to.
func HourOf(c *record.Call) Hour {
	const hour = 3600
	at := c.At.Unix()
	return Hour{at - (at%hour+hour)%hour, c.Wallet, c.Key, c.User, c.Model, c.Provider, c.Endpoint}
}
