package nodes_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/app"
	"weir/internal/app/apptest"
	"weir/internal/audit"
	"weir/internal/catalog/builtin"
	"weir/internal/catalog/edit"
	"weir/internal/config"
	"weir/internal/store/postgres/pgtest"
)

// Nodes with data directories of their own charge by one price list: the one that was published last, on whichever machine, also after a restart,
// and also when it is taken back.
func TestNodesShareThePriceList(t *testing.T) {
	dsn := pgtest.New(t)
	t.Setenv("OPENAI_API_KEY", "test-key")
	const day = "2006-01-02"
	asOf := builtin.Embedded().AsOf
	withModels := func(s *apptest.Setup) { s.Builtin.All = true }
	nodes := apptest.StartNodes(t, 2, dsn, withModels)
	price := func(gw *apptest.Gateway) string {
		m, ok := gw.Node.Catalog().Model("openai/gpt-4o")
		if !ok {
			t.Fatal("the model is not served")
		}
		return m.Endpoints[0].Pricing.Base.Prompt.Dollars
	}
	admin := config.Default()
	admin.DataDir, admin.Store.DSN = t.TempDir(), config.DSN(dsn)
	by := audit.Actor{Name: "operator"}
	o, err := app.OpenAdmin(t.Context(), admin, false)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	publish := func(price string, days int) {
		t.Helper()
		list := strings.NewReplacer(asOf.Format(day), asOf.AddDate(0, 0, days).Format(day), `"prompt":"2.5","completion":"10"`, `"prompt":"`+price+`","completion":"10"`).
			Replace(string(builtin.Embedded().Data()))
		if err := o.Store.Catalog.PutImport(t.Context(), &edit.Import{List: builtin.ListVersion([]byte(list)), Data: []byte(list)}); err != nil {
			t.Fatal(err)
		}
		if _, err := app.PublishPrices(t.Context(), admin, by); err != nil {
			t.Fatal(err)
		}
	}
	agreed := func(want string) {
		t.Helper()
		apptest.WaitFor(t, "both nodes to charge "+want, func() bool { return price(nodes[0]) == want && price(nodes[1]) == want })
	}
	agreed("2.5")
	publish("2.4", 1)
	agreed("2.4")
	publish("2.3", 2)
	agreed("2.3")
	if got := price(apptest.StartNodes(t, 1, dsn, withModels)[0]); got != "2.3" {
		t.Errorf("a node that starts charges %s", got)
	}
	for _, x := range []struct {
		program bool
		want    string
	}{{false, "2.4"}, {true, "2.5"}} {
		if _, err := app.RestorePrices(t.Context(), admin, x.program, by); err != nil {
			t.Fatal(err)
		}
		agreed(x.want)
	}
}

// /readyz of the operators' listener and weir doctor report nodes whose prices, rate, catalog or settings differ.
func TestNodesSayHowTheyDiffer(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t)
	listening := func(s *apptest.Setup) { s.Server.AdminListen = "127.0.0.1:0" }
	here := apptest.StartNodes(t, 1, dsn, listening)[0]
	apptest.StartNodes(t, 1, dsn, listening, func(s *apptest.Setup) { s.Relay.MaxAttempts++ })
	// each has a simulator of its own, and so other providers
	want := "other models, providers or prices; other settings in relay"
	apptest.WaitFor(t, "a node to say how the other one differs", func() bool {
		res, err := http.Get(here.Node.AdminURL() + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		return err == nil && res.StatusCode == http.StatusOK && strings.Contains(string(body), want)
	})
	cfg := config.Default()
	cfg.DataDir, cfg.Store.DSN = t.TempDir(), config.DSN(dsn)
	var found []string
	app.Doctor{}.Examine(t.Context(), cfg, func(f app.Finding) {
		if f.Part == "nodes" && f.Is == app.Bad {
			found = append(found, f.What)
		}
	})
	if len(found) != 1 || !strings.Contains(found[0], want) {
		t.Errorf("doctor says %q", found)
	}
}

// No master key is taken from a node that runs: secrets are wrapped again only when each has the new one.
func TestRotationAsksTheNodes(t *testing.T) {
	t.Parallel()
	dsn, dir := pgtest.New(t), t.TempDir()
	key := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.Repeat(name+"1c", 16)), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	oldKey, newKey := key("0a"), key("0b")
	apptest.StartNodes(t, 1, dsn, func(s *apptest.Setup) { s.Sealing.MasterKeyFile, s.Sealing.PreviousKeyFiles = newKey, []string{oldKey} })
	rotate := func() error {
		cfg := config.Default()
		cfg.DataDir, cfg.Store.DSN = t.TempDir(), config.DSN(dsn)
		cfg.Sealing.MasterKeyFile, cfg.Sealing.PreviousKeyFiles = newKey, []string{oldKey}
		o, err := app.OpenAdmin(t.Context(), cfg, false)
		if err != nil {
			t.Fatal(err)
		}
		defer o.Close()
		e, err := o.Editor(cfg)
		if err != nil {
			t.Fatal(err)
		}
		_, err = o.RotateSecrets(t.Context(), e, audit.Actor{Name: "operator"})
		return err
	}
	apptest.WaitFor(t, "the node to say that it has the key", func() bool { return rotate() == nil })
	behind := apptest.StartNodes(t, 1, dsn, func(s *apptest.Setup) { s.Sealing.MasterKeyFile = oldKey })[0]
	id := behind.Node.ID()
	if err := rotate(); err == nil || !strings.Contains(err.Error(), id) || !strings.Contains(err.Error(), "secrets.previous_key_files") {
		t.Errorf("with a node that lacks the key: %v", err)
	}
}
