package media

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir/internal/sim/chat"
	"weir/internal/sim/kit"
)

// routerWire is OpenRouter's wire for images and videos.
var routerWire = func() *kit.Wire {
	on := kit.NewWholeWire("openrouter", &kit.OpenAIPhrases, routerError, func(s *kit.Host, r *http.Request) *kit.Refusal {
		if s.HasKey(kit.Bearer(r)) {
			return nil
		}
		return &kit.Refusal{Status: 401, Message: "Missing Authentication header"}
	}, "Input is too long.", `{"created":1}`)
	return on
}()

func routerError(f *kit.Refusal) []byte {
	return JSONOf("error", JSONOf("code", f.Status, "message", f.Message))
}

// routerImages serves POST /api/v1/images of OpenRouter. Any model that its catalog could have has a name "vendor/model".
func (s *Wires) routerImages(w http.ResponseWriter, r *http.Request) {
	s.mediaBody(routerWire, w, r, func(began time.Time, body []byte) *kit.Refusal {
		read, refused := readMedia(routerWire, 400, body)
		if refused != nil {
			return refused
		}
		a, refused := read.routerImage()
		if refused != nil {
			return refused
		}
		if a.knobs.Job.End == "refuse" || a.knobs.Job.End == "policy" {
			return &kit.Refusal{Status: 403, Message: "Your input was flagged by the provider's moderation."}
		}
		k, created := a.knobs.AtStep(kit.StepSubmit), s.Config.Now().Unix()
		if k.Job.Outputs > 0 {
			a.count = k.Job.Outputs
		}
		out := &kit.Reply{Wire: routerWire, Body: func() []byte {
			s.jobs.submitted(routerWire, credential(r))
			data := []any{}
			for i := range a.count {
				data = append(data, JSONOf("b64_json", a.base64(i), "media_type", mimes[a.imageFormat()]))
			}
			words, images := kit.CountTokens(a.prompt), 1056*a.count
			usage := Verbatim{'{'}
			for _, n := range []kit.UsageCount{{Name: "prompt_tokens", N: words}, {Name: "completion_tokens", N: images}, {Name: "total_tokens", N: words + images}} {
				usage = append(kit.AppendCount(usage, n.Name, n.N, k.Usage), ',')
			}
			usage = append(strconv.AppendFloat(append(usage, `"cost":`...), 0.04*float64(a.count), 'f', -1, 64), '}')
			if k.Usage == "missing" {
				return JSONOf("created", created, "data", data)
			}
			return JSONOf("created", created, "data", data, "usage", usage)
		}}
		out.EmptyBody = func() []byte { return JSONOf("created", created, "data", []any{}) }
		if k.Job.End == "empty" {
			out.Body = out.EmptyBody
		}
		s.playStep(out, w, r, began, a.name, k)
		return nil
	})
}

// vendorModel takes any model that has a vendor before its name.
func (r *mediaReader) vendorModel() {
	name := r.Root.Given("model").Str()
	if name == "" {
		r.Missing("model")
		return
	}
	r.model(name, nil, func(string) *kit.Refusal { return nil })
	if !strings.Contains(r.spec.base, "/") && r.spec.base != "image" && r.spec.base != "video" && r.Fault == nil {
		r.Fault = &kit.Refusal{Status: 404, Message: "Model " + name + " does not exist"}
	}
}

func (r *mediaReader) routerImage() (*mediaRequest, *kit.Refusal) {
	r.vendorModel()
	points, ratio := 1024, "1:1"
	fields := map[string]mediaField{
		"model": mediaText, "provider": mediaObject, "stream": mediaFlag,
		"prompt":       mediaPrompt(32000),
		"n":            mediaCount(10),
		"aspect_ratio": func(r *mediaReader, v *kit.Node, p string) { ratio = r.OneOf(v, p, chat.RouterRatios...) },
		"resolution": func(r *mediaReader, v *kit.Node, p string) {
			points = chat.TierPoints[r.OneOf(v, p, "512", "1K", "2K", "4K")]
		},
		"background":         mediaWords("auto", "transparent", "opaque"),
		"quality":            mediaWords("auto", "low", "medium", "high"),
		"output_format":      mediaFormat("png", "jpeg", "webp", "svg"),
		"output_compression": mediaWhole(0, 100),
		"seed":               mediaSeed(-kit.MaxInteger-1, kit.MaxInteger),
		"size":               mediaText,
		"input_references":   func(r *mediaReader, v *kit.Node, p string) { r.Each(v, p, r.imagePart) },
	}
	r.lenient(fields)
	return r.finish(fields, func(r *mediaReader) {
		size, a := r.Root.Given("size").Str(), &r.spec
		a.clear = r.Root.Given("background").Str() == "transparent"
		if tier := chat.TierPoints[size]; tier != 0 {
			points = tier
		}
		if ratio == "auto" {
			ratio = "1:1"
		}
		a.shape(ratio, points)
		switch {
		case size == "" || chat.TierPoints[size] != 0:
		case !a.sized(size):
			r.WrongValue("size", "a tier or WIDTHxHEIGHT")
		case r.Root.Given("resolution") != nil || r.Root.Given("aspect_ratio") != nil:
			r.Refuse("size", "", "Explicit pixel size cannot be combined with resolution or aspect_ratio.")
		}
		if len(a.inputs) > 16 {
			r.WrongValue("input_references", "at most 16 images")
		}
		if a.clear && a.format == "jpeg" {
			r.WrongValue("background", "'opaque' or 'auto' for jpeg")
		}
	}, "model", "prompt")
}

// imagePart is a part {"type":"image_url","image_url":{"url":...}}.
func (r *mediaReader) imagePart(v *kit.Node, param string) {
	kit.Members(&r.Checker, r, v, param, map[string]mediaField{
		"type": mediaWords("image_url"),
		"image_url": func(r *mediaReader, v *kit.Node, p string) {
			kit.Members(&r.Checker, r, v, p, map[string]mediaField{"url": mediaLink(false, "https", "http"), "detail": mediaText}, "url")
		},
		"frame_type": mediaWords("first_frame", "last_frame"),
	}, "type", "image_url")
}
