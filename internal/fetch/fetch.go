// Package fetch gets what strangers name: files that clients and providers point to, and addresses that want to be called back. What it
// is asked for never decides where it connects to beyond the public Internet, and what it brings is bounded in bytes and in time.
package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"weir/internal/fault"
)

const (
	maxRedirects   = 3
	maxHeaderBytes = 64 << 10
	maxAddresses   = 4 // of a name that are tried
)

// Config says what may be fetched. Its values are in package config, which has the defaults.
type Config struct {
	RemoteMedia bool // what clients name is fetched, too, and not only what providers name
	HTTP        bool // http:// is asked as well as https://

	// What is the operator's own and may be reached though it is none of the public Internet, by who names the address: a provider that
	// may lead to a store inside of the network says nothing of what a client may.
	ProviderMedia, ClientMedia, Callbacks Allowed

	Connect   time.Duration // to find the address, to connect, and again to agree on TLS
	FirstByte time.Duration // until the head of an answer
	Idle      time.Duration // until the next bytes of a body
	Total     time.Duration // for all of it, redirects included
	MaxBytes  int64         // of a body

	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)   // nil: the system's
	Dial   func(ctx context.Context, to netip.AddrPort) (net.Conn, error) // nil: TCP
	Roots  *x509.CertPool                                                 // nil: the system's
}

// Allowed are hosts, in lower case, and networks that are reached at whatever address, and by http and at any port where the URL names them.
type Allowed struct {
	Hosts    []string
	Networks []netip.Prefix
}

// target reports whether a target may be whatever it is.
func (a *Allowed) target(t *target) bool {
	if t.addr.IsValid() {
		return within(t.addr, a.Networks)
	}
	return slices.Contains(a.Hosts, t.host)
}

// Client fetches. It is safe for concurrent use, keeps no connection, no cookie and no credential, and does not read the proxy settings of
// the environment.
type Client struct {
	cfg       Config
	transport *http.Transport
}

// New makes a Client.
func New(cfg Config) *Client {
	if cfg.Lookup == nil {
		cfg.Lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	if cfg.Dial == nil {
		cfg.Dial = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", to.String())
		}
	}
	c := &Client{cfg: cfg}
	c.transport = &http.Transport{
		DialContext: c.dial, TLSClientConfig: &tls.Config{RootCAs: cfg.Roots, MinVersion: tls.VersionTLS12}, TLSHandshakeTimeout: cfg.Connect,
		ResponseHeaderTimeout: cfg.FirstByte, MaxResponseHeaderBytes: maxHeaderBytes, DisableCompression: true,
		DisableKeepAlives: true, // a connection that one request may use is not always one for the next
	}
	return c
}

// CheckCallback says what is wrong with an address of a receiver of events before it is ever called, as a fault.Invalid about a field; nil when nothing is. What its
// name leads to is looked at when it is called.
func (c *Client) CheckCallback(param, raw string) error {
	if _, err := c.parse(raw, &c.cfg.Callbacks, nil); err != nil {
		return fault.Field("fetch.CheckCallback", param, "%s: %s.", param, err.Error()).Because(err)
	}
	return nil
}

type targetKey struct{}

// send makes one request. The dialer gets the target from the context, so that the URL is read once.
func (c *Client) send(req *http.Request, t *target) (*http.Response, error) {
	req = req.WithContext(context.WithValue(req.Context(), targetKey{}, t))
	req.Header.Set("User-Agent", "weir")
	return c.transport.RoundTrip(req)
}

func (c *Client) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	t, ok := ctx.Value(targetKey{}).(*target)
	if !ok {
		return nil, refusal("was not checked")
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Connect)
	defer cancel()
	list, err := c.addresses(ctx, t)
	for i, a := range list {
		var conn net.Conn
		if conn, err = c.dialOne(ctx, netip.AddrPortFrom(a, t.port), len(list)-i); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// dialOne leaves some of the time to the addresses that are left.
func (c *Client) dialOne(ctx context.Context, to netip.AddrPort, left int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok && left > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
	}
	return c.cfg.Dial(ctx, to)
}

// addresses are those of a target that may be called now. A name is asked for once, and what it says is what is dialled: a name that
// says something else a moment later gains nothing by it.
func (c *Client) addresses(ctx context.Context, t *target) ([]netip.Addr, error) {
	if t.addr.IsValid() {
		return []netip.Addr{t.addr}, nil
	}
	all, err := c.cfg.Lookup(ctx, t.host)
	if err != nil {
		return nil, err
	}
	var list []netip.Addr
	for _, a := range all {
		a = a.Unmap() // resolvers write IPv4 addresses so
		if t.free || within(a, t.allowed.Networks) || !reserved(a) {
			list = append(list, a)
		}
	}
	switch {
	case len(all) == 0:
		return nil, errNoAddress
	case len(list) == 0:
		return nil, refusal("does not lead to the public Internet")
	}
	return list[:min(len(list), maxAddresses)], nil
}

var (
	errNoAddress = errors.New("the name has no address")
	errIdle      = errors.New("no bytes came for too long")
	errTotal     = errors.New("it took too long")
)
