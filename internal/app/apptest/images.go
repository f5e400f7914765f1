package apptest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"weir/internal/catalog"
)

// Painter is an image provider, on a wire of the simulator.
type Painter struct {
	Name    string // of the provider; also the vendor of its models
	Dialect string
	base    string // path on the simulator
	Model   string // the simulator's name of the model
	quirks  catalog.Quirks
	Media   string // default type of its images
	Tokens  bool   // reports tokens
	Edits   bool
}

var Painters = []Painter{
	{Name: "gpt", Dialect: "openai", base: "/v1", Model: "gpt-image-1", Media: "image/png", Tokens: true, Edits: true},
	{Name: "dalle", Dialect: "openai", base: "/v1", Model: "dall-e-3", Media: "image/png"},
	{Name: "router", Dialect: "openai", base: "/openrouter/api/v1", Model: "bytedance-seed/seedream-4.5", quirks: catalog.Quirks{ImagesWire: "openrouter"}, Media: "image/png", Tokens: true},
	{Name: "modal", Dialect: "openai", base: "/v1", Model: "image", quirks: catalog.Quirks{ImagesWire: "chat"}, Media: "image/png", Tokens: true},
	{Name: "gemini", Dialect: "gemini", base: "/v1beta", Model: "image", Media: "image/png", Tokens: true},
	{Name: "imagen", Dialect: "gemini", base: "/v1beta", Model: "imagen-4.0-generate-001", Media: "image/png"},
	{Name: "fal", Dialect: "fal", base: "/fal/queue", Model: "fal-ai/flux/dev", Media: "image/jpeg", Edits: true},
	{Name: "bfl", Dialect: "bfl", base: "/bfl/v1", Model: "flux-2-pro", Media: "image/jpeg", Edits: true},
	{Name: "art", Dialect: "yandex", base: "/yandex-art", Model: "art://folder/yandex-art", Media: "image/jpeg"},
}

func (p *Painter) Slug(fault string) string {
	if fault == "" {
		return p.Name + "/works"
	}
	return p.Name + strings.TrimPrefix((&Cell{Fault: fault}).Slug(), "test")
}

// DeclarePainters adds the providers, each with a working model and one model per fault.
func DeclarePainters(t *testing.T, d *catalog.Declared, list []Painter, faults ...string) {
	t.Helper()
	at := slices.IndexFunc(d.Providers, func(p catalog.Provider) bool { return p.ID == "works" })
	origin := strings.TrimSuffix(d.Providers[at].BaseURL, "/v1")
	for i := range list {
		p := &list[i]
		d.Providers = append(d.Providers, catalog.Provider{ID: p.Name, Name: p.Name, Dialect: p.Dialect, BaseURL: origin + p.base, Key: "sk-upstream-key", Quirks: p.quirks})
		offer := func(slug, model string) {
			d.Models = append(d.Models, catalog.ModelInfo{Slug: slug, Type: catalog.TypeImage})
			d.Offers = append(d.Offers, catalog.Offer{Provider: p.Name, Model: slug, UpstreamID: model, Pricing: catalog.Pricing{List: "test", Base: catalog.Prices{ImageOutputEach: Price(t, "2")}}})
		}
		offer(p.Slug(""), p.Model)
		for _, fault := range faults {
			offer(p.Slug(fault), p.Model+"@fault="+fault)
		}
	}
}

// images is an answer of POST /v1/images.
type images struct {
	Created int64
	Data    []struct {
		B64JSON   string `json:"b64_json"`
		MediaType string `json:"media_type"`
	}
	Text         string
	Usage        imageUsage
	Size         string
	OutputFormat string `json:"output_format"`
	Metadata     struct{ Notice string }
}

type imageUsage struct {
	PromptTokens     *int64      `json:"prompt_tokens"`
	CompletionTokens *int64      `json:"completion_tokens"`
	TotalTokens      *int64      `json:"total_tokens"`
	InputTokens      *int64      `json:"input_tokens"`
	OutputTokens     *int64      `json:"output_tokens"`
	Cost             json.Number `json:"cost"`
}

func (a *Account) Paint(t *testing.T, body map[string]any) *images {
	t.Helper()
	got := a.Do(t, http.MethodPost, "/v1/images", body)
	if got.Status != http.StatusOK {
		t.Fatalf("status %d: %s", got.Status, got.Body)
	}
	return got.Images(t)
}

func (a *Answer) Images(t *testing.T) *images {
	t.Helper()
	var p images
	if err := json.Unmarshal(a.Body, &p); err != nil || a.Status != http.StatusOK {
		t.Fatalf("status %d, %v: %.500s", a.Status, err, a.Body)
	}
	return &p
}

// imageEvent is an event of a stream of images.
type imageEvent struct {
	name string
	Type string

	B64JSON   string      `json:"b64_json"`
	MediaType string      `json:"media_type"`
	Partial   *int        `json:"partial_image_index"`
	Created   int64       `json:"created"`
	CreatedAt int64       `json:"created_at"`
	Usage     *imageUsage `json:"usage"`
	Error     *struct {
		Code    int
		Message string
	}
}

// ImageEvents reads a stream of images, which must end with [DONE].
func (a *Answer) ImageEvents(t *testing.T) []imageEvent {
	t.Helper()
	if kind := a.Header.Get("Content-Type"); a.Status != http.StatusOK || kind != "text/event-stream" {
		t.Fatalf("status %d, %s: %s", a.Status, kind, a.Body)
	}
	body, ended := strings.CutSuffix(string(a.Body), "data: [DONE]\n\n")
	if !ended {
		t.Fatalf("no end: %.300s", body)
	}
	var out []imageEvent
	for _, frame := range strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		for strings.HasPrefix(frame, ":") {
			_, frame, _ = strings.Cut(frame, "\n")
		}
		name, data, ok := strings.Cut(frame, "\ndata: ")
		ev := imageEvent{name: strings.TrimPrefix(name, "event: ")}
		if err := json.Unmarshal([]byte(data), &ev); err != nil || !ok || ev.Type != ev.name {
			t.Fatalf("%v: %.300s", err, frame)
		}
		out = append(out, ev)
	}
	return out
}

func (c *Cell) CheckPainter(t *testing.T, gw *Gateway, p *Painter, stream bool) {
	a := gw.NewAccount(t)
	body := map[string]any{"model": p.Slug(c.Fault), "prompt": "A weir", "stream": stream, "partial_images": 2, "size": "64x64"}
	got := a.Do(t, http.MethodPost, "/v1/images", body)
	painted := c.wantPaintedOr(t, p.Name, got, stream)
	a.WantSpent(t, painted)
	a.WantNothingHeld(t)
	got.WantNoForeignHeaders(t)
	if painted || got.Status == http.StatusOK || c.Waits { // content was sent, so nothing may follow; or the timeout leaves little time for a fallback
		return
	}
	body["models"] = []string{"gpt/works"}
	got = a.Do(t, http.MethodPost, "/v1/images", body)
	if got.Status != http.StatusOK {
		t.Fatalf("with a fallback: status %d: %.500s", got.Status, got.Body)
	}
	a.WantSpent(t, true)
}

// wantPaintedOr checks the answer of a call without a fallback, and reports whether it was an image.
func (c *Cell) wantPaintedOr(t *testing.T, wire string, got *Answer, stream bool) bool {
	t.Helper()
	want := c.Want(t, wire, stream)
	switch {
	case got.Status != want:
		t.Fatalf("status %d, want %d: %.500s", got.Status, want, got.Body)
	case got.Status != http.StatusOK:
		c.WantError(t, got)
		return false
	case !stream:
		return len(got.Images(t).Data) == 1
	}
	events := got.ImageEvents(t)
	last := events[len(events)-1]
	if (last.Error != nil) == (last.Type == "image_generation.completed" && last.Usage != nil) {
		t.Errorf("the last event is %+v", last)
	}
	if last.Error != nil && (last.Type != "error" || last.Error.Code < 400 || last.Error.Message == "") {
		t.Errorf("the error is %+v", last.Error)
	}
	return last.Error == nil
}
