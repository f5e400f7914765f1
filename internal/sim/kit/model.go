package kit

import "slices"

// Model describes one of the simulator's models for a catalog.
type Model struct {
	Name            string // as a request names it, such as "chat"
	Title           string // display name
	Description     string
	ContextTokens   int
	MaxOutputTokens int
	Input, Output   []string // modalities: text, image, audio, file, video
	Parameters      []string // request parameters that it applies or checks
	Prices          Prices
}

// Prices are decimal rubles per 1000 tokens; "": no separate price.
type Prices struct {
	Prompt, Completion, CacheRead, Reasoning, Audio, AudioOutput, ImageOutput string
}

// Catalog returns a copy of the list of models. The names are without a vendor, as an upstream sees them.
func Catalog() []Model { return slices.Clone(Models[:]) }

var (
	everyInput = []string{"text", "image", "audio", "file", "video"}
	textOnly   = []string{"text"}
	parameters = []string{
		"temperature", "top_p", "top_k", "min_p", "top_a", "frequency_penalty", "presence_penalty", "repetition_penalty",
		"max_tokens", "max_completion_tokens", "logit_bias", "logprobs", "top_logprobs", "prediction", "seed",
		"response_format", "structured_outputs", "stop", "tools", "tool_choice", "parallel_tool_calls",
		"include_reasoning", "reasoning", "reasoning_effort", "verbosity",
	}
	smallPrices = Prices{Prompt: "0.01", Completion: "0.04", CacheRead: "0.0025"}
)

const (
	contextTokens = 128_000
	outputTokens  = 16_384
)

// Models are those of the simulator.
var Models = [...]Model{
	{"chat", "Sim Chat", "Deterministic text in the prompt's language; tools, JSON, reasoning and logprobs when asked.", contextTokens, outputTokens, everyInput, []string{"text", "image", "audio"}, parameters, smallPrices},
	{"echo", "Sim Echo", "Answers with the last user message, exactly.", contextTokens, outputTokens, everyInput, textOnly, parameters, Prices{Prompt: "0.001", Completion: "0.001"}},
	{"tools", "Sim Tools", "Calls the tools it is offered, with arguments that conform to their schemas, then tells their results.", contextTokens, outputTokens, everyInput, textOnly, parameters, smallPrices},
	{"reason", "Sim Reason", "Thinks before it answers; obeys the reasoning effort.", contextTokens, outputTokens, everyInput, textOnly, parameters, Prices{Prompt: "0.02", Completion: "0.08", CacheRead: "0.005", Reasoning: "0.06"}},
	{"json", "Sim JSON", "Answers with JSON: conforming to the schema it is given, else of its own.", contextTokens, outputTokens, everyInput, textOnly, parameters, smallPrices},
	{"vision", "Sim Vision", "Tells the number, kind and size of the images and other media in the prompt.", contextTokens, outputTokens, everyInput, textOnly, parameters, smallPrices},
	{"image", "Sim Image", "Adds a small PNG picture to its answer.", contextTokens, outputTokens, everyInput, []string{"text", "image"}, parameters, Prices{Prompt: "0.01", Completion: "0.04", ImageOutput: "0.2"}},
	{"audio", "Sim Audio", "Answers with sound and its transcript.", contextTokens, outputTokens, everyInput, []string{"text", "audio"}, parameters, Prices{Prompt: "0.01", Completion: "0.04", Audio: "0.05", AudioOutput: "0.1"}},
	{"bench", "Sim Bench", "A fixed answer at the least cost, for measuring what stands before it. It does not check its requests.", contextTokens, outputTokens, everyInput, textOnly, parameters, smallPrices},
}

// ModelNamed finds a model, or nil.
func ModelNamed(name string) *Model {
	for i := range Models {
		if Models[i].Name == name {
			return &Models[i]
		}
	}
	return nil
}
