package sim_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"weir/internal/sim"
)

// jwt is a token of HS256, made here so that nothing of the simulator is used.
func jwt(header, claims, secret string) string {
	part := base64.RawURLEncoding.EncodeToString
	signed := part([]byte(header)) + "." + part([]byte(claims))
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(signed))
	return signed + "." + part(mac.Sum(nil))
}

func klingToken() string {
	return jwt(`{"alg":"HS256","typ":"JWT"}`, `{"iss":"kling-simulator-access-key","exp":1767227400,"nbf":1767225595}`, "kling-simulator-secret-key")
}

// pngOf is a PNG of that size.
func pngOf(width, height int) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.Black})); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// boxes finds the first box of that path in an ISO base media file, and fails when lengths do not fit.
func boxes(t testing.TB, b []byte, path ...string) []byte {
	t.Helper()
	for len(b) >= 8 {
		size, name := uint64(binary.BigEndian.Uint32(b)), string(b[4:8])
		if size < 8 || size > uint64(len(b)) {
			t.Fatalf("box %q says that it has %d of %d bytes", name, size, len(b))
		}
		if name == path[0] {
			if len(path) == 1 {
				return b[8:size]
			}
			return boxes(t, b[8:size], path[1:]...)
		}
		b = b[size:]
	}
	t.Fatalf("no box %q", path[0])
	return nil
}

// described returns the format and size of a file.
func described(t testing.TB, b []byte) string {
	t.Helper()
	if c, format, err := image.DecodeConfig(bytes.NewReader(b)); err == nil {
		return fmt.Sprintf("%s %dx%d", format, c.Width, c.Height)
	}
	switch {
	case len(b) > 25 && string(b[:4]) == "RIFF" && string(b[8:16]) == "WEBPVP8L" && int(binary.LittleEndian.Uint32(b[4:])) == len(b)-8:
		size := binary.LittleEndian.Uint32(b[21:])
		return fmt.Sprintf("webp %dx%d", size&0x3fff+1, size>>14&0x3fff+1)
	case len(b) > 12 && string(b[4:8]) == "ftyp":
		head := boxes(t, b, "moov", "mvhd")
		track := boxes(t, b, "moov", "trak", "tkhd")
		n := len(track)
		return fmt.Sprintf("mp4 %dx%d %ds", binary.BigEndian.Uint32(track[n-8:])>>16, binary.BigEndian.Uint32(track[n-4:])>>16, binary.BigEndian.Uint32(head[16:])/binary.BigEndian.Uint32(head[12:]))
	}
	return fmt.Sprintf("%d bytes", len(b))
}

var longBase64 = regexp.MustCompile(`[A-Za-z0-9+/]{60,}={0,2}`)

// shortened replaces bytes by their description.
func shortened(t testing.TB, s []byte) []byte {
	t.Helper()
	return longBase64.ReplaceAllFunc(s, func(m []byte) []byte {
		raw, err := base64.StdEncoding.DecodeString(string(m))
		if err != nil {
			return m
		}
		return []byte("<" + described(t, raw) + ">")
	})
}

var placeholder = regexp.MustCompile(`\{[a-zA-Z_.0-9]+(:[0-9x]+)?\}`)

// filled inserts values of earlier answers, tokens and images into a request.
func filled(t testing.TB, s string, answers []tree) string {
	t.Helper()
	return placeholder.ReplaceAllStringFunc(s, func(name string) string {
		name = strings.Trim(name, "{}")
		if name == "jwt" {
			return klingToken()
		}
		var w, h int
		if n, _ := fmt.Sscanf(name, "png:%dx%d", &w, &h); n == 2 {
			return string(pngOf(w, h))
		}
		for i := len(answers) - 1; i >= 0; i-- {
			if v := at(answers[i], name); v != nil {
				return strings.TrimPrefix(fmt.Sprint(v), "http://example.com")
			}
		}
		t.Fatalf("no answer has %q", name)
		return ""
	})
}

// exchanged sends a request as a fixture has it: a line, headers, an empty line, the body.
func exchanged(t testing.TB, s *sim.Server, request string, answers []tree) *httptest.ResponseRecorder {
	t.Helper()
	head, body, _ := strings.Cut(request, "\n\n")
	line, headers, _ := strings.Cut(strings.TrimSpace(head), "\n")
	method, path, _ := strings.Cut(filled(t, line, answers), " ")
	if strings.Contains(headers, "multipart/") {
		body = strings.ReplaceAll(strings.TrimSpace(body), "\n", "\r\n") + "\r\n"
		body = filled(t, body, answers)
	} else if body = strings.TrimSpace(body); strings.Contains(body, "{name}") {
		body = filled(t, body, answers)
	}
	return post(s, method, path, filled(t, headers, answers), body)
}

// TestMediaGolden compares the wires for images and videos with recorded files. A file has prose first, then requests
// with their answers, all to one simulator.
func TestMediaGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/media/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil || len(a.Comment) == 0 {
				t.Fatal("want prose, then requests", err)
			}
			s := fixed()
			var out []txtar.File
			var answers []tree
			for _, f := range a.Files {
				if f.Name != "request" {
					continue
				}
				w := exchanged(t, s, string(f.Data), answers)
				var read tree
				if json.Unmarshal(w.Body.Bytes(), &read) == nil {
					answers = append(answers, read)
				}
				body := shortened(t, w.Body.Bytes())
				if kind := w.Header().Get("Content-Type"); strings.HasPrefix(kind, "video/") || strings.HasPrefix(kind, "image/") {
					body = []byte("<" + described(t, w.Body.Bytes()) + ">")
				}
				got := fmt.Appendf(nil, "%d %s\n\n%s\n", w.Code, w.Header().Get("Content-Type"), bytes.TrimRight(body, "\n"))
				out = append(out, f, txtar.File{Name: "answer", Data: got})
			}
			got := txtar.Format(&txtar.Archive{Comment: a.Comment, Files: out})
			if *update {
				if err := os.WriteFile(file, got, 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := txtar.Format(a); !bytes.Equal(got, want) {
				t.Errorf("the exchange is now\n%s", got)
			}
		})
	}
}
