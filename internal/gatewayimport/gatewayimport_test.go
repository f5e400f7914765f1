package gatewayimport_test

import (
	"encoding/json"
	"math/big"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/gatewayimport"
	"weir/internal/money"
)

var now = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// world serves three models of two vendors.
func world() gatewayimport.World {
	known := map[string]string{
		"openai/gpt": "openai/gpt", "gpt": "openai/gpt", "openai/gpt-small": "openai/gpt-small", "google/gem": "google/gem", "openai/*": "openai/*", "google/*": "google/*",
	}
	return gatewayimport.World{
		Model: func(name string) (string, bool) { s, ok := known[name]; return s, ok },
		Rate:  big.NewRat(8125, 100), Rates: apikey.Rates{Tokens: 1000}, Now: now,
	}
}

func read(t *testing.T, source string, texts ...string) *gatewayimport.Plan {
	t.Helper()
	p, err := gatewayimport.Read(source, files(texts...), world())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func files(texts ...string) (all []gatewayimport.File) {
	for _, s := range texts {
		all = append(all, gatewayimport.File{Name: "export", Text: []byte(s)})
	}
	return all
}

func TestKeys(t *testing.T) {
	t.Parallel()
	limit := func(rubles string, reset apikey.Reset) *apikey.Limit {
		n, err := money.Parse(rubles)
		if err != nil {
			t.Fatal(err)
		}
		return &apikey.Limit{Amount: n, Reset: reset}
	}
	for _, c := range []struct {
		name, source, key string
		want              gatewayimport.Key
	}{
		{"an allowance of a month", gatewayimport.OpenRouter, `"name":"a","limit":100,"limit_remaining":3,"limit_reset":"monthly"`, gatewayimport.Key{Name: "a", Limit: limit("8125", apikey.Monthly)}},
		{"what is left of a limit for good", gatewayimport.OpenRouter, `"name":"a","limit":100,"limit_remaining":0.1,"limit_reset":null`, gatewayimport.Key{Name: "a", Limit: limit("8.125", apikey.Never)}},
		{"more left than there was", gatewayimport.OpenRouter, `"name":"a","limit":1,"limit_remaining":7`, gatewayimport.Key{Name: "a", Limit: limit("81.25", apikey.Never)}},
		{"less than nothing left", gatewayimport.OpenRouter, `"name":"a","limit":1,"limit_remaining":-7`, gatewayimport.Key{Name: "a", Limit: limit("0", apikey.Never)}},
		{"no limit", gatewayimport.OpenRouter, `"name":"a","limit":null`, gatewayimport.Key{Name: "a"}},
		{"a limit of nothing stays one", gatewayimport.OpenRouter, `"name":"a","limit":0`, gatewayimport.Key{Name: "a", Limit: limit("0", apikey.Never)}},
		{"disabled, and expires", gatewayimport.OpenRouter, `"name":"a","disabled":true,"expires_at":"2027-12-31T23:59:59Z"`, gatewayimport.Key{Name: "a", Disabled: true, ExpiresAt: time.Date(2027, 12, 31, 23, 59, 59, 0, time.UTC)}},
		{"expired", gatewayimport.OpenRouter, `"name":"a","expires_at":"2026-11-26T12:00:00Z"`, gatewayimport.Key{Name: "a", ExpiresAt: now, Refused: gatewayimport.Expired}},
		{"an expiry that is no time", gatewayimport.OpenRouter, `"name":"a","expires_at":"soon"`, gatewayimport.Key{Name: "a", Refused: gatewayimport.WrongLimit}},
		{"a negative limit", gatewayimport.OpenRouter, `"name":"a","limit":-1`, gatewayimport.Key{Name: "a", Refused: gatewayimport.WrongLimit}},
		{"a limit that cannot be stored", gatewayimport.OpenRouter, `"name":"a","limit":1e17`, gatewayimport.Key{Name: "a", Refused: gatewayimport.WrongLimit}},
		{"an exponent that cannot be computed", gatewayimport.OpenRouter, `"name":"a","limit":1e999999999`, gatewayimport.Key{Name: "a", Refused: gatewayimport.WrongLimit}},
		{"an interval of others", gatewayimport.OpenRouter, `"name":"a","limit":1,"limit_reset":"yearly"`, gatewayimport.Key{Name: "a", Refused: gatewayimport.WrongLimit}},
		{"no name", gatewayimport.OpenRouter, `"name":"\u0000\u202e\n"`, gatewayimport.Key{Refused: gatewayimport.NoName}},
		{"a name with control characters", gatewayimport.OpenRouter, `"name":"a\u001b[31m\nb\u202ec"`, gatewayimport.Key{Name: "a[31m bc"}},

		{"an allowance of 30 days", gatewayimport.LiteLLM, `"key_alias":"a","max_budget":2,"spend":1.5,"budget_duration":"30d"`, gatewayimport.Key{Name: "a", Limit: limit("162.5", apikey.Monthly)}},
		{"an allowance of an hour", gatewayimport.LiteLLM, `"key_alias":"a","max_budget":2,"budget_duration":"1h"`, gatewayimport.Key{Name: "a", Limit: limit("162.5", apikey.Daily)}},
		{"an allowance of two days", gatewayimport.LiteLLM, `"key_alias":"a","max_budget":2,"budget_duration":"2d"`, gatewayimport.Key{Name: "a", Limit: limit("162.5", apikey.Weekly)}},
		{"an allowance of a year", gatewayimport.LiteLLM, `"key_alias":"a","max_budget":2,"budget_duration":"365d"`, gatewayimport.Key{Name: "a", Limit: limit("162.5", apikey.Never)}},
		{"an interval that is none", gatewayimport.LiteLLM, `"key_alias":"a","max_budget":2,"budget_duration":"often"`, gatewayimport.Key{Name: "a", Refused: gatewayimport.WrongLimit}},
		{"what is left of a budget for good", gatewayimport.LiteLLM, `"key_alias":"a","max_budget":2,"spend":1.5`, gatewayimport.Key{Name: "a", Limit: limit("40.625", apikey.Never)}},
		{"a budget that is spent", gatewayimport.LiteLLM, `"key_alias":"a","max_budget":2,"spend":3`, gatewayimport.Key{Name: "a", Limit: limit("0", apikey.Never)}},
		{"the budget of a table", gatewayimport.LiteLLM, `"key_alias":"a","max_budget":null,"litellm_budget_table":{"max_budget":1,"budget_duration":"7d","tpm_limit":10}`,
			gatewayimport.Key{Name: "a", Limit: limit("81.25", apikey.Weekly), Rates: &apikey.Rates{Tokens: 10, Requests: apikey.DefaultRate, Rubles: apikey.DefaultRate, Calls: apikey.DefaultRate}}},
		{"an allowance above the operator's is left to them", gatewayimport.LiteLLM, `"key_alias":"a","tpm_limit":5000`, gatewayimport.Key{Name: "a"}},
		{"calls at one time", gatewayimport.LiteLLM, `"key_alias":"a","max_parallel_requests":4`, gatewayimport.Key{Name: "a", Rates: &apikey.Rates{Requests: apikey.DefaultRate, Tokens: apikey.DefaultRate, Rubles: apikey.DefaultRate, Calls: 4}}},
		{"an allowance of nothing is none of everything", gatewayimport.LiteLLM, `"key_alias":"a","rpm_limit":0`, gatewayimport.Key{Name: "a", Refused: gatewayimport.WrongLimit}},
		{"models", gatewayimport.LiteLLM, `"key_alias":"a","models":["gpt","gemini/gem","azure/*","other"]`, gatewayimport.Key{Name: "a", Models: []string{"openai/gpt", "google/gem", "openai/*"}, Dropped: []string{"other"}}},
		{"no model that is served: never all of them", gatewayimport.LiteLLM, `"key_alias":"a","models":["other"]`, gatewayimport.Key{Name: "a", Dropped: []string{"other"}, Refused: gatewayimport.NoModel}},
		{"no models at all", gatewayimport.LiteLLM, `"key_alias":"a","models":["no-default-models"]`, gatewayimport.Key{Name: "a", Dropped: []string{"no-default-models"}, Refused: gatewayimport.NoModel}},
		{"the models of a team that is not given", gatewayimport.LiteLLM, `"key_alias":"a","models":["all-team-models"]`, gatewayimport.Key{Name: "a", Dropped: []string{"all-team-models"}, Refused: gatewayimport.NoModel}},
		{"all models", gatewayimport.LiteLLM, `"key_alias":"a","models":["all-proxy-models"]`, gatewayimport.Key{Name: "a"}},
		{"a key that administers", gatewayimport.LiteLLM, `"key_alias":"a","key_type":"management"`, gatewayimport.Key{Name: "a", Refused: gatewayimport.Management}},
		{"blocked, without an alias", gatewayimport.LiteLLM, `"key_name":"sk-...7sFA","blocked":true`, gatewayimport.Key{Name: "sk-...7sFA", Disabled: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := `{"data":[{"hash":"00",` + c.key + `}]}`
			if c.source == gatewayimport.LiteLLM {
				file = `{"keys":[{"token":"00",` + c.key + `}],"total_count":1}`
			}
			p := read(t, c.source, file)
			got, _ := json.Marshal(p.Keys)
			want, _ := json.Marshal([]gatewayimport.Key{c.want})
			if string(got) != string(want) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// Keys of one name are told apart by numbers, and never by those of others.
func TestNamesAreUnique(t *testing.T) {
	t.Parallel()
	p := read(t, gatewayimport.OpenRouter, `{"data":[{"hash":"1","name":"a"},{"hash":"2","name":"a"},{"hash":"3","name":"a (2)"},{"hash":"4","name":"a"}]}`)
	var names []string
	for _, k := range p.Keys {
		names = append(names, k.Name)
	}
	if want := []string{"a", "a (2)", "a (2) (2)", "a (3)"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
}

func contents(p *gatewayimport.Plan) string {
	var b strings.Builder
	for _, s := range p.Presets {
		b.WriteString(s.Name + " " + string(s.Content) + " " + string(s.Refused) + strings.Join(s.Dropped, ",") + "\n")
	}
	return b.String()
}

func TestPresetsOfOpenRouter(t *testing.T) {
	t.Parallel()
	p := read(t, gatewayimport.OpenRouter,
		`{"data":[{"slug":"mail","name":"Mail","status":"active"},{"slug":"gone","name":"Gone","status":"archived"},{"slug":"unknown","name":"Unknown","status":"active"}],"total_count":3}`,
		`{"data":{"slug":"mail","name":"Mail","status":"active","designated_version":{"version":3,"system_prompt":"Be short.","config":{
			"model":"openai/gpt","models":["openai/gpt","other/one","google/gem"],"temperature":0,"max_completion_tokens":5,"reasoning_effort":"low","tools":[{"type":"function","function":{"name":"f"}}],"plugins":[{"id":"web"}],"stream":true,"later":1,
			"provider":{"sort":"price","max_price":{"prompt":1,"completion":"2.5","image":0.01},"sometimes":true}}}}}`,
		`{"data":{"slug":"none","status":"active","designated_version":{"config":{"model":"other/one"}}}}`,
		`{"data":{"slug":"Any Name!","status":"active","designated_version":{"config":{"seed":7}}}}`)
	want := `mail {"model":"openai/gpt","models":["google/gem"],"system_prompt":"Be short.","parameters":{"temperature":0,"max_tokens":5,"reasoning":{"effort":"low"}},"provider":{"sort":"price","max_price":{"prompt":0.08125,"completion":0.203125,"image":0.8125}},"tools":[{"type":"function","function":{"name":"f"}}],"plugins":[{"id":"web"}]} other/one
gone  not_active
unknown  no_content
none  no_modelother/one
any-name {"parameters":{"seed":7}} ` + "\n"
	if got := contents(p); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	lost := map[string]gatewayimport.Fate{}
	for _, l := range p.Lost {
		lost[l.Field] = l.Fate
	}
	for field, fate := range map[string]gatewayimport.Fate{
		"presets.designated_version.config.stream": gatewayimport.None, "presets.designated_version.config.later": gatewayimport.Unknown,
		"presets.designated_version.config.provider.sometimes": gatewayimport.Unknown, "presets.designated_version.version": gatewayimport.Identity,
	} {
		if lost[field] != fate {
			t.Errorf("%s is %q", field, lost[field])
		}
	}
}

const configuration = `
model_list:
  - model_name: Fast Model
    litellm_params: {model: openai/gpt-small, api_key: sk-secret-one, temperature: 0.2}
  - model_name: Fast Model
    litellm_params: {model: gemini/gem, api_key: os.environ/GEMINI_KEY}
  - model_name: openai/gpt
    litellm_params: {model: openai/gpt}
  - model_name: deployed
    litellm_params: {model: azure/my-deployment, api_base: https://example.invalid, api_key: sk-secret-two}
    model_info: {base_model: azure/gpt}
  - model_name: local
    litellm_params: {model: ollama/llama}
  - model_name: "openai/*"
    litellm_params: {model: "openai/*"}
litellm_settings:
  fallbacks: [{local: [openai/gpt]}]
  cache: true
router_settings:
  fallbacks:
    - deployed: ["Fast Model", nowhere]
  default_fallbacks: [openai/gpt]
  model_group_alias: {cheap: Fast Model, hidden: {model: deployed, hidden: true}, lost: nowhere}
  routing_strategy: cost-based-routing
general_settings:
  master_key: sk-1234
`

func TestConfigurationOfLiteLLM(t *testing.T) {
	t.Parallel()
	p := read(t, gatewayimport.LiteLLM, configuration, `{"keys":[{"key_alias":"k","models":["cheap"]}]}`)
	want := `fast-model {"model":"openai/gpt-small","models":["google/gem","openai/gpt"],"parameters":{"temperature":0.2},"provider":{"sort":"price"}} 
deployed {"model":"openai/gpt","models":["openai/gpt-small","google/gem"],"provider":{"sort":"price"}} nowhere
local {"model":"openai/gpt","provider":{"sort":"price"}} ollama/llama
openai-gpt {"model":"openai/gpt","provider":{"sort":"price"}} 
cheap {"model":"openai/gpt-small","models":["google/gem","openai/gpt"],"parameters":{"temperature":0.2},"provider":{"sort":"price"}} 
hidden {"model":"openai/gpt","models":["openai/gpt-small","google/gem"],"provider":{"sort":"price"}} nowhere
`
	if got := contents(p); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := p.Keys[0].Models; !slices.Equal(got, []string{"openai/gpt-small", "google/gem"}) {
		t.Errorf("%q", got)
	}
	if len(p.Credentials) != 0 {
		t.Errorf("credentials that nobody asked for: %v", p.Credentials)
	}
}

// Credentials are found only for an operator who asks, of providers at their own addresses, and printing them shows none.
func TestCredentials(t *testing.T) {
	t.Parallel()
	w := world()
	w.Credentials = true
	p, err := gatewayimport.Read(gatewayimport.LiteLLM, files(configuration), w)
	if err != nil {
		t.Fatal(err)
	}
	env := func(name string) (string, bool) { return "value of " + name, true }
	got := map[string]string{}
	for i := range p.Credentials {
		got[p.Credentials[i].Provider] = p.Credentials[i].Secret(env)
	}
	if len(got) != 2 || got["openai"] != "sk-secret-one" || got["google"] != "value of GEMINI_KEY" {
		t.Errorf("%v", got)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if s := sprint(format, p.Credentials); strings.Contains(s, "sk-secret") {
			t.Errorf("%s shows %s", format, s)
		}
	}
}

// What is no export, or made to hurt, is refused, and no error repeats what is in the file.
func TestRefusedFiles(t *testing.T) {
	t.Parallel()
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nmodel_list: [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
	for name, c := range map[string]struct{ source, text string }{
		"another gateway":        {"portkey", `{}`},
		"nothing":                {gatewayimport.OpenRouter, ""},
		"a text":                 {gatewayimport.OpenRouter, "sk-secret"},
		"cut JSON":               {gatewayimport.OpenRouter, `{"data":[{"hash":"sk-secret"`},
		"a name twice":           {gatewayimport.OpenRouter, `{"data":[{"hash":"1","hash":"sk-secret"}]}`},
		"another JSON":           {gatewayimport.OpenRouter, `{"keys":[]}`},
		"entries of another":     {gatewayimport.OpenRouter, `{"data":[{"token":"sk-secret"}]}`},
		"numbers":                {gatewayimport.OpenRouter, `{"data":[1,2,3]}`},
		"deep JSON":              {gatewayimport.OpenRouter, strings.Repeat(`[`, 100) + strings.Repeat(`]`, 100)},
		"hashes alone":           {gatewayimport.LiteLLM, `{"keys":["sk-secret"]}`},
		"bytes":                  {gatewayimport.LiteLLM, "model_list: \x00\xff"},
		"aliases":                {gatewayimport.LiteLLM, bomb},
		"an anchor alone":        {gatewayimport.LiteLLM, "model_list: &a []\n"},
		"a merge":                {gatewayimport.LiteLLM, "model_list:\n - {<<: {model_name: sk-secret}}\n"},
		"deep YAML":              {gatewayimport.LiteLLM, "model_list: " + strings.Repeat("[", 200) + strings.Repeat("]", 200)},
		"very deep YAML":         {gatewayimport.LiteLLM, "model_list: " + strings.Repeat("- ", 400_000)},
		"a name twice in YAML":   {gatewayimport.LiteLLM, "model_list: []\nmodel_list: [sk-secret]\n"},
		"two documents":          {gatewayimport.LiteLLM, "model_list: []\n---\nmodel_list: []\n"},
		"a list as a name":       {gatewayimport.LiteLLM, "model_list: []\n? [sk-secret]\n: 1\n"},
		"too large":              {gatewayimport.LiteLLM, "model_list: []\n#" + strings.Repeat(" ", gatewayimport.MaxBytes)},
		"more keys than anybody": {gatewayimport.OpenRouter, `{"data":[` + strings.TrimSuffix(strings.Repeat(`{"hash":"1","name":"sk-secret"},`, 1001), ",") + `]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := gatewayimport.Read(c.source, files(c.text), world())
			if !fault.Is(err, fault.Invalid) {
				t.Fatalf("%v", err)
			}
			if strings.Contains(err.Error(), "sk-secret") {
				t.Errorf("the error repeats the file: %v", err)
			}
		})
	}
	if _, err := gatewayimport.Read(gatewayimport.OpenRouter, make([]gatewayimport.File, gatewayimport.MaxFiles+1), world()); !fault.Is(err, fault.Invalid) {
		t.Errorf("too many files: %v", err)
	}
	if _, err := gatewayimport.Read(gatewayimport.OpenRouter, nil, world()); !fault.Is(err, fault.Invalid) {
		t.Errorf("no files: %v", err)
	}
}

// A limit in rubles never lets more be spent than the one in dollars, and less than a nano-ruble is lost.
func TestLimitsAreNeverHigher(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		dollars := big.NewRat(rapid.Int64Range(0, 1_000_000_000_000).Draw(t, "dollars"), rapid.SampledFrom([]int64{1, 100, 1_000_000, 1_000_000_000_000}).Draw(t, "of"))
		text := dollars.FloatString(12)
		dollars.SetString(text)
		w := world()
		w.Rate = big.NewRat(rapid.Int64Range(1, 10_000_000).Draw(t, "rate"), 10_000)
		p, err := gatewayimport.Read(gatewayimport.OpenRouter, files(`{"data":[{"hash":"1","name":"a","limit_reset":"daily","limit":`+text+`}]}`), w)
		if err != nil {
			t.Fatal(err)
		}
		exact := new(big.Rat).Mul(dollars, w.Rate)
		exact.Mul(exact, big.NewRat(1_000_000_000, 1))
		k := p.Keys[0]
		if k.Limit == nil {
			if k.Refused != gatewayimport.WrongLimit || exact.Cmp(big.NewRat(1<<62, 1)) < 0 {
				t.Fatalf("the limit of %s dollars is lost: %+v", text, k)
			}
			return
		}
		lost := exact.Sub(exact, new(big.Rat).SetInt64(int64(k.Limit.Amount)))
		if lost.Sign() < 0 || lost.Cmp(big.NewRat(1, 1)) >= 0 {
			t.Fatalf("%s dollars at %s are %s", text, w.Rate, k.Limit.Amount)
		}
	})
}

// An allowance of others never becomes one of a shorter time, save that of 30 days, which is a month there too.
func TestIntervalsAreNeverShorter(t *testing.T) {
	t.Parallel()
	lengths := map[apikey.Reset]int64{apikey.Daily: 86400, apikey.Weekly: 7 * 86400, apikey.Monthly: 30 * 86400, apikey.Never: 1 << 62}
	units := map[string]int64{"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400, "mo": 30 * 86400}
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]string{"s", "m", "h", "d", "w", "mo"}).Draw(t, "unit")
		n := rapid.Int64Range(1, 100_000).Draw(t, "n")
		p, err := gatewayimport.Read(gatewayimport.LiteLLM, files(`{"keys":[{"key_alias":"a","max_budget":1,"budget_duration":"`+big.NewInt(n).String()+unit+`"}]}`), world())
		if err != nil || p.Keys[0].Limit == nil {
			t.Fatalf("%v %+v", err, p)
		}
		if lengths[p.Keys[0].Limit.Reset] < n*units[unit] {
			t.Fatalf("%d%s became %q", n, unit, p.Keys[0].Limit.Reset)
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add(gatewayimport.LiteLLM, []byte(configuration))
	f.Add(gatewayimport.LiteLLM, []byte(`{"keys":[{"key_alias":"k","models":["cheap"],"max_budget":1.5,"budget_duration":"1mo"}]}`))
	f.Add(gatewayimport.LiteLLM, []byte(`{"key":"1","info":{"key_alias":"k"}}`))
	f.Add(gatewayimport.OpenRouter, []byte(`{"data":[{"hash":"1","name":"a","limit":1e3},{"slug":"x","designated_version":{"config":{"model":"gpt","provider":{"max_price":{"prompt":"1e-3"}}}}}]}`))
	f.Add(gatewayimport.NewAPI, []byte(`{"data":{"items":[{"name":"a","remain_quota":-5,"model_limits_enabled":1,"model_limits":"gpt,x","allow_ips":"10.0.0.1\n::1","expired_time":-1}]}}`))
	f.Add(gatewayimport.OneAPI, []byte(`{"options":[{"key":"QuotaPerUnit","value":"1e3"}],"channels":[{"type":1,"models":"a","model_mapping":"{\"a\":\"b\",\"b\":\"a\"}","key":"k"}],"tokens":[{"remain_quota":1,"models":"a","subnet":"10.0.0.0/8,x"}]}`))
	f.Fuzz(func(t *testing.T, source string, text []byte) {
		p, err := gatewayimport.Read(source, []gatewayimport.File{{Name: "x", Text: text}}, world())
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Fatal(err)
			}
			return
		}
		names := map[string]bool{}
		for _, k := range p.Keys {
			if k.Refused == "" && (k.Name == "" || names[k.Name]) {
				t.Fatalf("%q", k.Name)
			}
			names[k.Name] = true
			n := apikey.NewKey{Name: k.Name, Limit: k.Limit, Rates: k.Rates, Addresses: k.Addresses, ExpiresAt: k.ExpiresAt}
			if k.Refused == "" && n.Check(now) != nil {
				t.Fatalf("%+v: %v", k, n.Check(now))
			}
		}
		for _, s := range p.Presets {
			if s.Refused == "" && !json.Valid(s.Content) {
				t.Fatalf("%s", s.Content)
			}
		}
	})
}

// The worst that 1 MiB may be costs no more than is charged for it before it is read.
func TestMemoryIsBounded(t *testing.T) {
	fill := func(head, piece string) string {
		return head + strings.Repeat(piece, (gatewayimport.MaxBytes-len(head)-1)/len(piece)) + "\n"
	}
	for name, text := range map[string]string{
		"lists in a line":         fill("a: [", "[],"),
		"as many as are read":     fill("a: ["+strings.Repeat("[],", 19_000)+"]\n#", " "),
		"objects in a line":       fill("a: [", "{},"),
		"numbers in a line":       fill("a: [", "1,"),
		"items":                   fill("a:\n", "-\n"),
		"items in items":          fill("a: ", "- "),
		"names":                   fill("", "a:\n"),
		"questions":               fill("", "?\n"),
		"JSON":                    fill("[", "[],"),
		"JSON of names":           fill("{", `"a":1,`),
		"brackets that stay open": fill("a: ", "["),
		"a long text":             fill("a: |\n", " weir\n"),
		"comments":                fill("a: 1\n", "#\n"),
		"texts in quotes":         fill("a: [", "'',"),
		"a text that is escaped":  fill("a: \"", `\n`),
	} {
		files := []gatewayimport.File{{Name: "worst", Text: []byte(text)}}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = gatewayimport.Read(gatewayimport.LiteLLM, files, gatewayimport.World{})
		runtime.ReadMemStats(&after)
		took := int64(after.TotalAlloc - before.TotalAlloc)
		if most := gatewayimport.Memory(files); took > most || most > 64<<20 {
			t.Errorf("%s: %d bytes were taken in all, %d are charged", name, took, most)
		}
	}
}
