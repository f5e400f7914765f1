package config_test

import (
	"strings"
	"testing"

	"weir/internal/config"
)

// The address of a gateway is as browsers send it, whatever its alphabet; one with a path is refused with the remedy.
func TestPublicURL(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"https://weir.example.org": "https://weir.example.org", "https://weir.example.org/": "https://weir.example.org", "http://127.0.0.1:8080": "http://127.0.0.1:8080", "http://[::1]:8080": "http://[::1]:8080",
		"https://шлюз.рф": "https://xn--g1ah2bza.xn--p1ai", "https://Шлюз.РФ:8443/": "https://xn--g1ah2bza.xn--p1ai:8443",
		"https://example.org/weir": "a host name of its own", "https://example.org/a/b/": "a host name of its own",
	} {
		c, err := config.Load("", env("WEIR_SERVER_PUBLIC_URL", given), nil)
		if err != nil && !strings.Contains(err.Error(), want) || err == nil && c.Server.PublicURL != want {
			t.Errorf("%s: %s, %v", given, c.Server.PublicURL, err)
		}
	}
	c, err := config.Load(write(t, "server: {tls: {acme: {domains: [Шлюз.рф, weir.example.org]}}}"), env(), nil)
	if err != nil || c.Server.PublicURL != "https://xn--g1ah2bza.xn--p1ai" {
		t.Errorf("of the first domain of a certificate: %s, %v", c.Server.PublicURL, err)
	}
}
