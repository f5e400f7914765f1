package sim_test

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/sim"
)

// TestDocumentedCurl runs every curl command of docs/simulator.md. All of them must succeed.
func TestDocumentedCurl(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "simulator.md"))
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, line := range strings.Split(strings.ReplaceAll(string(b), "\\\n", " "), "\n") {
		if !strings.HasPrefix(line, "    curl ") {
			continue
		}
		ran++
		s := sim.New(sim.Config{})
		if w := curl(t, s, words(t, line)[1:]); w.Code/100 != 2 {
			t.Errorf("%s\nstatus %d: %s", line, w.Code, w.Body)
		}
	}
	if ran != strings.Count(string(b), "curl ") {
		t.Errorf("%d commands of the page were run, it has %d", ran, strings.Count(string(b), "curl "))
	}
}

// words splits a command as a shell does, as far as the page needs it: quotes without escapes.
func words(t *testing.T, line string) (all []string) {
	t.Helper()
	var word strings.Builder
	var quote rune
	began := false
	for _, r := range line + " " {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, began = r, true
		case r == '$' || r == '\\' || r == '|':
			t.Fatalf("%s: the test does not know %q", line, r)
		case r != ' ':
			word.WriteRune(r)
			began = true
		case began:
			all, began = append(all, word.String()), false
			word.Reset()
		}
	}
	if quote != 0 {
		t.Fatalf("%s: a quote is open", line)
	}
	return all
}

// curl sends the request of a command to a simulator.
func curl(t *testing.T, s *sim.Server, args []string) *httptest.ResponseRecorder {
	t.Helper()
	method, target, body := "GET", "", new(bytes.Buffer)
	var headers [][2]string
	var form *multipart.Writer
	for i := 0; i < len(args); i++ {
		option := args[i]
		switch option {
		case "-N":
			continue
		case "-H", "-d", "--json", "-F":
			i++
		default:
			if target != "" || strings.HasPrefix(option, "-") {
				t.Fatalf("the test does not know %q", option)
			}
			target = strings.TrimPrefix(option, "http://127.0.0.1:8081")
			continue
		}
		name, value, _ := strings.Cut(args[i], ": ")
		switch option {
		case "-H":
			headers = append(headers, [2]string{name, value})
			continue
		case "--json":
			headers = append(headers, [2]string{"Content-Type", "application/json"})
			fallthrough
		case "-d":
			body.WriteString(args[i])
		case "-F":
			if form == nil {
				form = multipart.NewWriter(body)
			}
			name, value, _ := strings.Cut(args[i], "=")
			if !strings.HasPrefix(value, "@") {
				form.WriteField(name, value)
				continue
			}
			part, err := form.CreateFormFile(name, value[1:])
			if err != nil {
				t.Fatal(err)
			}
			io.WriteString(part, wave(2, ""))
		}
		method = "POST"
	}
	r := httptest.NewRequest(method, target, body)
	for _, h := range headers {
		r.Header.Set(h[0], h[1])
	}
	if form != nil {
		form.Close()
		r.Header.Set("Content-Type", form.FormDataContentType())
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}
