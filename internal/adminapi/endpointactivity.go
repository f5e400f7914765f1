package adminapi

import (
	"cmp"
	"context"
	"math"
	"time"

	"weir/internal/accountapi"
	"weir/internal/fault"
	"weir/internal/health"
	"weir/internal/operation"
)

// Bin is how many calls had a value above from and up to to.
type Bin struct {
	From  float64  `json:"from"`
	To    *float64 `json:"to"` // null: no end
	Calls int64    `json:"calls"`
}

// Distribution is what calls took, or how fast they were: each bin is a quarter wider than the one before, and empty ones at both ends are left out.
type Distribution struct {
	Median *float64 `json:"p50"` // null when nothing was measured
	Slow   *float64 `json:"p95"` // what 19 of 20 calls reached or did better than
	Calls  int64    `json:"calls"`
	Bins   []Bin    `json:"bins"`
}

// thousandths rounds to three digits after the point.
func thousandths(f float64) float64 { return math.Round(f*1000) / 1000 }

// distribution is that of values that are times as large in the unit that is shown.
func distribution(median, slow, times float64, bins []health.Bin) Distribution {
	d := Distribution{Bins: make([]Bin, len(bins))}
	for i, b := range bins {
		d.Bins[i] = Bin{From: thousandths(b.From * times), Calls: b.N}
		if !math.IsInf(b.To, 1) {
			to := thousandths(b.To * times)
			d.Bins[i].To = &to
		}
		d.Calls += b.N
	}
	if d.Calls > 0 {
		median, slow = thousandths(median*times), thousandths(slow*times)
		d.Median, d.Slow = &median, &slow
	}
	return d
}

// EndpointMove is calls that an endpoint could have served and that ended at another.
type EndpointMove struct {
	Endpoint *string   `json:"endpoint"` // null: none answered
	Failed   int64     `json:"failed"`   // calls that it was tried for first
	Passed   int64     `json:"passed"`   // calls that it was not tried for: it was ejected, out of service, or had as many attempts as it may have
	LastAt   time.Time `json:"last_at"`
	Call     string    `json:"call"` // id of the last call
}

// EndpointActivity is what an endpoint did, of all nodes.
type EndpointActivity struct {
	From       time.Time      `json:"from"`     // a full hour
	Attempts   int64          `json:"attempts"` // that said something of it
	Served     int64          `json:"served"`
	Failed     int64          `json:"failed"`
	Limited    int64          `json:"limited"`           // that its rate limit refused
	FirstToken Distribution   `json:"first_token_ms"`    // milliseconds until the first content
	Speed      Distribution   `json:"tokens_per_second"` // of the answer
	Causes     []FailureCause `json:"causes"`            // those with most errors first
	More       bool           `json:"more"`              // there are further ones
	Moves      []EndpointMove `json:"moves"`             // those with most calls first
	MovesSince time.Time      `json:"moves_since"`       // from, or later: of a busy gateway, only the newest 3,000 calls are looked at
}

type activityInput struct {
	ID    string `json:"-" path:"id"`
	Hours int    `json:"-" query:"hours" most:"168"` // how far back, with the present hour; 24 without it
}

func endpointActivity(d Deps) []operation.Operation {
	return []operation.Operation{operation.Of(operation.Operation{
		Method: "GET", Path: "/api/admin/endpoints/{id}/activity", ID: "getEndpointActivity", Access: operation.Operating, Tag: "administration",
		Summary: "Show how fast an endpoint was, why it failed, and where its calls went instead", Answer: "What it did in the period, of all nodes",
		Description: "Attempts with people's own keys are no part of the figures and of the moves.",
	}, func(ctx context.Context, c *operation.Call, in *activityInput) (out operation.Data[EndpointActivity], err error) {
		b, err := d.Editor.Built(ctx)
		if err != nil {
			return out, err
		}
		if b.Endpoint(in.ID) == nil {
			return out, fault.New(fault.NotFound, "adminapi.activity", "There is no such endpoint.")
		}
		hours := cmp.Or(in.Hours, 24)
		seen, from, err := d.Console.Performance(ctx, in.ID, hours)
		if err != nil {
			return out, err
		}
		out.Data = EndpointActivity{
			From: from, Attempts: seen.Served + seen.Failed + seen.Limited, Served: seen.Served, Failed: seen.Failed, Limited: seen.Limited,
			FirstToken: distribution(seen.FirstContent().Seconds(), seen.SlowFirstContent().Seconds(), 1000, seen.FirstContents()),
			Speed:      distribution(seen.Throughput(), seen.SlowThroughput(), 1, seen.Throughputs()),
		}
		return out, d.wentWrong(ctx, c.At, &out.Data, in)
	})}
}

// wentWrong adds why an endpoint failed, and where its calls went.
func (d *Deps) wentWrong(ctx context.Context, now time.Time, a *EndpointActivity, in *activityInput) error {
	_, to := (&Recently{in.Hours}).since(now)
	causes, err := d.Of.Reports.CausesAt(ctx, in.ID, a.From, to, mostCauses+1)
	if err != nil {
		return err
	}
	a.More = len(causes) > mostCauses
	a.Causes = make([]FailureCause, min(len(causes), mostCauses))
	snap := d.Of.Catalog()
	for i := range a.Causes {
		a.Causes[i] = causeOf(&causes[i], snap)
	}
	moves, since, err := d.Of.Reports.Moves(ctx, in.ID, a.From, to)
	a.MovesSince = since
	a.Moves = make([]EndpointMove, len(moves))
	for i := range moves {
		m := &moves[i]
		a.Moves[i] = EndpointMove{Endpoint: accountapi.OrNull(m.To), Failed: m.Failed, Passed: m.Passed, LastAt: m.Last, Call: m.Call}
	}
	return err
}
