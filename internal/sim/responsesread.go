package sim

import (
	"slices"
	"strconv"
	"strings"
)

// responsesReader reads a request.
type responsesReader struct {
	chatReader
	stored *responseStore
	count  bool

	store, background bool
	include           []string
	summary           bool
	logprobs          bool
	previous          *response
	items             []*node  // of the request itself, one for a plain text
	thoughts          []string // ids of reasoning items
	calls             openCalls
	dangling          string // id of a reasoning item that waits for what it led to
	spaces            map[string]string
}

type responsesField = field[*responsesReader]

var (
	responsesText   responsesField = func(r *responsesReader, v *node, p string) { r.aText(v, p) }
	responsesBool   responsesField = func(r *responsesReader, v *node, p string) { r.aBool(v, p) }
	responsesObject responsesField = func(r *responsesReader, v *node, p string) { r.anObject(v, p) }
	responsesArray  responsesField = func(r *responsesReader, v *node, p string) { r.anArray(v, p) }
	responsesFields map[string]responsesField
)

func responsesRequest(stored *responseStore, body []byte, count bool) (*responsesReader, *refusal) {
	root, err := parse(body)
	if err != nil {
		return nil, unreadable(&openAIPhrases, err)
	}
	r := &responsesReader{chatReader: chatReader{newChecker(&openAIPhrases)}, stored: stored, count: count, store: true, spaces: map[string]string{}}
	r.root = root
	if root.is(object) {
		r.model()
	}
	if r.fault == nil && members(&r.checker, r, root, "", responsesFields) {
		r.input()
	}
	if r.fault == nil {
		r.together()
	}
	return r, r.fault
}

// includable is what a caller may ask to be included.
var includable = []string{
	"file_search_call.results", "web_search_call.results", "web_search_call.action.sources", "message.input_image.image_url", "computer_call_output.output.image_url",
	"code_interpreter_call.outputs", "reasoning.encrypted_content", "message.output_text.logprobs",
}

func init() {
	responsesFields = map[string]responsesField{
		"model": nil, "input": nil,
		"instructions": func(r *responsesReader, v *node, p string) {
			if r.typed(v, text, p) {
				t := turn{role: "system"}
				r.say(&t, v.text, p)
				r.ask.turns = append([]turn{t}, r.ask.turns...)
			}
		},
		"stream": func(r *responsesReader, v *node, p string) { r.ask.stream = r.typed(v, boolean, p) && v.yes() },
		"stream_options": func(r *responsesReader, v *node, p string) {
			members(&r.checker, r, v, p, map[string]responsesField{"include_obfuscation": responsesBool})
		},
		"store":      func(r *responsesReader, v *node, p string) { r.store = r.typed(v, boolean, p) && v.yes() },
		"background": func(r *responsesReader, v *node, p string) { r.background = r.typed(v, boolean, p) && v.yes() },
		"previous_response_id": func(r *responsesReader, v *node, p string) {
			if !r.typed(v, text, p) {
				return
			}
			if !strings.HasPrefix(v.text, "resp") {
				r.refuse(p, "invalid_value", "Invalid '"+p+"': '"+v.text+"'. Expected an ID that begins with 'resp'.")
			}
			if r.previous = r.stored.get(v.text); r.previous == nil {
				r.refuse(p, "previous_response_not_found", "Previous response with id '"+v.text+"' not found.")
			}
		},
		"conversation": func(r *responsesReader, v *node, p string) {
			r.refuse(p, "", "Conversation with id '"+v.str()+v.get("id").str()+"' not found.")
		},
		"prompt": func(r *responsesReader, v *node, p string) {
			r.refuse(p, "", "Prompt with id '"+v.get("id").str()+"' not found.")
		},
		"max_output_tokens": func(r *responsesReader, v *node, p string) {
			n, ok := v.whole()
			if ok && n < 16 {
				r.refuse(p, "integer_below_min_value", "Invalid '"+p+"': integer below minimum value. Expected a value >= 16, but got "+string(v.raw)+" instead.")
			}
			r.ask.maxTokens = int(r.integer(v, p, 16, 1<<31))
		},
		"max_tool_calls": func(r *responsesReader, v *node, p string) { r.integer(v, p, 1, 1<<31) },
		"temperature":    func(r *responsesReader, v *node, p string) { r.decimal(v, p, 0, 2) },
		"top_p":          func(r *responsesReader, v *node, p string) { r.decimal(v, p, 0, 1) },
		"top_logprobs":   func(r *responsesReader, v *node, p string) { r.ask.top = int(r.integer(v, p, 0, 20)) },
		"tools": func(r *responsesReader, v *node, p string) {
			r.each(v, p, func(v *node, p string) { r.tool(v, p, "") })
			r.ask.overhead += countTokens(string(v.raw))
		},
		"tool_choice":         (*responsesReader).toolChoice,
		"parallel_tool_calls": func(r *responsesReader, v *node, p string) { r.ask.parallel = r.typed(v, boolean, p) && v.yes() },
		"text":                (*responsesReader).textConfig,
		"reasoning":           (*responsesReader).reasoningConfig,
		"include": func(r *responsesReader, v *node, p string) {
			r.each(v, p, func(v *node, p string) {
				if r.typed(v, text, p) && !slices.Contains(includable, v.text) {
					r.refuse(p, "invalid_value", "Invalid value: '"+v.text+"'. Supported values are: '"+strings.Join(includable, "', '")+"'.")
				}
				r.include = append(r.include, v.text)
			})
		},
		"metadata":   func(r *responsesReader, v *node, p string) { r.metadata(v, p) },
		"truncation": func(r *responsesReader, v *node, p string) { r.words(v, p, "auto", "disabled") },
		"service_tier": func(r *responsesReader, v *node, p string) {
			r.words(v, p, "auto", "default", "flex", "scale", "priority")
		},
		"user":              responsesText,
		"safety_identifier": responsesText,
		"prompt_cache_key":  responsesText, "prompt_cache_retention": responsesText, "prompt_cache_options": responsesObject,
		"client_metadata": responsesObject, "context_management": nil, "moderation": responsesObject, "personality": nil,
	}
}

func (r *responsesReader) reasoningConfig(v *node, param string) {
	members(&r.checker, r, v, param, map[string]responsesField{
		"effort": func(r *responsesReader, v *node, p string) {
			r.ask.effort = r.words(v, p, "none", "minimal", "low", "medium", "high", "xhigh", "max")
		},
		"summary": func(r *responsesReader, v *node, p string) {
			r.summary = r.words(v, p, "auto", "concise", "detailed") != ""
		},
		"generate_summary": func(r *responsesReader, v *node, p string) {
			r.summary = r.words(v, p, "auto", "concise", "detailed") != ""
		},
		"context": responsesText, "mode": responsesText,
	})
}

func (r *responsesReader) textConfig(v *node, param string) {
	members(&r.checker, r, v, param, map[string]responsesField{
		"format":    (*responsesReader).format,
		"verbosity": func(r *responsesReader, v *node, p string) { r.words(v, p, "low", "medium", "high") },
	})
}

func (r *responsesReader) format(v *node, param string) {
	if !r.typed(v, object, param) {
		return
	}
	kindOf := v.get("type")
	if kindOf == nil {
		r.missing(param + ".type")
		return
	}
	switch r.words(kindOf, param+".type", "text", "json_object", "json_schema") {
	case "json_object":
		r.ask.format = anyJSON
	case "json_schema":
		fields := map[string]responsesField{
			"type": nil, "name": func(r *responsesReader, v *node, p string) { r.name(v, p) }, "schema": responsesObject, "strict": responsesBool, "description": responsesText,
		}
		if !members(&r.checker, r, v, param, fields, "name", "schema") {
			return
		}
		schema := v.get("schema")
		if v.get("strict").yes() {
			r.strict(schema, param+".schema", "response_format '"+v.get("name").text+"'", "")
		}
		r.ask.format, r.ask.schema = jsonSchema, schema
		r.ask.overhead += countTokens(string(schema.raw))
	}
}

// strict checks a schema that answers are held to: objects have no members but their own, and need them all.
func (r *responsesReader) strict(s *node, param, of, context string) {
	if !s.is(object) {
		return
	}
	bad := func(what string) {
		r.refuse(param, "invalid_json_schema", "Invalid schema for "+of+": In context=("+context+"), "+what)
	}
	properties := s.get("properties")
	if s.get("type").str() == "object" || properties != nil {
		if more := s.get("additionalProperties"); !more.is(boolean) || more.yes() {
			bad("'additionalProperties' is required to be supplied and to be false.")
		}
		if properties != nil {
			for i, name := range properties.names {
				if need := s.get("required"); !need.is(array) || !slices.ContainsFunc(need.items, func(n node) bool { return n.text == name }) {
					bad("'required' is required to be supplied and to be an array including every key in properties. Missing '" + name + "'.")
				}
				r.strict(&properties.items[i], param, of, strings.TrimPrefix(context+", 'properties', '"+name+"'", ", "))
			}
		}
	}
	r.strict(s.get("items"), param, of, strings.TrimPrefix(context+", 'items'", ", "))
	for _, word := range [...]string{"anyOf", "$defs", "definitions"} {
		if of2 := s.get(word); of2 != nil {
			for i := range of2.items {
				r.strict(&of2.items[i], param, of, strings.TrimPrefix(context+", '"+word+"'", ", "))
			}
		}
	}
}

// hosted are the tools that are known by their type. The provider runs searches, code, MCP servers and the making of images; the simulator plays
// those.
var hosted = []string{
	"web_search", "web_search_preview", "web_search_2025_08_26", "web_search_preview_2025_03_11", "image_generation", "file_search", "code_interpreter", "computer_use_preview",
	"computer", "mcp", "local_shell", "shell", "apply_patch", "tool_search",
}

func (r *responsesReader) tool(v *node, param, space string) {
	if !r.typed(v, object, param) {
		return
	}
	kindOf := v.get("type")
	if kindOf == nil {
		r.missing(param + ".type")
		return
	}
	if !r.typed(kindOf, text, param+".type") {
		return
	}
	var t tool
	switch word := kindOf.text; {
	case word == "function":
		fields := map[string]responsesField{"type": nil, "name": nil, "description": responsesText, "strict": responsesBool, "defer_loading": responsesBool, "output_schema": nil, "allowed_callers": nil,
			"parameters": responsesObject}
		t.name = r.name(v.get("name"), param+".name")
		if !members(&r.checker, r, v, param, fields) {
			return
		}
		t.schema = v.given("parameters")
		if t.schema != nil && t.schema.get("type") != nil && t.schema.get("type").str() != "object" {
			r.refuse(param+".parameters", "invalid_function_parameters", "Invalid schema for function '"+t.name+"': schema must be a JSON Schema of 'type: \"object\"', got 'type: \""+t.schema.get("type").str()+"\"'.")
		}
		if v.get("strict").yes() {
			r.strict(t.schema, param+".parameters", "function '"+t.name+"'", "")
		}
	case word == "custom":
		t.name, t.custom = r.name(v.get("name"), param+".name"), true
		if !members(&r.checker, r, v, param, map[string]responsesField{"type": nil, "name": nil, "description": responsesText, "format": responsesObject, "defer_loading": responsesBool}) {
			return
		}
	case word == "namespace":
		name := r.name(v.get("name"), param+".name")
		if members(&r.checker, r, v, param, map[string]responsesField{"type": nil, "name": nil, "description": responsesText, "tools": responsesArray}, "tools") {
			r.each(v.get("tools"), param+".tools", func(v *node, p string) { r.tool(v, p, name) })
		}
		return
	case !slices.Contains(hosted, word):
		r.refuse(param, "invalid_value", "Invalid value: '"+word+"'. Supported values are: 'function', 'custom', 'namespace', '"+strings.Join(hosted, "', '")+"'.")
		return
	default:
		r.ask.searches = r.ask.searches || strings.HasPrefix(word, "web_search")
		r.ask.wantImage = r.ask.wantImage || word == "image_generation"
		r.ask.offer(word)
		return
	}
	r.spaces[t.name] = space
	r.ask.tools = append(r.ask.tools, t)
}

func (r *responsesReader) toolChoice(v *node, param string) {
	choice := &r.ask.choice
	if v.is(text) {
		choice.mode = r.words(v, param, "none", "auto", "required")
		return
	}
	if !r.typed(v, object, param) {
		return
	}
	switch word := v.get("type").str(); {
	case word == "function" || word == "custom":
		choice.mode, choice.only = "required", []string{r.name(v.get("name"), param+".name")}
	case word == "allowed_tools":
		if v.get("mode") == nil || !v.get("tools").is(array) {
			r.missing(param + ".tools")
			return
		}
		choice.mode, choice.only = r.words(v.get("mode"), param+".mode", "auto", "required"), []string{}
		r.each(v.get("tools"), param+".tools", func(v *node, p string) {
			if v.get("name") != nil {
				choice.only = append(choice.only, r.name(v.get("name"), p+".name"))
			}
		})
	case slices.Contains(hosted, word):
	default:
		r.wrongValue(param+".type", "'function', 'custom', 'allowed_tools' or a hosted tool")
	}
}

// input reads the conversation: what came before by its id, and what is new.
func (r *responsesReader) input() {
	v := r.root.given("input")
	if v == nil {
		if r.previous == nil {
			r.missing("input")
		}
		return
	}
	if r.previous != nil {
		for _, raw := range slices.Concat(r.previous.before, r.previous.input, r.previous.output) {
			if n, err := parse(raw); err == nil {
				r.item(n, "input", true)
			}
		}
	}
	switch v.kind {
	case text:
		t := turn{role: "user"}
		r.say(&t, v.text, "input")
		r.ask.turns = append(r.ask.turns, t)
		raw := append(append([]byte(`{"type":"message","role":"user","content":[{"type":"input_text","text":`), v.raw...), `}]}`...)
		if n, err := parse(raw); err == nil {
			r.items = append(r.items, n)
		}
	case array:
		if len(v.items) == 0 && r.previous == nil {
			r.refuse("input", "empty_array", "Invalid 'input': empty array. Expected an array with at least one element.")
		}
		for i := range v.items {
			r.items = append(r.items, &v.items[i])
			if r.item(&v.items[i], "input["+strconv.Itoa(i)+"]", false); r.fault != nil {
				return
			}
		}
	default:
		r.wrongType("input", v, "a string or an array")
	}
	r.finished()
}

// finished checks that the conversation ends where it may.
func (r *responsesReader) finished() {
	for i, done := range r.calls.answered {
		if !done {
			r.refuse("input", "", "No tool output found for function call "+r.calls.ids[i]+".")
		}
	}
	if r.dangling != "" {
		r.refuse("input", "", "Item '"+r.dangling+"' of type 'reasoning' was provided without its required following item.")
	}
}

// itemPrefixes is how the ids of items begin.
var itemPrefixes = map[string]string{"message": "msg", "function_call": "fc", "reasoning": "rs", "custom_tool_call": "ctc", "web_search_call": "ws", "image_generation_call": "ig",
	"file_search_call": "fs", "code_interpreter_call": "ci", "mcp_call": "mcp"}

var itemTypes = []string{
	"message", "function_call", "function_call_output", "reasoning", "item_reference", "custom_tool_call", "custom_tool_call_output", "web_search_call", "image_generation_call",
	"file_search_call", "code_interpreter_call", "computer_call", "computer_call_output", "local_shell_call", "local_shell_call_output", "shell_call", "shell_call_output",
	"apply_patch_call", "apply_patch_call_output", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "mcp_call", "compaction", "tool_search_call", "tool_search_output",
}

// item reads one item. One that the simulator stored itself is known to be right.
func (r *responsesReader) item(v *node, param string, known bool) {
	if !r.typed(v, object, param) {
		return
	}
	word := v.get("type").str()
	if v.get("type") == nil && v.get("role") != nil {
		word = "message"
	}
	if !slices.Contains(itemTypes, word) {
		r.refuse(param, "invalid_value", "Invalid value: '"+word+"'. Supported values are: '"+strings.Join(itemTypes, "', '")+"'.")
		return
	}
	id := v.given("id")
	if prefix := itemPrefixes[word]; id != nil && prefix != "" && r.typed(id, text, param+".id") && !strings.HasPrefix(id.text, prefix) {
		r.refuse(param+".id", "invalid_value", "Invalid '"+param+".id': '"+id.text+"'. Expected an ID that begins with '"+prefix+"'.")
		return
	}
	r.follows(word, v)
	switch word {
	case "message":
		r.messageItem(v, param)
	case "function_call", "custom_tool_call":
		r.callItem(v, param, word, known)
	case "function_call_output", "custom_tool_call_output":
		r.outputItem(v, param)
	case "reasoning":
		r.reasoningItem(v, param, known)
	case "item_reference":
		r.reference(v, param)
	}
}

// follows checks that reasoning is followed by what it led to.
func (r *responsesReader) follows(word string, v *node) {
	own := word == "function_call" || word == "custom_tool_call" || word == "message" && v.get("role").str() == "assistant" || strings.HasSuffix(word, "_call") || word == "reasoning" || word == "item_reference"
	if r.dangling != "" && !own {
		r.finished()
	}
	r.dangling = ""
}

var (
	inputParts  = []string{"input_text", "input_image", "input_file", "input_audio"}
	outputParts = []string{"output_text", "refusal"}
)

func (r *responsesReader) messageItem(v *node, param string) {
	fields := map[string]responsesField{"type": nil, "id": responsesText, "status": responsesText, "phase": responsesText, "content": nil,
		"role": func(r *responsesReader, v *node, p string) { r.words(v, p, "assistant", "system", "developer", "user") }}
	if !members(&r.checker, r, v, param, fields, "role", "content") {
		return
	}
	t := turn{role: v.get("role").text}
	switch body := v.get("content"); body.kind {
	case text:
		r.say(&t, body.text, param+".content")
	case array:
		r.each(body, param+".content", func(v *node, p string) {
			allowed := inputParts
			if t.role == "assistant" {
				allowed = outputParts
			}
			r.part(&t, v, p, allowed)
		})
	default:
		r.wrongType(param+".content", body, "a string or an array")
	}
	r.ask.turns = append(r.ask.turns, t)
}

func (r *responsesReader) part(t *turn, v *node, param string, allowed []string) {
	if !r.typed(v, object, param) {
		return
	}
	kindOf := v.get("type")
	if kindOf == nil {
		r.missing(param + ".type")
		return
	}
	word := kindOf.str()
	if !slices.Contains(allowed, word) {
		r.refuse(param, "invalid_value", "Invalid value: '"+word+"'. Supported values are: '"+strings.Join(allowed, "', '")+"'.")
		return
	}
	m := medium{}
	switch word {
	case "input_text", "output_text":
		fields := map[string]responsesField{"type": nil, "text": responsesText, "annotations": responsesArray, "logprobs": responsesArray, "prompt_cache_breakpoint": nil}
		if members(&r.checker, r, v, param, fields, "text") {
			r.say(t, v.get("text").text, param)
		}
		return
	case "refusal":
		if members(&r.checker, r, v, param, map[string]responsesField{"type": nil, "refusal": responsesText}, "refusal") {
			r.say(t, v.get("refusal").text, param)
		}
		return
	case "input_image":
		m.kind = "image"
		fields := map[string]responsesField{"type": nil, "file_id": responsesText, "prompt_cache_breakpoint": nil,
			"detail": func(r *responsesReader, v *node, p string) {
				m.low = r.words(v, p, "low", "high", "auto", "original") == "low"
			},
			"image_url": func(r *responsesReader, v *node, p string) {
				if r.typed(v, text, p) && !m.located(v.text) {
					r.refuse(p, "invalid_value", "Invalid '"+p+"'. Expected a valid URL, but got a value with an invalid format.")
				}
			}}
		members(&r.checker, r, v, param, fields)
		if v.given("image_url") == nil && v.given("file_id") == nil {
			r.missing(param + ".image_url")
		}
	case "input_file":
		m = r.fileIn(v, param)
	case "input_audio":
		if members(&r.checker, r, v, param, map[string]responsesField{"type": nil, "input_audio": responsesObject}, "input_audio") {
			m = r.audioIn(v.get("input_audio"), param+".input_audio")
		}
	}
	t.media = append(t.media, m)
}

func (r *responsesReader) fileIn(v *node, param string) medium {
	m := medium{kind: "file"}
	members(&r.checker, r, v, param, map[string]responsesField{
		"type": nil, "detail": responsesText, "prompt_cache_breakpoint": nil,
		"filename": func(r *responsesReader, v *node, p string) {
			r.aText(v, p)
			m.name = v.text
		},
		"file_id": func(r *responsesReader, v *node, p string) {
			r.aText(v, p)
			m.url = v.text
		},
		"file_url": func(r *responsesReader, v *node, p string) {
			if r.typed(v, text, p) && !m.located(v.text) {
				r.refuse(p, "invalid_value", "Invalid '"+p+"'. Expected a valid URL.")
			}
		},
		"file_data": func(r *responsesReader, v *node, p string) {
			if r.typed(v, text, p) && !strings.HasPrefix(v.text, "data:") || !m.located(v.text) {
				r.refuse(p, "invalid_value", "Invalid '"+p+"'. Expected a base64-encoded data URL with an application/pdf MIME type (e.g. 'data:application/pdf;base64,...').")
			}
		},
	})
	if v.given("file_data") == nil && v.given("file_id") == nil && v.given("file_url") == nil {
		r.missing(param + ".file_data")
	}
	return m
}

func (r *responsesReader) callItem(v *node, param, word string, known bool) {
	argument := map[string]string{"function_call": "arguments", "custom_tool_call": "input"}[word]
	fields := map[string]responsesField{"type": nil, "id": responsesText, "status": responsesText, "call_id": responsesText, "name": responsesText, "namespace": responsesText, "caller": nil, argument: responsesText}
	if !members(&r.checker, r, v, param, fields, "call_id", "name", argument) {
		return
	}
	if id := v.get("id").str(); id != "" && !known {
		if _, thought := r.stored.item(id); thought != "" && !slices.Contains(r.thoughts, thought) {
			r.refuse(param, "", "Item '"+id+"' of type '"+word+"' was provided without its required 'reasoning' item: '"+thought+"'.")
		}
	}
	name := v.get("name").text
	r.ask.turns = append(r.ask.turns, turn{role: "assistant", calls: []string{name + " " + v.get(argument).text}})
	r.calls.ids, r.calls.names, r.calls.answered = append(r.calls.ids, v.get("call_id").text), append(r.calls.names, name), append(r.calls.answered, false)
}

func (r *responsesReader) outputItem(v *node, param string) {
	fields := map[string]responsesField{"type": nil, "id": responsesText, "status": responsesText, "call_id": responsesText, "output": nil, "caller": nil}
	if !members(&r.checker, r, v, param, fields, "call_id", "output") {
		return
	}
	id := v.get("call_id").text
	at := slices.Index(r.calls.ids, id)
	if at < 0 {
		r.refuse("input", "", "No tool call found for function call output with call_id "+id+".")
		return
	}
	r.calls.answered[at] = true
	t := turn{role: "tool", result: r.calls.names[at]}
	switch body := v.get("output"); body.kind {
	case text:
		r.say(&t, body.text, param+".output")
	case array:
		r.each(body, param+".output", func(v *node, p string) { r.part(&t, v, p, inputParts[:3]) })
	default:
		r.wrongType(param+".output", body, "a string or an array")
	}
	r.ask.turns = append(r.ask.turns, t)
}

func (r *responsesReader) reasoningItem(v *node, param string, known bool) {
	fields := map[string]responsesField{"type": nil, "id": responsesText, "status": responsesText, "summary": responsesArray, "content": responsesArray, "encrypted_content": responsesText}
	if !members(&r.checker, r, v, param, fields, "summary") {
		return
	}
	id := v.get("id").str()
	r.thoughts = append(r.thoughts, id)
	r.dangling = id
	if r.dangling == "" {
		r.dangling = "rs_"
	}
	sealed := v.given("encrypted_content")
	switch {
	case known:
	case sealed != nil:
		r.unseal(sealed.text, id)
	case id == "":
		r.missing(param + ".id")
	default:
		if item, _ := r.stored.item(id); item == nil {
			r.absent(param, id)
		}
	}
}

func (r *responsesReader) absent(param, id string) {
	if r.fault == nil {
		r.fault = &refusal{status: 404, kind: "invalid_request_error", param: param, message: "Item with id '" + id + "' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input."}
	}
}

// unseal knows encrypted reasoning again.
func (r *responsesReader) unseal(sealed, id string) {
	inside, ok := reveal(responsesWire, r.ask.persona, sealed)
	owner, _, _ := strings.Cut(inside, "\n")
	var why string
	switch {
	case !ok:
		why = "Encrypted content could not be decrypted or parsed."
	case id != "" && owner != id:
		why = "Encrypted content item_id did not match the target item id."
	default:
		return
	}
	what := "for item " + id
	if id == "" {
		what = sealed[:min(4, len(sealed))] + "..."
	}
	r.refuse("", "invalid_encrypted_content", "The encrypted content "+what+" could not be verified. Reason: "+why)
}

func (r *responsesReader) reference(v *node, param string) {
	if !members(&r.checker, r, v, param, map[string]responsesField{"type": nil, "id": responsesText}, "id") {
		return
	}
	raw, _ := r.stored.item(v.get("id").text)
	n, err := parse(raw)
	if err != nil {
		r.absent(param, v.get("id").text)
		return
	}
	r.item(n, param, true)
}

// together checks what depends on more than one member.
func (r *responsesReader) together() {
	a := r.ask
	r.offered()
	r.logprobs = slices.Contains(r.include, "message.output_text.logprobs")
	if r.background && !r.store {
		r.refuse("background", "", "Background mode requires `store` to be true.")
	}
	if a.format == anyJSON && !r.saysJSON() {
		r.refuse("input", "", "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.")
	}
	if err := a.knobs.check(); err != nil {
		r.refuse("input", "invalid_value", err.Error()+".")
	}
	if tokens, _ := a.promptTokens(); tokens > a.persona.ContextTokens {
		r.refuse("input", "context_length_exceeded", "Your input exceeds the context window of this model. Please adjust your input and try again.")
	}
}
