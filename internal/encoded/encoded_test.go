package encoded_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"testing"

	"weir/internal/encoded"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, want string
		err              error
	}{
		{"canonical", "iVBORw0KGgo=", "iVBORw0KGgo=", nil},
		{"no padding needed", "AAAA", "AAAA", nil},
		{"lines of MIME", "iVBO\r\nRw0K\r\nGgo=\r\n", "iVBORw0KGgo=", nil},
		{"spaces before the padding", "iVBORw0KGgo =", "iVBORw0KGgo=", nil},
		{"padding left out", "iVBORw0KGgo", "iVBORw0KGgo=", nil},
		{"two of padding left out", "/w", "/w==", nil},
		{"one of two left out", "/w=", "/w==", nil},
		{"alphabet of addresses", "-_8", "+/8=", nil},
		{"both alphabets", "-_+/", "", encoded.ErrForm},
		{"empty", "", "", encoded.ErrEmpty},
		{"white space", " \n", "", encoded.ErrEmpty},
		{"padding alone", "==", "", encoded.ErrEmpty},
		{"three of padding", "A===", "", encoded.ErrForm},
		{"padding inside", "/w==/w==", "", encoded.ErrForm},
		{"an end that is missing", "AAAAA", "", encoded.ErrLength},
		{"a quote", `AAAA","x":"`, "", encoded.ErrForm},
		{"a backslash", `AAAA\u0022`, "", encoded.ErrForm},
		{"a zero byte", "AAAA\x00AAA", "", encoded.ErrForm},
		{"not ASCII", "AAAAé", "", encoded.ErrForm},
		{"a percent sign", "AAAA%2BAAA", "", encoded.ErrForm},
		{"a data URL", "data:image/png;base64,AAAA", "", encoded.ErrForm},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := encoded.Parse([]byte(c.text))
			if string(got.Text()) != c.want || !errors.Is(err, c.err) {
				t.Errorf("Parse(%q) = %q, %v, want %q, %v", c.text, got.Text(), err, c.want, c.err)
			}
		})
	}
}

// What needs no change is not copied: it may be a whole video.
func TestParseKeepsAView(t *testing.T) {
	t.Parallel()
	text := bytes.Repeat([]byte("AAAA"), 100)
	got, err := encoded.Parse(text)
	if err != nil || &got.Text()[0] != &text[0] {
		t.Errorf("Parse copied a canonical text (%v)", err)
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	for n := range 10 {
		file := bytes.Repeat([]byte{0xfb, 0xff, 1}, 4)[:n]
		b := encoded.Of(file)
		read, err := io.ReadAll(b.Reader())
		if err != nil || !bytes.Equal(read, file) || !bytes.Equal(b.File(), file) || b.Size() != n || b.None() != (n == 0) {
			t.Errorf("of %d bytes: read %x (%v), File %x, Size %d, None %v", n, read, err, b.File(), b.Size(), b.None())
		}
	}
}

// What is taken can be written into JSON as it is, has the bytes that a decoder finds in the text, and stays what it is.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"iVBORw0KGgo=", "/w==", "-_8", "A A\nA\tA", "AAAA\",\"x\":\"", "A=", "\\u0041", "AAAA==="} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := encoded.Parse(text)
		if err != nil {
			if !b.None() {
				t.Fatalf("data beside the error %v", err)
			}
			return
		}
		if i := strings.IndexFunc(string(b.Text()), func(r rune) bool {
			return !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=", r)
		}); i >= 0 || b.None() || b.Len()%4 != 0 {
			t.Fatalf("%q is no base64", b.Text())
		}
		file, err := base64.StdEncoding.DecodeString(string(b.Text()))
		if err != nil || !bytes.Equal(file, b.File()) || len(file) != b.Size() {
			t.Fatalf("%q: decoded %x (%v), File %x, Size %d", b.Text(), file, err, b.File(), b.Size())
		}
		if again, err := encoded.Parse(b.Text()); err != nil || !bytes.Equal(again.Text(), b.Text()) {
			t.Fatalf("%q: parsed again %q (%v)", b.Text(), again.Text(), err)
		}
	})
}
