package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/catalog/edit"
	"weir/internal/config"
	"weir/internal/store/sqlite/sqlitetest"
)

// shed is a server of vLLM whose models a test changes.
type shed struct {
	*httptest.Server
	models atomic.Pointer[string] // nil: it is away
	asked  atomic.Int64
	key    atomic.Pointer[string]
}

func openShed(t *testing.T, models string) *shed {
	s := &shed{}
	s.models.Store(&models)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		s.key.Store(new(r.Header.Get("Authorization")))
		if names := s.models.Load(); names == nil {
			http.Error(w, "away", http.StatusBadGateway)
		} else {
			var items []string
			for _, name := range strings.Fields(*names) {
				items = append(items, fmt.Sprintf(`{"id":%q,"owned_by":"vllm","max_model_len":4096}`, name))
			}
			_, _ = fmt.Fprintf(w, `{"object":"list","data":[%s]}`, strings.Join(items, ","))
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// openAsking opens a node with a provider whose server is asked for its models. Its rounds are those of the test.
func openAsking(t *testing.T, dir, settings string) *Gateway {
	t.Helper()
	file := filepath.Join(t.TempDir(), "weir.yaml")
	if err := os.WriteFile(file, []byte("server: {listen: \"127.0.0.1:0\", admin_listen: \"off\"}\ndata_dir: "+dir+"\nproviders: ["+settings+"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(file, func(string) (string, bool) { return "", false }, nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := open(t.Context(), cfg, extra{logTo: t.Output(), demo: false})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.close(context.Background()) })
	g.finder.log = slog.New(slog.NewTextHandler(t.Output(), nil))
	return g
}

func served(g *Gateway) string {
	var names []string
	for _, m := range g.catalog.Load().Models() {
		names = append(names, m.Slug)
	}
	return strings.Join(names, " ")
}

// TestServerIsAsked has a node ask a server again and again: new models come, those that are gone go, and while it is away they stay.
func TestServerIsAsked(t *testing.T) {
	t.Parallel()
	s := openShed(t, "a b")
	dir := t.TempDir()
	sqlitetest.New(t, dir)
	g := openAsking(t, dir, `{id: shed, like: vllm, base_url: "`+s.URL+`/v1", api_key: secret-of-the-shed, models: discover, prices: {prompt: "0.1", completion: "0.2"}}`)
	now := time.Now()
	g.finder.now = func() time.Time { return now }
	round := func(models *string, want, problem string) {
		t.Helper()
		s.models.Store(models)
		now = now.Add(2 * time.Minute)
		g.finder.round(t.Context())
		if got := served(g); got != want {
			t.Errorf("serves %q, want %q", got, want)
		}
		v := g.built.Load().Provider("shed")
		if v.Found == nil || !strings.Contains(v.Found.Problem, problem) || problem == "" && v.Found.Problem != "" {
			t.Errorf("found: %+v", v.Found)
		}
	}
	if !g.asksServers() || served(g) != "" {
		t.Errorf("before it was asked it serves %q", served(g))
	}
	round(new("a b"), "shed/a shed/b", "")
	if key := *s.key.Load(); key != "Bearer secret-of-the-shed" {
		t.Errorf("asked with %q", key)
	}
	asked := s.asked.Load()
	g.finder.round(t.Context())
	if s.asked.Load() != asked {
		t.Error("it is asked again at once")
	}
	round(new("b c"), "shed/b shed/c", "")
	round(nil, "shed/b shed/c", "status 502")
	round(new("b c"), "shed/b shed/c", "")
	round(new(""), "", "")
	round(new("c"), "shed/c", "")
	m, _ := g.catalog.Load().Model("shed/c")
	if p := m.Endpoints[0].Pricing.Base; p.Prompt.String() != "0.1" || m.Endpoints[0].ContextLength != 4096 {
		t.Errorf("endpoint: %+v", m.Endpoints[0])
	}
	tests, err := g.testProvider(t.Context(), "shed")
	if err != nil || tests[0].Type != foundModels || tests[0].Wrong != nil || !strings.Contains(tests[0].Advice[0], "vLLM has 1 models: shed/c (4096 tokens)") {
		t.Errorf("test: %+v, %v", tests, err)
	}

	// After a start while the server is away the models that it has named are served.
	s.models.Store(nil)
	g.close(context.Background())
	again := openAsking(t, dir, `{id: shed, like: vllm, base_url: "`+s.URL+`/v1", models: discover}`)
	if got := served(again); got != "shed/c" {
		t.Errorf("after a start it serves %q", got)
	}
	tests, err = again.testProvider(t.Context(), "shed")
	if err != nil || *tests[0].Wrong != wrongAddress || !strings.Contains(tests[0].Advice[0], "The 1 models that it named at") {
		t.Errorf("test: %+v, %v", tests, err)
	}
	var said []string
	d := Doctor{report: func(f Finding) { said = append(said, string(f.Is)+" "+f.What) }}
	d.found(again.built.Load())
	if len(said) != 1 || !strings.Contains(said[0], "warning its server does not say which models it has; the 1 of") {
		t.Errorf("doctor: %q", said)
	}
}

// TestUnknownServerNeedsPrices does not offer for nothing what may cost money.
func TestUnknownServerNeedsPrices(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(`{"object":"list","data":[{"id":"gpt-9","owned_by":"openai"}]}`))
	}))
	defer server.Close()
	for settings, want := range map[string]string{"": "", `, prices: {prompt: "1", completion: "2"}`: "far/gpt-9"} {
		dir := t.TempDir()
		sqlitetest.New(t, dir)
		g := openAsking(t, dir, `{id: far, base_url: "`+server.URL+`/v1", models: discover`+settings+`}`)
		g.finder.round(t.Context())
		if got := served(g); got != want {
			t.Errorf("with %q it serves %q", settings, got)
		}
		if v := g.built.Load().Provider("far"); want == "" && !strings.Contains(v.Found.Problem, "set prices") {
			t.Errorf("found: %+v", v.Found)
		}
	}
}

// TestSecondNodeSees has one of two nodes ask a server; the other has the models at its next look at the database.
func TestSecondNodeSees(t *testing.T) {
	t.Parallel()
	s := openShed(t, "a")
	dir := t.TempDir()
	sqlitetest.New(t, dir)
	g := openAsking(t, dir, `{id: shed, base_url: "`+s.URL+`/v1", models: discover}`)
	other := &live{store: g.store.Catalog, ring: g.live.ring, now: time.Now, log: g.slog, publish: func(config.Config, *edit.Built, []string) {}}
	if err := other.start(t.Context(), g.cfg); err != nil {
		t.Fatal(err)
	}
	if other.stale(t.Context()) {
		t.Error("it is stale before anything was asked")
	}
	g.finder.round(t.Context())
	if !other.stale(t.Context()) {
		t.Fatal("it does not see that a server has answered")
	}
	other.refresh(t.Context())
	if other.stale(t.Context()) || len(other.state.Found) != 1 || s.asked.Load() != 1 {
		t.Errorf("state: %+v, asked %d times", other.state.Found, s.asked.Load())
	}
}
