package routing

import (
	"math/big"
	"slices"
)

// Merge combines a request's preferences with those of its account, or of its key. Protections of the account only grow: an endpoint must
// be in the only lists of both, an ignore list of either is enough, zdr, data_collection and require_parameters apply if either demands
// them, and of two price limits the lower one applies. Preferences that merely choose (order, sort, allow_fallbacks, quantizations and
// each of the preferred figures) are the request's where it sets them, else the account's. Neither argument is changed.
func Merge(account, request Preferences) Preferences {
	m := request
	if len(account.Within) > 0 {
		m.Within = slices.Concat(account.Within, request.Within)
	}
	if len(account.Models) > 0 {
		m.Models = slices.Concat(account.Models, request.Models)
	}
	switch {
	case len(account.Only) == 0:
	case len(m.Only) == 0:
		m.Only = account.Only
	default:
		m.Within = append(slices.Clip(m.Within), account.Only)
	}
	if len(account.Ignore) > 0 {
		m.Ignore = slices.Concat(account.Ignore, request.Ignore)
	}
	m.ZDR = m.ZDR || account.ZDR
	m.DenyCollection = m.DenyCollection || account.DenyCollection
	m.RequireParameters = m.RequireParameters || account.RequireParameters
	m.MaxPrice = account.MaxPrice.lower(request.MaxPrice)

	if len(m.Order) == 0 && m.Sort == "" { // either of them replaces load balancing: an account's order must not undo a request's sort
		m.Order, m.Sort, m.SortAcrossModels = account.Order, account.Sort, account.SortAcrossModels
	}
	if !m.NoFallbacks && !m.AllowFallbacks {
		m.NoFallbacks, m.AllowFallbacks = account.NoFallbacks, account.AllowFallbacks
	}
	if m.Batch == "" {
		m.Batch = account.Batch
	}
	if len(m.Quantizations) == 0 {
		m.Quantizations = account.Quantizations
	}
	if m.MinThroughput == (Cutoffs{}) {
		m.MinThroughput = account.MinThroughput
	}
	if m.MaxLatency == (Cutoffs{}) {
		m.MaxLatency = account.MaxLatency
	}
	return m
}

// lower takes the lower of each pair of price limits; either may be nil.
func (m *MaxPrice) lower(other *MaxPrice) *MaxPrice {
	if m == nil || other == nil {
		if m == nil {
			return other
		}
		return m
	}
	least := func(a, b *big.Rat) *big.Rat {
		if a == nil || b != nil && b.Cmp(a) < 0 {
			return b
		}
		return a
	}
	return &MaxPrice{
		Prompt: least(m.Prompt, other.Prompt), Completion: least(m.Completion, other.Completion),
		Request: least(m.Request, other.Request), Image: least(m.Image, other.Image), Audio: least(m.Audio, other.Audio),
	}
}
