package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"weir/internal/config"
)

type readyCmd struct{ location }

// readyFor bounds the question. A node that takes longer is not one to send calls to.
const readyFor = 5 * time.Second

func (c *readyCmd) Run(ctx context.Context) error {
	cfg, err := c.load("")
	if err != nil {
		return err
	}
	listen, scheme := cfg.Server.AdminListen, "http"
	transport := &http.Transport{} // without a proxy of the environment
	if listen == config.Off {
		listen = cfg.Server.Listen
		if t := &cfg.Server.TLS; t.On() {
			scheme, transport.TLSClientConfig = "https", itself(t)
		}
	}
	url, err := readyURL(scheme, listen)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyFor)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return fmt.Errorf("no node answers: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err != nil {
		return err
	}
	fmt.Printf("%s\n", text)
	if res.StatusCode != http.StatusOK {
		return errors.New("the node takes no new calls")
	}
	return nil
}

// itself is how a node on this machine is asked over its own certificate. That is for another name than the address, and may have ended; the
// request has no secret, and another process that answers in place of the node is on this machine.
func itself(t *config.TLS) *tls.Config {
	c := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12} //nolint:gosec // see above
	if len(t.ACME.Domains) > 0 {
		c.ServerName = t.ACME.Domains[0] // it has no certificate for an address
	}
	return c
}

// readyURL is where a node on this machine that listens on an address is asked.
func readyURL(scheme, listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1" // not a name: an image may have no file that knows it
	}
	return scheme + "://" + net.JoinHostPort(host, port) + "/readyz", nil
}
