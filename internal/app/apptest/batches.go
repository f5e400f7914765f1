package apptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
)

// Ended waits for the end of a batch of messages, and returns the ways in which its requests ended.
func (a *Account) Ended(t *testing.T, id string) (results map[string]int) {
	t.Helper()
	WaitFor(t, "the end of the batch", func() bool {
		var b struct {
			Status string `json:"processing_status"`
		}
		got := a.Do(t, http.MethodGet, "/v1/messages/batches/"+id, nil)
		if err := json.Unmarshal(got.Body, &b); err != nil {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		return b.Status == "ended"
	})
	results = map[string]int{}
	for line := range strings.Lines(string(a.Do(t, http.MethodGet, "/v1/messages/batches/"+id+"/results", nil).Body)) {
		var r struct {
			Result struct{ Type string }
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q", line)
		}
		results[r.Result.Type]++
	}
	return results
}

// Batch makes a batch of messages.
func (a *Account) Batch(t *testing.T, model string, n int) (id string) {
	t.Helper()
	list := make([]any, n)
	for i := range list {
		list[i] = map[string]any{"custom_id": fmt.Sprint("r", i), "params": map[string]any{"model": model, "max_tokens": 5, "messages": Question}}
	}
	var made struct{ ID string }
	got := a.Do(t, http.MethodPost, "/v1/messages/batches", map[string]any{"requests": list})
	if err := json.Unmarshal(got.Body, &made); err != nil || got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	return made.ID
}

// RequestsBatch makes a batch of OpenAI's shape.
func (a *Account) RequestsBatch(t *testing.T, endpoint string, bodies ...map[string]any) (id string) {
	t.Helper()
	var lines bytes.Buffer
	for i, body := range bodies {
		line, _ := json.Marshal(map[string]any{"custom_id": fmt.Sprint("r", i), "method": "POST", "url": endpoint, "body": body})
		lines.Write(append(line, '\n'))
	}
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	_ = w.WriteField("purpose", "batch")
	f, _ := w.CreateFormFile("file", "x.jsonl")
	_, _ = f.Write(lines.Bytes())
	_ = w.Close()
	var made struct{ ID string }
	got := a.Send(t, http.MethodPost, "/v1/files", form.Bytes(), map[string]string{"Content-Type": w.FormDataContentType()})
	if err := json.Unmarshal(got.Body, &made); err != nil || got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	got = a.Do(t, http.MethodPost, "/v1/batches", map[string]any{"input_file_id": made.ID, "endpoint": endpoint, "completion_window": "24h"})
	if err := json.Unmarshal(got.Body, &made); err != nil || got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	return made.ID
}

// BatchLine is a line of the results of a batch.
type BatchLine struct {
	ID       string `json:"custom_id"`
	Response *struct {
		Status     int             `json:"status_code"`
		Generation string          `json:"generation_id"`
		Body       json.RawMessage `json:"body"`
	}
	Error json.RawMessage
}

// Finished waits for the end of a batch of OpenAI's shape, and returns its status and its lines by their names.
func (a *Account) Finished(t *testing.T, id string) (status string, lines map[string]BatchLine) {
	t.Helper()
	var b struct {
		Status string
		Output string `json:"output_file_id"`
		Errors string `json:"error_file_id"`
	}
	WaitFor(t, "the end of the batch", func() bool {
		got := a.Do(t, http.MethodGet, "/v1/batches/"+id, nil)
		if err := json.Unmarshal(got.Body, &b); err != nil {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		return b.Status == "completed" || b.Status == "failed" || b.Status == "cancelled" || b.Status == "expired"
	})
	lines = map[string]BatchLine{}
	for _, file := range []string{b.Output, b.Errors} {
		if file == "" {
			continue
		}
		for text := range strings.Lines(string(a.Do(t, http.MethodGet, "/v1/files/"+file+"/content", nil).Body)) {
			var line BatchLine
			if err := json.Unmarshal([]byte(text), &line); err != nil {
				t.Fatalf("%q", text)
			}
			if _, twice := lines[line.ID]; twice {
				t.Errorf("%s is there twice", line.ID)
			}
			lines[line.ID] = line
		}
	}
	return b.Status, lines
}
