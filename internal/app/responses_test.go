package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/sim"
)

// talker is a gateway whose models "native", "plain", "anthropic" and "gemini" are served on the wires of these names, by a simulator that
// counts the calls of each route.
type talker struct {
	*gateway
	mu    sync.Mutex
	paths map[string]int
	hold  chan struct{} // requests for the model "held" wait until it is closed
}

var wiresOfTalkers = []struct {
	provider, dialect, base string
	quirks                  catalog.Quirks
}{
	{"native", "openai", "/v1", catalog.Quirks{Responses: true}}, {"plain", "openai", "/v1", catalog.Quirks{}}, {"anthropic", "anthropic", "", catalog.Quirks{}}, {"gemini", "gemini", "/v1beta", catalog.Quirks{}},
}

func startTalker(t *testing.T, change ...func(*setup)) *talker {
	t.Helper()
	tk := &talker{paths: map[string]int{}, hold: make(chan struct{})}
	upstream := sim.New(sim.Config{})
	l := listen(t)
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		tk.mu.Lock()
		tk.paths[r.URL.Path]++
		tk.mu.Unlock()
		if bytes.Contains(body, []byte(`please hold`)) {
			select {
			case <-tk.hold:
			case <-r.Context().Done():
				return
			}
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		upstream.ServeHTTP(w, r)
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() {
		_ = server.Close()
		_ = upstream.Close(context.Background())
	})
	tk.gateway = startGateway(t, append([]func(*setup){func(s *setup) {
		for _, on := range wiresOfTalkers {
			s.Declared.Providers = append(s.Declared.Providers, catalog.Provider{ID: on.provider, Name: on.provider, Dialect: on.dialect, BaseURL: "http://" + l.Addr().String() + on.base, Key: "sk-" + on.provider, Quirks: on.quirks})
			for _, persona := range []string{"chat", "echo", "tools", "reason"} {
				s.Offers = append(s.Offers, offerOf(t, on.provider, on.provider+"/"+persona, persona))
			}
		}
	}}, change...)...)
	return tk
}

func (tk *talker) called(path string) int {
	tk.mu.Lock()
	defer tk.mu.Unlock()
	return tk.paths[path]
}

// object is a JSON object.
type object = map[string]any

// respond makes a response, which must succeed.
func (a *account) respond(t *testing.T, body object) object {
	t.Helper()
	got := a.do(t, http.MethodPost, "/v1/responses", body)
	if got.status != http.StatusOK {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	return parseObject(t, got)
}

func parseObject(t *testing.T, got *answer) object {
	t.Helper()
	var o object
	if err := json.Unmarshal(got.body, &o); err != nil {
		t.Fatalf("%v: %s", err, got.body)
	}
	return o
}

// refusal checks an error and returns its metadata.
func refusal(t *testing.T, got *answer, status int, kind string) object {
	t.Helper()
	e, _ := parseObject(t, got)["error"].(object)
	meta, _ := e["metadata"].(object)
	if got.status != status || meta["error_type"] != kind {
		t.Errorf("status %d, want %d %s: %s", got.status, status, kind, got.body)
	}
	return meta
}

func id(o object) string { s, _ := o["id"].(string); return s }

var weather = []any{object{"type": "function", "name": "weather", "description": "Tells the weather", "parameters": object{"type": "object", "properties": object{"city": object{"type": "string"}}, "required": []any{"city"}}}}

// One conversation continues by the id of its last response, over all wires, with tools and reasoning, and no provider refuses a turn.
func TestResponsesAcrossProviders(t *testing.T) {
	t.Parallel()
	tk := startTalker(t)
	for start := range wiresOfTalkers {
		t.Run(wiresOfTalkers[start].provider+" first", func(t *testing.T) {
			t.Parallel()
			account := tk.newAccount(t)
			at := func(i int) string { return wiresOfTalkers[(start+i)%len(wiresOfTalkers)].provider }
			last := account.respond(t, object{"model": at(0) + "/reason", "input": "My name is Weir. Think.", "reasoning": object{"effort": "low", "summary": "auto"}})
			for i := 1; i <= 12; i++ {
				body := object{"previous_response_id": id(last), "reasoning": object{"effort": "low"}, "stream": false}
				switch i % 3 {
				case 1: // the model calls a tool
					body["model"], body["input"], body["tool_choice"] = at(i)+"/tools", "What weather is it?", "required"
					body["tools"] = weather
				case 2: // another model gets the result
					body["model"], body["input"] = at(i)+"/tools", []any{object{"type": "function_call_output", "call_id": callOf(t, last), "output": fmt.Sprintf("sunny%d", i)}}
				case 0:
					body["model"], body["input"] = at(i)+"/reason", "And so on."
				}
				next := account.respond(t, body)
				if text, _ := next["output_text"].(string); i%3 == 2 && !strings.Contains(text, fmt.Sprintf("sunny%d", i)) || next["previous_response_id"] != id(last) {
					t.Errorf("turn %d: %v", i, next)
				}
				last = next
			}
		})
	}
	t.Cleanup(func() {
		for _, path := range []string{"/v1/responses", "/v1/chat/completions", "/v1/messages"} {
			if tk.called(path) == 0 {
				t.Errorf("nothing went to %s: %v", path, tk.paths)
			}
		}
	})
}

func callOf(t *testing.T, response object) string {
	t.Helper()
	for _, v := range response["output"].([]any) {
		if item := v.(object); item["type"] == "function_call" {
			return item["call_id"].(string)
		}
	}
	t.Fatalf("no call in %v", response)
	return ""
}

// Reasoning that is hidden from the client is still sent back to the provider.
func TestReasoningIsSentBack(t *testing.T) {
	t.Parallel()
	tk := startTalker(t)
	account := tk.newAccount(t)
	for _, on := range wiresOfTalkers {
		first := account.respond(t, object{"model": on.provider + "/tools", "input": "What weather is it?", "tools": weather, "reasoning": object{"effort": "low"}})
		if raw, _ := json.Marshal(first); bytes.Contains(raw, []byte("encrypted_content")) {
			t.Errorf("%s: shown without being asked for: %s", on.provider, raw)
		}
		account.respond(t, object{"model": on.provider + "/tools", "previous_response_id": id(first), "tools": weather, "reasoning": object{"effort": "low"},
			"input": []any{object{"type": "function_call_output", "call_id": callOf(t, first), "output": "rain"}}})
		// the same with reasoning that the client sends back, and nothing stored
		own := account.respond(t, object{"model": on.provider + "/tools", "input": "What weather is it?", "tools": weather, "store": false, "reasoning": object{"effort": "low"}})
		input := append([]any{object{"role": "user", "content": "What weather is it?"}}, own["output"].([]any)...)
		account.respond(t, object{"model": on.provider + "/tools", "store": false, "tools": weather, "reasoning": object{"effort": "low"},
			"input": append(input, object{"type": "function_call_output", "call_id": callOf(t, own), "output": "rain"})})
	}
}

func TestStoredResponses(t *testing.T) {
	t.Parallel()
	tk := startTalker(t)
	account, other := tk.newAccount(t), tk.newAccount(t)
	get := func(path string) *answer { return account.do(t, http.MethodGet, "/v1/responses/"+path, nil) }

	first := account.respond(t, object{"model": "plain/echo", "input": "one"})
	second := account.respond(t, object{"model": "native/echo", "previous_response_id": id(first), "input": []any{object{"role": "user", "content": "two"}, object{"id": "msg_mine", "role": "user", "content": "three"}}})
	stream := account.do(t, http.MethodPost, "/v1/responses", object{"model": "gemini/echo", "previous_response_id": id(second), "input": "four", "stream": true})
	third := stream.response(t, true)

	for _, want := range []object{first, second, third} {
		if got := parseObject(t, get(id(want))); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %v\nwant %v", got, want)
		}
	}
	refusal(t, get(id(first)+"?stream=true"), 400, "invalid_request")
	refusal(t, other.do(t, http.MethodGet, "/v1/responses/"+id(first), nil), 404, "not_found")
	refusal(t, other.do(t, http.MethodGet, "/v1/responses/"+id(first)+"/input_items", nil), 404, "not_found")
	refusal(t, other.do(t, http.MethodDelete, "/v1/responses/"+id(first), nil), 404, "not_found")
	refusal(t, account.do(t, http.MethodPost, "/v1/responses/"+id(first)+"/cancel", nil), 400, "invalid_request")
	refusal(t, other.do(t, http.MethodPost, "/v1/responses", object{"model": "plain/echo", "previous_response_id": id(first), "input": "x"}), 400, "previous_response_not_found")

	// the whole conversation, in pages
	said := func(path string) (texts, ids string, more any) {
		page := parseObject(t, get(id(third)+"/input_items"+path))
		for _, v := range page["data"].([]any) {
			item := v.(object)
			parts, ok := item["content"].([]any)
			if !ok {
				parts = []any{object{"text": item["content"]}}
			}
			texts += item["role"].(string) + ":" + parts[0].(object)["text"].(string) + " "
			ids += id(item) + " "
		}
		return texts, ids, page["has_more"]
	}
	texts, ids, more := said("?order=asc")
	if texts != "user:one assistant:one user:two user:three assistant:three user:four " || more != false || !strings.Contains(ids, "msg_mine ") {
		t.Errorf("%s %s %v", texts, ids, more)
	}
	if texts, _, more := said("?limit=2"); texts != "user:four assistant:three " || more != true {
		t.Errorf("%s %v", texts, more)
	}
	if texts, _, more := said("?order=asc&limit=2&after=" + strings.Fields(ids)[1]); texts != "user:two user:three " || more != true {
		t.Errorf("%s %v", texts, more)
	}
	for _, query := range []string{"?limit=0", "?limit=101", "?order=up", "?after=msg_none"} {
		refusal(t, get(id(third)+"/input_items"+query), 400, "invalid_request")
	}

	// items by their ids, of input and of output
	named := []any{object{"type": "item_reference", "id": strings.Fields(ids)[0]}, object{"type": "item_reference", "id": id(first["output"].([]any)[0].(object))}, object{"role": "user", "content": "five"}}
	for _, on := range wiresOfTalkers {
		referred := account.respond(t, object{"model": on.provider + "/echo", "input": named})
		if texts := parseObject(t, get(id(referred)+"/input_items?order=asc"))["data"].([]any); len(texts) != 3 || texts[1].(object)["role"] != "assistant" {
			t.Errorf("%v", texts)
		}
	}
	refusal(t, other.do(t, http.MethodPost, "/v1/responses", object{"model": "plain/echo", "input": named}), 404, "not_found")

	// a deleted response is gone, and its conversation with it
	if got := parseObject(t, account.do(t, http.MethodDelete, "/v1/responses/"+id(second), nil)); got["deleted"] != true || id(got) != id(second) {
		t.Errorf("%v", got)
	}
	refusal(t, get(id(second)), 404, "not_found")
	if got := get(id(third)); got.status != 200 {
		t.Errorf("%s", got.body)
	}
	meta := refusal(t, account.do(t, http.MethodPost, "/v1/responses", object{"model": "plain/echo", "previous_response_id": id(third), "input": "x"}), 400, "previous_response_not_found")
	if meta["param"] != "previous_response_id" {
		t.Errorf("%v", meta)
	}
	if texts, _, _ := said("?order=asc"); texts != "user:four " {
		t.Errorf("%s", texts)
	}

	// with store false, nothing is stored
	for _, body := range []object{{"store": false}, {"provider": object{"zdr": true, "allow_fallbacks": true}}} {
		body["model"], body["input"] = "plain/echo", "secret"
		got := account.do(t, http.MethodPost, "/v1/responses", body)
		if got.status == 404 { // no endpoint has zero retention
			continue
		}
		refusal(t, get(id(parseObject(t, got))), 404, "not_found")
	}
	count := parseObject(t, account.do(t, http.MethodPost, "/v1/responses/input_tokens", object{"model": "plain/echo", "input": "one two three"}))
	if count["object"] != "response.input_tokens" || count["input_tokens"].(float64) < 3 {
		t.Errorf("%v", count)
	}
	tk.wantBalanced(t)
}

func TestNothingIsStored(t *testing.T) {
	t.Parallel()
	tk := startTalker(t, func(s *setup) { s.Responses.Retention = 0 })
	account := tk.newAccount(t)
	first := account.respond(t, object{"model": "plain/reason", "input": "one"})
	if first["store"] != false {
		t.Errorf("%v", first)
	}
	refusal(t, account.do(t, http.MethodGet, "/v1/responses/"+id(first), nil), 404, "not_found")
	refusal(t, account.do(t, http.MethodPost, "/v1/responses", object{"model": "plain/echo", "previous_response_id": id(first), "input": "x"}), 400, "previous_response_not_found")
	refusal(t, account.do(t, http.MethodPost, "/v1/responses", object{"model": "plain/echo", "background": true, "input": "x"}), 400, "invalid_request")
}

// await polls a response until its status is final.
func (a *account) await(t *testing.T, response string) (o object) {
	t.Helper()
	waitFor(t, "the response "+response, func() bool {
		o = parseObject(t, a.do(t, http.MethodGet, "/v1/responses/"+response, nil))
		return o["status"] != "queued" && o["status"] != "in_progress"
	})
	return o
}

func TestBackground(t *testing.T) {
	t.Parallel()
	tk := startTalker(t)
	account := tk.newAccount(t)
	begin := func(body object) object {
		t.Helper()
		body["background"] = true
		got := account.do(t, http.MethodPost, "/v1/responses", body)
		o := parseObject(t, got)
		if got.status != 200 || o["status"] != "queued" || o["background"] != true || o["usage"] != nil {
			t.Fatalf("%d %s", got.status, got.body)
		}
		return o
	}
	held := begin(object{"model": "plain/echo", "input": "please hold"})
	again := object{"model": "plain/echo", "previous_response_id": id(held), "input": "x"}
	refusal(t, account.do(t, http.MethodPost, "/v1/responses", again), 400, "previous_response_not_found")
	lost := begin(object{"model": "plain/echo", "input": "please hold"})
	waitFor(t, "both to be under way", func() bool {
		return parseObject(t, account.do(t, http.MethodGet, "/v1/responses/"+id(lost), nil))["status"] == "in_progress" && tk.called("/v1/chat/completions") == 2
	})

	for range 2 { // a second cancellation gives the same result
		if got := parseObject(t, account.do(t, http.MethodPost, "/v1/responses/"+id(lost)+"/cancel", nil)); got["status"] != "cancelled" {
			t.Errorf("%v", got)
		}
	}
	close(tk.hold)
	if got := account.await(t, id(held)); got["status"] != "completed" || got["output_text"] != "please hold" || got["usage"] == nil {
		t.Errorf("%v", got)
	}
	if got := account.await(t, id(lost)); got["status"] != "cancelled" || got["output_text"] != "" {
		t.Errorf("%v", got)
	}
	if next := account.respond(t, again); next["output_text"] != "x" {
		t.Errorf("%v", next)
	}
	failed := account.await(t, id(begin(object{"model": "test/u15-status-500", "input": "x"})))
	if e, _ := failed["error"].(object); failed["status"] != "failed" || e["code"] != "server_error" || failed["error_type"] != "provider_unavailable" {
		t.Errorf("%v", failed)
	}
	account.wantNothingHeld(t)
	tk.wantBalanced(t)
}

// A stream in the background continues when its reader has left, and ends with an event when it is cancelled.
func TestBackgroundStream(t *testing.T) {
	t.Parallel()
	tk := startTalker(t)
	account := tk.newAccount(t)
	for _, leave := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		body := `{"model":"plain/echo","background":true,"stream":true,"input":"` + "[[sim gap=30ms]] one two three four five six seven eight nine ten" + `"}`
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, tk.url+"/v1/responses", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Authorization": {"Bearer " + account.key}, "Content-Type": {"application/json"}}
		res, err := tk.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		head := make([]byte, 400)
		if _, err := io.ReadFull(res.Body, head); err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(head), `"id":"`)
		response, _, _ := strings.Cut(rest, `"`)
		if leave {
			cancel()
			if got := account.await(t, response); got["status"] != "completed" || !strings.HasSuffix(got["output_text"].(string), "nine ten") {
				t.Errorf("%v", got)
			}
		} else {
			account.do(t, http.MethodPost, "/v1/responses/"+url.PathEscape(response)+"/cancel", nil)
			reported, err := io.ReadAll(res.Body)
			if err != nil || !bytes.Contains(reported, []byte("event: response.failed\n")) || !bytes.HasSuffix(reported, []byte("data: [DONE]\n\n")) {
				t.Errorf("%v %s", err, reported)
			}
			if got := account.await(t, response); got["status"] != "cancelled" {
				t.Errorf("%v", got)
			}
		}
		_ = res.Body.Close()
	}
}

// After a response was cancelled or deleted, its hold is no longer visible.
func TestCancelledResponseHoldsNothing(t *testing.T) {
	t.Parallel()
	tk := startTalker(t)
	account := tk.newAccount(t)
	for i := range 10 {
		got := parseObject(t, account.do(t, http.MethodPost, "/v1/responses", object{"model": "plain/echo", "input": "please hold", "background": true}))
		waitFor(t, "it to be under way", func() bool { return tk.called("/v1/chat/completions") == i+1 })
		if held := parse(t, account.credits(t).Reserved); held == 0 {
			t.Error("a response under way holds nothing")
		}
		if i%2 == 0 {
			account.do(t, http.MethodPost, "/v1/responses/"+id(got)+"/cancel", nil)
		} else {
			account.do(t, http.MethodDelete, "/v1/responses/"+id(got), nil)
		}
		account.wantNothingHeld(t)
	}
	close(tk.hold)
	tk.wantBalanced(t)
}
