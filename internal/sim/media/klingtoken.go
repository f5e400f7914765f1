package media

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"weir/internal/sim/kit"
)

// What tokens on Kling's wire are signed with, unless a Config says otherwise.
const (
	KlingAccessKey = "kling-simulator-access-key"
	KlingSecretKey = "kling-simulator-secret-key"
)

// jwtClaims returns the claims of a token; false when it does not consist of three parts with JSON. It verifies nothing.
func jwtClaims(token string) (*kit.Node, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, false
	}
	claims := jwtPart(parts[1])
	return claims, claims != nil && jwtPart(parts[0]) != nil
}

// jwtPart decodes one part; nil when it is not an object.
func jwtPart(part string) *kit.Node {
	raw, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return nil
	}
	n, err := kit.Parse(raw)
	if err != nil || !n.Is(kit.Object) {
		return nil
	}
	return n
}

// admitKling verifies the token of a request: HS256, our access key, not too early and not too late.
func admitKling(s *kit.Host, r *http.Request) *kit.Refusal {
	refuse := func(code int, message string) *kit.Refusal {
		return &kit.Refusal{Status: 401, Code: strconv.Itoa(code), Message: message}
	}
	if r.Header.Get("Authorization") == "" {
		return refuse(1001, "Authorization is empty")
	}
	token, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	claims, isToken := jwtClaims(token)
	if !isBearer || !isToken {
		return refuse(1002, "Authorization is invalid")
	}
	parts := strings.Split(token, ".")
	mac := hmac.New(sha256.New, []byte(s.Config.KlingSecretKey))
	mac.Write([]byte(parts[0] + "." + parts[1]))
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	now := s.Config.Now().Unix()
	until, hasUntil := claims.Get("exp").Int()
	from, hasFrom := claims.Get("nbf").Int()
	switch {
	case jwtPart(parts[0]).Get("alg").Str() != "HS256":
		return refuse(1002, "Authorization is invalid")
	case err != nil, !hmac.Equal(signature, mac.Sum(nil)), claims.Get("iss").Str() != s.Config.KlingAccessKey:
		return refuse(1000, "Authentication failed")
	case hasFrom && now < from:
		return refuse(1003, "Authorization is not yet valid")
	case !hasUntil || now >= until:
		return refuse(1004, "Authorization has expired")
	}
	return nil
}
