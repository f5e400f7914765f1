package wire

import (
	"errors"
	"io"
	"math"
	"mime"
	"mime/multipart"
	"strings"

	"weir/internal/fault"
	"weir/internal/task"
)

const opForm = "wire.ReadForm"

// Limits of a form, in bytes and in parts.
const (
	maxParts      = 64
	maxPartHead   = 8 << 10
	maxField      = 1 << 20
	maxFieldBytes = 4 << 20 // of all fields together, apart from the file and the large fields
	maxFieldName  = 128
)

// readAhead is what the parser may have read beyond a part's head: its buffer, and the boundary.
const readAhead = 8 << 10

// Form is what a client sent: the file, wherever it was stored, and the other fields in their order.
type Form struct {
	File     task.File // set by the caller that stored it
	FileName string
	FileType string // content type of the part, "" none
	Fields   []task.Field
}

// Room is the destination of a form that is read piece by piece.
type Room struct {
	File    io.Writer                       // takes the file
	MaxFile int64                           // bytes of the file; one more fails with fault.PayloadTooLarge
	Take    func(bytes int64) error         // reserves memory for the fields before they are kept; nil: no limit
	Begin   func(fields []task.Field) error // asked before the file is read, with the fields that have come; nil: go on
	Large   string                          // name of a field that may be larger than others, "" none; also with [] after it
	MaxAll  int64                           // bytes of all fields of that name together
	fields  int64                           // bytes of fields so far
	large   int64                           // and of large ones
}

// ReadForm reads a form from body; the caller stores its File. It fails with fault.Invalid, fault.PayloadTooLarge and
// fault.UnsupportedMediaType; errors of body are passed on as they are.
func ReadForm(body io.Reader, contentType string, room Room) (*Form, error) {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media != "multipart/form-data" || params["boundary"] == "" {
		return nil, fault.New(fault.UnsupportedMediaType, opForm, "The body must be a form with a file: send Content-Type: multipart/form-data with a boundary.")
	}
	src := &source{r: body}
	parts := multipart.NewReader(src, params["boundary"])
	f := new(Form)
	for n := 0; ; n++ {
		src.left = maxPartHead + readAhead
		part, err := parts.NextRawPart()
		if err == io.EOF {
			return f, f.complete()
		}
		src.left = math.MaxInt64
		switch {
		case err != nil:
		case n == maxParts:
			err = fault.Newf(fault.Invalid, opForm, "A form must have at most %d parts.", maxParts)
		default:
			err = f.part(part, &room)
		}
		if err != nil {
			return nil, src.explain(err)
		}
	}
}

// source stores the error of its reader, which must not count as a malformed form, and bounds the size of a part's head.
type source struct {
	r    io.Reader
	left int64
	err  error
}

func (s *source) Read(p []byte) (int, error) {
	if s.left <= 0 {
		s.err = longHead()
		return 0, s.err
	}
	n, err := s.r.Read(p[:min(int64(len(p)), s.left)])
	s.left -= int64(n)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

func (s *source) explain(err error) error {
	var known *fault.Error
	switch {
	case s.err != nil:
		return s.err
	case errors.As(err, &known):
		return err
	}
	return fault.New(fault.Invalid, opForm, "The body is not a well-formed form.").Because(err)
}

func longHead() error {
	return fault.Newf(fault.Invalid, opForm, "The headers of a part have more than %d bytes.", maxPartHead)
}

func headBytes(part *multipart.Part) (n int) {
	for name, values := range part.Header {
		for _, v := range values {
			n += len(name) + len(v) + len(": \r\n")
		}
	}
	return n
}

func (f *Form) part(part *multipart.Part, room *Room) error {
	name := part.FormName()
	switch encoding := strings.ToLower(part.Header.Get("Content-Transfer-Encoding")); {
	case headBytes(part) > maxPartHead:
		return longHead()
	case name == "" || len(name) > maxFieldName:
		return fault.New(fault.Invalid, opForm, "A part of the form has no name, or its name is too long.")
	case encoding != "" && encoding != "binary" && encoding != "8bit" && encoding != "7bit":
		return fault.Field(opForm, name, "The field has the Content-Transfer-Encoding %q. Send it without.", encoding)
	case name == "file":
		return f.file(part, room)
	}
	value := &field{name: name, room: room}
	if _, err := io.Copy(value, part); err != nil {
		return err
	}
	f.Fields = append(f.Fields, task.Field{Name: name, Value: value.text.String()})
	return nil
}

// field collects the value of a field, as long as there is room for it.
type field struct {
	name string
	room *Room
	text strings.Builder
}

func (f *field) Write(p []byte) (int, error) {
	n, own, all, most := int64(len(p)), int64(f.text.Len()), &f.room.fields, int64(maxFieldBytes)
	mostOwn := int64(maxField)
	if f.room.Large != "" && strings.TrimSuffix(f.name, "[]") == f.room.Large {
		all, most, mostOwn = &f.room.large, f.room.MaxAll, f.room.MaxAll
	}
	if *all += n; own+n > mostOwn || *all > most {
		e := fault.Newf(fault.PayloadTooLarge, opForm, "The field is larger than %d bytes, or all such fields together are larger than %d.", mostOwn, most)
		e.Param = f.name
		return 0, e
	}
	if f.room.Take != nil {
		if err := f.room.Take(n); err != nil {
			return 0, err
		}
	}
	return f.text.Write(p)
}

func (f *Form) file(part *multipart.Part, room *Room) error {
	if f.hasFile() {
		return fault.Field(opForm, "file", "Send one file, not several.")
	}
	f.FileName, f.FileType = part.FileName(), part.Header.Get("Content-Type")
	if !f.hasFile() {
		return fault.Field(opForm, "file", "file must be an upload with a file name or a content type.")
	}
	if room.Begin != nil {
		if err := room.Begin(f.Fields); err != nil {
			return err
		}
	}
	n, err := io.Copy(room.File, io.LimitReader(part, room.MaxFile+1))
	if err != nil {
		return err
	}
	if n > room.MaxFile {
		e := fault.Newf(fault.PayloadTooLarge, opForm, "The file is larger than %d bytes.", room.MaxFile)
		e.Param = "file"
		return e
	}
	return nil
}

func (f *Form) hasFile() bool { return f.FileName != "" || f.FileType != "" }

func (f *Form) complete() error {
	if !f.hasFile() {
		return fault.Field(opForm, "file", "file is missing in the form.")
	}
	return nil
}
