package kling_test

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/dialect/auth"
	"weir/internal/dialect/kling"
	"weir/internal/rawjson"
)

func fields(t *testing.T, m auth.Method) string {
	t.Helper()
	h, err := m.Fields(context.Background(), &auth.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
}

// A token is made once and used until shortly before its end. Neither the token nor the secret is shown.
func TestTokens(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	m, err := new(kling.Dialect).Authorize(&catalog.Provider{Key: "access:secret-part"}, auth.Deps{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	token := fields(t, m)
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("%q", token)
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	expires, _ := rawjson.Int(rawjson.Find(claims, "exp"))
	from, _ := rawjson.Int(rawjson.Find(claims, "nbf"))
	if err != nil || rawjson.TextAt(claims, "iss") != "access" || expires != now.Unix()+1800 || from != now.Unix()-5 {
		t.Errorf("%s", claims)
	}
	now = now.Add(20 * time.Minute)
	if fields(t, m) != token {
		t.Error("another token before its time")
	}
	now = now.Add(6 * time.Minute)
	if fields(t, m) == token {
		t.Error("the same token near its end")
	}
	if secrets := strings.Join(m.Secrets(), " "); !strings.Contains(secrets, "secret-part") || !strings.Contains(secrets, fields(t, m)) || m.Refused(http.Header{}) {
		t.Errorf("secrets %q", secrets)
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	for key, fine := range map[string]bool{"a:b": true, "a:": false, ":b": false} {
		if _, err := new(kling.Dialect).Authorize(&catalog.Provider{Key: key}, auth.Deps{Now: time.Now}); (err == nil) != fine {
			t.Errorf("%q: %v", key, err)
		}
	}
	if m, err := new(kling.Dialect).Authorize(&catalog.Provider{Key: "a-token"}, auth.Deps{}); m != nil || err != nil {
		t.Errorf("a token as it is: %v, %v", m, err)
	}
}
