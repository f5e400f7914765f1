package media_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/catalog"
)

// Each wire returns the same vectors as numbers and as base64, in the order of the inputs, however many upstream calls are made. The tokens
// that the provider counts are charged.
func TestEmbeddings(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { apptest.DeclareTasks(t, &s.Declared, apptest.Embedders...) })
	for i := range apptest.Embedders {
		w := &apptest.Embedders[i]
		t.Run(w.Dialect, func(t *testing.T) {
			a := gw.NewAccount(t)
			texts := make([]string, 300)
			for i := range texts {
				texts[i] = fmt.Sprintf("Text number %d.", i)
			}
			many := a.Embed(t, map[string]any{"model": w.Slug(""), "input": texts})
			packed := a.Embed(t, map[string]any{"model": w.Slug(""), "input": texts, "encoding_format": "base64"})
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
				if !slices.Equal(many.Values(t, i), packed.Values(t, i)) {
					t.Fatalf("vector %d is another one as base64", i)
				}
			}
			for _, at := range []int{0, 1, 99, 150, 299} { // the vector of a text does not depend on the other inputs
				one := a.Embed(t, map[string]any{"model": w.Slug(""), "input": texts[at]})
				if !slices.Equal(one.Values(t, 0), many.Values(t, at)) {
					t.Errorf("vector %d is that of another text", at)
				}
			}
			if u := many.Usage; u.PromptTokens <= 0 || u.TotalTokens != u.PromptTokens || apptest.Parse(t, u.Cost) != apptest.TestCost(t, u.PromptTokens, 0) {
				t.Errorf("usage %+v", u)
			}
			g := a.Generation(t, many.ID)
			if g.TokensPrompt != many.Usage.PromptTokens || g.TokensCompletion != 0 || g.TotalCost != many.Usage.Cost {
				t.Errorf("generation %+v, usage %+v", g, many.Usage)
			}
			a.WantNothingHeld(t)
		})
	}
	gw.WantBalanced(t)
}

// The five forms of an input, and invalid ones.
func TestEmbeddingInputs(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { apptest.DeclareTasks(t, &s.Declared, apptest.Embedders...) })
	a := gw.NewAccount(t)
	model := apptest.Embedders[0].Slug("")
	one := a.Embed(t, map[string]any{"model": model, "input": "A weir."})
	for name, input := range map[string]any{
		"list": []string{"A weir."}, "object": []any{map[string]any{"content": "A weir."}},
		"parts": []any{map[string]any{"content": []any{map[string]any{"type": "text", "text": "A weir."}}}},
	} {
		if v := a.Embed(t, map[string]any{"model": model, "input": input}); !slices.Equal(v.Values(t, 0), one.Values(t, 0)) {
			t.Errorf("%s: another vector than of the bare text", name)
		}
	}
	tokens := a.Embed(t, map[string]any{"model": model, "input": []int{1, 2, 3}})
	both := a.Embed(t, map[string]any{"model": model, "input": [][]int{{4}, {1, 2, 3}}})
	if !slices.Equal(tokens.Values(t, 0), both.Values(t, 1)) || tokens.Usage.PromptTokens != 3 || both.Usage.PromptTokens != 4 {
		t.Errorf("tokens: usage %+v and %+v", tokens.Usage, both.Usage)
	}
	if short := a.Embed(t, map[string]any{"model": model, "input": "A weir.", "dimensions": 64}); len(short.Values(t, 0)) != 64 {
		t.Errorf("%d dimensions", len(short.Values(t, 0)))
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
		{"tokens elsewhere", "input", map[string]any{"model": apptest.Embedders[2].Slug(""), "input": []int{1}}, 400},
		{"dimensions that the model has not", "", map[string]any{"model": apptest.Embedders[3].Slug(""), "input": "a", "dimensions": 333}, 400},
		{"dimensions where there are none", "dimensions", map[string]any{"model": apptest.Embedders[5].Slug(""), "input": "a", "dimensions": 64}, 400},
		{"chat model", "", map[string]any{"model": "test/next", "input": "a"}, 400},
		{"unknown model", "model", map[string]any{"model": "test/nothing", "input": "a"}, 404},
	} {
		if tt.body["model"] == nil {
			tt.body["model"] = model
		}
		got := a.Do(t, http.MethodPost, "/v1/embeddings", tt.body)
		if got.Status != tt.status || tt.param != "" && !strings.Contains(string(got.Body), `"param":"`+tt.param+`"`) {
			t.Errorf("%s: status %d, want %d at %q: %s", tt.name, got.Status, tt.status, tt.param, got.Body)
		}
	}
	poor := gw.Open(t, apptest.Opening{Keys: []*apikey.Limit{nil}})[0]
	if got := poor.Do(t, http.MethodPost, "/v1/embeddings", map[string]any{"model": model, "input": "a"}); got.Status != http.StatusPaymentRequired {
		t.Errorf("without credit: status %d: %s", got.Status, got.Body)
	}
	a.WantNothingHeld(t)
	gw.WantBalanced(t)
}

// input_type is translated to each wire.
func TestEmbeddingInputType(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { apptest.DeclareTasks(t, &s.Declared, apptest.Embedders...) })
	a := gw.NewAccount(t)
	for i := range apptest.Embedders {
		w := &apptest.Embedders[i]
		model := w.Slug("")
		query := a.Embed(t, map[string]any{"model": model, "input": "A weir.", "input_type": "search_query"})
		document := a.Embed(t, map[string]any{"model": model, "input": "A weir.", "input_type": "search_document"})
		same := slices.Equal(query.Values(t, 0), document.Values(t, 0))
		if plain := w.Dialect == "openai" || w.Dialect == "gigachat" || w.Dialect == "yandex"; same != plain { // the simulator's model of yandex has no pair
			t.Errorf("%s: the vectors of a query and a document are the same: %t", w.Dialect, same)
		}
	}
}

const pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func TestModerations(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		apptest.DeclareTasks(t, &s.Declared, apptest.Moderators...)
		s.Declared.Models = append(s.Declared.Models, catalog.ModelInfo{Slug: "openai/omni-moderation-latest", Type: catalog.TypeModeration}, catalog.ModelInfo{Slug: "openai/text-moderation-latest", Type: catalog.TypeModeration})
		for _, id := range []string{"omni-moderation-latest", "text-moderation-latest"} {
			o := catalog.Offer{Provider: apptest.Moderators[0].ID(), Model: "openai/" + id, UpstreamID: id, Input: catalog.Text, Output: catalog.Text,
				Pricing: catalog.Pricing{List: "test", Base: catalog.Prices{Prompt: apptest.Price(t, "0")}}}
			if id[0] == 'o' {
				o.Input |= catalog.Image
			}
			s.Declared.Offers = append(s.Declared.Offers, o)
		}
	})
	poor := gw.Open(t, apptest.Opening{Keys: []*apikey.Limit{nil}})[0] // a free model needs no credit
	if v := poor.Moderate(t, map[string]any{"input": "I will kill you."}); len(v) != 1 || !v[0].Flagged || !v[0].Is["violence"] || v[0].Scores["violence"] < 0.5 || !slices.Equal(v[0].Types["violence"], []string{"text"}) {
		t.Errorf("verdict %+v", v)
	}
	if v := poor.Moderate(t, map[string]any{"input": ""}); len(v) != 1 || v[0].Flagged {
		t.Errorf("of nothing: %+v", v)
	}
	if v := poor.Moderate(t, map[string]any{"model": "openai/omni-moderation-latest", "input": []string{"A weir.", "blood", "A dam."}}); len(v) != 3 || v[0].Flagged || !v[1].Is["violence/graphic"] || v[2].Flagged {
		t.Errorf("verdicts %+v", v)
	}
	parts := []any{map[string]any{"type": "text", "text": "A weir."}, map[string]any{"type": "image_url", "image_url": map[string]any{"url": pixel}}}
	if v := poor.Moderate(t, map[string]any{"input": parts}); len(v) != 1 || !slices.Equal(v[0].Types["sexual"], []string{"text", "image"}) || !slices.Equal(v[0].Types["hate"], []string{"text"}) {
		t.Errorf("verdicts %+v", v)
	}
	if v := poor.Moderate(t, map[string]any{"model": "openai/text-moderation-latest", "input": "blood"}); v[0].Is["illicit"] || v[0].Scores["illicit"] != 0 || len(v[0].Types["illicit"]) != 0 || !v[0].Is["violence"] {
		t.Errorf("verdicts %+v", v)
	}
	for name, body := range map[string]map[string]any{
		"pictures for a model of texts": {"model": "text-moderation-latest", "input": parts},
		"nothing":                       {"input": []string{}},
		"no input":                      {},
		"mixed":                         {"input": []any{"a", parts[0]}},
		"part of another type":          {"input": []any{map[string]any{"type": "sound"}}},
	} {
		if got := poor.Do(t, http.MethodPost, "/v1/moderations", body); got.Status != http.StatusBadRequest {
			t.Errorf("%s: status %d: %s", name, got.Status, got.Body)
		}
	}
	rich := gw.NewAccount(t)
	if v := rich.Moderate(t, map[string]any{"model": apptest.Moderators[1].Slug(""), "input": []string{"kill myself", "shoplift"}}); !v[0].Is["self-harm"] || !v[1].Is["illicit"] || !v[1].Flagged || len(v[1].Is) == 13 {
		t.Errorf("verdicts %+v", v)
	}
	rich.WantSpent(t, true)
	poor.WantSpent(t, false)
	gw.WantBalanced(t)
}

func TestRerank(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { apptest.DeclareTasks(t, &s.Declared, apptest.Rerankers...) })
	documents := []any{"Bread is baked.", map[string]any{"text": "A weir steers a river."}, "A river runs."}
	for i := range apptest.Rerankers {
		w := &apptest.Rerankers[i]
		t.Run(w.ID(), func(t *testing.T) {
			a := gw.NewAccount(t)
			r := a.Rerank(t, map[string]any{"model": w.Slug(""), "query": "weir river", "documents": documents})
			if len(r.Results) != 3 || r.Results[0].Index != 1 || r.Results[1].Index != 2 || r.Results[0].Score <= r.Results[1].Score || r.Results[0].Document == nil || r.Results[0].Document.Text != "A weir steers a river." {
				t.Errorf("%+v", r)
			}
			if spent := apptest.Parse(t, a.Credits(t).TotalUsage); spent == 0 || spent != apptest.Parse(t, r.Usage.Cost) {
				t.Errorf("spent %s, reported %s", spent, r.Usage.Cost)
			}
			if by := w.Price == "request"; by && (r.Usage.SearchUnits != 1 || r.Usage.Cost != "0.1") || !by && apptest.Parse(t, r.Usage.Cost) != apptest.TestCost(t, r.Usage.TotalTokens, 0) {
				t.Errorf("usage %+v", r.Usage)
			}
			if r = a.Rerank(t, map[string]any{"model": w.Slug(""), "query": "weir river", "documents": documents, "top_n": 1, "return_documents": false}); len(r.Results) != 1 || r.Results[0].Document != nil {
				t.Errorf("%+v", r)
			}
			if w.Price == "request" { // 250 documents are three searches
				many := slices.Repeat([]string{"A weir."}, 250)
				if r = a.Rerank(t, map[string]any{"model": w.Slug(""), "query": "weir", "documents": many}); r.Usage.SearchUnits != 3 || r.Usage.Cost != "0.3" {
					t.Errorf("usage %+v", r.Usage)
				}
			}
			a.WantNothingHeld(t)
		})
	}
	a := gw.NewAccount(t)
	for name, body := range map[string]map[string]any{
		"no query": {"documents": documents}, "empty query": {"query": "", "documents": documents}, "no documents": {"query": "a"}, "empty list": {"query": "a", "documents": []string{}},
		"empty document": {"query": "a", "documents": []string{""}}, "document without text": {"query": "a", "documents": []any{map[string]any{"title": "a"}}}, "top_n of nothing": {"query": "a", "documents": documents, "top_n": 0},
	} {
		body["model"] = apptest.Rerankers[0].Slug("")
		if got := a.Do(t, http.MethodPost, "/v1/rerank", body); got.Status != http.StatusBadRequest {
			t.Errorf("%s: status %d: %s", name, got.Status, got.Body)
		}
	}
	gw.WantBalanced(t)
}

// A request with an idempotency key is answered once, and charged once, on every surface.
func TestNamedTasks(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		apptest.DeclareTasks(t, &s.Declared, apptest.Embedders[0], apptest.Moderators[1], apptest.Rerankers[0])
	})
	for path, body := range map[string]string{
		"/v1/embeddings":  `{"model":"` + apptest.Embedders[0].Slug("") + `","input":"A weir."}`,
		"/v1/moderations": `{"model":"` + apptest.Moderators[1].Slug("") + `","input":"A weir."}`,
		"/v1/rerank":      `{"model":"` + apptest.Rerankers[0].Slug("") + `","query":"a","documents":["b"]}`,
	} {
		a, name := gw.NewAccount(t), map[string]string{"Idempotency-Key": "once"}
		first := a.Send(t, http.MethodPost, path, []byte(body), name)
		spent := a.Credits(t).TotalUsage
		again := a.Send(t, http.MethodPost, path, []byte(body), name)
		if first.Status != http.StatusOK || string(first.Body) != string(again.Body) || again.Header.Get("Idempotent-Replayed") != "true" || spent == "0" || a.Credits(t).TotalUsage != spent {
			t.Errorf("%s: %d %s, again %d %s, spent %s", path, first.Status, first.Body, again.Status, again.Body, spent)
		}
		if other := a.Send(t, http.MethodPost, path, []byte(strings.Replace(body, "weir", "dam", 1)+" "), name); other.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s: another body: status %d", path, other.Status)
		}
	}
	gw.WantBalanced(t)
}

// Answers are passed on in memory that serves other calls afterwards: each user gets the vectors of its own text, in either form.
func TestEmbeddingsAtOnce(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { apptest.DeclareTasks(t, &s.Declared, apptest.Embedders...) })
	model := apptest.Embedders[0].Slug("")
	for i := range 6 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			a, text := gw.NewAccount(t), strings.Repeat("A weir. ", i+1)
			want := a.Embed(t, map[string]any{"model": model, "input": []string{text, "b"}})
			for j := range 15 {
				body := map[string]any{"model": model, "input": []string{text, "b"}}
				if j%3 == 0 {
					body["encoding_format"] = "base64"
				}
				if got := a.Embed(t, body); len(got.Data) != 2 || !slices.Equal(got.Values(t, 0), want.Values(t, 0)) || !slices.Equal(got.Values(t, 1), want.Values(t, 1)) {
					t.Fatalf("call %d has other vectors", j)
				}
			}
		})
	}
}
