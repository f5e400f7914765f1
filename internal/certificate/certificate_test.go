package certificate_test

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/certificate"
	"weir/internal/certificate/certificatetest"
)

// A renewed certificate is used within lookEvery without a restart. While the files are wrong, the one before goes on, and the log says so once.
func TestFilesAreFollowed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certificatetest.Write(cert, key, time.Now().Add(time.Hour), "first.example.com")
	now := time.Now()
	var log bytes.Buffer
	f, err := certificate.FromFiles(cert, key, "", func() time.Time { return now }, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	name := func() string {
		c, err := f.Config().GetCertificate(&tls.ClientHelloInfo{})
		if err != nil {
			t.Fatal(err)
		}
		return c.Leaf.DNSNames[0]
	}
	if got := name(); got != "first.example.com" {
		t.Fatalf("the certificate is for %s", got)
	}
	certificatetest.Write(cert, key, time.Now().Add(time.Hour), "second.example.com.a.longer.name")
	if got := name(); got != "first.example.com" {
		t.Errorf("before the next look it is for %s", got)
	}
	now = now.Add(10 * time.Second)
	if got := name(); got != "second.example.com.a.longer.name" {
		t.Errorf("after a change it is for %s", got)
	}
	if err := os.WriteFile(key, []byte("half of a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		now = now.Add(10 * time.Second)
		if got := name(); got != "second.example.com.a.longer.name" {
			t.Errorf("with a broken key it is for %s", got)
		}
	}
	if n := strings.Count(log.String(), "is not used"); n != 1 {
		t.Errorf("the broken key was logged %d times:\n%s", n, log.String())
	}
	if strings.Contains(log.String(), "half of a file") {
		t.Error("the log has the content of the key's file")
	}
}

func TestWrongFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(n string) string { return filepath.Join(dir, n) }
	certificatetest.Write(at("a.pem"), at("a.key"), time.Now().Add(time.Hour), "a")
	certificatetest.Write(at("b.pem"), at("b.key"), time.Now().Add(time.Hour), "b")
	for _, c := range []struct{ cert, key, want string }{
		{"none.pem", "a.key", "none.pem: no such file"},
		{"a.pem", "none.key", "none.key: no such file"},
		{"a.pem", "b.key", "a.pem and " + at("b.key")},
		{"a.key", "a.pem", "no certificate with its key"},
	} {
		_, err := certificate.FromFiles(at(c.cert), at(c.key), "", time.Now, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %s: %v; want %q", c.cert, c.key, err, c.want)
		}
	}
}

// GET and HEAD are redirected to https with their path. A request that carries a secret is refused, and the answer says why. The client's Host
// header has no influence.
func TestPlain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certificatetest.Write(cert, key, time.Now().Add(time.Hour), "a")
	files, err := certificate.FromFiles(cert, key, "", time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	authority := certificate.FromAuthority(certificate.Authority{Domains: []string{"weir.example.com"}, Directory: "https://127.0.0.1:1/", Folder: dir}, slog.New(slog.DiscardHandler))
	for name, plain := range map[string]http.Handler{
		"files": files.Plain("https://weir.example.com"), "authority": authority.Plain("https://weir.example.com"),
	} {
		for _, c := range []struct {
			method, path, header string
			status               int
			to                   string
		}{
			{"GET", "/models?q=a%20b", "", 308, "https://weir.example.com/models?q=a%20b"},
			{"HEAD", "/", "", 308, "https://weir.example.com/"},
			{"GET", "//evil.example/x", "", 308, "https://weir.example.com//evil.example/x"},
			{"POST", "/v1/chat/completions", "", 403, ""},
			{"GET", "/v1/key", "Authorization", 403, ""},
			{"GET", "/v1/key", "X-Api-Key", 403, ""},
		} {
			r := httptest.NewRequest(c.method, "http://evil.example"+c.path, nil)
			if c.header != "" {
				r.Header.Set(c.header, "secret")
			}
			w := httptest.NewRecorder()
			plain.ServeHTTP(w, r)
			if w.Code != c.status || w.Header().Get("Location") != c.to || strings.Contains(w.Body.String(), "secret") {
				t.Errorf("%s: %s %s %s: %d, to %q: %s", name, c.method, c.path, c.header, w.Code, w.Header().Get("Location"), w.Body)
			}
		}
	}
}
