package webhook_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"weir/internal/webhook"
)

var at = time.Date(2026, 11, 5, 12, 30, 0, 123_456_000, time.UTC)

// The example of "Standard Webhooks", as its reference libraries test it.
func TestSignature(t *testing.T) {
	t.Parallel()
	const secret, other = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
	sign := func(secrets ...string) string {
		text, err := webhook.Signature(secrets, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 999_999_999), []byte(`{"test": 2432232314}`))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	const want = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	if got := sign(secret); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := sign(other, secret); got != sign(other)+" "+want || sign(other) == want {
		t.Errorf("two secrets give %s", got)
	}
}

func TestBadSecrets(t *testing.T) {
	t.Parallel()
	cases := map[string][]string{
		"none":           nil,
		"empty":          {""},
		"only a prefix":  {"whsec_"},
		"without prefix": {"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
		"no base64":      {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa!!"},
		"short":          {"whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 23))},
		"long":           {"whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 65))},
		"one of two":     {webhook.NewSecret(), "whsec_"},
	}
	for name, secrets := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := webhook.Signature(secrets, "id", at, nil)
			if err == nil || text != "" {
				t.Errorf("%q %v", text, err)
			}
			if err != nil && strings.Contains(err.Error(), "MfKQ") {
				t.Errorf("the error tells the secret: %v", err)
			}
		})
	}
}

func TestNewSecret(t *testing.T) {
	t.Parallel()
	a, b := webhook.NewSecret(), webhook.NewSecret()
	if a == b || !strings.HasPrefix(a, "whsec_") {
		t.Errorf("%q %q", a, b)
	}
	if key, err := base64.StdEncoding.DecodeString(a[len("whsec_"):]); err != nil || len(key) != 32 {
		t.Errorf("%q is %d bytes, %v", a, len(key), err)
	}
}

func TestNewDelivery(t *testing.T) {
	t.Parallel()
	d := webhook.NewDelivery("vj_1-completed", "usr_1", "https://example.com/", "video.generation.completed", []byte(`{"id":"vj_1"}`), at.In(time.FixedZone("", 3600)))
	if got, want := string(d.Payload), `{"type":"video.generation.completed","created_at":"2026-11-05T12:30:00.123Z","data":{"id":"vj_1"}}`; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if !d.NextAt.Equal(at) || !d.CreatedAt.Equal(at) {
		t.Errorf("%+v", d)
	}
}
