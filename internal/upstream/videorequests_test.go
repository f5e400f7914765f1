package upstream_test

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/dialect/fal"
	"weir/internal/dialect/gemini"
	"weir/internal/dialect/kling"
	"weir/internal/dialect/luma"
	"weir/internal/dialect/minimax"
	"weir/internal/dialect/openai"
	"weir/internal/dialect/runway"
	"weir/internal/fault"
	"weir/internal/imagefile"
	"weir/internal/upstream/upstreamtest"
	"weir/internal/video"

	"weir/internal/upstream"
)

// onePixel is a PNG.
const onePixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

var (
	on, off    = true, false
	seed       = int64(7)
	firstFrame = video.Media{Kind: catalog.Image, URL: "https://a.example/1.png", Frame: video.FirstFrame}
	lastFrame  = video.Media{Kind: catalog.Image, URL: "https://a.example/2.png", Frame: video.LastFrame}
	ref        = video.Media{Kind: catalog.Image, URL: "https://a.example/3.png"}
	inline     = video.Media{Kind: catalog.Image, URL: onePixel, Frame: video.FirstFrame}
	sized      = &catalog.VideoFacts{Sizes: []string{"1280x720", "720x1280", "1584x672", "1792x1024", "1920x1080"}, Audio: true}
	options    = []video.ProviderOptions{
		{Provider: "other", Fields: []video.Param{{Name: "lost", Value: []byte("1")}}},
		{Provider: "p", Fields: []video.Param{{Name: "extra", Value: []byte(`{"a":1}`)}, {Name: "duration", Value: []byte("60")}, {Name: "n", Value: []byte("9")}, {Name: "webhook_url", Value: []byte(`"https://x.example"`)}}},
	}
)

// The request of each wire. No option of a client changes what it costs or who is notified.
func TestVideoRequests(t *testing.T) {
	t.Parallel()
	router := catalog.Quirks{VideosWire: "openrouter"}
	for _, c := range []struct {
		name    string
		dialect dialect.Dialect
		base    string
		quirks  catalog.Quirks
		model   string
		r       video.Request
		path    string
		body    string
	}{
		{"openai", new(openai.Dialect), "/v1", catalog.Quirks{}, "sora-2-pro", video.Request{Prompt: "x", Seconds: 8, Resolution: "1K", AspectRatio: "16:9", Options: options}, "/v1/videos",
			`{"model":"sora-2-pro","prompt":"x","seconds":"8","size":"1792x1024","extra":{"a":1}}`},
		{"openai, a picture by its address", new(openai.Dialect), "/v1", catalog.Quirks{}, "sora-2", video.Request{Prompt: "x", Seconds: 4, Size: "720x1280", Frames: []video.Media{firstFrame}}, "/v1/videos",
			`{"model":"sora-2","prompt":"x","seconds":"4","size":"720x1280","input_reference":{"image_url":"https://a.example/1.png"}}`},
		{"openrouter", new(openai.Dialect), "/v1", router, "google/veo-3.1", video.Request{Prompt: "x", Seconds: 8, Resolution: "720p", AspectRatio: "9:16", Audio: &off, Seed: &seed, Frames: []video.Media{firstFrame, lastFrame}, Options: options}, "/v1/videos",
			`{"model":"google/veo-3.1","prompt":"x","duration":8,"resolution":"720p","aspect_ratio":"9:16","generate_audio":false,"seed":7,"frame_images":[{"type":"image_url","image_url":{"url":"https://a.example/1.png"},"frame_type":"first_frame"},{"type":"image_url","image_url":{"url":"https://a.example/2.png"},"frame_type":"last_frame"}],"extra":{"a":1}}`},
		{"openrouter, references", new(openai.Dialect), "/v1", router, "a/b", video.Request{Prompt: "x", Seconds: 8, Size: "1280x720", References: []video.Media{ref, {Kind: catalog.Audio, URL: "https://a.example/1.mp3"}, {Kind: catalog.Video, URL: "https://a.example/1.mp4"}}}, "/v1/videos",
			`{"model":"a/b","prompt":"x","duration":8,"size":"1280x720","input_references":[{"type":"image_url","image_url":{"url":"https://a.example/3.png"}},{"type":"audio_url","audio_url":{"url":"https://a.example/1.mp3"}},{"type":"video_url","video_url":{"url":"https://a.example/1.mp4"}}]}`},
		{"ai studio", new(gemini.Dialect), "/v1beta", catalog.Quirks{}, "veo-3.1-generate-preview", video.Request{Prompt: "x", Seconds: 8, Resolution: "4K", AspectRatio: "16:9", Audio: &on, Seed: &seed, Frames: []video.Media{inline},
			Params: []video.Param{{Name: "negativePrompt", Value: []byte(`"rain"`)}}, Options: options}, "/v1beta/models/veo-3.1-generate-preview:predictLongRunning",
			`{"instances":[{"prompt":"x","image":{"bytesBase64Encoded":"` + strings.TrimPrefix(onePixel, "data:image/png;base64,") + `","mimeType":"image/png"}}],"parameters":{"durationSeconds":8,"aspectRatio":"16:9","resolution":"4k","seed":7,"negativePrompt":"rain","extra":{"a":1}}}`},
		{"vertex", new(gemini.Dialect), vertexPath, catalog.Quirks{VideoBucket: "gs://b/"}, "veo-3.1-generate-001", video.Request{Prompt: "x", Seconds: 4, Size: "720x1280", Resolution: "720p", Audio: &on, Outputs: 2}, vertexPath + "/models/veo-3.1-generate-001:predictLongRunning",
			`{"instances":[{"prompt":"x"}],"parameters":{"durationSeconds":4,"aspectRatio":"9:16","resolution":"720p","sampleCount":2,"generateAudio":true,"storageUri":"gs://b/"}}`},
		{"runway, text", new(runway.Dialect), "/v1", catalog.Quirks{}, "gen4.5", video.Request{Prompt: "x", Seconds: 5, Resolution: "720p", AspectRatio: "21:9", Seed: &seed, Options: options}, "/v1/text_to_video",
			`{"model":"gen4.5","promptText":"x","ratio":"1584:672","duration":5,"seed":7,"extra":{"a":1}}`},
		{"runway, frames", new(runway.Dialect), "/v1", catalog.Quirks{}, "veo3.1", video.Request{Prompt: "x", Seconds: 8, Resolution: "1080p", AspectRatio: "16:9", Audio: &on, Frames: []video.Media{firstFrame, lastFrame}}, "/v1/image_to_video",
			`{"model":"veo3.1","promptText":"x","promptImage":[{"uri":"https://a.example/1.png","position":"first"},{"uri":"https://a.example/2.png","position":"last"}],"ratio":"1920:1080","duration":8,"audio":true}`},
		{"kling, text", new(kling.Dialect), "/v1", catalog.Quirks{}, "kling-v2-6", video.Request{Prompt: "x", Seconds: 10, Resolution: "1080p", AspectRatio: "9:16", Audio: &on, Options: options}, "/v1/videos/text2video",
			`{"model_name":"kling-v2-6","prompt":"x","duration":"10","mode":"pro","sound":"on","aspect_ratio":"9:16","external_task_id":"vj_1-0-0","extra":{"a":1}}`},
		{"kling, picture", new(kling.Dialect), "/v1", catalog.Quirks{}, "kling-v2-6", video.Request{Prompt: "x", Seconds: 5, Resolution: "720p", AspectRatio: "9:16", Audio: &off, Frames: []video.Media{inline, lastFrame}}, "/v1/videos/image2video",
			`{"model_name":"kling-v2-6","prompt":"x","duration":"5","mode":"std","sound":"off","image":"` + strings.TrimPrefix(onePixel, "data:image/png;base64,") + `","image_tail":"https://a.example/2.png","external_task_id":"vj_1-0-0"}`},
		{"minimax", new(minimax.Dialect), "/v1", catalog.Quirks{}, "MiniMax-Hailuo-02", video.Request{Prompt: "x", Seconds: 6, Resolution: "768p", Frames: []video.Media{firstFrame, lastFrame}, Params: []video.Param{{Name: "prompt_optimizer", Value: []byte("false")}}, Options: options}, "/v1/video_generation",
			`{"model":"MiniMax-Hailuo-02","prompt":"x","duration":6,"resolution":"768P","first_frame_image":"https://a.example/1.png","last_frame_image":"https://a.example/2.png","prompt_optimizer":false,"extra":{"a":1}}`},
		{"minimax, a subject", new(minimax.Dialect), "/v1", catalog.Quirks{}, "S2V-01", video.Request{Prompt: "x", Seconds: 6, References: []video.Media{ref}}, "/v1/video_generation",
			`{"model":"S2V-01","prompt":"x","duration":6,"subject_reference":[{"type":"character","image":["https://a.example/3.png"]}]}`},
		{"luma", new(luma.Dialect), "/v1", catalog.Quirks{}, "ray-2", video.Request{Prompt: "x", Seconds: 9, Resolution: "4K", AspectRatio: "21:9", Frames: []video.Media{firstFrame, lastFrame}, Options: options}, "/v1/generations/video",
			`{"generation_type":"video","model":"ray-2","prompt":"x","duration":"9s","resolution":"4k","aspect_ratio":"21:9","keyframes":{"frame0":{"type":"image","url":"https://a.example/1.png"},"frame1":{"type":"image","url":"https://a.example/2.png"}},"extra":{"a":1}}`},
		{"fal, veo", new(fal.Dialect), "", catalog.Quirks{}, "fal-ai/veo3.1", video.Request{Prompt: "x", Seconds: 8, Resolution: "1080p", AspectRatio: "16:9", Audio: &on, Seed: &seed, Options: options}, "/fal-ai/veo3.1",
			`{"prompt":"x","duration":"8s","resolution":"1080p","aspect_ratio":"16:9","generate_audio":true,"seed":7,"extra":{"a":1}}`},
		{"fal, veo, frames", new(fal.Dialect), "", catalog.Quirks{}, "fal-ai/veo3.1", video.Request{Prompt: "x", Seconds: 8, Frames: []video.Media{firstFrame, lastFrame}}, "/fal-ai/veo3.1/first-last-frame-to-video",
			`{"prompt":"x","duration":"8s","first_frame_url":"https://a.example/1.png","last_frame_url":"https://a.example/2.png"}`},
		{"fal, veo, references", new(fal.Dialect), "", catalog.Quirks{}, "fal-ai/veo3.1", video.Request{Prompt: "x", Seconds: 8, References: []video.Media{ref}}, "/fal-ai/veo3.1/reference-to-video",
			`{"prompt":"x","duration":"8s","image_urls":["https://a.example/3.png"]}`},
		{"fal, kling", new(fal.Dialect), "", catalog.Quirks{}, "fal-ai/kling-video/v2.6/pro/text-to-video", video.Request{Prompt: "x", Seconds: 5, Audio: &off, Frames: []video.Media{firstFrame}}, "/fal-ai/kling-video/v2.6/pro/image-to-video",
			`{"prompt":"x","duration":"5","generate_audio":false,"start_image_url":"https://a.example/1.png"}`},
		{"fal, sora", new(fal.Dialect), "", catalog.Quirks{}, "fal-ai/sora-2/text-to-video", video.Request{Prompt: "x", Seconds: 4}, "/fal-ai/sora-2/text-to-video", `{"prompt":"x","duration":4}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.r.Outputs = max(c.r.Outputs, 1)
			seen, err := upstreamtest.Submitted(t, c.dialect, videoEndpoint(c.base, c.quirks, c.model), &c.r)
			if seen.Path != c.path || !sameJSON(seen.Body, c.body) {
				t.Errorf("%s\n%s\nwant\n%s\n%s\n%v", seen.Path, seen.Body, c.path, c.body, err)
			}
		})
	}
}

func videoEndpoint(base string, quirks catalog.Quirks, model string) *catalog.Endpoint {
	return &catalog.Endpoint{ID: "p/x/video", UpstreamID: model, Model: &catalog.Model{Slug: "x/video", Video: sized},
		Provider: &catalog.Provider{ID: "p", Name: "P", Dialect: "it", BaseURL: base, Key: "sk-upstream-key-1", Quirks: quirks}}
}

func sameJSON(a, b string) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, []byte(a)) == nil && json.Compact(&y, []byte(b)) == nil && x.String() == y.String()
}

// An image that came with the request goes out as a file of a form.
func TestVideoForm(t *testing.T) {
	t.Parallel()
	seen, err := upstreamtest.Submitted(t, new(openai.Dialect), videoEndpoint("/v1", catalog.Quirks{}, "sora-2"), &video.Request{Prompt: `"x"`, Seconds: 4, Size: "1280x720", Frames: []video.Media{inline}, Outputs: 1})
	_, params, broken := mime.ParseMediaType(seen.Header.Get("Content-Type"))
	if broken != nil {
		t.Fatalf("%v, %v", broken, err)
	}
	got := map[string]string{}
	for form := multipart.NewReader(strings.NewReader(seen.Body), params["boundary"]); ; {
		part, err := form.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, _ := io.ReadAll(part)
		if part.FileName() != "" {
			info, _ := imagefile.Of(data)
			data = []byte(part.FileName() + " " + part.Header.Get("Content-Type") + " " + info.MediaType)
		}
		got[part.FormName()] = string(data)
	}
	want := map[string]string{"model": "sora-2", "prompt": `"x"`, "seconds": "4", "size": "1280x720", "input_reference": "picture.png image/png image/png"}
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s: %q", name, got[name])
		}
	}
}

// What a wire cannot say is refused before anything is sent, so that another provider is asked.
func TestVideosUnsupported(t *testing.T) {
	t.Parallel()
	audio := video.Media{Kind: catalog.Audio, URL: "https://a.example/1.mp3"}
	for name, c := range map[string]struct {
		dialect dialect.Dialect
		r       video.Request
	}{
		"openai, a last frame":                 {new(openai.Dialect), video.Request{Frames: []video.Media{lastFrame}}},
		"openai, two videos":                   {new(openai.Dialect), video.Request{Outputs: 2}},
		"openai, two references":               {new(openai.Dialect), video.Request{References: []video.Media{ref, ref}}},
		"openai, a sound":                      {new(openai.Dialect), video.Request{References: []video.Media{audio}}},
		"gemini, a last frame alone":           {new(gemini.Dialect), video.Request{Frames: []video.Media{{Kind: catalog.Image, URL: onePixel, Frame: video.LastFrame}}}},
		"gemini, a picture it cannot be given": {new(gemini.Dialect), video.Request{Frames: []video.Media{firstFrame}}},
		"runway, references":                   {new(runway.Dialect), video.Request{References: []video.Media{ref}}},
		"runway, a last frame alone":           {new(runway.Dialect), video.Request{Frames: []video.Media{lastFrame}}},
		"kling, references":                    {new(kling.Dialect), video.Request{References: []video.Media{ref}}},
		"minimax, two videos":                  {new(minimax.Dialect), video.Request{Outputs: 2}},
		"luma, a picture as data":              {new(luma.Dialect), video.Request{Frames: []video.Media{inline}}},
		"fal, a last frame alone":              {new(fal.Dialect), video.Request{Frames: []video.Media{lastFrame}}},
		"fal, a sound":                         {new(fal.Dialect), video.Request{References: []video.Media{audio}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.r.Prompt, c.r.Seconds, c.r.Outputs = "x", 5, max(c.r.Outputs, 1)
			seen, err := upstreamtest.Submitted(t, c.dialect, videoEndpoint("/v1", catalog.Quirks{}, "m"), &c.r)
			f := fault.From(err)
			if f == nil || f.Kind != fault.Invalid || f.Next != fault.NextEndpoint || !video.Refused(f) || seen.Path != "" {
				t.Errorf("%v; sent %s", err, seen.Path)
			}
		})
	}
	broken := video.Request{Prompt: "x", Seconds: 4, Outputs: 1, Frames: []video.Media{{Kind: catalog.Image, URL: "data:image/png;base64,AAAA", Frame: video.FirstFrame}}}
	for name, d := range map[string]dialect.Dialect{"openai": new(openai.Dialect), "gemini": new(gemini.Dialect)} {
		if seen, err := upstreamtest.Submitted(t, d, videoEndpoint("/v1", catalog.Quirks{}, "m"), &broken); !fault.Is(err, fault.Invalid) || seen.Path != "" {
			t.Errorf("%s, no picture: %v", name, err)
		}
	}
}

// A provider that says when to ask again is asked then.
func TestVideoWaits(t *testing.T) {
	t.Parallel()
	p := upstreamtest.NewProvider(t, upstreamtest.Send(upstreamtest.Sized(http.StatusOK, "application/json", `{"id":"video_1","status":"queued"}`, "OpenAI-Poll-After-Ms: 2500")),
		upstreamtest.Send(upstreamtest.Sized(http.StatusOK, "application/json", `{"id":"video_1","status":"in_progress","progress":33}`, "Retry-After: 7")))
	c := upstreamtest.New(upstream.Config{Dialects: map[string]dialect.Dialect{"it": new(openai.Dialect)}})
	t.Cleanup(c.Close)
	ep := videoEndpoint(p.URL, catalog.Quirks{}, "sora-2")
	videos := upstream.NewVideos(c, upstreamtest.Files{})
	a, err := videos.Submit(t.Context(), ep, &video.Submission{Token: "t", Request: &video.Request{Prompt: "x", Seconds: 4, Outputs: 1}})
	if err != nil || a.Wait.Seconds() != 2.5 {
		t.Errorf("%+v, %v", a, err)
	}
	got, err := videos.Poll(t.Context(), ep, &video.Job{UpstreamID: a.ID})
	if err != nil || got.Wait.Seconds() != 7 || got.Percent != 33 {
		t.Errorf("%+v, %v", got, err)
	}
}

// pixel is the file of onePixel.
func pixel() []byte {
	data, err := imagefile.FromURL(onePixel)
	if err != nil {
		panic(err)
	}
	return data
}
