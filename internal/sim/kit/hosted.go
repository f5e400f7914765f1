package kit

import "strings"

// Ran is one call of a tool that the provider runs itself, other than a web search.
type Ran struct {
	Tool string // the type name of the wire
	ID   string
}

// hostedWords are the types of tools that the provider runs, and the name of a call of each on its wire. Web searches are not among them,
// because their pages are cited.
var hostedWords = []struct{ begin, call string }{
	{"file_search", "file_search_call"}, {"code_interpreter", "code_interpreter_call"}, {"mcp_toolset", "mcp_tool_use"}, {"mcp", "mcp_call"},
	{"web_fetch_", "web_fetch"}, {"code_execution_", "bash_code_execution"},
}

// OfferHosted adds a tool that the provider runs, by its type. It ignores unknown types.
func (a *Request) OfferHosted(word string) {
	for _, h := range hostedWords {
		if strings.HasPrefix(word, h.begin) {
			a.hosted = append(a.hosted, h.call)
			return
		}
	}
}

// runHosted calls each offered tool as often as the request sets, by default once.
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
