package app

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"weir/internal/config"
	"weir/internal/outbound"
	"weir/internal/video"
)

// A file of a store that does not know its type has the type that its bytes show, and all of them (pixeltable/pixeltable#966).
func TestFilesAreTypedByContent(t *testing.T) {
	t.Parallel()
	const film = "\x00\x00\x00\x20ftypisom\x00\x00\x02\x00isomiso2avc1mp41"
	for kind, want := range map[string]string{"": "video/mp4", "binary/octet-stream": "video/mp4", "application/octet-stream": "video/mp4", "video/webm": "video/webm"} {
		store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{kind}
			_, _ = io.WriteString(w, film)
		}))
		t.Cleanup(store.Close)
		cfg := config.Default()
		f := files{newFetch(&cfg.Fetch, dialerOf(&cfg)), 1 << 20}
		c, err := f.OpenFile(t.Context(), "acme", store.URL+"/a", outbound.Home{URL: store.URL}, nil, (*video.Range)(nil))
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(c.Body)
		if c.MediaType != want || string(data) != film || err != nil {
			t.Errorf("%q: %q, %d bytes, %v", kind, c.MediaType, len(data), err)
		}
		if err := c.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}
