package catalog

import (
	"net/url"
	"slices"
	"strings"
)

// Origins are the servers that a provider's credential is sent to, each as scheme, host and port, in order. A proxy reads what is not encrypted.
func (p *Provider) Origins() []string {
	addresses := []string{p.BaseURL, p.Quirks.AuthURL}
	for _, w := range p.Wires {
		addresses = append(addresses, w.BaseURL)
	}
	var out []string
	readable := false
	for _, a := range addresses {
		if a != "" {
			out = append(out, originOf(a))
			readable = readable || !strings.HasPrefix(strings.ToLower(a), "https://")
		}
	}
	if readable && p.Proxy.Through() {
		out = append(out, "the proxy "+p.Proxy.String())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an address that cannot be read"
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80", "wss": "443", "ws": "80"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Scheme) + "://" + strings.TrimSuffix(strings.ToLower(u.Hostname()), ".") + ":" + port
}
