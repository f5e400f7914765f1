package auth_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/dialect/auth"
	"weir/internal/rawjson"
)

var key = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
})

func pemOf(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func pkcs8(t *testing.T, k any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pemOf("PRIVATE KEY", der)
}

func quoted(s string) string { return string(rawjson.AppendText(nil, s)) }

func googleFile(private string) string {
	return `{"type":"service_account","private_key_id":"kid1","private_key":` + quoted(private) + `,"client_email":"a@b.test","token_uri":"https://token.test/t"}` + "\n"
}

func yandexFile(private string) string {
	return `{"id":"aje1","service_account_id":"aje2","key_algorithm":"RSA_2048","private_key":` + quoted("PLEASE DO NOT REMOVE THIS LINE! Key ID <aje1>\n"+private) + `}`
}

// parts opens a token of RFC 7519 and hashes what is signed.
func parts(t *testing.T, jwt string) (head, claims string, digest, signature []byte) {
	t.Helper()
	list := strings.Split(jwt, ".")
	if len(list) != 3 {
		t.Fatalf("%q", jwt)
	}
	decode := func(s string) []byte {
		b, err := base64.RawURLEncoding.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	sum := sha256.Sum256([]byte(list[0] + "." + list[1]))
	return string(decode(list[0])), string(decode(list[1])), sum[:], decode(list[2])
}

var born = time.Unix(1_700_000_000, 0)

func TestGoogleAccount(t *testing.T) {
	t.Parallel()
	for name, private := range map[string]string{"PKCS 8": pkcs8(t, key()), "PKCS 1": pemOf("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key()))} {
		i, err := auth.Account(googleFile(private), "")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		call, err := i.Ask(born)
		if err != nil || call.URL != "https://token.test/t" || call.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
			t.Fatalf("%s: %v %v", name, call, err)
		}
		form, err := url.ParseQuery(string(call.Body))
		if err != nil || form.Get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
			t.Fatalf("%s: %v %v", name, form, err)
		}
		head, claims, digest, signature := parts(t, form.Get("assertion"))
		if head != `{"typ":"JWT","alg":"RS256","kid":"kid1"}` ||
			claims != `{"iss":"a@b.test","aud":"https://token.test/t","iat":1700000000,"exp":1700003600,"scope":"https://www.googleapis.com/auth/cloud-platform"}` {
			t.Errorf("%s: %s %s", name, head, claims)
		}
		if err := rsa.VerifyPKCS1v15(&key().PublicKey, crypto.SHA256, digest, signature); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		token, until, err := i.Read([]byte(`{"access_token":"ya29.x","expires_in":3599,"token_type":"Bearer"}`), born)
		if token != "ya29.x" || !until.Equal(born.Add(3599*time.Second)) || err != nil {
			t.Errorf("%s: %q %v %v", name, token, until, err)
		}
		if len(i.Secrets) != 1 || i.Secrets[0] != private {
			t.Errorf("%s: the private key is the secret", name)
		}
	}
	if i, err := auth.Account(googleFile(pkcs8(t, key())), "https://other.test"); err != nil {
		t.Error(err)
	} else if call, err := i.Ask(born); err != nil || call.URL != "https://other.test" {
		t.Errorf("%v %v", call, err)
	}
}

func TestYandexAccount(t *testing.T) {
	t.Parallel()
	i, err := auth.Account(yandexFile(pkcs8(t, key())), "http://127.0.0.1/iam")
	if err != nil {
		t.Fatal(err)
	}
	call, err := i.Ask(born)
	if err != nil || call.URL != "http://127.0.0.1/iam" || call.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%v %v", call, err)
	}
	head, claims, digest, signature := parts(t, rawjson.TextAt(call.Body, "jwt"))
	if head != `{"typ":"JWT","alg":"PS256","kid":"aje1"}` || claims != `{"iss":"aje2","aud":"https://iam.api.cloud.yandex.net/iam/v1/tokens","iat":1700000000,"exp":1700003600}` {
		t.Errorf("%s %s", head, claims)
	}
	if err := rsa.VerifyPSS(&key().PublicKey, crypto.SHA256, digest, signature, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash}); err != nil {
		t.Error(err)
	}
	token, until, err := i.Read([]byte(`{"iamToken":"t1.x","expiresAt":"2023-11-15T00:00:00.123456789Z"}`), born)
	if token != "t1.x" || err != nil || !until.Equal(time.Date(2023, 11, 15, 0, 0, 0, 123456789, time.UTC)) {
		t.Errorf("%q %v %v", token, until, err)
	}
}

func TestAccountRefuses(t *testing.T) {
	t.Parallel()
	elliptic256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good := pkcs8(t, key())
	for name, file := range map[string]string{
		"no JSON": "{", "no key": `{"type":"service_account"}`, "another kind of key": googleFile(pkcs8(t, elliptic256)), "no PEM": googleFile("secret text"),
		"neither": `{"private_key":` + quoted(good) + `}`, "nobody": `{"type":"service_account","token_uri":"https://a.test","private_key":` + quoted(good) + `}`,
	} {
		if _, err := auth.Account(file, ""); err == nil {
			t.Errorf("%s: was taken", name)
		} else if strings.Contains(err.Error(), "secret text") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if auth.IsAccount("sk-abc") || !auth.IsAccount(" \n{}") || !auth.IsYandexToken("t1.9euel") || auth.IsYandexToken("AQVN") {
		t.Error("a credential is taken for another")
	}
}

// Nothing that an issuer sends back makes the reading of it fail but with an error.
func FuzzIssuerAnswer(f *testing.F) {
	f.Add([]byte(`{"access_token":"a","expires_in":1e99,"iamToken":"b","expiresAt":"2023-11-15T00:00:00Z"}`))
	f.Add([]byte(`{"access_token":1,"expires_in":-5}`))
	private := pemOf("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key()))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, file := range []string{googleFile(private), yandexFile(private)} {
			i, err := auth.Account(file, "")
			if err != nil {
				t.Fatal(err)
			}
			i.Ask = func(time.Time) (*auth.Call, error) { return &auth.Call{}, nil }
			tokens := auth.NewTokens(i, auth.Deps{Now: func() time.Time { return born }, Go: func(run func(context.Context)) { go run(context.Background()) },
				Fetch: func(context.Context, *auth.Call) (int, []byte, error) { return 200, body, nil }})
			fields, err := tokens.Fields(context.Background(), nil)
			if err == nil && strings.ContainsAny(fields.Get("Authorization")[len("Bearer "):], " \r\n\x00") {
				t.Errorf("%q", fields)
			}
		}
	})
}
