package app_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/sim"
)

// painter is an image provider, on a wire of the simulator.
type painter struct {
	name    string // of the provider; also the vendor of its models
	dialect string
	base    string // path on the simulator
	model   string // the simulator's name of the model
	quirks  catalog.Quirks
	media   string // default type of its images
	tokens  bool   // reports tokens
	edits   bool
}

var painters = []painter{
	{name: "gpt", dialect: "openai", base: "/v1", model: "gpt-image-1", media: "image/png", tokens: true, edits: true},
	{name: "dalle", dialect: "openai", base: "/v1", model: "dall-e-3", media: "image/png"},
	{name: "router", dialect: "openai", base: "/openrouter/api/v1", model: "bytedance-seed/seedream-4.5", quirks: catalog.Quirks{ImagesWire: "openrouter"}, media: "image/png", tokens: true},
	{name: "modal", dialect: "openai", base: "/v1", model: "image", quirks: catalog.Quirks{ImagesWire: "chat"}, media: "image/png", tokens: true},
	{name: "gemini", dialect: "gemini", base: "/v1beta", model: "image", media: "image/png", tokens: true},
	{name: "imagen", dialect: "gemini", base: "/v1beta", model: "imagen-4.0-generate-001", media: "image/png"},
	{name: "fal", dialect: "fal", base: "/fal/queue", model: "fal-ai/flux/dev", media: "image/jpeg", edits: true},
	{name: "bfl", dialect: "bfl", base: "/bfl/v1", model: "flux-2-pro", media: "image/jpeg", edits: true},
	{name: "art", dialect: "yandex", base: "/yandex-art", model: "art://folder/yandex-art", media: "image/jpeg"},
}

func (p *painter) slug(fault string) string {
	if fault == "" {
		return p.name + "/works"
	}
	return p.name + strings.TrimPrefix((&cell{fault: fault}).slug(), "test")
}

// declarePainters adds the providers, each with a working model and one model per fault.
func declarePainters(t *testing.T, d *catalog.Declared, list []painter, faults ...string) {
	t.Helper()
	at := slices.IndexFunc(d.Providers, func(p catalog.Provider) bool { return p.ID == "works" })
	origin := strings.TrimSuffix(d.Providers[at].BaseURL, "/v1")
	for i := range list {
		p := &list[i]
		d.Providers = append(d.Providers, catalog.Provider{ID: p.name, Name: p.name, Dialect: p.dialect, BaseURL: origin + p.base, Key: "sk-upstream-key", Quirks: p.quirks})
		offer := func(slug, model string) {
			d.Models = append(d.Models, catalog.ModelInfo{Slug: slug, Type: catalog.TypeImage})
			d.Offers = append(d.Offers, catalog.Offer{Provider: p.name, Model: slug, UpstreamID: model, Pricing: catalog.Pricing{List: "test", Base: catalog.Prices{ImageOutputEach: price(t, "2")}}})
		}
		offer(p.slug(""), p.model)
		for _, fault := range faults {
			offer(p.slug(fault), p.model+"@fault="+fault)
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

func (a *account) paint(t *testing.T, body map[string]any) *images {
	t.Helper()
	got := a.do(t, http.MethodPost, "/v1/images", body)
	if got.status != http.StatusOK {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	return got.images(t)
}

func (a *answer) images(t *testing.T) *images {
	t.Helper()
	var p images
	if err := json.Unmarshal(a.body, &p); err != nil || a.status != http.StatusOK {
		t.Fatalf("status %d, %v: %.500s", a.status, err, a.body)
	}
	return &p
}

// wantImage checks that base64 data is an image of a type.
func wantImage(t *testing.T, encoded, media, want string) {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(data) == 0 {
		t.Errorf("no image: %v", err)
	}
	if media != want {
		t.Errorf("media type %q, want %q", media, want)
	}
	if kind, _, _ := strings.Cut(http.DetectContentType(data), ";"); want != "image/svg+xml" && kind != want {
		t.Errorf("the file is %s, want %s", kind, want)
	}
}

// Each wire returns as many images as requested, and each is charged.
func TestImages(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, func(s *setup) { declarePainters(t, &s.Declared, painters) })
	t.Run("each", func(t *testing.T) { wantPainted(t, gw) })
	gw.wantBalanced(t)
}

func wantPainted(t *testing.T, gw *gateway) {
	for i := range painters {
		p := &painters[i]
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			a := gw.newAccount(t)
			for _, n := range []int{1, 3} {
				got := a.paint(t, map[string]any{"model": p.slug(""), "prompt": "A weir in spring", "n": n})
				if len(got.Data) != n || got.Created == 0 || string(got.Usage.Cost) != map[int]string{1: "2", 3: "6"}[n] {
					t.Fatalf("%d images of %d, created %d, cost %s", len(got.Data), n, got.Created, got.Usage.Cost)
				}
				for i := range got.Data {
					wantImage(t, got.Data[i].B64JSON, got.Data[i].MediaType, p.media)
				}
				if u := &got.Usage; u.PromptTokens == nil || u.CompletionTokens == nil || (*u.TotalTokens > 0) != p.tokens || *u.InputTokens != *u.PromptTokens || *u.OutputTokens != *u.CompletionTokens {
					t.Errorf("usage %+v", got.Usage)
				}
			}
			a.wantSpent(t, true)
			a.wantNothingHeld(t)
		})
	}
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

// imageEvents reads a stream of images, which must end with [DONE].
func (a *answer) imageEvents(t *testing.T) []imageEvent {
	t.Helper()
	if kind := a.header.Get("Content-Type"); a.status != http.StatusOK || kind != "text/event-stream" {
		t.Fatalf("status %d, %s: %s", a.status, kind, a.body)
	}
	body, ended := strings.CutSuffix(string(a.body), "data: [DONE]\n\n")
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

// A stream has previews if the provider makes them, one event per image, and the usage on the last event. This also works for a provider
// without streams.
func TestImageStreams(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, func(s *setup) { declarePainters(t, &s.Declared, painters) })
	for i := range painters {
		p := &painters[i]
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			a := gw.newAccount(t)
			for _, n := range []int{1, 2} {
				got := a.do(t, http.MethodPost, "/v1/images", map[string]any{"model": p.slug(""), "prompt": "A weir in autumn", "n": n, "stream": true, "partial_images": 2})
				events := got.imageEvents(t)
				previews := 0
				if p.name == "gpt" && n == 1 {
					previews = 2
				}
				if len(events) != previews+n {
					t.Fatalf("%d events: %.2000s", len(events), got.body)
				}
				for i, ev := range events {
					last := i == len(events)-1
					want := "image_generation.completed"
					if i < previews {
						want = "image_generation.partial_image"
						if ev.Partial == nil || *ev.Partial != i {
							t.Errorf("preview %d has the index %v", i, ev.Partial)
						}
					} else if ev.Created == 0 || ev.Created != ev.CreatedAt || (ev.Usage != nil) != last {
						t.Errorf("event %d: created %d, %d, usage %v", i, ev.Created, ev.CreatedAt, ev.Usage)
					}
					if ev.Type != want || ev.B64JSON == "" {
						t.Errorf("event %d is %s, want %s", i, ev.Type, want)
					}
				}
				if cost := events[len(events)-1].Usage.Cost; string(cost) != map[int]string{1: "2", 2: "4"}[n] {
					t.Errorf("cost %s", cost)
				}
			}
			a.wantNothingHeld(t)
		})
	}
}

// square returns a small image.
func square(t *testing.T) []byte {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, 16, 16))
	img.SetGray(3, 4, color.Gray{Y: 200})
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// editForm returns a form with images.
func editForm(t *testing.T, files int, fields [][2]string) (body []byte, kind string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, f := range fields {
		if err := w.WriteField(f[0], f[1]); err != nil {
			t.Fatal(err)
		}
	}
	for range files {
		part, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="image[]"; filename="a.png"`}, "Content-Type": {"image/png"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write(square(t)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), w.FormDataContentType()
}

// An edit can be a form or JSON. Images can also be made from other images on the route for generation.
func TestImageEdits(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, func(s *setup) { declarePainters(t, &s.Declared, painters) })
	data := "data:image/png;base64," + base64.StdEncoding.EncodeToString(square(t))
	for i := range painters {
		p := &painters[i]
		if !p.edits {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			a := gw.newAccount(t)
			form, kind := editForm(t, 2, [][2]string{{"model", p.slug("")}, {"prompt", "Higher water"}, {"n", "1"}})
			got := a.send(t, http.MethodPost, "/v1/images/edits", form, map[string]string{"Content-Type": kind}).images(t)
			wantImage(t, got.Data[0].B64JSON, got.Data[0].MediaType, p.media)
			for _, address := range []string{data, "https://files.example.com/weir.png"} {
				got = a.do(t, http.MethodPost, "/v1/images/edits", map[string]any{"model": p.slug(""), "prompt": "Higher water", "images": []any{map[string]any{"image_url": address}}}).images(t)
				wantImage(t, got.Data[0].B64JSON, got.Data[0].MediaType, p.media)
			}
			got = a.paint(t, map[string]any{"model": p.slug(""), "prompt": "Higher water", "input_references": []any{map[string]any{"type": "image_url", "image_url": map[string]any{"url": data}}}})
			wantImage(t, got.Data[0].B64JSON, got.Data[0].MediaType, p.media)
			form, kind = editForm(t, 1, [][2]string{{"model", p.slug("")}, {"prompt", "Lower water"}, {"stream", "true"}})
			events := a.send(t, http.MethodPost, "/v1/images/edits", form, map[string]string{"Content-Type": kind}).imageEvents(t)
			if last := events[len(events)-1]; last.Type != "image_edit.completed" || last.Usage == nil {
				t.Errorf("the last event is %+v", last)
			}
		})
	}
}

// Whatever an image provider does, the client gets the status of the matrix and pays only for whole images. With a fallback it gets the
// next model's images.
func TestImageMatrix(t *testing.T) {
	t.Parallel()
	tested := []painter{painters[0], painters[6]}
	tested[0].model = "gpt-image-2" // its images can be small, and the test makes hundreds
	var faults []string
	for i := range matrix {
		faults = append(faults, matrix[i].fault)
	}
	declare := func(s *setup) { declarePainters(t, &s.Declared, tested, faults...) }
	patient, hasty := startGateway(t, declare), startGateway(t, declare, func(s *setup) {
		u := &s.Upstream
		u.FirstByteTimeout, u.StreamFirstByteTimeout, u.IdleTimeout = 2*time.Second, 2*time.Second, 2*time.Second
		u.TotalTimeout, u.StreamTotalTimeout = 4*time.Second, 4*time.Second
	})
	var all sync.WaitGroup
	places := make(chan struct{}, 8)
	for i := range matrix {
		c, gw := &matrix[i], patient
		if c.waits {
			gw = hasty
		}
		if c.closed { // no server is there
			continue
		}
		for j := range tested {
			p := &tested[j]
			if !shown(i, j) {
				continue
			}
			for _, stream := range []bool{false, true} {
				if stream && p.dialect != "openai" || !stream && c.whole == 0 {
					continue
				}
				all.Go(func() {
					places <- struct{}{}
					defer func() { <-places }()
					t.Run(p.name+"/"+c.name(t)+map[bool]string{true: "/stream"}[stream], func(t *testing.T) { c.checkPainter(t, gw, p, stream) })
				})
			}
		}
	}
	all.Wait()
	for _, gw := range []*gateway{patient, hasty} {
		if n := gw.sim.Stats().Redirected; n != 0 {
			t.Errorf("%d redirects were followed", n)
		}
		gw.wantBalanced(t)
	}
}

func (c *cell) checkPainter(t *testing.T, gw *gateway, p *painter, stream bool) {
	a := gw.newAccount(t)
	body := map[string]any{"model": p.slug(c.fault), "prompt": "A weir", "stream": stream, "partial_images": 2, "size": "64x64"}
	got := a.do(t, http.MethodPost, "/v1/images", body)
	painted := c.wantPaintedOr(t, p.name, got, stream)
	a.wantSpent(t, painted)
	a.wantNothingHeld(t)
	got.wantNoForeignHeaders(t)
	if painted || got.status == http.StatusOK || c.waits { // content was sent, so nothing may follow; or the timeout leaves little time for a fallback
		return
	}
	body["models"] = []string{"gpt/works"}
	got = a.do(t, http.MethodPost, "/v1/images", body)
	if got.status != http.StatusOK {
		t.Fatalf("with a fallback: status %d: %.500s", got.status, got.body)
	}
	a.wantSpent(t, true)
}

// wantPaintedOr checks the answer of a call without a fallback, and reports whether it was an image.
func (c *cell) wantPaintedOr(t *testing.T, wire string, got *answer, stream bool) bool {
	t.Helper()
	want := c.want(t, wire, stream)
	switch {
	case got.status != want:
		t.Fatalf("status %d, want %d: %.500s", got.status, want, got.body)
	case got.status != http.StatusOK:
		c.wantError(t, got)
		return false
	case !stream:
		return len(got.images(t).Data) == 1
	}
	events := got.imageEvents(t)
	last := events[len(events)-1]
	if (last.Error != nil) == (last.Type == "image_generation.completed" && last.Usage != nil) {
		t.Errorf("the last event is %+v", last)
	}
	if last.Error != nil && (last.Type != "error" || last.Error.Code < 400 || last.Error.Message == "") {
		t.Errorf("the error is %+v", last.Error)
	}
	return last.Error == nil
}

// An answer without an image is an error, whatever its status. It is not charged, and official clients are told not to retry.
func TestNoImage(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, func(s *setup) { declarePainters(t, &s.Declared, painters) })
	for i := range painters {
		p := &painters[i]
		if p.name == "router" || p.name == "gemini" || p.name == "modal" { // the simulator's chat models always add an image
			continue
		}
		for _, x := range []struct {
			job    string
			status int
		}{{"empty", bad}, {"policy", ours}} {
			t.Run(p.name+"/"+x.job, func(t *testing.T) {
				t.Parallel()
				a := gw.newAccount(t)
				got := a.do(t, http.MethodPost, "/v1/images", map[string]any{"model": p.slug(""), "prompt": "[[sim job=" + x.job + "]] A weir"})
				if got.status != x.status {
					t.Fatalf("status %d: %.500s", got.status, got.body)
				}
				if retry := got.header.Get("X-Should-Retry"); x.job == "empty" && retry != "false" {
					t.Errorf("X-Should-Retry: %q", retry)
				}
				got.wantEnvelope(t)
				a.wantSpent(t, false)
				a.wantNothingHeld(t)
			})
		}
	}
}

// If a client leaves while the provider's queue is working, the request is cancelled and not charged.
func TestImageIsCancelled(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, func(s *setup) { declarePainters(t, &s.Declared, painters) })
	a := gw.newAccount(t)
	counts := func() (c sim.JobCounts) {
		for _, j := range gw.sim.Jobs() {
			if j.Wire == "fal" {
				c = j
			}
		}
		return c
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, gw.url+"/v1/images", strings.NewReader(`{"model":"fal/works","prompt":"[[sim job=never]] A weir"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.key)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if res, err := gw.client.Do(req); err == nil {
			res.Body.Close()
		}
	}()
	waitFor(t, "the provider to be looked after", func() bool { return counts().Polls > 0 })
	leave()
	<-gone
	waitFor(t, "the request to be taken back", func() bool { return counts().Cancels == 1 })
	waitFor(t, "the hold to end", func() bool { return a.credits(t).Reserved == "0" })
	a.wantSpent(t, false)
	if c := counts(); c.Submits != 1 {
		t.Errorf("%+v", c)
	}
}

// A request with an idempotency key is painted and charged once: whole, as a stream, and as a form whose boundary changes.
func TestNamedImages(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, func(s *setup) { declarePainters(t, &s.Declared, painters[:1]) })
	a := gw.newAccount(t)
	send := func(name string, edit, stream bool) *answer {
		if !edit {
			b, err := json.Marshal(map[string]any{"model": "gpt/works", "prompt": "A weir", "stream": stream})
			if err != nil {
				t.Fatal(err)
			}
			return a.send(t, http.MethodPost, "/v1/images", b, map[string]string{"Idempotency-Key": name})
		}
		form, kind := editForm(t, 1, [][2]string{{"model", "gpt/works"}, {"prompt", "Higher"}})
		return a.send(t, http.MethodPost, "/v1/images/edits", form, map[string]string{"Idempotency-Key": name, "Content-Type": kind})
	}
	for name, x := range map[string]struct{ edit, stream bool }{"whole": {}, "stream": {stream: true}, "form": {edit: true}} {
		before := gw.attempts()
		first, again := send(name, x.edit, x.stream), send(name, x.edit, x.stream)
		if first.status != http.StatusOK || !bytes.Equal(first.body, again.body) || again.header.Get("Idempotent-Replayed") != "true" || gw.attempts() != before+1 {
			t.Errorf("%s: status %d and %d, replayed %q, %d attempts", name, first.status, again.status, again.header.Get("Idempotent-Replayed"), gw.attempts()-before)
		}
	}
	if spent := a.credits(t).TotalUsage; spent != "6" {
		t.Errorf("spent %s", spent)
	}
	gw.wantBalanced(t)
}

// The catalog lists image models with their prices on a separate route.
func TestImageModels(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, func(s *setup) { declarePainters(t, &s.Declared, painters[:2]) })
	a := gw.newAccount(t)
	var list struct {
		Data []struct{ ID, ModelType string }
	}
	got := a.do(t, http.MethodGet, "/v1/images/models", nil)
	if err := json.Unmarshal(got.body, &list); err != nil || got.status != http.StatusOK || len(list.Data) != 2 || !strings.Contains(string(got.body), `"model_type":"image"`) {
		t.Errorf("status %d, %v: %.500s", got.status, err, got.body)
	}
	if got := a.chat(t, map[string]any{"model": "gpt/works", "messages": []any{map[string]any{"role": "user", "content": "hi"}}}); got.status != http.StatusBadRequest || !strings.Contains(string(got.body), "wrong_endpoint") {
		t.Errorf("in a chat: status %d: %s", got.status, got.body)
	}
}

// Images are priced by quality and size, by pixels or by tokens, as the endpoint's price list says.
func TestImagePrices(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, func(s *setup) {
		declarePainters(t, &s.Declared, painters)
		offer := func(provider, slug, model string, base catalog.Prices, lines ...catalog.ImagePrice) {
			s.Declared.Models = append(s.Declared.Models, catalog.ModelInfo{Slug: slug, Type: catalog.TypeImage})
			s.Declared.Offers = append(s.Declared.Offers, catalog.Offer{Provider: provider, Model: slug, UpstreamID: model, Pricing: catalog.Pricing{List: "test", Base: base, Images: lines}})
		}
		line := func(unit, quality, size, text string) catalog.ImagePrice {
			return catalog.ImagePrice{Component: "image_output", Unit: unit, Variant: quality, Resolution: size, Price: price(t, text)}
		}
		offer("dalle", "prices/list", "dall-e-3", catalog.Prices{}, line(catalog.UnitImage, "standard", "1024x1024", "4"), line(catalog.UnitImage, "hd", "1024x1024", "8"), line(catalog.UnitImage, "standard", "1792x1024", "9"),
			line(catalog.UnitImage, "hd", "1792x1024", "12"))
		offer("fal", "prices/pixels", "fal-ai/flux/dev", catalog.Prices{}, line(catalog.UnitMegapixel, "", "", "10"))
		offer("gpt", "prices/tokens", "gpt-image-1", catalog.Prices{Prompt: price(t, "0"), ImageOutput: price(t, "5")})
	})
	for _, x := range []struct {
		model, settings, want string
	}{
		{"prices/list", `"quality":"high","size":"1792x1024"`, "12"},
		{"prices/list", `"quality":"low","size":"1792x1024"`, "9"},
		{"prices/list", `"quality":"auto"`, "4"},
		{"prices/list", `"n":2,"aspect_ratio":"16:9"`, "18"},
		{"prices/pixels", `"size":"1000x1000"`, "10"},
		{"prices/pixels", `"size":"1024x768"`, "7.87"},
		{"prices/pixels", `"size":"1000x1000","n":2`, "20"},
		{"prices/tokens", `"quality":"low"`, "1.36"},
	} {
		body := map[string]any{}
		if err := json.Unmarshal([]byte(`{"model":"`+x.model+`","prompt":"A weir",`+x.settings+`}`), &body); err != nil {
			t.Fatal(err)
		}
		a := gw.newAccount(t)
		if got := a.paint(t, body); string(got.Usage.Cost) != x.want {
			t.Errorf("%s with %s costs %s, want %s", x.model, x.settings, got.Usage.Cost, x.want)
		}
		a.wantNothingHeld(t)
	}
	gw.wantBalanced(t)
}
