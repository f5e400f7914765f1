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

// oauthServer answers as the routes of OAuth do: each token endpoint's answer once, in order.
type oauthServer struct {
	*httptest.Server
	answers []string // "400 error", or a refresh token
	forms   []string
}

func newOAuthServer(t *testing.T, answers ...string) *oauthServer {
	s := &oauthServer{answers: answers}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		s.forms = append(s.forms, r.URL.Path+" "+r.PostForm.Encode())
		switch r.URL.Path {
		case "/oauth/device_authorization":
			fmt.Fprint(w, `{"device_code":"D","user_code":"WDJB-MJHT","verification_uri_complete":"http://x/device?user_code=WDJB-MJHT","expires_in":600,"interval":0}`)
		case "/oauth/revoke":
		case "/oauth/token":
			next := "400 expired_token"
			if len(s.answers) > 0 {
				next, s.answers = s.answers[0], s.answers[1:]
			}
			if word, wrong := strings.CutPrefix(next, "400 "); wrong {
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprintf(w, `{"error":%q,"error_description":"It is so."}`, word)
				return
			}
			fmt.Fprintf(w, `{"access_token":"A%[1]s","token_type":"Bearer","expires_in":%[2]s,"refresh_token":"R%[1]s"}`, next, map[bool]string{true: "60", false: "3600"}[strings.HasPrefix(next, "short")])
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// printed is what f writes to standard output.
func printed(t *testing.T, f func() error) (string, error) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	was := os.Stdout
	os.Stdout = file
	failed := f()
	os.Stdout = was
	_ = file.Close()
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text), failed
}

// Programs are signed in, get a key until it is nearly over, then the next one, and are signed out.
func TestAgent(t *testing.T) {
	s := newOAuthServer(t, "400 authorization_pending", "short1", "2")
	at := keptAt{filepath.Join(t.TempDir(), "sub", "agent.json")}
	token := func() (string, error) {
		return printed(t, func() error { return (&agentTokenCmd{at}).Run(t.Context()) })
	}
	if _, err := token(); err == nil || !strings.Contains(err.Error(), "weir agent sign-in URL") {
		t.Errorf("%v", err)
	}
	if err := (&agentSignInCmd{at, s.URL + "/v1/"}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(at.File); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	for range 2 { // the first is nearly over, the second is not
		if text, err := token(); text != "A2\n" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
	}
	if err := (&agentSignOutCmd{at}).Run(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(at.File); !os.IsNotExist(err) {
		t.Error(err)
	}
	want := []string{"/oauth/device_authorization ", "/oauth/token device_code=D&grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code",
		"/oauth/token device_code=D&grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code", "/oauth/token grant_type=refresh_token&refresh_token=Rshort1", "/oauth/revoke token=R2"}
	if got := strings.Join(s.forms, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("%s", got)
	}
}

// Each failure says what to do.
func TestAgentFails(t *testing.T) {
	for name, c := range map[string]struct {
		answers []string
		address string // "": that of the server
		says    string
	}{
		"refused":    {[]string{"400 access_denied"}, "", "It is so."},
		"expired":    {[]string{"400 expired_token"}, "", "It is so."},
		"ended":      {[]string{"short1", "400 invalid_grant"}, "", "the sign-in has ended: weir agent sign-in http"},
		"no address": {nil, "weir.example.org", "is no address"},
		"not a Weir": {nil, "other", "it is no Weir with sign-in"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newOAuthServer(t, c.answers...)
			at := keptAt{filepath.Join(t.TempDir(), "agent.json")}
			address := s.URL
			switch c.address {
			case "":
			case "other":
				address += "/elsewhere"
			default:
				address = c.address
			}
			err := (&agentSignInCmd{at, address}).Run(t.Context())
			if err == nil {
				_, err = printed(t, func() error { return (&agentTokenCmd{at}).Run(t.Context()) })
			}
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v; want %q", err, c.says)
			}
		})
	}
	at := keptAt{filepath.Join(t.TempDir(), "agent.json")}
	for _, text := range []string{"", "{}", `{"url":"x","refresh_token":"r"}`, `{"url":"x","refresh_token":"r","expires_at":1`, "\x00"} {
		if err := os.WriteFile(at.File, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := (&agentTokenCmd{at}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "is no sign-in") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
