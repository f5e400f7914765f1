package app_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/internal/app"
	"weir/internal/app/apptest"
	"weir/internal/config"
	"weir/internal/outbound"
	"weir/internal/outbound/tunnel/tunneltest"
	"weir/internal/sim"
)

const proxyPassword = "s3cret-of-the-proxy"

// behind puts a node behind a proxy. Its providers have names that only the proxy can resolve.
func behind(t *testing.T, p *tunneltest.Proxy) func(*apptest.Setup) {
	return func(s *apptest.Setup) {
		p.Names = map[string]string{}
		for i := range s.Declared.Providers {
			one := &s.Declared.Providers[i]
			host := one.ID + ".provider.test:80"
			p.Names[host] = strings.TrimSuffix(strings.TrimPrefix(one.BaseURL, "http://"), "/v1")
			one.BaseURL = "http://" + strings.TrimSuffix(host, ":80") + "/v1"
		}
		p.Start(t)
		s.Upstream.Proxy = way(t, p.URL())
		s.Upstream.TLS = &tls.Config{RootCAs: p.Roots(), MinVersion: tls.VersionTLS12}
	}
}

func way(t *testing.T, text string) outbound.Proxy {
	t.Helper()
	w, err := outbound.Parse(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Behind a proxy of each kind, which asks for a password, each failure of a provider is what it is without one.
func TestFailureMatrixBehindProxies(t *testing.T) {
	t.Parallel()
	places := apptest.NewSlots()
	for i, kind := range tunneltest.Kinds {
		calm := &tunneltest.Proxy{Kind: kind, User: "anna", Password: proxyPassword}
		patient := apptest.StartGateway(t, behind(t, calm))
		hasty := apptest.StartGateway(t, behind(t, &tunneltest.Proxy{Kind: kind, User: "anna", Password: proxyPassword}), func(s *apptest.Setup) { apptest.Hasten(&s.Upstream) })
		for n := range apptest.Matrix {
			c, gw := &apptest.Matrix[n], patient
			if c.Waits {
				gw = hasty
			}
			for _, stream := range []bool{false, true} {
				if !stream && c.Whole == 0 || !apptest.Shown(n, i) {
					continue
				}
				name := fmt.Sprintf("%s/%s/stream=%v", kind, c.Name(t), stream)
				places.Run(c.Waits, func() { t.Run(name, func(t *testing.T) { c.Check(t, gw, &manners[0], stream) }) })
				places.Run(c.Waits, func() {
					t.Run(name+"/fallback", func(t *testing.T) { c.CheckFallback(t, gw, &manners[0], stream) })
				})
			}
		}
		defer func() {
			if calm.Tunnels.Load() == 0 {
				t.Errorf("%s: no call went through the proxy", kind)
			}
			for _, gw := range []*apptest.Gateway{patient, hasty} {
				gw.WantBalanced(t)
				if log := gw.Log.String(); strings.Contains(log, proxyPassword) || strings.Contains(log, "anna:") {
					t.Errorf("%s: the log has the proxy's password", kind)
				}
			}
		}()
	}
	places.Wait()
}

// A proxy that fails counts as a provider that cannot be reached: nothing is charged, and the next provider is called, which has its own way.
func TestProxiesThatFail(t *testing.T) {
	t.Parallel()
	closed := (&tunneltest.Proxy{Kind: "http"})
	for _, c := range []struct {
		name  string
		proxy *tunneltest.Proxy
		way   string // in place of the proxy's address
		said  string // in the log
	}{
		{"refuses connections", closed, "http://127.0.0.1:1", "cannot be reached (connection refused)"},
		{"hangs", &tunneltest.Proxy{Kind: "http", Fault: tunneltest.Hang}, "", "did not answer within"},
		{"hangs in SOCKS", &tunneltest.Proxy{Kind: "socks5", Fault: tunneltest.Hang}, "", "did not answer within"},
		{"answers 407", &tunneltest.Proxy{Kind: "http", Status: 407}, "", "answered 407 Proxy Authentication Required"},
		{"answers 407 over TLS", &tunneltest.Proxy{Kind: "https", Status: 407}, "", "answered 407 Proxy Authentication Required"},
		{"wants a password in SOCKS", &tunneltest.Proxy{Kind: "socks5", User: "b", Password: "other"}, "socks5://anna:" + proxyPassword + "@", "refused user name and password"},
		{"answers 403", &tunneltest.Proxy{Kind: "http", Status: 403}, "", "answered 403 Forbidden"},
		{"speaks for the provider", &tunneltest.Proxy{Kind: "http", Fault: tunneltest.Speak}, "", "data behind the answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			gw := apptest.StartGateway(t, func(s *apptest.Setup) {
				c.proxy.Start(t)
				text := c.proxy.URL()
				if strings.HasSuffix(c.way, "@") {
					text = c.way + strings.SplitN(c.proxy.Name(), "://", 2)[1]
				} else if c.way != "" {
					text = c.way
				}
				s.Upstream.Connect = time.Second
				s.Upstream.TLS = &tls.Config{RootCAs: c.proxy.Roots(), MinVersion: tls.VersionTLS12}
				s.Declared.Providers[0].Proxy = way(t, text) // that of "works"; the others go directly
				s.Offers = append(s.Offers, apptest.OfferOf(t, "translated", "test/other-way", "chat"))
			})
			account := gw.NewAccount(t)
			for _, stream := range []bool{false, true} {
				a := account.Chat(t, map[string]any{"messages": apptest.Question, "model": "test/next", "stream": stream})
				if a.Status != http.StatusBadGateway || strings.Contains(string(a.Body), "proxy") || strings.Contains(string(a.Body), "127.0.0.1") {
					t.Errorf("status %d: %s", a.Status, a.Body)
				}
				account.WantSpent(t, false)
				a = account.Chat(t, map[string]any{"messages": apptest.Question, "model": "test/next", "models": []string{"test/other-way"}, "stream": stream})
				if a.Status != http.StatusOK || a.Model(t, stream) != "test/other-way" {
					t.Errorf("the next provider was not called: status %d: %s", a.Status, a.Body)
				}
				account = gw.NewAccount(t)
			}
			log := gw.Log.String()
			if !strings.Contains(log, c.said) || strings.Contains(log, proxyPassword) {
				t.Errorf("the log should say %q, and no password: %s", c.said, log)
			}
		})
	}
}

// A proxy that dies in a stream: the client gets an error event and pays for what came. A whole answer that breaks off is not charged.
func TestProxyDiesInTheStream(t *testing.T) {
	t.Parallel()
	for _, kind := range tunneltest.Kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := &tunneltest.Proxy{Kind: kind, DieAfter: 5}
			gw := apptest.StartGateway(t, behind(t, p))
			account := gw.NewAccount(t)
			a := account.Chat(t, map[string]any{"messages": apptest.Question, "model": "test/next", "stream": true})
			if a.Status != http.StatusOK {
				t.Fatalf("status %d: %s", a.Status, a.Body)
			}
			a.WantErrorEvent(t)
			account.WantSpent(t, true)
			gw.WantBalanced(t)
		})
	}
}

// Tunnels are kept and used again, and one that the proxy closes while it is idle costs no call.
func TestTunnelsAreUsedAgain(t *testing.T) {
	t.Parallel()
	for _, kind := range tunneltest.Kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := &tunneltest.Proxy{Kind: kind}
			gw := apptest.StartGateway(t, behind(t, p))
			account := gw.NewAccount(t)
			call := func() {
				t.Helper()
				for _, stream := range []bool{false, true} {
					a := account.Chat(t, map[string]any{"messages": apptest.Question, "model": "test/next", "stream": stream})
					if a.Status != http.StatusOK {
						t.Fatalf("status %d: %s", a.Status, a.Body)
					}
					a.WantComplete(t, stream)
				}
			}
			for range 5 {
				call()
			}
			if n := p.Tunnels.Load(); n != 1 {
				t.Errorf("%d tunnels for ten calls one after another", n)
			}
			p.CloseTunnels()
			call()
			if n := p.Tunnels.Load(); n != 2 {
				t.Errorf("%d tunnels after the first was closed", n)
			}
		})
	}
}

// What is set takes effect without a restart: another proxy, none, one host without it.
func TestProxyIsReloaded(t *testing.T) {
	t.Parallel()
	first, second := &tunneltest.Proxy{Kind: "http"}, &tunneltest.Proxy{Kind: "socks5"}
	var cfg config.Config
	gw := apptest.StartGateway(t, behind(t, first), func(s *apptest.Setup) { cfg = s.Config })
	second.Names = first.Names
	second.Start(t)
	account := gw.NewAccount(t)
	chat := func() int {
		return account.Chat(t, map[string]any{"messages": apptest.Question, "model": "test/next"}).Status
	}
	if status := chat(); status != http.StatusOK || first.Tunnels.Load() != 1 {
		t.Fatalf("status %d, %d tunnels", status, first.Tunnels.Load())
	}
	use := func(text string, noProxy ...string) {
		t.Helper()
		cfg.Upstream.Proxy, cfg.Upstream.NoProxy = way(t, text), noProxy
		if err := gw.Node.Reload(cfg); err != nil {
			t.Fatal(err)
		}
	}
	use(second.URL())
	if status := chat(); status != http.StatusOK || second.Tunnels.Load() != 1 || first.Tunnels.Load() != 1 {
		t.Errorf("status %d, %d tunnels", status, second.Tunnels.Load())
	}
	for _, direct := range []func(){func() { use(second.URL(), ".provider.test") }, func() { use("direct") }, func() { use("") }} {
		direct()
		if status := chat(); status != http.StatusBadGateway { // its name is the proxy's alone
			t.Errorf("status %d without the proxy", status)
		}
	}
	if strings.Contains(gw.Log.String(), "need a restart") {
		t.Errorf("a restart is asked for: %s", gw.Log.String())
	}
	use(first.URL())
	if status := chat(); status != http.StatusOK {
		t.Errorf("status %d with the first proxy again", status)
	}
}

// A provider's own way counts before that of the gateway, and a test of a provider says by which way it went.
func TestTrialSaysTheWay(t *testing.T) {
	t.Parallel()
	simulator := sim.New(sim.Config{})
	listener := apptest.Listen(t)
	go func() { _ = simulator.Serve(listener) }()
	t.Cleanup(func() { _ = simulator.Close(t.Context()) })
	at := listener.Addr().String()
	names := map[string]string{"hut.provider.test:80": at}
	fine := (&tunneltest.Proxy{Kind: "http", User: "anna", Password: proxyPassword, Names: names}).Start(t)
	other := (&tunneltest.Proxy{Kind: "socks5", Names: names}).Start(t)
	for _, c := range []struct {
		name, proxy, own, base string
		noProxy                []string
		way, wrong, advice     string
	}{
		{name: "no proxy", base: at, way: "direct"},
		{name: "the gateway's", proxy: fine.URL(), base: "hut.provider.test", way: fine.Name()},
		{name: "its own", proxy: fine.URL(), own: other.URL(), base: "hut.provider.test", way: other.Name()},
		{name: "its own for this machine", proxy: fine.URL(), own: other.URL(), base: at, way: other.Name()},
		{name: "directly", proxy: "http://127.0.0.1:1", own: "direct", base: at, way: "direct"},
		{name: "this machine", proxy: "http://127.0.0.1:1", base: at, way: "direct"},
		{name: "without a password", proxy: fine.Name(), base: "hut.provider.test", way: fine.Name(), wrong: "proxy", advice: "Write user name and password"},
		{name: "not there", proxy: "http://127.0.0.1:1", base: "hut.provider.test", way: "http://127.0.0.1:1", wrong: "proxy", advice: "Check its address"},
		{name: "not listed", proxy: "http://127.0.0.1:1", base: "hut.provider.test", noProxy: []string{".provider.test"}, way: "direct", wrong: "address", advice: "check base_url"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := config.Default()
			cfg.DataDir, cfg.Builtin.All = t.TempDir(), false
			cfg.Upstream.Proxy, cfg.Upstream.NoProxy = way(t, c.proxy), c.noProxy
			cfg.Providers = []config.Provider{{ID: "hut", BaseURL: "http://" + c.base + "/v1", Proxy: way(t, c.own),
				Models: []config.Offer{{ID: "a/chat", UpstreamID: "chat", Prices: config.Prices{Prompt: "1", Completion: "1"}}}}}
			var got []app.Trial
			if err := app.TestProvider(t.Context(), cfg, "hut", false, func(one app.Trial) { got = append(got, one) }); err != nil {
				t.Fatal(err)
			}
			if len(got) != 1 || got[0].Way != c.way || got[0].Wrong != c.wrong || got[0].Took <= 0 || !strings.Contains(strings.Join(got[0].Advice, " "), c.advice) {
				t.Errorf("%+v", got)
			}
			if strings.Contains(fmt.Sprintf("%+v", got), proxyPassword) {
				t.Error("the password is shown")
			}
		})
	}
}

// TLS of a provider is inside the tunnel, also where the proxy has its own, over each of our clients.
func TestTLSInsideTunnels(t *testing.T) {
	t.Parallel()
	simulator := sim.New(sim.Config{})
	server := httptest.NewUnstartedServer(simulator)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	for _, kind := range tunneltest.Kinds {
		for _, client := range []string{"own", "standard", "http2"} {
			t.Run(kind+"/"+client, func(t *testing.T) {
				t.Parallel()
				p := (&tunneltest.Proxy{Kind: kind, User: "anna", Password: proxyPassword, Names: map[string]string{"hut.example.com:443": server.Listener.Addr().String()}}).Start(t)
				cfg := config.Default()
				cfg.DataDir, cfg.Builtin.All = t.TempDir(), false
				cfg.Upstream.Proxy, cfg.Upstream.TLS = way(t, p.URL()), &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
				if client == "standard" {
					cfg.Upstream.HTTPClient = client
				}
				cfg.Providers = []config.Provider{{ID: "hut", BaseURL: "https://hut.example.com/v1", HTTP2: client == "http2",
					Models: []config.Offer{{ID: "a/chat", UpstreamID: "chat", Prices: config.Prices{Prompt: "1", Completion: "1"}}}}}
				var got []app.Trial
				if err := app.TestProvider(t.Context(), cfg, "hut", false, func(one app.Trial) { got = append(got, one) }); err != nil {
					t.Fatal(err)
				}
				if len(got) != 1 || got[0].Wrong != "" || got[0].Way != p.Name() || p.Tunnels.Load() != 1 {
					t.Errorf("%d tunnels: %+v", p.Tunnels.Load(), got)
				}
			})
		}
	}
}

// Doctor connects to the proxy, and to each provider by its way.
func TestDoctorLooksAtTheProxy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		proxy *tunneltest.Proxy
		is    app.State
		what  string
	}{
		"it connects": {&tunneltest.Proxy{Kind: "http"}, app.Good, ", through http://"},
		"it refuses":  {&tunneltest.Proxy{Kind: "http", Status: 407}, app.Bad, "answered 407"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.proxy.Names = map[string]string{}
			c.proxy.Start(t)
			cfg := clinic(t, func(cfg *config.Config) {
				p := &cfg.Providers[0]
				c.proxy.Names["hut.provider.test:80"] = strings.TrimSuffix(strings.TrimPrefix(p.BaseURL, "http://"), "/v1")
				p.BaseURL, cfg.Upstream.Proxy = "http://hut.provider.test/v1", way(t, c.proxy.URL())
			})
			found := map[string]app.Finding{}
			app.Doctor{}.Examine(t.Context(), cfg, func(f app.Finding) { found[f.Part] = f })
			if f := found["proxy"]; f.Is != app.Good || !strings.Contains(f.What, "answers in") {
				t.Errorf("the proxy: %+v", f)
			}
			if f := found["provider hut"]; f.Is != c.is || !strings.Contains(f.What, c.what) {
				t.Errorf("the provider: %+v", f)
			}
		})
	}
}
