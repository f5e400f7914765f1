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
