package config_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/catalog"
	"weir/internal/config"
	"weir/internal/money"
	"weir/internal/rate"
)

// build loads a configuration and builds its catalog.
func build(t *testing.T, text string, on config.Lookup) (*catalog.Snapshot, error) {
	t.Helper()
	cfg, err := config.Load(write(t, text), on, nil)
	if err != nil {
		return nil, err
	}
	return catalogOf(&cfg, on)
}

// catalogOf builds the catalog of a configuration, with the built-in providers whose key variable is set.
func catalogOf(c *config.Config, on config.Lookup) (*catalog.Snapshot, error) {
	d, err := declaredBy(c, on)
	if err != nil {
		return nil, err
	}
	return catalog.Build(d)
}

// declaredBy returns the same before it is checked.
func declaredBy(c *config.Config, on config.Lookup) (catalog.Declared, error) {
	r, err := rate.At(c.Rate(), nil, time.Now())
	if err != nil {
		return catalog.Declared{}, err
	}
	b, err := c.Base(on, r, nil)
	if err != nil {
		return catalog.Declared{}, err
	}
	return b.Declared, nil
}

const free = `prices: {prompt: "0", completion: "0"}`

func TestLikeAKnownServer(t *testing.T) {
	t.Parallel()
	on := env("YANDEX_API_KEY", "ya-key", "YANDEX_FOLDER_ID", "b1g", "AZURE_OPENAI_ENDPOINT", "https://acme.openai.azure.com/", "AZURE_OPENAI_API_KEY", "az-key")
	snap, err := build(t, `
providers:
  - {id: home, like: ollama, models: [{id: qwen/qwen3-8b, upstream_id: "qwen3:8b", `+free+`}]}
  - {id: away, like: vllm, base_url: "http://10.0.0.1:9000/v1", api_key: k, data_policy: retained, quirks: {system_role: true}, models: [{id: v/m, `+free+`}]}
  - {id: ya, like: yandex, models: [{id: yandex/lite, upstream_id: yandexgpt-lite/latest, `+free+`}, {id: yandex/pro, `+free+`}, {id: yandex/own, upstream_id: "gpt://other/x", `+free+`}]}
  - {id: azure, data_policy: zero}
`, on)
	if err != nil {
		t.Fatal(err)
	}
	if p := snap.Providers["home"]; p.BaseURL != "http://localhost:11434/v1" || p.Key != "" || p.DataPolicy != catalog.PolicyZero || p.Quirks.ReasoningReply != "reasoning" {
		t.Errorf("home is %+v", p)
	}
	if p := snap.Providers["away"]; p.BaseURL != "http://10.0.0.1:9000/v1" || p.Key != "k" || p.DataPolicy != catalog.PolicyRetained || !p.Quirks.SystemRole || p.Quirks.MaxTokensField != "" {
		t.Errorf("away is %+v", p)
	}
	if p := snap.Providers["ya"]; p.Key != "ya-key" || p.Quirks.AuthScheme != "Api-Key" {
		t.Errorf("ya is %+v", p)
	}
	for slug, want := range map[string]string{"yandex/lite": "gpt://b1g/yandexgpt-lite/latest", "yandex/pro": "gpt://b1g/pro", "yandex/own": "gpt://other/x", "qwen/qwen3-8b": "qwen3:8b"} {
		if m, ok := snap.Model(slug); !ok || m.Endpoints[0].UpstreamID != want {
			t.Errorf("%s is %+v, want %s", slug, m, want)
		}
	}
	if p := snap.Providers["azure"]; p.BaseURL != "https://acme.openai.azure.com/openai/v1" || p.Quirks.AuthHeader != "api-key" || p.DataPolicy != catalog.PolicyZero {
		t.Errorf("azure is %+v", p)
	}
}

func TestAddressesFromTheEnvironment(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		vars []string
		on   bool
	}{
		{"key alone", []string{"AZURE_OPENAI_API_KEY", "k"}, false},
		{"address alone", []string{"AZURE_OPENAI_ENDPOINT", "https://a.test"}, false},
		{"both", []string{"AZURE_OPENAI_API_KEY", "k", "AZURE_OPENAI_ENDPOINT", "https://a.test"}, true},
		{"the other name of the key", []string{"AZURE_API_KEY", "k", "AZURE_OPENAI_ENDPOINT", "https://a.test"}, true},
		{"a server without models here", []string{"YANDEX_API_KEY", "k", "YANDEX_FOLDER_ID", "f"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			snap, err := build(t, "", env(c.vars...))
			if err != nil {
				t.Fatal(err)
			}
			if got := len(snap.Providers) == 1; got != c.on {
				t.Errorf("providers are %v", snap.Providers)
			}
		})
	}
}

func TestLikeRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"unknown", `providers: [{id: a, like: olama, models: [{id: v/m, ` + free + `}]}]`, `there is no known server "olama"; did you mean ollama?`},
		{"no models", `providers: [{id: a, like: vllm}]`, "models is missing"},
		{"known without models", `providers: [{id: yandex}]`, "Weir has no built-in models of Yandex AI Studio"},
		{"variable not set", `providers: [{id: a, like: yandex, models: [{id: v/m, ` + free + `}]}]`, "the environment variable YANDEX_FOLDER_ID is not set"},
		{"address not set", `providers: [{id: azure, api_key: k}]`, "the environment variable AZURE_OPENAI_ENDPOINT is not set"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := build(t, c.text, env()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want %s", err, c.want)
			}
		})
	}
}

func TestPricesOfEveryType(t *testing.T) {
	t.Parallel()
	snap, err := build(t, `
pricing: {rub_per_usd: "100"}
models:
  - {id: v/hear, type: audio_transcription}
  - {id: v/speak, type: audio_speech}
  - {id: v/embed, type: embedding}
  - {id: v/guard, type: moderation}
  - {id: v/rank, type: rerank}
  - {id: v/paint, type: image}
  - {id: v/film, type: video, hub_id: V/Film, video: {resolutions: [720p], durations: [4, 8], audio: true}}
providers:
  - id: p
    base_url: http://p.test/v1
    models:
      - {id: v/hear, price_usd: {minute: "0.006"}}
      - {id: v/speak, price_usd: {characters: "15"}}
      - {id: v/embed, prices: {prompt: "0.002"}}
      - {id: v/guard, prices: {request: "0"}}
      - {id: v/rank, price_usd: {request: "0.002"}}
      - id: v/paint
        images:
          - {variant: high, resolution: 1024x1024, price: "15"}
          - {component: text_input, unit: tokens_1k, price_usd: "5"}
      - id: v/film
        video: [{resolution: 720p, with_audio: true, price: "10"}, {with_audio: false, price_usd: "0.08"}]
`, env())
	if err != nil {
		t.Fatal(err)
	}
	set := func(nano int64, dollars string) money.Price {
		return money.Price{Nano: nano, Set: true, Dollars: dollars}
	}
	of := func(slug string) *catalog.Pricing {
		m, _ := snap.Model(slug)
		p := &m.Endpoints[0].Pricing
		if p.Source == "" || !strings.HasPrefix(p.List, "declared-") {
			t.Errorf("%s comes from %q of %q", slug, p.Source, p.List)
		}
		return p
	}
	if p := of("v/hear"); p.Minute != set(600_000_000, "0.006") || p.Source != "USD minute 0.006" || p.Rate == "" {
		t.Errorf("hear: %+v", p)
	}
	if p := of("v/speak"); p.Characters != set(1_500_000_000, "15") {
		t.Errorf("speak: %+v", p)
	}
	if p := of("v/embed"); p.Base.Prompt != set(2_000_000, "") {
		t.Errorf("embed: %+v", p)
	}
	if p := of("v/guard"); p.Base.Request != set(0, "") {
		t.Errorf("guard: %+v", p)
	}
	if p := of("v/rank"); p.Base.Request != set(200_000_000, "0.002") {
		t.Errorf("rank: %+v", p)
	}
	want := []catalog.ImagePrice{
		{Component: "image_output", Unit: "image", Variant: "high", Resolution: "1024x1024", Price: set(15_000_000_000, ""), Basis: "fixed"},
		{Component: "text_input", Unit: "tokens_1k", Price: set(500_000_000, "5"), Basis: "supplier_rate"},
	}
	if d := cmp.Diff(want, of("v/paint").Images); d != "" {
		t.Error(d)
	}
	video, _ := snap.Model("v/film")
	if d := cmp.Diff([]catalog.VideoRule{{Resolution: "720p", WithAudio: true, PerSecond: set(10_000_000_000, "")}, {PerSecond: set(8_000_000_000, "0.08")}}, of("v/film").Video); d != "" {
		t.Error(d)
	}
	if video.HubID != "V/Film" || video.Type != catalog.TypeVideo || !video.Video.Audio || len(video.Video.Durations) != 2 || video.Endpoints[0].Output != catalog.Video {
		t.Errorf("film is %+v", video)
	}
}

// Offers of a file have its modification time. A file with a new time but equal content gives the same version of the catalog.
func TestOffersOfAFile(t *testing.T) {
	t.Parallel()
	path := write(t, `providers: [{id: a, base_url: "http://a.example", models: [{id: v/m, max_in_flight: 3, `+free+`}]}]`)
	var versions []string
	for _, at := range []time.Time{time.Unix(1_700_000_000, 0), time.Unix(1_800_000_000, 0)} {
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		cfg, err := config.Load(path, env(), nil)
		if err != nil {
			t.Fatal(err)
		}
		snap, err := catalogOf(&cfg, env())
		if err != nil {
			t.Fatal(err)
		}
		m, _ := snap.Model("v/m")
		if ep := m.Endpoints[0]; !ep.UpdatedAt.Equal(at) || ep.MaxInFlight != 3 {
			t.Errorf("the endpoint is %+v", ep)
		}
		versions = append(versions, snap.Version)
	}
	if versions[0] != versions[1] {
		t.Errorf("versions %q", versions)
	}
}
