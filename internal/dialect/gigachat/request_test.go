package gigachat_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/auth"
	"weir/internal/dialect/gigachat"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/upstream/upstreamtest"
	"weir/internal/wire/chat"
	"weir/internal/wire/messages"
)

func endpoint(change func(*catalog.Endpoint)) *catalog.Endpoint {
	ep := &catalog.Endpoint{ID: "acme/m", Provider: &catalog.Provider{ID: "acme", Name: "Acme", Dialect: "gigachat", Key: "acme-secret-key"},
		UpstreamID: "GigaChat-2", Params: catalog.AllParams, MaxCompletion: 20000}
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
	got, err := new(gigachat.Dialect).Request(ep, req)
	if err != nil {
		t.Fatal(err)
	}
	if !rawjson.Valid(got.Body) || string(got.Body) != compact(want) || got.Path != "/chat/completions" {
		t.Errorf("got  %s\nwant %s", got.Body, compact(want))
	}
}

const (
	ask   = `"messages":[{"role":"user","content":"q"}]`
	head  = `"model":"GigaChat-2","messages":[`
	asked = head + `{"role":"user","content":"q"}]`
	tool  = `"tools":[{"type":"function","function":{"name":"f"}}]`
	bare  = `,"functions":[{"name":"f","parameters":{"type":"object","properties":{}}}]`
)

// What a chat request becomes on this wire.
func TestRequestFromChat(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, body, want string
		change           func(*catalog.Endpoint)
	}{
		{"plain", ask, `{` + asked + `}`, nil},
		{"settings", `"stream":true,"max_tokens":9,"temperature":1.7,"top_p":0.5,"top_k":4,"seed":1,"repetition_penalty":1.1,` + ask,
			`{` + asked + `,"temperature":1.7,"top_p":0.5,"repetition_penalty":1.1,"max_tokens":9,"stream":true}`, nil},
		{"what the model does not take", `"temperature":1,"reasoning":{"effort":"low"},` + ask, `{` + asked + `}`, func(ep *catalog.Endpoint) { ep.Params = catalog.ParamTools }},
		{"instructions from everywhere, in front", `"messages":[{"role":"user","content":"q"},{"role":"system","content":"a"},{"role":"developer","content":[{"type":"text","text":"b"},{"type":"text","text":"c"}]}]`,
			`{` + head + `{"role":"system","content":"a\n\nb\nc"},{"role":"user","content":"q"}]}`, nil},
		{"functions", `"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"},"strict":true}},{"type":"function","function":{"name":"g"}}],` + ask,
			`{` + asked + `,"functions":[{"name":"f","description":"d","parameters":{"type":"object"}},{"name":"g","parameters":{"type":"object","properties":{}}}],"function_call":"auto"}`, nil},
		{"a function that must be called", tool + `,"tool_choice":{"type":"function","function":{"name":"f"}},` + ask, `{` + asked + bare + `,"function_call":{"name":"f"}}`, nil},
		{"any of one", tool + `,"tool_choice":"required",` + ask, `{` + asked + bare + `,"function_call":{"name":"f"}}`, nil},
		{"none", tool + `,"tool_choice":"none",` + ask, `{` + asked + bare + `,"function_call":"none"}`, nil},
		{"calls with their results, one after another", `"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"hm","reasoning_details":[
				{"type":"reasoning.encrypted","format":"gigachat-v1","index":0,"data":"s1"},{"type":"reasoning.encrypted","format":"google-gemini-v1","index":1,"data":"foreign"}],
				"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":" {\"a\":1} "}},{"id":"c2","type":"function","function":{"name":"g","arguments":""}}]},
				{"role":"tool","tool_call_id":"c2","content":"{\"x\":1}"},{"role":"tool","tool_call_id":"c1","content":"one"},{"role":"user","content":"go on"}]`,
			`{` + head + `{"role":"user","content":"q"},{"role":"assistant","content":"hm","function_call":{"name":"f","arguments":{"a":1}},"functions_state_id":"s1"},{"role":"function","content":"{\"result\":\"one\"}","name":"f"},
				{"role":"assistant","content":"","function_call":{"name":"g","arguments":{}}},{"role":"function","content":"{\"x\":1}","name":"g"},{"role":"user","content":"go on"}]}`, nil},
		{"an uploaded file", `"messages":[{"role":"user","content":[{"type":"text","text":"q"},{"type":"file","file":{"file_id":"f1"}}]}]`, `{` + head + `{"role":"user","content":"q","attachments":["f1"]}]}`, nil},
		{"an effort", `"reasoning":{"effort":"xhigh"},` + ask, `{` + asked + `,"reasoning_effort":"high"}`, nil},
		{"reasoning switched on", `"reasoning":{"enabled":true},` + ask, `{` + asked + `,"reasoning_effort":"medium"}`, nil},
		{"reasoning off", `"reasoning":{"effort":"none"},` + ask, `{` + asked + `}`, nil},
		{"a schema", `"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"object"}}},` + ask, `{` + asked + `,"response_format":{"type":"json_schema","schema":{"type":"object"},"strict":true}}`, nil},
		{"some JSON", `"response_format":{"type":"json_object"},` + ask, `{` + asked + `,"response_format":{"type":"json_schema","schema":{"type":"object"}}}`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			check(t, endpoint(tc.change), fromChat(t, tc.body), tc.want)
		})
	}
}

func TestRequestFromMessages(t *testing.T) {
	t.Parallel()
	req, err := messages.Decode([]byte(`{"model":"x/y","max_tokens":9,"system":"s","messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"c1","name":"f","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","is_error":true,"content":"no"},{"type":"text","text":"go on"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	check(t, endpoint(nil), req, `{`+head+`{"role":"system","content":"s"},{"role":"user","content":"q"},{"role":"assistant","content":"a","function_call":{"name":"f","arguments":{}}},{"role":"function","content":"{\"error\":\"no\"}","name":"f"},{"role":"user","content":"go on"}],"max_tokens":9}`)
}

func TestRequestRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, body, param string }{
		{"several answers", `"n":2,` + ask, "n"},
		{"a search by the plugin", `"plugins":[{"id":"web"}],` + ask, "plugins"},
		{"a picture that was not uploaded", `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,QQ=="}}]}]`, "messages"},
		{"arguments that are no object", `"messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"[1]"}}]}]`, "messages"},
	} {
		_, err := new(gigachat.Dialect).Request(endpoint(nil), fromChat(t, tc.body))
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid || f.Param != tc.param {
			t.Errorf("%s: %v, want an invalid %s", tc.name, err, tc.param)
		}
	}
}

func TestNotices(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`"stop":["a"],` + ask:                  "stop sequences",
		`"web_search_options":{},` + ask:       completion.NoticeSearch,
		`"reasoning":{"effort":"none"},` + ask: "Reasoning could not be switched off",
		`"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a","reasoning_details":[{"type":"reasoning.text","format":"anthropic-claude-v1","index":0,"text":"t","signature":"s"}]},{"role":"user","content":"q"}]`: completion.NoticeReasoning,
		`"tool_choice":"required","tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"g"}}],` + ask:                                                                                               "tool_choice was left out",
	} {
		got, err := new(gigachat.Dialect).Request(endpoint(nil), fromChat(t, body))
		if err != nil || !strings.Contains(got.Notice, want) {
			t.Errorf("%s: %q %v", body, got.Notice, err)
		}
	}
}

// A conversation keeps its session, and shares it with no other.
func TestSession(t *testing.T) {
	t.Parallel()
	id := func(account, body string) string {
		req := fromChat(t, body)
		req.Account = account
		got, err := new(gigachat.Dialect).Request(endpoint(nil), req)
		if err != nil {
			t.Fatal(err)
		}
		return got.Header.Get("X-Session-ID")
	}
	first := id("u", `"messages":[{"role":"system","content":"s"},{"role":"user","content":"q"}]`)
	if len(first) != 36 || first[14] != '4' {
		t.Errorf("%q", first)
	}
	if next := id("u", `"messages":[{"role":"system","content":"s"},{"role":"user","content":"q"},{"role":"assistant","content":"a"},{"role":"user","content":"r"}]`); next != first {
		t.Errorf("%q, %q", first, next)
	}
	if other := id("v", `"messages":[{"role":"system","content":"s"},{"role":"user","content":"q"}]`); other == first {
		t.Error("another account has the same session")
	}
	if id("u", `"session_id":"x",`+ask) != id("u", `"session_id":"x","messages":[{"role":"user","content":"other"}]`) {
		t.Error("a session that the client names is not kept")
	}
}

func TestFailure(t *testing.T) {
	t.Parallel()
	f := new(gigachat.Dialect).Failure(endpoint(nil), 422, http.Header{}, []byte(`{"status":422,"message":"Tokens limit exceeded: 40000 > 32768"}`))
	if f.Kind != fault.ContextLength || f.Next != fault.NextModel {
		t.Errorf("%v", f)
	}
	f = new(gigachat.Dialect).Failure(endpoint(nil), 422, http.Header{}, []byte(`{"status":422,"message":"Invalid params: functions_state_id is not found"}`))
	if !f.Upstream.RefusedReasoning {
		t.Errorf("%+v", f.Upstream)
	}
	f = new(gigachat.Dialect).Failure(endpoint(nil), 404, http.Header{}, []byte(`{"status":404,"message":"No such model"}`))
	if f.Kind != fault.ProviderUnavailable || f.Next != fault.NextEndpoint {
		t.Errorf("%v", f)
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, body, want string }{
		{"a call with the state of it", "data: " + frame("delta", `"content":"","function_call":{"name":"f","arguments":{"a":1}},"functions_state_id":"s"`, "", "") + "\n\ndata: " +
			frame("delta", `"content":""`, `,"finish_reason":"function_call"`, `,"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3,"precached_prompt_tokens":37}`) + "\n\ndata: [DONE]\n\n",
			`[0] head{ GigaChat:2.0  } details=[{"type":"reasoning.encrypted","index":0,"format":"unknown","data":"weir.1.eyJraW5kIjoiZW5jcnlwdGVkIiwiZm9ybWF0IjoiZ2lnYWNoYXQtdjEiLCJkYXRhIjoicyJ9"}] call0{ f "{\"a\":1}" last}
[0] finish=tool_calls/function_call usage{prompt=38 cached=37 completion=2}
[0] done
`},
		{"a whole answer that has thought before its call", frame("message", `"content":"","reasoning_content":"h\nm","function_call":{"name":"f","arguments":{}},"functions_state_id":"s"`, `,"finish_reason":"function_call"`, ""),
			`[0] head{ GigaChat:2.0  } reasoning="h\nm" details=[{"type":"reasoning.text","index":0,"format":"unknown","text":"h\nm"},{"type":"reasoning.encrypted","index":1,"format":"unknown","data":"weir.1.eyJraW5kIjoiZW5jcnlwdGVkIiwiZm9ybWF0IjoiZ2lnYWNoYXQtdjEiLCJkYXRhIjoicyJ9"}] call0{ f "{}" last} finish=tool_calls/function_call done
`},
		{"a function of the service's own", "data: " + frame("delta", `"role":"function_in_progress","content":"drawing"`, "", "") + "\n\ndata: " + frame("delta", `"content":"a"`, `,"finish_reason":"stop"`, "") + "\n\n",
			"[0] head{ GigaChat:2.0  } text=\"a\" finish=stop/stop\n[0] done\n"},
		{"arguments in a string", "data: " + frame("delta", `"function_call":{"name":"f","arguments":"{\"a\":1}"}`, `,"finish_reason":"stop"`, "") + "\n\ndata: [DONE]\n\n",
			"[0] head{ GigaChat:2.0  } call0{ f \"{\\\"a\\\":1}\" last} finish=tool_calls/stop\n[0] done\n"},
		{"broken off", "data: " + frame("delta", `"content":"a"`, "", "") + "\n\ndata: {\"status\":500,\"message\":\"x\"}\n\n", "[0] head{ GigaChat:2.0  } text=\"a\"\nfault provider_unavailable next=1: The provider failed.\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := decode(tc.body)
			if strings.ReplaceAll(got, "  ", " ") != strings.ReplaceAll(tc.want, "  ", " ") {
				t.Errorf("got\n%swant\n%s", got, tc.want)
			}
		})
	}
}

func decode(body string) string {
	return upstreamtest.DumpAll(new(gigachat.Dialect).Events(&dialect.Answer{Endpoint: endpoint(nil), Length: -1, Limits: dialect.Limits{Whole: 1 << 20, Stream: 1 << 20, Line: 64 << 10},
		Body: dialect.NewBody(strings.NewReader(body))}))
}

// FuzzEvents reads what a provider may send.
func FuzzEvents(f *testing.F) {
	a := upstreamtest.Answer{Text: []string{"Hel", "lo"}, Reasoning: []string{"hm"}, Calls: []completion.ToolCall{{Name: "f", Arguments: []byte(`{"ö":1}`)}}, Finish: "function_call"}
	f.Add(strings.Join(renderStream(a), ""))
	f.Add(frame("message", members(a), `,"finish_reason":"stop"`, `,"usage":{"prompt_tokens":-1,"completion_tokens":1e99}`))
	f.Fuzz(func(t *testing.T, body string) {
		if got := decode(body); !strings.Contains(got, " done\n") && !strings.Contains(got, "fault ") {
			t.Errorf("neither an end nor a fault: %q", got)
		}
	})
}

// The request for a token, and that the credential is distinguished from the token made of it.
func TestAuthorize(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		key, basic string
		quirks     catalog.Quirks
		url, scope string
	}{
		{"Y2xpZW50OnNlY3JldA==", "Y2xpZW50OnNlY3JldA==", catalog.Quirks{}, "https://ngw.devices.sberbank.ru:9443/api/v2/oauth", "GIGACHAT_API_PERS"},
		{"client:secret", base64.StdEncoding.EncodeToString([]byte("client:secret")), catalog.Quirks{AuthURL: "http://a.test", AuthScope: "GIGACHAT_API_CORP"}, "http://a.test", "GIGACHAT_API_CORP"},
	} {
		var seen *auth.Call
		now := time.UnixMilli(1_700_000_000_000)
		m, err := new(gigachat.Dialect).Authorize(&catalog.Provider{Key: tc.key, Quirks: tc.quirks}, deps(now, func(c *auth.Call) string {
			seen = c
			return `{"access_token":"tok","expires_at":1700001800000}`
		}))
		if err != nil {
			t.Fatal(err)
		}
		fields, err := m.Fields(t.Context(), nil)
		if err != nil || fields.Get("Authorization") != "Bearer tok" {
			t.Errorf("%v %v", fields, err)
		}
		form, _ := url.ParseQuery(string(seen.Body))
		asDocumented := "RqUID" // the letters as the service's documents have them
		if seen.URL != tc.url || seen.Header.Get("Authorization") != "Basic "+tc.basic || form.Get("scope") != tc.scope || len(seen.Header[asDocumented][0]) != 36 {
			t.Errorf("%+v", seen)
		}
		if list := m.Secrets(); len(list) != 2 || list[0] != tc.basic || list[1] != "tok" {
			t.Errorf("%q", list)
		}
	}
	if h := new(gigachat.Dialect).Header(&catalog.Provider{Key: "k", Headers: map[string]string{"X-A": "b"}}); h.Get("Authorization") != "" || h.Get("X-A") != "b" {
		t.Errorf("%v", h)
	}
}
