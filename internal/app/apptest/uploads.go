package apptest

import (
	"io"
	"strings"
)

// Silence is the body of a form with a WAV file of that many bytes. It is generated while it is read.
func Silence(model string, size int64) (body io.Reader, length int64, contentType string) {
	const boundary = "weir-upload"
	head := Wave(0)
	copy(head[4:], le32(uint32(size-8)))
	copy(head[40:], le32(uint32(size-44)))
	before := "--" + boundary + "\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\n" + model + "\r\n--" + boundary +
		"\r\nContent-Disposition: form-data; name=\"file\"; filename=\"long.wav\"\r\nContent-Type: audio/wav\r\n\r\n" + string(head)
	after := "\r\n--" + boundary + "--\r\n"
	r := io.MultiReader(strings.NewReader(before), io.LimitReader(hush{}, size-44), strings.NewReader(after))
	return r, int64(len(before)) + size - 44 + int64(len(after)), "multipart/form-data; boundary=" + boundary
}

func le32(n uint32) []byte { return []byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)} }

type hush struct{}

func (hush) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 0x80
	}
	return len(p), nil
}
