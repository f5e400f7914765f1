package fetch_test

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"

	"weir/internal/fetch"
	"weir/internal/outbound"
)

func parsed(t *testing.T, text string) outbound.Proxy {
	t.Helper()
	p, err := outbound.Parse(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A proxy is asked for addresses that were checked here, never for a name that a user or an answer has brought: it would resolve it elsewhere, and
// become a way into a private network. Only what the operator has declared or allowed is asked for by name.
func TestProxyIsNoWayAroundTheGuard(t *testing.T) {
	t.Parallel()
	plain := "http://proxy.corp:3128"
	for name, c := range map[string]struct {
		url, home, own string
		noProxy        []string
		hosts          []string
		asked          string // of the proxy, with which; "": nothing
		dialled        bool   // directly
		ok             bool
	}{
		"a public name":                   {url: "https://example.com/a", asked: plain + " 93.184.215.14:443", ok: true},
		"a name of a private address":     {url: "https://inside.example.com/a"},
		"a name that has one, too":        {url: "https://mixed.example.com/a", asked: plain + " 93.184.215.14:443", ok: true},
		"the metadata of a cloud":         {url: "https://169.254.169.254/a"},
		"this machine":                    {url: "https://localhost/a"},
		"a listed name":                   {url: "https://example.com/a", noProxy: []string{"example.com"}, dialled: true, ok: true},
		"a listed network":                {url: "https://example.com/a", noProxy: []string{"93.184.0.0/16"}, dialled: true, ok: true},
		"a listed name stays checked":     {url: "https://inside.example.com/a", noProxy: []string{"*"}},
		"the provider's origin":           {url: "https://inside.example.com/a", home: "https://inside.example.com/v1", asked: plain + " inside.example.com:443", ok: true},
		"an allowed host":                 {url: "https://inside.example.com/a", hosts: []string{"inside.example.com"}, asked: plain + " inside.example.com:443", ok: true},
		"a provider's own way":            {url: "https://example.com/a", own: "socks5://10.0.0.1:1080", asked: "socks5://10.0.0.1:1080 93.184.215.14:443", ok: true},
		"its own way keeps the guard":     {url: "https://inside.example.com/a", own: "socks5://10.0.0.1:1080"},
		"its own way despite the list":    {url: "https://example.com/a", own: "socks5://10.0.0.1:1080", noProxy: []string{"*"}, asked: "socks5://10.0.0.1:1080 93.184.215.14:443", ok: true},
		"a provider without the proxy":    {url: "https://example.com/a", own: "direct", dialled: true, ok: true},
		"a redirect into the own network": {url: "https://example.com/to-inside", asked: plain + " 93.184.215.14:443"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(out http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/to-inside" {
					http.Redirect(out, r, "https://inside.example.com/a", http.StatusFound)
					return
				}
				file("picture")(out, r)
			})
			w.names["inside.example.com"], w.names["mixed.example.com"], w.names["localhost"] = []string{"10.1.2.3"}, []string{"10.1.2.3", public.String()}, []string{"127.0.0.1"}
			var mu sync.Mutex
			var asked []string
			client := w.client(func(cfg *fetch.Config) {
				cfg.ProviderMedia = fetch.Allowed{Hosts: c.hosts}
				cfg.Ways = outbound.New(parsed(t, plain), c.noProxy)
				cfg.Tunnel = func(ctx context.Context, through outbound.Proxy, address string) (net.Conn, error) {
					mu.Lock()
					defer mu.Unlock()
					asked = append(asked, through.String()+" "+address)
					return (&net.Dialer{}).DialContext(ctx, "tcp", w.server.Listener.Addr().String())
				}
			})
			_, _, err := client.ProviderBytes(t.Context(), "P", outbound.Home{URL: c.home, Proxy: parsed(t, c.own)}, c.url, 100)
			if c.ok != (err == nil) {
				t.Errorf("fetched: %v", err)
			}
			var want []string
			if c.asked != "" {
				want = []string{c.asked}
			}
			if !slices.Equal(asked, want) {
				t.Errorf("the proxy was asked for %q, want %q: %v", asked, want, err)
			}
			if dialled := len(w.dialled) > 0; dialled != c.dialled {
				t.Errorf("dialled directly: %v", w.dialled)
			}
		})
	}
}
