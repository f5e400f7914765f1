package app_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/app/apptest"
	"weir/internal/catalog"
)

// conversation is one of two messages, as the public compliance suite of Open Responses compacts it, with a word in it.
func conversation(word string) []any {
	return []any{
		apptest.Object{"type": "message", "role": "user", "content": "We agreed to launch " + word + " on Tuesday."},
		apptest.Object{"type": "message", "role": "assistant", "content": "Understood: Tuesday."},
	}
}

// sealedOf is the compaction among the items of an output, which must be the last one and the only one.
func sealedOf(t *testing.T, output any) apptest.Object {
	t.Helper()
	list, _ := output.([]any)
	var found apptest.Object
	for i, v := range list {
		if item := v.(apptest.Object); item["type"] == "compaction" {
			if found != nil || i != len(list)-1 {
				t.Errorf("a compaction at %d of %v", i, list)
			}
			found = item
		}
	}
	text, _ := found["encrypted_content"].(string)
	if id, _ := found["id"].(string); text == "" || !strings.HasPrefix(id, "cmp_") || strings.Contains(text, "Another assistant") {
		t.Fatalf("no compaction in %v", output)
	}
	return found
}

// A conversation is compacted over each wire, charged as a call, and understood when it comes back over any other: by its own route
// (responses/compact was 404 in caozhiyuan/copilot-api#359 and lidge-jun/opencodex#2833), and by the item that Codex sends (which other gateways
// dropped: router-for-me/CLIProxyAPI#4848, Soju06/codex-lb#971).
func TestConversationsAreCompacted(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t)
	for i := range apptest.Dialects {
		name, next := apptest.Dialects[i].Name, apptest.Dialects[(i+1)%len(apptest.Dialects)].Name
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := c.NewAccount(t)
			word := fmt.Sprintf("K%dX", c.Cells.Add(1))
			got := a.Do(t, http.MethodPost, "/v1/responses/compact", apptest.Object{"model": name + "/echo", "prompt_cache_key": "a test", "input": conversation(word), "tools": weather, "tool_choice": "required",
				"text": apptest.Object{"format": apptest.Object{"type": "json_object"}}})
			o := apptest.ParseObject(t, got)
			usage, _ := o["usage"].(apptest.Object)
			if got.Status != 200 || o["object"] != "response.compaction" || !strings.HasPrefix(apptest.ID(o), "resp_") || o["created_at"] == nil || usage["total_tokens"] == nil {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
			output := o["output"].([]any)
			if first := output[0].(apptest.Object); len(output) != 2 || first["role"] != "user" || first["status"] != "completed" || !strings.Contains(fmt.Sprint(first["content"]), word) {
				t.Errorf("of the user: %v", first)
			}
			sealedOf(t, output)
			sent := c.Received(word)
			if len(sent) != 1 || !strings.Contains(string(sent[0].Body), "write a summary") || strings.Contains(string(sent[0].Body), "compaction_trigger") {
				t.Errorf("the model was asked %s", sent)
			}
			if cost, _ := usage["cost"].(float64); cost == 0 || fmt.Sprint(cost) != a.Credits(t).TotalUsage.String() {
				t.Errorf("charged are %s, %v by usage", a.Credits(t).TotalUsage, cost)
			}

			again := word + "Y"
			answer := a.Respond(t, apptest.Object{"model": next + "/echo", "store": false, "input": append(output, apptest.Object{"role": "user", "content": again})})
			sent = c.Received(again)
			if text, _ := answer["output_text"].(string); !strings.HasSuffix(text, again) || len(sent) != 1 || !strings.Contains(string(sent[0].Body), "This is a summary of the earlier conversation") ||
				!strings.Contains(string(sent[0].Body), "Another assistant will continue") || strings.Contains(string(sent[0].Body), "weir.c1") {
				t.Errorf("%q, sent was %s", answer["output_text"], sent)
			}

			for _, stream := range []bool{false, true} {
				got := a.Do(t, http.MethodPost, "/v1/responses", apptest.Object{"model": name + "/echo", "stream": stream, "store": false, "tools": weather,
					"input": append(conversation("again"), apptest.Object{"type": "compaction_trigger"})})
				answer := got.Response(t, stream)
				if sealedOf(t, answer["output"]); answer["status"] != "completed" || answer["output_text"] != "" {
					t.Errorf("streamed %v: %v", stream, answer)
				}
				if n := strings.Count(string(got.Body), `event: response.output_item.done`); stream && n != 1 {
					t.Errorf("%d items are done: %s", n, got.Body)
				}
			}
			// stored, and continued by its id
			first := a.Respond(t, apptest.Object{"model": name + "/echo", "input": append(conversation("stored"), apptest.Object{"type": "compaction_trigger"})})
			second := a.Respond(t, apptest.Object{"model": next + "/echo", "previous_response_id": apptest.ID(first), "input": "and on"})
			if text, _ := second["output_text"].(string); !strings.HasSuffix(text, "and on") || strings.Contains(text, "Understood") {
				t.Errorf("continued: %v", text)
			}
			a.WantNothingHeld(t)
		})
	}
}

// What cannot be compacted, and compactions that cannot be read, are refused before a provider is asked.
func TestCompactionsThatAreRefused(t *testing.T) {
	t.Parallel()
	tk := startTalker(t)
	a, other := tk.NewAccount(t), tk.NewAccount(t)
	o := apptest.ParseObject(t, a.Do(t, http.MethodPost, "/v1/responses/compact", apptest.Object{"model": "plain/echo", "input": "Hello"}))
	item := sealedOf(t, o["output"])
	altered := apptest.Object{"type": "compaction", "encrypted_content": strings.Replace(item["encrypted_content"].(string), "weir.c1.", "weir.c1.AAAA", 1)}
	before, spent := tk.called("/v1/chat/completions"), apptest.Parse(t, a.Credits(t).TotalUsage)
	trigger := apptest.Object{"type": "compaction_trigger"}
	for _, c := range []struct {
		name  string
		by    *apptest.Account
		path  string
		body  apptest.Object
		param string
	}{
		{"without a model", a, "/v1/responses/compact", apptest.Object{"input": "Hello"}, "model"},
		{"without a conversation", a, "/v1/responses/compact", apptest.Object{"model": "plain/echo"}, "input"},
		{"an input that is none", a, "/v1/responses/compact", apptest.Object{"model": "plain/echo", "input": 7}, "input"},
		{"as a stream", a, "/v1/responses/compact", apptest.Object{"model": "plain/echo", "input": "Hello", "stream": true}, "stream"},
		{"in the background", a, "/v1/responses/compact", apptest.Object{"model": "plain/echo", "input": "Hello", "background": "yes"}, "background"},
		{"a trigger alone", a, "/v1/responses", apptest.Object{"model": "plain/echo", "input": []any{trigger}}, "input"},
		{"a trigger in the middle", a, "/v1/responses", apptest.Object{"model": "plain/echo", "input": []any{trigger, apptest.Object{"role": "user", "content": "x"}}}, "input[1]"},
		{"of another account", other, "/v1/responses", apptest.Object{"model": "plain/echo", "input": []any{item, apptest.Object{"role": "user", "content": "x"}}}, "input[0].encrypted_content"},
		{"altered", a, "/v1/responses", apptest.Object{"model": "plain/echo", "input": []any{apptest.Object{"role": "user", "content": "x"}, altered}}, "input[1].encrypted_content"},
		{"altered, once more", a, "/v1/responses/compact", apptest.Object{"model": "plain/echo", "input": []any{altered}}, "input[0].encrypted_content"},
	} {
		got := c.by.Do(t, http.MethodPost, c.path, c.body)
		e, _ := apptest.ParseObject(t, got)["error"].(apptest.Object)
		if meta, _ := e["metadata"].(apptest.Object); got.Status != 400 || meta["param"] != c.param {
			t.Errorf("%s: %d, not of %s: %s", c.name, got.Status, c.param, got.Body)
		}
	}
	if after := tk.called("/v1/chat/completions"); after != before || apptest.Parse(t, a.Credits(t).TotalUsage) != spent || apptest.Parse(t, other.Credits(t).TotalUsage) != 0 {
		t.Errorf("%d calls after %d", after, before)
	}
	a.WantNothingHeld(t)
}

// TestNoSummaryIsNoCompaction has a model write no summary: the client gets an error, and keeps its conversation.
func TestNoSummaryIsNoCompaction(t *testing.T) {
	t.Parallel()
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":" "},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}}`)
	}))
	defer silent.Close()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		s.Declared.Providers = append(s.Declared.Providers, catalog.Provider{ID: "silent", Name: "Silent", Dialect: "openai", BaseURL: silent.URL + "/v1", Key: "sk-silent"})
		s.Offers = append(s.Offers, apptest.OfferOf(t, "silent", "silent/chat", "chat"))
	})
	a := gw.NewAccount(t)
	refusal(t, a.Do(t, http.MethodPost, "/v1/responses/compact", apptest.Object{"model": "silent/chat", "input": "Hello"}), 502, "provider_unavailable")
	o := a.Do(t, http.MethodPost, "/v1/responses", apptest.Object{"model": "silent/chat", "store": false, "input": append(conversation("x"), apptest.Object{"type": "compaction_trigger"})}).Response(t, false)
	if list := o["output"].([]any); o["status"] != "failed" || len(list) != 0 {
		t.Errorf("%v", o)
	}
}

// OpenAI's own API compacts by itself: it gets the trigger, and what it answers goes to the client as it is.
func TestOpenAICompactsByItself(t *testing.T) {
	t.Parallel()
	var asked string
	openai := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = r.URL.Path + " " + string(body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"chat","output":[{"id":"cmp_1","type":"compaction","encrypted_content":"gAAAAABpM0Yj"}],
			"usage":{"input_tokens":139,"input_tokens_details":{"cached_tokens":0},"output_tokens":438,"output_tokens_details":{"reasoning_tokens":64},"total_tokens":577}}`)
	}))
	defer openai.Close()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		s.Declared.Providers = append(s.Declared.Providers, catalog.Provider{ID: "openai", Name: "OpenAI", Dialect: "openai", BaseURL: openai.URL + "/v1", Key: "sk-openai", Quirks: catalog.Quirks{Responses: true}})
		s.Offers = append(s.Offers, apptest.OfferOf(t, "openai", "openai/chat", "chat"))
	})
	a := gw.NewAccount(t)
	o := apptest.ParseObject(t, a.Do(t, http.MethodPost, "/v1/responses/compact", apptest.Object{"model": "openai/chat", "input": conversation("it")}))
	if !strings.HasPrefix(asked, "/v1/responses ") || !strings.Contains(asked, `{"type":"compaction_trigger"}]`) || strings.Contains(asked, "write a summary") {
		t.Errorf("OpenAI got %s", asked)
	}
	if sealedOf(t, o["output"]); !strings.Contains(fmt.Sprint(o["output"]), "gAAAAABpM0Yj") && len(o["output"].([]any)) != 2 {
		t.Errorf("%v", o)
	}
	if usage, _ := o["usage"].(apptest.Object); fmt.Sprint(usage["total_tokens"]) != "577" {
		t.Errorf("usage %v", o["usage"])
	}
}
