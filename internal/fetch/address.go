package fetch

import "net/netip"

// Addresses that are not on the public Internet, or that contain other addresses: "IANA IPv4 Special-Purpose Address Registry", "IANA IPv6
// Special-Purpose Address Registry". The metadata services of clouds have link-local, shared, private and unique local addresses, except
// for the service on Azure's hosts.
var (
	reserved4 = prefixes(
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
		"192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32",
	)
	global6   = netip.MustParsePrefix("2000::/3") // all allocated addresses
	reserved6 = prefixes(
		"2001::/23",     // Teredo, benchmarking, ORCHID and more
		"2001:db8::/32", // documentation
		"2002::/16",     // 6to4: contains an IPv4 address
		"2620:4f:8000::/48",
		"3fff::/20", // documentation
	)
)

func prefixes(all ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(all))
	for i, text := range all {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// reserved reports whether an address must not be called: it is not on the public Internet, or is an IPv6 address that contains an IPv4
// one.
func reserved(a netip.Addr) bool {
	if a.Is4() {
		return within(a, reserved4)
	}
	return a.Zone() != "" || !global6.Contains(a) || within(a, reserved6) || isatap(a)
}

// isatap reports whether the interface identifier contains an IPv4 address (RFC 5214, section 6.1).
func isatap(a netip.Addr) bool {
	b := a.As16()
	return b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

func within(a netip.Addr, list []netip.Prefix) bool {
	for _, p := range list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}
