package upstream

import (
	"testing"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// Providers name the operator's organization where they speak of its limits.
func TestWithoutAccounts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"in organization `org_01hw8f0aa0ekmrn70ffm2zkdv1` on tokens":                                          "in organization `[account]` on tokens",
		"organization org-uOtiSEwvUnroadaOnJJquBEC and proj_abcdefghijkl":                                     "organization [account] and [account]",
		`"user_id":"user_2abcdefghijkl"`:                                                                      `"user_id":"[account]"`,
		"user_input must be text":                                                                             "user_input must be text",
		"Your organization must be verified to stream this model":                                             "Your organization must be verified to stream this model",
		"in project 440059914257 before or it is disabled":                                                    "in project [account] before or it is disabled",
		`{"organization_id":"a1b2c3d4e5"}`:                                                                    `{"organization_id":"[account]"}`,
		"request id 01db24bf-29eb-437d-80fe-535d7beb3487":                                                     "request id 01db24bf-29eb-437d-80fe-535d7beb3487",
		"arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-20250514-v1:0": "arn:aws:bedrock:us-east-1:[account]:inference-profile/us.anthropic.claude-sonnet-4-20250514-v1:0",
	} {
		if got := string(withoutNumbered(withoutAccounts([]byte(text)))); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// What a provider says of a limit is shown without the operator's numbers, accounts and links. Names of models, waiting times and codes stay. The
// sentences are from public reports.
func TestWithoutLimits(t *testing.T) {
	t.Parallel()
	for from, c := range map[string][2]string{
		"OpenAI, FoundationAgents/MetaGPT#523": {
			"Rate limit reached for gpt-4 in organization org-uVqpjtJiKqvVJMVfvpaounIh on tokens per min (TPM): Limit 10000, Used 8554, Requested 3082. Please try again in 9.816s. Visit https://platform.openai.com/account/rate-limits to learn more.",
			"Rate limit reached for gpt-4 in organization [account] on tokens per min (TPM): Limit [limit], Used [limit], Requested [limit]. Please try again in 9.816s. Visit [url] to learn more."},
		"OpenAI, daveshap/Medical_Intake#9": {
			"Rate limit reached for 10KTPM-200RPM in organization org-gvAzf6Q9pR7y2UAiI9owd3LF on tokens per min. Limit: 10000 / min. Please try again in 6ms.",
			"Rate limit reached for [limit]-[limit] in organization [account] on tokens per min. Limit: [limit] / min. Please try again in 6ms."},
		"OpenAI, openai/openai-python#2084": {
			"Enqueued token limit reached for gpt-4o-mini in organization org-snq6hvcTYRCMyB87hjZjkoFr. Limit: 2,000,000 enqueued tokens.",
			"Enqueued token limit reached for gpt-4o-mini in organization [account]. Limit: [limit] enqueued tokens."},
		"Groq, continuedev/continue#10920": {
			"Rate limit reached for model `llama-3.3-70b-versatile` in organization `org_01kjh7p9n8f1qs6nz2bz77vy6b` service tier `on_demand` on tokens per day (TPD): Limit 100000, Used 97050, Requested 3619. Please try again in 9m38.016s. Upgrade to Dev Tier today at https://console.groq.com/settings/billing",
			"Rate limit reached for model `llama-3.3-70b-versatile` in organization `[account]` service tier `on_demand` on tokens per day (TPD): Limit [limit], Used [limit], Requested [limit]. Please try again in 9m38.016s. Upgrade to Dev Tier today at [url]"},
		"Anthropic, OpenHands/OpenHands#9259": {
			`{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed the rate limit for your organization (0dccdde6-f924-4f1b-bb3b-92ef846e0a5b) of 20,000 input tokens per minute."}}`,
			`{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed the rate limit for your organization ([account]) of [limit] input tokens per minute."}}`},
		"Anthropic, continuedev/continue#12057": {
			"This request would exceed your organization's rate limit of 30,000 input tokens per minute (org: ef36bf5a-434a-4c52-b7a0-ba958aef9dfd, model: claude-sonnet-4-20250514).",
			"This request would exceed your organization's rate limit of [limit] input tokens per minute (org: [account], model: claude-sonnet-4-20250514)."},
		"xAI, cline/cline#4826": {
			"Too many tokens for team e9fe19cb-de96-4c57-9ffb-2f1b9c631ce2 and model grok-4-0709. Your team's rate limit is — Tokens per Minute (actual/limit): 65605/16000.",
			"Too many tokens for team [account] and model grok-4-0709. Your team's rate limit is — Tokens per Minute (actual/limit): [limit]/[limit]."},
		"Google, xtekky/gpt4free#1700": {
			`{"error":{"code":429,"message":"Quota exceeded for consumer 'project_number:440059914257'.","details":[{"metadata":{"consumer":"projects/440059914257","quota_limit_value":"60","quota_limit":"GenerateContentRequestsPerMinutePerProjectPerRegion"}}]}}`,
			`{"error":{"code":429,"message":"Quota exceeded for consumer 'project_number:[account]'.","details":[{"metadata":{"consumer":"projects/[account]","quota_limit_value":"[limit]","quota_limit":"GenerateContentRequestsPerMinutePerProjectPerRegion"}}]}}`},
		"Google, google-gemini/gemini-cli#13112": {
			"* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_input_token_count, limit: 250000, model: gemini-2.5-flash\\nPlease retry in 39.844676573s.",
			"* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_input_token_count, limit: [limit], model: gemini-2.5-flash\\nPlease retry in 39.844676573s."},
		"Azure, alex-wolf-ps/dbchatprov2#2": {
			"Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-05-01-preview have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 86400 seconds.",
			"Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-05-01-preview have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 86400 seconds."},
		"Moonshot, MoonshotAI/kimi-cli#1599": {
			"Your account org-78cd08fac9804d20bac9a1f02fc1e6a5 / proj-a418892b55d04bbb929766740804aa41 <ak-f94zcrj6ax1111xxxxx1> request reached organization TPD rate limit, current: 1526210, limit: 1500000",
			"Your account [account] / [account] <[account]> request reached organization TPD rate limit, current: [limit], limit: [limit]"},
		"Moonshot, LLM-Red-Team/kimi-cc#16": {
			"request reached organization max RPM: 3, please try again after 1 seconds",
			"request reached organization max RPM: [limit], please try again after 1 seconds"},
		"Mistral, raycast/extensions#31107": {
			`{"object":"error","message":"Rate limit exceeded","type":"rate_limited","param":null,"code":"1300","raw_status_code":429}`,
			`{"object":"error","message":"Rate limit exceeded","type":"rate_limited","param":null,"code":"1300","raw_status_code":429}`},
		"OpenRouter, Gitlawb/openclaude#936": {
			`{"error":{"message":"Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day","code":429,"metadata":{"headers":{"X-RateLimit-Limit":"50","X-RateLimit-Remaining":0}}}}`,
			`{"error":{"message":"Rate limit exceeded: free-models-per-day. Add [limit] credits to unlock [limit] free model requests per day","code":429,"metadata":{"headers":{"X-RateLimit-Limit":"[limit]","X-RateLimit-Remaining":null}}}}`},
		"Bedrock, anthropics/claude-code#1466": {
			`{"message":"Too many tokens, please wait before trying again."}`, `{"message":"Too many tokens, please wait before trying again."}`},
	} {
		c0, ep := New(Default()), &catalog.Endpoint{Provider: &catalog.Provider{Name: "P"}}
		show := func(kind fault.Kind) string {
			return c0.polish(ep, &fault.Error{Kind: kind, Upstream: &fault.Upstream{Raw: c[0]}}).Upstream.Raw
		}
		got := show(fault.RateLimited)
		if got != c[1] {
			t.Errorf("%s:\n%s\nwant\n%s", from, got, c[1])
		}
		if c[0][0] == '{' && !rawjson.Valid([]byte(got)) {
			t.Errorf("%s: not JSON any more: %s", from, got)
		}
		ep.Provider.OwnKey = "key" // the limits are the caller's own
		if got := show(fault.RateLimited); got != string(withoutURLs(withoutNumbered(withoutAccounts([]byte(c[0]))))) {
			t.Errorf("%s, own key: %s", from, got)
		}
	}
}

// Numbers that a client can do something about stay.
func TestNumbersOfRequestsStay(t *testing.T) {
	t.Parallel()
	c := New(Default())
	ep := &catalog.Endpoint{Provider: &catalog.Provider{Name: "P"}}
	for _, text := range []string{
		"This model's maximum context length is 128000 tokens. However, you requested 130000 tokens (2000 in the messages, 128000 in the completion).",
		"max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens for claude-opus-4-20250514",
		"input length and `max_tokens` exceed context limit: 196395 + 64000 > 204698, decrease input length or `max_tokens` and try again",
		"Range of input length should be [1, 98304]",
	} {
		f := c.polish(ep, &fault.Error{Kind: fault.ContextLength, Public: text, Upstream: &fault.Upstream{Raw: text}})
		if f.Public != text || f.Upstream.Raw != text {
			t.Errorf("%s\n%s", f.Public, f.Upstream.Raw)
		}
	}
}
