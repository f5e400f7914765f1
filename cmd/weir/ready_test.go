package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The command asks the listener for operators, or that for clients when there is no other.
func TestReady(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		says   string // "": it is ready
	}{
		"ready":    {200, ""},
		"draining": {503, "takes no new calls"},
	} {
		for _, listener := range []string{"WEIR_SERVER_ADMIN_LISTEN", "WEIR_SERVER_LISTEN"} {
			t.Run(name+" "+listener, func(t *testing.T) {
				asked := ""
				s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					asked = r.URL.Path
					w.WriteHeader(c.status)
				}))
				defer s.Close()
				t.Setenv("WEIR_SERVER_ADMIN_LISTEN", "off")
				t.Setenv(listener, s.Listener.Addr().String())
				t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
				err := (&readyCmd{}).Run(t.Context())
				if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
					t.Errorf("got %v, want %q", err, c.says)
				}
				if asked != "/readyz" {
					t.Errorf("asked %q", asked)
				}
			})
		}
	}
	t.Run("encrypted", func(t *testing.T) {
		s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		defer s.Close()
		file := filepath.Join(t.TempDir(), "weir.yaml")
		text := fmt.Sprintf("server: {admin_listen: \"off\", listen: %q, tls: {cert_file: a.pem, key_file: b.pem}}\n", s.Listener.Addr())
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := (&readyCmd{location{Config: file}}).Run(t.Context()); err != nil {
			t.Error(err)
		}
	})
	t.Run("nobody", func(t *testing.T) {
		s := httptest.NewServer(nil)
		t.Setenv("WEIR_SERVER_ADMIN_LISTEN", s.Listener.Addr().String())
		s.Close()
		if err := (&readyCmd{}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no node answers") {
			t.Errorf("got %v", err)
		}
	})
	for listen, want := range map[string]string{":9091": "http://127.0.0.1:9091/readyz", "0.0.0.0:80": "http://127.0.0.1:80/readyz", "[::]:80": "http://127.0.0.1:80/readyz", "10.0.0.7:80": "http://10.0.0.7:80/readyz", "[fd00::1]:80": "http://[fd00::1]:80/readyz"} {
		if got, err := readyURL("http", listen); err != nil || got != want {
			t.Errorf("%s: %s, %v", listen, got, err)
		}
	}
}
