package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// pageReads are what pages ask the API at opening. CALL is the newest call of the account with most calls, USER; DAY7 is seven days ago, NEXT
// tomorrow.
var pageReads = []struct {
	page string
	own  bool // asked with a key of the account, else with an operator's
	asks []string
}{
	{"/admin", false, []string{"/api/admin/now"}},
	{"/admin/endpoints", false, []string{"/api/admin/endpoints?limit=200"}},
	{"/admin/endpoints/ID, 7 days", false, []string{"/api/admin/endpoints/provider-1%2Fvendor%2Fmodel-1/activity?hours=168"}},
	{"/admin/catalog", false, []string{"/api/admin/prices?limit=50", "/api/admin/prices/draft", "/api/admin/prices/import?limit=50", "/api/admin/prices/publications?limit=10"}},
	{"/admin/people", false, []string{"/api/admin/users?limit=50"}},
	{"/admin/people, found", false, []string{"/api/admin/users?limit=50&q=usr_7"}},
	{"/admin/people/USER", false, []string{"/api/admin/users/USER"}},
	{"/admin/calls", false, []string{"/api/admin/calls?limit=50&from=DAY1&to=NEXT"}},
	{"/admin/calls, failed", false, []string{"/api/admin/calls?limit=50&from=DAY7&to=NEXT&result=failed"}},
	{"/admin/calls, a status", false, []string{"/api/admin/calls?limit=50&from=DAY7&to=NEXT&status=503"}},
	{"/admin/calls, a rare model", false, []string{"/api/admin/calls?limit=50&from=DAY90&to=NEXT&model=vendor/rare"}},
	{"/admin/calls, an account", false, []string{"/api/admin/calls?limit=50&from=DAY90&to=NEXT&member=USER"}},
	{"/admin/calls, a key of a provider that none has", false, []string{"/api/admin/calls?limit=50&from=DAY7&to=NEXT&provider_key=0123456789ab"}},
	{"/admin/calls, chart and sums of 90 days", false, []string{"/api/admin/calls/histogram?from=DAY90&to=NEXT"}},
	{"/admin/calls, chart of a day; of 90 days of a status", false, []string{"/api/admin/calls/histogram?from=DAY1&to=NEXT", "/api/admin/calls/histogram?from=DAY90&to=NEXT&status=503"}},
	{"/admin/calls/CALL", false, []string{"/api/admin/calls/CALL"}},
	{"/admin/errors, a day", false, []string{"/api/admin/errors?hours=24"}},
	{"/admin/errors, 31 days", false, []string{"/api/admin/errors?hours=744"}},
	{"/admin/sales by model, 30 days", false, []string{"/api/admin/sales?by=model&from=DAY30&to=NEXT&limit=50"}},
	{"/admin/sales by account, 90 days", false, []string{"/api/admin/sales?by=account&from=DAY90&to=NEXT&limit=50"}},
	{"/admin/sales by day, 90 days", false, []string{"/api/admin/sales?by=day&from=DAY90&to=NEXT&limit=50"}},
	{"/admin/ledger", false, []string{"/api/admin/ledger"}},
	{"/admin/ledger, a call", false, []string{"/api/admin/ledger/transaction?q=CALL"}},
	{"/admin/vouchers", false, []string{"/api/admin/vouchers"}},
	{"/admin/reconciliation", false, []string{"/api/admin/reconciliations"}},
	{"/admin/audit", false, []string{"/api/admin/audit?limit=50"}},
	{"/admin/jobs", false, []string{"/api/admin/jobs"}},
	{"/admin/alerts", false, []string{"/api/admin/alerts", "/api/admin/alerts/incidents"}},
	{"/admin/settings", false, []string{"/api/admin/settings"}},
	{"/ (overview)", true, []string{"/api/overview"}},
	{"/usage, 30 days by model", true, []string{"/api/usage?group_by=model&from=DAY30&to=NEXT&metric=cost"}},
	{"/usage, 90 days by member", true, []string{"/api/usage?group=member&from=DAY90&to=NEXT&metric=cost"}},
	{"/usage, 90 days by team", true, []string{"/api/usage?group=team&from=DAY90&to=NEXT&metric=cost"}},
	{"/usage, 90 days by a tag", true, []string{"/api/usage?group=tag:project&from=DAY90&to=NEXT&metric=cost"}},
	{"/calls", true, []string{"/api/calls?limit=50&from=DAY7&to=NEXT"}},
	{"/calls/CALL", true, []string{"/api/calls/CALL"}},
	{"/money", true, []string{"/api/ledger?limit=50"}},
	{"/money, statement of 90 days", true, []string{"/api/ledger?from=DAY90&to=NEXT"}},
	{"/keys", true, []string{"/api/keys"}},
	{"/presets", true, []string{"/api/presets"}},
}

// pagesProvider declares one of the endpoints that the calls have, without which it has no page.
const pagesProvider = `providers: [{id: provider-1, base_url: "http://127.0.0.1:9/v1", models: [{id: vendor/model-1, context_length: 8000, prices: {prompt: "1", completion: "1"}}]}]
`

// pages measures what pages read of the database weir.db in a data directory, which is filled before, over HTTP: the processor time of the node for each page.
func pages(ctx context.Context, s settings, data string) error {
	data, err := filepath.Abs(data)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "weir-pages")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary, err := filepath.Abs(s.weir)
	if err != nil {
		return err
	}
	address, err := freePort()
	if err != nil {
		return err
	}
	config := filepath.Join(dir, "weir.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "data_dir: %q\nserver: {listen: %q, admin_api: true}\n"+pagesProvider, data, address), 0o600); err != nil {
		return err
	}
	run := runner(ctx, dir, binary, config)
	_, _ = run("user", "add", "bench-operator") // it is there in a second run
	if _, err := run("user", "role", "bench-operator", "administrator"); err != nil {
		return err
	}
	operator, err := run("key", "add", "bench-operator", "--management", "--quiet")
	if err != nil {
		return err
	}
	const account = "usr_0"
	owner, err := run("key", "add", account, "--management", "--quiet")
	if err != nil {
		return err
	}
	server, err := start(ctx, dir, targetWeir, address, binary, "serve", "-c", config)
	if err != nil {
		return err
	}
	defer server.stop()
	ask := func(path, key string) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+key)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, err
		}
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		if err == nil && res.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %d %s", path, res.StatusCode, body)
		}
		return body, err
	}
	now := time.Now().UTC()
	day := func(n int) string { return now.AddDate(0, 0, n).Format(time.DateOnly) }
	newest, err := ask("/api/calls?limit=1&from="+day(-90)+"&to="+day(1), owner)
	if err != nil {
		return err
	}
	var list struct{ Data []struct{ ID string } }
	if err := json.Unmarshal(newest, &list); err != nil || len(list.Data) == 0 {
		return errors.Join(err, errors.New("the account has no calls"))
	}
	words := strings.NewReplacer("CALL", list.Data[0].ID, "USER", account, "DAY30", day(-30), "DAY90", day(-89), "DAY1", day(-1), "DAY7", day(-7), "NEXT", day(1))
	fmt.Printf("%-52s %12s %12s %12s\n", "page", "processor ms", "median ms", "longest ms")
	for _, p := range pageReads {
		key := operator
		if p.own {
			key = owner
		}
		if err := measurePage(ctx, server, p.page, func() error {
			for _, path := range p.asks {
				if _, err := ask(words.Replace(path), key); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			fmt.Printf("%-52s %v\n", p.page, err)
		}
	}
	return nil
}

// measurePage opens a page once unmeasured and then several times.
func measurePage(ctx context.Context, server *process, page string, open func() error) error {
	if err := open(); err != nil {
		return err
	}
	const rounds = 20
	before, err := consumed(server.ids())
	if err != nil {
		return err
	}
	var took []time.Duration
	for range rounds {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		began := time.Now()
		if err := open(); err != nil {
			return err
		}
		took = append(took, time.Since(began))
	}
	after, err := consumed(server.ids())
	if err != nil {
		return err
	}
	slices.Sort(took)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	fmt.Printf("%-52s %12.1f %12.1f %12.1f\n", page, ms(after.CPU-before.CPU)/rounds, ms(took[rounds/2]), ms(took[rounds-1]))
	return nil
}
