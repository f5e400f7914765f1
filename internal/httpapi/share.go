package httpapi

import (
	"weir/internal/limit/quota"
	"weir/internal/loop"
)

// ShareLimits makes the limits of keys, and of users at free models, those of all nodes together, which exchange what they let in. It must be called before the server serves.
func (a *API) ShareLimits(with quota.Exchange) *loop.Loop {
	return a.quotas.Share(with, a.Now, a.Slog)
}

// Sharing is how many nodes share limits, as far as this one knows: 0 before the first exchange.
func (a *API) Sharing() int64 { return a.quotas.Nodes() }
