package app

import (
	"weir/internal/catalog"
	"weir/internal/money"
	"weir/internal/sim"
)

// The dollar of the demo's vendors, which is no real rate: it makes margins that the pages of operators can show.
const (
	demoRate   = "92.5"
	demoMargin = "0.18"
)

// demoHost is a provider of known models, in name alone: the simulator answers.
type demoHost struct{ id, name string }

var demoHosts = []demoHost{
	{"demo-anthropic", "Anthropic (simulated)"}, {"demo-bedrock", "Amazon Bedrock (simulated)"}, {"demo-vertex", "Google Vertex (simulated)"}, {"demo-openai", "OpenAI (simulated)"},
	{"demo-azure", "Azure OpenAI (simulated)"}, {"demo-google", "Google AI Studio (simulated)"}, {"demo-deepseek", "DeepSeek (simulated)"}, {"demo-together", "Together (simulated)"},
	{"demo-groq", "Groq (simulated)"}, {"demo-sber", "Sber (simulated)"}, {"demo-yandex", "Yandex Cloud (simulated)"},
}

// demoModel is a model under a known name, with prices in dollars per million tokens.
type demoModel struct {
	slug, name, upstream     string
	prompt, completion, read string // read: from the cache, "" no price of its own
	context, most            int64
	hosts                    []string
}

var demoModels = []demoModel{
	{"sim/claude-sonnet-4.5", "Claude Sonnet 4.5 (simulated)", "reason", "3", "15", "0.3", 200_000, 64_000, []string{"demo-anthropic", "demo-bedrock", "demo-vertex"}},
	{"sim/claude-haiku-4.5", "Claude Haiku 4.5 (simulated)", "chat", "1", "5", "0.1", 200_000, 64_000, []string{"demo-anthropic", "demo-bedrock"}},
	{"sim/gpt-5", "GPT-5 (simulated)", "reason", "1.25", "10", "0.125", 400_000, 128_000, []string{"demo-openai", "demo-azure"}},
	{"sim/gpt-5-mini", "GPT-5 mini (simulated)", "chat", "0.25", "2", "0.025", 400_000, 128_000, []string{"demo-openai", "demo-azure"}},
	{"sim/gemini-2.5-pro", "Gemini 2.5 Pro (simulated)", "reason", "1.25", "10", "0.31", 1_048_576, 65_536, []string{"demo-google", "demo-vertex"}},
	{"sim/gemini-2.5-flash", "Gemini 2.5 Flash (simulated)", "chat", "0.3", "2.5", "0.075", 1_048_576, 65_536, []string{"demo-google", "demo-vertex"}},
	{"sim/deepseek-v3.2", "DeepSeek V3.2 (simulated)", "chat", "0.28", "0.42", "0.028", 131_072, 8_192, []string{"demo-deepseek", "demo-together"}},
	{"sim/qwen3-235b", "Qwen3 235B (simulated)", "chat", "0.2", "0.6", "", 262_144, 16_384, []string{"demo-together"}},
	{"sim/llama-4-maverick", "Llama 4 Maverick (simulated)", "chat", "0.27", "0.85", "", 524_288, 16_384, []string{"demo-groq", "demo-together"}},
	{"sim/gigachat-2-max", "GigaChat 2 Max (simulated)", "chat", "7", "7", "", 131_072, 8_192, []string{"demo-sber"}},
	{"sim/yandexgpt-5.1", "YandexGPT 5.1 (simulated)", "chat", "4.3", "4.3", "", 32_768, 8_192, []string{"demo-yandex"}},
}

const (
	demoAbout        = "A known model in name alone: the simulator answers, for play money. It is what the calls of the demo’s month were made to."
	demoAboutRussian = "Известная модель только по имени: отвечает симулятор, деньги ненастоящие. К ней обращались вызовы демонстрационного месяца."
)

// demoVendors returns models under the names of known ones. The simulator at the address serves all of them, on the chat wire. Like all that it serves
// they are of the vendor sim, so that none is taken for a real one and no real one falls back to them.
func demoVendors(origin string) (d catalog.Declared, err error) {
	rate, err := money.NewRate(demoRate, demoMargin)
	if err != nil {
		return d, err
	}
	for _, h := range demoHosts {
		d.Providers = append(d.Providers, catalog.Provider{ID: h.id, Name: h.name, Dialect: "openai", BaseURL: origin + "/v1", Quirks: catalog.Quirks{Drop: []string{"input_type"}}, DataPolicy: catalog.PolicyZero, Simulated: true})
	}
	served := map[string]*sim.Model{}
	for _, m := range sim.Catalog() {
		served[m.Name] = &m
	}
	for i := range demoModels {
		m := &demoModels[i]
		info := catalog.ModelInfo{Slug: m.slug, Name: m.name, Description: demoAbout, DescriptionRU: demoAboutRussian}
		d.Models = append(d.Models, info)
		prices := catalog.Prices{}
		for _, p := range []struct {
			to      *money.Price
			dollars string
		}{{&prices.Prompt, m.prompt}, {&prices.Completion, m.completion}, {&prices.CacheRead, m.read}} {
			if p.dollars == "" {
				continue
			}
			if *p.to, err = rate.PerThousand(p.dollars, money.Million); err != nil {
				return d, err
			}
		}
		for _, host := range m.hosts {
			o := simOffer(&simWires[0], served[m.upstream], m.slug)
			o.Provider, o.UpstreamID = host, m.upstream
			o.ContextLength, o.MaxCompletion = min(m.context, int64(served[m.upstream].ContextTokens)), min(m.most, int64(served[m.upstream].MaxOutputTokens))
			o.Pricing = catalog.Pricing{Base: prices, List: "demo", Rate: "demo@" + demoRate + "+" + demoMargin, Source: m.prompt + "/" + m.completion}
			d.Offers = append(d.Offers, o)
		}
	}
	return d, nil
}
