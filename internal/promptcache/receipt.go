package promptcache

import (
	"time"

	"weir/internal/catalog"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/usage"
)

// leastLost is the part of a prompt below which nothing is called lost: providers cache in blocks, and end before the last of them.
const leastLost = 8

// Lost says what a call lost of its conversation. prices are those of the endpoint that served it, at which reading would have been cheaper.
func (v *View) Lost(endpoint string, u *usage.Usage, prices *catalog.Prices) record.Lost {
	before := min(v.Before, u.Prompt.N)
	read := max(u.CacheRead.N, 0)
	lost := before - read
	if before < LeastTokens || u.Source&usage.Estimated != 0 || lost < LeastTokens/2 || lost < before/leastLost {
		return record.Lost{}
	}
	l := record.Lost{Tokens: lost, Cost: price(lost, prices)}
	common := min(v.Common, before)
	warm, age := v.At(endpoint)
	switch {
	case v.Changed != Unchanged && before-common >= common-read:
		l.Why, l.Message = record.LostPrefix, int64(v.Changed)
	case warm < common/2:
		l.Why, l.From = record.LostEndpoint, v.Last
	case age > v.kept():
		l.Why = record.LostExpired
	default:
		l.Why = record.LostNotKept
	}
	return l
}

// kept is for how long providers keep a prompt at the least, by their documents.
func (v *View) kept() time.Duration {
	if v.Prints.kind == MarkedHour {
		return time.Hour
	}
	return 5 * time.Minute
}

// price is what so many tokens cost more as a prompt than as read from the cache.
func price(tokens int64, p *catalog.Prices) money.Nano {
	if !p.CacheRead.Set || p.CacheRead.Nano >= p.Prompt.Nano {
		return 0
	}
	var s money.Sum
	s.PerThousand(tokens, p.Prompt.Nano-p.CacheRead.Nano)
	n, err := s.Ceil()
	if err != nil {
		return 0
	}
	return n
}

// Worth reports whether reading a cache costs less than the prompt at one of the endpoints.
func Worth(endpoints []*catalog.Endpoint) bool {
	for _, ep := range endpoints {
		if p := &ep.Pricing.Base; p.CacheRead.Set && p.CacheRead.Nano < p.Prompt.Nano {
			return true
		}
	}
	return false
}
