package certificate

import (
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestRefusal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		want   string
	}{
		{403, `{"type":"urn:ietf:params:acme:error:rateLimited","detail":"too many certificates"}`, "too many certificates"},
		{400, `{"type":"urn:ietf:params:acme:error:badNonce","detail":"not a nonce of ours"}`, ""},
		{200, `{"status":"pending","challenges":[{"type":"http-01"}]}`, ""},
		{200, `{"status":"invalid","challenges":[{"type":"http-01"},{"type":"tls-alpn-01","error":{"detail":"cannot connect to 192.0.2.1"}}]}`, "cannot connect to 192.0.2.1"},
		{200, `{"challenges":[{"error":"no object"},7,null]}`, ""},
		{200, `{"challenges":{"error":{"detail":"no list"}}}`, ""},
		{200, `[]`, ""},
		{500, `{"detail":7}`, ""},
		{500, `{"detail":"cut`, ""},
		{500, `<html>`, ""},
		{500, ``, ""},
		{500, `{"detail":"` + strings.Repeat("я", 1000) + `"}`, strings.Repeat("я", 250) + "…"},
	} {
		if got := refusal(c.status, []byte(c.body)); got != c.want {
			t.Errorf("%d %.60s: %q, want %q", c.status, c.body, got, c.want)
		}
	}
}

func FuzzRefusal(f *testing.F) {
	f.Add(403, []byte(`{"type":"a","detail":"b","challenges":[{"error":{"detail":"c"}}]}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if why := refusal(status, body); len(why) > 600 {
			t.Errorf("%d bytes", len(why))
		}
	})
}

type answers func(*http.Request) (*http.Response, error)

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

// A response that was looked at can still be read whole, and ends with the same error.
func TestLastRefusalPassesAnswersOn(t *testing.T) {
	t.Parallel()
	broken := errors.New("the line broke")
	long := `{"detail":"` + strings.Repeat("x", 2*mostRead) + `"}`
	for _, c := range []struct {
		kind, body string
		end        error
	}{
		{"application/problem+json", `{"detail":"no"}`, nil},
		{"application/problem+json", `{"detail":"no"}`, broken},
		{"application/json", long, nil},
		{"application/pem-certificate-chain", long, broken},
	} {
		var from io.Reader = strings.NewReader(c.body)
		if c.end != nil {
			from = io.MultiReader(from, iotest.ErrReader(c.end))
		}
		h := &lastRefusal{next: answers(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 500, Header: http.Header{"Content-Type": {c.kind}}, Body: io.NopCloser(from)}, nil
		})}
		res, err := h.RoundTrip(nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if string(got) != c.body || !errors.Is(err, c.end) {
			t.Errorf("%s: %d bytes of %d, %v, want %v", c.kind, len(got), len(c.body), err, c.end)
		}
	}
	h := &lastRefusal{next: answers(func(*http.Request) (*http.Response, error) { return nil, broken })}
	if res, err := h.RoundTrip(nil); !errors.Is(err, broken) || res != nil || h.reason() != broken.Error() {
		t.Errorf("%v, %q", err, h.reason())
	}
}

// A renewal is late only when the library has certainly begun with it.
func TestLate(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for lasts, want := range map[time.Duration]time.Duration{
		90 * 24 * time.Hour:  60*24*time.Hour + 2*time.Hour,
		365 * 24 * time.Hour: 335*24*time.Hour + 2*time.Hour,
		24 * time.Hour:       18 * time.Hour,
		30 * time.Second:     25 * time.Second,
	} {
		if got := late(&x509.Certificate{NotBefore: begin, NotAfter: begin.Add(lasts)}).Sub(begin); got != want {
			t.Errorf("of %v: late after %v, want %v", lasts, got, want)
		}
	}
}
