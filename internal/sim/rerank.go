package sim

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"
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

// reranking is what a request comes to.
type reranking struct {
	checker
	model     *reranker
	query     string
	documents []string
	top       int
	show      bool // documents are wanted back
	perDoc    int  // tokens of a document that are read; 0: all
}

// rank is by the share of the query's words that a document has; a trace of chance keeps equal ones apart.
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
		rnd := random(fingerprint(k.query, s))
		out[i] = ranked{i, s, float64(90_000*hits/max(1, len(words))+9000+rnd.below(1000)) / 1e5}
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
		n += countTokens(s) + countTokens(k.query)
	}
	return n
}

// searchUnits are what Cohere bills: one for a hundred documents, of which each 500 tokens count for one.
func (k *reranking) searchUnits() int {
	n := 0
	for _, s := range k.documents {
		tokens := countTokens(s)
		if k.perDoc > 0 {
			tokens = min(tokens, k.perDoc)
		}
		n += max(1, (tokens+499)/500)
	}
	return (n + 99) / 100
}

// rerankRoute serves one of the wires.
func (s *taskWires) rerankRoute(on *wire, hollow string, read func(k *reranking), write func(k *reranking) []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		s.take(on, w, r, func(body []byte) *refusal {
			c, refused := reader(on, body)
			if refused != nil {
				return refused
			}
			k := &reranking{checker: *c}
			read(k)
			return s.perform(w, r, started, &k.checker, whole(on, hollow, func() []byte { return write(k) }))
		})
	}
}

// fields are those that all the wires have.
func (k *reranking) fields(models map[string]*reranker, unknown func(string) *refusal, top string, more map[string]field[*reranking]) map[string]field[*reranking] {
	out := map[string]field[*reranking]{
		"model": func(k *reranking, v *node, p string) {
			if k.typed(v, text, p) {
				k.model = asked(&k.checker, v.text, models, unknown)
			}
		},
		"query": func(k *reranking, v *node, p string) {
			if k.typed(v, text, p) {
				k.query = k.plain(v.text, p)
			}
		},
		"documents": func(k *reranking, v *node, p string) {
			k.each(v, p, func(v *node, p string) {
				if k.typed(v, text, p) {
					k.documents = append(k.documents, k.plain(v.text, p))
				}
			})
		},
		top: func(k *reranking, v *node, p string) { k.top = int(k.integer(v, p, 1, anyInt)) },
	}
	for name, f := range more {
		out[name] = f
	}
	return out
}

func appendRanked(dst []byte, r *ranked) []byte {
	dst = appendInt(append(dst, `{"index":`...), r.index)
	return appendNumber(append(dst, `,"relevance_score":`...), r.score)
}

func (k *reranking) cohere() {
	members(&k.checker, k, k.root, "", k.fields(cohereRerankers, cohereUnknown, "top_n", map[string]field[*reranking]{
		"max_tokens_per_doc": func(k *reranking, v *node, p string) { k.perDoc = int(k.integer(v, p, 1, anyInt)) },
		"priority":           func(k *reranking, v *node, p string) { k.integer(v, p, 0, 999) },
	}), "model", "query", "documents")
	switch {
	case k.fault != nil:
		if k.fault.code == "unknown_parameter" {
			k.fault.status = 422
		}
	case len(k.documents) == 0:
		k.refuse("documents", "", "invalid request: list of documents must not be empty")
	case len(k.documents) > k.model.documents:
		k.refuse("documents", "", "invalid request: too many documents: at most "+itoa(k.model.documents)+" are allowed - received "+itoa(len(k.documents)))
	case k.query == "":
		k.refuse("query", "", "invalid request: query must not be empty or be only whitespace")
	}
	if k.perDoc == 0 {
		k.perDoc = 4096
	}
}

func (k *reranking) writtenCohere() []byte {
	dst := appendText([]byte(`{"id":`), amazonID(string(canonical(nil, k.root))))
	dst = listed(append(dst, `,"results":`...), k.rank(), func(dst []byte, _ int, r ranked) []byte { return append(appendRanked(dst, &r), '}') })
	dst = append(dst, `,"meta":{"api_version":{"version":"2"}`...)
	return append(appendCounts(dst, "billed_units", k.ask.knobs.usage, counted{"search_units", k.searchUnits()}), '}', '}')
}

func (k *reranking) voyage() {
	members(&k.checker, k, k.root, "", k.fields(voyageRerankers, voyageUnknown, "top_k", map[string]field[*reranking]{
		"return_documents": func(k *reranking, v *node, p string) { k.show = k.typed(v, boolean, p) && v.yes() },
		"truncation":       func(k *reranking, v *node, p string) { k.aBool(v, p) },
	}), "query", "documents", "model")
	switch {
	case k.fault != nil:
	case len(k.documents) == 0:
		k.refuse("documents", "", voyageBad+"Argument 'documents' must not be an empty list")
	case len(k.documents) > k.model.documents:
		k.refuse("documents", "", "The number of documents cannot exceed "+itoa(k.model.documents)+". You provided "+itoa(len(k.documents))+".")
	}
}

func (k *reranking) writtenVoyage() []byte {
	dst := listed([]byte(`{"object":"list","data":`), k.rank(), func(dst []byte, _ int, r ranked) []byte {
		dst = appendRanked(dst, &r)
		if k.show {
			dst = appendText(append(dst, `,"document":`...), r.text)
		}
		return append(dst, '}')
	})
	dst = appendText(append(dst, `,"model":`...), k.ask.name)
	return append(appendCounts(dst, "usage", k.ask.knobs.usage, counted{"total_tokens", k.tokens()}), '}')
}

// jinaWire is Jina's rerank, and vllmWire what vLLM made of it.
var jinaWire = wholeWire("jina", &jinaPhrases, detailError, byScheme("Unauthorized", "Bearer "),
	"[RID: x] Input is too long.", `{"model":"m","usage":{"total_tokens":1}}`)

var vllmWire = wholeWire("vllm", &openAIPhrases, (*refusal).json, chatWire.admit,
	"This model's maximum context length is 8192 tokens. Please reduce the length of the input.", `{"id":"x","model":"m","usage":{"total_tokens":1}}`)

var jinaPhrases = phrases{
	item:       openAIPhrases.item,
	missing:    func(param string) string { return "[RID: x] Field required: " + param },
	unknown:    func(param string) string { return "[RID: x] Extra inputs are not permitted: " + param },
	wrongType:  func(param, got, want string) string { return "[RID: x] Input should be " + want + ": " + param },
	wrongValue: func(param, want string) string { return "[RID: x] Input should be " + want + ": " + param },
	outOfRange: func(param, low, high string) string {
		return "[RID: x] Input should be from " + low + " to " + high + ": " + param
	},
	readable: func(error) string { return "There was an error parsing the body" },
}

func (k *reranking) jina() {
	k.status, k.show = 422, true
	members(&k.checker, k, k.root, "", k.fields(jinaRerankers, func(name string) *refusal {
		return &refusal{status: 422, message: "[RID: x] Model " + name + " not found"}
	}, "top_n", map[string]field[*reranking]{
		"return_documents": func(k *reranking, v *node, p string) { k.show = k.typed(v, boolean, p) && v.yes() },
		"truncation":       func(k *reranking, v *node, p string) { k.aBool(v, p) },
		"max_doc_length":   func(k *reranking, v *node, p string) { k.integer(v, p, 1, anyInt) },
	}), "model", "query", "documents")
	k.someDocuments()
}

func (k *reranking) someDocuments() {
	switch n := len(k.documents); {
	case k.fault != nil:
	case n == 0 || n > k.model.documents:
		k.outside("documents", n)
	}
}

func (k *reranking) outside(param string, n int) {
	k.refuse(param, "", k.phrases.outOfRange(param, "1", itoa(k.model.documents))+" It has "+itoa(n)+".")
}

func (k *reranking) writtenJina() []byte {
	dst := appendText([]byte(`{"model":`), k.ask.name)
	dst = append(dst, `,"object":"list"`...)
	dst = appendCounts(dst, "usage", k.ask.knobs.usage, counted{"total_tokens", k.tokens()})
	return append(k.appendShown(append(dst, `,"results":`...), "}"), '}')
}

func (k *reranking) appendShown(dst []byte, end string) []byte {
	return listed(dst, k.rank(), func(dst []byte, _ int, r ranked) []byte {
		dst = appendRanked(dst, &r)
		if k.show {
			dst = append(appendText(append(dst, `,"document":{"text":`...), r.text), end...)
		}
		return append(dst, '}')
	})
}

// vllm ignores members that it does not know.
func (k *reranking) vllm() {
	k.show = true
	known := k.fields(jinaRerankers, unknownModel, "top_n", nil)
	for _, name := range [...]string{"model", "query", "documents"} {
		if k.root.get(name) == nil {
			k.missing(name)
		}
	}
	for i, name := range k.root.names {
		if check := known[name]; check != nil && k.root.items[i].kind != null && k.fault == nil {
			check(k, &k.root.items[i], name)
		}
	}
	if k.fault == nil && k.model == nil {
		k.missing("model")
	}
	k.someDocuments()
}

func (k *reranking) writtenVLLM() []byte {
	dst := appendText([]byte(`{"id":`), "rerank-"+hexOf(fingerprint(string(canonical(nil, k.root)))))
	dst = appendText(append(dst, `,"model":`...), k.ask.name)
	n := k.tokens()
	dst = appendCounts(dst, "usage", k.ask.knobs.usage, counted{"prompt_tokens", n}, counted{"total_tokens", n})
	return append(k.appendShown(append(dst, `,"results":`...), `,"multi_modal":null}`), '}')
}
