package media

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir/internal/sim/kit"
)

// yandexArtWire is the one of Yandex ART.
var yandexArtWire = kit.NewWholeWire("yandex-art", &kit.YandexTaskPhrases, kit.YandexTaskError, kit.YandexTaskWire.Admit, "Prompt is too long: text must be at most 500 characters", `{"id":"x"}`)

const artBlocked = "it is not possible to generate an image from this request because it may violate the terms of use"

var yandexArtJobs = &jobWire{
	Wire: yandexArtWire, id: func(rnd *kit.Random) string { return "fbv" + (kit.HexOf(rnd.Next()) + kit.HexOf(rnd.Next()))[:17] },
	blocked: kit.Refusal{Status: 400, Message: artBlocked},
	unknown: func(id string) *kit.Refusal {
		return &kit.Refusal{Status: 404, Message: "operation with id " + id + " not found"}
	},
	accepted: (*mediaJob).yandexArtView,
	view:     (*mediaJob).yandexArtView,
}

func (j *mediaJob) yandexArtView() []byte {
	members := []any{"id", j.id, "description", "", "createdAt", nil, "createdBy", "", "modifiedAt", nil, "done", j.stage >= kit.JobDone, "metadata", nil}
	fail := func(code int, message string) {
		members = append(members, "error", JSONOf("code", code, "message", message, "details", []any{}))
	}
	switch j.stage {
	case kit.JobDone:
		image := ""
		if j.outputs() > 0 {
			image = j.spec.base64(0)
		}
		members = append(members, "response", JSONOf("@type", "type.googleapis.com/yandex.cloud.ai.foundation_models.v1.image_generation.ImageGenerationResponse", "image", image, "modelVersion", ""))
	case kit.JobBlocked:
		fail(3, artBlocked)
	case kit.JobFailed:
		fail(13, "Internal error")
	case kit.JobCancelled:
		fail(1, "Operation was cancelled")
	case kit.JobExpired:
		fail(4, "Deadline exceeded")
	}
	return JSONOf(members...)
}

// yandexArt serves POST /foundationModels/v1/imageGenerationAsync.
func (s *Wires) yandexArt(w http.ResponseWriter, r *http.Request) {
	s.mediaBody(yandexArtWire, w, r, func(began time.Time, body []byte) *kit.Refusal {
		read, refused := readMedia(yandexArtWire, 400, body)
		if refused != nil {
			return refused
		}
		a, refused := read.yandexArt()
		if refused != nil {
			return refused
		}
		return s.submit(yandexArtJobs, w, r, began, a)
	})
}

func (r *mediaReader) yandexArt() (*mediaRequest, *kit.Refusal) {
	uri := r.Root.Given("modelUri").Str()
	if uri == "" {
		uri = r.Root.Given("model_uri").Str()
	}
	rest, hasScheme := strings.CutPrefix(uri, "art://")
	parts := strings.Split(rest, "/")
	if !hasScheme || len(parts) < 2 || len(parts) > 3 || parts[0] == "" {
		return nil, &kit.Refusal{Status: 400, Message: "Failed to parse model URI: '" + uri + "'"}
	}
	r.model(parts[1], map[string]bool{"yandex-art": true, "yandex-art-2.0": true, "aliceai-image-art-3.0": true}, func(string) *kit.Refusal {
		return &kit.Refusal{Status: 404, Message: "model " + uri + " not found"}
	})
	r.spec.name, r.spec.format = uri, "jpeg"
	across, down := int64(1), int64(1)
	ratio := func(to *int64) mediaField {
		return func(r *mediaReader, v *kit.Node, p string) { *to = r.protoInt(v, p) }
	}
	said := 0
	return r.finish(map[string]mediaField{
		"modelUri": mediaText,
		"messages": func(r *mediaReader, v *kit.Node, p string) {
			said = len(v.Items)
			r.Each(v, p, func(v *kit.Node, p string) {
				kit.Members(&r.Checker, r, v, p, map[string]mediaField{"text": mediaPrompt(500), "weight": func(r *mediaReader, v *kit.Node, p string) {
					if !v.Is(kit.Text) {
						r.Decimal(v, p, -1e9, 1e9)
					}
				}}, "text")
			})
		},
		"generationOptions": func(r *mediaReader, v *kit.Node, p string) {
			kit.Members(&r.Checker, r, v, p, map[string]mediaField{
				"mimeType": mediaWords("image/jpeg"),
				"seed":     func(r *mediaReader, v *kit.Node, p string) { r.spec.seed = strconv.FormatInt(r.protoInt(v, p), 10) },
				"aspectRatio": func(r *mediaReader, v *kit.Node, p string) {
					kit.Members(&r.Checker, r, v, p, map[string]mediaField{"widthRatio": ratio(&across), "heightRatio": ratio(&down)})
				},
			})
		},
	}, func(r *mediaReader) {
		if across < 1 || down < 1 || across > 16*down || down > 16*across {
			r.Refuse("generationOptions.aspectRatio", "", "Invalid aspect ratio")
		}
		if said == 0 {
			r.Missing("messages")
		}
		r.spec.shape(strconv.FormatInt(across, 10)+":"+strconv.FormatInt(down, 10), 1024)
	}, "modelUri", "messages")
}

// protoInt is a number of 64 bits, which JSON of protocol buffers also has as text.
func (r *mediaReader) protoInt(v *kit.Node, param string) int64 {
	if v.Is(kit.Text) {
		n, err := strconv.ParseInt(v.Text, 10, 64)
		if err != nil {
			r.WrongType(param, v, "an integer")
		}
		return n
	}
	return r.Integer(v, param, 0, kit.MaxInteger)
}
