package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"weir/internal/certificate"
	"weir/internal/config"
)

// certificates returns where the listener's certificates come from, nil without encryption.
func certificates(cfg *config.Config, log *slog.Logger) (certificate.Source, error) {
	t := &cfg.Server.TLS
	switch {
	case !t.On():
		return nil, nil
	case len(t.ACME.Domains) == 0:
		f, err := certificate.FromFiles(t.CertFile, t.KeyFile, time.Now, log)
		if err != nil {
			return nil, fmt.Errorf("server.tls: %w", err)
		}
		return f, nil
	}
	roots, err := t.ACME.Roots()
	if err != nil {
		return nil, fmt.Errorf("server.tls.acme.ca_file: %w", err)
	}
	return certificate.FromAuthority(certificate.Authority{
		Domains: t.ACME.Domains, Email: t.ACME.Email, Directory: t.ACME.DirectoryURL, Roots: roots, Folder: filepath.Join(cfg.DataDir, "acme"),
	}, log), nil
}

// redirectToHTTPS opens the unencrypted listener that redirects to public_url.
func (g *Gateway) redirectToHTTPS() error {
	s := &g.cfg.Server
	if s.TLS.RedirectListen == "" {
		return nil
	}
	l, err := net.Listen("tcp", s.TLS.RedirectListen)
	if err != nil {
		return fmt.Errorf("server.tls.redirect_listen: %w; choose another address, or leave it out", err)
	}
	const soon = 5 * time.Second
	plain := &http.Server{
		Handler: g.certificates.Plain(s.PublicURL), ReadTimeout: soon, WriteTimeout: soon, IdleTimeout: soon, MaxHeaderBytes: int(s.Limits.MaxHeaderBytes),
		ErrorLog: slog.NewLogLogger(g.slog.Handler(), slog.LevelDebug),
	}
	g.onClose(func(context.Context) { _ = plain.Close() })
	go func() {
		if err := plain.Serve(g.api.Bounded(l)); !errors.Is(err, http.ErrServerClosed) {
			g.slog.Error("http:// requests are no longer redirected to https://", "error", err)
		}
	}()
	return nil
}
