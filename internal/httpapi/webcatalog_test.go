package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"weir/internal/accountapi"
	"weir/internal/catalog"
	"weir/internal/catalogapi"
	"weir/internal/fault"
	"weir/internal/health"
	"weir/internal/money"
	"weir/internal/store/sqlite"
	"weir/internal/store/sqlite/sqlitetest"
)

// watched starts a node that knows of some attempts at the first endpoint of acme/small.
func watched(t *testing.T, script []health.Result, shown bool) (*node, *catalog.Endpoint) {
	t.Helper()
	s, err := sqlite.Open(context.Background(), sqlitetest.New(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	registry := health.New(health.Default(time.Now))
	h := health.NewHistory(registry, s.Nodes, "node", 48*time.Hour)
	var ep *catalog.Endpoint
	n := startAll(t, relayFunc(hello), nil, nil, func(_ *accountapi.Deps, d *catalogapi.Deps, _ *accountapi.EventsConfig) {
		d.Stats, d.Health, d.Hours, d.Status = registry, registry, h, shown
		m, _, _ := d.Catalog().Resolve("acme/small")
		ep = m.Endpoints[0]
	})
	for _, r := range script {
		p, why, _ := registry.Admit(ep, "")
		if why != health.None {
			t.Fatal(why)
		}
		p.End(health.Sample{Result: r, Latency: 200 * time.Millisecond, Took: time.Second, Tokens: 80})
	}
	if err := h.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	return n, ep
}

func TestCompactCatalog(t *testing.T) {
	t.Parallel()
	n, ep := watched(t, []health.Result{health.Served, health.Served, health.Failed, health.Served}, false)
	r := n.do("GET", "/api/catalog", "", "Authorization", "")
	if r.StatusCode != 200 || r.Header.Get("Etag") == "" {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	models, _ := at(r.json(t), "models").([]any)
	seen := map[string]any{}
	for _, m := range models {
		id, _ := at(m, "id").(string)
		if seen[id] != nil {
			t.Errorf("%s came twice", id)
		}
		seen[id] = m
	}
	m := seen["acme/small"]
	if m == nil || at(m, "live") != true || at(m, "p50") == nil || at(m, "tps") == nil {
		t.Fatalf("%v", m)
	}
	uptime, _ := at(m, "uptime").([]any)
	known := 0
	for _, v := range uptime {
		if v != nil {
			known++
			if v != float64(75) {
				t.Errorf("uptime %v", v)
			}
		}
	}
	if len(uptime) != 24 || known != 1 {
		t.Errorf("uptime %v", uptime)
	}
	if again := n.do("GET", "/api/catalog", "", "Authorization", "", "If-None-Match", r.Header.Get("Etag")); again.StatusCode != 304 {
		t.Errorf("%d", again.StatusCode)
	}
	if other := seen["zeta/plain"]; other == nil || at(other, "uptime") != nil || at(other, "p50") != nil || at(other, "in") != "0.0123" {
		t.Errorf("%v", other)
	}
	for _, metric := range []string{"ttft", "tps", "uptime"} {
		s := n.do("GET", "/api/models/acme/small/series?range=7d&metric="+metric, "", "Authorization", "").json(t)
		all, _ := at(s, "series").([]any)
		moments, _ := at(s, "t").([]any)
		if len(all) != 1 || len(moments) != 168 || at(all[0], "provider") != ep.Provider.ID {
			t.Fatalf("%s: %v", metric, s)
		}
		if last := at(s, "last_served_at"); last != moments[167] && last != moments[166] {
			t.Errorf("%s: last served at %v", metric, last)
		}
		if values, _ := at(all[0], "values").([]any); len(values) != 168 || values[167] == nil && values[166] == nil {
			t.Errorf("%s: %v", metric, values)
		}
	}
	whole, _ := at(n.do("GET", "/api/models/acme/small/series?range=24h&metric=all", "", "Authorization", "").json(t), "series").([]any)
	for _, metric := range []string{"ttft", "tps", "uptime"} {
		one := n.do("GET", "/api/models/acme/small/series?range=24h&metric="+metric, "", "Authorization", "").json(t)
		all, _ := at(one, "series").([]any)
		if len(whole) != 1 || len(all) != 1 || !reflect.DeepEqual(at(whole[0], metric), at(all[0], "values")) {
			t.Errorf("%s: %v, of all %v", metric, all, whole)
		}
	}
	for path, param := range map[string]string{"?metric=x": "metric", "?range=1y": "range"} {
		e := n.do("GET", "/api/models/acme/small/series"+path, "", "Authorization", "")
		if wantError(t, e, 400, fault.Invalid); !strings.Contains(string(e.body), param) {
			t.Errorf("%s", e.body)
		}
	}
	wantError(t, n.do("GET", "/api/models/acme/none/series", "", "Authorization", ""), 404, fault.ModelNotFound)
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for want, script := range map[string][]health.Result{
		"ok":   {health.Served},
		"down": {health.Failed, health.Failed, health.Failed, health.Failed, health.Failed},
		"idle": nil,
		"degraded": {health.Served, health.Served, health.Served, health.Served, health.Failed, health.Served, health.Served, health.Served, health.Served, health.Served,
			health.Failed, health.Served},
	} {
		n, ep := watched(t, script, true)
		s := n.do("GET", "/api/status", "", "Authorization", "").json(t)
		all, _ := at(s, "providers").([]any)
		found := false
		for _, p := range all {
			if at(p, "id") == ep.Provider.ID {
				found = true
				if at(p, "state") != want {
					t.Errorf("%s, want %s: %v", at(p, "state"), want, p)
				}
			}
		}
		if whole := map[string]string{"ok": "ok", "idle": "ok", "down": "down", "degraded": "degraded"}[want]; !found || at(s, "state") != whole {
			t.Errorf("%s: %v", want, s)
		}
	}
	n, _ := watched(t, nil, false)
	wantError(t, n.do("GET", "/api/status", "", "Authorization", ""), 404, fault.NotFound)
}

// 500 models with all that is known of them stay small.
func TestCompactCatalogIsSmall(t *testing.T) {
	t.Parallel()
	d := catalog.Declared{Providers: []catalog.Provider{{ID: "p", Dialect: "openai", BaseURL: "https://p.invalid/v1"}, {ID: "q", Dialect: "openai", BaseURL: "https://q.invalid/v1"}}}
	for i := range 500 {
		slug := fmt.Sprintf("vendor-%d/model-%d", i%40, i*7919%1000)
		d.Models = append(d.Models, catalog.ModelInfo{Slug: slug, Name: fmt.Sprintf("Vendor %d: Model %d", i%40, i), Created: time.Unix(int64(i)*3_456_789, 0), ContextLength: 1 << (10 + i%10),
			Description: strings.Repeat(fmt.Sprintf("word%d of %d ", i, i*i%977), 60)})
		price := catalog.Pricing{Base: catalog.Prices{Prompt: money.Price{Nano: int64(i*7_654_321%1e9 + 1), Set: true}, Completion: money.Price{Nano: int64(i*9_876_543%1e9 + 1), Set: true}}}
		d.Offers = append(d.Offers, catalog.Offer{Provider: "p", Model: slug, Pricing: price}, catalog.Offer{Provider: "q", Model: slug, Pricing: price})
	}
	snapshot := build(t, d)
	registry := health.New(health.Default(time.Now))
	for i, m := range snapshot.Models() {
		p, _, _ := registry.Admit(m.Endpoints[0], "")
		p.End(health.Sample{Result: health.Served, Latency: time.Duration(100+7*i) * time.Millisecond, Took: 3 * time.Second, Tokens: int64(20 + i)})
	}
	n := startAll(t, relayFunc(hello), nil, nil, func(_ *accountapi.Deps, d *catalogapi.Deps, _ *accountapi.EventsConfig) {
		d.Catalog = func() *catalog.Snapshot { return snapshot }
		d.Stats, d.Health = registry, registry
	})
	r := n.do("GET", "/api/catalog", "", "Authorization", "", "Accept-Encoding", "gzip")
	if r.StatusCode != 200 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	z, err := gzip.NewReader(bytes.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := io.ReadAll(z)
	if size := len(r.body); err != nil || size > 60<<10 || bytes.Count(whole, []byte(`"vendor":`)) != 500 {
		t.Errorf("%v, %d bytes, %d models", err, size, bytes.Count(whole, []byte(`"vendor":`)))
	}
}
