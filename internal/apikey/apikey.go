// Package apikey mints, hashes and verifies the keys that clients present. It never sees a key twice: only hashes are stored.
package apikey

import (
	"cmp"
	"math"
	"net/netip"
	"slices"

	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/routing"
)

// Reset is how often a key's spending limit starts again, at midnight in the account's time zone; weeks start on Monday.
type Reset string

// The reset intervals.
const (
	Never   Reset = ""
	Daily   Reset = "daily"
	Weekly  Reset = "weekly"
	Monthly Reset = "monthly"
)

// Limit is a key's own ceiling, within the wallet's balance.
type Limit struct {
	Amount money.Nano
	Reset  Reset
}

// LimitEdit is what a client says of a key's limit. What is not given stays.
type LimitEdit struct {
	AmountGiven bool
	Amount      *money.Nano // nil: no limit
	ResetGiven  bool
	Reset       Reset
}

// Of is the limit that results from an edit of another, which is nil where there is none. It fails with fault.Invalid.
func (e *LimitEdit) Of(old *Limit) (*Limit, error) {
	var l Limit
	has := old != nil
	if has {
		l = *old
	}
	if e.AmountGiven {
		if e.Amount == nil {
			return nil, nil
		}
		l.Amount, has = *e.Amount, true
	}
	if e.ResetGiven {
		l.Reset = e.Reset
	}
	if !has {
		if l.Reset != Never {
			return nil, fault.Field("apikey.LimitEdit", "limit_reset", "limit_reset requires limit.").Coded("reset_without_limit")
		}
		return nil, nil
	}
	return &l, nil
}

// Rates are a key's allowances of each minute, and how many of its calls may run at one time; zero is no limit.
type Rates struct {
	Requests int64      `yaml:"requests_per_minute"`
	Tokens   int64      `yaml:"tokens_per_minute"` // of prompt and answer
	Rubles   money.Nano `yaml:"rubles_per_minute"`
	Calls    int64      `yaml:"concurrent_calls"` // at one time
}

// DefaultRate in a field of a key's own Rates leaves it to the operator.
const DefaultRate = -1

// Within fails with fault.Invalid for allowances above the operator's: those are for the operator to give.
func (r *Rates) Within(operator Rates) error {
	if r == nil {
		return nil
	}
	above := func(n, most int64) bool {
		return n != DefaultRate && most > 0 && (n == 0 || n > most)
	}
	var name string
	switch {
	case above(r.Requests, operator.Requests):
		name = "requests_per_minute"
	case above(r.Tokens, operator.Tokens):
		name = "tokens_per_minute"
	case above(int64(r.Rubles), int64(operator.Rubles)):
		name = "rubles_per_minute"
	case above(r.Calls, operator.Calls):
		name = "concurrent_calls"
	default:
		return nil
	}
	return fault.Field("apikey.Rates", "rate_limits."+name, "%s must not be above the operator's limit.", name).Coded("above_operators_limit")
}

// Over is r with the operator's values where r leaves it to them; nil leaves all.
func (r *Rates) Over(operator Rates) Rates {
	if r == nil {
		return operator
	}
	out := *r
	if out.Requests == DefaultRate {
		out.Requests = operator.Requests
	}
	if out.Tokens == DefaultRate {
		out.Tokens = operator.Tokens
	}
	if out.Rubles == DefaultRate {
		out.Rubles = operator.Rubles
	}
	if out.Calls == DefaultRate {
		out.Calls = operator.Calls
	}
	return out
}

// Else is r with the values of other where r has no limit.
func (r Rates) Else(other Rates) Rates {
	return Rates{cmp.Or(r.Requests, other.Requests), cmp.Or(r.Tokens, other.Tokens), cmp.Or(r.Rubles, other.Rubles), cmp.Or(r.Calls, other.Calls)}
}

// Least has the smaller of both limits.
func (r Rates) Least(other Rates) Rates {
	least := func(a, b int64) int64 {
		if a == 0 || b != 0 && b < a {
			return b
		}
		return a
	}
	return Rates{least(r.Requests, other.Requests), least(r.Tokens, other.Tokens), money.Nano(least(int64(r.Rubles), int64(other.Rubles))), least(r.Calls, other.Calls)}
}

// Times is n times r.
func (r Rates) Times(n int64) Rates {
	times := func(a int64) int64 {
		if a > math.MaxInt64/n {
			return math.MaxInt64
		}
		return a * n
	}
	return Rates{times(r.Requests), times(r.Tokens), money.Nano(times(int64(r.Rubles))), times(r.Calls)}
}

// Caller is the user of a key that makes a request. It is shared between requests and never changed.
type Caller struct {
	Key        string  // "key_..."
	Hash       string  // hex SHA-256 of the key's text: its public identifier
	Label      string  // first 12 characters ... last 3
	User       string  // "usr_...", or "org_...": whose wallet pays
	Wallet     string  // "wal_..."
	Member     string  // in an organization, for whom the key works: a person "usr_..." or a service "svc_..."; "" in a personal account
	Team       string  // of the member, "" none
	OrgRole    OrgRole // of who acts with a session or a management key
	Sees       Sight   // whose calls and keys they see
	Management bool
	Role       Role   // of the user
	Limit      *Limit // nil: only the wallet's balance binds
	Above      []Above
	Child      Child  // of the key
	Rates      *Rates // nil: the operator's
	Strict     bool   // X-Response-Schema: strict is this key's default
	Agent      bool   // the key is the access token of a program that a person has signed in

	// Addresses are those from which the key works; none: all.
	Addresses []netip.Prefix

	Defaults *Defaults // nil: neither account nor key has provider preferences or restricts models
}

// Above is a key from which another one comes, directly or through others. What that one spends counts here as well.
type Above struct {
	Key   string // "key_..."
	Limit *Limit // nil: it only counts
}

// Limits are those of the key and of those above it, and then others of a call. They are not to be changed.
func (c *Caller) Limits(others []ledger.Limit) []ledger.Limit {
	if c.Limit == nil && len(c.Above) == 0 {
		return others
	}
	list := make([]ledger.Limit, 0, 1+len(c.Above)+len(others))
	if c.Limit != nil {
		list = append(list, ledger.Limit{ID: c.Key, Amount: c.Limit.Amount, Reset: ledger.Reset(c.Limit.Reset)})
	}
	for i := range c.Above {
		l := ledger.Limit{ID: c.Above[i].Key, Open: true}
		if own := c.Above[i].Limit; own != nil {
			l.Open, l.Amount, l.Reset = false, own.Amount, ledger.Reset(own.Reset)
		}
		list = append(list, l)
	}
	return append(list, others...)
}

// From reports whether the key works from an address.
func (c *Caller) From(a netip.Addr) bool {
	if len(c.Addresses) == 0 {
		return true
	}
	a = a.Unmap()
	return slices.ContainsFunc(c.Addresses, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Defaults are the provider preferences of a caller's requests that do not set them.
type Defaults struct {
	Account, Key string              // JSON objects as they were given, "" for none
	Models       []string            // that the key may call; none: all
	Above        [][]string          // those of the keys that it comes from, where they name any
	Preferences  routing.Preferences // the key's under the account's, with the models that the key may call
}

// ReadDefaults parses the texts of d with read; nil when there are none, and d names no models.
func ReadDefaults(d Defaults, read func(text string) (routing.Preferences, error)) (*Defaults, error) {
	if d.Account == "" && d.Key == "" && len(d.Models) == 0 && len(d.Above) == 0 {
		return nil, nil
	}
	for _, text := range []string{d.Account, d.Key} {
		if text == "" {
			continue
		}
		p, err := read(text)
		if err != nil {
			return nil, err
		}
		d.Preferences = routing.Merge(d.Preferences, p)
	}
	if len(d.Models) > 0 {
		d.Preferences.Models = append(slices.Clip(d.Preferences.Models), d.Models)
	}
	d.Preferences.Models = append(slices.Clip(d.Preferences.Models), d.Above...)
	return &d, nil
}
