package kling

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"weir/internal/dialect/auth"
	"weir/internal/rawjson"
)

// The lifetime of tokens, when they are renewed, and how far clocks may differ (Kling API, Authentication).
const (
	life  = 30 * time.Minute
	renew = 25 * time.Minute
	skew  = 5 * time.Second
)

// tokens is an auth.Method that signs JSON Web Tokens itself (HS256). It is safe for concurrent use.
type tokens struct {
	access, secret string
	now            func() time.Time

	mu    sync.Mutex
	token string
	made  time.Time
}

func newTokens(access, secret string, now func() time.Time) (auth.Method, error) {
	if access == "" || secret == "" {
		return nil, errors.New("kling: the credential must be ACCESS_KEY:SECRET_KEY")
	}
	return &tokens{access: access, secret: secret, now: now}, nil
}

// Fields implements auth.Method.
func (t *tokens) Fields(context.Context, *auth.Request) (http.Header, error) {
	return http.Header{"Authorization": {"Bearer " + t.current()}}, nil
}

func (t *tokens) current() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if age := now.Sub(t.made); t.token == "" || age < 0 || age >= renew {
		t.token, t.made = t.sign(now), now
	}
	return t.token
}

func (t *tokens) sign(now time.Time) string {
	claims := rawjson.AppendText([]byte(`{"iss":`), t.access)
	claims = strconv.AppendInt(append(claims, `,"exp":`...), now.Add(life).Unix(), 10)
	claims = append(strconv.AppendInt(append(claims, `,"nbf":`...), now.Add(-skew).Unix(), 10), '}')
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + base64.RawURLEncoding.EncodeToString(claims)
	mac := hmac.New(sha256.New, []byte(t.secret))
	_, _ = mac.Write([]byte(text)) // a hash does not fail
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Refused returns false: a new token would be refused as well.
func (t *tokens) Refused(http.Header) bool { return false }

// Secrets implements auth.Method.
func (t *tokens) Secrets() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := []string{t.secret}
	if t.token != "" {
		list = append(list, t.token)
	}
	return list
}
