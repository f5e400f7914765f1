package config_test

import (
	"os"
	"strings"
	"testing"

	"weir/internal/config"
)

func TestTLS(t *testing.T) {
	t.Parallel()
	empty := writeFile(t, "empty.pem", "nothing", 0o644)
	for _, c := range []struct{ yaml, want, public string }{
		{`tls: {cert_file: a, key_file: b}`, "", ""},
		{`tls: {acme: {domains: [Weir.example.com, b.example.com]}}`, "", "https://weir.example.com"},
		{`tls: {acme: {domains: [weir.example.com]}}, public_url: "https://b.example.com/"`, "", "https://b.example.com"},
		{`tls: {acme: {domains: [weir.example.com]}, redirect_listen: ":80"}`, "", "https://weir.example.com"},
		{`tls: {cert_file: a}`, "server.tls.key_file: it must name the key", ""},
		{`tls: {key_file: a}`, "server.tls.cert_file: it must name the certificate", ""},
		{`tls: {cert_file: a, key_file: b, acme: {domains: [weir.example.com]}}`, "server.tls.acme.domains: a certificate comes from", ""},
		{`tls: {acme: {domains: [localhost]}}`, `server.tls.acme.domains[0]: "localhost" is not a name`, ""},
		{`tls: {acme: {domains: [weir.example.com, 192.0.2.1]}}`, `server.tls.acme.domains[1]: "192.0.2.1"`, ""},
		{`tls: {acme: {domains: ["*.example.com"]}}`, "server.tls.acme.domains[0]", ""},
		{`tls: {acme: {domains: ["https://weir.example.com"]}}`, "server.tls.acme.domains[0]", ""},
		{`tls: {acme: {email: nobody}}`, "server.tls.acme.email", ""},
		{`tls: {acme: {directory_url: "http://ca.example.com"}}`, "server.tls.acme.directory_url: it must be an https:// address", ""},
		{`tls: {acme: {ca_file: ` + empty + `}}`, "server.tls.acme.ca_file: there is no certificate in PEM", ""},
		{`tls: {redirect_listen: ":80"}`, "server.tls.redirect_listen: there is no https:// address to redirect to", ""},
		{`tls: {cert_file: a, key_file: b, redirect_listen: ":80"}`, "server.public_url: redirect_listen redirects to it", ""},
		{`tls: {cert_file: a, key_file: b, redirect_listen: nonsense}, public_url: "https://b.example.com"`, "server.tls.redirect_listen", ""},
	} {
		cfg, err := config.Load(writeFile(t, "weir.yaml", "server: {"+c.yaml+"}\n", 0o600), os.LookupEnv, config.Overlay{})
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v; want %q", c.yaml, err, c.want)
		case err == nil && cfg.Server.PublicURL != c.public:
			t.Errorf("%s: public_url is %q; want %q", c.yaml, cfg.Server.PublicURL, c.public)
		}
	}
}
