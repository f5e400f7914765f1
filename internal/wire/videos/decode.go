// Package videos is the style of video jobs: it decodes their requests and encodes jobs. It must not know how jobs are stored, or their
// providers.
package videos

import (
	"bytes"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/video"
	"weir/internal/wire"
)

const op = "videos.Decode"

const (
	maxPrompt     = 32_000 // characters
	maxSeconds    = 3600
	maxReferences = 16
	maxParams     = 64
	maxOutputs    = 4
	maxWord       = 64
	maxURL        = 2048 // of a callback, in bytes
	maxFactor     = 100
)

var (
	resolutions  = []string{"480p", "720p", "768p", "1080p", "1K", "2K", "4K"}
	aspectRatios = []string{"16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "21:9", "9:21"}
	frameTypes   = []string{video.FirstFrame, video.LastFrame}
	partKinds    = map[string]catalog.Modality{"image_url": catalog.Image, "audio_url": catalog.Audio, "video_url": catalog.Video}
	partTypes    = []string{"image_url", "audio_url", "video_url"}
)

type decoder struct {
	wire.Reader
	body  []byte
	req   *video.Request
	named int64 // seconds, which OpenAI's clients send for duration
}

// Decode reads the body of a submission. The result has copies only: a job outlives its request. It fails with fault.Invalid and the
// other kinds of a malformed body, whose Param is the path of the field.
func Decode(body []byte) (*video.Request, error) {
	if err := rawjson.Check(body, rawjson.Defaults); err != nil {
		return nil, err
	}
	d := decoder{Reader: wire.NewRequest(body, op, "callback_url"), body: body, req: new(video.Request)}
	if d.Kind() != rawjson.Object {
		return nil, fault.New(fault.Invalid, op, "The body must be a JSON object.")
	}
	return d.decode()
}

func (d *decoder) decode() (*video.Request, error) {
	d.Object()
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		d.member(string(name))
	}
	if d.named > 0 {
		if d.req.Seconds > 0 && d.req.Seconds != d.named {
			d.FailAt(fault.Invalid, "seconds", "seconds and duration are two names of one field: send one of them.")
		}
		d.req.Seconds = d.named
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	for _, x := range [...]struct{ name, value string }{{"model", d.req.Model}, {"prompt", d.req.Prompt}} {
		if x.value == "" {
			return nil, fault.Field(op, x.name, "%s is required.", x.name)
		}
	}
	return d.req, nil
}

func (d *decoder) member(name string) {
	r := d.req
	switch name {
	case "model":
		r.Model, _ = d.Slug()
	case "prompt":
		r.Prompt, _ = d.Stored(maxPrompt)
	case "duration":
		r.Seconds, _ = d.Int(1, maxSeconds)
	case "seconds":
		d.seconds()
	case "input_reference":
		d.guide()
	case "resolution":
		r.Resolution, _ = d.Enum(resolutions)
	case "aspect_ratio":
		r.AspectRatio, _ = d.Enum(aspectRatios)
	case "size":
		r.Size, _ = d.Stored(maxWord)
	case "n":
		r.Outputs, _ = d.Int(1, maxOutputs)
	case "frame_images":
		r.Frames = d.media(true)
	case "input_references":
		r.References = d.media(false)
	case "generate_audio":
		if on, ok := d.Bool(); ok {
			r.Audio = &on
		}
	case "seed":
		if n, ok := d.Int(-1<<31, 1<<32-1); ok {
			r.Seed = &n
		}
	case "upscale_factor":
		at := d.Pos()
		if n, ok := d.Number(0, maxFactor); ok && n > 0 {
			r.Upscale = strings.TrimSpace(string(d.body[at:d.Pos()]))
		} else if ok {
			d.FailAt(fault.Invalid, name, "upscale_factor must be above 0.")
		}
	case "creativity":
		if n, ok := d.Int(-1<<31, 1<<31-1); ok {
			r.Creativity = &n
		}
	case "callback_url":
		d.callback()
	case "provider":
		d.provider()
	default:
		d.param(name)
	}
}

// seconds reads OpenAI's name of the duration, whose values are strings there.
func (d *decoder) seconds() {
	if d.Kind() != rawjson.String {
		d.named, _ = d.Int(1, maxSeconds)
		return
	}
	text, ok := d.Stored(maxWord)
	n, err := strconv.ParseInt(text, 10, 32)
	if ok && (err != nil || n < 1 || n > maxSeconds) {
		d.FailAt(fault.Invalid, "seconds", "seconds must be a whole number from 1 to %d.", maxSeconds)
		return
	}
	d.named = n
}

// guide reads the image of OpenAI's clients: {"image_url": ...}, or its address.
func (d *decoder) guide() {
	if d.Kind() != rawjson.Object {
		d.req.Guide = d.plainAddress()
		return
	}
	d.Object()
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		switch string(name) {
		case "image_url":
			d.req.Guide = d.address()
		case "file_id":
			if !rawjson.IsNull(d.Skip()) {
				d.FailAt(fault.Invalid, "input_reference.file_id", "Images cannot be sent by the id of a file. Send image_url, which may be a data: URL, or the file itself in a form.")
			}
		default:
			d.Skip()
		}
	}
	if d.req.Guide == "" {
		d.FailAt(fault.Invalid, "input_reference", "input_reference must be a file in a form, or an object with image_url.")
	}
}

// media reads a list of parts: {"type": "image_url", "image_url": {"url": ...}}, and the frame type where they are frames.
func (d *decoder) media(frames bool) (list []video.Media) {
	if !d.Array() {
		return nil
	}
	for d.Element() {
		if len(list) == maxReferences {
			d.TooMany(maxReferences)
			return nil
		}
		list = append(list, d.part(frames))
	}
	return list
}

func (d *decoder) part(frames bool) (m video.Media) {
	if d.Kind() != rawjson.Object {
		d.Fail(fault.Invalid, "%s must be an object.", d.Path())
		return m
	}
	path := d.Path()
	kind, inside := "", ""
	d.Object()
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		switch word := string(name); word {
		case "type":
			kind, _ = d.Enum(partTypes)
		case "image_url", "audio_url", "video_url":
			inside = word
			m.URL = d.address()
		case "frame_type":
			m.Frame, _ = d.Enum(frameTypes)
		default:
			d.Skip()
		}
	}
	if kind == "" {
		kind = inside
	}
	m.Kind = partKinds[kind]
	switch {
	case kind == "" || kind != inside || m.URL == "":
		d.FailAt(fault.Invalid, path, "%s must have a type and a URL in the member of that name, such as image_url.", path)
	case frames && m.Kind != catalog.Image:
		d.FailAt(fault.Invalid, path+".type", "A frame must be an image_url.")
	case frames && m.Frame == "":
		d.FailAt(fault.Invalid, path+".frame_type", "frame_type must be first_frame or last_frame.")
	case !frames:
		m.Frame = ""
	}
	return m
}

// address reads an address: a string, or an object with a url.
func (d *decoder) address() (text string) {
	if d.Kind() == rawjson.Object {
		d.Object()
		for name, ok := d.Member(); ok; name, ok = d.Member() {
			if string(name) == "url" {
				text = d.plainAddress()
			} else {
				d.Skip()
			}
		}
		return text
	}
	return d.plainAddress()
}

func (d *decoder) plainAddress() string {
	text, ok := d.Text(1 << 26)
	switch {
	case !ok:
		return ""
	case bytes.IndexByte(text, 0) >= 0:
		d.Fail(fault.Invalid, "%s contains a NUL character.", d.Path())
	case !bytes.HasPrefix(text, []byte("https://")) && !bytes.HasPrefix(text, []byte("http://")) && !bytes.HasPrefix(text, []byte("data:")):
		d.Fail(fault.Invalid, "%s must be an https:// or data: URL.", d.Path())
	}
	return d.Address(text)
}

func (d *decoder) callback() {
	text, ok := d.Stored(maxURL)
	if !ok {
		return
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || !utf8.ValidString(text) {
		d.FailAt(fault.Invalid, "callback_url", "callback_url must be an https:// URL without credentials.")
		return
	}
	d.req.CallbackURL = text
}

// provider reads the preferences, and in them the fields for one provider.
func (d *decoder) provider() {
	at := d.Pos()
	d.req.Preferences = d.Preferences()
	if d.Err() != nil {
		return
	}
	for m := rawjson.MembersOf(rawjson.Find(d.body[at:d.Pos()], "options")); m.Next(); {
		o := video.ProviderOptions{Provider: strings.ToLower(string(m.Name))}
		for f := rawjson.MembersOf(m.Value); f.Next(); {
			o.Fields = append(o.Fields, video.Param{Name: string(f.Name), Value: slices.Clone(f.Value)})
		}
		d.req.Options = append(d.req.Options, o)
	}
}

// param keeps a field of the provider; the catalog decides whether the model accepts it.
func (d *decoder) param(name string) {
	if len(d.req.Params) == maxParams {
		d.Fail(fault.Invalid, "At most %d further fields are allowed.", maxParams)
		return
	}
	d.req.Params = append(d.req.Params, video.Param{Name: strings.Clone(name), Value: slices.Clone(d.Skip())})
}
