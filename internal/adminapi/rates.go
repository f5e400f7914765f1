package adminapi

import (
	"context"
	"time"

	"weir/internal/accountapi"
	"weir/internal/fault"
	"weir/internal/operation"
	"weir/internal/rate"
)

// RateInForce is what a dollar costs now.
type RateInForce struct {
	Version string     `json:"version"`                         // name in charges, such as cbr-2026-11-21@81.2345+0.15
	Rate    string     `json:"rate"`                            // rubles per dollar
	Margin  string     `json:"margin"`                          // fraction of the price, 0.15 for 15 %
	VAT     *PricesVAT `json:"vat"`                             // the value-added tax that prices contain, null for none
	Source  string     `json:"source" enum:"static,manual,cbr"` // static is the configuration, cbr the Bank of Russia
	From    *time.Time `json:"from"`
}

func rateInForceOf(e *rate.Effective) RateInForce {
	return RateInForce{Version: e.Version, Rate: e.RubPerUSD, Margin: e.Margin, VAT: vatOf(e.VAT), Source: e.Source, From: accountapi.Moment(e.From)}
}

// PricesVAT is the value-added tax that prices contain.
type PricesVAT struct {
	Mode    string `json:"mode" enum:"included,on_top"` // on_top: rate and margin are without it, and it was added
	Percent string `json:"percent"`                     // 22 for 22 %
}

func vatOf(v rate.VAT) *PricesVAT {
	if v.Mode == "" {
		return nil
	}
	return &PricesVAT{Mode: v.Mode, Percent: v.Percent}
}

// RateDeclared is where the configuration sets rate and margin, so that they cannot be set here.
type RateDeclared struct {
	Rate     *string `json:"rate"`
	Margin   *string `json:"margin"`
	FromBank bool    `json:"from_bank"` // the rate of the Bank of Russia is fetched every day
}

// RateRecord is a rate or a margin that was set or fetched.
type RateRecord struct {
	Version int64     `json:"version"` // of the catalog
	Rate    *string   `json:"rate"`
	Margin  *string   `json:"margin"`
	Source  string    `json:"source" enum:"static,manual,cbr"`
	Day     *string   `json:"day"` // of a published rate
	From    time.Time `json:"from"`
	At      time.Time `json:"at"`
	Actor   string    `json:"actor"`
}

// Rates are what holds, who owns it, and the records, the newest first.
type Rates struct {
	Current  RateInForce  `json:"current"`
	Declared RateDeclared `json:"declared"`
	Data     []RateRecord `json:"data"`
}

type rateInput struct {
	Rate   operation.Decimal `json:"rate,omitempty" null:"none"`
	Margin operation.Decimal `json:"margin,omitempty" null:"none"`
	From   *time.Time        `json:"from,omitempty" null:"none"` // when it takes effect, not in the past; without it, at once
}

// maxRates is how many records a list shows: years of daily ones.
const maxRates = 1000

func (o catalogOperations) rates(ctx context.Context, _ *operation.Call, _ *operation.None) (out Rates, err error) {
	b, err := o.Built(ctx)
	if err != nil {
		return out, err
	}
	records, err := o.Rates(ctx)
	if err != nil {
		return out, err
	}
	declared := o.DeclaredRate()
	if declared.FromBank {
		declared.RateAt = ""
	}
	out = Rates{
		Current: rateInForceOf(&b.Rate), Declared: RateDeclared{Rate: accountapi.OrNull(declared.RateAt), Margin: accountapi.OrNull(declared.MarginAt), FromBank: declared.FromBank},
		Data: []RateRecord{},
	}
	for i := len(records) - 1; i >= max(0, len(records)-maxRates); i-- {
		r := &records[i]
		out.Data = append(out.Data, RateRecord{
			Version: r.Version, Rate: accountapi.OrNull(r.RubPerUSD), Margin: accountapi.OrNull(r.Margin), Source: r.Source, Day: accountapi.OrNull(r.Day), From: r.From, At: r.At, Actor: r.Actor,
		})
	}
	return out, nil
}

func (o catalogOperations) setRate(ctx context.Context, c *operation.Call, in *rateInput) (Rates, error) {
	r := rate.Record{Source: rate.Manual, RubPerUSD: string(in.Rate), Margin: string(in.Margin)}
	if in.From != nil {
		if r.From = *in.From; r.From.Before(c.At) {
			return Rates{}, fault.Field("adminapi.setRate", "from", "from must not be in the past: calls were charged at the rate of that time.").Coded("past")
		}
	}
	if err := o.SetRate(ctx, r, c.Actor); err != nil {
		return Rates{}, err
	}
	return o.rates(ctx, c, nil)
}

func rateRoutes(d Deps) []operation.Operation {
	o := catalogOperations{Editor: d.Editor}
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/rates", ID: "listAdminRates", Access: operation.Operating, Tag: "administration",
			Summary: "List the rates and margins that were set or fetched, newest first", Answer: "The rates",
		}, o.rates),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/rates", ID: "setAdminRate", Access: operation.Administration, Fresh: true, Status: 201, Tag: "administration",
			Summary: "Set the rate, the margin or both", Answer: "The rates", Example: `{"rate": "81.5", "margin": "0.15"}`,
		}, o.setRate),
	}
}
