package builtin_test

import (
	"testing"

	"weir/internal/catalog"
	"weir/internal/catalog/builtin"
)

// wellKnown are prices of well-known models, dollars per million tokens, each compared by a person with the list named beside it,
// which is another than the base list, and with what the makers publish.
var wellKnown = []struct{ provider, model, prompt, completion, source string }{
	{"openai", "openai/gpt-4o", "2.5", "10", "genai-prices"},
	{"openai", "openai/gpt-4o-mini", "0.15", "0.6", "genai-prices"},
	{"openai", "openai/gpt-4.1", "2", "8", "genai-prices"},
	{"openai", "openai/gpt-4.1-mini", "0.4", "1.6", "genai-prices"},
	{"openai", "openai/gpt-4.1-nano", "0.1", "0.4", "genai-prices"},
	{"openai", "openai/gpt-5", "1.25", "10", "genai-prices"},
	{"openai", "openai/gpt-5-mini", "0.25", "2", "genai-prices"},
	{"openai", "openai/gpt-5-nano", "0.05", "0.4", "genai-prices"},
	{"openai", "openai/gpt-5.1", "1.25", "10", "genai-prices"},
	{"openai", "openai/gpt-5.2", "1.75", "14", "genai-prices"},
	{"openai", "openai/gpt-5.4", "2.5", "15", "genai-prices"},
	{"openai", "openai/gpt-5.4-mini", "0.75", "4.5", "genai-prices"},
	{"openai", "openai/gpt-5.5", "5", "30", "genai-prices"},
	{"openai", "openai/o1", "15", "60", "genai-prices"},
	{"openai", "openai/o3", "2", "8", "genai-prices"},
	{"openai", "openai/o3-mini", "1.1", "4.4", "genai-prices"},
	{"openai", "openai/o4-mini", "1.1", "4.4", "genai-prices"},
	{"openai", "openai/gpt-4-turbo", "10", "30", "genai-prices"},
	{"openai", "openai/gpt-4", "30", "60", "genai-prices"},
	{"anthropic", "anthropic/claude-haiku-4.5", "1", "5", "genai-prices"},
	{"anthropic", "anthropic/claude-sonnet-4.5", "3", "15", "genai-prices"},
	{"anthropic", "anthropic/claude-opus-4.5", "5", "25", "genai-prices"},
	{"anthropic", "anthropic/claude-opus-4.6", "5", "25", "litellm"},
	{"anthropic", "anthropic/claude-opus-4.7", "5", "25", "portkey-models"},
	{"anthropic", "anthropic/claude-opus-4.8", "5", "25", "genai-prices"},
	{"anthropic", "anthropic/claude-sonnet-4.6", "3", "15", "litellm"},
	{"vertex", "google/gemini-2.5-pro", "1.25", "10", "litellm"},
	{"vertex", "google/gemini-2.5-flash", "0.3", "2.5", "portkey-models"},
	{"vertex", "google/gemini-2.5-flash-lite", "0.1", "0.4", "portkey-models"},
	{"vertex", "google/gemini-3.1-pro-preview", "2", "12", "litellm"},
	{"bedrock", "anthropic/claude-haiku-4.5", "1", "5", "genai-prices"},
	{"bedrock", "anthropic/claude-sonnet-4.5", "3", "15", "genai-prices"},
	{"bedrock", "anthropic/claude-opus-4.8", "5", "25", "portkey-models"},
	{"bedrock", "amazon/nova-pro-v1", "0.8", "3.2", "genai-prices"},
	{"bedrock", "amazon/nova-2-lite-v1", "0.3", "2.5", "litellm"},
	{"bedrock", "meta-llama/llama-3.3-70b-instruct", "0.72", "0.72", "genai-prices"},
	{"bedrock", "deepseek/deepseek-r1", "1.35", "5.4", "genai-prices"},
	{"bedrock", "mistralai/mistral-large-2512", "0.5", "1.5", "genai-prices"},
	{"azure", "openai/gpt-4o", "2.5", "10", "litellm"},
	{"azure", "openai/gpt-5", "1.25", "10", "litellm"},
	{"google", "google/gemini-2.5-pro", "1.25", "10", "genai-prices"},
	{"google", "google/gemini-2.5-flash", "0.3", "2.5", "genai-prices"},
	{"google", "google/gemini-2.5-flash-lite", "0.1", "0.4", "genai-prices"},
	{"google", "google/gemini-3-flash-preview", "0.5", "3", "genai-prices"},
	{"google", "google/gemini-3.1-pro-preview", "2", "12", "genai-prices"},
	{"deepseek", "deepseek/deepseek-v4-flash", "0.3", "1.2", "DeepSeek's price page, peak hours"},
	{"deepseek", "deepseek/deepseek-v4-pro", "1.32", "3.96", "DeepSeek's price page, peak hours"},
	{"mistral", "mistralai/mistral-large-2512", "0.5", "1.5", "genai-prices"},
	{"mistral", "mistralai/mistral-medium-3.1", "0.4", "2", "genai-prices"},
	{"mistral", "mistralai/mistral-small-3.2-24b-instruct", "0.1", "0.3", "portkey-models"},
	{"mistral", "mistralai/open-mistral-7b", "0.25", "0.25", "genai-prices"},
	{"groq", "openai/gpt-oss-120b", "0.15", "0.6", "genai-prices"},
	{"groq", "openai/gpt-oss-20b", "0.075", "0.3", "genai-prices"},
	{"cerebras", "openai/gpt-oss-120b", "0.35", "0.75", "genai-prices"},
	{"xai", "x-ai/grok-4.3", "1.25", "2.5", "genai-prices"},
	{"together", "openai/gpt-oss-120b", "0.15", "0.6", "genai-prices"},
	{"together", "meta-llama/llama-3.3-70b-instruct-turbo", "0.88", "0.88", "litellm"},
	{"fireworks", "openai/gpt-oss-120b", "0.15", "0.6", "genai-prices"},
	{"deepinfra", "meta-llama/llama-3.3-70b-instruct-turbo", "0.1", "0.32", "portkey-models"},
	{"moonshotai", "moonshotai/kimi-k2.5", "0.6", "3", "genai-prices"},
	{"moonshotai", "moonshotai/kimi-k2.6", "0.95", "4", "genai-prices"},
	{"zai", "z-ai/glm-4.6", "0.6", "2.2", "litellm"},
	{"zai", "z-ai/glm-4.7", "0.6", "2.2", "litellm"},
	{"zai", "z-ai/glm-5", "1", "3.2", "litellm"},
	{"minimax", "minimax/minimax-m2", "0.3", "1.2", "genai-prices"},
	{"minimax", "minimax/minimax-m2.5", "0.3", "1.2", "genai-prices"},
	{"cohere", "cohere/command-a", "2.5", "10", "genai-prices"},
	{"cohere", "cohere/command-r-plus-08-2024", "2.5", "10", "genai-prices"},
	{"cohere", "cohere/command-r7b-12-2024", "0.0375", "0.15", "genai-prices"},
	{"perplexity", "perplexity/sonar", "1", "1", "genai-prices"},
	{"perplexity", "perplexity/sonar-pro", "3", "15", "genai-prices"},
	{"alibaba", "qwen/qwen-max", "1.6", "6.4", "litellm"},
	{"alibaba", "qwen/qwen-turbo", "0.05", "0.2", "litellm"},
	{"openrouter", "anthropic/claude-sonnet-4.5", "3", "15", "genai-prices"},
	{"openrouter", "anthropic/claude-haiku-4.5", "1", "5", "genai-prices"},
	{"openrouter", "anthropic/claude-opus-4.5", "5", "25", "genai-prices"},
	{"openrouter", "openai/gpt-4o", "2.5", "10", "genai-prices"},
}

func TestWellKnownPrices(t *testing.T) {
	t.Parallel()
	r := rate(t, "1")
	d, err := builtin.Declare(all(), r)
	if err != nil {
		t.Fatal(err)
	}
	if len(wellKnown) < 50 {
		t.Errorf("only %d models are checked", len(wellKnown))
	}
	offers := map[string]*catalog.Offer{}
	for i := range d.Offers {
		if o := &d.Offers[i]; o.Tier == "" && o.Variant == "" {
			offers[o.Provider+" "+o.Model] = o
		}
	}
	for _, w := range wellKnown {
		o := offers[w.provider+" "+w.model]
		if o == nil {
			t.Errorf("%s does not serve %s", w.provider, w.model)
			continue
		}
		prompt, err := r.PerThousand(w.prompt, 1_000_000)
		if err != nil {
			t.Fatal(err)
		}
		completion, err := r.PerThousand(w.completion, 1_000_000)
		if err != nil {
			t.Fatal(err)
		}
		if o.Pricing.Base.Prompt != prompt || o.Pricing.Base.Completion != completion {
			t.Errorf("%s at %s costs %s; %s says %s and %s", w.model, w.provider, o.Pricing.Source, w.source, w.prompt, w.completion)
		}
	}
}

// batched are prices of models in their makers' batches, dollars per million tokens, each compared by a person with the list named beside it,
// and with the pages of the makers, which say that they are half of the usual ones.
var batched = []struct{ provider, model, prompt, completion, cached, source string }{
	{"openai", "openai/gpt-4o", "1.25", "5", "1.25", "litellm"},
	{"openai", "openai/gpt-4o-mini", "0.075", "0.3", "0.075", "litellm"},
	{"openai", "openai/gpt-4.1", "1", "4", "0.5", "litellm"},
	{"openai", "openai/gpt-4.1-mini", "0.2", "0.8", "0.1", "litellm"},
	{"openai", "openai/gpt-5", "0.625", "5", "0.0625", "portkey-models"},
	{"openai", "openai/gpt-5-mini", "0.125", "1", "0.0125", "portkey-models"},
	{"openai", "openai/gpt-5.2", "0.875", "7", "0.0875", "portkey-models"},
	{"openai", "openai/gpt-5.5", "2.5", "15", "0.25", "litellm"},
	{"openai", "openai/o3", "1", "4", "0.5", "portkey-models"},
	{"openai", "openai/o4-mini", "0.55", "2.2", "0.275", "portkey-models"},
	{"anthropic", "anthropic/claude-haiku-4.5", "0.5", "2.5", "0.05", "portkey-models"},
	{"anthropic", "anthropic/claude-sonnet-4.5", "1.5", "7.5", "0.15", "portkey-models"},
	{"anthropic", "anthropic/claude-sonnet-4.6", "1.5", "7.5", "0.15", "portkey-models"},
	{"anthropic", "anthropic/claude-opus-4.8", "2.5", "12.5", "0.25", "portkey-models"},
	{"google", "google/gemini-2.5-pro", "0.625", "5", "0.125", "portkey-models"},
	{"google", "google/gemini-2.5-flash", "0.15", "1.25", "0.03", "portkey-models"},
	{"google", "google/gemini-3.1-pro-preview", "1", "6", "0.2", "portkey-models"},
	{"google", "google/gemini-3.5-flash", "0.75", "4.5", "0.15", "portkey-models"},
}

func TestBatchedPrices(t *testing.T) {
	t.Parallel()
	r := rate(t, "1")
	d, err := builtin.Declare(all(), r)
	if err != nil {
		t.Fatal(err)
	}
	usual, offers := map[string]*catalog.Offer{}, map[string]*catalog.Offer{}
	for i := range d.Offers {
		switch o := &d.Offers[i]; {
		case o.Tier == catalog.BatchTier:
			offers[o.Provider+" "+o.Model] = o
		case o.Tier == "" && o.Variant == "":
			usual[o.Provider+" "+o.Model] = o
		}
	}
	for _, w := range batched {
		o := offers[w.provider+" "+w.model]
		if o == nil {
			t.Errorf("%s at %s has no batches", w.model, w.provider)
			continue
		}
		for name, want := range map[string]string{"prompt": w.prompt, "completion": w.completion, "cache_read": w.cached} {
			price, err := r.PerThousand(want, 1_000_000)
			if err != nil {
				t.Fatal(err)
			}
			if got := o.Pricing.Base.Field(name); *got != price {
				t.Errorf("%s of %s at %s costs %s; %s says %s", name, w.model, w.provider, o.Pricing.Source, w.source, want)
			}
		}
	}
	for id, o := range offers {
		if p := o.Provider; p != "openai" && p != "anthropic" && p != "google" {
			t.Errorf("%s: this provider's batches cannot be used", id)
		}
		if usual[id] == nil {
			t.Errorf("%s is offered in batches alone", id)
		}
	}
}
