package gatewayimport

import (
	"math/big"
	"slices"
	"strconv"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// openRouter reads what OpenRouter's API answers: GET /keys, GET /keys/{hash}, GET /presets and GET /presets/{slug}.
func (r *reader) openRouter(documents []document) error {
	for i := range documents {
		d := &documents[i]
		data := d.body
		if rawjson.KindOf(data) == rawjson.Object {
			data = rawjson.Find(data, "data")
		}
		switch rawjson.KindOf(data) {
		case rawjson.Array:
			for e := rawjson.ElementsOf(data); e.Next(); {
				if err := r.openRouterItem(d, e.Value); err != nil {
					return err
				}
			}
		case rawjson.Object:
			if err := r.openRouterItem(d, data); err != nil {
				return err
			}
		default:
			return fault.Newf(fault.Invalid, "gatewayimport.openRouter", "%s is not what OpenRouter exports: the answer of GET /keys or of GET /presets/{slug} has data.", d.name)
		}
	}
	return nil
}

func (r *reader) openRouterItem(d *document, o []byte) error {
	switch {
	case rawjson.KindOf(o) == rawjson.Object && text(o, "hash") != "" && rawjson.Find(o, "slug") == nil:
		if len(r.plan.Keys) == maxKeys {
			return tooMany(d, "keys", maxKeys)
		}
		r.openRouterKey(o)
	case rawjson.KindOf(o) == rawjson.Object && text(o, "slug") != "":
		if len(r.plan.Presets) == maxPresets {
			return tooMany(d, "presets", maxPresets)
		}
		r.openRouterPreset(o)
	default:
		return fault.Newf(fault.Invalid, "gatewayimport.openRouter", "%s has an entry that is neither a key (with hash) nor a preset (with slug) of OpenRouter.", d.name)
	}
	return nil
}

func tooMany(d *document, what string, most int) error {
	return fault.Newf(fault.Invalid, "gatewayimport.tooMany", "%s has more than %d %s.", d.name, most, what)
}

// walk counts the members of an object that are given and not carried.
func (r *reader) walk(path string, o []byte) {
	for m := rawjson.MembersOf(o); m.Next(); {
		p := path + "." + plain(string(m.Name), 100)
		if f, known := r.fields[p]; given(m.Value) && (!known || f.Fate != Becomes) {
			r.lose(p)
		}
	}
}

// named is the name of a key: that of the other gateway, with a number if it was given before.
func (r *reader) named(name string) string {
	if name = plain(name, maxName); name == "" {
		return ""
	}
	for unique, n := name, 2; ; n++ {
		if !r.names[unique] {
			r.names[unique] = true
			return unique
		}
		unique = name + " (" + strconv.Itoa(n) + ")"
	}
}

func (r *reader) openRouterKey(o []byte) {
	r.walk("keys", o)
	k := Key{Name: r.named(text(o, "name")), Disabled: string(rawjson.Find(o, "disabled")) == "true"}
	reset := apikey.Reset(text(o, "limit_reset"))
	limit, ok := number(rawjson.Find(o, "limit"))
	left, okLeft := number(rawjson.Find(o, "limit_remaining"))
	if limit != nil && left != nil && reset == apikey.Never && left.Cmp(limit) < 0 {
		if limit = left; limit.Sign() < 0 {
			limit = new(big.Rat)
		}
	}
	if !slices.Contains([]apikey.Reset{apikey.Never, apikey.Daily, apikey.Weekly, apikey.Monthly}, reset) {
		ok = false
	}
	r.finishKey(&k, limit, ok && okLeft, reset, rawjson.Find(o, "expires_at"))
}

// finishKey checks what keys of all gateways have in common, and adds the key to the plan.
func (r *reader) finishKey(k *Key, dollars *big.Rat, ok bool, reset apikey.Reset, expires []byte) {
	if dollars != nil && ok {
		k.Limit = &apikey.Limit{Reset: reset}
		k.Limit.Amount, ok = rubles(dollars, r.world.Rate)
	}
	at, okTime := moment(expires)
	switch {
	case k.Name == "":
		k.Refused = NoName
	case k.Refused != "":
	case !ok || !okTime:
		k.Refused = WrongLimit
	case !at.IsZero() && !at.After(r.world.Now):
		k.Refused = Expired
	}
	if !ok {
		k.Limit = nil
	}
	k.ExpiresAt = at
	r.plan.Keys = append(r.plan.Keys, *k)
}

func (r *reader) openRouterPreset(o []byte) {
	r.walk("presets", o)
	p := Preset{Name: presetName(text(o, "slug")), Description: plain(text(o, "description"), maxNote)}
	if name := plain(text(o, "name"), maxNote); p.Description == "" && name != text(o, "slug") {
		p.Description = name
	}
	version := rawjson.Find(o, "designated_version")
	switch status := text(o, "status"); {
	case p.Name == "":
		p.Refused = NoName
	case status != "" && status != "active":
		p.Refused = NotActive
	case rawjson.KindOf(version) != rawjson.Object:
		p.Refused = NoContent
	default:
		r.walk("presets.designated_version", version)
		r.openRouterContent(&p, version)
	}
	r.addPreset(p)
}

// addPreset adds a preset, unless an earlier one has its name: a list and the preset itself may both be given.
func (r *reader) addPreset(p Preset) {
	at := slices.IndexFunc(r.plan.Presets, func(q Preset) bool { return q.Name == p.Name && p.Name != "" })
	switch {
	case at < 0:
		r.plan.Presets = append(r.plan.Presets, p)
	case r.plan.Presets[at].Refused == NoContent:
		r.plan.Presets[at] = p
	}
}

const configPath = "presets.designated_version.config"

func (r *reader) openRouterContent(p *Preset, version []byte) {
	c := content{}
	c.system = text(version, "system_prompt")
	config := rawjson.Find(version, "config")
	r.walk(configPath, config)
	for m := rawjson.MembersOf(config); m.Next(); {
		name := string(m.Name)
		switch {
		case !given(m.Value) && rawjson.KindOf(m.Value) != rawjson.Number:
		case name == "model":
			r.model(p, &c, textOf(m.Value))
		case name == "models":
			for _, s := range texts(m.Value) {
				r.model(p, &c, s)
			}
		case name == "provider":
			r.walk(configPath+".provider", m.Value)
			c.provider = r.preferences(m.Value)
		case name == "tools":
			c.tools = m.Value
		case name == "plugins":
			c.plugins = m.Value
		case r.fields[configPath+"."+name].Fate == Becomes:
			c.parameter(name, m.Value)
		}
	}
	r.finishPreset(p, &c)
}

// model adds a model to a preset: the first one, or a fallback.
func (r *reader) model(p *Preset, c *content, name string) {
	c.asked = true
	slug, ok := r.world.Model(name)
	switch {
	case !ok:
		if name = plain(name, 100); len(p.Dropped) < maxDropped && !slices.Contains(p.Dropped, name) {
			p.Dropped = append(p.Dropped, name)
		}
	case c.model == "":
		c.model = slug
	case slug != c.model && len(c.models) < 9 && !slices.Contains(c.models, slug):
		c.models = append(c.models, slug)
	}
}

func (r *reader) finishPreset(p *Preset, c *content) {
	if c.asked && c.model == "" {
		p.Refused = NoModel
		return
	}
	p.Content = c.text()
}

// preferences are provider preferences with their prices in rubles.
func (r *reader) preferences(v []byte) []byte {
	if rawjson.KindOf(v) != rawjson.Object {
		return nil
	}
	var w rawjson.Writer
	w.Object()
	for m := rawjson.MembersOf(v); m.Next(); {
		switch name := string(m.Name); {
		case r.fields[configPath+".provider."+name].Fate != Becomes:
		case name != "max_price":
			w.Name(name).Raw(m.Value)
		case rawjson.KindOf(m.Value) == rawjson.Object:
			w.Name(name)
			w.Object()
			for p := rawjson.MembersOf(m.Value); p.Next(); {
				if usd, ok := number(p.Value); ok && usd != nil {
					w.Name(string(p.Name)).Raw([]byte(r.price(string(p.Name), usd)))
				}
			}
			w.EndObject()
		}
	}
	w.EndObject()
	return w.B
}

// price is a price in rubles as exact decimal text: for 1000 tokens where theirs is for a million, else for the same unit.
func (r *reader) price(name string, usd *big.Rat) string {
	n := new(big.Rat).Mul(usd, r.world.Rate)
	if name == "prompt" || name == "completion" {
		n.Quo(n, big.NewRat(1000, 1))
	}
	digits, exact := n.FloatPrec()
	if !exact || digits > 30 {
		digits = 30
	}
	return n.FloatString(digits)
}
