package apptest

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/config"
)

// onPostgres makes a node use that database.
func onPostgres(dsn string) func(*Setup) {
	return func(s *Setup) { s.Store.DSN = config.DSN(dsn) }
}

// StartNodes starts nodes on one database.
func StartNodes(t *testing.T, n int, dsn string, change ...func(*Setup)) []*Gateway {
	t.Helper()
	nodes := make([]*Gateway, n)
	for i := range nodes {
		nodes[i] = StartGateway(t, append(change, onPostgres(dsn))...)
	}
	return nodes
}

// Everywhere returns the keys at each of the nodes.
func Everywhere(nodes []*Gateway, keys []*Account) []*Account {
	var out []*Account
	for _, gw := range nodes {
		for _, k := range keys {
			out = append(out, &Account{Gw: gw, Key: k.Key})
		}
	}
	return out
}

// Quick makes nodes return leases soon, so that a test need not wait for money that nodes keep for later calls.
func Quick(s *Setup) { s.Ledger.SpendFor = 50 * time.Millisecond }

// NewAccounts makes users, each with a hundred rubles and a key.
func (gw *Gateway) NewAccounts(t *testing.T, n int) (out []*Account) {
	t.Helper()
	for range n {
		out = append(out, gw.NewAccount(t))
	}
	return out
}

// Read sends a streamed call and calls begun at the first content of an answer.
func (a *Account) Read(t *testing.T, body []byte, begun func()) *Answer {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.Gw.URL+"/v1/chat/completions", strings.NewReader(string(body)))
	if err != nil {
		t.Error(err)
		return &Answer{}
	}
	req.Header.Set("Authorization", "Bearer "+a.Key)
	req.Header.Set("Content-Type", "application/json")
	res, err := a.Gw.Client.Do(req)
	if err != nil {
		t.Error(err)
		return &Answer{}
	}
	defer res.Body.Close()
	var first [1]byte
	_, err = io.ReadFull(res.Body, first[:])
	if res.StatusCode == http.StatusOK {
		begun()
	}
	rest, restErr := io.ReadAll(res.Body)
	if err := errors.Join(err, restErr); err != nil {
		t.Errorf("the stream was cut: %v", err)
	}
	return &Answer{Status: res.StatusCode, Header: res.Header, Body: append(first[:], rest...)}
}

// Sealing gives a node a master key.
func Sealing(t *testing.T) func(*Setup) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "master")
	if err := os.WriteFile(file, []byte("00112233445566778899aabbccddeeff0123456789abcdef0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(s *Setup) {
		s.Sealing.MasterKeyFile = file
		s.OwnKeys.TestsPerMinute = 1000
	}
}
