package dialect

import (
	"iter"
	"maps"
	"slices"

	"weir/internal/completion"
	"weir/internal/rawjson"
)

// Fields is a set of what a request may ask for, one bit each, whatever its style calls it.
type Fields uint64

// The fields.
const (
	FieldCap Fields = 1 << iota // of the answer's tokens
	FieldTemperature
	FieldTopP
	FieldTopK
	FieldMinP
	FieldTopA
	FieldFrequencyPenalty
	FieldPresencePenalty
	FieldRepetitionPenalty
	FieldSeed
	FieldLogitBias
	FieldLogprobs
	FieldTopLogprobs
	FieldVerbosity
	FieldStop
	FieldN
	FieldTools
	FieldChoice
	FieldSerial // no parallel tool calls
	FieldFormat
	FieldReasoning
	FieldSearch
	FieldModalities
	FieldAudio
	FieldCache  // mark on the whole request
	FieldSafety // settings of safety filters

	// fieldHere is for what the gateway does itself, and for what its source refuses where it cannot be translated.
	fieldHere
)

// setting is a member of a style's requests.
type setting struct {
	fields Fields
	idle   []string           // values, as JSON, that ask for nothing
	inside map[string]setting // members of the member: they count instead of it
}

// settings are the members of a style. One that is in no table is unknown: it is left out where a request is translated.
type settings = map[string]setting

func here(names ...string) settings {
	s := settings{}
	for _, name := range names {
		s[name] = setting{fields: fieldHere}
	}
	return s
}

func joined(tables ...settings) settings {
	s := settings{}
	for _, t := range tables {
		maps.Copy(s, t)
	}
	return s
}

// common are the members with the same meaning in all styles.
var common = joined(here("model", "stream", "metadata", "service_tier", "speed", "inference_geo"), here(completion.GatewayFields()...), settings{
	"temperature":       {fields: FieldTemperature},
	"top_p":             {fields: FieldTopP, idle: []string{"1"}},
	"top_k":             {fields: FieldTopK, idle: []string{"0"}},
	"frequency_penalty": {fields: FieldFrequencyPenalty, idle: []string{"0"}},
	"presence_penalty":  {fields: FieldPresencePenalty, idle: []string{"0"}},
	"tools":             {fields: FieldTools},
	"cache_control":     {fields: FieldCache},
})

// asked are the members of each style.
var asked = map[completion.Style]settings{
	completion.Chat: joined(common, here("messages", "stream_options", "user", "prompt_cache_key", "include_reasoning", "structured_outputs"), settings{
		"max_tokens":            {fields: FieldCap},
		"max_completion_tokens": {fields: FieldCap},
		"min_p":                 {fields: FieldMinP, idle: []string{"0"}},
		"top_a":                 {fields: FieldTopA, idle: []string{"0"}},
		"repetition_penalty":    {fields: FieldRepetitionPenalty, idle: []string{"1"}},
		"seed":                  {fields: FieldSeed},
		"logit_bias":            {fields: FieldLogitBias},
		"logprobs":              {fields: FieldLogprobs, idle: []string{"false"}},
		"top_logprobs":          {fields: FieldTopLogprobs, idle: []string{"0"}},
		"verbosity":             {fields: FieldVerbosity, idle: []string{`"medium"`}},
		"stop":                  {fields: FieldStop},
		"n":                     {fields: FieldN, idle: []string{"1"}},
		"functions":             {fields: FieldTools},
		"tool_choice":           {fields: FieldChoice, idle: []string{`"auto"`}},
		"function_call":         {fields: FieldChoice, idle: []string{`"auto"`}},
		"parallel_tool_calls":   {fields: FieldSerial, idle: []string{"true"}},
		"response_format":       {fields: FieldFormat, idle: []string{`{"type":"text"}`}},
		"reasoning":             {fields: FieldReasoning},
		"reasoning_effort":      {fields: FieldReasoning},
		"web_search_options":    {fields: FieldSearch},
		"modalities":            {fields: FieldModalities, idle: []string{`["text"]`}},
		"audio":                 {fields: FieldAudio},
		"store":                 {idle: []string{"false"}},
	}),
	completion.Responses: joined(common, here("input", "instructions", "stream_options", "previous_response_id", "background", "include", "store", "user", "prompt_cache_key", "truncation"), settings{
		"max_output_tokens":   {fields: FieldCap},
		"top_logprobs":        {fields: FieldTopLogprobs | FieldLogprobs, idle: []string{"0"}},
		"tool_choice":         {fields: FieldChoice, idle: []string{`"auto"`}},
		"parallel_tool_calls": {fields: FieldSerial, idle: []string{"true"}},
		"reasoning":           {fields: FieldReasoning},
		"cache_control":       {}, // of the other styles
		"modalities":          {fields: FieldModalities, idle: []string{`["text"]`}},
		"text": {inside: settings{
			"format":    {fields: FieldFormat, idle: []string{`{"type":"text"}`}},
			"verbosity": {fields: FieldVerbosity, idle: []string{`"medium"`}},
		}},
	}),
	completion.Messages: joined(common, here("messages", "system", "mcp_servers", "container", "compaction", "context_management", "fallback_credit_token"), settings{
		"max_tokens":     {fields: FieldCap},
		"stop_sequences": {fields: FieldStop},
		"thinking": {inside: settings{
			"type": {fields: FieldReasoning}, "budget_tokens": {fields: FieldReasoning}, "display": {idle: []string{`"summarized"`}},
		}},
		"output_format": {fields: FieldFormat},
		"output_config": {inside: settings{"effort": {fields: FieldReasoning}, "format": {fields: FieldFormat}}},
		"tool_choice": {inside: settings{
			"type": {fields: FieldChoice, idle: []string{`"auto"`}}, "name": {fields: FieldChoice}, "disable_parallel_tool_use": {fields: FieldSerial, idle: []string{"false"}},
		}},
	}),
	completion.Gemini: joined(here("model", "contents", "systemInstruction", "metadata", "labels", "serviceTier", "cachedContent"), here(completion.GatewayFields()...), settings{
		"tools":          {fields: FieldTools},
		"safetySettings": {fields: FieldSafety, idle: []string{"[]"}},
		"store":          {idle: []string{"false"}},
		"toolConfig": {inside: settings{
			"functionCallingConfig": {fields: FieldChoice, idle: []string{"{}", `{"mode":"AUTO"}`, `{"mode":"MODE_UNSPECIFIED"}`}},
		}},
		"generationConfig": {inside: settings{
			"temperature":         {fields: FieldTemperature},
			"topP":                {fields: FieldTopP, idle: []string{"1"}},
			"topK":                {fields: FieldTopK, idle: []string{"0"}},
			"frequencyPenalty":    {fields: FieldFrequencyPenalty, idle: []string{"0"}},
			"presencePenalty":     {fields: FieldPresencePenalty, idle: []string{"0"}},
			"seed":                {fields: FieldSeed},
			"candidateCount":      {fields: FieldN, idle: []string{"1"}},
			"maxOutputTokens":     {fields: FieldCap},
			"stopSequences":       {fields: FieldStop, idle: []string{"[]"}},
			"responseMimeType":    {fields: FieldFormat, idle: []string{`"text/plain"`}},
			"responseSchema":      {fields: FieldFormat},
			"responseJsonSchema":  {fields: FieldFormat},
			"_responseJsonSchema": {fields: FieldFormat},
			"responseModalities":  {fields: FieldModalities, idle: []string{"[]", `["TEXT"]`}},
			"responseLogprobs":    {fields: FieldLogprobs, idle: []string{"false"}},
			"logprobs":            {fields: FieldTopLogprobs, idle: []string{"0"}},
			"speechConfig":        {fields: FieldAudio},
			"thinkingConfig":      {fields: FieldReasoning},
		}},
	}),
}

// asks reports whether a value asks for something that a provider has to do.
func (s setting) asks(v []byte) bool {
	if s.fields == fieldHere || rawjson.IsNull(v) {
		return false
	}
	switch string(v) {
	case "[]", `""`:
		return s.fields == 0
	case "{}":
		return s.fields == 0 || s.fields == FieldSearch
	}
	return !slices.ContainsFunc(s.idle, func(idle string) bool { return same(v, idle) })
}

// same compares values, numbers by what they are.
func same(v []byte, idle string) bool {
	if string(v) == idle {
		return true
	}
	a, number := rawjson.Float(v)
	b, also := rawjson.Float([]byte(idle))
	return number && also && a == b
}

// name is the name of a member and, where that is an object of settings, of a member of it.
type name struct{ outer, inner string }

func (n name) String() string {
	if n.inner == "" {
		return n.outer
	}
	return n.outer + "." + n.inner
}

// settingsOf yields the settings that the client wrote, and which field each is: not those that the gateway does itself, and no values that
// ask for nothing. Unknown members are yielded without a field.
func settingsOf(r *completion.Request) iter.Seq2[name, Fields] {
	return func(yield func(name, Fields) bool) {
		table := asked[r.Style]
		for i := range r.Members {
			m := &r.Members[i]
			v := r.Body[m.Value:m.End]
			s := table[m.Name]
			if s.inside == nil || rawjson.KindOf(v) != rawjson.Object {
				if s.asks(v) && !yield(name{outer: m.Name}, s.fields) {
					return
				}
				continue
			}
			for in := rawjson.MembersOf(v); in.Next(); {
				if x := s.inside[string(in.Name)]; x.asks(in.Value) && !yield(name{m.Name, string(in.Name)}, x.fields) {
					return
				}
			}
		}
	}
}

// ChatField is the field that a member of a chat request is; 0: it is in no table, or nothing that a provider has to do.
func ChatField(name string) Fields { return asked[completion.Chat][name].fields &^ fieldHere }
