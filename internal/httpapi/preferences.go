package httpapi

import (
	"math/big"

	"weir/internal/apikey"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/routing"
	"weir/internal/wire"
	"weir/internal/wire/chat"
)

// postPreferencesExplain serves POST /api/account/preferences/explain: where a chat request would go if the account had the preferences of the
// body. What is saved for the account and the key is left aside; nothing is called, held, charged or kept.
func (x *request) postPreferencesExplain() error {
	const op = "httpapi.postPreferencesExplain"
	body, err := x.readBody()
	if err != nil {
		return err
	}
	if err := rawjson.Check(body, rawjson.Defaults); err != nil {
		return err
	}
	if rawjson.KindOf(body) != rawjson.Object {
		return fault.New(fault.Invalid, op, "The body must be a JSON object.")
	}
	var provider, request []byte
	for m := rawjson.MembersOf(body); m.Next(); {
		switch string(m.Name) {
		case "provider":
			provider = m.Value
		case "request":
			request = m.Value
		default:
			return fault.Field(op, clip(string(m.Name)), "This route has no field of this name.").Coded("unknown_field")
		}
	}
	switch {
	case provider == nil:
		return fault.Field(op, "provider", "provider is missing; null explains the route without preferences.").Coded("provider_preferences_missing")
	case rawjson.KindOf(request) != rawjson.Object:
		return fault.Field(op, "request", "request must be a chat request, such as {\"model\":\"vendor/model\",\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}.").Coded("chat_request")
	}
	text, err := wire.PreferencesText(provider)
	if err != nil {
		return err
	}
	caller := *x.caller
	caller.Defaults, err = apikey.ReadDefaults(apikey.Defaults{Account: text}, func(s string) (routing.Preferences, error) { return wire.DefaultPreferences([]byte(s)) })
	if err != nil {
		return err
	}
	req, err := chat.Decode(request)
	if err != nil {
		return err
	}
	req.Account, req.Memory = x.caller.Wallet, &x.memory
	x.asked = req.Models[0]
	call := x.newCall(req, "completions", nil)
	call.Caller = &caller
	e, err := x.api.Explainer.Explain(x.context(), call)
	if err != nil {
		return err
	}
	return x.reply(&object{rawjson.Writer{B: AppendExplanation(make([]byte, 0, 512+1024*len(e.Candidates)), req, e)}})
}

// usePlugins has a request use the plugins of the caller's account.
func (x *request) usePlugins(req *completion.Request) {
	if d := x.caller.Defaults; d != nil && d.Account != "" {
		if list := rawjson.Find([]byte(d.Account), "plugins"); list != nil {
			wire.UsePlugins(req, list)
		}
	}
}

// appendPreferences writes preferences as a request would say them, those of account, key and request together.
func appendPreferences(o *object, p *routing.Preferences) {
	o.Object()
	list := func(name string, values []string) {
		if len(values) > 0 {
			o.texts(name, values)
		}
	}
	said := func(name string, yes bool) {
		if yes {
			o.boolean(name, true)
		}
	}
	list("order", p.Order)
	list("only", p.Only)
	if len(p.Within) > 0 {
		o.Name("and_only").Array()
		for _, entries := range p.Within {
			o.Array()
			for _, e := range entries {
				o.Text(e)
			}
			o.EndArray()
		}
		o.EndArray()
	}
	list("ignore", p.Ignore)
	if p.NoFallbacks {
		o.boolean("allow_fallbacks", false)
	}
	said("require_parameters", p.RequireParameters)
	if p.DenyCollection {
		o.text("data_collection", "deny")
	}
	said("zdr", p.ZDR)
	list("quantizations", p.Quantizations)
	appendSort(o, p)
	appendCeilings(o, p.MaxPrice)
	appendCutoffs(o, "preferred_min_throughput", p.MinThroughput)
	appendCutoffs(o, "preferred_max_latency", p.MaxLatency)
	if p.Batch != "" {
		o.text("batch", p.Batch)
	}
	o.EndObject()
}

func appendSort(o *object, p *routing.Preferences) {
	switch {
	case p.Sort == "":
	case p.SortAcrossModels:
		o.Name("sort").Object()
		o.text("by", p.Sort)
		o.text("partition", "none")
		o.EndObject()
	default:
		o.text("sort", p.Sort)
	}
}

// appendCeilings writes the ceilings of a price in rubles, exact.
func appendCeilings(o *object, m *routing.MaxPrice) {
	if m == nil {
		return
	}
	o.Name("max_price").Object()
	for _, c := range []struct {
		name  string
		price *big.Rat
	}{{"prompt", m.Prompt}, {"completion", m.Completion}, {"request", m.Request}, {"image", m.Image}, {"audio", m.Audio}} {
		if c.price != nil {
			digits, _ := c.price.FloatPrec() // they were written as decimals, so they end
			o.text(c.name, c.price.FloatString(digits))
		}
	}
	o.EndObject()
}

func appendCutoffs(o *object, name string, c routing.Cutoffs) {
	if c == (routing.Cutoffs{}) {
		return
	}
	o.Name(name).Object()
	for _, p := range []struct {
		name  string
		value float64
	}{{"p50", c.P50}, {"p75", c.P75}, {"p90", c.P90}, {"p99", c.P99}} {
		if p.value > 0 {
			o.figure(p.name, p.value)
		}
	}
	o.EndObject()
}
