package tasks

import (
	"net/http"
	"strings"
	"time"

	"weir/internal/sim/chat"
	"weir/internal/sim/kit"
)

var geminiEmbedders = map[string]*embedder{
	"embed":                {dims: 3072, free: true, tokens: 2048, inputs: 100},
	"gemini-embedding-001": {dims: 3072, free: true, tokens: 2048, inputs: 100},
	"text-embedding-004":   {dims: 768, free: true, tokens: 2048, inputs: 100},
}

var geminiEmbedWire = func() *kit.Wire {
	on := *chat.GeminiWire
	on.Phrases = &geminiEmbedPhrases
	on.Incomplete = []byte(`{"metadata":{}}`)
	return &on
}()

var geminiEmbedPhrases = func() kit.Phrases {
	say := chat.GeminiPhrases
	missing, outOfRange := say.Missing, say.OutOfRange
	say.Missing = func(param string) string { return embedRequest(missing(param)) }
	say.OutOfRange = func(param, low, high string) string { return embedRequest(outOfRange(param, low, high)) }
	return say
}()

func embedRequest(s string) string {
	return strings.Replace(s, "GenerateContentRequest", "EmbedContentRequest", 1)
}

var taskTypes = []string{
	"TASK_TYPE_UNSPECIFIED", "RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT", "SEMANTIC_SIMILARITY", "CLASSIFICATION", "CLUSTERING", "QUESTION_ANSWERING",
	"FACT_VERIFICATION", "CODE_RETRIEVAL_QUERY",
}

// GoogleMethod serves the methods of Gemini's embedding models; false for other methods.
func (s *Wires) GoogleMethod(w http.ResponseWriter, r *http.Request, model, method string) bool {
	if method != "embedContent" && method != "batchEmbedContents" {
		return false
	}
	s.geminiEmbed(w, r, time.Now(), model, method == "batchEmbedContents")
	return true
}

// geminiEmbed serves :embedContent and :batchEmbedContents. It reports no usage, as the models before gemini-embedding-2 do not.
func (s *Wires) geminiEmbed(w http.ResponseWriter, r *http.Request, started time.Time, model string, batch bool) {
	s.HandleJSON(geminiEmbedWire, w, r, func(body []byte) *kit.Refusal {
		c, refused := kit.Reader(geminiEmbedWire, body)
		if refused != nil {
			return refused
		}
		g := &geminiEmbeds{Checker: *c}
		g.model = kit.FindModel(&g.Checker, model, geminiEmbedders, func(name string) *kit.Refusal {
			return &kit.Refusal{Status: 404, Message: "models/" + name + " is not found for API version v1beta, or is not supported for embedContent. Call ListModels to see the list of available models and their supported methods."}
		})
		if batch {
			g.batch()
		} else {
			g.one(g.Root, "")
		}
		return s.Serve(w, r, started, &g.Checker, kit.WholeReply(geminiEmbedWire, `{}`, func() []byte {
			values := func(dst []byte, i int, v []string) []byte {
				return append(appendVector(append(dst, `{"values":`...), g.model.vector(g.sizes[i], v...)), '}')
			}
			if batch {
				return append(kit.AppendArray([]byte(`{"embeddings":`), g.texts, values), '}')
			}
			return append(values([]byte(`{"embedding":`), 0, g.texts[0]), '}')
		}))
	})
}

type geminiEmbeds struct {
	kit.Checker
	model *embedder
	texts [][]string
	sizes []int
}

func (g *geminiEmbeds) batch() {
	kit.Members(&g.Checker, g, g.Root, "", map[string]kit.Field[*geminiEmbeds]{"requests": func(g *geminiEmbeds, v *kit.Node, p string) {
		if !g.ExpectKind(v, kit.Array, p) {
			return
		}
		if len(v.Items) > 100 {
			g.Refuse(p, "", "* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch\n")
		}
		g.Each(v, p, func(v *kit.Node, p string) {
			if !g.ExpectKind(v, kit.Object, p) {
				return
			}
			if name := v.Get("model").Str(); name != "models/"+g.Request.Name && g.Fault == nil {
				g.Refuse(p, "", "* BatchEmbedContentsRequest."+p+".model: unexpected model name format, or not the model of the batch\n")
			}
			g.one(v, p)
		})
	}})
	if g.Fault == nil && len(g.texts) == 0 {
		g.Refuse("requests", "", "* BatchEmbedContentsRequest.requests: requests is not specified\n")
	}
}

// one reads a request for one vector.
func (g *geminiEmbeds) one(v *kit.Node, param string) {
	if g.Fault != nil {
		return
	}
	task, title, size := "", "", g.model.dims
	var texts []string
	kit.Members(&g.Checker, g, v, param, map[string]kit.Field[*geminiEmbeds]{
		"model":   func(g *geminiEmbeds, v *kit.Node, p string) { g.ExpectText(v, p) },
		"content": func(g *geminiEmbeds, v *kit.Node, p string) { texts = g.content(v, p) },
		"taskType": func(g *geminiEmbeds, v *kit.Node, p string) {
			if task = v.Str(); kit.OneWord(task, taskTypes) == "" {
				g.Refuse(p, "", "Invalid value at '"+chat.Snake(p)+"' (type.googleapis.com/google.ai.generativelanguage.v1beta.TaskType), \""+task+"\"")
			}
		},
		"title": func(g *geminiEmbeds, v *kit.Node, p string) {
			g.ExpectText(v, p)
			title = v.Text
		},
		"outputDimensionality": func(g *geminiEmbeds, v *kit.Node, p string) {
			size = int(g.Integer(v, p, 1, int64(g.model.dims)))
		},
	}, "content")
	if title != "" && task != "RETRIEVAL_DOCUMENT" {
		g.Refuse(kit.Under(param, "title"), "", "* EmbedContentRequest.title: title is only supported with the task type RETRIEVAL_DOCUMENT\n")
	}
	g.texts, g.sizes = append(g.texts, append([]string{task, title}, texts...)), append(g.sizes, size)
}

func (g *geminiEmbeds) content(v *kit.Node, param string) (texts []string) {
	tokens := 0
	kit.Members(&g.Checker, g, v, param, map[string]kit.Field[*geminiEmbeds]{
		"role": func(g *geminiEmbeds, v *kit.Node, p string) { g.ExpectText(v, p) },
		"parts": func(g *geminiEmbeds, v *kit.Node, p string) {
			g.Each(v, p, func(v *kit.Node, p string) {
				kit.Members(&g.Checker, g, v, p, map[string]kit.Field[*geminiEmbeds]{"text": func(g *geminiEmbeds, v *kit.Node, p string) {
					if g.ExpectKind(v, kit.Text, p) {
						plain := g.StripMarkers(v.Text, p)
						tokens += kit.CountTokens(plain)
						texts = append(texts, plain)
					}
				}})
			})
		},
	})
	if g.Fault == nil && tokens == 0 {
		g.Refuse(param, "", "* EmbedContentRequest.content: contents is not specified\n")
	}
	return texts
}
