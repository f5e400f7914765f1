package world_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// signatures are what a recorded answer has that must come back: signatures of thinking and of calls.
var signatures = map[string]*regexp.Regexp{
	"anthropic": regexp.MustCompile(`"signature":\s?"([^"]{20,})"`),
	"gemini":    regexp.MustCompile(`"thoughtSignature":\s?"([^"]{20,})"`),
}

// TestRecordedAnswersGoBack sends the answer that Weir makes of a recording back to it, as a client of each style keeps it: the provider gets its
// signatures as it wrote them.
func TestRecordedAnswersGoBack(t *testing.T) {
	t.Parallel()
	var all []*recording
	for i, is := range recordings() {
		if re := signatures[is.Wire]; re != nil && is.Status == http.StatusOK && !is.Stream && re.MatchString(is.Body) && (!testing.Short() || i%16 == 0) {
			all = append(all, is)
		}
	}
	r := startReplay(t, all)
	for _, is := range all {
		for s := chatStyle; s < noStyle; s++ {
			if wireOfStyle[s] == is.Wire {
				continue // TestRecordedRequests has real second turns
			}
			path, body := is.ask(s, false)
			if s == responsesStyle { // as clients that keep the conversation themselves
				body = append([]byte(`{"include":["reasoning.encrypted_content"],"store":false,`), body[1:]...)
			}
			got := r.key.Send(t, http.MethodPost, path, body, nil)
			if got.Status != http.StatusOK {
				continue // TestRecordings says whether that is right
			}
			var asked, heard object
			if json.Unmarshal(body, &asked) != nil || json.Unmarshal(got.Body, &heard) != nil {
				t.Fatalf("%s\n%s", body, got.Body)
			}
			answerBack(s, asked, heard)
			again, _ := json.Marshal(asked) //nolint:errchkjson // decoded
			got = r.key.Send(t, http.MethodPost, path, again, nil)
			sent := r.sent(is.ID).Body
			for _, m := range signatures[is.Wire].FindAllStringSubmatch(is.Body, -1) {
				if !bytes.Contains(sent, []byte(m[1])) {
					t.Errorf("%s in %s (%s, %s): %.40s... is missing in the next request (%d): %.1500s", is.ID, styleNames[s], is.Wire, is.File, m[1], got.Status, again)
				}
			}
		}
	}
}

// answerBack adds an answer to a request, with a result for each call.
func answerBack(s style, asked, heard object) {
	var turn, results []any
	result := func(v object) { results = append(results, v) }
	switch s {
	case chatStyle:
		message := obj(obj(list(heard["choices"])[0])["message"])
		for _, c := range list(message["tool_calls"]) {
			result(object{"role": "tool", "tool_call_id": obj(c)["id"], "content": "done"})
		}
		turn = []any{message}
	case responsesStyle:
		turn = list(heard["output"])
		for _, item := range turn {
			if strings.HasSuffix(str(obj(item)["type"]), "function_call") {
				result(object{"type": "function_call_output", "call_id": obj(item)["call_id"], "output": "done"})
			}
		}
		asked["input"] = []any{object{"role": "user", "content": asked["input"]}}
	case messagesStyle:
		var content []any
		for _, b := range list(heard["content"]) {
			if obj(b)["type"] == "tool_use" {
				content = append(content, object{"type": "tool_result", "tool_use_id": obj(b)["id"], "content": "done"})
			}
		}
		turn = []any{object{"role": "assistant", "content": heard["content"]}}
		result(object{"role": "user", "content": append(content, object{"type": "text", "text": "Go on."})})
	case geminiStyle:
		message := obj(obj(list(heard["candidates"])[0])["content"])
		var parts []any
		for _, p := range list(message["parts"]) {
			if c := obj(obj(p)["functionCall"]); c != nil {
				parts = append(parts, object{"functionResponse": object{"id": c["id"], "name": c["name"], "response": object{"output": "done"}}})
			}
		}
		turn = []any{message}
		result(object{"role": "user", "parts": append(parts, object{"text": "Go on."})})
	}
	member := [...]string{chatStyle: "messages", responsesStyle: "input", messagesStyle: "messages", geminiStyle: "contents"}[s]
	asked[member] = append(append(list(asked[member]), turn...), results...)
	if s == chatStyle || s == responsesStyle {
		asked[member] = append(list(asked[member]), object{"role": "user", "content": "Go on."})
	}
}
