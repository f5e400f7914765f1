package completion_test

import (
	"testing"

	"weir/internal/catalog"
	"weir/internal/completion"
)

// Diverts recognises every spelling of a diverting field, and no field of a wire.
func TestDiverts(t *testing.T) {
	t.Parallel()
	for _, name := range completion.DivertingFields() {
		if !completion.Diverts(name) {
			t.Errorf("%s does not divert", name)
		}
	}
	for _, name := range []string{"", "model", "messages", "max_tokens", "temperature", "metadata", "user", "safety_identifier", "prompt_cache_key", "client_metadata", "betas", "container",
		"context_management", "mcp_servers", "inference_geo", "speed", "thread", "output_config", "include", "input", "instructions", "guidance_scale", "negative_prompt", "keyterms",
		"callable", "style", "personGeneration", "enhance_prompt", "seed"} {
		if completion.Diverts(name) {
			t.Errorf("%s diverts", name)
		}
	}
	for p := catalog.Params(1); p != 0 && p < catalog.AllParams; p <<= 1 {
		if name := p.String(); completion.Diverts(name) {
			t.Errorf("%s diverts, and is a parameter of endpoints", name)
		}
	}
}
