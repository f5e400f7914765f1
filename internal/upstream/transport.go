package upstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/outbound"
	"weir/internal/upstream/h1"
)

// target is a provider with the data that is computed once per declaration and not per request.
type target struct {
	provider *catalog.Provider
	dialect  dialect.Dialect
	text     dialect.Texter                      // dialect, nil when it completes no text
	native   map[completion.Style]dialect.Texter // further wires of the provider, for clients that use the same wire
	host     string
	base     string // path of the provider's base URL as sent, without a slash at its end
	group    *group
	keys     *credentials
}

// target finds or makes the target of p. A reload of the catalog brings a new p, and with it a new target;
// the connections, which belong to the host, stay.
func (c *Client) target(p *catalog.Provider) (*target, error) {
	if p.OwnKey != "" {
		return c.owned.get(c, p)
	}
	if t, ok := c.targets.Load(p.Wire()); ok && t.(*target).provider == p {
		return t.(*target), nil
	}
	c.making.Lock() // one target for simultaneous calls, so that its tokens are fetched once
	defer c.making.Unlock()
	if t, ok := c.targets.Load(p.Wire()); ok && t.(*target).provider == p {
		return t.(*target), nil
	}
	t, err := c.newTarget(p)
	if err != nil {
		return nil, err
	}
	if old, ok := c.targets.Load(p.Wire()); ok {
		t.keys.inherit(old.(*target).keys)
	}
	c.targets.Store(p.Wire(), t)
	return t, nil
}

func (c *Client) newTarget(p *catalog.Provider) (*target, error) {
	t := &target{provider: p, dialect: c.cfg.Dialects[p.Dialect]}
	t.text, _ = t.dialect.(dialect.Texter)
	if d, ok := c.cfg.Dialects["responses"].(dialect.Texter); ok && p.Quirks.Responses {
		t.native = map[completion.Style]dialect.Texter{completion.Responses: d}
	}
	base, err := url.Parse(p.BaseURL)
	if err == nil && (t.dialect == nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https") {
		err = errors.New("no dialect or no address")
	}
	if err == nil {
		t.host, t.base = base.Host, strings.TrimSuffix(base.EscapedPath(), "/")
		t.keys, err = newCredentials(t.dialect, p, t.host, c.authDeps(p), &c.uses)
	}
	if err == nil && p.CA != "" {
		_, err = authorities(c.cfg.TLS, p.CA)
	}
	if err != nil {
		f := fault.New(fault.ProviderUnavailable, "upstream.target", "The provider is not configured properly.").Because(err)
		f.Next = fault.NextEndpoint
		f.Upstream = &fault.Upstream{Provider: p.Name}
		return nil, f
	}
	t.group = c.groups.get(groupKey{base.Scheme, base.Host, p.CA, c.cfg.HTTP2[p.ID] && base.Scheme == "https", c.way(p, base)}, c)
	return t, nil
}

// speak returns the dialect in which a request is written: the client's own wire if the provider has it. It is nil when the provider
// completes no text.
func (t *target) speak(s completion.Style) dialect.Texter {
	if d := t.native[s]; d != nil {
		return d
	}
	return t.text
}

// url is the address of a call: its own, or its path below the provider's base URL.
func (t *target) url(call *dialect.Call) (*url.URL, error) {
	address := call.URL
	if address == "" {
		address = strings.TrimSuffix(t.provider.BaseURL, "/") + call.Path
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, fault.Wrap("upstream.url", err)
	}
	return u, nil
}

// home is a server of the provider.
func (t *target) home(address string) outbound.Home {
	return outbound.Home{URL: address, Proxy: t.provider.Proxy}
}

// way is how the server at an address of a provider is reached.
func (c *Client) way(p *catalog.Provider, at *url.URL) outbound.Proxy {
	return c.cfg.Ways.To(p.Proxy, outbound.HostPort(at))
}

// groupKey identifies connections that may be shared: those to one host in one protocol by one way, with the same certificate authorities.
type groupKey struct {
	scheme, host string
	ca           string // further certificate authorities, in PEM
	http2        bool
	proxy        outbound.Proxy
}

// group is the connections to one host, over one of the two clients.
type group struct {
	own      *h1.Host
	standard *http.Transport // nil: own
	tls      *tls.Config     // of plain
	once     sync.Once
	plain    *http.Transport                                                      // in addition to own
	dial     func(ctx context.Context, network, address string) (net.Conn, error) // of plain; nil: directly
}

func (c *Client) newGroup(key groupKey) *group {
	cfg := c.hostConfig()
	if key.ca != "" {
		cfg.TLS, _ = authorities(cfg.TLS, key.ca) // checked when the provider was loaded
	}
	cfg.TLS = tuned(cfg.TLS)
	var dial func(ctx context.Context, network, address string) (net.Conn, error)
	if key.proxy.Through() {
		cfg.Connect *= tunnelSteps
		cfg.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			return c.cfg.Tunnel(ctx, key.proxy, address)
		}
		dial = func(ctx context.Context, _, address string) (net.Conn, error) {
			return c.cfg.Tunnel(ctx, key.proxy, address)
		}
	}
	if key.http2 || c.cfg.Standard {
		tr := newTransport(key.http2, &c.cfg, dial)
		tr.TLSClientConfig = cfg.TLS.Clone()
		return &group{standard: tr}
	}
	return &group{own: h1.NewHost(cfg, key.scheme, key.host), tls: cfg.TLS.Clone(), dial: dial}
}

// tunnelSteps are the connection to a proxy, its TLS, and its answer: Tunnel bounds each of them by the time for a connection.
const tunnelSteps = 3

// tuned is base with what makes calls of one host cheap: a new connection resumes the session of an earlier one, and a request is not cut into small
// records, since its server needs the whole of it.
func tuned(base *tls.Config) *tls.Config {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if base != nil {
		cfg = base.Clone()
	}
	cfg.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	cfg.DynamicRecordSizingDisabled = true
	return cfg
}

// authorities is base with further certificate authorities. Certificates that neither these nor the usual ones have signed are refused.
func authorities(base *tls.Config, pem string) (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if base != nil {
		cfg = base.Clone()
	}
	if cfg.RootCAs != nil {
		cfg.RootCAs = cfg.RootCAs.Clone()
	} else if system, err := x509.SystemCertPool(); err == nil {
		cfg.RootCAs = system
	} else {
		cfg.RootCAs = x509.NewCertPool()
	}
	if !cfg.RootCAs.AppendCertsFromPEM([]byte(pem)) {
		return nil, errors.New("there is no certificate in the certificate authorities")
	}
	return cfg, nil
}

func (c *Client) hostConfig() h1.Config {
	t := &c.cfg.Timeouts
	return h1.Config{Connect: t.Connect, Handshake: t.TLS, Idle: idleConnection, MaxIdle: maxIdleConnections, Age: t.Connection, Requests: c.cfg.Limits.Requests, MaxHead: int(c.cfg.Limits.Headers),
		TLS: c.cfg.TLS, Names: c.names, Dial: c.cfg.Dial}
}

type groups struct {
	mu  sync.Mutex
	all map[groupKey]*group
}

func (g *groups) get(key groupKey, c *Client) *group {
	g.mu.Lock()
	defer g.mu.Unlock()
	if have := g.all[key]; have != nil {
		return have
	}
	if g.all == nil {
		g.all = make(map[groupKey]*group)
	}
	made := c.newGroup(key)
	g.all[key] = made
	return made
}

func (g *groups) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, one := range g.all {
		if one.standard != nil {
			one.standard.CloseIdleConnections()
		} else {
			one.own.Close()
		}
		if one.plain != nil {
			one.plain.CloseIdleConnections()
		}
	}
}

const (
	idleConnection     = 90 * time.Second
	maxIdleConnections = 4096 // to one host
)

// newTransport tunes a transport for one host, which dials with dial, or directly without. No variable of the environment names a proxy.
func newTransport(http2 bool, cfg *Config, dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Transport {
	if dial == nil {
		dial = (&net.Dialer{Timeout: cfg.Timeouts.Connect, KeepAlive: 30 * time.Second}).DialContext
	}
	tr := &http.Transport{
		DialContext:            dial,
		TLSHandshakeTimeout:    cfg.Timeouts.TLS,
		MaxIdleConnsPerHost:    maxIdleConnections,
		IdleConnTimeout:        idleConnection,
		MaxResponseHeaderBytes: cfg.Limits.Headers,
		DisableCompression:     true, // attempts say themselves which encodings they take, and decode them
		Protocols:              new(http.Protocols),
	}
	// A server that is configured for HTTP/2 but has none is refused: falling back would keep connections of HTTP/1.1, see below.
	tr.Protocols.SetHTTP2(http2)
	tr.Protocols.SetHTTP1(!http2)
	if !http2 {
		// A stalled stream must not delay others: one request per connection unless the operator configures otherwise.
		tr.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
		// net/http keeps a connection before it checks for data after the answer. A second answer from a server would now and then be read
		// as the answer to the next request, possibly of another user.
		tr.DisableKeepAlives = true
	}
	return tr
}
