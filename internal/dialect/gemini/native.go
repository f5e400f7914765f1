package gemini

import (
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/rawjson"
)

// native reports whether a request is sent as its client wrote it: it came by this wire, and the gateway has nothing to change in it.
func native(ep *catalog.Endpoint, req *completion.Request) bool {
	return req.Style == completion.Gemini && !req.Translate && req.Revised == 0 && req.Search == nil && !req.WithoutReasoning && !req.Heal && !refusedSearch(ep, req) && takesTools(ep, req)
}

// takesTools reports whether a model takes the tools of a request together: models before Gemini 3 take either a search or functions, and the
// search is left out. A client that knows better says so in the request.
func takesTools(ep *catalog.Endpoint, req *completion.Request) bool {
	if !req.Needs.Web || req.Needs.Params&catalog.ParamTools == 0 || strings.HasPrefix(ep.MakersID(), "gemini-") && !byPrompt(ep.MakersID()) {
		return true
	}
	beside, _ := rawjson.Bool(rawjson.FindPath(req.Body, "toolConfig", "includeServerSideToolInvocations"))
	return beside
}

// refusedSearch reports whether a search that is merely offered could not be billed: it must be left out.
func refusedSearch(ep *catalog.Endpoint, req *completion.Request) bool {
	return req.Needs.Web && !ep.Pricing.Base.WebSearch.Set
}

// ownOnly are the members of this style's requests that are for the gateway: a provider does not know them, or must not obey them. Labels are
// Vertex' own.
func ownOnly(ep *catalog.Endpoint, name string) bool {
	switch name {
	case "labels":
		return !vertex(ep)
	case "model", "serviceTier", "store", "metadata":
		return true
	}
	return completion.GatewayOnly(name)
}

// passed writes the client's body without the members that are for the gateway, after the members in first. The bytes of all others stay the same,
// because signatures and cached prefixes depend on them.
// thinking replaces thinkingConfig, nil: it stays.
func passed(w *rawjson.Writer, ep *catalog.Endpoint, req *completion.Request, first string, thinking []byte) {
	w.Object()
	w.B = append(w.B, first...)
	for i := range req.Members {
		switch m := &req.Members[i]; {
		case ownOnly(ep, m.Name):
		case m.Name == "generationConfig" && (thinking != nil || req.Lowered):
			w.Name(m.Name).Object()
			config := req.Body[m.Value:m.End]
			for in := rawjson.MembersOf(config); in.Next(); {
				switch name := string(in.Name); {
				case name == "thinkingConfig" && thinking != nil:
					w.Name(name).Raw(thinking)
				case name == "maxOutputTokens" && req.Lowered:
					w.Name(name).Int(req.MaxTokens)
				default:
					w.Member(config[in.Start:in.End])
				}
			}
			w.EndObject()
		default:
			w.Member(req.Body[m.Start:m.End])
		}
	}
	w.EndObject()
}

// fitted is the client's thinkingConfig as the model takes it, nil where nothing is known to be refused: the nearest level, a budget in its range, and
// a budget instead of a level where it has none.
func fitted(ep *catalog.Endpoint, req *completion.Request, sent *dialect.Sent) []byte {
	r, f := &req.Reasoning, &ep.Facts
	leveled := len(f.Efforts) > 0
	if !r.Chosen() || !leveled && f.BudgetMost == 0 {
		return nil
	}
	var old []byte
	for i := range req.Members {
		if m := &req.Members[i]; m.Name == "generationConfig" {
			old = rawjson.Find(req.Body[m.Value:m.End], "thinkingConfig")
		}
	}
	var value int64
	var level string
	switch {
	case r.Off() && !f.CanStop():
		sent.Explain(dialect.FieldReasoning, "generationConfig.thinkingConfig", completion.NoticeStill)
		if level = f.Effort("none"); !leveled {
			value = int64(f.BudgetLeast)
		}
	case leveled && r.Effort != "":
		if level = f.Effort(r.Effort); level == r.Effort {
			return nil
		}
	case leveled: // these models take budgets, too
		return nil
	case r.Effort != "":
		value = r.BudgetFor(f, req, ep.MaxCompletion)
	default:
		if value = f.Budget(r.MaxTokens); r.MaxTokens == 0 || value == r.MaxTokens {
			return nil
		}
	}
	var w rawjson.Writer
	w.Object()
	for in := rawjson.MembersOf(old); in.Next(); {
		if kind := string(in.Name); kind != "thinkingBudget" && kind != "thinkingLevel" {
			w.Member(old[in.Start:in.End])
		}
	}
	if leveled {
		w.Name("thinkingLevel").Text(level)
	} else {
		w.Name("thinkingBudget").Int(value)
	}
	w.EndObject()
	return w.B
}

// CountRequest encodes a request that counts the tokens of a prompt, which only clients of this wire send. AI Studio counts contents alone unless
// it gets a whole request in one member.
func (d *Dialect) CountRequest(ep *catalog.Endpoint, req *completion.Request) (call dialect.Call, ok bool) {
	if !native(ep, req) {
		return call, false
	}
	call.Path = textPath(ep, &completion.Request{})
	call.Path = call.Path[:len(call.Path)-len("generateContent")] + "countTokens"
	w := dialect.Writer(len(req.Body))
	if vertex(ep) {
		passed(&w, ep, req, "", fitted(ep, req, new(dialect.Sent)))
	} else {
		w.Object()
		passed(w.Name("generateContentRequest"), ep, req, string(rawjson.AppendText([]byte(`"model":`), "models/"+ep.UpstreamID)), fitted(ep, req, new(dialect.Sent)))
		w.EndObject()
	}
	call.Body, call.More = w.Pieces()
	return call, true
}
