package fetch

import "net/netip"

// Reserved calls reserved.
func Reserved(a netip.Addr) bool { return reserved(a) }

// Split calls split: scheme, destination and address of a URL, "" for a refused one, and its normalized text.
func Split(raw string) (scheme, to string, addr netip.Addr, again string) {
	t, err := split(raw)
	if err != nil {
		return "", "", netip.Addr{}, ""
	}
	return t.url.Scheme, t.String(), t.addr, t.url.String()
}

// ContentRange calls contentRange.
func ContentRange(text string) (first, last, size int64, ok bool) { return contentRange(text) }
