package httpapi

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/catalog/listing"
	"weir/internal/money"
)

// crowd is a catalog of n chat models with three endpoints each and descriptions as long as real ones.
func crowd(b *testing.B, n int) *catalog.Snapshot {
	b.Helper()
	words := strings.Fields("fast open multilingual model with long context tool use and reasoning tuned for code chat agents documents images science translation summaries of large texts at low cost")
	random := rand.New(rand.NewPCG(1, 2))
	price := func() money.Price { return money.Price{Nano: random.Int64N(1_000_000_000), Set: true} }
	var d catalog.Declared
	for i := range 3 {
		id := fmt.Sprint("provider-", i)
		d.Providers = append(d.Providers, catalog.Provider{ID: id, Dialect: "openai", BaseURL: "https://" + id + ".invalid/v1"})
	}
	for i := range n {
		slug := fmt.Sprintf("vendor-%d/model-%d", i%50, i)
		var text []string
		for range 60 {
			text = append(text, words[random.IntN(len(words))])
		}
		d.Models = append(d.Models, catalog.ModelInfo{Slug: slug, Name: fmt.Sprintf("Vendor %d: Model %d", i%50, i), Description: strings.Join(text, " "),
			Created: time.Unix(random.Int64N(1_800_000_000), 0), ContextLength: 1 << (10 + random.IntN(10))})
		for _, p := range d.Providers {
			d.Offers = append(d.Offers, catalog.Offer{Provider: p.ID, Model: slug, Pricing: catalog.Pricing{Base: catalog.Prices{Prompt: price(), Completion: price()}}})
		}
	}
	s, err := catalog.Build(d)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// quiet is a ResponseWriter that costs next to nothing.
type quiet struct {
	header http.Header
	status int
	bytes  int
}

func (q *quiet) Header() http.Header         { return q.header }
func (q *quiet) WriteHeader(status int)      { q.status = status }
func (q *quiet) Write(p []byte) (int, error) { q.bytes += len(p); return len(p), nil }

// BenchmarkModels is GET /v1/models at 2000 models, everything but the socket. Cold answers are built each time, kept ones
// are found; the difference between plain and packed is what the client accepts.
func BenchmarkModels(b *testing.B) {
	snap := crowd(b, 2000)
	cfg := Default()
	cfg.PublicPerMinute, cfg.AnonymousPerSecond = 0, 0
	a := New(Deps{Catalog: func() *catalog.Snapshot { return snap }, Now: time.Now}, cfg)
	kept := a.models.Of(snap)
	for _, c := range []struct {
		name, query, encoding, known string
		cold                         bool
	}{
		{name: "whole/plain"},
		{name: "whole/packed", encoding: "gzip"},
		{name: "whole/not modified", known: `"` + kept.Models.Whole().Tag + `"`},
		{name: "kept/search", query: "search=reasoning+code&sort_by=price"},
		{name: "kept/page", query: "sort_by=name&page=3&per_page=100"},
		{name: "cold/page", query: "page=3&per_page=100", cold: true},
		{name: "cold/sorted, all", query: "sort_by=price&sort_order=desc", cold: true},
		{name: "cold/type, all", query: "model_type=chat", cold: true},
		{name: "cold/one word, few", query: "search=model-1234", cold: true},
		{name: "cold/three words, sorted, most", query: "search=model+vendor+reasoning&sort_by=context_length", cold: true},
		{name: "cold/words in no item", query: "search=model+vendor+reasoning+use+documents+zebra", cold: true},
		{name: "cold/twelve words, most in all", query: "search=vendor+model+1+fast+open+code+chat+tool+use+large+texts+low+cost", cold: true},
		{name: "cold/forty words", query: "search=a+e+i+o+fa+op+mu+wi+lo+co+to+us+an+re+tu+fo+ch+ag+do+im+sc+tr+su+of+la+te+at+mo+ve+0+1+2+3+th+st+en+on+er+in+al", cold: true},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := httptest.NewRequest("GET", "/v1/models?"+c.query, nil)
			if c.query == "" {
				r = httptest.NewRequest("GET", "/v1/models", nil)
			}
			if c.encoding != "" {
				r.Header.Set("Accept-Encoding", c.encoding)
			}
			if c.known != "" {
				r.Header.Set("If-None-Match", c.known)
			}
			do := func() *quiet {
				w := &quiet{header: http.Header{}}
				a.ServeHTTP(w, r)
				return w
			}
			do()
			w := do() // what is kept is kept from the second time on
			b.ReportAllocs()
			for b.Loop() {
				if c.cold {
					kept.Models.Forget()
				}
				if w = do(); w.status != 200 && w.status != 304 {
					b.Fatal(w.status)
				}
			}
			b.ReportMetric(float64(w.bytes), "bytes")
		})
	}
	b.Run("other/providers", func(b *testing.B) {
		r := httptest.NewRequest("GET", "/v1/models/vendor-0/model-0/providers", nil)
		b.ReportAllocs()
		for b.Loop() {
			a.ServeHTTP(&quiet{header: http.Header{}}, r)
		}
	})
	b.Run("other/one model", func(b *testing.B) {
		r := httptest.NewRequest("GET", "/v1/models/vendor-0/model-0", nil)
		b.ReportAllocs()
		for b.Loop() {
			a.ServeHTTP(&quiet{header: http.Header{}}, r)
		}
	})
	b.Run("other/new kept", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			listing.NewCache(listing.Encoders{Model: appendModel, Embedding: appendEmbeddingModel, Video: appendVideoModel}).Of(snap)
		}
	})
}
