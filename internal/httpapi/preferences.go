package httpapi

import (
	"bytes"
	"math/big"
	"strings"

	"weir/internal/apikey"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/routing"
	"weir/internal/wire"
	"weir/internal/wire/chat"
)

// getPreferences serves GET /api/account/preferences: what holds for all requests with keys of the caller's user.
func (x *exchange) getPreferences() error {
	u, err := x.api.Accounts.ByID(x.context(), x.caller.User)
	if err != nil {
		return err
	}
	return x.replyPreferences(u.Preferences)
}

// putPreferences serves PUT /api/account/preferences, which replaces them.
func (x *exchange) putPreferences() error {
	body, err := x.readBody()
	if err != nil {
		return err
	}
	if err := rawjson.Check(body, rawjson.Limits{Depth: 10, Keys: 100, Values: 2000}); err != nil {
		return err
	}
	if rawjson.KindOf(body) != rawjson.Object {
		return fault.New(fault.Invalid, "httpapi.putPreferences", "The body must be a JSON object.")
	}
	text, given := "", false
	var plugins []byte
	for m := rawjson.MembersOf(body); m.Next(); {
		switch string(m.Name) {
		case "provider":
			given = true
			text, err = PreferencesText(m.Value)
		case "plugins":
			if plugins = wire.Present(m.Value); plugins != nil {
				err = wire.DefaultPlugins(plugins)
			}
		default:
			err = fault.Field("httpapi.putPreferences", clip(string(m.Name)), "This route has no field of this name.").Coded("unknown_field")
		}
		if err != nil {
			return err
		}
	}
	if !given {
		return fault.Field("httpapi.putPreferences", "provider", "provider is missing; null removes the preferences.").Coded("provider_preferences_missing")
	}
	text = withPlugins(text, plugins)
	text, err = x.api.Accounts.ChangePreferences(x.context(), x.caller.User, func(was string) (string, error) {
		return KeepStoring(was, text)
	}, x.actor())
	if err != nil {
		return err
	}
	return x.replyPreferences(text)
}

// KeepStoring is what to store of new defaults of an account: what was said of storing stays, unless text says it, too. It fails where all
// together are too long.
func KeepStoring(was, text string) (string, error) {
	if memberOf(text, wire.StoringOfAccount) != "" {
		return text, nil
	}
	after := wire.WithMember(text, wire.StoringOfAccount, memberOf(was, wire.StoringOfAccount))
	if after != "" {
		if _, err := wire.Defaults([]byte(after)); err != nil {
			return "", err
		}
	}
	return after, nil
}

// memberOf is a member of the defaults of an account, "" for none.
func memberOf(defaults, name string) string {
	if defaults == "" {
		return ""
	}
	return string(rawjson.Find([]byte(defaults), name))
}

// postPreferencesExplain serves POST /api/account/preferences/explain: where a chat request would go if the account had the preferences of the
// body. What is saved for the account and the key is left aside; nothing is called, held, charged or kept.
func (x *exchange) postPreferencesExplain() error {
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
	text, err := PreferencesText(provider)
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

func (x *exchange) replyPreferences(text string) error {
	var o object
	o.Object()
	o.Name("data").Object()
	o.raw("provider", wire.ProviderOf(text))
	if plugins := memberOf(text, wire.PluginsOfAccount); plugins != "" {
		o.raw("plugins", plugins)
	}
	o.EndObject()
	o.EndObject()
	return x.reply(&o)
}

// withPlugins is what is stored of the preferences of an account: its plugins, and its preferences for providers.
func withPlugins(provider string, plugins []byte) string {
	switch {
	case len(bytes.TrimSpace(bytes.Trim(plugins, "[] \t\r\n"))) == 0:
		return provider
	case provider == "":
		return `{"plugins":` + string(plugins) + "}"
	}
	return strings.TrimSuffix(provider, "}") + `,"plugins":` + string(plugins) + "}"
}

// usePlugins has a request use the plugins of the caller's account.
func (x *exchange) usePlugins(req *completion.Request) {
	if d := x.caller.Defaults; d != nil && d.Account != "" {
		if list := rawjson.Find([]byte(d.Account), "plugins"); list != nil {
			wire.UsePlugins(req, list)
		}
	}
}

// PreferencesText is what is kept of preferences that somebody gives, "" for null and for an object without members. It fails with
// fault.Invalid or another kind for what is not JSON.
func PreferencesText(v []byte) (string, error) { return preferencesText(v, wire.DefaultPreferences) }

// DefaultsText is the same of what holds for an account, plugins among it.
func DefaultsText(v []byte) (string, error) { return preferencesText(v, wire.Defaults) }

func preferencesText(v []byte, read func([]byte) (routing.Preferences, error)) (string, error) {
	if rawjson.KindOf(v) == rawjson.Null {
		return "", nil
	}
	if _, err := read(v); err != nil {
		return "", err
	}
	if m := rawjson.MembersOf(v); !m.Next() {
		return "", nil
	}
	return string(bytes.TrimSpace(v)), nil
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
