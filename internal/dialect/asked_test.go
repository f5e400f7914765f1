package dialect_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/all"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/rawjson"
	"weir/internal/wire/chat"
	"weir/internal/wire/gemini"
	"weir/internal/wire/messages"
	"weir/internal/wire/responses"
)

// style is a wire of clients.
type style struct {
	name   string
	kind   completion.Style
	decode func([]byte) (*completion.Request, error)
	plain  map[string]string // members of the smallest request
}

var styles = []style{
	{"chat", completion.Chat, chat.Decode, map[string]string{"model": `"x/y"`, "messages": `[{"role":"user","content":"q"}]`}},
	{"responses", completion.Responses, func(body []byte) (*completion.Request, error) {
		r, err := responses.Decode(body)
		if err != nil {
			return nil, err
		}
		return r.Request, nil
	}, map[string]string{"model": `"x/y"`, "input": `"q"`}},
	{"gemini", completion.Gemini, func(body []byte) (*completion.Request, error) { return gemini.Decode(body, "x/y", false) },
		map[string]string{"contents": `[{"role":"user","parts":[{"text":"q"}]}]`}},
	{"messages", completion.Messages, messages.Decode, map[string]string{"model": `"x/y"`, "max_tokens": "5000", "messages": `[{"role":"user","content":"q"}]`}},
}

// sample is a pair of requests: the second asks for one thing more.
type sample struct{ without, with string }

// Tools of the four styles.
const (
	chatTools      = `"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}},{"type":"function","function":{"name":"g","parameters":{"type":"object"}}}]`
	responsesTools = `"tools":[{"type":"function","name":"f","parameters":{"type":"object"}},{"type":"function","name":"g","parameters":{"type":"object"}}]`
	geminiTools    = `"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":{"type":"object"}},{"name":"g","parametersJsonSchema":{"type":"object"}}]}]`
	messagesTools  = `"tools":[{"name":"f","input_schema":{"type":"object"}},{"name":"g","input_schema":{"type":"object"}}]`
	schema         = `{"type":"object","properties":{"a":{"type":"string"}}}`
)

// field is how a client of each style asks for it, or why nothing needs to be sent.
type field struct {
	why                               string
	chat, responses, messages, gemini []sample
}

// fields say for each field of the canonical form what is tried with it.
var fields = map[string]field{
	"System":                     {why: "conversation: the fixtures of each dialect have it"},
	"Turns.Role":                 {why: "conversation"},
	"Turns.Name":                 {why: "a name beside the content, which most wires lack; the content says who speaks"},
	"Turns.At":                   {why: "a place in the body"},
	"Turns.Parts":                {why: "conversation: the conformance grid has each kind of part"},
	"Safety":                     {gemini: one("", `"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"}]`)},
	"Cache":                      {chat: one("", `"cache_control":{"type":"ephemeral"}`), messages: one("", `"cache_control":{"type":"ephemeral"}`)},
	"CacheKey":                   {why: "a hint that makes calls cheaper; routing obeys it"},
	"Files":                      {why: "read by the gateway"},
	"Tools.Name":                 {why: "part of a tool"},
	"Tools.Description":          {why: "part of a tool"},
	"Tools.Parameters":           {chat: one("", chatTools), responses: one("", responsesTools), messages: one("", messagesTools), gemini: one("", geminiTools)},
	"Tools.Strict":               {why: "a promise of some providers on the arguments; a client must check them anyway"},
	"Tools.Custom":               {chat: one("", `"tools":[{"type":"custom","custom":{"name":"f"}}]`), responses: one("", `"tools":[{"type":"custom","name":"f"}]`)},
	"Tools.Grammar.Syntax":       {why: "part of the definition"},
	"Tools.Grammar.Definition":   {chat: one("", `"tools":[{"type":"custom","custom":{"name":"f","format":{"type":"grammar","grammar":{"syntax":"lark","definition":"start: NUMBER"}}}}]`), responses: one("", `"tools":[{"type":"custom","name":"f","format":{"type":"grammar","syntax":"lark","definition":"start: NUMBER"}}]`)},
	"Tools.Cache":                {why: "a hint that makes calls cheaper"},
	"Tools.Hosted":               {chat: one("", `"tools":[{"type":"code_interpreter"}]`), responses: one("", `"tools":[{"type":"code_interpreter","container":{"type":"auto"}}]`), messages: one("", `"tools":[{"type":"code_execution_20250825","name":"code_execution"}]`), gemini: one("", `"tools":[{"codeExecution":{}}]`)},
	"Tools.HostedType":           {why: "part of Hosted"},
	"Choice.Mode":                {chat: one(chatTools, `"tool_choice":"required"`), responses: one(responsesTools, `"tool_choice":"none"`), messages: one(messagesTools, `"tool_choice":{"type":"any"}`), gemini: one(geminiTools, `"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}`)},
	"Choice.Name":                {chat: one(chatTools, `"tool_choice":{"type":"function","function":{"name":"f"}}`, `"function_call":{"name":"f"}`), responses: one(responsesTools, `"tool_choice":{"type":"function","name":"f"}`), messages: one(messagesTools, `"tool_choice":{"type":"tool","name":"f"}`), gemini: one(geminiTools, `"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["f"]}}`)},
	"Choice.Custom":              {why: "part of the name"},
	"Choice.Allowed":             {chat: one(chatTools, `"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"f"}}]}}`), responses: one(responsesTools, `"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"}]}`), gemini: one(geminiTools, `"toolConfig":{"functionCallingConfig":{"mode":"VALIDATED","allowedFunctionNames":["f"]}}`)},
	"Serial":                     {chat: one(chatTools, `"parallel_tool_calls":false`), responses: one(responsesTools, `"parallel_tool_calls":false`), messages: one(messagesTools, `"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`)},
	"Sampling.Temperature":       with(every(`"temperature":0.5`), one("", `"generationConfig":{"temperature":0.5}`)),
	"Sampling.TopP":              with(every(`"top_p":0.5`), one("", `"generationConfig":{"topP":0.5}`)),
	"Sampling.TopK":              with(every(`"top_k":5`), one("", `"generationConfig":{"topK":5}`)),
	"Sampling.MinP":              {chat: one("", `"min_p":0.5`), responses: one("", `"min_p":0.5`), messages: one("", `"min_p":0.5`)},
	"Sampling.TopA":              every(`"top_a":0.5`),
	"Sampling.FrequencyPenalty":  with(every(`"frequency_penalty":0.5`), one("", `"generationConfig":{"frequencyPenalty":0.5}`)),
	"Sampling.PresencePenalty":   with(every(`"presence_penalty":0.5`), one("", `"generationConfig":{"presencePenalty":0.5}`)),
	"Sampling.RepetitionPenalty": every(`"repetition_penalty":1.5`),
	"Sampling.Seed":              with(every(`"seed":5`), one("", `"generationConfig":{"seed":5}`)),
	"Sampling.Logprobs":          {chat: one("", `"logprobs":true`), responses: one("", `"top_logprobs":2`), gemini: one("", `"generationConfig":{"responseLogprobs":true}`)},
	"Sampling.TopLogprobs":       {chat: one(`"logprobs":true`, `"top_logprobs":2`), responses: one("", `"top_logprobs":2`), gemini: one(`"generationConfig":{"responseLogprobs":true}`, `"generationConfig":{"responseLogprobs":true,"logprobs":2}`)},
	"Sampling.LogitBias":         every(`"logit_bias":{"5":1}`),
	"Sampling.Verbosity":         {chat: one("", `"verbosity":"low"`), responses: one("", `"text":{"verbosity":"low"}`)},
	"Stop":                       {chat: one("", `"stop":["a"]`, `"stop":"a"`), responses: one("", `"stop":["a"]`), messages: one("", `"stop_sequences":["a"]`), gemini: one("", `"generationConfig":{"stopSequences":["a"]}`)},
	"Format.Kind":                {chat: one("", `"response_format":{"type":"json_object"}`), responses: one("", `"text":{"format":{"type":"json_object"}}`), gemini: one("", `"generationConfig":{"responseMimeType":"application/json"}`)},
	"Format.Name":                {why: "part of the schema"},
	"Format.Description":         {why: "part of the schema"},
	"Format.Schema": {chat: one("", `"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":`+schema+`}}`), responses: one("", `"text":{"format":{"type":"json_schema","name":"n","schema":`+schema+`}}`),
		messages: one("", `"output_config":{"format":{"type":"json_schema","schema":`+schema+`}}`, `"output_format":{"type":"json_schema","schema":`+schema+`}`),
		gemini: one("", `"generationConfig":{"responseMimeType":"application/json","responseSchema":`+schema+`}`, `"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":`+schema+`}`,
			`"generationConfig":{"responseMimeType":"application/json","_responseJsonSchema":`+schema+`}`)},
	"Format.Strict":      {why: "the gateway checks the answer where it is asked to"},
	"Audio.Voice":        {chat: one("", `"modalities":["text","audio"],"audio":{"voice":"v","format":"wav"}`), gemini: one("", `"generationConfig":{"responseModalities":["TEXT","AUDIO"],"speechConfig":{"voiceConfig":{"prebuiltVoiceConfig":{"voiceName":"Kore"}}}}`)},
	"Audio.Format":       {why: "part of the audio"},
	"Search.ContextSize": {chat: one("", `"web_search_options":{}`, `"web_search_options":{"search_context_size":"high"}`), responses: one("", `"tools":[{"type":"web_search"}]`), messages: one("", `"tools":[{"type":"web_search_20250305","name":"web_search"}]`), gemini: one("", `"tools":[{"googleSearch":{}}]`)},
	"Search.MaxResults":  {why: "a bound of the search"},
	"Search.Location":    {why: "a hint for the search"},
	"Search.Include":     {responses: one(`"tools":[{"type":"web_search"}]`, `"tools":[{"type":"web_search","filters":{"allowed_domains":["a.test"]}}]`), messages: one(`"tools":[{"type":"web_search_20250305","name":"web_search"}]`, `"tools":[{"type":"web_search_20250305","name":"web_search","allowed_domains":["a.test"]}]`)},
	"Search.Exclude":     {messages: one(`"tools":[{"type":"web_search_20250305","name":"web_search"}]`, `"tools":[{"type":"web_search_20250305","name":"web_search","blocked_domains":["a.test"]}]`)},

	// of the request
	"N":                   {chat: one("", `"n":2`), responses: one("", `"n":2`), messages: one("", `"n":2`), gemini: one("", `"generationConfig":{"candidateCount":2}`)},
	"MaxTokens":           {chat: one("", `"max_tokens":50`, `"max_completion_tokens":50`), responses: one("", `"max_output_tokens":50`), messages: one("", `"max_tokens":50`), gemini: one("", `"generationConfig":{"maxOutputTokens":50}`)},
	"Reasoning.Effort":    {chat: one("", `"reasoning_effort":"high"`, `"reasoning":{"effort":"high"}`), responses: one("", `"reasoning":{"effort":"high"}`), messages: one("", `"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}`), gemini: one("", `"generationConfig":{"thinkingConfig":{"thinkingLevel":"HIGH"}}`)},
	"Reasoning.MaxTokens": {chat: one("", `"reasoning":{"max_tokens":2000}`), responses: one("", `"reasoning":{"max_tokens":2000}`), messages: one("", `"thinking":{"type":"enabled","budget_tokens":2000}`), gemini: one("", `"generationConfig":{"thinkingConfig":{"thinkingBudget":2000}}`)},
	"Reasoning.Set":       {why: "whether one of the others is set"},
	"Reasoning.Exclude":   {why: "the gateway leaves the reasoning out"},
	"Reasoning.Enabled":   {chat: one("", `"reasoning":{"enabled":true}`), messages: one("", `"thinking":{"type":"adaptive"}`), gemini: one("", `"generationConfig":{"thinkingConfig":{"thinkingBudget":-1}}`)},
	"Reasoning.Disabled":  {why: "where it cannot be switched off, the model does not reason or says so in a notice of its own"},
	"Reasoning.Summary":   {why: "a hint on how reasoning is shown"},
	"Needs.Output":        {chat: one("", `"modalities":["text","image"]`), responses: one("", `"modalities":["text","image"]`), gemini: one("", `"generationConfig":{"responseModalities":["TEXT","IMAGE"]}`)},
}

// strangers are members without a field: each style has more, and so has each provider.
var strangers = map[string][]sample{
	"chat": slices.Concat(plugged, one("", `"odd":1`, `"prediction":{"type":"content","content":"x"}`, `"store":true`, `"functions":[{"name":"f"}]`, `"image_config":{"aspect_ratio":"16:9"}`,
		`"moderation":{"model":"m"}`, `"prompt_cache_options":{"mode":"explicit"}`, `"prompt_cache_retention":"24h"`)),
	"responses": slices.Concat(plugged, one("", `"odd":1`, `"max_tool_calls":2`, `"cache_control":{"type":"ephemeral"}`, `"access_programs":["a"]`, `"context_management":[{"type":"compaction"}]`, `"conversation":"conv_1"`, `"image":{"size":"auto"}`,
		`"moderation":{"model":"m"}`, `"prompt":{"id":"pmpt_1"}`, `"prompt_cache_options":{"mode":"explicit"}`, `"prompt_cache_retention":"24h"`)),
	"gemini": slices.Concat(plugged, one("", `"odd":1`, `"store":true`, `"generationConfig":{"odd":1}`, `"generationConfig":{"mediaResolution":"MEDIA_RESOLUTION_LOW"}`, `"generationConfig":{"imageConfig":{"aspectRatio":"1:1"}}`,
		`"toolConfig":{"retrievalConfig":{"languageCode":"en"}}`, `"toolConfig":{"includeServerSideToolInvocations":true}`, `"continuationToken":"t"`, `"cachedContent":"cachedContents/a"`,
		`"generationConfig":{"audioTranscriptionConfig":{}}`, `"generationConfig":{"enableEnhancedCivicAnswers":true}`, `"safety_settings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"}]`)),
	"messages": slices.Concat(plugged, one("", `"odd":1`, `"thinking":{"type":"enabled","budget_tokens":2000,"display":"omitted"}`, `"thinking":{"odd":1}`,
		`"mcp_servers":[{"type":"url","url":"https://a.test","name":"a"}]`, `"container":"container_1"`, `"container":{"skills":[{"type":"anthropic","skill_id":"pptx"}]}`, `"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}`,
		`"compaction":{"type":"enabled"}`, `"diagnostics":{"previous_message_id":"msg_1"}`, `"thread":{"id":"thread_1"}`, `"betas":["context-1m-2025-08-07"]`,
		`"billing_policy":{"type":"a"}`, `"fallback_credit_token":"t"`, `"fallbacks":[{"model":"m"}]`, `"user_profile_id":"u"`, `"workspace_id":"w"`)),
}

// plugged are searches that a plugin requires.
var plugged = slices.Concat(one("", `"plugins":[{"id":"web"}]`), one(`"plugins":[{"id":"web"}]`, `"plugins":[{"id":"web","include_domains":["a.test"]}]`, `"plugins":[{"id":"web","exclude_domains":["a.test"]}]`))

// natural are the fields that all answers of a wire obey.
var natural = map[string][]string{
	"gigachat": {"Serial"}, // an answer has one call
}

// one makes samples of members that ask for one thing more than the first.
func one(without string, with ...string) (list []sample) {
	for _, w := range with {
		list = append(list, sample{without, w})
	}
	return list
}

func every(with string) field {
	return field{chat: one("", with), responses: one("", with), messages: one("", with)}
}

// with adds samples of the Gemini style, which has names of its own.
func with(f field, gemini []sample) field {
	f.gemini = gemini
	return f
}

// request is a request of the style with further members; later ones replace earlier ones.
func (s *style) request(strict bool, members ...string) (*completion.Request, error) {
	body := maps.Clone(s.plain)
	if strict {
		body["provider"] = `{"require_parameters":true}`
	}
	for _, m := range members {
		object := []byte("{" + m + "}")
		for x := rawjson.MembersOf(object); x.Next(); {
			body[string(x.Name)] = string(x.Value)
		}
	}
	var b bytes.Buffer
	for i, name := range slices.Sorted(maps.Keys(body)) {
		fmt.Fprintf(&b, "%s%q:%s", map[bool]string{true: "{", false: ","}[i == 0], name, body[name])
	}
	b.WriteByte('}')
	return s.decode(b.Bytes())
}

// of lists the samples of a style.
func (f *field) of(s completion.Style) []sample {
	switch s {
	case completion.Responses:
		return f.responses
	case completion.Messages:
		return f.messages
	case completion.Gemini:
		return f.gemini
	default:
		return f.chat
	}
}

// Everything that a client can ask for is sent to the provider, refused, or named in a notice; where the client requires all of it, it is
// sent or refused.
func TestNothingIsDroppedInSilence(t *testing.T) {
	t.Parallel()
	for name, d := range all.Dialects() {
		texter, ok := d.(dialect.Texter)
		if !ok {
			continue
		}
		for _, s := range styles {
			for _, can := range []catalog.Params{catalog.AllParams, 0} {
				ep := endpointOf(name, can)
				for path, f := range fields {
					for _, x := range f.of(s.kind) {
						checkSample(t, texter, ep, &s, path, x)
					}
				}
				for _, x := range strangers[s.name] {
					checkSample(t, texter, ep, &s, "a member", x)
				}
			}
		}
	}
}

func endpointOf(name string, can catalog.Params) *catalog.Endpoint {
	p := &catalog.Provider{ID: "acme", Name: "Acme", Dialect: name, BaseURL: "https://acme.test/v1", Key: "k"}
	ep := &catalog.Endpoint{ID: "acme/m", Provider: p, UpstreamID: "m", Params: can, Output: catalog.Text | catalog.Audio, Model: &catalog.Model{Slug: "x/y"}}
	if can != 0 {
		ep.Pricing.Base.WebSearch = money.Price{Set: true}
	}
	return ep
}

func checkSample(t *testing.T, d dialect.Texter, ep *catalog.Endpoint, s *style, path string, x sample) {
	t.Helper()
	where := fmt.Sprintf("%s to %s with %v parameters, %s: %s", s.name, ep.Provider.Dialect, len(ep.Params.Names()), path, x.with)
	for _, strict := range []bool{false, true} {
		less, err := s.request(strict, x.without)
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		more, err := s.request(strict, x.without, x.with)
		var f *fault.Error
		if errors.As(err, &f) && f.Param != "" && named(f.Param, path, x.with) {
			continue // no provider is asked for it
		}
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		before, refused := d.Request(ep, less)
		after, err := d.Request(ep, more)
		if refused != nil {
			if err == nil {
				t.Errorf("%s: accepted, but refused without it: %v", where, refused)
			}
			continue
		}
		sent := err == nil && !bytes.Equal(before.Body, after.Body)
		errors.As(err, &f)
		switch {
		case sent:
		case err != nil && (f == nil || f.Param == ""):
			t.Errorf("%s: refused without the field: %v", where, err)
		case err != nil:
		case slices.Contains(natural[ep.Provider.Dialect], path):
		case strict:
			t.Errorf("%s: dropped although it is required; notice %q", where, after.Notice)
		case after.Notice == before.Notice && !named(after.Notice, path, x.with):
			t.Errorf("%s: dropped in silence", where)
		}
	}
}

// named reports whether a notice has the name of one of the members, or says that there is no search at all.
func named(notice, path, members string) bool {
	tried := map[string]bool{}
	note(tried, []sample{{with: members}})
	for name := range tried {
		if strings.Contains(notice, name) {
			return true
		}
	}
	return strings.HasPrefix(path, "Search.") && strings.Contains(notice, "web search")
}

// Each field of the canonical form has an entry in fields, and each member of a style's table has a sample.
func TestEveryFieldIsDecided(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	leaves(reflect.TypeFor[completion.Prompt](), "", func(path string) { found[path] = true })
	leaves(reflect.TypeFor[completion.Reasoning](), "Reasoning", func(path string) { found[path] = true })
	for _, name := range []string{"N", "MaxTokens", "Needs.Output"} {
		found[name] = true
	}
	for path := range found {
		if f, ok := fields[path]; !ok || f.why == "" && f.chat == nil && f.responses == nil && f.messages == nil && f.gemini == nil {
			t.Errorf("the canonical field %s has no entry: how does a client ask for it, and does each dialect send, refuse or name it?", path)
		}
	}
	for path := range fields {
		if !found[path] {
			t.Errorf("there is no canonical field %s", path)
		}
	}
	for _, s := range styles {
		tried := map[string]bool{}
		for _, f := range fields {
			note(tried, f.of(s.kind))
		}
		note(tried, strangers[s.name])
		for _, name := range dialect.Settings(s.kind) {
			if !tried[name] {
				t.Errorf("no sample of a %s request has %s", s.name, name)
			}
		}
	}
}

// leaves calls f for each field that has no fields of its own, and for the parts of a turn as a whole.
func leaves(typ reflect.Type, path string, f func(string)) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice && typ.Elem().Kind() != reflect.Uint8 {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[completion.Part]() || typ == reflect.TypeFor[completion.Span]() || typ == reflect.TypeFor[completion.ReadFile]() {
		f(path)
		return
	}
	for i := range typ.NumField() {
		leaves(typ.Field(i).Type, strings.TrimPrefix(path+"."+typ.Field(i).Name, "."), f)
	}
}

func note(tried map[string]bool, list []sample) {
	for _, x := range list {
		object := []byte("{" + x.with + "}")
		for m := rawjson.MembersOf(object); m.Next(); {
			tried[string(m.Name)] = true
			for in := rawjson.MembersOf(m.Value); in.Next(); {
				tried[string(m.Name)+"."+string(in.Name)] = true
			}
		}
	}
}
