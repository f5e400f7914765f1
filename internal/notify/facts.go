package notify

import (
	"time"

	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/report"
)

// When a state becomes a fact.
const (
	nearLimit    = 80 // percent
	expiresSoon  = 7 * 24 * time.Hour
	expiredSince = 7 * 24 * time.Hour // how long a key that has expired is worth a word
	retiresSoon  = 30 * 24 * time.Hour
	runwaySoon   = 3 // days
)

// Seen is what is known of an account when its facts are looked for.
type Seen struct {
	Now       time.Time
	Overview  *report.Overview // its Spending
	Threshold money.Nano       // of a low balance, as the person chose; 0: only the days that it lasts count
	Keys      []*apikey.Key    // in use
	Spends    map[string]report.KeySpend
	Catalog   *catalog.Snapshot
	Unusual   []Fact // of today, as FindUnusual has found them
}

// States lists the facts that hold for an account: money first, then keys, then models.
func States(s *Seen) (all []Fact) {
	v := s.Overview
	available := v.Balance.Balance - v.Held
	switch {
	case available <= 0 && (v.Topped || len(v.Top) > 0):
		all = append(all, Fact{Kind: MoneyGone, Amount: available, Days: v.Runway})
	case v.Runway >= 0 && v.Runway <= runwaySoon, s.Threshold > 0 && available < s.Threshold && (v.Topped || len(v.Top) > 0):
		all = append(all, Fact{Kind: MoneyLow, Amount: available, Days: v.Runway})
	}
	all = append(all, s.Unusual...)
	if percent, fell := CacheFell(v.Days); fell {
		day := v.Days[len(v.Days)-1].Day
		all = append(all, Fact{Kind: CacheRateFell, At: day, Percent: percent, Episode: day.Format(time.DateOnly)})
	}
	today := s.today()
	for _, k := range s.Keys {
		spend := s.Spends[k.ID]
		all = append(all, keyFacts(k, &spend.KeySpend, s.Now, today)...)
	}
	for _, slug := range v.Models {
		if f, ok := modelFact(slug, s.Catalog, s.Now); ok {
			all = append(all, f)
		}
	}
	return all
}

// today is the day where the account is.
func (s *Seen) today() time.Time {
	if n := len(s.Overview.Days); n > 0 {
		return s.Overview.Days[n-1].Day
	}
	return report.Day.Floor(s.Now)
}

func keyFacts(k *apikey.Key, s *ledger.KeySpend, now, today time.Time) (all []Fact) {
	if left := k.ExpiresAt.Sub(now); !k.ExpiresAt.IsZero() && left < expiresSoon {
		kind := KeyExpiring
		if left <= 0 {
			kind = KeyExpired
		}
		if left > -expiredSince {
			all = append(all, Fact{Kind: kind, Ref: k.Hash, Name: k.Name, At: k.ExpiresAt, Episode: k.ExpiresAt.UTC().Format(time.RFC3339)})
		}
		if left <= 0 {
			return all
		}
	}
	if k.Limit == nil || k.Limit.Amount <= 0 {
		return all
	}
	spent := s.Counted(ledger.Reset(k.Limit.Reset))
	percent := int64(spent / max(1, k.Limit.Amount/100)) // without a product that might overflow
	if percent < nearLimit {
		return all
	}
	kind := KeyNear
	if spent >= k.Limit.Amount {
		kind = KeyReached
	}
	return append(all, Fact{
		Kind: kind, Ref: k.Hash, Name: k.Name, Amount: k.Limit.Amount, Spent: spent, Percent: percent, Reset: string(k.Limit.Reset), Episode: interval(k.Limit.Reset, today),
	})
}

// interval names the interval of a limit: the day on which it began, "" of one that is never reset.
func interval(r apikey.Reset, day time.Time) string {
	switch r {
	case apikey.Daily:
	case apikey.Weekly:
		day = day.AddDate(0, 0, -(int(day.Weekday())+6)%7) // to Monday
	case apikey.Monthly:
		day = report.Month.Floor(day)
	default:
		return ""
	}
	return day.Format(time.DateOnly)
}

// modelFact reports a model in use that no provider serves any more, or all whose endpoints will retire soon.
func modelFact(slug string, snap *catalog.Snapshot, now time.Time) (Fact, bool) {
	if day, gone := snap.Retired(slug); gone {
		return Fact{Kind: ModelGone, Ref: slug, Name: slug, At: day, Episode: day.Format(time.DateOnly)}, true
	}
	m, _, ok := snap.Resolve(slug)
	if !ok || len(m.Endpoints) == 0 {
		return Fact{}, false
	}
	if last := lastDay(m); !last.IsZero() && last.Sub(now) < retiresSoon {
		return Fact{Kind: ModelRetires, Ref: slug, Name: m.Name, At: last, Episode: last.Format(time.DateOnly)}, true
	}
	return Fact{}, false
}

// lastDay is when the last endpoint of a model retires, zero if one of them does not.
func lastDay(m *catalog.Model) (last time.Time) {
	for _, ep := range m.Endpoints {
		if ep.Retires.IsZero() {
			return time.Time{}
		}
		if ep.Retires.After(last) {
			last = ep.Retires
		}
	}
	return last
}
