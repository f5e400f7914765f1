package dialect

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"unicode"

	"weir/internal/task"
)

// Form is the body of a call that includes files. They are read while they are sent, from the start for each try.
type Form struct {
	w     *multipart.Writer
	head  bytes.Buffer // bytes written since the last file
	parts []part
	size  int64
}

// part is the header before a file, and the file.
type part struct {
	before []byte
	file   task.File
}

// NewForm makes an empty form.
func NewForm() *Form {
	f := new(Form)
	f.w = multipart.NewWriter(&f.head)
	var b [15]byte
	_, _ = rand.Read(b[:]) // it never fails
	_ = f.w.SetBoundary("weir" + hex.EncodeToString(b[:]))
	return f
}

// Field adds a field.
func (f *Form) Field(name, value string) { _ = f.w.WriteField(FormName(name), value) } // a buffer never fails

// FormName is the name of a field as a part's header can have it: package multipart writes control characters as they are.
func FormName(name string) string {
	if !strings.ContainsFunc(name, unicode.IsControl) {
		return name
	}
	var b strings.Builder
	for _, r := range name {
		if unicode.IsControl(r) {
			b.WriteString(url.PathEscape(string(r)))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

var quotes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\r", "%0D", "\n", "%0A")

// File adds a file.
func (f *Form) File(name, fileName, mediaType string, file task.File) {
	_, _ = f.w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="` + quotes.Replace(name) + `"; filename="` + quotes.Replace(fileName) + `"`},
		"Content-Type":        {mediaType},
	})
	f.parts = append(f.parts, part{bytes.Clone(f.head.Bytes()), file})
	f.size += int64(f.head.Len()) + file.Size()
	f.head.Reset()
}

// Call closes the form and makes the call that sends it to path.
func (f *Form) Call(path string) Call {
	_ = f.w.Close()
	end := bytes.Clone(f.head.Bytes())
	size := f.size + int64(len(end))
	content := func() (io.Reader, int64) {
		readers := make([]io.Reader, 0, 2*len(f.parts)+1)
		for _, p := range f.parts {
			readers = append(readers, bytes.NewReader(p.before), io.NewSectionReader(p.file, 0, p.file.Size()))
		}
		return io.MultiReader(append(readers, bytes.NewReader(end))...), size
	}
	return Call{Path: path, Header: http.Header{"Content-Type": {f.w.FormDataContentType()}}, Content: content}
}
