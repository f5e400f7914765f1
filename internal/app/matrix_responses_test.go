package app_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// manner is a style of clients, with the wire of its providers, in the failure matrix.
type manner struct {
	name     string
	provider string // of the endpoints with the faults
	path     string
	ask      map[string]any // members of the request other than model, models and stream
}

var manners = []manner{
	{"chat", "works", "/v1/chat/completions", map[string]any{"messages": question}},
	{"responses", "works", "/v1/responses", map[string]any{"input": "Tell me about weirs.", "store": false}},
	{"responses over chat", "translated", "/v1/responses", map[string]any{"input": "Tell me about weirs.", "store": false}},
}

// responses reports whether the style is that of responses.
func (m *manner) responses() bool { return m.path == "/v1/responses" }

func (m *manner) slug(c *cell) string {
	if m.provider == "translated" {
		return "translated" + strings.TrimPrefix(c.slug(), "test")
	}
	return c.slug()
}

func (m *manner) call(t *testing.T, a *account, body map[string]any) *answer {
	t.Helper()
	for name, v := range m.ask {
		body[name] = v
	}
	got := a.do(t, http.MethodPost, m.path, body)
	got.responses = m.responses()
	return got
}

// events returns the data of a stream of the responses style. It checks the names of the events.
func (a *answer) events(t *testing.T) []map[string]any {
	t.Helper()
	text, done := strings.CutSuffix(string(a.body), "data: [DONE]\n\n")
	if !done || strings.Contains(text, "[DONE]") {
		t.Fatalf("a stream must end with exactly one [DONE]: %s", a.body)
	}
	var events []map[string]any
	for frame := range strings.SplitSeq(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		name, data, ok := strings.Cut(strings.TrimPrefix(frame, ": keep-alive\n"), "\ndata: ")
		var m map[string]any
		if err := json.Unmarshal([]byte(data), &m); !ok || err != nil || name != "event: "+m["type"].(string) || m["sequence_number"] != float64(len(events)) {
			t.Fatalf("not event %d (%v): %q", len(events), err, frame)
		}
		events = append(events, m)
	}
	if len(events) < 3 || events[0]["type"] != "response.created" || events[1]["type"] != "response.in_progress" {
		t.Fatalf("a stream begins with response.created and response.in_progress: %s", a.body)
	}
	return events
}

// response returns the object of a whole answer, or the one at the end of a stream.
func (a *answer) response(t *testing.T, stream bool) map[string]any {
	t.Helper()
	if stream {
		events := a.events(t)
		last := events[len(events)-1]
		object, ok := last["response"].(map[string]any)
		if !ok || last["type"] != "response."+object["status"].(string) {
			t.Fatalf("not the end of a stream: %v", last)
		}
		return object
	}
	var m map[string]any
	if err := json.Unmarshal(a.body, &m); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	return m
}

func (a *answer) wantFailedResponse(t *testing.T) {
	t.Helper()
	object := a.response(t, true)
	failure, _ := object["error"].(map[string]any)
	if object["status"] != "failed" || failure["code"] == "" || failure["message"] == "" || object["error_type"] == nil {
		t.Errorf("a broken stream ended with %v", object)
	}
}

func (a *answer) wantCompleteResponse(t *testing.T, stream bool) {
	t.Helper()
	object := a.response(t, stream)
	if object["status"] != "completed" || object["output_text"] == "" || object["usage"] == nil || object["error"] != nil {
		t.Errorf("not a complete answer: %s", a.body)
	}
}

// reportedOfResponse returns the id, model, usage and cost in a response.
func (a *answer) reportedOfResponse(t *testing.T, stream bool) reported {
	t.Helper()
	raw, err := json.Marshal(a.response(t, stream))
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Model string
		Usage struct {
			InputTokens  int64       `json:"input_tokens"`
			OutputTokens int64       `json:"output_tokens"`
			Cost         json.Number `json:"cost"`
		}
	}
	if err := json.Unmarshal(raw, &m); err != nil || a.status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", a.status, err, a.body)
	}
	return reported{a.header.Get("X-Generation-Id"), m.Model, m.Usage.InputTokens, m.Usage.OutputTokens, parse(t, m.Usage.Cost)}
}
