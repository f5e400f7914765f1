package accounts_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/app"
	"weir/internal/app/apptest"
	"weir/internal/catalog"
	"weir/internal/catalog/edit"
	"weir/internal/config"
	"weir/internal/fault"
	"weir/internal/httpapi"
	"weir/internal/money"
	"weir/internal/rate"
	"weir/internal/relay"
)

// held is a relay that blocks calls after admission until the test releases them.
type held struct {
	httpapi.Completer
	arrived, proceed chan struct{}
}

func (h *held) Complete(ctx context.Context, c *relay.Call, sink relay.Sink) error {
	h.arrived <- struct{}{}
	<-h.proceed
	return h.Completer.Complete(ctx, c, sink)
}

// A call is charged by the catalog at its admission, even if prices change meanwhile. The next call uses the new prices.
func TestPricesOfCallsInFlight(t *testing.T) {
	t.Parallel()
	h := &held{arrived: make(chan struct{}), proceed: make(chan struct{})}
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		s.WrapRelay = func(c httpapi.Completer) httpapi.Completer { h.Completer = c; return h }
	})
	a := gw.NewAccount(t)
	changed := make(chan error, 1)
	go func() {
		<-h.arrived
		_, err := gw.Node.Editor().Change(context.WithoutCancel(t.Context()), edit.Change{Kind: edit.Endpoint, ID: "works/test/next",
			Set: edit.Spec{"prices.prompt": "1", "prices.completion": "4"}}, apptest.Administrator) // ten times as much
		if m, _ := gw.Node.Catalog().Model("test/next"); err == nil && m.Endpoints[0].Pricing.List != "database-1" {
			err = errors.New("on the node that made it, a change does not hold at once")
		}
		changed <- err
		h.proceed <- struct{}{}
		<-h.arrived
		h.proceed <- struct{}{}
	}()
	ask := func() money.Nano {
		got := a.Chat(t, map[string]any{"model": "test/next", "messages": []any{map[string]any{"role": "user", "content": "What is a weir?"}}})
		got.WantComplete(t, false)
		return got.Reported(t, false).Cost
	}
	old := ask()
	if err := <-changed; err != nil {
		t.Fatal(err)
	}
	if now := ask(); old == 0 || now != 10*old {
		t.Errorf("the call in flight cost %s, the one after it %s; want ten times as much", old, now)
	}
	if spent := apptest.Parse(t, a.Credits(t).TotalUsage); spent != 11*old {
		t.Errorf("charged are %s, want %s", spent, 11*old)
	}
	gw.WantBalanced(t)
}

// A node applies a change that another process made in the store within the promised seconds.
func TestChangesOfOtherProcesses(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	other, err := gw.Node.Admin().Editor(config.Default())
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if _, err := other.Change(t.Context(), edit.Change{Kind: edit.Provider, ID: "hut", Create: true, Set: edit.Spec{"base_url": "https://hut.example/v1"}}, apptest.Administrator); err != nil {
		t.Fatal(err)
	}
	apptest.WaitFor(t, "a provider that another process added", func() bool { return gw.Node.Catalog().Providers["hut"] != nil })
	apptest.Promised(t, "a change of another process", time.Since(start), 5*time.Second)
}

// A configuration file that declares a row of the database is refused, and the error names the row.
func TestReloadOfARowOfTheDatabase(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	change := func(c edit.Change) {
		t.Helper()
		if _, err := gw.Node.Editor().Change(t.Context(), c, apptest.Administrator); err != nil {
			t.Fatal(err)
		}
	}
	change(edit.Change{Kind: edit.Provider, ID: "hut", Create: true, Set: edit.Spec{"base_url": "https://hut.example/v1"}})
	cfg := config.Default()
	cfg.Builtin.All = false
	cfg.Providers = []config.Provider{{ID: "hut", BaseURL: "https://file.example/v1"}}
	err := gw.Node.Reload(cfg)
	if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), `"hut"`) {
		t.Fatalf("reload: %v", err)
	}
	if p := gw.Node.Catalog().Providers["hut"]; p == nil || p.BaseURL != "https://hut.example/v1" {
		t.Errorf("the old catalog does not stay in force: %+v", p)
	}
	change(edit.Change{Kind: edit.Provider, ID: "hut", Remove: true})
	if err := gw.Node.Reload(cfg); err != nil {
		t.Fatal(err)
	}
	_, err = gw.Node.Editor().Change(t.Context(), edit.Change{Kind: edit.Provider, ID: "hut", Set: edit.Spec{"name": "Hut"}}, apptest.Administrator)
	if !fault.Is(err, fault.Conflict) {
		t.Errorf("a row of the file was changed: %v", err)
	}
}

// bank publishes the test's rate.
type bank struct {
	mu   sync.Mutex
	list string
}

func (b *bank) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.list == "" {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte(b.list))
}

// Prices follow the published rate, which survives a restart while the bank is unavailable.
func TestPublishedRate(t *testing.T) {
	t.Parallel()
	b := &bank{list: fmt.Sprintf(`<?xml version="1.0" encoding="windows-1251"?><ValCurs Date="%s" name="x"><Valute ID="R01235"><CharCode>USD</CharCode><Nominal>1</Nominal><Value>80,5</Value></Valute></ValCurs>`,
		time.Now().Add(-24*time.Hour).Format("02.01.2006"))}
	server := httptest.NewServer(b)
	defer server.Close()
	dollars := func(s *apptest.Setup) {
		s.Pricing.RateSource, s.Pricing.CBRURL, s.Pricing.Margin = rate.CBR, server.URL, "0.1"
		s.Config.Providers = []config.Provider{{ID: "hut", BaseURL: "https://hut.example/v1", Models: []config.Offer{{ID: "acme/tiny", PriceUSD: config.Prices{Prompt: "1", Completion: "2"}}}}}
	}
	gw := apptest.StartGateway(t, dollars)
	prompt := func(c *catalog.Snapshot) (string, string) {
		m, _ := c.Model("acme/tiny")
		return m.Endpoints[0].Pricing.Base.Prompt.String(), m.Endpoints[0].Pricing.Rate
	}
	apptest.WaitFor(t, "the published rate", func() bool {
		p, _ := prompt(gw.Node.Catalog())
		return p == "0.08855" // 1 dollar x 80.5 x 1.1 for 1,000,000 tokens
	})
	if _, version := prompt(gw.Node.Catalog()); !strings.HasPrefix(version, "cbr-20") || !strings.HasSuffix(version, "@80.5+0.1") {
		t.Errorf("the rate is named %s", version)
	}

	// another node on the same store, without a bank
	cfg := config.Default()
	cfg.DataDir, cfg.Store.DSN = t.TempDir(), config.DSN(gw.Dir+"/weir.db")
	cfg.Server.AdminListen, cfg.Builtin.All = config.Off, false
	made := &apptest.Setup{Config: cfg}
	dollars(made)
	b.mu.Lock()
	b.list = ""
	b.mu.Unlock()
	node, err := app.OpenNode(t.Context(), made.Config, catalog.Declared{}, apptest.Listen(t), &apptest.SafeBuffer{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close(context.Background())
	if p, version := prompt(node.Catalog()); p != "0.08855" || !strings.HasPrefix(version, "cbr-") {
		t.Errorf("without the bank: %s at %s", p, version)
	}
}
