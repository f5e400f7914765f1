package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// over is how Weir reaches the mock.
type over struct {
	name     string
	mock     string // the server of -serve
	scheme   string
	provider string // more lines of the provider's configuration; CERT is the file of its certificate
	upstream string // more lines at the top of the configuration
}

var ways = []over{
	{name: "plain", mock: "mock", scheme: "http"},
	{name: "TLS", mock: "mocktls", scheme: "https", provider: "    ca_file: CERT\n"},
	{name: "TLS, standard client", mock: "mocktls", scheme: "https", provider: "    ca_file: CERT\n", upstream: "upstream: {http_client: standard}\n"},
	{name: "HTTP/2", mock: "mocktls", scheme: "https", provider: "    ca_file: CERT\n    http2: true\n"},
}

// secured measures Weir with a provider over each of the ways, in slices as compare does. 1.00 is the plain connection. With other, a second build is
// measured beside the first.
func secured(ctx context.Context, s settings, other string) error {
	dir, err := os.MkdirTemp("", "weir-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := writeCertificate(dir); err != nil {
		return err
	}
	mocks := map[string]*process{}
	for _, name := range []string{"mock", "mocktls"} {
		if mocks[name], err = startSelf(ctx, dir, name, dir); err != nil {
			return err
		}
		defer mocks[name].stop()
	}
	var targets []target
	for i, way := range ways {
		for j, binary := range []string{s.weir, other} {
			if binary == "" {
				continue
			}
			home := filepath.Join(dir, fmt.Sprint("way", i, j))
			if err := os.Mkdir(home, 0o700); err != nil {
				return err
			}
			one := s
			one.weir, one.over = binary, way
			one.over.provider = strings.ReplaceAll(way.provider, "CERT", filepath.Join(dir, certFile))
			t, err := startWeir(ctx, one, home, mocks[way.mock])
			if err != nil {
				return err
			}
			defer t.stop()
			if t.name = way.name; other != "" {
				t.name += " " + filepath.Base(binary)
			}
			targets = append(targets, t)
		}
	}
	for _, sc := range scenarios(s) {
		if sc.load.ramp > 0 || sc.load.rate > 0 { // take their own time
			continue
		}
		if err := slicesOf(ctx, targets, sc, s.passes); err != nil {
			return err
		}
		for _, t := range targets {
			if s.profile == "" {
				break
			}
			named := sc
			named.name += " " + t.name
			done := t.profile(ctx, s, named)
			_, err := measure(ctx, t, named)
			if err := errors.Join(err, done()); err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	certFile = "cert.pem"
	keyFile  = "key.pem"
)

// writeCertificate makes the mock's certificate, which signs itself.
func writeCertificate(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mock"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	cert, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, keyFile), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, certFile), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600)
}

// serveMockTLS answers on ln until the process ends: over HTTP/2 with the library's server, over HTTP/1.1 as serveMock does.
func serveMockTLS(ln net.Listener, dir string) error {
	cert, err := tls.LoadX509KeyPair(filepath.Join(dir, certFile), filepath.Join(dir, keyFile))
	if err != nil {
		return err
	}
	all := answers()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answerHTTP2(w, r, all) }), ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		TLSConfig:    &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12},
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){"http/1.1": func(_ *http.Server, c *tls.Conn, _ http.Handler) { serveConn(c, all) }}}
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetHTTP2(true)
	return server.ServeTLS(ln, "", "")
}

// answerHTTP2 writes an answer of serveConn without the framing of HTTP/1.1.
func answerHTTP2(w http.ResponseWriter, r *http.Request, all map[string]*answer) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	reply := all[modelIn(body[:min(len(body), 512)])]
	if reply == nil || reply.frame != nil { // only whole answers are measured over HTTP/2
		http.Error(w, "no such model", http.StatusNotFound)
		return
	}
	_, text, _ := bytes.Cut(reply.head, []byte("\r\n\r\n"))
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text)
}
