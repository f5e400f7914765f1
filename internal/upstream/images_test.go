package upstream_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/bfl"
	"weir/internal/dialect/fal"
	"weir/internal/dialect/gemini"
	"weir/internal/dialect/openai"
	"weir/internal/dialect/yandex"
	"weir/internal/fault"
	"weir/internal/outbound"
	"weir/internal/task"
	"weir/internal/upstream"
	"weir/internal/upstream/upstreamtest"
	"weir/internal/usage"
)

// studio is a provider of images that answers by a script, and stores its requests.
type studio struct {
	*httptest.Server
	answers map[string]string // by method and path; the first use of "a\x00b" gives a, and all later ones b

	mu   sync.Mutex
	seen []string
}

func newStudio(t *testing.T, answers map[string]string) *studio {
	t.Helper()
	s := &studio{answers: answers}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *studio) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := r.Method + " " + r.URL.RequestURI()
	body, _ := io.ReadAll(r.Body)
	s.seen = append(s.seen, strings.TrimSpace(at+" "+reported(r.Header.Get("Content-Type"), body)))
	answer, more, some := strings.Cut(s.answers[at], "\x00")
	if some {
		s.answers[at] = more
	}
	status := http.StatusOK
	if _, err := fmt.Sscanf(answer, "%d ", &status); err == nil {
		answer = answer[4:]
	}
	if strings.HasPrefix(answer, "event:") {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, strings.ReplaceAll(strings.ReplaceAll(answer, "HOST", s.URL), "PNG", base64.StdEncoding.EncodeToString(dot())))
}

// reported is a body to compare: for a form it is its fields.
func reported(kind string, body []byte) string {
	media, params, err := mime.ParseMediaType(kind)
	if err != nil || media != "multipart/form-data" {
		return strings.ReplaceAll(string(body), base64.StdEncoding.EncodeToString(dot()), "PNG")
	}
	var out []string
	for parts := multipart.NewReader(bytes.NewReader(body), params["boundary"]); ; {
		p, err := parts.NextPart()
		if err != nil {
			return strings.Join(out, " ")
		}
		data, _ := io.ReadAll(p)
		if bytes.Equal(data, dot()) {
			data = []byte(p.FileName() + ":" + p.Header.Get("Content-Type"))
		}
		out = append(out, p.FormName()+"="+string(data))
	}
}

// dot is an image.
func dot() []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, 3, 2)))
	return b.Bytes()
}

// ProviderBytes is what a studio's addresses lead to.
func (s *studio) ProviderBytes(context.Context, string, outbound.Home, string, int64) ([]byte, string, error) {
	return dot(), "image/png", nil
}

func (s *studio) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

var easels = map[string]dialect.Dialect{"openai": &openai.Dialect{}, "gemini": &gemini.Dialect{}, "fal": &fal.Dialect{}, "bfl": &bfl.Dialect{}, "yandex": &yandex.Dialect{}}

// perform does a task at the studio; the result is described in words.
func (s *studio) perform(t *testing.T, dialect, model string, req *completion.Request, quirks catalog.Quirks) (events []string, reported usage.Usage, notice string, fail *fault.Error) {
	t.Helper()
	c := upstreamtest.New(upstream.Config{Dialects: easels, Fetcher: s, Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }})
	t.Cleanup(c.Close)
	ep := &catalog.Endpoint{ID: "p/v/m", UpstreamID: model, Model: &catalog.Model{Slug: "v/m"}, Provider: &catalog.Provider{ID: "studio", Name: "Studio", Dialect: dialect, BaseURL: s.URL, Key: "sk-test", Quirks: quirks}}
	for ev, err := range c.Complete(t.Context(), ep, req, nil) {
		if err != nil {
			return events, reported, notice, fault.From(err)
		}
		if ev.Head != nil {
			notice = ev.Head.Notice
		}
		if ev.Usage != nil {
			reported = *ev.Usage
		}
		if len(ev.Text) > 0 {
			events = append(events, "words "+string(ev.Text))
		}
		if len(ev.Reasoning) > 0 {
			events = append(events, "thoughts "+string(ev.Reasoning))
		}
		if ev.Result == nil || ev.Result.Image == nil {
			continue
		}
		word := "picture"
		if ev.Result.Image.Partial {
			word = "preview"
		}
		p := ev.Result.Image
		events = append(events, fmt.Sprintf("%s %d %s %dx%d", word, p.Index, p.MediaType, p.Width, p.Height))
	}
	return events, reported, notice, nil
}

// What each wire is asked, in the order of the requests, and what becomes of its answers.
func TestImages(t *testing.T) {
	t.Parallel()
	seed := int64(5)
	inline := "data:image/png;base64," + base64.StdEncoding.EncodeToString(dot())
	one := []string{"picture 0 image/png 3x2"}
	const gpt = `{"created":1,"data":[{"b64_json":"PNG"}],"size":"auto","usage":{"input_tokens":9,"output_tokens":40,"total_tokens":49,"input_tokens_details":{"text_tokens":5,"image_tokens":4}}}`
	const content = `{"candidates":[{"content":{"parts":[{"text":"Here."},{"inlineData":{"mimeType":"image/png","data":"PNG"}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":1290}}`
	for _, x := range []struct {
		name, dialect, model string
		task                 task.Image
		stream               bool
		quirks               catalog.Quirks
		answers              map[string]string
		asked, want          []string
		notice               string
		prompt, output       int64
	}{
		{
			name: "gpt", dialect: "openai", model: "gpt-image-1", answers: map[string]string{"POST /images/generations": gpt}, want: one, prompt: 9, output: 40,
			task:   task.Image{Prompt: "p", N: 1, AspectRatio: "16:9", Quality: "hd", Background: "opaque", Output: "webp", Compression: 80, Moderation: "low", Style: "vivid", Seed: &seed, Extra: []task.Extra{{Name: "x", Value: []byte("[1]")}, {Name: "webhook_url", Value: []byte(`"https://a.test"`)}}, Options: []task.Extra{{Name: "studio", Value: []byte(`{"y":2,"n":10}`)}, {Name: "other", Value: []byte(`{"z":3}`)}}},
			asked:  []string{`POST /images/generations {"model":"gpt-image-1","prompt":"p","n":1,"size":"1536x1024","quality":"high","background":"opaque","output_format":"webp","output_compression":80,"moderation":"low","y":2,"x":[1]}`},
			notice: "The provider of this model does not take provider.options.studio.n, seed, style, webhook_url: the answer was made without.",
		},
		{
			name: "gpt of any size", dialect: "openai", model: "gpt-image-2", answers: map[string]string{"POST /images/generations": gpt}, want: one, prompt: 9, output: 40,
			task: task.Image{Prompt: "p", N: 1, AspectRatio: "16:9", Resolution: "2K", Compression: -1}, asked: []string{`POST /images/generations {"model":"gpt-image-2","prompt":"p","n":1,"size":"2736x1536"}`},
		},
		{
			name: "gpt as a stream", dialect: "openai", model: "gpt-image-1", stream: true, want: []string{"preview 0 image/png 3x2", "picture 0 image/png 3x2"}, prompt: 3, output: 8,
			answers: map[string]string{"POST /images/generations": "event: image_generation.partial_image\ndata: {\"type\":\"image_generation.partial_image\",\"b64_json\":\"PNG\",\"partial_image_index\":0}\n\n" +
				"event: image_generation.completed\ndata: {\"type\":\"image_generation.completed\",\"b64_json\":\"PNG\",\"usage\":{\"input_tokens\":3,\"output_tokens\":8}}\n\n"},
			task: task.Image{Prompt: "p", N: 1, Partial: 1, Compression: -1}, asked: []string{`POST /images/generations {"model":"gpt-image-1","prompt":"p","n":1,"stream":true,"partial_images":1}`},
		},
		{
			name: "an edit with files", dialect: "openai", model: "gpt-image-1", answers: map[string]string{"POST /images/edits": gpt}, want: one, prompt: 9, output: 40,
			task:  task.Image{Prompt: "p", N: 1, Compression: -1, References: []string{inline, inline}, Mask: inline},
			asked: []string{"POST /images/edits model=gpt-image-1 prompt=p n=1 image[]=picture.png:image/png image[]=picture.png:image/png mask=picture.png:image/png"},
		},
		{
			name: "an edit by address", dialect: "openai", model: "gpt-image-1", answers: map[string]string{"POST /images/edits": gpt}, want: one, prompt: 9, output: 40,
			task: task.Image{Prompt: "p", N: 1, Compression: -1, References: []string{"https://a.test/b"}}, asked: []string{`POST /images/edits {"model":"gpt-image-1","prompt":"p","n":1,"images":[{"image_url":"https://a.test/b"}]}`},
		},
		{
			name: "dall-e by several calls", dialect: "openai", model: "dall-e-3", answers: map[string]string{"POST /images/generations": `{"created":1,"data":[{"url":"https://files.test/a.png","revised_prompt":"r"}]}`}, want: []string{"picture 0 image/png 3x2", "picture 1 image/png 3x2"},
			task:  task.Image{Prompt: "p", N: 2, Quality: "high", Style: "natural", AspectRatio: "9:16", Compression: -1},
			asked: slices.Repeat([]string{`POST /images/generations {"model":"dall-e-3","prompt":"p","n":1,"size":"1024x1792","quality":"hd","style":"natural","response_format":"b64_json"}`}, 2),
		},
		{
			name: "openrouter", dialect: "openai", model: "v/m", quirks: catalog.Quirks{ImagesWire: "openrouter"}, want: one, prompt: 2, output: 7,
			answers: map[string]string{"POST /images": `{"created":1,"data":[{"b64_json":"PNG","media_type":"image/png"}],"usage":{"prompt_tokens":2,"completion_tokens":7,"total_tokens":9}}`},
			task:    task.Image{Prompt: "p", N: 1, AspectRatio: "16:9", Resolution: "2K", Seed: &seed, Compression: -1, References: []string{"https://a.test/b"}},
			asked:   []string{`POST /images {"model":"v/m","prompt":"p","n":1,"resolution":"2K","aspect_ratio":"16:9","seed":5,"input_references":[{"type":"image_url","image_url":{"url":"https://a.test/b"}}]}`},
		},
		{
			name: "openrouter as a stream", dialect: "openai", model: "v/m", quirks: catalog.Quirks{ImagesWire: "openrouter"}, stream: true, want: []string{"words <svg", "thoughts A weir", "picture 0 image/png 3x2"}, prompt: 2, output: 7,
			answers: map[string]string{"POST /images": "event: image_generation.text_chunk\ndata: {\"type\":\"image_generation.text_chunk\",\"phase\":\"content\",\"text\":\"<svg\"}\n\ndata: {\"type\":\"image_generation.text_chunk\",\"phase\":\"reasoning\",\"text\":\"A weir\"}\n\n" +
				"event: image_generation.completed\ndata: {\"type\":\"image_generation.completed\",\"b64_json\":\"PNG\",\"usage\":{\"prompt_tokens\":2,\"completion_tokens\":7}}\n\ndata: [DONE]\n\n"},
			task: task.Image{Prompt: "p", N: 1, Partial: 2, Output: "svg", Compression: -1}, asked: []string{`POST /images {"model":"v/m","prompt":"p","n":1,"output_format":"svg","stream":true}`},
			notice: "The provider of this model does not take partial_images: the answer was made without.",
		},
		{
			name: "a conversation", dialect: "openai", model: "v/m", quirks: catalog.Quirks{ImagesWire: "chat"}, stream: true, want: []string{"words Here.", one[0]}, prompt: 2, output: 7,
			answers: map[string]string{"POST /chat/completions": `{"id":"c","choices":[{"finish_reason":"stop","message":{"content":"Here.","images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,PNG"}}]}}],"usage":{"prompt_tokens":2,"completion_tokens":7}}`},
			task:    task.Image{Prompt: "p", N: 1, Size: "2048x1152", Seed: &seed, Style: "vivid", Compression: -1, References: []string{"https://a.test/b"}},
			asked:   []string{`POST /chat/completions {"model":"v/m","messages":[{"role":"user","content":[{"type":"text","text":"p"},{"type":"image_url","image_url":{"url":"https://a.test/b"}}]}],"modalities":["image","text"],"image_config":{"aspect_ratio":"16:9","image_size":"2K"},"seed":5}`},
			notice:  "The provider of this model does not take style: the answer was made without.",
		},
		{
			name: "a stream that is none", dialect: "openai", model: "gpt-image-1", stream: true, answers: map[string]string{"POST /images/generations": gpt}, want: one, prompt: 9, output: 40,
			task: task.Image{Prompt: "p", N: 1, Compression: -1}, asked: []string{`POST /images/generations {"model":"gpt-image-1","prompt":"p","n":1,"stream":true,"partial_images":0}`},
		},
		{
			name: "gemini", dialect: "gemini", model: "gemini-3-pro-image", answers: map[string]string{"POST /models/gemini-3-pro-image:generateContent": content}, want: []string{"words Here.", one[0]}, prompt: 4, output: 1290,
			task:   task.Image{Prompt: "p", N: 1, Size: "4K", AspectRatio: "9:21", Quality: "high", Compression: -1, References: []string{inline, "https://a.test/b"}},
			asked:  []string{`POST /models/gemini-3-pro-image:generateContent {"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"PNG"}},{"fileData":{"fileUri":"https://a.test/b"}},{"text":"p"}]}],"generationConfig":{"responseModalities":["TEXT","IMAGE"],"imageConfig":{"aspectRatio":"9:16","imageSize":"4K"}}}`},
			notice: "The provider of this model does not take quality: the answer was made without.",
		},
		{
			name: "imagen", dialect: "gemini", model: "imagen-4.0-generate-001", answers: map[string]string{"POST /models/imagen-4.0-generate-001:predict": `{"predictions":[{"mimeType":"image/png","bytesBase64Encoded":"PNG"}]}`}, want: one,
			task:  task.Image{Prompt: "p", N: 1, Size: "2048x2048", Output: "jpeg", Compression: 75},
			asked: []string{`POST /models/imagen-4.0-generate-001:predict {"instances":[{"prompt":"p"}],"parameters":{"sampleCount":1,"includeRaiReason":true,"aspectRatio":"1:1","sampleImageSize":"2K","outputOptions":{"mimeType":"image/jpeg","compressionQuality":75}}}`},
		},
		{
			name: "fal", dialect: "fal", model: "fal-ai/flux/dev", want: one,
			answers: map[string]string{
				"POST /fal-ai/flux/dev": `{"request_id":"r","status_url":"HOST/r/status","response_url":"HOST/r","cancel_url":"HOST/r/cancel"}`,
				"GET /r/status":         "202 {\"status\":\"IN_QUEUE\"}\x00{\"status\":\"COMPLETED\"}", "GET /r": `{"images":[{"url":"https://files.test/a"},{"url":"https://files.test/b"}],"has_nsfw_concepts":[true,false]}`,
			},
			task:   task.Image{Prompt: "p", N: 1, Size: "1024x768", Seed: &seed, Compression: -1, References: []string{"https://a.test/b"}, Extra: []task.Extra{{Name: "num_inference_steps", Value: []byte("4")}, {Name: "num_images", Value: []byte("4")}}},
			notice: "The provider of this model does not take num_images: the answer was made without.",
			asked:  []string{`POST /fal-ai/flux/dev {"prompt":"p","num_images":1,"image_size":{"width":1024,"height":768},"seed":5,"image_url":"https://a.test/b","image_urls":["https://a.test/b"],"num_inference_steps":4}`, "GET /r/status", "GET /r/status", "GET /r"},
		},
		{
			name: "bfl", dialect: "bfl", model: "flux-2-pro", want: one, answers: map[string]string{"POST /flux-2-pro": `{"id":"i","polling_url":"HOST/get?id=i"}`, "GET /get?id=i": "{\"status\":\"Pending\"}\x00{\"status\":\"Ready\",\"result\":{\"sample\":\"https://files.test/a\"}}"},
			task:  task.Image{Prompt: "p", N: 1, AspectRatio: "1:1", Output: "png", Compression: -1, References: []string{inline, "https://a.test/b"}},
			asked: []string{`POST /flux-2-pro {"prompt":"p","width":1024,"height":1024,"output_format":"png","input_image":"PNG","input_image_2":"https://a.test/b"}`, "GET /get?id=i", "GET /get?id=i"},
		},
		{
			name: "bfl by ratio", dialect: "bfl", model: "flux-kontext-pro", want: one, answers: map[string]string{"POST /flux-kontext-pro": `{"id":"i"}`, "GET /get_result?id=i": `{"status":"Ready","result":{"sample":"https://files.test/a"}}`},
			task: task.Image{Prompt: "p", N: 1, Size: "1792x1024", Compression: -1}, asked: []string{`POST /flux-kontext-pro {"prompt":"p","aspect_ratio":"16:9"}`, "GET /get_result?id=i"},
		},
		{
			name: "yandex", dialect: "yandex", model: "art://f/yandex-art/latest", want: one, answers: map[string]string{"POST /foundationModels/v1/imageGenerationAsync": `{"id":"o","done":false}`, "GET /operations/o": "{\"id\":\"o\",\"done\":false}\x00{\"id\":\"o\",\"done\":true,\"response\":{\"image\":\"PNG\"}}"},
			task:   task.Image{Prompt: "p", N: 1, AspectRatio: "16:9", Seed: &seed, Output: "png", Compression: -1},
			asked:  []string{`POST /foundationModels/v1/imageGenerationAsync {"modelUri":"art://f/yandex-art/latest","messages":[{"weight":"1","text":"p"}],"generationOptions":{"seed":"5","aspectRatio":{"widthRatio":"16","heightRatio":"9"}}}`, "GET /operations/o", "GET /operations/o"},
			notice: "The provider of this model does not take output_format: the answer was made without.",
		},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			s := newStudio(t, x.answers)
			events, reported, notice, err := s.perform(t, x.dialect, x.model, &completion.Request{Task: &x.task, Stream: x.stream, N: x.task.N}, x.quirks)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(x.asked, s.asked()); diff != "" {
				t.Errorf("asked: %s", diff)
			}
			if diff := cmp.Diff(x.want, events); diff != "" {
				t.Errorf("given: %s", diff)
			}
			if notice != x.notice {
				t.Errorf("notice %q", notice)
			}
			if reported.Prompt.N != x.prompt || reported.Completion.N != x.output || reported.OutputImage.N != x.output {
				t.Errorf("usage %+v", reported)
			}
		})
	}
}

// What is no image is a failure of the provider, and what its policy forbids is not.
func TestNoImages(t *testing.T) {
	t.Parallel()
	const operation, operations = "POST /foundationModels/v1/imageGenerationAsync", "GET /operations/o"
	queue := func(status, result string) map[string]string {
		return map[string]string{"POST /a/b": `{"request_id":"r","status_url":"HOST/r/status","response_url":"HOST/r","cancel_url":"HOST/r/cancel"}`, "GET /r/status": status, "GET /r": result}
	}
	for _, x := range []struct {
		name, dialect, model string
		answers              map[string]string
		kind                 fault.Kind
		said                 string // that the error says
	}{
		{"no data", "openai", "gpt-image-1", map[string]string{"POST /images/generations": `{"data":[]}`}, fault.ProviderUnavailable, ""},
		{"data that is no picture", "openai", "gpt-image-1", map[string]string{"POST /images/generations": `{"data":[{"b64_json":"aGVsbG8="}]}`}, fault.ProviderUnavailable, ""},
		{"data that is no base64", "openai", "gpt-image-1", map[string]string{"POST /images/generations": `{"data":[{"b64_json":"%"}]}`}, fault.ProviderUnavailable, ""},
		{"neither data nor address", "openai", "gpt-image-1", map[string]string{"POST /images/generations": `{"data":[{}]}`}, fault.ProviderUnavailable, ""},
		{"barred", "openai", "gpt-image-1", map[string]string{"POST /images/generations": `400 {"error":{"code":"moderation_blocked","message":"Rejected by the safety system."}}`}, fault.ContentPolicy, ""},
		{"only words in a conversation", "chat", "v/m", map[string]string{"POST /chat/completions": `{"choices":[{"finish_reason":"stop","message":{"content":"I cannot draw\nthat."}}]}`}, fault.Refusal, "I cannot draw that."},
		{"words in parts", "chat", "v/m", map[string]string{"POST /chat/completions": `{"choices":[{"finish_reason":"stop","message":{"content":[{"type":"text","text":"No."}],"images":[]}}]}`}, fault.Refusal, "No."},
		{"a refusal", "chat", "v/m", map[string]string{"POST /chat/completions": `{"choices":[{"finish_reason":"stop","message":{"content":null,"refusal":"I will not."}}]}`}, fault.Refusal, "I will not."},
		{"an error in the place of the image", "openai", "m", map[string]string{"POST /images/generations": `{"data":[{"error":{"code":"content_policy_violation","message":"Not this."}}]}`}, fault.ContentPolicy, "Not this."},
		{"a barred conversation", "chat", "v/m", map[string]string{"POST /chat/completions": `{"choices":[{"finish_reason":"content_filter","message":{"content":""}}]}`}, fault.ContentPolicy, ""},
		{"only words", "gemini", "g", map[string]string{"POST /models/g:generateContent": `{"candidates":[{"content":{"parts":[{"thought":true,"text":"Hm."},{"text":"2 + 2 is 4."}]},"finishReason":"STOP"}]}`}, fault.Refusal, "The model made no image. It said: 2 + 2 is 4."},
		{"a barred picture", "gemini", "g", map[string]string{"POST /models/g:generateContent": `{"candidates":[{"finishReason":"IMAGE_SAFETY"}]}`}, fault.ContentPolicy, ""},
		// BerriAI/litellm#20357
		{"a barred picture in Google's words", "gemini", "g", map[string]string{"POST /models/g:generateContent": `{"candidates":[{"content":{"role":"model"},"finishReason":"IMAGE_PROHIBITED_CONTENT","finishMessage":"It has sensitive words."}]}`}, fault.ContentPolicy, "It has sensitive words."},
		{"no picture in Google's words", "gemini", "g", map[string]string{"POST /models/g:generateContent": `{"candidates":[{"content":{},"finishReason":"NO_IMAGE","finishMessage":"Unable to show the image."}]}`}, fault.Refusal, "Unable to show the image."},
		// BerriAI/litellm#28989
		{"no picture and nothing said", "gemini", "g", map[string]string{"POST /models/g:generateContent": `{"candidates":[{"finishReason":"NO_IMAGE"}]}`}, fault.ProviderUnavailable, ""},
		{"a barred prompt in Google's words", "gemini", "g", map[string]string{"POST /models/g:generateContent": `{"promptFeedback":{"blockReason":"OTHER","blockReasonMessage":"Change the prompt."}}`}, fault.ContentPolicy, "Change the prompt."},
		{"a barred prompt", "gemini", "g", map[string]string{"POST /models/g:generateContent": `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`}, fault.ContentPolicy, ""},
		{"no predictions", "gemini", "imagen-4", map[string]string{"POST /models/imagen-4:predict": `{}`}, fault.ProviderUnavailable, ""},
		{"barred predictions", "gemini", "imagen-4", map[string]string{"POST /models/imagen-4:predict": `{"predictions":[{"raiFilteredReason":"It has a child."}]}`}, fault.ContentPolicy, "It has a child."},
		{"a request that failed", "fal", "a/b", queue(`{"status":"COMPLETED","error":"The model failed","error_type":"internal_error"}`, ""), fault.ProviderUnavailable, ""},
		{"a request that was barred", "fal", "a/b", queue(`{"status":"COMPLETED"}`, `422 {"detail":[{"loc":["body","prompt"],"msg":"flagged","type":"content_policy_violation"}]}`), fault.ContentPolicy, ""},
		{"blackened pictures", "fal", "a/b", queue(`{"status":"COMPLETED"}`, `{"images":[{"url":"https://files.test/a"}],"has_nsfw_concepts":[true]}`), fault.ContentPolicy, ""},
		{"a result of nothing", "fal", "a/b", queue(`{"status":"COMPLETED"}`, `{"images":[]}`), fault.ProviderUnavailable, ""},
		{"addresses elsewhere", "fal", "a/b", map[string]string{"POST /a/b": `{"request_id":"r","status_url":"https://evil.test/s","response_url":"https://evil.test/r"}`}, fault.ProviderUnavailable, ""},
		{"an error", "bfl", "f", map[string]string{"POST /f": `{"id":"i"}`, "GET /get_result?id=i": `{"status":"Error"}`}, fault.ProviderUnavailable, ""},
		{"moderated", "bfl", "f", map[string]string{"POST /f": `{"id":"i"}`, "GET /get_result?id=i": `{"status":"Content Moderated"}`}, fault.ContentPolicy, ""},
		{"without credits", "bfl", "f", map[string]string{"POST /f": `402 {"detail":"Insufficient credits"}`}, fault.ProviderUnavailable, ""},
		{"an operation that failed", "yandex", "art://f/m", map[string]string{operation: `{"id":"o"}`, operations: `{"done":true,"error":{"code":13,"message":"Internal error"}}`}, fault.ProviderUnavailable, ""},
		{"an operation that was barred", "yandex", "art://f/m", map[string]string{operation: `{"id":"o"}`, operations: `{"done":true,"error":{"code":3,"message":"it is not possible to generate an image from this request because it may violate the terms of use"}}`}, fault.ContentPolicy, ""},
		{"an operation of nothing", "yandex", "art://f/m", map[string]string{operation: `{"id":"o"}`, operations: `{"done":true,"response":{}}`}, fault.ProviderUnavailable, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			s := newStudio(t, x.answers)
			quirks := catalog.Quirks{}
			if x.dialect == "chat" {
				x.dialect, quirks.ImagesWire = "openai", "chat"
			}
			events, _, _, err := s.perform(t, x.dialect, x.model, &completion.Request{Task: &task.Image{Prompt: "p", N: 1, Compression: -1}, N: 1}, quirks)
			if err == nil || err.Kind != x.kind || err.Next == fault.Stop || len(events) > 0 || !strings.Contains(err.Public, x.said) || err.Upstream == nil || err.Upstream.Provider != "Studio" {
				t.Errorf("%v, %+v", events, err)
			}
		})
	}
}

// Images that were made are given where others are missing, with how many, and only words that came beside them; a provider is not asked for more
// once it has failed, or answered in words (replicate/cog-stable-diffusion#39: fewer images than were asked for).
func TestSomeImages(t *testing.T) {
	t.Parallel()
	const generate, content = "POST /models/g:generateContent", `{"candidates":[{"content":{"parts":[{"inlineData":{"data":"PNG"}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":1290}}`
	const barred, words = `{"candidates":[{"finishReason":"IMAGE_SAFETY"}]}`, `{"candidates":[{"content":{"parts":[{"text":"No."}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":7}}`
	const given, fetched = "POST /images/generations", "GET /r"
	queue := func(result string) map[string]string {
		return map[string]string{"POST /a/b": `{"request_id":"r","status_url":"HOST/r/status","response_url":"HOST/r"}`, "GET /r/status": `{"status":"COMPLETED"}`, fetched: result}
	}
	for _, x := range []struct {
		name, dialect, model string
		n                    int
		answers              map[string]string
		images, asked        int // asked 0: it depends on which call ends first
		notice               string
		output               int64
	}{
		{"one of several is barred", "gemini", "g", 5, map[string]string{generate: content + "\x00" + barred + "\x00" + content}, 4, 5, "4 of 5 images were made, and only these are charged. The provider's content policy does not allow the others.", 4 * 1290},
		{"one of several is words", "gemini", "g", 2, map[string]string{generate: content + "\x00" + words}, 1, 2, "1 of 2 images were made, and only these are charged. Instead of the others the model sent words.", 1290},
		{"the provider fails", "gemini", "g", 3, map[string]string{generate: content + "\x00500 {}"}, 1, 0, "1 of 3 images were made, and only these are charged. The provider failed to make the others.", 1290},
		{"fewer in one answer", "openai", "m", 3, map[string]string{given: `{"data":[{"b64_json":"PNG"},{"b64_json":"PNG"}]}`}, 2, 1, "2 of 3 images were made, and only these are charged.", 0},
		{"more in one answer", "openai", "m", 1, map[string]string{given: `{"data":[{"b64_json":"PNG"},{"b64_json":"PNG"}]}`}, 1, 1, "", 0},
		{"an error among images", "openai", "m", 2, map[string]string{given: `{"data":[{"error":{"code":"moderation_blocked","message":"m"}},{"b64_json":"PNG"}]}`}, 1, 1, "1 of 2 images were made, and only these are charged. The provider's content policy does not allow the others.", 0},
		{"a broken image among images", "openai", "m", 2, map[string]string{given: `{"data":[{"b64_json":"aGVsbG8="},{"b64_json":"PNG"}]}`}, 1, 1, "1 of 2 images were made, and only these are charged. The provider failed to make the others.", 0},
		{"filtered predictions", "gemini", "imagen-4", 2, map[string]string{"POST /models/imagen-4:predict": `{"predictions":[{"bytesBase64Encoded":"PNG"},{"raiFilteredReason":"x"}]}`}, 1, 1, "1 of 2 images were made, and only these are charged. The provider's content policy does not allow the others.", 0},
		{"a blackened image", "fal", "a/b", 2, queue(`{"images":[{"url":"https://files.test/a"},{"url":"https://files.test/b"}],"has_nsfw_concepts":[true,false]}`), 1, 3, "1 of 2 images were made, and only these are charged. The provider's content policy does not allow the others.", 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			s := newStudio(t, x.answers)
			events, reported, notice, err := s.perform(t, x.dialect, x.model, &completion.Request{Task: &task.Image{Prompt: "p", N: x.n, Compression: -1}, N: x.n}, catalog.Quirks{})
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for i := range x.images {
				want = append(want, fmt.Sprintf("picture %d image/png 3x2", i))
			}
			if diff := cmp.Diff(want, events); diff != "" {
				t.Errorf("given: %s", diff)
			}
			if notice != x.notice || reported.Completion.N != x.output || x.asked > 0 && len(s.asked()) != x.asked {
				t.Errorf("notice %q, usage %+v, asked %q", notice, reported, s.asked())
			}
		})
	}
}

// FuzzImages gives every dialect whatever a provider may answer.
func FuzzImages(f *testing.F) {
	png := base64.StdEncoding.EncodeToString(dot())
	f.Add([]byte(`{"id":"i","data":[{"b64_json":"` + png + `"}],"usage":{"input_tokens":1}}`))
	f.Add([]byte(`{"id":"i","done":true,"response":{"image":"` + png + `"},"candidates":[{"content":{"parts":[{"inlineData":{"data":"` + png + `"}}]}}]}`))
	f.Add([]byte(`{"request_id":"r","status_url":"HOST/x","response_url":"HOST/x","cancel_url":"HOST/x","status":"COMPLETED","images":[{"url":"data:image/png;base64,` + png + `"}]}`))
	f.Add([]byte(`{"id":"i","polling_url":"HOST/x","status":"Ready","result":{"sample":"https://files.test/a"},"predictions":[{"bytesBase64Encoded":"` + png + `"}]}`))
	f.Add([]byte(`{"choices":[{"message":{"images":[{"image_url":{"url":"data:image/png;base64,` + png + `"}}]}}],"usage":{"completion_tokens":1}}`))
	f.Add([]byte("event: image_generation.completed\ndata: {\"type\":\"image_generation.completed\",\"b64_json\":\"" + png + "\"}\n\n"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		s := &everything{answer: answer}
		s.Server = httptest.NewServer(s)
		defer s.Close()
		looks := 0
		wait := func(ctx context.Context, _ time.Duration) error {
			if looks++; looks > 3 {
				return context.Canceled
			}
			return ctx.Err()
		}
		c := upstreamtest.New(upstream.Config{Dialects: easels, Fetcher: &studio{}, Wait: wait})
		defer c.Close()
		for dialect := range easels {
			for model, wire := range map[string]string{"gpt-image-1": "", "imagen-4": "", "chatty": "chat", "routed": "openrouter"} {
				ep := &catalog.Endpoint{UpstreamID: model, Provider: &catalog.Provider{ID: dialect, Name: dialect, Dialect: dialect, BaseURL: s.URL, Quirks: catalog.Quirks{ImagesWire: wire}}}
				done, failed := false, false
				for ev, err := range c.Complete(t.Context(), ep, &completion.Request{Task: &task.Image{Prompt: "p", N: 1, Compression: -1}, Stream: len(answer)%2 == 1, N: 1}, nil) {
					failed = failed || err != nil
					done = done || err == nil && ev.Done
					if err == nil && ev.Done && (ev.Result == nil || ev.Result.Image == nil || ev.Result.Image.MediaType == "") {
						t.Errorf("%s ends without a picture", dialect)
					}
				}
				if done == failed {
					t.Errorf("%s: done %t, failed %t", dialect, done, failed)
				}
			}
		}
	})
}

// everything gives one answer to whatever it is asked.
type everything struct {
	*httptest.Server
	answer []byte
}

func (s *everything) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write(bytes.ReplaceAll(s.answer, []byte("HOST"), []byte(s.URL)))
}
