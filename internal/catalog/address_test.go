package catalog_test

import (
	"testing"

	"weir/internal/catalog"
)

// A base URL is accepted with and without the version of the API, with slashes after it, and as the address of an example request.
func TestSpellingsOfBaseURLs(t *testing.T) {
	t.Parallel()
	tried := map[string]bool{}
	for _, c := range []struct {
		dialect, want string
		same          []string
	}{
		{"anthropic", "https://api.anthropic.com", []string{"https://api.anthropic.com/", "https://api.anthropic.com/v1", "https://api.anthropic.com/v1/", "https://api.anthropic.com/v1/messages", "https://api.anthropic.com//v1//"}},
		{"anthropic", "https://api.deepseek.com/anthropic", []string{"https://api.deepseek.com/anthropic/v1", "https://api.deepseek.com/anthropic/v1/messages"}},
		{"anthropic", "http://127.0.0.1:8080", []string{"http://127.0.0.1:8080/v1"}},
		{"openai", "https://api.openai.com/v1", []string{"https://api.openai.com", "https://api.openai.com/v1/chat/completions", "https://api.openai.com/v1/", "https://api.openai.com/v1/models"}},
		{"openai", "https://openrouter.ai/api/v1", []string{"https://openrouter.ai", "https://openrouter.ai/api/v1/chat/completions"}},
		{"openai", "https://our.openai.azure.com/openai/v1", []string{"https://our.openai.azure.com", "https://our.openai.azure.com/openai", "https://our.openai.azure.com/openai/v1/", "https://our.openai.azure.com//openai/v1", "https://our.openai.azure.com/openai/v1/openai/v1"}},
		{"openai", "https://api.perplexity.ai", []string{"https://api.perplexity.ai/", "https://api.perplexity.ai/chat/completions"}},
		{"openai", "http://127.0.0.1:8000/v1", []string{"http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1/embeddings"}},
		{"openai", "http://127.0.0.1:8000", []string{"http://127.0.0.1:8000/"}},
		{"responses", "https://api.openai.com/v1", []string{"https://api.openai.com", "https://api.openai.com/v1/responses"}},
		{"gemini", "https://generativelanguage.googleapis.com/v1beta", []string{"https://generativelanguage.googleapis.com", "https://generativelanguage.googleapis.com/v1beta/", "https://generativelanguage.googleapis.com/v1beta/openai", "https://generativelanguage.googleapis.com/v1beta/models"}},
		{"gemini", "https://generativelanguage.googleapis.com/v1", []string{"https://generativelanguage.googleapis.com/v1/models"}},
		{"gigachat", "https://gigachat.devices.sberbank.ru/api/v1", []string{"https://gigachat.devices.sberbank.ru", "https://gigachat.devices.sberbank.ru/api/v1/chat/completions"}},
		{"bedrock", "https://bedrock-runtime.us-east-1.amazonaws.com", []string{"https://bedrock-runtime.us-east-1.amazonaws.com/", "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1", "https://bedrock-runtime.us-east-1.amazonaws.com/model"}},
		{"cohere", "https://api.cohere.com", []string{"https://api.cohere.com/v2", "https://api.cohere.com/v1/", "https://api.cohere.com/v2/embed"}},
		{"voyage", "https://api.voyageai.com/v1", []string{"https://api.voyageai.com", "https://api.voyageai.com/v1/embeddings"}},
		{"deepgram", "https://api.deepgram.com", []string{"https://api.deepgram.com/v1", "https://api.deepgram.com/v1/listen"}},
		{"elevenlabs", "https://api.elevenlabs.io", []string{"https://api.elevenlabs.io/v1", "https://api.elevenlabs.io/v1/text-to-speech"}},
		{"yandex", "https://llm.api.cloud.yandex.net", []string{"https://llm.api.cloud.yandex.net/foundationModels/v1", "https://llm.api.cloud.yandex.net/v1"}},
		{"fal", "https://queue.fal.run", []string{"https://queue.fal.run/"}},
		{"bfl", "https://api.bfl.ai/v1", []string{"https://api.bfl.ai", "https://api.bfl.ai/v1/"}},
		{"runway", "https://api.dev.runwayml.com/v1", []string{"https://api.dev.runwayml.com", "https://api.dev.runwayml.com/v1/text_to_video"}},
		{"kling", "https://api-singapore.klingai.com/v1", []string{"https://api-singapore.klingai.com"}},
		{"luma", "https://api.lumalabs.ai/dream-machine/v1", []string{"https://api.lumalabs.ai", "https://api.lumalabs.ai/dream-machine/v1/generations"}},
		{"minimax", "https://api.minimax.io/v1", []string{"https://api.minimax.io", "https://api.minimax.io/v1/"}},
	} {
		tried[c.dialect] = true
		for _, text := range append(c.same, c.want) {
			snap, err := catalog.Build(catalog.Declared{Providers: []catalog.Provider{{ID: "acme", Dialect: c.dialect, BaseURL: text}}})
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			if got := snap.Providers["acme"].BaseURL; got != c.want {
				t.Errorf("%s: %s is used as %s, not as %s", c.dialect, text, got, c.want)
			}
		}
	}
	for _, d := range catalog.Dialects() {
		if !tried[d] {
			t.Errorf("the dialect %s has no case here", d)
		}
	}
}

// A model type on another wire has its own spelling.
func TestSpellingsOfWires(t *testing.T) {
	t.Parallel()
	snap, err := catalog.Build(catalog.Declared{
		Providers: []catalog.Provider{{ID: "acme", Dialect: "openai", BaseURL: "https://acme.test/v1", Wires: map[string]catalog.Wire{catalog.TypeRerank: {Dialect: "cohere"}}}},
		Models:    []catalog.ModelInfo{{Slug: "x/rank", Type: catalog.TypeRerank}},
		Offers:    []catalog.Offer{priced(catalog.Offer{Provider: "acme", Model: "x/rank"})},
	})
	if err != nil {
		t.Fatal(err)
	}
	m, _ := snap.Model("x/rank")
	if got := m.Endpoints[0].Provider.BaseURL; got != "https://acme.test" {
		t.Error(got)
	}
}
