package fetch

import "net/netip"

// Reserved is reserved.
func Reserved(a netip.Addr) bool { return reserved(a) }

// Split is split: where a URL leads to, "" where nowhere.
func Split(raw string) (scheme, to string, addr netip.Addr, again string) {
	t, err := split(raw)
	if err != nil {
		return "", "", netip.Addr{}, ""
	}
	return t.url.Scheme, t.String(), t.addr, t.url.String()
}

// ContentRange is contentRange.
func ContentRange(text string) (first, last, size int64, ok bool) { return contentRange(text) }
