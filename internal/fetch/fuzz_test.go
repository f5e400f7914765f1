package fetch_test

import (
	"net/netip"
	"strings"
	"testing"

	"weir/internal/fetch"
)

// An accepted URL is parsed in the same way again, and contains nothing that another parser could take for another host.
func FuzzURL(f *testing.F) {
	for _, url := range refusedURLs {
		f.Add(url)
	}
	f.Add("https://example.com/a?b=c#d")
	f.Add("https://[2a00:1450::1]:443/")
	c := fetch.New(fetch.Config{})
	f.Fuzz(func(t *testing.T, raw string) {
		scheme, to, addr, again := fetch.Split(raw)
		if scheme == "" {
			if c.CheckCallback("u", raw) == nil {
				t.Errorf("%q is good, and leads nowhere", raw)
			}
			return
		}
		if s, to2, addr2, _ := fetch.Split(again); s != scheme || to2 != to || addr2 != addr {
			t.Errorf("%q has the target %s, and normalized to %q the target %s", raw, to, again, to2)
		}
		host := to[:strings.LastIndexByte(to, ':')]
		for _, b := range []byte(host) {
			if b <= ' ' || b >= 0x7f || strings.IndexByte(`@\%/?#`, b) >= 0 || b >= 'A' && b <= 'Z' {
				t.Errorf("%q leads to %q", raw, host)
			}
		}
		if c.CheckCallback("u", raw) != nil {
			return
		}
		if !strings.HasSuffix(to, ":443") && !strings.HasSuffix(to, ":80") {
			t.Errorf("%q leads to %s", raw, to)
		}
		if a, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil && (fetch.Reserved(a) || a != addr || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast()) {
			t.Errorf("%q leads to %s", raw, to)
		}
	})
}

func FuzzContentRange(f *testing.F) {
	for _, text := range []string{"bytes 0-9/100", "bytes 0-9/*", "bytes */100", "bytes 9-0/1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, last, size, ok := fetch.ContentRange(text)
		if ok && first >= 0 && (last < first || size >= 0 && last >= size) {
			t.Errorf("%q is %d-%d of %d", text, first, last, size)
		}
	})
}
