package openai

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/rawjson"
)

// encoder writes one request body from the client's. Members that it does not know travel byte for byte.
type encoder struct {
	ep  *catalog.Endpoint
	q   *catalog.Quirks
	req *completion.Request
	out []byte

	hasModel, hasCap, hasOptions, hasTools bool
}

func (e *encoder) encode() ([]byte, error) {
	req := e.req
	e.out = make([]byte, 0, len(req.Body)+len(e.ep.UpstreamID)+160)
	e.out = append(e.out, '{')
	for i := range req.Members {
		e.hasTools = e.hasTools || req.Members[i].Name == "tools"
	}
	for i := range req.Members {
		if err := e.member(&req.Members[i]); err != nil {
			return nil, err
		}
	}
	if !e.hasModel {
		e.name("model")
		e.out = rawjson.AppendText(e.out, e.ep.UpstreamID)
	}
	if req.Search != nil && !e.has("web_search_options") {
		e.search(req.Search)
	}
	if req.Stream && !e.hasOptions && !e.q.NoStreamOptions {
		e.name("stream_options")
		e.out = append(e.out, `{"include_usage":true}`...)
	}
	if tier := e.ep.Tier; tier != "" && tier != "default" {
		e.name("service_tier")
		e.out = rawjson.AppendText(e.out, tier)
	}
	if err := e.reasoning(); err != nil {
		return nil, err
	}
	return append(e.out, '}'), nil
}

// name begins a member, under the name that the server knows it by.
func (e *encoder) name(name string) {
	if e.q.Rename != nil {
		if other, ok := e.q.Rename[name]; ok {
			name = other
		}
	}
	if len(e.out) > 1 {
		e.out = append(e.out, ',')
	}
	e.out = rawjson.AppendText(e.out, name)
	e.out = append(e.out, ':')
}

// member writes one member of the client's body, changed or not, or leaves it out.
func (e *encoder) member(m *completion.Member) error {
	value := e.req.Body[m.Value:m.End]
	switch m.Name {
	case "model":
		e.hasModel = true
		e.name("model")
		e.out = rawjson.AppendText(e.out, e.ep.UpstreamID)
		return nil
	case "messages":
		e.messages(m, value)
		return nil
	case "stream_options":
		e.streamOptions(value)
		return nil
	case "reasoning", "reasoning_effort", "include_reasoning", // written by reasoning
		"service_tier": // an endpoint's own
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
	switch m.Name {
	case "store", "metadata":
		if e.ep.Provider.ID == "openai" || slices.Contains(e.q.ForwardExtra, m.Name) {
			e.metadata(m, value)
		}
	case "cache_control":
		if e.q.CacheControl {
			e.keep(m)
		}
	case "user", "safety_identifier":
		if text, ok := rawjson.Unquote(value); ok && len(text) > 0 && !e.dropped(m.Name) {
			e.name(m.Name)
			e.out = appendHash(e.out, e.req.Account, text)
		}
	case "max_tokens", "max_completion_tokens":
		e.maxTokens(m, value)
	case "n", "top_k", "top_logprobs", "seed":
		e.integer(m, value)
	case "tools":
		if e.lists(catalog.ParamTools) && !e.dropped(m.Name) {
			e.tools(m, value)
		}
	case "functions":
		if !e.hasTools && e.lists(catalog.ParamTools) && !e.dropped("tools") {
			e.functions(value)
		}
	case "function_call":
		if !e.has("tool_choice") && e.lists(catalog.ParamToolChoice) && !e.dropped("tool_choice") {
			e.functionCall(value)
		}
	default:
		e.keep(m)
	}
	return nil
}

// keep copies a member, unless the server does not take it.
func (e *encoder) keep(m *completion.Member) {
	if e.dropped(m.Name) || e.ep.Params != catalog.AllParams && !e.lists(catalog.ParamNamed(m.Name)) {
		return
	}
	if e.q.Rename != nil {
		if _, ok := e.q.Rename[m.Name]; ok {
			e.name(m.Name)
			e.out = append(e.out, e.req.Body[m.Value:m.End]...)
			return
		}
	}
	if len(e.out) > 1 {
		e.out = append(e.out, ',')
	}
	e.out = append(e.out, e.req.Body[m.Start:m.End]...)
}

// lists reports whether the endpoint understands the parameter; 0 is none that endpoints list.
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

// known tells the members for which null means absent. An unknown member travels on even as null.
func known(name string) bool {
	switch name {
	case "store", "metadata", "cache_control", "user", "safety_identifier", "max_tokens", "max_completion_tokens", "tools", "functions",
		"function_call", "stream", "n", "modalities", "audio", "image_config", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options":
		return true
	}
	return catalog.ParamNamed(name) != 0
}

// streamOptions keeps the client's options but for the usage, which we always need.
func (e *encoder) streamOptions(value []byte) {
	if !e.req.Stream || e.q.NoStreamOptions || e.dropped("stream_options") {
		e.hasOptions = true
		return
	}
	e.hasOptions = true
	e.name("stream_options")
	e.out = append(e.out, `{"include_usage":true`...)
	for m := rawjson.MembersOf(value); m.Next(); {
		if string(m.Name) != "include_usage" {
			e.out = append(e.out, ',')
			e.out = append(e.out, value[m.Start:m.End]...)
		}
	}
	e.out = append(e.out, '}')
}

// metadata keeps store as it is, and metadata without the names by which some servers can be redirected.
func (e *encoder) metadata(m *completion.Member, value []byte) {
	if m.Name == "store" || !bytes.Contains(value, []byte("api_")) && bytes.IndexByte(value, '\\') < 0 {
		e.keep(m)
		return
	}
	e.name(m.Name)
	e.out = append(e.out, '{')
	first := len(e.out)
	for m := rawjson.MembersOf(value); m.Next(); {
		if !strings.HasPrefix(string(m.Name), "api_") {
			e.out = appendRaw(e.out, first, value[m.Start:m.End])
		}
	}
	e.out = append(e.out, '}')
}

// appendHash writes the hash that stands for a client's user id: 64 hexadecimal digits, the most that every server takes.
func appendHash(out []byte, account string, text []byte) []byte {
	h := sha256.New()
	h.Write([]byte(account))
	h.Write([]byte{0})
	h.Write(text)
	var sum [sha256.Size]byte
	out = append(out, '"')
	out = hex.AppendEncode(out, h.Sum(sum[:0]))
	return append(out, '"')
}

// maxTokens writes the cap of the answer once, under the name that the server knows. With two of them the smaller holds.
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
			return
		}
	}
	if e.dropped(name) {
		return
	}
	e.name(name)
	if both || e.req.MaxTokens > 0 && bytes.ContainsAny(value, ".eE") {
		e.out = strconv.AppendInt(e.out, e.req.MaxTokens, 10)
		return
	}
	e.out = append(e.out, value...)
}

// integer keeps a whole number, written as one: 1.0 is as good as 1 to us, but not to every server.
func (e *encoder) integer(m *completion.Member, value []byte) {
	n, ok := rawjson.Int(value)
	if !ok || !bytes.ContainsAny(value, ".eE") {
		e.keep(m)
		return
	}
	if e.dropped(m.Name) || !e.lists(catalog.ParamNamed(m.Name)) {
		return
	}
	e.name(m.Name)
	e.out = strconv.AppendInt(e.out, n, 10)
}

func swapCap(name string) string {
	if name == "max_tokens" {
		return "max_completion_tokens"
	}
	return "max_tokens"
}

// tools keeps the tools; cache markers inside go where they are not understood, and a function without parameters gets the empty
// ones that it means, because some servers demand them.
func (e *encoder) tools(m *completion.Member, value []byte) {
	marked, bare := bytes.Contains(value, []byte(`cache_`)), e.req.HasRoles&completion.HasBareFunction != 0
	if !marked && !bare {
		e.keep(m)
		return
	}
	var c *cacheMarks
	if marked {
		c = e.cachePlan()
	}
	e.name("tools")
	e.out = append(e.out, '[')
	first := len(e.out)
	for el := rawjson.ElementsOf(value); el.Next(); {
		e.out = appendComma(e.out, first)
		tool := el.Value
		if bare {
			tool = withFunction(tool)
		}
		if marked {
			e.out = c.object(e.out, tool, &c.skipTools)
		} else {
			e.out = append(e.out, tool...)
		}
	}
	e.out = append(e.out, ']')
}

// withFunction is a tool whose function has parameters.
func withFunction(tool []byte) []byte {
	for m := rawjson.MembersOf(tool); m.Next(); {
		if string(m.Name) == "function" {
			return slices.Concat(tool[:m.At], withParameters(m.Value), tool[m.End:])
		}
	}
	return tool
}

// withParameters is a function with the parameters that it leaves out; one that has some is itself.
func withParameters(function []byte) []byte {
	if rawjson.KindOf(function) != rawjson.Object || !rawjson.IsNull(rawjson.Find(function, "parameters")) {
		return function
	}
	out := appendObject(nil, nil, function, "parameters")
	out = appendComma(out[:len(out)-1], 1)
	return append(out, `"parameters":{"type":"object","properties":{}}}`...)
}

// functions writes the deprecated functions as tools.
func (e *encoder) functions(value []byte) {
	e.name("tools")
	e.out = append(e.out, '[')
	first := len(e.out)
	for el := rawjson.ElementsOf(value); el.Next(); {
		e.out = appendComma(e.out, first)
		e.out = append(e.out, `{"type":"function","function":`...)
		e.out = append(append(e.out, withParameters(el.Value)...), '}')
	}
	e.out = append(e.out, ']')
}

// functionCall writes the deprecated function_call as tool_choice.
func (e *encoder) functionCall(value []byte) {
	e.name("tool_choice")
	if rawjson.KindOf(value) != rawjson.Object {
		e.out = append(e.out, value...)
		return
	}
	e.out = append(e.out, `{"type":"function","function":`...)
	e.out = append(append(e.out, value...), '}')
}

// appendComma separates from what was written since first.
func appendComma(out []byte, first int) []byte {
	if len(out) > first {
		return append(out, ',')
	}
	return out
}

func appendRaw(out []byte, first int, raw []byte) []byte {
	return append(appendComma(out, first), raw...)
}
