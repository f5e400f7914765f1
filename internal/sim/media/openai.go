package media

import (
	"bytes"
	"encoding/base64"
	"image"
	"iter"
	"maps"
	"net/http"
	"slices"
	"time"

	"weir/internal/sim/kit"
)

// imagesWire is OpenAI's wire for images.
var imagesWire = func() *kit.Wire {
	on := kit.NewWholeWire("images", &kit.OpenAIPhrases, (*kit.Refusal).JSON, kit.ChatWire.Admit, "Invalid 'prompt': string too long. Expected a string with maximum length 32000, but got a string with length 40000 instead.", `{"created":1}`)
	on.ErrorFrame = func(f *kit.Refusal, _ string, _ int) kit.Frame {
		return kit.Frame{Event: "error", Data: append([]byte(`{"type":"error",`), f.JSON()[1:]...)}
	}
	on.TextFrame = func(s string) kit.Frame {
		return kit.Frame{Event: "image_generation.partial_image", Data: []byte(`{"type":"image_generation.partial_image","b64_json":"` + s + `","partial_image_index":0}`)}
	}
	on.IdleFrame = kit.Frame{Event: "image_generation.idle", Data: []byte(`{"type":"image_generation.idle"}`)}
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

var imageBlocked = kit.Refusal{
	Status: 400, Kind: "image_generation_user_error", Code: "moderation_blocked",
	Message: "Your request was rejected by the safety system. If you believe this is an error, contact us at help.openai.com and include the request ID.",
}

// images serves POST /v1/images/generations and /v1/images/edits.
func (s *Wires) images(edit bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		if edit && isForm(r) {
			read, files, refused := s.form(imagesWire, r)
			if refused == nil {
				refused = s.image(w, r, began, &imageCall{mediaReader: read, edit: true}, files)
			}
			if refused != nil {
				s.Refuse(imagesWire, w, refused)
			}
			return
		}
		s.mediaBody(imagesWire, w, r, func(began time.Time, body []byte) *kit.Refusal {
			read, refused := readMedia(imagesWire, 400, body)
			if refused != nil {
				return refused
			}
			return s.image(w, r, began, &imageCall{mediaReader: read, edit: edit}, nil)
		})
	}
}

func (s *Wires) image(w http.ResponseWriter, r *http.Request, began time.Time, c *imageCall, files []part) *kit.Refusal {
	name := c.Root.Given("model").Str()
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
	c.model(name, known, kit.UnknownModel)
	if c.Fault != nil {
		return c.Fault
	}
	c.rules = imageModel[c.spec.base]
	if c.edit && !c.rules.edits {
		return &kit.Refusal{Status: 400, Kind: "invalid_request_error", Code: "invalid_value", Param: "model", Message: "Value must be 'dall-e-2' or a GPT image model."}
	}
	c.spec.sized(c.rules.first)
	c.files(files)
	fields := c.fields()
	if _, refused := c.finish(fields, func(*mediaReader) { c.together(files != nil) }, "prompt"); refused != nil {
		return refused
	}
	if c.spec.knobs.Job.End == "refuse" || c.spec.knobs.Job.End == "policy" {
		blocked := imageBlocked
		return &blocked
	}
	k := c.spec.knobs.AtStep(kit.StepSubmit)
	s.playStep(s.imageReply(r, c, k), w, r, began, c.spec.name, k)
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
			"quality": func(r *mediaReader, v *kit.Node, p string) {
				c.quality = r.OneOf(v, p, "auto", "low", "medium", "high")
			},
			"background": func(r *mediaReader, v *kit.Node, p string) {
				c.background = r.OneOf(v, p, "auto", "transparent", "opaque")
			},
			"output_format":      mediaFormat("png", "jpeg", "webp"),
			"output_compression": mediaWhole(0, 100),
			"moderation":         mediaWords("auto", "low"),
			"stream":             func(r *mediaReader, v *kit.Node, p string) { c.stream = r.ExpectKind(v, kit.Boolean, p) && v.IsTrue() },
			"partial_images":     func(r *mediaReader, v *kit.Node, p string) { c.partial = int(r.Integer(v, p, 0, 3)) },
		})
	} else {
		fields["response_format"] = func(r *mediaReader, v *kit.Node, p string) { c.links = r.OneOf(v, p, "url", "b64_json") != "b64_json" }
		fields["quality"] = mediaWords("standard")
		c.links = !c.Root.Has("response_format")
	}
	if c.spec.base == "dall-e-3" {
		fields["quality"], fields["style"] = mediaWords("standard", "hd"), mediaWords("vivid", "natural")
	}
	if c.edit && c.rules.gpt {
		fields["input_fidelity"] = mediaWords("high", "low")
		fields["images"] = func(r *mediaReader, v *kit.Node, p string) {
			r.Each(v, p, c.reference)
			if len(v.Items) == 0 || len(v.Items) > 16 {
				r.Refuse(p, "invalid_value", "Invalid '"+p+"': expected 1 to 16 images.")
			}
		}
		fields["mask"] = func(_ *mediaReader, v *kit.Node, p string) { c.reference(v, p) }
	}
	return fields
}

func (c *imageCall) size() mediaField {
	if !c.rules.free {
		return mediaSize(c.rules.sizes...)
	}
	return func(r *mediaReader, v *kit.Node, p string) {
		a := &r.spec
		if !r.ExpectKind(v, kit.Text, p) || v.Text == "auto" {
			return
		}
		if !a.sized(v.Text) || a.width%16 != 0 || a.height%16 != 0 || max(a.width, a.height) > 3840 || a.width*a.height > 3840*2160 || a.width > 3*a.height || a.height > 3*a.width {
			r.Refuse(p, "invalid_value", "Invalid size '"+v.Text+"'. Width and height must be divisible by 16, at most 3840x2160, and between 1:3 and 3:1.")
		}
	}
}

// reference reads an image of an edit in JSON.
func (c *imageCall) reference(v *kit.Node, param string) {
	kit.Members(&c.Checker, c.mediaReader, v, param, map[string]mediaField{
		"image_url": mediaLink(false, "https", "http"),
		"file_id": func(r *mediaReader, v *kit.Node, p string) {
			r.Refuse(p, "invalid_value", "No such File object: "+v.Str())
		},
	})
	if v.Has("image_url") == v.Has("file_id") {
		c.Refuse(param, "invalid_value", "Provide exactly one of 'image_url' or 'file_id'.")
	}
}

// files reads the images of a form.
func (c *imageCall) files(files []part) {
	for _, f := range files {
		switch f.field {
		case "image", "image[]", "mask":
		default:
			c.Unknown(f.field)
			return
		}
		m := imagePart(f.data)
		switch {
		case f.kind != "image/png" && f.kind != "image/jpeg" && f.kind != "image/webp":
			c.Refuse(f.field, "unsupported_file_mimetype", "Invalid file '"+f.field+"': unsupported mimetype ('"+f.kind+"'). Supported file formats are 'image/jpeg', 'image/png', and 'image/webp'.")
		case m.Format == "":
			c.Refuse(f.field, "invalid_image_file", "Invalid image file or mode for image 1, please check your image file.")
		case f.field == "mask" && m.Format != "png":
			c.Refuse("mask", "invalid_image_format", "Invalid mask image format - mask must be in PNG format.")
		case f.field == "mask" && len(c.spec.inputs) > 0 && (m.Width != c.spec.inputs[0].Width || m.Height != c.spec.inputs[0].Height):
			c.Refuse("mask", "invalid_mask_image_size", "Invalid mask image - the mask must have the same size as the image.")
		case f.field != "mask":
			c.spec.inputs = append(c.spec.inputs, m)
		}
	}
	if len(c.spec.inputs) > 16 || len(c.spec.inputs) > 1 && !c.rules.gpt {
		c.Refuse("image", "invalid_value", "Too many images.")
	}
}

// imagePart returns a Medium for an image file; its format is empty when the data is not an image.
func imagePart(data []byte) kit.Medium {
	m := kit.Medium{Kind: "image", Bytes: len(data), Digest: kit.NewDigest}
	m.Digest.Add(string(data))
	if c, format, err := image.DecodeConfig(bytes.NewReader(data)); err == nil {
		m.Width, m.Height, m.Format = c.Width, c.Height, format
	} else if len(data) > 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP" {
		m.Format = "webp"
	}
	return m
}

// together checks what depends on more than one field.
func (c *imageCall) together(form bool) {
	a := &c.spec
	compression := c.Root.Given("output_compression")
	switch {
	case c.edit && form && len(a.inputs) == 0:
		c.Missing("image")
	case c.edit && !form && c.Root.Given("images") == nil:
		c.Missing("images")
	case c.background == "transparent" && a.format == "jpeg":
		c.Refuse("background", "invalid_value", "Transparent background is not supported for JPEG output format.")
	case compression != nil && string(compression.Raw) != "100" && a.imageFormat() == "png":
		c.Refuse("output_compression", "invalid_png_output_compression", "Compression less than 100 is not supported for PNG output format.")
	}
	a.clear = c.background == "transparent"
	if c.quality == "" || c.quality == "auto" {
		c.quality = "medium"
	}
	if c.background == "" || c.background == "auto" {
		c.background = "opaque"
	}
}

// tokens returns the tokens that the provider counts for an image, by quality and size.
func (c *imageCall) tokens() (output int) {
	per := map[string]int{"low": 272, "medium": 1056, "high": 4160}[c.quality]
	if c.spec.width*c.spec.height > 1024*1024 {
		per = per * 3 / 2
	}
	return per*c.spec.count + 100*c.partial*c.spec.count
}

// usage writes the member of that name, or what a provider that counts badly writes.
func (c *imageCall) usage(style string) Verbatim {
	if style == "missing" {
		return nil
	}
	words, images := kit.CountTokens(c.spec.prompt), 0
	for i := range c.spec.inputs {
		images += c.spec.inputs[i].Tokens()
	}
	output := c.tokens()
	dst := []byte{'{'}
	for _, n := range []kit.UsageCount{{Name: "input_tokens", N: words + images}, {Name: "output_tokens", N: output}, {Name: "total_tokens", N: words + images + output}} {
		dst = append(kit.AppendCount(dst, n.Name, n.N, style), ',')
	}
	dst = append(kit.AppendCount(append(dst, `"input_tokens_details":{`...), "text_tokens", words, style), ',')
	return append(kit.AppendCount(dst, "image_tokens", images, style), "}}"...)
}

func (s *Wires) imageReply(r *http.Request, c *imageCall, k *kit.Knobs) *kit.Reply {
	a, created := &c.spec, s.Config.Now().Unix()
	if k.Job.Outputs > 0 {
		a.count = k.Job.Outputs
	}
	settings := []any{"background", c.background, "output_format", a.imageFormat(), "quality", c.quality, "size", a.size()}
	out := &kit.Reply{Wire: imagesWire, Stream: c.stream}
	out.EmptyBody = func() []byte { return JSONOf("created", created, "data", []any{}) }
	out.Body = func() []byte {
		if k.Job.End == "empty" {
			return out.EmptyBody()
		}
		members := []any{"created", created, "data", s.imageData(r, c)}
		if c.rules.gpt {
			members = append(members, settings...)
			if usage := c.usage(k.Usage); usage != nil {
				members = append(members, "usage", usage)
			}
		}
		return JSONOf(members...)
	}
	out.Frames = c.events(append([]any{"created_at", created}, settings...), k, func() { s.jobs.submitted(imagesWire, credential(r)) })
	return out
}

// imageData are the results of a whole answer.
func (s *Wires) imageData(r *http.Request, c *imageCall) []any {
	a, data := &c.spec, []any{}
	var j *mediaJob
	if c.links {
		j = s.finishedJob(imagesWire, r, a)
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
		data = append(data, JSONOf(one...))
	}
	return data
}

// events sends the events of a stream: previews, each finer than the one before, then the image.
func (c *imageCall) events(settings []any, k *kit.Knobs, begun func()) iter.Seq[kit.Frame] {
	word := "image_generation"
	if c.edit {
		word = "image_edit"
	}
	return func(yield func(kit.Frame) bool) {
		begun()
		for i := range c.spec.count {
			for p := range c.partial {
				preview := base64.StdEncoding.EncodeToString(kit.EncodeImage(c.spec.imageFormat(), c.spec.width, c.spec.height, c.spec.clear, c.spec.digest(i)>>(c.partial-p)))
				data := JSONOf(slices.Concat([]any{"type", word + ".partial_image", "b64_json", preview, "partial_image_index", p}, settings)...)
				if !yield(kit.Frame{Event: word + ".partial_image", Data: data, Kind: kit.Content}) {
					return
				}
			}
			members := slices.Concat([]any{"type", word + ".completed", "b64_json", c.spec.base64(i)}, settings)
			if usage := c.usage(k.Usage); usage != nil {
				members = append(members, "usage", usage)
			}
			kind := kit.Ending
			if i == c.spec.count-1 {
				kind = kit.Done
			}
			if !yield(kit.Frame{Event: word + ".completed", Data: JSONOf(members...), Kind: kind}) {
				return
			}
		}
	}
}
