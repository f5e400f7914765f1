package responses

import (
	"bytes"
	"slices"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/rawjson"
	"weir/internal/wire/pack"
)

// encoder writes one request body.
type encoder struct {
	ep     *catalog.Endpoint
	req    *completion.Request
	format string // of the endpoint's own encrypted reasoning
	sent   dialect.Sent
	rawjson.Writer

	foreign bool // reasoning of another provider was left out
}

const (
	encrypted = "reasoning.encrypted_content"
	leastCap  = 16 // tokens: the smallest cap of an answer that this wire accepts
)

// splice writes the client's own body: unknown members are kept byte for byte, and those for the gateway are removed.
func (e *encoder) splice() {
	req := e.req
	e.Writer = dialect.Writer(len(req.Body) + len(req.History))
	e.Object()
	e.Name("model").Text(e.ep.UpstreamID)
	input := false
	for i := range req.Members {
		m := &req.Members[i]
		input = input || m.Name == "input"
		if v := req.Body[m.Value:m.End]; !rawjson.IsNull(v) {
			e.member(m, v)
		}
	}
	if !input && len(req.History) > 0 {
		e.input(nil)
	}
	e.close(e.find("include"), e.find("reasoning"))
	e.sent.Advisor(req)
}

// find is the value of a member of the client's body, nil when absent.
func (e *encoder) find(name string) []byte {
	for i := range e.req.Members {
		if m := &e.req.Members[i]; m.Name == name {
			return e.req.Body[m.Value:m.End]
		}
	}
	return nil
}

// close writes the members that every request has, and ends it, with what the client wrote of two of them.
func (e *encoder) close(include, reasoning []byte) {
	e.Name("store").Bool(false)
	if tier := e.ep.Tier; tier != "" && tier != "default" && tier != catalog.BatchTier {
		e.Name("service_tier").Text(tier)
	}
	e.include(include)
	e.reasoning(reasoning)
	e.EndObject()
	if e.foreign {
		e.sent.Note(completion.NoticeReasoning)
	}
}

// member writes one member of the client's body, unchanged or changed, or leaves it out.
func (e *encoder) member(m *completion.Member, v []byte) {
	switch m.Name {
	case "model", "store", "service_tier", "include", "reasoning": // written by splice and close
	case "cache_control", "image_config", "modalities", "top_k", "frequency_penalty", "presence_penalty": // members of other wires
		if slices.Contains(e.ep.Provider.Quirks.ForwardExtra, m.Name) {
			e.keep(m)
			return
		}
		e.sent.Member(e.req, m)
	case "previous_response_id", "background", "conversation", "prompt", "metadata": // the provider must store nothing
	case "input":
		e.input(v)
	case "user", "safety_identifier":
		if text, ok := rawjson.Unquote(v); ok && len(text) > 0 && !e.dropped(m.Name) {
			e.Name(m.Name).Text(dialect.HashUser(e.req.Account, text))
		}
	case "max_output_tokens":
		e.Name(m.Name).Int(max(e.req.MaxTokens, leastCap))
	default:
		if completion.GatewayOnly(m.Name) {
			if slices.Contains(e.ep.Provider.Quirks.ForwardExtra, m.Name) {
				e.keep(m)
			}
			return
		}
		if !e.takes(m.Name) {
			e.sent.Member(e.req, m)
			return
		}
		if e.req.Needs.Advisor && dialect.OfTools(m.Name) {
			e.withoutAdvisors(m)
			return
		}
		e.keep(m)
	}
}

// withoutAdvisors writes the tools without advisors, and what belongs to them where one is left.
func (e *encoder) withoutAdvisors(m *completion.Member) {
	switch kept := dialect.WithoutAdvisors(e.find("tools")); {
	case kept == nil:
	case m.Name == "tools":
		e.Name(m.Name).Raw(kept)
	default:
		e.keep(m)
	}
}

func (e *encoder) keep(m *completion.Member) {
	if e.dropped(m.Name) {
		e.sent.Member(e.req, m)
		return
	}
	e.Member(e.req.Body[m.Start:m.End])
}

func (e *encoder) dropped(name string) bool {
	return slices.Contains(e.ep.Provider.Quirks.Drop, name)
}

// input writes the earlier conversation and the input.
func (e *encoder) input(v []byte) {
	packed := bytes.Contains(v, []byte(`"reasoning"`)) || bytes.Contains(v, []byte(`"compaction"`))
	parsed := bytes.Contains(v, []byte(parsedPrefix))
	if len(e.req.History) == 0 && !packed && !parsed && !hasTextParts(v) {
		e.Name("input").Raw(v)
		return
	}
	e.Name("input").Array()
	e.items(e.req.History)
	if rawjson.KindOf(v) == rawjson.String {
		e.Object()
		e.Name("role").Text("user")
		e.Name("content").Raw(v)
		e.EndObject()
	} else {
		e.items(v)
	}
	e.EndArray()
}

func (e *encoder) items(list []byte) {
	for el := rawjson.ElementsOf(list); el.Next(); {
		switch rawjson.TextAt(el.Value, "type") {
		case "reasoning":
			e.reasoningDetail(el.Value)
			continue
		case "compaction_trigger":
			if !e.req.Compact { // of an earlier response
				continue
			}
		case "compaction":
			if _, packed := pack.Unpack(rawjson.TextAt(el.Value, "encrypted_content")); packed {
				e.reasoningDetail(el.Value)
				continue
			}
		}
		if bytes.Contains(el.Value, []byte(parsedPrefix)) || hasTextParts(el.Value) {
			e.mended(el.Value)
			continue
		}
		e.Raw(el.Value)
	}
}

// parsedPrefix begins the names of the members that the helpers of OpenAI's SDKs add to the items of an answer: parsed_arguments in calls,
// parsed in texts. Applications send these items back, and the wire's inventor refuses the members.
const parsedPrefix = `"parsed`

// hasTextParts reports whether some value in v is "text": the type that parts have on the chat wire, and that clients write here, too.
func hasTextParts(v []byte) bool {
	const word = `"text"`
	for at := bytes.Index(v, []byte(word)); at >= 0; {
		if before := bytes.TrimRight(v[:at], " \t\r\n"); len(before) > 0 && before[len(before)-1] == ':' {
			return true
		}
		next := bytes.Index(v[at+len(word):], []byte(word))
		if next < 0 {
			return false
		}
		at += len(word) + next
	}
	return false
}

// mended writes an item without what helpers of client libraries have added, and with the types of this wire for parts of text.
func (e *encoder) mended(v []byte) {
	text := "input_text"
	if rawjson.TextAt(v, "role") == "assistant" {
		text = "output_text"
	}
	e.Object()
	for m := rawjson.MembersOf(v); m.Next(); {
		switch name := string(m.Name); {
		case name == "parsed_arguments":
		case name == "content" && rawjson.KindOf(m.Value) == rawjson.Array:
			e.Name(name).Array()
			for part := rawjson.ElementsOf(m.Value); part.Next(); {
				plain := rawjson.TextAt(part.Value, "type") == "text"
				if rawjson.Find(part.Value, "parsed") == nil && !plain {
					e.Raw(part.Value)
					continue
				}
				e.Object()
				for in := rawjson.MembersOf(part.Value); in.Next(); {
					switch name := string(in.Name); {
					case name == "parsed":
					case name == "type" && plain:
						e.Name(name).Text(text)
					default:
						e.Member(part.Value[in.Start:in.End])
					}
				}
				e.EndObject()
			}
			e.EndArray()
		default:
			e.Member(v[m.Start:m.End])
		}
	}
	e.EndObject()
}

// reasoningDetail writes an item of reasoning if the endpoint can read it.
func (e *encoder) reasoningDetail(v []byte) {
	data := rawjson.TextAt(v, "encrypted_content")
	t := completion.ReasoningDetail{Kind: completion.ReasoningEncrypted, Format: completion.FormatOpenAI, Data: data}
	packed, ok := pack.Unpack(data)
	if ok {
		t = packed
	}
	// an id of OpenAI's form may be this gateway's own, for the text of another provider
	if foreignID := !strings.HasPrefix(rawjson.TextAt(v, "id"), "rs_"); data == "" && foreignID && e.format != completion.FormatOpenAI && e.format != completion.FormatAzure && !e.req.WithoutReasoning {
		if said := rawjson.ElementsOf(rawjson.Find(v, "content")); said.Next() { // DeepSeek and servers of open models read the text itself
			e.Raw(v)
			return
		}
	}
	if data == "" || e.req.WithoutReasoning || !e.own(&t) {
		e.foreign = e.foreign || t.Data != "" || t.Signature != ""
		return
	}
	if !ok {
		e.Raw(v)
		return
	}
	e.Object()
	for m := rawjson.MembersOf(v); m.Next(); {
		switch name := string(m.Name); {
		case name == "encrypted_content":
			e.Name(name).Text(t.Data)
		case name == "id" && t.ID != "":
			e.Name(name).Text(t.ID)
		default:
			e.Member(v[m.Start:m.End])
		}
	}
	e.EndObject()
}

// own reports whether the endpoint can read a reasoning detail.
func (e *encoder) own(t *completion.ReasoningDetail) bool {
	return t.Kind == completion.ReasoningEncrypted && t.Format == e.format && (t.Origin == "" || t.Origin == originOf(e.ep))
}

// include writes the client's list. For models that reason it adds the encrypted reasoning, which the next turn needs because the
// provider stores nothing.
func (e *encoder) include(list []byte) {
	reasons := e.ep.Params&catalog.ParamReasoning != 0 && (e.ep.Params != catalog.AllParams || e.req.Reasoning.Set) && !e.req.Reasoning.Off()
	if list == nil && !reasons || e.dropped("include") {
		return
	}
	e.Name("include").Array()
	for el := rawjson.ElementsOf(list); el.Next(); {
		reasons = reasons && rawjson.Text(el.Value) != encrypted
		e.Raw(el.Value)
	}
	if reasons {
		e.Text(encrypted)
	}
	e.EndArray()
}

// reasoning writes the client's object without members that only gateways have: a budget becomes the nearest effort.
func (e *encoder) reasoning(object []byte) {
	r := &e.req.Reasoning
	if !r.Set {
		return
	}
	can := e.ep.Params&(catalog.ParamReasoning|catalog.ParamReasoningEffort) != 0
	if !can || e.dropped("reasoning") {
		if e.req.Style == completion.Responses && r.Chosen() && (can || !r.Off()) {
			e.sent.Drop("reasoning")
		}
		return
	}
	e.sent.Has(dialect.FieldReasoning)
	effort, still := r.EffortFor(&e.ep.Facts, e.req.AnswerCap(e.ep.MaxCompletion))
	if still {
		e.sent.Explain(dialect.FieldReasoning, "reasoning", completion.NoticeStill)
	}
	if effort == "max" && len(e.ep.Facts.Efforts) == 0 {
		effort = "xhigh"
	}
	e.Name("reasoning").Object()
	if effort != "" {
		e.Name("effort").Text(effort)
	}
	summed := false
	for m := rawjson.MembersOf(object); m.Next(); {
		switch name := string(m.Name); name {
		case "effort", "max_tokens", "exclude", "enabled":
			continue
		case "summary", "generate_summary":
			if summed = true; r.Exclude {
				continue
			}
		}
		e.Member(object[m.Start:m.End])
	}
	if !summed && !r.Exclude {
		e.summary(effort)
	}
	e.EndObject()
}

// summary requests a summary of the reasoning: this wire shows no more of it. Clients of other styles, which show reasoning, cannot
// request one.
func (e *encoder) summary(effort string) {
	how := e.req.Reasoning.Summary
	if how == "" && e.req.Style != completion.Responses && effort != "none" && !e.dropped("reasoning.summary") {
		how = "auto"
	}
	if how != "" {
		e.Name("summary").Text(how)
	}
}
