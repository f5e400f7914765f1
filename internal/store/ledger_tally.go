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

func (s *Sums) add(c *record.Call) {
	u := &c.Usage
	row := Sums{1, bit(c.Settled), bit(c.Error != ""), bit(c.Cancelled), u.Prompt.N, u.CacheRead.N, u.CacheWrite.N + u.CacheWrite1h.N,
		u.Completion.N, u.Reasoning.N, int64(c.Cost), c.FirstContent.Microseconds(), bit(c.FirstContent > 0), c.Generating.Microseconds(), c.Duration.Microseconds()}
	for i, n := range row {
		s[i] += n
	}
}

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
	Charged map[string]money.Nano // by wallet; present for each settled call, be it of zero
	Leases  map[LeaseUse]money.Nano
	Keys    map[KeyPeriod]money.Nano
	Days    map[Day]*Sums
	Hours   map[Hour]*Sums
}

// NewTally adds up the items of a batch. It fails when the sum of costs does not fit.
func NewTally(items []ledger.Recorded) (*Tally, error) {
	t := &Tally{Charged: map[string]money.Nano{}, Leases: map[LeaseUse]money.Nano{}, Keys: map[KeyPeriod]money.Nano{},
		Days: map[Day]*Sums{}, Hours: map[Hour]*Sums{}}
	var dates dates
	for i := range items {
		it := &items[i]
		c := &it.Call
		dates.at(c.At)
		sum(t.Days, Day{dates.text, c.Wallet, c.Key, c.User, c.Model, c.Provider}).add(c)
		sum(t.Hours, Hour{dates.hour, c.Wallet, c.Key, c.User, c.Model, c.Provider, c.Endpoint}).add(c)
		if !c.Settled {
			continue
		}
		var err error
		if t.Revenue, err = t.Revenue.Add(c.Cost); err != nil {
			return nil, err
		}
		t.Settled = append(t.Settled, c)
		t.Charged[c.Wallet] += c.Cost
		for _, lease := range [...]int64{it.WalletLease, it.KeyLease} {
			if lease != 0 {
				t.Leases[LeaseUse{c.Wallet, lease}] += c.Cost
			}
		}
		if c.Key != "" && c.Cost != 0 {
			for _, p := range dates.periods {
				t.Keys[KeyPeriod{c.Wallet, c.Key, p}] += c.Cost
			}
		}
	}
	return t, nil
}

func sum[K comparable](m map[K]*Sums, k K) *Sums {
	s := m[k]
	if s == nil {
		s = &Sums{}
		m[k] = s
	}
	return s
}

// dates keeps the last moment's calendar: neighbours share it.
type dates struct {
	hour    int64
	text    string
	periods [4]ledger.Period
}

func (d *dates) at(t time.Time) {
	hour := HourOf(t.UnixMicro())
	if d.text != "" && hour == d.hour {
		return
	}
	d.hour, d.text, d.periods = hour, t.UTC().Format(time.DateOnly), ledger.Periods(t)
}

// HourOf is the start of the hour of a Unix time in microseconds, in Unix seconds.
func HourOf(micro int64) int64 {
	const hour = 3600 * 1_000_000
	n := micro / hour
	if micro%hour < 0 {
		n--
	}
	return n * 3600
}

// Entry builds the text of references and accounts.
func Entry(c *record.Call) (account, ref string) {
	return ledger.WalletAccount + c.Wallet, ledger.SettleRef + c.Generation
}
