package world_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// call is a tool call as a client receives it.
type call struct {
	ID        string
	Name      string
	Arguments string // JSON
	custom    bool   // it takes free text
}

// said is what a client of a style puts together from an answer or a stream.
type said struct {
	Text      string
	Reasoning string
	Calls     []call
	Finish    string // the last finish reason, as written
	Errors    int    // frames with an error
	Sources   []string
}

type style uint8

const (
	chatStyle style = iota
	responsesStyle
	messagesStyle
	geminiStyle
	noStyle
)

// styleOf is the style of a route.
func styleOf(path string) style {
	path, _, _ = strings.Cut(path, "?")
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return chatStyle
	case strings.HasSuffix(path, "/responses"):
		return responsesStyle
	case strings.HasSuffix(path, "/messages"):
		return messagesStyle
	case strings.HasSuffix(path, "enerateContent"):
		return geminiStyle
	}
	return noStyle
}

type object = map[string]any

func str(v any) string { s, _ := v.(string); return s }

func obj(v any) object { m, _ := v.(object); return m }

func list(v any) []any { l, _ := v.([]any); return l }

// frame is one event of a stream.
type frame struct {
	event string
	data  object
}

// frames splits an event stream strictly. "[DONE]" is left out.
func frames(body string) (out []frame, err error) {
	for _, block := range strings.Split(strings.ReplaceAll(body, "\r\n", "\n"), "\n\n") {
		var f frame
		var data []string
		for _, line := range strings.Split(block, "\n") {
			switch name, value, _ := strings.Cut(line, ":"); name {
			case "event":
				f.event = strings.TrimPrefix(value, " ")
			case "data":
				data = append(data, strings.TrimPrefix(value, " "))
			}
		}
		if len(data) == 0 || data[0] == "[DONE]" {
			continue
		}
		v, err := strictJSON([]byte(strings.Join(data, "\n")))
		if err != nil {
			return nil, fmt.Errorf("a frame is not JSON: %w: %.200s", err, data[0])
		}
		if f.data = obj(v); f.data == nil {
			return nil, fmt.Errorf("a frame is no object: %.200s", data[0])
		}
		out = append(out, f)
	}
	return out, nil
}

// hear reads an answer of a style as its official clients do, strictly.
func hear(s style, contentType, body string) (said, error) {
	streamed := strings.HasPrefix(contentType, "text/event-stream")
	var out said
	var err error
	if streamed {
		var list []frame
		if list, err = frames(body); err != nil {
			return out, err
		}
		out, err = [...]func([]frame) (said, error){chatStream, responsesStream, messagesStream, geminiStream}[s](list)
	} else {
		var v any
		if v, err = strictJSON([]byte(body)); err != nil {
			return out, err
		}
		out, err = [...]func(object) (said, error){chatWhole, responsesWhole, messagesWhole, geminiWhole}[s](obj(v))
	}
	if err != nil {
		return out, err
	}
	ids := map[string]bool{}
	for _, c := range out.Calls {
		if c.ID != "" && ids[c.ID] {
			return out, fmt.Errorf("two calls have the id %q", c.ID)
		}
		ids[c.ID] = true
		if c.Name == "" {
			return out, errors.New("a call has no name")
		}
	}
	return out, nil
}

func chatWhole(v object) (out said, err error) {
	if v["error"] != nil {
		out.Errors++
	}
	for _, c := range list(v["choices"]) {
		choice := obj(c)
		m := obj(choice["message"])
		out.Text += str(m["content"])
		out.Reasoning += str(m["reasoning"])
		for _, c := range list(m["tool_calls"]) {
			f := obj(obj(c)["function"])
			name, arguments := str(f["name"]), str(f["arguments"])
			if custom := obj(obj(c)["custom"]); custom != nil {
				name, arguments = str(custom["name"]), quoted(str(custom["input"]))
			}
			out.Calls = append(out.Calls, call{ID: str(obj(c)["id"]), Name: name, Arguments: arguments})
		}
		for _, a := range list(m["annotations"]) {
			out.Sources = append(out.Sources, str(obj(obj(a)["url_citation"])["url"]))
		}
		if f := str(choice["finish_reason"]); f != "" {
			out.Finish = f
		}
	}
	return out, nil
}

func quoted(s string) string {
	b, _ := json.Marshal(s) //nolint:errchkjson // a string
	return string(b)
}

// chatStream joins deltas as OpenAI's libraries do: by the index of the call; names, types and ids come once.
func chatStream(list_ []frame) (out said, err error) {
	var calls []*call
	for _, f := range list_ {
		if f.data["error"] != nil {
			out.Errors++
		}
		for _, c := range list(f.data["choices"]) {
			choice := obj(c)
			d := obj(choice["delta"])
			if choice["message"] != nil {
				return out, errors.New("a chunk has a message beside its delta")
			}
			out.Text += str(d["content"])
			out.Reasoning += str(d["reasoning"])
			for _, a := range list(d["annotations"]) {
				out.Sources = append(out.Sources, str(obj(obj(a)["url_citation"])["url"]))
			}
			for _, c := range list(d["tool_calls"]) {
				n, ok := obj(c)["index"].(float64)
				if !ok || int(n) > len(calls) || n < 0 {
					return out, fmt.Errorf("a fragment of call %v after %d calls", obj(c)["index"], len(calls))
				}
				if int(n) == len(calls) {
					calls = append(calls, &call{})
				}
				is := calls[int(n)]
				f := obj(obj(c)["function"])
				is.Arguments += str(f["arguments"])
				if custom := obj(obj(c)["custom"]); custom != nil {
					f, is.custom = custom, true
					is.Arguments += str(custom["input"])
				}
				for _, once := range []struct {
					to   *string
					text string
				}{{&is.Name, str(f["name"])}, {&is.ID, str(obj(c)["id"])}} {
					if once.text != "" && *once.to != "" {
						return out, fmt.Errorf("call %v has %q and %q", n, *once.to, once.text)
					}
					*once.to += once.text
				}
			}
			if f := str(choice["finish_reason"]); f != "" {
				out.Finish = f
			}
		}
	}
	for _, c := range calls {
		if c.custom {
			c.Arguments = quoted(c.Arguments)
		}
		out.Calls = append(out.Calls, *c)
	}
	return out, nil
}

func messagesWhole(v object) (out said, err error) {
	if str(v["type"]) == "error" {
		out.Errors++
	}
	for _, b := range list(v["content"]) {
		if err := messagesBlock(&out, obj(b)); err != nil {
			return out, err
		}
	}
	out.Finish = str(v["stop_reason"])
	return out, nil
}

func messagesBlock(out *said, b object) error {
	switch str(b["type"]) {
	case "text":
		out.Text += str(b["text"])
		for _, c := range list(b["citations"]) {
			out.Sources = append(out.Sources, str(obj(c)["url"]))
		}
	case "thinking":
		out.Reasoning += str(b["thinking"])
	case "tool_use":
		if obj(b["input"]) == nil {
			return fmt.Errorf("the input of a call is %v", b["input"])
		}
		out.Calls = append(out.Calls, call{ID: str(b["id"]), Name: str(b["name"]), Arguments: text(b["input"])})
	}
	return nil
}

// messagesStream joins deltas as Anthropic's libraries do: blocks are numbered as they come, and one is open at a time.
func messagesStream(list_ []frame) (out said, err error) {
	type block struct {
		value object
		json  strings.Builder
	}
	var blocks []*block
	open, started := -1, false
	for _, f := range list_ {
		if f.event != str(f.data["type"]) {
			return out, fmt.Errorf("the event %q has the type %v", f.event, f.data["type"])
		}
		n, _ := f.data["index"].(float64)
		switch f.event {
		case "error":
			out.Errors++
		case "message_start":
			if started {
				return out, errors.New("a second message_start")
			}
			started = true
		case "content_block_start":
			if open >= 0 || int(n) != len(blocks) {
				return out, fmt.Errorf("block %v starts after %d, open is %d", n, len(blocks), open)
			}
			open = int(n)
			blocks = append(blocks, &block{value: obj(f.data["content_block"])})
		case "content_block_delta":
			if open < 0 || int(n) != open {
				return out, fmt.Errorf("a delta of block %v, open is %d", n, open)
			}
			b, d := blocks[open], obj(f.data["delta"])
			switch str(d["type"]) {
			case "text_delta":
				b.value["text"] = str(b.value["text"]) + str(d["text"])
			case "thinking_delta":
				b.value["thinking"] = str(b.value["thinking"]) + str(d["thinking"])
			case "input_json_delta":
				b.json.WriteString(str(d["partial_json"]))
			case "citations_delta":
				b.value["citations"] = append(list(b.value["citations"]), d["citation"])
			}
		case "content_block_stop":
			if open < 0 || int(n) != open {
				return out, fmt.Errorf("block %v stops, open is %d", n, open)
			}
			b := blocks[open]
			if text := b.json.String(); text != "" {
				if b.value["input"], err = strictJSON([]byte(text)); err != nil {
					return out, fmt.Errorf("the input of block %d: %w: %s", open, err, text)
				}
			}
			open = -1
			if err := messagesBlock(&out, b.value); err != nil {
				return out, err
			}
		case "message_delta":
			if open >= 0 {
				return out, fmt.Errorf("the message ends with block %d open", open)
			}
			if s := str(obj(f.data["delta"])["stop_reason"]); s != "" {
				out.Finish = s
			}
		}
	}
	return out, nil
}

func responsesWhole(v object) (out said, err error) {
	if v["error"] != nil {
		out.Errors++
	}
	for _, x := range list(v["output"]) {
		responsesItem(&out, obj(x))
	}
	out.Finish = str(v["status"])
	return out, nil
}

func responsesItem(out *said, item object) {
	switch str(item["type"]) {
	case "message":
		for _, p := range list(item["content"]) {
			out.Text += str(obj(p)["text"])
			for _, a := range list(obj(p)["annotations"]) {
				out.Sources = append(out.Sources, str(obj(a)["url"]))
			}
		}
	case "reasoning":
		if content := list(item["content"]); len(content) > 0 {
			for _, p := range content {
				out.Reasoning += str(obj(p)["text"])
			}
			return
		}
		for _, p := range list(item["summary"]) {
			out.Reasoning += str(obj(p)["text"])
		}
	case "function_call":
		out.Calls = append(out.Calls, call{ID: str(item["call_id"]), Name: str(item["name"]), Arguments: str(item["arguments"])})
	case "custom_tool_call":
		out.Calls = append(out.Calls, call{ID: str(item["call_id"]), Name: str(item["name"]), Arguments: quoted(str(item["input"]))})
	}
}

// responsesStream reads the events as OpenAI's libraries do, and checks that the deltas add up to the items.
func responsesStream(list_ []frame) (out said, err error) {
	var ended object
	deltas := map[string]string{} // by item and kind
	var done []any
	items := 0
	for i, f := range list_ {
		if f.event != str(f.data["type"]) {
			return out, fmt.Errorf("the event %q has the type %v", f.event, f.data["type"])
		}
		if n, ok := f.data["sequence_number"].(float64); !ok || int(n) != i {
			return out, fmt.Errorf("event %d has the number %v", i, f.data["sequence_number"])
		}
		id := str(f.data["item_id"])
		switch f.event {
		case "error":
			out.Errors++
		case "response.output_item.added":
			if n, _ := f.data["output_index"].(float64); int(n) != items {
				return out, fmt.Errorf("item %v comes after %d", n, items)
			}
			items++
		case "response.output_item.done":
			item := obj(f.data["item"])
			done = append(done, item)
			if streamed := deltas[str(item["id"])+"/arguments"]; str(item["type"]) == "function_call" && streamed != str(item["arguments"]) {
				return out, fmt.Errorf("the arguments are %q, streamed were %q", item["arguments"], streamed)
			}
			var text string
			for _, p := range list(item["content"]) {
				text += str(obj(p)["text"])
			}
			if streamed := deltas[str(item["id"])+"/text"]; str(item["type"]) == "message" && streamed != text {
				return out, fmt.Errorf("the text is %q, streamed was %q", text, streamed)
			}
		case "response.output_text.delta":
			deltas[id+"/text"] += str(f.data["delta"])
		case "response.function_call_arguments.delta":
			deltas[id+"/arguments"] += str(f.data["delta"])
		case "response.completed", "response.incomplete", "response.failed":
			if ended != nil {
				return out, errors.New("two events end the response")
			}
			ended = obj(f.data["response"])
			if f.event == "response.failed" {
				out.Errors++
			}
		}
	}
	if ended == nil {
		for _, item := range done {
			responsesItem(&out, obj(item))
		}
		return out, nil
	}
	if got, want := text(done), text(ended["output"]); got != want && len(done) > 0 && str(ended["status"]) == "completed" {
		return out, fmt.Errorf("the output differs from its items:\n%s\n%s", want, got)
	}
	for _, x := range list(ended["output"]) {
		responsesItem(&out, obj(x))
	}
	out.Finish = str(ended["status"])
	return out, nil
}

func geminiWhole(v object) (out said, err error) { return geminiStream([]frame{{data: v}}) }

func geminiStream(list_ []frame) (out said, err error) {
	for _, f := range list_ {
		if f.data["error"] != nil {
			out.Errors++
		}
		for _, c := range list(f.data["candidates"]) {
			for _, p := range list(obj(obj(c)["content"])["parts"]) {
				part := obj(p)
				switch {
				case part["functionCall"] != nil:
					call_ := obj(part["functionCall"])
					arguments := call_["args"]
					if arguments == nil {
						arguments = object{}
					}
					out.Calls = append(out.Calls, call{ID: str(call_["id"]), Name: str(call_["name"]), Arguments: text(arguments)})
				case part["thought"] == true:
					out.Reasoning += str(part["text"])
				default:
					out.Text += str(part["text"])
				}
			}
			for _, g := range list(obj(obj(c)["groundingMetadata"])["groundingChunks"]) {
				out.Sources = append(out.Sources, str(obj(obj(g)["web"])["uri"]))
			}
			if s := str(obj(c)["finishReason"]); s != "" {
				out.Finish = s
			}
		}
	}
	return out, nil
}
