package gatewayimport

import (
	"maps"
	"slices"
	"strings"

	"weir/internal/fault"
	"weir/internal/rawjson"
)

// config is what the configurations of LiteLLM say of models.
type config struct {
	groups  map[string]*group
	aliases [][2]string // name, group
	// fallbacks are the groups that follow on others; those under "" follow on groups without their own.
	fallbacks map[string][]string
	sort      string
}

// group is a model as LiteLLM's clients name it, with all its deployments.
type group struct {
	name    string
	preset  Preset
	content content
}

func (r *reader) readConfig(d *document, c *config) error {
	list := rawjson.Find(d.body, "model_list")
	if list == nil {
		list = rawjson.Find(d.body, "data")
	} else {
		r.walk("config", d.body)
	}
	environment := rawjson.Find(d.body, "environment_variables")
	for e := rawjson.ElementsOf(list); e.Next(); {
		if len(c.groups) == maxPresets {
			return tooMany(d, "models", maxPresets)
		}
		if rawjson.KindOf(e.Value) != rawjson.Object || rawjson.Find(e.Value, "model_name") == nil && rawjson.Find(e.Value, "litellm_params") == nil && rawjson.Find(e.Value, "model_info") == nil {
			return fault.Newf(fault.Invalid, "gatewayimport.readConfig", "%s has an entry that is no model of LiteLLM: it has neither model_name nor litellm_params.", d.name)
		}
		r.deployment(e.Value, c, environment)
	}
	r.walk("config.general_settings", rawjson.Find(d.body, "general_settings"))
	for _, section := range []string{"litellm_settings", "router_settings"} { // the second one wins
		settings := rawjson.Find(d.body, section)
		r.walk("config."+section, settings)
		r.routes(settings, c)
	}
	return nil
}

func (r *reader) deployment(o []byte, c *config, environment []byte) {
	const path = "config.model_list"
	r.walk(path, o)
	params, info := rawjson.Find(o, "litellm_params"), rawjson.Find(o, "model_info")
	r.walk(path+".litellm_params", params)
	r.walk(path+".model_info", info)
	name := text(o, "model_name")
	r.credential(params, environment)
	if name == "" || strings.Contains(name, "*") || string(rawjson.Find(info, "blocked")) == "true" {
		return
	}
	g := c.groups[name]
	if g == nil {
		g = &group{name: name, preset: Preset{Name: presetName(name)}}
		c.groups[name] = g
	}
	slug, ok := "", false
	candidates := slices.Concat(candidates(text(params, "model"), text(params, "custom_llm_provider")), candidates(text(info, "base_model"), ""))
	for _, n := range candidates {
		if slug, ok = r.world.Model(n); ok {
			break
		}
	}
	if !ok {
		slug = text(params, "model")
	}
	r.model(&g.preset, &g.content, slug)
	for m := rawjson.MembersOf(params); m.Next(); {
		switch n := string(m.Name); n {
		case "model", "custom_llm_provider":
		default:
			if r.fields[path+".litellm_params."+n].Fate == Becomes && !rawjson.IsNull(m.Value) {
				g.content.parameter(n, m.Value)
			}
		}
	}
}

// routes reads what is said of routing in router_settings or litellm_settings.
func (r *reader) routes(settings []byte, c *config) {
	if v := rawjson.Find(settings, "fallbacks"); v != nil || c.fallbacks == nil {
		c.fallbacks = map[string][]string{"": c.fallbacks[""]}
		for e := rawjson.ElementsOf(v); e.Next(); {
			for m := rawjson.MembersOf(e.Value); m.Next(); {
				name := string(m.Name)
				if name == "*" {
					name = ""
				}
				c.fallbacks[name] = append(c.fallbacks[name], texts(m.Value)...)
			}
		}
	}
	if v := rawjson.Find(settings, "default_fallbacks"); v != nil {
		c.fallbacks[""] = texts(v)
	}
	for m := rawjson.MembersOf(rawjson.Find(settings, "model_group_alias")); m.Next() && len(c.aliases) < maxPresets; {
		target := textOf(m.Value)
		if rawjson.KindOf(m.Value) == rawjson.Object {
			target = text(m.Value, "model")
		}
		c.aliases = append(c.aliases, [2]string{string(m.Name), target})
	}
	switch text(settings, "routing_strategy") {
	case "latency-based-routing":
		c.sort = "latency"
	case "cost-based-routing":
		c.sort = "price"
	}
}

// presetsOf makes the presets of all groups and aliases, by their names.
func (r *reader) presetsOf(c *config) error {
	for _, name := range slices.Sorted(maps.Keys(c.groups)) {
		r.presetOf(c.groups[name], c, name)
	}
	for _, a := range c.aliases {
		if g := c.groups[a[1]]; g != nil && c.groups[a[0]] == nil {
			r.presetOf(&group{name: a[0], preset: Preset{Name: presetName(a[0])}, content: clone(&g.content)}, c, a[1])
		}
	}
	return nil
}

func clone(c *content) content {
	d := *c
	d.models, d.parameters = slices.Clone(c.models), slices.Clone(c.parameters)
	return d
}

func (r *reader) presetOf(g *group, c *config, fallbacksOf string) {
	p, k := g.preset, clone(&g.content)
	p.Dropped = slices.Clone(p.Dropped)
	names, own := c.fallbacks[fallbacksOf]
	if !own {
		names = c.fallbacks[""]
	}
	for _, name := range names {
		slugs := r.slugsOf(name, c)
		for _, s := range slugs {
			r.model(&p, &k, s)
		}
		if len(slugs) == 0 && len(p.Dropped) < maxDropped {
			p.Dropped = append(p.Dropped, plain(name, 100))
		}
	}
	if c.sort != "" {
		k.provider = []byte(`{"sort":"` + c.sort + `"}`)
	}
	if slug, ok := r.world.Model(g.name); ok && slug == k.model && len(k.models) == 0 && len(k.parameters) == 0 && k.provider == nil {
		return // the model has this name here
	}
	if p.Name == "" {
		p.Refused = NoName
	} else {
		r.finishPreset(&p, &k)
	}
	if p.Name != g.name {
		p.Description = plain(g.name, maxNote)
	}
	at := slices.IndexFunc(r.plan.Presets, func(q Preset) bool { return q.Name == p.Name && p.Name != "" })
	if at >= 0 { // two names that differ in what a name cannot have here
		p.Refused = NoName
	}
	r.plan.Presets = append(r.plan.Presets, p)
}

// slugsOf are the models here that a name of LiteLLM's clients means.
func (r *reader) slugsOf(name string, c *config) []string {
	for _, a := range c.aliases {
		if a[0] == name && c.groups[name] == nil {
			name = a[1]
			break
		}
	}
	if g := c.groups[name]; g != nil {
		if g.content.model == "" {
			return nil
		}
		return append([]string{g.content.model}, g.content.models...)
	}
	for _, n := range candidates(name, "") {
		if slug, ok := r.world.Model(n); ok {
			return []string{slug}
		}
	}
	return nil
}

// vendors are the vendors of models at LiteLLM's providers, where the names differ from ours. Those of providers with models of many vendors
// are "".
var vendors = map[string]string{
	"azure": "openai", "text-completion-openai": "openai", "gemini": "google", "vertex_ai": "google", "xai": "x-ai", "mistral": "mistralai",
	"azure_ai": "", "bedrock": "", "fireworks_ai": "", "groq": "", "huggingface": "", "openrouter": "", "together_ai": "", "vercel_ai_gateway": "",
}

func vendorOf(provider string) string {
	if v := vendors[provider]; v != "" {
		return v
	}
	return provider
}

// candidates are the names that a model may have here, the likeliest first.
func candidates(model, provider string) []string {
	if model == "" {
		return nil
	}
	if provider != "" && !strings.HasPrefix(model, provider+"/") {
		model = provider + "/" + model
	}
	first, rest, slash := strings.Cut(model, "/")
	if !slash {
		return []string{model}
	}
	return []string{vendorOf(first) + "/" + rest, model, rest, rest[strings.LastIndexByte(rest, '/')+1:]}
}
