package fetch_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weir/internal/fault"
	"weir/internal/fetch"
	"weir/internal/outbound"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var public = netip.MustParseAddr("93.184.215.14")

// world is a network with one server at every address. example.com is its name.
type world struct {
	server *httptest.Server
	names  map[string][]string // addresses of names; default: public

	mu       sync.Mutex
	lookups  map[string]int
	dialled  []netip.AddrPort
	requests []*http.Request
}

func newWorld(t *testing.T, handle http.HandlerFunc) *world {
	t.Helper()
	w := &world{names: map[string][]string{}, lookups: map[string]int{}}
	w.server = httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.requests = append(w.requests, r)
		w.mu.Unlock()
		handle(out, r)
	}))
	w.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	w.server.StartTLS()
	t.Cleanup(w.server.Close)
	return w
}

func (w *world) client(change func(*fetch.Config)) *fetch.Client {
	roots := x509.NewCertPool()
	roots.AddCert(w.server.Certificate())
	cfg := fetch.Config{
		RemoteMedia: true, Connect: time.Minute, FirstByte: time.Minute, Idle: time.Minute, Total: time.Minute, MaxBytes: 1 << 20, Roots: roots,
		Lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.lookups[host]++
			texts, known := w.names[host]
			if !known {
				return []netip.Addr{public}, nil
			}
			var list []netip.Addr
			for _, text := range texts {
				list = append(list, netip.MustParseAddr(text))
			}
			return list, nil
		},
		Dial: func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			w.mu.Lock()
			w.dialled = append(w.dialled, to)
			w.mu.Unlock()
			return (&net.Dialer{}).DialContext(ctx, "tcp", w.server.Listener.Addr().String())
		},
	}
	if change != nil {
		change(&cfg)
	}
	return fetch.New(cfg)
}

func (w *world) wantDialled(t *testing.T, want ...string) {
	t.Helper()
	got := []string{}
	for _, a := range w.dialled {
		got = append(got, a.String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("dialled %v, want %v", got, want)
	}
}

func wantKind(t *testing.T, err error, kind fault.Kind) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Errorf("%v, want the kind %s", err, kind)
	}
}

func file(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "image/PNG; x=y")
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(body))
	}
}

func TestBytes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, file("picture"))
	data, media, err := w.client(nil).Bytes(t.Context(), "https://EXAMPLE.com/a.png?token=x#part", 100)
	if err != nil || string(data) != "picture" || media != "image/png" {
		t.Fatalf("%q %q %v", data, media, err)
	}
	w.wantDialled(t, "93.184.215.14:443")
	r := w.requests[0]
	if r.Host != "example.com" || r.RequestURI != "/a.png?token=x" || r.Header.Get("Accept-Encoding") != "identity" || r.Header.Get("User-Agent") != "weir" {
		t.Errorf("%s %s %v", r.Host, r.RequestURI, r.Header)
	}
}

// refusedURLs are refused without a lookup, when they are checked, fetched and called.
var refusedURLs = map[string]string{
	"plain http":                "http://example.com/",
	"another scheme":            "file:///etc/passwd",
	"gopher":                    "gopher://example.com/",
	"no scheme":                 "//example.com/",
	"no host":                   "https:///x",
	"opaque":                    "https:example.com",
	"user":                      "https://user@example.com/",
	"user and password":         "https://user:secret@example.com/",
	"empty user":                "https://@example.com/",
	"another port":              "https://example.com:8443/",
	"ssh":                       "https://example.com:22/",
	"port 0":                    "https://example.com:0/",
	"port with a zero before":   "https://example.com:0443/",
	"port without digits":       "https://example.com:/",
	"port out of range":         "https://example.com:65979/",
	"backslash":                 `https://example.com\@127.0.0.1/`,
	"backslash in the path":     `https://example.com/\x`,
	"space":                     "https://example.com /",
	"line break":                "https://example.com/\r\nHost: x",
	"tab":                       "https://exam\tple.com/",
	"null":                      "https://example.com/\x00",
	"letters beyond ASCII":      "https://ex\u00e4mple.com/",
	"full width digits":         "https://\uff11\uff12\uff17.0.0.1/",
	"ideographic stop":          "https://127\u30020.0.1/",
	"escaped host":              "https://%31%32%37.0.0.1/",
	"loopback":                  "https://127.0.0.1/",
	"all of loopback":           "https://127.255.255.254/",
	"decimal":                   "https://2130706433/",
	"octal":                     "https://0177.0.0.1/",
	"hexadecimal":               "https://0x7f.0.0.1/",
	"whole hexadecimal":         "https://0x7f000001/",
	"short":                     "https://127.1/",
	"zero":                      "https://0/",
	"last part hexadecimal":     "https://1.2.3.0x4/",
	"leading zeros":             "https://008.8.8.8/",
	"five parts":                "https://1.2.3.4.5/",
	"unspecified":               "https://0.0.0.0/",
	"private":                   "https://10.1.2.3/",
	"private 172":               "https://172.31.0.1/",
	"private 192":               "https://192.168.1.1/",
	"metadata":                  "https://169.254.169.254/latest/meta-data/",
	"metadata of another cloud": "https://100.100.100.200/",
	"metadata of Azure":         "https://168.63.129.16/",
	"carrier":                   "https://100.64.0.1/",
	"multicast":                 "https://224.0.0.1/",
	"broadcast":                 "https://255.255.255.255/",
	"loopback 6":                "https://[::1]/",
	"unspecified 6":             "https://[::]/",
	"mapped":                    "https://[::ffff:127.0.0.1]/",
	"mapped, hexadecimal":       "https://[::ffff:7f00:1]/",
	"mapped public":             "https://[::ffff:8.8.8.8]/",
	"compatible":                "https://[::127.0.0.1]/",
	"translated":                "https://[::ffff:0:127.0.0.1]/",
	"NAT64":                     "https://[64:ff9b::7f00:1]/",
	"local NAT64":               "https://[64:ff9b:1::7f00:1]/",
	"6to4":                      "https://[2002:7f00:1::]/",
	"Teredo":                    "https://[2001::1]/",
	"ISATAP":                    "https://[2a00::5efe:7f00:1]/",
	"unique local":              "https://[fd00:ec2::254]/",
	"link-local 6":              "https://[fe80::1]/",
	"zone":                      "https://[fe80::1%25eth0]/",
	"zone of a public one":      "https://[2a00:1450::1%25eth0]/",
	"site-local":                "https://[fec0::1]/",
	"multicast 6":               "https://[ff02::1]/",
	"brackets around 4":         "https://[8.8.8.8]/",
	"localhost":                 "https://localhost/",
	"in localhost":              "https://a.LOCALHOST/",
	"internal":                  "https://metadata.google.internal/",
	"dot at the end":            "https://localhost./",
	"empty label":               "https://a..b/",
	"long label":                "https://" + strings.Repeat("a", 64) + ".com/",
	"long":                      "https://example.com/" + strings.Repeat("a", 8192),
	"long once escaped":         "https://example.com/" + strings.Repeat("\u00e4", 1400),
	"empty":                     "",
}

func TestRefusedURLs(t *testing.T) {
	t.Parallel()
	for name, url := range refusedURLs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, file("secret"))
			c := w.client(nil)
			err := c.CheckCallback("callback_url", url)
			wantKind(t, err, fault.Invalid)
			if e := fault.From(err); e.Param != "callback_url" || strings.Contains(e.Public, "secret") {
				t.Errorf("%+v", e)
			}
			_, _, err = c.Bytes(t.Context(), url, 100)
			wantKind(t, err, fault.Invalid)
			_, _, err = c.ProviderBytes(t.Context(), "P", outbound.Home{URL: "https://api.example.com/v1"}, url, 100)
			wantKind(t, err, fault.ProviderUnavailable)
			_, _, err = c.Post(t.Context(), url, nil, nil)
			wantKind(t, err, fault.Invalid)
			if len(w.dialled) > 0 || len(w.lookups) > 0 {
				t.Errorf("looked up %v, dialled %v", w.lookups, w.dialled)
			}
		})
	}
}

func TestGoodURLs(t *testing.T) {
	t.Parallel()
	c := fetch.New(fetch.Config{})
	for _, url := range []string{"https://example.com", "https://a-b.example.com:443/x?y=z", "https://8.8.8.8/", "https://[2a00:1450:4010::8a]/", "https://xn--e1afmkfd.xn--p1ai/\u044f",
		"https://example.com:80/", "https://a_b.example.com/"} {
		if err := c.CheckCallback("url", url); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestReservedAddresses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "240.0.0.1", "239.1.1.1", "192.88.99.1", "172.16.0.0", "172.31.255.255", "100.127.255.255",
		"2001:db8::1", "3fff::1", "2001:10::1", "2001:20::1", "2001:2::1", "4000::1", "5f00::1", "100::1", "1fff::", "2a00::200:5efe:7f00:1"} {
		if !fetch.Reserved(netip.MustParseAddr(text)) {
			t.Errorf("%s may be called", text)
		}
	}
	for _, text := range []string{"1.1.1.1", "9.255.255.255", "11.0.0.0", "172.15.255.255", "172.32.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1", "223.255.255.255", "169.253.0.1",
		"2001:200::1", "2606:4700::1111", "2a02:6b8::2:242", "2001:4860:4860::8888"} {
		if fetch.Reserved(netip.MustParseAddr(text)) {
			t.Errorf("%s may not be called", text)
		}
	}
}

// The addresses of a name are checked after the lookup, with one lookup per request.
func TestNamesOfPrivateAddresses(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		leads []string
		want  string // dialled address; "": none
	}{
		"loopback":           {[]string{"127.0.0.1"}, ""},
		"metadata":           {[]string{"169.254.169.254"}, ""},
		"mapped loopback":    {[]string{"::ffff:127.0.0.1"}, ""},
		"unique local":       {[]string{"fd00::1"}, ""},
		"NAT64":              {[]string{"64:ff9b::a00:1"}, ""},
		"nothing":            {[]string{}, ""},
		"private and public": {[]string{"10.0.0.1", "93.184.215.14"}, "93.184.215.14:443"},
		"mapped public":      {[]string{"::ffff:93.184.215.14"}, "93.184.215.14:443"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, file("x"))
			w.names["example.com"] = c.leads
			_, _, err := w.client(nil).Bytes(t.Context(), "https://example.com/", 100)
			if c.want == "" {
				wantKind(t, err, fault.Invalid)
				if public := fault.From(err).Public; public != "The file at the URL could not be fetched." {
					t.Errorf("the client reads %q", public)
				}
				w.wantDialled(t)
			} else if err != nil {
				t.Error(err)
			} else {
				w.wantDialled(t, c.want)
			}
		})
	}
}

// If a name changes from a public to a private address after the check, the checked address is dialled.
func TestRebinding(t *testing.T) {
	t.Parallel()
	w := newWorld(t, file("x"))
	n := 0
	c := w.client(func(cfg *fetch.Config) {
		cfg.Lookup = func(context.Context, string) ([]netip.Addr, error) {
			n++
			if n == 1 {
				return []netip.Addr{public}, nil
			}
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}
	})
	if _, _, err := c.Bytes(t.Context(), "https://example.com/", 100); err != nil {
		t.Error(err)
	}
	_, _, err := c.Bytes(t.Context(), "https://example.com/", 100)
	wantKind(t, err, fault.Invalid)
	w.wantDialled(t, "93.184.215.14:443")
	if n != 2 {
		t.Errorf("%d look-ups for two requests", n)
	}
}

func TestRemoteMediaOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, file("x"))
	c := w.client(func(cfg *fetch.Config) { cfg.RemoteMedia = false })
	_, _, err := c.Bytes(t.Context(), "https://example.com/", 100)
	wantKind(t, err, fault.Invalid)
	w.wantDialled(t)
	if _, _, err := c.ProviderBytes(t.Context(), "P", outbound.Home{}, "https://example.com/", 100); err != nil {
		t.Errorf("what a provider names: %v", err)
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		location string
		ok       bool
	}{
		"to a path":           {"/end", true},
		"to another host":     {"https://other.example.com/end", true},
		"without a scheme":    {"//other.example.com/end", true},
		"to loopback":         {"https://127.0.0.1/end", false},
		"to a private name":   {"https://private.example.com/end", false},
		"to metadata":         {"http://169.254.169.254/latest/meta-data", false},
		"to plain http":       {"http://example.com/end", false},
		"to a port":           {"https://example.com:8443/end", false},
		"with credentials":    {"https://a:b@example.com/end", false},
		"to a file":           {"file:///etc/passwd", false},
		"with backslashes":    {`\\127.0.0.1\end`, false},
		"to nowhere":          {"", false},
		"to itself":           {"/", false},
		"of too many, in all": {"/4", false},
		"of three":            {"/3", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/end":
					file("end")(w, r)
				case "/4", "/3":
					http.Redirect(w, r, map[string]string{"/4": "/3", "/3": "/2"}[r.URL.Path], http.StatusFound)
				case "/2":
					http.Redirect(w, r, "/end", http.StatusTemporaryRedirect)
				default:
					if c.location != "" {
						w.Header()["Location"] = []string{c.location}
					}
					w.WriteHeader(http.StatusMovedPermanently)
				}
			})
			w.names["private.example.com"] = []string{"10.0.0.1"}
			data, _, err := w.client(func(cfg *fetch.Config) { cfg.Dial = toServer(w) }).Bytes(t.Context(), "https://example.com/", 100)
			if c.ok && (err != nil || string(data) != "end") {
				t.Errorf("%q %v", data, err)
			}
			if !c.ok {
				wantKind(t, err, fault.Invalid)
			}
			for _, to := range w.dialled {
				if to != netip.AddrPortFrom(public, 443) {
					t.Errorf("dialled %s", to)
				}
			}
		})
	}
}

// toServer returns the world's dialer, for tests in which each name has a valid certificate.
func toServer(w *world) func(context.Context, netip.AddrPort) (net.Conn, error) {
	return func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		w.mu.Lock()
		w.dialled = append(w.dialled, to)
		w.mu.Unlock()
		return (&net.Dialer{}).DialContext(ctx, "tcp", w.server.Listener.Addr().String())
	}
}

// A provider's credentials are sent only to its origin, and no longer after a redirect to another one, not even back at the origin.
func TestCredentials(t *testing.T) {
	t.Parallel()
	const home = "https://example.com/v1"
	cases := map[string]struct {
		url  string
		want []string // "host path credential"
	}{
		"at home":                       {"https://example.com/end", []string{"example.com /end key"}},
		"elsewhere":                     {"https://cdn.example.com/end", []string{"cdn.example.com /end "}},
		"redirected elsewhere":          {"https://example.com/away", []string{"example.com /away key", "cdn.example.com /end "}},
		"redirected at home":            {"https://example.com/stay", []string{"example.com /stay key", "example.com /end key"}},
		"redirected elsewhere and back": {"https://example.com/round", []string{"example.com /round key", "cdn.example.com /home ", "example.com /end "}},
		"at another port":               {"https://example.com:80/end", []string{"example.com:80 /end "}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
				to := map[string]string{"/away": "https://cdn.example.com/end", "/stay": "/end", "/round": "https://cdn.example.com/home", "/home": "https://example.com/end"}[r.URL.Path]
				if to != "" {
					http.Redirect(w, r, to, http.StatusFound)
					return
				}
				file("x")(w, r)
			})
			r, err := w.client(nil).Get(t.Context(), c.url, fetch.Limits{Provider: &fetch.Provider{Name: "P", Home: home, Credentials: http.Header{"x-goog-api-key": {"key"}}}})
			if err != nil {
				t.Fatal(err)
			}
			r.Body.Close()
			got := []string{}
			for _, r := range w.requests {
				got = append(got, r.Host+" "+r.URL.Path+" "+r.Header.Get("X-Goog-Api-Key"))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// The operator's hosts, networks and origins of providers may have private addresses.
func TestAllowedPrivateAddresses(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(file("inside"))
	t.Cleanup(plain.Close)
	_, port, _ := net.SplitHostPort(plain.Listener.Addr().String())
	w := newWorld(t, file("x"))
	w.names["media.corp"], w.names["localhost"] = []string{"127.0.0.1"}, []string{"127.0.0.1"}
	loopback := netip.MustParsePrefix("127.0.0.0/8")
	cases := map[string]struct {
		url, home string
		hosts     []string
		networks  []netip.Prefix
		ok        bool
	}{
		"not allowed":                     {url: plain.URL},
		"a network":                       {url: plain.URL, networks: []netip.Prefix{loopback}, ok: true},
		"another network":                 {url: plain.URL, networks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
		"a host":                          {url: "http://media.corp:" + port, hosts: []string{"media.corp"}, ok: true},
		"localhost":                       {url: "http://localhost:" + port, hosts: []string{"localhost"}, ok: true},
		"another host":                    {url: "http://media.corp:" + port, hosts: []string{"corp"}},
		"a name in a network, and a port": {url: "http://media.corp:" + port, networks: []netip.Prefix{loopback}},
		"at the provider's origin":        {url: plain.URL + "/v1/videos/1", home: plain.URL + "/v1", ok: true},
		"at another origin":               {url: plain.URL, home: "http://127.0.0.1:1/v1"},
		"the provider with a user":        {url: "http://u@127.0.0.1:" + port, home: plain.URL},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := w.client(func(cfg *fetch.Config) {
				cfg.ProviderMedia, cfg.Dial = fetch.Allowed{Hosts: c.hosts, Networks: c.networks}, nil
			})
			data, _, err := client.ProviderBytes(t.Context(), "P", outbound.Home{URL: c.home}, c.url, 100)
			if c.ok != (err == nil) || c.ok && string(data) != "inside" {
				t.Errorf("%q %v", data, err)
			}
		})
	}
}

// Each list applies to one kind of address only: a host that a provider may name is not allowed for clients or callbacks.
func TestAllowListsAreSeparate(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(file("inside"))
	t.Cleanup(plain.Close)
	_, port, _ := net.SplitHostPort(plain.Listener.Addr().String())
	w := newWorld(t, file("x"))
	w.names["media.corp"], w.names["outside.example"] = []string{"127.0.0.1"}, []string{"127.0.0.1"}
	own := fetch.Allowed{Hosts: []string{"media.corp"}, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	uses := map[string]func(c *fetch.Client, address string) error{
		"provider media": func(c *fetch.Client, address string) error {
			_, _, err := c.ProviderBytes(t.Context(), "P", outbound.Home{}, address, 100)
			return err
		},
		"media of a provider without a name": func(c *fetch.Client, address string) error {
			_, _, err := c.ProviderBytes(t.Context(), "", outbound.Home{}, address, 100)
			return err
		},
		"client media": func(c *fetch.Client, address string) error {
			_, _, err := c.Bytes(t.Context(), address, 100)
			return err
		},
		"callbacks": func(c *fetch.Client, address string) error {
			_, _, err := c.Post(t.Context(), address, nil, []byte("{}"))
			return err
		},
		"callbacks, checked": func(c *fetch.Client, address string) error { return c.CheckCallback("callback_url", address) },
	}
	lists := map[string]func(*fetch.Config){
		"provider media": func(c *fetch.Config) { c.ProviderMedia = own }, "client media": func(c *fetch.Config) { c.ClientMedia = own }, "callbacks": func(c *fetch.Config) { c.Callbacks = own },
	}
	list := map[string]string{"media of a provider without a name": "provider media", "callbacks, checked": "callbacks"}
	for allowed, set := range lists {
		for use, call := range uses {
			t.Run(use+" where "+allowed+" is allowed", func(t *testing.T) {
				t.Parallel()
				client := w.client(func(cfg *fetch.Config) { cfg.Dial = nil; set(cfg) })
				for _, address := range []string{plain.URL, "http://media.corp:" + port} {
					want := cmp.Or(list[use], use) == allowed
					if err := call(client, address); (err == nil) != want {
						t.Errorf("%s: %v; want it to be let through: %v", address, err, want)
					}
				}
			})
		}
	}
}

func TestPlainHTTP(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(file("plain"))
	t.Cleanup(plain.Close)
	w := newWorld(t, file("x"))
	c := w.client(func(cfg *fetch.Config) {
		cfg.HTTP = true
		cfg.Dial = func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", plain.Listener.Addr().String())
		}
	})
	if data, _, err := c.Bytes(t.Context(), "http://example.com/", 100); err != nil || string(data) != "plain" {
		t.Errorf("%q %v", data, err)
	}
}

func TestUntrustedCertificate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, file("x"))
	_, _, err := w.client(nil).Bytes(t.Context(), "https://not-in-the-certificate.org/", 100)
	wantKind(t, err, fault.Invalid)
	if len(w.requests) > 0 {
		t.Error("a request was sent")
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		answer http.HandlerFunc
		types  []string
		kind   fault.Kind // for a client's address
		other  fault.Kind // for a provider's file
	}{
		"not found":   {answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, kind: fault.Invalid, other: fault.ProviderUnavailable},
		"no content":  {answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, kind: fault.Invalid, other: fault.ProviderUnavailable},
		"not asked":   {answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(304) }, kind: fault.Invalid, other: fault.ProviderUnavailable},
		"wrong type":  {answer: file("x"), types: []string{"video/", "application/octet-stream"}, kind: fault.Invalid, other: fault.ProviderUnavailable},
		"a part":      {answer: head(206, "Content-Range", "bytes 0-0/9"), kind: fault.Invalid, other: fault.ProviderUnavailable},
		"compressed":  {answer: head(200, "Content-Encoding", "gzip"), kind: fault.Invalid, other: fault.ProviderUnavailable},
		"too large":   {answer: file(strings.Repeat("x", 101)), kind: fault.PayloadTooLarge, other: fault.ProviderUnavailable},
		"endless":     {answer: chunks(101), kind: fault.PayloadTooLarge, other: fault.ProviderUnavailable},
		"large head":  {answer: head(200, "X-Large", strings.Repeat("x", 70<<10)), kind: fault.Invalid, other: fault.ProviderUnavailable},
		"cut":         {answer: cut, kind: fault.Invalid, other: fault.ProviderUnavailable},
		"cut at once": {answer: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, kind: fault.Invalid, other: fault.ProviderUnavailable},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.answer)
			for provider, kind := range map[*fetch.Provider]fault.Kind{nil: c.kind, {Name: "Provider"}: c.other} {
				r, err := w.client(nil).Get(t.Context(), "https://example.com/?secret=1", fetch.Limits{MaxBytes: 100, Types: c.types, Provider: provider})
				if err == nil {
					var data []byte
					data, err = io.ReadAll(r.Body)
					r.Body.Close()
					if len(data) > 100 {
						t.Errorf("%d bytes came", len(data))
					}
				}
				wantKind(t, err, kind)
				if e := fault.From(err); strings.Contains(e.Error(), "secret") || provider != nil && (e.Next != fault.NextEndpoint || e.Upstream == nil || e.Upstream.Provider != provider.Name) {
					t.Errorf("%+v", e)
				}
			}
		})
	}
}

func head(status int, name, value string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(name, value)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "x")
	}
}

func chunks(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for range n {
			_, _ = io.WriteString(w, "x")
			w.(http.Flusher).Flush()
		}
	}
}

func cut(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "50")
	_, _ = io.WriteString(w, "x")
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

func TestExactlyAsLargeAsAllowed(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{"with a length": file(strings.Repeat("x", 100)), "in chunks": chunks(100)} {
		w := newWorld(t, answer)
		if data, _, err := w.client(nil).Bytes(t.Context(), "https://example.com/", 100); err != nil || len(data) != 100 {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
	}
}

func TestRanges(t *testing.T) {
	t.Parallel()
	const content = "0123456789"
	serve := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"e"`)
		file(content)(w, r)
	}
	cases := map[string]struct {
		ask                 http.Header
		answer              http.HandlerFunc
		status              int
		start, length, size int64
		body                string
	}{
		"whole":             {ask: nil, status: 200, length: 10, size: 10, body: content},
		"a part":            {ask: http.Header{"Range": {"bytes=2-4"}}, status: 206, start: 2, length: 3, size: 10, body: "234"},
		"the end":           {ask: http.Header{"Range": {"bytes=-1"}}, status: 206, start: 9, length: 1, size: 10, body: "9"},
		"if it is the same": {ask: http.Header{"Range": {"bytes=0-0"}, "If-Range": {`"e"`}}, status: 206, length: 1, size: 10, body: "0"},
		"if it is another":  {ask: http.Header{"Range": {"bytes=0-0"}, "If-Range": {`"f"`}}, status: 200, length: 10, size: 10, body: content},
		"not satisfiable":   {ask: http.Header{"Range": {"bytes=10-"}}, status: 416, length: -2, size: 10},
		"not changed":       {ask: http.Header{"If-None-Match": {`"e"`}}, status: 304, length: 0, size: -1},
		"of unknown size":   {ask: http.Header{"Range": {"bytes=0-0"}}, answer: head(206, "Content-Range", "bytes 0-0/*"), status: 206, length: 1, size: -1, body: "x"},
		"without its length": {ask: http.Header{"Range": {"bytes=0-2"}}, answer: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Range", "bytes 0-2/9")
			w.WriteHeader(206)
			chunks(3)(w, r)
		}, status: 206, length: 3, size: 9, body: "xxx"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := c.answer
			if answer == nil {
				answer = serve
			}
			w := newWorld(t, answer)
			r, err := w.client(nil).Get(t.Context(), "https://example.com/", fetch.Limits{Header: c.ask})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			if c.length == -2 { // whatever the length of the message
				c.length = r.Length
			} else if data, err := io.ReadAll(r.Body); err != nil || string(data) != c.body {
				t.Errorf("%q %v", data, err)
			}
			if r.Status != c.status || r.Start != c.start || r.Length != c.length || r.Size != c.size {
				t.Errorf("%+v", r)
			}
		})
	}
}

// A partial response with another range, or with too few or many bytes, is an error and never passes as a whole file.
func TestBadRanges(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "bytes", "bytes 0-0", "bytes 1-0/9", "bytes 0-9/9", "bytes 0-5/9", "items 0-0/9", "bytes -1-0/9", "bytes 0-0/x", "bytes */9", "bytes 0-99999999999999999999/*"} {
		w := newWorld(t, head(206, "Content-Range", text))
		r, err := w.client(nil).Get(t.Context(), "https://example.com/", fetch.Limits{Header: http.Header{"Range": {"bytes=0-5"}}, Provider: &fetch.Provider{Name: "P"}})
		if err == nil {
			_, err = io.ReadAll(r.Body)
			r.Body.Close()
		}
		if !fault.Is(err, fault.ProviderUnavailable) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestOnlyListedHeadersAreSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, file("x"))
	r, err := w.client(nil).Get(t.Context(), "https://example.com/", fetch.Limits{Header: http.Header{"Authorization": {"Bearer x"}, "Cookie": {"a=b"}, "X-Forwarded-For": {"1.2.3.4"}, "Accept": {"image/*"}}})
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	got := w.requests[0].Header
	if got.Get("Accept") != "image/*" || got.Get("Authorization") != "" || got.Get("Cookie") != "" || got.Get("X-Forwarded-For") != "" {
		t.Errorf("%v", got)
	}
}

func TestCallerGivesUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		cancel(errors.New("gone"))
		<-r.Context().Done()
	})
	_, _, err := w.client(nil).Bytes(ctx, "https://example.com/", 100)
	wantKind(t, err, fault.Canceled)
}

func TestPost(t *testing.T) {
	t.Parallel()
	var got []byte
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		got, _ = io.ReadAll(r.Body)
		w.Header().Set("Retry-After", r.Header.Get("X-Wait"))
		w.Header().Set("Location", "https://example.com/other")
		w.WriteHeader(map[string]int{"/302": 302, "/503": 503}[r.URL.Path])
	})
	c := w.client(nil)
	for _, x := range []struct {
		path, wait string
		status     int
		retry      time.Duration
	}{{"/302", "", 302, 0}, {"/503", "7", 503, 7 * time.Second}, {"/503", "soon", 503, 0}, {"/503", "-1", 503, 0}, {"/503", "999999999", 503, 24 * time.Hour}} {
		status, retry, err := c.Post(t.Context(), "https://example.com"+x.path, map[string]string{"webhook-id": "i", "x-wait": x.wait}, []byte(`{"a":1}`))
		if status != x.status || retry != x.retry || err != nil {
			t.Errorf("%+v: %d %s %v", x, status, retry, err)
		}
	}
	r := w.requests[0]
	if r.Method != http.MethodPost || r.Header.Get("webhook-id") != "i" || r.Header.Get("Content-Type") != "application/json" || !bytes.Equal(got, []byte(`{"a":1}`)) {
		t.Errorf("%s %v %s", r.Method, r.Header, got)
	}
	if len(w.requests) != 5 {
		t.Errorf("%d requests: a redirect was followed", len(w.requests))
	}
	w.names["example.com"] = []string{"10.0.0.1"}
	_, _, err := c.Post(t.Context(), "https://example.com/", nil, nil)
	wantKind(t, err, fault.Invalid)
	none := w.client(func(cfg *fetch.Config) {
		cfg.Lookup = func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("no such host") }
	})
	_, _, err = none.Post(t.Context(), "https://example.com/", nil, nil)
	wantKind(t, err, fault.ProviderUnavailable)
}

func TestNextAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, file("x"))
	w.names["example.com"] = []string{"1.1.1.1", "1.0.0.1"}
	toWorld := toServer(w)
	c := w.client(func(cfg *fetch.Config) {
		cfg.Dial = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			if to.Addr() == netip.MustParseAddr("1.1.1.1") {
				return nil, fmt.Errorf("no way to %s", to)
			}
			return toWorld(ctx, to)
		}
	})
	if _, _, err := c.Bytes(t.Context(), "https://example.com/", 100); err != nil {
		t.Error(err)
	}
	w.wantDialled(t, "1.0.0.1:443")
}
