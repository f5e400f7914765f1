// Package fetch requests addresses that are not trusted: files that clients and providers name, and callback addresses. It connects only to
// the public Internet and to what the operator allows, and bounds each response in bytes and time.
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
	"weir/internal/outbound"
)

const (
	maxRedirects   = 3
	maxHeaderBytes = 64 << 10
	maxAddresses   = 4 // addresses of a name that are tried
)

// Config configures a Client. It begins with Default.
type Config struct {
	RemoteMedia bool `yaml:"remote_media"` // addresses of clients are fetched; else only those of providers
	HTTP        bool `yaml:"allow_http"`   // http:// is allowed, too, not only https://

	// Hosts and networks of the operator that may be reached although they are not on the public Internet, by who names the address: a
	// provider may be allowed to name a store in the private network, and clients not.
	ProviderMedia, ClientMedia, Callbacks Allowed

	Connect   time.Duration `constant:"connect_timeout"`    // for the name lookup, for the connection, and again for the TLS handshake
	FirstByte time.Duration `constant:"first_byte_timeout"` // until the head of the response
	Idle      time.Duration `constant:"idle_timeout"`       // until the next bytes of a body
	Total     time.Duration `constant:"total_timeout"`      // for everything, including redirects
	MaxBytes  int64         `yaml:"max_bytes" as:"size"`    // of a body

	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)   // nil: the system's
	Dial   func(ctx context.Context, to netip.AddrPort) (net.Conn, error) // nil: TCP
	// Ways may lead through a proxy, and then Tunnel connects through it to a host and port. The rules stay: names are looked up here, and a proxy
	// is asked for the address that was checked, never for a name, except to what the operator has configured or allowed.
	Ways   *outbound.Ways
	Tunnel func(ctx context.Context, through outbound.Proxy, address string) (net.Conn, error)
	Roots  *x509.CertPool // nil: the system's
}

// Default has the usual times and size. Nothing of the operator's own network may be reached.
func Default() Config {
	return Config{Connect: 5 * time.Second, FirstByte: 30 * time.Second, Idle: 30 * time.Second, Total: 120 * time.Second, MaxBytes: 64 << 20}
}

// Allowed are hosts, in lower case, and networks that may be reached at any address, by http too, and at any port in the URL.
type Allowed struct {
	Hosts    []string
	Networks []netip.Prefix
}

// target reports whether the list allows a target.
func (a *Allowed) target(t *target) bool {
	if t.addr.IsValid() {
		return within(t.addr, a.Networks)
	}
	return slices.Contains(a.Hosts, t.host)
}

// Client fetches files and calls callback addresses. It is safe for concurrent use, keeps no connections, cookies or credentials, and
// ignores the proxy settings of the environment.
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
		DisableKeepAlives: true, // a request must not reuse a connection that the checks of another one allowed
	}
	return c
}

// CheckCallback checks a callback address when it is submitted. It returns fault.Invalid with the param, or nil. The addresses of its host
// name are checked at the time of each call.
func (c *Client) CheckCallback(param, raw string) error {
	if _, err := c.parse(raw, &c.cfg.Callbacks, nil); err != nil {
		return fault.Field("fetch.CheckCallback", param, "%s: %s.", param, err.Error()).Because(err)
	}
	return nil
}

type targetKey struct{}

// send makes one request. The dialer takes the target from the context, so that the URL is parsed only once.
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
	way := c.cfg.Ways.To(t.proxy, t.String())
	if way.Through() && t.free && !t.addr.IsValid() {
		return c.cfg.Tunnel(ctx, way, t.String())
	}
	list, err := c.addresses(ctx, t)
	for i, a := range list {
		var conn net.Conn
		if conn, err = c.dialOne(ctx, way, t, netip.AddrPortFrom(a, t.port), len(list)-i); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// dialOne leaves a part of the time to the remaining addresses.
func (c *Client) dialOne(ctx context.Context, way outbound.Proxy, t *target, to netip.AddrPort, left int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok && left > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
	}
	// What is allowed although it is not public is in the operator's own network, of which a proxy need not know.
	if way.Through() && (t.proxy.Set() || !reserved(to.Addr())) {
		if way = c.cfg.Ways.To(t.proxy, to.String()); way.Through() { // the address may be listed, too
			return c.cfg.Tunnel(ctx, way, to.String())
		}
	}
	return c.cfg.Dial(ctx, to)
}

// addresses returns the addresses of a target that may be called now. A name is looked up once, and the checked address is dialled, so that
// a later change of the name has no effect.
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
		a = a.Unmap() // resolvers return IPv4 addresses in this form
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
