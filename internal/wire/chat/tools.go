package chat

import (
	"math"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/wire"
)

const maxFunctionName = 64

var (
	choices     = []string{"none", "auto", "required", "any"} // Mistral's clients say "any" for required
	oldChoices  = []string{"none", "auto"}
	choiceTypes = []string{"function", "allowed_tools", "custom"}
	allowModes  = []string{"auto", "required"}
	formats     = []string{"text", "json_object", "json_schema", "grammar", "python"}
)

// functionName reads the name of a function: 1 to 64 letters, digits, underscores and dashes.
func (d *decoder) functionName() bool {
	text, ok := d.Text(math.MaxInt)
	if ok && !isFunctionName(text) {
		d.Fail(fault.Invalid, "%s must be 1 to %d letters, digits, underscores or dashes.", d.Path(), maxFunctionName)
		return false
	}
	return ok
}

func isFunctionName(name []byte) bool {
	for _, c := range name {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return len(name) > 0 && len(name) <= maxFunctionName
}

func (d *decoder) readTools() {
	if !d.Array() {
		return
	}
	d.tools = true
	n := 0
	for d.Element() {
		if n++; n > maxTools {
			d.TooMany(maxTools)
			return
		}
		d.Kind() // moves to the value
		toolAt := d.Pos()
		if !d.present() || !d.Object() {
			d.Required()
			return
		}
		at := d.Pos()
		d.tool()
		d.text(d.Pos() - at)
		wire.OfferTool(&d.req.Needs, d.req.Body[toolAt:d.Pos()])
	}
	d.needs(catalog.ParamTools, n > 0)
}

// tool reads one tool. Types other than function are passed to endpoints that support them.
func (d *decoder) tool() {
	kind, defined, function := "", false, false
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		switch string(name) {
		case "type":
			text, _ := d.Text(maxUser)
			kind = string(text)
		case "function":
			defined = d.present()
			function = defined
			d.function()
		case "custom":
			defined = d.present()
			d.custom()
		case "cache_control":
			if d.cacheControl() {
				d.req.HasRoles |= completion.HasCacheControl
			}
		default:
			d.Skip()
		}
	}
	switch {
	case kind == "" && function: // Mistral's clients leave the type out
		d.req.HasRoles |= completion.HasBareFunction
	case kind == "":
		d.FailIn(fault.Invalid, "type", "A tool needs a type.")
	case (kind == "function" || kind == "custom") && !defined:
		d.FailIn(fault.Invalid, kind, "A tool of type %s needs the member %s.", kind, kind)
	}
}

// function reads the definition of a function.
func (d *decoder) function() {
	if !d.Object() {
		return
	}
	named, parameters := false, false
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		switch string(name) {
		case "name":
			named = d.functionName()
		case "description":
			d.RawString()
		case "parameters":
			schema := d.Free(rawjson.Object)
			parameters = !rawjson.IsNull(rawjson.Find(schema, "type"))
		case "strict":
			d.Bool()
		default:
			d.Skip()
		}
	}
	if !parameters {
		d.req.HasRoles |= completion.HasBareFunction
	}
	if !named {
		d.FailIn(fault.Invalid, "name", "A function needs a name.")
	}
}

// custom reads the definition of a tool that takes free text.
func (d *decoder) custom() {
	if !d.Object() {
		return
	}
	named := false
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		switch string(name) {
		case "name":
			named = d.functionName()
		case "description":
			d.RawString()
		case "format":
			d.Free(rawjson.Object)
		default:
			d.Skip()
		}
	}
	if !named {
		d.FailIn(fault.Invalid, "name", "A custom tool needs a name.")
	}
}

func (d *decoder) toolChoice() {
	d.needs(catalog.ParamToolChoice, d.present())
	if d.Kind() != rawjson.Object {
		d.Enum(choices)
		return
	}
	d.Object()
	kind, payload := "", ""
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		switch string(name) {
		case "type":
			kind, _ = d.Enum(choiceTypes)
		case "function", "custom":
			if d.present() {
				payload = string(name)
			}
			d.namedFunction()
		case "allowed_tools":
			if d.present() {
				payload = "allowed_tools"
			}
			d.allowedTools()
		default:
			d.Skip()
		}
	}
	switch {
	case kind == "" && payload == "function": // as Hugging Face's clients write it
	case kind == "":
		d.FailIn(fault.Invalid, "type", "tool_choice needs a type.")
	case kind != payload:
		d.FailIn(fault.Invalid, kind, "A tool_choice of type %s needs the member %s.", kind, kind)
	}
}

// namedFunction reads {name}.
func (d *decoder) namedFunction() {
	if !d.Object() {
		return
	}
	named := false
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		if string(name) == "name" {
			named = d.functionName()
		} else {
			d.Skip()
		}
	}
	if !named {
		d.FailIn(fault.Invalid, "name", "A function needs a name.")
	}
}

func (d *decoder) allowedTools() {
	if !d.Object() {
		return
	}
	mode, list := false, false
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		switch string(name) {
		case "mode":
			_, mode = d.Enum(allowModes)
		case "tools":
			list = d.present()
			d.allowedList()
		default:
			d.Skip()
		}
	}
	switch {
	case !mode:
		d.FailIn(fault.Invalid, "mode", "allowed_tools needs a mode.")
	case !list:
		d.FailIn(fault.Invalid, "tools", "allowed_tools needs tools.")
	}
}

func (d *decoder) allowedList() {
	if !d.Array() {
		return
	}
	for n := 1; d.Element(); n++ {
		if n > maxTools {
			d.TooMany(maxTools)
			return
		}
		if d.Free(rawjson.Object) == nil {
			d.Required()
		}
	}
}

// readFunctions reads the older form of tools.
func (d *decoder) readFunctions() {
	if !d.Array() {
		return
	}
	n := 0
	for d.Element() {
		if n++; n > maxTools {
			d.TooMany(maxTools)
			return
		}
		if !d.present() {
			d.Required()
			return
		}
		at := d.Pos()
		d.function()
		d.text(d.Pos() - at)
	}
	d.functions = n > 0
	if d.functions {
		d.needs(catalog.ParamTools, true)
		d.req.HasRoles |= completion.HasFunctionRole
	}
}

// functionChoice reads the older form of tool_choice.
func (d *decoder) functionChoice() {
	if !d.present() {
		d.Skip()
		return
	}
	d.needs(catalog.ParamToolChoice, true)
	d.req.HasRoles |= completion.HasFunctionRole
	if d.Kind() == rawjson.Object {
		d.namedFunction()
		return
	}
	d.Enum(oldChoices)
}

// toolCalls reads the calls of an assistant message; some reports whether there is one.
func (d *decoder) toolCalls() (some bool) {
	if !d.Array() {
		return false
	}
	for d.Element() {
		if !d.present() || !d.Object() {
			d.Required()
			return false
		}
		some = true
		d.toolCall()
	}
	return some
}

func (d *decoder) toolCall() {
	id, called := []byte(nil), false
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		switch string(name) {
		case "id":
			id, _ = d.Text(math.MaxInt)
		case "type":
			d.RawString()
		case "function":
			called = d.present()
			d.calledFunction()
		case "custom":
			called = d.present()
			d.text(len(d.Free(rawjson.Object)))
		case "index": // written by our own answers, which clients send back; no upstream accepts it
			d.req.HasRoles |= completion.HasGatewayFields
			d.Skip()
		case "extra_content":
			if d.present() {
				d.req.HasRoles |= completion.HasThoughtSignature
			}
			d.Skip()
		default:
			d.Skip()
		}
	}
	switch {
	case d.Err() != nil:
	case len(id) == 0:
		d.FailIn(fault.InvalidPrompt, "id", "A tool call needs an id.")
	case !called:
		d.FailIn(fault.InvalidPrompt, "function", "A tool call needs a function.")
	default:
		d.callIDs = append(d.callIDs, id)
	}
}

// calledFunction reads {name, arguments}.
func (d *decoder) calledFunction() {
	if !d.Object() {
		return
	}
	named := false
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		switch string(name) {
		case "name":
			raw := d.RawString()
			named = len(raw) > 2
			d.text(len(raw))
		case "arguments":
			d.text(len(d.RawString()))
		case "thought_signature":
			if d.present() {
				d.req.HasRoles |= completion.HasThoughtSignature
			}
			if raw := d.RawString(); len(raw) > 2 {
				d.req.Signature = rawjson.Text(raw)
			}
		case "parsed_arguments": // added by the helpers of client libraries, which send it back
			d.req.HasRoles |= completion.HasGatewayFields
			d.Skip()
		default:
			d.Skip()
		}
	}
	if !named {
		d.FailIn(fault.InvalidPrompt, "name", "A call needs the name of the function.")
	}
}

func (d *decoder) responseFormat() {
	at := d.Pos()
	if !d.Object() {
		return
	}
	kind, schema, grammar := "", false, false
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		switch string(name) {
		case "type":
			kind, _ = d.Enum(formats)
		case "json_schema":
			schema = d.present()
			d.jsonSchema()
		case "grammar":
			grammar = d.RawString() != nil
		default:
			d.Skip()
		}
	}
	switch {
	case kind == "":
		d.FailIn(fault.Invalid, "type", "response_format needs a type.")
	case kind == "json_schema" && !schema:
		d.FailIn(fault.Invalid, "json_schema", "response_format of type json_schema needs the member json_schema.")
	case kind == "grammar" && !grammar:
		d.FailIn(fault.Invalid, "grammar", "response_format of type grammar needs the member grammar.")
	}
	d.needs(catalog.ParamResponseFormat, kind != "text") // every endpoint supports text
	d.needs(catalog.ParamStructuredOutputs, kind == "json_schema")
	d.text(d.Pos() - at)
	if d.Err() == nil && (kind == "json_object" || kind == "json_schema") {
		f := formatOf(d.req.Body[at:d.Pos()])
		d.req.Format = &f
	}
}

func (d *decoder) jsonSchema() {
	if !d.Object() {
		return
	}
	named := false
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		switch string(name) {
		case "name":
			named = d.functionName()
		case "description":
			d.RawString()
		case "schema":
			d.Free(rawjson.Object)
		case "strict":
			d.Bool()
		default:
			d.Skip()
		}
	}
	if !named {
		d.FailIn(fault.Invalid, "name", "json_schema needs a name.")
	}
}
