package sim

import (
	"bytes"
	"encoding/base64"
	"image"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// imagesWire is OpenAI's for pictures.
var imagesWire = func() *wire {
	on := wholeWire("images", &openAIPhrases, (*refusal).json, chatWire.admit, "Invalid 'prompt': string too long. Expected a string with maximum length 32000, but got a string with length 40000 instead.", `{"created":1}`)
	on.inside = func(f *refusal, _ string, _ int) frame {
		return frame{event: "error", data: append([]byte(`{"type":"error",`), f.json()[1:]...)}
	}
	on.text = func(s string) frame {
		return frame{event: "image_generation.partial_image", data: []byte(`{"type":"image_generation.partial_image","b64_json":"` + s + `","partial_image_index":0}`)}
	}
	on.idle = frame{event: "image_generation.idle", data: []byte(`{"type":"image_generation.idle"}`)}
	return on
}()

// imageRules are what a model takes.
type imageRules struct {
	gpt    bool // the newer kind, which sends bytes and counts tokens
	free   bool // any size
	edits  bool
	prompt int
	count  int64
	sizes  []string
	first  string // size when none is asked for
}

var (
	gptSizes   = []string{"1024x1024", "1536x1024", "1024x1536", "auto"}
	gptRules   = imageRules{gpt: true, edits: true, prompt: 32000, count: 10, sizes: gptSizes, first: "1024x1024"}
	imageModel = map[string]imageRules{
		"gpt-image-1": gptRules, "gpt-image-1-mini": gptRules, "gpt-image-1.5": gptRules, "chatgpt-image-latest": gptRules, "image": gptRules,
		"gpt-image-2": {gpt: true, free: true, edits: true, prompt: 32000, count: 10, first: "1024x1024"},
		"dall-e-2":    {edits: true, prompt: 1000, count: 10, sizes: []string{"256x256", "512x512", "1024x1024"}, first: "1024x1024"},
		"dall-e-3":    {prompt: 4000, count: 1, sizes: []string{"1024x1024", "1792x1024", "1024x1792"}, first: "1024x1024"},
	}
)

// imageCall is one request to the wire.
type imageCall struct {
	*mediaReader
	rules      imageRules
	edit       bool
	stream     bool
	partial    int
	quality    string
	background string
	links      bool // results by address
}

var imageBarred = refusal{
	status: 400, kind: "image_generation_user_error", code: "moderation_blocked",
	message: "Your request was rejected by the safety system. If you believe this is an error, contact us at help.openai.com and include the request ID.",
}

// images serves POST /v1/images/generations and /v1/images/edits.
func (s *mediaWires) images(edit bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		if edit && isForm(r) {
			read, files, refused := s.form(imagesWire, r)
			if refused == nil {
				refused = s.image(w, r, began, &imageCall{mediaReader: read, edit: true}, files)
			}
			if refused != nil {
				s.refuse(imagesWire, w, refused)
			}
			return
		}
		s.mediaBody(imagesWire, w, r, func(began time.Time, body []byte) *refusal {
			read, refused := readMedia(imagesWire, 400, body)
			if refused != nil {
				return refused
			}
			return s.image(w, r, began, &imageCall{mediaReader: read, edit: edit}, nil)
		})
	}
}

func (s *mediaWires) image(w http.ResponseWriter, r *http.Request, began time.Time, c *imageCall, files []part) *refusal {
	name := c.root.given("model").str()
	switch {
	case name == "" && c.edit:
		name = "gpt-image-1.5"
	case name == "":
		name = "dall-e-2"
	}
	known := map[string]bool{}
	for m := range imageModel {
		known[m] = true
	}
	c.model(name, known, unknownModel)
	if c.fault != nil {
		return c.fault
	}
	c.rules = imageModel[c.made.base]
	if c.edit && !c.rules.edits {
		return &refusal{status: 400, kind: "invalid_request_error", code: "invalid_value", param: "model", message: "Value must be 'dall-e-2' or a GPT image model."}
	}
	c.made.sized(c.rules.first)
	c.files(files)
	fields := c.fields()
	if _, refused := c.finish(fields, func(*mediaReader) { c.together(files != nil) }, "prompt"); refused != nil {
		return refused
	}
	if c.made.knobs.job.end == "refuse" || c.made.knobs.job.end == "policy" {
		barred := imageBarred
		return &barred
	}
	k := c.made.knobs.at(stepSubmit)
	s.playStep(s.imageReply(r, c, k), w, r, began, c.made.name, k)
	return nil
}

// fields are those of the model's kind; others are unknown to it.
func (c *imageCall) fields() map[string]mediaField {
	fields := map[string]mediaField{
		"model": mediaText, "user": mediaText,
		"prompt": mediaPrompt(c.rules.prompt),
		"n":      mediaCount(c.rules.count),
		"size":   c.size(),
	}
	if c.rules.gpt {
		maps.Copy(fields, map[string]mediaField{
			"quality":            func(r *mediaReader, v *node, p string) { c.quality = r.words(v, p, "auto", "low", "medium", "high") },
			"background":         func(r *mediaReader, v *node, p string) { c.background = r.words(v, p, "auto", "transparent", "opaque") },
			"output_format":      mediaFormat("png", "jpeg", "webp"),
			"output_compression": mediaWhole(0, 100),
			"moderation":         mediaWords("auto", "low"),
			"stream":             func(r *mediaReader, v *node, p string) { c.stream = r.typed(v, boolean, p) && v.yes() },
			"partial_images":     func(r *mediaReader, v *node, p string) { c.partial = int(r.integer(v, p, 0, 3)) },
		})
	} else {
		fields["response_format"] = func(r *mediaReader, v *node, p string) { c.links = r.words(v, p, "url", "b64_json") != "b64_json" }
		fields["quality"] = mediaWords("standard")
		c.links = !c.root.has("response_format")
	}
	if c.made.base == "dall-e-3" {
		fields["quality"], fields["style"] = mediaWords("standard", "hd"), mediaWords("vivid", "natural")
	}
	if c.edit && c.rules.gpt {
		fields["input_fidelity"] = mediaWords("high", "low")
		fields["images"] = func(r *mediaReader, v *node, p string) {
			r.each(v, p, c.reference)
			if len(v.items) == 0 || len(v.items) > 16 {
				r.refuse(p, "invalid_value", "Invalid '"+p+"': expected 1 to 16 images.")
			}
		}
		fields["mask"] = func(_ *mediaReader, v *node, p string) { c.reference(v, p) }
	}
	return fields
}

func (c *imageCall) size() mediaField {
	if !c.rules.free {
		return mediaSize(c.rules.sizes...)
	}
	return func(r *mediaReader, v *node, p string) {
		a := &r.made
		if !r.typed(v, text, p) || v.text == "auto" {
			return
		}
		if !a.sized(v.text) || a.width%16 != 0 || a.height%16 != 0 || max(a.width, a.height) > 3840 || a.width*a.height > 3840*2160 || a.width > 3*a.height || a.height > 3*a.width {
			r.refuse(p, "invalid_value", "Invalid size '"+v.text+"'. Width and height must be divisible by 16, at most 3840x2160, and between 1:3 and 3:1.")
		}
	}
}

// reference is a picture of an edit in JSON.
func (c *imageCall) reference(v *node, param string) {
	members(&c.checker, c.mediaReader, v, param, map[string]mediaField{
		"image_url": mediaLink(false, "https", "http"),
		"file_id": func(r *mediaReader, v *node, p string) {
			r.refuse(p, "invalid_value", "No such File object: "+v.str())
		},
	})
	if v.has("image_url") == v.has("file_id") {
		c.refuse(param, "invalid_value", "Provide exactly one of 'image_url' or 'file_id'.")
	}
}

// files takes the pictures of a form.
func (c *imageCall) files(files []part) {
	for _, f := range files {
		switch f.field {
		case "image", "image[]", "mask":
		default:
			c.unknown(f.field)
			return
		}
		m := picturePart(f.data)
		switch {
		case f.kind != "image/png" && f.kind != "image/jpeg" && f.kind != "image/webp":
			c.refuse(f.field, "unsupported_file_mimetype", "Invalid file '"+f.field+"': unsupported mimetype ('"+f.kind+"'). Supported file formats are 'image/jpeg', 'image/png', and 'image/webp'.")
		case m.format == "":
			c.refuse(f.field, "invalid_image_file", "Invalid image file or mode for image 1, please check your image file.")
		case f.field == "mask" && m.format != "png":
			c.refuse("mask", "invalid_image_format", "Invalid mask image format - mask must be in PNG format.")
		case f.field == "mask" && len(c.made.inputs) > 0 && (m.width != c.made.inputs[0].width || m.height != c.made.inputs[0].height):
			c.refuse("mask", "invalid_mask_image_size", "Invalid mask image - the mask must have the same size as the image.")
		case f.field != "mask":
			c.made.inputs = append(c.made.inputs, m)
		}
	}
	if len(c.made.inputs) > 16 || len(c.made.inputs) > 1 && !c.rules.gpt {
		c.refuse("image", "invalid_value", "Too many images.")
	}
}

// picturePart is a picture from bytes; its format is empty when it is none.
func picturePart(data []byte) medium {
	m := medium{kind: "image", bytes: len(data), digest: newDigest}
	m.digest.add(string(data))
	if c, format, err := image.DecodeConfig(bytes.NewReader(data)); err == nil {
		m.width, m.height, m.format = c.Width, c.Height, format
	} else if len(data) > 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP" {
		m.format = "webp"
	}
	return m
}

// together is what depends on more than one field.
func (c *imageCall) together(form bool) {
	a := &c.made
	compression := c.root.given("output_compression")
	switch {
	case c.edit && form && len(a.inputs) == 0:
		c.missing("image")
	case c.edit && !form && c.root.given("images") == nil:
		c.missing("images")
	case c.background == "transparent" && a.format == "jpeg":
		c.refuse("background", "invalid_value", "Transparent background is not supported for JPEG output format.")
	case compression != nil && string(compression.raw) != "100" && a.picture() == "png":
		c.refuse("output_compression", "invalid_png_output_compression", "Compression less than 100 is not supported for PNG output format.")
	}
	a.clear = c.background == "transparent"
	if c.quality == "" || c.quality == "auto" {
		c.quality = "medium"
	}
	if c.background == "" || c.background == "auto" {
		c.background = "opaque"
	}
}

// imageTokens are those that the provider counts for a picture: by quality and size.
func (c *imageCall) tokens() (output int) {
	per := map[string]int{"low": 272, "medium": 1056, "high": 4160}[c.quality]
	if c.made.width*c.made.height > 1024*1024 {
		per = per * 3 / 2
	}
	return per*c.made.count + 100*c.partial*c.made.count
}

// usage writes the member of that name, or what a provider that counts badly writes.
func (c *imageCall) usage(style string) verbatim {
	if style == "missing" {
		return nil
	}
	words, pictures := countTokens(c.made.prompt), 0
	for i := range c.made.inputs {
		pictures += c.made.inputs[i].tokens()
	}
	output := c.tokens()
	dst := []byte{'{'}
	for _, n := range []counted{{"input_tokens", words + pictures}, {"output_tokens", output}, {"total_tokens", words + pictures + output}} {
		dst = append(appendCount(dst, n.name, n.n, style), ',')
	}
	dst = append(appendCount(append(dst, `"input_tokens_details":{`...), "text_tokens", words, style), ',')
	return append(appendCount(dst, "image_tokens", pictures, style), "}}"...)
}

func (s *mediaWires) imageReply(r *http.Request, c *imageCall, k *knobs) *reply {
	a, created := &c.made, s.config.Now().Unix()
	if k.job.outputs > 0 {
		a.count = k.job.outputs
	}
	settings := []any{"background", c.background, "output_format", a.picture(), "quality", c.quality, "size", a.size()}
	out := &reply{wire: imagesWire, stream: c.stream}
	out.hollow = func() []byte { return jsonOf("created", created, "data", []any{}) }
	out.body = func() []byte {
		if k.job.end == "empty" {
			return out.hollow()
		}
		members := []any{"created", created, "data", s.imageData(r, c)}
		if c.rules.gpt {
			members = append(members, settings...)
			if usage := c.usage(k.usage); usage != nil {
				members = append(members, "usage", usage)
			}
		}
		return jsonOf(members...)
	}
	out.frames = c.events(append([]any{"created_at", created}, settings...), k, func() { s.jobs.submitted(imagesWire, credential(r)) })
	return out
}

// imageData are the results of a whole answer.
func (s *mediaWires) imageData(r *http.Request, c *imageCall) []any {
	a, data := &c.made, []any{}
	var j *mediaJob
	if c.links {
		j = s.madeAtOnce(imagesWire, r, a)
	} else {
		s.jobs.submitted(imagesWire, credential(r))
	}
	for i := range a.count {
		one := []any{"b64_json", ""}
		if c.links {
			one = []any{"url", j.url(i)}
		} else {
			one[1] = a.base64(i)
		}
		if a.base == "dall-e-3" {
			one = append(one, "revised_prompt", a.prompt)
		}
		data = append(data, jsonOf(one...))
	}
	return data
}

// events are those of a stream: previews, each finer than the one before, then the picture.
func (c *imageCall) events(settings []any, k *knobs, begun func()) iter.Seq[frame] {
	word := "image_generation"
	if c.edit {
		word = "image_edit"
	}
	return func(yield func(frame) bool) {
		begun()
		for i := range c.made.count {
			for p := range c.partial {
				preview := base64.StdEncoding.EncodeToString(paint(c.made.picture(), c.made.width, c.made.height, c.made.clear, c.made.digest(i)>>(c.partial-p)))
				data := jsonOf(slices.Concat([]any{"type", word + ".partial_image", "b64_json", preview, "partial_image_index", p}, settings)...)
				if !yield(frame{event: word + ".partial_image", data: data, kind: content}) {
					return
				}
			}
			members := slices.Concat([]any{"type", word + ".completed", "b64_json", c.made.base64(i)}, settings)
			if usage := c.usage(k.usage); usage != nil {
				members = append(members, "usage", usage)
			}
			kind := ending
			if i == c.made.count-1 {
				kind = done
			}
			if !yield(frame{event: word + ".completed", data: jsonOf(members...), kind: kind}) {
				return
			}
		}
	}
}

// routerWire is OpenRouter's for pictures and for videos.
var routerWire = func() *wire {
	on := wholeWire("openrouter", &openAIPhrases, routerError, func(s *Host, r *http.Request) *refusal {
		if s.hasKey(bearer(r)) {
			return nil
		}
		return &refusal{status: 401, message: "Missing Authentication header"}
	}, "Input is too long.", `{"created":1}`)
	return on
}()

func routerError(f *refusal) []byte {
	return jsonOf("error", jsonOf("code", f.status, "message", f.message))
}

// routerImages serves POST /api/v1/images of OpenRouter. Any model that its catalog could have has a name "vendor/model".
func (s *mediaWires) routerImages(w http.ResponseWriter, r *http.Request) {
	s.mediaBody(routerWire, w, r, func(began time.Time, body []byte) *refusal {
		read, refused := readMedia(routerWire, 400, body)
		if refused != nil {
			return refused
		}
		a, refused := read.routerImage()
		if refused != nil {
			return refused
		}
		if a.knobs.job.end == "refuse" || a.knobs.job.end == "policy" {
			return &refusal{status: 403, message: "Your input was flagged by the provider's moderation."}
		}
		k, created := a.knobs.at(stepSubmit), s.config.Now().Unix()
		if k.job.outputs > 0 {
			a.count = k.job.outputs
		}
		out := &reply{wire: routerWire, body: func() []byte {
			s.jobs.submitted(routerWire, credential(r))
			data := []any{}
			for i := range a.count {
				data = append(data, jsonOf("b64_json", a.base64(i), "media_type", mimes[a.picture()]))
			}
			words, pictures := countTokens(a.prompt), 1056*a.count
			usage := verbatim{'{'}
			for _, n := range []counted{{"prompt_tokens", words}, {"completion_tokens", pictures}, {"total_tokens", words + pictures}} {
				usage = append(appendCount(usage, n.name, n.n, k.usage), ',')
			}
			usage = append(strconv.AppendFloat(append(usage, `"cost":`...), 0.04*float64(a.count), 'f', -1, 64), '}')
			if k.usage == "missing" {
				return jsonOf("created", created, "data", data)
			}
			return jsonOf("created", created, "data", data, "usage", usage)
		}}
		out.hollow = func() []byte { return jsonOf("created", created, "data", []any{}) }
		if k.job.end == "empty" {
			out.body = out.hollow
		}
		s.playStep(out, w, r, began, a.name, k)
		return nil
	})
}

// vendorModel takes any model that has a vendor before its name.
func (r *mediaReader) vendorModel() {
	name := r.root.given("model").str()
	if name == "" {
		r.missing("model")
		return
	}
	r.model(name, nil, func(string) *refusal { return nil })
	if !strings.Contains(r.made.base, "/") && r.made.base != "image" && r.made.base != "video" && r.fault == nil {
		r.fault = &refusal{status: 404, message: "Model " + name + " does not exist"}
	}
}

func (r *mediaReader) routerImage() (*mediaAsk, *refusal) {
	r.vendorModel()
	points, ratio := 1024, "1:1"
	fields := map[string]mediaField{
		"model": mediaText, "provider": mediaObject, "stream": mediaFlag,
		"prompt":             mediaPrompt(32000),
		"n":                  mediaCount(10),
		"aspect_ratio":       func(r *mediaReader, v *node, p string) { ratio = r.words(v, p, routerRatios...) },
		"resolution":         func(r *mediaReader, v *node, p string) { points = tierPoints[r.words(v, p, "512", "1K", "2K", "4K")] },
		"background":         mediaWords("auto", "transparent", "opaque"),
		"quality":            mediaWords("auto", "low", "medium", "high"),
		"output_format":      mediaFormat("png", "jpeg", "webp", "svg"),
		"output_compression": mediaWhole(0, 100),
		"seed":               mediaSeed(-anyInt-1, anyInt),
		"size":               mediaText,
		"input_references":   func(r *mediaReader, v *node, p string) { r.each(v, p, r.imagePart) },
	}
	r.lenient(fields)
	return r.finish(fields, func(r *mediaReader) {
		size, a := r.root.given("size").str(), &r.made
		a.clear = r.root.given("background").str() == "transparent"
		if tier := tierPoints[size]; tier != 0 {
			points = tier
		}
		if ratio == "auto" {
			ratio = "1:1"
		}
		a.shape(ratio, points)
		switch {
		case size == "" || tierPoints[size] != 0:
		case !a.sized(size):
			r.wrongValue("size", "a tier or WIDTHxHEIGHT")
		case r.root.given("resolution") != nil || r.root.given("aspect_ratio") != nil:
			r.refuse("size", "", "Explicit pixel size cannot be combined with resolution or aspect_ratio.")
		}
		if len(a.inputs) > 16 {
			r.wrongValue("input_references", "at most 16 images")
		}
		if a.clear && a.format == "jpeg" {
			r.wrongValue("background", "'opaque' or 'auto' for jpeg")
		}
	}, "model", "prompt")
}

// imagePart is a part {"type":"image_url","image_url":{"url":...}}.
func (r *mediaReader) imagePart(v *node, param string) {
	members(&r.checker, r, v, param, map[string]mediaField{
		"type": mediaWords("image_url"),
		"image_url": func(r *mediaReader, v *node, p string) {
			members(&r.checker, r, v, p, map[string]mediaField{"url": mediaLink(false, "https", "http"), "detail": mediaText}, "url")
		},
		"frame_type": mediaWords("first_frame", "last_frame"),
	}, "type", "image_url")
}
