package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"weir/internal/config"
)

type readyCmd struct{ place }

// readyFor bounds the question. A node that takes longer is not one to send calls to.
const readyFor = 5 * time.Second

func (c *readyCmd) Run(ctx context.Context) error {
	cfg, err := c.load("")
	if err != nil {
		return err
	}
	listen := cfg.Server.AdminListen
	if listen == config.Off {
		listen = cfg.Server.Listen
	}
	url, err := readyURL(listen)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyFor)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	res, err := (&http.Client{Transport: &http.Transport{}}).Do(req) // without a proxy of the environment
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

// readyURL is where a node on this machine that listens on an address is asked.
func readyURL(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1" // not a name: an image may have no file that knows it
	}
	return "http://" + net.JoinHostPort(host, port) + "/readyz", nil
}
