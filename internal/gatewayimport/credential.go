package gatewayimport

import (
	"slices"
	"strings"

	"weir/internal/rawjson"
)

// providers are ours by LiteLLM's names.
var providers = map[string]string{
	"openai": "openai", "anthropic": "anthropic", "gemini": "google", "xai": "xai", "mistral": "mistral", "deepseek": "deepseek", "cohere": "cohere",
	"cohere_chat": "cohere", "groq": "groq", "together_ai": "together", "fireworks_ai": "fireworks", "openrouter": "openrouter", "deepinfra": "deepinfra",
	"cerebras": "cerebras", "perplexity": "perplexity", "voyage": "voyage", "deepgram": "deepgram", "elevenlabs": "elevenlabs",
}

const fromEnvironment = "os.environ/"

// credential notes the key of a deployment for its provider. One with an address of its own is not that provider's.
func (r *reader) credential(params, environment []byte) {
	key, model := text(params, "api_key"), text(params, "model")
	if !r.world.Credentials || key == "" || text(params, "api_base") != "" || text(params, "base_url") != "" {
		return
	}
	name := text(params, "custom_llm_provider")
	if name == "" {
		name, _, _ = strings.Cut(model, "/")
	}
	if name == model { // a bare name is OpenAI's there
		name = "openai"
	}
	id, ok := providers[name]
	if !ok || slices.ContainsFunc(r.plan.Credentials, func(c Credential) bool { return c.Provider == id }) {
		return
	}
	c := Credential{Provider: id, secret: key}
	if variable, is := strings.CutPrefix(key, fromEnvironment); is {
		c.From, c.secret = plain(variable, 100), textOf(rawjson.Find(environment, variable))
		if strings.HasPrefix(c.secret, fromEnvironment) {
			c.secret = ""
		}
	}
	r.plan.Credentials = append(r.plan.Credentials, c)
}

// Secret is the credential itself: that of the file, or of the variable that it names. It is "" without one.
func (c *Credential) Secret(env func(string) (string, bool)) string {
	if c.secret == "" && c.From != "" {
		s, _ := env(c.From)
		return s
	}
	return c.secret
}
