package openai

import (
	"bytes"
	"slices"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/rawjson"
)

// encoder writes one request body from the client's. Unknown members are sent byte for byte.
type encoder struct {
	ep  *catalog.Endpoint
	q   *catalog.Quirks
	req *completion.Request
	rawjson.Writer

	sent       dialect.Sent
	translated bool           // the client wrote a request of another style: the members are not its own
	without    catalog.Params // left out, because another parameter of the request excludes them

	hasModel, hasCap, hasOptions, hasTools bool
}

func (e *encoder) encode() error {
	req := e.req
	e.Writer = dialect.Writer(len(req.Body))
	e.Object()
	for i := range req.Members {
		e.hasTools = e.hasTools || req.Members[i].Name == "tools"
	}
	if len(e.ep.Facts.Excludes) > 0 {
		e.without = e.ep.Facts.Excluded(e.asked())
	}
	for i := range req.Members {
		if err := e.member(&req.Members[i]); err != nil {
			return err
		}
	}
	if !e.hasModel {
		e.name("model").Text(e.ep.UpstreamID)
	}
	if req.Search != nil && !e.has("web_search_options") {
		e.search(req.Search)
	}
	if req.Stream && !e.hasOptions && !e.q.NoStreamOptions {
		e.name("stream_options").Literal(`{"include_usage":true}`)
	}
	if tier := e.ep.Tier; tier != "" && tier != "default" && tier != catalog.BatchTier {
		e.name("service_tier").Text(tier)
	}
	if err := e.reasoning(); err != nil {
		return err
	}
	e.EndObject()
	if !e.translated {
		e.sent.Advisor(req)
	}
	return nil
}

const noticeDescribed = "The JSON schema was put into the instructions, because the provider of this model takes none."

// described reports whether a response format goes into the instructions: the server has only a mode for JSON.
func (e *encoder) described(format []byte) bool {
	return e.ep.Facts.JSONSchema == catalog.Described && rawjson.TextAt(format, "type") == "json_schema" && e.takes("response_format")
}

// asked are the parameters that the client set: a tool choice only where it requires a call, reasoning only where it is wanted.
func (e *encoder) asked() (out catalog.Params) {
	for i := range e.req.Members {
		switch m := &e.req.Members[i]; m.Name {
		case "tool_choice", "function_call", "reasoning", "reasoning_effort":
		default:
			if !rawjson.IsNull(e.req.Body[m.Value:m.End]) {
				out |= catalog.ParamNamed(m.Name)
			}
		}
	}
	if forced(e.find("tool_choice")) || forced(e.find("function_call")) {
		out |= catalog.ParamToolChoice
	}
	if r := &e.req.Reasoning; r.Chosen() && !r.Off() {
		out |= catalog.ParamReasoning
	}
	return out
}

// forced reports whether a tool choice requires a call.
func forced(choice []byte) bool {
	if rawjson.KindOf(choice) == rawjson.Object {
		mode := rawjson.TextAt(rawjson.Find(choice, "allowed_tools"), "mode")
		return mode == "" || mode == "required"
	}
	word := rawjson.Text(choice)
	return word == "required" || word == "any"
}

// name begins a member, under the name that the server knows it by.
func (e *encoder) name(name string) *rawjson.Writer {
	if e.q.Rename != nil {
		if other, ok := e.q.Rename[name]; ok {
			name = other
		}
	}
	return e.Name(name)
}

// member writes one member of the client's body, unchanged or changed, or leaves it out.
func (e *encoder) member(m *completion.Member) error {
	value := e.req.Body[m.Value:m.End]
	switch m.Name {
	case "model":
		e.hasModel = true
		e.name("model").Text(e.ep.UpstreamID)
		return nil
	case "messages":
		e.messages(m, value)
		return nil
	case "stream_options":
		e.streamOptions(value)
		return nil
	case "reasoning", "reasoning_effort", "include_reasoning", // written by reasoning
		"service_tier": // sent as the endpoint declares it
		return nil
	}
	if completion.GatewayOnly(m.Name) {
		if slices.Contains(e.q.ForwardExtra, m.Name) {
			e.keep(m)
		}
		return nil
	}
	if string(value) == "null" && known(m.Name) {
		return nil
	}
	if e.req.Needs.Advisor && dialect.OfTools(m.Name) && dialect.WithoutAdvisors(e.find("tools")) == nil {
		return nil
	}
	if e.without != 0 && e.without&catalog.ParamNamed(m.Name) != 0 {
		e.leave(m)
		return nil
	}
	switch m.Name {
	case "response_format":
		if e.described(value) {
			e.sent.Explain(dialect.FieldFormat, m.Name, noticeDescribed)
			e.name(m.Name).Literal(`{"type":"json_object"}`)
			return nil
		}
		e.keep(m)
	case "store", "metadata":
		if e.ep.Provider.ID == "openai" || slices.Contains(e.q.ForwardExtra, m.Name) {
			e.metadata(m, value)
			return nil
		}
		e.leave(m)
	case "cache_control":
		if !e.q.CacheControl {
			e.leave(m)
			return nil
		}
		e.keep(m)
	case "user", "safety_identifier":
		if text, ok := rawjson.Unquote(value); ok && len(text) > 0 && !e.dropped(m.Name) {
			e.name(m.Name).Text(dialect.HashUser(e.req.Account, text))
		}
	case "max_tokens", "max_completion_tokens":
		e.maxTokens(m, value)
	case "n", "top_k", "top_logprobs", "seed":
		e.integer(m, value)
	case "tools":
		if !e.takes(m.Name) {
			e.leave(m)
			return nil
		}
		e.tools(m, value)
	case "tool_choice":
		if !e.takes(m.Name) {
			e.leave(m)
			return nil
		}
		e.toolChoice(m, value)
	case "functions":
		if e.hasTools || !e.takes("tools") {
			e.leave(m)
			return nil
		}
		e.functions(value)
	case "function_call":
		if e.has("tool_choice") || !e.takes("tool_choice") {
			e.leave(m)
			return nil
		}
		e.functionCall(value)
	default:
		e.keep(m)
	}
	return nil
}

// keep copies a member, unless the server does not take it.
func (e *encoder) keep(m *completion.Member) {
	if e.dropped(m.Name) || e.ep.Params != catalog.AllParams && !e.lists(catalog.ParamNamed(m.Name)) || e.shadowed(m.Name) {
		e.leave(m)
		return
	}
	if e.q.Rename != nil {
		if _, ok := e.q.Rename[m.Name]; ok {
			e.name(m.Name).Raw(e.req.Body[m.Value:m.End])
			return
		}
	}
	e.Member(e.req.Body[m.Start:m.End])
}

// shadowed reports whether another member of the body is sent under this name: clients of a server with its own words may send both.
func (e *encoder) shadowed(name string) bool {
	for general, own := range e.q.Rename {
		if own == name && general != name && !rawjson.IsNull(e.find(general)) {
			return true
		}
	}
	return name == e.q.MaxTokensField && (e.has("max_tokens") || e.has("max_completion_tokens"))
}

// leave records that a member is left out.
func (e *encoder) leave(m *completion.Member) {
	if e.translated {
		e.sent.Hasnt(dialect.ChatField(m.Name))
		return
	}
	e.sent.Member(e.req, m)
}

// takes reports whether the server gets a parameter of its own name.
func (e *encoder) takes(name string) bool {
	return e.lists(catalog.ParamNamed(name)) && !e.dropped(name)
}

// lists reports whether the endpoint supports the parameters p. 0 is for a field that endpoints do not list: it counts as supported.
func (e *encoder) lists(p catalog.Params) bool { return e.ep.Params&p == p }

func (e *encoder) dropped(name string) bool {
	return len(e.q.Drop) > 0 && slices.Contains(e.q.Drop, name)
}

func (e *encoder) has(name string) bool { return e.find(name) != nil }

// find is the value of a member of the client's body, nil when absent.
func (e *encoder) find(name string) []byte {
	for i := range e.req.Members {
		if m := &e.req.Members[i]; m.Name == name {
			return e.req.Body[m.Value:m.End]
		}
	}
	return nil
}

// known lists the members for which null means absent. An unknown member is sent even as null.
func known(name string) bool {
	switch name {
	case "store", "metadata", "cache_control", "user", "safety_identifier", "max_tokens", "max_completion_tokens", "tools", "functions",
		"function_call", "stream", "n", "modalities", "audio", "image_config", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options":
		return true
	}
	return catalog.ParamNamed(name) != 0
}

// streamOptions keeps the client's options except the usage, which the gateway always requests.
func (e *encoder) streamOptions(value []byte) {
	if !e.req.Stream || e.q.NoStreamOptions || e.dropped("stream_options") {
		e.hasOptions = true
		return
	}
	e.hasOptions = true
	e.name("stream_options").Object()
	e.Name("include_usage").Bool(true)
	for m := rawjson.MembersOf(value); m.Next(); {
		if string(m.Name) != "include_usage" {
			e.Member(value[m.Start:m.End])
		}
	}
	e.EndObject()
}

// metadata keeps store unchanged, and metadata without the names that redirect a request at some servers.
func (e *encoder) metadata(m *completion.Member, value []byte) {
	if m.Name == "store" || !bytes.Contains(value, []byte("api_")) && bytes.IndexByte(value, '\\') < 0 {
		e.keep(m)
		return
	}
	e.name(m.Name).Object()
	for m := rawjson.MembersOf(value); m.Next(); {
		if !strings.HasPrefix(string(m.Name), "api_") {
			e.Member(value[m.Start:m.End])
		}
	}
	e.EndObject()
}

// maxTokens writes the cap of the answer once, under the server's name for it. Of two caps the smaller is sent.
func (e *encoder) maxTokens(m *completion.Member, value []byte) {
	other := "max_tokens"
	if m.Name == other {
		other = "max_completion_tokens"
	}
	both := !rawjson.IsNull(e.find(other))
	if e.hasCap {
		return
	}
	e.hasCap = true
	name := m.Name
	if both {
		name = "max_completion_tokens"
	}
	if e.q.MaxTokensField != "" {
		name = e.q.MaxTokensField
	}
	if !e.lists(catalog.ParamNamed(name)) {
		if name = swapCap(name); !e.lists(catalog.ParamNamed(name)) {
			e.leave(m)
			return
		}
	}
	if e.dropped(name) {
		e.leave(m)
		return
	}
	if both || e.req.Lowered || e.req.MaxTokens > 0 && bytes.ContainsAny(value, ".eE") {
		e.name(name).Int(e.req.MaxTokens)
		return
	}
	e.name(name).Raw(value)
}

// integer keeps a whole number, written as an integer: some servers refuse 1.0.
func (e *encoder) integer(m *completion.Member, value []byte) {
	n, ok := rawjson.Int(value)
	if !ok || !bytes.ContainsAny(value, ".eE") {
		e.keep(m)
		return
	}
	if !e.takes(m.Name) {
		e.leave(m)
		return
	}
	e.name(m.Name).Int(n)
}

func swapCap(name string) string {
	if name == "max_tokens" {
		return "max_completion_tokens"
	}
	return "max_tokens"
}

// tools keeps the tools. Cache markers are removed where the server does not know them. A function without parameters, or with a
// schema without a type, gets that of an object, because servers require one.
func (e *encoder) tools(m *completion.Member, value []byte) {
	if e.req.Needs.Advisor {
		value = dialect.WithoutAdvisors(value)
	}
	marked, bare := bytes.Contains(value, []byte(`cache_`)), e.req.HasRoles&completion.HasBareFunction != 0
	if !marked && !bare && !e.req.Needs.Advisor {
		e.keep(m)
		return
	}
	var c *cacheMarks
	if marked {
		c = e.cachePlan()
	}
	e.name("tools").Array()
	for el := rawjson.ElementsOf(value); el.Next(); {
		tool := el.Value
		if bare {
			tool = withFunction(tool)
		}
		if marked {
			c.object(&e.Writer, tool, &c.skipTools)
		} else {
			e.Raw(tool)
		}
	}
	e.EndArray()
}

// withFunction returns a tool that says its type and whose function has parameters.
func withFunction(tool []byte) []byte {
	if rawjson.Find(tool, "type") == nil && rawjson.Find(tool, "function") != nil {
		at := bytes.IndexByte(tool, '{') + 1
		tool = slices.Concat(tool[:at], []byte(`"type":"function",`), tool[at:])
	}
	for m := rawjson.MembersOf(tool); m.Next(); {
		if string(m.Name) == "function" {
			return slices.Concat(tool[:m.At], withParameters(m.Value), tool[m.End:])
		}
	}
	return tool
}

// withParameters returns a function whose parameters are a schema of an object; one that has such a schema is returned unchanged.
func withParameters(function []byte) []byte {
	parameters := rawjson.Find(function, "parameters")
	if rawjson.KindOf(function) != rawjson.Object || !rawjson.IsNull(rawjson.Find(parameters, "type")) {
		return function
	}
	var w rawjson.Writer
	w.Object()
	without(&w, function, "parameters")
	w.Name("parameters").Raw(dialect.ObjectSchema(parameters))
	w.EndObject()
	return w.B
}

// functions writes the deprecated functions as tools.
func (e *encoder) functions(value []byte) {
	e.name("tools").Array()
	for el := rawjson.ElementsOf(value); el.Next(); {
		e.Object()
		e.Name("type").Text("function")
		e.Name("function").Raw(withParameters(el.Value))
		e.EndObject()
	}
	e.EndArray()
}

// toolChoice keeps the choice, in the spelling that all servers know.
func (e *encoder) toolChoice(m *completion.Member, value []byte) {
	switch {
	case string(value) == `"any"`:
		e.name(m.Name).Text("required")
	case rawjson.KindOf(value) == rawjson.Object && rawjson.Find(value, "type") == nil:
		e.functionCall(rawjson.Find(value, "function"))
	default:
		e.keep(m)
	}
}

// functionCall writes the deprecated function_call as tool_choice.
func (e *encoder) functionCall(value []byte) {
	w := e.name("tool_choice")
	if rawjson.KindOf(value) != rawjson.Object {
		w.Raw(value)
		return
	}
	w.Object()
	w.Name("type").Text("function")
	w.Name("function").Raw(value)
	w.EndObject()
}
