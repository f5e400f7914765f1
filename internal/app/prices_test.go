package app

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/catalog"
	"weir/internal/catalog/builtin"
	"weir/internal/catalog/edit"
	"weir/internal/catalog/update"
	"weir/internal/config"
	"weir/internal/money"
	"weir/internal/rate"
	"weir/internal/store/sqlite/sqlitetest"
)

// newer is the built-in list with another day and another price of one model.
func newer() []byte {
	asOf := builtin.Embedded().AsOf.Format(time.DateOnly)
	return []byte(strings.NewReplacer(asOf, "2027-01-10", `"prompt":"2.5","completion":"10"`, `"prompt":"2.4","completion":"10"`).Replace(string(builtin.Embedded().Data())))
}

// A published list is parsed once, and one that is damaged is not used.
func TestPublishedPricesAreUsed(t *testing.T) {
	t.Parallel()
	var p priceList
	if list, err := p.of(&edit.Prices{}); err != nil || list != builtin.Embedded() {
		t.Fatalf("without a published list: %v", err)
	}
	good := edit.Prices{List: "one", Data: newer()}
	list, err := p.of(&good)
	if err != nil || list.AsOf.Format(time.DateOnly) != "2027-01-10" {
		t.Errorf("in use is the list of %s, %v", list.AsOf, err)
	}
	if again, err := p.of(&good); err != nil || again != list {
		t.Errorf("the list is parsed again: %v", err)
	}
	if list, err := p.of(&edit.Prices{List: "two", Data: []byte("{")}); err == nil || list != builtin.Embedded() {
		t.Errorf("a damaged list: %v", err)
	}
}

// A running node serves prices that are published, whether with the ledger or by an earlier version of the program, and leaves out on their day
// the models that retire.
func TestRunningNodeUsesPublishedPrices(t *testing.T) {
	t.Parallel()
	for _, left := range []bool{false, true} {
		dir := t.TempDir()
		sqlitetest.New(t, dir)
		file := filepath.Join(dir, "weir.yaml")
		if err := os.WriteFile(file, []byte("data_dir: "+dir+"\nproviders: [{id: openai, api_key: test-key}]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := config.Load(file, func(string) (string, bool) { return "", false }, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(cfg.PriceDir(), 0o700); err != nil {
			t.Fatal(err)
		}
		o, err := OpenAdmin(t.Context(), cfg, false)
		if err != nil {
			t.Fatal(err)
		}
		defer o.Close()
		now := time.Date(2027, 1, 13, 23, 59, 59, 0, time.UTC)
		var snap *catalog.Snapshot
		l := &live{store: o.Store.Catalog, now: func() time.Time { return now }, log: slog.New(slog.DiscardHandler), publish: func(_ config.Config, b *edit.Built, _ []string) { snap = b.Snapshot }}
		if left {
			if err := os.WriteFile(filepath.Join(cfg.PriceDir(), "published.json"), newer(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.start(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		if !left {
			if m, ok := snap.Model("openai/gpt-4o"); !ok || m.Endpoints[0].Pricing.Base.Prompt.Dollars != "2.5" || l.stale(t.Context()) {
				t.Fatal("the built-in list is not in use")
			}
			if err := o.Store.Catalog.PutImport(t.Context(), &edit.Import{List: builtin.ListVersion(newer()), AsOf: "2027-01-10", Data: newer()}); err != nil {
				t.Fatal(err)
			}
			if _, err := PublishPrices(t.Context(), cfg, audit.Actor{Name: "operator"}); err != nil {
				t.Fatal(err)
			}
			if !l.stale(t.Context()) {
				t.Fatal("the published list is not noticed")
			}
			l.refresh(t.Context())
		}
		if m, ok := snap.Model("openai/gpt-4o"); !ok || m.Endpoints[0].Pricing.Base.Prompt.Dollars != "2.4" || snap.PricesAsOf.Format(time.DateOnly) != "2027-01-10" || l.stale(t.Context()) {
			t.Errorf("left by an earlier version %t: the published list is not in use: %v", left, snap.PricesAsOf)
		}
		if now = now.Add(time.Second); !l.stale(t.Context()) {
			t.Error("a new day is not noticed")
		}
		l.refresh(t.Context())
		if _, ok := snap.Model("openai/gpt-4o"); ok || l.stale(t.Context()) {
			t.Error("a model is served after it has retired")
		}
	}
}

func TestOldPricesAreReported(t *testing.T) {
	t.Parallel()
	asOf := time.Date(2026, 8, 21, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		asOf time.Time
		days int
		want string
	}{
		{asOf, 10, "level=INFO msg=\"prices of built-in models\" as_of=2026-08-21 days=10\n"},
		{asOf, 31, "level=WARN msg=\"the prices of built-in models are old; fetch newer ones with: weir catalog update\" as_of=2026-08-21 days=31\n"},
		{time.Time{}, 31, ""},
	} {
		var b bytes.Buffer
		log := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
		reportPrices(log, c.asOf, asOf.AddDate(0, 0, c.days), 30*24*time.Hour)
		if b.String() != c.want {
			t.Errorf("log is %q; want %q", b.String(), c.want)
		}
	}
}

// A round that fails leaves everything as it is, and says so.
func TestFailedUpdateIsLogged(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	p := &cfg.PriceLists
	p.ModelsDev, p.LiteLLM, p.Portkey, p.GenAIPrices = server.URL, server.URL, server.URL+"/{file}", server.URL
	var b bytes.Buffer
	d := daily{updater: updaterOf(&cfg, dialerOf(&cfg), nil), publish: update.Rising, log: slog.New(slog.NewTextHandler(&b, nil))}
	if done := d.update(context.Background()); done.outcome != updateFailed {
		t.Errorf("outcome: %+v", done)
	}
	if !strings.Contains(b.String(), "the price lists cannot be used") || !strings.Contains(b.String(), "status 404") {
		t.Errorf("log is %s", b.String())
	}
}

// A node that charges dollars at a rate that nobody set reports that.
func TestDefaultRateIsReported(t *testing.T) {
	t.Parallel()
	one := money.Price{Nano: 1, Set: true}
	priced := func(version string) *catalog.Snapshot {
		snap, err := catalog.Build(catalog.Declared{
			Providers: []catalog.Provider{{ID: "hut", Dialect: "openai", BaseURL: "https://hut.example/v1"}},
			Offers:    []catalog.Offer{{Provider: "hut", Model: "acme/tiny", UpstreamID: "tiny", Pricing: catalog.Pricing{List: "test", Rate: version, Base: catalog.Prices{Prompt: one, Completion: one}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return snap
	}
	for _, c := range []struct {
		snap          *catalog.Snapshot
		isDefault, is bool
	}{{priced("usd=100 margin=0"), true, true}, {priced("usd=100 margin=0"), false, false}, {priced(""), true, false}} {
		var b bytes.Buffer
		warnOfDefaultRate(slog.New(slog.NewTextHandler(&b, nil)), c.snap, c.isDefault, "100")
		if got := strings.Contains(b.String(), "level=WARN") && strings.Contains(b.String(), "rub_per_usd=100"); got != c.is {
			t.Errorf("%t: %q", c.isDefault, b.String())
		}
	}
	l := &live{now: time.Now, cfg: config.Default()}
	if !l.defaultRate() {
		t.Error("the built-in rate is somebody's")
	}
	l.state.Rates = []rate.Record{{RubPerUSD: "81", Source: rate.Manual}}
	if l.defaultRate() {
		t.Error("a rate that an administrator set is the built-in one")
	}
}

// A margin that was meant as a factor is asked about.
func TestDoubtfulMargin(t *testing.T) {
	t.Parallel()
	for margin, want := range map[string]string{
		"": "", "0": "", "0.15": "", "0.99": "", "x": "",
		"1.15": "the margin 1.15 adds 115 % to each price in dollars; if 15 % is meant, write 0.15",
		"1":    "the margin 1 adds 100 % to each price in dollars",
		"15":   "the margin 15 adds 1500 % to each price in dollars",
	} {
		if got := DoubtfulMargin(margin); got != want {
			t.Errorf("%q: %q, want %q", margin, got, want)
		}
	}
}
