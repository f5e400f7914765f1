package redact_test

import (
	"bytes"
	"strings"
	"testing"

	"weir/internal/redact"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	pem := "-----BEGIN PRIVATE KEY-----\nMIIB\nAAAA\n-----END PRIVATE KEY-----"
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", `{"message":"hello"}`, `{"message":"hello"}`},
		{"our key", `key sk-weir-v1-abcDEF0123 here`, `key [redacted:key] here`},
		{"other key in quotes", `"sk-proj-a_b-c.d"`, `"[redacted:key]"`},
		{"after an escaped newline", `"a\nsk-abcdef"`, `"a\n[redacted:key]"`},
		{"after a unicode escape", `"a\u0022sk-abcdef"`, `"a\u0022[redacted:key]"`},
		{"after a percent escape", `x%20sk-abcdef`, `x%20[redacted:key]`},
		{"ordinary words", `a risk-free task-force, disk-`, `a risk-free task-force, disk-`},
		{"long key glued to a word", `keysk-0123456789abcdefghijkl`, `key[redacted:key]`},
		{"bearer", `Authorization: Bearer abc.def-ghi`, `Authorization: [redacted:bearer]`},
		{"bearer in capitals", `BEARER  xyz1`, `[redacted:bearer]`},
		{"bearer of a key", `bearer sk-abc`, `bearer [redacted:key]`},
		{"bearer alone", `no Bearer `, `no Bearer `},
		{"webhook secret", `whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw+/=`, `[redacted:webhook-secret]`},
		{"google key", `?key=AIzaSyA-1234_x&a=1`, `?key=[redacted:google-key]&a=1`},
		{"google key inside a word", `xAIzaSyA-0123456789012345678901234567890`, `x[redacted:google-key]`},
		{"no google key", `req_CalOAIza8MGC8dn1AKgUT27k req_AIza8MGC8dn1AKgUT27k0123`, `req_CalOAIza8MGC8dn1AKgUT27k req_AIza8MGC8dn1AKgUT27k0123`},
		{"chat token", `xoxb-12-ab xoxo hugs`, `[redacted:chat-token] xoxo hugs`},
		{"pem", "a " + pem + " b", "a [redacted:pem] b"},
		{"cut pem", "a " + pem[:40], "a [redacted:pem]"},
		{"two of a kind", "sk-a1 sk-b2", "[redacted:key] [redacted:key]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := string(redact.Redact([]byte(tt.in))); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestConfiguredSecrets(t *testing.T) {
	t.Parallel()
	r := redact.New("hunter22", `with"quote`, "tiny")
	in := []byte(`{"a":"hunter22","b":"with\"quote","c":"tiny"}`)
	want := `{"a":"[redacted:secret]","b":"[redacted:secret]","c":"tiny"}`
	if got := string(r.Redact(in)); got != want {
		t.Errorf("got %s", got)
	}
	if !strings.Contains(string(in), "hunter22") {
		t.Error("the input was changed")
	}
	r.SetSecrets("another1")
	if got := string(r.Redact([]byte("hunter22 another1"))); got != "hunter22 [redacted:secret]" {
		t.Errorf("after SetSecrets: %s", got)
	}
	var none *redact.Redactor
	if got := string(none.Redact([]byte("hunter22 sk-x"))); got != "hunter22 [redacted:key]" {
		t.Errorf("nil redactor: %s", got)
	}
}

func TestNothingFoundCostsNothing(t *testing.T) {
	in := []byte(strings.Repeat("an ordinary access record, ", 20))
	r := redact.New("some-configured-secret")
	if n := testing.AllocsPerRun(100, func() { r.Redact(in) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzRedact(f *testing.F) {
	f.Add([]byte("x"), []byte("sk-weir-v1-0123456789"))
	f.Add([]byte("Bearer "), []byte("-----BEGIN X"))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		const canary = "sk-weir-v1-canaryCANARYcanary0123456789"
		in := append(append(append(bytes.Clone(before), ' '), canary...), after...)
		kept := bytes.Clone(in)
		if out := redact.Redact(in); bytes.Contains(out, []byte(canary)) {
			t.Errorf("canary survived in %q", out)
		}
		if !bytes.Equal(in, kept) {
			t.Error("the input was changed")
		}
	})
}

func BenchmarkRedactNothing(b *testing.B) {
	in := []byte(strings.Repeat("an ordinary access record, ", 20))
	r := redact.New("some-configured-secret", "another-secret-value")
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		r.Redact(in)
	}
}
