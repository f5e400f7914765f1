package accountapi

import (
	"cmp"
	"context"
	"slices"
	"time"

	"weir/internal/apikey"
	"weir/internal/catalog/listing"
	"weir/internal/money"
	"weir/internal/notify"
	"weir/internal/operation"
	"weir/internal/report"
	"weir/internal/routing"
)

// Health reports the present health of an endpoint. *health.Registry is one.
type Health interface {
	Of(endpoint string) routing.Health
}

// Overview is an account at a glance.
type Overview struct {
	AsOf       time.Time       `json:"as_of"`
	Available  money.Nano      `json:"available"` // balance without what is on hold
	Balance    money.Nano      `json:"balance"`
	Held       OverviewHeld    `json:"held"`
	SpentToday money.Nano      `json:"spent_today"`
	SpentMonth money.Nano      `json:"spent_month"`   // since the first of this month
	Spent30    money.Nano      `json:"spent_30_days"` // the sum of days
	Runway     *int            `json:"runway_days"`   // how long available lasts at the average of the last seven whole days; null without spending
	Days       []OverviewDay   `json:"days"`          // the last 30 days, today last
	Top        []OverviewModel `json:"top"`           // what cost most in these days
	Calls      []CallRow       `json:"calls" maxItems:"5"`
	Notices    []LinkedNotice  `json:"notices"`
	Steps      FirstSteps      `json:"steps"`
}

// OverviewHeld is money on hold.
type OverviewHeld struct {
	Amount money.Nano `json:"amount"`
	Count  *int       `json:"count"` // running calls and jobs; null while other nodes have some
}

// OverviewDay is what a day has cost.
type OverviewDay struct {
	Date     string         `json:"date" format:"date"`
	Cost     money.Nano     `json:"cost"`
	Calls    int64          `json:"calls"`
	Complete bool           `json:"complete"` // false for today
	Parts    []OverviewPart `json:"parts"`    // costs of the three models that cost most in all days, and of the rest
}

// OverviewPart is what a model has cost on a day.
type OverviewPart struct {
	Model *string    `json:"model"` // null: the rest, and calls that no model served
	Cost  money.Nano `json:"cost"`
}

// OverviewModel is what a model has cost.
type OverviewModel struct {
	OverviewPart
	Calls int64 `json:"calls"`
}

// FirstSteps is which of the first steps of a new account are done.
type FirstSteps struct {
	Key   bool `json:"key"`
	Call  bool `json:"call"`
	TopUp bool `json:"top_up"`
}

const mostNotices = 20

func overview(d Deps) []operation.Operation {
	return []operation.Operation{operation.Of(operation.Operation{
		Method: "GET", Path: "/api/overview", ID: "getOverview", Org: operation.Anyone, Access: operation.Management, Tag: "pages", Answer: "One moment of the account",
		Summary: "The account at a glance: money, spending by day, the last calls, and what needs attention",
	}, func(ctx context.Context, c *operation.Call, _ *operation.None) (operation.Data[Overview], error) {
		return getOverview(ctx, d, c)
	})}
}

func getOverview(ctx context.Context, d Deps, c *operation.Call) (out operation.Data[Overview], err error) {
	v, err := d.Reports.Overview(ctx, c.Wallet, seenBy(c.User, c.Sees), c.At)
	if err != nil {
		return out, err
	}
	keys, err := listKeys(ctx, d.Keys, c.User, c.Sees)
	if err != nil {
		return out, err
	}
	spends, err := d.Reports.KeySpends(ctx, c.User, c.Wallet)
	if err != nil {
		return out, err
	}
	out.Data = Overview{
		AsOf: c.At, Available: v.Balance.Balance - v.Held, Balance: v.Balance.Balance, Held: OverviewHeld{Amount: v.Held, Count: known(v.Running)}, SpentToday: v.Today, SpentMonth: v.Month,
		Spent30: v.Total, Runway: known(v.Runway), Days: daysOf(v.Days), Top: make([]OverviewModel, len(v.Top)), Calls: CallRows(namesOf(keys).of, v.Calls),
		Steps: FirstSteps{Call: len(v.Calls) > 0, TopUp: v.Topped},
	}
	for i := range v.Top {
		out.Data.Top[i] = OverviewModel{OverviewPart: partOf(&v.Top[i]), Calls: v.Top[i].Calls}
	}
	web := webKeyOf(c)
	out.Data.Steps.Key = slices.ContainsFunc(keys, func(k apikey.Key) bool {
		return k.DeletedAt.IsZero() && !k.Management && (web == nil || k.Hash != *web)
	})
	out.Data.Notices, err = noticesOf(ctx, d, c, v, keys, spends)
	return out, err
}

// partOf is a share: without a model for the rest, and for calls that no model served.
func partOf(s *report.Share) OverviewPart {
	p := OverviewPart{Cost: s.Cost}
	if !s.Rest {
		p.Model = OrNull(s.Model)
	}
	return p
}

func daysOf(days []report.DayShares) []OverviewDay {
	all := make([]OverviewDay, len(days))
	for i := range days {
		day := &days[i]
		all[i] = OverviewDay{Date: day.Day.Format(time.DateOnly), Cost: day.Cost, Calls: day.Calls, Complete: i < len(days)-1, Parts: make([]OverviewPart, len(day.Shares))} // the last one is today
		for j := range day.Shares {
			all[i].Parts[j] = partOf(&day.Shares[j])
		}
	}
	return all
}

// noticesOf is what needs attention: the facts that notifications report, too, and models in trouble.
func noticesOf(ctx context.Context, d Deps, c *operation.Call, v *report.Overview, keys []apikey.Key, spends map[string]report.KeySpend) ([]LinkedNotice, error) {
	seen := notify.Seen{Now: c.At, Overview: v, Spends: spends, Catalog: d.Catalog()}
	for i := range keys {
		if keys[i].DeletedAt.IsZero() && !keys[i].Disabled {
			seen.Keys = append(seen.Keys, &keys[i])
		}
	}
	names := namesOf(keys)
	watched := notify.Watched{Wallet: c.Wallet, Filter: seenBy(c.User, c.Sees), Key: func(_ context.Context, id string) (hash, name string, err error) {
		if k := names[id]; k != nil {
			return k.Hash, cmp.Or(k.Name, k.Label), nil
		}
		return "", id, nil
	}}
	if d.Notifications != nil {
		var err error
		if seen.Threshold, watched.Tags, err = d.Notifications.Chosen(ctx, c.User); err != nil {
			return nil, err
		}
	}
	if err := seen.FindUnusual(ctx, d.Reports, &watched); err != nil {
		return nil, err
	}
	who := notify.Viewer{Role: c.OrgRole}
	facts := slices.DeleteFunc(notify.States(&seen), func(f notify.Fact) bool { return !notify.Hears(who.Role, f.Kind.Cause()) })
	facts = append(facts, d.troubles(v.Models)...)
	facts = facts[:min(len(facts), mostNotices)]
	all := make([]LinkedNotice, len(facts))
	for i := range facts {
		all[i] = linked(&facts[i], &who)
	}
	return all, nil
}

// What the overview says of models that the account has used lately, and no mail does: it passes by itself.
const (
	modelDown    notify.Kind = "model_down"    // no endpoint of it takes calls
	modelTrouble notify.Kind = "model_trouble" // some do not
)

// troubles lists the models with endpoints that take no calls at present, first those without any other.
func (d *Deps) troubles(models []string) (down []notify.Fact) {
	var some []notify.Fact
	s := d.Catalog()
	for _, slug := range models {
		m, variant, ok := s.Resolve(slug)
		if !ok {
			continue
		}
		all, alive := 0, 0
		for _, p := range listing.Providers(m, variant) {
			for _, e := range p.Endpoints {
				all++
				if d.Health == nil || !d.Health.Of(e.ID).Ejected {
					alive++
				}
			}
		}
		switch f := (notify.Fact{Kind: modelDown, Ref: slug, Name: m.Name}); {
		case alive == all:
		case alive == 0:
			down = append(down, f)
		default:
			f.Kind = modelTrouble
			some = append(some, f)
		}
	}
	return append(down, some...)
}
