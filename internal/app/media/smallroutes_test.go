package media_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/internal/app/apptest"
	"weir/internal/catalog"
)

// A recording is translated by the models that can, in each format, at the price of a transcription; all others are refused and nothing is charged.
// Fields that only transcriptions have are refused by name.
func TestTranslations(t *testing.T) {
	t.Parallel()
	w := apptest.StartWitness(t)
	a := w.NewAccount(t)
	for i := range apptest.Listeners {
		l := &apptest.Listeners[i]
		before := apptest.Parse(t, a.Credits(t).TotalUsage)
		send := func(more ...string) *apptest.Answer {
			return a.SendFormTo(t, "/v1/audio/translations", nil, append(apptest.FormFields(append([]string{"model", l.At("")}, more...)...), apptest.Part{Name: "file", File: "speech.wav", Value: string(apptest.Wave(10 * time.Second))})...)
		}
		if !l.Translates() {
			if got := send(); got.Status/100 != 4 || apptest.Parse(t, a.Credits(t).TotalUsage) != before {
				t.Errorf("%s: %d %s", l.At(""), got.Status, got.Body)
			}
			continue
		}
		for _, format := range []string{"json", "text", "verbose_json", "srt", "vtt"} {
			got := send("response_format", format, "prompt", "Weirs", "temperature", "0")
			if got.Status != 200 || len(got.Body) < 10 {
				t.Errorf("%s as %s: %d %s", l.At(""), format, got.Status, got.Body)
			}
			if format == "verbose_json" {
				var said struct{ Task, Language, Text string }
				if err := json.Unmarshal(got.Body, &said); err != nil || said.Task != "translate" || said.Language != "english" || said.Text == "" {
					t.Errorf("%s: %v %s", l.At(""), err, got.Body)
				}
			}
		}
		transcribed := apptest.Parse(t, a.Credits(t).TotalUsage) - before
		before += transcribed
		a.Transcribe(t, l.At(""))
		if once := apptest.Parse(t, a.Credits(t).TotalUsage) - before; transcribed != 5*once || once == 0 {
			t.Errorf("%s: five translations cost %s, a transcription %s", l.At(""), transcribed, once)
		}
		for _, field := range []string{"language", "stream", "timestamp_granularities[]", "include[]"} {
			if got := send(field, "true"); got.Status != 400 || !strings.Contains(string(got.Body), strings.TrimSuffix(field, "[]")) {
				t.Errorf("%s: %s: %d %s", l.At(""), field, got.Status, got.Body)
			}
		}
	}
	a.WantNothingHeld(t)
}

// A variation is made by each model that edits, and asks for nothing but an image.
func TestVariations(t *testing.T) {
	t.Parallel()
	w := apptest.StartWitness(t)
	a := w.NewAccount(t)
	png := apptest.Part{Name: "image", File: "weir.png", Value: apptest.PNG(t)}
	some := false
	for i := range apptest.Painters {
		p := &apptest.Painters[i]
		if !p.Edits {
			continue
		}
		some = true
		got := a.SendFormTo(t, "/v1/images/variations", nil, append(apptest.FormFields("model", p.Slug("")), png)...)
		var made struct {
			Data  []struct{ URL, B64JSON string }
			Usage struct{ Cost json.Number }
		}
		if err := json.Unmarshal(got.Body, &made); err != nil || got.Status != 200 || len(made.Data) != 1 {
			t.Errorf("%s: %d %.300s", p.Slug(""), got.Status, got.Body)
		}
	}
	if !some {
		t.Error("no model edits")
	}
	model := apptest.Painters[0].Slug("")
	for _, c := range []struct {
		parts []apptest.Part
		param string
	}{
		{apptest.FormFields("model", model), "image"}, {[]apptest.Part{png}, "model"}, {append(apptest.FormFields("model", model, "prompt", "x"), png), "prompt"},
		{append(apptest.FormFields("model", model), png, png), "image"}, {append(apptest.FormFields("model", model, "n", "11"), png), "n"},
		{append(apptest.FormFields("model", model), png, apptest.Part{Name: "mask", File: "m.png", Value: png.Value}), "mask"},
	} {
		if got := a.SendFormTo(t, "/v1/images/variations", nil, c.parts...); got.Status != 400 || !strings.Contains(string(got.Body), `"param":"`+c.param+`"`) {
			t.Errorf("without %s: %d %s", c.param, got.Status, got.Body)
		}
	}
	if got := a.Do(t, http.MethodPost, "/v1/images/variations", map[string]any{"model": model}); got.Status != 415 {
		t.Errorf("as JSON: %d %s", got.Status, got.Body)
	}
	a.WantNothingHeld(t)
}

// Models are counted by what they answer with, and endpoints that keep nothing are listed: as many as the catalog has, and for a key those that it
// may call.
func TestCountsAndZeroRetention(t *testing.T) {
	t.Parallel()
	w := apptest.StartWitness(t, func(s *apptest.Setup) {
		s.Declared.Providers[0].DataPolicy = catalog.PolicyZero
	})
	a := w.NewAccount(t)
	count := func(by *apptest.Account, query string) float64 {
		o := apptest.ParseObject(t, by.Do(t, http.MethodGet, "/v1/models/count"+query, nil))
		data, _ := o["data"].(apptest.Object)
		n, ok := data["count"].(float64)
		if !ok {
			t.Errorf("%s: %v", query, o)
		}
		return n
	}
	listed := func(by *apptest.Account, path string) int {
		data, _ := apptest.ParseObject(t, by.Do(t, http.MethodGet, path, nil))["data"].([]any)
		return len(data)
	}
	all, text, images, vectors := count(a, "?output_modalities=all"), count(a, ""), count(a, "?output_modalities=image"), count(a, "?output_modalities=embeddings")
	if n := listed(a, "/v1/models"); text != float64(n) || text == 0 {
		t.Errorf("%v models with text are counted, %d listed", text, n)
	}
	if n := listed(a, "/v1/embeddings/models"); vectors != float64(n) || vectors == 0 {
		t.Errorf("%v embedding models are counted, %d listed", vectors, n)
	}
	if n := listed(a, "/v1/images/models"); images < float64(n) || n == 0 || all < text+float64(n)+vectors {
		t.Errorf("%v models make images, %d are listed; all are %v", images, n, all)
	}
	if both := count(a, "?output_modalities=text,embeddings"); both != text+vectors {
		t.Errorf("text or vectors: %v", both)
	}
	if got := a.Do(t, http.MethodGet, "/v1/models/count?output_modalities=smell", nil); got.Status != 400 || !strings.Contains(string(got.Body), "output_modalities") {
		t.Errorf("%d %s", got.Status, got.Body)
	}

	strict := w.WithDefaults(t, `{"zdr":true}`, "")
	kept := count(strict, "?output_modalities=all")
	if kept == 0 || kept >= all {
		t.Errorf("a key with zdr counts %v of %v", kept, all)
	}
	data, _ := apptest.ParseObject(t, a.Do(t, http.MethodGet, "/v1/endpoints/zdr", nil))["data"].([]any)
	for _, v := range data {
		e := v.(apptest.Object)
		if !strings.HasPrefix(fmt.Sprint(e["name"]), fmt.Sprint(e["provider_name"], ": ")) || e["model_id"] == "" || e["pricing"] == nil || e["tag"] == "" {
			t.Errorf("%v", e)
		}
	}
	if float64(len(data)) != kept || listed(strict, "/v1/endpoints/zdr") != len(data) {
		t.Errorf("%d endpoints keep nothing, a key with zdr counts %v models", len(data), kept)
	}
}
