package auth

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"weir/internal/rawjson"
)

const (
	googleScope = "https://www.googleapis.com/auth/cloud-platform"
	yandexURL   = "https://iam.api.cloud.yandex.net/iam/v1/tokens"

	assertionLife = time.Hour      // the longest that both accept
	yandexRenew   = 11 * time.Hour // tokens live for at most twelve hours; the answer has the exact time
)

// IsAccount reports whether a credential is the key file of a service account. Other credentials are sent unchanged.
func IsAccount(credential string) bool { return strings.HasPrefix(strings.TrimSpace(credential), "{") }

// Account is the Issuer for the key file of a service account, in the JSON of Google or of Yandex. tokenURL is where it is exchanged; ""
// means the address in the file, or Yandex's usual one.
func Account(credential, tokenURL string) (Issuer, error) {
	file := []byte(strings.TrimSpace(credential))
	if !rawjson.Valid(file) {
		return Issuer{}, errors.New("auth: the key file is not JSON")
	}
	text := func(name string) string { return rawjson.TextAt(file, name) }
	key, err := privateKey(text("private_key"))
	if err != nil {
		return Issuer{}, err
	}
	a := account{key: key, keyID: text("private_key_id"), url: tokenURL}
	secrets := []string{text("private_key")}
	switch {
	case text("type") == "service_account":
		a.subject = text("client_email")
		if a.url == "" {
			a.url = text("token_uri")
		}
		if a.subject == "" || a.url == "" {
			return Issuer{}, errors.New("auth: the key file lacks client_email or token_uri")
		}
		return Issuer{Ask: a.askGoogle, Read: readGoogle, Secrets: secrets}, nil
	case text("service_account_id") != "" && text("id") != "":
		a.subject, a.keyID = text("service_account_id"), text("id")
		if a.url == "" {
			a.url = yandexURL
		}
		return Issuer{Ask: a.askYandex, Read: readYandex, Secrets: secrets}, nil
	}
	return Issuer{}, errors.New("auth: the key file is neither a service account of Google nor an authorized key of Yandex Cloud")
}

// privateKey reads an RSA key. Yandex writes a line of text before the PEM block, which Decode skips.
func privateKey(text string) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("auth: the key file has no private_key in PEM")
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	any, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := any.(*rsa.PrivateKey)
	if err != nil || !ok {
		return nil, errors.New("auth: the private_key of the key file is not an RSA key")
	}
	return key, nil
}

// account signs assertions: JSON Web Tokens (RFC 7519) that are exchanged for tokens.
type account struct {
	key     *rsa.PrivateKey
	keyID   string
	subject string
	url     string
}

// askGoogle follows RFC 7523, as described in "Using OAuth 2.0 for server to server applications".
func (a *account) askGoogle(now time.Time) (*Call, error) {
	claims := a.claims(now, a.url, `,"scope":"`+googleScope+`"`)
	jwt, err := a.sign("RS256", claims, func(digest []byte) ([]byte, error) {
		return rsa.SignPKCS1v15(nil, a.key, crypto.SHA256, digest)
	})
	if err != nil {
		return nil, err
	}
	form := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {jwt}}
	return &Call{URL: a.url, Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, Body: []byte(form.Encode())}, nil
}

func readGoogle(body []byte, now time.Time) (string, time.Time, error) {
	seconds, ok := rawjson.Int(rawjson.Find(body, "expires_in"))
	if !ok || seconds < 0 || seconds > int64((24*time.Hour).Seconds()) {
		seconds = 0
	}
	return rawjson.TextAt(body, "access_token"), now.Add(time.Duration(seconds) * time.Second), nil
}

// askYandex follows "Getting an IAM token for a service account" of Yandex Cloud, which requires PS256.
func (a *account) askYandex(now time.Time) (*Call, error) {
	jwt, err := a.sign("PS256", a.claims(now, yandexURL, ""), func(digest []byte) ([]byte, error) {
		return rsa.SignPSS(rand.Reader, a.key, crypto.SHA256, digest, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash})
	})
	if err != nil {
		return nil, err
	}
	return &Call{URL: a.url, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(`{"jwt":"` + jwt + `"}`)}, nil
}

func readYandex(body []byte, now time.Time) (string, time.Time, error) {
	until, err := time.Parse(time.RFC3339Nano, rawjson.TextAt(body, "expiresAt"))
	if err != nil {
		until = now
	}
	if most := now.Add(yandexRenew); until.After(most) {
		until = most
	}
	return rawjson.TextAt(body, "iamToken"), until, nil
}

func (a *account) claims(now time.Time, audience, more string) []byte {
	b := rawjson.AppendText([]byte(`{"iss":`), a.subject)
	b = rawjson.AppendText(append(b, `,"aud":`...), audience)
	b = strconv.AppendInt(append(b, `,"iat":`...), now.Unix(), 10)
	b = strconv.AppendInt(append(b, `,"exp":`...), now.Add(assertionLife).Unix(), 10)
	return append(append(b, more...), '}')
}

func (a *account) sign(algorithm string, claims []byte, seal func(digest []byte) ([]byte, error)) (string, error) {
	head := []byte(`{"typ":"JWT","alg":"` + algorithm + `"`)
	if a.keyID != "" {
		head = rawjson.AppendText(append(head, `,"kid":`...), a.keyID)
	}
	text := base64.RawURLEncoding.EncodeToString(append(head, '}')) + "." + base64.RawURLEncoding.EncodeToString(claims)
	digest := sha256.Sum256([]byte(text))
	signature, err := seal(digest[:])
	if err != nil {
		return "", err
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

// YandexScheme is the word before the API keys of Yandex Cloud.
const YandexScheme = "Api-Key"

// IsYandexToken reports whether a credential is an IAM token, which needs another scheme than an API key.
func IsYandexToken(credential string) bool { return strings.HasPrefix(credential, "t1.") }
