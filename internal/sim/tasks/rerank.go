package tasks

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"weir/internal/sim/kit"
)

// ranked is a document in the order of relevance.
type ranked struct {
	index int
	text  string
	score float64
}

// reranker is a model that sorts documents.
type reranker struct {
	documents int // that one call may have
}

var cohereRerankers = map[string]*reranker{"rerank": {10_000}, "rerank-v3.5": {10_000}, "rerank-v4.0-pro": {10_000}, "rerank-english-v3.0": {10_000}, "rerank-multilingual-v3.0": {10_000}}

var voyageRerankers = map[string]*reranker{"rerank": {1000}, "rerank-2.5": {1000}, "rerank-2.5-lite": {1000}, "rerank-2": {1000}}

var jinaRerankers = map[string]*reranker{"rerank": {2048}, "jina-reranker-v2-base-multilingual": {2048}, "jina-reranker-m0": {2048}, "BAAI/bge-reranker-v2-m3": {2048}}

// reranking is a request to rerank documents.
type reranking struct {
	kit.Checker
	model     *reranker
	query     string
	documents []string
	top       int
	show      bool // the answer contains the documents
	perDoc    int  // tokens of a document that are read; 0: all
}

// rank scores a document by the share of the query's words in it; a small random part makes equal documents differ.
func (k *reranking) rank() []ranked {
	words := strings.Fields(strings.ToLower(k.query))
	out := make([]ranked, len(k.documents))
	for i, s := range k.documents {
		lower, hits := strings.ToLower(s), 0
		for _, word := range words {
			if strings.Contains(lower, strings.Trim(word, ".,?!")) {
				hits++
			}
		}
		rnd := kit.Random(kit.Fingerprint(k.query, s))
		out[i] = ranked{i, s, float64(90_000*hits/max(1, len(words))+9000+rnd.Below(1000)) / 1e5}
	}
	slices.SortStableFunc(out, func(a, b ranked) int { return cmp.Compare(b.score, a.score) })
	if k.top > 0 {
		out = out[:min(k.top, len(out))]
	}
	return out
}

// tokens are those of the documents and, for each, of the query.
func (k *reranking) tokens() int {
	n := 0
	for _, s := range k.documents {
		n += kit.CountTokens(s) + kit.CountTokens(k.query)
	}
	return n
}

// searchUnits returns what Cohere bills: one unit for 100 documents; each 500 tokens of a document count as one document.
func (k *reranking) searchUnits() int {
	n := 0
	for _, s := range k.documents {
		tokens := kit.CountTokens(s)
		if k.perDoc > 0 {
			tokens = min(tokens, k.perDoc)
		}
		n += max(1, (tokens+499)/500)
	}
	return (n + 99) / 100
}

// rerankRoute serves one of the wires.
func (s *Wires) rerankRoute(on *kit.Wire, hollow string, read func(k *reranking), write func(k *reranking) []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		s.HandleJSON(on, w, r, func(body []byte) *kit.Refusal {
			c, refused := kit.Reader(on, body)
			if refused != nil {
				return refused
			}
			k := &reranking{Checker: *c}
			read(k)
			return s.Serve(w, r, started, &k.Checker, kit.WholeReply(on, hollow, func() []byte { return write(k) }))
		})
	}
}

// fields are those that all the wires have.
func (k *reranking) fields(models map[string]*reranker, unknown func(string) *kit.Refusal, top string, more map[string]kit.Field[*reranking]) map[string]kit.Field[*reranking] {
	out := map[string]kit.Field[*reranking]{
		"model": func(k *reranking, v *kit.Node, p string) {
			if k.ExpectKind(v, kit.Text, p) {
				k.model = kit.FindModel(&k.Checker, v.Text, models, unknown)
			}
		},
		"query": func(k *reranking, v *kit.Node, p string) {
			if k.ExpectKind(v, kit.Text, p) {
				k.query = k.StripMarkers(v.Text, p)
			}
		},
		"documents": func(k *reranking, v *kit.Node, p string) {
			k.Each(v, p, func(v *kit.Node, p string) {
				if k.ExpectKind(v, kit.Text, p) {
					k.documents = append(k.documents, k.StripMarkers(v.Text, p))
				}
			})
		},
		top: func(k *reranking, v *kit.Node, p string) { k.top = int(k.Integer(v, p, 1, kit.MaxInteger)) },
	}
	for name, f := range more {
		out[name] = f
	}
	return out
}

func appendRanked(dst []byte, r *ranked) []byte {
	dst = kit.AppendInt(append(dst, `{"index":`...), r.index)
	return kit.AppendNumber(append(dst, `,"relevance_score":`...), r.score)
}

func (k *reranking) cohere() {
	kit.Members(&k.Checker, k, k.Root, "", k.fields(cohereRerankers, cohereUnknown, "top_n", map[string]kit.Field[*reranking]{
		"max_tokens_per_doc": func(k *reranking, v *kit.Node, p string) { k.perDoc = int(k.Integer(v, p, 1, kit.MaxInteger)) },
		"priority":           func(k *reranking, v *kit.Node, p string) { k.Integer(v, p, 0, 999) },
	}), "model", "query", "documents")
	switch {
	case k.Fault != nil:
		if k.Fault.Code == "unknown_parameter" {
			k.Fault.Status = 422
		}
	case len(k.documents) == 0:
		k.Refuse("documents", "", "invalid request: list of documents must not be empty")
	case len(k.documents) > k.model.documents:
		k.Refuse("documents", "", "invalid request: too many documents: at most "+kit.Itoa(k.model.documents)+" are allowed - received "+kit.Itoa(len(k.documents)))
	case k.query == "":
		k.Refuse("query", "", "invalid request: query must not be empty or be only whitespace")
	}
	if k.perDoc == 0 {
		k.perDoc = 4096
	}
}

func (k *reranking) writtenCohere() []byte {
	dst := kit.AppendText([]byte(`{"id":`), kit.AmazonID(string(kit.Canonical(nil, k.Root))))
	dst = kit.AppendArray(append(dst, `,"results":`...), k.rank(), func(dst []byte, _ int, r ranked) []byte { return append(appendRanked(dst, &r), '}') })
	dst = append(dst, `,"meta":{"api_version":{"version":"2"}`...)
	return append(kit.AppendCounts(dst, "billed_units", k.Request.Knobs.Usage, kit.UsageCount{Name: "search_units", N: k.searchUnits()}), '}', '}')
}

func (k *reranking) voyage() {
	kit.Members(&k.Checker, k, k.Root, "", k.fields(voyageRerankers, voyageUnknown, "top_k", map[string]kit.Field[*reranking]{
		"return_documents": func(k *reranking, v *kit.Node, p string) { k.show = k.ExpectKind(v, kit.Boolean, p) && v.IsTrue() },
		"truncation":       func(k *reranking, v *kit.Node, p string) { k.ExpectBool(v, p) },
	}), "query", "documents", "model")
	switch {
	case k.Fault != nil:
	case len(k.documents) == 0:
		k.Refuse("documents", "", voyageBad+"Argument 'documents' must not be an empty list")
	case len(k.documents) > k.model.documents:
		k.Refuse("documents", "", "The number of documents cannot exceed "+kit.Itoa(k.model.documents)+". You provided "+kit.Itoa(len(k.documents))+".")
	}
}

func (k *reranking) writtenVoyage() []byte {
	dst := kit.AppendArray([]byte(`{"object":"list","data":`), k.rank(), func(dst []byte, _ int, r ranked) []byte {
		dst = appendRanked(dst, &r)
		if k.show {
			dst = kit.AppendText(append(dst, `,"document":`...), r.text)
		}
		return append(dst, '}')
	})
	dst = kit.AppendText(append(dst, `,"model":`...), k.Request.Name)
	return append(kit.AppendCounts(dst, "usage", k.Request.Knobs.Usage, kit.UsageCount{Name: "total_tokens", N: k.tokens()}), '}')
}

// jinaWire is Jina's rerank, and vllmWire what vLLM made of it.
var jinaWire = kit.NewWholeWire("jina", &jinaPhrases, detailError, kit.ByScheme("Unauthorized", "Bearer "),
	"[RID: x] Input is too long.", `{"model":"m","usage":{"total_tokens":1}}`)

var vllmWire = kit.NewWholeWire("vllm", &kit.OpenAIPhrases, (*kit.Refusal).JSON, kit.ChatWire.Admit,
	"This model's maximum context length is 8192 tokens. Please reduce the length of the input.", `{"id":"x","model":"m","usage":{"total_tokens":1}}`)

var jinaPhrases = kit.Phrases{
	Item:       kit.OpenAIPhrases.Item,
	Missing:    func(param string) string { return "[RID: x] Field required: " + param },
	Unknown:    func(param string) string { return "[RID: x] Extra inputs are not permitted: " + param },
	WrongType:  func(param, got, want string) string { return "[RID: x] Input should be " + want + ": " + param },
	WrongValue: func(param, want string) string { return "[RID: x] Input should be " + want + ": " + param },
	OutOfRange: func(param, low, high string) string {
		return "[RID: x] Input should be from " + low + " to " + high + ": " + param
	},
	Readable: func(error) string { return "There was an error parsing the body" },
}

func (k *reranking) jina() {
	k.Status, k.show = 422, true
	kit.Members(&k.Checker, k, k.Root, "", k.fields(jinaRerankers, func(name string) *kit.Refusal {
		return &kit.Refusal{Status: 422, Message: "[RID: x] Model " + name + " not found"}
	}, "top_n", map[string]kit.Field[*reranking]{
		"return_documents": func(k *reranking, v *kit.Node, p string) { k.show = k.ExpectKind(v, kit.Boolean, p) && v.IsTrue() },
		"truncation":       func(k *reranking, v *kit.Node, p string) { k.ExpectBool(v, p) },
		"max_doc_length":   func(k *reranking, v *kit.Node, p string) { k.Integer(v, p, 1, kit.MaxInteger) },
	}), "model", "query", "documents")
	k.someDocuments()
}

func (k *reranking) someDocuments() {
	switch n := len(k.documents); {
	case k.Fault != nil:
	case n == 0 || n > k.model.documents:
		k.outside("documents", n)
	}
}

func (k *reranking) outside(param string, n int) {
	k.Refuse(param, "", k.Phrases.OutOfRange(param, "1", kit.Itoa(k.model.documents))+" It has "+kit.Itoa(n)+".")
}

func (k *reranking) writtenJina() []byte {
	dst := kit.AppendText([]byte(`{"model":`), k.Request.Name)
	dst = append(dst, `,"object":"list"`...)
	dst = kit.AppendCounts(dst, "usage", k.Request.Knobs.Usage, kit.UsageCount{Name: "total_tokens", N: k.tokens()})
	return append(k.appendShown(append(dst, `,"results":`...), "}"), '}')
}

func (k *reranking) appendShown(dst []byte, end string) []byte {
	return kit.AppendArray(dst, k.rank(), func(dst []byte, _ int, r ranked) []byte {
		dst = appendRanked(dst, &r)
		if k.show {
			dst = append(kit.AppendText(append(dst, `,"document":{"text":`...), r.text), end...)
		}
		return append(dst, '}')
	})
}

// vllm ignores unknown members.
func (k *reranking) vllm() {
	k.show = true
	known := k.fields(jinaRerankers, kit.UnknownModel, "top_n", nil)
	for _, name := range [...]string{"model", "query", "documents"} {
		if k.Root.Get(name) == nil {
			k.Missing(name)
		}
	}
	for i, name := range k.Root.Names {
		if check := known[name]; check != nil && k.Root.Items[i].Kind != kit.Null && k.Fault == nil {
			check(k, &k.Root.Items[i], name)
		}
	}
	if k.Fault == nil && k.model == nil {
		k.Missing("model")
	}
	k.someDocuments()
}

func (k *reranking) writtenVLLM() []byte {
	dst := kit.AppendText([]byte(`{"id":`), "rerank-"+kit.HexOf(kit.Fingerprint(string(kit.Canonical(nil, k.Root)))))
	dst = kit.AppendText(append(dst, `,"model":`...), k.Request.Name)
	n := k.tokens()
	dst = kit.AppendCounts(dst, "usage", k.Request.Knobs.Usage, kit.UsageCount{Name: "prompt_tokens", N: n}, kit.UsageCount{Name: "total_tokens", N: n})
	return append(k.appendShown(append(dst, `,"results":`...), `,"multi_modal":null}`), '}')
}
