// Package oidctest is a small and strict OpenID Connect provider over loopback, for tests. It checks what a client must send, signs in the person that a
// test names, and answers wrongly on request. It must not be used outside of tests.
package oidctest

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// Person is who signs in.
type Person struct {
	Subject, Email, Name string
	Verified             string // the JSON of email_verified; "": none
	More                 string // further members of the claims, as JSON with a comma before each
}

// Provider is a running provider. A test changes its fields between requests.
type Provider struct {
	URL          string // also its issuer
	ClientID     string
	ClientSecret string // "": the client has only PKCE
	Redirects    []string
	Who          Person
	Now          func() time.Time

	Fault   string // what it does wrong; see the methods
	Refuses string // "error" of its redirects, "" none
	ByPost  bool   // clients send their secret in the form
	Info    bool   // e-mail and name are in its user info, not in the token

	mu    sync.Mutex
	key   *rsa.PrivateKey
	named int // of the key
	codes map[string]url.Values
	asked map[string]int
}

var b64 = base64.RawURLEncoding

// Start starts a provider that ends with the test.
func Start(t testing.TB) *Provider {
	p := &Provider{ClientID: "weir", ClientSecret: "s3cret of the client", Now: time.Now, codes: map[string]url.Values{}, asked: map[string]int{}}
	p.RotateKey()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /userinfo", p.userInfo)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asked[r.URL.Path]++
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	p.URL = s.URL
	return p
}

// RotateKey replaces the key that it signs with.
func (p *Provider) RotateKey() {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key, p.named = key, p.named+1
}

// Asked is how often a path was requested.
func (p *Provider) Asked(path string) int { p.mu.Lock(); defer p.mu.Unlock(); return p.asked[path] }

// Set changes the provider between requests.
func (p *Provider) Set(f func(*Provider)) { p.mu.Lock(); defer p.mu.Unlock(); f(p) }

func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	issuer := p.URL
	switch p.Fault {
	case "down":
		http.Error(w, "out of order", http.StatusServiceUnavailable)
		return
	case "no JSON":
		_, _ = fmt.Fprint(w, "<html>")
		return
	case "another issuer's discovery":
		issuer = "https://evil.example"
	case "huge discovery":
		_, _ = fmt.Fprintf(w, `{"x":%q}`, strings.Repeat("x", 4<<20))
		return
	}
	method := "client_secret_basic"
	if p.ByPost {
		method = "client_secret_post"
	}
	authorize := p.URL + "/authorize"
	if p.Fault == "a script for an endpoint" {
		authorize = "javascript:alert(1)//"
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":%q,"token_endpoint":%q,"jwks_uri":%q,"userinfo_endpoint":%q,
		"id_token_signing_alg_values_supported":["RS256","HS256","none"],"token_endpoint_auth_methods_supported":[%q],"authorization_response_iss_parameter_supported":true}`,
		issuer, authorize, p.URL+"/token", p.URL+"/keys", p.URL+"/userinfo", method)
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"keys":[{"kty":"RSA","use":"sig","alg":"RS256","kid":"k%d","n":%q,"e":%q}]}`, p.named, b64.EncodeToString(p.key.N.Bytes()), b64.EncodeToString(big.NewInt(int64(p.key.E)).Bytes()))
}

func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	wrong := ""
	switch redirect := q.Get("redirect_uri"); {
	case q.Get("client_id") != p.ClientID:
		wrong = "client_id"
	case !contains(p.Redirects, redirect):
		wrong = "redirect_uri " + redirect
	case q.Get("response_type") != "code":
		wrong = "response_type"
	case !contains(strings.Fields(q.Get("scope")), "openid"):
		wrong = "scope"
	case len(q.Get("state")) < 20:
		wrong = "state"
	case len(q.Get("nonce")) < 20:
		wrong = "nonce"
	case q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43:
		wrong = "code_challenge"
	}
	if wrong != "" {
		http.Error(w, "refused: "+wrong, http.StatusBadRequest)
		return
	}
	back := url.Values{"state": {q.Get("state")}, "iss": {p.URL}}
	if p.Fault == "another issuer's redirect" {
		back.Set("iss", "https://evil.example")
	}
	if p.Refuses != "" {
		back.Set("error", p.Refuses)
	} else {
		code := rand.Text()
		p.codes[code] = q
		back.Set("code", code)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f := r.PostForm
	id, secret, basic := r.BasicAuth()
	if basic {
		id, _ = url.QueryUnescape(id)
		secret, _ = url.QueryUnescape(secret)
	} else {
		id, secret = f.Get("client_id"), f.Get("client_secret")
	}
	asked, known := p.codes[f.Get("code")]
	delete(p.codes, f.Get("code"))
	sum := sha256.Sum256([]byte(f.Get("code_verifier")))
	wrong := ""
	switch {
	case id != p.ClientID || secret != p.ClientSecret || basic == (p.ByPost || p.ClientSecret == ""):
		wrong = "invalid_client"
	case f.Get("grant_type") != "authorization_code":
		wrong = "unsupported_grant_type"
	case !known || f.Get("redirect_uri") != asked.Get("redirect_uri") || b64.EncodeToString(sum[:]) != asked.Get("code_challenge") || len(f.Get("code_verifier")) < 43:
		wrong = "invalid_grant"
	case p.Fault == "token down":
		http.Error(w, "out of order", http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if wrong != "" {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"error":%q}`, wrong)
		return
	}
	if p.Fault == "no id_token" {
		_, _ = fmt.Fprint(w, `{"access_token":"at","token_type":"Bearer"}`)
		return
	}
	_, _ = fmt.Fprintf(w, `{"access_token":"at","token_type":"Bearer","expires_in":60,"id_token":%q}`, p.sign(asked.Get("nonce")))
}

// sign makes the id_token.
func (p *Provider) sign(nonce string) string {
	now := p.Now()
	issuer, audience, party, issued, expires, subject := p.URL, fmt.Sprintf("%q", p.ClientID), "", now, now.Add(time.Minute), p.Who.Subject
	switch p.Fault {
	case "another nonce":
		nonce = "of another sign-in"
	case "no nonce":
		nonce = ""
	case "another audience":
		audience = `"other"`
	case "two audiences":
		audience = fmt.Sprintf(`[%q,"other"]`, p.ClientID)
	case "another party":
		party = `,"azp":"other"`
	case "expired":
		issued, expires = now.Add(-time.Hour), now.Add(-time.Minute)
	case "of the future":
		issued, expires = now.Add(time.Hour), now.Add(2*time.Hour)
	case "another issuer":
		issuer = "https://evil.example"
	case "no subject":
		subject = ""
	case "a long subject":
		subject = strings.Repeat("x", 1000)
	}
	claims := fmt.Sprintf(`{"iss":%q,"sub":%q,"aud":%s,"iat":%d,"exp":%d,"nonce":%q%s`, issuer, subject, audience, issued.Unix(), expires.Unix(), nonce, party)
	if !p.Info {
		claims += p.claims()
	}
	claims += "}"
	switch p.Fault {
	case "not signed":
		return b64.EncodeToString([]byte(`{"alg":"none"}`)) + "." + b64.EncodeToString([]byte(claims)) + "."
	case "signed with the secret":
		head := b64.EncodeToString([]byte(`{"alg":"HS256"}`)) + "." + b64.EncodeToString([]byte(claims))
		mac := hmac.New(sha256.New, []byte(p.ClientSecret))
		mac.Write([]byte(head))
		return head + "." + b64.EncodeToString(mac.Sum(nil))
	}
	head := b64.EncodeToString(fmt.Appendf(nil, `{"alg":"RS256","kid":"k%d"}`, p.named)) + "." + b64.EncodeToString([]byte(claims))
	key := p.key
	if p.Fault == "another key" {
		key, _ = rsa.GenerateKey(rand.Reader, 2048)
	}
	sum := sha256.Sum256([]byte(head))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		panic(err)
	}
	return head + "." + b64.EncodeToString(signature)
}

func (p *Provider) claims() (s string) {
	if p.Who.Email != "" {
		s += fmt.Sprintf(`,"email":%q`, p.Who.Email)
	}
	if p.Who.Verified != "" {
		s += `,"email_verified":` + p.Who.Verified
	}
	if p.Who.Name != "" {
		s += fmt.Sprintf(`,"name":%q`, p.Who.Name)
	}
	return s + p.Who.More
}

func (p *Provider) userInfo(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer at" {
		http.Error(w, "refused", http.StatusUnauthorized)
		return
	}
	subject := p.Who.Subject
	if p.Fault == "another's user info" {
		subject = "other"
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"sub":%q%s}`, subject, p.claims())
}

func contains(list []string, want string) bool {
	for _, s := range list {
		if s == want {
			return true
		}
	}
	return false
}
