package httpapi_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/auth/passkeytest"
	"weir/internal/fault"
	"weir/internal/httpapi"
)

const publicURL = "https://weir.example.org"

func withPublicURL(c *httpapi.Config) { c.PublicURL = publicURL }

// options begins a step, and returns it and its challenge.
func (n *node) options(t *testing.T, path string, page []string) (step, challenge string) {
	t.Helper()
	r := n.do("POST", path, `{}`, page...)
	if r.StatusCode != 200 || r.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	m := r.json(t)
	if at(m, "public_key", "userVerification") == nil && at(m, "public_key", "authenticatorSelection", "userVerification") != "required" {
		t.Errorf("nobody checks the person: %s", r.body)
	}
	step, _ = at(m, "step").(string)
	challenge, _ = at(m, "public_key", "challenge").(string)
	return step, challenge
}

func TestPasskeysOverHTTP(t *testing.T) {
	t.Parallel()
	now := time.Now()
	n := startWith(t, relayFunc(hello), withPublicURL, func(d *httpapi.Deps) { d.Now = func() time.Time { return now } })
	d := passkeytest.Device{Origin: publicURL, RPID: "weir.example.org", Count: 1}
	page := n.join(t, "anna@example.org", apikey.User)
	user, _ := at(n.do("GET", "/api/me", "", page...).json(t), "user", "id").(string)
	if m := n.do("GET", "/api/me", "", page...).json(t); at(m, "features", "passkeys") != true {
		t.Fatalf("%v", m)
	}
	step, challenge := n.options(t, "/api/auth/passkeys/options", page)
	key, made := d.Make(challenge, user)
	r := n.do("POST", "/api/auth/passkeys", `{"step":"`+step+`","name":"Phone","credential":`+made+`}`, page...)
	if r.StatusCode != 201 || at(r.json(t), "data", "id") != key.IDText() {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}

	// a visitor signs in, and the session that the browser had before ends
	before := n.join(t, "boris@example.org", apikey.User)
	step, challenge = n.options(t, "/api/auth/passkey/options", before)
	r = n.do("POST", "/api/auth/passkey", `{"step":"`+step+`","credential":`+d.Sign(challenge, key)+`}`, before...)
	if r.StatusCode != 200 || at(r.json(t), "user", "id") != user || at(r.json(t), "user", "passkeys") != 1.0 || at(r.json(t), "session", "method") != "passkey" {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	page = n.page("Cookie", "__Host-weir="+cookieOf(t, r).Value)
	wantError(t, n.do("GET", "/api/auth/sessions", "", before...), 401, fault.Authentication)

	// later it is a proof
	now = now.Add(11 * time.Minute)
	m := wantError(t, n.do("POST", "/api/auth/passkeys/options", `{}`, page...), 403, fault.PermissionDenied)
	if at(m, "error", "metadata", "sign_in") != "again" {
		t.Errorf("%v", m)
	}
	forger := d
	forger.Forge = true
	step, challenge = n.options(t, "/api/auth/prove/options", page)
	wantError(t, n.do("POST", "/api/auth/prove", `{"step":"`+step+`","credential":`+forger.Sign(challenge, key)+`}`, page...), 400, fault.Invalid)
	wantError(t, n.do("DELETE", "/api/auth/passkeys/"+key.IDText(), "", page...), 403, fault.PermissionDenied)
	step, challenge = n.options(t, "/api/auth/prove/options", page)
	if r := n.do("POST", "/api/auth/prove", `{"step":"`+step+`","credential":`+d.Sign(challenge, key)+`}`, page...); r.StatusCode != 204 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}

	if r := n.do("PATCH", "/api/auth/passkeys/"+key.IDText(), `{"name":"Key ring"}`, page...); r.StatusCode != 204 {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	other := n.join(t, "carla@example.org", apikey.User)
	wantError(t, n.do("PATCH", "/api/auth/passkeys/"+key.IDText(), `{"name":"mine"}`, other...), 404, fault.NotFound)
	wantError(t, n.do("DELETE", "/api/auth/passkeys/"+key.IDText(), "", other...), 404, fault.NotFound)
	wantError(t, n.do("POST", "/api/auth/prove/options", `{}`, other...), 409, fault.Conflict)
	wantError(t, n.do("PATCH", "/api/auth/passkeys/"+key.IDText(), `{"name":""}`, page...), 400, fault.Invalid)
	wantError(t, n.do("PATCH", "/api/auth/passkeys/"+key.IDText(), `{"user":"`+user+`"}`, page...), 400, fault.Invalid)
	listed := n.do("GET", "/api/auth/passkeys", "", page...).json(t)
	if at(listed, "data", 0, "name") != "Key ring" || at(listed, "data", 0, "used_at") == nil || at(listed, "data", 1) != nil {
		t.Errorf("%v", listed)
	}
	if r := n.do("DELETE", "/api/auth/passkeys/"+key.IDText(), "", page...); r.StatusCode != 204 {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	wantError(t, n.do("DELETE", "/api/auth/passkeys/"+key.IDText(), "", page...), 404, fault.NotFound)
	if strings.Contains(n.logged(), challenge) || strings.Contains(n.logged(), step) {
		t.Error("the log has a challenge or a step")
	}
}

// Wrong passkeys count as wrong passwords do: by the address of the client.
func TestGuessesOfPasskeysByAddress(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) { c.PublicURL, c.FailedAuthPerMinute = publicURL, 5 })
	d := passkeytest.Device{Origin: publicURL, RPID: "weir.example.org"}
	key, _ := d.Make("", "usr_x")
	page := n.page("Origin", publicURL)
	try := func() *response {
		step, challenge := n.options(t, "/api/auth/passkey/options", page)
		return n.do("POST", "/api/auth/passkey", `{"step":"`+step+`","credential":`+d.Sign(challenge, key)+`}`, page...)
	}
	for range 5 {
		wantError(t, try(), 401, fault.Authentication)
	}
	limited(t, try(), "failed_auth_per_minute", "5")
}

// Passkeys work at the configured name and on this machine as localhost, and a name that only the request has is not believed.
func TestWherePasskeysWork(t *testing.T) {
	t.Parallel()
	for _, try := range []struct {
		name, public, host, rp string
	}{
		{"the configured name", publicURL, "weir.example.org", "weir.example.org"},
		{"the configured name behind a proxy", publicURL, "10.0.0.7:8080", "weir.example.org"},
		{"its port", "https://weir.example.org:8443", "weir.example.org", "weir.example.org"},
		{"the usual port", "https://weir.example.org:443", "weir.example.org", "weir.example.org"},
		{"localhost", "", "localhost:8080", "localhost"},
		{"an address of this machine", "", "127.0.0.1:8080", ""},
		{"an address", "https://192.0.2.7", "192.0.2.7", ""},
		{"a name without TLS", "http://weir.example.org", "weir.example.org", ""},
		{"a name of the request", "", "evil.example", ""},
		{"a name that begins like localhost", "", "localhost.evil.example", ""},
	} {
		t.Run(try.name, func(t *testing.T) {
			n := start(t, relayFunc(hello), func(c *httpapi.Config) { c.PublicURL = try.public })
			origin := "http://" + try.host
			if try.public != "" {
				origin = try.public
			}
			s := n.dial()
			s.send("POST /api/auth/passkey/options HTTP/1.1\r\nHost: %s\r\nOrigin: %s\r\nX-Weir: 1\r\nContent-Length: 2\r\n\r\n{}", try.host, origin)
			r := s.response()
			want := 200
			if try.rp == "" {
				want = 403
			}
			if r.StatusCode != want {
				t.Fatalf("%d %s", r.StatusCode, r.body)
			}
			m := r.json(t)
			if try.rp == "" {
				return
			}
			if at(m, "public_key", "rpId") != try.rp {
				t.Errorf("%s", r.body)
			}
			step, _ := at(m, "step").(string)
			challenge, _ := at(m, "public_key", "challenge").(string)
			u, err := url.Parse(origin)
			if err != nil {
				t.Fatal(err)
			}
			if u.Port() == "443" {
				origin = "https://" + u.Hostname() // as browsers write it
			}
			d := passkeytest.Device{Origin: origin, RPID: try.rp}
			key, _ := d.Make("", "usr_x")
			body := `{"step":"` + step + `","credential":` + d.Sign(challenge, key) + `}`
			s = n.dial()
			s.send("POST /api/auth/passkey HTTP/1.1\r\nHost: %s\r\nOrigin: %s\r\nX-Weir: 1\r\nContent-Length: %d\r\n\r\n%s", try.host, origin, len(body), body)
			if r := s.response(); r.StatusCode != 401 { // it is a good answer, of nobody
				t.Errorf("%d %s", r.StatusCode, r.body)
			}
		})
	}
}
