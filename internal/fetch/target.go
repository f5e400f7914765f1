package fetch

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"weir/internal/outbound"
)

// target is a parsed and accepted URL. The dialer uses these values, so that exactly what was checked is dialled.
type target struct {
	url  *url.URL // with the host in lower case and without a fragment
	host string   // name or address, without brackets
	port uint16
	addr netip.Addr // valid if the host is an address
	free bool       // allowed by the operator: scheme, port and address are not checked

	proxy   outbound.Proxy // the way of the provider that named the address; not set: that of the whole gateway
	allowed *Allowed       // the list for the party that named the address
}

// refusal is the reason for refusing an address. It continues a sentence that begins with "the address".
type refusal string

func (r refusal) Error() string { return "the address " + string(r) }

const maxURLBytes = 8192

// parse is the only parser of URLs. It refuses every spelling that parsers interpret differently. Unless the operator allows more, it
// accepts only https, on its default port, at a public address.
func (c *Client) parse(raw string, allowed *Allowed, home *origin) (*target, error) {
	t, err := split(raw)
	if err != nil {
		return nil, err
	}
	t.allowed, t.free = allowed, allowed.target(t) || home.is(t)
	switch {
	case t.free:
		return t, nil
	case t.url.Scheme == "http" && !c.cfg.HTTP:
		return nil, refusal("must begin with https://")
	case t.port != 443 && t.port != 80:
		return nil, refusal("must not name a port other than 443 or 80")
	case t.addr.IsValid() && reserved(t.addr) || local(t.host):
		return nil, refusal("must be a public one")
	}
	return t, nil
}

// split parses a URL into its parts.
func split(raw string) (*target, error) {
	if len(raw) > maxURLBytes {
		return nil, refusal("is too long")
	}
	for i := range len(raw) {
		if b := raw[i]; b <= ' ' || b == 0x7f || b == '\\' {
			return nil, refusal("must not hold spaces, control characters or backslashes")
		}
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, refusal("is no URL") // err contains the address, whose query may be a secret
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, refusal("must begin with https://")
	case u.User != nil:
		return nil, refusal("must not hold a user name or password")
	case u.Opaque != "" || u.Host == "" || strings.HasSuffix(u.Host, ":"):
		return nil, refusal("is no URL")
	}
	t := &target{url: u, host: strings.ToLower(u.Hostname())}
	if t.addr, err = hostAddress(t.host, u.Host[0] == '['); err != nil {
		return nil, err
	}
	port := uint64(443)
	if u.Scheme == "http" {
		port = 80
	}
	if text := u.Port(); text != "" {
		if port, err = strconv.ParseUint(text, 10, 16); err != nil || port == 0 || text[0] == '0' {
			return nil, refusal("names no port")
		}
	}
	t.port = uint16(port)
	u.Host, u.Fragment, u.RawFragment = strings.ToLower(u.Host), "", ""
	if len(u.String()) > maxURLBytes { // bytes beyond ASCII are escaped, and become three
		return nil, refusal("is too long")
	}
	return t, nil
}

// hostAddress parses a host that is an address; it returns the zero value for a name. It accepts only the usual form: no octal, hexadecimal
// or short forms, no zones, and no IPv4 address inside an IPv6 one.
func hostAddress(host string, bracketed bool) (netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		if a.Is4In6() || a.Zone() != "" || a.Is6() != bracketed {
			return netip.Addr{}, refusal("must be a public one")
		}
		return a, nil
	}
	if bracketed || !isName(host) {
		return netip.Addr{}, refusal("names no host")
	}
	return netip.Addr{}, nil
}

// isName reports whether a host in lower case is a DNS name. If the last label looks like a number it is not one, because many parsers take
// it for an IPv4 address.
func isName(host string) bool {
	if len(host) > 253 {
		return false
	}
	last := ""
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if b := label[i]; (b < 'a' || b > 'z') && (b < '0' || b > '9') && b != '-' && b != '_' {
				return false
			}
		}
		last = label
	}
	hex, is := strings.CutPrefix(last, "0x")
	return strings.Trim(last, "0123456789") != "" && (!is || strings.Trim(hex, "0123456789abcdef") != "")
}

// local reports whether a name refers to this machine or the local network.
func local(host string) bool {
	for _, zone := range [...]string{"localhost", "local", "internal", "home.arpa"} {
		if host == zone || strings.HasSuffix(host, "."+zone) {
			return true
		}
	}
	return false
}

// origin is the origin of a provider's base URL in the configuration.
type origin struct {
	scheme, host string
	port         uint16
}

// originOf returns nil for an invalid base URL.
func originOf(base string) *origin {
	t, err := split(base)
	if err != nil {
		return nil
	}
	return &origin{t.url.Scheme, t.host, t.port}
}

func (o *origin) is(t *target) bool {
	return o != nil && o.scheme == t.url.Scheme && o.host == t.host && o.port == t.port
}

// String returns the host and port to dial.
func (t *target) String() string {
	return net.JoinHostPort(t.host, strconv.FormatUint(uint64(t.port), 10))
}
