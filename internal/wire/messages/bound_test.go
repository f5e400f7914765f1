package messages_test

import (
	"strings"
	"testing"

	"weir/internal/wire/messages"
)

// What a prompt is held for: a token for each byte of text, a document for the pages that a few bytes can have, and what comes by address as
// something of unknown length.
func TestPromptMost(t *testing.T) {
	t.Parallel()
	ask := func(content string) string {
		return `{"model":"v/m","max_tokens":1,"messages":[{"role":"user","content":` + content + `}]}`
	}
	for _, c := range []struct {
		name    string
		content string
		least   int64
		most    int64
		open    bool
	}{
		{"text", `"` + strings.Repeat("8", 3000) + `"`, 3000, 3100, false},
		{"a picture", `[{"type":"image","source":{"type":"url","url":"https://a.test/b"}}]`, 6500, 6600, false},
		{"a small document", `[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"aaaa"}}]`, 300_000, 300_100, false},
		{"a document by address", `[{"type":"document","source":{"type":"url","url":"https://a.test/b"}}]`, 0, 7000, true},
		{"a document of plain text", `[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"aaaa"}}]`, 4, 5000, false},
	} {
		req, err := messages.Decode([]byte(ask(c.content)))
		if err != nil {
			t.Fatal(err)
		}
		if n := req.Needs.PromptMost(); n < c.least || n > c.most || req.Needs.Open != c.open {
			t.Errorf("%s: %d tokens at most, open %t", c.name, n, req.Needs.Open)
		}
	}
}
