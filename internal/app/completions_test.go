package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/internal/app/apptest"
)

// legacy joins the frames of a stream of the legacy style: its texts by choice, all ids, the finish reasons, and the usage.
func legacy(t *testing.T, body []byte) (texts map[float64]string, ids map[string]bool, finishes map[float64]any, usage any) {
	t.Helper()
	texts, ids, finishes = map[float64]string{}, map[string]bool{}, map[float64]any{}
	frames := strings.Split(strings.TrimSpace(string(body)), "\n\n")
	if frames[len(frames)-1] != "data: [DONE]" {
		t.Errorf("the end is %q", frames[len(frames)-1])
	}
	for _, f := range frames[:len(frames)-1] {
		data, ok := strings.CutPrefix(f, "data: ")
		if !ok {
			continue
		}
		o := apptest.ParseObject(t, &apptest.Answer{Status: 200, Body: []byte(data)})
		if o["object"] != "text_completion" {
			t.Errorf("a frame is %s", data)
		}
		ids[apptest.ID(o)] = true
		for _, v := range o["choices"].([]any) {
			c := v.(apptest.Object)
			index := c["index"].(float64)
			texts[index] += c["text"].(string)
			if c["finish_reason"] != nil {
				finishes[index] = c["finish_reason"]
			}
		}
		if o["usage"] != nil {
			usage = o["usage"]
		}
	}
	return texts, ids, finishes, usage
}

// The legacy style works over each wire, whole and streamed, and costs what the same chat costs. echo, n and logprobs do what they say: servers
// that accepted and ignored them are raullenchai/Rapid-MLX#461 and #733; those that answered in the shape of the chat style tensorchord/modelz-llm#83.
func TestLegacyCompletions(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t)
	for i := range apptest.Dialects {
		name := apptest.Dialects[i].Name
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := c.NewAccount(t)
			ask := func(body apptest.Object) *apptest.Answer {
				body["model"] = name + "/echo"
				return a.Do(t, http.MethodPost, "/v1/completions", body)
			}
			for _, prompt := range []any{"Over the weir", []any{"Over the weir"}} {
				got := ask(apptest.Object{"prompt": prompt, "max_tokens": 100})
				o := apptest.ParseObject(t, got)
				choices, _ := o["choices"].([]any)
				if got.Status != 200 || o["object"] != "text_completion" || len(choices) != 1 {
					t.Fatalf("%d %s", got.Status, got.Body)
				}
				choice := choices[0].(apptest.Object)
				if choice["text"] != "Over the weir" || choice["finish_reason"] != "stop" || choice["logprobs"] != nil || choice["index"] != 0.0 || choice["message"] != nil {
					t.Errorf("%v", choice)
				}
				usage := o["usage"].(apptest.Object)
				if usage["completion_tokens"] != 3.0 || usage["cost"] == 0.0 {
					t.Errorf("usage %v", usage)
				}
			}
			if o := apptest.ParseObject(t, ask(apptest.Object{"prompt": "Over", "echo": true})); o["choices"].([]any)[0].(apptest.Object)["text"] != "OverOver" {
				t.Errorf("echo: %v", o["choices"])
			}
			long := ask(apptest.Object{"prompt": strings.Repeat("word ", 40)}) // the documented default is 16
			if choice := apptest.ParseObject(t, long)["choices"].([]any)[0].(apptest.Object); choice["finish_reason"] != "length" || strings.Count(choice["text"].(string), "word") != 16 {
				t.Errorf("without max_tokens: %v", choice)
			}
			for _, usageAsked := range []bool{false, true} {
				body := apptest.Object{"prompt": "Over the weir", "stream": true, "echo": usageAsked, "max_tokens": 100}
				want := "Over the weir"
				if usageAsked {
					body["stream_options"], want = apptest.Object{"include_usage": true}, want+want
				}
				got := ask(body)
				texts, ids, finishes, usage := legacy(t, got.Body)
				if texts[0] != want || len(ids) != 1 || finishes[0] != "stop" || usage == nil {
					t.Errorf("%q, ids %v, %v, usage %v: %s", texts[0], ids, finishes, usage, got.Body)
				}
			}
			a.WantNothingHeld(t)
		})
	}
	a := c.NewAccount(t)
	for _, stream := range []bool{false, true} {
		got := a.Do(t, http.MethodPost, "/v1/completions", apptest.Object{"model": "openai/chat", "prompt": "Tell me.", "n": 2, "best_of": 2, "logprobs": 2, "stream": stream, "max_tokens": 20})
		if stream {
			if texts, _, finishes, _ := legacy(t, got.Body); len(texts) != 2 || texts[0] == "" || texts[0] == texts[1] || len(finishes) != 2 {
				t.Errorf("%v, %v", texts, finishes)
			}
			continue
		}
		choices := apptest.ParseObject(t, got)["choices"].([]any)
		if len(choices) != 2 {
			t.Fatalf("%s", got.Body)
		}
		for _, v := range choices {
			choice := v.(apptest.Object)
			probs, _ := choice["logprobs"].(apptest.Object)
			tokens, _ := probs["tokens"].([]any)
			offsets, _ := probs["text_offset"].([]any)
			values, _ := probs["token_logprobs"].([]any)
			tops, _ := probs["top_logprobs"].([]any)
			joined := ""
			for i, token := range tokens {
				if offsets[i] != float64(len([]rune(joined))) {
					t.Errorf("token %d is at %v, not at %d", i, offsets[i], len(joined))
				}
				joined += token.(string)
				if _, ok := values[i].(float64); !ok || len(tops[i].(apptest.Object)) != 2 {
					t.Errorf("token %d: %v, %v", i, values[i], tops[i])
				}
			}
			if joined == "" || joined != choice["text"] {
				t.Errorf("%q of %q", joined, choice["text"])
			}
		}
	}
}

// What chat models cannot do is refused by name, and costs nothing.
func TestLegacyCompletionsThatAreRefused(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	a := gw.NewAccount(t)
	before := gw.Attempts()
	for _, c := range []struct{ body, param string }{
		{`{"model":"test/next"}`, "prompt"}, {`{"model":"test/next","prompt":null}`, "prompt"}, {`{"model":"test/next","prompt":7}`, "prompt"}, {`{"model":"test/next","prompt":[]}`, "prompt"},
		{`{"model":"test/next","prompt":["a","b"]}`, "prompt"}, {`{"model":"test/next","prompt":[1212,318]}`, "prompt"}, {`{"model":"test/next","prompt":[[1212,318]]}`, "prompt"}, {`{"model":"test/next","prompt":["a",{}]}`, "prompt[1]"},
		{`{"prompt":"a"}`, "model"}, {`{"model":"test/next","prompt":"a","suffix":"b"}`, "suffix"}, {`{"model":"test/next","prompt":"a","echo":"yes"}`, "echo"}, {`{"model":"test/next","prompt":"a","echo":true,"logprobs":1}`, "echo"},
		{`{"model":"test/next","prompt":"a","logprobs":true}`, "logprobs"}, {`{"model":"test/next","prompt":"a","logprobs":6}`, "logprobs"}, {`{"model":"test/next","prompt":"a","best_of":2}`, "best_of"},
		{`{"model":"test/next","prompt":"a","n":3,"best_of":2}`, "best_of"}, {`{"model":"test/next","prompt":"a","n":0}`, "n"}, {`{"model":"test/next","prompt":"a","max_tokens":0}`, "max_tokens"},
		{`{"model":"test/next","prompt":"a","messages":[]}`, "messages"}, {`{"model":"test/next","prompt":"a","tools":[]}`, "tools"}, {`{"model":"test/next","prompt":"a","temperature":3}`, "temperature"},
	} {
		got := a.Send(t, http.MethodPost, "/v1/completions", []byte(c.body), map[string]string{"Content-Type": "application/json"})
		e, _ := apptest.ParseObject(t, got)["error"].(apptest.Object)
		if meta, _ := e["metadata"].(apptest.Object); got.Status != 400 || meta["param"] != c.param {
			t.Errorf("%s: %d %s", c.body, got.Status, got.Body)
		}
	}
	if n := gw.Attempts(); n != before || fmt.Sprint(a.Credits(t).TotalUsage) != "0" {
		t.Errorf("%d upstream requests, %s was charged", n-before, a.Credits(t).TotalUsage)
	}
	a.WantNothingHeld(t)
}
