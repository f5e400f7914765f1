// Package images is the style of POST /v1/images and of OpenAI's names for it: it decodes requests for images, as JSON and as forms, and
// encodes the answers, whole and streamed. It must not know the endpoint of a request, or its cost except to print it.
package images

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/imagefile"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/wire"
)

const op = "images.Decode"

// Limits of a request (completions of the specification, section 9.1).
const (
	maxModels     = 10
	maxPrompt     = 32_000 // characters
	maxImages     = 10
	maxReferences = 16
	maxPreviews   = 3
	maxUser       = 256  // characters
	maxStyle      = 256  // characters
	maxAddress    = 8192 // bytes, unless it is a data URL
	maxSide       = 8192 // pixels
	promptRoom    = 16   // tokens in addition to the prompt's
)

var (
	resolutions = []string{"512", "1K", "2K", "4K"}
	ratios      = []string{"auto", "1:1", "1:2", "1:4", "1:8", "2:1", "2:3", "3:2", "3:4", "4:1", "4:3", "4:5", "5:4", "8:1", "9:16", "16:9", "9:19.5", "19.5:9", "9:20",
		"20:9", "9:21", "21:9"}
	qualities   = []string{"auto", "low", "medium", "high", "standard", "hd"}
	backgrounds = []string{"auto", "transparent", "opaque"}
	outputs     = []string{"png", "jpeg", "webp", "svg"}
	moderations = []string{"auto", "low"}
	formats     = []string{"b64_json", "url"}
	onlyImages  = []string{"image_url"}
)

// Decode reads the body of a request for images; edit reports that it requests an edit, which needs input images. The result keeps views
// into body, which must not change afterwards. It fails with fault.Invalid, StringTooLong, DuplicateKey or TooDeep; the error's Param is
// the path of the offending field. Unknown fields are sent to the provider.
func Decode(body []byte, edit bool) (*completion.Request, error) {
	if err := rawjson.Check(body, rawjson.Defaults); err != nil {
		return nil, err
	}
	d := newDecoder(wire.NewRequest(body, op, ""), edit)
	if d.Kind() != rawjson.Object {
		return nil, fault.New(fault.Invalid, op, "The body must be a JSON object.")
	}
	d.Object()
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		d.field(string(name))
	}
	return d.finish()
}

// decoder is the state of one Decode.
type decoder struct {
	wire.Reader
	req    *completion.Request
	task   *task.Image
	model  string
	models []string
	prompt bool

	counted       string // name of the field that had the number of images, "" none
	width, height int    // 0: missing
}

func newDecoder(r wire.Reader, edit bool) *decoder {
	t := &task.Image{N: 1, Compression: -1, Edit: edit}
	return &decoder{Reader: r, task: t, req: &completion.Request{Task: t, N: 1}}
}

func (d *decoder) field(name string) {
	t := d.task
	switch name {
	case "model":
		d.model, _ = d.Slug()
	case "models":
		d.models = d.Slugs(maxModels)
	case "provider":
		d.provider()
	case "prompt":
		d.text()
	case "n", "num_images", "num_outputs", "num_images_per_prompt", "batch_size", "number_of_images", "numberOfImages", "sampleCount", "samples", "n_images", "max_images":
		d.count(name)
	case "width", "height":
		d.side(name)
	case "stream":
		d.req.Stream, _ = d.Bool()
	case "user":
		d.req.User, _ = d.Stored(maxUser)
	case "response_format":
		format, _ := d.Enum(formats)
		t.URL = format == "url"
	case "input_references":
		d.references()
	case "images":
		if !t.Edit {
			d.extra(name)
			return
		}
		d.images()
	case "mask":
		if !t.Edit {
			d.extra(name)
			return
		}
		t.Mask = d.image()
	default:
		d.setting(name)
	}
}

// count reads the number of images, under the name of any wire: each of them multiplies the bill, so that it must be held for and charged.
func (d *decoder) count(name string) {
	n, ok := d.Int(1, maxImages)
	switch {
	case !ok:
	case d.counted != "" && int(n) != d.task.N:
		d.FailAt(fault.Invalid, name, "%s contradicts %s: send one of them.", name, d.counted)
	default:
		d.counted, d.task.N, d.req.N = name, int(n), int(n)
	}
}

// side reads a side of the image in pixels.
func (d *decoder) side(name string) {
	n, ok := d.Int(1, maxSide)
	if ok && name == "width" {
		d.width = int(n)
	} else if ok {
		d.height = int(n)
	}
}

// sides makes width and height the size.
func (d *decoder) sides() {
	switch size := strconv.Itoa(d.width) + "x" + strconv.Itoa(d.height); {
	case d.width == 0 && d.height == 0:
	case d.width == 0:
		d.FailAt(fault.Invalid, "height", "height needs a width. Or send size, such as 1024x1024.")
	case d.height == 0:
		d.FailAt(fault.Invalid, "width", "width needs a height. Or send size, such as 1024x1024.")
	case d.task.Size != "" && d.task.Size != "auto" && d.task.Size != size:
		d.FailAt(fault.Invalid, "width", "width and height contradict size %s: send one of them.", d.task.Size)
	default:
		d.task.Size = size
	}
}

// setting reads a property of the requested image.
func (d *decoder) setting(name string) {
	t := d.task
	switch name {
	case "size":
		d.size()
	case "resolution":
		t.Resolution, _ = d.Enum(resolutions)
	case "aspect_ratio":
		if t.AspectRatio, _ = d.Enum(ratios); t.AspectRatio == "auto" {
			t.AspectRatio = ""
		}
	case "quality":
		t.Quality, _ = d.Enum(qualities)
	case "background":
		t.Background, _ = d.Enum(backgrounds)
	case "output_format":
		t.Output, _ = d.Enum(outputs)
	case "output_compression":
		if n, ok := d.Int(0, 100); ok {
			t.Compression = int(n)
		}
	case "seed":
		if n, ok := d.Int(math.MinInt64, math.MaxInt64); ok {
			t.Seed = &n
		}
	case "moderation":
		t.Moderation, _ = d.Enum(moderations)
	case "style":
		text, _ := d.Text(maxStyle)
		t.Style = string(text)
	case "partial_images":
		n, _ := d.Int(0, maxPreviews)
		t.Partial = int(n)
	default:
		d.extra(name)
	}
}

// extra keeps an unknown field.
func (d *decoder) extra(name string) {
	if v := d.Skip(); !rawjson.IsNull(v) && !completion.GatewayOnly(name) {
		d.task.Extra = append(d.task.Extra, task.Extra{Name: name, Value: v})
	}
}

// provider reads the preferences, and in them the fields for single providers.
func (d *decoder) provider() {
	at := d.Mark()
	d.req.Preferences = d.Preferences()
	behind := d.Mark()
	back := d.At(at, []byte("provider"))
	for m := rawjson.MembersOf(rawjson.Find(d.Skip(), "options")); m.Next(); {
		if rawjson.KindOf(m.Value) == rawjson.Object {
			d.task.Options = append(d.task.Options, task.Extra{Name: string(m.Name), Value: m.Value})
		}
	}
	d.Back(back)
	d.Back(behind)
}

func (d *decoder) text() {
	text, ok := d.Text(maxPrompt)
	if !ok {
		return
	}
	if len(bytes.TrimSpace(text)) == 0 {
		d.Fail(fault.Invalid, "%s must not be empty.", d.Path())
		return
	}
	d.prompt, d.task.Prompt = true, string(text)
}

func (d *decoder) size() {
	text, ok := d.Text(maxUser)
	if !ok {
		return
	}
	size := string(text)
	w, h, pixels := task.Dimensions(size)
	tier := strings.ToUpper(size)
	switch {
	case pixels && max(w, h) <= maxSide, size == "auto":
		d.task.Size = size
	case slices.Contains(resolutions, tier):
		d.task.Size = tier
	default:
		d.Fail(fault.Invalid, "%s must be auto, a size such as 1024x1024 of at most %d pixels a side, or one of %s.", d.Path(), maxSide, strings.Join(resolutions, ", "))
	}
}

// references reads [{"type":"image_url","image_url":{"url":...}}].
func (d *decoder) references() {
	if !d.Array() {
		return
	}
	for d.Element() {
		if !d.Object() {
			d.Required()
			return
		}
		address := ""
		for name, ok := d.Member(); ok; name, ok = d.Member() {
			switch string(name) {
			case "type":
				d.Enum(onlyImages)
			case "image_url":
				address = d.imageURL()
			default:
				d.Skip()
			}
		}
		d.refer(address)
	}
}

// imageURL reads an address, or an object with one.
func (d *decoder) imageURL() (address string) {
	if d.Kind() != rawjson.Object {
		return d.address()
	}
	d.Object()
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		if string(name) == "url" {
			address = d.address()
		} else {
			d.Skip()
		}
	}
	return address
}

// refer adds an input image.
func (d *decoder) refer(address string) {
	switch {
	case d.Err() != nil:
	case address == "":
		d.FailIn(fault.Invalid, "image_url", "%s needs an image_url.", d.Path())
	case len(d.task.References) == maxReferences:
		d.TooMany(maxReferences)
	default:
		d.task.References = append(d.task.References, address)
	}
}

// images reads the input images of an edit: [{"image_url":...}], or addresses.
func (d *decoder) images() {
	if !d.Array() {
		return
	}
	for d.Element() {
		d.refer(d.image())
	}
}

func (d *decoder) image() (address string) {
	if d.Kind() == rawjson.String {
		return d.address()
	}
	if !d.Object() {
		return ""
	}
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		switch string(name) {
		case "image_url":
			address = d.imageURL()
		case "file_id":
			if !rawjson.IsNull(d.Skip()) {
				d.Fail(fault.Invalid, "%s cannot be used: this gateway stores no files. Send the image as image_url, which may be a data: URL.", d.Path())
			}
		default:
			d.Skip()
		}
	}
	return address
}

// address reads the address of an image: http(s), or a data URL.
func (d *decoder) address() string {
	raw := d.RawString()
	if raw == nil {
		return ""
	}
	text, ok := rawjson.Unquote(raw)
	if !ok {
		d.Fail(fault.Invalid, "%s is not a valid UTF-8 string.", d.Path())
		return ""
	}
	if err := checkAddress(text); err != "" {
		d.Fail(fault.Invalid, "%s %s", d.Path(), err)
		return ""
	}
	return string(text)
}

// checkAddress describes the error of an image's address, "" for none.
func checkAddress(text []byte) string {
	head := bytes.ToLower(text[:min(len(text), 64)])
	switch {
	case bytes.HasPrefix(head, []byte("https://")), bytes.HasPrefix(head, []byte("http://")):
		if len(text) > maxAddress {
			return "is too long for a URL."
		}
		return ""
	case !bytes.HasPrefix(head, []byte("data:")):
		return "must be an http://, https:// or data: URL."
	}
	mark := bytes.IndexByte(head, ',')
	if mark < 0 || !bytes.HasSuffix(head[:mark], []byte(";base64")) || !isBase64(text[mark+1:]) {
		return "must be a data: URL in base64, such as data:image/png;base64,..."
	}
	return ""
}

// isBase64 reports whether a text is base64, with or without padding.
func isBase64(text []byte) bool {
	text = bytes.TrimRight(text, "=")
	for _, c := range text {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '+' && c != '/' {
			return false
		}
	}
	return len(text) > 1 && len(text)%4 != 1
}

// finish checks what needs the whole request, and sets the derived fields.
func (d *decoder) finish() (*completion.Request, error) {
	req, t := d.req, d.task
	if d.model != "" {
		req.Models = append(req.Models, d.model)
	}
	for _, slug := range d.models {
		if !slices.Contains(req.Models, slug) {
			req.Models = append(req.Models, slug)
		}
	}
	d.sides()
	d.settings()
	switch {
	case len(req.Models) == 0:
		d.FailAt(fault.Invalid, "model", "model is required: a slug such as vendor/model.")
	case !d.prompt:
		d.FailAt(fault.Invalid, "prompt", "prompt is required: a description of the image.")
	case t.Edit && len(t.References) == 0:
		d.FailAt(fault.Invalid, "image", "An image is required: send image in a form, or images in JSON.")
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	if len(t.References) > 0 {
		req.Needs.Input |= catalog.Image
	}
	req.Needs.Input |= catalog.Text
	req.Needs.N = 1 // endpoints that make one image per call get several calls
	req.Needs.PromptTokens, req.Needs.Longest = int64(len(t.Prompt))+promptRoom, int64(len(t.Prompt))/12+1
	return req, nil
}

// settings checks properties that depend on each other.
func (d *decoder) settings() {
	t := d.task
	w, h, pixels := task.Dimensions(t.Size)
	named := imagefile.Side(t.Size) > 0
	switch {
	case pixels && t.Resolution != "" && imagefile.Tier(t) != t.Resolution && imagefile.TierOf(float64(max(w, h))) != t.Resolution,
		named && t.Resolution != "" && t.Resolution != t.Size:
		d.FailAt(fault.Invalid, "resolution", "resolution %s contradicts size %s: send one of them.", t.Resolution, t.Size)
	case pixels && t.AspectRatio != "" && math.Abs(math.Log(float64(w)/float64(h)/imagefile.Ratio(t.AspectRatio))) > 0.05:
		d.FailAt(fault.Invalid, "aspect_ratio", "aspect_ratio %s contradicts size %s: send one of them.", t.AspectRatio, t.Size)
	case t.Background == "transparent" && t.Output != "" && t.Output != "png" && t.Output != "webp":
		d.FailAt(fault.Invalid, "background", "A transparent background needs output_format png or webp.")
	case t.Compression >= 0 && t.Compression < 100 && (t.Output == "png" || t.Output == "svg"):
		d.FailAt(fault.Invalid, "output_compression", "output_compression is for output_format jpeg or webp.")
	}
}

// PromptText yields the prompt of the image.
func PromptText(req *completion.Request) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		if t, ok := req.Task.(*task.Image); ok {
			yield([]byte(t.Prompt))
		}
	}
}
