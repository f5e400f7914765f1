package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"weir/internal/certificate"
	"weir/internal/config"
	"weir/internal/httpapi"
)

// certificates returns where the listener's certificates come from, nil without encryption.
func certificates(cfg *config.Config, log *slog.Logger) (certificate.Source, error) {
	t := &cfg.Server.TLS
	switch {
	case !t.On():
		return nil, nil
	case len(t.ACME.Domains) == 0:
		f, err := certificate.FromFiles(t.CertFile, t.KeyFile, publicHost(cfg), time.Now, log)
		if err != nil {
			return nil, fmt.Errorf("server.tls: %w%s", err, unreadable(err))
		}
		return f, nil
	}
	roots, err := t.ACME.Roots()
	if err != nil {
		return nil, fmt.Errorf("server.tls.acme.ca_file: %w", err)
	}
	return certificate.FromAuthority(certificate.Authority{
		Domains: t.ACME.Domains, Email: t.ACME.Email, Directory: t.ACME.DirectoryURL, Roots: roots, Folder: acmeFolder(cfg),
	}, log), nil
}

// acmeFolder has the account at the authority, and the certificates.
func acmeFolder(cfg *config.Config) string { return filepath.Join(cfg.DataDir, "acme") }

// publicHost is the name by which clients call the node, "" where it is not known.
func publicHost(cfg *config.Config) string {
	u, err := url.Parse(cfg.Server.PublicURL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// unreadable is what to do about a file that the node may not read, "" for other errors.
func unreadable(err error) string {
	if !errors.Is(err, fs.ErrPermission) {
		return ""
	}
	return "; let the user who runs weir read it, for a service of systemd through a group (docs/install.md#a-service-with-tls)"
}

// watchCertificates exports how long the certificates of the listener are good.
func watchCertificates(m *httpapi.Metrics, source certificate.Source) {
	if source == nil {
		return
	}
	for name := range source.Shown() {
		m.WatchCertificate(name, func() (from, until time.Time) {
			v := source.Shown()[name]
			return v.From, v.Until
		})
	}
}

// redirectToHTTPS opens the unencrypted listener that redirects to public_url.
func (g *Gateway) redirectToHTTPS() error {
	s := &g.cfg.Server
	if s.TLS.RedirectListen == "" {
		return nil
	}
	l, err := net.Listen("tcp", s.TLS.RedirectListen)
	if err != nil {
		return notListening("server.tls.redirect_listen", err, "another address, or leave it out")
	}
	const soon = 5 * time.Second
	plain := &http.Server{
		Handler: g.certificates.Plain(s.PublicURL), ReadTimeout: soon, WriteTimeout: soon, IdleTimeout: soon, MaxHeaderBytes: s.MaxHeaderBytes,
		ErrorLog: slog.NewLogLogger(g.slog.Handler(), slog.LevelDebug),
	}
	g.onClose(func(context.Context) { _ = plain.Close() })
	go func() {
		if err := plain.Serve(g.server.Bounded(l)); !errors.Is(err, http.ErrServerClosed) {
			g.slog.Error("http:// requests are no longer redirected to https://", "error", err)
		}
	}()
	return nil
}
