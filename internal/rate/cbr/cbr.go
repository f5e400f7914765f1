// Package cbr fetches the Bank of Russia's daily list of exchange rates. It requests only the configured address, with bounds for time and
// size, and does not check the content.
package cbr

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"weir/internal/rate"
)

// maxBytes is ten times the size of the list; timeout is for the whole fetch.
const (
	maxBytes = 256 << 10
	timeout  = 20 * time.Second
)

// Source fetches one address. It does not follow redirects: the bank has none, and one could lead to any server.
type Source struct {
	url    string
	client *http.Client
}

// New makes a Source of an address that rate.CheckURL accepts, to which dial connects; nil: directly.
func New(address string, dial func(ctx context.Context, network, address string) (net.Conn, error)) (*Source, error) {
	if err := rate.CheckURL(address); err != nil {
		return nil, err
	}
	return &Source{url: address, client: &http.Client{
		Timeout:       timeout,
		Transport:     &http.Transport{DisableKeepAlives: true, DialContext: dial}, // and no proxy of the environment
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Fetch returns the list as it was published.
func (s *Source) Fetch(ctx context.Context) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "weir") // the bank's server refuses requests without a user agent
	res, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the list of exchange rates: status %d", res.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxBytes {
		return nil, fmt.Errorf("the list of exchange rates has more than %d bytes", maxBytes)
	}
	return body, nil
}
