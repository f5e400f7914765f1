package bedrock_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect/auth"
	"weir/internal/dialect/bedrock"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/wire/chat"
	"weir/internal/wire/messages"
)

func endpoint(change func(*catalog.Endpoint)) *catalog.Endpoint {
	ep := &catalog.Endpoint{ID: "acme/m", Provider: &catalog.Provider{ID: "acme", Name: "Acme", Dialect: "bedrock", Key: "acme-secret-key"},
		UpstreamID: "eu.anthropic.claude-x-v1:0", Params: catalog.AllParams &^ catalog.ParamReasoningEffort, MaxCompletion: 20000}
	if change != nil {
		change(ep)
	}
	return ep
}

func fromChat(t *testing.T, members string) *completion.Request {
	t.Helper()
	req, err := chat.Decode([]byte(`{"model":"v/m",` + members + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

var compact = strings.NewReplacer("\n", "", "\t", "").Replace

func check(t *testing.T, ep *catalog.Endpoint, req *completion.Request, want string) {
	t.Helper()
	got, err := new(bedrock.Dialect).Request(ep, req)
	if err != nil {
		t.Fatal(err)
	}
	if !rawjson.Valid(got.Body) || string(got.Body) != compact(want) {
		t.Errorf("got  %s\nwant %s", got.Body, compact(want))
	}
}

const (
	ask   = `"messages":[{"role":"user","content":"q"}]`
	asked = `"messages":[{"role":"user","content":[{"text":"q"}]}]`
)

func named(id string) func(*catalog.Endpoint) {
	return func(ep *catalog.Endpoint) { ep.UpstreamID = id }
}

// files are a message with files of these names.
func files(names ...string) string {
	var parts []string
	for _, name := range names {
		parts = append(parts, fmt.Sprintf(`{"type":"file","file":{"filename":%q,"file_data":"data:application/pdf;base64,QQ=="}}`, name))
	}
	return `"messages":[{"role":"user","content":[` + strings.Join(parts, ",") + `]}]`
}

// documents are their blocks on this wire. Names that it refuses are those of vercel/ai#20365 and aws-samples/generative-ai-use-cases#1671; two of
// one name are those of maximhq/bifrost#7003 and BerriAI/litellm#29418.
func documents(names ...string) string {
	var blocks []string
	for _, name := range names {
		blocks = append(blocks, `{"document":{"format":"pdf","name":"`+name+`","source":{"bytes":"QQ=="}}}`)
	}
	return strings.Join(blocks, ",")
}

// What a chat request becomes on this wire.
func TestRequestFromChat(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, body, want string
		change           func(*catalog.Endpoint)
	}{
		{"plain", ask, `{` + asked + `}`, nil},
		{"settings", `"max_tokens":9,"temperature":1.7,"top_p":0.5,"top_k":4,"seed":1,"stop":["a"," ","b"],` + ask,
			`{` + asked + `,"inferenceConfig":{"maxTokens":9,"temperature":1,"topP":0.5,"stopSequences":["a","b"]},"additionalModelRequestFields":{"top_k":4}}`, nil},
		{"top_k of Nova", `"top_k":4,` + ask, `{` + asked + `,"additionalModelRequestFields":{"inferenceConfig":{"topK":4}}}`, named("amazon.nova-pro-v1:0")},
		{"top_k of nobody", `"top_k":4,` + ask, `{` + asked + `}`, named("meta.llama3")},
		{"what the model does not take", `"temperature":1,"top_k":4,` + ask, `{` + asked + `}`, func(ep *catalog.Endpoint) { ep.Params = catalog.ParamTools }},
		{"a tier", ask, `{` + asked + `,"serviceTier":{"type":"flex"}}`, func(ep *catalog.Endpoint) { ep.Tier = "flex" }},
		{"instructions from everywhere", `"messages":[{"role":"system","content":"a"},{"role":"user","content":"q"},{"role":"developer","content":"b"},{"role":"system","content":" "}]`,
			`{"system":[{"text":"a"},{"text":"b"}],` + asked + `}`, nil},
		{"tools", `"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"},"strict":true}},{"type":"function","function":{"name":"g"}},
				{"type":"function","function":{"name":"h","parameters":{"properties":{}}}}],"tool_choice":"required",` + ask,
			`{"toolConfig":{"tools":[{"toolSpec":{"name":"f","description":"d","inputSchema":{"json":{"type":"object"}},"strict":true}},
				{"toolSpec":{"name":"g","inputSchema":{"json":{"type":"object","properties":{}}}}},{"toolSpec":{"name":"h","inputSchema":{"json":{"type":"object","properties":{}}}}}],"toolChoice":{"any":{}}},` + asked + `}`, nil},
		{"one tool", `"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"function","function":{"name":"f"}},` + ask,
			`{"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object","properties":{}}}}}],"toolChoice":{"tool":{"name":"f"}}},` + asked + `}`, nil},
		{"no tool", `"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"none",` + ask, `{` + asked + `}`, nil},
		{"only some of the tools", `"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"g"}}],
				"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"g"}}]}},` + ask,
			`{"toolConfig":{"tools":[{"toolSpec":{"name":"g","inputSchema":{"json":{"type":"object","properties":{}}}}}],"toolChoice":{"auto":{}}},` + asked + `}`, nil},
		{"a conversation with tools, which are not declared any more", `"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"hm ","reasoning_details":[
				{"type":"reasoning.text","format":"anthropic-claude-v1","index":0,"text":"t","signature":"s"},{"type":"reasoning.encrypted","format":"anthropic-claude-v1","index":1,"data":"cg=="},
				{"type":"reasoning.text","format":"anthropic-claude-v1","index":2,"text":"unsigned"},{"type":"reasoning.encrypted","format":"openai-responses-v1","index":3,"data":"foreign"}],
				"tool_calls":[{"id":"c 1","type":"function","function":{"name":"f","arguments":" {\"a\":1} "}},{"id":"c2","type":"function","function":{"name":"g","arguments":""}}]},
				{"role":"tool","tool_call_id":"c2","content":""},{"role":"tool","tool_call_id":"c 1","content":[{"type":"text","text":"one"},{"type":"image_url","image_url":{"url":"data:image/gif;base64,QQ=="}}]},
				{"role":"user","content":"go on"}]`,
			`{"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object","properties":{}}}}},{"toolSpec":{"name":"g","inputSchema":{"json":{"type":"object","properties":{}}}}}]},
				"messages":[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"t","signature":"s"}}},{"reasoningContent":{"redactedContent":"cg=="}},{"text":"hm "},
				{"toolUse":{"toolUseId":"tooluse_242cb3fec8252e851da30f88","name":"f","input":{"a":1}}},{"toolUse":{"toolUseId":"c2","name":"g","input":{}}}]},
				{"role":"user","content":[{"toolResult":{"toolUseId":"c2","content":[{"text":"..."}]}},
				{"toolResult":{"toolUseId":"tooluse_242cb3fec8252e851da30f88","content":[{"text":"one"},{"image":{"format":"gif","source":{"bytes":"QQ=="}}}]}},{"text":"go on"}]}]}`, nil},
		{"a thought of another family", `"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a","reasoning_details":[{"type":"reasoning.text","format":"anthropic-claude-v1","index":0,"text":"t","signature":"s"}]},{"role":"user","content":"q"}]`,
			`{"messages":[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"text":"a"}]},{"role":"user","content":[{"text":"q"}]}]}`, named("deepseek.r1-v1:0")},
		{"media", `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,QQ=="}},{"type":"file","file":{"filename":"my_file  (1).pdf","file_data":"data:application/pdf;base64,QQ=="}},
				{"type":"file","file":{"file_data":"data:text/csv;base64,QQ=="}},{"type":"input_audio","input_audio":{"data":"QQ==","format":"wav"}},{"type":"video_url","video_url":{"url":"data:video/mp4;base64,QQ=="}}]}]`,
			`{"messages":[{"role":"user","content":[{"image":{"format":"png","source":{"bytes":"QQ=="}}},{"document":{"format":"pdf","name":"my file (1)","source":{"bytes":"QQ=="}}},
				{"document":{"format":"csv","name":"document","source":{"bytes":"QQ=="}}},{"audio":{"format":"wav","source":{"bytes":"QQ=="}}},{"video":{"format":"mp4","source":{"bytes":"QQ=="}}},{"text":"..."}]}]}`, nil},
		{"names of files", files("report.pdf", "Report.docx", "report 2.txt", "report.pdf", "", "", "document 2.pdf", "Отчёт за май (2).pdf", "John's #1 & co.pdf", "тест　x.pdf", "\u0438\u0306од.pdf", ".pdf", "v1.2 final", "a/b\\c\td.pdf", "报告.pdf"),
			`{"messages":[{"role":"user","content":[` + documents("report", "Report 2", "report 2 2", "report 3", "document", "document 2", "document 2 2", "Otchyot za may (2)", "John s 1 co", "test x", "iod", "document 3", "v1 2 final", "a b c d", "document 4") +
				`,{"text":"..."}]}]}`, nil},
		{"the last four cache marks", `"tools":[{"type":"function","function":{"name":"f"},"cache_control":{"type":"ephemeral"}}],"messages":[{"role":"system","content":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}}]},
				{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"text","text":"b","cache_control":{"type":"ephemeral"}},{"type":"text","text":"c","cache_control":{"type":"ephemeral"}}]}]`,
			`{"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object","properties":{}}}}}]},"system":[{"text":"s"},{"cachePoint":{"type":"default","ttl":"1h"}}],
				"messages":[{"role":"user","content":[{"text":"a"},{"cachePoint":{"type":"default"}},{"text":"b"},{"cachePoint":{"type":"default"}},{"text":"c"},{"cachePoint":{"type":"default"}}]}]}`, nil},
		{"cache marks where nothing is cached", `"messages":[{"role":"user","content":[{"type":"text","text":"q","cache_control":{"type":"ephemeral"}}]}]`, `{` + asked + `}`, named("meta.llama3")},
		{"the beginning of the answer", `"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"It is \n"}]`,
			`{"messages":[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"text":"It is"}]}]}`, nil},
		{"an answer before any question", `"messages":[{"role":"assistant","content":"a"},{"role":"user","content":"q"}]`,
			`{"messages":[{"role":"user","content":[{"text":"..."}]},{"role":"assistant","content":[{"text":"a"}]},{"role":"user","content":[{"text":"q"}]}]}`, nil},
		{"reasoning by a budget", `"max_tokens":5000,"temperature":0.5,"top_k":1,"reasoning":{"effort":"medium"},` + ask,
			`{` + asked + `,"inferenceConfig":{"maxTokens":5000},"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":2500}}}`, nil},
		{"a budget below a cap that nobody gave", `"reasoning":{"max_tokens":3000},` + ask, `{` + asked + `,"inferenceConfig":{"maxTokens":20000},"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":3000}}}`, nil},
		{"and above it", `"reasoning":{"max_tokens":30000},` + ask, `{` + asked + `,"inferenceConfig":{"maxTokens":38192},"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":30000}}}`, nil},
		{"reasoning in the middle of another's turn", `"max_tokens":5000,"reasoning":{"effort":"medium"},"tools":[{"type":"function","function":{"name":"f"}}],"messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"a"}]`,
			`{"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object","properties":{}}}}}]},"messages":[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"1","name":"f","input":{}}}]},
				{"role":"user","content":[{"toolResult":{"toolUseId":"1","content":[{"text":"a"}]}}]}],"inferenceConfig":{"maxTokens":5000}}`, nil},
		{"reasoning by an effort", `"reasoning":{"effort":"high"},` + ask, `{` + asked + `,"additionalModelRequestFields":{"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}}}`,
			func(ep *catalog.Endpoint) { ep.Params = catalog.ParamReasoning | catalog.ParamReasoningEffort }},
		{"reasoning of an open model", `"reasoning":{"effort":"xhigh"},` + ask, `{` + asked + `,"additionalModelRequestFields":{"reasoning_effort":"high"}}`, named("openai.gpt-oss-120b-1:0")},
		{"reasoning that cannot be set", `"reasoning":{"effort":"high"},` + ask, `{` + asked + `}`, named("deepseek.r1-v1:0")},
		{"reasoning off", `"reasoning":{"effort":"none"},` + ask, `{` + asked + `}`, nil},
		{"a schema", `"response_format":{"type":"json_schema","json_schema":{"name":"n","description":"d","schema":{"type":"object","properties":{"a":{"type":"number","minimum":1}}}}},` + ask,
			`{` + asked + `,"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"schema":"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"number\"}},\"additionalProperties\":false}","name":"n","description":"d"}}}}}`, nil},
		{"some JSON", `"response_format":{"type":"json_object"},` + ask, `{"system":[{"text":"Answer with one JSON object and nothing else: no prose, no code fence."}],` + asked + `}`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			check(t, endpoint(tc.change), fromChat(t, tc.body), tc.want)
		})
	}
}

func TestRequestFromMessages(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, body, want string
		change           func(*catalog.Endpoint)
	}{
		{"a failed tool", `"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"tool_use","id":"c1","name":"f","input":{}}]},
				{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","is_error":true,"content":"no"}]}],"tools":[{"name":"f","input_schema":{"type":"object"}}]`,
			`{"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object"}}}}]},"messages":[{"role":"user","content":[{"text":"q"}]},
				{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"t","signature":"s"}}},{"toolUse":{"toolUseId":"c1","name":"f","input":{}}}]},
				{"role":"user","content":[{"toolResult":{"toolUseId":"c1","content":[{"text":"no"}],"status":"error"}}]}],"inferenceConfig":{"maxTokens":9}}`, nil},
		{"a failed tool of a model that takes no status", `"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{}}]},
				{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","is_error":true,"content":"no"}]}],"tools":[{"name":"f","input_schema":{"type":"object"}}]`,
			`{"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object"}}}}]},"messages":[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"c1","name":"f","input":{}}}]},
				{"role":"user","content":[{"toolResult":{"toolUseId":"c1","content":[{"text":"Error:"},{"text":"no"}]}}]}],"inferenceConfig":{"maxTokens":9}}`, named("meta.llama3")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			req, err := messages.Decode([]byte(`{"model":"x/y","max_tokens":9,` + tc.body + `}`))
			if err != nil {
				t.Fatal(err)
			}
			check(t, endpoint(tc.change), req, tc.want)
		})
	}
}

// Where the provider cannot do what was asked for, the reply says so.
func TestNotices(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`"web_search_options":{},` + ask: completion.NoticeSearch,
		`"parallel_tool_calls":false,"tools":[{"type":"function","function":{"name":"f"}}],` + ask:                                                                                                                                                                                         "parallel_tool_calls was left out",
		`"reasoning":{"effort":"high"},"tool_choice":"required","max_tokens":5000,"tools":[{"type":"function","function":{"name":"f"}}],` + ask:                                                                                                                                            "Reasoning was left out",
		`"tool_choice":"none","tools":[{"type":"function","function":{"name":"f"}}],"messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"a"}]`: "tool_choice none was left out",
	} {
		got, err := new(bedrock.Dialect).Request(endpoint(nil), fromChat(t, body))
		if err != nil || !strings.Contains(got.Notice, want) {
			t.Errorf("%s: %q %v", body, got.Notice, err)
		}
	}
}

func TestPath(t *testing.T) {
	t.Parallel()
	ep := endpoint(named("arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude"))
	got, err := new(bedrock.Dialect).Request(ep, fromChat(t, `"stream":true,`+ask))
	if err != nil || got.Path != "/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Ainference-profile%2Feu.anthropic.claude/converse-stream" || got.Header.Get("Accept") != "application/vnd.amazon.eventstream" {
		t.Errorf("%v %v", got, err)
	}
}

func TestRequestRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, body, param string }{
		{"several answers", `"n":2,` + ask, "n"},
		{"a search by the plugin", `"plugins":[{"id":"web"}],` + ask, "plugins"},
		{"a picture by its address", `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://a.test/i.png"}}]}]`, "messages"},
		{"another provider's file", `"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"x"}}]}]`, "messages"},
		{"a picture of a kind that is not taken", `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/tiff;base64,QQ=="}}]}]`, "messages"},
		{"arguments that are no object", `"messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"[1]"}}]}]`, "messages"},
		{"a budget above the cap", `"max_tokens":1000,"reasoning":{"effort":"low"},` + ask, "max_tokens"},
	} {
		_, err := new(bedrock.Dialect).Request(endpoint(nil), fromChat(t, tc.body))
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid || f.Param != tc.param {
			t.Errorf("%s: %v, want an invalid %s", tc.name, err, tc.param)
		}
	}
}

func TestFailure(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		status int
		kind   string
		body   string
		want   fault.Kind
		next   fault.Next
		code   string
	}{
		{"throttled", 429, "ThrottlingException:http://internal.amazon.com/", `{"message":"Too many requests"}`, fault.RateLimited, fault.NextEndpoint, "ThrottlingException"},
		{"a quota", 400, "ServiceQuotaExceededException", `{"message":"quota"}`, fault.RateLimited, fault.NextEndpoint, "ServiceQuotaExceededException"},
		{"too long", 400, "ValidationException", `{"message":"Input is too long for requested model."}`, fault.ContextLength, fault.NextModel, "ValidationException"},
		{"a model that is not here", 400, "ValidationException", `{"message":"The provided model identifier is invalid."}`, fault.Invalid, fault.NextEndpoint, "model_not_found"},
		{"a bad request", 400, "", `{"Message":"no","__type":"com.amazon.coral#ValidationException"}`, fault.Invalid, fault.NextModel, "ValidationException"},
		{"the account", 403, "AccessDeniedException", `{"message":"no access"}`, fault.ProviderUnavailable, fault.NextEndpoint, "AccessDeniedException"},
		{"the model failed", 424, "ModelErrorException", `{"message":"x"}`, fault.ProviderUnavailable, fault.NextEndpoint, "ModelErrorException"},
		{"slow", 408, "ModelTimeoutException", `{"message":"x"}`, fault.Timeout, fault.NextEndpoint, "ModelTimeoutException"},
		{"a page", 500, "", `<html>`, fault.ProviderUnavailable, fault.NextEndpoint, ""},
	} {
		h := http.Header{}
		if tc.kind != "" {
			h.Set("X-Amzn-Errortype", tc.kind)
		}
		f := new(bedrock.Dialect).Failure(endpoint(nil), tc.status, h, []byte(tc.body))
		if f.Kind != tc.want || f.Next != tc.next || f.Upstream.Code != tc.code {
			t.Errorf("%s: %v next %d code %q", tc.name, f, f.Next, f.Upstream.Code)
		}
	}
	f := new(bedrock.Dialect).Failure(endpoint(nil), 400, http.Header{}, []byte("{\"message\":\"The model returned the following errors: messages.1.content.0: Invalid `signature` in `thinking` block\"}"))
	if !f.Upstream.RefusedReasoning {
		t.Errorf("%+v", f.Upstream)
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	d, deps := new(bedrock.Dialect), auth.Deps{Now: time.Now}
	p := &catalog.Provider{Key: "ABSKxyz", BaseURL: "https://bedrock-runtime.eu-west-1.amazonaws.com", Headers: map[string]string{"X-A": "b"}}
	if m, err := d.Authorize(p, deps); m != nil || err != nil {
		t.Errorf("%v %v", m, err)
	}
	if h := d.Header(p); h.Get("Authorization") != "Bearer ABSKxyz" || h.Get("X-A") != "b" {
		t.Errorf("%v", h)
	}
	for _, tc := range []struct{ address, quirk, region string }{
		{"https://bedrock-runtime.eu-west-1.amazonaws.com", "", "eu-west-1"}, {"https://bedrock-runtime-fips.us-east-1.amazonaws.com/x", "", "us-east-1"},
		{"https://vpce-1.bedrock-runtime.us-east-2.vpce.amazonaws.com", "", "us-east-2"}, {"http://127.0.0.1:1", "eu-north-1", "eu-north-1"}, {"http://localhost", "", ""},
	} {
		p := &catalog.Provider{Key: "AKID:secret", BaseURL: tc.address, Quirks: catalog.Quirks{Region: tc.quirk}}
		m, err := d.Authorize(p, deps)
		if (err == nil) != (tc.region != "") {
			t.Errorf("%s: %v", tc.address, err)
		}
		if err != nil {
			continue
		}
		fields, err := m.Fields(context.Background(), &auth.Request{Host: "h", Path: "/"})
		if err != nil || !strings.Contains(fields.Get("Authorization"), "/"+tc.region+"/bedrock/aws4_request") {
			t.Errorf("%s: %v %v", tc.address, fields, err)
		}
	}
}
