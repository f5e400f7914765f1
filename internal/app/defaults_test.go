package app

import (
	"strings"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/catalog/update"
	"weir/internal/config"
	"weir/internal/money"
	"weir/internal/outbound"
)

// Each default that costs later is said where it counts, with what to do, and is silent once it is set or does not count.
func TestRegrettedDefaults(t *testing.T) {
	t.Parallel()
	shop := func(c *config.Config) { c.Payments.Provider = "yookassa" }
	hut := func(models ...string) func(*config.Config) {
		return func(c *config.Config) {
			p := config.Provider{ID: "hut"}
			for _, m := range models {
				p.Models = append(p.Models, config.Offer{ID: m})
			}
			c.Providers = append(c.Providers, p)
		}
	}
	for name, c := range map[string]struct {
		change  []func(*config.Config)
		builtin bool
		want    string // in the one finding; "": absent
	}{
		"nothing is sold":            {},
		"a real shop":                {change: []func(*config.Config){shop}, want: "without receipts"},
		"a real shop with receipts":  {change: []func(*config.Config){shop, func(c *config.Config) { c.Payments.YooKassa.Receipt.Send = true }}},
		"a shop for tests":           {change: []func(*config.Config){shop, func(c *config.Config) { c.Payments.YooKassa.Test = true }}},
		"built-in prices, each day":  {builtin: true},
		"built-in prices, never":     {builtin: true, change: []func(*config.Config){func(c *config.Config) { c.PriceLists.Every = 0 }}, want: "are not fetched"},
		"built-in prices, off":       {builtin: true, change: []func(*config.Config){func(c *config.Config) { c.PriceLists.Publish = update.Off }}, want: "are not fetched"},
		"models with longest answer": {change: []func(*config.Config){hut("acme/short")}},
		"models without one":         {change: []func(*config.Config){hut("acme/endless", "acme/short")}, want: "small balances: acme/endless"},
		"models of no endpoint":      {change: []func(*config.Config){hut("acme/none")}},
	} {
		cfg := config.Default()
		for _, f := range c.change {
			f(&cfg)
		}
		snap := twoModels(t)
		if c.builtin {
			snap.PricesAsOf = time.Now()
		}
		found := regretted(&cfg, snap, noEnv)
		if c.want == "" && len(found) > 0 || c.want != "" && (len(found) != 1 || !strings.Contains(found[0].What, c.want) || strings.Contains(found[0].What, "acme/short") || found[0].Is != Weak || found[0].Do == "") {
			t.Errorf("%s: %+v, want %q", name, found, c.want)
		}
	}
}

func noEnv(string) (string, bool) { return "", false }

// A variable by which other programs find their proxy is not used, and that is said: the opposite was reported of gateways that use it in one of
// their clients only (litellm#11389).
func TestUnusedProxyIsSaid(t *testing.T) {
	t.Parallel()
	env := func(name string) (string, bool) {
		return map[string]string{"https_proxy": "http://anna:s3cret@proxy.corp:3128"}[name], name == "https_proxy"
	}
	cfg := config.Default()
	found := regretted(&cfg, twoModels(t), env)
	if len(found) != 1 || !strings.Contains(found[0].What, "https_proxy is set and not used") || !strings.Contains(found[0].Do, "upstream.proxy: ${https_proxy}") {
		t.Errorf("%+v", found)
	}
	for _, text := range []string{"direct", "${https_proxy}"} {
		var err error
		if cfg.Upstream.Proxy, err = outbound.Parse(text, env); err != nil {
			t.Fatal(err)
		}
		if found := regretted(&cfg, twoModels(t), env); len(found) != 0 {
			t.Errorf("%s: %+v", text, found)
		}
	}
}

// twoModels serves a model with a longest answer, and one without.
func twoModels(t *testing.T) *catalog.Snapshot {
	t.Helper()
	one := money.Price{Nano: 1, Set: true}
	offer := func(model string, most int64) catalog.Offer {
		return catalog.Offer{Provider: "hut", Model: model, UpstreamID: model, MaxCompletion: most, Pricing: catalog.Pricing{List: "test", Base: catalog.Prices{Prompt: one, Completion: one}}}
	}
	snap, err := catalog.Build(catalog.Declared{
		Providers: []catalog.Provider{{ID: "hut", Dialect: "openai", BaseURL: "https://hut.example/v1"}},
		Offers:    []catalog.Offer{offer("acme/endless", 0), offer("acme/short", 100)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return snap
}
