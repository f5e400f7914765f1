package certificate_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/certificate"
	"weir/internal/certificate/certificatetest"
)

const days = 24 * time.Hour

// files are the paths of a certificate and its key, in a folder of their own.
func files(t *testing.T) (cert, key string) {
	t.Helper()
	dir := t.TempDir()
	return filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
}

func read(t *testing.T, cert, key string) *tls.Certificate {
	t.Helper()
	pair, err := certificate.Read(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func TestJudge(t *testing.T) {
	t.Parallel()
	const fine, soon, refused = certificate.Fine, certificate.Soon, certificate.Refused
	now := time.Now()
	cert, key := files(t)
	certificatetest.Write(cert, key, now.Add(90*days), "weir.example.com")
	own := read(t, cert, key)
	certificatetest.Write(cert, key, now.Add(4*days), "weir.example.com")
	short := read(t, cert, key)
	certificatetest.WriteSigned(cert, key, now.Add(90*days), now.Add(30*days), false, "weir.example.com")
	outlives := read(t, cert, key)
	certificatetest.WriteSigned(cert, key, now.Add(90*days), now.Add(30*days), true, "weir.example.com")
	alone := read(t, cert, key)
	for _, c := range []struct {
		pair *tls.Certificate
		name string
		at   time.Duration
		is   certificate.Verdict
		why  string
	}{
		{own, "weir.example.com", 0, fine, ""},
		{own, "", 0, fine, ""},
		{own, "other.example.com", 0, refused, "it is not for other.example.com"},
		{own, "weir.example.com", -2 * time.Hour, refused, "it begins only on"},
		{own, "weir.example.com", 75 * days, fine, ""},
		{own, "weir.example.com", 77 * days, soon, "it ends on"},
		{own, "other.example.com", 77 * days, refused, "it is not for other.example.com"},
		{own, "weir.example.com", 91 * days, refused, "it ended on"},
		{short, "weir.example.com", 2 * days, fine, ""}, // authorities that give out such renew them in time
		{short, "weir.example.com", 3*days + 2*time.Hour, soon, "it ends on"},
		{outlives, "weir.example.com", 24 * days, soon, "it ends on"}, // its authority does
		{outlives, "weir.example.com", 31 * days, refused, "it ended on"},
		{alone, "weir.example.com", 31 * days, fine, ""}, // whose end is not known here
		{&tls.Certificate{}, "", 0, refused, "it has no certificate"},
	} {
		if is, why := certificate.Judge(c.pair, c.name, now.Add(c.at)); is != c.is || !strings.HasPrefix(why, c.why) || (c.why == "") != (why == "") {
			t.Errorf("%q after %s: %d %q; want %d %q", c.name, c.at, is, why, c.is, c.why)
		}
	}
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	now := time.Now()
	cert, key := files(t)
	own := certificatetest.Write(cert, key, now.Add(days), "a")
	self := read(t, cert, key)
	authority := certificatetest.WriteSigned(cert, key, now.Add(days), now.Add(days), false, "a")
	signed := read(t, cert, key)
	certificatetest.WriteSigned(cert, key, now.Add(days), now.Add(days), true, "a")
	alone := read(t, cert, key)
	if why := certificate.Unknown(self, own, now); why != "" {
		t.Errorf("an own one that is trusted: %q", why)
	}
	if why := certificate.Unknown(signed, authority, now); why != "" {
		t.Errorf("one of a trusted authority: %q", why)
	}
	if why := certificate.Unknown(self, authority, now); why != "it is signed by itself" {
		t.Errorf("one that signed itself: %q", why)
	}
	if why := certificate.Unknown(alone, own, now); !strings.Contains(why, "CN=an authority signed it") || !strings.Contains(why, "not in the file") {
		t.Errorf("one without its authority: %q", why)
	}
	if why := certificate.Unknown(signed, own, now); !strings.Contains(why, "unknown authority") {
		t.Errorf("one of another authority: %q", why)
	}
}

func TestKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := certificate.Kept(dir, "weir.example.com"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
	cert, key := files(t)
	certificatetest.Write(cert, key, time.Now().Add(days), "weir.example.com")
	var both []byte
	for _, path := range []string{key, cert} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		both = append(both, text...)
	}
	if err := os.WriteFile(filepath.Join(dir, "weir.example.com"), both, 0o600); err != nil {
		t.Fatal(err)
	}
	if pair, err := certificate.Kept(dir, "weir.example.com"); err != nil || pair.Leaf.DNSNames[0] != "weir.example.com" {
		t.Errorf("%v, %v", pair, err)
	}
}

// lines is a log that one goroutine writes and another takes.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.text.Reset()
	return l.text.String()
}

// The end of a certificate is in the log once a day until it is renewed, from the start of the node on.
func TestEndIsLogged(t *testing.T) {
	t.Parallel()
	cert, key := files(t)
	synctest.Test(t, func(t *testing.T) {
		certificatetest.Write(cert, key, time.Now().Add(16*days), "weir.example.com")
		var log lines
		f, err := certificate.FromFiles(cert, key, "weir.example.com", time.Now, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		go f.Start(ctx)
		said := func(after time.Duration, want string, times int) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			text := log.take()
			if n := strings.Count(text, want); n != times {
				t.Errorf("%q is in the log %d times, want %d:\n%s", want, n, times, text)
			}
		}
		said(time.Minute, "level=", 0)
		said(12*days+time.Hour, "clients will soon refuse the certificate", 1)
		said(2*days, "clients will soon refuse the certificate", 2)
		said(2*days, "level=ERROR msg=\"clients refuse the certificate\"", 1)
		certificatetest.Write(cert, key, time.Now().Add(90*days), "weir.example.com", "another-size")
		said(2*time.Hour, "the certificate was read anew", 1)
		said(5*days, "level=", 0)
		if v := f.Shown()[cert]; len(f.Shown()) != 1 || time.Until(v.Until) < 80*days || v.From.After(time.Now()) {
			t.Errorf("shown: %+v", f.Shown())
		}
		stop()
		synctest.Wait()
	})
}

// Domains are there before their certificates.
func TestShownOfAuthority(t *testing.T) {
	t.Parallel()
	s := certificate.FromAuthority(certificate.Authority{Domains: []string{"a.example.com", "b.example.com"}, Directory: "https://127.0.0.1:1/", Folder: t.TempDir()}, slog.New(slog.DiscardHandler))
	shown := s.Shown()
	if v, ok := shown["b.example.com"]; len(shown) != 2 || !ok || !v.Until.IsZero() {
		t.Errorf("%+v", shown)
	}
}
