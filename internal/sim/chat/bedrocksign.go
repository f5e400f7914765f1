package chat

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir/internal/sim/kit"
)

// The access key that requests to Bedrock's wire are signed with when no other is configured. It is no secret.
const (
	AWSKeyID     = "AKIASIMULATOR0000000"
	AWSSecretKey = "simulator/secret/access/key"
)

const signing = "AWS4-HMAC-SHA256"

// A signature is valid for so long before and after its time.
const signatureLife = 5 * time.Minute

func notSigned(name, message string) *kit.Refusal {
	return &kit.Refusal{Status: 403, Code: name, Message: message}
}

// signedBy checks the credentials of a request: a bearer token, or a version 4 signature of the whole request.
func signedBy(s *kit.Host, r *http.Request, body []byte) *kit.Refusal {
	authorization := r.Header.Get("Authorization")
	rest, signed := strings.CutPrefix(authorization, signing+" ")
	switch {
	case strings.HasPrefix(authorization, "Bearer "):
		if s.HasKey(kit.Bearer(r)) {
			return nil
		}
		return notSigned("AccessDeniedException", "Authentication failed: Please make sure your API Key is valid.")
	case !signed:
		return notSigned("MissingAuthenticationTokenException", "Missing Authentication Token")
	}
	fields := map[string]string{}
	for _, f := range strings.Split(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(f), "=")
		fields[name] = value
	}
	scope := strings.Split(fields["Credential"], "/")
	if len(scope) != 5 || fields["SignedHeaders"] == "" || fields["Signature"] == "" {
		return notSigned("IncompleteSignatureException", "Authorization header requires 'Credential', 'Signature' and 'SignedHeaders' parameters.")
	}
	if scope[0] != s.Config.AWSKeyID {
		return notSigned("UnrecognizedClientException", "The security token included in the request is invalid.")
	}
	if scope[3] != "bedrock" || scope[4] != "aws4_request" {
		return notSigned("InvalidSignatureException", "Credential should be scoped to correct service: 'bedrock'.")
	}
	date := r.Header.Get("X-Amz-Date")
	at, err := time.Parse("20060102T150405Z", date)
	if err != nil || !strings.HasPrefix(date, scope[1]) {
		return notSigned("IncompleteSignatureException", "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.")
	}
	if away := s.Config.Now().Sub(at).Abs(); away > signatureLife {
		return notSigned("InvalidSignatureException", "Signature expired: "+date+" is not within 5 minutes of the service's time.")
	}
	headers := strings.Split(fields["SignedHeaders"], ";")
	if !slices.Contains(headers, "host") {
		return notSigned("InvalidSignatureException", "'Host' must be a 'SignedHeader' in the AWS Authorization.")
	}
	text := signing + "\n" + date + "\n" + strings.Join(scope[1:], "/") + "\n" + digestOf([]byte(canonicalRequest(r, body, headers)))
	key := []byte("AWS4" + s.Config.AWSSecretKey)
	for _, part := range scope[1:] {
		key = macOf(key, part)
	}
	if !hmac.Equal([]byte(hex.EncodeToString(macOf(key, text))), []byte(fields["Signature"])) {
		return notSigned("InvalidSignatureException", "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.")
	}
	return nil
}

// canonicalRequest is the one form of a request that is signed: AWS General Reference, "Create a canonical request".
func canonicalRequest(r *http.Request, body []byte, headers []string) string {
	var b strings.Builder
	b.WriteString(r.Method + "\n" + escaped(r.URL.EscapedPath()) + "\n")
	b.WriteString(strings.ReplaceAll(r.URL.Query().Encode(), "+", "%20") + "\n")
	for _, name := range headers {
		value := strings.Join(r.Header.Values(name), ",")
		if name == "host" {
			value = r.Host
		}
		if name == "content-length" && value == "" {
			value = kit.Itoa(len(body))
		}
		b.WriteString(name + ":" + strings.Join(strings.Fields(value), " ") + "\n")
	}
	b.WriteString("\n" + strings.Join(headers, ";") + "\n" + digestOf(body))
	return b.String()
}

// escaped is a path, escaped as it was sent, escaped once more: only S3 does without.
func escaped(path string) string {
	parts := strings.Split(path, "/")
	for i := range parts {
		parts[i] = strings.ReplaceAll(url.QueryEscape(parts[i]), "+", "%20")
	}
	return strings.Join(parts, "/")
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func macOf(key []byte, s string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(s))
	return mac.Sum(nil)
}
