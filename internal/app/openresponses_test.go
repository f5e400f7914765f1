package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"weir/internal/app/apptest"
	"weir/internal/plugin/schema"
)

// openSchemas checks documents by the schemas of Open Responses (version 2026-04-24, Apache-2.0): testdata/openresponses/schemas.json has those of answers
// and events, without their texts and with anyOf for oneOf, as the public suite reads them.
type openSchemas struct {
	all  map[string]json.RawMessage
	used map[string]*schema.Schema
}

func newOpenSchemas(t *testing.T) *openSchemas {
	t.Helper()
	raw, err := os.ReadFile("testdata/openresponses/schemas.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	return &openSchemas{file.Defs, map[string]*schema.Schema{}}
}

// check fails the test for a document that the schema with a name refuses.
func (o *openSchemas) check(t *testing.T, name string, doc any) {
	t.Helper()
	s := o.used[name]
	if s == nil {
		whole, err := json.Marshal(map[string]any{"$defs": o.all, "$ref": "#/$defs/" + name})
		if err != nil {
			t.Fatal(err)
		}
		if s, err = schema.Compile(context.Background(), whole); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		o.used[name] = s
	}
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(context.Background(), text); err != nil {
		t.Errorf("%s: %v: %s", name, err, text)
	}
}

// event checks an event by the schema whose type it has. The socket's own members are no part of it.
func (o *openSchemas) event(t *testing.T, event apptest.Object) {
	t.Helper()
	kind, _ := event["type"].(string)
	if kind == "error" {
		return // of a socket: the suite reads error.code alone
	}
	for name, raw := range o.all {
		var s struct {
			Properties struct {
				Type struct {
					Enum []string `json:"enum"`
				} `json:"type"`
			} `json:"properties"`
		}
		if strings.HasSuffix(name, "StreamingEvent") && json.Unmarshal(raw, &s) == nil && len(s.Properties.Type.Enum) == 1 && s.Properties.Type.Enum[0] == kind {
			o.check(t, name, event)
			return
		}
	}
	t.Errorf("there is no event %q", kind)
}

// heart is the image of the suite: a red heart on white.
const heart = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAABmklEQVR42tyWAaTyUBzFew/eG4AHz+MBSAHKBiJRGFKwIgQQJKLUIioBIhCAiCAAEizAQIAECaASqFFJq84nudjnaqvuPnxzgP9xfrq5938csPn7PwHTKSoViCIEAYEAMhmoKsU2mUCWEQqB5xEMIp/HaGQG2G6RSuH9HQ7H34rFrtPbdz4jl6PbwmEsl3QA1mt4vcRKk8dz9eg6IpF7tt9fzGY0gCgafFRFo5Blc5vLhf3eCOj1yNhM5GRMVK0aATxPZoz09YXjkQDmczJgquGQAPp9WwCNBgG027YACgUC6HRsAZRKBDAY2AJoNv/ZnwzA6WScznG3p4UAymXGAEkyXrTFAh8fLAGqagQAyGaZpYsi7bHTNPz8MEj//LxuFPo+UBS8vb0KaLXubrRa7aX0RMLCykwmn0z3+XA4WACcTpCkh9MFAZpmuVXo+mO/w+/HZvNgbblcUCxaSo/Hyck80Yu6XXDcvfVZr79cvMZjuN2U9O9vKAqjZrfbIZ0mV4TUi9Xqz6jddNy//7+e3n8Fhf/Llo2kxi8AQyGRoDkmAhAAAAAASUVORK5CYII="

// TestOpenResponses is the public compliance suite of Open Responses (github.com/openresponses/openresponses, src/lib/compliance-tests.ts): its seventeen tests
// by their ids, with its requests, its schemas and what it looks at; and the eighteenth of its next version, websocket-generate-false. Each
// passes over each wire of providers.
func TestOpenResponses(t *testing.T) {
	t.Parallel()
	tk := startTalker(t)
	for _, on := range wiresOfTalkers {
		t.Run(on.provider, func(t *testing.T) {
			t.Parallel()
			openResponses(t, tk, on.provider)
		})
	}
}

func openResponses(t *testing.T, tk *talker, provider string) {
	t.Helper()
	schemas := newOpenSchemas(t)
	model, tools := provider+"/echo", provider+"/tools"
	user := func(text any) apptest.Object {
		return apptest.Object{"type": "message", "role": "user", "content": text}
	}
	has := func(t *testing.T, o apptest.Object, kind string) {
		t.Helper()
		output, _ := o["output"].([]any)
		for _, item := range output {
			if kind == "" || item.(apptest.Object)["type"] == kind {
				return
			}
		}
		t.Errorf("no output %q: %v", kind, o)
	}
	// completed is a response that the suite takes for one.
	completed := func(t *testing.T, o apptest.Object) apptest.Object {
		t.Helper()
		schemas.check(t, "ResponseResource", o)
		if o["status"] != "completed" {
			t.Errorf("status %v", o["status"])
		}
		return o
	}
	// whole asks over HTTP.
	whole := func(t *testing.T, a *apptest.Account, path string, body apptest.Object) (int, apptest.Object) {
		t.Helper()
		got := a.Do(t, http.MethodPost, path, body)
		return got.Status, apptest.ParseObject(t, got)
	}
	// turn asks through a socket, and returns the terminal response; nil with the code of an error.
	turn := func(t *testing.T, s *apptest.Socket, body apptest.Object) (o apptest.Object, code string) {
		t.Helper()
		s.Create(body)
		list := s.Until("")
		for _, e := range list {
			schemas.event(t, e)
		}
		last := list[len(list)-1]
		if e, _ := last["error"].(apptest.Object); last["type"] == "error" {
			code, _ = e["code"].(string)
			return nil, code
		}
		o, _ = last["response"].(apptest.Object)
		if e, _ := o["error"].(apptest.Object); e != nil {
			code, _ = e["code"].(string)
		}
		return o, code
	}
	forget := func(input any, previous any) apptest.Object {
		o := apptest.Object{"model": model, "store": false, "input": input}
		if previous != nil {
			o["previous_response_id"] = previous
		}
		return o
	}
	weatherTool := []any{apptest.Object{"type": "function", "name": "get_weather", "description": "Get the current weather for a location", "parameters": apptest.Object{"type": "object",
		"properties": apptest.Object{"location": apptest.Object{"type": "string", "description": "The city and state, e.g. San Francisco, CA"}}, "required": []any{"location"}}}}
	phased := []any{
		apptest.Object{"type": "message", "role": "assistant", "phase": "commentary", "content": "I should answer with the saved number."},
		apptest.Object{"type": "message", "role": "assistant", "phase": "final_answer", "content": "The number is four."}, user("Repeat only the number."),
	}
	simple := func(model string, input any, more apptest.Object, kind string) func(*testing.T, *apptest.Account) {
		return func(t *testing.T, a *apptest.Account) {
			body := apptest.Object{"model": model, "input": input}
			for name, v := range more {
				body[name] = v
			}
			status, o := whole(t, a, "/v1/responses", body)
			if status != 200 {
				t.Fatalf("%d %v", status, o)
			}
			has(t, completed(t, o), kind)
		}
	}
	for id, check := range map[string]func(*testing.T, *apptest.Account){
		"basic-response":  simple(model, []any{user("Say hello in exactly 3 words.")}, nil, ""),
		"assistant-phase": simple(model, phased, nil, ""),
		"response-output-phase-schema": func(t *testing.T, a *apptest.Account) { // the suite checks its own fixture here; ours is an answer with what it adds
			_, o := whole(t, a, "/v1/responses", apptest.Object{"model": model, "input": []any{user("Say hello.")}})
			for i, phase := range []string{"commentary", "final_answer"} {
				item := apptest.Object{"id": fmt.Sprint("msg_", i), "type": "message", "status": "completed", "role": "assistant", "phase": phase,
					"content": []any{apptest.Object{"type": "output_text", "text": "The answer is four.", "annotations": []any{}, "logprobs": []any{}}}}
				o["output"] = append(o["output"].([]any), item)
			}
			completed(t, o)
		},
		"streaming-response": func(t *testing.T, a *apptest.Account) {
			got := a.Do(t, http.MethodPost, "/v1/responses", apptest.Object{"model": model, "input": []any{user("Count from 1 to 5.")}, "stream": true})
			var last apptest.Object
			n := 0
			for _, line := range strings.Split(string(got.Body), "\n") {
				data, ok := strings.CutPrefix(line, "data: ")
				if !ok || data == "[DONE]" {
					continue
				}
				last = apptest.Object{}
				if err := json.Unmarshal([]byte(data), &last); err != nil {
					t.Fatalf("%s: %v", data, err)
				}
				schemas.event(t, last)
				n++
			}
			o, _ := last["response"].(apptest.Object)
			if n == 0 {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
			completed(t, o)
		},
		"system-prompt": simple(model, []any{apptest.Object{"type": "message", "role": "system", "content": "You are a pirate. Always respond in pirate speak."}, user("Say hello.")}, nil, ""),
		"tool-calling":  simple(tools, []any{user("What's the weather like in San Francisco?")}, apptest.Object{"tools": weatherTool}, "function_call"),
		"image-input": simple(model, []any{user([]any{apptest.Object{"type": "input_text", "text": "What do you see in this image? Answer in one sentence."},
			apptest.Object{"type": "input_image", "image_url": heart}})}, nil, ""),
		"multi-turn": simple(model, []any{user("My name is Alice."), apptest.Object{"type": "message", "role": "assistant", "content": "Hello Alice! Nice to meet you. How can I help you today?"}, user("What is my name?")}, nil, ""),
		"compact-response": func(t *testing.T, a *apptest.Account) {
			status, o := whole(t, a, "/v1/responses/compact", apptest.Object{"model": model, "prompt_cache_key": "openresponses-compact-test", "input": []any{
				user("We agreed to launch on Tuesday and notify support first."),
				apptest.Object{"type": "message", "role": "assistant", "content": "Understood. The launch is Tuesday, with support notified beforehand."}}})
			schemas.check(t, "CompactResource", o)
			if has(t, o, "compaction"); status != 200 || o["object"] != "response.compaction" {
				t.Errorf("%d %v", status, o)
			}
		},
		"compact-missing-model": func(t *testing.T, a *apptest.Account) {
			if status, o := whole(t, a, "/v1/responses/compact", apptest.Object{"input": []any{user("Compact this conversation.")}}); status != 400 && status != 422 {
				t.Errorf("%d %v", status, o)
			}
		},
		"websocket-response": func(t *testing.T, a *apptest.Account) {
			o, _ := turn(t, a.Socket(t), apptest.Object{"model": model, "input": []any{user("Count from 1 to 3.")}})
			completed(t, o)
		},
		"websocket-sequential-responses": func(t *testing.T, a *apptest.Account) {
			s := a.Socket(t)
			for _, word := range []string{"first", "second"} {
				o, _ := turn(t, s, forget("Reply with exactly: "+word, nil))
				completed(t, o)
			}
		},
		"websocket-continuation": func(t *testing.T, a *apptest.Account) {
			s := a.Socket(t)
			first, _ := turn(t, s, forget("Remember the code word: cobalt. Reply with OK.", nil))
			o, _ := turn(t, s, forget("What is the code word? Reply with only the code word.", completed(t, first)["id"]))
			completed(t, o)
		},
		"websocket-reconnect-store-false-recovery": func(t *testing.T, a *apptest.Account) {
			first, _ := turn(t, a.Socket(t), forget("Remember the code word: copper. Reply with OK.", nil))
			s := a.Socket(t)
			if _, code := turn(t, s, forget("Try to continue after reconnect. Reply with exactly: reconnected", completed(t, first)["id"])); code != "previous_response_not_found" {
				t.Errorf("code %q", code)
			}
			o, _ := turn(t, s, forget([]any{user("The previous store:false chain could not continue after reconnect. Start a new response and reply with exactly: recovered")}, nil))
			completed(t, o)
		},
		"websocket-previous-response-not-found": func(t *testing.T, a *apptest.Account) {
			if _, code := turn(t, a.Socket(t), forget("This should fail because the previous response is missing.", "resp_openresponses_missing_1")); code != "previous_response_not_found" {
				t.Errorf("code %q", code)
			}
		},
		"websocket-failed-continuation-evicts-cache": func(t *testing.T, a *apptest.Account) {
			s := a.Socket(t)
			first, _ := turn(t, s, forget("Remember the code word: ember. Reply with OK.", nil))
			orphan := []any{apptest.Object{"type": "function_call_output", "call_id": "call_openresponses_missing", "output": "No matching tool call exists in the previous response."}}
			if o, code := turn(t, s, forget(orphan, completed(t, first)["id"])); code == "" && o["status"] != "failed" {
				t.Errorf("it did not fail: %v", o)
			}
			if _, code := turn(t, s, forget("Try to continue after the failed turn. Reply with exactly: stale", first["id"])); code != "previous_response_not_found" {
				t.Errorf("code %q", code)
			}
		},
		"websocket-compact-new-chain": func(t *testing.T, a *apptest.Account) {
			part := func(kind, text string) []any { return []any{apptest.Object{"type": kind, "text": text}} }
			status, window := whole(t, a, "/v1/responses/compact", apptest.Object{"model": model, "input": []any{
				user(part("input_text", "Remember the compaction code word: slate.")),
				apptest.Object{"type": "message", "role": "assistant", "content": part("output_text", "OK.")},
				user(part("input_text", "Compress this conversation for later continuation."))}})
			output, _ := window["output"].([]any)
			if status != 200 || len(output) == 0 {
				t.Fatalf("%d %v", status, window)
			}
			o, _ := turn(t, a.Socket(t), apptest.Object{"model": model, "store": false, "tools": []any{}, "input": append(output, user("Continue from here. Reply with exactly: compacted"))})
			completed(t, o)
		},
		"websocket-generate-false": func(t *testing.T, a *apptest.Account) {
			s := a.Socket(t)
			body := forget("Remember the code word: amber.", nil)
			body["generate"] = false
			warm, _ := turn(t, s, body)
			o, _ := turn(t, s, forget("What is the code word?", completed(t, warm)["id"]))
			completed(t, o)
		},
	} {
		t.Run(id, func(t *testing.T) { check(t, tk.NewAccount(t)) }) // one after the other: they share the schemas
	}
}
