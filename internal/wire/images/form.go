package images

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net/textproto"
	"strconv"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/imagefile"
	"weir/internal/mediatype"
	"weir/internal/rawjson"
	"weir/internal/wire"
)

const (
	maxFields     = 100
	maxFieldBytes = 256 << 10
)

// DecodeForm reads a request for an edit that is a form: image or image[] up to sixteen times, mask, and the fields of the JSON request,
// in which objects are JSON texts. It fails like Decode.
func DecodeForm(body []byte, boundary string) (*completion.Request, error) {
	f := form{seen: map[string]bool{}, fields: []byte{'{'}}
	parts := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		p, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fault.New(fault.Invalid, op, "The body is not a valid multipart form.").Because(err)
		}
		if err := f.part(p); err != nil {
			return nil, err
		}
	}
	return f.decode()
}

// form turns the fields of a form into the equivalent JSON object, without the images.
type form struct {
	seen   map[string]bool
	fields []byte
	images []string
	mask   string
}

func (f *form) part(p *multipart.Part) error {
	name := p.FormName()
	if encoding := p.Header.Get("Content-Transfer-Encoding"); encoding != "" && encoding != "binary" && encoding != "8bit" && encoding != "7bit" {
		return fault.Field(op, name, "The parts of the form must have no Content-Transfer-Encoding.")
	}
	data, err := io.ReadAll(p)
	if err != nil {
		return fault.New(fault.Invalid, op, "The body is not a valid multipart form.").Because(err)
	}
	isFile := p.FileName() != "" || hasType(p.Header)
	switch {
	case name == "":
		return fault.New(fault.Invalid, op, "A part of the form has no name.")
	case name == "image" || name == "image[]":
		if len(f.images) == maxReferences {
			return fault.Field(op, "image", "image has more than %d entries.", maxReferences)
		}
		address, err := address(name, data, isFile)
		f.images = append(f.images, address)
		return err
	case name == "mask":
		f.mask, err = address(name, data, isFile)
		return err
	}
	return f.field(name, data)
}

func hasType(h textproto.MIMEHeader) bool {
	t := h.Get("Content-Type")
	return len(t) > 6 && t[:6] == "image/" || t == "application/octet-stream"
}

// address returns an image of a form as an address: a data URL of the file, or the address that a field has.
func address(name string, data []byte, isFile bool) (string, error) {
	if !isFile && len(data) > 0 && checkAddress(data) == "" {
		return string(data), nil
	}
	info, ok := imagefile.Of(data)
	if !ok || info.MediaType == mediatype.SVG {
		return "", fault.Field(op, name, "%s must be a complete PNG, JPEG, WebP or GIF file.", name)
	}
	return imagefile.URL(info.MediaType, data), nil
}

// numbers and flags are the fields that are not strings in JSON.
var (
	numbers = map[string]bool{"n": true, "seed": true, "output_compression": true, "partial_images": true}
	flags   = map[string]bool{"stream": true}
	objects = map[string]bool{"provider": true, "models": true, "input_references": true}
)

func (f *form) field(name string, data []byte) error {
	switch {
	case f.seen[name]:
		e := fault.Field(op, name, "%s occurs more than once.", name)
		e.Kind = fault.DuplicateKey
		return e
	case len(f.seen) == maxFields:
		return fault.Newf(fault.Invalid, op, "The form has more than %d fields.", maxFields)
	case len(data) > maxFieldBytes:
		return fault.Field(op, name, "%s is longer than %d bytes.", name, maxFieldBytes)
	}
	f.seen[name] = true
	if len(f.fields) > 1 {
		f.fields = append(f.fields, ',')
	}
	f.fields = append(rawjson.AppendText(f.fields, name), ':')
	text := bytes.TrimSpace(data)
	switch {
	case numbers[name] && rawjson.IsNumber(text), objects[name] && rawjson.Valid(text):
		f.fields = append(f.fields, text...)
	case flags[name] && isFlag(text):
		f.fields = strconv.AppendBool(f.fields, text[0] == 't' || text[0] == 'T' || text[0] == '1')
	default:
		f.fields = rawjson.AppendString(f.fields, data)
	}
	return nil
}

func isFlag(text []byte) bool {
	switch string(text) {
	case "true", "True", "1", "false", "False", "0":
		return true
	}
	return false
}

// decode decodes the object like any other request, with the images of the form.
func (f *form) decode() (*completion.Request, error) {
	body := append(f.fields, '}')
	if err := rawjson.Check(body, rawjson.Defaults); err != nil {
		return nil, err
	}
	d := newDecoder(wire.NewRequest(body, op, ""), true)
	d.task.References, d.task.Mask = f.images, f.mask
	d.Object()
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		d.field(string(name))
	}
	return d.finish()
}
