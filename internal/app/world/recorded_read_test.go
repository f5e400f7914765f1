package world_test

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// outcome is what an answer says, read by the documentation of its wire and by nothing of the product. A recorded answer and the one that a
// client receives are read alike.
type outcome struct {
	Text      string
	Reasoning string
	Calls     []string // name and arguments
	Names     []string // of the calls
	Finish    string   // stop, length, tools, filter, other; "": none
	Sources   []string // sorted addresses
	Errors    int

	Prompt, Completion int64 // tokens, all of them
	Read, Written      int64 // of Prompt
	Hour               int64 // of Written: for an hour
	Reasoned           int64 // of Completion
	Cost               string
}

// reader adds frames of one wire to an outcome.
type reader interface {
	frame(o object)
	outcome() *outcome
}

// read reads an answer of a wire, whole or streamed.
func read(wire string, body []byte) (*outcome, error) {
	var r reader
	switch wire {
	case "openai":
		r = &chatReader{}
	case "responses":
		r = &responsesReader{}
	case "anthropic":
		r = &messagesReader{}
	case "gemini":
		r = &geminiReader{}
	case "bedrock":
		r = &converseReader{}
	default:
		return nil, fmt.Errorf("no reader for %s", wire)
	}
	list, err := framesOf(body)
	if err == nil && len(list) == 0 {
		err = errors.New("no frames")
	}
	if err != nil {
		return nil, err
	}
	for _, o := range list {
		r.frame(o)
	}
	out := r.outcome()
	slices.Sort(out.Sources)
	out.Sources = slices.DeleteFunc(slices.Compact(out.Sources), func(s string) bool { return s == "" })
	return out, nil
}

// framesOf splits a body of any wire into JSON objects.
func framesOf(body []byte) (out []object, err error) {
	trimmed := bytes.TrimSpace(body)
	add := func(text []byte) {
		var o object
		if e := json.Unmarshal(text, &o); e != nil && err == nil {
			err = fmt.Errorf("%w: %.100s", e, text)
		}
		out = append(out, o)
	}
	switch {
	case len(trimmed) > 0 && trimmed[0] == '{':
		add(trimmed)
	case len(body) > 0 && body[0] == 0:
		for len(body) >= 16 {
			total, headers := binary.BigEndian.Uint32(body), binary.BigEndian.Uint32(body[4:])
			head := body[12 : 12+headers]
			_, name, _ := bytes.Cut(head, []byte(":event-type\x07"))
			n := binary.BigEndian.Uint16(name)
			out = append(out, object{})
			var o object
			if e := json.Unmarshal(body[12+headers:total-4], &o); e != nil {
				return nil, e
			}
			out[len(out)-1][string(name[2:2+n])] = o
			body = body[total:]
		}
	default:
		for _, block := range strings.Split(strings.ReplaceAll(string(body), "\r\n", "\n"), "\n\n") {
			var data []string
			for line := range strings.SplitSeq(block, "\n") {
				if value, ok := strings.CutPrefix(line, "data:"); ok {
					data = append(data, strings.TrimPrefix(value, " "))
				}
			}
			if text := strings.TrimSpace(strings.Join(data, "\n")); text != "" && text != "[DONE]" {
				add([]byte(text))
			}
		}
	}
	return out, err
}

func num(v any) int64 { f, _ := v.(float64); return int64(f) }

// canonical is JSON with its members in order; text that is no JSON stays as it is, and nothing is {}.
func canonical(arguments string) string {
	if strings.TrimSpace(arguments) == "" {
		return "{}"
	}
	var v any
	if json.Unmarshal([]byte(arguments), &v) != nil {
		return arguments
	}
	if s, ok := v.(string); ok {
		return s
	}
	b, _ := json.Marshal(v) //nolint:errchkjson // decoded above
	return string(b)
}

// called adds a call. Free input, of a custom tool, is the text itself.
func (o *outcome) called(name string, arguments any) {
	o.Names, o.Calls = append(o.Names, name), append(o.Calls, called(name, arguments))
}

func called(name string, arguments any) string {
	s, ok := arguments.(string)
	if !ok && arguments != nil {
		b, _ := json.Marshal(arguments) //nolint:errchkjson // decoded
		s = string(b)
	}
	return name + canonical(s)
}

// chatReader reads chat completions.
type chatReader struct {
	out   outcome
	calls []struct{ name, arguments string }
	at    map[string]int
	usage object
}

func (r *chatReader) frame(o object) {
	if o["error"] != nil {
		r.out.Errors++
	}
	for _, x := range list(o["choices"]) {
		choice := obj(x)
		if num(choice["index"]) != 0 {
			continue
		}
		d := obj(choice["delta"])
		if m := obj(choice["message"]); m != nil {
			d = m
		}
		r.content(d["content"])
		r.out.Text += str(d["refusal"])
		thought := cmp.Or(str(d["reasoning"]), str(d["reasoning_content"]))
		if thought == "" {
			for _, x := range list(d["reasoning_details"]) {
				thought += str(obj(x)["text"]) + str(obj(x)["summary"])
			}
		}
		r.out.Reasoning += thought
		for i, c := range list(d["tool_calls"]) {
			r.call(obj(c), i)
		}
		if f := obj(d["function_call"]); str(f["name"]) != "" {
			r.calls = append(r.calls, struct{ name, arguments string }{str(f["name"]), str(f["arguments"])})
		}
		for _, a := range list(d["annotations"]) {
			r.out.Sources = append(r.out.Sources, str(obj(obj(a)["url_citation"])["url"]))
		}
		if f := str(choice["finish_reason"]); f != "" {
			r.out.Finish = f
		}
		if u := obj(choice["usage"]); u != nil {
			r.usage = u
		}
	}
	for _, c := range list(o["citations"]) {
		r.out.Sources = append(r.out.Sources, str(c))
	}
	for _, c := range list(o["search_results"]) {
		r.out.Sources = append(r.out.Sources, str(obj(c)["url"]))
	}
	if u := obj(o["usage"]); u != nil {
		r.usage = u
	}
}

func (r *chatReader) content(v any) {
	r.out.Text += str(v)
	for _, p := range list(v) {
		part := obj(p)
		switch str(part["type"]) {
		case "text", "output_text":
			r.out.Text += str(part["text"])
		case "thinking":
			r.out.Reasoning += str(part["thinking"])
			for _, p := range list(part["thinking"]) {
				r.out.Reasoning += str(obj(p)["text"])
			}
		}
	}
}

func (r *chatReader) call(c object, i int) {
	f := obj(c["function"])
	if custom := obj(c["custom"]); custom != nil && (str(custom["name"]) != "" || str(custom["input"]) != "") {
		f = object{"name": custom["name"], "arguments": custom["input"]}
	}
	key := fmt.Sprint(c["index"])
	if c["index"] == nil {
		key = fmt.Sprint("place ", i, c["id"])
	}
	at, known := r.at[key]
	if !known {
		if r.at == nil {
			r.at = map[string]int{}
		}
		at = len(r.calls)
		r.at[key] = at
		r.calls = append(r.calls, struct{ name, arguments string }{})
	}
	if r.calls[at].name == "" {
		r.calls[at].name = str(f["name"])
	}
	if s, ok := f["arguments"].(string); ok {
		r.calls[at].arguments += s
	} else if f["arguments"] != nil {
		_, r.calls[at].arguments, _ = strings.Cut(called("\n", f["arguments"]), "\n")
	}
}

func (r *chatReader) outcome() *outcome {
	out := &r.out
	for _, c := range r.calls {
		if c.name != "" {
			out.called(c.name, c.arguments)
		}
	}
	out.Finish = map[string]string{"": "", "stop": "stop", "eos": "stop", "length": "length", "tool_calls": "tools", "function_call": "tools", "content_filter": "filter"}[out.Finish] + other(out.Finish, "", "stop", "eos", "length", "tool_calls", "function_call", "content_filter")
	if len(out.Calls) > 0 && out.Finish == "stop" {
		out.Finish = "tools"
	}
	u := r.usage
	details := obj(u["prompt_tokens_details"])
	out.Prompt, out.Completion = num(u["prompt_tokens"]), num(u["completion_tokens"])
	out.Read, out.Written = num(details["cached_tokens"]), num(details["cache_write_tokens"])
	if out.Read == 0 {
		out.Read = max(num(u["prompt_cache_hit_tokens"]), num(u["cached_tokens"]), num(u["num_cached_tokens"])) // DeepSeek, Moonshot, Mistral
	}
	out.Reasoned = max(num(obj(u["completion_tokens_details"])["reasoning_tokens"]), num(u["reasoning_tokens"]))
	if total := num(u["total_tokens"]); out.Reasoned > 0 && total == out.Prompt+out.Completion+out.Reasoned || out.Reasoned > out.Completion {
		out.Completion += out.Reasoned // the sum shows it, or the parts do: xAI, Perplexity, Vercel
	}
	out.Cost = cost(u["cost"])
	return out
}

func cost(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// other is "other" for a word that is none of the known ones.
func other(word string, known ...string) string {
	if slices.Contains(known, word) {
		return ""
	}
	return "other"
}

// responsesReader reads responses.
type responsesReader struct {
	out   outcome
	items []any
	ended object
}

func (r *responsesReader) frame(o object) {
	if _, event := o["response"]; !event && o["output"] != nil && o["type"] == nil {
		r.ended = o
		return
	}
	switch kind := str(o["type"]); kind {
	case "response.output_item.done":
		r.items = append(r.items, o["item"])
	case "response.completed", "response.incomplete", "response.failed":
		r.ended = obj(o["response"])
	case "error":
		r.out.Errors++
	}
}

func (r *responsesReader) outcome() *outcome {
	out := &r.out
	items := list(r.ended["output"])
	if len(items) == 0 {
		items = r.items
	}
	for _, x := range items {
		item := obj(x)
		switch str(item["type"]) {
		case "message":
			for _, p := range list(item["content"]) {
				part := obj(p)
				out.Text += str(part["text"]) + str(part["refusal"])
				for _, a := range list(part["annotations"]) {
					if str(obj(a)["type"]) == "url_citation" {
						out.Sources = append(out.Sources, str(obj(a)["url"]))
					}
				}
			}
		case "reasoning":
			content := list(item["content"])
			if len(content) == 0 {
				content = list(item["summary"])
			}
			for _, p := range content {
				out.Reasoning += str(obj(p)["text"])
			}
		case "function_call":
			name := str(item["name"])
			if within := str(item["namespace"]); within != "" {
				name = within + "__" + name
			}
			out.called(name, item["arguments"])
		case "local_shell_call": // these are functions of other styles, of the tool's name
			out.called("local_shell", item["action"])
		case "apply_patch_call":
			out.called("apply_patch", item["operation"])
		case "computer_call":
			out.called("computer", item["action"])
		case "shell_call":
			if where := str(obj(item["environment"])["type"]); where == "" || where == "local" {
				out.called("shell", item["action"])
			}
		case "tool_search_call":
			if str(item["execution"]) == "client" {
				out.called("tool_search", item["arguments"])
			}
		case "custom_tool_call": // one that was not offered is of a tool that the server runs: xAI's search
			if slices.ContainsFunc(list(r.ended["tools"]), func(t any) bool { return obj(t)["name"] == item["name"] }) {
				out.called(str(item["name"]), item["input"])
			}
		}
	}
	switch str(r.ended["status"]) {
	case "completed", "complete":
		out.Finish = "stop"
		if len(out.Calls) > 0 {
			out.Finish = "tools"
		}
	case "incomplete":
		out.Finish = map[string]string{"max_output_tokens": "length", "content_filter": "filter"}[str(obj(r.ended["incomplete_details"])["reason"])]
	case "failed":
		out.Errors++
	}
	u := obj(r.ended["usage"])
	out.Prompt, out.Completion = num(u["input_tokens"]), num(u["output_tokens"])
	out.Read, out.Written = num(obj(u["input_tokens_details"])["cached_tokens"]), num(obj(u["input_tokens_details"])["cache_write_tokens"])
	out.Reasoned = num(obj(u["output_tokens_details"])["reasoning_tokens"])
	if total := num(u["total_tokens"]); out.Reasoned > 0 && total == out.Prompt+out.Completion+out.Reasoned {
		out.Completion += out.Reasoned
	}
	out.Cost = cost(u["cost"])
	return out
}

// messagesReader reads messages.
type messagesReader struct {
	out    outcome
	blocks map[int64]object
	json   map[int64]string
	order  []int64
	usage  object
	stop   string
}

func (r *messagesReader) frame(o object) {
	merge := func(u object) {
		if r.usage == nil {
			r.usage = object{}
		}
		for name, v := range u {
			if v != nil {
				r.usage[name] = v
			}
		}
	}
	n := num(o["index"])
	switch str(o["type"]) {
	case "message":
		r.whole(o)
		merge(obj(o["usage"]))
	case "message_start":
		r.whole(obj(o["message"]))
		merge(obj(obj(o["message"])["usage"]))
	case "content_block_start":
		r.start(n, obj(o["content_block"]))
	case "content_block_delta":
		d := obj(o["delta"])
		switch str(d["type"]) {
		case "text_delta":
			r.blocks[n]["text"] = str(r.blocks[n]["text"]) + str(d["text"])
		case "thinking_delta":
			r.blocks[n]["thinking"] = str(r.blocks[n]["thinking"]) + str(d["thinking"])
		case "input_json_delta":
			r.json[n] += str(d["partial_json"])
		case "citations_delta":
			r.blocks[n]["citations"] = append(list(r.blocks[n]["citations"]), d["citation"])
		}
	case "message_delta":
		if s := str(obj(o["delta"])["stop_reason"]); s != "" {
			r.stop = s
		}
		merge(obj(o["usage"]))
	case "error":
		r.out.Errors++
	}
}

func (r *messagesReader) whole(m object) {
	for i, b := range list(m["content"]) {
		r.start(int64(-1000+i), obj(b))
	}
	if s := str(m["stop_reason"]); s != "" {
		r.stop = s
	}
}

func (r *messagesReader) start(n int64, b object) {
	if r.blocks == nil {
		r.blocks, r.json = map[int64]object{}, map[int64]string{}
	}
	r.blocks[n] = b
	r.order = append(r.order, n)
}

func (r *messagesReader) outcome() *outcome {
	out := &r.out
	for _, n := range r.order {
		b := r.blocks[n]
		switch str(b["type"]) {
		case "text":
			out.Text += str(b["text"])
			for _, c := range list(b["citations"]) {
				out.Sources = append(out.Sources, str(obj(c)["url"]))
			}
		case "thinking":
			out.Reasoning += str(b["thinking"])
		case "tool_use":
			if text := r.json[n]; text != "" {
				out.called(str(b["name"]), text)
			} else {
				out.called(str(b["name"]), b["input"])
			}
		}
	}
	known := []string{"", "end_turn", "stop_sequence", "max_tokens", "tool_use", "refusal", "pause_turn", "model_context_window_exceeded"}
	out.Finish = map[string]string{"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "model_context_window_exceeded": "length", "tool_use": "tools", "refusal": "filter", "pause_turn": "pause"}[r.stop] + other(r.stop, known...)
	if out.Finish == "stop" && len(out.Calls) > 0 {
		out.Finish = "tools"
	}
	u := r.usage
	if all := list(u["iterations"]); len(all) > 0 { // all of the models that took part are billed
		sum := object{}
		for _, x := range all {
			for name, v := range obj(x) {
				if n, ok := v.(float64); ok {
					was, _ := sum[name].(float64)
					sum[name] = was + n
				}
			}
		}
		for name, v := range sum {
			u[name] = v
		}
	}
	out.Read, out.Written, out.Completion = num(u["cache_read_input_tokens"]), num(u["cache_creation_input_tokens"]), num(u["output_tokens"])
	out.Hour = num(obj(u["cache_creation"])["ephemeral_1h_input_tokens"])
	out.Prompt = num(u["input_tokens"]) + out.Read + out.Written
	out.Reasoned = num(obj(u["output_tokens_details"])["thinking_tokens"])
	out.Cost = cost(u["cost"])
	return out
}

// geminiReader reads generateContent. The counts of the last chunk are those of the whole answer.
type geminiReader struct {
	out    outcome
	usage  object
	finish string
	open   string // name of the call whose arguments come in pieces
	args   any    // of it
}

// call reads a call, or a part of one whose arguments are streamed: the first has the name, and each that another follows says so.
func (r *geminiReader) call(c object) {
	if name := str(c["name"]); name != "" {
		r.called()
		if c["willContinue"] != true && c["partialArgs"] == nil {
			r.out.called(name, c["args"])
			return
		}
		r.open, r.args = name, object{}
	}
	for _, x := range list(c["partialArgs"]) {
		piece := obj(x)
		r.args = placed(r.args, pathNames.FindAllString(strings.TrimPrefix(str(piece["jsonPath"]), "$"), -1), piece)
	}
	if c["willContinue"] != true {
		r.called()
	}
}

func (r *geminiReader) called() {
	if r.open != "" {
		r.out.called(r.open, r.args)
	}
	r.open = ""
}

// pathNames are the parts of the JSON paths that were recorded.
var pathNames = regexp.MustCompile(`[^.\[\]]+|\[\d+\]`)

// placed is v with a piece of arguments at a path below it.
func placed(v any, path []string, piece object) any {
	if len(path) == 0 {
		if s, ok := piece["stringValue"]; ok {
			return str(v) + str(s)
		}
		return cmp.Or(piece["numberValue"], piece["boolValue"])
	}
	var n int
	if _, err := fmt.Sscanf(path[0], "[%d]", &n); err != nil {
		if obj(v) == nil {
			v = object{}
		}
		obj(v)[path[0]] = placed(obj(v)[path[0]], path[1:], piece)
		return v
	}
	all := list(v)
	for len(all) <= n {
		all = append(all, nil)
	}
	all[n] = placed(all[n], path[1:], piece)
	return all
}

func (r *geminiReader) frame(o object) {
	if o["error"] != nil {
		r.out.Errors++
	}
	for _, c := range list(o["candidates"]) {
		candidate := obj(c)
		if num(candidate["index"]) != 0 {
			continue
		}
		for _, p := range list(obj(candidate["content"])["parts"]) {
			part := obj(p)
			switch {
			case part["functionCall"] != nil:
				r.call(obj(part["functionCall"]))
			case part["thought"] == true:
				r.out.Reasoning += str(part["text"])
			default:
				r.out.Text += str(part["text"])
			}
		}
		for _, g := range list(obj(candidate["groundingMetadata"])["groundingChunks"]) {
			r.out.Sources = append(r.out.Sources, str(obj(obj(g)["web"])["uri"]))
		}
		if s := str(candidate["finishReason"]); s != "" {
			r.finish = s
		}
	}
	if s := str(obj(o["promptFeedback"])["blockReason"]); s != "" {
		r.finish = s
	}
	if u := obj(o["usageMetadata"]); u != nil {
		r.usage = u
	}
}

func (r *geminiReader) outcome() *outcome {
	r.called()
	out := &r.out
	filters := []string{"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "MODEL_ARMOR"}
	switch {
	case r.finish == "STOP":
		out.Finish = "stop"
		if len(out.Calls) > 0 {
			out.Finish = "tools"
		}
	case r.finish == "MAX_TOKENS":
		out.Finish = "length"
	case slices.Contains(filters, r.finish):
		out.Finish = "filter"
	case r.finish != "":
		out.Finish = "other"
	}
	u := r.usage
	out.Prompt = num(u["promptTokenCount"]) + num(u["toolUsePromptTokenCount"])
	out.Reasoned = num(u["thoughtsTokenCount"])
	out.Completion = num(u["candidatesTokenCount"]) + out.Reasoned
	out.Read = num(u["cachedContentTokenCount"])
	out.Cost = cost(u["cost"])
	return out
}

// converseReader reads Converse, whole and as its binary stream.
type converseReader struct {
	out   outcome
	names map[int64]string
	json  map[int64]string
	order []int64
	stop  string
	usage object
}

func (r *converseReader) frame(o object) {
	if r.names == nil {
		r.names, r.json = map[int64]string{}, map[int64]string{}
	}
	if output := obj(o["output"]); output != nil {
		for _, b := range list(obj(output["message"])["content"]) {
			r.block(obj(b))
		}
		r.stop, r.usage = str(o["stopReason"]), obj(o["usage"])
	}
	if s := obj(o["contentBlockStart"]); s != nil {
		if use := obj(obj(s["start"])["toolUse"]); use != nil {
			n := num(s["contentBlockIndex"])
			r.names[n] = str(use["name"])
			r.order = append(r.order, n)
		}
	}
	if d := obj(o["contentBlockDelta"]); d != nil {
		delta := obj(d["delta"])
		r.out.Text += str(delta["text"])
		r.out.Reasoning += str(obj(delta["reasoningContent"])["text"])
		r.json[num(d["contentBlockIndex"])] += str(obj(delta["toolUse"])["input"])
	}
	if s := obj(o["messageStop"]); s != nil {
		r.stop = str(s["stopReason"])
	}
	if m := obj(o["metadata"]); m != nil {
		r.usage = obj(m["usage"])
	}
}

func (r *converseReader) block(b object) {
	r.out.Text += str(b["text"])
	r.out.Reasoning += str(obj(obj(b["reasoningContent"])["reasoningText"])["text"])
	if use := obj(b["toolUse"]); use != nil {
		r.out.called(str(use["name"]), use["input"])
	}
	if c := obj(b["citationsContent"]); c != nil {
		for _, p := range list(c["content"]) {
			r.out.Text += str(obj(p)["text"])
		}
	}
}

func (r *converseReader) outcome() *outcome {
	out := &r.out
	for _, n := range r.order {
		out.called(r.names[n], r.json[n])
	}
	known := []string{"", "end_turn", "stop_sequence", "max_tokens", "tool_use", "guardrail_intervened", "content_filtered"}
	out.Finish = map[string]string{"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "tool_use": "tools", "guardrail_intervened": "filter", "content_filtered": "filter"}[r.stop] + other(r.stop, known...)
	out.Read, out.Written = num(r.usage["cacheReadInputTokens"]), num(r.usage["cacheWriteInputTokens"])
	out.Prompt, out.Completion = num(r.usage["inputTokens"])+out.Read+out.Written, num(r.usage["outputTokens"])
	return out
}

// bytesOf is a recorded body.
func (r *recording) bytesOf() []byte {
	if r.Binary != "" {
		b, err := base64.StdEncoding.DecodeString(r.Binary)
		if err != nil {
			panic(err)
		}
		return b
	}
	return []byte(r.Body)
}
