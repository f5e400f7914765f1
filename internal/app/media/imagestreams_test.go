package media_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/app/apptest"
	"weir/internal/catalog"
)

// If a client leaves a stream of images, it pays for the finished images and for those of which it has seen a preview, at the offer's
// price, per image or by tokens. If a provider breaks off, the finished images are charged.
func TestImageStreamsGivenUp(t *testing.T) {
	t.Parallel()
	var drawn bytes.Buffer
	if err := png.Encode(&drawn, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	file := base64.StdEncoding.EncodeToString(drawn.Bytes())
	gone := make(chan struct{})
	t.Cleanup(func() { close(gone) })
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Prompt string }
		_ = json.NewDecoder(r.Body).Decode(&q)
		w.Header().Set("Content-Type", "text/event-stream")
		for i, step := range strings.Fields(q.Prompt) {
			switch step {
			case "preview":
				fmt.Fprintf(w, "event: image_generation.partial_image\ndata: {\"type\":\"image_generation.partial_image\",\"partial_image_index\":%d,\"b64_json\":%q,\"size\":\"1024x1024\",\"quality\":\"low\",\"output_format\":\"png\"}\n\n", i, file)
			case "picture":
				fmt.Fprintf(w, "event: image_generation.completed\ndata: {\"type\":\"image_generation.completed\",\"b64_json\":%q,\"size\":\"1024x1024\",\"quality\":\"low\",\"output_format\":\"png\"}\n\n", file)
			case "break":
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			case "silence":
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
				case <-gone:
				}
				panic(http.ErrAbortHandler)
			}
		}
	}))
	t.Cleanup(srv.Close)
	gw := apptest.StartGateway(t, apptest.PatientUpstream, func(s *apptest.Setup) {
		s.Declared.Providers = append(s.Declared.Providers, catalog.Provider{ID: "easel", Name: "Easel", Dialect: "openai", BaseURL: srv.URL + "/v1", Key: "sk-upstream-key"})
		for slug, p := range map[string]catalog.Prices{"easel/each": {ImageOutputEach: apptest.Price(t, "2")}, "easel/tokens": {Prompt: apptest.Price(t, "0"), ImageOutput: apptest.Price(t, "10")}} {
			s.Declared.Models = append(s.Declared.Models, catalog.ModelInfo{Slug: slug, Type: catalog.TypeImage})
			s.Declared.Offers = append(s.Declared.Offers, catalog.Offer{Provider: "easel", Model: slug, UpstreamID: "gpt-image-1", Pricing: catalog.Pricing{List: "test", Base: p}})
		}
	})
	for _, c := range []struct {
		name, model, script string
		seen                string // the client waits for this before it leaves; "": it stays
		times               int
		want                string
	}{
		{"before anything", "easel/each", "silence", "", 0, "0"},
		{"behind a preview", "easel/each", "preview silence", "partial_image\"", 1, "2"},
		{"behind two previews of it", "easel/each", "preview preview silence", "partial_image\"", 2, "2"},
		{"by tokens, behind a preview", "easel/tokens", "preview silence", "partial_image\"", 1, "4.72"}, // 272 tokens, and 100 for each requested preview
		{"the provider breaks off behind a preview", "easel/each", "preview break", "stays", 0, "0"},
		{"nobody gives up", "easel/each", "preview picture", "stays", 0, "2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := gw.NewAccount(t)
			body, err := json.Marshal(map[string]any{"model": c.model, "prompt": c.script, "stream": true, "partial_images": 2, "size": "1024x1024", "quality": "low"})
			if err != nil {
				t.Fatal(err)
			}
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, gw.URL+"/v1/images", bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+a.Key)
			req.Header.Set("Content-Type", "application/json")
			if c.seen == "" {
				go func() {
					apptest.WaitFor(t, "the hold", func() bool { return a.Credits(t).Reserved != "0" })
					leave()
				}()
			}
			if res, err := gw.Client.Do(req); err == nil {
				lines, times := bufio.NewReader(res.Body), 0
				for err == nil && (c.seen == "stays" || times < c.times) {
					var line string
					if line, err = lines.ReadString('\n'); strings.HasPrefix(line, "data:") && strings.Contains(line, c.seen) {
						times++
					}
				}
				leave()
				_ = res.Body.Close()
			}
			a.AwaitSettled(t)
			if got := apptest.Parse(t, a.Credits(t).TotalUsage).String(); got != c.want {
				t.Errorf("charged %s, want %s", got, c.want)
			}
		})
	}
}
