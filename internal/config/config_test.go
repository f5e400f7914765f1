package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"

	"weir/internal/catalog"
	"weir/internal/catalog/builtin"
	"weir/internal/config"
	"weir/internal/money"
	"weir/internal/outbound"
	"weir/internal/secret"
)

func env(pairs ...string) config.Lookup {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) (string, bool) { v, ok := m[name]; return v, ok }
}

func write(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "weir.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var same = cmp.Options{
	cmpopts.IgnoreUnexported(config.Config{}), cmp.Comparer(func(a, b secret.Text) bool { return a.Reveal() == b.Reveal() }), cmpopts.EquateEmpty(), cmpopts.EquateComparable(outbound.Proxy{}),
	cmp.FilterValues(func(a, b any) bool { return isFunc(a) && isFunc(b) }, cmp.Ignore()), // what app sets is no setting
}

func isFunc(x any) bool { return x != nil && reflect.TypeOf(x).Kind() == reflect.Func }

func TestDefaultsAreValid(t *testing.T) {
	t.Parallel()
	c, err := config.Load("", env(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(config.Default(), c, same); d != "" {
		t.Error(d)
	}
	if got := c.StorePath(); got != filepath.Join("weir-data", "weir.db") {
		t.Errorf("store is %s", got)
	}
}

// example returns the paths of the example file, and of a copy in which the settings in comments are active.
func example(t testing.TB) (path, full string) {
	t.Helper()
	path = filepath.Join("..", "..", "weir.example.yaml")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, regexp.MustCompile(`(?m)^#(\S|  )`).ReplaceAllString(string(data), "$1")
}

func TestExampleShowsTheDefaults(t *testing.T) {
	t.Parallel()
	path, _ := example(t)
	c, err := config.Load(path, env(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(config.Default(), c, same); d != "" {
		t.Errorf("the example differs from the defaults (-default +example):\n%s", d)
	}
}

func TestExampleIsValidWithAllSettingsActive(t *testing.T) {
	t.Parallel()
	_, full := example(t)
	c, err := config.Load(write(t, full), env("LOCAL_API_KEY", "k1", "OPENAI_API_KEY", "k2"), nil)
	if err != nil {
		t.Fatal(err)
	}
	snap, err := catalogOf(&c, env("LOCAL_API_KEY", "k1", "OPENAI_API_KEY", "k2"))
	if err != nil {
		t.Fatal(err)
	}
	m, ok := snap.Model("qwen/qwen3-32b")
	if !ok || m.Name != "Qwen3 32B" || m.Endpoints[0].Tag != "local/eu" || m.Endpoints[0].Provider.Key != "k1" || m.Endpoints[0].UpstreamID != "Qwen/Qwen3-32B" {
		t.Errorf("qwen/qwen3-32b is %+v", m)
	}
	if p := snap.Providers["openai"]; p == nil || p.Key != "k2" || p.DataPolicy != catalog.PolicyTransient {
		t.Errorf("openai is %+v", p)
	}
}

func TestExampleNamesEveryKey(t *testing.T) {
	t.Parallel()
	_, full := example(t)
	var tree any
	if err := yaml.Unmarshal([]byte(full), &tree); err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	collect(shown, tree, "")
	for _, path := range keys(reflect.TypeFor[config.Config](), "") {
		if !shown[path] {
			t.Errorf("the example does not show %s", path)
		}
	}
}

func collect(into map[string]bool, v any, path string) {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			into[strings.TrimPrefix(path+"."+k, ".")] = true
			collect(into, inner, strings.TrimPrefix(path+"."+k, "."))
		}
	case []any:
		for _, inner := range v {
			collect(into, inner, path)
		}
	}
}

// keys lists the paths of a struct. List items share one path. Prices are listed once, under prices, and facts of models under families.
func keys(t reflect.Type, path string) []string {
	for t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[secret.Text]() || t == reflect.TypeFor[config.Builtin]() || t == reflect.TypeFor[config.Prices]() && path != "providers.models.prices" ||
		t == reflect.TypeFor[catalog.Facts]() && path != "families.facts" {
		return nil
	}
	var out []string
	for name, of := range config.Settings(t) {
		inner := strings.TrimPrefix(path+"."+name, ".")
		out = append(out, inner)
		out = append(out, keys(of, inner)...)
	}
	return out
}

func TestDocumentationNamesBuiltinProviders(t *testing.T) {
	t.Parallel()
	path, _ := example(t)
	page := filepath.Join("..", "..", "docs", "catalog.md")
	for _, file := range []string{path, page} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range builtin.Providers() {
			if p.Template && file != page {
				continue
			}
			for _, variable := range p.KeyVariables {
				if !bytes.Contains(data, []byte(variable)) {
					t.Errorf("%s does not name %s", file, variable)
				}
			}
		}
	}
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	file := write(t, "server:\n  listen: 127.0.0.1:1001\n  admin_listen: 127.0.0.1:1002\n  shutdown_delay: 1s\ndata_dir: from-file\n")
	vars := env("WEIR_SERVER_LISTEN", "127.0.0.1:2001", "WEIR_SERVER_ADMIN_LISTEN", "off", "WEIR_SERVER_LIMITS_MAX_BODY_BYTES", "2MiB",
		"WEIR_SERVER_TRUSTED_PROXIES", "10.0.0.0/8, 192.0.2.1", "WEIR_BUILTIN", "groq", "WEIR_LOG_ACCESS", "false", "WEIR_LEDGER_STORE_FOR", "20ms",
		"WEIR_RELAY_MAX_ATTEMPTS", "3", "WEIR_PRICING_RUB_PER_USD", "92.5")
	c, err := config.Load(file, vars, config.Overlay{"server.listen": "127.0.0.1:3001", "relay.slice_tokens": "77"})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	want.Server.Listen, want.Server.AdminListen, want.Server.ShutdownDelay, want.DataDir = "127.0.0.1:3001", "off", time.Second, "from-file"
	want.Server.MaxBody, want.Server.TrustedProxies = 2<<20, []string{"10.0.0.0/8", "192.0.2.1"}
	want.Builtin, want.Log.Access = config.Builtin{Only: []string{"groq"}}, false
	want.Ledger.StoreFor, want.Relay.MaxAttempts, want.Relay.SliceTokens, want.Pricing.RubPerUSD = 20*time.Millisecond, 3, 77, "92.5"
	if d := cmp.Diff(want, c, same); d != "" {
		t.Error(d)
	}
	prefixes, err := config.Networks(c.Server.TrustedProxies)
	if err != nil || fmt.Sprint(prefixes) != "[10.0.0.0/8 192.0.2.1/32]" {
		t.Errorf("prefixes %v, %v", prefixes, err)
	}
}

// Each case is a file, and a part of the error that it must cause, with the position.
func TestErrors(t *testing.T) {
	t.Parallel()
	const provider = "providers:\n- id: p\n  base_url: http://h/v1\n"
	cases := []struct{ name, text, want string }{
		{"unknown key with suggestion", "server:\n  listne: x", `weir.yaml:2: there is no key "listne" in server; did you mean listen?`},
		{"unknown key at the top", "\nprovider: []", `weir.yaml:2: there is no key "provider"; did you mean providers?`},
		{"unknown key without a near one", "store:\n  zzzzzz: 1", `weir.yaml:2: there is no key "zzzzzz" in store; known here: dsn`},
		{"unknown quirk", provider + "  quirks:\n    think_tag: true", `weir.yaml:5: there is no key "think_tag" in providers[0].quirks; did you mean think_tags?`},
		{"duplicate key", "data_dir: a\nstore: {dsn: \"\"}\ndata_dir: b", `weir.yaml:3: the key "data_dir" occurs already in line 1`},
		{"duplicate key inside", "server:\n  cors: true\n  cors: false", `weir.yaml:3: the key "cors" occurs already in line 2`},
		{"list for a mapping", "server: [a]", `weir.yaml:1: server must be a mapping (key: value), not a list`},
		{"text for a mapping", "- a", `weir.yaml:1: the file must be a mapping`},
		{"mapping for a list", "providers: {id: x}", `weir.yaml:1: providers must be a list, not a mapping`},
		{"mapping for a text", "data_dir: {a: b}", `weir.yaml:1: data_dir must be text, not a mapping`},
		{"bool for a text", "data_dir: true", `weir.yaml:1: data_dir must be text, not true`},
		{"no duration", "server:\n  drain_timeout: 30", `weir.yaml:2: server.drain_timeout: "30" is not a duration`},
		{"negative duration", "stream:\n  keepalive_interval: -1s", `weir.yaml:2: stream.keepalive_interval: the duration "-1s" is negative`},
		{"no size", "runtime:\n  memory_limit: 1.5GiB", `weir.yaml:2: runtime.memory_limit: "1.5GiB" is not a size`},
		{"a size that cannot be auto", "server: {limits: {max_body_bytes: auto}}", `server.limits.max_body_bytes: "auto" is not a size`},
		{"no bool", "log:\n  access: yes please", `weir.yaml:2: log.access: "yes please" is neither true nor false`},
		{"no number", "relay:\n  max_attempts: six", `weir.yaml:2: relay.max_attempts: "six" is not a whole number`},
		{"no decimal", "pricing:\n  rub_per_usd: 1e2", `weir.yaml:2: pricing.rub_per_usd: "1e2" is not a decimal number`},
		{"broken yaml", "server:\n\tlisten: x", `weir.yaml: line 2`},
		{"zero rate", "pricing:\n  rub_per_usd: 0", `weir.yaml:2: pricing.rub_per_usd: rub_per_usd must be`},
		{"not one of", "journal:\n  sync: sometimes", `weir.yaml:2: journal.sync: "sometimes" is not one of interval, always, never`},
		{"no address", "server:\n  listen: localhost", `weir.yaml:2: server.listen: "localhost" is not an address`},
		{"both listeners alike", "server: {listen: \"127.0.0.1:1\", admin_listen: \"127.0.0.1:1\"}", `server.admin_listen: it must differ`},
		{"no prefix", "server:\n  trusted_proxies: [home]", `weir.yaml:2: server.trusted_proxies: "home" is neither`},
		{"another store", "store:\n  dsn: mysql://u:geheim@h/d", `weir.yaml:2: store.dsn: the store "mysql" is not supported`},
		{"zero limit", "server:\n  limits: {max_connections: 0}", `server.limits.max_connections: it must be above 0`},
		{"silence of a family", "families:\n  - models: [m]\n    facts: {first_byte_timeout: 360s}", `families[0]: first_byte_timeout and leave_after must be shorter than relay.attempt_budget (6m0s)`},
		{"silence of a provider", "relay: {attempt_budget: 301s}\nproviders:\n  - id: p\n    base_url: http://localhost:1/v1\n    facts: {leave_after: 302s}\n    models: []", `providers[0]: provider "p": first_byte_timeout and leave_after must be shorter than relay.attempt_budget (5m1s)`},
		{"the first byte after the last attempt", "relay:\n  attempt_budget: 10s", `weir.yaml:2: relay.attempt_budget: it must be longer`},
		{"unknown built-in", "builtin: [opnai]", `weir.yaml:1: builtin: there is no built-in provider "opnai"; did you mean openai?`},
		{"provider without id", "providers:\n- base_url: http://h", `weir.yaml:2: providers[0]: it has no id`},
		{"provider without address", "providers:\n- id: p", `weir.yaml:2: providers[0]: the provider "p" needs base_url`},
		{"provider twice", provider + "- id: p\n  base_url: http://h", `weir.yaml:4: providers[1].id: the provider "p" is declared twice`},
		{"unknown dialect", provider + "  dialect: opneai", `weir.yaml:4: providers[0].dialect: the dialect "opneai" is not known; did you mean openai?`},
		{"credentials in the address", "providers:\n- id: p\n  base_url: http://u:geheim@h/v1", `weir.yaml:2: providers[0]: provider "p": its base URL must not contain credentials`},
		{"unknown data policy", provider + "  data_policy: nice", `the data policy "nice" is not one of`},
		{"variable not set", provider + "  api_key: ${NOT_SET}", `weir.yaml:4: providers[0].api_key: the environment variable NOT_SET is not set`},
		{"header that cannot be sent", provider + "  headers: {\"a b\": x}", `providers[0].headers: the header "a b" cannot be sent`},
		{"model without vendor", provider + "  models:\n  - {id: m, prices: {prompt: 1, completion: 1}}", `weir.yaml:5: provider "p", model "m": the model id "m" has no vendor`},
		{"model without price", provider + "  models:\n  - id: v/m", `weir.yaml:5: provider "p", model "v/m": it has no price for prompt and completion`},
		{"two currencies", provider + "  models:\n  - {id: v/m, prices: {prompt: 1, completion: 1}, price_usd: {prompt: 1}}", `weir.yaml:5: providers[0].models[0]: prompt has a price in rubles and one in dollars`},
		{"price with too many digits", provider + "  models:\n  - {id: v/m, prices: {prompt: 0.0000000001, completion: 1}}", `the price of prompt`},
		{"unknown parameter", provider + "  models:\n  - {id: v/m, params: [temprature]}", `there is no parameter "temprature"; did you mean temperature?`},
		{"unknown modality", provider + "  models:\n  - {id: v/m, input: [smell]}", `"smell" is not one of text, image`},
		{"offered twice", provider + "  models:\n  - &m {id: v/m, prices: {prompt: 1, completion: 1}}\n  - *m", `it is offered twice under the tag "p"`},
		{"hours past midnight", provider + "  models:\n  - {id: v/m, prices: {prompt: 1, completion: 1}, hours: [{from: '22:00', to: '02:00', prices: {prompt: 2}}]}", `from must be before to`},
		{"hours that nothing knows", provider + "  models:\n  - {id: v/m, prices: {prompt: 1, completion: 1}, hours: [{from: '1', to: '02:00', zone: Mars, prices: {prompt: 2}}]}", `is no time of the day`},
		{"hours of minutes", provider + "  models:\n  - {id: v/m, prices: {prompt: 1, completion: 1}, hours: [{from: '01:00', to: '02:00', prices: {minute: 2}}]}", `hours cannot change the price of minutes`},
		{"thresholds that do not ascend", provider + "  models:\n  - {id: v/m, prices: {prompt: 1, completion: 1}, thresholds: [{above: 5}, {above: 5}]}", `thresholds must be above 0 and ascend`},
		{"model description without vendor", "models:\n- id: m", `weir.yaml:2: models[0].id: the model id "m" has no vendor`},
		{"no day", "models:\n- {id: v/m, created: soon}", `models[0].created: "soon" is not a day`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := config.Load(write(t, c.text), env(), nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error is %v\nwant %s", err, c.want)
			}
			if strings.Contains(err.Error(), "geheim") {
				t.Errorf("the error contains a password: %v", err)
			}
		})
	}
}

// All errors of a file are shown in one run, and none that only follows from another one.
func TestErrorsAreShownTogether(t *testing.T) {
	t.Parallel()
	const provider = "providers:\n- id: p\n  base_url: http://h/v1\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"values of all kinds, rules and the catalog": {"server:\n  drain_timeout: 30\n  listen: localhost\n  listne: x\nruntime:\n  memory_limit: 1.5GiB\njournal:\n  sync: pink\nlog:\n  access: maybe\n  level: loud\nvideo: [a]\n" +
			provider + "  models:\n  - {id: m, prices: {prompt: 1, completion: 1}}\n  dialect: opneai",
			[]string{":2: server.drain_timeout", ":3: server.listen", ":4: there is no key", ":6: runtime.memory_limit", ":8: journal.sync", ":10: log.access", ":11: log.level", ":12: video must be", ":18: providers[0].dialect", ":17: provider \"p\", model \"m\""}},
		"each stage of the catalog": {"log: {level: loud}\nproviders:\n- id: a\n  base_url: ftp://h\n  models:\n  - {id: v/m, prices: {prompt: 1}}\n  - {id: v/n, params: [temprature], prices: {prompt: 1, completion: 1}}\n" +
			"- id: b\n  name: A\n  base_url: http://h\n  dialect: openai\n  models:\n  - {id: m, prices: {prompt: 1, completion: 1}}\n  - {id: v/w, prices: {prompt: 1, completion: 1}}\n- id: c\n  models: [{id: v/x, prices: {prompt: 1}}]\n" +
			"- id: d\n  base_url: http://h\n  models:\n  - {id: v/y, prices: {prompt: x}}\n  - {id: v/z, tier: pink, prices: {prompt: 1, completion: 1}}\n  - {id: v/m, region: \"*\", prices: {prompt: 1, completion: 1}}\n" +
			"models:\n- {id: v/w, type: pink}\n- {id: v/q, context_length: -1}\n- {id: v/r, created: today}\n- {id: v/s}\n- {id: v/s}\nfamilies:\n- models: [gpt]\n- facts: {}\n",
			[]string{":1: log.level", ":3: providers[0]: provider \"a\": its base URL", ":6: provider \"a\", model \"v/m\": it has no price", ":7: providers[0].models[1].params[0]",
				":8: providers[1]: provider \"b\": the name \"A\"", ":13: provider \"b\", model \"m\"", ":15: providers[2]: the provider \"c\" needs base_url", ":16: provider \"c\", model \"v/x\"",
				":20: providers[3].models[0].prices.prompt", ":21: provider \"d\", model \"v/z\": the tier", ":22: provider \"d\", model \"v/m\": the region",
				":24: models[0]: model \"v/w\": the type", ":25: models[1].context_length", ":26: models[2].created", ":28: models[4].id", ":31: families[1]: it names no models"}},
		"rules and the catalog":                   {"log: {level: loud}\n" + provider + "  models:\n  - {id: m, prices: {prompt: 1, completion: 1}}", []string{"log.level", `model "m"`}},
		"a rule that compares with what is wrong": {"sign_in:\n  session_idle: 5\n  session_max: 10s", []string{":2: sign_in.session_idle"}},
		"a rule that compares with a misspelling": {"sign_in:\n  session_idel: 5s\n  session_max: 10s", []string{":2: there is no key"}},
		"across sections":                         {"upstream: {first_byte_timeout: 5, stream_first_byte_timeout: 5}\nrelay: {attempt_budget: 10s}", []string{"upstream.first_byte", "upstream.stream_first"}},
		"an address that is none":                 {"providers:\n- id: p\n  base_url: [a]\n  dialect: opneai", []string{":3: providers[0].base_url", ":4: providers[0].dialect"}},
		"an address that is misspelt":             {"providers:\n- id: p\n  base_ulr: http://h\n", []string{":3: there is no key"}},
		"an unknown server":                       {"log: {level: loud}\nproviders:\n- id: p\n  like: vlllm\n  models: [{id: a/b}]", []string{"providers[0].like", "log.level"}},
		"a price that is none":                    {provider + "  models:\n  - {id: v/m, prices: {prompt: x, completion: 1}}\n  - {id: w, prices: {prompt: 1, completion: 1}}", []string{"models[0].prices.prompt", `model "w"`}},
		"a missing variable":                      {provider + "  api_key: ${NOT_SET}\n  dialect: opneai", []string{"NOT_SET", "opneai"}},
		"a file that is no YAML":                  {"server:\n\tlisten: x\nlog: {level: loud}", []string{"line 2"}},
		"a file that is a list":                   {"- a", []string{"the file must be a mapping"}},
	} {
		_, err := config.Load(write(t, c.text), env(), nil)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		if lines := strings.Split(err.Error(), "\n"); len(lines) != len(c.want) {
			t.Errorf("%s: %d errors, want %d:\n%v", name, len(lines), len(c.want), err)
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: no error has %q:\n%v", name, want, err)
			}
		}
	}
}

func TestErrorsOfOtherPlaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		load func() error
		want string
	}{
		{"missing file", func() error { _, err := config.Load("/nonexistent/weir.yaml", env(), nil); return err }, "does not exist"},
		{"variable", func() error { _, err := config.Load("", env("WEIR_LOG_LEVEL", "loud"), nil); return err }, `WEIR_LOG_LEVEL: log.level: "loud" is not one of`},
		{"ill-typed variable", func() error { _, err := config.Load("", env("WEIR_SERVER_CORS", "1"), nil); return err }, `WEIR_SERVER_CORS: server.cors: "1" is neither`},
		{"flag", func() error { _, err := config.Load("", env(), config.Overlay{"server.listen": "x"}); return err }, `a flag: server.listen: "x" is not an address`},
		{"unknown flag", func() error { _, err := config.Load("", env(), config.Overlay{"server.lsten": "x"}); return err }, `a flag: there is no setting "server.lsten"; did you mean listen?`},
		{"two at once", func() error {
			_, err := config.Load("", env("WEIR_LOG_LEVEL", "loud", "WEIR_JOURNAL_SYNC", "pink"), nil)
			return err
		}, "WEIR_JOURNAL_SYNC"},
		{"an empty variable is none", func() error {
			_, err := config.Load("", env("WEIR_SERVER_SHUTDOWN_DELAY", "", "WEIR_LOG_LEVEL", "loud"), nil)
			return err
		}, `WEIR_LOG_LEVEL: log.level: "loud"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if err := c.load(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want %s", err, c.want)
			}
		})
	}
}

func TestSecretsNeverPrint(t *testing.T) {
	t.Parallel()
	const canary = "canary-4711"
	c, err := config.Load(write(t, "providers:\n- {id: p, base_url: \"http://h\", api_key: canary-4711, headers: {X-Key: canary-4711}}"), env("OPENAI_API_KEY", canary+"-env"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "config", c, "key", c.Providers[0].APIKey)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "config", c, "key", c.Providers[0].APIKey)
	asJSON, err := json.Marshal(c.Providers)
	if err != nil {
		t.Fatal(err)
	}
	asYAML, err := yaml.Marshal(c.Providers)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c), fmt.Sprintf("%s %q %x %d", c.Providers[0].APIKey, c.Providers[0].APIKey,
		c.Providers[0].APIKey, c.Providers[0].APIKey), log.String(), string(asJSON), string(asYAML)} {
		if strings.Contains(text, canary) || strings.Contains(text, fmt.Sprintf("%x", canary)) {
			t.Errorf("the secret shows: %s", text)
		}
		if !strings.Contains(text, "***") {
			t.Errorf("nothing shows that there is a secret: %s", text)
		}
	}
	if c.Providers[0].APIKey.Reveal() != canary || !slices.Equal(c.Secrets(), []string{canary + "-env", canary, canary}) {
		t.Error("the secret was lost")
	}
	if fmt.Sprint(secret.Text{}) != "" {
		t.Error("no secret shows as one")
	}
}

// Logs redact the secrets of every section.
func TestSecretsOfAllSections(t *testing.T) {
	t.Parallel()
	bucket := func(of string) string {
		return "s3: {access_key: a-" + of + ", secret_key: s-" + of + ", session_token: t-" + of + "}}\n"
	}
	c, err := config.Load(write(t, "mail: {password: m-1}\npayments: {yookassa: {secret_key: y-1}}\ntracing: {headers: [\"X: h-1\"]}\n"+
		"video: {"+bucket("video")+"batch: {"+bucket("batch")+"export: {"+bucket("export")), env(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := c.Secrets()
	for _, want := range []string{"m-1", "y-1", "h-1", "a-video", "s-video", "t-video", "a-batch", "s-batch", "t-batch", "a-export", "s-export", "t-export"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not redacted", want)
		}
	}
}

// Amounts are read as what is paid, from a file and from a variable, and each that cannot be is named.
func TestAmounts(t *testing.T) {
	t.Parallel()
	want := []money.Nano{200 * money.Ruble, 1500*money.Ruble + money.Ruble/2}
	for name, load := range map[string]func() (config.Config, error){
		"file": func() (config.Config, error) {
			return config.Load(write(t, "payments: {amounts: [200, \"1500.5\"]}"), env(), nil)
		},
		"variable": func() (config.Config, error) {
			return config.Load("", env("WEIR_PAYMENTS_AMOUNTS", "200, 1500.50"), nil)
		},
	} {
		if c, err := load(); err != nil || !slices.Equal(c.Payments.Amounts, want) {
			t.Errorf("%s: %v, %v", name, c.Payments.Amounts, err)
		}
	}
	_, err := config.Load("", env("WEIR_PAYMENTS_AMOUNTS", "200,1.234"), nil)
	if err == nil || !strings.Contains(err.Error(), `WEIR_PAYMENTS_AMOUNTS: payments.amounts[1]: it must be rubles with at most two decimals, such as "500"`) {
		t.Error(err)
	}
}

func TestSecretSources(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // independent of the umask
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct{ name, value, want, fails string }{
		{"variable in braces", "${KEY}", "from-env", ""},
		{"variable with env", "env:KEY", "from-env", ""},
		{"empty variable", "env:EMPTY", "", "EMPTY is not set"},
		{"literal", "sk-literal", "sk-literal", ""},
		{"file", "file:" + file("good", "from-file\n", 0o600), "from-file", ""},
		{"file read-only", "file:" + file("ro", "from-file", 0o400), "from-file", ""},
		{"file readable by group", "file:" + file("group", "x", 0o640), "", "may be read by others (mode 0640)"},
		{"file readable by all", "file:" + file("all", "x", 0o604), "", "may be read by others (mode 0604)"},
		{"empty file", "file:" + file("none", "\n", 0o600), "", "is empty"},
		{"missing file", "file:" + filepath.Join(dir, "nope"), "", "cannot be read"},
		{"folder", "file:" + dir, "", "is not a regular file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := config.Load(write(t, "providers:\n- {id: p, base_url: \"http://h\", api_key: \""+c.value+"\"}"), env("KEY", "from-env", "EMPTY", ""), nil)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Fatalf("error is %v, want %s", err, c.fails)
				}
				return
			}
			if err != nil || got.Providers[0].APIKey.Reveal() != c.want {
				t.Fatalf("got %q and %v, want %q", got.Providers[0].APIKey.Reveal(), err, c.want)
			}
		})
	}
}

func TestDeclaredPrices(t *testing.T) {
	t.Parallel()
	c, err := config.Load(write(t, `
pricing: {rub_per_usd: 90, margin: "0.1", version: autumn}
providers:
- id: p
  base_url: http://h/v1/
  models:
  - id: v/rubles
    prices: {prompt: 0.05, completion: "0.15", request: 2}
    thresholds: [{above: 1000, prices: {prompt: 0.1}}]
  - id: v/dollars
    price_usd: {prompt: 2.5, completion: 10, request: 0.01}
`), env(), nil)
	if err != nil {
		t.Fatal(err)
	}
	snap, err := catalogOf(&c, env())
	if err != nil {
		t.Fatal(err)
	}
	p := func(text string) money.Price {
		price, err := money.ParsePrice(text)
		if err != nil {
			t.Fatal(err)
		}
		return price
	}
	rubles, _ := snap.Model("v/rubles")
	want := catalog.Prices{Prompt: p("0.05"), Completion: p("0.15"), Request: p("2")}
	got := rubles.Endpoints[0].Pricing
	if got.Base != want || got.Rate != "" || got.Thresholds[0].Prices.Prompt != p("0.1") || !strings.HasPrefix(got.List, "declared-") ||
		got.Source != "RUB per 1K tokens prompt 0.05, completion 0.15, request 2; above 1000: RUB per 1K tokens prompt 0.1" {
		t.Errorf("rubles: %+v", got)
	}
	dollars, _ := snap.Model("v/dollars")
	// 2.5 dollars per million at 99 rubles: 0.2475 per thousand
	want = catalog.Prices{Prompt: p("0.2475"), Completion: p("0.99"), Request: p("0.99")}
	want.Prompt.Dollars, want.Completion.Dollars, want.Request.Dollars = "2.5", "10", "0.01"
	if got := dollars.Endpoints[0].Pricing; got.Base != want || got.Rate != "autumn usd=90 margin=0.1" {
		t.Errorf("dollars: %+v", got)
	}
	if got := dollars.Endpoints[0].Provider.BaseURL; got != "http://h/v1" {
		t.Errorf("base URL %s", got)
	}
}

func TestKeysEnableBuiltinProviders(t *testing.T) {
	t.Parallel()
	on := env("OPENAI_API_KEY", "k1", "GROQ_API_KEY", "k2", "XAI_API_KEY", "")
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"by default", "", []string{"groq", "openai"}},
		{"switched off", "builtin: false", nil},
		{"only some", "builtin: [groq, mistral]", []string{"groq"}},
		{"declared with own models", "providers: [{id: groq, base_url: \"http://h\", models: [{id: v/m, prices: {prompt: 1, completion: 1}}]}]", []string{"groq", "openai"}},
		{"declared without models, not in the list", "builtin: [groq]\nproviders: [{id: mistral, api_key: k3}]", []string{"groq", "mistral"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg, err := config.Load(write(t, c.text), on, nil)
			if err != nil {
				t.Fatal(err)
			}
			snap, err := catalogOf(&cfg, on)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for id := range snap.Providers {
				got = append(got, id)
			}
			slices.Sort(got)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if c.name == "declared with own models" {
				if p := snap.Providers["groq"]; p.BaseURL != "http://h" || len(snap.Providers["groq"].Key) != 0 {
					t.Errorf("groq is %+v", p)
				}
			}
		})
	}
}

func TestDeclaredModelOverridesBuiltinOne(t *testing.T) {
	t.Parallel()
	on := env("OPENAI_API_KEY", "k1")
	cfg, err := config.Load(write(t, "models: [{id: openai/gpt-4o, name: House model}]"), on, nil)
	if err != nil {
		t.Fatal(err)
	}
	snap, err := catalogOf(&cfg, on)
	if err != nil {
		t.Fatal(err)
	}
	if m, _ := snap.Model("openai/gpt-4o"); m.Name != "House model" || m.Created.IsZero() || len(m.Endpoints) == 0 {
		t.Errorf("%+v", m)
	}
	cfg, err = config.Load(write(t, "models: [{id: openai/whisper-1, description: Hears}]"), on, nil)
	if err != nil {
		t.Fatal(err)
	}
	if snap, err = catalogOf(&cfg, on); err != nil {
		t.Fatal(err)
	}
	if m, _ := snap.Model("openai/whisper-1"); m.Description != "Hears" || m.Type != catalog.TypeTranscription {
		t.Errorf("%+v", m)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("server: {listen: x}\nproviders: [{id: a, models: [{id: v/m}]}]")
	f.Add("a: &a [*a]\n<<: *a")
	f.Add("builtin: [x]\nmodels: [null, {id: null}]")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := config.Parse([]byte(text), env())
		if err == nil {
			if err := c.Validate(); err != nil {
				t.Fatalf("loaded, but not valid: %v", err)
			}
		}
	})
}

// A mistake that a long list repeats does not hide the first errors.
func TestManyErrors(t *testing.T) {
	for name, c := range map[string]struct {
		each string
		n    int
		more string
	}{
		"unknown keys":      {"{id: v/m%d, max: 1}", 40, "and 10 more errors"},
		"wrong values":      {"{id: v/m%d, params: [x]}", 1000, "and 970 more errors"},
		"as many as we say": {"{id: v/m%d, max: 1}", 30, ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := "providers:\n  - id: p\n    base_url: http://127.0.0.1:1/v1\n    models:\n"
			for i := range c.n {
				text += "      - " + fmt.Sprintf(c.each, i) + "\n"
			}
			_, err := config.Load(write(t, text), env(), nil)
			if err == nil {
				t.Fatal("it is taken")
			}
			lines := strings.Split(err.Error(), "\n")
			if c.more != "" {
				if last := lines[len(lines)-1]; last != c.more {
					t.Errorf("the last line is %q", last)
				}
				lines = lines[:len(lines)-1]
			}
			if len(lines) != 30 {
				t.Errorf("%d errors", len(lines))
			}
		})
	}
}
