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

	"weir/internal/app/apptest"
	"weir/internal/catalog"
	"weir/internal/sim"
)

// talker is a gateway whose models "native", "plain", "anthropic" and "gemini" are served on the wires of these names, by a simulator that
// counts the calls of each route.
type talker struct {
	*apptest.Gateway
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

func startTalker(t *testing.T, change ...func(*apptest.Setup)) *talker {
	t.Helper()
	tk := &talker{paths: map[string]int{}, hold: make(chan struct{})}
	upstream := sim.New(sim.Config{})
	l := apptest.Listen(t)
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
	tk.Gateway = apptest.StartGateway(t, append([]func(*apptest.Setup){func(s *apptest.Setup) {
		for _, on := range wiresOfTalkers {
			s.Declared.Providers = append(s.Declared.Providers, catalog.Provider{ID: on.provider, Name: on.provider, Dialect: on.dialect, BaseURL: "http://" + l.Addr().String() + on.base, Key: "sk-" + on.provider, Quirks: on.quirks})
			for _, persona := range []string{"chat", "echo", "tools", "reason"} {
				s.Offers = append(s.Offers, apptest.OfferOf(t, on.provider, on.provider+"/"+persona, persona))
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

// refusal checks an error and returns its metadata.
func refusal(t *testing.T, got *apptest.Answer, status int, kind string) apptest.Object {
	t.Helper()
	e, _ := apptest.ParseObject(t, got)["error"].(apptest.Object)
	meta, _ := e["metadata"].(apptest.Object)
	if got.Status != status || meta["error_type"] != kind {
		t.Errorf("status %d, want %d %s: %s", got.Status, status, kind, got.Body)
	}
	return meta
}

var weather = []any{apptest.Object{"type": "function", "name": "weather", "description": "Tells the weather", "parameters": apptest.Object{"type": "object", "properties": apptest.Object{"city": apptest.Object{"type": "string"}}, "required": []any{"city"}}}}

// One conversation continues by the id of its last response, over all wires, with tools and reasoning, and no provider refuses a turn.
func TestResponsesAcrossProviders(t *testing.T) {
	t.Parallel()
	tk := startTalker(t)
	for start := range wiresOfTalkers {
		t.Run(wiresOfTalkers[start].provider+" first", func(t *testing.T) {
			t.Parallel()
			account := tk.NewAccount(t)
			at := func(i int) string { return wiresOfTalkers[(start+i)%len(wiresOfTalkers)].provider }
			last := account.Respond(t, apptest.Object{"model": at(0) + "/reason", "input": "My name is Weir. Think.", "reasoning": apptest.Object{"effort": "low", "summary": "auto"}})
			for i := 1; i <= 12; i++ {
				body := apptest.Object{"previous_response_id": apptest.ID(last), "reasoning": apptest.Object{"effort": "low"}, "stream": false}
				switch i % 3 {
				case 1: // the model calls a tool
					body["model"], body["input"], body["tool_choice"] = at(i)+"/tools", "What weather is it?", "required"
					body["tools"] = weather
				case 2: // another model gets the result
					body["model"], body["input"] = at(i)+"/tools", []any{apptest.Object{"type": "function_call_output", "call_id": callOf(t, last), "output": fmt.Sprintf("sunny%d", i)}}
				case 0:
					body["model"], body["input"] = at(i)+"/reason", "And so on."
				}
				next := account.Respond(t, body)
				if text, _ := next["output_text"].(string); i%3 == 2 && !strings.Contains(text, fmt.Sprintf("sunny%d", i)) || next["previous_response_id"] != apptest.ID(last) {
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

func callOf(t *testing.T, response apptest.Object) string {
	t.Helper()
	for _, v := range response["output"].([]any) {
		if item := v.(apptest.Object); item["type"] == "function_call" {
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
	account := tk.NewAccount(t)
	for _, on := range wiresOfTalkers {
		first := account.Respond(t, apptest.Object{"model": on.provider + "/tools", "input": "What weather is it?", "tools": weather, "reasoning": apptest.Object{"effort": "low"}})
		if raw, _ := json.Marshal(first); bytes.Contains(raw, []byte("encrypted_content")) {
			t.Errorf("%s: shown without being asked for: %s", on.provider, raw)
		}
		account.Respond(t, apptest.Object{"model": on.provider + "/tools", "previous_response_id": apptest.ID(first), "tools": weather, "reasoning": apptest.Object{"effort": "low"},
			"input": []any{apptest.Object{"type": "function_call_output", "call_id": callOf(t, first), "output": "rain"}}})
		// the same with reasoning that the client sends back, and nothing stored
		own := account.Respond(t, apptest.Object{"model": on.provider + "/tools", "input": "What weather is it?", "tools": weather, "store": false, "reasoning": apptest.Object{"effort": "low"}})
		input := append([]any{apptest.Object{"role": "user", "content": "What weather is it?"}}, own["output"].([]any)...)
		account.Respond(t, apptest.Object{"model": on.provider + "/tools", "store": false, "tools": weather, "reasoning": apptest.Object{"effort": "low"},
			"input": append(input, apptest.Object{"type": "function_call_output", "call_id": callOf(t, own), "output": "rain"})})
	}
}

func TestStoredResponses(t *testing.T) {
	t.Parallel()
	tk := startTalker(t)
	account, other := tk.NewAccount(t), tk.NewAccount(t)
	get := func(path string) *apptest.Answer { return account.Do(t, http.MethodGet, "/v1/responses/"+path, nil) }

	first := account.Respond(t, apptest.Object{"model": "plain/echo", "input": "one"})
	second := account.Respond(t, apptest.Object{"model": "native/echo", "previous_response_id": apptest.ID(first), "input": []any{apptest.Object{"role": "user", "content": "two"}, apptest.Object{"id": "msg_mine", "role": "user", "content": "three"}}})
	stream := account.Do(t, http.MethodPost, "/v1/responses", apptest.Object{"model": "gemini/echo", "previous_response_id": apptest.ID(second), "input": "four", "stream": true})
	third := stream.Response(t, true)

	for _, want := range []apptest.Object{first, second, third} {
		if got := apptest.ParseObject(t, get(apptest.ID(want))); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %v\nwant %v", got, want)
		}
	}
	refusal(t, get(apptest.ID(first)+"?stream=true"), 400, "invalid_request")
	refusal(t, other.Do(t, http.MethodGet, "/v1/responses/"+apptest.ID(first), nil), 404, "not_found")
	refusal(t, other.Do(t, http.MethodGet, "/v1/responses/"+apptest.ID(first)+"/input_items", nil), 404, "not_found")
	refusal(t, other.Do(t, http.MethodDelete, "/v1/responses/"+apptest.ID(first), nil), 404, "not_found")
	refusal(t, account.Do(t, http.MethodPost, "/v1/responses/"+apptest.ID(first)+"/cancel", nil), 400, "invalid_request")
	refusal(t, other.Do(t, http.MethodPost, "/v1/responses", apptest.Object{"model": "plain/echo", "previous_response_id": apptest.ID(first), "input": "x"}), 400, "previous_response_not_found")

	// the whole conversation, in pages
	said := func(path string) (texts, ids string, more any) {
		page := apptest.ParseObject(t, get(apptest.ID(third)+"/input_items"+path))
		for _, v := range page["data"].([]any) {
			item := v.(apptest.Object)
			parts, ok := item["content"].([]any)
			if !ok {
				parts = []any{apptest.Object{"text": item["content"]}}
			}
			texts += item["role"].(string) + ":" + parts[0].(apptest.Object)["text"].(string) + " "
			ids += apptest.ID(item) + " "
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
		refusal(t, get(apptest.ID(third)+"/input_items"+query), 400, "invalid_request")
	}

	// items by their ids, of input and of output
	named := []any{apptest.Object{"type": "item_reference", "id": strings.Fields(ids)[0]}, apptest.Object{"type": "item_reference", "id": apptest.ID(first["output"].([]any)[0].(apptest.Object))}, apptest.Object{"role": "user", "content": "five"}}
	for _, on := range wiresOfTalkers {
		referred := account.Respond(t, apptest.Object{"model": on.provider + "/echo", "input": named})
		if texts := apptest.ParseObject(t, get(apptest.ID(referred)+"/input_items?order=asc"))["data"].([]any); len(texts) != 3 || texts[1].(apptest.Object)["role"] != "assistant" {
			t.Errorf("%v", texts)
		}
	}
	refusal(t, other.Do(t, http.MethodPost, "/v1/responses", apptest.Object{"model": "plain/echo", "input": named}), 404, "not_found")

	// a deleted response is gone, and its conversation with it
	if got := apptest.ParseObject(t, account.Do(t, http.MethodDelete, "/v1/responses/"+apptest.ID(second), nil)); got["deleted"] != true || apptest.ID(got) != apptest.ID(second) {
		t.Errorf("%v", got)
	}
	refusal(t, get(apptest.ID(second)), 404, "not_found")
	if got := get(apptest.ID(third)); got.Status != 200 {
		t.Errorf("%s", got.Body)
	}
	meta := refusal(t, account.Do(t, http.MethodPost, "/v1/responses", apptest.Object{"model": "plain/echo", "previous_response_id": apptest.ID(third), "input": "x"}), 400, "previous_response_not_found")
	if meta["param"] != "previous_response_id" {
		t.Errorf("%v", meta)
	}
	if texts, _, _ := said("?order=asc"); texts != "user:four " {
		t.Errorf("%s", texts)
	}

	// with store false, nothing is stored
	for _, body := range []apptest.Object{{"store": false}, {"provider": apptest.Object{"zdr": true, "allow_fallbacks": true}}} {
		body["model"], body["input"] = "plain/echo", "secret"
		got := account.Do(t, http.MethodPost, "/v1/responses", body)
		if got.Status == 404 { // no endpoint has zero retention
			continue
		}
		refusal(t, get(apptest.ID(apptest.ParseObject(t, got))), 404, "not_found")
	}
	count := apptest.ParseObject(t, account.Do(t, http.MethodPost, "/v1/responses/input_tokens", apptest.Object{"model": "plain/echo", "input": "one two three"}))
	if count["object"] != "response.input_tokens" || count["input_tokens"].(float64) < 3 {
		t.Errorf("%v", count)
	}
	tk.WantBalanced(t)
}

func TestNothingIsStored(t *testing.T) {
	t.Parallel()
	tk := startTalker(t, func(s *apptest.Setup) { s.Responses.KeepFor = 0 })
	account := tk.NewAccount(t)
	first := account.Respond(t, apptest.Object{"model": "plain/reason", "input": "one"})
	if first["store"] != false {
		t.Errorf("%v", first)
	}
	refusal(t, account.Do(t, http.MethodGet, "/v1/responses/"+apptest.ID(first), nil), 404, "not_found")
	refusal(t, account.Do(t, http.MethodPost, "/v1/responses", apptest.Object{"model": "plain/echo", "previous_response_id": apptest.ID(first), "input": "x"}), 400, "previous_response_not_found")
	refusal(t, account.Do(t, http.MethodPost, "/v1/responses", apptest.Object{"model": "plain/echo", "background": true, "input": "x"}), 400, "invalid_request")
}

func TestBackground(t *testing.T) {
	t.Parallel()
	tk := startTalker(t)
	account := tk.NewAccount(t)
	begin := func(body apptest.Object) apptest.Object {
		t.Helper()
		body["background"] = true
		got := account.Do(t, http.MethodPost, "/v1/responses", body)
		o := apptest.ParseObject(t, got)
		if got.Status != 200 || o["status"] != "queued" || o["background"] != true || o["usage"] != nil {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		return o
	}
	held := begin(apptest.Object{"model": "plain/echo", "input": "please hold"})
	again := apptest.Object{"model": "plain/echo", "previous_response_id": apptest.ID(held), "input": "x"}
	refusal(t, account.Do(t, http.MethodPost, "/v1/responses", again), 400, "previous_response_not_found")
	lost := begin(apptest.Object{"model": "plain/echo", "input": "please hold"})
	apptest.WaitFor(t, "both to be under way", func() bool {
		return apptest.ParseObject(t, account.Do(t, http.MethodGet, "/v1/responses/"+apptest.ID(lost), nil))["status"] == "in_progress" && tk.called("/v1/chat/completions") == 2
	})

	for range 2 { // a second cancellation gives the same result
		if got := apptest.ParseObject(t, account.Do(t, http.MethodPost, "/v1/responses/"+apptest.ID(lost)+"/cancel", nil)); got["status"] != "cancelled" {
			t.Errorf("%v", got)
		}
	}
	close(tk.hold)
	if got := account.Await(t, apptest.ID(held)); got["status"] != "completed" || got["output_text"] != "please hold" || got["usage"] == nil {
		t.Errorf("%v", got)
	}
	if got := account.Await(t, apptest.ID(lost)); got["status"] != "cancelled" || got["output_text"] != "" {
		t.Errorf("%v", got)
	}
	if next := account.Respond(t, again); next["output_text"] != "x" {
		t.Errorf("%v", next)
	}
	failed := account.Await(t, apptest.ID(begin(apptest.Object{"model": "test/u15-status-500", "input": "x"})))
	if e, _ := failed["error"].(apptest.Object); failed["status"] != "failed" || e["code"] != "server_error" || failed["error_type"] != "provider_unavailable" {
		t.Errorf("%v", failed)
	}
	account.WantNothingHeld(t)
	tk.WantBalanced(t)
}

// A stream in the background continues when its reader has left, and ends with an event when it is cancelled.
func TestBackgroundStream(t *testing.T) {
	t.Parallel()
	tk := startTalker(t)
	account := tk.NewAccount(t)
	for _, leave := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		body := `{"model":"plain/echo","background":true,"stream":true,"input":"` + "[[sim gap=30ms]] one two three four five six seven eight nine ten" + `"}`
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, tk.URL+"/v1/responses", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Authorization": {"Bearer " + account.Key}, "Content-Type": {"application/json"}}
		res, err := tk.Client.Do(req)
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
			if got := account.Await(t, response); got["status"] != "completed" || !strings.HasSuffix(got["output_text"].(string), "nine ten") {
				t.Errorf("%v", got)
			}
		} else {
			account.Do(t, http.MethodPost, "/v1/responses/"+url.PathEscape(response)+"/cancel", nil)
			reported, err := io.ReadAll(res.Body)
			if err != nil || !bytes.Contains(reported, []byte("event: response.failed\n")) || !bytes.HasSuffix(reported, []byte("data: [DONE]\n\n")) {
				t.Errorf("%v %s", err, reported)
			}
			if got := account.Await(t, response); got["status"] != "cancelled" {
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
	account := tk.NewAccount(t)
	for i := range 10 {
		got := apptest.ParseObject(t, account.Do(t, http.MethodPost, "/v1/responses", apptest.Object{"model": "plain/echo", "input": "please hold", "background": true}))
		apptest.WaitFor(t, "it to be under way", func() bool { return tk.called("/v1/chat/completions") == i+1 })
		if held := apptest.Parse(t, account.Credits(t).Reserved); held == 0 {
			t.Error("a response under way holds nothing")
		}
		if i%2 == 0 {
			account.Do(t, http.MethodPost, "/v1/responses/"+apptest.ID(got)+"/cancel", nil)
		} else {
			account.Do(t, http.MethodDelete, "/v1/responses/"+apptest.ID(got), nil)
		}
		account.WantNothingHeld(t)
	}
	close(tk.hold)
	tk.WantBalanced(t)
}
