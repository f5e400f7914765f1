package app_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/money"
)

// badRequest is a request that must be refused before any provider is called.
type badRequest struct {
	name       string
	method     string // "": POST
	path       string // "": /v1/chat/completions
	body       string
	header     map[string]string
	status     int
	word       string // error_type; "": not checked
	param      string // "": not checked
	management bool   // sent with a management key
	empty      bool   // sent with the key of a user without money
}

// chatBody is a valid request, with the given members added.
func chatBody(members string) string {
	return `{"model":"test/next","messages":[{"role":"user","content":"hello"}],` + members + `}`
}

func messagesBody(messages string) string { return `{"model":"test/next","messages":` + messages + `}` }

func invalid(name, body, param string) badRequest {
	return badRequest{name: name, body: body, status: 400, param: param}
}

var (
	notNumbers = []string{`"1"`, `true`, `[]`, `{}`, `"x"`}
	notInts    = append([]string{`1.5`, `1e999`, `100000000000000000000`}, notNumbers...)
	notBools   = []string{`"true"`, `1`, `0`, `[]`, `{}`}
	notStrings = []string{`1`, `true`, `[]`, `{}`}
	notArrays  = []string{`1`, `true`, `"x"`, `{}`}
	notObjects = []string{`1`, `true`, `"x"`, `[]`}
)

// fields are wrong values of top-level fields; the error names the field.
func fields() (all []badRequest) {
	add := func(values []string, names ...string) {
		for _, name := range names {
			for _, v := range values {
				all = append(all, invalid(name+"="+v, chatBody(fmt.Sprintf("%q:%s", name, v)), name))
			}
		}
	}
	add(notNumbers, "temperature", "top_p", "min_p", "top_a", "frequency_penalty", "presence_penalty", "repetition_penalty")
	add([]string{"-0.001", "2.001", "1e999", "-1e999"}, "temperature", "repetition_penalty")
	add([]string{"-0.001", "1.001"}, "top_p", "min_p", "top_a")
	add([]string{"-2.001", "2.001"}, "frequency_penalty", "presence_penalty")
	add(append([]string{"0", "-1"}, notInts...), "max_tokens", "max_completion_tokens", "n")
	add([]string{"129"}, "n")
	add(append([]string{"-1"}, notInts...), "top_k")
	add(notInts, "seed")
	add(notBools, "stream", "logprobs", "parallel_tool_calls", "structured_outputs", "store")
	add(append([]string{`"extreme"`, `""`}, notStrings...), "reasoning_effort", "service_tier", "verbosity")
	add(append([]string{`"` + strings.Repeat("u", 257) + `"`}, notStrings...), "user", "session_id")
	add([]string{`1`, `true`, `{}`, `["a","b","c","d","e"]`}, "stop")
	add(notArrays, "tools", "modalities", "models", "plugins", "transforms")
	add(notObjects, "metadata", "stream_options", "response_format", "provider", "logit_bias", "audio", "image_config", "web_search_options", "reasoning", "prediction")
	return all
}

// parts are wrong values inside fields; the error names the path.
func parts() []badRequest {
	long := strings.Repeat("x", 600)
	var pairs, tools []string
	for i := range 17 {
		pairs = append(pairs, fmt.Sprintf(`"k%d":"v"`, i))
	}
	for i := range 129 {
		tools = append(tools, fmt.Sprintf(`{"type":"function","function":{"name":"f%d"}}`, i))
	}
	cases := map[string][]string{ // path -> members
		"top_logprobs":                           {`"logprobs":true,"top_logprobs":21`, `"logprobs":true,"top_logprobs":-1`, `"top_logprobs":3`},
		"stop[0]":                                {`"stop":[1]`, `"stop":[null]`},
		"metadata":                               {`"metadata":{` + strings.Join(pairs, ",") + `}`, `"metadata":{"` + long + `":"v"}`},
		"metadata.a":                             {`"metadata":{"a":1}`, `"metadata":{"a":null}`, `"metadata":{"a":"` + long + `"}`},
		"stream_options.include_usage":           {`"stream_options":{"include_usage":"yes"}`},
		"response_format.type":                   {`"response_format":{}`, `"response_format":{"type":"yaml"}`, `"response_format":{"type":1}`},
		"response_format.json_schema":            {`"response_format":{"type":"json_schema"}`, `"response_format":{"type":"json_schema","json_schema":1}`},
		"response_format.json_schema.name":       {`"response_format":{"type":"json_schema","json_schema":{"schema":{}}}`, `"response_format":{"type":"json_schema","json_schema":{"name":1}}`},
		"logit_bias.50256":                       {`"logit_bias":{"50256":101}`, `"logit_bias":{"50256":"1"}`, `"logit_bias":{"50256":null}`},
		"logit_bias.word":                        {`"logit_bias":{"word":1}`},
		"modalities[0]":                          {`"modalities":["smell"]`, `"modalities":[1]`},
		"audio":                                  {`"modalities":["audio"]`},
		"audio.voice":                            {`"audio":{"format":"wav"}`},
		"audio.format":                           {`"audio":{"voice":"a"}`, `"audio":{"voice":"a","format":"tape"}`},
		"tools":                                  {`"tools":[` + strings.Join(tools, ",") + `]`},
		"tools[0]":                               {`"tools":[1]`, `"tools":[null]`},
		"tools[0].type":                          {`"tools":[{}]`, `"tools":[{"type":1}]`},
		"tools[0].function":                      {`"tools":[{"type":"function"}]`, `"tools":[{"type":"function","function":[]}]`},
		"tools[0].function.name":                 {`"tools":[{"type":"function","function":{}}]`, `"tools":[{"type":"function","function":{"name":"a b"}}]`, `"tools":[{"type":"function","function":{"name":""}}]`},
		"tools[0].function.parameters":           {`"tools":[{"type":"function","function":{"name":"f","parameters":"x"}}]`},
		"tool_choice":                            {`"tool_choice":"maybe"`, `"tool_choice":1`},
		"tool_choice.type":                       {`"tool_choice":{}`},
		"functions":                              {`"tools":[{"type":"function","function":{"name":"f"}}],"functions":[{"name":"f"}]`},
		"models":                                 {`"models":["a/1","a/2","a/3","a/4","a/5","a/6","a/7","a/8","a/9","a/10","a/11"]`},
		"models[0]":                              {`"models":[1]`, `"models":[""]`, `"models":[null]`, `"models":["` + long + `"]`},
		"provider.order":                         {`"provider":{"order":1}`},
		"provider.only[0]":                       {`"provider":{"only":[1]}`},
		"provider.allow_fallbacks":               {`"provider":{"allow_fallbacks":"no"}`},
		"provider.data_collection":               {`"provider":{"data_collection":"sell"}`},
		"provider.sort":                          {`"provider":{"sort":"luck"}`, `"provider":{"sort":1}`},
		"provider.quantizations[0]":              {`"provider":{"quantizations":["int3"]}`},
		"provider.max_price":                     {`"provider":{"max_price":1}`},
		"provider.max_price.prompt":              {`"provider":{"max_price":{"prompt":-1}}`, `"provider":{"max_price":{"prompt":"x"}}`, `"provider":{"max_price":{"prompt":true}}`},
		"plugins[0]":                             {`"plugins":[1]`, `"plugins":[{"id":"moderation"}]`},
		"plugins[0].id":                          {`"plugins":[{}]`, `"plugins":[{"id":"time-travel"}]`},
		"transforms[0]":                          {`"transforms":[1]`, `"transforms":["inside-out"]`},
		"prediction.type":                        {`"prediction":{"content":"x"}`},
		"prediction.content":                     {`"prediction":{"type":"content"}`},
		"web_search_options.search_context_size": {`"web_search_options":{"search_context_size":"huge"}`},
	}
	var all []badRequest
	for place, members := range cases {
		for _, m := range members {
			all = append(all, invalid(place+": "+m[:min(len(m), 80)], chatBody(m), place))
		}
	}
	return all
}

// conversations are wrong models and messages.
func conversations() []badRequest {
	all := []badRequest{
		{name: "no model", body: `{"messages":[{"role":"user","content":"hello"}]}`, status: 400, param: "model"},
		{name: "no messages", body: `{"model":"test/next"}`, status: 400, param: "messages", word: "invalid_prompt"},
		{name: "unknown model", body: `{"model":"test/none","messages":[{"role":"user","content":"hello"}]}`, status: 404, word: "model_not_found"},
		{name: "unknown models only", body: `{"models":["a/b","c/d"],"messages":[{"role":"user","content":"hello"}]}`, status: 404, word: "model_not_found"},
		{name: "names are exact", body: `{"Model":"test/next","messages":[{"role":"user","content":"hello"}]}`, status: 400, param: "model"},
	}
	for _, v := range append([]string{`null`, `""`, `"` + strings.Repeat("m", 257) + `"`}, notStrings...) {
		all = append(all, invalid("model="+v[:min(len(v), 40)], `{"model":`+v+`,"messages":[{"role":"user","content":"hello"}]}`, "model"))
	}
	const assistant = `{"role":"user","content":"a"},{"role":"assistant","tool_calls":`
	for place, list := range map[string][]string{
		"messages":                           {`null`, `[]`, `1`, `"x"`, `{}`, `true`},
		"messages[0]":                        {`[1]`, `[null]`, `["x"]`, `[[]]`},
		"messages[0].role":                   {`[{}]`, `[{"content":"x"}]`, `[{"role":"alien","content":"x"}]`, `[{"role":1,"content":"x"}]`, `[{"role":null,"content":"x"}]`},
		"messages[0].content":                {`[{"role":"user"}]`, `[{"role":"user","content":null}]`, `[{"role":"user","content":1}]`, `[{"role":"user","content":{}}]`, `[{"role":"user","content":true}]`, `[{"role":"system"}]`, `[{"role":"assistant"}]`, `[{"role":"user","content":[]}]`},
		"messages[0].content[0]":             {`[{"role":"user","content":["x"]}]`, `[{"role":"user","content":[null]}]`},
		"messages[0].content[0].type":        {`[{"role":"user","content":[{}]}]`, `[{"role":"user","content":[{"type":"smell"}]}]`, `[{"role":"user","content":[{"type":1}]}]`},
		"messages[0].content[0].text":        {`[{"role":"user","content":[{"type":"text"}]}]`, `[{"role":"user","content":[{"type":"text","text":1}]}]`},
		"messages[0].content[0].image_url":   {`[{"role":"user","content":[{"type":"image_url"}]}]`, `[{"role":"user","content":[{"type":"image_url","image_url":1}]}]`},
		"messages[1].content":                {`[{"role":"user","content":"a"},{"role":"user"}]`},
		"messages[0].tool_call_id":           {`[{"role":"tool","content":"x"}]`, `[{"role":"tool","tool_call_id":"none","content":"x"}]`},
		"messages[1].tool_calls":             {`[` + assistant + `1}]`, `[` + assistant + `{}}]`},
		"messages[1].tool_calls[0]":          {`[` + assistant + `[1]}]`},
		"messages[1].tool_calls[0].id":       {`[` + assistant + `[{"type":"function","function":{"name":"f","arguments":"{}"}}]}]`},
		"messages[1].tool_calls[0].function": {`[` + assistant + `[{"id":"a","type":"function"}]}]`},
		"messages[0].name":                   {`[{"role":"user","content":"x","name":1}]`},
	} {
		for _, m := range list {
			all = append(all, invalid(place+": "+m, messagesBody(m), place))
		}
	}
	return all
}

// texts are bodies that are not valid JSON, or barely valid.
func texts() []badRequest {
	deep := strings.Repeat("[", 257) + strings.Repeat("]", 257)
	keys := make([]string, 10_001)
	for i := range keys {
		keys[i] = fmt.Sprintf(`"k%d":0`, i)
	}
	all := []badRequest{
		{name: "deep", body: chatBody(`"x":` + deep), status: 400, word: "too_deep"},
		{name: "many keys", body: chatBody(`"x":{` + strings.Join(keys, ",") + `}`), status: 400},
		{name: "duplicate in provider", body: chatBody(`"provider":{"sort":"price","sort":"latency"}`), status: 400, word: "duplicate_key"},
	}
	for _, name := range []string{"model", "messages", "stream", "temperature", "max_tokens", "user", "tools", "provider", "models", "unknown", "metadata"} {
		v := map[string]string{"model": `"test/next"`, "messages": `[]`, "stream": `false`, "user": `"u"`, "tools": `[]`, "provider": `{}`, "models": `[]`, "metadata": `{}`}[name]
		if v == "" {
			v = "1"
		}
		all = append(all, badRequest{name: "duplicate " + name, body: chatBody(fmt.Sprintf("%q:%s,%q:%s", name, v, name, v)), status: 400, word: "duplicate_key"})
	}
	// an escaped name is still the same name
	all = append(all, badRequest{name: "duplicate by escape", body: chatBody(`"user":"u","us\u0065r":"v"`), status: 400, word: "duplicate_key"})
	good := chatBody(`"n":1`)
	for i, body := range []string{
		``, ` `, `null`, `1`, `"x"`, `[]`, `true`, `{`, `}`, `{}{}`, `{"model"}`, `{"model":}`, `{model:"test/next"}`, `{'model':'test/next'}`,
		good + `x`, good + good, good + `,`, good[:len(good)-1] + `,}`, good[1:], "// hi\n" + good, "/* */" + good, good[:len(good)-1],
		chatBody(`"temperature":NaN`), chatBody(`"temperature":Infinity`), chatBody(`"temperature":-Infinity`), chatBody(`"n":01`), chatBody(`"n":+1`), chatBody(`"n":.5`), chatBody(`"n":1.`), chatBody(`"n":0x1`), chatBody(`"n":1e`), chatBody(`"n":--1`),
		chatBody(`"user":"` + "\xff" + `"`), chatBody(`"user":"` + "\xc0\xaf" + `"`), chatBody(`"user":"` + "\xed\xa0\x80" + `"`), chatBody(`"user":"a` + "\n" + `b"`), chatBody(`"user":"a` + "\x00" + `b"`), chatBody(`"user":"\x"`), chatBody(`"user":"\u12"`), chatBody(`"user":"`),
		"\x00", "\xff\xfe{\x00}\x00", "model=test/next", "<xml/>",
	} {
		all = append(all, badRequest{name: fmt.Sprintf("text %d %q", i, body[:min(len(body), 30)]), body: body, status: 400})
	}
	return all
}

// doors are requests that are refused for their key, size, encoding, headers, method or path, or because the balance is too low.
func doors() []badRequest {
	good := chatBody(`"n":1`)
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = z.Write(bytes.Repeat([]byte(" "), 8<<20))
	_ = z.Close()
	all := []badRequest{
		{name: "no key", body: good, header: map[string]string{"Authorization": ""}, status: 401, word: "authentication"},
		{name: "too large", body: chatBody(`"x":"` + strings.Repeat("x", 2<<20) + `"`), status: 413, word: "payload_too_large"},
		{name: "bomb", body: bomb.String(), header: map[string]string{"Content-Encoding": "gzip"}, status: 413},
		{name: "not gzip", body: good, header: map[string]string{"Content-Encoding": "gzip"}, status: 400},
		{name: "cut gzip", body: bomb.String()[:40], header: map[string]string{"Content-Encoding": "gzip"}, status: 400},
		{name: "long session", body: good, header: map[string]string{"X-Session-Id": strings.Repeat("s", 300)}, status: 400, param: "session_id"},
		{name: "long line", method: "GET", path: "/v1/models?search=" + strings.Repeat("x", 9000), status: 414},
		{name: "a management key calls no models", body: good, management: true, status: 403, word: "permission_denied"},
		{name: "no money", body: good, empty: true, status: 402, word: "payment_required"},
		{name: "no money for a stream", body: chatBody(`"stream":true`), empty: true, status: 402, word: "payment_required"},
		{name: "more than any balance", body: chatBody(`"n":128`), status: 402, word: "payment_required"},
	}
	for _, value := range []string{"Bearer", "Bearer ", "Basic YTpi", "Token x", "Bearer x", "Bearer sk-weir-v1-short", "Bearer sk-weir-v1-" + strings.Repeat("a", 49), "bearer " + strings.Repeat("k", 5000), "Bearer sk-weir-v1-é"} {
		all = append(all, badRequest{name: "key " + value[:min(len(value), 30)], body: good, header: map[string]string{"Authorization": value}, status: 401, word: "authentication"})
	}
	for _, value := range []string{"text/plain", "application/xml", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "image/png", "json", "application/jsonx", "application/octet-stream"} {
		all = append(all, badRequest{name: "type " + value, body: good, header: map[string]string{"Content-Type": value}, status: 415})
	}
	for _, value := range []string{"br", "deflate", "zstd", "gzip, gzip", "compress", "x"} {
		all = append(all, badRequest{name: "encoding " + value, body: good, header: map[string]string{"Content-Encoding": value}, status: 415})
	}
	for _, method := range []string{"GET", "PUT", "PATCH", "DELETE"} {
		all = append(all, badRequest{name: method, method: method, body: good, status: 405, word: "method_not_allowed"})
	}
	for _, path := range []string{"/v1/credits", "/v1/models", "/v1/activity", "/v1/generation", "/v1/key"} {
		all = append(all, badRequest{name: "POST " + path, path: path, body: "{}", status: 405})
	}
	for _, path := range []string{"/v1", "/v1/none", "/v1/chat", "/v1/chat/completions/x", "/v2/chat/completions", "/v1//chat/completions", "/v1/./chat/completions", "/v1/chat%2Fcompletions", "/v1/chat/completions%00", "/v1/../v1/chat/completions", "/v1/CHAT/completions"} {
		all = append(all, badRequest{name: "path " + path, path: path, body: good, status: 404})
	}
	return all
}

// queries are wrong query values and management bodies.
func queries() (all []badRequest) {
	for param, values := range map[string][]string{
		"/v1/activity?date":          {"x", "2026-13-01", "2026-02-30", "20260101", "2026-1-1", "1999-01-01", "2999-01-01", "2026-01-01T00:00:00Z", "%00", "-1"},
		"/v1/models?per_page=5&page": {"0", "-1", "x", "1.5", "2147483648", "9223372036854775807", "99999999999999999999", "%00", "%FF"},
		"/v1/models?page=1&per_page": {"0", "-1", "101", "x"},
		"/v1/models?sort_by":         {"luck", "%27%3B--"},
		"/v1/models?sort_order":      {"up"},
		"/v1/models?model_type":      {"smell"},
		"/v1/models?search":          {strings.Repeat("s", 300), "%00", "%FF"},
		"/v1/generation?id":          {""},
		"/v1/keys?offset":            {"-1", "x", "99999999999999999999"},
		"/v1/keys?include_disabled":  {"maybe"},
	} {
		for _, v := range values {
			all = append(all, badRequest{name: param + "=" + v[:min(len(v), 30)], method: "GET", path: param + "=" + v, status: 400,
				param: param[strings.LastIndexAny(param, "?&")+1:], management: strings.HasPrefix(param, "/v1/keys")})
		}
	}
	for param, bodies := range map[string][]string{
		"name":        {`{}`, `{"name":1}`, `{"name":null}`, `{"name":""}`, `{"name":"` + strings.Repeat("n", 300) + `"}`},
		"limit":       {`{"name":"a","limit":-1}`, `{"name":"a","limit":"x"}`, `{"name":"a","limit":1e999}`, `{"name":"a","limit":true}`, `{"name":"a","limit":0.0000000001}`, `{"name":"a","limit":[]}`},
		"limit_reset": {`{"name":"a","limit":1,"limit_reset":"hourly"}`, `{"name":"a","limit_reset":"daily"}`, `{"name":"a","limit":1,"limit_reset":1}`},
		"expires_at":  {`{"name":"a","expires_at":"x"}`, `{"name":"a","expires_at":1}`, `{"name":"a","expires_at":"1999-01-01T00:00:00Z"}`},
		"user":        {`{"name":"a","user":"usr_other"}`},
		"role":        {`{"name":"a","role":"administrator"}`},
		"key":         {`{"name":"a","key":"sk-mine"}`},
	} {
		for _, body := range bodies {
			all = append(all, badRequest{name: "key " + body[:min(len(body), 60)], path: "/v1/keys", body: body, status: 400, param: param, management: true})
		}
	}
	return append(all,
		badRequest{name: "an API key manages no keys", path: "/v1/keys", body: `{"name":"a"}`, status: 403, word: "permission_denied"},
		badRequest{name: "nor lists them", method: "GET", path: "/v1/keys", status: 403},
		badRequest{name: "nobody's key", method: "GET", path: "/v1/keys/" + strings.Repeat("0", 64), status: 404, management: true},
		badRequest{name: "no hash", method: "DELETE", path: "/v1/keys/x", status: 404, management: true},
		badRequest{name: "nobody's generation", method: "GET", path: "/v1/generation?id=gen-1-none", status: 404},
		badRequest{name: "nobody's call", method: "GET", path: "/api/calls/gen-1-none", status: 404},
		badRequest{name: "unknown model's page", method: "GET", path: "/v1/models/test/none", status: 404, word: "model_not_found"},
		badRequest{name: "large key body", path: "/v1/keys", body: `{"name":"` + strings.Repeat("n", 2<<20) + `"}`, status: 413, management: true},
	)
}

// A request that can never succeed is refused with the right status, in the error envelope, with the name of the field. It reaches no
// provider, makes no hold and costs nothing.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		l := &s.Server.Limits
		l.MaxBody, l.FailedAuthPerMinute, l.PublicPerMinute = 1<<20, 1_000_000, 1_000_000
	})
	a := gw.NewAccount(t)
	manager := gw.Open(t, apptest.Opening{Keys: []*apikey.Limit{nil}, Management: true})[0]
	empty := gw.Open(t, apptest.Opening{Amount: money.Ruble / 1000, Keys: []*apikey.Limit{nil}})[0]
	var all []badRequest
	for _, table := range [][]badRequest{fields(), parts(), conversations(), texts(), doors(), queries()} {
		all = append(all, table...)
	}
	if len(all) < 250 {
		t.Errorf("only %d requests", len(all))
	}
	for i := range all {
		all[i].check(t, map[bool]*apptest.Account{true: manager, false: map[bool]*apptest.Account{true: empty, false: a}[all[i].empty]}[all[i].management])
	}
	t.Logf("%d bad requests", len(all))
	if n := gw.Attempts(); n != 0 {
		t.Errorf("%d of them reached the provider", n)
	}
	for _, of := range []*apptest.Account{a, empty} {
		of.WantSpent(t, false)
		of.WantNothingHeld(t)
	}
	gw.WantBalanced(t)
}

func (b *badRequest) check(t *testing.T, a *apptest.Account) {
	t.Helper()
	method, path := b.method, b.path
	if method == "" {
		method = http.MethodPost
	}
	if path == "" {
		path = "/v1/chat/completions"
	}
	began := time.Now()
	got := a.Send(t, method, path, []byte(b.body), b.header)
	if took := time.Since(began); took > 5*time.Second*apptest.Patience {
		t.Errorf("%s: answered only after %v", b.name, took)
	}
	if got.Status != b.status {
		t.Errorf("%s: status %d, want %d: %.300s", b.name, got.Status, b.status, got.Body)
		return
	}
	got.WantEnvelope(t)
	var e struct {
		Error struct {
			Metadata struct {
				Type      string `json:"error_type"`
				Param     string `json:"param"`
				RequestID string `json:"request_id"`
			}
		}
	}
	_ = json.Unmarshal(got.Body, &e) // wantEnvelope has reported an error
	m := e.Error.Metadata
	switch {
	case m.Type == "" || m.RequestID == "" || m.RequestID != got.Header.Get("X-Request-Id"):
		t.Errorf("%s: metadata %+v", b.name, m)
	case b.word != "" && m.Type != b.word:
		t.Errorf("%s: error_type %q, want %q: %s", b.name, m.Type, b.word, got.Body)
	case b.param != "" && m.Param != b.param:
		t.Errorf("%s: param %q, want %q: %s", b.name, m.Param, b.param, got.Body)
	case b.status == 405 && got.Header.Get("Allow") == "":
		t.Errorf("%s: no Allow", b.name)
	case b.status == 429 || b.status == 503:
		got.WantRetryAfter(t)
	}
}
