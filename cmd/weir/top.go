package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"weir/internal/config"
	"weir/internal/figures"
)

type topCmd struct {
	location
	URL   string        `name:"url" help:"Operators' listener of the node; without it, that of the configuration." placeholder:"URL"`
	Once  bool          `help:"Print one frame, with averages since the node started, and end."`
	Every time.Duration `default:"2s" help:"Time between frames." placeholder:"DURATION"`
	Rows  int           `default:"10" help:"Most models, and most endpoints." placeholder:"N"`
}

// maxMetrics is how much of a node's answer is read: 5000 models with their histograms are 10 MB.
const maxMetrics = 64 << 20

func (c *topCmd) Run(ctx context.Context) error {
	if c.Every < 100*time.Millisecond || c.Rows < 1 {
		return errors.New("--every must be at least 100ms, and --rows at least 1")
	}
	url, err := c.address()
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{}, Timeout: readyFor} // without a proxy of the environment
	info, err := os.Stdout.Stat()
	live := err == nil && info.Mode()&os.ModeCharDevice != 0 && !c.Once
	var before *figures.Scrape
	for {
		now, err := look(ctx, client, url)
		if err != nil && (c.Once || before == nil) {
			return fmt.Errorf("no node answers at %s: %w; --url names the operators' listener of another", url, err)
		}
		if err != nil {
			fmt.Println("no answer:", err)
		} else {
			show(live, frame(url, now, before, c.Rows))
			before = now
		}
		if c.Once {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(c.Every):
		}
	}
}

// show prints a frame, on a terminal over the one before.
func show(live bool, text string) {
	if live {
		text = "\x1b[H" + strings.ReplaceAll(text, "\n", "\x1b[K\n") + "\x1b[J"
	} else {
		text += "\n"
	}
	_, _ = io.WriteString(os.Stdout, text)
}

func (c *topCmd) address() (string, error) {
	if c.URL != "" {
		return strings.TrimRight(c.URL, "/"), nil
	}
	cfg, err := c.load("")
	if err != nil {
		return "", err
	}
	if cfg.Server.AdminListen == config.Off {
		return "", errors.New("server.admin_listen is off, and the figures are there: set it to an address such as 127.0.0.1:9091")
	}
	url, err := readyURL("http", cfg.Server.AdminListen)
	return strings.TrimSuffix(url, "/readyz"), err
}

func look(ctx context.Context, client *http.Client, url string) (*figures.Scrape, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", res.StatusCode)
	}
	s, err := figures.Read(io.LimitReader(res.Body, maxMetrics), time.Now())
	if err != nil {
		return nil, fmt.Errorf("this is not the operators' listener of a node: %w", err)
	}
	if _, ok := s.Value("weir_ready"); !ok {
		return nil, errors.New("this is not the operators' listener of a node")
	}
	return s, nil
}
