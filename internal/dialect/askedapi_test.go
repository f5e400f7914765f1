package dialect_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"weir/internal/completion"
	"weir/internal/dialect"
)

// done says of members why no provider has to obey them: the same in all styles that have them.
var done = map[string]string{
	"model": "routing", "models": "routing", "provider": "routing", "route": "routing", "session_id": "sticky routing",
	"service_tier": "routing: an endpoint of the tier has it in its address or its own field", "serviceTier": "as service_tier", "speed": "as service_tier", "inference_geo": "routing: an endpoint of the region",
	"messages": "the conversation", "input": "the conversation", "contents": "the conversation", "instructions": "the conversation", "system": "the conversation", "systemInstruction": "the conversation",
	"stream": "the gateway writes the stream", "stream_options": "the gateway writes the stream", "usage": "the gateway writes the usage", "debug": "the gateway writes it",
	"include_reasoning": "the gateway leaves it out", "reasoning.exclude": "the gateway leaves it out", "reasoning.summary": "a hint on how reasoning is shown", "include": "the gateway writes what an answer has of it",
	"reasoning.enabled": "as reasoning in chat: the canonical field has samples", "generationConfig.thinkingConfig": "the canonical fields have samples",
	"metadata": "stored with the call", "labels": "stored with the call", "trace": "stored with the call", "user": "providers that have such a field get a hash", "safety_identifier": "as user",
	"preset":  "the gateway fills in what it has before it decodes the request",
	"plugins": "the gateway runs them; their searches have samples", "transforms": "a plugin", "truncation": "a plugin", "structured_outputs": "the gateway checks the answer",
	"prompt_cache_key": "a hint that makes calls cheaper; routing obeys it", "background": "the gateway's own", "previous_response_id": "the gateway's own", "store": "the gateway's own",
	"betas": "refused by the decoder, which names the header", "cachedContent": "refused by the decoder",
	"thread": "refused by the decoder, as the SDK expects",
}

// published are the members of requests in the official SDKs for Node: openai 7.55.0 (ChatCompletionCreateParamsBase,
// ResponseCreateParamsBase), @anthropic-ai/sdk 1.11.0 (BetaMessageCreateParamsBase) and @google/genai 2.32.0 (generateContentConfigToMldev).
var published = map[completion.Style]string{
	completion.Chat: `messages model audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens metadata modalities moderation n
		parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier
		stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options`,
	completion.Responses: `access_programs background context_management conversation image include input instructions max_output_tokens max_tool_calls metadata model moderation
		parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options
		temperature text.format text.verbosity tool_choice tools top_logprobs top_p truncation user`,
	completion.Messages: `max_tokens messages model billing_policy cache_control compaction container context_management diagnostics fallback_credit_token fallbacks inference_geo
		mcp_servers metadata output_config.effort output_config.format output_format service_tier speed stop_sequences stream system thinking.type thinking.budget_tokens thinking.display thread tool_choice
		tools betas user_profile_id workspace_id`,
	completion.Gemini: `contents cachedContent continuationToken labels safetySettings serviceTier store systemInstruction toolConfig.functionCallingConfig toolConfig.retrievalConfig
		toolConfig.includeServerSideToolInvocations tools generationConfig.audioTranscriptionConfig generationConfig.candidateCount generationConfig.enableEnhancedCivicAnswers
		generationConfig.frequencyPenalty generationConfig.imageConfig generationConfig.logprobs generationConfig.maxOutputTokens generationConfig.mediaResolution
		generationConfig.presencePenalty generationConfig.responseJsonSchema generationConfig.responseLogprobs generationConfig.responseMimeType generationConfig.responseModalities
		generationConfig.responseSchema generationConfig.seed generationConfig.speechConfig generationConfig.stopSequences generationConfig.temperature generationConfig.thinkingConfig
		generationConfig.topK generationConfig.topP`,
}

// described is the schema of a style's requests.
var described = map[completion.Style]string{completion.Chat: "ChatRequest", completion.Responses: "ResponsesRequest", completion.Messages: "MessagesRequest", completion.Gemini: "GeminiRequest"}

// Each member of a request that our OpenAPI document describes, that the official SDKs have, or that a style's table says the gateway does
// itself, is tried with every dialect or has a reason not to be.
func TestEveryDescribedMemberIsDecided(t *testing.T) {
	t.Parallel()
	schemas := readSchemas(t)
	for _, s := range styles {
		tried := map[string]bool{}
		for _, f := range fields {
			note(tried, f.of(s.kind))
		}
		note(tried, strangers[s.name])
		decide := func(from, name string) {
			outer, _, nested := strings.Cut(name, ".")
			switch _, why := done[name]; {
			case why, tried[name]:
			case nested && done[outer] != "":
			default:
				t.Errorf("%s, %s: %s is neither tried with each dialect nor done by the gateway", s.name, from, name)
			}
		}
		members := schemas.members(described[s.kind])
		for _, name := range members {
			decide("OpenAPI", name)
		}
		for _, name := range strings.Fields(published[s.kind]) {
			decide("official SDK", name)
		}
		for _, name := range dialect.Here(s.kind) {
			decide("table", name)
		}
		for _, name := range dialect.Settings(s.kind) {
			in := slices.ContainsFunc(members, func(m string) bool { return m == name || strings.HasPrefix(m, name+".") })
			if !in && name != "generationConfig._responseJsonSchema" && !(s.kind == completion.Responses && name == "cache_control") { // a spelling of one client; a member of other styles
				t.Errorf("%s: the OpenAPI document does not describe %s", s.name, name)
			}
		}
	}
}

// shape is a schema of the OpenAPI document, as far as members are concerned.
type shape struct {
	Ref        string           `yaml:"$ref"`
	AllOf      []shape          `yaml:"allOf"`
	Properties map[string]shape `yaml:"properties"`
}

type schemas map[string]shape

func readSchemas(t *testing.T) schemas {
	t.Helper()
	text, err := os.ReadFile("../httpapi/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Components struct{ Schemas schemas } }
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Components.Schemas
}

// members are the members of a schema; a member with members of its own is left out, and they are written a.b.
func (s schemas) members(name string) (list []string) {
	x := s[name]
	for _, part := range append(x.AllOf, x) {
		list = append(list, s.of(part, "")...)
	}
	slices.Sort(list)
	return list
}

func (s schemas) of(x shape, prefix string) (list []string) {
	if x.Ref != "" && prefix == "" {
		return s.members(strings.TrimPrefix(x.Ref, "#/components/schemas/"))
	}
	for name, in := range x.Properties {
		if prefix == "" && in.Ref == "" && len(in.Properties) > 0 {
			list = append(list, s.of(in, name+".")...)
		} else {
			list = append(list, prefix+name)
		}
	}
	return list
}

// doneOfTasks says of members of tasks why no provider has to obey them.
var doneOfTasks = map[string]string{
	"model": "routing", "models": "routing", "provider": "routing", "user": "providers that have such a field get a hash",
	"input": "content", "query": "content", "documents": "content", "prompt": "content", "file": "content", "image": "content", "mask": "content of edits",
	"n": "the gateway calls as often as needed", "stream": "the gateway writes the stream", "stream_format": "the gateway writes the stream",
	"encoding_format": "the gateway writes the vectors", "return_documents": "the gateway has the documents",
	"timestamp_granularities": "providers that have them always give them", "known_speaker_names": "part of the references",
}

// taskSchemas are the schemas of the requests of tasks. What the gateway writes itself is the form of the answer, where a task has one.
var taskSchemas = map[string]struct{ schema, written string }{
	"embeddings": {"EmbeddingRequest", ""}, "rerank": {"RerankRequest", ""}, "moderations": {"ModerationRequest", ""}, "speech": {"SpeechRequest", ""},
	"transcription": {"TranscriptionRequest", "response_format"}, "images": {"ImageSettings", "response_format"},
}

// Each member of a task that the OpenAPI document describes is tried with every dialect, or has a reason not to be.
func TestEveryDescribedMemberOfTasksIsDecided(t *testing.T) {
	t.Parallel()
	schemas := readSchemas(t)
	for _, kind := range kinds {
		tried := map[string]bool{}
		for _, f := range kind.fields {
			note(tried, f.with)
		}
		of := taskSchemas[kind.name]
		members := schemas.members(of.schema)
		if len(members) < 3 {
			t.Errorf("%s has no schema", kind.name)
		}
		for _, name := range members {
			plain, list := strings.CutSuffix(name, "[]")
			if doneOfTasks[plain] == "" && !tried[name] && !(list && tried[plain]) && !tried[name+"[]"] && name != of.written {
				t.Errorf("%s: %s is neither tried with each dialect nor done by the gateway", kind.name, name)
			}
		}
	}
}
