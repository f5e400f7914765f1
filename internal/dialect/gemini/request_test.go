package gemini_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect/gemini"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/wire/chat"
)

func endpoint(change func(*catalog.Endpoint)) *catalog.Endpoint {
	ep := &catalog.Endpoint{ID: "acme/m", Provider: &catalog.Provider{ID: "acme", Name: "Acme", Dialect: "gemini", Key: "acme-secret-key"},
		UpstreamID: "gemini-x", Params: catalog.AllParams &^ catalog.ParamReasoningEffort, MaxCompletion: 20000}
	if change != nil {
		change(ep)
	}
	return ep
}

func decoded(t *testing.T, members string) *completion.Request {
	t.Helper()
	req, err := chat.Decode([]byte(`{"model":"v/m",` + members + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

var compact = strings.NewReplacer("\n", "", "\t", "").Replace

// What a chat request becomes on this wire.
func TestRequestFromChat(t *testing.T) {
	t.Parallel()
	const ask = `"messages":[{"role":"user","content":"q"}]`
	const asked = `"contents":[{"role":"user","parts":[{"text":"q"}]}]`
	leveled := func(ep *catalog.Endpoint) { ep.Params = catalog.ParamReasoning | catalog.ParamReasoningEffort }
	for _, tc := range []struct {
		name, body, want string
		change           func(*catalog.Endpoint)
	}{
		{"plain", ask, `{` + asked + `}`, nil},
		{"settings", `"max_tokens":9,"temperature":1.7,"top_p":0.5,"top_k":4,"seed":1,"frequency_penalty":0.1,"presence_penalty":-1,"stop":["a","b"],"n":2,"logprobs":true,"top_logprobs":3,` + ask,
			`{` + asked + `,"generationConfig":{"temperature":1.7,"topP":0.5,"topK":4,"frequencyPenalty":0.1,"presencePenalty":-1,"seed":1,"candidateCount":2,"maxOutputTokens":9,"stopSequences":["a","b"],"responseLogprobs":true,"logprobs":3}}`, nil},
		{"what the model does not take", `"temperature":1,"logprobs":true,` + ask, `{` + asked + `}`, func(ep *catalog.Endpoint) { ep.Params = catalog.ParamTools }},
		{"instructions from everywhere", `"messages":[{"role":"system","content":"a"},{"role":"user","content":"q"},{"role":"developer","content":"b"}]`,
			`{` + asked + `,"systemInstruction":{"parts":[{"text":"a"},{"text":"b"}]}}`, nil},
		{"tools", `"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}},{"type":"function","function":{"name":"g"}}],"tool_choice":{"type":"function","function":{"name":"f"}},` + ask,
			`{` + asked + `,"tools":[{"functionDeclarations":[{"name":"f","description":"d","parametersJsonSchema":{"type":"object"}},{"name":"g"}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["f"]}}}`, nil},
		{"search", `"web_search_options":{},` + ask, `{` + asked + `,"tools":[{"googleSearch":{}}]}`, nil},
		{"search beside tools", `"tools":[{"type":"function","function":{"name":"g"}}],"web_search_options":{},` + ask, `{` + asked + `,"tools":[{"functionDeclarations":[{"name":"g"}]}]}`, nil},
		{"a conversation with tools", `"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"hm","reasoning_details":[
				{"type":"reasoning.text","format":"google-gemini-v1","index":0,"text":"t"},{"type":"reasoning.encrypted","format":"google-gemini-v1","index":1,"id":"c1","data":"s1"},
				{"type":"reasoning.encrypted","format":"google-gemini-v1","index":2,"data":"s2"},{"type":"reasoning.encrypted","format":"anthropic-claude-v1","index":3,"data":"foreign"}],
				"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"c2","type":"function","function":{"name":"g","arguments":""}}]},
				{"role":"tool","tool_call_id":"c2","content":"{\"x\":1}"},{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"one"},{"type":"image_url","image_url":{"url":"data:image/gif;base64,QQ=="}}]}]`,
			`{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"text":"hm","thoughtSignature":"s2"},{"functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":"s1"},{"functionCall":{"name":"g","args":{}}}]},
				{"role":"user","parts":[{"functionResponse":{"name":"g","response":{"x":1}}},{"functionResponse":{"name":"f","response":{"result":"one"}}},{"inlineData":{"mimeType":"image/gif","data":"QQ=="}}]}]}`, nil},
		{"a call that another model made", `"messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"2","type":"function","function":{"name":"f","arguments":"{}"}}]}]`,
			`{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"name":"f","args":{}}}]}]}`, leveled},
		{"media", `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://a.test/i.png"}},{"type":"input_audio","input_audio":{"data":"QQ==","format":"mp3"}},
				{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,QQ=="}},{"type":"video_url","video_url":{"url":"https://a.test/v"}}]}]`,
			`{"contents":[{"role":"user","parts":[{"fileData":{"fileUri":"https://a.test/i.png"}},{"inlineData":{"mimeType":"audio/mpeg","data":"QQ=="}},{"inlineData":{"mimeType":"application/pdf","data":"QQ=="}},{"fileData":{"mimeType":"video/mp4","fileUri":"https://a.test/v"}}]}]}`, nil},
		{"reasoning by a budget", `"max_tokens":5000,"reasoning":{"effort":"medium"},` + ask, `{` + asked + `,"generationConfig":{"maxOutputTokens":5000,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":2500}}}`, nil},
		{"reasoning by a level", `"max_tokens":5000,"reasoning":{"effort":"xhigh","exclude":true},` + ask, `{` + asked + `,"generationConfig":{"maxOutputTokens":5000,"thinkingConfig":{"thinkingLevel":"high"}}}`, leveled},
		{"reasoning off", `"reasoning":{"effort":"none"},` + ask, `{` + asked + `,"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}}`, nil},
		{"reasoning of a model that has none", `"reasoning":{"effort":"high"},` + ask, `{` + asked + `}`, func(ep *catalog.Endpoint) { ep.Params = catalog.ParamTools }},
		{"a schema", `"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object"}}},` + ask, `{` + asked + `,"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{"type":"object"}}}`, nil},
		{"some JSON", `"response_format":{"type":"json_object"},` + ask, `{` + asked + `,"generationConfig":{"responseMimeType":"application/json"}}`, nil},
		{"pictures and sound out", `"modalities":["text","image","audio"],"audio":{"voice":"Kore","format":"wav"},` + ask,
			`{` + asked + `,"generationConfig":{"responseModalities":["TEXT","IMAGE","AUDIO"],"speechConfig":{"voiceConfig":{"prebuiltVoiceConfig":{"voiceName":"Kore"}}}}}`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := new(gemini.Dialect).Request(endpoint(tc.change), decoded(t, tc.body))
			if err != nil {
				t.Fatal(err)
			}
			if !rawjson.Valid(got.Body) || string(got.Body) != compact(tc.want) {
				t.Errorf("got  %s\nwant %s", got.Body, compact(tc.want))
			}
			if got.Path != "/models/gemini-x:generateContent" {
				t.Errorf("path %s", got.Path)
			}
		})
	}
	if got, err := new(gemini.Dialect).Request(endpoint(nil), decoded(t, `"stream":true,`+ask)); err != nil || got.Path != "/models/gemini-x:streamGenerateContent?alt=sse" {
		t.Errorf("%v, %v", got.Path, err)
	}
}

func TestRequestRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, body, param string }{
		{"another provider's file", `"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"x"}}]}]`, "messages"},
		{"arguments that are no object", `"messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"[1]"}}]}]`, "messages"},
		{"a budget above the cap", `"max_tokens":1000,"reasoning":{"effort":"low"},"messages":[{"role":"user","content":"q"}]`, "max_tokens"},
	} {
		_, err := new(gemini.Dialect).Request(endpoint(nil), decoded(t, tc.body))
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid || f.Param != tc.param {
			t.Errorf("%s: %v, want an invalid %s", tc.name, err, tc.param)
		}
	}
}

func TestFailure(t *testing.T) {
	t.Parallel()
	body := `[{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED","details":[{"@type":"x","retryDelay":"17.2s"}]}}]`
	f := new(gemini.Dialect).Failure(endpoint(nil), 429, http.Header{}, []byte(body))
	if f.Kind != fault.RateLimited || f.RetryAfter != 18*time.Second || f.Upstream.Code != "RESOURCE_EXHAUSTED" {
		t.Errorf("%v after %v", f, f.RetryAfter)
	}
	f = new(gemini.Dialect).Failure(endpoint(nil), 429, http.Header{"Retry-After": {"3"}}, []byte(body))
	if f.RetryAfter != 3*time.Second {
		t.Errorf("after %v", f.RetryAfter)
	}
	if f := new(gemini.Dialect).Failure(endpoint(nil), 500, nil, []byte("<html>")); f.Kind != fault.ProviderUnavailable {
		t.Errorf("%v", f)
	}
}

func TestHeader(t *testing.T) {
	t.Parallel()
	p := &catalog.Provider{Key: "k", Headers: map[string]string{"X-A": "b"}}
	if h := new(gemini.Dialect).Header(p); h.Get("X-Goog-Api-Key") != "k" || h.Get("X-A") != "b" || h.Get("Authorization") != "" {
		t.Errorf("%v", h)
	}
	p.Quirks.AuthHeader, p.Quirks.AuthScheme = "Authorization", "Bearer"
	if h := new(gemini.Dialect).Header(p); h.Get("Authorization") != "Bearer k" || h.Get("X-Goog-Api-Key") != "" {
		t.Errorf("%v", h)
	}
}
