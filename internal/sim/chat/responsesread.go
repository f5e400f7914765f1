package chat

import (
	"slices"
	"strconv"
	"strings"

	"weir/internal/sim/kit"
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
	items             []*kit.Node // of the request itself, one for a plain text
	reasoningItems    []string    // ids of reasoning items
	calls             openCalls
	dangling          string // id of a reasoning item whose message or call has not come yet
	spaces            map[string]string
}

type responsesField = kit.Field[*responsesReader]

var (
	responsesText   responsesField = func(r *responsesReader, v *kit.Node, p string) { r.ExpectText(v, p) }
	responsesBool   responsesField = func(r *responsesReader, v *kit.Node, p string) { r.ExpectBool(v, p) }
	responsesObject responsesField = func(r *responsesReader, v *kit.Node, p string) { r.ExpectObject(v, p) }
	responsesArray  responsesField = func(r *responsesReader, v *kit.Node, p string) { r.ExpectArray(v, p) }
)

func responsesRequest(stored *responseStore, body []byte, count bool) (*responsesReader, *kit.Refusal) {
	root, err := kit.Parse(body)
	if err != nil {
		return nil, kit.Unreadable(&kit.OpenAIPhrases, err)
	}
	r := &responsesReader{chatReader: chatReader{kit.NewChecker(&kit.OpenAIPhrases)}, stored: stored, count: count, store: true, spaces: map[string]string{}}
	r.Root = root
	if root.Is(kit.Object) {
		r.model()
	}
	if r.Fault == nil && kit.Members(&r.Checker, r, root, "", responsesFields()) {
		r.input()
	}
	if r.Fault == nil {
		r.together()
	}
	return r, r.Fault
}

// includable is what a caller may ask to be included.
var includable = []string{
	"file_search_call.results", "web_search_call.results", "web_search_call.action.sources", "message.input_image.image_url", "computer_call_output.output.image_url",
	"code_interpreter_call.outputs", "reasoning.encrypted_content", "message.output_text.logprobs",
}

// responsesFields are the members that a request may have.
func responsesFields() map[string]responsesField {
	return map[string]responsesField{
		"model": nil, "input": nil,
		"instructions": func(r *responsesReader, v *kit.Node, p string) {
			if r.ExpectKind(v, kit.Text, p) {
				t := kit.Turn{Role: "system"}
				r.AddText(&t, v.Text, p)
				r.Request.Turns = append([]kit.Turn{t}, r.Request.Turns...)
			}
		},
		"stream": func(r *responsesReader, v *kit.Node, p string) {
			r.Request.Stream = r.ExpectKind(v, kit.Boolean, p) && v.IsTrue()
		},
		"stream_options": func(r *responsesReader, v *kit.Node, p string) {
			kit.Members(&r.Checker, r, v, p, map[string]responsesField{"include_obfuscation": responsesBool})
		},
		"store": func(r *responsesReader, v *kit.Node, p string) {
			r.store = r.ExpectKind(v, kit.Boolean, p) && v.IsTrue()
		},
		"background": func(r *responsesReader, v *kit.Node, p string) {
			r.background = r.ExpectKind(v, kit.Boolean, p) && v.IsTrue()
		},
		"previous_response_id": func(r *responsesReader, v *kit.Node, p string) {
			if !r.ExpectKind(v, kit.Text, p) {
				return
			}
			if !strings.HasPrefix(v.Text, "resp") {
				r.Refuse(p, "invalid_value", "Invalid '"+p+"': '"+v.Text+"'. Expected an ID that begins with 'resp'.")
			}
			if r.previous = r.stored.get(v.Text); r.previous == nil {
				r.Refuse(p, "previous_response_not_found", "Previous response with id '"+v.Text+"' not found.")
			}
		},
		"conversation": func(r *responsesReader, v *kit.Node, p string) {
			r.Refuse(p, "", "Conversation with id '"+v.Str()+v.Get("id").Str()+"' not found.")
		},
		"prompt": func(r *responsesReader, v *kit.Node, p string) {
			r.Refuse(p, "", "Prompt with id '"+v.Get("id").Str()+"' not found.")
		},
		"max_output_tokens": func(r *responsesReader, v *kit.Node, p string) {
			n, ok := v.Int()
			if ok && n < 16 {
				r.Refuse(p, "integer_below_min_value", "Invalid '"+p+"': integer below minimum value. Expected a value >= 16, but got "+string(v.Raw)+" instead.")
			}
			r.Request.MaxTokens = int(r.Integer(v, p, 16, 1<<31))
		},
		"max_tool_calls": func(r *responsesReader, v *kit.Node, p string) { r.Integer(v, p, 1, 1<<31) },
		"temperature":    func(r *responsesReader, v *kit.Node, p string) { r.Decimal(v, p, 0, 2) },
		"top_p":          func(r *responsesReader, v *kit.Node, p string) { r.Decimal(v, p, 0, 1) },
		"top_logprobs":   func(r *responsesReader, v *kit.Node, p string) { r.Request.Top = int(r.Integer(v, p, 0, 20)) },
		"tools": func(r *responsesReader, v *kit.Node, p string) {
			r.Each(v, p, func(v *kit.Node, p string) { r.tool(v, p, "") })
			r.Request.Overhead += kit.CountTokens(string(v.Raw))
		},
		"tool_choice": (*responsesReader).toolChoice,
		"parallel_tool_calls": func(r *responsesReader, v *kit.Node, p string) {
			r.Request.ParallelCalls = r.ExpectKind(v, kit.Boolean, p) && v.IsTrue()
		},
		"text":      (*responsesReader).textConfig,
		"reasoning": (*responsesReader).reasoningConfig,
		"include": func(r *responsesReader, v *kit.Node, p string) {
			r.Each(v, p, func(v *kit.Node, p string) {
				if r.ExpectKind(v, kit.Text, p) && !slices.Contains(includable, v.Text) {
					r.Refuse(p, "invalid_value", "Invalid value: '"+v.Text+"'. Supported values are: '"+strings.Join(includable, "', '")+"'.")
				}
				r.include = append(r.include, v.Text)
			})
		},
		"metadata":   func(r *responsesReader, v *kit.Node, p string) { r.metadata(v, p) },
		"truncation": func(r *responsesReader, v *kit.Node, p string) { r.OneOf(v, p, "auto", "disabled") },
		"service_tier": func(r *responsesReader, v *kit.Node, p string) {
			r.OneOf(v, p, "auto", "default", "flex", "scale", "priority")
		},
		"user":              responsesText,
		"safety_identifier": responsesText,
		"prompt_cache_key":  responsesText, "prompt_cache_retention": responsesText, "prompt_cache_options": responsesObject,
		"client_metadata": responsesObject, "context_management": nil, "moderation": responsesObject, "personality": nil,
	}
}

func (r *responsesReader) reasoningConfig(v *kit.Node, param string) {
	kit.Members(&r.Checker, r, v, param, map[string]responsesField{
		"effort": func(r *responsesReader, v *kit.Node, p string) {
			r.Request.Effort = r.OneOf(v, p, "none", "minimal", "low", "medium", "high", "xhigh", "max")
		},
		"summary": func(r *responsesReader, v *kit.Node, p string) {
			r.summary = r.OneOf(v, p, "auto", "concise", "detailed") != ""
		},
		"generate_summary": func(r *responsesReader, v *kit.Node, p string) {
			r.summary = r.OneOf(v, p, "auto", "concise", "detailed") != ""
		},
		"context": responsesText, "mode": responsesText,
	})
}

func (r *responsesReader) textConfig(v *kit.Node, param string) {
	kit.Members(&r.Checker, r, v, param, map[string]responsesField{
		"format":    (*responsesReader).format,
		"verbosity": func(r *responsesReader, v *kit.Node, p string) { r.OneOf(v, p, "low", "medium", "high") },
	})
}

func (r *responsesReader) format(v *kit.Node, param string) {
	if !r.ExpectKind(v, kit.Object, param) {
		return
	}
	kindOf := v.Get("type")
	if kindOf == nil {
		r.Missing(param + ".type")
		return
	}
	switch r.OneOf(kindOf, param+".type", "text", "json_object", "json_schema") {
	case "json_object":
		r.Request.Format = kit.AnyJSON
	case "json_schema":
		fields := map[string]responsesField{
			"type": nil, "name": func(r *responsesReader, v *kit.Node, p string) { r.name(v, p) }, "schema": responsesObject, "strict": responsesBool, "description": responsesText,
		}
		if !kit.Members(&r.Checker, r, v, param, fields, "name", "schema") {
			return
		}
		schema := v.Get("schema")
		if v.Get("strict").IsTrue() {
			r.strict(schema, param+".schema", "response_format '"+v.Get("name").Text+"'", "")
		}
		r.Request.Format, r.Request.Schema = kit.JSONSchema, schema
		r.Request.Overhead += kit.CountTokens(string(schema.Raw))
	}
}

// strict checks a schema that answers are held to: objects have no members but their own, and need them all.
func (r *responsesReader) strict(s *kit.Node, param, of, context string) {
	if !s.Is(kit.Object) {
		return
	}
	bad := func(what string) {
		r.Refuse(param, "invalid_json_schema", "Invalid schema for "+of+": In context=("+context+"), "+what)
	}
	properties := s.Get("properties")
	if s.Get("type").Str() == "object" || properties != nil {
		if more := s.Get("additionalProperties"); !more.Is(kit.Boolean) || more.IsTrue() {
			bad("'additionalProperties' is required to be supplied and to be false.")
		}
		if properties != nil {
			for i, name := range properties.Names {
				if need := s.Get("required"); !need.Is(kit.Array) || !slices.ContainsFunc(need.Items, func(n kit.Node) bool { return n.Text == name }) {
					bad("'required' is required to be supplied and to be an array including every key in properties. Missing '" + name + "'.")
				}
				r.strict(&properties.Items[i], param, of, strings.TrimPrefix(context+", 'properties', '"+name+"'", ", "))
			}
		}
	}
	r.strict(s.Get("items"), param, of, strings.TrimPrefix(context+", 'items'", ", "))
	for _, word := range [...]string{"anyOf", "$defs", "definitions"} {
		if of2 := s.Get(word); of2 != nil {
			for i := range of2.Items {
				r.strict(&of2.Items[i], param, of, strings.TrimPrefix(context+", '"+word+"'", ", "))
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

func (r *responsesReader) tool(v *kit.Node, param, space string) {
	if !r.ExpectKind(v, kit.Object, param) {
		return
	}
	kindOf := v.Get("type")
	if kindOf == nil {
		r.Missing(param + ".type")
		return
	}
	if !r.ExpectKind(kindOf, kit.Text, param+".type") {
		return
	}
	var t kit.Tool
	switch word := kindOf.Text; {
	case word == "function":
		fields := map[string]responsesField{"type": nil, "name": nil, "description": responsesText, "strict": responsesBool, "defer_loading": responsesBool, "output_schema": nil, "allowed_callers": nil,
			"parameters": responsesObject}
		t.Name = r.name(v.Get("name"), param+".name")
		if !kit.Members(&r.Checker, r, v, param, fields) {
			return
		}
		t.Schema = v.Given("parameters")
		if t.Schema != nil && t.Schema.Get("type") != nil && t.Schema.Get("type").Str() != "object" {
			r.Refuse(param+".parameters", "invalid_function_parameters", "Invalid schema for function '"+t.Name+"': schema must be a JSON Schema of 'type: \"object\"', got 'type: \""+t.Schema.Get("type").Str()+"\"'.")
		}
		if v.Get("strict").IsTrue() {
			r.strict(t.Schema, param+".parameters", "function '"+t.Name+"'", "")
		}
	case word == "custom":
		t.Name, t.Custom = r.name(v.Get("name"), param+".name"), true
		if !kit.Members(&r.Checker, r, v, param, map[string]responsesField{"type": nil, "name": nil, "description": responsesText, "format": responsesObject, "defer_loading": responsesBool}) {
			return
		}
	case word == "namespace":
		name := r.name(v.Get("name"), param+".name")
		if kit.Members(&r.Checker, r, v, param, map[string]responsesField{"type": nil, "name": nil, "description": responsesText, "tools": responsesArray}, "tools") {
			r.Each(v.Get("tools"), param+".tools", func(v *kit.Node, p string) { r.tool(v, p, name) })
		}
		return
	case !slices.Contains(hosted, word):
		r.Refuse(param, "invalid_value", "Invalid value: '"+word+"'. Supported values are: 'function', 'custom', 'namespace', '"+strings.Join(hosted, "', '")+"'.")
		return
	default:
		r.Request.Searches = r.Request.Searches || strings.HasPrefix(word, "web_search")
		r.Request.WantImage = r.Request.WantImage || word == "image_generation"
		r.Request.OfferHosted(word)
		return
	}
	r.spaces[t.Name] = space
	r.Request.Tools = append(r.Request.Tools, t)
}

func (r *responsesReader) toolChoice(v *kit.Node, param string) {
	choice := &r.Request.Choice
	if v.Is(kit.Text) {
		choice.Mode = r.OneOf(v, param, "none", "auto", "required")
		return
	}
	if !r.ExpectKind(v, kit.Object, param) {
		return
	}
	switch word := v.Get("type").Str(); {
	case word == "function" || word == "custom":
		choice.Mode, choice.Only = "required", []string{r.name(v.Get("name"), param+".name")}
	case word == "allowed_tools":
		if v.Get("mode") == nil || !v.Get("tools").Is(kit.Array) {
			r.Missing(param + ".tools")
			return
		}
		choice.Mode, choice.Only = r.OneOf(v.Get("mode"), param+".mode", "auto", "required"), []string{}
		r.Each(v.Get("tools"), param+".tools", func(v *kit.Node, p string) {
			if v.Get("name") != nil {
				choice.Only = append(choice.Only, r.name(v.Get("name"), p+".name"))
			}
		})
	case slices.Contains(hosted, word):
	default:
		r.WrongValue(param+".type", "'function', 'custom', 'allowed_tools' or a hosted tool")
	}
}

// input reads the conversation: what came before by its id, and what is new.
func (r *responsesReader) input() {
	v := r.Root.Given("input")
	if v == nil {
		if r.previous == nil {
			r.Missing("input")
		}
		return
	}
	if r.previous != nil {
		for _, raw := range slices.Concat(r.previous.before, r.previous.input, r.previous.output) {
			if n, err := kit.Parse(raw); err == nil {
				r.item(n, "input", true)
			}
		}
	}
	switch v.Kind {
	case kit.Text:
		t := kit.Turn{Role: "user"}
		r.AddText(&t, v.Text, "input")
		r.Request.Turns = append(r.Request.Turns, t)
		raw := append(append([]byte(`{"type":"message","role":"user","content":[{"type":"input_text","text":`), v.Raw...), `}]}`...)
		if n, err := kit.Parse(raw); err == nil {
			r.items = append(r.items, n)
		}
	case kit.Array:
		if len(v.Items) == 0 && r.previous == nil {
			r.Refuse("input", "empty_array", "Invalid 'input': empty array. Expected an array with at least one element.")
		}
		for i := range v.Items {
			r.items = append(r.items, &v.Items[i])
			if r.item(&v.Items[i], "input["+strconv.Itoa(i)+"]", false); r.Fault != nil {
				return
			}
		}
	default:
		r.WrongType("input", v, "a string or an array")
	}
	r.finished()
}

// finished refuses a conversation that ends before the output of a call, or after a reasoning item without its next item.
func (r *responsesReader) finished() {
	for i, done := range r.calls.answered {
		if !done {
			r.Refuse("input", "", "No tool output found for function call "+r.calls.ids[i]+".")
		}
	}
	if r.dangling != "" {
		r.Refuse("input", "", "Item '"+r.dangling+"' of type 'reasoning' was provided without its required following item.")
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
func (r *responsesReader) item(v *kit.Node, param string, known bool) {
	if !r.ExpectKind(v, kit.Object, param) {
		return
	}
	word := v.Get("type").Str()
	if v.Get("type") == nil && v.Get("role") != nil {
		word = "message"
	}
	if !slices.Contains(itemTypes, word) {
		r.Refuse(param, "invalid_value", "Invalid value: '"+word+"'. Supported values are: '"+strings.Join(itemTypes, "', '")+"'.")
		return
	}
	id := v.Given("id")
	if prefix := itemPrefixes[word]; id != nil && prefix != "" && r.ExpectKind(id, kit.Text, param+".id") && !strings.HasPrefix(id.Text, prefix) {
		r.Refuse(param+".id", "invalid_value", "Invalid '"+param+".id': '"+id.Text+"'. Expected an ID that begins with '"+prefix+"'.")
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

// follows checks that a reasoning item is followed by another item of the model.
func (r *responsesReader) follows(word string, v *kit.Node) {
	own := word == "function_call" || word == "custom_tool_call" || word == "message" && v.Get("role").Str() == "assistant" || strings.HasSuffix(word, "_call") || word == "reasoning" || word == "item_reference"
	if r.dangling != "" && !own {
		r.finished()
	}
	r.dangling = ""
}

var (
	inputParts  = []string{"input_text", "input_image", "input_file", "input_audio"}
	outputParts = []string{"output_text", "refusal"}
)

func (r *responsesReader) messageItem(v *kit.Node, param string) {
	fields := map[string]responsesField{"type": nil, "id": responsesText, "status": responsesText, "phase": responsesText, "content": nil,
		"role": func(r *responsesReader, v *kit.Node, p string) {
			r.OneOf(v, p, "assistant", "system", "developer", "user")
		}}
	if !kit.Members(&r.Checker, r, v, param, fields, "role", "content") {
		return
	}
	t := kit.Turn{Role: v.Get("role").Text}
	switch body := v.Get("content"); body.Kind {
	case kit.Text:
		r.AddText(&t, body.Text, param+".content")
	case kit.Array:
		r.Each(body, param+".content", func(v *kit.Node, p string) {
			allowed := inputParts
			if t.Role == "assistant" {
				allowed = outputParts
			}
			r.part(&t, v, p, allowed)
		})
	default:
		r.WrongType(param+".content", body, "a string or an array")
	}
	r.Request.Turns = append(r.Request.Turns, t)
}

func (r *responsesReader) part(t *kit.Turn, v *kit.Node, param string, allowed []string) {
	if !r.ExpectKind(v, kit.Object, param) {
		return
	}
	kindOf := v.Get("type")
	if kindOf == nil {
		r.Missing(param + ".type")
		return
	}
	word := kindOf.Str()
	if !slices.Contains(allowed, word) {
		r.Refuse(param, "invalid_value", "Invalid value: '"+word+"'. Supported values are: '"+strings.Join(allowed, "', '")+"'.")
		return
	}
	m := kit.Medium{}
	switch word {
	case "input_text", "output_text":
		fields := map[string]responsesField{"type": nil, "text": responsesText, "annotations": responsesArray, "logprobs": responsesArray, "prompt_cache_breakpoint": nil}
		if kit.Members(&r.Checker, r, v, param, fields, "text") {
			r.AddText(t, v.Get("text").Text, param)
		}
		return
	case "refusal":
		if kit.Members(&r.Checker, r, v, param, map[string]responsesField{"type": nil, "refusal": responsesText}, "refusal") {
			r.AddText(t, v.Get("refusal").Text, param)
		}
		return
	case "input_image":
		m.Kind = "image"
		fields := map[string]responsesField{"type": nil, "file_id": responsesText, "prompt_cache_breakpoint": nil,
			"detail": func(r *responsesReader, v *kit.Node, p string) {
				m.Low = r.OneOf(v, p, "low", "high", "auto", "original") == "low"
			},
			"image_url": func(r *responsesReader, v *kit.Node, p string) {
				if r.ExpectKind(v, kit.Text, p) && !m.FromURL(v.Text) {
					r.Refuse(p, "invalid_value", "Invalid '"+p+"'. Expected a valid URL, but got a value with an invalid format.")
				}
			}}
		kit.Members(&r.Checker, r, v, param, fields)
		if v.Given("image_url") == nil && v.Given("file_id") == nil {
			r.Missing(param + ".image_url")
		}
	case "input_file":
		m = r.fileIn(v, param)
	case "input_audio":
		if kit.Members(&r.Checker, r, v, param, map[string]responsesField{"type": nil, "input_audio": responsesObject}, "input_audio") {
			m = r.audioIn(v.Get("input_audio"), param+".input_audio")
		}
	}
	t.Media = append(t.Media, m)
}

func (r *responsesReader) fileIn(v *kit.Node, param string) kit.Medium {
	m := kit.Medium{Kind: "file"}
	kit.Members(&r.Checker, r, v, param, map[string]responsesField{
		"type": nil, "detail": responsesText, "prompt_cache_breakpoint": nil,
		"filename": func(r *responsesReader, v *kit.Node, p string) {
			r.ExpectText(v, p)
			m.Name = v.Text
		},
		"file_id": func(r *responsesReader, v *kit.Node, p string) {
			r.ExpectText(v, p)
			m.URL = v.Text
		},
		"file_url": func(r *responsesReader, v *kit.Node, p string) {
			if r.ExpectKind(v, kit.Text, p) && !m.FromURL(v.Text) {
				r.Refuse(p, "invalid_value", "Invalid '"+p+"'. Expected a valid URL.")
			}
		},
		"file_data": func(r *responsesReader, v *kit.Node, p string) {
			if r.ExpectKind(v, kit.Text, p) && !strings.HasPrefix(v.Text, "data:") || !m.FromURL(v.Text) {
				r.Refuse(p, "invalid_value", "Invalid '"+p+"'. Expected a base64-encoded data URL with an application/pdf MIME type (e.g. 'data:application/pdf;base64,...').")
			}
		},
	})
	if v.Given("file_data") == nil && v.Given("file_id") == nil && v.Given("file_url") == nil {
		r.Missing(param + ".file_data")
	}
	return m
}

func (r *responsesReader) callItem(v *kit.Node, param, word string, known bool) {
	argument := map[string]string{"function_call": "arguments", "custom_tool_call": "input"}[word]
	fields := map[string]responsesField{"type": nil, "id": responsesText, "status": responsesText, "call_id": responsesText, "name": responsesText, "namespace": responsesText, "caller": nil, argument: responsesText}
	if !kit.Members(&r.Checker, r, v, param, fields, "call_id", "name", argument) {
		return
	}
	if id := v.Get("id").Str(); id != "" && !known {
		if _, reasoning := r.stored.item(id); reasoning != "" && !slices.Contains(r.reasoningItems, reasoning) {
			r.Refuse(param, "", "Item '"+id+"' of type '"+word+"' was provided without its required 'reasoning' item: '"+reasoning+"'.")
		}
	}
	name := v.Get("name").Text
	r.Request.Turns = append(r.Request.Turns, kit.Turn{Role: "assistant", Calls: []string{name + " " + v.Get(argument).Text}})
	r.calls.ids, r.calls.names, r.calls.answered = append(r.calls.ids, v.Get("call_id").Text), append(r.calls.names, name), append(r.calls.answered, false)
}

func (r *responsesReader) outputItem(v *kit.Node, param string) {
	fields := map[string]responsesField{"type": nil, "id": responsesText, "status": responsesText, "call_id": responsesText, "output": nil, "caller": nil}
	if !kit.Members(&r.Checker, r, v, param, fields, "call_id", "output") {
		return
	}
	id := v.Get("call_id").Text
	at := slices.Index(r.calls.ids, id)
	if at < 0 {
		r.Refuse("input", "", "No tool call found for function call output with call_id "+id+".")
		return
	}
	r.calls.answered[at] = true
	t := kit.Turn{Role: "tool", Result: r.calls.names[at]}
	switch body := v.Get("output"); body.Kind {
	case kit.Text:
		r.AddText(&t, body.Text, param+".output")
	case kit.Array:
		r.Each(body, param+".output", func(v *kit.Node, p string) { r.part(&t, v, p, inputParts[:3]) })
	default:
		r.WrongType(param+".output", body, "a string or an array")
	}
	r.Request.Turns = append(r.Request.Turns, t)
}

func (r *responsesReader) reasoningItem(v *kit.Node, param string, known bool) {
	fields := map[string]responsesField{"type": nil, "id": responsesText, "status": responsesText, "summary": responsesArray, "content": responsesArray, "encrypted_content": responsesText}
	if !kit.Members(&r.Checker, r, v, param, fields, "summary") {
		return
	}
	id := v.Get("id").Str()
	r.reasoningItems = append(r.reasoningItems, id)
	r.dangling = id
	if r.dangling == "" {
		r.dangling = "rs_"
	}
	sealed := v.Given("encrypted_content")
	switch {
	case known:
	case sealed != nil:
		r.unseal(sealed.Text, id)
	case id == "":
		r.Missing(param + ".id")
	default:
		if item, _ := r.stored.item(id); item == nil {
			r.absent(param, id)
		}
	}
}

func (r *responsesReader) absent(param, id string) {
	if r.Fault == nil {
		r.Fault = &kit.Refusal{Status: 404, Kind: "invalid_request_error", Param: param, Message: "Item with id '" + id + "' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input."}
	}
}

// unseal reads encrypted reasoning.
func (r *responsesReader) unseal(sealed, id string) {
	inside, ok := kit.Reveal(responsesWire, r.Request.Model, sealed)
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
	r.Refuse("", "invalid_encrypted_content", "The encrypted content "+what+" could not be verified. Reason: "+why)
}

func (r *responsesReader) reference(v *kit.Node, param string) {
	if !kit.Members(&r.Checker, r, v, param, map[string]responsesField{"type": nil, "id": responsesText}, "id") {
		return
	}
	raw, _ := r.stored.item(v.Get("id").Text)
	n, err := kit.Parse(raw)
	if err != nil {
		r.absent(param, v.Get("id").Text)
		return
	}
	r.item(n, param, true)
}

// together checks rules that involve more than one member.
func (r *responsesReader) together() {
	a := r.Request
	r.offered()
	r.logprobs = slices.Contains(r.include, "message.output_text.logprobs")
	if r.background && !r.store {
		r.Refuse("background", "", "Background mode requires `store` to be true.")
	}
	if a.Format == kit.AnyJSON && !r.mentionsJSON() {
		r.Refuse("input", "", "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.")
	}
	if err := a.Knobs.Check(); err != nil {
		r.Refuse("input", "invalid_value", err.Error()+".")
	}
	if tokens, _ := a.PromptTokens(); tokens > a.Model.ContextTokens {
		r.Refuse("input", "context_length_exceeded", "Your input exceeds the context window of this model. Please adjust your input and try again.")
	}
}
