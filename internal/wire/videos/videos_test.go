package videos_test

import (
	"bytes"
	"image"
	"image/png"
	"mime/multipart"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/rawjson"
	"weir/internal/routing"
	"weir/internal/video"
	"weir/internal/wire/videos"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	audio, seed, creativity := true, int64(7), int64(3)
	body := `{"model":"google/veo-3.1","prompt":"a fox","duration":8,"resolution":"1080p","aspect_ratio":"16:9","size":"1920x1080","n":2,
		"frame_images":[{"type":"image_url","image_url":{"url":"https://files.test/a.png"},"frame_type":"first_frame"}],
		"input_references":[{"type":"audio_url","audio_url":{"url":"data:audio/wav;base64,AAAA"}},{"video_url":"https://files.test/b.mp4"}],
		"generate_audio":true,"seed":7,"upscale_factor":1.50,"creativity":3,"callback_url":"https://hooks.test/x?y=z",
		"provider":{"order":["google"],"options":{"Google":{"personGeneration":"allow_all"}}},"negative_prompt":"dogs","cfg_scale":0.5,"extra":null}`
	want := &video.Request{
		Model: "google/veo-3.1", Prompt: "a fox", Seconds: 8, Resolution: "1080p", AspectRatio: "16:9", Size: "1920x1080", Outputs: 2,
		Frames:     []video.Media{{Kind: catalog.Image, URL: "https://files.test/a.png", Frame: video.FirstFrame}},
		References: []video.Media{{Kind: catalog.Audio, URL: "data:audio/wav;base64,AAAA"}, {Kind: catalog.Video, URL: "https://files.test/b.mp4"}},
		Audio:      &audio, Seed: &seed, Upscale: "1.50", Creativity: &creativity, CallbackURL: "https://hooks.test/x?y=z",
		Preferences: routing.Preferences{Order: []string{"google"}},
		Options:     []video.ProviderOptions{{Provider: "google", Fields: []video.Param{{Name: "personGeneration", Value: []byte(`"allow_all"`)}}}},
		Params:      []video.Param{{Name: "negative_prompt", Value: []byte(`"dogs"`)}, {Name: "cfg_scale", Value: []byte("0.5")}, {Name: "extra", Value: []byte("null")}},
	}
	got, err := videos.Decode([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ members, param string }{
		{``, "prompt"},
		{`"prompt":""`, "prompt"},
		{`"prompt":7`, "prompt"},
		{`"prompt":"a","duration":0`, "duration"},
		{`"prompt":"a","duration":2.5`, "duration"},
		{`"prompt":"a","resolution":"999p"`, "resolution"},
		{`"prompt":"a","aspect_ratio":"5:4"`, "aspect_ratio"},
		{`"prompt":"a","n":5`, "n"},
		{`"prompt":"a","generate_audio":"yes"`, "generate_audio"},
		{`"prompt":"a","upscale_factor":0`, "upscale_factor"},
		{`"prompt":"a","frame_images":[{"type":"image_url","image_url":{"url":"https://a.test/b"}}]`, "frame_images[0].frame_type"},
		{`"prompt":"a","frame_images":[{"type":"video_url","video_url":{"url":"https://a.test/b"},"frame_type":"last_frame"}]`, "frame_images[0].type"},
		{`"prompt":"a","frame_images":[{"type":"image_url","image_url":{"url":"https://a.test/b"},"frame_type":"middle"}]`, "frame_images[0].frame_type"},
		{`"prompt":"a","input_references":["x"]`, "input_references[0]"},
		{`"prompt":"a","input_references":[{"type":"image_url","audio_url":{"url":"https://a.test/b"}}]`, "input_references[0]"},
		{`"prompt":"a","input_references":[{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}]`, "input_references[0].image_url.url"},
		{`"prompt":"a","callback_url":"ftp://a.test"`, "callback_url"},
		{`"prompt":"a","callback_url":"https://u:p@a.test"`, "callback_url"},
		{`"prompt":"a","provider":{"order":"x"}`, "provider.order"},
	} {
		body := `{"model":"a/b"`
		if c.members != "" {
			body += "," + c.members
		}
		_, err := videos.Decode([]byte(body + "}"))
		if f := fault.From(err); f == nil || f.Param != c.param || f.Public == "" {
			t.Errorf("%s: %+v, want a fault of %s", c.members, f, c.param)
		}
	}
	for _, body := range []string{``, `[]`, `{`, `{"model":"a/b","prompt":"a"} x`, `{"model":"a/b","model":"a/c","prompt":"a"}`, `{"prompt":"a"}`} {
		if _, err := videos.Decode([]byte(body)); err == nil {
			t.Errorf("%s passes", body)
		}
	}
}

func TestJob(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_772_000_000, 5000)
	for _, c := range []struct {
		name string
		job  video.Job
		want string
	}{
		{"new", video.Job{ID: "vj_1", Generation: "gen-1", Model: "a/b", State: video.Pending, CreatedAt: at},
			`{"id":"vj_1","polling_url":"https://w.test/v1/videos/vj_1","status":"pending","model":"a/b","generation_id":"gen-1","created_at":1772000000}`},
		{"under way", video.Job{ID: "vj_1", Model: "a/b", State: video.InProgress, CreatedAt: at, Progress: 40},
			`{"id":"vj_1","polling_url":"https://w.test/v1/videos/vj_1","status":"in_progress","model":"a/b","created_at":1772000000,"progress":40}`},
		{"completed", video.Job{ID: "vj_1", Model: "a/b", State: video.Completed, CreatedAt: at, CompletedAt: at, ExpiresAt: at, Outputs: make([]video.Output, 2), Ended: video.Settled, Cost: 3 * money.Ruble / 2},
			`{"id":"vj_1","polling_url":"https://w.test/v1/videos/vj_1","status":"completed","model":"a/b","created_at":1772000000,"completed_at":1772000000,"expires_at":1772000000,` +
				`"unsigned_urls":["https://w.test/v1/videos/vj_1/content?index=0","https://w.test/v1/videos/vj_1/content?index=1"],"usage":{"cost":1.5,"is_byok":false}}`},
		{"failed", video.Job{ID: "vj_1", Model: "a/b", State: video.Failed, CreatedAt: at, CompletedAt: at, Ended: video.Voided, Error: "No \"fox\"."},
			`{"id":"vj_1","polling_url":"https://w.test/v1/videos/vj_1","status":"failed","model":"a/b","created_at":1772000000,"completed_at":1772000000,"error":"No \"fox\"."}`},
		{"expired after completion", video.Job{ID: "vj_1", Model: "a/b", State: video.Expired, CreatedAt: at, CompletedAt: at, ExpiresAt: at, Outputs: make([]video.Output, 1), Ended: video.Settled, Cost: 1},
			`{"id":"vj_1","polling_url":"https://w.test/v1/videos/vj_1","status":"expired","model":"a/b","created_at":1772000000,"completed_at":1772000000,"expires_at":1772000000,"usage":{"cost":0.000000001,"is_byok":false}}`},
	} {
		if got := string(videos.AppendJob(nil, &c.job, "https://w.test")); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	done := video.Job{ID: "vj_1", State: video.Completed, Outputs: make([]video.Output, 1), Ended: video.Settled}
	if got := string(videos.AppendEnd(nil, &done, "b")); got != `{"id":"vj_1","status":"completed","generation_id":null,"model":null,"unsigned_urls":["b/v1/videos/vj_1/content?index=0"],"usage":{"cost":0,"is_byok":false}}` {
		t.Error(got)
	}
	if got := string(videos.AppendPage(nil, []video.Job{done, done}, true, "b")); !rawjson.Valid([]byte(got)) || strings.Count(got, `"id"`) != 2 || !strings.HasSuffix(got, `"has_more":true}`) {
		t.Error(got)
	}
}

// A form says the same as JSON, and its file is a data URL.
func TestDecodeForm(t *testing.T) {
	t.Parallel()
	var img bytes.Buffer
	if err := png.Encode(&img, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	form := func(fields [][2]string, file []byte) ([]byte, string) {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		for _, f := range fields {
			if err := w.WriteField(f[0], f[1]); err != nil {
				t.Fatal(err)
			}
		}
		if file != nil {
			part, err := w.CreateFormFile("input_reference", "a.png")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := part.Write(file); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes(), w.Boundary()
	}
	all := [][2]string{{"model", "a/b"}, {"prompt", "a \"fox\"\n"}, {"seconds", "8"}, {"size", "1280x720"}, {"generate_audio", "true"}, {"provider", `{"order":["one"]}`}}
	got, err := videos.DecodeForm(form(all, img.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if !got.Form || got.Model != "a/b" || got.Prompt != "a \"fox\"\n" || got.Seconds != 8 || got.Size != "1280x720" || !got.WithAudio() || got.Preferences.Order[0] != "one" ||
		!strings.HasPrefix(got.Guide, "data:image/png;base64,") || len(got.Params) != 0 {
		t.Errorf("%+v", got)
	}
	got, err = videos.DecodeForm(form([][2]string{{"model", "a/b"}, {"prompt", "a"}, {"input_reference[image_url]", "https://files.test/a.png"}}, nil))
	if err != nil || got.Guide != "https://files.test/a.png" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, c := range []struct {
		fields [][2]string
		file   string
		param  string
	}{
		{[][2]string{{"model", "a/b"}}, "", "prompt"},
		{nil, "", "model"},
		{nil, img.String(), "model"},
		{[][2]string{{"model", "a/b"}, {"prompt", "a"}}, "no image", "input_reference"},
		{[][2]string{{"model", "a/b"}, {"prompt", "a"}, {"input_reference[image_url]", "https://files.test/a.png"}}, img.String(), "input_reference"},
		{[][2]string{{"model", "a/b"}, {"prompt", "a"}, {"input_reference[image_url]", "file:///etc/passwd"}}, "", "input_reference"},
		{[][2]string{{"model", "a/b"}, {"prompt", "a"}, {"input_reference[file_id]", "file-1"}}, "", "input_reference.file_id"},
		{[][2]string{{"model", "a/b"}, {"prompt", "a"}, {"seconds", "soon"}}, "", "seconds"},
		{[][2]string{{"model", "a/b"}, {"prompt", "a"}, {"seconds", "4"}, {"duration", "8"}}, "", "seconds"},
		{[][2]string{{"model", "a/b"}, {"prompt", "a"}, {"prompt", "b"}}, "", "prompt"},
	} {
		var file []byte
		if c.file != "" {
			file = []byte(c.file)
		}
		_, err := videos.DecodeForm(form(c.fields, file))
		if f := fault.From(err); f == nil || f.Param != c.param {
			t.Errorf("%v: %+v, want a fault of %s", c.fields, f, c.param)
		}
	}
}

// A job that came as a form has the shape that OpenAI's clients expect, in every state.
func TestObject(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_772_000_000, 0)
	job := func(edit func(*video.Job)) string {
		j := video.Job{ID: "vj_1", Generation: "gen-1", Model: "a/b", State: video.Pending, CreatedAt: at, Seconds: 4, Form: true}
		edit(&j)
		return string(videos.AppendJob(nil, &j, "b"))
	}
	head := `{"id":"vj_1","object":"video","status":`
	for _, c := range []struct {
		name string
		edit func(*video.Job)
		want string
	}{
		{"new", func(j *video.Job) { j.Size = "1280x720" }, `"queued","model":"a/b","progress":0,"seconds":"4","size":"1280x720","prompt":null,"remixed_from_video_id":null,` +
			`"created_at":1772000000,"completed_at":null,"expires_at":null,"error":null,"polling_url":"b/v1/videos/vj_1","generation_id":"gen-1"}`},
		{"under way", func(j *video.Job) { j.State, j.Progress = video.InProgress, 40 }, `"in_progress","model":"a/b","progress":40,"seconds":"4","size":null,"prompt":null,` +
			`"remixed_from_video_id":null,"created_at":1772000000,"completed_at":null,"expires_at":null,"error":null,"polling_url":"b/v1/videos/vj_1","generation_id":"gen-1"}`},
		{"completed", func(j *video.Job) {
			j.State, j.Ended, j.CompletedAt, j.ExpiresAt, j.Outputs, j.Cost = video.Completed, video.Settled, at, at, make([]video.Output, 1), money.Ruble
		}, `"completed","model":"a/b","progress":100,"seconds":"4","size":null,"prompt":null,"remixed_from_video_id":null,"created_at":1772000000,"completed_at":1772000000,` +
			`"expires_at":1772000000,"error":null,"polling_url":"b/v1/videos/vj_1","generation_id":"gen-1","unsigned_urls":["b/v1/videos/vj_1/content?index=0"],"usage":{"cost":1,"is_byok":false}}`},
		{"deleted since", func(j *video.Job) {
			j.State, j.Ended, j.CompletedAt, j.ExpiresAt = video.Expired, video.Settled, at, at
		},
			`"completed","model":"a/b","progress":100,"seconds":"4","size":null,"prompt":null,"remixed_from_video_id":null,"created_at":1772000000,"completed_at":1772000000,` +
				`"expires_at":1772000000,"error":null,"polling_url":"b/v1/videos/vj_1","generation_id":"gen-1","usage":{"cost":0,"is_byok":false}}`},
		{"cancelled", func(j *video.Job) { j.State, j.Ended, j.CompletedAt = video.Cancelled, video.Voided, at },
			`"failed","model":"a/b","progress":0,"seconds":"4","size":null,"prompt":null,"remixed_from_video_id":null,"created_at":1772000000,"completed_at":null,"expires_at":null,` +
				`"error":{"code":"cancelled","message":"The job was cancelled."},"polling_url":"b/v1/videos/vj_1","generation_id":"gen-1"}`},
		{"too late", func(j *video.Job) {
			j.State, j.Ended, j.CompletedAt, j.Error, j.Reason = video.Expired, video.Voided, at, "Too late.", "timeout"
		},
			`"failed","model":"a/b","progress":0,"seconds":"4","size":null,"prompt":null,"remixed_from_video_id":null,"created_at":1772000000,"completed_at":null,"expires_at":null,` +
				`"error":{"code":"timeout","message":"Too late."},"polling_url":"b/v1/videos/vj_1","generation_id":"gen-1"}`},
	} {
		if got := job(c.edit); got != head+c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, head+c.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"model":"a/b","prompt":"c","frame_images":[{"type":"image_url","image_url":{"url":"https://x"},"frame_type":"first_frame"}],"provider":{"options":{"x":{"y":1}}},"z":[1]}`))
	f.Add([]byte(`{"model":"a/b","prompt":"c","upscale_factor":1e2,"size":"1x1","seed":-1}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := videos.Decode(body)
		if err != nil {
			return
		}
		if r.Model == "" || r.Prompt == "" {
			t.Error("a request without model or prompt")
		}
		for _, p := range r.Params {
			if !rawjson.Valid(p.Value) {
				t.Errorf("parameter %q is %q", p.Name, p.Value)
			}
		}
		if _, err := video.DecodeRequest(video.EncodeRequest(r)); err != nil {
			t.Error(err)
		}
	})
}

// Whatever a form is, it is refused or read as a request that can be stored.
func FuzzDecodeForm(f *testing.F) {
	f.Add([]byte("--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\na/b\r\n--b\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\nc\r\n--b\r\nContent-Disposition: form-data; name=\"seconds\"\r\n\r\n4\r\n--b--\r\n"))
	f.Add([]byte("--b\r\nContent-Disposition: form-data; name=\"input_reference\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\nx\r\n--b--\r\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := videos.DecodeForm(body, "b")
		if err != nil {
			return
		}
		if r.Model == "" || r.Prompt == "" || !r.Form {
			t.Errorf("%+v", r)
		}
		if _, err := video.DecodeRequest(video.EncodeRequest(r)); err != nil {
			t.Error(err)
		}
	})
}
