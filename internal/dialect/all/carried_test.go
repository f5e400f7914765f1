package all_test

import (
	"errors"
	"strings"
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

// Where a client requires its parameters, a fact by which one is left out or replaced refuses the request, so that another endpoint is asked. Without
// that the answer has a notice.
func TestFactsAndRequiredParameters(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		facts   catalog.Facts
		members string
		whole   []string // what a body has that takes all of it
	}{
		"a pair that excludes each other": {catalog.Facts{Excludes: []string{"temperature/top_p"}}, `"temperature":0.5,"top_p":0.25`, []string{"0.5", "0.25"}},
		"a schema":                        {catalog.Facts{JSONSchema: catalog.Described}, asking["structured_outputs"], []string{"json_schema"}},
		"reasoning that stays":            {catalog.Facts{ReasoningOff: catalog.Refused}, `"reasoning":{"effort":"none"}`, nil},
	} {
		for wire, ep := range talkers() {
			if name == "a schema" && wire != "openai" || name == "reasoning that stays" && wire == "gigachat" {
				continue // the fact is not known to the wire
			}
			ep.Facts = c.facts
			d := all.Dialects()[ep.Provider.Dialect].(dialect.Texter)
			for _, require := range []bool{false, true} {
				req, err := decoders["chat"]([]byte(`{"model":"x/y","messages":[{"role":"user","content":"x"}],` + c.members + `}`))
				if err != nil {
					t.Fatal(err)
				}
				req.Preferences.RequireParameters = require
				call, err := d.Request(ep, req)
				body := string(wholeBody(&call))
				taken := err == nil && c.whole != nil
				for _, part := range c.whole {
					taken = taken && strings.Contains(body, part)
				}
				switch {
				case taken:
				case require && err == nil:
					t.Errorf("%s to %s: sent although it is required: %s", name, wire, body)
				case !require && (err != nil || call.Notice == ""):
					t.Errorf("%s to %s: %v, notice %q for %s", name, wire, err, call.Notice, body)
				}
			}
		}
	}
}
