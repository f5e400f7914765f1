package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/catalog/edit"
	"weir/internal/config"
	"weir/internal/rate"
)

// variables is an environment.
type variables map[string]string

func (v variables) lookup(name string) (string, bool) {
	text, ok := v[name]
	return text, ok
}

func writeFile(t *testing.T, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // independent of the umask
		t.Fatal(err)
	}
	return path
}

func TestRing(t *testing.T) {
	t.Parallel()
	old, fresh := strings.Repeat("01", 16)+strings.Repeat("02", 16), strings.Repeat("03", 16)+strings.Repeat("04", 16)
	oldFile, freshFile := writeFile(t, "old", old+"\n", 0o600), writeFile(t, "fresh", fresh, 0o400)
	open := writeFile(t, "open", fresh, 0o640)
	for name, c := range map[string]struct {
		sealing config.Sealing
		env     variables
		keys    bool
		fails   string
	}{
		"none":               {config.Sealing{}, nil, false, ""},
		"an empty variable":  {config.Sealing{}, variables{"WEIR_MASTER_KEY": ""}, false, ""},
		"a variable":         {config.Sealing{}, variables{"WEIR_MASTER_KEY": fresh}, true, ""},
		"a file":             {config.Sealing{MasterKeyFile: freshFile, PreviousKeyFiles: []string{oldFile}}, nil, true, ""},
		"both":               {config.Sealing{MasterKeyFile: freshFile}, variables{"WEIR_MASTER_KEY": fresh}, false, "keep one"},
		"readable by others": {config.Sealing{MasterKeyFile: open}, nil, false, "may be read by others"},
		"no file":            {config.Sealing{MasterKeyFile: oldFile + "x"}, nil, false, "cannot be read"},
		"a bad earlier one":  {config.Sealing{MasterKeyFile: freshFile, PreviousKeyFiles: []string{open}}, nil, false, "previous_key_files"},
		"no key":             {config.Sealing{}, variables{"WEIR_MASTER_KEY": "secret-of-nobody"}, false, "32 random bytes"},
	} {
		cfg := config.Default()
		cfg.Sealing = c.sealing
		ring, err := cfg.Ring(c.env.lookup)
		if ring.Ready() != c.keys || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: ready %t, %v", name, ring.Ready(), err)
		}
		if err != nil && strings.Contains(err.Error(), "secret-of-nobody") {
			t.Errorf("%s: the error contains the key: %v", name, err)
		}
	}
}

func TestRateOfTheConfiguration(t *testing.T) {
	t.Parallel()
	path := writeFile(t, "weir.yaml", "pricing:\n  rub_per_usd: \"90\"\n  rate_source: cbr\n", 0o600)
	cfg, err := config.Load(path, variables{"WEIR_PRICING_MARGIN": "0.2"}.lookup, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := rate.Declared{RubPerUSD: "90", Margin: "0.2", Version: "usd=90 margin=0.2", RateAt: path + ":2", MarginAt: "WEIR_PRICING_MARGIN", FromBank: true}
	if got := cfg.Rate(); got != want {
		t.Errorf("rate %+v, want %+v", got, want)
	}
	if cfg, err = config.Load("", variables{}.lookup, nil); err != nil {
		t.Fatal(err)
	}
	if got := cfg.Rate(); got.RateAt != "" || got.MarginAt != "" || got.FromBank || got.RubPerUSD != "100" {
		t.Errorf("wrong default: %+v", got)
	}
	for text, want := range map[string]string{"rate_source: bank": "not one of static, cbr", "cbr_url: http://www.cbr.ru/": "https://"} {
		path := writeFile(t, "weir.yaml", "pricing: {"+text+"}\n", 0o600)
		if _, err := config.Load(path, variables{}.lookup, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Base reports which rows the file owns, the rate of the prices, and the built-in providers that only lack a credential.
func TestBase(t *testing.T) {
	t.Parallel()
	path := writeFile(t, "weir.yaml", `builtin: [openai]
providers:
  - id: own
    base_url: http://127.0.0.1:1/v1
    models:
      - {id: acme/tiny, price_usd: {prompt: "1", completion: "2"}}
  - {id: deepseek, api_key: k}
`, 0o600)
	env := variables{"OPENAI_API_KEY": "sk-of-openai"}
	cfg, err := config.Load(path, env.lookup, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := rate.At(cfg.Rate(), []rate.Record{{RubPerUSD: "80", Margin: "0.1"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	b, err := cfg.Base(env.lookup, r, map[string]edit.Credential{"groq": {Key: "sk-kept"}, "own": {Key: "of the file's"}})
	if err != nil {
		t.Fatal(err)
	}
	on := map[string]string{}
	for _, p := range b.Providers {
		on[p.ID] = p.Key
	}
	if on["openai"] != "sk-of-openai" || on["groq"] != "sk-kept" || on["deepseek"] != "k" || on["own"] != "" || len(on) != 4 {
		t.Errorf("switched on are %v", on)
	}
	if b.FileProviders["own"] != path+":3" || b.FileProviders["deepseek"] != path+":7" || len(b.FileProviders) != 2 {
		t.Errorf("the file's providers are %v", b.FileProviders)
	}
	if b.FileEndpoints["own/acme/tiny"] != path+":6" || len(b.FileEndpoints) != 1 {
		t.Errorf("the file's endpoints are %v", b.FileEndpoints)
	}
	for _, p := range b.Known {
		if _, both := on[p.ID]; both {
			t.Errorf("%s is on and off", p.ID)
		}
	}
	priced := 0
	for i := range b.Offers {
		o := &b.Offers[i]
		if o.Pricing.Rate != "" {
			priced++
		}
		if o.Pricing.Rate != "" && o.Pricing.Rate != r.Version || o.Provider == "own" && o.Pricing.Base.Prompt.String() != "0.088" {
			t.Errorf("%s is priced %+v", o.EndpointID(), o.Pricing)
		}
	}
	if priced < 3 || len(b.Known) == 0 {
		t.Errorf("%d endpoints are priced in dollars, %d providers are off", priced, len(b.Known))
	}
}
