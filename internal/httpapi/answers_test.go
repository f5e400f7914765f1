package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"weir/internal/accountapi"
	"weir/internal/catalog/listing"
	"weir/internal/catalogapi"
	"weir/internal/health"
	"weir/internal/httpapi"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/report"
	"weir/internal/routing"
	"weir/internal/store/sqlite"
	"weir/internal/store/sqlite/sqlitetest"
	"weir/internal/usage"
	"weir/internal/zone"
)

var updateAnswers = flag.Bool("answers.update", false, "write testdata/answers")

// answersAt is when everything is answered.
var answersAt = time.Date(2026, 3, 5, 10, 30, 15, 0, time.UTC)

// figures is what reports are made of.
type figures struct {
	report.Store
	calls []record.Call
}

func (f *figures) Zones(context.Context, string) (zone.History, error) { return nil, nil }

func (f *figures) Usage(context.Context, report.Query) (rows []report.Row, err error) {
	for i, model := range []string{"acme/small", "zeta/plain", "", "acme/large-2026-01-31", "gone/gone"} {
		at := time.Date(2026, 3, 5-i, 0, 0, 0, 0, time.UTC)
		rows = append(rows, report.Row{At: at, Value: model, Sums: report.Sums{Calls: int64(3 + i), Cost: money.Nano(7-i) * money.Ruble}})
	}
	return rows, nil
}

func (f *figures) SearchCalls(context.Context, report.Search, int) (report.Window, error) {
	return report.Window{Calls: f.calls}, nil
}

func (f *figures) JobHolds(context.Context, string) ([]report.Held, error) {
	return []report.Held{{Job: "vj_1", Model: "acme/small", Amount: 5, Since: answersAt}}, nil
}

func (f *figures) KeySpends(context.Context, string, string) (map[string]report.KeySpend, error) {
	return nil, nil
}

func (f *figures) ToppedUp(context.Context, string) (bool, error) { return true, nil }

// present is the balance of a node's own calls.
type present struct{ *books }

func (present) CatchUp(context.Context) (late, err error) { return nil, nil }
func (present) Running(string) (n int, held money.Nano)   { return 1, 2 }

// wholeCall has something in each member.
func wholeCall() *record.Call {
	c := settledCall()
	c.Preset, c.PresetVersion, c.OwnKey, c.UpstreamID, c.Notice, c.Error = "tone", 3, "own_1", "up-<1>", "seed was not sent.", "provider_unavailable"
	c.Streamed, c.Cancelled, c.ClientUser, c.UserAgent, c.Referer, c.Title = true, true, "client", "agent/1 \"x\"", "https://example.org/?a=1&b=2", "Заголовок"
	c.Parameters, c.SourcePrice = `{"temperature":0.70,"max_tokens":100}`, "0.15/0.6"
	c.Rate = "cbr-2026-11-21@81.2345+0.15 vat=+22"
	c.Cost, c.Hold = 1_220_000_001, 5*money.Ruble
	c.Lines = append(c.Lines, usage.Line{Kind: usage.KindCacheRead, Quantity: 7, Price: 3, Dollars: "0.000015"}, usage.Line{Kind: usage.KindAudio, Quantity: 1500, Price: 12})
	c.Candidates = append(c.Candidates, record.Candidate{Endpoint: "best/acme/small", OwnKey: "own_1", Order: 2, Score: 12345678.5, Reason: routing.ReasonPrice, Slug: "acme/small"},
		record.Candidate{Endpoint: "acme/acme/small", Order: 3, Score: 0.0000001234, Reason: routing.ReasonWeight, Slug: "acme/small", Prompt: 1})
	c.Attempts = append(c.Attempts, record.Attempt{Endpoint: "y", Provider: "acme", OwnKey: "own_1", Status: 200, Ended: time.Second})
	return c
}

// What the interface is answered stays as it is, value by value: testdata/answers has it. What a node makes up is replaced: ids, and sums that are
// identities of content.
func TestAnswers(t *testing.T) {
	t.Parallel()
	s, err := sqlite.Open(context.Background(), sqlitetest.New(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	now := func() time.Time { return answersAt }
	registry := health.New(health.Default(now))
	hours := health.NewHistory(registry, s.Nodes, "node", 8*24*time.Hour)
	calls := &figures{calls: []record.Call{*wholeCall(), {Generation: "gen-2-b", At: answersAt, API: "embeddings", ModelAsked: "x", Status: 404, Error: "model_not_found"}}}
	n := answering(t, now, registry, hours, calls)
	snapshot := testCatalog(t)
	small, _ := snapshot.Model("acme/small")
	for _, r := range []health.Result{health.Served, health.Served, health.Failed, health.Served} {
		p, why, _ := registry.Admit(small.Endpoints[0], "")
		if why != health.None {
			t.Fatal(why)
		}
		p.End(health.Sample{Result: r, Latency: 200 * time.Millisecond, Took: time.Second, Tokens: 80})
	}
	for range 5 {
		p, _, _ := registry.Admit(small.Endpoints[1], "")
		p.End(health.Sample{Result: health.Failed})
	}
	if err := hours.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.rank(&popularity{accounts: 5, tokens: map[string]int64{"acme/small": 75_000, "acme/large-2026-01-31": 24_000, "zeta/plain": 200, "gone/gone": 1_000_000}})
	wallet := n.first.User.Wallet
	n.books.calls[wallet+"gen-1-a"] = wholeCall()
	n.books.calls[wallet+"gen-3-c"] = &record.Call{Generation: "gen-3-c", Key: n.first.Key.ID, At: answersAt, API: "responses", ModelAsked: "acme/none", Status: 404, Error: "model_not_found"}
	n.books.refunds = map[string][]ledger.Movement{wallet + "gen-1-a": {{Transaction: 4, Kind: "refund", Ref: "refund:gen-1-a:T-1", Amount: 9, Reason: "a broken answer", Actor: "key:k", At: answersAt}}}
	n.manage("PUT", "/api/account/preferences", `{"provider":{"ignore":["acme"]}}`)

	for name, got := range map[string]*response{
		"catalog":    n.do("GET", "/api/catalog", "", "Authorization", ""),
		"series":     n.do("GET", "/api/models/acme/small/series", "", "Authorization", ""),
		"series_all": n.do("GET", "/api/models/acme/small/series?range=7d&metric=all", "", "Authorization", ""),
		"series_no":  n.do("GET", "/api/models/zeta/plain/series?metric=uptime", "", "Authorization", ""),
		"status":     n.do("GET", "/api/status", "", "Authorization", ""),
		"rankings":   n.do("GET", "/api/rankings?range=30d", "", "Authorization", ""),
		"hidden":     n.manage("GET", "/api/catalog/hidden", ""),
		"hidden_key": n.do("GET", "/api/catalog/hidden", ""),
		"overview":   n.manage("GET", "/api/overview", ""),
		"call":       n.manage("GET", "/api/calls/gen-1-a", ""),
		"call_few":   n.do("GET", "/api/calls/gen-3-c", ""),
		"explain": n.manage("POST", "/api/account/preferences/explain", `{"provider":{"only":["best"],"max_price":{"prompt":"0.10"},"sort":{"by":"price","partition":"none"},"zdr":false},
			"request":{"model":"acme/small","max_tokens":1000,"messages":[{"role":"user","content":"hi"}],"provider":{"preferred_max_latency":{"p90":1.5}}}}`),
		"explain_none": n.manage("POST", "/api/account/preferences/explain", `{"provider":null,"request":{"model":"acme/small","messages":[{"role":"user","content":"hi"}],"provider":{"only":["nobody"]}}}`),
	} {
		if got.StatusCode != 200 {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.body)
			continue
		}
		var v any
		d := json.NewDecoder(bytes.NewReader(got.body))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		indented, _ := json.MarshalIndent(v, "", " ")
		sameAnswer(t, n, name+".json", indented)
	}
	// Of programs' routes each byte stays.
	sameAnswer(t, n, "generation.txt", n.do("GET", "/v1/generation?id=gen-1-a", "", "Host", "weir.example").body)
	sameAnswer(t, n, "generation_few.txt", n.do("GET", "/v1/generation?id=gen-3-c", "", "Host", "weir.example").body)
	sameAnswer(t, n, "route.txt", n.do("POST", "/v1/route/explain", `{"model":"acme/small","max_tokens":1000,"messages":[{"role":"user","content":"hi"}],"provider":{"sort":"throughput","order":["best"],"max_price":{"prompt":0.05}}}`).body)
}

// made are the parts of answers that differ from run to run.
var made = regexp.MustCompile(`(usr|wal|key)_[0-9A-Za-z]{8,}|req_[0-9A-Za-z]{24}|\b[0-9a-f]{64}\b`)

func sameAnswer(t *testing.T, n *node, name string, got []byte) {
	t.Helper()
	got = made.ReplaceAll(got, []byte("~"))
	for _, id := range []string{n.url, n.first.User.ID, n.first.User.Wallet} {
		got = bytes.ReplaceAll(got, []byte(id), []byte("~"))
	}
	path := filepath.Join("testdata", "answers", name)
	if *updateAnswers {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n"); !bytes.Equal(got, want) {
		for i := range g {
			if i >= len(w) || g[i] != w[i] {
				t.Errorf("%s: line %d is %s\n%s", name, i+1, g[i], got)
				return
			}
		}
		t.Errorf("%s ends too early: %s", name, got)
	}
}

// answering starts a node that answers at one moment.
func answering(t *testing.T, now func() time.Time, registry *health.Registry, hours *health.History, calls *figures) *node {
	return startAll(t, relayFunc(hello), nil, func(d *httpapi.Deps) {
		d.Now, d.Stats = now, registry
	}, func(a *accountapi.Deps, d *catalogapi.Deps, _ *accountapi.EventsConfig) {
		a.Reports = report.New(calls, present{a.Books.(*books)})
		a.Health, d.Health, d.Hours, d.Status, d.Rankings = registry, registry, hours, true, true
	})
}

// rank has the node know its rankings.
func (n *node) rank(p *popularity) {
	known := make(chan struct{})
	loop := n.rankings.Follow(p, time.Hour, func(listing.Ranks) { close(known) })
	loop.Start()
	<-known
	loop.Stop()
}
