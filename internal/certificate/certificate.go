// Package certificate has the certificates that a node shows to its clients: files, which are read again when they change, or certificates that
// an authority gives out over ACME (RFC 8555).
package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// Source gives the certificates of a listener.
type Source interface {
	// Config is what the listener is opened with.
	Config() *tls.Config
	// Plain answers unencrypted requests: those of the authority, if it makes any, and all others with a redirect to base, an https address
	// without a slash at its end.
	Plain(base string) http.Handler
	// Start gets certificates before the first client comes, and looks after them until ctx ends.
	Start(ctx context.Context)
	// Shown says how long the certificates are good that clients are shown, by the file's path or by the domain. Its keys never change.
	Shown() map[string]Validity
}

// lookEvery is how long after a look at the files the next one is due.
const lookEvery = 10 * time.Second

// Files is a certificate from two files. It follows their changes: who renews them need not restart the node.
type Files struct {
	cert, key string
	host      string // whom clients call; "": not known
	log       *slog.Logger
	now       func() time.Time

	mu     sync.Mutex
	pair   *tls.Certificate
	seen   [2]stamp // of the files that pair was read from, or that could not be read
	looked time.Time
}

type stamp struct {
	at   time.Time
	size int64
}

// FromFiles reads a certificate (PEM: the node's own first, then the ones that lead to the authority) and its key (PEM). host is the name
// that clients call the node by, "" where it is not known.
func FromFiles(cert, key, host string, now func() time.Time, log *slog.Logger) (*Files, error) {
	f := &Files{cert: cert, key: key, host: host, log: log, now: now, looked: now(), seen: [2]stamp{stampOf(cert), stampOf(key)}}
	var err error
	if f.pair, err = Read(cert, key); err != nil {
		return nil, err
	}
	return f, nil
}

// Read reads a certificate and its key, and checks that they belong together.
func Read(cert, key string) (*tls.Certificate, error) {
	c, err := os.ReadFile(cert)
	if err != nil {
		return nil, fmt.Errorf("the certificate cannot be read: %w", err)
	}
	k, err := os.ReadFile(key)
	if err != nil {
		return nil, fmt.Errorf("the key of the certificate cannot be read: %w", err)
	}
	pair, err := tls.X509KeyPair(c, k)
	if err != nil {
		return nil, fmt.Errorf("%s and %s are no certificate with its key in PEM: %w", cert, key, err)
	}
	return &pair, nil
}

// Config is TLS 1.2 and later, with HTTP/2.
func (f *Files) Config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return f.current(), nil }}
}

// Plain redirects to base.
func (f *Files) Plain(base string) http.Handler { return toHTTPS(base) }

func (f *Files) current() *tls.Certificate {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if now.Sub(f.looked) < lookEvery {
		return f.pair
	}
	f.looked = now
	seen := [2]stamp{stampOf(f.cert), stampOf(f.key)}
	if seen == f.seen {
		return f.pair
	}
	pair, err := Read(f.cert, f.key)
	if err != nil { // perhaps one of the two is not written yet
		f.log.Error("the changed certificate is not used; the one before goes on", "error", err)
	} else {
		f.pair = pair
		f.log.Info("the certificate was read anew", "ends", pair.Leaf.NotAfter)
	}
	f.seen = seen
	return f.pair
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.ModTime(), info.Size()}
}

// Authority is an account at an authority that speaks ACME.
type Authority struct {
	Domains   []string       // the names that certificates are asked for, each its own
	Email     string         // contact for the authority's notices; "": none
	Directory string         // where the authority begins
	Roots     *x509.CertPool // whom to trust when talking to it; nil: the system's
	Folder    string         // of the account's key and the certificates
}

type automatic struct {
	manager autocert.Manager
	refused *lastRefusal
	domains []string
	log     *slog.Logger

	mu     sync.Mutex
	failed map[string]failure  // by domain
	shown  map[string]Validity // by domain
}

// FromAuthority gets certificates from an authority when they are first needed, and renews them when a third of their time is left, or a month. It proves that the
// names are this node's over TLS on the listener itself (tls-alpn-01), and over Plain where that is served (http-01). Using it accepts the
// authority's terms.
func FromAuthority(a Authority, log *slog.Logger) Source {
	refused := &lastRefusal{next: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.Roots, MinVersion: tls.VersionTLS12}, Proxy: http.ProxyFromEnvironment}}
	client := &acme.Client{DirectoryURL: a.Directory, UserAgent: "weir", HTTPClient: &http.Client{Timeout: time.Minute, Transport: refused}}
	s := &automatic{domains: a.Domains, refused: refused, log: log, failed: map[string]failure{}, shown: map[string]Validity{}}
	s.manager = autocert.Manager{
		Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(a.Folder), HostPolicy: only(a.Domains), Email: a.Email, Client: client,
	}
	return s
}

// only refuses other names. A request over HTTP may name a port, too.
func only(domains []string) autocert.HostPolicy {
	listed := autocert.HostWhitelist(domains...)
	return func(ctx context.Context, host string) error {
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		return listed(ctx, host)
	}
}

func (s *automatic) Config() *tls.Config {
	c := s.manager.TLSConfig()
	c.MinVersion = tls.VersionTLS12
	c.GetCertificate = s.get
	return c
}

// get reports failures of the authority, and leaves it alone for a while after each: authorities stop to listen to who fails often.
// Names of others are refused before it is asked.
func (s *automatic) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if slices.Contains(hello.SupportedProtos, acme.ALPNProto) { // the authority itself
		return s.manager.GetCertificate(hello)
	}
	name := strings.ToLower(strings.TrimSuffix(hello.ServerName, "."))
	s.mu.Lock()
	f := s.failed[name]
	s.mu.Unlock()
	if time.Now().Before(f.until) {
		return nil, errLater
	}
	c, err := s.manager.GetCertificate(hello)
	if !slices.Contains(s.domains, name) {
		return c, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.failed, name)
		s.shown[name] = validity(c)
		return c, nil
	}
	if s.failed[name] == f { // the first to learn of it
		f.pause = min(max(2*f.pause, leastPause), mostPause)
		f.until = time.Now().Add(f.pause)
		s.failed[name] = f
		s.log.Error("no certificate could be got; clients cannot connect by this name", "domain", name, "error", err, "again_in", f.pause,
			"remedy", remedy)
	}
	return nil, err
}

// failure is one that has not been followed by a success.
type failure struct {
	pause time.Duration
	until time.Time
}

const (
	leastPause = time.Minute // the library waits for as long before it tries anew
	mostPause  = 32 * time.Minute
)

const remedy = "the authority must reach this node at the name's port 443, or at port 80 with server.tls.redirect_listen"

var errLater = errors.New("there is no certificate yet; the log says why")

func (s *automatic) Plain(base string) http.Handler { return s.manager.HTTPHandler(toHTTPS(base)) }

// modern is the hello of a client that takes certificates with keys on an elliptic curve, as all do by now.
func modern(domain string) *tls.ClientHelloInfo {
	return &tls.ClientHelloInfo{
		ServerName: domain, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}, SupportedCurves: []tls.CurveID{tls.CurveP256},
		SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256}, SupportedVersions: []uint16{tls.VersionTLS13, tls.VersionTLS12},
	}
}

// toHTTPS redirects GET and HEAD to base. A request with a key or a body is refused: its secret has crossed the network already, and a redirect
// would hide the mistake from its sender.
func toHTTPS(base string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Connection", "close")
		if r.Method != http.MethodGet && r.Method != http.MethodHead || r.Header.Get("Authorization") != "" || r.Header.Get("X-Api-Key") != "" {
			h.Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprintf(w, `{"error":{"code":403,"message":"Use %s. A key that was sent to this address crossed the network unencrypted: replace it."}}`+"\n", base)
			return
		}
		http.Redirect(w, r, base+r.URL.RequestURI(), http.StatusPermanentRedirect)
	})
}
