package chat_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/routing"
	"weir/internal/wire/chat"
)

const hello = `"messages":[{"role":"user","content":"hi"}]`

// with is a valid request with further members.
func with(members string) string { return `{"model":"acme/one",` + hello + `,` + members + `}` }

// msgs is a request with these messages.
func msgs(list string) string { return `{"model":"acme/one","messages":[` + list + `]}` }

// userPart is a request whose user message has this part.
func userPart(part string) string { return msgs(`{"role":"user","content":[` + part + `]}`) }

func decode(t *testing.T, body string) *completion.Request {
	t.Helper()
	req, err := chat.Decode([]byte(body))
	if err != nil {
		t.Fatalf("refused %.300s: %v", body, err)
	}
	return req
}

// refused checks that a body fails with this kind at this param.
func refused(t *testing.T, body string, kind fault.Kind, param string) {
	t.Helper()
	_, err := chat.Decode([]byte(body))
	var f *fault.Error
	if !errors.As(err, &f) {
		t.Errorf("%.200s: accepted, want %v at %q", body, kind, param)
		return
	}
	if f.Kind != kind || f.Param != param || f.Public == "" {
		t.Errorf("%.200s: %v at %q (%s), want %v at %q", body, f.Kind, f.Param, f.Public, kind, param)
	}
}

func TestDecodeWhole(t *testing.T) {
	t.Parallel()
	body := `{
		"model": "acme/one:nitro", "models": ["acme/two", "acme/one:nitro", "acme/two", "b/c"],
		"messages": [
			{"role": "developer", "content": "be brief"},
			{"role": "user", "content": [
				{"type": "text", "text": "what is this?", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
				{"type": "image_url", "image_url": {"url": "data:image\/png;base64,AAAA", "detail": "low"}}]},
			{"role": "assistant", "content": null, "reasoning": "hm", "tool_calls": [
				{"id": "call_1", "index": 0, "type": "function", "function": {"name": "look", "arguments": "{}", "thought_signature": "xx"}}]},
			{"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "a cat"}]},
			{"role": "assistant", "content": "It is", "images": []}
		],
		"provider": {"only": ["openai"], "sort": "price"},
		"stream": true, "stream_options": {"include_usage": true},
		"max_tokens": 300, "max_completion_tokens": 2.0e2, "temperature": 0.5, "n": 2.0, "seed": -5,
		"tools": [{"type": "function", "function": {"name": "look"}}], "tool_choice": "auto",
		"response_format": {"type": "json_object"},
		"reasoning": {"effort": "high", "exclude": true}, "modalities": ["text", "image"],
		"service_tier": "fast", "user": "u1", "session_id": "s1", "metadata": {"a": "b"},
		"x_unknown": {"deep": [1]}
	}`
	req := decode(t, body)
	for name, got := range map[string]struct{ got, want any }{
		"models":        {req.Models, []string{"acme/one:nitro", "acme/two", "b/c"}},
		"stream":        {req.Stream, true},
		"include usage": {req.IncludeUsage, true},
		"n":             {req.N, 2},
		"needs n":       {req.Needs.N, 2},
		"max tokens":    {req.MaxTokens, int64(200)},
		"needs max":     {req.Needs.MaxTokens, int64(200)},
		"reasoning":     {req.Reasoning, completion.Reasoning{Set: true, Effort: "high", Exclude: true}},
		"prefill":       {req.Prefill, true},
		"session":       {req.SessionID, "s1"},
		"user":          {req.User, "u1"},
		"metadata":      {string(req.Metadata), `{"a":"b"}`},
		"tier":          {req.Needs.Tier, "priority"},
		"only":          {req.Preferences.Only, []string{"openai"}},
		"sort":          {req.Preferences.Sort, "price"},
		"input":         {req.Needs.Input, catalog.Text | catalog.Image},
		"output":        {req.Needs.Output, catalog.Text | catalog.Image},
		"roles": {req.HasRoles, completion.HasDeveloper | completion.HasReasoning | completion.HasToolParts | completion.HasCacheControl |
			completion.HasThoughtSignature | completion.HasGatewayFields | completion.HasBareFunction},
		"params": {req.Needs.Params.String(),
			"temperature,max_tokens,max_completion_tokens,seed,response_format,tools,tool_choice,reasoning"},
	} {
		if diff := cmp.Diff(got.want, got.got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if at := string(req.Body[req.MessagesAt.Start:req.MessagesAt.End]); !strings.HasPrefix(at, "[") || !strings.HasSuffix(at, `"images": []}
		]`) {
		t.Errorf("messages are at %q", at)
	}
	checkMembers(t, req)
}

// checkMembers compares the offsets with a walk of another kind.
func checkMembers(t *testing.T, req *completion.Request) {
	t.Helper()
	i := 0
	for m := rawjson.MembersOf(req.Body); m.Next(); i++ {
		got := req.Members[i]
		if got.Name != string(m.Name) || got.Start != m.Start || got.Value != m.At || got.End != m.End {
			t.Fatalf("member %d is %+v, want %s %d %d %d", i, got, m.Name, m.Start, m.At, m.End)
		}
	}
	if i != len(req.Members) {
		t.Fatalf("%d members, want %d", len(req.Members), i)
	}
}

func TestDecodeKeepsTheBytes(t *testing.T) {
	t.Parallel()
	body := []byte(with(`"mod\u0065ls":["x/y"],"metadata":{"k":"v"}`))
	before := bytes.Clone(body)
	req, err := chat.Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(body, before) || &req.Body[0] != &body[0] {
		t.Error("the body was changed or copied")
	}
	if len(req.Models) != 2 || req.Members[2].Name != "models" {
		t.Errorf("a name written with escapes was not understood: %q", req.Models)
	}
}

// fieldCases has, for every field of section 2.1, values that are accepted and values that are refused.
var fieldCases = []struct {
	field string
	ok    []string
	bad   []string // param is the field's name, unless written as "value @ param"
}{
	{"stream", []string{"true", "false"}, []string{`"true"`, "1", "[]"}},
	{"stream_options", []string{"{}", `{"include_usage":true,"include_obfuscation":false,"x":1}`, `{"include_usage":null}`},
		[]string{"true", "[]", `{"include_usage":1} @ .include_usage`, `{"include_obfuscation":"no"} @ .include_obfuscation`}},
	{"max_completion_tokens", []string{"1", "1.0", "1e3"}, []string{"0", "-1", "1.5", `"10"`, "1e999", "100000000000000000000", "true"}},
	{"max_tokens", []string{"1", "9223372036854775807"}, []string{"0", "1e19", "0.5", "[]"}},
	{"temperature", []string{"0", "2", "1.5", "2e0"}, []string{"-0.1", "2.01", `"1"`, "1e999", "true"}},
	{"top_p", []string{"0", "1", "0.5"}, []string{"-1", "1.1", `""`}},
	{"top_k", []string{"0", "40", "4e1"}, []string{"-1", "1.5", `"1"`}},
	{"min_p", []string{"0", "1"}, []string{"-0.1", "2", "{}"}},
	{"top_a", []string{"0", "1"}, []string{"-0.1", "2"}},
	{"frequency_penalty", []string{"-2", "2"}, []string{"-2.1", "2.1", "[]"}},
	{"presence_penalty", []string{"-2", "2"}, []string{"-3", "3"}},
	{"repetition_penalty", []string{"0", "2"}, []string{"-0.1", "2.1"}},
	{"seed", []string{"0", "-9223372036854775808", "9223372036854775807", "1.0"}, []string{"9223372036854775808", "1.5", `"1"`}},
	{"stop", []string{`"x"`, "[]", `["a","b","c","d"]`}, []string{"1", "{}", `["a","b","c","d","e"]`, `["a",1] @ [1]`, `[null] @ [0]`}},
	{"logit_bias", []string{"{}", `{"50256":-100,"1":100.0}`}, []string{"[]", `{"a":1} @ .a`, `{"1":101} @ .1`, `{"1":null} @ .1`, `{"":1} @ .`}},
	{"logprobs", []string{"true", "false"}, []string{"1", `"true"`}},
	{"n", []string{"1", "128", "2.0"}, []string{"0", "129", "1.5", `"1"`}},
	{"parallel_tool_calls", []string{"true", "false"}, []string{"0", `"x"`}},
	{"structured_outputs", []string{"true"}, []string{"1"}},
	{"tools", []string{"[]", `[{"type":"function","function":{"name":"a-B_9","description":"d","parameters":{},"strict":null},"cache_control":{"type":"ephemeral"}}]`,
		`[{"type":"web_search"}]`, `[{"type":"custom","custom":{"name":"x","format":{}}}]`, "[" + strings.TrimSuffix(strings.Repeat(`{"type":"t"},`, 128), ",") + "]"},
		[]string{"{}", `"x"`, "[null] @ [0]", `["f"] @ [0]`, "[{}] @ [0].type", `[{"type":"function"}] @ [0].function`, `[{"type":"function","function":{}}] @ [0].function.name`,
			`[{"type":"function","function":{"name":""}}] @ [0].function.name`, `[{"type":"function","function":{"name":"a b"}}] @ [0].function.name`,
			`[{"type":"function","function":{"name":"` + strings.Repeat("a", 65) + `"}}] @ [0].function.name`, `[{"type":"function","function":{"name":"a","parameters":[]}}] @ [0].function.parameters`,
			`[{"type":"function","function":{"name":"a","strict":1}}] @ [0].function.strict`, `[{"type":"function","function":{"name":"a"},"cache_control":{"type":"x"}}] @ [0].cache_control.type`,
			`[{"type":"custom"}] @ [0].custom`, `[{"type":"custom","custom":{"name":1}}] @ [0].custom.name`, `[{"type":1}] @ [0].type`,
			"[" + strings.TrimSuffix(strings.Repeat(`{"type":"t"},`, 129), ",") + "]"}},
	{"tool_choice", []string{`"none"`, `"auto"`, `"required"`, `"any"`, `{"function":{"name":"f"}}`, `{"type":"function","function":{"name":"f"}}`, `{"type":"custom","custom":{"name":"f"}}`,
		`{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function"}]}}`},
		[]string{`"some"`, "1", "[]", "{} @ .type", `{"type":"x"} @ .type`, `{"type":"function"} @ .function`, `{"type":"function","function":{}} @ .function.name`,
			`{"type":"allowed_tools","allowed_tools":{"tools":[]}} @ .allowed_tools.mode`, `{"type":"allowed_tools","allowed_tools":{"mode":"auto"}} @ .allowed_tools.tools`,
			`{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[1]}} @ .allowed_tools.tools[0]`}},
	{"functions", []string{"[]", `[{"name":"f","parameters":{}}]`}, []string{"{}", "[null] @ [0]", "[{}] @ [0].name"}},
	{"function_call", []string{`"none"`, `"auto"`, `{"name":"f"}`}, []string{`"required"`, "{} @ .name", "1"}},
	{"response_format", []string{`{"type":"text"}`, `{"type":"json_object"}`, `{"type":"json_schema","json_schema":{"name":"a","schema":{},"strict":true}}`, `{"type":"grammar","grammar":"root"}`, `{"type":"python"}`},
		[]string{`"json"`, "{} @ .type", `{"type":"xml"} @ .type`, `{"type":"json_schema"} @ .json_schema`, `{"type":"json_schema","json_schema":{}} @ .json_schema.name`,
			`{"type":"json_schema","json_schema":{"name":"a b"}} @ .json_schema.name`, `{"type":"json_schema","json_schema":{"name":"a","schema":1}} @ .json_schema.schema`, `{"type":"grammar"} @ .grammar`}},
	{"reasoning", []string{"{}", `{"effort":"low"}`, `{"max_tokens":1024,"exclude":false}`, `{"enabled":true,"summary":"auto","context":"auto","mode":"pro"}`, `{"enabled":false,"effort":"none"}`},
		[]string{"true", `"high"`, `{"effort":"huge"} @ .effort`, `{"max_tokens":0} @ .max_tokens`, `{"effort":"low","max_tokens":5} @ .max_tokens`, `{"enabled":1} @ .enabled`, `{"exclude":"x"} @ .exclude`,
			`{"summary":"long"} @ .summary`, `{"context":"x"} @ .context`, `{"mode":"x"} @ .mode`, `{"enabled":true,"effort":"none"} @ .enabled`, `{"enabled":false,"effort":"low"} @ .enabled`, `{"enabled":false,"max_tokens":9} @ .enabled`}},
	{"reasoning_effort", []string{`"none"`, `"minimal"`, `"low"`, `"medium"`, `"high"`, `"xhigh"`, `"max"`}, []string{`"very"`, "1", `""`}},
	{"include_reasoning", []string{"true", "false"}, []string{"1"}},
	{"verbosity", []string{`"low"`, `"medium"`, `"high"`, `"xhigh"`, `"max"`}, []string{`"none"`, "1"}},
	{"modalities", []string{`["text"]`, `["image","text"]`, "[]"}, []string{`"text"`, `["video"] @ [0]`, `["text",null] @ [1]`, `[1] @ [0]`}},
	{"audio", []string{`{"voice":"a","format":"wav"}`, `{"voice":{"id":"v"},"format":"pcm16"}`}, []string{`"wav"`, `{"format":"wav"} @ .voice`, `{"voice":"a"} @ .format`, `{"voice":"a","format":"ogg"} @ .format`, `{"voice":1,"format":"wav"} @ .voice`}},
	{"image_config", []string{"{}", `{"aspect_ratio":"1:1"}`}, []string{"[]", `"x"`}},
	{"prediction", []string{`{"type":"content","content":"x"}`, `{"type":"content","content":[{"type":"text","text":"x"}]}`},
		[]string{`"x"`, `{"type":"content"} @ .content`, `{"content":"x"} @ .type`, `{"type":"x","content":"x"} @ .type`, `{"type":"content","content":1} @ .content`}},
	{"plugins", []string{"[]", `[{"id":"web","enabled":false},{"id":"file-parser","enabled":false},{"id":"response-healing","enabled":false},{"id":"context-compression","enabled":false},{"id":"moderation","enabled":false}]`,
		`[{"id":"web","engine":"native","max_results":20,"search_prompt":"x","include_domains":["a.com"],"exclude_domains":[],"user_location":{}}]`, `[{"id":"file-parser","pdf":{"engine":"pdf-text"},"new":1}]`,
		`[{"id":"response-healing"},{"id":"context-compression","engine":"middle-out"}]`},
		[]string{"{}", "[null] @ [0]", `["web"] @ [0]`, "[{}] @ [0].id", `[{"id":"nope"}] @ [0].id`, `[{"id":"nope","enabled":false}] @ [0].id`, `[{"id":"web","engine":"exa"}] @ [0].engine`,
			`[{"id":"web","max_results":21}] @ [0].max_results`, `[{"id":"web","max_results":0}] @ [0].max_results`, `[{"id":"web","include_domains":[1]}] @ [0].include_domains[0]`, `[{"id":"web","include_domains":[null]}] @ [0].include_domains[0]`,
			`[{"id":"web","user_location":"x"}] @ [0].user_location`, `[{"id":"file-parser","pdf":"native"}] @ [0].pdf`, `[{"id":"file-parser","pdf":{"engine":"ocr"}}] @ [0].pdf.engine`,
			`[{"id":"context-compression","engine":"other"}] @ [0].engine`, `[{"id":"moderation"}] @ [0]`, `[{"id":"web","enabled":1}] @ [0].enabled`}},
	{"web_search_options", []string{"{}", `{"search_context_size":"low","user_location":{}}`}, []string{"true", `{"search_context_size":"huge"} @ .search_context_size`, `{"user_location":"x"} @ .user_location`}},
	{"service_tier", []string{`"auto"`, `"default"`, `"flex"`, `"priority"`, `"fast"`, `"scale"`}, []string{`"gold"`, "1"}},
	{"cache_control", []string{`{"type":"ephemeral"}`, `{"type":"ephemeral","ttl":"5m"}`}, []string{`"ephemeral"`, "{} @ .type", `{"type":"x"} @ .type`, `{"type":"ephemeral","ttl":"2h"} @ .ttl`}},
	{"prompt_cache_key", []string{`"k"`}, []string{"1"}},
	{"prompt_cache_options", []string{"{}"}, []string{"1"}},
	{"prompt_cache_retention", []string{`"24h"`}, []string{"1"}},
	{"user", []string{`""`, `"` + strings.Repeat("я", 256) + `"`}, []string{"1", `"` + strings.Repeat("x", 257) + `" #long`, `"\u0000"`}},
	{"safety_identifier", []string{`"` + strings.Repeat("x", 64) + `"`}, []string{"1", `"` + strings.Repeat("x", 65) + `" #long`}},
	{"session_id", []string{`"` + strings.Repeat("x", 256) + `"`}, []string{"1", `"` + strings.Repeat("x", 257) + `" #long`, `"a\u0000"`}},
	{"metadata", []string{"{}", `{"a":"b"}`, `{"` + strings.Repeat("k", 64) + `":"` + strings.Repeat("v", 512) + `"}`},
		[]string{"[]", `{"a":1} @ .a`, `{"a":null} @ .a`, `{"` + strings.Repeat("k", 65) + `":""} #long`, `{"k":"` + strings.Repeat("v", 513) + `"} @ .k #long`, pairs(17)}},
	{"store", []string{"true", "false"}, []string{"1"}},
	{"usage", []string{"{}", `{"include":true}`}, []string{"true", `{"include":1} @ .include`}},
	{"route", []string{`"fallback"`}, []string{"1"}},
	{"transforms", []string{"[]", `["middle-out"]`}, []string{`"x"`, `["other"] @ [0]`, `[null] @ [0]`}},
	{"trace", []string{"{}"}, []string{"1"}},
	{"debug", []string{`{"echo":true}`}, []string{"1"}},
	{"provider", []string{"{}", `{"max_price":{"prompt":0e999999999,"audio":1e-999999999}}`, `{"order":["a"],"only":[],"ignore":["b"],"allow_fallbacks":false,"require_parameters":true,"data_collection":"deny","zdr":true,"quantizations":["fp8"],"sort":{"by":"latency","partition":"none"},
		"max_price":{"prompt":1,"completion":"2.5"},"preferred_min_throughput":{"p50":1},"preferred_max_latency":2,"enforce_distillable_text":false,"options":{},"x":1}`},
		[]string{"[]", `"openai"`, `{"order":"a"} @ .order`, `{"only":[1]} @ .only[0]`, `{"ignore":[null]} @ .ignore[0]`, `{"order":[""]} @ .order[0]`, `{"allow_fallbacks":1} @ .allow_fallbacks`,
			`{"require_parameters":"x"} @ .require_parameters`, `{"data_collection":"maybe"} @ .data_collection`, `{"zdr":1} @ .zdr`, `{"quantizations":["fp7"]} @ .quantizations[0]`, `{"quantizations":"fp8"} @ .quantizations`,
			`{"sort":"speed"} @ .sort`, `{"sort":1} @ .sort`, `{"sort":{"by":"x"}} @ .sort.by`, `{"sort":{"partition":"x"}} @ .sort.partition`, `{"max_price":5} @ .max_price`, `{"max_price":{"prompt":-1}} @ .max_price.prompt`,
			`{"max_price":{"prompt":"1/3"}} @ .max_price.prompt`, `{"max_price":{"completion":"x"}} @ .max_price.completion`, `{"max_price":{"image":true}} @ .max_price.image`, `{"max_price":{"request":1e999999999}} @ .max_price.request`,
			`{"max_price":{"audio":1e-31}} @ .max_price.audio`, `{"preferred_min_throughput":"x"} @ .preferred_min_throughput`, `{"preferred_max_latency":{"p99":"x"}} @ .preferred_max_latency.p99`,
			`{"preferred_max_latency":-1} @ .preferred_max_latency`, `{"enforce_distillable_text":1} @ .enforce_distillable_text`, `{"options":[]} @ .options`}},
}

func pairs(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":""`, i)
	}
	return "{" + b.String()[1:] + "}"
}

func TestDecodeFields(t *testing.T) {
	t.Parallel()
	for _, tc := range fieldCases {
		t.Run(tc.field, func(t *testing.T) {
			t.Parallel()
			for _, v := range tc.ok {
				req := decode(t, with(fmt.Sprintf("%q:%s", tc.field, v)))
				if got := req.Members[2].Name; got != tc.field {
					t.Errorf("member is %q", got)
				}
			}
			for _, v := range tc.bad {
				kind := fault.Invalid
				if strings.HasSuffix(v, " #long") {
					kind, v = fault.StringTooLong, strings.TrimSuffix(v, " #long")
				}
				v, param, _ := strings.Cut(v, " @ ")
				refused(t, with(fmt.Sprintf("%q:%s", tc.field, v)), kind, tc.field+param)
			}
			null := decode(t, with(fmt.Sprintf("%q:null", tc.field)))
			plain := decode(t, with(`"ignored":null`))
			if null.Needs != plain.Needs || null.Reasoning != plain.Reasoning || null.HasRoles != plain.HasRoles {
				t.Errorf("null is not absent: %+v", null.Needs)
			}
			// names are exact: in other letters it is an unknown field, and those are free
			decode(t, with(fmt.Sprintf("%q:[{}]", strings.ToUpper(tc.field))))
		})
	}
}

// TestFieldListIsComplete compares the table with the field list of the request, so that a field added there is tested here.
func TestFieldListIsComplete(t *testing.T) {
	t.Parallel()
	tested := map[string]bool{"model": true, "models": true, "messages": true, "top_logprobs": true} // in separate tests
	for _, tc := range fieldCases {
		tested[tc.field] = true
	}
	for _, name := range strings.Fields(`model models provider messages stream stream_options max_completion_tokens max_tokens temperature top_p top_k min_p top_a
		frequency_penalty presence_penalty repetition_penalty seed stop logit_bias logprobs top_logprobs n tools tool_choice parallel_tool_calls response_format
		structured_outputs reasoning reasoning_effort include_reasoning verbosity modalities audio image_config prediction plugins web_search_options service_tier
		cache_control prompt_cache_key prompt_cache_options prompt_cache_retention user safety_identifier session_id metadata store usage route transforms trace debug
		functions function_call`) {
		if !tested[name] {
			t.Errorf("%s is not tested", name)
		}
	}
	for _, name := range catalog.AllParams.Names() {
		body := with(fmt.Sprintf("%q:%s", name, okValue(name)))
		if name == "top_logprobs" {
			body = with(`"logprobs":true,"top_logprobs":1`)
		}
		if got := decode(t, body).Needs.Params; got&catalog.ParamNamed(name) == 0 {
			t.Errorf("%s leaves no mark among the parameters: %s", name, got)
		}
	}
}

// okValue is an accepted value of a field that asks for something.
func okValue(field string) string {
	for _, tc := range fieldCases {
		if tc.field == field {
			for _, v := range tc.ok {
				if v != "[]" && v != `{"type":"text"}` {
					return v
				}
			}
		}
	}
	return "null"
}

func TestDecodeRequestRules(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("m", 257)
	many := strings.TrimSuffix(strings.Repeat(`"a/b",`, 11), ",")
	for _, tc := range []struct {
		name, body string
		kind       fault.Kind
		param      string
	}{
		{"array", `[]`, fault.Invalid, ""},
		{"null", `null`, fault.Invalid, ""},
		{"broken", `{"model":`, fault.Invalid, ""},
		{"duplicate at the top", with(`"model":"x/y"`), fault.DuplicateKey, "model"},
		{"duplicate by escape", with(`"mod\u0065l":"x/y"`), fault.DuplicateKey, "model"},
		{"duplicate in provider", with(`"provider":{"zdr":true,"zdr":false}`), fault.DuplicateKey, "provider.zdr"},
		{"too deep", with(`"x":` + strings.Repeat("[", 257) + strings.Repeat("]", 257)), fault.TooDeep, ""},
		{"no model", `{` + hello + `}`, fault.Invalid, "model"},
		{"null model", `{"model":null,` + hello + `}`, fault.Invalid, "model"},
		{"empty models", `{"models":[],` + hello + `}`, fault.Invalid, "model"},
		{"empty model", `{"model":"",` + hello + `}`, fault.Invalid, "model"},
		{"number as model", `{"model":7,` + hello + `}`, fault.Invalid, "model"},
		{"long model", `{"model":"` + long + `",` + hello + `}`, fault.StringTooLong, "model"},
		{"long model in two-byte letters", `{"model":"` + strings.Repeat("я", 129) + `",` + hello + `}`, fault.StringTooLong, "model"},
		{"eleven models", with(`"models":[` + many + `]`), fault.Invalid, "models"},
		{"number in models", with(`"models":["a/b",1]`), fault.Invalid, "models[1]"},
		{"models as a string", with(`"models":"a/b"`), fault.Invalid, "models"},
		{"no messages", `{"model":"a/b"}`, fault.InvalidPrompt, "messages"},
		{"null messages", `{"model":"a/b","messages":null}`, fault.InvalidPrompt, "messages"},
		{"empty messages", `{"model":"a/b","messages":[]}`, fault.InvalidPrompt, "messages"},
		{"messages as text", `{"model":"a/b","messages":"hi"}`, fault.Invalid, "messages"},
		{"too many messages", msgs(strings.TrimSuffix(strings.Repeat(`{"role":"user","content":""},`, 10_001), ",")), fault.Invalid, "messages"},
		{"top_logprobs alone", with(`"top_logprobs":3`), fault.Invalid, "top_logprobs"},
		{"top_logprobs without logprobs", with(`"top_logprobs":3,"logprobs":false`), fault.Invalid, "top_logprobs"},
		{"top_logprobs 21", with(`"top_logprobs":21,"logprobs":true`), fault.Invalid, "top_logprobs"},
		{"audio wanted, not described", with(`"modalities":["text","audio"]`), fault.Invalid, "audio"},
		{"tools and functions", with(`"tools":[{"type":"function","function":{"name":"a"}}],"functions":[{"name":"a"}]`), fault.Invalid, "functions"},
		{"efforts differ", with(`"reasoning_effort":"low","reasoning":{"effort":"high"}`), fault.Invalid, "reasoning_effort"},
		{"effort and budget", with(`"reasoning_effort":"low","reasoning":{"max_tokens":2000}`), fault.Invalid, "reasoning.max_tokens"},
		{"include and exclude", with(`"include_reasoning":true,"reasoning":{"exclude":true}`), fault.Invalid, "include_reasoning"},
		{"not include and not exclude", with(`"include_reasoning":false,"reasoning":{"exclude":false}`), fault.Invalid, "include_reasoning"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			refused(t, tc.body, tc.kind, tc.param)
		})
	}
}

func TestDecodeMessages(t *testing.T) {
	t.Parallel()
	asked := `{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":""}}]}`
	data := `data:image/png;base64,` + strings.Repeat("A", 1000)
	for name, body := range map[string]string{
		"all roles":                 msgs(`{"role":"system","content":"a"},{"role":"developer","content":"b"},{"role":"user","content":"c","name":"n"},{"role":"assistant","content":"d"}`),
		"content before role":       msgs(`{"content":[{"type":"text","text":"a"},{"image_url":{"url":"https://x/y"},"type":"image_url"}],"role":"user"}`),
		"tool":                      msgs(asked + `,{"role":"tool","tool_call_id":"c1","content":"r"}`),
		"tool twice":                msgs(asked + `,{"role":"tool","tool_call_id":"c1","content":"r"},{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"r"}]}`),
		"tool id by escape":         msgs(asked + `,{"role":"tool","tool_call_id":"c\u0031","content":"r"}`),
		"custom call":               msgs(`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"custom","custom":{"name":"x","input":"y"}}]},{"role":"tool","tool_call_id":"c","content":""}`),
		"function":                  msgs(`{"role":"assistant","function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"r"}`),
		"image address":             userPart(`{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}`),
		"image address, escaped":    userPart(`{"type":"image_url","image_url":{"url":"https:\/\/example.com\/a.png","detail":"auto"}}`),
		"image address, upper case": userPart(`{"type":"image_url","image_url":{"url":"HTTPS://example.com/a.png","detail":"original"}}`),
		"image data":                userPart(`{"type":"image_url","image_url":{"url":"` + data + `","detail":"high"}}`),
		"image of a tool":           msgs(asked + `,{"role":"tool","tool_call_id":"c1","content":[{"type":"image_url","image_url":{"url":"` + data + `"}}]}`),
		"audio":                     userPart(`{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}}`),
		"file data":                 userPart(`{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,AAAA"}}`),
		"file id":                   userPart(`{"type":"file","file":{"file_id":"file_1"}}`),
		"video":                     userPart(`{"type":"video_url","video_url":{"url":"https://x/a.mp4"}}`),
		"video, old spelling":       userPart(`{"type":"input_video","input_video":{"url":"data:video/mp4;base64,AAAA"}}`),
		"unknown member of a part":  userPart(`{"type":"text","text":"a","x":{"type":"y"}}`),
		"refusal part":              msgs(`{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}`),
		"assistant echo":            msgs(`{"role":"assistant","content":null,"refusal":null,"reasoning":"r","reasoning_content":"r","reasoning_details":[],"annotations":[]}`),
		"assistant picture":         msgs(`{"role":"assistant","content":null,"images":[{"type":"image_url"}]}`),
		"assistant sound":           msgs(`{"role":"assistant","audio":{"id":"a"}}`),
		"assistant empty parts":     msgs(`{"role":"assistant","content":[]}`),
		"empty text":                msgs(`{"role":"user","content":""}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkMembers(t, decode(t, body))
		})
	}
	part := "messages[0].content[0]"
	for _, tc := range []struct {
		name, body string
		kind       fault.Kind
		param      string
	}{
		{"null message", msgs(`null`), fault.Invalid, "messages[0]"},
		{"text as message", msgs(`{"role":"user","content":"a"},"hi"`), fault.Invalid, "messages[1]"},
		{"no role", msgs(`{"content":"a"}`), fault.InvalidPrompt, "messages[0].role"},
		{"null role", msgs(`{"role":null,"content":"a"}`), fault.Invalid, "messages[0].role"},
		{"unknown role", msgs(`{"role":"robot","content":"a"}`), fault.InvalidPrompt, "messages[0].role"},
		{"role in capitals", msgs(`{"role":"User","content":"a"}`), fault.InvalidPrompt, "messages[0].role"},
		{"number as role", msgs(`{"role":1,"content":"a"}`), fault.Invalid, "messages[0].role"},
		{"no content", msgs(`{"role":"user"}`), fault.InvalidPrompt, "messages[0].content"},
		{"null content", msgs(`{"role":"system","content":null}`), fault.InvalidPrompt, "messages[0].content"},
		{"assistant without anything", msgs(`{"role":"assistant","tool_calls":[]}`), fault.InvalidPrompt, "messages[0].content"},
		{"number as content", msgs(`{"role":"user","content":5}`), fault.Invalid, "messages[0].content"},
		{"object as content", msgs(`{"content":{},"role":"user"}`), fault.Invalid, "messages[0].content"},
		{"no parts", msgs(`{"role":"user","content":[]}`), fault.InvalidPrompt, "messages[0].content"},
		{"text as part", userPart(`"a"`), fault.Invalid, part},
		{"null part", userPart(`null`), fault.Invalid, part},
		{"part without type", userPart(`{"text":"a"}`), fault.InvalidPrompt, part + ".type"},
		{"unknown part", userPart(`{"type":"hologram"}`), fault.InvalidPrompt, part + ".type"},
		{"number as type", userPart(`{"type":1}`), fault.Invalid, part + ".type"},
		{"third message, second part", msgs(`{"role":"user","content":"a"},{"role":"user","content":"b"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"x"}]}`), fault.InvalidPrompt, "messages[2].content[1].type"},
		{"text part without text", userPart(`{"type":"text"}`), fault.InvalidPrompt, part + ".text"},
		{"text part with null", userPart(`{"text":null,"type":"text"}`), fault.InvalidPrompt, part + ".text"},
		{"number as text", userPart(`{"type":"text","text":1}`), fault.Invalid, part + ".text"},
		{"number as text, type last", userPart(`{"text":1,"type":"text"}`), fault.Invalid, part + ".text"},
		{"bad cache marker", userPart(`{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1d"}}`), fault.Invalid, part + ".cache_control.ttl"},
		{"image without object", userPart(`{"type":"image_url","image_url":"https://x"}`), fault.Invalid, part + ".image_url"},
		{"image without url", userPart(`{"type":"image_url","image_url":{}}`), fault.InvalidPrompt, part + ".image_url.url"},
		{"image from a file", userPart(`{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}`), fault.InvalidPrompt, part + ".image_url.url"},
		{"image from a bare word", userPart(`{"type":"image_url","image_url":{"url":"a"}}`), fault.InvalidPrompt, part + ".image_url.url"},
		{"image data without comma", userPart(`{"type":"image_url","image_url":{"url":"data:image/png"}}`), fault.InvalidPrompt, part + ".image_url.url"},
		{"image detail", userPart(`{"type":"image_url","image_url":{"url":"https://x","detail":"fine"}}`), fault.Invalid, part + ".image_url.detail"},
		{"image by system", msgs(`{"role":"system","content":[{"type":"image_url","image_url":{"url":"https://x"}}]}`), fault.InvalidPrompt, part + ".type"},
		{"audio by assistant", msgs(`{"content":[{"type":"input_audio","input_audio":{}}],"role":"assistant"}`), fault.InvalidPrompt, part + ".type"},
		{"audio without format", userPart(`{"type":"input_audio","input_audio":{"data":"AAAA"}}`), fault.InvalidPrompt, part + ".input_audio.format"},
		{"audio without data", userPart(`{"type":"input_audio","input_audio":{"format":"wav"}}`), fault.InvalidPrompt, part + ".input_audio.data"},
		{"audio by address", userPart(`{"type":"input_audio","input_audio":{"data":"https://x/a.wav","format":"wav"}}`), fault.InvalidPrompt, part + ".input_audio.data"},
		{"audio format", userPart(`{"type":"input_audio","input_audio":{"data":"AAAA","format":"midi"}}`), fault.Invalid, part + ".input_audio.format"},
		{"file without data", userPart(`{"type":"file","file":{"filename":"a"}}`), fault.InvalidPrompt, part + ".file.file_data"},
		{"file from a path", userPart(`{"type":"file","file":{"file_data":"/etc/passwd"}}`), fault.InvalidPrompt, part + ".file.file_data"},
		{"video without url", userPart(`{"type":"video_url","video_url":{}}`), fault.InvalidPrompt, part + ".video_url.url"},
		{"refusal by user", userPart(`{"type":"refusal","refusal":"no"}`), fault.InvalidPrompt, part + ".type"},
		{"tool without id", msgs(asked + `,{"role":"tool","content":"r"}`), fault.InvalidPrompt, "messages[1].tool_call_id"},
		{"tool with another id", msgs(asked + `,{"role":"tool","tool_call_id":"c2","content":"r"}`), fault.InvalidPrompt, "messages[1].tool_call_id"},
		{"tool before its call", msgs(`{"role":"tool","tool_call_id":"c1","content":"r"},` + asked), fault.InvalidPrompt, "messages[0].tool_call_id"},
		{"call made by a user", msgs(strings.Replace(asked, `"role":"assistant"`, `"role":"user","content":"x"`, 1) + `,{"role":"tool","tool_call_id":"c1","content":"r"}`), fault.InvalidPrompt, "messages[1].tool_call_id"},
		{"tool without content", msgs(asked + `,{"role":"tool","tool_call_id":"c1"}`), fault.InvalidPrompt, "messages[1].content"},
		{"function without name", msgs(`{"role":"function","content":"r"}`), fault.InvalidPrompt, "messages[0].name"},
		{"call without id", msgs(`{"role":"assistant","tool_calls":[{"type":"function","function":{"name":"f"}}]}`), fault.InvalidPrompt, "messages[0].tool_calls[0].id"},
		{"call without function", msgs(`{"role":"assistant","tool_calls":[{"id":"a"}]}`), fault.InvalidPrompt, "messages[0].tool_calls[0].function"},
		{"call without name", msgs(`{"role":"assistant","tool_calls":[{"id":"a","function":{"arguments":"{}"}}]}`), fault.InvalidPrompt, "messages[0].tool_calls[0].function.name"},
		{"call with an object as arguments", msgs(`{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":{}}}]}`), fault.Invalid, "messages[0].tool_calls[0].function.arguments"},
		{"calls as an object", msgs(`{"role":"assistant","tool_calls":{}}`), fault.Invalid, "messages[0].tool_calls"},
		{"number as reasoning", msgs(`{"role":"assistant","content":"a","reasoning":1}`), fault.Invalid, "messages[0].reasoning"},
		{"text as details", msgs(`{"role":"assistant","content":"a","reasoning_details":"x"}`), fault.Invalid, "messages[0].reasoning_details"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			refused(t, tc.body, tc.kind, tc.param)
		})
	}
}

// TestDecodeManyToolCalls passes the size from which calls are looked up in another way.
// Dialects learn what occurs in a request, so that they rewrite only what needs it.
func TestDecodeWhatOccurs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		want       completion.Roles
	}{
		{"nothing special", with(`"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]`), 0},
		{"a function with a schema without a type", with(`"tools":[{"type":"function","function":{"name":"f","parameters":{"properties":{}}}}]`), completion.HasBareFunction},
		{"a later system message", msgs(`{"role":"user","content":"a"},{"role":"system","content":"b"}`), completion.HasLateSystem},
		{"two system messages", msgs(`{"role":"system","content":"a"},{"role":"developer","content":"b"}`), completion.HasLateSystem | completion.HasDeveloper},
		{"a function without parameters", with(`"tools":[{"type":"function","function":{"name":"f"}}]`), completion.HasBareFunction},
		{"a function with null parameters", with(`"tools":[{"type":"function","function":{"name":"f","parameters":null}}]`), completion.HasBareFunction},
		{"the same in the older form", with(`"functions":[{"name":"f"}]`), completion.HasBareFunction | completion.HasFunctionRole},
		{"a tool without a function", with(`"tools":[{"type":"custom","custom":{"name":"c"}}]`), 0},
		{"no content", msgs(`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}`), 0},
		{"an answer as it was given", msgs(`{"role":"assistant","content":"hi","refusal":null}`), completion.HasNulls},
		{"an empty answer as it was given", msgs(`{"role":"assistant","content":null,"annotations":[]}`), completion.HasNulls | completion.HasGatewayFields},
		{"reasoning alone as it was given", msgs(`{"role":"assistant","content":null,"reasoning":"hm"}`), completion.HasNulls | completion.HasReasoning},
		{"a video", msgs(`{"role":"user","content":[{"type":"video_url","video_url":{"url":"https://x/y.mp4"}}]}`), 0},
		{"a video under its older name", msgs(`{"role":"user","content":[{"type":"input_video","video_url":{"url":"https://x/y.mp4"}}]}`), completion.HasOldVideo},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := decode(t, c.body).HasRoles; got != c.want {
				t.Errorf("%b, want %b", got, c.want)
			}
		})
	}
}

func TestDecodeTenModels(t *testing.T) {
	t.Parallel()
	list := `"a/0","a/1","a/2","a/3","a/4","a/5","a/6","a/7","a/8","acme/one"`
	if got := decode(t, with(`"models":[`+list+`]`)).Models; len(got) != 10 || got[0] != "acme/one" || got[9] != "a/8" {
		t.Errorf("%q", got)
	}
}

func TestDecodeManyToolCalls(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, `{"role":"assistant","tool_calls":[{"id":"c%d","function":{"name":"f"}}]},{"role":"tool","tool_call_id":"c%d","content":""},`, i, i/2)
	}
	decode(t, msgs(b.String()+`{"role":"tool","tool_call_id":"c0","content":""}`))
	refused(t, msgs(b.String()+`{"role":"tool","tool_call_id":"c200","content":""}`), fault.InvalidPrompt, "messages[400].tool_call_id")
}

func TestDecodePlugins(t *testing.T) {
	t.Parallel()
	type asked struct {
		search          *completion.Search
		must, web, heal bool
		shrink          routing.Shrink
		readable        bool
	}
	quiet := asked{shrink: routing.ShrinkSmall, readable: true} // without a word about plugins
	but := func(f func(*asked)) asked { a := quiet; f(&a); return a }
	for _, c := range []struct {
		name, members string
		want          asked
	}{
		{"nothing", `"x":1`, quiet},
		{"web", `"plugins":[{"id":"web"}]`, but(func(a *asked) { a.search, a.must, a.web = &completion.Search{MaxResults: 5}, true, true })},
		{"web with limits", `"plugins":[{"id":"web","max_results":3,"include_domains":["a.com"],"exclude_domains":["b.com"],"user_location":{"country":"RU"}}]`, but(func(a *asked) {
			a.search = &completion.Search{MaxResults: 3, Include: []string{"a.com"}, Exclude: []string{"b.com"}, Location: []byte(`{"country":"RU"}`)}
			a.must, a.web = true, true
		})},
		{"native search alone", `"web_search_options":{}`, but(func(a *asked) { a.web = true })},
		{"healing", `"plugins":[{"id":"response-healing"}]`, but(func(a *asked) { a.heal = true })},
		{"healing taken back", `"plugins":[{"id":"response-healing"},{"id":"response-healing","enabled":false}]`, quiet},
		{"compression", `"plugins":[{"id":"context-compression"}]`, but(func(a *asked) { a.shrink = routing.ShrinkAny })},
		{"compression off", `"plugins":[{"id":"context-compression","enabled":false}]`, but(func(a *asked) { a.shrink = routing.ShrinkNone })},
		{"middle-out", `"transforms":["middle-out"]`, but(func(a *asked) { a.shrink = routing.ShrinkAny })},
		{"no transforms", `"transforms":[]`, but(func(a *asked) { a.shrink = routing.ShrinkNone })},
		{"files by the provider alone", `"plugins":[{"id":"file-parser","pdf":{"engine":"native"}}]`, but(func(a *asked) { a.readable = false })},
		{"files off", `"plugins":[{"id":"file-parser","enabled":false}]`, but(func(a *asked) { a.readable = false })},
		{"files read", `"plugins":[{"id":"file-parser","pdf":{"engine":"pdf-text"}}]`, quiet},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			req := decode(t, with(c.members))
			got := asked{req.Search, req.Needs.Search, req.Needs.Web, req.Heal, req.Needs.Shrink, req.Needs.Readable}
			if d := cmp.Diff(c.want, got, cmp.AllowUnexported(asked{})); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDecodeFormat(t *testing.T) {
	t.Parallel()
	yes := true
	for body, want := range map[string]*completion.Format{
		`{"type":"text"}`:        nil,
		`{"type":"json_object"}`: {Kind: completion.FormatJSON},
		`{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"object"}}}`: {Kind: completion.FormatSchema, Name: "n", Strict: &yes, Schema: []byte(`{"type":"object"}`)},
	} {
		if d := cmp.Diff(want, decode(t, with(`"response_format": `+body)).Format); d != "" {
			t.Error(d)
		}
	}
}

func TestDecodePreferences(t *testing.T) {
	t.Parallel()
	req := decode(t, with(`"provider":{"order":["a","B"],"ignore":["c"],"allow_fallbacks":false,"require_parameters":true,"data_collection":"deny","zdr":true,
		"quantizations":["fp8","unknown"],"sort":{"by":"throughput","partition":"none"},"max_price":{"prompt":0.1,"completion":"2.50","request":0,"image":null},
		"preferred_min_throughput":40,"preferred_max_latency":{"p50":0.5,"p75":1,"p90":2,"p99":3}}`))
	want := routing.Preferences{
		Order: []string{"a", "B"}, Ignore: []string{"c"}, NoFallbacks: true, RequireParameters: true, DenyCollection: true, ZDR: true,
		Quantizations: []string{"fp8", "unknown"}, Sort: "throughput", SortAcrossModels: true,
		MaxPrice:      &routing.MaxPrice{Prompt: big.NewRat(1, 10), Completion: big.NewRat(5, 2), Request: new(big.Rat)},
		MinThroughput: routing.Cutoffs{P50: 40}, MaxLatency: routing.Cutoffs{P50: 0.5, P75: 1, P90: 2, P99: 3},
	}
	equal := cmp.Comparer(func(a, b *big.Rat) bool { return a == b || a != nil && b != nil && a.Cmp(b) == 0 })
	if diff := cmp.Diff(want, req.Preferences, equal); diff != "" {
		t.Error(diff)
	}
	same := decode(t, with(`"provider":{"order":null,"only":[],"allow_fallbacks":true,"data_collection":"allow","zdr":false,"sort":"exacto","max_price":{},"preferred_max_latency":null}`))
	if diff := cmp.Diff(routing.Preferences{AllowFallbacks: true, Sort: "exacto"}, same.Preferences, equal); diff != "" {
		t.Errorf("defaults written out: %s", diff)
	}
}

func TestDecodeReasoning(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]completion.Reasoning{
		`"x":1`:                                                 {},
		`"reasoning":null`:                                      {},
		`"reasoning":{}`:                                        {Set: true},
		`"reasoning":{"enabled":true}`:                          {Set: true, Enabled: true},
		`"reasoning":{"enabled":false}`:                         {Set: true, Disabled: true},
		`"reasoning":{"effort":"none"}`:                         {Set: true, Effort: "none", Disabled: true},
		`"reasoning":{"enabled":true,"effort":"low"}`:           {Set: true, Effort: "low"},
		`"reasoning":{"max_tokens":5000}`:                       {Set: true, MaxTokens: 5000},
		`"reasoning":{"exclude":true,"summary":"auto"}`:         {Set: true, Exclude: true, Summary: "auto"},
		`"reasoning_effort":"low"`:                              {Set: true, Effort: "low"},
		`"reasoning_effort":"low","reasoning":{}`:               {Set: true, Effort: "low"},
		`"reasoning_effort":"max","reasoning":{"effort":"max"}`: {Set: true, Effort: "max"},
		`"include_reasoning":true`:                              {Set: true},
		`"include_reasoning":false`:                             {Set: true, Exclude: true},
	} {
		if got := decode(t, with(members)).Reasoning; got != want {
			t.Errorf("%s: %+v, want %+v", members, got, want)
		}
	}
}

func TestDecodeEstimate(t *testing.T) {
	t.Parallel()
	tokens := func(body string) int64 { return decode(t, body).Needs.PromptTokens }
	bytes6k := strings.Repeat("abcdef", 1000)
	base := tokens(msgs(`{"role":"user","content":""}`))
	for _, tc := range []struct {
		name   string
		body   string
		lo, hi int64
	}{
		{"empty", msgs(`{"role":"user","content":""}`), 8, 20},
		{"text", msgs(`{"role":"user","content":"` + bytes6k + `"}`), 2000, 2020},
		{"text part", userPart(`{"type":"text","text":"` + bytes6k + `"}`), 2000, 2020},
		{"type last", userPart(`{"text":"` + bytes6k + `","type":"text"}`), 2000, 2020},
		{"ten messages", msgs(strings.TrimSuffix(strings.Repeat(`{"role":"user","content":""},`, 10), ",")), 80, 120},
		{"low image", userPart(`{"type":"image_url","image_url":{"url":"https://x","detail":"low"}}`), 85, 110},
		{"high image does not count its bytes", userPart(`{"type":"image_url","image_url":{"url":"data:image/png;base64,` + bytes6k + `"}}`), 1500, 1520},
		{"sound", userPart(`{"type":"input_audio","input_audio":{"format":"mp3","data":"` + bytes6k + `"}}`), 45, 80},
		{"file", userPart(`{"type":"file","file":{"file_data":"data:application/pdf;base64,` + bytes6k + `"}}`), 750, 800},
		{"tools", with(`"tools":[{"type":"function","function":{"name":"f","description":"` + bytes6k + `"}}]`), 2000, 2050},
		{"schema", with(`"response_format":{"type":"json_schema","json_schema":{"name":"f","schema":{"description":"` + bytes6k + `"}}}`), 2000, 2050},
		{"arguments", msgs(`{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"` + bytes6k + `"}}]}`), 2000, 2030},
	} {
		if got := tokens(tc.body); got < tc.lo || got > tc.hi || got < base {
			t.Errorf("%s: %d tokens, want %d to %d", tc.name, got, tc.lo, tc.hi)
		}
	}
}

func TestOptionsOf(t *testing.T) {
	t.Parallel()
	req := decode(t, with(`"stream_options":{"include_usage":true},"include_reasoning":false,"n":3`))
	want := chat.Options{Generation: "gen-1", Created: 5, Strict: true, IncludeUsage: true, ExcludeReasoning: true, N: 3, Model: "acme/one"}
	if got := chat.OptionsOf(req, "gen-1", 5, true); !cmp.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestPromptText(t *testing.T) {
	t.Parallel()
	req := decode(t, `{"model":"a/b","messages":[{"role":"system","content":"a\nb"},{"content":[{"type":"text","text":"c"},{"type":"image_url","image_url":{"url":"https://x"}}],"role":"user"},
		{"role":"assistant","content":null,"reasoning":"r","reasoning_content":"r","tool_calls":[{"id":"i","function":{"name":"f","arguments":"{\"x\":1}"}}]},{"role":"tool","tool_call_id":"i","content":"d"}],"tools":[{"type":"t"}]}`)
	var got []string
	for piece := range chat.PromptText(req) {
		got = append(got, string(piece))
	}
	want := []string{"system", "a\nb", "c", "user", "assistant", "r", "f", `{"x":1}`, "tool", "i", "d", `[{"type":"t"}]`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for range chat.PromptText(req) {
		break // a reader that stops early stops it
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(with(`"provider":{"sort":{"by":"price"},"max_price":{"prompt":"1.5"}},"tools":[{"type":"function","function":{"name":"f"}}]`)))
	f.Add([]byte(userPart(`{"image_url":{"url":"data:image/png;base64,AA"},"type":"image_url"}`)))
	f.Add([]byte(msgs(`{"content":"x","role":"assistant","tool_calls":[{"id":"1","function":{"name":"x"}}]},{"role":"tool","tool_call_id":"1","content":[]}`)))
	for _, tc := range fieldCases {
		for _, v := range tc.ok {
			if len(v) < 300 {
				f.Add([]byte(with(fmt.Sprintf("%q:%s", tc.field, v))))
			}
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		req, err := chat.Decode(body)
		if !bytes.Equal(body, before) {
			t.Fatal("the body was changed")
		}
		if err != nil {
			if fl := fault.From(err); fl.Kind == fault.Internal || fl.Public == "" {
				t.Fatalf("%q: %v", body, err)
			}
			return
		}
		if len(req.Models) == 0 || len(req.Models) > 9 || req.N < 1 || req.Needs.PromptTokens <= 0 || req.MaxTokens < 0 {
			t.Fatalf("%q decodes to %+v", body, req)
		}
		checkMembers(t, req)
		for piece := range chat.PromptText(req) {
			_ = piece
		}
	})
}

func chatBody(n int) []byte {
	text := strings.Repeat("the gateway sends every request to one upstream provider ", n/57)
	return []byte(`{"model":"mock-model","messages":[{"role":"system","content":"You are a helpful assistant."},{"role":"user","content":"` + text +
		`"}],"temperature":0.7,"max_tokens":512,"stream":true,"stream_options":{"include_usage":true}}`)
}

func BenchmarkDecode(b *testing.B) {
	image := []byte(userPart(`{"type":"text","text":"what?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + strings.Repeat("QUJDREVG", 5<<17) + `","detail":"high"}}`))
	turns := strings.Repeat(`{"role":"user","content":"`+strings.Repeat("some words and ", 660)+`\n\"quoted\" \\ path\n"},`, 20)
	for _, c := range []struct {
		name string
		body []byte
	}{{"1KB", chatBody(1000)}, {"200KB", []byte(msgs(turns + `{"role":"user","content":"x"}`))}, {"5MB", image}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := chat.Decode(c.body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Fields that the helpers of client libraries add to an answer are known as none of the wire.
func TestFieldsOfHelpers(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]bool{
		`{"role":"assistant","content":"{}","parsed":{"a":1}}`: true,
		`{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}","parsed_arguments":null}}]},{"role":"tool","tool_call_id":"1","content":"x"}`: true,
		`{"role":"assistant","content":"parsed"}`: false,
	} {
		req := decode(t, `{"model":"a/b","messages":[{"role":"user","content":"x"},`+message+`]}`)
		if got := req.HasRoles&completion.HasGatewayFields != 0; got != want {
			t.Errorf("%s: %v", message, got)
		}
	}
}
