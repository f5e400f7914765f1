package e2e_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"github.com/miekg/dns"
)

const acmeConfig = `server:
  listen: %s
  admin_listen: 127.0.0.1:0
  tls:
    redirect_listen: %s
    acme: {domains: [weir.example.test], email: operators@example.test, directory_url: "%s", ca_file: %s}
data_dir: %s
builtin: false
`

// certifier is an authority that speaks ACME, Let's Encrypt's own test server. It finds every name at 127.0.0.1.
type certifier struct {
	directory string
	vouchers  string // file with who vouches for directory
	roots     *x509.CertPool
	server    *httptest.Server
	away      atomic.Bool // it breaks each connection; its port is not free for another test's server
}

var _ = os.Setenv("PEBBLE_VA_NOSLEEP", "1")

const quarter = 90 * 24 * time.Hour // as long as certificates of public authorities last

func startCertifier(t *testing.T, httpPort, tlsPort int, validity time.Duration) *certifier {
	t.Helper()
	quiet := log.New(io.Discard, "", 0)
	names, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	resolver := &dns.Server{Listener: names, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		if q.Question[0].Qtype == dns.TypeA {
			m.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: net.IPv4(127, 0, 0, 1)}}
		}
		_ = w.WriteMsg(m)
	})}
	go func() { _ = resolver.ActivateAndServe() }()
	t.Cleanup(func() { _ = resolver.Shutdown() })
	store := db.NewMemoryStore()
	authority := ca.New(quiet, store, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {ValidityPeriod: uint64(validity / time.Second)}})
	front := wfe.New(quiet, store, va.New(quiet, httpPort, tlsPort, true, names.Addr().String(), store), authority, []string{"example.test"}, true, false, 1, 1)
	c := &certifier{vouchers: filepath.Join(t.TempDir(), "vouchers.pem"), roots: x509.NewCertPool()}
	handler := front.Handler()
	c.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.away.Load() {
			panic(http.ErrAbortHandler)
		}
		handler.ServeHTTP(w, r)
	}))
	c.server.StartTLS()
	t.Cleanup(c.server.Close)
	c.directory = c.server.URL + wfe.DirectoryPath
	if err := os.WriteFile(c.vouchers, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	root := httptest.NewRecorder()
	front.ManagementHandler().ServeHTTP(root, httptest.NewRequest(http.MethodGet, wfe.RootCertPath+"0", nil))
	if !c.roots.AppendCertsFromPEM(root.Body.Bytes()) {
		t.Fatalf("the authority has no root: %s", root.Body)
	}
	return c
}

func port(address string) (n int) {
	_, text, _ := net.SplitHostPort(address)
	_, _ = fmt.Sscan(text, &n)
	return n
}

// A node gets its certificate by itself, whichever way the authority can reach it, shows it for its own name only, keeps it over a restart
// without the authority, and leads http:// to https://.
func TestCertificateFromAuthority(t *testing.T) {
	for _, c := range []struct {
		name            string
		byHTTP, overTLS bool
	}{{"tls-alpn-01", false, true}, {"http-01", true, false}} {
		t.Run(c.name, func(t *testing.T) {
			listen, plain, nowhere := free(t), free(t), free(t)
			httpPort, tlsPort := port(nowhere), port(nowhere)
			if c.byHTTP {
				httpPort = port(plain)
			}
			if c.overTLS {
				tlsPort = port(listen)
			}
			authority := startCertifier(t, httpPort, tlsPort, quarter)
			n := acmeNode(t, listen, plain, authority)
			client := n.reach(listen, authority.roots)
			n.up(client)
			res, err := client.Get("https://weir.example.test/v1/models")
			if err != nil {
				t.Fatalf("%v\n%s", err, n.log.String())
			}
			_ = res.Body.Close()
			if res.StatusCode != 200 || res.ProtoMajor != 2 || res.TLS.PeerCertificates[0].DNSNames[0] != "weir.example.test" {
				t.Errorf("%d by HTTP/%d for %v", res.StatusCode, res.ProtoMajor, res.TLS.PeerCertificates[0].DNSNames)
			}
			if _, err := client.Get("https://other.example.test/v1/models"); err == nil {
				t.Error("the node answers by another's name")
			}
			follow := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			res, err = follow.Get("http://" + plain + "/models?q=1")
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if to := res.Header.Get("Location"); res.StatusCode != 308 || to != "https://weir.example.test/models?q=1" {
				t.Errorf("http:// gets %d, to %q", res.StatusCode, to)
			}

			n.kill()
			authority.server.Close()
			n.serve()
			n.up(n.reach(listen, authority.roots))

			n.wait("the second start to be logged", func() bool { return strings.Count(n.log.String(), `"admin_url":`) == 2 })
			if ends := n.metric(`weir_certificate_not_after_timestamp_seconds{certificate="weir.example.test"}`); time.Until(time.Unix(int64(ends), 0)) < quarter/2 {
				t.Errorf("by its metrics the certificate ends at %f", ends)
			}
			found, _ := exec.Command(program, "doctor", "-c", n.config).Output() // exits with 1, because there is no model
			if want := "the one for weir.example.test is refused by clients that do not know its authority"; !strings.Contains(string(found), want) {
				t.Errorf("doctor does not find that %q:\n%s", want, found)
			}
		})
	}
}

// metric is the value of a series of the node.
func (n *node) metric(series string) (value float64) {
	n.t.Helper()
	urls := regexp.MustCompile(`"admin_url":"([^"]+)"`).FindAllStringSubmatch(n.log.String(), -1)
	if len(urls) == 0 {
		n.t.Fatal("the log does not say where metrics are")
	}
	res, err := http.Get(urls[len(urls)-1][1] + "/metrics")
	if err != nil {
		n.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "\n"+series+" ")
	if !ok {
		n.t.Fatalf("there is no %s", series)
	}
	if _, err := fmt.Sscan(rest, &value); err != nil {
		n.t.Fatal(err)
	}
	return value
}

// Without its authority the node runs, says in its log what is wrong and what to do, and does not say so for each client.
func TestAuthorityIsAway(t *testing.T) {
	authority := startCertifier(t, 1, 1, quarter)
	authority.server.Close()
	listen := free(t)
	n := acmeNode(t, listen, free(t), authority)
	n.wait("the failure to be logged", func() bool { return strings.Contains(n.log.String(), "no certificate could be got") })
	client := n.reach(listen, authority.roots)
	for _, name := range []string{"weir.example.test", "weir.example.test", "WEIR.example.test", "weir.example.test."} {
		if _, err := client.Get("https://" + name + "/v1/models"); err == nil {
			t.Errorf("there is a certificate for %s", name)
		}
	}
	if log := n.log.String(); strings.Count(log, "no certificate could be got") != 1 || !strings.Contains(log, "redirect_listen") {
		t.Error(log)
	}
}

// A certificate is replaced before it ends, and only the node's user can read what is kept of it. When the authority is away by then, clients are
// shown the old one, and the log says why and what to do.
func TestCertificateIsRenewed(t *testing.T) {
	t.Parallel()
	listen, nowhere := free(t), free(t)
	authority := startCertifier(t, port(nowhere), port(listen), 9*time.Second)
	n := acmeNode(t, listen, free(t), authority)
	n.up(n.reach(listen, authority.roots))
	first := n.shown(listen)
	n.wait("another certificate", func() bool { return n.shown(listen) != first })
	n.wait("the renewal to be logged", func() bool { return strings.Count(n.log.String(), "the certificate is there") >= 2 })
	authority.away.Store(true)
	before := len(n.log.String()) // an attempt under way may end in either way
	n.wait("the missing renewal to be logged", func() bool { return strings.Contains(n.log.String()[before:], "EOF") })
	if log := n.log.String()[before:]; !strings.Contains(log, "the certificate is not renewed") || !strings.Contains(log, "redirect_listen") {
		t.Errorf("the log does not say what to do:\n%s", log)
	}
	last := n.shown(listen)
	if again := n.shown(listen); again != last || last == "" {
		t.Errorf("clients are shown %q, then %q", last, again)
	}
	kept := 0
	err := filepath.WalkDir(filepath.Join(filepath.Dir(n.config), "data", "acme"), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("others can read %s: %v", path, info.Mode())
		}
		kept++
		return err
	})
	if err != nil || kept < 3 { // the folder, the account and the certificate
		t.Errorf("%d things are kept, %v", kept, err)
	}
}

// shown is the serial number of the certificate that clients get, which may have ended.
func (n *node) shown(address string) string {
	n.t.Helper()
	c, err := tls.Dial("tcp", address, &tls.Config{ServerName: "weir.example.test", InsecureSkipVerify: true})
	if err != nil {
		n.t.Fatalf("%v\n%s", err, n.log.String())
	}
	defer func() { _ = c.Close() }()
	return c.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

func acmeNode(t *testing.T, listen, plain string, c *certifier) *node {
	t.Helper()
	dir := t.TempDir()
	n := &node{t: t, config: filepath.Join(dir, "weir.yaml")}
	if err := os.WriteFile(n.config, fmt.Appendf(nil, acmeConfig, listen, plain, c.directory, c.vouchers, filepath.Join(dir, "data")), 0o600); err != nil {
		t.Fatal(err)
	}
	n.serve()
	t.Cleanup(n.kill)
	return n
}

// reach is a client that finds every name at address.
func (n *node) reach(address string, roots *x509.CertPool) *http.Client {
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots}, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}}
	n.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func (n *node) up(client *http.Client) {
	n.t.Helper()
	n.wait("the gateway to be up", func() bool {
		res, err := client.Get("https://weir.example.test/v1/models")
		if err == nil {
			_ = res.Body.Close()
		}
		return err == nil
	})
}
