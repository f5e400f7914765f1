package transcriptions_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"weir/internal/fault"
	"weir/internal/wire"
	"weir/internal/wire/transcriptions"
)

func TestReadForm(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body io.Reader
		kind fault.Kind // zero: it is read
		says string
	}{
		"file first":                {body: strings.NewReader(formed(file("a.wav", "RIFF"), field("model", "whisper-1")))},
		"file last":                 {body: strings.NewReader(formed(field("model", "whisper-1"), file("a.wav", "RIFF")))},
		"a preamble":                {body: strings.NewReader("hello\r\n" + formed(field("model", "whisper-1"), file("a.wav", "RIFF")))},
		"byte by byte":              {body: iotest.OneByteReader(strings.NewReader(formed(field("model", "whisper-1"), file("a.wav", "RIFF"))))},
		"no file":                   {body: strings.NewReader(formed(field("model", "whisper-1"))), kind: fault.Invalid, says: "is missing"},
		"a file that is a field":    {body: strings.NewReader(formed(field("file", "RIFF"))), kind: fault.Invalid, says: "must be an upload"},
		"two files":                 {body: strings.NewReader(formed(file("a.wav", "RIFF"), file("b.wav", "RIFF"))), kind: fault.Invalid, says: "one file"},
		"nothing":                   {body: strings.NewReader(""), kind: fault.Invalid, says: "well-formed"},
		"another boundary":          {body: strings.NewReader("--other\r\n\r\n--other--\r\n"), kind: fault.Invalid, says: "well-formed"},
		"no end":                    {body: strings.NewReader(strings.TrimSuffix(formed(file("a.wav", "RIFF")), "--"+boundary+"--\r\n")), kind: fault.Invalid, says: "well-formed"},
		"cut in a head":             {body: strings.NewReader("--" + boundary + "\r\nContent-Dispo"), kind: fault.Invalid, says: "well-formed"},
		"a head without a name":     {body: strings.NewReader(formed("\r\nContent-Disposition: form-data\r\n\r\nx\r\n")), kind: fault.Invalid, says: "no name"},
		"a name too long":           {body: strings.NewReader(formed(field(strings.Repeat("n", 129), "x"))), kind: fault.Invalid, says: "too long"},
		"a head of 9 KiB":           {body: strings.NewReader(formed("\r\nX-Long: " + strings.Repeat("x", 9<<10) + field("model", "x"))), kind: fault.Invalid, says: "headers of a part"},
		"a head of a megabyte":      {body: strings.NewReader(formed("\r\nX-Long: " + strings.Repeat("x", 1<<20) + field("model", "x"))), kind: fault.Invalid, says: "headers of a part"},
		"64 parts":                  {body: strings.NewReader(formed(append(manyFields(63), file("a.wav", "RIFF"))...))},
		"65 parts":                  {body: strings.NewReader(formed(append(manyFields(64), file("a.wav", "RIFF"))...)), kind: fault.Invalid, says: "64 parts"},
		"quoted-printable":          {body: strings.NewReader(formed("\r\nContent-Transfer-Encoding: quoted-printable" + field("model", "x"))), kind: fault.Invalid, says: "quoted-printable"},
		"a field of a mebibyte":     {body: pattern("--"+boundary+field("x", "")[:len(field("x", ""))-2], 1<<20, "\r\n--"+boundary+file("a.wav", "RIFF")+"--"+boundary+"--")},
		"a field of a byte more":    {body: pattern("--"+boundary+field("x", "")[:len(field("x", ""))-2], 1<<20+1, "\r\n--"+boundary+"--"), kind: fault.PayloadTooLarge, says: "1048576"},
		"references of 8 MiB":       {body: pattern("--"+boundary+field("known_speaker_references[]", "")[:len(field("known_speaker_references[]", ""))-2], 8<<20, "\r\n--"+boundary+file("a.wav", "RIFF")+"--"+boundary+"--")},
		"references of a byte more": {body: pattern("--"+boundary+field("known_speaker_references", "")[:len(field("known_speaker_references", ""))-2], 8<<20+1, "\r\n--"+boundary+"--"), kind: fault.PayloadTooLarge, says: "8388608"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			form, err := readForm(tt.body, 1<<20)
			if tt.says == "" {
				if err != nil || form.File.Size() != 4 || form.FileName != "a.wav" {
					t.Errorf("%+v, %v", form, err)
				}
				return
			}
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != tt.kind || !strings.Contains(f.Public, tt.says) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A recording may have 26214400 bytes and not one more, however many follow.
func TestReadFormLargest(t *testing.T) {
	t.Parallel()
	const most = 26_214_400
	head := "--" + boundary + strings.TrimSuffix(file("a.wav", ""), "\r\n")
	end := "\r\n--" + boundary + field("model", "whisper-1") + "--" + boundary + "--\r\n"
	var n count
	form, err := transcriptions.ReadForm(pattern(head, most, end), contentType, wire.Room{File: &n, MaxFile: most})
	if err != nil || n != most || len(form.Fields) != 1 {
		t.Errorf("%d bytes, %v", n, err)
	}
	n = 0
	_, err = transcriptions.ReadForm(pattern(head, most+1, end), contentType, wire.Room{File: &n, MaxFile: most})
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.PayloadTooLarge || f.Param != "file" || n > most+1 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

type count int64

func (c *count) Write(p []byte) (int, error) {
	*c += count(len(p))
	return len(p), nil
}

// Errors of the body, of the disk and of the memory's keeper are passed on as they are.
func TestReadFormPassesErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	body := func() io.Reader { return strings.NewReader(formed(field("model", "whisper-1"), file("a.wav", "RIFF"))) }
	failing := fault.New(fault.StorageUnavailable, "test", "full")
	for name, room := range map[string]wire.Room{
		"disk":   {File: writerFunc(func([]byte) (int, error) { return 0, failing }), MaxFile: 100},
		"memory": {File: io.Discard, MaxFile: 100, Take: func(int64) error { return failing }},
	} {
		if _, err := transcriptions.ReadForm(body(), contentType, room); !errors.Is(err, failing) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, at := range []int64{0, 1, 40, 90, 150} {
		r := io.MultiReader(io.LimitReader(body(), at), iotest.ErrReader(broken))
		if _, err := transcriptions.ReadForm(r, contentType, wire.Room{File: io.Discard, MaxFile: 100}); !errors.Is(err, broken) {
			t.Errorf("after %d bytes: %v", at, err)
		}
	}
	for _, kind := range []string{"", "application/json", "multipart/form-data", "multipart/mixed; boundary=x"} {
		if _, err := transcriptions.ReadForm(body(), kind, wire.Room{File: io.Discard}); !fault.Is(err, fault.UnsupportedMediaType) {
			t.Errorf("%q: %v", kind, err)
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// Whatever comes as a form, and in whatever pieces, it is read or refused, within its bounds, and the same way in one piece as byte by byte.
func FuzzForm(f *testing.F) {
	for _, body := range []string{
		formed(field("model", "whisper-1"), file("a.wav", wave(1e9))), formed(file("a.wav", "RIFF"), file("b.wav", "RIFF")), formed(), "--" + boundary,
		formed(field("model", "x"), field("model", "y"), file("a.mp3", "ID3")), formed("\r\nContent-Disposition: form-data; name*=utf-8''file; filename=\"\"\r\n\r\nx\r\n"),
		"--" + boundary + "\n\n--" + boundary + "--", formed(field("stream", "true"), field("chunking_strategy", `{"type":"server_vad"}`), file("x", "\xff\xfb")),
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		const most = 4096
		form, err := readForm(bytes.NewReader(body), most)
		slow, errSlow := readForm(iotest.OneByteReader(bytes.NewReader(body)), most)
		if (err == nil) != (errSlow == nil) {
			t.Fatalf("at once %v, byte by byte %v", err, errSlow)
		}
		if err != nil {
			var known *fault.Error
			if !errors.As(err, &known) || known.Public == "" || known.Kind == fault.Internal {
				t.Fatalf("%v", err)
			}
			return
		}
		if form.File.Size() > most || !slices.Equal(form.Fields, slow.Fields) || form.FileName != slow.FileName {
			t.Fatalf("%+v, byte by byte %+v", form, slow)
		}
		req, err := transcriptions.Decode(form)
		if err != nil {
			var known *fault.Error
			if !errors.As(err, &known) || known.Kind == fault.Internal {
				t.Fatalf("%v", err)
			}
			return
		}
		if len(req.Models) != 1 || req.Task == nil || req.Task.Most().Millis.N < 0 {
			t.Fatalf("%+v", req)
		}
	})
}
