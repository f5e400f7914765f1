package images_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"io"
	"mime/multipart"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/relay"
	"weir/internal/task"
	"weir/internal/usage"
	"weir/internal/wire/images"
)

const tiny = "data:image/png;base64,aGVsbG8="

// Every field is read; what is not known is kept for the provider.
func TestDecode(t *testing.T) {
	t.Parallel()
	req, err := images.Decode([]byte(`{"model":"a/b","models":["a/b","c/d"],"prompt":"A weir","n":2.0,"size":"2k","resolution":"2K","aspect_ratio":"16:9","quality":"hd",
		"background":"transparent","output_format":"webp","output_compression":80,"seed":-7,"moderation":"low","style":"vivid","user":"u","response_format":"url","partial_images":3,
		"stream":true,"input_references":[{"type":"image_url","image_url":{"url":"https://a.test/b.png"}},{"image_url":"`+tiny+`"}],
		"provider":{"only":["openai"],"options":{"openai":{"x":1},"bad":2}},"guidance":3.5,"absent":null,"mask":"kept as it is"}`), false)
	if err != nil {
		t.Fatal(err)
	}
	seed := int64(-7)
	want := &task.Image{
		URL:    true,
		Prompt: "A weir", N: 2, Size: "2K", Resolution: "2K", AspectRatio: "16:9", Quality: "hd", Background: "transparent", Output: "webp", Compression: 80, Seed: &seed,
		Moderation: "low", Style: "vivid", Partial: 3, References: []string{"https://a.test/b.png", tiny},
		Extra:   []task.Extra{{Name: "guidance", Value: []byte("3.5")}, {Name: "mask", Value: []byte(`"kept as it is"`)}},
		Options: []task.Extra{{Name: "openai", Value: []byte(`{"x":1}`)}},
	}
	if diff := cmp.Diff(want, req.Task); diff != "" {
		t.Error(diff)
	}
	if !req.Stream || req.N != 2 || req.User != "u" || strings.Join(req.Models, " ") != "a/b c/d" || strings.Join(req.Preferences.Only, " ") != "openai" || req.Needs.PromptTokens < 6 {
		t.Errorf("%+v", req)
	}
}

func TestDecodeFails(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 32_001)
	refs := strings.Repeat(`{"image_url":{"url":"https://a.test"}},`, 17)
	for _, x := range []struct {
		name, body, param string
		edit              bool
	}{
		{"no object", `[]`, "", false},
		{"no JSON", `{`, "", false},
		{"no model", `{"prompt":"p"}`, "model", false},
		{"no prompt", `{"model":"a/b"}`, "prompt", false},
		{"null prompt", `{"model":"a/b","prompt":null}`, "prompt", false},
		{"empty prompt", `{"model":"a/b","prompt":" "}`, "prompt", false},
		{"long prompt", `{"model":"a/b","prompt":"` + long + `"}`, "prompt", false},
		{"prompt of a wrong type", `{"model":"a/b","prompt":["p"]}`, "prompt", false},
		{"twice", `{"model":"a/b","model":"a/c","prompt":"p"}`, "model", false},
		{"none", `{"model":"a/b","prompt":"p","n":0}`, "n", false},
		{"too many", `{"model":"a/b","prompt":"p","n":11}`, "n", false},
		{"half", `{"model":"a/b","prompt":"p","n":1.5}`, "n", false},
		{"size", `{"model":"a/b","prompt":"p","size":"large"}`, "size", false},
		{"size of nothing", `{"model":"a/b","prompt":"p","size":"0x100"}`, "size", false},
		{"huge size", `{"model":"a/b","prompt":"p","size":"9000x100"}`, "size", false},
		{"resolution", `{"model":"a/b","prompt":"p","resolution":"8K"}`, "resolution", false},
		{"ratio", `{"model":"a/b","prompt":"p","aspect_ratio":"7:3"}`, "aspect_ratio", false},
		{"quality", `{"model":"a/b","prompt":"p","quality":"best"}`, "quality", false},
		{"background", `{"model":"a/b","prompt":"p","background":"red"}`, "background", false},
		{"format", `{"model":"a/b","prompt":"p","output_format":"bmp"}`, "output_format", false},
		{"compression", `{"model":"a/b","prompt":"p","output_compression":101}`, "output_compression", false},
		{"previews", `{"model":"a/b","prompt":"p","partial_images":4}`, "partial_images", false},
		{"moderation", `{"model":"a/b","prompt":"p","moderation":"none"}`, "moderation", false},
		{"response format", `{"model":"a/b","prompt":"p","response_format":"png"}`, "response_format", false},
		{"stream", `{"model":"a/b","prompt":"p","stream":"yes"}`, "stream", false},
		{"size against resolution", `{"model":"a/b","prompt":"p","size":"1024x1024","resolution":"4K"}`, "resolution", false},
		{"tier against resolution", `{"model":"a/b","prompt":"p","size":"1K","resolution":"2K"}`, "resolution", false},
		{"size against ratio", `{"model":"a/b","prompt":"p","size":"1024x1024","aspect_ratio":"16:9"}`, "aspect_ratio", false},
		{"transparent JPEG", `{"model":"a/b","prompt":"p","background":"transparent","output_format":"jpeg"}`, "background", false},
		{"compressed PNG", `{"model":"a/b","prompt":"p","output_compression":50,"output_format":"png"}`, "output_compression", false},
		{"reference of a wrong type", `{"model":"a/b","prompt":"p","input_references":[{"type":"video_url","image_url":{"url":"https://a.test"}}]}`, "input_references[0].type", false},
		{"reference without address", `{"model":"a/b","prompt":"p","input_references":[{"type":"image_url"}]}`, "input_references[0].image_url", false},
		{"reference to a file", `{"model":"a/b","prompt":"p","input_references":[{"image_url":{"url":"file:///etc/passwd"}}]}`, "input_references[0].image_url.url", false},
		{"reference of no base64", `{"model":"a/b","prompt":"p","input_references":[{"image_url":{"url":"data:image/png;base64,%%%"}}]}`, "input_references[0].image_url.url", false},
		{"too many references", `{"model":"a/b","prompt":"p","input_references":[` + strings.TrimSuffix(refs, ",") + `]}`, "input_references", false},
		{"an edit of nothing", `{"model":"a/b","prompt":"p"}`, "image", true},
		{"an edit of a stored file", `{"model":"a/b","prompt":"p","images":[{"file_id":"file-1"}]}`, "images[0].file_id", true},
		{"a mask of nothing", `{"model":"a/b","prompt":"p","images":["https://a.test"],"mask":{"image_url":"x"}}`, "mask.image_url", true},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			_, err := images.Decode([]byte(x.body), x.edit)
			var f *fault.Error
			if !errors.As(err, &f) || f.Param != x.param || f.Public == "" {
				t.Errorf("%v (param %q), want param %q", err, f.Param, x.param)
			}
		})
	}
}

// Whatever it is called, the number of images and their size are read: they multiply the bill.
func TestDecodeOtherNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"n", "num_images", "num_outputs", "batch_size", "sampleCount", "num_images_per_prompt"} {
		req, err := images.Decode([]byte(`{"model":"a/b","prompt":"p","width":512,"height":768,"response_format":"url","`+name+`":4}`), false)
		if err != nil {
			t.Fatal(err)
		}
		if i, _ := req.Task.(*task.Image); i.N != 4 || req.N != 4 || i.Size != "512x768" || !i.URL || len(i.Extra) != 0 {
			t.Errorf("%s: %+v", name, i)
		}
	}
	for settings, param := range map[string]string{`"n":1,"num_images":4`: "num_images", `"batch_size":11`: "batch_size", `"width":512`: "width", `"size":"1024x1024","width":512,"height":512`: "width"} {
		_, err := images.Decode([]byte(`{"model":"a/b","prompt":"p",`+settings+`}`), false)
		if f := fault.From(err); f == nil || f.Param != param {
			t.Errorf("%s: %v", settings, err)
		}
	}
}

// Who asks for addresses gets data URLs beside the base64.
func TestWholeWithURL(t *testing.T) {
	t.Parallel()
	var out frames
	w := images.NewWhole(&out, images.Options{Task: &task.Image{URL: true}})
	if err := errors.Join(w.Start(relay.Served{}), w.Event(made(0, false)), w.End(receipt)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out[0], `"b64_json":"YWJj","media_type":"image/png","url":"data:image/png;base64,YWJj"`) {
		t.Error(out[0])
	}
}

// What fits together is not refused for looking different.
func TestDecodeAgrees(t *testing.T) {
	t.Parallel()
	for _, settings := range []string{
		`"size":"1536x1024","aspect_ratio":"3:2","resolution":"1K"`, `"size":"3840x2160","resolution":"4K"`, `"size":"1344x768","aspect_ratio":"16:9"`,
		`"size":"auto","resolution":"4K"`, `"size":null,"n":null`, `"background":"transparent"`, `"output_format":"png","output_compression":100`, `"aspect_ratio":"auto"`,
	} {
		if _, err := images.Decode([]byte(`{"model":"a/b","prompt":"p",`+settings+`}`), false); err != nil {
			t.Errorf("%s: %v", settings, err)
		}
	}
}

func pngFile(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type field struct {
	name, value string
	file        bool
}

func formOf(t testing.TB, fields ...field) (body []byte, boundary string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, f := range fields {
		create := w.CreateFormField
		if f.file {
			create = func(name string) (io.Writer, error) { return w.CreateFormFile(name, "a.png") }
		}
		part, err := create(f.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write([]byte(f.value)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), w.Boundary()
}

// A form says the same as JSON.
func TestDecodeForm(t *testing.T) {
	t.Parallel()
	file := string(pngFile(t))
	body, boundary := formOf(t, field{"model", "a/b", false}, field{"image[]", file, true}, field{"image[]", tiny, false}, field{"mask", file, true}, field{"n", "2", false}, field{"prompt", "Higher \"water\"\n", false},
		field{"stream", "true", false}, field{"input_fidelity", "high", false}, field{"provider", `{"only":["openai"]}`, false})
	req, err := images.DecodeForm(body, boundary)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := req.Task.(*task.Image)
	if got.Prompt != "Higher \"water\"\n" || got.N != 2 || !req.Stream || !got.Edit || len(got.References) != 2 || got.References[1] != tiny || !strings.HasPrefix(got.Mask, "data:image/png;base64,") ||
		len(got.Extra) != 1 || string(got.Extra[0].Value) != `"high"` || strings.Join(req.Preferences.Only, "") != "openai" {
		t.Errorf("%+v", got)
	}
	for _, x := range []struct {
		name, param string
		fields      []field
	}{
		{"twice", "prompt", []field{{"prompt", "a", false}, {"prompt", "b", false}}},
		{"no picture", "image", []field{{"image", "hello", true}}},
		{"an empty picture", "image", []field{{"image", "", true}}},
		{"a number that is none", "n", []field{{"model", "a/b", false}, {"prompt", "p", false}, {"image", file, true}, {"n", "two", false}}},
		{"none to edit", "image", []field{{"model", "a/b", false}, {"prompt", "p", false}}},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			body, boundary := formOf(t, x.fields...)
			_, err := images.DecodeForm(body, boundary)
			var f *fault.Error
			if !errors.As(err, &f) || f.Param != x.param {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := images.DecodeForm(body[:len(body)-20], boundary); err == nil {
		t.Error("a form that was cut is read")
	}
}

// frames collects what is written, frame by frame.
type frames []string

func (f *frames) Write(p []byte) (int, error) {
	*f = append(*f, string(p))
	return len(p), nil
}

func made(index int, partial bool) *completion.Event {
	return &completion.Event{Result: &task.Result{Image: &task.MadeImage{Index: index, Partial: partial, Preview: index, Data: []byte("abc"), MediaType: "image/png", Width: 4, Height: 2, Quality: "low"}}}
}

var receipt = relay.Receipt{
	Usage: usage.Usage{Prompt: usage.Of(7), PromptImage: usage.Of(2), Completion: usage.Of(30), OutputImage: usage.Of(30)}, Cost: 3 * money.Ruble, PromptCost: money.Ruble,
}

const wantUsage = `{"prompt_tokens":7,"completion_tokens":30,"total_tokens":37,"input_tokens":7,"output_tokens":30,"input_tokens_details":{"text_tokens":5,"image_tokens":2},"output_tokens_details":{"image_tokens":30,"text_tokens":0},` +
	`"cost":3,"currency":"RUB","is_byok":false,"cost_details":{"upstream_inference_cost":null,"upstream_inference_prompt_cost":1,"upstream_inference_completions_cost":2,"upstream_inference_input_cost":1,"upstream_inference_output_cost":2}}`

// The document of a whole answer: images in their order, and what an attempt that broke had made forgotten.
func TestWhole(t *testing.T) {
	t.Parallel()
	var out frames
	w := images.NewWhole(&out, images.Options{Created: 5})
	for _, err := range []error{
		w.Start(relay.Served{}), w.Event(made(0, false)), w.Event(&completion.Event{Text: []byte("Gone.")}), w.Start(relay.Served{Head: completion.Head{Notice: "No seed."}}), w.Event(&completion.Event{Text: []byte("A \"weir\".")}), w.Event(made(1, false)), w.Event(made(0, true)), w.Event(made(0, false)), w.End(receipt),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := `{"created":5,"data":[{"b64_json":"YWJj","media_type":"image/png"},{"b64_json":"YWJj","media_type":"image/png"}],"output_format":"png","size":"4x2","quality":"low","text":"A \"weir\".","usage":` + wantUsage + `,"metadata":{"notice":"No seed."}}`
	if diff := cmp.Diff([]string{want}, []string(out)); diff != "" {
		t.Error(diff)
	}
	if !json.Valid([]byte(out[0])) {
		t.Error("no JSON")
	}
}

// An estimate is not reported as a count, though the charge may depend on it.
func TestWholeWithoutCounts(t *testing.T) {
	t.Parallel()
	var out frames
	w := images.NewWhole(&out, images.Options{Created: 5})
	if err := errors.Join(w.Start(relay.Served{}), w.Event(made(0, false)), w.End(relay.Receipt{Usage: usage.Usage{Prompt: usage.Of(9), Completion: usage.Of(1056), Source: usage.Estimated}, Cost: money.Ruble})); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out[0], `"prompt_tokens":0,"completion_tokens":0,"total_tokens":0,`) || !strings.Contains(out[0], `"cost":1,`) {
		t.Error(out[0])
	}
}

// The events of a stream, byte for byte: previews at once, each image when the next one comes, the last with the usage.
func TestStream(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name, prefix string
		task         task.Image
	}{{"made", "image_generation", task.Image{}}, {"edited", "image_edit", task.Image{Edit: true}}} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			var out frames
			s := images.NewStream(&out, images.Options{Created: 5, Task: &x.task})
			text := &completion.Event{Text: []byte("<svg")}
			for _, err := range []error{s.KeepAlive(), s.Start(relay.Served{}), s.Event(made(0, true)), s.Event(text), s.Event(made(0, false)), s.Event(made(1, false)), s.End(receipt), s.KeepAlive(), s.Fail([]byte(`{}`))} {
				if err != nil {
					t.Fatal(err)
				}
			}
			event := func(kind, members string) string {
				return "event: " + x.prefix + "." + kind + "\ndata: {\"type\":\"" + x.prefix + "." + kind + `",` + members + "}\n\n"
			}
			const settings = `,"output_format":"png","size":"4x2","quality":"low"`
			const done = `"b64_json":"YWJj","media_type":"image/png","created":5,"created_at":5` + settings
			want := []string{
				": keep-alive\n", event("partial_image", `"b64_json":"YWJj","partial_image_index":0,"created_at":5`+settings), event("text_chunk", `"phase":"content","text":"<svg"`),
				event("completed", done), event("completed", done+`,"usage":`+wantUsage), "data: [DONE]\n\n",
			}
			if diff := cmp.Diff(want, []string(out)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A stream that fails ends with the error, and gives no image without a charge.
func TestStreamFails(t *testing.T) {
	t.Parallel()
	var out frames
	s := images.NewStream(&out, images.Options{})
	if err := errors.Join(s.Start(relay.Served{}), s.Event(made(0, false)), s.Fail([]byte("{\"code\":502,\n\"message\":\"m\",\"metadata\":{}}")), s.End(receipt)); err != nil {
		t.Fatal(err)
	}
	want := []string{"event: error\ndata: {\"type\":\"error\",\"error\":{\"code\":502, \"message\":\"m\",\"metadata\":{}}}\n\n", "data: [DONE]\n\n"}
	got := strings.Join(out, "")
	if got != strings.Join(want, "") && got != strings.ReplaceAll(strings.Join(want, ""), ", ", ",") {
		t.Errorf("%q", got)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"model":"a/b","prompt":"p","size":"1024x1024","input_references":[{"type":"image_url","image_url":{"url":"`+tiny+`"}}],"provider":{"options":{"a":{}}},"x":[1]}`), false)
	f.Add([]byte(`{"model":"a/b","prompt":"p","images":[{"image_url":"https://a.test"}],"mask":{"image_url":"`+tiny+`"}}`), true)
	f.Fuzz(func(t *testing.T, body []byte, edit bool) {
		req, err := images.Decode(body, edit)
		if err != nil {
			return
		}
		i, ok := req.Task.(*task.Image)
		if !ok || i.Prompt == "" || i.N < 1 || i.N > 10 || len(i.References) > 16 || len(req.Models) == 0 || edit && len(i.References) == 0 {
			t.Errorf("%+v", i)
		}
		if most := i.Most(); most.Completion.N <= 0 || most.Images.N != int64(i.N) {
			t.Errorf("%+v", most)
		}
	})
}

func FuzzDecodeForm(f *testing.F) {
	body, boundary := formOf(f, field{"model", "a/b", false}, field{"prompt", "p", false}, field{"image", string(pngFile(f)), true}, field{"n", "1", false})
	f.Add(body, boundary)
	f.Fuzz(func(t *testing.T, body []byte, boundary string) {
		req, err := images.DecodeForm(body, boundary)
		if err != nil {
			return
		}
		if i, ok := req.Task.(*task.Image); !ok || !i.Edit || len(i.References) == 0 {
			t.Errorf("%+v", i)
		}
	})
}
