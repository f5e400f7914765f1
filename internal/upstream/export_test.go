package upstream

import (
	"context"
	"net"
	"net/http"
)

// Dial makes c reach the host over connections of the test's own.
func (c *Client) Dial(scheme, host string, dial func() net.Conn) {
	tr := newTransport(false, &c.cfg)
	tr.DialContext = func(context.Context, string, string) (net.Conn, error) { return dial(), nil }
	c.groups.mu.Lock()
	defer c.groups.mu.Unlock()
	c.groups.all = map[groupKey]*http.Transport{{scheme, host, false}: tr}
}
