package responses

import (
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/rawjson"
	"weir/internal/usage"
)

// Whole decodes an answer that is one JSON object: each item is an event, and the last event has the end.
func (dec *decoder) Whole(body []byte) error {
	if failure := rawjson.Find(body, "error"); rawjson.KindOf(failure) == rawjson.Object {
		return dec.refused(failure)
	}
	output := rawjson.Find(body, "output")
	if rawjson.KindOf(output) != rawjson.Array {
		return errShape
	}
	switch rawjson.TextAt(body, "status") {
	case "completed", "incomplete", "complete", "": // the last two as recorded: an unknown word is no good end
	default:
		return dialect.Ended(dec.ep)
	}
	dec.start(body)
	for e := rawjson.ElementsOf(output); e.Next(); {
		dec.reset()
		dec.item(e.Value)
		if dec.ev.HasContent() {
			dec.content = true
			if err := dec.tell(); err != nil {
				return err
			}
		}
	}
	dec.reset()
	if err := dec.conclude(body); err != nil {
		return err
	}
	if dec.pass {
		dec.ev.Frames = []completion.Frame{{Data: dec.bound(body)}}
	}
	return dec.tell()
}

// item decodes a whole item.
func (dec *decoder) item(v []byte) *item {
	it := dec.open(v)
	switch it.kind {
	case "message":
		dec.parts(v)
	case "reasoning":
		dec.reasoningDetail(it, v)
	default:
		dec.close(it, v)
	}
	return it
}

// parts decodes the content of a whole message.
func (dec *decoder) parts(v []byte) {
	for e := rawjson.ElementsOf(rawjson.Find(v, "content")); e.Next(); {
		dec.part(e.Value)
	}
}

func (dec *decoder) part(v []byte) {
	switch rawjson.TextAt(v, "type") {
	case "output_text":
		dec.ev.Text = append(dec.ev.Text[:len(dec.ev.Text):len(dec.ev.Text)], dec.unquoted(rawjson.Find(v, "text"))...)
		for e := rawjson.ElementsOf(rawjson.Find(v, "annotations")); e.Next(); {
			dec.annotation(e.Value)
		}
		if dec.ev.Annotations == nil { // both would use the same memory
			dec.logprobs(rawjson.Find(v, "logprobs"))
		}
	case "refusal":
		dec.ev.Refusal = dec.unquoted(rawjson.Find(v, "refusal"))
	}
}

func (dec *decoder) reasoningDetail(it *item, v []byte) {
	said := []byte(nil)
	for _, list := range [...]struct{ name, kind string }{{"summary", "summary"}, {"content", "text"}} {
		at := 0
		for e := rawjson.ElementsOf(rawjson.Find(v, list.name)); e.Next(); at++ {
			it.part = ""
			dec.thinking(it, list.kind, nil, rawjson.Find(e.Value, "text"))
			said = append(said, dec.ev.Reasoning...)
		}
	}
	dec.ev.Reasoning = said
	dec.sealed(v)
}

// usageOf returns a response's usage in canonical form, nil when it has none.
func usageOf(response []byte) *usage.Usage {
	v := rawjson.Find(response, "usage")
	if rawjson.KindOf(v) != rawjson.Object {
		return nil
	}
	u := usage.Usage{
		Prompt: countAt(v, "input_tokens"), CacheRead: countAt(rawjson.Find(v, "input_tokens_details"), "cached_tokens"), CacheWrite: countAt(rawjson.Find(v, "input_tokens_details"), "cache_write_tokens"),
		Completion: countAt(v, "output_tokens"), Reasoning: countAt(rawjson.Find(v, "output_tokens_details"), "reasoning_tokens"),
	}
	countCalls(&u, response, v)
	switch tier := rawjson.TextAt(response, "service_tier"); tier {
	case "default", "flex", "priority":
		u.Tier = tier
	}
	if !u.Prompt.Reported && !u.Completion.Reported {
		return nil
	}
	u.IncludeParts(countAt(v, "total_tokens"))
	return &u
}

// countCalls counts the calls of the provider's tools in a finished response: by its items and, where they are present, by the counts of
// OpenAI (tool_usage) and of xAI (server_side_tool_usage_details). The larger number counts.
func countCalls(u *usage.Usage, response, counts []byte) {
	containers := map[string]bool{}
	for e := rawjson.ElementsOf(rawjson.Find(response, "output")); e.Next(); {
		countCall(u, e.Value, containers)
	}
	more := func(c *usage.Count, reported usage.Count) {
		if reported.Valid() && (reported.N > c.N || !c.Reported) {
			*c = reported
		}
	}
	more(&u.WebSearches, countAt(rawjson.FindPath(response, "tool_usage", "web_search"), "num_requests"))
	details := rawjson.Find(counts, "server_side_tool_usage_details")
	more(&u.WebSearches, countAt(details, "web_search_calls"))
	more(&u.FileSearches, countAt(details, "file_search_calls"))
	more(&u.Containers, countAt(details, "code_interpreter_calls"))
	more(&u.MCPCalls, countAt(details, "mcp_calls"))
}

// countCall counts an item of an answer for a tool that the provider has run. Opening pages that a search found costs nothing more, and
// neither does a further run in the same container.
func countCall(u *usage.Usage, item []byte, containers map[string]bool) {
	more := func(c *usage.Count) { *c = usage.Of(c.N + 1) }
	switch rawjson.TextAt(item, "type") {
	case "web_search_call":
		if kind := rawjson.Text(rawjson.FindPath(item, "action", "type")); kind == "" || kind == "search" {
			more(&u.WebSearches)
		}
	case "file_search_call":
		more(&u.FileSearches)
	case "code_interpreter_call", "shell_call":
		id := rawjson.TextAt(item, "container_id")
		if id == "" || !containers[id] {
			more(&u.Containers)
		}
		containers[id] = true
	case "mcp_call":
		more(&u.MCPCalls)
	}
}

func countAt(v []byte, name string) usage.Count {
	if n, ok := rawjson.Int(rawjson.Find(v, name)); ok {
		return usage.Of(n)
	}
	return usage.Count{}
}
