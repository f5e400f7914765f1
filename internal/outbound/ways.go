package outbound

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"

	"golang.org/x/net/http/httpproxy"
)

// Ways are the ways of the whole gateway. A nil Ways leads directly. It is safe for concurrent use.
type Ways struct {
	now atomic.Pointer[choice]
}

type choice struct {
	proxy   Proxy
	through func(*url.URL) (*url.URL, error)
}

// New makes Ways through a proxy, except to what noProxy lists.
func New(proxy Proxy, noProxy []string) *Ways {
	w := new(Ways)
	w.Use(proxy, noProxy)
	return w
}

// Use changes the ways. Connections that are open stay.
func (w *Ways) Use(proxy Proxy, noProxy []string) {
	c := httpproxy.Config{HTTPSProxy: "http://proxy.invalid", NoProxy: strings.Join(noProxy, ",")}
	w.now.Store(&choice{proxy, c.ProxyFunc()})
}

// To is the way to a host and port: own where that says something, else that of the whole gateway, which never leads through the proxy to this
// machine itself, nor to what is listed.
func (w *Ways) To(own Proxy, address string) Proxy {
	if own.Set() {
		return own
	}
	direct := Proxy{scheme: Direct}
	if w == nil {
		return direct
	}
	c := w.now.Load()
	if !c.proxy.Through() {
		return direct
	}
	if through, err := c.through(&url.URL{Scheme: "https", Host: address}); err != nil || through == nil {
		return direct
	}
	return c.proxy
}

// Home is a server that the operator has declared, at its base URL, with the way to it.
type Home struct {
	URL   string
	Proxy Proxy
}

// HostPort is where a URL connects to, as host and port.
func HostPort(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	return u.Host + ":" + ports[u.Scheme]
}

// CheckException checks an entry of a list of hosts that are reached without the proxy.
func CheckException(entry string) error {
	const form = "write a host (with all below it), .DOMAIN (only what is below it), an address, a network such as 10.0.0.0/8, or *, each as an entry of its own; a port may follow"
	switch _, _, network := strings.Cut(entry, "/"); {
	case entry == "" || strings.ContainsAny(entry, ", \t;") || strings.Contains(entry, "://"):
		return errors.New(form)
	case network:
		if _, err := netip.ParsePrefix(entry); err != nil {
			return errors.New("it is no network; " + form)
		}
	case strings.Contains(strings.TrimPrefix(entry, "*."), "*") && entry != "*":
		return errors.New("* stands alone or before a domain; " + form)
	}
	return nil
}
