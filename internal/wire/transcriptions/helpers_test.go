package transcriptions_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"weir/internal/completion"
	"weir/internal/wire"
	"weir/internal/wire/transcriptions"
)

const boundary = "--weir-test"

// wave is a WAV file of silence, 8 kHz and 8 bits.
func wave(length time.Duration) string {
	size := uint32(length.Milliseconds() * 8)
	b := append([]byte("RIFF"), binary.LittleEndian.AppendUint32(nil, 36+size)...)
	b = append(append(b, "WAVEfmt \x10\x00\x00\x00"...), 1, 0, 1, 0, 0x40, 0x1f, 0, 0, 0x40, 0x1f, 0, 0, 1, 0, 8, 0)
	b = binary.LittleEndian.AppendUint32(append(b, "data"...), size)
	return string(append(b, bytes.Repeat([]byte{0x80}, int(size))...))
}

func reference(length time.Duration) string {
	return "data:audio/wav;base64," + base64.StdEncoding.EncodeToString([]byte(wave(length)))
}

// field is a part of a form that has a value; file one that is a file.
func field(name, value string) string {
	return "\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n"
}

func file(name, data string) string {
	return "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name + "\"\r\nContent-Type: application/octet-stream\r\n\r\n" + data + "\r\n"
}

func formed(parts ...string) string {
	return "--" + boundary + strings.Join(parts, "--"+boundary) + "--" + boundary + "--\r\n"
}

const contentType = "multipart/form-data; boundary=" + boundary

// kept is a recording in memory.
type kept struct{ *bytes.Reader }

// readForm reads a form whose recording may have so many bytes.
func readForm(body io.Reader, most int64) (*wire.Form, error) {
	var b bytes.Buffer
	form, err := transcriptions.ReadForm(body, contentType, wire.Room{File: &b, MaxFile: most})
	if err == nil {
		form.File = kept{bytes.NewReader(b.Bytes())}
	}
	return form, err
}

func decode(parts ...string) (*completion.Request, error) {
	form, err := readForm(strings.NewReader(formed(parts...)), 1<<20)
	if err != nil {
		return nil, err
	}
	return transcriptions.Decode(form)
}

func mustDecode(t *testing.T, parts ...string) *completion.Request {
	t.Helper()
	req, err := decode(parts...)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// pattern is a body that is made as it is read: size bytes between a head and an end.
func pattern(head string, size int64, end string) io.Reader {
	return io.MultiReader(strings.NewReader(head), io.LimitReader(endless{}, size), strings.NewReader(end))
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(i)
	}
	return len(p), nil
}

func manyFields(n int) (parts []string) {
	for i := range n {
		parts = append(parts, field(fmt.Sprintf("x%d", i), "1"))
	}
	return parts
}
