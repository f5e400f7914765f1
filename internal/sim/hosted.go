package sim

import "strings"

// ran is one call of a tool that the provider runs itself, other than a web search.
type ran struct {
	tool string // the wire's own word
	id   string
}

// hostedWords are types of tools that are run without being called by the client, and what a call of each is named on its wire. Searches of the
// web are apart: their pages are cited.
var hostedWords = []struct{ begin, call string }{
	{"file_search", "file_search_call"}, {"code_interpreter", "code_interpreter_call"}, {"mcp_toolset", "mcp_tool_use"}, {"mcp", "mcp_call"},
	{"web_fetch_", "web_fetch"}, {"code_execution_", "bash_code_execution"},
}

// offer notes a tool that the provider runs.
func (a *ask) offer(word string) {
	for _, h := range hostedWords {
		if strings.HasPrefix(word, h.begin) {
			a.hosted = append(a.hosted, h.call)
			return
		}
	}
}

// run runs each tool that was offered as often as the caller says, else once.
func (a *ask) run(c *choice, rnd *random) {
	uses := max(a.knobs.uses, 1)
	if c.found != nil {
		c.searches = uses
	}
	for _, tool := range a.hosted {
		for range uses {
			c.ran = append(c.ran, ran{tool, hexOf(rnd.next())})
		}
	}
}

// appendRan writes what an item of the responses wire has after its id and type. All code of a response runs in one container.
func (it *responsesItem) appendRan(dst []byte, r *responsesReply) []byte {
	dst = append(dst, `,"status":"completed"`...)
	switch it.kind {
	case "file_search_call":
		dst = append(appendText(append(dst, `,"queries":[`...), r.q.ask.question()), `],"results":null`...)
	case "code_interpreter_call":
		dst = append(append(append(dst, `,"code":"print(2)","outputs":null,"container_id":"cntr_`...), r.key()...), '"')
	case "mcp_call":
		dst = append(dst, `,"approval_request_id":null,"arguments":"{}","error":null,"name":"look","output":"seen","server_label":"sim"`...)
	}
	return append(dst, '}')
}

// toolUsage writes the counts that OpenAI puts beside the usage, where there are any.
func (r *responsesReply) toolUsage(dst []byte) []byte {
	if r.answer.usage.searches == 0 {
		return dst
	}
	return append(appendInt(append(dst, `,"tool_usage":{"web_search":{"num_requests":`...), r.answer.usage.searches), `}}`...)
}

// blocks are a call on the messages wire and what came of it.
func (n *ran) blocks() (use, result messagesBlock) {
	if n.tool == "mcp_tool_use" {
		return messagesBlock{kind: "server_tool_use", open: `{"type":"mcp_tool_use","id":"mcptoolu_` + n.id + `","name":"look","server_name":"sim"`, delta: "input_json_delta", member: "partial_json", body: "{}"},
			messagesBlock{kind: "mcp_tool_result", open: `{"type":"mcp_tool_result","tool_use_id":"mcptoolu_` + n.id + `","is_error":false,"content":[{"type":"text","text":"seen"}]`}
	}
	input, content := `{"command":"echo 2"}`, `{"type":"bash_code_execution_result","stdout":"2","stderr":"","return_code":0,"content":[]}`
	if n.tool == "web_fetch" {
		input, content = `{"url":"https://sim.invalid/`+n.id+`"}`, `{"type":"web_fetch_result","url":"https://sim.invalid/`+n.id+`","content":{"type":"document","source":{"type":"text","media_type":"text/plain","data":"Seen."}},"retrieved_at":null}`
	}
	return messagesBlock{kind: "server_tool_use", open: `{"type":"server_tool_use","id":"srvtoolu_` + n.id + `","name":"` + n.tool + `"`, delta: "input_json_delta", member: "partial_json", body: input},
		messagesBlock{kind: n.tool + "_tool_result", open: `{"type":"` + n.tool + `_tool_result","tool_use_id":"srvtoolu_` + n.id + `","content":` + content}
}
