package fetch

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// target is an address that may be asked for: what parse found in a URL, so that what was checked is what is dialled.
type target struct {
	url  *url.URL // with the host in lower case, and without a fragment
	host string   // name or address, without brackets
	port uint16
	addr netip.Addr // of a host that is an address
	free bool       // the operator lets it be: scheme, port and address are not looked at

	allowed *Allowed // of whoever named it
}

// refusal is why an address is not asked for. It reads on from "the address".
type refusal string

func (r refusal) Error() string { return "the address " + string(r) }

const maxURLBytes = 8192

// parse is the one reader of URLs. It refuses every spelling that another reader may take for something else, and without leave of the
// operator everything but https on its own port at a public address.
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

// split takes a URL apart.
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
		return nil, refusal("is no URL") // err repeats the address, whose query may be a secret
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
	return t, nil
}

// hostAddress is the address that a host is, the zero one for a name. Addresses have their one usual form: no octal, hexadecimal or short
// ones, no zones, and no IPv4 address inside an IPv6 one.
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

// isName reports whether a host in lower case is a name of the domain name system. One whose last label looks like a number is none, because
// many readers take it for an IPv4 address.
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

// local tells names that mean this machine or this network wherever they are asked for.
func local(host string) bool {
	for _, zone := range [...]string{"localhost", "local", "internal", "home.arpa"} {
		if host == zone || strings.HasSuffix(host, "."+zone) {
			return true
		}
	}
	return false
}

// origin is where a provider is served, as the operator has configured it.
type origin struct {
	scheme, host string
	port         uint16
}

// originOf is nil for a base URL that is none.
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

// String is the target as it is dialled.
func (t *target) String() string {
	return net.JoinHostPort(t.host, strconv.FormatUint(uint64(t.port), 10))
}
