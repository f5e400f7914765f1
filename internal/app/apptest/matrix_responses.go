package apptest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// Manner is a style of clients, with the wire of its providers, in the failure matrix.
type Manner struct {
	Name     string
	Provider string // of the endpoints with the faults
	Path     string
	Ask      map[string]any // members of the request other than model, models and stream
	Socket   bool           // through a WebSocket, where all answers are streams
}

// responses reports whether the style is that of responses.
func (m *Manner) responses() bool { return m.Path == "/v1/responses" }

func (m *Manner) slug(c *Cell) string {
	if m.Provider == "translated" {
		return "translated" + strings.TrimPrefix(c.Slug(), "test")
	}
	return c.Slug()
}

func (m *Manner) call(t *testing.T, a *Account, body map[string]any) *Answer {
	t.Helper()
	for name, v := range m.Ask {
		body[name] = v
	}
	if m.Socket {
		delete(body, "stream")
		return a.Socket(t).Ask(body)
	}
	got := a.Do(t, http.MethodPost, m.Path, body)
	got.Responses = m.responses()
	return got
}

// Events returns the data of a stream of the responses style. It checks the names of the events.
func (a *Answer) Events(t *testing.T) []map[string]any {
	t.Helper()
	text, done := strings.CutSuffix(string(a.Body), "data: [DONE]\n\n")
	if !done || strings.Contains(text, "[DONE]") {
		t.Fatalf("a stream must end with exactly one [DONE]: %s", a.Body)
	}
	var events []map[string]any
	for frame := range strings.SplitSeq(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		name, data, ok := strings.Cut(strings.TrimPrefix(frame, ": keep-alive\n"), "\ndata: ")
		var m map[string]any
		if err := json.Unmarshal([]byte(data), &m); !ok || err != nil || m["type"] == "" || name != "event: "+m["type"].(string) || m["sequence_number"] != float64(len(events)) {
			t.Fatalf("not event %d (%v): %q", len(events), err, frame)
		}
		events = append(events, m)
	}
	if len(events) < 3 || events[0]["type"] != "response.created" || events[1]["type"] != "response.in_progress" {
		t.Fatalf("a stream begins with response.created and response.in_progress: %s", a.Body)
	}
	return events
}

// Response returns the object of a whole answer, or the one at the end of a stream.
func (a *Answer) Response(t *testing.T, stream bool) map[string]any {
	t.Helper()
	if stream {
		events := a.Events(t)
		last := events[len(events)-1]
		object, ok := last["response"].(map[string]any)
		if !ok || last["type"] != "response."+object["status"].(string) {
			t.Fatalf("not the end of a stream: %v", last)
		}
		return object
	}
	var m map[string]any
	if err := json.Unmarshal(a.Body, &m); err != nil {
		t.Fatalf("%v: %s", err, a.Body)
	}
	return m
}

func (a *Answer) wantFailedResponse(t *testing.T) {
	t.Helper()
	object := a.Response(t, true)
	failure, _ := object["error"].(map[string]any)
	if object["status"] != "failed" || failure["code"] == "" || failure["message"] == "" || object["error_type"] == nil {
		t.Errorf("a broken stream ended with %v", object)
	}
}

func (a *Answer) wantCompleteResponse(t *testing.T, stream bool) {
	t.Helper()
	object := a.Response(t, stream)
	if object["status"] != "completed" || object["output_text"] == "" || object["usage"] == nil || object["error"] != nil {
		t.Errorf("not a complete answer: %s", a.Body)
	}
}

// reportedOfResponse returns the id, model, usage and cost in a response.
func (a *Answer) reportedOfResponse(t *testing.T, stream bool) reported {
	t.Helper()
	raw, err := json.Marshal(a.Response(t, stream))
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
	if err := json.Unmarshal(raw, &m); err != nil || a.Status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", a.Status, err, a.Body)
	}
	return reported{a.Header.Get("X-Generation-Id"), m.Model, m.Usage.InputTokens, m.Usage.OutputTokens, Parse(t, m.Usage.Cost)}
}
