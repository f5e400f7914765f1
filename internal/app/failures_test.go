package app_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/dialect/all"
	"weir/internal/fault"
	"weir/internal/httpapi"
	"weir/internal/httpserver"
)

// failure is what a provider was seen to answer, and what must come of it.
type failure struct {
	from    string // who sends it, and where it was read
	dialect string // "" openai
	status  int
	headers string // "Name: value", separated by line breaks
	body    string

	kind    fault.Kind
	next    fault.Next
	retry   time.Duration
	tokens  fault.Overflow
	words   string // with which the message begins in the messages style
	account bool   // it is about the operator's account, and its words are not shown
}

const (
	elsewhere = fault.NextEndpoint
	model     = fault.NextModel
)

var overflow = func(from, body string, tokens fault.Overflow) failure {
	return failure{from: from, status: 400, body: body, kind: fault.ContextLength, next: model, tokens: tokens}
}

var failures = []failure{
	// Requests that are longer than the model's context.
	overflow("OpenAI, crewAIInc/crewAI-examples#121", `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 8227 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, fault.Overflow{Prompt: 8227, Limit: 8192}),
	overflow("OpenAI, chathub-dev/chathub#126", `{"error":{"message":"This model's maximum context length is 4097 tokens. However, you requested 4295 tokens (3245 in the messages, 1050 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, fault.Overflow{Prompt: 3245, Output: 1050, Limit: 4097}),
	overflow("OpenAI", `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`, fault.Overflow{}),
	overflow("Azure, BerriAI/litellm#15968", `{"error":{"message":"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 509178 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, fault.Overflow{Prompt: 509178, Limit: 272000}),
	overflow("Moonshot, openclaw/openclaw#9562", `{"error":{"message":"Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)","type":"invalid_request_error"}}`, fault.Overflow{Prompt: 291351, Limit: 262144}),
	overflow("Z.AI, NVIDIA-NeMo/Switchyard#314", `{"error":{"message":"Prompt exceeds max length","code":"1261"}}`, fault.Overflow{}),
	overflow("DashScope, openclaw/openclaw#9562", `{"error":{"message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]","code":"invalid_parameter_error","type":"invalid_request_error"}}`, fault.Overflow{Limit: 129024}),
	overflow("xAI", `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, fault.Overflow{Prompt: 537812, Limit: 131072}),
	overflow("Mistral, BerriAI/litellm#21647", `{"object":"error","message":{"detail":[{"msg":"Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length"}]},"type":"invalid_request_error","param":null,"code":"3051"}`, fault.Overflow{Prompt: 65673, Limit: 32768}),
	overflow("Mistral behind another gateway", `{"error":{"message":"{\"object\":\"error\",\"message\":\"Prompt contains 65673 tokens, too large for model with 32768 maximum context length\",\"type\":\"invalid_request_error\"}","code":400}}`, fault.Overflow{Prompt: 65673, Limit: 32768}),
	overflow("Together, BerriAI/litellm#17284", `{"error":{"message":"Input validation error: `+"`inputs` tokens + `max_new_tokens`"+` must be <= 4097. Given: 5000 `+"`inputs` tokens and 100 `max_new_tokens`"+`","type":"invalid_request_error"}}`, fault.Overflow{}),
	overflow("Together", `{"error":{"message":"The input (40000 tokens) is longer than the model's context length (32768 tokens).","type":"invalid_request_error"}}`, fault.Overflow{Prompt: 40000, Limit: 32768}),
	overflow("Yandex", `{"error":{"message":"The number of input tokens must be no more than 32768, got 40012","code":400}}`, fault.Overflow{Prompt: 40012, Limit: 32768}),
	overflow("SGLang, BerriAI/litellm#10793", `{"object":"error","message":"The input (32799 tokens) is longer than the model's context length (32768 tokens).","type":"BadRequestError","param":null,"code":400}`, fault.Overflow{Prompt: 32799, Limit: 32768}),
	{from: "SGLang, musistudio/claude-code-router#1799", status: 400, body: `{"object":"error","type":"BadRequestError","code":400,"message":"Requested token count exceeds the model's maximum context length of 262144 tokens. You requested a total of 262462 tokens: 230462 tokens from the input messages and 32000 tokens for the completion."}`,
		kind: fault.ContextLength, next: model, tokens: fault.Overflow{Prompt: 230462, Output: 32000, Limit: 262144}, words: "input length and `max_tokens` exceed context limit: 230462 + 32000 > 262144"},
	overflow("vLLM", `{"object":"error","message":"This model's maximum context length is 32768 tokens. However, you requested 40000 tokens (38000 in the messages, 2000 in the completion).","type":"BadRequestError","code":400}`, fault.Overflow{Prompt: 38000, Output: 2000, Limit: 32768}),
	overflow("vLLM, earendil-works/pi#5930", `{"error":{"message":"This model's maximum context length is 262144 tokens. However, you requested 0 output tokens and your prompt contains at least 262145 input tokens, for a total of at least 262145 tokens.","type":"BadRequestError","code":400}}`, fault.Overflow{Prompt: 262145, Limit: 262144}),
	overflow("vLLM, earlier", `{"object":"error","message":"'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context length is 4096 tokens and your request has 2104 input tokens (2000 > 4096 - 2104). None","type":"BadRequestError","code":400}`, fault.Overflow{Prompt: 2104, Output: 2000, Limit: 4096}),
	overflow("llama.cpp, openclaw/openclaw#64180", `{"error":{"code":400,"message":"request (66202 tokens) exceeds the available context size (65536 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":66202,"n_ctx":65536}}`, fault.Overflow{Prompt: 66202, Limit: 65536}),
	{from: "llama.cpp, earlier", status: 500, body: `{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}`, kind: fault.ContextLength, next: model},
	overflow("Ollama, earendil-works/pi#2626", `{"error":{"message":"prompt too long; exceeded max context length by 100918 tokens","type":"invalid_request_error","param":null,"code":null}}`, fault.Overflow{}),
	overflow("LM Studio", `{"error":"The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 40012 >= n_ctx: 32768). Try to load the model with a larger context length, or provide a shorter input."}`, fault.Overflow{Prompt: 40012, Limit: 32768}),
	overflow("Groq", `{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, fault.Overflow{}),
	overflow("Cerebras, cline/cline#5140", `{"message":"Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}`, fault.Overflow{Prompt: 42328, Limit: 40000}),
	overflow("Fireworks", `{"error":{"object":"error","type":"invalid_request_error","code":"invalid_request_error","message":"The prompt is too long: 133000, model maximum context length: 131071"}}`, fault.Overflow{Prompt: 133000, Limit: 131071}),
	overflow("SiliconFlow, leookun/cursor-byok#129", `{"code":20015,"message":"number of input tokens (204703) has exceeded max_prompt_tokens (202752) limit.","data":null}`, fault.Overflow{Prompt: 204703, Limit: 202752}),
	overflow("MiniMax", `{"type":"error","error":{"type":"bad_request_error","message":"invalid params, context window exceeds limit (2013)","http_code":"400"}}`, fault.Overflow{}),
	overflow("OpenRouter", `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"This endpoint's maximum context length is 128000 tokens. However, you requested about 200000 tokens\",\"code\":400}}","provider_name":"X"}},"user_id":"user_2abcdefghijkl"}`, fault.Overflow{Prompt: 200000, Limit: 128000}),
	overflow("LiteLLM, anomalyco/opencode#44888", `{"error":{"message":"litellm.BadRequestError: Context Window exceeded for given call. No models have context window large enough for this call.","type":null,"param":null,"code":"400"}}`, fault.Overflow{}),
	overflow("oMLX, jundot/omlx#26", `{"detail":"Prompt too long: 32799 tokens exceeds max context window of 32768 tokens"}`, fault.Overflow{Prompt: 32799, Limit: 32768}),
	overflow("DS4, antirez/ds4#150", `{"error":{"message":"Prompt tokens (40000) exceeds context size (32768)","type":"context_exceeded","n_prompt_tokens":40000,"n_ctx":32768}}`, fault.Overflow{Prompt: 40000, Limit: 32768}),
	{from: "Anthropic", dialect: "anthropic", status: 400, body: `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`,
		kind: fault.ContextLength, next: model, tokens: fault.Overflow{Prompt: 210000, Limit: 200000}, words: "prompt is too long: 210000 tokens > 200000 maximum"},
	{from: "Anthropic, stackblitz/bolt.new#7414", dialect: "anthropic", status: 400, body: "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 199323 + 20000 > 200000, decrease input length or `max_tokens` and try again\"}}",
		kind: fault.ContextLength, next: model, tokens: fault.Overflow{Prompt: 199323, Output: 20000, Limit: 200000}, words: "input length and `max_tokens` exceed context limit: 199323 + 20000 > 200000"},
	{from: "Anthropic, tontinton/maki#319", dialect: "anthropic", status: 413, body: `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`,
		kind: fault.ContextLength, next: model, tokens: fault.Overflow{Prompt: 210000, Limit: 200000}},
	{from: "Bedrock, openclaw/openclaw#58839", dialect: "bedrock", status: 400, headers: "X-Amzn-Errortype: ValidationException:http://internal", body: `{"message":"Input is too long for requested model."}`, kind: fault.ContextLength, next: model},
	{from: "Bedrock, openclaw/openclaw#58839", dialect: "bedrock", status: 400, headers: "X-Amzn-Errortype: ValidationException", body: `{"message":"The model returned the following errors: Input exceeds the max input token limit"}`, kind: fault.ContextLength, next: model},
	{from: "Google, google-gemini/gemini-cli#6678", dialect: "gemini", status: 400, body: `[{"error":{"code":400,"message":"The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).","errors":[{"message":"The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).","domain":"global","reason":"badRequest"}],"status":"INVALID_ARGUMENT"}}]`,
		kind: fault.ContextLength, next: model, tokens: fault.Overflow{Prompt: 1200293, Limit: 1048576}, words: "prompt is too long: 1200293 tokens > 1048576 maximum"},
	{from: "GigaChat", dialect: "gigachat", status: 422, body: `{"status":422,"message":"Tokens limit exceeded"}`, kind: fault.ContextLength, next: model},
	{from: "OpenAI", dialect: "responses", status: 400, body: `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`, kind: fault.ContextLength, next: model},

	// Rate limits, some of which are reported as something else.
	{from: "Groq, assafelovic/gpt-researcher#985", status: 413, body: "{\"error\":{\"message\":\"Request too large for model `llama-3.1-70b-versatile` in organization `org_01hw8f0aa0ekmrn70ffm2zkdv1` on tokens per minute (TPM): Limit 6000, Requested 14368, please reduce your message size and try again. Visit https://console.groq.com/docs/rate-limits for more information.\",\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}",
		kind: fault.RateLimited, next: elsewhere, retry: 10 * time.Second},
	{from: "Groq, openinterpreter/openinterpreter#408", status: 429, body: "{\"error\":{\"message\":\"Rate limit reached for model `llama-3.3-70b-versatile` in organization `org_01hs26sgxde6dva0eke39336sv` on tokens per minute (TPM): Limit 6000, Used 3513, Requested 3166. Please try again in 6.780999999s.\",\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}",
		kind: fault.RateLimited, next: elsewhere, retry: 7 * time.Second},
	{from: "OpenAI, BuilderIO/micro-agent#86", status: 429, body: `{"error":{"message":"Rate limit reached for gpt-4o in organization org-uOtiSEwvUnroadaOnJJquBEC on tokens per min (TPM): Limit 30000, Used 29937, Requested 385. Please try again in 644ms.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, kind: fault.RateLimited, next: elsewhere, retry: time.Second},
	{from: "OpenAI, TheR1D/shell_gpt#653", status: 429, body: `{"error":{"message":"Request too large for gpt-4o in organization org-78asdf87asdf9aaa8976 on tokens per min (TPM): Limit 30000, Requested 31538. The input or output tokens must be reduced in order to run successfully.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, kind: fault.RateLimited, next: elsewhere, retry: 10 * time.Second},
	{from: "xAI, continuedev/continue#10373", account: true, status: 429, body: `{"code":"x","error":"Your team 16f2151a-40f4-4a80-8ad0-cae00c27e8dd has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit."}`,
		kind: fault.RateLimited, next: elsewhere, retry: 10 * time.Second},
	{from: "Z.AI, kaitranntt/ccs#402", status: 429, body: `{"error":{"code":"1302","message":"High concurrency usage of this API, please reduce concurrency or contact customer service to increase limits"}}`, kind: fault.RateLimited, next: elsewhere, retry: 10 * time.Second},
	{from: "Moonshot", status: 429, body: `{"error":{"message":"Your account org-abc123def456<ak-abc123> request reached organization max RPM: 3, please try again after 1 seconds","type":"rate_limit_reached_error"}}`, kind: fault.RateLimited, next: elsewhere, retry: time.Second},
	{from: "OpenRouter, recorded", status: 429, body: `{"error":{"code":429,"message":"Provider returned error","metadata":{"provider_name":"Google","raw":"google/gemini-2.0-flash-exp:free is temporarily rate-limited upstream. Please retry shortly, or add your own key to accumulate your rate limits: https://openrouter.ai/settings/integrations"}},"user_id":"user_2abcdefghijkl"}`, kind: fault.RateLimited, next: elsewhere, retry: 10 * time.Second},
	{from: "Google, recorded", dialect: "gemini", status: 429, body: `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"36s"}]}}`, kind: fault.RateLimited, next: elsewhere, retry: 36 * time.Second},
	{from: "Bedrock", dialect: "bedrock", status: 429, headers: "X-Amzn-Errortype: ThrottlingException", body: `{"message":"Too many tokens, please wait before trying again."}`, kind: fault.RateLimited, next: elsewhere, retry: 10 * time.Second},
	{from: "Anthropic", dialect: "anthropic", status: 429, headers: "Retry-After: 31", body: `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 30,000 input tokens per minute."}}`, kind: fault.RateLimited, next: elsewhere, retry: 31 * time.Second},

	// Overload.
	{from: "Anthropic's documentation", dialect: "anthropic", status: 529, body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, kind: fault.ProviderOverloaded, next: elsewhere, retry: 10 * time.Second},
	{from: "MiniMax", status: 529, headers: "Retry-After: 4", body: `{"error":{"message":"overloaded","type":"overloaded_error"}}`, kind: fault.ProviderOverloaded, next: elsewhere, retry: 4 * time.Second},
	{from: "Groq's documentation", status: 498, body: `{"error":{"message":"Flex tier capacity exceeded","type":"flex","code":"capacity_exceeded"}}`, kind: fault.ProviderOverloaded, next: elsewhere, retry: 10 * time.Second},
	{from: "Google", dialect: "gemini", status: 503, body: `[{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}]`, kind: fault.ProviderOverloaded, next: elsewhere, retry: 10 * time.Second},
	{from: "a proxy", status: 503, body: `<html><head><title>503 Service Temporarily Unavailable</title></head></html>`, kind: fault.ProviderOverloaded, next: elsewhere, retry: 10 * time.Second},

	// The operator's account: never the client's affair.
	{from: "Anthropic", dialect: "anthropic", account: true, status: 400, body: `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}}`, kind: fault.ProviderUnavailable, next: elsewhere},
	{from: "xAI", account: true, status: 400, body: `{"code":"Client specified an invalid argument","error":"Incorrect API key provided: xa***ab. You can obtain an API key from https://console.x.ai."}`, kind: fault.ProviderUnavailable, next: elsewhere},
	{from: "DashScope", account: true, status: 400, body: `{"error":{"code":"Arrearage","message":"Access denied, please make sure your account is in good standing.","type":"Arrearage"}}`, kind: fault.ProviderUnavailable, next: elsewhere},
	{from: "Google", dialect: "gemini", account: true, status: 400, body: `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`, kind: fault.ProviderUnavailable, next: elsewhere},
	{from: "Z.AI, zai-org/feedback#789", dialect: "anthropic", account: true, status: 429, body: `{"type":"error","error":{"type":"rate_limit_error","code":"1113","message":"[1113][Insufficient balance or no resource package. Please recharge.]"}}`, kind: fault.RateLimited, next: elsewhere, retry: 10 * time.Second},
	{from: "OpenAI", account: true, status: 403, body: `{"error":{"message":"Project proj_abcdefghijkl does not have access to model gpt-5","type":"invalid_request_error","param":null,"code":"model_not_found"}}`, kind: fault.ProviderUnavailable, next: elsewhere},

	// Content that the provider refuses.
	{from: "Azure", status: 400, body: `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, kind: fault.ContentPolicy, next: model},
	{from: "OpenRouter", status: 403, body: `{"error":{"message":"openai/gpt-5 requires moderation. Your input was flagged for \"violence\"","code":403,"metadata":{"reasons":["violence"],"flagged_input":"x"}}}`, kind: fault.ContentPolicy, next: model},
	{from: "xAI", status: 403, body: `{"code":"The caller does not have permission to execute the specified operation","error":"Content violates usage guidelines."}`, kind: fault.ContentPolicy, next: model},
	{from: "Moonshot", status: 400, body: `{"error":{"message":"The request was rejected because it was considered high risk","type":"content_filter"}}`, kind: fault.ContentPolicy, next: model},

	// Requests that are too large, or wrong.
	{from: "a proxy", status: 413, body: "<html><head><title>413 Request Entity Too Large</title></head></html>", kind: fault.PayloadTooLarge, next: elsewhere},
	{from: "Anthropic's documentation", dialect: "anthropic", status: 413, body: `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, kind: fault.PayloadTooLarge, next: model},
	{from: "OpenAI, recorded", status: 400, body: `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`, kind: fault.Invalid, next: model},
	{from: "DashScope", status: 400, body: `{"error":{"message":"Range of max_tokens should be [1, 32768]","code":"invalid_parameter_error","type":"invalid_request_error"}}`, kind: fault.Invalid, next: model},
	{from: "Bedrock, recorded", dialect: "bedrock", status: 400, body: `{"message":"This model doesn't support the video content block that you provided. Update the content block and try again."}`, kind: fault.Invalid, next: model},
	{from: "FastAPI, with the request quoted", status: 422, body: `{"detail":[{"type":"missing","loc":["body","model"],"msg":"Field required","input":{"messages":[{"content":"what is a context window?"}]}}]}`, kind: fault.Invalid, next: model},

	// Providers that fail.
	{from: "Cloudflare", status: 524, body: `<!DOCTYPE html><title>524: A timeout occurred</title>`, kind: fault.ProviderUnavailable, next: elsewhere},
	{from: "Cloudflare", status: 520, body: `error code: 520`, kind: fault.ProviderUnavailable, next: elsewhere},
	{from: "Z.AI, sipeed/picoclaw#795", status: 500, body: `{"error":{"code":"1234","message":"网络错误，错误id：202602261029392bc0093d0e944297，请联系客服。"}}`, kind: fault.ProviderUnavailable, next: elsewhere},

	// Failures inside answers that began well.
	{from: "OpenRouter, diegosouzapw/OmniRoute#8210", status: 200, body: `{"id":"x","object":"chat.completion.chunk","choices":[],"error":{"code":502,"message":"Worker local total request limit reached (33/32)"}}`, kind: fault.ProviderUnavailable, next: elsewhere},
	{from: "OpenRouter, dcdpr/jp#978", status: 200, body: `{"error":{"code":400,"message":"prompt is too long: 1284668 tokens > 1000000 maximum"}}`, kind: fault.ContextLength, next: model, tokens: fault.Overflow{Prompt: 1284668, Limit: 1000000}},
	{from: "a gateway, Growth-Circle/cadis#997", status: 200, body: `{"error":{"message":"Rate limit exceeded","type":"rate_limit_error","code":"rate_limit_exceeded"}}`, kind: fault.RateLimited, next: elsewhere, retry: 10 * time.Second},
	{from: "Anthropic, Wei-Shaw/sub2api#5567", dialect: "anthropic", status: 200, body: `{"type":"error","error":{"details":null,"type":"overloaded_error","message":"Overloaded"}}`, kind: fault.ProviderOverloaded, next: elsewhere, retry: 10 * time.Second},
	{from: "OpenAI, zyycn/codex-proxy-rs#90", dialect: "responses", status: 200, body: `{"type":"error","error":{"type":"service_unavailable_error","code":"server_is_overloaded","message":"Our servers are currently overloaded. Please try again later.","param":null},"sequence_number":2}`, kind: fault.ProviderOverloaded, next: elsewhere, retry: 10 * time.Second},
	{from: "a code as a string", status: 200, body: `{"error":{"message":"slow down","code":"429"}}`, kind: fault.RateLimited, next: elsewhere, retry: 10 * time.Second},
	{from: "an error as a string", status: 200, body: `{"error":"The engine is currently overloaded, please try again later"}`, kind: fault.ProviderOverloaded, next: elsewhere, retry: 10 * time.Second},
	{from: "MiniMax", status: 200, body: `{"base_resp":{"status_code":1039,"status_msg":"token limit exceeded"}}`, kind: fault.ContextLength, next: model},
}

// Whatever words and statuses a provider has for its failure, each style's clients learn what it means in theirs.
func TestFailuresAsTheyCome(t *testing.T) {
	t.Parallel()
	dialects := all.Dialects()
	for _, c := range failures {
		name := c.dialect
		if name == "" {
			name = "openai"
		}
		ep := &catalog.Endpoint{Model: &catalog.Model{Slug: "t/m"}, Provider: &catalog.Provider{Name: "P", Dialect: name}}
		header := http.Header{}
		for line := range strings.Lines(c.headers) {
			field, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			header.Set(field, value)
		}
		f := dialects[name].Failure(ep, c.status, header, []byte(c.body))
		if f.Kind != c.kind || f.Next != c.next || f.RetryAfter != c.retry || f.Overflow != c.tokens {
			t.Errorf("%s: %s %d\n%s, next %d, after %v, %+v, want\n%s, next %d, after %v, %+v", c.from, c.body, c.status, f.Kind, f.Next, f.RetryAfter, f.Overflow, c.kind, c.next, c.retry, c.tokens)
			continue
		}
		if f.Upstream.OfAccount != c.account || f.Upstream.OfAccount && f.Upstream.Raw != "" {
			t.Errorf("%s: of the operator's account %v, raw %q", c.from, f.Upstream.OfAccount, f.Upstream.Raw)
		}
		enveloped(t, &c, f)
	}
}

// enveloped checks what clients of each style see.
func enveloped(t *testing.T, c *failure, f *fault.Error) {
	t.Helper()
	status, word := httpserver.Status(f), map[fault.Kind]string{fault.ContextLength: "invalid_request_error", fault.RateLimited: "rate_limit_error", fault.ProviderOverloaded: "overloaded_error",
		fault.ProviderUnavailable: "api_error", fault.ContentPolicy: "invalid_request_error", fault.Invalid: "invalid_request_error", fault.PayloadTooLarge: "request_too_large"}[c.kind]
	want := map[fault.Kind]int{fault.ContextLength: 400, fault.RateLimited: 429, fault.ProviderOverloaded: 503, fault.ProviderUnavailable: 502, fault.ContentPolicy: 400, fault.Invalid: 400,
		fault.PayloadTooLarge: 413}[c.kind]
	if status != want {
		t.Errorf("%s: status %d, want %d", c.from, status, want)
	}
	var chat, gemini struct {
		Error struct {
			Code     int
			Message  string
			Metadata map[string]any
		}
	}
	var messages struct {
		Error struct{ Type, Message string }
	}
	for _, err := range []error{json.Unmarshal(httpserver.ErrorBody(f, "r"), &chat), json.Unmarshal(httpapi.MessagesErrorBody(f, "r"), &messages), json.Unmarshal(httpapi.GeminiErrorBody(f, "r"), &gemini)} {
		if err != nil {
			t.Errorf("%s: %v", c.from, err)
		}
	}
	if chat.Error.Code != want || chat.Error.Message == "" || chat.Error.Metadata["error_type"] != c.kind.String() || gemini.Error.Code != want {
		t.Errorf("%s: %+v, %+v", c.from, chat, gemini)
	}
	words := c.words
	if words == "" && c.tokens.Prompt > 0 && c.tokens.Output == 0 {
		words = "prompt is too long: "
	}
	inMessages := httpapi.MessagesStatus(f)
	if messages.Error.Type != word || !strings.HasPrefix(messages.Error.Message, words) || inMessages != want && (want != 503 || inMessages != 529) {
		t.Errorf("%s: %d %+v", c.from, inMessages, messages)
	}
}
