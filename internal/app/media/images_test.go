package media_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"weir/internal/app/apptest"
	"weir/internal/catalog"
	"weir/internal/sim"
)

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
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { apptest.DeclarePainters(t, &s.Declared, apptest.Painters) })
	t.Run("each", func(t *testing.T) { wantPainted(t, gw) })
	gw.WantBalanced(t)
}

func wantPainted(t *testing.T, gw *apptest.Gateway) {
	for i := range apptest.Painters {
		p := &apptest.Painters[i]
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			a := gw.NewAccount(t)
			for _, n := range []int{1, 3} {
				got := a.Paint(t, map[string]any{"model": p.Slug(""), "prompt": "A weir in spring", "n": n})
				if len(got.Data) != n || got.Created == 0 || string(got.Usage.Cost) != map[int]string{1: "2", 3: "6"}[n] {
					t.Fatalf("%d images of %d, created %d, cost %s", len(got.Data), n, got.Created, got.Usage.Cost)
				}
				for i := range got.Data {
					wantImage(t, got.Data[i].B64JSON, got.Data[i].MediaType, p.Media)
				}
				if u := &got.Usage; u.PromptTokens == nil || u.CompletionTokens == nil || (*u.TotalTokens > 0) != p.Tokens || *u.InputTokens != *u.PromptTokens || *u.OutputTokens != *u.CompletionTokens {
					t.Errorf("usage %+v", got.Usage)
				}
			}
			a.WantSpent(t, true)
			a.WantNothingHeld(t)
		})
	}
}

// A stream has previews if the provider makes them, one event per image, and the usage on the last event. This also works for a provider
// without streams.
func TestImageStreams(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { apptest.DeclarePainters(t, &s.Declared, apptest.Painters) })
	for i := range apptest.Painters {
		p := &apptest.Painters[i]
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			a := gw.NewAccount(t)
			for _, n := range []int{1, 2} {
				got := a.Do(t, http.MethodPost, "/v1/images", map[string]any{"model": p.Slug(""), "prompt": "A weir in autumn", "n": n, "stream": true, "partial_images": 2})
				events := got.ImageEvents(t)
				if said := len(events) > 0 && events[0].Type == "image_generation.text_chunk"; said != (p.Name == "gemini" || p.Name == "modal") {
					t.Errorf("words beside the image: %v", said)
				} else if said {
					events = events[1:]
				}
				previews := 0
				if p.Name == "gpt" && n == 1 {
					previews = 2
				}
				if len(events) != previews+n {
					t.Fatalf("%d events: %.2000s", len(events), got.Body)
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
			a.WantNothingHeld(t)
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
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { apptest.DeclarePainters(t, &s.Declared, apptest.Painters) })
	data := "data:image/png;base64," + base64.StdEncoding.EncodeToString(square(t))
	for i := range apptest.Painters {
		p := &apptest.Painters[i]
		if !p.Edits {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			a := gw.NewAccount(t)
			form, kind := editForm(t, 2, [][2]string{{"model", p.Slug("")}, {"prompt", "Higher water"}, {"n", "1"}})
			got := a.Send(t, http.MethodPost, "/v1/images/edits", form, map[string]string{"Content-Type": kind}).Images(t)
			wantImage(t, got.Data[0].B64JSON, got.Data[0].MediaType, p.Media)
			for _, address := range []string{data, "https://files.example.com/weir.png"} {
				got = a.Do(t, http.MethodPost, "/v1/images/edits", map[string]any{"model": p.Slug(""), "prompt": "Higher water", "images": []any{map[string]any{"image_url": address}}}).Images(t)
				wantImage(t, got.Data[0].B64JSON, got.Data[0].MediaType, p.Media)
			}
			got = a.Paint(t, map[string]any{"model": p.Slug(""), "prompt": "Higher water", "input_references": []any{map[string]any{"type": "image_url", "image_url": map[string]any{"url": data}}}})
			wantImage(t, got.Data[0].B64JSON, got.Data[0].MediaType, p.Media)
			form, kind = editForm(t, 1, [][2]string{{"model", p.Slug("")}, {"prompt", "Lower water"}, {"stream", "true"}})
			events := a.Send(t, http.MethodPost, "/v1/images/edits", form, map[string]string{"Content-Type": kind}).ImageEvents(t)
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
	tested := []apptest.Painter{apptest.Painters[0], apptest.Painters[6]}
	tested[0].Model = "gpt-image-2" // its images can be small, and the test makes hundreds
	var faults []string
	for i := range apptest.Matrix {
		faults = append(faults, apptest.Matrix[i].Fault)
	}
	declare := func(s *apptest.Setup) { apptest.DeclarePainters(t, &s.Declared, tested, faults...) }
	patient, hasty := apptest.StartGateway(t, declare), apptest.StartGateway(t, declare, func(s *apptest.Setup) {
		apptest.Hasten(&s.Upstream)
	})
	var all sync.WaitGroup
	places := make(chan struct{}, 8)
	for i := range apptest.Matrix {
		c, gw := &apptest.Matrix[i], patient
		if c.Waits {
			gw = hasty
		}
		if c.Closed { // no server is there
			continue
		}
		for j := range tested {
			p := &tested[j]
			if !apptest.Shown(i, j) {
				continue
			}
			for _, stream := range []bool{false, true} {
				if stream && p.Dialect != "openai" || !stream && c.Whole == 0 {
					continue
				}
				all.Go(func() {
					places <- struct{}{}
					defer func() { <-places }()
					t.Run(p.Name+"/"+c.Name(t)+map[bool]string{true: "/stream"}[stream], func(t *testing.T) { c.CheckPainter(t, gw, p, stream) })
				})
			}
		}
	}
	all.Wait()
	for _, gw := range []*apptest.Gateway{patient, hasty} {
		if n := gw.Sim.Stats().Redirected; n != 0 {
			t.Errorf("%d redirects were followed", n)
		}
		gw.WantBalanced(t)
	}
}

// An answer without an image is an error, whatever its status. It is not charged, and official clients are told not to retry.
func TestNoImage(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { apptest.DeclarePainters(t, &s.Declared, apptest.Painters) })
	for i := range apptest.Painters {
		p := &apptest.Painters[i]
		if p.Name == "router" || p.Name == "gemini" || p.Name == "modal" { // the simulator's chat models always add an image
			continue
		}
		for _, x := range []struct {
			job    string
			status int
		}{{"empty", apptest.Bad}, {"policy", apptest.Ours}} {
			t.Run(p.Name+"/"+x.job, func(t *testing.T) {
				t.Parallel()
				a := gw.NewAccount(t)
				got := a.Do(t, http.MethodPost, "/v1/images", map[string]any{"model": p.Slug(""), "prompt": "[[sim job=" + x.job + "]] A weir"})
				if got.Status != x.status {
					t.Fatalf("status %d: %.500s", got.Status, got.Body)
				}
				if retry := got.Header.Get("X-Should-Retry"); x.job == "empty" && retry != "false" {
					t.Errorf("X-Should-Retry: %q", retry)
				}
				got.WantEnvelope(t)
				a.WantSpent(t, false)
				a.WantNothingHeld(t)
			})
		}
	}
}

// What a model says instead of an image is the error, and costs nothing; what it says beside one is in the answer. Of several images those that
// were made are given and charged (gavrielc/Nano-PDF#2, Wei-Shaw/sub2api#3429).
func TestImagesAndWords(t *testing.T) {
	t.Parallel()
	picture := base64.StdEncoding.EncodeToString(square(t))
	var asked atomic.Int64
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		n := asked.Add(1)
		answer := `{"candidates":[{"content":{"parts":[{"text":"Here is a weir."},{"inlineData":{"mimeType":"image/png","data":"` + picture + `"}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":1290}}`
		switch {
		case bytes.Contains(body, []byte("What is 2 + 2?")):
			answer = `{"candidates":[{"content":{"parts":[{"text":"2 + 2 is 4."}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":8}}`
		case bytes.Contains(body, []byte("Two weirs")) && n%2 == 0:
			answer = `{"candidates":[{"finishReason":"IMAGE_SAFETY"}]}`
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(provider.Close)
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		d := &s.Declared
		for _, id := range []string{"one", "other"} {
			d.Providers = append(d.Providers, catalog.Provider{ID: id, Name: id, Dialect: "gemini", BaseURL: provider.URL, Key: "sk-upstream-key"})
			d.Offers = append(d.Offers, catalog.Offer{Provider: id, Model: "banana/works", UpstreamID: "m", Pricing: catalog.Pricing{List: "test", Base: catalog.Prices{ImageOutputEach: apptest.Price(t, "2")}}})
		}
		d.Models = append(d.Models, catalog.ModelInfo{Slug: "banana/works", Type: catalog.TypeImage})
	})
	a := gw.NewAccount(t)
	for _, stream := range []bool{false, true} {
		got := a.Do(t, http.MethodPost, "/v1/images", map[string]any{"model": "banana/works", "prompt": "What is 2 + 2?", "stream": stream})
		if got.WantWord(t, http.StatusBadRequest, "refusal"); !bytes.Contains(got.Body, []byte("The model made no image. It said: 2 + 2 is 4.")) {
			t.Errorf("stream %v: %s", stream, got.Body)
		}
	}
	a.WantSpent(t, false)
	if n := asked.Load(); n != 2 {
		t.Errorf("%d requests: another endpoint was asked what this one had answered", n)
	}
	some := a.Paint(t, map[string]any{"model": "banana/works", "prompt": "Two weirs", "n": 2})
	if len(some.Data) != 1 || string(some.Usage.Cost) != "2" || some.Text != "Here is a weir." || !strings.HasPrefix(some.Metadata.Notice, "1 of 2 images were made") {
		t.Errorf("%d images, cost %s, text %q, notice %q", len(some.Data), some.Usage.Cost, some.Text, some.Metadata.Notice)
	}
	events := a.Do(t, http.MethodPost, "/v1/images", map[string]any{"model": "banana/works", "prompt": "A weir", "stream": true}).ImageEvents(t)
	if len(events) != 2 || events[0].Type != "image_generation.text_chunk" || events[1].Type != "image_generation.completed" {
		t.Errorf("%+v", events)
	}
	a.WantNothingHeld(t)
	gw.WantBalanced(t)
}

// Why Google bars an image is the refusal in each style, and is no output of the model that anybody pays for (BerriAI/litellm#20357).
func TestBarredImageInWords(t *testing.T) {
	t.Parallel()
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const answer = `{"candidates":[{"content":{"role":"model"},"finishReason":"IMAGE_PROHIBITED_CONTENT","finishMessage":"It has sensitive words."}],"usageMetadata":{"promptTokenCount":8,"totalTokenCount":8}}`
		if strings.Contains(r.URL.Path, "stream") {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: "+answer+"\n\n")
			return
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(provider.Close)
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		d := &s.Declared
		d.Providers = append(d.Providers, catalog.Provider{ID: "one", Name: "one", Dialect: "gemini", BaseURL: provider.URL, Key: "sk-upstream-key"})
		d.Models = append(d.Models, catalog.ModelInfo{Slug: "banana/works"})
		d.Offers = append(d.Offers, catalog.Offer{Provider: "one", Model: "banana/works", UpstreamID: "m", Pricing: catalog.Pricing{List: "test", Base: catalog.Prices{Prompt: apptest.Price(t, "0.001"), Completion: apptest.Price(t, "0.01")}}})
	})
	a := gw.NewAccount(t)
	for path, body := range map[string]string{
		"/v1/chat/completions": `"messages":[{"role":"user","content":"A weir"}]`, "/v1/responses": `"input":"A weir"`, "/v1/messages": `"max_tokens":50,"messages":[{"role":"user","content":"A weir"}]`,
	} {
		for _, stream := range []string{"false", "true"} {
			got := a.Do(t, http.MethodPost, path, json.RawMessage(`{"model":"banana/works","stream":`+stream+`,`+body+`}`))
			if got.Status != http.StatusOK || !bytes.Contains(got.Body, []byte("It has sensitive words.")) {
				t.Errorf("%s, stream %s: status %d: %s", path, stream, got.Status, got.Body)
			}
		}
	}
	if c := a.Credits(t); c.TotalUsage != "0.000048" { // six times eight tokens of the prompts
		t.Errorf("charged %s", c.TotalUsage)
	}
	a.WantNothingHeld(t)
}

// If a client leaves while the provider's queue is working, the request is cancelled and not charged.
func TestImageIsCancelled(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { apptest.DeclarePainters(t, &s.Declared, apptest.Painters) })
	a := gw.NewAccount(t)
	counts := func() (c sim.JobCounts) {
		for _, j := range gw.Sim.Jobs() {
			if j.Wire == "fal" {
				c = j
			}
		}
		return c
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, gw.URL+"/v1/images", strings.NewReader(`{"model":"fal/works","prompt":"[[sim job=never]] A weir"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.Key)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if res, err := gw.Client.Do(req); err == nil {
			res.Body.Close()
		}
	}()
	apptest.WaitFor(t, "the provider to be looked after", func() bool { return counts().Polls > 0 })
	leave()
	<-gone
	apptest.WaitFor(t, "the request to be taken back", func() bool { return counts().Cancels == 1 })
	apptest.WaitFor(t, "the hold to end", func() bool { return a.Credits(t).Reserved == "0" })
	a.WantSpent(t, false)
	if c := counts(); c.Submits != 1 {
		t.Errorf("%+v", c)
	}
}

// A request with an idempotency key is painted and charged once: whole, as a stream, and as a form whose boundary changes.
func TestNamedImages(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { apptest.DeclarePainters(t, &s.Declared, apptest.Painters[:1]) })
	a := gw.NewAccount(t)
	send := func(name string, edit, stream bool) *apptest.Answer {
		if !edit {
			b, err := json.Marshal(map[string]any{"model": "gpt/works", "prompt": "A weir", "stream": stream})
			if err != nil {
				t.Fatal(err)
			}
			return a.Send(t, http.MethodPost, "/v1/images", b, map[string]string{"Idempotency-Key": name})
		}
		form, kind := editForm(t, 1, [][2]string{{"model", "gpt/works"}, {"prompt", "Higher"}})
		return a.Send(t, http.MethodPost, "/v1/images/edits", form, map[string]string{"Idempotency-Key": name, "Content-Type": kind})
	}
	for name, x := range map[string]struct{ edit, stream bool }{"whole": {}, "stream": {stream: true}, "form": {edit: true}} {
		before := gw.Attempts()
		first, again := send(name, x.edit, x.stream), send(name, x.edit, x.stream)
		if first.Status != http.StatusOK || !bytes.Equal(first.Body, again.Body) || again.Header.Get("Idempotent-Replayed") != "true" || gw.Attempts() != before+1 {
			t.Errorf("%s: status %d and %d, replayed %q, %d attempts", name, first.Status, again.Status, again.Header.Get("Idempotent-Replayed"), gw.Attempts()-before)
		}
	}
	if spent := a.Credits(t).TotalUsage; spent != "6" {
		t.Errorf("spent %s", spent)
	}
	gw.WantBalanced(t)
}

// The catalog lists image models with their prices on a separate route.
func TestImageModels(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { apptest.DeclarePainters(t, &s.Declared, apptest.Painters[:2]) })
	a := gw.NewAccount(t)
	var list struct {
		Data []struct{ ID, ModelType string }
	}
	got := a.Do(t, http.MethodGet, "/v1/images/models", nil)
	if err := json.Unmarshal(got.Body, &list); err != nil || got.Status != http.StatusOK || len(list.Data) != 2 || !strings.Contains(string(got.Body), `"model_type":"image"`) {
		t.Errorf("status %d, %v: %.500s", got.Status, err, got.Body)
	}
	if got := a.Chat(t, map[string]any{"model": "gpt/works", "messages": []any{map[string]any{"role": "user", "content": "hi"}}}); got.Status != http.StatusBadRequest || !strings.Contains(string(got.Body), "wrong_endpoint") {
		t.Errorf("in a chat: status %d: %s", got.Status, got.Body)
	}
}

// Images are priced by quality and size, by pixels or by tokens, as the endpoint's price list says.
func TestImagePrices(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		apptest.DeclarePainters(t, &s.Declared, apptest.Painters)
		offer := func(provider, slug, model string, base catalog.Prices, lines ...catalog.ImagePrice) {
			s.Declared.Models = append(s.Declared.Models, catalog.ModelInfo{Slug: slug, Type: catalog.TypeImage})
			s.Declared.Offers = append(s.Declared.Offers, catalog.Offer{Provider: provider, Model: slug, UpstreamID: model, Pricing: catalog.Pricing{List: "test", Base: base, Images: lines}})
		}
		line := func(unit, quality, size, text string) catalog.ImagePrice {
			return catalog.ImagePrice{Component: "image_output", Unit: unit, Variant: quality, Resolution: size, Price: apptest.Price(t, text)}
		}
		offer("dalle", "prices/list", "dall-e-3", catalog.Prices{}, line(catalog.UnitImage, "standard", "1024x1024", "4"), line(catalog.UnitImage, "hd", "1024x1024", "8"), line(catalog.UnitImage, "standard", "1792x1024", "9"),
			line(catalog.UnitImage, "hd", "1792x1024", "12"))
		offer("fal", "prices/pixels", "fal-ai/flux/dev", catalog.Prices{}, line(catalog.UnitMegapixel, "", "", "10"))
		offer("gpt", "prices/tokens", "gpt-image-1", catalog.Prices{Prompt: apptest.Price(t, "0"), ImageOutput: apptest.Price(t, "5")})
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
		a := gw.NewAccount(t)
		if got := a.Paint(t, body); string(got.Usage.Cost) != x.want {
			t.Errorf("%s with %s costs %s, want %s", x.model, x.settings, got.Usage.Cost, x.want)
		}
		a.WantNothingHeld(t)
	}
	gw.WantBalanced(t)
}
