package app_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"weir/internal/app/apptest"
	"weir/internal/catalog"
)

// Whatever a model makes reaches the client in every style, and nothing is charged that was not delivered: a style that cannot carry audio
// delivers its transcript, and one that cannot carry images writes them as Markdown.
func TestModalitiesReachEveryStyle(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t, func(s *apptest.Setup) {
		for _, persona := range []string{"audio", "image"} {
			o := apptest.OfferOf(t, "on-openai", "made/"+persona, persona)
			o.Output = catalog.Text | catalog.Audio | catalog.Image
			o.Pricing.Base.ImageOutput, o.Pricing.Base.AudioOutput = apptest.Price(t, "2"), apptest.Price(t, "2")
			s.Declared.Offers = append(s.Declared.Offers, o)
		}
	})
	a := c.NewAccount(t)
	for _, s := range styles {
		for model, made := range map[string]string{"made/audio": "audio", "made/image": "image"} {
			for _, stream := range []bool{false, true} {
				name := s.Name() + " " + made
				body := map[string]any{"model": model, "stream": stream}
				switch s.Name() {
				case "responses":
					body["input"] = "Draw or say a weir."
				case "gemini":
					body = map[string]any{"contents": []any{map[string]any{"parts": []any{map[string]any{"text": "Draw or say a weir."}}}}}
				default:
					body["messages"] = []any{map[string]any{"role": "user", "content": "Draw or say a weir."}}
					body["max_tokens"] = 500
				}
				if s.Name() == "chat" && made == "audio" {
					format := "wav"
					if stream {
						format = "pcm16"
					}
					body["modalities"], body["audio"] = []string{"text", "audio"}, map[string]string{"voice": "alloy", "format": format}
				}
				b, err := json.Marshal(body)
				if err != nil {
					t.Fatal(err)
				}
				got := a.Send(t, http.MethodPost, s.Path(model, stream), b, s.Header())
				if got.Status != http.StatusOK {
					t.Fatalf("%s: status %d: %s", name, got.Status, got.Body)
				}
				text := string(got.Body)
				carries := map[string]string{
					"chat audio": `"data":"`, "messages audio": "weir", "responses audio": `output_text`, "gemini audio": `"data":"`,
					"chat image": `"image_url"`, "messages image": "![image](data:image/", "responses image": `image_generation_call`, "gemini image": `"inlineData":{"mimeType":"image/png"`,
				}
				if !strings.Contains(text, carries[name]) {
					t.Errorf("%s, stream %t: %.900s", name, stream, text)
				}
				if s.Name() == "messages" && made == "audio" && strings.Count(text, `"text"`) < 2 {
					t.Errorf("%s, stream %t: no transcript in %.900s", name, stream, text)
				}
			}
		}
	}
}
