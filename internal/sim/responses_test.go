package sim_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/internal/sim"
)

func callResponses(s *sim.Server, body string) (int, []byte) {
	w := post(s, "POST", "/v1/responses", "", body)
	return w.Code, w.Body.Bytes()
}

func askResponses(t testing.TB, s *sim.Server, body string) tree {
	t.Helper()
	code, got := callResponses(s, body)
	if code != 200 {
		t.Fatalf("%d %s", code, got)
	}
	return readTree(t, got)
}

func responsesBody(model, prompt, more string) string {
	text, _ := json.Marshal(prompt)
	if more != "" {
		more = "," + more
	}
	return fmt.Sprintf(`{"model":%q,"input":%s%s}`, model, text, more)
}

const flatTools = `"tools":[
	{"type":"function","name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false},"strict":true},
	{"type":"custom","name":"verse"}]`

// follow puts a stream together as openai-node does, as strictly about order, numbers and ids.
func follow(t testing.TB, body string) (final tree, names []string) {
	t.Helper()
	var output []any
	var open tree
	parts := func() []any { list, _ := open["content"].([]any); return list }
	for i, e := range readEvents(t, body) {
		names = append(names, e.name)
		if e.name != textAt(e.data, "type") || numberAt(e.data, "sequence_number") != float64(i) {
			t.Fatalf("event %d is %s: %v", i, e.name, e.data)
		}
		if (e.name == "response.created") != (i == 0) || final != nil {
			t.Fatalf("event %d is %s", i, e.name)
		}
		if id := textAt(e.data, "item_id"); e.data["item_id"] != nil && (open == nil || id != textAt(open, "id") || id == "" || numberAt(e.data, "output_index") != float64(len(output)-1)) {
			t.Fatalf("event %d is about %q", i, id)
		}
		delta := textAt(e.data, "delta")
		switch e.name {
		case "response.created", "response.in_progress":
			if textAt(e.data, "response.status") != "in_progress" || len(at(e.data, "response.output").([]any)) != 0 {
				t.Fatalf("%v", e.data)
			}
		case "response.output_item.added":
			if open != nil || numberAt(e.data, "output_index") != float64(len(output)) {
				t.Fatalf("event %d opens an item", i)
			}
			open = e.data["item"].(tree)
			output = append(output, open)
		case "response.output_item.done":
			same(t, "id", textAt(e.data, "item.id"), textAt(open, "id"))
			for _, name := range []string{"arguments", "input"} {
				if open[name] != nil {
					same(t, name, open[name], at(e.data, "item."+name))
				}
			}
			if said := textAt(open, "content.0.text"); said != textAt(e.data, "item.content.0.text") {
				t.Fatalf("deltas gave %q, the item %q", said, textAt(e.data, "item.content.0.text"))
			}
			output[len(output)-1], open = e.data["item"], nil
		case "response.content_part.added":
			open["content"] = append(parts(), e.data["part"])
		case "response.output_text.delta":
			part := parts()[0].(tree)
			part["text"] = part["text"].(string) + delta
		case "response.refusal.delta":
			part := parts()[0].(tree)
			part["refusal"] = part["refusal"].(string) + delta
		case "response.function_call_arguments.delta":
			open["arguments"] = open["arguments"].(string) + delta
		case "response.custom_tool_call_input.delta":
			open["input"] = open["input"].(string) + delta
		case "response.completed", "response.incomplete":
			final = e.data["response"].(tree)
		}
	}
	same(t, "output", any(output), final["output"])
	return final, names
}

func TestResponsesStreamEqualsWhole(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"text":      responsesBody("chat", "Tell me, о река", ""),
		"logprobs":  responsesBody("chat", "Tell me", `"include":["message.output_text.logprobs"],"top_logprobs":2`),
		"tools":     responsesBody("chat", "weather and verse", flatTools),
		"reasoning": responsesBody("reason", "Think", `"reasoning":{"effort":"low","summary":"auto"},"include":["reasoning.encrypted_content"],"store":false`),
		"silent":    responsesBody("reason", "weather", flatTools),
		"schema":    responsesBody("chat", "a person", `"text":{"format":{"type":"json_schema","name":"person","strict":true,"schema":{"type":"object","properties":{"age":{"type":"integer"}},"required":["age"],"additionalProperties":false}}}`),
		"cut":       responsesBody("chat", "[[sim tokens=40]] Hello", `"max_output_tokens":16`),
		"filtered":  responsesBody("chat", "[[sim finish=content_filter]] Hello", ""),
		"refusal":   responsesBody("chat", "[[sim finish=refusal]] no", ""),
		"search":    responsesBody("chat", "news?", `"tools":[{"type":"web_search"}]`),
		"image":     responsesBody("chat", "draw", `"tools":[{"type":"image_generation"}]`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fixed()
			whole := askResponses(t, s, body)
			_, got := callResponses(s, strings.TrimSuffix(body, "}")+`,"stream":true}`)
			final, _ := follow(t, string(got))
			same(t, "response", final, whole)
		})
	}
}

func TestResponsesState(t *testing.T) {
	t.Parallel()
	s := fixed()
	first := askResponses(t, s, responsesBody("chat", "weather and verse", flatTools))
	id := textAt(first, "id")
	var results []any
	for _, it := range first["output"].([]any) {
		if call := textAt(it, "call_id"); call != "" {
			kind := textAt(it, "type") + "_output"
			results = append(results, tree{"type": kind, "call_id": call, "output": []any{
				tree{"type": "input_text", "text": "it is fine"}, tree{"type": "input_image", "image_url": "data:image/png;base64," + png8},
			}})
		}
	}
	input, _ := json.Marshal(results)
	second := askResponses(t, s, fmt.Sprintf(`{"model":"chat","previous_response_id":%q,"input":%s}`, id, input))
	if said := textAt(second, "output.0.content.0.text"); !strings.Contains(said, "weather: it is fine; verse: it is fine") || !strings.Contains(said, "png 8x8") {
		t.Errorf("%q", said)
	}
	third := askResponses(t, s, fmt.Sprintf(`{"model":"echo","previous_response_id":%q,"input":"again"}`, textAt(second, "id")))
	if textAt(third, "output.0.content.0.text") != "again" || numberAt(third, "usage.input_tokens") <= numberAt(second, "usage.input_tokens") {
		t.Errorf("%v", third)
	}
	get := func(method, path string) (int, tree) {
		w := post(s, method, path, "", "")
		return w.Code, readTree(t, w.Body.Bytes())
	}
	_, stored := get("GET", "/v1/responses/"+id)
	same(t, "stored", stored, first)
	_, items := get("GET", "/v1/responses/"+textAt(second, "id")+"/input_items?limit=1&order=asc")
	if len(items["data"].([]any)) != 1 || items["has_more"] != true || textAt(items, "data.0.type") != "function_call_output" || textAt(items, "last_id") == "" {
		t.Errorf("%v", items)
	}
	_, rest := get("GET", "/v1/responses/"+textAt(second, "id")+"/input_items?order=asc&after="+textAt(items, "last_id"))
	if textAt(rest, "data.0.type") != "custom_tool_call_output" || rest["has_more"] != false {
		t.Errorf("%v", rest)
	}
	reference := askResponses(t, s, fmt.Sprintf(`{"model":"echo","input":[{"type":"item_reference","id":%q},{"role":"user","content":"on"}]}`, textAt(second, "output.0.id")))
	if textAt(reference, "output.0.content.0.text") != "on" {
		t.Errorf("%v", reference)
	}
	if code, gone := get("DELETE", "/v1/responses/"+id); code != 200 || gone["deleted"] != true {
		t.Errorf("%d %v", code, gone)
	}
	if code, _ := get("GET", "/v1/responses/"+id); code != 404 {
		t.Errorf("a deleted response: %d", code)
	}
	unstored := askResponses(t, s, responsesBody("chat", "x", `"store":false`))
	if code, _ := get("GET", "/v1/responses/"+textAt(unstored, "id")); code != 404 {
		t.Errorf("a response that was not to be stored: %d", code)
	}
	count := post(s, "POST", "/v1/responses/input_tokens", "", responsesBody("chat", "Hello world", ""))
	if count.Body.String() != `{"object":"response.input_tokens","input_tokens":9}` {
		t.Errorf("%s", count.Body)
	}
}

func TestResponsesBackground(t *testing.T) {
	t.Parallel()
	now := time.Unix(1767225600, 0)
	s := sim.New(sim.Config{Now: func() time.Time { return now }})
	begin := func(prompt string) string {
		got := askResponses(t, s, responsesBody("chat", prompt, `"background":true`))
		if textAt(got, "status") != "queued" || len(got["output"].([]any)) != 0 {
			t.Fatalf("%v", got)
		}
		return "/v1/responses/" + textAt(got, "id")
	}
	status := func(method, path string) string {
		return textAt(readTree(t, post(s, method, path, "", "").Body.Bytes()), "status")
	}
	one, two := begin("[[sim delay=1m]] one"), begin("[[sim delay=1m]] two")
	if got := status("GET", one); got != "in_progress" {
		t.Errorf("at once: %s", got)
	}
	for range 2 {
		if got := status("POST", two+"/cancel"); got != "cancelled" {
			t.Errorf("cancel: %s", got)
		}
	}
	now = now.Add(time.Minute)
	if got := status("GET", one); got != "completed" {
		t.Errorf("later: %s", got)
	}
	if got := status("GET", two); got != "cancelled" {
		t.Errorf("cancelled: %s", got)
	}
	plain := textAt(askResponses(t, s, responsesBody("chat", "x", "")), "id")
	if w := post(s, "POST", "/v1/responses/"+plain+"/cancel", "", ""); w.Code != 400 {
		t.Errorf("cancel of a synchronous one: %d", w.Code)
	}
}

func TestResponsesEncrypted(t *testing.T) {
	t.Parallel()
	s := fixed()
	const sealed = `"include":["reasoning.encrypted_content"],"store":false`
	first := askResponses(t, s, responsesBody("reason", "Think", sealed))
	other := askResponses(t, s, responsesBody("reason", "Think of something else", sealed))
	loop := func(model string, change func(thought tree)) (int, []byte) {
		output := askResponses(t, s, responsesBody("reason", "Think", sealed))["output"].([]any)
		change(output[0].(tree))
		items, _ := json.Marshal(append([]any{tree{"role": "user", "content": "Think"}}, append(output, tree{"role": "user", "content": "go on"})...))
		return callResponses(s, fmt.Sprintf(`{"model":%q,"store":false,"input":%s}`, model, items))
	}
	if code, got := loop("reason", func(tree) {}); code != 200 {
		t.Errorf("%d %s", code, got)
	}
	if code, got := loop("reason", func(x tree) { delete(x, "id") }); code != 200 {
		t.Errorf("without id: %d %s", code, got)
	}
	packed := textAt(first, "output.0.encrypted_content")
	for name, c := range map[string]struct {
		model  string
		change func(thought tree)
		want   string
	}{
		"altered":     {"reason", func(x tree) { x["encrypted_content"] = "B" + packed[1:] }, "could not be decrypted or parsed"},
		"moved":       {"reason", func(x tree) { x["encrypted_content"] = textAt(other, "output.0.encrypted_content") }, "item_id did not match the target item id"},
		"other model": {"chat", func(tree) {}, "could not be decrypted or parsed"},
		"other wire": {"reason", func(x tree) {
			x["encrypted_content"] = textAt(askMessages(t, s, messagesBody("reason", "x", thinks)), "content.0.signature")
		}, "could not be decrypted or parsed"},
	} {
		code, got := loop(c.model, c.change)
		body := readTree(t, got)
		if code != 400 || textAt(body, "error.code") != "invalid_encrypted_content" || !strings.Contains(textAt(body, "error.message"), c.want) {
			t.Errorf("%s: %d %s", name, code, got)
		}
	}
	code, got := loop("reason", func(x tree) { delete(x, "encrypted_content") })
	if code != 404 || !strings.Contains(string(got), "Items are not persisted when `store` is set to false") {
		t.Errorf("not stored: %d %s", code, got)
	}
}

func TestResponsesRefuses(t *testing.T) {
	t.Parallel()
	s := fixed()
	items := func(s string) string { return `{"model":"chat","input":[` + s + `]}` }
	stored := askResponses(t, s, responsesBody("reason", "weather", flatTools))
	call, _ := json.Marshal(stored["output"].([]any)[1])
	thought, _ := json.Marshal(stored["output"].([]any)[0])
	for _, c := range []struct {
		name, body  string
		status      int
		code, param string
		want        string
	}{
		{"no JSON", `{`, 400, "", "", "could not parse"},
		{"no object", `[]`, 400, "invalid_type", "", "expected an object"},
		{"no model", `{"input":"a"}`, 400, "missing_required_parameter", "model", "model parameter"},
		{"no input", `{"model":"chat"}`, 400, "missing_required_parameter", "input", "'input'"},
		{"unknown model", responsesBody("gpt", "a", ""), 404, "model_not_found", "model", "does not exist"},
		{"unknown", responsesBody("chat", "a", `"messages":[]`), 400, "unknown_parameter", "messages", "Unknown parameter: 'messages'."},
		{"max_tokens", responsesBody("chat", "a", `"max_tokens":100`), 400, "unknown_parameter", "max_tokens", "Unknown parameter"},
		{"few tokens", responsesBody("chat", "a", `"max_output_tokens":1`), 400, "integer_below_min_value", "max_output_tokens", "Expected a value >= 16"},
		{"nested tool", responsesBody("chat", "a", `"tools":[{"type":"function","function":{"name":"x"}}]`), 400, "missing_required_parameter", "tools[0].name", "'tools[0].name'"},
		{"odd tool", responsesBody("chat", "a", `"tools":[{"type":"retrieval"}]`), 400, "invalid_value", "tools[0]", "Invalid value: 'retrieval'"},
		{"strict tool", responsesBody("chat", "a", `"tools":[{"type":"function","name":"x","strict":true,"parameters":{"type":"object","properties":{"a":{"type":"string"}},"required":[],"additionalProperties":false}}]`), 400, "invalid_json_schema", "tools[0].parameters", "Missing 'a'"},
		{"open schema", responsesBody("chat", "a", `"text":{"format":{"type":"json_schema","name":"x","strict":true,"schema":{"type":"object","properties":{}}}}`), 400, "invalid_json_schema", "text.format.schema", "'additionalProperties' is required"},
		{"format without name", responsesBody("chat", "a", `"text":{"format":{"type":"json_schema","schema":{}}}`), 400, "missing_required_parameter", "text.format.name", "'text.format.name'"},
		{"response_format", responsesBody("chat", "a", `"response_format":{"type":"json_object"}`), 400, "unknown_parameter", "response_format", "Unknown"},
		{"no word", responsesBody("chat", "a", `"text":{"format":{"type":"json_object"}}`), 400, "", "input", "must contain the word 'json'"},
		{"include", responsesBody("chat", "a", `"include":["everything"]`), 400, "invalid_value", "include[0]", "Invalid value: 'everything'. Supported values are: 'file_search_call.results'"},
		{"chat part", items(`{"role":"user","content":[{"type":"text","text":"a"}]}`), 400, "invalid_value", "input[0].content[0]", "Invalid value: 'text'. Supported values are: 'input_text'"},
		{"input by the model", items(`{"role":"assistant","content":[{"type":"input_text","text":"a"}]}`), 400, "invalid_value", "input[0].content[0]", "Supported values are: 'output_text', 'refusal'"},
		{"image object", items(`{"role":"user","content":[{"type":"input_image","image_url":{"url":"x"}}]}`), 400, "invalid_type", "input[0].content[0].image_url", "expected a string"},
		{"tool role", items(`{"role":"tool","content":"a"}`), 400, "invalid_value", "input[0].role", "'developer'"},
		{"unknown item", items(`{"type":"thing"}`), 400, "invalid_value", "input[0]", "Invalid value: 'thing'"},
		{"item id", items(`{"type":"function_call","id":"call_1","call_id":"c","name":"x","arguments":"{}"}`), 400, "invalid_value", "input[0].id", "Expected an ID that begins with 'fc'"},
		{"output without call", items(`{"type":"function_call_output","call_id":"c","output":"a"}`), 400, "", "input", "No tool call found for function call output with call_id c."},
		{"call without output", items(`{"role":"user","content":"a"},{"type":"function_call","call_id":"c","name":"x","arguments":"{}"}`), 400, "", "input", "No tool output found for function call c."},
		{"call without reasoning", items(string(call) + `,{"type":"function_call_output","call_id":"c","output":"a"}`), 400, "", "input[0]", "was provided without its required 'reasoning' item: 'rs_"},
		{"reasoning alone", items(string(thought)), 400, "", "input", "of type 'reasoning' was provided without its required following item."},
		{"reasoning before user", items(string(thought) + `,{"role":"user","content":"a"}`), 400, "", "input", "without its required following item."},
		{"previous", responsesBody("chat", "a", `"previous_response_id":"resp_none"`), 400, "previous_response_not_found", "previous_response_id", "Previous response with id 'resp_none' not found."},
		{"odd previous", responsesBody("chat", "a", `"previous_response_id":"x"`), 400, "invalid_value", "previous_response_id", "begins with 'resp'"},
		{"reference", items(`{"type":"item_reference","id":"msg_none"}`), 404, "", "input[0]", "Item with id 'msg_none' not found."},
		{"background", responsesBody("chat", "a", `"background":true,"store":false`), 400, "", "background", "requires `store`"},
		{"effort", responsesBody("chat", "a", `"reasoning":{"effort":"most"}`), 400, "invalid_value", "reasoning.effort", "'xhigh'"},
		{"choice", responsesBody("chat", "a", flatTools+`,"tool_choice":{"type":"function","name":"x"}`), 400, "", "tool_choice", "Tool choice 'x' not found"},
	} {
		status, got := callResponses(s, c.body)
		body := readTree(t, got)
		if status != c.status || textAt(body, "error.type") != "invalid_request_error" || textAt(body, "error.code") != c.code || textAt(body, "error.param") != c.param || !strings.Contains(textAt(body, "error.message"), c.want) {
			t.Errorf("%s: %d %s", c.name, status, got)
		}
	}
}

// What coding agents send must be taken.
func TestResponsesTakes(t *testing.T) {
	t.Parallel()
	got := askResponses(t, fixed(), `{"model":"chat","instructions":"be kind","store":false,"stream":false,"include":["reasoning.encrypted_content"],"client_metadata":{"a":"b"},"prompt_cache_key":"k",
		"tools":[{"type":"namespace","name":"files","description":"d","tools":[{"type":"function","name":"open","strict":false,"parameters":{"type":"object"}}]},{"type":"web_search"}],
		"tool_choice":"required","parallel_tool_calls":false,"reasoning":{"effort":"medium","summary":"auto"},
		"input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"rules"}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"open a file"}]}]}`)
	if textAt(got, "output.1.name") != "open" || textAt(got, "output.1.namespace") != "files" {
		t.Errorf("%v", got)
	}
}
