package httpapi

import (
	"time"

	"weir/internal/apikey"
	"weir/internal/catalog/listing"
	"weir/internal/notify"
	"weir/internal/report"
	"weir/internal/routing"
)

// getOverview serves GET /api/overview: all that the first page of an account shows.
func (x *request) getOverview() error {
	v, err := x.api.Reports.Overview(x.context(), x.caller.Wallet, x.at)
	if err != nil {
		return err
	}
	names := &keyNames{x: x}
	if err := names.read(); err != nil {
		return err
	}
	spends, err := x.api.Reports.KeySpends(x.context(), x.caller.User, x.caller.Wallet)
	if err != nil {
		return err
	}
	o := newObject(8192)
	o.Object()
	o.Name("data").Object()
	o.moment("as_of", x.at)
	o.amountText("available", v.Balance.Balance-v.Held)
	o.amountText("balance", v.Balance.Balance)
	o.Name("held").Object()
	o.amountText("amount", v.Held)
	countOrNull(&o, "count", v.Running)
	o.EndObject()
	o.amountText("spent_today", v.Today)
	o.amountText("spent_month", v.Month)
	o.amountText("spent_30_days", v.Total)
	countOrNull(&o, "runway_days", v.Runway)
	appendDays(&o, v.Days)
	o.Name("top").Array()
	for i := range v.Top {
		s := &v.Top[i]
		o.Object()
		appendShareName(&o, s)
		o.amountText("cost", s.Cost)
		o.integer("calls", s.Calls)
		o.EndObject()
	}
	o.EndArray()
	o.Name("calls").Array()
	for i := range v.Calls {
		appendCallRow(&o, &v.Calls[i], names)
	}
	o.EndArray()
	o.Name("notices").Array()
	if err := x.appendNotices(&o, v, names, spends); err != nil {
		return err
	}
	o.EndArray()
	own := false
	for _, k := range names.keys {
		own = own || k.DeletedAt.IsZero() && !k.Management && (x.person == nil || k.Hash != x.person.WebKey)
	}
	o.Name("steps").Object()
	o.boolean("key", own)
	o.boolean("call", len(v.Calls) > 0)
	o.boolean("top_up", v.Topped)
	o.EndObject()
	o.EndObject()
	o.EndObject()
	return x.reply(&o)
}

// countOrNull writes null for a number that is not known, which is -1.
func countOrNull(o *object, name string, n int) {
	if n < 0 {
		o.null(name)
		return
	}
	o.integer(name, int64(n))
}

// appendShareName writes whose share it is: null for the rest, and for calls that no model served.
func appendShareName(o *object, s *report.Share) {
	if s.Rest {
		o.null("model")
	} else {
		o.textOrNull("model", s.Model)
	}
}

func appendDays(o *object, days []report.DayShares) {
	o.Name("days").Array()
	for i := range days {
		d := &days[i]
		o.Object()
		o.text("date", d.Day.Format(time.DateOnly))
		o.amountText("cost", d.Cost)
		o.integer("calls", d.Calls)
		o.boolean("complete", i < len(days)-1) // the last one is today
		o.Name("parts").Array()
		for j := range d.Shares {
			o.Object()
			appendShareName(o, &d.Shares[j])
			o.amountText("cost", d.Shares[j].Cost)
			o.EndObject()
		}
		o.EndArray()
		o.EndObject()
	}
	o.EndArray()
}

const mostNotices = 20

// appendNotices writes what needs attention: the facts that notifications tell of, too.
func (x *request) appendNotices(o *object, v *report.Overview, names *keyNames, spends map[string]report.KeySpend) error {
	seen := notify.Seen{Now: x.at, Overview: v, Keys: names.inOrder(), Spends: spends, Catalog: x.api.Catalog()}
	if x.api.Notifications != nil {
		var err error
		if seen.Threshold, err = x.api.Notifications.Threshold(x.context(), x.caller.User); err != nil {
			return err
		}
	}
	facts := notify.States(&seen)
	for i := range facts[:min(len(facts), mostNotices)] {
		o.Object()
		appendFact(o, &facts[i])
		o.EndObject()
	}
	troubles := x.api.troubles(v.Models)
	for i := range troubles[:max(0, min(len(troubles), mostNotices-len(facts)))] {
		o.Object()
		appendFact(o, &troubles[i])
		o.EndObject()
	}
	return nil
}

// What the overview says of models that the account has used lately, and no mail does: it passes by itself.
const (
	modelDown    notify.Kind = "model_down"    // no endpoint of it takes calls
	modelTrouble notify.Kind = "model_trouble" // some do not
)

// Health reports the present health of an endpoint. *health.Registry is one.
type Health interface {
	Of(endpoint string) routing.Health
}

// troubles lists the models with endpoints that take no calls at present, first those without any other.
func (a *API) troubles(models []string) (down []notify.Fact) {
	var some []notify.Fact
	s := a.Catalog()
	for _, slug := range models {
		m, variant, ok := s.Resolve(slug)
		if !ok {
			continue
		}
		all, alive := 0, 0
		for _, p := range listing.Providers(m, variant) {
			for _, e := range p.Endpoints {
				all++
				if a.Health == nil || !a.Health.Of(e.ID).Ejected {
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

// inOrder lists the keys that are in use, the newest first.
func (n *keyNames) inOrder() (list []*apikey.Key) {
	for _, k := range n.list {
		if k.DeletedAt.IsZero() && !k.Disabled {
			list = append(list, k)
		}
	}
	return list
}
