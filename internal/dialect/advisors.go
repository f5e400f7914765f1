package dialect

import (
	"weir/internal/completion"
	"weir/internal/rawjson"
)

// OfTools reports a member of a request that providers refuse without tools, and the tools themselves.
func OfTools(name string) bool {
	return name == "tools" || name == "tool_choice" || name == "parallel_tool_calls"
}

// WithoutAdvisors is a list of tools without advisors, nil when no other is left.
func WithoutAdvisors(tools []byte) []byte {
	var w rawjson.Writer
	n := 0
	w.Array()
	for e := rawjson.ElementsOf(tools); e.Next(); {
		if !completion.IsAdvisor(rawjson.TextAt(e.Value, "type")) {
			w.Raw(e.Value)
			n++
		}
	}
	if n == 0 {
		return nil
	}
	w.EndArray()
	return w.B
}

// Advisor records that advisors are left out of a request. See completion.IsAdvisor.
func (s *Sent) Advisor(req *completion.Request) {
	if req.Needs.Advisor {
		s.Explain(0, "tools", completion.NoticeAdvisor)
	}
}
