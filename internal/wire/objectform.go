package wire

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"strconv"
	"strings"

	"weir/internal/fault"
	"weir/internal/rawjson"
)

const (
	maxObjectFields = 100
	maxObjectField  = 256 << 10 // bytes
)

// ObjectForm says how the fields of a form become the members of the equivalent JSON object. In the maps are the fields that are not strings
// there: numbers, flags, and objects or lists, which a form has as JSON texts.
type ObjectForm struct {
	Op                      string
	Numbers, Flags, Objects map[string]bool
	// Media takes a part that is a file, or the address of one, and reports whether the part is one. Others become members.
	Media func(p *ObjectPart) (taken bool, err error)
}

// ObjectPart is one part of a form.
type ObjectPart struct {
	Name string
	Data []byte
	File bool   // it has a file name, or the content type of one
	Type string // its content type, "" none
}

// Read returns the JSON object of a form. It fails with fault.Invalid and fault.DuplicateKey; the error's Param is the name of the field.
func (f *ObjectForm) Read(body []byte, boundary string) ([]byte, error) {
	seen, out := map[string]bool{}, []byte{'{'}
	parts := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		p, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fault.New(fault.Invalid, f.Op, "The body is not a valid multipart form.").Because(err)
		}
		part, err := f.part(p)
		if err != nil {
			return nil, err
		}
		taken, err := f.Media(part)
		if err == nil && !taken {
			out, err = f.field(out, seen, part)
		}
		if err != nil {
			return nil, err
		}
	}
	out = append(out, '}')
	if err := rawjson.Check(out, rawjson.Defaults); err != nil {
		return nil, err
	}
	return out, nil
}

func (f *ObjectForm) part(p *multipart.Part) (*ObjectPart, error) {
	name := p.FormName()
	if encoding := p.Header.Get("Content-Transfer-Encoding"); encoding != "" && encoding != "binary" && encoding != "8bit" && encoding != "7bit" {
		return nil, fault.Field(f.Op, name, "The parts of the form must have no Content-Transfer-Encoding.")
	}
	data, err := io.ReadAll(p)
	switch {
	case err != nil:
		return nil, fault.New(fault.Invalid, f.Op, "The body is not a valid multipart form.").Because(err)
	case name == "":
		return nil, fault.New(fault.Invalid, f.Op, "A part of the form has no name.")
	}
	kind := p.Header.Get("Content-Type")
	return &ObjectPart{Name: name, Data: data, Type: kind, File: p.FileName() != "" || isFileType(kind)}, nil
}

func isFileType(kind string) bool {
	return strings.HasPrefix(kind, "image/") && len(kind) > len("image/") || kind == "application/octet-stream"
}

func (f *ObjectForm) field(out []byte, seen map[string]bool, p *ObjectPart) ([]byte, error) {
	name := p.Name
	switch {
	case seen[name]:
		e := fault.Field(f.Op, name, "%s occurs more than once.", name)
		e.Kind = fault.DuplicateKey
		return nil, e
	case len(seen) == maxObjectFields:
		return nil, fault.Newf(fault.Invalid, f.Op, "The form has more than %d fields.", maxObjectFields)
	case len(p.Data) > maxObjectField:
		return nil, fault.Field(f.Op, name, "%s is longer than %d bytes.", name, maxObjectField)
	}
	seen[name] = true
	if len(out) > 1 {
		out = append(out, ',')
	}
	out = append(rawjson.AppendText(out, name), ':')
	text := bytes.TrimSpace(p.Data)
	switch {
	case f.Numbers[name] && rawjson.IsNumber(text), f.Objects[name] && rawjson.Valid(text):
		return append(out, text...), nil
	case f.Flags[name] && isFlag(text):
		return strconv.AppendBool(out, text[0] == 't' || text[0] == 'T' || text[0] == '1'), nil
	}
	return rawjson.AppendString(out, p.Data), nil
}

func isFlag(text []byte) bool {
	switch string(text) {
	case "true", "True", "1", "false", "False", "0":
		return true
	}
	return false
}
