package sim

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
)

// What tokens on Kling's wire are signed with, unless a Config says otherwise.
const (
	KlingAccessKey = "kling-simulator-access-key"
	KlingSecretKey = "kling-simulator-secret-key"
)

// jwtClaims are what a token claims; false when it is no token of three parts with JSON in them. Nothing is verified.
func jwtClaims(token string) (*node, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, false
	}
	claims := jwtPart(parts[1])
	return claims, claims != nil && jwtPart(parts[0]) != nil
}

// jwtPart is one part as an object, nil when it is none.
func jwtPart(part string) *node {
	raw, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return nil
	}
	n, err := parse(raw)
	if err != nil || !n.is(object) {
		return nil
	}
	return n
}

// admitKling verifies the token of a request: HS256, our access key, not too early and not too late.
func admitKling(s *Host, r *http.Request) *refusal {
	refuse := func(code int, message string) *refusal {
		return &refusal{status: 401, code: strconv.Itoa(code), message: message}
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
	mac := hmac.New(sha256.New, []byte(s.config.KlingSecretKey))
	mac.Write([]byte(parts[0] + "." + parts[1]))
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	now := s.config.Now().Unix()
	until, hasUntil := claims.get("exp").whole()
	from, hasFrom := claims.get("nbf").whole()
	switch {
	case jwtPart(parts[0]).get("alg").str() != "HS256":
		return refuse(1002, "Authorization is invalid")
	case err != nil, !hmac.Equal(signature, mac.Sum(nil)), claims.get("iss").str() != s.config.KlingAccessKey:
		return refuse(1000, "Authentication failed")
	case hasFrom && now < from:
		return refuse(1003, "Authorization is not yet valid")
	case !hasUntil || now >= until:
		return refuse(1004, "Authorization has expired")
	}
	return nil
}
