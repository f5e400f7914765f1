package responses_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// frame is one event of a stream as a client reads it.
type frame struct {
	name string
	data map[string]any
}

// readStream splits a stream into its events. It fails on anything that is no event of this wire.
func readStream(t rapid.TB, b []byte) []frame {
	t.Helper()
	text, done := strings.CutSuffix(string(b), "data: [DONE]\n\n")
	if !done || strings.Contains(text, "[DONE]") {
		t.Fatalf("a stream ends with exactly one [DONE]:\n%s", b)
	}
	var frames []frame
	for one := range strings.SplitSeq(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		head, data, ok := strings.Cut(one, "\ndata: ")
		name, named := strings.CutPrefix(head, "event: ")
		f := frame{name: name}
		d := json.NewDecoder(strings.NewReader(data))
		d.UseNumber()
		if err := d.Decode(&f.data); !ok || !named || err != nil || strings.ContainsAny(data, "\r\n") {
			t.Fatalf("not an event (%v): %q", err, one)
		}
		frames = append(frames, f)
	}
	return frames
}

// openItem is what a checker remembers of the item under way.
type openItem struct {
	id, kind, text, part string
	index, parts         int
	closed               []string // parts that have ended, as JSON
	notes                int
	argued               bool
}

// checker has every rule of the order of events.
type checker struct {
	t     rapid.TB
	open  *openItem
	items []string // that have ended, as JSON
	seen  map[string]bool
}

var families = map[string]string{
	"response.output_text.delta": "output_text", "response.output_text.done": "output_text", "response.output_text.annotation.added": "output_text",
	"response.refusal.delta": "refusal", "response.refusal.done": "refusal",
	"response.reasoning_text.delta": "reasoning_text", "response.reasoning_text.done": "reasoning_text",
	"response.reasoning_summary_text.delta": "summary_text", "response.reasoning_summary_text.done": "summary_text",
}

// checkOrder holds a stream against all the rules and returns its final response object.
func checkOrder(t rapid.TB, b []byte) map[string]any {
	t.Helper()
	frames := readStream(t, b)
	for i, f := range frames {
		if f.data["type"] != f.name || fmt.Sprint(f.data["sequence_number"]) != fmt.Sprint(i) {
			t.Fatalf("event %d: %s says %v, number %v", i, f.name, f.data["type"], f.data["sequence_number"])
		}
	}
	if len(frames) < 3 || frames[0].name != "response.created" || frames[1].name != "response.in_progress" {
		t.Fatalf("a stream begins with response.created and response.in_progress:\n%s", b)
	}
	for _, f := range frames[:2] {
		if o := f.data["response"].(map[string]any); o["status"] != "in_progress" || len(o["output"].([]any)) != 0 || o["usage"] != nil {
			t.Fatalf("%s: %v", f.name, o)
		}
	}
	c := &checker{t: t, seen: map[string]bool{}}
	for _, f := range frames[2 : len(frames)-1] {
		c.event(f)
	}
	last := frames[len(frames)-1]
	object, ok := last.data["response"].(map[string]any)
	if !ok || last.name != "response."+fmt.Sprint(object["status"]) || c.open != nil {
		t.Fatalf("the last event is %s, status %v, open item %v", last.name, object["status"], c.open)
	}
	output := object["output"].([]any)
	if len(output) != len(c.items) {
		t.Fatalf("%d items in the end, %d were told", len(output), len(c.items))
	}
	for i := range output {
		if got := text(t, output[i]); got != c.items[i] {
			t.Errorf("item %d was told as %s, and is %s in the end", i, c.items[i], got)
		}
	}
	checkObject(t, object)
	return object
}

func text(t rapid.TB, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// checkObject checks what holds for every response object that has ended.
func checkObject(t rapid.TB, object map[string]any) {
	t.Helper()
	for _, name := range []string{"id", "object", "created_at", "status", "model", "output", "error", "incomplete_details", "instructions", "metadata", "parallel_tool_calls", "temperature", "top_p",
		"tool_choice", "tools", "usage", "output_text", "max_output_tokens", "previous_response_id", "reasoning", "text", "truncation", "store", "background", "service_tier", "user", "completed_at"} {
		if _, ok := object[name]; !ok {
			t.Errorf("the response has no %s", name)
		}
	}
	said := ""
	for _, item := range object["output"].([]any) {
		parts, _ := item.(map[string]any)["content"].([]any)
		for _, p := range parts {
			if p := p.(map[string]any); p["type"] == "output_text" {
				said += p["text"].(string)
			}
		}
	}
	if object["output_text"] != said {
		t.Errorf("output_text is %q, the items say %q", object["output_text"], said)
	}
	if failed := object["status"] == "failed"; failed != (object["error"] != nil) || failed != (object["error_type"] != nil) {
		t.Errorf("status %v, error %v, error_type %v", object["status"], object["error"], object["error_type"])
	}
	if incomplete := object["status"] == "incomplete"; incomplete != (object["incomplete_details"] != nil) {
		t.Errorf("status %v, incomplete_details %v", object["status"], object["incomplete_details"])
	}
}

func (c *checker) event(f frame) {
	c.t.Helper()
	switch f.name {
	case "response.output_item.added":
		c.added(f)
		return
	case "response.output_item.done":
		c.ended(f)
		return
	}
	if c.open == nil || f.data["item_id"] != c.open.id || fmt.Sprint(f.data["output_index"]) != fmt.Sprint(c.open.index) {
		c.t.Fatalf("%s for item %v at %v, open is %+v", f.name, f.data["item_id"], f.data["output_index"], c.open)
	}
	switch f.name {
	case "response.content_part.added", "response.reasoning_summary_part.added":
		c.partAdded(f)
	case "response.content_part.done", "response.reasoning_summary_part.done":
		c.partDone(f)
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		c.wantCall(f)
		c.open.text += f.data["delta"].(string)
	case "response.function_call_arguments.done", "response.custom_tool_call_input.done":
		c.wantCall(f)
		member := map[string]string{"function_call": "arguments", "custom_tool_call": "input"}[c.open.kind]
		if f.data[member] != c.open.text || c.open.argued {
			c.t.Fatalf("%s says %v, the deltas %q", f.name, f.data[member], c.open.text)
		}
		c.open.argued = true
	default:
		c.text(f)
	}
}

func (c *checker) wantCall(f frame) {
	if want := map[string]string{"function_call": "response.function_call_arguments.", "custom_tool_call": "response.custom_tool_call_input."}[c.open.kind]; want == "" || !strings.HasPrefix(f.name, want) {
		c.t.Fatalf("%s inside a %s", f.name, c.open.kind)
	}
}

func (c *checker) added(f frame) {
	item := f.data["item"].(map[string]any)
	id, _ := item["id"].(string)
	if c.open != nil || fmt.Sprint(f.data["output_index"]) != fmt.Sprint(len(c.items)) || id == "" || c.seen[id] || item["status"] != "in_progress" {
		c.t.Fatalf("item %v added at %v after %d items, open is %+v", item, f.data["output_index"], len(c.items), c.open)
	}
	c.seen[id] = true
	c.open = &openItem{id: id, kind: item["type"].(string), index: len(c.items)}
	empty := map[string][2]any{"message": {"content", "[]"}, "function_call": {"arguments", `""`}, "custom_tool_call": {"input", `""`}, "reasoning": {"summary", "[]"}, "image_generation_call": {"result", "null"}}[c.open.kind]
	if empty[0] == nil || strings.TrimSpace(text(c.t, item[empty[0].(string)])) != empty[1] {
		c.t.Fatalf("item %v is not empty when it begins", item)
	}
}

func (c *checker) ended(f frame) {
	item := f.data["item"].(map[string]any)
	o := c.open
	if o == nil || o.part != "" || item["id"] != o.id || item["type"] != o.kind || fmt.Sprint(f.data["output_index"]) != fmt.Sprint(o.index) || item["status"] == "in_progress" {
		c.t.Fatalf("item %v ended, open is %+v", item, o)
	}
	switch o.kind {
	case "function_call", "custom_tool_call":
		if value := map[string]any{"function_call": item["arguments"], "custom_tool_call": item["input"]}[o.kind]; value != o.text || !o.argued || item["call_id"] == "" || item["name"] == "" {
			c.t.Fatalf("call %v after %+v", item, o)
		}
	case "message", "reasoning":
		var parts []string
		for _, list := range []string{"summary", "content"} {
			l, _ := item[list].([]any)
			for _, p := range l {
				parts = append(parts, text(c.t, p))
			}
		}
		if fmt.Sprint(parts) != fmt.Sprint(o.closed) {
			c.t.Fatalf("parts %v, told were %v", parts, o.closed)
		}
	}
	c.items = append(c.items, text(c.t, item))
	c.open = nil
}

func (c *checker) index(f frame) string {
	name := "content_index"
	if strings.HasPrefix(f.name, "response.reasoning_summary") {
		name = "summary_index"
	}
	return fmt.Sprint(f.data[name])
}

func (c *checker) partAdded(f frame) {
	part := f.data["part"].(map[string]any)
	kind := part["type"].(string)
	fits := map[string]string{"output_text": "message", "refusal": "message", "reasoning_text": "reasoning", "summary_text": "reasoning"}[kind]
	if c.open.part != "" || fits != c.open.kind || c.index(f) != fmt.Sprint(c.open.parts) || (kind == "summary_text") != strings.Contains(f.name, "summary") {
		c.t.Fatalf("part %v at %s of %+v", part, c.index(f), c.open)
	}
	c.open.part, c.open.text, c.open.notes = kind, "", 0
}

func (c *checker) text(f frame) {
	o := c.open
	if families[f.name] == "" || families[f.name] != o.part || c.index(f) != fmt.Sprint(o.parts) {
		c.t.Fatalf("%s at %s of %+v", f.name, c.index(f), o)
	}
	switch {
	case strings.HasSuffix(f.name, ".delta"):
		o.text += f.data["delta"].(string)
	case strings.HasSuffix(f.name, ".annotation.added"):
		if fmt.Sprint(f.data["annotation_index"]) != fmt.Sprint(o.notes) {
			c.t.Fatalf("annotation %v after %d", f.data, o.notes)
		}
		o.notes++
		return
	default:
		member := "text"
		if o.part == "refusal" {
			member = "refusal"
		}
		if f.data[member] != o.text {
			c.t.Fatalf("%s says %v, the deltas %q", f.name, f.data[member], o.text)
		}
	}
	if _, ok := f.data["logprobs"].([]any); ok != (o.part == "output_text") {
		c.t.Fatalf("%s: logprobs %v", f.name, f.data["logprobs"])
	}
}

func (c *checker) partDone(f frame) {
	o, part := c.open, f.data["part"].(map[string]any)
	said := part["text"]
	if o.part == "refusal" {
		said = part["refusal"]
	}
	if part["type"] != o.part || said != o.text || c.index(f) != fmt.Sprint(o.parts) {
		c.t.Fatalf("part %v ended, open is %+v", part, o)
	}
	if o.part == "output_text" && len(part["annotations"].([]any)) != o.notes {
		c.t.Fatalf("%d annotations were told: %v", o.notes, part)
	}
	o.closed = append(o.closed, text(c.t, part))
	o.parts++
	o.part = ""
}
