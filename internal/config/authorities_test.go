package config_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/config"
)

// authority returns a certificate authority in PEM.
func authority(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// A provider's certificate authorities reach the catalog. A file without any is refused.
func TestAuthorities(t *testing.T) {
	t.Parallel()
	ca := authority(t)
	good, bad := writeFile(t, "ca.pem", ca, 0o644), writeFile(t, "empty.pem", "nothing", 0o644)
	const own = "base_url: \"https://h\", models: [{id: v/m, prices: {prompt: 1, completion: 1}}]"
	for _, c := range []struct{ name, provider, id, want, err string }{
		{"one's own provider", "id: a, dialect: gigachat, ca_file: " + good + ", " + own, "a", ca, ""},
		{"a built-in provider", "id: openai, api_key: k, ca_file: " + good, "openai", ca, ""},
		{"none", "id: a, " + own, "a", "", ""},
		{"no certificate", "id: a, ca_file: " + bad + ", " + own, "", "", "ca_file: there is no certificate in PEM"},
		{"no file", "id: a, ca_file: " + good + ".no, " + own, "", "", "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg, err := config.Parse([]byte("providers: [{"+c.provider+"}]"), env())
			if err == nil {
				err = cfg.Validate()
			}
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("%v, want %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			d, err := declaredBy(&cfg, env())
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(d.Providers, func(p catalog.Provider) bool { return p.ID == c.id })
			if i < 0 || d.Providers[i].CA != c.want {
				t.Errorf("%+v", d.Providers)
			}
		})
	}
}

// Unknown dialects are refused. Credentials that are exchanged or parsed before they are sent may contain characters that a header may not.
func TestDialectsAndCredentials(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, dialect, key, err string }{
		{"bedrock", "bedrock", "AKIDEXAMPLE:secret/key:session", ""}, {"gigachat", "gigachat", "Y2xpZW50OnNlY3JldA==", ""}, {"a key file", "gemini", "{\n \"type\": \"service_account\" }", ""},
		{"anthropic", "anthropic", "k", ""}, {"a slip", "bedrok", "k", `the dialect "bedrok" is not known; did you mean bedrock?; known: openai,`}, {"a key of two words", "openai", "a b", "cannot be sent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg, err := config.Parse(fmt.Appendf(nil, "providers: [{id: a, dialect: %s, api_key: %q, base_url: \"https://h\", models: [{id: v/m, prices: {prompt: 1, completion: 1}}]}]", c.dialect, c.key), env())
			if err == nil {
				err = cfg.Validate()
			}
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Fatalf("%v, want %q", err, c.err)
			}
			if c.name == "bedrock" && !slices.Equal(cfg.Secrets(), []string{c.key, "secret/key", "session"}) {
				t.Errorf("%q", cfg.Secrets())
			}
		})
	}
}
