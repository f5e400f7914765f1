package httpapi

import (
	"time"

	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/ledger"
	"weir/internal/report"
)

// getOverview serves GET /api/overview: all that the first page of an account shows.
func (x *exchange) getOverview() error {
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
	appendDays(&o, v.Days, report.Day.Floor(x.at))
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
	x.appendNotices(&o, v, names, spends)
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

func appendDays(o *object, days []report.DayShares, today time.Time) {
	o.Name("days").Array()
	for i := range days {
		d := &days[i]
		o.Object()
		o.text("date", d.Day.Format(time.DateOnly))
		o.amountText("cost", d.Cost)
		o.integer("calls", d.Calls)
		o.boolean("complete", d.Day.Before(today))
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

const (
	nearLimit    = 80 // percent
	expiresSoon  = 7 * 24 * time.Hour
	retiresSoon  = 30 * 24 * time.Hour
	runwaySoon   = 3 // days
	mostNotices  = 20
	expiredSince = 7 * 24 * time.Hour // how long a key that has expired is worth a notice
)

// appendNotices writes what needs attention: money first, then keys, then models.
func (x *exchange) appendNotices(o *object, v *report.Overview, names *keyNames, spends map[string]report.KeySpend) {
	n := 0
	notice := func(kind, ref, name string, detail func()) {
		if n++; n > mostNotices {
			return
		}
		o.Object()
		o.text("kind", kind)
		o.textOrNull("ref", ref)
		o.textOrNull("name", name)
		o.Name("detail").Object()
		detail()
		o.EndObject()
		o.EndObject()
	}
	available := v.Balance.Balance - v.Held
	switch {
	case available <= 0 && (v.Topped || len(v.Calls) > 0):
		notice("money_gone", "", "", func() { o.amountText("available", available) })
	case v.Runway >= 0 && v.Runway <= runwaySoon:
		notice("money_low", "", "", func() { o.amountText("available", available); o.integer("days", int64(v.Runway)) })
	}
	for _, k := range names.inOrder() {
		s := spends[k.ID]
		x.keyNotices(k, &s.KeySpend, o, notice)
	}
	for _, slug := range v.Models {
		x.modelNotice(slug, o, notice)
	}
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

func (x *exchange) keyNotices(k *apikey.Key, s *ledger.KeySpend, o *object, notice func(kind, ref, name string, detail func())) {
	if left := k.ExpiresAt.Sub(x.at); !k.ExpiresAt.IsZero() && left < expiresSoon {
		kind := "key_expiring"
		if left <= 0 {
			kind = "key_expired"
		}
		if left > -expiredSince {
			notice(kind, k.Hash, k.Name, func() { o.moment("at", k.ExpiresAt) })
		}
		if left <= 0 {
			return
		}
	}
	if k.Limit == nil || k.Limit.Amount <= 0 {
		return
	}
	spent := inInterval(k.Limit.Reset, *s)
	// without a product that might overflow
	percent := int64(spent / max(1, k.Limit.Amount/100))
	if percent < nearLimit {
		return
	}
	kind := "key_limit"
	if spent >= k.Limit.Amount {
		kind = "key_limit_reached"
	}
	notice(kind, k.Hash, k.Name, func() {
		o.amountText("limit", k.Limit.Amount)
		o.amountText("spent", spent)
		o.integer("percent", percent)
		o.textOrNull("resets", string(k.Limit.Reset))
	})
}

// modelNotice tells of a model in use that nobody serves any more, or all whose endpoints will retire soon.
func (x *exchange) modelNotice(slug string, o *object, notice func(kind, ref, name string, detail func())) {
	snap := x.api.Catalog()
	if day, gone := snap.Retired(slug); gone {
		notice("model_gone", slug, slug, func() { o.moment("at", day) })
		return
	}
	m, _, ok := snap.Resolve(slug)
	if !ok || len(m.Endpoints) == 0 {
		return
	}
	if last := lastDay(m); !last.IsZero() && last.Sub(x.at) < retiresSoon {
		notice("model_retiring", slug, m.Name, func() { o.moment("at", last) })
	}
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
