package catalog

import "strings"

// Params is a set of request parameters, one bit each; it keeps routing free of string comparisons.
type Params uint32

// The parameter names of supported_parameters.
const (
	ParamTemperature Params = 1 << iota
	ParamTopP
	ParamTopK
	ParamMinP
	ParamTopA
	ParamFrequencyPenalty
	ParamPresencePenalty
	ParamRepetitionPenalty
	ParamMaxTokens
	ParamMaxCompletionTokens
	ParamLogitBias
	ParamLogprobs
	ParamTopLogprobs
	ParamPrediction
	ParamSeed
	ParamResponseFormat
	ParamStructuredOutputs
	ParamStop
	ParamTools
	ParamToolChoice
	ParamParallelToolCalls
	ParamIncludeReasoning
	ParamReasoning
	ParamReasoningEffort
	ParamWebSearchOptions
	ParamVerbosity
	paramsEnd

	AllParams = paramsEnd - 1
)

var paramNames = [...]string{
	"temperature", "top_p", "top_k", "min_p", "top_a", "frequency_penalty", "presence_penalty", "repetition_penalty",
	"max_tokens", "max_completion_tokens", "logit_bias", "logprobs", "top_logprobs", "prediction", "seed",
	"response_format", "structured_outputs", "stop", "tools", "tool_choice", "parallel_tool_calls", "include_reasoning",
	"reasoning", "reasoning_effort", "web_search_options", "verbosity",
}

var paramByName = func() map[string]Params {
	m := make(map[string]Params, len(paramNames))
	for i, name := range paramNames {
		m[name] = 1 << i
	}
	return m
}()

// ParamNamed is the bit of a parameter name, 0 for an unknown name.
func ParamNamed(name string) Params { return paramByName[name] }

// Names lists the set's names in their fixed order.
func (p Params) Names() []string {
	names := []string{}
	for i, name := range paramNames {
		if p&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

func (p Params) String() string { return strings.Join(p.Names(), ",") }
