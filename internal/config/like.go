package config

import (
	"cmp"
	"reflect"
	"strconv"
	"strings"

	"weir/internal/catalog/builtin"
	"weir/internal/secret"
)

// inherit fills the missing fields of providers with like, and the addresses of built-in providers that contain environment variables. It
// runs once, while reading. Afterwards every declaration is complete.
func (k *checker) inherit(env Lookup) {
	for i := range k.c.Providers {
		path, before := "providers["+strconv.Itoa(i)+"]", len(k.errs)
		k.complete(&k.c.Providers[i], path, env)
		if len(k.errs) > before {
			k.unread = append(k.unread, path+".base_url") // it is missing for the reason that was said
		}
	}
}

func (k *checker) complete(p *Provider, path string, env Lookup) {
	known, ok := builtin.Named(p.ID)
	if p.Like == "" && ok && known.Template && p.Discover {
		p.Like = p.ID
	}
	if p.Like != "" {
		k.like(p, path, env)
		return
	}
	if !ok || len(p.Models) > 0 || p.Discover {
		return
	}
	if known.Template {
		k.fail(path, "Weir has no built-in models of %s; list its models with their prices, and write like: %s", known.Name, known.ID)
		return
	}
	if p.BaseURL == "" {
		p.BaseURL = k.expand(path, known.BaseURL, env)
	}
}

func (k *checker) like(p *Provider, path string, env Lookup) {
	known, ok := builtin.Named(p.Like)
	if !ok {
		k.fail(path+".like", "there is no known server %q%s", clip(p.Like), suggestion(p.Like, builtinIDs()))
		return
	}
	if len(p.Models) == 0 && !p.Discover {
		k.fail(path, "models is missing: like sets only how to call a server")
	}
	if p.BaseURL == "" {
		p.BaseURL = k.expand(path, known.BaseURL, env)
	}
	if first, _ := p.credentials(); first == "" {
		key, _ := known.AnyKeyIn(env)
		p.APIKey = secret.New(key)
	}
	p.Dialect = cmp.Or(p.Dialect, known.Dialect)
	p.DataPolicy = cmp.Or(p.DataPolicy, string(known.DataPolicy))
	if reflect.ValueOf(p.Quirks).IsZero() {
		p.Quirks = known.Quirks
	}
	p.Facts = known.Facts.Over(&p.Facts)
	for kind, w := range known.Wires {
		if _, own := p.Wires[kind]; !own && p.Wires == nil {
			p.Wires = map[string]Wire{}
		} else if own {
			continue
		}
		p.Wires[kind] = Wire{Dialect: w.Dialect, BaseURL: k.expand(path, w.BaseURL, env)}
	}
	if len(p.Models) == 0 {
		return
	}
	form := k.expand(path, known.UpstreamID, env)
	for i := range p.Models {
		o := &p.Models[i]
		o.MaxN = cmp.Or(o.MaxN, int64(known.MaxN))
		if form == "" || strings.Contains(o.UpstreamID, "://") {
			continue
		}
		_, model, _ := strings.Cut(o.ID, "/")
		o.UpstreamID = strings.ReplaceAll(form, "{id}", cmp.Or(o.UpstreamID, model))
	}
}

// expand replaces environment variables in a known server. A server without variables stays unchanged.
func (k *checker) expand(path, text string, env Lookup) string {
	if k.c.forCommand {
		given := env
		env = func(name string) (string, bool) {
			if value, ok := given(name); ok && value != "" {
				return value, true
			}
			if strings.HasPrefix(text, "${"+name+"}") { // it is a whole address
				return "https://unset.invalid", true
			}
			return unset, true
		}
	}
	expanded, missing := builtin.Expand(text, builtin.Lookup(env))
	if missing != "" {
		k.fail(path, "the environment variable %s is not set", missing)
	}
	return expanded
}
