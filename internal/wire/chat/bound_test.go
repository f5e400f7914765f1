package chat_test

import (
	"strings"
	"testing"

	"weir/internal/wire/chat"
)

// Media that come by address are held for up to the context, because their length is unknown; media in the request are held for by their bytes.
func TestPromptMost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		part  string
		least int64
		open  bool
	}{
		{"text", `{"type":"text","text":"` + strings.Repeat("8", 3000) + `"}`, 3000, false},
		{"a picture", `{"type":"image_url","image_url":{"url":"https://a.test/b"}}`, 6500, false},
		{"a video by address", `{"type":"video_url","video_url":{"url":"https://a.test/b"}}`, 0, true},
		{"a video", `{"type":"video_url","video_url":{"url":"data:video/mp4;base64,` + strings.Repeat("a", 10_000) + `"}}`, 5000, false},
		{"a file by address", `{"type":"file","file":{"file_data":"https://a.test/b"}}`, 0, true},
		{"a small file", `{"type":"file","file":{"file_data":"data:application/pdf;base64,aaaa"}}`, 300_000, false},
		{"a sound", `{"type":"input_audio","input_audio":{"format":"mp3","data":"` + strings.Repeat("a", 3200) + `"}}`, 100, false},
	} {
		req, err := chat.Decode([]byte(`{"model":"v/m","messages":[{"role":"user","content":[` + c.part + `]}]}`))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if n := req.Needs.PromptMost(); n < c.least || req.Needs.Open != c.open {
			t.Errorf("%s: %d tokens at most, open %t", c.name, n, req.Needs.Open)
		}
	}
}
