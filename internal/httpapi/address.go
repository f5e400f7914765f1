package httpapi

import (
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
)

// clientAddress is the address of the client: the other end of the connection or, when that is a trusted proxy, the rightmost address of
// X-Forwarded-For that is not one. It is the zero address when the client is unknown. Nothing else in this package reads either.
func (a *API) clientAddress(r *http.Request) netip.Addr {
	return a.cfg.clientBehind(peer(r), r.Header["X-Forwarded-For"])
}

// clientBehind is the address of the client of a connection from peer, with these lines of X-Forwarded-For.
func (c *Config) clientBehind(peer netip.Addr, lines []string) netip.Addr {
	client := peer
	if len(c.TrustedProxies) == 0 || !c.trusted(client) {
		return client
	}
	for i := len(lines) - 1; i >= 0; i-- {
		for rest, more := lines[i], true; more; { // from the nearest hop: anybody may have written what is further left
			var hop string
			if at := strings.LastIndexByte(rest, ','); at >= 0 {
				rest, hop = rest[:at], rest[at+1:]
			} else {
				hop, more = rest, false
			}
			ip, ok := hopAddress(strings.TrimSpace(hop))
			if !ok {
				return client
			}
			if client = ip; !c.trusted(ip) {
				return client
			}
		}
	}
	return client
}

// hopAddress reads an address as proxies write it: alone, in brackets, or with a port.
func hopAddress(text string) (netip.Addr, bool) {
	ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		with, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.Addr{}, false
		}
		ip = with.Addr()
	}
	return plain(ip), true
}

// peer is the address at the other end of the connection.
func peer(r *http.Request) netip.Addr { return peerOf(r.RemoteAddr) }

func peerOf(remote string) netip.Addr {
	with, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	return plain(with.Addr())
}

// plain writes an IPv4 address inside of an IPv6 one as the former, and leaves out the zone.
func plain(ip netip.Addr) netip.Addr { return ip.Unmap().WithZone("") }

// trusted reports whether an address is that of a proxy whose X-Forwarded-For is believed.
func (c *Config) trusted(ip netip.Addr) bool {
	for _, p := range c.TrustedProxies {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// ipv6Counted is how many bits of an IPv6 address limits by address look at: a client with one address has all of its /64.
const ipv6Counted = 64

// counted is the address that limits by address count under.
func counted(ip netip.Addr) netip.Addr {
	if !ip.Is6() {
		return ip
	}
	prefix, err := ip.Prefix(ipv6Counted)
	if err != nil {
		return ip
	}
	return prefix.Addr()
}

// addressName is the client's name in limits by address.
func (x *request) addressName() string { return counted(x.api.clientAddress(x.r)).String() }

// shown is an address for people, "" for the zero one.
func shown(ip netip.Addr) string {
	if !ip.IsValid() {
		return ""
	}
	return ip.String()
}

// logAddress is the client's address as the log keeps it.
func (a *API) logAddress(r *http.Request) string { return a.logged(a.clientAddress(r)) }

func (a *API) logged(ip netip.Addr) string {
	if !a.cfg.TruncateAddr || !ip.IsValid() {
		return shown(ip)
	}
	bits := 48
	if ip.Is4() {
		bits = 24
	}
	prefix, err := ip.Prefix(bits)
	if err != nil {
		return ""
	}
	return shown(prefix.Addr())
}

// onePeer watches whether all requests come from one private address, as they do when a proxy is not trusted: then limits by address
// hold for all clients together. It remembers one address and counts up to enough.
type onePeer struct {
	over  atomic.Bool // requests come from elsewhere, too, or the proxy is known
	first atomic.Pointer[netip.Addr]
	n     atomic.Int64
}

const (
	enoughRequests = 100 // before one address means anything
	proxyRemedy    = "All requests come from one private address and no proxy is trusted, so all clients share the limits by address. " +
		"If that address is a reverse proxy, name it in server.trusted_proxies."
)

// see counts a request, and reports whether it was the one that made the suspicion.
func (p *onePeer) see(r *http.Request) bool {
	if p.over.Load() || p.n.Load() >= enoughRequests && !p.differs(peer(r)) {
		return false
	}
	ip := peer(r)
	if !ip.IsPrivate() && !ip.IsLoopback() && !ip.IsLinkLocalUnicast() {
		p.over.Store(true)
		return false
	}
	if p.first.Load() == nil {
		p.first.CompareAndSwap(nil, &ip)
	}
	if p.differs(ip) {
		p.over.Store(true)
		return false
	}
	return p.n.Add(1) == enoughRequests
}

func (p *onePeer) differs(ip netip.Addr) bool { return *p.first.Load() != ip }

// suspected reports whether all requests so far came from one private address.
func (p *onePeer) suspected() bool { return !p.over.Load() && p.n.Load() >= enoughRequests }
