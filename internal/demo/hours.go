package demo

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/health"
	"weir/internal/record"
)

// hour is an hour of an endpoint.
type hour struct {
	endpoint string
	at       int64
}

// watched is for how long before its end the month has endpoints by the hour: what pages show of them.
const watched = 48 * time.Hour

// watch counts the attempts of a call, as the registry of a node would have.
func (x *month) watch(c *record.Call) {
	for i := range c.Attempts {
		a := &c.Attempts[i]
		at := c.At.Add(a.Started).Truncate(time.Hour)
		if x.Now.Sub(at) > watched {
			continue
		}
		k := hour{a.Endpoint, at.Unix()}
		h := x.hours[k]
		if h == nil {
			h = &health.Hour{At: at, Endpoint: a.Endpoint}
			x.hours[k] = h
		}
		switch {
		case a.Reason == fault.RateLimited.String():
			h.Limited++
		case a.Reason == fault.ContextLength.String(): // the request was to blame
		case a.Reason != "":
			h.Failed++
		default:
			h.Serve(a.FirstContent-a.Started, c.Usage.Completion.N, a.Ended-a.FirstContent)
		}
	}
}

// remember stores the hours.
func (x *month) remember(ctx context.Context) error {
	all := slices.SortedFunc(maps.Values(x.hours), func(a, b *health.Hour) int {
		if d := a.At.Compare(b.At); d != 0 {
			return d
		}
		return strings.Compare(a.Endpoint, b.Endpoint)
	})
	hours := make([]health.Hour, len(all))
	for i, h := range all {
		hours[i] = *h
	}
	return x.into.Hours.AddHours(ctx, Node, -1, 0, hours)
}
