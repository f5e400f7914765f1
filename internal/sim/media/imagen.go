package media

import (
	"net/http"
	"strings"
	"time"

	"weir/internal/sim/chat"
	"weir/internal/sim/kit"
)

// The sizes that Google's models give to a ratio, at 1K.
var (
	imagenSizes = map[string]string{"1:1": "1024x1024", "3:4": "896x1280", "4:3": "1280x896", "9:16": "768x1408", "16:9": "1408x768"}
)

// scaled takes the size of a ratio, so many times as large.
func (a *mediaRequest) scaled(size string, times int) {
	if a.sized(size) && times > 1 {
		a.width, a.height = a.width*times, a.height*times
	}
}

// googleWire is the one of predict and predictLongRunning.
var googleWire = func() *kit.Wire {
	on := *chat.GeminiWire
	on.Name, on.Incomplete = "google-predict", []byte(`{"deployedModelId":"x"}`)
	return &on
}()

// GoogleMethod serves the methods of models that make images and videos; false for other methods.
func (s *Wires) GoogleMethod(w http.ResponseWriter, r *http.Request, model, method string) bool {
	vertex := r.PathValue("project") != ""
	switch {
	case method == "predict":
		s.mediaBody(googleWire, w, r, func(began time.Time, body []byte) *kit.Refusal { return s.imagen(w, r, began, model, vertex, body) })
	case method == "predictLongRunning":
		s.mediaBody(googleWire, w, r, func(began time.Time, body []byte) *kit.Refusal { return s.veo(w, r, began, model, vertex, body) })
	case method == "fetchPredictOperation" && vertex:
		s.veoFetch(w, r, model)
	default:
		return false
	}
	return true
}

// googleModel takes a model of a family; "image" and "video" are of all.
func (r *mediaReader) googleModel(name, family, method string) {
	known := map[string]bool{}
	if base, _, _ := strings.Cut(name, "@"); strings.HasPrefix(base, family) {
		base, _, _ = strings.Cut(base, "-fault-")
		known[base] = true
	}
	r.model(name, known, func(string) *kit.Refusal {
		return &kit.Refusal{Status: 404, Message: "models/" + name + " is not found for API version v1beta, or is not supported for " + method + ". Call ListModels to see the list of available models and their supported methods."}
	})
}

// vertexOnly checks a parameter that only Vertex has.
func (r *mediaReader) vertexOnly(check mediaField) mediaField {
	return func(r *mediaReader, v *kit.Node, p string) {
		if !r.vertex {
			r.Refuse(p, "", "`"+chat.LastName(p)+"` isn't supported by this model. Please remove it or refer to the Gemini API documentation for supported usage.")
			return
		}
		check(r, v, p)
	}
}

// googleImage is an image as bytes, or on Vertex in a bucket.
func googleImage(r *mediaReader, v *kit.Node, param string) {
	kit.Members(&r.Checker, r, v, param, map[string]mediaField{
		"bytesBase64Encoded": mediaLink(true),
		"gcsUri":             r.vertexOnly(mediaLink(false, "gs")),
		"mimeType":           mediaWords("image/png", "image/jpeg", "image/webp"),
	})
	if v.Has("bytesBase64Encoded") == v.Has("gcsUri") {
		r.Refuse(param, "", "Exactly one of `bytesBase64Encoded` and `gcsUri` must be set in `"+chat.LastName(param)+"`.")
	}
}

// instances hands on the one instance that is allowed.
func (r *mediaReader) instances(fields map[string]mediaField) mediaField {
	return func(r *mediaReader, v *kit.Node, p string) {
		if r.ExpectKind(v, kit.Array, p) && len(v.Items) != 1 {
			r.Refuse(p, "", "Only one instance is supported.")
		}
		r.Each(v, p, func(v *kit.Node, p string) { kit.Members(&r.Checker, r, v, p, fields) })
	}
}

// imagen serves models/{model}:predict.
func (s *Wires) imagen(w http.ResponseWriter, r *http.Request, began time.Time, model string, vertex bool, body []byte) *kit.Refusal {
	read, refused := readMedia(googleWire, 400, body)
	if refused != nil {
		return refused
	}
	read.vertex = vertex
	read.googleModel(model, "imagen-", "predict")
	if read.Fault != nil {
		return read.Fault
	}
	ratio, times, reasons := "1:1", 1, false
	parameters := map[string]mediaField{
		"sampleCount": mediaCount(4),
		"aspectRatio": func(r *mediaReader, v *kit.Node, p string) {
			ratio = r.OneOf(v, p, "1:1", "3:4", "4:3", "9:16", "16:9")
		},
		"sampleImageSize":  func(r *mediaReader, v *kit.Node, p string) { times = chat.GoogleTiers[r.OneOf(v, p, "1K", "2K")] },
		"includeRaiReason": func(r *mediaReader, v *kit.Node, p string) { reasons = r.ExpectKind(v, kit.Boolean, p) && v.IsTrue() },
		"personGeneration": mediaText, "safetySetting": mediaText, "language": mediaText, "guidanceScale": mediaDecimal(0, 500), "includeSafetyAttributes": mediaFlag,
		"enhancePrompt": mediaFlag, "addWatermark": read.vertexOnly(mediaFlag), "negativePrompt": read.vertexOnly(mediaText), "seed": read.vertexOnly(mediaSeed(0, 1<<32-1)),
		"storageUri": read.vertexOnly(mediaText),
		"outputOptions": func(r *mediaReader, v *kit.Node, p string) {
			kit.Members(&r.Checker, r, v, p, map[string]mediaField{
				"mimeType": func(r *mediaReader, v *kit.Node, p string) {
					r.spec.format = strings.TrimPrefix(r.OneOf(v, p, "image/png", "image/jpeg"), "image/")
				},
				"compressionQuality": mediaWhole(0, 100),
			})
		},
	}
	a, refused := read.finish(map[string]mediaField{
		"instances":  read.instances(map[string]mediaField{"prompt": mediaPrompt(4000), "image": googleImage, "mask": mediaObject, "referenceImages": mediaList}),
		"parameters": func(r *mediaReader, v *kit.Node, p string) { kit.Members(&r.Checker, r, v, p, parameters) },
	}, func(r *mediaReader) {
		if r.spec.prompt == "" {
			r.Refuse("instances", "", "`prompt` must not be empty.")
		}
		r.spec.scaled(imagenSizes[ratio], times)
	}, "instances")
	if refused != nil {
		return refused
	}
	k := a.knobs.AtStep(kit.StepSubmit)
	if k.Job.End == "refuse" {
		return &kit.Refusal{Status: 400, Message: "Image generation failed with the following error: The prompt could not be submitted. Your current safety filter threshold filtered out the prompt."}
	}
	s.playStep(&kit.Reply{Wire: googleWire, Body: func() []byte {
		s.jobs.submitted(googleWire, credential(r))
		return a.predictions(k, reasons)
	}}, w, r, began, a.name, k)
	return nil
}

// predictions returns the images. A filtered one is left out, or replaced by a reason.
func (a *mediaRequest) predictions(k *kit.Knobs, reasons bool) []byte {
	out := []any{}
	for i := range a.count {
		switch {
		case k.Job.End == "empty":
		case k.Job.End != "policy":
			out = append(out, JSONOf("mimeType", mimes[a.imageFormat()], "bytesBase64Encoded", a.base64(i)))
		case reasons:
			out = append(out, JSONOf("raiFilteredReason", "Unable to show generated images. All images were filtered out because they violated Google's Responsible AI practices. Support codes: 39322892"))
		}
	}
	if len(out) == 0 {
		return []byte(`{}`)
	}
	return JSONOf("predictions", out)
}
