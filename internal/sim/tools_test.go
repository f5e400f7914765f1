package sim_test

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"weir/internal/sim"
)

// conforms checks a value against the parts of JSON Schema that the simulator promises to obey. It shares nothing with the
// simulator's own reading of schemas.
func conforms(root, schema map[string]any, v any) error {
	if ref, ok := schema["$ref"].(string); ok {
		at := any(root)
		for _, name := range strings.Split(strings.TrimPrefix(ref, "#"), "/") {
			if name != "" {
				at = at.(map[string]any)[name]
			}
		}
		return conforms(root, at.(map[string]any), v)
	}
	for _, word := range []string{"anyOf", "oneOf"} {
		if list, ok := schema[word].([]any); ok {
			fits := slices.ContainsFunc(list, func(s any) bool { return conforms(root, s.(map[string]any), v) == nil })
			if !fits {
				return fmt.Errorf("%v fits none of %s", v, word)
			}
		}
	}
	if list, ok := schema["allOf"].([]any); ok {
		for _, s := range list {
			if err := conforms(root, s.(map[string]any), v); err != nil {
				return err
			}
		}
	}
	if c, ok := schema["const"]; ok && fmt.Sprint(c) != fmt.Sprint(v) {
		return fmt.Errorf("%v is not %v", v, c)
	}
	if e, ok := schema["enum"].([]any); ok && !slices.ContainsFunc(e, func(x any) bool { return fmt.Sprint(x) == fmt.Sprint(v) }) {
		return fmt.Errorf("%v is none of %v", v, e)
	}
	if err := ofType(schema["type"], v); err != nil {
		return err
	}
	switch v := v.(type) {
	case map[string]any:
		return objectConforms(root, schema, v)
	case []any:
		return arrayConforms(root, schema, v)
	case string:
		return stringConforms(schema, v)
	case float64:
		return numberConforms(schema, v)
	}
	return nil
}

func ofType(want, v any) error {
	var is []string
	switch v := v.(type) {
	case map[string]any:
		is = []string{"object"}
	case []any:
		is = []string{"array"}
	case string:
		is = []string{"string"}
	case bool:
		is = []string{"boolean"}
	case nil:
		is = []string{"null"}
	case float64:
		is = []string{"number"}
		if v == math.Trunc(v) {
			is = append(is, "integer")
		}
	}
	switch want := want.(type) {
	case string:
		if !slices.Contains(is, want) {
			return fmt.Errorf("%v is not of type %s", v, want)
		}
	case []any:
		if !slices.ContainsFunc(want, func(w any) bool { return slices.Contains(is, w.(string)) }) {
			return fmt.Errorf("%v is not of type %v", v, want)
		}
	}
	return nil
}

func objectConforms(root, schema, v map[string]any) error {
	properties, _ := schema["properties"].(map[string]any)
	for name, x := range v {
		if p, ok := properties[name].(map[string]any); ok {
			if err := conforms(root, p, x); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		} else if schema["additionalProperties"] == false {
			return fmt.Errorf("%s is not allowed", name)
		}
	}
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if _, ok := v[name.(string)]; !ok {
			return fmt.Errorf("%s is missing", name)
		}
	}
	return nil
}

func arrayConforms(root, schema map[string]any, v []any) error {
	if n, ok := schema["minItems"].(float64); ok && len(v) < int(n) {
		return fmt.Errorf("%d items", len(v))
	}
	if n, ok := schema["maxItems"].(float64); ok && len(v) > int(n) {
		return fmt.Errorf("%d items", len(v))
	}
	seen := map[string]bool{}
	for _, x := range v {
		if items, ok := schema["items"].(map[string]any); ok {
			if err := conforms(root, items, x); err != nil {
				return err
			}
		}
		if schema["uniqueItems"] == true && seen[fmt.Sprint(x)] {
			return fmt.Errorf("%v is there twice", x)
		}
		seen[fmt.Sprint(x)] = true
	}
	return nil
}

func stringConforms(schema map[string]any, v string) error {
	n := utf8.RuneCountInString(v)
	if low, ok := schema["minLength"].(float64); ok && n < int(low) {
		return fmt.Errorf("%q is too short", v)
	}
	if high, ok := schema["maxLength"].(float64); ok && n > int(high) {
		return fmt.Errorf("%q is too long", v)
	}
	if p, ok := schema["pattern"].(string); ok && !regexp.MustCompile(p).MatchString(v) {
		return fmt.Errorf("%q does not match %s", v, p)
	}
	formats := map[string]string{
		"date": `^\d{4}-\d\d-\d\d$`, "date-time": `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`, "email": `^\S+@\S+$`, "uri": `^https://`,
		"uuid": `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$`, "ipv4": `^\d+\.\d+\.\d+\.\d+$`,
	}
	if f, ok := schema["format"].(string); ok && !regexp.MustCompile(formats[f]).MatchString(v) {
		return fmt.Errorf("%q is no %s", v, f)
	}
	return nil
}

func numberConforms(schema map[string]any, v float64) error {
	low, hasLow := schema["minimum"].(float64)
	high, hasHigh := schema["maximum"].(float64)
	above, hasAbove := schema["exclusiveMinimum"].(float64)
	below, hasBelow := schema["exclusiveMaximum"].(float64)
	if hasLow && v < low || hasHigh && v > high || hasAbove && v <= above || hasBelow && v >= below {
		return fmt.Errorf("%v is out of bounds", v)
	}
	if m, ok := schema["multipleOf"].(float64); ok && math.Abs(v/m-math.Round(v/m)) > 1e-9 {
		return fmt.Errorf("%v is no multiple of %v", v, m)
	}
	return nil
}

func checkSchema(t *testing.T, schema, value string) {
	t.Helper()
	var s map[string]any
	var v any
	if err := json.Unmarshal([]byte(schema), &s); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(value), &v); err != nil {
		t.Fatalf("%v: %s", err, value)
	}
	if err := conforms(s, s, v); err != nil {
		t.Errorf("%v\nvalue  %s\nschema %s", err, value, schema)
	}
}

var schemas = map[string]string{
	"flat":      `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":1,"maximum":7}},"required":["city","days"],"additionalProperties":false}`,
	"nested":    `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"object","properties":{"c":{"type":"object","properties":{"d":{"type":"boolean"}},"required":["d"]}},"required":["c"]}},"required":["b"]}},"required":["a"]}`,
	"enum":      `{"type":"object","properties":{"unit":{"enum":["c","f"]},"level":{"type":"integer","enum":[1,5,9]},"kind":{"const":"x"}},"required":["unit","level","kind"]}`,
	"arrays":    `{"type":"object","properties":{"tags":{"type":"array","items":{"type":"string","maxLength":4},"minItems":3,"maxItems":5},"grid":{"type":"array","items":{"type":"array","items":{"type":"number"}}},"none":{"type":"array","maxItems":0}},"required":["tags","grid","none"]}`,
	"numbers":   `{"type":"object","properties":{"p":{"type":"number","minimum":0,"maximum":1},"q":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":0.001},"r":{"type":"integer","exclusiveMinimum":5,"exclusiveMaximum":7},"m":{"type":"integer","multipleOf":15,"minimum":100,"maximum":120},"n":{"type":"integer","maximum":-5},"f":{"type":"number","multipleOf":0.25,"minimum":1}},"required":["p","q","r","m","n","f"]}`,
	"strings":   `{"type":"object","properties":{"long":{"type":"string","minLength":200},"short":{"type":"string","maxLength":3},"none":{"type":"string","maxLength":0}},"required":["long","short","none"]}`,
	"formats":   `{"type":"object","properties":{"d":{"type":"string","format":"date"},"t":{"type":"string","format":"date-time"},"e":{"type":"string","format":"email"},"u":{"type":"string","format":"uri"},"g":{"type":"string","format":"uuid"},"i":{"type":"string","format":"ipv4"}}}`,
	"patterns":  `{"type":"object","properties":{"plate":{"type":"string","pattern":"^[A-Z]{2}-\\d{3}(x|yz)?$"},"hex":{"type":"string","pattern":"^#[0-9a-f]{6}$"},"phone":{"type":"string","pattern":"^\\+7\\d{10}$"},"not":{"type":"string","pattern":"^[^abc]+$"}},"required":["plate","hex","phone","not"]}`,
	"nullable":  `{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"type":["null","integer"]},"c":{"anyOf":[{"type":"null"},{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}]}},"required":["a","b","c"]}`,
	"choice":    `{"type":"object","properties":{"s":{"oneOf":[{"type":"object","properties":{"r":{"type":"number"}},"required":["r"]},{"type":"string"}]},"t":{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"integer"}},"required":["b"]}]}},"required":["s","t"]}`,
	"reference": `{"type":"object","properties":{"p":{"$ref":"#/$defs/person"}},"required":["p"],"$defs":{"person":{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0}},"required":["name","age"]}}}`,
	"recursive": `{"type":"object","properties":{"v":{"type":"integer"},"kids":{"type":"array","items":{"$ref":"#"}}},"required":["v","kids"],"additionalProperties":false}`,
	"linked":    `{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"next":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"}]}},"required":["next"]}}}`,
	"empty":     `{"type":"object","properties":{}}`,
	"unique":    `{"type":"object","properties":{"u":{"type":"array","uniqueItems":true,"minItems":3,"items":{"type":"integer","minimum":1,"maximum":4}}},"required":["u"]}`,
}

func TestArgumentsConform(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	for name, schema := range schemas {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "linked" {
				schema = `{"type":"object",` + schema[1:]
			}
			for i := range 20 {
				got := ask(t, s, request("tools", fmt.Sprintf("Weather in Paris, try %d", i), `"tools":[{"type":"function","function":{"name":"f","parameters":`+schema+`}}]`))
				calls := got.Choices[0].Message.ToolCalls
				if len(calls) != 1 || calls[0].Function.Name != "f" || calls[0].Type != "function" || calls[0].ID == "" || got.Choices[0].Finish != "tool_calls" || got.Choices[0].Message.Content != nil {
					t.Fatalf("%+v", got.Choices)
				}
				checkSchema(t, schema, calls[0].Function.Arguments)
			}
		})
	}
}

func TestJSONConforms(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	for name, schema := range schemas {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			more := `"response_format":{"type":"json_schema","json_schema":{"name":"x","strict":true,"schema":` + schema + `}}`
			for i := range 20 {
				prompt := fmt.Sprintf("Try %d", i)
				got := ask(t, s, request("json", prompt, more))
				checkSchema(t, schema, got.text())
				stream := askStream(t, s, request("json", prompt, more+`,"stream":true`))
				if *stream.Choices[0].Message.Content != got.text() {
					t.Fatal("the stream differs")
				}
			}
		})
	}
}

func TestFreeJSON(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	for _, c := range []struct{ model, more string }{{"json", ""}, {"chat", `"response_format":{"type":"json_object"}`}} {
		text := ask(t, s, request(c.model, "Some JSON please", c.more)).text()
		var v map[string]any
		if err := json.Unmarshal([]byte(text), &v); err != nil || len(v) == 0 {
			t.Errorf("%s: %q, %v", c.model, text, err)
		}
	}
}

const three = `{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}},` +
	`{"type":"function","function":{"name":"clock"}},{"type":"custom","custom":{"name":"verse"}}`

func TestToolChoice(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	for _, c := range []struct {
		name, model, prompt, more string
		want                      string
	}{
		{"auto", "tools", "hi", "", "weather clock verse"},
		{"auto of chat", "chat", "hi", "", "weather clock verse"},
		{"auto of echo", "echo", "hi", "", ""},
		{"not parallel", "tools", "hi", `"parallel_tool_calls":false`, "weather"},
		{"by prompt", "tools", "call clock now", "", "clock"},
		{"none", "tools", "hi", `"tool_choice":"none"`, ""},
		{"required of echo", "echo", "hi", `"tool_choice":"required"`, "weather clock verse"},
		{"named", "tools", "hi", `"tool_choice":{"type":"function","function":{"name":"clock"}}`, "clock"},
		{"named custom", "tools", "hi", `"tool_choice":{"type":"custom","custom":{"name":"verse"}}`, "verse"},
		{"allowed", "tools", "hi", `"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"clock"}}]}}`, "clock"},
		{"calls", "tools", "[[sim calls=2]] hi", "", "weather clock"},
		{"more calls than tools", "tools", "[[sim calls=5]] hi", "", "weather clock verse weather clock"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			more := `"tools":[` + three + `]`
			if c.more != "" {
				more += "," + c.more
			}
			whole := ask(t, s, request(c.model, c.prompt, more)).Choices[0]
			stream := askStream(t, s, request(c.model, c.prompt, more+`,"stream":true`)).Choices[0]
			var names []string
			ids := map[string]bool{}
			for i, call := range whole.Message.ToolCalls {
				names = append(names, call.Function.Name+call.Custom.Name)
				ids[call.ID] = true
				if got := stream.Message.ToolCalls[i]; got != call {
					t.Errorf("streamed %+v, whole %+v", got, call)
				}
			}
			if got := strings.Join(names, " "); got != c.want || len(ids) != len(names) {
				t.Errorf("called %q with %d ids, want %q", got, len(ids), c.want)
			}
			if finish := whole.Finish; (finish == "tool_calls") != (c.want != "") || stream.Finish != finish {
				t.Errorf("finish %q and %q", finish, stream.Finish)
			}
		})
	}
}

func TestToolResults(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	body := `{"model":"tools","tools":[` + three + `]%s,"messages":[{"role":"user","content":"Weather?"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"weather","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"clock","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"b","content":[{"type":"text","text":"noon"}]},{"role":"tool","tool_call_id":"a","content":"sunny, 21"}]}`
	got := ask(t, s, fmt.Sprintf(body, ""))
	if text := got.text(); !strings.Contains(text, "weather: sunny, 21") || !strings.Contains(text, "clock: noon") || got.Choices[0].Finish != "stop" {
		t.Errorf("%q", text)
	}
	again := ask(t, s, fmt.Sprintf(body, `,"tool_choice":"required"`))
	if len(again.Choices[0].Message.ToolCalls) == 0 {
		t.Error("no call although one is required")
	}
}

func TestStrictness(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	user := `{"role":"user","content":"hi"}`
	messages := func(m string) string { return `{"model":"chat","messages":[` + m + `]}` }
	with := func(more string) string { return request("chat", "hi", more) }
	called := `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	tool := `"tools":[{"type":"function","function":{"name":"f"}}]`
	for _, c := range []struct {
		name, body string
		status     int
		param      string // "" any
	}{
		{"empty body", ``, 400, ""},
		{"trailing data", with("") + "x", 400, ""},
		{"not an object", `[]`, 400, ""},
		{"duplicate member", `{"model":"chat","model":"echo","messages":[` + user + `]}`, 400, "model"},
		{"duplicate by escape", `{"model":"chat","mod\u0065l":"echo","messages":[` + user + `]}`, 400, "model"},
		{"duplicate inside", messages(`{"role":"user","role":"user","content":"hi"}`), 400, "role"},
		{"invalid UTF-8", messages("{\"role\":\"user\",\"content\":\"\xff\"}"), 400, ""},
		{"half a surrogate pair", messages(`{"role":"user","content":"\ud800"}`), 400, ""},
		{"too deep", with(`"x":` + strings.Repeat("[", 300) + strings.Repeat("]", 300)), 400, ""},
		{"no model", `{"messages":[` + user + `]}`, 400, "model"},
		{"model of wrong type", `{"model":1,"messages":[` + user + `]}`, 400, "model"},
		{"unknown model", request("gpt-99", "hi", ""), 404, "model"},
		{"model with vendor", request("sim/chat", "hi", ""), 404, "model"},
		{"unknown fault", request("fault-u99", "hi", ""), 400, "model"},
		{"unknown setting", request("chat@speed=1", "hi", ""), 400, "model"},
		{"unknown setting in a marker", request("chat", "[[sim speed=1]]", ""), 400, ""},
		{"bad value in a marker", request("chat", "[[sim gap=-1s]]", ""), 400, ""},
		{"open marker", request("chat", "[[sim gap=1s", ""), 400, ""},
		{"variant of another fault", request("chat", "[[sim fault=u7 how=crlf]]", ""), 400, ""},
		{"status of another fault", request("chat", "[[sim fault=u9 status=500]]", ""), 400, ""},
		{"no messages", `{"model":"chat"}`, 400, "messages"},
		{"empty messages", messages(``), 400, "messages"},
		{"messages of wrong type", `{"model":"chat","messages":"hi"}`, 400, "messages"},
		{"bad role", messages(`{"role":"robot","content":"hi"}`), 400, "messages[0].role"},
		{"function role", messages(`{"role":"function","name":"f","content":"hi"}`), 400, "messages[0].role"},
		{"no role", messages(`{"content":"hi"}`), 400, "messages[0].role"},
		{"null content", messages(`{"role":"user","content":null}`), 400, "messages[0].content"},
		{"number as content", messages(`{"role":"user","content":1}`), 400, "messages[0].content"},
		{"unknown part", messages(`{"role":"user","content":[{"type":"smell"}]}`), 400, "messages[0].content[0].type"},
		{"image from the system", messages(`{"role":"system","content":[{"type":"image_url","image_url":{"url":"https://x/"}}]}`), 400, "messages[0].content[0].type"},
		{"image as text", messages(`{"role":"user","content":[{"type":"image_url","image_url":"https://x/"}]}`), 400, "messages[0].content[0].image_url"},
		{"image at a bad URL", messages(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}]}`), 400, "messages[0].content[0].image_url.url"},
		{"image with bad base64", messages(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,%%"}}]}`), 400, "messages[0].content[0].image_url.url"},
		{"audio format", messages(`{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AAAA","format":"vinyl"}}]}`), 400, "messages[0].content[0].input_audio.format"},
		{"orphan tool message", messages(user + `,{"role":"tool","tool_call_id":"a","content":"x"}`), 400, "messages[1].role"},
		{"tool message for another call", messages(user + `,` + called + `,{"role":"tool","tool_call_id":"b","content":"x"}`), 400, "messages[2].role"},
		{"unanswered call", messages(user + `,` + called + `,` + user), 400, "messages[2]"},
		{"unanswered call at the end", messages(user + `,` + called), 400, "messages"},
		{"no tool_call_id", messages(user + `,` + called + `,{"role":"tool","content":"x"}`), 400, "messages[2].tool_call_id"},
		{"arguments as an object", messages(user + `,{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":{}}}]}`), 400, "messages[1].tool_calls[0].function.arguments"},
		{"calls of the user", messages(`{"role":"user","content":"x","tool_calls":[]}`), 400, "messages[0].tool_calls"},
		{"models", with(`"models":["a"]`), 400, ""},
		{"provider", with(`"provider":{}`), 400, ""},
		{"plugins", with(`"plugins":[]`), 400, ""},
		{"session_id", with(`"session_id":"a"`), 400, ""},
		{"transforms", with(`"transforms":[]`), 400, ""},
		{"route", with(`"route":"fallback"`), 400, ""},
		{"usage", with(`"usage":{"include":true}`), 400, ""},
		{"stream as text", with(`"stream":"true"`), 400, "stream"},
		{"stream_options without stream", with(`"stream_options":{"include_usage":true}`), 400, "stream_options"},
		{"temperature as text", with(`"temperature":"1"`), 400, "temperature"},
		{"temperature too high", with(`"temperature":2.1`), 400, "temperature"},
		{"max_tokens zero", with(`"max_tokens":0`), 400, "max_tokens"},
		{"max_tokens with a fraction", with(`"max_tokens":1.5`), 400, "max_tokens"},
		{"both caps", with(`"max_tokens":5,"max_completion_tokens":5`), 400, "max_tokens"},
		{"n", with(`"n":129`), 400, "n"},
		{"five stops", with(`"stop":["a","b","c","d","e"]`), 400, "stop"},
		{"stop of numbers", with(`"stop":[1]`), 400, "stop[0]"},
		{"logit_bias", with(`"logit_bias":{"5":101}`), 400, "logit_bias.5"},
		{"top_logprobs alone", with(`"top_logprobs":2`), 400, "top_logprobs"},
		{"seed", with(`"seed":1.0`), 400, "seed"},
		{"effort", with(`"reasoning_effort":"huge"`), 400, "reasoning_effort"},
		{"metadata", with(`"metadata":{"a":1}`), 400, "metadata.a"},
		{"modalities", with(`"modalities":["smell"]`), 400, "modalities[0]"},
		{"audio without its settings", with(`"modalities":["text","audio"]`), 400, "audio"},
		{"streamed wav", with(`"modalities":["audio"],"audio":{"voice":"a","format":"wav"},"stream":true`), 400, "audio.format"},
		{"tool without a name", with(`"tools":[{"type":"function","function":{}}]`), 400, "tools[0].function.name"},
		{"tool with a bad name", with(`"tools":[{"type":"function","function":{"name":"a b"}}]`), 400, "tools[0].function.name"},
		{"tool with a schema of no object", with(`"tools":[{"type":"function","function":{"name":"a","parameters":{"type":"string"}}}]`), 400, "tools[0].function.parameters"},
		{"no tools", with(`"tools":[]`), 400, "tools"},
		{"tool_choice without tools", with(`"tool_choice":"auto"`), 400, "tool_choice"},
		{"tool_choice of another tool", with(tool + `,"tool_choice":{"type":"function","function":{"name":"g"}}`), 400, "tool_choice"},
		{"tool_choice", with(tool + `,"tool_choice":"any"`), 400, "tool_choice"},
		{"functions", with(`"functions":[{"name":"f"}]`), 400, "functions"},
		{"schema without name", with(`"response_format":{"type":"json_schema","json_schema":{"schema":{}}}`), 400, "response_format.json_schema.name"},
		{"schema missing", with(`"response_format":{"type":"json_schema","json_schema":{"name":"a"}}`), 400, "response_format.json_schema.schema"},
		{"json_object without the word", with(`"response_format":{"type":"json_object"}`), 400, "messages"},
		{"grammar", with(`"response_format":{"type":"grammar","grammar":"x"}`), 400, "response_format.type"},
		{"too long a prompt", request("chat", strings.Repeat("a ", 130_000), ""), 400, "messages"},

		{"unknown members", with(`"x":1,"top_k":5,"min_p":0.1,"chat_template_kwargs":{"a":[null]}`), 200, ""},
		{"nulls", with(`"temperature":null,"tools":null,"stop":null,"stream":null,"response_format":null,"max_tokens":null`), 200, ""},
		{"developer", messages(`{"role":"developer","content":"x"},` + user), 200, ""},
		{"answered call", messages(user + `,` + called + `,{"role":"tool","tool_call_id":"a","content":"x"},` + user), 200, ""},
		{"reasoning on a message", messages(user + `,{"role":"assistant","content":"x","reasoning_content":"y"},` + user), 200, ""},
		{"escapes", messages(`{"role":"user","content":"\u0000\ud83c\udf0a\"\\\/"}`), 200, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := call(s, c.body)
			if w.Code != c.status {
				t.Fatalf("%d %s; want %d", w.Code, w.Body, c.status)
			}
			if c.status == 200 {
				return
			}
			var e struct {
				Error map[string]any `json:"error"`
			}
			if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.Error["message"] == "" || e.Error["type"] != "invalid_request_error" {
				t.Errorf("%v: %s", err, w.Body)
			}
			for _, name := range []string{"message", "type", "param", "code"} {
				if _, ok := e.Error[name]; !ok {
					t.Errorf("no %s: %s", name, w.Body)
				}
			}
			if c.param != "" && e.Error["param"] != c.param {
				t.Errorf("param %v, want %s: %s", e.Error["param"], c.param, w.Body)
			}
		})
	}
}

// A script is obeyed call by call, and ends with text.
func TestScriptedCalls(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	const tools = `"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"g"}}]`
	called := func(name, arguments string) string {
		return `,{"role":"assistant","tool_calls":[{"id":"` + name + `","type":"function","function":{"name":"` + name + `","arguments":` + strconv.Quote(arguments) + `}}]},{"role":"tool","tool_call_id":"` + name + `","content":"done"}`
	}
	for _, tc := range []struct{ history, name, arguments string }{
		{"", "g", `{"a":1}`}, {called("g", `{"a":1}`), "f", "{}"}, {called("g", `{"a":1}`) + called("f", "{}"), "", ""},
	} {
		w := call(s, `{"model":"chat",`+tools+`,"messages":[{"role":"user","content":"[[sim call=g,eyJhIjoxfQ call=f]] do it"}`+tc.history+`]}`)
		var got struct {
			Choices []struct {
				Message struct {
					Content   *string
					ToolCalls []struct {
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
			}
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
		m := got.Choices[0].Message
		switch {
		case tc.name == "":
			if len(m.ToolCalls) != 0 || m.Content == nil || *m.Content == "" {
				t.Errorf("no text at the end: %s", w.Body)
			}
		case len(m.ToolCalls) != 1 || m.ToolCalls[0].Function.Name != tc.name || m.ToolCalls[0].Function.Arguments != tc.arguments:
			t.Errorf("want %s: %s", tc.name, w.Body)
		}
	}
	if w := call(s, `{"model":"chat",`+tools+`,"messages":[{"role":"user","content":"[[sim call=,x]] a"}]}`); w.Code != 400 {
		t.Errorf("status %d of a call without a name", w.Code)
	}
}
