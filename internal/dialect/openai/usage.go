package openai

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/usage"
)

// parseUsage reads the usage object of an answer in any of the shapes that OpenAI-compatible servers write. It returns nil for an absent
// or null one. A count that is missing, or is not a whole number of zero or more, is not Reported in the result, so that the gateway's
// own count replaces it. A number too large for an int64 becomes the largest one, so that it counts as implausible. q may be nil.
//
// It fails with fault.ProviderUnavailable when raw is no JSON object. The answer itself is still good: the caller continues as if usage
// were missing.
func parseUsage(raw []byte, q *catalog.Quirks) (*usage.Usage, error) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || rawjson.IsNull(raw) {
		return nil, nil
	}
	t := tally{quirks: q}
	if q == nil {
		t.quirks = &catalog.Quirks{}
	}
	if first := rawjson.At(raw, 0); first.Kind() != rawjson.Object || !eachMember(raw, t.top) {
		return nil, fault.New(fault.ProviderUnavailable, "openai.parseUsage", "The provider's usage is not a JSON object.")
	}
	t.addUpPrompt()
	t.addUpCompletion()
	u := t.Usage
	u.IncludeParts(t.total)
	return &u, nil
}

// tally is a usage object before its conversion to the canonical form. A count that is in several places, or outside the count that
// should include it, is kept separately until all members were read.
type tally struct {
	usage.Usage
	quirks *catalog.Quirks

	total      usage.Count // total_tokens
	input      usage.Count // input_tokens: the Responses and the Messages wire's name of prompt_tokens
	output     usage.Count // output_tokens
	placed     usage.Count // cached tokens, at the place that the provider's declaration names
	cachedTop  usage.Count // cached tokens outside prompt_tokens, which include them
	readBeside usage.Count // cache_read_input_tokens: on the Messages wire input_tokens leave them out
	miss       usage.Count // prompt_cache_miss_tokens
	precached  usage.Count // precached_prompt_tokens: prompt_tokens leave them out
	written    usage.Count // cache writes of any lifetime, included in prompt_tokens
	writeTop   usage.Count // cache_creation_input_tokens: on the Messages wire input_tokens leave them out
	citations  usage.Count // citation_tokens: text of web pages that the model read, outside prompt_tokens
	reasonTop  usage.Count // reasoning_tokens outside completion_tokens
}

// top reads the members of usage itself.
func (t *tally) top(name, value []byte) {
	switch string(name) {
	case "prompt_tokens":
		set(&t.Prompt, value)
	case "completion_tokens":
		set(&t.Completion, value)
	case "total_tokens":
		set(&t.total, value)
	case "prompt_tokens_details", "input_tokens_details",
		"prompt_token_details": // Mistral's document lists both spellings
		eachMember(value, t.prompt)
	case "completion_tokens_details", "output_tokens_details":
		eachMember(value, t.completion)
	case "input_tokens":
		set(&t.input, value)
	case "output_tokens":
		set(&t.output, value)
	case "cached_tokens", // Moonshot, Together, StepFun
		"prompt_cache_hit_tokens",   // DeepSeek
		"num_cached_tokens",         // Mistral
		"cached_prompt_text_tokens": // xAI, older answers
		set(&t.cachedTop, value)
	case "prompt_cache_miss_tokens": // DeepSeek
		set(&t.miss, value)
	case "precached_prompt_tokens": // GigaChat
		set(&t.precached, value)
	case "cache_read_input_tokens":
		set(&t.readBeside, value)
	case "cache_creation_input_tokens":
		set(&t.writeTop, value)
	case "cache_write_tokens":
		set(&t.written, value)
	case "cache_creation":
		eachMember(value, t.lifetimes)
	case "reasoning_tokens": // SGLang, Modal: within completion_tokens; Perplexity: in addition to them
		set(&t.reasonTop, value)
	case "citation_tokens": // Perplexity
		set(&t.citations, value)
	case "num_search_queries", // Perplexity
		"num_sources_used": // xAI's live search is priced by the source
		set(&t.WebSearches, value)
	case "server_tool_use", // OpenRouter, as on the Messages wire
		"server_side_tool_usage_details": // xAI
		eachMember(value, t.tools)
	case "plugins": // Alibaba: {"search":{"count":1,"strategy":"turbo"}}
		if v := valueAt(value, "search.count"); v != nil {
			set(&t.WebSearches, v)
		}
	case "service_tier":
		t.Tier = word(value)
	}
	t.declared(name, value)
}

// prompt reads the members of prompt_tokens_details.
func (t *tally) prompt(name, value []byte) {
	switch string(name) {
	case "cached_tokens":
		set(&t.CacheRead, value)
	case "cache_write_tokens", // OpenAI, OpenRouter
		"cache_creation_tokens",       // LiteLLM
		"cache_creation_input_tokens": // Alibaba
		set(&t.written, value)
	case "cache_creation":
		eachMember(value, t.lifetimes)
	case "audio_tokens":
		set(&t.PromptAudio, value)
	case "image_tokens":
		set(&t.PromptImage, value)
	case "video_tokens":
		set(&t.PromptVideo, value)
	}
}

// lifetimes reads cache writes by lifetime: names of the Messages wire, which Alibaba writes too.
func (t *tally) lifetimes(name, value []byte) {
	switch string(name) {
	case "ephemeral_5m_input_tokens":
		set(&t.CacheWrite, value)
	case "ephemeral_1h_input_tokens":
		set(&t.CacheWrite1h, value)
	}
}

// completion reads the members of completion_tokens_details.
func (t *tally) completion(name, value []byte) {
	switch string(name) {
	case "reasoning_tokens", "thinking_tokens":
		set(&t.Reasoning, value)
	case "audio_tokens":
		set(&t.OutputAudio, value)
	case "image_tokens":
		set(&t.OutputImage, value)
	case "accepted_prediction_tokens":
		set(&t.Accepted, value)
	case "rejected_prediction_tokens":
		set(&t.Rejected, value)
	}
}

func (t *tally) tools(name, value []byte) {
	switch string(name) {
	case "web_search_requests", "web_search_calls":
		set(&t.WebSearches, value)
	case "web_fetch_requests":
		set(&t.WebFetches, value)
	case "code_interpreter_calls", "code_execution_calls":
		set(&t.Containers, value)
	case "file_search_calls", "collections_search_calls":
		set(&t.FileSearches, value)
	case "mcp_calls":
		set(&t.MCPCalls, value)
	}
}

// declared reads the counts whose places the provider's declaration names: paths such as "usage.cost" or "usage.cost.total_cost".
func (t *tally) declared(name, value []byte) {
	if v := placedAt(t.quirks.CachedField, name, value); v != nil {
		set(&t.placed, v)
	}
	if v := placedAt(t.quirks.CostField, name, value); v != nil {
		t.UpstreamCost = decimalText(v, t.quirks.CostDigits)
	}
}

// addUpPrompt makes Prompt the sum of all input tokens.
func (t *tally) addUpPrompt() {
	t.CacheRead = largest(t.placed, t.CacheRead, t.cachedTop, t.readBeside, t.precached)
	t.written = largest(t.written, t.writeTop)
	if rest := t.written.N - t.CacheWrite1h.N; t.written.Reported && rest > t.CacheWrite.N {
		t.CacheWrite = usage.Of(rest) // writes without a lifetime count as those of the shortest
	}
	switch {
	case t.Prompt.Reported:
		t.Prompt = sum(t.Prompt, t.apart())
	case t.input.Reported && (t.readBeside.Reported || t.writeTop.Reported):
		t.Prompt = sum(t.input, t.cached())
	case t.input.Reported:
		t.Prompt = t.input
	case t.miss.Reported:
		t.Prompt = sum(t.miss, t.cachedTop)
	case t.total.Reported && t.Completion.Reported && t.total.N >= t.Completion.N:
		t.Prompt = usage.Of(t.total.N - t.Completion.N)
	}
	if t.Prompt.Reported {
		t.Prompt = sum(t.Prompt, sum(t.precached, t.citations))
	}
}

// cached is what was read from the cache or written to it.
func (t *tally) cached() usage.Count { return sum(t.CacheRead, sum(t.CacheWrite, t.CacheWrite1h)) }

// apart is what the total has of the prompt and prompt_tokens leave out: cached tokens, as some gateways in front of Anthropic's models count, or
// audio, as Mistral counts. That it is of the prompt shows when it is exactly the cached tokens, or when some part of the prompt is more than the prompt.
func (t *tally) apart() usage.Count {
	answer := first(t.Completion, t.output)
	if !t.total.Reported || !answer.Reported || t.precached.Reported {
		return usage.Count{}
	}
	cached, rest := t.cached().N, t.total.N-sum(t.Prompt, answer).N
	if rest > 0 && (rest == cached || max(cached, t.PromptAudio.N, t.PromptImage.N, t.PromptVideo.N) > t.Prompt.N) {
		return usage.Of(rest)
	}
	return usage.Count{}
}

// addUpCompletion makes Completion the sum of all output tokens.
func (t *tally) addUpCompletion() {
	t.Completion = first(t.Completion, t.output)
	t.Reasoning = first(t.Reasoning, t.reasonTop)
	if !t.Completion.Reported {
		if t.total.Reported && t.Prompt.Reported && t.total.N >= t.Prompt.N {
			t.Completion = usage.Of(t.total.N - t.Prompt.N)
		}
		return
	}
	switch reported := sum(t.Prompt, t.Completion); t.quirks.ReasoningCount {
	case "inside":
	case "outside":
		t.Completion = sum(t.Completion, t.Reasoning)
	case "total":
		if rest := t.total.N - reported.N; rest > 0 {
			t.Completion = sum(t.Completion, usage.Of(rest))
			t.Reasoning = first(t.Reasoning, usage.Of(rest))
		}
	default:
		// the sum decides: xAI counts reasoning in addition to completion_tokens, and so does Azure for its models
		if t.total.Reported && t.Reasoning.N > 0 && t.total == sum(reported, t.Reasoning) {
			t.Completion = sum(t.Completion, t.Reasoning)
		}
	}
}

// first is the first count that was reported.
func first(counts ...usage.Count) usage.Count {
	for _, c := range counts {
		if c.Reported {
			return c
		}
	}
	return usage.Count{}
}

// largest is the largest count that was reported: a zero in one place does not hide what another one has.
func largest(counts ...usage.Count) (most usage.Count) {
	for _, c := range counts {
		if c.Reported && (!most.Reported || c.N > most.N) {
			most = c
		}
	}
	return most
}

// sum adds the counts that were reported; it stops at the largest int64.
func sum(a, b usage.Count) usage.Count {
	if a.N > math.MaxInt64-b.N {
		return usage.Of(math.MaxInt64)
	}
	return usage.Count{N: a.N + b.N, Reported: a.Reported || b.Reported}
}

// set reads a count. null and any value that is not a count leave it unchanged.
func set(c *usage.Count, value []byte) {
	if n, ok := wholeNumber(value); ok {
		*c = usage.Of(n)
	}
}

// wholeNumber reads a JSON number that is a whole one of zero or more; 12.0 and 1.2e1 are twelve. One too large is MaxInt64.
func wholeNumber(v []byte) (int64, bool) {
	if n, ok := rawjson.Int(v); ok {
		return n, n >= 0
	}
	const fits = 18 // digits
	if text := decimalText(v, 0); len(text) > fits && !strings.Contains(text, ".") {
		return math.MaxInt64, true
	}
	return 0, false
}

// decimalText writes a JSON number of zero or more, divided by 10^shift, as plain decimal text without an exponent: 1.4e-05 becomes
// "0.000014". It is "" for any other value, and for a number out of all proportion.
func decimalText(v []byte, shift int) string {
	const maxShift = 30
	digits, point, ok := scanDecimal(v)
	if !ok || shift < 0 || shift > maxShift {
		return ""
	}
	for point -= shift; len(digits) > 0 && digits[0] == '0'; point-- {
		digits = digits[1:]
	}
	digits = bytes.TrimRight(digits, "0")
	switch {
	case len(digits) == 0:
		return "0"
	case point <= 0:
		return "0." + strings.Repeat("0", -point) + string(digits)
	case point >= len(digits):
		return string(digits) + strings.Repeat("0", point-len(digits))
	}
	return string(digits[:point]) + "." + string(digits[point:])
}

// scanDecimal splits a JSON number of zero or more into its digits and the position of the decimal point among them.
func scanDecimal(v []byte) (digits []byte, point int, ok bool) {
	const maxDigits, maxExponent = 100, 400 // the range of a double, and a little more
	if !rawjson.IsNumber(v) || v[0] == '-' {
		return nil, 0, false
	}
	mantissa, exponent := v, 0
	if i := bytes.IndexAny(v, "eE"); i >= 0 {
		mantissa = v[:i]
		e, err := strconv.Atoi(string(v[i+1:]))
		if err != nil || e > maxExponent || e < -maxExponent {
			return nil, 0, false
		}
		exponent = e
	}
	if len(mantissa) > maxDigits {
		return nil, 0, false
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	digits = append(append(make([]byte, 0, len(mantissa)), whole...), fraction...)
	return digits, len(whole) + exponent, true
}

// word is a JSON string's text, "" for anything else and for a text longer than any tier's name.
func word(value []byte) string {
	const longest = 32
	if text := rawjson.Text(value); len(text) <= longest {
		return text
	}
	return ""
}

// placedAt is the value at a declared path when name is the path's first step below usage; nil otherwise.
func placedAt(path string, name, value []byte) []byte {
	path, ok := strings.CutPrefix(path, "usage.")
	if !ok {
		return nil
	}
	step, rest, _ := strings.Cut(path, ".")
	if step != string(name) {
		return nil
	}
	return valueAt(value, rest)
}

// valueAt finds the value at a path of member names divided by dots, or nil.
func valueAt(object []byte, path string) []byte {
	for path != "" && object != nil {
		var step string
		step, path, _ = strings.Cut(path, ".")
		object = rawjson.Find(object, step)
	}
	return object
}

// eachMember calls visit for each member of an object. It calls it for nothing else.
func eachMember(v []byte, visit func(name, value []byte)) (whole bool) {
	m := rawjson.MembersOf(v)
	for m.Next() {
		visit(m.Name, m.Value)
	}
	return !m.Bad()
}
