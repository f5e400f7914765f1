package main_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// named sends a request with an Idempotency-Key and returns the answer's status, header and body.
func (n *node) named(ctx context.Context, name, body string) (int, http.Header, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.BaseURL+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return 0, nil, "", err
	}
	req.Header.Set("Authorization", "Bearer "+n.APIKey)
	req.Header.Set("Idempotency-Key", name)
	resp, err := n.client.Do(req)
	if err != nil {
		return 0, nil, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, string(text), err
}

// After a kill, an answer that was complete is replayed without a charge. A key without a complete answer can be used again at once.
func TestKillKeepsNamedAnswers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := startDemo(t, dir)
	body := func(stream bool) string {
		return fmt.Sprintf(`{"model":"sim/chat","stream":%t,"messages":[{"role":"user","content":"hello"}]}`, stream)
	}
	answers := map[bool]string{}
	for _, stream := range []bool{false, true} {
		status, header, text, err := n.named(t.Context(), fmt.Sprint("done ", stream), body(stream))
		if err != nil || status != http.StatusOK || header.Get("Idempotent-Replayed") != "" {
			t.Fatalf("stream %t: %d %s, %v", stream, status, text, err)
		}
		answers[stream] = text
	}
	long := `{"model":"sim/chat","stream":true,"messages":[{"role":"user","content":"[[sim gap=100ms frames=6000]] x"}]}`
	cut := n.streamNamed(t, "under way", long)
	charged := n.credits(t).TotalUsage
	n.kill()
	if _, err := io.ReadAll(cut.Body); err == nil {
		t.Error("the stream came to an end although the process was killed")
	}

	n = startDemo(t, dir)
	for stream, text := range answers {
		status, header, again, err := n.named(t.Context(), fmt.Sprint("done ", stream), body(stream))
		if err != nil || status != http.StatusOK || again != text || header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("stream %t: %d %q, %v; want what was answered before the kill: %q", stream, status, again, err, text)
		}
	}
	if after := n.credits(t).TotalUsage; after != charged {
		t.Errorf("charged were %s before the kill, %s after it", charged, after)
	}
	if resp := n.streamNamed(t, "under way", long); resp.Header.Get("Idempotent-Replayed") != "" {
		t.Error("a stream that was cut was given again")
	}
}

// streamNamed begins a stream with an Idempotency-Key; it ends with the test.
func (n *node) streamNamed(t *testing.T, name, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.BaseURL+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+n.APIKey)
	req.Header.Set("Idempotency-Key", name)
	resp, err := n.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d", name, resp.StatusCode)
	}
	return resp
}
