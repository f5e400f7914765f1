package httpserver

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
)

// Proxies are the networks of proxies whose X-Forwarded-For is believed.
type Proxies []netip.Prefix

// Client is the address of a request's client: the other end of the connection or, when that is a trusted proxy, the rightmost address of
// X-Forwarded-For that is not one. It is the zero address when the client is unknown. Nothing else reads either.
func (p Proxies) Client(r *http.Request) netip.Addr {
	client := Peer(r)
	if len(p) == 0 || !p.Trust(client) {
		return client
	}
	lines := r.Header["X-Forwarded-For"]
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
			if client = ip; !p.Trust(ip) {
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

// Peer is the address at the other end of a request's connection.
func Peer(r *http.Request) netip.Addr {
	with, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return plain(with.Addr())
}

// plain writes an IPv4 address inside of an IPv6 one as the former, and leaves out the zone.
func plain(ip netip.Addr) netip.Addr { return ip.Unmap().WithZone("") }

// Trust reports whether an address is that of a proxy whose X-Forwarded-For is believed.
func (p Proxies) Trust(ip netip.Addr) bool {
	return slices.ContainsFunc(p, func(n netip.Prefix) bool { return n.Contains(ip) })
}

// ipv6Counted is how many bits of an IPv6 address limits by address look at: a client with one address has all of its /64.
const ipv6Counted = 64

// Counted is the address that limits by address count under.
func Counted(ip netip.Addr) netip.Addr {
	if !ip.Is6() {
		return ip
	}
	prefix, err := ip.Prefix(ipv6Counted)
	if err != nil {
		return ip
	}
	return prefix.Addr()
}

// ShowAddress is an address for people, "" for the zero one.
func ShowAddress(ip netip.Addr) string {
	if !ip.IsValid() {
		return ""
	}
	return ip.String()
}

// LogAddress is an address as the log keeps it.
func (c *Config) LogAddress(ip netip.Addr) string {
	if !c.TruncateAddr || !ip.IsValid() {
		return ShowAddress(ip)
	}
	bits := 48
	if ip.Is4() {
		bits = 24
	}
	prefix, err := ip.Prefix(bits)
	if err != nil {
		return ""
	}
	return ShowAddress(prefix.Addr())
}

// HiddenProxy watches whether all requests come from one private address, as they do when a proxy is not trusted: then limits by address
// hold for all clients together. It remembers one address and counts up to enough.
type HiddenProxy struct {
	over  atomic.Bool // requests come from elsewhere, too, or the proxy is known
	first atomic.Pointer[netip.Addr]
	n     atomic.Int64
}

const (
	enoughRequests = 100 // before one address means anything

	// HiddenProxyRemedy is what an operator should do about a suspicion.
	HiddenProxyRemedy = "All requests come from one private address and no proxy is trusted, so all clients share the limits by address. " +
		"If that address is a reverse proxy, name it in server.trusted_proxies."
)

// See counts a request, and reports whether it was the one that made the suspicion.
func (p *HiddenProxy) See(r *http.Request) bool {
	if p.over.Load() || p.n.Load() >= enoughRequests && !p.differs(Peer(r)) {
		return false
	}
	ip := Peer(r)
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

func (p *HiddenProxy) differs(ip netip.Addr) bool { return *p.first.Load() != ip }

// Suspected reports whether all requests so far came from one private address.
func (p *HiddenProxy) Suspected() bool { return !p.over.Load() && p.n.Load() >= enoughRequests }
