package sim_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"weir/internal/sim"
)

const (
	gigachatRequestID = "RqUID: 3f2a1b4c-5d6e-4f70-8a9b-0c1d2e3f4a5b"
	formHead          = "Content-Type: application/x-www-form-urlencoded"
)

// token gets an access token as a client does.
func token(t testing.TB, s *sim.Server) string {
	t.Helper()
	basic := base64.StdEncoding.EncodeToString([]byte("client:k"))
	w := post(s, "POST", "/api/v2/oauth", "Authorization: Basic "+basic+"\n"+gigachatRequestID+"\n"+formHead, "scope=GIGACHAT_API_PERS")
	got := readTree(t, w.Body.Bytes())
	if w.Code != 200 || textAt(got, "access_token") == "" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return "Authorization: Bearer " + textAt(got, "access_token")
}

func callGigaChat(t testing.TB, s *sim.Server, body string) *httptest.ResponseRecorder {
	t.Helper()
	return post(s, "POST", "/api/v1/chat/completions", token(t, s), body)
}

func askGigaChat(t testing.TB, s *sim.Server, body string) tree {
	t.Helper()
	w := callGigaChat(t, s, body)
	if w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return readTree(t, w.Body.Bytes())
}

const gigachatFunctions = `"functions":[{"name":"weather","description":"погода","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}},{"name":"clock","parameters":{"type":"object"}}]`

func TestGigaChatStreamEqualsWhole(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"text":     request("chat", "Расскажи о реке", ""),
		"function": request("chat", "weather", gigachatFunctions),
		"thought":  request("reason", "Подумай", ""),
		"schema":   request("chat", "a person", `"response_format":{"type":"json_schema","schema":{"type":"object","properties":{"age":{"type":"integer"}},"required":["age"]}}`),
		"cut":      request("chat", "Hello", `"max_tokens":5`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fixed()
			whole := askGigaChat(t, s, body)
			message := tree{"content": ""}
			got := tree{"choices": []any{tree{"message": message, "index": 0.0}}}
			raw := callGigaChat(t, s, strings.TrimSuffix(body, "}")+`,"stream":true}`).Body.String()
			raw, ended := strings.CutSuffix(raw, "data: [DONE]\n\n")
			if !ended {
				t.Fatalf("%q", raw)
			}
			for _, e := range readEvents(t, raw) {
				for name, v := range e.data {
					if name != "choices" {
						got[name] = v
					}
				}
				for name, v := range at(e.data, "choices.0.delta").(tree) {
					before, joins := message[name].(string)
					if joins && name != "role" {
						v = before + v.(string)
					}
					message[name] = v
				}
				if finish := at(e.data, "choices.0.finish_reason"); finish != nil {
					at(got, "choices.0").(tree)["finish_reason"] = finish
				}
			}
			same(t, "answer", got, whole)
		})
	}
}

func TestGigaChatLoop(t *testing.T) {
	t.Parallel()
	s := fixed()
	first := at(askGigaChat(t, s, request("chat", "weather and clock", gigachatFunctions)), "choices.0.message").(tree)
	if textAt(first, "function_call.name") != "weather" || textAt(first, "functions_state_id") == "" {
		t.Fatalf("%v", first)
	}
	if _, object := at(first, "function_call.arguments").(tree); !object {
		t.Fatalf("arguments %v", at(first, "function_call.arguments"))
	}
	loop := func(content string, change func()) *httptest.ResponseRecorder {
		change()
		messages, _ := json.Marshal([]any{tree{"role": "user", "content": "weather"}, first, tree{"role": "function", "name": "weather", "content": content}})
		return callGigaChat(t, s, fmt.Sprintf(`{"model":"chat","messages":%s,%s}`, messages, gigachatFunctions))
	}
	if w := loop(`{"sky":"clear"}`, func() {}); w.Code != 200 || !strings.Contains(w.Body.String(), `weather: {\"sky\":\"clear\"}`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := loop("clear", func() {}); w.Code != 422 || !strings.Contains(w.Body.String(), "function result is not valid json string") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := loop(`{}`, func() { at(first, "function_call.arguments").(tree)["city"] = "Rome" }); w.Code != 422 || !strings.Contains(w.Body.String(), "functions_state_id") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := loop(`{}`, func() { at(first, "function_call").(tree)["arguments"] = "{}" }); w.Code != 422 || !strings.Contains(w.Body.String(), "arguments must be an object") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestGigaChatFiles(t *testing.T) {
	t.Parallel()
	s := fixed()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	part, _ := form.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="file"; filename="a.png"`}, "Content-Type": {"image/png"}})
	raw, _ := base64.StdEncoding.DecodeString(png8)
	part.Write(raw)
	form.WriteField("purpose", "general")
	form.Close()
	w := post(s, "POST", "/api/v1/files", token(t, s)+"\nContent-Type: "+form.FormDataContentType(), b.String())
	id := textAt(readTree(t, w.Body.Bytes()), "id")
	got := askGigaChat(t, s, fmt.Sprintf(`{"model":"vision","messages":[{"role":"user","content":"what is it?","attachments":[%q]}]}`, id))
	if said := textAt(got, "choices.0.message.content"); !strings.Contains(said, "a.png png 8x8") {
		t.Errorf("%q", said)
	}
	if w := callGigaChat(t, s, `{"model":"vision","messages":[{"role":"user","content":"a","attachments":["x"]}]}`); w.Code != 404 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestGigaChatTokens(t *testing.T) {
	t.Parallel()
	now := time.Unix(1767225600, 0)
	s := sim.New(sim.Config{Key: "k", Now: func() time.Time { return now }})
	good := base64.StdEncoding.EncodeToString([]byte("client:k"))
	bad := base64.StdEncoding.EncodeToString([]byte("client:x"))
	for _, c := range []struct {
		name, headers, body string
		status              int
		want                string
	}{
		{"good", "Authorization: Basic " + good + "\n" + gigachatRequestID + "\n" + formHead, "scope=GIGACHAT_API_B2B", 200, `"expires_at":1767227400000`},
		{"no credentials", gigachatRequestID + "\n" + formHead, "scope=GIGACHAT_API_PERS", 400, "Can't decode 'Authorization' header"},
		{"wrong", "Authorization: Basic " + bad + "\n" + gigachatRequestID + "\n" + formHead, "scope=GIGACHAT_API_PERS", 401, "credentials doesn't match db data"},
		{"no RqUID", "Authorization: Basic " + good + "\n" + formHead, "scope=GIGACHAT_API_PERS", 400, "RqUID"},
		{"no scope", "Authorization: Basic " + good + "\n" + gigachatRequestID + "\n" + formHead, "a=b", 400, "scope is empty"},
		{"odd scope", "Authorization: Basic " + good + "\n" + gigachatRequestID + "\n" + formHead, "scope=ALL", 400, "scope from db not fully includes consumed scope"},
		{"JSON", "Authorization: Basic " + good + "\n" + gigachatRequestID, `{"scope":"GIGACHAT_API_PERS"}`, 415, "x-www-form-urlencoded"},
	} {
		w := post(s, "POST", "/api/v2/oauth", c.headers, c.body)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
	}
	held := token(t, s)
	ask := func(head string) *httptest.ResponseRecorder {
		return post(s, "POST", "/api/v1/chat/completions", head, request("echo", "a", ""))
	}
	now = now.Add(29 * time.Minute)
	if w := ask(held); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	now = now.Add(time.Minute)
	if w := ask(held); w.Code != 401 || w.Body.String() != `{"status":401,"message":"Token has expired"}` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, head := range []string{"", "Authorization: Bearer k", "Authorization: Bearer 99999999999999.x"} {
		if w := ask(head); w.Code != 401 {
			t.Errorf("%q: %d", head, w.Code)
		}
	}
	if w := post(s, "GET", "/api/v1/models", token(t, s), ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"id":"chat"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestGigaChatRefuses(t *testing.T) {
	t.Parallel()
	s := fixed()
	messages := func(s string) string { return `{"model":"chat","messages":[` + s + `]}` }
	for _, c := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"no JSON", `{`, 400, "invalid json"},
		{"no model", `{"messages":[]}`, 422, "model is required"},
		{"model", strings.Replace(request("chat", "a", ""), "chat", "GigaChat", 1), 404, "No such model"},
		{"no messages", `{"model":"chat"}`, 422, "messages is required"},
		{"role", messages(`{"role":"tool","content":"a"}`), 422, "messages[0].role must be one of 'system', 'user', 'assistant', 'function'"},
		{"parts", messages(`{"role":"user","content":[{"type":"text","text":"a"}]}`), 422, "messages[0].content must be a string"},
		{"late system", messages(`{"role":"user","content":"a"},{"role":"system","content":"b"}`), 422, "system message must be the first message"},
		{"function first", messages(`{"role":"function","name":"f","content":"{}"}`), 422, "function message must be after assistant message with function_call"},
		{"function without parameters", request("chat", "a", `"functions":[{"name":"f"}]`), 422, "functions[0].parameters is required"},
		{"forced unknown", request("chat", "a", gigachatFunctions+`,"function_call":{"name":"x"}`), 422, "function x is not described in functions"},
		{"required", request("chat", "a", gigachatFunctions+`,"function_call":"required"`), 422, "function_call must be one of 'none', 'auto'"},
		{"max_tokens", request("chat", "a", `"max_tokens":0`), 422, "max_tokens must be from 1"},
		{"format", request("chat", "a", `"response_format":{}`), 422, "response_format.type is required"},
	} {
		w := callGigaChat(t, s, c.body)
		body := readTree(t, w.Body.Bytes())
		if w.Code != c.status || numberAt(body, "status") != float64(c.status) || !strings.Contains(textAt(body, "message"), c.want) {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
	}
}

func TestGigaChatCache(t *testing.T) {
	t.Parallel()
	s := fixed()
	long := request("chat", strings.Repeat("a long prompt ", 600), "")
	use := func(more string) tree {
		w := post(s, "POST", "/api/v1/chat/completions", token(t, s)+more, long)
		return readTree(t, w.Body.Bytes())["usage"].(tree)
	}
	use("\nX-Session-ID: a")
	if got := use(""); numberAt(got, "precached_prompt_tokens") != 0 {
		t.Errorf("without session: %v", got)
	}
	got := use("\nX-Session-ID: a")
	if n := numberAt(got, "precached_prompt_tokens"); n < 1024 || numberAt(got, "prompt_tokens") > 1000 || numberAt(got, "total_tokens") != numberAt(got, "prompt_tokens")+numberAt(got, "completion_tokens") {
		t.Errorf("%v", got)
	}
}

func TestYandex(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{Key: "k"})
	for _, c := range []struct {
		head, model string
		status      int
		want        string
	}{
		{"Authorization: Api-Key k", "gpt://b1g/echo/latest", 200, `"model":"gpt://b1g/echo/latest"`},
		{"Authorization: Bearer k", "gpt://b1g/echo", 200, `"content":"a"`},
		{"Authorization: Bearer x", "gpt://b1g/echo", 401, "invalid_api_key"},
		{"", "gpt://b1g/echo", 401, "UNAUTHENTICATED"},
		{"Authorization: Api-Key k", "echo", 400, "Failed to parse model URI: 'echo'"},
		{"Authorization: Api-Key k", "gpt:///echo", 400, "Failed to parse model URI"},
		{"Authorization: Api-Key k", "gpt://b1g/other", 404, "model_not_found"},
	} {
		w := post(s, "POST", "/yandex/v1/chat/completions", c.head, request(c.model, "a", ""))
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s, %s: %d %s", c.head, c.model, w.Code, w.Body)
		}
	}
}
