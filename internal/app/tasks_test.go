package app_test

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weir/internal/apikey"
	"weir/internal/catalog"
)

// wired is a provider's wire for tasks of one type, as the simulator serves it.
type wired struct {
	kind    string // type of the models
	name    string // of the provider, if its dialect is not enough
	dialect string
	base    string
	model   string // the simulator's name of the model
	before  string // what stands before it, such as "emb://folder/"
	quirks  catalog.Quirks
	token   string // path that exchanges the credential for a token; "": none
	price   string // "request": per request, "free": free, "": per token
	images  bool   // the models accept images
}

// id returns the provider's name, which is also the vendor of its models.
func (w *wired) id() string { return w.kind + "-" + cmp.Or(w.name, w.dialect) }

// slug returns the model with a fault; "": the working one.
func (w *wired) slug(fault string) string {
	if fault == "" {
		return w.id() + "/works"
	}
	return w.id() + strings.TrimPrefix((&cell{fault: fault}).slug(), "test")
}

var embedders = []wired{
	{kind: catalog.TypeEmbedding, dialect: "openai", base: "/v1", model: "embed", quirks: catalog.Quirks{TokenInput: true}, images: true},
	{kind: catalog.TypeEmbedding, dialect: "gemini", base: "/v1beta", model: "embed"},
	{kind: catalog.TypeEmbedding, dialect: "cohere", base: "/cohere", model: "embed"},
	{kind: catalog.TypeEmbedding, dialect: "voyage", base: "/voyage/v1", model: "embed"},
	{kind: catalog.TypeEmbedding, dialect: "yandex", base: "/yandex", model: "embed", before: "emb://folder/"},
	{kind: catalog.TypeEmbedding, dialect: "gigachat", base: "/api/v1", model: "embed", token: "/api/v2/oauth"},
}

var moderators = []wired{
	{kind: catalog.TypeModeration, dialect: "openai", base: "/v1", model: "omni-moderation-latest", price: "free", images: true},
	{kind: catalog.TypeModeration, dialect: "openai", name: "mistral", base: "/mistral/v1", model: "mistral-moderation-latest"},
}

var rerankers = []wired{
	{kind: catalog.TypeRerank, dialect: "cohere", base: "/cohere", model: "rerank", price: "request"},
	{kind: catalog.TypeRerank, dialect: "voyage", base: "/voyage/v1", model: "rerank"},
	{kind: catalog.TypeRerank, dialect: "openai", name: "jina", base: "/jina/v1", model: "rerank"},
	{kind: catalog.TypeRerank, dialect: "openai", name: "vllm", base: "/v1", model: "rerank"},
}

// declareTasks adds providers for the wires, with a working model and two models for each cell of the failure matrix: one with the failing
// provider alone, and one with a second provider.
func declareTasks(t *testing.T, d *catalog.Declared, wires ...wired) {
	t.Helper()
	address := func(id string) string {
		at := slices.IndexFunc(d.Providers, func(p catalog.Provider) bool { return p.ID == id })
		return strings.TrimSuffix(d.Providers[at].BaseURL, "/v1")
	}
	open, closed := address("works"), address("closed")
	for i := range wires {
		w := &wires[i]
		for id, origin := range map[string]string{w.id(): open, w.id() + "-closed": closed, w.id() + "-spare": open} {
			p := catalog.Provider{ID: id, Name: id, Dialect: w.dialect, BaseURL: origin + w.base, Key: "sk-upstream-key", Quirks: w.quirks}
			if w.token != "" {
				p.Key, p.Quirks.AuthURL = "client:"+p.Key, open+w.token
			}
			d.Providers = append(d.Providers, p)
		}
		declared := map[string]bool{}
		offer := func(provider, slug, model string) {
			prices := catalog.Prices{Prompt: price(t, "0.1")}
			switch w.price {
			case "request":
				prices = catalog.Prices{Request: price(t, "0.1")}
			case "free":
				prices = catalog.Prices{Prompt: price(t, "0")}
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
		offer(w.id(), w.slug(""), w.model)
		for j := range matrix {
			provider := w.id()
			if matrix[j].closed {
				provider += "-closed"
			}
			offer(provider, w.slug(matrix[j].fault), w.model+"@fault="+matrix[j].fault)
			offer(provider, w.slug(matrix[j].fault)+"-spared", w.model+"@fault="+matrix[j].fault)
			offer(w.id()+"-spare", w.slug(matrix[j].fault)+"-spared", w.model)
		}
	}
}

// vectors is an answer of embeddings.
type vectors struct {
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

func (a *account) embed(t *testing.T, body map[string]any) *vectors {
	t.Helper()
	got := a.do(t, http.MethodPost, "/v1/embeddings", body)
	if got.status != http.StatusOK {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	var v vectors
	if err := json.Unmarshal(got.body, &v); err != nil {
		t.Fatal(err)
	}
	if v.ID == "" || v.ID != got.header.Get("X-Generation-Id") || v.Object != "list" || v.Model != body["model"] {
		t.Errorf("id %q of %q, object %q, model %q", v.ID, got.header.Get("X-Generation-Id"), v.Object, v.Model)
	}
	for i, d := range v.Data {
		if d.Index != i || d.Object != "embedding" {
			t.Errorf("vector %d: index %d, object %q", i, d.Index, d.Object)
		}
	}
	return &v
}

// values returns the numbers of a vector, whatever its encoding.
func (v *vectors) values(t *testing.T, i int) []float32 {
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

// Each wire returns the same vectors as numbers and as base64, in the order of the inputs, however many upstream calls are made. The tokens
// that the provider counts are charged.
func TestEmbeddings(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, func(s *setup) { declareTasks(t, &s.Declared, embedders...) })
	for i := range embedders {
		w := &embedders[i]
		t.Run(w.dialect, func(t *testing.T) {
			a := gw.newAccount(t)
			texts := make([]string, 300)
			for i := range texts {
				texts[i] = fmt.Sprintf("Text number %d.", i)
			}
			many := a.embed(t, map[string]any{"model": w.slug(""), "input": texts})
			packed := a.embed(t, map[string]any{"model": w.slug(""), "input": texts, "encoding_format": "base64"})
			if len(many.Data) != len(texts) || len(packed.Data) != len(texts) {
				t.Fatalf("%d and %d vectors for %d texts", len(many.Data), len(packed.Data), len(texts))
			}
			if packed.Data[0].Embedding[0] != '"' {
				t.Errorf("not base64: %.40s", packed.Data[0].Embedding)
			}
			for i := range texts {
				if testing.Short() && i%20 > 0 {
					continue // with the race detector, most of the time would be spent parsing numbers
				}
				if !slices.Equal(many.values(t, i), packed.values(t, i)) {
					t.Fatalf("vector %d is another one as base64", i)
				}
			}
			for _, at := range []int{0, 1, 99, 150, 299} { // the vector of a text does not depend on the other inputs
				one := a.embed(t, map[string]any{"model": w.slug(""), "input": texts[at]})
				if !slices.Equal(one.values(t, 0), many.values(t, at)) {
					t.Errorf("vector %d is that of another text", at)
				}
			}
			if u := many.Usage; u.PromptTokens <= 0 || u.TotalTokens != u.PromptTokens || parse(t, u.Cost) != testCost(t, u.PromptTokens, 0) {
				t.Errorf("usage %+v", u)
			}
			g := a.generation(t, many.ID)
			if g.TokensPrompt != many.Usage.PromptTokens || g.TokensCompletion != 0 || g.TotalCost != many.Usage.Cost {
				t.Errorf("generation %+v, usage %+v", g, many.Usage)
			}
			a.wantNothingHeld(t)
		})
	}
	gw.wantBalanced(t)
}

// The five forms of an input, and invalid ones.
func TestEmbeddingInputs(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, func(s *setup) { declareTasks(t, &s.Declared, embedders...) })
	a := gw.newAccount(t)
	model := embedders[0].slug("")
	one := a.embed(t, map[string]any{"model": model, "input": "A weir."})
	for name, input := range map[string]any{
		"list": []string{"A weir."}, "object": []any{map[string]any{"content": "A weir."}},
		"parts": []any{map[string]any{"content": []any{map[string]any{"type": "text", "text": "A weir."}}}},
	} {
		if v := a.embed(t, map[string]any{"model": model, "input": input}); !slices.Equal(v.values(t, 0), one.values(t, 0)) {
			t.Errorf("%s: another vector than of the bare text", name)
		}
	}
	tokens := a.embed(t, map[string]any{"model": model, "input": []int{1, 2, 3}})
	both := a.embed(t, map[string]any{"model": model, "input": [][]int{{4}, {1, 2, 3}}})
	if !slices.Equal(tokens.values(t, 0), both.values(t, 1)) || tokens.Usage.PromptTokens != 3 || both.Usage.PromptTokens != 4 {
		t.Errorf("tokens: usage %+v and %+v", tokens.Usage, both.Usage)
	}
	if short := a.embed(t, map[string]any{"model": model, "input": "A weir.", "dimensions": 64}); len(short.values(t, 0)) != 64 {
		t.Errorf("%d dimensions", len(short.values(t, 0)))
	}
	for _, tt := range []struct {
		name, param string
		body        map[string]any
		status      int
	}{
		{"empty text", "input", map[string]any{"input": ""}, 400},
		{"empty text in a list", "input[1]", map[string]any{"input": []string{"a", ""}}, 400},
		{"empty list", "input", map[string]any{"input": []string{}}, 400},
		{"empty tokens", "input[0]", map[string]any{"input": [][]int{{}}}, 400},
		{"mixed", "input[1]", map[string]any{"input": []any{"a", []int{1}}}, 400},
		{"negative token", "input[1]", map[string]any{"input": []int{1, -1}}, 400},
		{"no input", "input", map[string]any{}, 400},
		{"unknown encoding", "encoding_format", map[string]any{"input": "a", "encoding_format": "int8"}, 400},
		{"no dimensions", "dimensions", map[string]any{"input": "a", "dimensions": 0}, 400},
		{"tokens elsewhere", "input", map[string]any{"model": embedders[2].slug(""), "input": []int{1}}, 400},
		{"dimensions that the model has not", "", map[string]any{"model": embedders[3].slug(""), "input": "a", "dimensions": 333}, 400},
		{"dimensions where there are none", "dimensions", map[string]any{"model": embedders[5].slug(""), "input": "a", "dimensions": 64}, 400},
		{"chat model", "", map[string]any{"model": "test/next", "input": "a"}, 400},
		{"unknown model", "model", map[string]any{"model": "test/nothing", "input": "a"}, 404},
	} {
		if tt.body["model"] == nil {
			tt.body["model"] = model
		}
		got := a.do(t, http.MethodPost, "/v1/embeddings", tt.body)
		if got.status != tt.status || tt.param != "" && !strings.Contains(string(got.body), `"param":"`+tt.param+`"`) {
			t.Errorf("%s: status %d, want %d at %q: %s", tt.name, got.status, tt.status, tt.param, got.body)
		}
	}
	poor := gw.open(t, opening{keys: []*apikey.Limit{nil}})[0]
	if got := poor.do(t, http.MethodPost, "/v1/embeddings", map[string]any{"model": model, "input": "a"}); got.status != http.StatusPaymentRequired {
		t.Errorf("without credit: status %d: %s", got.status, got.body)
	}
	a.wantNothingHeld(t)
	gw.wantBalanced(t)
}

// input_type is translated to each wire.
func TestEmbeddingInputType(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, func(s *setup) { declareTasks(t, &s.Declared, embedders...) })
	a := gw.newAccount(t)
	for i := range embedders {
		w := &embedders[i]
		model := w.slug("")
		query := a.embed(t, map[string]any{"model": model, "input": "A weir.", "input_type": "search_query"})
		document := a.embed(t, map[string]any{"model": model, "input": "A weir.", "input_type": "search_document"})
		same := slices.Equal(query.values(t, 0), document.values(t, 0))
		if plain := w.dialect == "openai" || w.dialect == "gigachat" || w.dialect == "yandex"; same != plain { // the simulator's model of yandex has no pair
			t.Errorf("%s: the vectors of a query and a document are the same: %t", w.dialect, same)
		}
	}
}

type verdict struct {
	Flagged bool
	Is      map[string]bool     `json:"categories"`
	Scores  map[string]float64  `json:"category_scores"`
	Types   map[string][]string `json:"category_applied_input_types"`
}

func (a *account) moderate(t *testing.T, body map[string]any) []verdict {
	t.Helper()
	got := a.do(t, http.MethodPost, "/v1/moderations", body)
	var m struct {
		ID, Model string
		Results   []verdict
	}
	if err := json.Unmarshal(got.body, &m); err != nil || got.status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", got.status, err, got.body)
	}
	if id, ok := strings.CutPrefix(m.ID, "modr-"); !ok || len(id) != 24 {
		t.Errorf("id %q", m.ID)
	}
	if want := body["model"]; want != nil && m.Model != want {
		t.Errorf("model %q", m.Model)
	}
	for _, v := range m.Results {
		if len(v.Is) != 13 || len(v.Scores) != 13 || len(v.Types) != 13 {
			t.Errorf("not all categories: %s", got.body)
		}
	}
	return m.Results
}

const pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func TestModerations(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, func(s *setup) {
		declareTasks(t, &s.Declared, moderators...)
		s.Declared.Models = append(s.Declared.Models, catalog.ModelInfo{Slug: "openai/omni-moderation-latest", Type: catalog.TypeModeration}, catalog.ModelInfo{Slug: "openai/text-moderation-latest", Type: catalog.TypeModeration})
		for _, id := range []string{"omni-moderation-latest", "text-moderation-latest"} {
			o := catalog.Offer{Provider: moderators[0].id(), Model: "openai/" + id, UpstreamID: id, Input: catalog.Text, Output: catalog.Text,
				Pricing: catalog.Pricing{List: "test", Base: catalog.Prices{Prompt: price(t, "0")}}}
			if id[0] == 'o' {
				o.Input |= catalog.Image
			}
			s.Declared.Offers = append(s.Declared.Offers, o)
		}
	})
	poor := gw.open(t, opening{keys: []*apikey.Limit{nil}})[0] // a free model needs no credit
	if v := poor.moderate(t, map[string]any{"input": "I will kill you."}); len(v) != 1 || !v[0].Flagged || !v[0].Is["violence"] || v[0].Scores["violence"] < 0.5 || !slices.Equal(v[0].Types["violence"], []string{"text"}) {
		t.Errorf("verdict %+v", v)
	}
	if v := poor.moderate(t, map[string]any{"input": ""}); len(v) != 1 || v[0].Flagged {
		t.Errorf("of nothing: %+v", v)
	}
	if v := poor.moderate(t, map[string]any{"model": "openai/omni-moderation-latest", "input": []string{"A weir.", "blood", "A dam."}}); len(v) != 3 || v[0].Flagged || !v[1].Is["violence/graphic"] || v[2].Flagged {
		t.Errorf("verdicts %+v", v)
	}
	parts := []any{map[string]any{"type": "text", "text": "A weir."}, map[string]any{"type": "image_url", "image_url": map[string]any{"url": pixel}}}
	if v := poor.moderate(t, map[string]any{"input": parts}); len(v) != 1 || !slices.Equal(v[0].Types["sexual"], []string{"text", "image"}) || !slices.Equal(v[0].Types["hate"], []string{"text"}) {
		t.Errorf("verdicts %+v", v)
	}
	if v := poor.moderate(t, map[string]any{"model": "openai/text-moderation-latest", "input": "blood"}); v[0].Is["illicit"] || v[0].Scores["illicit"] != 0 || len(v[0].Types["illicit"]) != 0 || !v[0].Is["violence"] {
		t.Errorf("verdicts %+v", v)
	}
	for name, body := range map[string]map[string]any{
		"pictures for a model of texts": {"model": "text-moderation-latest", "input": parts},
		"nothing":                       {"input": []string{}},
		"no input":                      {},
		"mixed":                         {"input": []any{"a", parts[0]}},
		"part of another type":          {"input": []any{map[string]any{"type": "sound"}}},
	} {
		if got := poor.do(t, http.MethodPost, "/v1/moderations", body); got.status != http.StatusBadRequest {
			t.Errorf("%s: status %d: %s", name, got.status, got.body)
		}
	}
	rich := gw.newAccount(t)
	if v := rich.moderate(t, map[string]any{"model": moderators[1].slug(""), "input": []string{"kill myself", "shoplift"}}); !v[0].Is["self-harm"] || !v[1].Is["illicit"] || !v[1].Flagged {
		t.Errorf("verdicts %+v", v)
	}
	rich.wantSpent(t, true)
	poor.wantSpent(t, false)
	gw.wantBalanced(t)
}

type ranking struct {
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

func (a *account) rerank(t *testing.T, body map[string]any) *ranking {
	t.Helper()
	got := a.do(t, http.MethodPost, "/v1/rerank", body)
	var r ranking
	if err := json.Unmarshal(got.body, &r); err != nil || got.status != http.StatusOK || r.ID == "" || r.Model != body["model"] {
		t.Fatalf("status %d, %v: %s", got.status, err, got.body)
	}
	return &r
}

func TestRerank(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, func(s *setup) { declareTasks(t, &s.Declared, rerankers...) })
	documents := []any{"Bread is baked.", map[string]any{"text": "A weir steers a river."}, "A river runs."}
	for i := range rerankers {
		w := &rerankers[i]
		t.Run(w.id(), func(t *testing.T) {
			a := gw.newAccount(t)
			r := a.rerank(t, map[string]any{"model": w.slug(""), "query": "weir river", "documents": documents})
			if len(r.Results) != 3 || r.Results[0].Index != 1 || r.Results[1].Index != 2 || r.Results[0].Score <= r.Results[1].Score || r.Results[0].Document == nil || r.Results[0].Document.Text != "A weir steers a river." {
				t.Errorf("%+v", r)
			}
			if spent := parse(t, a.credits(t).TotalUsage); spent == 0 || spent != parse(t, r.Usage.Cost) {
				t.Errorf("spent %s, reported %s", spent, r.Usage.Cost)
			}
			if by := w.price == "request"; by && (r.Usage.SearchUnits != 1 || r.Usage.Cost != "0.1") || !by && parse(t, r.Usage.Cost) != testCost(t, r.Usage.TotalTokens, 0) {
				t.Errorf("usage %+v", r.Usage)
			}
			if r = a.rerank(t, map[string]any{"model": w.slug(""), "query": "weir river", "documents": documents, "top_n": 1, "return_documents": false}); len(r.Results) != 1 || r.Results[0].Document != nil {
				t.Errorf("%+v", r)
			}
			if w.price == "request" { // 250 documents are three searches
				many := slices.Repeat([]string{"A weir."}, 250)
				if r = a.rerank(t, map[string]any{"model": w.slug(""), "query": "weir", "documents": many}); r.Usage.SearchUnits != 3 || r.Usage.Cost != "0.3" {
					t.Errorf("usage %+v", r.Usage)
				}
			}
			a.wantNothingHeld(t)
		})
	}
	a := gw.newAccount(t)
	for name, body := range map[string]map[string]any{
		"no query": {"documents": documents}, "empty query": {"query": "", "documents": documents}, "no documents": {"query": "a"}, "empty list": {"query": "a", "documents": []string{}},
		"empty document": {"query": "a", "documents": []string{""}}, "document without text": {"query": "a", "documents": []any{map[string]any{"title": "a"}}}, "top_n of nothing": {"query": "a", "documents": documents, "top_n": 0},
	} {
		body["model"] = rerankers[0].slug("")
		if got := a.do(t, http.MethodPost, "/v1/rerank", body); got.status != http.StatusBadRequest {
			t.Errorf("%s: status %d: %s", name, got.status, got.body)
		}
	}
	gw.wantBalanced(t)
}

// A request with an idempotency key is answered once, and charged once, on every surface.
func TestNamedTasks(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, func(s *setup) { declareTasks(t, &s.Declared, embedders[0], moderators[1], rerankers[0]) })
	for path, body := range map[string]string{
		"/v1/embeddings":  `{"model":"` + embedders[0].slug("") + `","input":"A weir."}`,
		"/v1/moderations": `{"model":"` + moderators[1].slug("") + `","input":"A weir."}`,
		"/v1/rerank":      `{"model":"` + rerankers[0].slug("") + `","query":"a","documents":["b"]}`,
	} {
		a, name := gw.newAccount(t), map[string]string{"Idempotency-Key": "once"}
		first := a.send(t, http.MethodPost, path, []byte(body), name)
		spent := a.credits(t).TotalUsage
		again := a.send(t, http.MethodPost, path, []byte(body), name)
		if first.status != http.StatusOK || string(first.body) != string(again.body) || again.header.Get("Idempotent-Replayed") != "true" || spent == "0" || a.credits(t).TotalUsage != spent {
			t.Errorf("%s: %d %s, again %d %s, spent %s", path, first.status, first.body, again.status, again.body, spent)
		}
		if other := a.send(t, http.MethodPost, path, []byte(strings.Replace(body, "weir", "dam", 1)+" "), name); other.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: another body: status %d", path, other.status)
		}
	}
	gw.wantBalanced(t)
}

// Answers are passed on in memory that serves other calls afterwards: each user gets the vectors of its own text, in either form.
func TestEmbeddingsAtOnce(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, func(s *setup) { declareTasks(t, &s.Declared, embedders...) })
	model := embedders[0].slug("")
	for i := range 6 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			a, text := gw.newAccount(t), strings.Repeat("A weir. ", i+1)
			want := a.embed(t, map[string]any{"model": model, "input": []string{text, "b"}})
			for j := range 15 {
				body := map[string]any{"model": model, "input": []string{text, "b"}}
				if j%3 == 0 {
					body["encoding_format"] = "base64"
				}
				if got := a.embed(t, body); len(got.Data) != 2 || !slices.Equal(got.values(t, 0), want.values(t, 0)) || !slices.Equal(got.values(t, 1), want.values(t, 1)) {
					t.Fatalf("call %d has other vectors", j)
				}
			}
		})
	}
}
