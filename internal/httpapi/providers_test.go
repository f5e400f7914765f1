package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/health"
	"weir/internal/httpapi"
)

// measured is what is known of endpoints, by id: uptime, milliseconds, tokens per second.
type measured map[string][3]float64

func (m measured) Shown(endpoint string) health.Shown {
	f, known := m[endpoint]
	if !known {
		return health.Shown{Uptime: 100} // as a registry says that has seen no attempt
	}
	return health.Shown{Uptime: f[0], Latency: time.Duration(f[1] * float64(time.Millisecond)), Throughput: f[2], HalfHour: 2, OneDay: 3}
}

// shop is a catalog in which one model is offered in many ways.
func shop(t testing.TB) *catalog.Snapshot {
	full := perThousand("1", "2")
	full.Base = catalog.Prices{
		Prompt: rubles("1"), Completion: rubles("2"), CacheRead: rubles("0.1"), CacheWrite: rubles("1.25"), CacheWrite1h: rubles("2"), Reasoning: rubles("3"), Audio: rubles("4"),
		AudioOutput: rubles("5"), Image: rubles("6"), ImageOutput: rubles("7"), Request: rubles("8"), WebSearch: rubles("9"), ImageOutputEach: rubles("10"),
	}
	full.Thresholds = []catalog.Threshold{{Above: 200_000, Prices: catalog.Prices{Prompt: rubles("2"), CacheRead: rubles("0")}}}
	image := catalog.Pricing{Base: catalog.Prices{Prompt: rubles("0"), Completion: rubles("0")}, Images: []catalog.ImagePrice{
		{Component: "text_input", Unit: catalog.UnitTokens, Price: rubles("0.5"), Basis: catalog.BasisSupplier},
		{Component: "image_output", Unit: catalog.UnitImage, Variant: "high", Resolution: "1024x1024", Price: rubles("4")}}}
	video := catalog.Pricing{Video: []catalog.VideoRule{
		{Resolution: "720p", WithAudio: true, PerSecond: rubles("12.5")}, {PerSecond: rubles("7")}}}
	tools := catalog.ParamTools | catalog.ParamMaxTokens
	zero := provider("zero", "Zero")
	zero.DataPolicy = catalog.PolicyZero
	return build(t, catalog.Declared{
		Providers: []catalog.Provider{provider("acme", "Acme"), provider("best", "Best"), zero},
		Models: []catalog.ModelInfo{
			{Slug: "m/chat", Name: "Chat", Created: time.Unix(1_700_000_000, 0), ContextLength: 4096},
			{Slug: "m/image", Type: catalog.TypeImage}, {Slug: "m/video", Type: catalog.TypeVideo}, {Slug: "m/none", Name: "None"},
		},
		Offers: []catalog.Offer{
			{Provider: "acme", Model: "m/chat", UpstreamID: "chat-1", Pricing: full, Params: tools, Quantization: "fp8", ContextLength: 1000, MaxCompletion: 500, ImplicitCache: true,
				UpdatedAt: time.Date(2026, 1, 31, 3, 0, 0, 5, time.FixedZone("", 3*3600))},
			{Provider: "acme", Model: "m/chat", Region: "eu", Pricing: perThousand("1.5", "2"), Params: catalog.ParamResponseFormat},
			{Provider: "acme", Model: "m/chat", Variant: "free", Pricing: perThousand("0", "0"), Params: tools},
			{Provider: "acme", Model: "m/chat", Tier: "flex", Pricing: perThousand("0.5", "1"), Params: tools},
			{Provider: "best", Model: "m/chat", Variant: "free", Pricing: perThousand("0", "0"), Params: tools},
			{Provider: "zero", Model: "m/chat", Pricing: perThousand("1", "1"), Params: tools},
			{Provider: "zero", Model: "m/chat", Variant: "extended", Pricing: perThousand("9", "9"), Params: tools},
			{Provider: "zero", Model: "m/chat", Variant: "thinking", Pricing: perThousand("8", "9"), Params: tools},
			{Provider: "acme", Model: "m/image", Pricing: image},
			{Provider: "acme", Model: "m/video", Pricing: video},
		},
	})
}

func TestProviders(t *testing.T) {
	t.Parallel()
	stats := measured{"best/m/chat/free": {100, 0.4, 80}, "acme/m/chat/eu": {99.5, 250.1234, 80.5}, "zero/m/chat": {0, 70, 12}, "zero/m/chat/thinking": {50, 90, 0}}
	l := openLibrary(t, shop(t), func(d *httpapi.Deps) { d.Stats = stats })
	m := l.get("/v1/models/m/chat/providers").json(t)
	if id, _ := m["model_id"].(string); !strings.HasPrefix(id, "mdl_") || m["model_slug"] != "m/chat" || m["model_name"] != "Chat" || len(m) != 4 {
		t.Errorf("head: %v", m)
	}
	var order []string
	for i := range 2 {
		order = append(order, fmt.Sprint(at(m, "providers", i, "provider")))
		if id, _ := at(m, "providers", i, "id").(string); !strings.HasPrefix(id, "prv_") || len(id) != 24 {
			t.Errorf("id %q", id)
		}
	}
	if got := strings.Join(order, " "); got != "zero acme" {
		t.Errorf("order %s", got)
	}
	if got := at(l.get("/v1/models/m/chat:free/providers").json(t), "providers", 1, "median_latency_ms"); got != 1. {
		t.Errorf("a latency below a millisecond is told as %v", got)
	}
	acme := at(m, "providers", 1).(map[string]any)
	delete(acme, "id")
	endpoints := acme["endpoints"].([]any)
	delete(acme, "endpoints")
	const pricing = `{"base":{"prompt_per_1k":"1","completion_per_1k":"2","cache_read_per_1k":"0.1","cache_write_per_1k":"1.25","cache_write_1h_per_1k":"2","reasoning_per_1k":"3",
		"audio_per_1k":"4","audio_output_per_1k":"5","image_per_1k":"6","image_output_tokens_per_1k":"7","image_output":"10","web_search":"9"},
		"variable_pricings":[{"type":"prompt-threshold","threshold":200000,"pricing":{"prompt_per_1k":"2","cache_read_per_1k":"0"}}],
		"per_request":{"image_output_rub":"10","web_search_rub":"9","request_rub":"8"},"video":{"rules":[]},"image_prices":[]}`
	exactly(t, "provider", acme, `{"provider":"acme","provider_model_id":"chat-1","price_in_per_1k":"1","price_out_per_1k":"2","quantization":"fp8","data_retention_policy":"unknown",
		"updated_at":"2026-01-31T00:00:00Z","median_latency_ms":250,"supports_streaming":true,"supports_tools":true,"supports_response_format":true,
		"supported_parameters":["max_tokens","response_format","tools"],"pricing":`+pricing+`}`)
	exactly(t, "endpoint", endpoints[0], `{"tag":"acme","provider_name":"Acme","quantization":"fp8","service_tier":"default","variant":"standard","pricing":`+pricing+`,
		"context_length":1000,"max_completion_tokens":500,"supported_parameters":["max_tokens","tools"],"supports_implicit_caching":true,
		"uptime_last_1d":100,"latency_last_30m_ms":0,"throughput_last_30m_tps":0,"samples_last_30m":0,"samples_last_1d":0}`)
	var tags []string
	for _, e := range endpoints {
		tags = append(tags, fmt.Sprint(at(e, "tag"), " ", at(e, "service_tier"), " ", at(e, "variant"), " ", at(e, "context_length"), " ", at(e, "uptime_last_1d"), " ",
			at(e, "latency_last_30m_ms"), " ", at(e, "throughput_last_30m_tps"), " ", at(e, "samples_last_30m")))
	}
	if got, want := strings.Join(tags, "; "), "acme default standard 1000 100 0 0 0; acme/eu default standard 4096 99.5 250.123 80.5 2; acme/flex flex standard 4096 100 0 0 0"; got != want {
		t.Errorf("endpoints\n%s\nwant\n%s", got, want)
	}
	if zero := at(m, "providers", 0); at(zero, "data_retention_policy") != "zero" || at(zero, "median_latency_ms") != 70. || at(zero, "price_in_per_1k") != "1" ||
		at(zero, "updated_at") != "2023-11-14T22:13:20Z" || at(zero, "quantization") != "unknown" {
		t.Errorf("zero: %v", zero)
	}
}

func TestProvidersByVariant(t *testing.T) {
	t.Parallel()
	l := openLibrary(t, shop(t), nil)
	for id, want := range map[string]string{
		"m/chat:free":     "acme: acme/free; best: best/free",
		"m/chat:extended": "zero: zero/extended",
		"m/chat:thinking": "zero: zero zero/thinking; acme: acme acme/eu acme/flex",
		"m/chat:nitro":    "zero: zero; acme: acme acme/eu acme/flex",
		"m/chat":          "zero: zero; acme: acme acme/eu acme/flex",
		"m/none":          "",
		"m/none:free":     "",
	} {
		m := l.get("/v1/models/" + id + "/providers").json(t)
		if m["model_slug"] != id {
			t.Errorf("%s: slug %v", id, m["model_slug"])
		}
		var got []string
		for _, p := range m["providers"].([]any) {
			var tags []string
			for _, e := range at(p, "endpoints").([]any) {
				tags = append(tags, at(e, "tag").(string))
			}
			got = append(got, at(p, "provider").(string)+": "+strings.Join(tags, " "))
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s: %s; want %s", id, strings.Join(got, "; "), want)
		}
	}
	for _, path := range []string{"m/other", "m/chat:quick", "chat/m"} {
		wantError(t, l.get("/v1/models/"+path+"/providers"), 404, fault.ModelNotFound)
	}
}

func TestProvidersOfOtherTypes(t *testing.T) {
	t.Parallel()
	l := openLibrary(t, shop(t), nil)
	image := at(l.get("/v1/models/m/image/providers").json(t), "providers", 0)
	exactly(t, "images", at(image, "pricing", "image_prices"), `[
		{"component":"text_input","unit":"tokens_1k","variant":"","resolution":"","price_rub":"0.5","basis":"supplier_rate"},
		{"component":"image_output","unit":"image","variant":"high","resolution":"1024x1024","price_rub":"4","basis":"fixed"}]`)
	if at(image, "supports_streaming") != false || at(image, "supports_tools") != false || len(at(image, "supported_parameters").([]any)) != 0 {
		t.Errorf("an image model that declares nothing: %v", image)
	}
	video := at(l.get("/v1/models/m/video/providers").json(t), "providers", 0)
	exactly(t, "video", at(video, "pricing", "video"), `{"rules":[{"resolution":"720p","with_audio":true,"price_per_second_rub":"12.5"},
		{"resolution":"","with_audio":false,"price_per_second_rub":"7"}]}`)
	exactly(t, "a base that has no price of its own", at(video, "pricing", "base"), `{"prompt_per_1k":"0","completion_per_1k":"0"}`)
	timed := at(openLibrary(t, anyKind(t), nil).get("/v1/models/acme/hear/providers").json(t), "providers", 0, "pricing", "base")
	exactly(t, "transcription", timed, `{"prompt_per_1k":"0","completion_per_1k":"0","audio_per_minute":"0.6"}`)
}

// New measurements change the tag: a client must not get 304 for old ones.
func TestProvidersTagFollowsTheFigures(t *testing.T) {
	t.Parallel()
	stats := measured{}
	l := openLibrary(t, shop(t), func(d *httpapi.Deps) { d.Stats = stats })
	tag := l.get("/v1/models/m/chat/providers").Header.Get("Etag")
	stats["zero/m/chat"] = [3]float64{100, 5, 5}
	if r := l.get("/v1/models/m/chat/providers", "If-None-Match", tag); r.StatusCode != 200 {
		t.Errorf("status %d", r.StatusCode)
	}
}
