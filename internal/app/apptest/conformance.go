package apptest

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/sim"
)

// TestDialect is a dialect under test.
type TestDialect struct {
	Name string // the dialect's name in the catalog
	Base string // path on the simulator
	Wire string // name for readers; "" for a variant
	as   string // the dialect of a variant
	id   string // prefix of the upstream's model names

	Quirks catalog.Quirks
	tokens string // path that exchanges the credential for a token; "": none
}

var Dialects = []TestDialect{
	{Name: "openai", Base: "/v1", Wire: "chat completions"},
	{Name: "anthropic", Wire: "messages"},
	{Name: "gemini", Base: "/v1beta", Wire: "generateContent"},
	{Name: "responses", Base: "/v1", Wire: "responses"},
	{Name: "bedrock", Wire: "Converse", Quirks: catalog.Quirks{ReasoningRequest: "thinking"}}, // as for Anthropic's models
	{Name: "gigachat", Base: "/api/v1", Wire: "GigaChat", tokens: "/api/v2/oauth"},
}

// variants are providers whose wire differs from others of the same dialect.
var variants = []TestDialect{
	{Name: "yandex", as: "openai", Base: "/yandex/v1", id: "gpt://folder/", Quirks: catalog.Quirks{AuthScheme: "Api-Key", SystemRole: true, MaxTokensField: "max_tokens"}},
}

// personas are the simulator's models in the grid, on each dialect.
var personas = []string{"chat", "echo", "tools", "reason", "json", "vision", "image"}

// Conformer is a gateway with models on all dialects, and a simulator that records its requests.
type Conformer struct {
	*Gateway
	Upstream *sim.Server
	Mu       sync.Mutex
	Sent     []Sent
	Cells    atomic.Int64
}

// Sent is a request as the upstream received it.
type Sent struct {
	Path   string
	Header http.Header
	Body   []byte
}

// StartConformer starts a conformer. Models are named by dialect and persona, for example "gemini/echo".
func StartConformer(t *testing.T, change ...func(*Setup)) *Conformer {
	t.Helper()
	c := &Conformer{Upstream: sim.New(sim.Config{Shapes: shapes(t)})}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		c.Mu.Lock()
		c.Sent = append(c.Sent, Sent{r.URL.RequestURI(), r.Header.Clone(), body})
		c.Mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		c.Upstream.ServeHTTP(w, r)
	}), ReadHeaderTimeout: time.Minute}
	l := Listen(t)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() {
		_ = server.Close()
		_ = c.Upstream.Close(context.Background())
	})
	origin := "http://" + l.Addr().String()
	c.Gateway = StartGateway(t, append([]func(*Setup){func(s *Setup) { conformanceCatalog(t, &s.Declared, origin) }}, change...)...)
	return c
}

func conformanceCatalog(t *testing.T, d *catalog.Declared, origin string) {
	t.Helper()
	for _, on := range append(variants, Dialects...) {
		id := "on-" + on.Name
		p := catalog.Provider{ID: id, Name: "On " + on.Name, Dialect: cmp.Or(on.as, on.Name), BaseURL: origin + on.Base, Key: "sk-upstream-" + on.Name, Quirks: on.Quirks}
		if on.tokens != "" {
			p.Key, p.Quirks.AuthURL = "client:"+p.Key, origin+on.tokens
		}
		d.Providers = append(d.Providers, p)
		for _, p := range personas {
			o := OfferOf(t, id, on.Name+"/"+p, on.id+p)
			b := &o.Pricing.Base
			b.CacheRead, b.CacheWrite, b.CacheWrite1h = Price(t, "0.01"), Price(t, "0.125"), Price(t, "0.2")
			b.Reasoning, b.ImageOutput = Price(t, "0.3"), Price(t, "2")
			b.WebSearch, b.CodeExecution = Price(t, "0"), Price(t, "0")
			if o.Input = catalog.Text; on.Name != "gigachat" { // as in the catalog
				o.Input |= catalog.Image | catalog.File | catalog.Audio
			}
			o.Output = catalog.Text
			if p == "image" && (on.Name == "openai" || on.Name == "gemini") {
				o.Output |= catalog.Image
			}
			d.Offers = append(d.Offers, o)
		}
	}
}

// Received returns the requests that contain a text.
func (c *Conformer) Received(text string) (list []Sent) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	for _, s := range c.Sent {
		if bytes.Contains(s.Body, []byte(text)) {
			list = append(list, s)
		}
	}
	return list
}
