package upstream

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"weir/internal/catalog"
	"weir/internal/fault"
)

// target is a provider as the client sees it: what is computed once for a declaration and not for each request.
type target struct {
	provider *catalog.Provider
	dialect  Dialect
	base     *url.URL
	group    *http.Transport
	whole    http.Header // read only: shared by all requests
	stream   http.Header
	urls     sync.Map // path -> *url.URL, read only
}

// target finds or makes the target of p. A reload of the catalog brings a new p, and with it a new target;
// the connections, which belong to the host, stay.
func (c *Client) target(p *catalog.Provider) (*target, error) {
	if t, ok := c.targets.Load(p.ID); ok && t.(*target).provider == p {
		return t.(*target), nil
	}
	t, err := c.newTarget(p)
	if err != nil {
		return nil, err
	}
	c.targets.Store(p.ID, t)
	return t, nil
}

func (c *Client) newTarget(p *catalog.Provider) (*target, error) {
	dialect := c.cfg.Dialects[p.Dialect]
	base, err := url.Parse(p.BaseURL)
	if dialect == nil || err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		f := fault.New(fault.ProviderUnavailable, "upstream.target", "The provider is not configured properly.").Because(err)
		f.Next = fault.NextEndpoint
		f.Upstream = &fault.Upstream{Provider: p.Name}
		return nil, f
	}
	t := &target{provider: p, dialect: dialect, base: base}
	t.group = c.groups.get(groupKey{base.Scheme, base.Host, c.cfg.HTTP2[p.ID]}, &c.cfg)
	t.whole = withDefault(dialect.Header(p), "Accept", "application/json")
	t.stream = withDefault(dialect.Header(p), "Accept", "text/event-stream")
	return t, nil
}

func withDefault(h http.Header, name, value string) http.Header {
	h = h.Clone()
	if h == nil {
		h = make(http.Header)
	}
	for name, value := range map[string]string{name: value, "Content-Type": "application/json", "User-Agent": "weir"} {
		if h.Get(name) == "" {
			h.Set(name, value)
		}
	}
	return h
}

// url is the address of path below the provider's base URL.
func (t *target) url(path string) (*url.URL, error) {
	if u, ok := t.urls.Load(path); ok {
		return u.(*url.URL), nil
	}
	u, err := url.Parse(strings.TrimSuffix(t.provider.BaseURL, "/") + path)
	if err != nil {
		return nil, fault.Wrap("upstream.url", err)
	}
	t.urls.Store(path, u)
	return u, nil
}

// groupKey names the connections that may be shared: those to one host in one protocol.
type groupKey struct {
	scheme, host string
	http2        bool
}

type groups struct {
	mu  sync.Mutex
	all map[groupKey]*http.Transport
}

func (g *groups) get(key groupKey, cfg *Config) *http.Transport {
	g.mu.Lock()
	defer g.mu.Unlock()
	if tr := g.all[key]; tr != nil {
		return tr
	}
	if g.all == nil {
		g.all = make(map[groupKey]*http.Transport)
	}
	tr := newTransport(key.http2, cfg)
	g.all[key] = tr
	return tr
}

func (g *groups) closeIdle() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, tr := range g.all {
		tr.CloseIdleConnections()
	}
}

// newTransport tunes a transport for one host. There is no proxy: destinations come from the declaration alone.
func newTransport(http2 bool, cfg *Config) *http.Transport {
	dialer := &net.Dialer{Timeout: cfg.Timeouts.Connect, KeepAlive: 30 * time.Second}
	tr := &http.Transport{
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    cfg.Timeouts.TLS,
		MaxIdleConnsPerHost:    4096,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: cfg.Limits.Headers,
		DisableCompression:     true, // a stream must not wait in a decompressor, and nobody asked for gzip
		ForceAttemptHTTP2:      http2,
	}
	if cfg.TLS != nil {
		tr.TLSClientConfig = cfg.TLS.Clone()
	}
	if !http2 {
		// One stalled stream must not hold up others: one request a connection unless the operator says otherwise.
		tr.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	return tr
}
