package upstream

import (
	"context"
	"net"

	"weir/internal/outbound"
	"weir/internal/upstream/h1"
)

// Dial makes c reach the host over connections of the test's own.
func (c *Client) Dial(scheme, host string, dial func() net.Conn) {
	made := new(group)
	if c.cfg.Standard {
		made.standard = newTransport(false, &c.cfg, made.dial)
		made.standard.DialContext = func(context.Context, string, string) (net.Conn, error) { return dial(), nil }
	} else {
		cfg := c.hostConfig()
		cfg.Dial = func(context.Context, string) (net.Conn, error) { return dial(), nil }
		made.own = h1.NewHost(cfg, scheme, host)
	}
	c.groups.mu.Lock()
	defer c.groups.mu.Unlock()
	c.groups.all = map[groupKey]*group{{scheme: scheme, host: host, proxy: c.cfg.Ways.To(outbound.Proxy{}, host)}: made}
}

// Kin reports whether an address may be sent the credential of the provider at base.
var SameSite = sameSite
