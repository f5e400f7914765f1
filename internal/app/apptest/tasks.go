package apptest

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"weir/internal/catalog"
)

// Wired is a provider's wire for tasks of one type, as the simulator serves it.
type Wired struct {
	kind    string // type of the models
	name    string // of the provider, if its dialect is not enough
	Dialect string
	base    string
	model   string // the simulator's name of the model
	before  string // what stands before it, such as "emb://folder/"
	quirks  catalog.Quirks
	token   string // path that exchanges the credential for a token; "": none
	Price   string // "request": per request, "free": free, "": per token
	images  bool   // the models accept images
}

// ID returns the provider's name, which is also the vendor of its models.
func (w *Wired) ID() string { return w.kind + "-" + cmp.Or(w.name, w.Dialect) }

// Slug returns the model with a fault; "": the working one.
func (w *Wired) Slug(fault string) string {
	if fault == "" {
		return w.ID() + "/works"
	}
	return w.ID() + strings.TrimPrefix((&Cell{Fault: fault}).Slug(), "test")
}

var Embedders = []Wired{
	{kind: catalog.TypeEmbedding, Dialect: "openai", base: "/v1", model: "embed", quirks: catalog.Quirks{TokenInput: true, Drop: []string{"input_type"}}, images: true},
	{kind: catalog.TypeEmbedding, Dialect: "gemini", base: "/v1beta", model: "embed"},
	{kind: catalog.TypeEmbedding, Dialect: "cohere", base: "/cohere", model: "embed"},
	{kind: catalog.TypeEmbedding, Dialect: "voyage", base: "/voyage/v1", model: "embed"},
	{kind: catalog.TypeEmbedding, Dialect: "yandex", base: "/yandex", model: "embed", before: "emb://folder/"},
	{kind: catalog.TypeEmbedding, Dialect: "gigachat", base: "/api/v1", model: "embed", token: "/api/v2/oauth"},
}

var Moderators = []Wired{
	{kind: catalog.TypeModeration, Dialect: "openai", base: "/v1", model: "omni-moderation-latest", Price: "free", images: true},
	{kind: catalog.TypeModeration, Dialect: "openai", name: "mistral", base: "/mistral/v1", model: "mistral-moderation-latest"},
}

var Rerankers = []Wired{
	{kind: catalog.TypeRerank, Dialect: "cohere", base: "/cohere", model: "rerank", Price: "request"},
	{kind: catalog.TypeRerank, Dialect: "voyage", base: "/voyage/v1", model: "rerank"},
	{kind: catalog.TypeRerank, Dialect: "openai", name: "jina", base: "/jina/v1", model: "rerank"},
	{kind: catalog.TypeRerank, Dialect: "openai", name: "vllm", base: "/v1", model: "rerank"},
}

// DeclareTasks adds providers for the wires, with a working model and two models for each cell of the failure matrix: one with the failing
// provider alone, and one with a second provider.
func DeclareTasks(t *testing.T, d *catalog.Declared, wires ...Wired) {
	t.Helper()
	address := func(id string) string {
		at := slices.IndexFunc(d.Providers, func(p catalog.Provider) bool { return p.ID == id })
		return strings.TrimSuffix(d.Providers[at].BaseURL, "/v1")
	}
	open, closed := address("works"), address("closed")
	for i := range wires {
		w := &wires[i]
		for id, origin := range map[string]string{w.ID(): open, w.ID() + "-closed": closed, w.ID() + "-spare": open} {
			p := catalog.Provider{ID: id, Name: id, Dialect: w.Dialect, BaseURL: origin + w.base, Key: "sk-upstream-key", Quirks: w.quirks}
			if w.token != "" {
				p.Key, p.Quirks.AuthURL = "client:"+p.Key, open+w.token
			}
			d.Providers = append(d.Providers, p)
		}
		declared := map[string]bool{}
		offer := func(provider, slug, model string) {
			prices := catalog.Prices{Prompt: Price(t, "0.1")}
			switch w.Price {
			case "request":
				prices = catalog.Prices{Request: Price(t, "0.1")}
			case "free":
				prices = catalog.Prices{Prompt: Price(t, "0")}
			}
			if !declared[slug] {
				declared[slug] = true
				d.Models = append(d.Models, catalog.ModelInfo{Slug: slug, Type: w.kind})
			}
			o := catalog.Offer{Provider: provider, Model: slug, UpstreamID: w.before + model, ContextLength: 8192, Input: catalog.Text, Output: catalog.Text,
				Pricing: catalog.Pricing{List: "test", Base: prices}}
			if w.images {
				o.Input |= catalog.Image
			}
			d.Offers = append(d.Offers, o)
		}
		offer(w.ID(), w.Slug(""), w.model)
		for j := range Matrix {
			provider := w.ID()
			if Matrix[j].Closed {
				provider += "-closed"
			}
			offer(provider, w.Slug(Matrix[j].Fault), w.model+"@fault="+Matrix[j].Fault)
			offer(provider, w.Slug(Matrix[j].Fault)+"-spared", w.model+"@fault="+Matrix[j].Fault)
			offer(w.ID()+"-spare", w.Slug(Matrix[j].Fault)+"-spared", w.model)
		}
	}
}

// Vectors is an answer of embeddings.
type Vectors struct {
	ID, Object, Model string
	Data              []struct {
		Object    string
		Index     int
		Embedding json.RawMessage
	}
	Usage struct {
		PromptTokens int64       `json:"prompt_tokens"`
		TotalTokens  int64       `json:"total_tokens"`
		Cost         json.Number `json:"cost"`
	}
}

func (a *Account) Embed(t *testing.T, body map[string]any) *Vectors {
	t.Helper()
	got := a.Do(t, http.MethodPost, "/v1/embeddings", body)
	if got.Status != http.StatusOK {
		t.Fatalf("status %d: %s", got.Status, got.Body)
	}
	var v Vectors
	if err := json.Unmarshal(got.Body, &v); err != nil {
		t.Fatal(err)
	}
	if v.ID == "" || v.ID != got.Header.Get("X-Generation-Id") || v.Object != "list" || v.Model != body["model"] {
		t.Errorf("id %q of %q, object %q, model %q", v.ID, got.Header.Get("X-Generation-Id"), v.Object, v.Model)
	}
	for i, d := range v.Data {
		if d.Index != i || d.Object != "embedding" {
			t.Errorf("vector %d: index %d, object %q", i, d.Index, d.Object)
		}
	}
	return &v
}

// Values returns the numbers of a vector, whatever its encoding.
func (v *Vectors) Values(t *testing.T, i int) []float32 {
	t.Helper()
	raw := v.Data[i].Embedding
	var out []float32
	if raw[0] == '[' {
		if err := json.Unmarshal(raw, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		t.Fatal(err)
	}
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(packed); i += 4 {
		out = append(out, math.Float32frombits(binary.LittleEndian.Uint32(packed[i:])))
	}
	return out
}

type Verdict struct {
	Flagged bool
	Is      map[string]bool     `json:"categories"`
	Scores  map[string]float64  `json:"category_scores"`
	Types   map[string][]string `json:"category_applied_input_types"`
}

func (a *Account) Moderate(t *testing.T, body map[string]any) []Verdict {
	t.Helper()
	got := a.Do(t, http.MethodPost, "/v1/moderations", body)
	var m struct {
		ID, Model string
		Results   []Verdict
	}
	if err := json.Unmarshal(got.Body, &m); err != nil || got.Status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", got.Status, err, got.Body)
	}
	if id, ok := strings.CutPrefix(m.ID, "modr-"); !ok || len(id) != 24 {
		t.Errorf("id %q", m.ID)
	}
	if want := body["model"]; want != nil && m.Model != want {
		t.Errorf("model %q", m.Model)
	}
	for _, v := range m.Results {
		if len(v.Is) < 13 || len(v.Scores) != len(v.Is) || len(v.Types) != len(v.Is) { // some models have more
			t.Errorf("not all categories: %s", got.Body)
		}
	}
	return m.Results
}

type Ranking struct {
	ID, Model string
	Results   []struct {
		Index    int
		Score    float64 `json:"relevance_score"`
		Document *struct{ Text string }
	}
	Usage struct {
		TotalTokens int64       `json:"total_tokens"`
		SearchUnits int64       `json:"search_units"`
		Cost        json.Number `json:"cost"`
	}
}

func (a *Account) Rerank(t *testing.T, body map[string]any) *Ranking {
	t.Helper()
	got := a.Do(t, http.MethodPost, "/v1/rerank", body)
	var r Ranking
	if err := json.Unmarshal(got.Body, &r); err != nil || got.Status != http.StatusOK || r.ID == "" || r.Model != body["model"] {
		t.Fatalf("status %d, %v: %s", got.Status, err, got.Body)
	}
	return &r
}
