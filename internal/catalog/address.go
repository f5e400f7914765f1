package catalog

import (
	"net/url"
	"strings"
)

// spellings says for each dialect how operators write base URLs: copied from a vendor's page, from a client library, or from an example
// request.
var spellings = map[string]struct {
	routes   []string // the ends of example requests, longest first: they are not part of a base URL
	versions []string // segments that the dialect writes itself
}{
	"anthropic":  {routes: []string{"/messages/count_tokens", "/messages", "/models"}, versions: []string{"/v1"}},
	"openai":     {routes: []string{"/chat/completions", "/completions", "/embeddings", "/models", "/images/generations", "/images/edits", "/audio/speech", "/audio/transcriptions", "/moderations", "/rerank", "/videos", "/responses"}},
	"responses":  {routes: []string{"/responses", "/chat/completions", "/models"}},
	"gemini":     {routes: []string{"/openai", "/models"}},
	"gigachat":   {routes: []string{"/chat/completions", "/embeddings", "/models"}},
	"bedrock":    {routes: []string{"/openai/v1", "/model"}},
	"cohere":     {routes: []string{"/embed", "/rerank", "/chat", "/models"}, versions: []string{"/v2", "/v1"}},
	"voyage":     {routes: []string{"/embeddings", "/rerank"}},
	"deepgram":   {routes: []string{"/listen"}, versions: []string{"/v1"}},
	"elevenlabs": {routes: []string{"/text-to-speech", "/speech-to-text", "/models"}, versions: []string{"/v1"}},
	"yandex":     {versions: []string{"/foundationModels/v1", "/v1"}},
	"runway":     {routes: []string{"/image_to_video", "/text_to_video"}},
	"luma":       {routes: []string{"/generations"}},
	"minimax":    {routes: []string{"/video_generation"}},
}

// roots are the paths of APIs at hosts that serve nothing without a path.
var roots = map[string]map[string]string{
	"openai": {
		"api.openai.com": "/v1", "openrouter.ai": "/api/v1", "api.groq.com": "/openai/v1", "api.mistral.ai": "/v1", "api.together.xyz": "/v1", "api.fireworks.ai": "/inference/v1",
		"api.deepinfra.com": "/v1/openai", "api.x.ai": "/v1", "api.cerebras.ai": "/v1", "api.moonshot.ai": "/v1", "api.deepseek.com": "/v1", "integrate.api.nvidia.com": "/v1",
		"api.novita.ai": "/openai/v1", "api.siliconflow.com": "/v1", "api.sambanova.ai": "/v1", "llm.api.cloud.yandex.net": "/v1", "dashscope-intl.aliyuncs.com": "/compatible-mode/v1",
	},
	"responses": {"api.openai.com": "/v1", "openrouter.ai": "/api/v1", "api.x.ai": "/v1"},
	"gemini":    {"generativelanguage.googleapis.com": "/v1beta"},
	"gigachat":  {"gigachat.devices.sberbank.ru": "/api/v1"},
	"voyage":    {"api.voyageai.com": "/v1"},
	"bfl":       {"api.bfl.ai": "/v1"},
	"runway":    {"api.dev.runwayml.com": "/v1"},
	"kling":     {"api-singapore.klingai.com": "/v1"},
	"luma":      {"api.lumalabs.ai": "/dream-machine/v1"},
	"minimax":   {"api.minimax.io": "/v1"},
}

// onAzure reports whether a host is one of Azure's, which have the API at one path.
func onAzure(host string) bool {
	for _, end := range [...]string{".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"} {
		if strings.HasSuffix(host, end) {
			return true
		}
	}
	return false
}

// baseURL is a base URL in the one spelling that the dialect builds on: with the version of the API where the dialect does not write it,
// and without it where it does.
func baseURL(dialect, text string) string {
	text = strings.TrimRight(strings.TrimSpace(text), "/")
	if scheme, rest, ok := strings.Cut(text, "://"); ok {
		for strings.Contains(rest, "//") { // a variable in the middle ended in a slash
			rest = strings.ReplaceAll(rest, "//", "/")
		}
		text = scheme + "://" + rest
	}
	s := spellings[dialect]
	for _, route := range s.routes {
		if rest, ok := strings.CutSuffix(text, route); ok {
			text = strings.TrimRight(rest, "/")
			break
		}
	}
	for _, version := range s.versions {
		if rest, ok := strings.CutSuffix(text, version); ok {
			text = strings.TrimRight(rest, "/")
			break
		}
	}
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	switch host := strings.ToLower(u.Hostname()); {
	case (dialect == "openai" || dialect == "responses") && onAzure(host) && (u.Path == "" || strings.HasPrefix(u.Path, "/openai")):
		u.Path = "/openai/v1"
	case u.Path == "":
		u.Path = roots[dialect][host]
	default:
		return text
	}
	return u.String()
}
