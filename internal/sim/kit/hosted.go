package kit

import "strings"

// Ran is one call of a tool that the provider runs itself, other than a web search.
type Ran struct {
	Tool string // the wire's own word
	ID   string
}

// hostedWords are types of tools that are run without being called by the client, and what a call of each is named on its wire. Searches of the
// web are apart: their pages are cited.
var hostedWords = []struct{ begin, call string }{
	{"file_search", "file_search_call"}, {"code_interpreter", "code_interpreter_call"}, {"mcp_toolset", "mcp_tool_use"}, {"mcp", "mcp_call"},
	{"web_fetch_", "web_fetch"}, {"code_execution_", "bash_code_execution"},
}

// OfferHosted notes a tool that the provider runs.
func (a *Request) OfferHosted(word string) {
	for _, h := range hostedWords {
		if strings.HasPrefix(word, h.begin) {
			a.hosted = append(a.hosted, h.call)
			return
		}
	}
}

// run runs each tool that was offered as often as the caller says, else once.
func (a *Request) runHosted(c *Choice, rnd *Random) {
	uses := max(a.Knobs.uses, 1)
	if c.SearchResult != nil {
		c.Searches = uses
	}
	for _, tool := range a.hosted {
		for range uses {
			c.Ran = append(c.Ran, Ran{tool, HexOf(rnd.Next())})
		}
	}
}
