package all_test

import (
	"errors"
	"testing"

	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/dialect/all"
	"weir/internal/fault"
)

// asking are members of a chat request that ask for a parameter, by its name.
var asking = map[string]string{
	"temperature": `"temperature":0.5`, "top_p": `"top_p":0.5`, "top_k": `"top_k":5`, "min_p": `"min_p":0.1`, "top_a": `"top_a":0.1`, "frequency_penalty": `"frequency_penalty":0.5`,
	"presence_penalty": `"presence_penalty":0.5`, "repetition_penalty": `"repetition_penalty":1.1`, "max_tokens": `"max_tokens":99`, "max_completion_tokens": `"max_completion_tokens":99`,
	"logit_bias": `"logit_bias":{"5":1}`, "logprobs": `"logprobs":true`, "top_logprobs": `"logprobs":true,"top_logprobs":2`, "prediction": `"prediction":{"type":"content","content":"x"}`, "seed": `"seed":5`,
	"response_format": `"response_format":{"type":"json_object"}`, "structured_outputs": `"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object","properties":{}}}}`,
	"stop": `"stop":["x"]`, "tools": tools, "tool_choice": tools + `,"tool_choice":"required"`, "parallel_tool_calls": tools + `,"parallel_tool_calls":false`,
	"include_reasoning": `"include_reasoning":true`, "reasoning": `"reasoning":{"effort":"high"}`, "reasoning_effort": `"reasoning_effort":"high"`, "web_search_options": `"web_search_options":{}`, "verbosity": `"verbosity":"low"`,
}

// What an endpoint says that it takes is what its wire can carry: no more, or a request that requires a parameter would be sent where it is refused,
// and no less, or it would not be sent where it is served.
func TestCarried(t *testing.T) {
	t.Parallel()
	for wire, ep := range talkers() {
		ep.Pricing.Base.WebSearch.Set = true
		d := all.Dialects()[ep.Provider.Dialect].(dialect.Texter)
		for _, name := range catalog.AllParams.Names() {
			bit := catalog.ParamNamed(name)
			req, err := decoders["chat"]([]byte(`{"model":"x/y","messages":[{"role":"user","content":"x"}],"provider":{"require_parameters":true},` + asking[name] + `}`))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			_, err = d.Request(ep, req)
			var f *fault.Error
			if err != nil && !errors.As(err, &f) {
				t.Fatalf("%s to %s: %v", name, wire, err)
			}
			if takes := ep.Carried()&bit != 0; takes != (err == nil) {
				t.Errorf("%s to %s: said to be taken: %v, and sending it fails with %v", name, wire, takes, err)
			}
		}
	}
}
